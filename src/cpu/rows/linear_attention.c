/* Linear attention with decays, and selective scans, whose decays are rates times a step: a task is some
 * columns of a head's memory, which stay in the first cache while the positions go by; each column is
 * computed by itself. Called by the CPU device for RECURRENCE. */

enum {
    OXI_MEMORY_COLUMNS = 64,   /* of a task, where rows are many */
    OXI_MEMORY_TASK = 4096,    /* numbers of a task otherwise */
    OXI_MEMORY_ALONE = 1 << 14 /* numbers that the caller does alone */
};

typedef struct oxi_memory_job {
    const oxi_call *call;
    const oxi_kernels *kernels;
    oxi_lane lane;
    int64_t length, keys, values, columns, tiles; /* columns of a task */
    bool wide, decays_lie;                        /* decays are of each number; are read where they lie */
    bool direct;                                  /* the memory is read and written where it lies */
    bool scan, alike;                             /* of a selective scan; whose step is that of all columns */
    bool hold, ahead;   /* the last position writes nothing; its query takes part in the pass before it */
    int64_t rows;       /* of the result in front of the memory */
    char *steps, *left; /* of alike steps: [heads][length], and of heads with one rate what they leave */
    char *scratch; /* of each lane: oxi_memory_place, twice if one is ahead, memory [keys][columns], decays
                    * likewise */
    size_t lane_bytes, number;
} oxi_memory_job;

/* `n` numbers of t along its last dim, from element `offset` on, as the lane's; of a size of 1 all alike. */
static void oxi_memory_load(const oxi_memory_job *job, const ox_tensor *t, int64_t offset, int64_t n,
                            const void *to) {
    const int last = t->ndim - 1;
    const char *from = oxi_ptr(t) + oxi_signed_bytes(t->dtype, offset);
    job->kernels->load[t->dtype][job->lane](n, from, t->shape[last] == 1 ? 0 : t->stride[last], (char *)to);
}

/* The same of operand `i`, [heads, rows, columns]: of a row, from `column` on. */
static void oxi_memory_line(const oxi_memory_job *job, int i, int64_t head, int64_t row, int64_t column,
                            int64_t n, const void *to) {
    const ox_tensor *t = job->call->in[i];
    const int64_t at = t->shape[2] == 1 ? 0 : column * t->stride[2];
    oxi_memory_load(job, t, head * t->stride[0] + row * t->stride[1] + at, n, to);
}

static char *oxi_memory_at(const ox_tensor *t, int64_t head, int64_t row, int64_t column) {
    return oxi_ptr(t) +
           oxi_signed_bytes(t->dtype, head * t->stride[0] + row * t->stride[1] + column * t->stride[2]);
}

static void oxi_memory_map(const oxi_memory_job *job, oxi_op op, int64_t n, const void *a, const void *b,
                           const void *c, const void *to) {
    static const oxi_map_numbers softplus = {{1, 20, 0}, 0};
    const void *in[3];
    in[0] = a;
    in[1] = b;
    in[2] = c;
    job->kernels->map[op][job->lane](n, in, (char *)to,
                                     op == OXI_OP_softplus ? &softplus : &oxi_plain_numbers);
}

/* row = number i of a list, n times */
static void oxi_memory_spread(const oxi_memory_job *job, int64_t n, const char *list, int64_t i,
                              const float *row) {
    const ox_dtype dtype = job->lane == OXI_LANE_F64 ? OX_F64 : OX_F32;
    job->kernels->load[dtype][job->lane](n, list + (size_t)i * job->number, 0, (char *)(size_t)row);
}

/* kernels->linear_attention in f64. */
static void oxi_memory_step_f64(const oxi_recurrence *r) {
    const double *q = (const double *)(const void *)r->q, *k = (const double *)(const void *)r->k,
                 *v = (const double *)(const void *)r->v, *from = (const double *)(const void *)r->from,
                 *erase = (const double *)(const void *)r->erase,
                 *write = (const double *)(const void *)r->write,
                 *decay = (const double *)(const void *)r->decay,
                 *step = (const double *)(const void *)r->step;
    double *out = (double *)(void *)r->out, *to = (double *)(void *)r->to;
    for (int64_t c = 0; c < r->columns; c++) {
        double z = 0, y = 0;
        for (int64_t i = 0; erase && i < r->keys; i++) z += erase[i] * from[i * r->from_step + c];
        for (int64_t i = 0; i < r->keys; i++) {
            double left = decay[r->wide ? i * r->decay_step + c : i];
            if (r->wide) left = exp(step ? left * step[c] : left);
            double m = from[i * r->from_step + c] * left + k[i] * v[c];
            if (erase) m += write[i] * z;
            to[i * r->to_step + c] = m;
            y += q[i] * m;
        }
        out[c] = y;
    }
}

