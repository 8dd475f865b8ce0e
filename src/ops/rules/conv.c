/* Rules of convolutions: x [N,C,..], weight [O,C/groups,..] -> [N,O,..] of one to three spatial dims, and
 * what flows back, whose results are as large as they are told. */

/* Places of a window along spatial dim i of an image, 0 if it does not fit:
 * floor((size + padding - dilation (kernel - 1) - 1) / stride) + 1, padding counted on both sides. */
static int64_t oxi_conv_places(const oxi_attr_conv *told, int i, int64_t size, int64_t kernel,
                               int64_t behind) {
    int64_t reach = told->dilation.n[i] * (kernel - 1) + 1;
    int64_t room = size + 2 * told->padding.n[i] + behind - reach;
    return room < 0 ? 0 : room / told->stride.n[i] + 1;
}

static ox_status oxi_check_conv_numbers(const oxi_call *call, const int64_t *kernel, int dims) {
    const oxi_attr_conv *told = &call->attr.conv;
    for (int i = 0; i < dims; i++) {
        const int64_t most = INT32_MAX, stride = told->stride.n[i], padding = told->padding.n[i],
                      dilation = told->dilation.n[i], size = told->size.n[i];
        if (stride >= 1 && stride <= most && padding >= 0 && padding <= most && dilation >= 1 &&
            dilation <= most && kernel[i] <= most && size >= 0 && size <= INT64_MAX / 4)
            continue;
        return oxi_fail(OX_ERR_ARG, "%s: stride %lld, padding %lld, dilation %lld of a kernel of %lld",
                        oxi_op_name(call), (long long)stride, (long long)padding, (long long)dilation,
                        (long long)kernel[i]);
    }
    if (told->groups < 1)
        return oxi_fail(OX_ERR_ARG, "%s: %lld groups, at least one is needed", oxi_op_name(call),
                        (long long)told->groups);
    return OX_OK;
}

static ox_status oxi_check_conv_operands(const oxi_call *call) {
    const ox_tensor *a = call->in[0], *b = call->in[1];
    const char *name = oxi_op_name(call);
    bool floats = true;
    for (int i = 1; i < call->in_count; i++)
        floats = floats && (!call->in[i] || oxi_is_float(call->in[i]->dtype));
    const ox_tensor *bias = call->in_count > 2 ? call->in[2] : NULL;
    if (a->ndim < 3 || a->ndim > 5 || b->ndim != a->ndim || !floats || (bias && bias->ndim != 1))
        return oxi_fail(OX_ERR_SHAPE,
                        "%s: x %s, weight %s, bias %s are not floats [N,C,..], [O,C/groups,..], [O] of "
                        "one to three spatial dims",
                        name, oxi_tensor_text(a), oxi_tensor_text(b), bias ? oxi_tensor_text(bias) : "none");
    for (int i = 1; i < call->in_count; i++) {
        ox_status status = oxi_check_weight_dtype(call, a, call->in[i]);
        if (status != OX_OK) return status;
    }
    return OX_OK;
}

static ox_status oxi_check_conv_bias(const oxi_call *call, int64_t outputs) {
    const ox_tensor *bias = call->in[2];
    if (!bias || bias->shape[0] == outputs) return OX_OK;
    return oxi_fail(OX_ERR_SHAPE, "%s: bias %s is not one number for each of %lld channels",
                    oxi_op_name(call), oxi_tensor_text(bias), (long long)outputs);
}

