/* Fourier transforms of lines of any length, in f64 (plan.c says which ways there are). Many short lines go
 * side by side in the lanes of vectors, real ones in pairs, as the parts of complex lines; long ones one by
 * one, as columns and rows of a matrix that go side by side in turn. */

#ifdef OX_NO_FFT
static ox_status oxi_cpu_fft(const oxi_call *call) {
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s: left out by OX_NO_FFT", oxi_op_row_of(call->op)->name);
}
#else

/* Where lines lie: complex numbers of f32 or f64 parts (`part` bytes), or real ones. */
typedef struct oxi_fft_place {
    char *at;
    int64_t step; /* bytes from line to line */
    int part;
} oxi_fft_place;

/* As many lines as lie side by side, or all that are left. */
static int64_t oxi_fft_least(int64_t left) {
    int64_t lines = oxi_cpu_kernels()->fft_lines;
    return left < lines ? left : lines;
}

/* ---- lines side by side -------------------------------------------------------------------------------- */

/* What a thread works with: z and other, [most + 2][2][lines] each, and strip, as many floats. */
typedef struct oxi_fft_bench {
    double *z, *other;
    char *strip;
    double *roots; /* [most][2] */
} oxi_fft_bench;

static int64_t oxi_fft_bench_room(int64_t most) {
    return (most + 2) * (5 * oxi_cpu_kernels()->fft_lines + 2);
}
static oxi_fft_bench oxi_fft_bench_at(double *work, int64_t most) {
    int64_t row = 2 * oxi_cpu_kernels()->fft_lines;
    oxi_fft_bench b;
    b.z = work;
    b.other = b.z + (most + 2) * row;
    b.roots = b.other + (most + 2) * row;
    b.strip = (char *)(b.roots + 2 * (most + 2));
    return b;
}

/* A transposition of `rows` rows of elements of `bytes`. */
static void oxi_fft_cross(int bytes, int64_t rows, int64_t columns, const void *from, int64_t from_step,
                          void *to, int64_t to_step) {
    oxi_cpu_kernels()->transpose[oxi_width_index(bytes)](rows, columns, (const char *)from, from_step,
                                                         (char *)to, to_step);
}

/* `count` lines of n numbers (of 2 n parts, where they are complex) to z[n][per], per numbers apart. Without
 * lines z is zeros. */
static void oxi_fft_fetch(oxi_fft_place from, int64_t count, int64_t n, int64_t per, char *strip, double *z) {
    if (from.part == (int)sizeof(double)) {
        oxi_fft_cross(from.part, count, n, from.at, from.step, z, per * (int64_t)sizeof(double));
        return;
    }
    oxi_fft_cross(from.part, count, n, from.at, from.step, strip, per * (int64_t)sizeof(float));
    oxi_cpu_kernels()->load[OX_F32][OXI_LANE_F64](n * per, strip, 1, z);
}
/* The way back. z of f32 parts is used up. */
static void oxi_fft_give(const double *z, int64_t count, int64_t n, int64_t per, char *strip,
                         oxi_fft_place to) {
    if (to.part == (int)sizeof(double)) {
        oxi_fft_cross(to.part, n, count, z, per * (int64_t)sizeof(double), to.at, to.step);
        return;
    }
    oxi_cpu_kernels()->store[OX_F32][OXI_LANE_F64](n * per, z, strip, 1);
    oxi_fft_cross(to.part, n, count, strip, per * (int64_t)sizeof(float), to.at, to.step);
}

/* Up to as many complex lines as lie side by side. */
static void oxi_fft_side(const oxi_fft_plan *p, bool back, double scale, oxi_fft_place from, oxi_fft_place to,
                         int64_t count, double *work) {
    const oxi_kernels *k = oxi_cpu_kernels();
    oxi_fft_bench b = oxi_fft_bench_at(work, p->n);
    oxi_fft_fetch(from, count, 2 * p->n, k->fft_lines, b.strip, b.z);
    oxi_fft_give(k->fft(&p->passes, back, scale, b.z, b.other), count, 2 * p->n, k->fft_lines, b.strip, to);
}

