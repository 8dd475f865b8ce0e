/* Eigenvalues of symmetric matrices: to three diagonals by reflectors, then implicit QL steps, or of large
 * ones halves (divide.c); and singular values: QR, then rotations of R's rows until they are orthogonal
 * (Hestenes, one-sided Jacobi). Of few rows these find small ones to full relative accuracy; many are first
 * turned by the vectors of R R^T, which leaves little to rotate. */

/* ---- rotations of rows, applied to strips of columns --------------------------------------------------- */

/* Of rows `row` and `row` + 1: x, y become c x + s y, c y - s x. */
typedef struct oxi_rotation {
    double c, s;
    int64_t row;
} oxi_rotation;

typedef struct oxi_rotations {
    const oxi_dense *rows;
    int64_t base, count, strip; /* base: what the first of `rows` is called in the list */
    const oxi_rotation *list;
} oxi_rotations;

static void oxi_rotate_strip(void *arg, int64_t index, int lane) {
    const oxi_rotations *r = (const oxi_rotations *)arg;
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t at = index * r->strip, n = oxi_min_i64(r->strip, r->rows->columns - at);
    (void)lane;
    for (int64_t i = 0; i < r->count; i++) {
        double *x = oxi_dense_row(r->rows, r->list[i].row - r->base) + at;
        kernels->rotate_f64(n, r->list[i].c, r->list[i].s, x, x + r->rows->step);
    }
}

static void oxi_rotate_rows(const oxi_dense *rows, int64_t base, const oxi_rotation *list, int64_t count) {
    oxi_rotations r;
    r.rows = rows;
    r.base = base;
    r.count = count;
    r.list = list;
    r.strip = rows->columns > 512 ? 256 : rows->columns;
    if (count > 0 && r.strip > 0) oxi_parallel_for((rows->columns - 1) / r.strip + 1, oxi_rotate_strip, &r);
}

/* Room for n of them, in the open scope; NULL where memory ends. */
static oxi_rotation *oxi_rotations_new(int64_t n) {
    return (oxi_rotation *)(void *)oxi_dense_new(n + 1, (int64_t)(sizeof(oxi_rotation) / sizeof(double))).p;
}

/* ---- three diagonals ----------------------------------------------------------------------------------- */

typedef struct oxi_symmetric_job {
    const oxi_dense *a;
    int64_t first, count; /* of the part that is left: rows and columns from first on */
    const double *v;
    double *out;
} oxi_symmetric_job;
enum { OXI_SYMMETRIC_ROWS = 32 };

/* out = a v on the part. */
static void oxi_symmetric_times(void *arg, int64_t index, int lane) {
    const oxi_symmetric_job *j = (const oxi_symmetric_job *)arg;
    int64_t at = index * OXI_SYMMETRIC_ROWS, end = oxi_min_i64(at + OXI_SYMMETRIC_ROWS, j->count);
    (void)lane;
    for (int64_t i = at; i < end; i++)
        j->out[i] = oxi_cpu_kernels()->dot_f64(j->count, oxi_dense_row(j->a, j->first + i) + j->first, j->v);
}

/* Row k and its reflector v, and w, so that a + v w^T + w v^T is what the reflector makes of a; a's other
 * rows do not know of the panel's `before` ones yet. both: v's, w's, v's again, OXI_LINALG_BLOCK each. */
