/* Moving by index: gather, scatter, selections, embedding, one_hot, triangles, cat and roll.
 * Indices are all checked before anything is written. Gathers run in parallel over the result; scatters
 * over dims along which no two elements can meet, so equal indices act in row-major order. Called by the
 * CPU device for INDEX. */

enum { OXI_INDEX_GRAIN = 1 << 15, OXI_INDEX_PIECE = 256 };

/* ---- indices: i32 or i64, any strides ------------------------------------------------------------------ */

OXI_SMALL int64_t oxi_index_at(const char *p, bool wide) {
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

static OXI_ALIGNED void oxi_index_check_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    oxi_index_check *check = (oxi_index_check *)arg;
    int64_t step = w->step[0] * w->bytes[0];
    uint64_t size = (uint64_t)check->size;
    bool bad = false; /* a negative index is a large one without its sign */
    if (check->wide) {
        for (int64_t i = 0; i < c->n; i++) bad |= (uint64_t)oxi_index_at(c->p[0] + i * step, true) >= size;
    } else {
        for (int64_t i = 0; i < c->n; i++) bad |= (uint64_t)oxi_index_at(c->p[0] + i * step, false) >= size;
    }
    for (int64_t i = 0; bad && i < c->n; i++) {
        int64_t value = oxi_index_at(c->p[0] + i * step, check->wide);
        if ((uint64_t)value < size) continue;
        oxi_lock_take(&check->lock);
        if (check->bad_position < 0 || c->position + i < check->bad_position) {
            check->bad_position = c->position + i;
            check->value = value;
        }
        oxi_lock_give(&check->lock);
        return;
    }
}

/* OX_ERR_INDEX with value and place unless all of `index` is in [0, size). what: "dim 1", "a table"; from:
 * where in the indices of a whole these begin, or NULL. */
static ox_status oxi_check_indices_of(const char *op, const ox_tensor *index, int64_t size, const char *what,
                                      const int64_t *from) {
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
        place[d] = rest % index->shape[d] + (from ? from[d] : 0);
        rest /= index->shape[d];
    }
    return oxi_fail(OX_ERR_INDEX, "%s: index %lld at %s is out of range for %s of size %lld", op,
                    (long long)check.value, oxi_shape_text(index->ndim, place), what, (long long)size);
}

static ox_status oxi_check_indices(const char *op, const ox_tensor *index, int64_t size, const char *what) {
    return oxi_check_indices_of(op, index, size, what, NULL);
}

static ox_status oxi_check_dim_indices(const char *op, const ox_tensor *index, const ox_tensor *x, int dim,
                                       const int64_t *from) {
    static const char *const names[OX_MAX_DIMS] = {"dim 0", "dim 1", "dim 2", "dim 3",
                                                   "dim 4", "dim 5", "dim 6", "dim 7"};
    return oxi_check_indices_of(op, index, x->shape[dim], names[dim], from);
}

/* ---- runs: the tensor that is indexed stands still along dim, the index moves it ----------------------- */

struct oxi_index_job;
/* n elements at `from` (from_step bytes apart) go to, or are added to, the elements at to + at[i]. */
typedef void (*oxi_scatter_kernel)(const struct oxi_index_job *job, int64_t n, char *to, const int64_t *at,
                                   const char *from, int64_t from_step);

typedef struct oxi_index_job {
    int64_t dim_step; /* bytes between neighbors along dim in the indexed tensor */
    int64_t start, end; /* of a slice of that dim, whose elements alone are moved; end 0: it is all there */
    bool wide;
    int indexed; /* its place among the walk's operands; the index is operand 1 */
    /* scatters */
    oxi_walk walk;
    int split; /* the dim that tasks share out, and into how many parts */
    int64_t parts;
    bool add; /* or combined otherwise: what is there counts */
    oxi_scatter_kernel scatter;
    oxi_map_kernel combine; /* of the lane of dtype, in place of sums; NULL: none */
    ox_dtype dtype;
    double alpha;
} oxi_index_job;

