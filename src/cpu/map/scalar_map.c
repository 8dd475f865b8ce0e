/* Elementwise kernels that gain nothing from a tier: integers, complex numbers, and the f64 functions of
 * the C library. One row an op: its formula in C. Integers wrap as two's complement; nothing traps.
 * Entered into every table by oxi_fill_scalar_map, before the tiers' own kernels. */

/* ---- for the kernels of the tiers ---------------------------------------------------------------------- */

enum { OXI_MAP_VECTOR_BYTES = 128 };   /* at least VF elements of any lane */

/* What oxi_map_rest has to know of a kernel: operands, bytes of their elements and of the result's, lanes. */
#define OXI_MAP_SHAPE(count, element, result, lanes) \
    ((uint32_t)(count) | (uint32_t)(element) << 8 | (uint32_t)(result) << 16 | (uint32_t)(lanes) << 24)

/* The last n - i elements of a map, padded with zeros to a whole vector. */
static OXI_UNUSED void oxi_map_rest(oxi_map_kernel kernel, uint32_t shape, int64_t i, int64_t n,
                                    const void *const *in, void *out, const oxi_map_numbers *numbers) {
    double padded[3][OXI_MAP_VECTOR_BYTES / sizeof(double)], result[OXI_MAP_VECTOR_BYTES / sizeof(double)];
    const void *operands[3];
    size_t element = shape >> 8 & 255, result_element = shape >> 16 & 255, rest = (size_t)(n - i);
    for (unsigned k = 0; k < (shape & 255); k++) {
        memset(padded[k], 0, sizeof padded[k]);
        memcpy(padded[k], (const char *)in[k] + (size_t)i * element, rest * element);
        operands[k] = padded[k];
    }
    kernel(shape >> 24, operands, result, numbers);
    memcpy((char *)out + (size_t)i * result_element, result, rest * result_element);
}

static OXI_UNUSED bool oxi_is_power_of_two(double x) {
    int exponent;
    return frexp(x, &exponent) == 0.5;
}

/* 2/pi in binary, after a word of zeros. */
static const uint32_t oxi_two_over_pi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                           0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a};

/* x - n pi/2 for large |x| (2^17 and more), n's low bits in *quarter; NaN for infinities and NaN.
 * x = m 2^e: of 2/pi only the bits from weight 2^(2-e) on matter to n modulo 4. source: Payne & Hanek 1983 */
static OXI_UNUSED double oxi_reduce_large(float x, int32_t *quarter) {
    uint32_t bits, window[3];
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 23 & 255);
    if (exponent == 255) {
        *quarter = 0;
        return x - x;
    }
    uint64_t m = (bits & 0x7fffff) | 0x800000;
    int first = exponent - 150 - 2 + 32, word = first >> 5, shift = first & 31;
    for (int i = 0; i < 3; i++) {
        uint64_t two = (uint64_t)oxi_two_over_pi[word + i] << 32 | oxi_two_over_pi[word + i + 1];
        window[i] = (uint32_t)(two << shift >> 32);
    }
    uint64_t product =
        (m * window[0] << 32) + m * window[1] + (m * window[2] >> 32); /* 2 bits of n, 62 of the rest */
    uint64_t n = (product + ((uint64_t)1 << 61)) >> 62;
    int64_t rest = (int64_t)(product - (n << 62));
    double r = (double)rest * (1.5707963267948966 / 4611686018427387904.0);
    *quarter = bits >> 31 ? -(int32_t)n : (int32_t)n;
    return bits >> 31 ? -r : r;
}

/* ---- kernels from formulas --------------------------------------------------------------------------------
 * In a formula x (or a, b, c) are the operands, f0, f1, f2 the attributes f[0..2] as the operands' type. */

#define OXI_DEFINE_MAP_1(name, TYPE, CONVERT, RESULT, formula) \
    static OXI_ALIGNED void name(int64_t n, const void *const *in, void *out, \
                                 const oxi_map_numbers *numbers) { \
        const TYPE *p = (const TYPE *)in[0]; \
        const TYPE f0 = CONVERT(numbers->f[0]), f1 = CONVERT(numbers->f[1]), f2 = CONVERT(numbers->f[2]); \
        RESULT *result = (RESULT *)out; \
        (void)f0; (void)f1; (void)f2; \
        for (int64_t i = 0; i < n; i++) { const TYPE x = p[i]; (void)x; result[i] = (RESULT)(formula); } \
    }
