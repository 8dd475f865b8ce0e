// scan.comp - running sums and products in f32 and integers. Float sums are kept in two floats.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "reduce/scan.glsl"
#include "math/math.glsl"

const bool REAL = LANE == LANE_F32;

vec2 pair_of(const uvec2 s) {
    return uintBitsToFloat(s);
}
// b comes behind a.
uvec2 joined(const uvec2 a, const uvec2 b) {
    if (!REAL) return PRODUCT == 1 ? times(a, b) : plus(a, b);
    vec2 p = pair_of(a), q = pair_of(b);
    precise float plain = PRODUCT == 1 ? p.x * q.x : p.x + q.x;
    float size = size_of(plain);
    bool wide = PRODUCT == 0 || (size > 1e-30 && size_of(p.x) < 1e30 && size_of(q.x) < 1e30);
    if (!(size < 1e37) || !wide) return uvec2(floatBitsToUint(plain), 0);
    return floatBitsToUint(PRODUCT == 1 ? mul2(p, q) : add2(p, q));
}
uvec2 none() {
    return PRODUCT == 0 ? uvec2(0) : REAL ? uvec2(floatBitsToUint(1.0), 0) : uvec2(1, 0);
}
uvec2 settled(const uvec2 s) {
    if (!REAL) return s;
    vec2 p = pair_of(s);
    return uvec2(floatBitsToUint(size_of(p.x) < INF ? p.x + p.y : p.x), 0);
}
