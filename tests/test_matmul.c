/* test_matmul.c - matmul, linear, addmm: every dtype, layout and shape against loops in double.
 * OX_VULKAN(matmul linear addmm) OX_TIERS OX_BASE OX_QEMU: each tier has kernels of its own.
 * Also: the same bits for any number of threads, and memory that runs out. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backwards.h"
#include "oxtorch.h"

#include "check.h"
#include "hook_alloc.h"

/* ---- operands ------------------------------------------------------------------------------------------ */

static uint32_t random_state = 1;

static double random_number(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return (double)(random_state >> 8) / 8388608.0 - 1.0;
}

static ox_tensor *random_tensor(ox_shape shape, ox_dtype dtype) {
    int64_t count = 1;
    for (int d = 0; d < shape.ndim; d++) count *= shape.dim[d];
    bool ints = ox_dtype_get_info(dtype)->cls == OX_CLASS_INT;
    double *numbers = (double *)malloc(((size_t)count + 1) * sizeof(double));
    for (int64_t i = 0; i < count; i++) numbers[i] = ints ? floor(random_number() * 100) : random_number();
    if (dtype == OX_U8 || dtype == OX_U16 || dtype == OX_U32 || dtype == OX_U64)
        for (int64_t i = 0; i < count; i++) numbers[i] = fabs(numbers[i]);
    ox_tensor *t = ox_from_doubles(numbers, shape, dtype);
    free(numbers);
    return t;
}

enum { LAYOUTS = 6 };

/* A [rows, columns] tensor of random numbers, laid out in one of LAYOUTS ways. */
static ox_tensor *random_matrix(int64_t rows, int64_t columns, ox_dtype dtype, int layout) {
    switch (layout) {
    case 0: return random_tensor(OX_SHAPE(rows, columns), dtype);
    case 1: return ox_t(random_tensor(OX_SHAPE(columns, rows), dtype));
    case 2: {
        ox_tensor *t = random_tensor(OX_SHAPE(2 * rows + 1, 3 * columns + 1), dtype);
        return ox_slice(ox_slice(t, 0, 1, 2 * rows + 1, 2), 1, 0, 3 * columns, 3);
    }
    case 3: return backwards(random_tensor(OX_SHAPE(rows, columns), dtype), OX_DIMS(0, 1));
    case 4: return ox_narrow(random_tensor(OX_SHAPE(rows, columns + 5), dtype), 1, 3, columns);
    default: return ox_expand(random_tensor(OX_SHAPE(1, columns), dtype), OX_SHAPE(rows, columns));
    }
}

static double *numbers_of(ox_tensor *t) {
    double *out = (double *)malloc(((size_t)ox_numel(t) + 1) * sizeof(double));
    if (ox_to_doubles(t, out, ox_numel(t)) != OX_OK) CHECK_MSG(false, "%s", ox_error_text());
    return out;
}

/* Rounding of the result's dtype, relative. Sums in f32 may add seven deviations of what k roundings do. */
static double rounding(ox_dtype dtype) {
    return dtype == OX_F16 ? 1.0 / 2048 : dtype == OX_BF16 ? 1.0 / 256 : dtype == OX_F64 ? 1e-15 : 1e-7;
}

static double tolerance(ox_dtype dtype, int64_t k, double reference) {
    double sums = (dtype == OX_F64 ? 2e-15 : 2e-6) * sqrt((double)k + 1);
    return sums + rounding(dtype) * fabs(reference);
}

/* c [count][m][n] against a [count][m][k] and b [count][k][n]; repeated operands have a step of 0. */
static void check_product(const char *what, ox_tensor *c, const double *a, int64_t a_step, const double *b,
                          int64_t b_step, int64_t count, int64_t m, int64_t n, int64_t k) {
    if (!c) {
        CHECK_MSG(false, "%s: %s", what, ox_error_text());
        ox_error_clear();
        return;
    }
    CHECK_MSG(ox_numel(c) == count * m * n, "%s: %lld numbers", what, (long long)ox_numel(c));
    double *got = numbers_of(c), worst = 0;
    for (int64_t i = 0; i < count * m * n; i++) {
        int64_t batch = i / (m * n), row = i / n % m, column = i % n;
        double sum = 0;
        for (int64_t j = 0; j < k; j++)
            sum += a[batch * a_step + row * k + j] * b[batch * b_step + j * n + column];
        double off = fabs(got[i] - sum) / tolerance(c->dtype, k, sum);
        worst = check_worst(worst, off);
    }
    CHECK_MSG(worst <= 1, "%s %s [%lld,%lld] x [%lld,%lld]: error %g of what is allowed", what,
              ox_dtype_name(c->dtype), (long long)m, (long long)k, (long long)k, (long long)n, worst);
    free(got);
}

static void check_matmul(int64_t m, int64_t n, int64_t k, ox_dtype dtype, int a_layout, int b_layout) {
    OX_SCOPE {
        ox_tensor *a = random_matrix(m, k, dtype, a_layout), *b = random_matrix(k, n, dtype, b_layout);
        double *x = numbers_of(a), *y = numbers_of(b);
        char what[64];
        snprintf(what, sizeof what, "matmul layouts %d %d", a_layout, b_layout);
        check_product(what, ox_matmul(a, b), x, 0, y, 0, 1, m, n, k);
        free(x);
        free(y);
    }
}

