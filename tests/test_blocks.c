/* test_blocks.c - block types: exact expansion against gguf-py and a scalar reading of the layouts; products
 * with them. OX_VULKAN_LONG OX_TIERS OX_BASE OX_QEMU: each tier has kernels of its own, and some for what
 * a processor has beyond it. Fused products quantize activations: their error stays within half a step of
 * each group of 32. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "oxtorch.h"

#include "check.h"

/* ---- blocks of random bytes ---------------------------------------------------------------------------- */

/* scale_at: where a block's f16 scales are, -1 = none. hash: of the f32 bits that gguf-py's quants.py (gguf
 * 0.19; for q1_0 and q2_0 ggml's dequantize_row functions) gives for 1024 numbers made by random_blocks:
 * FNV-1a over 32-bit words. */
typedef struct block_case {
    ox_dtype dtype;
    int scale_at[2];
    uint64_t hash;
} block_case;

static const block_case cases[] = {
    {OX_Q4_0, {0, -1}, UINT64_C(0x97fcd5917ad0d725)},   {OX_Q4_1, {0, 2}, UINT64_C(0x1ac356205422df25)},
    {OX_Q5_0, {0, -1}, UINT64_C(0x9d09ef1bbf82a125)},   {OX_Q5_1, {0, 2}, UINT64_C(0x1d08c529aa31eb25)},
    {OX_Q8_0, {0, -1}, UINT64_C(0x513b76bdcbe0f6a5)},   {OX_Q2_K, {80, 82}, UINT64_C(0x731d95d926ada125)},
    {OX_Q3_K, {108, -1}, UINT64_C(0x4f720e15b102d3e5)}, {OX_Q4_K, {0, 2}, UINT64_C(0xa6fd4b00096eb49d)},
    {OX_Q5_K, {0, 2}, UINT64_C(0xe65722d33cfc994d)},    {OX_Q6_K, {208, -1}, UINT64_C(0x5a517221347b2f0f)},
    {OX_IQ4_NL, {0, -1}, UINT64_C(0xa7c2bd26d421e925)}, {OX_IQ4_XS, {0, -1}, UINT64_C(0xbcc86585fa069ea1)},
    {OX_MXFP4, {-1, -1}, UINT64_C(0xa0a4a38bdd287325)}, {OX_NVFP4, {-1, -1}, UINT64_C(0x700ecf5176d47325)},
    {OX_TQ1_0, {52, -1}, UINT64_C(0xf54bde47504ef325)}, {OX_TQ2_0, {64, -1}, UINT64_C(0xf01cdcf7a0b17325)},
    {OX_Q1_0, {0, -1}, UINT64_C(0xf5ca9d7673ec3325)},   {OX_Q2_0, {0, -1}, UINT64_C(0x0300868ab9bdf325)},
    {OX_IQ1_S, {0, -1}, UINT64_C(0x96354d2adc3c9be5)},  {OX_IQ1_M, {-1, -1}, UINT64_C(0x775f211985dabee5)},
    {OX_IQ2_XXS, {0, -1}, UINT64_C(0x20c38e23d7dfab8d)}, {OX_IQ2_XS, {0, -1}, UINT64_C(0x3180c980d3b08541)},
    {OX_IQ2_S, {0, -1}, UINT64_C(0xc6769d62f7e7130d)},  {OX_IQ3_XXS, {0, -1}, UINT64_C(0x39160d1397f00845)},
    {OX_IQ3_S, {0, -1}, UINT64_C(0x4acb1a163a9c8f35)},
};
enum { CASES = (int)(sizeof cases / sizeof cases[0]) };

/* The bytes of [rows, k] numbers, to be freed; scales are moderate f16 numbers. The first 1024 numbers of
 * seed = GGUF id are the ones that were hashed. */
