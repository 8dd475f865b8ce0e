/* Thin products: so few lines on one side that packing the other would take longer. The wide side is read
 * once, as it lies, a dot product a line or all lines side by side. Called by gemm.c. */

enum {
    OXI_THIN_LINES = 4,      /* most of the thin side */
    OXI_THIN_BYTES = 131072, /* weights of one task */
    OXI_THIN_SHORT = 128     /* numbers of a line, of which several go side by side */
};

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

/* The two streams of a task's rows begin in no cache, and kernels prefetch what is further ahead. each: rows
 * that are read at once. */
static void oxi_fetch_streams(const char *rows, int64_t count, int64_t row_bytes, int64_t each) {
    const char *second = rows + oxi_parts(count / each, 2) * each * row_bytes;
    for (int64_t at = 0; at < OXI_PREFETCH_AHEAD; at += 64) {
        OXI_PREFETCH_ONCE(rows + at);
        OXI_PREFETCH_ONCE(second + at);
    }
}

static float oxi_thin_dot(const oxi_thin *t, const char *line, const float *x) {
    if (t->dtype == OX_F32) return t->kernels->dot_f32(t->k, (const float *)(const void *)line, x);
    const uint16_t *half = (const uint16_t *)(const void *)line;
    return t->dtype == OX_F16 ? t->kernels->dot_f16(t->k, half, x) : t->kernels->dot_bf16(t->k, half, x);
}

/* sums [count][lines], all lines at once: memory is read along them. */
static void oxi_thin_across(const oxi_thin *t, int64_t first, int64_t lines, float *sums, float *stage) {
    int64_t element = oxi_info(t->dtype)->block_bytes;
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
    int64_t first = index * t->task_lines, element = oxi_info(t->dtype)->block_bytes;
    int64_t lines = oxi_min_i64(t->lines - first, t->task_lines);
    float *sums = (float *)(void *)(t->scratch + (size_t)lane * t->lane_bytes),
          *stage = sums + t->count * t->task_lines;
    const char *wide = t->wide + first * t->line_stride * element;
    if (!t->across) oxi_fetch_streams(wide, lines, t->line_stride * element, 1);
    if (t->across)
        oxi_thin_across(t, first, lines, sums, stage);
    else if (t->k <= OXI_THIN_SHORT)
        for (int64_t j = 0; j < t->count; j++)
            t->kernels->attention_dots[t->dtype](lines, t->k, t->thin + j * t->k, wide, t->line_stride,
                                                 sums + j * lines);
    else
        for (int64_t step = 0; step < lines; step++) {
            int64_t i = oxi_interleaved_row(step, lines);
            const char *line = wide + i * t->line_stride * element;
            for (int64_t j = 0; j < t->count; j++)
                sums[j * lines + i] = oxi_thin_dot(t, line, t->thin + j * t->k);
        }
    for (int64_t j = 0; j < t->count; j++) {
        int64_t m = t->lines_are_columns ? j : first, n = t->lines_are_columns ? first : j;
        float *row = sums + j * lines;
        if (!oxi_gemm_is_plain(g))
            oxi_gemm_epilogue(g, t->kernels, OXI_LANE_F32, m, n, lines, t->lines_are_columns, row, stage);
        for (int64_t i = 0, each = g->c_rows && !t->lines_are_columns ? 1 : lines; i < lines; i += each)
            t->kernels->store[g->c_dtype][OXI_LANE_F32](each, row + i, oxi_gemm_c(g, m + i, n),
                                                        t->lines_are_columns ? g->c_col : g->c_row);
    }
}

/* Rows of weights of one task: OXI_THIN_BYTES of them, but `each` tasks a thread, so that none waits long for
 * another. */
static int64_t oxi_rows_of_task(int64_t rows, int64_t row_bytes, int64_t each) {
    int64_t most = 4 + OXI_THIN_BYTES / (row_bytes > 0 ? row_bytes : 1),
            fair = oxi_parts(rows, each * oxi_lanes(INT32_MAX));
    return oxi_min_i64(rows, oxi_min_i64(most, fair < 8 ? 8 : fair));
}

/* When lines lie side by side, a task has at least half a page of each k. */
static int64_t oxi_thin_task_lines(const oxi_thin *t) {
    int64_t line_bytes = t->k * oxi_info(t->dtype)->block_bytes,
            lines = oxi_rows_of_task(t->lines, line_bytes, 8);
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
    int64_t tasks = oxi_parts(t.lines, t.task_lines);
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
        t.kernels->load[dtype][OXI_LANE_F32](t.k, from + oxi_signed_bytes(dtype, i * line_stride), k_stride,
                                             (float *)(void *)memory + i * t.k);
    t.thin = (const float *)(void *)memory;
    t.scratch = memory + thin_bytes;
    if (alone)
        for (int64_t i = 0; i < tasks; i++) oxi_thin_task(&t, i, 0);
    else
        oxi_parallel_for(tasks, oxi_thin_task, &t);
    oxi_free(memory, bytes);
    return OX_OK;
}
