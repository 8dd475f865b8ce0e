/* Rows: softmax, log_softmax, layer_norm, rms_norm, group_norm, for any dim and any strides.
 * A row is measured by the reductions' machinery (cpu/reduce/reduce.c), which gives a shift and a scale;
 * from them every element is written. Long rows are cut into chunks. Called by the CPU device. */

#define OXI_ROW_BLOCK 512    /* elements converted at a time; neighboring rows of a tile */
#define OXI_ROW_CACHED 16384 /* a softmax row up to here keeps its exponentials */

enum { OXI_ROW_X, OXI_ROW_OUT, OXI_ROW_WEIGHT, OXI_ROW_BIAS, OXI_ROW_OPERANDS };

typedef struct oxi_row oxi_row;
/* n elements of a row in the lane's type: what becomes of them by shift and scale; weight and bias (lane type
 * too) may be NULL, out may be x. next: as of row_affine, measured or not. */
typedef struct oxi_row_piece {
    int64_t n;
    const void *x, *weight, *bias;
    double shift, scale;
    void *out;
    oxi_row_sums *next;
} oxi_row_piece;
typedef void (*oxi_row_finish)(const oxi_row *r, const oxi_row_piece *p);

struct oxi_row {
    oxi_reduce measure; /* kept = the rows, line = the elements of a row; four operands each */
    oxi_row_finish finish;
    oxi_row_form form;
    const oxi_part *part; /* NULL: it is a whole */
    bool native;  /* x and out are of the lane's own dtype */
    bool flat;    /* and so are weights; a row is one contiguous run of all of them */
    bool streams; /* flat f32 of a norm, and more than caches hold */
    oxi_store_kernel store;
    oxi_load_kernel load_weight;
    int64_t line_shift[OXI_ROW_OPERANDS]; /* bytes from a row's address to its line's start, */
    int64_t row_step[OXI_ROW_OPERANDS];   /* and to the next row's of a piece */
    const void *weights[2]; /* weight and bias, contiguous, in the lane's type; NULL where not given */
    void *converted[2];     /* those that had to be made */
    size_t converted_bytes[2];
};

/* ---- finishing: f32 by the tier's kernels, f64 in plain loops ------------------------------------------ */

static void oxi_softmax_finish_f32(const oxi_row *r, const oxi_row_piece *p) {
    const oxi_kernels *k = r->measure.kernels;
    float *out = (float *)p->out;
    k->row_exp_sum(p->n, (const float *)p->x, (float)p->shift, out);
    k->row_scale(p->n, out, (float)p->scale, out);
}

/* Two subtractions: (x - max) is small, x - (max + log sum) would lose what the sum rounds away. */
static void oxi_log_softmax_finish_f32(const oxi_row *r, const oxi_row_piece *p) {
    const oxi_kernels *k = r->measure.kernels;
    for (int64_t done = 0, m; done < p->n; done += m) {
        float *to = (float *)p->out + done;
        m = oxi_min_i64(p->n - done, OXI_REDUCE_BLOCK);
        k->row_affine(m, (const float *)p->x + done, (float)p->shift, 1, NULL, NULL, to, NULL);
        k->row_affine(m, to, (float)p->scale, 1, NULL, NULL, to, NULL);
    }
}

/* A mean far larger than the deviation is taken off in two steps, for f32 cannot hold all of it. */
static void oxi_norm_finish_f32(const oxi_row *r, const oxi_row_piece *p) {
    const oxi_kernels *k = r->measure.kernels;
    const float *from = (const float *)p->x, *w = (const float *)p->weight, *b = (const float *)p->bias;
    float *to = (float *)p->out, mean = (float)p->shift, scale = (float)p->scale;
    double rest = p->shift - mean;
    if (!(fabs(rest) * p->scale > 1e-6)) {
        k->row_affine(p->n, from, mean, scale, w, b, to, p->next);
        return;
    }
    for (int64_t done = 0, m; done < p->n; done += m) {
        m = oxi_min_i64(p->n - done, OXI_REDUCE_BLOCK);
        k->row_affine(m, from + done, mean, 1, NULL, NULL, to + done, NULL);
        k->row_affine(m, to + done, (float)rest, scale, w ? w + done : NULL, b ? b + done : NULL, to + done,
                      NULL);
    }
}

static void oxi_softmax_finish_f64(const oxi_row *r, const oxi_row_piece *p) {
    double *to = (double *)p->out;
    const void *in[1];
    in[0] = to;
    for (int64_t i = 0; i < p->n; i++) to[i] = ((const double *)p->x)[i] - p->shift;
    r->measure.kernels->map[OXI_OP_exp][OXI_LANE_F64](p->n, in, to, &oxi_plain_numbers);
    for (int64_t i = 0; i < p->n; i++) to[i] *= p->scale;
}

static void oxi_log_softmax_finish_f64(const oxi_row *r, const oxi_row_piece *p) {
    (void)r;
    for (int64_t i = 0; i < p->n; i++)
        ((double *)p->out)[i] = (((const double *)p->x)[i] - p->shift) - p->scale;
}

