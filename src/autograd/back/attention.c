/* What comes back through attention: a tile of a head's queries against all keys that it sees, in two buffers
 * of scores, so memory grows with the keys and not with their square. Weights are computed anew, row by row.
 * What goes to keys and values is added up by each task on its own: the heads that share them, in order, and
 * then the tasks, in order. Called by back.c. (Dao et al. 2022, "FlashAttention", algorithm 4) */

enum { OXI_ATTENTION_BACK_UNITS = 8, OXI_ATTENTION_BACK_SCORES = 1 << 15 };

typedef struct oxi_attention_back_job {
    oxi_attention a; /* of the way there; a.out has the result's gradient */
    oxi_attention_side dq, dk, dv;
    int64_t tile, blocks;  /* queries of a tile; tasks of a unit, which take its tiles in turn */
    float *sums, *scratch; /* sums: blocks > 1: [unit][block][keys][depth + value_depth] */
    int64_t unit_numbers, lane_numbers;
    int64_t failed; /* atomic */
} oxi_attention_back_job;

/* A matrix in memory; strides in elements. */
typedef struct oxi_back_matrix {
    const void *at;
    ox_dtype dtype;
    int64_t row, column;
} oxi_back_matrix;

static oxi_back_matrix oxi_back_numbers(const float *at, int64_t row, int64_t column) {
    oxi_back_matrix m = {at, OX_F32, row, column};
    return m;
}

/* Row `row` of a side's head on, transposed if asked for. */
static oxi_back_matrix oxi_back_rows(const oxi_attention_side *side, const char *head, int64_t row,
                                     bool transposed) {
    oxi_back_matrix m = {oxi_attention_move(side, head, row * side->row), side->t->dtype, side->row,
                         side->column};
    if (!transposed) return m;
    m.row = side->column;
    m.column = side->row;
    return m;
}

/* c = or += alpha a b, c [m,n]. */
static void oxi_back_product(oxi_attention_back_job *job, int64_t m, int64_t n, int64_t k, oxi_back_matrix a,
                             oxi_back_matrix b, oxi_back_matrix c, double alpha, bool adds) {
    oxi_gemm g;
    memset(&g, 0, sizeof g);
    g.m = m;
    g.n = n;
    g.k = k;
    g.a = a.at;
    g.a_row = a.row;
    g.a_col = a.column;
    g.a_dtype = a.dtype;
    g.b = b.at;
    g.b_row = b.row;
    g.b_col = b.column;
    g.b_dtype = b.dtype;
    g.c = (void *)(uintptr_t)c.at;
    g.c_row = c.row;
    g.c_col = c.column;
    g.c_dtype = c.dtype;
    g.alpha = alpha;
    g.rough = job->a.q.t->dtype == OX_BF16;
    if (adds) {
        g.addend = c.at;
        g.addend_dtype = c.dtype;
        g.addend_row = c.row;
        g.addend_col = c.column;
        g.beta = 1;
    }
    g.way = oxi_gemm_choose_way(&g);
    if (oxi_gemm_run(&g) != OX_OK) oxi_atomic_store(&job->failed, 1);
}

/* Scores of a row as weights; 0 where it sees nothing. */
static void oxi_attention_back_softmax(const oxi_attention *a, int64_t head, int64_t n, float *row) {
    float most = a->kernels->row_max(n, row);
    if (most == -INFINITY) {
        memset(row, 0, (size_t)n * sizeof *row);
        return;
    }
    double sum = a->kernels->row_exp_sum(n, row, most, row);
    if (a->sinks) sum += exp((double)a->sinks[head * a->sink_step] - (double)most);
    a->kernels->row_scale(n, row, (float)(1 / sum), row);
}

/* A unit's task. */
typedef struct oxi_attention_back_task {
    int64_t batch, kv_head;
    float *dk, *dv, *scores, *back; /* dk [keys][depth], dv [keys][value_depth]; [tile][keys] */
    const char *k, *v, *mask;
} oxi_attention_back_task;

