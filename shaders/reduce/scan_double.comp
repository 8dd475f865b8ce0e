// scan_double.comp - running sums and products in f64.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ONE_DTYPE
#include "reduce/scan.glsl"

uvec2 none() {
    return unpackDouble2x32(PRODUCT == 0 ? 0.0lf : 1.0lf);
}
uvec2 joined(const uvec2 a, const uvec2 b) {
    double x = packDouble2x32(a), y = packDouble2x32(b);
    return unpackDouble2x32(PRODUCT == 1 ? x * y : x + y);
}
uvec2 settled(const uvec2 s) {
    return s;
}
