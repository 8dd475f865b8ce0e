/* test_math.c - elementwise numerics over the whole range: every f32 op against doubles at several
 * thousand inputs, bit patterns taken at even steps and around the places where a kernel changes its
 * formula; special values; every length from 0 to 70; 16-bit floats exhaustively; NumPy's golden values
 * where OX_TEST_DATA has them. OX_TIERS OX_VULKAN */
#include "backwards.h"
#include "op_cases.h"
#include <float.h>

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}
static double double_of(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* ---- inputs -------------------------------------------------------------------------------------------- */

#define INPUTS_MOST 32768
typedef struct inputs {
    int64_t count;
    float value[INPUTS_MOST];
} inputs;

static void add_input(inputs *in, float x) {
    if (in->count < INPUTS_MOST) in->value[in->count++] = x;
}

static const float special_values[] = {
    0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, FLT_MIN, -FLT_MIN, FLT_MAX, -FLT_MAX,
    1.40129846e-45f, -1.40129846e-45f, 1.17549421e-38f, -1.17549421e-38f, /* subnormals: the ends */
    0.5f, -0.5f, 2.0f, -2.0f, 1.5f, 2.5f, -2.5f, 3.0f, 6.0f, 0.49999997f, -0.49999997f,
    8388607.5f, -8388607.5f, 8388608.0f, 16777216.0f, 2147483648.0f, -2147483648.0f, 1e10f, -1e10f,
};
#define SPECIAL_COUNT ((int)(sizeof special_values / sizeof *special_values))

/* Edges of exp (overflow, subnormal and zero results), of the polynomials' ranges, of argument reductions. */
static const float edges[] = {
    0.34657359f, 0.55f,       0.69314718f, 0.70710678f, 0.78539816f, 1.0f,        1.05f,
    1.41421356f, 1.57079633f, 3.14159265f, 3.92f,       6.0f,        9.0f,        10.05f,
    12.0f,       13.1f,       14.5f,       20.0f,       34.0f,       87.33655f,   88.722839f,
    89.41599f,   102.0f,      103.972084f, 104.5f,      126.0f,      127.99999f,  128.0f,
    149.5f,      131072.0f,   1e-4f,       0.33333333f, 0.66666667f, 1.33333333f,
};
#define EDGE_COUNT ((int)(sizeof edges / sizeof *edges))

static const inputs *all_inputs(void) {
    static inputs in;
    if (in.count) return &in;
    for (int i = 0; i < SPECIAL_COUNT; i++) add_input(&in, special_values[i]);
    for (int e = 0; e < EDGE_COUNT; e++)
        for (int step = -3; step <= 3; step++) {
            add_input(&in, float_of(bits_of(edges[e]) + (uint32_t)step));
            add_input(&in, -float_of(bits_of(edges[e]) + (uint32_t)step));
        }
    for (uint64_t bits = 7; bits <= UINT32_MAX; bits += 500009) add_input(&in, float_of((uint32_t)bits));
    for (int i = 0; i < 6000; i++) add_input(&in, (float)((test_uniform() - 0.5) * 40));
    for (int i = 0; i < 4000; i++) add_input(&in, (float)((test_uniform() - 0.5) * 220));
    for (int i = 0; i < 4000; i++) add_input(&in, (float)((test_uniform() - 0.5) * 2.5));
    return &in;
}

/* ---- every op with one operand ------------------------------------------------------------------------- */

static bool is_right(const op_case *c, ox_dtype dtype, double got, double a, double b) {
    double want = c->real(a, b, 0);
    if (dtype == OX_BOOL && got == want) return true;
    if (dtype != OX_BOOL && is_close_around(dtype, got, want, c->ulps, c->around ? c->around(a, b, 0) : want))
        return true;
    double x = flushed(a), y = flushed(b);
    return ((x == 0 && a != 0) || (y == 0 && b != 0)) && is_right(c, dtype, got, x, y);
}

static void sweep_1(const op_case *c) {
    const inputs *in = all_inputs();
    ox_tensor *x = ox_from_floats(in->value, OX_SHAPE(in->count), OX_F32), *y = c->run(&x);
    CHECK_MSG(y != NULL, "%s: %s", c->label, ox_error_text());
    if (!y) return;
    for (int64_t i = 0; i < in->count; i++) {
        double from = (double)in->value[i], got = load_real(y->dtype, element(y, i));
        CHECK_MSG(is_right(c, y->dtype, got, from, 0), "%s(%.9g = 0x%08x) is %.9g, not %.9g", c->label, from,
                  (unsigned)bits_of(in->value[i]), got, c->real(from, 0, 0));
    }
}

/* ---- ops with two operands ----------------------------------------------------------------------------- */

static void random_pair(float *a, float *b) {
    uint64_t r = test_random();
    switch (r >> 32 & 3) {
    case 0: *a = float_of((uint32_t)r), *b = float_of((uint32_t)test_random()); break;
    case 1: *a = float_of((uint32_t)r), *b = (float)((int)(test_random() % 41) - 20); break;
    case 2: *a = (float)((test_uniform() - 0.5) * 20), *b = (float)((test_uniform() - 0.5) * 20); break;
    default:
        *a = (float)(1 + (test_uniform() - 0.5) * 2e-3), *b = (float)((test_uniform() - 0.5) * 2e5);
        break;
    }
}

static void sweep_2(const op_case *c) {
    enum { RANDOM = 8000, COUNT = RANDOM + SPECIAL_COUNT * SPECIAL_COUNT };
    static float a[COUNT], b[COUNT];
    int n = 0;
    for (int i = 0; i < SPECIAL_COUNT; i++)
        for (int k = 0; k < SPECIAL_COUNT; k++, n++) a[n] = special_values[i], b[n] = special_values[k];
    for (; n < COUNT; n++) random_pair(&a[n], &b[n]);
    ox_tensor *in[2];
    in[0] = ox_from_floats(a, OX_SHAPE(COUNT), OX_F32);
    in[1] = ox_from_floats(b, OX_SHAPE(COUNT), OX_F32);
    ox_tensor *y = c->run(in);
    CHECK_MSG(y != NULL, "%s: %s", c->label, ox_error_text());
    if (!y) return;
    for (int i = 0; i < COUNT; i++) {
        double from = (double)a[i], by = (double)b[i], got = load_real(y->dtype, element(y, i));
        CHECK_MSG(is_right(c, y->dtype, got, from, by), "%s(%.9g, %.9g) is %.9g, not %.9g", c->label, from,
                  by, got, c->real(from, by, 0));
    }
}

static void test_sweeps(void) {
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        const op_case *c = &op_cases[i];
        if (!c->real) continue;
        OX_SCOPE {
            if (c->arity == 1) sweep_1(c);
            /* the products round their first factor, which shows where the second is huge; the quotient is
             * rounded first in f32 */
            else if (c->arity == 2 && strcmp(c->name, "silu_mul") && strcmp(c->name, "gelu_mul") &&
                     strcmp(c->name, "trunc_divide"))
                sweep_2(c);
        }
    }
}

