// map_begin.glsl - the head of an elementwise shader: up to three operands of any dtype and strides,
// computed in a lane. One pipeline for each op and mix of dtypes; constants fold all other branches away. A
// shader defines OPERANDS, includes this, defines compute(a, b, c) on lanes, includes map_end.glsl.
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint OP = 0;
layout(constant_id = 1) const uint LANE = 0;
layout(constant_id = 2) const uint TO = 12;         // dtype of the result
layout(constant_id = 3) const uint FROM0 = 12;      // dtypes of the operands
layout(constant_id = 4) const uint FROM1 = 12;
layout(constant_id = 5) const uint FROM2 = 12;
layout(constant_id = 6) const uint PACKED = 0;      // 1: the result's elements, in order, fill words
layout(constant_id = 7) const uint IMMEDIATE = 0;   // bit k: operand k - 1 is a number among the parameters
layout(constant_id = 8) const uint COMPUTE = 12;    // dtype that the op computes in
layout(constant_id = 9) const uint EACH = 1;        // elements of an invocation
layout(constant_id = 10) const uint COUNT = 1;      // operands
layout(constant_id = 11) const uint QUADS = 0; // > 0: so many times four neighbours an invocation; bits 8
                                               // .. 11: operand k stands still along them (bit 8 + k); bit
                                               // 16: all operands lie element behind element

#include "common.glsl"
#include "quads.glsl"
#include "number.glsl"
#include "map_ops.glsl"

// param[0] n, dims; [1] f0 f1 f2 as f32, width in bits; [2] f0, f1 as 64-bit integers or f64;
// [3] first elements of the result and the operands; [4 + d] their strides along dim d; [12], [13] shape;
// [14], [15] operands that are numbers, as raw elements; [15].zw f2 as f64
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
