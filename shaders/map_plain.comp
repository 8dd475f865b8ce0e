// map_plain.comp - arithmetic in f32: what is an instruction or a few of them.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 3
#include "map_begin.glsl"
#include "math.glsl"

float map_f32(const float a, const float b, const float c) {
    float f0 = uintBitsToFloat(param[1].x), f1 = uintBitsToFloat(param[1].y),
          f2 = uintBitsToFloat(param[1].z);
    precise float r = 0;
    switch (OP) {
    case OP_abs: r = size_of(a); break;
    case OP_neg: r = uintBitsToFloat(floatBitsToUint(a) ^ 0x80000000u); break;
    case OP_sign: r = is_nan(a) || !is_something(a) ? 0 : with_sign(1, a); break;
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
    case OP_sqrt: r = is_negative(a) && a != 0 ? NOT_A_NUMBER : sqrt(a); break;
    case OP_rsqrt: r = is_negative(a) && a != 0 ? NOT_A_NUMBER : 1.0 / sqrt(a); break;
    case OP_reciprocal: r = 1.0 / a; break;
    case OP_isnan: r = is_nan(a) ? 1 : 0; break;
    case OP_isinf: r = is_inf(a) ? 1 : 0; break;
    case OP_isfinite: r = is_nan(a) || is_inf(a) ? 0 : 1; break;
    case OP_logical_not: r = is_something(a) ? 0 : 1; break;
    case OP_relu: r = is_nan(a) ? a : greater_of(0, a); break;
    case OP_relu6: r = is_nan(a) ? a : lesser_of(6, greater_of(0, a)); break;
    case OP_leaky_relu: r = a > 0 ? a : a * f0; break;
    case OP_softsign: r = a / (1 + size_of(a)); break;
    case OP_hardsigmoid: r = is_nan(a) ? a : lesser_of(6, greater_of(0, a + 3)) / 6; break;
    case OP_hardswish: r = is_nan(a) ? a : a * (lesser_of(6, greater_of(0, a + 3)) / 6); break;
    case OP_threshold: r = a <= f0 ? f1 : a; break;
    case OP_add: r = f0 == 1 ? a + b : a + f0 * b; break;
    case OP_sub: r = f0 == 1 ? a - b : a - f0 * b; break;
    case OP_mul: r = a * b; break;
    case OP_div: r = a / b; break;
    case OP_trunc_divide: r = trunc(a / b); break;
    case OP_maximum: r = is_nan(a) || is_nan(b) ? NOT_A_NUMBER : a > b ? a : b; break;
    case OP_minimum: r = is_nan(a) || is_nan(b) ? NOT_A_NUMBER : a < b ? a : b; break;
    case OP_copysign: r = with_sign(a, b); break;
    case OP_eq: r = !is_nan(a) && !is_nan(b) && a == b ? 1 : 0; break;
    case OP_ne: r = is_nan(a) || is_nan(b) || a != b ? 1 : 0; break;
    case OP_lt: r = !is_nan(a) && !is_nan(b) && a < b ? 1 : 0; break;
    case OP_le: r = !is_nan(a) && !is_nan(b) && a <= b ? 1 : 0; break;
    case OP_gt: r = !is_nan(a) && !is_nan(b) && a > b ? 1 : 0; break;
    case OP_ge: r = !is_nan(a) && !is_nan(b) && a >= b ? 1 : 0; break;
    case OP_logical_and: r = is_something(a) && is_something(b) ? 1 : 0; break;
    case OP_logical_or: r = is_something(a) || is_something(b) ? 1 : 0; break;
    case OP_logical_xor: r = is_something(a) != is_something(b) ? 1 : 0; break;
    case OP_lerp: r = size_of(c) < 0.5 ? a + c * (b - a) : b - (b - a) * (1 - c); break;
    case OP_addcmul: r = a + (f0 * b) * c; break;
    case OP_addcdiv: r = a + (f0 * b) / c; break;

    }
    return r;
}
uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    return uvec2(floatBitsToUint(map_f32(uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x))),
                 0);
}

#include "map_end.glsl"
