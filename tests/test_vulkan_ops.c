/* test_vulkan_ops.c - ops whose result on a Vulkan device is the CPU's bit by bit, and that take no
 * detour: order, on lines that take several passes; ramps, random numbers and draws; what a mask selects;
 * blocks, expanded and packed; products of integers; f64. Skipped with the reason where there is no
 * device. */
#include "backwards.h"
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
    int64_t detours = ox_memory_get_stats().detours;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        OX_SCOPE {
            ox_tensor *x = ox_cast(ox_mul_number(ox_randn(OX_SHAPE(5000, 3), OX_F32), 50), dtypes[d]);
            ox_tensor *lines = backwards(ox_t(x), OX_DIMS(1)), *y = backwards(ox_t(there(x)), OX_DIMS(1));
            for (int down = 0; down < 2; down++)
                check_pair("sort", dtypes[d], down, ox_sort(y, 1, down), ox_sort(lines, 1, down));
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                check_pair("topk", dtypes[d], counts[i], ox_topk(y, counts[i], 1, true),
                           ox_topk(lines, counts[i], 1, true));
            check_pair("sort of short lines", dtypes[d], 3, ox_sort(ox_t(y), -1, false),
                       ox_sort(ox_t(lines), -1, false));
        }
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
}

/* ---- made from nothing: in the tensors given ----------------------------------------------------------- */

static const ox_dtype floats[] = {OX_F32, OX_F16, OX_BF16, OX_F8_E4M3, OX_F8_E5M2, OX_F64};

