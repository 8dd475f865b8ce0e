/* Running sums and products along one dim (cumsum, cumprod), for any strides, in place too. Floats accumulate
 * in f64, complex numbers in pairs of it, integers wrap in 64 bits. Long lines are cut into chunks: first
 * their totals, then every chunk from where the ones before it end. Called by the CPU device. */

#define OXI_SCAN_BUFFER 512
#define OXI_SCAN_LINES 4     /* walked at a time: one line alone waits for each of its additions */
#define OXI_SCAN_CHUNK 65536 /* elements of a task */

/* x[i] becomes the total up to and including it: of a line, of four lines that lie OXI_SCAN_BUFFER apart, or
 * of column i over the calls. Numbers are float, double, uint64_t or pairs of float; totals, double, uint64_t
 * or oxi_complex, are carried from call to call. */
typedef void (*oxi_scan_kernel)(void *x, int64_t n, void *totals);

#define OXI_SCAN(name, type, wide, op)                                                                     \
    static void oxi_##name##_line(void *x, int64_t n, void *totals) {                                      \
        type *values = (type *)x;                                                                          \
        wide total = *(wide *)totals;                                                                      \
        for (int64_t i = 0; i < n; i++) values[i] = (type)(total = total op(wide) values[i]);              \
        *(wide *)totals = total;                                                                           \
    }                                                                                                      \
    static void oxi_##name##_lines(void *x, int64_t n, void *totals) {                                     \
        type *a = (type *)x, *b = a + OXI_SCAN_BUFFER, *c = b + OXI_SCAN_BUFFER, *d = c + OXI_SCAN_BUFFER; \
        wide *total = (wide *)totals, ta = total[0], tb = total[1], tc = total[2], td = total[3];          \
        for (int64_t i = 0; i < n; i++) {                                                                  \
            a[i] = (type)(ta = ta op(wide) a[i]);                                                          \
            b[i] = (type)(tb = tb op(wide) b[i]);                                                          \
            c[i] = (type)(tc = tc op(wide) c[i]);                                                          \
            d[i] = (type)(td = td op(wide) d[i]);                                                          \
        }                                                                                                  \
        total[0] = ta;                                                                                     \
        total[1] = tb;                                                                                     \
        total[2] = tc;                                                                                     \
        total[3] = td;                                                                                     \
    }                                                                                                      \
    static void oxi_##name##_columns(void *x, int64_t n, void *totals) {                                   \
        type *values = (type *)x;                                                                          \
        wide *total = (wide *)totals;                                                                      \
        int64_t i = 0;                                                                                     \
        for (; i + OXI_STRIP <= n; i += OXI_STRIP) {                                                       \
            for (int j = 0; j < OXI_STRIP; j++) total[i + j] = total[i + j] op(wide) values[i + j];        \
            for (int j = 0; j < OXI_STRIP; j++) values[i + j] = (type)total[i + j];                        \
        }                                                                                                  \
        for (; i < n; i++) values[i] = (type)(total[i] = total[i] op(wide) values[i]);                     \
    }
OXI_SCAN(cumsum_f32, float, double, +)
OXI_SCAN(cumprod_f32, float, double, *)
OXI_SCAN(cumsum_f64, double, double, +)
OXI_SCAN(cumprod_f64, double, double, *)
OXI_SCAN(cumsum_u64, uint64_t, uint64_t, +)
OXI_SCAN(cumprod_u64, uint64_t, uint64_t, *)
#undef OXI_SCAN

/* c64; z: the number, t: the total before it. */
#define OXI_SCAN_COMPLEX(name, joined)                                                             \
    static void oxi_##name##_columns(void *x, int64_t n, void *totals) {                           \
        float *values = (float *)x;                                                                \
        oxi_complex *total = (oxi_complex *)totals;                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const oxi_complex z = oxi_load_complex(values, i), t = total[i];                       \
            total[i] = joined;                                                                     \
            values[2 * i] = (float)total[i].re;                                                    \
            values[2 * i + 1] = (float)total[i].im;                                                \
        }                                                                                          \
    }                                                                                              \
    static void oxi_##name##_line(void *x, int64_t n, void *totals) {                              \
        for (int64_t i = 0; i < n; i++) oxi_##name##_columns((float *)x + 2 * i, 1, totals);       \
    }                                                                                              \
    static void oxi_##name##_lines(void *x, int64_t n, void *totals) {                             \
        for (int l = 0; l < OXI_SCAN_LINES; l++)                                                   \
            oxi_##name##_line((float *)x + 2 * l * OXI_SCAN_BUFFER, n, (oxi_complex *)totals + l); \
    }
OXI_SCAN_COMPLEX(cumsum_c64, oxi_make_complex(t.re + z.re, t.im + z.im))
OXI_SCAN_COMPLEX(cumprod_c64, oxi_multiply_complex(t, z))
#undef OXI_SCAN_COMPLEX

/* What runs in a lane; total: of contiguous numbers; join: of two totals. */
typedef struct oxi_scan_row {
    oxi_scan_kernel line, lines, columns;
    oxi_reduce_row total;
    void (*join)(oxi_partial *p, int64_t width, const oxi_partial *later);
} oxi_scan_row;