/* ---- a line as a matrix -------------------------------------------------------------------------------- */

typedef struct oxi_fft_steps {
    const oxi_fft_plan *plan;
    oxi_fft_place from, to;
    bool back;
    double scale, *between, *work; /* [n1][2][n2], and the threads' benches */
    int64_t most, room;
} oxi_fft_steps;

/* Columns t2, t2 + 1, ... of the line, transformed and turned. */
static void oxi_fft_columns(void *arg, int64_t index, int lane) {
    const oxi_fft_steps *s = (const oxi_fft_steps *)arg;
    const oxi_kernels *k = oxi_cpu_kernels();
    oxi_fft_bench b = oxi_fft_bench_at(s->work + lane * s->room, s->most);
    int64_t n1 = s->plan->first->n, n2 = s->plan->other->n, t2 = index * k->fft_lines;
    int64_t count = oxi_fft_least(n2 - t2), number = 2 * s->from.part;
    oxi_fft_place lines;
    lines.at = (char *)b.other;
    lines.step = n1 * number;
    lines.part = s->from.part;
    oxi_fft_cross((int)number, n1, count, s->from.at + t2 * number, n2 * number, lines.at, lines.step);
    oxi_fft_fetch(lines, count, 2 * n1, k->fft_lines, b.strip, b.z);
    for (int64_t k1 = 0; k1 < n1; k1++) oxi_fft_root_of(s->plan, k1 * t2, b.roots + 2 * k1);
    const double *z = k->fft(&s->plan->first->passes, s->back, 1, b.z, b.other);
    k->fft_turn(n1, s->back, z, b.roots, s->plan->turns, s->between + t2, n2, count);
}

/* Rows k1, k1 + 1, ... of what they gave: numbers k1 + n1 k2 of the result. */
static void oxi_fft_rows(void *arg, int64_t index, int lane) {
    const oxi_fft_steps *s = (const oxi_fft_steps *)arg;
    const oxi_kernels *k = oxi_cpu_kernels();
    oxi_fft_bench b = oxi_fft_bench_at(s->work + lane * s->room, s->most);
    int64_t n1 = s->plan->first->n, n2 = s->plan->other->n, k1 = index * k->fft_lines;
    int64_t count = oxi_fft_least(n1 - k1), number = 2 * s->to.part;
    int64_t lanes = k->fft_lines, eight = (int64_t)sizeof(double);
    const double *from = s->between + 2 * k1 * n2;
    for (int part = 0; part < 2; part++)
        oxi_fft_cross((int)eight, count, n2, from + part * n2, 2 * n2 * eight, b.z + part * lanes,
                      2 * lanes * eight);
    double *z = k->fft(&s->plan->other->passes, s->back, s->scale, b.z, b.other);
    oxi_fft_place lines;
    lines.at = (char *)(z == b.z ? b.other : b.z);
    lines.step = n2 * number;
    lines.part = s->to.part;
    oxi_fft_give(z, count, 2 * n2, lanes, b.strip, lines);
    oxi_fft_cross((int)number, count, n2, lines.at, lines.step, s->to.at + k1 * number, n1 * number);
}

/* ---- any line ------------------------------------------------------------------------------------------ */

/* Lines from this length on are computed by all threads, if they are not busy with other lines. */
enum { OXI_FFT_LONG = 1 << 14 };

static int64_t oxi_fft_groups(int64_t n) {
    int64_t lines = oxi_cpu_kernels()->fft_lines;
    return (n + lines - 1) / lines;
}

/* Doubles that a line of the plan works with besides itself. */
static int64_t oxi_fft_room(const oxi_fft_plan *p) {
    switch (p->way) {
    case OXI_FFT_LINES: return oxi_fft_bench_room(p->n);
    case OXI_FFT_STEPS: {
        int lanes = p->n < OXI_FFT_LONG ? 1 : oxi_lanes(oxi_fft_groups(p->other->n));
        return 2 * p->n + lanes * oxi_fft_bench_room(p->other->n);
    }
    case OXI_FFT_CHIRP: return 2 * p->first->n + oxi_fft_room(p->first);
    default: return 2 * (p->n + 2) + oxi_fft_room(p->first);
    }
}