/* Byte offsets of the indexed tensor's elements i .. i + n of a piece. */
static OXI_ALIGNED void oxi_index_offsets(const oxi_index_job *job, const oxi_walk *w, const oxi_cursor *c,
                                          int64_t first, int64_t n, int64_t *at) {
    const int64_t step = w->step[job->indexed] * w->bytes[job->indexed],
                  index_step = w->step[1] * w->bytes[1], dim_step = job->dim_step;
    const char *index = c->p[1] + first * index_step;
    int64_t base = first * step - job->start * dim_step;
    if (job->wide) {
        for (int64_t i = 0; i < n; i++, base += step)
            at[i] = base + oxi_index_at(index + i * index_step, true) * dim_step;
    } else {
        for (int64_t i = 0; i < n; i++, base += step)
            at[i] = base + oxi_index_at(index + i * index_step, false) * dim_step;
    }
}

#define OXI_GATHER(type) \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + at[i], sizeof(type));

/* n elements of `bytes` bytes at from + at[i] to to, to_step bytes apart. */
static OXI_ALIGNED void oxi_gather_elements(int64_t n, int64_t bytes, const char *from, const int64_t *at,
                                            char *to, int64_t to_step) {
    if (bytes == 4) {
        OXI_GATHER(uint32_t)
    } else if (bytes == 2) {
        OXI_GATHER(uint16_t)
    } else if (bytes == 1) {
        OXI_GATHER(uint8_t)
    } else {
        OXI_GATHER(uint64_t)
    }
}

/* How many of elements first .. first + n of a piece the slice has from the first of them on, or lacks
 * (*has: which). */
static int64_t oxi_index_alike(const oxi_index_job *job, const oxi_walk *w, const oxi_cursor *c,
                               int64_t first, int64_t n, bool *has) {
    int64_t step = w->step[1] * w->bytes[1], i = 0;
    *has = true;
    if (!job->end) return n;
    for (; i < n; i++) {
        int64_t at = oxi_index_at(c->p[1] + (first + i) * step, job->wide);
        bool there = at >= job->start && at < job->end;
        if (i == 0) *has = there;
        if (there != *has) break;
    }
    return i;
}

/* A run that one index moves as a whole. Operands: out, index, x. */
static void oxi_gather_run_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_index_job *job = (const oxi_index_job *)arg;
    const int64_t bytes = w->bytes[0], at = oxi_index_at(c->p[1], job->wide);
    if (job->end && (at < job->start || at >= job->end)) return;
    oxi_copy_run(c->n, bytes, c->p[2] + (at - job->start) * job->dim_step, w->step[2] * bytes, c->p[0],
                 w->step[0] * bytes);
}

/* A run with an index for each element. */
static void oxi_gather_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_index_job *job = (const oxi_index_job *)arg;
    int64_t at[OXI_INDEX_PIECE], bytes = w->bytes[0], to_step = w->step[0] * bytes;
    bool has;
    for (int64_t first = 0, n; first < c->n; first += n) {
        n = oxi_index_alike(job, w, c, first, oxi_min_i64(c->n - first, OXI_INDEX_PIECE), &has);
        if (!has) continue;
        oxi_index_offsets(job, w, c, first, n, at);
        oxi_gather_elements(n, bytes, c->p[2], at, c->p[0] + first * to_step, to_step);
    }
}

/* size: of the dim in the call at hand. */
static void oxi_index_job_begin(oxi_index_job *job, const ox_tensor *index, const ox_tensor *indexed,
                                int64_t stride, const oxi_part *part, int64_t size) {
    memset(job, 0, sizeof *job);
    job->dim_step = stride * oxi_dtype_bytes(indexed->dtype);
    job->wide = index->dtype == OX_I64;
    if (!part || !part->sliced) return;
    job->start = part->start;
    job->end = part->start + size;
}

/* The indices of the whole are looked at in each of its parts, which have them as the result has its
 * elements: along `dim` those that put have all. */
static ox_status oxi_check_part(const oxi_call *call, const oxi_part *part, const ox_tensor *index) {
    const oxi_index_form *form = oxi_index_form_of(call->op);
    bool picks = form->kind == OXI_INDEX_PICK, each = form->by == OXI_BY_EACH;
    ox_tensor x = oxi_at_least_1d(part && part->sliced ? part->whole->in[0] : call->in[0]);
    int64_t from[OX_MAX_DIMS] = {0}, rest = part ? part->first : 0;
    int dim = call->attr.along.dim;
    for (int d = x.ndim - 1; d >= 0 && rest > 0; d--) {
        int64_t size = part->whole->out[0]->shape[d];
        if (d == dim ? picks : each) from[each ? d : 0] = rest % size;
        rest /= size;
    }
    return oxi_check_dim_indices(oxi_op_row_of(call->op)->name, index, &x, dim, from);
}

