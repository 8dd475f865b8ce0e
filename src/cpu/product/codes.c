/* Products of many rows of activations with weights of block types, in integers.
 * Activations are quantized to int8 once; each task unpacks its rows of weights, a piece of k at a time,
 * into a panel that stays in the first cache, and takes it against all activations; no weights are kept.
 * Where a tier multiplies 16 bits by 16, both sides have one scale for 256 numbers, of which weights keep 12
 * bits and activations 13. Called by cpu/product/blocks.c; kernels are those of kernels/codes.inc. */

enum {
    OXI_CODE_ROWS_MOST = 512,     /* rows of activations of one round */
    OXI_CODE_PANEL_BYTES = 16384  /* codes of a panel of weights */
};

/* Codes of a type, once `offset` has made them unsigned, are at most `most`; `group` of them share a
 * scale. What is not listed is taken as what fits all. */
typedef struct oxi_code_type {
    ox_dtype dtype;
    int offset, most, group;
} oxi_code_type;
static const oxi_code_type oxi_code_types[] = {
    {OX_Q4_0, 8, 15, 32},   {OX_Q4_1, 0, 15, 32},   {OX_Q5_0, 16, 31, 32},    {OX_Q5_1, 0, 31, 32},
    {OX_Q8_0, 128, 255, 32}, {OX_Q2_K, 0, 3, 16},    {OX_Q3_K, 4, 7, 16},      {OX_Q4_K, 0, 15, 32},
    {OX_Q5_K, 0, 31, 32},   {OX_Q6_K, 32, 63, 16},  {OX_IQ4_NL, 128, 255, 32}, {OX_IQ4_XS, 128, 255, 32},
    {OX_MXFP4, 12, 24, 32}, {OX_NVFP4, 12, 24, 16}, {OX_TQ1_0, 1, 2, 32},     {OX_TQ2_0, 1, 3, 32},
    {OX_Q1_0, 1, 2, 32},    {OX_Q2_0, 1, 3, 32},    {OX_IQ1_S, 9, 18, 32},    {OX_IQ1_M, 9, 18, 16},
    {OX_Q8_1, 128, 255, 32}, {OX_DTYPE_NONE, 128, 255, 16},
};

static const oxi_code_type *oxi_code_type_of(ox_dtype dtype) {
    const oxi_code_type *row = oxi_code_types;
    while (row->dtype != dtype && row->dtype != OX_DTYPE_NONE) row++;
    return row;
}

static int oxi_codes_group(ox_dtype dtype) { return oxi_code_type_of(dtype)->group; }

typedef struct oxi_code_product {
    const oxi_gemm *g; /* b is the weights: b_col its row stride, b_row 1 */
    const oxi_kernels *kernels;
    const oxi_codes_kernel *kernel;
    const oxi_code_type *type;
    bool wide; /* codes of 16 bits */
    int steps, shift;
    int64_t piece;      /* of k at a time */
    int64_t m0, rows;   /* the rows of this round */
    char *q;            /* panels of activations: q_bytes, k / 32 and k / group elements of each line */
    float *scale, *sum; /* none if wide */
    float *step;        /* pieces of k elements of each line; NULL if the kernel takes scales of 32 */
    float *lift;        /* [rows] */
    char *scratch;      /* of each lane: a quantized row, lines of codes, their scales and extras, panels of
                         * these, sums, at the offsets below */
    size_t row_at, codes_at, scale_at, extra_at, step_at, panel_at, panel_scale_at, panel_extra_at;
    size_t sums_at, lane_bytes;
} oxi_code_product;

static int64_t oxi_code_step(const oxi_code_product *p) { return 4 / p->kernel->bytes; }

/* Lines of codes [lines][k] and, where the panel has them, their scales and extras [lines][scales or extras]
 * and steps [lines][pieces] into a panel `width` wide. */
