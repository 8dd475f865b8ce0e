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
// Neighbors that share a row of the first matrix, one of the second, and a key.
const uint TEAM = LANES >= 4 ? 4 : 1, LAST_TEAM = LANES < 8 ? TEAM : 8 * VALUES > THREADS ? TEAM : 8;
const uint SHARE = LANES >= 16 ? 16 : LANES >= 4 ? 4 : 1;
const uint EIGHTS = LATENT / 8, GROUPS = THREADS / EIGHTS;  // of a value; values at a time
const uint WHOLE_BLOCK = BLOCKS & 7, MIXED_BLOCK = BLOCKS >> 3 & 7, TURNED_BLOCK = BLOCKS >> 6 & 7,
           IDS_BLOCK = BLOCKS >> 9 & 7, TOLD_BLOCK = BLOCKS >> 12 & 7;

// Eights that an invocation fetches at a time: of a key, of values, of each matrix. The first of each kind
// are on their way before what they meet is there, for a workgroup waits for little else.
const uint KEY_EIGHTS = (DEPTH / 8 + SHARE - 1) / SHARE, AT_ONCE = 4;
const uint KEPT_MOST = 16;
const uint FIRST_ROWS = (LATENT + THREADS / TEAM - 1) / (THREADS / TEAM),
           FIRST_EIGHTS = (PLAIN / 8 + TEAM - 1) / TEAM;
const uint LAST_ROWS = (VALUES + THREADS / LAST_TEAM - 1) / (THREADS / LAST_TEAM),
           LAST_EIGHTS = (EIGHTS + LAST_TEAM - 1) / LAST_TEAM;
// Of matrices of 16 bits, if they are few enough to stay in registers.
const uint FIRST_ALL = FIRST_ROWS * FIRST_EIGHTS, LAST_ALL = LAST_ROWS * LAST_EIGHTS;
const uint FIRST_KEPT = KEY_MATRIX == F32 ? 0 : KEY_MATRIX >= Q4_0 ? 0 : FIRST_ALL > KEPT_MOST ? 0 : FIRST_ALL;
const uint LAST_KEPT = VALUE_MATRIX == F32 ? 0 : VALUE_MATRIX >= Q4_0 ? 0 : LAST_ALL > KEPT_MOST ? 0 : LAST_ALL;