/* ---- factors that are subnormal, of results that are not ----------------------------------------------- */

/* A device that takes subnormals for 0 must not lose what they would have become: to round the factor costs
 * half of the least subnormal times what it meets. */
static void check_factors(const char *name, const ox_tensor *y, int n, const double *want,
                          const double *met) {
    CHECK_MSG(y != NULL, "%s: %s", name, ox_error_text());
    for (int i = 0; i < n && y; i++) {
        double got = load_real(OX_F32, element(y, i));
        double allowed = fabs(want[i]) * 1e-6 + fabs(met[i]) * 1.5e-45;
        CHECK_MSG(fabs(got - want[i]) <= allowed, "%s: number %d is %.9g, not %.9g", name, i, got, want[i]);
    }
}

static void test_small_factors(void) {
    enum { N = 200 };
    float a[N], b[N], t[N], c[N];
    double silu[N], gelu[N], mul[N], div[N], met[N], inverse[N];
    for (int i = 0; i < N; i++) {
        a[i] = i % 8 == 0 ? 1.5e-38f : -86.5f - 0.08f * (float)i; /* silu: from 2^-118 to the least */
        b[i] = i % 3 ? 3e38f : -1e36f;
        silu[i] = (double)a[i] / (1 + exp(-(double)a[i])) * (double)b[i];
        met[i] = (double)b[i];
    }
    ox_tensor *x = ox_from_floats(a, OX_SHAPE(N), OX_F32), *y = ox_from_floats(b, OX_SHAPE(N), OX_F32);
    check_factors("silu_mul", ox_silu_mul(x, y), N, silu, met);
    for (int i = 0; i < N; i++) {
        a[i] = -9.2f - 0.005f * (float)i;
        double z = (double)a[i], u = 0.7978845608028654 * (z + 0.044715 * z * z * z);
        gelu[i] = z / (1 + exp(-2 * u)) * (double)b[i];
    }
    x = ox_from_floats(a, OX_SHAPE(N), OX_F32);
    check_factors("gelu_mul", ox_gelu_mul(x, y), N, gelu, met);
    const double value = 1e-20f;
    for (int i = 0; i < N; i++) {
        a[i] = (float)(1e-18 * (1 + 0.01 * i));
        t[i] = i % 2 ? 0 : 3e-4f;
        c[i] = i % 3 ? 1.5e-38f : -1e-36f;
        mul[i] = (double)t[i] + value * (double)a[i] * (double)b[i];
        div[i] = (double)t[i] + value * (double)a[i] / (double)c[i];
        inverse[i] = 1 / (double)c[i];
    }
    x = ox_from_floats(a, OX_SHAPE(N), OX_F32);
    ox_tensor *plus = ox_from_floats(t, OX_SHAPE(N), OX_F32);
    check_factors("addcmul", ox_addcmul(plus, x, y, value), N, mul, met);
    y = ox_from_floats(c, OX_SHAPE(N), OX_F32);
    check_factors("addcdiv", ox_addcdiv(plus, x, y, value), N, div, inverse);
}

