/* Fourier transforms of lines of any length, in f32 (plan.c says which ways there are). Many short lines go
 * side by side in the lanes of vectors, real ones in pairs, as the parts of complex lines; long ones one by
 * one, as columns and rows of a matrix that go side by side in turn. Lines of numbers have their parts in
 * turns, as c64 has them; side by side parts lie apart, z[n][2][lines]: a line of 2 n floats, transposed. */

#ifdef OX_NO_FFT
static ox_status oxi_cpu_fft(const oxi_call *call, const oxi_part *part) {
    (void)part;
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s: left out by OX_NO_FFT", oxi_op_row_of(call->op)->name);
}
#else

/* ---- lines side by side -------------------------------------------------------------------------------- */

/* What a thread works with: z and other, [most + 2][2][lines] each, and roots [most][2]. */
typedef struct oxi_fft_bench {
    float *z, *other, *roots;
} oxi_fft_bench;

static int64_t oxi_fft_bench_room(int64_t most) {
    return (most + 2) * (4 * oxi_cpu_kernels()->fft_lines + 2);
}
static oxi_fft_bench oxi_fft_bench_at(float *work, int64_t most) {
    int64_t row = 2 * oxi_cpu_kernels()->fft_lines;
    oxi_fft_bench b;
    b.z = work;
    b.other = b.z + (most + 2) * row;
    b.roots = b.other + (most + 2) * row;
    return b;
}

/* As many lines as lie side by side, or all that are left. */
static int64_t oxi_fft_least(int64_t left) { return oxi_min_i64(left, oxi_cpu_kernels()->fft_lines); }
static int64_t oxi_fft_groups(int64_t n) { return oxi_parts(n, oxi_cpu_kernels()->fft_lines); }

/* to[c][r] = from[r][c], of floats or, pairs, of complex numbers; steps from row to row, in floats. */
static void oxi_fft_cross(bool pairs, int64_t rows, int64_t columns, const float *from, int64_t from_step,
                          float *to, int64_t to_step) {
    const int64_t bytes = (int64_t)sizeof(float);
    oxi_cpu_kernels()->transpose[oxi_width_index(pairs ? 2 * sizeof(float) : sizeof(float))](
        rows, columns, (const char *)from, from_step * bytes, (char *)to, to_step * bytes);
}

/* Lines side by side: b.z, whose result is returned, b.z or b.other; what is behind z may be written to. */
static float *oxi_fft_lanes(const oxi_fft_plan *p, bool back, float scale, oxi_fft_bench b) {
    const oxi_kernels *k = oxi_cpu_kernels();
    if (p->way == OXI_FFT_LINES) return k->fft(&p->passes, back, scale, b.z, b.other);
    /* x_t chirp_t convolved with its conjugate; the way back exchanges parts, which is a transform forward */
    int64_t m = p->first->n, row = 2 * k->fft_lines;
    k->fft_times(p->n, back, b.z, p->chirp);
    memset(b.z + p->n * row, 0, (size_t)((m - p->n) * row) * sizeof(float));
    float *z = k->fft(&p->first->passes, back, 1, b.z, b.other);
    k->fft_times(m, back, z, p->kernel);
    z = k->fft(&p->first->passes, !back, scale, z, z == b.z ? b.other : b.z);
    k->fft_times(p->n, back, z, p->chirp);
    return z;
}
/* Rows of such a bench. */
static int64_t oxi_fft_most(const oxi_fft_plan *p) { return p->way == OXI_FFT_CHIRP ? p->first->n : p->n; }

/* `count` lines of so many floats side by side; lanes without a line hold zeros, which compute too. */
static void oxi_fft_lay(int64_t count, int64_t floats, const float *from, int64_t step, float *z) {
    int64_t lines = oxi_cpu_kernels()->fft_lines;
    if (count < lines) memset(z, 0, (size_t)(floats * lines) * sizeof(float));
    oxi_fft_cross(false, count, floats, from, step, z, lines);
}

