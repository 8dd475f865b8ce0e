/* test_create.c - making tensors, and getting numbers in and out of them, on every dtype. Expected values
 * are computed here; the rules for odd cases (counts of arange, wrapping, truncation) are torch's.
 * OX_VULKAN(fill arange linspace eye) OX_TIERS OX_QEMU */
#include "backwards.h"
#include "operands.h"

static double at(const ox_tensor *t, int64_t i) {
    return load_real(t->dtype, element(t, i));
}

static bool is_new(const ox_tensor *t, ox_dtype dtype, int ndim, int64_t d0, int64_t d1) {
    bool same =
        t && t->dtype == dtype && t->ndim == ndim && t->offset == 0 && ox_is_contiguous(t) && t->storage;
    same = same && (ndim < 1 || t->shape[0] == d0) && (ndim < 2 || t->shape[1] == d1);
    return same && ((uintptr_t)ox_data(t) & 63) == 0 && ox_device_of(t) == ox_cpu() && !t->is_number;
}

/* ---- constants --------------------------------------------------------------------------------------- */

static void check_full(ox_dtype dtype) {
    static const double values[] = {0, 1, 3, -2, 0.5, 7.75, 100};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        double value = values[v];
        if (value < 0 && is_integral(dtype) && !is_signed_int(dtype)) continue;
        ox_tensor *t = ox_full(OX_SHAPE(3, 5), value, dtype);
        char want[8];
        CHECK_MSG(is_new(t, dtype, 2, 3, 5), "full %s: %s", ox_dtype_name(dtype), ox_error_text());
        store_real(dtype, want, dtype == OX_BOOL ? (double)(value != 0) : value);
        for (int64_t i = 0; t && i < 15; i++)
            CHECK_MSG(memcmp(element(t, i), want, width_of(dtype)) == 0, "full %s of %g is %g",
                      ox_dtype_name(dtype), value, at(t, i));
        ox_tensor *like = ox_full_like(t ? ox_t(t) : NULL, value),
                  *filled = ox_fill_(ox_t(ox_ones_like(t)), value);
        CHECK_MSG(is_new(like, dtype, 2, 5, 3) && filled && same_bits(filled, like),
                  "full_like, fill_ %s of %g", ox_dtype_name(dtype), value);
    }
    ox_tensor *z = ox_zeros(OX_SHAPE(17), dtype), *o = ox_ones(OX_SHAPE(17), dtype);
    CHECK(is_new(z, dtype, 1, 17, 0) && is_new(o, dtype, 1, 17, 0));
    for (int64_t i = 0; i < 17; i++)
        CHECK(at(z, i) == 0 && at(o, i) == 1 && load_imaginary(dtype, element(o, i)) == 0);
    CHECK(same_bits(ox_zeros_like(o), z) && same_bits(ox_ones_like(z), o) &&
          is_new(ox_empty_like(z), dtype, 1, 17, 0));
    CHECK(is_new(ox_empty(OX_SCALAR_SHAPE, dtype), dtype, 0, 0, 0) &&
          is_new(ox_zeros(OX_SHAPE(0, 4), dtype), dtype, 2, 0, 4));
    CHECK(ox_numel(ox_ones(OX_SCALAR_SHAPE, dtype)) == 1 &&
          ox_nbytes(ox_ones(OX_SHAPE(2, 3), dtype)) == 6 * width_of(dtype));
    CHECK(ox_zero_(o) == o && same_bits(o, z));
    CHECK_MSG(ox_error() == OX_OK, "%s: %s", ox_dtype_name(dtype), ox_error_text());
    ox_error_clear();
}

