/* test_back.c - gradients that a row of its own computes (autograd/back/) against those of the composed rules
 * in f64: gelu and silu, softmax, norms, attention; operands of every layout and dtype, masks, groups of
 * heads, sizes from 1, tasks and blocks of all numbers. Whether a row ran is read from the profiler.
 * OX_TIERS */
#include "back_rows.h"

#include "oxtorch_nn.h"

#include <math.h>
#include <stdlib.h>

/* A tensor of that layout; the numbers of `values`, but where several elements share memory: other ones. */
static ox_tensor *laid_out(layout l, ox_tensor *values, ox_dtype dtype) {
    ox_tensor *base;
    return laid_out_over(l, values, dtype, &base);
}

static double off_by(ox_tensor *a, ox_tensor *b) {
    return ox_item(ox_amax(ox_abs(ox_sub(ox_cast(a, OX_F64), b)), OX_ALL_DIMS, false));
}

/* in: f64. Each is taken as `dtype` too, in a layout; g's is g_layout. row NULL: any may compute it. */
static void check_laid_out(const char *row, back_function f, void *user, ox_tensor *const *in, int count,
                           ox_dtype dtype, layout l, layout g_layout, double near_by) {
    ox_tensor *narrow[MOST_IN] = {NULL}, *wide[MOST_IN] = {NULL};
    ox_tensor *ours[MOST_IN] = {NULL}, *theirs[MOST_IN] = {NULL};
    for (int i = 0; i < count; i++) {
        narrow[i] = wide[i] = in[i];
        if (!in[i] || !ox_requires_grad(in[i])) continue;
        narrow[i] = laid_out(l, ox_detach(in[i]), dtype);
        wide[i] = ox_requires_grad_(ox_cast(ox_detach(narrow[i]), OX_F64), true);
        narrow[i] = ox_requires_grad_(ox_detach(narrow[i]), true);
    }
    ox_tensor *plain = f(wide, user), *g = ox_sub_number(ox_rand(ox_shape_of(plain), OX_F64), 0.4);
    g = laid_out(g_layout, g, dtype);
    gradients(f, user, wide, count, g, true, theirs);
    ox_profile_begin();
    gradients(f, user, narrow, count, g, false, ours);
    ox_profile_end();
    for (int r = 0; r < BACK_ROWS; r++) back_row_ran[r] = back_row_ran[r] || ran(back_rows[r]);
    CHECK_MSG(!row || ran(row), "%s did not run for %s, %s", row ? row : "", ox_dtype_name(dtype),
              layout_name(l));
    for (int i = 0; i < count && theirs[i]; i++) {
        double most = ox_item(ox_amax(ox_abs(theirs[i]), OX_ALL_DIMS, false)) + 1;
        CHECK_MSG(ours[i] && ours[i]->dtype == dtype &&
                      ox_allclose(ox_cast(ours[i], OX_F64), theirs[i], near_by, near_by * most, false),
                  "%s, gradient %d of %s, %s, off by %g of %g: %s", row ? row : "", i, ox_dtype_name(dtype),
                  layout_name(l), ours[i] ? off_by(ours[i], theirs[i]) : 0, most, ox_error_text());
    }
    ox_error_clear();
}

static void check_back(const char *row, back_function f, void *user, ox_tensor *const *in, int count,
                       ox_dtype dtype, layout l, double near_by) {
    check_laid_out(row, f, user, in, count, dtype, l, (layout)((l + 1) % LAYOUT_COUNT), near_by);
}

static ox_tensor *leaf_of(ox_shape shape) {
    return ox_requires_grad_(ox_randn(shape, OX_F64), true);
}

static const struct {
    ox_dtype dtype;
    double near_by;
} dtypes[] = {{OX_F32, 2e-6}, {OX_F16, 2e-3}, {OX_BF16, 2e-2}};

/* ---- functions ----------------------------------------------------------------------------------------- */

static ox_tensor *gelu_of(ox_tensor *const *in, void *user) {
    (void)user;
    return ox_gelu(in[0]);
}
static ox_tensor *gelu_tanh_of(ox_tensor *const *in, void *user) {
    (void)user;
    return ox_gelu_tanh(in[0]);
}
static ox_tensor *silu_of(ox_tensor *const *in, void *user) {
    (void)user;
    return ox_silu(in[0]);
}
static const struct {
    const char *row;
    back_function f;
} functions[] = {{"gelu_back", gelu_of}, {"gelu_tanh_back", gelu_tanh_of}, {"silu_back", silu_of}};