#define OXI_SCAN_ROW(op, lane, name, wide)                                                \
    {                                                                                     \
        oxi_##op##_##lane##_line, oxi_##op##_##lane##_lines, oxi_##op##_##lane##_columns, \
            oxi_##name##_row_##lane, oxi_##name##_merge_##wide                            \
    }

/* Sums, then products. Signed integers wrap like unsigned ones and take their lane. */
static const oxi_scan_row oxi_scan_rows[OXI_LANE_COUNT][2] = {
    {OXI_SCAN_ROW(cumsum, f32, sum, f64), OXI_SCAN_ROW(cumprod, f32, prod, f64)},
    {OXI_SCAN_ROW(cumsum, f64, sum, f64), OXI_SCAN_ROW(cumprod, f64, prod, f64)},
    {OXI_SCAN_ROW(cumsum, u64, sum, u64), OXI_SCAN_ROW(cumprod, u64, prod, u64)},
    {OXI_SCAN_ROW(cumsum, u64, sum, u64), OXI_SCAN_ROW(cumprod, u64, prod, u64)},
    {OXI_SCAN_ROW(cumsum, c64, sum, c64), OXI_SCAN_ROW(cumprod, c64, prod, c64)},
};

typedef struct oxi_scan {
    bool product;
    oxi_lane lane;
    oxi_scan_row run;
    oxi_load_kernel load;
    oxi_store_kernel store;
    oxi_walk others;       /* all dims but the scanned one; operands: x, result */
    int64_t size;          /* of the scanned dim */
    int64_t step[2];       /* its strides in x and in the result, elements */
    int64_t chunk, chunks; /* of a line */
    int64_t group, width;  /* lines of a task; neighboring lines walked together */
    int64_t words;         /* of 8 bytes, of a total */
    uint64_t *totals;      /* [lines][chunks][words]: of the numbers before each chunk */
} oxi_scan;

/* The total before the first element: 0, or 1 and no imaginary part. */
static void oxi_scan_start(const oxi_scan *s, uint64_t *total) {
    const double one = 1;
    memset(total, 0, (size_t)s->words * sizeof *total);
    if (!s->product) return;
    if (s->lane == OXI_LANE_I64 || s->lane == OXI_LANE_U64)
        total[0] = 1;
    else
        memcpy(total, &one, sizeof one);
}

/* A total as reductions see it. */
static oxi_partial oxi_scan_partial(uint64_t *total) {
    return oxi_partial_of(total, total + 1);
}

/* Elements [first, first + count) of up to four lines, each from its total on. */
static void oxi_scan_lines(const oxi_scan *s, char *const *x, char *const *out, int lines, int64_t first,
                           int64_t count, uint64_t *totals) {
    double numbers[OXI_SCAN_LINES * OXI_SCAN_BUFFER];
    char *buffer = (char *)numbers;
    int64_t apart = OXI_SCAN_BUFFER * oxi_lane_bytes(s->lane);
    for (int64_t end = first + count, n; first < end; first += n) {
        int64_t from = first * s->step[0] * s->others.bytes[0], to = first * s->step[1] * s->others.bytes[1];
        n = oxi_min_i64(end - first, OXI_SCAN_BUFFER);
        for (int l = 0; l < lines; l++) s->load(n, x[l] + from, s->step[0], buffer + l * apart);
        if (lines == OXI_SCAN_LINES)
            s->run.lines(buffer, n, totals);
        else
            for (int l = 0; l < lines; l++) s->run.line(buffer + l * apart, n, totals + l * s->words);
        for (int l = 0; l < lines; l++) s->store(n, buffer + l * apart, out[l] + to, s->step[1]);
    }
}

/* `width` neighboring lines together, an element of each at a time. */
static void oxi_scan_columns(const oxi_scan *s, const oxi_cursor *c) {
    uint64_t totals[2 * OXI_SCAN_BUFFER];
    double buffer[OXI_SCAN_BUFFER];
    for (int64_t i = 0; i < c->n; i++) oxi_scan_start(s, totals + i * s->words);
    for (int64_t i = 0; i < s->size; i++) {
        s->load(c->n, c->p[0] + i * s->step[0] * s->others.bytes[0], s->others.step[0], buffer);
        s->run.columns(buffer, c->n, totals);
        s->store(c->n, buffer, c->p[1] + i * s->step[1] * s->others.bytes[1], s->others.step[1]);
    }
}

