/* Eigenvalues and vectors of general real matrices: to Hessenberg's form by reflectors, to Schur's by
 * implicit double QR steps of plane rotations (Francis). A step moves on by windows of the diagonal; what its
 * rotations do to the numbers right of a window, above it, and to the vectors, is done when the window is
 * left, by whole rows. Vectors of the triangle by substitution. Source: Golub and Van Loan, "Matrix
 * Computations", 7.4 to 7.6. */

enum { OXI_SCHUR_WINDOW = 32 };

static oxi_complex oxi_z_add(oxi_complex a, oxi_complex b) {
    return oxi_make_complex(a.re + b.re, a.im + b.im);
}
static oxi_complex oxi_z_sub(oxi_complex a, oxi_complex b) {
    return oxi_make_complex(a.re - b.re, a.im - b.im);
}
static oxi_complex oxi_z_conj(oxi_complex a) {
    return oxi_make_complex(a.re, -a.im);
}
static oxi_complex oxi_z_scale(oxi_complex a, double s) {
    return oxi_make_complex(a.re * s, a.im * s);
}
static double oxi_z_size(oxi_complex a) {
    return hypot(a.re, a.im);
}

/* h = z^T h z in place, with one diagonal below the main one. */
static void oxi_hessenberg_real(const oxi_dense *h, const oxi_dense *z, double *v, double *w) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t n = h->rows;
    for (int64_t k = 0; k + 2 < n; k++) {
        int64_t rest = n - k - 1;
        for (int64_t i = 0; i < rest; i++) v[i] = oxi_dense_row(h, k + 1 + i)[k];
        double tau = oxi_reflector(rest, v);
        for (int64_t i = 0; i < rest; i++) oxi_dense_row(h, k + 1 + i)[k] = i ? 0 : v[0];
        if (tau == 0) continue;
        v[0] = 1;
        memset(w, 0, (size_t)rest * sizeof *w);
        for (int64_t i = 0; i < rest; i++)
            kernels->axpy_f64(rest, v[i], oxi_dense_row(h, k + 1 + i) + k + 1, w);
        for (int64_t i = 0; i < rest; i++)
            kernels->axpy_f64(rest, -tau * v[i], w, oxi_dense_row(h, k + 1 + i) + k + 1);
        oxi_reflect_rows(h, k + 1, tau, v);
        oxi_reflect_rows(z, k + 1, tau, v);
    }
}

/* The rotation of rows `row` and `row` + 1 by which (a, b) becomes (its length, 0). */
static oxi_rotation oxi_rotation_of(double a, double b, int64_t row) {
    oxi_rotation r;
    double size = hypot(a, b);
    r.c = size > 0 ? a / size : 1;
    r.s = size > 0 ? b / size : 0;
    r.row = row;
    return r;
}

/* Rotates two columns of rows [from, end). */
static void oxi_rotate_columns(const oxi_dense *h, const oxi_rotation *r, int64_t from, int64_t end) {
    double *p = oxi_dense_row(h, from) + r->row;
    for (int64_t i = from; i < end; i++, p += h->step) {
        double a = p[0], b = p[1];
        p[0] = r->c * a + r->s * b;
        p[1] = r->c * b - r->s * a;
    }
}

typedef struct oxi_real_schur {
    oxi_dense h, zt, room; /* zt: z's columns as rows; room [OXI_SCHUR_WINDOW + 2, n] */
    oxi_rotation *list;    /* [2 OXI_SCHUR_WINDOW] */
    int64_t low, high;     /* of the part that is worked on */
} oxi_real_schur;

/* What rotations of rows [base, end) do outside of the window, which has the columns [from, past). */
static void oxi_schur_window_left(const oxi_real_schur *s, int64_t count, int64_t base, int64_t end,
                                  int64_t from, int64_t past) {
    oxi_dense right = oxi_block(&s->h, base, past, end - base, s->h.columns - past);
    oxi_dense above = oxi_block(&s->h, 0, base, from, end - base);
    oxi_dense turned = oxi_block(&s->room, 0, 0, end - base, from);
    oxi_rotate_rows(&right, base, s->list, count);
    oxi_dense_transpose(&turned, &above);
    oxi_rotate_rows(&turned, base, s->list, count);
    oxi_dense_transpose(&above, &turned);
    oxi_rotate_rows(&s->zt, 0, s->list, count);
}