/* Where operands lie side by side the row runs, elsewhere the formula. From 8 MB on, results are streamed. */
static void test_functions(void) {
    static const int64_t sizes[][2] = {{1, 1}, {3, 5}, {7, 33}, {40, 1000}, {3, 1000001}};
    for (int f = 0; f < 3; f++)
        for (int d = 0; d < 3; d++)
            for (int s = 0; s < 5; s++)
                for (int l = 0; l < LAYOUT_COUNT; l += s == 4 ? LAYOUT_COUNT : 1)
                    OX_SCOPE {
                        ox_tensor *x = ox_mul_number(ox_randn(OX_SHAPE(sizes[s][0], sizes[s][1]), OX_F64), 4);
                        x = ox_requires_grad_(x, true);
                        const char *row = l == LAYOUT_PLAIN ? functions[f].row : NULL;
                        check_laid_out(row, functions[f].f, NULL, &x, 1, dtypes[d].dtype, (layout)l,
                                       (layout)l, dtypes[d].near_by / 4);
                    }
}

/* All of f32's range: beyond 20 the gradient is 0 or 1, and NaN at infinities and NaN, as torch has it. */
static void test_function_ends(void) {
    static const float ends[] = {-INFINITY, INFINITY, NAN, -3e38f, 3e38f, -1e10f, 1e10f, -100, 100,
                                 -20,       20,       0,   -0.0f,  1e-45f, -1e-45f, 9.4f, 13.1f};
    enum { COUNT = sizeof ends / sizeof *ends };
    for (int f = 0; f < 3; f++)
        OX_SCOPE {
            ox_tensor *x = ox_requires_grad_(ox_from_data(ends, OX_SHAPE(COUNT), OX_F32), true), *got;
            gradients(functions[f].f, NULL, &x, 1, ox_full(OX_SHAPE(COUNT), 2, OX_F32), false, &got);
            const float *g = (const float *)ox_data(got);
            for (int i = 0; i < COUNT; i++) {
                double wanted = fabsf(ends[i]) < 1e-30f ? 1 : ends[i] > 0 ? 2 : 0;
                bool is_nan = !(fabsf(ends[i]) < INFINITY);
                double near_by = fabsf(ends[i]) < 15 && fabsf(ends[i]) > 1 ? 4e-3 : 1e-7;
                CHECK_MSG(is_nan ? g[i] != g[i] : fabs(g[i] - wanted) <= near_by, "%s at %g: %g",
                          functions[f].row, ends[i], g[i]);
            }
        }
}

static long double gelu_slope(long double x) {
    return 0.5L * erfcl(-x * 0.70710678118654752440L) + x * 0.39894228040143267794L * expl(-x * x / 2);
}
static long double logistic_slope(long double x, long double u, long double slope) {
    long double s = 1 / (1 + expl(-u));
    return s + x * s * (1 - s) * slope;
}
static long double gelu_tanh_slope(long double x) {
    return logistic_slope(x, 1.59576912160573071176L * (x + 0.044715L * x * x * x),
                          1.59576912160573071176L * (1 + 0.134145L * x * x));
}
static long double silu_slope(long double x) { return logistic_slope(x, x, 1); }

/* Every 3,001st float of either sign from 2^-31 to 100: off by one part in 2^23 of the largest gradient at
 * most, and where gelu's slope changes its sign by little of what it is there. */
static void test_function_accuracy(void) {
    static long double (*const slopes[])(long double) = {gelu_slope, gelu_tanh_slope, silu_slope};
    enum { MOST = 220000 };
    float *at = (float *)malloc(MOST * sizeof *at);
    int64_t count = 0;
    for (uint32_t bits = 0x30000000; at && bits < 0x42c80000 && count + 2 <= MOST; bits += 3001, count += 2) {
        memcpy(&at[count], &bits, sizeof bits);
        at[count + 1] = -at[count];
    }
    CHECK(at && count + 2 < MOST);
    for (int f = 0; f < 3 && at; f++)
        OX_SCOPE {
            ox_tensor *x = ox_requires_grad_(ox_from_data(at, OX_SHAPE(count), OX_F32), true), *got;
            gradients(functions[f].f, NULL, &x, 1, ox_full(OX_SHAPE(count), 1, OX_F32), false, &got);
            const float *g = (const float *)ox_data(got);
            double most = 0, ratio = 0;
            for (int64_t i = 0; i < count; i++) {
                long double wanted = slopes[f]((long double)at[i]);
                double off = (double)fabsl((long double)g[i] - wanted), size = (double)fabsl(wanted);
                most = check_worst(most, off);
                bool near_zero = f < 2 && fabsf(at[i] + 0.75f) < 0.1f && size > 1e-4;
                if (near_zero && off / size > ratio) ratio = off / size;
            }
            CHECK_MSG(most <= (f < 2 ? 1.2e-7 : 1.5e-7), "%s: off by %g", functions[f].row, most);
            CHECK_MSG(ratio <= 1e-4, "%s: near 0 off by %g of it", functions[f].row, ratio);
        }
    free(at);
}

/* ---- softmax and norms --------------------------------------------------------------------------------- */

