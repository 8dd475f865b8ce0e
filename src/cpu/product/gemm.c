/* Matrix products over raw strided memory: C = act(alpha A B + beta C' + bias).
 * Panels of A and B are packed once a block, which reads any strides and dtypes; tiles of C are handed out
 * to the threads and run through the tier's micro-kernel (Goto and van de Geijn 2008, "Anatomy of
 * high-performance matrix multiplication"). Called by cpu/product/product.c and attention. An element's sum over k
 * is cut at the depth of the tier's micro-kernel, whatever the threads do. */

static ox_status oxi_block_product(const oxi_gemm *g); /* cpu/product/blocks.c: one operand of a block type */
static int oxi_codes_group(ox_dtype dtype);            /* codes.c: so many codes share a scale */

enum {
    OXI_GEMM_PIECE = 256,       /* numbers widened, expanded or rounded at a time */
    OXI_GEMM_STAGE = 32768,     /* bytes: operands are widened here on their way to panels, half at a time */
    OXI_GEMM_STAGE_LINES = 512, /* lines packed by one task */
    OXI_GEMM_STAGE_DEPTH = 16,  /* as much k of all these has room */
    OXI_GEMM_TILE = 256,        /* largest side of a tile of C */
    OXI_GEMM_TILE_GROUPS = 512, /* where sums take so little time that panels are to be met more often */
    OXI_GEMM_BLOCKS_AHEAD = 16, /* lines of blocks asked for before they are packed */
    OXI_GEMM_ALONE = 1 << 19,   /* fewer multiplications are done by the caller alone, and not in pieces */
    OXI_GEMM_TASK = 4 << 20,    /* multiplications of a tile that may hold the other threads up at the end */
    OXI_GEMM_PACKED = 32 << 20  /* bytes of packed panels of one block */
};


static size_t oxi_align_up(size_t bytes) { return (bytes + OXI_ALIGN - 1) / OXI_ALIGN * OXI_ALIGN; }

/* Bytes of a stride, which may be negative. */
static int64_t oxi_signed_bytes(ox_dtype dtype, int64_t elements) {
    const ox_dtype_info *info = ox_dtype_get_info(dtype);
    return elements / info->block_elements * info->block_bytes;
}

/* `count` numbers of line `line` of an operand of a block type, from number k on, as whole blocks, in `stage`
 * if they do not lie so: OXI_REPACKED_PIECE_BYTES. At most OXI_REPACKED_PIECE of them. */
static const char *oxi_blocks_at(const oxi_gemm *g, const void *data, ox_dtype dtype, int64_t line_stride,
                                 int64_t line, int64_t k, int64_t count, char *stage) {
    int64_t row = g->repacked ? line % OXI_REPACKED_ROWS : 0;
    const char *from = (const char *)data + oxi_signed_bytes(dtype, (line - row) * line_stride);
    if (!g->repacked) return from + oxi_signed_bytes(dtype, k);
    oxi_repacked_row(dtype, from, row, k, count, stage);
    return stage;
}

/* ---- A for the products of a call that is cut -----------------------------------------------------------
 * */

/* What A becomes before it is multiplied. */
typedef enum oxi_shared_form {
    OXI_SHARED_PANELS = 1, /* packed, all of it */
    OXI_SHARED_ROWS,       /* quantized row by row (cpu/product/blocks.c) */
    OXI_SHARED_CODES       /* panels of codes (cpu/product/codes.c) */
} oxi_shared_form;

/* Memory for that. *done: it is there already, from a product before with the same A. */
static char *oxi_shared_take(const oxi_gemm *g, oxi_shared_form form, size_t bytes, bool *done) {
    oxi_shared *shared = g->shared;
    *done = shared && shared->form == (int)form && shared->bytes == bytes;
    if (*done) return (char *)shared->memory;
    char *memory = (char *)oxi_alloc(bytes);
    if (!shared || !memory) return memory;
    oxi_free(shared->memory, shared->bytes);
    shared->memory = memory;
    shared->bytes = bytes;
    shared->form = (int)form;
    return memory;
}

static void oxi_shared_give(const oxi_gemm *g, char *memory, size_t bytes) {
    if (!g->shared) oxi_free(memory, bytes);
}

/* ---- the types ------------------------------------------------------------------------------------------
 * */

/* What a product computes in. Packed elements: float, double, or groups of neighbors along k in four bytes:
 * 2 int16_t (widened int8), 2 bf16, 4 int8. */
typedef struct oxi_gemm_type {
    oxi_lane lane;
    ox_dtype dtype; /* of packed elements; operands of this dtype need no widening */
    ox_dtype sums;
    int element;    /* bytes of a packed element and of an accumulator */
    int k_each;     /* steps of k in a packed element */
    const oxi_gemm_kernel *kernel;
    const oxi_gemm_groups *groups; /* or NULL */
    bool pieces;                   /* packed elements are pieces of f16 */
    oxi_packs pack_a, pack_b;      /* of packed elements, or of f32 into pieces */
    void (*copies)(int64_t k, const void *a, void *out); /* NULL, or what to do with panels of A before */
    oxi_copies_kernel copies_along; /* the same from A as it lies, if that is along k */
    int lanes;                      /* copies of each element */
} oxi_gemm_type;

/* One operand as the packing sees it: lines (rows of A, columns of B) along k. */
typedef struct oxi_gemm_side {
    const char *data;
    ox_dtype dtype;
    int64_t line_stride, k_stride; /* elements */
    int64_t k;                     /* of the whole operand */
    int width;                     /* lines of a panel */
    oxi_packs pack;
    char *packed;                  /* [chunk of k][panel][k of the chunk][width] */
    int64_t all_lines;             /* 0 if packed is the block at work, else how many lines the operand has */
    oxi_panels *kept;              /* whose panels these are */
    bool filled;                   /* they were there before */
} oxi_gemm_side;

typedef struct oxi_gemm_plan {
    const oxi_gemm *g;
    const oxi_kernels *kernels;
    oxi_gemm_type type;
    oxi_gemm_side a, b;
    int64_t k;     /* in packed elements */
    int64_t depth; /* of a chunk */
    int64_t block_m, block_n, block_k;
    int64_t tile_m, tile_n;
    int64_t sums_ld, partial_ld; /* rows of sums are so far apart, elements */
    bool direct;   /* sums go to C as they are */
    oxi_round_kernel round; /* or NULL: takes the sums of a micro-tile to C after their last call */
    bool streams;  /* finished rows go past the caches: reading lines of a large C first would take longer */
    char *partial; /* sums of a block between chunks of k, if C cannot hold them */
    bool own_a, own_b; /* tiles span all columns (rows): each packs its lines of A (B) into its cache */
    bool copies_lines; /* and A is copied as it lies, without panels */
    bool packs_a, packs_b; /* else, unless panels are kept: threads pack a block for each other */
    char *scratch;     /* of each lane: stage, a micro-tile for edges, lines of A and B, sums, at offsets */
    size_t edge_at, copies_at, a_at, b_at, sums_at, lane_bytes;
    /* the block at work */
    int64_t m0, n0, k0, rows, columns, ks;
    int64_t a_tasks;
} oxi_gemm_plan;

/* ---- packing --------------------------------------------------------------------------------------- */

static const char *oxi_gemm_at(const oxi_gemm_side *s, int64_t line, int64_t k) {
    return s->data + oxi_signed_bytes(s->dtype, line * s->line_stride + k * s->k_stride);
}

/* `count` numbers of a line of an operand of a block type, as floats. */
static void oxi_expand_line(const oxi_gemm *g, const void *data, ox_dtype dtype, int64_t line_stride,
                            int64_t line, int64_t k, int64_t count, float *out) {
    char blocks[OXI_REPACKED_PIECE_BYTES];
    for (int64_t at = 0; at < count; at += OXI_REPACKED_PIECE) {
        int64_t part = oxi_min_i64(count - at, OXI_REPACKED_PIECE);
        const char *from = oxi_blocks_at(g, data, dtype, line_stride, line, k + at, part, blocks);
        oxi_expand_blocks(dtype, part, from, out + at);
    }
}

/* Blocks of a line as floats, or as doubles. */
static void oxi_gemm_expand(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t k,
                            int64_t count, void *out) {
    float piece[OXI_GEMM_PIECE];
    if (p->type.lane == OXI_LANE_F32) {
        oxi_expand_line(p->g, s->data, s->dtype, s->line_stride, line, k, count, (float *)out);
        return;
    }
    for (int64_t at = 0; at < count; at += OXI_GEMM_PIECE) {
        int64_t part = oxi_min_i64(count - at, OXI_GEMM_PIECE);
        oxi_expand_line(p->g, s->data, s->dtype, s->line_stride, line, k + at, part, piece);
        p->kernels->load[OX_F32][p->type.lane](part, piece, 1, (double *)out + at);
    }
}

