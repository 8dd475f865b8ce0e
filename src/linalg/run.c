/* What runs linear algebra on the CPU: operands as f64, a task for each matrix of a batch, results back. */

#ifdef OX_NO_LINALG
static ox_status oxi_cpu_linalg(const oxi_call *call, const oxi_part *part) {
    (void)part;
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s: left out by OX_NO_LINALG", oxi_op_row_of(call->op)->name);
}
#else
static bool oxi_job_eig(oxi_linalg_job *j, int64_t i) {
    const double *a = (const double *)(const void *)oxi_ptr(j->a);
    bool of_pairs = j->call->in[0]->dtype == OX_C64;
    return oxi_eig(j->rows, a + i * j->rows * j->rows * (1 + of_pairs), of_pairs,
                   (float *)(void *)oxi_ptr(j->out[0]) + 2 * i * j->rows,
                   (float *)(void *)oxi_ptr(j->out[1]) + 2 * i * j->rows * j->rows);
}

typedef bool (*oxi_linalg_function)(oxi_linalg_job *j, int64_t i);
static oxi_linalg_function oxi_linalg_of(oxi_op op, bool of_pairs) {
    switch (op) {
    case OXI_OP_cholesky: return of_pairs ? oxi_complex_cholesky : oxi_job_cholesky;
    case OXI_OP_lu_factor: return of_pairs ? oxi_complex_lu : oxi_job_lu;
    case OXI_OP_solve: return of_pairs ? oxi_complex_solve : oxi_job_solve;
    case OXI_OP_solve_triangular: return oxi_job_triangular;
    case OXI_OP_qr: return of_pairs ? oxi_complex_qr : oxi_job_qr;
    case OXI_OP_geqrf: return of_pairs ? oxi_complex_geqrf : oxi_job_geqrf;
    case OXI_OP_eigh: return of_pairs ? oxi_complex_eigh : oxi_job_eigh;
    case OXI_OP_svd: return of_pairs ? oxi_complex_svd : oxi_job_svd;
    default: return oxi_job_eig;
    }
}

static void oxi_linalg_task(void *arg, int64_t index, int lane) {
    oxi_linalg_job *j = (oxi_linalg_job *)arg;
    bool unheard = oxi_unheard; /* this thread's: products within the call are nobody's business */
    (void)lane;
    ox_scope scope = ox_scope_begin();
    oxi_unheard = true;
    if (!oxi_linalg_of(j->call->op, j->call->in[0]->dtype == OX_C64)(j, index)) oxi_atomic_add(&j->failed, 1);
    oxi_unheard = unheard;
    ox_scope_end(&scope);
}

/* A copy that may be written over. */
static ox_tensor *oxi_linalg_operand(ox_tensor *t) {
    if (t->dtype == OX_C64) return oxi_pairs_of(t);
    ox_tensor *wide = oxi_tensor_new(ox_cpu(), OX_F64, t->ndim, t->shape);
    return wide ? ox_copy_(wide, t) : NULL;
}

static ox_status oxi_cpu_linalg(const oxi_call *call, const oxi_part *part) {
    oxi_linalg_job j;
    bool paired[2] = {false, false};
    const ox_tensor *x = call->in[0];
    memset(&j, 0, sizeof j);
    j.call = call;
    j.part = part;
    j.rows = x->shape[x->ndim - 2];
    j.columns = x->shape[x->ndim - 1];
    j.least = j.rows < j.columns ? j.rows : j.columns;
    j.batch = 1;
    for (int d = 0; d + 2 < x->ndim; d++) j.batch *= x->shape[d];
    ox_scope scope = ox_scope_begin();
    j.a = oxi_linalg_operand(call->in[0]);
    j.b = call->in_count > 1 ? oxi_linalg_operand(call->in[1]) : NULL;
    bool made = j.a && (j.b || call->in_count < 2);
    for (int i = 0; made && i < call->out_count; i++) {
        const ox_tensor *out = call->out[i];
        bool wide = oxi_is_float(out->dtype);
        paired[i] = out->dtype == OX_C64 && call->op != OXI_OP_eig;
        j.out[i] = paired[i] ? oxi_pairs_new(out)
                             : oxi_tensor_new(ox_cpu(), wide ? OX_F64 : out->dtype, out->ndim, out->shape);
        made = j.out[i] != NULL;
    }
    if (made) oxi_parallel_for(j.batch, oxi_linalg_task, &j);
    ox_status status = made && !j.failed ? OX_OK : ox_error() ? ox_error() : OX_ERR_NOMEM;
    for (int i = 0; status == OX_OK && i < call->out_count; i++)
        if (paired[i] && !(j.out[i] = oxi_of_pairs(call->out[i], j.out[i])))
            status = OX_ERR_NOMEM;
        else
            status = oxi_copy_quiet(call->out[i], j.out[i]);
    ox_scope_end(&scope);
    return status;
}
#endif