static void check_odd_constants(void) {
    CHECK(ox_zeros(OX_SHAPE(2), OX_DTYPE_NONE)->dtype == OX_F32 &&
          ox_rand(OX_SHAPE(2), OX_DTYPE_NONE)->dtype == OX_F32);
    CHECK(ox_arange(0, 3, 1, OX_DTYPE_NONE)->dtype == OX_I64 &&
          ox_randint(0, 3, OX_SHAPE(2), OX_DTYPE_NONE)->dtype == OX_I64);
    CHECK(ox_linspace(0, 3, 2, OX_DTYPE_NONE)->dtype == OX_F32 &&
          ox_eye(2, 2, OX_DTYPE_NONE)->dtype == OX_F32);
    CHECK(isnan(ox_item(ox_full(OX_SHAPE(1), (double)NAN, OX_F16))) &&
          ox_item(ox_full(OX_SHAPE(1), 1e6, OX_F16)) == (double)INFINITY);
    CHECK(ox_item(ox_full(OX_SHAPE(1), -1e6, OX_F8_E5M2)) == -(double)INFINITY &&
          ox_item(ox_full(OX_SHAPE(1), 1e6, OX_F8_E4M3)) == 448);
    CHECK(signbit(ox_item(ox_full(OX_SHAPE(1), -0.0, OX_F32))) != 0);
    CHECK(ox_item_int(ox_full(OX_SHAPE(1), -9223372036854775808.0, OX_I64)) == INT64_MIN);
    CHECK(ox_item_int(ox_full(OX_SHAPE(1), -1, OX_U8)) == 255); /* as torch.full */
    CHECK(ox_item_int(ox_full(OX_SHAPE(1), 1.9, OX_I32)) == 1 &&
          ox_item_int(ox_full(OX_SHAPE(1), -1.9, OX_I32)) == -1);
    CHECK(ox_item(ox_full(OX_SHAPE(1), 16777217, OX_F32)) == 16777216 &&
          ox_item(ox_full(OX_SHAPE(1), 16777217, OX_F64)) == 16777217);
    ox_tensor *number = ox_number(1.5), *integer = ox_integer(INT64_MIN);
    CHECK(number->is_number && number->ndim == 0 && ox_item(number) == 1.5 && integer->is_number &&
          ox_item_int(integer) == INT64_MIN);
    CHECK(!ox_clone(number)->is_number);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}

/* ---- ranges ------------------------------------------------------------------------------------------ */

static void check_arange(double start, double end, double step, ox_dtype dtype, int64_t count) {
    ox_tensor *t = ox_arange(start, end, step, dtype);
    CHECK_MSG(t && t->ndim == 1 && t->shape[0] == count && t->dtype == dtype,
              "arange(%g, %g, %g, %s) has %lld elements", start, end, step, ox_dtype_name(dtype),
              t ? (long long)t->shape[0] : -1);
    for (int64_t i = 0; t && i < t->shape[0]; i++) {
        double want = start + (double)i * step;
        if (is_integral(dtype)) want = trunc(start) + (double)i * trunc(step);
        bool right = is_integral(dtype) ? at(t, i) == want : is_close(dtype, at(t, i), want, 1);
        CHECK_MSG(right, "arange(%g, %g, %g, %s): element %lld is %.9g", start, end, step,
                  ox_dtype_name(dtype), (long long)i, at(t, i));
    }
    ox_error_clear();
}

