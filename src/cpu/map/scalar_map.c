/* Elementwise kernels that gain nothing from a tier: integers, complex numbers, and the f64 functions of
 * the C library; form/map.def has the formulas. Integers wrap as two's complement; nothing traps.
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
/* Negative exponents: 0 unless the base is 1 or -1. */
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

/* The rest by parts in double, exact enough for f32 ones, whose squares neither overflow nor vanish there. */
static oxi_complex oxi_scale_complex(oxi_complex z, double by) {
    return oxi_make_complex(z.re * by, z.im * by);
}
static oxi_complex oxi_turned_complex(oxi_complex z) { /* i z */
    return oxi_make_complex(-z.im, z.re);
}
static oxi_complex oxi_turned_back_complex(oxi_complex z) { /* -i z */
    return oxi_make_complex(z.im, -z.re);
}
static oxi_complex oxi_expm1_complex(oxi_complex z) {
    if (z.im == 0) return oxi_make_complex(expm1(z.re), z.im);
    if (isinf(z.re) || !isfinite(z.im)) {
        z = oxi_exp_complex(z);
        return oxi_make_complex(z.re - 1, z.im);
    }
    double half = sin(z.im / 2); /* e^x cos y - 1 without what cancels */
    return oxi_make_complex(expm1(z.re) * cos(z.im) - 2 * half * half, exp(z.re) * sin(z.im));
}
static oxi_complex oxi_log1p_complex(oxi_complex z) {
    double square = z.re * (2 + z.re) + z.im * z.im; /* |1 + z|^2 - 1 */
    if (fabs(square) < 0.5) return oxi_make_complex(0.5 * log1p(square), atan2(z.im, 1 + z.re));
    return oxi_log_complex(oxi_make_complex(1 + z.re, z.im));
}
static oxi_complex oxi_tan_complex(oxi_complex z) {
    return oxi_turned_back_complex(oxi_tanh_complex(oxi_turned_complex(z)));
}
/* Annex G's, as torch: a quarter of the circle for each part that is infinite. */
static oxi_complex oxi_asin_infinite(oxi_complex z) {
    double across = isinf(z.re) ? copysign(1, z.re) : 0 * z.re, up = isinf(z.im) ? 1 : 0 * fabs(z.im);
    return oxi_make_complex(atan2(across, up), copysign(INFINITY, z.im));
}
/* The roots of 1 - z and 1 + z. */
static void oxi_roots_beside(oxi_complex z, oxi_complex *p, oxi_complex *q) {
    *p = oxi_sqrt_complex(oxi_make_complex(1 - z.re, -z.im));
    *q = oxi_sqrt_complex(oxi_make_complex(1 + z.re, z.im));
}
static oxi_complex oxi_asin_complex(oxi_complex z) {
    if (isinf(z.re) || isinf(z.im)) return oxi_asin_infinite(z);
    oxi_complex p, q;
    oxi_roots_beside(z, &p, &q);
    return oxi_make_complex(atan2(z.re, p.re * q.re - p.im * q.im), asinh(p.re * q.im - p.im * q.re));
}
static oxi_complex oxi_acos_complex(oxi_complex z) {
    if (isinf(z.re) || isinf(z.im)) {
        z = oxi_asin_infinite(z);
        return oxi_make_complex(1.5707963267948966 - z.re, -z.im);
    }
    oxi_complex p, q;
    oxi_roots_beside(z, &p, &q);
    return oxi_make_complex(2 * atan2(p.re, q.re), asinh(q.re * p.im - q.im * p.re));
}
static oxi_complex oxi_acosh_complex(oxi_complex z) { /* i or -i acos, so that its real part is not below 0 */
    oxi_complex y = oxi_acos_complex(z);
    return oxi_make_complex(fabs(y.im), copysign(y.re, z.im));
}
static oxi_complex oxi_asinh_complex(oxi_complex z) {
    return oxi_turned_back_complex(oxi_asin_complex(oxi_turned_complex(z)));
}
static oxi_complex oxi_atanh_complex(oxi_complex z) { /* of |x|: near -1 a quotient would be rounded to -1 */
    if (isinf(z.re) || isinf(z.im))
        return oxi_make_complex(copysign(0.0, z.re), copysign(1.5707963267948966, z.im));
    double x = fabs(z.re), away = 1 - x, square = z.im * z.im;
    return oxi_make_complex(copysign(log1p(4 * x / (away * away + square)) / 4, z.re),
                            atan2(2 * z.im, away * (1 + x) - square) / 2);
}
static oxi_complex oxi_atan_complex(oxi_complex z) {
    return oxi_turned_back_complex(oxi_atanh_complex(oxi_turned_complex(z)));
}
static oxi_complex oxi_sigmoid_complex(oxi_complex z) {
    if (z.re < -40) return oxi_exp_complex(z);
    z = oxi_exp_complex(oxi_make_complex(-z.re, -z.im));
    return oxi_divide_complex(oxi_make_complex(1, 0), oxi_make_complex(1 + z.re, z.im));
}
/* 0 to the 0 is 1; 0 to a power with a positive real part is 0. */
static oxi_complex oxi_pow_complex(oxi_complex a, oxi_complex b) {
    if (b.re == 0 && b.im == 0) return oxi_make_complex(1, 0);
    if (a.re == 0 && a.im == 0 && b.re > 0) return oxi_make_complex(0, 0);
    return oxi_exp_complex(oxi_multiply_complex(b, oxi_log_complex(a)));
}

