// pool.comp - pooling of f32 and what is computed in it, and of integers, whose largest is found.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ONLY_F32
#include "tables/pool.glsl"
#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math.glsl"

// f32 bits, or an integer.
#define NUMBER uvec2
#define ZERO uvec2(0)

uvec2 number_of(const uint dtype, const uvec2 raw) {
    return is_float(dtype) ? uvec2(f32_of(dtype, raw.x), 0) : i64_of(dtype, raw);
}
uvec2 raw_number(const uint dtype, const uvec2 v) {
    return is_float(dtype) ? uvec2(narrow_of_f32(dtype, v.x), 0) : v;
}
bool is_no_number(const uvec2 v) {
    return is_float(DTYPE) && is_nan(uintBitsToFloat(v.x));
}
bool is_above(const uvec2 a, const uvec2 b) {
    if (is_float(DTYPE)) return rank_of(uintBitsToFloat(a.x)) > rank_of(uintBitsToFloat(b.x));
    uint flip = DTYPE == U64 ? 0 : 0x80000000u;
    return a.y == b.y ? a.x > b.x : (a.y ^ flip) > (b.y ^ flip);
}
uvec2 plus(const uvec2 a, const uvec2 b) {
    precise float sum = uintBitsToFloat(a.x) + uintBitsToFloat(b.x);
    return uvec2(floatBitsToUint(sum), 0);
}
uvec2 share(const uvec2 v, const int count) {
    return uvec2(floatBitsToUint(quotient(uintBitsToFloat(v.x), float(count))), 0);
}

#include "map/pool.glsl"
