// steps.comp - a product of two tensors and what is done to it in place, element behind element in f32:
// map/steps.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/steps.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math_exp.glsl"

#define STEPS_AT ROW_at
#define STEPS_COUNT COUNT
#define STEPS_CODES CODES
#define STEPS_BLOCKS BLOCKS
#define STEPS_MORE_BLOCKS MORE_BLOCKS
#define STEPS_KEPT KEPT
#define STEPS_ROW P_n
#define STEPS_OWN 0
#include "map/steps.glsl"

void main() {
    uint i = group_index() * THREADS + gl_LocalInvocationID.x;
    if (i < P_n) b0.d[P_to + i] = floatBitsToUint(steps_of(i, true));
}