/* ---- matmul -------------------------------------------------------------------------------------------- */

static void test_layouts(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16, OX_F64};
    static const int64_t sizes[][3] = {{1, 1, 1},   {1, 7, 5},    {6, 1, 9},
                                       {3, 5, 300}, {17, 33, 65}, {5, 70, 3}};
    for (int d = 0; d < 4; d++)
        for (int s = 0; s < 6; s++)
            /* test_sizes has bf16 in all layouts, too */
            for (int a = 0; a < LAYOUTS && !(dtypes[d] == OX_BF16 && is_short_mirror()); a++)
                for (int b = 0; b < LAYOUTS; b++)
                    check_matmul(sizes[s][0], sizes[s][1], sizes[s][2], dtypes[d], a, b);
}

static void test_sizes(void) {
    static const int64_t sizes[][3] = {{130, 131, 129}, {64, 64, 64},  {1, 1000, 200}, {1000, 1, 200},
                                       {2, 600, 513},   {600, 3, 257}, {4, 4, 2000},   {29, 31, 1025},
                                       {33, 700, 20},   {0, 5, 3},     {5, 0, 3},      {5, 4, 0},
                                       {1, 1, 0},       {0, 0, 0}};
    for (int s = 0; s < 14; s++)
        for (int layout = 0; layout < 4; layout++)
            check_matmul(sizes[s][0], sizes[s][1], sizes[s][2], OX_F32, layout & 1, layout >> 1);
    check_matmul(270, 530, 300, OX_F32, 0, 0);
    check_matmul(65, 65, 300, OX_F64, 1, 0);
    for (int layout = 0; layout < LAYOUTS * LAYOUTS; layout++) { /* even and odd: pairs along k */
        check_matmul(65, 61, 299 + layout % 2, OX_BF16, layout / LAYOUTS, layout % LAYOUTS);
        check_matmul(65, 61, 299 + layout % 2, OX_F16, layout / LAYOUTS, layout % LAYOUTS);
    }
    check_matmul(270, 530, 300, OX_BF16, 0, 0);
    check_matmul(270, 530, 300, OX_F16, 0, 0);
    check_matmul(600, 20, 640, OX_F16, 0, 1);
    check_matmul(20, 600, 64, OX_F16, 1, 0);
}

/* f16 of all magnitudes, and whole numbers whose products cancel: each product is exact, sums are f32's. */
static void test_f16_is_exact(void) {
    enum { N = 75, K = 96 };
    OX_SCOPE {
        ox_tensor *a = ox_empty(OX_SHAPE(N, K), OX_F32), *b = ox_empty(OX_SHAPE(K, N), OX_F32);
        float *x = (float *)ox_data(a), *y = (float *)ox_data(b);
        for (int i = 0; i < N * K; i++) x[i] = i % K % 2 ? -x[i - 1] : (float)(511 - i % 61);
        for (int i = 0; i < N * K; i++)
            y[i] = i / N % 2 ? y[i - N] + (float)(i % 3 - 1) : (float)(257 + i % 97);
        double *xs = numbers_of(a), *ys = numbers_of(b), *c;
        c = numbers_of(ox_matmul(ox_cast(a, OX_F16), ox_cast(b, OX_F16)));
        int64_t wrong = 0;
        for (int i = 0; i < N * N; i++) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += xs[i / N * K + k] * ys[k * N + i % N];
            wrong += ox_item(ox_full(OX_SHAPE(1), sum, OX_F16)) != c[i];
        }
        CHECK_MSG(wrong == 0, "f16: %lld of %d sums of whole numbers are not exact", (long long)wrong, N * N);
        free(xs);
        free(ys);
        free(c);
        ox_tensor *small = ox_full(OX_SHAPE(N, K), 5.9604644775390625e-8, OX_F16); /* the least of f16 */
        ox_tensor *eye = ox_eye(K, K, OX_F16);
        CHECK(ox_equal(ox_matmul(small, eye), small));
        CHECK(ox_equal(ox_matmul(eye, ox_contiguous(ox_t(small))), ox_t(small)));
    }
}

/* Infinities and NaN come out as the sum of products has them, the rest of the product is as it was. */
static void test_not_finite(ox_dtype dtype) {
    enum { M = 91, N = 87, K = 67 };
    for (int layout = 0; layout < 4; layout++)
        OX_SCOPE {
            ox_tensor *a = ox_cast(random_matrix(M, K, OX_F32, layout & 1), dtype),
                      *b = ox_cast(random_matrix(K, N, OX_F32, layout >> 1), dtype);
            ox_fill_(ox_select(ox_select(a, 0, 3), 0, 66), INFINITY);
            ox_fill_(ox_select(ox_select(a, 0, 40), 0, 2), -INFINITY);
            ox_fill_(ox_select(ox_select(a, 0, 41), 0, 2), NAN);
            ox_fill_(ox_select(ox_select(b, 0, 5), 0, 7), INFINITY);
            ox_fill_(ox_select(ox_select(b, 0, 66), 0, 9), 0); /* infinity times 0 */
            double *x = numbers_of(a), *y = numbers_of(b), *c = numbers_of(ox_matmul(a, b));
            int64_t wrong = 0;
            for (int i = 0; i < M * N; i++) {
                double sum = 0;
                for (int k = 0; k < K; k++) sum += x[i / N * K + k] * y[k * N + i % N];
                bool finite = sum - sum == 0;
                if (sum != sum) wrong += c[i] == c[i];
                else if (!finite) wrong += c[i] != sum;
                else wrong += !(fabs(c[i] - sum) <= tolerance(dtype, K, sum));
            }
            CHECK_MSG(wrong == 0, "%s layout %d: %lld sums with infinities are wrong", ox_dtype_name(dtype),
                      layout, (long long)wrong);
            free(x);
            free(y);
            free(c);
        }
}

