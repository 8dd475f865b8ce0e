/* test_vulkan_conv.c - convolutions, pooling and batch_norm on a GPU against the CPU: shapes that go to
 * cooperative matrices where the device has them, and shapes that do not; what flows back; terms in parts;
 * a block of a network forward and back without a detour. Skipped with the reason where there is no
 * device. */
#include "operands.h"
#include "oxtorch_nn.h"
#include "oxtorch_vulkan.h"

static ox_device *gpu;

/* x [n,c,h,w], weight [o,c,kh,kw]. */
typedef struct conv_case {
    int64_t n, c, h, w, o, kernel, stride, padding, dilation, groups;
} conv_case;

static const conv_case cases[] = {
    {1, 8, 9, 9, 16, 3, 1, 1, 1, 1},      {2, 16, 14, 14, 24, 3, 1, 1, 1, 1},
    {2, 64, 7, 7, 72, 3, 1, 1, 1, 1},     {1, 24, 13, 11, 40, 3, 2, 1, 1, 1},
    {2, 32, 8, 8, 48, 1, 1, 0, 1, 1},     {1, 32, 9, 9, 16, 1, 2, 0, 1, 1},
    {1, 16, 15, 15, 16, 5, 1, 2, 1, 1},   {1, 16, 17, 16, 32, 3, 1, 2, 2, 1},
    {2, 3, 20, 20, 16, 7, 2, 3, 1, 1},    {1, 16, 10, 10, 16, 3, 1, 1, 1, 4},
    {2, 12, 9, 9, 12, 3, 1, 1, 1, 12},    {1, 6, 8, 9, 10, 3, 3, 2, 1, 2},
    {1, 160, 12, 12, 136, 3, 1, 1, 1, 1}, {40, 16, 1, 1, 24, 1, 1, 0, 1, 1},
    {9, 16, 6, 1, 24, 3, 1, 1, 1, 1},     {3, 8, 33, 35, 8, 3, 1, 1, 1, 1},
    {2, 3, 21, 18, 20, 5, 2, 2, 1, 1},    {1, 20, 9, 9, 18, 3, 1, 1, 1, 1},
    {2, 18, 8, 8, 33, 1, 1, 0, 1, 1},     {3, 40, 12, 16, 72, 1, 1, 0, 1, 1},
    {2, 40, 12, 14, 48, 3, 2, 1, 1, 1},   {1, 48, 13, 14, 40, 1, 2, 0, 1, 1},
    {2, 32, 8, 12, 48, 1, 2, 0, 1, 1},    {2, 16, 12, 15, 32, 3, 3, 1, 1, 1},
    {1, 32, 14, 14, 32, 5, 2, 3, 1, 1},   {1, 16, 19, 18, 32, 3, 2, 2, 2, 1},
    {3, 32, 7, 7, 160, 1, 1, 0, 1, 1},    {1, 16, 20, 20, 32, 16, 1, 5, 1, 1},
    {1, 16, 18, 18, 32, 15, 1, 9, 1, 1},  {2, 64, 14, 14, 64, 3, 2, 1, 1, 1},
    {0, 16, 9, 9, 32, 3, 1, 1, 1, 1},     {2, 32, 8, 8, 32, 2, 2, 1, 1, 1},
    {1, 32, 12, 12, 32, 1, 3, 0, 1, 1},   {1, 32, 12, 12, 32, 2, 4, 1, 1, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

/* How operands lie: as PyTorch has them, channels last, as parts of larger ones, rows and columns the other
 * way round, and backwards. */
enum { PLAIN, LAST, PART, TURNED, BACKWARDS, WAYS };

static ox_tensor *lies(ox_tensor *t, int way) {
    if (way == LAST) /* permuted, made contiguous, permuted back */
        return ox_permute(ox_contiguous(ox_permute(t, OX_DIMS(0, 2, 3, 1))), OX_DIMS(0, 3, 1, 2));
    if (way == TURNED) return ox_transpose(ox_contiguous(ox_transpose(t, 2, 3)), 2, 3);
    if (way == BACKWARDS) return backwards(ox_flip(t, OX_DIMS(1, 3)), OX_DIMS(1, 3));
    if (way != PART) return t;
    ox_shape shape = OX_SHAPE(t->shape[0], t->shape[1] + 8, t->shape[2], t->shape[3] + 1);
    ox_tensor *wide = ox_zeros(shape, t->dtype);
    wide = ox_narrow(ox_narrow(ox_to(wide, ox_device_of(t)), 1, 4, t->shape[1]), 3, 1, t->shape[3]);
    return ox_copy_(wide, t);
}

static ox_tensor *drawn(int64_t a, int64_t b, int64_t c, int64_t d, ox_dtype dtype) {
    return ox_cast(ox_randn(OX_SHAPE(a, b, c, d), OX_F32), dtype);
}

static bool agrees(ox_tensor *got, ox_tensor *want, double relative, double absolute) {
    got = ox_cast(ox_to(got, ox_cpu()), OX_F64);
    return ox_allclose(got, ox_cast(want, OX_F64), relative, absolute, true);
}

/* Both are sums of `terms` products of numbers around 1. */
static void check_same(const char *what, int k, int way, ox_dtype dtype, ox_tensor *got, ox_tensor *want,
                       double terms) {
    double step = dtype == OX_F32 ? 1e-6 : dtype == OX_F16 ? 1e-3 : 8e-3;
    double allowed = step * (4 + 2 * sqrt(terms));
    bool same = got && want && agrees(got, want, step * 4, allowed);
    CHECK_MSG(same, "%s of case %d, %s, way %d: %s", what, k, ox_dtype_name(dtype), way, ox_error_text());
}

static void check_case(int k, ox_dtype dtype, int way) {
    const conv_case *c = &cases[k];
    ox_conv_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.stride = OX_DIMS(c->stride);
    desc.padding = OX_DIMS(c->padding);
    desc.dilation = OX_DIMS(c->dilation);
    desc.groups = c->groups;
    ox_tensor *x = drawn(c->n, c->c, c->h, c->w, dtype);
    ox_tensor *weight = drawn(c->o, c->c / c->groups, c->kernel, c->kernel, dtype);
    ox_tensor *bias = ox_cast(ox_randn(OX_SHAPE(c->o), OX_F32), dtype);
    ox_tensor *there = lies(ox_to(x, gpu), way), *with = lies(ox_to(weight, gpu), way);
    const double taps = (double)(c->kernel * c->kernel);
    int64_t detours = ox_memory_get_stats().detours;
    ox_tensor *y = ox_conv2d(there, with, ox_to(bias, gpu), &desc);
    CHECK_MSG(ox_memory_get_stats().detours == detours, "conv of case %d takes a detour", k);
    ox_tensor *wide_x = ox_cast(x, OX_F64), *wide = ox_cast(weight, OX_F64);
    ox_tensor *want = ox_conv2d(wide_x, wide, ox_cast(bias, OX_F64), &desc);
    check_same("conv", k, way, dtype, y, want, taps * (double)(c->c / c->groups));
    if (!want) return;
    ox_tensor *g = ox_cast(ox_randn(ox_shape_of(want), OX_F32), dtype), *flows = lies(ox_to(g, gpu), way);
    ox_tensor *wide_g = ox_cast(g, OX_F64);
    ox_shape size = OX_SHAPE(c->kernel, c->kernel);
    detours = ox_memory_get_stats().detours;
    ox_tensor *gw = ox_conv_back_weight(flows, there, size, &desc);
    ox_conv_transpose_desc back;
    memset(&back, 0, sizeof back);
    back.stride = desc.stride;
    back.padding = desc.padding;
    back.dilation = desc.dilation;
    back.groups = c->groups;
    ox_tensor *gx = ox_conv_transpose2d(flows, with, NULL, &back);
    CHECK_MSG(ox_memory_get_stats().detours == detours, "what flows back in case %d takes a detour", k);
    check_same("conv_back_weight", k, way, dtype, gw, ox_conv_back_weight(wide_g, wide_x, size, &desc),
               (double)(c->n * want->shape[2] * want->shape[3]));
    check_same("conv_transpose2d", k, way, dtype, gx, ox_conv_transpose2d(wide_g, wide, NULL, &back),
               taps * (double)(c->o / c->groups));
}

static void test_convolutions(void) {
    static const ox_dtype dtypes[] = {OX_F16, OX_F32, OX_BF16};
    for (int k = 0; k < CASES; k++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (int way = 0; way < WAYS; way++) {
                if ((way + k + d) % (d > 0 ? 5 : 2) != 0) continue;
                OX_SCOPE {
                    check_case(k, dtypes[d], way);
                }
            }
}

/* One and three dims, and f16 by f32. */
static void test_other_dims(void) {
    OX_SCOPE {
        ox_conv_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.padding = OX_DIMS(1);
        ox_tensor *x = ox_randn(OX_SHAPE(2, 8, 40), OX_F32), *w = ox_randn(OX_SHAPE(16, 8, 3), OX_F32);
        ox_tensor *half = ox_cast(x, OX_F16), *narrow = ox_cast(w, OX_F16);
        check_same("conv1d", 0, 0, OX_F32, ox_conv1d(ox_to(x, gpu), ox_to(w, gpu), NULL, &desc),
                   ox_conv1d(x, w, NULL, &desc), 24);
        check_same("conv1d", 1, 0, OX_F16, ox_conv1d(ox_to(half, gpu), ox_to(narrow, gpu), NULL, &desc),
                   ox_conv1d(half, narrow, NULL, &desc), 24);
        x = ox_randn(OX_SHAPE(1, 8, 5, 6, 7), OX_F32);
        w = ox_randn(OX_SHAPE(16, 8, 2, 3, 3), OX_F32);
        half = ox_cast(x, OX_F16);
        narrow = ox_cast(w, OX_F16);
        check_same("conv3d", 0, 0, OX_F32, ox_conv3d(ox_to(x, gpu), ox_to(w, gpu), NULL, &desc),
                   ox_conv3d(x, w, NULL, &desc), 144);
        check_same("conv3d", 1, 0, OX_F16, ox_conv3d(ox_to(half, gpu), ox_to(narrow, gpu), NULL, &desc),
                   ox_conv3d(half, narrow, NULL, &desc), 144);
    }
}

/* ---- a block of a network ------------------------------------------------------------------------------ */

enum { WEIGHTS = 4 };

/* Convolution, batch norm of the batch itself, relu, both kinds of pooling; the gradients of its weights. */
static bool block(ox_tensor *x, ox_tensor *const *w, ox_tensor **gradients) {
    ox_conv_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.padding = OX_DIMS(1);
    for (int i = 0; i < WEIGHTS; i++) (void)ox_requires_grad_(w[i], true);
    ox_tensor *y = ox_batch_norm(ox_conv2d(x, w[0], NULL, &desc), w[1], w[2], NULL, NULL, true, 0.1, 1e-5);
    y = ox_max_pool2d(ox_relu(y), OX_DIMS(3), OX_DIMS(2), OX_DIMS(1), OX_DIMS(1), false);
    y = ox_avg_pool2d(ox_conv2d(y, w[3], NULL, &desc), OX_DIMS(2), OX_DIMS(2), OX_DIMS(0), false, true, 0);
    y = ox_mean(ox_square(ox_adaptive_avg_pool2d(y, OX_DIMS(2))), OX_ALL_DIMS, false);
    if (!y || ox_backward(y, NULL) != OX_OK) return false;
    for (int i = 0; i < WEIGHTS; i++) gradients[i] = ox_gradient(w[i]);
    return true;
}

static void test_block(ox_dtype dtype) {
    OX_SCOPE {
        ox_tensor *x = drawn(2, 8, 12, 12, dtype), *w[WEIGHTS], *there[WEIGHTS];
        ox_tensor *want[WEIGHTS], *got[WEIGHTS];
        w[0] = ox_cast(ox_mul_number(ox_randn(OX_SHAPE(16, 8, 3, 3), OX_F32), 0.1), dtype);
        w[1] = ox_cast(ox_rand(OX_SHAPE(16), OX_F32), dtype);
        w[2] = ox_cast(ox_rand(OX_SHAPE(16), OX_F32), dtype);
        w[3] = ox_cast(ox_mul_number(ox_randn(OX_SHAPE(8, 16, 3, 3), OX_F32), 0.1), dtype);
        for (int i = 0; i < WEIGHTS; i++) there[i] = ox_to(w[i], gpu);
        ox_tensor *over = ox_to(x, gpu);
        CHECK_MSG(block(x, w, want), "%s", ox_error_text());
        const int64_t detours = ox_memory_get_stats().detours;
        CHECK_MSG(block(over, there, got), "%s", ox_error_text());
        CHECK_MSG(ox_memory_get_stats().detours == detours, "%s: %lld detours", ox_dtype_name(dtype),
                  (long long)(ox_memory_get_stats().detours - detours));
        for (int i = 0; i < WEIGHTS; i++) {
            double most = ox_item(ox_amax(ox_abs(ox_cast(want[i], OX_F32)), OX_ALL_DIMS, false));
            double allowed = (dtype == OX_F32 ? 2e-4 : 4e-2) * most;
            CHECK_MSG(agrees(got[i], want[i], 0, allowed), "%s: gradient %d", ox_dtype_name(dtype), i);
        }
    }
}

/* ---- pooling ------------------------------------------------------------------------------------------- */

static void check_pooled(const char *what, ox_tensor *got, ox_tensor *want) {
    double step = got && got->dtype == OX_F16 ? 1e-3 : 1e-6;
    CHECK_MSG(got && want && agrees(got, want, step, step), "%s: %s", what, ox_error_text());
}

static void test_pooling(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_F64, OX_I32, OX_U8};
    const int64_t detours = ox_memory_get_stats().detours;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        OX_SCOPE {
            ox_tensor *x = ox_cast(ox_mul_number(ox_rand(OX_SHAPE(2, 3, 11, 14), OX_F32), 100), dtypes[d]);
            ox_tensor *there = ox_to(x, gpu), *turned = ox_transpose(there, 2, 3);
            ox_shape kernel = OX_DIMS(3, 2), two = OX_DIMS(2), pad = OX_DIMS(1, 0), apart = OX_DIMS(1, 2);
            ox_pair got = ox_max_pool2d_with_indices(there, kernel, two, pad, apart, true);
            ox_pair want = ox_max_pool2d_with_indices(x, kernel, two, pad, apart, true);
            check_pooled("largest", got.values, want.values);
            check_pooled("where they are", got.indices, want.indices);
            if (d >= 3) continue; /* integers have no averages */
            kernel = OX_DIMS(3);
            pad = OX_DIMS(1);
            check_pooled("averages", ox_avg_pool2d(turned, kernel, two, pad, false, false, 0),
                         ox_avg_pool2d(ox_transpose(x, 2, 3), kernel, two, pad, false, false, 0));
            check_pooled("adaptive averages", ox_adaptive_avg_pool2d(there, OX_DIMS(4, 5)),
                         ox_adaptive_avg_pool2d(x, OX_DIMS(4, 5)));
        }
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
}

int main(void) {
    gpu = ox_vulkan(0);
    if (!gpu) {
        check_skip("convolutions on a GPU", ox_error_text());
        return check_done("vulkan_conv");
    }
    test_convolutions();
    test_other_dims();
    test_pooling();
    test_block(OX_F32);
    test_block(OX_F16);
    return check_done("vulkan_conv");
}
