/* Dense linear algebra on the CPU. Everything is computed in f64, row by row, whatever the dtype: f32 is
 * rounded once at the end. Large matrices are worked on in blocks, whose products are the library's own; of a
 * batch each matrix is a task. Sources: Golub and Van Loan, "Matrix Computations"; LAPACK's users' guide for
 * what is returned. */
/* WORDS OF THIS ROOM
 *     dense          a matrix of f64 in a tensor's memory, rows `step` elements apart
 *     panel, block   some columns that are factored at once; a part of a matrix that is multiplied at once
 *     reflector      I - tau v v^T with v[0] = 1
 *     pivot          the row that was exchanged with, counted from 1 */

#define OXI_LINALG_NOTHING 1e-140 /* beside a matrix's largest number: products of two such are nothing */
enum { OXI_LINALG_BLOCK = 48, OXI_LINALG_SMALL = 96 }; /* columns of a panel; what is not worth blocks */

typedef struct oxi_dense {
    double *p;
    int64_t rows, columns, step;
} oxi_dense;

static oxi_dense oxi_dense_of(ox_tensor *t, int64_t matrix, int64_t rows, int64_t columns) {
    oxi_dense d;
    d.p = (double *)(void *)oxi_ptr(t) + matrix * rows * columns;
    d.rows = rows;
    d.columns = columns;
    d.step = columns;
    return d;
}

/* New memory, of the open scope; p NULL where memory ends. */
static oxi_dense oxi_dense_new(int64_t rows, int64_t columns) {
    const int64_t shape[2] = {rows, columns};
    ox_tensor *t = oxi_tensor_new(ox_cpu(), OX_F64, 2, shape);
    oxi_dense none;
    memset(&none, 0, sizeof none);
    return t ? oxi_dense_of(t, 0, rows, columns) : none;
}

static double *oxi_dense_row(const oxi_dense *d, int64_t i) {
    return d->p + i * d->step;
}

static oxi_dense oxi_block(const oxi_dense *d, int64_t row, int64_t column, int64_t rows, int64_t columns) {
    oxi_dense b = *d;
    b.p += row * d->step + column;
    b.rows = rows;
    b.columns = columns;
    return b;
}

static void oxi_dense_copy(const oxi_dense *to, const oxi_dense *from) {
    for (int64_t i = 0; i < to->rows; i++)
        memcpy(oxi_dense_row(to, i), oxi_dense_row(from, i), (size_t)to->columns * sizeof(double));
}

/* to = from^T, in tiles that stay in the cache. */
static void oxi_dense_transpose(const oxi_dense *to, const oxi_dense *from) {
    const int64_t tile = 32;
    for (int64_t i0 = 0; i0 < from->rows; i0 += tile)
        for (int64_t j0 = 0; j0 < from->columns; j0 += tile)
            for (int64_t i = i0; i < i0 + tile && i < from->rows; i++)
                for (int64_t j = j0; j < j0 + tile && j < from->columns; j++)
                    oxi_dense_row(to, j)[i] = oxi_dense_row(from, i)[j];
}

/* c = a b, or `onto`: c += a b; a and b perhaps transposed. c's memory is not that of the others. */
static bool oxi_dense_product(const oxi_dense *c, bool onto, const oxi_dense *a, bool a_turned,
                              const oxi_dense *b, bool b_turned) {
    oxi_gemm g;
    memset(&g, 0, sizeof g);
    g.m = c->rows;
    g.n = c->columns;
    g.k = a_turned ? a->rows : a->columns;
    g.a = a->p;
    g.a_row = a_turned ? 1 : a->step;
    g.a_col = a_turned ? a->step : 1;
    g.b = b->p;
    g.b_row = b_turned ? 1 : b->step;
    g.b_col = b_turned ? b->step : 1;
    g.c = c->p;
    g.c_row = c->step;
    g.c_col = 1;
    g.a_dtype = g.b_dtype = g.c_dtype = OX_F64;
    g.alpha = 1;
    g.onto = onto;
    return oxi_gemm_run(&g) == OX_OK;
}

