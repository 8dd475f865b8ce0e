/* test_vulkan_experts.c - a mixture of experts on a GPU: its router as one dispatch, gate and up as one, what
 * stands behind them as one. That they are, counted, and that every result is what the CPU gives, also where
 * calls only look like those. */
#include "oxtorch.h"
#include "oxtorch_vulkan.h"
#include "block_weights.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESULTS = 12, EXPERTS = 12, OTHERS = 6 };

typedef struct setting {
    ox_device *gpu;
    ox_dtype weights;
    int64_t rows, used, width, hidden;
} setting;

/* The same on the CPU and on the device. x [rows, width], numbers [rows, EXPERTS]. */
typedef struct operands {
    ox_tensor *x, *numbers, *bias, *router, *gate, *up, *down, *gate_bias, *up_bias, *down_bias, *norm, *ids;
} operands;

typedef int (*pattern)(const setting *s, const operands *o, ox_tensor **results);

static ox_tensor *made(ox_shape shape, double scale, ox_dtype dtype) {
    return as_weights(ox_mul_number(ox_randn(shape, OX_F32), scale), dtype);
}

static operands make(const setting *s) {
    operands o;
    o.x = made(OX_SHAPE(s->rows, s->width), 1, OX_F32);
    o.numbers = made(OX_SHAPE(s->rows, EXPERTS), 2, OX_F32);
    o.bias = made(OX_SHAPE(EXPERTS), 0.5, OX_F32);
    o.router = made(OX_SHAPE(EXPERTS, s->width), 0.1, OX_F32);
    o.gate = made(OX_SHAPE(EXPERTS, s->hidden, s->width), 0.1, s->weights);
    o.up = made(OX_SHAPE(EXPERTS, s->hidden, s->width), 0.1, s->weights);
    o.down = made(OX_SHAPE(EXPERTS, s->width, s->hidden), 0.1, s->weights);
    o.gate_bias = made(OX_SHAPE(EXPERTS, s->hidden), 1, OX_F32);
    o.up_bias = made(OX_SHAPE(EXPERTS, s->hidden), 1, OX_F32);
    o.down_bias = made(OX_SHAPE(EXPERTS, s->width), 1, OX_F32);
    o.norm = made(OX_SHAPE(s->width), 1, OX_F32);
    o.ids = ox_cast(ox_topk(made(OX_SHAPE(s->rows, EXPERTS), 1, OX_F32), s->used, 1, true).indices, OX_I32);
    return o;
}

static operands there(const operands *o, ox_device *device) {
    operands t = *o;
    ox_tensor **first = (ox_tensor **)&t;
    for (size_t i = 0; i < sizeof t / sizeof *first; i++) first[i] = ox_to(first[i], device);
    t.x = ox_clone(t.x);
    return t;
}

/* ---- routers ------------------------------------------------------------------------------------------- */

static int with_indices(ox_tensor **r, int count, ox_tensor *indices) {
    r[count] = indices;
    r[count + 1] = ox_cast(indices, OX_I32);
    return count + 2;
}

static int softmax_router(const setting *s, const operands *o, ox_tensor **r) {
    r[0] = ox_softmax(o->numbers, -1);
    const ox_pair top = ox_topk(r[0], s->used, 1, true);
    r[1] = top.values;
    r[2] = ox_sum(r[1], OX_DIMS(1), true);
    r[3] = ox_clamp(r[2], 6e-5, INFINITY);
    r[4] = ox_div(r[1], r[3]);
    r[5] = ox_mul_number(r[4], 2.5);
    return with_indices(r, 6, top.indices);
}

static int late_router(const setting *s, const operands *o, ox_tensor **r) {
    const ox_pair top = ox_topk(o->numbers, s->used, 1, true);
    r[0] = top.values;
    r[1] = ox_softmax(r[0], -1);
    return with_indices(r, 2, top.indices);
}