/* ---- lengths: whole vectors and what is left over, at any alignment, also in place --------------------- */

static void check_length(const op_case *c, const ox_tensor *all_x, const ox_tensor *all_y, int64_t offset,
                         int64_t n) {
    ox_tensor *base = ox_clone((ox_tensor *)all_x), *x = ox_narrow(base, 0, offset, n);
    ox_tensor *want = ox_narrow((ox_tensor *)all_y, 0, offset, n), *got = c->run(&x);
    CHECK_MSG(same_bits(got, want), "%s of %d numbers from %d", c->label, (int)n, (int)offset);
    if (!c->run_in_place || all_y->dtype != OX_F32) return;
    CHECK_MSG(c->run_in_place(&x) == x && same_bits(x, want), "%s_ of %d numbers from %d", c->label, (int)n,
              (int)offset);
    const float *after = (const float *)ox_data(base), *before = (const float *)ox_data(all_x);
    bool kept =
        memcmp(after, before, (size_t)offset * 4) == 0 &&
        memcmp(after + offset + n, before + offset + n, (size_t)(ox_numel(all_x) - offset - n) * 4) == 0;
    CHECK_MSG(kept, "%s_ of %d numbers from %d: wrote beside them", c->label, (int)n, (int)offset);
}

static void test_lengths(void) {
    float values[80];
    for (int i = 0; i < 80; i++) values[i] = (float)(test_uniform() * 4 - 2);
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        if (op_cases[i].arity != 1 || !op_cases[i].real) continue;
        OX_SCOPE {
            ox_tensor *x = ox_from_floats(values, OX_SHAPE(80), OX_F32), *y = op_cases[i].run(&x);
            for (int64_t n = 0; n <= 70 && y; n++) OX_SCOPE { check_length(&op_cases[i], x, y, n % 7, n); }
        }
    }
}

/* ---- 16-bit floats: every bit pattern, and every halfway case ------------------------------------------ */

static ox_tensor *every_pattern(ox_dtype dtype, bool reverse) {
    ox_tensor *x = ox_empty(OX_SHAPE(65536), dtype);
    for (int i = 0; i < 65536; i++) ((uint16_t *)ox_data(x))[i] = (uint16_t)(reverse ? 65535 - i : i);
    return reverse ? backwards(x, OX_DIMS(0)) : x;
}

static void check_patterns(ox_dtype dtype, ox_dtype wide, bool reverse) {
    ox_tensor *x = every_pattern(dtype, reverse), *y = ox_cast(x, wide), *back = ox_cast(y, dtype);
    for (int i = 0; i < 65536; i++) {
        double want = decode_float(format_of(dtype), (unsigned)i), got = load_real(wide, element(y, i));
        unsigned again = ((const uint16_t *)ox_data(back))[i];
        CHECK_MSG(got == want ? signbit(got) == signbit(want) || !(want == 0) : isnan(got) && isnan(want),
                  "%s 0x%04x as %s is %.9g", ox_dtype_name(dtype), (unsigned)i, ox_dtype_name(wide), got);
        CHECK_MSG(isnan(want) ? isnan(decode_float(format_of(dtype), again)) : again == (unsigned)i,
                  "%s 0x%04x to %s and back is 0x%04x", ox_dtype_name(dtype), (unsigned)i,
                  ox_dtype_name(wide), again);
    }
}

/* Between each number and the next: the middle, and its neighbors in f32 and f64, which must round to the
 * nearer or even one. */
