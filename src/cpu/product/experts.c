/* Mixtures of experts: the rows that meet one expert are one product. Small products are tasks of one region,
 * cut by columns where they have few rows; each large one has all threads. Called by product.c. */

enum {
    OXI_EXPERT_LEAST = 64,     /* least of a task: each makes its rows of x ready again */
    OXI_EXPERT_LARGE = 1 << 25 /* multiplications from which on a product has all threads */
};

/* One that has rows. */
typedef struct oxi_expert {
    oxi_gemm g;
    int64_t columns, tasks; /* of a task; of the region, 0: all threads compute it together */
    float *bias;            /* NULL, or n floats of its own */
    oxi_block_rows few;     /* where tasks are its: few rows by blocks */
} oxi_expert;

typedef struct oxi_experts {
    const oxi_product *p;
    int64_t used, slots;
    int64_t *from, *to; /* where the rows of slots, in order of experts, begin in x and the result */
    char *rows;         /* these rows of x, one behind the other */
    oxi_expert *expert; /* [used] */
    oxi_shared shared;  /* of slots that have one row of x */
    char *scratch;      /* of each lane: an expert that is one task, or NULL */
    size_t lane_bytes, scratch_bytes;
    oxi_block_rows alone; /* as those that are one task each are planned, of `alone_rows` rows */
    int64_t alone_rows;
    int64_t failed;     /* atomic: status of a product that failed, or 0 */
} oxi_experts;

static void oxi_expert_row(void *arg, int64_t index, int lane) {
    const oxi_experts *job = (const oxi_experts *)arg;
    const oxi_gemm *g = &job->p->g;
    int64_t bytes = oxi_dtype_bytes(g->a_dtype);
    (void)lane;
    oxi_copy_run(g->k, bytes, (const char *)g->a + job->from[index] * bytes, g->a_col * bytes,
                 job->rows + index * g->k * bytes, bytes);
}

/* Whether a task of a whole expert needs no memory but its lane's. */
static bool oxi_expert_is_alone(const oxi_gemm *g) {
    return g->way == OXI_WAY_FEW_ROWS && g->k > 0 && !g->exact && g->a_dtype != OX_F64;
}

/* A whole expert, whose rows of x its task makes ready. */
static void oxi_expert_alone(const oxi_experts *job, const oxi_gemm *g, int lane) {
    char *memory = job->scratch + (size_t)lane * job->lane_bytes;
    oxi_block_rows r = job->alone;
    if (g->m != job->alone_rows) oxi_block_rows_plan(&r, g, false, 1, false);
    r.g = g;
    oxi_block_rows_place(&r, memory);
    r.scratch = memory + oxi_align_up(r.made);
    oxi_block_rows_prepare(&r);
    for (int64_t i = 0; i < r.shares.tasks; i++) oxi_block_rows_task(&r, i, 0);
}

static void oxi_expert_task(void *arg, int64_t index, int lane) {
    oxi_experts *job = (oxi_experts *)arg;
    oxi_expert *e = job->expert;
    while (index >= e->tasks) index -= e++->tasks;
    if (e->few.scratch) {
        oxi_block_rows_task(&e->few, index, lane);
        return;
    }
    if (job->scratch && oxi_expert_is_alone(&e->g)) {
        oxi_expert_alone(job, &e->g, lane);
        return;
    }
    oxi_gemm g = e->g;
    int64_t first = index * e->columns;
    g.n = oxi_min_i64(g.n - first, e->columns);
    g.b = (const char *)g.b + oxi_signed_bytes(g.b_dtype, first * g.b_col);
    g.c = (char *)g.c + oxi_signed_bytes(g.c_dtype, first * g.c_col);
    if (g.bias) g.bias += first;
    if (g.addend) g.addend = (const char *)g.addend + oxi_signed_bytes(g.addend_dtype, first * g.addend_col);
    ox_status status = oxi_gemm_run(&g);
    if (status != OX_OK) oxi_atomic_store(&job->failed, (int64_t)status);
}