static void oxi_fft_line(const oxi_fft_plan *p, bool back, double scale, oxi_fft_place from, oxi_fft_place to,
                         double *work);
/* z [n] of f64 parts, in place. */
static void oxi_fft_numbers(const oxi_fft_plan *p, double *z, bool back, double scale, double *work) {
    oxi_fft_place place;
    place.at = (char *)z;
    place.step = 0;
    place.part = (int)sizeof(double);
    oxi_fft_line(p, back, scale, place, place, work);
}

static void oxi_fft_by_steps(const oxi_fft_plan *p, bool back, double scale, oxi_fft_place from,
                             oxi_fft_place to, double *work) {
    const oxi_lane_task task[2] = {oxi_fft_columns, oxi_fft_rows};
    const int64_t groups[2] = {oxi_fft_groups(p->other->n), oxi_fft_groups(p->first->n)};
    oxi_fft_steps s;
    s.plan = p;
    s.from = from;
    s.to = to;
    s.back = back;
    s.scale = scale;
    s.between = work;
    s.work = work + 2 * p->n;
    s.most = p->other->n;
    s.room = oxi_fft_bench_room(s.most);
    for (int i = 0; i < 2; i++)
        if (p->n < OXI_FFT_LONG)
            for (int64_t g = 0; g < groups[i]; g++) task[i](&s, g, 0);
        else
            oxi_parallel_for(groups[i], task[i], &s);
}

/* A part of a line's number. */
static double oxi_fft_get(oxi_fft_place place, int64_t i) {
    if (place.part == (int)sizeof(double)) return ((const double *)(const void *)place.at)[i];
    return (double)((const float *)(const void *)place.at)[i];
}
static void oxi_fft_set(oxi_fft_place place, int64_t i, double x) {
    if (place.part == (int)sizeof(double))
        ((double *)(void *)place.at)[i] = x;
    else
        ((float *)(void *)place.at)[i] = (float)x;
}

/* x_t chirp_t convolved with its conjugate. Back: by conjugates. */
static void oxi_fft_by_chirp(const oxi_fft_plan *p, bool back, double scale, oxi_fft_place from,
                             oxi_fft_place to, double *work) {
    int64_t m = p->first->n;
    double *z = work, sign = back ? -1 : 1;
    work += 2 * m;
    for (int64_t t = 0; t < p->n; t++) {
        z[2 * t] = oxi_fft_get(from, 2 * t);
        z[2 * t + 1] = sign * oxi_fft_get(from, 2 * t + 1);
        oxi_fft_times(z + 2 * t, p->chirp + 2 * t, z + 2 * t);
    }
    memset(z + 2 * p->n, 0, (size_t)(m - p->n) * 2 * sizeof(double));
    oxi_fft_numbers(p->first, z, false, 1, work);
    for (int64_t t = 0; t < m; t++) oxi_fft_times(z + 2 * t, p->kernel + 2 * t, z + 2 * t);
    oxi_fft_numbers(p->first, z, true, scale, work);
    for (int64_t t = 0; t < p->n; t++) {
        oxi_fft_times(z + 2 * t, p->chirp + 2 * t, z + 2 * t);
        oxi_fft_set(to, 2 * t, z[2 * t]);
        oxi_fft_set(to, 2 * t + 1, sign * z[2 * t + 1]);
    }
}

static void oxi_fft_line(const oxi_fft_plan *p, bool back, double scale, oxi_fft_place from, oxi_fft_place to,
                         double *work) {
    if (p->way == OXI_FFT_LINES)
        oxi_fft_side(p, back, scale, from, to, 1, work);
    else if (p->way == OXI_FFT_STEPS)
        oxi_fft_by_steps(p, back, scale, from, to, work);
    else
        oxi_fft_by_chirp(p, back, scale, from, to, work);
}

/* ---- real lines ---------------------------------------------------------------------------------------- */

