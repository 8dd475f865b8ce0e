/* test_composed.c - functions that are made of others, against plain loops and small tables worked out by
 * hand: layouts, edges, errors. PyTorch's own cases are run by torch_ops.py. OX_VULKAN(where gather) */
#include "operands.h"
#include "oxtorch_nn.h"

static ox_tensor *numbers(const double *x, int64_t n, ox_dtype dtype) {
    return ox_from_doubles(x, OX_SHAPE(n), dtype);
}
static double at(ox_tensor *t, int64_t i) {
    return t ? load_real(t->dtype, element(t, i)) : NAN;
}
#define LIST(...)      \
    (const double[]) { \
        __VA_ARGS__    \
    }

/* The elements of t in order; NAN stands for NaN. */
static void check_list(ox_tensor *t, const double *want, int64_t n, double allowed, const char *what) {
    CHECK_MSG(t && ox_numel(t) == n, "%s: %s", what, t ? "another size" : ox_error_text());
    for (int64_t i = 0; t && i < n && i < ox_numel(t); i++) {
        double got = t->dtype == OX_BOOL || is_integral(t->dtype)
                         ? (double)ox_item_int(ox_select(ox_reshape(t, OX_SHAPE(-1)), 0, i))
                         : at(t, i);
        bool same = got == want[i] || (isnan(got) && isnan(want[i])) || fabs(got - want[i]) <= allowed;
        CHECK_MSG(same, "%s: element %d is %.17g, not %.17g", what, (int)i, got, want[i]);
    }
    ox_error_clear();
}
#define CHECK_LIST(t, allowed, ...)                                                \
    do {                                                                           \
        static const double want[] = {__VA_ARGS__};                                \
        check_list((t), want, (int64_t)(sizeof want / sizeof *want), allowed, #t); \
    } while (0)

static void test_elementwise(void) {
    static const double x[] = {0, 1, -2.5, INFINITY, NAN, -0.0}, y[] = {-1, 0, INFINITY, INFINITY, 1, 2};
    OX_SCOPE {
        ox_tensor *a = numbers(x, 6, OX_F64), *b = numbers(y, 6, OX_F64), *i, *j;
        CHECK_LIST(ox_sinc(ox_number(0.5)), 1e-7, 0.63661977236758134);
        CHECK_LIST(ox_sinc(numbers(x, 3, OX_F64)), 1e-15, 1, 3.8981718325193755e-17, 0.12732395447351627);
        CHECK_LIST(ox_xlogy(a, b), 0, 0, -INFINITY, -INFINITY, INFINITY, NAN, 0);
        CHECK_LIST(ox_heaviside(a, ox_full_like(a, 7)), 0, 7, 1, 0, 1, 0, 7);
        CHECK_LIST(ox_fmax(a, b), 0, 0, 1, INFINITY, INFINITY, 1, 2);
        CHECK_LIST(ox_signbit(a), 0, 0, 0, 1, 0, 0, 1);
        CHECK_LIST(ox_logaddexp(a, b), 1e-15, 0.31326168751822286, 1.3132616875182228, INFINITY, INFINITY,
                   NAN, 2.1269280110429727);
        CHECK_LIST(ox_isclose(a, ox_add_number(a, 1e-9), 1e-5, 1e-8, true), 0, 1, 1, 1, 1, 1, 1);
        ox_tensor *next = ox_nextafter(a, b);
        CHECK(at(next, 0) == -4.9406564584124654e-324 && at(next, 1) == nextafter(1, 0) &&
              isnan(at(next, 4)) && at(next, 3) == INFINITY);
        next = ox_nextafter(ox_full(OX_SHAPE(1), INFINITY, OX_F16), ox_full(OX_SHAPE(1), -INFINITY, OX_F16));
        CHECK_LIST(next, 0, 65504);
        i = ox_from_ints((const int64_t[]){12, -18, 0, 7}, OX_SHAPE(4), OX_I64);
        j = ox_from_ints((const int64_t[]){18, 12, 5, 0}, OX_SHAPE(4), OX_I64);
        CHECK_LIST(ox_gcd(i, j), 0, 6, 6, 5, 7);
        CHECK_LIST(ox_lcm(i, j), 0, 36, 36, 0, 0);
        CHECK_LIST(ox_lcm(ox_full(OX_SHAPE(1), -100, OX_I8), ox_full(OX_SHAPE(1), 7, OX_I8)), 0,
                   -68); /* 700 */
        ox_tuple f = ox_frexp(numbers(LIST(8, -0.3, 0, 5e-324, 1.7e308), 5, OX_F64));
        CHECK_LIST(f.t[0], 0, 0.5, -0.6, 0, 0.5, 0.94565638986556055);
        CHECK_LIST(f.t[1], 0, 4, -1, 0, -1073, 1024);
        CHECK(!ox_gcd(a, b) && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        CHECK(!ox_nextafter(ox_narrow(a, 0, 0, 4), i) && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
    }
}

static void test_arrange(void) {
    OX_SCOPE {
        ox_tensor *x = ox_reshape(ox_arange(0, 12, 1, OX_F32), OX_SHAPE(3, 4)),
                  *row = ox_arange(0, 3, 1, OX_F32), *out[4], *list[3];
        CHECK_LIST(ox_rot90(x, 1, 0, 1), 0, 3, 7, 11, 2, 6, 10, 1, 5, 9, 0, 4, 8);
        CHECK_LIST(ox_rot90(x, -1, 0, 1), 0, 8, 4, 0, 9, 5, 1, 10, 6, 2, 11, 7, 3);
        CHECK_LIST(ox_diag(row, -1), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0);
        CHECK_LIST(ox_tril_indices(3, 2, 0), 0, 0, 1, 1, 2, 2, 0, 0, 1, 0, 1);
        CHECK(ox_tensor_split(x, 3, 1, out, 4) == 3 && out[0]->shape[1] == 2 && out[2]->shape[1] == 1 &&
              at(out[1], 0) == 2);
        const int64_t cuts[2] = {1, 3};
        CHECK(ox_tensor_split_at(x, cuts, 2, 1, out, 4) == 3 && out[1]->shape[1] == 2 &&
              out[2]->shape[1] == 1);
        CHECK(ox_tensor_split(x, 0, 1, out, 4) == -1 && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        list[0] = row;
        list[1] = ox_arange(5, 7, 1, OX_F32);
        CHECK_LIST(ox_cartesian_prod(list, 2), 0, 0, 5, 0, 6, 1, 5, 1, 6, 2, 5, 2, 6);
        CHECK_LIST(ox_combinations(row, 2, false), 0, 0, 1, 0, 2, 1, 2);
        CHECK_LIST(ox_block_diag(list, 2), 0, 0, 1, 2, 0, 0, 0, 0, 0, 5, 6);
        CHECK_LIST(ox_hstack(list, 2), 0, 0, 1, 2, 5, 6);
        CHECK(ox_meshgrid(list, 2, "xy", out, 4) == 2 && out[0]->shape[0] == 2 && out[0]->shape[1] == 3);
        CHECK_LIST(ox_select_scatter(x, ox_full(OX_SHAPE(3), 9, OX_F32), 1, 2), 0, 0, 1, 9, 3, 4, 5, 9, 7, 8,
                   9, 9, 11);
        CHECK(!ox_select_scatter(x, row, 0, 0) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK_LIST(
            ox_repeat_interleave(row, ox_from_ints((const int64_t[]){2, 0, 3}, OX_SHAPE(3), OX_I64), 0), 0, 0,
            0, 2, 2, 2);
        CHECK_LIST(ox_vander(row, 3, true), 0, 1, 0, 0, 1, 1, 1, 1, 2, 4);
    }
}

/* x[index, :, other] of Python, by loops. */
static void test_index(void) {
    OX_SCOPE {
        ox_tensor *x = ox_reshape(ox_arange(0, 60, 1, OX_F32), OX_SHAPE(3, 4, 5)), *indices[3];
        indices[0] = ox_from_ints((const int64_t[]){2, -3}, OX_SHAPE(2, 1), OX_I64);
        indices[1] = NULL;
        indices[2] = ox_from_ints((const int64_t[]){4, 0, -2}, OX_SHAPE(3), OX_I64);
        ox_tensor *got = ox_index(x, indices, 3); /* apart: the broadcast dims come first */
        CHECK(got && got->ndim == 3 && got->shape[0] == 2 && got->shape[1] == 3 && got->shape[2] == 4);
        for (int64_t i = 0; got && i < 24; i++) {
            int64_t row = i / 12 ? 0 : 2, column = i / 4 % 3 == 0 ? 4 : i / 4 % 3 == 1 ? 0 : 3;
            CHECK(at(got, i) == (double)(row * 20 + i % 4 * 5 + column));
        }
        indices[0] = NULL;
        indices[1] = ox_gt_number(ox_arange(0, 4, 1, OX_F32), 1.5); /* a mask */
        got = ox_index(x, indices, 2);
        CHECK(got && got->shape[1] == 2 && at(got, 0) == 10 && at(got, 5) == 15);
        ox_tensor *put = ox_index_put(x, indices, 2, ox_number(-1), true);
        CHECK(put && at(put, 10) == 9 && at(put, 0) == 0);
        indices[1] = ox_from_ints((const int64_t[]){1, 1, 4}, OX_SHAPE(3), OX_I64);
        CHECK(!ox_index(x, indices, 2) && ox_error() == OX_ERR_INDEX);
        ox_error_clear();
        ox_tensor *v = ox_arange(0, 6, 1, OX_F32),
                  *i = ox_from_ints((const int64_t[]){-1, 2, -1}, OX_SHAPE(3), OX_I64);
        CHECK_LIST(ox_take(v, i), 0, 5, 2, 5);
        CHECK_LIST(ox_put(v, i, ox_full(OX_SHAPE(3), 10, OX_F32), true), 0, 0, 1, 12, 3, 4, 25);
        CHECK_LIST(ox_index_fill(v, 0, i, ox_number(8)), 0, 0, 1, 8, 3, 4, 8);
        CHECK_LIST(ox_masked_scatter(v, ox_gt_number(v, 3.5), ox_full(OX_SHAPE(9), 7, OX_F32)), 0, 0, 1, 2, 3,
                   7, 7);
    }
}

static void test_order(void) {
    static const double x[] = {3, NAN, 1, 3, -1, 1, 3};
    OX_SCOPE {
        ox_tensor *t = numbers(x, 7, OX_F32), *known = ox_nan_to_num(t, 5, 0, 0);
        ox_tuple u = ox_unique(known, OX_FLATTENED);
        CHECK_LIST(u.t[0], 0, -1, 1, 3, 5);
        CHECK_LIST(u.t[1], 0, 2, 3, 1, 2, 0, 1, 2);
        CHECK_LIST(u.t[2], 0, 1, 2, 3, 1);
        ox_tuple rows = ox_unique(ox_reshape(numbers(LIST(2, 1, 0, 5, 2, 1), 6, OX_F32), OX_SHAPE(3, 2)), 0);
        CHECK_LIST(rows.t[0], 0, 0, 5, 2, 1);
        CHECK_LIST(rows.t[1], 0, 1, 0, 1);
        CHECK_LIST(ox_median(t, 0, false).values, 0, NAN);
        CHECK_LIST(ox_nanmedian(t, 0, false).values, 0, 1);
        CHECK_LIST(ox_mode(known, 0, false).values, 0, 3);
        CHECK_LIST(ox_kthvalue(known, 2, 0, true).values, 0, 1);
        CHECK_LIST(ox_cummax(t, 0).values, 0, 3, NAN, NAN, NAN, NAN, NAN, NAN);
        CHECK_LIST(ox_cummin(known, 0).values, 0, 3, 3, 1, 1, -1, -1, -1);
        CHECK_LIST(ox_cummin(known, 0).indices, 0, 0, 0, 2, 2, 4, 4, 4);
        ox_tensor *sorted = ox_sort(known, 0, false).values;
        CHECK_LIST(ox_searchsorted(sorted, numbers(LIST(-2, 1, 2, 5, NAN), 5, OX_F32), false), 0, 0, 1, 3, 6,
                   7);
        CHECK_LIST(ox_searchsorted(sorted, numbers(LIST(-2, 1, 2, 5, NAN), 5, OX_F32), true), 0, 0, 3, 3, 7,
                   7);
        CHECK_LIST(ox_isin(known, numbers(LIST(3, 9), 2, OX_F32), false), 0, 1, 0, 0, 1, 0, 0, 1);
        CHECK_LIST(ox_quantile(known, numbers(LIST(0, 0.5, 0.9), 3, OX_F32), OX_FLATTENED, false, NULL), 1e-6,
                   -1, 3, 3.8);
        CHECK_LIST(ox_quantile(t, ox_full(OX_SCALAR_SHAPE, 0.5, OX_F32), 0, false, NULL), 0, NAN);
        CHECK_LIST(ox_nanquantile(t, ox_full(OX_SCALAR_SHAPE, 0.5, OX_F32), 0, false, "linear"), 1e-6, 2);
        CHECK_LIST(ox_bincount(ox_from_ints((const int64_t[]){1, 4, 1}, OX_SHAPE(3), OX_I64), NULL, 0), 0, 0,
                   2, 0, 0, 1);
        CHECK_LIST(ox_histc(known, 3, 0, 0), 0, 1, 2, 4);
        CHECK(!ox_kthvalue(known, 8, 0, false).values && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

static void test_statistics(void) {
    OX_SCOPE {
        ox_tensor *x = ox_reshape(numbers(LIST(1, 2, 4, 8, 3, -1, 0, 5), 8, OX_F64), OX_SHAPE(2, 4));
        CHECK_LIST(ox_cov(x, 1, NULL, NULL), 1e-12, 9.583333333333334, 14.75 / 3, 14.75 / 3,
                   7.583333333333333);
        CHECK_LIST(ox_diff(x, 2, -1, NULL, NULL), 0, 1, 2, 5, 4);
        CHECK_LIST(ox_gradient_along(x, NULL, 1, 1), 0, 1, 1.5, 3, 4, -4, -1.5, 3, 5);
        CHECK_LIST(ox_trapezoid(x, NULL, 1, -1), 0, 10.5, 3);
        CHECK_LIST(ox_cumulative_trapezoid(x, NULL, 2, -1), 0, 3, 9, 21, 2, 1, 6);
        CHECK_LIST(ox_cdist(x, ox_zeros(OX_SHAPE(1, 4), OX_F64), 1), 0, 15, 9);
        CHECK_LIST(ox_pdist(x, INFINITY), 0, 4);
        CHECK_LIST(ox_renorm(x, 1, 0, 3), 1e-6, 0.2, 0.4, 0.8, 1.6, 1, -1.0 / 3, 0, 5.0 / 3);
        CHECK_LIST(ox_masked_mean(x, ox_gt_number(x, 1.5), OX_DIMS(1), false), 1e-15, 14.0 / 3, 4);
        CHECK_LIST(ox_masked_amax(x, ox_lt_number(x, 3.5), OX_DIMS(1), false), 0, 2, 3);
        CHECK_LIST(ox_logcumsumexp(ox_zeros(OX_SHAPE(5), OX_F64), 0), 1e-15, 0, 0.69314718055994531,
                   1.0986122886681098, 1.3862943611198906, 1.6094379124341003);
        CHECK_LIST(ox_logcumsumexp(ox_number(5), -1), 0, 5);
        CHECK(!ox_logcumsumexp(ox_number(5), 1) && ox_error() == OX_ERR_DIM);
        ox_error_clear();
        CHECK_LIST(ox_logcumsumexp(ox_zeros(OX_SHAPE(2), OX_I32), 0), 1e-6, 0, 0.69314718055994531);
        ox_tensor *m = ox_narrow(x, 1, 0, 3), *cross = ox_cross(ox_select(m, 0, 0), ox_select(m, 0, 1), 0);
        CHECK_LIST(cross, 0, 4, 12, -7);
        CHECK_LIST(ox_kron(ox_narrow(m, 1, 0, 2), ox_number(2)), 0, 2, 4, 6, -2);
        CHECK_LIST(ox_tensordot(m, m, OX_DIMS(1), OX_DIMS(1)), 0, 21, 1, 1, 10);
        ox_tensor *chain[3];
        chain[0] = m;
        chain[1] = ox_t(m);
        chain[2] = m;
        CHECK(ox_allclose(ox_multi_dot(chain, 3), ox_matmul(ox_matmul(m, ox_t(m)), m), 1e-12, 1e-12, false));
        CHECK_LIST(ox_window_hann(4, false, OX_F64), 1e-15, 0, 0.5, 1, 0.5);
        CHECK_LIST(ox_window_hann(5, true, OX_F64), 1e-15, 0, 0.5, 1, 0.5, 0);
        CHECK_LIST(ox_window_bartlett(1, true, OX_F64), 0, 1);
    }
}

/* Moments of what is drawn, and what dropping leaves. */
static void test_drawn(void) {
    ox_manual_seed(5);
    OX_SCOPE {
        ox_tensor *x = ox_empty(OX_SHAPE(400, 500), OX_F32);
        CHECK(fabs(ox_item(ox_mean(ox_exponential_(x, 2), OX_ALL_DIMS, false)) - 0.5) < 0.01);
        CHECK(fabs(ox_item(ox_std(x, OX_ALL_DIMS, 1, false)) - 0.5) < 0.01);
        CHECK(fabs(ox_item(ox_median(ox_cauchy_(x, 3, 2), OX_FLATTENED, false).values) - 3) < 0.05);
        CHECK(fabs(ox_item(ox_mean(ox_log(ox_log_normal_(x, 1, 0.5)), OX_ALL_DIMS, false)) - 1) < 0.01);
        CHECK(fabs(ox_item(ox_mean(ox_geometric_(x, 0.25), OX_ALL_DIMS, false)) - 4) < 0.06);
        CHECK(ox_item(ox_amin(x, OX_ALL_DIMS, false)) == 1);
        CHECK(!ox_exponential_(x, 0) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        ox_tensor *y = ox_alpha_dropout(ox_normal_(x, 0, 1), 0.4, true);
        CHECK(fabs(ox_item(ox_mean(y, OX_ALL_DIMS, false))) < 0.02 &&
              fabs(ox_item(ox_std(y, OX_ALL_DIMS, 1, false)) - 1) < 0.02);
        y = ox_feature_dropout(ox_ones(OX_SHAPE(40, 50, 3, 4), OX_F32), 0.25, true);
        ox_tensor *most = ox_amax(y, OX_DIMS(2, 3), false), *least = ox_amin(y, OX_DIMS(2, 3), false);
        CHECK(ox_equal(most, least) && fabs(ox_item(ox_mean(y, OX_ALL_DIMS, false)) - 1) < 0.05);
        CHECK(ox_equal(ox_feature_alpha_dropout(y, 0.5, false), y));
        CHECK(!ox_feature_dropout(ox_select(ox_select(ox_select(y, 0, 0), 0, 0), 0, 0), 0.5, true));
        ox_error_clear();
    }
}

/* What a function gives of a view is what it gives of a copy. */
static void test_layouts(void) {
    static const int64_t shape[3] = {3, 4, 5};
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            ox_tensor *x = random_layout((layout)l, DOMAIN_MODEST, 3, shape, OX_F64), *y = ox_clone(x),
                      *pairs[9][2];
            for (int s = 0; s < 2; s++) {
                ox_tensor *t = s ? y : x, *index[2];
                index[0] = NULL;
                index[1] = ox_from_ints((const int64_t[]){3, -1, 0}, OX_SHAPE(3), OX_I64);
                pairs[0][s] = ox_median(t, 1, false).values;
                pairs[1][s] = ox_cummax(t, -1).values;
                pairs[2][s] = ox_index(t, index, 2);
                pairs[3][s] = ox_unique(t, OX_FLATTENED).t[0];
                pairs[4][s] = ox_rot90(t, 3, 0, 2);
                pairs[5][s] = ox_diff(t, 1, 1, NULL, NULL);
                pairs[6][s] = ox_logaddexp(t, ox_select(t, 0, 1));
                pairs[7][s] = ox_nextafter(t, ox_number(0) ? ox_zeros_like(t) : NULL);
                pairs[8][s] =
                    ox_as_strided_scatter(t, ox_zeros(OX_SHAPE(3), OX_F64), OX_SHAPE(3), OX_SHAPE(7), 2);
            }
            for (int i = 0; i < 9; i++)
                CHECK_MSG(pairs[i][0] && pairs[i][1] && ox_allclose(pairs[i][0], pairs[i][1], 0, 0, true),
                          "function %d, %s: %s", i, layout_name((layout)l), ox_error_text());
            ox_error_clear();
        }
}

/* Dtypes of results as PyTorch has them, and numbers that a narrow step would lose. */
static void test_dtypes(void) {
    OX_SCOPE {
        ox_tensor *whole = ox_from_ints((const int64_t[]){17, -3, 2}, OX_SHAPE(3), OX_I32);
        ox_tensor *half = ox_full(OX_SHAPE(3), 0.0001220703125, OX_F16), *places[2];
        ox_tensor *scaled = ox_ldexp(half, whole);
        CHECK(scaled && scaled->dtype == OX_F16);
        CHECK_LIST(scaled, 0, 16, 1.52587890625e-05, 0.00048828125);
        CHECK_LIST(ox_ldexp(ox_ones(OX_SHAPE(1), OX_F64), ox_full(OX_SHAPE(1), 200, OX_I64)), 0, 0x1p200);
        CHECK(ox_mvlgamma(ox_ones(OX_SHAPE(2), OX_F16), 1)->dtype == OX_F16);
        ox_tensor *one = ox_full(OX_SHAPE(1, 1), 3, OX_I32), *many = ox_full(OX_SHAPE(1, 4), 2, OX_I32);
        ox_tensor *product = ox_tensordot(one, many, OX_DIMS(1), OX_DIMS(1));
        CHECK(product && product->dtype == OX_I32);
        CHECK_LIST(product, 0, 24);
        CHECK(ox_unravel_index(ox_full(OX_SHAPE(1), 7, OX_U8), OX_SHAPE(3, 4), places, 2) == 2);
        ox_shape huge = OX_SHAPE((int64_t)1 << 40, (int64_t)1 << 40, (int64_t)1 << 40);
        ox_shape below = OX_SHAPE(2, -3), none = OX_SHAPE(0, 3);
        CHECK(ox_unravel_index(ox_zeros(OX_SHAPE(1), OX_I64), huge, places, 2) == -1 && ox_error());
        ox_error_clear();
        CHECK(ox_unravel_index(ox_zeros(OX_SHAPE(1), OX_I64), none, places, 2) == -1 && ox_error());
        ox_error_clear();
        CHECK(ox_unravel_index(ox_zeros(OX_SHAPE(0), OX_I64), none, places, 2) == 2);
        ox_tensor *last = ox_from_ints((const int64_t[]){INT64_MAX - 1}, OX_SHAPE(1), OX_I64);
        CHECK(ox_unravel_index(last, OX_SHAPE(1, INT64_MAX), places, 2) == 2); /* more than memory has */
        CHECK(ox_item_int(places[0]) == 0 && ox_item_int(places[1]) == INT64_MAX - 1);
        CHECK(ox_unravel_index(last, OX_SHAPE((int64_t)1 << 40, (int64_t)1 << 40), places, 2) == 2);
        CHECK(ox_item_int(places[0]) == (1 << 23) - 1 && ox_item_int(places[1]) == ((int64_t)1 << 40) - 2);
        CHECK(ox_unravel_index(ox_full(OX_SHAPE(1), 7, OX_U8), OX_SHAPE(3, 4), places, 2) == 2);
        CHECK(ox_unravel_index(ox_zeros(OX_SHAPE(1), OX_I64), below, places, 2) == -1 && ox_error());
        ox_error_clear();
        CHECK(places[0]->dtype == OX_I64 && ox_item_int(places[0]) == 1 && ox_item_int(places[1]) == 3);
        ox_tensor *yes = ox_ones(OX_SHAPE(2), OX_BOOL), *all = ox_ones(OX_SHAPE(2, 2), OX_BOOL);
        CHECK(ox_addr(all, yes, yes, 3, 2)->dtype == OX_BOOL);
        CHECK(ox_masked_cumsum(whole, NULL, 0)->dtype == OX_I32);
        CHECK_LIST(ox_masked_cumprod(whole, NULL, 0), 0, 17, -51, -102);
        ox_tensor *window = ox_window_kaiser(3, 800, true, OX_F32);
        CHECK_LIST(window, 1e-30, 0, 1, 0);
        ox_tensor *small = ox_full(OX_SHAPE(1024), 1, OX_F16), *sums = ox_logcumsumexp(small, 0);
        CHECK(sums && sums->dtype == OX_F16);
        CHECK(fabs(at(sums, 1023) - (1 + log(1024.0))) < 0.004);
    }
}

/* What PyTorch refuses too: each gives no tensor and this error. */
static void test_refused(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(2, 3), OX_F32), *cube = ox_ones(OX_SHAPE(2, 3, 4), OX_F32),
                  *two = ox_ones(OX_SHAPE(2), OX_F32), *three = ox_ones(OX_SHAPE(3), OX_I64);
#define REFUSED(status, ...)                                                          \
    do {                                                                              \
        CHECK_MSG(!(__VA_ARGS__) && ox_error() == status, #__VA_ARGS__ " is a result"); \
        ox_error_clear();                                                             \
    } while (0)
        REFUSED(OX_ERR_ARG, ox_softshrink(x, -0.5));
        REFUSED(OX_ERR_ARG, ox_rrelu(x, 0.3, 0.1, true));
        REFUSED(OX_ERR_ARG, ox_isclose(x, x, -0.4, 0, false));
        REFUSED(OX_ERR_ARG, ox_isclose(x, x, 0, -0.4, false));
        REFUSED(OX_ERR_SHAPE, ox_prelu(x, x));
        REFUSED(OX_ERR_SHAPE, ox_trace(cube));
        REFUSED(OX_ERR_SHAPE, ox_cov(x, 1, NULL, two));
        REFUSED(OX_ERR_SHAPE, ox_cov(x, 1, two, NULL));
        REFUSED(OX_ERR_SHAPE, ox_cov(x, 1, ox_cast(three, OX_F32), NULL));
        CHECK(ox_cov(x, 1, three, NULL) != NULL);
        REFUSED(OX_ERR_ARG, ox_window_gaussian(3, -1, true, OX_F32));
        REFUSED(OX_ERR_ARG, ox_window_exponential(3, NAN, -1, true, OX_F32));
        REFUSED(OX_ERR_ARG, ox_window_exponential(3, 1, 1, true, OX_F32));
        REFUSED(OX_ERR_ARG, ox_window_kaiser(3, -1, true, OX_F32));
        REFUSED(OX_ERR_ARG, ox_window_general_cosine(3, NULL, 0, true, OX_F32));
    }
}

int main(void) {
    test_elementwise();
    test_refused();
    test_dtypes();
    test_arrange();
    test_index();
    test_order();
    test_statistics();
    test_drawn();
    test_layouts();
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("composed");
}