/* out[..] = x[.., index[..], ..]: x stands still along the dim that is indexed and lies like out along the
 * others. */
static void oxi_gather_walk(oxi_index_job *job, const ox_tensor *out, const ox_tensor *index,
                            const int64_t *index_stride, const ox_tensor *x, const int64_t *x_stride) {
    oxi_walk w;
    job->indexed = 2;
    oxi_walk_begin(&w, out->ndim, out->shape);
    oxi_walk_add(&w, out);
    oxi_walk_add_raw(&w, oxi_ptr(index), oxi_dtype_bytes(index->dtype), index_stride);
    oxi_walk_add_raw(&w, oxi_ptr(x), oxi_dtype_bytes(x->dtype), x_stride);
    oxi_walk_ready(&w, OXI_WALK_ANY_ORDER);
    oxi_walk_all(&w, OXI_INDEX_GRAIN, OXI_INDEX_GRAIN, w.step[1] ? oxi_gather_piece : oxi_gather_run_piece,
                 job);
}

/* each: an index for each element, as gather has it; else one along dim, as index_select. */
static ox_status oxi_gather_run(const oxi_call *call, const oxi_part *part, bool each) {
    ox_tensor x = oxi_at_least_1d(call->in[0]), index = oxi_at_least_1d(call->in[1]),
              out = oxi_at_least_1d(call->out[0]);
    int dim = call->attr.along.dim;
    int64_t along[OX_MAX_DIMS] = {0}, stride = x.stride[dim];
    oxi_index_job job;
    ox_status status = oxi_check_part(call, part, &index);
    if (status != OX_OK) return status;
    oxi_index_job_begin(&job, &index, &x, stride, part, x.shape[dim]);
    along[dim] = index.stride[0];
    x.stride[dim] = 0;
    oxi_gather_walk(&job, &out, &index, each ? index.stride : along, &x, x.stride);
    return OX_OK;
}

/* ---- scatter, scatter_add, index_add, scatter_reduce -------------------------------------------------- */

#define OXI_SCATTER(name, type, alpha_type, result)                                                  \
    static void oxi_scatter_##name(const oxi_index_job *job, int64_t n, char *to, const int64_t *at, \
                                   const char *from, int64_t from_step) {                            \
        alpha_type alpha = (alpha_type)job->alpha;                                                   \
        (void)alpha;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                            \
            type a, b;                                                                               \
            memcpy(&a, to + at[i], sizeof a);                                                        \
            memcpy(&b, from + i * from_step, sizeof b);                                              \
            a = (type)(result);                                                                      \
            memcpy(to + at[i], &a, sizeof a);                                                        \
        }                                                                                            \
    }
OXI_SCATTER(1, uint8_t, int64_t, b)
OXI_SCATTER(2, uint16_t, int64_t, b)
OXI_SCATTER(4, uint32_t, int64_t, b)
OXI_SCATTER(8, uint64_t, int64_t, b)
OXI_SCATTER(add_f32, float, float, a + alpha * b)
OXI_SCATTER(add_f64, double, double, a + alpha * b)
OXI_SCATTER(add_i32, uint32_t, int64_t, a + (uint32_t)alpha * b)
OXI_SCATTER(add_i64, uint64_t, int64_t, a + (uint64_t)alpha * b)

/* The other dtypes through their lane, one after the other: floats round after each addition, integers wrap,
 * bool is "or". */
static void oxi_scatter_add_lane(const oxi_index_job *job, int64_t n, char *to, const int64_t *at,
                                 const char *from, int64_t from_step) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    oxi_lane lane = oxi_lane_of(job->dtype);
    oxi_load_kernel load = kernels->load[job->dtype][lane];
    oxi_store_kernel store = kernels->store[job->dtype][lane];
    static const int64_t halves[2] = {0, 4};
    for (int64_t i = 0; i < n; i++) {
        char a[8], b[8];
        load(1, to + at[i], 1, a);
        load(1, from + i * from_step, 1, b);
        if (lane == OXI_LANE_F32)
            oxi_scatter_add_f32(job, 1, a, halves, b, 4);
        else if (lane == OXI_LANE_C64)
            oxi_scatter_add_f32(job, 2, a, halves, b, 4);
        else
            oxi_scatter_add_i64(job, 1, a, halves, b, 8);
        store(1, a, to + at[i], 1);
    }
}

