// pack.glsl - what the ways of packing floats into block types share: f32 [blocks, elements], one behind
// the other, become blocks, to the bytes that cpu/product/quantize.c gives: every product and sum is
// rounded by itself, in its order.
#extension GL_GOOGLE_include_directive : require
#include "tables/pack.glsl"
#include "tables/block_dtype.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math.glsl"

const uint HALF_NAN = 0x7e00;

DEFINE_STORE(store, b0)

float number_at(const uint e) {
    return uintBitsToFloat(b1.d[e]);
}
bool is_finite(const float x) {
    return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u;
}
uint half_of(const float x) {
    return f16_of_f32(floatBitsToUint(x));
}
// Bytes at an even place; what shares a word with another block goes there for itself.
void put_half(const uint b, const uint half_word) {
    store(U16, b / 2, uvec2(half_word, 0));
}
void put_word(const uint b, const uint word) {
    if ((b & 2) == 0) {
        b0.d[b / 4] = word;
        return;
    }
    put_half(b, word);
    put_half(b + 2, word >> 16);
}
// The nearest whole number of 0 to most; NaN gives 0.
float nearest_code(const float x, const float most) {
    precise float v = x > 0 ? x : 0;
    v = v < most ? v : most;
    v = v + 0.5;
    return float(int(v));
}
