/* test_pool.c - pooling and batch_norm against plain loops in double: dtypes, layouts, strides, padding,
 * dilation, ceil, adaptive sizes, running statistics, second gradients, errors.
 * OX_TIERS OX_VULKAN(max_pool avg_pool avg_pool_back batch_norm) */
#include "operands.h"
#include "oxtorch_nn.h"

static const ox_dtype float_dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16};

static double real_at(const ox_tensor *t, int64_t i) { return load_real(t->dtype, element(t, i)); }

static double allowed(ox_dtype dtype, double around) {
    double step = dtype == OX_F64 ? 1e-13 : dtype == OX_F32 ? 2e-6 : dtype == OX_F16 ? 2e-3 : 1.6e-2;
    return step * around;
}

/* ---- two dims, written out ----------------------------------------------------------------------------- */

typedef struct pool_case {
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    bool ceil;
} pool_case;

static const pool_case pool_cases[] = {
    {{2, 2}, {2, 2}, {0, 0}, {1, 1}, false}, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, false},
    {{3, 2}, {2, 3}, {1, 1}, {1, 1}, true},  {{2, 3}, {1, 1}, {1, 2}, {3, 2}, false},
    {{1, 1}, {2, 1}, {0, 0}, {1, 1}, true},  {{3, 3}, {3, 3}, {1, 0}, {1, 1}, true},
};
enum { POOL_CASES = sizeof pool_cases / sizeof *pool_cases };

static int64_t places_of(const pool_case *c, int d, int64_t size) {
    int64_t room = size + 2 * c->padding[d] - c->dilation[d] * (c->kernel[d] - 1) - 1;
    int64_t places = (room + (c->ceil ? c->stride[d] - 1 : 0)) / c->stride[d] + 1;
    if (c->ceil && (places - 1) * c->stride[d] >= size + c->padding[d]) places--;
    return places;
}

/* The largest, where it is, the sum and the count of a window of plane n at [i,j]. */
typedef struct window {
    double most, sum, around;
    int64_t at, count, padded;
} window;

static window look(const pool_case *c, const ox_tensor *x, int64_t n, int64_t i, int64_t j) {
    int64_t h = x->shape[2], w = x->shape[3];
    window v = {0, 0, 0, -1, 0, 0};
    for (int64_t k = 0; k < c->kernel[0]; k++)
        for (int64_t l = 0; l < c->kernel[1]; l++) {
            int64_t y = i * c->stride[0] - c->padding[0] + k * c->dilation[0];
            int64_t z = j * c->stride[1] - c->padding[1] + l * c->dilation[1];
            if (y < h + c->padding[0] && z < w + c->padding[1]) v.padded++;
            if (y < 0 || z < 0 || y >= h || z >= w) continue;
            double number = real_at(x, (n * h + y) * w + z);
            if (v.at < 0 || number > v.most || number != number) v.most = number, v.at = y * w + z;
            v.sum += number;
            v.around += fabs(number);
            v.count++;
        }
    return v;
}

static void check_case(const pool_case *c, layout l, ox_dtype dtype, int64_t n) {
    int64_t shape[4] = {n, 3, 7, 8};
    ox_tensor *x = random_layout(l, DOMAIN_UNIT, 4, shape, dtype);
    ox_shape kernel = ox_shape_from(2, c->kernel), stride = ox_shape_from(2, c->stride),
             padding = ox_shape_from(2, c->padding), dilation = ox_shape_from(2, c->dilation);
    ox_pair most = ox_max_pool2d_with_indices(x, kernel, stride, padding, dilation, c->ceil);
    bool averages = c->dilation[0] == 1 && c->dilation[1] == 1 && format_of(dtype) != NULL;
    ox_tensor *mean = NULL, *inside = NULL, *by = NULL;
    if (averages) {
        mean = ox_avg_pool2d(x, kernel, stride, padding, c->ceil, true, 0);
        inside = ox_avg_pool2d(x, kernel, stride, padding, c->ceil, false, 0);
        by = ox_avg_pool2d(x, kernel, stride, padding, c->ceil, true, 7);
    }
    int64_t rows = places_of(c, 0, 7), columns = places_of(c, 1, 8);
    bool fits = most.values && most.values->shape[2] == rows && most.values->shape[3] == columns &&
                (!averages || (mean && inside && by));
    CHECK_MSG(fits, "%s: %s", layout_name(l), ox_error_text());
    for (int64_t i = 0; fits && i < ox_numel(most.values); i++) {
        window v = look(c, x, i / (rows * columns), i / columns % rows, i % columns);
        CHECK(real_at(most.values, i) == v.most && (int64_t)real_at(most.indices, i) == v.at);
        double near = allowed(dtype, v.around + 0.01);
        CHECK(!mean || fabs(real_at(mean, i) - v.sum / (double)v.padded) <= near);
        CHECK(!inside || fabs(real_at(inside, i) - v.sum / (double)v.count) <= near);
        CHECK(!by || fabs(real_at(by, i) - v.sum / 7) <= near);
    }
}

