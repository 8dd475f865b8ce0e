/* Copies between any strides and dtypes, and the moving of ranges that other executors need.
 * Runs that lie end to end are memcpy; a copy that turns rows into columns goes through tiles that stay in
 * L1, so each cache line is read and written once; other dtypes go through a lane. Called by the CPU
 * device for COPY. */

enum {
    OXI_COPY_PIECE = 512,    /* elements of a lane buffer on the stack */
    OXI_COPY_GRAIN = 1 << 16 /* elements of a task */
};

/* ---- runs of plain elements ---------------------------------------------------------------------------- */

/* Four at a time: a loop of one is as fast only where it happens to lie well in memory. */
#define OXI_STRIDED_RUN(type) { \
        int64_t left = n; \
        for (; left >= 4; left -= 4, from += 4 * from_step, to += 4 * to_step) { \
            type four[4]; \
            memcpy(four, from, sizeof *four); \
            memcpy(four + 1, from + from_step, sizeof *four); \
            memcpy(four + 2, from + 2 * from_step, sizeof *four); \
            memcpy(four + 3, from + 3 * from_step, sizeof *four); \
            memcpy(to, four, sizeof *four); \
            memcpy(to + to_step, four + 1, sizeof *four); \
            memcpy(to + 2 * to_step, four + 2, sizeof *four); \
            memcpy(to + 3 * to_step, four + 3, sizeof *four); \
        } \
        for (; left > 0; left--, from += from_step, to += to_step) memcpy(to, from, sizeof(type)); \
    }

/* n elements of `bytes` (1, 2, 4 or 8) bytes each; steps in bytes. */
static void oxi_copy_run(int64_t n, int64_t bytes, const char *from, int64_t from_step, char *to,
                         int64_t to_step) {
    if (from_step == bytes && to_step == bytes) {
        memcpy(to, from, (size_t)(n * bytes));
    } else if (bytes == 4) {
        OXI_STRIDED_RUN(uint32_t)
    } else if (bytes == 2) {
        OXI_STRIDED_RUN(uint16_t)
    } else if (bytes == 1) {
        OXI_STRIDED_RUN(uint8_t)
    } else {
        OXI_STRIDED_RUN(uint64_t)
    }
}

/* n times the element at `element`; step in bytes. */
static void oxi_splat_run(int64_t n, int64_t bytes, const char *element, char *to, int64_t to_step) {
    if (to_step != bytes || n < 16) {
        oxi_copy_run(n, bytes, element, 0, to, to_step);
        return;
    }
    bool same = true;
    for (int64_t i = 1; i < bytes; i++) same = same && element[i] == element[0];
    if (same) {
        memset(to, element[0], (size_t)(n * bytes));
        return;
    }
    int64_t total = n * bytes, done = 16 * bytes, most = 4096;
    oxi_copy_run(16, bytes, element, 0, to, to_step);
    while (done < total) { /* what is there is copied behind itself, doubling up to `most` bytes */
        int64_t part = oxi_min_i64(oxi_min_i64(done, most), total - done);
        memcpy(to + done, to, (size_t)part);
        done += part;
    }
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
    return OX_OK;
}

/* At most OXI_COPY_PIECE elements; steps in elements. */
static void oxi_convert_run(const oxi_conversion *how, int64_t n, const char *from, int64_t from_step,
                            char *to, int64_t to_step) {
    double buffer[OXI_COPY_PIECE];
    if (!how->load && from_step == 1) {
        how->store(n, from, to, to_step);
        return;
    }
    if (!how->store && to_step == 1) {
        how->load(n, from, from_step, to);
        return;
    }
    if (how->load)
        how->load(n, from, from_step, buffer);
    else
        oxi_copy_run(n, how->from_bytes, from, from_step * how->from_bytes, (char *)buffer, how->from_bytes);
    if (how->store)
        how->store(n, buffer, to, to_step);
    else
        oxi_copy_run(n, how->to_bytes, (const char *)buffer, how->to_bytes, to, to_step * how->to_bytes);
}

/* ---- rows into columns: tiles -------------------------------------------------------------------------- */

/* Tiles over the walk's last dim (the destination's rows) and the dim `across` (the source's): `columns`
 * elements of the source make a cache line, `rows` elements of the destination four. Tasks are blocks of
 * OXI_TILE_BLOCK x OXI_TILE_BLOCK elements, so that pages are used more than once. */
enum { OXI_TILE_BLOCK = 256, OXI_TILE_LINE = 64, OXI_TILE_NEAR = 1 << 18 };

