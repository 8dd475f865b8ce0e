/* QR by Householder reflectors. Matrices lie transposed here, so that columns and reflectors are rows. */

/* x[0] becomes beta, the rest v with v[0] = 1 left out; tau. As LAPACK's: x[0] that is all there is stays. */
static double oxi_reflector(int64_t n, double *x) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    double most = 0;
    for (int64_t i = 1; i < n; i++) most = fabs(x[i]) > most ? fabs(x[i]) : most;
    if (most == 0) return 0;
    if (fabs(x[0]) > most) most = fabs(x[0]);
    int power;
    (void)frexp(most, &power); /* powers of two scale without rounding */
    double scale = ldexp(1.0, power < -1000 ? 1000 : -power);
    for (int64_t i = 0; i < n; i++) x[i] *= scale;
    double size = sqrt(kernels->dot_f64(n, x, x)), alpha = x[0], beta = alpha > 0 ? -size : size;
    for (int64_t i = 1; i < n; i++) x[i] /= alpha - beta;
    x[0] = beta / scale;
    return (beta - alpha) / beta;
}

/* Row c of `count` rows becomes (I - tau v v^T) c; v [n] with v[0] = 1 understood. */
static void oxi_reflect_rows(const oxi_dense *rows, int64_t at, double tau, const double *v) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t n = rows->columns - at;
    for (int64_t i = 0; i < rows->rows; i++) {
        double *c = oxi_dense_row(rows, i) + at;
        double s = tau * (c[0] + kernels->dot_f64(n - 1, v + 1, c + 1));
        c[0] -= s;
        kernels->axpy_f64(n - 1, -s, v + 1, c + 1);
    }
}

/* V [width, n] of a panel's reflectors with their ones and zeros, and T so that their product is
 * I - V^T T V. */
static bool oxi_panel_product(const oxi_dense *at, int64_t first, int64_t width, const double *tau,
                              oxi_dense *v, oxi_dense *t) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t n = at->columns - first;
    *v = oxi_dense_new(width, n);
    *t = oxi_dense_new(width, width);
    if (!v->p || !t->p) return false;
    memset(t->p, 0, (size_t)(width * width) * sizeof(double));
    for (int64_t i = 0; i < width; i++) {
        double *row = oxi_dense_row(v, i);
        memset(row, 0, (size_t)i * sizeof(double));
        row[i] = 1;
        memcpy(row + i + 1, oxi_dense_row(at, first + i) + first + i + 1,
               (size_t)(n - i - 1) * sizeof(double));
    }
    for (int64_t i = 0; i < width; i++) {
        double z[OXI_LINALG_SMALL];
        for (int64_t j = 0; j < i; j++)
            z[j] = -tau[first + i] * kernels->dot_f64(n, oxi_dense_row(v, j), oxi_dense_row(v, i));
        for (int64_t j = 0; j < i; j++) {
            double sum = 0;
            for (int64_t k = j; k < i; k++) sum += oxi_dense_row(t, j)[k] * z[k];
            oxi_dense_row(t, j)[i] = sum;
        }
        oxi_dense_row(t, i)[i] = tau[first + i];
    }
    return true;
}

/* rows' = rows (I - V^T T V), back: of T^T, on columns from `first` on. */
static bool oxi_reflect_block(const oxi_dense *rows, int64_t first, const oxi_dense *v, const oxi_dense *t,
                              bool back) {
    if (rows->rows == 0) return true;
    oxi_dense part = oxi_block(rows, 0, first, rows->rows, rows->columns - first);
    oxi_dense w = oxi_dense_new(rows->rows, v->rows), wt = oxi_dense_new(rows->rows, v->rows);
    if (!w.p || !wt.p || !oxi_dense_product(&w, false, &part, false, v, true) ||
        !oxi_dense_product(&wt, false, &w, false, t, back))
        return false;
    oxi_dense_negate(&wt, &wt);
    return oxi_dense_product(&part, true, &wt, false, v, false);
}

/* at [columns, rows], a transposed: R on and below its diagonal (transposed), reflectors behind it; tau. */
static bool oxi_qr(const oxi_dense *at, double *tau) {
    int64_t count = at->rows < at->columns ? at->rows : at->columns, width = OXI_LINALG_BLOCK;
    if (count <= OXI_LINALG_SMALL) width = count ? count : 1;
    for (int64_t first = 0; first < count; first += width) {
        ox_scope scope = ox_scope_begin();
        if (width > count - first) width = count - first;
        for (int64_t j = first; j < first + width; j++) {
            double *x = oxi_dense_row(at, j) + j;
            tau[j] = oxi_reflector(at->columns - j, x);
            oxi_dense rest = oxi_block(at, j + 1, 0, first + width - j - 1, at->columns);
            oxi_reflect_rows(&rest, j, tau[j], x);
        }
        bool done = true;
        if (first + width < at->rows) {
            oxi_dense v, t, rest = oxi_block(at, first + width, 0, at->rows - first - width, at->columns);
            done = oxi_panel_product(at, first, width, tau, &v, &t) &&
                   oxi_reflect_block(&rest, first, &v, &t, false);
        }
        ox_scope_end(&scope);
        if (!done) return false;
    }
    return true;
}

/* qt [k, rows]: the first k columns of Q as rows. */
static bool oxi_qr_vectors(const oxi_dense *at, int64_t count, const double *tau, const oxi_dense *qt) {
    const int64_t width = OXI_LINALG_BLOCK;
    memset(qt->p, 0, (size_t)(qt->rows * qt->columns) * sizeof(double));
    for (int64_t i = 0; i < qt->rows; i++) oxi_dense_row(qt, i)[i] = 1;
    if (count <= OXI_LINALG_SMALL) { /* a product takes longer to begin than to compute */
        for (int64_t k = count - 1; k >= 0; k--) {
            oxi_dense rows = oxi_block(qt, k, 0, qt->rows - k, qt->columns);
            oxi_reflect_rows(&rows, k, tau[k], oxi_dense_row(at, k) + k);
        }
        return true;
    }
    int64_t first = (count - 1) / width * width;
    for (; first >= 0; first -= width) {
        int64_t own = width < count - first ? width : count - first;
        ox_scope scope = ox_scope_begin();
        oxi_dense v, t, rows = oxi_block(qt, first, 0, qt->rows - first, qt->columns);
        bool done =
            oxi_panel_product(at, first, own, tau, &v, &t) && oxi_reflect_block(&rows, first, &v, &t, true);
        ox_scope_end(&scope);
        if (!done) return false;
    }
    return true;
}
