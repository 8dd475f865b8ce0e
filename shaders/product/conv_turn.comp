// conv_turn.comp - the gradient of a convolution's weight that matrices left in parts, in f32, channels side by
// side: [parts, rows, taps, line]. Parts are added up in their order, and of each channel the taps come side by
// side: [rows, channels, taps]. A workgroup takes P_each channels of a row, of TAPS taps at most.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_16bit_storage : require
#include "tables/conv_turn.glsl"
#include "common/common.glsl"
#include "common/number.glsl"
#include "common/wide.glsl"
#include "tables/memory_halves.glsl"

DEFINE_STORE(store, b0)

shared vec4 sums[NUMBERS / 4 + 2 * TAPS]; // a line of channels for each tap

void main() {
    uint lane = gl_LocalInvocationID.x, across = (P_line + P_each - 1) / P_each;
    uint row = group_index() / across, channel0 = group_index() % across * P_each;
    uint tap0 = gl_WorkGroupID.z * TAPS;
    if (row >= P_rows) return;
    uint taps = min(TAPS, P_taps - tap0), fours = min(P_each, P_line - channel0) / 4;
    uint channels = min(P_each, P_channels - channel0);
    for (uint u = lane; u < taps * fours; u += THREADS) {
        uint x = u % fours, tap = u / fours;
        uint e = (P_at1 + (row * P_taps + tap0 + tap) * P_line + channel0) / 4 + x;
        vec4 sum = uintBitsToFloat(w1.d[e]);
        for (uint part = 1; part < P_parts; part++) sum += uintBitsToFloat(w1.d[e + part * (P_part / 4)]);
        sums[tap * (fours + 1) + x] = sum;
    }
    barrier();
    for (uint u = lane; u < taps * channels; u += THREADS) {
        uint tap = u % taps, channel = u / taps;
        uint e = P_at0 + (row * P_channels + channel0 + channel) * P_taps + tap0 + tap;
        uint bits = narrow_of_f32(TO, floatBitsToUint(sums[tap * (fours + 1) + channel / 4][channel % 4]));
        if (width_of(TO) == 1) h0.d[e] = uint16_t(bits);
        else store(TO, e, uvec2(bits, 0));
    }
}