static void test_broadcast(void) {
    OX_SCOPE {
        ox_tensor *a = random_tensor(OX_SHAPE(2, 1, 3, 4), OX_F32),
                  *b = random_tensor(OX_SHAPE(5, 4, 6), OX_F32);
        ox_tensor *c = ox_matmul(a, b);
        CHECK(c && c->ndim == 4 && c->shape[0] == 2 && c->shape[1] == 5 && c->shape[2] == 3 &&
              c->shape[3] == 6);
        double *x = numbers_of(ox_expand(a, OX_SHAPE(2, 5, 3, 4))),
               *y = numbers_of(ox_expand(b, OX_SHAPE(2, 5, 4, 6)));
        check_product("broadcast", c, x, 12, y, 24, 10, 3, 6, 4);
        free(x);
        free(y);
        x = numbers_of(a);
        ox_tensor *flat = random_tensor(OX_SHAPE(4, 6), OX_F32);
        y = numbers_of(flat);
        check_product("batch x matrix", ox_matmul(a, flat), x, 12, y, 0, 2, 3, 6, 4);
        free(x);
        free(y);
        ox_tensor *swapped = ox_transpose(random_tensor(OX_SHAPE(3, 7, 4), OX_F32), 0, 1);
        x = numbers_of(swapped);
        y = numbers_of(flat);
        check_product("transposed batch x matrix", ox_matmul(swapped, flat), x, 12, y, 0, 7, 3, 6, 4);
        free(x);
        x = numbers_of(ox_t(flat));
        ox_tensor *many = random_tensor(OX_SHAPE(9, 4, 5), OX_F32);
        free(y);
        y = numbers_of(many);
        check_product("matrix x batch", ox_matmul(ox_t(flat), many), x, 0, y, 20, 9, 6, 5, 4);
        free(x);
        free(y);
    }
    OX_SCOPE {
        ox_tensor *a = random_tensor(OX_SHAPE(0, 3, 4), OX_F32), *b = random_tensor(OX_SHAPE(4, 5), OX_F32);
        ox_tensor *c = ox_matmul(a, b);
        CHECK(c && c->ndim == 3 && c->shape[0] == 0 && c->shape[2] == 5);
    }
}

/* Operands without elements are not read, wherever they point. */
static void test_empty_vectors(void) {
    void *nowhere = (void *)(uintptr_t)4096;
    for (int64_t i = -1; i < 4; i++)
        for (int64_t j = -1; j < 4; j++)
            OX_SCOPE {
                ox_tensor *a = ox_from_blob(nowhere, OX_SHAPE(0), &i, OX_F32, NULL, NULL),
                          *b = ox_from_blob(nowhere, OX_SHAPE(0), &j, OX_F32, NULL, NULL);
                CHECK(a && b && ox_item(ox_matmul(a, b)) == 0);
            }
}

/* Nothing to sum, for so many lines that others would be multiplied in blocks. */
static void test_empty_sums(void) {
    OX_SCOPE {
        ox_tensor *a = ox_zeros(OX_SHAPE(9000, 0), OX_F32), *b = ox_zeros(OX_SHAPE(0, 300), OX_F32);
        CHECK(ox_item(ox_sum(ox_abs(ox_matmul(a, b)), OX_SHAPE(0, 1), false)) == 0);
        ox_tensor *c = ox_addmm(ox_ones(OX_SHAPE(9000, 300), OX_F32), a, b, 2, 3);
        CHECK(ox_item(ox_amax(c, OX_SHAPE(0, 1), false)) == 2);
        CHECK(ox_item(ox_amin(c, OX_SHAPE(0, 1), false)) == 2);
    }
}

static void test_vectors(void) {
    OX_SCOPE {
        ox_tensor *v = random_tensor(OX_SHAPE(37), OX_F32), *m = random_tensor(OX_SHAPE(37, 11), OX_F32);
        ox_tensor *w = ox_slice(random_tensor(OX_SHAPE(74), OX_F32), 0, 0, 74, 2);
        double *x = numbers_of(v), *y = numbers_of(m), *z = numbers_of(w);
        ox_tensor *c = ox_matmul(v, m);
        CHECK(c && c->ndim == 1);
        check_product("vector x matrix", c, x, 0, y, 0, 1, 1, 11, 37);
        c = ox_matmul(v, w);
        CHECK(c && c->ndim == 0);
        check_product("vector x vector", c, x, 0, z, 0, 1, 1, 1, 37);
        free(y);
        y = numbers_of(ox_t(m));
        c = ox_matmul(ox_t(m), w);
        CHECK(c && c->ndim == 1);
        check_product("matrix x vector", c, y, 0, z, 0, 1, 11, 1, 37);
        ox_tensor *batch = random_tensor(OX_SHAPE(3, 5, 37), OX_F32);
        double *u = numbers_of(batch);
        c = ox_matmul(batch, v);
        CHECK(c && c->ndim == 2 && c->shape[1] == 5);
        check_product("batch x vector", c, u, 185, x, 0, 3, 5, 1, 37);
        free(u);
        free(x);
        free(y);
        free(z);
    }
}

