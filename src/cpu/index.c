/* Moving by index: gather, scatter, selections, embedding, one_hot, triangles, cat and roll.
 * Indices are all checked before anything is written. Gathers run in parallel over the result; scatters
 * over dims along which no two elements can meet, so equal indices act in row-major order. Called by the
 * CPU device for INDEX. */

enum { OXI_INDEX_GRAIN = 1 << 15, OXI_INDEX_PIECE = 256 };

/* ---- indices: i32 or i64, any strides ------------------------------------------------------------------ */

static int64_t oxi_index_at(const char *p, bool wide) {
    int64_t value;
    int32_t narrow;
    if (wide) {
        memcpy(&value, p, sizeof value);
        return value;
    }
    memcpy(&narrow, p, sizeof narrow);
    return narrow;
}

typedef struct oxi_index_check {
    bool wide;
    int64_t size;                /* of the dim that is indexed */
    int64_t bad_position, value; /* the first index out of range, under the lock; -1 = none */
    oxi_lock lock;
} oxi_index_check;

static void oxi_index_check_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    oxi_index_check *check = (oxi_index_check *)arg;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t value = oxi_index_at(c->p[0] + i * w->step[0] * w->bytes[0], check->wide);
        if (value >= 0 && value < check->size) continue;
        oxi_lock_take(&check->lock);
        if (check->bad_position < 0 || c->position + i < check->bad_position) {
            check->bad_position = c->position + i;
            check->value = value;
        }
        oxi_lock_give(&check->lock);
        return;
    }
}

/* OX_ERR_INDEX with value and place unless all of `index` is in [0, size). what: "dim 1", "a table". */
static ox_status oxi_check_indices(const char *op, const ox_tensor *index, int64_t size, const char *what) {
    oxi_index_check check;
    memset(&check, 0, sizeof check);
    check.wide = index->dtype == OX_I64;
    check.size = size;
    check.bad_position = -1;
    oxi_walk w;
    oxi_walk_begin(&w, index->ndim, index->shape);
    oxi_walk_add(&w, index);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    oxi_walk_all(&w, OXI_INDEX_GRAIN, OXI_INDEX_GRAIN, oxi_index_check_piece, &check);
    if (check.bad_position < 0) return OX_OK;
    int64_t place[OX_MAX_DIMS], rest = check.bad_position;
    for (int d = index->ndim - 1; d >= 0; d--) {
        place[d] = rest % index->shape[d];
        rest /= index->shape[d];
    }
    return oxi_fail(OX_ERR_INDEX, "%s: index %lld at %s is out of range for %s of size %lld", op,
                    (long long)check.value, oxi_shape_text(index->ndim, place), what, (long long)size);
}

static ox_status oxi_check_dim_indices(const char *op, const ox_tensor *index, const ox_tensor *x, int dim) {
    char what[32];
    snprintf(what, sizeof what, "dim %d", dim);
    return oxi_check_indices(op, index, x->shape[dim], what);
}

/* A header with at least one dim: a single number is a row of one. */
static ox_tensor oxi_at_least_1d(const ox_tensor *t) {
    ox_tensor row = *t;
    if (row.ndim == 0) {
        row.ndim = 1;
        row.shape[0] = 1;
        row.stride[0] = 1;
    }
    return row;
}

/* ---- runs: the tensor that is indexed stands still along dim, the index moves it ----------------------- */

typedef struct oxi_index_job {
    int64_t dim_step; /* bytes between neighbours along dim in the indexed tensor */
    bool wide;
    int indexed; /* its place among the walk's operands; the index is operand 1 */
    oxi_walk walk;
    int split; /* scatters: the dim that tasks share out, and into how many parts; parts 1 = one task */
    int64_t parts;
    void (*add)(const struct oxi_index_job *job, int64_t n, char *to, int64_t to_step, const char *from,
                int64_t from_step);
    ox_dtype dtype;
    double alpha;
} oxi_index_job;

