/* Copies between any strides and dtypes, and the moving of ranges that other executors need.
 * Runs that lie end to end are memcpy, rows that become columns are transposed by the walk; other dtypes go
 * through a lane. Called by the CPU device for COPY. */

enum {
    OXI_COPY_PIECE = 512,    /* elements of a lane buffer on the stack */
    OXI_COPY_GRAIN = 1 << 16 /* elements of a task */
};

/* ---- runs of plain elements ---------------------------------------------------------------------------- */

/* n elements of 1, 2, 4, 8 or 16 bytes; steps in bytes. */
static void oxi_copy_run(int64_t n, int64_t bytes, const char *from, int64_t from_step, char *to,
                         int64_t to_step) {
    if (to_step != bytes)
        oxi_move_run(n, bytes, from, from_step, to, to_step);
    else if (from_step == bytes)
        memcpy(to, from, (size_t)(n * bytes));
    else
        oxi_cpu_kernels()->gather[oxi_width_index(bytes)](n, from, from_step, to);
}

/* Elements at any step (in elements) where kernels want them: as they are if they lie side by side or are one
 * number, else gathered in `room`. */
static OXI_UNUSED const void *oxi_side_by_side(int64_t n, int64_t bytes, const void *from, int64_t *step,
                                               void *room) {
    if (*step == 0 || *step == 1) return from;
    oxi_copy_run(n, bytes, (const char *)from, *step * bytes, (char *)room, bytes);
    *step = 1;
    return room;
}

/* n times the element at `element`; step in bytes. */
static void oxi_splat_run(int64_t n, int64_t bytes, const char *element, char *to, int64_t to_step) {
    enum { LONG = 1 << 12 }; /* bytes from which on memset is worth asking whether it can do it */
    bool same = to_step == bytes && n * bytes >= LONG;
    for (int64_t i = 1; i < bytes; i++) same = same && element[i] == element[0];
    if (same)
        memset(to, element[0], (size_t)(n * bytes));
    else
        oxi_copy_run(n, bytes, element, 0, to, to_step);
}

/* ---- ranges of a tensor in a lane's type --------------------------------------------------------------- */

static void oxi_range_walk(oxi_walk *w, const ox_tensor *t) {
    oxi_walk_begin(w, t->ndim, t->shape);
    oxi_walk_add(w, t);
    oxi_walk_ready(w, OXI_WALK_IN_ORDER);
}

/* Elements [first, first + n) of t, row-major, to and from contiguous numbers of `lane`. */
static OXI_UNUSED void oxi_load_range(const ox_tensor *t, int64_t first, int64_t n, oxi_lane lane,
                                      void *values) {
    oxi_load_kernel load = oxi_cpu_kernels()->load[t->dtype][lane];
    char *to = (char *)values;
    oxi_walk w;
    oxi_cursor c;
    oxi_range_walk(&w, t);
    for (oxi_walk_seek(&w, &c, first, n, n); c.n; oxi_walk_next(&w, &c)) {
        load(c.n, c.p[0], w.step[0], to);
        to += c.n * oxi_lane_bytes(lane);
    }
}

static OXI_UNUSED void oxi_store_range(const ox_tensor *t, int64_t first, int64_t n, oxi_lane lane,
                                       const void *values) {
    oxi_store_kernel store = oxi_cpu_kernels()->store[t->dtype][lane];
    const char *from = (const char *)values;
    oxi_walk w;
    oxi_cursor c;
    oxi_range_walk(&w, t);
    for (oxi_walk_seek(&w, &c, first, n, n); c.n; oxi_walk_next(&w, &c)) {
        store(c.n, from, c.p[0], w.step[0]);
        from += c.n * oxi_lane_bytes(lane);
    }
}

static void oxi_fill_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    oxi_splat_run(c->n, w->bytes[0], (const char *)arg, c->p[0], w->step[0] * w->bytes[0]);
}

/* Every element of t becomes the one at `element`. */
static OXI_UNUSED void oxi_fill_strided(const ox_tensor *t, void *element) {
    oxi_walk w;
    oxi_walk_begin(&w, t->ndim, t->shape);
    oxi_walk_add(&w, t);
    oxi_walk_ready(&w, OXI_WALK_ANY_ORDER);
    oxi_walk_all(&w, OXI_COPY_GRAIN, OXI_COPY_GRAIN, oxi_fill_piece, element);
}

