// map.comp - elementwise ops and copies: up to three operands of any dtype and strides, computed in a lane.
// One pipeline for each op and mix of dtypes; constants fold all other branches away.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint OP = 0;
layout(constant_id = 1) const uint LANE = 0;
layout(constant_id = 2) const uint TO = 12;         // dtype of the result
layout(constant_id = 3) const uint FROM0 = 12;      // dtypes of the operands
layout(constant_id = 4) const uint FROM1 = 12;
layout(constant_id = 5) const uint FROM2 = 12;
layout(constant_id = 6) const uint FLAT = 0;        // bit k: operand k lies element behind element; bit 0: the result
layout(constant_id = 7) const uint IMMEDIATE = 0;   // bit k: operand k - 1 is a number among the parameters
layout(constant_id = 8) const uint COMPUTE = 12;    // dtype that the op computes in
layout(constant_id = 9) const uint EACH = 1;        // elements of an invocation
layout(constant_id = 10) const uint COUNT = 1;      // operands

#include "common.glsl"
#include "number.glsl"
#include "integer.glsl"
#include "math.glsl"
#include "map_ops.glsl"

// param[0] n, dims; [1] f0 f1 f2 as f32, width in bits; [2] f0, f1 as 64-bit integers;
// [3] first elements of the result and the operands; [4 + d] their strides along dim d; [12], [13] shape;
// [14], [15] operands that are numbers, as raw elements
DEFINE_LOAD(load0, b1)
DEFINE_LOAD(load1, b2)
DEFINE_LOAD(load2, b3)
DEFINE_STORE(store, b0)

const bool INTEGER = LANE == LANE_I64 || LANE == LANE_U64;
bool to_bool = false;

