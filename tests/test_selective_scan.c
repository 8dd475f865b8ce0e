/* test_selective_scan.c - ox_selective_scan against a loop in double: steps and rates of a head, a column and
 * a number, what may be missing, last positions that are held, dtypes and layouts, threads, errors.
 * OX_TIERS OX_TSAN OX_QEMU OX_VULKAN(selective_scan) */
#include "oxtorch.h"
#include "check.h"
#include "operands.h"

#include <math.h>
#include <string.h>

enum { U, STEP, RATE, B, C, STATE, SKIP, GATE, BIAS, COUNT };

typedef struct sizes {
    int64_t heads, length, keys, values;
} sizes;

/* What a case leaves out or has once for all. */
typedef struct form {
    bool one_step, one_rate_row, one_rate_column, skip, gate, bias, one_skip, one_bias, softplus, hold;
} form;

static form form_of(unsigned bits) {
    form f;
    memset(&f, 0, sizeof f);
    f.one_step = bits & 1, f.one_rate_row = bits & 2, f.one_rate_column = bits & 4, f.skip = bits & 8;
    f.gate = bits & 16, f.bias = bits & 32, f.one_skip = bits & 64, f.one_bias = bits & 128;
    f.softplus = bits & 256, f.hold = bits & 512;
    return f;
}

/* t [H,rows,columns] at an index, whose dims of 1 are alike everywhere */
static double at(ox_tensor *t, int64_t h, int64_t row, int64_t column) {
    row = t->shape[1] == 1 ? 0 : row;
    column = t->shape[2] == 1 ? 0 : column;
    return load_real(t->dtype, element(t, (h * t->shape[1] + row) * t->shape[2] + column));
}

static void make(const sizes *n, const form *f, layout l, ox_dtype dtype, ox_tensor **in) {
    const int64_t s = n->length, k = n->keys, v = n->values;
    const int64_t dims[COUNT][2] = {{s, v},
                                    {s, f->one_step ? 1 : v},
                                    {f->one_rate_row ? 1 : k, f->one_rate_column ? 1 : v},
                                    {s, k},
                                    {s, k},
                                    {k, v},
                                    {1, f->one_skip ? 1 : v},
                                    {s, v},
                                    {1, f->one_bias ? 1 : v}};
    for (int i = 0; i < COUNT; i++) {
        int64_t shape[3] = {n->heads, dims[i][0], dims[i][1]};
        ox_tensor *base;
        in[i] = NULL;
        if ((i == SKIP && !f->skip) || (i == GATE && !f->gate) || (i == BIAS && !f->bias)) continue;
        in[i] = new_layout(l, 3, shape, dtype, &base);
        for (int64_t e = 0; e < ox_numel(in[i]); e++) {
            const double x = test_uniform();
            store_real(dtype, element(in[i], e), i == RATE ? -2 * x : i == STEP ? x : x - 0.5);
        }
    }
}

static ox_tensor *call(ox_tensor **in, const form *f) {
    return ox_selective_scan(in[U], in[STEP], in[RATE], in[B], in[C], in[STATE], in[SKIP], in[GATE], in[BIAS],
                             f->softplus, f->hold);
}

static double out_at(ox_tensor *out, int64_t h, int64_t row, int64_t column) {
    return load_real(out->dtype, element(out, (h * out->shape[1] + row) * out->shape[2] + column));
}

static double column_error(const sizes *n, const form *f, ox_tensor **in, ox_tensor *out, int64_t h,
                           int64_t j) {
    double m[300], kept[300], worst = 0;
    for (int64_t i = 0; i < n->keys; i++) kept[i] = m[i] = at(in[STATE], h, i, j);
    for (int64_t t = 0; t < n->length; t++) {
        double u = at(in[U], h, t, j), y = 0, step = at(in[STEP], h, t, j);
        if (in[BIAS]) step += at(in[BIAS], h, 0, j);
        if (f->softplus) step = log1p(exp(step));
        for (int64_t i = 0; i < n->keys; i++) {
            m[i] = m[i] * exp(step * at(in[RATE], h, i, j)) + at(in[B], h, t, i) * step * u;
            y += at(in[C], h, t, i) * m[i];
            if (!f->hold || t + 1 < n->length) kept[i] = m[i];
        }
        if (in[SKIP]) y += at(in[SKIP], h, 0, j) * u;
        if (in[GATE]) y *= at(in[GATE], h, t, j) / (1 + exp(-at(in[GATE], h, t, j)));
        const int64_t row = f->hold ? t + 1 - n->length : t;
        if (row >= 0) worst = check_worst(worst, fabs(out_at(out, h, row, j) - y));
    }
    for (int64_t i = 0; i < n->keys; i++)
        worst = check_worst(worst, fabs(out_at(out, h, out->shape[1] - n->keys + i, j) - kept[i]));
    return worst;
}

