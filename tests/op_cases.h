/* op_cases.h - every elementwise op: how to call it, a plain reference in double or 64-bit integers, its
 * error bound. One line an op; test_ops.c runs them over dtypes, layouts and special values,
 * test_coverage.c over layouts. Formulas are the ones of ops.h; where PyTorch has a rule of its own
 * (floor_divide, remainder, shifts) it is torch's. */
#ifndef OP_CASES_H
#define OP_CASES_H

#include "operands.h"

typedef ox_tensor *(*op_run)(ox_tensor *const *in);
typedef double (*real_reference)(double a, double b, double c);
typedef int64_t (*signed_reference)(int64_t a, int64_t b, int64_t c, int bits);
typedef uint64_t (*unsigned_reference)(uint64_t a, uint64_t b, uint64_t c, int bits);
typedef void (*complex_reference)(const double *a, const double *b, double *out);

typedef struct op_case {
    const char *name;  /* the row of ops.def */
    const char *label; /* what messages say: several cases may share a row */
    int arity;
    op_run run, run_in_place;    /* the latter NULL where there is none */
    real_reference real, around; /* around: the size of the largest term, where terms cancel; else NULL */
    signed_reference signed_int; /* NULL: integers go through `real` as f32 */
    unsigned_reference unsigned_int;
    complex_reference complex_pair;
    double ulps;     /* f32; 0 = correctly rounded */
    double ulps_f64; /* the same for f64, with the error of the reference itself */
    domain domains[3];
} op_case;

/* ---- calls ------------------------------------------------------------------------------------------- */

#define CALL_1(op)                                        \
    static ox_tensor *run_##op(ox_tensor *const *in) {    \
        return ox_##op(in[0]);                            \
    }                                                     \
    static ox_tensor *run_##op##_(ox_tensor *const *in) { \
        return ox_##op##_(in[0]);                         \
    }
OX_INPLACE_1(CALL_1)
#define CALL_2(op)                                        \
    static ox_tensor *run_##op(ox_tensor *const *in) {    \
        return ox_##op(in[0], in[1]);                     \
    }                                                     \
    static ox_tensor *run_##op##_(ox_tensor *const *in) { \
        return ox_##op##_(in[0], in[1]);                  \
    }
OX_INPLACE_2(CALL_2)

static ox_tensor *run_isnan(ox_tensor *const *in) {
    return ox_isnan(in[0]);
}
static ox_tensor *run_isinf(ox_tensor *const *in) {
    return ox_isinf(in[0]);
}
static ox_tensor *run_isfinite(ox_tensor *const *in) {
    return ox_isfinite(in[0]);
}
static ox_tensor *run_where(ox_tensor *const *in) {
    return ox_where(in[0], in[1], in[2]);
}
static ox_tensor *run_softplus(ox_tensor *const *in) {
    return ox_softplus(in[0], 1.5, 20);
}

/* Functions with numbers: the out-of-place and the in-place form get the same ones. Integers get whole
 * numbers. */
#define CALL_NUMBERS(op, arguments)                       \
    static ox_tensor *run_##op(ox_tensor *const *in) {    \
        return ox_##op arguments;                         \
    }                                                     \
    static ox_tensor *run_##op##_(ox_tensor *const *in) { \
        return ox_##op##_ arguments;                      \
    }
#define WHOLE(in) is_integral((in)[0]->dtype)
CALL_NUMBERS(clamp, (in[0], WHOLE(in) ? 1 : -1.5, WHOLE(in) ? 5 : 2.25))
CALL_NUMBERS(nan_to_num, (in[0], 0.5, 7, -9))
CALL_NUMBERS(leaky_relu, (in[0], 0.125))
CALL_NUMBERS(elu, (in[0], 1.25))
CALL_NUMBERS(celu, (in[0], 1.25))
CALL_NUMBERS(hardtanh, (in[0], WHOLE(in) ? 1 : -1, WHOLE(in) ? 5 : 2))
CALL_NUMBERS(threshold, (in[0], 1, WHOLE(in) ? 3 : 2.5))
CALL_NUMBERS(add_scaled, (in[0], in[1], WHOLE(in) && WHOLE(in + 1) ? 3 : 0.75))
CALL_NUMBERS(lerp, (in[0], in[1], in[2]))
CALL_NUMBERS(addcmul, (in[0], in[1], in[2], WHOLE(in) && WHOLE(in + 1) ? 2 : 0.75))
CALL_NUMBERS(addcdiv, (in[0], in[1], in[2], 0.75))

/* ---- references on doubles --------------------------------------------------------------------------- */

