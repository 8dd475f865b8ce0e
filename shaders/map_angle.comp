// map_angle.comp - functions of angles in f32.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 2
#define ONLY_F32
#include "map_begin.glsl"
#include "math_angle.glsl"

float map_f32(const float a, const float b, const float c) {
    float f0 = uintBitsToFloat(param[1].x), f1 = uintBitsToFloat(param[1].y),
          f2 = uintBitsToFloat(param[1].z);
    precise float r = 0;
    switch (OP) {
    case OP_sin: r = my_sin(a); break;
    case OP_cos: r = my_cos(a); break;
    case OP_tan: r = my_tan(a); break;
    case OP_asin: r = my_asin(a); break;
    case OP_acos: r = my_acos(a); break;
    case OP_atan: r = my_atan(a); break;
    case OP_atan2: r = my_atan2(a, b); break;
    }
    return r;
}
uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    return uvec2(floatBitsToUint(map_f32(uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x))),
                 0);
}

#include "map_end.glsl"
