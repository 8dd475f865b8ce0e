/* test_conv.c - convolutions in one to three dims, transposed ones and what flows back, against plain loops
 * in double: dtypes, layouts, strides, padding, dilation, groups, threads, errors.
 * OX_TIERS OX_BASE OX_VULKAN(conv conv_back_input conv_back_weight) */
#include "operands.h"
#include "oxtorch_nn.h"

static const ox_dtype float_dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16};

static double real_at(const ox_tensor *t, int64_t i) { return load_real(t->dtype, element(t, i)); }

static double allowed(ox_dtype dtype, double around) {
    double step = dtype == OX_F64 ? 1e-13 : dtype == OX_F32 ? 2e-6 : dtype == OX_F16 ? 2e-3 : 1.6e-2;
    return step * around;
}

/* ---- plain loops --------------------------------------------------------------------------------------- */

enum { MOST = 1 << 16 };

/* x [N,C,..], w [O,C/groups,..]; missing dims of three are 1. */
typedef struct conv_case {
    int dims;
    int64_t n, c, o, groups, size[3], kernel[3], stride[3], padding[3], dilation[3], behind[3];
} conv_case;

typedef struct sums {
    double sum[MOST], around[MOST];
} sums;
static sums y_sums, x_sums, w_sums;

static void add_to(sums *s, int64_t at, double term) {
    s->sum[at] += term;
    s->around[at] += fabs(term);
}

static int64_t places_of(const conv_case *c, int d) {
    return (c->size[d] + 2 * c->padding[d] + c->behind[d] - c->dilation[d] * (c->kernel[d] - 1) - 1) /
               c->stride[d] + 1;
}

static int64_t spatial(const int64_t *n) { return n[0] * n[1] * n[2]; }

/* Where place p and tap k of an image meet, or -1. */
static int64_t meet(const conv_case *c, const int64_t *places, int64_t p, int64_t k) {
    int64_t at = 0, each = 1;
    for (int d = 2; d >= 0; d--) {
        int64_t q = p % places[d] * c->stride[d] - c->padding[d] + k % c->kernel[d] * c->dilation[d];
        p /= places[d];
        k /= c->kernel[d];
        if (q < 0 || q >= c->size[d]) return -1;
        at += q * each;
        each *= c->size[d];
    }
    return at;
}

/* The sums of y, and of the gradients of x and w where y has the gradient g; NULL operands are left out. */
static void add_up(const conv_case *c, const ox_tensor *x, const ox_tensor *w, const ox_tensor *g) {
    int64_t places[3], channels = c->c / c->groups, outputs = c->o / c->groups;
    for (int d = 0; d < 3; d++) places[d] = places_of(c, d);
    int64_t pixels = spatial(c->size), taps = spatial(c->kernel), all = spatial(places);
    memset(&y_sums, 0, sizeof y_sums);
    memset(&x_sums, 0, sizeof x_sums);
    memset(&w_sums, 0, sizeof w_sums);
    for (int64_t n = 0; n < c->n; n++)
        for (int64_t o = 0; o < c->o; o++)
            for (int64_t i = 0; i < channels; i++)
                for (int64_t p = 0; p < all; p++)
                    for (int64_t k = 0; k < taps; k++) {
                        int64_t q = meet(c, places, p, k);
                        if (q < 0) continue;
                        int64_t at_x = (n * c->c + o / outputs * channels + i) * pixels + q,
                                at_w = (o * channels + i) * taps + k, at_y = (n * c->o + o) * all + p;
                        if (x && w) add_to(&y_sums, at_y, real_at(x, at_x) * real_at(w, at_w));
                        if (w && g) add_to(&x_sums, at_x, real_at(g, at_y) * real_at(w, at_w));
                        if (x && g) add_to(&w_sums, at_w, real_at(g, at_y) * real_at(x, at_x));
                    }
}

