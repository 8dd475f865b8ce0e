/* What comes back through softmax and the norms, a row at a time in L1: one pass over memory, where other
 * operations would take ten. Rows lie side by side, numbers are computed in f32. What goes to weights is
 * added up by each task on its own, then in the order of tasks: never by threads. Called by back.c. */

enum { OXI_BACK_ROW_MOST = 1 << 16, OXI_PAGE_FLOATS = 1024 };

typedef struct oxi_rows_back oxi_rows_back;
/* g, y: rows of n numbers, y softmax's result. */
typedef void (*oxi_row_back)(const oxi_rows_back *r, const float *g, const float *y, float *out);

struct oxi_rows_back {
    const oxi_call *call;
    const oxi_kernels *k;
    const oxi_back_kernels *own;
    oxi_row_back row; /* of softmax; NULL: a norm */
    int64_t n, rows, tasks, each; /* each: rows of a task */
    bool goes_on; /* sums go on from what the part before has left in the results */
    double eps, share;   /* share: 1 / n */
    const float *in[2];  /* operands of floats of 32 bits, or NULL */
    const float *weight; /* NULL, or n numbers */
    bool streams, narrow; /* narrow: results are no floats of 32 bits */
    float *sums, *scratch; /* sums [tasks][2][step]; of a lane: g, x, the next ones, a row of results */
    int64_t lane_numbers, step;
};

/* (g - g . y) y */
static void oxi_softmax_row_back(const oxi_rows_back *r, const float *g, const float *y, float *out) {
    r->own->softmax(r->n, g, y, r->k->dot_f32(r->n, g, y), out, r->streams);
}

/* g - e^y sum(g) */
static void oxi_log_softmax_row_back(const oxi_rows_back *r, const float *g, const float *y, float *out) {
    r->own->log_softmax(r->n, g, y, (float)r->k->row_sum(r->n, g, false), out, r->streams);
}

/* Row i of an operand as floats: where they are, or in room. */
static const float *oxi_back_read(const oxi_rows_back *r, int operand, int64_t i, float *room) {
    if (r->in[operand]) return r->in[operand] + i * r->n;
    return oxi_floats_of(r->k, r->call->in[operand], i * r->n, r->n, room);
}

/* ---- norms: with y the normalized x and h = weight g: (h - mean(h) - y mean(h y)) / deviation; where it is
 * not centered without mean(h). y g goes to weight, g to bias ---- */

/* Lines in which a row ends and the next one begins are put together here, for half a line past the caches
 * takes as long as many whole ones. Each is written when its room is needed again: by then its parts have
 * left the processor, which would wait for them. */
typedef struct oxi_norm_lines {
    float line[4][OXI_LINE / sizeof(float)];
    float *to[4]; /* where they belong; NULL: nothing yet */
    int at;
} oxi_norm_lines;

/* What all rows of a task have. */
static oxi_norm_row oxi_norm_row_of(const oxi_rows_back *r, float *sums) {
    oxi_norm_row row;
    memset(&row, 0, sizeof row);
    row.n = r->n;
    row.weight = r->weight;
    row.weight_sums = sums;
    row.bias_sums = sums ? sums + r->step : NULL;
    row.centered = r->call->op == OXI_OP_layer_norm_back;
    row.streams = r->streams;
    return row;
}

/* Row i, not measured yet; room: of g and x. */
static void oxi_norm_row_begin(const oxi_rows_back *r, int64_t i, float *room, oxi_norm_row *row) {
    row->g = oxi_back_read(r, 0, i, room);
    row->x = oxi_back_read(r, 1, i, room + r->n);
    row->about = row->centered ? oxi_row_about(r->n, row->x) : 0;
    row->sum = row->squares = row->total = row->along = 0;
}

/* Where a row's results go, of which number 0 belongs to `out`. The edges at both ends of a task go there. */
static void oxi_norm_row_place(const oxi_rows_back *r, oxi_norm_lines *l, oxi_norm_row *row, float *out,
                               bool ends) {
    const int64_t in_line = OXI_LINE / (int64_t)sizeof(float);
    row->to = NULL;
    row->head = r->streams ? oxi_row_past_head(out, r->n) : 0;
    row->end = row->head + (r->n - row->head) / in_line * in_line;
    row->out = row->first = out;
    row->last = out + row->end;
    if (row->head && l->to[l->at]) row->first = l->line[l->at] + in_line - row->head;
    if (!r->streams || ends || row->end == r->n) return;
    l->at = (l->at + 1) % 4;
    row->whole = l->line[l->at];
    row->to = l->to[l->at];
    l->to[l->at] = row->last;
    row->last = l->line[l->at];
}

/* A load waits for a store that is still on its way to an address of the same low 12 bits. Where numbers of
 * the row to measure, at `from`, lie less than OXI_NORM_NEAR behind those that are written meanwhile, they
 * are measured first. */
