// attention_latent.comp - attention of one query a head to keys that all heads share and that are values too,
// but for their ends (DeepSeek-V2, 2024, section 2.1): a workgroup takes a head. It makes the query itself,
// what a matrix of the head's makes of the plain part and the turned end behind it, and of what it attends to
// makes the head's values by another one. Both matrices lie in block 3, keys in block 2, raw queries in block
// 1, turns in block 4, the result in block 0; what is written beside it, numbers of matrices and the fault
// wherever BLOCKS has them.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tables/attention_latent.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "common/fault.glsl"
#include "common/wide.glsl"
#define WEIGHTS b3
#define WIDE_WEIGHTS w3
#define IN_EIGHTS
#include "common/blocks.glsl"
#include "common/any_word.glsl"
#include "math/math_log.glsl"
#include "rows/rope.glsl"

const uint THREADS = gl_WorkGroupSize.x, SUBGROUPS = THREADS / LANES, DEPTH = LATENT + TURNED;
const uint TEAM = LANES >= 4 ? 4 : 1;                       // neighbors that share a row of a matrix, ..
const uint SHARE = LANES >= 16 ? 16 : LANES >= 4 ? 4 : 1;   // .. and a key
const uint EIGHTS = LATENT / 8, GROUPS = THREADS / EIGHTS;  // of a value; values at a time
const uint AT_ONCE = 4;                                     // values that are on their way at a time
const uint WHOLE_BLOCK = BLOCKS & 7, MIXED_BLOCK = BLOCKS >> 3 & 7, TURNED_BLOCK = BLOCKS >> 6 & 7,
           IDS_BLOCK = BLOCKS >> 9 & 7, TOLD_BLOCK = BLOCKS >> 12 & 7;

// Rows that a matrix or keys meet: the query, its plain part, what it attends to.
const uint PLAIN_ROW = DEPTH / 4, MIXED_ROW = PLAIN_ROW + PLAIN / 4;
shared vec4 rows[MIXED_ROW + LATENT / 4];
shared float weights[LATENT_KEYS], few[2 * SUBGROUPS];
shared vec4 sums[2 * THREADS];

void put_row(const uint row, const uint i, const float x) {
    rows[row + i / 4][i & 3] = x;
}

// ---- matrices ----

DEFINE_TELL(tell_0, b0)
DEFINE_TELL(tell_1, b1)
DEFINE_TELL(tell_2, b2)
DEFINE_TELL(tell_3, b3)
DEFINE_TELL(tell_4, b4)
uint matrix_of(const uint head) {
    const uint id = floatBitsToUint(word_of(IDS_BLOCK, P_ids + head * P_ids_stride));
    const uvec2 value = uvec2(id, int(id) < 0 ? ~0u : 0);
    if (id < P_experts) return id;
    switch (TOLD_BLOCK) {
    case 0: tell_0(P_fault, P_kind, value, P_experts); break;
    case 1: tell_1(P_fault, P_kind, value, P_experts); break;
    case 2: tell_2(P_fault, P_kind, value, P_experts); break;
    case 3: tell_3(P_fault, P_kind, value, P_experts); break;
    case 4: tell_4(P_fault, P_kind, value, P_experts); break;
    default: tell(P_fault, P_kind, value, P_experts);
    }
    return 0;
}
// Eight of the matrix's row at `place`, chunk `c` of it, by those of a row here.
float part_of_row(const uint dtype, const uint place, const uint c, const uint row) {
    const uint pair = is_block(dtype) ? pair_distance(dtype) : 4;
    const uvec2 k = c / (pair / 4) * 2 * pair + c % (pair / 4) * 4 + uvec2(0, pair);
    vec4 x, y, terms = vec4(1, 1, 0, 0), p = rows[row + k.x / 4], q = rows[row + k.y / 4];
    if (is_block(dtype)) {
        block_eight(dtype, place, k, x, y, terms);
    } else if (width_of(dtype) == 1) {
        uvec4 words = w3.d[(place + k.x) >> 3];
        x = four_halves(dtype, words.xy);
        y = four_halves(dtype, words.zw);
    } else {
        x = uintBitsToFloat(w3.d[(place + k.x) >> 2]);
        y = uintBitsToFloat(w3.d[(place + k.y) >> 2]);
    }
    float sum = terms.x * dot(p, x) + terms.y * dot(q, y);
    return is_block(dtype) ? sum - (terms.z * dot(p, vec4(1)) + terms.w * dot(q, vec4(1))) : sum;
}
// A row of a matrix by `inner` numbers here: in all of its team.
float row_of_matrix(const uint dtype, const uint place, const uint inner, const uint row) {
    const uint lane = gl_LocalInvocationID.x % TEAM, chunks = inner / 8;
    float sum = 0;
    [[unroll]] for (uint i = 0; i < (chunks + TEAM - 1) / TEAM; i++)
        if (lane + i * TEAM < chunks) sum += part_of_row(dtype, place, lane + i * TEAM, row);
    [[unroll]] for (uint i = 1; i < TEAM; i *= 2) sum += subgroupShuffleXor(sum, i);
    return sum;
}