/* Integers wrap like their dtype; the reference is in 64 bits. */
static void check_ints(ox_dtype dtype, int64_t m, int64_t n, int64_t k, int layout, bool large) {
    OX_SCOPE {
        ox_tensor *a = random_matrix(m, k, dtype, layout % LAYOUTS),
                  *b = random_matrix(k, n, dtype, layout / LAYOUTS);
        if (large) {
            a = ox_mul(a, ox_integer(INT64_C(0x10305)));
            b = ox_mul(b, ox_integer(INT64_C(0x20703)));
        }
        int64_t *x = (int64_t *)malloc((size_t)(m * k + 1) * 8),
                *y = (int64_t *)malloc((size_t)(k * n + 1) * 8);
        int64_t *sum = (int64_t *)malloc((size_t)(m * n + 1) * 8);
        CHECK(ox_to_ints(a, x, m * k) == OX_OK && ox_to_ints(b, y, k * n) == OX_OK);
        for (int64_t i = 0; i < m * n; i++) {
            uint64_t s = 0;
            for (int64_t j = 0; j < k; j++) s += (uint64_t)x[i / n * k + j] * (uint64_t)y[j * n + i % n];
            sum[i] = (int64_t)s;
        }
        ox_tensor *c = ox_matmul(a, b), *expected = ox_from_ints(sum, OX_SHAPE(m, n), dtype);
        CHECK_MSG(ox_equal(c, expected), "%s [%lld,%lld,%lld] layout %d: %s", ox_dtype_name(dtype),
                  (long long)m, (long long)n, (long long)k, layout, ox_error_text());
        if (dtype == OX_I8)
            CHECK_MSG(ox_equal(ox_int_mm(a, b), ox_from_ints(sum, OX_SHAPE(m, n), OX_I32)),
                      "int_mm [%lld,%lld,%lld] layout %d: %s", (long long)m, (long long)n, (long long)k,
                      layout, ox_error_text());
        free(x);
        free(y);
        free(sum);
    }
}