OXI_RULE(conv) {
    const oxi_attr_conv *told = &call->attr.conv;
    const ox_tensor *x = call->in[0], *weight = call->in[1];
    const char *name = oxi_op_name(call);
    int64_t shape[5];
    ox_status status = oxi_check_conv_operands(call);
    if (status == OX_OK) status = oxi_check_conv_numbers(call, weight->shape + 2, x->ndim - 2);
    if (status != OX_OK) return status;
    int64_t groups = told->groups, outputs = weight->shape[0];
    if (x->shape[1] % groups || outputs % groups || x->shape[1] / groups != weight->shape[1])
        return oxi_fail(OX_ERR_SHAPE, "%s: weight %s does not fit the channels of %s in %lld groups", name,
                        oxi_tensor_text(weight), oxi_tensor_text(x), (long long)groups);
    status = oxi_check_conv_bias(call, outputs);
    shape[0] = x->shape[0];
    shape[1] = outputs;
    for (int d = 2; status == OX_OK && d < x->ndim; d++) {
        shape[d] = oxi_conv_places(told, d - 2, x->shape[d], weight->shape[d], told->size.n[d - 2]);
        if (shape[d] < 1 || weight->shape[d] < 1)
            status = oxi_fail(OX_ERR_SHAPE, "%s: a window of %s does not fit into %s", name,
                              oxi_tensor_text(weight), oxi_tensor_text(x));
    }
    if (status == OX_OK) oxi_meta(out, x->dtype, x->ndim, shape);
    return status;
}

/* Whether y of shape [N,O,..] may be what windows of `kernel` over an image of `size` give, with zeros around
 * it that no window lies outside of. */
static ox_status oxi_check_conv_places(const oxi_call *call, const int64_t *size, const int64_t *kernel) {
    const oxi_attr_conv *told = &call->attr.conv;
    const ox_tensor *y = call->in[0];
    for (int d = 0; d < y->ndim - 2; d++) {
        int64_t reach = told->dilation.n[d] * (kernel[d] - 1);
        int64_t last = kernel[d] < 1 ? -1 : (size[d] + told->padding.n[d] + reach) / told->stride.n[d];
        if (y->shape[2 + d] >= 1 && y->shape[2 + d] - 1 <= last) continue;
        return oxi_fail(OX_ERR_SHAPE, "%s: %s is not of windows of %lld over %lld elements",
                        oxi_op_name(call), oxi_tensor_text(y), (long long)kernel[d], (long long)size[d]);
    }
    return OX_OK;
}

OXI_RULE(conv_back_input) {
    const oxi_attr_conv *told = &call->attr.conv;
    const ox_tensor *g = call->in[0], *weight = call->in[1];
    int64_t shape[5];
    ox_status status = oxi_check_conv_operands(call);
    if (status == OX_OK) status = oxi_check_conv_numbers(call, weight->shape + 2, g->ndim - 2);
    if (status != OX_OK) return status;
    if (weight->shape[0] % told->groups || g->shape[1] != weight->shape[0] ||
        (weight->shape[1] > 0 && told->groups > INT64_MAX / weight->shape[1]))
        return oxi_fail(OX_ERR_SHAPE, "%s: weight %s does not fit the channels of %s in %lld groups",
                        oxi_op_name(call), oxi_tensor_text(weight), oxi_tensor_text(g),
                        (long long)told->groups);
    shape[0] = g->shape[0];
    shape[1] = weight->shape[1] * told->groups;
    for (int d = 2; d < g->ndim; d++) shape[d] = told->size.n[d - 2];
    status = oxi_check_conv_bias(call, shape[1]);
    if (status == OX_OK) status = oxi_check_conv_places(call, shape + 2, weight->shape + 2);
    if (status == OX_OK) oxi_meta(out, g->dtype, g->ndim, shape);
    return status;
}

OXI_RULE(conv_back_weight) {
    const oxi_attr_conv *told = &call->attr.conv;
    const ox_tensor *g = call->in[0], *x = call->in[1];
    int64_t shape[5];
    ox_status status = oxi_check_conv_operands(call);
    if (status == OX_OK) status = oxi_check_conv_numbers(call, told->size.n, g->ndim - 2);
    if (status != OX_OK) return status;
    if (x->shape[1] % told->groups || g->shape[1] % told->groups || x->shape[0] != g->shape[0])
        return oxi_fail(OX_ERR_SHAPE, "%s: %s and %s do not go together in %lld groups", oxi_op_name(call),
                        oxi_tensor_text(g), oxi_tensor_text(x), (long long)told->groups);
    shape[0] = g->shape[1];
    shape[1] = x->shape[1] / told->groups;
    for (int d = 2; d < g->ndim; d++) shape[d] = told->size.n[d - 2];
    status = oxi_check_conv_places(call, x->shape + 2, shape + 2);
    if (status == OX_OK) oxi_meta(out, g->dtype, g->ndim, shape);
    return status;
}
