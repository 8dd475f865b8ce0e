/* Complex vectors and matrices as pairs of f64, real and imaginary part side by side: what real kernels make
 * of them, orthonormal rows, and the complex rows among those of a real matrix of twice the size. */

static void oxi_z_axpy(int64_t n, double c, const oxi_complex *x, oxi_complex *y) { /* y += c x */
    oxi_cpu_kernels()->axpy_f64(2 * n, c, (const double *)(const void *)x, (double *)(void *)y);
}
static double oxi_z_real_dot(int64_t n, const oxi_complex *x, const oxi_complex *y) { /* of x^H y */
    return oxi_cpu_kernels()->dot_f64(2 * n, (const double *)(const void *)x,
                                      (const double *)(const void *)y);
}
static void oxi_z_turn(int64_t n, const oxi_complex *x, oxi_complex *to) { /* to = i x */
    for (int64_t i = 0; i < n; i++) to[i] = oxi_make_complex(-x[i].im, x[i].re);
}
static void oxi_z_over(int64_t n, oxi_complex *v, double length) {
    for (int64_t i = 0; i < n; i++) v[i] = oxi_z_scale(v[i], 1 / length);
}

/* v [n] less the sum of c[j] times the k rows of q; t [n]: room. */
static void oxi_z_less_rows(int64_t n, oxi_complex *v, int64_t k, const oxi_complex *c, const oxi_complex *q,
                            oxi_complex *t) {
    memset(t, 0, (size_t)n * sizeof *t);
    for (int64_t j = 0; j < k; j++) {
        oxi_z_axpy(n, -c[j].re, q + j * n, v);
        oxi_z_axpy(n, -c[j].im, q + j * n, t);
    }
    for (int64_t i = 0; i < n; i++) v[i] = oxi_make_complex(v[i].re - t[i].im, v[i].im + t[i].re);
}

/* v less its part in the k rows of q [k, n], and what is left's length: 0 where that is rounding. r [k], or
 * NULL, gets the parts; so much of u's rows [k, m] leaves w [m], or NULL. room [k + the larger of n, m]. */
static double oxi_z_reject(int64_t n, const oxi_complex *q, int64_t k, oxi_complex *v, oxi_complex *r,
                           int64_t m, const oxi_complex *u, oxi_complex *w, oxi_complex *room) {
    double before = sqrt(oxi_z_real_dot(n, v, v)), left;
    oxi_complex *t = room + k;
    for (int64_t j = 0; r && j < k; j++) r[j] = oxi_make_complex(0, 0);
    for (int pass = 0; pass < 2 && k > 0; pass++) {
        oxi_z_turn(n, v, t);
        for (int64_t j = 0; j < k; j++) {
            room[j] = oxi_make_complex(oxi_z_real_dot(n, q + j * n, v), -oxi_z_real_dot(n, q + j * n, t));
            if (r) r[j] = oxi_z_add(r[j], room[j]);
        }
        oxi_z_less_rows(n, v, k, room, q, t);
        if (w) oxi_z_less_rows(m, w, k, room, u, t);
    }
    left = sqrt(oxi_z_real_dot(n, v, v));
    return left > 1e-14 * before ? left : 0;
}

/* share [n]: of what length each unit vector's part in q's rows [k, n] is, squared. */
static void oxi_z_shares(int64_t n, const oxi_complex *q, int64_t k, double *share) {
    for (int64_t i = 0; i < n; i++) share[i] = 0;
    for (int64_t i = 0; i < k * n; i++) share[i % n] += q[i].re * q[i].re + q[i].im * q[i].im;
}
/* Row `at` of q [k, n], which is 0 or the last: the unit vector of which the others have least, less its part
 * in them; its share is added. */
static void oxi_z_fill(int64_t n, oxi_complex *q, int64_t k, int64_t at, double *share, oxi_complex *room) {
    oxi_complex *v = q + at * n;
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (share[i] < share[best]) best = i;
    oxi_complex *unit = room + k + n;
    memset(v, 0, (size_t)n * sizeof *v);
    memset(unit, 0, (size_t)n * sizeof *unit);
    unit[best].re = 1;
    double left = oxi_z_reject(n, q, k, unit, NULL, 0, NULL, NULL, room);
    for (int64_t i = 0; i < n; i++) {
        v[i] = oxi_z_scale(unit[i], 1 / left);
        share[i] += v[i].re * v[i].re + v[i].im * v[i].im;
    }
}

/* Each of v's rows x [n, 2 columns] as x and i x: a v = a's pairs times them. p NULL where memory ends. */
static oxi_dense oxi_z_twice(const oxi_dense *v) {
    oxi_dense made = oxi_dense_new(2 * v->rows, v->columns);
    for (int64_t i = 0; made.p && i < v->rows; i++) {
        memcpy(oxi_dense_row(&made, 2 * i), oxi_dense_row(v, i), (size_t)v->columns * sizeof(double));
        oxi_z_turn(v->columns / 2, (const oxi_complex *)(const void *)oxi_dense_row(v, i),
                   (oxi_complex *)(void *)oxi_dense_row(&made, 2 * i + 1));
    }
    return made;
}

