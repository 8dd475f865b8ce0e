/* test_corners.c - corners where PyTorch's rules decide; every expected number is torch 2.14's.
 * OX_TIERS OX_VULKAN(pow remainder floor_divide trunc_divide clamp round sign sum all) */
#include <stdlib.h>
#include <string.h>

#include <float.h>
#include <math.h>

#include "backwards.h"
#include "oxtorch_nn.h"

#include "check.h"

static ox_tensor *integers(const int64_t *values, int64_t n, ox_dtype dtype) {
    return ox_cast(ox_from_data(values, OX_SHAPE(n), OX_I64), dtype);
}

static bool holds(ox_tensor *t, const double *want, int64_t n) {
    double got[16];
    if (!t || ox_numel(t) != n || ox_to_doubles(t, got, n) != OX_OK) return false;
    for (int64_t i = 0; i < n; i++)
        if (got[i] != want[i] && !(isnan(got[i]) && isnan(want[i]))) return false;
    return true;
}

static void refused(ox_tensor *result, const char *words) {
    CHECK(!result);
    CHECK_MSG(strstr(ox_error_text(), words) != NULL, "\"%s\" without \"%s\"", ox_error_text(), words);
    ox_error_clear();
}

/* 2049 is no f16 and 257 no bf16: they are rounded before anything is computed. */
static void test_integers_beside_narrow_floats(void) {
    static const int64_t odd[] = {2049}, even[] = {2048}, small[] = {257};
    static const double yes[] = {1}, none[] = {0}, rounded[] = {4096}, back[] = {-1};
    OX_SCOPE {
        ox_tensor *i = integers(odd, 1, OX_I16), *f = integers(even, 1, OX_F16),
                  *wide = integers(small, 1, OX_I64);
        CHECK(holds(ox_eq(i, f), yes, 1) && holds(ox_eq(f, i), yes, 1) && holds(ox_ne(i, f), none, 1));
        CHECK(holds(ox_sub(i, f), none, 1) && holds(ox_sub(f, i), none, 1) && holds(ox_fmod(i, f), none, 1));
        CHECK(holds(ox_add(i, f), rounded, 1) && ox_add(i, f)->dtype == OX_F16);
        CHECK(holds(ox_sub_(ox_clone(f), i), none, 1));
        CHECK(holds(ox_eq(wide, ox_number(256)), none, 1));
        CHECK(holds(ox_eq(wide, ox_full(OX_SHAPE(1), 256, OX_BF16)), yes, 1));
        CHECK(holds(ox_sub(ox_full(OX_SHAPE(1), 256, OX_F32), wide), back, 1));
    }
    CHECK(ox_error() == OX_OK);
}

#define OF(dtype, ...) \
    ox_from_doubles((const double[]){__VA_ARGS__}, OX_SHAPE(sizeof((double[]){__VA_ARGS__}) / 8), dtype)
#define HOLDS(t, ...) \
    CHECK(holds(t, (const double[]){__VA_ARGS__}, (int64_t)(sizeof((double[]){__VA_ARGS__}) / 8)))

/* Numbers and 0-dim tensors beside f16 and bf16 are not rounded to them; tensors with dims are. */
static void test_numbers_beside_narrow_floats(void) {
    const double inf = INFINITY;
    OX_SCOPE {
        ox_tensor *h = OF(OX_F16, 0, 0.5, -0.065, 3), *b = ox_cast(h, OX_BF16), *one = OF(OX_F16, 2048);
        ox_tensor *many[6], *odd[6];
        static const ox_dtype dtypes[] = {OX_I64, OX_I32, OX_F32, OX_F64};
        for (int i = 0; i < 4; i++) {
            many[i] = ox_full(OX_SCALAR_SHAPE, 65536, dtypes[i]);
            odd[i] = ox_full(OX_SCALAR_SHAPE, 2049, dtypes[i]);
        }
        many[4] = ox_integer(65536);
        odd[4] = ox_integer(2049);
        many[5] = ox_number(65536);
        odd[5] = ox_number(2049);
        for (int i = 0; i < 6; i++) {
            HOLDS(ox_mul(h, many[i]), 0, 32768, -4260, inf);
            HOLDS(ox_mul(many[i], h), 0, 32768, -4260, inf);
            HOLDS(ox_mul_(ox_clone(h), many[i]), 0, 32768, -4260, inf);
            HOLDS(ox_mul(h, odd[i]), 0, 1024, -133.25, 6148);
            HOLDS(ox_div(OF(OX_F16, 1), many[i]), 1.52587890625e-05);
            HOLDS(ox_sub(one, odd[i]), -1);
            HOLDS(ox_sub_(ox_clone(one), odd[i]), -1);
            HOLDS(ox_eq(one, odd[i]), 0);
            HOLDS(ox_lt(one, odd[i]), 1);
            HOLDS(ox_ge(odd[i], one), 1);
            HOLDS(ox_addcmul(h, many[i], h, 1), 0, 32768, -4260, inf);
            HOLDS(ox_mul(b, odd[i]), 0, 1024, -133, 6144);
            HOLDS(ox_eq(ox_full(OX_SHAPE(1), 2048, OX_BF16), odd[i]), 0);
        }
        ox_tensor *dims = ox_full(OX_SHAPE(4), 65536, OX_I32);
        HOLDS(ox_mul(ox_slice(h, 0, 1, OX_END, 1), ox_slice(dims, 0, 1, OX_END, 1)), inf, -inf, inf);
        HOLDS(ox_addcmul(OF(OX_F16, 1), OF(OX_F16, 0.5), ox_full(OX_SHAPE(1), 65536, OX_I64), 1), inf);
        HOLDS(ox_addcdiv_(ox_clone(h), h, dims, 65536), 0, 0.5, ox_item(ox_select(h, 0, 2)), 3);
    }
    CHECK(ox_error() == OX_OK);
}

