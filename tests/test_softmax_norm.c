/* softmax, log_softmax, layer_norm, rms_norm, group_norm: dtypes and layouts against plain loops in double,
 * long rows, columns, infinities, numbers of threads. OX_TIERS OX_TSAN OX_QEMU
 * OX_VULKAN(softmax log_softmax layer_norm rms_norm group_norm) */
#include "backwards.h"
#include "operands.h"

typedef enum row_op { SOFTMAX, LOG_SOFTMAX, LAYER_NORM, RMS_NORM, GROUP_NORM, ROW_OPS } row_op;

static const char *const row_names[ROW_OPS] = {"softmax", "log_softmax", "layer_norm", "rms_norm",
                                               "group_norm"};

/* ---- the plain reference: a row as a list of places ---------------------------------------------------- */

typedef struct row {
    int64_t n;
    bool wide; /* f64 */
    double *x, *weight, *bias, *want, *around;
} row;

static row new_row(int64_t n) {
    row r = {n, false, NULL, NULL, NULL, NULL, NULL};
    r.x = (double *)malloc((size_t)(n + 1) * 5 * sizeof(double));
    r.weight = r.x + n + 1;
    r.bias = r.weight + n + 1;
    r.want = r.bias + n + 1;
    r.around = r.want + n + 1;
    return r;
}

static void want_softmax(row *r, bool logarithm) {
    double most = -(double)INFINITY, sum = 0;
    for (int64_t i = 0; i < r->n; i++) most = r->x[i] > most || isnan(r->x[i]) ? r->x[i] : most;
    for (int64_t i = 0; i < r->n; i++) sum += exp(r->x[i] - most);
    for (int64_t i = 0; i < r->n; i++) {
        double distance = r->x[i] - most;
        r->want[i] = logarithm ? distance - log(sum) : exp(distance) / sum;
        r->around[i] = logarithm ? 1 + fabs(distance) : r->want[i] * (1 + fabs(distance) / 8);
    }
}

static void want_norm(row *r, bool centered, double eps) {
    double mean = 0, squares = 0, scale, count = (double)r->n;
    for (int64_t i = 0; i < r->n; i++) mean += r->x[i];
    mean = centered ? mean / count : 0;
    for (int64_t i = 0; i < r->n; i++) squares += (r->x[i] - mean) * (r->x[i] - mean);
    scale = 1 / sqrt(squares / count + eps);
    for (int64_t i = 0; i < r->n; i++) {
        double unit = (r->x[i] - mean) * scale;
        r->want[i] = unit * r->weight[i] + r->bias[i];
        r->around[i] = (fabs(unit) + 0.25 + fabs(mean * scale) / (r->wide ? 1 : 64)) * fabs(r->weight[i]) +
                       fabs(r->bias[i]);
    }
}

/* ---- one call, row by row ------------------------------------------------------------------------------ */

/* How a tensor falls into rows: element i of row j is at row-major position place_of(...). */
typedef struct rows {
    row_op op;
    int dim;              /* softmax */
    int64_t last, groups; /* norms: dims of a row; group_norm: groups */
    int64_t count, n, inner;
} rows;

static rows rows_of(row_op op, const ox_tensor *x, int which) {
    rows r = {op, which, which, which, 1, 1, 1};
    if (op == SOFTMAX || op == LOG_SOFTMAX) {
        r.n = x->ndim ? x->shape[which] : 1;
        for (int d = which + 1; d < x->ndim; d++) r.inner *= x->shape[d];
    } else if (op == GROUP_NORM) {
        r.n = x->shape[1] / which;
        for (int d = 2; d < x->ndim; d++) r.n *= x->shape[d];
    } else {
        for (int d = x->ndim - which; d < x->ndim; d++) r.n *= x->shape[d];
    }
    r.count = r.n ? ox_numel(x) / r.n : 0;
    return r;
}

static int64_t place_of(const rows *r, int64_t j, int64_t i) {
    if (r->op == SOFTMAX || r->op == LOG_SOFTMAX) return (j / r->inner * r->n + i) * r->inner + j % r->inner;
    return j * r->n + i;
}

static ox_tensor *run_rows(const rows *r, ox_tensor *x, ox_tensor *weight, ox_tensor *bias, double eps) {
    switch (r->op) {
    case SOFTMAX: return ox_softmax(x, r->dim);
    case LOG_SOFTMAX: return ox_log_softmax(x, r->dim);
    case LAYER_NORM: return ox_layer_norm(x, (int)r->last, weight, bias, eps);
    case RMS_NORM: return ox_rms_norm(x, (int)r->last, weight, eps);
    default: return ox_group_norm(x, r->groups, weight, bias, eps);
    }
}

