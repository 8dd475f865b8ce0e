/* Rules of what works along dims: reductions, scans, sorting. */

static ox_status oxi_reduced(const oxi_call *call, ox_tensor *out, ox_dtype dtype) {
    const ox_tensor *x = call->in[0];
    int64_t shape[OX_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        bool goes = call->attr.reduce.dims >> d & 1;
        if (!goes)
            shape[ndim++] = x->shape[d];
        else if (call->attr.reduce.keepdim)
            shape[ndim++] = 1;
    }
    oxi_meta(out, dtype, ndim, shape);
    return OX_OK;
}

/* Reductions that have no value for no elements. */
static ox_status oxi_check_not_empty(const oxi_call *call) {
    const ox_tensor *x = call->in[0];
    for (int d = 0; d < x->ndim; d++)
        if (call->attr.reduce.dims >> d & 1 && x->shape[d] == 0)
            return oxi_fail(OX_ERR_SHAPE, "%s: no elements along dim %d of %s", oxi_op_name(call), d,
                            oxi_tensor_text(x));
    return OX_OK;
}

/* Values; of ops with two results also their places. */
OXI_RULE(reduce) {
    const oxi_op_row *row = oxi_op_row_of(call->op);
    ox_status status = row->flag == OXI_FLAG_NONEMPTY ? oxi_check_not_empty(call) : OX_OK;
    if (status != OX_OK) return status;
    if (row->operands->out_count > 1) oxi_reduced(call, &out[1], OX_I64);
    return oxi_reduced(call, out, oxi_given_dtype(call, oxi_compute_dtype(call)));
}

OXI_RULE(reduce_norm) {
    double p = call->attr.power.p;
    bool has_identity = p >= 0 && !isinf(p);
    ox_status status = has_identity ? OX_OK : oxi_check_not_empty(call);
    return status == OX_OK ? oxi_rule_reduce(call, out) : status;
}

OXI_RULE(scan) {
    const ox_tensor *x = call->in[0];
    oxi_meta(out, call->out[0] ? x->dtype : oxi_given_dtype(call, x->dtype), x->ndim, x->shape);
    return OX_OK;
}

OXI_RULE(sort) {
    const ox_tensor *x = call->in[0];
    oxi_meta(&out[0], x->dtype, x->ndim, x->shape);
    oxi_meta(&out[1], OX_I64, x->ndim, x->shape);
    return OX_OK;
}

OXI_RULE(topk) {
    const ox_tensor *x = call->in[0];
    int dim = call->attr.topk.dim;
    int64_t k = call->attr.topk.k, size = x->ndim ? x->shape[dim] : 1;
    if (k < 0 || k > size)
        return oxi_fail(OX_ERR_ARG, "topk: k = %lld, there are %lld along dim %d of %s", (long long)k,
                        (long long)size, dim, oxi_tensor_text(x));
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    if (x->ndim) shape[dim] = k;
    oxi_meta(&out[0], x->dtype, x->ndim, shape);
    oxi_meta(&out[1], OX_I64, x->ndim, shape);
    return OX_OK;
}