/* Neighbors along k in a rough product: rounded to bf16, zeros behind the end of k. */
static void oxi_gemm_round(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t k,
                           int64_t count, char *out) {
    float piece[OXI_GEMM_PIECE];
    int64_t numbers = oxi_min_i64(2 * count, s->k - 2 * k);
    for (int64_t at = 0; at < numbers; at += OXI_GEMM_PIECE) {
        int64_t part = oxi_min_i64(numbers - at, OXI_GEMM_PIECE);
        const char *from = oxi_gemm_at(s, line, 2 * k + at);
        uint16_t *to = (uint16_t *)(void *)out + at;
        const float *x = piece;
        if (oxi_is_block(s->dtype)) oxi_gemm_expand(p, s, line, 2 * k + at, part, piece);
        else if (s->dtype == OX_F32 && s->k_stride == 1) x = (const float *)(const void *)from;
        else p->kernels->load[s->dtype][OXI_LANE_F32](part, from, s->k_stride, piece);
        if (p->type.groups->round) p->type.groups->round(part, x, to);
        else p->kernels->store[OX_BF16][OXI_LANE_F32](part, x, to, 1);
    }
    memset(out + 2 * numbers, 0, (size_t)(2 * (2 * count - numbers)));
}

/* Groups of neighbors along k, as they are; zeros behind the end of k. */
static void oxi_gemm_gather(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t k,
                            int64_t count, bool along, char *out) {
    int64_t each = p->type.k_each, bytes = p->type.element / each, left = s->k - each * k;
    int64_t step = (along ? each * s->k_stride : s->line_stride) * bytes, apart = s->k_stride * bytes;
    const char *from = oxi_gemm_at(s, line, each * k);
    if (along && s->k_stride == 1) {
        int64_t here = oxi_min_i64(left, each * count);
        memcpy(out, from, (size_t)(here * bytes));
        memset(out + here * bytes, 0, (size_t)((each * count - here) * bytes));
    } else if (!along && s->line_stride == 1 && left >= each) {
        p->type.groups->interleave(count, 1, from, s->k_stride, (int)count, out, 0);
    } else
        for (int64_t i = 0; i < count; i++, out += each * bytes, from += step, left -= along ? each : 0) {
            memset(out, 0, (size_t)(each * bytes));
            for (int64_t j = 0; j < each && j < left; j++)
                memcpy(out + j * bytes, from + j * apart, (size_t)bytes);
        }
}

/* Widens `count` neighbors along k of one line (`along`), or lines of one k, into packed elements. */
static void oxi_gemm_widen(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t k,
                           int64_t count, bool along, void *out) {
    int64_t stride = along ? s->k_stride : s->line_stride;
    if (p->type.groups) {
        if (s->dtype == p->type.dtype) oxi_gemm_gather(p, s, line, k, count, along, (char *)out);
        else oxi_gemm_round(p, s, line, k, count, (char *)out);
        return;
    }
    if (p->type.k_each == 1) {
        int64_t left = k < s->k ? s->k - k : 0;
        int64_t there = along ? oxi_min_i64(count, left) : left > 0 ? count : 0;
        const char *from = oxi_gemm_at(s, line, k);
        if (oxi_is_block(s->dtype))
            oxi_gemm_expand(p, s, line, k, there, out);
        else if (there > 0)
            p->kernels->load[s->dtype][p->type.lane](there, from, stride, out);
        if (there < count) /* behind the end of k, where tiles need as much */
            memset((char *)out + there * p->type.element, 0, (size_t)((count - there) * p->type.element));
        return;
    }
    const int8_t *first = (const int8_t *)oxi_gemm_at(s, line, 2 * k);
    int16_t *pair = (int16_t *)out;
    int64_t step = along ? 2 * stride : stride, whole = along && 2 * (k + count) > s->k ? count - 1 : count;
    bool second = along || 2 * k + 1 < s->k;
    for (int64_t i = 0; i < whole; i++) {
        pair[2 * i] = first[i * step];
        pair[2 * i + 1] = second ? first[i * step + s->k_stride] : (int8_t)0;
    }
    if (whole < count) {
        pair[2 * whole] = first[whole * step];
        pair[2 * whole + 1] = 0;
    }
}

/* The kernel that packs a side whose neighbors in memory are neighbors along k, or lines; NULL if
 * numbers are first to be widened elsewhere. */
static oxi_pack_kernel oxi_gemm_pack_kernel(const oxi_gemm_plan *p, const oxi_gemm_side *s, bool along) {
    const oxi_kernels *k = p->kernels;
    ox_dtype dtype = s->dtype;
    if (dtype == p->type.dtype && p->type.groups && !along)
        return s == &p->b || !p->type.groups->pack_a.across ? p->type.groups->interleave : NULL;
    if (dtype == p->type.dtype) return along ? s->pack.along : s->pack.across;
    if (p->type.dtype != OX_F32) return NULL;
    if (dtype == OX_BF16) return along ? k->pack_along_bf16 : k->pack_across_bf16;
    return dtype == OX_F16 ? (along ? k->pack_along_f16 : k->pack_across_f16) : NULL;
}

/* Whether `depth` packed elements from k on are there in memory: none reaches behind the end, and lines are
 * whole elements apart. */
static bool oxi_gemm_is_whole(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t k, int64_t depth,
                              int64_t line_stride) {
    int64_t each = p->type.k_each;
    return (k + depth) * each <= s->k && line_stride % each == 0;
}

static void oxi_gemm_pack_across(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t lines,
                                 int64_t k, int64_t depth, char *panels, char *stage) {
    int64_t element = p->type.element, panel_stride = depth * s->width;
    oxi_pack_kernel pack = s->line_stride == 1 ? oxi_gemm_pack_kernel(p, s, false) : NULL;
    if (pack && oxi_gemm_is_whole(p, s, k, depth, 0)) {
        pack(lines, depth, oxi_gemm_at(s, line, p->type.k_each * k), s->k_stride, s->width, panels,
             panel_stride);
        return;
    }
    int64_t unit = p->type.pieces ? p->type.kernel->tile_k : 64 / element;
    int64_t most = OXI_GEMM_STAGE / 2 / (lines * element) / unit * unit + unit;
    for (int64_t at = 0; at < depth; at += most) {
        int64_t count = oxi_min_i64(depth - at, most);
        for (int64_t i = 0; i < count; i++)
            oxi_gemm_widen(p, s, line, k + at + i, lines, false, stage + i * lines * element);
        s->pack.across(lines, count, stage, lines, s->width, panels + at * s->width * element,
                       panel_stride);
    }
}

/* A strided line of a few KiB, or a line's few blocks, are over before the processor's own prefetching has
 * seen the pattern: the line behind the next ones is asked for. */
static void oxi_gemm_prefetch(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t k,
                              int64_t count) {
    bool block = oxi_is_block(s->dtype);
    if (s->k_stride == 1 && !block) return;
    int64_t numbers = p->type.k_each * count, step = block ? 64 : oxi_signed_bytes(s->dtype, s->k_stride);
    int64_t touches = block ? oxi_parts(oxi_signed_bytes(s->dtype, numbers), 64) : numbers;
    int64_t skip = step > 0 && step < 64 ? 64 / step : 1;
    const char *from = oxi_gemm_at(s, line + (block ? OXI_GEMM_BLOCKS_AHEAD : 2), p->type.k_each * k);
    for (int64_t i = 0; i < touches; i += skip) OXI_PREFETCH_READ(from + i * step);
}

/* Repacked weights: whole groups of rows, whose codes lie almost as the panel does. */
static bool oxi_gemm_packs_repacked(const oxi_gemm_plan *p, const oxi_gemm_side *s) {
    return p->g->repacked && oxi_is_block(s->dtype) && p->type.groups && p->type.groups->of_codes;
}