/* Products, and the larger or smaller of two, as the elementwise op gives them. */
static void oxi_scatter_combine(const oxi_index_job *job, int64_t n, char *to, const int64_t *at,
                                const char *from, int64_t from_step) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    oxi_lane lane = oxi_lane_of(job->dtype);
    oxi_load_kernel load = kernels->load[job->dtype][lane];
    oxi_store_kernel store = kernels->store[job->dtype][lane];
    for (int64_t i = 0; i < n; i++) {
        double a[1], b[1];
        const void *in[2] = {a, b};
        load(1, to + at[i], 1, a);
        load(1, from + i * from_step, 1, b);
        job->combine(1, in, a, &oxi_plain_numbers);
        store(1, a, to + at[i], 1);
    }
}

static oxi_map_kernel oxi_scatter_combine_of(ox_dtype dtype, oxi_index_does does) {
    oxi_lane lane = oxi_lane_of(dtype);
    switch (does) {
    case OXI_DOES_MULTIPLIES: return oxi_cpu_kernels()->map[OXI_OP_mul][lane];
    case OXI_DOES_MOST: return oxi_cpu_kernels()->map[OXI_OP_maximum][lane];
    case OXI_DOES_LEAST: return oxi_cpu_kernels()->map[OXI_OP_minimum][lane];
    default: return NULL;
    }
}

static oxi_scatter_kernel oxi_scatter_kernel_of(ox_dtype dtype, bool add) {
    if (add) {
        switch (dtype) {
        case OX_F32: return oxi_scatter_add_f32;
        case OX_F64: return oxi_scatter_add_f64;
        case OX_I32:
        case OX_U32: return oxi_scatter_add_i32;
        case OX_I64:
        case OX_U64: return oxi_scatter_add_i64;
        default: return oxi_scatter_add_lane;
        }
    }
    switch (oxi_dtype_bytes(dtype)) {
    case 1: return oxi_scatter_1;
    case 2: return oxi_scatter_2;
    case 4: return oxi_scatter_4;
    default: return oxi_scatter_8;
    }
}

/* n elements to `to` on, all with the same index: no two of them meet. */
static void oxi_scatter_row(const oxi_index_job *job, int64_t n, char *to, int64_t to_step, const char *from,
                            int64_t from_step) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t bytes = oxi_dtype_bytes(job->dtype), at[OXI_INDEX_PIECE];
    bool narrow = job->scatter == oxi_scatter_add_lane && oxi_lane_of(job->dtype) == OXI_LANE_F32;
    if (!job->add) {
        oxi_copy_run(n, bytes, from, from_step, to, to_step);
        return;
    }
    if (!job->combine && job->dtype == OX_F32 && to_step == 4 && from_step == 4) {
        kernels->axpy_f32(n, (float)job->alpha, (const float *)(const void *)from, (float *)(void *)to);
        return;
    }
    for (int64_t i = 0; i < OXI_INDEX_PIECE; i++) at[i] = i * to_step;
    for (int64_t i = 0; i < n;
         i += OXI_INDEX_PIECE, to += OXI_INDEX_PIECE * to_step, from += OXI_INDEX_PIECE * from_step) {
        int64_t part = oxi_min_i64(n - i, OXI_INDEX_PIECE);
        float a[OXI_INDEX_PIECE], b[OXI_INDEX_PIECE];
        if (!narrow) {
            job->scatter(job, part, to, at, from, from_step);
            continue;
        }
        kernels->load[job->dtype][OXI_LANE_F32](part, to, to_step / bytes, a);
        kernels->load[job->dtype][OXI_LANE_F32](part, from, from_step / bytes, b);
        kernels->axpy_f32(part, (float)job->alpha, b, a);
        kernels->store[job->dtype][OXI_LANE_F32](part, a, to, to_step / bytes);
    }
}