/* ---- conversions --------------------------------------------------------------------------------------- */

/* How elements of one dtype become another's: load to the lane, store from it. Where one of the two has
 * the lane's own format that half is left out, so each number is rounded once. */
typedef struct oxi_conversion {
    oxi_load_kernel load;   /* NULL: the source has the lane's format */
    oxi_store_kernel store; /* NULL: the destination has it */
    int64_t from_bytes, to_bytes;
    void (*stream)(size_t bytes, const void *from, void *to); /* NULL: results go through the caches */
} oxi_conversion;

static oxi_lane oxi_conversion_lane(ox_dtype from, ox_dtype to) {
    for (int lane = 0; lane < OXI_LANE_COUNT; lane++)
        if (oxi_lane_dtype((oxi_lane)lane) == to) return (oxi_lane)lane;
    if (!oxi_is_float(to) || oxi_is_float(from) || from == OX_U64 || from == OX_I64 || from == OX_C64)
        return oxi_lane_of(from);
    /* integers that the float lane holds exactly */
    return oxi_dtype_bytes(from) <= 2 ? OXI_LANE_F32 : OXI_LANE_F64;
}

static ox_status oxi_conversion_begin(oxi_conversion *conversion, ox_dtype from, ox_dtype to) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    oxi_lane lane = oxi_conversion_lane(from, to);
    oxi_load_kernel load = kernels->load[from][lane];
    oxi_store_kernel store = kernels->store[to][lane];
    if (!load || !store)
        return oxi_fail(OX_ERR_UNSUPPORTED, "copy: %s to %s is not supported", ox_dtype_name(from),
                        ox_dtype_name(to));
    conversion->load = from == oxi_lane_dtype(lane) ? NULL : load;
    conversion->store = to == oxi_lane_dtype(lane) ? NULL : store;
    conversion->from_bytes = oxi_dtype_bytes(from);
    conversion->to_bytes = oxi_dtype_bytes(to);
    conversion->stream = NULL;
    return OX_OK;
}

/* Whether runs of such steps are converted from where they lie to where they go. */
static bool oxi_converts_in_place(const oxi_conversion *how, int64_t from_step, int64_t to_step) {
    return from_step == 1 && to_step == 1 && !how->stream && !(how->load && how->store);
}

/* At most OXI_COPY_PIECE elements, any number in place; steps in elements. */
static void oxi_convert_run(const oxi_conversion *how, int64_t n, const char *from, int64_t from_step,
                            char *to, int64_t to_step) {
    double gathered[OXI_COPY_PIECE], lanes[OXI_COPY_PIECE];
    if (oxi_converts_in_place(how, from_step, to_step)) {
        if (how->load) how->load(n, from, 1, to);
        if (how->store) how->store(n, from, to, 1);
        return;
    }
    const void *numbers = oxi_side_by_side(n, how->from_bytes, from, &from_step, gathered);
    bool from_lanes =
        how->load ? how->store != NULL : from_step == 0; /* the last step; else from `gathered` */
    char *out = how->stream && to_step == 1 ? (char *)(from_lanes ? gathered : lanes) : to;
    if (how->load) {
        void *loaded = how->store || to_step != 1 ? (void *)lanes : (void *)out;
        how->load(n, numbers, from_step, loaded);
        numbers = loaded;
    } else if (from_step == 0) {
        oxi_copy_run(n, how->from_bytes, from, 0, (char *)lanes, how->from_bytes);
        numbers = lanes;
    }
    if (how->store)
        how->store(n, numbers, out, to_step);
    else if (numbers != out)
        oxi_copy_run(n, how->to_bytes, (const char *)numbers, how->to_bytes, out, to_step * how->to_bytes);
    if (out != to) how->stream((size_t)(n * how->to_bytes), out, to);
}

/* ---- plain dtypes -------------------------------------------------------------------------------------- */

static void oxi_convert_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    oxi_convert_run((const oxi_conversion *)arg, c->n, c->p[1], w->step[1], c->p[0], w->step[0]);
}

