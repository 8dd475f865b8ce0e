// linear_attention.comp - columns of a head's memory, which decay, are written to and read position by
// position, where they lie in the result: a workgroup takes COLUMNS of them, and PARTS invocations share the
// keys of one. Where something is erased, what that reads of the memory before it decays comes first. f32.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/linear_attention.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "common/any_word.glsl"
#include "math/math_exp.glsl"

const uint PARTS = THREADS / COLUMNS, AT_ONCE = 4; // keys of an invocation on their way together
const uint ERASE_BLOCK = BLOCKS & 7, WRITE_BLOCK = BLOCKS >> 3 & 7;
shared float sums[THREADS];

// Of a column of invocations, which all of them get.
float sum_of_parts(float x, uint id) {
    sums[id] = x;
    barrier();
    x = 0;
    for (uint i = 0; i < PARTS; i++) x += sums[id % COLUMNS + i * COLUMNS];
    barrier();
    return x;
}

void main() {
    uint id = gl_LocalInvocationID.x, blocks = (P_values + COLUMNS - 1) / COLUMNS, part = id / COLUMNS;
    uint head = group_index() / blocks, column = group_index() % blocks * COLUMNS + id % COLUMNS;
    if (head >= P_heads) return;
    bool there = column < P_values;
    if (!there) column = 0;
    uvec4 from = P_at + head * P_head;
    uint to = P_out_at + head * P_out_head + column * P_out_column, memory = to + P_length * P_out_row;
    uint state = from.w + column * P_column.w, decay = P_decay_at + head * P_decay.x + column * P_decay.w;
    if (P_length == 0 && there)
        for (uint k = part; k < P_keys; k += PARTS) b0.d[memory + k * P_out_row] = b5.d[state + k * P_row.w];
    for (uint t = 0; t < P_length; t++) {
        uvec4 row = from + t * P_row;
        uint left = decay + t * P_decay.y;
        float v = uintBitsToFloat(b3.d[row.z + column * P_column.z]), y = 0, same = 0;
        float erased = 0;
        if (P_decay.z == 0) same = my_exp(uintBitsToFloat(b4.d[left]));
        if (ERASES == 1) {
            uint erase = P_erase.x + head * P_erase.y + t * P_erase.z;
            for (uint k = part; k < P_keys; k += PARTS) {
                uint here = memory + k * P_out_row;
                float m = uintBitsToFloat(t == 0 ? b5.d[state + k * P_row.w] : b0.d[here]);
                erased += word_of(ERASE_BLOCK, erase + k * P_erase.w) * m;
            }
            erased = sum_of_parts(erased, id);
        }
        uint write = P_write.x + head * P_write.y + t * P_write.z;
        for (uint first = part; first < P_keys; first += PARTS * AT_ONCE) {
            float m[AT_ONCE], q[AT_ONCE], written[AT_ONCE], kept[AT_ONCE];
            [[unroll]] for (uint i = 0; i < AT_ONCE; i++) {
                uint k = min(first + i * PARTS, P_keys - 1), here = memory + k * P_out_row;
                m[i] = uintBitsToFloat(t == 0 ? b5.d[state + k * P_row.w] : b0.d[here]);
                q[i] = uintBitsToFloat(b1.d[row.x + k * P_column.x]);
                written[i] = uintBitsToFloat(b2.d[row.y + k * P_column.y]);
                kept[i] = P_decay.z == 0 ? same : uintBitsToFloat(b4.d[left + k * P_decay.z]);
            }
            [[unroll]] for (uint i = 0; i < AT_ONCE; i++) {
                uint k = first + i * PARTS;
                if (k >= P_keys) break;
                m[i] *= P_decay.z == 0 ? same : my_exp(kept[i]);
                m[i] += written[i] * v;
                if (ERASES == 1) m[i] += word_of(WRITE_BLOCK, write + k * P_write.w) * erased;
                if (there) b0.d[memory + k * P_out_row] = floatBitsToUint(m[i]);
                y += q[i] * m[i];
            }
        }
        sums[id] = y;
        barrier();
        if (part == 0 && there) {
            for (uint i = 1; i < PARTS; i++) y += sums[id + i * COLUMNS];
            b0.d[to + t * P_out_row] = floatBitsToUint(y);
        }
        barrier();
    }
}