static void oxi_norm_finish_f64(const oxi_row *r, const oxi_row_piece *p) {
    const double *w = (const double *)p->weight, *b = (const double *)p->bias;
    (void)r;
    for (int64_t i = 0; i < p->n; i++) {
        double value = (((const double *)p->x)[i] - p->shift) * p->scale;
        if (w) value *= w[i];
        if (b) value += b[i];
        ((double *)p->out)[i] = value;
    }
}

/* libm's is a call, for it sets errno: a tenth of the time of a short row's norm. */
OXI_SMALL double oxi_row_sqrt(double x) {
#if defined(OXI_BUILD_SSE2) && (defined(__SSE2__) || defined(_M_X64))
    return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(x)));
#else
    return sqrt(x);
#endif
}

/* What a row's measures say: softmax (x - shift) -> e^.. * scale; log_softmax .. - scale; norms .. *
 * scale. */
OXI_SMALL void oxi_row_numbers(const oxi_row *r, double a, double b, double *shift, double *scale) {
    double count = (double)r->measure.line.numel;
    if (r->form.finish == OXI_ROW_NORM) {
        bool centered = r->form.measure == OXI_REDUCES_MOMENTS;
        *shift = centered ? a : 0;
        *scale = 1 / oxi_row_sqrt((centered ? b : a) / count + r->form.eps);
        return;
    }
    *shift = oxi_exp_shift(a);
    *scale = !isfinite(a) ? (double)NAN : r->form.finish == OXI_ROW_SOFTMAX ? 1 / b : log(b);
}

/* ---- norms of f32 past the caches ---------------------------------------------------------------------- */

/* What a task keeps from one row to the next. Cache lines in which a row ends and the next one begins are put
 * together here, for half a line takes as long as many whole ones. Such a line is written when the next one
 * is whole: by then its parts have left the processor, which would wait for them. And a row is measured while
 * the one before it is written, for memory is to be read and written all the time. */
typedef struct oxi_row_past {
    float line[2][OXI_LINE / 4];
    int at;             /* which of them is being put together; the other one is whole, or nothing */
    char *to, *whole;   /* where they lie; NULL: nothing */
    int64_t begin, end; /* the numbers that are here */
    oxi_row_sums next;
} oxi_row_past;

static void oxi_row_past_begin(oxi_row_past *past) {
    past->begin = past->end = past->at = 0;
    past->to = past->whole = NULL;
    oxi_row_sums_begin(&past->next, 0, NULL, false);
}

static void oxi_row_past_write_whole(const oxi_kernels *k, oxi_row_past *past) {
    if (past->whole) k->stream(OXI_LINE, past->line[1 - past->at], past->whole);
    past->whole = NULL;
}

/* The line at work is not gone on with. */
static void oxi_row_past_leave(const oxi_kernels *k, oxi_row_past *past) {
    int64_t each = sizeof(float), bytes = (past->end - past->begin) * each;
    if (bytes == OXI_LINE) {
        oxi_row_past_write_whole(k, past);
        past->whole = past->to;
        past->at = 1 - past->at;
    } else if (bytes > 0) {
        memcpy(past->to + past->begin * each, past->line[past->at] + past->begin, (size_t)bytes);
    }
    past->begin = past->end = 0;
}

static void oxi_row_past_end(const oxi_kernels *k, oxi_row_past *past) {
    oxi_row_past_leave(k, past);
    oxi_row_past_write_whole(k, past);
}

/* Room for n numbers of out, up to the end of a line at most; when they are there, oxi_row_past_close. */
static float *oxi_row_past_room(const oxi_kernels *k, oxi_row_past *past, char *out, int64_t n) {
    int64_t each = sizeof(float), at = (int64_t)((uintptr_t)out % OXI_LINE) / each;
    if (past->to != out - at * each || past->end != at) {
        oxi_row_past_leave(k, past);
        past->to = out - at * each;
        past->begin = at;
    }
    past->end = at + n;
    return past->line[past->at] + at;
}

static void oxi_row_past_close(const oxi_kernels *k, oxi_row_past *past) {
    if (past->end == OXI_LINE / (int64_t)sizeof(float)) oxi_row_past_leave(k, past);
}

/* Numbers of a row of n that lie before its first whole line. */
OXI_SMALL int64_t oxi_row_past_head(const void *out, int64_t n) {
    int64_t head = (int64_t)((0 - (uintptr_t)out) % OXI_LINE / sizeof(float));
    return n < head ? n : head;
}

/* Elements [first, first + n) of a piece of floats. */
static oxi_row_piece oxi_row_piece_part(const oxi_row_piece *p, int64_t first, int64_t n) {
    oxi_row_piece part = *p;
    part.n = n;
    part.x = (const float *)p->x + first;
    part.weight = p->weight ? (const float *)p->weight + first : NULL;
    part.bias = p->bias ? (const float *)p->bias + first : NULL;
    part.out = (float *)p->out + first;
    return part;
}