// ---- the query ----

void turn_query(const uint head) {
    const uint raw = P_raw_at.y + head * P_raw_head.y;
    for (uint i = gl_LocalInvocationID.x; i < TURNED - P_pairs; i += THREADS) {
        const bool turns = i < P_pairs;
        const uint behind = i + P_pairs, first = !turns ? behind : INTERLEAVED == 1 ? 2 * i : i,
                   second = turns && INTERLEAVED == 1 ? first + 1 : behind;
        vec2 x = uintBitsToFloat(uvec2(b1.d[raw + first], b1.d[raw + second]));
        if (turns)
            x = turned_pair(x.x, x.y,
                            uintBitsToFloat(uvec2(b4.d[P_turns + 2 * i], b4.d[P_turns + 2 * i + 1])));
        [[unroll]] for (uint j = 0; j < 2; j++) {
            const uint at = j == 0 ? first : second;
            put_row(0, LATENT + at, x[j]);
            PUT_WORD_OF(TURNED_BLOCK, P_turned_at + head * P_turned_head + at, x[j])
            PUT_WORD_OF(WHOLE_BLOCK, P_whole_at + head * P_whole_head + LATENT + at, x[j])
        }
    }
}
void make_query(const uint head, const uint matrix) {
    const uint id = gl_LocalInvocationID.x, raw = P_raw_at.x + head * P_raw_head.x;
    for (uint i = id; i < PLAIN; i += THREADS) put_row(PLAIN_ROW, i, uintBitsToFloat(b1.d[raw + i]));
    turn_query(head);
    barrier();
    [[unroll]] for (uint first = 0; first < LATENT; first += THREADS / TEAM) {
        const uint i = first + id / TEAM;
        const uint place = matrix + min(i, LATENT - 1) * P_matrix_row.x;
        const float x = row_of_matrix(KEY_MATRIX, place, PLAIN, PLAIN_ROW);
        if (i < LATENT && id % TEAM == 0) {
            put_row(0, i, x);
            PUT_WORD_OF(WHOLE_BLOCK, P_whole_at + head * P_whole_head + i, x)
        }
    }
    barrier();
}

// ---- attention ----