/* torch 2.14: whole ends, numbers between them truncated toward zero. */
static void check_integer_linspace(void) {
    static const struct {
        double start, end;
        int steps, want[7];
    } cases[] = {
        {0, 10, 4, {0, 3, 6, 10}},
        {-5, 5, 4, {-5, -1, 1, 5}},
        {2.7, -7.9, 3, {2, -2, -7}},
        {-7.9, -5, 7, {-7, -6, -6, -6, -5, -5, -5}},
        {74.4, -68.99, 5, {74, 38, 3, -32, -68}},
        {116.9, -82.4, 7, {116, 83, 50, 17, -16, -49, -82}},
        {127.5, -0.5, 3, {127, 63, 0}},
        {-128, 127, 2, {-128, 127}},
        {5.9, 100, 1, {5}},
    };
    static const struct {
        ox_dtype dtype;
        double end;
        bool fits;
    } ends[] = {
        {OX_U8, 255.9, true},
        {OX_U8, 256, false},
        {OX_U8, -0.0, true},
        {OX_U8, -0.5, false},
        {OX_U16, -1, false},
        {OX_U16, 65536, false},
        {OX_U32, -1, false},
        {OX_U64, -1, false},
        {OX_I8, 128, false},
        {OX_I8, -128.5, false},
        {OX_I32, 2147483647.5, true},
        {OX_I32, 2147483648.0, false},
        {OX_I64, 9.3e18, false},
        {OX_I64, (double)NAN, false},
        {OX_F16, 65504, true},
        {OX_F16, 65519, false},
        {OX_BF16, 3.4e38, false},
        {OX_F32, 1e39, false},
        {OX_F32, (double)INFINITY, true},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int d = OX_U8; d <= OX_I64; d++)
            OX_SCOPE {
                bool negative = cases[c].start < 0 || cases[c].end < 0;
                if (!is_signed_int((ox_dtype)d) && negative) continue;
                ox_tensor *t = ox_linspace(cases[c].start, cases[c].end, cases[c].steps, (ox_dtype)d);
                for (int i = 0; i < cases[c].steps; i++)
                    CHECK_MSG(t && at(t, i) == cases[c].want[i], "linspace(%g, %g, %d, %s): %d",
                              cases[c].start, cases[c].end, cases[c].steps, ox_dtype_name((ox_dtype)d), i);
            }
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
        for (int first = 0; first < 2; first++)
            OX_SCOPE {
                double end = ends[e].end;
                ox_tensor *t = ox_linspace(first ? end : 0, first ? 0 : end, 3, ends[e].dtype);
                CHECK_MSG((t != NULL) == ends[e].fits && ox_error() == (t ? OX_OK : OX_ERR_ARG),
                          "linspace to %g in %s: %s", end, ox_dtype_name(ends[e].dtype), ox_error_text());
                ox_error_clear();
            }
}

static void check_ranges(void) {
    check_integer_linspace();
    for (int d = OX_U8; d <= PLAIN_DTYPES; d++) {
        ox_dtype dtype = (ox_dtype)d;
        if (dtype == OX_C64) continue;
        check_arange(0, 14, 1, dtype, 14);
        check_arange(3, 14, 4, dtype, 3);
        check_arange(10, 0, -3, dtype, 4);
        check_arange(5, 5, 1, dtype, 0);
        if (is_integral(dtype)) continue;
        check_arange(0, 1, 0.25, dtype, 4);
        check_arange(-1.5, 1.5, 0.5, dtype, 6);
        check_arange(0, 1, 0.3, dtype, 4);
    }
    check_arange(0, 3000, 1, OX_I16, 3000);
    check_arange(-2, 3e4, 0.37, OX_F32, 81087);
    check_arange(0, 1e5, 1, OX_F64, 100000);
    check_arange(9007199254740000.0, 9007199254740005.0, 1, OX_I64, 5);
    static const double ends[][2] = {{0, 1}, {-3, 5}, {2, 2}, {10, -10}, {1e-3, 1e3}};
    static const int64_t steps[] = {0, 1, 2, 3, 7, 100, 1001};
    static const ox_dtype floats[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
    for (int f = 0; f < 4; f++)
        for (int e = 0; e < 5; e++)
            for (int s = 0; s < 7; s++)
                OX_SCOPE {
                    double a = ends[e][0], b = ends[e][1];
                    ox_tensor *t = ox_linspace(a, b, steps[s], floats[f]);
                    CHECK_MSG(t && t->ndim == 1 && t->shape[0] == steps[s], "linspace: %s", ox_error_text());
                    for (int64_t i = 0; t && i < steps[s]; i++) {
                        double want = steps[s] == 1 ? a : a + (b - a) * (double)i / (double)(steps[s] - 1);
                        double most = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
                        if (i > 0 && i == steps[s] - 1) want = b;
                        bool is_end = i == 0 || i == steps[s] - 1;
                        CHECK_MSG(is_close_around(floats[f], at(t, i), want, is_end ? 0 : 2, most),
                                  "linspace(%g, %g, %lld, %s): element %lld is %.9g, not %.9g", a, b,
                                  (long long)steps[s], ox_dtype_name(floats[f]), (long long)i, at(t, i),
                                  want);
                    }
                }
    ox_tensor *whole = ox_linspace(0, 10, 5, OX_I32); /* torch truncates: 0 2 5 7 10 */
    static const double expected[] = {0, 2, 5, 7, 10};
    for (int i = 0; whole && i < 5; i++)
        CHECK_MSG(at(whole, i) == expected[i], "linspace of i32: element %d is %g", i, at(whole, i));
    for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++)
        for (int shape = 0; shape < 4; shape++)
            OX_SCOPE {
                int64_t rows = shape == 0   ? 5
                               : shape == 1 ? 3
                               : shape == 2 ? 7
                                            : 0,
                        columns = shape == 0   ? 5
                                  : shape == 1 ? 8
                                               : 2;
                ox_tensor *t = ox_eye(rows, columns, (ox_dtype)d);
                CHECK_MSG(is_new(t, (ox_dtype)d, 2, rows, columns), "eye %s: %s", ox_dtype_name((ox_dtype)d),
                          ox_error_text());
                for (int64_t i = 0; t && i < rows * columns; i++)
                    CHECK(at(t, i) == (i / columns == i % columns ? 1 : 0));
            }
}

