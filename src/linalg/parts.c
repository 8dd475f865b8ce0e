/* Rows of linear algebra that are made of others. */

/* The transpose of matrices; of complex ones conjugated. */
static ox_tensor *oxi_adjoint(ox_tensor *x) {
    ox_tensor *turned = ox_transpose(x, -2, -1);
    return x && x->dtype == OX_C64 ? ox_conj(turned) : turned;
}

static ox_tensor *oxi_times_columns(ox_tensor *x, ox_tensor *numbers) {
    return ox_mul(x, ox_unsqueeze(numbers, -2));
}

/* U, S and V of x as parts of what the row svd gives. */
typedef struct oxi_svd_parts {
    ox_tensor *u, *s, *v;
} oxi_svd_parts;
static bool oxi_svd_of(ox_tensor *x, oxi_svd_parts *out) {
    if (!x) return false;
    int64_t m = x->shape[x->ndim - 2], n = x->shape[x->ndim - 1];
    oxi_call call = oxi_call_of(OXI_OP_svd, &x, 1, NULL);
    if (oxi_apply(&call) != OX_OK) return false;
    out->s = call.out[0];
    out->v = ox_narrow(call.out[1], -2, 0, n);
    out->u = ox_narrow(call.out[1], -2, n, m);
    return out->v && out->u;
}

/* Below what singular values count as 0, broadcast to s [.., k]: the larger of atol and rtol times the
 * largest one; rtol below 0: max(rows, columns) of the dtype's eps, where atol is 0. */
static ox_tensor *oxi_rank_limit(ox_tensor *x, ox_tensor *s, double atol, double rtol) {
    int64_t m = x->shape[x->ndim - 2], n = x->shape[x->ndim - 1];
    double eps = x->dtype == OX_F64 ? DBL_EPSILON : FLT_EPSILON;
    if (rtol < 0) rtol = atol > 0 ? 0 : eps * (double)(m > n ? m : n);
    return ox_clamp(ox_mul_number(ox_amax(s, OX_DIMS(-1), true), rtol), atol, INFINITY);
}

/* V (1 / S) U^H, where S counts: is above limit. */
static ox_tensor *oxi_pinv_of(const oxi_svd_parts *p, ox_tensor *limit) {
    ox_tensor *counts = limit ? ox_gt(p->s, limit) : NULL, *inverse;
    inverse = ox_where(counts, ox_reciprocal(ox_where(counts, p->s, ox_number(1))), ox_number(0));
    return ox_matmul(oxi_times_columns(p->v, inverse), oxi_adjoint(p->u));
}

OXI_PARTS(pinv) {
    const oxi_attr_tolerance *told = &call->attr.tolerance;
    ox_tensor *x = call->in[0];
    oxi_svd_parts p;
    if (oxi_least_side(x) == 0) return oxi_filled_beside(x, ox_shape_of(call->out[0]), 0);
    if (told->hermitian) { /* of the lower triangle, which is all that counts */
        ox_tensor *low = ox_mul_number(ox_add(ox_tril(x, 0), ox_tril(x, -1)), 0.5);
        x = ox_add(low, oxi_adjoint(low));
    }
    return oxi_svd_of(x, &p) ? oxi_pinv_of(&p, oxi_rank_limit(x, p.s, told->atol, told->rtol)) : NULL;
}

/* The sign of the exchanges times U's diagonal. */
static ox_tensor *oxi_sign_of_pivots(ox_tensor *pivots) {
    int64_t n = pivots->shape[pivots->ndim - 1];
    ox_tensor *own = oxi_ramp_beside(pivots, n, OX_I32);
    ox_tensor *moved = ox_ne(pivots, ox_add(own, ox_integer(1)));
    ox_tensor *odd = ox_remainder(ox_sum(moved, OX_DIMS(-1), false), ox_integer(2));
    return ox_sub(ox_integer(1), ox_mul(odd, ox_integer(2)));
}

OXI_PARTS(det) {
    ox_tuple lu = ox_lu_factor(call->in[0], true);
    if (!lu.t[0]) return NULL;
    return ox_mul(ox_prod(ox_diagonal(lu.t[0], 0, -2, -1), OX_DIMS(-1), false), oxi_sign_of_pivots(lu.t[1]));
}