typedef struct oxi_tiling {
    const oxi_walk *w;
    const oxi_conversion *how; /* NULL = the same dtype */
    int across;
    int64_t rows, columns;
    int64_t blocks_across, blocks_along, blocks;
    bool far; /* more than OXI_TILE_NEAR bytes: worth prefetching */
} oxi_tiling;

#define OXI_TRANSPOSE(type)                                                         \
    for (int64_t r = 0; r < rows; r++) {                                            \
        for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; c++)      \
            memcpy(to + c * to_step + r * (int64_t)sizeof(type),                    \
                   from + r * from_step + c * (int64_t)sizeof(type), sizeof(type)); \
    }

/* Rows i and i + n/2 interleaved, log2(n) times: n rows of n elements turned. */
#if defined(OXI_BUILD_SSE2) && defined(__SSE2__)
#define OXI_TRANSPOSE_VECTORS 1
typedef __m128i oxi_tile_vector;
#define oxi_tile_load(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define oxi_tile_store(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)
#define oxi_tile_low(bits, a, b) _mm_unpacklo_epi##bits(a, b)
#define oxi_tile_high(bits, a, b) _mm_unpackhi_epi##bits(a, b)
#elif defined(OXI_BUILD_NEON) && defined(__aarch64__)
#define OXI_TRANSPOSE_VECTORS 1
typedef uint8x16_t oxi_tile_vector;
#define oxi_tile_load(p) vld1q_u8((const uint8_t *)(p))
#define oxi_tile_store(p, v) vst1q_u8((uint8_t *)(p), v)
#define oxi_tile_back8(a) (a)
#define oxi_tile_back16(a) vreinterpretq_u8_u16(a)
#define oxi_tile_back32(a) vreinterpretq_u8_u32(a)
#define oxi_tile_back64(a) vreinterpretq_u8_u64(a)
#define oxi_tile_as8(a) (a)
#define oxi_tile_as16(a) vreinterpretq_u16_u8(a)
#define oxi_tile_as32(a) vreinterpretq_u32_u8(a)
#define oxi_tile_as64(a) vreinterpretq_u64_u8(a)
#define oxi_tile_low(bits, a, b) \
    oxi_tile_back##bits(vzip1q_u##bits(oxi_tile_as##bits(a), oxi_tile_as##bits(b)))
#define oxi_tile_high(bits, a, b) \
    oxi_tile_back##bits(vzip2q_u##bits(oxi_tile_as##bits(a), oxi_tile_as##bits(b)))
#endif

#ifdef OXI_TRANSPOSE_VECTORS
#define OXI_EACH_2(X) X(0) X(1)
#define OXI_EACH_4(X) OXI_EACH_2(X) X(2) X(3)
#define OXI_EACH_8(X) OXI_EACH_4(X) X(4) X(5) X(6) X(7)
#define OXI_EACH_16(X) OXI_EACH_8(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define OXI_LOAD_ROW(i) a[i] = oxi_tile_load(from + (i)*from_step);
#define OXI_STORE_A(i) oxi_tile_store(to + (i)*to_step, a[i]);
#define OXI_STORE_B(i) oxi_tile_store(to + (i)*to_step, b[i]);
#define OXI_ZIP(y, x, bits, half, i)                        \
    y[2 * (i)] = oxi_tile_low(bits, x[i], x[(i) + (half)]); \
    y[2 * (i) + 1] = oxi_tile_high(bits, x[i], x[(i) + (half)]);
#define OXI_ZIP_2(y, x, bits, half, at) OXI_ZIP(y, x, bits, half, at) OXI_ZIP(y, x, bits, half, (at) + 1)
#define OXI_ZIP_4(y, x, bits, half, at) OXI_ZIP_2(y, x, bits, half, at) OXI_ZIP_2(y, x, bits, half, (at) + 2)
#define OXI_ZIP_8(y, x, bits) OXI_ZIP_4(y, x, bits, 8, 0) OXI_ZIP_4(y, x, bits, 8, 4)

