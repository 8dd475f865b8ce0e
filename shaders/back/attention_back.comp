// attention_back.comp - what comes back through attention: a workgroup takes SIDE rows of a head, which are
// queries or keys, and meets the rows of the other kind SIDE at a time. Memory grows with rows and not with
// their product: weights are computed anew from three numbers a query (its largest score, the inverse of the
// sum of e^(score - it), the sum of weight times what comes back to it), which the pass of queries measures
// first and leaves for the one of keys; where there is a logsumexp, a small pass makes them of it. A result is
// written by one invocation: the same bits in every run.
// Source: Dao 2023, "FlashAttention-2", algorithm 2.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/attention_back_f32.glsl"
const uint NEAR = 32;
#include "back/attention_back.glsl"

const uint SIDE = NEAR, PITCH = DEEP / 4 + 1, LINE = SIDE / 4 + 1;
const uint UNITS = DEEP / 32; /* fours of a part of a row's sum that an invocation has */
const uint SUMS = (DEPTH + DEEP - 1) / DEEP * UNITS, SUMS_V = (DEPTH_V + DEEP - 1) / DEEP * UNITS;

shared vec4 near_tile[SIDE * PITCH], far_tile[SIDE * PITCH];    /* [row][DEEP / 4], and one to keep apart */
shared vec4 weights[SIDE * LINE], back[SIDE * LINE];            /* [near][far] */
shared vec3 measure[SIDE];                                      /* of queries: most, inverse, along */

// Up to four neighbors of a row that begins at e.
vec4 four_of(const uint which, const uint e, const uint i, const uint size) {
    uvec4 raw = uvec4(0);
    uint step = P_column[which];
    if (i >= size) return vec4(0);
    if ((WIDE >> which & 1) == 1) raw = load_quad(BLOCK_OF(which), DTYPE_OF(which), e + i);
    else
        for (uint j = 0; j < 4 && i + j < size; j++)
            raw[j] = load(BLOCK_OF(which), DTYPE_OF(which), e + (i + j) * step);
    [[unroll]] for (int j = 0; j < 4; j++) raw[j] = f32_of(DTYPE_OF(which), raw[j]);
    return uintBitsToFloat(raw);
}

uint row0 = lane / 16 * 2, column0 = lane % 16; /* of scores: rows row0, + 1, columns column0, + 16 */
#define LOAD_TILE(tile, which, first, count, part, size)                                             \
    for (uint i = lane; i < SIDE * DEEP / 4; i += THREADS) {                                         \
        uint r = (first) + i / (DEEP / 4), column = (part) + i % (DEEP / 4) * 4;                     \
        tile[i / (DEEP / 4) * PITCH + i % (DEEP / 4)] =                                              \
            r < (count) ? four_of(which, at[which] + r * P_row[which], column, size) : vec4(0);      \
    }

// Rows of `near` times rows of `far`, this invocation's four: x y of row0, z w of row0 + 1. The last part of
// `far` stays in its tile.
#define PRODUCT(result, near, near_count, far, far_count, size)                                      \
    vec4 result = vec4(0);                                                                           \
    for (uint part = 0; part < (size); part += DEEP) {                                               \
        barrier();                                                                                   \
        LOAD_TILE(near_tile, near, near0, near_count, part, size)                                    \
        LOAD_TILE(far_tile, far, far0, far_count, part, size)                                        \
        barrier();                                                                                   \
        for (uint i = 0; i < DEEP / 4; i++) {                                                        \
            vec4 a = near_tile[row0 * PITCH + i], b = near_tile[(row0 + 1) * PITCH + i];             \
            vec4 c = far_tile[column0 * PITCH + i], e = far_tile[(column0 + 16) * PITCH + i];        \
            result += vec4(dot(a, c), dot(a, e), dot(b, c), dot(b, e));                              \
        }                                                                                            \
    }

// sum [near][size] += by [near][far] times rows of `far`, whose tile is loaded already if it has one part.
#define ADD_PRODUCT(sum, by, far, far_count, size, loaded)                                           \
    [[unroll]] for (uint part = 0; part < (size); part += DEEP) {                                    \
        if (!(loaded) || (size) > DEEP) {                                                            \
            barrier();                                                                               \
            LOAD_TILE(far_tile, far, far0, far_count, part, size)                                    \
            barrier();                                                                               \
        }                                                                                            \
        [[unroll]] for (uint u = 0; u < UNITS; u++) {                                                \
            uint unit = lane + THREADS * u, r = unit / (DEEP / 4), column = unit % (DEEP / 4);       \
            vec4 more = vec4(0);                                                                     \
            for (uint i = 0; i < SIDE / 4; i++) {                                                    \
                vec4 w = by[r * LINE + i];                                                           \
                more += w.x * far_tile[(4 * i) * PITCH + column];                                    \
                more += w.y * far_tile[(4 * i + 1) * PITCH + column];                                \
                more += w.z * far_tile[(4 * i + 2) * PITCH + column];                                \
                more += w.w * far_tile[(4 * i + 3) * PITCH + column];                                \
            }                                                                                        \
            sum[part / DEEP * UNITS + u] += more;                                                    \
        }                                                                                            \
    }

