// selective_scan.comp - columns of a head's memory, whose decays and writing a step makes: a workgroup takes
// COLUMNS of them, and PARTS invocations share the keys of one, HELD each, which stay in registers from the
// first position to the last. Steps, and what comes behind the sums, are worked out for ONCE positions
// together, by an invocation each. f32. The result lies in block 0; operand i in a block of BLOCKS, three
// bits each, with its first element and the strides of heads, rows and columns at ROW_operand + i. MADE: of a
// single position, u of all heads and then B and C, which they share, are what map/steps.glsl gives, and are
// written where those would be, with the window that goes with them. WEIGHTS_TYPE: the step of a single
// position is a product of a row with weights in block 5, and is written where that would be.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/selective_scan.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math_log.glsl"

const uint PARTS = THREADS / COLUMNS, ONCE = PARTS / 2;
shared float steps[ONCE * COLUMNS], writing[ONCE * COLUMNS], sums[ONCE * THREADS];
// B and C of AHEAD positions, as many as have room.
const uint KEYS = HELD * PARTS, AHEAD = KEYS >= 512 ? 1 : KEYS * ONCE <= 512 ? ONCE : 512 / KEYS;
shared float keyed[AHEAD * KEYS], asked[AHEAD * KEYS];

#define STEPS_AT ROW_steps_at
#define STEPS_OWN 0
#define STEPS_ROW (P_heads * P_values + 2 * P_keys)
#include "map/steps.glsl"

#define WEIGHTS b5
#include "common/blocks.glsl"
DEFINE_LOAD(load_weight, b5)

float taken(const uint which, const uint head, const uint row, const uint column) {
    uvec4 at = param[ROW_operand + which];
    return word_of(BLOCKS >> (3 * which) & 7, at.x + head * at.y + row * at.z + column * at.w);
}
// Element i of what steps give, written by one of those that work it out.
float made(const uint i, const bool writes) {
    float x = steps_of(i, writes);
    if (writes) PUT_WORD_OF(BLOCKS >> (3 * SCAN_MADE) & 7, P_steps_to + i, x)
    return x;
}
// The workgroup's columns of u, in those who have them, and B and C, by one loop: its code is fetched once.
float made_parts(const uint head, const uint column, const bool there) {
    float u = 0;
    for (uint i = gl_LocalInvocationID.x; i < COLUMNS + 2 * P_keys; i += THREADS) {
        bool of_u = i < COLUMNS;
        uint k = i - COLUMNS, e = of_u ? head * P_values + column : P_heads * P_values + k;
        float x = made(e, of_u ? there : group_index() == 0);
        if (of_u) u = x;
        else if (k - P_steps_b < P_keys) keyed[k - P_steps_b] = x;
        else asked[k - P_steps_c] = x;
    }
    return u;
}
// B and C of positions first .. first + AHEAD - 1.
void take_keys(const uint head, const uint first) {
    for (uint i = gl_LocalInvocationID.x; i < AHEAD * KEYS; i += THREADS) {
        uint row = min(first + i / KEYS, P_length - 1), k = i % KEYS;
        if (k >= P_keys) continue;
        keyed[i] = taken(SCAN_B, head, row, k);
        asked[i] = taken(SCAN_C, head, row, k);
    }
}
bool has(const uint which) {
    return (GIVEN >> which & 1) != 0;
}

// Weights k .. k + 3 of a column.
vec4 four_weights(const uint column, const uint k) {
    uint at = P_weights_at + column * P_column_apart;
    if (is_block(WEIGHTS_TYPE)) return block_numbers(WEIGHTS_TYPE, at, k);
    vec4 r;
    [[unroll]] for (uint j = 0; j < 4; j++)
        r[j] = uintBitsToFloat(f32_of(WEIGHTS_TYPE, load_weight(WEIGHTS_TYPE, at + k + j).x));
    return r;
}
// The step as a product: those who share a column's keys share its terms; all come here, and have the sum.
float multiplied_step(const uint column, const bool writes) {
    uint id = gl_LocalInvocationID.x;
    float sum = 0, bias = 0;
    if (BIASED == 1) bias = word_of(PRODUCT_BLOCKS >> 3 & 7, P_bias_at + column);
    [[unroll]] for (uint i = 0; i < (INNER / 4 + PARTS - 1) / PARTS; i++) { /* all on their way at once */
        uint k = 4 * (id / COLUMNS + i * PARTS);
        vec4 a;
        [[unroll]] for (uint j = 0; j < 4; j++)
            a[j] = word_of(PRODUCT_BLOCKS & 7, P_row_at + min(k, INNER - 4) + j);
        sum += k < INNER ? dot(a, four_weights(column, min(k, INNER - 4))) : 0;
    }
    sums[id] = sum;
    barrier();
    sum = bias;
    for (uint i = 0; i < PARTS; i++) sum += sums[i * COLUMNS + id % COLUMNS];
    if (writes) PUT_WORD_OF(PRODUCT_BLOCKS >> 6 & 7, P_step_to + column, sum)
    return sum;
}

