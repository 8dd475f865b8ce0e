/* Mixtures of experts: the rows that meet one expert are one product. Slots are put in order of their experts;
 * small products are tasks of one region, cut by columns where they have few rows, and each large one has all
 * threads. Called by the CPU device for calls whose form has ids. */

enum {
    OXI_EXPERT_COLUMNS = 64,   /* least of a task: each makes its rows of x ready again */
    OXI_EXPERT_LARGE = 1 << 25 /* multiplications from which on a product has all threads */
};

/* One that has rows. */
typedef struct oxi_expert {
    oxi_gemm g;
    int64_t columns, tasks; /* of a task; of the region, 0: all threads compute it together */
    float *bias;            /* NULL, or n floats of its own */
} oxi_expert;

typedef struct oxi_experts {
    oxi_product p;
    const int64_t *from; /* where the row of each slot, in order of experts, begins in x */
    char *rows;          /* these rows, one behind the other */
    oxi_expert *expert;
    int64_t failed;      /* atomic: status of a product that failed, or 0 */
} oxi_experts;

static void oxi_expert_row_task(void *arg, int64_t index, int lane) {
    const oxi_experts *job = (const oxi_experts *)arg;
    const oxi_gemm *g = &job->p.g;
    int64_t bytes = oxi_dtype_bytes(g->a_dtype);
    (void)lane;
    oxi_copy_run(g->k, bytes, (const char *)g->a + job->from[index] * bytes, g->a_col * bytes,
                 job->rows + index * g->k * bytes, bytes);
}

static void oxi_expert_task(void *arg, int64_t index, int lane) {
    oxi_experts *job = (oxi_experts *)arg;
    const oxi_expert *e = job->expert;
    (void)lane;
    if (oxi_atomic_load(&job->failed)) return;
    while (index >= e->tasks) index -= e++->tasks;
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

/* Slots in order of experts: where their rows begin in x and the result. end [experts], zeros before: behind
 * the last slot of each. Returns how many experts have any. */
static int64_t oxi_experts_order(const oxi_product *p, int64_t experts, int64_t *end, int64_t *from,
                                 int64_t *to) {
    const ox_tensor *ids = p->form.ids;
    bool wide = ids->dtype == OX_I64;
    int64_t used = 0, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < p->shape[0]; i++)
            for (int64_t j = 0; j < p->shape[1]; j++) {
                int64_t at = i * ids->stride[0] + j * ids->stride[1];
                int64_t id = oxi_index_at(oxi_ptr(ids) + at * (wide ? 8 : 4), wide), place = end[id]++;
                if (pass == 0) continue;
                from[place] = i * p->a_stride[0] + j * p->a_stride[1];
                to[place] = i * p->c_stride[0] + j * p->c_stride[1];
            }
        for (int64_t e = 0; e < experts && pass == 0; e++) {
            int64_t count = end[e];
            end[e] = sum;
            sum += count;
            used += count > 0;
        }
    }
    return used;
}

/* Slots `first` on, `count` of them, are those of expert `id`, one of `used`. */
static ox_status oxi_expert_set(oxi_experts *job, oxi_expert *e, const ox_tensor *bias, int64_t id,
                                int64_t first, int64_t count, const int64_t *to, int64_t used) {
    oxi_gemm *g = &e->g;
    int64_t bytes = oxi_dtype_bytes(job->p.g.a_dtype), lanes = oxi_lanes(INT32_MAX);
    *g = job->p.g;
    g->m = count;
    g->a = (const char *)g->a + job->from[first] * bytes;
    g->b = (const char *)g->b + oxi_signed_bytes(g->b_dtype, id * job->p.form.expert);
    g->c_rows = to + first;
    if (count > 1) {
        g->a = job->rows + first * g->k * bytes;
        g->a_row = g->k;
        g->a_col = 1;
    }
    g->way = oxi_gemm_choose_way(g);
    bool few = g->way == OXI_WAY_FEW_ROWS || g->way == OXI_WAY_THIN_A;
    int64_t parts = few && lanes > 1 ? oxi_parts(8 * lanes, used) : 1;
    e->columns = oxi_round_up(oxi_parts(g->n, parts), OXI_EXPERT_COLUMNS);
    e->tasks = oxi_parts(g->n, e->columns);
    bool large = !few && (double)g->m * (double)g->n * (double)g->k > OXI_EXPERT_LARGE;
    if (used == 1 || large) e->tasks = 0;
    if (!bias) return OX_OK;
    ox_tensor row = oxi_borrowed(bias);
    row.offset += id * bias->stride[0];
    row.stride[0] = bias->stride[1];
    return oxi_product_bias(g, &row, &e->bias);
}