/* Every second column of t [n,6], backwards: a view that numbers are made in. */
static ox_tensor *columns_of(ox_tensor *t) {
    return backwards(ox_slice(t, 1, 0, 6, 2), OX_DIMS(0));
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
    ox_vulkan_info facts;
    bool doubles = ox_vulkan_get_info(gpu, &facts) == OX_OK && facts.caps & OX_VULKAN_CAP_F64;
    int64_t detours = ox_memory_get_stats().detours;
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
        CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
                  (long long)(ox_memory_get_stats().detours - detours));
    OX_SCOPE { /* as with an index out of range, the next read tells */
        ox_tensor *bad = ox_bernoulli(there(ox_full(OX_SHAPE(3), 1.5, OX_F32)));
        CHECK(bad && !back(bad) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

/* ---- selected by a mask; long scans -------------------------------------------------------------------- */

static void check_selected(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_F8_E5M2, OX_F64, OX_C64, OX_BOOL, OX_I8, OX_U64};
    ox_vulkan_info facts;
    bool doubles = ox_vulkan_get_info(gpu, &facts) == OX_OK && facts.caps & OX_VULKAN_CAP_F64;
    int64_t detours = ox_memory_get_stats().detours;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        OX_SCOPE {
            ox_tensor *numbers = ox_relu(ox_randn(OX_SHAPE(7, 61, 41), OX_F32));
            ox_tensor *x = ox_cast(ox_neg(numbers), dtypes[d]), *y = there(x); /* zeros are -0 */
            ox_tensor *a = backwards(ox_transpose(x, 0, 2), OX_DIMS(1)),
                      *b = backwards(ox_transpose(y, 0, 2), OX_DIMS(1));
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
        CHECK(same(ox_cumprod(backwards(y, OX_DIMS(0)), 0), ox_cumprod(backwards(x, OX_DIMS(0)), 0)));
        ox_tensor *u = ox_rand(OX_SHAPE(300001), OX_F32);
        CHECK(ox_allclose(ox_cast(back(ox_cumsum(there(u), 0)), OX_F64), ox_cumsum(ox_cast(u, OX_F64), 0),
                          1e-6, 0, false));
    }
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
}

/* ---- block types: as weights, and expanded ------------------------------------------------------------- */

/* [n,k] of bytes in `mask`, and of those in `least`: with 0x3f every scale that they may be is modest,
 * with 0x20 none is next to nothing. */
static ox_tensor *blocks_with(ox_dtype dtype, int64_t n, int64_t k, int mask, int least) {
    static unsigned char bytes[1 << 16];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(((int)(test_uniform() * 256) & mask) | least);
    return ox_from_data(bytes, OX_SHAPE(n, k), dtype);
}
static ox_tensor *blocks_of(ox_dtype dtype, int64_t n, int64_t k, int mask) {
    return blocks_with(dtype, n, k, mask, 0);
}

/* The largest difference beside the largest number. */
static double distance(ox_tensor *got, ox_tensor *want) {
    ox_tensor *a = ox_cast(back(got), OX_F64), *b = ox_cast(want, OX_F64);
    double most = ox_item(ox_amax(ox_abs(b), OX_ALL_DIMS, false));
    double off = ox_item(ox_amax(ox_abs(ox_sub(a, b)), OX_ALL_DIMS, false));
    return got && want ? off / most : 1;
}

static ox_tensor *ids_of(ox_tensor *ids, int way) {
    switch (way) {
    case 0: return ids;
    case 1: return ox_transpose(ids, 0, 1);
    case 2: return ox_narrow(ids, 1, 1, 2);
    case 3: return ox_select(ids, 0, 1);
    case 4: return ox_expand(ox_narrow(ids, 0, 0, 1), OX_SHAPE(4, 3));
    default: return ox_narrow(ids, 0, 0, 0);
    }
}

/* Rows of blocks that indices pick: of a part of the matrix, by indices of any layout, in range or not. */
static void check_picked(ox_dtype dtype) {
    const char *name = ox_dtype_name(dtype);
    const int64_t numbers[6] = {5, 0, 3, 3, 1, 2};
    ox_tensor *whole = blocks_of(dtype, 9, 512, 255), *w = ox_narrow(whole, 0, 2, 6);
    ox_tensor *v = ox_narrow(there(whole), 0, 2, 6);
    ox_tensor *ids = ox_cast(ox_from_data(numbers, OX_SHAPE(2, 3), OX_I64), OX_I32), *far = there(ids);
    for (int i = 0; i < 6; i++) {
        ox_tensor *got = back(ox_embedding(ids_of(far, i), v)), *want = ox_embedding(ids_of(ids, i), w);
        CHECK_MSG(got && ox_allclose(got, want, 0, 0, true), "%s, indices %d: %s", name, i, ox_error_text());
    }
    for (int64_t wrong = -1; wrong <= 6; wrong += 7) {
        const int64_t some[3] = {4, wrong, 1};
        ox_tensor *got = ox_embedding(there(ox_from_data(some, OX_SHAPE(3), OX_I64)), v);
        CHECK_MSG(got && !ox_to(got, ox_cpu()) && ox_error() == OX_ERR_INDEX, "%s: %d", name, (int)wrong);
        CHECK_MSG(strstr(ox_error_text(), "is out of range for a size of 6"), "%s", ox_error_text());
        ox_error_clear();
        ox_tensor *rows = back(got), *last = ox_embedding(ox_from_data(some + 2, OX_SHAPE(1), OX_I64), w);
        CHECK_MSG(ox_item(ox_amax(ox_abs(ox_narrow(rows, 0, 1, 1)), OX_ALL_DIMS, false)) == 0 &&
                      ox_allclose(ox_narrow(rows, 0, 2, 1), last, 0, 0, true),
                  "%s: a row that is not there", name);
    }
}

static void check_blocks(void) {
    int64_t detours = ox_memory_get_stats().detours;
    for (int dtype = OX_Q4_0; dtype <= OX_Q2_0; dtype++)
        OX_SCOPE {
            ox_tensor *w = blocks_of((ox_dtype)dtype, 7, 512, 255), *v = there(w);
            ox_tensor *ids = ox_arange(6, -1, -1, OX_I64);
            CHECK_MSG(ox_allclose(back(ox_embedding(there(ids), v)), ox_embedding(ids, w), 0, 0, true),
                      "%s expanded: %s", ox_dtype_name((ox_dtype)dtype), ox_error_text());
            check_picked((ox_dtype)dtype);
            w = blocks_of((ox_dtype)dtype, 40, 512, 0x3f);
            v = there(w);
            for (int rows = 3; rows < 100; rows += 61)
                for (int exact = 0; exact < 2; exact++) {
                    ox_set_exact(exact != 0);
                    ox_tensor *x = ox_randn(OX_SHAPE(rows, 512), OX_F32), *got = ox_linear(there(x), v, NULL);
                    ox_tensor *full = ox_cast(ox_embedding(ox_arange(0, 40, 1, OX_I64), w), OX_F64);
                    double off = distance(got, ox_linear(ox_cast(x, OX_F64), full, NULL));
                    CHECK_MSG(off < (exact ? 1e-6 : 1e-2), "%s x %d rows%s: %g: %s",
                              ox_dtype_name((ox_dtype)dtype), rows, exact ? ", exact" : "", off,
                              ox_error_text());
                }
            ox_set_exact(false);
        }
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
}

/* A view of w [n,k] in every layout that leaves blocks whole. */
static ox_tensor *rows_of(ox_tensor *w, int which) {
    switch (which) {
    case 0: return w;
    case 1: return backwards(w, OX_DIMS(0));
    case 2: return ox_slice(w, 0, 1, 100, 2);
    default: return ox_transpose(ox_expand(ox_unsqueeze(w, 1), OX_SHAPE(w->shape[0], 2, w->shape[1])), 0, 1);
    }
}

static void check_block_copies(void) {
    static const ox_dtype floating[] = {OX_F32, OX_BF16, OX_F16, OX_F64};
    int64_t detours = ox_memory_get_stats().detours;
    for (int dtype = OX_Q4_0; dtype <= OX_Q2_0; dtype++)
        for (int which = 0; which < 4; which++)
            OX_SCOPE {
                const char *name = ox_dtype_name((ox_dtype)dtype);
                ox_tensor *w = blocks_with((ox_dtype)dtype, 7, 512, 0x3f, 0x20), *v = there(w);
                ox_tensor *a = rows_of(w, which), *b = rows_of(v, which);
                for (size_t f = 0; f < sizeof floating / sizeof *floating; f++)
                    CHECK_MSG(same(ox_cast(b, floating[f]), ox_cast(a, floating[f])), "%s to %s, %d: %s",
                              name, ox_dtype_name(floating[f]), which, ox_error_text());
                CHECK_MSG(same(ox_cast(ox_contiguous(b), OX_F32), ox_cast(a, OX_F32)), "%s, %d: %s", name,
                          which, ox_error_text());
                ox_tensor *to = ox_zeros(OX_SHAPE(512, 7), OX_BF16), *there_to = there(to);
                if (which < 2)
                    CHECK_MSG(same(ox_copy_(ox_t(there_to), b), ox_copy_(ox_t(to), a)), "%s transposed: %s",
                              name, ox_error_text());
            }
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
}

/* Numbers of all sizes, runs of equal ones, zeros of both signs, and a few that are none. */
static ox_tensor *numbers_to_pack(int64_t rows, int64_t columns, bool finite) {
    ox_tensor *x = ox_mul(ox_randn(OX_SHAPE(rows, columns), OX_F32),
                          ox_exp(ox_mul_number(ox_randn(OX_SHAPE(rows, 1), OX_F32), 4)));
    float *at = (float *)ox_data(x);
    for (int64_t i = 0; i < 256; i++) at[i] = i % 2 ? 0.0f : -0.0f;
    for (int64_t i = 256; i < 512; i++) at[i] = i % 3 ? 2.5f : -2.5f;
    for (int64_t i = 512; i < 768; i++) at[i] = i < 640 ? 1e-30f : 3e-8f * (float)(i % 7);
    if (!finite) at[3 * columns + 5] = NAN;
    if (!finite) at[4 * columns + 300] = -INFINITY;
    return x;
}

static void check_packing(void) {
    static const ox_dtype types[] = {OX_Q4_0, OX_Q4_1, OX_Q5_0, OX_Q5_1, OX_Q8_0, OX_Q4_K, OX_Q5_K, OX_Q6_K};
    ox_vulkan_info facts;
    bool doubles = ox_vulkan_get_info(gpu, &facts) == OX_OK && facts.caps & OX_VULKAN_CAP_F64;
    int64_t detours = ox_memory_get_stats().detours;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *name = ox_dtype_name(types[i]);
        if (types[i] >= OX_Q4_K && !doubles) continue;
        for (int finite = 0; finite < 2; finite++)
            OX_SCOPE {
                ox_tensor *x = numbers_to_pack(9, 768, finite != 0), *y = there(x);
                CHECK_MSG(same_bits(back(ox_cast(y, types[i])), ox_cast(x, types[i])), "%s: %s", name,
                          ox_error_text());
                CHECK_MSG(same_bits(back(ox_cast(ox_cast(y, OX_BF16), types[i])),
                                    ox_cast(ox_cast(x, OX_BF16), types[i])),
                          "%s of bf16: %s", name, ox_error_text());
            }
        OX_SCOPE {
            ox_tensor *x = ox_randn(OX_SHAPE(512, 5, 3), OX_F32), *y = there(x);
            ox_tensor *a = backwards(ox_permute(x, OX_DIMS(2, 1, 0)), OX_DIMS(1, 2)),
                      *b = backwards(ox_permute(y, OX_DIMS(2, 1, 0)), OX_DIMS(1, 2));
            ox_tensor *want = ox_cast(a, types[i]), *got = ox_cast(b, types[i]);
            CHECK_MSG(same_bits(back(got), want), "%s of a view: %s", name, ox_error_text());
            ox_tensor *part = ox_narrow(got, 1, 1, 3); /* whose rows begin anywhere */
            ox_tensor *first = ox_narrow(a, 1, 0, 1), *there_first = ox_narrow(b, 1, 0, 1);
            CHECK_MSG(ox_copy_(part, there_first) && ox_copy_(ox_narrow(want, 1, 1, 3), first) &&
                          same_bits(back(got), want),
                      "%s into a view: %s", name, ox_error_text());
            CHECK_MSG(ox_numel(back(ox_cast(ox_narrow(b, 0, 0, 0), types[i]))) == 0, "%s of nothing", name);
        }
    }
    OX_SCOPE {
        ox_tensor *w = ox_cast(ox_randn(OX_SHAPE(6, 256), OX_F32), OX_Q4_0), *v = there(w);
        CHECK(same_bits(back(ox_cast(v, OX_Q8_0)), ox_cast(w, OX_Q8_0)));
    }
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
}

