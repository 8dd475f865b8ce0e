// map_function.comp - functions in f32: those that go through e^x, through logarithms and through angles;
// powers and lengths.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 2
#define ONLY_F32
#include "map/map_begin.glsl"
#include "math/math_pair.glsl"
#include "math/math_angle.glsl"

float map_f32(const float a, const float b, const float f0, const float f1) {
    precise float r = 0;
    switch (OP) {
#include "tables/map_function_cases.glsl"
    }
    return r;
}
uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    vec2 f = uintBitsToFloat(P_f.xy);
    return uvec2(floatBitsToUint(map_f32(uintBitsToFloat(a.x), uintBitsToFloat(b.x), f.x, f.y)), 0);
}

#include "map/map_end.glsl"