float map_f32(float a, float b, float c) {
    float f0 = uintBitsToFloat(param[1].x), f1 = uintBitsToFloat(param[1].y), f2 = uintBitsToFloat(param[1].z);
    precise float r = 0;
    switch (OP) {
    case OP_abs: r = size_of(a); break;
    case OP_neg: r = uintBitsToFloat(floatBitsToUint(a) ^ 0x80000000u); break;
    case OP_sign: r = a > 0 ? 1 : a < 0 ? -1 : 0; break;
    case OP_square: r = a * a; break;
    case OP_floor: r = floor(a); r = with_sign(r, a); break;
    case OP_ceil: r = with_sign(ceil(a), a); break;
    case OP_round: r = with_sign(roundEven(a), a); break;
    case OP_trunc: r = with_sign(trunc(a), a); break;
    case OP_frac: r = is_inf(a) ? NOT_A_NUMBER : a - trunc(a); break;
    case OP_clamp: case OP_hardtanh:
        r = is_nan(f0) || is_nan(f1) ? NOT_A_NUMBER : is_nan(a) ? a : lesser_of(f1, greater_of(f0, a));
        break;
    case OP_nan_to_num: r = is_nan(a) ? f0 : a == INF ? f1 : a == -INF ? f2 : a; break;
    case OP_exp: r = my_exp(a); break;
    case OP_exp2: r = my_exp2(a); break;
    case OP_expm1: r = my_expm1(a); break;
    case OP_log: r = my_log(a); break;
    case OP_log2: r = my_log2(a); break;
    case OP_log10: r = my_log10(a); break;
    case OP_log1p: r = my_log1p(a); break;
    case OP_sqrt: r = is_negative(a) && a != 0 ? NOT_A_NUMBER : sqrt(a); break;
    case OP_rsqrt: r = is_negative(a) && a != 0 ? NOT_A_NUMBER : 1.0 / sqrt(a); break;
    case OP_reciprocal: r = 1.0 / a; break;
    case OP_sin: r = my_sin(a); break;
    case OP_cos: r = my_cos(a); break;
    case OP_tan: r = my_tan(a); break;
    case OP_asin: r = my_asin(a); break;
    case OP_acos: r = my_acos(a); break;
    case OP_atan: r = my_atan(a); break;
    case OP_sinh: r = my_sinh(a); break;
    case OP_cosh: r = my_cosh(a); break;
    case OP_tanh: r = my_tanh(a); break;
    case OP_asinh: r = my_asinh(a); break;
    case OP_acosh: r = my_acosh(a); break;
    case OP_atanh: r = my_atanh(a); break;
    case OP_sigmoid: r = my_sigmoid(a); break;
    case OP_erf: r = my_erf(a); break;
    case OP_erfc: r = my_erfc(a); break;
    case OP_isnan: r = is_nan(a) ? 1 : 0; break;
    case OP_isinf: r = is_inf(a) ? 1 : 0; break;
    case OP_isfinite: r = is_nan(a) || is_inf(a) ? 0 : 1; break;
    case OP_logical_not: r = is_nan(a) || a != 0 ? 0 : 1; break;
    case OP_relu: r = is_nan(a) ? a : greater_of(0, a); break;
    case OP_relu6: r = is_nan(a) ? a : lesser_of(6, greater_of(0, a)); break;
    case OP_leaky_relu: r = a > 0 ? a : a * f0; break;
    case OP_elu: r = my_elu(a, f0, 1); break;
    case OP_selu: r = a > 0 ? a * 1.05070102 : 1.75809932 * my_expm1(a); break;
    case OP_celu: r = my_elu(a, f0, 1.0 / f0); break;
    case OP_gelu: r = my_gelu(a); break;
    case OP_gelu_tanh: r = my_gelu_tanh(a); break;
    case OP_silu: r = my_silu(a); break;
    case OP_mish: r = my_mish(a); break;
    case OP_softplus: r = my_softplus(a, f0, f1); break;
    case OP_softsign: r = a / (1 + size_of(a)); break;
    case OP_hardsigmoid: r = is_nan(a) ? a : lesser_of(6, greater_of(0, a + 3)) / 6; break;
    case OP_hardswish: r = is_nan(a) ? a : a * (lesser_of(6, greater_of(0, a + 3)) / 6); break;
    case OP_logsigmoid: r = my_logsigmoid(a); break;
    case OP_threshold: r = a <= f0 ? f1 : a; break;
    case OP_add: r = f0 == 1 ? a + b : a + f0 * b; break;
    case OP_sub: r = f0 == 1 ? a - b : a - f0 * b; break;
    case OP_mul: r = a * b; break;
    case OP_div: r = a / b; break;
    case OP_floor_divide: r = my_floor_divide(a, b); break;
    case OP_trunc_divide: r = trunc(a / b); break;
    case OP_remainder: r = my_remainder(a, b); break;
    case OP_fmod: r = my_fmod(a, b); break;
    case OP_pow: r = my_pow(a, b); break;
    case OP_maximum: r = is_nan(a) || is_nan(b) ? NOT_A_NUMBER : a > b ? a : b; break;
    case OP_minimum: r = is_nan(a) || is_nan(b) ? NOT_A_NUMBER : a < b ? a : b; break;
    case OP_atan2: r = my_atan2(a, b); break;
    case OP_hypot: r = my_hypot(a, b); break;
    case OP_copysign: r = with_sign(a, b); break;
    case OP_eq: r = !is_nan(a) && !is_nan(b) && a == b ? 1 : 0; break;
    case OP_ne: r = is_nan(a) || is_nan(b) || a != b ? 1 : 0; break;
    case OP_lt: r = !is_nan(a) && !is_nan(b) && a < b ? 1 : 0; break;
    case OP_le: r = !is_nan(a) && !is_nan(b) && a <= b ? 1 : 0; break;
    case OP_gt: r = !is_nan(a) && !is_nan(b) && a > b ? 1 : 0; break;
    case OP_ge: r = !is_nan(a) && !is_nan(b) && a >= b ? 1 : 0; break;
    case OP_logical_and: r = (is_nan(a) || a != 0) && (is_nan(b) || b != 0) ? 1 : 0; break;
    case OP_logical_or: r = is_nan(a) || a != 0 || is_nan(b) || b != 0 ? 1 : 0; break;
    case OP_logical_xor: r = (is_nan(a) || a != 0) != (is_nan(b) || b != 0) ? 1 : 0; break;
    case OP_silu_mul: r = my_silu(a) * b; break;
    case OP_gelu_mul: r = my_gelu_tanh(a) * b; break;
    case OP_lerp: r = size_of(c) < 0.5 ? a + c * (b - a) : b - (b - a) * (1 - c); break;
    case OP_addcmul: r = a + (f0 * b) * c; break;
    case OP_addcdiv: r = a + (f0 * b) / c; break;
    }
    return r;
}