/* Up to as many complex lines as lie side by side. */
static void oxi_fft_side(const oxi_fft_plan *p, bool back, float scale, const float *from, float *to,
                         int64_t count, float *work) {
    int64_t row = 2 * p->n, lines = oxi_cpu_kernels()->fft_lines;
    oxi_fft_bench b = oxi_fft_bench_at(work, oxi_fft_most(p));
    oxi_fft_lay(count, row, from, row, b.z);
    oxi_fft_cross(false, row, count, oxi_fft_lanes(p, back, scale, b), lines, to, row);
}

/* The imaginary parts of z's rows from `first` to before `end`. */
static void oxi_fft_negate(float *z, int64_t first, int64_t end) {
    int64_t lines = oxi_cpu_kernels()->fft_lines;
    for (int64_t c = first; c < end; c++)
        for (int64_t l = 0; l < lines; l++) z[(2 * c + 1) * lines + l] = -z[(2 * c + 1) * lines + l];
}

/* ---- a line as a matrix -------------------------------------------------------------------------------- */

typedef struct oxi_fft_steps {
    const oxi_fft_plan *plan;
    const float *from;
    float *to;
    bool back;
    float scale, *between, *work; /* [rows][2][columns], and the threads' benches */
    int64_t rows, columns;        /* of n1 and n2, those that are not told by others */
    int64_t most, room;
} oxi_fft_steps;

static oxi_fft_bench oxi_fft_bench_of(const oxi_fft_steps *s, int lane) {
    return oxi_fft_bench_at(s->work + lane * s->room, s->most);
}

/* The transforms of columns t2, t2 + 1, ..., turned, to their place in between. */
static void oxi_fft_turned(const oxi_fft_steps *s, bool back, const float *z, int64_t t2, int64_t count,
                           float *roots) {
    for (int64_t k1 = 0; k1 < s->rows; k1++) {
        double root[2];
        oxi_fft_root_of(s->plan, k1 * t2, root);
        roots[2 * k1] = (float)root[0];
        roots[2 * k1 + 1] = (float)root[1];
    }
    oxi_cpu_kernels()->fft_turn(s->rows, back, z, roots, s->plan->turns, s->between + t2, s->columns, count);
}
/* Rows k1, k1 + 1, ... of what is between, side by side. */
static void oxi_fft_fetch(const oxi_fft_steps *s, int64_t k1, int64_t count, float *z) {
    int64_t lines = oxi_cpu_kernels()->fft_lines;
    if (count < lines) memset(z, 0, (size_t)(2 * s->columns * lines) * sizeof(float));
    for (int part = 0; part < 2; part++)
        oxi_fft_cross(false, count, s->columns, s->between + (2 * k1 + part) * s->columns, 2 * s->columns,
                      z + part * lines, 2 * lines);
}

static void oxi_fft_columns(void *arg, int64_t index, int lane) {
    const oxi_fft_steps *s = (const oxi_fft_steps *)arg;
    int64_t lines = oxi_cpu_kernels()->fft_lines, n1 = s->plan->first->n, n2 = s->plan->other->n;
    int64_t t2 = index * lines, count = oxi_fft_least(n2 - t2);
    oxi_fft_bench b = oxi_fft_bench_of(s, lane);
    oxi_fft_cross(true, n1, count, s->from + 2 * t2, 2 * n2, b.other, 2 * n1);
    oxi_fft_lay(count, 2 * n1, b.other, 2 * n1, b.z);
    oxi_fft_turned(s, s->back, oxi_fft_lanes(s->plan->first, s->back, 1, b), t2, count, b.roots);
}
/* Numbers k1 + n1 k2 of the result. */
static void oxi_fft_rows(void *arg, int64_t index, int lane) {
    const oxi_fft_steps *s = (const oxi_fft_steps *)arg;
    int64_t lines = oxi_cpu_kernels()->fft_lines, n1 = s->plan->first->n, n2 = s->plan->other->n;
    int64_t k1 = index * lines, count = oxi_fft_least(n1 - k1);
    oxi_fft_bench b = oxi_fft_bench_of(s, lane);
    oxi_fft_fetch(s, k1, count, b.z);
    const float *z = oxi_fft_lanes(s->plan->other, s->back, s->scale, b);
    float *rows = z == b.z ? b.other : b.z;
    oxi_fft_cross(false, 2 * n2, count, z, lines, rows, 2 * n2);
    oxi_fft_cross(true, count, n2, rows, 2 * n2, s->to + 2 * k1, 2 * n1);
}