/* A piece up to the end of a line at most. */
static void oxi_row_past_edge(const oxi_row *r, oxi_row_past *past, oxi_row_piece p) {
    if (p.n == 0) return;
    p.out = oxi_row_past_room(r->measure.kernels, past, (char *)p.out, p.n);
    r->finish(r, &p);
    oxi_row_past_close(r->measure.kernels, past);
}

/* A piece of a row, while past->next is measured. */
static void oxi_row_past_finish(const oxi_row *r, oxi_row_past *past, const oxi_row_piece *p) {
    int64_t in_line = OXI_LINE / (int64_t)sizeof(float), head = oxi_row_past_head(p->out, p->n);
    int64_t end = head + (p->n - head) / in_line * in_line;
    oxi_row_past_edge(r, past, oxi_row_piece_part(p, 0, head));
    if (end > head) {
        oxi_row_piece lines = oxi_row_piece_part(p, head, end - head);
        lines.next = &past->next;
        r->finish(r, &lines);
    }
    oxi_row_past_edge(r, past, oxi_row_piece_part(p, end, p->n - end));
}

/* The row at x, unless it was measured already. */
static void oxi_row_past_measure(const oxi_row *r, oxi_row_past *past, int64_t n, const float *x,
                                 oxi_partial *p) {
    const oxi_reduce *m = &r->measure;
    if (past->next.x != x || !past->next.measured) {
        oxi_row_sums_begin(&past->next, n, x, m->kind == OXI_REDUCE_MOMENTS);
        m->kernels->row_measure(&past->next, true);
    }
    m->reducer.take(m->kernels, p, &past->next);
}

/* Which row is to be measured meanwhile: at x, or none (NULL). */
static void oxi_row_past_look(const oxi_row *r, oxi_row_past *past, int64_t n, const float *x) {
    oxi_row_sums_begin(&past->next, x ? n : 0, x, r->measure.kind == OXI_REDUCE_MOMENTS);
}

/* ---- a row --------------------------------------------------------------------------------------------- */

/* Weights of a piece: as they lie, or gathered (a channel's one weight is spread over its elements). */
static const void *oxi_row_weight(const oxi_row *r, const oxi_walk *line, const oxi_cursor *c, int operand,
                                  void *buffer) {
    if (!r->weights[operand - OXI_ROW_WEIGHT]) return NULL;
    if (line->step[operand] == 1 || c->n == 1) return c->p[operand];
    r->load_weight(c->n, c->p[operand], line->step[operand], buffer);
    return buffer;
}

/* Writes elements [first, first + count) of a row; scratch: of a lane, with nothing in it. */
static void oxi_row_write(const oxi_row *r, const oxi_walk *line, int64_t first, int64_t count, double shift,
                          double scale, char *scratch) {
    double *x = (double *)(void *)scratch, *weight = x + OXI_ROW_BLOCK, *bias = weight + OXI_ROW_BLOCK;
    oxi_row_piece p = {0, NULL, NULL, NULL, shift, scale, NULL, NULL};
    oxi_row_past past;
    oxi_cursor c;
    oxi_row_past_begin(&past);
    oxi_walk_seek(line, &c, first, count, r->flat ? count : OXI_ROW_BLOCK);
    for (; c.n; oxi_walk_next(line, &c)) {
        p.n = c.n;
        p.weight = oxi_row_weight(r, line, &c, OXI_ROW_WEIGHT, weight);
        p.bias = oxi_row_weight(r, line, &c, OXI_ROW_BIAS, bias);
        p.x = c.p[OXI_ROW_X];
        p.out = r->native && line->step[OXI_ROW_OUT] == 1 ? (void *)c.p[OXI_ROW_OUT] : (void *)x;
        if (!r->native || line->step[OXI_ROW_X] != 1) {
            r->measure.load(c.n, p.x, line->step[OXI_ROW_X], x);
            p.x = x;
        }
        if (r->streams)
            oxi_row_past_finish(r, &past, &p);
        else
            r->finish(r, &p);
        if (p.out == (void *)x) r->store(c.n, x, c.p[OXI_ROW_OUT], line->step[OXI_ROW_OUT]);
    }
    oxi_row_past_end(r->measure.kernels, &past);
}

static void oxi_row_measure(const oxi_row *r, const oxi_walk *line, int64_t first, int64_t count, double *a,
                            double *b, char *scratch) {
    oxi_partial p = oxi_partial_of(a, b);
    *a = *b = 0;
    if (r->measure.reducer.begin) r->measure.reducer.begin(&p, 1);
    oxi_reduce_line(&r->measure, line, &p, first, count, scratch);
}

/* One pass for the largest, one for exponentials and their sum, one to scale them: all in the cache. What
 * lies behind the row, mostly the next one, is prefetched while exponentials keep the processor busy. */
static void oxi_softmax_cached(const oxi_row *r, int64_t n, const float *x, float *out) {
    const oxi_kernels *k = r->measure.kernels;
    float most = k->row_max(n, x);
    double sum;
    for (int64_t i = n; i < n + oxi_min_i64(n, OXI_ROW_CACHED / 4); i += 16) OXI_PREFETCH_READ(x + i);
    sum = k->row_exp_sum(n, x, most, out);
    k->row_scale(n, out, (float)(1 / sum), out);
}

