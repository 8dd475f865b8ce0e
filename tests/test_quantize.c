/* test_quantize.c - floats into block types: ggml's bytes for the types that are formulas, no larger errors
 * than llama-quantize for the K types, any layout, threads, numbers that are not finite.
 * OX_VULKAN OX_TIERS OX_QEMU */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backwards.h"
#include "oxtorch.h"

#include "check.h"

static const ox_dtype types[] = {OX_Q4_0, OX_Q4_1, OX_Q5_0, OX_Q5_1, OX_Q8_0, OX_Q4_K, OX_Q5_K, OX_Q6_K};
enum { TYPES = 8, FORMULAS = 5 };

/* ---- numbers made of integers: the same floats everywhere ---------------------------------------------- */

static uint32_t seed;

static int32_t draw(void) {
    seed = seed * 1664525u + 1013904223u;
    return (int32_t)(seed >> 8) - (1 << 23);
}

static float normal(void) {
    int64_t sum = 0;
    for (int i = 0; i < 12; i++) sum += draw();
    return (float)sum * 0x1p-24f;
}

/* Number i of [64,1024]: normal; uniform; heavy-tailed; normal with large numbers here and there, in large
 * rows. */
static float number(int set, int64_t i) {
    if (set == 0) return normal();
    if (set == 1) return (float)draw() * 0x1p-23f;
    if (set == 2) {
        int power = 0;
        while (power < 16 && draw() > 0) power++;
        return ldexpf(normal(), power / 2 - 6);
    }
    int large = (i % 97 == 5 ? 16 : 1) * (i / 1024 % 16 == 3 ? 32 : 1);
    return normal() * (float)large * 0x1p-6f;
}

static ox_tensor *make_set(int set, int64_t rows, int64_t columns) {
    ox_tensor *x = ox_empty(OX_SHAPE(rows, columns), OX_F32);
    seed = (uint32_t)set + 1;
    for (int64_t i = 0; i < rows * columns; i++) ((float *)ox_data(x))[i] = number(set, i);
    return x;
}

static uint64_t hash_of(const ox_tensor *t) {
    const unsigned char *p = (const unsigned char *)ox_data(t);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < ox_nbytes(t); i++) hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ---- Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 -------------------------------------------------------------------------- */

/* 256 blocks of 32: zeros, one sign, equal numbers and two largest magnitudes among them, of 2^-43 to 2^-12
 * times 24 bits. The bytes are those of gguf-py 0.19 and of ggml's quantize_row functions. */
static void test_formulas(void) {
    static const uint64_t hashes[FORMULAS] = {UINT64_C(0xb8645cb23d6cde95), UINT64_C(0x1f9b4f9b35080fb4),
                                              UINT64_C(0x5dbc7e2e74885d3c), UINT64_C(0x5d9ccd88c474daf1),
                                              UINT64_C(0x90d3a4e157385b1d)};
    OX_SCOPE {
        ox_tensor *x = ox_empty(OX_SHAPE(16, 512), OX_F32);
        float *data = (float *)ox_data(x);
        seed = 7;
        for (int b = 0; b < 256; b++) {
            float *block = data + 32 * b;
            for (int i = 0; i < 32; i++) block[i] = (float)draw();
            for (int i = 0; i < 32 && b % 16 == 7; i++) block[i] = 0;
            for (int i = 0; i < 32 && b % 16 == 9; i++) block[i] = fabsf(block[i]);
            if (b % 16 == 11) block[20] = 1 << 24;
            if (b % 16 == 11) block[3] = -(1 << 24);
            for (int i = 1; i < 32 && b % 16 == 13; i++) block[i] = block[0];
            for (int i = 0; i < 32 && b % 16 == 14; i++) block[i] = -fabsf(block[i]);
            for (int i = 0; i < 32; i++) block[i] = ldexpf(block[i], b / 8 - 43);
        }
        for (int t = 0; t < FORMULAS; t++) {
            ox_tensor *q = ox_cast(x, types[t]);
            CHECK_MSG(q && q->dtype == types[t] && hash_of(q) == hashes[t], "%s: %016llx %s",
                      ox_dtype_name(types[t]), q ? (unsigned long long)hash_of(q) : 0, ox_error_text());
        }
    }
}