static oxi_complex oxi_load_complex(const float *p, int64_t i) {
    return oxi_make_complex(p[2 * i], p[2 * i + 1]);
}
static void oxi_store_complex(float *p, int64_t i, oxi_complex z) {
    p[2 * i] = (float)z.re;
    p[2 * i + 1] = (float)z.im;
}
static bool oxi_nonzero_complex(oxi_complex z) { return z.re != 0 || z.im != 0; }

static void oxi_scalar_abs_c64(int64_t n, const void *const *in, void *out, const oxi_map_numbers *numbers) {
    const float *p = (const float *)in[0];
    float *result = (float *)out;
    (void)numbers;
    for (int64_t i = 0; i < n; i++) result[i] = (float)hypot(p[2 * i], p[2 * i + 1]);
}

/* ---- the kernels of map.def ----------------------------------------------------------------------------
 * In a formula x (or a, b, c) are the operands, f0, f1, f2 the op's numbers as the operands' type. */

/* Of one type of elements: DECLARE_<count> names the operands, TAKE_<count> the elements at i. */
#define OXI_DEFINE_SCALAR(name, count, TYPE, CONVERT, RESULT, formula) \
    static OXI_ALIGNED void name(int64_t n, const void *const *in, void *out, \
                                 const oxi_map_numbers *numbers) { \
        const TYPE f0 = CONVERT(numbers->f[0]), f1 = CONVERT(numbers->f[1]), f2 = CONVERT(numbers->f[2]); \
        OXI_DECLARE_##count(TYPE) \
        RESULT *result = (RESULT *)out; \
        (void)f0; (void)f1; (void)f2; \
        for (int64_t i = 0; i < n; i++) { \
            OXI_TAKE_##count(TYPE, OXI_PLAIN_ELEMENT) \
            result[i] = (RESULT)(formula); \
        } \
    }
#define OXI_DECLARE_1(TYPE) const TYPE *p = (const TYPE *)in[0];
#define OXI_DECLARE_2(TYPE) OXI_DECLARE_1(TYPE) const TYPE *q = (const TYPE *)in[1];
#define OXI_DECLARE_3(TYPE) OXI_DECLARE_2(TYPE) const TYPE *r = (const TYPE *)in[2];
#define OXI_TAKE_1(TYPE, at) const TYPE x = at(p, i); (void)x;
#define OXI_TAKE_2(TYPE, at) const TYPE a = at(p, i), b = at(q, i);
#define OXI_TAKE_3(TYPE, at) const TYPE a = at(p, i), b = at(q, i), c = at(r, i);
#define OXI_PLAIN_ELEMENT(p, i) p[i]

