/* Filled tensors and random numbers: known Philox words, ranges, statistics, layouts, numbers of threads.
 * OX_VULKAN(uniform normal randint randperm bernoulli multinomial) OX_TIERS OX_TSAN OX_QEMU */
#include "operands.h"

#ifndef OX_NO_THREADS
#include <pthread.h>
#endif

/* ---- Philox4x32-10 from its paper (Salmon et al. 2011) ------------------------------------------------- */

static void philox(uint64_t key, uint64_t high, uint64_t low, uint32_t out[4]) {
    uint32_t c[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        uint64_t a = (uint64_t)0xd2511f53u * c[0], b = (uint64_t)0xcd9e8d57u * c[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k1,
                            (uint32_t)a};
        memcpy(c, next, sizeof c);
    }
    memcpy(out, c, sizeof c);
}

static uint32_t word(uint64_t seed, uint64_t counter, int64_t e) {
    uint32_t w[4];
    philox(seed, counter, (uint64_t)e / 4, w);
    return w[e % 4];
}

static uint64_t double_word(uint64_t seed, uint64_t counter, int64_t e) {
    uint32_t w[4];
    philox(seed, counter, (uint64_t)e / 2, w);
    return (uint64_t)w[2 * (e % 2)] << 32 | w[2 * (e % 2) + 1];
}

static int bits_of(ox_dtype dtype) {
    return dtype == OX_F16       ? 11
           : dtype == OX_BF16    ? 8
           : dtype == OX_F8_E4M3 ? 4
           : dtype == OX_F8_E5M2 ? 3
                                 : 24;
}

static double unit(ox_dtype dtype, uint64_t seed, uint64_t counter, int64_t e) {
    if (dtype == OX_F64) return (double)(double_word(seed, counter, e) >> 11) / 9007199254740992.0;
    return ldexp((double)(word(seed, counter, e) >> (32 - bits_of(dtype))), -bits_of(dtype));
}

static const ox_dtype floats[] = {OX_F32, OX_F64, OX_F16, OX_BF16, OX_F8_E4M3, OX_F8_E5M2};
static const uint64_t seed = 0x123456789abcdefu;

static void test_words(void) {
    static const uint32_t zeros[4] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
    static const uint32_t ones[4] = {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu};
    uint32_t w[4];
    philox(0, 0, 0, w); /* the known answers that come with Random123 */
    CHECK(memcmp(w, zeros, sizeof w) == 0);
    philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, w);
    CHECK(memcmp(w, ones, sizeof w) == 0);
    for (int f = 0; f < 6; f++)
        OX_SCOPE {
            ox_dtype dtype = floats[f];
            ox_manual_seed(seed);
            ox_tensor *u = ox_rand(OX_SHAPE(3, 347), dtype), *z = ox_randn(OX_SHAPE(1041), dtype),
                      *i = ox_randint(-5, 1000000000000, OX_SHAPE(1041), OX_I64);
            ox_tensor *p = ox_full(OX_SHAPE(1041), 0.375, dtype), *b = ox_bernoulli(p);
            int wrong_u = 0, wrong_z = 0, wrong_i = 0, wrong_b = 0;
            for (int64_t e = 0; e < 1041; e++) {
                wrong_u += load_real(dtype, element(u, e)) != unit(dtype, seed, 1, e);
                double first = dtype == OX_F64
                                   ? ((double)(double_word(seed, 2, e & ~1) >> 11) + 1) / 9007199254740992.0
                                   : ((double)word(seed, 2, e & ~1) + 1) / 4294967296.0;
                double second = dtype == OX_F64 ? unit(dtype, seed, 2, e | 1)
                                                : (double)word(seed, 2, e | 1) / 4294967296.0;
                double angle = 6.283185307179586 * second,
                       want = sqrt(-2 * log(first)) * (e % 2 ? sin(angle) : cos(angle));
                double slack = dtype == OX_F64 ? 1e-14 : 0.51 * spacing(format_of(dtype), want);
                wrong_z += !(fabs(load_real(dtype, element(z, e)) - want) <= slack);
                double exact = ldexp((double)double_word(seed, 3, e), -64) * 1000000000005.0;
                wrong_i += fabs((double)(load_int(OX_I64, element(i, e)) + 5) - floor(exact)) > 1;
                double u_b = dtype == OX_F64 ? unit(OX_F64, seed, 4, e) : unit(OX_F32, seed, 4, e);
                wrong_b += load_real(dtype, element(b, e)) != (u_b < load_real(dtype, element(p, e)));
            }
            CHECK_MSG(!wrong_u && !wrong_z && !wrong_i && !wrong_b,
                      "%s: %d uniform, %d normal, %d randint, %d bernoulli", ox_dtype_name(dtype), wrong_u,
                      wrong_z, wrong_i, wrong_b);
        }
}