/* Of a real line: columns are real, two groups of them make complex ones; the transform's rows from n1 / 2 on
 * tell nothing new. */
static void oxi_fft_real_columns(void *arg, int64_t index, int lane) {
    const oxi_fft_steps *s = (const oxi_fft_steps *)arg;
    int64_t lines = oxi_cpu_kernels()->fft_lines, n1 = s->plan->first->n, n2 = s->plan->other->n;
    int64_t row = 2 * lines, t2 = index * row, left = oxi_min_i64(n2 - t2, row);
    oxi_fft_bench b = oxi_fft_bench_of(s, lane);
    if (left < row) memset(b.z, 0, (size_t)(n1 * row) * sizeof(float));
    for (int64_t t = 0; t < n1; t++)
        memcpy(b.z + t * row, s->from + t * n2 + t2, (size_t)left * sizeof(float));
    const float *z = oxi_fft_lanes(s->plan->first, false, 1, b);
    float *pair = z == b.z ? b.other : b.z;
    oxi_cpu_kernels()->fft_split(n1, 1, z, pair, pair + s->rows * row);
    for (int64_t i = 0; i < 2 && i * lines < left; i++)
        oxi_fft_turned(s, false, pair + i * s->rows * row, t2 + i * lines, oxi_fft_least(left - i * lines),
                       b.roots);
}
/* Number k = k1 + n1 k2 where it is one of the first half, else its conjugate as number n - k. */
static void oxi_fft_real_rows(void *arg, int64_t index, int lane) {
    const oxi_fft_steps *s = (const oxi_fft_steps *)arg;
    int64_t lines = oxi_cpu_kernels()->fft_lines, n1 = s->plan->first->n, n2 = s->plan->other->n;
    int64_t k1 = index * lines, count = oxi_fft_least(s->rows - k1), direct = (n2 + 1) / 2;
    int64_t begin = k1 ? k1 : 1, end = (n1 + 1) / 2 < k1 + count ? (n1 + 1) / 2 : k1 + count;
    oxi_fft_bench b = oxi_fft_bench_of(s, lane);
    oxi_fft_fetch(s, k1, count, b.z);
    float *z = oxi_fft_lanes(s->plan->other, false, s->scale, b), *rows = z == b.z ? b.other : b.z;
    oxi_fft_negate(z, s->back ? 0 : direct, s->back ? direct : n2);
    oxi_fft_cross(false, 2 * n2, count, z, lines, rows, 2 * n2);
    oxi_fft_cross(true, count, direct, rows, 2 * n2, s->to + 2 * k1, 2 * n1);
    if (end > begin) /* the last of them first */
        oxi_fft_cross(true, end - begin, n2 - direct, rows + 2 * n2 * (end - 1 - k1) + 2 * direct, -2 * n2,
                      s->to + 2 * (n1 * (n2 - direct) - (end - 1)), -2 * n1);
    if (k1 > 0 || n2 % 2 != 0) return;
    s->to[s->plan->n] = rows[n2]; /* number n / 2 */
    s->to[s->plan->n + 1] = s->back ? -rows[n2 + 1] : rows[n2 + 1];
}

/* The same backward, from the first half of the numbers; back: of conjugates. Columns up to n2 / 2 tell the
 * others, so rows are halves of real ones. The imaginary parts of the ends do not count. */