static void check_sums(const char *what, const ox_tensor *t, const sums *want, const ox_tensor *bias,
                       int64_t each, const conv_case *c, const char *how) {
    double worst = 0;
    CHECK_MSG(t && ox_is_contiguous(t), "%s %s: %s", what, how, ox_error_text());
    if (!t) return;
    for (int64_t i = 0; i < ox_numel(t); i++) {
        double add = bias ? real_at(bias, i / each % bias->shape[0]) : 0;
        double off = fabs(real_at(t, i) - want->sum[i] - add) /
                     allowed(t->dtype, 0.1 + want->around[i] + fabs(add));
        worst = check_worst(worst, off);
    }
    CHECK_MSG(worst <= 1, "%s of %s, %dd, stride %d, kernel %d x %d, groups %d, %s: off by %g of the allowed",
              what, ox_dtype_name(t->dtype), c->dims, (int)c->stride[2], (int)c->kernel[1],
              (int)c->kernel[2], (int)c->groups, how, worst);
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static ox_shape numbers_of(const conv_case *c, const int64_t *three) {
    return ox_shape_from(c->dims, three + 3 - c->dims);
}

static ox_conv_desc desc_of(const conv_case *c) {
    ox_conv_desc d;
    memset(&d, 0, sizeof d);
    d.stride = numbers_of(c, c->stride);
    d.padding = numbers_of(c, c->padding);
    d.dilation = numbers_of(c, c->dilation);
    d.groups = c->groups;
    return d;
}

static ox_tensor *convolve(const conv_case *c, ox_tensor *x, ox_tensor *w, ox_tensor *bias) {
    ox_conv_desc d = desc_of(c);
    if (c->behind[0] || c->behind[1] || c->behind[2]) d.padding = OX_DIMS(OX_PADDING_SAME);
    return c->dims == 1 ? ox_conv1d(x, w, bias, &d)
         : c->dims == 2 ? ox_conv2d(x, w, bias, &d) : ox_conv3d(x, w, bias, &d);
}

static ox_tensor *transposed(const conv_case *c, ox_tensor *g, ox_tensor *w, ox_tensor *bias) {
    ox_conv_desc told = desc_of(c);
    ox_conv_transpose_desc d;
    int64_t more[3];
    for (int i = 0; i < 3; i++)
        more[i] = c->size[i] - ((places_of(c, i) - 1) * c->stride[i] - 2 * c->padding[i] +
                                c->dilation[i] * (c->kernel[i] - 1) + 1);
    memset(&d, 0, sizeof d);
    d.stride = told.stride;
    d.padding = told.padding;
    d.dilation = told.dilation;
    d.groups = told.groups;
    d.output_padding = numbers_of(c, more);
    return c->dims == 1 ? ox_conv_transpose1d(g, w, bias, &d)
         : c->dims == 2 ? ox_conv_transpose2d(g, w, bias, &d) : ox_conv_transpose3d(g, w, bias, &d);
}

static const conv_case cases[] = {
    {2, 2, 3, 4, 1, {1, 7, 6}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}},
    {2, 2, 4, 6, 2, {1, 7, 6}, {1, 3, 2}, {1, 2, 1}, {0, 1, 0}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 4, 4, 4, {1, 9, 8}, {1, 3, 3}, {1, 1, 2}, {0, 2, 1}, {1, 2, 3}, {0, 0, 0}},
    {2, 3, 5, 7, 1, {1, 4, 4}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}},
    {2, 3, 5, 7, 1, {1, 5, 6}, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}},
    {2, 2, 2, 3, 1, {1, 1, 1}, {1, 3, 3}, {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 1, 1, 1, {1, 5, 4}, {1, 5, 4}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}},
    {2, 0, 2, 3, 1, {1, 4, 4}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 3, 5, 1, {1, 11, 9}, {1, 3, 3}, {1, 3, 2}, {0, 2, 4}, {1, 2, 3}, {0, 0, 0}},
    {2, 2, 17, 33, 1, {1, 6, 5}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 2, 6, 6, 6, {1, 8, 9}, {1, 5, 3}, {1, 1, 1}, {0, 2, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 6, 12, 6, {1, 8, 9}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 3, 4, 1, {1, 7, 6}, {1, 2, 4}, {1, 1, 1}, {0, 0, 1}, {1, 1, 1}, {0, 1, 1}},
    {1, 2, 4, 6, 2, {1, 1, 19}, {1, 1, 5}, {1, 1, 2}, {0, 0, 3}, {1, 1, 2}, {0, 0, 0}},
    {1, 3, 2, 3, 1, {1, 1, 40}, {1, 1, 7}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}},
    {3, 2, 2, 4, 2, {4, 5, 6}, {2, 3, 2}, {2, 1, 2}, {1, 0, 1}, {1, 2, 1}, {0, 0, 0}},
    {3, 1, 3, 5, 1, {3, 4, 5}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 2, 10, 18, 1, {1, 7, 10}, {1, 5, 4}, {1, 2, 3}, {0, 2, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 4, 6, 1, {1, 11, 9}, {1, 3, 3}, {1, 2, 2}, {0, 2, 3}, {1, 2, 3}, {0, 0, 0}},
    {3, 2, 3, 4, 1, {5, 6, 7}, {3, 3, 3}, {2, 2, 1}, {1, 0, 1}, {1, 1, 1}, {0, 0, 0}},
    {3, 1, 2, 6, 1, {7, 4, 5}, {5, 2, 3}, {2, 1, 2}, {2, 1, 1}, {1, 1, 1}, {0, 0, 0}},
};
enum { CASES = sizeof cases / sizeof *cases };