/* ---- ranges and statistics ----------------------------------------------------------------------------- */

static void test_uniform_range(void) {
    for (int f = 0; f < 6; f++)
        OX_SCOPE {
            ox_dtype dtype = floats[f];
            ox_tensor *u = ox_rand(OX_SHAPE(20000), dtype),
                      *far = ox_uniform_(ox_empty(OX_SHAPE(20000), dtype), 100, 101);
            ox_tensor *below = ox_uniform_(ox_empty(OX_SHAPE(2000), dtype), -3, -1),
                      *none = ox_uniform_(ox_empty(OX_SHAPE(9), dtype), 2, 2);
            int wrong = 0;
            double sum = 0;
            for (int64_t i = 0; i < 20000; i++) {
                double x = load_real(dtype, element(u, i)), y = load_real(dtype, element(far, i));
                wrong +=
                    !(x >= 0 && x < 1) || !(y >= 96 && y < 101); /* 100 may not be a number of the dtype */
                if (i < 2000)
                    wrong += !(load_real(dtype, element(below, i)) >= -3 &&
                               load_real(dtype, element(below, i)) < -1);
                if (i < 9) wrong += load_real(dtype, element(none, i)) != 2;
                sum += x;
            }
            CHECK_MSG(wrong == 0, "%s: %d out of range", ox_dtype_name(dtype), wrong);
            double mean = 0.5 - ldexp(0.5, -bits_of(dtype == OX_F64 ? OX_F32 : dtype));
            CHECK_MSG(fabs(sum / 20000 - mean) < 4 * 0.289 / sqrt(20000.0), "%s: mean %g",
                      ox_dtype_name(dtype), sum / 20000);
        }
}