/* ---- K types ------------------------------------------------------------------------------------------- */

static double root_mean_square(ox_tensor *x, ox_tensor *y, double *largest) {
    const float *a = (const float *)ox_data(x), *b = (const float *)ox_data(y);
    double sum = 0;
    *largest = 0;
    for (int64_t i = 0; i < ox_numel(x); i++) {
        double off = (double)a[i] - (double)b[i];
        sum += off * off;
        *largest = check_worst(*largest, fabs(off));
    }
    return sqrt(sum / (double)ox_numel(x));
}

/* What `llama-quantize --pure in.gguf out.gguf Q4_K` (ggml 0.27) makes of the same numbers, and the bytes
 * that are made of them here: they are the same for every processor and compiler. */
static void test_k_types(void) {
    static const struct {
        double root_mean_square[4], largest[4];
        uint64_t hash[4];
    } theirs[3] = {
        {{7.093682e-02, 3.160473e-02, 3.402564e-03, 2.305777e-02},
         {2.250051e-01, 9.324503e-02, 5.938981e-02, 6.262049e-01},
         {UINT64_C(0xe9afac15f0f4ec94), UINT64_C(0x4b358bb055bd9c0a), UINT64_C(0xdab915bbc4578644),
          UINT64_C(0x4776b6d6621ec140)}},
        {{3.599560e-02, 1.592399e-02, 1.799862e-03, 1.185050e-02},
         {1.307955e-01, 5.199504e-02, 5.001055e-02, 3.020831e-01},
         {UINT64_C(0x9c2622d5081ea020), UINT64_C(0xe5ffed8df43d20e6), UINT64_C(0x201156ca1bfcc4f3),
          UINT64_C(0x566de63121d9e01c)}},
        {{1.765240e-02, 7.622249e-03, 1.071284e-03, 7.651736e-03},
         {6.001258e-02, 1.877320e-02, 4.475086e-02, 3.123387e-01},
         {UINT64_C(0xfbc43fddfc8dfd5c), UINT64_C(0xfcc5e6abaacf9d32), UINT64_C(0xc8390c60d27a7c36),
          UINT64_C(0xc79374e2274d5b87)}},
    };
    for (int set = 0; set < 4; set++)
        OX_SCOPE {
            ox_tensor *x = make_set(set, 64, 1024);
            for (int t = 0; t < 3; t++) {
                double largest, rms;
                ox_tensor *q = ox_cast(x, types[FORMULAS + t]), *back = ox_cast(q, OX_F32);
                const char *name = ox_dtype_name(types[FORMULAS + t]);
                CHECK_MSG(back != NULL, "%s: %s", name, ox_error_text());
                if (!back) return;
                rms = root_mean_square(x, back, &largest);
                CHECK_MSG(rms < 0.985 * theirs[t].root_mean_square[set],
                          "%s, set %d: rmse %g, %.4f of ggml's", name, set, rms,
                          rms / theirs[t].root_mean_square[set]);
                CHECK_MSG(largest < 1.05 * theirs[t].largest[set], "%s, set %d: largest %g, %.4f of ggml's",
                          name, set, largest, largest / theirs[t].largest[set]);
                CHECK_MSG(hash_of(q) == theirs[t].hash[set], "%s, set %d: UINT64_C(0x%016llx)", name, set,
                          (unsigned long long)hash_of(q));
            }
        }
}