/* Numbers that an integer type does not hold. */
static void test_numbers_of_integers(void) {
    const double inf = INFINITY, nan = NAN;
    OX_SCOPE {
        ox_tensor *i8 = OF(OX_I8, 5), *i16 = OF(OX_I16, 5), *u8 = OF(OX_U8, 1, 2, 9), *i64 = OF(OX_I64, 5);
        refused(ox_masked_fill(i8, ox_gt_number(i8, 0), 300), "masked_fill: 300 does not fit i8");
        refused(ox_clamp(i8, 200, inf), "clamp: 200 does not fit i8");
        refused(ox_clamp(i16, 40000, inf), "clamp: 40000 does not fit i16");
        refused(ox_clamp(u8, -inf, -1), "clamp: -1 does not fit u8");
        refused(ox_clamp_(i8, -inf, -129), "clamp_: -129 does not fit i8");
        refused(ox_clamp(i8, inf, inf), "clamp: inf does not fit i8");
        refused(ox_clamp(i8, -inf, -inf), "clamp: -inf does not fit i8");
        refused(ox_clamp(i64, 9223372036854775808.0, inf), "does not fit i64");
        refused(ox_clamp(i8, nan, inf), "clamp: nan does not fit i8");
        refused(ox_hardtanh(i8, 200, 300), "hardtanh: 200 does not fit i8");
        refused(ox_hardtanh(u8, -5, -1), "hardtanh: -1 does not fit u8");
        refused(ox_hardtanh(OF(OX_I32, 5), nan, 3), "hardtanh: nan does not fit i32");
        refused(ox_hardtanh(OF(OX_I32, 5), 3, nan), "hardtanh: nan does not fit i32");
        refused(ox_threshold(i8, nan, 1), "threshold: nan does not fit i8");
        refused(ox_threshold(i8, 1, 200), "threshold: 200 does not fit i8");
        refused(ox_addcmul(i8, i8, i8, nan), "addcmul: nan does not fit i8");
        refused(ox_index_add(i8, 0, ox_zeros(OX_SHAPE(1), OX_I64), i8, nan), "index_add: nan does not fit");
        ox_tensor *square = ox_ones(OX_SHAPE(2, 2), OX_I32);
        refused(ox_addmm(square, square, square, nan, 1), "addmm: nan does not fit i32");
        refused(ox_addmm(square, square, square, 1, 1e30), "addmm: 1e+30 does not fit i32");
        /* what bounds nothing */
        HOLDS(ox_clamp(i8, -300, 300), 5);
        HOLDS(ox_clamp(u8, -5, 5), 1, 2, 5);
        HOLDS(ox_clamp(i64, -inf, 9223372036854775808.0), 5);
        HOLDS(ox_clamp(OF(OX_U64, 5), 1e19, inf), 1e19);
        HOLDS(ox_hardtanh(u8, -5.5, 2.9), 1, 2, 2);
        HOLDS(ox_threshold(i8, 300, 3), 3);
        HOLDS(ox_threshold(i8, -300, 3), 5);
        /* truncated, as in torch */
        HOLDS(ox_index_add(i8, 0, ox_zeros(OX_SHAPE(1), OX_I64), i8, 1.5), 10);
        HOLDS(ox_addcmul(i8, i8, i8, 1.5), 30);
        HOLDS(ox_full(OX_SHAPE(1), 1e19, OX_U64), 1e19);
        HOLDS(ox_hardtanh(OF(OX_F32, 5), nan, 3), nan);
    }
    CHECK(ox_error() == OX_OK);
}

