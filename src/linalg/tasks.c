/* The task of each operation: a matrix of a batch, of f64, by what dense.c and the rooms behind it have. */

typedef struct oxi_linalg_job {
    const oxi_call *call;
    const oxi_part *part;
    ox_tensor *a, *b, *out[2]; /* contiguous, of f64 but for indices and complex numbers */
    int64_t rows, columns, least, batch;
    int64_t failed; /* atomic */
} oxi_linalg_job;

static oxi_dense oxi_job_matrix(ox_tensor *t, int64_t i) {
    return oxi_dense_of(t, i, t->shape[t->ndim - 2], t->shape[t->ndim - 1]);
}
static double *oxi_job_vector(ox_tensor *t, int64_t i) {
    return (double *)(void *)oxi_ptr(t) + i * t->shape[t->ndim - 1];
}
static int32_t *oxi_job_pivots(const oxi_linalg_job *j, int64_t i) {
    return (int32_t *)(void *)oxi_ptr(j->out[1]) + i * j->least;
}
/* New memory with the numbers of `of` transposed. */
static oxi_dense oxi_turned(const oxi_dense *of) {
    oxi_dense d = oxi_dense_new(of->columns, of->rows);
    if (d.p) oxi_dense_transpose(&d, of);
    return d;
}

static bool oxi_job_cholesky(oxi_linalg_job *j, int64_t i) {
    oxi_dense a = oxi_job_matrix(j->a, i), l = oxi_job_matrix(j->out[0], i);
    bool upper = j->call->attr.triangle.upper;
    if (upper)
        oxi_dense_transpose(&l, &a);
    else
        oxi_dense_copy(&l, &a);
    if (!oxi_cholesky(&l, (int32_t *)(void *)oxi_ptr(j->out[1]) + i)) return false;
    if (!upper) return true;
    oxi_dense_copy(&a, &l);
    oxi_dense_transpose(&l, &a);
    return true;
}

static bool oxi_job_lu(oxi_linalg_job *j, int64_t i) {
    oxi_dense a = oxi_job_matrix(j->a, i), lu = oxi_job_matrix(j->out[0], i);
    oxi_dense_copy(&lu, &a);
    return oxi_lu(&lu, j->call->attr.pivot.pivot, oxi_job_pivots(j, i));
}

/* The number of matrix i in the batch that a program knows. */
static int64_t oxi_job_number(const oxi_linalg_job *j, int64_t i) {
    const ox_tensor *own = j->call->in[0], *whole = j->part ? j->part->whole->in[0] : own;
    int64_t number = 0, step = 1;
    for (int d = own->ndim - 3; d >= 0; d--) {
        number += i % own->shape[d] * step;
        i /= own->shape[d];
        step *= whole->shape[d];
    }
    const ox_tensor *out = j->call->out[0];
    return number + (j->part ? j->part->first / (out->shape[out->ndim - 2] * out->shape[out->ndim - 1]) : 0);
}

/* x = a^-1 x; a is overwritten. */
static bool oxi_job_solved(oxi_linalg_job *j, int64_t i, oxi_dense *a, oxi_dense *x) {
    bool singular = false, done = false;
    size_t bytes = (size_t)(a->rows ? a->rows : 1) * sizeof(int32_t);
    int32_t *pivots = (int32_t *)oxi_alloc(bytes);
    if (pivots) done = oxi_solve_dense(a, x, pivots, &singular);
    if (pivots) oxi_free(pivots, bytes);
    if (!singular) return done;
    (void)oxi_fail(OX_ERR_ARG, "%s: matrix %lld is singular", j->call->name ? j->call->name : "solve",
                   (long long)oxi_job_number(j, i));
    return false;
}
static bool oxi_job_solve(oxi_linalg_job *j, int64_t i) {
    oxi_dense a = oxi_job_matrix(j->a, i), b = oxi_job_matrix(j->b, i), x = oxi_job_matrix(j->out[0], i);
    oxi_dense_copy(&x, &b);
    return oxi_job_solved(j, i, &a, &x);
}

