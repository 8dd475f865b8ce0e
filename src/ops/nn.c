/* The public functions of neural networks: norms, rope, attention. */

static ox_tensor *oxi_call_norm(oxi_op op, ox_tensor *x, int64_t i0, ox_tensor *weight, ox_tensor *bias,
                                int count, double eps) {
    ox_tensor *in[3] = {x, weight, bias};
    oxi_attrs attr = oxi_numbers(eps, 0, 0);
    attr.i[0] = i0;
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
    return oxi_call_norm(OXI_OP_group_norm, x, groups, weight, bias, 3, eps);
}

OX_API ox_tensor *ox_rope(ox_tensor *x, ox_tensor *positions, const ox_rope_desc *desc) {
    ox_rope_desc plain;
    memset(&plain, 0, sizeof plain);
    const ox_rope_desc *d = desc ? desc : &plain;
    if (oxi_any_null("rope", &x, 1)) return NULL;
    ox_tensor *in[3] = {x, positions, d->factors};
    oxi_attrs attr = oxi_numbers(d->base > 0 ? d->base : 10000.0, d->scale > 0 ? d->scale : 1.0,
                                 d->magnitude > 0 ? d->magnitude : 1.0);
    attr.i[0] = d->dims ? d->dims : x->ndim ? x->shape[x->ndim - 1] : 0;
    attr.mode = d->interleaved;
    return oxi_apply_list(OXI_OP_rope, &attr, in, 3, NULL);
}

OX_API ox_tensor *ox_scaled_dot_product_attention(ox_tensor *q, ox_tensor *k, ox_tensor *v,
                                                  const ox_attention_desc *desc) {
    ox_attention_desc plain;
    memset(&plain, 0, sizeof plain);
    const ox_attention_desc *d = desc ? desc : &plain;
    ox_tensor *in[4] = {q, k, v, d->mask};
    if (oxi_any_null("scaled_dot_product_attention", in, 3)) return NULL;
    if (d->query_start < 0 || d->window < 0 || !(d->softcap >= 0))
        return OXI_FAIL_NULL(OX_ERR_ARG,
                             "scaled_dot_product_attention: query_start %lld, window %lld, softcap %g",
                             (long long)d->query_start, (long long)d->window, d->softcap);
    int64_t head = q->ndim ? q->shape[q->ndim - 1] : 1;
    oxi_attrs attr = oxi_numbers(d->scale != 0 ? d->scale
                                 : head > 0    ? 1 / sqrt((double)head)
                                               : 1,
                                 d->softcap, 0);
    attr.name = "scaled_dot_product_attention";
    attr.i[0] = d->query_start;
    attr.i[1] = d->window;
    attr.mode = d->causal;
    return oxi_apply_list(OXI_OP_attention, &attr, in, 4, NULL);
}
