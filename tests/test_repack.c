/* test_repack.c - weights of block types that ox_prepack repacked in place: products as close to double
 * precision as without, bit for bit the same but for few rows; everybody else sees the bytes as they were.
 * OX_TIERS OX_BASE OX_QEMU OX_TSAN OX_VULKAN_LONG: each tier has kernels of its own for that layout. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backwards.h"
#include "oxtorch.h"
#include "oxtorch_stream.h"

#include "check.h"
#include "gguf_make.h"

#if (defined(__unix__) || defined(__APPLE__)) && !defined(OX_NO_THREADS)
#include <pthread.h>
#define TEST_PTHREADS 1
#endif

/* ---- weights, and the same once more where nobody repacks them ----------------------------------------- */

/* scale_at: where a block's f16 numbers are, -1 = none; power_at: a power of two (e8m0), likewise; small_at,
 * small_count: its integer scales. */
typedef struct repack_case {
    ox_dtype dtype;
    int scale_at[2], power_at, small_at, small_count;
} repack_case;

static const repack_case cases[] = {
    {OX_Q4_0, {0, -1}, -1, 0, 0},   {OX_Q4_1, {0, 2}, -1, 0, 0},       {OX_Q5_0, {0, -1}, -1, 0, 0},
    {OX_Q5_1, {0, 2}, -1, 0, 0},    {OX_Q8_0, {0, -1}, -1, 0, 0},      {OX_IQ4_NL, {0, -1}, -1, 0, 0},
    {OX_IQ4_XS, {0, -1}, -1, 2, 6}, {OX_MXFP4, {-1, -1}, 0, 0, 0},     {OX_Q4_K, {0, 2}, -1, 4, 12},
    {OX_Q5_K, {0, 2}, -1, 4, 12},   {OX_Q6_K, {208, -1}, -1, 192, 16},
};
enum { CASES = (int)(sizeof cases / sizeof *cases) };

static uint32_t random_state = 1;