uvec4 words_at(const uint e) { /* of 16 bits */
    return w2.d[e >> 3];
}
void key_eight(const uint e, out vec4 x, out vec4 y) {
    if (CACHE == F32) {
        x = uintBitsToFloat(w2.d[e >> 2]);
        y = uintBitsToFloat(w2.d[(e >> 2) + 1]);
    } else {
        uvec4 words = words_at(e);
        x = four_halves(CACHE, words.xy);
        y = four_halves(CACHE, words.zw);
    }
}
// Of all invocations, in all of them, and a barrier behind what they wrote before.
float of_all(float x, const bool most) {
    const uint id = gl_LocalInvocationID.x, from = most ? 0 : SUBGROUPS;
    [[unroll]] for (uint i = 1; i < LANES; i *= 2) {
        const float other = subgroupShuffleXor(x, i);
        x = most ? max(x, other) : x + other;
    }
    if (id % LANES == 0) few[from + id / LANES] = x;
    barrier();
    x = few[from];
    for (uint i = 1; i < SUBGROUPS; i++) x = most ? max(x, few[from + i]) : x + few[from + i];
    return x;
}
void score_keys() {
    const uint id = gl_LocalInvocationID.x, lane = id % SHARE;
    for (uint first = 0; first < P_count; first += THREADS / SHARE) {
        const uint key = first + id / SHARE, at = P_key_at + (P_begin + min(key, P_count - 1)) * P_key_row;
        vec4 dots = vec4(0);
        [[unroll]] for (uint i = 0; i < (DEPTH / 8 + SHARE - 1) / SHARE; i++) {
            const uint c = lane + i * SHARE;
            if (c >= DEPTH / 8) continue;
            vec4 x, y;
            key_eight(at + 8 * c, x, y);
            dots += rows[2 * c] * x + rows[2 * c + 1] * y;
        }
        float score = dot(dots, vec4(1));
        [[unroll]] for (uint i = 1; i < SHARE; i *= 2) score += subgroupShuffleXor(score, i);
        if (key < P_count && lane == 0) weights[key] = score * uintBitsToFloat(P_scale);
    }
    barrier();
}
// e^(score - most) of each key; their sum.
float weigh_keys() {
    float most = -INF, total = 0;
    for (uint i = gl_LocalInvocationID.x; i < P_count; i += THREADS) most = max(most, weights[i]);
    most = of_all(most, true);
    for (uint i = gl_LocalInvocationID.x; i < P_count; i += THREADS) {
        const float score = weights[i], weight = score == -INF ? 0 : my_exp(score - most);
        weights[i] = weight;
        total += weight;
    }
    return of_all(total, false);
}
void mix_values(const uint head, const float total) {
    const uint id = gl_LocalInvocationID.x, group = id / EIGHTS, at = P_key_at + id % EIGHTS * 8;
    vec4 low = vec4(0), high = vec4(0);
    for (uint first = group; first < P_count && group < GROUPS; first += AT_ONCE * GROUPS) {
        vec4 x[AT_ONCE], y[AT_ONCE];
        [[unroll]] for (uint u = 0; u < AT_ONCE; u++)
            key_eight(at + (P_begin + min(first + u * GROUPS, P_count - 1)) * P_key_row, x[u], y[u]);
        [[unroll]] for (uint u = 0; u < AT_ONCE; u++) {
            const uint key = first + u * GROUPS;
            if (key >= P_count) continue;
            low += weights[key] * x[u];
            high += weights[key] * y[u];
        }
    }
    sums[2 * id] = low;
    sums[2 * id + 1] = high;
    barrier();
    for (uint i = id; i < 2 * EIGHTS; i += THREADS) {
        vec4 sum = sums[i];
        for (uint g = 1; g < GROUPS; g++) sum += sums[2 * EIGHTS * g + i];
        sum = total == 0 ? vec4(0) : sum / total;
        rows[MIXED_ROW + i] = sum;
        for (uint j = 0; j < 4; j++)
            PUT_WORD_OF(MIXED_BLOCK, P_mixed_at + head * P_mixed_head + 4 * i + j, sum[j])
    }
    barrier();
}

void main() {
    const uint head = gl_WorkGroupID.x, id = gl_LocalInvocationID.x, number = matrix_of(head);
    make_query(head, P_matrix_at.x + number * P_matrix_next.x);
    score_keys();
    mix_values(head, weigh_keys());
    const uint matrix = P_matrix_at.y + number * P_matrix_next.y;
    [[unroll]] for (uint first = 0; first < VALUES; first += THREADS / TEAM) {
        const uint i = first + id / TEAM;
        const uint place = matrix + min(i, VALUES - 1) * P_matrix_row.y;
        const float x = row_of_matrix(VALUE_MATRIX, place, LATENT, MIXED_ROW);
        if (i < VALUES && id % TEAM == 0) b0.d[P_out_at + head * P_out_head + i] = floatBitsToUint(x);
    }
}