static ox_shape shape_of(const conv_case *c, int64_t first, int64_t second, const int64_t *three) {
    ox_shape shape = numbers_of(c, three);
    shape.ndim += 2;
    for (int d = shape.ndim - 1; d >= 2; d--) shape.dim[d] = shape.dim[d - 2];
    shape.dim[0] = first;
    shape.dim[1] = second;
    return shape;
}

static ox_tensor *drawn(layout l, const conv_case *c, int64_t first, int64_t second, const int64_t *three,
                        ox_dtype dtype) {
    ox_shape shape = shape_of(c, first, second, three);
    return random_layout(l, DOMAIN_UNIT, shape.ndim, shape.dim, dtype);
}

static void check_case(const conv_case *c, ox_dtype dtype, ox_dtype weights, layout l) {
    int64_t places[3];
    layout other = (layout)((l + 4) % LAYOUT_COUNT), third = (layout)((l + 2) % LAYOUT_COUNT);
    for (int d = 0; d < 3; d++) places[d] = places_of(c, d);
    ox_tensor *x = drawn(l, c, c->n, c->c, c->size, dtype);
    ox_tensor *w = drawn(other, c, c->o, c->c / c->groups, c->kernel, weights);
    ox_tensor *g = drawn(third, c, c->n, c->o, places, dtype);
    ox_tensor *bias = random_layout(l, DOMAIN_UNIT, 1, &c->o, weights);
    ox_tensor *back_bias = random_layout(other, DOMAIN_UNIT, 1, &c->c, dtype);
    const char *how = layout_name(l);
    add_up(c, x, w, g);
    check_sums("conv", convolve(c, x, w, l & 1 ? bias : NULL), &y_sums, l & 1 ? bias : NULL, spatial(places),
               c, how);
    if (!c->behind[0] && !c->behind[1] && !c->behind[2])
        check_sums("conv_transpose", transposed(c, g, w, l & 2 ? back_bias : NULL), &x_sums,
                   l & 2 ? back_bias : NULL, spatial(c->size), c, how);
    if (c->n == 0) return;
    ox_tensor *leaf_x = ox_requires_grad_(x, true), *leaf_w = ox_requires_grad_(w, true);
    ox_tensor *y = convolve(c, leaf_x, leaf_w, NULL);
    ox_backward_desc back;
    memset(&back, 0, sizeof back);
    back.gradient = g;
    CHECK_MSG(y && ox_backward(y, &back) == OX_OK, "%s", ox_error_text());
    check_sums("gradient of x", ox_contiguous(ox_gradient(leaf_x)), &x_sums, NULL, 1, c, how);
    check_sums("gradient of the weight", ox_contiguous(ox_gradient(leaf_w)), &w_sums, NULL, 1, c, how);
}