uvec2 truth(bool b) {
    return uvec2(b ? 1 : 0, 0);
}
bool is_less(uvec2 a, uvec2 b) {
    return LANE == LANE_U64 ? below(a, b) : below_signed(a, b);
}
bool is_true(uvec2 a) {
    return (a.x | a.y) != 0;
}
bool opposes(uvec2 rest, uvec2 divisor) {
    return is_true(rest) && (rest.y ^ divisor.y) >> 31 != 0;
}

uvec2 map_integer(uvec2 a, uvec2 b, uvec2 c) {
    uvec2 f0 = param[2].xy, f1 = param[2].zw, zero = uvec2(0), one = uvec2(1, 0), rest;
    uint bits = param[1].w;
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
    case OP_pow: return LANE == LANE_I64 && int(b.y) < 0 ? zero : powered(a, b);
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

// An operand in the lane; an integer wider than the computing dtype counts as a number of that dtype.
uvec2 taken(uint dtype, uvec2 raw) {
    uvec2 v = lane_of(dtype, raw, LANE);
    if (INTEGER && dtype != COMPUTE && COMPUTE != BOOL) v = lane_of(COMPUTE, raw_of(COMPUTE, v, LANE), LANE);
    if (LANE == LANE_F32 && is_float(COMPUTE) && OP == OP_where && dtype != COMPUTE) return v;
    return v;
}

bool gives_bool() {
    switch (OP) {
    case OP_isnan: case OP_isinf: case OP_isfinite: case OP_logical_not: case OP_eq: case OP_ne: case OP_lt:
    case OP_le: case OP_gt: case OP_ge: case OP_logical_and: case OP_logical_or: case OP_logical_xor: return true;
    default: return false;
    }
}

// The result's element from the operands' places.
uvec2 result_at(uvec4 e) {
    uvec2 r0 = (IMMEDIATE & 2) != 0 ? param[14].xy : load0(FROM0, e.y), r1 = uvec2(0), r2 = uvec2(0);
    if (COUNT > 1) r1 = (IMMEDIATE & 4) != 0 ? param[14].zw : load1(FROM1, e.z);
    if (COUNT > 2) r2 = (IMMEDIATE & 8) != 0 ? param[15].xy : load2(FROM2, e.w);
    if (OP == OP_copy) return raw_of(TO, lane_of(FROM0, r0, LANE), LANE);
    if (OP == OP_where) {
        bool first = (r0.x & 0xff) != 0;
        return first ? raw_of(TO, taken(FROM1, r1), LANE) : raw_of(TO, taken(FROM2, r2), LANE);
    }
    uvec2 a = taken(FROM0, r0), b = COUNT > 1 ? taken(FROM1, r1) : uvec2(0), c = COUNT > 2 ? taken(FROM2, r2) : uvec2(0);
    if (INTEGER) return raw_of(TO, map_integer(a, b, c), LANE);
    float r = map_f32(uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x));
    return raw_of(TO, uvec2(floatBitsToUint(r), 0), LANE_F32);
}

uvec4 places(uint i) {
    uvec4 flat_places = param[3] + i;
    if ((FLAT & 15) == 15) return flat_places;
    uvec4 e = param[3];
    uint rest = i;
    for (int d = int(param[0].y) - 1; d > 0; d--) {
        uint size = d < 4 ? param[12][d] : param[13][d - 4], at = rest % size;
        rest /= size;
        e += at * param[4 + d];
    }
    e += rest * param[4];
    return e;
}

void main() {
    uint n = param[0].x, first = (group_index() * 256 + gl_LocalInvocationID.x) * EACH, width = width_of(TO);
    uint end = min(first + EACH, n), word = 0;
    bool whole = (FLAT & 1) != 0 && first + EACH <= n; /* the words of these elements are ours alone */
    for (uint i = first; i < end; i++) {
        uvec4 e = places(i);
        uint to = (FLAT & 1) != 0 ? param[3].x + i : e.x, part = i - first;
        uvec2 raw = result_at(e);
        if (width >= 2 || !whole) {
            store(TO, to, raw);
        } else {
            uint shift = width == 0 ? 8 * (part & 3) : 16 * (part & 1);
            word |= (width == 0 ? raw.x & 0xff : raw.x & 0xffff) << shift;
            if (shift == (width == 0 ? 24 : 16)) {
                b0.d[to >> (2 - width)] = word;
                word = 0;
            }
        }
    }
}
