// steps.comp - a product of two tensors and what is done to it in place, element behind element in f32:
// STEPS_ADDCMUL adds another product, STEPS_ADD and STEPS_MUL take one more tensor, STEPS_SILU none. A step
// is four bits of CODES; its tensors lie in the blocks of BLOCKS and MORE_BLOCKS, three bits each, at P_at.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/steps.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math_exp.glsl"

float taken(const uint which, const uint i) {
    uint block = which < 10 ? BLOCKS >> (3 * which) & 7 : MORE_BLOCKS >> (3 * (which - 10)) & 7;
    uint e = param[ROW_at + which / 4][which % 4] + i;
    switch (block) {
    case 0: return uintBitsToFloat(b0.d[e]);
    case 1: return uintBitsToFloat(b1.d[e]);
    case 2: return uintBitsToFloat(b2.d[e]);
    case 3: return uintBitsToFloat(b3.d[e]);
    case 4: return uintBitsToFloat(b4.d[e]);
    default: return uintBitsToFloat(b5.d[e]);
    }
}

void main() {
    uint i = group_index() * THREADS + gl_LocalInvocationID.x;
    if (i >= P_n) return;
    float a[STEPS_MOST], b[STEPS_MOST];
    [[unroll]] for (uint k = 0; k < STEPS_MOST; k++) { /* all on their way before the first is needed */
        uint code = CODES >> (4 * k) & 15;
        if (k < COUNT && code != STEPS_SILU) a[k] = taken(2 * k, i);
        if (k < COUNT && (k == 0 || code == STEPS_ADDCMUL)) b[k] = taken(2 * k + 1, i);
    }
    precise float s = a[0] * b[0];
    [[unroll]] for (uint k = 1; k < STEPS_MOST; k++) {
        if (k >= COUNT) continue;
        switch (CODES >> (4 * k) & 15) {
        case STEPS_ADDCMUL: s = fma(a[k], b[k], s); break;
        case STEPS_ADD: s = s + a[k]; break;
        case STEPS_MUL: s = s * a[k]; break;
        case STEPS_SILU: s = my_silu(s); break;
        }
    }
    b0.d[P_to + i] = floatBitsToUint(s);
}