/* Rows that need care: all numbers the same, of one sign, next to nothing, large; and what comes back. */
static void test_k_corners(void) {
    static const float shapes[][3] = {/* least, most, power of two */
                                      {0, 0, 0},      {3, 3, 0},      {-3, -3, 0},  {1, 2, 0},
                                      {-2, -1, 0},    {-1, 1, -16},   {-1, 1, -30}, {-1, 1, -60},
                                      {-1, 1, -120},  {-1, 1, -149},  {-1, 1, 19},  {100, 101, 0},
                                      {-101, -100, 0}, {0, 1e-3f, 0}, {-1, 0, 5}};
    static const double step[3] = {1 / 15.0, 1 / 31.0, 1 / 31.0}; /* of the range */
    for (int s = 0; s < (int)(sizeof shapes / sizeof *shapes); s++)
        for (int t = 0; t < 3; t++)
            OX_SCOPE {
                ox_tensor *x = ox_empty(OX_SHAPE(2, 256), OX_F32);
                double low = 0, high = 0, largest;
                seed = 5;
                for (int i = 0; i < 512; i++) {
                    float part = (float)(draw() + (1 << 23)) * 0x1p-24f;
                    float v = shapes[s][0] + (shapes[s][1] - shapes[s][0]) * part;
                    v = ldexpf(v, (int)shapes[s][2]);
                    ((float *)ox_data(x))[i] = v;
                    low = (double)v < low ? (double)v : low;
                    high = (double)v > high ? (double)v : high;
                }
                ox_tensor *back = ox_cast(ox_cast(x, types[FORMULAS + t]), OX_F32);
                (void)root_mean_square(x, back, &largest);
                double range = t == 2 ? 2 * fmax(high, -low) : high - low;
                double rounding = ldexp(32, -24); /* half of the smallest f16, times codes */
                CHECK_MSG(largest <= range * step[t] * 0.75 + rounding, "%s, shape %d: %g of %g",
                          ox_dtype_name(types[FORMULAS + t]), s, largest, range);
            }
}

/* ---- layouts ------------------------------------------------------------------------------------------- */

static bool same_blocks(ox_tensor *a, ox_tensor *b) {
    return a && b && a->dtype == b->dtype && ox_equal(a, b);
}

static void check_view(const char *what, ox_dtype dtype, ox_tensor *view) {
    ox_tensor *plain = ox_clone(view);
    CHECK_MSG(same_blocks(ox_cast(view, dtype), ox_cast(plain, dtype)), "%s to %s: %s", what,
              ox_dtype_name(dtype), ox_error_text());
}

static void test_views(void) {
    for (int t = 0; t < TYPES; t++)
        OX_SCOPE {
            ox_tensor *x = make_set(0, 512, 48);
            ox_tensor *cube = ox_view(make_set(2, 12, 256), OX_SHAPE(2, 2, 3, 256));
            check_view("transposed", types[t], ox_t(x));
            check_view("transposed part", types[t], ox_narrow(ox_narrow(ox_t(x), 0, 3, 5), 1, 9, 256));
            check_view("one dim", types[t], ox_select(ox_t(x), 0, 3));
            check_view("a column for all", types[t], ox_expand(ox_narrow(x, 1, 7, 1), OX_SHAPE(512, 256)));
            check_view("turned", types[t], ox_permute(ox_view(x, OX_SHAPE(512, 6, 8)), OX_DIMS(2, 1, 0)));
            x = make_set(0, 9, 512);
            check_view("every other row", types[t], ox_slice(x, 0, 1, OX_END, 2));
            check_view("every other column", types[t], ox_slice(x, 1, 0, OX_END, 2));
            check_view("flipped", types[t], backwards(x, OX_DIMS(1)));
            check_view("rows flipped", types[t], backwards(x, OX_DIMS(0)));
            check_view("a row for all", types[t], ox_expand(ox_narrow(x, 0, 7, 1), OX_SHAPE(5, 512)));
            check_view("permuted", types[t], ox_permute(cube, OX_DIMS(2, 0, 1, 3)));
        }
}

static void test_dtypes(void) {
    static const ox_dtype floats[] = {OX_F16, OX_BF16, OX_F64, OX_F8_E4M3, OX_F8_E5M2};
    for (int t = 0; t < TYPES; t++)
        for (int f = 0; f < 5; f++)
            OX_SCOPE {
                ox_tensor *x = ox_cast(make_set(1, 3, 2048), floats[f]), *single = ox_cast(x, OX_F32);
                CHECK_MSG(same_blocks(ox_cast(x, types[t]), ox_cast(single, types[t])), "%s to %s: %s",
                          ox_dtype_name(floats[f]), ox_dtype_name(types[t]), ox_error_text());
            }
    for (int t = 0; t < TYPES; t++)
        OX_SCOPE {
            ox_tensor *x = make_set(0, 2, 512), *q8 = ox_cast(x, OX_Q8_0);
            CHECK(same_blocks(ox_from_floats((const float *)ox_data(x), OX_SHAPE(2, 512), types[t]),
                              ox_cast(x, types[t])));
            CHECK(same_blocks(ox_cast(q8, types[t]), ox_cast(ox_cast(q8, OX_F32), types[t])));
        }
}