/* Byte offsets of the indexed tensor's elements i .. i + n of a piece. */
static void oxi_index_offsets(const oxi_index_job *job, const oxi_walk *w, const oxi_cursor *c, int64_t first,
                              int64_t n, int64_t *at) {
    int64_t step = w->step[job->indexed] * w->bytes[job->indexed], index_step = w->step[1] * w->bytes[1];
    const char *index = c->p[1] + first * index_step;
    if (job->wide) {
        for (int64_t i = 0; i < n; i++)
            at[i] = (first + i) * step + oxi_index_at(index + i * index_step, true) * job->dim_step;
    } else {
        for (int64_t i = 0; i < n; i++)
            at[i] = (first + i) * step + oxi_index_at(index + i * index_step, false) * job->dim_step;
    }
}

#define OXI_GATHER_RUN(type) \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + at[i], sizeof(type));

/* Operands: out, index, x. */
static void oxi_gather_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_index_job *job = (const oxi_index_job *)arg;
    int64_t at[OXI_INDEX_PIECE], bytes = w->bytes[0], to_step = w->step[0] * bytes;
    const char *from = c->p[2];
    if (w->step[1] == 0) {
        from += oxi_index_at(c->p[1], job->wide) * job->dim_step;
        oxi_copy_run(c->n, bytes, from, w->step[2] * bytes, c->p[0], to_step);
        return;
    }
    for (int64_t first = 0; first < c->n; first += OXI_INDEX_PIECE) {
        int64_t n = oxi_min_i64(c->n - first, OXI_INDEX_PIECE);
        char *to = c->p[0] + first * to_step;
        oxi_index_offsets(job, w, c, first, n, at);
        if (bytes == 4)
            OXI_GATHER_RUN(uint32_t)
        else if (bytes == 2)
            OXI_GATHER_RUN(uint16_t)
        else if (bytes == 1)
            OXI_GATHER_RUN(uint8_t)
        else
            OXI_GATHER_RUN(uint64_t)
    }
}

/* out[..] = x[.., index[..], ..]: x stands still along dim and lies like out along the others. */
static void oxi_gather_walk(const ox_tensor *out, const ox_tensor *index, const int64_t *index_stride,
                            const ox_tensor *x, int dim) {
    oxi_index_job job;
    int64_t x_stride[OX_MAX_DIMS];
    memset(&job, 0, sizeof job);
    job.dim_step = x->stride[dim] * oxi_dtype_bytes(x->dtype);
    job.wide = index->dtype == OX_I64;
    job.indexed = 2;
    for (int d = 0; d < out->ndim; d++) x_stride[d] = d == dim ? 0 : x->stride[d];
    oxi_walk w;
    oxi_walk_begin(&w, out->ndim, out->shape);
    oxi_walk_add(&w, out);
    oxi_walk_add_raw(&w, oxi_ptr(index), oxi_dtype_bytes(index->dtype), index_stride);
    oxi_walk_add_raw(&w, oxi_ptr(x), oxi_dtype_bytes(x->dtype), x_stride);
    oxi_walk_ready(&w, OXI_WALK_ANY_ORDER);
    oxi_walk_all(&w, OXI_INDEX_GRAIN, OXI_INDEX_GRAIN, oxi_gather_piece, &job);
}

static ox_status oxi_gather_run(const oxi_call *call) {
    ox_tensor x = oxi_at_least_1d(call->in[0]), index = oxi_at_least_1d(call->in[1]),
              out = oxi_at_least_1d(call->out[0]);
    ox_status status = oxi_check_dim_indices("gather", &index, &x, call->attr.dim);
    if (status == OX_OK) oxi_gather_walk(&out, &index, index.stride, &x, call->attr.dim);
    return status;
}

static ox_status oxi_index_select_run(const oxi_call *call) {
    ox_tensor x = oxi_at_least_1d(call->in[0]), index = oxi_at_least_1d(call->in[1]),
              out = oxi_at_least_1d(call->out[0]);
    int64_t index_stride[OX_MAX_DIMS] = {0};
    ox_status status = oxi_check_dim_indices("index_select", &index, &x, call->attr.dim);
    if (status != OX_OK) return status;
    index_stride[call->attr.dim] = index.stride[0];
    oxi_gather_walk(&out, &index, index_stride, &x, call->attr.dim);
    return OX_OK;
}

/* ---- scatter, scatter_add, index_add ------------------------------------------------------------------- */

#define OXI_ADD_RUN(type, sum)                                          \
    for (int64_t i = 0; i < n; i++, to += to_step, from += from_step) { \
        type a, b;                                                      \
        memcpy(&a, to, sizeof a);                                       \
        memcpy(&b, from, sizeof b);                                     \
        a = (type)(sum);                                                \
        memcpy(to, &a, sizeof a);                                       \
    }