static void test_ints(void) {
    static const ox_dtype dtypes[] = {OX_I8, OX_U8, OX_I16, OX_U16, OX_I32, OX_U32, OX_I64, OX_U64};
    for (int d = 0; d < 8; d++)
        for (int layout = 0; layout < LAYOUTS * LAYOUTS; layout += 5) {
            check_ints(dtypes[d], 5, 7, 9, layout, dtypes[d] != OX_I8);
            check_ints(dtypes[d], 1, 1, 300, layout, false);
        }
    for (int layout = 0; layout < LAYOUTS * LAYOUTS; layout++) /* wholes and parts of four along k */
        check_ints(OX_I8, 61, 67, 129 + layout % 5, layout, false);
    check_ints(OX_I8, 61, 67, 515, 0, false);
    check_ints(OX_I8, 61, 67, 516, 7, false);
    check_ints(OX_I8, 3, 1, 0, 0, false);
    OX_SCOPE { /* -128 * -128 * 65 needs 21 bits */
        ox_tensor *a = ox_full(OX_SHAPE(9, 65), -128, OX_I8), *b = ox_full(OX_SHAPE(65, 40), -128, OX_I8);
        ox_tensor *c = ox_full(OX_SHAPE(9, 40), 100, OX_I8);
        CHECK(ox_equal(ox_int_mm(a, b), ox_full(OX_SHAPE(9, 40), 128 * 128 * 65, OX_I32)));
        CHECK(ox_equal(ox_matmul(a, b), ox_full(OX_SHAPE(9, 40), 0, OX_I8))); /* its low 8 bits */
        CHECK(ox_equal(ox_addmm(c, a, b, 3, 1), ox_full(OX_SHAPE(9, 40), 44, OX_I8)));
        CHECK(ox_equal(ox_linear(a, ox_t(b), ox_select(c, 0, 0)), ox_full(OX_SHAPE(9, 40), 100, OX_I8)));
        CHECK(!ox_int_mm(ox_cast(a, OX_U8), b) && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        CHECK(!ox_int_mm(a, a) && ox_error() == OX_ERR_SHAPE && strstr(ox_error_text(), "int_mm: inner"));
        ox_error_clear();
    }
}

static void test_errors(void) {
    OX_SCOPE {
        ox_tensor *a = ox_zeros(OX_SHAPE(2, 3), OX_F32);
        CHECK(!ox_matmul(a, ox_zeros(OX_SHAPE(4, 5), OX_F32)) && ox_error() == OX_ERR_SHAPE);
        CHECK(strcmp(ox_error_text(), "matmul: inner sizes differ: [2,3] x [4,5]") == 0);
        ox_error_clear();
        CHECK(!ox_matmul(a, ox_zeros(OX_SHAPE(3, 5), OX_F64)) && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        CHECK(!ox_matmul(a, ox_zeros(OX_SHAPE(3, 5), OX_BOOL)) && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        CHECK(!ox_matmul(NULL, a));
        ox_error_clear();
    }
}

/* NaN and infinity reach exactly the rows and columns that they belong to, also in the overhang of panels. */
static void test_special(void) {
    OX_SCOPE {
        enum { M = 19, N = 35, K = 21 };
        float a[M * K], b[K * N], c[M * N];
        for (int i = 0; i < M * K; i++) a[i] = 1;
        for (int i = 0; i < K * N; i++) b[i] = 1;
        a[18 * K + 3] = NAN;
        b[20 * N + 34] = INFINITY;
        ox_tensor *x = ox_from_floats(a, OX_SHAPE(M, K), OX_F32),
                  *y = ox_from_floats(b, OX_SHAPE(K, N), OX_F32);
        CHECK(ox_to_floats(ox_matmul(x, y), c, M * N) == OX_OK);
        int wrong = 0;
        for (int i = 0; i < M * N; i++) {
            bool nan = i / N == 18, infinite = i % N == 34 && !nan;
            if (nan ? c[i] == c[i] : infinite ? c[i] != INFINITY : c[i] != K) wrong++;
        }
        CHECK_MSG(wrong == 0, "%d numbers", wrong);
    }
}

/* ---- linear and addmm ---------------------------------------------------------------------------------- */

static const char *const activation_names[] = {"none", "relu",    "gelu", "gelu_tanh",
                                               "silu", "sigmoid", "tanh"};

static double activate(ox_activation activation, double x) {
    switch (activation) {
    case OX_ACTIVATION_RELU: return x > 0 ? x : 0;
    case OX_ACTIVATION_GELU: return 0.5 * x * (1 + erf(x / sqrt(2.0)));
    case OX_ACTIVATION_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case OX_ACTIVATION_SILU: return x / (1 + exp(-x));
    case OX_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
    case OX_ACTIVATION_TANH: return tanh(x);
    default: return x;
    }
}

static void check_linear(ox_tensor *x, ox_tensor *w, ox_tensor *bias, ox_activation activation) {
    int64_t k = w->shape[1], n = w->shape[0], m = ox_numel(x) / k;
    ox_tensor *c = ox_linear_act(x, w, bias, activation);
    if (!c) {
        CHECK_MSG(false, "linear: %s", ox_error_text());
        ox_error_clear();
        return;
    }
    CHECK(c->ndim == x->ndim && c->shape[c->ndim - 1] == n && c->dtype == x->dtype);
    double *a = numbers_of(x), *b = numbers_of(w), *add = bias ? numbers_of(bias) : NULL,
           *got = numbers_of(c), worst = 0;
    for (int64_t i = 0; i < m * n; i++) {
        double sum = add ? add[i % n] : 0;
        for (int64_t j = 0; j < k; j++) sum += a[i / n * k + j] * b[i % n * k + j];
        sum = activate(activation, sum);
        double off = fabs(got[i] - sum) / tolerance(c->dtype, k, sum);
        worst = check_worst(worst, off);
    }
    CHECK_MSG(worst <= 1, "linear %s, %s x %s, m %lld: error %g of what is allowed",
              activation_names[activation], ox_dtype_name(x->dtype), ox_dtype_name(w->dtype), (long long)m,
              worst);
    free(a);
    free(b);
    free(add);
    free(got);
}

static void test_linear(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16, OX_F64};
    OX_SCOPE {
        ox_tensor *w = random_tensor(OX_SHAPE(45, 70), OX_F32), *bias = random_tensor(OX_SHAPE(45), OX_F32);
        for (int i = 0; i < 7; i++)
            for (int64_t m = 1; m <= 21; m += 10) {
                if (is_short_mirror() && m != (i < 4 ? 11 : 1)) continue; /* a shader for each */
                check_linear(random_tensor(OX_SHAPE(m, 70), OX_F32), w, i & 1 ? bias : NULL,
                             (ox_activation)i);
            }
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            OX_SCOPE {
                bool f64 = dtypes[i] == OX_F64; /* which meets only its own */
                if (f64 != (dtypes[j] == OX_F64)) continue;
                ox_tensor *w = random_tensor(OX_SHAPE(33, 64), dtypes[j]),
                          *bias = random_tensor(OX_SHAPE(33), f64 ? OX_F64 : dtypes[(i + j) % 3]);
                check_linear(random_tensor(OX_SHAPE(1, 64), dtypes[i]), w, bias, OX_ACTIVATION_NONE);
                check_linear(random_tensor(OX_SHAPE(2, 3, 64), dtypes[i]), w, bias, OX_ACTIVATION_RELU);
                check_linear(random_tensor(OX_SHAPE(64), dtypes[i]), w, NULL, OX_ACTIVATION_NONE);
            }
    OX_SCOPE {
        ox_tensor *x =
            ox_transpose(random_tensor(OX_SHAPE(3, 4, 64), OX_F32), 0, 1); /* rows that do not join */
        ox_tensor *bias = ox_slice(random_tensor(OX_SHAPE(10), OX_F32), 0, 0, 10, 2);
        check_linear(x, random_tensor(OX_SHAPE(5, 64), OX_F32), bias, OX_ACTIVATION_SILU);
        check_linear(x, ox_t(random_tensor(OX_SHAPE(64, 5), OX_F32)), bias, OX_ACTIVATION_NONE);
    }
}

static void check_addmm(ox_shape c_shape, int64_t m, int64_t n, int64_t k, ox_dtype dtype, double beta,
                        double alpha) {
    OX_SCOPE {
        ox_tensor *a = random_matrix(m, k, dtype, 1), *b = random_matrix(k, n, dtype, 0),
                  *c = random_tensor(c_shape, dtype);
        double *x = numbers_of(a), *y = numbers_of(b), *z = numbers_of(ox_expand(c, OX_SHAPE(m, n)));
        ox_tensor *out = ox_addmm(c, a, b, beta, alpha);
        CHECK_MSG(out != NULL, "addmm: %s", ox_error_text());
        double *got = numbers_of(out), worst = 0;
        for (int64_t i = 0; i < m * n; i++) {
            double sum = 0;
            for (int64_t j = 0; j < k; j++) sum += x[i / n * k + j] * y[j * n + i % n];
            sum = alpha * sum + beta * z[i];
            double off = fabs(got[i] - sum) / tolerance(dtype, k, sum);
            worst = check_worst(worst, off);
        }
        CHECK_MSG(worst <= 1, "addmm %s beta %g alpha %g: error %g of what is allowed", ox_dtype_name(dtype),
                  beta, alpha, worst);
        free(x);
        free(y);
        free(z);
        free(got);
    }
}

static void test_addmm(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16, OX_F64};
    for (int d = 0; d < 4; d++) {
        check_addmm(OX_SHAPE(13, 17), 13, 17, 40, dtypes[d], 1, 1);
        check_addmm(OX_SHAPE(17), 13, 17, 40, dtypes[d], 0.5, 2);
        check_addmm(OX_SHAPE(13, 1), 13, 17, 40, dtypes[d], -1, 0.25);
        check_addmm(OX_SHAPE(1), 1, 17, 40, dtypes[d], 2, -1);
        check_addmm(OX_SCALAR_SHAPE, 13, 1, 40, dtypes[d], 2, 1);
        check_addmm(OX_SHAPE(13, 17), 13, 17, 0, dtypes[d], 1, 1);
    }
    check_addmm(OX_SHAPE(5, 6), 5, 6, 7, OX_I32, 3, 2);
    OX_SCOPE {
        ox_tensor *nan = ox_full(OX_SHAPE(3, 3), NAN, OX_F32), *one = ox_ones(OX_SHAPE(3, 3), OX_F32);
        CHECK(ox_equal(ox_addmm(nan, one, one, 0, 1), ox_full(OX_SHAPE(3, 3), 3, OX_F32)));
    }
}

/* Few rows by weights whose lines are read side by side from several places, and long ones in pieces. */
static void test_few_lines(void) {
    static const int64_t sums[] = {1, 24, 128, 160, 4096, 4100, 8208}, lines[] = {1, 3, 8, 9, 70, 601};
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16};
    for (int i = 0; i < 7 * 6 * 3; i++)
        OX_SCOPE {
            const int64_t k = sums[i % 7], n = lines[i / 7 % 6];
            ox_tensor *a = random_tensor(OX_SHAPE(2, k), OX_F32),
                      *w = random_tensor(OX_SHAPE(n, k), dtypes[i / 42]), *whole = ox_linear(a, w, NULL);
            double *x = numbers_of(a), *y = numbers_of(ox_t(w));
            check_product("few lines", whole, x, 0, y, 0, 1, 2, n, k);
            free(x);
            free(y);
            for (int threads = 1; threads <= 4 && !is_mirror(); threads++) {
                ox_set_threads(threads);
                CHECK_MSG(ox_equal(whole, ox_linear(a, w, NULL)), "%d threads, %d lines of %d %s", threads,
                          (int)n, (int)k, ox_dtype_name(dtypes[i / 42]));
            }
            ox_set_threads(0);
        }
}

/* ---- threads and memory -------------------------------------------------------------------------------- */

static void test_threads(void) {
    static const int64_t sizes[][3] = {{300, 200, 700}, {1, 3000, 300}, {3000, 2, 300}, {40, 1500, 64},
                                       {90, 90, 90},    {3, 1023, 150}, {1, 5, 16384}};
    static const ox_dtype dtypes[] = {OX_F32, OX_BF16, OX_F64};
    for (int s = 0; s < 7; s++)
        for (int d = 0; d < 3; d++)
            OX_SCOPE {
                ox_tensor *a = random_matrix(sizes[s][0], sizes[s][2], dtypes[d], s & 1);
                ox_tensor *b = random_matrix(sizes[s][2], sizes[s][1], dtypes[d], s >> 1 & 1);
                ox_set_threads(1);
                ox_tensor *one = ox_matmul(a, b);
                for (int n = 2; n <= 5; n++) {
                    ox_set_threads(n);
                    CHECK_MSG(ox_equal(one, ox_matmul(a, b)), "%d threads, size %d, %s", n, s,
                              ox_dtype_name(dtypes[d]));
                }
            }
    OX_SCOPE {
        ox_tensor *a = random_tensor(OX_SHAPE(30, 20, 40), OX_F32),
                  *b = random_tensor(OX_SHAPE(30, 40, 25), OX_F32);
        ox_set_threads(1);
        ox_tensor *one = ox_matmul(a, b);
        ox_set_threads(3);
        CHECK(ox_equal(one, ox_matmul(a, b)));
    }
    ox_set_threads(0);
}

/* Products with a prepacked `weight` have the bits of those with one that is not, also after a change in
 * place. */
static void check_prepacked(ox_tensor *weight, bool first, int64_t lines) {
    int64_t k = weight->shape[first];
    ox_dtype dtype = weight->dtype;
    ox_tensor *x = first ? random_matrix(k, lines, dtype, 0) : random_matrix(lines, k, dtype, 1);
    for (int change = 0; change < 2; change++) {
        ox_tensor *out[3];
        CHECK(change || ox_prepack(weight) == OX_OK);
        for (int i = 0; i < 3; i++) {
            if (i == 2) CHECK(ox_unpack(weight) == OX_OK);
            out[i] = first ? ox_matmul(weight, x) : ox_matmul(x, weight);
        }
        for (int i = 0; i < 2; i++)
            CHECK_MSG(ox_equal(out[2], out[i]), "%s [%d,%d], %d lines, %s", ox_dtype_name(weight->dtype),
                      (int)weight->shape[0], (int)weight->shape[1], (int)lines, change ? "changed" : "new");
        if (change) return;
        CHECK(ox_prepack(weight) == OX_OK);
        CHECK((first ? ox_matmul(weight, x) : ox_matmul(x, weight)) != NULL);
        CHECK(ox_fill_(ox_select(weight, 0, 1), 3) != NULL);
    }
}

static void test_prepack(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16, OX_I8, OX_C64, OX_I32};
    for (int d = 0; d < 7; d++)
        for (int layout = 0; layout < LAYOUTS - 1; layout++)
            OX_SCOPE {
                ox_tensor *weight = random_matrix(530, 70, dtypes[d], layout);
                check_prepacked(weight, false, 3);
                check_prepacked(weight, false, 17);
                check_prepacked(weight, false, 300);
                check_prepacked(ox_slice(weight, 0, 20, 500, 3), false, 40);
                check_prepacked(ox_t(weight), false, 40);
                check_prepacked(weight, true, 40);
            }
    OX_SCOPE { /* linear and addmm, a batch, both operands at once */
        ox_tensor *w = random_tensor(OX_SHAPE(3, 60, 90), OX_BF16);
        ox_tensor *x = random_tensor(OX_SHAPE(20, 90), OX_F32);
        ox_tensor *bias = random_tensor(OX_SHAPE(60), OX_F32);
        ox_tensor *a = random_tensor(OX_SHAPE(40, 900), OX_F32);
        ox_tensor *b = random_tensor(OX_SHAPE(900, 70), OX_F32);
        ox_tensor *expected[4];
        for (int kept = 0; kept < 3; kept++) {
            ox_tensor *one = ox_select(w, 0, 1);
            ox_tensor *out[4] = {ox_linear_act(x, one, bias, OX_ACTIVATION_GELU),
                                 ox_addmm(ox_cast(bias, OX_BF16), ox_cast(x, OX_BF16), ox_t(one), 2, 0.5),
                                 ox_matmul(ox_cast(x, OX_BF16), ox_transpose(w, 1, 2)),
                                 ox_matmul(a, b)};
            for (int i = 0; i < 4; i++)
                if (!kept) expected[i] = out[i];
                else CHECK_MSG(ox_equal(expected[i], out[i]), "product %d, turn %d", i, kept);
            if (!kept) CHECK(!ox_prepack(w) && !ox_prepack(a) && !ox_prepack(b));
        }
    }
    CHECK(ox_prepack(NULL) == OX_ERR_ARG);
    ox_error_clear();
}

