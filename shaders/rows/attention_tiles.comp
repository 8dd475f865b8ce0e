// attention_tiles.comp - attention of many queries by cooperative matrices of SIDE x SIDE x SIDE of f16 or
// bf16, as k and v are, with f32 sums: a subgroup takes SIDE queries, the workgroup's SUBS subgroups share
// KEYS keys and values in shared memory at a time. Scores, weights and sums stay in matrices; what differs
// by row (the maximum so far, what older sums are scaled by) is a matrix whose columns are equal, loaded with
// a stride of 0. q may be f32, which is rounded.
#version 450
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#include "tables/attention_tiles.glsl"
#include "rows/attention.glsl"
#include "common/wide.glsl"
#define IN_BF16 (CACHE != F16)
#include "common/element.glsl"

const uint THREADS = gl_WorkGroupSize.x, QUERIES = SUBS * SIDE;
// Lines of shared memory in eights, with what keeps lines out of each other's banks.
const uint LINE_K = DEPTH / 8 + 1, LINE_V = DEPTH_V / 8 + 1, LINE_P = KEYS / 8 + 1;
const uint SIZE_K = KEYS * LINE_K, SIZE_KV = SIZE_K + KEYS * LINE_V, SIZE_Q = QUERIES * LINE_K;
const uint FETCHES_K = (KEYS * (DEPTH / 8) + THREADS - 1) / THREADS;
const uint FETCHES_V = (KEYS * (DEPTH_V / 8) + THREADS - 1) / THREADS;
const float LOG2_E = 1.44269504;

shared uvec4 tiles[SIZE_KV > SIZE_Q ? SIZE_KV : SIZE_Q];
shared uvec4 weights[QUERIES * LINE_P]; // of a subgroup: its weights, or sums on the way to its lanes
shared float most[QUERIES], reference[QUERIES], factor[QUERIES];
shared uint moved[SUBS];                            // whether a maximum of the subgroup's has changed
uvec4 next[FETCHES_K > FETCHES_V ? FETCHES_K : FETCHES_V];

// Keys and values travel through registers, so that they are on their way while others are worked on.
void fetch_keys(const uint e, const uint key0, const uint end) {
    [[unroll]] for (uint i = 0; i < FETCHES_K; i++) {
        uint u = gl_LocalInvocationID.x + i * THREADS, key = key0 + u / (DEPTH / 8);
        next[i] = key < end ? w2.d[(e + key * P_row.z + u % (DEPTH / 8) * 8) >> 3] : uvec4(0);
    }
}
void put_keys() {
    [[unroll]] for (uint i = 0; i < FETCHES_K; i++) {
        uint u = gl_LocalInvocationID.x + i * THREADS;
        if (u < KEYS * (DEPTH / 8)) tiles[u / (DEPTH / 8) * LINE_K + u % (DEPTH / 8)] = next[i];
    }
}
void fetch_values(const uint e, const uint key0, const uint end) {
    [[unroll]] for (uint i = 0; i < FETCHES_V; i++) {
        uint u = gl_LocalInvocationID.x + i * THREADS, key = key0 + u / (DEPTH_V / 8);
        next[i] = key < end ? w3.d[(e + key * P_row.w + u % (DEPTH_V / 8) * 8) >> 3] : uvec4(0);
    }
}
void put_values() {
    [[unroll]] for (uint i = 0; i < FETCHES_V; i++) {
        uint u = gl_LocalInvocationID.x + i * THREADS;
        if (u < KEYS * (DEPTH_V / 8))
            tiles[SIZE_K + u / (DEPTH_V / 8) * LINE_V + u % (DEPTH_V / 8)] = next[i];
    }
}
uvec4 eight_q(const uint e) {
    if (DTYPE != F32) return w1.d[e >> 3];
    return pack_eight(uintBitsToFloat(w1.d[e >> 2]), uintBitsToFloat(w1.d[(e >> 2) + 1]));
}

