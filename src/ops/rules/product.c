/* Rules of matrix products. */

/* Blocks are read as they are; mixes: so are floats that differ in dtype. */
static ox_status oxi_product_dtype(const oxi_call *call, const ox_tensor *x, const ox_tensor *w, bool mixes,
                                   ox_dtype *dtype) {
    if (oxi_is_block(x->dtype) && oxi_is_block(w->dtype))
        return oxi_fail(OX_ERR_DTYPE, "%s: both operands are block types: %s x %s", oxi_op_name(call),
                        oxi_tensor_text(x), oxi_tensor_text(w));
    const ox_tensor *plain = oxi_is_block(x->dtype) ? w : x;
    bool block = oxi_is_block(x->dtype) || oxi_is_block(w->dtype);
    if (block || (oxi_is_float(x->dtype) && oxi_is_float(w->dtype) && mixes)) {
        if (block && !oxi_is_float(plain->dtype))
            return oxi_fail(OX_ERR_DTYPE, "%s: block types meet floats only: %s x %s", oxi_op_name(call),
                            oxi_tensor_text(x), oxi_tensor_text(w));
        *dtype = plain->dtype;
    } else if (x->dtype != w->dtype) {
        return oxi_fail(OX_ERR_DTYPE, "%s: operands of different dtypes: %s x %s", oxi_op_name(call),
                        oxi_tensor_text(x), oxi_tensor_text(w));
    } else {
        *dtype = x->dtype;
    }
    return OX_OK;
}

/* Blocks must run along the dim that is read row by row, in whole rows. */
static ox_status oxi_check_block_rows(const oxi_call *call, const ox_tensor *t, int dim) {
    if (!oxi_is_block(t->dtype) || t->ndim == 0) return OX_OK;
    if (t->stride[dim] == 1 && t->shape[dim] % oxi_info(t->dtype)->block_elements == 0) return OX_OK;
    return oxi_fail(OX_ERR_DTYPE, "%s: the blocks of %s do not run along dim %d", oxi_op_name(call),
                    oxi_tensor_text(t), dim);
}

/* What matmul and int_mm give, as `dtype`. */
static ox_status oxi_matmul_result(const oxi_call *call, ox_dtype dtype, ox_tensor *out) {
    const ox_tensor *a = call->in[0], *b = call->in[1];
    const char *name = oxi_op_name(call);
    if (a->ndim == 0 || b->ndim == 0)
        return oxi_fail(OX_ERR_SHAPE, "%s: 0-dim operand: %s x %s", name, oxi_tensor_text(a),
                        oxi_tensor_text(b));
    int b_summed = b->ndim == 1 ? 0 : b->ndim - 2;
    if (a->shape[a->ndim - 1] != b->shape[b_summed])
        return oxi_fail(OX_ERR_SHAPE, "%s: inner sizes differ: %s x %s", name,
                        oxi_shape_text(a->ndim, a->shape), oxi_shape_text(b->ndim, b->shape));
    ox_status status = oxi_check_block_rows(call, a, a->ndim - 1);
    if (status == OX_OK) status = oxi_check_block_rows(call, b, b_summed);
    if (status != OX_OK) return status;
    int a_batch = a->ndim > 2 ? a->ndim - 2 : 0, b_batch = b->ndim > 2 ? b->ndim - 2 : 0;
    int ndim = a_batch > b_batch ? a_batch : b_batch, batch = ndim;
    int64_t shape[OX_MAX_DIMS + 2];
    for (int d = 0; d < batch; d++) {
        int da = d - (batch - a_batch), db = d - (batch - b_batch);
        int64_t sa = da >= 0 ? a->shape[da] : 1, sb = db >= 0 ? b->shape[db] : 1;
        if (sa != sb && sa != 1 && sb != 1)
            return oxi_fail(OX_ERR_SHAPE, "%s: leading dims do not broadcast: %s x %s", name,
                            oxi_shape_text(a->ndim, a->shape), oxi_shape_text(b->ndim, b->shape));
        shape[d] = sa == 1 ? sb : sa;
    }
    if (a->ndim > 1) shape[ndim++] = a->shape[a->ndim - 2];
    if (b->ndim > 1) shape[ndim++] = b->shape[b->ndim - 1];
    status = oxi_check_shape(name, dtype, ndim, shape, NULL);
    if (status == OX_OK) oxi_meta(out, dtype, ndim, shape);
    return status;
}

OXI_RULE(matmul) {
    ox_dtype dtype;
    ox_status status = oxi_product_dtype(call, call->in[0], call->in[1], false, &dtype);
    return status == OX_OK ? oxi_matmul_result(call, dtype, out) : status;
}

OXI_RULE(int_mm) {
    const ox_tensor *a = call->in[0], *b = call->in[1];
    if (a->dtype != OX_I8 || b->dtype != OX_I8)
        return oxi_fail(OX_ERR_DTYPE, "%s: %s x %s are not i8", oxi_op_name(call), oxi_tensor_text(a),
                        oxi_tensor_text(b));
    return oxi_matmul_result(call, OX_I32, out);
}

