// map_plain.comp - arithmetic in f32: what is an instruction or a few of them.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 3
#define REAL float
#define ONLY_F32
#include "map_begin.glsl"
#include "math.glsl"
#include "map_plain.glsl"

uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    vec3 f = uintBitsToFloat(param[1].xyz);
    float r = mapped(uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x), f.x, f.y, f.z);
    return uvec2(floatBitsToUint(r), 0);
}

#include "map_end.glsl"
