/* Products with weights of block types, and their expansion.
 * Activations are quantized to int8. Few rows of them are multiplied by the blocks as they lie, which
 * reads each weight once; many go through panels of codes (cpu/product/codes.c). ox_set_exact(true), and
 * the c tier with many rows, expand the weights instead. oxi_gemm_run and the index family call this. */

static bool oxi_code_product_run(const oxi_gemm *g, ox_status *status); /* codes.c */

static ox_status oxi_check_expandable(ox_dtype dtype) {
    if (oxi_cpu_kernels()->unpack[dtype]) return OX_OK;
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s is left out of this build (OX_NO_IQ)", ox_dtype_name(dtype));
}

/* Memory for the codes of a piece, whole blocks of any type. */
enum { OXI_CODES_PIECE = 256 };
typedef struct oxi_codes_piece {
    int8_t code[OXI_CODES_PIECE];
    float scale[OXI_CODES_PIECE / 16], least[OXI_CODES_PIECE / 16];
} oxi_codes_piece;
static oxi_codes oxi_codes_of(oxi_codes_piece *piece) {
    oxi_codes c;
    c.code = piece->code;
    c.scale = piece->scale;
    c.least = piece->least;
    return c;
}

static void oxi_expand_blocks(ox_dtype dtype, int64_t n, const void *blocks, float *out) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    oxi_codes_piece memory;
    oxi_codes codes = oxi_codes_of(&memory);
    for (int64_t at = 0; at < n; at += OXI_CODES_PIECE) {
        int64_t part = oxi_min_i64(n - at, OXI_CODES_PIECE);
        kernels->unpack[dtype](part, (const char *)blocks + oxi_byte_offset(dtype, at), codes);
        kernels->expand_codes(part, codes, out + at);
    }
}

/* A row of blocks against as many activations. */
static float oxi_dot_codes(const oxi_kernels *kernels, ox_dtype dtype, int64_t n, const char *row,
                           const oxi_q8 *x) {
    oxi_codes_piece memory;
    oxi_codes codes = oxi_codes_of(&memory);
    float sum = 0;
    for (int64_t at = 0; at < n; at += OXI_CODES_PIECE) {
        int64_t part = oxi_min_i64(n - at, OXI_CODES_PIECE);
        const char *piece = row + oxi_byte_offset(dtype, at);
        for (int i = 0; i < 256; i += 64) OXI_PREFETCH_READ(piece + OXI_PREFETCH_AHEAD + i);
        kernels->unpack[dtype](part, piece, codes);
        sum += kernels->dot_codes(part, codes, x + at / OXI_CODES_PIECE);
    }
    return sum;
}

/* out[i] = row i times x. */
static void oxi_dot_rows(const oxi_kernels *kernels, ox_dtype dtype, int64_t rows, int64_t row_bytes,
                         int64_t n, const char *blocks, const oxi_q8 *x, float *out) {
    if (kernels->dot_rows[dtype]) {
        kernels->dot_rows[dtype](rows, row_bytes, n, blocks, x, out);
        return;
    }
    for (int64_t step = 0; step < rows; step++) {
        int64_t i = oxi_interleaved_row(step, rows);
        out[i] = oxi_dot_codes(kernels, dtype, n, blocks + i * row_bytes, x);
    }
}

/* Rows of blocks against few rows of activations: out[m,n] = sum_k x[m,k] * w[n,k]. */
typedef struct oxi_block_rows {
    const oxi_gemm *g; /* b is w: b_col its row stride, b_row 1 */
    const oxi_kernels *kernels;
    bool exact;        /* w is expanded, otherwise x is quantized */
    float *x;          /* [m][k] */
    oxi_q8 *q;         /* [m][pieces of k] */
    int64_t pieces;
    float *lift;       /* of each row of x: what its dot products are multiplied by */
    oxi_line_shares shares;
    int64_t task_rows; /* at most */
    char *scratch;     /* of each lane: sums [m][task_rows], stage [task_rows], a row if expanded */
    size_t lane_bytes, made, bytes; /* of a lane, of x to lift, of scratch */
} oxi_block_rows;

/* Sums [m][rows] of rows from `first` on, of which lines are `line` apart, to C. */
static void oxi_block_rows_store(const oxi_block_rows *r, int64_t first, int64_t rows, int64_t line,
                                 float *sums, float *stage) {
    const oxi_gemm *g = r->g;
    for (int64_t m = 0; m < g->m; m++) {
        float *row = sums + m * line;
        if (!r->exact && r->lift[m] != 1) r->kernels->row_scale(rows, row, r->lift[m], row);
        if (!oxi_gemm_is_plain(g))
            oxi_gemm_epilogue(g, r->kernels, OXI_LANE_F32, m, first, rows, true, row, stage);
        r->kernels->store[g->c_dtype][OXI_LANE_F32](rows, row, oxi_gemm_c(g, m, first), g->c_col);
    }
}