static void oxi_softmax_line(const oxi_row *r, const oxi_walk *line, char *scratch) {
    float *buffer = (float *)(void *)scratch;
    oxi_cursor c;
    for (oxi_walk_seek(line, &c, 0, line->numel, line->numel); c.n; oxi_walk_next(line, &c)) {
        r->measure.load(c.n, c.p[OXI_ROW_X], line->step[OXI_ROW_X], buffer + c.position);
    }
    oxi_softmax_cached(r, line->numel, buffer, buffer);
    for (oxi_walk_seek(line, &c, 0, line->numel, line->numel); c.n; oxi_walk_next(line, &c)) {
        r->store(c.n, buffer + c.position, c.p[OXI_ROW_OUT], line->step[OXI_ROW_OUT]);
    }
}

/* ---- a tile of neighboring rows whose elements lie apart: element by element of all of them ----------- */

/* One number a row of the tile; `rest` is what f32 cannot hold of the shifts. */
typedef struct oxi_row_tile_numbers {
    double shift[OXI_ROW_BLOCK], rest[OXI_ROW_BLOCK], scale[OXI_ROW_BLOCK]; /* floats where the lane is f32 */
    bool has_rest;
} oxi_row_tile_numbers;

static void oxi_row_tile_number(const oxi_row *r, oxi_row_tile_numbers *t, int64_t i, double shift,
                                double scale) {
    if (r->measure.lane == OXI_LANE_F32) {
        double rest = shift - (float)shift;
        bool counts = fabs(rest) * scale > 1e-6; /* for this row, whatever its neighbors need */
        ((float *)t->shift)[i] = (float)shift;
        ((float *)t->rest)[i] = counts ? (float)rest : 0;
        ((float *)t->scale)[i] = (float)scale;
        t->has_rest = t->has_rest || counts;
    } else {
        t->shift[i] = shift;
        t->scale[i] = scale;
    }
}

static void oxi_row_map(const oxi_row *r, oxi_op op, int64_t n, const void *a, const void *b, void *out) {
    const void *in[2];
    in[0] = a;
    in[1] = b;
    r->measure.kernels->map[op][r->measure.lane](n, in, out, &oxi_plain_numbers);
}

/* f32 takes the exponential that rows take. */
static void oxi_row_exp(const oxi_row *r, int64_t n, void *x) {
    if (r->measure.lane == OXI_LANE_F32)
        r->measure.kernels->row_exp_sum(n, (const float *)x, 0, (float *)x);
    else
        oxi_row_map(r, OXI_OP_exp, n, x, NULL, x);
}

/* One element of n rows, from x (lane type) into out; c = its place, where its weights lie. */
static void oxi_row_finish_columns(const oxi_row *r, int64_t n, const void *x, const oxi_row_tile_numbers *t,
                                   const oxi_cursor *c, void *spread, void *out) {
    const oxi_walk *kept = &r->measure.kept;
    oxi_row_map(r, OXI_OP_sub, n, x, t->shift, out);
    if (r->form.finish == OXI_ROW_SOFTMAX)
        oxi_row_exp(r, n, out);
    else if (t->has_rest)
        oxi_row_map(r, OXI_OP_sub, n, out, t->rest, out);
    oxi_row_map(r, r->form.finish == OXI_ROW_LOG_SOFTMAX ? OXI_OP_sub : OXI_OP_mul, n, out, t->scale, out);
    for (int k = 0; k < 2; k++) {
        int operand = OXI_ROW_WEIGHT + k;
        if (!r->weights[k]) continue;
        r->load_weight(n, c->p[operand], kept->step[operand], spread);
        oxi_row_map(r, k == 0 ? OXI_OP_mul : OXI_OP_add, n, out, spread, out);
    }
}

static void oxi_row_set_tile(const oxi_row *r, const oxi_partial *p, int64_t n, oxi_row_tile_numbers *t) {
    t->has_rest = false;
    for (int64_t i = 0; i < n; i++) {
        double shift, scale;
        oxi_row_numbers(r, ((const double *)p->a)[i], ((const double *)p->b)[i], &shift, &scale);
        oxi_row_tile_number(r, t, i, shift, scale);
    }
}

/* Writes elements [first, first + count) of n rows. */
static void oxi_row_write_tile(const oxi_row *r, const oxi_walk *line, int64_t n, int64_t first,
                               int64_t count, const oxi_row_tile_numbers *t) {
    double x[OXI_ROW_BLOCK], spread[OXI_ROW_BLOCK];
    const oxi_walk *kept = &r->measure.kept;
    oxi_cursor c;
    for (oxi_walk_seek(line, &c, first, count, 1); c.n; oxi_walk_next(line, &c)) {
        const void *from = c.p[OXI_ROW_X];
        void *to = x;
        if (!r->native || kept->step[OXI_ROW_X] != 1) {
            r->measure.load(n, from, kept->step[OXI_ROW_X], x);
            from = x;
        }
        if (r->native && kept->step[OXI_ROW_OUT] == 1) to = c.p[OXI_ROW_OUT];
        oxi_row_finish_columns(r, n, from, t, &c, spread, to);
        if (to == x) r->store(n, x, c.p[OXI_ROW_OUT], kept->step[OXI_ROW_OUT]);
    }
}