static void oxi_fft_half_columns(void *arg, int64_t index, int lane) {
    const oxi_fft_steps *s = (const oxi_fft_steps *)arg;
    int64_t lines = oxi_cpu_kernels()->fft_lines, n1 = s->plan->first->n, n2 = s->plan->other->n;
    int64_t t2 = index * lines, count = oxi_fft_least(s->columns - t2), direct = (n1 + 1) / 2;
    int64_t last = t2 + count - 1;
    oxi_fft_bench b = oxi_fft_bench_of(s, lane);
    float *columns = b.other;
    oxi_fft_cross(true, direct, count, s->from + 2 * t2, 2 * n2, columns, 2 * n1);
    if (n1 > direct) /* number n - k, the last of the columns first */
        oxi_fft_cross(true, n1 - direct, count, s->from + 2 * ((n1 - direct) * n2 - last), -2 * n2,
                      columns + 2 * (n1 * (count - 1) + direct), -2 * n1);
    oxi_fft_lay(count, 2 * n1, columns, 2 * n1, b.z);
    oxi_fft_negate(b.z, s->back ? 0 : direct, s->back ? direct : n1);
    if (t2 == 0) b.z[lines] = 0;
    if (t2 == 0 && n1 % 2 == 0) b.z[(n1 + 1) * lines] = 0;
    if (last == n2 / 2 && n1 % 2 != 0 && n2 % 2 == 0) b.z[n1 * lines + count - 1] = 0;
    oxi_fft_turned(s, false, oxi_fft_lanes(s->plan->first, false, 1, b), t2, count, b.roots);
}
static void oxi_fft_half_rows(void *arg, int64_t index, int lane) {
    const oxi_fft_steps *s = (const oxi_fft_steps *)arg;
    int64_t lines = oxi_cpu_kernels()->fft_lines, n1 = s->plan->first->n, n2 = s->plan->other->n;
    int64_t row = 2 * lines, t1 = index * row, left = oxi_min_i64(n1 - t1, row);
    oxi_fft_bench b = oxi_fft_bench_of(s, lane);
    if (left <= lines) memset(b.other + s->columns * row, 0, (size_t)(s->columns * row) * sizeof(float));
    for (int64_t i = 0; i < 2 && i * lines < left; i++)
        oxi_fft_fetch(s, t1 + i * lines, oxi_fft_least(left - i * lines), b.other + i * s->columns * row);
    oxi_cpu_kernels()->fft_join(n2, 1, b.other, b.other + s->columns * row, b.z);
    const float *z = oxi_fft_lanes(s->plan->other, false, s->scale, b);
    for (int64_t t = 0; t < n2; t++)
        memcpy(s->to + t * n1 + t1, z + t * row, (size_t)left * sizeof(float));
}

/* Lines from this length on are computed by all threads, if they are not busy with other lines. */
enum { OXI_FFT_LONG = 1 << 14 };

/* What a line is: complex numbers, real ones, the first half of what is real in the end. */
typedef enum oxi_fft_line_kind { OXI_FFT_COMPLEX, OXI_FFT_REAL, OXI_FFT_HALF } oxi_fft_line_kind;

static void oxi_fft_by_steps(const oxi_fft_plan *p, oxi_fft_line_kind kind, bool back, float scale,
                             const float *from, float *to, float *work) {
    static const oxi_lane_task tasks[3][2] = {{oxi_fft_columns, oxi_fft_rows},
                                              {oxi_fft_real_columns, oxi_fft_real_rows},
                                              {oxi_fft_half_columns, oxi_fft_half_rows}};
    int64_t n1 = p->first->n, n2 = p->other->n, groups[2];
    oxi_fft_steps s;
    s.plan = p;
    s.from = from;
    s.to = to;
    s.back = back;
    s.scale = scale;
    s.rows = kind == OXI_FFT_REAL ? n1 / 2 + 1 : n1;
    s.columns = kind == OXI_FFT_HALF ? n2 / 2 + 1 : n2;
    groups[0] = oxi_fft_groups(kind == OXI_FFT_REAL ? (n2 + 1) / 2 : s.columns);
    groups[1] = oxi_fft_groups(kind == OXI_FFT_HALF ? (n1 + 1) / 2 : s.rows);
    s.between = work;
    s.work = work + 2 * p->n;
    s.most = n2;
    s.room = oxi_fft_bench_room(s.most);
    for (int i = 0; i < 2; i++)
        if (p->n < OXI_FFT_LONG)
            for (int64_t g = 0; g < groups[i]; g++) tasks[kind][i](&s, g, 0);
        else
            oxi_parallel_for(groups[i], tasks[kind][i], &s);
}

