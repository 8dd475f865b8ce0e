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
#include "map/map_double.glsl"
#include "map/map_complex.glsl"

uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    double f0 = double_of(P_whole0), f1 = double_of(P_whole1), f2 = double_of(P_immediate3);
    if (LANE == LANE_C64) return raw_of_complex(map_complex(complex_of(a), complex_of(b), f0));
    return bits_of(mapped_further(OP, double_of(a), double_of(b), double_of(c), f0, f1, f2));
}

#include "map/map_end.glsl"