static void test_cases(void) {
    for (int d = 0; d < 4; d++)
        for (int n = 0; n < CASES; n++)
            for (int l = 0; l < LAYOUT_COUNT; l++)
                OX_SCOPE {
                    check_case(&cases[n], float_dtypes[d], float_dtypes[d], (layout)l);
                    if (float_dtypes[d] == OX_F16) check_case(&cases[n], OX_F16, OX_F32, (layout)l);
                    ox_error_clear();
                }
}

/* What flows back to the weight, or to x, where y has itself as its gradient. */
static ox_tensor *gradient_of(const conv_case *c, ox_tensor *x, ox_tensor *w, bool of_weight) {
    ox_tensor *leaf_x = ox_requires_grad_(ox_detach(x), !of_weight);
    ox_tensor *leaf_w = ox_requires_grad_(ox_detach(w), of_weight), *y = convolve(c, leaf_x, leaf_w, NULL);
    ox_backward_desc back;
    memset(&back, 0, sizeof back);
    back.gradient = ox_detach(y);
    CHECK_MSG(y && ox_backward(y, &back) == OX_OK, "%s", ox_error_text());
    return ox_contiguous(ox_gradient(of_weight ? leaf_w : leaf_x));
}

/* One sample without a dim for it has the bits that it has among others, with any number of threads. */
static void check_bits_of(const conv_case *c, ox_tensor *x, ox_tensor *w) {
    ox_tensor *one = convolve(c, ox_select(x, 0, 0), w, NULL), *y = convolve(c, x, w, NULL);
    CHECK_MSG(one && one->ndim == 3 && same_bits(ox_contiguous(ox_select(y, 0, 0)), one), "%s",
              ox_error_text());
    ox_tensor *back_x = gradient_of(c, x, w, false), *back_w = gradient_of(c, x, w, true);
    int threads = ox_threads();
    for (int t = 1; t <= 4; t++) {
        ox_set_threads(t);
        CHECK_MSG(same_bits(convolve(c, x, w, NULL), y), "%d threads", t);
        CHECK_MSG(same_bits(gradient_of(c, x, w, false), back_x), "x: %d threads", t);
        CHECK_MSG(same_bits(gradient_of(c, x, w, true), back_w), "weight: %d threads", t);
    }
    ox_set_threads(threads);
}

static void check_bits(const conv_case *c, ox_dtype dtype) {
    ox_tensor *x = drawn((layout)0, c, c->n, c->c, c->size, dtype);
    check_bits_of(c, x, drawn((layout)0, c, c->o, c->c / c->groups, c->kernel, dtype));
}