/* Blocks on the left, and weights that are a batch. */
static void check_block_products(void) {
    int64_t detours = ox_memory_get_stats().detours;
    for (int rows = 3; rows < 200; rows *= 7)
        OX_SCOPE {
            ox_tensor *w = blocks_of(OX_Q5_1, 48, 256, 0x3f), *v = there(w), *full = ox_cast(w, OX_F64);
            ox_tensor *x = ox_randn(OX_SHAPE(256, rows), OX_F32), *y = there(x);
            ox_tensor *want = ox_matmul(full, ox_cast(x, OX_F64));
            CHECK_MSG(distance(ox_matmul(v, y), want) < 1e-2, "%d columns: %s", rows, ox_error_text());
            ox_tensor *batch = ox_transpose(ox_reshape(w, OX_SHAPE(4, 12, 256)), 1, 2);
            ox_tensor *there_batch = ox_transpose(ox_reshape(v, OX_SHAPE(4, 12, 256)), 1, 2);
            ox_tensor *a = ox_t(x), *there_a = ox_t(y);
            want = ox_matmul(ox_cast(a, OX_F64), ox_cast(batch, OX_F64));
            CHECK_MSG(distance(ox_matmul(there_a, there_batch), want) < 1e-2, "a batch, %d rows: %s", rows,
                      ox_error_text());
        }
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
}