void main() {
    uint lane = gl_LocalInvocationID.x, mask_at, length = P_length;
    uint first = (gl_NumWorkGroups.x - 1 - gl_WorkGroupID.x) * QUERIES; /* those with most keys begin first */
    uvec4 at = head_places(gl_WorkGroupID.y, gl_WorkGroupID.z, mask_at);
    uint row0 = gl_SubgroupID * SIDE, own = row0 * LINE_P;

    for (uint u = lane; u < QUERIES * (DEPTH / 8); u += THREADS) {
        uint row = u / (DEPTH / 8), column = u % (DEPTH / 8);
        tiles[row * LINE_K + column] =
            first + row < length ? eight_q(at.y + (first + row) * P_row.y + 8 * column) : uvec4(0);
    }
    if (lane < QUERIES) most[lane] = -INF;
    if (QUERIES > THREADS && lane + THREADS < QUERIES) most[lane + THREADS] = -INF;
    barrier();
    LEFT query[DEPTH / SIDE];
    [[unroll]] for (uint i = 0; i < DEPTH / SIDE; i++)
        coopMatLoad(query[i], tiles, row0 * LINE_K + i * SIDE / 8, LINE_K, BY_ROWS);
    SUMS sum[DEPTH_V / SIDE], total = SUMS(0.0);
    [[unroll]] for (uint i = 0; i < DEPTH_V / SIDE; i++) sum[i] = SUMS(0.0);

    uvec2 range = keys_of(first, min(first + QUERIES, length) - 1);
    /* keys before it are seen by all of the workgroup's queries: its subgroups go the same way, since a
     * driver (lavapipe) may let the whole workgroup wait at a subgroup's barrier */
    uint sure = CAUSAL == 1 ? min(range.y, P_start + first + 1) : range.y;
    uint key0 = range.x / KEYS * KEYS;
    fetch_keys(at.z, key0, range.y);
    for (; key0 < range.y; key0 += KEYS) {
        barrier();
        put_keys();
        fetch_values(at.w, key0, range.y);
        barrier();
        SUMS score[KEYS / SIDE], top, old;
        RIGHT right;
        [[unroll]] for (uint j = 0; j < KEYS / SIDE; j++) {
            score[j] = SUMS(0.0);
            [[unroll]] for (uint i = 0; i < DEPTH / SIDE; i++) {
                coopMatLoad(right, tiles, j * SIDE * LINE_K + i * SIDE / 8, LINE_K, BY_COLUMNS);
                score[j] = coopMatMulAdd(query[i], right, score[j]);
            }
        }
        if (MASK != 0 || key0 + KEYS > sure || P_window > 0) {
            /* where a component of a matrix is: numbers of rows and columns, loaded the same way */
            for (uint i = gl_SubgroupInvocationID; i < SIDE; i += gl_SubgroupSize)
                factor[row0 + i] = float(i);
            SUBGROUP_STEP
            SUMS down, across;
            coopMatLoad(down, factor, row0, 0, BY_COLUMNS);
            coopMatLoad(across, factor, row0, 0, BY_ROWS);
            [[unroll]] for (uint j = 0; j < KEYS / SIDE; j++)
                [[unroll]] for (uint i = 0; i < top.length(); i++) {
                    uint s = first + row0 + uint(down[i]), key = key0 + j * SIDE + uint(across[i]);
                    score[j][i] =
                        sees(s, key, range.y) ? LOG2_E * score_of(score[j][i], mask_at, s, key) : -INF;
                }
            SUBGROUP_STEP
        } else {
            [[unroll]] for (uint j = 0; j < KEYS / SIDE; j++)
                [[unroll]] for (uint i = 0; i < top.length(); i++) {
                    if (SOFTCAP == 1) score[j][i] = LOG2_E * score_of(score[j][i], mask_at, 0, 0);
                    else score[j][i] *= LOG2_E * scale();
                }
        }
        top = score[0];
        [[unroll]] for (uint j = 1; j < KEYS / SIDE; j++)
            [[unroll]] for (uint i = 0; i < top.length(); i++) top[i] = max(top[i], score[j][i]);
        coopMatStore(top, weights, own, LINE_P, BY_ROWS);
        moved[gl_SubgroupID] = 0;
        SUBGROUP_STEP
        for (uint i = gl_SubgroupInvocationID; i < SIDE; i += gl_SubgroupSize) {
            vec4 four = uintBitsToFloat(weights[own + i * LINE_P]);
            [[unroll]] for (uint j = 1; j < SIDE / 4; j++) four =
                max(four, uintBitsToFloat(weights[own + i * LINE_P + j]));
            float before = most[row0 + i], now = max(before, max(max(four.x, four.y), max(four.z, four.w)));
            if (now != before) moved[gl_SubgroupID] = 1;
            most[row0 + i] = now;
            reference[row0 + i] = now == -INF ? 0 : now;
            factor[row0 + i] = before == -INF ? 0 : exp2(before - now);
        }
        SUBGROUP_STEP
        coopMatLoad(top, reference, row0, 0, BY_COLUMNS);
        if (moved[gl_SubgroupID] != 0) {
            coopMatLoad(old, factor, row0, 0, BY_COLUMNS);
            total *= old;
            [[unroll]] for (uint i = 0; i < DEPTH_V / SIDE; i++) sum[i] *= old;
        }
        [[unroll]] for (uint j = 0; j < KEYS / SIDE; j++) {
            [[unroll]] for (uint i = 0; i < top.length(); i++) score[j][i] = exp2(score[j][i] - top[i]);
            total += score[j];
            /* bf16 as f16 of the same bits; where these are no number, the total is none either */
            if (IN_BF16)
                [[unroll]] for (uint i = 0; i < top.length(); i++)
                    score[j][i] = unpackHalf2x16(pack_two(vec2(score[j][i], 0))).x;
            coopMatStore(NARROW(score[j]), weights, own + j * SIDE / 8, LINE_P, BY_ROWS);
        }
        put_values();
        fetch_keys(at.z, key0 + KEYS, range.y);
        barrier();
        [[unroll]] for (uint j = 0; j < KEYS / SIDE; j++) {
            LEFT left;
            coopMatLoad(left, weights, own + j * SIDE / 8, LINE_P, BY_ROWS);
            [[unroll]] for (uint i = 0; i < DEPTH_V / SIDE; i++) {
                coopMatLoad(right, tiles, SIZE_K + j * SIDE * LINE_V + i * SIDE / 8, LINE_V, BY_ROWS);
                sum[i] = coopMatMulAdd(left, right, sum[i]);
            }
        }
        SUBGROUP_STEP
    }
    coopMatStore(total, weights, own, LINE_P, BY_ROWS);
    SUBGROUP_STEP
    for (uint i = gl_SubgroupInvocationID; i < SIDE; i += gl_SubgroupSize) {
        vec4 four = vec4(0);
        [[unroll]] for (uint j = 0; j < SIDE / 4; j++) four += uintBitsToFloat(weights[own + i * LINE_P + j]);
        float all = dot(four, vec4(1));
        factor[row0 + i] = all == 0 ? 0 : 1 / all;
        keep_logsumexp(first + row0 + i, most[row0 + i] / LOG2_E, all);
        if (SINKS == 1)
            factor[row0 + i] *= share_of_keys(SINK_OF(b5, gl_WorkGroupID.y), most[row0 + i] / LOG2_E, all);
    }
    SUBGROUP_STEP
    [[unroll]] for (uint i = 0; i < DEPTH_V / SIDE; i++) {
        coopMatStore(sum[i], weights, own, LINE_P, BY_ROWS);
        SUBGROUP_STEP
        for (uint u = gl_SubgroupInvocationID; u < SIDE * SIDE / 4; u += gl_SubgroupSize) {
            uint row = u / (SIDE / 4), column = u % (SIDE / 4), s = first + row0 + row;
            vec4 r = uintBitsToFloat(weights[own + row * LINE_P + column]) * factor[row0 + row];
            if (s < length) write_four(r, at.x + s * P_row.x, i * SIDE + 4 * column);
        }
        SUBGROUP_STEP
    }
}