/* More than one tile, chunk of k and task. */
static void test_large(void) {
    static const conv_case large[] = {
        {2, 1, 20, 40, 1, {1, 12, 15}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
        {2, 1, 30, 28, 1, {1, 14, 14}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
        {2, 1, 3, 8, 1, {1, 45, 46}, {1, 7, 7}, {1, 2, 2}, {0, 3, 3}, {1, 1, 1}, {0, 0, 0}},
        {2, 3, 20, 30, 1, {1, 9, 11}, {1, 1, 1}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}},
        {2, 1, 87, 9, 1, {1, 7, 7}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
        {2, 2, 7, 9, 1, {1, 18, 30}, {1, 3, 4}, {1, 3, 2}, {0, 5, 3}, {1, 2, 3}, {0, 0, 0}},
        {2, 6, 7, 7, 1, {1, 15, 13}, {1, 3, 5}, {1, 1, 1}, {0, 1, 2}, {1, 1, 1}, {0, 0, 0}},
        {2, 1, 3, 6, 1, {1, 60, 41}, {1, 7, 5}, {1, 2, 1}, {0, 3, 2}, {1, 1, 1}, {0, 0, 0}},
        {2, 1, 4, 7, 1, {1, 41, 49}, {1, 5, 5}, {1, 2, 1}, {0, 6, 4}, {1, 3, 2}, {0, 0, 0}},
        {2, 6, 6, 6, 2, {1, 14, 15}, {1, 7, 7}, {1, 1, 1}, {0, 3, 3}, {1, 1, 1}, {0, 0, 0}},
    };
    for (int n = 0; n < (int)(sizeof large / sizeof *large); n++)
        for (int d = 0; d < 4; d++)
            OX_SCOPE {
                check_case(&large[n], float_dtypes[d], float_dtypes[d], (layout)((3 * n + d) % LAYOUT_COUNT));
                check_bits(&large[n], float_dtypes[d]);
            }
}

/* 3 x 3 in 16 bits, in tiles of 4 x 4 places: sizes that are no multiples of tiles, of vectors, of panels. */
static const conv_case tiled[] = {
    {2, 1, 16, 32, 1, {1, 16, 16}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 2, 21, 23, 1, {1, 5, 31}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 20, 40, 1, {1, 13, 15}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 20, 26, 1, {1, 19, 18}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 50, 16, 1, {1, 7, 23}, {1, 3, 3}, {1, 1, 1}, {0, 2, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 16, 50, 1, {1, 3, 63}, {1, 3, 3}, {1, 1, 1}, {0, 0, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 2, 20, 27, 1, {1, 3, 65}, {1, 3, 3}, {1, 1, 1}, {0, 0, 2}, {1, 1, 1}, {0, 0, 0}},
    {2, 5, 23, 21, 1, {1, 1, 64}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 22, 23, 1, {1, 50, 5}, {1, 3, 3}, {1, 1, 1}, {0, 1, 2}, {1, 1, 1}, {0, 0, 0}},
    {2, 1, 40, 40, 2, {1, 13, 15}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 5, 20, 23, 1, {1, 7, 8}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, {0, 0, 0}},
    {2, 3, 20, 33, 1, {1, 10, 10}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {0, 0, 0}},
};

static void test_tiled(void) {
    for (int n = 0; n < (int)(sizeof tiled / sizeof *tiled); n++)
        for (int d = 2; d < 4; d++)
            for (int l = 0; l < LAYOUT_COUNT; l++)
                OX_SCOPE {
                    check_case(&tiled[n], float_dtypes[d], float_dtypes[d], (layout)l);
                }
    for (int n = 0; n < (int)(sizeof tiled / sizeof *tiled); n++)
        for (int d = 2; d < 4; d++)
            OX_SCOPE {
                check_bits(&tiled[n], float_dtypes[d]);
                const conv_case *c = &tiled[n]; /* channels last, read and written as they lie */
                ox_tensor *x = drawn((layout)0, c, c->n, c->c, c->size, float_dtypes[d]);
                ox_tensor *w = drawn((layout)0, c, c->o, c->c / c->groups, c->kernel, float_dtypes[d]);
                ox_tensor *last = ox_permute(ox_contiguous(ox_permute(x, OX_DIMS(0, 2, 3, 1))),
                                             OX_DIMS(0, 3, 1, 2));
                CHECK(same_bits(convolve(c, last, w, NULL), convolve(c, x, w, NULL)));
            }
}

static ox_tensor *to_weight(const conv_case *c, ox_tensor *g, ox_tensor *x) {
    ox_conv_desc d = desc_of(c);
    return ox_conv_back_weight(g, x, numbers_of(c, c->kernel), &d);
}

/* More tiles than are laid out at a time for a gradient of weights. */
static void test_rounds(void) {
    static const conv_case c = {2, 2, 70, 64, 1, {1, 70, 66}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1},
                                {0, 0, 0}};
    for (int d = 2; d < 4; d++)
        OX_SCOPE {
            ox_tensor *x = ox_cast(ox_randn(shape_of(&c, c.n, c.c, c.size), OX_F32), float_dtypes[d]);
            ox_tensor *g = ox_cast(ox_randn(shape_of(&c, c.n, c.o, c.size), OX_F32), float_dtypes[d]);
            ox_tensor *made = to_weight(&c, g, x);
            ox_set_exact(true);
            ox_tensor *plain = to_weight(&c, g, x);
            ox_set_exact(false);
            CHECK(ox_allclose(made, plain, 0.01, 0.2, false)); /* of sums up to some hundred */
            made = to_weight(&c, ox_narrow(g, 0, 0, 0), ox_narrow(x, 0, 0, 0));
            CHECK(ox_equal(made, ox_zeros_like(plain)));
        }
}

/* Weights of more channels than are made at a time, beside few tiles. */
static void test_slices(void) {
    static const conv_case c = {2, 2, 250, 300, 1, {1, 7, 8}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1},
                                {0, 0, 0}};
    for (int d = 2; d < 4; d++)
        OX_SCOPE {
            ox_tensor *x = ox_cast(ox_randn(shape_of(&c, c.n, c.c, c.size), OX_F32), float_dtypes[d]);
            ox_tensor *g = ox_cast(ox_randn(shape_of(&c, c.n, c.o, c.size), OX_F32), float_dtypes[d]);
            ox_tensor *w = ox_cast(ox_randn(OX_SHAPE(c.o, c.c, 3, 3), OX_F32), float_dtypes[d]);
            ox_tensor *y = convolve(&c, x, w, NULL), *back = transposed(&c, g, w, NULL);
            ox_set_exact(true);
            CHECK(ox_allclose(y, convolve(&c, x, w, NULL), 0.01, 0.2, false)); /* sums up to some hundred */
            CHECK(ox_allclose(back, transposed(&c, g, w, NULL), 0.01, 0.2, false));
            ox_set_exact(false);
            check_bits_of(&c, x, w);
        }
}

/* What is not finite, or is too large for what is made of numbers on the way: what plain sums give. largest:
 * of the numbers that are finite; a millionth of it is lost around it. */
static void check_wild(const conv_case *c, ox_tensor *x, ox_tensor *w, ox_tensor *g, double largest) {
    static const char *const names[] = {"forward", "to the image", "to the weight"};
    const double *around_of[] = {y_sums.around, x_sums.around, w_sums.around};
    ox_tensor *made[3], *plain[3];
    add_up(c, x, w, g);
    for (int exact = 0; exact < 2; exact++) {
        ox_tensor **to = exact ? plain : made;
        ox_set_exact(exact);
        to[0] = convolve(c, x, w, NULL);
        to[1] = transposed(c, g, w, NULL);
        to[2] = to_weight(c, g, x);
    }
    ox_set_exact(false);
    for (int i = 0; i < 3; i++) {
        int64_t wrong = 0;
        CHECK(made[i] && plain[i]);
        for (int64_t at = 0; made[i] && plain[i] && at < ox_numel(made[i]); at++) {
            double is = real_at(made[i], at), sum = real_at(plain[i], at);
            double around = around_of[i][at];
            if (isnan(sum) || isinf(sum)) wrong += isnan(sum) ? !isnan(is) : is != sum;
            else wrong += !(fabs(is - sum) <= allowed(x->dtype, 0.1 + around) + 1e-6 * largest);
        }
        CHECK_MSG(wrong == 0, "%s, %s, up to %g: %d are wrong", ox_dtype_name(x->dtype), names[i], largest,
                  (int)wrong);
    }
}

static void test_wild(void) {
    const conv_case *c = &tiled[1];
    int64_t places[3];
    for (int d = 0; d < 3; d++) places[d] = places_of(c, d);
    for (int d = 2; d < 4; d++)
        for (int kind = 0; kind < 5; kind++)
            OX_SCOPE {
                ox_tensor *x = drawn((layout)0, c, c->n, c->c, c->size, float_dtypes[d]);
                ox_tensor *g = drawn((layout)0, c, c->n, c->o, places, float_dtypes[d]);
                ox_tensor *w = drawn((layout)0, c, c->o, c->c, c->kernel, float_dtypes[d]);
                double number = kind % 2 ? NAN : INFINITY, largest = 1;
                if (kind < 2) {
                    ox_fill_(ox_narrow(ox_narrow(ox_narrow(x, 0, 1, 1), 2, 3, 1), 3, 4, 2), number);
                    ox_fill_(ox_narrow(ox_narrow(ox_narrow(g, 0, 0, 1), 2, 0, 1), 3, 14, 1), number);
                } else if (kind < 4)
                    ox_fill_(ox_narrow(ox_narrow(ox_narrow(w, 0, 5, 1), 1, 7, 1), 3, 2, 1), number);
                else { /* a pixel of each channel 3: four times as much is no f32 any more */
                    largest = float_dtypes[d] == OX_F16 ? 6e4 : 3e38;
                    w = ox_mul_number(w, 0.1);
                    ox_fill_(ox_narrow(ox_narrow(ox_narrow(x, 1, 3, 1), 2, 4, 1), 3, 4, 1), largest);
                    ox_fill_(ox_narrow(ox_narrow(ox_narrow(g, 1, 3, 1), 2, 4, 1), 3, 4, 1), largest);
                }
                check_wild(c, x, w, g, largest);
            }
}

/* More samples than are laid out at a time: as each of them alone. */
static void test_many(void) {
    static const conv_case many = {2, 3, 9, 5, 1, {1, 500, 501}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1},
                                   {0, 0, 0}};
    for (int d = 0; d < 4; d++)
        OX_SCOPE {
            ox_tensor *x = ox_cast(ox_randn(OX_SHAPE(many.n, many.c, 500, 501), OX_F32), float_dtypes[d]);
            ox_tensor *w = ox_cast(ox_randn(OX_SHAPE(many.o, many.c, 3, 3), OX_F32), float_dtypes[d]);
            ox_tensor *y = convolve(&many, x, w, NULL);
            for (int64_t i = 0; i < many.n; i++) {
                ox_tensor *one = convolve(&many, ox_select(x, 0, i), w, NULL);
                CHECK_MSG(one && y && same_bits(ox_contiguous(ox_select(y, 0, i)), one), "%s",
                          ox_error_text());
            }
        }
}

/* What of x no window holds flows into no gradient, nor does it where columns are filled up to pairs. */
static void test_outside(void) {
    for (int d = 0; d < 4; d++)
        OX_SCOPE {
            ox_tensor *g = ox_cast(ox_randn(OX_SHAPE(6, 16, 14, 15), OX_F32), float_dtypes[d]);
            ox_tensor *x = ox_cast(ox_randn(OX_SHAPE(6, 12, 20, 20), OX_F32), float_dtypes[d]);
            ox_tensor *y = ox_clone(x), *back[2];
            ox_fill_(ox_narrow(y, 3, 17, 3), INFINITY);
            ox_fill_(ox_narrow(y, 2, 16, 4), NAN);
            ox_conv_desc told;
            memset(&told, 0, sizeof told);
            for (int i = 0; i < 2; i++) {
                ox_tensor *within = ox_narrow(ox_narrow(i ? y : x, 2, 0, 16), 3, 0, 17);
                back[i] = ox_conv_back_weight(g, within, OX_DIMS(3, 3), &told);
            }
            CHECK_MSG(back[0] && same_bits(back[0], back[1]), "%s: %s", ox_dtype_name(float_dtypes[d]),
                      ox_error_text());
            y = ox_clone(x); /* columns 15 to 17 meet the last column of the kernel alone */
            ox_fill_(ox_narrow(y, 3, 16, 1), INFINITY);
            y = ox_narrow(ox_narrow(y, 2, 0, 16), 3, 0, 17);
            ox_tensor *first = ox_conv_back_weight(g, y, OX_DIMS(3, 3), &told);
            CHECK(first && same_bits(ox_contiguous(ox_narrow(first, 3, 0, 2)),
                                     ox_contiguous(ox_narrow(back[0], 3, 0, 2))));
        }
}

/* More images than are packed at once: the sum of what parts of them give. */
static void test_many_back(void) {
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(400, 8, 16, 16), OX_F32), *sum = NULL;
        ox_tensor *g = ox_randn(OX_SHAPE(400, 8, 16, 16), OX_F32);
        ox_conv_desc told;
        memset(&told, 0, sizeof told);
        told.padding = OX_DIMS(3);
        ox_tensor *all = ox_conv_back_weight(g, x, OX_DIMS(7, 7), &told);
        for (int i = 0; i < 400; i += 50) {
            ox_tensor *some = ox_narrow(x, 0, i, 50);
            ox_tensor *part = ox_conv_back_weight(ox_narrow(g, 0, i, 50), some, OX_DIMS(7, 7), &told);
            sum = sum ? ox_add(sum, part) : part;
        }
        double most = ox_item(ox_norm(ox_sub(all, sum), 2, OX_ALL_DIMS, false)) / 100;
        CHECK_MSG(all && most < 2e-3, "%g: %s", most, ox_error_text());
        int threads = ox_threads();
        for (int t = 1; t <= 4; t *= 2) {
            ox_set_threads(t);
            CHECK(same_bits(ox_conv_back_weight(g, x, OX_DIMS(7, 7), &told), all));
        }
        ox_set_threads(threads);
    }
}

