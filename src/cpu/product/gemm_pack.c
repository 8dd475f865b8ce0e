/* Operands of products on their way to panels: of any strides and dtypes, widened, rounded or expanded as the
 * type computes, packed a chunk of k at a time as the micro-kernel reads them. Called by gemm_tile.c, gemm.c;
 * blocks.c and codes.c share A's memory and read blocks by its helpers. */

static size_t oxi_align_up(size_t bytes) { return (bytes + OXI_ALIGN - 1) / OXI_ALIGN * OXI_ALIGN; }

/* Bytes of a stride, which may be negative. */
static int64_t oxi_signed_bytes(ox_dtype dtype, int64_t elements) {
    const ox_dtype_info *info = oxi_info(dtype);
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

/* ---- A for the products of a call that is cut ---- */

/* Memory for that. *done: it is there already, from a product before with the same A. */
static char *oxi_shared_take(const oxi_gemm *g, int form, size_t bytes, bool *done) {
    oxi_shared *shared = g->shared;
    *done = shared && shared->form == form && shared->bytes == bytes;
    if (*done) return (char *)shared->memory;
    char *memory = (char *)oxi_alloc(bytes);
    if (!shared || !memory) return memory;
    oxi_free(shared->memory, shared->bytes);
    shared->memory = memory;
    shared->bytes = bytes;
    shared->form = form;
    return memory;
}

static void oxi_shared_give(const oxi_gemm *g, char *memory, size_t bytes) {
    if (!g->shared) oxi_free(memory, bytes);
}

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
        return s->pack.across != p->type.groups->pack_a.across ? p->type.groups->interleave : NULL;
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

/* panel_stride: from one panel to the next, packed elements; more than these `depth` steps where they are
 * part of a deeper chunk. */
static void oxi_gemm_pack_across(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t lines,
                                 int64_t k, int64_t depth, char *panels, int64_t panel_stride, char *stage) {
    int64_t element = p->type.element;
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
 * seen the pattern: the line behind the next ones is prefetched. */
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
                                int64_t k, int64_t depth, char *panels, int64_t panel_stride, char *stage) {
    int64_t element = p->type.element;
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
        char *panel = panels + first / s->width * panel_stride * element;
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

/* The same for windows: a slab of them at a time is laid out, its lines or else its steps of k side by side,
 * and packed as a matrix. */
static void oxi_gemm_pack_windows(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t lines,
                                  int64_t k, int64_t depth, char *panels, char *stage) {
    int64_t each = p->type.k_each, bytes = oxi_info(s->dtype)->block_bytes, element = p->type.element;
    const int64_t unit = 16;
    int64_t most = s->by_taps ? s->width : OXI_GEMM_SLAB / (unit * each * bytes) / s->width * s->width;
    char *slab = stage + p->slab_at;
    oxi_gemm_side flat = *s;
    flat.windows = NULL;
    flat.data = slab;
    for (int64_t first = 0; first < lines; first += most) {
        int64_t here = oxi_min_i64(lines - first, most);
        int64_t step = OXI_GEMM_SLAB / (here * each * bytes) / unit * unit;
        if (step < unit) step = unit;
        for (int64_t at = 0; at < depth; at += step) {
            int64_t count = oxi_min_i64(depth - at, step), from = (k + at) * each;
            char *to = panels + (first / s->width * depth + at) * s->width * element;
            flat.k = from < s->k ? oxi_min_i64(s->k - from, count * each) : 0;
            if (s->by_taps) {
                flat.line_stride = count * each;
                flat.k_stride = 1;
                oxi_windows_read(s->windows, line + first, here, from, flat.k, slab, flat.line_stride);
                oxi_gemm_pack_along(p, &flat, 0, here, 0, count, to, depth * s->width, stage);
                continue;
            }
            flat.line_stride = 1;
            flat.k_stride = here;
            oxi_windows_read(s->windows, from, flat.k, line + first, here, slab, here);
            oxi_gemm_pack_across(p, &flat, 0, here, 0, count, to, depth * s->width, stage);
        }
    }
}

/* Numbers that are paired with those g->pairs behind them, where they lie: taps of channels that are `apart`
 * elements apart, `reach` elements of each. */
typedef struct oxi_gemm_taps {
    const char *data;
    int64_t line, apart, reach;
    int16_t at[OXI_PICKED];
} oxi_gemm_taps;

static bool oxi_gemm_find_taps(const oxi_gemm_plan *p, const oxi_gemm_side *s, oxi_gemm_taps *to) {
    int64_t taps = p->g->pairs;
    if (!p->type.groups->pick || taps > OXI_PICKED || s->k / taps % 2) return false;
    to->data = s->data;
    to->line = s->windows ? s->windows->channel_stride : s->line_stride;
    to->apart = s->windows ? s->windows->sample_stride : taps * s->k_stride;
    to->reach = 0;
    for (int64_t t = 0; t < taps; t++) {
        int64_t at = s->windows ? oxi_windows_run(s->windows, t, 1).offset : t * s->k_stride;
        if (at < 0 || at >= 2 * OXI_PICKED) return false;
        to->at[t] = (int16_t)at;
        if (at >= to->reach) to->reach = at + 1;
    }
    return true;
}

/* Lines of these as they come, in pairs: `channels` of them from number `from` on. slab, if they have to be
 * brought together first: row numbers of each line. */
static void oxi_gemm_pair(const oxi_gemm_plan *p, const oxi_gemm_side *s, const oxi_gemm_taps *taps,
                          int64_t line, int64_t lines, int64_t from, int64_t channels, char *slab,
                          char *out) {
    int64_t apart = p->g->pairs, row = channels * apart, there = oxi_min_i64(row, s->k - from), bytes = 2;
    if (!taps && s->windows) oxi_windows_read(s->windows, line, lines, from, there, slab, row);
    for (int64_t i = 0; i < lines; i++, slab += row * bytes, out += row / 2 * p->type.element) {
        if (taps) {
            int64_t at = (line + i) * taps->line + from / apart * taps->apart;
            p->type.groups->pick(channels / 2, taps->data + at * bytes, taps->apart * bytes, taps->at,
                                 (int)apart, (int)taps->reach, out);
            continue;
        }
        if (!s->windows)
            p->kernels->gather[oxi_width_index((int)bytes)](there, oxi_gemm_at(s, line + i, from),
                                                            s->k_stride * bytes, slab);
        memset(slab + there * bytes, 0, (size_t)((row - there) * bytes));
        p->type.groups->interleave(apart, channels / 2, slab, apart, (int)apart, out, 0);
    }
}

static void oxi_gemm_pack_pairs(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t line, int64_t lines,
                                int64_t k, int64_t depth, char *panels, char *stage) {
    int64_t apart = p->g->pairs, element = p->type.element;
    int64_t all = OXI_GEMM_SLAB / (4 * apart * s->width) * apart;
    oxi_gemm_taps taps;
    bool found = oxi_gemm_find_taps(p, s, &taps);
    for (int64_t first = 0; first < lines; first += s->width) {
        int64_t here = oxi_min_i64(lines - first, s->width);
        for (int64_t at = 0, count; at < depth; at += count) {
            int64_t skip = (k + at) % apart;
            count = oxi_min_i64(all - skip, depth - at);
            int64_t row = oxi_round_up(skip + count, apart);
            oxi_gemm_pair(p, s, found ? &taps : NULL, line + first, here, 2 * (k + at - skip),
                          2 * row / apart, stage + p->slab_at, stage);
            s->pack.along(here, count, stage + skip * element, row, s->width,
                          panels + (first * depth + at * s->width) * element, 0);
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
    if (p->g->pairs) {
        oxi_gemm_pack_pairs(p, s, line, lines, k, depth, panels, stage);
        return;
    }
    if (s->windows) {
        oxi_gemm_pack_windows(p, s, line, lines, k, depth, panels, stage);
        return;
    }
    bool along = converts || oxi_is_block(s->dtype) || (s->k > 1 && along_step < across_step);
    if (along) {
        oxi_gemm_pack_along(p, s, line, lines, k, depth, panels, depth * s->width, stage);
        return;
    }
    int64_t most = OXI_GEMM_STAGE_LINES;
    if (p->type.pieces) most = most * OXI_GEMM_STAGE_DEPTH / p->type.kernel->tile_k;
    for (int64_t first = 0; first < lines; first += most)
        oxi_gemm_pack_across(p, s, line + first, oxi_min_i64(lines - first, most), k, depth,
                             panels + first * depth * p->type.element, depth * s->width, stage);
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
    int64_t panels = oxi_parts(lines, s->width), group = OXI_GEMM_STAGE_LINES / s->width;
    int64_t groups = oxi_parts(panels, group);
    if (!is_a) index -= p->a_tasks;
    int64_t at = index / groups * p->depth, panel = index % groups * group;
    int64_t depth = oxi_min_i64(p->ks - at, p->depth);
    int64_t line = panel * s->width, count = oxi_min_i64(lines - line, group * s->width);
    char *to = s->packed + (at * panels + depth * panel) * s->width * p->type.element;
    oxi_gemm_pack(p, s, first + line, count, p->k0 + at, depth, to,
                  p->scratch + (size_t)lane * p->lane_bytes);
}