/* ---- in from the caller's memory --------------------------------------------------------------------- */

static void check_from_numbers(void) {
    const float f[6] = {0, -1.5f, 2, 300.7f, 1e-8f, -7};
    const double d[6] = {0, -1.5, 2, 300.7, 1e-8, -7};
    const int64_t n[6] = {0, -1, 2, 300, 70000, INT64_MIN + 1};
    for (int t = OX_BOOL; t <= PLAIN_DTYPES; t++)
        OX_SCOPE {
            ox_dtype dtype = (ox_dtype)t;
            ox_tensor *a = ox_from_floats(f, OX_SHAPE(2, 3), dtype),
                      *b = ox_from_doubles(d, OX_SHAPE(2, 3), dtype),
                      *c = ox_from_ints(n, OX_SHAPE(6), dtype);
            CHECK_MSG(is_new(a, dtype, 2, 2, 3) && is_new(b, dtype, 2, 2, 3) && is_new(c, dtype, 1, 6, 0),
                      "%s: %s", ox_dtype_name(dtype), ox_error_text());
            for (int i = 0; a && b && c && i < 6; i++) {
                char want[3][8];
                store_real(dtype, want[0], dtype == OX_BOOL ? (double)(f[i] != 0) : (double)f[i]);
                store_real(dtype, want[1], dtype == OX_BOOL ? (double)(d[i] != 0) : d[i]);
                if (is_integral(dtype))
                    store_int(dtype, want[2], n[i]);
                else
                    store_real(dtype, want[2], (double)n[i]);
                bool negative =
                    is_integral(dtype) && !is_signed_int(dtype) && f[i] < 0; /* C leaves that open */
                bool wide = is_integral(dtype) && width_of(dtype) == 1 && fabsf(f[i]) > 200;
                if (!negative && !wide)
                    CHECK_MSG(memcmp(want[0], element(a, i), width_of(dtype)) == 0, "%s from float %g: %g",
                              ox_dtype_name(dtype), (double)f[i], at(a, i));
                if (!negative && !wide)
                    CHECK_MSG(memcmp(want[1], element(b, i), width_of(dtype)) == 0, "%s from double %g: %g",
                              ox_dtype_name(dtype), d[i], at(b, i));
                CHECK_MSG(memcmp(want[2], element(c, i), width_of(dtype)) == 0, "%s from int %lld: %g",
                          ox_dtype_name(dtype), (long long)n[i], at(c, i));
            }
            ox_tensor *again = a ? ox_from_data(ox_data(a), ox_shape_of(a), dtype) : NULL;
            CHECK(again && same_bits(again, a) && ox_data(again) != ox_data(a));
            CHECK(is_new(ox_from_data(NULL, OX_SHAPE(0, 3), dtype), dtype, 2, 0, 3));
        }
    CHECK(ox_from_floats(f, OX_SHAPE(6), OX_DTYPE_NONE)->dtype == OX_F32 &&
          ox_from_doubles(d, OX_SHAPE(6), OX_DTYPE_NONE)->dtype == OX_F64);
    CHECK(ox_from_ints(n, OX_SHAPE(6), OX_DTYPE_NONE)->dtype == OX_I64);
    unsigned char blocks[36];
    for (int i = 0; i < 36; i++) blocks[i] = (unsigned char)(i + 1);
    ox_tensor *q = ox_from_data(blocks, OX_SHAPE(2, 32), OX_Q4_0);
    CHECK(q && ox_nbytes(q) == 36 && memcmp(ox_data(q), blocks, 36) == 0);
    unsigned char back[36] = {0};
    CHECK(ox_to_data(q, back, 36) == OX_OK && memcmp(back, blocks, 36) == 0);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}