static void test_windows(void) {
    for (int n = 0; n < POOL_CASES; n++)
        for (int l = 0; l < LAYOUT_COUNT; l++)
            OX_SCOPE {
                for (int d = 0; d < 4; d++) check_case(&pool_cases[n], (layout)l, float_dtypes[d], 2);
                check_case(&pool_cases[n], (layout)l, OX_I32, 2);
                check_case(&pool_cases[n], (layout)l, OX_U64, 1);
                check_case(&pool_cases[n], (layout)l, OX_F32, 0);
                ox_error_clear();
            }
    OX_SCOPE { /* nothing flows back from no places */
        ox_tensor *g = ox_zeros(OX_SHAPE(1, 2, 0, 3), OX_F32);
        ox_shape none = OX_ALL_DIMS;
        ox_tensor *back = ox_avg_pool_back(g, OX_DIMS(4, 3), none, none, none, false, true, 0);
        CHECK_MSG(back && ox_item(ox_sum(ox_abs(back), OX_ALL_DIMS, false)) == 0, "%s", ox_error_text());
    }
    OX_SCOPE { /* NaN before all, the first of equals */
        const float numbers[8] = {1, 3, 3, 0, 2, NAN, 9, 1};
        ox_tensor *x = ox_from_floats(numbers, OX_SHAPE(1, 8), OX_F32);
        ox_shape none = OX_ALL_DIMS;
        ox_pair most = ox_max_pool1d_with_indices(x, OX_DIMS(4), none, none, none, false);
        CHECK(real_at(most.values, 0) == 3 && real_at(most.indices, 0) == 1);
        CHECK(real_at(most.values, 1) != real_at(most.values, 1) && real_at(most.indices, 1) == 5);
    }
}

/* Lines longer than vectors, strides up to more than are laid out, many taps, all that orders oddly. */
static void test_lines(void) {
    static const pool_case cases[] = {
        {{3, 3}, {2, 2}, {1, 1}, {1, 1}, false},  {{2, 5}, {1, 3}, {1, 2}, {1, 2}, true},
        {{9, 10}, {3, 1}, {4, 5}, {1, 1}, false}, {{2, 18}, {2, 17}, {0, 9}, {1, 1}, true},
        {{1, 2}, {1, 16}, {0, 1}, {1, 16}, true}, {{3, 3}, {1, 1}, {1, 1}, {4, 4}, false},
    };
    static const float odd[] = {-INFINITY, NAN, INFINITY, 0.0f, -0.0f};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        for (int kind = 0; kind < 4; kind++)
            OX_SCOPE {
                const pool_case *c = &cases[n];
                ox_tensor *x = ox_randint(-3, 4, OX_SHAPE(2, 2, 19, 71), OX_F32);
                float *at = (float *)ox_data(x);
                for (int64_t i = 0; kind > 0 && i < ox_numel(x); i += kind == 1 ? 7 : 1)
                    at[i] = kind == 3 ? -INFINITY : odd[i * 13 % 11 % 5];
                if (n % 2) x = ox_transpose(ox_contiguous(ox_transpose(x, 1, 3)), 1, 3);
                if (kind == 1) x = ox_flip(ox_cast(x, OX_BF16), OX_DIMS(3));
                ox_shape kernel = ox_shape_from(2, c->kernel), stride = ox_shape_from(2, c->stride),
                         padding = ox_shape_from(2, c->padding), dilation = ox_shape_from(2, c->dilation);
                ox_pair most = ox_max_pool2d_with_indices(x, kernel, stride, padding, dilation, c->ceil);
                CHECK_MSG(most.values, "%s", ox_error_text());
                for (int64_t i = 0; most.values && i < ox_numel(most.values); i++) {
                    int64_t rows = most.values->shape[2], columns = most.values->shape[3];
                    window v = look(c, x, i / (rows * columns), i / columns % rows, i % columns);
                    double got = real_at(most.values, i);
                    CHECK((got == v.most || (got != got && v.most != v.most)) &&
                          (int64_t)real_at(most.indices, i) == v.at);
                }
            }
}