/* 16 bytes square. */
static void oxi_transpose_square(int64_t bytes, const char *from, int64_t from_step, char *to,
                                 int64_t to_step) {
    oxi_tile_vector a[16], b[16];
    if (bytes == 4) {
        OXI_EACH_4(OXI_LOAD_ROW)
        OXI_ZIP_2(b, a, 32, 2, 0) OXI_ZIP_2(a, b, 32, 2, 0) OXI_EACH_4(OXI_STORE_A)
    } else if (bytes == 2) {
        OXI_EACH_8(OXI_LOAD_ROW)
        OXI_ZIP_4(b, a, 16, 4, 0) OXI_ZIP_4(a, b, 16, 4, 0) OXI_ZIP_4(b, a, 16, 4, 0) OXI_EACH_8(OXI_STORE_B)
    } else if (bytes == 1) {
        OXI_EACH_16(OXI_LOAD_ROW)
        OXI_ZIP_8(b, a, 8) OXI_ZIP_8(a, b, 8) OXI_ZIP_8(b, a, 8) OXI_ZIP_8(a, b, 8) OXI_EACH_16(OXI_STORE_A)
    } else {
        OXI_EACH_2(OXI_LOAD_ROW)
        OXI_ZIP(b, a, 64, 1, 0)
        OXI_EACH_2(OXI_STORE_B)
    }
}
#endif

/* to[c][r] = from[r][c], steps in bytes. */
static void oxi_transpose(int64_t bytes, int64_t rows, int64_t columns, const char *from, int64_t from_step,
                          char *to, int64_t to_step) {
    int64_t whole_rows = 0, whole_columns = 0;
#ifdef OXI_TRANSPOSE_VECTORS
    if (oxi_cpu_kernels()->vector_bytes >= 16) {
        int64_t side = 16 / bytes;
        whole_rows = rows / side * side;
        whole_columns = columns / side * side;
        for (int64_t r = 0; r < whole_rows; r += side)
            for (int64_t c = 0; c < whole_columns; c += side)
                oxi_transpose_square(bytes, from + r * from_step + c * bytes, from_step,
                                     to + c * to_step + r * bytes, to_step);
    }
#endif
    if (bytes == 4) {
        OXI_TRANSPOSE(uint32_t)
    } else if (bytes == 2) {
        OXI_TRANSPOSE(uint16_t)
    } else if (bytes == 1) {
        OXI_TRANSPOSE(uint8_t)
    } else {
        OXI_TRANSPOSE(uint64_t)
    }
}

/* One tile: read line by line into a buffer, turned, then written row by row. next: where the tile after
 * it begins. */
static void oxi_tile(const oxi_tiling *tiling, const char *from, char *to, int64_t rows, int64_t columns,
                     const char *next) {
    const oxi_walk *w = tiling->w;
    int64_t bytes = w->bytes[1], from_step = w->step[1] * bytes;
    int64_t to_step = w->stride[0][tiling->across] * w->bytes[0], buffer_step = tiling->rows * bytes;
    uint64_t buffer[OXI_TILE_LINE * OXI_TILE_BLOCK / 8];
    for (int64_t r = 0; tiling->far && next && r < rows; r++) OXI_PREFETCH_READ(next + r * from_step);
    for (int64_t c = 0; tiling->far && c < columns; c++)
        for (int64_t at = 0; at < rows * w->bytes[0]; at += OXI_TILE_LINE)
            OXI_PREFETCH_WRITE(to + c * to_step + at);
    oxi_transpose(bytes, rows, columns, from, from_step, (char *)buffer, buffer_step);
    for (int64_t c = 0; c < columns; c++) {
        const char *line = (const char *)buffer + c * buffer_step;
        if (tiling->how)
            oxi_convert_run(tiling->how, rows, line, 1, to + c * to_step, 1);
        else
            memcpy(to + c * to_step, line, (size_t)(rows * bytes));
    }
}

/* Task: a block of tiles. */
static void oxi_tile_block(void *arg, int64_t index, int lane) {
    (void)lane;
    const oxi_tiling *tiling = (const oxi_tiling *)arg;
    const oxi_walk *w = tiling->w;
    int last = w->ndim - 1, across = tiling->across;
    int64_t along_at = index % tiling->blocks_along * OXI_TILE_BLOCK;
    index /= tiling->blocks_along;
    int64_t across_at = index % tiling->blocks_across * OXI_TILE_BLOCK;
    index /= tiling->blocks_across;
    char *base[2];
    int64_t along_step[2], across_step[2];
    for (int k = 0; k < 2; k++) {
        along_step[k] = w->stride[k][last] * w->bytes[k];
        across_step[k] = w->stride[k][across] * w->bytes[k];
        base[k] = w->base[k] + along_at * along_step[k] + across_at * across_step[k];
    }
    for (int d = last - 1; d >= 0; d--) {
        if (d == across) continue;
        for (int k = 0; k < 2; k++) base[k] += index % w->shape[d] * w->stride[k][d] * w->bytes[k];
        index /= w->shape[d];
    }
    int64_t height = oxi_min_i64(w->length - along_at, OXI_TILE_BLOCK);
    int64_t width = oxi_min_i64(w->shape[across] - across_at, OXI_TILE_BLOCK);
    for (int64_t r = 0; r < height; r += tiling->rows)
        for (int64_t c = 0; c < width; c += tiling->columns) {
            int64_t rows = oxi_min_i64(height - r, tiling->rows);
            int64_t columns = oxi_min_i64(width - c, tiling->columns);
            const char *from = base[1] + r * along_step[1] + c * across_step[1];
            oxi_tile(tiling, from, base[0] + r * along_step[0] + c * across_step[0], rows, columns,
                     c + columns < width ? from + columns * across_step[1] : NULL);
        }
}

