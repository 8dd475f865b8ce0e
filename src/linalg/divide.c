/* Eigenvalues and vectors of three diagonals by dividing: both halves' are known, the number that couples
 * them is a change of rank one, and the new values are the roots of a rational function. Source: Gu and
 * Eisenstat 1995 ("A divide-and-conquer algorithm for the symmetric tridiagonal eigenproblem"), for the roots
 * Bunch, Nielsen and Sorensen 1978. */

/* diag(d) + rho z z^T: d rises, no z is 0. */
typedef struct oxi_secular {
    int64_t n;
    double rho;
    const double *d, *z;
    double *values;
    const oxi_dense *gaps; /* row j: d[i] less root j */
    const double *weights; /* for vectors: z for which the roots are exact */
    const int64_t *column; /* where number i of a vector goes */
    const oxi_dense *vectors;
} oxi_secular;

/* 1 + the sum over i of rho z_i^2 / gap_i, its halves and their slopes: up to pole `last`, and behind it. */
typedef struct oxi_secular_sums {
    double f, left, right, left_slope, right_slope;
} oxi_secular_sums;

static oxi_secular_sums oxi_secular_at(const oxi_secular *s, int64_t last, const double *gap) {
    oxi_secular_sums sums;
    memset(&sums, 0, sizeof sums);
    for (int64_t i = 0; i <= last; i++) {
        double t = s->z[i] / gap[i];
        sums.left += s->z[i] * t;
        sums.left_slope += t * t;
    }
    for (int64_t i = last + 1; i < s->n; i++) {
        double t = s->z[i] / gap[i];
        sums.right += s->z[i] * t;
        sums.right_slope += t * t;
    }
    sums.left *= s->rho;
    sums.right *= s->rho;
    sums.left_slope *= s->rho;
    sums.right_slope *= s->rho;
    sums.f = 1 + sums.left + sums.right;
    return sums;
}

/* From here to the root of what has the same value and slopes with the two poles beside alone. */
static double oxi_secular_step(const oxi_secular_sums *sums, double below, double above, bool open) {
    double c = sums->f - sums->left_slope * below - (open ? 0 : sums->right_slope * above);
    double s = sums->left_slope * below * below, t = open ? 0 : sums->right_slope * above * above;
    if (open) return below + s / c;
    double a = c * (below + above) + s + t, b = sums->f * below * above;
    double root = sqrt(fmax(a * a - 4 * b * c, 0));
    return a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
}

/* Root j lies between d[j] and d[j + 1]; it is found as a distance from the nearer one. */
static void oxi_secular_root(void *arg, int64_t j, int lane) {
    const oxi_secular *s = (const oxi_secular *)arg;
    double *gap = oxi_dense_row(s->gaps, j), width = s->rho, low = 0, high, at;
    bool open = j == s->n - 1;
    int64_t origin = j;
    oxi_secular_sums sums;
    (void)lane;
    if (open)
        width *= oxi_cpu_kernels()->dot_f64(s->n, s->z, s->z);
    else
        width = s->d[j + 1] - s->d[j];
    at = open ? width : 0.5 * width;
    high = width;
    for (int turn = 0; turn < 100; turn++) {
        for (int64_t i = 0; i < s->n; i++) gap[i] = (s->d[i] - s->d[origin]) - at;
        sums = oxi_secular_at(s, j, gap);
        if (turn == 0 && !open && sums.f < 0) { /* nearer to the upper one */
            origin++;
            at = low = -0.5 * width;
            high = 0;
            for (int64_t i = 0; i < s->n; i++) gap[i] = (s->d[i] - s->d[origin]) - at;
        }
        double slope = sums.left_slope + sums.right_slope;
        double noise = 1 + 8 * (sums.right - sums.left) + fabs(at) * slope;
        if (fabs(sums.f) <= DBL_EPSILON * noise) break;
        if (sums.f < 0)
            low = at;
        else
            high = at;
        double next = at + oxi_secular_step(&sums, gap[j], open ? 0 : gap[j + 1], open);
        if (!(next > low && next < high) || turn % 8 == 7) next = 0.5 * (low + high);
        if (next == at || next == low || next == high) break;
        at = next;
    }
    s->values[j] = s->d[origin] + at;
}