static uint8_t *random_blocks(const block_case *c, int64_t rows, int64_t k, uint32_t seed) {
    const ox_dtype_info *info = ox_dtype_get_info(c->dtype);
    int64_t blocks = rows * k / info->block_elements, bytes = info->block_bytes;
    uint8_t *out = (uint8_t *)malloc((size_t)(blocks * bytes) + 1);
    for (int64_t i = 0; i < blocks * bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (uint8_t)(seed >> 24);
    }
    for (int64_t i = 0; i < blocks; i++) {
        uint8_t *block = out + i * bytes;
        for (int j = 0; j < 2; j++)
            if (c->scale_at[j] >= 0)
                block[c->scale_at[j] + 1] = (uint8_t)((block[c->scale_at[j] + 1] & 0x87) | 0x24);
        if (c->dtype == OX_MXFP4) block[0] = (uint8_t)((block[0] & 31) + 110);
        if (c->dtype == OX_NVFP4)
            for (int j = 0; j < 4; j++) block[j] &= 0x7f;
        if (c->dtype == OX_IQ1_M) { /* the scale's bits lie in four places */
            block[53] = (uint8_t)((block[53] & 0x7f) | 0x40);
            block[55] = (uint8_t)((block[55] & 0x8f) | 0x20);
        }
    }
    return out;
}

static void free_blocks(void *user, void *data) {
    (void)user;
    free(data);
}

static ox_tensor *random_weights(const block_case *c, int64_t rows, int64_t k, uint32_t seed) {
    return ox_from_blob(random_blocks(c, rows, k, seed), OX_SHAPE(rows, k), NULL, c->dtype, free_blocks,
                        NULL);
}

/* ---- a reading of the layouts, one number at a time ---------------------------------------------------- */

static float half_at(const uint8_t *p) {
    int h = p[0] | p[1] << 8, exponent = h >> 10 & 31, mantissa = h & 1023;
    float size = exponent ? ldexpf((float)(1024 + mantissa), exponent - 25) : ldexpf((float)mantissa, -24);
    return h >> 15 ? -size : size;
}

/* Rounds each step to f32, also where the compiler would keep more. */
static float minus(float scale, float code, float least) {
    volatile float product = scale * code;
    volatile float difference = product - least;
    return difference;
}

static float number_at(ox_dtype dtype, const uint8_t *p, int i) {
    if (dtype == OX_Q4_0) return half_at(p) * (float)((p[2 + i % 16] >> i / 16 * 4 & 15) - 8);
    if (dtype == OX_Q8_0) return half_at(p) * (float)(int8_t)p[2 + i];
    if (dtype == OX_Q4_K) {
        int group = i / 32, low = group % 4, code = p[16 + i / 64 * 32 + i % 32] >> group % 2 * 4 & 15;
        int scale = group < 4 ? p[4 + low] & 63 : (p[12 + low] & 15) + (p[4 + low] >> 6) * 16;
        int least = group < 4 ? p[8 + low] & 63 : (p[12 + low] >> 4) + (p[8 + low] >> 6) * 16;
        volatile float s = half_at(p) * (float)scale, m = half_at(p + 2) * (float)least;
        return minus(s, (float)code, m);
    }
    int half = i / 128, quarter = i % 128 / 32, l = i % 32; /* q6_k */
    int low = p[64 * half + quarter % 2 * 32 + l] >> quarter / 2 * 4 & 15,
        high = p[128 + 32 * half + l] >> quarter * 2 & 3;
    volatile float s = half_at(p + 208) * (float)(int8_t)p[192 + i / 16];
    return minus(s, (float)(low + 16 * high - 32), 0);
}

static void test_expansion(void) {
    for (int n = 0; n < CASES; n++) {
        const block_case *c = &cases[n];
        const ox_dtype_info *info = ox_dtype_get_info(c->dtype);
        uint8_t *bytes = random_blocks(c, 4, 256, (uint32_t)info->gguf_id);
        float out[1024];
        uint32_t bits[1024];
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        OX_SCOPE {
            ox_tensor *t = ox_from_blob(bytes, OX_SHAPE(4, 256), NULL, c->dtype, NULL, NULL);
            CHECK_MSG(ox_to_floats(t, out, 1024) == OX_OK, "%s: %s", info->name, ox_error_text());
            ox_error_clear();
        }
        memcpy(bits, out, sizeof bits);
        for (int i = 0; i < 1024; i++) hash = (hash ^ bits[i]) * UINT64_C(0x100000001b3);
        CHECK_MSG(hash == c->hash, "%s: %016llx", info->name, (unsigned long long)hash);
        int wrong = 0;
        if (c->dtype == OX_Q4_0 || c->dtype == OX_Q8_0 || c->dtype == OX_Q4_K || c->dtype == OX_Q6_K)
            for (int i = 0; i < 1024; i++) {
                float reference = number_at(c->dtype, bytes + i / info->block_elements * info->block_bytes,
                                            i % info->block_elements);
                if (memcmp(&reference, &out[i], 4) != 0) wrong++;
            }
        CHECK_MSG(wrong == 0, "%s: %d of 1024 numbers", info->name, wrong);
        free(bytes);
    }
}

