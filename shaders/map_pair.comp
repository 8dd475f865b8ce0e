// map_pair.comp - powers, lengths and rests in f32.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 2
#include "map_begin.glsl"
#include "math_pair.glsl"

float map_f32(float a, float b, float c) {
    float f0 = uintBitsToFloat(param[1].x), f1 = uintBitsToFloat(param[1].y), f2 = uintBitsToFloat(param[1].z);
    precise float r = 0;
    switch (OP) {
    case OP_floor_divide: r = my_floor_divide(a, b); break;
    case OP_remainder: r = my_remainder(a, b); break;
    case OP_fmod: r = my_fmod(a, b); break;
    case OP_pow: r = my_pow(a, b); break;
    case OP_hypot: r = my_hypot(a, b); break;
    }
    return r;
}
uvec2 compute(uvec2 a, uvec2 b, uvec2 c) {
    return uvec2(floatBitsToUint(map_f32(uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x))), 0);
}

#include "map_end.glsl"
