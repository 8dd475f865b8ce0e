/* Running sums and products along one dim (cumsum, cumprod), for any strides, in place too.
 * Floats accumulate in f64, integers wrap in 64 bits. Long lines are cut into chunks: first their totals,
 * then every chunk from where the ones before it end. Called by the CPU device. */

#define OXI_SCAN_BUFFER 1024
#define OXI_SCAN_CHUNK 65536 /* elements of a task */

/* x[i] becomes the total up to and including it: of the line, or of column i over the calls. Numbers are
 * double or uint64_t; *total (total[i]) goes from call to call. */
typedef void (*oxi_scan_kernel)(void *x, int64_t n, void *total);

#define OXI_SCAN(name, type, op)                                                          \
    static void oxi_##name##_line(void *x, int64_t n, void *total) {                      \
        type *values = (type *)x, running = *(type *)total;                               \
        for (int64_t i = 0; i < n; i++) values[i] = running = running op values[i];       \
        *(type *)total = running;                                                         \
    }                                                                                     \
    static void oxi_##name##_columns(void *x, int64_t n, void *total) {                   \
        type *values = (type *)x, *running = (type *)total;                               \
        for (int64_t i = 0; i < n; i++) values[i] = running[i] = running[i] op values[i]; \
    }
OXI_SCAN(cumsum_f64, double, +)
OXI_SCAN(cumprod_f64, double, *)
OXI_SCAN(cumsum_u64, uint64_t, +)
OXI_SCAN(cumprod_u64, uint64_t, *)
#undef OXI_SCAN

typedef struct oxi_scan {
    bool product, real;
    oxi_scan_kernel line, columns;
    oxi_load_kernel load;
    oxi_store_kernel store;
    oxi_walk others;       /* all dims but the scanned one; operands: x, result */
    int64_t size;          /* of the scanned dim */
    int64_t step[2];       /* its strides in x and in the result, elements */
    int64_t chunk, chunks; /* of a line */
    int64_t group, width;  /* lines of a task; neighbouring lines walked together */
    uint64_t *totals;      /* [lines][chunks]: numbers before each chunk, as double or uint64_t */
} oxi_scan;

/* The value before the first element. */
static uint64_t oxi_scan_start(const oxi_scan *s) {
    double one = s->product ? 1 : 0;
    uint64_t start = s->product ? 1 : 0;
    if (s->real) memcpy(&start, &one, sizeof start);
    return start;
}

/* Elements [first, first + count) of one line, from `total` on; results are stored unless `out` is NULL. */
static void oxi_scan_line(const oxi_scan *s, const char *x, char *out, int64_t first, int64_t count,
                          void *total) {
    double buffer[OXI_SCAN_BUFFER];
    for (int64_t end = first + count, n; first < end; first += n) {
        n = oxi_min_i64(end - first, OXI_SCAN_BUFFER);
        s->load(n, x + first * s->step[0] * s->others.bytes[0], s->step[0], buffer);
        s->line(buffer, n, total);
        if (out) s->store(n, buffer, out + first * s->step[1] * s->others.bytes[1], s->step[1]);
    }
}

/* `width` neighbouring lines together, an element of each at a time. */
static void oxi_scan_columns(const oxi_scan *s, const oxi_cursor *c) {
    uint64_t totals[OXI_SCAN_BUFFER];
    double buffer[OXI_SCAN_BUFFER];
    for (int64_t i = 0; i < c->n; i++) totals[i] = oxi_scan_start(s);
    for (int64_t i = 0; i < s->size; i++) {
        s->load(c->n, c->p[0] + i * s->step[0] * s->others.bytes[0], s->others.step[0], buffer);
        s->columns(buffer, c->n, totals);
        s->store(c->n, buffer, c->p[1] + i * s->step[1] * s->others.bytes[1], s->others.step[1]);
    }
}

static void oxi_scan_task(void *arg, int64_t index, int lane) {
    const oxi_scan *s = (const oxi_scan *)arg;
    int64_t chunk = index % s->chunks, group = index / s->chunks, first = group * s->group;
    int64_t start = chunk * s->chunk, count = oxi_min_i64(s->size - start, s->chunk);
    oxi_cursor c;
    (void)lane;
    oxi_walk_seek(&s->others, &c, first, oxi_min_i64(s->others.numel - first, s->group), s->width);
    for (; c.n; oxi_walk_next(&s->others, &c)) {
        uint64_t total = s->totals ? s->totals[c.position * s->chunks + chunk] : oxi_scan_start(s);
        if (s->width > 1)
            oxi_scan_columns(s, &c);
        else
            oxi_scan_line(s, c.p[0], c.p[1], start, count, &total);
    }
}

