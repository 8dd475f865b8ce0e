/* Thin products: so few lines on one side that packing the other would take longer. The wide side is read
 * once, as it lies, a dot product a line or all lines side by side. Called by gemm.c. */

enum {
    OXI_THIN_LINES = 4,        /* most of the thin side */
    OXI_THIN_BYTES = 131072,   /* weights of one task */
    OXI_THIN_PIECE = OXI_ATTENTION_DEPTH, /* numbers of a line whose products are one sum */
    OXI_THIN_SHORT = 128,      /* numbers of a line, of which as many as OXI_THIN_BESIDE go side by side */
    OXI_THIN_BESIDE = 8,
    OXI_THIN_STREAMS = 4,      /* of a share */
    OXI_SHARE_BYTES = 1 << 20, /* weights of one whose streams go on in the next one */
    OXI_SHARE_LEAST = 16384    /* and of a share's last one, or a bit more */
};

/* Each part of the region has a share of every call's tasks, as they would be cut without the others. */
static void oxi_together_task(void *arg, int64_t index, int lane) {
    const oxi_together *t = (const oxi_together *)arg;
    int64_t i = index % t->each;
    for (int n = 0; n < t->waiting; n++) {
        const int64_t share = oxi_parts(t->own[n].tasks, t->parts), task = index / t->each * share + i;
        i -= share;
        if (i >= 0) continue;
        if (task < t->own[n].tasks) t->own[n].task(t->own[n].arg, task, lane);
        return;
    }
}

/* The tasks of a product, and of all that goes with it. */
static void oxi_product_region(oxi_together *t, int64_t tasks, oxi_lane_task task, void *arg) {
    int64_t all = 0;
    if (!t || t->over) {
        oxi_parallel_for(tasks, task, arg);
        return;
    }
    t->own[t->waiting].tasks = tasks;
    t->own[t->waiting].task = task;
    t->own[t->waiting++].arg = arg;
    oxi_together_begin(t);
    if (t->over) return;
    t->over = true;
    for (int n = 0; n < t->waiting; n++) all += t->own[n].tasks;
    t->parts = oxi_min_i64(oxi_lanes(all), OXI_MAX_PARTS);
    for (int n = 0; n < t->waiting; n++) t->each += oxi_parts(t->own[n].tasks, t->parts);
    oxi_parallel_for(t->each * t->parts, oxi_together_task, t);
}

/* Whether threads wait for each other at the end of a product: there are several, and no tasks follow. */
static bool oxi_waits_at_end(const oxi_together *t) {
    return oxi_lanes(2) > 1 && !(t && !t->over && t->next < t->count);
}

/* Lines of weights in shares, a thread's each. A share is some streams, and its tasks go along all of them,
 * so that none but the first begins in no cache. Tasks are large, as nothing is on its way from memory
 * between two of them, and smaller and smaller at the end of a share, so that no thread waits long for
 * another. */
typedef struct oxi_line_shares {
    int64_t lines, each;     /* of all; that are read at once, as far as there are so many */
    int64_t tasks, of_share; /* tasks of all; of a share */
    int64_t share, stream;   /* lines of a share; of each of its streams */
    int64_t most, least;     /* lines of a stream that a task takes */
} oxi_line_shares;

/* Of a task: lines from `first` on, of the first stream, and those of the others `apart` lines behind each
 * other, all in front of `end`. */
typedef struct oxi_share_part {
    int64_t first, lines, apart, end;
    bool begins; /* the first of its share */
} oxi_share_part;

/* Lines of stream `s`, which may be fewer, or none. */
static int64_t oxi_share_lines(const oxi_share_part *part, int64_t s) {
    const int64_t left = part->end - part->first - s * part->apart;
    return left > 0 ? oxi_min_i64(part->lines, left) : 0;
}

/* Lines of a stream that a task takes of those that are left. */
static int64_t oxi_lines_step(const oxi_line_shares *s, int64_t left) {
    const int64_t half = oxi_round_up(oxi_parts(left, 2), s->each);
    return oxi_min_i64(left, half > s->most ? s->most : half < s->least ? s->least : half);
}