static void check_rows(row_op op, ox_tensor *x, int which, ox_tensor *weight, ox_tensor *bias,
                       const char *how) {
    rows r = rows_of(op, x, which);
    double eps = 1e-5;
    ox_tensor *y = run_rows(&r, x, weight, bias, eps);
    CHECK_MSG(y && y->dtype == x->dtype && ox_numel(y) == ox_numel(x), "%s of %s: %s", row_names[op],
              ox_dtype_name(x->dtype), ox_error_text());
    if (!y) {
        ox_error_clear();
        return;
    }
    row line = new_row(r.n);
    line.wide = x->dtype == OX_F64;
    int64_t wrong = -1, wrong_row = 0;
    for (int64_t j = 0; j < r.count && wrong < 0; j++) {
        for (int64_t i = 0; i < r.n; i++) {
            int64_t channels = op == GROUP_NORM ? x->shape[1] / r.groups : 1;
            int64_t w = op == GROUP_NORM ? j % r.groups * channels + i / (r.n / channels) : i;
            line.x[i] = load_real(x->dtype, element(x, place_of(&r, j, i)));
            line.weight[i] = weight ? load_real(weight->dtype, element(weight, w)) : 1;
            line.bias[i] = bias && op != RMS_NORM ? load_real(bias->dtype, element(bias, w)) : 0;
        }
        if (op <= LOG_SOFTMAX)
            want_softmax(&line, op == LOG_SOFTMAX);
        else
            want_norm(&line, op != RMS_NORM, eps);
        for (int64_t i = r.n - 1; i >= 0; i--) {
            double got = load_real(y->dtype, element(y, place_of(&r, j, i)));
            double ulps = x->dtype == OX_F64 ? 64 + (double)r.n / 16 : 12;
            if (!is_close_around(y->dtype, got, line.want[i], ulps, line.around[i])) wrong = i;
        }
        wrong_row = j;
    }
    CHECK_MSG(wrong < 0, "%s of %s, %s, %d: row %lld of %lld, element %lld is %.9g, not %.9g", row_names[op],
              ox_dtype_name(x->dtype), how, which, (long long)wrong_row, (long long)r.n, (long long)wrong,
              wrong < 0 ? 0 : load_real(y->dtype, element(y, place_of(&r, wrong_row, wrong))),
              wrong < 0 ? 0 : line.want[wrong]);
    free(line.x);
}

/* ---- dtypes and layouts -------------------------------------------------------------------------------- */

/* Of another float type now and then; f64 meets only its own. */
static ox_tensor *weight_like(int which, int ndim, const int64_t *shape, ox_dtype dtype) {
    static const ox_dtype dtypes[] = {OX_F32, OX_BF16, OX_F16};
    if (which % 3 == 0) return NULL;
    return random_layout(which % 2 ? LAYOUT_PLAIN : LAYOUT_TRANSPOSED, DOMAIN_UNIT, ndim, shape,
                         which % 4 == 1 || dtype == OX_F64 ? dtype : dtypes[which / 4 % 3]);
}

static void test_dtypes_and_layouts(void) {
    static const int64_t shapes[][4] = {{3, 8, 5, 6},  {2, 6, 33, 1}, {20, 4, 3, 2},
                                        {1, 2, 5, 70}, {4, 6, 1, 1},  {2, 70, 3, 3}};
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16, OX_F8_E4M3};
    int turn = 0;
    for (int s = 0; s < 6; s++)
        for (int d = 0; d < 5; d++)
            for (int l = 0; l < LAYOUT_COUNT; l++)
                for (int op = 0; op < ROW_OPS; op++)
                    OX_SCOPE {
                        const int64_t *shape = shapes[s];
                        ox_tensor *x = random_layout((layout)l, DOMAIN_MODEST, 4, shape, dtypes[d]),
                                  *weight = NULL, *bias = NULL;
                        int which = (s + l + op) % 4;
                        turn++;
                        if (op == LAYER_NORM || op == RMS_NORM) {
                            which = which + 1;
                            weight = weight_like(turn, which, shape + 4 - which, dtypes[d]);
                            bias = weight_like(turn / 3, which, shape + 4 - which, dtypes[d]);
                        } else if (op == GROUP_NORM) {
                            which = which % 2 ? 2 : (int)shape[1];
                            weight = weight_like(turn, 1, shape + 1, dtypes[d]);
                            bias = weight_like(turn / 3, 1, shape + 1, dtypes[d]);
                        }
                        check_rows((row_op)op, x, which, weight, bias, layout_name((layout)l));
                    }
}