static double oxi_tridiagonal_column(const oxi_dense *a, int64_t k, int64_t before, const oxi_dense *both,
                                     double *tau_of) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t rest = a->rows - k - 1;
    double *own = oxi_dense_row(a, k) + k, *x = own + 1;
    double *w = oxi_dense_row(both, OXI_LINALG_BLOCK + before) + k + 1;
    for (int64_t i = 0; i < before; i++) {
        const double *vi = oxi_dense_row(both, i) + k;
        const double *wi = oxi_dense_row(both, OXI_LINALG_BLOCK + i) + k;
        kernels->axpy_f64(rest + 1, vi[0], wi, own);
        kernels->axpy_f64(rest + 1, wi[0], vi, own);
    }
    *tau_of = 0;
    if (rest == 0) return 0;
    double tau = *tau_of = oxi_reflector(rest, x), beta = x[0];
    x[0] = 1;
    for (int copy = 0; copy < 2; copy++)
        memcpy(oxi_dense_row(both, 2 * OXI_LINALG_BLOCK * copy + before) + k + 1, x,
               (size_t)rest * sizeof *x);
    oxi_symmetric_job job;
    job.a = a;
    job.first = k + 1;
    job.count = rest;
    job.v = x;
    job.out = w;
    if (tau != 0)
        oxi_parallel_for((rest - 1) / OXI_SYMMETRIC_ROWS + 1, oxi_symmetric_times, &job);
    else
        memset(w, 0, (size_t)rest * sizeof *w);
    for (int64_t i = 0; i < before && tau != 0; i++) {
        const double *vi = oxi_dense_row(both, i) + k + 1;
        const double *wi = oxi_dense_row(both, OXI_LINALG_BLOCK + i) + k + 1;
        double of_w = kernels->dot_f64(rest, wi, x), of_v = kernels->dot_f64(rest, vi, x);
        kernels->axpy_f64(rest, of_w, vi, w);
        kernels->axpy_f64(rest, of_v, wi, w);
    }
    for (int64_t i = 0; i < rest; i++) w[i] *= -tau;
    kernels->axpy_f64(rest, -0.5 * tau * kernels->dot_f64(rest, w, x), x, w);
    return beta;
}

/* a (both triangles) becomes d, e; its rows keep the reflectors, row i from column i + 1 on, tau in `tau`.
 * What a panel of them does to the rest is one product. */
static bool oxi_tridiagonal(const oxi_dense *a, double *d, double *e, double *tau) {
    int64_t n = a->rows, width = OXI_LINALG_BLOCK;
    oxi_dense both = oxi_dense_new(3 * width, n + 1);
    if (!both.p) return false;
    for (int64_t first = 0; first < n; first += width) {
        int64_t end = oxi_min_i64(first + width, n);
        for (int64_t k = first; k < end; k++) {
            e[k] = oxi_tridiagonal_column(a, k, k - first, &both, tau + k);
            d[k] = oxi_dense_row(a, k)[k];
        }
        oxi_dense rest = oxi_block(a, end, end, n - end, n - end);
        oxi_dense from = oxi_block(&both, 0, end, 2 * width, n - end);
        oxi_dense to = oxi_block(&both, width, end, 2 * width, n - end);
        if (!oxi_dense_product(&rest, true, &from, true, &to, false)) return false;
    }
    return true;
}

/* Rows of z, vectors of the three diagonals, become those of the matrix. */
static bool oxi_tridiagonal_back(const oxi_dense *a, const double *tau, const oxi_dense *z) {
    int64_t count = a->rows - 1, width = OXI_LINALG_BLOCK;
    if (count <= OXI_LINALG_SMALL) {
        for (int64_t k = count - 1; k >= 0; k--)
            oxi_reflect_rows(z, k + 1, tau[k], oxi_dense_row(a, k) + k + 1);
        return true;
    }
    oxi_dense reflectors = oxi_block(a, 0, 1, count, count), part = oxi_block(z, 0, 1, a->rows, count);
    for (int64_t first = (count - 1) / width * width; first >= 0; first -= width) {
        oxi_dense v, t;
        ox_scope scope = ox_scope_begin();
        bool done = oxi_panel_product(&reflectors, first, oxi_min_i64(width, count - first), tau, &v, &t) &&
                    oxi_reflect_block(&part, first, &v, &t, true);
        ox_scope_end(&scope);
        if (!done) return false;
    }
    return true;
}

/* One implicit QL step of d, e between l and m; its rotations' number, at most m - l. */
static int64_t oxi_ql_step(double *d, double *e, int64_t l, int64_t m, oxi_rotation *list) {
    double g = (d[l + 1] - d[l]) / (2 * e[l]), r = hypot(g, 1), sine = 1, cosine = 1, p = 0;
    int64_t count = 0;
    g = d[m] - d[l] + e[l] / (g + copysign(r, g));
    for (int64_t i = m - 1; i >= l; i--) {
        double f = sine * e[i], b = cosine * e[i];
        r = hypot(f, g);
        e[i + 1] = r;
        if (r == 0) { /* they have come apart already */
            d[i + 1] -= p;
            e[m] = 0;
            return count;
        }
        sine = f / r;
        cosine = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * sine + 2 * cosine * b;
        p = sine * r;
        d[i + 1] = g + p;
        g = cosine * r - b;
        list[count].c = cosine;
        list[count].s = -sine;
        list[count++].row = i;
    }
    d[l] -= p;
    e[l] = g;
    e[m] = 0;
    return count;
}