static void test_memory(void) {
    ox_allocator allocator;
    hook h = {0, INT64_MAX, 0, 0, 0, 0};
    allocator.alloc = hook_alloc;
    allocator.free = hook_free;
    allocator.user = &h;
    ox_trim();
    CHECK(ox_set_allocator(&allocator) == OX_OK);
    static const int64_t sizes[][3] = {{100, 120, 300}, {1, 500, 300}, {20, 30, 600}};
    for (int s = 0; s < 3; s++)
        OX_SCOPE {
            hook_allow(&h, INT64_MAX);
            ox_tensor *a = ox_ones(OX_SHAPE(sizes[s][0], sizes[s][2]), OX_F32);
            ox_tensor *b = ox_ones(OX_SHAPE(sizes[s][2], sizes[s][1]), OX_BF16), *c = NULL;
            b = ox_t(ox_t(b));
            CHECK((s == 2 ? ox_prepack(b) : ox_unpack(b)) == OX_OK);
            for (int left = 0; !c && left < 50; left++) {
                ox_trim();
                size_t before = ox_memory_get_stats().bytes_in_use;
                hook_allow(&h, left);
                c = ox_linear(a, ox_t(b), NULL);
                if (c) break;
                CHECK_MSG(ox_error() == OX_ERR_NOMEM, "%s", ox_error_text());
                /* a GPU that is short of memory gives back what it kept, with its headers */
                size_t after = ox_memory_get_stats().bytes_in_use;
                CHECK_MSG(getenv("OX_MIRROR") ? after <= before : after == before,
                          "size %d, %d allocations: %zu bytes, not %zu", s, left, after, before);
                ox_error_clear();
            }
            CHECK(c != NULL);
            hook_allow(&h, INT64_MAX);
        }
    hook_allow(&h, INT64_MAX);
    ox_trim();
    CHECK(ox_set_allocator(NULL) == OX_OK);
}