/* Operands: out, index, source, in row-major order along dim. */
static void oxi_scatter_piece(const oxi_index_job *job, const oxi_walk *w, const oxi_cursor *c) {
    int64_t at[OXI_INDEX_PIECE], bytes = w->bytes[0], from_step = w->step[2] * bytes;
    bool has;
    if (w->step[1] == 0) {
        char *to = c->p[0] + (oxi_index_at(c->p[1], job->wide) - job->start) * job->dim_step;
        (void)oxi_index_alike(job, w, c, 0, 1, &has);
        if (has) oxi_scatter_row(job, c->n, to, w->step[0] * bytes, c->p[2], from_step);
        return;
    }
    for (int64_t first = 0, n; first < c->n; first += n) {
        n = oxi_index_alike(job, w, c, first, oxi_min_i64(c->n - first, OXI_INDEX_PIECE), &has);
        if (!has) continue;
        oxi_index_offsets(job, w, c, first, n, at);
        job->scatter(job, n, c->p[0], at, c->p[2] + first * from_step, from_step);
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

/* The largest dim but `dim`, in parts of at least OXI_INDEX_GRAIN elements; side by side they are 1 KiB wide,
 * or less if that would make fewer than four. */
static void oxi_scatter_split(oxi_index_job *job, int dim) {
    const oxi_walk *w = &job->walk;
    int64_t total = 1, most;
    job->split = dim ? 0 : w->ndim - 1;
    for (int d = 0; d < w->ndim; d++) {
        total *= w->shape[d];
        if (d != dim && w->shape[d] > w->shape[job->split]) job->split = d;
    }
    most = job->split == dim ? 1 : w->shape[job->split];
    if (llabs(w->stride[0][job->split]) * w->bytes[0] < 64) {
        int64_t width = most * w->bytes[0];
        most = width >= 4096 ? width / 1024 : oxi_min_i64(width / 128, 4);
    }
    job->parts = oxi_min_i64(total / OXI_INDEX_GRAIN, most);
    if (job->parts < 1) job->parts = 1;
}

/* out = in[0], then moved to or added to: scatters, which have an index for each element, and index_add. */
static ox_status oxi_scatter_run(const oxi_call *call, const oxi_part *part, const oxi_index_form *form) {
    ox_tensor out = oxi_at_least_1d(call->out[0]), index = oxi_at_least_1d(call->in[1]),
              source = oxi_at_least_1d(call->in[2]);
    int dim = call->attr.along.dim;
    bool each = form->by == OXI_BY_EACH;
    int64_t along[OX_MAX_DIMS] = {0};
    oxi_index_job job;
    ox_status status = oxi_check_part(call, part, &index);
    if (status == OX_OK) status = oxi_cpu_copy_strided(call->in[0], call->out[0]);
    if (status != OX_OK) return status;
    oxi_index_job_begin(&job, &index, &out, out.stride[dim], part, out.shape[dim]);
    job.dtype = out.dtype;
    job.alpha = each ? 1 : call->attr.index_add.alpha;
    job.add = form->does != OXI_DOES_MOVES;
    job.combine = oxi_scatter_combine_of(out.dtype, form->does);
    job.scatter = job.combine ? oxi_scatter_combine : oxi_scatter_kernel_of(out.dtype, job.add);
    along[dim] = index.stride[0];
    out.stride[dim] = 0;
    /* the walk covers the source's part that has indices */
    oxi_walk_begin(&job.walk, out.ndim, each ? index.shape : source.shape);
    oxi_walk_add_raw(&job.walk, oxi_ptr(&out), oxi_dtype_bytes(out.dtype), out.stride);
    oxi_walk_add_raw(&job.walk, oxi_ptr(&index), oxi_dtype_bytes(index.dtype), each ? index.stride : along);
    oxi_walk_add_raw(&job.walk, oxi_ptr(&source), oxi_dtype_bytes(source.dtype), source.stride);
    oxi_scatter_split(&job, dim);
    oxi_parallel_for(job.parts, oxi_scatter_task, &job);
    return OX_OK;
}

/* Rows of a task. */
static int64_t oxi_index_row_grain(int64_t columns) {
    return columns > 0 && columns < OXI_INDEX_GRAIN ? OXI_INDEX_GRAIN / columns : 1;
}

/* ---- embedding, one_hot -------------------------------------------------------------------------------- */

typedef struct oxi_embedding {
    const ox_tensor *table, *out;
    const char *rows;
    bool repacked; /* the rows are (cpu/product/repack.c) */
    oxi_store_kernel store;
    int64_t row_bytes;
    bool wide;
} oxi_embedding;

static void oxi_embedding_row(const oxi_embedding *job, int64_t id, char *to) {
    const ox_tensor *table = job->table, *out = job->out;
    int64_t n = table->shape[1], step = out->stride[out->ndim - 1], in_group = id % OXI_REPACKED_ROWS;
    const char *row = job->rows + id * job->row_bytes, *group = row - in_group * job->row_bytes;
    char piece[OXI_REPACKED_PIECE_BYTES];
    if (!job->repacked) oxi_expand_run(table->dtype, n, row, out->dtype, job->store, to, step);
    for (int64_t at = 0; job->repacked && at < n; at += OXI_REPACKED_PIECE) {
        int64_t part = oxi_min_i64(n - at, OXI_REPACKED_PIECE);
        oxi_repacked_row(table->dtype, group, in_group, at, part, piece);
        oxi_expand_run(table->dtype, part, piece, out->dtype, job->store,
                       to + at * step * oxi_dtype_bytes(out->dtype), step);
    }
}

/* Operands: out without its last dim, ids. */
static void oxi_embedding_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_embedding *job = (const oxi_embedding *)arg;
    for (int64_t i = 0; i < c->n; i++) {
        int64_t id = oxi_index_at(c->p[1] + i * w->step[1] * w->bytes[1], job->wide);
        oxi_embedding_row(job, id, c->p[0] + i * w->step[0] * w->bytes[0]);
    }
}

static ox_status oxi_embedding_run(const oxi_call *call) {
    const ox_tensor *table = call->in[0], *ids = call->in[1], *out = call->out[0];
    ox_status status = oxi_check_indices("embedding", ids, table->shape[0], "a table");
    if (status != OX_OK) return status;
    if (!oxi_is_block(table->dtype)) { /* the rows of dim 0, ids standing still along the last dim */
        int64_t index_stride[OX_MAX_DIMS] = {0}, table_stride[OX_MAX_DIMS] = {0};
        oxi_index_job rows;
        for (int d = 0; d < ids->ndim; d++) index_stride[d] = ids->stride[d];
        table_stride[ids->ndim] = table->stride[1];
        oxi_index_job_begin(&rows, ids, table, table->stride[0], NULL, 0);
        oxi_gather_walk(&rows, out, ids, index_stride, table, table_stride);
        return OX_OK;
    }
    status = oxi_check_expandable(table->dtype);
    if (status != OX_OK) return status;
    const ox_dtype_info *info = oxi_info(table->dtype);
    oxi_embedding job;
    job.table = table;
    job.out = out;
    job.store = oxi_cpu_kernels()->store[out->dtype][OXI_LANE_F32];
    job.row_bytes = table->stride[0] / info->block_elements * info->block_bytes;
    job.wide = ids->dtype == OX_I64;
    if (!job.store || (table->stride[1] != 1 && table->shape[1] > 1))
        return oxi_fail(OX_ERR_UNSUPPORTED, "embedding: rows of %s must lie end to end",
                        oxi_tensor_text(table));
    oxi_walk w;
    oxi_walk_begin(&w, ids->ndim, ids->shape);
    oxi_walk_add_raw(&w, oxi_ptr(out), oxi_dtype_bytes(out->dtype), out->stride);
    oxi_walk_add(&w, ids);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    oxi_repacked *held = oxi_repacked_hold(table, table->shape[0], table->stride[0], table->shape[1]);
    job.repacked = held != NULL;
    if (!held) oxi_storage_plain(table->storage);
    job.rows = oxi_ptr(table);
    oxi_walk_all(&w, oxi_index_row_grain(table->shape[1]), OXI_INDEX_GRAIN, oxi_embedding_piece, &job);
    oxi_repacked_let_go(held);
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
    ox_tensor ids = oxi_borrowed(call->in[0]);
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

/* Rows `place` on of nonzero's result: coordinates of positions first + chosen[i], which go up. */
static void oxi_write_coordinates(const oxi_select *job, int64_t place, int64_t first, const int64_t *chosen,
                                  int64_t n) {
    const ox_tensor *x = job->x, *out = job->out;
    int64_t at[OX_MAX_DIMS] = {0}, before = -1, row_step = out->stride[0] * 8, step = out->stride[1] * 8;
    int last = x->ndim - 1;
    char *to = oxi_ptr(out) + place * row_step;
    for (int64_t i = 0; last >= 0 && i < n; i++, to += row_step) {
        int64_t position = first + chosen[i];
        if (before >= 0) at[last] += position - before;
        if (before < 0 || at[last] >= x->shape[last]) { /* another row: from the start */
            int64_t rest = position;
            for (int d = last; d >= 0; d--) {
                at[d] = rest % x->shape[d];
                rest /= x->shape[d];
            }
        }
        before = position;
        for (int d = 0; d <= last; d++) memcpy(to + d * step, &at[d], sizeof at[d]);
    }
}

static void oxi_select_task(void *arg, int64_t index, int lane) {
    (void)lane;
    oxi_select *job = (oxi_select *)arg;
    const oxi_walk *w = &job->walk;
    int64_t first = index * OXI_INDEX_GRAIN, count = oxi_min_i64(w->numel - first, OXI_INDEX_GRAIN);
    int64_t place = job->write ? job->counts[index] : 0;
    uint8_t truth[OXI_COPY_PIECE];
    int64_t chosen[OXI_COPY_PIECE + 1];
    oxi_cursor c;
    for (oxi_walk_seek(w, &c, first, count, OXI_COPY_PIECE); c.n; oxi_walk_next(w, &c)) {
        int64_t n = 0;
        oxi_select_truth(job, w, &c, truth);
        for (int64_t i = 0; i < c.n; i++) { /* without a branch: the numbers are anybody's guess */
            chosen[n] = i;
            n += truth[i] != 0;
        }
        if (job->write && w->operands == 1) {
            oxi_write_coordinates(job, place, c.position, chosen, n);
        } else if (job->write) {
            int64_t bytes = w->bytes[1], step = job->out->stride[0] * bytes;
            for (int64_t i = 0; i < n; i++) chosen[i] *= w->step[1] * bytes;
            oxi_gather_elements(n, bytes, c.p[1], chosen, oxi_ptr(job->out) + place * step, step);
        }
        place += n;
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

static ox_status oxi_triangle_run(const oxi_call *call, bool upper) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    int last = x->ndim - 1;
    int64_t bytes = oxi_dtype_bytes(x->dtype);
    oxi_triangle job;
    job.rows = x->shape[last - 1];
    job.columns = x->shape[last];
    job.diagonal = call->attr.diagonal.diagonal;
    job.out_step = out->stride[last] * bytes;
    job.in_step = x->stride[last] * bytes;
    job.upper = upper;
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

static ox_status oxi_copies_run(const oxi_call *call) {
    oxi_copies copies = oxi_copies_of(call);
    ox_tensor from, to;
    ox_status status = OX_OK;
    while (status == OX_OK && oxi_copies_next(&copies, &from, &to)) status = oxi_cpu_copy_strided(&from, &to);
    return status;
}

static ox_status oxi_cpu_index(const oxi_call *call, const oxi_part *part) {
    const oxi_index_form *form = oxi_index_form_of(call->op);
    switch (form->kind) {
    case OXI_INDEX_PICK:
        return form->by == OXI_BY_EACH || form->by == OXI_BY_DIM
                   ? oxi_gather_run(call, part, form->by == OXI_BY_EACH)
                   : oxi_embedding_run(call);
    case OXI_INDEX_PUT: return oxi_scatter_run(call, part, form);
    case OXI_INDEX_SELECT:
        return form->does == OXI_DOES_COORDINATES ? oxi_nonzero_run(call) : oxi_masked_select_run(call);
    case OXI_INDEX_PATTERN:
        return form->by == OXI_BY_DIAGONAL ? oxi_triangle_run(call, form->does == OXI_DOES_KEEPS_UPPER)
                                           : oxi_one_hot_run(call);
    default: return oxi_copies_run(call);
    }
}
