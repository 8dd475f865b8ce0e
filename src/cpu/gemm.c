/* Matrix products over raw strided memory: C = act(alpha A B + beta C' + bias).
 * Panels of A and B are packed once a block, which reads any strides and dtypes; tiles of C are handed out to the threads and run
 * through the tier's micro-kernel (Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication").
 * Called by cpu/product.c and attention. An element's sum over k is cut every OXI_GEMM_DEPTH, whatever the threads do. */

static ox_status oxi_block_product(const oxi_gemm *g); /* cpu/blocks.c: one operand of a block type */

enum {
    OXI_GEMM_DEPTH = 256,       /* k of one panel: 256 x 2 vectors of B fit into the first cache level */
    OXI_GEMM_STAGE = 32768,     /* bytes: operands are widened here on their way into panels */
    OXI_GEMM_STAGE_LINES = 512, /* lines packed by one task */
    OXI_GEMM_TILE = 512,        /* largest side of a tile of C */
    OXI_GEMM_PACKED = 32 << 20  /* bytes of packed panels of one block */
};

static int64_t oxi_round_up(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit * unit;
}

static int64_t oxi_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* What a product computes in. Packed elements: float, double, or two int16_t that are neighbours along k. */
typedef struct oxi_gemm_type {
    oxi_lane lane;
    ox_dtype dtype; /* of packed elements; operands of this dtype need no widening */
    int element;    /* bytes of a packed element and of an accumulator */
    int k_each;     /* steps of k in a packed element */
    const oxi_gemm_kernel *kernel;
    oxi_pack_kernel pack_across, pack_along;
} oxi_gemm_type;

/* One operand as the packing sees it: lines (rows of A, columns of B) along k. */
typedef struct oxi_gemm_side {
    const char *data;
    ox_dtype dtype;
    int64_t line_stride, k_stride; /* elements */
    int64_t k;                     /* of the whole operand */
    int width;                     /* lines of a panel */
    char *packed;                  /* [chunk of k][panel][k of the chunk][width] */
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
    bool direct;   /* sums go to C as they are */
    char *partial; /* sums of a block between chunks of k, if C cannot hold them */
    char *scratch; /* of each lane: stage, a tile for edges, a tile of sums if not direct */
    size_t lane_bytes;
    /* the block at work */
    int64_t m0, n0, k0, rows, columns, ks;
    int64_t a_tasks, groups;
} oxi_gemm_plan;

/* ---- packing --------------------------------------------------------------------------------------------------- */

static const char *oxi_gemm_at(const oxi_gemm_side *s, int64_t line, int64_t k) {
    const ox_dtype_info *info = ox_dtype_of(s->dtype);
    return s->data + (line * s->line_stride + k * s->k_stride) / info->block_elements * info->block_bytes;
}

