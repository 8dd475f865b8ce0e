// map_log.comp - functions in f32 that go through logarithms; powers, lengths and rests.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 2
#define ONLY_F32
#include "map_begin.glsl"
#include "math_pair.glsl"

float map_f32(const float a, const float b, const float c) {
    float f0 = uintBitsToFloat(param[1].x), f1 = uintBitsToFloat(param[1].y),
          f2 = uintBitsToFloat(param[1].z);
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
    case OP_floor_divide: r = my_floor_divide(a, b); break;
    case OP_remainder: r = my_remainder(a, b); break;
    case OP_fmod: r = my_fmod(a, b); break;
    case OP_pow: r = my_pow(a, b); break;
    case OP_hypot: r = my_hypot(a, b); break;
    }
    return r;
}
uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    return uvec2(floatBitsToUint(map_f32(uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x))),
                 0);
}

#include "map_end.glsl"