/* ---- a position ---------------------------------------------------------------------------------------- */

/* Decays of each number, where they lie or into their place: t from element `at` on. */
static void oxi_memory_decays(const oxi_memory_job *job, oxi_recurrence *r, const ox_tensor *t, int64_t at,
                              int64_t column) {
    const int d = t->ndim - 2;
    const int64_t row = t->shape[d] == 1 ? 0 : t->stride[d];
    if (t->shape[d + 1] > 1) at += column * t->stride[d + 1];
    if (job->decays_lie) {
        r->decay = (const float *)(const void *)oxi_ptr(t) + at;
        r->decay_step = row;
        return;
    }
    for (int64_t i = 0; i < job->keys; i++)
        oxi_memory_load(job, t, at + i * row, r->columns,
                        (const char *)r->decay + (size_t)(i * r->decay_step) * job->number);
}

/* steps = step + bias, or its softplus; stage: n numbers of room */
static void oxi_scan_steps(const oxi_memory_job *job, int64_t head, int64_t t, int64_t column, int64_t n,
                           const void *steps, const void *stage) {
    if (!job->alike) oxi_memory_line(job, 3, head, t, column, n, steps);
    if (job->call->in[8] && !job->alike) {
        oxi_memory_line(job, 8, head, 0, column, n, stage);
        oxi_memory_map(job, OXI_OP_add, n, steps, stage, NULL, steps);
    }
    if (job->call->attr.scan.softplus) oxi_memory_map(job, OXI_OP_softplus, n, steps, NULL, NULL, steps);
}

/* Steps that are those of all columns, and what they leave. */
static void oxi_scan_prepare(const oxi_memory_job *job) {
    ox_tensor *const *in = job->call->in;
    const int64_t heads = in[0]->shape[0], n = heads * job->length;
    ox_tensor step = oxi_borrowed(in[3]);
    step.shape[2] = job->length;
    step.stride[2] = step.stride[1];
    for (int64_t h = 0; h < heads; h++) {
        const size_t at = (size_t)(h * job->length) * job->number;
        oxi_memory_load(job, &step, h * step.stride[0], job->length, job->steps + at);
        if (in[8]) oxi_memory_line(job, 8, h, 0, 0, job->length, job->left + at);
    }
    if (in[8]) oxi_memory_map(job, OXI_OP_add, n, job->steps, job->left, NULL, job->steps);
    oxi_scan_steps(job, 0, 0, 0, n, job->steps, NULL);
    if (job->wide || ox_numel(in[5]) == 0) return; /* of no keys or values: no rates either */
    for (int64_t h = 0; h < heads; h++)
        oxi_memory_line(job, 5, h, 0, 0, job->length, job->left + (size_t)(h * job->length) * job->number);
    oxi_memory_map(job, OXI_OP_mul, n, job->left, job->steps, NULL, job->left);
    oxi_memory_map(job, OXI_OP_exp, n, job->left, NULL, NULL, job->left);
}

/* The step of a scan's position, what it writes, and, unless rates are of each number, what it leaves. */
static void oxi_scan_position(const oxi_memory_job *job, const oxi_recurrence *r, int64_t head, int64_t t,
                              int64_t column) {
    if (job->alike)
        oxi_memory_spread(job, r->columns, job->steps, head * job->length + t, r->step);
    else
        oxi_scan_steps(job, head, t, column, r->columns, r->step, r->out);
    oxi_memory_map(job, OXI_OP_mul, r->columns, r->v, r->step, NULL, r->v);
    if (!job->wide) oxi_memory_spread(job, job->keys, job->left, head * job->length + t, r->decay);
}

/* What position t of a head has, into the places that r tells. */
static void oxi_memory_position(const oxi_memory_job *job, oxi_recurrence *r, int64_t head, int64_t t,
                                int64_t column) {
    const ox_tensor *decay = job->call->in[3];
    oxi_memory_line(job, 0, head, t, 0, job->keys, r->q);
    oxi_memory_line(job, 1, head, t, 0, job->keys, r->k);
    oxi_memory_line(job, 2, head, t, column, r->columns, r->v);
    if (r->erase) {
        oxi_memory_line(job, 5, head, t, 0, job->keys, r->erase);
        oxi_memory_line(job, 6, head, t, 0, job->keys, r->write);
    }
    if (job->scan) {
        oxi_scan_position(job, r, head, t, column);
    } else if (job->wide) {
        oxi_memory_decays(job, r, decay, head * decay->stride[0] + t * decay->stride[1], column);
    } else {
        oxi_memory_line(job, 3, head, t, 0, job->keys, r->decay);
        oxi_memory_map(job, OXI_OP_exp, job->keys, r->decay, NULL, NULL, r->decay);
    }
}

