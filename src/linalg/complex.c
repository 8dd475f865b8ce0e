/* Linear algebra of complex matrices, which lie as pairs of f64. What real kernels can do is done on the
 * real matrix of twice the size with [[re, -im], [im, re]] for each number: its rows are vectors of complex
 * numbers as they lie. Vectors that are not unique there are chosen in turn, by Gram and Schmidt, twice. */

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

static oxi_complex oxi_z_dot(int64_t n, const oxi_complex *a, const oxi_complex *b) { /* a^H b */
    oxi_complex sum = oxi_make_complex(0, 0);
    for (int64_t i = 0; i < n; i++) sum = oxi_z_add(sum, oxi_multiply_complex(oxi_z_conj(a[i]), b[i]));
    return sum;
}
static void oxi_z_less(int64_t n, oxi_complex *v, oxi_complex c, const oxi_complex *q) { /* v -= c q */
    for (int64_t i = 0; i < n; i++) v[i] = oxi_z_sub(v[i], oxi_multiply_complex(c, q[i]));
}

/* v less its part in the k rows of q [k, n], and what is left's length: 0 where that is rounding. r [k], or
 * NULL, gets the parts; so much of u's rows [k, m] leaves w [m]. */
static double oxi_z_reject(int64_t n, const oxi_complex *q, int64_t k, oxi_complex *v, oxi_complex *r,
                           int64_t m, const oxi_complex *u, oxi_complex *w) {
    double before = sqrt(oxi_z_dot(n, v, v).re), left;
    for (int64_t j = 0; r && j < k; j++) r[j] = oxi_make_complex(0, 0);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 0; j < k; j++) {
            oxi_complex c = oxi_z_dot(n, q + j * n, v);
            oxi_z_less(n, v, c, q + j * n);
            if (w) oxi_z_less(m, w, c, u + j * m);
            if (r) r[j] = oxi_z_add(r[j], c);
        }
    left = sqrt(oxi_z_dot(n, v, v).re);
    return left > 1e-14 * before ? left : 0;
}
static void oxi_z_over(int64_t n, oxi_complex *v, double length) {
    for (int64_t i = 0; i < n; i++) v[i] = oxi_z_scale(v[i], 1 / length);
}

/* Row k of q: the next unit vector that has enough beside the rows before; of n some have 1 / n. */
static void oxi_z_fill(int64_t n, oxi_complex *q, int64_t k) {
    oxi_complex *v = q + k * n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) v[j] = oxi_make_complex(i == j, 0);
        double left = oxi_z_reject(n, q, k, v, NULL, 0, NULL, NULL);
        if (left * left * 2 * (double)n < 1) continue;
        oxi_z_over(n, v, left);
        return;
    }
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
            oxi_z_less(n - k - 1, lu + row * n + k + 1, f, lu + k * n + k + 1);
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
    oxi_dense memory = oxi_dense_new(wide + 2, 2 * m + 2 * k + 2);
    oxi_complex *q = (oxi_complex *)(void *)memory.p, *parts = q + (wide + 1) * m;
    if (!q) return false;
    for (int64_t c = 0; c < wide; c++) {
        int64_t done = c < k ? c : k;
        oxi_complex *v = q + c * m;
        for (int64_t row = 0; c < n && row < m; row++) v[row] = a[row * n + c];
        double left = c < n ? oxi_z_reject(m, q, done, v, parts, 0, NULL, NULL) : 0;
        for (int64_t row = 0; c < n && row < k; row++)
            r[row * n + c] = row < done ? parts[row] : oxi_make_complex(row == c ? left : 0, 0);
        if (c < k && left > 0)
            oxi_z_over(m, v, left);
        else if (c < k)
            oxi_z_fill(m, q, c);
    }
    for (int64_t c = 0; c < k; c++)
        for (int64_t row = 0; row < m; row++) to[row * k + c] = q[c * m + row];
    return true;
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
        for (int64_t row = 1; row < m - k; row++) rest += oxi_z_dot(1, v + row * n, v + row * n).re;
        taus[k] = oxi_make_complex(0, 0);
        if (rest + alpha.im * alpha.im < DBL_MIN) { /* what is left is nothing, or rounding's rounding */
            for (int64_t row = 0; row < m - k; row++) v[row * n] = oxi_make_complex(row ? 0 : alpha.re, 0);
            continue;
        }
        beta = -copysign(sqrt(rest + oxi_z_dot(1, v, v).re), alpha.re);
        taus[k] = oxi_make_complex((beta - alpha.re) / beta, -alpha.im / beta);
        over = oxi_divide_complex(oxi_make_complex(1, 0), oxi_make_complex(alpha.re - beta, alpha.im));
        for (int64_t row = 1; row < m - k; row++) v[row * n] = oxi_multiply_complex(v[row * n], over);
        *v = oxi_make_complex(beta, 0);
        for (int64_t c = 1; c < n - k; c++) {
            oxi_complex sum = v[c];
            for (int64_t row = 1; row < m - k; row++)
                sum = oxi_z_add(sum, oxi_z_dot(1, v + row * n, v + row * n + c));
            sum = oxi_multiply_complex(oxi_z_conj(taus[k]), sum);
            v[c] = oxi_z_sub(v[c], sum);
            for (int64_t row = 1; row < m - k; row++)
                oxi_z_less(1, v + row * n + c, sum, v + row * n);
        }
    }
    return true;
}

