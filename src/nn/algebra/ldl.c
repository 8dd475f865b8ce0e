/* Symmetric matrices that are neither positive nor negative: P L D L^T P^T with blocks of one or two rows in
 * D, by the pivots of Bunch & Kaufman 1977, stored as LAPACK's sytrf does with UPLO = 'L'. In f64 on the CPU,
 * wherever the matrices are. */

enum { OXI_LDL_F64 = (int)sizeof(double) };

/* Swaps rows and columns a < b of the lower triangle, from column `first` of the block on. */
static void oxi_ldl_swap(double *m, int64_t n, int64_t first, int64_t a, int64_t b) {
#define OXI_AT(i, j) m[(i)*n + (j)]
#define OXI_SWAP(x, y)  \
    do {                \
        double old = x; \
        x = y;          \
        y = old;        \
    } while (0)
    for (int64_t i = b + 1; i < n; i++) OXI_SWAP(OXI_AT(i, a), OXI_AT(i, b));
    for (int64_t i = a + 1; i < b; i++) OXI_SWAP(OXI_AT(i, a), OXI_AT(b, i));
    OXI_SWAP(OXI_AT(a, a), OXI_AT(b, b));
    if (first < a) OXI_SWAP(OXI_AT(a, first), OXI_AT(b, first));
}

/* Which row comes to the block at k; *step: how many rows the block has. */
static int64_t oxi_ldl_pivot(const double *m, int64_t n, int64_t k, int64_t *step, bool *zero) {
    const double alpha = 0.6403882032022076; /* (1 + sqrt(17)) / 8: least growth of the elements */
    double own = fabs(OXI_AT(k, k)), most = 0, beside = 0;
    int64_t at = k;
    *step = 1;
    for (int64_t i = k + 1; i < n; i++)
        if (fabs(OXI_AT(i, k)) > most) {
            most = fabs(OXI_AT(i, k));
            at = i;
        }
    *zero = isnan(own) || (own == 0 && most == 0);
    if (*zero || own >= alpha * most) return k;
    for (int64_t j = k; j < at; j++) beside = fmax(beside, fabs(OXI_AT(at, j)));
    for (int64_t i = at + 1; i < n; i++) beside = fmax(beside, fabs(OXI_AT(i, at)));
    if (own >= alpha * most * (most / beside)) return k;
    if (fabs(OXI_AT(at, at)) < alpha * beside) *step = 2;
    return at;
}

/* What is left of the rows behind a block of one row. */
static void oxi_ldl_take_1(double *m, int64_t n, int64_t k) {
    double inverse = 1 / OXI_AT(k, k);
    for (int64_t i = n - 1; i > k; i--) {
        double factor = OXI_AT(i, k) * inverse;
        for (int64_t j = k + 1; j <= i; j++) OXI_AT(i, j) -= factor * OXI_AT(j, k);
    }
    for (int64_t i = k + 1; i < n; i++) OXI_AT(i, k) *= inverse;
}

/* And of two. */
static void oxi_ldl_take_2(double *m, int64_t n, int64_t k) {
    double off = OXI_AT(k + 1, k), a = OXI_AT(k + 1, k + 1) / off, b = OXI_AT(k, k) / off;
    double scale = 1 / (a * b - 1) / off;
    for (int64_t j = k + 2; j < n; j++) {
        double first = scale * (a * OXI_AT(j, k) - OXI_AT(j, k + 1));
        double second = scale * (b * OXI_AT(j, k + 1) - OXI_AT(j, k));
        for (int64_t i = j; i < n; i++) OXI_AT(i, j) -= OXI_AT(i, k) * first + OXI_AT(i, k + 1) * second;
        OXI_AT(j, k) = first;
        OXI_AT(j, k + 1) = second;
    }
}

/* The first row, from 1, whose block is 0; 0: none. */
static int64_t oxi_ldl_factor_one(double *m, int64_t n, int64_t *pivots) {
    int64_t info = 0, step;
    for (int64_t k = 0; k < n; k += step) {
        bool zero;
        int64_t from = oxi_ldl_pivot(m, n, k, &step, &zero), last = k + step - 1;
        if (zero && info == 0) info = k + 1;
        if (from != last) oxi_ldl_swap(m, n, k, last, from);
        if (!zero && step == 1) oxi_ldl_take_1(m, n, k);
        if (step == 2) oxi_ldl_take_2(m, n, k);
        for (int64_t i = k; i <= last; i++) pivots[i] = step == 1 ? from + 1 : -(from + 1);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) OXI_AT(i, j) = 0;
    return info;
}