static ox_tensor *softmax_of(ox_tensor *const *in, void *user) {
    (void)user;
    return ox_softmax(in[0], -1);
}
static ox_tensor *log_softmax_of(ox_tensor *const *in, void *user) {
    (void)user;
    return ox_log_softmax(in[0], -1);
}
static ox_tensor *layer_norm_of(ox_tensor *const *in, void *user) {
    return ox_layer_norm(in[0], *(int *)user, in[1], in[2], 1e-5);
}
static ox_tensor *rms_norm_of(ox_tensor *const *in, void *user) {
    return ox_rms_norm(in[0], *(int *)user, in[1], 1e-5);
}

static void check_rows(int64_t rows, int64_t n, ox_dtype dtype, double near_by, layout l) {
    int one = 1, two = 2;
    ox_tensor *x = leaf_of(OX_SHAPE(rows, 2, n)), *in[3] = {x, NULL, NULL};
    check_back("softmax_back", softmax_of, NULL, in, 1, dtype, l, near_by);
    check_back("log_softmax_back", log_softmax_of, NULL, in, 1, dtype, l, near_by);
    check_back("layer_norm_back", layer_norm_of, &two, in, 3, dtype, l, near_by * 8);
    check_back("rms_norm_back", rms_norm_of, &one, in, 2, dtype, l, near_by * 8);
    in[1] = leaf_of(OX_SHAPE(n));
    check_back("layer_norm_back", layer_norm_of, &one, in, 3, dtype, l, near_by * 8);
    check_back("rms_norm_back", rms_norm_of, &one, in, 2, dtype, l, near_by * 8);
    in[2] = leaf_of(OX_SHAPE(n));
    check_back("layer_norm_back", layer_norm_of, &one, in, 3, dtype, l, near_by * 8);
}

static void test_rows(void) {
    static const int64_t sizes[][2] = {{1, 5}, {3, 1}, {7, 33}, {40, 768}, {2, 20000}};
    for (int d = 0; d < 3; d++)
        for (int s = 0; s < 5; s++)
            for (int l = 0; l<LAYOUT_COUNT; l += sizes[s][1]> 1000 ? 4 : 1)
                OX_SCOPE {
                    check_rows(sizes[s][0], sizes[s][1], dtypes[d].dtype, dtypes[d].near_by, (layout)l);
                }
}

/* ---- batch, group and instance norm -------------------------------------------------------------------- */

/* user: running mean and variance, of f32; the statistics of these where it is not training. */
static ox_tensor *batch_norm_of(ox_tensor *const *in, void *user) {
    ox_tensor **running = (ox_tensor **)user;
    bool wide = in[0]->dtype == OX_F64;
    ox_tensor *mean = running[0] && wide ? ox_cast(running[0], OX_F64) : running[0];
    ox_tensor *variance = running[1] && wide ? ox_cast(running[1], OX_F64) : running[1];
    return ox_batch_norm(in[0], in[1], in[2], mean, variance, !running[0], 0.1, 1e-5);
}

static void check_channels(ox_shape shape, int groups, ox_dtype dtype, double near_by, layout l) {
    int64_t channels = shape.dim[1];
    ox_tensor *in[3] = {leaf_of(shape), NULL, NULL}, *running[2] = {NULL, NULL};
    for (int weights = 0; weights < 3; weights++) {
        if (weights) in[weights] = leaf_of(OX_SHAPE(channels));
        check_back("group_norm_back", group_norm_of, &groups, in, 3, dtype, l, near_by * 8);
        check_back("group_norm_back", instance_norm_of, NULL, in, 3, dtype, l, near_by * 8);
        check_back("group_norm_back", batch_norm_of, running, in, 3, dtype, l, near_by * 8);
        running[0] = ox_randn(OX_SHAPE(channels), OX_F32);
        running[1] = ox_add_number(ox_rand(OX_SHAPE(channels), OX_F32), 0.5);
        check_back("group_norm_back", batch_norm_of, running, in, 3, dtype, l, near_by * 8);
        running[0] = running[1] = NULL;
    }
}

static void test_channels(void) {
    static const struct {
        ox_shape shape;
        int groups;
    } cases[] = {{{3, {5, 4, 3}}, 2},      {{3, {2, 6, 33}}, 3},     {{4, {3, 4, 7, 9}}, 1},
                 {{4, {9, 32, 30, 31}}, 8}, {{3, {1, 2, 9000}}, 2}, {{5, {2, 4, 3, 4, 5}}, 4}};
    for (int d = 0; d < 3; d++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int l = 0; l < LAYOUT_COUNT; l += i == 3 || i == 4 ? 4 : 1)
                OX_SCOPE {
                    check_channels(cases[i].shape, cases[i].groups, dtypes[d].dtype, dtypes[d].near_by,
                                   (layout)l);
                }
}