/* z for which the roots are those of diag(d) + rho z z^T to the last digit: vectors are orthogonal then. */
static void oxi_secular_weights(const oxi_secular *s, double *weights) {
    for (int64_t i = 0; i < s->n; i++) weights[i] = -1 / s->rho;
    for (int64_t j = 0; j < s->n; j++) {
        const double *gap = oxi_dense_row(s->gaps, j);
        for (int64_t i = 0; i < s->n; i++) weights[i] *= i == j ? gap[i] : gap[i] / (s->d[i] - s->d[j]);
    }
    for (int64_t i = 0; i < s->n; i++) weights[i] = copysign(sqrt(fabs(weights[i])), s->z[i]);
}

static void oxi_secular_vector(void *arg, int64_t j, int lane) {
    const oxi_secular *s = (const oxi_secular *)arg;
    double *gap = oxi_dense_row(s->gaps, j), *row = oxi_dense_row(s->vectors, j);
    (void)lane;
    for (int64_t i = 0; i < s->n; i++) gap[i] = s->weights[i] / gap[i];
    double size = sqrt(oxi_cpu_kernels()->dot_f64(s->n, gap, gap));
    for (int64_t i = 0; i < s->n; i++) row[s->column[i]] = gap[i] / size;
}

/* ---- two halves become one ----------------------------------------------------------------------------- */

/* Rows are vectors: rows [0, half) have the first `half` numbers, the others the rest, but for those that
 * have been mixed. */
enum { OXI_HALF_LEFT, OXI_HALF_MIXED, OXI_HALF_RIGHT, OXI_HALF_DONE };
typedef struct oxi_halves {
    int64_t n, half, kept;
    double rho, most, *d, *z, *work; /* most: the size of the whole; d, z [n]; work [4 n] */
    int64_t *order;            /* [2 n]: rows by rising d, those that are kept first; room */
    char *side;                /* of rows */
    oxi_dense vectors;
} oxi_halves;

static void oxi_halves_order(oxi_halves *h) {
    for (int64_t i = 0; i < h->n; i++) {
        int64_t at = i;
        for (; at > 0 && h->d[h->order[at - 1]] > h->d[i]; at--) h->order[at] = h->order[at - 1];
        h->order[at] = i;
    }
}

/* Rows that the change does not reach are done: their z is next to 0, or becomes so when they are turned
 * against one whose d is next to theirs. */
static void oxi_halves_deflate(oxi_halves *h) {
    int64_t kept = 0;
    double least = 8 * DBL_EPSILON * h->most;
    for (int64_t k = 0; k < h->n; k++) {
        int64_t i = h->order[k], last = kept ? h->order[kept - 1] : -1;
        if (h->rho * fabs(h->z[i]) <= least) {
            h->side[i] = OXI_HALF_DONE;
            continue;
        }
        double size = last < 0 ? 0 : hypot(h->z[i], h->z[last]);
        double c = last < 0 ? 0 : h->z[i] / size, s = last < 0 ? 0 : -h->z[last] / size;
        if (last >= 0 && fabs((h->d[i] - h->d[last]) * c * s) <= least) {
            double *x = oxi_dense_row(&h->vectors, last), *y = oxi_dense_row(&h->vectors, i);
            double a = h->d[last], b = h->d[i];
            oxi_cpu_kernels()->rotate_f64(h->n, c, s, x, y);
            h->z[i] = size;
            h->d[last] = a * c * c + b * s * s;
            h->d[i] = a * s * s + b * c * c;
            if (h->side[i] != h->side[last]) h->side[i] = OXI_HALF_MIXED;
            h->side[last] = OXI_HALF_DONE;
            kept--;
        }
        h->order[kept++] = i;
    }
    h->kept = kept;
}

/* The kept rows' numbers from `at` on, in the order that has the left ones first, then mixed, then right. */
static void oxi_halves_gather(const oxi_halves *h, const int64_t *column, int64_t first, int64_t at,
                              const oxi_dense *to) {
    for (int64_t k = 0; k < h->kept; k++) {
        int64_t row = column[k] - first;
        if (row < 0 || row >= to->rows) continue;
        memcpy(oxi_dense_row(to, row), oxi_dense_row(&h->vectors, h->order[k]) + at,
               (size_t)to->columns * sizeof(double));
    }
}

