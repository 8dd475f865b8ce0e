/* test_linear_attention.c - ox_linear_attention against a loop in double: sizes, decays of a head, a row and
 * a number, memories that are erased, dtypes and layouts, calls one behind the other, threads, errors.
 * OX_TIERS OX_TSAN OX_QEMU OX_VULKAN(linear_attention) */
#include "oxtorch.h"
#include "check.h"
#include "operands.h"

#include <math.h>
#include <string.h>

typedef struct sizes {
    int64_t heads, length, keys, values;
} sizes;

enum { DECAY_HEAD, DECAY_ROW, DECAY_NUMBER, DECAYS };
enum { Q, K, V, DECAY, STATE, ERASE, WRITE, COUNT };

static double at(ox_tensor *t, int64_t a, int64_t b, int64_t c) {
    return t ? load_real(t->dtype, element(t, (a * t->shape[1] + b) * t->shape[2] + c)) : 0;
}

static double left_at(ox_tensor *decay, int64_t h, int64_t t, int64_t i, int64_t j) {
    const int64_t *n = decay->shape;
    if (decay->ndim == 3) return exp(at(decay, h, t, n[2] == 1 ? 0 : i));
    return exp(load_real(decay->dtype, element(decay, ((h * n[1] + t) * n[2] + i) * n[3] + j)));
}

/* The operands of a case; numbers are small, so that nothing grows for long. */
static void make(const sizes *n, int decay, bool erases, layout l, ox_dtype dtype, ox_tensor **in) {
    for (int i = 0; i < COUNT; i++) {
        int64_t shape[4] = {n->heads, i == STATE ? n->keys : n->length,
                            i == V || i == STATE ? n->values : n->keys, n->values};
        ox_tensor *base;
        in[i] = NULL;
        if (i >= ERASE && !erases) continue;
        if (i == DECAY && decay == DECAY_HEAD) shape[2] = 1;
        in[i] = new_layout(l, i == DECAY && decay == DECAY_NUMBER ? 4 : 3, shape, dtype, &base);
        for (int64_t e = 0; e < ox_numel(in[i]); e++)
            store_real(dtype, element(in[i], e), i == DECAY ? -3 * test_uniform() : test_uniform() - 0.5);
    }
}

static ox_tensor *call(ox_tensor **in) {
    return ox_linear_attention(in[Q], in[K], in[V], in[DECAY], in[STATE], in[ERASE], in[WRITE]);
}

/* One column of a head: m [keys], and the largest difference of the result from it. */
static double column_error(const sizes *n, ox_tensor **in, ox_tensor *out, int64_t h, int64_t j, double *m) {
    double worst = 0;
    for (int64_t i = 0; i < n->keys; i++) m[i] = at(in[STATE], h, i, j);
    for (int64_t t = 0; t < n->length; t++) {
        double z = 0, y = 0;
        for (int64_t i = 0; i < n->keys; i++) z += at(in[ERASE], h, t, i) * m[i];
        for (int64_t i = 0; i < n->keys; i++) {
            m[i] = m[i] * left_at(in[DECAY], h, t, i, j) + at(in[K], h, t, i) * at(in[V], h, t, j) +
                   at(in[WRITE], h, t, i) * z;
            y += at(in[Q], h, t, i) * m[i];
        }
        worst = check_worst(worst, fabs(at(out, h, t, j) - y));
    }
    for (int64_t i = 0; i < n->keys; i++)
        worst = check_worst(worst, fabs(at(out, h, n->length + i, j) - m[i]));
    return worst;
}

static void check_case(const sizes *n, int decay, bool erases, layout l, ox_dtype dtype) {
    OX_SCOPE {
        ox_tensor *in[COUNT];
        make(n, decay, erases, l, dtype, in);
        ox_tensor *out = call(in);
        double worst = 0, m[300];
        CHECK(out && out->dtype == dtype && out->ndim == 3 && out->shape[0] == n->heads &&
              out->shape[1] == n->length + n->keys && out->shape[2] == n->values);
        for (int64_t h = 0; out && h < n->heads; h++)
            for (int64_t j = 0; j < n->values; j++)
                worst = check_worst(worst, column_error(n, in, out, h, j, m));
        const double bound = dtype == OX_F64 ? 1e-13 : dtype == OX_F32 ? 2e-5 : dtype == OX_F16 ? 4e-3 : 4e-2;
        CHECK_MSG(worst <= bound, "[%d,%d,%d,%d] decay %d, erases %d, %s %s: %g", (int)n->heads,
                  (int)n->length, (int)n->keys, (int)n->values, decay, erases, ox_dtype_name(dtype),
                  layout_name(l), worst);
    }
}

static void test_sizes(void) {
    static const sizes all[] = {{1, 1, 1, 1},    {2, 1, 16, 64}, {3, 2, 5, 33},  {1, 1, 16, 200},
                                {2, 7, 128, 65}, {4, 3, 64, 8},  {1, 0, 3, 5},   {0, 2, 3, 4},
                                {2, 3, 0, 4},    {2, 3, 4, 0},   {1, 2, 300, 3}, {5, 1, 70, 130}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int decay = 0; decay < DECAYS; decay++)
            for (int erases = 0; erases < 2; erases++) {
                check_case(&all[i], decay, erases, LAYOUT_PLAIN, OX_F32);
                check_case(&all[i], decay, erases, LAYOUT_PLAIN, OX_F64);
            }
}

