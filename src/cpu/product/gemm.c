/* Matrix products over raw strided memory: C = act(alpha A B + beta C' + bias).
 * Panels of A and B are packed once a block, which reads any strides and dtypes; tiles of C are handed out
 * to the threads and run through the tier's micro-kernel (Goto and van de Geijn 2008, "Anatomy of
 * high-performance matrix multiplication"). Called by cpu/product/product.c and attention. An element's sum
 * over k is cut at the depth of the tier's micro-kernel, whatever the threads do. */

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
    /* windows along k take memory and a pass less where the tiles that read them pack them */
    bool whole_m = p->b.windows && p->b.by_taps && m <= p->tile_m && oxi_parts(n, nr) >= 2 * lanes;
    while (lanes > 1) {
        int64_t tiles = oxi_parts(m, p->tile_m) * oxi_parts(n, p->tile_n);
        bool large = (double)p->tile_m * (double)p->tile_n * (double)p->k > OXI_GEMM_TASK;
        if (tiles >= (large ? 8 : 4) * lanes) break;
        bool lower = p->tile_m > 4 * mr && !whole_m, narrower = p->tile_n > (whole_m ? 1 : 2) * nr;
        if (!lower && !narrower) break;
        lower = lower && (spans || p->tile_m >= p->tile_n || !narrower);
        if (lower) p->tile_m = oxi_round_up(p->tile_m / 2, mr);
        else p->tile_n = oxi_round_up(p->tile_n / 2, nr);
    }
    const bool lie = p->type.kernel->run_rows != NULL;
    p->own_a = n <= p->tile_n && !p->a.all_lines && !lie;
    p->own_b = m <= p->tile_m && !p->b.all_lines;
    p->own_b_whole = p->type.copies || lie || p->b.windows; /* long lines of windows are read faster */
    p->packs_a = !p->own_a && !p->a.all_lines && !lie;
    p->packs_b = !p->own_b && !p->b.all_lines;
    /* the next lines are prefetched while these are multiplied: wide ones stay in the cache only beside as
     * much again */
    bool stay = p->a.dtype != OX_F32 || p->tile_n * p->depth <= cache / 2;
    p->copies_lines = p->own_a && p->type.copies_along && p->a.k_stride == 1 && stay &&
                      !p->a.windows;
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

static double oxi_gemm_work(const oxi_gemm *g) { return (double)g->m * (double)g->n * (double)g->k; }
static bool oxi_gemm_is_small(const oxi_gemm *g) { return oxi_gemm_work(g) < OXI_GEMM_ALONE; }

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
    p->a.windows = g->a_windows;
    p->a.by_taps = true;
    p->b.windows = g->b_windows;
    p->b.by_taps = g->b_by_taps;
    if (!g->b_at) return;
    p->b.packed = (char *)(uintptr_t)g->b;
    p->b.all_lines = g->n;
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
    oxi_prepacked *home = oxi_prepacked_of(storage);
    if (s == &p->a && p->type.kernel->run_rows) return;
    if (!home || p->k == 0 || oxi_is_block(s->dtype) || s->windows || p->g->pairs) return;
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
    s->kept = oxi_panels_find(home, &key);
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
    if (a) oxi_panels_keep(oxi_prepacked_of(p->g->a_storage), p->a.kept);
    if (b) oxi_panels_keep(oxi_prepacked_of(p->g->b_storage), p->b.kept);
}

/* have_a, have_b: all of it, from a product before. */
static void oxi_gemm_blocks(oxi_gemm_plan *p, bool have_a, bool have_b, bool alone) {
    const oxi_gemm *g = p->g;
    int64_t packed_m0 = have_a ? 0 : -1, packed_n0 = have_b ? 0 : -1, packed_k0 = 0; /* the packed blocks */
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
    p->slab_at = OXI_GEMM_STAGE;
    p->edge_at = p->slab_at + (p->a.windows || p->b.windows || p->g->pairs ? OXI_GEMM_SLAB : 0);
    p->copies_at = p->edge_at + oxi_align_up(mr * nr * element);
    size_t copies = mr * (size_t)p->type.lanes * ((depth + 7) / 8 * 8) * element;
    if (p->type.kernel->run_rows) copies = mr * depth * element;
    else if (!p->type.copies) copies = 0;
    p->a_at = p->copies_at + oxi_align_up(copies);
    size_t own_a = p->own_a && !p->copies_lines ? (size_t)p->tile_m * depth * element : 0;
    p->b_at = p->a_at + oxi_align_up(own_a);
    p->sums_at =
        p->b_at + (p->own_b ? oxi_align_up((p->own_b_whole ? (size_t)p->tile_n : nr) * depth * element) : 0);
    p->lane_bytes = p->sums_at;
    p->sums_ld = oxi_gemm_spaced(p, p->tile_n);
    p->partial_ld = oxi_gemm_spaced(p, p->block_n);
    if (!p->direct && !oxi_gemm_sums_at_once(p) && !parts)
        p->lane_bytes += oxi_align_up((size_t)p->tile_m * (size_t)p->sums_ld * element);
    p->turned_at = p->lane_bytes;
    if (p->to != p->g) p->lane_bytes += oxi_align_up((size_t)(p->tile_m * p->tile_n) * element);
    size_t partial = p->direct || !parts ? 0 : (size_t)p->block_m * (size_t)p->partial_ld * element;
    return *a_bytes + *b_bytes + (size_t)lanes * p->lane_bytes + partial;
}

