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
#include "tables/map_double_cases.glsl"
    default: return mapped(a, b, c, f0, f1, f2);
    }
}
uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    double f0 = double_of(P_whole0), f1 = double_of(P_whole1), f2 = double_of(P_immediate3);
    if (LANE == LANE_C64) return raw_of_complex(map_complex(complex_of(a), complex_of(b), f0));
    return bits_of(mapped_further(double_of(a), double_of(b), double_of(c), f0, f1, f2));
}

#include "map/map_end.glsl"
