/* Reductions and scans: every op, dtype, layout and choice of dims against plain loops, long lines, special
 * values, numbers of threads. OX_VULKAN_LONG OX_TIERS OX_TSAN OX_QEMU */
#include "operands.h"
#include "reduce_cases.h"

/* ---- the ops and their plain references ---------------------------------------------------------------- */

typedef enum reduction {
#define CASE(NAME, op, as, complex, reading) NAME,
    REDUCE_CASES(CASE)
#undef CASE
    COUNT,
    VAR,
    STD,
    NORM_0,
    NORM_1,
    NORM_2,
    NORM_3,
    NORM_MOST,
    NORM_LEAST,
    ARGMAX,
    ARGMIN,
    REDUCTIONS
} reduction;

static const char *const reduction_names[REDUCTIONS] = {
#define CASE(NAME, op, as, complex, reading) #op,
    REDUCE_CASES(CASE)
#undef CASE
    "count_nonzero", "var", "std", "norm 0", "norm 1", "norm 2", "norm 3", "norm inf", "norm -inf",
    "argmax", "argmin"};

/* The one that it is, of elements that are read as they are. */
static reduction plain_of(reduction op) {
    switch (op) {
#define CASE(NAME, op, as, complex, reading) case NAME: return as;
        REDUCE_CASES(CASE)
#undef CASE
    default: return op;
    }
}

/* What it counts an element as. */
static double reading_of(reduction op, double x) {
    switch (op) {
#define CASE(NAME, op, as, complex, reading) case NAME: return reading;
        REDUCE_CASES(CASE)
#undef CASE
    default: return x;
    }
}
static bool reads_nan(reduction op) {
    return !isnan(reading_of(op, (double)NAN));
}

static ox_tensor *run_reduction(reduction op, ox_tensor *x, ox_shape dims, bool keepdim, double correction) {
    static const double powers[] = {0, 1, 2, 3, (double)INFINITY, -(double)INFINITY};
    switch (op) {
#define CASE(NAME, op, as, complex, reading) case NAME: return ox_##op(x, dims, keepdim);
        REDUCE_CASES(CASE)
#undef CASE
    case COUNT: return ox_count_nonzero(x, dims);
    case VAR: return ox_var(x, dims, correction, keepdim);
    case STD: return ox_std(x, dims, correction, keepdim);
    case ARGMAX: return ox_argmax(x, dims.ndim == 1 ? (int)dims.dim[0] : OX_FLATTENED, keepdim);
    case ARGMIN: return ox_argmin(x, dims.ndim == 1 ? (int)dims.dim[0] : OX_FLATTENED, keepdim);
    default: return ox_norm(x, powers[op - NORM_0], dims, keepdim);
    }
}

static bool takes_dtype(reduction op, ox_dtype dtype) {
    if (dtype == OX_C64) switch (op) {
#define CASE(NAME, op, as, complex, reading) case NAME: return complex;
            REDUCE_CASES(CASE)
#undef CASE
        default: return op != VAR && op != STD && op < ARGMAX;
        }
    op = plain_of(op);
    if (is_integral(dtype))
        return op != MEAN && op != VAR && op != STD && !(op >= NORM_0 && op <= NORM_LEAST);
    return true;
}

static ox_dtype result_dtype(reduction op, ox_dtype dtype) {
    op = plain_of(op);
    if (op == ALL || op == ANY) return dtype == OX_U8 ? OX_U8 : OX_BOOL;
    if (op == COUNT || op == ARGMAX || op == ARGMIN) return OX_I64;
    if ((op == SUM || op == PROD) && is_integral(dtype)) return OX_I64;
    if (dtype == OX_C64 && op != SUM && op != MEAN && op != PROD) return OX_F32;
    return op == LOGSUMEXP && is_integral(dtype) ? OX_F32 : dtype;
}

/* One line of numbers to reduce. */
typedef struct line {
    int64_t n;
    double *real, *imaginary;
    int64_t *whole; /* integer dtypes: the numbers themselves */
    ox_dtype dtype;
} line;

static bool line_less(const line *l, int64_t i, int64_t j) {
    if (l->dtype == OX_U64) return (uint64_t)l->whole[i] < (uint64_t)l->whole[j];
    return is_integral(l->dtype) ? l->whole[i] < l->whole[j] : l->real[i] < l->real[j];
}

static int64_t extreme_place(const line *l, bool largest) {
    int64_t best = 0;
    for (int64_t i = 1; i < l->n; i++) {
        if (isnan(l->real[best])) break;
        if (isnan(l->real[i]) || (largest ? line_less(l, best, i) : line_less(l, i, best))) best = i;
    }
    return best;
}

static uint64_t whole_result(reduction op, const line *l) {
    uint64_t result = op == PROD;
    for (int64_t i = 0; i < l->n; i++) {
        uint64_t x = (uint64_t)l->whole[i];
        result = op == PROD ? result * x : result + x;
    }
    if (op == AMAX || op == AMIN) result = (uint64_t)l->whole[extreme_place(l, op == AMAX)];
    return result;
}

static int64_t count_nonzero(const line *l) {
    int64_t count = 0;
    for (int64_t i = 0; i < l->n; i++) {
        count += is_integral(l->dtype) ? l->whole[i] != 0 : l->real[i] != 0 || l->imaginary[i] != 0;
    }
    return count;
}