/* Whether whole panels of B are read as they lie, where each step of k begins at a place of its own: all of B
 * stays in half of the first cache, and is met by so few panels of A that packing it takes longer than it
 * saves. */
static bool oxi_gemm_b_lies(const oxi_gemm *g, const oxi_gemm_type *type, int32_t *at) {
    const oxi_gemm_kernel *kernel = type->kernel;
    if (g->b_dtype != OX_F32 || type->dtype != OX_F32 || type->copies || !kernel->run_at || g->b_at ||
        g->b_windows || oxi_prepacked_of(g->b_storage))
        return false;
    if (g->m > OXI_GEMM_LIES_ROWS * kernel->mr || g->n % kernel->nr != 0 || g->k > OXI_GEMM_LIES / 8 ||
        g->b_col != 1 || g->b_row < 0 || g->b_row > OXI_GEMM_LIES || g->b_row * g->k > OXI_GEMM_LIES)
        return false;
    for (int64_t i = 0; i < g->k; i++) at[i] = (int32_t)(i * g->b_row);
    return true;
}

/* Whether lines of one operand that lie along k are not packed, but broadcast from where they are; sums are
 * the same as of panels. *swapped: those of B, which is A then: if what is not packed for that is more than
 * what of C is transposed. */
static bool oxi_gemm_rows_lie(const oxi_gemm *g, const oxi_gemm_type *type, bool *swapped) {
    const int64_t each = type->k_each;
    if (!type->groups || !type->groups->rows.run_rows || g->a_dtype != type->dtype ||
        g->b_dtype != type->dtype || g->k % each != 0 || g->k == 0 || g->a_windows || g->b_windows ||
        g->c_places || g->b_at || g->pairs || g->onto)
        return false;
    const bool a = g->a_col == 1 && g->a_row % each == 0 && (uintptr_t)g->a % (size_t)type->element == 0;
    const bool b = g->b_row == 1 && g->b_col % each == 0 && (uintptr_t)g->b % (size_t)type->element == 0;
    *swapped = b && (g->n - (a ? g->m : 0)) * g->k > g->m * g->n;
    return a || *swapped;
}

static void oxi_gemm_swap(oxi_gemm *g) {
    const oxi_gemm to = *g;
    g->m = to.n;
    g->n = to.m;
    g->a = to.b;
    g->b = to.a;
    g->a_row = to.b_col;
    g->a_col = to.b_row;
    g->b_row = to.a_col;
    g->b_col = to.a_row;
    g->a_storage = to.b_storage;
    g->b_storage = to.a_storage;
}

/* How many steps of k there are, of a chunk, and that are summed up one by one. */
static void oxi_gemm_steps(oxi_gemm_plan *p) {
    const oxi_gemm *g = p->g;
    const int64_t tile_k = p->type.kernel->tile_k, piece = OXI_GEMM_PIECE / p->type.k_each;
    p->k = p->type.pieces ? oxi_round_up(g->k, tile_k)
         : g->pairs       ? oxi_parts(g->k, 2 * g->pairs) * g->pairs
                          : oxi_parts(g->k, p->type.k_each);
    p->depth = p->type.kernel->depth;
    if (oxi_is_block(g->a_dtype) || oxi_is_block(g->b_dtype)) /* which must stay whole */
        p->depth = p->depth / piece * piece;
    else if (p->k > 0) { /* chunks that are about equal, of whole cache lines of an operand */
        p->depth = oxi_parts(p->k, oxi_parts(p->k, p->depth));
        if (tile_k || p->depth < p->k) p->depth = oxi_round_up(p->depth, tile_k ? tile_k : 16);
    }
    p->each = p->depth;
    if (g->way == OXI_WAY_SHORT_SUMS && p->type.dtype == OX_F32 && p->depth > OXI_GEMM_FEW_STEPS)
        p->each = oxi_parts(p->depth, 128) * 16;
}

/* How sums come to C. */
static void oxi_gemm_plan_sums(oxi_gemm_plan *p) {
    const oxi_gemm *g = p->to;
    const int64_t tile_k = p->type.kernel->tile_k, c_bytes = oxi_info(g->c_dtype)->block_bytes;
    const bool turned = p->to != p->g, beside = g->c_col == 1 && !g->c_places;
    p->direct = !turned && g->c_dtype == p->type.sums && beside && !g->addend && !g->c_rows &&
                !(tile_k && p->k > p->type.kernel->depth && g->c_row % 256 == 0); /* see spaced */
    p->streams = !p->direct && beside && (turned ? p->tile_m : p->tile_n) * c_bytes <= OXI_GEMM_STAGE &&
                 g->m * g->n * c_bytes >= OXI_STREAM_BYTES;
    if (p->type.sums == OX_F32 && !tile_k && p->k > 0 && beside && !turned && !p->streams &&
        p->b.width == p->kernels->gemm_f32.nr && oxi_gemm_is_plain(g))
        p->round = g->c_dtype == OX_BF16 ? p->kernels->round_tile_bf16
                 : g->c_dtype == OX_F16  ? p->kernels->round_tile_f16
                                         : NULL;
}