/* Sizes whose lines are not in aligned groups, large enough to be copied first; lines that lie along either
 * dim or none. */
static void check_odd_products(void) {
    static const ox_dtype dtypes[] = {OX_F16, OX_BF16, OX_F32};
    int64_t detours = ox_memory_get_stats().detours;
    for (int i = 0; i < 3; i++)
        OX_SCOPE {
            ox_tensor *x = ox_cast(ox_randn(OX_SHAPE(130, 141), OX_F32), dtypes[i]);
            ox_tensor *w = ox_cast(ox_randn(OX_SHAPE(141, 310), OX_F32), dtypes[i]), *v = there(w);
            ox_tensor *some = ox_slice(w, 1, 1, 310, 2), *left = there(x);
            ox_tensor *want = ox_matmul(ox_cast(x, OX_F64), ox_cast(some, OX_F64));
            ox_tensor *along = ox_t(there(ox_contiguous(ox_t(some)))), *down = there(ox_contiguous(some));
            ox_tensor *turned = ox_t(there(ox_contiguous(ox_t(x))));
            const char *name = ox_dtype_name(dtypes[i]);
            CHECK_MSG(distance(ox_matmul(left, down), want) < 1e-2, "%s: %s", name, ox_error_text());
            CHECK_MSG(distance(ox_matmul(left, along), want) < 1e-2, "%s: %s", name, ox_error_text());
            CHECK_MSG(distance(ox_matmul(turned, down), want) < 1e-2, "%s: %s", name, ox_error_text());
            CHECK_MSG(distance(ox_matmul(turned, along), want) < 1e-2, "%s: %s", name, ox_error_text());
            CHECK_MSG(distance(ox_matmul(left, ox_slice(v, 1, 1, 310, 2)), want) < 1e-2, "%s: %s", name,
                      ox_error_text());
        }
    CHECK(ox_memory_get_stats().detours == detours);
}