/* Each value stands twice, with vectors of twice its space: those that are new are taken. */
static bool oxi_complex_eigh(oxi_linalg_job *j, int64_t i) {
    int64_t n = j->rows, k = 0;
    oxi_complex *to = oxi_job_complex(j->out[1], i);
    oxi_dense a = oxi_doubled(oxi_job_complex(j->a, i), n, n, j->call->attr.triangle.upper),
              z = oxi_dense_new(2 * n, 2 * n), d = oxi_dense_new(1, 2 * n + 1);
    if (!a.p || !z.p || !d.p) return false;
    for (int64_t row = 0; row < n; row++) oxi_dense_row(&a, 2 * row + 1)[2 * row] = 0;
    if (!oxi_eigh(&a, d.p, &z)) return false;
    oxi_complex *q = (oxi_complex *)(void *)z.p;
    for (int64_t row = 0; row < 2 * n && k < n; row++) {
        oxi_complex *v = q + k * n;
        memmove(v, q + row * n, (size_t)n * sizeof *v);
        double left = oxi_z_reject(n, q, k, v, NULL, 0, NULL, NULL);
        if (left * left * 2 * (double)n < 1) continue;
        oxi_z_over(n, v, left);
        oxi_job_vector(j->out[0], i)[k] = d.p[row];
        for (int64_t c = 0; c < n; c++) to[c * n + k] = v[c];
        k++;
    }
    return true;
}

/* As of eigh; left vectors lose what theirs do, and are filled up where singular values are 0. */
static bool oxi_complex_svd(oxi_linalg_job *j, int64_t i) {
    bool wide = j->rows < j->columns;
    int64_t n = j->least, m = wide ? j->columns : j->rows, k = 0;
    oxi_dense at = oxi_doubled(oxi_job_complex(j->a, i), j->rows, j->columns, !wide);
    oxi_dense ut = oxi_dense_new(2 * n, 2 * m), vt = oxi_dense_new(2 * n, 2 * n),
              s = oxi_dense_new(1, 2 * n + 1);
    if (!at.p || !ut.p || !vt.p || !s.p) return false;
    if (!oxi_all_finite(&at) || !oxi_svd_tall(&at, s.p, &ut, &vt)) return false;
    oxi_complex *q = (oxi_complex *)(void *)vt.p, *u = (oxi_complex *)(void *)ut.p;
    oxi_complex *both = oxi_job_complex(j->out[1], i); /* V [columns, n] above U [rows, n] */
    oxi_complex *to_q = both + (wide ? j->columns * n : 0), *to_u = both + (wide ? 0 : j->columns * n);
    for (int64_t row = 0; row < 2 * n && k < n; row++) {
        oxi_complex *v = q + k * n, *w = u + k * m;
        memmove(v, q + row * n, (size_t)n * sizeof *v);
        memmove(w, u + row * m, (size_t)m * sizeof *w);
        double left = oxi_z_reject(n, q, k, v, NULL, m, u, w);
        if (left * left * 2 * (double)n < 1) continue;
        oxi_z_over(n, v, left);
        oxi_z_over(m, w, left);
        left = oxi_z_reject(m, u, k, w, NULL, 0, NULL, NULL);
        if (left > 0.5)
            oxi_z_over(m, w, left);
        else
            oxi_z_fill(m, u, k);
        oxi_job_vector(j->out[0], i)[k] = s.p[row];
        for (int64_t c = 0; c < n; c++) to_q[c * n + k] = v[c];
        for (int64_t c = 0; c < m; c++) to_u[c * n + k] = w[c];
        k++;
    }
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
