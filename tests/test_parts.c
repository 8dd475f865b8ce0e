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
            worst = check_worst(worst, off);
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
    test_columns();
    test_instance_norm();
    return check_done("parts");
}
