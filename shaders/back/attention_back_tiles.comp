// attention_back_tiles.comp - attention_back by cooperative matrices of SIDE x SIDE x SIDE of f16 or bf16, as
// all operands are, with f32 sums: a subgroup takes SIDE near rows, whose operands it keeps in matrices, and
// the workgroup's SUBS subgroups share FAR rows of the other kind in shared memory at a time. What differs by
// row or by column only is a matrix whose columns or rows are equal, loaded with a stride of 0. Scores and
// their largest are those of base 2; there is no softcap.
#version 450
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#include "tables/attention_back_tiles.glsl"
const uint THREADS = gl_WorkGroupSize.x, NEAR = SUBS * SIDE;
#include "back/attention_back.glsl"
#define IN_BF16 (DTYPE != F16)
#include "common/element.glsl"

// Near rows of A meet far ones of X: scores. Those of B meet Y: what comes back to weights.
const uint A = OF_QUERIES ? Q : K, X = OF_QUERIES ? K : Q, B = OF_QUERIES ? G : V, Y = OF_QUERIES ? V : G;
// Lines of shared memory in eights, with what keeps lines out of each other's banks.
const uint LINE_X = DEPTH / 8 + 1, LINE_Y = DEPTH_V / 8 + 1, LINE_P = FAR / 8 + 1;
const uint SIZE_X = FAR * LINE_X, SIZE_XY = SIZE_X + FAR * LINE_Y;
const uint SIZE_NEAR = NEAR * (LINE_X > LINE_Y ? LINE_X : LINE_Y);
const uint PARTS = DEPTH / SIDE, PARTS_V = DEPTH_V / SIDE, COUNT = FAR / SIDE; /* matrices of a row of them */
const uint MOST = NEAR > FAR ? NEAR : FAR;
const float LOG2_E = 1.44269504;

shared uvec4 tiles[SIZE_XY > SIZE_NEAR ? SIZE_XY : SIZE_NEAR];
shared uvec4 own[NEAR * LINE_P]; // of a subgroup: its weights, or sums on the way to its lanes
shared float largest[MOST], inverse[MOST], along[MOST], counts[SIDE]; // of queries; 0, 1 .. SIDE - 1

uint row0 = gl_SubgroupID * SIDE, at_own = row0 * LINE_P;
uint near_count = OF_QUERIES ? P_length : P_keys, far_count = OF_QUERIES ? P_keys : P_length;

uvec4 eight_of(const uint which, const uint e) {
    switch (BLOCK_OF(which)) {
    case 0: return q0.d[e >> 3];
    case 1: return q1.d[e >> 3];
    case 2: return q2.d[e >> 3];
    case 3: return q3.d[e >> 3];
    case 4: return q4.d[e >> 3];
    default: return q5.d[e >> 3];
    }
}
// `rows` rows of an operand, `size` long, from `first` on, in lines of shared memory from `to` on.
void put(const uint which, const uint first, const uint count, const uint rows, const uint size,
         const uint to) {
    for (uint u = lane; u < rows * (size / 8); u += THREADS) {
        uint row = u / (size / 8), column = u % (size / 8);
        tiles[to + row * (size / 8 + 1) + column] =
            first + row < count ? eight_of(which, at[which] + (first + row) * P_row[which] + 8 * column)
                                : uvec4(0);
    }
}
#define LOAD_NEAR(matrices, which, line, parts, size)                                                \
    barrier();                                                                                       \
    put(which, near0, near_count, NEAR, size, 0);                                                    \
    barrier();                                                                                       \
    [[unroll]] for (uint i = 0; i < parts; i++)                                                      \
        coopMatLoad(matrices[i], tiles, row0 * line + i * SIDE / 8, line, BY_ROWS);

// Near rows times far ones.
#define PRODUCT(result, matrices, from, line, parts)                                                 \
    [[unroll]] for (uint j = 0; j < COUNT; j++) {                                                    \
        result[j] = SUMS(0.0);                                                                       \
        [[unroll]] for (uint i = 0; i < parts; i++) {                                                \
            coopMatLoad(right, tiles, from + j * SIDE * line + i * SIDE / 8, line, BY_COLUMNS);      \
            result[j] = coopMatMulAdd(matrices[i], right, result[j]);                                \
        }                                                                                            \
    }