#define OXI_DEFINE_DOUBLE(name, count, formula) \
    OXI_DEFINE_SCALAR(name##_f64, count, double, (double), double, formula)
#define OXI_DEFINE_I64(name, count, RESULT, formula) \
    OXI_DEFINE_SCALAR(name##_i64, count, int64_t, oxi_to_i64_saturated, RESULT, formula)
#define OXI_DEFINE_U64(name, count, RESULT, formula) \
    OXI_DEFINE_SCALAR(name##_u64, count, uint64_t, oxi_to_u64_saturated, RESULT, formula)
#define OXI_DEFINE_BOTH(name, count, formula) \
    OXI_DEFINE_I64(name, count, int64_t, formula) OXI_DEFINE_U64(name, count, uint64_t, formula)
#define OXI_DEFINE_SIGNS(name, count, of_i64, of_u64) \
    OXI_DEFINE_I64(name, count, int64_t, of_i64) OXI_DEFINE_U64(name, count, uint64_t, of_u64)
#define OXI_DEFINE_INTEGER_TEST(name, count, formula) \
    OXI_DEFINE_I64(name, count, uint8_t, formula) OXI_DEFINE_U64(name, count, uint8_t, formula)
#define OXI_DEFINE_ALIKE(name, count, formula) \
    OXI_DEFINE_SCALAR(name##_u64, count, uint64_t, oxi_to_u64_wrapped, uint64_t, formula)
/* Complex numbers: store(result, i, value). */
#define OXI_DEFINE_COMPLEX(name, count, RESULT, store, formula) \
    static void name##_c64(int64_t n, const void *const *in, void *out, const oxi_map_numbers *numbers) { \
        const double f0 = numbers->f[0]; \
        OXI_DECLARE_##count(float) \
        RESULT *result = (RESULT *)out; \
        (void)f0; \
        for (int64_t i = 0; i < n; i++) { \
            OXI_TAKE_##count(oxi_complex, oxi_load_complex) \
            store(result, i, formula); \
        } \
    }
#define OXI_STORE_TEST(result, i, value) result[i] = value
#define OXI_DEFINE_C64(name, count, formula) \
    OXI_DEFINE_COMPLEX(name, count, float, oxi_store_complex, formula)
#define OXI_DEFINE_C64_TEST(name, count, formula) \
    OXI_DEFINE_COMPLEX(name, count, uint8_t, OXI_STORE_TEST, formula)
#define OXI_DEFINE_NOTHING(name, count, formula)

/* Which of those a cell asks for: the macro, then its formulas. */
#define OXI_SCALAR_F64(formula) OXI_DEFINE_DOUBLE, formula
#define OXI_SCALAR_NONE OXI_DEFINE_NOTHING, 0
#define OXI_SCALAR_OWN(kernel) OXI_DEFINE_NOTHING, 0
#define OXI_INTEGER_BOTH(formula) OXI_DEFINE_BOTH, formula
#define OXI_INTEGER_SIGNS(of_i64, of_u64) OXI_DEFINE_SIGNS, of_i64, of_u64
#define OXI_INTEGER_TEST(formula) OXI_DEFINE_INTEGER_TEST, formula
#define OXI_INTEGER_ALIKE(formula) OXI_DEFINE_ALIKE, formula
#define OXI_INTEGER_NONE OXI_SCALAR_NONE
#define OXI_INTEGER_OWN(kernel) OXI_DEFINE_NOTHING, 0
#define OXI_INTEGER_AS(other) OXI_DEFINE_NOTHING, 0
#define OXI_COMPLEX_C64(formula) OXI_DEFINE_C64, formula
#define OXI_COMPLEX_TEST(formula) OXI_DEFINE_C64_TEST, formula
#define OXI_COMPLEX_NONE OXI_SCALAR_NONE
#define OXI_COMPLEX_OWN(kernel) OXI_DEFINE_NOTHING, 0
#define OXI_SCALAR_DEFINE(name, count, ...) OXI_SCALAR_CALL(name, count, __VA_ARGS__)
#define OXI_SCALAR_CALL(name, count, define, ...) define(name, count, __VA_ARGS__)
#define OXI_MAP(op, operands, simd, f64, integer, complex, ...) \
    OXI_SCALAR_DEFINE(oxi_scalar_##op, operands, OXI_SCALAR_##f64) \
    OXI_SCALAR_DEFINE(oxi_scalar_##op, operands, OXI_INTEGER_##integer) \
    OXI_SCALAR_DEFINE(oxi_scalar_##op, operands, OXI_COMPLEX_##complex)
#define OXI_U(x) ((uint64_t)(x))
#include "form/map.def"
#undef OXI_U
#undef OXI_DEFINE_SCALAR
#undef OXI_DEFINE_DOUBLE
#undef OXI_DEFINE_I64
#undef OXI_DEFINE_U64
#undef OXI_DEFINE_BOTH
#undef OXI_DEFINE_SIGNS
#undef OXI_DEFINE_INTEGER_TEST
#undef OXI_DEFINE_ALIKE
#undef OXI_DEFINE_COMPLEX
#undef OXI_DEFINE_C64
#undef OXI_DEFINE_C64_TEST
#undef OXI_DEFINE_NOTHING
#undef OXI_DECLARE_1
#undef OXI_DECLARE_2
#undef OXI_DECLARE_3
#undef OXI_TAKE_1
#undef OXI_TAKE_2
#undef OXI_TAKE_3
#undef OXI_PLAIN_ELEMENT
#undef OXI_STORE_TEST
#undef OXI_SCALAR_F64
#undef OXI_SCALAR_NONE
#undef OXI_SCALAR_OWN
#undef OXI_INTEGER_BOTH
#undef OXI_INTEGER_SIGNS
#undef OXI_INTEGER_TEST
#undef OXI_INTEGER_ALIKE
#undef OXI_INTEGER_NONE
#undef OXI_INTEGER_OWN
#undef OXI_INTEGER_AS
#undef OXI_COMPLEX_C64
#undef OXI_COMPLEX_TEST
#undef OXI_COMPLEX_NONE
#undef OXI_COMPLEX_OWN
#undef OXI_SCALAR_DEFINE
#undef OXI_SCALAR_CALL

/* ---- the table ----------------------------------------------------------------------------------------- */

/* The cells once more: which lanes of `row` get which kernel. */
#define OXI_SCALAR_F64(formula) OXI_ENTER_F64, 0
#define OXI_SCALAR_NONE OXI_ENTER_NOTHING, 0
#define OXI_SCALAR_OWN(kernel) OXI_ENTER_OWN_F64, oxi_scalar_##kernel
#define OXI_INTEGER_BOTH(formula) OXI_ENTER_BOTH, 0
#define OXI_INTEGER_SIGNS(of_i64, of_u64) OXI_ENTER_BOTH, 0
#define OXI_INTEGER_TEST(formula) OXI_ENTER_BOTH, 0
#define OXI_INTEGER_ALIKE(formula) OXI_ENTER_ALIKE, 0
#define OXI_INTEGER_NONE OXI_SCALAR_NONE
#define OXI_INTEGER_OWN(kernel) OXI_ENTER_OWN_INTEGER, oxi_scalar_##kernel
#define OXI_INTEGER_AS(other) OXI_ENTER_AS, k->map[OXI_OP_##other]
#define OXI_COMPLEX_C64(formula) OXI_ENTER_C64, 0
#define OXI_COMPLEX_TEST(formula) OXI_ENTER_C64, 0
#define OXI_COMPLEX_NONE OXI_SCALAR_NONE
#define OXI_COMPLEX_OWN(kernel) OXI_ENTER_OWN_C64, oxi_scalar_##kernel
#define OXI_ENTER_F64(row, name, from) row[OXI_LANE_F64] = name##_f64;
#define OXI_ENTER_BOTH(row, name, from) row[OXI_LANE_I64] = name##_i64; row[OXI_LANE_U64] = name##_u64;
#define OXI_ENTER_ALIKE(row, name, from) row[OXI_LANE_I64] = row[OXI_LANE_U64] = name##_u64;
#define OXI_ENTER_AS(row, name, from) \
    row[OXI_LANE_I64] = from[OXI_LANE_I64]; row[OXI_LANE_U64] = from[OXI_LANE_U64];
#define OXI_ENTER_C64(row, name, from) row[OXI_LANE_C64] = name##_c64;
#define OXI_ENTER_OWN_F64(row, name, from) row[OXI_LANE_F64] = from;
#define OXI_ENTER_OWN_INTEGER(row, name, from) row[OXI_LANE_I64] = row[OXI_LANE_U64] = from;
#define OXI_ENTER_OWN_C64(row, name, from) row[OXI_LANE_C64] = from;
#define OXI_ENTER_NOTHING(row, name, from)
#define OXI_SCALAR_ENTER(row, name, ...) OXI_SCALAR_ENTER_BY(row, name, __VA_ARGS__)
#define OXI_SCALAR_ENTER_BY(row, name, enter, from) enter(row, name, from)

static void oxi_fill_scalar_map(oxi_kernels *k) {
#define OXI_MAP(op, operands, simd, f64, integer, complex, ...) \
    OXI_SCALAR_ENTER(k->map[OXI_OP_##op], oxi_scalar_##op, OXI_SCALAR_##f64) \
    OXI_SCALAR_ENTER(k->map[OXI_OP_##op], oxi_scalar_##op, OXI_INTEGER_##integer) \
    OXI_SCALAR_ENTER(k->map[OXI_OP_##op], oxi_scalar_##op, OXI_COMPLEX_##complex)
#include "form/map.def"
}

#undef OXI_SCALAR_F64
#undef OXI_SCALAR_NONE
#undef OXI_SCALAR_OWN
#undef OXI_INTEGER_BOTH
#undef OXI_INTEGER_SIGNS
#undef OXI_INTEGER_TEST
#undef OXI_INTEGER_ALIKE
#undef OXI_INTEGER_NONE
#undef OXI_INTEGER_OWN
#undef OXI_INTEGER_AS
#undef OXI_COMPLEX_C64
#undef OXI_COMPLEX_TEST
#undef OXI_COMPLEX_NONE
#undef OXI_COMPLEX_OWN
#undef OXI_ENTER_F64
#undef OXI_ENTER_BOTH
#undef OXI_ENTER_ALIKE
#undef OXI_ENTER_AS
#undef OXI_ENTER_C64
#undef OXI_ENTER_OWN_F64
#undef OXI_ENTER_OWN_INTEGER
#undef OXI_ENTER_OWN_C64
#undef OXI_ENTER_NOTHING
#undef OXI_SCALAR_ENTER
#undef OXI_SCALAR_ENTER_BY