/* Eigenvalues in d; z (NULL: none) gets their vectors as rows. Below the rounding of `most`, and of what is
 * done, nothing couples. False: it does not converge (NaN). */
static bool oxi_ql(int64_t n, double *d, double *e, double most, const oxi_dense *z, oxi_rotation *list) {
    if (n) e[n - 1] = 0;
    for (int64_t l = 0; l < n; l++)
        for (int turn = 0;; turn++) {
            int64_t m = l;
            most = fmax(most, fabs(d[l]) + fabs(e[l]));
            for (; m + 1 < n; m++)
                if (fabs(e[m]) <= DBL_EPSILON * fmax(most, fabs(d[m]) + fabs(d[m + 1]))) break;
            if (m == l) break;
            if (turn == 60) return false;
            int64_t count = oxi_ql_step(d, e, l, m, list);
            if (z) oxi_rotate_rows(z, 0, list, count);
        }
    return true;
}

/* Rows of z, and their numbers, in rising (or falling) order. */
static void oxi_sort_rows(int64_t n, double *d, const oxi_dense *z, const oxi_dense *more, bool falls) {
    for (int64_t i = 0; i + 1 < n; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < n; j++)
            if (falls ? d[j] > d[best] : d[j] < d[best]) best = j;
        if (best == i) continue;
        double t = d[i];
        d[i] = d[best];
        d[best] = t;
        if (z) oxi_swap_rows(z, i, best);
        if (more) oxi_swap_rows(more, i, best);
    }
}

/* By a power of two that makes the largest number nearly 1: squares neither overflow nor vanish. */
static double oxi_dense_scale(const oxi_dense *a) {
    double most = 0;
    int power = 0;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t k = 0; k < a->columns; k++) most = fmax(most, fabs(oxi_dense_row(a, i)[k]));
    if (most > 0) (void)frexp(most, &power);
    if (power > -300 && power < 300) return 1;
    for (int half = 0; half < 2; half++) /* one factor might be beyond the numbers there are */
        for (int64_t i = 0; i < a->rows; i++)
            for (int64_t k = 0; k < a->columns; k++)
                oxi_dense_row(a, i)[k] *= ldexp(1.0, half ? -(power - power / 2) : -(power / 2));
    return ldexp(1.0, power);
}

/* a [n,n], of which the lower triangle counts; z [n,n] or NULL gets vectors as rows. */
enum { OXI_DIVIDE_LEAST = 32 }; /* what QL steps do sooner */
static bool oxi_divide(int64_t n, double *d, double *e, double most, const oxi_dense *z, oxi_rotation *list,
                       double *work, int64_t *order, char *side);

static bool oxi_eigh(const oxi_dense *a, double *d, const oxi_dense *z) {
    int64_t n = a->rows;
    oxi_dense work = oxi_dense_new(10, n + 1);
    oxi_rotation *list = oxi_rotations_new(n);
    if (!work.p || !list) return false;
    double *e = oxi_dense_row(&work, 0), *tau = oxi_dense_row(&work, 1);
    int64_t *order = (int64_t *)(void *)oxi_dense_row(&work, 7);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) oxi_dense_row(a, i)[j] = oxi_dense_row(a, j)[i];
    for (int64_t i = 0; i < n * n; i++)
        if (!isfinite(a->p[i])) {
            (void)oxi_fail(OX_ERR_ARG, "eigh: an element is not finite");
            return false;
        }
    double scale = oxi_dense_scale(a);
    if (!oxi_tridiagonal(a, d, e, tau)) return false;
    if (z) memset(z->p, 0, (size_t)(n * n) * sizeof(double));
    double most = OXI_LINALG_NOTHING / DBL_EPSILON;
    for (int64_t i = 0; i + 1 < n && n > OXI_DIVIDE_LEAST; i++) most = fmax(most, fabs(d[i]) + fabs(e[i]));
    if (z ? !oxi_divide(n, d, e, most, z, list, oxi_dense_row(&work, 2), order, (char *)(order + 2 * n))
          : !oxi_ql(n, d, e, most, NULL, list)) {
        if (ox_error() == OX_OK) (void)oxi_fail(OX_ERR_ARG, "eigh: does not converge");
        return false;
    }
    if (z && !oxi_tridiagonal_back(a, tau, z)) return false;
    for (int64_t i = 0; i < n; i++) d[i] *= scale;
    oxi_sort_rows(n, d, z, NULL, false);
    return true;
}