/* The next expert: number `id`, of the slots from `first` to `end`. */
static ox_status oxi_expert_add(oxi_experts *job, int64_t id, int64_t first, int64_t end) {
    const oxi_product *p = job->p;
    oxi_expert *e = &job->expert[job->used++];
    oxi_gemm *g = &e->g;
    int64_t bytes = oxi_dtype_bytes(p->g.a_dtype);
    *g = p->g;
    g->m = end - first;
    g->a = (const char *)g->a + job->from[first] * bytes;
    g->a_storage = NULL;
    g->shared = p->shape[0] > 1 || p->a_stride[1] != 0 ? NULL : p->g.shared ? p->g.shared : &job->shared;
    g->together = NULL;
    g->b = (const char *)g->b + oxi_signed_bytes(g->b_dtype, id * p->form.expert);
    g->c_rows = job->to + first;
    if (g->m > 1) {
        g->a = job->rows + first * g->k * bytes;
        g->a_row = g->k;
        g->a_col = 1;
    }
    g->way = oxi_gemm_choose_way(g);
    if (!p->form.bias) return OX_OK;
    ox_tensor row = oxi_borrowed(p->form.bias);
    row.offset += id * row.stride[0];
    row.stride[0] = row.stride[1];
    return oxi_product_bias(g, &row, &e->bias);
}

/* ids [slots], which are lost: those of an expert together, in the order of the first of each. */
static ox_status oxi_experts_sort(oxi_experts *job, int64_t *ids) {
    const oxi_product *p = job->p;
    ox_status status = OX_OK;
    for (int64_t i = 0, end = 0; i < job->slots && status == OX_OK; i++) {
        int64_t id = ids[i], first = end;
        if (id < 0) continue;
        for (int64_t j = i; j < job->slots; j++) {
            if (ids[j] != id) continue;
            int64_t row = j / p->shape[1], slot = j % p->shape[1];
            job->from[end] = row * p->a_stride[0] + slot * p->a_stride[1];
            job->to[end++] = row * p->c_stride[0] + slot * p->c_stride[1];
            ids[j] = -1;
        }
        status = oxi_expert_add(job, id, first, end);
    }
    return status;
}

/* Memory for those that are one task each. */
static ox_status oxi_experts_room(oxi_experts *job, int64_t lanes) {
    for (int64_t i = 0; i < job->used; i++) { /* what one needs grows with its rows */
        const oxi_gemm *g = &job->expert[i].g;
        if (g->m <= job->alone_rows || !oxi_expert_is_alone(g)) continue;
        job->alone_rows = g->m;
        oxi_block_rows_plan(&job->alone, g, false, 1, false);
        job->lane_bytes = oxi_align_up(job->alone.made) + job->alone.lane_bytes;
    }
    if (job->lane_bytes == 0) return OX_OK;
    job->scratch_bytes = (size_t)lanes * job->lane_bytes;
    job->scratch = (char *)oxi_alloc(job->scratch_bytes);
    return job->scratch ? OX_OK : OX_ERR_NOMEM;
}