// Rows that a matrix or keys meet: the query, its plain part, what it attends to.
const uint PLAIN_ROW = DEPTH / 4, MIXED_ROW = PLAIN_ROW + PLAIN / 4;
shared vec4 rows[MIXED_ROW + LATENT / 4];
shared float scores[LATENT_KEYS], weights[LATENT_KEYS];
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
// Eight of 16 bits by those of a row here from `k` on.
float by_eight(const uint dtype, const uvec4 words, const uint k) {
    const vec4 low = four_halves(dtype, words.xy), high = four_halves(dtype, words.zw);
    return dot(rows[k / 4], low) + dot(rows[k / 4 + 1], high);
}
float of_team(float sum, const uint team) {
    [[unroll]] for (uint i = 1; i < team; i *= 2) sum += subgroupShuffleXor(sum, i);
    return sum;
}
// A row of a matrix by `inner` numbers here: in all of its team.
float row_of_matrix(const uint dtype, const uint place, const uint inner, const uint row, const uint team) {
    const uint lane = gl_LocalInvocationID.x % team, chunks = inner / 8;
    float sum = 0;
    for (uint i = lane; i < chunks; i += team) sum += part_of_row(dtype, place, i, row);
    return of_team(sum, team);
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
uvec4 first_matrix[FIRST_KEPT > 0 ? FIRST_KEPT : 1];
void fetch_first(const uint matrix) {
    const uint id = gl_LocalInvocationID.x;
    if (FIRST_KEPT == 0) return;
    [[unroll]] for (uint r = 0; r < FIRST_ROWS; r++) {
        const uint place = matrix + min(r * (THREADS / TEAM) + id / TEAM, LATENT - 1) * P_matrix_row.x;
        [[unroll]] for (uint i = 0; i < FIRST_EIGHTS; i++)
            first_matrix[r * FIRST_EIGHTS + i] =
                w3.d[(place >> 3) + min(id % TEAM + i * TEAM, PLAIN / 8 - 1)];
    }
}
void make_query(const uint head, const uint matrix) {
    const uint id = gl_LocalInvocationID.x, raw = P_raw_at.x + head * P_raw_head.x;
    for (uint i = id; i < PLAIN; i += THREADS) put_row(PLAIN_ROW, i, uintBitsToFloat(b1.d[raw + i]));
    turn_query(head);
    barrier();
    [[unroll]] for (uint r = 0; r < FIRST_ROWS; r++) {
        const uint row = r * (THREADS / TEAM) + id / TEAM;
        float x = 0;
        if (FIRST_KEPT > 0) {
            [[unroll]] for (uint i = 0; i < FIRST_EIGHTS; i++) {
                const uint c = id % TEAM + i * TEAM;
                if (c < PLAIN / 8)
                    x += by_eight(KEY_MATRIX, first_matrix[r * FIRST_EIGHTS + i], 4 * PLAIN_ROW + 8 * c);
            }
            x = of_team(x, TEAM);
        } else {
            const uint place = matrix + min(row, LATENT - 1) * P_matrix_row.x;
            x = row_of_matrix(KEY_MATRIX, place, PLAIN, PLAIN_ROW, TEAM);
        }
        if (row < LATENT && id % TEAM == 0) {
            put_row(0, row, x);
            PUT_WORD_OF(WHOLE_BLOCK, P_whole_at + head * P_whole_head + row, x)
        }
    }
    barrier();
}

// ---- attention ----

// Eight numbers of the cache, as they lie, and what they are.
struct eight {
    uvec4 low, high; // .high of f32
};
eight eight_at(const uint e) {
    eight x;
    x.low = w2.d[CACHE == F32 ? e >> 2 : e >> 3];
    if (CACHE == F32) x.high = w2.d[(e >> 2) + 1];
    return x;
}
vec4 low_of(const eight x) {
    return CACHE == F32 ? uintBitsToFloat(x.low) : four_halves(CACHE, x.low.xy);
}
vec4 high_of(const eight x) {
    return CACHE == F32 ? uintBitsToFloat(x.high) : four_halves(CACHE, x.low.zw);
}

// Keys that a workgroup meets at a time, as many as it has shares.
eight keys[KEY_EIGHTS];
void fetch_keys(const uint first) {
    const uint id = gl_LocalInvocationID.x;
    const uint at = P_key_at + (P_begin + min(first + id / SHARE, P_count - 1)) * P_key_row;
    [[unroll]] for (uint i = 0; i < KEY_EIGHTS; i++)
        keys[i] = eight_at(at + 8 * min(id % SHARE + i * SHARE, DEPTH / 8 - 1));
}
void score_keys() {
    const uint id = gl_LocalInvocationID.x, lane = id % SHARE, step = THREADS / SHARE;
    for (uint first = 0; first < P_count; first += step) {
        const uint key = first + id / SHARE;
        eight own[KEY_EIGHTS];
        [[unroll]] for (uint i = 0; i < KEY_EIGHTS; i++) own[i] = keys[i];
        if (first + step < P_count) fetch_keys(first + step);
        vec4 dots = vec4(0);
        [[unroll]] for (uint i = 0; i < KEY_EIGHTS; i++) {
            const uint c = lane + i * SHARE;
            if (c < DEPTH / 8) dots += rows[2 * c] * low_of(own[i]) + rows[2 * c + 1] * high_of(own[i]);
        }
        const float score = of_team(dot(dots, vec4(1)), SHARE);
        if (key < P_count && lane == 0) scores[key] = score * uintBitsToFloat(P_scale);
    }
    barrier();
}
float of_subgroup(float x, const bool most) {
    [[unroll]] for (uint i = 1; i < LANES; i *= 2) {
        const float other = subgroupShuffleXor(x, i);
        x = most ? max(x, other) : x + other;
    }
    return x;
}
float weight_of(const float score, const float most) {
    return score == -INF ? 0 : my_exp(score - most);
}
// e^(score - most) of each key; their sum, which each subgroup takes for itself: others need not wait for it.
float weigh_keys() {
    float most = -INF, total = 0;
    const uint id = gl_LocalInvocationID.x;
    for (uint i = id % LANES; i < P_count; i += LANES) most = max(most, scores[i]);
    most = of_subgroup(most, true);
    for (uint i = id % LANES; i < P_count; i += LANES) {
        const float weight = weight_of(scores[i], most);
        total += weight;
        if (i / LANES % SUBGROUPS == id / LANES) weights[i] = weight;
    }
    total = of_subgroup(total, false);
    barrier();
    return total;
}
// Values that an invocation meets at a time.
eight values[AT_ONCE];
void fetch_values(const uint first) {
    const uint at = P_key_at + gl_LocalInvocationID.x % EIGHTS * 8;
    [[unroll]] for (uint u = 0; u < AT_ONCE; u++)
        values[u] = eight_at(at + (P_begin + min(first + u * GROUPS, P_count - 1)) * P_key_row);
}
void mix_values(const uint head, const float total) {
    const uint id = gl_LocalInvocationID.x;
    vec4 low = vec4(0), high = vec4(0);
    for (uint first = id / EIGHTS; first < P_count && id < GROUPS * EIGHTS; first += AT_ONCE * GROUPS) {
        [[unroll]] for (uint u = 0; u < AT_ONCE; u++) {
            const uint key = first + u * GROUPS;
            if (key >= P_count) continue;
            low += weights[key] * low_of(values[u]);
            high += weights[key] * high_of(values[u]);
        }
        if (first + AT_ONCE * GROUPS < P_count) fetch_values(first + AT_ONCE * GROUPS);
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

// ---- the head's values ----

uvec4 last_matrix[LAST_KEPT > 0 ? LAST_KEPT : 1];
void fetch_last(const uint matrix) {
    const uint id = gl_LocalInvocationID.x;
    if (LAST_KEPT == 0) return;
    [[unroll]] for (uint r = 0; r < LAST_ROWS; r++) {
        const uint row = r * (THREADS / LAST_TEAM) + id / LAST_TEAM;
        const uint place = matrix + min(row, VALUES - 1) * P_matrix_row.y;
        [[unroll]] for (uint i = 0; i < LAST_EIGHTS; i++)
            last_matrix[r * LAST_EIGHTS + i] =
                w3.d[(place >> 3) + min(id % LAST_TEAM + i * LAST_TEAM, EIGHTS - 1)];
    }
}
void make_values(const uint head, const uint matrix) {
    const uint id = gl_LocalInvocationID.x;
    [[unroll]] for (uint r = 0; r < LAST_ROWS; r++) {
        const uint row = r * (THREADS / LAST_TEAM) + id / LAST_TEAM;
        float x = 0;
        if (LAST_KEPT > 0) {
            [[unroll]] for (uint i = 0; i < LAST_EIGHTS; i++) {
                const uint c = id % LAST_TEAM + i * LAST_TEAM;
                if (c < EIGHTS)
                    x += by_eight(VALUE_MATRIX, last_matrix[r * LAST_EIGHTS + i], 4 * MIXED_ROW + 8 * c);
            }
            x = of_team(x, LAST_TEAM);
        } else {
            const uint place = matrix + min(row, VALUES - 1) * P_matrix_row.y;
            x = row_of_matrix(VALUE_MATRIX, place, LATENT, MIXED_ROW, LAST_TEAM);
        }
        if (row < VALUES && id % LAST_TEAM == 0)
            b0.d[P_out_at + head * P_out_head + row] = floatBitsToUint(x);
    }
}

void main() {
    const uint head = gl_WorkGroupID.x;
    fetch_keys(0);
    const uint number = matrix_of(head), matrix = P_matrix_at.x + number * P_matrix_next.x;
    const uint last = P_matrix_at.y + number * P_matrix_next.y;
    fetch_first(matrix);
    make_query(head, matrix);
    score_keys();
    fetch_values(gl_LocalInvocationID.x / EIGHTS);
    fetch_last(last);
    mix_values(head, weigh_keys());
    make_values(head, last);
}