/* One step; x: its first column's three numbers. */
static void oxi_schur_step(const oxi_real_schur *s, const double *first) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    const oxi_dense *h = &s->h;
    for (int64_t k = s->low; k < s->high;) {
        int64_t base = k, end = oxi_min_i64(k + OXI_SCHUR_WINDOW, s->high), count = 0;
        int64_t from = k > s->low ? k - 1 : k, past = oxi_min_i64(end + 2, s->high) + 1;
        for (; k < end; k++) {
            int64_t column = k > s->low ? k - 1 : k, rows = oxi_min_i64(3, s->high - k + 1);
            double x[3];
            for (int64_t i = 0; i < rows; i++) x[i] = k > s->low ? oxi_dense_row(h, k + i)[column] : first[i];
            for (int64_t i = rows - 2; i >= 0; i--) {
                oxi_rotation *r = &s->list[count++];
                double *row = oxi_dense_row(h, k + i) + column;
                *r = oxi_rotation_of(x[i], x[i + 1], k + i);
                x[i] = hypot(x[i], x[i + 1]);
                kernels->rotate_f64(past - column, r->c, r->s, row, row + h->step);
            }
            for (int64_t i = count - rows + 1; i < count; i++)
                oxi_rotate_columns(h, &s->list[i], from, oxi_min_i64(k + 3, s->high) + 1);
            for (int64_t i = 1; k > s->low && i < rows; i++) oxi_dense_row(h, k + i)[column] = 0;
        }
        oxi_schur_window_left(s, count, base, oxi_min_i64(end + 1, s->high) + 1, from, past);
    }
}

/* The last two rows of a part come apart where their eigenvalues are real. The larger one comes first: double
 * steps leave rows that any rotation might have turned, an order found in their numbers would be chance. */
static void oxi_schur_pair(const oxi_real_schur *s) {
    double *top = oxi_dense_row(&s->h, s->low) + s->low, *bottom = top + s->h.step;
    double half = 0.5 * (top[0] - bottom[1]), square = half * half + top[1] * bottom[0];
    if (square < 0) return;
    double root = sqrt(square);
    oxi_rotation r = half >= 0 ? oxi_rotation_of(half + root, bottom[0], s->low)
                               : oxi_rotation_of(top[1], root - half, s->low);
    oxi_dense right = oxi_block(&s->h, s->low, s->low, 2, s->h.columns - s->low);
    oxi_rotate_rows(&right, s->low, &r, 1);
    oxi_rotate_columns(&s->h, &r, 0, s->high + 1);
    oxi_rotate_rows(&s->zt, 0, &r, 1);
    bottom[0] = 0;
}

/* Whether what is below the diagonal counts as 0. size: the numbers beside it; norm: the largest of all,
 * which counts where those that are much smaller do not converge, or none is beside. */
static bool oxi_schur_apart(double below, double size, double norm, int64_t turn) {
    if (size == 0 || turn > 30) size += norm;
    return !(below > fmax(DBL_EPSILON * size, OXI_LINALG_NOTHING));
}

/* Where the part that ends at s->high begins. */
static int64_t oxi_schur_low(const oxi_real_schur *s, double norm, int64_t turn) {
    int64_t low = s->high;
    for (; low > 0; low--) {
        double *above = oxi_dense_row(&s->h, low - 1) + low - 1, *own = above + s->h.step;
        double size = fabs(above[0]) + fabs(own[1]);
        if (!oxi_schur_apart(fabs(own[0]), size, norm, turn)) continue;
        own[0] = 0;
        break;
    }
    return low;
}

/* A step's shifts, mid +- i sqrt(apart): the eigenvalues of the last two rows; of real ones the nearer to the
 * last number twice, so that it comes apart alone and the order does not hang on chance. */
static void oxi_schur_shifts(const double *a, const double *b, double *mid, double *apart) {
    double half = 0.5 * (a[0] - b[1]), below = a[1] * b[0], square = half * half + below;
    double past = half + copysign(sqrt(fmax(square, 0)), half);
    *mid = b[1] + half;
    *apart = fmax(-square, 0);
    if (square >= 0) *mid = past != 0 ? b[1] - below / past : b[1];
}

