/* Convolutions in one to three dims, and what flows back through them, as one form of three. */

static oxi_conv_side oxi_conv_side_of(const ox_tensor *t) {
    oxi_conv_side side;
    int missing = 5 - t->ndim;
    side.t = t;
    for (int d = 0; d < 5; d++) {
        bool there = d < 2 || d >= 2 + missing;
        int dim = d < 2 ? d : d - missing;
        side.shape[d] = there ? t->shape[dim] : 1;
        side.stride[d] = there ? t->stride[dim] : 0;
    }
    return side;
}

static void oxi_conv_form_of(const oxi_call *call, oxi_conv_form *f) {
    const oxi_attr_conv *told = &call->attr.conv;
    const ox_tensor *a = call->in[0], *b = call->in[1], *c = call->out[0];
    int missing = 5 - a->ndim;
    memset(f, 0, sizeof *f);
    f->x = oxi_conv_side_of(call->op == OXI_OP_conv ? a : call->op == OXI_OP_conv_back_input ? c : b);
    f->y = oxi_conv_side_of(call->op == OXI_OP_conv ? c : a);
    f->weight = oxi_conv_side_of(call->op == OXI_OP_conv_back_weight ? c : b);
    f->bias = call->in_count > 2 ? call->in[2] : NULL;
    f->samples = f->x.shape[0];
    f->groups = told->groups;
    f->channels = f->weight.shape[1];
    f->outputs = f->weight.shape[0] / f->groups;
    for (int d = 0; d < 3; d++) {
        f->stride[d] = d < missing ? 1 : told->stride.n[d - missing];
        f->padding[d] = d < missing ? 0 : told->padding.n[d - missing];
        f->dilation[d] = d < missing ? 1 : told->dilation.n[d - missing];
    }
}

static double oxi_conv_form_flops(const oxi_conv_form *f) {
    double flops = 2.0 * (double)f->channels;
    for (int d = 0; d < 5; d++) flops *= (double)f->y.shape[d] * (d < 2 ? 1 : (double)f->weight.shape[d]);
    return flops;
}