/* Small products sum up a few steps at a time: positive numbers, whose sums one by one lose most. Rounding to
 * the nearest f32 is 0.4 units in the mean; sums one by one are 2.0 (k = 64) to 3.5 units off. */
static void test_short_sums(void) {
    for (int k = 32; k <= 192; k += k < 64 ? 16 : 64) OX_SCOPE {
        double squares = 0;
        ox_tensor *a = ox_abs(random_matrix(48, k, OX_F32, 0)), *b = ox_abs(random_matrix(k, 40, OX_F32, 0));
        double *got = numbers_of(ox_matmul(a, b)),
               *exact = numbers_of(ox_matmul(ox_cast(a, OX_F64), ox_cast(b, OX_F64)));
        for (int i = 0; i < 48 * 40; i++) squares += pow((got[i] - exact[i]) / exact[i] * 16777216, 2);
        double off = sqrt(squares / (48 * 40));
        CHECK_MSG(off < 1.5, "sums of %d: %g units off", k, off);
        free(got);
        free(exact);
    }
}

/* The same numbers, or NaN both. */
static bool are_same(ox_tensor *a, ox_tensor *b) {
    double *x = numbers_of(a), *y = numbers_of(b);
    bool same = true;
    for (int64_t i = 0; i < ox_numel(a); i++) same = same && (x[i] == y[i] || (isnan(x[i]) && isnan(y[i])));
    free(x);
    free(y);
    return same;
}