/* h becomes a triangle but for pairs of complex eigenvalues. False: it does not converge. */
static bool oxi_schur_real(oxi_real_schur *s, double norm) {
    int64_t turn = 0;
    for (s->high = s->h.rows - 1; s->high > 0;) {
        s->low = oxi_schur_low(s, norm, turn);
        if (s->high - s->low < 2) {
            if (s->low < s->high) oxi_schur_pair(s);
            s->high = s->low - 1;
            turn = 0;
            continue;
        }
        if (turn++ == 90) return false;
        const double *a = oxi_dense_row(&s->h, s->high - 1) + s->high - 1, *b = a + s->h.step;
        double mid, apart, first[3];
        oxi_schur_shifts(a, b, &mid, &apart);
        if (turn % 10 == 0) { /* shifts that belong to no matrix */
            double size = fabs(b[0]) + fabs(a[-1]);
            mid = b[1] + 0.75 * size;
            apart = 0.4375 * size * size;
        }
        a = oxi_dense_row(&s->h, s->low) + s->low;
        b = a + s->h.step;
        /* by differences: of values that are nearly the same nothing else would be left */
        first[0] = (a[0] - mid) * (a[0] - mid) + apart + a[1] * b[0];
        first[1] = b[0] * ((a[0] - mid) + (b[1] - mid));
        first[2] = b[0] * b[s->h.step + 1];
        oxi_schur_step(s, first);
    }
    return true;
}

/* ---- vectors ------------------------------------------------------------------------------------------- */

/* Numbers `i` (and i - 1, of a pair) of a vector: what rows to the right leave is divided by what is on the
 * diagonal less the eigenvalue. */
static void oxi_quasi_divide(const oxi_dense *t, int64_t i, bool pair, oxi_complex value, double least,
                             oxi_complex above, oxi_complex own, double *re, double *im) {
    const double *row = oxi_dense_row(t, i);
    oxi_complex d = oxi_make_complex(value.re - row[i], value.im);
    if (!pair) {
        if (oxi_z_size(d) < least) d = oxi_make_complex(least, 0);
        own = oxi_divide_complex(own, d);
    } else {
        const double *over = row - t->step;
        oxi_complex a = oxi_make_complex(value.re - over[i - 1], value.im), u = above;
        oxi_complex det = oxi_z_sub(oxi_multiply_complex(a, d), oxi_make_complex(over[i] * row[i - 1], 0));
        if (oxi_z_size(det) < least * least) det = oxi_make_complex(least * least, 0);
        above = oxi_z_add(oxi_multiply_complex(d, u), oxi_z_scale(own, over[i]));
        own = oxi_z_add(oxi_multiply_complex(a, own), oxi_z_scale(u, row[i - 1]));
        above = oxi_divide_complex(above, det);
        own = oxi_divide_complex(own, det);
        re[i - 1] = above.re;
        im[i - 1] = above.im;
    }
    re[i] = own.re;
    im[i] = own.im;
}

/* The vector of the quasi triangle's kth value (of a pair: its second row is k), as re, im [n]. */
static void oxi_quasi_vector(const oxi_dense *t, int64_t k, bool pair, oxi_complex value, double least,
                             double *re, double *im) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t i = k - 1;
    memset(re, 0, (size_t)t->rows * sizeof *re);
    memset(im, 0, (size_t)t->rows * sizeof *im);
    re[k] = 1;
    if (pair) {
        const double *row = oxi_dense_row(t, k);
        re[k - 1] = (value.re - row[k]) / row[k - 1];
        im[k - 1] = value.im / row[k - 1];
        i--;
    }
    while (i >= 0) {
        bool two = i > 0 && oxi_dense_row(t, i)[i - 1] != 0;
        oxi_complex sum[2];
        double most = 0;
        for (int part = 0; part <= (int)two; part++) {
            const double *row = oxi_dense_row(t, i - part) + i + 1;
            sum[part] = oxi_make_complex(kernels->dot_f64(k - i, row, re + i + 1),
                                         value.im != 0 ? kernels->dot_f64(k - i, row, im + i + 1) : 0);
        }
        oxi_quasi_divide(t, i, two, value, least, sum[two], sum[0], re, im);
        for (int part = 0; part <= (int)two; part++, i--) most = fmax(most, fmax(fabs(re[i]), fabs(im[i])));
        for (int64_t j = i + 1; most > 1e100 && j <= k; j++) { /* a defective matrix: lengths do not count */
            re[j] *= 1e-100;
            im[j] *= 1e-100;
        }
    }
}