/* Memory, and the product in it. */
static ox_status oxi_gemm_run_plan(oxi_gemm_plan *p) {
    const oxi_gemm *g = p->to;
    const bool turned = g != p->g, alone = oxi_gemm_is_small(g);
    oxi_gemm_side *x = turned ? &p->b : &p->a; /* what others share */
    size_t a_bytes, b_bytes;
    int64_t lanes = alone ? 1 : oxi_lanes(INT32_MAX);
    size_t bytes = oxi_gemm_place(p, &a_bytes, &b_bytes, lanes), x_bytes = turned ? b_bytes : a_bytes;
    bool have = false, whole = p->block_k == p->k && (turned ? p->block_n == p->g->n : p->block_m == g->m),
         shares = g->shared && x_bytes > 0 && whole;
    if (shares) bytes -= x_bytes;
    char *memory = (char *)oxi_alloc(bytes), *panels = memory;
    if (shares && memory)
        panels = oxi_shared_take(g, OXI_SHARED_PANELS + turned, x_bytes, &have);
    if (panels) {
        p->scratch = shares ? memory : memory + x_bytes;
        if (!x->kept) x->packed = panels;
        if (!turned) {
            if (!p->b.kept && !g->b_at) p->b.packed = p->scratch;
            p->scratch += b_bytes;
        }
        if (!p->direct && p->block_k < p->k) p->partial = p->scratch + (size_t)lanes * p->lane_bytes;
        oxi_gemm_fill_kept(p, alone);
        oxi_gemm_blocks(p, have && !turned, have && turned, alone);
    }
    oxi_free(memory, bytes);
    oxi_panels_release(p->a.kept);
    oxi_panels_release(p->b.kept);
    return panels ? OX_OK : OX_ERR_NOMEM;
}

/* The general way: packed panels. */
static ox_status oxi_gemm_packed(const oxi_gemm *g) {
    oxi_gemm_plan p;
    oxi_gemm lies = *g;
    int32_t at[OXI_GEMM_LIES / 8];
    bool swapped = false;
    memset(&p, 0, sizeof p);
    p.g = p.to = &lies;
    p.kernels = oxi_cpu_kernels();
    ox_status status = oxi_gemm_type_of(g, p.kernels, &p.type);
    if (status != OX_OK) return status;
    if (oxi_gemm_b_lies(g, &p.type, at)) lies.b_at = at;
    if (oxi_gemm_rows_lie(g, &p.type, &swapped)) p.type.kernel = &p.type.groups->rows;
    if (swapped) {
        oxi_gemm_swap(&lies);
        p.to = g;
    }
    oxi_gemm_sides(&p);
    oxi_gemm_steps(&p);
    oxi_gemm_find_kept(&p, &p.a, lies.a_storage, lies.m);
    oxi_gemm_find_kept(&p, &p.b, lies.b_storage, lies.n);
    oxi_gemm_size_tiles(&p);
    oxi_gemm_size_blocks(&p);
    oxi_gemm_plan_sums(&p);
    return oxi_gemm_run_plan(&p);
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
static oxi_gemm_way oxi_gemm_choose_way(const oxi_gemm *g) {
    bool blocks = oxi_is_block(g->a_dtype) || oxi_is_block(g->b_dtype);
    int64_t rows = oxi_is_block(g->a_dtype) ? g->n : g->m; /* that meet the blocks */
    if (blocks) return rows <= OXI_BLOCK_ROWS ? OXI_WAY_FEW_ROWS : OXI_WAY_PANELS;
    if (g->m <= g->n && oxi_thin_takes(g->b_dtype, g->b_col, g->b_row, g->a_dtype, g->m))
        return g->b_row == 1 ? OXI_WAY_THIN_A : OXI_WAY_THIN_A_ACROSS;
    if (g->n < g->m && oxi_thin_takes(g->a_dtype, g->a_row, g->a_col, g->b_dtype, g->n))
        return g->a_col == 1 ? OXI_WAY_THIN_B : OXI_WAY_THIN_B_ACROSS;
    bool pieces = g->a_dtype == OX_F16 && g->b_dtype == OX_F16 && oxi_cpu_kernels()->f16_pieces.kernel.run;
    if (pieces && !oxi_gemm_is_small(g)) return OXI_WAY_PIECES;
    return oxi_gemm_work(g) < OXI_GEMM_SHORT ? OXI_WAY_SHORT_SUMS : OXI_WAY_PANELS;
}

static ox_status oxi_gemm_run(const oxi_gemm *g) {
    if (g->m == 0 || g->n == 0) return OX_OK;
    if (oxi_is_block(g->a_dtype) || oxi_is_block(g->b_dtype)) return oxi_block_product(g);
    return g->way >= OXI_WAY_THIN_A ? oxi_gemm_thin(g) : oxi_gemm_packed(g);
}
