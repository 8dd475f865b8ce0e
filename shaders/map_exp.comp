// map_exp.comp - functions in f32 that go through e^x.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 2
#define ONLY_F32
#include "map_begin.glsl"
#include "math_exp.glsl"

float map_f32(const float a, const float b, const float c) {
    float f0 = uintBitsToFloat(param[1].x), f1 = uintBitsToFloat(param[1].y),
          f2 = uintBitsToFloat(param[1].z);
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
    case OP_silu_mul: r = my_silu(a) * b; break;
    case OP_gelu_mul: r = my_gelu_tanh(a) * b; break;
    }
    return r;
}
uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    return uvec2(floatBitsToUint(map_f32(uintBitsToFloat(a.x), uintBitsToFloat(b.x), uintBitsToFloat(c.x))),
                 0);
}

#include "map_end.glsl"