static void oxi_add_run_f32(const oxi_index_job *job, int64_t n, char *to, int64_t to_step, const char *from,
                            int64_t from_step) {
    float alpha = (float)job->alpha;
    if (n >= 8 && to_step == 4 && from_step == 4)
        oxi_cpu_kernels()->axpy_f32(n, alpha, (const float *)(const void *)from, (float *)(void *)to);
    else
        OXI_ADD_RUN(float, a + alpha * b)
}

static void oxi_add_run_f64(const oxi_index_job *job, int64_t n, char *to, int64_t to_step, const char *from,
                            int64_t from_step) {
    OXI_ADD_RUN(double, a + job->alpha * b)
}

static void oxi_add_i32(const oxi_index_job *job, int64_t n, char *to, int64_t to_step, const char *from,
                        int64_t from_step) {
    uint32_t alpha = (uint32_t)(int64_t)job->alpha;
    OXI_ADD_RUN(uint32_t, a + alpha * b)
}

static void oxi_add_run_i64(const oxi_index_job *job, int64_t n, char *to, int64_t to_step, const char *from,
                            int64_t from_step) {
    uint64_t alpha = (uint64_t)(int64_t)job->alpha;
    OXI_ADD_RUN(uint64_t, a + alpha * b)
}

/* The other dtypes through their lane: floats round after each addition, integers wrap, bool is "or". */
static void oxi_add_lane(const oxi_index_job *job, int64_t n, char *to, int64_t to_step, const char *from,
                         int64_t from_step) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    oxi_lane lane = oxi_lane_of(job->dtype);
    int64_t bytes = oxi_dtype_bytes(job->dtype), lane_bytes = oxi_lane_bytes(lane);
    double a[OXI_INDEX_PIECE], b[OXI_INDEX_PIECE];
    oxi_index_job scale;
    memset(&scale, 0, sizeof scale);
    scale.alpha = job->alpha;
    for (int64_t at = 0; at < n; at += OXI_INDEX_PIECE) {
        int64_t part = oxi_min_i64(n - at, OXI_INDEX_PIECE);
        kernels->load[job->dtype][lane](part, to + at * to_step, to_step / bytes, a);
        kernels->load[job->dtype][lane](part, from + at * from_step, from_step / bytes, b);
        if (lane == OXI_LANE_F32)
            oxi_add_run_f32(&scale, part, (char *)a, lane_bytes, (const char *)b, lane_bytes);
        else if (lane == OXI_LANE_C64)
            oxi_add_run_f32(&scale, 2 * part, (char *)a, 4, (const char *)b, 4);
        else
            oxi_add_run_i64(&scale, part, (char *)a, lane_bytes, (const char *)b, lane_bytes);
        kernels->store[job->dtype][lane](part, a, to + at * to_step, to_step / bytes);
    }
}

/* Operands: out, index, source, in row-major order along dim. */
static void oxi_scatter_piece(const oxi_index_job *job, const oxi_walk *w, const oxi_cursor *c) {
    int64_t at[OXI_INDEX_PIECE], bytes = w->bytes[0], from_step = w->step[2] * bytes;
    if (w->step[1] == 0) {
        char *to = c->p[0] + oxi_index_at(c->p[1], job->wide) * job->dim_step;
        if (job->add)
            job->add(job, c->n, to, w->step[0] * bytes, c->p[2], from_step);
        else
            oxi_copy_run(c->n, bytes, c->p[2], from_step, to, w->step[0] * bytes);
        return;
    }
    for (int64_t first = 0; first < c->n; first += OXI_INDEX_PIECE) {
        int64_t n = oxi_min_i64(c->n - first, OXI_INDEX_PIECE);
        const char *from = c->p[2] + first * from_step;
        oxi_index_offsets(job, w, c, first, n, at);
        for (int64_t i = 0; i < n; i++) {
            if (job->add)
                job->add(job, 1, c->p[0] + at[i], bytes, from + i * from_step, bytes);
            else
                oxi_copy_run(1, bytes, from + i * from_step, bytes, c->p[0] + at[i], bytes);
        }
    }
}