static void test_dtypes_and_layouts(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
    static const sizes n = {3, 4, 9, 21};
    for (int d = 0; d < 4; d++)
        for (int l = 0; l < LAYOUT_COUNT; l++)
            for (int decay = 0; decay < DECAYS; decay++) check_case(&n, decay, l % 2, (layout)l, dtypes[d]);
}

/* A narrow query meets a state in f32; what is broadcast is read where it lies. */
static void test_mixed(void) {
    OX_SCOPE {
        ox_tensor *q = ox_randn(OX_SHAPE(1, 2, 8), OX_F16), *v = ox_randn(OX_SHAPE(3, 2, 70), OX_F32),
                  *state = ox_randn(OX_SHAPE(3, 8, 70), OX_F32),
                  *decay = ox_full(OX_SHAPE(1, 1, 1), -0.5, OX_F32);
        ox_tensor *wide = ox_expand(q, OX_SHAPE(3, -1, -1)), *all = ox_expand(decay, OX_SHAPE(3, 2, 1));
        ox_tensor *out = ox_linear_attention(wide, wide, v, all, state, NULL, NULL);
        ox_tensor *plain = ox_clone(ox_cast(wide, OX_F32));
        CHECK(out && out->dtype == OX_F32);
        ox_tensor *halves = ox_full(OX_SHAPE(3, 2, 8), -0.5, OX_F32);
        ox_tensor *other = ox_linear_attention(plain, plain, v, halves, state, NULL, NULL);
        /* where a part of the calls is a GPU's, the two are of different devices */
        CHECK(getenv("OX_MIRROR_PART") ? ox_allclose(out, other, 1e-5, 1e-6, false) : same_bits(out, other));
    }
}

/* Positions in two calls, or with other numbers of threads, or heads alone: the same bits. */
static void test_same_bits(void) {
    static const sizes n = {6, 5, 64, 96};
    for (int decay = 0; decay < DECAYS; decay++)
        for (int erases = 0; erases < 2; erases++)
            OX_SCOPE {
                ox_tensor *in[COUNT], *part[COUNT], *out[4];
                make(&n, decay, erases, LAYOUT_PLAIN, OX_F32, in);
                for (int threads = 1; threads <= 4; threads *= 2) {
                    ox_set_threads(threads);
                    out[threads / 2] = call(in);
                }
                ox_set_threads(0);
                CHECK(same_bits(out[0], out[1]) && same_bits(out[0], out[2]));
                ox_tensor *state = in[STATE], *rows[2];
                for (int half = 0; half < 2; half++) {
                    const int64_t from = half ? 2 : 0, count = half ? n.length - 2 : 2;
                    for (int i = 0; i < COUNT; i++)
                        part[i] = in[i] && i != STATE ? ox_narrow(in[i], 1, from, count) : NULL;
                    part[STATE] = state;
                    ox_tensor *both = call(part);
                    rows[half] = ox_narrow(both, 1, 0, count);
                    state = ox_narrow(both, 1, count, n.keys);
                }
                CHECK(same_bits(ox_clone(ox_narrow(out[0], 1, 0, n.length)), ox_cat(rows, 2, 1)));
                CHECK(same_bits(ox_clone(ox_narrow(out[0], 1, n.length, n.keys)), ox_clone(state)));
                for (int i = 0; i < COUNT; i++) part[i] = in[i] ? ox_narrow(in[i], 0, 4, 1) : NULL;
                CHECK(same_bits(call(part), ox_clone(ox_narrow(out[0], 0, 4, 1))));
            }
}

static void refused(ox_tensor **in, ox_status status) {
    CHECK(!call(in) && ox_error() == status);
    ox_error_clear();
}

static void test_errors(void) {
    static const sizes n = {2, 3, 4, 5};
    OX_SCOPE {
        ox_tensor *good[COUNT], *in[COUNT];
        make(&n, DECAY_ROW, true, LAYOUT_PLAIN, OX_F32, good);
        for (int i = 0; i < COUNT; i++) {
            memcpy(in, good, sizeof in);
            in[i] = NULL;
            refused(in, i < ERASE ? OX_ERR_ARG : OX_ERR_SHAPE);
            in[i] = ox_ones(OX_SHAPE(2, 3, 6), OX_F32);
            refused(in, OX_ERR_SHAPE);
            in[i] = ox_ones(OX_SHAPE(3, 4), OX_F32);
            refused(in, OX_ERR_SHAPE);
            in[i] = ox_cast(good[i], OX_F64);
            refused(in, OX_ERR_DTYPE);
            in[i] = ox_cast(good[i], OX_I32);
            refused(in, OX_ERR_DTYPE);
        }
    }
}

int main(void) {
    test_sizes();
    test_dtypes_and_layouts();
    test_mixed();
    test_same_bits();
    test_errors();
    return check_done("linear_attention");
}
