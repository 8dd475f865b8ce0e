/* test_parts.c - ops that are made of others, against plain loops in double: dtypes, layouts, shapes, errors.
 * OX_TIERS OX_VULKAN(matmul group_norm clamp_tensor) */
#include "operands.h"

static const ox_dtype float_dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16};

static double real_at(const ox_tensor *t, int64_t i) { return load_real(t->dtype, element(t, i)); }

/* What the largest number of a result may be off by: some steps of its dtype, and of the sums in between. */
static double allowed(ox_dtype dtype, double around) {
    double step = dtype == OX_F64 ? 1e-13 : dtype == OX_F32 ? 2e-6 : dtype == OX_F16 ? 2e-3 : 1.6e-2;
    return step * around;
}

/* ---- instance_norm ------------------------------------------------------------------------------------- */

static void check_instance_norm(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, const char *how) {
    ox_tensor *y = ox_instance_norm(x, weight, bias, 1e-3);
    CHECK_MSG(y && y->dtype == x->dtype && y->ndim == x->ndim, "%s: %s", how, ox_error_text());
    if (!y) return;
    int64_t rows = x->shape[0] * x->shape[1], n = rows ? ox_numel(x) / rows : 0;
    double worst = 0;
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < n; i++) mean += real_at(x, r * n + i) / (double)n;
        for (int64_t i = 0; i < n; i++) squares += pow(real_at(x, r * n + i) - mean, 2) / (double)n;
        for (int64_t i = 0; i < n; i++) {
            double want = (real_at(x, r * n + i) - mean) / sqrt(squares + 1e-3);
            if (weight) want *= real_at(weight, r % x->shape[1]);
            if (bias) want += real_at(bias, r % x->shape[1]);
            double off = fabs(real_at(y, r * n + i) - want) / allowed(y->dtype, 4 + fabs(want) + fabs(mean));
            if (!(off <= worst)) worst = off;
        }
    }
    CHECK_MSG(worst <= 1, "instance_norm of %s, %s: off by %g times what is allowed", ox_dtype_name(x->dtype),
              how, worst);
}

static void test_instance_norm(void) {
    static const int64_t shapes[][4] = {{2, 3, 7, 5}, {1, 4, 1, 9}, {3, 1, 2, 2}, {2, 3, 0, 4}, {2, 0, 3, 4}};
    for (int d = 0; d < 4; d++)
        for (int s = 0; s < 5; s++)
            for (int l = 0; l < LAYOUT_COUNT; l++)
                OX_SCOPE {
                    ox_tensor *x = random_layout((layout)l, DOMAIN_MODEST, 4, shapes[s], float_dtypes[d]);
                    ox_tensor *w = random_layout((layout)l, DOMAIN_UNIT, 1, &shapes[s][1], float_dtypes[d]);
                    check_instance_norm(x, l & 1 ? w : NULL, l & 2 ? w : NULL, layout_name((layout)l));
                }
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(2, 3, 11), OX_F32), *flat = ox_randn(OX_SHAPE(6), OX_F32);
        check_instance_norm(x, NULL, NULL, "a row of samples");
        CHECK(!ox_instance_norm(flat, NULL, NULL, 1e-5) && ox_error() == OX_ERR_SHAPE);
        CHECK_MSG(strstr(ox_error_text(), "instance_norm: f32[6] has no channel dim"), "%s", ox_error_text());
        ox_error_clear();
        CHECK(!ox_instance_norm(x, ox_ones(OX_SHAPE(2), OX_F32), NULL, 1e-5) && ox_error() == OX_ERR_SHAPE);
        CHECK_MSG(strstr(ox_error_text(), "instance_norm: f32[2] does not fit"), "%s", ox_error_text());
        ox_error_clear();
        CHECK(!ox_instance_norm(ox_ones(OX_SHAPE(1, 2, 3), OX_I64), NULL, NULL, 1e-5));
        CHECK(ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
    }
}

/* ---- conv2d -------------------------------------------------------------------------------------------- */

typedef struct conv_case {
    int64_t x[4], w[4], stride[2], padding[2], dilation[2], groups;
} conv_case;