/* Part `index` of the dim that tasks share out, everything along the others. */
static void oxi_scatter_task(void *arg, int64_t index, int lane) {
    (void)lane;
    const oxi_index_job *job = (const oxi_index_job *)arg;
    oxi_walk w = job->walk;
    oxi_cursor c;
    int64_t size = w.shape[job->split], first = size * index / job->parts,
            end = size * (index + 1) / job->parts;
    w.shape[job->split] = end - first;
    for (int k = 0; k < w.operands; k++) w.base[k] += first * w.stride[k][job->split] * w.bytes[k];
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    for (oxi_walk_seek(&w, &c, 0, w.numel, w.length); c.n; oxi_walk_next(&w, &c))
        oxi_scatter_piece(job, &w, &c);
}

/* The largest dim but `dim`, in parts of at least OXI_INDEX_GRAIN elements that do not share a cache line. */
static void oxi_scatter_split(oxi_index_job *job, int dim) {
    const oxi_walk *w = &job->walk;
    int64_t total = 1;
    job->split = dim ? 0 : w->ndim - 1;
    for (int d = 0; d < w->ndim; d++) {
        total *= w->shape[d];
        if (d != dim && w->shape[d] > w->shape[job->split]) job->split = d;
    }
    job->parts = total / OXI_INDEX_GRAIN;
    int64_t most = job->split == dim ? 1 : w->shape[job->split];
    if (llabs(w->stride[0][job->split]) * w->bytes[0] < 64) most = most * w->bytes[0] / 64;
    if (job->parts > most) job->parts = most;
    if (job->parts < 1) job->parts = 1;
}

/* out = in[0], then moved or added to; add NULL = scatter. */
static ox_status oxi_scatter_walk(const oxi_call *call, const ox_tensor *index, const int64_t *index_stride,
                                  const ox_tensor *source, bool add, double alpha) {
    ox_tensor out = oxi_at_least_1d(call->out[0]);
    int dim = call->attr.dim;
    oxi_index_job job;
    int64_t out_stride[OX_MAX_DIMS];
    memset(&job, 0, sizeof job);
    job.dim_step = out.stride[dim] * oxi_dtype_bytes(out.dtype);
    job.wide = index->dtype == OX_I64;
    job.indexed = 0;
    job.dtype = out.dtype;
    job.alpha = alpha;
    if (add) {
        bool wide_int = out.dtype == OX_I64 || out.dtype == OX_U64,
             int32 = out.dtype == OX_I32 || out.dtype == OX_U32;
        job.add = out.dtype == OX_F32   ? oxi_add_run_f32
                  : out.dtype == OX_F64 ? oxi_add_run_f64
                  : wide_int            ? oxi_add_run_i64
                  : int32               ? oxi_add_i32
                                        : oxi_add_lane;
    }
    for (int d = 0; d < out.ndim; d++) out_stride[d] = d == dim ? 0 : out.stride[d];
    ox_status status = oxi_cpu_copy_strided(call->in[0], call->out[0]);
    if (status != OX_OK) return status;
    /* the walk covers the source's part that has indices */
    int64_t shape[OX_MAX_DIMS];
    for (int d = 0; d < out.ndim; d++)
        shape[d] = index_stride == index->stride ? index->shape[d] : source->shape[d];
    oxi_walk_begin(&job.walk, out.ndim, shape);
    oxi_walk_add_raw(&job.walk, oxi_ptr(&out), oxi_dtype_bytes(out.dtype), out_stride);
    oxi_walk_add_raw(&job.walk, oxi_ptr(index), oxi_dtype_bytes(index->dtype), index_stride);
    oxi_walk_add_raw(&job.walk, oxi_ptr(source), oxi_dtype_bytes(source->dtype), source->stride);
    oxi_scatter_split(&job, dim);
    oxi_parallel_for(job.parts, oxi_scatter_task, &job);
    return OX_OK;
}

static ox_status oxi_scatter_run(const oxi_call *call) {
    ox_tensor x = oxi_at_least_1d(call->in[0]), index = oxi_at_least_1d(call->in[1]),
              source = oxi_at_least_1d(call->in[2]);
    ox_status status = oxi_check_dim_indices(oxi_op_row_of(call->op)->name, &index, &x, call->attr.dim);
    if (status != OX_OK) return status;
    return oxi_scatter_walk(call, &index, index.stride, &source, call->op == OXI_OP_scatter_add, 1);
}

