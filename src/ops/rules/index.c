/* Rules of what is read, written or chosen by index or by place. */

static ox_status oxi_check_index(const oxi_call *call, const ox_tensor *index) {
    if (index->dtype == OX_I64 || index->dtype == OX_I32) return OX_OK;
    return oxi_fail(OX_ERR_DTYPE, "%s: indices are %s, not i64 or i32", oxi_op_name(call),
                    oxi_tensor_text(index));
}

static ox_status oxi_fail_fit(const oxi_call *call, const ox_tensor *part) {
    return oxi_fail(OX_ERR_SHAPE, "%s: %s does not fit %s along dim %d", oxi_op_name(call),
                    oxi_tensor_text(part), oxi_tensor_text(call->in[0]), call->attr.along.dim);
}

/* part may not reach beyond whole in any dim but `dim`. */
static bool oxi_fits_beside(const ox_tensor *part, const ox_tensor *whole, int dim) {
    int np = part->ndim ? part->ndim : 1, nw = whole->ndim ? whole->ndim : 1;
    if (np != nw) return false;
    for (int d = 0; d < part->ndim; d++)
        if (d != dim && part->shape[d] > (whole->ndim ? whole->shape[d] : 1)) return false;
    return true;
}

OXI_RULE(gather) {
    const ox_tensor *x = call->in[0], *index = call->in[1];
    ox_status status = oxi_check_index(call, index);
    if (status != OX_OK) return status;
    if (!oxi_fits_beside(index, x, call->attr.along.dim)) return oxi_fail_fit(call, index);
    oxi_meta(out, x->dtype, index->ndim, index->shape);
    return OX_OK;
}

OXI_RULE(scatter) {
    const ox_tensor *x = call->in[0], *index = call->in[1], *source = call->in[2];
    ox_status status = oxi_check_index(call, index);
    if (status != OX_OK) return status;
    if (source->dtype != x->dtype)
        return oxi_fail(OX_ERR_DTYPE, "%s: dtypes differ: source %s, target %s", oxi_op_name(call),
                        oxi_tensor_text(source), oxi_tensor_text(x));
    if (!oxi_fits_beside(index, x, call->attr.along.dim)) return oxi_fail_fit(call, index);
    if (!oxi_fits_beside(index, source, -1)) return oxi_fail_fit(call, source);
    return oxi_rule_row(call, out);
}

static ox_status oxi_check_index_list(const oxi_call *call, const ox_tensor *index) {
    if (index->ndim > 1)
        return oxi_fail(OX_ERR_SHAPE, "%s: the index is %s, not 1-d", oxi_op_name(call),
                        oxi_tensor_text(index));
    return oxi_check_index(call, index);
}

OXI_RULE(index_select) {
    const ox_tensor *x = call->in[0];
    ox_status status = oxi_check_index_list(call, call->in[1]);
    if (status != OX_OK) return status;
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    if (x->ndim)
        shape[call->attr.along.dim] = ox_numel(call->in[1]);
    else if (ox_numel(call->in[1]) != 1)
        return oxi_fail_fit(call, call->in[1]);
    oxi_meta(out, x->dtype, x->ndim, shape);
    return OX_OK;
}

OXI_RULE(index_add) {
    const ox_tensor *x = call->in[0], *source = call->in[2];
    ox_status status = oxi_check_index_list(call, call->in[1]);
    if (status != OX_OK) return status;
    if (source->dtype != x->dtype)
        return oxi_fail(OX_ERR_DTYPE, "index_add: dtypes differ: source %s, target %s",
                        oxi_tensor_text(source), oxi_tensor_text(x));
    bool fits = source->ndim == x->ndim && (x->ndim > 0 || ox_numel(call->in[1]) == 1);
    for (int d = 0; fits && d < x->ndim; d++)
        fits = source->shape[d] == (d == call->attr.along.dim ? ox_numel(call->in[1]) : x->shape[d]);
    if (!fits) return oxi_fail_fit(call, source);
    status = oxi_check_factors(call, x->dtype);
    return status == OX_OK ? oxi_rule_row(call, out) : status;
}

OXI_RULE(masked_select) {
    if (call->in[1]->dtype != OX_BOOL)
        return oxi_fail(OX_ERR_DTYPE, "masked_select: the mask is %s, not bool",
                        oxi_tensor_text(call->in[1]));
    oxi_meta(out, call->in[0]->dtype, 1, &call->attr.counted.count);
    return OX_OK;
}

OXI_RULE(nonzero) {
    const int64_t shape[2] = {call->attr.counted.count, call->in[0]->ndim};
    oxi_meta(out, OX_I64, 2, shape);
    return OX_OK;
}

OXI_RULE(embedding) {
    const ox_tensor *table = call->in[0], *ids = call->in[1];
    ox_status status = oxi_check_index(call, ids);
    if (status != OX_OK) return status;
    if (table->ndim != 2)
        return oxi_fail(OX_ERR_SHAPE, "embedding: the table is %s, not 2-d", oxi_tensor_text(table));
    if (ids->ndim == OX_MAX_DIMS)
        return oxi_fail(OX_ERR_SHAPE, "embedding: ids have %d dims already", OX_MAX_DIMS);
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, ids->shape, sizeof shape);
    shape[ids->ndim] = table->shape[1];
    oxi_meta(out, oxi_is_block(table->dtype) ? OX_F32 : table->dtype, ids->ndim + 1, shape);
    return OX_OK;
}

OXI_RULE(one_hot) {
    const ox_tensor *ids = call->in[0];
    ox_status status = oxi_check_index(call, ids);
    if (status != OX_OK) return status;
    if (ids->ndim == OX_MAX_DIMS)
        return oxi_fail(OX_ERR_SHAPE, "one_hot: ids have %d dims already", OX_MAX_DIMS);
    int64_t classes = call->attr.classes.classes;
    if (classes < 1)
        return oxi_fail(OX_ERR_ARG, "one_hot: %lld classes, at least one is needed", (long long)classes);
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, ids->shape, sizeof shape);
    shape[ids->ndim] = classes;
    oxi_meta(out, OX_I64, ids->ndim + 1, shape);
    return OX_OK;
}

OXI_RULE(triangle) {
    if (call->in[0]->ndim < 2)
        return oxi_fail(OX_ERR_SHAPE, "%s: %s has fewer than 2 dims", oxi_op_name(call),
                        oxi_tensor_text(call->in[0]));
    return oxi_rule_row(call, out);
}

OXI_RULE(cat) {
    const ox_tensor *first = call->in[0];
    const ox_tensor *refused = NULL;
    ox_dtype dtype = oxi_result_type(call, 0, &refused);
    int dim = call->attr.along.dim;
    if (!dtype)
        return oxi_fail(OX_ERR_DTYPE, "cat: %s and %s have no common dtype", oxi_tensor_text(first),
                        oxi_tensor_text(refused));
    if (first->ndim == 0) return oxi_fail(OX_ERR_SHAPE, "cat: 0-dim tensors cannot be joined; use stack");
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, first->shape, sizeof shape);
    for (int i = 1; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        bool fits = t->ndim == first->ndim;
        for (int d = 0; fits && d < t->ndim; d++)
            fits = d == dim || t->shape[d] == first->shape[d];
        if (!fits || !oxi_add_i64(shape[dim], t->shape[dim], &shape[dim]))
            return oxi_fail_fit(call, t);
    }
    oxi_meta(out, dtype, first->ndim, shape);
    return OX_OK;
}