/* Of a lane's scratch, in which they lie last; NULL where rows are taken singly. */
static oxi_row_tile_numbers *oxi_row_numbers_of(const oxi_row *r, char *scratch) {
    const oxi_reduce *m = &r->measure;
    if (!m->by_columns) return NULL;
    return (oxi_row_tile_numbers *)(void *)(scratch + m->scratch_bytes - sizeof(oxi_row_tile_numbers));
}

static void oxi_row_tile(const oxi_row *r, oxi_walk *line, const oxi_cursor *c, char *scratch) {
    oxi_row_tile_numbers *t = oxi_row_numbers_of(r, scratch);
    oxi_partial p = oxi_partial_of(scratch, scratch + 8 * r->measure.width);
    oxi_reduce_piece(&r->measure, line, c, &p, 0, line->numel, scratch + 16 * r->measure.width);
    oxi_row_set_tile(r, &p, c->n, t);
    oxi_row_write_tile(r, line, c->n, 0, line->numel, t);
}

/* ---- tasks --------------------------------------------------------------------------------------------- */

/* Points the line at row i of a piece of rows. */
static void oxi_row_place_line(const oxi_row *r, const oxi_cursor *c, int64_t i, oxi_walk *line) {
    /* A bound unknown to compilers: vector loads of pointers just written singly would wait for them. */
    for (int k = 0; k < line->operands; k++) {
        line->base[k] = c->p[k] + i * r->row_step[k] + r->line_shift[k];
    }
}

/* The x of the row behind row i of a piece; NULL where the task has no more. */
static const float *oxi_row_behind(const oxi_row *r, const oxi_cursor *c, int64_t i) {
    const oxi_walk *kept = &r->measure.kept;
    oxi_cursor later = *c;
    const char *row = c->p[OXI_ROW_X] + (i + 1) * r->row_step[OXI_ROW_X];
    if (i + 1 == c->n) {
        oxi_walk_next(kept, &later);
        row = later.p[OXI_ROW_X];
    }
    return later.n ? (const float *)(const void *)(row + r->line_shift[OXI_ROW_X]) : NULL;
}

/* A row that is one run of x, out and weights; next: of r->streams, the row behind it, or NULL. */
static void oxi_row_flat(const oxi_row *r, const oxi_walk *line, oxi_row_past *past, const float *next) {
    const oxi_reduce *m = &r->measure;
    const void *x = line->base[OXI_ROW_X];
    char *out = line->base[OXI_ROW_OUT];
    int64_t n = line->numel;
    double a = 0, b = 0, shift, scale;
    oxi_partial p = oxi_partial_of(&a, &b);
    if (r->form.finish == OXI_ROW_SOFTMAX && m->lane == OXI_LANE_F32) {
        oxi_softmax_cached(r, n, (const float *)x, (float *)(void *)out);
        return;
    }
    if (m->reducer.begin) m->reducer.begin(&p, 1);
    if (r->streams)
        oxi_row_past_measure(r, past, n, (const float *)x, &p);
    else
        m->reducer.row(m->kernels, &p, n, x, 0);
    oxi_row_numbers(r, a, b, &shift, &scale);
    oxi_row_piece piece = {n, x, NULL, NULL, shift, scale, out, NULL};
    if (r->weights[0]) piece.weight = line->base[OXI_ROW_WEIGHT];
    if (r->weights[1]) piece.bias = line->base[OXI_ROW_BIAS];
    if (r->streams) {
        oxi_row_past_look(r, past, n, next);
        oxi_row_past_finish(r, past, &piece);
    } else {
        r->finish(r, &piece);
    }
}

static void oxi_row_line(const oxi_row *r, const oxi_walk *line, oxi_row_past *past, const float *next,
                         char *scratch) {
    double a, b, shift, scale;
    if (r->flat) {
        oxi_row_flat(r, line, past, next);
    } else if (r->form.finish == OXI_ROW_SOFTMAX && r->measure.lane == OXI_LANE_F32 &&
               line->numel <= OXI_ROW_CACHED) {
        oxi_softmax_line(r, line, scratch);
    } else {
        oxi_row_measure(r, line, 0, line->numel, &a, &b, scratch);
        oxi_row_numbers(r, a, b, &shift, &scale);
        oxi_row_write(r, line, 0, line->numel, shift, scale, scratch);
    }
}

