/* The public functions of linear algebra: systems and factors. */

static ox_tuple oxi_apply_factor(const char *name, oxi_op op, const oxi_attrs *attr, ox_tensor *x) {
    ox_tuple tuple = oxi_no_tuple();
    if (oxi_any_null(name, &x, 1)) return tuple;
    ox_pair pair = oxi_apply_pair(name, op, attr, x);
    tuple.t[0] = pair.values;
    tuple.t[1] = pair.indices;
    return tuple;
}
static ox_tensor *oxi_eye_beside(const ox_tensor *x, int64_t n) {
    ox_device *device = oxi_working_device(ox_device_of(x));
    ox_device_scope scope = ox_device_scope_begin(device);
    ox_tensor *eye = ox_eye(n, n, x->dtype);
    ox_device_scope_end(&scope);
    return eye;
}

/* ---- systems ------------------------------------------------------------------------------------------- */

/* Leading dims of both as one; false and an error. */
static bool oxi_same_batch(const char *name, ox_tensor **a, ox_tensor **b) {
    ox_tensor *both[2] = {*a, *b};
    ox_shape batch = oxi_no_shape();
    if (!*a || !*b) return false;
    for (int i = 0; i < 2; i++)
        if (both[i]->ndim < 2) {
            (void)oxi_fail(OX_ERR_SHAPE, "%s: %s is no matrix", name, oxi_tensor_text(both[i]));
            return false;
        }
    for (int i = 0; i < 2; i++)
        if (both[i]->ndim - 2 > batch.ndim) batch.ndim = both[i]->ndim - 2;
    for (int d = 0; d < batch.ndim; d++) batch.dim[d] = 1;
    for (int i = 0; i < 2; i++)
        for (int d = 0; d + 2 < both[i]->ndim; d++) {
            int64_t *size = &batch.dim[batch.ndim - (both[i]->ndim - 2) + d], own = both[i]->shape[d];
            if (*size == 1) *size = own;
            if (own == 1 || own == *size) continue;
            (void)oxi_fail(OX_ERR_SHAPE, "%s: leading dims do not broadcast: %s x %s", name,
                           oxi_tensor_text(*a), oxi_tensor_text(*b));
            return false;
        }
    for (int i = 0; i < 2; i++) {
        ox_shape whole = batch;
        whole.dim[whole.ndim++] = both[i]->shape[both[i]->ndim - 2];
        whole.dim[whole.ndim++] = both[i]->shape[both[i]->ndim - 1];
        ox_tensor *wide = ox_expand(both[i], whole);
        if (i)
            *b = wide;
        else
            *a = wide;
    }
    return *a && *b;
}

static ox_tensor *oxi_solved(const char *name, ox_tensor *a, ox_tensor *b) {
    ox_tensor *in[2];
    if (!oxi_same_batch(name, &a, &b)) return NULL;
    in[0] = a;
    in[1] = b;
    return oxi_apply_as(name, OXI_OP_solve, NULL, in, 2, NULL);
}

/* Whether b is a batch of vectors, by torch's rule. */
static bool oxi_is_vector_beside(const ox_tensor *a, const ox_tensor *b) {
    bool vectors = b->ndim == 1 || b->ndim == a->ndim - 1;
    for (int d = 0; vectors && b->ndim > 1 && d < b->ndim; d++) vectors = b->shape[d] == a->shape[d];
    return vectors;
}

