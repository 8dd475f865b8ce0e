/* Systems and factors by those of linalg.h. Gradients of these call the rows of pivots. */

OX_API ox_tuple ox_slogdet(ox_tensor *x) {
    if (oxi_any_null("slogdet", &x, 1)) return oxi_no_tuple();
    oxi_work work = oxi_work_begin("slogdet");
    ox_tuple lu = oxi_no_tuple();
    if (x->ndim < 2 || x->shape[x->ndim - 2] == x->shape[x->ndim - 1]) lu = ox_lu_factor(x, true);
    if (!lu.t[0]) {
        if (ox_error() == OX_OK)
            (void)oxi_fail(OX_ERR_SHAPE, "slogdet: %s is not square", oxi_tensor_text(x));
        return oxi_tuple_end(&work, NULL, NULL, NULL);
    }
    ox_tensor *d = ox_diagonal(lu.t[0], 0, -2, -1);
    ox_tensor *sign = ox_mul(ox_prod(ox_sgn(d), OX_DIMS(-1), false), oxi_sign_of_pivots(lu.t[1]));
    return oxi_tuple_end(&work, sign, ox_sum(ox_log(ox_abs(d)), OX_DIMS(-1), false), NULL);
}

OX_API ox_tensor *ox_logdet(ox_tensor *x) {
    if (oxi_any_null("logdet", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("logdet");
    ox_tuple parts = ox_slogdet(x);
    if (oxi_is_complex(x)) return oxi_work_end(&work, ox_add(ox_log(parts.t[0]), parts.t[1]));
    return oxi_work_end(&work, ox_where(ox_lt_number(parts.t[0], 0), ox_number(NAN), parts.t[1]));
}

/* How many of x's singular values s count. */
static ox_tensor *oxi_rank_of(ox_tensor *x, ox_tensor *s, double atol, double rtol) {
    if (oxi_least_side(x) == 0) return ox_sum(ox_ne_number(x, 0), OX_DIMS(-2, -1), false);
    ox_tensor *limit = s ? oxi_rank_limit(x, s, atol, rtol) : NULL;
    return ox_sum(ox_gt(s, limit), OX_DIMS(-1), false);
}
OX_API ox_tensor *ox_matrix_rank(ox_tensor *x, double atol, double rtol, bool hermitian) {
    if (oxi_any_null("matrix_rank", &x, 1)) return NULL;
    if (x->ndim < 2) return OXI_FAIL_NULL(OX_ERR_SHAPE, "matrix_rank: %s is no matrix", oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("matrix_rank");
    ox_tensor *s = oxi_least_side(x) == 0 ? NULL : hermitian ? ox_abs(ox_eigvalsh(x, false)) : ox_svdvals(x);
    return oxi_work_end(&work, oxi_rank_of(x, s, atol, rtol));
}

OX_API ox_tuple ox_lstsq(ox_tensor *a, ox_tensor *b, double rcond) {
    ox_tensor *in[2] = {a, b};
    if (oxi_any_null("lstsq", in, 2)) return oxi_no_tuple();
    oxi_work work = oxi_work_begin("lstsq");
    bool vector = oxi_is_vector_beside(a, b);
    ox_tensor *right = vector ? ox_unsqueeze(b, -1) : b;
    if (!oxi_same_batch("lstsq", &a, &right)) return oxi_tuple_end(&work, NULL, NULL, NULL);
    int64_t m = a->shape[a->ndim - 2], n = a->shape[a->ndim - 1];
    oxi_svd_parts parts;
    ox_tensor *p, *x, *s, *rank, *rest;
    if (!oxi_svd_of(a, &parts)) return oxi_tuple_end(&work, NULL, NULL, NULL);
    s = parts.s;
    /* what wants a gradient takes the row's, which needs no vectors' one */
    p = a->tape || !n || !m ? ox_pinv(a, 0, rcond, false)
                            : oxi_pinv_of(&parts, oxi_rank_limit(a, s, 0, rcond));
    x = ox_matmul(p, right);
    for (int turn = 0; turn < 2; turn++) /* p x loses digits that what is left has */
        x = ox_add(x, ox_matmul(p, ox_sub(right, ox_matmul(a, x))));
    rank = oxi_rank_of(a, s, 0, rcond);
    if (!rank) return oxi_tuple_end(&work, NULL, NULL, NULL);
    bool whole = m > n && ox_item_int(ox_all(ox_eq_number(rank, (double)n), OX_ALL_DIMS, false));
    rest = whole ? ox_sum(ox_square(ox_abs(ox_sub(ox_matmul(a, x), right))), OX_DIMS(-2), false)
                 : oxi_full("lstsq", OX_SHAPE(0), 0, a->dtype, ox_device_of(a));
    if (vector) x = ox_squeeze(x, -1);
    ox_keep(s);
    ox_tuple made = oxi_tuple_end(&work, x, rest, rank);
    made.t[3] = s;
    return made;
}

/* ---- from factors ------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_cholesky_solve(ox_tensor *b, ox_tensor *l, bool upper) {
    ox_tensor *in[2] = {b, l};
    if (oxi_any_null("cholesky_solve", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("cholesky_solve");
    ox_tensor *turned = oxi_adjoint(l);
    ox_tensor *first = ox_solve_triangular(upper ? turned : l, b, false, true, false);
    return oxi_work_end(&work, ox_solve_triangular(upper ? l : turned, first, true, true, false));
}
OX_API ox_tensor *ox_cholesky_inverse(ox_tensor *l, bool upper) {
    if (oxi_any_null("cholesky_inverse", &l, 1)) return NULL;
    if (l->ndim < 2)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "cholesky_inverse: %s is no matrix", oxi_tensor_text(l));
    oxi_work work = oxi_work_begin("cholesky_inverse");
    return oxi_work_end(&work, ox_cholesky_solve(oxi_eye_beside(l, l->shape[l->ndim - 1]), l, upper));
}


/* Which row of a each row of L U is (back: the other way around), i64 [.., rows], where x is. */
static ox_tensor *oxi_rows_of_pivots(ox_tensor *pivots, int64_t rows, bool back, const ox_tensor *x) {
    int64_t count = pivots->shape[pivots->ndim - 1], batch = count ? ox_numel(pivots) / count : 1;
    ox_shape shape = ox_shape_of(pivots);
    for (int d = 0; !count && d + 1 < pivots->ndim; d++) batch *= pivots->shape[d];
    shape.dim[shape.ndim - 1] = rows;
    ox_tensor *host = ox_contiguous(ox_to(ox_cast(pivots, OX_I64), ox_cpu()));
    ox_tensor *made = oxi_tensor_new(ox_cpu(), OX_I64, shape.ndim, shape.dim);
    const int64_t *from = host ? (const int64_t *)ox_data(host) : NULL;
    int64_t *to = made ? (int64_t *)ox_data(made) : NULL, bytes = (rows ? rows : 1) * 8;
    int64_t *order = (int64_t *)oxi_alloc((size_t)bytes);
    bool done = order && host && made;
    for (int64_t b = 0; done && b < batch; b++) {
        for (int64_t i = 0; i < rows; i++) order[i] = i;
        for (int64_t i = 0; i < count; i++) {
            int64_t other = from[b * count + i] - 1, was = order[i];
            if (other < 0 || other >= rows) {
                (void)oxi_fail(OX_ERR_ARG, "lu: the pivot %lld of %lld rows", (long long)other + 1,
                               (long long)rows);
                done = false;
                break;
            }
            order[i] = order[other];
            order[other] = was;
        }
        for (int64_t i = 0; done && i < rows; i++) to[b * rows + (back ? order[i] : i)] = back ? i : order[i];
    }
    if (order) oxi_free(order, (size_t)bytes);
    return done ? ox_to(made, oxi_working_device(ox_device_of(x))) : NULL;
}

/* x [.., rows, columns] with its rows in the order of `rows` [.., rows]. */
static ox_tensor *oxi_with_rows(ox_tensor *x, ox_tensor *rows) {
    if (!x || !rows) return NULL;
    ox_tensor *index = ox_unsqueeze(rows, -1);
    ox_shape shape = ox_shape_of(x);
    return ox_gather(x, -2, ox_contiguous(ox_expand(index, shape)));
}

OX_API ox_tuple ox_lu_unpack(ox_tensor *lu, ox_tensor *pivots) {
    ox_tensor *in[2] = {lu, pivots};
    if (oxi_any_null("lu_unpack", in, 2)) return oxi_no_tuple();
    if (lu->ndim < 2 || pivots->ndim != lu->ndim - 1) {
        (void)oxi_fail(OX_ERR_SHAPE, "lu_unpack: pivots %s of %s", oxi_tensor_text(pivots),
                       oxi_tensor_text(lu));
        return oxi_no_tuple();
    }
    oxi_work work = oxi_work_begin("lu_unpack");
    int64_t m = lu->shape[lu->ndim - 2], k = oxi_least_side(lu);
    ox_tensor *left = ox_tril(ox_narrow(lu, -1, 0, k), -1), *ones = NULL;
    if (left) {
        ones = ox_cast(ox_tril(ox_triu(oxi_full("lu", OX_SHAPE(m, k), 1, OX_BOOL, ox_device_of(lu)), 0), 0),
                       lu->dtype);
        left = ox_add(left, ones);
    }
    ox_tensor *u = ox_triu(ox_narrow(lu, -2, 0, k), 0);
    ox_tensor *rows = oxi_rows_of_pivots(pivots, m, true, lu), *eye = oxi_eye_beside(lu, m);
    ox_shape whole = ox_shape_of(lu);
    whole.dim[whole.ndim - 1] = m;
    return oxi_tuple_end(&work, oxi_with_rows(ox_expand(eye, whole), rows), left, u);
}

OX_API ox_tuple ox_lu(ox_tensor *x, bool pivot) {
    if (oxi_any_null("lu", &x, 1)) return oxi_no_tuple();
    ox_scope scope = ox_scope_begin();
    ox_tuple packed = ox_lu_factor(x, pivot);
    ox_tuple made = packed.t[0] ? ox_lu_unpack(packed.t[0], packed.t[1]) : oxi_no_tuple();
    for (int i = 0; i < 3; i++) ox_keep(made.t[i]);
    ox_scope_end(&scope);
    return made;
}

OX_API ox_tensor *ox_lu_solve(ox_tensor *lu, ox_tensor *pivots, ox_tensor *b, bool left, bool adjoint) {
    ox_tensor *in[3] = {lu, pivots, b};
    if (oxi_any_null("lu_solve", in, 3)) return NULL;
    oxi_work work = oxi_work_begin("lu_solve");
    if (!left) { /* x a = b: a^H x^H = b^H */
        ox_tensor *x = ox_lu_solve(lu, pivots, oxi_adjoint(b), true, !adjoint);
        return oxi_work_end(&work, oxi_adjoint(x));
    }
    if (lu->ndim < 2) {
        (void)oxi_fail(OX_ERR_SHAPE, "lu_solve: %s is no matrix", oxi_tensor_text(lu));
        return oxi_work_end(&work, NULL);
    }
    ox_tensor *rows = oxi_rows_of_pivots(pivots, lu->shape[lu->ndim - 2], adjoint, lu), *wide = lu;
    if (!rows || !oxi_same_batch("lu_solve", &wide, &b)) return oxi_work_end(&work, NULL);
    if (!adjoint) b = oxi_with_rows(b, rows);
    ox_tensor *turned = adjoint ? oxi_adjoint(wide) : wide;
    b = ox_solve_triangular(turned, b, false, true, !adjoint);
    if (adjoint)
        b = ox_solve_triangular(turned, b, true, true, true);
    else
        b = ox_solve_triangular(wide, b, true, true, false);
    return oxi_work_end(&work, adjoint ? oxi_with_rows(b, rows) : b);
}

/* other' = (I - tau v v^H) other for each reflector of x: the last first, or back, conjugated. */
static ox_tensor *oxi_reflected(ox_tensor *x, ox_tensor *tau, ox_tensor *other, bool back) {
    int64_t m = x->shape[x->ndim - 2], count = tau->shape[tau->ndim - 1];
    if (back && tau->dtype == OX_C64 && !(tau = ox_conj(tau))) return NULL;
    for (int64_t i = 0; i < count && other; i++) {
        int64_t k = back ? i : count - 1 - i;
        ox_tensor *v = ox_narrow(x, -1, k, 1), *ramp = ox_unsqueeze(oxi_ramp_beside(x, m, OX_I64), 1);
        v = ox_where(ox_gt_number(ramp, (double)k), v, ox_cast(ox_eq_number(ramp, (double)k), x->dtype));
        ox_tensor *part = ox_matmul(oxi_adjoint(v), other);
        other = ox_sub(other, ox_mul(ox_matmul(v, part), ox_unsqueeze(ox_narrow(tau, -1, k, 1), -1)));
    }
    return other;
}

OX_API ox_tensor *ox_ormqr(ox_tensor *x, ox_tensor *tau, ox_tensor *other, bool left, bool transpose) {
    ox_tensor *in[3] = {x, tau, other};
    if (oxi_any_null("ormqr", in, 3)) return NULL;
    if (x->ndim < 2 || tau->ndim != x->ndim - 1 || other->ndim != x->ndim)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "ormqr: %s, tau %s, other %s", oxi_tensor_text(x),
                             oxi_tensor_text(tau), oxi_tensor_text(other));
    oxi_work work = oxi_work_begin("ormqr");
    ox_tensor *made = left ? other : oxi_adjoint(other); /* other Q: (Q^H other^H)^H */
    made = oxi_reflected(x, tau, made, left ? transpose : !transpose);
    return oxi_work_end(&work, left ? made : oxi_adjoint(made));
}

OX_API ox_tensor *ox_householder_product(ox_tensor *x, ox_tensor *tau) {
    ox_tensor *in[2] = {x, tau};
    if (oxi_any_null("householder_product", in, 2)) return NULL;
    if (x->ndim < 2 || tau->ndim != x->ndim - 1 || x->shape[x->ndim - 2] < x->shape[x->ndim - 1] ||
        tau->shape[tau->ndim - 1] > x->shape[x->ndim - 1])
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "householder_product: %s, tau %s", oxi_tensor_text(x),
                             oxi_tensor_text(tau));
    oxi_work work = oxi_work_begin("householder_product");
    ox_tensor *eye = oxi_eye_beside(x, x->shape[x->ndim - 2]);
    eye = ox_narrow(eye, -1, 0, x->shape[x->ndim - 1]);
    return oxi_work_end(&work, oxi_reflected(x, tau, ox_clone(ox_expand(eye, ox_shape_of(x))), false));
}