static double real_variance(const line *l, double correction) {
    double mean = 0, sum = 0;
    for (int64_t i = 0; i < l->n; i++) mean += l->real[i];
    mean /= (double)l->n;
    for (int64_t i = 0; i < l->n; i++) sum += (l->real[i] - mean) * (l->real[i] - mean);
    return sum / ((double)l->n > correction ? (double)l->n - correction : 0);
}

static double real_logsumexp(const line *l) {
    double sum = 0;
    double most = -(double)INFINITY;
    for (int64_t i = 0; i < l->n; i++) most = l->real[i] > most ? l->real[i] : most;
    if (isinf(most)) return most;
    for (int64_t i = 0; i < l->n; i++) sum += exp(l->real[i] - most);
    return most + log(sum);
}

/* The result in double, and in *around the size of what was added up. */
static double real_result(reduction op, const line *l, double correction, double *around) {
    double sum = 0, size = 0, powers[4] = {0, 0, 0, 0};
    long double product = 1; /* hundreds of factors round the same way where they are equal */
    double most = 0, least = l->n ? fabs(l->real[0]) : 0;
    for (int64_t i = 0; i < l->n; i++) {
        double x = l->real[i], distance = fabs(x);
        sum += x;
        size += distance;
        product *= x;
        powers[2] += x * x;
        powers[3] += distance * distance * distance;
        if (distance > most) most = distance;
        if (distance < least) least = distance;
    }
    *around = 0;
    switch (op) {
    case SUM: *around = size; return sum;
    case MEAN: *around = size / (double)l->n; return sum / (double)l->n;
    case PROD: return (double)product;
    case AMAX:
    case AMIN: return l->real[extreme_place(l, op == AMAX)];
    case VAR: return real_variance(l, correction);
    case STD: *around = l->dtype == OX_F64 ? most : 0; return sqrt(real_variance(l, correction));
    case LOGSUMEXP: *around = 1 + most; return real_logsumexp(l);
    case NORM_0: return (double)count_nonzero(l);
    case NORM_1: return size;
    case NORM_2: return sqrt(powers[2]);
    case NORM_3: return cbrt(powers[3]);
    case NORM_MOST: return most;
    default: return least;
    }
}

/* ---- one call, element by element ---------------------------------------------------------------------- */

/* Fills l with what x has along the dims in `mask` at the kept position `at` (row-major over the kept
 * dims). */
static void fill_line(const ox_tensor *x, unsigned mask, int64_t at, line *l) {
    int64_t index[OX_MAX_DIMS];
    l->n = 1;
    l->dtype = x->dtype;
    for (int d = x->ndim - 1; d >= 0; d--) {
        if (mask >> d & 1)
            l->n *= x->shape[d];
        else {
            index[d] = at % x->shape[d];
            at /= x->shape[d];
        }
    }
    for (int64_t i = 0; i < l->n; i++) {
        int64_t rest = i, offset = 0;
        for (int d = x->ndim - 1; d >= 0; d--) {
            if (mask >> d & 1) {
                index[d] = rest % x->shape[d];
                rest /= x->shape[d];
            }
            offset += index[d] * x->stride[d];
        }
        const char *p = (const char *)ox_data(x) + offset * (int64_t)width_of(x->dtype);
        l->whole[i] = is_integral(x->dtype) ? load_int(x->dtype, p) : 0;
        l->real[i] = load_real(x->dtype, p);
        l->imaginary[i] = load_imaginary(x->dtype, p);
    }
}

static bool right_complex_product(const line *l, const char *got) {
    double real = 1, imaginary = 0, size;
    for (int64_t i = 0; i < l->n; i++) {
        double both = real * l->imaginary[i] + imaginary * l->real[i];
        real = real * l->real[i] - imaginary * l->imaginary[i];
        imaginary = both;
    }
    size = hypot(real, imaginary);
    return is_close_around(OX_F32, load_real(OX_F32, got), real, 2, size) &&
           is_close_around(OX_F32, load_real(OX_F32, got + 4), imaginary, 2, size);
}

/* Norms are those of the sizes. */
static bool right_complex_size(reduction op, const line *l, double correction, const char *got,
                               double *want) {
    double around = 0;
    line sizes = *l;
    sizes.dtype = OX_F32;
    sizes.real = (double *)malloc((size_t)(l->n + 1) * 8);
    for (int64_t i = 0; i < l->n; i++) sizes.real[i] = hypot(l->real[i], l->imaginary[i]);
    *want = real_result(op, &sizes, correction, &around);
    if (op == NORM_0) *want = (double)count_nonzero(l);
    free(sizes.real);
    return is_close_around(OX_F32, load_real(OX_F32, got), *want, 4, around);
}

static bool right_complex(reduction op, const line *l, const char *got) {
    if (op == PROD) return right_complex_product(l, got);
    double real = 0, imaginary = 0, size = 0, count = op == MEAN ? (double)l->n : 1;
    for (int64_t i = 0; i < l->n; i++) {
        real += l->real[i];
        imaginary += l->imaginary[i];
        size += fabs(l->real[i]) + fabs(l->imaginary[i]);
    }
    return is_close_around(OX_F32, load_real(OX_F32, got), real / count, 4, size / count) &&
           is_close_around(OX_F32, load_real(OX_F32, got + 4), imaginary / count, 4, size / count);
}