static ox_status oxi_experts_tasks(oxi_experts *job) {
    int64_t tasks = 0, lanes = oxi_lanes(INT32_MAX);
    ox_status status = OX_OK;
    if (oxi_is_block(job->p->g.b_dtype)) status = oxi_check_expandable(job->p->g.b_dtype);
    /* where there are many, each of whose rows is its own, a task makes them ready too */
    const bool whole = job->used >= 4 * lanes && (job->p->shape[0] > 1 || job->p->a_stride[1] != 0);
    if (whole && job->used > 1 && status == OX_OK) status = oxi_experts_room(job, lanes);
    if (job->used < job->slots && status == OX_OK) oxi_parallel_for(job->slots, oxi_expert_row, job);
    for (oxi_expert *e = job->expert; e < job->expert + job->used && status == OX_OK; e++) {
        const oxi_gemm *g = &e->g;
        bool few = g->way == OXI_WAY_FEW_ROWS || g->way == OXI_WAY_THIN_A;
        bool large = !few && (double)g->m * (double)g->n * (double)g->k > OXI_EXPERT_LARGE;
        int64_t parts = few && lanes > 1 && !whole ? oxi_parts(8 * lanes, job->used) : 1;
        e->columns = oxi_round_up(oxi_parts(g->n, parts), OXI_EXPERT_LEAST);
        if (job->scratch && oxi_expert_is_alone(g)) e->columns = g->n;
        if (large || job->used == 1) continue;
        const bool rows = g->way == OXI_WAY_FEW_ROWS && g->k > 0 && !whole;
        const int64_t number = e - job->expert + 1, own = oxi_parts(job->used, lanes);
        if (rows)
            status = oxi_block_rows_begin(&e->few, g, g->exact || g->a_dtype == OX_F64, job->used,
                                          (number % own == 0 || number == job->used) &&
                                              oxi_waits_at_end(job->p->g.together));
        e->tasks = rows ? e->few.shares.tasks : oxi_parts(g->n, e->columns);
        tasks += e->tasks;
    }
    if (tasks > 0 && status == OX_OK) oxi_product_region(job->p->g.together, tasks, oxi_expert_task, job);
    if (status == OX_OK) status = (ox_status)job->failed;
    for (int64_t i = 0; i < job->used && status == OX_OK; i++)
        if (!job->expert[i].tasks) status = oxi_gemm_run(&job->expert[i].g);
    return status;
}

/* ---- one row of x, of its own, for each of many -----------------------------------------------------------
 * Heads' matrices are short, so each stream of a task is one of them: both go on in the next task, and none
 * of a thread's but the first begins in no cache. */
typedef struct oxi_expert_pairs {
    const oxi_product *p;
    const int64_t *ids;        /* [slots] */
    int64_t slots, own, tasks; /* slots and tasks of a thread's part */
    oxi_block_rows rows;       /* as planned for a pair */
    char *scratch;             /* of each lane */
    size_t lane_bytes;
} oxi_expert_pairs;

/* Slot `first` and, if the part still has it, the one `tasks` slots behind it; else its halves are the streams. */
static void oxi_expert_pair(void *arg, int64_t index, int lane) {
    const oxi_expert_pairs *job = (const oxi_expert_pairs *)arg;
    const oxi_product *p = job->p;
    const int64_t start = index / job->tasks * job->own, first = start + index % job->tasks,
                  end = oxi_min_i64(start + job->own, job->slots), second = first + job->tasks;
    if (first >= end) return;
    const bool two = second < end;
    oxi_gemm g = p->g;
    oxi_block_rows r = job->rows;
    g.m = 1 + two;
    g.a = (const char *)g.a + oxi_signed_bytes(g.a_dtype, first * p->a_stride[1]);
    g.a_row = job->tasks * p->a_stride[1];
    g.b = (const char *)g.b + oxi_signed_bytes(g.b_dtype, job->ids[first] * p->form.expert);
    g.c = (char *)g.c + oxi_signed_bytes(g.c_dtype, first * p->c_stride[1]);
    g.c_row = job->tasks * p->c_stride[1];
    r.g = &g;
    oxi_block_rows_place(&r, job->scratch + (size_t)lane * job->lane_bytes);
    float *sums = (float *)(void *)((char *)r.x + oxi_align_up(r.made));
    const int64_t groups = g.n / OXI_REPACKED_ROWS, half = two ? groups : oxi_parts(groups, 2),
                  group_bytes = oxi_signed_bytes(g.b_dtype, OXI_REPACKED_ROWS * g.k),
                  apart = two ? oxi_signed_bytes(g.b_dtype, (job->ids[second] - job->ids[first]) * p->form.expert)
                              : half * group_bytes;
    if (first == start) {
        oxi_fetch_stream((const char *)g.b);
        oxi_fetch_stream((const char *)g.b + apart);
    }
    oxi_block_rows_prepare(&r);
    r.kernels->dot_repacked[g.b_dtype](half, two ? half : groups - half, apart, group_bytes, g.k, g.b, r.q,
                                       two ? r.pieces : 0, sums);
    oxi_block_rows_store(&r, 0, g.n, g.n, sums, sums + 2 * g.n);
}

