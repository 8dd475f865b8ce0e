/* Eigenvalues and vectors of general complex matrices: to Hessenberg's form by reflectors, to Schur's by
 * shifted QR steps of plane rotations; vectors of the triangle by substitution. */

/* h, z [n,n]: a = z h z^H, h with one diagonal below the main one. */
static void oxi_hessenberg(int64_t n, oxi_complex *h, oxi_complex *z, oxi_complex *v) {
    for (int64_t k = 0; k + 2 < n; k++) {
        double size = 0;
        for (int64_t i = k + 1; i < n; i++) size = hypot(size, oxi_z_size(h[i * n + k]));
        oxi_complex first = h[(k + 1) * n + k];
        double head = oxi_z_size(first), rest = 0;
        if (size < OXI_LINALG_NOTHING) {
            for (int64_t i = k + 1; i < n; i++) h[i * n + k] = oxi_make_complex(0, 0);
            continue;
        }
        oxi_complex phase = head > 0 ? oxi_z_scale(first, 1 / head) : oxi_make_complex(1, 0);
        for (int64_t i = k + 1; i < n; i++) v[i] = h[i * n + k];
        v[k + 1] = oxi_z_add(first, oxi_z_scale(phase, size));
        for (int64_t i = k + 1; i < n; i++) rest += v[i].re * v[i].re + v[i].im * v[i].im;
        if (rest == 0) continue;
        double beta = 2 / rest;
        for (int64_t j = k; j < n; j++) { /* from the left */
            oxi_complex sum = oxi_make_complex(0, 0);
            for (int64_t i = k + 1; i < n; i++)
                sum = oxi_z_add(sum, oxi_multiply_complex(oxi_z_conj(v[i]), h[i * n + j]));
            sum = oxi_z_scale(sum, beta);
            for (int64_t i = k + 1; i < n; i++)
                h[i * n + j] = oxi_z_sub(h[i * n + j], oxi_multiply_complex(v[i], sum));
        }
        for (int side = 0; side < 2; side++) /* from the right */
            for (int64_t i = 0; i < n; i++) {
                oxi_complex *row = (side ? z : h) + i * n, sum = oxi_make_complex(0, 0);
                for (int64_t j = k + 1; j < n; j++) sum = oxi_z_add(sum, oxi_multiply_complex(row[j], v[j]));
                sum = oxi_z_scale(sum, beta);
                for (int64_t j = k + 1; j < n; j++)
                    row[j] = oxi_z_sub(row[j], oxi_multiply_complex(sum, oxi_z_conj(v[j])));
            }
    }
}

/* The eigenvalue of the last two rows up to `high` that is nearer to the last element. */
static oxi_complex oxi_wilkinson_shift(const oxi_complex *h, int64_t n, int64_t high) {
    oxi_complex a = h[(high - 1) * n + high - 1], b = h[(high - 1) * n + high], c = h[high * n + high - 1],
                d = h[high * n + high];
    oxi_complex half = oxi_z_scale(oxi_z_sub(a, d), 0.5), bc = oxi_multiply_complex(b, c);
    oxi_complex root = oxi_sqrt_complex(oxi_z_add(oxi_multiply_complex(half, half), bc));
    if (half.re * root.re + half.im * root.im < 0) root = oxi_z_scale(root, -1);
    oxi_complex below = oxi_z_add(half, root);
    return oxi_z_size(below) > 0 ? oxi_z_sub(d, oxi_divide_complex(bc, below)) : d;
}

/* One QR step of rows [low, high] with a shift; c, s: room for its rotations. */
static void oxi_qr_step(int64_t n, oxi_complex *h, oxi_complex *z, int64_t low, int64_t high,
                        oxi_complex shift, double *c, oxi_complex *s) {
    for (int64_t i = low; i <= high; i++) h[i * n + i] = oxi_z_sub(h[i * n + i], shift);
    for (int64_t k = low; k < high; k++) {
        oxi_complex *x = h + k * n, *y = x + n, a = x[k], b = y[k];
        double size = hypot(oxi_z_size(a), oxi_z_size(b)), head = oxi_z_size(a);
        oxi_complex phase = head > 0 ? oxi_z_scale(a, 1 / head) : oxi_make_complex(1, 0);
        c[k] = size > 0 ? head / size : 1;
        s[k] = size > 0 ? oxi_z_scale(oxi_multiply_complex(phase, oxi_z_conj(b)), 1 / size)
                        : oxi_make_complex(0, 0);
        for (int64_t j = k; j < n; j++) {
            oxi_complex p = x[j], q = y[j];
            x[j] = oxi_z_add(oxi_z_scale(p, c[k]), oxi_multiply_complex(s[k], q));
            y[j] = oxi_z_sub(oxi_z_scale(q, c[k]), oxi_multiply_complex(oxi_z_conj(s[k]), p));
        }
    }
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < (side ? n : high + 1); i++) {
            oxi_complex *row = (side ? z : h) + i * n;
            for (int64_t k = side || i <= low ? low : i - 1; k < high; k++) {
                oxi_complex p = row[k], q = row[k + 1];
                row[k] = oxi_z_add(oxi_z_scale(p, c[k]), oxi_multiply_complex(oxi_z_conj(s[k]), q));
                row[k + 1] = oxi_z_sub(oxi_z_scale(q, c[k]), oxi_multiply_complex(s[k], p));
            }
        }
    for (int64_t i = low; i <= high; i++) h[i * n + i] = oxi_z_add(h[i * n + i], shift);
}