/* The total of one chunk; a task of the first pass over long lines, of which there is one in a group. */
static void oxi_scan_total_task(void *arg, int64_t index, int lane) {
    oxi_scan *s = (oxi_scan *)arg;
    int64_t start = index % s->chunks * s->chunk;
    oxi_cursor c;
    (void)lane;
    oxi_walk_seek(&s->others, &c, index / s->chunks, 1, 1);
    s->totals[index] = oxi_scan_start(s);
    oxi_scan_line(s, c.p[0], NULL, start, oxi_min_i64(s->size - start, s->chunk), &s->totals[index]);
}

/* Turns the chunks' totals into what comes before each. */
static void oxi_scan_join(oxi_scan *s) {
    for (int64_t l = 0; l < s->others.numel; l++) {
        uint64_t *totals = s->totals + l * s->chunks, before = oxi_scan_start(s);
        for (int64_t chunk = 0; chunk < s->chunks; chunk++) {
            uint64_t value = totals[chunk], next = before;
            totals[chunk] = before;
            s->line(&value, 1, &next);
            before = next;
        }
    }
}

static ox_status oxi_scan_run(oxi_scan *s) {
    int64_t groups = (s->others.numel + s->group - 1) / s->group;
    size_t bytes = (size_t)(s->others.numel * s->chunks) * sizeof *s->totals;
    if (s->chunks > 1) {
        s->totals = (uint64_t *)oxi_alloc(bytes);
        if (!s->totals) return OX_ERR_NOMEM;
        oxi_parallel_for(s->others.numel * s->chunks, oxi_scan_total_task, s);
        oxi_scan_join(s);
    }
    oxi_parallel_for(groups * s->chunks, oxi_scan_task, s);
    if (s->totals) oxi_free(s->totals, bytes);
    return OX_OK;
}

static void oxi_scan_split(oxi_scan *s, const oxi_call *call) {
    const ox_tensor *t[2];
    int64_t shape[OX_MAX_DIMS], stride[2][OX_MAX_DIMS];
    int dims = 0, along = call->attr.dim;
    t[0] = call->in[0];
    t[1] = call->out[0];
    s->size = t[0]->ndim ? t[0]->shape[along] : 1;
    for (int d = 0; d < t[0]->ndim; d++) {
        if (d == along) continue;
        shape[dims] = t[0]->shape[d];
        for (int k = 0; k < 2; k++) stride[k][dims] = t[k]->stride[d];
        dims++;
    }
    oxi_walk_begin(&s->others, dims, shape);
    for (int k = 0; k < 2; k++) {
        s->step[k] = t[k]->ndim ? t[k]->stride[along] : 1;
        oxi_walk_add_raw(&s->others, oxi_ptr(t[k]), oxi_dtype_bytes(t[k]->dtype), stride[k]);
    }
    oxi_walk_ready(&s->others, OXI_WALK_MEMORY_ORDER);
}

static OXI_UNUSED ox_status oxi_cpu_scan(const oxi_call *call) {
    const oxi_kernels *k = oxi_cpu_kernels();
    ox_dtype from = call->in[0]->dtype, to = call->out[0]->dtype;
    oxi_lane lane = oxi_is_float(from) ? OXI_LANE_F64 : oxi_lane_of(from);
    bool closer;
    oxi_scan s;
    memset(&s, 0, sizeof s);
    s.product = call->op == OXI_OP_cumprod;
    s.real = lane == OXI_LANE_F64;
    s.line = s.real      ? s.product ? oxi_cumprod_f64_line : oxi_cumsum_f64_line
             : s.product ? oxi_cumprod_u64_line
                         : oxi_cumsum_u64_line;
    s.columns = s.real      ? s.product ? oxi_cumprod_f64_columns : oxi_cumsum_f64_columns
                : s.product ? oxi_cumprod_u64_columns
                            : oxi_cumsum_u64_columns;
    s.load = k->load[from][lane];
    s.store = k->store[to][lane];
    oxi_scan_split(&s, call);
    if (s.size == 0 || s.others.numel == 0) return OX_OK;
    closer = llabs(s.others.step[0]) < llabs(s.step[0]);
    s.width =
        s.others.length >= 16 && (closer || s.size < 16) ? oxi_min_i64(s.others.length, OXI_SCAN_BUFFER) : 1;
    s.chunk = s.width > 1 ? s.size : OXI_SCAN_CHUNK;
    s.chunks = (s.size - 1) / s.chunk + 1;
    s.group = OXI_SCAN_CHUNK / (s.size + 1) / s.width * s.width;
    if (s.group < s.width) s.group = s.width;
    return oxi_scan_run(&s);
}