/* Whether these are such slots. */
static bool oxi_experts_are_pairs(const oxi_product *p, int64_t slots) {
    const oxi_gemm *g = &p->g;
    return g->repacked && p->shape[0] == 1 && p->a_stride[1] != 0 && slots >= 4 * oxi_lanes(INT32_MAX) &&
           !p->form.bias && !g->exact && g->a_dtype != OX_F64 && g->k > 0;
}

static ox_status oxi_experts_by_pairs(const oxi_product *p, const int64_t *ids, int64_t slots) {
    oxi_expert_pairs job;
    const int64_t lanes = oxi_lanes(INT32_MAX), parts = oxi_min_i64(lanes, OXI_MAX_PARTS);
    oxi_gemm two = p->g;
    two.m = 2;
    job.p = p;
    job.ids = ids;
    job.slots = slots;
    job.own = oxi_parts(slots, parts);
    job.tasks = oxi_parts(job.own, 2);
    oxi_block_rows_plan(&job.rows, &two, false, 1, false);
    job.lane_bytes = oxi_align_up(job.rows.made) + oxi_align_up((size_t)(3 * two.n) * sizeof(float));
    job.scratch = (char *)oxi_alloc((size_t)lanes * job.lane_bytes);
    if (!job.scratch) return OX_ERR_NOMEM;
    oxi_product_region(two.together, parts * job.tasks, oxi_expert_pair, &job);
    oxi_free(job.scratch, (size_t)lanes * job.lane_bytes);
    return OX_OK;
}

/* p: of one slot, but for its bias. experts: how many there are. */
static ox_status oxi_experts_run(const oxi_product *p, int64_t experts) {
    const ox_tensor *t = p->form.ids;
    size_t bytes, row_bytes = (size_t)oxi_dtype_bytes(p->g.a_dtype);
    oxi_experts job;
    memset(&job, 0, sizeof job);
    job.p = p;
    job.slots = ox_numel(t);
    if (!oxi_mul_size((size_t)p->g.k, row_bytes, &row_bytes) ||
        !oxi_mul_size((size_t)job.slots, row_bytes, &bytes))
        return oxi_fail_memory(SIZE_MAX);
    int64_t most = oxi_min_i64(experts, job.slots), wide = t->dtype == OX_I64;
    const bool pairs = oxi_experts_are_pairs(p, job.slots);
    int64_t *ids = (int64_t *)oxi_calloc((size_t)job.slots, 3 * sizeof *ids);
    for (int64_t i = 0; ids && i < job.slots; i++) {
        int64_t at = i / t->shape[1] * t->stride[0] + i % t->shape[1] * t->stride[1];
        ids[i] = oxi_index_at(oxi_ptr(t) + at * (4 + 4 * wide), wide);
    }
    job.rows = pairs ? NULL : (char *)oxi_alloc(bytes);
    job.expert = pairs ? NULL : (oxi_expert *)oxi_calloc((size_t)most, sizeof *job.expert);
    ox_status status = ids && (pairs || (job.rows && job.expert)) ? OX_OK : OX_ERR_NOMEM;
    if (status == OX_OK && pairs) status = oxi_experts_by_pairs(p, ids, job.slots);
    if (status == OX_OK && !pairs) {
        job.from = ids + job.slots;
        job.to = job.from + job.slots;
        status = oxi_experts_sort(&job, ids);
        if (status == OX_OK) status = oxi_experts_tasks(&job);
        for (oxi_expert *e = job.expert; e < job.expert + job.used; e++) {
            oxi_block_rows_end(&e->few);
            oxi_free(e->bias, (size_t)p->g.n * sizeof(float));
        }
    }
    oxi_free(job.shared.memory, job.shared.bytes);
    oxi_free(job.scratch, job.scratch_bytes);
    oxi_free(job.expert, (size_t)most * sizeof *job.expert);
    oxi_free(job.rows, bytes);
    oxi_free(ids, 3 * (size_t)job.slots * sizeof *ids);
    return status;
}