static int sigmoid_router(const setting *s, const operands *o, ox_tensor **r) {
    r[0] = ox_sigmoid(o->numbers);
    r[1] = ox_add(r[0], o->bias);
    const ox_pair top = ox_topk(r[1], s->used, 1, true);
    r[2] = top.values;
    r[3] = ox_gather(r[0], 1, top.indices);
    r[4] = ox_sum(r[3], OX_DIMS(1), true);
    r[5] = ox_div(r[3], ox_clamp(r[4], 6e-5, INFINITY));
    return with_indices(r, 6, top.indices);
}

/* Numbers that a product makes, with a norm before it, biases, and what is chosen of them. */
static int made_numbers(const setting *s, const operands *o, ox_tensor **r) {
    r[0] = ox_linear(ox_rms_norm(o->x, 1, o->norm, 1e-5), o->router, o->bias);
    const ox_pair top = ox_topk(r[0], s->used, 1, true);
    r[1] = top.values;
    r[2] = ox_softmax(r[1], -1);
    return with_indices(r, 3, top.indices);
}
static int made_scores(const setting *s, const operands *o, ox_tensor **r) {
    r[0] = ox_linear(o->x, o->router, NULL);
    r[1] = ox_sigmoid(r[0]);
    const ox_pair top = ox_topk(ox_add(r[1], o->bias), s->used, 1, true);
    r[2] = ox_gather(r[1], 1, top.indices);
    r[3] = ox_mul_number(ox_div(r[2], ox_sum(r[2], OX_DIMS(1), true)), 2.5);
    return with_indices(r, 4, top.indices);
}
/* Of more weights than one workgroup takes. */
static int made_by_many(const setting *s, const operands *o, ox_tensor **r) {
    ox_tensor *long_x[8], *long_row[8];
    for (int i = 0; i < 8; i++) long_x[i] = o->x, long_row[i] = o->router;
    ox_tensor *x = ox_cat(long_x, 8, 1), *w = ox_cat(long_row, 8, 1), *all[8];
    for (int i = 0; i < 8; i++) all[i] = ox_mul_number(w, 1 + i);
    r[0] = ox_linear(x, ox_cat(all, 8, 0), NULL);
    const ox_pair top = ox_topk(ox_softmax(r[0], -1), s->used, 1, true);
    r[1] = top.values;
    return with_indices(r, 2, top.indices);
}
/* Other rows than those that the product has made, and numbers that are changed first. */
static int not_those_numbers(const setting *s, const operands *o, ox_tensor **r) {
    r[0] = ox_linear(o->x, o->router, o->bias);
    r[1] = ox_topk(ox_softmax(o->numbers, -1), s->used, 1, true).values;
    r[2] = ox_linear(o->x, o->router, o->bias);
    r[3] = ox_topk(ox_narrow(r[2], 1, 1, EXPERTS - 1), s->used, 1, true).values;
    r[4] = ox_silu_(ox_linear(o->x, o->router, o->bias));
    r[5] = ox_topk(r[4], s->used, 1, true).values;
    r[6] = ox_add_(ox_linear(o->x, o->router, NULL), o->bias);
    r[7] = ox_topk(r[6], s->used, 1, true).values;
    return 8;
}

/* Plain numbers, of which some are equal; what is not weighed further. */
static int equal_numbers(const setting *s, const operands *o, ox_tensor **r) {
    const ox_pair top = ox_topk(ox_round(o->numbers), s->used, 1, true);
    r[0] = top.values;
    return with_indices(r, 1, top.indices);
}

static int strange_numbers(const setting *s, const operands *o, ox_tensor **r) {
    ox_tensor *x = ox_div(o->numbers, ox_round(o->numbers)); /* infinite, NaN where 0 / 0 */
    const ox_pair top = ox_topk(ox_softmax(x, -1), s->used, 1, true), plain = ox_topk(x, s->used, 1, true);
    r[0] = ox_isnan(top.values);
    r[1] = top.indices;
    return with_indices(r, 2, plain.indices);
}