/* Numbers of t, in memory that oxi_free takes with *bytes; with room for one more. */
static void *oxi_host_numbers(ox_tensor *t, bool whole, size_t *bytes) {
    int64_t count = ox_numel(t);
    if (!oxi_mul_size((size_t)count + 1, OXI_LDL_F64, bytes)) return NULL;
    void *numbers = oxi_alloc(*bytes);
    if (!numbers) return NULL;
    ox_tensor *plain = ox_detach(t);
    ox_status status =
        whole ? ox_to_ints(plain, (int64_t *)numbers, count) : ox_to_doubles(plain, (double *)numbers, count);
    if (status == OX_OK) return numbers;
    oxi_free(numbers, *bytes);
    return NULL;
}

/* Numbers as a tensor of `dtype` where t lies. */
static ox_tensor *oxi_numbers_beside(const ox_tensor *t, const void *numbers, ox_shape shape, ox_dtype from,
                                     ox_dtype dtype) {
    ox_tensor *made = oxi_copied(numbers, shape, from);
    return made ? ox_to(ox_cast(made, dtype), oxi_working_device(ox_device_of(t))) : NULL;
}

static bool oxi_ldl_is_matrix(const char *name, const ox_tensor *x) {
    bool square = x->ndim >= 2 && x->shape[x->ndim - 1] == x->shape[x->ndim - 2];
    if (x->dtype != OX_F32 && x->dtype != OX_F64)
        (void)oxi_fail(OX_ERR_DTYPE, "%s: not defined for %s", name, oxi_tensor_text(x));
    else if (!square)
        (void)oxi_fail(OX_ERR_SHAPE, "%s: %s is not square", name, oxi_tensor_text(x));
    return square && (x->dtype == OX_F32 || x->dtype == OX_F64);
}

static ox_tuple oxi_ldl_factored(oxi_work *work, ox_tensor *x, bool check) {
    int64_t n = x->shape[x->ndim - 1], batch = oxi_outer_count(x, 2), failed = 0;
    size_t bytes, order_bytes = ((size_t)(batch * n) + 1) * OXI_LDL_F64,
                  info_bytes = ((size_t)batch + 1) * OXI_LDL_F64;
    double *m = (double *)oxi_host_numbers(x, false, &bytes);
    int64_t *pivots = m ? (int64_t *)oxi_alloc(order_bytes) : NULL;
    int64_t *info = pivots ? (int64_t *)oxi_alloc(info_bytes) : NULL;
    ox_tensor *made[3] = {NULL, NULL, NULL};
    if (info) {
        ox_shape shape = ox_shape_of(x);
        for (int64_t b = 0; b < batch; b++) {
            info[b] = oxi_ldl_factor_one(m + b * n * n, n, pivots + b * n);
            failed = failed ? failed : info[b];
        }
        made[0] = oxi_numbers_beside(x, m, shape, OX_F64, x->dtype);
        shape.ndim--;
        made[1] = oxi_numbers_beside(x, pivots, shape, OX_I64, OX_I32);
        shape.ndim--;
        made[2] = oxi_numbers_beside(x, info, shape, OX_I64, OX_I32);
        oxi_free(info, info_bytes);
    }
    if (pivots) oxi_free(pivots, order_bytes);
    if (m) oxi_free(m, bytes);
    if (check && failed) {
        (void)oxi_fail(OX_ERR_ARG, "ldl_factor: row %lld of D is 0", (long long)failed);
        made[0] = NULL;
    }
    return oxi_tuple_end(work, made[2] ? made[0] : NULL, made[1], check ? NULL : made[2]);
}

static ox_tuple oxi_ldl_factor(const char *name, ox_tensor *x, bool check) {
    if (oxi_any_null(name, &x, 1) || !oxi_ldl_is_matrix(name, x)) return oxi_no_tuple();
    oxi_work work = oxi_work_begin(name);
    return oxi_ldl_factored(&work, x, check);
}
OX_API ox_tuple ox_ldl_factor(ox_tensor *x) {
    return oxi_ldl_factor("ldl_factor", x, true);
}
OX_API ox_tuple ox_ldl_factor_ex(ox_tensor *x) {
    return oxi_ldl_factor("ldl_factor_ex", x, false);
}

/* ---- solving ------------------------------------------------------------------------------------------- */

/* b's rows [n,k]: row `to` less factor times row `from`. */
static void oxi_ldl_less(double *b, int64_t k, int64_t to, double factor, int64_t from) {
    for (int64_t c = 0; c < k; c++) b[to * k + c] -= factor * b[from * k + c];
}
static void oxi_ldl_swap_rows(double *b, int64_t k, int64_t x, int64_t y) {
    for (int64_t c = 0; c < k && x != y; c++) OXI_SWAP(b[x * k + c], b[y * k + c]);
}

/* Rows i and i + 1 of b by the inverse of D's block there. */
static void oxi_ldl_divide_2(const double *m, int64_t n, int64_t i, double *b, int64_t k) {
    double off = OXI_AT(i + 1, i), x = OXI_AT(i, i) / off, y = OXI_AT(i + 1, i + 1) / off, all = x * y - 1;
    for (int64_t c = 0; c < k; c++) {
        double first = b[i * k + c] / off, second = b[(i + 1) * k + c] / off;
        b[i * k + c] = (y * first - second) / all;
        b[(i + 1) * k + c] = (x * second - first) / all;
    }
}