/* Sums of bool are "or", whatever their scale is, 0 aside. */
static void test_scaled_truths(void) {
    static const double scales[] = {1, -1, 2, 256, -300};
    OX_SCOPE {
        ox_tensor *a = OF(OX_BOOL, 0, 1, 0, 1), *b = OF(OX_BOOL, 1, 1, 0, 0);
        ox_tensor *at = ox_arange(0, 4, 1, OX_I64);
        for (int i = 0; i < 5; i++) {
            HOLDS(ox_add_scaled(a, b, scales[i]), 1, 1, 0, 1);
            HOLDS(ox_add_scaled_(ox_clone(a), b, scales[i]), 1, 1, 0, 1);
            HOLDS(ox_index_add(a, 0, at, b, scales[i]), 1, 1, 0, 1);
        }
        HOLDS(ox_index_add(a, 0, at, b, 0.5), 1, 1, 0, 1);
        HOLDS(ox_index_add_(ox_clone(a), 0, at, b, 0.5), 1, 1, 0, 1);
        HOLDS(ox_index_add(a, 0, at, b, 0), 0, 1, 0, 1);
        HOLDS(ox_add_scaled(a, b, 0), 0, 1, 0, 1);
        refused(ox_add_scaled(a, b, 0.5), "add_scaled: 0.5 does not fit bool");
        refused(ox_add_scaled(a, b, NAN), "add_scaled: nan does not fit bool");
    }
    CHECK(ox_error() == OX_OK);
}

static void test_ramps(void) {
    OX_SCOPE {
        refused(ox_arange(1, 0, 3, OX_F32), "from 1 to 0 by 3: the step leads away from the end");
        refused(ox_arange(0, 1, -1, OX_F32), "the step leads away from the end");
        refused(ox_arange(0, 1, 0, OX_F32), "the step is 0");
        refused(ox_arange(0, INFINITY, 1, OX_F32), "finite");
        refused(ox_arange(NAN, 1, 1, OX_I64), "finite");
        refused(ox_arange(0, 1, NAN, OX_I64), "finite");
        refused(ox_arange(1e19, 2e19, 5e18, OX_I64), "beyond what i64 holds");
        refused(ox_arange(1e19, 2e19, 5e18, OX_I8), "beyond what i64 holds");
        refused(ox_arange(-9.3e18, -9.2e18, 1e17, OX_I64), "beyond what i64 holds");
        refused(ox_arange(9e18, 9.4e18, 1e17, OX_I64), "beyond what i64 holds");
        refused(ox_arange(1.8e19, 1.9e19, 5e17, OX_U64), "beyond what u64 holds");
        CHECK(ox_numel(ox_arange(1, 1, 3, OX_I64)) == 0 && ox_numel(ox_arange(1, 1, -3, OX_I64)) == 0);
        HOLDS(ox_arange(9e18, 9.3e18, 1e17, OX_I64), 9e18, 9.1e18, 9.2e18);
        HOLDS(ox_arange(9223372036854773760.0, 9223372036854775808.0, 1024, OX_I64), 9223372036854773760.0,
              9223372036854774784.0);
        HOLDS(ox_arange(1e19, 2e19, 5e18, OX_F64), 1e19, 1.5e19);
        HOLDS(ox_arange(1e19, 1.2e19, 1e18, OX_U64), 1e19, 1.1e19);
        HOLDS(ox_arange(0, 300, 100, OX_I8), 0, 100, -56); /* the low bits */
        HOLDS(ox_arange(5, 0, -2, OX_U64), 5, 3, 1);
    }
    CHECK(ox_error() == OX_OK);
}

/* Rounded once: the sigmoid of -20 is 0 in f16. */
static void test_glu(void) {
    OX_SCOPE {
        HOLDS(ox_glu(OF(OX_F16, INFINITY, -20), 0), INFINITY);
        HOLDS(ox_glu(OF(OX_F16, 30000, 1, -20, 0), 0), 6.181001663208008e-05, 0.5);
        static const ox_dtype narrow[] = {OX_F16, OX_BF16, OX_F8_E4M3, OX_F8_E5M2};
        for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
            ox_tensor *x = ox_cast(ox_randn(OX_SHAPE(6, 10), OX_F32), narrow[i]);
            ox_tensor *want = ox_cast(ox_glu(ox_cast(x, OX_F32), 1), narrow[i]);
            CHECK(ox_equal(ox_glu(x, 1), want));
            CHECK(ox_equal(ox_glu(ox_t(x), 0), ox_t(want)));
        }
    }
    CHECK(ox_error() == OX_OK);
}