/* ---- errors -------------------------------------------------------------------------------------------- */

#define REFUSED(call, code, words)                                                                   \
    do {                                                                                             \
        CHECK_MSG(!(call) && ox_error() == (code) && strstr(ox_error_text(), words), "%s", ox_error_text()); \
        ox_error_clear();                                                                            \
    } while (0)

static void test_refuses(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(1, 4, 5, 5), OX_F32), *w = ox_ones(OX_SHAPE(2, 4, 3, 3), OX_F32);
        ox_conv_desc d;
        memset(&d, 0, sizeof d);
        REFUSED(ox_conv2d(ox_select(ox_select(x, 0, 0), 0, 0), w, NULL, NULL), OX_ERR_SHAPE,
                "conv2d: x f32[5,5] is not [N,C,..] or [C,..] of 2 spatial dims");
        REFUSED(ox_conv3d(x, w, NULL, NULL), OX_ERR_SHAPE, "conv3d: weight f32[2,4,3,3] has not 3");
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
        d.stride = OX_DIMS(2);
        d.padding = OX_DIMS(OX_PADDING_SAME);
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_ARG, "padding \"same\" of stride 2");
        d.stride.ndim = 0;
        d.padding = OX_DIMS(-1);
        REFUSED(ox_conv2d(x, w, NULL, &d), OX_ERR_ARG, "padding -1");
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