static void oxi_memory_run(const oxi_memory_job *job, const oxi_recurrence *r) {
    if (job->lane == OXI_LANE_F64)
        oxi_memory_step_f64(r);
    else
        job->kernels->linear_attention(r);
}

/* The same with the position behind it, which writes nothing: out = q (e^decay M) + (q k) v. */
static void oxi_memory_run_two(const oxi_memory_job *job, oxi_recurrence *r, oxi_recurrence *next,
                               int64_t head, int64_t t, int64_t column) {
    oxi_memory_position(job, next, head, t + 1, column);
    const float own = job->kernels->dot_f32(job->keys, next->q, next->k);
    oxi_memory_map(job, OXI_OP_mul, job->keys, next->q, next->decay, NULL, next->q);
    r->ahead = next->q;
    r->out_ahead = next->out;
    oxi_memory_run(job, r);
    r->ahead = NULL;
    job->kernels->axpy_f32(r->columns, own, next->v, next->out);
}

/* out += skip u, times silu(gate), and to the result. */
static void oxi_memory_finish(const oxi_memory_job *job, const oxi_recurrence *r, int64_t head, int64_t t,
                              int64_t column) {
    const ox_tensor *out = job->call->out[0];
    const int64_t row = t - (job->length - job->rows);
    if (row < 0) return;
    if (job->scan && job->call->in[6]) {
        oxi_memory_line(job, 2, head, t, column, r->columns, r->v);
        oxi_memory_line(job, 6, head, 0, column, r->columns, r->step);
        oxi_memory_map(job, OXI_OP_addcmul, r->columns, r->out, r->v, r->step, r->out);
    }
    if (job->scan && job->call->in[7]) {
        oxi_memory_line(job, 7, head, t, column, r->columns, r->step);
        oxi_memory_map(job, OXI_OP_silu_mul, r->columns, r->step, r->out, NULL, r->out);
    }
    job->kernels->store[out->dtype][job->lane](r->columns, r->out, oxi_memory_at(out, head, row, column),
                                               out->stride[2]);
}

/* ---- a task -------------------------------------------------------------------------------------------- */

/* Rows of the memory between where they lie and `scratch`. */
static void oxi_memory_move(const oxi_memory_job *job, int64_t head, int64_t column, int64_t columns,
                            char *scratch, bool back) {
    const ox_tensor *out = job->call->out[0];
    for (int64_t i = 0; i < job->keys; i++, scratch += (size_t)job->columns * job->number) {
        if (back)
            job->kernels->store[out->dtype][job->lane](
                columns, scratch, oxi_memory_at(out, head, job->rows + i, column), out->stride[2]);
        else
            oxi_memory_line(job, 4, head, i, column, columns, scratch);
    }
}

/* r with places for what a position has; gives what lies behind: rows [keys] and lines [columns]. */
static char *oxi_memory_place(const oxi_memory_job *job, int64_t column, oxi_recurrence *r, char *at) {
    const size_t row = (size_t)job->keys * job->number, line = (size_t)job->columns * job->number;
    memset(r, 0, sizeof *r);
    r->keys = job->keys;
    r->columns = oxi_min_i64(job->values - column, job->columns);
    r->wide = job->wide;
    r->q = (float *)(void *)at;
    r->k = (float *)(void *)(at += row);
    r->decay = (float *)(void *)(at += row);
    if (!job->scan && job->call->in[5]) r->erase = (float *)(void *)(at + row);
    r->write = (float *)(void *)(at += 2 * row);
    r->v = (float *)(void *)(at += row);
    r->out = (float *)(void *)(at += line);
    if (job->scan) r->step = (float *)(void *)(at + line);
    return at + 2 * line;
}

