// map_begin.glsl - the head of an elementwise shader: up to three operands of any dtype and strides,
// computed in a lane. One pipeline for each op and mix of dtypes; constants fold all other branches away. A
// shader defines OPERANDS, includes this, defines compute(a, b, c) on lanes, includes map_end.glsl.
#include "tables/map.glsl"

#include "common/common.glsl"
#include "common/quads.glsl"
#include "common/number.glsl"
#include "tables/map_ops.glsl"

DEFINE_LOAD(load0, b1)
DEFINE_LOAD_QUAD(load_quad0, b1, p1, q1)
#if OPERANDS > 1
DEFINE_LOAD(load1, b2)
DEFINE_LOAD_QUAD(load_quad1, b2, p2, q2)
#endif
#if OPERANDS > 2
DEFINE_LOAD(load2, b3)
DEFINE_LOAD_QUAD(load_quad2, b3, p3, q3)
#endif
DEFINE_STORE(store, b0)
DEFINE_STORE_QUAD(store_quad, b0, p0, q0)

const bool INTEGER = LANE == LANE_I64 || LANE == LANE_U64;