/* x [n], n even, as n / 2 complex numbers, whose transform is that of its even and its odd numbers. */
static void oxi_fft_real(const oxi_fft_plan *p, bool back, double scale, oxi_fft_place from, oxi_fft_place to,
                         double *work) {
    int64_t half = p->n / 2;
    double *z = work, sign = back ? -1 : 1;
    oxi_fft_place inner = to;
    inner.at = (char *)z;
    inner.part = (int)sizeof(double);
    oxi_fft_line(p->first, false, 0.5 * scale, from, inner, work + 2 * (p->n + 2));
    for (int64_t k = 0; k <= half; k++) {
        const double *a = z + 2 * (k % half), *b = z + 2 * ((half - k) % half);
        double odd[2], root[2];
        odd[0] = a[1] + b[1]; /* (a - conj b) / i */
        odd[1] = b[0] - a[0];
        oxi_fft_root_of(p, k, root);
        oxi_fft_times(odd, root, odd);
        oxi_fft_set(to, 2 * k, a[0] + b[0] + odd[0]);
        oxi_fft_set(to, 2 * k + 1, sign * (a[1] - b[1] + odd[1]));
    }
}

/* The same backward, from n / 2 + 1 complex numbers. The imaginary parts of the ends do not count. */
static void oxi_fft_half(const oxi_fft_plan *p, bool back, double scale, oxi_fft_place from, oxi_fft_place to,
                         double *work) {
    int64_t half = p->n / 2;
    double *z = work, sign = back ? -1 : 1;
    for (int64_t k = 0; k < half; k++) {
        double ar = oxi_fft_get(from, 2 * k), ai = k ? sign * oxi_fft_get(from, 2 * k + 1) : 0;
        double br = oxi_fft_get(from, 2 * (half - k)),
               bi = k ? -sign * oxi_fft_get(from, 2 * (half - k) + 1) : 0, odd[2], root[2];
        odd[0] = ar - br;
        odd[1] = ai - bi;
        oxi_fft_root_of(p, k, root);
        oxi_fft_times(odd, root, odd);
        z[2 * k] = ar + br - odd[1];
        z[2 * k + 1] = ai + bi + odd[0];
    }
    oxi_fft_place inner = to;
    inner.at = (char *)z;
    inner.part = (int)sizeof(double);
    oxi_fft_line(p->first, false, scale, inner, to, work + 2 * (p->n + 2));
}

/* ---- calls --------------------------------------------------------------------------------------------- */

typedef struct oxi_fft_job {
    const oxi_fft_plan *plan;
    oxi_fft_place x, out;           /* lines one behind the other */
    int64_t lines, n, from, to;     /* numbers of a line: of the transform, of x and of out */
    double *work;                   /* for each lane */
    int64_t room;
    double scale;
    bool inverse, real, half; /* real to complex, complex to real */
} oxi_fft_job;

static oxi_fft_place oxi_fft_line_at(oxi_fft_place place, int64_t index) {
    place.at += index * place.step;
    return place;
}
static double *oxi_fft_work_of(const oxi_fft_job *j, int lane) { return j->work + lane * j->room; }

/* Lines side by side: complex ones; real ones in pairs; halves of real ones in pairs. */
static void oxi_fft_task_side(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    int64_t lines = oxi_cpu_kernels()->fft_lines, first = index * lines;
    oxi_fft_side(j->plan, j->inverse, j->scale, oxi_fft_line_at(j->x, first), oxi_fft_line_at(j->out, first),
                 oxi_fft_least(j->lines - first), oxi_fft_work_of(j, lane));
}

