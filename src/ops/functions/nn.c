/* The public functions of neural networks: softmax, norms, rope, attentions (dropout: random.c).
 * Convolutions and what else is made of other ops are in ops/parts.c. */

/* ---- softmax ------------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_softmax(ox_tensor *x, int dim) {
    return oxi_along(OXI_OP_softmax, x, dim, false);
}
OX_API ox_tensor *ox_log_softmax(ox_tensor *x, int dim) {
    return oxi_along(OXI_OP_log_softmax, x, dim, false);
}
OX_API ox_tensor *ox_softmax_as(ox_tensor *x, int dim, ox_dtype dtype) {
    return oxi_along_as("softmax_as", OXI_OP_softmax, x, dim, dtype);
}
OX_API ox_tensor *ox_log_softmax_as(ox_tensor *x, int dim, ox_dtype dtype) {
    return oxi_along_as("log_softmax_as", OXI_OP_log_softmax, x, dim, dtype);
}

/* ---- norms --------------------------------------------------------------------------------------------- */

static ox_tensor *oxi_call_norm(oxi_op op, ox_tensor *x, int64_t last_dims, ox_tensor *weight,
                                ox_tensor *bias, int count, double eps) {
    ox_tensor *in[3] = {x, weight, bias};
    oxi_attrs attr = oxi_attrs_norm();
    attr.norm.last_dims = last_dims;
    attr.norm.eps = eps;
    return oxi_any_null(oxi_op_row_of(op)->name, in, 1) ? NULL : oxi_apply_list(op, &attr, in, count, NULL);
}
OX_API ox_tensor *ox_layer_norm(ox_tensor *x, int last_dims, ox_tensor *weight, ox_tensor *bias, double eps) {
    return oxi_call_norm(OXI_OP_layer_norm, x, last_dims, weight, bias, 3, eps);
}
OX_API ox_tensor *ox_rms_norm(ox_tensor *x, int last_dims, ox_tensor *weight, double eps) {
    return oxi_call_norm(OXI_OP_rms_norm, x, last_dims, weight, NULL, 2, eps);
}
OX_API ox_tensor *ox_group_norm(ox_tensor *x, int64_t groups, ox_tensor *weight, ox_tensor *bias,
                                double eps) {
    ox_tensor *in[3] = {x, weight, bias};
    oxi_attrs attr = oxi_attrs_groups();
    attr.groups.groups = groups;
    attr.groups.eps = eps;
    return oxi_any_null("group_norm", in, 1) ? NULL : oxi_apply_list(OXI_OP_group_norm, &attr, in, 3, NULL);
}

OX_API ox_tensor *ox_rope(ox_tensor *x, ox_tensor *positions, const ox_rope_desc *desc) {
    ox_rope_desc plain;
    memset(&plain, 0, sizeof plain);
    const ox_rope_desc *d = desc ? desc : &plain;
    if (oxi_any_null("rope", &x, 1)) return NULL;
    ox_tensor *in[3] = {x, positions, d->factors};
    oxi_attrs attr = oxi_attrs_rope();
    if (d->base > 0) attr.rope.base = d->base;
    if (d->scale > 0) attr.rope.scale = d->scale;
    if (d->magnitude > 0) attr.rope.magnitude = d->magnitude;
    attr.rope.dims = d->dims ? d->dims : x->ndim ? x->shape[x->ndim - 1] : 0;
    attr.rope.interleaved = d->interleaved;
    return oxi_apply_list(OXI_OP_rope, &attr, in, 3, NULL);
}

OX_API ox_tensor *ox_scaled_dot_product_attention(ox_tensor *q, ox_tensor *k, ox_tensor *v,
                                                  const ox_attention_desc *desc) {
    ox_attention_desc plain;
    memset(&plain, 0, sizeof plain);
    const ox_attention_desc *d = desc ? desc : &plain;
    ox_tensor *in[5] = {q, k, v, d->mask, d->sinks};
    if (oxi_any_null("scaled_dot_product_attention", in, 3)) return NULL;
    if (d->query_start < 0 || d->window < 0 || !(d->softcap >= 0))
        return OXI_FAIL_NULL(OX_ERR_ARG,
                             "scaled_dot_product_attention: query_start %lld, window %lld, softcap %g",
                             (long long)d->query_start, (long long)d->window, d->softcap);
    int64_t head = q->ndim ? q->shape[q->ndim - 1] : 1;
    oxi_attrs attr = oxi_attrs_attention();
    if (head > 0) attr.attention.scale = 1 / sqrt((double)head);
    if (d->scale != 0) attr.attention.scale = d->scale;
    attr.attention.softcap = d->softcap;
    attr.attention.query_start = d->query_start;
    attr.attention.window = d->window;
    attr.attention.causal = d->causal;
    return oxi_apply_as("scaled_dot_product_attention", OXI_OP_attention, &attr, in, 5, NULL);
}

OX_API ox_tensor *ox_linear_attention(ox_tensor *q, ox_tensor *k, ox_tensor *v, ox_tensor *decay,
                                      ox_tensor *state, ox_tensor *erase, ox_tensor *write) {
    ox_tensor *in[7] = {q, k, v, decay, state, erase, write};
    if (oxi_any_null("linear_attention", in, 5)) return NULL;
    return oxi_apply_list(OXI_OP_linear_attention, NULL, in, 7, NULL);
}