/* x [N,C], where a channel's numbers lie apart, and there is no instance of several. */
static void test_two_dims(void) {
    OX_SCOPE {
        int groups = 3;
        ox_tensor *in[3] = {leaf_of(OX_SHAPE(70, 6)), leaf_of(OX_SHAPE(6)), leaf_of(OX_SHAPE(6))};
        ox_tensor *running[2] = {NULL, NULL};
        check_back("group_norm_back", batch_norm_of, running, in, 3, OX_F32, LAYOUT_PLAIN, 2e-5);
        check_back("group_norm_back", group_norm_of, &groups, in, 3, OX_F32, LAYOUT_PLAIN, 2e-4);
    }
}

/* A mean far larger than the deviation, which f32 holds in part. */
static void test_far_mean(void) {
    OX_SCOPE {
        int one = 1;
        ox_tensor *x = ox_requires_grad_(ox_add_number(ox_randn(OX_SHAPE(6, 500), OX_F64), 3000), true);
        ox_tensor *in[3] = {x, leaf_of(OX_SHAPE(500)), NULL};
        check_back("layer_norm_back", layer_norm_of, &one, in, 3, OX_F32, LAYOUT_PLAIN, 1e-5);
        x = ox_requires_grad_(ox_view(ox_detach(x), OX_SHAPE(3, 2, 500)), true);
        ox_tensor *channels[3] = {x, leaf_of(OX_SHAPE(2)), NULL}, *running[2] = {NULL, NULL};
        check_back("group_norm_back", group_norm_of, &one, channels, 3, OX_F32, LAYOUT_PLAIN, 1e-5);
        /* the mean of a batch is an operand, of f32 */
        channels[0] = ox_requires_grad_(ox_sub_number(ox_detach(x), 2970), true);
        check_back("group_norm_back", batch_norm_of, running, channels, 3, OX_F32, LAYOUT_PLAIN, 1e-4);
    }
}

/* Rows whose squares f32 does not hold, or barely, and such whose mean is far from the numbers that rows are
 * measured about: the first ones of each quarter. */
static void test_odd_rows(void) {
    static const double scales[] = {1e-12, 1e-5, 1, 1e9, 1e18};
    for (int s = 0; s < 5; s++)
        for (int off = 0; off < 2; off++)
            OX_SCOPE {
                int one = 1;
                ox_tensor *x = ox_mul_number(ox_randn(OX_SHAPE(5, 400), OX_F64), scales[s]);
                for (int64_t i = 0; off && i < ox_numel(x); i++)
                    if (i % 100 < 4) ((double *)ox_data(x))[i] = 300 * scales[s] + (double)i * scales[s];
                ox_tensor *in[3] = {ox_requires_grad_(x, true), leaf_of(OX_SHAPE(400)), NULL};
                check_back("layer_norm_back", layer_norm_of, &one, in, 3, OX_F32, LAYOUT_PLAIN, 3e-5);
                check_back("rms_norm_back", rms_norm_of, &one, in, 2, OX_F32, LAYOUT_PLAIN, 3e-5);
            }
}

/* Rows of n past what caches hold, of which operands begin `skip` numbers behind a line: pieces of them have
 * the same bits as alone, where results do not go past the caches. */
static void check_large_rows(int64_t n, int64_t skip) {
    OX_SCOPE {
        int one = 1;
        int64_t rows = 2400000 / n, piece = 40;
        ox_tensor *x[3], *whole[3], *alone[3], *base[2], *softmax[1];
        for (int i = 0; i < 2; i++) {
            base[i] = ox_narrow(ox_randn(OX_SHAPE(rows * n + skip), OX_F32), 0, skip, rows * n);
            base[i] = ox_view(base[i], OX_SHAPE(rows, n));
        }
        for (int i = 1; i < 3; i++) x[i] = ox_requires_grad_(ox_randn(OX_SHAPE(n), OX_F32), true);
        x[0] = ox_requires_grad_(ox_detach(base[0]), true);
        gradients(layer_norm_of, &one, x, 3, base[1], false, whole);
        gradients(softmax_of, NULL, x, 1, base[1], false, softmax);
        for (int64_t at = 0; at < rows; at += rows / 3 - piece / 3) {
            int64_t count = at + piece < rows ? piece : rows - at;
            x[0] = ox_requires_grad_(ox_narrow(base[0], 0, at, count), true);
            gradients(layer_norm_of, &one, x, 3, ox_narrow(base[1], 0, at, count), false, alone);
            CHECK_MSG(ox_equal(ox_narrow(whole[0], 0, at, count), alone[0]), "rows of %lld from %lld, %lld",
                      (long long)n, (long long)at, (long long)skip);
            gradients(softmax_of, NULL, x, 1, ox_narrow(base[1], 0, at, count), false, alone);
            CHECK_MSG(ox_equal(ox_narrow(softmax[0], 0, at, count), alone[0]), "softmax's, %lld from %lld",
                      (long long)n, (long long)at);
        }
    }
}

