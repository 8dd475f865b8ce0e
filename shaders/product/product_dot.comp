// product_dot.comp - products with few rows of a and columns of a block type, by integer dot products: each
// workgroup rounds its rows of a to 8 bits, with a scale for every 16, and keeps them in shared memory.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_integer_dot_product : require
#include "product/product_few.glsl"

shared uvec4 quants[ROWS * INNER / 16];     // sixteen numbers of a
shared vec2 sizes[ROWS * INNER / 16];       // of those: the scale, the sum times the scale
shared float factors[ROWS];

// Rounds sixteen numbers a time of the row at place `from`, times size; the sum of their squares before the
// norm's weights. What rms_norm multiplies all of a row by changes no rounding: it comes at the end.
float take_sixteens(const uint row, const uint from, const float size) {
    float sum = 0;
    for (uint unit = gl_LocalInvocationID.x; 16 * unit < INNER; unit += gl_WorkGroupSize.x) {
        uint place = row * (INNER / 16) + unit;
        vec4 x[4];
        uvec4 most = uvec4(0), packed;
        ivec4 whole = ivec4(0);
        [[unroll]] for (uint i = 0; i < 4; i++) x[i] = size * wide_a(F32, from + 16 * unit + 4 * i);
        [[unroll]] for (uint i = 0; i < 4; i++) {
            sum += dot(x[i], x[i]);
            if (NORM != 0) x[i] *= norm_weight(16 * unit + 4 * i);
            most = max(most, floatBitsToUint(x[i]) & 0x7fffffffu); /* as bits NaN is above all */
        }
        float one = uintBitsToFloat(max(max(most.x, most.y), max(most.z, most.w))) / 127;
        float inverse = one > 0 ? 1 / one : 0;
        [[unroll]] for (uint i = 0; i < 4; i++) {
            ivec4 q = ivec4(roundEven(x[i] * inverse));
            uvec4 b = uvec4(q) & 0xff;
            packed[i] = b.x | b.y << 8 | b.z << 16 | b.w << 24;
            whole += q;
        }
        quants[place] = packed;
        sizes[place] = vec2(one, one * float(whole.x + whole.y + (whole.z + whole.w)));
    }
    return sum;
}
void take_quants(const uint at) {
    for (uint row = 0; row < ROWS; row++) {
        uint from = at + row * P_row.y;
        float sum = take_sixteens(row, from, 1);
        if (NORM != 0) {
            float factor = norm_factor(from, sum);
            bool odd =
                factor < 1e-18 || factor > 1e12; /* numbers near the ends of the range are taken at size 1 */
            if (odd) take_sixteens(row, from, factor);
            if (gl_LocalInvocationID.x == 0) factors[row] = odd ? 1 : factor;
            write_normalized(row, from, factor);
        } else if (gl_LocalInvocationID.x == 0) {
            factors[row] = 1;
        }
    }
    barrier();
}

// Parts of sixteen weights that an invocation takes at a time: one, two that are the nibbles of the same
// bytes, or four.
const uint PARTS = DTYPE_B == Q8_0 ? 1 : DTYPE_B == Q6_K ? 4 : 2;

// Each part: weights as bytes, which sixteen of a they meet, what dot products and sums of a are multiplied
// by.
struct weights {
    uvec4 w[4];
    uint place[4];
    vec2 terms[4];
};

// Sixteen bytes at an even place.
uvec4 words_at_even(const uint b) {
    uint i = b >> 2, odd = b >> 1 & 1;
    uvec4 low = uvec4(WEIGHTS.d[i], WEIGHTS.d[i + 1], WEIGHTS.d[i + 2], WEIGHTS.d[i + 3]);
    if (odd == 0) return low;
    return low >> 16 | uvec4(low.yzw, WEIGHTS.d[i + 4]) << 16;
}
// Bits 0 .. 15 as bit 4 of sixteen bytes.
uvec4 fifths(const uint bits) {
    uvec4 four = uvec4(bits, bits >> 4, bits >> 8, bits >> 12) & 15;
    return (four * 0x00204081u & 0x01010101u) << 4;
}
void take_nibbles(inout weights t, const uvec4 w, const vec2 terms) {
    t.w[0] = w & 0x0f0f0f0f;
    t.w[1] = w >> 4 & 0x0f0f0f0f;
    t.terms[0] = t.terms[1] = terms;
}

