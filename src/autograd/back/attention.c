/* What comes back through attention: a tile of a head's queries against the keys that it sees, in two buffers
 * of scores, so memory grows with queries and keys and not with their product. Weights are computed anew:
 * from the logsumexp of each query, or, where the way there left none, from a first pass that measures them.
 * What goes to keys and values is added up by each task on its own: the heads that share them, in order, and
 * then the tasks, in order. Called by back.c. (Dao et al. 2022, "FlashAttention", algorithm 4) */

enum {
    OXI_ATTENTION_BACK_UNITS = 8,       /* fewer are cut into tasks */
    OXI_ATTENTION_BACK_KEYS = 1024,     /* that a tile meets at once */
    OXI_ATTENTION_BACK_SCORES = 1 << 15 /* of a tile */
};

typedef struct oxi_attention_back_job {
    oxi_attention a; /* of the way there; a.out has the result's gradient */
    oxi_attention_side dq, dk, dv;
    oxi_attention_side made; /* the result, beside a.logsumexp, which is read here */
    int64_t tile, span;    /* queries of a tile, keys that it meets at once */
    int64_t blocks;        /* tasks of a unit, which take its tiles in turn */
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

/* A unit's task. */
typedef struct oxi_attention_back_task {
    int64_t batch, kv_head;
    float *dk, *dv, *scores, *back; /* dk [keys][depth], dv [keys][value_depth]; [tile][span] */
    float *slope;                   /* [tile][span]: of the cap, where there is one */
    float *dq, *rows;               /* [tile][depth]; [2][value_depth] */
    double *most, *sum, *along;     /* of each query of a tile */
    const char *k, *v, *mask;
} oxi_attention_back_task;

/* A tile: queries [s, s + n) of head `h` of the group, and keys [first, first + keys) that they see. */
typedef struct oxi_attention_back_tile {
    int64_t h, s, n, first, keys;
    oxi_back_matrix q, g;
} oxi_attention_back_tile;

/* Masked scores of keys [first, first + keys), and what comes back to their weights: g v^T. */
static void oxi_attention_back_scores(oxi_attention_back_job *job, const oxi_attention_back_task *t,
                                      const oxi_attention_back_tile *tile, int64_t first, int64_t keys) {
    const oxi_attention *a = &job->a;
    int64_t seen, end;
    oxi_back_product(job, tile->n, keys, a->depth, tile->q, oxi_back_rows(&a->k, t->k, first, true),
                     oxi_back_numbers(t->scores, keys, 1), a->scale, false);
    oxi_back_product(job, tile->n, keys, a->value_depth, tile->g, oxi_back_rows(&a->v, t->v, first, true),
                     oxi_back_numbers(t->back, keys, 1), 1, false);
    oxi_attention_cap(a, tile->n * keys, t->scores);
    for (int64_t i = 0; a->softcap > 0 && i < tile->n * keys; i++) {
        float capped = t->scores[i] / a->softcap;
        t->slope[i] = 1 - capped * capped;
    }
    for (int64_t i = 0; i < tile->n; i++) {
        oxi_attention_range(a, tile->s + i, &seen, &end);
        if (a->mask.t || seen > first || end < first + keys)
            oxi_attention_mask_row(a, t->mask, tile->h, tile->s + i, first, keys, t->scores + i * keys, 1);
    }
}

/* Takes these keys into the softmax of each query and into the sum of weight times what comes back to it.
 * Scores become e^(score - most so far). */
static void oxi_attention_back_measure(const oxi_attention_back_job *job, const oxi_attention_back_task *t,
                                       int64_t n, int64_t keys) {
    const oxi_kernels *k = job->a.kernels;
    for (int64_t i = 0; i < n; i++) {
        float *row = t->scores + i * keys, most = k->row_max(keys, row);
        if (most == -INFINITY) continue; /* nothing is seen */
        double next = (double)most > t->most[i] || most != most ? (double)most : t->most[i];
        double rescale = t->most[i] == -INFINITY ? 0 : exp(t->most[i] - next);
        t->sum[i] = t->sum[i] * rescale + k->row_exp_sum(keys, row, (float)next, row);
        t->along[i] = t->along[i] * rescale + k->dot_f32(keys, row, t->back + i * keys);
        t->most[i] = next;
    }
}

/* Sums as what weights are to be multiplied by. */
static void oxi_attention_back_finish(const oxi_attention *a, const oxi_attention_back_task *t, int64_t head,
                                      int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (a->sinks && t->sum[i] != 0) t->sum[i] += exp((double)a->sinks[head * a->sink_step] - t->most[i]);
        t->sum[i] = t->sum[i] == 0 ? 0 : 1 / t->sum[i];
        t->along[i] *= t->sum[i];
    }
}

