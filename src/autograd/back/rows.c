/* What comes back through softmax and the norms, a row at a time in L1: one pass over memory, where other
 * operations would take ten. Rows lie side by side, numbers are computed in f32. What goes to weights is
 * added up by each task on its own, then in the order of tasks: never by threads. Called by back.c. */

enum { OXI_BACK_TASKS = 64, OXI_BACK_BLOCK = 16384, OXI_BACK_ROW_MOST = 1 << 16 };

typedef struct oxi_rows_back oxi_rows_back;
/* g, x: rows of n numbers, x the operand or softmax's result; sums: NULL, or what is added up for weight and
 * bias. */
typedef void (*oxi_row_back)(const oxi_rows_back *r, const float *g, const float *x, float *out, float *sums);

struct oxi_rows_back {
    const oxi_call *call;
    const oxi_kernels *k;
    const oxi_back_kernels *own;
    oxi_row_back row;
    int64_t n, rows, tasks;
    double eps;
    const float *weight; /* NULL, or n numbers */
    bool streams, narrow; /* narrow: results are no floats of 32 bits */
    float *sums, *scratch; /* sums [tasks][2][n]; of a lane: g, x, a row of results */
    int64_t lane_numbers;
};

/* (g - g . y) y */
static void oxi_softmax_row_back(const oxi_rows_back *r, const float *g, const float *y, float *out,
                                 float *sums) {
    (void)sums;
    r->own->softmax(r->n, g, y, r->k->dot_f32(r->n, g, y), out, r->streams);
}

/* g - e^y sum(g) */
static void oxi_log_softmax_row_back(const oxi_rows_back *r, const float *g, const float *y, float *out,
                                     float *sums) {
    (void)sums;
    r->own->log_softmax(r->n, g, y, (float)r->k->row_sum(r->n, g, false), out, r->streams);
}

/* With y the normalized x and h = weight g: (h - mean(h) - y mean(h y)) / deviation; where it is not centered
 * without mean(h). y (g) goes to weight, g to bias. */
static void oxi_norm_row_back(const oxi_rows_back *r, const float *g, const float *x, float *out, float *sums,
                              bool centered) {
    double count = (double)r->n, a = 0, b = 0;
    oxi_partial p = oxi_partial_of(&a, &b);
    oxi_norm_row row = {r->n, g, x, r->weight, 0, 0, 0, 0, 0, sums};
    if (centered)
        oxi_moments_row(r->k, &p, r->n, x, 0);
    else
        oxi_squares_row(r->k, &p, r->n, x, 0);
    double mean = centered ? a : 0, scale = 1 / sqrt((centered ? b : a) / count + r->eps);
    row.mean = (float)mean;
    row.scale = (float)scale;
    row.rest = (float)((row.mean - mean) * scale); /* what f32 cannot hold of the mean */
    r->own->norm_sums(&row);
    row.total = centered ? row.total / count : 0;
    row.along /= count;
    r->own->norm_write(&row, out, r->streams);
}

static void oxi_layer_norm_row_back(const oxi_rows_back *r, const float *g, const float *x, float *out,
                                    float *sums) {
    oxi_norm_row_back(r, g, x, out, sums, true);
}

static void oxi_rms_norm_row_back(const oxi_rows_back *r, const float *g, const float *x, float *out,
                                  float *sums) {
    oxi_norm_row_back(r, g, x, out, sums, false);
}

/* Row i of a tensor of rows as floats: where they are, or in room. */
static const float *oxi_back_read(const oxi_rows_back *r, const ox_tensor *t, int64_t i, float *room) {
    return oxi_floats_of(r->k, t, i * r->n, r->n, room);
}