/* Calls that only look like a router's: the smallest, other dims, in place, scores that nobody picks from. */
static int not_that_router(const setting *s, const operands *o, ox_tensor **r) {
    const ox_pair least = ox_topk(ox_softmax(o->numbers, -1), s->used, 1, false);
    const ox_pair down = ox_topk(ox_sigmoid(o->numbers), 1, 0, true);
    r[0] = least.values;
    r[1] = down.values;
    r[2] = ox_add(ox_softmax(o->numbers, 0), o->bias);
    r[3] = ox_add(ox_sigmoid(o->numbers), o->bias);
    r[4] = ox_sigmoid_(ox_clone(o->numbers));
    const ox_pair top = ox_topk(r[4], s->used, 1, true);
    r[5] = ox_sum(top.values, OX_DIMS(0), true);
    r[6] = ox_div(top.values, ox_add_number(ox_sum(top.values, OX_DIMS(1), true), 1));
    r[7] = ox_softmax(top.values, 0);
    r[8] = ox_gather(o->numbers, 1, top.indices);
    r[9] = ox_mul(top.values, r[8]);
    return with_indices(r, 10, least.indices);
}

/* Scores go before what is made of them is asked for. */
static int scores_that_go(const setting *s, const operands *o, ox_tensor **r) {
    ox_scope scope = ox_scope_begin();
    ox_pair top = ox_topk(ox_softmax(o->numbers, -1), s->used, 1, true);
    top.values = ox_retain(ox_div(top.values, ox_sum(top.values, OX_DIMS(1), true)));
    ox_scope_end(&scope);
    r[0] = ox_mul_number(top.values, 1);
    ox_release(top.values);
    return 1;
}

/* ---- experts ------------------------------------------------------------------------------------------- */

static int mixture_of(const setting *s, const operands *o, ox_tensor **r, bool biased) {
    r[0] = ox_rms_norm(o->x, 1, o->norm, 1e-5);
    r[1] = ox_softmax(ox_linear(r[0], o->router, NULL), -1);
    const ox_pair top = ox_topk(r[1], s->used, 1, true);
    r[2] = ox_div(top.values, ox_clamp(ox_sum(top.values, OX_DIMS(1), true), 6e-5, INFINITY));
    ox_tensor *ids = ox_cast(top.indices, OX_I32);
    r[3] = ox_linear_experts(r[0], o->gate, ids, biased ? o->gate_bias : NULL);
    r[4] = ox_linear_experts(r[0], o->up, ids, biased ? o->up_bias : NULL);
    r[5] = ox_silu_mul_(r[3], r[4]);
    r[6] = ox_linear_experts(r[5], o->down, ids, biased ? o->down_bias : NULL);
    r[6] = ox_mul_(r[6], ox_unsqueeze(r[2], 2));
    r[7] = ox_sum(r[6], OX_DIMS(1), false);
    r[8] = ox_add_(o->x, r[7]);
    return 9;
}
static int mixture(const setting *s, const operands *o, ox_tensor **r) {
    return mixture_of(s, o, r, false);
}
static int biased_mixture(const setting *s, const operands *o, ox_tensor **r) {
    return mixture_of(s, o, r, true);
}

/* A gate elsewhere, a sum without a residual; and products without one. */
static int loose_experts(const setting *s, const operands *o, ox_tensor **r) {
    ox_tensor *weights = ox_narrow(ox_softmax(o->numbers, -1), 1, 0, s->used);
    r[0] = ox_linear_experts(o->x, o->gate, o->ids, NULL);
    r[1] = ox_linear_experts(o->x, o->up, o->ids, NULL);
    r[2] = ox_gelu_mul(r[0], r[1]);
    r[3] = ox_mul_(ox_linear_experts(r[2], o->down, o->ids, NULL), ox_unsqueeze(ox_contiguous(weights), 2));
    r[4] = ox_sum(r[3], OX_DIMS(1), false);
    r[5] = ox_linear_experts(o->x, o->gate, o->ids, NULL);
    r[6] = ox_linear_experts(o->x, o->up, o->ids, NULL);
    r[7] = ox_linear_experts(r[2], o->down, o->ids, NULL);
    return 8;
}

