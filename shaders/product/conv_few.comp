// conv_few.comp - convolutions with so few rows that each column of c is an invocation's: a channel or a few
// of a group.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ONLY_F32
#include "tables/conv_f32.glsl"
#include "product/conv.glsl"

const uint ROWS = 4;

float number(const uint dtype, const uvec2 raw) {
    return uintBitsToFloat(f32_of(dtype, raw.x));
}

void main() {
    uint column = gl_WorkGroupID.x * THREADS + gl_LocalInvocationID.x, group = group_of(), rows = P_m, place;
    if (column >= P_n) return;
    uint at_a = P_at.y + group * P_group.y, at_b = P_at.z + group * P_group.z;
    uvec3 taps = P_k_size.xyz;
    ivec4 spot = spot_of_n(column);
    vec4 sum = vec4(0);
    for (uint outer = 0; outer < P_k / (taps.x * taps.y * taps.z); outer++)
        for (uint z = 0; z < taps.x; z++)
            for (uint y = 0; y < taps.y; y++)
                for (uint x = 0; x < taps.z; x++) {
                    uvec3 tap = uvec3(z, y, x);
                    ivec4 there = spot + ivec4(int(outer * P_outer.w), ivec3(tap * P_k_step.xyz));
                    if (!is_inside(there, place)) continue;
                    float b = number(DTYPE_B, load_b(DTYPE_B, at_b + place));
                    uint from = at_a + outer * P_outer.y + along(uvec4(tap, 0), P_a_k);
                    for (uint i = 0; i < ROWS; i++)
                        if (i < rows)
                            sum[i] = fma(number(DTYPE_A, load_a(DTYPE_A, from + i * P_row.y)), b, sum[i]);
                }
    uint to = P_at.x + group * P_group.x + place_of_c(column);
    for (uint i = 0; i < ROWS; i++)
        if (i < rows)
            store_c(DTYPE_C, to + i * P_row.x,
                    uvec2(narrow_of_f32(DTYPE_C, floatBitsToUint(biased(sum[i], i))), 0));
}