static ox_tensor *random_big(ox_shape shape, ox_dtype dtype) {
    ox_tensor *t = ox_empty(shape, dtype);
    if (t) random_values(DOMAIN_MODEST, dtype, ox_numel(t), ox_data(t));
    return t;
}

/* Many short rows, rows beyond the cache, rows that are cut into chunks, columns. */
static void test_sizes(void) {
    static const int64_t shapes[][2] = {{70, 1},    {100, 7},   {40, 64},  {3, 2049}, {2, 20000},
                                        {1, 70001}, {2, 66000}, {300, 40}, {18, 1100}};
    static const ox_dtype dtypes[] = {OX_F32, OX_BF16, OX_F64};
    for (int s = 0; s < 9; s++)
        for (int op = 0; op < GROUP_NORM; op++)
            OX_SCOPE {
                ox_dtype dtype = dtypes[(s + op) % 3];
                ox_tensor *x = random_big(OX_SHAPE(shapes[s][0], shapes[s][1]), dtype);
                ox_dtype plain = dtype == OX_F64 ? OX_F64 : OX_F32;
                ox_tensor *weight = random_big(OX_SHAPE(shapes[s][1]), plain),
                          *across = random_big(OX_SHAPE(shapes[s][0]), dtype);
                bool norm = op >= LAYER_NORM;
                check_rows((row_op)op, x, 1, weight, s % 2 ? weight : NULL, "sizes");
                check_rows((row_op)op, norm ? ox_t(x) : x, norm ? 1 : 0, across, NULL, "columns");
            }
    OX_SCOPE {
        ox_tensor *x = random_big(OX_SHAPE(2, 32, 18, 18), OX_F32),
                  *weight = random_big(OX_SHAPE(32), OX_F32);
        ox_tensor *last = ox_permute(random_big(OX_SHAPE(2, 18, 18, 32), OX_F16), OX_DIMS(0, 3, 1, 2));
        check_rows(GROUP_NORM, x, 8, weight, weight, "images");
        check_rows(GROUP_NORM, x, 1, NULL, weight, "images");
        check_rows(GROUP_NORM, last, 4, weight, weight, "channels last");
        check_rows(SOFTMAX, x, 1, NULL, NULL, "images");
        check_rows(LOG_SOFTMAX, last, 1, NULL, NULL, "channels last");
        check_rows(GROUP_NORM, random_big(OX_SHAPE(1, 2, 66000), OX_F32), 1, NULL, NULL, "long groups");
        check_rows(GROUP_NORM, random_big(OX_SHAPE(9, 12), OX_F64), 3,
                   ox_cast(ox_narrow(weight, 0, 5, 12), OX_F64), NULL, "no pixels");
        CHECK(ox_numel(ox_softmax(ox_empty(OX_SHAPE(3, 0), OX_F32), 1)) == 0 &&
              ox_numel(ox_softmax(ox_empty(OX_SHAPE(0, 3), OX_F32), 1)) == 0);
        CHECK(ox_item(ox_softmax(ox_full(OX_SCALAR_SHAPE, 3, OX_F32), 0)) == 1);
    }
}

/* ---- special values ------------------------------------------------------------------------------------ */

static double at(ox_tensor *t, int64_t i) {
    return load_real(t->dtype, element(t, i));
}

static void check_infinities(ox_tensor *x, int dim) {
    /* Along dim: all -inf; one number among -inf; +inf; NaN; far below 0. */
    ox_tensor *soft = ox_softmax(x, dim), *logs = ox_log_softmax(x, dim);
    int64_t step = dim == 0 ? x->shape[1] : 1, next = dim == 0 ? 1 : x->shape[1], n = x->shape[dim];
    bool nowhere = true, one = true, odd = true, even = true;
    for (int64_t i = 0; i < n; i++) {
        double s[5], l[5];
        for (int k = 0; k < 5; k++) {
            s[k] = at(soft, k * next + i * step);
            l[k] = at(logs, k * next + i * step);
        }
        nowhere = nowhere && isnan(s[0]) && isnan(l[0]);
        one = one && s[1] == (i == 1) && l[1] == (i == 1 ? 0 : -(double)INFINITY);
        odd = odd && isnan(s[2]) && isnan(l[2]) && isnan(s[3]) && isnan(l[3]);
        even = even && fabs(s[4] * (double)n - 1) < 1e-6 && fabs(l[4] + log((double)n)) < 1e-5;
    }
    CHECK(nowhere);
    CHECK(one);
    CHECK(odd);
    CHECK(even);
}