static void oxi_gemm_pack_repacked(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line,
                                   int64_t lines, int64_t k, int64_t depth, char *panels, char *stage) {
    int64_t width = s->width, element = p->type.element, each = p->type.k_each;
    int64_t row_bytes = oxi_signed_bytes(s->dtype, s->line_stride);
    oxi_code_panel all;
    all.codes = stage;
    all.scale = (float *)(void *)(stage + OXI_GEMM_PIECE * width);
    all.extra = all.scale + OXI_GEMM_PIECE / 16 * width;
    all.step = NULL;
    for (int64_t first = 0; first < lines; first += width, panels += depth * width * element) {
        int64_t here = oxi_min_i64(lines - first, width);
        if (here < width) memset(stage, 0, (size_t)(OXI_GEMM_PIECE * width * 3 / 2));
        for (int64_t at = 0; at < each * depth; at += OXI_GEMM_PIECE) {
            int64_t count = oxi_min_i64(each * depth - at, OXI_GEMM_PIECE);
            int64_t bytes = OXI_REPACKED_ROWS * oxi_signed_bytes(s->dtype, count);
            for (int64_t i = 0; i < here; i += OXI_REPACKED_ROWS) { /* of the next panel */
                const char *next = oxi_gemm_at(s, line + first + width + i, 0);
                next += OXI_REPACKED_ROWS * oxi_signed_bytes(s->dtype, each * k + at);
                for (int64_t b = 0; b < bytes; b += 64) OXI_PREFETCH_READ(next + b);
            }
            oxi_repacked_panel(s->dtype, s->data, line + first, here, row_bytes, each * k + at, count, width,
                               true, &all);
            p->type.groups->of_codes(count, oxi_codes_group(s->dtype), &all,
                                     panels + at / each * width * element);
        }
    }
}

static void oxi_gemm_pack_along(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t lines,
                                int64_t k, int64_t depth, char *panels, char *stage) {
    int64_t element = p->type.element, panel_stride = depth * s->width;
    if (oxi_gemm_packs_repacked(p, s)) {
        oxi_gemm_pack_repacked(p, s, line, lines, k, depth, panels, stage);
        return;
    }
    oxi_pack_kernel pack = s->k_stride == 1 ? oxi_gemm_pack_kernel(p, s, true) : NULL;
    if (pack && oxi_gemm_is_whole(p, s, k, depth, s->line_stride)) {
        pack(lines, depth, oxi_gemm_at(s, line, p->type.k_each * k), s->line_stride / p->type.k_each,
             s->width, panels, panel_stride);
        return;
    }
    int64_t most = OXI_GEMM_STAGE / 2 / (s->width * element) / 16 * 16;
    if (oxi_is_block(s->dtype)) most = OXI_GEMM_PIECE;
    for (int64_t first = 0; first < lines; first += s->width) {
        int64_t here = oxi_min_i64(lines - first, s->width);
        char *panel = panels + first * depth * element;
        for (int64_t at = 0; at < depth; at += most) {
            int64_t count = oxi_min_i64(depth - at, most);
            for (int64_t i = 0; i < here; i++) {
                oxi_gemm_prefetch(p, s, line + first + i, k + at, count);
                oxi_gemm_widen(p, s, line + first + i, k + at, count, true, stage + i * count * element);
            }
            s->pack.along(here, count, stage, count, s->width, panel + at * s->width * element,
                          panel_stride);
        }
    }
}

/* Packs `lines` lines from `line` on, at most OXI_GEMM_STAGE_LINES, `depth` elements from k on, into
 * panels. */
static void oxi_gemm_pack(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t lines,
                          int64_t k, int64_t depth, char *panels, char *stage) {
    int64_t across_step = s->line_stride < 0 ? -s->line_stride : s->line_stride;
    int64_t along_step = s->k_stride < 0 ? -s->k_stride : s->k_stride;
    bool converts = p->type.groups && s->dtype != p->type.dtype;
    bool along = converts || oxi_is_block(s->dtype) || (s->k > 1 && along_step < across_step);
    if (along) {
        oxi_gemm_pack_along(p, s, line, lines, k, depth, panels, stage);
        return;
    }
    int64_t most = OXI_GEMM_STAGE_LINES;
    if (p->type.pieces) most = most * OXI_GEMM_STAGE_DEPTH / p->type.kernel->tile_k;
    for (int64_t first = 0; first < lines; first += most)
        oxi_gemm_pack_across(p, s, line + first, oxi_min_i64(lines - first, most), k, depth,
                             panels + first * depth * p->type.element, stage);
}

/* The two packings for 8-byte elements; those for 4 bytes belong to the tier. */
static void oxi_pack_across_f64(int64_t lines, int64_t k, const void *source, int64_t stride, int width,
                                void *panels, int64_t panel_stride) {
    for (int64_t i = 0; i < k; i++) {
        const double *from = (const double *)source + i * stride;
        double *to = (double *)panels + i * width;
        for (int64_t line = 0; line < lines; line += width, to += panel_stride, from += width)
            for (int w = 0; w < width; w++) to[w] = line + w < lines ? from[w] : 0;
    }
}

static void oxi_pack_along_f64(int64_t lines, int64_t k, const void *source, int64_t stride, int width,
                               void *panels, int64_t panel_stride) {
    for (int64_t line = 0; line < lines; line += width) {
        double *panel = (double *)panels + line / width * panel_stride;
        const double *from = (const double *)source + line * stride;
        int here = lines - line < width ? (int)(lines - line) : width;
        for (int64_t i = 0; i < k; i++) {
            for (int w = 0; w < here; w++) panel[i * width + w] = from[w * stride + i];
            for (int w = here; w < width; w++) panel[i * width + w] = 0;
        }
    }
}

/* Task: one group of panels of one chunk of k. Tasks below a_tasks are of A, the others of B. */
static void oxi_gemm_pack_task(void *arg, int64_t index, int lane) {
    const oxi_gemm_plan *p = (const oxi_gemm_plan *)arg;
    bool is_a = index < p->a_tasks;
    const oxi_gemm_side *s = is_a ? &p->a : &p->b;
    int64_t lines = is_a ? p->rows : p->columns, first = is_a ? p->m0 : p->n0;
    int64_t panels = (lines + s->width - 1) / s->width, group = OXI_GEMM_STAGE_LINES / s->width;
    int64_t groups = (panels + group - 1) / group;
    if (!is_a) index -= p->a_tasks;
    int64_t at = index / groups * p->depth, panel = index % groups * group;
    int64_t depth = p->ks - at < p->depth ? p->ks - at : p->depth;
    int64_t line = panel * s->width,
            count = lines - line < group * s->width ? lines - line : group * s->width;
    char *to = s->packed + (at * panels + depth * panel) * s->width * p->type.element;
    oxi_gemm_pack(p, s, first + line, count, p->k0 + at, depth, to,
                  p->scratch + (size_t)lane * p->lane_bytes);
}

/* ---- from sums to C -------------------------------------------------------------------------------- */

static void oxi_gemm_add_f64(int64_t n, double s, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] += s * x[i];
}

static void oxi_gemm_scale_f64(int64_t n, double s, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] *= s;
}

static oxi_op oxi_activation_op(ox_activation activation) {
    static const oxi_op op[] = {OXI_OP_COUNT, OXI_OP_relu,    OXI_OP_gelu, OXI_OP_gelu_tanh,
                                OXI_OP_silu,  OXI_OP_sigmoid, OXI_OP_tanh};
    return op[activation];
}

/* Adds scale times `count` numbers of any plain dtype to the sums. stage holds count elements. */
static void oxi_gemm_add(const oxi_kernels *kernels, oxi_lane lane, int64_t count, double scale,
                         ox_dtype dtype, const void *from, int64_t stride, void *sums, void *stage) {
    kernels->load[dtype][lane](count, from, stride, stage);
    if (lane == OXI_LANE_F64)
        oxi_gemm_add_f64(count, scale, (const double *)stage, (double *)sums);
    else
        kernels->axpy_f32(count, (float)scale, (const float *)stage, (float *)sums);
}

static bool oxi_gemm_is_plain(const oxi_gemm *g) {
    return g->alpha == 1 && !g->addend && !g->bias && g->activation == OX_ACTIVATION_NONE;
}

/* alpha x + beta addend + bias, activated, for `count` sums from element [m,n] of C on: along n, or else
 * along m. */