/* Calls that only look like those that are taken. */
static int not_those_experts(const setting *s, const operands *o, ox_tensor **r) {
    ox_tensor *first = ox_linear_experts(o->x, o->gate, o->ids, NULL);
    r[0] = ox_linear_experts(o->x, o->up, o->ids, o->up_bias);
    r[1] = ox_silu_mul_(first, r[0]);
    r[2] = ox_mul_(ox_linear_experts(r[1], o->down, o->ids, NULL), r[1]->shape[1] ? ox_number(0.5) : NULL);
    r[3] = ox_mul_(ox_linear_experts(r[1], o->down, o->ids, NULL), o->norm);
    r[4] = ox_sum(r[3], OX_DIMS(1), true);
    r[5] = ox_sum(ox_linear_experts(r[1], o->down, o->ids, NULL), OX_DIMS(1), false);
    ox_tensor *weights = ox_unsqueeze(ox_narrow(o->numbers, 1, 0, s->used), 2); /* not side by side */
    r[6] = ox_mul_(ox_linear_experts(r[1], o->down, o->ids, NULL), weights);
    r[7] = ox_sum(r[6], OX_DIMS(2), false);
    r[8] = ox_add_(ox_linear_experts(r[1], o->down, o->ids, NULL), r[6]);
    r[9] = ox_relu_(ox_linear_experts(o->x, o->up, o->ids, NULL));
    return 10;
}

typedef struct row {
    const char *name;
    pattern run;
    int dispatches; /* 0: any number */
} row;

static const row table[] = {
    {"router by softmax", softmax_router, 1},
    {"router by softmax of the chosen", late_router, 1},
    {"router by sigmoid, with a bias", sigmoid_router, 1},
    {"numbers that a product makes", made_numbers, 1},
    {"scores that a product makes", made_scores, 1},
    {"numbers of many weights", made_by_many, 0},
    {"not those numbers", not_those_numbers, 0},
    {"equal numbers", equal_numbers, 2},
    {"infinite numbers and NaN", strange_numbers, 0},
    {"not that router", not_that_router, 0},
    {"scores that go", scores_that_go, 1},
    {"mixture", mixture, 3},
    {"mixture with biases", biased_mixture, 3},
    {"loose experts", loose_experts, 0},
    {"not those experts", not_those_experts, 0},
};

/* ---- both sides ---------------------------------------------------------------------------------------- */

static void compare(const setting *s, const row *t, int i, ox_tensor *got, ox_tensor *want) {
    const int64_t n = want ? ox_numel(want) : 0;
    CHECK_MSG(got && want && ox_numel(got) == n && got->dtype == want->dtype, "%s, result %d: %s", t->name, i,
              ox_error_text());
    if (!got || !want || n == 0) return;
    float *a = (float *)malloc((size_t)n * sizeof *a), *b = (float *)malloc((size_t)n * sizeof *b);
    double off = 0, most = 0;
    CHECK(ox_to_floats(ox_cast(ox_contiguous(got), OX_F32), a, n) == OX_OK &&
          ox_to_floats(ox_cast(ox_contiguous(want), OX_F32), b, n) == OX_OK);
    for (int64_t k = 0; k < n; k++) {
        if (isfinite(b[k])) most = fmax(most, fabs(b[k]));
        const bool same = a[k] == b[k] || (isnan(a[k]) && isnan(b[k]));
        if (!same) off = check_worst(off, fabs(a[k] - b[k]));
    }
    const double coarse = s->weights == OX_F32 ? 2e-5 : s->weights == OX_F16 ? 2e-3 : 0.03;
    CHECK_MSG(off <= (want->dtype == OX_F32 ? coarse * most : 0),
              "%s, %s, %lld rows, %lld used, result %d: off by %g of %g", t->name, ox_dtype_name(s->weights),
              (long long)s->rows, (long long)s->used, i, off, most);
    free(a);
    free(b);
}