/* f16 scales that are zero, subnormal, infinite and NaN. */
static void test_scales(void) {
    static const uint16_t scales[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00};
    for (int s = 0; s < 9; s++) {
        uint8_t block[34];
        float out[32];
        for (int i = 0; i < 32; i++) block[2 + i] = (uint8_t)(i * 8 - 128);
        block[0] = (uint8_t)scales[s];
        block[1] = (uint8_t)(scales[s] >> 8);
        OX_SCOPE {
            ox_tensor *t = ox_from_blob(block, OX_SHAPE(1, 32), NULL, OX_Q8_0, NULL, NULL);
            CHECK(ox_to_floats(t, out, 32) == OX_OK);
        }
        int wrong = 0;
        float scale = scales[s] == 0x7c00   ? INFINITY
                      : scales[s] == 0xfc00 ? -INFINITY
                      : scales[s] == 0x7e00 ? NAN
                                            : half_at(block);
        for (int i = 0; i < 32; i++) {
            float reference = scale * (float)(i * 8 - 128);
            if (reference == reference ? out[i] != reference : out[i] == out[i]) wrong++;
        }
        CHECK_MSG(wrong == 0, "scale %04x: %d of 32 numbers", scales[s], wrong);
    }
}

/* ---- products ------------------------------------------------------------------------------------------ */

static ox_tensor *random_activations(ox_shape shape, uint32_t seed) {
    ox_manual_seed(seed);
    return ox_randn(shape, OX_F32);
}

/* y [m,n] against x [m,k] and expanded w [n,k]. quantized: activations may be off by half a step of their
 * group of 32. */
static void check_rows(const char *what, ox_dtype dtype, ox_tensor *y, ox_tensor *x, ox_tensor *w,
                       ox_tensor *bias, bool quantized) {
    int64_t k = w->shape[1], n = w->shape[0], m = ox_numel(x) / k;
    if (!y || ox_numel(y) != m * n) {
        CHECK_MSG(false, "%s %s: %s", what, ox_dtype_name(dtype), ox_error_text());
        ox_error_clear();
        return;
    }
    double *a = (double *)malloc((size_t)(m * k) * 8), *b = (double *)malloc((size_t)(n * k) * 8);
    double *got = (double *)malloc((size_t)(m * n) * 8), *add = (double *)calloc((size_t)n, 8), worst = 0;
    double rounding = y->dtype == OX_F16 ? 1.0 / 1024 : y->dtype == OX_BF16 ? 1.0 / 128 : 1e-6;
    CHECK(ox_to_doubles(x, a, m * k) == OX_OK && ox_to_doubles(w, b, n * k) == OX_OK &&
          ox_to_doubles(y, got, m * n) == OX_OK);
    if (bias) CHECK(ox_to_doubles(bias, add, n) == OX_OK);
    for (int64_t i = 0; i < m * n; i++) {
        const double *row = a + i / n * k, *weights = b + i % n * k;
        double sum = add[i % n], allowed = 0, size = 0;
        for (int64_t g = 0; g < k; g += 32) {
            double most = 0, weight = 0;
            for (int64_t j = g; j < g + 32; j++) {
                sum += row[j] * weights[j];
                size += fabs(row[j] * weights[j]);
                if (fabs(row[j]) > most) most = fabs(row[j]);
                weight += fabs(weights[j]);
            }
            if (quantized) allowed += most / 127 * 0.501 * weight;
        }
        allowed += 1e-6 * size + rounding * fabs(sum) + 1e-9;
        worst = check_worst(worst, fabs(got[i] - sum) / allowed);
    }
    CHECK_MSG(worst <= 1, "%s %s m %lld: error %g of what is allowed", what, ox_dtype_name(dtype),
              (long long)m, worst);
    free(a);
    free(b);
    free(got);
    free(add);
}