// Element j of this invocation's four: its row and column.
uint row_of(const uint j) {
    return row0 + j / 2;
}
uint column_of(const uint j) {
    return column0 + 16 * (j % 2);
}

// ---- measures ----

float most[2], total[2], along[2]; // of rows row0 and row0 + 1, over this invocation's columns

void measured(const uint j, const float score, const float comes) {
    uint r = j / 2;
    if (score == -INF) return;
    float now = is_nan(most[r]) || is_nan(score) ? most[r] + score : max(most[r], score);
    float rescale = most[r] == -INF ? 0 : my_exp(most[r] - now), power = my_exp(score - now);
    total[r] = total[r] * rescale + power;
    along[r] = along[r] * rescale + power * comes;
    most[r] = now;
}
void join_measures() {
    barrier();
    [[unroll]] for (uint r = 0; r < 2; r++) {
        uint i = (row0 + r) * 16 + column0;
        weights[i / 4][i % 4] = most[r];
        weights[SIDE * 4 + i / 4][i % 4] = total[r];
        back[i / 4][i % 4] = along[r];
    }
    barrier();
    if (lane < SIDE) {
        float top = -INF, sum = 0, product = 0;
        for (uint c = 0; c < 16; c++) {
            uint i = lane * 16 + c;
            float m = weights[i / 4][i % 4];
            top = is_nan(top) || is_nan(m) ? top + m : max(top, m);
        }
        for (uint c = 0; c < 16; c++) {
            uint i = lane * 16 + c;
            float m = weights[i / 4][i % 4], rescale = m == -INF ? 0 : my_exp(m - top);
            sum += weights[SIDE * 4 + i / 4][i % 4] * rescale;
            product += back[i / 4][i % 4] * rescale;
        }
        if (SINKS != 0 && sum != 0) {
            uint sink = load(BLOCK_OF(SINKS_OF), F32, P_sinks_at + head * P_sinks_stride);
            sum += my_exp(uintBitsToFloat(sink) - top);
        }
        float inverse = sum == 0 ? 0 : 1 / sum;
        measure[lane] = vec3(top, inverse, product * inverse);
        if (near0 + lane < P_length)
            for (uint i = 0; i < 3; i++) {
                uint bits = floatBitsToUint(measure[lane][i]);
                store(BLOCK_OF(MEASURES), F32, measures_of(near0 + lane) + i, bits);
            }
    }
    barrier();
}
// The measures of the query first + lane, into measure[lane]; all that follows is behind a barrier.
void load_measure(const uint first) {
    if (lane < SIDE && first + lane < P_length) {
        uvec3 m;
        for (uint i = 0; i < 3; i++) m[i] = load(BLOCK_OF(MEASURES), F32, measures_of(first + lane) + i);
        measure[lane] = uintBitsToFloat(m);
    }
    barrier();
}
// Of a logsumexp, in the place of sinks: it, 1, and g times the result, by PARTS invocations a query.
void give_measures() {
    const uint PARTS = THREADS / SIDE;
    uint r = lane / PARTS, query = near0 + r;
    float sum = 0;
    begin_head(gl_WorkGroupID.y);
    uint place = (gl_WorkGroupID.z * P_heads + head) * P_length + query;
    if (query < P_length)
        for (uint i = lane % PARTS; i < DEPTH_V; i += PARTS) {
            uint g = load(BLOCK_OF(G), GRADIENT, at.w + query * P_row.w + i * P_column.w);
            uint made = load(BLOCK_OF(MADE), DTYPE, P_made_at + place * DEPTH_V + i);
            sum += uintBitsToFloat(f32_of(GRADIENT, g)) * uintBitsToFloat(f32_of(DTYPE, made));
        }
    weights[lane / 4][lane % 4] = sum;
    barrier();
    if (lane % PARTS != 0 || query >= P_length) return;
    for (uint i = 1; i < PARTS; i++) sum += weights[(lane + i) / 4][(lane + i) % 4];
    store(BLOCK_OF(MEASURES), F32, P_measures + 3 * place, load(BLOCK_OF(SINKS_OF), F32, P_sinks_at + place));
    store(BLOCK_OF(MEASURES), F32, P_measures + 3 * place + 1, floatBitsToUint(1));
    store(BLOCK_OF(MEASURES), F32, P_measures + 3 * place + 2, floatBitsToUint(sum));
}

// ---- results ----