static double conv_at(const ox_tensor *x, const ox_tensor *w, const conv_case *d, int64_t n, int64_t o,
                      int64_t row, int64_t column, double *around) {
    int64_t each = w->shape[1], first = o / (w->shape[0] / d->groups) * each;
    double sum = 0;
    for (int64_t c = 0; c < each; c++)
        for (int64_t i = 0; i < w->shape[2]; i++)
            for (int64_t k = 0; k < w->shape[3]; k++) {
                int64_t y = row * d->stride[0] + i * d->dilation[0] - d->padding[0];
                int64_t z = column * d->stride[1] + k * d->dilation[1] - d->padding[1];
                if (y < 0 || z < 0 || y >= x->shape[2] || z >= x->shape[3]) continue;
                int64_t at = ((n * x->shape[1] + first + c) * x->shape[2] + y) * x->shape[3] + z;
                double term =
                    real_at(x, at) * real_at(w, ((o * each + c) * w->shape[2] + i) * w->shape[3] + k);
                sum += term;
                *around += fabs(term);
            }
    return sum;
}

static void check_conv2d(ox_tensor *x, ox_tensor *w, ox_tensor *bias, conv_case c, const char *how) {
    ox_conv_desc d;
    memset(&d, 0, sizeof d);
    if (c.stride[0] != 1 || c.stride[1] != 1) d.stride = OX_DIMS(c.stride[0], c.stride[1]);
    if (c.padding[0] == c.padding[1] && c.padding[0]) d.padding = OX_DIMS(c.padding[0]);
    if (c.padding[0] != c.padding[1]) d.padding = OX_DIMS(c.padding[0], c.padding[1]);
    if (c.dilation[0] > 1) d.dilation = OX_DIMS(c.dilation[0], c.dilation[1]);
    if (c.groups > 1) d.groups = c.groups;
    ox_tensor *y = ox_conv2d(x, w, bias, &d);
    int64_t size[2];
    for (int i = 0; i < 2; i++) {
        size[i] = (x->shape[2 + i] + 2 * c.padding[i] - c.dilation[i] * (w->shape[2 + i] - 1) - 1) /
                      c.stride[i] + 1;
    }
    bool fits = y && y->dtype == x->dtype && y->ndim == 4 && y->shape[0] == x->shape[0] &&
                y->shape[1] == w->shape[0] && y->shape[2] == size[0] && y->shape[3] == size[1];
    CHECK_MSG(fits && ox_is_contiguous(y), "conv2d %s: %s", how, ox_error_text());
    if (!fits) return;
    double worst = 0;
    for (int64_t i = 0; i < ox_numel(y); i++) {
        int64_t column = i % size[1], row = i / size[1] % size[0], o = i / (size[0] * size[1]) % w->shape[0];
        double around = 0.1, want = conv_at(x, w, &c, i / (size[0] * size[1] * w->shape[0]), o, row, column,
                                            &around);
        if (bias) want += real_at(bias, o), around += fabs(real_at(bias, o));
        double off = fabs(real_at(y, i) - want) / allowed(y->dtype, around);
        if (!(off <= worst)) worst = off;
    }
    CHECK_MSG(worst <= 1, "conv2d of %s, %s: off by %g times what is allowed", ox_dtype_name(x->dtype), how,
              worst);
}

