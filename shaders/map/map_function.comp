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
    case OP_exp: r = my_exp(a); break;
    case OP_exp2: r = my_exp2(a); break;
    case OP_expm1: r = my_expm1(a); break;
    case OP_sinh: r = my_sinh(a); break;
    case OP_cosh: r = my_cosh(a); break;
    case OP_tanh: r = my_tanh(a); break;
    case OP_sigmoid: r = my_sigmoid(a); break;
    case OP_erf: r = my_erf(a); break;
    case OP_erfc: r = my_erfc(a); break;
    case OP_elu: r = my_elu(a, f0, 1); break;
    case OP_selu: r = a > 0 ? a * 1.05070102 : 1.75809932 * my_expm1(a); break;
    case OP_celu: r = my_elu(a, f0, 1.0 / f0); break;
    case OP_gelu: r = my_gelu(a); break;
    case OP_gelu_tanh: r = my_gelu_tanh(a); break;
    case OP_silu: r = my_silu(a); break;
    case OP_mish: r = my_mish(a); break;
    case OP_silu_mul: r = my_silu_times(a, b); break;
    case OP_gelu_mul: r = my_gelu_tanh_times(a, b); break;
    case OP_log: r = my_log(a); break;
    case OP_log2: r = my_log2(a); break;
    case OP_log10: r = my_log10(a); break;
    case OP_log1p: r = my_log1p(a); break;
    case OP_asinh: r = my_asinh(a); break;
    case OP_acosh: r = my_acosh(a); break;
    case OP_atanh: r = my_atanh(a); break;
    case OP_softplus: r = my_softplus(a, f0, f1); break;
    case OP_logsigmoid: r = my_logsigmoid(a); break;
    case OP_pow: r = my_pow(a, b); break;
    case OP_hypot: r = my_hypot(a, b); break;
    case OP_sin: r = my_sin(a); break;
    case OP_cos: r = my_cos(a); break;
    case OP_tan: r = my_tan(a); break;
    case OP_asin: r = my_asin(a); break;
    case OP_acos: r = my_acos(a); break;
    case OP_atan: r = my_atan(a); break;
    case OP_atan2: r = my_atan2(a, b); break;
    }
    return r;
}
uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    vec2 f = uintBitsToFloat(P_f.xy);
    return uvec2(floatBitsToUint(map_f32(uintBitsToFloat(a.x), uintBitsToFloat(b.x), f.x, f.y)), 0);
}

#include "map/map_end.glsl"