static void test_infinities(void) {
    static const int64_t sizes[] = {4, 40, 66000};
    for (int s = 0; s < 3; s++)
        for (int wide = 0; wide < 2; wide++)
            OX_SCOPE {
                int64_t n = sizes[s];
                ox_dtype dtype = wide ? OX_F64 : OX_F32;
                ox_tensor *x = ox_full(OX_SHAPE(n > 1000 ? 5 : 20, n), -INFINITY, dtype);
                for (int64_t i = 0; i < n; i++) {
                    store_real(dtype, element(x, 2 * n + i), i == 2 ? (double)INFINITY : 1);
                    store_real(dtype, element(x, 3 * n + i), i == 3 ? (double)NAN : 1);
                    store_real(dtype, element(x, 4 * n + i), -1e6);
                }
                store_real(dtype, element(x, n + 1), -700);
                check_infinities(x, 1);
                check_infinities(plain_copy(ox_t(x)), 0);
            }
}

/* Rows whose mean is far larger than their deviation, and rows of one number: the result is 0. */
static void test_far_means(void) {
    OX_SCOPE {
        ox_tensor *x = ox_empty(OX_SHAPE(20, 500), OX_F32), *same = ox_full(OX_SHAPE(20, 500), 1e4, OX_F32);
        for (int64_t i = 0; i < 10000; i++) store_real(OX_F32, element(x, i), 1e6 + 4 * test_uniform());
        check_rows(LAYER_NORM, x, 1, NULL, NULL, "far from 0");
        check_rows(LAYER_NORM, ox_t(x), 1, NULL, NULL, "far from 0");
        check_rows(GROUP_NORM, x, 4, NULL, NULL, "far from 0");
        /* a few numbers that are far from all others, where a first look at a row may fall */
        ox_tensor *odd = random_big(OX_SHAPE(20, 500), OX_F32);
        for (int64_t i = 0; i < 10000; i++)
            if (i % 500 % 125 < 4 && i / 500 % 5 != 0)
                store_real(OX_F32, element(odd, i), i / 500 % 2 ? 1e3 : 1e12);
        check_rows(LAYER_NORM, odd, 1, NULL, NULL, "a few numbers far away");
        check_rows(RMS_NORM, odd, 1, NULL, NULL, "a few numbers far away");
        check_rows(GROUP_NORM, odd, 4, NULL, NULL, "a few numbers far away");
        ox_tensor *y = ox_layer_norm(same, 1, NULL, NULL, 1e-5);
        for (int64_t i = 0; i < 10000; i += 977) CHECK(fabs(at(y, i)) < 1e-3);
        ox_tensor *tiny = ox_full(OX_SHAPE(3, 50), 1e-25, OX_F32),
                  *huge = ox_full(OX_SHAPE(3, 50), 1e30, OX_F32);
        CHECK(fabs(at(ox_rms_norm(huge, 1, NULL, 1e-6), 7) - 1) < 1e-6 &&
              fabs(at(ox_rms_norm(tiny, 1, NULL, 0), 7) - 1) < 1e-6);
    }
}

/* Norms whose results are more than caches hold, in rows that begin and end within lines of memory: the bits
 * of few rows. */