/* Rows of re, im: vectors of the quasi triangle; values [n] pairs. */
static void oxi_quasi_vectors(const oxi_dense *t, double norm, const oxi_dense *re, const oxi_dense *im,
                              oxi_complex *values) {
    double least = DBL_EPSILON * norm + 1e-140;
    for (int64_t k = t->rows - 1; k >= 0; k--) {
        const double *row = oxi_dense_row(t, k);
        bool pair = k > 0 && row[k - 1] != 0;
        oxi_complex value = oxi_make_complex(row[k], 0);
        if (pair) {
            const double *over = row - t->step;
            double half = 0.5 * (over[k - 1] - row[k]), square = half * half + over[k] * row[k - 1];
            value = oxi_make_complex(row[k] + half, sqrt(fabs(square)));
        }
        oxi_quasi_vector(t, k, pair, value, least, oxi_dense_row(re, k), oxi_dense_row(im, k));
        values[k] = value;
        if (!pair) continue;
        values[k].im = -value.im;
        values[--k] = value;
        memcpy(oxi_dense_row(re, k), oxi_dense_row(re, k + 1), (size_t)t->rows * sizeof(double));
        memcpy(oxi_dense_row(im, k), oxi_dense_row(im, k + 1), (size_t)t->rows * sizeof(double));
        for (int64_t j = 0; j < t->rows; j++) oxi_dense_row(im, k + 1)[j] *= -1;
    }
}

/* Vectors of length 1 in columns, pairs of f32, of rows; their largest number is real and positive, so that
 * they follow the matrix without a jump. */
static void oxi_eig_columns(const oxi_dense *re, const oxi_dense *im, float *vectors) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t n = re->rows;
    for (int64_t k = 0; k < n; k++) {
        const double *x = oxi_dense_row(re, k), *y = oxi_dense_row(im, k);
        double size = sqrt(kernels->dot_f64(n, x, x) + kernels->dot_f64(n, y, y)), most = 0;
        oxi_complex turn = oxi_make_complex(1, 0);
        for (int64_t i = 0; i < n; i++) {
            double own = x[i] * x[i] + y[i] * y[i];
            if (!(own > most * (1 + 1e-9))) continue;
            most = own;
            turn = oxi_z_scale(oxi_make_complex(x[i], -y[i]), 1 / sqrt(own));
        }
        for (int64_t i = 0; i < n; i++) {
            oxi_complex v = oxi_multiply_complex(turn, oxi_make_complex(x[i] / size, y[i] / size));
            vectors[2 * (i * n + k)] = (float)v.re;
            vectors[2 * (i * n + k) + 1] = (float)v.im;
        }
    }
}

/* Of a [n,n], finite: values [n], vectors [n,n] in columns, of c64. */
static bool oxi_eig_real(int64_t n, const double *a, float *values, float *vectors) {
    oxi_real_schur s;
    oxi_dense z = oxi_dense_new(n, n), re = oxi_dense_new(n, n), im = oxi_dense_new(n, n),
              work = oxi_dense_new(2, n + 1);
    double norm = 0;
    s.h = oxi_dense_new(n, n);
    s.zt = oxi_dense_new(n, n);
    s.room = oxi_dense_new(OXI_SCHUR_WINDOW + 2, n);
    s.list = oxi_rotations_new(2 * OXI_SCHUR_WINDOW);
    if (!z.p || !re.p || !im.p || !work.p || !s.h.p || !s.zt.p || !s.room.p || !s.list) return false;
    memcpy(s.h.p, a, (size_t)(n * n) * sizeof(double));
    double scale = oxi_dense_scale(&s.h);
    for (int64_t i = 0; i < n * n; i++) {
        norm = fmax(norm, fabs(s.h.p[i]));
        z.p[i] = i % (n + 1) == 0;
    }
    oxi_hessenberg_real(&s.h, &z, oxi_dense_row(&work, 0), oxi_dense_row(&work, 1));
    oxi_dense_transpose(&s.zt, &z);
    if (!oxi_schur_real(&s, norm)) {
        (void)oxi_fail(OX_ERR_ARG, "eig: does not converge");
        return false;
    }
    oxi_complex *found = (oxi_complex *)(void *)work.p;
    oxi_quasi_vectors(&s.h, norm, &re, &im, found);
    for (int64_t i = 0; i < n; i++) {
        values[2 * i] = (float)(found[i].re * scale);
        values[2 * i + 1] = (float)(found[i].im * scale);
    }
    if (!oxi_dense_product(&s.h, false, &re, false, &s.zt, false) ||
        !oxi_dense_product(&z, false, &im, false, &s.zt, false))
        return false;
    oxi_eig_columns(&s.h, &z, vectors);
    return true;
}