/* Queries [s, s + n) of head `h` of the group, and keys [first, first + keys). */
static void oxi_attention_back_tile(oxi_attention_back_job *job, const oxi_attention_back_task *t, int64_t h,
                                    int64_t s, int64_t n, int64_t first, int64_t keys) {
    const oxi_attention *a = &job->a;
    int64_t head = t->kv_head * a->group + h, depth = a->depth, wide = a->value_depth;
    const char *at = oxi_attention_at(a, &a->q, t->batch, head);
    oxi_back_matrix q = oxi_back_rows(&a->q, at, s, false);
    at = oxi_attention_at(a, &a->out, t->batch, head);
    oxi_back_matrix g = oxi_back_rows(&a->out, at, s, false);
    oxi_back_matrix scores = oxi_back_numbers(t->scores, keys, 1), back = oxi_back_numbers(t->back, keys, 1);
    oxi_back_matrix turned = oxi_back_numbers(t->scores, 1, keys);
    int64_t seen, end;
    oxi_back_product(job, n, keys, depth, q, oxi_back_rows(&a->k, t->k, first, true), scores, a->scale,
                     false);
    for (int64_t i = 0; i < n; i++) {
        oxi_attention_range(a, s + i, &seen, &end);
        if (a->mask.t || seen > first || end < first + keys)
            oxi_attention_mask_row(a, t->mask, h, s + i, first, keys, t->scores + i * keys, 1);
        oxi_attention_back_softmax(a, head, keys, t->scores + i * keys);
    }
    oxi_back_product(job, keys, wide, n, turned, g, oxi_back_numbers(t->dv + first * wide, wide, 1), 1, true);
    oxi_back_product(job, n, keys, wide, g, oxi_back_rows(&a->v, t->v, first, true), back, 1, false);
    for (int64_t i = 0; i < n; i++) {
        const float *weights = t->scores + i * keys;
        float *row = t->back + i * keys, along = a->kernels->dot_f32(keys, weights, row);
        a->kernels->row_affine(keys, row, along, a->scale, weights, NULL, row, NULL);
    }
    at = oxi_attention_at(a, &job->dq, t->batch, head);
    oxi_back_product(job, n, depth, keys, back, oxi_back_rows(&a->k, t->k, first, false),
                     oxi_back_rows(&job->dq, at, s, false), 1, false);
    turned.at = t->back;
    oxi_back_product(job, keys, depth, n, turned, q, oxi_back_numbers(t->dk + first * depth, depth, 1), 1,
                     true);
}

/* Queries that see no key. */
static void oxi_attention_back_blind(const oxi_attention_back_job *job, const oxi_attention_back_task *t,
                                     int64_t h, int64_t s, int64_t n) {
    const oxi_attention *a = &job->a;
    char *at = oxi_attention_at(a, &job->dq, t->batch, t->kv_head * a->group + h);
    memset(t->scores, 0, sizeof *t->scores);
    for (int64_t i = 0; i < n * a->depth; i++)
        a->kernels->store[job->dq.t->dtype][OXI_LANE_F32](
            1, t->scores,
            oxi_attention_move(&job->dq, at,
                               (s + i / a->depth) * job->dq.row + i % a->depth * job->dq.column),
            1);
}

/* Sums of keys [first, first + count) of a unit to the results. */
static void oxi_attention_back_store(const oxi_attention_back_job *job, int64_t unit, const float *sums,
                                     int64_t first, int64_t count) {
    const oxi_attention *a = &job->a;
    const float *dk = sums, *dv = sums + a->keys * a->depth;
    char *k = oxi_attention_at(a, &job->dk, unit / a->kv_heads, unit % a->kv_heads);
    char *v = oxi_attention_at(a, &job->dv, unit / a->kv_heads, unit % a->kv_heads);
    for (int64_t t = first; t < first + count; t++) {
        a->kernels->store[job->dk.t->dtype][OXI_LANE_F32](
            a->depth, dk + t * a->depth, oxi_attention_move(&job->dk, k, t * job->dk.row), job->dk.column);
        a->kernels->store[job->dv.t->dtype][OXI_LANE_F32](a->value_depth, dv + t * a->value_depth,
                                                          oxi_attention_move(&job->dv, v, t * job->dv.row),
                                                          job->dv.column);
    }
}

static void oxi_attention_back_run_task(void *arg, int64_t index, int lane) {
    oxi_attention_back_job *job = (oxi_attention_back_job *)arg;
    const oxi_attention *a = &job->a;
    int64_t unit = index / job->blocks, block = index % job->blocks;
    float *own = job->scratch + lane * job->lane_numbers;
    oxi_attention_back_task t;
    t.batch = unit / a->kv_heads;
    t.kv_head = unit % a->kv_heads;
    t.scores = own;
    t.back = own + job->tile * a->keys;
    t.dk = job->blocks > 1 ? job->sums + index * job->unit_numbers : t.back + job->tile * a->keys;
    t.dv = t.dk + a->keys * a->depth;
    t.k = oxi_attention_at(a, &a->k, t.batch, t.kv_head);
    t.v = oxi_attention_at(a, &a->v, t.batch, t.kv_head);
    t.mask = a->mask.t ? oxi_attention_at(a, &a->mask, t.batch, t.kv_head * a->group) : NULL;
    memset(t.dk, 0, (size_t)job->unit_numbers * sizeof *t.dk);
    for (int64_t h = 0; h < a->group; h++)
        for (int64_t s = block * job->tile; s < a->length; s += job->blocks * job->tile) {
            int64_t n = oxi_min_i64(job->tile, a->length - s), first, end, ignored;
            oxi_attention_range(a, s, &first, &ignored);
            oxi_attention_range(a, s + n - 1, &ignored, &end);
            if (first < end)
                oxi_attention_back_tile(job, &t, h, s, n, first, end - first);
            else
                oxi_attention_back_blind(job, &t, h, s, n);
        }
    if (job->blocks == 1) oxi_attention_back_store(job, unit, t.dk, 0, a->keys);
}