/* ---- draws --------------------------------------------------------------------------------------------- */

static void check_draws(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_F64};
    ox_vulkan_info facts;
    if (ox_vulkan_get_info(gpu, &facts) != OX_OK || !(facts.caps & OX_VULKAN_CAP_F64)) return;
    int64_t detours = ox_memory_get_stats().detours;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int replacement = 0; replacement < 2; replacement++)
            OX_SCOPE {
                ox_tensor *w = ox_cast(ox_relu(ox_randn(OX_SHAPE(3001, 2, 4), OX_F32)), dtypes[d]);
                ox_tensor *a = ox_permute(w, OX_DIMS(2, 1, 0)), *b = ox_permute(there(w), OX_DIMS(2, 1, 0));
                for (int64_t samples = 1; samples < 1100; samples = 9 * samples + 4) {
                    ox_manual_seed(5);
                    ox_tensor *want = ox_multinomial(a, samples, replacement != 0);
                    ox_manual_seed(5);
                    CHECK_MSG(same(ox_multinomial(b, samples, replacement != 0), want), "%lld of %s: %s",
                              (long long)samples, ox_dtype_name(dtypes[d]), ox_error_text());
                }
            }
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
    for (int wrong = 0; wrong < 3; wrong++)
        OX_SCOPE { /* the next read tells */
            float weights[2][4] = {{1, 2, 3, 4}, {0, 0, 1, 0}};
            weights[1][2] = wrong == 0 ? -1.0f : wrong == 1 ? 0.0f : 1.0f;
            ox_tensor *w = there(ox_from_data(weights, OX_SHAPE(2, 4), OX_F32));
            ox_tensor *bad = ox_multinomial(w, 2, wrong == 1);
            CHECK(bad && !back(bad) && ox_error() == OX_ERR_ARG && strstr(ox_error_text(), "row 1"));
            ox_error_clear();
        }
}

/* ---- integers ------------------------------------------------------------------------------------------ */

static ox_tensor *integers(ox_shape shape, ox_dtype dtype) {
    return ox_cast(ox_randint(-3000000000LL, 3000000000LL, shape, OX_I64), dtype);
}