static void oxi_ldl_solve_one(const double *m, int64_t n, const int64_t *pivots, double *b, int64_t k) {
    for (int64_t i = 0; i < n;) {
        int64_t step = pivots[i] > 0 ? 1 : 2;
        oxi_ldl_swap_rows(b, k, i + step - 1, (pivots[i] > 0 ? pivots[i] : -pivots[i]) - 1);
        for (int64_t r = i + step; r < n; r++)
            for (int64_t s = 0; s < step; s++) oxi_ldl_less(b, k, r, OXI_AT(r, i + s), i + s);
        if (step == 2) oxi_ldl_divide_2(m, n, i, b, k);
        for (int64_t c = 0; step == 1 && c < k; c++) b[i * k + c] /= OXI_AT(i, i);
        i += step;
    }
    for (int64_t i = n - 1; i >= 0;) {
        int64_t step = pivots[i] > 0 ? 1 : 2;
        for (int64_t r = i + 1; r < n; r++)
            for (int64_t s = 0; s < step; s++) oxi_ldl_less(b, k, i - s, OXI_AT(r, i - s), r);
        oxi_ldl_swap_rows(b, k, i, (pivots[i] > 0 ? pivots[i] : -pivots[i]) - 1);
        i -= step;
    }
#undef OXI_SWAP
#undef OXI_AT
}

/* Pivots that lead out of the matrix, or of halves of blocks, are not followed. */
static bool oxi_ldl_pivots_fit(const int64_t *pivots, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (pivots[i] == 0 || pivots[i] > n || pivots[i] < -n) return false;
        if (pivots[i] > 0) continue;
        if (i + 1 >= n || pivots[i + 1] != pivots[i]) return false;
        i++;
    }
    return true;
}

static ox_tensor *oxi_ldl_solved(ox_tensor *ld, ox_tensor *pivots, ox_tensor *b) {
    int64_t n = b->shape[b->ndim - 2], k = b->shape[b->ndim - 1], batch = oxi_outer_count(b, 2);
    size_t m_bytes, p_bytes, b_bytes;
    double *m = (double *)oxi_host_numbers(ld, false, &m_bytes);
    int64_t *p = m ? (int64_t *)oxi_host_numbers(pivots, true, &p_bytes) : NULL;
    double *x = p ? (double *)oxi_host_numbers(b, false, &b_bytes) : NULL;
    ox_tensor *made = NULL;
    bool fits = x != NULL;
    for (int64_t i = 0; i < batch && fits; i++) {
        fits = oxi_ldl_pivots_fit(p + i * n, n);
        if (fits) oxi_ldl_solve_one(m + i * n * n, n, p + i * n, x + i * n * k, k);
    }
    if (x && !fits) (void)oxi_fail(OX_ERR_INDEX, "ldl_solve: pivots that ox_ldl_factor does not give");
    if (fits) made = oxi_numbers_beside(b, x, ox_shape_of(b), OX_F64, b->dtype);
    if (x) oxi_free(x, b_bytes);
    if (p) oxi_free(p, p_bytes);
    if (m) oxi_free(m, m_bytes);
    return made;
}

OX_API ox_tensor *ox_ldl_solve(ox_tensor *ld, ox_tensor *pivots, ox_tensor *b) {
    ox_tensor *in[3] = {ld, pivots, b}, leading[2], *both[2] = {&leading[0], &leading[1]};
    ox_shape shape;
    if (oxi_any_null("ldl_solve", in, 3) || !oxi_ldl_is_matrix("ldl_solve", ld)) return NULL;
    int64_t n = ld->shape[ld->ndim - 1];
    bool fits = b->ndim >= 2 && b->shape[b->ndim - 2] == n && b->dtype == ld->dtype &&
                oxi_is_int(pivots->dtype) && oxi_same_sizes(pivots, ld, ld->ndim - 1);
    if (!fits)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "ldl_solve: %s, pivots %s and %s", oxi_tensor_text(ld),
                             oxi_tensor_text(pivots), oxi_tensor_text(b));
    leading[0] = oxi_borrowed(ld);
    leading[1] = oxi_borrowed(b);
    leading[0].ndim -= 2;
    leading[1].ndim -= 2;
    if (!oxi_common_shape("ldl_solve", both, 2, &shape)) return NULL;
    oxi_work work = oxi_work_begin("ldl_solve");
    shape.dim[shape.ndim++] = n;
    pivots = ox_expand(pivots, shape);
    shape.dim[shape.ndim++] = n;
    ld = ox_expand(ld, shape);
    shape.dim[shape.ndim - 1] = b->shape[b->ndim - 1];
    b = ox_expand(b, shape);
    return oxi_work_end(&work, ld && pivots && b ? oxi_ldl_solved(ld, pivots, b) : NULL);
}