/* ---- any line ------------------------------------------------------------------------------------------ */

/* Floats that a line of the plan works with besides itself. */
static int64_t oxi_fft_room(const oxi_fft_plan *p) {
    if (p->way == OXI_FFT_LINES || p->several) return oxi_fft_bench_room(oxi_fft_most(p));
    if (p->way == OXI_FFT_CHIRP) return 2 * p->first->n + oxi_fft_room(p->first);
    int lanes = p->n < OXI_FFT_LONG ? 1 : oxi_lanes(oxi_fft_groups(p->other->n));
    return 2 * (p->n + p->other->n) + lanes * oxi_fft_bench_room(p->other->n);
}

/* z = z w; back: conj z w. */
static void oxi_fft_multiply(int64_t n, bool back, float *z, const float *w) {
    float sign = back ? -1.0f : 1.0f;
    for (int64_t t = 0; t < 2 * n; t += 2) {
        float re = z[t], im = sign * z[t + 1];
        z[t] = re * w[t] - im * w[t + 1];
        z[t + 1] = re * w[t + 1] + im * w[t];
    }
}

/* One line of complex numbers; to may be from. */
static void oxi_fft_line(const oxi_fft_plan *p, bool back, float scale, const float *from, float *to,
                         float *work) {
    if (p->way == OXI_FFT_LINES || p->several) {
        oxi_fft_side(p, back, scale, from, to, 1, work);
        return;
    }
    if (p->way == OXI_FFT_STEPS) {
        oxi_fft_by_steps(p, OXI_FFT_COMPLEX, back, scale, from, to, work);
        return;
    }
    int64_t m = p->first->n; /* as oxi_fft_lanes has it, back by conjugates */
    float *z = work;
    memcpy(z, from, (size_t)p->n * 2 * sizeof(float));
    memset(z + 2 * p->n, 0, (size_t)(m - p->n) * 2 * sizeof(float));
    oxi_fft_multiply(p->n, back, z, p->chirp);
    oxi_fft_line(p->first, false, 1, z, z, work + 2 * m);
    oxi_fft_multiply(m, false, z, p->kernel);
    oxi_fft_line(p->first, true, scale, z, z, work + 2 * m);
    oxi_fft_multiply(p->n, false, z, p->chirp);
    for (int64_t t = 1; back && t < 2 * p->n; t += 2) z[t] = -z[t];
    memcpy(to, z, (size_t)p->n * 2 * sizeof(float));
}

/* ---- calls --------------------------------------------------------------------------------------------- */

typedef struct oxi_fft_job {
    const oxi_fft_plan *plan;
    oxi_fft_line_kind kind;
    const float *x;
    float *out;
    int64_t lines, n, from, to; /* numbers of a line: of the transform, of x and of out */
    int64_t all;                /* lines of the call that this is a part of: they choose the way */
    int64_t x_step, out_step;   /* floats of a line */
    float *work, scale;         /* work: for each lane */
    int64_t room;
    bool inverse;
} oxi_fft_job;

/* Lines side by side: complex ones; real ones in pairs; halves of real ones in pairs. */
static void oxi_fft_task_side(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    int64_t first = index * oxi_cpu_kernels()->fft_lines;
    oxi_fft_side(j->plan, j->inverse, j->scale, j->x + first * j->x_step, j->out + first * j->out_step,
                 oxi_fft_least(j->lines - first), j->work + lane * j->room);
}

