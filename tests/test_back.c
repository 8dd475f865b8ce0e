/* test_back.c - gradients that a row of its own computes (autograd/back/) against those of the composed rules
 * in f64: gelu and silu, softmax, norms, attention; operands of every layout and dtype, masks, groups of
 * heads, sizes from 1, tasks and blocks of all numbers. Whether a row ran is read from the profiler.
 * OX_TIERS */
#include "back_rows.h"

#include "oxtorch_nn.h"

#include <math.h>

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

/* A mean far larger than the deviation, which f32 holds in part. */
static void test_far_mean(void) {
    OX_SCOPE {
        int one = 1;
        ox_tensor *x = ox_requires_grad_(ox_add_number(ox_randn(OX_SHAPE(6, 500), OX_F64), 3000), true);
        ox_tensor *in[3] = {x, leaf_of(OX_SHAPE(500)), NULL};
        check_back("layer_norm_back", layer_norm_of, &one, in, 3, OX_F32, LAYOUT_PLAIN, 1e-5);
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

/* Past what caches hold, results go round them. */
static void test_large_rows(void) {
    OX_SCOPE {
        int one = 1;
        ox_tensor *in[3] = {leaf_of(OX_SHAPE(3000, 801)), leaf_of(OX_SHAPE(801)), leaf_of(OX_SHAPE(801))};
        check_back("layer_norm_back", layer_norm_of, &one, in, 3, OX_F32, LAYOUT_PLAIN, 2e-5);
        check_back("softmax_back", softmax_of, NULL, in, 1, OX_F32, LAYOUT_PLAIN, 2e-6);
        check_back("log_softmax_back", log_softmax_of, NULL, in, 1, OX_F32, LAYOUT_PLAIN, 2e-6);
    }
}

/* ---- attention ----------------------------------------------------------------------------------------- */

typedef struct attention_case {
    int64_t batch, heads, kv_heads, queries, keys, depth, value_depth;
    bool causal, sinks;
    int64_t window;
    int mask; /* 1: bool [S,T], 2: f32 [B,1,1,T], 3: f32 [H,S,T] */
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
    if (c->sinks) run.desc.sinks = ox_randn(OX_SHAPE(c->heads), OX_F32);
    if (c->mask == 1) run.desc.mask = ox_gt_number(ox_rand(OX_SHAPE(c->queries, c->keys), OX_F32), 0.4);
    if (c->mask == 2) run.desc.mask = ox_randn(OX_SHAPE(c->batch, 1, 1, c->keys), OX_F32);
    if (c->mask == 3)
        run.desc.mask = ox_flip(ox_randn(OX_SHAPE(c->heads, c->queries, c->keys), OX_F32), OX_DIMS(2));
    check_back("attention_back", attention_of, &run, in, 3, dtype, l, near_by);
}

static void test_attention(void) {
    static const attention_case cases[] = {
        {1, 1, 1, 1, 1, 1, 1, false, false, 0, 0},       {2, 3, 3, 5, 7, 4, 6, false, false, 0, 0},
        {2, 4, 2, 9, 9, 8, 8, true, false, 0, 0},        {1, 6, 2, 20, 33, 5, 3, false, true, 0, 1},
        {2, 2, 1, 40, 40, 16, 16, true, true, 7, 0},     {2, 2, 2, 33, 17, 8, 8, false, false, 0, 2},
        {1, 4, 1, 12, 30, 8, 9, true, false, 0, 3},      {1, 2, 2, 200, 190, 64, 64, true, false, 0, 0},
        {3, 4, 4, 150, 150, 32, 32, false, false, 0, 0}, {1, 1, 1, 300, 700, 16, 16, true, false, 50, 0},
        {1, 2, 1, 70, 1300, 8, 8, false, true, 0, 1}, {1, 1, 1, 1200, 1200, 8, 4, true, false, 0, 0}};
    for (int d = 0; d < 3; d++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int l = 0; l<LAYOUT_COUNT; l += cases[i].queries> 100 ? 5 : 1)
                OX_SCOPE {
                    check_attention(&cases[i], dtypes[d].dtype, dtypes[d].near_by * 4, (layout)l);
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
        ox_tensor *q[3], *x[3], *first[6], *g[6];
        for (int i = 0; i < 3; i++) q[i] = ox_requires_grad_(ox_randn(OX_SHAPE(3, 300, 32), OX_F32), true);
        x[0] = ox_requires_grad_(ox_randn(OX_SHAPE(500, 96), OX_F32), true);
        for (int i = 1; i < 3; i++) x[i] = ox_requires_grad_(ox_randn(OX_SHAPE(96), OX_F32), true);
        ox_tensor *gq = ox_randn(OX_SHAPE(3, 300, 32), OX_F32), *gx = ox_randn(OX_SHAPE(500, 96), OX_F32);
        for (int threads = 1; threads <= 4; threads *= 2) {
            ox_set_threads(threads);
            gradients(attention_of, &run, q, 3, gq, false, threads == 1 ? first : g);
            gradients(layer_norm_of, &one, x, 3, gx, false, threads == 1 ? first + 3 : g + 3);
            for (int i = 0; threads > 1 && i < 6; i++)
                CHECK_MSG(ox_equal(first[i], g[i]), "gradient %d of %d threads", i, threads);
        }
        ox_set_threads(0);
    }
}

int main(void) {
    ox_manual_seed(5);
    test_functions();
    test_function_ends();
    test_rows();
    test_far_mean();
    test_odd_rows();
    test_large_rows();
    test_attention();
    test_blind();
    test_threads();
    CHECK(ox_error() == OX_OK);
    return check_done("back");
}