static uint32_t random_bits(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static void put_half(uint8_t *p, unsigned bits) {
    p[0] = (uint8_t)bits;
    p[1] = (uint8_t)(bits >> 8);
}

static int64_t block_bytes(ox_dtype dtype) {
    return ox_dtype_get_info(dtype)->block_bytes;
}
static int64_t bytes_of(ox_dtype dtype, int64_t count) {
    return count / ox_dtype_get_info(dtype)->block_elements * block_bytes(dtype);
}

/* count numbers as blocks of random bytes with moderate scales, to be freed. */
static uint8_t *random_blocks(const repack_case *c, int64_t count) {
    int64_t bytes = bytes_of(c->dtype, count);
    uint8_t *out = (uint8_t *)malloc((size_t)bytes + 1);
    for (int64_t i = 0; i < bytes; i++) out[i] = (uint8_t)random_bits();
    for (int64_t i = 0; i < bytes; i += block_bytes(c->dtype)) {
        if (c->power_at >= 0) out[i + c->power_at] = (uint8_t)(120 + random_bits() % 8);
        for (int j = 0; j < 2; j++)
            if (c->scale_at[j] >= 0) { /* 2^-5 to 2^-3, both signs */
                uint8_t *scale = out + i + c->scale_at[j];
                scale[1] = (uint8_t)((scale[1] & 0x87) | 0x24 | (random_bits() & 8));
            }
    }
    return out;
}

/* w: storage of its own, repacked if it can be. twin: the same bytes, lent, which are never changed. */
typedef struct pair {
    ox_tensor *w, *twin;
    uint8_t *bytes; /* of the twin, to be freed */
    uint8_t *lies;  /* where w's bytes lie */
    size_t count;
} pair;

static pair pair_over(ox_dtype dtype, int64_t rows, int64_t k, uint8_t *bytes) {
    pair p;
    p.bytes = bytes;
    p.count = (size_t)bytes_of(dtype, rows * k);
    p.w = ox_from_data(bytes, OX_SHAPE(rows, k), dtype);
    p.twin = ox_from_blob(bytes, OX_SHAPE(rows, k), NULL, dtype, NULL, NULL);
    p.lies = (uint8_t *)ox_data(p.w);
    CHECK_MSG(p.w && p.twin && p.lies, "%s", ox_error_text());
    return p;
}

static pair random_pair(const repack_case *c, int64_t rows, int64_t k) {
    return pair_over(c->dtype, rows, k, random_blocks(c, rows * k));
}

/* As they lie, not as the library would show them. */
static bool is_repacked(const pair *p) {
    return memcmp(p->lies, p->bytes, p->count) != 0;
}

static pair repacked_pair(const repack_case *c, int64_t rows, int64_t k) {
    pair p = random_pair(c, rows, k);
    CHECK(ox_prepack(p.w) == OX_OK);
    return p;
}

/* The types that this tier repacks, by asking whether the bytes changed. */
static const repack_case *taken[CASES];
static int taken_count;

static void find_types(void) {
    for (int d = OX_Q4_0; d < OX_DTYPE_COUNT; d++) {
        const ox_dtype_info *info = ox_dtype_get_info((ox_dtype)d);
        if (info->cls != OX_CLASS_BLOCK) continue;
        repack_case plain = {(ox_dtype)d, {-1, -1}, -1, 0, 0};
        const repack_case *known = NULL;
        for (int i = 0; i < CASES; i++)
            if (cases[i].dtype == (ox_dtype)d) known = &cases[i];
        OX_SCOPE {
            pair p = repacked_pair(known ? known : &plain, 32, 256);
            bool changed = is_repacked(&p);
            CHECK_MSG(!changed || known, "%s is repacked, and nothing here knows its scales", info->name);
            if (changed && known) taken[taken_count++] = known;
            CHECK_MSG(memcmp(ox_data(p.w), p.bytes, p.count) == 0 && !is_repacked(&p), "%s", info->name);
            free(p.bytes);
        }
    }
    printf("repacked on %s:", ox_isa());
    for (int i = 0; i < taken_count; i++) printf(" %s", ox_dtype_name(taken[i]->dtype));
    printf("\n");
}

/* ---- products ------------------------------------------------------------------------------------------ */

static double *doubles_of(ox_tensor *t) {
    int64_t count = ox_numel(t);
    double *out = (double *)malloc((size_t)(count + 1) * sizeof *out);
    if (!t || ox_to_doubles(t, out, count) != OX_OK) {
        CHECK_MSG(false, "%s", ox_error_text());
        ox_error_clear();
        for (int64_t i = 0; i < count; i++) out[i] = NAN;
    }
    return out;
}

/* NaN is NaN, whatever its sign. */
static bool same_bits(ox_tensor *a, ox_tensor *b) {
    a = ox_contiguous(a);
    b = ox_contiguous(b);
    if (!a || !b || a->dtype != b->dtype || ox_numel(a) != ox_numel(b)) return false;
    const char *p = (const char *)ox_data(a), *q = (const char *)ox_data(b);
    size_t bytes = ox_nbytes(a);
    bool same = bytes == 0 || memcmp(p, q, bytes) == 0;
    if (same || a->dtype != OX_F32) return same;
    for (same = true; bytes > 0 && same; bytes -= 4, p += 4, q += 4) {
        float x, y;
        memcpy(&x, p, 4);
        memcpy(&y, q, 4);
        same = memcmp(p, q, 4) == 0 || (isnan(x) && isnan(y));
    }
    return same;
}

/* x [m,k] times w [n,k] in double precision: sums, and the sums of what is added without its sign. */
typedef struct reference {
    int64_t m, n;
    double *sum, *size;
} reference;

static reference reference_of(ox_tensor *x, ox_tensor *w) {
    reference r;
    int64_t k = x->shape[1];
    r.m = x->shape[0];
    r.n = w->shape[0];
    r.sum = (double *)calloc((size_t)(r.m * r.n), sizeof *r.sum);
    r.size = (double *)calloc((size_t)(r.m * r.n), sizeof *r.size);
    double *a = doubles_of(x), *b = doubles_of(w);
    for (int64_t i = 0; i < r.m * r.n; i++) {
        const double *row = a + i / r.n * k, *line = b + i % r.n * k;
        for (int64_t j = 0; j < k; j++) {
            double product = row[j] * line[j];
            r.sum[i] += product;
            r.size[i] += fabs(product);
        }
    }
    free(a);
    free(b);
    return r;
}

static void free_reference(reference *r) {
    free(r->sum);
    free(r->size);
}

/* Root of the mean squared error of y [m, n], a corner of the reference, in parts of the size of a sum; and
 * the largest one. */
static double error_of(const reference *r, ox_tensor *y, double *largest) {
    int64_t m = y ? y->shape[0] : 0, n = y ? y->shape[1] : 0;
    double *got = doubles_of(y), square = 0;
    *largest = m * n > 0 ? 0 : NAN;
    for (int64_t i = 0; i < m * n; i++) {
        int64_t at = i / n * r->n + i % n;
        double error = fabs(got[i] - r->sum[at]) / (r->size[at] + 1e-300);
        square += error * error;
        *largest = check_worst(*largest, error);
    }
    free(got);
    return sqrt(square / (double)(m * n));
}

/* Up to 8 rows of activations meet the blocks as they lie, and sums are added in another order; more go
 * through panels, whose codes are the same. */
static void check_product(const repack_case *c, const reference *r, const pair *p, ox_tensor *x, int64_t m,
                          int64_t n, bool exact) {
    ox_tensor *part = ox_narrow(x, 0, 0, m), *w = ox_narrow(p->w, 0, 0, n),
              *twin = ox_narrow(p->twin, 0, 0, n);
    bool before = is_repacked(p);
    ox_tensor *y = ox_linear(part, w, NULL);
    CHECK_MSG(before && (is_repacked(p) || is_mirror()), "%s: put back by a product",
              ox_dtype_name(c->dtype));
    ox_tensor *plain = ox_linear(part, twin, NULL);
    double worst, plain_worst, error = error_of(r, y, &worst), plain_error = error_of(r, plain, &plain_worst);
    /* exact: as test_blocks.c. Otherwise steps of activations are what counts, which are the same. */
    CHECK_MSG(exact ? worst <= 1e-5 : error <= 1.02 * plain_error + 1e-7 && worst <= 1.3 * plain_worst + 1e-6,
              "%s [%d,%d] x [%d,%d] exact %d: error %g, at most %g, without %g and %g",
              ox_dtype_name(c->dtype), (int)m, (int)x->shape[1], (int)n, (int)x->shape[1], exact, error,
              worst, plain_error, plain_worst);
    CHECK_MSG((m <= 8 && !exact) || same_bits(y, plain), "%s [%d,%d] x [%d,%d] exact %d: other bits",
              ox_dtype_name(c->dtype), (int)m, (int)x->shape[1], (int)n, (int)x->shape[1], exact);
}

static void test_products(void) {
    static const int64_t rows[] = {16, 32, 48, 112}, depths[] = {256, 512, 1024, 32, 288, 992},
                         lines[] = {1, 2, 8, 9, 33, 70};
    for (int t = 0; t < taken_count; t++)
        for (int d = 0; d < 6; d++)
            OX_SCOPE {
                if (depths[d] % ox_dtype_get_info(taken[t]->dtype)->block_elements != 0) continue;
                ox_manual_seed((uint64_t)d);
                pair p = random_pair(taken[t], 112, depths[d]);
                ox_tensor *x = ox_randn(OX_SHAPE(70, depths[d]), OX_F32);
                reference r = reference_of(x, p.twin);
                for (int exact = 0; exact < 2; exact++) {
                    ox_set_exact(exact != 0);
                    for (int n = 0; n < 4; n++)
                        for (int m = 0; m < 6; m++)
                            OX_SCOPE {
                                if (is_mirror() && (m + n + d) % 5 != 0) continue;
                                if (!is_repacked(&p)) CHECK(ox_prepack(p.w) == OX_OK);
                                check_product(taken[t], &r, &p, x, lines[m], rows[n], exact != 0);
                            }
                }
                ox_set_exact(false);
                CHECK(ox_prepack(p.w) == OX_OK && is_repacked(&p));
                ox_tensor *all = ox_arange(0, 112, 1, OX_I64), *numbers = ox_embedding(all, p.w);
                CHECK(same_bits(numbers, ox_embedding(all, p.twin)) && (is_repacked(&p) || is_mirror()));
                free_reference(&r);
                free(p.bytes);
            }
}

/* ---- other ways to multiply ---------------------------------------------------------------------------- */

/* y of w against the same of the twin: bit for bit where `exact`; else within 2e-6 of `size`, what is added
 * up without its sign, NULL: of the largest number, or within what y's dtype rounds to. Infinite scales may
 * lead to infinities or NaN, as sums of integers or of floats are taken times them. */
static void check_against(const char *what, ox_dtype dtype, ox_tensor *y, ox_tensor *plain, ox_tensor *size,
                          bool exact) {
    if (!y || !plain || ox_numel(y) != ox_numel(plain) || y->dtype != plain->dtype) {
        CHECK_MSG(false, "%s %s: %s", what, ox_dtype_name(dtype), ox_error_text());
        ox_error_clear();
        return;
    }
    if (exact) {
        CHECK_MSG(same_bits(y, plain), "%s %s: other bits", what, ox_dtype_name(dtype));
        return;
    }
    double *a = doubles_of(y), *b = doubles_of(plain), *sizes = size ? doubles_of(size) : NULL, most = 0,
           worst = 0;
    double step = y->dtype == OX_F16 ? 2e-3 : y->dtype == OX_BF16 ? 1.6e-2 : 2e-6;
    for (int64_t i = 0; i < ox_numel(y); i++)
        if (isfinite(b[i]) && fabs(b[i]) > most) most = fabs(b[i]);
    for (int64_t i = 0; i < ox_numel(y); i++) {
        double off = fabs(a[i] - b[i]) / (step * (sizes ? sizes[i] : most) + 1e-300);
        if (!isfinite(b[i])) off = isfinite(a[i]) ? INFINITY : 0;
        /* the largest scale of MXFP4 is finite: whether a sum overflows depends on the order of its terms */
        if (dtype == OX_MXFP4 && sizes && isinf(sizes[i])) off = 0;
        worst = check_worst(worst, off);
    }
    CHECK_MSG(worst <= 1, "%s %s: off by %g times what is allowed", what, ox_dtype_name(dtype), worst);
    free(a);
    free(b);
    free(sizes);
}

/* Sums of activations without their signs, each times the largest weight of its group of 32: an offset that
 * makes codes unsigned is multiplied, too, and taken off again. */
static ox_tensor *size_of(ox_tensor *x, ox_tensor *w) {
    int64_t n = w->shape[0], k = w->shape[1];
    ox_tensor *numbers = ox_view(ox_abs(ox_cast(w, OX_F64)), OX_SHAPE(n, k / 32, 32));
    ox_tensor *most = ox_expand(ox_amax(numbers, OX_DIMS(-1), true), OX_SHAPE(n, k / 32, 32));
    return ox_matmul(ox_abs(ox_cast(x, OX_F64)), ox_t(ox_reshape(most, OX_SHAPE(n, k))));
}

typedef ox_tensor *(*product)(ox_tensor *w, ox_tensor *x);

static ox_tensor *with_bias(ox_tensor *w, ox_tensor *x) {
    return ox_linear(x, w, ox_linspace(-1, 1, w->shape[0], OX_F32));
}
static ox_tensor *with_half_bias(ox_tensor *w, ox_tensor *x) {
    return ox_linear_act(x, w, ox_linspace(-1, 1, w->shape[0], OX_F16), OX_ACTIVATION_SILU);
}
static ox_tensor *with_gelu(ox_tensor *w, ox_tensor *x) {
    return ox_linear_act(x, w, NULL, OX_ACTIVATION_GELU);
}
static ox_tensor *by_matmul(ox_tensor *w, ox_tensor *x) {
    return ox_matmul(x, ox_t(w));
}
static ox_tensor *blocks_first(ox_tensor *w, ox_tensor *x) {
    return ox_matmul(w, ox_t(x));
}
static ox_tensor *by_vector(ox_tensor *w, ox_tensor *x) {
    return ox_matmul(w, ox_select(x, 0, 0));
}
static ox_tensor *vector_first(ox_tensor *w, ox_tensor *x) {
    return ox_matmul(ox_select(x, 0, 0), ox_t(w));
}
static ox_tensor *by_addmm(ox_tensor *w, ox_tensor *x) {
    return ox_addmm(ox_linspace(-2, 2, w->shape[0], OX_F32), x, ox_t(w), 0.5, 3);
}
static ox_tensor *blocks_first_addmm(ox_tensor *w, ox_tensor *x) {
    return ox_addmm(ox_linspace(-2, 2, x->shape[0], OX_F32), w, ox_t(x), 0.5, 3);
}
static ox_tensor *in_three_dims(ox_tensor *w, ox_tensor *x) {
    return ox_linear(ox_expand(ox_unsqueeze(x, 0), OX_SHAPE(3, -1, -1)), w, NULL); /* of the same memory */
}
static ox_tensor *in_columns(ox_tensor *w, ox_tensor *x) {
    return ox_linear(ox_t(ox_contiguous(ox_t(x))), w, NULL);
}
static ox_tensor *every_other(ox_tensor *w, ox_tensor *x) {
    ox_tensor *twice[2];
    twice[0] = twice[1] = x;
    return ox_linear(ox_slice(ox_cat(twice, 2, 1), 1, 0, OX_END, 2), w, NULL);
}
static ox_tensor *flipped_x(ox_tensor *w, ox_tensor *x) {
    return ox_linear(backwards(x, OX_DIMS(0, 1)), w, NULL);
}
static ox_tensor *no_rows(ox_tensor *w, ox_tensor *x) {
    return ox_linear(ox_narrow(x, 0, 0, 0), w, NULL);
}
static ox_tensor *of_halves(ox_tensor *w, ox_tensor *x) {
    return ox_linear(ox_cast(x, OX_F16), w, NULL);
}
static ox_tensor *of_bf16(ox_tensor *w, ox_tensor *x) {
    return ox_linear(ox_cast(x, OX_BF16), w, NULL);
}
static ox_tensor *of_doubles(ox_tensor *w, ox_tensor *x) {
    return ox_linear(ox_cast(x, OX_F64), w, NULL);
}
/* Views of the weights: some are whole groups of rows, others make the library put all of them back. */
static ox_tensor *whole_groups(ox_tensor *w, ox_tensor *x) {
    return ox_linear(x, ox_narrow(w, 0, 16, 32), NULL);
}
static ox_tensor *half_a_group(ox_tensor *w, ox_tensor *x) {
    return ox_linear(x, ox_narrow(w, 0, 0, 8), NULL);
}
static ox_tensor *across_groups(ox_tensor *w, ox_tensor *x) {
    return ox_linear(x, ox_narrow(w, 0, 8, 16), NULL);
}
static ox_tensor *every_third(ox_tensor *w, ox_tensor *x) {
    return ox_linear(x, ox_slice(w, 0, 0, OX_END, 3), NULL);
}
static ox_tensor *last_first(ox_tensor *w, ox_tensor *x) {
    return ox_linear(x, backwards(w, OX_DIMS(0)), NULL);
}
static ox_tensor *part_of_k(ox_tensor *w, ox_tensor *x) {
    return ox_linear(ox_narrow(x, 1, 256, 256), ox_narrow(w, 1, 256, 256), NULL);
}
static ox_tensor *one_row(ox_tensor *w, ox_tensor *x) {
    return ox_matmul(x, ox_select(w, 0, 17));
}
static ox_tensor *same_row(ox_tensor *w, ox_tensor *x) {
    return ox_linear(x, ox_expand(ox_narrow(w, 0, 3, 1), OX_SHAPE(16, -1)), NULL);
}
static ox_tensor *no_weights(ox_tensor *w, ox_tensor *x) {
    return ox_linear(x, ox_narrow(w, 0, 16, 0), NULL);
}
static ox_tensor *other_shape(ox_tensor *w, ox_tensor *x) {
    return ox_linear(ox_narrow(x, 1, 0, 256), ox_view(w, OX_SHAPE(w->shape[0] * w->shape[1] / 256, 256)),
                     NULL);
}
static ox_tensor *batches(ox_tensor *w, ox_tensor *x) {
    ox_tensor *three = ox_expand(ox_unsqueeze(x, 0), OX_SHAPE(3, -1, -1));
    return ox_matmul(three, ox_transpose(ox_view(w, OX_SHAPE(3, 16, w->shape[1])), 1, 2));
}

static const struct {
    const char *name;
    product run;
} products[] = {
    {"bias", with_bias},
    {"f16 bias, silu", with_half_bias},
    {"gelu", with_gelu},
    {"matmul", by_matmul},
    {"blocks first", blocks_first},
    {"blocks x vector", by_vector},
    {"vector x blocks", vector_first},
    {"addmm", by_addmm},
    {"addmm, blocks first", blocks_first_addmm},
    {"three dims", in_three_dims},
    {"x in columns", in_columns},
    {"x every other", every_other},
    {"x flipped", flipped_x},
    {"no rows", no_rows},
    {"f16", of_halves},
    {"bf16", of_bf16},
    {"f64", of_doubles},
    {"whole groups", whole_groups},
    {"half a group", half_a_group},
    {"across groups", across_groups},
    {"every third row", every_third},
    {"rows flipped", last_first},
    {"part of k", part_of_k},
    {"one row", one_row},
    {"same row", same_row},
    {"no weights", no_weights},
    {"another shape", other_shape},
    {"batches", batches},
};
enum { PRODUCTS = (int)(sizeof products / sizeof *products) };

static void test_ways(void) {
    static const int64_t lines[] = {1, 3, 20};
    for (int t = 0; t < taken_count; t++)
        OX_SCOPE {
            pair p = random_pair(taken[t], 48, 512);
            for (int way = 0; way < PRODUCTS; way++)
                for (int m = 0; m < 3; m++)
                    for (int exact = 0; exact < 2; exact++)
                        OX_SCOPE {
                            if (is_mirror() && (way + m + t) % 3 != 0) continue;
                            ox_manual_seed((uint64_t)way);
                            ox_tensor *x = ox_randn(OX_SHAPE(lines[m], 512), OX_F32);
                            CHECK(ox_prepack(p.w) == OX_OK && is_repacked(&p));
                            ox_set_exact(exact != 0);
                            ox_tensor *y = products[way].run(p.w, x), *plain = products[way].run(p.twin, x);
                            check_against(products[way].name, taken[t]->dtype, y, plain, NULL, exact != 0);
                            ox_set_exact(false);
                            CHECK_MSG(memcmp(ox_data(p.w), p.bytes, p.count) == 0, "%s %s: bytes changed",
                                      products[way].name, ox_dtype_name(taken[t]->dtype));
                        }
            free(p.bytes);
        }
}

/* A row's product is the same beside others, for any groups of weights at once and any number of threads. */
static void test_same_bits_of(int64_t rows) {
    for (int t = 0; t < taken_count; t++)
        OX_SCOPE {
            pair p = repacked_pair(taken[t], rows, 768);
            ox_tensor *x = ox_randn(OX_SHAPE(7, 768), OX_F32), *y = ox_linear(x, p.w, NULL);
            for (int i = 0; i < 7; i++)
                CHECK(same_bits(ox_narrow(y, 0, i, 1), ox_linear(ox_narrow(x, 0, i, 1), p.w, NULL)));
            for (int64_t i = 0; i < rows; i += 16)
                CHECK(same_bits(ox_narrow(y, 1, i, 16), ox_linear(x, ox_narrow(p.w, 0, i, 16), NULL)));
            int threads = ox_threads();
            for (int n = 1; n < 6; n++) {
                ox_set_threads(n);
                CHECK(same_bits(y, ox_linear(x, p.w, NULL)));
                CHECK(same_bits(ox_narrow(y, 0, 0, 1), ox_linear(ox_narrow(x, 0, 0, 1), p.w, NULL)));
            }
            ox_set_threads(threads);
            free(p.bytes);
        }
}

/* Shares that are one group, of odd numbers of them, with a short one at the end, and of several tasks. */
static void test_same_bits(void) {
    static const int64_t rows[] = {16, 32, 80, 112, 16 * 33, 16 * 261};
    for (int i = 0; i < (is_mirror() ? 4 : 6); i++) test_same_bits_of(rows[i]);
}

/* ---- numbers at the edges ------------------------------------------------------------------------------ */

/* Integer sums must not wrap: all codes are the largest or the smallest, all scales too, and all activations
 * are as large as each other, so that they are multiplied with no error by themselves. */
static void test_largest(void) {
    static const uint8_t codes[] = {0xff, 0x00, 0xf0, 0x0f, 0x7f, 0x80}, scales[] = {0xff, 0x7f, 0x80, 0x00};
    for (int t = 0; t < taken_count; t++)
        for (int code = 0; code < 6; code++)
            for (int scale = 0; scale < 4; scale++)
                OX_SCOPE {
                    const repack_case *c = taken[t];
                    if (c->small_count == 0 && scale > 0) continue;
                    uint8_t *bytes = random_blocks(c, 16 * 512);
                    for (int64_t i = 0; i < bytes_of(c->dtype, 16 * 512); i++) {
                        int at = (int)(i % block_bytes(c->dtype));
                        bool of_scale = at == c->power_at;
                        for (int j = 0; j < 2; j++) of_scale = of_scale || at / 2 * 2 == c->scale_at[j];
                        bool small = at >= c->small_at && at < c->small_at + c->small_count;
                        if (!of_scale) bytes[i] = small ? scales[scale] : codes[code];
                    }
                    pair p = pair_over(c->dtype, 16, 512, bytes);
                    ox_tensor *x = ox_full(OX_SHAPE(9, 512), 2.5, OX_F32);
                    float *numbers = (float *)ox_data(x);
                    for (int i = 0; i < 9 * 512; i++) {
                        int row = i / 512, k = i % 512;
                        bool less = row == 1 || (row == 2 && k % 2) || (row == 3 && k % 32 < 16) ||
                                    (row == 4 && k % 128 < 64) || (row == 5 && k < 256) ||
                                    (row == 6 && (random_bits() & 1));
                        if (less) numbers[i] = -numbers[i];
                    }
                    reference r = reference_of(x, p.twin);
                    for (int i = 0; i < 9 * 16; i++) /* all weights are zero */
                        if (r.size[i] == 0) r.size[i] = 512 * 2.5;
                    CHECK(ox_prepack(p.w) == OX_OK);
                    for (int i = 0; i < 3; i++) {
                        int64_t m = i == 0 ? 1 : 7 + i;
                        double worst, allowed = m > 8 ? 4e-3 : 2e-6; /* bf16 or 12 bits, by some tiers */
                        error_of(&r, ox_linear(ox_narrow(x, 0, 0, m), p.w, NULL), &worst);
                        CHECK_MSG(worst <= allowed, "%s codes %02x scales %02x m %d: error %g",
                                  ox_dtype_name(c->dtype), codes[code], scales[scale], (int)m, worst);
                    }
                    free_reference(&r);
                    free(p.bytes);
                }
}

/* Scales that are zero, subnormal, the largest, infinite or NaN, in one block of a row each; the other
 * rows do not notice. */
static void test_scales(void) {
    static const uint8_t powers[] = {0, 1, 2, 3, 40, 180, 200, 255, 255, 255};
    static const unsigned scales[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400,
                                      0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00};
    enum { SCALES = (int)(sizeof scales / sizeof *scales) };
    for (int t = 0; t < taken_count; t++)
        for (int which = 0; which < 2; which++)
            for (int exact = 0; exact < 2; exact++)
                OX_SCOPE {
                    const repack_case *c = taken[t];
                    bool power = which == 0 && c->power_at >= 0;
                    if (c->scale_at[which] < 0 && !power) continue;
                    uint8_t *bytes = random_blocks(c, 16 * 512);
                    for (int row = 0; row < SCALES; row++) {
                        uint8_t *end = bytes + bytes_of(c->dtype, (row + 1) * 512);
                        uint8_t *block = end - block_bytes(c->dtype) * (1 + row % 2);
                        if (power)
                            block[c->power_at] = powers[row];
                        else
                            put_half(block + c->scale_at[which], scales[row]);
                    }
                    pair p = pair_over(c->dtype, 16, 512, bytes);
                    ox_tensor *x = ox_randn(OX_SHAPE(12, 512), OX_F32);
                    CHECK(ox_prepack(p.w) == OX_OK);
                    ox_set_exact(exact != 0);
                    for (int64_t m = 1; m < 13; m += 11) {
                        ox_tensor *part = ox_narrow(x, 0, 0, m), *y = ox_linear(part, p.w, NULL),
                                  *plain = ox_linear(part, p.twin, NULL);
                        bool bits = exact != 0 || m > 8;
                        check_against("scales", c->dtype, y, plain, size_of(part, p.twin), exact != 0);
                        check_against("finite scales", c->dtype, ox_narrow(y, 1, 0, 7),
                                      ox_narrow(plain, 1, 0, 7), size_of(part, ox_narrow(p.twin, 0, 0, 7)),
                                      bits);
                    }
                    ox_set_exact(false);
                    free(p.bytes);
                }
}

/* Activations that are zero, tiny, huge, infinite or NaN. */
static void test_activations(void) {
    static const float numbers[] = {0, -0.0f, 1e-44f, 1e-38f, 1e30f, 3.4e38f, INFINITY, -INFINITY, NAN};
    enum { NUMBERS = (int)(sizeof numbers / sizeof *numbers) };
    for (int t = 0; t < taken_count; t++)
        for (int all = 0; all < 2; all++)
            OX_SCOPE {
                pair p = random_pair(taken[t], 32, 512);
                ox_tensor *x = ox_randn(OX_SHAPE(NUMBERS, 512), OX_F32);
                for (int row = 0; row < NUMBERS; row++)
                    for (int k = 0; k < 512; k++)
                        if (all || k % 200 == 7 * row) ((float *)ox_data(x))[512 * row + k] = numbers[row];
                for (int exact = 0; exact < 2; exact++) {
                    CHECK(ox_prepack(p.w) == OX_OK);
                    ox_set_exact(exact != 0);
                    for (int row = 0; row < NUMBERS; row++) {
                        ox_tensor *one = ox_narrow(x, 0, row, 1);
                        check_against(all ? "all activations" : "activations", taken[t]->dtype,
                                      ox_linear(one, p.w, NULL), ox_linear(one, p.twin, NULL),
                                      size_of(one, p.twin), exact != 0);
                    }
                    check_against("activations", taken[t]->dtype, ox_linear(x, p.w, NULL),
                                  ox_linear(x, p.twin, NULL), NULL, true);
                    ox_set_exact(false);
                }
                free(p.bytes);
            }
}

/* ---- what everybody else sees -------------------------------------------------------------------------- */

typedef ox_tensor *(*sight)(ox_tensor *w);

static ox_tensor *itself(ox_tensor *w) {
    return w;
}
static ox_tensor *numbers_of(ox_tensor *w) {
    return ox_cast(w, OX_F32);
}
static ox_tensor *halves_of(ox_tensor *w) {
    return ox_cast(w, OX_F16);
}
static ox_tensor *other_blocks(ox_tensor *w) {
    return ox_cast(w, OX_Q8_0);
}
static ox_tensor *packed_again(ox_tensor *w) {
    return ox_cast(ox_cast(w, OX_F32), w->dtype);
}
static ox_tensor *cloned(ox_tensor *w) {
    return ox_clone(w);
}
static ox_tensor *turned(ox_tensor *w) {
    return ox_cast(ox_t(w), OX_F32);
}
static ox_tensor *row_of(ox_tensor *w) {
    return ox_cast(ox_select(w, 0, 21), OX_F32);
}
static ox_tensor *rows_of(ox_tensor *w) {
    return ox_contiguous(ox_narrow(w, 0, 16, 16));
}
static ox_tensor *odd_rows(ox_tensor *w) {
    return ox_contiguous(ox_narrow(w, 0, 5, 9));
}
static ox_tensor *columns_of(ox_tensor *w) {
    return ox_contiguous(ox_narrow(w, 1, 256, 256));
}
static ox_tensor *flipped(ox_tensor *w) {
    return ox_contiguous(backwards(w, OX_DIMS(0)));
}
static ox_tensor *expanded(ox_tensor *w) {
    return ox_cast(ox_expand(ox_unsqueeze(w, 0), OX_SHAPE(2, -1, -1)), OX_F32);
}
static ox_tensor *empty(ox_tensor *w) {
    return ox_cast(ox_narrow(w, 0, 16, 0), OX_F32);
}
static ox_tensor *looked_up(ox_tensor *w) {
    static const int64_t ids[] = {31, 0, 17, 17, 2};
    return ox_embedding(ox_from_ints(ids, OX_SHAPE(5), OX_I64), w);
}
static ox_tensor *looked_up_in_part(ox_tensor *w) {
    static const int64_t ids[] = {15, 0, 7, 7};
    return ox_embedding(ox_t(ox_from_ints(ids, OX_SHAPE(2, 2), OX_I32)), ox_narrow(w, 0, 16, 16));
}
static ox_tensor *looked_up_across(ox_tensor *w) {
    static const int64_t ids[] = {15, 0, 7, 8};
    return ox_embedding(backwards(ox_from_ints(ids, OX_SHAPE(4), OX_I64), OX_DIMS(0)),
                        ox_narrow(w, 0, 3, 16));
}
static ox_tensor *looked_up_backwards(ox_tensor *w) {
    static const int64_t ids[] = {15, 0, 31};
    return ox_embedding(ox_from_ints(ids, OX_SHAPE(3), OX_I64), backwards(w, OX_DIMS(0)));
}
static ox_tensor *copied(ox_tensor *w) {
    return ox_copy_(ox_zeros(OX_SHAPE(32, 512), OX_F32), w);
}
static ox_tensor *read_out(ox_tensor *w) {
    float *numbers = (float *)malloc(32 * 512 * sizeof *numbers);
    ox_tensor *t = ox_to_floats(w, numbers, 32 * 512) == OX_OK
                       ? ox_from_floats(numbers, OX_SHAPE(32, 512), OX_F32)
                       : NULL;
    free(numbers);
    return t;
}
static ox_tensor *printed(ox_tensor *w) {
    char text[8000];
    size_t length = ox_format(w, text, sizeof text);
    CHECK(length > 0 && length < sizeof text);
    return ox_from_data(text, OX_SHAPE((int64_t)length), OX_U8);
}
static ox_tensor *attended(ox_tensor *w) {
    ox_tensor *cache = ox_view(w, OX_SHAPE(1, 1, 64, 256)), *query = ox_linspace(-1, 1, 256, OX_F32);
    return ox_scaled_dot_product_attention(ox_view(query, OX_SHAPE(1, 1, 1, 256)), cache, cache, NULL);
}
static ox_tensor *one_of_three_dims(ox_tensor *w) {
    return ox_cast(ox_select(ox_view(w, OX_SHAPE(2, 16, 512)), 0, 1), OX_F32);
}

static const struct {
    const char *name;
    sight see;
} sights[] = {
    {"ox_data", itself},
    {"cast", numbers_of},
    {"cast to f16", halves_of},
    {"cast to q8_0", other_blocks},
    {"packed again", packed_again},
    {"clone", cloned},
    {"transpose", turned},
    {"row", row_of},
    {"16 rows", rows_of},
    {"odd rows", odd_rows},
    {"columns", columns_of},
    {"flip", flipped},
    {"expand", expanded},
    {"empty", empty},
    {"embedding", looked_up},
    {"embedding of 16 rows", looked_up_in_part},
    {"embedding across groups", looked_up_across},
    {"embedding, flipped", looked_up_backwards},
    {"copy_", copied},
    {"to_floats", read_out},
    {"format", printed},
    {"attention", attended},
    {"select", one_of_three_dims},
};
enum { SIGHTS = (int)(sizeof sights / sizeof *sights) };

static void test_sights(void) {
    for (int t = 0; t < taken_count; t++)
        OX_SCOPE {
            pair p = random_pair(taken[t], 32, 512);
            for (int i = 0; i < SIGHTS; i++)
                OX_SCOPE {
                    CHECK(ox_prepack(p.w) == OX_OK && is_repacked(&p));
                    ox_tensor *seen = sights[i].see(p.w), *plain = sights[i].see(p.twin);
                    if (!seen && !plain) { /* some types cannot be packed */
                        CHECK(ox_error() == OX_ERR_UNSUPPORTED || ox_error() == OX_ERR_DTYPE);
                        ox_error_clear();
                        continue;
                    }
                    check_against(sights[i].name, taken[t]->dtype, seen, plain, NULL, true);
                    bool as_it_lies = sights[i].see == looked_up || sights[i].see == looked_up_in_part;
                    CHECK(!as_it_lies || is_repacked(&p) || is_mirror());
                }
            CHECK(ox_prepack(p.w) == OX_OK && is_repacked(&p) && ox_equal(p.w, p.twin));
            CHECK(ox_prepack(p.w) == OX_OK && is_repacked(&p));
            CHECK(ox_unpack(p.w) == OX_OK && !is_repacked(&p));
            free(p.bytes);
        }
}

/* Written to after it was repacked: the bytes that were not written stay, and no old ones come back. */
static void test_writing(void) {
    for (int t = 0; t < taken_count; t++)
        OX_SCOPE {
            pair p = repacked_pair(taken[t], 32, 256), q = random_pair(taken[t], 16, 256);
            CHECK(ox_copy_(ox_narrow(p.w, 0, 8, 16), q.twin) != NULL);
            memcpy(p.bytes + bytes_of(taken[t]->dtype, 8 * 256), q.bytes, q.count);
            CHECK(memcmp(ox_data(p.w), p.bytes, p.count) == 0);
            CHECK(ox_prepack(p.w) == OX_OK && is_repacked(&p) && ox_equal(p.w, p.twin));
            free(p.bytes);
            free(q.bytes);
        }
}

/* Twice, parts of one matrix that overlap, other shapes over the same bytes. */
static void test_overlaps(void) {
    for (int t = 0; t < taken_count; t++)
        OX_SCOPE {
            ox_dtype dtype = taken[t]->dtype;
            pair p = random_pair(taken[t], 64, 512);
            ox_tensor *x = ox_randn(OX_SHAPE(3, 512), OX_F32), *half = ox_narrow(x, 1, 0, 256);
            ox_tensor *views[] = {p.w,
                                  p.w,
                                  ox_narrow(p.w, 0, 0, 32),
                                  ox_narrow(p.w, 0, 16, 32),
                                  ox_narrow(p.w, 0, 24, 16),
                                  ox_view(p.w, OX_SHAPE(128, 256)),
                                  ox_narrow(p.w, 0, 48, 16),
                                  p.w,
                                  ox_view(p.w, OX_SHAPE(32, 1024)),
                                  ox_narrow(p.w, 0, 40, 24),
                                  ox_narrow(p.w, 1, 0, 256),
                                  ox_t(p.w)};
            for (int i = 0; i < (int)(sizeof views / sizeof *views); i++) {
                CHECK(ox_prepack(views[i]) == OX_OK);
                check_against("overlapping", dtype, ox_linear(x, p.w, NULL), ox_linear(x, p.twin, NULL), NULL,
                              false);
                CHECK(ox_prepack(views[i]) == OX_OK);
                check_against("overlapping, k 256", dtype,
                              ox_linear(half, ox_view(p.w, OX_SHAPE(128, 256)), NULL),
                              ox_linear(half, ox_view(p.twin, OX_SHAPE(128, 256)), NULL), NULL, false);
                CHECK(ox_prepack(views[i]) == OX_OK);
                check_against("overlapping, 16 rows", dtype, ox_linear(x, ox_narrow(p.w, 0, 16, 16), NULL),
                              ox_linear(x, ox_narrow(p.twin, 0, 16, 16), NULL), NULL, false);
                CHECK(ox_prepack(views[i]) == OX_OK);
                if (i % 3 == 0) CHECK(ox_equal(p.w, p.twin));
            }
            /* two parts at once, and the third between them not */
            CHECK(ox_unpack(p.w) == OX_OK && !is_repacked(&p));
            CHECK(ox_prepack(ox_narrow(p.w, 0, 0, 16)) == OX_OK);
            CHECK(ox_equal(p.w, p.twin));
            free(p.bytes);
        }
}

/* What cannot be repacked, or must not: the bytes stay, and products are right. */
static void test_refused(void) {
    static const uint8_t constant[16 * 8 * 18] = {1, 36, 7}; /* pages that cannot be written */
    OX_SCOPE {
        ox_tensor *w =
            ox_from_blob((void *)(uintptr_t)constant, OX_SHAPE(16, 256), NULL, OX_Q4_0, NULL, NULL);
        CHECK(ox_prepack(w) == OX_OK && ox_data(w) == (const void *)constant);
        CHECK(ox_linear(ox_ones(OX_SHAPE(1, 256), OX_F32), w, NULL) != NULL);
        CHECK(ox_prepack(ox_narrow(w, 0, 0, 16)) == OX_OK && ox_unpack(w) == OX_OK);
    }
    for (int t = 0; t < taken_count; t++)
        for (int i = 0; i < 12; i++)
            OX_SCOPE {
                int64_t rows = i == 0 ? 15 : i == 1 ? 17 : i == 2 ? 1 : 32;
                pair p = random_pair(taken[t], rows, 512);
                ox_tensor *w = i < 3     ? p.w
                               : i == 3  ? ox_narrow(p.w, 0, 0, 8)
                               : i == 4  ? ox_view(p.w, OX_SHAPE(32 * 512))
                               : i == 5  ? backwards(ox_view(p.w, OX_SHAPE(2, 16, 512)), OX_DIMS(0))
                               : i == 6  ? ox_t(p.w)
                               : i == 7  ? ox_narrow(p.w, 1, 0, 256)
                               : i == 8  ? backwards(p.w, OX_DIMS(0))
                               : i == 9  ? ox_slice(p.w, 0, 0, 32, 2)
                               : i == 10 ? ox_narrow(p.w, 0, 0, 0)
                                         : p.twin;
                CHECK(ox_prepack(w) == OX_OK);
                CHECK_MSG(!is_repacked(&p) && memcmp(ox_data(p.w), p.bytes, p.count) == 0, "%s, %d",
                          ox_dtype_name(taken[t]->dtype), i);
                ox_tensor *x = ox_randn(OX_SHAPE(2, 512), OX_F32);
                check_against("not repacked", taken[t]->dtype, ox_linear(x, p.w, NULL),
                              ox_linear(x, p.twin, NULL), NULL, true);
                free(p.bytes);
            }
}

/* What comes to lie where repacked weights lay is not put back. */
static void test_reuse(void) {
    int again = 0;
    for (int t = 0; t < taken_count; t++)
        for (int i = 0; i < 4; i++) {
            uint8_t *lay = NULL;
            OX_SCOPE {
                pair p = repacked_pair(taken[t], 16 << i % 2, 256 << i / 2);
                CHECK(is_repacked(&p));
                lay = p.lies;
                free(p.bytes);
            }
            OX_SCOPE {
                pair p = random_pair(taken[t], 16 << i % 2, 256 << i / 2);
                if (p.lies == lay) again++;
                CHECK(memcmp(ox_data(p.w), p.bytes, p.count) == 0);
                CHECK(ox_prepack(p.w) == OX_OK && is_repacked(&p) && ox_equal(p.w, p.twin));
                free(p.bytes);
            }
        }
    CHECK(taken_count == 0 || again > 0); /* or nothing was tested */
}

/* On another device: the bytes that go there, and weights in memory beside operands there. */
static void test_stream(void) {
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = (size_t)16 << 20;
    ox_stream *stream = ox_stream_open(&desc);
    CHECK_MSG(stream != NULL, "%s", ox_error_text());
    for (int t = 0; t < taken_count && stream; t++)
        OX_SCOPE {
            pair p = repacked_pair(taken[t], 48, 512);
            ox_device *device = ox_stream_device(stream);
            ox_tensor *there = ox_to(p.w, device), *x = ox_randn(OX_SHAPE(20, 512), OX_F32);
            CHECK(ox_prepack(there) == OX_OK); /* nothing to do */
            CHECK(ox_equal(ox_to(there, ox_cpu()), p.twin));
            for (int m = 3; m < 21; m += 17) {
                ox_tensor *part = ox_narrow(x, 0, 0, m), *plain = ox_linear(part, p.twin, NULL);
                CHECK(ox_prepack(p.w) == OX_OK && is_repacked(&p));
                check_against("x on a stream", taken[t]->dtype,
                              ox_to(ox_linear(ox_to(part, device), p.w, NULL), ox_cpu()), plain, NULL, false);
                check_against("w on a stream", taken[t]->dtype, ox_to(ox_linear(part, there, NULL), ox_cpu()),
                              plain, NULL, true);
            }
            free(p.bytes);
        }
    ox_device_close(ox_stream_device(stream));
}

/* ---- files --------------------------------------------------------------------------------------------- */

static ox_file *open_weights(const char *path, bool copies) {
    ox_file *file = copies ? ox_file_open_copy(path, NULL) : ox_file_open(path, NULL);
    CHECK_MSG(file != NULL, "%s", ox_error_text());
    return file;
}

/* Owned by the caller: outside of any scope. */
static ox_tensor *load(ox_file *file, const char *name) {
    ox_tensor *t = ox_file_tensor(file, name);
    CHECK_MSG(t != NULL, "%s", ox_error_text());
    return t;
}

/* Two matrices of a type with floats between them. */
static void write_weights(const char *path, const repack_case *c, const uint8_t *w, const uint8_t *v) {
    static const int64_t shapes[3][2] = {{32, 512}, {4, 8}, {16, 256}};
    float floats[32];
    for (int i = 0; i < 32; i++) floats[i] = (float)i;
    gguf_make g;
    memset(&g, 0, sizeof g);
    int type = (int)ox_dtype_get_info(c->dtype)->gguf_id;
    gguf_tensor(&g, "w", type, 2, shapes[0], w, (size_t)bytes_of(c->dtype, 32 * 512));
    gguf_tensor(&g, "f", 0, 2, shapes[1], floats, sizeof floats);
    gguf_tensor(&g, "v", type, 2, shapes[2], v, (size_t)bytes_of(c->dtype, 16 * 256));
    CHECK(gguf_write(&g, path) == 0);
}

static bool is_as_before(ox_tensor *t, const uint8_t *bytes) {
    return t && memcmp(ox_data(t), bytes, ox_nbytes(t)) == 0;
}

static bool lies_repacked(const void *lies, const uint8_t *bytes, ox_tensor *t) {
    return memcmp(lies, bytes, ox_nbytes(t)) != 0;
}

/* Several tensors over the same bytes of a file, whose storages know nothing of each other. */
static void check_file(const repack_case *c, const char *path, const uint8_t *w, const uint8_t *v,
                       bool copies) {
    ox_file *file = open_weights(path, copies), *again = open_weights(path, copies);
    ox_tensor *a = load(file, "w"), *f = load(file, "f"), *other = load(again, "w");
    OX_SCOPE {
        ox_tensor *twin = ox_from_blob((void *)(uintptr_t)w, OX_SHAPE(32, 512), NULL, c->dtype, NULL, NULL);
        ox_tensor *x = ox_randn(OX_SHAPE(2, 512), OX_F32), *plain = ox_linear(x, twin, NULL);
        const void *lies = ox_data(a), *lie_others = ox_data(other);
        CHECK(ox_prepack(a) == OX_OK && lies_repacked(lies, w, a));
        CHECK(!lies_repacked(lie_others, w, other) && is_as_before(other, w)); /* a file of its own */
        ox_tensor *b = load(file, "w"), *last = load(file, "v");
        check_against("loaded later", c->dtype, ox_linear(x, b, NULL), plain, NULL, false);
        CHECK(lies_repacked(lies, w, a) || is_mirror()); /* used by the other tensor, too */
        CHECK(ox_data(b) == lies && is_as_before(b, w) && is_as_before(a, w));
        CHECK(ox_prepack(b) == OX_OK && lies_repacked(lies, w, a));
        check_against("loaded before", c->dtype, ox_linear(x, a, NULL), plain, NULL, false);
        CHECK(ox_prepack(b) == OX_OK && ox_prepack(last) == OX_OK && ox_prepack(f) == OX_OK);
        CHECK(is_as_before(last, v) && (lies_repacked(lies, w, a) || is_mirror())); /* each by itself */
        CHECK(ox_prepack(last) == OX_OK && ox_unpack(b) == OX_OK && !lies_repacked(lies, w, a));
        CHECK(ox_prepack(b) == OX_OK && ox_equal(ox_clone(a), twin) && is_as_before(last, v));
        CHECK(ox_prepack(other) == OX_OK && lies_repacked(lie_others, w, other));
        for (int i = 0; i < 32; i++) CHECK(((const float *)ox_data(f))[i] == (float)i);
        ox_file_close(again);
        CHECK(ox_prepack(b) == OX_OK && is_as_before(other, w));
        ox_release(b);
        ox_release(last);
        CHECK(lies_repacked(lies, w, a)); /* until the file is closed or somebody looks */
        ox_tensor *third = load(file, "w");
        CHECK(is_as_before(third, w));
        ox_release(third);
    }
    ox_release(other);
    ox_release(a);
    ox_release(f);
    ox_file_close(file);
}

/* The file and two tensors of it go in every order, while weights are repacked. */
static void check_orders(const char *path, const uint8_t *w, const uint8_t *v, bool copies) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int i = 0; i < 6; i++) {
        ox_file *file = open_weights(path, copies);
        ox_tensor *a = load(file, "w"), *b = load(file, i % 2 ? "w" : "v");
        CHECK(ox_prepack(a) == OX_OK && ox_prepack(b) == OX_OK);
        for (int j = 0; j < 3; j++) {
            if (orders[i][j] == 0) ox_file_close(file);
            if (orders[i][j] == 1) {
                CHECK(j == 0 || is_as_before(a, w));
                CHECK(ox_prepack(a) == OX_OK);
                ox_release(a);
            }
            if (orders[i][j] == 2) {
                CHECK(j == 0 || is_as_before(b, i % 2 ? w : v));
                CHECK(ox_prepack(b) == OX_OK);
                ox_release(b);
            }
        }
    }
}

