/* Linear algebra of complex matrices, which lie as pairs of f64. What real kernels can do is done on the
 * real matrix of twice the size with [[re, -im], [im, re]] for each number: its rows are vectors of complex
 * numbers as they lie (pairs.c). */

static oxi_complex *oxi_job_complex(ox_tensor *t, int64_t i) { /* of f64 [.., rows, 2 columns] */
    return (oxi_complex *)(void *)oxi_job_matrix(t, i).p;
}

/* Twice the size, of a [rows, columns]; turned: of its conjugate transpose, which is the transpose here. */
static oxi_dense oxi_doubled(const oxi_complex *a, int64_t rows, int64_t columns, bool turned) {
    oxi_dense d = oxi_dense_new(2 * (turned ? columns : rows), 2 * (turned ? rows : columns));
    for (int64_t i = 0; d.p && i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            oxi_complex z = a[i * columns + j];
            double *at = turned ? oxi_dense_row(&d, 2 * j) + 2 * i : oxi_dense_row(&d, 2 * i) + 2 * j;
            at[0] = at[d.step + 1] = z.re;
            at[turned ? 1 : d.step] = z.im;
            at[turned ? d.step : 1] = -z.im;
        }
    return d;
}
static void oxi_halved(oxi_complex *to, const oxi_dense *d) {
    for (int64_t i = 0; i < d->rows; i += 2)
        for (int64_t j = 0; j < d->columns; j += 2)
            *to++ = oxi_make_complex(oxi_dense_row(d, i)[j], oxi_dense_row(d, i + 1)[j]);
}

static bool oxi_complex_cholesky(oxi_linalg_job *j, int64_t i) {
    int64_t n = j->rows;
    bool upper = j->call->attr.triangle.upper;
    oxi_complex *to = oxi_job_complex(j->out[0], i);
    int32_t *info = (int32_t *)(void *)oxi_ptr(j->out[1]) + i;
    oxi_dense a = oxi_doubled(oxi_job_complex(j->a, i), n, n, upper), at;
    for (int64_t k = 0; a.p && k < n; k++) oxi_dense_row(&a, 2 * k + 1)[2 * k] = 0; /* it is real */
    if (!a.p || !oxi_cholesky(&a, info)) return false;
    *info = (*info + 1) / 2;
    at = upper ? oxi_turned(&a) : a;
    if (at.p) oxi_halved(to, &at);
    return at.p != NULL;
}

static double oxi_z_sides(oxi_complex z) { /* what LAPACK compares */
    return fabs(z.re) + fabs(z.im);
}
static bool oxi_complex_lu(oxi_linalg_job *j, int64_t i) {
    int64_t n = j->columns;
    int32_t *pivots = oxi_job_pivots(j, i);
    oxi_complex *lu = oxi_job_complex(j->out[0], i);
    memcpy(lu, oxi_job_complex(j->a, i), (size_t)(j->rows * n) * sizeof *lu);
    for (int64_t k = 0; k < j->least; k++) {
        int64_t best = k;
        for (int64_t row = k + 1; j->call->attr.pivot.pivot && row < j->rows; row++)
            if (oxi_z_sides(lu[row * n + k]) > oxi_z_sides(lu[best * n + k])) best = row;
        pivots[k] = (int32_t)best + 1;
        for (int64_t c = 0; best != k && c < n; c++) {
            oxi_complex z = lu[k * n + c];
            lu[k * n + c] = lu[best * n + c];
            lu[best * n + c] = z;
        }
        if (oxi_z_sides(lu[k * n + k]) == 0) continue;
        for (int64_t row = k + 1; row < j->rows; row++) {
            oxi_complex f = lu[row * n + k] = oxi_divide_complex(lu[row * n + k], lu[k * n + k]);
            for (int64_t c = k + 1; c < n; c++)
                lu[row * n + c] = oxi_z_sub(lu[row * n + c], oxi_multiply_complex(f, lu[k * n + c]));
        }
    }
    return true;
}