/* ---- singular values ----------------------------------------------------------------------------------- */

enum { OXI_SVD_PLAIN = 16 }; /* rows that are few */

typedef struct oxi_jacobi_job {
    const oxi_dense *rows, *turned; /* rows to be made orthogonal; what is rotated with them, or NULL */
    const int64_t *order;           /* of a round: pairs (order[i], order[count - 1 - i]) */
    int64_t count;
    const oxi_dense *products; /* of all rows with one another, before a sweep: NULL for few */
    double limit;              /* what the cosine of two rows may be */
    double *size;              /* squares of the rows' lengths */
    int64_t *rotated;          /* atomic */
} oxi_jacobi_job;

static void oxi_jacobi_pair(void *arg, int64_t index, int lane) {
    const oxi_jacobi_job *j = (const oxi_jacobi_job *)arg;
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t a = j->order[index], b = j->order[j->count - 1 - index], n = j->rows->columns;
    (void)lane;
    if (a >= j->rows->rows || b >= j->rows->rows) return; /* the one that an odd count lacks */
    double *x = oxi_dense_row(j->rows, a), *y = oxi_dense_row(j->rows, b);
    double limit = j->limit * sqrt(j->size[a]) * sqrt(j->size[b]);
    if (j->products && !(fabs(oxi_dense_row(j->products, a)[b]) > limit)) return;
    double dot = kernels->dot_f64(n, x, y);
    if (!(fabs(dot) > limit)) return;
    double zeta = (j->size[b] - j->size[a]) / (2 * dot), t, c;
    t = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    if (fabs(zeta) > 1e150) t = 0.5 / zeta;
    c = 1 / sqrt(1 + t * t);
    kernels->rotate_f64(n, c, -c * t, x, y);
    if (j->turned)
        kernels->rotate_f64(j->turned->columns, c, -c * t, oxi_dense_row(j->turned, a),
                            oxi_dense_row(j->turned, b));
    j->size[a] = kernels->dot_f64(n, x, x);
    j->size[b] = kernels->dot_f64(n, y, y);
    oxi_atomic_add(j->rotated, 1);
}

/* The products of all rows with one another. Rows below the rounding of others become 0: what is left of them
 * would shrink by as much again in each sweep. */
static bool oxi_jacobi_products(const oxi_dense *rows, double *size, const oxi_dense *products) {
    double most = 0;
    for (int64_t i = 0; i < rows->rows; i++) most = fmax(most, size[i]);
    for (int64_t i = 0; i < rows->rows; i++) {
        if (size[i] > DBL_EPSILON * DBL_EPSILON * most) continue;
        memset(oxi_dense_row(rows, i), 0, (size_t)rows->columns * sizeof(double));
        size[i] = 0;
    }
    return oxi_dense_product(products, false, rows, false, rows, true);
}

/* Rows become orthogonal: rounds of pairs that have no row in common, so that threads may share them. Which
 * pairs of many rows are not orthogonal yet is seen in one product. */
static bool oxi_jacobi(const oxi_dense *rows, const oxi_dense *turned, double *size) {
    int64_t n = rows->rows, even = n + n % 2, rotated = 1;
    oxi_jacobi_job job;
    ox_scope scope = ox_scope_begin();
    ox_tensor *list = n > 1 ? oxi_tensor_new(ox_cpu(), OX_I64, 1, &even) : NULL;
    int64_t *order = list ? (int64_t *)(void *)oxi_ptr(list) : NULL;
    for (int64_t i = 0; i < n; i++)
        size[i] = oxi_cpu_kernels()->dot_f64(rows->columns, oxi_dense_row(rows, i), oxi_dense_row(rows, i));
    for (int64_t i = 0; order && i < even; i++) order[i] = i;
    job.rows = rows;
    job.turned = turned;
    job.order = order;
    job.count = even;
    job.size = size;
    job.rotated = &rotated;
    job.limit = DBL_EPSILON * fmax(2, sqrt((double)rows->columns));
    oxi_dense products;
    job.products = n > OXI_SVD_PLAIN ? &products : NULL;
    if (job.products) products = oxi_dense_new(n, n);
    bool done = n < 2 || (order && (!job.products || products.p));
    for (int sweep = 0; n > 1 && done && rotated && sweep < 60; sweep++) {
        rotated = 0;
        if (job.products) done = oxi_jacobi_products(rows, size, &products);
        for (int64_t round = 0; round + 1 < even; round++) {
            oxi_parallel_for(even / 2, oxi_jacobi_pair, &job);
            int64_t last = order[even - 1]; /* all but the first move on */
            memmove(order + 2, order + 1, (size_t)(even - 2) * sizeof *order);
            if (even > 1) order[1] = last;
        }
    }
    ox_scope_end(&scope);
    return done;
}