/* Task: what the tasks of a unit added up, for a part of its keys. */
static void oxi_attention_back_join(void *arg, int64_t index, int lane) {
    const oxi_attention_back_job *job = (const oxi_attention_back_job *)arg;
    const oxi_attention *a = &job->a;
    int64_t parts = OXI_ATTENTION_BACK_UNITS, each = oxi_parts(a->keys, parts), unit = index / parts;
    int64_t first = index % parts * each, count = oxi_min_i64(each, a->keys - first);
    float *sums = job->sums + unit * job->blocks * job->unit_numbers, *dv = sums + a->keys * a->depth;
    (void)lane;
    if (count <= 0) return;
    for (int64_t b = 1; b < job->blocks; b++) {
        int64_t from = b * job->unit_numbers;
        a->kernels->axpy_f32(count * a->depth, 1, sums + from + first * a->depth, sums + first * a->depth);
        a->kernels->axpy_f32(count * a->value_depth, 1, dv + from + first * a->value_depth,
                             dv + first * a->value_depth);
    }
    oxi_attention_back_store(job, unit, sums, first, count);
}

/* How it is cut, by shapes alone: tiles whose scores stay in the second cache, at least so many tasks. */
static void oxi_attention_back_shape(oxi_attention_back_job *job, const oxi_call *call) {
    ox_tensor *in[5] = {call->in[1], call->in[2], call->in[3], call->in[4], call->in[5]};
    oxi_call forth = *call;
    memset(job, 0, sizeof *job);
    forth.in = in;
    forth.in_count = 5;
    forth.out[0] = call->in[0];
    oxi_attention_shape(&job->a, &forth);
    oxi_attention *a = &job->a;
    a->call = call;
    oxi_attention_side_of(&job->dq, call->out[0], a->heads, a->length, a->depth);
    oxi_attention_side_of(&job->dk, call->out[1], a->kv_heads, a->keys, a->depth);
    oxi_attention_side_of(&job->dv, call->out[2], a->kv_heads, a->keys, a->value_depth);
    int64_t units = a->batches * a->kv_heads;
    job->tile = oxi_min_i64(oxi_max_i64(OXI_ATTENTION_BACK_SCORES / a->keys / 16 * 16, 16), 128);
    job->tile = oxi_min_i64(job->tile, a->length);
    job->blocks = oxi_min_i64(oxi_parts(OXI_ATTENTION_BACK_UNITS, units), oxi_parts(a->length, job->tile));
    job->unit_numbers = a->keys * (a->depth + a->value_depth);
    job->lane_numbers = 2 * job->tile * a->keys + (job->blocks == 1 ? job->unit_numbers : 0);
    job->lane_numbers = oxi_round_up(job->lane_numbers + 1, OXI_LINE);
}

/* Floats other than f64; there are queries, keys and results, softcap is 0. */
static ox_status oxi_attention_back_run(const oxi_call *call) {
    oxi_attention_back_job job;
    oxi_attention_back_shape(&job, call);
    int64_t units = job.a.batches * job.a.kv_heads, tasks = units * job.blocks;
    size_t lanes = (size_t)oxi_lanes(tasks), bytes = 0, sums = 0;
    bool fits = oxi_mul_size(lanes, (size_t)job.lane_numbers * sizeof(float), &bytes);
    if (job.blocks > 1)
        fits = fits && oxi_mul_size((size_t)tasks, (size_t)job.unit_numbers * sizeof(float), &sums);
    if (!fits) return oxi_fail(OX_ERR_NOMEM, "attention_back: too large for this machine");
    job.scratch = (float *)oxi_alloc(bytes);
    job.sums = job.scratch && sums ? (float *)oxi_alloc(sums) : NULL;
    bool there = job.scratch && (job.sums || !sums);
    if (there) oxi_parallel_for(tasks, oxi_attention_back_run_task, &job);
    if (there && sums) oxi_parallel_for(units * OXI_ATTENTION_BACK_UNITS, oxi_attention_back_join, &job);
    oxi_free(job.sums, sums);
    oxi_free(job.scratch, bytes);
    return there && !job.failed ? OX_OK : OX_ERR_NOMEM;
}