/* Whether what the gate gives is rounded where it is made, for the product behind it to take. */
static bool leaves_rounded(const setting *s, const row *t) {
    ox_vulkan_info facts;
    const bool of_blocks = s->weights != OX_F32 && s->weights != OX_F16;
    return (t->run == mixture || t->run == biased_mixture) && of_blocks && s->rows == 1 &&
           ox_vulkan_get_info(s->gpu, &facts) == OX_OK && facts.caps & OX_VULKAN_CAP_DOT;
}

static void check(const setting *s, const row *t) {
    OX_SCOPE {
        ox_tensor *got[RESULTS] = {NULL}, *want[RESULTS] = {NULL};
        ox_manual_seed(17);
        const operands here = make(s), on_host = there(&here, ox_cpu()), on_gpu = there(&here, s->gpu);
        const int count = t->run(s, &on_host, want);
        CHECK(ox_device_sync(s->gpu) == OX_OK);
        const int64_t before = ox_vulkan_get_stats(s->gpu).dispatches;
        const int64_t rounded = ox_vulkan_get_stats(s->gpu).rounded;
        (void)t->run(s, &on_gpu, got);
        CHECK_MSG(ox_device_sync(s->gpu) == OX_OK, "%s", ox_error_text());
        const int64_t count_made = ox_vulkan_get_stats(s->gpu).dispatches - before;
        if (t->dispatches > 0 && s->rows == 1 && s->used <= 8 && !getenv("OX_VULKAN_BLOCKS"))
            CHECK_MSG(count_made == t->dispatches, "%s, %s: %lld dispatches", t->name,
                      ox_dtype_name(s->weights), (long long)count_made);
        if (leaves_rounded(s, t) && !getenv("OX_VULKAN_BLOCKS"))
            CHECK(ox_vulkan_get_stats(s->gpu).rounded == rounded + 1);
        for (int i = 0; i < count; i++) compare(s, t, i, got[i], want[i]);
    }
}

/* ---- a router behind a sum ----------------------------------------------------------------------------- */

typedef struct layer {
    ox_dtype weights;
    int64_t width, hidden, experts, used;
    double scale;       /* of the row: squares may leave the range of f32 */
    int scores;         /* 0: softmax, 1: softmax of the chosen, 2: sigmoid with a bias */
    bool biased, taken; /* taken: the parts are expected to be */
    bool equal;         /* scores are, though numbers are not */
    bool gone;          /* what the sum is of is given back before the gate */
} layer;

/* [1, n] that is rounded to 8 bits without a loss, so that no other experts are the largest: whole numbers,
 * of which one in sixteen is 127. */
static ox_tensor *whole_numbers(int64_t n, double scale) {
    ox_tensor *x = ox_zeros(OX_SHAPE(1, n), OX_F32);
    float *to = (float *)ox_data(x);
    for (int64_t i = 0; i < n; i++) to[i] = i % 16 == 0 ? 127 : (float)(i * i % 97 - 48);
    return ox_mul_number(x, scale / 64);
}

/* x += c, norm, router, experts, x += theirs, as a block of a language model; [1, width] each. */
static int layer_of(const layer *l, ox_tensor *const *o, ox_tensor **r) {
    ox_tensor *x = ox_clone(o[0]);
    if (l->gone) {
        OX_SCOPE { (void)ox_add_(x, ox_linear(ox_mul_number(o[1], 2), o[2], NULL)); }
    } else {
        (void)ox_add_(x, ox_linear(o[1], o[2], NULL));
    }
    r[0] = ox_rms_norm(x, 1, o[3], 1e-5);
    r[1] = ox_linear(r[0], o[4], l->biased ? o[5] : NULL);
    ox_tensor *scores = l->scores == 0 ? ox_softmax(r[1], -1) : l->scores == 1 ? r[1] : ox_sigmoid(r[1]);
    const ox_pair top = ox_topk(l->scores == 2 ? ox_add(scores, o[6]) : scores, l->used, 1, true);
    r[2] = top.indices;
    r[3] = l->scores == 1 ? ox_softmax(top.values, -1) : top.values;
    if (l->scores == 2) r[3] = ox_gather(scores, 1, top.indices);
    if (l->scores != 1) r[3] = ox_div(r[3], ox_sum(r[3], OX_DIMS(1), true));
    ox_tensor *ids = ox_cast(top.indices, OX_I32);
    ox_tensor *gate = ox_linear_experts(r[0], o[7], ids, l->biased ? o[10] : NULL);
    r[4] = ox_silu_mul_(gate, ox_linear_experts(r[0], o[8], ids, l->biased ? o[10] : NULL));
    r[5] = ox_mul_(ox_linear_experts(r[4], o[9], ids, NULL), ox_unsqueeze(r[3], 2));
    r[6] = ox_add_(x, ox_sum(r[5], OX_DIMS(1), false));
    return 7;
}