static void test_products(void) {
    static const int64_t rows[] = {1, 2, 5, 8, 9, 33};
    for (int n = 0; n < CASES; n++)
        for (int exact = 0; exact < 2; exact++) {
            ox_set_exact(exact != 0);
            for (int r = 0; r < 6; r++)
                OX_SCOPE {
                    ox_tensor *w = random_weights(&cases[n], 37, 768, (uint32_t)(7 + n)),
                              *expanded = ox_zeros(OX_SHAPE(37, 768), OX_F32);
                    float *numbers = (float *)malloc(37 * 768 * sizeof(float));
                    CHECK(ox_to_floats(w, numbers, 37 * 768) == OX_OK);
                    expanded = ox_from_floats(numbers, OX_SHAPE(37, 768), OX_F32);
                    free(numbers);
                    ox_tensor *x = random_activations(OX_SHAPE(rows[r], 768), (uint32_t)r),
                              *bias = ox_arange(0, 37, 1, OX_F32);
                    check_rows("linear", cases[n].dtype, ox_linear(x, w, r & 1 ? bias : NULL), x, expanded,
                               r & 1 ? bias : NULL, !exact);
                    check_rows("matmul", cases[n].dtype, ox_matmul(x, ox_t(w)), x, expanded, NULL, !exact);
                    if (r > 2) continue;
                    check_rows("blocks first", cases[n].dtype, ox_t(ox_matmul(w, ox_t(x))), x, expanded, NULL,
                               !exact);
                    x = ox_slice(random_activations(OX_SHAPE(rows[r], 1536), (uint32_t)r), 1, 0, 1536, 2);
                    check_rows("strided", cases[n].dtype, ox_linear(x, w, NULL), x, expanded, NULL, !exact);
                    check_rows("part", cases[n].dtype, ox_linear(x, ox_narrow(w, 0, 5, 20), NULL), x,
                               ox_narrow(expanded, 0, 5, 20), NULL, !exact);
                }
        }
    ox_set_exact(false);
}

/* Each group of 32 weights half as large as the one before: where 256 share a scale, 12 bits are left of the
 * largest. */
static void test_uneven(void) {
    enum { M = 33, N = 17, K = 352 };
    static float numbers[N * K];
    static double a[M * K], b[N * K], got[M * N];
    OX_SCOPE {
        ox_tensor *x = random_activations(OX_SHAPE(M, K), 1), *w = random_activations(OX_SHAPE(N, K), 2);
        CHECK(ox_to_floats(w, numbers, N * K) == OX_OK);
        for (int i = 0; i < N * K; i++) numbers[i] = ldexpf(numbers[i], -(i % K / 32) - 8 * (i / K % 2));
        w = ox_cast(ox_from_floats(numbers, OX_SHAPE(N, K), OX_F32), OX_Q8_0);
        CHECK(ox_to_doubles(x, a, M * K) == OX_OK && ox_to_doubles(w, b, N * K) == OX_OK);
        CHECK(ox_to_doubles(ox_linear(x, w, NULL), got, M * N) == OX_OK);
        double worst = 0;
        for (int i = 0; i < M * N; i++) {
            const double *row = a + i / N * K, *weights = b + i % N * K;
            double sum = 0, allowed = 1e-9, largest = 0;
            for (int k = 0; k < K; k++) {
                double most = 0;
                for (int j = k / 32 * 32; j < k / 32 * 32 + 32; j++) most = fmax(most, fabs(row[j]));
                for (int j = k; k % 256 == 0 && j < k + 256 && j < K; j++)
                    largest = fmax(j == k ? 0 : largest, fabs(weights[j]) * 128 / 127);
                sum += row[k] * weights[k];
                allowed += most / 127 * 0.501 * fabs(weights[k]) + fabs(row[k]) * largest * 0.7 / 2047;
            }
            worst = check_worst(worst, fabs(got[i] - sum) / allowed);
        }
        CHECK_MSG(worst <= 1, "error %g of what is allowed", worst);
    }
}