static void oxi_gemm_epilogue(const oxi_gemm *g, const oxi_kernels *kernels, oxi_lane lane, int64_t m,
                              int64_t n, int64_t count, bool along_n, void *sums, void *stage) {
    if (g->alpha != 1) {
        if (lane == OXI_LANE_F64)
            oxi_gemm_scale_f64(count, g->alpha, (double *)sums);
        else
            kernels->row_scale(count, (const float *)sums, (float)g->alpha, (float *)sums);
    }
    if (g->addend) {
        int64_t at = (m * g->addend_row + n * g->addend_col) * ox_dtype_get_info(g->addend_dtype)->block_bytes;
        oxi_gemm_add(kernels, lane, count, g->beta, g->addend_dtype, (const char *)g->addend + at,
                     along_n ? g->addend_col : g->addend_row, sums, stage);
    }
    if (g->bias) oxi_gemm_add(kernels, lane, count, 1, OX_F32, g->bias + n, along_n ? 1 : 0, sums, stage);
    if (g->activation != OX_ACTIVATION_NONE) {
        const void *in = sums;
        kernels->map[oxi_activation_op(g->activation)][lane](count, &in, sums, &oxi_plain_numbers);
    }
}

static char *oxi_gemm_c(const oxi_gemm *g, int64_t m, int64_t n) {
    return (char *)g->c + (m * g->c_row + n * g->c_col) * ox_dtype_get_info(g->c_dtype)->block_bytes;
}

/* A row of finished sums to C, past the caches by way of the stage if the plan says so; else what is to be
 * written two rows on is asked for. */
static void oxi_gemm_store(const oxi_gemm_plan *p, int64_t columns, const char *row, char *to, char *stage) {
    const oxi_gemm *g = p->g;
    int64_t each = ox_dtype_get_info(g->c_dtype)->block_bytes, bytes = columns * each;
    for (int64_t at = 0; !p->streams && g->c_col == 1 && at < bytes; at += 64)
        OXI_PREFETCH_FAR(to + 2 * g->c_row * each + at);
    oxi_store_kernel store = p->kernels->store[g->c_dtype][p->type.lane];
    store(columns, row, p->streams ? stage : to, p->streams ? 1 : g->c_col);
    if (p->streams) p->kernels->stream((size_t)bytes, stage, to);
}

/* A row of sums of i8 products, as they are or their low bits. */
static void oxi_gemm_store_ints(const oxi_gemm *g, int64_t columns, const char *row, char *to) {
    for (int64_t j = 0; j < columns; j++) {
        uint32_t sum;
        memcpy(&sum, row + j * 4, 4);
        if (g->c_dtype == OX_I8)
            ((uint8_t *)to)[j * g->c_col] = (uint8_t)sum;
        else
            memcpy(to + j * g->c_col * 4, &sum, 4);
    }
}

/* Finishes a tile: rows x columns sums with row stride ld, which are C itself if the plan is direct. */
static void oxi_gemm_finish(const oxi_gemm_plan *p, char *sums, int64_t ld, int64_t m, int64_t n,
                            int64_t rows, int64_t columns, char *stage) {
    const oxi_gemm *g = p->g;
    bool plain = oxi_gemm_is_plain(g);
    if (plain && p->direct) return;
    for (int64_t i = 0; i < rows; i++) {
        char *row = sums + i * ld * p->type.element, *to = oxi_gemm_c(g, m + i, n);
        if (p->type.sums == OX_I32) {
            oxi_gemm_store_ints(g, columns, row, to);
            continue;
        }
        if (!plain) oxi_gemm_epilogue(g, p->kernels, p->type.lane, m + i, n, columns, true, row, stage);
        if (!p->direct) oxi_gemm_store(p, columns, row, to, stage);
    }
}

/* ---- tiles ----------------------------------------------------------------------------------------- */

/* A tile at element [m,n] of C. */
typedef struct oxi_gemm_tile {
    int64_t m, n, rows, columns;
    char *sums; /* C itself if the plan is direct; NULL if each call gives whole sums, which are rounded */
    int64_t ld;
    bool rounds; /* these calls are the last of their sums */
    const char *next_a, *next_b; /* panels that are read after those at work, if there are any */
    int64_t next_depth;
    char *lane;
} oxi_gemm_tile;

/* Whether sums that are rounded need no memory of their own: one call has all of k. */
static bool oxi_gemm_sums_at_once(const oxi_gemm_plan *p) { return p->round && p->k <= p->depth; }

/* One micro-tile that the panels overhang: computed beside, the part that exists is copied. */
static void oxi_gemm_edge(const oxi_gemm_plan *p, int64_t depth, const char *a, const char *b, char *c,
                          int64_t ld, int64_t rows, int64_t columns, bool accumulate, char *edge,
                          const char *next) {
    int nr = p->type.kernel->nr;
    size_t element = (size_t)p->type.element;
    if (accumulate)
        for (int64_t i = 0; i < rows; i++)
            memcpy(edge + (size_t)i * (size_t)nr * element, c + (size_t)(i * ld) * element,
                   (size_t)columns * element);
    p->type.kernel->run(depth, a, b, edge, nr, accumulate, next);
    for (int64_t i = 0; i < rows; i++)
        memcpy(c + (size_t)(i * ld) * element, edge + (size_t)i * (size_t)nr * element,
               (size_t)columns * element);
}

/* One panel of A times one of B, at [i,j] of the tile. Lines of C that take rounded sums are asked for
 * before. */
static void oxi_gemm_micro_tile(const oxi_gemm_plan *p, const oxi_gemm_tile *t, int64_t depth, const char *a,
                                const char *b, int64_t i, int64_t j, bool accumulate, const char *next) {
    const oxi_gemm_kernel *kernel = p->type.kernel;
    int64_t rows = oxi_min_i64(t->rows - i, kernel->mr), columns = oxi_min_i64(t->columns - j, kernel->nr);
    int64_t ld = t->sums ? t->ld : kernel->nr;
    char *to = t->sums ? t->sums + (i * ld + j) * p->type.element : t->lane + p->edge_at;
    uint16_t *c = t->rounds ? (uint16_t *)(void *)oxi_gemm_c(p->g, t->m + i, t->n + j) : NULL;
    for (int64_t r = 0; c && r < rows; r++) OXI_PREFETCH_FAR(c + r * p->g->c_row);
    if (!t->sums || (rows == kernel->mr && columns == kernel->nr))
        kernel->run(depth, a, b, to, ld, accumulate, next);
    else oxi_gemm_edge(p, depth, a, b, to, ld, rows, columns, accumulate, t->lane + p->edge_at, next);
    if (c && columns == kernel->nr) p->round(rows, (const float *)(void *)to, ld, c, p->g->c_row);
    else if (c) oxi_gemm_finish(p, to, ld, t->m + i, t->n + j, rows, columns, t->lane);
}

/* The tile times `depth` steps from k on, a panel of B at a time: it stays in the first cache. a, b: the
 * panels of the first row and column; b NULL if tiles pack it. */
static void oxi_gemm_panels(const oxi_gemm_plan *p, const oxi_gemm_tile *t, int64_t k, int64_t depth,
                            const char *a, const char *b) {
    int64_t mr = p->a.width, nr = p->b.width, a_bytes = depth * mr * p->type.element;
    int64_t b_bytes = depth * nr * p->type.element, asked = depth * OXI_ASKED_A_STEP;
    int64_t ahead = oxi_round_up(t->rows, mr) * t->next_depth * p->type.element; /* of A's next chunk */
    int64_t b_calls = oxi_parts(b_bytes, asked),
            a_calls = oxi_parts(ahead, asked * oxi_parts(t->columns, nr));
    char *own = t->lane + p->b_at;
    for (int64_t j = 0, a_asked = 0; j < t->columns; j += nr) {
        const char *a_panel = a, *b_panel = b ? b + j / nr * b_bytes : own;
        const char *b_next = !b ? NULL : j + nr < t->columns ? b_panel + b_bytes : t->next_b;
        if (!b) oxi_gemm_pack(p, &p->b, t->n + j, oxi_min_i64(t->columns - j, nr), k, depth, own, t->lane);
        for (int64_t i = 0, call = 0; i < t->rows; i += mr, call++, a_panel += a_bytes) {
            /* the first calls ask for the next panel of b, some others for a share of a's next chunk */
            const char *next = a_panel;
            if (call < b_calls && b_next) {
                next = b_next + call * asked;
            } else if (call < b_calls + a_calls && t->next_a && a_asked < ahead) {
                next = t->next_a + a_asked;
                a_asked += asked;
            }
            oxi_gemm_micro_tile(p, t, depth, a_panel, b_panel, i, j, k > 0, next);
        }
    }
}