static ox_status oxi_experts_run(oxi_experts *job, int64_t used, int64_t slots) {
    int64_t tasks = 0;
    for (int64_t i = 0; i < used; i++) tasks += job->expert[i].tasks;
    if (used < slots) oxi_parallel_for(slots, oxi_expert_row_task, job);
    if (tasks > 0) oxi_parallel_for(tasks, oxi_expert_task, job);
    ox_status status = (ox_status)oxi_atomic_load(&job->failed);
    for (int64_t i = 0; i < used && status == OX_OK; i++)
        if (!job->expert[i].tasks) status = oxi_gemm_run(&job->expert[i].g);
    return status;
}

/* x, w and the result are at their places in the plan; w is plain, or repacked in whole groups of rows. */
static ox_status oxi_experts_share_out(oxi_experts *job, const oxi_call *call) {
    const ox_tensor *bias = call->in[3];
    int64_t experts = call->in[1]->shape[0], slots = ox_numel(call->in[2]), used = 0, first = 0, i = 0;
    size_t row_bytes = (size_t)oxi_dtype_bytes(job->p.g.a_dtype), bytes = 0;
    int64_t *end = (int64_t *)oxi_calloc((size_t)experts, sizeof *end);
    int64_t *from = (int64_t *)oxi_calloc((size_t)slots, 2 * sizeof *from), *to = from + slots;
    ox_status status = end && from ? OX_OK : OX_ERR_NOMEM;
    if (status == OX_OK) used = oxi_experts_order(&job->p, experts, end, from, to);
    job->from = from;
    if (used < slots) {
        bool fits = oxi_mul_size((size_t)job->p.g.k, row_bytes, &bytes) &&
                    oxi_mul_size((size_t)slots, bytes, &bytes);
        job->rows = fits ? (char *)oxi_alloc(bytes) : NULL;
        if (!job->rows) status = fits ? OX_ERR_NOMEM : oxi_fail_memory(SIZE_MAX);
    }
    job->expert = status == OX_OK ? (oxi_expert *)oxi_calloc((size_t)used, sizeof *job->expert) : NULL;
    if (!job->expert) status = OX_ERR_NOMEM;
    for (int64_t id = 0; id < experts && status == OX_OK; first = end[id++])
        if (end[id] > first)
            status = oxi_expert_set(job, &job->expert[i++], bias, id, first, end[id] - first, to, used);
    if (status == OX_OK) status = oxi_experts_run(job, used, slots);
    while (i-- > 0) oxi_free(job->expert[i].bias, (size_t)job->p.g.n * sizeof(float));
    oxi_free(job->expert, (size_t)used * sizeof *job->expert);
    oxi_free(job->rows, bytes);
    oxi_free(from, 2 * (size_t)slots * sizeof *from);
    oxi_free(end, (size_t)experts * sizeof *end);
    return status;
}

static ox_status oxi_cpu_experts(const oxi_call *call) {
    const ox_tensor *x = call->in[0], *w = call->in[1];
    int64_t experts = w->shape[0];
    oxi_repacked *held = NULL;
    oxi_experts job;
    ox_status status = oxi_check_indices("linear_experts", call->in[2], experts, "a weight");
    if (status != OX_OK || ox_numel(call->out[0]) == 0) return status;
    memset(&job, 0, sizeof job);
    oxi_gemm *g = &job.p.g;
    oxi_product_plan(&job.p, call);
    if (g->n % OXI_REPACKED_ROWS == 0 && w->stride[0] == g->n * g->k)
        held = oxi_repacked_hold(w, experts * g->n, g->b_col, g->k);
    g->repacked = held != NULL;
    if (!held) oxi_storage_plain(w->storage);
    g->a = oxi_ptr(x);
    g->b = oxi_ptr(w);
    g->c = oxi_ptr(call->out[0]);
    if (experts <= OXI_PREPACKED_MOST) g->b_storage = w->storage;
    status = oxi_experts_share_out(&job, call);
    oxi_repacked_let_go(held);
    return status;
}