static bool oxi_complex_solve(oxi_linalg_job *j, int64_t i) {
    int64_t n = j->rows, columns = j->b->shape[j->b->ndim - 1] / 2;
    oxi_dense a = oxi_doubled(oxi_job_complex(j->a, i), n, n, false),
              x = oxi_doubled(oxi_job_complex(j->b, i), n, columns, false);
    if (!a.p || !x.p || !oxi_job_solved(j, i, &a, &x)) return false;
    oxi_halved(oxi_job_complex(j->out[0], i), &x);
    return true;
}

/* Columns one after another; those that are not new have 0 in R, and Q is filled up. */
static bool oxi_complex_qr(oxi_linalg_job *j, int64_t i) {
    int64_t m = j->rows, n = j->columns, k = j->out[0]->shape[j->out[0]->ndim - 1] / 2, wide = n > k ? n : k;
    const oxi_complex *a = oxi_job_complex(j->a, i);
    oxi_complex *to = oxi_job_complex(j->out[0], i), *r = oxi_job_complex(j->out[1], i);
    oxi_dense memory = oxi_dense_new(wide + 4, 2 * m + 2 * k + 2);
    oxi_dense share = oxi_dense_new(1, m + 1);
    oxi_complex *q = (oxi_complex *)(void *)memory.p, *parts = q + (wide + 1) * m, *room = parts + k;
    bool filled = false;
    if (!q || !share.p) return false;
    for (int64_t c = 0; c < wide; c++) {
        int64_t done = c < k ? c : k;
        oxi_complex *v = q + c * m;
        for (int64_t row = 0; c < n && row < m; row++) v[row] = a[row * n + c];
        double left = c < n ? oxi_z_reject(m, q, done, v, parts, 0, NULL, NULL, room) : 0;
        for (int64_t row = 0; c < n && row < k; row++)
            r[row * n + c] = row < done ? parts[row] : oxi_make_complex(row == c ? left : 0, 0);
        if (c >= k) continue;
        if (left > 0)
            oxi_z_over(m, v, left);
        else {
            if (!filled) oxi_z_shares(m, q, c, share.p);
            oxi_z_fill(m, q, c, c, share.p, room);
        }
        filled = left == 0;
    }
    for (int64_t c = 0; c < k; c++)
        for (int64_t row = 0; row < m; row++) to[row * k + c] = q[c * m + row];
    return true;
}

static double oxi_z_square(oxi_complex z) {
    return z.re * z.re + z.im * z.im;
}
/* As LAPACK's zgeqr2: I - conj(tau) v v^H takes a column to beta, which is real. */
static bool oxi_complex_geqrf(oxi_linalg_job *j, int64_t i) {
    int64_t m = j->rows, n = j->columns;
    oxi_complex *a = oxi_job_complex(j->out[0], i),
                *taus = (oxi_complex *)(void *)oxi_job_vector(j->out[1], i);
    memcpy(a, oxi_job_complex(j->a, i), (size_t)(m * n) * sizeof *a);
    for (int64_t k = 0; k < j->least; k++) {
        oxi_complex *v = a + k * n + k, alpha = *v, over;
        double rest = 0, beta;
        for (int64_t row = 1; row < m - k; row++) rest += oxi_z_square(v[row * n]);
        taus[k] = oxi_make_complex(0, 0);
        if (rest + alpha.im * alpha.im < DBL_MIN) { /* what is left is nothing, or rounding's rounding */
            for (int64_t row = 0; row < m - k; row++) v[row * n] = oxi_make_complex(row ? 0 : alpha.re, 0);
            continue;
        }
        beta = -copysign(sqrt(rest + oxi_z_square(*v)), alpha.re);
        taus[k] = oxi_make_complex((beta - alpha.re) / beta, -alpha.im / beta);
        over = oxi_divide_complex(oxi_make_complex(1, 0), oxi_make_complex(alpha.re - beta, alpha.im));
        for (int64_t row = 1; row < m - k; row++) v[row * n] = oxi_multiply_complex(v[row * n], over);
        *v = oxi_make_complex(beta, 0);
        for (int64_t c = 1; c < n - k; c++) {
            oxi_complex sum = v[c];
            for (int64_t row = 1; row < m - k; row++)
                sum = oxi_z_add(sum, oxi_multiply_complex(oxi_z_conj(v[row * n]), v[row * n + c]));
            sum = oxi_multiply_complex(oxi_z_conj(taus[k]), sum);
            v[c] = oxi_z_sub(v[c], sum);
            for (int64_t row = 1; row < m - k; row++)
                v[row * n + c] = oxi_z_sub(v[row * n + c], oxi_multiply_complex(sum, v[row * n]));
        }
    }
    return true;
}