/* n elements at a step (bytes), past the caches: gathered in a buffer that stays in one. */
static void oxi_gather_past(int64_t n, int64_t bytes, const char *from, int64_t from_step, char *to) {
    double gathered[OXI_COPY_PIECE];
    int64_t most = (int64_t)sizeof gathered / bytes - OXI_LINE / bytes;
    for (int64_t part = 0; n > 0; n -= part, from += part * from_step, to += part * bytes) {
        part = oxi_min_i64(n, most + (int64_t)((0 - (uintptr_t)to) % OXI_LINE) / bytes); /* whole lines */
        oxi_copy_run(part, bytes, from, from_step, (char *)gathered, bytes);
        oxi_cpu_kernels()->stream((size_t)(part * bytes), gathered, to);
    }
}

static void oxi_copy_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    int64_t bytes = w->bytes[0], from_step = w->step[1] * bytes, to_step = w->step[0] * bytes;
    (void)arg;
    (void)lane;
    if (from_step == 0)
        oxi_splat_run(c->n, bytes, c->p[1], c->p[0], to_step);
    else if (w->streams && from_step == bytes)
        oxi_cpu_kernels()->stream((size_t)(c->n * bytes), c->p[1], c->p[0]);
    else if (w->streams)
        oxi_gather_past(c->n, bytes, c->p[1], from_step, c->p[0]);
    else
        oxi_copy_run(c->n, bytes, c->p[1], from_step, c->p[0], to_step);
}

/* Runs of 2 to 16 bytes that lie side by side in both operands count as one element. */
static void oxi_widen_elements(oxi_walk *w) {
    int last = w->ndim - 1;
    int64_t n = w->length, bytes = n * w->bytes[0];
    bool whole = w->step[0] == 1 && w->step[1] == 1 && n > 1 && bytes <= 16 && !(bytes & (bytes - 1));
    for (int d = 0; d < last; d++) whole = whole && w->stride[0][d] % n == 0 && w->stride[1][d] % n == 0;
    if (!whole) return;
    w->shape[last] = 1;
    for (int k = 0; k < 2; k++) {
        w->bytes[k] = bytes;
        for (int d = 0; d < last; d++) w->stride[k][d] /= n;
    }
}

static ox_status oxi_copy_plain(const ox_tensor *from, const ox_tensor *to) {
    oxi_conversion how;
    bool converts = from->dtype != to->dtype;
    ox_status status = converts ? oxi_conversion_begin(&how, from->dtype, to->dtype) : OX_OK;
    if (status != OX_OK) return status;
    oxi_walk w;
    oxi_walk_begin(&w, to->ndim, to->shape);
    oxi_walk_add(&w, to);
    oxi_walk_add(&w, from);
    if (!converts && w.base[0] == w.base[1] && !memcmp(w.stride[0], w.stride[1], sizeof w.stride[0]))
        return OX_OK; /* itself */
    if (!converts) {
        oxi_walk_ready(&w, OXI_WALK_MEMORY_ORDER);
        oxi_widen_elements(&w);
    }
    oxi_walk_ready(&w, OXI_WALK_TILED);
    w.streams = oxi_walk_may_stream(&w, to);
    w.moves = !converts && w.step[0] == 1;
    if (w.streams && converts && !(w.transposed & 1u)) how.stream = oxi_cpu_kernels()->stream;
    bool whole = converts && !w.transposed && oxi_converts_in_place(&how, w.step[1], w.step[0]);
    if (!converts) return oxi_walk_all(&w, OXI_COPY_GRAIN, OXI_COPY_GRAIN, oxi_copy_piece, NULL);
    return oxi_walk_all(&w, OXI_COPY_GRAIN, whole ? OXI_COPY_GRAIN : OXI_COPY_PIECE, oxi_convert_piece, &how);
}

/* ---- block types: rows of whole blocks ----------------------------------------------------------------- */

/* n elements (whole blocks) as floats, stored through `store`; step in elements. */
static void oxi_expand_run(ox_dtype from, int64_t n, const char *blocks, ox_dtype to, oxi_store_kernel store,
                           char *out, int64_t step) {
    enum { PIECE = 1024 }; /* a multiple of every block */
    float buffer[PIECE];
    if (to == OX_F32 && step == 1) {
        oxi_expand_blocks(from, n, blocks, (float *)(void *)out);
        return;
    }
    const ox_dtype_info *info = oxi_info(from);
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t part = oxi_min_i64(n - at, PIECE);
        oxi_expand_blocks(from, part, blocks + at / info->block_elements * info->block_bytes, buffer);
        store(part, buffer, out + at * step * oxi_dtype_bytes(to), step);
    }
}