// sum += by times far rows; bf16 as f16 of the same bits.
#define ADD_PRODUCT(sum, by, from, line, parts)                                                      \
    SUBGROUP_STEP                                                                                    \
    [[unroll]] for (uint j = 0; j < COUNT; j++) {                                                    \
        if (IN_BF16)                                                                                 \
            [[unroll]] for (uint i = 0; i < by[j].length(); i++)                                     \
                by[j][i] = unpackHalf2x16(pack_two(vec2(by[j][i], 0))).x;                            \
        coopMatStore(NARROW(by[j]), own, at_own + j * SIDE / 8, LINE_P, BY_ROWS);                    \
    }                                                                                                \
    SUBGROUP_STEP                                                                                    \
    [[unroll]] for (uint j = 0; j < COUNT; j++) {                                                    \
        coopMatLoad(left, own, at_own + j * SIDE / 8, LINE_P, BY_ROWS);                              \
        [[unroll]] for (uint i = 0; i < parts; i++) {                                                \
            coopMatLoad(right, tiles, from + j * SIDE * line + i * SIDE / 8, line, BY_ROWS);         \
            sum[i] = coopMatMulAdd(left, right, sum[i]);                                             \
        }                                                                                            \
    }
// Rows of sums, contiguous, as a result of `count` rows of each of `heads` heads.
#define WRITE(sum, which, place, dtype, heads, size)                                                 \
    [[unroll]] for (uint i = 0; i < size / SIDE; i++) {                                              \
        SUBGROUP_STEP                                                                                \
        coopMatStore(sum[i], own, at_own, LINE_P, BY_ROWS);                                          \
        SUBGROUP_STEP                                                                                \
        for (uint u = gl_SubgroupInvocationID; u < SIDE * SIDE / 4; u += gl_SubgroupSize) {          \
            uint row = u / (SIDE / 4), column = u % (SIDE / 4), r = near0 + row0 + row;              \
            if (r >= near_count) continue;                                                           \
            uvec4 bits = results_of(dtype, uintBitsToFloat(own[at_own + row * LINE_P + column]));    \
            uint e = ((gl_WorkGroupID.z * (heads) + gl_WorkGroupID.y) * near_count + r) * size;      \
            store_quad(BLOCK_OF(which), dtype, P_to[place] + e + i * SIDE + 4 * column, bits);       \
        }                                                                                            \
    }

// Whether all near rows see all far ones, and nothing is added to scores.
bool is_whole() {
    uint query = OF_QUERIES ? near0 : far0, key = OF_QUERIES ? far0 : near0;
    uint last = key + (OF_QUERIES ? FAR : NEAR) - 1;
    return MASK == 0 && P_window == 0 && query + (OF_QUERIES ? NEAR : FAR) <= P_length && last < P_keys &&
           (CAUSAL == 0 || last <= P_start + query);
}
#define SCALE(score)                                                                                 \
    if (is_whole()) {                                                                                \
        float factor = LOG2_E * uintBitsToFloat(P_scale);                                            \
        [[unroll]] for (uint j = 0; j < COUNT; j++) score[j] *= factor;                              \
    } else {                                                                                         \
        SUMS down, across;                                                                           \
        coopMatLoad(down, counts, 0, 0, BY_COLUMNS);                                                 \
        coopMatLoad(across, counts, 0, 0, BY_ROWS);                                                  \
        [[unroll]] for (uint j = 0; j < COUNT; j++)                                                  \
            [[unroll]] for (uint i = 0; i < down.length(); i++) {                                    \
                uint near = near0 + row0 + uint(down[i]), far = far0 + j * SIDE + uint(across[i]);   \
                score[j][i] = LOG2_E * (OF_QUERIES ? score_of(score[j][i], near, far)                \
                                                   : score_of(score[j][i], far, near));              \
            }                                                                                        \
    }
// Scores become weights, and what comes back to weights what goes on to scores.
#define WEIGH(score, comes, most, share, mean)                                                       \
    [[unroll]] for (uint i = 0; i < most.length(); i++) {                                            \
        score[i] = exp2(score[i] - most[i]) * share[i];                                              \
        comes[i] = score[i] == 0 ? 0 : score[i] * (comes[i] - mean[i]) * uintBitsToFloat(P_scale);   \
    }