static void check_case(const sizes *n, unsigned bits, layout l, ox_dtype dtype) {
    OX_SCOPE {
        const form f = form_of(bits);
        ox_tensor *in[COUNT];
        make(n, &f, l, dtype, in);
        ox_tensor *out = call(in, &f);
        double worst = 0;
        CHECK(out && out->dtype == dtype && out->ndim == 3 && out->shape[0] == n->heads &&
              out->shape[1] == (f.hold && n->length ? 1 : n->length) + n->keys && out->shape[2] == n->values);
        for (int64_t h = 0; out && h < n->heads; h++)
            for (int64_t j = 0; j < n->values; j++)
                worst = check_worst(worst, column_error(n, &f, in, out, h, j));
        const double bound = dtype == OX_F64 ? 1e-13 : dtype == OX_F32 ? 2e-5 : dtype == OX_F16 ? 4e-3 : 4e-2;
        CHECK_MSG(worst <= bound, "[%d,%d,%d,%d] form %x, %s %s: %g", (int)n->heads, (int)n->length,
                  (int)n->keys, (int)n->values, bits, ox_dtype_name(dtype), layout_name(l), worst);
    }
}

static void test_sizes(void) {
    static const sizes all[] = {{1, 1, 1, 1},   {1, 1, 16, 200},  {3, 2, 5, 33}, {24, 2, 128, 64},
                                {2, 7, 20, 65}, {1, 0, 3, 5},     {0, 2, 3, 4},  {2, 3, 0, 4},
                                {2, 3, 4, 0},   {1, 3, 16, 1536}, {1, 2, 300, 3},
                                {2, 11, 128, 40}, {1, 19, 130, 9}, {1, 21, 17, 33}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (unsigned bits = 0; bits < 8; bits++) { /* each step and rate, with the rest in turn */
            check_case(&all[i], bits | (bits * 5 + (unsigned)i) * 8 % 1024, LAYOUT_PLAIN, OX_F32);
            check_case(&all[i], bits | 0x318, LAYOUT_PLAIN, OX_F32);
            check_case(&all[i], bits | 0x1f8, LAYOUT_PLAIN, OX_F32);
            check_case(&all[i], bits | (bits % 2 ? 0x338 : 0x0a0), LAYOUT_PLAIN, OX_F64);
        }
}

static void test_dtypes_and_layouts(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
    static const sizes n = {3, 4, 9, 21};
    for (int d = 0; d < 4; d++)
        for (int l = 0; l < LAYOUT_COUNT; l++)
            for (unsigned bits = 0; bits < 1024; bits += 73) check_case(&n, bits, (layout)l, dtypes[d]);
}

/* Columns that are alike, heads alone, other numbers of threads: the same bits. */
static void test_same_bits(void) {
    static const sizes n = {6, 5, 64, 96}, wide = {1, 3, 16, 1536};
    for (unsigned bits = 0; bits < 1024; bits++) {
        if (bits % 11 && bits != 0x33f) continue;
        OX_SCOPE {
            const form f = form_of(bits);
            ox_tensor *in[COUNT], *part[COUNT], *out[4];
            make(bits & 1 ? &n : &wide, &f, LAYOUT_PLAIN, OX_F32, in);
            for (int threads = 1; threads <= 4; threads *= 2) {
                ox_set_threads(threads);
                out[threads / 2] = call(in, &f);
            }
            ox_set_threads(0);
            CHECK(same_bits(out[0], out[1]) && same_bits(out[0], out[2]));
            const int64_t last = in[U]->shape[0] - 1;
            for (int i = 0; i < COUNT; i++) part[i] = in[i] ? ox_narrow(in[i], 0, last, 1) : NULL;
            CHECK(same_bits(call(part, &f), ox_clone(ox_narrow(out[0], 0, last, 1))));
        }
    }
}

/* Zeros hold nothing, and what is broadcast is read where it lies; mixed dtypes meet a memory in f32. */
static void test_mixed(void) {
    OX_SCOPE {
        const form f = form_of(0x13f);
        static const sizes n = {3, 4, 8, 70};
        ox_tensor *in[COUNT], *plain[COUNT];
        make(&n, &f, LAYOUT_PLAIN, OX_F32, in);
        in[B] = ox_expand(ox_cast(ox_narrow(in[B], 0, 0, 1), OX_F16), OX_SHAPE(3, -1, -1));
        in[RATE] = ox_expand(ox_narrow(in[RATE], 0, 1, 1), OX_SHAPE(3, -1, -1));
        in[U] = ox_flip(in[U], OX_DIMS(2));
        for (int i = 0; i < COUNT; i++) plain[i] = in[i] ? ox_clone(ox_cast(in[i], OX_F32)) : NULL;
        ox_tensor *out = call(in, &f), *other = call(plain, &f);
        CHECK(out && out->dtype == OX_F32);
        CHECK(getenv("OX_MIRROR_PART") ? ox_allclose(out, other, 1e-5, 1e-6, false) : same_bits(out, other));
    }
}

static void refused(ox_tensor **in, ox_status status) {
    const form f = form_of(0);
    CHECK(!call(in, &f) && ox_error() == status);
    ox_error_clear();
}

static void test_errors(void) {
    static const sizes n = {2, 3, 4, 5};
    OX_SCOPE {
        const form f = form_of(0x38);
        ox_tensor *good[COUNT], *in[COUNT];
        make(&n, &f, LAYOUT_PLAIN, OX_F32, good);
        for (int i = 0; i < COUNT; i++) {
            memcpy(in, good, sizeof in);
            in[i] = NULL;
            if (i < SKIP) refused(in, OX_ERR_ARG);
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
    test_same_bits();
    test_mixed();
    test_errors();
    return check_done("selective_scan");
}