/* Widens `count` neighbours along k of one line (`along`), or lines of one k, into packed elements. */
static void oxi_gemm_widen(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t k,
                           int64_t count, bool along, void *out) {
    int64_t stride = along ? s->k_stride : s->line_stride;
    if (p->type.k_each == 1) {
        const char *from = oxi_gemm_at(s, line, k);
        if (oxi_is_block(s->dtype))
            p->kernels->expand[s->dtype](count, from, (float *)out);
        else
            p->kernels->load[s->dtype][p->type.lane](count, from, stride, out);
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

/* Packs `lines` lines from `line` on, at most OXI_GEMM_STAGE_LINES, `depth` elements from k on, into panels. */
static void oxi_gemm_pack(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t lines,
                          int64_t k, int64_t depth, char *panels, char *stage) {
    int64_t element = p->type.element, width_bytes = s->width * element, panel_stride = depth * s->width;
    bool native = s->dtype == p->type.dtype, block = oxi_is_block(s->dtype);
    int64_t across_step = s->line_stride < 0 ? -s->line_stride : s->line_stride;
    int64_t along_step = s->k_stride < 0 ? -s->k_stride : s->k_stride;
    if (!block && (s->k == 1 || across_step <= along_step)) {
        if (native && s->line_stride == 1) {
            p->type.pack_across(lines, depth, oxi_gemm_at(s, line, k), s->k_stride, s->width, panels,
                                panel_stride);
            return;
        }
        int64_t most = OXI_GEMM_STAGE / (lines * element);
        for (int64_t at = 0; at < depth; at += most) {
            int64_t count = depth - at < most ? depth - at : most;
            for (int64_t i = 0; i < count; i++)
                oxi_gemm_widen(p, s, line, k + at + i, lines, false, stage + i * lines * element);
            p->type.pack_across(lines, count, stage, lines, s->width, panels + at * width_bytes,
                                panel_stride);
        }
        return;
    }
    if (native && s->k_stride == 1) {
        p->type.pack_along(lines, depth, oxi_gemm_at(s, line, k), s->line_stride, s->width, panels,
                           panel_stride);
        return;
    }
    int64_t most = block ? OXI_GEMM_DEPTH : 64;
    for (int64_t first = 0; first < lines; first += s->width) {
        int64_t here = lines - first < s->width ? lines - first : s->width;
        char *panel = panels + first * depth * element;
        for (int64_t at = 0; at < depth; at += most) {
            int64_t count = depth - at < most ? depth - at : most;
            for (int64_t i = 0; i < here; i++)
                oxi_gemm_widen(p, s, line + first + i, k + at, count, true, stage + i * count * element);
            p->type.pack_along(here, count, stage, count, s->width, panel + at * width_bytes, panel_stride);
        }
    }
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

/* ---- from sums to C ----------------------------------------------------------------------------------------------- */

static void oxi_gemm_add_f64(int64_t n, double s, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] += s * x[i];
}

static void oxi_gemm_scale_f64(int64_t n, double s, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] *= s;
}

static oxi_op oxi_activation_op(oxi_activation activation) {
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
    return g->alpha == 1 && !g->addend && !g->bias && g->activation == OXI_ACT_NONE;
}

/* alpha x + beta addend + bias, activated, for `count` sums from element [m,n] of C on: along n, or else along m. */
static void oxi_gemm_epilogue(const oxi_gemm *g, const oxi_kernels *kernels, oxi_lane lane, int64_t m,
                              int64_t n, int64_t count, bool along_n, void *sums, void *stage) {
    if (g->alpha != 1) {
        if (lane == OXI_LANE_F64)
            oxi_gemm_scale_f64(count, g->alpha, (double *)sums);
        else
            kernels->row_scale(count, (const float *)sums, (float)g->alpha, (float *)sums);
    }
    if (g->addend) {
        int64_t at = (m * g->addend_row + n * g->addend_col) * ox_dtype_of(g->addend_dtype)->block_bytes;
        oxi_gemm_add(kernels, lane, count, g->beta, g->addend_dtype, (const char *)g->addend + at,
                     along_n ? g->addend_col : g->addend_row, sums, stage);
    }
    if (g->bias) oxi_gemm_add(kernels, lane, count, 1, OX_F32, g->bias + n, along_n ? 1 : 0, sums, stage);
    if (g->activation != OXI_ACT_NONE) {
        oxi_attrs attr;
        const void *in = sums;
        memset(&attr, 0, sizeof attr);
        kernels->map[oxi_activation_op(g->activation)][lane](count, &in, sums, &attr);
    }
}

static char *oxi_gemm_c(const oxi_gemm *g, int64_t m, int64_t n) {
    return (char *)g->c + (m * g->c_row + n * g->c_col) * ox_dtype_of(g->c_dtype)->block_bytes;
}

/* Finishes a tile: rows x columns sums with row stride ld, which are C itself if the plan is direct. */
static void oxi_gemm_finish(const oxi_gemm_plan *p, char *sums, int64_t ld, int64_t m, int64_t n,
                            int64_t rows, int64_t columns, char *stage) {
    const oxi_gemm *g = p->g;
    bool plain = oxi_gemm_is_plain(g);
    if (plain && p->direct) return;
    for (int64_t i = 0; i < rows; i++) {
        char *row = sums + i * ld * p->type.element, *to = oxi_gemm_c(g, m + i, n);
        if (p->type.k_each == 2) {
            for (int64_t j = 0; j < columns; j++) memcpy(to + j * g->c_col * 4, row + j * 4, 4);
            continue;
        }
        if (!plain) oxi_gemm_epilogue(g, p->kernels, p->type.lane, m + i, n, columns, true, row, stage);
        if (!p->direct) p->kernels->store[g->c_dtype][p->type.lane](columns, row, to, g->c_col);
    }
}

/* ---- tiles ----------------------------------------------------------------------------------------------------------- */

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

/* A tile times one chunk of k. a, b: the chunk's panels of the tile's first row and column. */
static void oxi_gemm_panels(const oxi_gemm_plan *p, int64_t depth, const char *a, const char *b, char *c,
                            int64_t ld, int64_t rows, int64_t columns, bool accumulate, char *edge) {
    const oxi_gemm_kernel *kernel = p->type.kernel;
    int64_t mr = kernel->mr, nr = kernel->nr, element = p->type.element;
    int64_t calls = (nr * element + 63) / 64;        /* that fetch the next panel of b, 64 bytes a step */
    for (int64_t j = 0; j < columns; j += nr, b += depth * nr * element) {
        const char *a_panel = a;
        for (int64_t i = 0, call = 0; i < rows; i += mr, call++) {
            const char *a_next = a_panel + depth * mr * element, *b_next = b + depth * (nr * element + 64 * call);
            const char *next = j > 0 && call < calls ? b_next : a_next;
            char *to = c + (i * ld + j) * element;
            if (i + mr <= rows && j + nr <= columns)
                kernel->run(depth, a_panel, b, to, ld, accumulate, next);
            else
                oxi_gemm_edge(p, depth, a_panel, b, to, ld, oxi_least(rows - i, mr), oxi_least(columns - j, nr),
                              accumulate, edge, next);
            a_panel = a_next;
        }
    }
}

/* Task: one tile of the block, all of the block's k. */
static void oxi_gemm_tile_task(void *arg, int64_t index, int lane) {
    const oxi_gemm_plan *p = (const oxi_gemm_plan *)arg;
    int64_t down = (p->rows + p->tile_m - 1) / p->tile_m;
    int64_t i = index % down * p->tile_m, j = index / down * p->tile_n;
    int64_t rows = p->rows - i < p->tile_m ? p->rows - i : p->tile_m;
    int64_t columns = p->columns - j < p->tile_n ? p->columns - j : p->tile_n;
    int64_t a_lines = (p->rows + p->a.width - 1) / p->a.width * p->a.width;
    int64_t b_lines = (p->columns + p->b.width - 1) / p->b.width * p->b.width;
    char *stage = p->scratch + (size_t)lane * p->lane_bytes, *edge = stage + OXI_GEMM_STAGE;
    char *sums = edge + (size_t)p->type.kernel->mr * (size_t)p->type.kernel->nr * (size_t)p->type.element;
    int64_t ld = p->tile_n;
    if (p->direct) {
        sums = oxi_gemm_c(p->g, p->m0 + i, p->n0 + j);
        ld = p->g->c_row;
    } else if (p->partial) {
        sums = p->partial + (i * p->block_n + j) * p->type.element;
        ld = p->block_n;
    }
    if (p->k == 0)
        for (int64_t r = 0; r < rows; r++)
            memset(sums + r * ld * p->type.element, 0, (size_t)columns * (size_t)p->type.element);
    for (int64_t at = 0; at < p->ks; at += p->depth) {
        int64_t depth = p->ks - at < p->depth ? p->ks - at : p->depth;
        const char *a = p->a.packed + (at * a_lines + depth * i) * p->type.element;
        const char *b = p->b.packed + (at * b_lines + depth * j) * p->type.element;
        oxi_gemm_panels(p, depth, a, b, sums, ld, rows, columns, p->k0 + at > 0, edge);
    }
    if (p->k0 + p->ks == p->k) oxi_gemm_finish(p, sums, ld, p->m0 + i, p->n0 + j, rows, columns, stage);
}

/* ---- the plan ---------------------------------------------------------------------------------------------------------- */

/* Bytes of a core's second cache level. */
static int64_t oxi_cache_bytes(void) {
#if defined(OXI_POSIX) && defined(_SC_LEVEL2_CACHE_SIZE)
    static int64_t known;
    int64_t bytes = oxi_atomic_load(&known);
    if (bytes == 0) {
        bytes = (int64_t)sysconf(_SC_LEVEL2_CACHE_SIZE);
        if (bytes < 128 << 10) bytes = 512 << 10;
        oxi_atomic_store(&known, bytes);
    }
    return bytes;
#else
    return 512 << 10;
#endif
}

/* Sides of tiles: a chunk of A's and B's lines takes a quarter of the cache each; smaller when there are many lanes. */
static void oxi_gemm_size_tiles(oxi_gemm_plan *p) {
    int64_t mr = p->type.kernel->mr, nr = p->type.kernel->nr, m = p->block_m, n = p->block_n;
    int64_t side = oxi_cache_bytes() / 4 / (p->depth > 0 ? p->depth * p->type.element : 1);
    side = oxi_least(side, OXI_GEMM_TILE);
    p->tile_m = oxi_round_up(oxi_least(side, m), mr);
    p->tile_n = oxi_round_up(oxi_least(side, n), nr);
    int64_t lanes = oxi_lanes(INT32_MAX);
    while (lanes > 1 &&
           oxi_round_up(m, p->tile_m) / p->tile_m * (oxi_round_up(n, p->tile_n) / p->tile_n) < 4 * lanes) {
        if (p->tile_m <= 4 * mr && p->tile_n <= 2 * nr) break;
        if (p->tile_m > p->tile_n || p->tile_n <= 2 * nr)
            p->tile_m = oxi_round_up(p->tile_m / 2, mr);
        else
            p->tile_n = oxi_round_up(p->tile_n / 2, nr);
    }
}

/* Blocks: all of k if the panels of all lines fit into OXI_GEMM_PACKED, else as much k as then fits, else fewer lines. */
static void oxi_gemm_size_blocks(oxi_gemm_plan *p) {
    int64_t mr = p->type.kernel->mr, nr = p->type.kernel->nr, m = p->g->m, n = p->g->n;
    int64_t room = OXI_GEMM_PACKED / p->type.element;
    int64_t lines = 8192; /* at least: fewer would pack operands again too often */
    p->block_k = p->k;
    if (m > lines || n > lines || (m + n) * p->k > room) {
        if (m + n < lines) lines = m + n;
        p->block_k = oxi_least(p->k, oxi_round_up(room / lines, p->depth));
        if (p->block_k > 0) lines = room / p->block_k;
    } else
        lines = m + n;
    if (!p->direct && p->block_k < p->k) lines = oxi_least(lines, 4096); /* their sums take another 16 MiB */
    p->block_n = oxi_least(n, lines - oxi_least(m, lines / 2));
    p->block_m = oxi_least(m, lines - oxi_least(n, lines / 2));
    if (p->block_n < n) p->block_n = oxi_round_up(p->block_n, nr);
    if (p->block_m < m) p->block_m = oxi_round_up(p->block_m, mr);
}

static ox_status oxi_gemm_type_of(const oxi_gemm *g, const oxi_kernels *kernels, oxi_gemm_type *type) {
    if (g->a_dtype == OX_I8 && g->b_dtype == OX_I8) {
        type->lane = OXI_LANE_I64;
        type->dtype = OX_DTYPE_NONE;
        type->element = 4;
        type->k_each = 2;
        type->kernel = &kernels->gemm_i16;
        if (g->c_dtype != OX_I32 || !oxi_gemm_is_plain(g))
            return oxi_fail(OX_ERR_DTYPE, "matmul: i8 products give plain i32");
    } else if (g->a_dtype == OX_F64 || g->b_dtype == OX_F64) {
        type->lane = OXI_LANE_F64;
        type->dtype = OX_F64;
        type->element = 8;
        type->k_each = 1;
        type->kernel = &kernels->gemm_f64;
    } else {
        type->lane = OXI_LANE_F32;
        type->dtype = OX_F32;
        type->element = 4;
        type->k_each = 1;
        type->kernel = &kernels->gemm_f32;
    }
    type->pack_across = type->element == 8 ? oxi_pack_across_f64 : kernels->pack_across;
    type->pack_along = type->element == 8 ? oxi_pack_along_f64 : kernels->pack_along;
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
}

/* Small work is done by the caller alone: waking threads takes longer. */
static void oxi_gemm_region(oxi_gemm_plan *p, int64_t count, oxi_lane_task task, bool alone) {
    if (!alone)
        oxi_parallel_for(count, task, p);
    else
        for (int64_t i = 0; i < count; i++) task(p, i, 0);
}

static void oxi_gemm_blocks(oxi_gemm_plan *p, bool alone) {
    const oxi_gemm *g = p->g;
    int64_t b_n0 = -1, b_k0 = -1; /* the block of B that is packed */
    for (p->n0 = 0; p->n0 < g->n; p->n0 += p->block_n)
        for (p->m0 = 0; p->m0 < g->m; p->m0 += p->block_m) {
            p->k0 = 0;
            do {
                p->rows = oxi_least(p->block_m, g->m - p->m0);
                p->columns = oxi_least(p->block_n, g->n - p->n0);
                p->ks = oxi_least(p->block_k, p->k - p->k0);
                int64_t chunks = p->ks > 0 ? (p->ks + p->depth - 1) / p->depth : 0;
                int64_t a_groups = oxi_round_up(p->rows, OXI_GEMM_STAGE_LINES / p->a.width * p->a.width);
                int64_t b_groups = oxi_round_up(p->columns, OXI_GEMM_STAGE_LINES / p->b.width * p->b.width);
                a_groups /= OXI_GEMM_STAGE_LINES / p->a.width * p->a.width;
                b_groups /= OXI_GEMM_STAGE_LINES / p->b.width * p->b.width;
                bool have_b = b_n0 == p->n0 && b_k0 == p->k0;
                p->a_tasks = chunks * a_groups;
                oxi_gemm_region(p, p->a_tasks + (have_b ? 0 : chunks * b_groups), oxi_gemm_pack_task, alone);
                b_n0 = p->n0;
                b_k0 = p->k0;
                int64_t tiles = oxi_round_up(p->rows, p->tile_m) / p->tile_m *
                                (oxi_round_up(p->columns, p->tile_n) / p->tile_n);
                oxi_gemm_region(p, tiles, oxi_gemm_tile_task, alone);
                p->k0 += p->ks;
            } while (p->k0 < p->k);
        }
}

/* The general way: packed panels. */
static ox_status oxi_gemm_packed(const oxi_gemm *g) {
    oxi_gemm_plan p;
    memset(&p, 0, sizeof p);
    p.g = g;
    p.kernels = oxi_cpu_kernels();
    ox_status status = oxi_gemm_type_of(g, p.kernels, &p.type);
    if (status != OX_OK) return status;
    oxi_gemm_sides(&p);
    p.k = (g->k + p.type.k_each - 1) / p.type.k_each;
    p.direct = g->c_dtype == (p.type.k_each == 2 ? OX_I32 : p.type.dtype) && g->c_col == 1 && !g->addend;
    p.depth = OXI_GEMM_DEPTH; /* equal chunks, unless blocks of weights must stay whole */
    if (!oxi_is_block(g->a_dtype) && !oxi_is_block(g->b_dtype) && p.k > 0) {
        int64_t chunks = (p.k + OXI_GEMM_DEPTH - 1) / OXI_GEMM_DEPTH;
        p.depth = (p.k + chunks - 1) / chunks;
    }
    oxi_gemm_size_blocks(&p);
    oxi_gemm_size_tiles(&p);
    bool alone = (double)g->m * (double)g->n * (double)g->k < 1e6 / 2;
    int64_t element = p.type.element, lanes = alone ? 1 : oxi_lanes(INT32_MAX);
    size_t a_bytes = (size_t)(oxi_round_up(p.block_m, p.a.width) * p.block_k * element);
    size_t b_bytes = (size_t)(oxi_round_up(p.block_n, p.b.width) * p.block_k * element);
    size_t sums_bytes = p.direct || p.block_k < p.k ? 0 : (size_t)(p.tile_m * p.tile_n * element);
    size_t partial_bytes = p.direct || p.block_k >= p.k ? 0 : (size_t)(p.block_m * p.block_n * element);
    p.lane_bytes = OXI_GEMM_STAGE + (size_t)(p.a.width * p.b.width * element) + sums_bytes;
    p.lane_bytes = (size_t)oxi_round_up((int64_t)p.lane_bytes, OXI_ALIGN);
    a_bytes = (size_t)oxi_round_up((int64_t)a_bytes, OXI_ALIGN);
    b_bytes = (size_t)oxi_round_up((int64_t)b_bytes, OXI_ALIGN);
    size_t bytes = a_bytes + b_bytes + partial_bytes + (size_t)lanes * p.lane_bytes;
    char *memory = (char *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    p.a.packed = memory;
    p.b.packed = memory + a_bytes;
    p.scratch = p.b.packed + b_bytes;
    p.partial = partial_bytes ? p.scratch + (size_t)lanes * p.lane_bytes : NULL;
    oxi_gemm_blocks(&p, alone);
    oxi_free(memory, bytes);
    return OX_OK;
}

/* ---- thin products: one side has so few lines that packing the other would cost more than the product ------------------- */

enum { OXI_THIN_LINES = 4, OXI_THIN_BYTES = 65536 }; /* most lines of the thin side; weights of one task */

/* out[line, t] = sum_k wide[line, k] * thin[t, k] for few t. Lines are rows of C (thin is B), or columns (thin is A). */
typedef struct oxi_thin {
    const oxi_gemm *g;
    const oxi_kernels *kernels;
    const char *wide;
    ox_dtype dtype;
    int64_t line_stride, k_stride;
    int64_t lines, count, k; /* of wide; of thin; of both */
    bool lines_are_columns;
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
    int64_t element = ox_dtype_of(t->dtype)->block_bytes;
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
    int64_t first = index * t->task_lines, element = ox_dtype_of(t->dtype)->block_bytes;
    int64_t lines = t->lines - first < t->task_lines ? t->lines - first : t->task_lines;
    float *sums = (float *)(void *)(t->scratch + (size_t)lane * t->lane_bytes),
          *stage = sums + t->count * t->task_lines;
    if (t->k_stride != 1)
        oxi_thin_across(t, first, lines, sums, stage);
    else
        for (int64_t i = 0; i < lines; i++) {
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

/* Whether a thin product has a kernel: f32, f16 or bf16 lines that are contiguous in one direction. */
static bool oxi_thin_takes(ox_dtype wide, int64_t line_stride, int64_t k_stride, ox_dtype thin,
                           int64_t count) {
    bool narrow = wide == OX_F32 || wide == OX_F16 || wide == OX_BF16;
    bool f32 = thin != OX_F64 && oxi_is_float(thin);
    return narrow && f32 && count <= OXI_THIN_LINES && (line_stride == 1 || k_stride == 1);
}

/* A memory-bound task has OXI_THIN_BYTES of weights; when lines lie side by side, at least half a page of each k. */
static int64_t oxi_thin_task_lines(const oxi_thin *t) {
    int64_t line_bytes = t->k * ox_dtype_of(t->dtype)->block_bytes,
            lines = OXI_THIN_BYTES / (line_bytes > 0 ? line_bytes : 1);
    int64_t least = t->k_stride == 1 ? 4 : 512;
    return oxi_least(lines < least ? least : lines, oxi_least(t->lines, 4096));
}

static ox_status oxi_gemm_thin(const oxi_gemm *g, bool thin_is_a) {
    oxi_thin t;
    memset(&t, 0, sizeof t);
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
        t.kernels->load[dtype][OXI_LANE_F32](t.k, from + i * line_stride * ox_dtype_of(dtype)->block_bytes,
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

static ox_status oxi_gemm_run(const oxi_gemm *g) {
    if (g->m == 0 || g->n == 0) return OX_OK;
    if (oxi_is_block(g->a_dtype) || oxi_is_block(g->b_dtype)) return oxi_block_product(g);
    if (g->m <= g->n && oxi_thin_takes(g->b_dtype, g->b_col, g->b_row, g->a_dtype, g->m))
        return oxi_gemm_thin(g, true);
    if (g->n < g->m && oxi_thin_takes(g->a_dtype, g->a_row, g->a_col, g->b_dtype, g->n))
        return oxi_gemm_thin(g, false);
    return oxi_gemm_packed(g);
}