/* Past what caches hold, results go round them. */
static void test_large_rows(void) {
    static const int64_t sizes[] = {5, 16, 40, 801, 1000, 1024, 2048, 2049, 4100};
    OX_SCOPE {
        int one = 1;
        ox_tensor *in[3] = {leaf_of(OX_SHAPE(3000, 801)), leaf_of(OX_SHAPE(801)), leaf_of(OX_SHAPE(801))};
        check_back("layer_norm_back", layer_norm_of, &one, in, 3, OX_F32, LAYOUT_PLAIN, 2e-5);
        check_back("softmax_back", softmax_of, NULL, in, 1, OX_F32, LAYOUT_PLAIN, 2e-6);
        check_back("log_softmax_back", log_softmax_of, NULL, in, 1, OX_F32, LAYOUT_PLAIN, 2e-6);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_large_rows(sizes[i], i % 3);
}

/* ---- recurrent nets ------------------------------------------------------------------------------------ */

static void check_net(int net, int64_t times, int64_t samples, int64_t width, ox_dtype dtype, layout l,
                      double near_by) {
    int64_t from = 3, rows = net_gates[net] * width;
    ox_tensor *in[5] = {leaf_of(OX_SHAPE(times, samples, from)), leaf_of(OX_SHAPE(1, samples, width)),
                        leaf_of(OX_SHAPE(rows, from)), leaf_of(OX_SHAPE(rows, width)),
                        net == NET_LSTM ? leaf_of(OX_SHAPE(1, samples, width)) : NULL};
    for (int i = 2; i < 4; i++) in[i] = ox_requires_grad_(ox_mul_number(ox_detach(in[i]), 0.4), true);
    check_back("recurrent_step_back", net_of, &net, in, 5, dtype, l, near_by);
    check_back("recurrent_step", net_of, &net, in, 5, dtype, l, near_by);
}

static void test_nets(void) {
    static const int64_t sizes[][3] = {{1, 1, 1}, {3, 2, 5}, {4, 7, 33}, {2, 150, 64}};
    for (int net = 0; net < NETS; net++)
        for (int d = 0; d < 3; d++)
            for (int s = 0; s < 4; s++)
                for (int l = 0; l < LAYOUT_COUNT; l += s > 1 ? 5 : 1)
                    OX_SCOPE {
                        /* relu of f16 and bf16 sums, whose sign is left to rounding */
                        if (net == NET_RELU && d > 0) continue;
                        check_net(net, sizes[s][0], sizes[s][1], sizes[s][2], dtypes[d].dtype, (layout)l,
                                  dtypes[d].near_by * 20);
                    }
}

/* Gradients of gradients, which are made of functions behind the row: as those of f64. */
static void test_net_twice(void) {
    for (int net = 0; net < NETS; net++)
        OX_SCOPE {
            int64_t rows = net_gates[net] * 4;
            ox_tensor *numbers[5] = {ox_randn(OX_SHAPE(3, 2, 3), OX_F32), ox_randn(OX_SHAPE(1, 2, 4), OX_F32),
                                     ox_randn(OX_SHAPE(rows, 3), OX_F32), ox_randn(OX_SHAPE(rows, 4), OX_F32),
                                     net == NET_LSTM ? ox_randn(OX_SHAPE(1, 2, 4), OX_F32) : NULL};
            ox_tensor *twice[2][5];
            int count = net == NET_LSTM ? 5 : 4;
            for (int wide = 0; wide < 2; wide++) {
                ox_tensor *in[5] = {NULL}, *first[5], *sum = NULL;
                ox_grad_desc desc;
                memset(&desc, 0, sizeof desc);
                desc.create_graph = true;
                for (int i = 0; i < count; i++)
                    in[i] = ox_requires_grad_(ox_clone(ox_cast(numbers[i], wide ? OX_F64 : OX_F32)), true);
                ox_profile_begin();
                ox_tensor *loss = ox_sum(ox_square(net_of(in, &net)), OX_ALL_DIMS, false);
                ox_profile_end();
                CHECK(ran("recurrent_step") == !wide);
                CHECK(ox_grad(&loss, 1, in, count, &desc, first) == OX_OK);
                for (int i = 0; i < count; i++) {
                    ox_tensor *own = ox_sum(ox_square(first[i]), OX_ALL_DIMS, false);
                    sum = sum ? ox_add(sum, own) : own;
                }
                CHECK_MSG(ox_grad(&sum, 1, in, count, NULL, twice[wide]) == OX_OK, "%s", ox_error_text());
            }
            for (int i = 0; i < count; i++)
                CHECK_MSG(ox_allclose(ox_cast(twice[0][i], OX_F64), twice[1][i], 1e-3, 1e-3, false),
                          "net %d, gradient %d: off by %g", net, i, off_by(twice[0][i], twice[1][i]));
        }
}

/* ---- attention ----------------------------------------------------------------------------------------- */

typedef struct attention_case {
    int64_t batch, heads, kv_heads, queries, keys, depth, value_depth;
    bool causal, sinks;
    int64_t window;
    int mask; /* 1: bool [S,T], 2: f32 [B,1,1,T], 3: f32 [H,S,T] */
    double softcap;
} attention_case;

typedef struct attention_run {
    ox_attention_desc desc;
} attention_run;

static ox_tensor *attention_of(ox_tensor *const *in, void *user) {
    return ox_scaled_dot_product_attention(in[0], in[1], in[2], &((attention_run *)user)->desc);
}

static void check_attention(const attention_case *c, ox_dtype dtype, double near_by, layout l) {
    attention_run run;
    ox_tensor *in[3];
    memset(&run, 0, sizeof run);
    in[0] = leaf_of(OX_SHAPE(c->batch, c->heads, c->queries, c->depth));
    in[1] = leaf_of(OX_SHAPE(c->batch, c->kv_heads, c->keys, c->depth));
    in[2] = leaf_of(OX_SHAPE(c->batch, c->kv_heads, c->keys, c->value_depth));
    run.desc.causal = c->causal;
    run.desc.window = c->window;
    run.desc.softcap = c->softcap;
    if (c->sinks) run.desc.sinks = ox_randn(OX_SHAPE(c->heads), OX_F32);
    if (c->mask == 1) run.desc.mask = ox_gt_number(ox_rand(OX_SHAPE(c->queries, c->keys), OX_F32), 0.4);
    if (c->mask == 2) run.desc.mask = ox_randn(OX_SHAPE(c->batch, 1, 1, c->keys), OX_F32);
    if (c->mask == 3)
        run.desc.mask = ox_flip(ox_randn(OX_SHAPE(c->heads, c->queries, c->keys), OX_F32), OX_DIMS(2));
    check_back("attention_back", attention_of, &run, in, 3, dtype, l, near_by);
}

static void test_attention(void) {
    static const attention_case cases[] = {
        {1, 1, 1, 1, 1, 1, 1, false, false, 0, 0, 0}, {2, 3, 3, 5, 7, 4, 6, false, false, 0, 0, 0},
        {2, 4, 2, 9, 9, 8, 8, true, false, 0, 0, 0}, {1, 6, 2, 20, 33, 5, 3, false, true, 0, 1, 0},
        {2, 2, 1, 40, 40, 16, 16, true, true, 7, 0, 0}, {2, 2, 2, 33, 17, 8, 8, false, false, 0, 2, 0},
        {1, 4, 1, 12, 30, 8, 9, true, false, 0, 3, 0},
        {1, 2, 2, 200, 190, 64, 64, true, false, 0, 0, 0},
        {3, 4, 4, 150, 150, 32, 32, false, false, 0, 0, 0},
        {1, 1, 1, 300, 700, 16, 16, true, false, 50, 0, 0},
        {1, 2, 1, 70, 1300, 8, 8, false, true, 0, 1, 0},
        {1, 1, 1, 1200, 1200, 8, 4, true, false, 0, 0, 0},
        {2, 4, 2, 19, 30, 8, 6, true, true, 0, 3, 1.5},
        {1, 2, 1, 70, 1300, 8, 8, false, false, 0, 0, 0.7}};
    for (int d = 0; d < 3; d++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int l = 0; l<LAYOUT_COUNT; l += cases[i].queries> 100 ? 5 : 1)
                OX_SCOPE {
                    check_attention(&cases[i], dtypes[d].dtype, dtypes[d].near_by * 4, (layout)l);
                }
}

/* What the way there keeps for the way back: one tensor of logsumexps, and none where nothing is recorded. */
static int kept;
static float kept_numbers[100];
static void *note_kept(ox_tensor *t, void *user) {
    if (t->dtype != OX_F32 || t->ndim != *(int *)user || ox_numel(t) > 100) return NULL;
    kept++;
    memcpy(kept_numbers, ox_data(t), ox_nbytes(t));
    return NULL;
}

static void test_logsumexp(void) {
    int ndim = 2;
    ox_saved_hooks hooks;
    memset(&hooks, 0, sizeof hooks);
    hooks.pack = note_kept;
    hooks.user = &ndim;
    for (int sinks = 0; sinks < 2; sinks++)
        OX_SCOPE {
            ox_attention_desc desc;
            memset(&desc, 0, sizeof desc);
            desc.scale = 0.5;
            desc.mask = ox_gt_number(ox_rand(OX_SHAPE(11, 23), OX_F32), 0.4);
            ox_fill_(ox_select(desc.mask, 0, 4), 0);
            if (sinks) desc.sinks = ox_randn(OX_SHAPE(3), OX_F32);
            ox_tensor *q = ox_randn(OX_SHAPE(3, 11, 5), OX_F32), *k = ox_randn(OX_SHAPE(3, 23, 5), OX_F32);
            ox_tensor *v = ox_randn(OX_SHAPE(3, 23, 4), OX_F32);
            ox_tensor *scores = ox_matmul(ox_cast(q, OX_F64), ox_transpose(ox_cast(k, OX_F64), 1, 2));
            scores = ox_where(desc.mask, ox_mul_number(scores, 0.5), ox_number(-INFINITY));
            ox_tensor *wanted = ox_logsumexp(scores, OX_DIMS(2), false);
            if (sinks) wanted = ox_logaddexp(wanted, ox_unsqueeze(ox_cast(desc.sinks, OX_F64), 1));
            ox_fill_(ox_select(wanted, 1, 4), INFINITY); /* sees nothing */
            kept = 0;
            const ox_saved_hooks *before = ox_set_saved_hooks(&hooks);
            CHECK(ox_scaled_dot_product_attention(q, k, v, &desc) && kept == 0);
            q = ox_requires_grad_(q, true);
            ox_set_grad_enabled(false);
            CHECK(ox_scaled_dot_product_attention(q, k, v, &desc) && kept == 0);
            ox_set_grad_enabled(true);
            CHECK(ox_scaled_dot_product_attention(q, k, v, &desc) && kept == 1);
            ox_set_saved_hooks(before);
            ox_tensor *numbers = ox_from_data(kept_numbers, OX_SHAPE(3, 11), OX_F32);
            CHECK(ox_allclose(ox_cast(numbers, OX_F64), wanted, 1e-6, 1e-6, false));
        }
}

/* What comes back to sinks, beside q, k and v by the row. */
static ox_tensor *attention_with_sinks(ox_tensor *const *in, void *user) {
    ox_attention_desc desc = *(ox_attention_desc *)user;
    desc.sinks = in[3];
    return ox_scaled_dot_product_attention(in[0], in[1], in[2], &desc);
}

static void test_sinks(void) {
    for (int ndim = 2; ndim < 5; ndim++)
        OX_SCOPE {
            ox_attention_desc desc;
            ox_tensor *in[4], *ours[4], *theirs[4];
            memset(&desc, 0, sizeof desc);
            desc.causal = true;
            for (int i = 0; i < 3; i++) {
                ox_tensor *t = ox_randn(OX_SHAPE(2, i ? 2 : 4, 9, 8), OX_F32);
                for (int d = ndim; d < 4; d++) t = ox_select(t, 0, 1);
                in[i] = ox_requires_grad_(ox_detach(t), true);
            }
            in[3] = ox_requires_grad_(ox_randn(OX_SHAPE(ndim > 2 ? 4 : 1), OX_F32), true);
            ox_tensor *g = ox_randn(ox_shape_of(in[0]), OX_F32);
            gradients(attention_with_sinks, &desc, in, 4, g, true, theirs);
            ox_profile_begin();
            gradients(attention_with_sinks, &desc, in, 4, g, false, ours);
            ox_profile_end();
            CHECK(ran("attention_back"));
            for (int i = 0; i < 4; i++)
                CHECK_MSG(ox_allclose(ours[i], theirs[i], 1e-5, 1e-5, false), "gradient %d of %d dims", i,
                          ndim);
        }
}

/* Rows that see no key have gradients of zeros. */
static void test_blind(void) {
    OX_SCOPE {
        attention_run run;
        memset(&run, 0, sizeof run);
        run.desc.mask = ox_zeros(OX_SHAPE(4, 6), OX_BOOL);
        ox_tensor *in[3], *g[3];
        for (int i = 0; i < 3; i++)
            in[i] = ox_requires_grad_(ox_randn(OX_SHAPE(2, i ? 6 : 4, 8), OX_F32), true);
        gradients(attention_of, &run, in, 3, ox_ones(OX_SHAPE(2, 4, 8), OX_F32), false, g);
        for (int i = 0; i < 3; i++) CHECK(ox_equal(g[i], ox_zeros_like(in[i])));
    }
}

/* The same bits for any number of threads. */
static void test_threads(void) {
    OX_SCOPE {
        attention_run run;
        int one = 1;
        memset(&run, 0, sizeof run);
        run.desc.causal = true;
        ox_tensor *q[3], *x[3], *first[12], *g[12], *c[3], *running[2] = {NULL, NULL};
        for (int i = 0; i < 3; i++) q[i] = ox_requires_grad_(ox_randn(OX_SHAPE(3, 300, 32), OX_F32), true);
        x[0] = ox_requires_grad_(ox_randn(OX_SHAPE(500, 96), OX_F32), true);
        for (int i = 1; i < 3; i++) x[i] = ox_requires_grad_(ox_randn(OX_SHAPE(96), OX_F32), true);
        ox_tensor *gq = ox_randn(OX_SHAPE(3, 300, 32), OX_F32), *gx = ox_randn(OX_SHAPE(500, 96), OX_F32);
        c[0] = ox_requires_grad_(ox_randn(OX_SHAPE(7, 12, 900), OX_F32), true);
        for (int i = 1; i < 3; i++) c[i] = ox_requires_grad_(ox_randn(OX_SHAPE(12), OX_F32), true);
        ox_tensor *gc = ox_randn(OX_SHAPE(7, 12, 900), OX_F32);
        for (int threads = 1; threads <= 4; threads *= 2) {
            ox_set_threads(threads);
            gradients(attention_of, &run, q, 3, gq, false, threads == 1 ? first : g);
            gradients(layer_norm_of, &one, x, 3, gx, false, threads == 1 ? first + 3 : g + 3);
            gradients(batch_norm_of, running, c, 3, gc, false, threads == 1 ? first + 6 : g + 6);
            gradients(group_norm_of, &one, c, 3, gc, false, threads == 1 ? first + 9 : g + 9);
            for (int i = 0; threads > 1 && i < 12; i++)
                CHECK_MSG(ox_equal(first[i], g[i]), "gradient %d of %d threads", i, threads);
        }
        ox_set_threads(0);
    }
}

/* Of nothing: gradients are zeros, or none. */
static void check_empty(back_function f, void *user, ox_tensor *const *in, int count) {
    ox_tensor *g[MOST_IN] = {NULL}, *leaf[MOST_IN], *y = f(in, user);
    ox_grad_desc desc;
    int leaves = 0;
    memset(&desc, 0, sizeof desc);
    desc.allow_unused = true;
    for (int i = 0; i < count; i++)
        if (in[i]) leaf[leaves++] = in[i];
    ox_tensor *loss = ox_sum(y, OX_ALL_DIMS, false);
    CHECK_MSG(ox_grad(&loss, 1, leaf, leaves, &desc, g) == OX_OK, "%s", ox_error_text());
    for (int i = 0; i < leaves; i++) CHECK(!g[i] || ox_equal(g[i], ox_zeros_like(leaf[i])));
    ox_error_clear();
}
static ox_tensor *empty_leaf(ox_shape shape) {
    return ox_requires_grad_(ox_randn(shape, OX_F32), true);
}

static void test_empty(void) {
    OX_SCOPE {
        attention_run run;
        int one = 1, net;
        ox_tensor *running[2] = {ox_ones(OX_SHAPE(4), OX_F32), ox_ones(OX_SHAPE(4), OX_F32)};
        memset(&run, 0, sizeof run);
        ox_tensor *no_queries[3] = {empty_leaf(OX_SHAPE(2, 0, 4)), empty_leaf(OX_SHAPE(2, 3, 4)),
                                    empty_leaf(OX_SHAPE(2, 3, 4))};
        check_empty(attention_of, &run, no_queries, 3);
        ox_tensor *no_keys[3] = {empty_leaf(OX_SHAPE(2, 3, 4)), empty_leaf(OX_SHAPE(2, 0, 4)),
                                 empty_leaf(OX_SHAPE(2, 0, 4))};
        check_empty(attention_of, &run, no_keys, 3);
        ox_tensor *x[3] = {empty_leaf(OX_SHAPE(0, 4, 3)), empty_leaf(OX_SHAPE(4)), empty_leaf(OX_SHAPE(4))};
        check_empty(group_norm_of, &one, x, 3);
        check_empty(batch_norm_of, running, x, 3);
        for (net = 0; net < NETS; net++) {
            int64_t rows = net_gates[net] * 4;
            ox_tensor *in[5] = {empty_leaf(OX_SHAPE(2, 0, 3)), empty_leaf(OX_SHAPE(1, 0, 4)),
                                empty_leaf(OX_SHAPE(rows, 3)), empty_leaf(OX_SHAPE(rows, 4)),
                                net == NET_LSTM ? empty_leaf(OX_SHAPE(1, 0, 4)) : NULL};
            check_empty(net_of, &net, in, 5);
        }
    }
}

int main(void) {
    ox_manual_seed(5);
    test_functions();
    test_function_ends();
    test_function_accuracy();
    test_rows();
    test_channels();
    test_two_dims();
    test_nets();
    test_net_twice();
    test_far_mean();
    test_odd_rows();
    test_large_rows();
    test_attention();
    test_logsumexp();
    test_sinks();
    test_blind();
    test_threads();
    test_empty();
    for (int r = 0; r < BACK_ROWS; r++) CHECK_MSG(back_row_ran[r], "%s did not run", back_rows[r]);
    CHECK(ox_error() == OX_OK);
    return check_done("back");
}