static void oxi_fft_task_pairs(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    const oxi_kernels *k = oxi_cpu_kernels();
    oxi_fft_bench b = oxi_fft_bench_at(oxi_fft_work_of(j, lane), j->n);
    int64_t lines = k->fft_lines, row = 2 * lines, first = 2 * index * lines;
    int64_t count[2] = {oxi_fft_least(j->lines - first), oxi_fft_least(j->lines - first - lines)};
    double *pair = b.z;
    if (count[1] < lines) memset(j->x.part == 8 ? (char *)b.z : b.strip, 0, (size_t)(j->n * row * j->x.part));
    for (int i = 0; i < 2 && count[i] > 0; i++) {
        oxi_fft_place x = oxi_fft_line_at(j->x, first + i * lines);
        char *to = (j->x.part == 8 ? (char *)b.z : b.strip) + i * lines * j->x.part;
        oxi_fft_cross(x.part, count[i], j->n, x.at, x.step, to, row * x.part);
    }
    if (j->x.part != 8) k->load[OX_F32][OXI_LANE_F64](j->n * row, b.strip, 1, b.z);
    const double *z = k->fft(&j->plan->passes, false, j->scale, b.z, b.other);
    pair = z == b.z ? b.other : b.z;
    k->fft_split(j->n, j->inverse ? -1 : 1, z, pair, pair + j->to * row);
    for (int i = 0; i < 2 && count[i] > 0; i++)
        oxi_fft_give(pair + i * j->to * row, count[i], 2 * j->to, lines, b.strip,
                     oxi_fft_line_at(j->out, first + i * lines));
}

static void oxi_fft_task_halves(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    const oxi_kernels *k = oxi_cpu_kernels();
    oxi_fft_bench b = oxi_fft_bench_at(oxi_fft_work_of(j, lane), j->n);
    int64_t lines = k->fft_lines, row = 2 * lines, first = 2 * index * lines;
    int64_t count[2] = {oxi_fft_least(j->lines - first), oxi_fft_least(j->lines - first - lines)};
    for (int i = 0; i < 2; i++) {
        double *to = b.other + i * j->from * row;
        if (count[i] < lines) memset(j->x.part == 8 ? (char *)to : b.strip, 0, (size_t)(j->from * row * 4));
        if (count[i] > 0)
            oxi_fft_fetch(oxi_fft_line_at(j->x, first + i * lines), count[i], 2 * j->from, lines, b.strip, to);
        else
            memset(to, 0, (size_t)(j->from * row) * sizeof(double));
    }
    k->fft_join(j->n, j->inverse ? -1 : 1, b.other, b.other + j->from * row, b.z);
    const double *z = k->fft(&j->plan->passes, false, j->scale, b.z, b.other);
    k->store[OX_F32][OXI_LANE_F64](j->n * row, z, b.strip, 1);
    for (int i = 0; i < 2 && count[i] > 0; i++) {
        oxi_fft_place to = oxi_fft_line_at(j->out, first + i * lines);
        oxi_fft_cross(to.part, j->n, count[i], b.strip + i * lines * to.part, row * to.part, to.at, to.step);
    }
}

/* One line: complex, real of an even length, half of such a one. */
static void oxi_fft_task_line(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    oxi_fft_place from = oxi_fft_line_at(j->x, index), to = oxi_fft_line_at(j->out, index);
    double *work = oxi_fft_work_of(j, lane);
    if (j->plan->way != OXI_FFT_HALVES)
        oxi_fft_line(j->plan, j->inverse, j->scale, from, to, work);
    else if (j->real)
        oxi_fft_real(j->plan, j->inverse, j->scale, from, to, work);
    else
        oxi_fft_half(j->plan, j->inverse, j->scale, from, to, work);
}

/* One line of real numbers of an odd length, or half of it: by way of complex ones. */
static void oxi_fft_task_odd(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    oxi_fft_place from = oxi_fft_line_at(j->x, index), to = oxi_fft_line_at(j->out, index);
    double *z = oxi_fft_work_of(j, lane), sign = j->inverse ? -1 : 1;
    for (int64_t t = 0; t < j->from; t++) {
        z[2 * t] = oxi_fft_get(from, j->half ? 2 * t : t);
        z[2 * t + 1] = j->half && t ? sign * oxi_fft_get(from, 2 * t + 1) : 0;
        if (!j->half || t == 0) continue;
        z[2 * (j->n - t)] = z[2 * t];
        z[2 * (j->n - t) + 1] = -z[2 * t + 1];
    }
    oxi_fft_numbers(j->plan, z, false, j->scale, z + 2 * j->n);
    for (int64_t k = 0; k < j->to; k++) {
        oxi_fft_set(to, j->half ? k : 2 * k, z[2 * k]);
        if (!j->half) oxi_fft_set(to, 2 * k + 1, sign * z[2 * k + 1]);
    }
}

