/* Decompositions in terms of others, which bring the gradients. */

/* v diag(s) v^T */
static ox_tensor *oxi_from_spectrum(ox_tensor *v, ox_tensor *s) {
    return v && s ? ox_matmul(ox_mul(v, ox_unsqueeze(s, -2)), ox_transpose(v, -1, -2)) : NULL;
}

OX_API ox_tuple ox_linalg_polar(ox_tensor *x) {
    if (oxi_any_null("linalg_polar", &x, 1)) return oxi_no_tuple();
    if (x->ndim < 2 || x->shape[x->ndim - 2] < x->shape[x->ndim - 1]) {
        (void)oxi_fail(OX_ERR_SHAPE, "linalg_polar: %s has more columns than rows", oxi_tensor_text(x));
        return oxi_no_tuple();
    }
    oxi_work work = oxi_work_begin("linalg_polar");
    ox_tuple parts = ox_svd(x, false);
    if (!parts.t[0]) return oxi_tuple_end(&work, NULL, NULL, NULL);
    ox_tensor *v = ox_transpose(parts.t[2], -1, -2);
    return oxi_tuple_end(&work, ox_matmul(parts.t[0], parts.t[2]), oxi_from_spectrum(v, parts.t[1]), NULL);
}

OX_API ox_tensor *ox_matrix_sqrth(ox_tensor *x) {
    if (oxi_any_null("matrix_sqrth", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("matrix_sqrth");
    ox_tuple parts = ox_eigh(x, false);
    return oxi_work_end(&work, parts.t[0] ? oxi_from_spectrum(parts.t[1], ox_sqrt(parts.t[0])) : NULL);
}

/* Orthonormal columns [..,M,q] that span nearly what x does. */
static ox_tensor *oxi_column_range(ox_tensor *x, int64_t q, int64_t rounds) {
    ox_tensor *back = ox_transpose(x, -1, -2), *probe;
    if (!back) return NULL;
    ox_shape shape = ox_shape_of(back);
    shape.dim[shape.ndim - 1] = q;
    probe = oxi_full("svd_lowrank", shape, 0, x->dtype, oxi_working_device(ox_device_of(x)));
    ox_tensor *basis = ox_qr(ox_matmul(x, ox_normal_(probe, 0, 1)), NULL).t[0];
    for (int64_t i = 0; i < rounds && basis; i++) {
        ox_tensor *other = ox_qr(ox_matmul(back, basis), NULL).t[0];
        basis = ox_qr(ox_matmul(x, other), NULL).t[0];
    }
    return basis;
}

static ox_tuple oxi_lowrank(oxi_work *work, const char *name, ox_tensor *x, int64_t q, int64_t rounds) {
    int64_t m = x->shape[x->ndim - 2], n = x->shape[x->ndim - 1];
    if (q < 1 || q > (m < n ? m : n) || rounds < 0) {
        (void)oxi_fail(OX_ERR_ARG, "%s: rank %lld, %lld rounds of %s", name, (long long)q, (long long)rounds,
                       oxi_tensor_text(x));
        return oxi_tuple_end(work, NULL, NULL, NULL);
    }
    ox_tensor *basis = oxi_column_range(x, q, rounds);
    ox_tuple parts = basis ? ox_svd(ox_matmul(ox_transpose(basis, -1, -2), x), false) : oxi_no_tuple();
    if (!parts.t[0]) return oxi_tuple_end(work, NULL, NULL, NULL);
    ox_tensor *v = ox_transpose(parts.t[2], -1, -2);
    return oxi_tuple_end(work, ox_matmul(basis, parts.t[0]), parts.t[1], v);
}

OX_API ox_tuple ox_svd_lowrank(ox_tensor *x, int64_t q, int64_t rounds, ox_tensor *shift) {
    if (oxi_any_null("svd_lowrank", &x, 1)) return oxi_no_tuple();
    oxi_work work = oxi_work_begin("svd_lowrank");
    ox_tensor *from = shift ? ox_sub(x, shift) : x;
    if (from && from->ndim >= 2) return oxi_lowrank(&work, "svd_lowrank", from, q, rounds);
    if (from) (void)oxi_fail(OX_ERR_SHAPE, "svd_lowrank: %s is no matrix", oxi_tensor_text(from));
    return oxi_tuple_end(&work, NULL, NULL, NULL);
}

OX_API ox_tuple ox_pca_lowrank(ox_tensor *x, int64_t q, bool center, int64_t rounds) {
    if (oxi_any_null("pca_lowrank", &x, 1)) return oxi_no_tuple();
    oxi_work work = oxi_work_begin("pca_lowrank");
    if (x->ndim < 2) {
        (void)oxi_fail(OX_ERR_SHAPE, "pca_lowrank: %s is no matrix", oxi_tensor_text(x));
        return oxi_tuple_end(&work, NULL, NULL, NULL);
    }
    int64_t m = x->shape[x->ndim - 2], n = x->shape[x->ndim - 1], least = m < n ? m : n;
    ox_tensor *from = center ? ox_sub(x, ox_mean(x, OX_DIMS(-2), true)) : x;
    if (!from) return oxi_tuple_end(&work, NULL, NULL, NULL);
    return oxi_lowrank(&work, "pca_lowrank", from, q ? q : least < 6 ? least : 6, rounds);
}
