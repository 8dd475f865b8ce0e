/* Plans of Fourier transforms: which way a length goes, and the roots for it. Plans that were used last are
 * kept. Sources: Van Loan 1992, "Computational Frameworks for the Fast Fourier Transform"; Bluestein 1970. */

#ifndef OX_NO_FFT
typedef enum oxi_fft_way {
    OXI_FFT_LINES, /* small prime factors: pass by pass, lines side by side in the lanes of vectors */
    OXI_FFT_STEPS, /* as a matrix of n1 rows of n2: its columns, turned by roots of n, then its rows */
    OXI_FFT_CHIRP  /* any length, as a convolution of a power of two */
} oxi_fft_way;

typedef struct oxi_fft_plan {
    int64_t n;
    bool several; /* lines go side by side; else one by one, in steps where that is possible */
    oxi_fft_way way;
    oxi_fft_factors passes;             /* LINES */
    struct oxi_fft_plan *first, *other; /* STEPS: of n1 and n2; CHIRP: of the convolution's length */
    /* STEPS: exp(-2 pi i t / n) as coarse[t / grain] fine[t % grain]; turns [n1][2][lines], the roots of
     * k1 t */
    int64_t grain;
    double *coarse, *fine;
    float *turns;
    float *chirp, *kernel; /* CHIRP: exp(-pi i t^2 / n), and its transform of that length */
    double *memory;        /* all of these */
    size_t bytes;
    int64_t users, used; /* guarded by the lock: calls that work with it, and when the last one began */
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

/* a (x) of a complex number by another one. */
static void oxi_fft_times(const double *a, const double *b, double *out) {
    double re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
    out[0] = re;
    out[1] = im;
}
static void oxi_fft_root_f32(int64_t t, int64_t n, float *out) {
    double root[2];
    oxi_fft_root(t, n, root);
    out[0] = (float)root[0];
    out[1] = (float)root[1];
}
/* exp(-2 pi i t / n) from the plan's two tables. */
static void oxi_fft_root_of(const oxi_fft_plan *p, int64_t t, double *out) {
    oxi_fft_times(p->coarse + 2 * (t / p->grain), p->fine + 2 * (t % p->grain), out);
}

/* Fours first, then the other primes; the largest that is left of n. */
static int64_t oxi_fft_factorize(oxi_fft_factors *f, int64_t n) {
    f->n = n;
    f->count = 0;
    while (n % 4 == 0) {
        f->factor[f->count++] = 4;
        n /= 4;
    }
    for (int prime = 2; prime <= OXI_FFT_PRIME; prime++)
        while (n % prime == 0) {
            f->factor[f->count++] = prime;
            n /= prime;
        }
    return n;
}

/* The largest divisor of n that is not above its root, n having small factors only. */
static int64_t oxi_fft_divisor(int64_t n) {
    int64_t d = (int64_t)sqrt((double)n) + 1;
    while (d * d > n) d--;
    while (n % d != 0) d--;
    return d;
}

static oxi_fft_way oxi_fft_way_of(int64_t n, bool several) {
    enum { few = 64 };
    oxi_fft_factors f;
    if (oxi_fft_factorize(&f, n) != 1) return OXI_FFT_CHIRP;
    return several || n < few || oxi_fft_divisor(n) < 4 ? OXI_FFT_LINES : OXI_FFT_STEPS;
}

static void oxi_fft_plan_close(oxi_fft_plan *p) {
    if (!p) return;
    oxi_fft_plan_close(p->first);
    oxi_fft_plan_close(p->other);
    if (p->memory) oxi_free(p->memory, p->bytes);
    oxi_free(p, sizeof *p);
}

static bool oxi_fft_room_for(oxi_fft_plan *p, int64_t doubles) {
    p->bytes = (size_t)doubles * sizeof(double);
    p->memory = (double *)oxi_alloc(p->bytes);
    return p->memory != NULL;
}

/* The two tables of roots, at `at`, and how many doubles they are. */
static int64_t oxi_fft_grain(int64_t n) { return (int64_t)sqrt((double)n) + 1; }
static int64_t oxi_fft_table_size(int64_t n) { return 2 * (oxi_fft_grain(n) + n / oxi_fft_grain(n) + 1); }
static void oxi_fft_tables(oxi_fft_plan *p, double *at) {
    p->grain = oxi_fft_grain(p->n);
    p->fine = at;
    p->coarse = at + 2 * p->grain;
    for (int64_t t = 0; t < p->grain; t++) oxi_fft_root(t, p->n, p->fine + 2 * t);
    for (int64_t t = 0; t <= p->n / p->grain; t++) oxi_fft_root(t * p->grain % p->n, p->n, p->coarse + 2 * t);
}

static oxi_fft_plan *oxi_fft_plan_open(int64_t n, bool several);

static bool oxi_fft_plan_lines(oxi_fft_plan *p) {
    if (!oxi_fft_room_for(p, p->n)) return false;
    float *root = (float *)p->memory;
    for (int64_t t = 0; t < p->n; t++) oxi_fft_root_f32(t, p->n, root + 2 * t);
    (void)oxi_fft_factorize(&p->passes, p->n);
    p->passes.root = root;
    return true;
}

static bool oxi_fft_plan_steps(oxi_fft_plan *p) {
    int64_t n1 = oxi_fft_divisor(p->n), lines = oxi_cpu_kernels()->fft_lines;
    p->first = oxi_fft_plan_open(n1, true);
    p->other = p->first ? oxi_fft_plan_open(p->n / n1, true) : NULL;
    if (!p->other || !oxi_fft_room_for(p, oxi_fft_table_size(p->n) + n1 * lines)) return false;
    p->turns = (float *)(p->memory + oxi_fft_table_size(p->n));
    oxi_fft_tables(p, p->memory);
    for (int64_t k = 0; k < n1; k++)
        for (int64_t t = 0; t < lines; t++) {
            float root[2];
            oxi_fft_root_f32(k * t % p->n, p->n, root);
            p->turns[2 * k * lines + t] = root[0];
            p->turns[(2 * k + 1) * lines + t] = root[1];
        }
    return true;
}

static void oxi_fft_line(const oxi_fft_plan *p, bool back, float scale, const float *from, float *to,
                         float *work);
static int64_t oxi_fft_room(const oxi_fft_plan *p);

static bool oxi_fft_plan_chirp(oxi_fft_plan *p) {
    int64_t m = 1, n = p->n;
    while (m < 2 * n - 1) m *= 2;
    p->first = oxi_fft_plan_open(m, p->several);
    if (!p->first || !oxi_fft_room_for(p, n + m)) return false;
    size_t bytes = (size_t)oxi_fft_room(p->first) * sizeof(float);
    float *work = (float *)oxi_alloc(bytes);
    if (!work) return false;
    p->chirp = (float *)p->memory;
    p->kernel = p->chirp + 2 * n;
    memset(p->kernel, 0, (size_t)m * 2 * sizeof(float));
    for (int64_t t = 0, square = 0; t < n; t++) { /* square: t^2 mod 2 n */
        oxi_fft_root_f32(square, 2 * n, p->chirp + 2 * t);
        square = (square + 2 * t + 1) % (2 * n);
        int64_t back = t ? m - t : 0;
        p->kernel[2 * t] = p->kernel[2 * back] = p->chirp[2 * t];
        p->kernel[2 * t + 1] = p->kernel[2 * back + 1] = -p->chirp[2 * t + 1];
    }
    oxi_fft_line(p->first, false, (float)(1 / (double)m), p->kernel, p->kernel, work);
    oxi_free(work, bytes);
    return true;
}

static oxi_fft_plan *oxi_fft_plan_open(int64_t n, bool several) {
    static bool (*const make[])(oxi_fft_plan * p) = {oxi_fft_plan_lines, oxi_fft_plan_steps,
                                                     oxi_fft_plan_chirp};
    oxi_fft_plan *p = (oxi_fft_plan *)oxi_alloc(sizeof *p);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    p->n = n;
    p->several = several;
    p->way = oxi_fft_way_of(n, several);
    if (make[p->way](p)) return p;
    oxi_fft_plan_close(p);
    return NULL;
}

/* ---- plans that are kept ------------------------------------------------------------------------------- */

enum { OXI_FFT_KEPT = 8 };
static oxi_lock oxi_fft_lock;
static oxi_fft_plan *oxi_fft_kept[OXI_FFT_KEPT]; /* guarded by the lock */
static int64_t oxi_fft_time;                     /* likewise */

/* All that no call works with. */
static void oxi_fft_give_back(void) {
    for (int i = 0; i < OXI_FFT_KEPT; i++) {
        oxi_lock_take(&oxi_fft_lock);
        oxi_fft_plan *p = oxi_fft_kept[i];
        bool idle = p && p->users == 0;
        if (idle) oxi_fft_kept[i] = NULL;
        oxi_lock_give(&oxi_fft_lock);
        if (idle) oxi_fft_plan_close(p);
    }
}

/* Puts a plan in the place of an idle one, the longest unused; which is returned, or p if there is none. */
static oxi_fft_plan *oxi_fft_keep(oxi_fft_plan *p) {
    int at = -1;
    oxi_lock_take(&oxi_fft_lock);
    for (int i = 0; i < OXI_FFT_KEPT; i++) {
        const oxi_fft_plan *there = oxi_fft_kept[i], *before = at < 0 ? NULL : oxi_fft_kept[at];
        if (there && there->users > 0) continue;
        if (at < 0 || !there || (before && there->used < before->used)) at = i;
    }
    oxi_fft_plan *out = at < 0 ? p : oxi_fft_kept[at];
    if (at >= 0) oxi_fft_kept[at] = p;
    oxi_lock_give(&oxi_fft_lock);
    return out;
}

/* A plan to work with until it is let go; NULL and an error. */
static oxi_fft_plan *oxi_fft_plan_take(int64_t n, bool several) {
    oxi_fft_plan *p = NULL;
    oxi_lock_take(&oxi_fft_lock);
    for (int i = 0; i < OXI_FFT_KEPT; i++) {
        oxi_fft_plan *kept = oxi_fft_kept[i];
        if (kept && kept->n == n && kept->several == several) p = kept;
    }
    if (p) p->users++, p->used = ++oxi_fft_time;
    oxi_lock_give(&oxi_fft_lock);
    return p ? p : oxi_fft_plan_open(n, several);
}

static void oxi_fft_plan_give(oxi_fft_plan *p) {
    enum { large = 4 << 20 }; /* bytes that are not kept */
    bool was_kept = false;
    oxi_lock_take(&oxi_fft_lock);
    for (int i = 0; i < OXI_FFT_KEPT; i++) was_kept = was_kept || oxi_fft_kept[i] == p;
    if (was_kept) p->users--;
    p->used = ++oxi_fft_time;
    oxi_lock_give(&oxi_fft_lock);
    if (was_kept) return;
    oxi_on_memory_change(oxi_fft_give_back);
    oxi_fft_plan_close(p->bytes > large ? p : oxi_fft_keep(p));
}
#endif