#define REAL(op, formula)                                   \
    static double real_##op(double a, double b, double c) { \
        (void)a;                                            \
        (void)b;                                            \
        (void)c;                                            \
        return (formula);                                   \
    }
#define CIRCLE_RATIO 3.14159265358979323846

REAL(abs, fabs(a))
REAL(neg, -a)
REAL(sign, (double)((a > 0) - (a < 0))) /* NaN gives 0, as in torch */
REAL(square, a * a)
REAL(floor, floor(a))
REAL(ceil, ceil(a))
REAL(round, rint(a))
REAL(trunc, trunc(a))
REAL(frac, a - trunc(a))
REAL(clamp, a != a ? a : fmin(fmax(a, -1.5), 2.25))
REAL(nan_to_num, a != a ? 0.5 : isinf(a) ? (a > 0 ? 7 : -9) : a)
REAL(exp, exp(a))
REAL(exp2, exp2(a))
REAL(exp10, pow(10, a))
REAL(expm1, expm1(a))
REAL(log, log(a))
REAL(log2, log2(a))
REAL(log10, log10(a))
REAL(log1p, log1p(a))
REAL(sqrt, sqrt(a))
REAL(rsqrt, 1 / sqrt(a))
REAL(reciprocal, 1 / a)
REAL(sin, sin(a))
REAL(cos, cos(a))
REAL(tan, tan(a))
REAL(asin, asin(a))
REAL(acos, acos(a))
REAL(atan, atan(a))
REAL(sinh, sinh(a))
REAL(cosh, cosh(a))
REAL(tanh, tanh(a))
REAL(asinh, asinh(a))
REAL(acosh, acosh(a))
REAL(atanh, atanh(a))
REAL(sigmoid, 1 / (1 + exp(-a)))
REAL(erf, erf(a))
REAL(erfc, erfc(a))
REAL(isnan, (double)(a != a))
REAL(isinf, (double)(isinf(a) != 0))
REAL(isfinite, (double)(isfinite(a) != 0))
REAL(logical_not, (double)(a == 0))
REAL(relu, a != a ? a : fmax(a, 0.0))
REAL(relu6, a != a ? a : fmin(fmax(a, 0.0), 6.0))
REAL(leaky_relu, a > 0 ? a : a * 0.125)
REAL(elu, a > 0 ? a : 1.25 * expm1(a))
REAL(selu, 1.0507009873554804934193349852946 * (a > 0 ? a : 1.6732632423543772848170429916717 * expm1(a)))
REAL(celu, a > 0 ? a : 1.25 * expm1(a / 1.25))
REAL(gelu, 0.5 * a * erfc(-a * 0.70710678118654752440))
REAL(gelu_tanh, a / (1 + exp(-2 * sqrt(2 / CIRCLE_RATIO) * (a + 0.044715 * a * a * a))))
REAL(silu, a / (1 + exp(-a)))
REAL(mish, a * tanh(log1p(exp(a))))
REAL(softplus, 1.5 * a > 20 ? a : log1p(exp(1.5 * a)) / 1.5)
REAL(softsign, a / (1 + fabs(a)))
REAL(hardtanh, a != a ? a : fmin(fmax(a, -1), 2))
REAL(hardsigmoid, a != a ? a : fmin(fmax(a + 3, 0), 6) / 6)
REAL(hardswish, a != a ? a : a * (fmin(fmax(a + 3, 0), 6) / 6))
REAL(logsigmoid, a != a ? a : fmin(a, 0) - log1p(exp(-fabs(a))))
REAL(threshold, a > 1 || a != a ? a : 2.5)

REAL(add, a + b)
REAL(sub, a - b)
REAL(add_scaled, a + 0.75 * b)
REAL(mul, a * b)
REAL(div, a / b)
REAL(trunc_divide, trunc(a / b))
REAL(fmod, fmod(a, b))
REAL(pow, pow(a, b))
REAL(maximum, a != a ? a : b != b ? b : a > b ? a : b)
REAL(minimum, a != a ? a : b != b ? b : a < b ? a : b)
REAL(atan2, atan2(a, b))
REAL(hypot, hypot(a, b))
REAL(copysign, copysign(a, b))
REAL(eq, (double)(a == b))
REAL(ne, (double)(a != b))
REAL(lt, (double)(a < b))
REAL(le, (double)(a <= b))
REAL(gt, (double)(a > b))
REAL(ge, (double)(a >= b))
REAL(logical_and, (double)(a != 0 && b != 0))
REAL(logical_or, (double)(a != 0 || b != 0))
REAL(logical_xor, (double)((a != 0) != (b != 0)))
REAL(silu_mul, real_silu(a, 0, 0) * b)
REAL(gelu_mul, real_gelu_tanh(a, 0, 0) * b)
REAL(where, a != 0 ? b : c)
REAL(lerp, a + c * (b - a))
REAL(addcmul, a + 0.75 * b * c)
REAL(addcdiv, a + 0.75 * b / c)