/* Copies into blocks that are parts of others. */
static void test_destinations(void) {
    for (int t = 0; t < TYPES; t++)
        OX_SCOPE {
            ox_dtype dtype = types[t];
            ox_tensor *x = make_set(0, 4, 512), *y = make_set(1, 4, 512);
            ox_tensor *q = ox_cast(x, dtype), *old = ox_clone(q), *fresh = ox_cast(y, dtype);
            CHECK(ox_copy_(ox_narrow(q, 1, 256, 256), ox_narrow(y, 1, 256, 256)) != NULL);
            CHECK(same_blocks(ox_clone(ox_narrow(q, 1, 256, 256)), ox_clone(ox_narrow(fresh, 1, 256, 256))));
            CHECK(same_blocks(ox_clone(ox_narrow(q, 1, 0, 256)), ox_clone(ox_narrow(old, 1, 0, 256))));
            q = ox_clone(old);
            CHECK(ox_copy_(ox_slice(q, 0, 1, OX_END, 2), ox_slice(y, 0, 1, OX_END, 2)) != NULL);
            for (int r = 0; r < 4; r++)
                CHECK(same_blocks(ox_clone(ox_select(q, 0, r)),
                                  ox_clone(ox_select(r % 2 ? fresh : old, 0, r))));
            CHECK(ox_copy_(q, ox_select(y, 0, 2)) != NULL);
            for (int r = 0; r < 4; r++)
                CHECK(same_blocks(ox_clone(ox_select(q, 0, r)), ox_clone(ox_select(fresh, 0, 2))));
            CHECK(ox_copy_(backwards(q, OX_DIMS(0)), y) != NULL &&
                  same_blocks(ox_clone(backwards(fresh, OX_DIMS(0))), q));
            ox_tensor *square = ox_cast(make_set(0, 256, 256), dtype), *other = make_set(1, 256, 256);
            CHECK_MSG(ox_copy_(ox_t(square), other) != NULL, "%s", ox_error_text());
            CHECK(same_blocks(square, ox_cast(ox_t(other), dtype)));
        }
}

static void test_empty(void) {
    for (int t = 0; t < TYPES; t++)
        OX_SCOPE {
            ox_tensor *rows = ox_cast(ox_zeros(OX_SHAPE(0, 256), OX_F32), types[t]);
            ox_tensor *none = ox_cast(ox_zeros(OX_SHAPE(3, 0), OX_BF16), types[t]);
            CHECK(rows && ox_numel(rows) == 0 && none && ox_numel(none) == 0 && none->dtype == types[t]);
            CHECK(ox_copy_(rows, ox_zeros(OX_SHAPE(0, 256), OX_F32)) != NULL && ox_error() == OX_OK);
        }
}

/* ---- refusals ------------------------------------------------------------------------------------------ */

static void check_refused(ox_tensor *result, ox_status status, const char *words) {
    CHECK_MSG(!result && ox_error() == status && strstr(ox_error_text(), words), "%s: %s", words,
              ox_error_text());
    ox_error_clear();
}

static void test_refusals(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(2, 257), OX_F32), *wide = ox_ones(OX_SHAPE(2, 256), OX_F32);
        for (int t = 0; t < TYPES; t++) {
            check_refused(ox_cast(x, types[t]), OX_ERR_SHAPE, "elements a block; the last dim is 257");
            check_refused(ox_cast(ox_t(x), types[t]), OX_ERR_SHAPE, "the last dim is 2");
            check_refused(ox_cast(ox_ones(OX_SCALAR_SHAPE, OX_F32), types[t]), OX_ERR_SHAPE, "0-dim");
            check_refused(ox_cast(ox_ones(OX_SHAPE(256), OX_I32), types[t]), OX_ERR_DTYPE, "not i32[256]");
            check_refused(ox_cast(ox_ones(OX_SHAPE(256), OX_BOOL), types[t]), OX_ERR_DTYPE, "not bool[256]");
            check_refused(ox_copy_(ox_cast(wide, types[t]), ox_ones(OX_SHAPE(3, 256), OX_F32)), OX_ERR_SHAPE,
                          "does not broadcast");
        }
        check_refused(ox_cast(wide, OX_Q2_K), OX_ERR_UNSUPPORTED, "cannot be quantized to q2_k");
        check_refused(ox_cast(wide, OX_IQ2_XXS), OX_ERR_UNSUPPORTED, "cannot be quantized to iq2_xxs");
        check_refused(ox_cast(ox_zeros(OX_SHAPE(0, 256), OX_F32), OX_Q8_K), OX_ERR_UNSUPPORTED, "q8_k");
        check_refused(ox_cast(ox_cast(wide, OX_Q8_0), OX_MXFP4), OX_ERR_UNSUPPORTED, "mxfp4");
    }
}