OXI_RULE(linear_experts) {
    const ox_tensor *x = call->in[0], *w = call->in[1], *ids = call->in[2], *bias = call->in[3];
    const char *name = oxi_op_name(call);
    ox_dtype dtype;
    ox_status status = oxi_product_dtype(call, x, w, true, &dtype);
    if (status == OX_OK) status = oxi_check_index(call, ids);
    if (status == OX_OK) status = oxi_check_block_rows(call, w, w->ndim - 1);
    if (status == OX_OK && !oxi_is_block(w->dtype)) status = oxi_check_weight_dtype(call, x, w);
    if (status == OX_OK) status = oxi_check_weight_dtype(call, x, bias);
    if (status != OX_OK) return status;
    bool fits = w->ndim == 3 && ids->ndim == 2 && (x->ndim == 2 || x->ndim == 3) && !oxi_is_block(x->dtype);
    for (int d = 0; fits && d < x->ndim - 1; d++) fits = x->shape[d] == ids->shape[d];
    for (int d = 0; fits && d < 2 && bias; d++) fits = bias->ndim == 2 && bias->shape[d] == w->shape[d];
    if (!fits || x->shape[x->ndim - 1] != w->shape[2] || (bias && !oxi_is_float(bias->dtype)))
        return oxi_fail(OX_ERR_SHAPE, "%s: x %s, weight %s, experts %s, bias %s do not fit", name,
                        oxi_tensor_text(x), oxi_tensor_text(w), oxi_tensor_text(ids),
                        bias ? oxi_tensor_text(bias) : "none");
    const int64_t shape[3] = {ids->shape[0], ids->shape[1], w->shape[1]};
    status = oxi_check_shape(name, dtype, 3, shape, NULL);
    if (status == OX_OK) oxi_meta(out, dtype, 3, shape);
    return status;
}

OXI_RULE(linear) {
    const ox_tensor *x = call->in[0], *w = call->in[1], *bias = call->in[2];
    ox_dtype dtype;
    ox_status status = oxi_product_dtype(call, x, w, true, &dtype);
    if (status != OX_OK) return status;
    if (x->ndim == 0 || w->ndim != 2)
        return oxi_fail(OX_ERR_SHAPE, "linear: x %s, weight %s: the weight is 2-d", oxi_tensor_text(x),
                        oxi_tensor_text(w));
    if (x->shape[x->ndim - 1] != w->shape[1])
        return oxi_fail(OX_ERR_SHAPE, "linear: last sizes differ: x %s, weight %s",
                        oxi_shape_text(x->ndim, x->shape), oxi_shape_text(2, w->shape));
    if (bias && (bias->ndim != 1 || bias->shape[0] != w->shape[0] ||
                 oxi_info(bias->dtype)->cls != oxi_info(dtype)->cls))
        return oxi_fail(OX_ERR_SHAPE, "linear: bias %s does not fit weight %s", oxi_tensor_text(bias),
                        oxi_tensor_text(w));
    if (call->attr.activation.activation != OX_ACTIVATION_NONE && !oxi_is_float(dtype))
        return oxi_fail(OX_ERR_DTYPE, "linear: no activation of %s", ox_dtype_name(dtype));
    status = oxi_check_block_rows(call, w, 1);
    if (status == OX_OK && !oxi_is_block(w->dtype)) status = oxi_check_weight_dtype(call, x, w);
    if (status == OX_OK) status = oxi_check_weight_dtype(call, x, bias);
    if (status == OX_OK && oxi_is_block(x->dtype))
        status = oxi_fail(OX_ERR_DTYPE, "linear: x is %s; only the weight may be of a block type",
                          oxi_tensor_text(x));
    if (status != OX_OK) return status;
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->ndim - 1] = w->shape[0];
    status = oxi_check_shape("linear", dtype, x->ndim, shape, NULL);
    if (status == OX_OK) oxi_meta(out, dtype, x->ndim, shape);
    return status;
}

OXI_RULE(addmm) {
    const ox_tensor *c = call->in[0], *a = call->in[1], *b = call->in[2];
    ox_dtype dtype;
    if (a->ndim != 2 || b->ndim != 2)
        return oxi_fail(OX_ERR_SHAPE, "addmm: operands must be 2-d: %s x %s", oxi_tensor_text(a),
                        oxi_tensor_text(b));
    ox_status status = oxi_product_dtype(call, a, b, false, &dtype);
    if (status != OX_OK) return status;
    if (a->shape[1] != b->shape[0])
        return oxi_fail(OX_ERR_SHAPE, "addmm: inner sizes differ: %s x %s", oxi_shape_text(2, a->shape),
                        oxi_shape_text(2, b->shape));
    status = oxi_check_block_rows(call, b, 0);
    if (status == OX_OK) status = oxi_check_block_rows(call, a, 1);
    if (status != OX_OK) return status;
    const int64_t shape[2] = {a->shape[0], b->shape[1]};
    bool fits = c->ndim <= 2;
    for (int d = 0; fits && d < c->ndim; d++)
        fits = c->shape[d] == 1 || c->shape[d] == shape[2 - c->ndim + d];
    if (!fits || c->dtype != dtype)
        return oxi_fail(OX_ERR_SHAPE, "addmm: %s does not fit the product %s%s", oxi_tensor_text(c),
                        ox_dtype_name(dtype), oxi_shape_text(2, shape));
    oxi_meta(out, dtype, 2, shape);
    return oxi_check_factors(call, dtype);
}