static void oxi_row_task(void *arg, int64_t index, int lane) {
    const oxi_row *r = (const oxi_row *)arg;
    const oxi_reduce *m = &r->measure;
    char *scratch = m->scratch + lane * m->scratch_bytes;
    oxi_walk line;
    oxi_row_past past;
    oxi_cursor c;
    oxi_walk_copy(&line, &m->line);
    oxi_row_past_begin(&past);
    for (oxi_reduce_seek_group(m, index, &c); c.n; oxi_walk_next(&m->kept, &c)) {
        for (int64_t i = 0; i < (m->by_columns ? 1 : c.n); i++) {
            oxi_row_place_line(r, &c, i, &line);
            if (m->by_columns)
                oxi_row_tile(r, &line, &c, scratch);
            else
                oxi_row_line(r, &line, &past, r->streams ? oxi_row_behind(r, &c, i) : NULL, scratch);
        }
    }
    oxi_row_past_end(r->measure.kernels, &past);
}

/* Long rows: their chunks are measured by oxi_reduce_task, joined by this ... */
static void oxi_row_join_task(void *arg, int64_t index, int lane) {
    const oxi_reduce *m = &((const oxi_row *)arg)->measure;
    oxi_cursor c;
    (void)lane;
    for (oxi_reduce_seek_group(m, index, &c); c.n; oxi_walk_next(&m->kept, &c))
        (void)oxi_reduce_joined(m, &c);
}

/* ... and written by this: elements [first, first + count) of the rows of one group. */
static void oxi_row_write_part(const oxi_row *r, int64_t group, int64_t first, int64_t count, int lane) {
    const oxi_reduce *m = &r->measure;
    char *scratch = m->scratch + lane * m->scratch_bytes;
    oxi_row_tile_numbers *t = oxi_row_numbers_of(r, scratch);
    oxi_walk line;
    oxi_cursor c;
    oxi_walk_copy(&line, &m->line);
    for (oxi_reduce_seek_group(m, group, &c); c.n; oxi_walk_next(&m->kept, &c)) {
        oxi_partial p = oxi_reduce_stored(m, 0, c.position);
        if (m->by_columns) oxi_row_set_tile(r, &p, c.n, t);
        for (int64_t i = 0; i < (m->by_columns ? 1 : c.n); i++) {
            double shift, scale;
            oxi_row_place_line(r, &c, i, &line);
            if (m->by_columns) {
                oxi_row_write_tile(r, &line, c.n, first, count, t);
            } else {
                oxi_row_numbers(r, ((double *)p.a)[i], ((double *)p.b)[i], &shift, &scale);
                oxi_row_write(r, &line, first, count, shift, scale, scratch);
            }
        }
    }
}

static void oxi_row_write_task(void *arg, int64_t index, int lane) {
    const oxi_row *r = (const oxi_row *)arg;
    const oxi_reduce *m = &r->measure;
    int64_t first = index % m->chunks * m->chunk;
    oxi_row_write_part(r, index / m->chunks, first, oxi_min_i64(m->line.numel - first, m->chunk), lane);
}

/* ---- planning ------------------------------------------------------------------------------------------ */

/* weight or bias as contiguous numbers of the lane's type, once for the call. */
static ox_status oxi_row_convert(oxi_row *r, int which, const ox_tensor *t) {
    oxi_lane lane = r->measure.lane;
    int64_t bytes = oxi_lane_bytes(lane);
    oxi_walk w;
    oxi_cursor c;
    if (!t) return OX_OK;
    if (t->dtype == oxi_lane_dtype(lane) && ox_is_contiguous(t)) {
        r->weights[which] = oxi_ptr(t);
        return OX_OK;
    }
    r->converted_bytes[which] = (size_t)(ox_numel(t) * bytes);
    r->converted[which] = oxi_alloc(r->converted_bytes[which]);
    if (!r->converted[which]) return OX_ERR_NOMEM;
    r->weights[which] = r->converted[which];
    oxi_walk_begin(&w, t->ndim, t->shape);
    oxi_walk_add(&w, t);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    for (oxi_walk_seek(&w, &c, 0, w.numel, w.numel); c.n; oxi_walk_next(&w, &c)) {
        r->measure.kernels->load[t->dtype][lane](c.n, c.p[0], w.step[0],
                                                 (char *)r->converted[which] + c.position * bytes);
    }
    return OX_OK;
}

/* Dims of the rows or of a row: sizes and the strides of x, result, weight and bias along them. */
typedef struct oxi_row_dims {
    int ndim;
    int64_t shape[OX_MAX_DIMS];
    int64_t stride[OXI_ROW_OPERANDS][OX_MAX_DIMS];
} oxi_row_dims;

static void oxi_row_add_dim(oxi_row_dims *dims, int64_t size, int64_t x, int64_t out, int64_t weight) {
    int d = dims->ndim++;
    dims->shape[d] = size;
    dims->stride[OXI_ROW_X][d] = x;
    dims->stride[OXI_ROW_OUT][d] = out;
    dims->stride[OXI_ROW_WEIGHT][d] = dims->stride[OXI_ROW_BIAS][d] = weight;
}

