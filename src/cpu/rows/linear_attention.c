/* Linear attention with decays: a task is some columns of a head's memory, which stay in the first cache
 * while the positions go by; each column is computed by itself. Called by the CPU device for RECURRENCE. */

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
    char *scratch; /* of each lane: q k decay erase write [keys], v out [columns], memory [keys][columns],
                    * decays likewise */
    size_t lane_bytes, number;
} oxi_memory_job;

/* `n` numbers of t along its last dim, from element `offset` on, as the lane's; of a size of 1 all alike. */
static void oxi_memory_load(const oxi_memory_job *job, const ox_tensor *t, int64_t offset, int64_t n,
                            char *to) {
    const int last = t->ndim - 1;
    const char *from = oxi_ptr(t) + oxi_signed_bytes(t->dtype, offset);
    job->kernels->load[t->dtype][job->lane](n, from, t->shape[last] == 1 ? 0 : t->stride[last], to);
}

static char *oxi_memory_at(const ox_tensor *t, int64_t head, int64_t row, int64_t column) {
    return oxi_ptr(t) +
           oxi_signed_bytes(t->dtype, head * t->stride[0] + row * t->stride[1] + column * t->stride[2]);
}

/* kernels->linear_attention in f64. */
static void oxi_memory_step_f64(const oxi_recurrence *r) {
    const double *q = (const double *)(const void *)r->q, *k = (const double *)(const void *)r->k,
                 *v = (const double *)(const void *)r->v, *from = (const double *)(const void *)r->from,
                 *erase = (const double *)(const void *)r->erase,
                 *write = (const double *)(const void *)r->write,
                 *decay = (const double *)(const void *)r->decay;
    double *out = (double *)(void *)r->out, *to = (double *)(void *)r->to;
    for (int64_t c = 0; c < r->columns; c++) {
        double z = 0, y = 0;
        for (int64_t i = 0; erase && i < r->keys; i++) z += erase[i] * from[i * r->from_step + c];
        for (int64_t i = 0; i < r->keys; i++) {
            double left = r->wide ? exp(decay[i * r->decay_step + c]) : decay[i];
            double m = from[i * r->from_step + c] * left + k[i] * v[c];
            if (erase) m += write[i] * z;
            to[i * r->to_step + c] = m;
            y += q[i] * m;
        }
        out[c] = y;
    }
}

/* What position t of a head has, into the places that r tells. */
static void oxi_memory_position(const oxi_memory_job *job, oxi_recurrence *r, int64_t head, int64_t t,
                                int64_t column) {
    static const int operand[] = {0, 1, 5, 6};
    const float *rows[] = {r->q, r->k, r->erase, r->write};
    const ox_tensor *v = job->call->in[2], *decay = job->call->in[3];
    for (int i = 0; i < 4; i++) {
        const ox_tensor *one = job->call->in[operand[i]];
        if (one)
            oxi_memory_load(job, one, head * one->stride[0] + t * one->stride[1], job->keys, (char *)rows[i]);
    }
    oxi_memory_load(job, v, head * v->stride[0] + t * v->stride[1] + column * v->stride[2], r->columns,
                    (char *)r->v);
    int64_t at = head * decay->stride[0] + t * decay->stride[1];
    const void *rows_of_decay = r->decay;
    if (!r->wide) {
        oxi_memory_load(job, decay, at, job->keys, (char *)r->decay);
        job->kernels->map[OXI_OP_exp][job->lane](job->keys, &rows_of_decay, (char *)r->decay,
                                                 &oxi_plain_numbers);
    } else if (job->decays_lie) {
        r->decay = (const float *)(const void *)oxi_ptr(decay) + at + column;
        r->decay_step = decay->stride[2];
    } else {
        for (int64_t i = 0; i < job->keys; i++)
            oxi_memory_load(job, decay, at + i * decay->stride[2] + column * decay->stride[3], r->columns,
                            (char *)r->decay + (size_t)(i * r->decay_step) * job->number);
    }
}

/* Rows of the memory between where they lie and `scratch`. */
static void oxi_memory_move(const oxi_memory_job *job, int64_t head, int64_t column, int64_t columns,
                            char *scratch, bool back) {
    const ox_tensor *state = job->call->in[4], *out = job->call->out[0];
    for (int64_t i = 0; i < job->keys; i++, scratch += (size_t)job->columns * job->number) {
        if (!back) {
            const int64_t at = head * state->stride[0] + i * state->stride[1] + column * state->stride[2];
            oxi_memory_load(job, state, at, columns, scratch);
            continue;
        }
        job->kernels->store[out->dtype][job->lane](
            columns, scratch, oxi_memory_at(out, head, job->length + i, column), out->stride[2]);
    }
}