/* The same for a kernel that wants copies: a panel of A at a time. */
static void oxi_gemm_panels_of_copies(const oxi_gemm_plan *p, const oxi_gemm_tile *t, int64_t k,
                                      int64_t depth, const char *a, const char *b) {
    int64_t mr = p->a.width, nr = p->b.width, element = p->type.element,
            group = OXI_GEMM_STAGE_LINES / nr * nr;
    char *own = t->lane + p->b_at, *copies = t->lane + p->copies_at;
    for (int64_t j = 0; !b && j < t->columns; j += group)
        oxi_gemm_pack(p, &p->b, t->n + j, oxi_min_i64(t->columns - j, group), k, depth,
                      own + j * depth * element, t->lane);
    if (!b) b = own;
    for (int64_t i = 0; i < t->rows; i += mr) {
        if (p->copies_lines)
            p->type.copies_along(oxi_min_i64(t->rows - i, mr), depth, oxi_gemm_at(&p->a, t->m + i, k),
                                 p->a.line_stride, copies);
        else p->type.copies(depth, a + i * depth * element, copies);
        for (int64_t j = 0; j < t->columns; j += nr) {
            const char *b_panel = b + j * depth * element;
            oxi_gemm_micro_tile(p, t, depth, copies, b_panel, i, j, k > 0, b_panel + depth * nr * element);
        }
    }
}

/* Sums of a tile of pieces that are not finite are summed again as they are: infinities are wrong in pieces.
 * All of k is here. */
static void oxi_gemm_mend(const oxi_gemm_plan *p, const oxi_gemm_tile *t) {
    const oxi_kernels *kernels = p->kernels;
    float *line = (float *)(void *)t->lane, *sums = line + t->columns, numbers[OXI_GEMM_PIECE];
    for (int64_t i = 0; i < t->rows; i++) {
        float *row = (float *)(void *)t->sums + i * t->ld;
        double sum = kernels->row_sum(t->columns, row, false);
        if (sum - sum == 0) continue;
        memset(sums, 0, (size_t)t->columns * sizeof *sums);
        for (int64_t k = 0; k < p->g->k; k++) {
            int64_t at = k % OXI_GEMM_PIECE;
            if (at == 0)
                oxi_gemm_widen(p, &p->a, t->m + i, k, oxi_min_i64(p->g->k - k, OXI_GEMM_PIECE), true,
                               numbers);
            oxi_gemm_widen(p, &p->b, t->n, k, t->columns, false, line);
            kernels->axpy_f32(t->columns, numbers[at], line, sums);
        }
        for (int64_t j = 0; j < t->columns; j++)
            if (row[j] - row[j] != 0) row[j] = sums[j];
    }
}

/* The panels from line `at` of the block on, and its step k of `depth` that are one chunk. */
static const char *oxi_gemm_panels_at(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t at, int64_t k,
                                      int64_t depth) {
    bool is_a = s == &p->a;
    int64_t lines = oxi_round_up(is_a ? p->rows : p->columns, s->width);
    if (s->all_lines) {
        k += p->k0;
        at += is_a ? p->m0 : p->n0;
        lines = s->all_lines;
    }
    return s->packed + (k * lines + depth * at) * p->type.element;
}

/* What is read when the chunk at step k of the tile at [i,j] of the block is done: the tile's next one, or
 * the
 * first of the tile that a thread takes next. Panels that tiles pack themselves are not there yet. */
static void oxi_gemm_foresee(const oxi_gemm_plan *p, oxi_gemm_tile *t, int64_t i, int64_t j, int64_t k) {
    k += p->depth;
    if (k >= p->ks) {
        k = 0;
        i += p->tile_m;
    }
    if (i >= p->rows) {
        i = 0;
        j += p->tile_n;
    }
    bool any = j < p->columns;
    t->next_depth = oxi_min_i64(p->ks - k, p->depth);
    t->next_a = any && !p->own_a ? oxi_gemm_panels_at(p, &p->a, i, k, t->next_depth) : NULL;
    t->next_b = any && !p->own_b ? oxi_gemm_panels_at(p, &p->b, j, k, t->next_depth) : NULL;
}

/* Task: one tile of the block, all of the block's k. */
static void oxi_gemm_tile_task(void *arg, int64_t index, int lane) {
    const oxi_gemm_plan *p = (const oxi_gemm_plan *)arg;
    int64_t down = oxi_parts(p->rows, p->tile_m), element = p->type.element;
    int64_t i = index % down * p->tile_m, j = index / down * p->tile_n;
    oxi_gemm_tile t;
    t.m = p->m0 + i;
    t.n = p->n0 + j;
    t.rows = oxi_min_i64(p->rows - i, p->tile_m);
    t.columns = oxi_min_i64(p->columns - j, p->tile_n);
    t.lane = p->scratch + (size_t)lane * p->lane_bytes;
    t.sums = oxi_gemm_sums_at_once(p) ? NULL
           : p->direct ? oxi_gemm_c(p->g, t.m, t.n)
           : p->partial ? p->partial + (i * p->partial_ld + j) * element : t.lane + p->sums_at;
    t.ld = p->direct ? p->g->c_row : p->partial ? p->partial_ld : p->sums_ld;
    for (int64_t r = 0; p->k == 0 && r < t.rows; r++)
        memset(t.sums + r * t.ld * element, 0, (size_t)(t.columns * element));
    if (p->type.kernel->enter) p->type.kernel->enter();
    for (int64_t at = 0; at < p->ks; at += p->depth) {
        int64_t depth = oxi_min_i64(p->ks - at, p->depth);
        const char *a = p->own_a ? t.lane + p->a_at : oxi_gemm_panels_at(p, &p->a, i, at, depth);
        const char *b = p->own_b ? NULL : oxi_gemm_panels_at(p, &p->b, j, at, depth);
        if (p->own_a && !p->copies_lines)
            oxi_gemm_pack(p, &p->a, t.m, t.rows, p->k0 + at, depth, t.lane + p->a_at, t.lane);
        t.rounds = p->round && p->k0 + at + depth == p->k;
        oxi_gemm_foresee(p, &t, i, j, at);
        if (p->type.copies) oxi_gemm_panels_of_copies(p, &t, p->k0 + at, depth, a, b);
        else oxi_gemm_panels(p, &t, p->k0 + at, depth, a, b);
    }
    if (p->type.kernel->leave) p->type.kernel->leave();
    if (p->k0 + p->ks < p->k) return;
    if (p->type.pieces) oxi_gemm_mend(p, &t);
    if (!p->round) oxi_gemm_finish(p, t.sums, t.ld, t.m, t.n, t.rows, t.columns, t.lane);
}

/* ---- the plan -------------------------------------------------------------------------------------- */

/* Tiles: a chunk of A's and of B's lines takes a quarter of the cache each, and tiles are about square: each
 * panel of either side is then met often enough. They span all columns, so that A need not be packed by one
 * thread for another, if a chunk of these fits as well; or, where panels of A are copied lane by lane, once a
 * tile, if their sums fit into half of the cache. Smaller when there are many lanes, or when one late tile
 * would hold up the others for long. */
static void oxi_gemm_size_tiles(oxi_gemm_plan *p) {
    int64_t mr = p->type.kernel->mr, nr = p->type.kernel->nr, m = p->g->m, n = p->g->n;
    int64_t cache = oxi_cpu_info()->own_cache / p->type.element, lanes = oxi_lanes(INT32_MAX);
    int64_t fit = cache / 4 / (p->depth > 0 ? p->depth : 1);
    int64_t side = oxi_min_i64(fit, p->type.kernel->tile_k ? OXI_GEMM_TILE_GROUPS : OXI_GEMM_TILE);
    bool spans = n > side && m > side && (p->type.copies ? cache / 2 / n >= 8 * mr : n <= fit);
    p->tile_m = oxi_round_up(oxi_min_i64(spans ? cache / 2 / n : side, m), mr);
    p->tile_n = oxi_round_up(spans ? n : oxi_min_i64(side, n), nr);
    while (lanes > 1) {
        int64_t tiles = oxi_parts(m, p->tile_m) * oxi_parts(n, p->tile_n);
        bool large = (double)p->tile_m * (double)p->tile_n * (double)p->k > OXI_GEMM_TASK;
        if (tiles >= (large ? 8 : 4) * lanes) break;
        bool lower = p->tile_m > 4 * mr, narrower = p->tile_n > 2 * nr;
        if (!lower && !narrower) break;
        lower = lower && (spans || p->tile_m >= p->tile_n || !narrower);
        if (lower) p->tile_m = oxi_round_up(p->tile_m / 2, mr);
        else p->tile_n = oxi_round_up(p->tile_n / 2, nr);
    }
    p->own_a = n <= p->tile_n && !p->a.all_lines;
    p->own_b = m <= p->tile_m && !p->b.all_lines;
    p->packs_a = !p->own_a && !p->a.all_lines;
    p->packs_b = !p->own_b && !p->b.all_lines;
    /* the next lines are asked for while these are multiplied: wide ones stay in the cache only beside as
     * much again */
    bool stay = p->a.dtype != OX_F32 || p->tile_n * p->depth <= cache / 2;
    p->copies_lines = p->own_a && p->type.copies_along && p->a.k_stride == 1 && stay;
}