/* to = -from */
static void oxi_dense_negate(const oxi_dense *to, const oxi_dense *from) {
    for (int64_t i = 0; i < to->rows; i++)
        for (int64_t k = 0; k < to->columns; k++) oxi_dense_row(to, i)[k] = -oxi_dense_row(from, i)[k];
}

static void oxi_swap_rows(const oxi_dense *d, int64_t i, int64_t j) {
    double *a = oxi_dense_row(d, i), *b = oxi_dense_row(d, j);
    for (int64_t k = 0; i != j && k < d->columns; k++) {
        double t = a[k];
        a[k] = b[k];
        b[k] = t;
    }
}

/* ---- LU with partial pivoting -------------------------------------------------------------------------- */

static void oxi_lu_panel(const oxi_dense *a, int64_t first, int64_t width, bool exchanges, int32_t *pivots) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    for (int64_t j = first; j < first + width; j++) {
        int64_t best = j;
        double most = fabs(oxi_dense_row(a, j)[j]);
        for (int64_t i = j + 1; exchanges && i < a->rows; i++) {
            double size = fabs(oxi_dense_row(a, i)[j]);
            if (!(size > most)) continue;
            most = size;
            best = i;
        }
        pivots[j] = (int32_t)best + 1;
        oxi_swap_rows(a, j, best);
        double pivot = oxi_dense_row(a, j)[j];
        if (pivot == 0) continue;
        const double *right = oxi_dense_row(a, j) + j + 1;
        for (int64_t i = j + 1; i < a->rows; i++) {
            double *row = oxi_dense_row(a, i), factor = row[j] /= pivot;
            if (factor != 0) kernels->axpy_f64(first + width - j - 1, -factor, right, row + j + 1);
        }
    }
}

/* What is right of a panel: U's rows, then the rest less L U. */
static bool oxi_lu_right(const oxi_dense *a, int64_t first, int64_t width) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t end = first + width, right = a->columns - end, below = a->rows - end;
    if (right == 0) return true;
    for (int64_t i = first + 1; i < end; i++)
        for (int64_t j = first; j < i; j++)
            kernels->axpy_f64(right, -oxi_dense_row(a, i)[j], oxi_dense_row(a, j) + end,
                              oxi_dense_row(a, i) + end);
    if (below == 0) return true;
    oxi_dense l = oxi_dense_new(below, width), u = oxi_dense_new(width, right), rest, from;
    if (!l.p || !u.p) return false;
    from = oxi_block(a, end, first, below, width);
    oxi_dense_negate(&l, &from);
    from = oxi_block(a, first, end, width, right);
    oxi_dense_copy(&u, &from);
    rest = oxi_block(a, end, end, below, right);
    return oxi_dense_product(&rest, true, &l, false, &u, false);
}

/* In place: L below the diagonal, U on and above. pivots [min(rows, columns)]. */
static bool oxi_lu(const oxi_dense *a, bool exchanges, int32_t *pivots) {
    int64_t count = a->rows < a->columns ? a->rows : a->columns;
    int64_t width = count <= OXI_LINALG_SMALL ? count : (int64_t)OXI_LINALG_BLOCK;
    for (int64_t first = 0; first < count; first += width) {
        ox_scope scope = ox_scope_begin();
        if (width > count - first) width = count - first;
        oxi_lu_panel(a, first, width, exchanges, pivots);
        bool done = oxi_lu_right(a, first, width);
        ox_scope_end(&scope);
        if (!done) return false;
    }
    return true;
}

/* ---- triangular systems -------------------------------------------------------------------------------- */