enum { OXI_NORM_NEAR = 192 };
static int64_t oxi_norm_lag(const float *from, const float *out) {
    int64_t behind = (int64_t)(((uintptr_t)out - (uintptr_t)from) / sizeof(float) % 1024);
    return behind < OXI_NORM_NEAR ? oxi_round_up(behind, 32) : 0;
}

/* Of a measured row, what it is written by. Where squares leave f32, or products with h might, or `about` is
 * off by more than the deviation (oxi_moments_take), it is measured once more. */
static void oxi_norm_row_take(const oxi_rows_back *r, oxi_norm_row *row) {
    double count = (double)r->n, off = row->sum * r->share, squares = row->squares - off * row->sum;
    double mean = row->about + off;
    bool fits = row->squares > 1e-12 * count && row->squares < 1e30 && off * row->sum <= 0.5 * row->squares &&
                fabs(row->along) < 1e38;
    if (!fits) {
        double a = 0, b = 0;
        oxi_partial p = oxi_partial_of(&a, &b);
        (row->centered ? oxi_moments_row : oxi_squares_row)(r->k, &p, r->n, row->x, 0);
        mean = row->centered ? a : 0;
        squares = row->centered ? b : a;
    }
    double scale = 1 / sqrt(squares * r->share + r->eps);
    row->mean = (float)mean;
    row->scale = (float)scale;
    row->rest = (float)((row->mean - mean) * scale); /* what f32 cannot hold of the mean */
    if (fits)
        row->along = (row->along - off * row->total) * scale;
    else
        r->own->norm_sums(row);
    row->total = row->centered ? row->total * r->share : 0;
    row->along *= r->share;
}

/* Rows [first, end): each is measured while the one before it is written. */
static void oxi_norm_rows(const oxi_rows_back *r, int64_t first, int64_t end, float *room, float *sums) {
    const ox_tensor *out = r->call->out[0];
    int64_t step = oxi_signed_bytes(out->dtype, r->n);
    char *to = oxi_ptr(out) + first * step;
    oxi_norm_row row[2], nothing = oxi_norm_row_of(r, sums);
    oxi_norm_lines lines;
    memset(&lines, 0, sizeof lines);
    row[0] = row[1] = nothing;
    nothing.n = 0;
    oxi_norm_row_begin(r, first, room, &row[first & 1]);
    r->own->norm_write(&nothing, &row[first & 1]);
    for (int64_t i = first; i < end; i++, to += step) {
        oxi_norm_row *at = &row[i & 1], *next = i + 1 < end ? &row[1 - (i & 1)] : NULL;
        float *result = r->narrow ? room + 4 * r->n : (float *)(void *)to;
        if (next) oxi_norm_row_begin(r, i + 1, room + ((i + 1 - first) & 1) * 2 * r->n, next);
        oxi_norm_row_place(r, &lines, at, result, !next);
        if (next)
            at->lag = oxi_max_i64(oxi_norm_lag(next->x, result + at->head),
                                  oxi_norm_lag(next->g, result + at->head));
        oxi_norm_row_take(r, at);
        r->own->norm_write(at, next);
        if (r->narrow) r->k->store[out->dtype][OXI_LANE_F32](r->n, result, to, 1);
    }
    for (int k = 0; k < 4; k++)
        if (lines.to[k]) r->k->stream(OXI_LINE, lines.line[k], lines.to[k]);
}

/* Rows [first, end) of softmax, which go past the caches: g . y of each is added up while the one before it
 * is written. */
static void oxi_softmax_rows(const oxi_rows_back *r, int64_t first, int64_t end) {
    const float *g = r->in[0] + first * r->n, *y = r->in[1] + first * r->n;
    float *out = (float *)(void *)oxi_ptr(r->call->out[0]) + first * r->n;
    float along = r->k->dot_f32(r->n, g, y);
    for (; first + 1 < end; first++, g += r->n, y += r->n, out += r->n)
        along = r->own->softmax_next(r->n, g, y, along, out, g + r->n, y + r->n);
    r->own->softmax(r->n, g, y, along, out, true);
}

/* ---- tasks: rows one behind the other ------------------------------------------------------------------ */

