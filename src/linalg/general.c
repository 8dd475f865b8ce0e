/* Eigenvalues and vectors of general complex matrices: to Hessenberg's form by reflectors, to Schur's by
 * shifted QR steps of plane rotations; vectors of the triangle by substitution. */

/* Rows of a from `first` on, n columns `step` apart, less beta v (v^H a); w, t [n]: room. */
static void oxi_z_reflect_left(int64_t rows, int64_t n, oxi_complex *a, int64_t step, const oxi_complex *v,
                               double beta, oxi_complex *w, oxi_complex *t) {
    memset(w, 0, (size_t)n * sizeof *w);
    memset(t, 0, (size_t)n * sizeof *t);
    for (int64_t i = 0; i < rows; i++) {
        oxi_z_axpy(n, v[i].re, a + i * step, w);
        oxi_z_axpy(n, v[i].im, a + i * step, t);
    }
    for (int64_t i = 0; i < n; i++)
        w[i] = oxi_make_complex(beta * (w[i].re + t[i].im), beta * (w[i].im - t[i].re));
    oxi_z_turn(n, w, t);
    for (int64_t i = 0; i < rows; i++) {
        oxi_z_axpy(n, -v[i].re, w, a + i * step);
        oxi_z_axpy(n, -v[i].im, t, a + i * step);
    }
}

/* a [rows, n], its rows `step` apart, less beta (a v) v^H: conj = v's conjugate and turned = i conj. */
static void oxi_z_reflect_right(int64_t rows, int64_t n, oxi_complex *a, int64_t step, double beta,
                                const oxi_complex *conj, const oxi_complex *turned) {
    for (int64_t i = 0; i < rows; i++) {
        oxi_complex *row = a + i * step;
        double re = oxi_z_real_dot(n, row, conj), im = oxi_z_real_dot(n, row, turned);
        oxi_z_axpy(n, -beta * re, conj, row);
        oxi_z_axpy(n, -beta * im, turned, row);
    }
}