/* torch.remainder: the sign of the divisor. */
static double real_remainder(double a, double b, double c) {
    double rest = fmod(a, b);
    (void)c;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* torch.floor_divide: from the exact remainder, so that the quotient is not off by one. */
static double real_floor_divide(double a, double b, double c) {
    (void)c;
    if (b == 0) return a / b;
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign(0.0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

static double larger(double a, double b) {
    return fabs(a) > fabs(b) ? fabs(a) : fabs(b);
}
REAL(around_add_scaled, larger(a, 0.75 * b))
REAL(around_hardsigmoid, larger(a, 3) / 6)
REAL(around_hardswish, larger(a, 3) * fabs(a) / 6)
/* torch reckons from the nearer end: b - (b - a) (1 - c) when |c| >= 0.5. */
REAL(around_lerp, larger(larger(a, b), (b - a) * (1 - c)))
REAL(around_addcmul, larger(a, 0.75 * b * c))
REAL(around_addcdiv, larger(a, 0.75 * b / c))

/* ---- references on integers: signed ones and bool as int64_t, the others as uint64_t --- */

#define UNUSED_4 \
    (void)a;     \
    (void)b;     \
    (void)c;     \
    (void)bits
#define SIGNED(op, formula)                                                 \
    static int64_t signed_##op(int64_t a, int64_t b, int64_t c, int bits) { \
        UNUSED_4;                                                           \
        return (int64_t)(formula);                                          \
    }
#define UNSIGNED(op, formula)                                                     \
    static uint64_t unsigned_##op(uint64_t a, uint64_t b, uint64_t c, int bits) { \
        UNUSED_4;                                                                 \
        return (uint64_t)(formula);                                               \
    }
#define INTEGER(op, formula) SIGNED(op, formula) UNSIGNED(op, formula)
#define U(x) ((uint64_t)(x))

INTEGER(same, a)
SIGNED(abs, a < 0 ? U(0) - U(a) : U(a))
UNSIGNED(abs, a)
INTEGER(neg, U(0) - U(a))
SIGNED(sign, (a > 0) - (a < 0))
UNSIGNED(sign, a > 0)
INTEGER(square, U(a) * U(a))
INTEGER(clamp, a<1 ? 1 : a> 5 ? 5 : a)
INTEGER(bitwise_not, bits == 1 ? !a : ~a)
INTEGER(logical_not, a == 0)
INTEGER(zero, a != a)
INTEGER(one, a == a)
SIGNED(relu, a < 0 ? 0 : a)
SIGNED(relu6, a<0 ? 0 : a> 6 ? 6 : a)
UNSIGNED(relu6, a > 6 ? 6 : a)
INTEGER(threshold, a > 1 ? a : 3)
INTEGER(add, U(a) + U(b))
INTEGER(sub, U(a) - U(b))
INTEGER(add_scaled, U(a) + 3 * U(b))
INTEGER(mul, U(a) * U(b))
UNSIGNED(floor_divide, a / b)
UNSIGNED(remainder, a % b)
INTEGER(maximum, a > b ? a : b)
INTEGER(minimum, a < b ? a : b)
INTEGER(eq, a == b)
INTEGER(ne, a != b)
INTEGER(lt, a < b)
INTEGER(le, a <= b)
INTEGER(gt, a > b)
INTEGER(ge, a >= b)
INTEGER(logical_and, a != 0 && b != 0)
INTEGER(logical_or, a != 0 || b != 0)
INTEGER(logical_xor, (a != 0) != (b != 0))
INTEGER(bitwise_and, (a) & (b))
INTEGER(bitwise_or, a | b)
INTEGER(bitwise_xor, a ^ b)
SIGNED(bitwise_left_shift, b < 0 || b >= bits ? 0 : U(a) << U(b))
UNSIGNED(bitwise_left_shift, b >= U(bits) ? 0 : a << b)
SIGNED(bitwise_right_shift, b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> b)
UNSIGNED(bitwise_right_shift, b >= U(bits) ? 0 : a >> b)
INTEGER(where, a != 0 ? b : c)
INTEGER(addcmul, U(a) + 2 * U(b) * U(c))

/* Quotients that leave int64_t (INT64_MIN / -1) wrap like the rest. */
static int64_t signed_trunc_divide(int64_t a, int64_t b, int64_t c, int bits) {
    UNUSED_4;
    return b == -1 ? (int64_t)(U(0) - U(a)) : a / b;
}
static int64_t signed_fmod(int64_t a, int64_t b, int64_t c, int bits) {
    UNUSED_4;
    return b == -1 ? 0 : a % b;
}
static int64_t signed_remainder(int64_t a, int64_t b, int64_t c, int bits) {
    int64_t rest = signed_fmod(a, b, c, bits);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static int64_t signed_floor_divide(int64_t a, int64_t b, int64_t c, int bits) {
    int64_t rest = signed_fmod(a, b, c, bits), quotient = signed_trunc_divide(a, b, c, bits);
    return rest != 0 && (rest < 0) != (b < 0) ? quotient - 1 : quotient;
}
static uint64_t unsigned_pow(uint64_t a, uint64_t b, uint64_t c, int bits) {
    uint64_t product = 1;
    UNUSED_4;
    for (; b; b >>= 1, a *= a)
        if (b & 1) product *= a;
    return product;
}
static int64_t signed_pow(int64_t a, int64_t b, int64_t c, int bits) {
    if (b < 0) return a == 1 || (a == -1 && b % 2 == 0) ? 1 : a == -1 ? -1 : 0;
    return (int64_t)unsigned_pow(U(a), U(b), U(c), bits);
}

/* ---- references on complex numbers ------------------------------------------------------------------- */

#define COMPLEX(op, real_part, imaginary_part)                                \
    static void complex_##op(const double *a, const double *b, double *out) { \
        (void)a;                                                              \
        (void)b;                                                              \
        out[0] = (real_part);                                                 \
        out[1] = (imaginary_part);                                            \
    }
#define LN2 0.69314718055994531
COMPLEX(abs, hypot(a[0], a[1]), 0)
COMPLEX(neg, -a[0], -a[1])
COMPLEX(square, a[0] * a[0] - a[1] * a[1], 2 * a[0] * a[1])
COMPLEX(exp, exp(a[0]) * cos(a[1]), exp(a[0]) * sin(a[1]))
COMPLEX(log, log(hypot(a[0], a[1])), atan2(a[1], a[0]))
COMPLEX(sin, sin(a[0]) * cosh(a[1]), cos(a[0]) * sinh(a[1]))
COMPLEX(cos, cos(a[0]) * cosh(a[1]), -sin(a[0]) * sinh(a[1]))
COMPLEX(logical_not, a[0] == 0 && a[1] == 0, 0)
COMPLEX(isnan, isnan(a[0]) || isnan(a[1]), 0)
COMPLEX(isinf, isinf(a[0]) || isinf(a[1]), 0)
COMPLEX(isfinite, isfinite(a[0]) && isfinite(a[1]), 0)
COMPLEX(add, a[0] + b[0], a[1] + b[1])
COMPLEX(add_scaled, a[0] + 0.75 * b[0], a[1] + 0.75 * b[1])
COMPLEX(sub, a[0] - b[0], a[1] - b[1])
COMPLEX(mul, a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])
COMPLEX(eq, a[0] == b[0] && a[1] == b[1], 0)
COMPLEX(ne, a[0] != b[0] || a[1] != b[1], 0)
#define TRUE_PAIR(x) ((x)[0] != 0 || (x)[1] != 0)
COMPLEX(logical_and, TRUE_PAIR(a) && TRUE_PAIR(b), 0)
COMPLEX(logical_or, TRUE_PAIR(a) || TRUE_PAIR(b), 0)
COMPLEX(logical_xor, TRUE_PAIR(a) != TRUE_PAIR(b), 0)
static void complex_div(const double *a, const double *b, double *out) {
    double size = b[0] * b[0] + b[1] * b[1];
    out[0] = (a[0] * b[0] + a[1] * b[1]) / size;
    out[1] = (a[1] * b[0] - a[0] * b[1]) / size;
}
static void complex_reciprocal(const double *a, const double *b, double *out) {
    const double one[2] = {1, 0};
    (void)b;
    complex_div(one, a, out);
}
static void complex_sqrt(const double *a, const double *b, double *out) {
    double size = hypot(a[0], a[1]), x = sqrt((size + fabs(a[0])) / 2), y = x > 0 ? fabs(a[1]) / (2 * x) : 0;
    (void)b;
    out[0] = a[0] >= 0 ? x : y;
    out[1] = copysign(a[0] >= 0 ? y : x, a[1]);
}
static void complex_tanh(const double *a, const double *b, double *out) {
    double size = cosh(2 * a[0]) + cos(2 * a[1]);
    (void)b;
    out[0] = fabs(a[0]) > 300 ? copysign(1, a[0]) : sinh(2 * a[0]) / size;
    out[1] = fabs(a[0]) > 300 ? 0 : sin(2 * a[1]) / size;
}

