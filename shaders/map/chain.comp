// chain.comp - elementwise ops one behind the other in f32. Conditions are 0 and 1.
#version 450
#extension GL_GOOGLE_include_directive : require
#define REAL float
#define VALUE vec4
#define ONLY_F32
#include "tables/chain.glsl"
#include "common/common.glsl"
#include "common/any_quads.glsl"
#include "common/number.glsl"
#include "tables/map_ops.glsl"
#include "math/math_rest.glsl"
#include "math/math_pair.glsl"
#include "math/math_angle.glsl"
#include "map/map_plain.glsl"
#include "map/chain.glsl"

const uint WIDE = QUADS != 0 ? 4 : 1;

float lane(const uint dtype, const uint raw) {
    return uintBitsToFloat(lane_of(dtype, uvec2(raw, 0), LANE_F32).x);
}
vec4 number(const uvec2 bits) {
    return vec4(uintBitsToFloat(bits.x));
}
vec4 taken(const uint block, const uint dtype, const bool still, const uint e, const uint count) {
    uvec4 raw = uvec4(0);
    if (still || QUADS == 0) raw = load_any(block, dtype, e).xxxx;
    else if (count == 4) raw = load_quad(block, dtype, e);
    else
        for (uint j = 0; j < count; j++) raw[j] = load_any(block, dtype, e + j).x;
    vec4 v = vec4(lane(dtype, raw.x));
    if (QUADS != 0) v.yzw = vec3(lane(dtype, raw.y), lane(dtype, raw.z), lane(dtype, raw.w));
    return v;
}
void given(const uint block, const uint dtype, const uint e, const uint count, const vec4 v) {
    uvec4 bits = floatBitsToUint(v), raw = uvec4(0);
    for (uint j = 0; j < WIDE; j++) raw[j] = narrow_of_f32(dtype, bits[j]);
    if (QUADS != 0 && count == 4) store_quad(block, dtype, e, raw);
    else
        for (uint j = 0; j < count; j++) store_any(block, dtype, e + j, uvec2(raw[j], 0));
}

float further(const uint op, const float a, const float b, const float c, const float f0, const float f1,
              const float f2) {
    precise float r = 0;
    switch (op) {
    case OP_copy: return a;
    case OP_where: return a != 0 ? b : c;
#include "tables/map_plain_cases.glsl"
#include "tables/map_function_cases.glsl"
    default: return mapped(op, a, b, c, f0, f1, f2);
    }
    return r;
}
vec4 applied(const uint op, const uvec2 g0, const uvec2 g1, const uvec2 g2, const vec4 a, const vec4 b,
             const vec4 c) {
    vec3 f = uintBitsToFloat(uvec3(g0.x, g1.x, g2.x));
    vec4 r = vec4(further(op, a.x, b.x, c.x, f.x, f.y, f.z));
    if (QUADS != 0) {
        r.y = further(op, a.y, b.y, c.y, f.x, f.y, f.z);
        r.z = further(op, a.z, b.z, c.z, f.x, f.y, f.z);
        r.w = further(op, a.w, b.w, c.w, f.x, f.y, f.z);
    }
    return r;
}

#include "map/chain_end.glsl"
