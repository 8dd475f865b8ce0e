// route.comp - the experts of rows, a workgroup each: rows/route.glsl. Block 0 has all results in f32, block
// 1 the numbers, block 4 what is added to scores before they are compared, blocks 2 and 3 the indices as i64
// and i32.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/route.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math_exp.glsl"

#define ROUTER_SCORES SCORES
#define ROUTER_BIASED BIASED
#define ROUTER_PICKED PICKED
#define ROUTER_LATE LATE
#define ROUTER_GIVEN GIVEN
#define ROUTER_ROOM ROUTE_EXPERTS
#define ROUTER_AT(result) param[ROW_at + (result) / 4][(result) % 4]
#define ROUTER_INDICES P_indices
#define ROUTER_IDS P_ids
#define ROUTER_BIAS P_bias
#define ROUTER_LEAST uintBitsToFloat(P_least)
#define ROUTER_SCALE uintBitsToFloat(P_scale)
#define ROUTER_WRITES true
#define ROUTER_BLOCKS (2 << 3 | 3 << 6 | 4 << 9)
#include "rows/route.glsl"

void main() {
    uint row = group_index(), experts = P_experts;
    if (row >= P_rows) return;
    for (uint i = gl_LocalInvocationID.x; i < in_fours(experts); i += THREADS)
        put_score(i, i < experts ? uintBitsToFloat(b1.d[P_numbers + row * experts + i]) : -INF);
    route_row(row, experts, P_used);
}