/* One chunk of the lines of one group. */
static void oxi_scan_task(void *arg, int64_t index, int lane) {
    const oxi_scan *s = (const oxi_scan *)arg;
    int64_t chunk = index % s->chunks, first = index / s->chunks * s->group;
    int64_t start = chunk * s->chunk, count = oxi_min_i64(s->size - start, s->chunk);
    oxi_cursor c;
    (void)lane;
    oxi_walk_seek(&s->others, &c, first, oxi_min_i64(s->others.numel - first, s->group), 1);
    while (c.n) {
        char *x[OXI_SCAN_LINES], *out[OXI_SCAN_LINES];
        uint64_t totals[2 * OXI_SCAN_LINES];
        int lines = 0;
        for (; c.n && lines < OXI_SCAN_LINES; oxi_walk_next(&s->others, &c)) {
            x[lines] = c.p[0];
            out[lines] = c.p[1];
            uint64_t *total = totals + lines++ * s->words;
            if (s->totals)
                memcpy(total, s->totals + (c.position * s->chunks + chunk) * s->words,
                       (size_t)s->words * sizeof *total);
            else
                oxi_scan_start(s, total);
        }
        oxi_scan_lines(s, x, out, lines, start, count, totals);
    }
}

/* The neighboring lines of one group, by tiles. */
static void oxi_scan_column_task(void *arg, int64_t index, int lane) {
    const oxi_scan *s = (const oxi_scan *)arg;
    int64_t first = index * s->group;
    oxi_cursor c;
    (void)lane;
    oxi_walk_seek(&s->others, &c, first, oxi_min_i64(s->others.numel - first, s->group), s->width);
    for (; c.n; oxi_walk_next(&s->others, &c)) oxi_scan_columns(s, &c);
}

/* The total of one chunk; a task of the first pass over long lines, of which there is one in a group. */
static void oxi_scan_total_task(void *arg, int64_t index, int lane) {
    oxi_scan *s = (oxi_scan *)arg;
    int64_t first = index % s->chunks * s->chunk, end = oxi_min_i64(s->size, first + s->chunk);
    double buffer[OXI_SCAN_BUFFER];
    oxi_partial p = oxi_scan_partial(s->totals + index * s->words);
    oxi_cursor c;
    (void)lane;
    oxi_scan_start(s, s->totals + index * s->words);
    oxi_walk_seek(&s->others, &c, index / s->chunks, 1, 1);
    for (int64_t n; first < end; first += n) {
        n = oxi_min_i64(end - first, OXI_SCAN_BUFFER);
        s->load(n, c.p[0] + first * s->step[0] * s->others.bytes[0], s->step[0], buffer);
        s->run.total(NULL, &p, n, buffer, first);
    }
}

/* Turns the chunks' totals into what comes before each. */
static void oxi_scan_join(oxi_scan *s) {
    for (int64_t l = 0; l < s->others.numel; l++) {
        uint64_t *total = s->totals + l * s->chunks * s->words, before[2], own[2];
        const size_t bytes = (size_t)s->words * sizeof *total;
        oxi_partial p = oxi_scan_partial(before), later = oxi_scan_partial(own);
        oxi_scan_start(s, before);
        for (int64_t chunk = 0; chunk < s->chunks; chunk++, total += s->words) {
            memcpy(own, total, bytes);
            memcpy(total, before, bytes);
            s->run.join(&p, 1, &later);
        }
    }
}

static ox_status oxi_scan_run(oxi_scan *s) {
    int64_t groups = (s->others.numel + s->group - 1) / s->group;
    size_t bytes = (size_t)(s->others.numel * s->chunks * s->words) * sizeof *s->totals;
    if (s->chunks > 1) {
        s->totals = (uint64_t *)oxi_alloc(bytes);
        if (!s->totals) return OX_ERR_NOMEM;
        oxi_parallel_for(s->others.numel * s->chunks, oxi_scan_total_task, s);
        oxi_scan_join(s);
    }
    oxi_parallel_for(groups * s->chunks, s->width > 1 ? oxi_scan_column_task : oxi_scan_task, s);
    if (s->totals) oxi_free(s->totals, bytes);
    return OX_OK;
}

static void oxi_scan_split(oxi_scan *s, const oxi_call *call) {
    const ox_tensor *t[2];
    int64_t shape[OX_MAX_DIMS], stride[2][OX_MAX_DIMS];
    int dims = 0, along = call->attr.along.dim;
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
    bool closer;
    oxi_scan s;
    memset(&s, 0, sizeof s);
    s.product = call->op == OXI_OP_cumprod;
    s.lane = oxi_lane_of(from);
    s.words = s.lane == OXI_LANE_C64 ? 2 : 1;
    s.run = oxi_scan_rows[s.lane][s.product];
    s.load = k->load[from][s.lane];
    s.store = k->store[to][s.lane];
    oxi_scan_split(&s, call);
    if (s.size == 0 || s.others.numel == 0) return OX_OK;
    closer = llabs(s.others.step[0]) < llabs(s.step[0]);
    s.width =
        s.others.length >= 16 && (closer || s.size < 16) ? oxi_min_i64(s.others.length, OXI_SCAN_BUFFER) : 1;
    s.chunk = s.width > 1 ? s.size : OXI_SCAN_CHUNK;
    s.chunks = (s.size - 1) / s.chunk + 1;
    s.group = OXI_SCAN_CHUNK / (s.size + 1) / s.width * s.width;
    if (s.group < s.width) s.group = s.width;
    if (s.group < OXI_SCAN_LINES && s.others.numel >= 64) s.group = OXI_SCAN_LINES;
    return oxi_scan_run(&s);
}