static void check_rounding(ox_dtype dtype) {
    enum { STEPS = 31744 };
    float *f = (float *)malloc(STEPS * 3 * sizeof *f);
    double *d = (double *)malloc(STEPS * 3 * sizeof *d);
    int n = 0;
    if (!f || !d) return;
    for (unsigned bits = 0; bits < STEPS; bits++) {
        double low = decode_float(format_of(dtype), bits), high = decode_float(format_of(dtype), bits + 1);
        if (!(low - low == 0) || !(high - high == 0)) continue;
        float middle = (float)(low + (high - low) / 2);
        uint64_t wide;
        double exact = (double)middle;
        memcpy(&wide, &exact, sizeof wide);
        for (int step = -1; step <= 1; step++, n++) {
            f[n] = float_of(bits_of(middle) + (uint32_t)step) * (float)(bits & 1 ? -1 : 1);
            d[n] = double_of(wide + (uint64_t)(int64_t)step) * (bits & 1 ? -1 : 1);
        }
    }
    ox_tensor *from_f = ox_cast(ox_from_floats(f, OX_SHAPE(n), OX_F32), dtype);
    ox_tensor *from_d = ox_cast(ox_from_doubles(d, OX_SHAPE(n), OX_F64), dtype);
    for (int i = 0; i < n; i++) {
        unsigned a = ((const uint16_t *)ox_data(from_f))[i], b = ((const uint16_t *)ox_data(from_d))[i];
        CHECK_MSG(a == encode_float(format_of(dtype), (double)f[i]), "f32 %.9g as %s is 0x%04x", (double)f[i],
                  ox_dtype_name(dtype), a);
        CHECK_MSG(b == encode_float(format_of(dtype), d[i]), "f64 %.17g as %s is 0x%04x", d[i],
                  ox_dtype_name(dtype), b);
    }
    free(f);
    free(d);
}

static void test_halves(void) {
    static const ox_dtype halves[] = {OX_F16, OX_BF16};
    for (int h = 0; h < 2; h++) OX_SCOPE {
        check_patterns(halves[h], OX_F32, false);
        check_patterns(halves[h], OX_F32, true);
        check_patterns(halves[h], OX_F64, false);
        check_rounding(halves[h]);
    }
}

/* ---- NumPy's correctly rounded values: lines of dtype, input bits, output bits, ULP allowed ------------ */

static const op_case *case_labeled(const char *label) {
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (strcmp(op_cases[i].label, label) == 0) return &op_cases[i];
    return NULL;
}

static void check_golden(FILE *file, const op_case *c) {
    static float x[4096], want[4096];
    static int allowed[4096];
    char line[200];
    int n = 0;
    while (n < 4096 && fgets(line, sizeof line, file)) {
        unsigned in, out;
        int ulps;
        if (sscanf(line, "np.float32,0x%x,0x%x,%d", &in, &out, &ulps) != 3) continue;
        x[n] = float_of(in), want[n] = float_of(out), allowed[n] = ulps > 2 ? 4 : 2;
        n++;
    }
    CHECK_MSG(n > 0, "%s: no lines", c->label);
    ox_tensor *t = ox_from_floats(x, OX_SHAPE(n), OX_F32), *y = c->run(&t);
    for (int i = 0; i < n && y; i++) {
        double got = load_real(OX_F32, element(y, i));
        CHECK_MSG(is_close(OX_F32, got, (double)want[i], allowed[i]), "%s(%.9g = 0x%08x) is %.9g, not %.9g",
                  c->label, (double)x[i], (unsigned)bits_of(x[i]), got, (double)want[i]);
    }
}

static void test_golden(void) {
    static const char *const names[][2] = {
        {"arccos", "acos"}, {"arccosh", "acosh"}, {"arcsin", "asin"}, {"arcsinh", "asinh"},
        {"arctan", "atan"}, {"arctanh", "atanh"}, {"cos", "cos"},     {"cosh", "cosh"},
        {"exp", "exp"},     {"exp2", "exp2"},     {"expm1", "expm1"}, {"log", "log"},
        {"log10", "log10"}, {"log1p", "log1p"},   {"log2", "log2"},   {"sin", "sin"},
        {"sinh", "sinh"},   {"tan", "tan"},       {"tanh", "tanh"},
    };
    const char *folder = getenv("OX_TEST_DATA");
    int found = 0;
    if (!folder || !*folder) folder = "../shared/data";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[1200];
        snprintf(path, sizeof path, "%s/numeric/umath_golden/umath-validation-set-%s.csv", folder,
                 names[i][0]);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        found++;
        OX_SCOPE { check_golden(file, case_labeled(names[i][1])); }
        fclose(file);
    }
    if (!found) check_skip("golden values", "no folder of reference data (OX_TEST_DATA, ../shared/data)");
}

int main(void) {
    test_sweeps();
    OX_SCOPE {
        test_small_factors();
    }
    test_lengths();
    test_halves();
    test_golden();
    return check_done("math");
}