static void oxi_code_pack(const oxi_code_product *p, char *lane, int64_t lines, int width, int64_t k,
                          int64_t scales, int64_t extras, oxi_code_panel to) {
    int64_t steps = oxi_parts(k, OXI_CODES_PIECE);
    oxi_pack_kernel pack = p->kernels->pack_along;
    k /= oxi_code_step(p);
    pack(lines, k, lane + p->codes_at, k, width, to.codes, 0);
    if (to.scale) pack(lines, scales, lane + p->scale_at, scales, width, to.scale, 0);
    if (to.extra) pack(lines, extras, lane + p->extra_at, extras, width, to.extra, 0);
    if (to.step) pack(lines, steps, lane + p->step_at, steps, width, to.step, 0);
}

/* Panel `index` of the activations from k0 on. */
static oxi_code_panel oxi_code_rows_at(const oxi_code_product *p, int64_t index, int64_t k0) {
    int64_t mr = p->kernel->mr, k = p->g->k;
    oxi_code_panel panel;
    panel.codes = p->q + (index * k + k0) * mr * p->kernel->bytes;
    panel.scale = p->wide ? NULL : p->scale + (index * (k / 32) + k0 / 32) * mr;
    panel.extra = p->wide ? NULL : p->sum + (index * (k >> p->shift) + (k0 >> p->shift)) * mr;
    panel.step =
        p->step ? p->step + (index * oxi_parts(k, OXI_CODES_PIECE) + k0 / OXI_CODES_PIECE) * mr : NULL;
    return panel;
}

static bool oxi_code_by_ratios(const oxi_code_product *p) {
    return p->kernel->wants_ratios || oxi_takes_ratios(p->g->b_dtype);
}

/* A quantized row as a line of codes, their scales or ratios, the sums of the type's groups, steps. */
static void oxi_code_line(const oxi_code_product *p, const oxi_q8 *from, int8_t *code, float *scale,
                          float *sum, float *step) {
    int64_t k = p->g->k;
    for (int64_t at = 0; at < k; at += OXI_CODES_PIECE, from++) {
        int64_t part = oxi_min_i64(k - at, OXI_CODES_PIECE);
        memcpy(code + at, from->q, (size_t)part);
        *step++ = from->step;
        for (int64_t i = 0; i < part / 32; i++, scale++) {
            int16_t pair[2] = {from->ratio[i], from->ratio[i]};
            memcpy(scale, p->kernel->wants_ratios ? (const void *)pair : from->scale + i, sizeof *scale);
            if (p->type->group == 32) *sum++ = from->sum[i];
            else
                for (int j = 0; j < 2; j++) *sum++ = from->scale[i] * (float)from->total[2 * i + j];
        }
    }
}

/* A row in 16 bits, and its steps. Returns what oxi_quantize_row does. */
static float oxi_code_wide_row(const oxi_code_product *p, const float *x, float *stage, int16_t *code,
                               float *step) {
    int64_t k = p->g->k;
    bool large = false;
    p->kernels->quantize_wide(k, x, code, step);
    for (int64_t i = 0; i < oxi_parts(k, OXI_CODES_PIECE); i++) large = large || oxi_is_large_step(step[i]);
    if (!large) return 1;
    oxi_lower_row(k, x, stage);
    p->kernels->quantize_wide(k, stage, code, step);
    return OXI_ROW_LIFT;
}