static bool right_element(reduction op, const line *l, double correction, ox_dtype dtype, const char *got,
                          double *want) {
    op = plain_of(op);
    double around = 0, ulps = l->dtype == OX_F64                          ? 8 + (double)l->n / 8
                              : op == LOGSUMEXP || op == STD || op == VAR ? 8
                                                                          : 4;
    if (op == ALL || op == ANY || op == COUNT) {
        int64_t count = count_nonzero(l);
        *want = op == COUNT ? (double)count : op == ALL ? count == l->n : count > 0;
        return load_int(dtype, got) == (int64_t)*want;
    }
    if (op == ARGMAX || op == ARGMIN) {
        *want = (double)extreme_place(l, op == ARGMAX);
        return load_int(dtype, got) == (int64_t)*want;
    }
    if (l->dtype == OX_C64)
        return dtype == OX_C64 ? right_complex(op, l, got) : right_complex_size(op, l, correction, got, want);
    if (is_integral(l->dtype) && op != LOGSUMEXP) {
        *want = (double)(int64_t)whole_result(op, l);
        return (uint64_t)load_int(dtype, got) == whole_result(op, l);
    }
    *want = real_result(op, l, correction, &around);
    if (op == PROD && l->dtype == OX_F64) ulps = 8 + (double)l->n; /* equal factors round one way */
    if (op == AMAX || op == AMIN || op == NORM_0) ulps = 0;
    if (op == NORM_3 && *want > 0) ulps += fabs(log(*want)); /* the exponent of the root, 1 / 3, is rounded */
    if (dtype == OX_F8_E4M3 && fabs(*want) > 448) *want = 448; /* overflow gives the largest number */
    return is_close_around(dtype, load_real(dtype, got), *want, ulps, around);
}

static const char *shape_words(const ox_tensor *x) {
    static char words[64];
    int used = 0;
    words[0] = 0;
    for (int d = 0; d < x->ndim; d++)
        used += snprintf(words + used, sizeof words - (size_t)used, "%s%lld", d ? "," : "",
                         (long long)x->shape[d]);
    return words;
}

/* NaN at some places, lines of it as well. */
static void put_nan(ox_tensor *x) {
    for (int64_t i = 0; i < ox_numel(x); i++)
        if (i % 3 == 0 || i / 16 % 5 == 2) store_real(x->dtype, element(x, i), (double)NAN);
}

/* The result must have the right shape and dtype, and every element must be right. */
static void check_reduction(reduction op, ox_tensor *x, unsigned mask, bool keepdim, double correction,
                            const char *how) {
    ox_shape dims = OX_SCALAR_SHAPE;
    int64_t kept = 1, longest = 1;
    bool shape_fits = true;
    for (int d = 0, k = 0; d < x->ndim; d++) {
        if (mask >> d & 1) {
            dims.dim[dims.ndim++] = d - (d % 2 ? x->ndim : 0);
            longest *= x->shape[d];
        } else {
            kept *= x->shape[d];
            k++;
        }
    }
    if (op == COUNT) keepdim = false;
    if (reads_nan(op) && is_real_float(x->dtype)) put_nan(x);
    ox_tensor *y = run_reduction(op, x, dims, keepdim, correction);
    CHECK_MSG(y, "%s of %s [%s] %s: %s", reduction_names[op], ox_dtype_name(x->dtype), shape_words(x), how,
              ox_error_text());
    if (!y) {
        ox_error_clear();
        return;
    }
    for (int d = 0, o = 0; d < x->ndim; d++) {
        bool goes = mask >> d & 1;
        if (goes && !keepdim) continue;
        shape_fits = shape_fits && o < y->ndim && y->shape[o] == (goes ? 1 : x->shape[d]);
        o++;
    }
    CHECK_MSG(shape_fits && y->dtype == result_dtype(op, x->dtype), "%s of %s", reduction_names[op],
              ox_dtype_name(x->dtype));
    line l;
    l.real = (double *)malloc((size_t)(longest + 1) * 8);
    l.imaginary = (double *)malloc((size_t)(longest + 1) * 8);
    l.whole = (int64_t *)malloc((size_t)(longest + 1) * 8);
    int64_t wrong = -1;
    double want = 0;
    for (int64_t i = 0; i < kept && wrong < 0; i++) {
        fill_line(x, mask, i, &l);
        for (int64_t j = 0; j < l.n; j++) l.real[j] = reading_of(op, l.real[j]);
        if (!right_element(op, &l, correction, y->dtype, element(y, i), &want)) wrong = i;
    }
    CHECK_MSG(wrong < 0, "%s of %s [%s] dims %#x %s: element %lld is %.9g, not %.9g", reduction_names[op],
              ox_dtype_name(x->dtype), shape_words(x), mask, how, (long long)wrong,
              wrong < 0 ? 0 : load_real(y->dtype, element(y, wrong)), want);
    free(l.real);
    free(l.imaginary);
    free(l.whole);
}

static bool wants_elements(reduction op) {
    op = plain_of(op);
    return op == AMAX || op == AMIN || op == ARGMAX || op == ARGMIN || op >= NORM_MOST;
}