static void check_integer_products(void) {
    static const ox_dtype dtypes[] = {OX_U8, OX_I8, OX_U16, OX_I16, OX_U32, OX_I32, OX_U64, OX_I64};
    int64_t detours = ox_memory_get_stats().detours;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        OX_SCOPE {
            const char *name = ox_dtype_name(dtypes[d]);
            ox_tensor *x = integers(OX_SHAPE(3, 70, 33), dtypes[d]),
                      *w = integers(OX_SHAPE(33, 81), dtypes[d]);
            ox_tensor *y = backwards(there(x), OX_DIMS(1, 2)), *v = there(w),
                      *a = backwards(x, OX_DIMS(1, 2));
            ox_tensor *bias = integers(OX_SHAPE(81), dtypes[d]), *e = ox_select(a, 0, 1),
                      *f = ox_select(y, 0, 1);
            CHECK_MSG(same(ox_matmul(y, v), ox_matmul(a, w)), "%s: %s", name, ox_error_text());
            if (dtypes[d] == OX_I8) CHECK_MSG(same(ox_int_mm(y, v), ox_int_mm(a, w)), "%s", ox_error_text());
            CHECK_MSG(same(ox_matmul(ox_transpose(y, 1, 2), y), ox_matmul(ox_transpose(a, 1, 2), a)),
                      "%s: %s", name, ox_error_text());
            CHECK_MSG(same(ox_linear(y, ox_t(v), there(bias)), ox_linear(a, ox_t(w), bias)), "%s, linear: %s",
                      name, ox_error_text());
            CHECK_MSG(same(ox_addmm(there(bias), f, v, 3, -7), ox_addmm(bias, e, w, 3, -7)), "%s, addmm: %s",
                      name, ox_error_text());
            CHECK_MSG(same(ox_matmul(ox_narrow(y, 2, 0, 0), ox_narrow(v, 0, 0, 0)),
                           ox_matmul(ox_narrow(a, 2, 0, 0), ox_narrow(w, 0, 0, 0))),
                      "%s, of nothing: %s", name, ox_error_text());
            CHECK_MSG(same(ox_matmul(ox_select(f, 0, 2), v), ox_matmul(ox_select(e, 0, 2), w)),
                      "%s, a row: %s", name, ox_error_text());
        }
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
}

/* ---- f64 ----------------------------------------------------------------------------------------------- */

/* Sums at equal places, of f64 and of complex numbers. */
static void check_double_sums(void) {
    for (int d = 0; d < 2; d++) {
        ox_tensor *pairs = ox_randn(OX_SHAPE(13, 40, 2), OX_F32);
        ox_tensor *numbers = d ? ox_view_as_complex(pairs) : ox_cast(ox_select(pairs, 2, 1), OX_F64);
        ox_tensor *x = ox_narrow(numbers, 0, 0, 4),
                  *source = backwards(ox_t(ox_narrow(numbers, 0, 4, 9)), OX_DIMS(0));
        ox_tensor *ids = ox_randint(0, 4, OX_SHAPE(9, 40), OX_I64), *line = ox_select(ids, 1, 3);
        ox_tensor *y = there(x), *from = ox_t(there(source)), *places = there(ids), *there_line = there(line);
        CHECK(same(ox_scatter_add(y, 0, places, from), ox_scatter_add(x, 0, ids, ox_t(source))));
        CHECK(same(ox_index_add(backwards(y, OX_DIMS(1)), 0, there_line, from, -2),
                   ox_index_add(backwards(x, OX_DIMS(1)), 0, line, ox_t(source), -2)));
        CHECK(same(ox_scatter(y, 0, places, from), ox_scatter(x, 0, ids, ox_t(source))));
    }
}