/* Rows that are not known among orthonormal ones become orthonormal too: the unit vector of which the rest
 * has least, less its part in the rest. share [columns]: room for how much the rest has of each, squared. */
static void oxi_fill_rows(const oxi_dense *q, const bool *known, double *share) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t n = q->columns;
    bool counted = false;
    for (int64_t i = 0; i < q->rows; i++) {
        if (known[i]) continue;
        double *row = oxi_dense_row(q, i);
        int64_t best = 0;
        if (!counted) memset(share, 0, (size_t)n * sizeof *share);
        for (int64_t k = 0; !counted && k < q->rows; k++)
            for (int64_t c = 0; known[k] && c < n; c++)
                share[c] += oxi_dense_row(q, k)[c] * oxi_dense_row(q, k)[c];
        counted = true;
        for (int64_t c = 1; c < n; c++)
            if (share[c] < share[best]) best = c;
        memset(row, 0, (size_t)n * sizeof(double));
        row[best] = 1;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t k = 0; k < q->rows; k++)
                if (k < i || known[k])
                    kernels->axpy_f64(n, -kernels->dot_f64(n, oxi_dense_row(q, k), row), oxi_dense_row(q, k),
                                      row);
        double size = sqrt(kernels->dot_f64(n, row, row));
        for (int64_t c = 0; c < n; c++) {
            row[c] /= size;
            share[c] += row[c] * row[c];
        }
    }
}

/* Rows of r become orthonormal, their lengths s, falling; rows of j follow them. */
static bool oxi_svd_rows(const oxi_dense *r, const oxi_dense *j, double *s) {
    int64_t n = r->rows;
    oxi_dense share = oxi_dense_new(1, r->columns);
    bool *known = (bool *)oxi_alloc((size_t)n), done = known && share.p && oxi_jacobi(r, j, s);
    for (int64_t i = 0; i < n; i++) s[i] = sqrt(s[i]);
    oxi_sort_rows(n, s, r, j, true);
    for (int64_t i = 0; done && i < n; i++) {
        known[i] = s[i] > OXI_LINALG_NOTHING; /* less: products were too small to count */
        for (int64_t k = 0; known[i] && k < n; k++) oxi_dense_row(r, i)[k] /= s[i];
    }
    if (done) oxi_fill_rows(r, known, share.p);
    if (known) oxi_free(known, (size_t)n);
    return done;
}

/* a's transpose at [n, m] with m >= n, overwritten: s [n] falling, ut [n, m] and vt [n, n] of a = u s vt. */
static bool oxi_svd_tall(const oxi_dense *at, double *s, const oxi_dense *ut, const oxi_dense *vt) {
    int64_t n = at->rows;
    if (n == 0) return true;
    oxi_dense r = oxi_dense_new(n, n), j = oxi_dense_new(n, n), tau = oxi_dense_new(1, n),
              q = oxi_dense_new(n, at->columns);
    double scale = oxi_dense_scale(at);
    if (!r.p || !j.p || !tau.p || !q.p) return false;
    if (!oxi_qr(at, tau.p) || !oxi_qr_vectors(at, n, tau.p, &q)) return false;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) {
            oxi_dense_row(&r, i)[k] = k < i ? 0 : oxi_dense_row(at, k)[i];
            oxi_dense_row(&j, i)[k] = i == k;
        }
    oxi_dense turned = oxi_dense_new(n, n), *rows = &r;
    if (!turned.p) return false;
    if (n > OXI_SVD_PLAIN) { /* rows that are nearly orthogonal already are made so by few rotations */
        if (!oxi_dense_product(&turned, false, &r, false, &r, true) || !oxi_eigh(&turned, s, &j) ||
            !oxi_dense_product(&turned, false, &j, false, &r, false))
            return false;
        rows = &turned;
    }
    if (!oxi_svd_rows(rows, &j, s)) return false;
    for (int64_t i = 0; i < n; i++) s[i] *= scale;
    oxi_dense_copy(vt, rows);
    return oxi_dense_product(ut, false, &j, false, &q, false);
}