static void check_layer(ox_device *gpu, const layer *l) {
    OX_SCOPE {
        enum { OPERANDS = 11 };
        const int64_t e = l->experts, d = l->width, h = l->hidden;
        ox_tensor *got[RESULTS] = {NULL}, *want[RESULTS] = {NULL}, *there[OPERANDS], *o[OPERANDS];
        const setting s = {gpu, l->weights, 1, l->used, d, h};
        const row named = {"a router behind a sum", NULL, 0};
        ox_vulkan_info facts;
        ox_manual_seed(23);
        o[0] = made(OX_SHAPE(1, d), l->scale, OX_F32);
        o[1] = whole_numbers(h, l->scale);
        o[2] = made(OX_SHAPE(d, h), 0.05, l->weights);
        o[3] = made(OX_SHAPE(d), 1, OX_F32);
        o[4] = made(OX_SHAPE(e, d), l->equal ? 1e-9 : 0.3, OX_F32);
        o[5] = made(OX_SHAPE(e), 1, OX_F32);
        o[6] = made(OX_SHAPE(e), 0.5, OX_F32);
        o[7] = made(OX_SHAPE(e, h, d), 0.1, l->weights);
        o[8] = made(OX_SHAPE(e, h, d), 0.1, l->weights);
        o[9] = made(OX_SHAPE(e, d, h), 0.1, l->weights);
        o[10] = made(OX_SHAPE(e, h), 1, OX_F32);
        for (int i = 0; i < OPERANDS; i++) there[i] = ox_to(o[i], gpu);
        const int count = layer_of(l, o, want);
        const bool dots = ox_vulkan_get_info(gpu, &facts) == OX_OK && facts.caps & OX_VULKAN_CAP_DOT;
        CHECK(ox_device_sync(gpu) == OX_OK);
        const ox_vulkan_stats before = ox_vulkan_get_stats(gpu);
        (void)layer_of(l, there, got);
        CHECK_MSG(ox_device_sync(gpu) == OX_OK, "%s", ox_error_text());
        const ox_vulkan_stats after = ox_vulkan_get_stats(gpu);
        if (dots && !getenv("OX_VULKAN_BLOCKS"))
            CHECK_MSG(after.chosen - before.chosen == l->taken, "%s, %lld of %lld experts: %lld dispatches",
                      ox_dtype_name(l->weights), (long long)l->used, (long long)e,
                      (long long)(after.dispatches - before.dispatches));
        for (int i = 0; i < count; i++) compare(&s, &named, i, got[i], want[i]);
    }
}

