// map_double.comp - the same in f64, of operands that are f64; results are f64 or bool.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 3
#define REAL double
#define ONE_DTYPE
#include "map_begin.glsl"
#include "math.glsl"
#include "math_double.glsl"
#include "map_plain.glsl"

uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    double f0 = double_of(param[2].xy), f1 = double_of(param[2].zw), f2 = double_of(param[15].zw);
    double r = mapped(double_of(a), double_of(b), double_of(c), f0, f1, f2);
    return TO == BOOL ? uvec2(r != 0 ? 1 : 0, 0) : bits_of(r);
}

#include "map_end.glsl"