static void test_transposed_refuses(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(1, 4, 5, 5), OX_F32), *w = ox_ones(OX_SHAPE(4, 2, 3, 3), OX_F32);
        ox_conv_transpose_desc d;
        memset(&d, 0, sizeof d);
        REFUSED(ox_conv_transpose2d(x, ox_narrow(w, 0, 0, 3), NULL, NULL), OX_ERR_SHAPE, "in 1 groups");
        REFUSED(ox_conv_transpose2d(x, w, ox_ones(OX_SHAPE(4), OX_F32), NULL), OX_ERR_SHAPE, "of 2 channels");
        REFUSED(ox_conv_transpose1d(x, w, NULL, NULL), OX_ERR_SHAPE, "conv_transpose1d");
        d.output_padding = OX_DIMS(1);
        REFUSED(ox_conv_transpose2d(x, w, NULL, &d), OX_ERR_ARG, "output padding 1 is not below stride 1");
        d.output_padding = OX_DIMS(-1);
        REFUSED(ox_conv_transpose2d(x, w, NULL, &d), OX_ERR_ARG, "output padding -1");
        d.output_padding.ndim = 0;
        d.padding = OX_DIMS(9);
        REFUSED(ox_conv_transpose2d(x, w, NULL, &d), OX_ERR_SHAPE, "leave -11 elements");
        d.padding = OX_DIMS(1, 1, 1);
        REFUSED(ox_conv_transpose2d(x, w, NULL, &d), OX_ERR_ARG, "3 numbers for the padding");
    }
}

int main(void) {
    test_cases();
    test_large();
    test_tiled();
    test_wild();
    test_rounds();
    test_slices();
    test_outside();
    test_many();
    test_many_back();
    test_refuses();
    test_transposed_refuses();
    return check_done("conv");
}