static void oxi_rows_back_task(void *arg, int64_t index, int lane) {
    const oxi_rows_back *r = (const oxi_rows_back *)arg;
    const ox_tensor *out = r->call->out[0];
    int64_t n = r->n, each = r->each, end = oxi_min_i64((index + 1) * each, r->rows);
    float *room = r->scratch + lane * r->lane_numbers;
    if (r->row == oxi_softmax_row_back && r->streams && r->in[0] && r->in[1] && index * each < end) {
        oxi_softmax_rows(r, index * each, end);
        return;
    }
    float *sums = r->sums ? r->sums + index * 2 * r->step : NULL;
    for (int k = 0; sums && k < 2; k++) /* by who adds to them: they are at hand */
        memset(sums + k * r->step, 0, (size_t)n * sizeof *sums);
    if (!r->row && index * each < end) oxi_norm_rows(r, index * each, end, room, sums);
    for (int64_t i = index * each; r->row && i < end; i++) {
        char *to = oxi_ptr(out) + oxi_signed_bytes(out->dtype, i * n);
        float *result = r->narrow ? room + 4 * n : (float *)(void *)to;
        r->row(r, oxi_back_read(r, 0, i, room), oxi_back_read(r, 1, i, room + n), result);
        if (r->narrow) r->k->store[out->dtype][OXI_LANE_F32](n, result, to, 1);
    }
}

/* What the tasks added up for weight and bias. */
static void oxi_rows_back_join(const oxi_rows_back *r) {
    for (int k = 1; k < r->call->out_count; k++) {
        float *sum = r->sums + (k - 1) * r->step;
        ox_tensor *out = r->call->out[k];
        if (r->goes_on) /* parts have results of f32 */
            r->k->axpy_f32(r->n, 1, (const float *)(const void *)oxi_ptr(out), sum);
        r->k->column_sums(r->n, r->tasks, sum, 2 * r->step, sum);
        r->k->store[out->dtype][OXI_LANE_F32](r->n, sum, oxi_ptr(out), 1);
    }
}

static void oxi_rows_back_shape(oxi_rows_back *r, const oxi_call *call, const oxi_part *part) {
    const ox_tensor *x = call->in[1];
    memset(r, 0, sizeof *r);
    if (call->op == OXI_OP_softmax_back) r->row = oxi_softmax_row_back;
    if (call->op == OXI_OP_log_softmax_back) r->row = oxi_log_softmax_row_back;
    bool norm = call->op == OXI_OP_layer_norm_back || call->op == OXI_OP_rms_norm_back;
    int last = norm ? (int)call->attr.norm.last_dims : 1;
    r->eps = norm ? call->attr.norm.eps : 0;
    r->call = call;
    r->k = oxi_cpu_kernels();
    r->own = oxi_back_kernels_in_use();
    r->n = 1;
    for (int d = x->ndim - last; d < x->ndim; d++) r->n *= x->shape[d];
    r->rows = ox_numel(x) / r->n;
    r->share = 1 / (double)r->n;
    for (int k = 0; k < 2; k++)
        if (call->in[k]->dtype == OX_F32) r->in[k] = (const float *)(const void *)oxi_ptr(call->in[k]);
    r->each = part && part->rows > 0 ? part->rows : oxi_back_task_rows(r->rows, r->n);
    r->tasks = oxi_parts(r->rows, r->each);
    r->goes_on = part && part->rows > 0 && part->first > 0;
    r->narrow = call->out[0]->dtype != OX_F32;
    r->streams = oxi_streams(call->out[0]) && !r->narrow && (r->row || r->n >= 2 * OXI_LINE);
    r->step = r->n;
    if (r->n >= OXI_PAGE_FLOATS / 4) r->step = oxi_round_up(r->n, OXI_PAGE_FLOATS) + OXI_PAGE_FLOATS / 2;
    r->lane_numbers = oxi_round_up(5 * r->n, OXI_LINE);
}

/* Operands and results are contiguous, of floats other than f64, and not empty; rows are not longer than
 * OXI_BACK_ROW_MOST. */
static ox_status oxi_rows_back_run(const oxi_call *call, const oxi_part *part) {
    oxi_rows_back r;
    oxi_rows_back_shape(&r, call, part);
    const ox_tensor *weight = call->in_count > 2 ? call->in[2] : NULL;
    const size_t quarter = OXI_PAGE_FLOATS / 4;
    size_t sums = call->out_count > 1 ? (size_t)(r.tasks * 2 * r.step) : 0, own = weight ? (size_t)r.n : 0;
    size_t lanes = (size_t)(oxi_lanes(r.tasks) * r.lane_numbers);
    size_t bytes = (lanes + sums + own + 2 * quarter + OXI_PAGE_FLOATS) * sizeof(float);
    float *memory = (float *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    r.scratch = memory;
    /* Most operands begin a page; sums of weight, weight and sums of bias lie apart in it (oxi_norm_lag). */
    float *rest = memory + lanes;
    rest += (0 - (uintptr_t)rest) / sizeof *rest % OXI_PAGE_FLOATS + quarter;
    if (sums) r.sums = rest;
    if (weight) {
        r.k->load[weight->dtype][OXI_LANE_F32](r.n, oxi_ptr(weight), 1, rest + sums + quarter);
        r.weight = rest + sums + quarter;
    }
    oxi_parallel_for(r.tasks, oxi_rows_back_task, &r);
    if (sums) oxi_rows_back_join(&r);
    oxi_free(memory, bytes);
    return OX_OK;
}
