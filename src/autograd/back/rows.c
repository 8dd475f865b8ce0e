/* What comes back through softmax and the norms, a row at a time in L1: one pass over memory, where other
 * operations would take ten. Rows lie side by side, numbers are computed in f32. What goes to weights is
 * added up by each task on its own, then in the order of tasks: never by threads. Called by back.c. */

/* (g - g . y) y */
static void oxi_softmax_row_back(const oxi_rows_back *r, const float *g, const float *y, float *out) {
    r->own->softmax(r->n, g, y, r->k->dot_f32(r->n, g, y), out, r->streams);
}

/* g - e^y sum(g) */
static void oxi_log_softmax_row_back(const oxi_rows_back *r, const float *g, const float *y, float *out) {
    r->own->log_softmax(r->n, g, y, (float)r->k->row_sum(r->n, g, false), out, r->streams);
}

/* Rows [first, end) of softmax, which go past the caches: g . y of each is added up while the one before it
 * is written. */
static void oxi_softmax_rows(const oxi_rows_back *r, int64_t first, int64_t end) {
    const float *g = r->in[0] + first * r->n, *y = r->in[1] + first * r->n;
    float *out = (float *)(void *)oxi_ptr(r->call->out[0]) + first * r->n;
    float along = r->k->dot_f32(r->n, g, y);
    for (; first + 1 < end; first++, g += r->n, y += r->n, out += r->n)
        along = r->own->softmax_next(r->n, g, y, along, out, g + r->n, y + r->n);
    r->own->softmax(r->n, g, y, along, out, true);
}

/* ---- tasks: rows one behind the other ------------------------------------------------------------------ */

static void oxi_rows_back_task(void *arg, int64_t index, int lane) {
    const oxi_rows_back *r = (const oxi_rows_back *)arg;
    const ox_tensor *out = r->call->out[0];
    int64_t n = r->n, each = r->each, end = oxi_min_i64((index + 1) * each, r->rows);
    float *room = r->scratch + lane * r->lane_numbers;
    if (r->row == oxi_softmax_row_back && r->streams && r->in[0] && r->in[1] && index * each < end) {
        oxi_softmax_rows(r, index * each, end);
        return;
    }
    float *sums = r->sums ? r->sums + index * 2 * r->step : NULL;
    for (int k = 0; sums && k < 2; k++) /* by who adds to them: they are at hand */
        memset(sums + k * r->step, 0, (size_t)n * sizeof *sums);
    if (!r->row && index * each < end) r->own->norm_rows(r, index * each, end, room, sums);
    for (int64_t i = index * each; r->row && i < end; i++) {
        char *to = oxi_ptr(out) + oxi_signed_bytes(out->dtype, i * n);
        float *result = r->narrow ? room + 4 * n : (float *)(void *)to;
        r->row(r, oxi_back_read(r, 0, i, room), oxi_back_read(r, 1, i, room + n), result);
        if (r->narrow) r->k->store[out->dtype][OXI_LANE_F32](n, result, to, 1);
    }
}

/* What the tasks added up for weight and bias. */
static void oxi_rows_back_join(const oxi_rows_back *r) {
    for (int k = 1; k < r->call->out_count; k++) {
        float *sum = r->sums + (k - 1) * r->step;
        ox_tensor *out = r->call->out[k];
        if (r->goes_on) /* parts have results of f32 */
            r->k->axpy_f32(r->n, 1, (const float *)(const void *)oxi_ptr(out), sum);
        r->k->column_sums(r->n, r->tasks, sum, 2 * r->step, sum);
        r->k->store[out->dtype][OXI_LANE_F32](r->n, sum, oxi_ptr(out), 1);
    }
}

static void oxi_rows_back_shape(oxi_rows_back *r, const oxi_call *call, const oxi_part *part) {
    const ox_tensor *x = call->in[1];
    memset(r, 0, sizeof *r);
    if (call->op == OXI_OP_softmax_back) r->row = oxi_softmax_row_back;
    if (call->op == OXI_OP_log_softmax_back) r->row = oxi_log_softmax_row_back;
    bool norm = call->op == OXI_OP_layer_norm_back || call->op == OXI_OP_rms_norm_back;
    int last = norm ? (int)call->attr.norm.last_dims : 1;
    r->eps = norm ? call->attr.norm.eps : 0;
    r->call = call;
    r->k = oxi_cpu_kernels();
    r->own = oxi_back_kernels_in_use();
    r->n = 1;
    for (int d = x->ndim - last; d < x->ndim; d++) r->n *= x->shape[d];
    r->rows = ox_numel(x) / r->n;
    r->share = 1 / (double)r->n;
    for (int k = 0; k < 2; k++)
        if (call->in[k]->dtype == OX_F32) r->in[k] = (const float *)(const void *)oxi_ptr(call->in[k]);
    r->each = part && part->rows > 0 ? part->rows : oxi_back_task_rows(r->rows, r->n);
    r->tasks = oxi_parts(r->rows, r->each);
    r->goes_on = part && part->rows > 0 && part->first > 0;
    r->narrow = call->out[0]->dtype != OX_F32;
    r->streams = oxi_streams(call->out[0]) && !r->narrow && (r->row || r->n >= 2 * OXI_LINE);
    r->step = r->n;
    if (r->n >= OXI_PAGE_FLOATS / 4) r->step = oxi_round_up(r->n, OXI_PAGE_FLOATS) + OXI_PAGE_FLOATS / 2;
    r->lane_numbers = oxi_round_up(5 * r->n, OXI_LINE);
}

/* Operands and results are contiguous, of floats other than f64, and not empty; rows are not longer than
 * OXI_BACK_ROW_MOST. */
static ox_status oxi_rows_back_run(const oxi_call *call, const oxi_part *part) {
    oxi_rows_back r;
    oxi_rows_back_shape(&r, call, part);
    const ox_tensor *weight = call->in_count > 2 ? call->in[2] : NULL;
    const size_t quarter = OXI_PAGE_FLOATS / 4;
    size_t sums = call->out_count > 1 ? (size_t)(r.tasks * 2 * r.step) : 0, own = weight ? (size_t)r.n : 0;
    size_t lanes = (size_t)(oxi_lanes(r.tasks) * r.lane_numbers);
    size_t bytes = (lanes + sums + own + 2 * quarter + OXI_PAGE_FLOATS) * sizeof(float);
    float *memory = (float *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    r.scratch = memory;
    /* Most operands begin a page; sums of weight, weight and sums of bias lie apart in it (oxi_norm_lag). */
    float *rest = memory + lanes;
    rest += (0 - (uintptr_t)rest) / sizeof *rest % OXI_PAGE_FLOATS + quarter;
    if (sums) r.sums = rest;
    if (weight) {
        r.k->load[weight->dtype][OXI_LANE_F32](r.n, oxi_ptr(weight), 1, rest + sums + quarter);
        r.weight = rest + sums + quarter;
    }
    oxi_parallel_for(r.tasks, oxi_rows_back_task, &r);
    if (sums) oxi_rows_back_join(&r);
    oxi_free(memory, bytes);
    return OX_OK;
}