/* norm: the largest element. */
static bool oxi_schur(int64_t n, oxi_complex *h, oxi_complex *z, double *c, oxi_complex *s, double norm) {
    for (int64_t high = n - 1, turn = 0; high > 0;) {
        int64_t low = high;
        for (; low > 0; low--) {
            double size = oxi_z_size(h[(low - 1) * n + low - 1]) + oxi_z_size(h[low * n + low]);
            oxi_complex *below = &h[low * n + low - 1];
            if (!oxi_schur_apart(oxi_z_size(*below), size, norm, turn)) continue;
            *below = oxi_make_complex(0, 0);
            break;
        }
        if (low == high) {
            high--;
            turn = 0;
            continue;
        }
        if (turn++ == 90) return false;
        oxi_complex shift = oxi_wilkinson_shift(h, n, high);
        if (turn % 15 == 0) shift = oxi_make_complex(shift.re + oxi_z_size(h[high * n + high - 1]), shift.im);
        oxi_qr_step(n, h, z, low, high, shift, c, s);
    }
    return true;
}

/* Column k of x: the triangle's vector of its kth number, as a whole matrix's; lengths are 1. */
static void oxi_schur_vectors(int64_t n, const oxi_complex *h, const oxi_complex *z, oxi_complex *y,
                              oxi_complex *x) {
    double norm = 0;
    for (int64_t i = 0; i < n * n; i++) norm = fmax(norm, oxi_z_size(h[i]));
    for (int64_t k = 0; k < n; k++) {
        double size = 0;
        y[k] = oxi_make_complex(1, 0);
        for (int64_t i = k - 1; i >= 0; i--) {
            oxi_complex sum = oxi_make_complex(0, 0), apart = oxi_z_sub(h[k * n + k], h[i * n + i]);
            for (int64_t j = i + 1; j <= k; j++)
                sum = oxi_z_add(sum, oxi_multiply_complex(h[i * n + j], y[j]));
            if (oxi_z_size(apart) <= DBL_EPSILON * norm)
                apart = oxi_make_complex(DBL_EPSILON * norm + 1e-300, 0);
            y[i] = oxi_divide_complex(sum, apart);
            if (oxi_z_size(y[i]) > 1e100) /* a defective matrix: lengths do not count */
                for (int64_t j = i; j <= k; j++) y[j] = oxi_z_scale(y[j], 1e-100);
        }
        for (int64_t i = 0; i < n; i++) {
            oxi_complex sum = oxi_make_complex(0, 0);
            for (int64_t j = 0; j <= k; j++) sum = oxi_z_add(sum, oxi_multiply_complex(z[i * n + j], y[j]));
            x[i * n + k] = sum;
            size = hypot(size, oxi_z_size(sum));
        }
        for (int64_t i = 0; size > 0 && i < n; i++) x[i * n + k] = oxi_z_scale(x[i * n + k], 1 / size);
    }
}

/* Of a [n,n], or its pairs: values [n], vectors [n,n] in columns, of c64. */
static bool oxi_eig(int64_t n, const double *a, bool of_pairs, float *values, float *vectors) {
    for (int64_t i = 0; i < n * n * (1 + of_pairs); i++)
        if (!isfinite(a[i])) {
            (void)oxi_fail(OX_ERR_ARG, "eig: an element is not finite");
            return false;
        }
    if (!of_pairs) return oxi_eig_real(n, a, values, vectors);
    oxi_dense memory = oxi_dense_new(3 * n + 3, 2 * n + 1);
    if (!memory.p) return false;
    oxi_complex *h = (oxi_complex *)(void *)memory.p, *z = h + n * n, *x = z + n * n, *v = x + n * n;
    double *c = (double *)(void *)(v + n);
    for (int64_t i = 0; i < n * n; i++) {
        h[i] = oxi_make_complex(a[2 * i], a[2 * i + 1]);
        z[i] = oxi_make_complex(i % (n + 1) == 0, 0);
    }
    oxi_dense whole = memory; /* h as pairs */
    whole.rows = n;
    whole.columns = whole.step = 2 * n;
    double scale = oxi_dense_scale(&whole), norm = 0;
    for (int64_t i = 0; i < n * n; i++) norm = fmax(norm, oxi_z_size(h[i]));
    oxi_hessenberg(n, h, z, v);
    if (!oxi_schur(n, h, z, c, v, norm)) {
        (void)oxi_fail(OX_ERR_ARG, "eig: does not converge");
        return false;
    }
    oxi_schur_vectors(n, h, z, v, x);
    for (int64_t i = 0; i < n; i++) {
        values[2 * i] = (float)(h[i * n + i].re * scale);
        values[2 * i + 1] = (float)(h[i * n + i].im * scale);
    }
    for (int64_t i = 0; i < n * n; i++) {
        vectors[2 * i] = (float)x[i].re;
        vectors[2 * i + 1] = (float)x[i].im;
    }
    return true;
}