/* x = t^-1 x, t [n,n] lower or upper, unit: with a diagonal of ones. */
static bool oxi_solve_triangular(const oxi_dense *t, const oxi_dense *x, bool upper, bool unit) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t n = t->rows, width = n <= OXI_LINALG_SMALL ? n : (int64_t)OXI_LINALG_BLOCK;
    for (int64_t done = 0; done < n; done += width) {
        if (width > n - done) width = n - done;
        int64_t first = upper ? n - done - width : done, known = upper ? first + width : 0;
        oxi_dense here = oxi_block(x, first, 0, width, x->columns),
                  there = oxi_block(x, known, 0, done, x->columns);
        oxi_dense factor = oxi_block(t, first, known, width, done);
        if (done) { /* less what is known of it: from the other side */
            oxi_dense_negate(&here, &here);
            if (!oxi_dense_product(&here, true, &factor, false, &there, false)) return false;
            oxi_dense_negate(&here, &here);
        }
        for (int64_t k = 0; k < width; k++) {
            int64_t i = upper ? first + width - 1 - k : first + k;
            const double *row = oxi_dense_row(t, i);
            double *to = oxi_dense_row(x, i);
            for (int64_t j = upper ? i + 1 : first; j < (upper ? first + width : i); j++)
                if (row[j] != 0) kernels->axpy_f64(x->columns, -row[j], oxi_dense_row(x, j), to);
            for (int64_t c = 0; !unit && c < x->columns; c++) to[c] /= row[i];
        }
    }
    return true;
}

/* x = a^-1 x by LU, a is overwritten. *singular says so, and nothing is solved. */
static bool oxi_solve_dense(const oxi_dense *a, const oxi_dense *x, int32_t *pivots, bool *singular) {
    if (!oxi_lu(a, true, pivots)) return false;
    for (int64_t i = 0; i < a->rows; i++)
        if (oxi_dense_row(a, i)[i] == 0) *singular = true;
    if (*singular) return true;
    for (int64_t i = 0; i < a->rows; i++) oxi_swap_rows(x, i, pivots[i] - 1);
    return oxi_solve_triangular(a, x, false, true) && oxi_solve_triangular(a, x, true, false);
}

/* ---- Cholesky ------------------------------------------------------------------------------------------ */

/* Columns [first, first + width) of L, those to the left being done: in place. The order of the first minor
 * that is not positive, or 0. */
static int64_t oxi_cholesky_panel(const oxi_dense *a, int64_t first, int64_t width) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    for (int64_t j = first; j < first + width; j++) {
        double *own = oxi_dense_row(a, j),
               rest = own[j] - kernels->dot_f64(j - first, own + first, own + first);
        if (!(rest > 0)) return j + 1;
        own[j] = sqrt(rest);
        for (int64_t i = j + 1; i < a->rows; i++) {
            double *row = oxi_dense_row(a, i);
            row[j] = (row[j] - kernels->dot_f64(j - first, row + first, own + first)) / own[j];
        }
    }
    return 0;
}

/* a's lower triangle becomes L, the other one zeros; *info as of oxi_cholesky_panel. */
static bool oxi_cholesky(const oxi_dense *a, int32_t *info) {
    int64_t n = a->rows, width = n <= OXI_LINALG_SMALL ? n : (int64_t)OXI_LINALG_BLOCK;
    *info = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) oxi_dense_row(a, i)[j] = 0;
    for (int64_t first = 0; first < n && *info == 0; first += width) {
        if (width > n - first) width = n - first;
        oxi_dense panel = oxi_block(a, first, first, n - first, width);
        if (first) { /* less what the columns on the left have of it */
            ox_scope scope = ox_scope_begin();
            oxi_dense work = oxi_dense_new(n - first, width);
            oxi_dense left = oxi_block(a, first, 0, n - first, first),
                      top = oxi_block(a, first, 0, width, first);
            if (work.p) oxi_dense_negate(&work, &panel);
            bool done = work.p && oxi_dense_product(&work, true, &left, false, &top, true);
            for (int64_t i = 0; done && i < n - first; i++)
                for (int64_t k = 0; k < width && k <= i; k++)
                    oxi_dense_row(&panel, i)[k] = -oxi_dense_row(&work, i)[k];
            ox_scope_end(&scope);
            if (!done) return false;
        }
        *info = (int32_t)oxi_cholesky_panel(a, first, width);
    }
    return true;
}