/* What there is to measure, from the logsumexp; the sum of weight times what comes back to it is g times the
 * result. */
static void oxi_attention_back_known(const oxi_attention_back_job *job, const oxi_attention_back_task *t,
                                     const oxi_attention_back_tile *tile, int64_t head) {
    const oxi_attention *a = &job->a;
    const oxi_attention_side *sides[2] = {&a->out, &job->made};
    const char *kept = oxi_attention_at(a, &a->logsumexp, t->batch, head);
    for (int64_t i = 0; i < tile->n; i++) {
        for (int k = 0; k < 2; k++) {
            const char *from = oxi_attention_at(a, sides[k], t->batch, head);
            from = oxi_attention_move(sides[k], from, (tile->s + i) * sides[k]->row);
            a->kernels->load[sides[k]->t->dtype][OXI_LANE_F32](a->value_depth, from, sides[k]->column,
                                                               t->rows + k * a->value_depth);
        }
        const char *at = oxi_attention_move(&a->logsumexp, kept, (tile->s + i) * a->logsumexp.row);
        t->most[i] = *(const float *)(const void *)at;
        t->sum[i] = 1;
        t->along[i] = a->kernels->dot_f32(a->value_depth, t->rows, t->rows + a->value_depth);
    }
}

/* Scores become weights, and what comes back to weights what comes back to scores; from there to all three.
 * fresh: scores are as they came. */
static void oxi_attention_back_keys(oxi_attention_back_job *job, const oxi_attention_back_task *t,
                                    const oxi_attention_back_tile *tile, int64_t first, int64_t keys,
                                    bool fresh) {
    const oxi_attention *a = &job->a;
    const oxi_kernels *k = a->kernels;
    int64_t depth = a->depth, wide = a->value_depth, n = tile->n;
    oxi_back_matrix weights = oxi_back_numbers(t->scores, 1, keys), back = oxi_back_numbers(t->back, keys, 1);
    for (int64_t i = 0; i < n; i++) {
        float *row = t->scores + i * keys, *own = t->back + i * keys;
        if (t->sum[i] == 0)
            memset(row, 0, (size_t)keys * sizeof *row);
        else if (fresh)
            k->row_exp_sum(keys, row, (float)t->most[i], row);
        if (t->sum[i] != 1) k->row_scale(keys, row, (float)t->sum[i], row);
        k->row_affine(keys, own, (float)t->along[i], a->scale, row, NULL, own, NULL);
        for (int64_t j = 0; a->softcap > 0 && j < keys; j++) own[j] *= t->slope[i * keys + j];
    }
    oxi_back_product(job, keys, wide, n, weights, tile->g, oxi_back_numbers(t->dv + first * wide, wide, 1), 1,
                     true);
    oxi_back_product(job, n, depth, keys, back, oxi_back_rows(&a->k, t->k, first, false),
                     oxi_back_numbers(t->dq, depth, 1), 1, first != tile->first);
    back = oxi_back_numbers(t->back, 1, keys);
    oxi_back_product(job, keys, depth, n, back, tile->q, oxi_back_numbers(t->dk + first * depth, depth, 1), 1,
                     true);
}

/* A tile: its keys at once, or, where these are many, some at a time: once for the softmax, if that has to be
 * measured, once more for the gradients. */