/* Task: a panel of activations. */
static void oxi_code_rows_task(void *arg, int64_t index, int lane_index) {
    const oxi_code_product *p = (const oxi_code_product *)arg;
    const oxi_gemm *g = p->g;
    char *lane = p->scratch + (size_t)lane_index * p->lane_bytes;
    float *stage = (float *)(void *)(lane + p->sums_at), *scale = (float *)(void *)(lane + p->scale_at);
    float *sum = (float *)(void *)(lane + p->extra_at), *step = (float *)(void *)(lane + p->step_at);
    oxi_q8 *row = (oxi_q8 *)(void *)(lane + p->row_at);
    int64_t first = index * p->kernel->mr, lines = oxi_min_i64(p->kernel->mr, p->rows - first),
            group = p->type->group;
    int64_t element = oxi_info(g->a_dtype)->block_bytes;
    for (int64_t i = 0; i < lines; i++) {
        const char *from = (const char *)g->a + (p->m0 + first + i) * g->a_row * element;
        const float *x = (const float *)(const void *)from;
        if (g->a_dtype != OX_F32 || g->a_col != 1) {
            p->kernels->load[g->a_dtype][OXI_LANE_F32](g->k, from, g->a_col, stage);
            x = stage;
        }
        float *steps = step + i * oxi_parts(g->k, OXI_CODES_PIECE);
        char *code = lane + p->codes_at + i * g->k * p->kernel->bytes;
        if (p->wide) {
            p->lift[first + i] = oxi_code_wide_row(p, x, stage, (int16_t *)(void *)code, steps);
            continue;
        }
        p->lift[first + i] = oxi_quantize_row(p->kernels, g->k, x, stage, oxi_code_by_ratios(p), row);
        oxi_code_line(p, row, (int8_t *)code, scale + i * (g->k / 32), sum + i * (g->k / group), steps);
    }
    oxi_code_pack(p, lane, lines, p->kernel->mr, g->k, g->k / 32, g->k / group,
                  oxi_code_rows_at(p, index, 0));
}

/* A piece of line `line` of the weights, unpacked. */
static void oxi_code_piece(const oxi_code_product *p, int64_t line, int64_t k, int64_t count, oxi_codes c) {
    const oxi_gemm *g = p->g;
    char blocks[OXI_REPACKED_PIECE_BYTES];
    p->kernels->unpack[g->b_dtype](
        count, oxi_blocks_at(g, g->b, g->b_dtype, g->b_col, line, k, count, blocks), c);
}

/* One line of k codes, made unsigned where the kernel wants that; one scale and extra a group. Whether
 * there are extras. */
static bool oxi_code_unpack(const oxi_code_product *p, int64_t line, int64_t k0, int64_t k, int8_t *code,
                            float *scale, float *extra) {
    int64_t every = p->type->group / 16;
    float offset = p->kernel->is_signed ? 0 : (float)p->type->offset;
    bool any = false;
    oxi_codes_piece piece;
    oxi_codes c = oxi_codes_of(&piece);
    for (int64_t at = 0; at < k; at += OXI_CODES_PIECE) {
        int64_t part = oxi_min_i64(k - at, OXI_CODES_PIECE);
        c.code = code + at;
        oxi_code_piece(p, line, k0 + at, part, c);
        for (int64_t i = 0; i < part / 16; i += every) {
            *scale++ = c.scale[i];
            *extra = c.least[i] + offset * c.scale[i];
            any = any || *extra != 0;
            extra++;
        }
    }
    if (offset != 0) p->kernels->codes_shift(k, (int)offset, code);
    return any;
}

/* One line of k codes in 16 bits; one scale a piece. */
static void oxi_code_unpack_wide(const oxi_code_product *p, int64_t line, int64_t k0, int64_t k,
                                 int16_t *code, float *scale) {
    int most = p->type->most - p->type->offset, bits = 0;
    while (1 << bits <= most || 1 << bits < p->type->offset) bits++;
    oxi_codes_piece piece;
    oxi_codes c = oxi_codes_of(&piece);
    for (int64_t at = 0; at < k; at += OXI_CODES_PIECE) {
        int64_t part = oxi_min_i64(k - at, OXI_CODES_PIECE);
        if (part < OXI_CODES_PIECE) memset(&piece, 0, sizeof piece);
        oxi_code_piece(p, line, k0 + at, part, c);
        *scale++ = p->kernels->codes_widen(part, c, bits, code + at);
    }
}