static void oxi_row_walk(const oxi_row *r, oxi_walk *w, const oxi_row_dims *dims, oxi_walk_order order) {
    const oxi_call *call = r->measure.call;
    const ox_tensor *x = call->in[0], *out = call->out[0];
    int64_t bytes = oxi_lane_bytes(r->measure.lane);
    oxi_walk_begin(w, dims->ndim, dims->shape);
    oxi_walk_add_raw(w, oxi_ptr(x), oxi_dtype_bytes(x->dtype), dims->stride[OXI_ROW_X]);
    oxi_walk_add_raw(w, oxi_ptr(out), oxi_dtype_bytes(out->dtype), dims->stride[OXI_ROW_OUT]);
    for (int k = 0; k < 2; k++) {
        /* Without weights there is nothing to read there, but pointers stay valid. */
        void *base = r->weights[k] ? (void *)(uintptr_t)r->weights[k] : (void *)oxi_ptr(x);
        const int64_t none[OX_MAX_DIMS] = {0, 0, 0, 0, 0, 0, 0, 0};
        oxi_walk_add_raw(w, base, bytes, r->weights[k] ? dims->stride[OXI_ROW_WEIGHT + k] : none);
    }
    oxi_walk_ready(w, order);
}

/* Cuts the dims of x into rows and what makes up one. Weights lie along the dims of a row, or of groups. */
static void oxi_row_split(oxi_row *r) {
    const oxi_call *call = r->measure.call;
    const ox_tensor *x = call->in[0], *out = call->out[0];
    int64_t weight = 1, groups = r->form.groups;
    oxi_row_dims rows, line;
    memset(&rows, 0, sizeof rows);
    memset(&line, 0, sizeof line);
    for (int d = 0; d < x->ndim; d++) {
        bool inside = r->form.inside >> d & 1;
        if (groups > 0 && d == 1) {
            int64_t channels = x->shape[1] / groups;
            oxi_row_add_dim(&rows, groups, x->stride[1] * channels, out->stride[1] * channels, channels);
            oxi_row_add_dim(&line, channels, x->stride[1], out->stride[1], 1);
        } else if (inside) {
            oxi_row_add_dim(&line, x->shape[d], x->stride[d], out->stride[d], 0);
        } else {
            oxi_row_add_dim(&rows, x->shape[d], x->stride[d], out->stride[d], 0);
        }
    }
    for (int d = line.ndim - 1; groups == 0 && d >= 0; d--) {
        line.stride[OXI_ROW_WEIGHT][d] = line.stride[OXI_ROW_BIAS][d] = weight;
        weight *= line.shape[d];
    }
    oxi_row_walk(r, &r->measure.kept, &rows, OXI_WALK_MEMORY_ORDER);
    oxi_row_walk(r, &r->measure.line, &line, OXI_WALK_ANY_ORDER);
    const oxi_walk *kept = &r->measure.kept;
    for (int k = 0; k < kept->operands; k++) r->row_step[k] = kept->step[k] * kept->bytes[k];
    r->line_shift[OXI_ROW_X] = r->measure.line.base[OXI_ROW_X] - oxi_ptr(x);
    r->measure.line_shift = r->line_shift[OXI_ROW_X];
    r->line_shift[OXI_ROW_OUT] = r->measure.line.base[OXI_ROW_OUT] - oxi_ptr(out);
    for (int k = 0; k < 2; k++) {
        if (!r->weights[k]) continue;
        r->line_shift[OXI_ROW_WEIGHT + k] =
            r->measure.line.base[OXI_ROW_WEIGHT + k] - (const char *)r->weights[k];
    }
}

/* Decides between single rows, tiles of rows and chunks of a row, by shape and strides alone. */
static void oxi_row_shape(oxi_row *r) {
    oxi_reduce *m = &r->measure;
    const oxi_walk *line = &m->line;
    int64_t n = line->numel, step = llabs(m->kept.step[OXI_ROW_X]), buffer = 8 * OXI_REDUCE_BUFFER;
    r->flat = r->native && oxi_walk_flat(line, OXI_ROW_X) && oxi_walk_flat(line, OXI_ROW_OUT);
    for (int k = 0; k < 2; k++) r->flat = r->flat && (!r->weights[k] || line->step[OXI_ROW_WEIGHT + k] == 1);
    r->streams = r->flat && m->reducer.take && oxi_streams(m->call->out[0]) &&
                 (uintptr_t)oxi_ptr(m->call->out[0]) % sizeof(float) == 0;
    const oxi_part *told = r->part && r->part->rows_planned ? r->part : NULL;
    m->by_columns = m->kept.length >= 16 && ((step != 0 && step < llabs(line->step[OXI_ROW_X])) || n < 16);
    if (told) m->by_columns = told->by_columns;
    m->width = m->by_columns ? OXI_ROW_BLOCK : OXI_STRIP;
    m->chunk = OXI_REDUCE_LINE;
    /* A tile of up to this many rows stays in the cache between measuring and writing. */
    if (m->by_columns) m->chunk = m->kept.numel >= 32 * m->width ? n : 1024;
    if (told) m->chunk = told->chunk;
    m->chunks = (n - 1) / m->chunk + 1;
    m->group = OXI_REDUCE_LINE / oxi_min_i64(n, m->chunk);
    if (m->by_columns) m->group = m->group / m->width * m->width;
    if (m->group < 1) m->group = m->by_columns ? m->width : 1;
    if (m->by_columns) buffer = 8 * OXI_REDUCE_ROWS * m->width;
    if (r->form.finish == OXI_ROW_SOFTMAX && buffer < 4 * OXI_ROW_CACHED) buffer = 4 * OXI_ROW_CACHED;
    m->scratch_bytes = 16 * m->width + buffer;
    if (m->by_columns) m->scratch_bytes += (int64_t)sizeof(oxi_row_tile_numbers);
    const int64_t to_write = 3 * OXI_ROW_BLOCK * (int64_t)sizeof(double); /* see oxi_row_write */
    if (m->scratch_bytes < to_write) m->scratch_bytes = to_write;
}