static void check_layers(ox_device *gpu) {
    static const layer layers[] = {
        {OX_Q4_K, 256, 256, 8, 2, 1, 0, false, true, false, false},
        {OX_Q6_K, 512, 256, 32, 8, 1, 0, false, true, false, false},
        {OX_Q8_0, 96, 64, 5, 3, 1, 1, true, true, false, false},
        {OX_Q4_0, 2080, 128, 40, 4, 1, 2, false, true, false, false},
        {OX_Q5_K, 256, 768, 64, 8, 1, 0, true, true, false, false},
        {OX_MXFP4, 320, 96, 1, 1, 1, 1, true, true, false, false},
        {OX_Q4_1, 64, 32, 63, 16, 1, 2, true, true, false, false},
        {OX_Q8_0, 64, 32, 65, 4, 1, 0, false, false, false, false},
        {OX_Q4_K, 256, 256, 16, 4, 1e25, 0, false, true, false, false},
        {OX_Q8_0, 128, 64, 20, 4, 1e-25, 0, true, true, false, false},
        {OX_Q5_1, 3104, 32, 9, 2, 1, 0, false, true, false, false},
        {OX_Q4_0, 64, 64, 6, 2, 0, 0, false, true, false, false},
        {OX_F16, 96, 64, 8, 2, 1, 0, false, false, false, false},
        {OX_F32, 96, 64, 8, 2, 1, 2, true, false, false, false},
        {OX_Q4_K, 256, 256, 16, 4, 1, 0, false, true, true, false},
        {OX_Q8_0, 64, 64, 4, 2, 1, 0, false, false, false, true},
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) check_layer(gpu, &layers[i]);
}

/* Numbers of experts that do not exist are told of. */
static void wrong_experts(const setting *s) {
    OX_SCOPE {
        const operands here = make(s);
        operands o = there(&here, s->gpu);
        o.ids = ox_to(ox_full(OX_SHAPE(s->rows, s->used), EXPERTS, OX_I32), s->gpu);
        ox_tensor *weights = ox_to(ox_ones(OX_SHAPE(s->rows, s->used, 1), OX_F32), s->gpu);
        ox_tensor *h = ox_to(made(OX_SHAPE(s->rows, s->used, s->hidden), 1, OX_F32), s->gpu);
        ox_tensor *out = ox_mul_(ox_linear_experts(h, o.down, o.ids, NULL), weights);
        (void)ox_add_(o.x, ox_sum(out, OX_DIMS(1), false));
        CHECK(ox_device_sync(s->gpu) == OX_ERR_INDEX);
        ox_error_clear();
    }
}

/* What follows a router's choice may have nothing that goes in. */
static void check_nothing_in(ox_device *gpu) {
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_reshape(ox_arange(0, 64, 1, OX_F32), OX_SHAPE(2, 32)), gpu);
        ox_tensor *best = ox_topk(ox_softmax(x, -1), 3, 1, true).indices;
        ox_tensor *ones = ox_full_like(x, 1);
        CHECK(ox_item(ox_sum(ones, OX_ALL_DIMS, false)) == 64);
        CHECK(best && ox_item_int(ox_sum(best, OX_ALL_DIMS, false)) == 2 * (31 + 30 + 29));
    }
}

int main(void) {
    static const ox_dtype types[] = {OX_F32,  OX_F16,  OX_Q8_0, OX_Q4_0, OX_Q4_K,
                                     OX_Q5_K, OX_Q6_K, OX_Q5_1, OX_MXFP4};
    ox_device *gpu = ox_vulkan(0);
    if (!gpu) return check_skipped("vulkan_experts", ox_error_text());
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        setting s = {gpu, OX_F32, 1, 3, 256, 512};
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
            s.weights = types[k];
            if (k == 0 || table[i].run == mixture || table[i].run == biased_mixture ||
                table[i].run == loose_experts)
                check(&s, &table[i]);
        }
        const setting
            others[OTHERS] =
                {
                    {gpu, OX_F32, 1, 8, 64, 96},  {gpu, OX_Q4_0, 3, 2, 96, 160},
                    {gpu, OX_Q8_0, 2, 1, 64, 64}, {gpu, OX_MXFP4, 2, 4, 96, 288},
                    {gpu, OX_F16, 2, 10, 48, 80}, /* too many for rows of one product */
                    {gpu, OX_F32, 2, 3, 20, 36},  /* lengths that are no multiples of 16 */
                };
        for (size_t k = 0; k < OTHERS; k++) check(&others[k], &table[i]);
    }
    check_layers(gpu);
    check_nothing_in(gpu);
    const setting wrong = {gpu, OX_F32, 1, 2, 64, 64};
    wrong_experts(&wrong);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK_MSG(ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
    return check_done("vulkan_experts");
}
