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
    int64_t *id, *first; /* of each expert: its number, its first slot; [used + 1] */
    char *rows;         /* these rows of x, one behind the other */
    oxi_expert *expert; /* [used] */
    oxi_shared shared;  /* of slots that have one row of x */
    char *scratch;      /* of each lane: an expert that is one task, or NULL */
    size_t lane_bytes, scratch_bytes;
    oxi_block_rows alone; /* as those that are one task each are planned, of `alone_rows` rows */
    int64_t alone_rows, own, tasks; /* experts and tasks of a thread's part then */
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

/* The product of expert i; *bias is to be freed. */
static ox_status oxi_expert_product(oxi_experts *job, int64_t i, oxi_gemm *g, float **bias) {
    const oxi_product *p = job->p;
    int64_t bytes = oxi_dtype_bytes(p->g.a_dtype);
    *g = p->g;
    g->m = job->first[i + 1] - job->first[i];
    g->a = (const char *)g->a + job->from[job->first[i]] * bytes;
    g->a_storage = NULL;
    bool shares = g->m == 1 && p->shape[0] == 1 && p->a_stride[1] == 0;
    g->shared = !shares ? NULL : p->g.shared ? p->g.shared : &job->shared;
    g->together = NULL;
    g->b = (const char *)g->b + oxi_signed_bytes(g->b_dtype, job->id[i] * p->form.expert);
    g->c_rows = job->to + job->first[i];
    if (g->m > 1) {
        g->a = job->rows + job->first[i] * g->k * bytes;
        g->a_row = g->k;
        g->a_col = 1;
    }
    g->way = oxi_gemm_choose_way(g);
    *bias = NULL;
    if (!p->form.bias) return OX_OK;
    ox_tensor row = oxi_borrowed(p->form.bias);
    row.offset += job->id[i] * row.stride[0];
    row.stride[0] = row.stride[1];
    return oxi_product_bias(g, &row, bias);
}

/* The rows of two experts, the second of which lies `apart` bytes behind the first. */
static void oxi_expert_pair(const oxi_block_rows *r, int64_t apart, bool begins) {
    enum { each = OXI_REPACKED_ROWS };
    const oxi_gemm *g = r->g;
    const char *b = (const char *)g->b;
    float *sums = (float *)(void *)r->scratch;
    const int64_t n = g->n / each, bytes = oxi_signed_bytes(g->b_dtype, each * g->k);
    for (int i = 0; begins && i < 2; i++) oxi_fetch_stream(b + i * apart);
    r->kernels->dot_repacked[g->b_dtype](n, n, apart, bytes, g->k, b, r->q, r->pieces, sums);
    oxi_block_rows_store(r, 0, g->n, g->n, sums, sums + 2 * g->n);
}

/* Expert i of a thread's part, and j, `tasks` behind it: where they have a row each, both are a stream that
 * goes on in the next task, as small matrices would begin in no cache. */
static void oxi_expert_alone(void *arg, int64_t index, int lane) {
    oxi_experts *job = (oxi_experts *)arg;
    char *memory = job->scratch + (size_t)lane * job->lane_bytes;
    const int64_t start = index / job->tasks * job->own, end = oxi_min_i64(start + job->own, job->used);
    for (int64_t i = start + index % job->tasks, j = i + job->tasks; i < end; i += job->tasks) {
        oxi_gemm g;
        oxi_block_rows r = job->alone;
        float *bias;
        const int64_t *first = job->first;
        int64_t apart = 0, rows[2] = {job->to[first[i]], 0};
        const bool two = i < j && j < end && first[j + 1] - first[j] == 1 && !job->p->form.bias;
        ox_status status = oxi_expert_product(job, i, &g, &bias);
        if (two && g.repacked && g.m == 1) {
            apart = oxi_signed_bytes(g.b_dtype, (job->id[j] - job->id[i]) * job->p->form.expert);
            g.m = 2;
            g.a_row = job->from[first[j]] - job->from[first[i]];
            rows[1] = job->to[first[j]];
            g.c_rows = rows;
        }
        if (g.m != job->alone_rows) oxi_block_rows_plan(&r, &g, false, 1, false);
        r.g = &g;
        oxi_block_rows_place(&r, memory);
        r.scratch = memory + oxi_align_up(r.made);
        oxi_block_rows_prepare(&r);
        for (int64_t t = 0; !apart && t < r.shares.tasks; t++) oxi_block_rows_task(&r, t, 0);
        oxi_free(bias, (size_t)g.n * sizeof(float));
        if (status != OX_OK) oxi_atomic_store(&job->failed, (int64_t)status);
        if (apart) {
            oxi_expert_pair(&r, apart, i == start);
            return;
        }
    }
}