static ox_status oxi_fft_run(oxi_fft_job *j) {
    int64_t lines = oxi_cpu_kernels()->fft_lines;
    bool pairs = j->real || j->half;
    bool several = j->lines >= (pairs ? lines : lines / 2);
    oxi_fft_way way = oxi_fft_way_of(j->n, several);
    bool side = way == OXI_FFT_LINES && (several || !pairs), odd = pairs && !side && j->n % 2 != 0;
    size_t bytes = 0;
    oxi_fft_plan *plan = oxi_fft_plan_take(j->n, pairs && !side && !odd ? OXI_FFT_HALVES : way);
    if (!plan) return ox_error() ? ox_error() : OX_ERR_NOMEM;
    int64_t each = side ? pairs ? 2 * lines : lines : 1, tasks = (j->lines + each - 1) / each;
    j->plan = plan;
    j->room = (side ? oxi_fft_bench_room(j->n) : oxi_fft_room(plan)) + (odd ? 2 * j->n : 0);
    bool fits = oxi_mul_size((size_t)j->room, (size_t)oxi_lanes(tasks) * sizeof(double), &bytes);
    j->work = fits ? (double *)oxi_alloc(bytes) : NULL;
    if (j->work) memset(j->work, 0, bytes); /* lanes without a line compute too */
    if (j->work)
        oxi_parallel_for(tasks, odd     ? oxi_fft_task_odd
                                : !side ? oxi_fft_task_line
                                : j->real  ? oxi_fft_task_pairs
                                : j->half  ? oxi_fft_task_halves
                                        : oxi_fft_task_side, j);
    ox_status status = j->work ? OX_OK : OX_ERR_NOMEM;
    if (j->work) oxi_free(j->work, bytes);
    oxi_fft_plan_give(plan);
    return status;
}

static oxi_fft_place oxi_fft_place_of(const ox_tensor *t, int64_t numbers) {
    oxi_fft_place place;
    place.at = (char *)oxi_ptr(t);
    place.part = t->dtype == OX_F64 ? (int)sizeof(double) : (int)sizeof(float);
    place.step = numbers * place.part * (t->dtype == OX_C64 ? 2 : 1);
    return place;
}

static ox_status oxi_cpu_fft(const oxi_call *call) {
    const oxi_attr_fourier *told = &call->attr.fourier;
    oxi_fft_job j;
    ox_tensor *out = call->out[0], *in = call->in[0], *x, *made = out;
    if (ox_numel(out) == 0) return OX_OK;
    memset(&j, 0, sizeof j);
    j.from = in->shape[told->dim];
    j.to = out->shape[told->dim];
    j.real = call->op == OXI_OP_fft_r2c;
    j.half = call->op == OXI_OP_fft_c2r;
    j.n = j.half ? j.to : j.from;
    j.lines = ox_numel(out) / j.to;
    j.scale = told->scale;
    j.inverse = told->inverse;
    ox_scope scope = ox_scope_begin();
    bool as_it_is = in->dtype == OX_C64 || in->dtype == OX_F32;
    x = ox_contiguous(ox_movedim(as_it_is ? in : ox_cast(in, OX_F64), told->dim, -1));
    if (x && (told->dim != out->ndim - 1 || !ox_is_contiguous(out))) {
        ox_shape shape = ox_shape_of(x);
        shape.dim[x->ndim - 1] = j.to;
        made = oxi_tensor_new(ox_cpu(), out->dtype, x->ndim, shape.dim);
    }
    ox_status status = x && made ? OX_OK : ox_error() ? ox_error() : OX_ERR_NOMEM;
    if (status == OX_OK) {
        j.x = oxi_fft_place_of(x, j.from);
        j.out = oxi_fft_place_of(made, j.to);
        status = oxi_fft_run(&j);
    }
    if (status == OX_OK && made != out) status = oxi_copy_quiet(out, ox_movedim(made, -1, told->dim));
    ox_scope_end(&scope);
    return status;
}
#endif