/* h, z [n,n]: a = z h z^H, h with one diagonal below the main one; v [3 n]: room. */
static void oxi_hessenberg(int64_t n, oxi_complex *h, oxi_complex *z, oxi_complex *v) {
    oxi_complex *w = v + n, *t = w + n;
    for (int64_t k = 0; k + 2 < n; k++) {
        int64_t from = k + 1, rest = n - from;
        double size = 0, square;
        for (int64_t i = 0; i < rest; i++) {
            v[i] = h[(from + i) * n + k];
            size = hypot(size, oxi_z_size(v[i]));
            h[(from + i) * n + k] = oxi_make_complex(0, 0);
        }
        if (size < OXI_LINALG_NOTHING) continue;
        double head = oxi_z_size(v[0]);
        oxi_complex phase = head > 0 ? oxi_z_scale(v[0], 1 / head) : oxi_make_complex(1, 0);
        h[from * n + k] = oxi_z_scale(phase, -size);
        v[0] = oxi_z_add(v[0], oxi_z_scale(phase, size));
        oxi_z_over(rest, v, size); /* squares of what is small would be nothing */
        square = oxi_z_real_dot(rest, v, v);
        oxi_z_reflect_left(rest, rest, h + from * n + from, n, v, 2 / square, w, t);
        for (int64_t i = 0; i < rest; i++) w[i] = oxi_z_conj(v[i]);
        oxi_z_turn(rest, w, t);
        oxi_z_reflect_right(n, rest, h + from, n, 2 / square, w, t);
        oxi_z_reflect_right(n, rest, z + from, n, 2 / square, w, t);
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

/* Columns [from, to) of rows [first, last], n columns each: rotation k is of the rows k and k + 1. By strips
 * that stay in the cache. */
static void oxi_z_rotate_rows(int64_t n, oxi_complex *rows, int64_t first, int64_t last, int64_t from,
                              int64_t to, const double *c, const oxi_complex *s) {
    for (int64_t at = from; at < to; at += 64)
        for (int64_t k = first; k < last; k++) {
            oxi_complex *x = rows + k * n, *y = x + n, f = s[k];
            double g = c[k];
            for (int64_t j = at; j < to && j < at + 64; j++) {
                oxi_complex p = x[j], q = y[j];
                x[j] = oxi_make_complex(g * p.re + f.re * q.re - f.im * q.im,
                                        g * p.im + f.re * q.im + f.im * q.re);
                y[j] = oxi_make_complex(g * q.re - f.re * p.re - f.im * p.im,
                                        g * q.im - f.re * p.im + f.im * p.re);
            }
        }
}
/* The same of h's columns, on the other side: four rows at a time, whose numbers do not wait for others'. */
static void oxi_z_rotate_columns(int64_t n, oxi_complex *h, int64_t low, int64_t high, const double *c,
                                 const oxi_complex *s) {
    for (int64_t i = 0; i <= high; i += 4)
        for (int64_t k = i > low + 1 ? i - 1 : low; k < high; k++)
            for (int64_t r = i; r < i + 4 && r <= high; r++) {
                oxi_complex *x = h + r * n + k, p = x[0], q = x[1], f = s[k];
                double g = c[k];
                x[0] = oxi_make_complex(g * p.re + f.re * q.re + f.im * q.im,
                                        g * p.im + f.re * q.im - f.im * q.re);
                x[1] = oxi_make_complex(g * q.re - f.re * p.re + f.im * p.im,
                                        g * q.im - f.re * p.im - f.im * p.re);
            }
}

/* One QR step of rows [low, high] with a shift; zt: z's columns as rows; c, s: room for its rotations. */
static void oxi_qr_step(int64_t n, oxi_complex *h, oxi_complex *zt, int64_t low, int64_t high,
                        oxi_complex shift, double *c, oxi_complex *s) {
    for (int64_t i = low; i <= high; i++) h[i * n + i] = oxi_z_sub(h[i * n + i], shift);
    for (int64_t base = low; base < high; base += OXI_SCHUR_WINDOW) {
        int64_t end = oxi_min_i64(base + OXI_SCHUR_WINDOW, high);
        for (int64_t k = base; k < end; k++) { /* columns of the window: the next rotations need them */
            oxi_complex a = h[k * n + k], b = h[(k + 1) * n + k];
            double size = hypot(oxi_z_size(a), oxi_z_size(b)), head = oxi_z_size(a);
            oxi_complex phase = head > 0 ? oxi_z_scale(a, 1 / head) : oxi_make_complex(1, 0);
            c[k] = size > 0 ? head / size : 1;
            s[k] = size > 0 ? oxi_z_scale(oxi_multiply_complex(phase, oxi_z_conj(b)), 1 / size)
                            : oxi_make_complex(0, 0);
            oxi_z_rotate_rows(n, h, k, k + 1, k, end, c, s);
            h[(k + 1) * n + k] = oxi_make_complex(0, 0);
        }
        oxi_z_rotate_rows(n, h, base, end, end, n, c, s);
    }
    oxi_z_rotate_columns(n, h, low, high, c, s);
    for (int64_t k = low; k < high; k++) s[k] = oxi_z_conj(s[k]);
    oxi_z_rotate_rows(n, zt, low, high, 0, n, c, s);
    for (int64_t i = low; i <= high; i++) h[i * n + i] = oxi_z_add(h[i * n + i], shift);
}

/* norm: the largest element. */
static bool oxi_schur(int64_t n, oxi_complex *h, oxi_complex *zt, double *c, oxi_complex *s, double norm) {
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
        oxi_qr_step(n, h, zt, low, high, shift, c, s);
    }
    return true;
}

/* Rows of y [n, 2 n]: the triangle's vectors, of its kth number in row k; conj, turned [n]: room. */
static void oxi_schur_vectors(int64_t n, const oxi_complex *h, double norm, oxi_complex *vectors,
                              oxi_complex *conj, oxi_complex *turned) {
    memset(vectors, 0, (size_t)(n * n) * sizeof *vectors);
    for (int64_t k = 0; k < n; k++) {
        oxi_complex *y = vectors + k * n;
        y[k] = conj[k] = oxi_make_complex(1, 0);
        turned[k] = oxi_make_complex(0, 1);
        for (int64_t i = k - 1; i >= 0; i--) {
            const oxi_complex *row = h + i * n + i + 1;
            oxi_complex sum = oxi_make_complex(oxi_z_real_dot(k - i, row, conj + i + 1),
                                               oxi_z_real_dot(k - i, row, turned + i + 1));
            oxi_complex apart = oxi_z_sub(h[k * n + k], h[i * n + i]);
            if (oxi_z_size(apart) <= DBL_EPSILON * norm)
                apart = oxi_make_complex(DBL_EPSILON * norm + 1e-300, 0);
            y[i] = oxi_divide_complex(sum, apart);
            if (oxi_z_size(y[i]) > 1e100) /* a defective matrix: lengths do not count */
                for (int64_t j = i; j <= k; j++) y[j] = oxi_z_scale(y[j], 1e-100);
            for (int64_t j = i; j <= (oxi_z_size(y[k]) < 1 ? k : i); j++) {
                conj[j] = oxi_z_conj(y[j]);
                turned[j] = oxi_make_complex(y[j].im, y[j].re);
            }
        }
    }
}

/* h's diagonal and y's rows, of length 1, as c64. */
static void oxi_z_eig_columns(int64_t n, const oxi_complex *h, double scale, const oxi_complex *y,
                              float *values, float *vectors) {
    for (int64_t k = 0; k < n; k++) {
        const oxi_complex *own = y + k * n;
        double size = 0;
        for (int64_t i = 0; i < n; i++) size = hypot(size, oxi_z_size(own[i]));
        values[2 * k] = (float)(h[k * n + k].re * scale);
        values[2 * k + 1] = (float)(h[k * n + k].im * scale);
        for (int64_t i = 0; i < n; i++) {
            vectors[2 * (i * n + k)] = (float)(own[i].re / (size > 0 ? size : 1));
            vectors[2 * (i * n + k) + 1] = (float)(own[i].im / (size > 0 ? size : 1));
        }
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
    oxi_dense h = oxi_dense_new(n, 2 * n), z = oxi_dense_new(n, 2 * n), y = oxi_dense_new(n, 2 * n),
              room = oxi_dense_new(4, 2 * n + 1);
    if (!h.p || !z.p || !y.p || !room.p) return false;
    oxi_complex *to_h = (oxi_complex *)(void *)h.p, *to_z = (oxi_complex *)(void *)z.p,
                *to_y = (oxi_complex *)(void *)y.p, *v = (oxi_complex *)(void *)room.p;
    memcpy(h.p, a, (size_t)(2 * n * n) * sizeof *a);
    for (int64_t i = 0; i < n * n; i++) to_z[i] = oxi_make_complex(i % (n + 1) == 0, 0);
    double scale = oxi_dense_scale(&h), norm = 0;
    for (int64_t i = 0; i < n * n; i++) norm = fmax(norm, oxi_z_size(to_h[i]));
    oxi_hessenberg(n, to_h, to_z, v);
    for (int64_t i = 0; i < n * n; i++) to_y[i % n * n + i / n] = to_z[i];
    if (!oxi_schur(n, to_h, to_y, oxi_dense_row(&room, 3), v, norm)) {
        (void)oxi_fail(OX_ERR_ARG, "eig: does not converge");
        return false;
    }
    oxi_dense twice = oxi_z_twice(&y);
    norm = 0;
    for (int64_t i = 0; i < n * n; i++) norm = fmax(norm, i % n < i / n ? 0 : oxi_z_size(to_h[i]));
    oxi_schur_vectors(n, to_h, norm, to_z, v, v + n);
    if (!twice.p || !oxi_dense_product(&y, false, &z, false, &twice, false)) return false;
    oxi_z_eig_columns(n, to_h, scale, to_y, values, vectors);
    return true;
}