/* streams: at most; bytes: of a task; ends: threads wait for the last ones. */
static void oxi_lines_set(oxi_line_shares *s, int64_t lines, int64_t each, int64_t line_bytes, int64_t shares,
                          int64_t streams, int64_t bytes, bool ends) {
    const int64_t one = line_bytes > 0 ? each * line_bytes : 1;
    s->lines = lines;
    s->each = each;
    s->share = oxi_parts(oxi_parts(lines, each), shares) * each;
    s->stream = oxi_round_up(oxi_parts(s->share, streams), each);
    s->most = oxi_min_i64(s->stream, (1 + oxi_min_i64(bytes / streams / one, 1024 / each)) * each);
    s->least = ends ? oxi_min_i64(s->most, (1 + OXI_SHARE_LEAST / streams / one) * each) : s->most;
    s->of_share = 0;
    for (int64_t at = 0; at < s->stream; at += oxi_lines_step(s, s->stream - at)) s->of_share++;
    s->tasks = oxi_parts(lines, s->share) * s->of_share;
}

static oxi_share_part oxi_lines_of(const oxi_line_shares *s, int64_t index) {
    oxi_share_part part;
    const int64_t own = index % s->of_share, start = index / s->of_share * s->share,
                  end = oxi_min_i64(start + s->share, s->lines),
                  alike = oxi_min_i64(own, oxi_parts(s->stream - 2 * s->most, s->most));
    int64_t i = alike > 0 ? alike : 0, at = i * s->most; /* those before are as large as they may be */
    while (i++ < own) at += oxi_lines_step(s, s->stream - at);
    const int64_t step = oxi_lines_step(s, s->stream - at);
    part.begins = own == 0;
    part.apart = s->stream;
    part.first = start + at;
    part.end = end;
    part.lines = step;
    part.lines = oxi_share_lines(&part, 0); /* the last share may be short */
    return part;
}

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
    oxi_line_shares shares;
    int64_t task_lines; /* at most */
    char *scratch; /* of each lane: sums [count][task_lines], stage [task_lines] */
    size_t lane_bytes;
} oxi_thin;