static ox_status oxi_index_add_run(const oxi_call *call) {
    ox_tensor x = oxi_at_least_1d(call->in[0]), index = oxi_at_least_1d(call->in[1]),
              source = oxi_at_least_1d(call->in[2]);
    int64_t index_stride[OX_MAX_DIMS] = {0};
    ox_status status = oxi_check_dim_indices("index_add", &index, &x, call->attr.dim);
    if (status != OX_OK) return status;
    index_stride[call->attr.dim] = index.stride[0];
    return oxi_scatter_walk(call, &index, index_stride, &source, true, call->attr.f[0]);
}

/* Rows of a task. */
static int64_t oxi_index_row_grain(int64_t columns) {
    return columns > 0 && columns < OXI_INDEX_GRAIN ? OXI_INDEX_GRAIN / columns : 1;
}

/* ---- embedding, one_hot -------------------------------------------------------------------------------- */

typedef struct oxi_embedding {
    const ox_tensor *table, *out;
    oxi_store_kernel store;
    int64_t row_bytes;
    bool wide;
} oxi_embedding;

/* Operands: out without its last dim, ids. */
static void oxi_embedding_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_embedding *job = (const oxi_embedding *)arg;
    const ox_tensor *out = job->out;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t id = oxi_index_at(c->p[1] + i * w->step[1] * w->bytes[1], job->wide);
        oxi_expand_run(job->table->dtype, job->table->shape[1], oxi_ptr(job->table) + id * job->row_bytes,
                       out->dtype, job->store, c->p[0] + i * w->step[0] * w->bytes[0],
                       out->stride[out->ndim - 1]);
    }
}

static ox_status oxi_embedding_run(const oxi_call *call) {
    const ox_tensor *table = call->in[0], *ids = call->in[1], *out = call->out[0];
    ox_status status = oxi_check_indices("embedding", ids, table->shape[0], "a table");
    if (status != OX_OK) return status;
    if (!oxi_is_block(table->dtype)) { /* the rows of dim 0, ids standing still along the last dim */
        int64_t index_stride[OX_MAX_DIMS] = {0};
        ox_tensor rows = *out;
        for (int d = 0; d < ids->ndim; d++) index_stride[d] = ids->stride[d];
        oxi_index_job job;
        memset(&job, 0, sizeof job);
        job.dim_step = table->stride[0] * oxi_dtype_bytes(table->dtype);
        job.wide = ids->dtype == OX_I64;
        job.indexed = 2;
        int64_t table_stride[OX_MAX_DIMS] = {0};
        table_stride[rows.ndim - 1] = table->stride[1];
        oxi_walk w;
        oxi_walk_begin(&w, rows.ndim, rows.shape);
        oxi_walk_add(&w, &rows);
        oxi_walk_add_raw(&w, oxi_ptr(ids), oxi_dtype_bytes(ids->dtype), index_stride);
        oxi_walk_add_raw(&w, oxi_ptr(table), oxi_dtype_bytes(table->dtype), table_stride);
        oxi_walk_ready(&w, OXI_WALK_ANY_ORDER);
        oxi_walk_all(&w, OXI_INDEX_GRAIN, OXI_INDEX_GRAIN, oxi_gather_piece, &job);
        return OX_OK;
    }
    const ox_dtype_info *info = ox_dtype_of(table->dtype);
    oxi_embedding job;
    job.table = table;
    job.out = out;
    job.store = oxi_cpu_kernels()->store[out->dtype][OXI_LANE_F32];
    job.row_bytes = table->stride[0] / info->block_elements * info->block_bytes;
    job.wide = ids->dtype == OX_I64;
    if (!job.store || !oxi_cpu_kernels()->expand[table->dtype] ||
        (table->stride[1] != 1 && table->shape[1] > 1))
        return oxi_fail(OX_ERR_UNSUPPORTED, "embedding: rows of %s must lie end to end",
                        oxi_tensor_text(table));
    oxi_walk w;
    oxi_walk_begin(&w, ids->ndim, ids->shape);
    oxi_walk_add_raw(&w, oxi_ptr(out), oxi_dtype_bytes(out->dtype), out->stride);
    oxi_walk_add(&w, ids);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    oxi_walk_all(&w, oxi_index_row_grain(table->shape[1]), OXI_INDEX_GRAIN, oxi_embedding_piece, &job);
    return OX_OK;
}