static void test_large_norms(void) {
    static const int64_t lengths[] = {17, 37, 250, 999, 1024, 4099, 70001};
    for (int s = 0; s < 7; s++)
        OX_SCOPE {
            const int64_t n = lengths[s], rows = 2100000 / n + 8;
            if (n < 999 && is_short_mirror()) continue; /* caches are the CPU's; test_sizes has many rows */
            ox_tensor *x = ox_randn(OX_SHAPE(rows, n), OX_F32);
            ox_tensor *weight = ox_randn(OX_SHAPE(n), OX_F32), *bias = ox_randn(OX_SHAPE(n), OX_F32);
            ox_tensor *some = ox_narrow(x, 0, rows / 2, 8), *all[3], *few[3];
            store_real(OX_F32, element(some, n / 2), 1e6);
            /* far from 0; all the same; squares beyond f32; not finite */
            for (int64_t i = 0; i < n; i++) {
                store_real(OX_F32, element(some, n + i), 1e6 + (double)(i % 5));
                store_real(OX_F32, element(some, 3 * n + i), 3);
                store_real(OX_F32, element(some, 6 * n + i), 1e25 * (double)(i % 3 + 1));
            }
            store_real(OX_F32, element(some, 4 * n + n / 4), (double)INFINITY);
            for (int part = 0; part < 2; part++) {
                ox_tensor *rows_of_it = part ? some : x, **result = part ? few : all;
                result[0] = ox_layer_norm(rows_of_it, 1, weight, bias, 1e-5);
                result[1] = ox_layer_norm(rows_of_it, 1, NULL, NULL, 1e-5);
                result[2] = ox_rms_norm(rows_of_it, 1, weight, 1e-5);
            }
            for (int k = 0; k < 3; k++)
                CHECK_MSG(same_bits(ox_narrow(all[k], 0, rows / 2, 8), few[k]), "norm %d of rows of %d", k,
                          (int)n);
            check_rows(LAYER_NORM, ox_narrow(x, 0, rows / 3, 6), 1, weight, bias, "of many rows");
        }
}

/* Rows of a large view have the bits of its copy: cut out of longer ones, upside down, one row again and
 * again, with the middle dims swapped. */
static void test_large_views(void) {
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(2100, 1033), OX_F32), *views[5];
        ox_tensor *weight = ox_randn(OX_SHAPE(1001), OX_F32), *bias = ox_randn(OX_SHAPE(1001), OX_F32);
        ox_tensor *part = ox_narrow(x, 1, 7, 1001);
        views[0] = part;
        views[1] = backwards(part, OX_DIMS(0));
        views[2] = ox_expand(ox_narrow(part, 0, 5, 1), OX_SHAPE(2100, 1001));
        views[3] = ox_transpose(ox_view(part, OX_SHAPE(30, 70, 1001)), 0, 1);
        views[4] = backwards(part, OX_DIMS(1));
        for (int v = 0; v < 5; v++) {
            ox_tensor *copy = plain_copy(views[v]);
            ox_tensor *of_view = ox_layer_norm(views[v], 1, weight, bias, 1e-5),
                      *of_copy = ox_layer_norm(copy, 1, weight, bias, 1e-5);
            if (v < 4)
                CHECK_MSG(of_view && same_bits(of_view, of_copy), "layer_norm of view %d", v);
            else
                check_rows(LAYER_NORM, views[v], 1, weight, bias, "each row backwards");
            of_view = ox_rms_norm(views[v], 1, weight, 1e-5);
            of_copy = ox_rms_norm(copy, 1, weight, 1e-5);
            if (v < 4) CHECK_MSG(of_view && same_bits(of_view, of_copy), "rms_norm of view %d", v);
        }
        check_rows(LAYER_NORM, ox_narrow(views[1], 0, 0, 300), 1, weight, bias, "part of a view");
    }
}

/* ---- in place, threads --------------------------------------------------------------------------------- */

static void test_thread_counts(void) {
    static const int64_t shapes[][2] = {{1, 66000}, {300, 90}, {300, 3}, {7, 1500}, {2200, 1001}};
    for (int s = 0; s < 5; s++)
        for (int op = 0; op < ROW_OPS; op++)
            for (int turned = 0; turned < 2; turned++)
                OX_SCOPE {
                    /* the threads are the CPU's; nothing else has more groups than a dispatch of a GPU */
                    if (is_short_mirror() && !(op == GROUP_NORM && s == 0 && turned)) continue;
                    ox_dtype dtype = op % 2 || s == 4 ? OX_F32 : OX_BF16;
                    ox_tensor *x = random_big(OX_SHAPE(shapes[s][0], shapes[s][1]), dtype), *first = NULL;
                    if (turned) x = ox_t(x);
                    for (int threads = 1; threads <= 4; threads += 3) {
                        rows r = rows_of((row_op)op, x, 1);
                        ox_set_threads(threads);
                        ox_tensor *y = run_rows(&r, x, NULL, NULL, 1e-5);
                        if (!first) first = y;
                        CHECK_MSG(same_bits(first, y), "%s with %d threads", row_names[op], threads);
                    }
                }
    ox_set_threads(0);
}

int main(void) {
    test_dtypes_and_layouts();
    test_sizes();
    test_infinities();
    test_far_means();
    test_large_norms();
    test_large_views();
    test_thread_counts();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    return check_done("rows");
}