/* Functions of functions above, each by its definition. */
COMPLEX(exp2, exp(a[0] * LN2) * cos(a[1] * LN2), exp(a[0] * LN2) * sin(a[1] * LN2))
COMPLEX(expm1, exp(a[0]) * cos(a[1]) - 1, exp(a[0]) * sin(a[1]))
COMPLEX(log2, log(hypot(a[0], a[1])) / LN2, atan2(a[1], a[0]) / LN2)
COMPLEX(log10, log10(hypot(a[0], a[1])), atan2(a[1], a[0]) / log(10))
COMPLEX(log1p, log(hypot(1 + a[0], a[1])), atan2(a[1], 1 + a[0]))
COMPLEX(sinh, sinh(a[0]) * cos(a[1]), cosh(a[0]) * sin(a[1]))
COMPLEX(cosh, cosh(a[0]) * cos(a[1]), sinh(a[0]) * sin(a[1]))
static void complex_tan(const double *a, const double *b, double *out) {
    const double z[2] = {-a[1], a[0]};
    double t[2];
    complex_tanh(z, b, t);
    out[0] = t[1];
    out[1] = -t[0];
}
static void complex_rsqrt(const double *a, const double *b, double *out) {
    double root[2];
    complex_sqrt(a, b, root);
    complex_reciprocal(root, b, out);
}
static void complex_sigmoid(const double *a, const double *b, double *out) {
    const double z[2] = {1 + exp(-a[0]) * cos(a[1]), -exp(-a[0]) * sin(a[1])};
    complex_reciprocal(z, b, out);
}
/* asin by the two focal distances (Hull, Fairgrieve, Tang 1997), so not by the roots that are tested */
static void complex_asin(const double *a, const double *b, double *out) {
    double x = fabs(a[0]), near = hypot(x - 1, a[1]), far = hypot(x + 1, a[1]), square = a[1] * a[1];
    double more = square > 0 ? (square / (near + fabs(x - 1)) + square / (far + x + 1)) / 2 : 0;
    (void)b;
    if (x > 1) more += x - 1;
    out[0] = asin(fmax(-1, fmin(1, 2 * a[0] / (near + far))));
    out[1] = copysign(log1p(more + sqrt(more * (more + 2))), a[1]);
}
static void complex_acos(const double *a, const double *b, double *out) {
    complex_asin(a, b, out);
    out[0] = acos(0) - out[0];
    out[1] = -out[1];
}
static void complex_acosh(const double *a, const double *b, double *out) { /* i acos, its real part above 0 */
    double c[2];
    complex_acos(a, b, c);
    out[0] = fabs(c[1]);
    out[1] = copysign(c[0], a[1]);
}
static void complex_asinh(const double *a, const double *b, double *out) {
    const double z[2] = {-a[1], a[0]};
    double c[2];
    complex_asin(z, b, c);
    out[0] = c[1];
    out[1] = -c[0];
}
static void complex_atanh(const double *a, const double *b, double *out) { /* (log(1 + z) - log(1 - z)) / 2 */
    double x = fabs(a[0]), far = log1p(x * (2 + x) + a[1] * a[1]) / 2, near = log(hypot(1 - x, a[1]));
    (void)b;
    if (x < 0.5) near = log1p(x * (x - 2) + a[1] * a[1]) / 2;
    out[0] = copysign((far - near) / 2, a[0]);
    out[1] = (atan2(a[1], 1 + a[0]) - atan2(-a[1], 1 - a[0])) / 2;
}
static void complex_atan(const double *a, const double *b, double *out) {
    const double z[2] = {-a[1], a[0]};
    double c[2];
    complex_atanh(z, b, c);
    out[0] = c[1];
    out[1] = -c[0];
}