/* Operands: out without its last dim, ids; arg: the element 1, the step between classes, width of ids. */
typedef struct oxi_one_hot {
    int64_t class_step;
    bool wide;
} oxi_one_hot;

static void oxi_one_hot_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_one_hot *job = (const oxi_one_hot *)arg;
    static const int64_t one = 1;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t id = oxi_index_at(c->p[1] + i * w->step[1] * w->bytes[1], job->wide);
        memcpy(c->p[0] + (i * w->step[0] + id * job->class_step) * w->bytes[0], &one, sizeof one);
    }
}

static ox_status oxi_one_hot_run(const oxi_call *call) {
    const ox_tensor *out = call->out[0];
    ox_tensor ids = *call->in[0];
    oxi_one_hot job;
    int64_t zero = 0;
    job.class_step = out->stride[out->ndim - 1];
    job.wide = ids.dtype == OX_I64;
    ox_status status = oxi_check_indices("one_hot", &ids, out->shape[out->ndim - 1], "classes");
    if (status != OX_OK) return status;
    oxi_fill_strided(out, &zero);
    oxi_walk w;
    oxi_walk_begin(&w, ids.ndim, ids.shape);
    oxi_walk_add_raw(&w, oxi_ptr(out), oxi_dtype_bytes(out->dtype), out->stride);
    oxi_walk_add(&w, &ids);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    oxi_walk_all(&w, OXI_INDEX_GRAIN, OXI_INDEX_GRAIN, oxi_one_hot_piece, &job);
    return OX_OK;
}

/* ---- sizes that depend on the numbers: masked_select, nonzero ------------------------------------------ */

/* Both run twice over tasks of OXI_INDEX_GRAIN positions: first each counts what it will give, then it
 * writes behind the tasks before it. The result was made by somebody who counted earlier: another number
 * now is an error. */
typedef struct oxi_select {
    oxi_walk walk;        /* what is tested (operand 0), x of masked_select (1) */
    oxi_conversion truth; /* nonzero: to bool; load and store NULL = the tested bytes are bool */
    bool convert;
    const ox_tensor *x, *out;
    int64_t *counts; /* a task: its number, then its first place */
    bool write;
} oxi_select;

/* The truth of up to OXI_COPY_PIECE elements. */
static void oxi_select_truth(const oxi_select *job, const oxi_walk *w, const oxi_cursor *c, uint8_t *truth) {
    if (job->convert)
        oxi_convert_run(&job->truth, c->n, c->p[0], w->step[0], (char *)truth, 1);
    else
        oxi_copy_run(c->n, 1, c->p[0], w->step[0], (char *)truth, 1);
}

static void oxi_write_coordinates(const ox_tensor *x, const ox_tensor *out, int64_t row, int64_t position) {
    char *to = oxi_ptr(out) + row * out->stride[0] * (int64_t)sizeof(int64_t);
    for (int d = x->ndim - 1; d >= 0; d--) {
        int64_t coordinate = position % x->shape[d];
        position /= x->shape[d];
        memcpy(to + d * out->stride[1] * (int64_t)sizeof coordinate, &coordinate, sizeof coordinate);
    }
}

static void oxi_select_task(void *arg, int64_t index, int lane) {
    (void)lane;
    oxi_select *job = (oxi_select *)arg;
    const oxi_walk *w = &job->walk;
    int64_t first = index * OXI_INDEX_GRAIN, count = w->numel - first,
            place = job->write ? job->counts[index] : 0;
    uint8_t truth[OXI_COPY_PIECE];
    oxi_cursor c;
    if (count > OXI_INDEX_GRAIN) count = OXI_INDEX_GRAIN;
    for (oxi_walk_seek(w, &c, first, count, OXI_COPY_PIECE); c.n; oxi_walk_next(w, &c)) {
        oxi_select_truth(job, w, &c, truth);
        for (int64_t i = 0; i < c.n; i++) {
            if (!truth[i]) continue;
            if (job->write && w->operands == 1) {
                oxi_write_coordinates(job->x, job->out, place, c.position + i);
            } else if (job->write) {
                int64_t bytes = w->bytes[1];
                memcpy(oxi_ptr(job->out) + place * job->out->stride[0] * bytes,
                       c.p[1] + i * w->step[1] * bytes, (size_t)bytes);
            }
            place++;
        }
    }
    if (!job->write) job->counts[index] = place;
}

