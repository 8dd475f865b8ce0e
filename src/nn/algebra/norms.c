/* Norms of matrices, powers, the exponential, tensors as matrices. */

/* The two dims of a norm at the end; false and an error. */
static ox_tensor *oxi_matrix_last(const char *name, ox_tensor *x, ox_shape dims, int at[2]) {
    if (dims.ndim == 0) dims = OX_DIMS(-2, -1);
    if (dims.ndim != 2) return OXI_FAIL_NULL(OX_ERR_DIM, "%s: of 2 dims, not %d", name, dims.ndim);
    for (int i = 0; i < 2; i++) {
        at[i] = oxi_own_dim(name, x, (int)dims.dim[i]);
        if (at[i] < 0) return NULL;
    }
    if (at[0] == at[1]) return OXI_FAIL_NULL(OX_ERR_DIM, "%s: dim %d twice", name, at[0]);
    ox_shape order = oxi_no_shape();
    for (int d = 0; d < x->ndim; d++)
        if (d != at[0] && d != at[1]) order.dim[order.ndim++] = d;
    order.dim[order.ndim++] = at[0];
    order.dim[order.ndim++] = at[1];
    return ox_permute(x, order);
}

static ox_tensor *oxi_matrix_norm(const char *name, ox_tensor *x, const char *order, double p) {
    if (order && strcmp(order, "fro") == 0) return ox_norm(x, 2, OX_DIMS(-2, -1), false);
    if (order && strcmp(order, "nuc") == 0) return ox_sum(ox_svdvals(x), OX_DIMS(-1), false);
    double size = fabs(p);
    if (order || (size != 1 && size != 2 && !isinf(size)))
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: order %s%g", name, order ? order : "", order ? 0 : p);
    ox_tensor *lines = size == 2 ? ox_svdvals(x) : ox_sum(ox_abs(x), OX_DIMS(size == 1 ? -2 : -1), false);
    if (p > 0 && lines && lines->shape[lines->ndim - 1] == 0) return ox_sum(lines, OX_DIMS(-1), false);
    return p > 0 ? ox_amax(lines, OX_DIMS(-1), false) : ox_amin(lines, OX_DIMS(-1), false);
}