// Of a row of a matrix of the subgroup: the sum.
float sum_of_row(const uint i) {
    vec4 four = vec4(0);
    [[unroll]] for (uint j = 0; j < SIDE / 4; j++) four += uintBitsToFloat(own[at_own + i * LINE_P + j]);
    return dot(four, vec4(1));
}
// The three numbers of this subgroup's queries, from their sums.
#define END_MEASURES(total, product)                                                                 \
    SUBGROUP_STEP                                                                                    \
    coopMatStore(total, own, at_own, LINE_P, BY_ROWS);                                               \
    SUBGROUP_STEP                                                                                    \
    for (uint i = gl_SubgroupInvocationID; i < SIDE; i += gl_SubgroupSize) {                         \
        float sum = sum_of_row(i), most = largest[row0 + i];                                         \
        if (SINKS != 0 && sum != 0) {                                                                \
            uint sink = load(BLOCK_OF(SINKS_OF), F32, P_sinks_at + head * P_sinks_stride);           \
            sum += exp2(LOG2_E * uintBitsToFloat(sink) - most);                                      \
        }                                                                                            \
        inverse[row0 + i] = sum == 0 ? 0 : 1 / sum;                                                  \
        largest[row0 + i] = most == -INF ? 0 : most;                                                 \
    }                                                                                                \
    SUBGROUP_STEP                                                                                    \
    coopMatStore(product, own, at_own, LINE_P, BY_ROWS);                                             \
    SUBGROUP_STEP                                                                                    \
    for (uint i = gl_SubgroupInvocationID; i < SIDE; i += gl_SubgroupSize) {                         \
        along[row0 + i] = sum_of_row(i) * inverse[row0 + i];                                         \
        if (near0 + row0 + i >= P_length) continue;                                                  \
        vec3 all = vec3(largest[row0 + i], inverse[row0 + i], along[row0 + i]);                      \
        for (uint j = 0; j < 3; j++)                                                                 \
            store(BLOCK_OF(MEASURES), F32, measures_of(near0 + row0 + i) + j, floatBitsToUint(all[j])); \
    }                                                                                                \
    SUBGROUP_STEP

// The largest score of each row so far, in `largest`; what older sums are scaled by, in `along`.
#define MEASURE(top)                                                                                 \
    SUBGROUP_STEP                                                                                    \
    coopMatStore(top, own, at_own, LINE_P, BY_ROWS);                                                 \
    SUBGROUP_STEP                                                                                    \
    for (uint i = gl_SubgroupInvocationID; i < SIDE; i += gl_SubgroupSize) {                         \
        vec4 four = uintBitsToFloat(own[at_own + i * LINE_P]);                                       \
        [[unroll]] for (uint j = 1; j < SIDE / 4; j++)                                               \
            four = max(four, uintBitsToFloat(own[at_own + i * LINE_P + j]));                         \
        float before = largest[row0 + i], now = max(before, max(max(four.x, four.y), max(four.z, four.w))); \
        largest[row0 + i] = now;                                                                     \
        inverse[row0 + i] = now == -INF ? 0 : now; /* what is taken off of scores */                 \
        along[row0 + i] = before == -INF ? 0 : exp2(before - now);                                   \
    }                                                                                                \
    SUBGROUP_STEP

// The three numbers of `count` queries from `first` on; there is no share where there is no query. What a
// logsumexp tells is of base e.
void load_measures(const uint first, const uint count) {
    for (uint i = lane; i < count; i += THREADS) {
        uvec3 m = uvec3(0);
        for (uint j = 0; j < 3 && first + i < P_length; j++)
            m[j] = load(BLOCK_OF(MEASURES), F32, measures_of(first + i) + j);
        largest[i] = uintBitsToFloat(m.x) * (KNOWN == 1 ? LOG2_E : 1);
        inverse[i] = uintBitsToFloat(m.y);
        along[i] = uintBitsToFloat(m.z);
    }
}

void put_far() {
    barrier();
    put(X, far0, far_count, FAR, DEPTH, 0);
    put(Y, far0, far_count, FAR, DEPTH_V, SIZE_X);
}