static bool oxi_job_triangular(oxi_linalg_job *j, int64_t i) {
    const oxi_attr_triangular *told = &j->call->attr.triangular;
    oxi_dense a = oxi_job_matrix(j->a, i), b = oxi_job_matrix(j->b, i), x = oxi_job_matrix(j->out[0], i);
    if (!told->right) {
        oxi_dense_copy(&x, &b);
        return oxi_solve_triangular(&a, &x, told->upper, told->unit);
    }
    oxi_dense at = oxi_turned(&a), bt = oxi_turned(&b); /* x a = b: a^T x^T = b^T */
    if (!at.p || !bt.p || !oxi_solve_triangular(&at, &bt, !told->upper, told->unit)) return false;
    oxi_dense_transpose(&x, &bt);
    return true;
}

static bool oxi_job_qr(oxi_linalg_job *j, int64_t i) {
    oxi_dense a = oxi_job_matrix(j->a, i), q = oxi_job_matrix(j->out[0], i), r = oxi_job_matrix(j->out[1], i);
    oxi_dense at = oxi_turned(&a), tau = oxi_dense_new(1, j->least + 1),
              qt = oxi_dense_new(q.columns, q.rows);
    if (!at.p || !tau.p || !qt.p || !oxi_qr(&at, tau.p) || !oxi_qr_vectors(&at, j->least, tau.p, &qt))
        return false;
    oxi_dense_transpose(&q, &qt);
    for (int64_t row = 0; row < r.rows; row++)
        for (int64_t c = 0; c < r.columns; c++)
            oxi_dense_row(&r, row)[c] = c < row ? 0 : oxi_dense_row(&at, c)[row];
    return true;
}

static bool oxi_job_geqrf(oxi_linalg_job *j, int64_t i) {
    oxi_dense a = oxi_job_matrix(j->a, i), packed = oxi_job_matrix(j->out[0], i), at = oxi_turned(&a);
    if (!at.p || !oxi_qr(&at, oxi_job_vector(j->out[1], i))) return false;
    oxi_dense_transpose(&packed, &at);
    return true;
}

static bool oxi_job_eigh(oxi_linalg_job *j, int64_t i) {
    oxi_dense a = oxi_job_matrix(j->a, i), v = oxi_job_matrix(j->out[1], i),
              z = oxi_dense_new(a.rows, a.rows);
    if (!z.p) return false;
    if (j->call->attr.triangle.upper) {
        oxi_dense_copy(&z, &a);
        oxi_dense_transpose(&a, &z);
    }
    if (!oxi_eigh(&a, oxi_job_vector(j->out[0], i), &z)) return false;
    oxi_dense_transpose(&v, &z);
    return true;
}

static bool oxi_all_finite(const oxi_dense *at) {
    for (int64_t k = 0; k < at->rows * at->columns; k++)
        if (!isfinite(at->p[k])) {
            (void)oxi_fail(OX_ERR_ARG, "svd: an element is not finite");
            return false;
        }
    return true;
}

/* out[1] has V above U: [columns + rows, least]. */
static bool oxi_job_svd(oxi_linalg_job *j, int64_t i) {
    oxi_dense a = oxi_job_matrix(j->a, i), both = oxi_job_matrix(j->out[1], i);
    bool wide = a.rows < a.columns; /* a^T = v s u^T */
    oxi_dense at = wide ? oxi_dense_new(a.rows, a.columns) : oxi_turned(&a);
    oxi_dense ut = oxi_dense_new(at.rows, at.columns), vt = oxi_dense_new(at.rows, at.rows);
    if (!at.p || !ut.p || !vt.p) return false;
    if (wide) oxi_dense_copy(&at, &a);
    if (!oxi_all_finite(&at) || !oxi_svd_tall(&at, oxi_job_vector(j->out[0], i), &ut, &vt)) return false;
    oxi_dense v = oxi_block(&both, 0, 0, a.columns, j->least),
              u = oxi_block(&both, a.columns, 0, a.rows, j->least);
    oxi_dense_transpose(&v, wide ? &ut : &vt);
    oxi_dense_transpose(&u, wide ? &vt : &ut);
    return true;
}