/* Many terms meet in one element: 257 is no bf16, 2049 no f16. */
static void test_added_by_index(void) {
    static const ox_dtype dtypes[] = {OX_BF16, OX_F16, OX_F32};
    OX_SCOPE {
        ox_tensor *at = ox_zeros(OX_SHAPE(300), OX_I64);
        ox_tensor *two = ox_expand(ox_view(at, OX_SHAPE(300, 1)), OX_SHAPE(300, 2));
        for (int i = 0; i < 3; i++) {
            double first = i == 1 ? 2048 : 256;
            ox_tensor *x = ox_full(OX_SHAPE(1), first, dtypes[i]), *ones = ox_ones(OX_SHAPE(300), dtypes[i]);
            HOLDS(ox_scatter_add(x, 0, at, ones), first + 300);
            HOLDS(ox_index_add(x, 0, at, ones, 1), first + 300);
            HOLDS(ox_index_add(x, 0, at, ones, -0.5), first - 150);
            ox_tensor *same = ox_clone(x);
            CHECK(ox_scatter_add_(same, 0, at, ones) == same);
            HOLDS(same, first + 300);
            same = ox_clone(x);
            CHECK(ox_index_add_(same, 0, at, ones, 1) == same);
            HOLDS(same, first + 300);
            ox_tensor *row = ox_full(OX_SHAPE(1, 2), first, dtypes[i]);
            ox_tensor *rows = ox_ones(OX_SHAPE(300, 2), dtypes[i]);
            HOLDS(ox_flatten(ox_scatter_add(row, 0, two, rows), 0, -1), first + 300, first + 300);
            HOLDS(ox_flatten(ox_index_add(row, 0, at, rows, 1), 0, -1), first + 300, first + 300);
            refused(ox_scatter_add(x, 0, at, ox_cast(ones, OX_F64)),
                    "scatter_add: dtypes differ: source f64[300], target");
        }
    }
    CHECK(ox_error() == OX_OK);
}

/* Parts are added on their own, and scaled by a real number; products multiply all parts. */
static void test_infinite_complex(void) {
    const double inf = INFINITY, nan = NAN;
    OX_SCOPE {
        ox_tensor *x = ox_view_as_complex(ox_view(OF(OX_F32, inf, 0, 1, -inf, 2, 3), OX_SHAPE(3, 2)));
        ox_tensor *y = ox_view_as_complex(ox_view(OF(OX_F32, 1, 1, 2, 1, -inf, 1), OX_SHAPE(3, 2)));
        ox_tensor *at = ox_arange(0, 3, 1, OX_I64);
#define PARTS(call, ...) HOLDS(ox_flatten(ox_view_as_real(call), 0, -1), __VA_ARGS__)
        PARTS(ox_add(x, y), inf, 1, 3, -inf, -inf, 4);
        PARTS(ox_add(y, x), inf, 1, 3, -inf, -inf, 4);
        PARTS(ox_sub(x, y), inf, -1, -1, -inf, inf, 2);
        PARTS(ox_add_scaled(x, y, 2), inf, 2, 5, -inf, -inf, 5);
        PARTS(ox_add_scaled(y, x, -1), -inf, 1, 1, inf, -inf, -2);
        PARTS(ox_add_number(x, 1), inf, 0, 2, -inf, 3, 3);
        PARTS(ox_index_add(x, 0, at, y, 2), inf, 2, 5, -inf, -inf, 5);
        PARTS(ox_scatter_add(x, 0, at, y), inf, 1, 3, -inf, -inf, 4);
        PARTS(ox_mul(x, y), inf, inf, inf, -inf, -inf, -inf);
        PARTS(ox_mul_number(x, 2), inf, nan, nan, -inf, 4, 6);
        PARTS(ox_mul(x, OF(OX_F32, 1, 1, 1)), inf, nan, nan, -inf, 2, 3);
#undef PARTS
    }
    CHECK(ox_error() == OX_OK);
}

