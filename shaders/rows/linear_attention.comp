// linear_attention.comp - a column of a head's memory an invocation: it decays, is written to and read position
// by position, where it lies in the result. f32; nothing is erased.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/linear_attention.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math_exp.glsl"

void main() {
    uint i = group_index() * THREADS + gl_LocalInvocationID.x;
    if (i >= P_heads * P_values) return;
    uint head = i / P_values, column = i % P_values;
    uvec4 from = P_at + head * P_head;
    uint to = P_out_at + head * P_out_head + column * P_out_column, memory = to + P_length * P_out_row;
    uint state = from.w + column * P_column.w, decay = P_decay_at + head * P_decay.x + column * P_decay.w;
    if (P_length == 0)
        for (uint k = 0; k < P_keys; k++) b0.d[memory + k * P_out_row] = b5.d[state + k * P_row.w];
    for (uint t = 0; t < P_length; t++) {
        uvec4 row = from + t * P_row;
        float v = uintBitsToFloat(b3.d[row.z + column * P_column.z]), y = 0;
        for (uint k = 0; k < P_keys; k++) {
            uint there = memory + k * P_out_row;
            float m = uintBitsToFloat(t == 0 ? b5.d[state + k * P_row.w] : b0.d[there]);
            m *= my_exp(uintBitsToFloat(b4.d[decay + t * P_decay.y + k * P_decay.z]));
            m += uintBitsToFloat(b2.d[row.y + k * P_column.y]) * v;
            b0.d[there] = floatBitsToUint(m);
            y += uintBitsToFloat(b1.d[row.x + k * P_column.x]) * m;
        }
        b0.d[to + t * P_out_row] = floatBitsToUint(y);
    }
}
