// scatter.comp - scatter.glsl for every dtype; sums in f32 and integers.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "index/scatter.glsl"
#include "common/integer.glsl"

uvec2 sum_of(const uvec2 a, const uvec2 b) {
    if (LANE != LANE_F32 && LANE != LANE_C64) return plus(a, times(P_alpha, b));
    precise vec2 sum = uintBitsToFloat(a) + uintBitsToFloat(P_alpha.x) * uintBitsToFloat(b);
    return floatBitsToUint(sum);
}