/* Blocks: all of k if the panels that threads share fit into OXI_GEMM_PACKED, else as much k as then fits,
 * else fewer lines. Sums that C cannot hold between two parts of k take memory too. */
static void oxi_gemm_size_blocks(oxi_gemm_plan *p) {
    int64_t mr = p->type.kernel->mr, nr = p->type.kernel->nr, m = p->g->m, n = p->g->n;
    int64_t room = OXI_GEMM_PACKED / p->type.element * (p->type.kernel->tile_k ? 2 : 1);
    int64_t lines = (p->packs_a ? m : 0) + (p->packs_b ? n : 0);
    p->block_m = m;
    p->block_n = n;
    p->block_k = p->k;
    if (p->k == 0 || (lines <= 8192 && lines * p->k <= room)) return;
    int64_t chunks = room / oxi_min_i64(lines, 8192) / p->depth;
    p->block_k = oxi_min_i64(p->k, (chunks > 1 ? chunks : 1) * p->depth);
    lines = room / p->block_k;
    if (p->packs_b) p->block_n = oxi_min_i64(n, p->packs_a ? lines - oxi_min_i64(m, lines / 2) : lines);
    if (p->packs_a) p->block_m = oxi_min_i64(m, p->packs_b ? lines - oxi_min_i64(n, lines / 2) : lines);
    if (p->block_n < n) p->block_n = oxi_round_up(p->block_n, nr);
    if (p->block_m < m) p->block_m = oxi_round_up(p->block_m, mr);
}

static bool oxi_gemm_is_small(const oxi_gemm *g) {
    return (double)g->m * (double)g->n * (double)g->k < OXI_GEMM_ALONE;
}

static ox_status oxi_gemm_type_of(const oxi_gemm *g, const oxi_kernels *kernels, oxi_gemm_type *type) {
    if (g->a_dtype == OX_I8 && g->b_dtype == OX_I8) {
        bool quads = kernels->i8_quads.kernel.run != NULL;
        type->lane = OXI_LANE_I64;
        type->dtype = quads ? OX_I8 : OX_DTYPE_NONE;
        type->sums = OX_I32;
        type->element = 4;
        type->k_each = quads ? 4 : 2;
        type->kernel = quads ? &kernels->i8_quads.kernel : &kernels->gemm_i16;
        if (quads) type->groups = &kernels->i8_quads;
        if ((g->c_dtype != OX_I32 && g->c_dtype != OX_I8) || !oxi_gemm_is_plain(g))
            return oxi_fail(OX_ERR_DTYPE, "matmul: i8 products give plain i8 or i32");
    } else if (g->a_dtype == OX_F64 || g->b_dtype == OX_F64) {
        type->lane = OXI_LANE_F64;
        type->dtype = type->sums = OX_F64;
        type->element = 8;
        type->k_each = 1;
        type->kernel = &kernels->spread_f64;
        type->copies = kernels->copies_f64;
    } else if (((g->a_dtype == OX_BF16 && g->b_dtype == OX_BF16) || g->rough) &&
               kernels->bf16_pairs.kernel.run) {
        type->lane = OXI_LANE_F32;
        type->dtype = OX_BF16;
        type->sums = OX_F32;
        type->element = 4;
        type->k_each = 2;
        type->kernel = &kernels->bf16_pairs.kernel;
        type->groups = &kernels->bf16_pairs;
    } else {
        type->pieces = g->way == OXI_WAY_PIECES;
        type->lane = OXI_LANE_F32;
        type->dtype = type->pieces ? OX_DTYPE_NONE : OX_F32;
        type->sums = OX_F32;
        type->element = 4;
        type->k_each = 1;
        type->kernel = type->pieces ? &kernels->f16_pieces.kernel : &kernels->spread_f32;
        type->copies = type->pieces ? NULL : kernels->copies_f32;
        type->copies_along = type->pieces ? NULL : kernels->copies_along[g->a_dtype];
    }
    type->lanes = kernels->vector_bytes / type->element;
    type->pack_b.across = type->element == 8 ? oxi_pack_across_f64 : kernels->pack_across;
    type->pack_b.along = type->element == 8 ? oxi_pack_along_f64 : kernels->pack_along;
    if (type->pieces) type->pack_b = kernels->f16_pieces.pack_b;
    type->pack_a = type->pack_b;
    if (type->pieces) type->pack_a = kernels->f16_pieces.pack_a;
    if (type->groups && type->groups->pack_a.across) type->pack_a = type->groups->pack_a;
    return OX_OK;
}

static void oxi_gemm_sides(oxi_gemm_plan *p) {
    const oxi_gemm *g = p->g;
    p->a.data = (const char *)g->a;
    p->a.dtype = g->a_dtype;
    p->a.line_stride = g->a_row;
    p->a.k_stride = g->a_col;
    p->a.width = p->type.kernel->mr;
    p->b.data = (const char *)g->b;
    p->b.dtype = g->b_dtype;
    p->b.line_stride = g->b_col;
    p->b.k_stride = g->b_row;
    p->b.width = p->type.kernel->nr;
    p->a.k = p->b.k = g->k;
    p->a.pack = p->type.pack_a;
    p->b.pack = p->type.pack_b;
}

/* Small work is done by the caller alone: waking threads takes longer. */
static void oxi_gemm_region(oxi_gemm_plan *p, int64_t count, oxi_lane_task task, bool alone) {
    if (!alone)
        oxi_parallel_for(count, task, p);
    else
        for (int64_t i = 0; i < count; i++) task(p, i, 0);
}

/* Packs rows of A, columns of B of the block and part of k. */
static void oxi_gemm_pack_block(oxi_gemm_plan *p, bool a, bool b, bool alone) {
    int64_t chunks = p->ks > 0 ? oxi_parts(p->ks, p->depth) : 0;
    int64_t a_group = OXI_GEMM_STAGE_LINES / p->a.width * p->a.width;
    int64_t b_group = OXI_GEMM_STAGE_LINES / p->b.width * p->b.width;
    int64_t b_tasks = b ? chunks * oxi_parts(p->columns, b_group) : 0;
    p->a_tasks = a ? chunks * oxi_parts(p->rows, a_group) : 0;
    oxi_gemm_region(p, p->a_tasks + b_tasks, oxi_gemm_pack_task, alone);
}

/* Packs what the threads share of one block and part of k, then computes its tiles. */
static void oxi_gemm_block(oxi_gemm_plan *p, bool have_a, bool have_b, bool alone) {
    oxi_gemm_pack_block(p, p->packs_a && !have_a, p->packs_b && !have_b, alone);
    oxi_gemm_region(p, oxi_parts(p->rows, p->tile_m) * oxi_parts(p->columns, p->tile_n), oxi_gemm_tile_task,
                    alone);
}

/* Panels of a constant operand: those that are kept, or new ones, to be filled in. */
static void oxi_gemm_find_kept(const oxi_gemm_plan *p, oxi_gemm_side *s, ox_storage *storage, int64_t lines) {
    oxi_panels_key key;
    if (!storage || !storage->prepacked || p->k == 0 || oxi_is_block(s->dtype)) return;
    key.data = s->data;
    key.dtype = s->dtype;
    key.lines = lines;
    key.k = s->k;
    key.line_stride = s->line_stride;
    key.k_stride = s->k_stride;
    key.pack = s->pack.along;
    key.width = s->width;
    key.element = p->type.element;
    key.depth = p->depth;
    key.version = oxi_atomic_load(&storage->version);
    lines = oxi_round_up(lines, s->width);
    s->kept = oxi_panels_find(storage->prepacked, &key);
    s->filled = s->kept != NULL;
    if (!s->kept) s->kept = oxi_panels_new(&key, (size_t)lines * (size_t)p->k * (size_t)p->type.element);
    if (!s->kept) return;
    s->all_lines = lines;
    s->packed = s->kept->memory;
}