static domain domain_for(reduction op, ox_dtype dtype) {
    op = plain_of(op);
    if (dtype == OX_F8_E4M3 || dtype == OX_F8_E5M2) return DOMAIN_UNIT;
    if (op == PROD && dtype == OX_C64) return DOMAIN_UNIT;
    if (op == PROD) return is_integral(dtype) ? DOMAIN_ANY : DOMAIN_NOT_ZERO;
    if (op == VAR || op == STD || op == LOGSUMEXP) return DOMAIN_MODEST;
    return DOMAIN_ANY;
}

/* Every op over every set of dims; dtypes and layouts take turns so that all pairs come up. */
static void test_every_reduction(void) {
    static const int64_t shapes[][4] = {{5, 7},   {40, 37},    {3, 21, 20}, {2, 3, 5, 4}, {1, 9},
                                        {11},     {1},         {0},         {9, 1, 3},    {2, 300},
                                        {300, 2}, {16, 2, 40}, {2, 50, 17}};
    static const int ndims[] = {2, 2, 3, 4, 2, 1, 1, 0, 3, 2, 2, 3, 3};
    unsigned turn = 0;
    for (int s = 0; s < 13; s++)
        for (unsigned mask = 1; mask < (1u << ndims[s]) + (ndims[s] == 0); mask++)
            for (int op = 0; op < REDUCTIONS; op++)
                for (int repeat = 0; repeat < 3; repeat++)
                    OX_SCOPE {
                        bool one_or_all = (mask & (mask - 1)) == 0 || mask == (1u << ndims[s]) - 1;
                        turn = turn * 5 + 3 + (unsigned)s;
                        ox_dtype dtype = (ox_dtype)(1 + turn / 7 % PLAIN_DTYPES);
                        layout l = (layout)(turn / 131 % LAYOUT_COUNT);
                        if (!takes_dtype((reduction)op, dtype) || (op >= ARGMAX && !one_or_all)) continue;
                        ox_tensor *x =
                            random_layout(l, domain_for((reduction)op, dtype), ndims[s], shapes[s], dtype);
                        check_reduction((reduction)op, x, ndims[s] ? mask : 0, turn & 64, turn & 32,
                                        layout_name(l));
                    }
}

static void test_every_dtype_and_layout(void) {
    static const int64_t shape[] = {3, 20, 11};
    for (int d = 1; d <= PLAIN_DTYPES; d++)
        for (int l = 0; l < LAYOUT_COUNT; l++)
            for (int op = 0; op < REDUCTIONS; op++)
                OX_SCOPE {
                    unsigned mask = (unsigned)(d + l + op) % (op >= ARGMAX ? 3 : 7) + 1;
                    if (op >= ARGMAX) mask = mask == 3 ? 7 : mask;
                    if (!takes_dtype((reduction)op, (ox_dtype)d)) continue;
                    ox_tensor *x = random_layout((layout)l, domain_for((reduction)op, (ox_dtype)d), 3, shape,
                                                 (ox_dtype)d);
                    check_reduction((reduction)op, x, mask, l % 2 == 0, 1, layout_name((layout)l));
                }
}

static void test_empty(void) {
    static const int64_t shapes[][3] = {{0, 4, 3}, {4, 0, 3}, {0, 0, 2}};
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_BF16, OX_I32, OX_BOOL, OX_C64};
    for (int s = 0; s < 3; s++)
        for (unsigned mask = 1; mask < 8; mask++)
            for (int d = 0; d < 6; d++)
                for (int op = 0; op < REDUCTIONS; op++)
                    OX_SCOPE {
                        bool no_elements = (mask & 1 && shapes[s][0] == 0) || (mask & 2 && shapes[s][1] == 0);
                        if (!takes_dtype((reduction)op, dtypes[d]) || op >= ARGMAX ||
                            (wants_elements((reduction)op) && no_elements))
                            continue;
                        ox_tensor *x = ox_empty(ox_shape_from(3, shapes[s]), dtypes[d]);
                        check_reduction((reduction)op, x, mask, true, 1, "of nothing");
                    }
    OX_SCOPE {
        ox_tensor *x = ox_empty(OX_SHAPE(2, 0), OX_F32);
        CHECK(!ox_amax(x, OX_DIMS(1), false) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_argmax(x, OX_FLATTENED, false) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(ox_numel(ox_amax(x, OX_DIMS(0), false)) == 0 && ox_error() == OX_OK);
        CHECK(isnan(ox_item(ox_mean(x, OX_ALL_DIMS, false))) && ox_item(ox_prod(x, OX_ALL_DIMS, false)) == 1);
    }
}

/* ---- long lines: chunks, tiles, many threads ----------------------------------------------------------- */

static ox_tensor *random_big(ox_shape shape, ox_dtype dtype, domain kind) {
    ox_tensor *t = ox_empty(shape, dtype);
    if (t) random_values(kind, dtype, ox_numel(t), ox_data(t));
    return t;
}