/* Task: rows one behind the other. */
static void oxi_rows_back_task(void *arg, int64_t index, int lane) {
    const oxi_rows_back *r = (const oxi_rows_back *)arg;
    const ox_tensor *g = r->call->in[0], *x = r->call->in[1], *out = r->call->out[0];
    int64_t n = r->n, each = oxi_parts(r->rows, r->tasks), end = oxi_min_i64((index + 1) * each, r->rows);
    float *room = r->scratch + lane * r->lane_numbers;
    float *sums = r->sums ? r->sums + index * 2 * n : NULL;
    for (int64_t i = index * each; i < end; i++) {
        char *to = oxi_ptr(out) + oxi_signed_bytes(out->dtype, i * n);
        float *result = r->narrow ? room + 2 * n : (float *)(void *)to;
        r->row(r, oxi_back_read(r, g, i, room), oxi_back_read(r, x, i, room + n), result, sums);
        if (r->narrow) r->k->store[out->dtype][OXI_LANE_F32](n, result, to, 1);
    }
}

/* What the tasks added up for weight and bias. */
static void oxi_rows_back_join(const oxi_rows_back *r) {
    for (int k = 1; k < r->call->out_count; k++) {
        float *sum = r->sums + (k - 1) * r->n;
        ox_tensor *out = r->call->out[k];
        for (int64_t t = 1; t < r->tasks; t++) r->k->axpy_f32(r->n, 1, sum + t * 2 * r->n, sum);
        r->k->store[out->dtype][OXI_LANE_F32](r->n, sum, oxi_ptr(out), 1);
    }
}

static void oxi_rows_back_shape(oxi_rows_back *r, const oxi_call *call) {
    static const struct {
        oxi_op op;
        oxi_row_back row;
    } rows[] = {{OXI_OP_softmax_back, oxi_softmax_row_back},
                {OXI_OP_log_softmax_back, oxi_log_softmax_row_back},
                {OXI_OP_layer_norm_back, oxi_layer_norm_row_back},
                {OXI_OP_rms_norm_back, oxi_rms_norm_row_back}};
    const ox_tensor *x = call->in[1];
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == call->op) r->row = rows[i].row;
    bool norm = call->op == OXI_OP_layer_norm_back || call->op == OXI_OP_rms_norm_back;
    int last = norm ? (int)call->attr.norm.last_dims : 1;
    r->eps = norm ? call->attr.norm.eps : 0;
    r->call = call;
    r->k = oxi_cpu_kernels();
    r->own = oxi_back_kernels_in_use();
    r->n = 1;
    for (int d = x->ndim - last; d < x->ndim; d++) r->n *= x->shape[d];
    r->rows = ox_numel(x) / r->n;
    r->tasks = oxi_min_i64(oxi_min_i64(ox_numel(x) / OXI_BACK_BLOCK + 1, OXI_BACK_TASKS), r->rows);
    r->narrow = call->out[0]->dtype != OX_F32;
    r->streams = oxi_streams(call->out[0]) && !r->narrow;
    r->lane_numbers = oxi_round_up(3 * r->n, OXI_LINE);
}

/* Operands and results are contiguous, of floats other than f64, and not empty; rows are not longer than
 * OXI_BACK_ROW_MOST. */
static ox_status oxi_rows_back_run(const oxi_call *call) {
    oxi_rows_back r;
    oxi_rows_back_shape(&r, call);
    const ox_tensor *weight = call->in_count > 2 ? call->in[2] : NULL;
    size_t sums = call->out_count > 1 ? (size_t)(r.tasks * 2 * r.n) : 0, own = weight ? (size_t)r.n : 0;
    size_t lanes = (size_t)(oxi_lanes(r.tasks) * r.lane_numbers);
    size_t bytes = (lanes + sums + own) * sizeof(float);
    float *memory = (float *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    r.scratch = memory;
    if (sums) r.sums = memory + lanes;
    if (sums) memset(r.sums, 0, sums * sizeof(float));
    if (weight) {
        r.k->load[weight->dtype][OXI_LANE_F32](r.n, oxi_ptr(weight), 1, memory + lanes + sums);
        r.weight = memory + lanes + sums;
    }
    oxi_parallel_for(r.tasks, oxi_rows_back_task, &r);
    if (sums) oxi_rows_back_join(&r);
    oxi_free(memory, bytes);
    return OX_OK;
}