typedef struct lender {
    int calls;
    void *data, *user;
} lender;

static void give_back(void *user, void *data) {
    lender *l = (lender *)user;
    l->calls++;
    l->data = data;
    l->user = user;
}

static void check_from_blob(void) {
    float memory[24];
    lender l = {0, NULL, NULL};
    for (int i = 0; i < 24; i++) memory[i] = (float)i;
    ox_tensor *view = NULL;
    OX_SCOPE {
        ox_tensor *t = ox_from_blob(memory, OX_SHAPE(4, 6), NULL, OX_F32, give_back, &l);
        CHECK(t && ox_data(t) == (void *)memory && at(t, 23) == 23);
        view = ox_retain(ox_t(t));
        memory[1] = 100;
        CHECK(at(view, 4) == 100);
        CHECK(ox_mul_(t, t) == t && memory[2] == 4);
    }
    CHECK(l.calls == 0 && at(view, 4) == 10000);
    ox_release(view);
    CHECK(l.calls == 1 && l.data == (void *)memory && l.user == (void *)&l);
    for (int i = 0; i < 24; i++) memory[i] = (float)i;
    OX_SCOPE { /* strides: backwards, repeated, with gaps */
        const int64_t backwards[1] = {-2}, repeated[2] = {0, 1}, gaps[2] = {7, 3};
        ox_tensor *t = ox_from_blob(memory + 10, OX_SHAPE(5), backwards, OX_F32, give_back, &l);
        for (int i = 0; i < 5; i++) CHECK(at(t, i) == 10 - 2 * i);
        CHECK(ox_item(ox_sum(t, OX_ALL_DIMS, false)) == 30 && ox_data(t) == (void *)(memory + 10));
        t = ox_from_blob(memory, OX_SHAPE(3, 2), repeated, OX_F32, NULL, NULL);
        for (int i = 0; i < 6; i++) CHECK(at(t, i) == i % 2);
        t = ox_from_blob(memory, OX_SHAPE(3, 3), gaps, OX_F32, NULL, NULL);
        for (int i = 0; i < 9; i++) CHECK(at(t, i) == i / 3 * 7 + i % 3 * 3);
        t = ox_from_blob(NULL, OX_SHAPE(0, 3), NULL, OX_F32, give_back, &l);
        CHECK(t && ox_numel(t) == 0);
        CHECK(ox_from_blob(memory, OX_SCALAR_SHAPE, NULL, OX_F32, NULL, NULL)->ndim == 0);
        CHECK(ox_as_strided(ox_from_blob(memory, OX_SHAPE(24), NULL, OX_F32, NULL, NULL), OX_SHAPE(24),
                            OX_SHAPE(1), 0) != NULL);
    }
    CHECK(l.calls == 3);
    /* A refused loan is not given back. */
    CHECK(!ox_from_blob(memory, OX_SHAPE(-1), NULL, OX_F32, give_back, &l) &&
          !ox_from_blob(NULL, OX_SHAPE(2), NULL, OX_F32, give_back, &l));
    CHECK(l.calls == 3);
    ox_error_clear();
}

/* ---- out --------------------------------------------------------------------------------------------- */