static void oxi_memory_task(void *arg, int64_t index, int lane) {
    const oxi_memory_job *job = (const oxi_memory_job *)arg;
    const ox_tensor *state = job->call->in[4], *out = job->call->out[0];
    const int64_t head = index / job->tiles, column = index % job->tiles * job->columns;
    char *at = job->scratch + (size_t)lane * job->lane_bytes;
    const size_t row = (size_t)job->keys * job->number, line = (size_t)job->columns * job->number;
    oxi_recurrence r;
    memset(&r, 0, sizeof r);
    r.keys = job->keys;
    r.columns = oxi_min_i64(job->values - column, job->columns);
    r.q = (float *)(void *)at;
    r.k = (float *)(void *)(at += row);
    r.decay = (float *)(void *)(at += row);
    r.erase = job->call->in[5] ? (float *)(void *)(at + row) : NULL;
    r.write = (float *)(void *)(at += 2 * row);
    r.v = (float *)(void *)(at += row);
    r.out = (float *)(void *)(at += line);
    char *memory = at + line, *decays = memory + (job->direct ? 0 : (size_t)job->keys * line);
    r.wide = job->wide;
    if (job->wide) r.decay = (float *)(void *)decays;
    r.decay_step = r.columns;
    r.from = r.to = (float *)(void *)memory;
    r.from_step = r.to_step = job->columns;
    if (job->direct) {
        r.from = (float *)(void *)oxi_memory_at(state, head, 0, column);
        r.to = (float *)(void *)oxi_memory_at(out, head, job->length, column);
        r.from_step = state->stride[1];
        r.to_step = out->stride[1];
    } else {
        oxi_memory_move(job, head, column, r.columns, memory, false);
    }
    for (int64_t t = 0; t < job->length; t++) {
        oxi_memory_position(job, &r, head, t, column);
        if (job->lane == OXI_LANE_F64)
            oxi_memory_step_f64(&r);
        else
            job->kernels->linear_attention(&r);
        job->kernels->store[out->dtype][job->lane](r.columns, r.out, oxi_memory_at(out, head, t, column),
                                                   out->stride[2]);
        r.from = r.to;
        r.from_step = r.to_step;
    }
    if (!job->direct) oxi_memory_move(job, head, column, r.columns, memory, true);
}

static ox_status oxi_cpu_recurrence(const oxi_call *call) {
    const ox_tensor *q = call->in[0], *state = call->in[4], *out = call->out[0];
    oxi_memory_job job;
    size_t bytes = 0, tile = 0;
    memset(&job, 0, sizeof job);
    if (ox_numel(out) == 0) return OX_OK;
    job.call = call;
    job.kernels = oxi_cpu_kernels();
    job.lane = state->dtype == OX_F64 ? OXI_LANE_F64 : OXI_LANE_F32;
    job.number = (size_t)oxi_lane_bytes(job.lane);
    job.length = q->shape[1];
    job.keys = state->shape[1];
    job.values = state->shape[2];
    job.columns = OXI_MEMORY_COLUMNS * oxi_min_i64(oxi_max_i64(OXI_MEMORY_TASK / 64 / (job.keys + 1), 1), 8);
    job.tiles = oxi_parts(job.values, job.columns);
    job.wide = call->in[3]->ndim == 4;
    job.direct = (state->dtype == OX_F32 || state->dtype == OX_F64) && state->stride[2] == 1 &&
                 out->stride[2] == 1 && job.length > 0;
    const ox_tensor *decay = call->in[3];
    job.decays_lie = job.wide && job.lane == OXI_LANE_F32 && decay->dtype == OX_F32 &&
                     decay->stride[3] == 1 && decay->shape[3] == job.values;
    const int64_t count = q->shape[0] * job.tiles, lanes = oxi_lanes(count);
    const size_t columns = (size_t)job.columns;
    const bool fits = oxi_mul_size((size_t)job.keys, (columns * 2 + 5) * job.number, &tile) &&
                      oxi_add_size(tile, 2 * columns * job.number + 63, &tile) &&
                      oxi_mul_size(tile / 64 * 64, (size_t)lanes, &bytes);
    if (!fits) return oxi_fail(OX_ERR_NOMEM, "linear_attention: too large for this machine");
    job.lane_bytes = tile / 64 * 64;
    job.scratch = (char *)oxi_alloc(bytes);
    if (!job.scratch) return OX_ERR_NOMEM;
    if ((double)ox_numel(state) * (double)job.length >= OXI_MEMORY_ALONE)
        oxi_parallel_for(count, oxi_memory_task, &job);
    else
        for (int64_t i = 0; i < count; i++) oxi_memory_task(&job, i, 0);
    oxi_free(job.scratch, bytes);
    return OX_OK;
}
