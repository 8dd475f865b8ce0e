// product_double.comp - product_simple.glsl in f64.
#version 450
#extension GL_GOOGLE_include_directive : require
#define NUMBER double
#define NUMBER_OF_BITS(bits) packDouble2x32(bits)
#include "product/product_simple.glsl"

double taken(const uint dtype, const uvec2 raw) {
    return packDouble2x32(raw);
}
double with_product(const double a, const double b, const double sum) {
    return fma(a, b, sum);
}
double sum_of(const double a, const double b) {
    return a + b;
}
uvec2 raw_of_finished(const double number) {
    return unpackDouble2x32(ACTIVATION == ACT_RELU && number < 0 ? 0.0lf : number);
}