void main() {
    uint id = gl_LocalInvocationID.x, blocks = (P_values + COLUMNS - 1) / COLUMNS, part = id / COLUMNS;
    uint head = group_index() / blocks, column = group_index() % blocks * COLUMNS + id % COLUMNS;
    if (head >= P_heads) return;
    bool there = column < P_values;
    if (!there) column = 0;
    uint to = P_out_at + head * P_out_head + column * P_out_column;
    uint memory = to + (HOLD == 1 ? min(P_length, 1) : P_length) * P_out_row;
    float m[HELD], rate[HELD], bias = 0, skip = 0;
    [[unroll]] for (uint i = 0; i < HELD; i++) { /* keys beyond the last are not written */
        uint k = min(part + i * PARTS, P_keys - 1);
        m[i] = P_keys == 0 ? 0 : taken(SCAN_STATE, head, k, column);
        rate[i] = SAME == 1 || P_keys == 0 ? 0 : taken(SCAN_RATE, head, k, column);
    }
    if (SAME == 1) rate[0] = taken(SCAN_RATE, head, 0, column);
    if (has(SCAN_BIAS)) bias = taken(SCAN_BIAS, head, 0, column);
    if (has(SCAN_SKIP)) skip = taken(SCAN_SKIP, head, 0, column);
    for (uint first = 0; first < P_length; first += ONCE) {
        uint own = first + part, count = min(ONCE, P_length - first);
        float u = 0, s = 0, gate = 0; /* which is wanted last and asked for with the first */
        if (part < count) {
            if (WEIGHTS_TYPE == 0) s = taken(SCAN_STEP, head, own, column) + bias;
            if (has(SCAN_GATE)) gate = taken(SCAN_GATE, head, own, column);
            if (MADE == 0) u = taken(SCAN_U, head, own, column);
        }
        if (MADE == 1) u = made_parts(head, column, there);
        if (WEIGHTS_TYPE != 0) s = multiplied_step(column, part == 0 && there) + bias;
        if (part < count) {
            if (SOFTPLUS == 1) s = my_softplus(s, 1, 20);
            steps[id] = s;
            writing[id] = s * u;
        }
        for (uint t = 0; t < count; t++) {
            if (t % AHEAD == 0) {
                if (t > 0) barrier();
                if (MADE == 0) take_keys(head, first + t);
                barrier();
            }
            float s = steps[t * COLUMNS + id % COLUMNS], written = writing[t * COLUMNS + id % COLUMNS];
            float y = 0, left = SAME == 1 ? my_exp(s * rate[0]) : 0;
            bool ends = HOLD == 1 && first + t + 1 == P_length;
            [[unroll]] for (uint i = 0; i < HELD; i++) {
                uint k = part + i * PARTS;
                if (k >= P_keys) break;
                if (ends && there) b0.d[memory + k * P_out_row] = floatBitsToUint(m[i]);
                m[i] *= SAME == 1 ? left : my_exp(s * rate[i]);
                m[i] += keyed[t % AHEAD * KEYS + k] * written;
                y += asked[t % AHEAD * KEYS + k] * m[i];
            }
            sums[t * THREADS + id] = y;
        }
        barrier();
        if (part < count && there && (HOLD == 0 || own + 1 == P_length)) {
            float y = 0;
            for (uint i = 0; i < PARTS; i++) y += sums[part * THREADS + i * COLUMNS + id % COLUMNS];
            if (has(SCAN_SKIP)) y = fma(skip, u, y);
            if (has(SCAN_GATE)) y = my_silu_times(gate, y);
            b0.d[to + (HOLD == 1 ? 0 : own) * P_out_row] = floatBitsToUint(y);
        }
    }
    if (!there || (HOLD == 1 && P_length > 0)) return;
    [[unroll]] for (uint i = 0; i < HELD; i++) {
        uint k = part + i * PARTS;
        if (k < P_keys) b0.d[memory + k * P_out_row] = floatBitsToUint(m[i]);
    }
}