static void test_adaptive(void) {
    static const int64_t sizes[][3] = {{1, 1, 1}, {3, 2, 4}, {5, 4, 6}, {7, 3, 9}};
    for (int s = 0; s < 4; s++)
        for (int d = 0; d < 4; d++)
            OX_SCOPE {
                const int64_t *n = sizes[s], shape[4] = {2, 5, 4, 6};
                ox_tensor *x = random_layout(LAYOUT_TRANSPOSED, DOMAIN_UNIT, 4, shape, float_dtypes[d]);
                ox_tensor *mean = ox_adaptive_avg_pool3d(x, OX_DIMS(n[0], n[1], n[2]));
                ox_pair most = ox_adaptive_max_pool3d(x, OX_DIMS(n[0], n[1], n[2]));
                CHECK_MSG(mean && most.values && ox_numel(mean) == 2 * n[0] * n[1] * n[2], "%s",
                          ox_error_text());
                for (int64_t i = 0; mean && i < ox_numel(mean); i++) {
                    int64_t p[4] = {i / (n[0] * n[1] * n[2]), i / (n[1] * n[2]) % n[0], i / n[2] % n[1],
                                    i % n[2]};
                    int64_t from[3], to[3];
                    for (int k = 0; k < 3; k++) {
                        from[k] = p[k + 1] * shape[k + 1] / n[k];
                        to[k] = ((p[k + 1] + 1) * shape[k + 1] + n[k] - 1) / n[k];
                    }
                    double sum = 0, largest = -INFINITY, count = 0;
                    for (int64_t a = from[0]; a < to[0]; a++)
                        for (int64_t b = from[1]; b < to[1]; b++)
                            for (int64_t c = from[2]; c < to[2]; c++, count++) {
                                double v = real_at(x, ((p[0] * 5 + a) * 4 + b) * 6 + c);
                                sum += v;
                                largest = v > largest ? v : largest;
                            }
                    CHECK(fabs(real_at(mean, i) - sum / count) <= allowed(x->dtype, 1.5));
                    CHECK(real_at(most.values, i) == largest);
                }
            }
}

/* ---- batch_norm ---------------------------------------------------------------------------------------- */

static void check_batch_norm(ox_dtype dtype, layout l, bool training) {
    const int64_t shape[4] = {3, 4, 5, 2}, each = 10, channels = 4;
    ox_dtype wide = dtype == OX_F64 ? OX_F64 : OX_F32;
    ox_tensor *x = random_layout(l, DOMAIN_UNIT, 4, shape, dtype);
    ox_tensor *w = random_layout(l, DOMAIN_UNIT, 1, &channels, wide);
    ox_tensor *mean = ox_full(OX_SHAPE(4), 0.25, wide), *variance = ox_full(OX_SHAPE(4), 2, wide);
    ox_tensor *y = ox_batch_norm(x, w, w, mean, variance, training, 0.1, 1e-3);
    CHECK_MSG(y && y->dtype == dtype, "%s: %s", layout_name(l), ox_error_text());
    for (int64_t c = 0; y && c < 4; c++) {
        double m = 0, s = 0;
        for (int64_t i = 0; i < 3 * each; i++) m += real_at(x, (i / each * 4 + c) * each + i % each) / 30;
        for (int64_t i = 0; i < 3 * each; i++)
            s += pow(real_at(x, (i / each * 4 + c) * each + i % each) - m, 2) / 30;
        double near = wide == OX_F64 ? 1e-12 : 1e-5;
        CHECK(fabs(real_at(mean, c) - (training ? 0.225 + 0.1 * m : 0.25)) <= near);
        CHECK(fabs(real_at(variance, c) - (training ? 1.8 + 0.1 * s * 30 / 29 : 2)) <= near);
        if (!training) m = 0.25, s = 2;
        for (int64_t i = 0; i < 3 * each; i++) {
            int64_t at = (i / each * 4 + c) * each + i % each;
            double want = (real_at(x, at) - m) / sqrt(s + 1e-3) * real_at(w, c) + real_at(w, c);
            CHECK_MSG(fabs(real_at(y, at) - want) <= allowed(dtype, 8 + fabs(want)), "%g, not %g",
                      real_at(y, at), want);
        }
    }
}

