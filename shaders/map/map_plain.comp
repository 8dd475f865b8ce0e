// map_plain.comp - arithmetic in f32: what is an instruction or a few of them, and quotients of all kinds.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 3
#define REAL float
#define ONLY_F32
#include "map/map_begin.glsl"
#include "math/math_rest.glsl"
#include "map/map_plain.glsl"

float mapped_further(const float a, const float b, const float c, const vec3 f) {
    switch (OP) {
#include "tables/map_plain_cases.glsl"
    default: return mapped(OP, a, b, c, f.x, f.y, f.z);
    }
}
uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    vec3 f = uintBitsToFloat(P_f);
    float r = mapped_further(uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x), f);
    return uvec2(floatBitsToUint(r), 0);
}

#include "map/map_end.glsl"