/* x is a mask whose true bytes are 1 in one turn, anything but 0 in the other: the results are the same. */
static void check_truths(ox_shape shape, const uint8_t *bytes, const uint8_t *truths) {
    ox_tensor *f = ox_randn(shape, OX_F32), *i16 = ox_cast(ox_mul_number(f, 100), OX_I16);
    ox_tensor *m = ox_from_data(truths, shape, OX_BOOL), *at = ox_zeros(shape, OX_I64), *list[2];
#define SAME(call)                                                               \
    do {                                                                         \
        ox_tensor *x = ox_from_data(bytes, shape, OX_BOOL), *got = call;         \
        x = ox_from_data(truths, shape, OX_BOOL);                                \
        CHECK(got && ox_equal(got, call));                                       \
    } while (0)
#define SAME_ALONG(d)                                                            \
    SAME(ox_sum(x, OX_DIMS(d), false));                                          \
    SAME(ox_prod(x, OX_DIMS(d), false));                                         \
    SAME(ox_amax(x, OX_DIMS(d), false));                                         \
    SAME(ox_amin(x, OX_DIMS(d), false));                                         \
    SAME(ox_all(x, OX_DIMS(d), false));                                          \
    SAME(ox_any(x, OX_DIMS(d), false));                                          \
    SAME(ox_logsumexp(x, OX_DIMS(d), false));                                    \
    SAME(ox_count_nonzero(x, OX_DIMS(d)));                                       \
    SAME(ox_argmax(x, d, false));                                                \
    SAME(ox_argmin(x, d, false));                                                \
    SAME(ox_max(x, d, false).indices);                                           \
    SAME(ox_min(x, d, false).values);                                            \
    SAME(ox_cumsum(x, d));                                                       \
    SAME(ox_cumprod(x, d));                                                      \
    SAME(ox_sort(x, d, true).indices);                                           \
    SAME(ox_topk(x, 3, d, false).indices)
    SAME_ALONG(0);
    SAME_ALONG(1);
    SAME(ox_sum(x, OX_ALL_DIMS, false));
    SAME(ox_sum(backwards(x, OX_DIMS(0, 1)), OX_ALL_DIMS, false));
    SAME(ox_sum(ox_slice(x, 1, 0, OX_END, 2), OX_DIMS(1), false));
    for (int d = OX_BOOL; d <= OX_C64; d++) SAME(ox_cast(x, (ox_dtype)d));
    SAME(ox_add(x, m));
    SAME(ox_add_scaled(m, x, -1));
    SAME(ox_mul(x, f));
    SAME(ox_add(x, ox_integer(2)));
    SAME(ox_maximum(x, m));
    SAME(ox_eq(x, m));
    SAME(ox_lt(m, x));
    SAME(ox_bitwise_and(x, m));
    SAME(ox_bitwise_xor(x, m));
    SAME(ox_bitwise_not(x));
    SAME(ox_logical_not_(ox_clone(x)));
    SAME(ox_exp(x));
    SAME(ox_sign(x));
    SAME(ox_atan2(x, m));
    SAME(ox_where(x, f, ox_neg(f)));
    SAME(ox_where(x, i16, ox_neg(i16)));
    SAME(ox_where(backwards(x, OX_DIMS(0)), f, ox_neg(f)));
    SAME(ox_where(m, x, i16));
    SAME(ox_masked_fill(f, x, 3));
    SAME(ox_masked_select(f, x));
    SAME(ox_nonzero(x));
    SAME(ox_index_add(m, 1, ox_select(at, 0, 0), x, 1));
    SAME(ox_scatter_add(x, 0, at, m));
    SAME((list[0] = x, list[1] = i16, ox_cat(list, 2, 0)));
    SAME((list[0] = x, ox_einsum("ij->i", list, 1)));
#undef SAME_ALONG
#undef SAME
}

/* Any byte but 0 is true: bool from memory or a file may hold more than 0 and 1. */
static void test_truths(void) {
    uint8_t bytes[4096], truths[4096];
    for (int i = 0; i < 4096; i++) {
        unsigned draw = (unsigned)i * 2654435761u >> 16;
        bytes[i] = draw % 3 == 0 ? 0 : (uint8_t)(draw % 3 == 1 ? 190 : 1 + (draw >> 3) % 255);
        truths[i] = bytes[i] != 0;
    }
    OX_SCOPE {
        ox_manual_seed(9);
        check_truths(OX_SHAPE(64, 64), bytes, truths);
        check_truths(OX_SHAPE(5, 7), bytes, truths);
        ox_tensor *mask = ox_from_data(bytes, OX_SHAPE(32, 64), OX_BOOL);
        ox_tensor *q = ox_randn(OX_SHAPE(2, 32, 16), OX_F32);
        ox_tensor *k = ox_randn(OX_SHAPE(2, 64, 16), OX_F32);
        ox_tensor *plain = ox_from_data(truths, OX_SHAPE(32, 64), OX_BOOL);
        ox_attention_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.mask = mask;
        ox_tensor *got = ox_scaled_dot_product_attention(q, k, k, &desc);
        desc.mask = plain;
        CHECK(got && ox_equal(got, ox_scaled_dot_product_attention(q, k, k, &desc)));
    }
    CHECK(ox_error() == OX_OK);
}

