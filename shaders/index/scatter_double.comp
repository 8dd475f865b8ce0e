// scatter_double.comp - scatter.glsl with sums in f64.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ONE_DTYPE
#include "index/scatter.glsl"

uvec2 sum_of(const uvec2 a, const uvec2 b) {
    precise double sum = packDouble2x32(a) + packDouble2x32(P_alpha) * packDouble2x32(b);
    return unpackDouble2x32(sum);
}