// Unit `unit` of the row at byte `row`.
weights weights_of(const uint row, const uint unit) {
    weights t;
    [[unroll]] for (uint i = 0; i < PARTS; i++) t.place[i] = PARTS * unit + i;
    switch (DTYPE_B) {
    case Q8_0: {
        uint b = row + unit / 2 * BYTES_Q8_0;
        t.w[0] = words_at_even(b + 2 + 16 * (unit & 1));
        t.terms[0] = vec2(half_at_even(b), 0);
        break;
    }
    case Q4_0: case Q4_1: {
        uint b = row + unit * block_bytes(DTYPE_B), own = DTYPE_B == Q4_0 ? 2 : 4;
        float scale = half_at_even(b);
        take_nibbles(t, words_at_even(b + own),
                     vec2(scale, DTYPE_B == Q4_0 ? 8 * scale : -half_at_even(b + 2)));
        break;
    }
    case Q5_0: case Q5_1: {
        uint b = row + unit * block_bytes(DTYPE_B), own = DTYPE_B == Q5_0 ? 2 : 4,
             bits = word_at_even(b + own);
        float scale = half_at_even(b);
        take_nibbles(t, words_at_even(b + own + 4),
                     vec2(scale, own == 2 ? 16 * scale : -half_at_even(b + 2)));
        t.w[0] |= fifths(bits);
        t.w[1] |= fifths(bits >> 16);
        break;
    }
    case Q4_K: case Q5_K: {
        uint b = row + unit / 8 * block_bytes(DTYPE_B), part = unit % 8 / 2, h = unit & 1, head = b >> 4;
        take_nibbles(t, WIDE_WEIGHTS.d[head + (DTYPE_B == Q4_K ? 1 : 3) + 2 * part + h], vec2(0));
        if (DTYPE_B == Q5_K) {
            uvec4 high = WIDE_WEIGHTS.d[head + 1 + h] >> (2 * part);
            t.w[0] |= (high & 0x01010101) << 4;
            t.w[1] |= (high >> 1 & 0x01010101) << 4;
        }
        vec4 s = two_scales(WIDE_WEIGHTS.d[head], part);
        t.place[0] = unit / 8 * 16 + 4 * part + h;
        t.place[1] = t.place[0] + 2;
        t.terms[0] = s.xz;
        t.terms[1] = s.yw;
        break;
    }
    case Q6_K: {
        uint b = row + unit / 4 * 210, part = unit % 4 / 2, h = unit & 1, scales = b + 192 + 8 * part + h;
        uvec4 low = words_at_even(b + 64 * part + 16 * h), next = words_at_even(b + 64 * part + 16 * h + 32);
        uvec4 high = words_at_even(b + 128 + 32 * part + 16 * h);
        float scale = half_at_even(b + 208);
        t.w[0] = (low & 0x0f0f0f0f) | (high & 0x03030303) << 4;
        t.w[1] = (next & 0x0f0f0f0f) | (high & 0x0c0c0c0c) << 2;
        t.w[2] = (low >> 4 & 0x0f0f0f0f) | (high & 0x30303030);
        t.w[3] = (next >> 4 & 0x0f0f0f0f) | (high >> 2 & 0x30303030);
        [[unroll]] for (uint j = 0; j < PARTS; j++) {
            t.place[j] = unit / 4 * 16 + 8 * part + 2 * j + h;
            t.terms[j] = scale * float(int(byte_at(scales + 2 * j) << 24) >> 24) * vec2(1, 32);
        }
        break;
    }
    }
    return t;
}
int dot_of(const uvec4 x, const uvec4 y) {
    int sum = 0;
    [[unroll]] for (uint j = 0; j < 4; j++) sum += dotPacked4x8EXT(int(x[j]), int(y[j]));
    return sum;
}

void main() {
    uint columns = P_n, units = INNER / 16 / PARTS, id = gl_LocalInvocationID.x, lane = id % TEAM;
    uint team = id / TEAM;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    take_quants(at.y);
    for (uint first = group_index() * TAKES; first < columns;
         first += gl_NumWorkGroups.x * gl_NumWorkGroups.y * TAKES) {
        float sum[OUTPUTS];
        uint place[COLUMNS];
        [[unroll]] for (uint i = 0; i < OUTPUTS; i++) sum[i] = 0;
        [[unroll]] for (uint j = 0; j < COLUMNS; j++) place[j] = place_of_b(at.z, first, team, j);
        for (uint unit = lane; unit < units; unit += TEAM)
            [[unroll]] for (uint j = 0; j < COLUMNS; j++) {
                weights t = weights_of(place[j], unit);
                [[unroll]] for (uint row = 0; row < ROWS; row++)
                    [[unroll]] for (uint i = 0; i < PARTS; i++) {
                        uint own = row * (INNER / 16) + t.place[i];
                        vec2 s = sizes[own];
                        sum[row * COLUMNS + j] +=
                            t.terms[i].x * s.x * float(dot_of(t.w[i], quants[own])) - t.terms[i].y * s.y;
                    }
            }
        [[unroll]] for (uint i = 0; i < OUTPUTS; i++)
            partial[(team * OUTPUTS + i) * (TEAM + 1) + lane] = factors[i / COLUMNS] * sum[i];
        barrier();
        write_outputs(at, first);
        barrier();
    }
}