/* Rows of v [k, 2 n] that are nearly orthonormal become so: v = (3 - v v^H) v / 2. Source: Bjorck and Bowie
 * 1971. */
static bool oxi_z_polish(const oxi_dense *v) {
    oxi_dense twice = oxi_z_twice(v), g = oxi_dense_new(v->rows, 2 * v->rows);
    if (!twice.p || !g.p || !oxi_dense_product(&g, false, v, false, &twice, true)) return false;
    for (int64_t i = 0; i < g.rows; i++) {
        for (int64_t k = 0; k < g.columns; k++) oxi_dense_row(&g, i)[k] *= -0.5;
        oxi_dense_row(&g, i)[2 * i] += 1.5;
    }
    return oxi_dense_product(v, false, &g, false, &twice, false);
}

/* Rows of u [n, m] that are 0 become orthonormal beside the others. room [n + 2 m]. */
static bool oxi_z_fill_rows(int64_t m, oxi_complex *u, int64_t n, oxi_complex *room) {
    oxi_dense share = oxi_dense_new(1, m + 1);
    bool counted = false;
    for (int64_t k = 0; share.p && k < n; k++) {
        if (oxi_z_real_dot(m, u + k * m, u + k * m) > 0) continue;
        if (!counted) oxi_z_shares(m, u, n, share.p);
        counted = true;
        oxi_z_fill(m, u, n, k, share.p, room);
    }
    return share.p != NULL;
}

/* What oxi_z_choose chooses from; room [2 n + 2 of the longer rows]. */
typedef struct oxi_z_choice {
    int64_t n, size, other; /* complex columns of v and u */
    double *d;
    oxi_complex *v, *u, *room;
} oxi_z_choice;

/* Half of the rows [first, end) become the rows from k on; where those end. */
static int64_t oxi_z_choose_group(const oxi_z_choice *c, int64_t first, int64_t end, int64_t k) {
    int64_t base = k, n = c->size, m = c->other;
    oxi_complex *q = c->v + base * n, *p = c->u ? c->u + base * m : NULL;
    for (int64_t row = first; row < end && 2 * (k - base) < end - first; row++) {
        oxi_complex *x = c->v + k * n, *w = p ? c->u + k * m : NULL;
        memmove(x, c->v + row * n, (size_t)n * sizeof *x);
        if (w) memmove(w, c->u + row * m, (size_t)m * sizeof *w);
        c->d[k] = c->d[row];
        if (end - first > 2) {
            double left = oxi_z_reject(n, q, k - base, x, NULL, m, p, w, c->room);
            if (left * left * 2 * (double)c->n < 1) continue;
            oxi_z_over(n, x, left);
            if (w) oxi_z_over(m, w, left);
            left = w ? oxi_z_reject(m, p, k - base, w, NULL, 0, NULL, NULL, c->room) : 1;
            if (left > 0.5)
                oxi_z_over(w ? m : 0, w, left);
            else
                memset(w, 0, (size_t)m * sizeof *w);
        }
        k++;
    }
    return k;
}

/* Each number of d [2 n], which are in order, stands twice, and rows of v [2 n, 2 columns] (and u, or NULL)
 * are orthonormal in twice the space: the first n of them become complex ones. Of a number apart from the
 * others either row will do but for rounding, which a last step takes away; among near ones those that are
 * new are taken, and rows of u that have nothing new are filled up. */
static bool oxi_z_choose(int64_t n, double *d, const oxi_dense *v, const oxi_dense *u) {
    oxi_z_choice c;
    int64_t k = 0;
    double most = 0;
    c.n = n;
    c.size = v->columns / 2;
    c.other = u ? u->columns / 2 : 0;
    c.d = d;
    c.v = (oxi_complex *)(void *)v->p;
    c.u = u ? (oxi_complex *)(void *)u->p : NULL;
    c.room = (oxi_complex *)(void *)oxi_dense_new(2, 2 * n + 2 * (c.size > c.other ? c.size : c.other) + 1).p;
    if (!c.room) return false;
    for (int64_t i = 0; i < 2 * n; i++) most = fmax(most, fabs(d[i]));
    for (int64_t first = 0, end; first < 2 * n; first = end) {
        end = first + 2;
        while (end < 2 * n && ((end - first) % 2 || fabs(d[end] - d[end - 1]) <= 1e-6 * most)) end++;
        k = oxi_z_choose_group(&c, first, end, k);
    }
    oxi_dense rows = oxi_block(v, 0, 0, n, v->columns);
    if (k < n || !oxi_z_polish(&rows)) return false;
    if (!u) return true;
    rows = oxi_block(u, 0, 0, n, u->columns);
    return oxi_z_fill_rows(c.other, c.u, n, c.room) && oxi_z_polish(&rows);
}
