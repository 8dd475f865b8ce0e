// pool_double.comp - pooling of f64.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ONLY_F64
#include "tables/pool.glsl"
#include "common/common.glsl"
#include "common/number.glsl"
#include "common/integer.glsl"
#include "math/math.glsl"
#include "math/math_double.glsl"

#define NUMBER double
#define ZERO double(0)

double number_of(const uint dtype, const uvec2 raw) {
    return double_of(raw);
}
uvec2 raw_number(const uint dtype, const double v) {
    return bits_of(v);
}
bool is_no_number(const double v) {
    return is_nan(v);
}
bool is_above(const double a, const double b) {
    return a > b;
}
double plus(const double a, const double b) {
    precise double sum = a + b;
    return sum;
}
double share(const double v, const int count) {
    return quotient(v, double(count));
}

#include "map/pool.glsl"