/* What is a matter of meaning, not of numbers. */
static void test_meaning(void) {
    OX_SCOPE {
        ox_tensor *x = OF(OX_F32, 1, 2, 9), *parts[2];
        refused(ox_copy_(ox_zeros(OX_SHAPE(3), OX_F32), ox_ones(OX_SHAPE(1, 3), OX_F32)),
                "copy_: f32[1,3] does not broadcast to f32[3]");
        refused(ox_copy_(ox_zeros(OX_SCALAR_SHAPE, OX_F32), ox_ones(OX_SHAPE(1), OX_F32)),
                "does not broadcast");
        HOLDS(ox_copy_(ox_zeros(OX_SHAPE(3), OX_F32), ox_full(OX_SCALAR_SHAPE, 4, OX_I32)), 4, 4, 4);
        for (int i = 0; i < 2; i++) {
            ox_dtype dtype = i ? OX_I32 : OX_I64;
            HOLDS(ox_take_along_dim(x, OF(dtype, -1, 0, -3), 0), 9, 1, 1);
            HOLDS(ox_take_along_dim(ox_view(x, OX_SHAPE(3, 1)), OF(dtype, -2), OX_FLATTENED), 2);
        }
        ox_tensor *ends = ox_view(OF(OX_I64, -1, 1), OX_SHAPE(2, 1));
        ox_tensor *rows = ox_take_along_dim(ox_view(x, OX_SHAPE(1, 3)), ends, 1);
        CHECK(rows && rows->ndim == 2);
        HOLDS(rows ? ox_flatten(rows, 0, -1) : NULL, 9, 2);
        CHECK(ox_split_with_sizes(ox_zeros(OX_SHAPE(0, 3), OX_F32), NULL, 0, 0, parts, 2) == 0);
        CHECK(ox_split_with_sizes(x, NULL, 0, 0, parts, 2) == -1);
        ox_error_clear();
        HOLDS(ox_dropout(OF(OX_I32, 5), 0.5, false), 5);
        HOLDS(ox_dropout(OF(OX_I32, 5), 0, true), 5);
        HOLDS(ox_dropout_(OF(OX_BOOL, 1), 0.5, false), 1);
        refused(ox_dropout(OF(OX_I32, 5), 0.5, true), "dropout: not defined for i32[1]");
        refused(ox_normal_(ox_zeros(OX_SHAPE(2), OX_F32), 0, NAN), "normal_: deviation nan");
        refused(ox_randint(-5, 0, OX_SHAPE(2), OX_BOOL), "randint: -5 to -1 does not fit bool");
        refused(ox_randint(0, 3, OX_SHAPE(2), OX_BOOL), "randint: 0 to 2 does not fit bool");
        refused(ox_randint(0, 1 << 20, OX_SHAPE(2), OX_F16), "does not fit f16");
        refused(ox_uniform_(ox_zeros(OX_SHAPE(2), OX_F16), 0, 1e6), "uniform_: 0 to 1e+06 does not fit f16");
        CHECK(ox_randint(0, 2, OX_SHAPE(2), OX_BOOL) && ox_randint(-65504, 65505, OX_SHAPE(2), OX_F16));
        ox_tensor *c = ox_cast(ox_full(OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 2), -1, OX_F32), OX_C64);
        CHECK(c && ox_imag(c) && ox_imag(c)->ndim == 8);
        CHECK(ox_copy_(ox_imag(c), ox_number(1)) != NULL);
        HOLDS(ox_flatten(ox_imag(ox_conj(c)), 0, -1), -1, -1);
        HOLDS(ox_flatten(ox_real(ox_conj(c)), 0, -1), -1, -1);
        HOLDS(ox_flatten(ox_mul_number(ox_angle(c), 4), 0, -1), 9.42477798461914, 9.42477798461914);
    }
    CHECK(ox_error() == OX_OK);
}

static void test_joins(void) {
    OX_SCOPE {
        ox_tensor *some = ox_ones(OX_SHAPE(2, 2), OX_F32), *none = ox_zeros(OX_SHAPE(0), OX_F32), *list[3];
        list[0] = none;
        list[1] = some;
        list[2] = some;
        ox_tensor *all = ox_cat(list, 3, 1);
        CHECK(all && all->ndim == 2 && all->shape[0] == 2 && all->shape[1] == 4);
        list[1] = none;
        all = ox_cat(list, 2, 0);
        CHECK(all && all->ndim == 1 && all->shape[0] == 0);
        ox_tensor *parts[4];
        CHECK(ox_chunk(ox_zeros(OX_SHAPE(3, 0), OX_F32), 3, 1, parts, 4) == 3 && parts[2]->shape[1] == 0);
        CHECK(ox_chunk(ox_zeros(OX_SHAPE(3, 5), OX_F32), 3, 1, parts, 4) == 3 && parts[2]->shape[1] == 1);
        CHECK(ox_split(ox_zeros(OX_SHAPE(0), OX_F32), 0, 0, parts, 4) == 1);
    }
    CHECK(ox_error() == OX_OK);
}