static void test_long_lines(void) {
    static const struct {
        int64_t shape[3];
        unsigned mask;
    } cases[] = {{{66001, 1, 1}, 1}, {{66001, 2, 1}, 1}, {{2200, 300, 1}, 1},
                 {{9000, 1, 5}, 4},  {{13, 50, 40}, 3},  {{20, 40, 90}, 5}};
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_BF16, OX_I32, OX_U8, OX_C64};
    int turn = 0;
    for (int s = 0; s < 6; s++)
        for (int op = 0; op < REDUCTIONS; op++)
            OX_SCOPE {
                ox_dtype dtype = turn % 3 == 0 ? OX_F32 : dtypes[turn / 3 % 6];
                turn++;
                if (!takes_dtype((reduction)op, dtype) ||
                    (op >= ARGMAX && (cases[s].mask & (cases[s].mask - 1))))
                    continue;
                ox_tensor *x =
                    random_big(ox_shape_from(3, cases[s].shape), dtype, domain_for((reduction)op, dtype));
                check_reduction((reduction)op, x, cases[s].mask, true, 1, "long");
            }
}

static ox_tensor *scan_of(int which, ox_tensor *x, int dim) {
    return which ? ox_cumprod(x, dim) : ox_cumsum(x, dim);
}

static void test_thread_counts(void) {
    static const int64_t shapes[][3] = {{66001, 1, 1}, {1, 66001, 1}, {2200, 250, 1}, {12, 20, 30}};
    for (int s = 0; s < 4; s++)
        for (int op = 0; op < REDUCTIONS + 2; op++)
            OX_SCOPE {
                ox_tensor *x = random_big(ox_shape_from(3, shapes[s]),
                                          op % 4 == 1   ? OX_F64
                                          : op % 4 == 3 ? OX_F16
                                                        : OX_F32,
                                          DOMAIN_MODEST);
                for (int dim = 0; dim < 2; dim++) {
                    ox_tensor *first = NULL;
                    for (int threads = 1; threads <= 4; threads += 3) {
                        ox_set_threads(threads);
                        ox_tensor *y = op >= REDUCTIONS
                                           ? scan_of(op - REDUCTIONS, x, dim)
                                           : run_reduction((reduction)op, x, OX_DIMS(dim), true, 1);
                        if (!first) first = y;
                        CHECK_MSG(same_bits(first, y), "%s with %d threads",
                                  op >= REDUCTIONS ? "a scan" : reduction_names[op], threads);
                    }
                }
            }
    ox_set_threads(0);
}

/* ---- special values ------------------------------------------------------------------------------------ */

#define INF ((double)INFINITY)

static double all_of(reduction op, const double *values, int64_t n, ox_dtype dtype) {
    ox_tensor *x = ox_from_doubles(values, OX_SHAPE(n), dtype);
    return ox_item(run_reduction(op, x, OX_ALL_DIMS, false, 1));
}