static void check_double_rope(void) {
    ox_tensor *x = ox_randn(OX_SHAPE(2, 3, 17, 40), OX_F64),
              *a = ox_transpose(backwards(x, OX_DIMS(2)), 0, 1);
    ox_tensor *y = there(x), *b = ox_transpose(backwards(y, OX_DIMS(2)), 0, 1);
    ox_tensor *positions = backwards(ox_arange(100, 134, 2, OX_I32), OX_DIMS(0));
    for (int which = 0; which < 4; which++) {
        ox_rope_desc desc, there_desc;
        memset(&desc, 0, sizeof desc);
        desc.interleaved = which & 1;
        desc.dims = which & 2 ? 24 : 0;
        desc.scale = which & 2 ? 0.25 : 0;
        desc.magnitude = which & 1 ? 1.5 : 0;
        desc.factors = which & 2 ? ox_add_number(ox_rand(OX_SHAPE(12), OX_F32), 0.5) : NULL;
        there_desc = desc;
        there_desc.factors = there(desc.factors);
        CHECK(distance(ox_rope(b, there(positions), &there_desc), ox_rope(a, positions, &desc)) < 1e-13);
        CHECK(distance(ox_rope(b, NULL, &there_desc), ox_rope(a, NULL, &desc)) < 1e-13);
    }
    CHECK(ox_numel(back(ox_rope(ox_narrow(b, 2, 0, 0), NULL, NULL))) == 0);
}

/* What goes through products and softmax: f64, long rows, caches of block types. */
static void check_plain_attention(void) {
    for (int which = 0; which < 6; which++) {
        bool doubles = which < 3, blocks = which == 5;
        int64_t depth = which == 3 ? 544 : 32;
        ox_dtype dtype = doubles ? OX_F64 : OX_F32;
        ox_attention_desc desc, there_desc;
        ox_tensor *q = ox_transpose(ox_randn(OX_SHAPE(2, 19, 6, depth), dtype), 1, 2);
        ox_tensor *k = ox_randn(OX_SHAPE(2, 3, 23, depth), dtype),
                  *v = ox_randn(OX_SHAPE(2, 3, 23, depth), dtype);
        memset(&desc, 0, sizeof desc);
        desc.causal = which > 0;
        desc.query_start = which == 1 ? 4 : 0;
        desc.window = which == 2 ? 5 : 0;
        desc.softcap = which == 4 ? 3 : 0;
        if (which == 0) desc.mask = ox_gt(ox_randn(OX_SHAPE(6, 1, 23), OX_F32), ox_number(-0.5));
        if (which == 4) desc.mask = ox_randn(OX_SHAPE(19, 23), OX_F64);
        if (which % 2) desc.sinks = ox_randn(OX_SHAPE(6), OX_F32);
        if (blocks) {
            k = ox_cast(k, OX_Q4_0);
            v = ox_cast(v, OX_Q4_0);
        }
        there_desc = desc;
        there_desc.mask = there(desc.mask);
        there_desc.sinks = there(desc.sinks);
        double off = distance(ox_scaled_dot_product_attention(there(q), there(k), there(v), &there_desc),
                              ox_scaled_dot_product_attention(q, k, v, &desc));
        CHECK_MSG(off < (doubles ? 1e-13 : 1e-4), "attention, case %d: %g: %s", which, off, ox_error_text());
    }
}

static void check_doubles(void) {
    ox_vulkan_info facts;
    if (ox_vulkan_get_info(gpu, &facts) != OX_OK || !(facts.caps & OX_VULKAN_CAP_F64)) return;
    int64_t detours = ox_memory_get_stats().detours;
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(3, 70, 33), OX_F64), *w = ox_randn(OX_SHAPE(33, 90), OX_F64);
        ox_tensor *bias = ox_randn(OX_SHAPE(90), OX_F64), *a = backwards(x, OX_DIMS(1)), *y = there(x);
        ox_tensor *b = backwards(y, OX_DIMS(1)), *v = there(w);
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
        ox_tensor *blocks = ox_cast(ox_randn(OX_SHAPE(20, 64), OX_F32), OX_Q8_0),
                  *wide = ox_randn(OX_SHAPE(9, 64), OX_F64);
        CHECK(distance(ox_linear(there(wide), there(blocks), NULL),
                       ox_linear(wide, ox_cast(ox_cast(blocks, OX_F32), OX_F64), NULL)) < 1e-15);
        check_double_sums();
        check_double_rope();
        check_plain_attention();
    }
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
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
    check_block_copies();
    check_packing();
    check_block_products();
    check_odd_products();
    check_draws();
    check_integer_products();
    check_doubles();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK(ox_device_close(gpu) == OX_OK);
    CHECK_NO_TENSORS();
    return check_done("vulkan_ops");
}