static ox_status oxi_select_run(oxi_select *job, const char *op) {
    int64_t tasks = oxi_walk_tasks(&job->walk, OXI_INDEX_GRAIN), total = 0;
    size_t bytes = (size_t)tasks * sizeof *job->counts;
    job->counts = (int64_t *)oxi_alloc(bytes);
    if (!job->counts) return OX_ERR_NOMEM;
    job->write = false;
    oxi_parallel_for(tasks, oxi_select_task, job);
    for (int64_t i = 0; i < tasks; i++) {
        int64_t count = job->counts[i];
        job->counts[i] = total;
        total += count;
    }
    job->write = true;
    ox_status status = OX_OK;
    if (total == job->out->shape[0])
        oxi_parallel_for(tasks, oxi_select_task, job);
    else
        status = oxi_fail(OX_ERR_ARG, "%s: the operand changed while it was read", op);
    oxi_free(job->counts, bytes);
    return status;
}

static ox_status oxi_masked_select_run(const oxi_call *call) {
    const ox_tensor *x = call->in[0], *mask = call->in[1];
    int64_t shape[OX_MAX_DIMS];
    int ndim = x->ndim > mask->ndim ? x->ndim : mask->ndim;
    for (int d = 1; d <= ndim; d++) {
        int64_t x_size = d <= x->ndim ? x->shape[x->ndim - d] : 1,
                mask_size = d <= mask->ndim ? mask->shape[mask->ndim - d] : 1;
        shape[ndim - d] = x_size == 1 ? mask_size : x_size;
    }
    oxi_select job;
    memset(&job, 0, sizeof job);
    job.x = x;
    job.out = call->out[0];
    oxi_walk_begin(&job.walk, ndim, shape);
    oxi_walk_add(&job.walk, mask);
    oxi_walk_add(&job.walk, x);
    oxi_walk_ready(&job.walk, OXI_WALK_IN_ORDER);
    return oxi_select_run(&job, "masked_select");
}

static ox_status oxi_nonzero_run(const oxi_call *call) {
    oxi_select job;
    memset(&job, 0, sizeof job);
    job.x = call->in[0];
    job.out = call->out[0];
    if (job.x->dtype != OX_BOOL) {
        ox_status status = oxi_conversion_begin(&job.truth, job.x->dtype, OX_BOOL);
        if (status != OX_OK) return status;
        job.convert = true;
    }
    oxi_walk_begin(&job.walk, job.x->ndim, job.x->shape);
    oxi_walk_add(&job.walk, job.x);
    oxi_walk_ready(&job.walk, OXI_WALK_IN_ORDER);
    return oxi_select_run(&job, "nonzero");
}

/* ---- triangles ----------------------------------------------------------------------------------------- */

typedef struct oxi_triangle {
    int64_t rows, columns, diagonal;
    int64_t out_step, in_step; /* bytes between columns */
    bool upper;
} oxi_triangle;

/* Operands: out and x without their last dim. Row i keeps columns from i + diagonal on (upper) or up to it
 * (lower). */
static void oxi_triangle_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_triangle *job = (const oxi_triangle *)arg;
    static const char zero[8] = {0};
    int64_t bytes = w->bytes[0];
    for (int64_t i = 0; i < c->n; i++) {
        int64_t row = (c->position + i) % job->rows;
        /* without overflow: the diagonal may be any number */
        int64_t edge = job->diagonal > job->columns ? job->columns
                       : job->diagonal < -job->rows ? -job->rows
                                                    : job->diagonal;
        edge += row + !job->upper;
        edge = edge < 0 ? 0 : edge > job->columns ? job->columns : edge;
        int64_t keep = job->upper ? edge : 0, kept = job->upper ? job->columns - edge : edge;
        int64_t clear = job->upper ? 0 : edge, cleared = job->columns - kept;
        char *to = c->p[0] + i * w->step[0] * bytes;
        const char *from = c->p[1] + i * w->step[1] * bytes;
        if (to != from)
            oxi_copy_run(kept, bytes, from + keep * job->in_step, job->in_step, to + keep * job->out_step,
                         job->out_step);
        oxi_splat_run(cleared, bytes, zero, to + clear * job->out_step, job->out_step);
    }
}