/* Whether the destination's rows are the source's columns; if so, the dim of the source's rows is made to
 * run forwards. */
static bool oxi_tiling_begin(oxi_tiling *tiling, oxi_walk *w, const oxi_conversion *how) {
    int last = w->ndim - 1, across = 0;
    if (w->numel == 0 || w->step[0] != 1 || llabs(w->step[1]) * w->bytes[1] < 64 || w->length < 8)
        return false;
    while (across < last && llabs(w->stride[1][across]) != 1) across++;
    if (across == last || w->shape[across] < 8) return false;
    if (w->stride[1][across] < 0) {
        for (int k = 0; k < 2; k++) {
            w->base[k] += (w->shape[across] - 1) * w->stride[k][across] * w->bytes[k];
            w->stride[k][across] = -w->stride[k][across];
        }
    }
    tiling->w = w;
    tiling->how = how;
    tiling->across = across;
    tiling->far = w->numel * (w->bytes[0] + w->bytes[1]) > OXI_TILE_NEAR;
    tiling->rows = OXI_TILE_BLOCK / w->bytes[1];
    tiling->columns = OXI_TILE_LINE / w->bytes[1];
    tiling->blocks_across = (w->shape[across] + OXI_TILE_BLOCK - 1) / OXI_TILE_BLOCK;
    tiling->blocks_along = (w->length + OXI_TILE_BLOCK - 1) / OXI_TILE_BLOCK;
    tiling->blocks = w->numel / w->length / w->shape[across] * tiling->blocks_across * tiling->blocks_along;
    return true;
}

/* ---- plain dtypes -------------------------------------------------------------------------------------- */

static void oxi_copy_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_conversion *how = (const oxi_conversion *)arg;
    if (how)
        oxi_convert_run(how, c->n, c->p[1], w->step[1], c->p[0], w->step[0]);
    else if (w->step[1] == 0)
        oxi_splat_run(c->n, w->bytes[0], c->p[1], c->p[0], w->step[0] * w->bytes[0]);
    else
        oxi_copy_run(c->n, w->bytes[0], c->p[1], w->step[1] * w->bytes[1], c->p[0], w->step[0] * w->bytes[0]);
}

static ox_status oxi_copy_plain(const ox_tensor *from, const ox_tensor *to) {
    oxi_conversion conversion, *how = NULL;
    if (from->dtype != to->dtype) {
        ox_status status = oxi_conversion_begin(&conversion, from->dtype, to->dtype);
        if (status != OX_OK) return status;
        how = &conversion;
    }
    oxi_walk w;
    oxi_tiling tiling;
    oxi_walk_begin(&w, to->ndim, to->shape);
    oxi_walk_add(&w, to);
    oxi_walk_add(&w, from);
    if (!how && w.base[0] == w.base[1] && !memcmp(w.stride[0], w.stride[1], sizeof w.stride[0]))
        return OX_OK; /* itself */
    oxi_walk_ready(&w, OXI_WALK_ANY_ORDER);
    if (oxi_tiling_begin(&tiling, &w, how))
        oxi_parallel_for(tiling.blocks, oxi_tile_block, &tiling);
    else
        oxi_walk_all(&w, OXI_COPY_GRAIN, how ? OXI_COPY_PIECE : OXI_COPY_GRAIN, oxi_copy_piece, how);
    return OX_OK;
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
    const ox_dtype_info *info = ox_dtype_of(from);
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
        if (t->stride[d] == 1 && t->shape[d] % ox_dtype_of(t->dtype)->block_elements == 0) return d;
    return -1;
}

static ox_status oxi_copy_blocks(const ox_tensor *from, const ox_tensor *to) {
    const ox_dtype_info *info = ox_dtype_of(from->dtype);
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
    job.elements = ox_dtype_of(to->dtype)->block_elements;
    if (!job.quantize || along < 0)
        return oxi_fail(OX_ERR_UNSUPPORTED, "copy: %s cannot be quantised to %s", oxi_tensor_text(from),
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