/* Operands whose rows lie along k give the bits of those that are packed because they lie across it, or begin
 * between two pairs; wild: with infinities and NaN. */
static void check_lying(int64_t m, int64_t n, int64_t k, bool wild) {
    ox_tensor *x = random_matrix(m, k, OX_BF16, 0), *w = random_matrix(n, k, OX_BF16, 0);
    if (wild) {
        uint16_t *in = (uint16_t *)ox_data(x), *of = (uint16_t *)ox_data(w);
        in[(m - 1) * k] = 0x7f80;
        of[k - 1] = 0xff80;
        of[(n - 1) * k + k / 2] = 0x7fc0;
    }
    ox_tensor *x_across = ox_t(ox_contiguous(ox_t(x))), *w_across = ox_contiguous(ox_t(w));
    ox_tensor *twice[2] = {w, w}, *behind[2] = {ox_slice(w, 1, 0, 1, 1), w};
    ox_tensor *spaced = ox_slice(ox_cat(twice, 2, 1), 1, 0, k, 1);
    ox_tensor *off = ox_slice(ox_cat(behind, 2, 1), 1, 1, k + 1, 1);
    ox_tensor *bias = random_tensor(OX_SHAPE(n), OX_F32);
    ox_tensor *packed = ox_matmul(x_across, w_across);
    CHECK_MSG(are_same(packed, ox_matmul(x, ox_t(w))), "both %d %d %d", (int)m, (int)n, (int)k);
    CHECK_MSG(are_same(packed, ox_matmul(x, w_across)), "x %d %d %d", (int)m, (int)n, (int)k);
    CHECK_MSG(are_same(packed, ox_matmul(x_across, ox_t(w))), "w %d %d %d", (int)m, (int)n, (int)k);
    CHECK_MSG(are_same(packed, ox_matmul(x, ox_t(spaced))), "spaced %d %d %d", (int)m, (int)n, (int)k);
    CHECK_MSG(are_same(packed, ox_matmul(x, ox_t(off))), "off by one %d %d %d", (int)m, (int)n, (int)k);
    CHECK_MSG(are_same(ox_linear(x_across, ox_t(w_across), bias), ox_linear(x, w, bias)), "bias %d %d %d",
              (int)m, (int)n, (int)k);
}

static void test_lying(void) {
    static const int64_t lines[] = {5, 6, 17, 49, 64, 100, 131, 400}, depths[] = {2, 66, 767, 768, 1500};
    const int count = (int)(sizeof lines / sizeof *lines);
    for (int i = 0; i < count * count; i++)
        for (int d = 0; d < 5; d++) OX_SCOPE {
            check_lying(lines[i / count], lines[i % count], depths[d], d % 2 != 0);
        }
}

int main(void) {
    test_layouts();
    test_sizes();
    test_f16_is_exact();
    test_not_finite(OX_F32);
    test_not_finite(OX_F16);
    test_not_finite(OX_BF16);
    test_not_finite(OX_F64);
    test_broadcast();
    test_vectors();
    test_empty_vectors();
    test_empty_sums();
    test_few_lines();
    if (!is_short_mirror()) test_ints(); /* test_vulkan_ops.c has them */
    test_errors();
    test_special();
    test_linear();
    test_addmm();
    if (!is_mirror()) test_threads(); /* both are the CPU's */
    if (!is_mirror()) test_prepack();
    if (!is_mirror()) test_short_sums();
    if (!is_mirror()) test_lying();
    test_memory();
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.bad_releases == 0);
    return check_done("matmul");
}