/* sums [m][rows of the part] of both streams. expanded: room for a row, if w is. */
static void oxi_block_rows_dots(const oxi_block_rows *r, const oxi_share_part *part, float *sums,
                                float *expanded) {
    const oxi_gemm *g = r->g;
    const int64_t row_bytes = oxi_signed_bytes(g->b_dtype, g->b_col), more = oxi_share_lines(part, 1),
                  rows = part->lines + more;
    const char *blocks = (const char *)g->b + part->first * row_bytes;
    if (part->begins || !g->repacked) { /* of those that are not, each half of a task is a stream */
        oxi_fetch_stream(blocks);
        oxi_fetch_stream(blocks + (g->repacked ? part->apart : oxi_parts(rows, 2)) * row_bytes);
    }
    for (int64_t i = 0; r->exact && i < rows; i++) {
        oxi_expand_line(g, g->b, g->b_dtype, g->b_col, part->first + i, 0, g->k, expanded);
        for (int64_t m = 0; m < g->m; m++)
            sums[m * rows + i] = r->kernels->dot_f32(g->k, expanded, r->x + m * g->k);
    }
    for (int64_t m = 0; !r->exact && m < g->m; m++) {
        const oxi_q8 *x = r->q + m * r->pieces;
        if (!g->repacked)
            oxi_dot_rows(r->kernels, g->b_dtype, rows, row_bytes, g->k, blocks, x, sums + m * rows);
        else
            r->kernels->dot_repacked[g->b_dtype](
                part->lines / OXI_REPACKED_ROWS, more / OXI_REPACKED_ROWS, part->apart * row_bytes,
                OXI_REPACKED_ROWS * row_bytes, g->k, blocks, x, 0, sums + m * rows);
    }
}

static void oxi_block_rows_task(void *arg, int64_t index, int lane) {
    const oxi_block_rows *r = (const oxi_block_rows *)arg;
    const oxi_share_part part = oxi_lines_of(&r->shares, index);
    float *sums = (float *)(void *)(r->scratch + (size_t)lane * r->lane_bytes),
          *stage = sums + r->g->m * r->task_rows;
    oxi_block_rows_dots(r, &part, sums, stage + r->task_rows);
    for (int64_t s = 0; s < 2; s++)
        oxi_block_rows_store(r, part.first + s * part.apart, oxi_share_lines(&part, s),
                             part.lines + oxi_share_lines(&part, 1), sums + s * part.lines, stage);
}

/* Terms of a sum could pass f32's range where the sum does not: rows with steps that large are taken times
 * 2^-64, and their products times OXI_ROW_LIFT. */
#define OXI_ROW_LIFT 18446744073709551616.0f /* 2^64 */
static bool oxi_is_large_step(float step) { return step > 4503599627370496.0f; } /* 2^52 */
static void oxi_lower_row(int64_t k, const float *x, float *out) {
    for (int64_t i = 0; i < k; i++) out[i] = x[i] * (1 / OXI_ROW_LIFT);
}

/* Types whose blocks have integer scales of their own. */
static bool oxi_takes_ratios(ox_dtype dtype) { return oxi_info(dtype)->block_elements > 32; }

/* A row of numbers, quantized. Returns what products of the row are to be multiplied by. stage: k floats,
 * may be x itself. */
static float oxi_quantize_row(const oxi_kernels *kernels, int64_t k, const float *x, float *stage,
                              bool by_ratios, oxi_q8 *out) {
    bool large = false;
    kernels->quantize_activation(k, x, by_ratios, out);
    for (int64_t i = 0; i < oxi_parts(k, OXI_CODES_PIECE); i++)
        large = large || oxi_is_large_step(out[i].step);
    if (!large) return 1;
    oxi_lower_row(k, x, stage);
    kernels->quantize_activation(k, stage, by_ratios, out);
    return OXI_ROW_LIFT;
}

static void oxi_block_rows_prepare(oxi_block_rows *r) {
    const oxi_gemm *g = r->g;
    int64_t element = oxi_info(g->a_dtype)->block_bytes;
    for (int64_t m = 0; m < g->m; m++) {
        float *x = r->x + m * g->k;
        const void *from = (const char *)g->a + m * g->a_row * element;
        const bool lies = g->a_dtype == OX_F32 && g->a_col == 1 && !r->exact; /* as it is read */
        if (!lies) r->kernels->load[g->a_dtype][OXI_LANE_F32](g->k, from, g->a_col, x);
        if (!r->exact)
            r->lift[m] = oxi_quantize_row(r->kernels, g->k, lies ? (const float *)from : x, x,
                                          oxi_takes_ratios(g->b_dtype), r->q + m * r->pieces);
    }
}

