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

uvec2 map_integer(const uvec2 a, const uvec2 b, const uvec2 c) {
    uvec2 f0 = P_whole0, f1 = P_whole1, zero = uvec2(0), one = uvec2(1, 0), rest;
    uint bits = P_bits;
    bool negative = LANE == LANE_I64 && int(a.y) < 0;
    switch (OP) {
    case OP_abs: return negative ? negated(a) : a;
    case OP_neg: return negated(a);
    case OP_sign: return negative ? uvec2(~0u) : truth(is_true(a));
    case OP_square: return times(a, a);
    case OP_clamp: case OP_hardtanh:
        return is_less(f0, a) ? (is_less(a, f1) ? a : f1) : (is_less(f0, f1) ? f0 : f1);
    case OP_bitwise_not: return COMPUTE == BOOL ? truth(!is_true(a)) : ~a;
    case OP_isnan: case OP_isinf: return zero;
    case OP_isfinite: return one;
    case OP_logical_not: return truth(!is_true(a));
    case OP_relu: return negative ? zero : a;
    case OP_relu6: return negative ? zero : is_less(uvec2(6, 0), a) ? uvec2(6, 0) : a;
    case OP_threshold: return is_less(f0, a) ? a : f1;
    case OP_add: return plus(a, times(f0, b));
    case OP_sub: return minus(a, times(f0, b));
    case OP_mul: return times(a, b);
    case OP_floor_divide:
    case OP_trunc_divide:
    case OP_remainder:
    case OP_fmod: {
        uvec2 quotient;
        if (LANE == LANE_I64) quotient = divided_signed(a, b, rest);
        else if (is_true(b)) quotient = divided(a, b, rest);
        else quotient = rest = zero;
        bool moves = LANE == LANE_I64 && opposes(rest, b);
        if (OP == OP_floor_divide) return moves ? plus(quotient, uvec2(~0u)) : quotient;
        if (OP == OP_remainder) return moves ? plus(rest, b) : rest;
        return OP == OP_fmod ? rest : quotient;
    }
    case OP_pow: return LANE == LANE_I64 && int(b.y) < 0 ? powered_below(a, b) : powered(a, b);
    case OP_maximum: return is_less(b, a) ? a : b;
    case OP_minimum: return is_less(a, b) ? a : b;
    case OP_eq: return truth(a == b);
    case OP_ne: return truth(a != b);
    case OP_lt: return truth(is_less(a, b));
    case OP_le: return truth(!is_less(b, a));
    case OP_gt: return truth(is_less(b, a));
    case OP_ge: return truth(!is_less(a, b));
    case OP_logical_and: return truth(is_true(a) && is_true(b));
    case OP_logical_or: return truth(is_true(a) || is_true(b));
    case OP_logical_xor: return truth(is_true(a) != is_true(b));
    case OP_bitwise_and: return a & b;
    case OP_bitwise_or: return a | b;
    case OP_bitwise_xor: return a ^ b;
    case OP_bitwise_left_shift: return b.y == 0 && b.x < bits ? shifted_left(a, b.x) : zero;
    case OP_bitwise_right_shift: {
        uvec2 fill = negative ? uvec2(~0u) : zero;
        if (b.y != 0 || b.x >= bits) return fill;
        uvec2 moved = shifted_right(a, b.x);
        if (!negative || b.x == 0) return moved;
        return moved | shifted_left(uvec2(~0u), 64 - b.x);
    }
    case OP_addcmul: return plus(a, times(times(f0, b), c));
    default: return a; /* floor, ceil, round, trunc, nan_to_num */
    }
}


uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    return map_integer(a, b, c);
}

#include "map/map_end.glsl"