/* The streams of a share's rows begin in no cache, and kernels prefetch what is further ahead. */
static void oxi_fetch_stream(const char *first) {
    for (int64_t at = 0; at < OXI_PREFETCH_AHEAD; at += 64) OXI_PREFETCH_FAR(first + at);
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

/* Sums [count][lines], of which rows are `row` apart, of lines from `first` on, to C. */
static void oxi_thin_store(const oxi_thin *t, int64_t first, int64_t lines, int64_t row, float *sums,
                           float *stage) {
    const oxi_gemm *g = t->g;
    for (int64_t j = 0; j < t->count; j++) {
        int64_t m = t->lines_are_columns ? j : first, n = t->lines_are_columns ? first : j;
        float *from = sums + j * row;
        if (!oxi_gemm_is_plain(g))
            oxi_gemm_epilogue(g, t->kernels, OXI_LANE_F32, m, n, lines, t->lines_are_columns, from, stage);
        for (int64_t i = 0, each = g->c_rows && !t->lines_are_columns ? 1 : lines; i < lines; i += each)
            t->kernels->store[g->c_dtype][OXI_LANE_F32](each, from + i, oxi_gemm_c(g, m + i, n),
                                                        t->lines_are_columns ? g->c_col : g->c_row);
    }
}

/* sums [count][streams][lines of the part]: a line of each stream at a time, so that more of memory is on its
 * way, or, of short ones, some of a stream and then of the next. */
static void oxi_thin_dots(const oxi_thin *t, const oxi_share_part *part, float *sums) {
    const int64_t number = oxi_info(t->dtype)->block_bytes, apart = part->apart * t->line_stride,
                  each = t->shares.each, step = each > 1 ? t->line_stride : apart,
                  sum_step = each > 1 ? 1 : part->lines;
    const char *first = t->wide + part->first * t->line_stride * number;
    float got[OXI_THIN_BESIDE];
    for (int64_t s = 0; s < OXI_THIN_STREAMS && part->begins; s++)
        if (oxi_share_lines(part, s) > 0) oxi_fetch_stream(first + s * apart * number);
    for (int64_t i = 0; i < part->lines; i += each)
        for (int64_t s = 0; s < (each > 1 ? OXI_THIN_STREAMS : 1); s++) {
            const char *line = first + (i * t->line_stride + s * apart) * number;
            int64_t lines = oxi_min_i64(each, oxi_share_lines(part, s) - i);
            while (each == 1 && lines < OXI_THIN_STREAMS && i < oxi_share_lines(part, lines)) lines++;
            for (int64_t j = 0; j < t->count && lines > 0; j++)
                for (int64_t k = 0; k == 0 || k < t->k; k += OXI_THIN_PIECE) {
                    float *sum = sums + (j * OXI_THIN_STREAMS + s) * part->lines + i;
                    const float *x = t->thin + j * t->k + k;
                    int64_t piece = oxi_min_i64(t->k - k, OXI_THIN_PIECE);
                    const char *here = line + k * number;
                    t->kernels->attention_dots[t->dtype](1, lines, piece, x, 0, here, step, got, 0);
                    for (int64_t l = 0; l < lines; l++, sum += sum_step) *sum = k ? *sum + got[l] : got[l];
                }
        }
}

static void oxi_thin_task(void *arg, int64_t index, int lane) {
    const oxi_thin *t = (const oxi_thin *)arg;
    const oxi_share_part part = oxi_lines_of(&t->shares, index);
    const int64_t streams = t->across ? 1 : OXI_THIN_STREAMS;
    float *sums = (float *)(void *)(t->scratch + (size_t)lane * t->lane_bytes),
          *stage = sums + t->count * t->task_lines;
    if (t->across)
        oxi_thin_across(t, part.first, part.lines, sums, stage);
    else
        oxi_thin_dots(t, &part, sums);
    for (int64_t s = 0; s < streams; s++)
        oxi_thin_store(t, part.first + s * part.apart, oxi_share_lines(&part, s), streams * part.lines,
                       sums + s * part.lines, stage);
}

/* Where lines lie side by side, a task has at least half a page of each k. */
static void oxi_thin_share(oxi_thin *t) {
    const int64_t number = oxi_info(t->dtype)->block_bytes,
                  each = t->across ? 512 : t->k > OXI_THIN_SHORT ? 1 : OXI_THIN_BESIDE;
    oxi_lines_set(&t->shares, t->lines, each, t->k * number, oxi_lanes(INT32_MAX),
                  t->across ? 1 : OXI_THIN_STREAMS, t->across ? OXI_THIN_BYTES : OXI_SHARE_BYTES,
                  oxi_waits_at_end(t->g->together));
    t->task_lines = OXI_THIN_STREAMS * t->shares.most;
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
    oxi_thin_share(&t);
    bool alone = (double)t.lines * (double)t.k < 65536;
    size_t thin_bytes = (size_t)oxi_round_up(t.count * t.k * (int64_t)sizeof(float), OXI_ALIGN);
    t.lane_bytes = (size_t)oxi_round_up((t.count + 1) * t.task_lines * (int64_t)sizeof(float), OXI_ALIGN);
    size_t bytes = thin_bytes + (size_t)(alone ? 1 : oxi_lanes(INT32_MAX)) * t.lane_bytes;
    char *memory = (char *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    const char *from = (const char *)(thin_is_a ? g->a : g->b);
    ox_dtype dtype = thin_is_a ? g->a_dtype : g->b_dtype;
    int64_t line_stride = thin_is_a ? g->a_row : g->b_col, k_stride = thin_is_a ? g->a_col : g->b_row;
    t.thin = (const float *)(void *)memory;
    for (int64_t i = 0; i < t.count; i++)
        t.kernels->load[dtype][OXI_LANE_F32](t.k, from + oxi_signed_bytes(dtype, i * line_stride), k_stride,
                                             (float *)(void *)memory + i * t.k);
    t.scratch = memory + thin_bytes;
    if (alone)
        for (int64_t i = 0; i < t.shares.tasks; i++) oxi_thin_task(&t, i, 0);
    else
        oxi_product_region(g->together, t.shares.tasks, oxi_thin_task, &t);
    oxi_free(memory, bytes);
    return OX_OK;
}