static bool oxi_halves_multiply(oxi_halves *h, oxi_secular *s, int64_t *column) {
    int64_t n = h->kept, count[3] = {0, 0, 0}, begin[3];
    oxi_dense u = oxi_dense_new(n, n), made = oxi_dense_new(n, h->n);
    if (!u.p || !made.p) return false;
    for (int64_t k = 0; k < n; k++) count[(int)h->side[h->order[k]]]++;
    begin[0] = 0;
    begin[1] = count[0];
    begin[2] = count[0] + count[1];
    for (int64_t k = 0; k < n; k++) column[k] = begin[(int)h->side[h->order[k]]]++;
    s->column = column;
    s->vectors = &u;
    oxi_parallel_for(n, oxi_secular_vector, s);
    for (int side = 0; side < 2; side++) {
        int64_t first = side ? count[0] : 0, rows = side ? n - first : count[0] + count[1];
        int64_t at = side ? h->half : 0, width = side ? h->n - h->half : h->half;
        oxi_dense from = oxi_dense_new(rows ? rows : 1, width), part = oxi_block(&u, 0, first, n, rows);
        oxi_dense to = oxi_block(&made, 0, at, n, width);
        if (!from.p) return false;
        from.rows = rows;
        oxi_halves_gather(h, column, first, at, &from);
        if (!oxi_dense_product(&to, false, &part, false, &from, false)) return false;
    }
    for (int64_t k = 0; k < n; k++)
        memcpy(oxi_dense_row(&h->vectors, h->order[k]), oxi_dense_row(&made, k),
               (size_t)h->n * sizeof(double));
    return true;
}

static bool oxi_halves_join(oxi_halves *h) {
    double *d = h->work, *z = d + h->n, *values = z + h->n, *weights = values + h->n;
    oxi_secular s;
    memset(&s, 0, sizeof s);
    oxi_halves_order(h);
    oxi_halves_deflate(h);
    if (h->kept == 0) return true;
    oxi_dense gaps = oxi_dense_new(h->kept, h->kept);
    if (!gaps.p) return false;
    for (int64_t k = 0; k < h->kept; k++) {
        d[k] = h->d[h->order[k]];
        z[k] = h->z[h->order[k]];
    }
    s.n = h->kept;
    s.rho = h->rho;
    s.d = d;
    s.z = z;
    s.values = values;
    s.gaps = &gaps;
    oxi_parallel_for(s.n, oxi_secular_root, &s);
    oxi_secular_weights(&s, weights);
    s.weights = weights;
    if (!oxi_halves_multiply(h, &s, h->order + h->n)) return false;
    for (int64_t k = 0; k < h->kept; k++) h->d[h->order[k]] = values[k];
    return true;
}

/* d, e [n] of three diagonals: d becomes the eigenvalues, in no order, rows of z (zeros before) their
 * vectors; most: the size of the whole. list, work [5 n], order [2 n] and side [n]: room. */
static bool oxi_divide(int64_t n, double *d, double *e, double most, const oxi_dense *z, oxi_rotation *list,
                       double *work, int64_t *order, char *side) {
    if (n <= OXI_DIVIDE_LEAST) {
        for (int64_t i = 0; i < n; i++) oxi_dense_row(z, i)[i] = 1;
        return oxi_ql(n, d, e, most, z, list);
    }
    oxi_halves h;
    int64_t half = n / 2;
    double couples = e[half - 1], sign = couples < 0 ? -1 : 1;
    oxi_dense left = oxi_block(z, 0, 0, half, half), right = oxi_block(z, half, half, n - half, n - half);
    d[half - 1] -= fabs(couples);
    d[half] -= fabs(couples);
    if (!oxi_divide(half, d, e, most, &left, list, work, order, side) ||
        !oxi_divide(n - half, d + half, e + half, most, &right, list, work, order, side))
        return false;
    if (couples == 0) return true;
    h.n = n;
    h.half = half;
    h.rho = 2 * fabs(couples);
    h.most = most;
    h.d = d;
    h.z = work;
    h.work = work + n;
    h.order = order;
    h.side = side;
    h.vectors = *z;
    for (int64_t i = 0; i < n; i++) { /* the vectors' numbers beside the cut, of length 1 together */
        side[i] = i < half ? OXI_HALF_LEFT : OXI_HALF_RIGHT;
        work[i] = (i < half ? oxi_dense_row(z, i)[half - 1] : sign * oxi_dense_row(z, i)[half]) * sqrt(0.5);
    }
    ox_scope scope = ox_scope_begin();
    bool done = oxi_halves_join(&h);
    ox_scope_end(&scope);
    return done;
}