static void oxi_expert_task(void *arg, int64_t index, int lane) {
    oxi_experts *job = (oxi_experts *)arg;
    oxi_expert *e = job->expert;
    while (index >= e->tasks) index -= e++->tasks;
    if (e->few.scratch) {
        oxi_block_rows_task(&e->few, index, lane);
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

/* ids [slots], which are lost: those of an expert together, in the order of the first of each. */
static void oxi_experts_sort(oxi_experts *job, int64_t *ids) {
    const oxi_product *p = job->p;
    for (int64_t i = 0, end = 0; i < job->slots; i++) {
        int64_t id = ids[i];
        if (id < 0) continue;
        for (int64_t j = i; j < job->slots; j++) {
            if (ids[j] != id) continue;
            int64_t row = j / p->shape[1], slot = j % p->shape[1];
            job->from[end] = row * p->a_stride[0] + slot * p->a_stride[1];
            job->to[end++] = row * p->c_stride[0] + slot * p->c_stride[1];
            ids[j] = -1;
        }
        job->id[job->used++] = id;
        job->first[job->used] = end;
    }
}

/* Where many have rows of their own, tasks make these ready, if they need no memory but a lane's. */
static ox_status oxi_experts_alone(oxi_experts *job, int64_t lanes) {
    oxi_gemm most = job->p->g;
    most.m = 2;
    if (job->used < 4 * lanes || (job->p->shape[0] == 1 && job->p->a_stride[1] == 0)) return OX_OK;
    for (int64_t i = 0; i < job->used; i++) /* it grows with their rows */
        if (job->first[i + 1] - job->first[i] > most.m) most.m = job->first[i + 1] - job->first[i];
    most.way = oxi_gemm_choose_way(&most);
    if (most.way != OXI_WAY_FEW_ROWS || most.k == 0 || most.exact || most.a_dtype == OX_F64) return OX_OK;
    job->alone_rows = most.m;
    oxi_block_rows_plan(&job->alone, &most, false, 1, false);
    const size_t sums = 3 * (size_t)most.n * sizeof(float);
    job->lane_bytes = oxi_align_up(job->alone.made) + oxi_align_up(sums) + job->alone.lane_bytes;
    job->scratch_bytes = (size_t)lanes * job->lane_bytes;
    job->scratch = (char *)oxi_alloc(job->scratch_bytes);
    if (!job->scratch) return OX_ERR_NOMEM;
    const int64_t parts = oxi_min_i64(lanes, OXI_MAX_PARTS);
    job->own = oxi_parts(job->used, parts);
    job->tasks = oxi_parts(job->own, 2);
    oxi_product_region(job->p->g.together, parts * job->tasks, oxi_expert_alone, job);
    return (ox_status)job->failed;
}

static ox_status oxi_experts_tasks(oxi_experts *job) {
    int64_t tasks = 0, lanes = oxi_lanes(INT32_MAX);
    ox_status status = OX_OK;
    if (oxi_is_block(job->p->g.b_dtype)) status = oxi_check_expandable(job->p->g.b_dtype);
    if (job->used < job->slots && status == OX_OK) oxi_parallel_for(job->slots, oxi_expert_row, job);
    if (status == OX_OK) status = oxi_experts_alone(job, lanes);
    if (job->scratch || status != OX_OK) return status;
    job->expert = (oxi_expert *)oxi_calloc((size_t)job->used, sizeof *job->expert);
    if (!job->expert) return OX_ERR_NOMEM;
    for (oxi_expert *e = job->expert; e < job->expert + job->used && status == OX_OK; e++) {
        const oxi_gemm *g = &e->g;
        if ((status = oxi_expert_product(job, e - job->expert, &e->g, &e->bias)) != OX_OK) break;
        bool few = g->way == OXI_WAY_FEW_ROWS || g->way == OXI_WAY_THIN_A;
        bool large = !few && (double)g->m * (double)g->n * (double)g->k > OXI_EXPERT_LARGE;
        int64_t parts = few && lanes > 1 ? oxi_parts(8 * lanes, job->used) : 1;
        e->columns = oxi_round_up(oxi_parts(g->n, parts), OXI_EXPERT_LEAST);
        if (large || job->used == 1) continue;
        const bool rows = g->way == OXI_WAY_FEW_ROWS && g->k > 0;
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

/* p: of one slot, but for its bias. */
static ox_status oxi_experts_run(const oxi_product *p) {
    const ox_tensor *t = p->form.ids;
    size_t bytes, row_bytes = (size_t)oxi_dtype_bytes(p->g.a_dtype);
    oxi_experts job;
    memset(&job, 0, sizeof job);
    job.p = p;
    job.slots = ox_numel(t);
    if (!oxi_mul_size((size_t)p->g.k, row_bytes, &row_bytes) ||
        !oxi_mul_size((size_t)job.slots, row_bytes, &bytes))
        return oxi_fail_memory(SIZE_MAX);
    int64_t wide = t->dtype == OX_I64;
    int64_t *ids = (int64_t *)oxi_calloc((size_t)job.slots + 1, 5 * sizeof *ids);
    if (!ids) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < job.slots; i++) {
        int64_t at = i / t->shape[1] * t->stride[0] + i % t->shape[1] * t->stride[1];
        ids[i] = oxi_index_at(oxi_ptr(t) + at * (4 + 4 * wide), wide);
    }
    job.from = ids + job.slots;
    job.to = job.from + job.slots;
    job.id = job.to + job.slots;
    job.first = job.id + job.slots;
    oxi_experts_sort(&job, ids);
    job.rows = job.used < job.slots ? (char *)oxi_alloc(bytes) : NULL;
    ox_status status = job.used < job.slots && !job.rows ? OX_ERR_NOMEM : oxi_experts_tasks(&job);
    for (oxi_expert *e = job.expert; e && e < job.expert + job.used; e++) {
        oxi_block_rows_end(&e->few);
        oxi_free(e->bias, (size_t)p->g.n * sizeof(float));
    }
    oxi_free(job.shared.memory, job.shared.bytes);
    oxi_free(job.scratch, job.scratch_bytes);
    oxi_free(job.expert, (size_t)job.used * sizeof *job.expert);
    oxi_free(job.rows, bytes);
    oxi_free(ids, ((size_t)job.slots + 1) * 5 * sizeof *ids);
    return status;
}