/* Positions are blocks. The run is one piece of memory when both sides' steps say so, else it goes block
 * by block. */
typedef struct oxi_block_copy {
    ox_dtype from, to;
    int64_t elements;       /* a block */
    int64_t to_step;        /* between elements of the destination */
    oxi_store_kernel store; /* NULL: the same block type */
} oxi_block_copy;

static void oxi_block_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_block_copy *job = (const oxi_block_copy *)arg;
    int64_t whole_step = job->store ? job->elements * job->to_step : 1;
    int64_t blocks = w->step[1] == 1 && w->step[0] == whole_step ? c->n : 1;
    for (int64_t i = 0; i < c->n; i += blocks) {
        const char *from = c->p[1] + i * w->step[1] * w->bytes[1];
        char *to = c->p[0] + i * w->step[0] * w->bytes[0];
        if (!job->store)
            memcpy(to, from, (size_t)(blocks * w->bytes[1]));
        else
            oxi_expand_run(job->from, blocks * job->elements, from, job->to, job->store, to, job->to_step);
    }
}

/* The dim along which the blocks of t lie: the last, or another after a transposition; -1 if there is
 * none. */
static int oxi_block_dim(const ox_tensor *t) {
    for (int d = t->ndim - 1; d >= 0; d--)
        if (t->stride[d] == 1 && t->shape[d] % oxi_info(t->dtype)->block_elements == 0) return d;
    return -1;
}

static ox_status oxi_copy_blocks(const ox_tensor *from, const ox_tensor *to) {
    const ox_dtype_info *info = oxi_info(from->dtype);
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t shape[OX_MAX_DIMS], from_stride[OX_MAX_DIMS], to_stride[OX_MAX_DIMS];
    bool same = from->dtype == to->dtype;
    int lead = to->ndim - from->ndim, along = oxi_block_dim(from) + lead;
    ox_status status = same ? OX_OK : oxi_check_expandable(from->dtype);
    if (status != OX_OK) return status;
    if (lead < 0 || along < lead || to->shape[along] != from->shape[along - lead] ||
        (same ? to->stride[along] != 1 : !kernels->store[to->dtype][OXI_LANE_F32]))
        return oxi_fail(OX_ERR_UNSUPPORTED, "copy: %s to %s is not supported", oxi_tensor_text(from),
                        oxi_tensor_text(to));
    oxi_block_copy job;
    job.from = from->dtype;
    job.to = to->dtype;
    job.elements = info->block_elements;
    job.to_step = to->stride[along];
    job.store = same ? NULL : kernels->store[to->dtype][OXI_LANE_F32];
    int at = 0;
    for (int d = 0; d < to->ndim;
         d++) { /* in blocks of the source; of the destination in blocks or elements */
        if (d == along) continue;
        shape[at] = to->shape[d];
        from_stride[at] = d < lead || from->shape[d - lead] == 1 ? 0 : from->stride[d - lead] / job.elements;
        to_stride[at++] = same ? to->stride[d] / job.elements : to->stride[d];
    }
    shape[at] = to->shape[along] / job.elements;
    from_stride[at] = 1;
    to_stride[at] = same ? 1 : to->stride[along] * job.elements;
    oxi_walk w;
    oxi_walk_begin(&w, to->ndim, shape);
    oxi_walk_add_raw(&w, oxi_ptr(to), oxi_dtype_bytes(to->dtype), to_stride);
    oxi_walk_add_raw(&w, oxi_ptr(from), info->block_bytes, from_stride);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    oxi_walk_all(&w, OXI_COPY_GRAIN / job.elements, OXI_COPY_GRAIN / job.elements, oxi_block_piece, &job);
    return OX_OK;
}

/* ---- floats into block types --------------------------------------------------------------------------- */

typedef struct oxi_quantize_copy {
    void (*quantize)(int64_t n, const float *x, void *blocks);
    oxi_load_kernel load;
    int64_t elements;  /* a block */
    int64_t from_step; /* between elements of the source */
    bool direct;       /* the source is f32 without gaps */
} oxi_quantize_copy;