OX_API ox_tensor *ox_solve(ox_tensor *a, ox_tensor *b, bool left) {
    ox_tensor *in[2] = {a, b};
    if (oxi_any_null("solve", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("solve");
    bool vector = oxi_is_vector_beside(a, b);
    ox_tensor *right = vector ? ox_unsqueeze(b, -1) : b, *x;
    x = left || vector
            ? oxi_solved("solve", a, right)
            : ox_transpose(oxi_solved("solve", ox_transpose(a, -2, -1), ox_transpose(right, -2, -1)), -2, -1);
    return oxi_work_end(&work, vector ? ox_squeeze(x, -1) : x);
}

OX_API ox_tensor *ox_solve_triangular(ox_tensor *a, ox_tensor *b, bool upper, bool left, bool unitriangular) {
    ox_tensor *in[2] = {a, b};
    oxi_attrs attr = oxi_attrs_triangular();
    if (oxi_any_null("solve_triangular", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("solve_triangular");
    attr.triangular.upper = upper;
    attr.triangular.right = !left;
    attr.triangular.unit = unitriangular;
    if (!oxi_same_batch("solve_triangular", &in[0], &in[1])) return oxi_work_end(&work, NULL);
    if (oxi_is_complex(in[0])) { /* as any matrix */
        ox_tensor *triangle = upper ? ox_triu(in[0], unitriangular) : ox_tril(in[0], -(int64_t)unitriangular);
        if (unitriangular) triangle = ox_add(triangle, oxi_eye_beside(a, a->shape[a->ndim - 1]));
        return oxi_work_end(&work, ox_solve(triangle, in[1], left));
    }
    return oxi_work_end(&work, oxi_apply_list(OXI_OP_solve_triangular, &attr, in, 2, NULL));
}

OX_API ox_tensor *ox_inv(ox_tensor *x) {
    if (oxi_any_null("inv", &x, 1)) return NULL;
    if (x->ndim < 2) return OXI_FAIL_NULL(OX_ERR_SHAPE, "inv: %s is no matrix", oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("inv");
    return oxi_work_end(&work, oxi_solved("inv", x, oxi_eye_beside(x, x->shape[x->ndim - 1])));
}

OX_API ox_tensor *ox_det(ox_tensor *x) {
    return oxi_apply_1(OXI_OP_det, NULL, x);
}

OX_API ox_tensor *ox_pinv(ox_tensor *x, double atol, double rtol, bool hermitian) {
    oxi_attrs attr = oxi_attrs_tolerance();
    attr.tolerance.atol = atol;
    attr.tolerance.rtol = rtol;
    attr.tolerance.hermitian = hermitian;
    return oxi_apply_1(OXI_OP_pinv, &attr, x);
}

/* ---- Cholesky, LU -------------------------------------------------------------------------------------- */

OX_API ox_tuple ox_cholesky_ex(ox_tensor *x, bool upper) {
    oxi_attrs attr = oxi_attrs_triangle();
    attr.triangle.upper = upper;
    return oxi_apply_factor("cholesky_ex", OXI_OP_cholesky, &attr, x);
}

OX_API ox_tensor *ox_cholesky(ox_tensor *x, bool upper) {
    if (oxi_any_null("cholesky", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("cholesky");
    ox_tuple made = ox_cholesky_ex(x, upper);
    int64_t info = made.t[1] && ox_numel(made.t[1]) ? ox_item_int(ox_amax(made.t[1], OX_ALL_DIMS, false)) : 0;
    if (info) {
        (void)oxi_fail(OX_ERR_ARG, "cholesky: the leading minor of order %lld is not positive",
                       (long long)info);
        return oxi_work_end(&work, NULL);
    }
    return oxi_work_end(&work, made.t[0]);
}

OX_API ox_tuple ox_lu_factor(ox_tensor *x, bool pivot) {
    oxi_attrs attr = oxi_attrs_pivot();
    attr.pivot.pivot = pivot;
    return oxi_apply_factor("lu_factor", OXI_OP_lu_factor, &attr, x);
}

/* ---- QR, eigenvalues, singular values ------------------------------------------------------------------ */

OX_API ox_tuple ox_qr(ox_tensor *x, const char *mode) {
    oxi_attrs attr = oxi_attrs_complete();
    bool alone = mode && strcmp(mode, "r") == 0;
    if (mode && !alone && strcmp(mode, "reduced") != 0 && strcmp(mode, "complete") != 0) {
        (void)oxi_fail(OX_ERR_ARG, "qr: mode \"%s\"", mode);
        return oxi_no_tuple();
    }
    attr.complete.complete = mode && strcmp(mode, "complete") == 0;
    ox_tuple made = oxi_apply_factor("qr", OXI_OP_qr, &attr, x);
    if (alone && made.t[0]) {
        ox_tensor *none = oxi_full("qr", OX_SHAPE(0), 0, x->dtype, ox_device_of(x));
        ox_release(made.t[0]);
        made.t[0] = none;
    }
    return made;
}
OX_API ox_tuple ox_geqrf(ox_tensor *x) {
    oxi_attrs attr = oxi_attrs_none();
    return oxi_apply_factor("geqrf", OXI_OP_geqrf, &attr, x);
}

OX_API ox_tuple ox_eigh(ox_tensor *x, bool upper) {
    oxi_attrs attr = oxi_attrs_triangle();
    attr.triangle.upper = upper;
    return oxi_apply_factor("eigh", OXI_OP_eigh, &attr, x);
}
OX_API ox_tuple ox_eig(ox_tensor *x) {
    oxi_attrs attr = oxi_attrs_none();
    return oxi_apply_factor("eig", OXI_OP_eig, &attr, x);
}

/* The first of several results. */
static ox_tensor *oxi_first_of(oxi_work *work, ox_tuple made) {
    return oxi_work_end(work, made.t[0]);
}
OX_API ox_tensor *ox_eigvalsh(ox_tensor *x, bool upper) {
    oxi_work work = oxi_work_begin("eigvalsh");
    return oxi_first_of(&work, ox_eigh(x, upper));
}
OX_API ox_tensor *ox_eigvals(ox_tensor *x) {
    oxi_work work = oxi_work_begin("eigvals");
    return oxi_first_of(&work, ox_eig(x));
}

OX_API ox_tuple ox_svd(ox_tensor *x, bool full_matrices) {
    oxi_svd_parts p;
    if (oxi_any_null("svd", &x, 1)) return oxi_no_tuple();
    oxi_work work = oxi_work_begin("svd");
    if (!oxi_svd_of(x, &p)) return oxi_tuple_end(&work, NULL, NULL, NULL);
    int64_t m = x->shape[x->ndim - 2], n = x->shape[x->ndim - 1], k = m < n ? m : n;
    ox_tensor **longer = m > n ? &p.u : &p.v, *parts[2];
    if (full_matrices && m != n && x->ndim > 0) { /* the rest of an orthogonal matrix: that of its QR */
        ox_tuple whole = ox_qr(*longer, "complete");
        parts[0] = *longer;
        parts[1] = whole.t[0] ? ox_narrow(whole.t[0], -1, k, (m > n ? m : n) - k) : NULL;
        *longer = parts[1] ? ox_cat(parts, 2, -1) : NULL;
    }
    return oxi_tuple_end(&work, ox_contiguous(p.u), p.s, oxi_adjoint(p.v));
}
OX_API ox_tensor *ox_svdvals(ox_tensor *x) {
    oxi_svd_parts p;
    if (oxi_any_null("svdvals", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("svdvals");
    return oxi_work_end(&work, oxi_svd_of(x, &p) ? p.s : NULL);
}