/* Chi-square of counts that should be equal; 5 deviations of its distribution. */
static bool even(const int64_t *counts, int bins, double expected) {
    double sum = 0;
    for (int i = 0; i < bins; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return fabs(sum - (bins - 1)) < 5 * sqrt(2.0 * (bins - 1));
}

static void test_statistics(void) {
    enum { N = 100000 };
    OX_SCOPE {
        ox_manual_seed(7);
        ox_tensor *u = ox_rand(OX_SHAPE(N), OX_F32), *z = ox_normal_(ox_empty(OX_SHAPE(N), OX_F64), 3, 2),
                  *k = ox_randint(-3, 61, OX_SHAPE(N), OX_I32);
        int64_t uniform[64] = {0}, whole[64] = {0}, pairs[64] = {0}, beyond = 0;
        double mean = 0, square = 0, cube = 0, fourth = 0, neighbors = 0, before = 0;
        for (int64_t i = 0; i < N; i++) {
            double x = load_real(OX_F32, element(u, i)), y = (load_real(OX_F64, element(z, i)) - 3) / 2;
            int64_t n = load_int(OX_I32, element(k, i)) + 3;
            uniform[(int)(x * 64)]++;
            if (n >= 0 && n < 64) whole[n]++;
            if (i % 2) pairs[(int)(x * 8) * 8 + (int)(before * 8)]++;
            before = x;
            mean += y / N;
            square += y * y / N;
            cube += y * y * y / N;
            fourth += y * y * y * y / N;
            if (i) neighbors += y * (load_real(OX_F64, element(z, i - 1)) - 3) / 2 / N;
            beyond += fabs(y) > 1.959964;
        }
        double s = 1 / sqrt((double)N);
        CHECK(even(uniform, 64, N / 64.0) && even(whole, 64, N / 64.0) && even(pairs, 64, N / 128.0));
        CHECK_MSG(fabs(mean) < 5 * s && fabs(square - 1) < 5 * 1.42 * s && fabs(cube) < 5 * 3.9 * s &&
                      fabs(fourth - 3) < 5 * 9.8 * s,
                  "moments %g %g %g %g", mean, square, cube, fourth);
        CHECK(fabs(neighbors) < 5 * s && fabs((double)beyond / N - 0.05) < 5 * 0.218 * s);
    }
}

static void test_randperm(void) {
    OX_SCOPE { /* Fisher-Yates from the end */
        int64_t order[1301];
        ox_manual_seed(seed);
        ox_tensor *p = ox_randperm(1301, OX_I32);
        for (int64_t i = 0; i < 1301; i++) order[i] = i;
        for (int64_t i = 1300; i > 0; i--) {
            int64_t j = (int64_t)((double_word(seed, 1, i) >> 32) * (uint64_t)(i + 1) >> 32), swap = order[i];
            order[i] = order[j]; /* the upper half of the double word is enough, except once in millions */
            order[j] = swap;
        }
        for (int64_t i = 0; i < 1301; i++) CHECK(load_int(OX_I32, element(p, i)) == order[i]);
    }
    OX_SCOPE {
        int64_t at_zero[8] = {0}, seen[1000] = {0};
        ox_tensor *p = ox_randperm(1000, OX_I64);
        for (int64_t i = 0; i < 1000; i++) seen[load_int(OX_I64, element(p, i))]++;
        for (int64_t i = 0; i < 1000; i++) CHECK(seen[i] == 1);
        for (int i = 0; i < 4000; i++) {
            ox_tensor *few = ox_randperm(8, OX_I32);
            at_zero[load_int(OX_I32, element(few, 5))]++;
            ox_release(few);
        }
        CHECK(even(at_zero, 8, 500));
        ox_tensor *whole = ox_randperm(256, OX_U8), *f = ox_randperm(2048, OX_F16);
        CHECK(whole && ox_item_int(ox_sum(whole, OX_ALL_DIMS, false)) == 255 * 128 && f);
        CHECK(ox_randperm(257, OX_U8) == NULL && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(ox_randperm(2050, OX_F16) == NULL && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(ox_numel(ox_randperm(0, OX_I64)) == 0 && ox_item_int(ox_randperm(1, OX_I64)) == 0);
    }
}

static void expect(ox_status status, const char *words, const ox_tensor *result) {
    CHECK_MSG(!result && ox_error() == status && strstr(ox_error_text(), words), "'%s' instead of '%s'",
              ox_error_text(), words);
    ox_error_clear();
}

static void test_draws(void) {
    OX_SCOPE {
        ox_manual_seed(11);
        const double weights[2][4] = {{1, 0, 2, 5}, {0.5, 0.25, 0.25, 0}};
        ox_tensor *w = ox_from_doubles(&weights[0][0], OX_SHAPE(2, 4), OX_F32),
                  *p = ox_full(OX_SHAPE(20000), 0.3, OX_F16);
        CHECK(fabs(ox_item(ox_mean(ox_cast(ox_bernoulli(p), OX_F64), OX_ALL_DIMS, false)) - 0.3) < 0.02);
        CHECK(ox_item(ox_sum(ox_bernoulli(ox_ones(OX_SHAPE(999), OX_F32)), OX_ALL_DIMS, false)) == 999);
        CHECK(ox_item(ox_sum(ox_bernoulli(ox_zeros(OX_SHAPE(999), OX_F64)), OX_ALL_DIMS, false)) == 0);
        ox_tensor *drawn = ox_multinomial(w, 16000, true);
        CHECK(drawn && drawn->dtype == OX_I64 && drawn->shape[0] == 2 && drawn->shape[1] == 16000);
        for (int r = 0; r < 2; r++) {
            double counts[4] = {0}, total = r ? 1 : 8;
            for (int64_t i = 0; i < 16000; i++) counts[load_int(OX_I64, element(drawn, r * 16000 + i)) & 3]++;
            for (int k = 0; k < 4; k++)
                CHECK(fabs(counts[k] / 16000 - weights[r][k] / total) < 0.02 &&
                      (weights[r][k] > 0 || counts[k] == 0));
        }
        /* without replacement: all different, the heavy ones earlier; from columns of a transposed matrix
         * as well */
        int64_t first[4] = {0};
        for (int i = 0; i < 4000; i++) {
            ox_tensor *three = ox_multinomial(i % 2 ? w : ox_t(ox_contiguous(ox_t(w))), 3, false);
            int64_t a = load_int(OX_I64, element(three, 0)), b = load_int(OX_I64, element(three, 1)),
                    c = load_int(OX_I64, element(three, 2));
            CHECK(a != b && b != c && a != c && a != 1 && b != 1 && c != 1);
            first[a & 3]++;
            ox_release(three);
        }
        for (int k = 0; k < 4; k++) CHECK(fabs((double)first[k] / 4000 - weights[0][k] / 8) < 0.04);
        CHECK(ox_multinomial(ox_select(w, 0, 1), 2, true)->ndim == 1);
        const double bad[4] = {1, -1, 2, 3}, nan[4] = {1, NAN, 2, 3};
        expect(OX_ERR_ARG, "row 0: a weight is negative",
               ox_multinomial(ox_from_doubles(bad, OX_SHAPE(4), OX_F32), 1, true));
        expect(OX_ERR_ARG, "NaN", ox_multinomial(ox_from_doubles(nan, OX_SHAPE(4), OX_F16), 1, false));
        expect(OX_ERR_ARG, "sum to zero", ox_multinomial(ox_zeros(OX_SHAPE(2, 4), OX_F32), 1, true));
        expect(OX_ERR_ARG, "row 0: fewer categories", ox_multinomial(w, 4, false));
        expect(OX_ERR_ARG, "multinomial", ox_multinomial(w, 5, false));
        expect(OX_ERR_ARG, "bernoulli", ox_bernoulli(ox_full(OX_SHAPE(3), 1.5, OX_F32)));
        expect(OX_ERR_ARG, "bernoulli", ox_bernoulli(ox_full(OX_SHAPE(3), NAN, OX_F32)));
        CHECK(ox_numel(ox_multinomial(ox_ones(OX_SHAPE(0, 4), OX_F32), 2, true)) == 0);
    }
}

/* ---- layouts and threads ------------------------------------------------------------------------------- */

/* In place, strides do not change which number an element gets, and nothing beside it is touched. */
static void test_layouts(void) {
    const int64_t shape[3] = {7, 6, 31};
    for (int l = 0; l < LAYOUT_COUNT; l++)
        for (int op = 0; op < 3; op++)
            OX_SCOPE {
                if (l == LAYOUT_EXPANDED_FIRST || l == LAYOUT_EXPANDED_LAST) continue;
                ox_tensor *base, *untouched, *x = new_layout((layout)l, 3, shape, OX_F32, &base),
                                             *beside = new_layout((layout)l, 3, shape, OX_F32, &untouched);
                ox_tensor *plain = ox_empty(OX_SHAPE(7, 6, 31), OX_F32);
                for (int i = 0; i < 2; i++) {
                    ox_tensor *t = i ? plain : x;
                    ox_manual_seed(seed);
                    if (op == 0)
                        ox_uniform_(t, -2, 3);
                    else if (op == 1)
                        ox_normal_(t, 1, 2);
                    else
                        ox_fill_(t, 0.375);
                }
                for (int64_t i = 0; i < ox_numel(x); i++) memcpy(element(beside, i), element(plain, i), 4);
                CHECK_MSG(memcmp(ox_data(base), ox_data(untouched), ox_nbytes(base)) == 0, "%s %d",
                          layout_name((layout)l), op);
                ox_manual_seed(seed);
                ox_tensor *strided = ox_bernoulli(ox_sigmoid(x));
                ox_manual_seed(seed);
                CHECK(same_bits(strided, ox_bernoulli(ox_sigmoid(plain))));
            }
}

static void test_threads(void) {
    int threads = ox_threads();
    OX_SCOPE {
        ox_tensor *kept[6];
        for (int n = 1; n <= 3; n += 2) {
            ox_set_threads(n);
            ox_manual_seed(seed);
            ox_tensor *made[6] = {ox_rand(OX_SHAPE(70001), OX_F32),
                                  ox_randn(OX_SHAPE(70001), OX_F64),
                                  ox_randint(0, 9, OX_SHAPE(70001), OX_U8),
                                  ox_randn(OX_SHAPE(33333), OX_BF16),
                                  ox_multinomial(ox_rand(OX_SHAPE(40, 50), OX_F32), 20, false),
                                  ox_arange(0, 70000.5, 1, OX_F32)};
            for (int i = 0; i < 6; i++) {
                if (n == 1)
                    kept[i] = made[i];
                else
                    CHECK_MSG(same_bits(kept[i], made[i]), "%d", i);
            }
        }
    }
    ox_set_threads(threads);
}

/* ---- filled, ramps ------------------------------------------------------------------------------------- */

static void test_fill(void) {
    for (int d = 1; d <= PLAIN_DTYPES; d++)
        OX_SCOPE {
            ox_dtype dtype = (ox_dtype)d;
            ox_tensor *three = ox_full(OX_SHAPE(3, 100), 3, dtype), *none = ox_zeros(OX_SHAPE(0, 2), dtype),
                      *eye = ox_eye(4, 6, dtype), *tall = ox_eye(5, 2, dtype),
                      *number = ox_ones(OX_SCALAR_SHAPE, dtype);
            for (int64_t i = 0; i < 300; i++)
                CHECK(load_real(dtype, element(three, i)) == (dtype == OX_BOOL ? 1 : 3) &&
                      load_imaginary(dtype, element(three, i)) == 0);
            for (int64_t i = 0; i < 24; i++) CHECK(load_real(dtype, element(eye, i)) == (i / 6 == i % 6));
            for (int64_t i = 0; i < 10; i++) CHECK(load_real(dtype, element(tall, i)) == (i / 2 == i % 2));
            CHECK(ox_numel(none) == 0 && load_real(dtype, element(number, 0)) == 1);
            if (dtype == OX_C64) continue;
            double step = dtype == OX_BOOL ? 1 : 3, start = dtype == OX_BOOL ? 0 : 2;
            ox_tensor *ramp = ox_arange(start, start + 2 * step, step, dtype);
            CHECK(ramp && ox_numel(ramp) == 2 && load_real(dtype, element(ramp, 0)) == start &&
                  load_real(dtype, element(ramp, 1)) == start + step);
        }
    OX_SCOPE {
        ox_tensor *down = ox_arange(10, 0, -2.5, OX_F64),
                  *wide = ox_arange(-9007199254740991.0, -9007199254740981.0, 3, OX_I64);
        CHECK(ox_numel(down) == 4 && load_real(OX_F64, element(down, 3)) == 2.5);
        CHECK(ox_numel(wide) == 4 && load_int(OX_I64, element(wide, 3)) == -9007199254740982);
        ox_tensor *line = ox_linspace(-1, 1, 11, OX_F32), *whole = ox_linspace(-5, 5, 7, OX_I32),
                  *one = ox_linspace(3, 7, 1, OX_F32), *two = ox_linspace(3, 7, 2, OX_F16);
        static const int32_t want[7] = {-5, -3, -1, 0,
                                        1,  3,  5}; /* torch.linspace(-5, 5, 7, dtype=torch.int32) */
        for (int64_t i = 0; i < 11; i++) {
            CHECK(fabs(load_real(OX_F32, element(line, i)) - (-1 + 0.2 * (double)i)) < 1e-7);
            CHECK(load_real(OX_F32, element(line, i)) == -load_real(OX_F32, element(line, 10 - i)));
        }
        for (int64_t i = 0; i < 7; i++) CHECK(load_int(OX_I32, element(whole, i)) == want[i]);
        CHECK(load_real(OX_F32, element(one, 0)) == 3 && load_real(OX_F16, element(two, 1)) == 7 &&
              ox_numel(ox_linspace(0, 1, 0, OX_F32)) == 0);
        ox_tensor *bytes = ox_randint(-128, 128, OX_SHAPE(5000), OX_I8),
                  *any = ox_randint(INT64_MIN, INT64_MAX, OX_SHAPE(50), OX_I64);
        CHECK(ox_item_int(ox_amin(bytes, OX_ALL_DIMS, false)) < -120 &&
              ox_item_int(ox_amax(bytes, OX_ALL_DIMS, false)) > 120);
        CHECK(ox_item_int(ox_amin(any, OX_ALL_DIMS, false)) < -4000000000000000000 &&
              ox_item_int(ox_amax(any, OX_ALL_DIMS, false)) > 4000000000000000000);
    }
}

/* ---- generators ---------------------------------------------------------------------------------------- */

/* Something of everything that draws. */
static void draw_all(ox_tensor **out) {
    ox_tensor *half = ox_full(OX_SHAPE(40), 0.5, OX_F32);
    out[0] = ox_rand(OX_SHAPE(3, 5), OX_F32);
    out[1] = ox_randn(OX_SHAPE(33), OX_F64);
    out[2] = ox_randint(0, 1000, OX_SHAPE(9), OX_I64);
    out[3] = ox_randperm(50, OX_I64);
    out[4] = ox_bernoulli(half);
    out[5] = ox_dropout(half, 0.3, true);
    out[6] = ox_multinomial(half, 20, true);
    out[7] = ox_normal_(ox_empty(OX_SHAPE(7), OX_F32), 1, 2);
}

static bool same_draws(ox_tensor *const *a, ox_tensor *const *b) {
    for (int i = 0; i < 8; i++)
        if (!a[i] || !b[i] || !same_bits(a[i], b[i])) return false;
    return true;
}

static ox_tensor *left_early(ox_generator *generator) {
    OX_GENERATOR_SCOPE(generator) {
        return ox_rand(OX_SHAPE(4), OX_F32);
    }
    return NULL;
}

static void test_generators(void) {
    OX_SCOPE {
        ox_tensor *wanted[8], *got[8], *after, *other = NULL, *early;
        ox_manual_seed(17);
        draw_all(wanted);
        after = ox_rand(OX_SHAPE(5), OX_F32);
        ox_generator_state end = ox_generator_get_state(NULL);
        CHECK(end.seed == 17 && end.counter == 9);
        ox_generator *g = ox_generator_open(17), *h = ox_generator_open(5);
        CHECK(g && h && ox_generator_use(g) == NULL);
        draw_all(got); /* the same seed, the same numbers */
        CHECK(same_draws(wanted, got));
        ox_generator_state state = ox_generator_get_state(g);
        CHECK(state.seed == 17 && state.counter == 8 && ox_generator_get_state(NULL).counter == 9);
        OX_GENERATOR_SCOPE(h) {
            other = ox_rand(OX_SHAPE(5), OX_F32);
            OX_GENERATOR_SCOPE(NULL) { CHECK(ox_rand(OX_SHAPE(2), OX_F32) != NULL); }
            CHECK(ox_generator_get_state(NULL).counter == 10 && ox_generator_get_state(h).counter == 1);
        }
        CHECK(!same_bits(other, after));
        CHECK(same_bits(ox_rand(OX_SHAPE(5), OX_F32), after)); /* h took nothing from g */
        ox_generator_set_state(g, state);
        CHECK(same_bits(ox_rand(OX_SHAPE(5), OX_F32), after));
        ox_generator_seed(g, 17);
        draw_all(got);
        CHECK(same_draws(wanted, got));
        early = left_early(h);
        CHECK(early && ox_generator_use(g) == g && ox_generator_get_state(h).counter == 2);
        ox_generator_close(h);
        ox_generator_close(g); /* this thread's: the default one follows it */
        CHECK(ox_generator_use(NULL) == NULL);
        ox_generator_set_state(NULL, end);
        CHECK(ox_rand(OX_SHAPE(5), OX_F32) && ox_generator_get_state(NULL).counter == end.counter + 1);
        ox_generator_close(NULL);
    }
}

#ifndef OX_NO_THREADS
typedef struct drawer {
    ox_generator *own, *shared;
    float numbers[16], *all;
} drawer;

static void *draw_in_thread(void *arg) {
    drawer *d = (drawer *)arg;
    OX_SCOPE {
        OX_GENERATOR_SCOPE(d->own) {
            for (int i = 0; i < 16; i++) d->numbers[i] = (float)ox_item(ox_rand(OX_SHAPE(1), OX_F32));
        }
        OX_GENERATOR_SCOPE(d->shared) {
            for (int i = 0; i < 50; i++) d->all[i] = (float)ox_item(ox_rand(OX_SHAPE(1), OX_F32));
        }
    }
    return NULL;
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* A thread's generator is its own; of one that several draw from, each number is drawn once. */
static void test_generators_of_threads(void) {
    static float all[4 * 50], wanted[4 * 50];
    ox_generator *shared = ox_generator_open(99);
    drawer d[4];
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) {
        d[i].own = ox_generator_open(3);
        d[i].shared = shared;
        d[i].all = all + 50 * i;
        pthread_create(&thread[i], NULL, draw_in_thread, &d[i]);
    }
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    CHECK(ox_generator_get_state(shared).counter == 200 && ox_generator_use(NULL) == NULL);
    ox_generator_seed(shared, 99);
    OX_GENERATOR_SCOPE(shared) {
        for (int i = 0; i < 200; i++) {
            ox_tensor *one = ox_rand(OX_SHAPE(1), OX_F32);
            wanted[i] = (float)ox_item(one);
            ox_release(one);
        }
    }
    qsort(all, 200, sizeof *all, by_size);
    qsort(wanted, 200, sizeof *wanted, by_size);
    CHECK(memcmp(all, wanted, sizeof all) == 0);
    for (int i = 0; i < 4; i++) {
        CHECK(memcmp(d[i].numbers, d[0].numbers, sizeof d[0].numbers) == 0);
        ox_generator_close(d[i].own);
    }
    ox_generator_close(shared);
}
#else
static void test_generators_of_threads(void) {
}
#endif

int main(void) {
    test_words();
    test_uniform_range();
    test_statistics();
    test_randperm();
    test_draws();
    test_layouts();
    test_threads();
    test_fill();
    test_generators();
    test_generators_of_threads();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK_MSG(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0, "%lld tensors are left",
              (long long)stats.tensors);
    return check_done("random");
}