/* Sizes. shares: of the rows; ends: threads wait for the last tasks. */
static void oxi_block_rows_plan(oxi_block_rows *r, const oxi_gemm *g, bool exact, int64_t shares, bool ends) {
    memset(r, 0, sizeof *r);
    r->g = g;
    r->kernels = oxi_cpu_kernels();
    r->exact = exact;
    const bool streams = g->repacked && !exact;
    oxi_lines_set(&r->shares, g->n, streams ? OXI_REPACKED_ROWS : 1,
                  (int64_t)oxi_byte_offset(g->b_dtype, g->k), shares, streams ? 2 : 1,
                  streams && g->m == 1 ? OXI_SHARE_BYTES : OXI_THIN_BYTES, ends); /* rows of x read again */
    r->task_rows = 2 * r->shares.most;
    r->pieces = oxi_parts(g->k, OXI_CODES_PIECE);
    const size_t f32 = sizeof(float), q_bytes = exact ? 0 : (size_t)(g->m * r->pieces) * sizeof *r->q;
    r->made = oxi_align_up(oxi_align_up((size_t)(g->m * g->k) * f32) + q_bytes) + (size_t)g->m * f32;
    r->lane_bytes = oxi_align_up((size_t)((g->m + 1) * r->task_rows + (exact ? g->k : 0)) * f32);
}

/* Where x, q and lift lie in `made` bytes of memory. */
static void oxi_block_rows_place(oxi_block_rows *r, char *memory) {
    const size_t rows = (size_t)r->g->m * sizeof(float);
    r->x = (float *)(void *)memory;
    r->q = (oxi_q8 *)(void *)(memory + oxi_align_up(rows * (size_t)r->g->k));
    r->lift = (float *)(void *)(memory + r->made - rows);
}

/* Everything but the tasks. sharers: so many products share the threads. Whether there was memory or not,
 * oxi_block_rows_end follows. */
static ox_status oxi_block_rows_begin(oxi_block_rows *r, const oxi_gemm *g, bool exact, int64_t sharers,
                                      bool ends) {
    bool done = false;
    oxi_block_rows_plan(r, g, exact, sharers > 1 ? 1 : oxi_lanes(INT32_MAX), ends);
    r->bytes = (size_t)oxi_lanes(INT32_MAX) * r->lane_bytes;
    char *memory = oxi_shared_take(g, OXI_SHARED_ROWS + oxi_takes_ratios(g->b_dtype), r->made, &done);
    if (!memory) return OX_ERR_NOMEM;
    oxi_block_rows_place(r, memory);
    r->scratch = (char *)oxi_alloc(r->bytes);
    if (r->scratch && !done) oxi_block_rows_prepare(r);
    return r->scratch ? OX_OK : OX_ERR_NOMEM;
}

static void oxi_block_rows_end(const oxi_block_rows *r) {
    if (r->x) oxi_shared_give(r->g, (char *)r->x, r->made);
    oxi_free(r->scratch, r->bytes);
}

static ox_status oxi_block_rows_run(const oxi_gemm *g, bool exact) {
    oxi_block_rows r;
    ox_status status = oxi_block_rows_begin(&r, g, exact, 1, oxi_waits_at_end(g->together));
    if (status == OX_OK) oxi_product_region(g->together, r.shares.tasks, oxi_block_rows_task, &r);
    oxi_block_rows_end(&r);
    return status;
}

/* C^T = B^T A^T: the blocks become b. */
static oxi_gemm oxi_gemm_transposed(const oxi_gemm *g) {
    oxi_gemm t = *g;
    t.m = g->n;
    t.n = g->m;
    t.a = g->b;
    t.a_row = g->b_col;
    t.a_col = g->b_row;
    t.a_dtype = g->b_dtype;
    t.b = g->a;
    t.b_row = g->a_col;
    t.b_col = g->a_row;
    t.b_dtype = g->a_dtype;
    t.c_row = g->c_col;
    t.c_col = g->c_row;
    t.addend_row = g->addend_col;
    t.addend_col = g->addend_row;
    if (g->bias) { /* one number a row of the transposed: as an addend */
        t.bias = NULL;
        t.addend = g->bias;
        t.addend_dtype = OX_F32;
        t.addend_row = 1;
        t.addend_col = 0;
        t.beta = 1;
    }
    return t;
}

static ox_status oxi_block_product(const oxi_gemm *g) {
    oxi_gemm t = *g;
    if (oxi_is_block(g->a_dtype) && !(g->bias && g->addend)) t = oxi_gemm_transposed(g);
    if (oxi_is_block(t.a_dtype) || !oxi_is_float(t.a_dtype) || t.b_row != 1)
        return oxi_fail(OX_ERR_UNSUPPORTED, "matmul: no product of %s x %s that lie so",
                        ox_dtype_name(g->a_dtype), ox_dtype_name(g->b_dtype));
    ox_status status = oxi_check_expandable(t.b_dtype);
    if (status != OX_OK) return status;
    bool exact = t.exact || t.a_dtype == OX_F64;
    if (t.way == OXI_WAY_FEW_ROWS && t.k > 0) return oxi_block_rows_run(&t, exact);
    t.rough = !exact && oxi_cpu_kernels()->bf16_pairs.kernel.tile_k > 0; /* else codes are faster */
    if (!exact && !t.rough && t.k > 0 && oxi_code_product_run(&t, &status)) return status;
    return oxi_gemm_packed(&t);
}