/* The same as below from repacked rows, whose codes lie as the panel has them but for its width. */
static oxi_code_panel oxi_code_repacked(const oxi_code_product *p, char *lane, int64_t n, int64_t lines,
                                        int64_t k0, int64_t k) {
    const oxi_gemm *g = p->g;
    bool is_signed = p->kernel->is_signed;
    oxi_code_panel panel;
    panel.step = NULL;
    panel.codes = lane + p->panel_at;
    panel.scale = (float *)(void *)(lane + p->panel_scale_at);
    bool extras = p->type->offset == 0 || !is_signed; /* types that have no offset have least numbers */
    panel.extra = extras ? (float *)(void *)(lane + p->panel_extra_at) : NULL;
    oxi_repacked_panel(g->b_dtype, (const char *)g->b, n, lines, oxi_signed_bytes(g->b_dtype, g->b_col), k0,
                       k, p->kernel->nr, is_signed, &panel);
    return panel;
}

/* Lines of weights from line n on, k codes from k0 on. */
static oxi_code_panel oxi_code_weights(const oxi_code_product *p, char *lane, int64_t n, int64_t lines,
                                       int64_t k0, int64_t k) {
    float *scale = (float *)(void *)(lane + p->scale_at), *extra = (float *)(void *)(lane + p->extra_at);
    int64_t groups = oxi_parts(k, (int64_t)1 << p->shift);
    bool any = false;
    if (p->g->repacked && !p->wide) return oxi_code_repacked(p, lane, n, lines, k0, k);
    for (int64_t i = 0; i < lines; i++) {
        char *code = lane + p->codes_at + i * k * p->kernel->bytes;
        if (p->wide) oxi_code_unpack_wide(p, n + i, k0, k, (int16_t *)(void *)code, scale + i * groups);
        else any |= oxi_code_unpack(p, n + i, k0, k, (int8_t *)code, scale + i * groups, extra + i * groups);
    }
    oxi_code_panel panel;
    panel.step = NULL;
    panel.codes = lane + p->panel_at;
    panel.scale = (float *)(void *)(lane + p->panel_scale_at);
    panel.extra = any ? (float *)(void *)(lane + p->panel_extra_at) : NULL;
    oxi_code_pack(p, lane, lines, p->kernel->nr, k, groups, groups, panel);
    return panel;
}

/* `columns` columns from n on of the rows of panel `index`, from sums [mr][nr] to C, where those of a direct
 * panel are already. */
static void oxi_code_finish(const oxi_code_product *p, int64_t index, int64_t n, int64_t columns, bool direct,
                            float *sums, float *stage) {
    const oxi_gemm *g = p->g;
    bool plain = oxi_gemm_is_plain(g);
    int64_t first = index * p->kernel->mr, end = oxi_min_i64(first + p->kernel->mr, p->rows);
    for (int64_t i = first; i < end; i++, sums += p->kernel->nr) {
        if (direct && p->lift[i] == 1) continue;
        char *to = oxi_gemm_c(g, p->m0 + i, n);
        float *row = direct ? (float *)(void *)to : sums;
        if (p->lift[i] != 1) p->kernels->row_scale(columns, row, p->lift[i], row);
        if (direct) continue;
        if (!plain) oxi_gemm_epilogue(g, p->kernels, OXI_LANE_F32, p->m0 + i, n, columns, true, row, stage);
        p->kernels->store[g->c_dtype][OXI_LANE_F32](columns, row, to, g->c_col);
    }
}

/* Prefetches the blocks of some lines that the task unpacks next, or the one after it, when the panel from
 * line n on, k codes from k0 on, is done. */
