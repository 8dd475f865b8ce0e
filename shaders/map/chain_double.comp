// chain_double.comp - elementwise ops one behind the other in f64. Conditions are 0 and 1.
#version 450
#extension GL_GOOGLE_include_directive : require
#define REAL double
#define VALUE double
#define WIDE_DTYPES
#include "tables/chain.glsl"
#include "common/common.glsl"
#include "common/number.glsl"
#include "tables/map_ops.glsl"
#include "common/integer.glsl"
#include "math/math.glsl"
#include "math/math_double.glsl"
#include "math/math_double_log.glsl"
#include "math/math_double_angle.glsl"
#include "map/map_double.glsl"
#include "map/chain.glsl"

const uint WIDE = 1;

double number(const uvec2 bits) {
    return double_of(bits);
}
double taken(const uint block, const uint dtype, const bool still, const uint e, const uint count) {
    return double_of(lane_of(dtype, load_any(block, dtype, e), LANE_F64));
}
void given(const uint block, const uint dtype, const uint e, const uint count, const double v) {
    store_any(block, dtype, e, raw_of(dtype, bits_of(v), LANE_F64));
}
double applied(const uint op, const uvec2 g0, const uvec2 g1, const uvec2 g2, const double a, const double b,
               const double c) {
    switch (op) {
    case OP_copy: return a;
    case OP_where: return a != 0 ? b : c;
    default: return mapped_further(op, a, b, c, double_of(g0), double_of(g1), double_of(g2));
    }
}

#include "map/chain_end.glsl"