static void test_files(void) {
    char path[1024];
    snprintf(path, sizeof path, "%s", gguf_path("repack.gguf"));
    for (int t = 0; t < taken_count; t++) {
        uint8_t *w = random_blocks(taken[t], 32 * 512), *v = random_blocks(taken[t], 16 * 256);
        size_t before = ox_memory_get_stats().bytes_in_use;
        write_weights(path, taken[t], w, v);
        for (int copies = 0; copies < 2; copies++) {
            check_file(taken[t], path, w, v, copies != 0);
            check_orders(path, w, v, copies != 0);
        }
        ox_file *file = open_weights(path, false); /* what lies on the disk was not changed */
        ox_tensor *a = load(file, "w"), *b = load(file, "v");
        CHECK(is_as_before(a, w) && is_as_before(b, v));
        ox_file_close(file);
        ox_release(a);
        ox_release(b);
        CHECK(ox_memory_get_stats().bytes_in_use == before);
        free(w);
        free(v);
    }
    remove(path);
}

/* Written as floats, or refused, as without. */
static void test_saving(void) {
    char path[1024];
    const char *name = "w";
    snprintf(path, sizeof path, "%s", gguf_path("repack.safetensors"));
    for (int t = 0; t < taken_count; t++)
        OX_SCOPE {
            pair p = repacked_pair(taken[t], 32, 256);
            ox_tensor *numbers = ox_cast(p.w, OX_F32);
            CHECK(ox_save_safetensors(path, &name, &numbers, 1, NULL, 0, 0) == OX_OK);
            CHECK(same_bits(ox_load_file(path), ox_cast(p.twin, OX_F32)));
            CHECK(ox_prepack(p.w) == OX_OK);
            ox_status with = ox_save_safetensors(path, &name, &p.w, 1, NULL, 0, 0);
            ox_error_clear();
            CHECK(with == ox_save_safetensors(path, &name, &p.twin, 1, NULL, 0, 0));
            ox_error_clear();
            CHECK(is_as_before(p.w, p.bytes));
            free(p.bytes);
        }
    remove(path);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

#ifdef TEST_PTHREADS
enum { MULTIPLIERS = 3, LOOKS = 6 };

typedef struct shared {
    pair p;
    ox_tensor *x, *plain, *numbers, *size; /* what products and casts must give */
    pthread_mutex_t lock;
    int looking; /* threads; with the lock */
} shared;

typedef struct user {
    shared *s;
    int kind;
    bool good;
} user;

static bool is_near(ox_tensor *y, const shared *s) {
    double *got = doubles_of(y), *want = doubles_of(s->plain), *size = doubles_of(s->size);
    bool near = y != NULL;
    for (int64_t i = 0; near && i < ox_numel(y); i++) near = fabs(got[i] - want[i]) <= 2e-6 * size[i];
    free(got);
    free(want);
    free(size);
    return near;
}

static ox_tensor *in_parts(ox_tensor *x, ox_tensor *w) {
    ox_tensor *part[2];
    part[0] = ox_linear(x, ox_narrow(w, 0, 0, 24), NULL);
    part[1] = ox_linear(x, ox_narrow(w, 0, 24, w->shape[0] - 24), NULL);
    return ox_cat(part, 2, 1);
}

static int change_looking(shared *s, int by) {
    pthread_mutex_lock(&s->lock);
    int looking = s->looking += by;
    pthread_mutex_unlock(&s->lock);
    return looking;
}

/* Products, which hold what is repacked, as long as anybody wants to look: one is always at work. */
static void *multiply_main(void *arg) {
    user *u = (user *)arg;
    do
        OX_SCOPE {
            u->good = is_near(ox_linear(u->s->x, u->s->p.w, NULL), u->s) && u->good;
        }
    while (change_looking(u->s, 0) > 0);
    return NULL;
}

/* What makes the library put the bytes back: looks at them, casts, products with parts of the weights. */
static void *look_main(void *arg) {
    user *u = (user *)arg;
    const pair *p = &u->s->p;
    for (int i = 0; i < LOOKS; i++)
        OX_SCOPE {
            int way = (i + u->kind) % 3;
            bool good = way == 0   ? is_as_before(p->w, p->bytes)
                        : way == 1 ? same_bits(ox_cast(p->w, OX_F32), u->s->numbers)
                                   : is_near(in_parts(u->s->x, p->w), u->s);
            u->good = good && u->good;
        }
    change_looking(u->s, -1);
    return NULL;
}

/* What is repacked stays as it lies: a second model of the file may be opened while the first works. */
static void *prepack_main(void *arg) {
    user *u = (user *)arg;
    for (int i = 0; i < 20 * LOOKS; i++) u->good = ox_prepack(u->s->p.w) == OX_OK && u->good;
    change_looking(u->s, -1);
    return NULL;
}

static void check_threads(const repack_case *c, int64_t m, void *(*other)(void *)) {
    enum { USERS = MULTIPLIERS + 2 };
    shared s;
    user u[USERS];
    pthread_t thread[USERS];
    s.p = repacked_pair(c, 128, 512);
    s.x = ox_randn(OX_SHAPE(m, 512), OX_F32);
    s.plain = ox_linear(s.x, s.p.twin, NULL);
    s.numbers = ox_cast(s.p.twin, OX_F32);
    s.size = size_of(s.x, s.p.twin);
    s.looking = USERS - MULTIPLIERS;
    pthread_mutex_init(&s.lock, NULL);
    for (int i = 0; i < USERS; i++) {
        u[i].s = &s;
        u[i].kind = i;
        u[i].good = true;
        pthread_create(&thread[i], NULL, i < MULTIPLIERS ? multiply_main : other, &u[i]);
    }
    for (int i = 0; i < USERS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < USERS; i++) CHECK_MSG(u[i].good, "%s: thread %d", ox_dtype_name(c->dtype), i);
    CHECK(other == look_main || is_repacked(&s.p));
    pthread_mutex_destroy(&s.lock);
    free(s.p.bytes);
}

static void test_threads(void) {
    for (int t = 0; t < taken_count; t++)
        OX_SCOPE {
            check_threads(taken[t], 4, look_main);
            check_threads(taken[t], 12, look_main);
            check_threads(taken[t], 4, prepack_main);
        }
}
#else
static void test_threads(void) {
    check_skip("threads", "no POSIX threads here");
}
#endif

int main(void) {
    find_types();
    test_products();
    test_ways();
    test_same_bits();
    test_largest();
    test_scales();
    test_activations();
    test_sights();
    test_writing();
    test_overlaps();
    test_refused();
    test_reuse();
    test_stream();
    test_files();
    test_saving();
    if (!is_mirror()) test_threads(); /* there one call runs at a time */
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_memory_stats s = ox_memory_get_stats();
    CHECK(s.tensors == 0 && s.storages == 0 && s.bad_releases == 0);
    return check_done("repack");
}