/* Larger tasks, where there are many: a task's first row has none before it that is written meanwhile. */
static void oxi_row_join_groups(oxi_reduce *m) {
    const int64_t groups = oxi_reduce_groups(m), times = groups / (16 * oxi_lanes(groups));
    if (times > 1) m->group *= oxi_min_i64(times, 4);
}

static ox_status oxi_row_run(oxi_row *r) {
    oxi_reduce *m = &r->measure;
    if (r->streams && m->chunks == 1) oxi_row_join_groups(m);
    int64_t groups = oxi_reduce_groups(m), tasks = groups * m->chunks;
    ox_status status = oxi_reduce_begin(m);
    if (status == OX_OK && m->chunks == 1) oxi_parallel_for(tasks, oxi_row_task, r);
    if (status == OX_OK && m->chunks > 1) {
        oxi_parallel_for(tasks, oxi_reduce_task, m);
        oxi_parallel_for(groups, oxi_row_join_task, r);
        oxi_parallel_for(tasks, oxi_row_write_task, r);
    }
    oxi_reduce_end(m);
    return status;
}

static void oxi_row_choose(oxi_row *r) {
    static const oxi_row_finish finish[3][2] = {
        {oxi_softmax_finish_f32, oxi_softmax_finish_f64},
        {oxi_log_softmax_finish_f32, oxi_log_softmax_finish_f64},
        {oxi_norm_finish_f32, oxi_norm_finish_f64},
    };
    oxi_reduce *m = &r->measure;
    ox_dtype dtype = m->call->in[0]->dtype;
    m->kind = oxi_reduce_kind_for(r->form.measure, OXI_PLACES_NONE, OXI_READS_VALUE);
    m->kernels = oxi_cpu_kernels();
    m->lane = oxi_lane_of(dtype);
    m->load = m->kernels->load[dtype][m->lane];
    m->reducer = oxi_reducers[m->kind][m->lane];
    r->store = m->kernels->store[dtype][m->lane];
    r->load_weight = m->kernels->load[oxi_lane_dtype(m->lane)][m->lane];
    r->finish = finish[r->form.finish][m->lane == OXI_LANE_F64];
    r->native = m->direct = dtype == oxi_lane_dtype(m->lane);
}

static void oxi_row_start(oxi_row *r, const oxi_call *call, const oxi_part *part) {
    memset(r, 0, sizeof *r);
    r->form = oxi_row_form_of(call);
    r->part = part;
    r->measure.call = call;
    oxi_row_choose(r);
}

/* Parts of a call compute as the whole does when they are told what that chooses by its shape and strides:
 * whether by columns, and the elements of a chunk. Operands may lie nowhere. True when parts may be packed,
 * for what else strides decide makes no difference by columns of one stride. */
static OXI_UNUSED bool oxi_row_tell(const oxi_call *call, oxi_part *part) {
    oxi_row r;
    oxi_row_start(&r, call, NULL);
    for (int k = 0; k < 2; k++)
        if (call->in_count > 1 + k && call->in[1 + k]) r.weights[k] = oxi_ptr(call->in[0]);
    oxi_row_split(&r);
    oxi_row_shape(&r);
    part->rows_planned = true;
    part->by_columns = r.measure.by_columns;
    part->chunk = r.measure.chunk;
    return r.measure.by_columns && r.measure.line.ndim == 1;
}

static void oxi_row_close(oxi_row *r) {
    for (int k = 0; k < 2; k++) oxi_free(r->converted[k], r->converted_bytes[k]);
}

/* How the call is computed, by shapes, strides and dtypes alone; x has elements. To be closed also after an
 * error. */
static ox_status oxi_row_plan(oxi_row *r, const oxi_call *call, const oxi_part *part) {
    ox_status status = OX_OK;
    oxi_row_start(r, call, part);
    for (int k = 0; k < 2 && status == OX_OK; k++) {
        if (call->in_count > 1 + k) status = oxi_row_convert(r, k, call->in[1 + k]);
    }
    if (status != OX_OK) return status;
    oxi_row_split(r);
    oxi_row_shape(r);
    return OX_OK;
}

static OXI_UNUSED ox_status oxi_cpu_row(const oxi_call *call, const oxi_part *part) {
    oxi_row r;
    if (ox_numel(call->in[0]) == 0) return OX_OK;
    ox_status status = oxi_row_plan(&r, call, part);
    if (status == OX_OK) status = oxi_row_run(&r);
    oxi_row_close(&r);
    return status;
}