OX_API ox_tensor *ox_matrix_norm(ox_tensor *x, const char *order, double p, ox_shape dims, bool keepdim) {
    int at[2];
    if (oxi_any_null("matrix_norm", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("matrix_norm");
    ox_tensor *turned = oxi_matrix_last("matrix_norm", x, dims, at);
    ox_tensor *made = turned ? oxi_matrix_norm("matrix_norm", turned, order, p) : NULL;
    if (made && keepdim) {
        int low = at[0] < at[1] ? at[0] : at[1], high = at[0] < at[1] ? at[1] : at[0];
        made = ox_unsqueeze(ox_unsqueeze(made, low), high);
    }
    return oxi_work_end(&work, made);
}

OX_API ox_tensor *ox_cond(ox_tensor *x, const char *order, double p) {
    if (oxi_any_null("cond", &x, 1)) return NULL;
    if (x->ndim < 2) return OXI_FAIL_NULL(OX_ERR_SHAPE, "cond: %s is no matrix", oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("cond");
    if (!order && fabs(p) == 2) {
        ox_tensor *s = ox_svdvals(x), *most, *least;
        if (s && s->shape[s->ndim - 1] == 0) return oxi_work_end(&work, ox_sum(s, OX_DIMS(-1), false));
        most = ox_select(s, -1, 0);
        least = ox_select(s, -1, -1);
        return oxi_work_end(&work, p > 0 ? ox_div(most, least) : ox_div(least, most));
    }
    if (ox_numel(x) == 0) return oxi_work_end(&work, ox_sum(x, OX_DIMS(-2, -1), false));
    ox_tensor *own = oxi_matrix_norm("cond", x, order, p);
    return oxi_work_end(&work, ox_mul(own, oxi_matrix_norm("cond", ox_inv(x), order, p)));
}

OX_API ox_tensor *ox_matrix_power(ox_tensor *x, int64_t n) {
    if (oxi_any_null("matrix_power", &x, 1)) return NULL;
    if (x->ndim < 2 || n == INT64_MIN || x->shape[x->ndim - 2] != x->shape[x->ndim - 1])
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "matrix_power: %s to the %lld", oxi_tensor_text(x), (long long)n);
    oxi_work work = oxi_work_begin("matrix_power");
    ox_tensor *square = n < 0 ? ox_inv(x) : x, *made = NULL;
    if (n == 0) made = ox_clone(ox_expand(oxi_eye_beside(x, x->shape[x->ndim - 1]), ox_shape_of(x)));
    for (int64_t rest = n < 0 ? -n : n; rest > 0 && square; rest /= 2) {
        if (rest % 2) made = made ? ox_matmul(made, square) : square;
        if (rest > 1) square = ox_matmul(square, square);
    }
    return oxi_work_end(&work, made == x ? ox_clone(x) : made);
}

/* Scaling and squaring around Pade's approximation of degree 13 (Higham 2005). */
static ox_tensor *oxi_exponential(ox_tensor *x) {
    static const double b[14] = {64764752532480000.,
                                 32382376266240000.,
                                 7771770303897600.,
                                 1187353796428800.,
                                 129060195264000.,
                                 10559470521600.,
                                 670442572800.,
                                 33522128640.,
                                 1323241920.,
                                 40840800.,
                                 960960.,
                                 16380.,
                                 182.,
                                 1.};
    ox_tensor *wide = oxi_is_complex(x) ? x : ox_cast(x, OX_F64), *p[4], *odd, *even;
    ox_tensor *eye = oxi_eye_beside(wide, x->shape[x->ndim - 1]);
    double size = ox_item(ox_amax(ox_sum(ox_abs(wide), OX_DIMS(-2), false), OX_ALL_DIMS, false));
    if (!eye || ox_error()) return NULL;
    int halves = 0;
    for (; size > 5.371920351148152 && halves < 1100; size /= 2) halves++;
    if (!(size <= 6)) return ox_mul_number(wide, NAN);
    wide = ox_mul_number(wide, ldexp(1.0, -halves));
    p[0] = eye;
    p[1] = ox_matmul(wide, wide);
    p[2] = ox_matmul(p[1], p[1]);
    p[3] = ox_matmul(p[2], p[1]);
    odd = ox_mul_number(p[3], b[13]);
    even = ox_mul_number(p[3], b[12]);
    for (int i = 1; i < 3; i++) {
        odd = ox_add_scaled(odd, p[i], b[7 + 2 * i]);
        even = ox_add_scaled(even, p[i], b[6 + 2 * i]);
    }
    odd = ox_matmul(p[3], odd);
    even = ox_matmul(p[3], even);
    for (int i = 0; i < 4; i++) {
        odd = ox_add_scaled(odd, p[i], b[2 * i + 1]);
        even = ox_add_scaled(even, p[i], b[2 * i]);
    }
    odd = ox_matmul(wide, odd);
    ox_tensor *made = ox_solve(ox_sub(even, odd), ox_add(even, odd), true);
    for (; halves > 0; halves--) made = ox_matmul(made, made);
    return made;
}

OX_API ox_tensor *ox_matrix_exp(ox_tensor *x) {
    if (oxi_any_null("matrix_exp", &x, 1)) return NULL;
    if (x->ndim < 2 || x->shape[x->ndim - 2] != x->shape[x->ndim - 1] ||
        (!oxi_is_float(x->dtype) && !oxi_is_complex(x)))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "matrix_exp: %s", oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("matrix_exp");
    return oxi_work_end(&work, ox_numel(x) ? ox_cast(oxi_exponential(x), x->dtype) : ox_clone(x));
}

/* ---- tensors as matrices ------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_tensorinv(ox_tensor *x, int ind) {
    if (oxi_any_null("tensorinv", &x, 1)) return NULL;
    ox_shape shape = oxi_no_shape();
    int64_t rows = 1;
    if (ind < 1 || ind > x->ndim)
        return OXI_FAIL_NULL(OX_ERR_DIM, "tensorinv: %d dims of %s", ind, oxi_tensor_text(x));
    for (int d = 0; d < ind; d++) rows *= x->shape[d];
    for (int d = 0; d < x->ndim; d++) shape.dim[shape.ndim++] = x->shape[(d + ind) % x->ndim];
    if (rows * rows != ox_numel(x))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "tensorinv: %s is no square matrix", oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("tensorinv");
    return oxi_work_end(&work, ox_reshape(ox_inv(ox_reshape(x, OX_SHAPE(rows, rows))), shape));
}

OX_API ox_tensor *ox_tensorsolve(ox_tensor *a, ox_tensor *b, ox_shape dims) {
    ox_tensor *in[2] = {a, b};
    uint32_t set = 0;
    if (oxi_any_null("tensorsolve", in, 2)) return NULL;
    if (dims.ndim && !oxi_dim_set("tensorsolve", a, &dims, &set)) return NULL;
    ox_shape order = oxi_no_shape(), shape = oxi_no_shape();
    for (int d = 0; d < a->ndim; d++)
        if (!(set >> d & 1)) order.dim[order.ndim++] = d;
    for (int i = 0; i < dims.ndim; i++)
        order.dim[order.ndim++] = dims.dim[i] < 0 ? dims.dim[i] + a->ndim : dims.dim[i];
    int64_t rows = ox_numel(b);
    oxi_work work = oxi_work_begin("tensorsolve");
    ox_tensor *turned = ox_permute(a, order);
    if (!turned || rows * rows != ox_numel(a) || b->ndim > a->ndim) {
        if (turned)
            (void)oxi_fail(OX_ERR_SHAPE, "tensorsolve: %s with %s", oxi_tensor_text(a), oxi_tensor_text(b));
        return oxi_work_end(&work, NULL);
    }
    for (int d = b->ndim; d < a->ndim; d++) shape.dim[shape.ndim++] = turned->shape[d];
    ox_tensor *x = ox_solve(ox_reshape(turned, OX_SHAPE(rows, rows)), ox_reshape(b, OX_SHAPE(rows)), true);
    return oxi_work_end(&work, ox_reshape(x, shape));
}
