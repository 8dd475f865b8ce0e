/* test_vulkan_ops.c - ops whose result on a Vulkan device is the CPU's bit by bit, and that take no detour:
 * order, on lines that take several passes; ramps and random numbers; what a mask selects;
 * blocks; f64. Skipped with the reason where there is no device. */
#include "operands.h"
#include "oxtorch_vulkan.h"

static ox_device *gpu;

static ox_tensor *there(ox_tensor *t) {
    return t ? ox_to(t, gpu) : NULL;
}
static ox_tensor *back(ox_tensor *t) {
    return t ? ox_contiguous(ox_to(t, ox_cpu())) : NULL;
}
static bool same(ox_tensor *got, ox_tensor *want) {
    return got && want && same_bits(back(got), ox_contiguous(want));
}

/* ---- order --------------------------------------------------------------------------------------------- */

static void check_pair(const char *what, ox_dtype dtype, int64_t k, ox_pair got, ox_pair want) {
    CHECK_MSG(same(got.values, want.values) && same(got.indices, want.indices), "%s of %s, %lld: %s", what,
              ox_dtype_name(dtype), (long long)k, ox_error_text());
}

static void check_order(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_I64, OX_BF16, OX_U8};
    static const int64_t counts[] = {1, 100, 513, 700, 5000};
    int64_t detours = ox_stats().detours;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        OX_SCOPE {
            ox_tensor *x = ox_cast(ox_mul_number(ox_randn(OX_SHAPE(5000, 3), OX_F32), 50), dtypes[d]);
            ox_tensor *lines = ox_flip(ox_t(x), OX_DIMS(1)), *y = ox_flip(ox_t(there(x)), OX_DIMS(1));
            for (int down = 0; down < 2; down++)
                check_pair("sort", dtypes[d], down, ox_sort(y, 1, down), ox_sort(lines, 1, down));
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                check_pair("topk", dtypes[d], counts[i], ox_topk(y, counts[i], 1, true),
                           ox_topk(lines, counts[i], 1, true));
            check_pair("sort of short lines", dtypes[d], 3, ox_sort(ox_t(y), -1, false),
                       ox_sort(ox_t(lines), -1, false));
        }
    CHECK_MSG(ox_stats().detours == detours, "%lld detours", (long long)(ox_stats().detours - detours));
}

/* ---- made from nothing: in the tensors given ----------------------------------------------------------- */

static const ox_dtype floats[] = {OX_F32, OX_F16, OX_BF16, OX_F8_E4M3, OX_F8_E5M2, OX_F64};

/* Every second column of t [n,6], backwards: a view that numbers are made in. */
static ox_tensor *columns_of(ox_tensor *t) {
    return ox_flip(ox_slice(t, 1, 0, 6, 2), OX_DIMS(0));
}

/* The same call of the same seed on both devices; `what` says which. */
static ox_tensor *drawn(int what, ox_tensor *t) {
    ox_manual_seed(17);
    switch (what) {
    case 0: return ox_uniform_(t, 0, 1);
    case 1: return ox_uniform_(t, -3, 0.1);
    case 2: return ox_normal_(t, 0.5, 3);
    case 3: return ox_copy_(t, ox_randn_like(t));
    case 4: return ox_copy_(t, ox_bernoulli(ox_uniform_(t, 0, 1)));
    case 5: return ox_copy_(t, ox_dropout(ox_fill_(t, 1), 0.3, true));
    case 6: return ox_bernoulli_(t, 0.3);
    default: return ox_fill_(t, 0.1);
    }
}

