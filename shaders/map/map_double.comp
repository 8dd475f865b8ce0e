// map_double.comp - elementwise ops in f64: of operands that are f64, and of complex numbers, which are
// computed in f64 and rounded once.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 3
#define REAL double
#define WIDE_DTYPES
#include "map/map_begin.glsl"
#include "common/integer.glsl"
#include "math/math.glsl"
#include "math/math_double.glsl"
#include "math/math_double_log.glsl"
#include "math/math_double_angle.glsl"
#include "map/map_plain.glsl"
#include "map/map_complex.glsl"

double elu_of(const double x, const double alpha, const double inner) {
    precise double r = alpha * my_expm1(x * inner);
    return x < 0 ? r : x;
}
double gelu_tanh_of(const double x) {
    precise double inner = x * (1.5957691216057308lf + 0.07135481627260025lf * x * x);
    return x * my_sigmoid(inner);
}
double remainder_of(const double a, const double b) {
    double rest = my_fmod(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
double floor_divide_of(const double a, const double b) {
    double plain = quotient(a, b), rest = my_fmod(a, b);
    if (!is_something(b) || is_nan(rest)) return is_something(b) ? rest : plain;
    precise double whole = quotient(a - rest, b) - (rest != 0 && (b < 0) != (rest < 0) ? 1 : 0);
    return whole == 0 ? with_sign(0, plain) : roundEven(whole);
}
double mapped_further(const double a, const double b, const double c, const double f0, const double f1,
                      const double f2) {
    switch (OP) {
    case OP_exp: return my_exp(a);
    case OP_exp2: return my_exp2(a);
    case OP_expm1: return my_expm1(a);
    case OP_log: return my_log(a);
    case OP_log2: return log_times(a, dvec2(1.4426950408889634lf, 2.0355273740931033e-17lf));
    case OP_log10: return log_times(a, dvec2(0.4342944819032518lf, 1.098319650216765e-17lf));
    case OP_log1p: return my_log1p(a);
    case OP_sin: return my_sin(a, 0);
    case OP_cos: return my_sin(a, 1);
    case OP_tan: return my_tan(a);
    case OP_asin: return my_asin(a);
    case OP_acos: return my_acos(a);
    case OP_atan: return my_atan2(a, 1);
    case OP_sinh: return my_sinh(a);
    case OP_cosh: return my_cosh(a);
    case OP_tanh: return my_tanh(a);
    case OP_asinh: return my_asinh(a);
    case OP_acosh: return my_acosh(a);
    case OP_atanh: return my_atanh(a);
    case OP_sigmoid: return my_sigmoid(a);
    case OP_erf: return my_erf(a);
    case OP_erfc: return my_erfc(a);
    case OP_elu: return elu_of(a, f0, 1);
    case OP_selu: return 1.0507009873554805lf * elu_of(a, 1.6732632423543772lf, 1);
    case OP_celu: return elu_of(a, f0, quotient(1, f0));
    case OP_gelu: return 0.5lf * a * my_erfc(-a * 0.70710678118654752lf);
    case OP_gelu_tanh: return gelu_tanh_of(a);
    case OP_silu: return a * my_sigmoid(a);
    case OP_mish: return a * my_tanh(my_log1p(my_exp(a)));
    case OP_softplus: return a * f0 > f1 ? a : quotient(my_log1p(my_exp(a * f0)), f0);
    case OP_logsigmoid: return is_nan(a) ? a : lesser_of(0, a) - my_log1p(my_exp(-size_of(a)));
    case OP_floor_divide: return floor_divide_of(a, b);
    case OP_remainder: return remainder_of(a, b);
    case OP_fmod: return my_fmod(a, b);
    case OP_pow: return my_pow(a, b);
    case OP_atan2: return my_atan2(a, b);
    case OP_hypot: return my_hypot(a, b);
    case OP_silu_mul: return a * my_sigmoid(a) * b;
    case OP_gelu_mul: return gelu_tanh_of(a) * b;
    default: return mapped(a, b, c, f0, f1, f2);
    }
}
uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    double f0 = double_of(P_whole0), f1 = double_of(P_whole1), f2 = double_of(P_immediate3);
    if (LANE == LANE_C64) return raw_of_complex(map_complex(complex_of(a), complex_of(b), f0));
    return bits_of(mapped_further(double_of(a), double_of(b), double_of(c), f0, f1, f2));
}

#include "map/map_end.glsl"