static void oxi_code_prefetch(const oxi_code_product *p, int64_t n, int64_t k0, int64_t k, int64_t first,
                             int64_t lines) {
    const oxi_gemm *g = p->g;
    k0 += k;
    if (k0 >= g->k) {
        n += p->kernel->nr;
        k0 = 0;
    }
    int64_t bytes = oxi_signed_bytes(g->b_dtype, oxi_min_i64(p->piece, g->k - k0));
    int64_t end = oxi_min_i64(n + first + lines, g->n);
    for (int64_t line = n + first; line < end; line++) {
        int64_t in_group = g->repacked ? line % OXI_REPACKED_ROWS : 0; /* whose pieces lie together */
        const char *row = (const char *)g->b + oxi_byte_offset(g->b_dtype, (line - in_group) * g->b_col);
        row += (g->repacked ? OXI_REPACKED_ROWS : 1) * oxi_signed_bytes(g->b_dtype, k0) + in_group * bytes;
        for (int64_t at = 0; at < bytes; at += 64) OXI_PREFETCH_FAR(row + at);
    }
}

/* Task: a panel of weights against all rows. */
static void oxi_code_product_task(void *arg, int64_t index, int lane_index) {
    const oxi_code_product *p = (const oxi_code_product *)arg;
    const oxi_gemm *g = p->g;
    char *lane = p->scratch + (size_t)lane_index * p->lane_bytes;
    float *sums = (float *)(void *)(lane + p->sums_at), *stage = (float *)(void *)(lane + p->panel_scale_at);
    int64_t mr = p->kernel->mr, nr = p->kernel->nr, n = index * nr, columns = oxi_min_i64(nr, g->n - n);
    int64_t panels = oxi_parts(p->rows, mr), direct = 0; /* so many panels the kernel writes to C itself */
    int64_t ahead = oxi_parts(nr, panels); /* lines that are prefetched while a panel is multiplied */
    if (oxi_gemm_is_plain(g) && g->c_dtype == OX_F32 && g->c_col == 1 && columns == nr) direct = p->rows / mr;
    float *c = direct > 0 ? (float *)(void *)oxi_gemm_c(g, p->m0, n) : NULL;
    for (int64_t k0 = 0; k0 < g->k; k0 += p->piece) {
        int64_t k = oxi_min_i64(p->piece, g->k - k0);
        oxi_code_panel weights = oxi_code_weights(p, lane, n, columns, k0, k);
        for (int64_t i = 0; i < panels; i++) {
            float *to = i < direct ? c + i * mr * g->c_row : sums + i * mr * nr;
            oxi_code_panel rows = oxi_code_rows_at(p, i, k0);
            if (i * ahead < nr) oxi_code_prefetch(p, n, k0, k, i * ahead, ahead);
            p->kernel->run(k, &weights, &rows, p->steps, p->shift, to, i < direct ? g->c_row : nr, k0 > 0);
        }
    }
    for (int64_t i = 0; i < panels; i++)
        oxi_code_finish(p, i, n, columns, i < direct, sums + i * mr * nr, stage);
}

/* The kernel for the type, and how many lanes it may add up. */
static bool oxi_code_choose(oxi_code_product *p) {
    int pairs = INT16_MAX / (2 * 127 * p->type->most); /* a lane of 16 bits takes two products a step */
    const oxi_codes_kernel *small = &p->kernels->codes_16;
    p->kernel = small->run && pairs >= small->pairs ? small : &p->kernels->codes_32;
    if (!p->kernel->run) return false;
    p->wide = p->kernel->bytes == 2;
    p->shift = p->wide ? 8 : p->type->group == 16 ? 4 : 5;
    p->steps = (1 << p->shift) / (int)oxi_code_step(p);
    while (p->kernel == &p->kernels->codes_16 && p->steps > pairs) p->steps /= 2;
    return true;
}

static size_t oxi_code_place(size_t *at, int64_t bytes) {
    size_t here = *at;
    *at += oxi_align_up((size_t)bytes);
    return here;
}

