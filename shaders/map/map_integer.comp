// map_integer.comp - integers and bools of every width in 64 bits.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 3
#define ONLY_INTEGERS
#include "map/map_begin.glsl"
#include "common/integer.glsl"

uvec2 truth(const bool b) {
    return uvec2(b ? 1 : 0, 0);
}
bool is_less(const uvec2 a, const uvec2 b) {
    return LANE == LANE_U64 ? below(a, b) : below_signed(a, b);
}
bool is_true(const uvec2 a) {
    return (a.x | a.y) != 0;
}
bool opposes(const uvec2 rest, const uvec2 divisor) {
    return is_true(rest) && (rest.y ^ divisor.y) >> 31 != 0;
}

// Toward zero, by zero 0; floor_divide and remainder move on where the remainder opposes the divisor.
uvec2 quotient_of(const uvec2 a, const uvec2 b, out uvec2 rest) {
    if (LANE == LANE_I64) return divided_signed(a, b, rest);
    if (is_true(b)) return divided(a, b, rest);
    rest = uvec2(0);
    return rest;
}
uvec2 rest_of(const uvec2 a, const uvec2 b) {
    uvec2 rest;
    quotient_of(a, b, rest);
    return rest;
}
uvec2 floor_divide_of(const uvec2 a, const uvec2 b) {
    uvec2 rest, quotient = quotient_of(a, b, rest);
    return LANE == LANE_I64 && opposes(rest, b) ? plus(quotient, uvec2(~0u)) : quotient;
}
uvec2 remainder_of(const uvec2 a, const uvec2 b) {
    uvec2 rest = rest_of(a, b);
    return LANE == LANE_I64 && opposes(rest, b) ? plus(rest, b) : rest;
}
// By any count; the sign fills.
uvec2 shifted_right_by(const uvec2 a, const uvec2 count, const uint bits, const bool negative) {
    uvec2 fill = negative ? uvec2(~0u) : uvec2(0);
    if (count.y != 0 || count.x >= bits) return fill;
    uvec2 moved = shifted_right(a, count.x);
    if (!negative || count.x == 0) return moved;
    return moved | shifted_left(uvec2(~0u), 64 - count.x);
}

uvec2 map_integer(const uvec2 a, const uvec2 b, const uvec2 c) {
    uvec2 f0 = P_whole0, f1 = P_whole1, zero = uvec2(0), one = uvec2(1, 0), rest;
    uint bits = P_bits;
    bool negative = LANE == LANE_I64 && int(a.y) < 0;
    switch (OP) {
#include "tables/map_integer_cases.glsl"
    default: return a;
    }
}
uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    return map_integer(a, b, c);
}

#include "map/map_end.glsl"