static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static void test_special_values(void) {
    static const struct {
        reduction op;
        double values[4], want;
    } cases[] = {{AMAX, {1, (double)NAN, 3, 2}, (double)NAN},
                 {AMIN, {1, 0, 3, (double)NAN}, (double)NAN},
                 {AMAX, {-INF, -INF, -INF, -INF}, -INF},
                 {ARGMAX, {1, (double)NAN, 9, (double)NAN}, 1},
                 {ARGMIN, {5, -INF, (double)NAN, 0}, 2},
                 {ARGMAX, {3, 7, 7, 7}, 1},
                 {ARGMIN, {3, -7, 7, -7}, 1},
                 {ARGMAX, {-INF, -INF, -INF, -INF}, 0},
                 {ARGMIN, {0.0, -0.0, 0.0, -0.0}, 0},
                 {LOGSUMEXP, {-INF, -INF, -INF, -INF}, -INF},
                 {LOGSUMEXP, {INF, 1, -INF, 3}, INF},
                 {LOGSUMEXP, {-INF, 5, -INF, -INF}, 5},
                 {LOGSUMEXP, {1, (double)NAN, INF, 0}, (double)NAN},
                 {LOGSUMEXP, {-5000, -INF, -INF, -INF}, -5000},
                 {SUM, {INF, 1, -INF, 2}, (double)NAN},
                 {SUM, {INF, 1, 2, 3}, INF},
                 {PROD, {INF, 0, 1, 1}, (double)NAN},
                 {PROD, {-INF, 2, 3, 1}, -INF},
                 {ALL, {(double)NAN, 1, INF, 1}, 1},
                 {ANY, {0, -0.0, 0, (double)NAN}, 1},
                 {ANY, {0, -0.0, 0, 0}, 0},
                 {COUNT, {(double)NAN, -0.0, 0, 5e-324}, 2},
                 {NORM_2, {INF, 1, 1, 1}, INF},
                 {NORM_2, {(double)NAN, INF, 1, 1}, (double)NAN},
                 {NORM_MOST, {1, (double)NAN, -9, 2}, (double)NAN},
                 {NORM_MOST, {1, 2, -9, 2}, 9},
                 {NORM_LEAST, {1, -0.5, -9, 2}, 0.5},
                 {NORM_0, {0, (double)NAN, -0.0, 2}, 2},
                 {NORM_1, {-INF, 1, 1, 1}, INF},
                 {VAR, {INF, 1, 2, 3}, (double)NAN},
                 {STD, {3, 3, 3, 3}, 0},
                 {MEAN, {3, -3, 1, -1}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int wide = 0; wide < 2; wide++)
            OX_SCOPE {
                ox_dtype dtype = wide ? OX_F64 : OX_F32;
                double want = cases[i].want, got = all_of(cases[i].op, cases[i].values, 4, dtype),
                       spread[300];
                if (cases[i].op == COUNT && !wide) want = 1; /* 5e-324 is 0 in f32 */
                CHECK_MSG(same_number(got, want), "%s case %d %s: %g, not %g", reduction_names[cases[i].op],
                          (int)i, ox_dtype_name(dtype), got, want);
                /* As columns of [4,20], the values down each one. */
                for (int k = 0; k < 80; k++) spread[k] = cases[i].values[k / 20];
                ox_tensor *x = ox_from_doubles(spread, OX_SHAPE(4, 20), dtype);
                ox_tensor *y = ox_cast(run_reduction(cases[i].op, x, OX_DIMS(0), false, 1), OX_F64);
                for (int k = 0; k < 20; k++)
                    CHECK_MSG(same_number(load_real(OX_F64, element(y, k)), want), "%s case %d in columns",
                              reduction_names[cases[i].op], (int)i);
            }
}

static void test_first_of_equals(void) {
    for (int64_t n = 1; n < 100001; n = n * 3 + 2)
        OX_SCOPE {
            ox_tensor *x = ox_full(OX_SHAPE(n), 2, n % 2 ? OX_F32 : OX_I16),
                      *pair = ox_expand(ox_view(x, OX_SHAPE(n, 1)), OX_SHAPE(n, 3));
            CHECK(ox_item_int(ox_argmax(x, 0, false)) == 0 &&
                  ox_item_int(ox_argmin(x, OX_FLATTENED, false)) == 0);
            for (int64_t place = n / 2; place < n; place += n / 4 + 1) {
                store_real(x->dtype, element(x, place), 3);
                CHECK(ox_item_int(ox_argmax(x, 0, false)) == n / 2 &&
                      ox_item(ox_max(x, 0, false).values) == 3);
                ox_pair p = ox_max(pair, 0, true);
                for (int64_t c = 0; c < 3; c++)
                    CHECK(load_int(OX_I64, element(p.indices, c)) == n / 2 &&
                          load_real(x->dtype, element(p.values, c)) == 3);
            }
        }
}

/* NaN in a later chunk or row must be found, the first of several wins. */
static void test_places_of_nan(void) {
    OX_SCOPE {
        ox_tensor *x = ox_zeros(OX_SHAPE(3, 140000), OX_F32);
        float nan = (float)NAN;
        memcpy(element(x, 140000 + 100000), &nan, 4);
        memcpy(element(x, 140000 + 133000), &nan, 4);
        ox_pair p = ox_min(x, 1, false);
        CHECK(load_int(OX_I64, element(p.indices, 0)) == 0 &&
              load_int(OX_I64, element(p.indices, 1)) == 100000);
        CHECK(isnan(load_real(OX_F32, element(p.values, 1))) && load_real(OX_F32, element(p.values, 2)) == 0);
        CHECK(ox_item_int(ox_argmax(x, OX_FLATTENED, false)) == 240000 &&
              ox_item_int(ox_argmax(ox_t(x), OX_FLATTENED, false)) == 100000 * 3 + 1);
        CHECK(isnan(ox_item(ox_amax(x, OX_ALL_DIMS, false))) &&
              isnan(ox_item(ox_amin(x, OX_ALL_DIMS, false))));
    }
}

static void test_numerics(void) {
    OX_SCOPE {
        /* Mean 1e6, deviation 1: f32 numbers there are 1/16 apart. */
        ox_tensor *x = ox_empty(OX_SHAPE(100, 200), OX_F32);
        double sum = 0, squares = 0, mean;
        for (int64_t i = 0; i < 20000; i++) {
            double u = test_uniform() + test_uniform() + test_uniform() + test_uniform() - 2;
            store_real(OX_F32, element(x, i), 1e6 + u * 1.7320508);
            sum += load_real(OX_F32, element(x, i)) - 1e6;
        }
        mean = 1e6 + sum / 20000;
        for (int64_t i = 0; i < 20000; i++)
            squares += (load_real(OX_F32, element(x, i)) - mean) * (load_real(OX_F32, element(x, i)) - mean);
        CHECK(fabs(ox_item(ox_var(x, OX_ALL_DIMS, 0, false)) / (squares / 20000) - 1) < 1e-6);
        CHECK(fabs(ox_item(ox_mean(x, OX_ALL_DIMS, false)) - mean) <= 0.04);
        for (unsigned mask = 1; mask < 4; mask++) check_reduction(VAR, x, mask, false, 1, "far from 0");
        for (unsigned mask = 1; mask < 4; mask++) check_reduction(STD, ox_t(x), mask, false, 0, "far from 0");
        ox_tensor *same = ox_full(OX_SHAPE(1000), 0.1, OX_F32);
        CHECK(ox_item(ox_std(same, OX_ALL_DIMS, 1, false)) <= 1e-9);
    }
    OX_SCOPE {
        /* Norms and sums whose squares or partial sums leave f32. */
        static const double scale[] = {1e38, 1e20, 1e-20, 1e-30, 1e-38, 1e-44, 3e38};
        for (int i = 0; i < 7; i++) {
            ox_tensor *x = ox_full(OX_SHAPE(7, 40), scale[i], OX_F32);
            double value = load_real(OX_F32, ox_data(x));
            if (flushed(value) != value) continue;
            for (int64_t k = 1; k < 280; k += 2) store_real(OX_F32, element(x, k), -value);
            for (unsigned mask = 1; mask < 4; mask++) {
                if (i < 6) check_reduction(NORM_2, x, mask, false, 0, "extreme");
                check_reduction(SUM, x, mask, false, 0, "extreme");
                check_reduction(STD, x, mask, false, 1, "extreme");
                check_reduction(MEAN, x, mask, false, 1, "extreme");
                check_reduction(NORM_MOST, x, mask, false, 1, "extreme");
            }
        }
        /* 16,777,217 ones cannot be counted in f32. */
        ox_tensor *ones = ox_expand(ox_ones(OX_SHAPE(1), OX_F32), OX_SHAPE(16777219));
        CHECK(fabs(ox_item(ox_sum(ones, OX_ALL_DIMS, false)) - 16777220) <= 2);
        ox_tensor *halves = ox_full(OX_SHAPE(70000), 1, OX_F16);
        CHECK(ox_item(ox_mean(halves, OX_ALL_DIMS, false)) == 1 &&
              isinf(ox_item(ox_sum(halves, OX_ALL_DIMS, false))));
    }
    OX_SCOPE {
        int64_t most[3] = {INT64_MAX, 1, 5};
        CHECK(ox_item_int(ox_sum(ox_from_ints(most, OX_SHAPE(3), OX_I64), OX_ALL_DIMS, false)) ==
              INT64_MIN + 5);
        CHECK(ox_item_int(ox_sum(ox_full(OX_SHAPE(1000), 255, OX_U8), OX_ALL_DIMS, false)) == 255000);
        CHECK(ox_item_int(ox_amin(ox_full(OX_SHAPE(3), -128, OX_I8), OX_ALL_DIMS, false)) == -128);
        int64_t wide[3] = {-1, 5, 7}; /* as u64 the first is the largest */
        ox_tensor *u = ox_from_ints(wide, OX_SHAPE(3), OX_U64);
        CHECK(ox_item_int(ox_argmax(u, 0, false)) == 0 && ox_item_int(ox_amin(u, OX_ALL_DIMS, false)) == 5);
    }
}

/* ---- scans --------------------------------------------------------------------------------------------- */

/* Element `at` of a line of `from` and what lies `inner` apart behind it; the first place where y is wrong,
 * or -1. */
static int64_t wrong_in_scan(int which, const ox_tensor *from, const ox_tensor *y, int64_t at, int64_t size,
                             int64_t inner) {
    double total = which, imaginary = 0, around = 0;
    uint64_t wrapped = (uint64_t)which;
    for (int64_t k = 0; k < size; k++) {
        const char *p = element(from, at + k * inner), *got = element(y, at + k * inner);
        double value = load_real(from->dtype, p);
        bool right;
        if (is_integral(from->dtype)) {
            char cell[8];
            uint64_t number = (uint64_t)load_int(from->dtype, p);
            wrapped = which ? wrapped * number : wrapped + number;
            store_int(y->dtype, cell, (int64_t)wrapped);
            right = load_int(y->dtype, got) == load_int(y->dtype, cell);
        } else if (from->dtype == OX_C64) {
            double other = load_imaginary(OX_C64, p), real = total;
            total = which ? real * value - imaginary * other : real + value;
            imaginary = which ? real * other + imaginary * value : imaginary + other;
            around = which ? hypot(total, imaginary) : around + fabs(value) + fabs(other);
            right = is_close_around(OX_F32, load_real(OX_C64, got), total, 1, around) &&
                    is_close_around(OX_F32, load_imaginary(OX_C64, got), imaginary, 1, around);
        } else {
            double ulps = from->dtype == OX_F64 ? 4 + (double)size : 1;
            total = which ? total * value : total + value;
            around += which ? 0 : fabs(value);
            right = is_close_around(y->dtype, load_real(y->dtype, got), total, ulps, around);
        }
        if (!right) return k;
    }
    return -1;
}

static void check_scan(int which, ox_tensor *x, int dim, bool in_place, const char *how) {
    ox_tensor *from = plain_copy(x);
    ox_tensor *y = !in_place ? scan_of(which, x, dim) : which ? ox_cumprod_(x, dim) : ox_cumsum_(x, dim);
    ox_dtype dtype = is_integral(from->dtype) && !in_place ? OX_I64 : from->dtype;
    int64_t inner = 1, size = from->ndim ? from->shape[dim] : 1, wrong = -1;
    CHECK_MSG(y && y->dtype == dtype, "%s of %s: %s", which ? "cumprod" : "cumsum",
              ox_dtype_name(from->dtype), ox_error_text());
    if (!y) return;
    for (int d = dim + 1; d < from->ndim; d++) inner *= from->shape[d];
    for (int64_t i = 0; i < ox_numel(from) && wrong < 0; i++) {
        if (i / inner % size == 0) wrong = wrong_in_scan(which, from, y, i, size, inner);
    }
    CHECK_MSG(wrong < 0, "%s of %s [%s] dim %d %s at %lld", which ? "cumprod" : "cumsum",
              ox_dtype_name(from->dtype), shape_words(from), dim, how, (long long)wrong);
}

static void test_scans(void) {
    static const int64_t shapes[][3] = {{5, 7, 3},  {1, 70, 37}, {40, 1, 5},
                                        {3, 4, 19}, {0, 3, 2},   {33, 2, 2}};
    for (int s = 0; s < 6; s++)
        for (int d = 1; d <= PLAIN_DTYPES; d++)
            for (int l = 0; l < LAYOUT_COUNT; l++)
                OX_SCOPE {
                    int dim = (s + d + l) % 3, which = (d + l / 3) % 2;
                    bool small = d == OX_F8_E4M3 || d == OX_F8_E5M2 || d == OX_F16;
                    bool in_place = l != LAYOUT_EXPANDED_FIRST && l != LAYOUT_EXPANDED_LAST && (s + l) % 2;
                    small = small || (d == OX_C64 && which);
                    ox_tensor *x = random_layout((layout)l,
                                                 small   ? DOMAIN_UNIT
                                                 : which ? DOMAIN_NOT_ZERO
                                                         : DOMAIN_ANY,
                                                 3, shapes[s], (ox_dtype)d);
                    check_scan(which, x, dim, in_place, layout_name((layout)l));
                }
    OX_SCOPE {
        check_scan(0, random_big(OX_SHAPE(70001), OX_F32, DOMAIN_MODEST), 0, false, "long");
        check_scan(0, random_big(OX_SHAPE(70001), OX_I32, DOMAIN_ANY), 0, true, "long");
        check_scan(0, random_big(OX_SHAPE(2, 66000), OX_F64, DOMAIN_MODEST), 1, true, "long");
        check_scan(1, random_big(OX_SHAPE(1, 140000), OX_U8, DOMAIN_NOT_ZERO), 1, false, "long");
        check_scan(0, ox_t(random_big(OX_SHAPE(70000, 2), OX_BF16, DOMAIN_UNIT)), 1, true, "long");
        check_scan(0, random_big(OX_SHAPE(70001), OX_C64, DOMAIN_MODEST), 0, false, "long");
        check_scan(1, random_big(OX_SHAPE(2, 66000), OX_C64, DOMAIN_UNIT), 1, true, "long");
        check_scan(1, ox_t(random_big(OX_SHAPE(700, 90), OX_C64, DOMAIN_UNIT)), 1, true, "long");
        check_scan(0, random_big(OX_SHAPE(300, 90), OX_C64, DOMAIN_MODEST), 0, false, "columns");
        check_scan(0, random_big(OX_SHAPE(1, 1), OX_F32, DOMAIN_UNIT), 1, true, "single");
        ox_tensor *number = ox_cumsum(ox_full(OX_SCALAR_SHAPE, 3, OX_F32), 0);
        CHECK(number && number->ndim == 0 && ox_item(number) == 3);
    }
}

/* Columns are added up some at a time; what one needs (infinities, no deviation) is its own affair. */
static void test_neighbors(void) {
    enum { ROWS = 48, COLUMNS = 600, ODD = 3 };
    static const int64_t odd[ODD] = {17, 300, 599};
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(ROWS, COLUMNS), OX_F32), *y = ox_clone(x);
        ox_fill_(ox_narrow(y, 1, odd[0], 1), INFINITY);
        ox_fill_(ox_narrow(y, 1, odd[1], 1), 3);
        ox_fill_(ox_narrow(y, 1, odd[2], 1), 3e37);
        ox_tensor *plain[3] = {ox_sum(x, OX_DIMS(0), false), ox_var(x, OX_DIMS(0), 1, false),
                               ox_contiguous(ox_select(ox_layer_norm(ox_t(x), 1, NULL, NULL, 1e-5), 1, 0))};
        ox_tensor *beside[3] = {ox_sum(y, OX_DIMS(0), false), ox_var(y, OX_DIMS(0), 1, false),
                                ox_contiguous(ox_select(ox_layer_norm(ox_t(y), 1, NULL, NULL, 1e-5), 1, 0))};
        for (int i = 0; i < 3; i++) {
            const float *p = (const float *)ox_data(plain[i]), *q = (const float *)ox_data(beside[i]);
            int different = 0;
            for (int64_t c = 0; p && q && c < COLUMNS; c++)
                different += c != odd[0] && c != odd[1] && c != odd[2] && p[c] != q[c];
            CHECK_MSG(p && q && different == 0, "%d: %d columns have other bits", i, different);
        }
        ox_tensor *sum = beside[0];
        CHECK(ox_item(ox_select(sum, 0, odd[0])) == (double)INFINITY);
        CHECK(ox_item(ox_select(sum, 0, odd[1])) == 3.0 * ROWS);
        CHECK(ox_item(ox_select(beside[1], 0, odd[1])) == 0);
    }
}

int main(void) {
    test_every_reduction();
    test_every_dtype_and_layout();
    test_empty();
    test_long_lines();
    test_thread_counts();
    test_special_values();
    test_first_of_equals();
    test_places_of_nan();
    test_numerics();
    test_neighbors();
    test_scans();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    return check_done("reduce");
}