static const conv_case conv_cases[] = {
    {{2, 3, 7, 6}, {4, 3, 3, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
    {{2, 4, 7, 6}, {6, 2, 3, 2}, {2, 1}, {1, 0}, {1, 1}, 2},
    {{1, 4, 9, 8}, {4, 1, 3, 3}, {1, 2}, {2, 1}, {2, 3}, 4},
    {{3, 5, 4, 4}, {7, 5, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
    {{2, 2, 1, 1}, {3, 2, 3, 3}, {3, 3}, {1, 1}, {1, 1}, 1},
    {{1, 1, 5, 4}, {1, 1, 5, 4}, {1, 1}, {0, 0}, {1, 1}, 1},
    {{0, 2, 4, 4}, {3, 2, 2, 2}, {1, 1}, {0, 0}, {1, 1}, 1},
};

static void test_conv2d(void) {
    for (int d = 0; d < 4; d++)
        for (size_t n = 0; n < sizeof conv_cases / sizeof *conv_cases; n++)
            for (int l = 0; l < LAYOUT_COUNT; l++)
                OX_SCOPE {
                    const conv_case *c = &conv_cases[n];
                    layout other = (layout)((l + 4) % LAYOUT_COUNT);
                    ox_tensor *x = random_layout((layout)l, DOMAIN_UNIT, 4, c->x, float_dtypes[d]);
                    ox_tensor *w = random_layout(other, DOMAIN_UNIT, 4, c->w, float_dtypes[d]);
                    ox_tensor *bias = random_layout((layout)l, DOMAIN_UNIT, 1, c->w, float_dtypes[d]);
                    check_conv2d(x, w, l & 1 ? bias : NULL, *c, layout_name((layout)l));
                    if (float_dtypes[d] == OX_F16) check_conv2d(x, ox_cast(w, OX_F32), bias, *c, "mixed");
                }
}

#define REFUSED(call, code, words)                                                                   \
    do {                                                                                             \
        CHECK_MSG(!(call) && ox_error() == (code) && strstr(ox_error_text(), words), "%s", ox_error_text()); \
        ox_error_clear();                                                                            \
    } while (0)

static void test_conv2d_refuses(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(1, 4, 5, 5), OX_F32), *w = ox_ones(OX_SHAPE(2, 4, 3, 3), OX_F32);
        ox_conv_desc d;
        memset(&d, 0, sizeof d);
        REFUSED(ox_conv2d(ox_select(x, 0, 0), w, NULL, NULL), OX_ERR_SHAPE, "[N,C,H,W]");
        REFUSED(ox_conv2d(x, ox_narrow(w, 1, 0, 3), NULL, NULL), OX_ERR_SHAPE, "in 1 groups");
        REFUSED(ox_conv2d(x, w, ox_ones(OX_SHAPE(3), OX_F32), NULL), OX_ERR_SHAPE, "bias f32[3]");
        REFUSED(ox_conv2d(x, ox_cast(w, OX_F64), NULL, NULL), OX_ERR_DTYPE, "different dtypes");
        REFUSED(ox_conv2d(ox_cast(x, OX_I32), w, NULL, NULL), OX_ERR_DTYPE, "i32");
        REFUSED(ox_conv2d(ox_narrow(x, 2, 0, 2), w, NULL, NULL), OX_ERR_SHAPE, "does not fit into");
        REFUSED(ox_conv2d(x, ox_narrow(w, 2, 0, 0), NULL, NULL), OX_ERR_SHAPE, "does not fit into");
        d.groups = 3;
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_SHAPE, "3 groups");
        d.groups = -1;
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_ARG, "-1 groups");
        d.groups = 1;
        d.stride = OX_DIMS(1, -1);
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_ARG, "stride -1");
        d.stride = OX_DIMS(0);
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_ARG, "stride 0");
        d.stride = OX_DIMS(1, INT64_MAX);
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_ARG, "stride 9223372036854775807");
        d.stride = OX_DIMS(1, 1, 1);
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_ARG, "3 numbers for the stride, not 1 or 2");
        d.stride.ndim = INT32_MIN;
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_ARG, "numbers for the stride");
        d.stride.ndim = 0;
        d.padding = OX_DIMS(INT64_MAX);
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_ARG, "padding");
        d.padding.ndim = 0;
        d.dilation = OX_DIMS(INT64_MAX / 2, 1);
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_ARG, "dilation");
        d.dilation.ndim = 0;
        d.padding = OX_DIMS(INT32_MAX); /* more than there is */
        CHECK(!ox_conv2d(x, w, NULL, &d));
        ox_error_clear();
    }
}

/* ---- im2col, col2im ------------------------------------------------------------------------------------ */

typedef struct window_case {
    int64_t size[2], kernel[2], dilation[2], padding[2], stride[2];
} window_case;

static ox_shape two(const int64_t *n) { return ox_shape_from(2, n); }

/* Both against loops; numbers are whole, so that sums are exact. x: [2,3,H,W] of any layout. */
static void check_columns(const window_case *w, ox_tensor *x) {
    int64_t places[2], channels = 3, samples = 2, rows = w->size[0], columns = w->size[1];
    for (int i = 0; i < 2; i++)
        places[i] =
            (w->size[i] + 2 * w->padding[i] - w->dilation[i] * (w->kernel[i] - 1) - 1) / w->stride[i] + 1;
    int64_t each = w->kernel[0] * w->kernel[1], count = places[0] * places[1], terms = channels * each;
    double *from = (double *)malloc(sizeof *from * (size_t)(samples * channels * rows * columns)),
           *back = (double *)calloc((size_t)(samples * channels * rows * columns), sizeof *back),
           *wanted = (double *)calloc((size_t)(samples * terms * count), sizeof *wanted);
    CHECK(from && back && wanted && ox_to_doubles(x, from, samples * channels * rows * columns) == OX_OK);
    for (int64_t at = 0; at < samples * terms * count; at++) {
        int64_t place = at % count, term = at / count % terms, n = at / count / terms, k = term % each;
        int64_t r = place / places[1] * w->stride[0] + k / w->kernel[1] * w->dilation[0] - w->padding[0];
        int64_t c = place % places[1] * w->stride[1] + k % w->kernel[1] * w->dilation[1] - w->padding[1];
        if (r < 0 || r >= rows || c < 0 || c >= columns) continue;
        int64_t place_in = ((n * channels + term / each) * rows + r) * columns + c;
        wanted[at] = from[place_in];
        back[place_in] += from[place_in];
    }
    ox_tensor *y = ox_im2col(x, two(w->kernel), two(w->dilation), two(w->padding), two(w->stride));
    ox_tensor *all = ox_from_doubles(wanted, OX_SHAPE(samples, terms, count), x->dtype);
    CHECK_MSG(y && ox_is_contiguous(y) && ox_equal(y, all), "im2col of %s: %s", ox_dtype_name(x->dtype),
              ox_error_text());
    ox_tensor *one = ox_im2col(ox_select(x, 0, 1), two(w->kernel), two(w->dilation), two(w->padding),
                               two(w->stride));
    CHECK(ox_equal(one, ox_select(all, 0, 1)));
    ox_tensor *z = ox_col2im(ox_transpose(ox_contiguous(ox_transpose(all, 1, 2)), 1, 2), two(w->size),
                             two(w->kernel), two(w->dilation), two(w->padding), two(w->stride));
    ox_tensor *sums = ox_from_doubles(back, OX_SHAPE(samples, channels, rows, columns), x->dtype);
    CHECK_MSG(z && ox_is_contiguous(z) && ox_equal(z, sums), "col2im of %s: %s", ox_dtype_name(x->dtype),
              ox_error_text());
    z = ox_col2im(ox_select(all, 0, 1), two(w->size), two(w->kernel), two(w->dilation), two(w->padding),
                  two(w->stride));
    CHECK(ox_equal(z, ox_select(sums, 0, 1)));
    free(from);
    free(back);
    free(wanted);
}