static void check_random(void) {
    ox_vulkan_facts facts;
    bool doubles = ox_vulkan_info(gpu, &facts) == OX_OK && facts.caps & OX_VULKAN_F64;
    int64_t detours = ox_stats().detours;
    for (size_t d = 0; d < sizeof floats / sizeof *floats; d++)
        for (int what = 0; what < 8; what++)
            OX_SCOPE {
                if (floats[d] == OX_F64 && what == 5) continue; /* multiplies */
                ox_tensor *x = ox_zeros(OX_SHAPE(1111, 6), floats[d]), *y = there(x);
                CHECK_MSG(drawn(what, x) && drawn(what, y) && same(y, x), "case %d of %s: %s", what,
                          ox_dtype_name(floats[d]), ox_error_text());
                CHECK_MSG(drawn(what, columns_of(x)) && drawn(what, columns_of(y)) && same(y, x),
                          "case %d of columns of %s: %s", what, ox_dtype_name(floats[d]), ox_error_text());
            }
    OX_SCOPE {
        ox_tensor *x = ox_zeros(OX_SHAPE(5003), OX_I64), *y = there(x);
        ox_manual_seed(3);
        ox_tensor *want = ox_randint_like(x, INT64_MIN, INT64_MAX);
        ox_manual_seed(3);
        CHECK(same(ox_randint_like(y, INT64_MIN, INT64_MAX), want));
    }
    if (doubles)
        CHECK_MSG(ox_stats().detours == detours, "%lld detours", (long long)(ox_stats().detours - detours));
    OX_SCOPE { /* as with an index out of range, the next read tells */
        ox_tensor *bad = ox_bernoulli(there(ox_full(OX_SHAPE(3), 1.5, OX_F32)));
        CHECK(bad && !back(bad) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

/* ---- selected by a mask; long scans -------------------------------------------------------------------- */

static void check_selected(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_F8_E5M2, OX_F64, OX_C64, OX_BOOL, OX_I8, OX_U64};
    ox_vulkan_facts facts;
    bool doubles = ox_vulkan_info(gpu, &facts) == OX_OK && facts.caps & OX_VULKAN_F64;
    int64_t detours = ox_stats().detours;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        OX_SCOPE {
            ox_tensor *numbers = ox_relu(ox_randn(OX_SHAPE(7, 61, 41), OX_F32));
            ox_tensor *x = ox_cast(ox_neg(numbers), dtypes[d]), *y = there(x); /* zeros are -0 */
            ox_tensor *a = ox_flip(ox_transpose(x, 0, 2), OX_DIMS(1)),
                      *b = ox_flip(ox_transpose(y, 0, 2), OX_DIMS(1));
            ox_tensor *mask = ox_gt(ox_randn(OX_SHAPE(61, 1), OX_F32), ox_number(0.3)),
                      *there_mask = there(mask);
            const char *name = ox_dtype_name(dtypes[d]);
            CHECK_MSG(same(ox_masked_select(b, there_mask), ox_masked_select(a, mask)),
                      "masked_select of %s: %s", name, ox_error_text());
            if ((dtypes[d] == OX_F64 || dtypes[d] == OX_C64) && !doubles) detours++; /* counted on the CPU */
            CHECK_MSG(same(ox_nonzero(b), ox_nonzero(a)), "nonzero of %s: %s", name, ox_error_text());
            if (dtypes[d] == OX_F32) CHECK(ox_numel(ox_nonzero(ox_narrow(b, 0, 0, 0))) == 0);
        }
    OX_SCOPE { /* integers are exact in any order; of three lines each is cut */
        ox_tensor *x = ox_randint(-9, 9, OX_SHAPE(20011, 3), OX_I32), *y = there(x);
        CHECK(same(ox_cumsum(y, 0), ox_cumsum(x, 0)));
        CHECK(same(ox_cumprod(ox_flip(y, OX_DIMS(0)), 0), ox_cumprod(ox_flip(x, OX_DIMS(0)), 0)));
        ox_tensor *u = ox_rand(OX_SHAPE(300001), OX_F32);
        CHECK(ox_allclose(ox_cast(back(ox_cumsum(there(u), 0)), OX_F64), ox_cumsum(ox_cast(u, OX_F64), 0),
                          1e-6, 0, false));
    }
    CHECK_MSG(ox_stats().detours == detours, "%lld detours", (long long)(ox_stats().detours - detours));
}

/* ---- block types: as weights, and expanded ------------------------------------------------------------- */

/* [n,k] of bytes in `mask`: with 0x3f every scale that they may be is modest. */
static ox_tensor *blocks_of(ox_dtype dtype, int64_t n, int64_t k, int mask) {
    static unsigned char bytes[1 << 16];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)((int)(test_uniform() * 256) & mask);
    return ox_from_data(bytes, OX_SHAPE(n, k), dtype);
}

/* The largest difference beside the largest number. */
static double distance(ox_tensor *got, ox_tensor *want) {
    ox_tensor *a = ox_cast(back(got), OX_F64), *b = ox_cast(want, OX_F64);
    double most = ox_item(ox_amax(ox_abs(b), OX_ALL_DIMS, false));
    double off = ox_item(ox_amax(ox_abs(ox_sub(a, b)), OX_ALL_DIMS, false));
    return got && want ? off / most : 1;
}

static void check_blocks(void) {
    int64_t detours = ox_stats().detours;
    for (int dtype = OX_Q4_0; dtype <= OX_Q2_0; dtype++)
        OX_SCOPE {
            ox_tensor *w = blocks_of((ox_dtype)dtype, 7, 512, 255), *v = there(w);
            ox_tensor *ids = ox_arange(6, -1, -1, OX_I64);
            CHECK_MSG(ox_allclose(back(ox_embedding(v, there(ids))), ox_embedding(w, ids), 0, 0, true),
                      "%s expanded: %s", ox_dtype_name((ox_dtype)dtype), ox_error_text());
            w = blocks_of((ox_dtype)dtype, 40, 512, 0x3f);
            v = there(w);
            for (int rows = 3; rows < 100; rows += 61)
                for (int exact = 0; exact < 2; exact++) {
                    ox_set_exact(exact != 0);
                    ox_tensor *x = ox_randn(OX_SHAPE(rows, 512), OX_F32), *got = ox_linear(there(x), v, NULL);
                    ox_tensor *full = ox_cast(ox_embedding(w, ox_arange(0, 40, 1, OX_I64)), OX_F64);
                    double off = distance(got, ox_linear(ox_cast(x, OX_F64), full, NULL));
                    CHECK_MSG(off < (exact ? 1e-6 : 1e-2), "%s x %d rows%s: %g: %s",
                              ox_dtype_name((ox_dtype)dtype), rows, exact ? ", exact" : "", off,
                              ox_error_text());
                }
            ox_set_exact(false);
        }
    CHECK_MSG(ox_stats().detours == detours, "%lld detours", (long long)(ox_stats().detours - detours));
}

/* ---- f64 ----------------------------------------------------------------------------------------------- */

static void check_doubles(void) {
    ox_vulkan_facts facts;
    if (ox_vulkan_info(gpu, &facts) != OX_OK || !(facts.caps & OX_VULKAN_F64)) return;
    int64_t detours = ox_stats().detours;
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(3, 70, 33), OX_F64), *w = ox_randn(OX_SHAPE(33, 90), OX_F64);
        ox_tensor *bias = ox_randn(OX_SHAPE(90), OX_F64), *a = ox_flip(x, OX_DIMS(1)), *y = there(x);
        ox_tensor *b = ox_flip(y, OX_DIMS(1)), *v = there(w);
        CHECK(distance(ox_matmul(b, v), ox_matmul(a, w)) < 1e-15);
        CHECK(distance(ox_matmul(ox_transpose(b, 1, 2), b), ox_matmul(ox_transpose(a, 1, 2), a)) < 1e-15);
        CHECK(distance(ox_linear(b, ox_t(v), there(bias)), ox_linear(a, ox_t(w), bias)) < 1e-15);
        ox_tensor *c = ox_select(a, 0, 1), *e = ox_select(b, 0, 1);
        CHECK(distance(ox_addmm(there(bias), e, v, 0.1, -3), ox_addmm(bias, c, w, 0.1, -3)) < 1e-15);
        ox_tensor *next = ox_slice(x, 0, 0, 3, 2), *near_next = ox_slice(y, 0, 0, 3, 2);
        CHECK(same(ox_div(near_next, ox_sqrt(ox_abs(near_next))), ox_div(next, ox_sqrt(ox_abs(next)))));
        CHECK(same(ox_add(ox_mul_number(b, 0.1), b), ox_add(ox_mul_number(a, 0.1), a)));
        CHECK(same(ox_where(ox_gt(b, ox_number(0.1)), b, ox_neg(b)),
                   ox_where(ox_gt(a, ox_number(0.1)), a, ox_neg(a))));
        CHECK(same(ox_cast(b, OX_F16), ox_cast(a, OX_F16)) && same(ox_cast(b, OX_I8), ox_cast(a, OX_I8)));
    }
    CHECK_MSG(ox_stats().detours == detours, "%lld detours", (long long)(ox_stats().detours - detours));
}

int main(void) {
    gpu = ox_vulkan(0);
    if (!gpu) {
        check_skip("vulkan", ox_error_text());
        return check_done("vulkan_ops");
    }
    check_order();
    check_random();
    check_selected();
    check_blocks();
    check_doubles();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK(ox_vulkan_close(gpu) == OX_OK);
    CHECK_MSG(ox_stats().tensors == 0 && ox_stats().storages == 0, "%lld tensors left",
              (long long)ox_stats().tensors);
    return check_done("vulkan_ops");
}
