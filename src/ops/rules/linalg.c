/* Rules of linear algebra: matrices of f32, f64 or c64 in the last two dims. */

static ox_status oxi_check_matrices(const oxi_call *call, bool square) {
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *x = call->in[i];
        if (x->dtype != OX_F32 && x->dtype != OX_F64 &&
            (x->dtype != OX_C64 || call->op == OXI_OP_solve_triangular))
            return oxi_fail(OX_ERR_DTYPE, "%s: %s is not of f32%s or f64", oxi_op_name(call),
                            oxi_tensor_text(x), x->dtype == OX_C64 ? "" : ", c64");
        if (x->ndim < 2 || (i == 0 && square && x->shape[x->ndim - 2] != x->shape[x->ndim - 1]))
            return oxi_fail(OX_ERR_SHAPE, "%s: %s is no %smatrix", oxi_op_name(call), oxi_tensor_text(x),
                            square && i == 0 ? "square " : "");
    }
    return OX_OK;
}

/* A result [leading dims of x .., rows, columns]; columns -1: a vector, rows -1: a number. */
static void oxi_factor_meta(const ox_tensor *x, ox_tensor *out, ox_dtype dtype, int64_t rows,
                            int64_t columns) {
    int64_t shape[OX_MAX_DIMS];
    int ndim = x->ndim - 2;
    memcpy(shape, x->shape, sizeof shape);
    if (rows >= 0) shape[ndim++] = rows;
    if (columns >= 0) shape[ndim++] = columns;
    oxi_meta(out, dtype, ndim, shape);
}

static int64_t oxi_least_side(const ox_tensor *x) {
    int64_t m = x->shape[x->ndim - 2], n = x->shape[x->ndim - 1];
    return m < n ? m : n;
}

static ox_dtype oxi_real_dtype(ox_dtype dtype) {
    return dtype == OX_C64 ? OX_F32 : dtype;
}

OXI_RULE(factor_square) {
    const ox_tensor *x = call->in[0];
    ox_status status = oxi_check_matrices(call, true);
    if (status != OX_OK) return status;
    int64_t n = x->shape[x->ndim - 1];
    if (call->op == OXI_OP_cholesky) {
        oxi_factor_meta(x, &out[0], x->dtype, n, n);
        oxi_factor_meta(x, &out[1], OX_I32, -1, -1);
    } else {
        ox_dtype dtype = call->op == OXI_OP_eig ? OX_C64 : x->dtype;
        oxi_factor_meta(x, &out[0], call->op == OXI_OP_eigh ? oxi_real_dtype(dtype) : dtype, n, -1);
        oxi_factor_meta(x, &out[1], dtype, n, n);
    }
    return OX_OK;
}

OXI_RULE(factor_lu) {
    const ox_tensor *x = call->in[0];
    ox_status status = oxi_check_matrices(call, false);
    if (status != OX_OK) return status;
    oxi_factor_meta(x, &out[0], x->dtype, x->shape[x->ndim - 2], x->shape[x->ndim - 1]);
    oxi_factor_meta(x, &out[1], OX_I32, oxi_least_side(x), -1);
    return OX_OK;
}

OXI_RULE(factor_geqrf) {
    const ox_tensor *x = call->in[0];
    ox_status status = oxi_check_matrices(call, false);
    if (status != OX_OK) return status;
    oxi_factor_meta(x, &out[0], x->dtype, x->shape[x->ndim - 2], x->shape[x->ndim - 1]);
    oxi_factor_meta(x, &out[1], x->dtype, oxi_least_side(x), -1);
    return OX_OK;
}

OXI_RULE(factor_qr) {
    const ox_tensor *x = call->in[0];
    ox_status status = oxi_check_matrices(call, false);
    if (status != OX_OK) return status;
    int64_t m = x->shape[x->ndim - 2], k = call->attr.complete.complete ? m : oxi_least_side(x);
    oxi_factor_meta(x, &out[0], x->dtype, m, k);
    oxi_factor_meta(x, &out[1], x->dtype, k, x->shape[x->ndim - 1]);
    return OX_OK;
}

OXI_RULE(factor_svd) {
    const ox_tensor *x = call->in[0];
    ox_status status = oxi_check_matrices(call, false);
    if (status != OX_OK) return status;
    int64_t m = x->shape[x->ndim - 2], n = x->shape[x->ndim - 1], k = oxi_least_side(x);
    oxi_factor_meta(x, &out[0], oxi_real_dtype(x->dtype), k, -1);
    oxi_factor_meta(x, &out[1], x->dtype, n + m, k);
    return OX_OK;
}

OXI_RULE(solve) {
    const ox_tensor *a = call->in[0], *b = call->in[1];
    ox_status status = oxi_check_matrices(call, true);
    if (status != OX_OK) return status;
    bool right = call->op == OXI_OP_solve_triangular && call->attr.triangular.right;
    bool fits = a->ndim == b->ndim && a->dtype == b->dtype;
    for (int d = 0; fits && d + 2 < a->ndim; d++) fits = a->shape[d] == b->shape[d];
    if (!fits || b->shape[b->ndim - (right ? 1 : 2)] != a->shape[a->ndim - 1])
        return oxi_fail(OX_ERR_SHAPE, "%s: %s does not go with %s", oxi_op_name(call), oxi_tensor_text(b),
                        oxi_tensor_text(a));
    oxi_factor_meta(b, out, b->dtype, b->shape[b->ndim - 2], b->shape[b->ndim - 1]);
    return OX_OK;
}

OXI_RULE(pinv) {
    const ox_tensor *x = call->in[0];
    ox_status status = oxi_check_matrices(call, call->attr.tolerance.hermitian);
    if (status == OX_OK) oxi_factor_meta(x, out, x->dtype, x->shape[x->ndim - 1], x->shape[x->ndim - 2]);
    return status;
}

OXI_RULE(det) {
    ox_status status = oxi_check_matrices(call, true);
    if (status == OX_OK) oxi_factor_meta(call->in[0], out, call->in[0]->dtype, -1, -1);
    return status;
}