void give_queries() {
    LEFT a[PARTS], b[PARTS_V], left;
    RIGHT right;
    SUMS sum[PARTS], score[COUNT], comes[COUNT], total = SUMS(0.0), product = SUMS(0.0), top, old, mean;
    begin_head(gl_WorkGroupID.y);
    uvec2 range = keys_seen();
    [[unroll]] for (uint i = 0; i < PARTS; i++) sum[i] = SUMS(0.0);
    if (KNOWN == 1) load_measures(near0, NEAR);
    else
        for (uint i = lane; i < NEAR; i += THREADS) largest[i] = -INF;
    LOAD_NEAR(a, A, LINE_X, PARTS, DEPTH)
    LOAD_NEAR(b, B, LINE_Y, PARTS_V, DEPTH_V)
    uint first = range.x / FAR * FAR;
    for (far0 = first; KNOWN == 0 && far0 < range.y; far0 += FAR) {
        put_far();
        barrier();
        PRODUCT(score, a, 0, LINE_X, PARTS)
        PRODUCT(comes, b, SIZE_X, LINE_Y, PARTS_V)
        SCALE(score)
        top = score[0];
        [[unroll]] for (uint j = 1; j < COUNT; j++)
            [[unroll]] for (uint i = 0; i < top.length(); i++) top[i] = max(top[i], score[j][i]);
        MEASURE(top)
        coopMatLoad(top, inverse, row0, 0, BY_COLUMNS);
        coopMatLoad(old, along, row0, 0, BY_COLUMNS);
        total *= old;
        product *= old;
        [[unroll]] for (uint j = 0; j < COUNT; j++) {
            [[unroll]] for (uint i = 0; i < top.length(); i++) {
                score[j][i] = exp2(score[j][i] - top[i]);
                comes[j][i] = score[j][i] == 0 ? 0 : score[j][i] * comes[j][i];
            }
            total += score[j];
            product += comes[j];
        }
    }
    if (KNOWN == 0) { END_MEASURES(total, product) }
    coopMatLoad(top, largest, row0, 0, BY_COLUMNS);
    coopMatLoad(old, inverse, row0, 0, BY_COLUMNS);
    coopMatLoad(mean, along, row0, 0, BY_COLUMNS);
    for (far0 = first; far0 < range.y; far0 += FAR) {
        put_far();
        barrier();
        PRODUCT(score, a, 0, LINE_X, PARTS)
        PRODUCT(comes, b, SIZE_X, LINE_Y, PARTS_V)
        SCALE(score)
        [[unroll]] for (uint j = 0; j < COUNT; j++) { WEIGH(score[j], comes[j], top, old, mean) }
        ADD_PRODUCT(sum, comes, 0, LINE_X, PARTS)
    }
    WRITE(sum, TO, 0, DTYPE, P_heads, DEPTH)
}

void give_keys() {
    LEFT a[PARTS], b[PARTS_V], left;
    RIGHT right;
    SUMS sum[PARTS], sum_v[PARTS_V], score[COUNT], comes[COUNT], most, share, mean;
    [[unroll]] for (uint i = 0; i < PARTS; i++) sum[i] = SUMS(0.0);
    [[unroll]] for (uint i = 0; i < PARTS_V; i++) sum_v[i] = SUMS(0.0);
    uvec2 range = queries_seen();
    begin_head(gl_WorkGroupID.y * P_group);
    LOAD_NEAR(a, A, LINE_X, PARTS, DEPTH)
    LOAD_NEAR(b, B, LINE_Y, PARTS_V, DEPTH_V)
    for (uint j0 = 0; j0 < P_group; j0++) {
        begin_head(gl_WorkGroupID.y * P_group + j0);
        for (far0 = range.x / FAR * FAR; far0 < range.y; far0 += FAR) {
            put_far();
            load_measures(far0, FAR);
            barrier();
            PRODUCT(score, a, 0, LINE_X, PARTS)
            PRODUCT(comes, b, SIZE_X, LINE_Y, PARTS_V)
            SCALE(score)
            [[unroll]] for (uint j = 0; j < COUNT; j++) {
                coopMatLoad(most, largest, j * SIDE, 0, BY_ROWS);
                coopMatLoad(share, inverse, j * SIDE, 0, BY_ROWS);
                coopMatLoad(mean, along, j * SIDE, 0, BY_ROWS);
                WEIGH(score[j], comes[j], most, share, mean)
            }
            if (WANTS_V) { ADD_PRODUCT(sum_v, score, SIZE_X, LINE_Y, PARTS_V) }
            if (WANTS_K) { ADD_PRODUCT(sum, comes, 0, LINE_X, PARTS) }
        }
    }
    uint kv_heads = P_heads / P_group;
    if (WANTS_K) { WRITE(sum, TO, 1, CACHE, kv_heads, DEPTH) }
    if (WANTS_V) { WRITE(sum_v, TO_V, 2, CACHE, kv_heads, DEPTH_V) }
}

void main() {
    for (uint i = lane; i < SIDE; i += THREADS) counts[i] = float(i);
    if (OF_QUERIES) give_queries();
    else give_keys();
}