static void test_halves(void) {
    static const ox_dtype dtypes[] = {OX_F16, OX_BF16};
    for (int d = 0; d < 2; d++)
        for (int64_t m = 1; m < 20; m += 9)
            OX_SCOPE {
                float numbers[12 * 64];
                ox_tensor *w = random_weights(&cases[0], 12, 64, 3),
                          *x = random_activations(OX_SHAPE(m, 64), 5);
                CHECK(ox_to_floats(w, numbers, 12 * 64) == OX_OK);
                x = ox_cast(x, dtypes[d]);
                ox_tensor *y = ox_linear(x, w, NULL);
                CHECK(y && y->dtype == dtypes[d]);
                check_rows("halves", OX_Q4_0, y, x, ox_from_floats(numbers, OX_SHAPE(12, 64), OX_F32), NULL,
                           true);
            }
}

/* Any float type of activations, few rows and many. */
static void test_activations(void) {
    static const ox_dtype dtypes[] = {OX_F64, OX_F16, OX_BF16};
    for (int n = 0; n < CASES; n++)
        for (int d = 0; d < 3; d++)
            for (int64_t m = 1; m < 40; m += 12)
                OX_SCOPE {
                    if (dtypes[d] == OX_F16 && cases[n].scale_at[0] < 0) continue; /* results beyond f16 */
                    float *numbers = (float *)malloc(9 * 512 * sizeof(float));
                    ox_tensor *w = random_weights(&cases[n], 9, 512, 5);
                    CHECK(ox_to_floats(w, numbers, 9 * 512) == OX_OK);
                    ox_tensor *expanded = ox_from_floats(numbers, OX_SHAPE(9, 512), OX_F32);
                    ox_tensor *x = ox_cast(random_activations(OX_SHAPE(m, 512), 6), dtypes[d]);
                    bool exact = d == 0; /* f64 */
                    check_rows("activations", cases[n].dtype, ox_linear(x, w, NULL), x, expanded, NULL,
                               !exact);
                    check_rows("blocks first", cases[n].dtype, ox_t(ox_matmul(w, ox_t(x))), x, expanded, NULL,
                               !exact);
                    free(numbers);
                }
}

static void test_special(void) {
    OX_SCOPE {
        float out[3 * 6];
        ox_tensor *w = random_weights(&cases[0], 6, 64, 3), *x = ox_ones(OX_SHAPE(3, 64), OX_F32);
        ((float *)ox_data(x))[64 + 40] = NAN;
        ((float *)ox_data(x))[128 + 2] = INFINITY;
        CHECK(ox_to_floats(ox_linear(x, w, NULL), out, 18) == OX_OK);
        for (int i = 0; i < 18; i++)
            CHECK_MSG(i < 6 ? isfinite(out[i]) : !isfinite(out[i]), "%d: %g", i, (double)out[i]);
        CHECK(ox_equal(ox_linear(ox_zeros(OX_SHAPE(2, 64), OX_F32), w, NULL),
                       ox_zeros(OX_SHAPE(2, 6), OX_F32)));
        ox_tensor *tiny = ox_full(OX_SHAPE(1, 64), 1e-38, OX_F32);
        CHECK(ox_to_floats(ox_linear(tiny, w, NULL), out, 6) == OX_OK && fabsf(out[0]) < 1e-35f);
    }
}

static void test_all_types(void) {
    for (int d = OX_Q4_0; d < OX_DTYPE_COUNT; d++) {
        bool found = d == OX_Q8_1 || d == OX_Q8_K; /* ggml's activations: not in files */
        for (int n = 0; n < CASES; n++) found = found || cases[n].dtype == (ox_dtype)d;
        CHECK_MSG(found, "%s", ox_dtype_name((ox_dtype)d));
    }
}

/* A row times a power of two gives the result times that power, though terms on the way would pass f32's
 * range. */