static void oxi_fft_task_pairs(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    oxi_fft_bench b = oxi_fft_bench_at(j->work + lane * j->room, oxi_fft_most(j->plan));
    int64_t lines = oxi_cpu_kernels()->fft_lines, row = 2 * lines, first = index * row,
            left = j->lines - first;
    if (left < row) memset(b.z, 0, (size_t)(j->n * row) * sizeof(float));
    for (int64_t i = 0; i < 2 && i * lines < left; i++)
        oxi_fft_cross(false, oxi_fft_least(left - i * lines), j->n, j->x + (first + i * lines) * j->x_step,
                      j->x_step, b.z + i * lines, row);
    const float *z = oxi_fft_lanes(j->plan, false, j->scale, b);
    float *pair = z == b.z ? b.other : b.z;
    oxi_cpu_kernels()->fft_split(j->n, j->inverse ? -1.0f : 1.0f, z, pair, pair + j->to * row);
    for (int64_t i = 0; i < 2 && i * lines < left; i++)
        oxi_fft_cross(false, 2 * j->to, oxi_fft_least(left - i * lines), pair + i * j->to * row, lines,
                      j->out + (first + i * lines) * j->out_step, j->out_step);
}

static void oxi_fft_task_halves(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    oxi_fft_bench b = oxi_fft_bench_at(j->work + lane * j->room, oxi_fft_most(j->plan));
    int64_t lines = oxi_cpu_kernels()->fft_lines, row = 2 * lines, first = index * row,
            left = j->lines - first;
    if (left < row) memset(b.other, 0, (size_t)(2 * j->from * row) * sizeof(float));
    for (int64_t i = 0; i < 2 && i * lines < left; i++)
        oxi_fft_cross(false, oxi_fft_least(left - i * lines), 2 * j->from,
                      j->x + (first + i * lines) * j->x_step, j->x_step, b.other + i * j->from * row, lines);
    oxi_cpu_kernels()->fft_join(j->n, j->inverse ? -1.0f : 1.0f, b.other, b.other + j->from * row, b.z);
    const float *z = oxi_fft_lanes(j->plan, false, j->scale, b);
    for (int64_t i = 0; i < 2 && i * lines < left; i++)
        oxi_fft_cross(false, j->n, oxi_fft_least(left - i * lines), z + i * lines, row,
                      j->out + (first + i * lines) * j->out_step, j->out_step);
}

/* One line, in steps, or complex by a chirp. */
static void oxi_fft_task_line(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    const float *from = j->x + index * j->x_step;
    float *to = j->out + index * j->out_step, *work = j->work + lane * j->room;
    if (j->plan->way == OXI_FFT_STEPS)
        oxi_fft_by_steps(j->plan, j->kind, j->inverse, j->scale, from, to, work);
    else
        oxi_fft_line(j->plan, j->inverse, j->scale, from, to, work);
}

/* One line of real numbers, or half of it, by way of complex ones. */
static void oxi_fft_task_wide(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    const float *from = j->x + index * j->x_step;
    float *to = j->out + index * j->out_step, *z = j->work + lane * j->room, sign = j->inverse ? -1.0f : 1.0f;
    bool half = j->kind == OXI_FFT_HALF;
    for (int64_t t = 0; t < j->from; t++) {
        bool end = t == 0 || 2 * t == j->n;
        z[2 * t] = from[half ? 2 * t : t];
        z[2 * t + 1] = half && !end ? sign * from[2 * t + 1] : 0;
        if (!half || end) continue;
        z[2 * (j->n - t)] = z[2 * t];
        z[2 * (j->n - t) + 1] = -z[2 * t + 1];
    }
    oxi_fft_line(j->plan, false, j->scale, z, z, z + 2 * j->n);
    for (int64_t k = 0; k < j->to; k++) {
        to[half ? k : 2 * k] = z[2 * k];
        if (!half) to[2 * k + 1] = sign * z[2 * k + 1];
    }
}

enum { OXI_FFT_SIDE_MOST = 1024 }; /* longer lines go side by side only where there is no other way */

/* Parts of a call that begin at a multiple of so many lines have the bits of the whole: real ones side by
 * side go in pairs. */
OXI_UNUSED static int64_t oxi_fft_unit(const oxi_call *call) {
    bool half = call->op == OXI_OP_fft_c2r;
    int64_t n = (half ? call->out[0] : call->in[0])->shape[call->attr.fourier.dim];
    bool side = n <= OXI_FFT_SIDE_MOST || oxi_fft_way_of(n, false) == OXI_FFT_LINES;
    return side && call->op != OXI_OP_fft_c2c ? 2 * oxi_cpu_kernels()->fft_lines : 1;
}