static ox_tensor *normalized(ox_tensor *const *in, void *user) {
    (void)user;
    return ox_batch_norm(in[0], in[1], in[2], NULL, NULL, true, 0.1, 1e-2);
}

static void test_batch_norm(void) {
    for (int d = 0; d < 4; d++)
        for (int l = 0; l < LAYOUT_COUNT; l++)
            for (int training = 0; training < 2; training++)
                OX_SCOPE {
                    check_batch_norm(float_dtypes[d], (layout)l, training != 0);
                    ox_error_clear();
                }
    OX_SCOPE {
        ox_tensor *in[3] = {ox_randn(OX_SHAPE(3, 2, 3), OX_F64), ox_randn(OX_SHAPE(2), OX_F64),
                            ox_randn(OX_SHAPE(2), OX_F64)};
        for (int i = 0; i < 3; i++) ox_requires_grad_(in[i], true);
        CHECK_MSG(ox_gradcheck(normalized, NULL, in, 3, NULL) == OX_OK, "%s", ox_error_text());
        CHECK_MSG(ox_gradgradcheck(normalized, NULL, in, 3, NULL) == OX_OK, "%s", ox_error_text());
    }
}

/* ---- errors -------------------------------------------------------------------------------------------- */

#define REFUSED(call, code, words)                                                                       \
    do {                                                                                                 \
        CHECK_MSG(!(call) && ox_error() == (code) && strstr(ox_error_text(), words), "%s", ox_error_text()); \
        ox_error_clear();                                                                                \
    } while (0)

static void test_refuses(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(1, 4, 5, 5), OX_F32), *flat = ox_ones(OX_SHAPE(5), OX_F32);
        ox_shape none = OX_ALL_DIMS;
        REFUSED(ox_max_pool2d(flat, OX_DIMS(2), none, none, none, false), OX_ERR_SHAPE, "2 spatial dims");
        REFUSED(ox_max_pool2d(x, none, none, none, none, false), OX_ERR_ARG, "no size of a kernel");
        REFUSED(ox_max_pool2d(x, OX_DIMS(0), none, none, none, false), OX_ERR_ARG, "a kernel of 0");
        REFUSED(ox_max_pool2d(x, OX_DIMS(2), none, OX_DIMS(2), none, false), OX_ERR_ARG, "more than half");
        REFUSED(ox_max_pool2d(x, OX_DIMS(6), none, none, none, false), OX_ERR_SHAPE, "no window fits");
        REFUSED(ox_max_pool2d(x, OX_DIMS(2), OX_DIMS(0), none, none, false), OX_ERR_ARG, "stride 0");
        REFUSED(ox_max_pool2d(x, OX_DIMS(2), none, none, OX_DIMS(-1), false), OX_ERR_ARG, "dilation -1");
        REFUSED(ox_avg_pool2d(ox_cast(x, OX_I32), OX_DIMS(2), none, none, false, true, 0), OX_ERR_DTYPE,
                "i32");
        REFUSED(ox_adaptive_avg_pool2d(x, OX_DIMS(-1)), OX_ERR_ARG, "adaptive_avg_pool2d");
        REFUSED(ox_batch_norm(flat, NULL, NULL, NULL, NULL, true, 0.1, 1e-5), OX_ERR_SHAPE, "batch_norm");
        REFUSED(ox_batch_norm(x, flat, NULL, NULL, NULL, true, 0.1, 1e-5), OX_ERR_SHAPE, "4 channels");
        REFUSED(ox_batch_norm(x, NULL, NULL, flat, NULL, true, 0.1, 1e-5), OX_ERR_SHAPE, "4 channels");
        REFUSED(ox_batch_norm(x, NULL, NULL, NULL, NULL, false, 0.1, 1e-5), OX_ERR_ARG, "NULL");
        REFUSED(ox_batch_norm(ox_ones(OX_SHAPE(1, 4), OX_F32), NULL, NULL, NULL, NULL, true, 0.1, 1e-5),
                OX_ERR_SHAPE, "less than two numbers a channel");
    }
}

int main(void) {
    test_windows();
    test_lines();
    test_adaptive();
    test_batch_norm();
    test_refuses();
    return check_done("pool");
}