static void oxi_attention_back_one(oxi_attention_back_job *job, const oxi_attention_back_task *t,
                                   oxi_attention_back_tile *tile) {
    const oxi_attention *a = &job->a;
    int64_t head = t->kv_head * a->group + tile->h, end = tile->first + tile->keys, span = job->span;
    char *dq = oxi_attention_at(a, &job->dq, t->batch, head);
    tile->q = oxi_back_rows(&a->q, oxi_attention_at(a, &a->q, t->batch, head), tile->s, false);
    tile->g = oxi_back_rows(&a->out, oxi_attention_at(a, &a->out, t->batch, head), tile->s, false);
    for (int64_t i = 0; i < tile->n; i++) {
        t->most[i] = -INFINITY;
        t->sum[i] = t->along[i] = 0;
    }
    bool known = a->logsumexp.t != NULL;
    for (int64_t first = tile->first; !known && first < end; first += span) {
        int64_t keys = oxi_min_i64(end - first, span);
        oxi_attention_back_scores(job, t, tile, first, keys);
        oxi_attention_back_measure(job, t, tile->n, keys);
    }
    if (known)
        oxi_attention_back_known(job, t, tile, head);
    else
        oxi_attention_back_finish(a, t, head, tile->n);
    for (int64_t first = tile->first; first < end; first += span) {
        int64_t keys = oxi_min_i64(end - first, span);
        bool again = known || tile->keys > span;
        if (again) oxi_attention_back_scores(job, t, tile, first, keys);
        oxi_attention_back_keys(job, t, tile, first, keys, again);
    }
    if (tile->keys <= 0) memset(t->dq, 0, (size_t)(tile->n * a->depth) * sizeof *t->dq);
    for (int64_t i = 0; i < tile->n; i++)
        a->kernels->store[job->dq.t->dtype][OXI_LANE_F32](
            a->depth, t->dq + i * a->depth, oxi_attention_move(&job->dq, dq, (tile->s + i) * job->dq.row),
            job->dq.column);
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
    t.most = (double *)(void *)own;
    t.sum = t.most + job->tile;
    t.along = t.sum + job->tile;
    t.dq = own + 6 * job->tile;
    t.rows = t.dq + job->tile * a->depth;
    t.scores = t.rows + 2 * a->value_depth;
    t.back = t.scores + job->tile * job->span;
    t.slope = t.back + job->tile * job->span;
    own = a->softcap > 0 ? t.slope + job->tile * job->span : t.slope;
    t.dk = job->blocks > 1 ? job->sums + index * job->unit_numbers : own;
    t.dv = t.dk + a->keys * a->depth;
    t.k = oxi_attention_at(a, &a->k, t.batch, t.kv_head);
    t.v = oxi_attention_at(a, &a->v, t.batch, t.kv_head);
    t.mask = a->mask.t ? oxi_attention_at(a, &a->mask, t.batch, t.kv_head * a->group) : NULL;
    memset(t.dk, 0, (size_t)job->unit_numbers * sizeof *t.dk);
    for (int64_t h = 0; h < a->group; h++)
        for (int64_t s = block * job->tile; s < a->length; s += job->blocks * job->tile) {
            oxi_attention_back_tile tile;
            int64_t end, ignored;
            tile.h = h;
            tile.s = s;
            tile.n = oxi_min_i64(job->tile, a->length - s);
            oxi_attention_range(a, s, &tile.first, &ignored);
            oxi_attention_range(a, s + tile.n - 1, &ignored, &end);
            tile.keys = end - tile.first;
            oxi_attention_back_one(job, &t, &tile);
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
static void oxi_attention_back_shape(oxi_attention_back_job *job, const oxi_call *call,
                                     const oxi_part *part) {
    ox_tensor *in[5] = {call->in[1], call->in[2], call->in[3], call->in[4], call->in[5]};
    oxi_call forth = *call;
    memset(job, 0, sizeof *job);
    bool known = call->in_count > 6; /* logsumexp and result in the place of sinks */
    if (known) in[4] = NULL;
    forth.in = in;
    forth.in_count = 5;
    forth.out_count = known ? 2 : 1;
    forth.out[0] = call->in[0];
    forth.out[1] = known ? call->in[5] : NULL;
    oxi_attention_shape(&job->a, &forth);
    oxi_attention *a = &job->a;
    a->call = call;
    if (known) oxi_attention_side_of(&job->made, call->in[6], a->heads, a->length, a->value_depth);
    oxi_attention_side_of(&job->dq, call->out[0], a->heads, a->length, a->depth);
    oxi_attention_side_of(&job->dk, call->out[1], a->kv_heads, a->keys, a->depth);
    oxi_attention_side_of(&job->dv, call->out[2], a->kv_heads, a->keys, a->value_depth);
    int64_t units = part && part->heads > 0 ? part->heads : a->batches * a->kv_heads; /* of the whole */
    job->span = a->keys <= OXI_ATTENTION_BACK_KEYS ? a->keys : OXI_ATTENTION_BACK_KEYS / 2;
    job->tile = oxi_min_i64(oxi_max_i64(OXI_ATTENTION_BACK_SCORES / job->span / 16 * 16, 16), 128);
    job->tile = oxi_min_i64(job->tile, a->length);
    job->blocks = oxi_min_i64(oxi_parts(OXI_ATTENTION_BACK_UNITS, units), oxi_parts(a->length, job->tile));
    job->unit_numbers = a->keys * (a->depth + a->value_depth);
    job->lane_numbers = job->tile * ((a->softcap > 0 ? 3 : 2) * job->span + a->depth + 6);
    job->lane_numbers += 2 * a->value_depth;
    if (job->blocks == 1) job->lane_numbers += job->unit_numbers;
    job->lane_numbers = oxi_round_up(job->lane_numbers, OXI_LINE);
}

/* Floats other than f64; there are queries, keys and results. */
static ox_status oxi_attention_back_run(const oxi_call *call, const oxi_part *part) {
    oxi_attention_back_job job;
    oxi_attention_back_shape(&job, call, part);
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