static void check_numbers_out(void) {
    for (int t = OX_BOOL; t <= PLAIN_DTYPES; t++)
        for (int l = 0; l < LAYOUT_COUNT; l++)
            OX_SCOPE {
                ox_dtype dtype = (ox_dtype)t;
                const int64_t shape[2] = {4, 7};
                ox_tensor *x = random_layout((layout)l, DOMAIN_MODEST, 2, shape, dtype);
                float f[28];
                double d[28];
                int64_t n[28];
                char raw[28 * 8];
                CHECK(ox_to_floats(x, f, 28) == OX_OK && ox_to_doubles(x, d, 28) == OX_OK &&
                      ox_to_data(x, raw, 28 * width_of(dtype)) == OX_OK);
                CHECK(ox_to_ints(x, n, 28) == OX_OK);
                for (int i = 0; i < 28; i++) {
                    bool right =
                        (double)f[i] == (double)(float)at(x, i) && d[i] == at(x, i) &&
                        memcmp(raw + (size_t)i * width_of(dtype), element(x, i), width_of(dtype)) == 0;
                    if (is_integral(dtype))
                        right = right && n[i] == load_int(dtype, element(x, i));
                    else
                        right = right && n[i] == (int64_t)at(x, i);
                    CHECK_MSG(right, "%s, %s: element %d", ox_dtype_name(dtype), layout_name((layout)l), i);
                }
                ox_tensor *one = ox_select(ox_select(x, 0, 2), 0, 3);
                CHECK(ox_item(one) == at(x, 17) && ox_item(ox_view(one, OX_SHAPE(1, 1, 1))) == at(x, 17));
                CHECK(ox_item_int(one) == n[17]);
            }
    double nothing;
    ox_tensor *empty = ox_zeros(OX_SHAPE(0, 3), OX_F32);
    CHECK(ox_to_doubles(empty, &nothing, 0) == OX_OK && ox_to_data(empty, NULL, 0) == OX_OK);
    CHECK(ox_item_int(ox_integer(INT64_MAX)) == INT64_MAX);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}

/* ---- comparing whole tensors ------------------------------------------------------------------------- */

static void check_equal(void) {
    const double nan = (double)NAN, inf = (double)INFINITY;
    for (int t = OX_BOOL; t <= PLAIN_DTYPES; t++)
        OX_SCOPE {
            const int64_t shape[2] = {6, 11};
            ox_tensor *x = random_layout(LAYOUT_TRANSPOSED, DOMAIN_MODEST, 2, shape, (ox_dtype)t),
                      *y = plain_copy(x);
            CHECK_MSG(ox_equal(x, y) && ox_equal(x, x), "%s: %s", ox_dtype_name((ox_dtype)t),
                      ox_error_text());
            CHECK(!ox_equal(x, ox_t(y)) && !ox_equal(x, ox_narrow(y, 0, 0, 5)) &&
                  !ox_equal(x, ox_cast(y, t == OX_I32 ? OX_I64 : OX_I32)));
            store_real((ox_dtype)t, element(y, 40), at(y, 40) == 1 ? 0 : 1);
            CHECK_MSG(!ox_equal(x, y), "%s", ox_dtype_name((ox_dtype)t));
            CHECK(ox_equal(ox_narrow(x, 0, 0, 0), ox_narrow(y, 0, 0, 0)));
            ox_error_clear();
        }
    OX_SCOPE {
        ox_tensor *a = ox_full(OX_SHAPE(3), nan, OX_F32), *z = ox_zeros(OX_SHAPE(3), OX_F32),
                  *minus = ox_full(OX_SHAPE(3), -0.0, OX_F32);
        CHECK(!ox_equal(a, a) && ox_equal(z, minus));
        CHECK(!ox_allclose(a, a, 0, 0, false) && ox_allclose(a, a, 0, 0, true) &&
              !ox_allclose(a, z, 1, 1, true));
        ox_tensor *i = ox_full(OX_SHAPE(3), inf, OX_F32), *m = ox_full(OX_SHAPE(3), -inf, OX_F32);
        CHECK(ox_allclose(i, i, 0, 0, false) && !ox_allclose(i, m, 1, 1, false) &&
              !ox_allclose(z, i, 1, 1, false) && !ox_allclose(i, z, 1, 1, false));
        ox_tensor *one = ox_ones(OX_SHAPE(3), OX_F32), *near = ox_full(OX_SHAPE(3), 1.0078125, OX_BF16);
        CHECK(ox_allclose(one, near, 0.01, 0, false) && !ox_allclose(one, near, 0.001, 0, false) &&
              ox_allclose(one, near, 0, 0.01, false));
        CHECK(ox_allclose(ox_ones(OX_SHAPE(2, 1), OX_I32), ox_ones(OX_SHAPE(3), OX_F64), 0, 0, false));
        CHECK(ox_allclose(ox_zeros(OX_SHAPE(0), OX_F32), ox_ones(OX_SHAPE(0), OX_F32), 0, 0, false));
        CHECK(ox_allclose(ox_ones(OX_SHAPE(2), OX_BOOL), ox_ones(OX_SHAPE(2), OX_U64), 0, 0, false));
        CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
        ox_error_clear();
        ox_tensor *q = ox_empty(OX_SHAPE(2, 32), OX_Q4_0);
        memset(ox_data(q), 3, ox_nbytes(q));
        ox_tensor *r = ox_clone(q);
        CHECK(ox_equal(q, r) && ox_equal(backwards(q, OX_DIMS(0)), r));
        ((char *)ox_data(r))[20] = 4;
        CHECK(!ox_equal(q, r));
        ox_error_clear();
    }
}