static ox_status oxi_triangle_run(const oxi_call *call) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    int last = x->ndim - 1;
    int64_t bytes = oxi_dtype_bytes(x->dtype);
    oxi_triangle job;
    job.rows = x->shape[last - 1];
    job.columns = x->shape[last];
    job.diagonal = call->attr.i[0];
    job.out_step = out->stride[last] * bytes;
    job.in_step = x->stride[last] * bytes;
    job.upper = call->op == OXI_OP_triu;
    if (job.columns == 0) return OX_OK;
    oxi_walk w;
    oxi_walk_begin(&w, last, x->shape);
    oxi_walk_add_raw(&w, oxi_ptr(out), bytes, out->stride);
    oxi_walk_add_raw(&w, oxi_ptr(x), bytes, x->stride);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    oxi_walk_all(&w, oxi_index_row_grain(job.columns), OXI_INDEX_GRAIN, oxi_triangle_piece, &job);
    return OX_OK;
}

/* ---- cat, roll ----------------------------------------------------------------------------------------- */

static ox_status oxi_cat_run(const oxi_call *call) {
    ox_tensor part = *call->out[0];
    int dim = call->attr.dim;
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *in = call->in[i];
        if (ox_numel(in) == 0) continue; /* also [0], which torch lets join anything */
        part.shape[dim] = in->shape[dim];
        ox_status status = oxi_cpu_copy_strided(in, &part);
        if (status != OX_OK) return status;
        part.offset += in->shape[dim] * part.stride[dim];
    }
    return OX_OK;
}

/* Each rolled dim falls into two pieces, the one that moves up and the one that comes round; every
 * combination of pieces is a copy. shift[d] in [0, size of dim d), 0 for dims that stay. */
static ox_status oxi_roll_dims(const ox_tensor *from, const ox_tensor *to, const int64_t *shift, int dim) {
    while (dim < from->ndim && shift[dim] == 0) dim++;
    if (dim == from->ndim) return oxi_cpu_copy_strided(from, to);
    ox_tensor from_part = *from, to_part = *to;
    int64_t size = from->shape[dim], by = shift[dim];
    from_part.shape[dim] = to_part.shape[dim] = size - by;
    to_part.offset += by * to->stride[dim];
    ox_status status = oxi_roll_dims(&from_part, &to_part, shift, dim + 1);
    if (status != OX_OK) return status;
    from_part = *from;
    to_part = *to;
    from_part.shape[dim] = to_part.shape[dim] = by;
    from_part.offset += (size - by) * from->stride[dim];
    return oxi_roll_dims(&from_part, &to_part, shift, dim + 1);
}

static ox_status oxi_roll_run(const oxi_call *call) {
    const ox_tensor *x = call->in[0];
    int64_t shift[OX_MAX_DIMS] = {0};
    if (ox_numel(x) == 0) return OX_OK;
    for (int i = 0; i < call->attr.stride.ndim; i++) { /* a dim may be named twice */
        int dim = (int)call->attr.stride.dim[i];
        int64_t size = x->shape[dim], by = call->attr.shape.dim[i] % size;
        shift[dim] = (shift[dim] + by + size) % size;
    }
    return oxi_roll_dims(x, call->out[0], shift, 0);
}

static ox_status oxi_cpu_index(const oxi_call *call) {
    switch (call->op) {
    case OXI_OP_gather: return oxi_gather_run(call);
    case OXI_OP_scatter:
    case OXI_OP_scatter_add: return oxi_scatter_run(call);
    case OXI_OP_index_select: return oxi_index_select_run(call);
    case OXI_OP_index_add: return oxi_index_add_run(call);
    case OXI_OP_masked_select: return oxi_masked_select_run(call);
    case OXI_OP_nonzero: return oxi_nonzero_run(call);
    case OXI_OP_embedding: return oxi_embedding_run(call);
    case OXI_OP_one_hot: return oxi_one_hot_run(call);
    case OXI_OP_triu:
    case OXI_OP_tril: return oxi_triangle_run(call);
    case OXI_OP_cat: return oxi_cat_run(call);
    case OXI_OP_roll: return oxi_roll_run(call);
    default: return oxi_fail(OX_ERR_UNSUPPORTED, "%s: not an op of indices", oxi_op_row_of(call->op)->name);
    }
}
