/* Gradients of convolutions and pooling. Of y = conv(x, w), gx = back_input(y, w) and gw = back_weight(y, x)
 * each is linear in both operands, and what flows back through one is another of them: gradients of any order
 * are these three. */

/* operand: what the result is the gradient of; it is not rounded to a narrower dtype on the way. */
static ox_tensor *oxi_conv_again(const oxi_backward *b, oxi_op op, ox_tensor *first, ox_tensor *second,
                                 const int64_t *size, const oxi_outline *operand) {
    oxi_attrs attr = b->call->attr;
    if (!first || !second) return NULL;
    if (first->dtype != operand->dtype && operand->dtype == OX_F32) first = oxi_wide(first);
    ox_tensor *in[3] = {first, second, NULL};
    if (!first) return NULL;
    for (int d = 0; d < 3; d++) attr.conv.size.n[d] = size && d < first->ndim - 2 ? size[2 + d] : 0;
    return oxi_apply_list(op, &attr, in, op == OXI_OP_conv_back_weight ? 2 : 3, NULL);
}

/* conv of x and w, with zeros behind x so that it has as many places as y has along each dim. */
static ox_tensor *oxi_conv_onto(const oxi_backward *b, ox_tensor *x, ox_tensor *w) {
    const oxi_outline *y = &b->operand[0];
    const oxi_attr_conv *told = &b->call->attr.conv;
    int64_t size[OX_MAX_DIMS];
    if (!x || !w) return NULL;
    for (int d = 2; d < x->ndim; d++) {
        int64_t reach = told->dilation.n[d - 2] * (w->shape[d] - 1) + 1;
        int64_t end = (y->shape[d] - 1) * told->stride.n[d - 2] + reach;
        size[d] = end - x->shape[d] - 2 * told->padding.n[d - 2];
        if (size[d] < 0) size[d] = 0;
    }
    ox_tensor *made = oxi_conv_again(b, OXI_OP_conv, x, w, size, y);
    for (int d = 2; made && d < y->ndim; d++) /* an output padding makes more places than there were */
        if (made->shape[d] > y->shape[d]) made = ox_narrow(made, d, 0, y->shape[d]);
    return made;
}

OXI_GRADIENT_RULE(conv) {
    ox_tensor *g = oxi_product_operand(b->g[0]);
    ox_status status = g ? OX_OK : ox_error();
    bool empty = oxi_outline_numel(&b->result[0]) == 0;
    if (status == OX_OK && b->wants[0] && !empty)
        status = oxi_gives(b, 0,
                           oxi_conv_again(b, OXI_OP_conv_back_input, g, b->call->in[1], b->operand[0].shape,
                                          &b->operand[0]));
    if (status == OX_OK && b->wants[1] && !empty)
        status = oxi_gives(b, 1,
                           oxi_conv_again(b, OXI_OP_conv_back_weight, g, b->call->in[0], b->operand[1].shape,
                                          &b->operand[1]));
    if (status == OX_OK && b->call->in_count > 2 && b->wants[2])
        status = oxi_gives(b, 2, oxi_summed_by_channel(g));
    return status;
}

OXI_GRADIENT_RULE(conv_back_input) {
    ox_tensor *g = oxi_product_operand(b->g[0]);
    ox_status status = g ? OX_OK : ox_error();
    bool empty = oxi_outline_numel(&b->operand[0]) == 0 || oxi_outline_numel(&b->result[0]) == 0;
    if (status == OX_OK && b->wants[0] && !empty)
        status = oxi_gives(b, 0, oxi_conv_onto(b, g, b->call->in[1]));
    if (status == OX_OK && b->wants[1] && !empty)
        status = oxi_gives(b, 1,
                           oxi_conv_again(b, OXI_OP_conv_back_weight, b->call->in[0], g, b->operand[1].shape,
                                          &b->operand[1]));
    if (status == OX_OK && b->call->in_count > 2 && b->wants[2])
        status = oxi_gives(b, 2, oxi_summed_by_channel(g));
    return status;
}

/* g has the shape of a weight. */
OXI_GRADIENT_RULE(conv_back_weight) {
    ox_tensor *g = oxi_product_operand(b->g[0]);
    ox_status status = g ? OX_OK : ox_error();
    bool empty = oxi_outline_numel(&b->operand[0]) == 0 || oxi_outline_numel(&b->result[0]) == 0;
    if (status == OX_OK && b->wants[0] && !empty)
        status = oxi_gives(b, 0, oxi_conv_onto(b, b->call->in[1], g));
    if (status == OX_OK && b->wants[1] && !empty)
        status = oxi_gives(b, 1,
                           oxi_conv_again(b, OXI_OP_conv_back_input, b->call->in[0], g, b->operand[1].shape,
                                          &b->operand[1]));
    return status;
}

/* ---- pooling ------------------------------------------------------------------------------------------- */

/* Images as lines: their elements as one dim. */
static ox_tensor *oxi_image_lines(ox_tensor *t, int64_t dims) {
    return t ? ox_flatten(t, t->ndim - (int)dims, -1) : NULL;
}

OXI_GRADIENT_RULE(max_pool) {
    int64_t dims = b->call->attr.pool.dims;
    const oxi_outline *x = &b->operand[0];
    ox_tensor *g = oxi_wide(b->g[0]), *zeros = g ? oxi_zeros_for(b, 0, g) : NULL;
    if (!g || oxi_outline_numel(&b->result[0]) == 0) return oxi_gives(b, 0, zeros);
    ox_tensor *lines = oxi_image_lines(b->out[1], dims);
    ox_tensor *image = ox_scatter_add_(oxi_image_lines(zeros, dims), -1, lines, oxi_image_lines(g, dims));
    return oxi_gives(b, 0, ox_reshape(image, oxi_outline_shape(x)));
}

OXI_GRADIENT_RULE(avg_pool) {
    oxi_attrs attr = b->call->attr;
    const oxi_outline *x = &b->operand[0];
    for (int d = 0; d < attr.pool.dims; d++)
        attr.pool.size.n[d] = x->shape[x->ndim - (int)attr.pool.dims + d];
    return oxi_gives(b, 0, oxi_apply_1(OXI_OP_avg_pool_back, &attr, b->g[0]));
}

OXI_GRADIENT_RULE(avg_pool_back) {
    oxi_attrs attr = b->call->attr;
    const oxi_outline *g = &b->operand[0];
    for (int d = 0; d < attr.pool.dims; d++)
        attr.pool.size.n[d] = g->shape[g->ndim - (int)attr.pool.dims + d];
    if (oxi_outline_numel(g) == 0) return OX_OK;
    return oxi_gives(b, 0, oxi_apply_1(OXI_OP_avg_pool, &attr, b->g[0]));
}