#define OXI_DEFINE_MAP_2(name, TYPE, CONVERT, RESULT, formula) \
    static OXI_ALIGNED void name(int64_t n, const void *const *in, void *out, \
                                 const oxi_map_numbers *numbers) { \
        const TYPE *p = (const TYPE *)in[0], *q = (const TYPE *)in[1], f0 = CONVERT(numbers->f[0]); \
        RESULT *result = (RESULT *)out; \
        (void)f0; \
        for (int64_t i = 0; i < n; i++) { const TYPE a = p[i], b = q[i]; result[i] = (RESULT)(formula); } \
    }

/* ---- f64 ----------------------------------------------------------------------------------------------- */

static double oxi_sigmoid_f64(double x) {
    double z = exp(-fabs(x));
    return (x < 0 ? z : 1) / (1 + z);
}
static double oxi_gelu_tanh_f64(double x) {
    return x * oxi_sigmoid_f64(x * (1.5957691216057308 + 0.07135481627260025 * x * x));
}
static double oxi_expm1_scaled_f64(double x, double alpha, double inner) { /* the elu family */
    return x < 0 ? alpha * expm1(x * inner) : x;
}
static double oxi_remainder_f64(double a, double b) {
    double rest = fmod(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
static double oxi_floor_divide_f64(double a, double b) {
    if (b == 0) return a / b;
    double rest = fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return copysign(0.0, a / b);
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1 : whole;
}

#define OXI_F64_1(X) \
    X(exp, exp(x)) X(exp2, exp2(x)) X(expm1, expm1(x)) X(log, log(x)) X(log2, log2(x)) X(log10, log10(x)) \
    X(log1p, log1p(x)) X(sin, sin(x)) X(cos, cos(x)) X(tan, tan(x)) X(asin, asin(x)) X(acos, acos(x)) \
    X(atan, atan(x)) X(sinh, sinh(x)) X(cosh, cosh(x)) X(tanh, tanh(x)) X(asinh, asinh(x)) \
    X(acosh, acosh(x)) X(atanh, atanh(x)) X(erf, erf(x)) X(erfc, erfc(x)) \
    X(sigmoid, oxi_sigmoid_f64(x)) X(silu, x * oxi_sigmoid_f64(x)) \
    X(gelu, 0.5 * x * erfc(-x * 0.70710678118654752)) X(gelu_tanh, oxi_gelu_tanh_f64(x)) \
    X(mish, x * tanh(log1p(exp(x)))) X(softplus, x * f0 > f1 ? x : log1p(exp(x * f0)) / f0) \
    X(logsigmoid, (x < 0 ? x : 0) - log1p(exp(-fabs(x)))) X(elu, oxi_expm1_scaled_f64(x, f0, 1)) \
    X(celu, oxi_expm1_scaled_f64(x, f0, 1 / f0)) \
    X(selu, 1.0507009873554805 * oxi_expm1_scaled_f64(x, 1.6732632423543772, 1))
#define OXI_F64_2(X) \
    X(pow, pow(a, b)) X(atan2, atan2(a, b)) X(hypot, hypot(a, b)) X(fmod, fmod(a, b)) \
    X(remainder, oxi_remainder_f64(a, b)) X(floor_divide, oxi_floor_divide_f64(a, b)) \
    X(silu_mul, a * oxi_sigmoid_f64(a) * b) X(gelu_mul, oxi_gelu_tanh_f64(a) * b)

#define OXI_X(op, formula) OXI_DEFINE_MAP_1(oxi_scalar_##op##_f64, double, (double), double, formula)
OXI_F64_1(OXI_X)
#undef OXI_X
#define OXI_X(op, formula) OXI_DEFINE_MAP_2(oxi_scalar_##op##_f64, double, (double), double, formula)
OXI_F64_2(OXI_X)
#undef OXI_X

/* ---- integers ------------------------------------------------------------------------------------------ */

static int64_t oxi_to_i64_saturated(double x) {
    if (!(x > -9223372036854775808.0)) return x == x ? INT64_MIN : 0;
    return x < 9223372036854775808.0 ? (int64_t)x : INT64_MAX;
}
static uint64_t oxi_to_u64_saturated(double x) {
    if (!(x > 0)) return 0;
    return x < 18446744073709551616.0 ? (uint64_t)x : UINT64_MAX;
}
/* Factors of add and sub: negative ones wrap, as integers do. */
static uint64_t oxi_to_u64_wrapped(double x) {
    return x < 0 ? (uint64_t)oxi_to_i64_saturated(x) : oxi_to_u64_saturated(x);
}

/* Division toward zero; by zero gives 0 here (the executor refuses it), INT64_MIN / -1 wraps. */
static int64_t oxi_divide_i64(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static int64_t oxi_rest_i64(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static int64_t oxi_remainder_i64(int64_t a, int64_t b) {
    int64_t rest = oxi_rest_i64(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
static int64_t oxi_floor_divide_i64(int64_t a, int64_t b) {
    int64_t rest = oxi_rest_i64(a, b);
    return oxi_divide_i64(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}
static uint64_t oxi_divide_u64(uint64_t a, uint64_t b) { return b ? a / b : 0; }
static uint64_t oxi_rest_u64(uint64_t a, uint64_t b) { return b ? a % b : 0; }

static uint64_t oxi_pow_u64(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}
/* Negative exponents (refused by the executor): 0 unless the base is 1 or -1. */
static int64_t oxi_pow_i64(int64_t base, int64_t exponent) {
    if (exponent >= 0) return (int64_t)oxi_pow_u64((uint64_t)base, (uint64_t)exponent);
    if (base == 1 || base == -1) return exponent & 1 ? base : 1;
    return 0;
}

/* numbers->bits: the width of the type in bits, 0 = 64. Counts outside [0, width) shift everything out. */
static uint64_t oxi_shift_width(const oxi_map_numbers *numbers) {
    return numbers->bits > 0 && numbers->bits < 64 ? (uint64_t)numbers->bits : 64;
}
static uint64_t oxi_shift_left(uint64_t a, uint64_t count, uint64_t width) {
    return count < width ? a << count : 0;
}
static uint64_t oxi_shift_right_u64(uint64_t a, uint64_t count, uint64_t width) {
    return count < width ? a >> count : 0;
}
static int64_t oxi_shift_right_i64(int64_t a, uint64_t count, uint64_t width) {
    return count < width ? a >> count : a < 0 ? -1 : 0;
}

/* OXI_U: the operation wraps, so it is done on uint64_t. */
#define OXI_U(x) ((uint64_t)(x))
#define OXI_INTEGER_1(X) \
    X(square, OXI_U(x) * OXI_U(x)) X(floor, x) X(ceil, x) X(round, x) X(trunc, x) X(nan_to_num, x) \
    X(bitwise_not, ~x) X(neg, 0 - OXI_U(x)) X(relu, x > 0 ? x : 0) X(relu6, x > 6 ? 6 : x > 0 ? x : 0) \
    X(clamp, x > f0 ? (x < f1 ? x : f1) : (f0 < f1 ? f0 : f1)) X(threshold, x > f0 ? x : f1)
#define OXI_INTEGER_1_BOOL(X) X(isnan, 0) X(isinf, 0) X(isfinite, 1) X(logical_not, x == 0)
#define OXI_INTEGER_2(X) \
    X(mul, OXI_U(a) * OXI_U(b)) X(maximum, a > b ? a : b) X(minimum, a < b ? a : b) X(bitwise_and, a & b) \
    X(bitwise_or, a | b) X(bitwise_xor, a ^ b) \
    X(bitwise_left_shift, oxi_shift_left(OXI_U(a), OXI_U(b), oxi_shift_width(numbers)))
#define OXI_INTEGER_2_BOOL(X) \
    X(eq, a == b) X(ne, a != b) X(lt, a < b) X(le, a <= b) X(gt, a > b) X(ge, a >= b) \
    X(logical_and, a && b) X(logical_or, a || b) X(logical_xor, !a != !b)
#define OXI_I64_1(X) X(abs, x < 0 ? 0 - OXI_U(x) : OXI_U(x)) X(sign, (x > 0) - (x < 0))
#define OXI_U64_1(X) X(abs, x) X(sign, x > 0)
#define OXI_I64_2(X) \
    X(floor_divide, oxi_floor_divide_i64(a, b)) X(trunc_divide, oxi_divide_i64(a, b)) \
    X(remainder, oxi_remainder_i64(a, b)) X(fmod, oxi_rest_i64(a, b)) X(pow, oxi_pow_i64(a, b)) \
    X(bitwise_right_shift, oxi_shift_right_i64(a, OXI_U(b), oxi_shift_width(numbers)))
#define OXI_U64_2(X) \
    X(floor_divide, oxi_divide_u64(a, b)) X(trunc_divide, oxi_divide_u64(a, b)) \
    X(remainder, oxi_rest_u64(a, b)) X(fmod, oxi_rest_u64(a, b)) X(pow, oxi_pow_u64(a, b)) \
    X(bitwise_right_shift, oxi_shift_right_u64(a, b, oxi_shift_width(numbers)))
/* Scaled by f0. */
#define OXI_INTEGER_2_SCALED(X) X(add, OXI_U(a) + f0 * OXI_U(b)) X(sub, OXI_U(a) - f0 * OXI_U(b))

#define OXI_X(op, formula) \
    OXI_DEFINE_MAP_1(oxi_scalar_##op##_i64, int64_t, oxi_to_i64_saturated, int64_t, formula)
OXI_INTEGER_1(OXI_X)
OXI_I64_1(OXI_X)
#undef OXI_X
#define OXI_X(op, formula) \
    OXI_DEFINE_MAP_1(oxi_scalar_##op##_u64, uint64_t, oxi_to_u64_saturated, uint64_t, formula)
OXI_INTEGER_1(OXI_X)
OXI_U64_1(OXI_X)
#undef OXI_X
#define OXI_X(op, formula) \
    OXI_DEFINE_MAP_1(oxi_scalar_##op##_i64, int64_t, oxi_to_i64_saturated, uint8_t, formula)
OXI_INTEGER_1_BOOL(OXI_X)
#undef OXI_X
#define OXI_X(op, formula) \
    OXI_DEFINE_MAP_2(oxi_scalar_##op##_i64, int64_t, oxi_to_i64_saturated, int64_t, formula)
OXI_INTEGER_2(OXI_X)
OXI_I64_2(OXI_X)
#undef OXI_X
#define OXI_X(op, formula) \
    OXI_DEFINE_MAP_2(oxi_scalar_##op##_u64, uint64_t, oxi_to_u64_saturated, uint64_t, formula)
OXI_INTEGER_2(OXI_X)
OXI_U64_2(OXI_X)
#undef OXI_X
#define OXI_X(op, formula) \
    OXI_DEFINE_MAP_2(oxi_scalar_##op##_i64, int64_t, oxi_to_i64_saturated, uint8_t, formula)
OXI_INTEGER_2_BOOL(OXI_X)
#undef OXI_X
#define OXI_X(op, formula) \
    OXI_DEFINE_MAP_2(oxi_scalar_##op##_u64, uint64_t, oxi_to_u64_saturated, uint8_t, formula)
OXI_INTEGER_2_BOOL(OXI_X)
#undef OXI_X
/* Wrapping arithmetic has the same bits for both signs. */
#define OXI_X(op, formula) \
    OXI_DEFINE_MAP_2(oxi_scalar_##op##_u64, uint64_t, oxi_to_u64_wrapped, uint64_t, formula)
OXI_INTEGER_2_SCALED(OXI_X)
#undef OXI_X
#undef OXI_U

static void oxi_scalar_addcmul_u64(int64_t n, const void *const *in, void *out,
                                   const oxi_map_numbers *numbers) {
    const uint64_t *t = (const uint64_t *)in[0], *a = (const uint64_t *)in[1], *b = (const uint64_t *)in[2];
    const uint64_t factor = oxi_to_u64_wrapped(numbers->f[0]);
    uint64_t *result = (uint64_t *)out;
    for (int64_t i = 0; i < n; i++) result[i] = t[i] + factor * a[i] * b[i];
}

/* Elements of 8 bytes, whatever they are. */
static void oxi_scalar_where_64(int64_t n, const void *const *in, void *out, const oxi_map_numbers *numbers) {
    const uint8_t *mask = (const uint8_t *)in[0];
    const char *from[2];
    char *result = (char *)out;
    (void)numbers;
    from[0] = (const char *)in[2];
    from[1] = (const char *)in[1];
    for (int64_t i = 0; i < n; i++) memcpy(result + 8 * i, from[mask[i] != 0] + 8 * i, 8);
}

/* ---- complex: computed in f64, rounded once ------------------------------------------------------------ */

typedef struct oxi_complex { double re, im; } oxi_complex;

static oxi_complex oxi_make_complex(double re, double im) {
    oxi_complex z;
    z.re = re;
    z.im = im;
    return z;
}
static oxi_complex oxi_multiply_complex(oxi_complex a, oxi_complex b) {
    return oxi_make_complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}
/* By the larger part of b; by zero each part on its own, as torch and NumPy do.
 * source: Smith 1962, "Algorithm 116: Complex division" */
static oxi_complex oxi_divide_complex(oxi_complex a, oxi_complex b) {
    if (b.re == 0 && b.im == 0) return oxi_make_complex(a.re / fabs(b.re), a.im / fabs(b.im));
    if (fabs(b.re) >= fabs(b.im)) {
        double ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
        return oxi_make_complex((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
    }
    double ratio = b.re / b.im, scale = 1 / (b.re * ratio + b.im);
    return oxi_make_complex((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}

/* Infinities and zeros in the functions below: C11, annex G.6. */
static oxi_complex oxi_exp_complex(oxi_complex z) {
    double grown = exp(z.re);
    if (z.im == 0) return oxi_make_complex(grown, z.im);
    if (!isfinite(z.im) && isinf(z.re)) return oxi_make_complex(grown, z.re > 0 ? NAN : copysign(0.0, z.im));
    return oxi_make_complex(grown * cos(z.im), grown * sin(z.im));
}
/* Near |z| = 1 from |z|^2 - 1, which the f32 parts give exactly. */
static oxi_complex oxi_log_complex(oxi_complex z) {
    double size = hypot(z.re, z.im), large = fabs(z.re), small = fabs(z.im);
    if (small > large) {
        double swap = large;
        large = small;
        small = swap;
    }
    double re = size > 0.5 && size < 2 ? 0.5 * log1p((large - 1) * (large + 1) + small * small) : log(size);
    return oxi_make_complex(re, atan2(z.im, z.re));
}
static oxi_complex oxi_sqrt_complex(oxi_complex z) {
    if (z.re == 0 && z.im == 0) return oxi_make_complex(0, z.im);
    if (isinf(z.im)) return oxi_make_complex(INFINITY, z.im);
    if (isinf(z.re)) {
        double other = isnan(z.im) ? z.im : 0;
        return z.re > 0 ? oxi_make_complex(z.re, copysign(other, z.im))
                        : oxi_make_complex(other, copysign(INFINITY, z.im));
    }
    double root = sqrt((fabs(z.re) + hypot(z.re, z.im)) / 2);
    return z.re >= 0 ? oxi_make_complex(root, z.im / (2 * root))
                     : oxi_make_complex(fabs(z.im) / (2 * root), copysign(root, z.im));
}
static oxi_complex oxi_sinh_complex(oxi_complex z) {
    if (z.im == 0) return oxi_make_complex(sinh(z.re), z.im);
    if (!isfinite(z.im)) return oxi_make_complex(z.re == 0 || isinf(z.re) ? z.re : NAN, NAN);
    return oxi_make_complex(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im));
}
static oxi_complex oxi_cosh_complex(oxi_complex z) {
    if (z.im == 0) return oxi_make_complex(cosh(z.re), copysign(0.0, z.re) * z.im);
    if (!isfinite(z.im)) return oxi_make_complex(isinf(z.re) ? INFINITY : NAN, z.re == 0 ? z.re : NAN);
    return oxi_make_complex(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im));
}
static oxi_complex oxi_sin_complex(oxi_complex z) { /* -i sinh(iz) */
    oxi_complex y = oxi_sinh_complex(oxi_make_complex(-z.im, z.re));
    return oxi_make_complex(y.im, -y.re);
}
static oxi_complex oxi_cos_complex(oxi_complex z) { return oxi_cosh_complex(oxi_make_complex(-z.im, z.re)); }
/* source: Kahan 1987, "Branch cuts for complex elementary functions" */
static oxi_complex oxi_tanh_complex(oxi_complex z) {
    if (z.im == 0) return oxi_make_complex(tanh(z.re), z.im);
    if (isinf(z.re))
        return oxi_make_complex(copysign(1.0, z.re), copysign(0.0, isfinite(z.im) ? sin(2 * z.im) : z.im));
    if (!isfinite(z.im)) return oxi_make_complex(z.re == 0 ? z.re : NAN, NAN);
    if (fabs(z.re) > 20)
        return oxi_make_complex(copysign(1.0, z.re), 4 * sin(z.im) * cos(z.im) * exp(-2 * fabs(z.re)));
    double t = tan(z.im), beta = 1 + t * t, s = sinh(z.re), denominator = 1 + beta * s * s;
    return oxi_make_complex(beta * sqrt(1 + s * s) * s / denominator, t / denominator);
}

static oxi_complex oxi_load_complex(const float *p, int64_t i) {
    return oxi_make_complex(p[2 * i], p[2 * i + 1]);
}
static bool oxi_nonzero_complex(oxi_complex z) { return z.re != 0 || z.im != 0; }

#define OXI_C64_1(X)                                                                                   \
    X(neg, oxi_make_complex(-x.re, -x.im))                                                             \
    X(square, oxi_multiply_complex(x, x)) X(reciprocal, oxi_divide_complex(oxi_make_complex(1, 0), x)) \
        X(exp, oxi_exp_complex(x)) X(log, oxi_log_complex(x)) X(sqrt, oxi_sqrt_complex(x))             \
            X(sin, oxi_sin_complex(x)) X(cos, oxi_cos_complex(x)) X(tanh, oxi_tanh_complex(x))
#define OXI_C64_1_BOOL(X) \
    X(logical_not, !oxi_nonzero_complex(x)) X(isnan, isnan(x.re) || isnan(x.im)) \
    X(isinf, isinf(x.re) || isinf(x.im)) X(isfinite, isfinite(x.re) && isfinite(x.im))
#define OXI_C64_2(X) \
    X(add, oxi_make_complex(a.re + f0 * b.re, a.im + f0 * b.im)) \
    X(sub, oxi_make_complex(a.re - f0 * b.re, a.im - f0 * b.im)) \
    X(mul, oxi_multiply_complex(a, b)) X(div, oxi_divide_complex(a, b))
#define OXI_C64_2_BOOL(X) \
    X(eq, a.re == b.re && a.im == b.im) X(ne, a.re != b.re || a.im != b.im) \
    X(logical_and, oxi_nonzero_complex(a) && oxi_nonzero_complex(b)) \
    X(logical_or, oxi_nonzero_complex(a) || oxi_nonzero_complex(b)) \
    X(logical_xor, oxi_nonzero_complex(a) != oxi_nonzero_complex(b))

#define OXI_X(op, formula)                                                         \
    static void oxi_scalar_##op##_c64(int64_t n, const void *const *in, void *out, \
                                      const oxi_map_numbers *numbers) {            \
        const float *p = (const float *)in[0];                                     \
        float *result = (float *)out;                                              \
        (void)numbers;                                                             \
        for (int64_t i = 0; i < n; i++) {                                          \
            oxi_complex x = oxi_load_complex(p, i), y = formula;                   \
            result[2 * i] = (float)y.re;                                           \
            result[2 * i + 1] = (float)y.im;                                       \
        }                                                                          \
    }
OXI_C64_1(OXI_X)
#undef OXI_X
#define OXI_X(op, formula)                                                         \
    static void oxi_scalar_##op##_c64(int64_t n, const void *const *in, void *out, \
                                      const oxi_map_numbers *numbers) {            \
        const float *p = (const float *)in[0];                                     \
        uint8_t *result = (uint8_t *)out;                                          \
        (void)numbers;                                                             \
        for (int64_t i = 0; i < n; i++) {                                          \
            oxi_complex x = oxi_load_complex(p, i);                                \
            result[i] = formula;                                                   \
        }                                                                          \
    }
OXI_C64_1_BOOL(OXI_X)
#undef OXI_X
#define OXI_X(op, formula)                                                                   \
    static void oxi_scalar_##op##_c64(int64_t n, const void *const *in, void *out,           \
                                      const oxi_map_numbers *numbers) {                      \
        const float *p = (const float *)in[0], *q = (const float *)in[1];                    \
        const double f0 = numbers->f[0];                                                     \
        float *result = (float *)out;                                                        \
        (void)f0;                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                    \
            oxi_complex a = oxi_load_complex(p, i), b = oxi_load_complex(q, i), y = formula; \
            result[2 * i] = (float)y.re;                                                     \
            result[2 * i + 1] = (float)y.im;                                                 \
        }                                                                                    \
    }
OXI_C64_2(OXI_X)
#undef OXI_X
#define OXI_X(op, formula)                                                         \
    static void oxi_scalar_##op##_c64(int64_t n, const void *const *in, void *out, \
                                      const oxi_map_numbers *numbers) {            \
        const float *p = (const float *)in[0], *q = (const float *)in[1];          \
        uint8_t *result = (uint8_t *)out;                                          \
        (void)numbers;                                                             \
        for (int64_t i = 0; i < n; i++) {                                          \
            oxi_complex a = oxi_load_complex(p, i), b = oxi_load_complex(q, i);    \
            result[i] = formula;                                                   \
        }                                                                          \
    }
OXI_C64_2_BOOL(OXI_X)
#undef OXI_X

static void oxi_scalar_abs_c64(int64_t n, const void *const *in, void *out, const oxi_map_numbers *numbers) {
    const float *p = (const float *)in[0];
    float *result = (float *)out;
    (void)numbers;
    for (int64_t i = 0; i < n; i++) result[i] = (float)hypot(p[2 * i], p[2 * i + 1]);
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static void oxi_fill_scalar_map(oxi_kernels *k) {
#define OXI_X(op, formula) k->map[OXI_OP_##op][OXI_LANE_F64] = oxi_scalar_##op##_f64;
    OXI_F64_1(OXI_X)
    OXI_F64_2(OXI_X)
#undef OXI_X
#define OXI_X(op, formula) k->map[OXI_OP_##op][OXI_LANE_I64] = oxi_scalar_##op##_i64;
    OXI_INTEGER_1(OXI_X)
    OXI_I64_1(OXI_X)
    OXI_INTEGER_1_BOOL(OXI_X)
    OXI_INTEGER_2(OXI_X)
    OXI_I64_2(OXI_X)
    OXI_INTEGER_2_BOOL(OXI_X)
#undef OXI_X
#define OXI_X(op, formula) k->map[OXI_OP_##op][OXI_LANE_U64] = oxi_scalar_##op##_u64;
    OXI_INTEGER_1(OXI_X)
    OXI_U64_1(OXI_X)
    OXI_INTEGER_2(OXI_X)
    OXI_U64_2(OXI_X)
    OXI_INTEGER_2_BOOL(OXI_X)
    OXI_INTEGER_2_SCALED(OXI_X)
    OXI_X(addcmul, )
#undef OXI_X
#define OXI_X(op, formula) k->map[OXI_OP_##op][OXI_LANE_U64] = oxi_scalar_##op##_i64;
    OXI_INTEGER_1_BOOL(OXI_X) /* zero or not: the same bits */
#undef OXI_X
#define OXI_X(op, formula) k->map[OXI_OP_##op][OXI_LANE_I64] = oxi_scalar_##op##_u64;
    OXI_INTEGER_2_SCALED(OXI_X)
    OXI_X(addcmul, )
#undef OXI_X
#define OXI_X(op, formula) k->map[OXI_OP_##op][OXI_LANE_C64] = oxi_scalar_##op##_c64;
    OXI_C64_1(OXI_X)
    OXI_C64_1_BOOL(OXI_X)
    OXI_C64_2(OXI_X)
    OXI_C64_2_BOOL(OXI_X)
    OXI_X(abs, )
#undef OXI_X
    k->map[OXI_OP_hardtanh][OXI_LANE_I64] = oxi_scalar_clamp_i64;
    k->map[OXI_OP_hardtanh][OXI_LANE_U64] = oxi_scalar_clamp_u64;
    k->map[OXI_OP_where][OXI_LANE_F64] = oxi_scalar_where_64;
    k->map[OXI_OP_where][OXI_LANE_I64] = oxi_scalar_where_64;
    k->map[OXI_OP_where][OXI_LANE_U64] = oxi_scalar_where_64;
    k->map[OXI_OP_where][OXI_LANE_C64] = oxi_scalar_where_64;
}

#undef OXI_DEFINE_MAP_1
#undef OXI_DEFINE_MAP_2