/* Fills in those that are new, and keeps them. */
static void oxi_gemm_fill_kept(oxi_gemm_plan *p, bool alone) {
    bool a = p->a.kept && !p->a.filled, b = p->b.kept && !p->b.filled;
    p->m0 = p->n0 = p->k0 = 0;
    p->rows = p->g->m;
    p->columns = p->g->n;
    p->ks = p->k;
    if (a || b) oxi_gemm_pack_block(p, a, b, alone);
    if (a) oxi_panels_keep(p->g->a_storage->prepacked, p->a.kept);
    if (b) oxi_panels_keep(p->g->b_storage->prepacked, p->b.kept);
}

/* have_a: all of it, from a product before. */
static void oxi_gemm_blocks(oxi_gemm_plan *p, bool have_a, bool alone) {
    const oxi_gemm *g = p->g;
    int64_t packed_m0 = have_a ? 0 : -1, packed_n0 = -1, packed_k0 = 0; /* the blocks that are packed */
    for (p->n0 = 0; p->n0 < g->n; p->n0 += p->block_n)
        for (p->m0 = 0; p->m0 < g->m; p->m0 += p->block_m) {
            p->rows = oxi_min_i64(p->block_m, g->m - p->m0);
            p->columns = oxi_min_i64(p->block_n, g->n - p->n0);
            p->k0 = 0;
            do {
                p->ks = oxi_min_i64(p->block_k, p->k - p->k0);
                bool same_k = packed_k0 == p->k0;
                oxi_gemm_block(p, same_k && packed_m0 == p->m0, same_k && packed_n0 == p->n0, alone);
                packed_m0 = p->m0;
                packed_n0 = p->n0;
                packed_k0 = p->k0;
                p->k0 += p->ks;
            } while (p->k0 < p->k);
        }
}

/* Rows of sums a power of two apart would share a few sets of the first cache: a line more. */
static int64_t oxi_gemm_spaced(const oxi_gemm_plan *p, int64_t columns) {
    return columns + (columns * p->type.element % 1024 == 0 ? 64 / p->type.element : 0);
}

/* Where things lie in the memory of the plan; its size. */
static size_t oxi_gemm_place(oxi_gemm_plan *p, size_t *a_bytes, size_t *b_bytes, int64_t lanes) {
    size_t element = (size_t)p->type.element, mr = (size_t)p->a.width, nr = (size_t)p->b.width;
    size_t depth = (size_t)p->depth, shared_k = (size_t)p->block_k;
    bool parts = p->block_k < p->k;
    size_t a_lines = p->packs_a ? (size_t)oxi_round_up(p->block_m, p->a.width) : 0;
    size_t b_lines = p->packs_b ? (size_t)oxi_round_up(p->block_n, p->b.width) : 0;
    *a_bytes = oxi_align_up(a_lines * shared_k * element);
    *b_bytes = oxi_align_up(b_lines * shared_k * element);
    p->edge_at = OXI_GEMM_STAGE;
    p->copies_at = p->edge_at + oxi_align_up(mr * nr * element);
    size_t copies = mr * (size_t)p->type.lanes * ((depth + 7) / 8 * 8) * element;
    p->a_at = p->copies_at + (p->type.copies ? oxi_align_up(copies) : 0);
    size_t own_a = p->own_a && !p->copies_lines ? (size_t)p->tile_m * depth * element : 0;
    p->b_at = p->a_at + oxi_align_up(own_a);
    p->sums_at =
        p->b_at + (p->own_b ? oxi_align_up((p->type.copies ? (size_t)p->tile_n : nr) * depth * element) : 0);
    p->lane_bytes = p->sums_at;
    p->sums_ld = oxi_gemm_spaced(p, p->tile_n);
    p->partial_ld = oxi_gemm_spaced(p, p->block_n);
    if (!p->direct && !oxi_gemm_sums_at_once(p) && !parts)
        p->lane_bytes += oxi_align_up((size_t)p->tile_m * (size_t)p->sums_ld * element);
    size_t partial = p->direct || !parts ? 0 : (size_t)p->block_m * (size_t)p->partial_ld * element;
    return *a_bytes + *b_bytes + (size_t)lanes * p->lane_bytes + partial;
}

/* The general way: packed panels. */
static ox_status oxi_gemm_packed(const oxi_gemm *g) {
    oxi_gemm_plan p;
    size_t a_bytes, b_bytes;
    memset(&p, 0, sizeof p);
    p.g = g;
    p.kernels = oxi_cpu_kernels();
    ox_status status = oxi_gemm_type_of(g, p.kernels, &p.type);
    if (status != OX_OK) return status;
    oxi_gemm_sides(&p);
    int64_t tile_k = p.type.kernel->tile_k;
    p.k = p.type.pieces ? oxi_round_up(g->k, tile_k) : oxi_parts(g->k, p.type.k_each);
    p.depth = p.type.kernel->depth;
    p.direct = g->c_dtype == p.type.sums && g->c_col == 1 && !g->addend &&
               !(tile_k && p.k > p.depth && g->c_row % 256 == 0); /* see spaced */
    int64_t piece = OXI_GEMM_PIECE / p.type.k_each;
    if (oxi_is_block(g->a_dtype) || oxi_is_block(g->b_dtype)) /* which must stay whole */
        p.depth = p.depth / piece * piece;
    else if (p.k > 0) { /* chunks that are equal */
        p.depth = oxi_parts(p.k, oxi_parts(p.k, p.depth));
        if (tile_k) p.depth = oxi_round_up(p.depth, tile_k);
    }
    oxi_gemm_find_kept(&p, &p.a, g->a_storage, g->m);
    oxi_gemm_find_kept(&p, &p.b, g->b_storage, g->n);
    oxi_gemm_size_tiles(&p);
    oxi_gemm_size_blocks(&p);
    int64_t c_bytes = ox_dtype_get_info(g->c_dtype)->block_bytes;
    p.streams = !p.direct && g->c_col == 1 && p.tile_n * c_bytes <= OXI_GEMM_STAGE &&
                g->m * g->n * c_bytes >= OXI_STREAM_BYTES;
    if (p.type.kernel == &p.kernels->spread_f32 && p.k > 0 && g->c_col == 1 && !p.streams &&
        oxi_gemm_is_plain(g))
        p.round = g->c_dtype == OX_BF16 ? p.kernels->round_tile_bf16
                : g->c_dtype == OX_F16  ? p.kernels->round_tile_f16
                                        : NULL;
    bool alone = oxi_gemm_is_small(g);
    int64_t lanes = alone ? 1 : oxi_lanes(INT32_MAX);
    size_t bytes = oxi_gemm_place(&p, &a_bytes, &b_bytes, lanes);
    bool have_a = false, shares_a = g->shared && a_bytes > 0 && p.block_m == g->m && p.block_k == p.k;
    if (shares_a) bytes -= a_bytes;
    char *memory = (char *)oxi_alloc(bytes), *a = memory;
    if (shares_a && memory) a = oxi_shared_take(g, OXI_SHARED_PANELS, a_bytes, &have_a);
    if (a) {
        char *b = shares_a ? memory : memory + a_bytes;
        if (!p.a.kept) p.a.packed = a;
        if (!p.b.kept) p.b.packed = b;
        p.scratch = b + b_bytes;
        if (!p.direct && p.block_k < p.k) p.partial = p.scratch + (size_t)lanes * p.lane_bytes;
        oxi_gemm_fill_kept(&p, alone);
        oxi_gemm_blocks(&p, have_a, alone);
    }
    oxi_free(memory, bytes);
    oxi_panels_release(p.a.kept);
    oxi_panels_release(p.b.kept);
    return a ? OX_OK : OX_ERR_NOMEM;
}

/* ---- thin products: so few lines on one side that packing the other would take longer ----------------- */

enum { OXI_THIN_LINES = 4, OXI_THIN_BYTES = 131072 }; /* most lines of the thin side; weights of one task */

/* out[line, t] = sum_k wide[line, k] * thin[t, k] for few t. Lines are rows of C (thin is B), or columns
 * (thin is A). */
typedef struct oxi_thin {
    const oxi_gemm *g;
    const oxi_kernels *kernels;
    const char *wide;
    ox_dtype dtype;
    int64_t line_stride, k_stride;
    int64_t lines, count, k; /* of wide; of thin; of both */
    bool lines_are_columns, across;
    const float *thin; /* [count][k] */
    int64_t task_lines;
    char *scratch; /* of each lane: sums [count][task_lines], stage [task_lines] */
    size_t lane_bytes;
} oxi_thin;