/* to [columns, rows]: the first complex columns of pairs' rows from [rows, 2 columns]. */
static void oxi_z_columns(const oxi_dense *from, int64_t rows, oxi_complex *to) {
    for (int64_t i = 0; i < rows; i++) {
        const oxi_complex *row = (const oxi_complex *)(const void *)oxi_dense_row(from, i);
        for (int64_t c = 0; c < from->columns / 2; c++) to[c * rows + i] = row[c];
    }
}

static bool oxi_complex_eigh(oxi_linalg_job *j, int64_t i) {
    int64_t n = j->rows;
    oxi_dense a = oxi_doubled(oxi_job_complex(j->a, i), n, n, j->call->attr.triangle.upper),
              z = oxi_dense_new(2 * n, 2 * n), d = oxi_dense_new(1, 2 * n + 1);
    if (!a.p || !z.p || !d.p) return false;
    for (int64_t row = 0; row < n; row++) oxi_dense_row(&a, 2 * row + 1)[2 * row] = 0;
    if (!oxi_eigh(&a, d.p, &z) || !oxi_z_choose(n, d.p, &z, NULL)) return false;
    memcpy(oxi_job_vector(j->out[0], i), d.p, (size_t)n * sizeof *d.p);
    oxi_z_columns(&z, n, oxi_job_complex(j->out[1], i));
    return true;
}

static bool oxi_complex_svd(oxi_linalg_job *j, int64_t i) {
    bool wide = j->rows < j->columns;
    int64_t n = j->least, m = wide ? j->columns : j->rows;
    oxi_dense at = oxi_doubled(oxi_job_complex(j->a, i), j->rows, j->columns, !wide);
    oxi_dense ut = oxi_dense_new(2 * n, 2 * m), vt = oxi_dense_new(2 * n, 2 * n),
              s = oxi_dense_new(1, 2 * n + 1);
    if (!at.p || !ut.p || !vt.p || !s.p || !oxi_all_finite(&at)) return false;
    if (!oxi_svd_tall(&at, s.p, &ut, &vt) || !oxi_z_choose(n, s.p, &vt, &ut)) return false;
    oxi_complex *both = oxi_job_complex(j->out[1], i); /* V [columns, n] above U [rows, n] */
    memcpy(oxi_job_vector(j->out[0], i), s.p, (size_t)n * sizeof *s.p);
    oxi_z_columns(&vt, n, both + (wide ? j->columns * n : 0));
    oxi_z_columns(&ut, n, both + (wide ? 0 : j->columns * n));
    return true;
}

/* c64 as pairs of f64 [.., rows, 2 columns], and back. */
static ox_tensor *oxi_pairs_new(const ox_tensor *t) {
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, t->shape, sizeof shape);
    shape[t->ndim - 1] *= 2;
    return oxi_tensor_new(ox_cpu(), OX_F64, t->ndim, shape);
}
static ox_tensor *oxi_pairs_of(ox_tensor *t) {
    ox_tensor *own = oxi_tensor_new(ox_cpu(), OX_C64, t->ndim, t->shape), *pairs = oxi_pairs_new(t);
    if (!own || !pairs || !ox_copy_(own, t)) return NULL;
    const float *from = (const float *)(const void *)oxi_ptr(own);
    for (int64_t i = 0; i < 2 * ox_numel(t); i++) ((double *)(void *)oxi_ptr(pairs))[i] = from[i];
    return pairs;
}
static ox_tensor *oxi_of_pairs(const ox_tensor *like, ox_tensor *pairs) {
    ox_tensor *own = oxi_tensor_new(ox_cpu(), OX_C64, like->ndim, like->shape);
    const double *from = (const double *)(const void *)oxi_ptr(pairs);
    float *to = own ? (float *)(void *)oxi_ptr(own) : NULL;
    for (int64_t i = 0; to && i < 2 * ox_numel(like); i++) to[i] = (float)from[i];
    return own;
}