/* Where things lie in the memory of a lane. */
static void oxi_code_plan(oxi_code_product *p, int64_t rows) {
    int64_t k = p->g->k, mr = p->kernel->mr, nr = p->kernel->nr, bytes = p->kernel->bytes,
            f32 = sizeof(float);
    p->piece = oxi_min_i64(k, oxi_round_up(OXI_CODE_PANEL_BYTES / (nr * bytes), 256));
    int64_t codes = nr * p->piece > mr * k ? nr * p->piece : mr * k, sums = oxi_round_up(rows, mr) * nr;
    p->row_at = oxi_code_place(&p->lane_bytes, oxi_parts(k, OXI_CODES_PIECE) * (int64_t)sizeof(oxi_q8));
    p->codes_at = oxi_code_place(&p->lane_bytes, codes * bytes);
    p->scale_at = oxi_code_place(&p->lane_bytes, codes / 16 * f32);
    p->extra_at = oxi_code_place(&p->lane_bytes, codes / 16 * f32);
    p->step_at = oxi_code_place(&p->lane_bytes, mr * oxi_parts(k, OXI_CODES_PIECE) * f32);
    p->panel_at = oxi_code_place(&p->lane_bytes, nr * p->piece * bytes);
    p->panel_scale_at = oxi_code_place(&p->lane_bytes, (nr * p->piece / 16 + nr) * f32);
    p->panel_extra_at = oxi_code_place(&p->lane_bytes, nr * p->piece / 16 * f32);
    p->sums_at = oxi_code_place(&p->lane_bytes, (sums > k ? sums : k) * f32);
}

/* g's b is of a block type, its lines contiguous; k > 0. false: this tier has no kernel for it. */
static bool oxi_code_product_run(const oxi_gemm *g, ox_status *status) {
    oxi_code_product p;
    memset(&p, 0, sizeof p);
    p.g = g;
    p.kernels = oxi_cpu_kernels();
    p.type = oxi_code_type_of(g->b_dtype);
    if (!oxi_code_choose(&p)) return false;
    int64_t rows = oxi_min_i64(g->m, OXI_CODE_ROWS_MOST), mr = p.kernel->mr, f32 = sizeof(float);
    int64_t cells = oxi_round_up(rows, mr) * g->k, panels = oxi_parts(g->n, p.kernel->nr);
    oxi_code_plan(&p, rows);
    size_t bytes = 0, q_at = oxi_code_place(&bytes, cells * p.kernel->bytes);
    size_t scale_at = oxi_code_place(&bytes, p.wide ? 0 : cells / 32 * f32);
    size_t sum_at = oxi_code_place(&bytes, p.wide ? 0 : (cells >> p.shift) * f32);
    bool stepped = p.wide || p.kernel->wants_ratios;
    int64_t steps = stepped ? oxi_round_up(rows, mr) * oxi_parts(g->k, OXI_CODES_PIECE) : 0;
    size_t step_at = oxi_code_place(&bytes, steps * f32), lift_at = oxi_code_place(&bytes, rows * f32);
    size_t scratch_bytes = (size_t)oxi_lanes(INT32_MAX) * p.lane_bytes;
    bool done = false;
    char *memory = oxi_shared_take(g, OXI_SHARED_CODES + oxi_code_by_ratios(&p), bytes, &done);
    p.scratch = memory ? (char *)oxi_alloc(scratch_bytes) : NULL;
    *status = p.scratch ? OX_OK : OX_ERR_NOMEM;
    if (!p.scratch) {
        oxi_shared_give(g, memory, bytes);
        return true;
    }
    p.q = memory + q_at;
    p.scale = (float *)(void *)(memory + scale_at);
    p.sum = (float *)(void *)(memory + sum_at);
    p.step = steps > 0 ? (float *)(void *)(memory + step_at) : NULL;
    p.lift = (float *)(void *)(memory + lift_at);
    for (p.m0 = 0; p.m0 < g->m; p.m0 += rows) {
        p.rows = oxi_min_i64(rows, g->m - p.m0);
        if (!done || rows < g->m) oxi_parallel_for(oxi_parts(p.rows, mr), oxi_code_rows_task, &p);
        oxi_parallel_for(panels, oxi_code_product_task, &p);
    }
    oxi_shared_give(g, memory, bytes);
    oxi_free(p.scratch, scratch_bytes);
    return true;
}