// Of a weight's product and what comes back to it: the weight, and what goes on to the product.
vec2 weight_of(const float product, const float comes, const uint query, const uint key, const uint of) {
    float score = score_of(product, query, key);
    vec3 m = measure[of];
    if (score == -INF || m.y == 0) return vec2(0);
    float weight = my_exp(score - m.x) * m.y;
    float slope = uintBitsToFloat(P_scale);
    if (SOFTCAP == 1) {
        float t = my_tanh(product * slope / uintBitsToFloat(P_softcap));
        slope *= 1 - t * t;
    }
    return vec2(weight, weight == 0 ? 0 : weight * (comes - m.z) * slope);
}
#define WRITE(sum, which, place, wide, dtype, heads, own, count, size)                               \
    [[unroll]] for (uint part = 0; part < (size); part += DEEP)                                      \
        [[unroll]] for (uint u = 0; u < UNITS; u++) {                                                \
            uint unit = lane + THREADS * u, r = near0 + unit / (DEEP / 4),                           \
                 column = part + unit % (DEEP / 4) * 4;                                              \
            if (r >= (count) || column >= (size)) continue;                                          \
            uint e = ((gl_WorkGroupID.z * (heads) + (own)) * (count) + r) * (size) + column;         \
            e += P_to[place];                                                                        \
            uvec4 bits = floatBitsToUint(sum[part / DEEP * UNITS + u]);                              \
            [[unroll]] for (int j = 0; j < 4; j++) bits[j] = narrow_of_f32(dtype, bits[j]);          \
            if ((wide) == 1) store_quad(BLOCK_OF(which), dtype, e, bits);                            \
            else                                                                                     \
                for (uint j = 0; j < 4 && column + j < (size); j++)                                  \
                    store(BLOCK_OF(which), dtype, e + j, bits[j]);                                   \
        }

void give_queries() {
    vec4 sum[SUMS];
    [[unroll]] for (uint i = 0; i < SUMS; i++) sum[i] = vec4(0);
    begin_head(gl_WorkGroupID.y);
    uvec2 range = keys_seen();
    most[0] = most[1] = -INF;
    total[0] = total[1] = along[0] = along[1] = 0;
    if (KNOWN == 1) load_measure(near0);
    [[dont_unroll]] for (uint pass = KNOWN; pass < 2; pass++) {
        [[dont_unroll]] for (far0 = range.x; far0 < range.y; far0 += SIDE) {
            PRODUCT(comes, G, P_length, V, P_keys, DEPTH_V)
            PRODUCT(product, Q, P_length, K, P_keys, DEPTH)
            if (pass == 0) {
                [[unroll]] for (uint j = 0; j < 4; j++)
                    measured(j, score_of(product[j], near0 + row_of(j), far0 + column_of(j)), comes[j]);
                continue;
            }
            [[unroll]] for (uint j = 0; j < 4; j++) {
                uint r = row_of(j), c = column_of(j);
                back[r * LINE + c / 4][c % 4] =
                    weight_of(product[j], comes[j], near0 + r, far0 + c, r).y;
            }
            barrier();
            ADD_PRODUCT(sum, back, K, P_keys, DEPTH, true)
        }
        if (pass == 0) join_measures();
    }
    WRITE(sum, TO, 0, WIDE >> 4 & 1, DTYPE, P_heads, head, P_length, DEPTH)
}

void give_keys() {
    vec4 sum[SUMS], sum_v[SUMS_V];
    [[unroll]] for (uint i = 0; i < SUMS; i++) sum[i] = vec4(0);
    [[unroll]] for (uint i = 0; i < SUMS_V; i++) sum_v[i] = vec4(0);
    uvec2 range = queries_seen();
    [[dont_unroll]] for (uint j0 = 0; j0 < P_group; j0++) {
        begin_head(gl_WorkGroupID.y * P_group + j0);
        [[dont_unroll]] for (far0 = range.x; far0 < range.y; far0 += SIDE) {
            PRODUCT(comes, V, P_keys, G, P_length, (WANTS_K ? DEPTH_V : 0))
            PRODUCT(product, K, P_keys, Q, P_length, DEPTH)
            load_measure(far0);
            [[unroll]] for (uint j = 0; j < 4; j++) {
                uint r = row_of(j), c = column_of(j);
                vec2 w = weight_of(product[j], comes[j], far0 + c, near0 + r, c);
                weights[r * LINE + c / 4][c % 4] = w.x;
                back[r * LINE + c / 4][c % 4] = w.y;
            }
            barrier();
            if (WANTS_K) { ADD_PRODUCT(sum, back, Q, P_length, DEPTH, true) }
            if (WANTS_V) { ADD_PRODUCT(sum_v, weights, G, P_length, DEPTH_V, false) }
        }
    }
    uint kv_heads = P_heads / P_group;
    if (WANTS_K) { WRITE(sum, TO, 1, WIDE >> 5 & 1, CACHE, kv_heads, gl_WorkGroupID.y, P_keys, DEPTH) }
    if (WANTS_V) { WRITE(sum_v, TO_V, 2, WIDE >> 6 & 1, CACHE, kv_heads, gl_WorkGroupID.y, P_keys, DEPTH_V) }
}

void main() {
    if (WHAT == BACK_KNOWN) give_measures();
    else if (OF_QUERIES) give_queries();
    else give_keys();
}