/* Side by side where there are lines enough to fill vectors, or where a line is too short for anything else;
 * what is longer leaves the caches that way. */
static ox_status oxi_fft_run(oxi_fft_job *j) {
    static const oxi_lane_task side_tasks[3] = {oxi_fft_task_side, oxi_fft_task_pairs, oxi_fft_task_halves};
    int64_t lines = oxi_cpu_kernels()->fft_lines;
    bool pairs = j->kind != OXI_FFT_COMPLEX, several = j->all >= (pairs ? lines : lines / 2);
    size_t bytes = 0;
    several = several && j->n <= OXI_FFT_SIDE_MOST;
    oxi_fft_plan *plan = oxi_fft_plan_take(j->n, several);
    if (!plan) return ox_error() ? ox_error() : OX_ERR_NOMEM;
    bool side = several || plan->way == OXI_FFT_LINES, wide = pairs && plan->way == OXI_FFT_CHIRP && !side;
    int64_t each = !side ? 1 : pairs ? 2 * lines : lines, tasks = oxi_parts(j->lines, each);
    j->plan = plan;
    j->room = oxi_fft_room(plan) + (wide ? 2 * j->n : 0);
    bool fits = oxi_mul_size((size_t)j->room, (size_t)oxi_lanes(tasks) * sizeof(float), &bytes);
    j->work = fits ? (float *)oxi_alloc(bytes) : NULL;
    if (j->work) {
        oxi_parallel_for(tasks,
                         side   ? side_tasks[j->kind]
                         : wide ? oxi_fft_task_wide
                                : oxi_fft_task_line,
                         j);
        oxi_free(j->work, bytes);
    }
    oxi_fft_plan_give(plan);
    return fits && j->work ? OX_OK : OX_ERR_NOMEM;
}

static ox_status oxi_cpu_fft(const oxi_call *call, const oxi_part *part) {
    const oxi_attr_fourier *told = &call->attr.fourier;
    oxi_fft_job j;
    ox_tensor *out = call->out[0], *in = call->in[0], *x, *made = out;
    if (ox_numel(out) == 0) return OX_OK;
    memset(&j, 0, sizeof j);
    j.from = in->shape[told->dim];
    j.to = out->shape[told->dim];
    bool real = call->op == OXI_OP_fft_r2c, half = call->op == OXI_OP_fft_c2r;
    j.kind = real ? OXI_FFT_REAL : half ? OXI_FFT_HALF : OXI_FFT_COMPLEX;
    j.n = half ? j.to : j.from;
    j.x_step = real ? j.from : 2 * j.from;
    j.out_step = half ? j.to : 2 * j.to;
    j.lines = j.all = ox_numel(out) / j.to;
    if (part) j.all = ox_numel(part->whole->out[0]) / j.to;
    j.scale = (float)told->scale;
    j.inverse = told->inverse;
    ox_scope scope = ox_scope_begin();
    x = ox_contiguous(ox_movedim(real ? ox_cast(in, OX_F32) : in, told->dim, -1));
    if (x && (told->dim != out->ndim - 1 || !ox_is_contiguous(out))) {
        ox_shape shape = ox_shape_of(x);
        shape.dim[x->ndim - 1] = j.to;
        made = oxi_tensor_new(ox_cpu(), out->dtype, x->ndim, shape.dim);
    }
    ox_status status = x && made ? OX_OK : ox_error() ? ox_error() : OX_ERR_NOMEM;
    if (status == OX_OK) {
        j.x = (const float *)(const void *)oxi_ptr(x);
        j.out = (float *)(void *)oxi_ptr(made);
        status = oxi_fft_run(&j);
    }
    if (status == OX_OK && made != out) status = oxi_copy_quiet(out, ox_movedim(made, -1, told->dim));
    ox_scope_end(&scope);
    return status;
}
#endif