/* ---- dtypes ------------------------------------------------------------------------------------------ */

static void check_dtypes(void) {
    for (int d = 1; d < OX_DTYPE_COUNT; d++) {
        const ox_dtype_info *info = ox_dtype_get_info((ox_dtype)d);
        CHECK(ox_dtype_by_name(info->name) == (ox_dtype)d && info->block_bytes > 0 &&
              info->block_elements > 0 && info->cls != OX_CLASS_NONE);
        OX_SCOPE {
            ox_tensor *t = ox_empty(OX_SHAPE(3, 512), (ox_dtype)d);
            CHECK_MSG(t && ox_nbytes(t) == (size_t)(3 * 512 / info->block_elements * info->block_bytes), "%s",
                      info->name);
        }
    }
    CHECK(strcmp(ox_dtype_name(OX_DTYPE_NONE), "none") == 0 &&
          strcmp(ox_dtype_name((ox_dtype)500), "none") == 0 &&
          strcmp(ox_dtype_name((ox_dtype)-1), "none") == 0);
    CHECK(ox_dtype_by_name("f99") == OX_DTYPE_NONE && ox_dtype_by_name(NULL) == OX_DTYPE_NONE &&
          ox_dtype_by_name("none") == OX_DTYPE_NONE);
    CHECK(strcmp(ox_version(), OX_VERSION) == 0);
    OX_SCOPE {
        ox_tensor *t = ox_zeros(OX_SHAPE(2, 3), OX_F32);
        CHECK(ox_size(t, -1) == 3 && ox_size(t, 0) == 2 && ox_size(t, 2) == 0 && ox_error() == OX_ERR_DIM);
        ox_error_clear();
        CHECK(ox_to(t, ox_cpu())->storage == t->storage && same_bits(ox_to(ox_t(t), ox_cpu()), ox_t(t)));
        CHECK(strcmp(ox_device_name(ox_cpu()), "cpu") == 0);
    }
}

int main(void) {
    for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++)
        OX_SCOPE {
            check_full((ox_dtype)d);
        }
    OX_SCOPE {
        check_odd_constants();
    }
    OX_SCOPE {
        check_ranges();
    }
    OX_SCOPE {
        check_from_numbers();
    }
    check_from_blob();
    OX_SCOPE {
        check_numbers_out();
    }
    check_equal();
    check_dtypes();
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0 &&
                  ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("create");
}