static void test_places(void) {
    static const double three[] = {3};
    OX_SCOPE {
        ox_tensor *x = ox_full(OX_SCALAR_SHAPE, 1, OX_F32), *index = ox_zeros(OX_SHAPE(1), OX_I64);
        CHECK(holds(ox_index_add(x, 0, index, ox_full(OX_SCALAR_SHAPE, 2, OX_F32), 1), three, 1));
        refused(ox_take_along_dim(ox_zeros(OX_SHAPE(5, 67), OX_F32), ox_zeros(OX_SHAPE(2, 69), OX_I64), 1),
                "take_along_dim: shapes do not broadcast");
        /* results without elements: indices are in range all the same */
        ox_tensor *none = ox_zeros(OX_SHAPE(3, 0), OX_F32), *bad = OF(OX_I64, 0, 7), *seven = OF(OX_I64, 7);
        refused(ox_embedding(bad, none), "embedding: index 7 at [1] is out of range for a table of size 3");
        refused(ox_embedding(seven, none), "embedding: index 7 at [0] is out of range for a table of size 3");
        refused(ox_index_select(none, 0, bad), "index_select: index 7 at [1] is out of range for dim 0");
        refused(ox_index_add(none, 0, bad, ox_zeros(OX_SHAPE(2, 0), OX_F32), 1), "index_add: index 7 at [1]");
        CHECK(ox_numel(ox_index_select(none, 0, OF(OX_I64, 0, 2))) == 0);
        CHECK(ox_numel(ox_gather(none, 1, ox_zeros(OX_SHAPE(3, 0), OX_I64))) == 0);
        CHECK(ox_numel(ox_scatter(none, 1, ox_zeros(OX_SHAPE(3, 0), OX_I64), none)) == 0);
        ox_tensor *wide = ox_expand(ox_zeros(OX_SHAPE(1, 0, 3), OX_F32), OX_SHAPE(2, 0, 3));
        CHECK(ox_add_(wide, ox_number(1)) != NULL);
        CHECK(ox_numel(ox_fmod(ox_zeros(OX_SHAPE(0), OX_I64), ox_zeros(OX_SHAPE(1), OX_I64))) == 0);
        refused(ox_fmod(ox_ones(OX_SHAPE(1), OX_I64), ox_zeros(OX_SHAPE(1), OX_I64)),
                "integer division by zero");
        refused(ox_glu(ox_ones(OX_SHAPE(4), OX_I32), 0), "glu: not defined for i32");
    }
    CHECK(ox_error() == OX_OK);
}

static void test_random(void) {
    OX_SCOPE {
        refused(ox_randint(0, 300, OX_SHAPE(2), OX_U8), "randint: 0 to 299 does not fit u8");
        refused(ox_randint(-1, 3, OX_SHAPE(2), OX_U32), "does not fit u32");
        CHECK(ox_randint(0, 256, OX_SHAPE(2), OX_U8) &&
              ox_randint(INT64_MIN, INT64_MAX, OX_SHAPE(2), OX_I64));
        ox_tensor *like = ox_zeros(OX_SHAPE(3, 4), OX_F64);
        ox_manual_seed(7);
        ox_tensor *a = ox_rand_like(like), *b = ox_randn_like(like), *c = ox_randint_like(like, 2, 5);
        ox_manual_seed(7);
        CHECK(ox_equal(a, ox_rand(OX_SHAPE(3, 4), OX_F64)) && ox_equal(b, ox_randn(OX_SHAPE(3, 4), OX_F64)));
        CHECK(ox_equal(c, ox_randint(2, 5, OX_SHAPE(3, 4), OX_F64)));
        CHECK(!ox_rand_like(NULL) && !ox_randn_like(NULL) && !ox_randint_like(NULL, 0, 1));
        ox_error_clear();
        ox_tensor *x = ox_t(ox_empty(OX_SHAPE(400, 50), OX_F32));
        CHECK(ox_bernoulli_(x, 0.25) == x);
        double mean = ox_item(ox_mean(x, OX_ALL_DIMS, false)), most = ox_item(ox_amax(x, OX_ALL_DIMS, false));
        CHECK_MSG(mean > 0.23 && mean < 0.27 && most == 1, "%g", mean);
        refused(ox_bernoulli_(x, 1.5), "bernoulli_: the probability 1.5 is not in [0, 1]");
    }
    CHECK(ox_error() == OX_OK);
}