/* n elements (whole blocks), through a buffer unless they lie as the kernel wants them. */
static void oxi_quantize_run(const oxi_quantize_copy *job, int64_t n, const char *from, int64_t from_bytes,
                             char *to, int64_t block_bytes) {
    enum { PIECE = 1024 }; /* a multiple of every block */
    float buffer[PIECE];
    if (job->direct) {
        job->quantize(n, (const float *)(const void *)from, to);
        return;
    }
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t part = oxi_min_i64(n - at, PIECE);
        job->load(part, from + at * job->from_step * from_bytes, job->from_step, buffer);
        job->quantize(part, buffer, to + at / job->elements * block_bytes);
    }
}

/* Positions are blocks of the destination. */
static void oxi_quantize_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_quantize_copy *job = (const oxi_quantize_copy *)arg;
    int64_t whole_step = job->elements * job->from_step;
    int64_t blocks = w->step[0] == 1 && w->step[1] == whole_step ? c->n : 1;
    for (int64_t i = 0; i < c->n; i += blocks)
        oxi_quantize_run(job, blocks * job->elements, c->p[1] + i * w->step[1] * w->bytes[1], w->bytes[1],
                         c->p[0] + i * w->step[0] * w->bytes[0], w->bytes[0]);
}

static ox_status oxi_copy_quantized(const ox_tensor *from, const ox_tensor *to) {
    enum { TASK = 1 << 12 }; /* elements: some tens of microseconds */
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t shape[OX_MAX_DIMS], from_stride[OX_MAX_DIMS], to_stride[OX_MAX_DIMS];
    int lead = to->ndim - from->ndim, along = oxi_block_dim(to), at = 0;
    oxi_quantize_copy job;
    job.quantize = kernels->quantize[to->dtype];
    job.load = kernels->load[from->dtype][OXI_LANE_F32];
    job.elements = oxi_info(to->dtype)->block_elements;
    if (!job.quantize || along < 0)
        return oxi_fail(OX_ERR_UNSUPPORTED, "copy: %s cannot be quantized to %s", oxi_tensor_text(from),
                        oxi_tensor_text(to));
    for (int d = 0; d <= to->ndim; d++) { /* the dim of the blocks goes last */
        int dim = d < to->ndim ? d : along;
        if (d == along) continue;
        shape[at] = dim == along ? to->shape[dim] / job.elements : to->shape[dim];
        bool spread = dim < lead || (from->shape[dim - lead] == 1 && to->shape[dim] != 1);
        from_stride[at] = spread ? 0 : from->stride[dim - lead];
        to_stride[at++] = dim == along ? 1 : to->stride[dim] / job.elements;
    }
    job.from_step = from_stride[at - 1];
    job.direct = from->dtype == OX_F32 && job.from_step == 1;
    from_stride[at - 1] *= job.elements;
    oxi_walk w;
    oxi_walk_begin(&w, to->ndim, shape);
    oxi_walk_add_raw(&w, oxi_ptr(to), oxi_dtype_bytes(to->dtype), to_stride);
    oxi_walk_add_raw(&w, oxi_ptr(from), oxi_dtype_bytes(from->dtype), from_stride);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    oxi_walk_all(&w, TASK / job.elements, TASK / job.elements, oxi_quantize_piece, &job);
    return OX_OK;
}

/* One block type into another: through floats. */
static ox_status oxi_copy_requantized(const ox_tensor *from, const ox_tensor *to) {
    ox_tensor *plain = oxi_tensor_new(ox_cpu(), OX_F32, from->ndim, from->shape);
    if (!plain) return OX_ERR_NOMEM;
    ox_status status = oxi_copy_blocks(from, plain);
    if (status == OX_OK) status = oxi_copy_quantized(plain, to);
    ox_release(plain);
    return status;
}

/* ---- the executor -------------------------------------------------------------------------------------- */

/* `to` = `from`, broadcast to its shape and converted; both are headers over host memory and may be slices
 * made on the stack. They do not overlap unless they are the same. */
static OXI_UNUSED ox_status oxi_cpu_copy_strided(const ox_tensor *from, const ox_tensor *to) {
    bool from_blocks = oxi_is_block(from->dtype), to_blocks = oxi_is_block(to->dtype);
    if (from_blocks && to_blocks && from->dtype != to->dtype) return oxi_copy_requantized(from, to);
    if (from_blocks) return oxi_copy_blocks(from, to);
    return to_blocks ? oxi_copy_quantized(from, to) : oxi_copy_plain(from, to);
}

static ox_status oxi_cpu_copy(const oxi_call *call) {
    return oxi_cpu_copy_strided(call->in[0], call->out[0]);
}
