// product_integer.comp - product_simple.glsl of integers: in 32 bits, which is all of a result that is not
// wider, or in 64. Numbers wrap.
#version 450
#extension GL_GOOGLE_include_directive : require
#define NUMBER uvec2
#define NUMBER_OF_BITS(bits) bits
#include "product/product_simple.glsl"
#include "common/integer.glsl"

uvec2 taken(const uint dtype, const uvec2 raw) {
    return i64_of(dtype, raw);
}
uvec2 with_product(const uvec2 a, const uvec2 b, const uvec2 sum) {
    return width_of(DTYPE_C) == 3 ? plus(times(a, b), sum) : uvec2(a.x * b.x + sum.x, 0);
}
uvec2 sum_of(const uvec2 a, const uvec2 b) {
    return plus(a, b);
}
uvec2 raw_of_finished(const uvec2 number) {
    return number;
}