/* ---- not finite ---------------------------------------------------------------------------------------- */

/* One such number makes its block NaN and no other; far too large ones do not pass for something else. */
static void test_not_finite(void) {
    static const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (int t = 0; t < TYPES; t++) {
        int elements = ox_dtype_get_info(types[t])->block_elements;
        for (int b = 0; b < 4; b++)
            for (int at = 256; at < 512; at += 51)
                OX_SCOPE {
                    ox_tensor *x = make_set(0, 3, 256), *whole = ox_cast(ox_cast(x, types[t]), OX_F32);
                    ((float *)ox_data(x))[at] = bad[b];
                    ox_tensor *back = ox_cast(ox_cast(x, types[t]), OX_F32);
                    const float *v = (const float *)ox_data(back), *w = (const float *)ox_data(whole);
                    int wrong = 0;
                    for (int i = 0; i < 768; i++)
                        wrong += i / elements == at / elements ? v[i] == v[i] : v[i] != w[i];
                    CHECK_MSG(wrong == 0, "%s, %g at %d: %d numbers", ox_dtype_name(types[t]), (double)bad[b],
                              at, wrong);
                }
        for (int power = 20; power < 128; power += 3)
            OX_SCOPE {
                ox_tensor *x = ox_mul_number(make_set(1, 1, 256), ldexp(1, power));
                ox_tensor *back = ox_cast(ox_cast(x, types[t]), OX_F32);
                const float *v = (const float *)ox_data(back);
                int wrong = 0;
                for (int i = 0; i < 256; i++) {
                    bool finite = isfinite(v[i]) != 0;
                    if (finite)
                        wrong += fabs((double)v[i] - (double)((float *)ox_data(x))[i]) > ldexp(0.2, power);
                    wrong += finite != (isfinite(v[i / elements * elements]) != 0);
                }
                CHECK_MSG(wrong == 0, "%s, 2^%d: %d numbers", ox_dtype_name(types[t]), power, wrong);
            }
    }
}

/* ---- use ----------------------------------------------------------------------------------------------- */

static void test_threads(void) {
    OX_SCOPE {
        ox_tensor *x = make_set(3, 61, 512);
        for (int t = 0; t < TYPES; t++) {
            ox_set_threads(1);
            ox_tensor *one = ox_cast(x, types[t]);
            for (int n = 2; n < 5; n++) {
                ox_set_threads(n);
                CHECK(same_blocks(one, ox_cast(x, types[t])));
                CHECK(same_blocks(one, ox_cast(backwards(backwards(x, OX_DIMS(0)), OX_DIMS(0)), types[t])));
            }
        }
    }
    ox_set_threads(0);
}

/* A product with packed weights is the product with what they stand for. */
static void test_product(void) {
    ox_set_exact(true);
    for (int t = 0; t < TYPES; t++)
        OX_SCOPE {
            ox_tensor *w = make_set(0, 33, 512), *x = make_set(1, 20, 512), *q = ox_cast(w, types[t]);
            ox_tensor *packed = ox_linear(x, q, NULL), *plain = ox_linear(x, ox_cast(q, OX_F32), NULL);
            CHECK(ox_allclose(packed, plain, 1e-4, 1e-3, false));
            CHECK(ox_allclose(packed, ox_linear(x, w, NULL), 0, 6, false));
        }
    ox_set_exact(false);
}

int main(void) {
    test_formulas();
    test_k_types();
    test_k_corners();
    test_views();
    test_dtypes();
    test_destinations();
    test_empty();
    test_refusals();
    test_not_finite();
    test_threads();
    test_product();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK(ox_memory_get_stats().tensors == 0);
    return check_done("quantize");
}