static void oxi_memory_task(void *arg, int64_t index, int lane) {
    const oxi_memory_job *job = (const oxi_memory_job *)arg;
    const ox_tensor *state = job->call->in[4], *out = job->call->out[0], *rate = job->call->in[5];
    const int64_t head = index / job->tiles, column = index % job->tiles * job->columns;
    const size_t line = (size_t)job->columns * job->number;
    oxi_recurrence r, next;
    char *memory = oxi_memory_place(job, column, &r, job->scratch + (size_t)lane * job->lane_bytes);
    if (job->ahead) memory = oxi_memory_place(job, column, &next, memory);
    if (job->wide) r.decay = (float *)(void *)(memory + (job->direct ? 0 : (size_t)job->keys * line));
    r.decay_step = r.columns;
    if (job->wide && job->scan) oxi_memory_decays(job, &r, rate, head * rate->stride[0], column);
    r.from = r.to = (float *)(void *)memory;
    r.from_step = r.to_step = job->columns;
    if (job->direct) {
        r.from = (float *)(void *)oxi_memory_at(state, head, 0, column);
        r.to = (float *)(void *)oxi_memory_at(out, head, job->rows, column);
        r.from_step = state->stride[1];
        r.to_step = out->stride[1];
    } else {
        oxi_memory_move(job, head, column, r.columns, memory, false);
    }
    for (int64_t t = 0; t < job->length; t++) {
        const bool last = t + 1 == job->length;
        if (last && job->hold && !job->direct) oxi_memory_move(job, head, column, r.columns, memory, true);
        if (!last || !job->ahead) oxi_memory_position(job, &r, head, t, column);
        if (job->ahead && t + 2 == job->length)
            oxi_memory_run_two(job, &r, &next, head, t, column);
        else if (!last || !job->ahead)
            oxi_memory_run(job, &r);
        oxi_memory_finish(job, last && job->ahead ? &next : &r, head, t, column);
        r.from = r.to;
        r.from_step = r.to_step;
    }
    if (!job->direct && (!job->hold || job->length == 0))
        oxi_memory_move(job, head, column, r.columns, memory, true);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

static void oxi_memory_plan(oxi_memory_job *job, const oxi_call *call) {
    const ox_tensor *state = call->in[4], *out = call->out[0];
    memset(job, 0, sizeof *job);
    job->call = call;
    job->kernels = oxi_cpu_kernels();
    job->lane = state->dtype == OX_F64 ? OXI_LANE_F64 : OXI_LANE_F32;
    job->number = (size_t)oxi_lane_bytes(job->lane);
    job->length = call->in[0]->shape[1];
    job->keys = state->shape[1];
    job->values = state->shape[2];
    job->columns =
        OXI_MEMORY_COLUMNS * oxi_min_i64(oxi_max_i64(OXI_MEMORY_TASK / 64 / (job->keys + 1), 1), 8);
    job->tiles = oxi_parts(job->values, job->columns);
    job->scan = call->op == OXI_OP_selective_scan;
    const ox_tensor *decay = call->in[job->scan ? 5 : 3];
    const int d = decay->ndim - 2;
    if (job->scan) {
        job->alike = call->in[3]->shape[2] == 1 && (!call->in[8] || call->in[8]->shape[2] == 1);
        job->hold = call->attr.scan.hold;
    }
    job->wide = job->scan ? !job->alike || decay->shape[1] > 1 || decay->shape[2] > 1 : decay->ndim == 4;
    job->decays_lie = job->wide && job->lane == OXI_LANE_F32 && decay->dtype == OX_F32 &&
                      decay->stride[d + 1] == 1 && decay->shape[d + 1] == job->values;
    job->ahead = job->hold && !job->wide && job->lane == OXI_LANE_F32 && job->length > 1;
    job->rows = out->shape[1] - job->keys;
    job->direct = (state->dtype == OX_F32 || state->dtype == OX_F64) && state->stride[2] == 1 &&
                  out->stride[2] == 1 && job->length > 0 && (!job->hold || job->ahead);
}

static ox_status oxi_cpu_recurrence(const oxi_call *call) {
    oxi_memory_job job;
    size_t bytes = 0, tile = 0, list = 0;
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    oxi_memory_plan(&job, call);
    const int64_t heads = call->in[0]->shape[0], count = heads * job.tiles, lanes = oxi_lanes(count);
    const size_t columns = (size_t)job.columns, places = job.ahead ? 2 : 1;
    bool fits = oxi_mul_size((size_t)job.keys, (columns * 2 + 5 * places) * job.number, &tile) &&
                oxi_add_size(tile, 3 * places * columns * job.number + 63, &tile) &&
                oxi_mul_size(tile / 64 * 64, (size_t)lanes, &bytes);
    if (job.alike)
        fits = fits && oxi_mul_size((size_t)heads, (size_t)job.length * job.number, &list) &&
               oxi_add_size(bytes, 2 * list, &bytes);
    if (!fits) return oxi_fail(OX_ERR_NOMEM, "%s: too large for this machine", oxi_op_name(call));
    job.lane_bytes = tile / 64 * 64;
    job.scratch = (char *)oxi_alloc(bytes);
    if (!job.scratch) return OX_ERR_NOMEM;
    job.steps = job.scratch + (size_t)lanes * job.lane_bytes;
    job.left = job.steps + list;
    if (job.alike) oxi_scan_prepare(&job);
    if ((double)ox_numel(call->in[4]) * (double)job.length >= OXI_MEMORY_ALONE)
        oxi_parallel_for(count, oxi_memory_task, &job);
    else
        for (int64_t i = 0; i < count; i++) oxi_memory_task(&job, i, 0);
    oxi_free(job.scratch, bytes);
    return OX_OK;
}
