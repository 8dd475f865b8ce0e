/* Fourier transforms of lines of any length, in f64. Lengths whose prime factors are small go by factors
 * (Stockham's order, which needs no reversal), others by a convolution of a power of two (Bluestein). Real
 * lines go two at a time, as the parts of one complex line. Sources: Van Loan 1992, "Computational Frameworks
 * for the Fast Fourier Transform"; Bluestein 1970. */

#ifdef OX_NO_FFT
static ox_status oxi_cpu_fft(const oxi_call *call) {
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s: left out by OX_NO_FFT", oxi_op_row_of(call->op)->name);
}
#else
enum { OXI_FFT_FACTORS = 64, OXI_FFT_PRIME = 61 }; /* the largest factor that is not worth a convolution */

typedef struct oxi_fft_plan {
    int64_t n;
    int count, factor[OXI_FFT_FACTORS];
    double *twiddle; /* exp(-2 pi i t / n) */
    /* of Bluestein's: padded length, exp(-pi i t^2 / n), and its transform of that length */
    struct oxi_fft_plan *inner;
    double *chirp, *kernel;
    size_t bytes, inner_bytes;
} oxi_fft_plan;

/* exp(-2 pi i t / n), from the nearest eighth of the circle, so that both parts are exact to the last bit. */
static void oxi_fft_root(int64_t t, int64_t n, double *out) {
    int64_t eighth = (8 * t + n / 2) / n; /* t / n of a circle in eighths, rounded */
    double rest = (double)(8 * t - eighth * n) / (double)n * (OXI_PI_F64 / 4), c = cos(rest), s = sin(rest);
    static const double r = 0.70710678118654752440;
    static const signed char turn[8][2] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                           {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
    int k = (int)(eighth & 7);
    double a = turn[k][0] * (k % 2 ? r : 1), b = turn[k][1] * (k % 2 ? r : 1);
    out[0] = a * c - b * s;
    out[1] = -(b * c + a * s);
}

/* Fours first, then the other primes; the largest that is left of n. */
static int64_t oxi_fft_factors(oxi_fft_plan *p, int64_t n) {
    p->count = 0;
    while (n % 4 == 0) {
        p->factor[p->count++] = 4;
        n /= 4;
    }
    for (int f = 2; f <= OXI_FFT_PRIME; f++)
        while (n % f == 0) {
            p->factor[p->count++] = f;
            n /= f;
        }
    return n;
}

/* a (x) of a complex number by another one. */
static void oxi_fft_times(const double *a, const double *b, double *out) {
    double re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
    out[0] = re;
    out[1] = im;
}

/* A pass of radix 2 and 4: y[q + s (r p + k)] = w^(p k) sum_i x[q + s (p + i m)] e^(-2 pi i i k / r). */
static void oxi_fft_pass_2(const oxi_fft_plan *p, int64_t m, int64_t s, const double *x, double *y) {
    for (int64_t j = 0; j < m; j++) {
        const double *w = p->twiddle + 2 * j * s, *a = x + 2 * s * j, *b = a + 2 * s * m;
        double *to = y + 4 * s * j, *more = to + 2 * s, wr = w[0], wi = w[1];
        for (int64_t q = 0; q < s; q++) {
            double re = a[2 * q] - b[2 * q], im = a[2 * q + 1] - b[2 * q + 1];
            to[2 * q] = a[2 * q] + b[2 * q];
            to[2 * q + 1] = a[2 * q + 1] + b[2 * q + 1];
            more[2 * q] = re * wr - im * wi;
            more[2 * q + 1] = re * wi + im * wr;
        }
    }
}

static void oxi_fft_pass_4(const oxi_fft_plan *p, int64_t m, int64_t s, const double *x, double *y) {
    for (int64_t j = 0; j < m; j++) {
        const double *w1 = p->twiddle + 2 * j * s, *w2 = p->twiddle + 4 * j * s, *w3 = p->twiddle + 6 * j * s;
        const double *a = x + 2 * s * j, *b = a + 2 * s * m, *c = b + 2 * s * m, *d = c + 2 * s * m;
        double *to = y + 8 * s * j;
        for (int64_t q = 0; q < 2 * s; q += 2) {
            double er = a[q] + c[q], ei = a[q + 1] + c[q + 1], fr = a[q] - c[q], fi = a[q + 1] - c[q + 1];
            double gr = b[q] + d[q], gi = b[q + 1] + d[q + 1], hr = b[q + 1] - d[q + 1], hi = d[q] - b[q];
            double r1 = fr + hr, i1 = fi + hi, r2 = er - gr, i2 = ei - gi, r3 = fr - hr, i3 = fi - hi;
            to[q] = er + gr;
            to[q + 1] = ei + gi;
            to[q + 2 * s] = r1 * w1[0] - i1 * w1[1];
            to[q + 2 * s + 1] = r1 * w1[1] + i1 * w1[0];
            to[q + 4 * s] = r2 * w2[0] - i2 * w2[1];
            to[q + 4 * s + 1] = r2 * w2[1] + i2 * w2[0];
            to[q + 6 * s] = r3 * w3[0] - i3 * w3[1];
            to[q + 6 * s + 1] = r3 * w3[1] + i3 * w3[0];
        }
    }
}

/* Any odd radix r: pairs of terms i and r - i have the same cosines, and sines of other signs. */
static void oxi_fft_pass(const oxi_fft_plan *p, int r, int64_t m, int64_t s, const double *x, double *y) {
    int64_t apart = p->n / r; /* of the r-th roots in the table */
    for (int64_t j = 0; j < m; j++)
        for (int64_t q = 0; q < s; q++) {
            const double *a = x + 2 * (q + s * j);
            double sum[OXI_FFT_PRIME + 1], less[OXI_FFT_PRIME + 1], re = a[0], im = a[1];
            for (int i = 1; 2 * i < r; i++) {
                const double *b = a + 2 * s * m * i, *c = a + 2 * s * m * (r - i);
                sum[2 * i - 2] = b[0] + c[0];
                sum[2 * i - 1] = b[1] + c[1];
                less[2 * i - 2] = b[0] - c[0];
                less[2 * i - 1] = b[1] - c[1];
                re += sum[2 * i - 2];
                im += sum[2 * i - 1];
            }
            double *to = y + 2 * (q + s * r * j);
            to[0] = re;
            to[1] = im;
            for (int k = 1; 2 * k < r; k++) {
                double cr = a[0], ci = a[1], sr = 0, si = 0;
                for (int i = 1, at = k; 2 * i < r; i++, at = (at + k) % r) {
                    const double *w = p->twiddle + 2 * apart * at;
                    cr += sum[2 * i - 2] * w[0];
                    ci += sum[2 * i - 1] * w[0];
                    sr -= less[2 * i - 1] * w[1];
                    si += less[2 * i - 2] * w[1];
                }
                double up[2], down[2];
                up[0] = cr + sr;
                up[1] = ci + si;
                down[0] = cr - sr;
                down[1] = ci - si;
                oxi_fft_times(up, p->twiddle + 2 * j * k * s, to + 2 * s * k);
                oxi_fft_times(down, p->twiddle + 2 * j * (r - k) * s, to + 2 * s * (r - k));
            }
        }
}

/* x [n] forward; work has room for as much. The result's place is returned: x or work. */
static double *oxi_fft_by_factors(const oxi_fft_plan *p, double *x, double *work) {
    int64_t s = 1, n = p->n;
    for (int i = 0; i < p->count; i++) {
        int r = p->factor[i];
        int64_t m = n / r;
        if (r == 4)
            oxi_fft_pass_4(p, m, s, x, work);
        else if (r == 2)
            oxi_fft_pass_2(p, m, s, x, work);
        else
            oxi_fft_pass(p, r, m, s, x, work);
        double *swap = x;
        x = work;
        work = swap;
        n = m;
        s *= r;
    }
    return x;
}

/* x_t chirp_t convolved with its conjugate; work has room for 3 inner lengths. */
static double *oxi_fft_by_chirp(const oxi_fft_plan *p, double *x, double *work) {
    const oxi_fft_plan *inner = p->inner;
    int64_t m = inner->n;
    double *z = work, *scratch = work + 2 * m;
    for (int64_t t = 0; t < p->n; t++) oxi_fft_times(x + 2 * t, p->chirp + 2 * t, z + 2 * t);
    memset(z + 2 * p->n, 0, (size_t)(m - p->n) * 2 * sizeof(double));
    double *f = oxi_fft_by_factors(inner, z, scratch), *other = f == z ? scratch : z;
    for (int64_t t = 0; t < m; t++) {
        oxi_fft_times(f + 2 * t, p->kernel + 2 * t, f + 2 * t);
        f[2 * t + 1] = -f[2 * t + 1]; /* back: by conjugates */
    }
    f = oxi_fft_by_factors(inner, f, other);
    for (int64_t t = 0; t < p->n; t++) {
        f[2 * t] /= (double)m;
        f[2 * t + 1] /= -(double)m;
        oxi_fft_times(f + 2 * t, p->chirp + 2 * t, x + 2 * t);
    }
    return x;
}
static double *oxi_fft_line(const oxi_fft_plan *p, double *x, double *work) {
    return p->inner ? oxi_fft_by_chirp(p, x, work) : oxi_fft_by_factors(p, x, work);
}
/* Doubles that a line of the plan works with besides itself. */
static int64_t oxi_fft_room(const oxi_fft_plan *p) {
    return p->inner ? 4 * p->inner->n : 2 * p->n;
}

/* ---- plans --------------------------------------------------------------------------------------------- */

static void oxi_fft_plan_close(oxi_fft_plan *p) {
    if (!p) return;
    oxi_fft_plan_close(p->inner);
    if (p->twiddle) oxi_free(p->twiddle, p->bytes);
    if (p->chirp) oxi_free(p->chirp, p->inner_bytes);
    oxi_free(p, sizeof *p);
}

static bool oxi_fft_plan_chirp(oxi_fft_plan *p);
static oxi_fft_plan *oxi_fft_plan_open(int64_t n) {
    oxi_fft_plan *p = (oxi_fft_plan *)oxi_alloc(sizeof *p);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    p->n = n;
    if (oxi_fft_factors(p, n) == 1) {
        p->bytes = (size_t)n * 2 * sizeof(double);
        p->twiddle = (double *)oxi_alloc(p->bytes);
        for (int64_t t = 0; p->twiddle && t < n; t++) oxi_fft_root(t, n, p->twiddle + 2 * t);
        if (p->twiddle) return p;
    } else if (oxi_fft_plan_chirp(p))
        return p;
    oxi_fft_plan_close(p);
    return NULL;
}

static bool oxi_fft_plan_chirp(oxi_fft_plan *p) {
    int64_t m = 1, n = p->n;
    while (m < 2 * n - 1) m *= 2;
    p->inner = oxi_fft_plan_open(m);
    p->inner_bytes = (size_t)(n + 2 * m) * 2 * sizeof(double);
    p->chirp = p->inner ? (double *)oxi_alloc(p->inner_bytes) : NULL;
    if (!p->chirp) return false;
    double *kernel = p->chirp + 2 * n, *work = kernel + 2 * m;
    memset(kernel, 0, (size_t)m * 2 * sizeof(double));
    for (int64_t t = 0, square = 0; t < n; t++) { /* square: t^2 mod 2 n */
        oxi_fft_root(square, 2 * n, p->chirp + 2 * t);
        square = (square + 2 * t + 1) % (2 * n);
        int64_t back = t ? m - t : 0;
        kernel[2 * t] = kernel[2 * back] = p->chirp[2 * t];
        kernel[2 * t + 1] = kernel[2 * back + 1] = -p->chirp[2 * t + 1];
    }
    double *f = oxi_fft_by_factors(p->inner, kernel, work);
    p->kernel = kernel;
    if (f != kernel) memcpy(kernel, f, (size_t)m * 2 * sizeof(double));
    return true;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

typedef struct oxi_fft_job {
    const oxi_fft_plan *plan;
    const ox_tensor *x, *out; /* along the last dim; x contiguous, of c64 or f64 */
    int64_t lines, from, to;  /* elements of a line of x and out */
    double *work;             /* for each lane */
    int64_t room;
    double scale;
    bool inverse;
} oxi_fft_job;

/* c64 to c64. Inverse: parts exchanged before and after. */
static void oxi_fft_task_complex(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    const float *x = (const float *)(const void *)oxi_ptr(j->x) + 2 * index * j->from;
    float *to = (float *)(void *)oxi_ptr(j->out) + 2 * index * j->to;
    double *z = j->work + lane * j->room;
    int swap = j->inverse;
    for (int64_t i = 0; i < j->from; i++) {
        z[2 * i + swap] = (double)x[2 * i];
        z[2 * i + 1 - swap] = (double)x[2 * i + 1];
    }
    const double *f = oxi_fft_line(j->plan, z, z + 2 * j->from);
    for (int64_t i = 0; i < j->to; i++) {
        to[2 * i] = (float)(f[2 * i + swap] * j->scale);
        to[2 * i + 1] = (float)(f[2 * i + 1 - swap] * j->scale);
    }
}

/* Two real lines of f64 as one complex line: their transforms are its even and odd parts. */
static void oxi_fft_task_real(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    bool both = 2 * index + 1 < j->lines;
    const double *x = (const double *)(const void *)oxi_ptr(j->x) + 2 * index * j->from,
                 *y = x + (both ? j->from : 0);
    float *to = (float *)(void *)oxi_ptr(j->out) + 4 * index * j->to, *more = to + 2 * j->to;
    double *z = j->work + lane * j->room, sign = j->inverse ? -1 : 1;
    for (int64_t i = 0; i < j->from; i++) {
        z[2 * i] = x[i];
        z[2 * i + 1] = y[i];
    }
    const double *f = oxi_fft_line(j->plan, z, z + 2 * j->from);
    for (int64_t i = 0; i < j->to; i++) {
        const double *a = f + 2 * i, *b = f + 2 * (i ? j->from - i : 0);
        to[2 * i] = (float)(0.5 * (a[0] + b[0]) * j->scale);
        to[2 * i + 1] = (float)(sign * 0.5 * (a[1] - b[1]) * j->scale);
        if (!both) continue;
        more[2 * i] = (float)(0.5 * (a[1] + b[1]) * j->scale);
        more[2 * i + 1] = (float)(sign * 0.5 * (b[0] - a[0]) * j->scale);
    }
}

/* The same backward: halves of two lines, of which the imaginary parts of the ends do not count. */
static void oxi_fft_task_half(void *arg, int64_t index, int lane) {
    const oxi_fft_job *j = (const oxi_fft_job *)arg;
    bool both = 2 * index + 1 < j->lines;
    const float *x = (const float *)(const void *)oxi_ptr(j->x) + 4 * index * j->from,
                *y = x + (both ? 2 * j->from : 0);
    float *to = (float *)(void *)oxi_ptr(j->out) + 2 * index * j->to;
    int64_t n = j->to;
    double *z = j->work + lane * j->room, sign = j->inverse ? -1 : 1; /* inverse: of conjugates */
    for (int64_t i = 0; 2 * i <= n; i++) {
        bool end = i == 0 || 2 * i == n;
        double ar = (double)x[2 * i], ai = end ? 0 : sign * (double)x[2 * i + 1];
        double br = (double)y[2 * i], bi = end ? 0 : sign * (double)y[2 * i + 1];
        z[2 * i] = ar - bi;
        z[2 * i + 1] = ai + br;
        if (end) continue;
        z[2 * (n - i)] = ar + bi;
        z[2 * (n - i) + 1] = br - ai;
    }
    const double *f = oxi_fft_line(j->plan, z, z + 2 * n);
    for (int64_t i = 0; i < n; i++) {
        to[i] = (float)(f[2 * i] * j->scale);
        if (both) to[n + i] = (float)(f[2 * i + 1] * j->scale);
    }
}

static ox_status oxi_fft_run(oxi_fft_job *j, int64_t n, oxi_lane_task task, int64_t tasks) {
    size_t bytes = 0;
    oxi_fft_plan *plan = oxi_fft_plan_open(n);
    j->plan = plan;
    j->room = plan ? 2 * n + oxi_fft_room(plan) : 0;
    bool fits = plan && oxi_mul_size((size_t)j->room, (size_t)oxi_lanes(tasks) * sizeof(double), &bytes);
    j->work = fits ? (double *)oxi_alloc(bytes) : NULL;
    if (j->work) oxi_parallel_for(tasks, task, j);
    ox_status status = j->work ? OX_OK : OX_ERR_NOMEM;
    if (j->work) oxi_free(j->work, bytes);
    oxi_fft_plan_close(plan);
    return status;
}

static ox_status oxi_cpu_fft(const oxi_call *call) {
    const oxi_attr_fourier *told = &call->attr.fourier;
    oxi_fft_job j;
    ox_tensor *out = call->out[0];
    bool real = call->op == OXI_OP_fft_r2c, half = call->op == OXI_OP_fft_c2r;
    if (ox_numel(out) == 0) return OX_OK;
    memset(&j, 0, sizeof j);
    ox_scope scope = ox_scope_begin();
    ox_tensor *x =
                  ox_contiguous(ox_movedim(real ? ox_cast(call->in[0], OX_F64) : call->in[0], told->dim, -1)),
              *made = NULL;
    if (x) {
        ox_shape shape = ox_shape_of(x);
        j.from = shape.dim[x->ndim - 1];
        j.to = shape.dim[x->ndim - 1] = out->shape[told->dim];
        made = oxi_tensor_new(ox_cpu(), half ? OX_F32 : OX_C64, x->ndim, shape.dim);
    }
    j.x = x;
    j.out = made;
    j.scale = told->scale;
    j.inverse = told->inverse;
    ox_status status = made ? OX_OK : ox_error() ? ox_error() : OX_ERR_NOMEM;
    if (made) {
        j.lines = ox_numel(made) / j.to;
        bool pairs = real || half;
        status = oxi_fft_run(&j, half ? j.to : j.from,
                             real   ? oxi_fft_task_real
                             : half ? oxi_fft_task_half
                                    : oxi_fft_task_complex,
                             pairs ? (j.lines + 1) / 2 : j.lines);
    }
    if (status == OX_OK) status = oxi_copy_quiet(out, ox_movedim(made, -1, told->dim));
    ox_scope_end(&scope);
    return status;
}
#endif