static float oxi_thin_dot(const oxi_thin *t, const char *line, const float *x) {
    if (t->dtype == OX_F32) return t->kernels->dot_f32(t->k, (const float *)(const void *)line, x);
    const uint16_t *half = (const uint16_t *)(const void *)line;
    return t->dtype == OX_F16 ? t->kernels->dot_f16(t->k, half, x) : t->kernels->dot_bf16(t->k, half, x);
}

/* sums [count][lines], all lines at once: memory is read along them. */
static void oxi_thin_across(const oxi_thin *t, int64_t first, int64_t lines, float *sums, float *stage) {
    int64_t element = ox_dtype_get_info(t->dtype)->block_bytes;
    memset(sums, 0, (size_t)(t->count * lines) * sizeof(float));
    for (int64_t k = 0; k < t->k; k++) {
        const void *from = t->wide + (first + k * t->k_stride) * element;
        const float *row = (const float *)from;
        if (t->dtype != OX_F32) {
            t->kernels->load[t->dtype][OXI_LANE_F32](lines, from, 1, stage);
            row = stage;
        }
        for (int64_t i = 0; i < t->count; i++)
            t->kernels->axpy_f32(lines, t->thin[i * t->k + k], row, sums + i * lines);
    }
}

static void oxi_thin_task(void *arg, int64_t index, int lane) {
    const oxi_thin *t = (const oxi_thin *)arg;
    const oxi_gemm *g = t->g;
    int64_t first = index * t->task_lines, element = ox_dtype_get_info(t->dtype)->block_bytes;
    int64_t lines = t->lines - first < t->task_lines ? t->lines - first : t->task_lines;
    float *sums = (float *)(void *)(t->scratch + (size_t)lane * t->lane_bytes),
          *stage = sums + t->count * t->task_lines;
    if (t->across)
        oxi_thin_across(t, first, lines, sums, stage);
    else
        for (int64_t turn = 0; turn < lines; turn++) {
            int64_t i = oxi_row_of_turn(turn, lines);
            const char *line = t->wide + (first + i) * t->line_stride * element;
            for (int64_t j = 0; j < t->count; j++)
                sums[j * lines + i] = oxi_thin_dot(t, line, t->thin + j * t->k);
        }
    for (int64_t j = 0; j < t->count; j++) {
        int64_t m = t->lines_are_columns ? j : first, n = t->lines_are_columns ? first : j;
        float *row = sums + j * lines;
        if (!oxi_gemm_is_plain(g))
            oxi_gemm_epilogue(g, t->kernels, OXI_LANE_F32, m, n, lines, t->lines_are_columns, row, stage);
        t->kernels->store[g->c_dtype][OXI_LANE_F32](lines, row, oxi_gemm_c(g, m, n),
                                                    t->lines_are_columns ? g->c_col : g->c_row);
    }
}


/* Rows of weights of one task: OXI_THIN_BYTES of them, but eight tasks a thread, so that none waits long
 * for another. */
static int64_t oxi_rows_of_task(int64_t rows, int64_t row_bytes) {
    int64_t most = 4 + OXI_THIN_BYTES / (row_bytes > 0 ? row_bytes : 1),
            fair = oxi_parts(rows, 8 * oxi_lanes(INT32_MAX));
    return oxi_min_i64(rows, oxi_min_i64(most, fair < 8 ? 8 : fair));
}

/* When lines lie side by side, a task has at least half a page of each k. */
static int64_t oxi_thin_task_lines(const oxi_thin *t) {
    int64_t line_bytes = t->k * ox_dtype_get_info(t->dtype)->block_bytes,
            lines = oxi_rows_of_task(t->lines, line_bytes);
    return !t->across || lines > 512 ? oxi_min_i64(lines, 4096) : oxi_min_i64(t->lines, 512);
}

static ox_status oxi_gemm_thin(const oxi_gemm *g) {
    bool thin_is_a = g->way == OXI_WAY_THIN_A || g->way == OXI_WAY_THIN_A_ACROSS;
    oxi_thin t;
    memset(&t, 0, sizeof t);
    t.across = g->way == OXI_WAY_THIN_A_ACROSS || g->way == OXI_WAY_THIN_B_ACROSS;
    t.g = g;
    t.kernels = oxi_cpu_kernels();
    t.lines_are_columns = thin_is_a;
    t.k = g->k;
    t.wide = (const char *)(thin_is_a ? g->b : g->a);
    t.dtype = thin_is_a ? g->b_dtype : g->a_dtype;
    t.line_stride = thin_is_a ? g->b_col : g->a_row;
    t.k_stride = thin_is_a ? g->b_row : g->a_col;
    t.lines = thin_is_a ? g->n : g->m;
    t.count = thin_is_a ? g->m : g->n;
    t.task_lines = oxi_thin_task_lines(&t);
    int64_t tasks = (t.lines + t.task_lines - 1) / t.task_lines;
    bool alone = (double)t.lines * (double)t.k < 65536;
    size_t thin_bytes = (size_t)oxi_round_up(t.count * t.k * (int64_t)sizeof(float), OXI_ALIGN);
    t.lane_bytes = (size_t)oxi_round_up((t.count + 1) * t.task_lines * (int64_t)sizeof(float), OXI_ALIGN);
    size_t bytes = thin_bytes + (size_t)(alone ? 1 : oxi_lanes(tasks)) * t.lane_bytes;
    char *memory = (char *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    const char *from = (const char *)(thin_is_a ? g->a : g->b);
    ox_dtype dtype = thin_is_a ? g->a_dtype : g->b_dtype;
    int64_t line_stride = thin_is_a ? g->a_row : g->b_col, k_stride = thin_is_a ? g->a_col : g->b_row;
    for (int64_t i = 0; i < t.count; i++)
        t.kernels->load[dtype][OXI_LANE_F32](t.k, from + i * line_stride * ox_dtype_get_info(dtype)->block_bytes,
                                             k_stride, (float *)(void *)memory + i * t.k);
    t.thin = (const float *)(void *)memory;
    t.scratch = memory + thin_bytes;
    if (alone)
        for (int64_t i = 0; i < tasks; i++) oxi_thin_task(&t, i, 0);
    else
        oxi_parallel_for(tasks, oxi_thin_task, &t);
    oxi_free(memory, bytes);
    return OX_OK;
}

/* ---- which way ---------------------------------------------------------------------------------------- */

enum { OXI_BLOCK_ROWS = 8 }; /* most rows of activations that multiply blocks as they lie */

/* Thin products have a kernel for lines of f32, f16 or bf16 that are contiguous in one direction. */
static bool oxi_thin_takes(ox_dtype wide, int64_t line_stride, int64_t k_stride, ox_dtype thin,
                           int64_t count) {
    bool narrow = wide == OX_F32 || wide == OX_F16 || wide == OX_BF16;
    bool f32 = thin != OX_F64 && oxi_is_float(thin);
    return narrow && f32 && count <= OXI_THIN_LINES && (line_stride == 1 || k_stride == 1);
}

/* By dtypes, sizes and strides alone: operands may lie anywhere. */
static oxi_gemm_way oxi_gemm_judge(const oxi_gemm *g) {
    bool blocks = oxi_is_block(g->a_dtype) || oxi_is_block(g->b_dtype);
    int64_t rows = oxi_is_block(g->a_dtype) ? g->n : g->m; /* that meet the blocks */
    if (blocks) return rows <= OXI_BLOCK_ROWS ? OXI_WAY_FEW_ROWS : OXI_WAY_PANELS;
    if (g->m <= g->n && oxi_thin_takes(g->b_dtype, g->b_col, g->b_row, g->a_dtype, g->m))
        return g->b_row == 1 ? OXI_WAY_THIN_A : OXI_WAY_THIN_A_ACROSS;
    if (g->n < g->m && oxi_thin_takes(g->a_dtype, g->a_row, g->a_col, g->b_dtype, g->n))
        return g->a_col == 1 ? OXI_WAY_THIN_B : OXI_WAY_THIN_B_ACROSS;
    bool pieces = g->a_dtype == OX_F16 && g->b_dtype == OX_F16 && oxi_cpu_kernels()->f16_pieces.kernel.run;
    return pieces && !oxi_gemm_is_small(g) ? OXI_WAY_PIECES : OXI_WAY_PANELS;
}

static ox_status oxi_gemm_run(const oxi_gemm *g) {
    if (g->m == 0 || g->n == 0) return OX_OK;
    if (oxi_is_block(g->a_dtype) || oxi_is_block(g->b_dtype)) return oxi_block_product(g);
    return g->way >= OXI_WAY_THIN_A ? oxi_gemm_thin(g) : oxi_gemm_packed(g);
}