/* ---- the table --------------------------------------------------------------------------------------- */

/* clang-format off */
#define ONE(first) {first, DOMAIN_ANY, DOMAIN_ANY}
#define REFERENCES(op, integer) real_##op, NULL, signed_##integer, unsigned_##integer
/* op, bound in ULP, domain; f: floats only (integers become f32), i: integers by their own rule, c:
 * complex too */
#define ROW_1F(op, ulps, ulps64, dom) \
    {#op, #op, 1, run_##op, run_##op##_, real_##op, NULL, NULL, NULL, NULL, ulps, ulps64, ONE(dom)},
#define ROW_1FC(op, ulps, ulps64, dom) \
    {#op, #op, 1, run_##op, run_##op##_, real_##op, NULL, NULL, NULL, complex_##op, ulps, ulps64, ONE(dom)},
#define ROW_1A(op, ulps, ulps64, dom) \
    {#op, #op, 1, run_##op, run_##op##_, real_##op, real_around_##op, NULL, NULL, NULL, ulps, ulps64, \
     ONE(dom)},
#define ROW_1I(op, integer, pair) \
    {#op, #op, 1, run_##op, run_##op##_, REFERENCES(op, integer), pair, 0, 0, ONE(DOMAIN_ANY)},
#define ROW_2(op, pair, ulps, first, second) \
    {#op, #op, 2, run_##op, run_##op##_, REFERENCES(op, op), pair, ulps, ulps, {first, second, DOMAIN_ANY}},
#define ROW_2F(op, pair, ulps, ulps64, first, second) \
    {#op, #op, 2, run_##op, run_##op##_, real_##op, NULL, NULL, NULL, pair, ulps, ulps64, {first, second, \
     DOMAIN_ANY}},
#define ROW_TEST(op, integer) \
    {#op, #op, 1, run_##op, NULL, REFERENCES(op, integer), complex_##op, 0, 0, ONE(DOMAIN_ANY)},
#define ROW_COMPARE(op, pair) ROW_2(op, pair, 0, DOMAIN_MODEST, DOMAIN_MODEST)

static const op_case op_cases[] = {
    ROW_1I(abs, abs, complex_abs)
    ROW_1I(neg, neg, complex_neg)
    ROW_1I(sign, sign, NULL)
    ROW_1I(square, square, complex_square)
    ROW_1I(floor, same, NULL)
    ROW_1I(ceil, same, NULL)
    ROW_1I(round, same, NULL)
    ROW_1I(trunc, same, NULL)
    ROW_1I(frac, same, NULL)
    ROW_1I(clamp, clamp, NULL)
    ROW_1I(nan_to_num, same, NULL)
    {"bitwise_not", "bitwise_not", 1, run_bitwise_not, run_bitwise_not_, NULL, NULL, signed_bitwise_not,
     unsigned_bitwise_not, NULL, 0, 0, ONE(DOMAIN_ANY)},
    ROW_1FC(exp, 2, 4, DOMAIN_ANY)
    ROW_1FC(exp2, 2, 4, DOMAIN_ANY)
    ROW_1F(exp10, 2, 4, DOMAIN_ANY)
    ROW_1FC(expm1, 2, 4, DOMAIN_ANY)
    ROW_1FC(log, 2, 4, DOMAIN_POSITIVE)
    ROW_1FC(log2, 2, 4, DOMAIN_POSITIVE)
    ROW_1FC(log10, 2, 4, DOMAIN_POSITIVE)
    ROW_1FC(log1p, 2, 4, DOMAIN_ANY)
    ROW_1FC(sqrt, 0, 0, DOMAIN_POSITIVE)
    ROW_1FC(rsqrt, 2, 4, DOMAIN_POSITIVE)
    ROW_1FC(reciprocal, 0, 0, DOMAIN_ANY)
    ROW_1FC(sin, 2, 4, DOMAIN_ANY)
    ROW_1FC(cos, 2, 4, DOMAIN_ANY)
    ROW_1FC(tan, 2, 4, DOMAIN_ANY)
    ROW_1FC(asin, 2, 4, DOMAIN_UNIT)
    ROW_1FC(acos, 2, 4, DOMAIN_UNIT)
    ROW_1FC(atan, 2, 4, DOMAIN_ANY)
    ROW_1FC(sinh, 2, 4, DOMAIN_ANY)
    ROW_1FC(cosh, 2, 4, DOMAIN_ANY)
    ROW_1FC(tanh, 2, 4, DOMAIN_ANY)
    ROW_1FC(asinh, 2, 4, DOMAIN_ANY)
    ROW_1FC(acosh, 2, 4, DOMAIN_POSITIVE)
    ROW_1FC(atanh, 2, 4, DOMAIN_UNIT)
    ROW_1FC(sigmoid, 2, 8, DOMAIN_ANY)
    ROW_1F(erf, 2, 4, DOMAIN_ANY)
    ROW_1F(erfc, 2, 4, DOMAIN_ANY)
    ROW_TEST(isnan, zero)
    ROW_TEST(isinf, zero)
    ROW_TEST(isfinite, one)
    ROW_1I(logical_not, logical_not, complex_logical_not)
    {"relu", "relu", 1, run_relu, run_relu_, real_relu, NULL, signed_relu, unsigned_same, NULL, 0, 0,
     ONE(DOMAIN_ANY)},
    ROW_1I(relu6, relu6, NULL)
    ROW_1F(leaky_relu, 0, 0, DOMAIN_ANY)
    ROW_1F(elu, 4, 8, DOMAIN_ANY)
    ROW_1F(selu, 4, 8, DOMAIN_ANY)
    ROW_1F(celu, 4, 8, DOMAIN_ANY)
    ROW_1F(gelu, 4, 512, DOMAIN_ANY)
    ROW_1F(gelu_tanh, 4, 512, DOMAIN_ANY)
    ROW_1F(silu, 4, 8, DOMAIN_ANY)
    ROW_1F(mish, 4, 16, DOMAIN_ANY)
    {"softplus", "softplus", 1, run_softplus, NULL, real_softplus, NULL, NULL, NULL, NULL, 4, 16,
     ONE(DOMAIN_ANY)},
    ROW_1F(softsign, 2, 4, DOMAIN_ANY)
    ROW_1I(hardtanh, clamp, NULL)
    ROW_1A(hardsigmoid, 2, 4, DOMAIN_ANY)
    ROW_1A(hardswish, 2, 4, DOMAIN_ANY)
    ROW_1F(logsigmoid, 4, 8, DOMAIN_ANY)
    ROW_1I(threshold, threshold, NULL)
    ROW_2(add, complex_add, 0, DOMAIN_ANY, DOMAIN_ANY)
    ROW_2(sub, complex_sub, 0, DOMAIN_ANY, DOMAIN_ANY)
    {"add", "add_scaled", 2, run_add_scaled, run_add_scaled_, real_add_scaled, real_around_add_scaled,
     signed_add_scaled, unsigned_add_scaled, complex_add_scaled, 1, 1, ONE(DOMAIN_ANY)},
    ROW_2(mul, complex_mul, 0, DOMAIN_ANY, DOMAIN_ANY)
    ROW_2F(div, complex_div, 0, 0, DOMAIN_ANY, DOMAIN_NOT_ZERO)
    ROW_2(floor_divide, NULL, 1, DOMAIN_ANY, DOMAIN_NOT_ZERO)
    {"trunc_divide", "trunc_divide", 2, run_trunc_divide, run_trunc_divide_, real_trunc_divide, NULL,
     signed_trunc_divide,
     unsigned_floor_divide, NULL, 0, 0, {DOMAIN_MODEST, DOMAIN_NOT_ZERO, DOMAIN_ANY}},
    ROW_2(remainder, NULL, 1, DOMAIN_ANY, DOMAIN_NOT_ZERO)
    {"fmod", "fmod", 2, run_fmod, run_fmod_, real_fmod, NULL, signed_fmod, unsigned_remainder, NULL, 0, 0,
     {DOMAIN_ANY, DOMAIN_NOT_ZERO, DOMAIN_ANY}},
    ROW_2(pow, NULL, 2, DOMAIN_POSITIVE, DOMAIN_COUNT)
    {"pow", "pow of floats", 2, run_pow, run_pow_, real_pow, NULL, signed_pow, unsigned_pow, NULL, 2, 4,
     {DOMAIN_MODEST, DOMAIN_COUNT, DOMAIN_ANY}},
    ROW_2(maximum, NULL, 0, DOMAIN_ANY, DOMAIN_ANY)
    ROW_2(minimum, NULL, 0, DOMAIN_ANY, DOMAIN_ANY)
    ROW_2F(atan2, NULL, 2, 4, DOMAIN_ANY, DOMAIN_ANY)
    ROW_2F(hypot, NULL, 2, 4, DOMAIN_ANY, DOMAIN_ANY)
    ROW_2F(copysign, NULL, 0, 0, DOMAIN_ANY, DOMAIN_ANY)
    ROW_COMPARE(eq, complex_eq)
    ROW_COMPARE(ne, complex_ne)
    ROW_COMPARE(lt, NULL)
    ROW_COMPARE(le, NULL)
    ROW_COMPARE(gt, NULL)
    ROW_COMPARE(ge, NULL)
    ROW_COMPARE(logical_and, complex_logical_and)
    ROW_COMPARE(logical_or, complex_logical_or)
    ROW_COMPARE(logical_xor, complex_logical_xor)
#define ROW_BITS(op, second) \
    {#op, #op, 2, run_##op, run_##op##_, NULL, NULL, signed_##op, unsigned_##op, NULL, 0, 0, {DOMAIN_ANY, \
     second, DOMAIN_ANY}},
    ROW_BITS(bitwise_and, DOMAIN_ANY)
    ROW_BITS(bitwise_or, DOMAIN_ANY)
    ROW_BITS(bitwise_xor, DOMAIN_ANY)
    ROW_BITS(bitwise_left_shift, DOMAIN_COUNT)
    ROW_BITS(bitwise_right_shift, DOMAIN_COUNT)
    ROW_2F(silu_mul, NULL, 5, 16, DOMAIN_MODEST, DOMAIN_ANY)
    ROW_2F(gelu_mul, NULL, 5, 512, DOMAIN_MODEST, DOMAIN_ANY)
    {"where", "where", 3, run_where, NULL, REFERENCES(where, where), NULL, 0, 0, ONE(DOMAIN_ANY)},
    {"lerp", "lerp", 3, run_lerp, run_lerp_, real_lerp, real_around_lerp, NULL, NULL, NULL, 3, 3,
     {DOMAIN_MODEST, DOMAIN_MODEST, DOMAIN_UNIT}},
    {"addcmul", "addcmul", 3, run_addcmul, run_addcmul_, real_addcmul, real_around_addcmul, signed_addcmul,
     unsigned_addcmul, NULL, 2, 2, {DOMAIN_ANY, DOMAIN_MODEST, DOMAIN_MODEST}},
    {"addcdiv", "addcdiv", 3, run_addcdiv, run_addcdiv_, real_addcdiv, real_around_addcdiv, NULL, NULL,
     NULL, 3, 3,
     {DOMAIN_ANY, DOMAIN_MODEST, DOMAIN_NOT_ZERO}},
};
/* clang-format on */
#define OP_CASE_COUNT ((int)(sizeof op_cases / sizeof *op_cases))

/* ---- the rows of ops.def, as text and numbers -------------------------------------------------------- */

enum { ACCEPT_BOOL = 1, ACCEPT_INT = 2, ACCEPT_FLOAT = 4, ACCEPT_COMPLEX = 8, ACCEPT_BLOCK = 16 };
typedef struct op_row {
    const char *name, *family, *operands, *gives, *classes, *flag, *attributes;
    unsigned accepts;
} op_row;

/* clang-format off */
static op_row op_rows[] = {
#define OXI_OP(name, family, operands, rule, gives, accepts, flag, flops, attributes, gradient, parts) \
    {#name, #family, #operands, #gives, #accepts, #flag, #attributes, 0},
#include "../src/ops/ops.def"
};
/* clang-format on */
#define OP_ROW_COUNT ((int)(sizeof op_rows / sizeof *op_rows))

/* The bits of a row's classes: "IF" are integers and floats. */
TEST_UNUSED static unsigned accepted_classes(const char *letters) {
    static const char known[] = "BIFCQ";
    unsigned bits = 0;
    for (; *letters; letters++) bits |= 1u << (strchr(known, *letters) - known);
    return bits;
}

TEST_UNUSED static const op_row *op_row_named(const char *name) {
    for (int i = 0; i < OP_ROW_COUNT; i++) {
        if (strcmp(op_rows[i].name, name) != 0) continue;
        op_rows[i].accepts = accepted_classes(op_rows[i].classes);
        return &op_rows[i];
    }
    return NULL;
}
TEST_UNUSED static unsigned accept_bit(ox_dtype dtype) {
    switch (ox_dtype_get_info(dtype)->cls) {
    case OX_CLASS_BOOL: return ACCEPT_BOOL;
    case OX_CLASS_INT: return ACCEPT_INT;
    case OX_CLASS_FLOAT: return ACCEPT_FLOAT;
    case OX_CLASS_COMPLEX: return ACCEPT_COMPLEX;
    default: return ACCEPT_BLOCK;
    }
}

/* The dtype of a map's result when all its operands have the same dtype. */
TEST_UNUSED static ox_dtype map_result(const op_row *row, ox_dtype dtype) {
    if (strcmp(row->gives, "BOOL") == 0) return OX_BOOL;
    if (strcmp(row->gives, "REAL") == 0 && dtype == OX_C64) return OX_F32;
    return strcmp(row->gives, "FLOAT") == 0 && is_integral(dtype) ? OX_F32 : dtype;
}

#endif
