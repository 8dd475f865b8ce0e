// map_log.comp - functions in f32 that go through logarithms.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 1
#include "map_begin.glsl"
#include "math_log.glsl"

float map_f32(float a, float b, float c) {
    float f0 = uintBitsToFloat(param[1].x), f1 = uintBitsToFloat(param[1].y), f2 = uintBitsToFloat(param[1].z);
    precise float r = 0;
    switch (OP) {
    case OP_log: r = my_log(a); break;
    case OP_log2: r = my_log2(a); break;
    case OP_log10: r = my_log10(a); break;
    case OP_log1p: r = my_log1p(a); break;
    case OP_asinh: r = my_asinh(a); break;
    case OP_acosh: r = my_acosh(a); break;
    case OP_atanh: r = my_atanh(a); break;
    case OP_softplus: r = my_softplus(a, f0, f1); break;
    case OP_logsigmoid: r = my_logsigmoid(a); break;
    }
    return r;
}
uvec2 compute(uvec2 a, uvec2 b, uvec2 c) {
    return uvec2(floatBitsToUint(map_f32(uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x))), 0);
}

#include "map_end.glsl"