static void test_columns(void) {
    static const window_case cases[] = {
        {{7, 6}, {3, 2}, {1, 1}, {0, 0}, {1, 1}}, {{7, 6}, {3, 2}, {1, 2}, {1, 2}, {2, 1}},
        {{4, 9}, {1, 1}, {1, 1}, {0, 0}, {3, 2}}, {{5, 5}, {2, 3}, {2, 2}, {3, 0}, {1, 4}},
        {{1, 1}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    };
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_F64, OX_I8, OX_I64};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int d = 0; d < 5; d++)
            OX_SCOPE {
                int64_t h = cases[c].size[0], w = cases[c].size[1];
                ox_tensor *x = ox_cast(ox_randint(-3, 4, OX_SHAPE(2, 3, h, w), OX_I64), dtypes[d]),
                          *wide = ox_cast(ox_randint(-3, 4, OX_SHAPE(w, 2 * h, 3, 2), OX_I64), dtypes[d]);
                check_columns(&cases[c], x);
                check_columns(&cases[c],
                              ox_slice(ox_permute(wide, OX_DIMS(3, 2, 1, 0)), 2, OX_END, OX_END, -2));
                check_columns(&cases[c], ox_expand(ox_narrow(x, 1, 1, 1), OX_SHAPE(2, 3, h, w)));
            }
    OX_SCOPE { /* one number for both dims, defaults, nothing at all; a convolution is a product of them */
        ox_tensor *x = ox_randn(OX_SHAPE(2, 3, 8, 8), OX_F32), *w = ox_randn(OX_SHAPE(4, 3, 2, 2), OX_F32);
        ox_shape none = OX_SCALAR_SHAPE;
        ox_tensor *y = ox_im2col(x, OX_DIMS(2), none, none, none), *z = ox_conv2d(x, w, NULL, NULL);
        CHECK(ox_allclose(ox_reshape(ox_matmul(ox_reshape(w, OX_SHAPE(4, 12)), y), OX_SHAPE(2, 4, 7, 7)), z,
                          1e-5, 1e-5, false));
        y = ox_im2col(ox_narrow(x, 0, 0, 0), OX_DIMS(2), none, none, none);
        CHECK(y && ox_numel(y) == 0 && y->shape[1] == 12 && y->shape[2] == 49);
        CHECK(!ox_im2col(x, none, none, none, none) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_im2col(x, OX_DIMS(9), none, none, none) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_im2col(x, OX_DIMS(2), none, none, OX_DIMS(0)) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_im2col(ox_select(ox_select(x, 0, 0), 0, 0), OX_DIMS(2), none, none, none) &&
              ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_col2im(ox_zeros(OX_SHAPE(12, 48), OX_F32), OX_DIMS(8, 8), OX_DIMS(2), none, none, none) &&
              ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_col2im(ox_zeros(OX_SHAPE(12, 49), OX_F32), OX_DIMS(8), OX_DIMS(2), none, none, none) &&
              ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

int main(void) {
    test_conv2d();
    test_columns();
    test_conv2d_refuses();
    test_instance_norm();
    return check_done("parts");
}