static void test_large_activations(void) {
    for (int n = 0; n < CASES; n++) {
        const block_case *c = &cases[n];
        const ox_dtype_info *info = ox_dtype_get_info(c->dtype);
        uint8_t *bytes = random_blocks(c, 8, 512, 11);
        for (int64_t i = 0; i < 8 * 512 / info->block_elements; i++)
            for (int j = 0; j < 2; j++) /* scales of 2^-14 and a little more */
                if (c->scale_at[j] >= 0) bytes[i * info->block_bytes + c->scale_at[j] + 1] = 4;
        OX_SCOPE {
            ox_tensor *w = ox_from_blob(bytes, OX_SHAPE(8, 512), NULL, c->dtype, NULL, NULL);
            ox_tensor *ones = ox_ones(OX_SHAPE(1, 512), OX_F32), *spread = ox_linspace(-1, 1, 512, OX_F32);
            ox_tensor *x = ox_cat((ox_tensor *[]){ones, ox_reshape(spread, OX_SHAPE(1, 512))}, 2, 0);
            ox_tensor *plain = ox_linear(x, w, NULL);
            if (c->scale_at[0] < 0) plain = ox_mul_number(plain, 0x1p-20); /* larger weights */
            for (int power = 60; power <= 120; power += 20) {
                int down = c->scale_at[0] < 0 ? 20 : 0;
                ox_tensor *large = ox_linear(ox_mul_number(x, ldexp(1, power - down)), w, NULL);
                CHECK_MSG(ox_equal(large, ox_mul_number(plain, ldexp(1, power))), "%s times 2^%d", info->name,
                          power);
            }
        }
        free(bytes);
    }
}

/* Types of blocks of 32 meet activations whose groups have steps of their own, however much larger another
 * group is: none is off by more than half a 127th of its group's largest. Many rows of codes of few bits go
 * by ratios on some tiers. */
static void test_steps(void) {
    enum { K = 256, M = 20 };
    static const ox_dtype dtypes[] = {OX_Q8_0, OX_Q4_0, OX_Q5_0};
    static float got[M * K], x[M * K], eye[K * K];
    for (int i = 0; i < K; i++) eye[i * K + i] = -127; /* what all three have exactly */
    for (int i = 0; i < M * K; i++)
        x[i] = (i % 32 == 7 ? 1.0f : (float)(i * 37 % 64) / 64 - 0.5f) * (i / 32 % 8 == 3 ? 100.0f : 3.2f);
    for (int d = 0; d < 3; d++)
        for (int m = 1; m <= (d == 0 ? M : 1); m += M - 1)
            OX_SCOPE {
                ox_tensor *w = ox_cast(ox_from_floats(eye, OX_SHAPE(K, K), OX_F32), dtypes[d]);
                ox_to_floats(ox_linear(ox_from_floats(x, OX_SHAPE(m, K), OX_F32), w, NULL), got, m * K);
                for (int i = 0; i < m * K; i++) {
                    const double largest = i / 32 % 8 == 3 ? 100 : 3.2;
                    const double off = fabs((double)got[i] / -127 - (double)x[i]);
                    CHECK_MSG(off < largest / 127 * 0.502, "%s: %g is %g", ox_dtype_name(dtypes[d]),
                              (double)x[i], (double)got[i] / -127);
                }
            }
}

static void test_threads(void) {
    for (int64_t m = 1; m < 30; m += 14)
        OX_SCOPE {
            ox_tensor *w = random_weights(&cases[7], 700, 512, 3),
                      *x = random_activations(OX_SHAPE(m, 512), 4);
            ox_set_threads(1);
            ox_tensor *one = ox_linear(x, w, NULL);
            for (int n = 2; n < 5; n++) {
                ox_set_threads(n);
                CHECK(ox_equal(one, ox_linear(x, w, NULL)));
            }
        }
    ox_set_threads(0);
}

int main(void) {
    test_expansion();
    test_scales();
    test_products();
    test_uneven();
    test_halves();
    test_activations();
    test_special();
    test_all_types();
    test_large_activations();
    test_steps();
    test_threads();
    CHECK(ox_memory_get_stats().tensors == 0);
    return check_done("blocks");
}