static void test_addmm_in_place(void) {
    OX_SCOPE {
        ox_tensor *a = ox_randn(OX_SHAPE(5, 7), OX_F32), *b = ox_randn(OX_SHAPE(7, 3), OX_F32);
        ox_tensor *c = ox_t(ox_randn(OX_SHAPE(3, 5), OX_F32)), *want = ox_addmm(c, a, b, 0.5, 2);
        CHECK(ox_addmm_(c, a, b, 0.5, 2) == c && ox_allclose(c, want, 1e-6, 1e-6, false));
        refused(ox_addmm_(ox_zeros(OX_SHAPE(3), OX_F32), a, b, 1, 1), "does not fit");
        ox_tensor *square = ox_randn(OX_SHAPE(4, 4), OX_F32);
        want = ox_addmm(square, square, square, 1, 1);
        CHECK(ox_allclose(ox_addmm_(square, square, square, 1, 1), want, 1e-6, 1e-6, false));
    }
    CHECK(ox_error() == OX_OK);
}

static void test_shapes(void) {
    OX_SCOPE {
        ox_tensor *one = ox_full(OX_SCALAR_SHAPE, 3, OX_F32);
        CHECK(ox_equal(ox_roll(one, OX_SHAPE(1), OX_DIMS(0)), one));
        CHECK(ox_equal(ox_roll(one, OX_SHAPE(-5), OX_DIMS(-1)), one));
        CHECK(ox_shape_from(2, NULL).ndim == -1 && ox_shape_from(0, NULL).ndim == 0);
        refused(ox_zeros(OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 2), OX_F32), "more than 8 dims");
        refused(ox_zeros(OX_SHAPE(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 2), OX_F32), "more than 8 dims");
        refused(ox_zeros(OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2), OX_F32),
                "more than 8 dims");
        refused(ox_unsqueeze(ox_zeros(OX_SHAPE(2, 3), OX_F32), 3),
                "unsqueeze: dim 3 is out of range for a new dim of f32[2,3]");
        CHECK(ox_unsqueeze(ox_zeros(OX_SHAPE(2, 3), OX_F32), -3)->shape[0] == 1);
    }
    CHECK(ox_error() == OX_OK);
}

/* What torch refuses to mix. */
static void test_dtypes(void) {
    OX_SCOPE {
        ox_tensor *f32 = ox_ones(OX_SHAPE(2, 2), OX_F32), *f64 = ox_ones(OX_SHAPE(2, 2), OX_F64);
        ox_tensor *line = ox_ones(OX_SHAPE(2), OX_F64), *f16 = ox_ones(OX_SHAPE(2, 2), OX_F16);
        const char *text = "operands of different dtypes";
        refused(ox_lerp(f32, f64, f32), text);
        refused(ox_lerp(f32, f32, f64), text);
        ox_tensor *ints = ox_ones(OX_SHAPE(2), OX_I32);
        refused(ox_lerp(ints, ints, ox_ones(OX_SHAPE(2), OX_F32)), text);
        refused(ox_layer_norm(f32, 1, line, NULL, 1e-5), text);
        refused(ox_rms_norm(f32, 1, line, 1e-5), text);
        refused(ox_group_norm(f32, 1, NULL, line, 1e-5), text);
        refused(ox_linear(f32, f64, NULL), text);
        refused(ox_linear(f32, f32, line), text);
        CHECK(ox_linear(f32, f16, NULL) && ox_linear(f16, f32, NULL)); /* as the manual says */
        double inf = INFINITY;
        ox_tensor *x = ox_full(OX_SHAPE(1), inf, OX_F32);
        CHECK(ox_item(ox_nan_to_num(x, 0, 1e300, -1e300)) == inf);
        CHECK(ox_item(ox_nan_to_num(x, 0, inf, -inf)) == (double)FLT_MAX);
        ox_tensor *many = ox_ones(OX_SHAPE(1000), OX_F32);
        CHECK(ox_dropout_(many, 0.5, true) == many && ox_item(ox_amax(many, OX_ALL_DIMS, false)) == 2 &&
              ox_item(ox_amin(many, OX_ALL_DIMS, false)) == 0);
    }
    CHECK(ox_error() == OX_OK);
}

int main(void) {
    test_shapes();
    test_dtypes();
    test_integers_beside_narrow_floats();
    test_numbers_beside_narrow_floats();
    test_numbers_of_integers();
    test_scaled_truths();
    test_ramps();
    test_glu();
    test_added_by_index();
    test_truths();
    test_infinite_complex();
    test_meaning();
    test_joins();
    test_places();
    test_random();
    test_addmm_in_place();
    CHECK(ox_memory_get_stats().tensors == 0);
    return check_done("corners");
}
