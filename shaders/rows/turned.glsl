// turned.glsl - queries, and the key and value of the newest position, as attention_row.comp makes them
// itself (TURNS) instead of finding them: rms_norm of each head (NORM), rope, and what is kept of key and
// value in the cache's type. Each workgroup makes its head's own; one of them writes each result where calls
// of their own would have. Raw rows lie in block 1, results in block 0; positions, frequencies, factors and
// the norms' weights in block 4.
#include "math/math_angle.glsl"
#include "rows/rope.glsl"

shared vec4 raw_rows[TURNS == 1 ? DEPTH / 2 : 1];                // of q, of k
shared vec4 newest[TURNS == 1 ? (DEPTH + DEPTH_V + 3) / 4 : 1];  // the key, the value, as they are kept

DEFINE_LOAD(load_position, b4)

vec4 four_of_raw(const uint i) {
    return raw_rows[i / 4];
}
DEFINE_ROW_FACTOR(raw_factor, four_of_raw)
shared float raw_squares[NORM == 1 ? DEPTH / 2 : 1];             // of the fours of both rows: their sums

// The norm's factor of a row, added up in raw_factor's order, which takes over where squares leave the range.
float factor_of_raw(const uint side) {
    float epsilon = uintBitsToFloat(P_epsilon), sum = 0;
    for (uint i = 0; i < DEPTH / 4; i++) sum += raw_squares[side * (DEPTH / 4) + i];
    sum /= float(DEPTH);
    if (!(sum < 1e37) || sum < 1e-25) return raw_factor(side * DEPTH, DEPTH, epsilon);
    precise float squares = sum + epsilon;
    return 1 / sqrt(squares);
}

float as_kept(const float x) {
    return uintBitsToFloat(f32_of(CACHE, narrow_of_f32(CACHE, floatBitsToUint(x))));
}
// Element i of the row of q (side 0) or k, with its norm; `writes` that too.
float normed(const uint side, const uint head, const uint i, const float factor, const bool writes) {
    float x = raw_rows[(side * DEPTH + i) / 4][i & 3];
    if (NORM == 0) return x;
    precise float r = x * factor;
    r = r * uintBitsToFloat(b4.d[P_weight_at[side] + i]);
    if (writes) b0.d[P_normal_at[side] + head * P_normal_head[side] + i] = floatBitsToUint(r);
    return r;
}
void put_turned(const uint side, const uint head, const uint i, const float x, const bool writes) {
    if (side == 0) query[i / 4][i & 3] = x;
    else newest[i / 4][i & 3] = as_kept(x);
    if (writes) b0.d[P_turned_at[side] + head * P_turned_head[side] + i] = floatBitsToUint(x);
}
// The turn of pair `place`, where there is one.
vec2 turn_of(const uint place) {
    if (place >= P_pairs) return vec2(0);
    uint f = P_frequencies + 2 * place;
    vec2 angle = vec2(uintBitsToFloat(b4.d[f]), uintBitsToFloat(b4.d[f + 1]));
    if (FACTORS == 1)
        angle = div2(angle, vec2(uintBitsToFloat(b4.d[P_factors + place * P_factors_stride]), 0));
    int position = int(load_position(POSITIONS, P_position).x);
    return turn_at(angle, position, uintBitsToFloat(P_turn_scale), uintBitsToFloat(P_magnitude));
}
// Pair `place` of a row, or the element behind the pairs that stays as it is.
void turn_place(const uint side, const uint head, const uint place, const vec2 turn, const float factor,
                const bool writes) {
    uint pairs = P_pairs;
    if (place >= pairs) {
        put_turned(side, head, place + pairs, normed(side, head, place + pairs, factor, writes), writes);
        return;
    }
    uint first = INTERLEAVED == 1 ? 2 * place : place, second = INTERLEAVED == 1 ? first + 1 : place + pairs;
    float a = normed(side, head, first, factor, writes), b = normed(side, head, second, factor, writes);
    vec2 r = turned_pair(a, b, turn);
    put_turned(side, head, first, r.x, writes);
    put_turned(side, head, second, r.y, writes);
}
// The query of `head`; with `sees` the newest key and value. writes_q, writes_k: their results too.
void make_rows(const uint head, const bool sees, const bool writes_q, const bool writes_k) {
    uint lane = gl_LocalInvocationID.x, own = head / P_group, each = DEPTH - P_pairs;
    for (uint i = lane; i < DEPTH; i += THREADS) {
        raw_rows[i / 4][i & 3] = uintBitsToFloat(b1.d[P_raw_at.x + head * P_raw_head.x + i]);
        raw_rows[(DEPTH + i) / 4][i & 3] = uintBitsToFloat(b1.d[P_raw_at.y + own * P_raw_head.y + i]);
    }
    for (uint i = lane; i < DEPTH_V && sees; i += THREADS)
        newest[(DEPTH + i) / 4][i & 3] = as_kept(uintBitsToFloat(b1.d[P_raw_at.z + own * P_raw_head.z + i]));
    vec2 turn = turn_of(lane % each); /* while the rows are on their way */
    barrier();
    if (NORM == 1) {
        for (uint i = lane; i < DEPTH / 2; i += THREADS) raw_squares[i] = dot(raw_rows[i], raw_rows[i]);
        barrier();
    }
    for (uint i = lane; i < (sees ? 2 : 1) * each; i += THREADS) {
        uint side = i / each;
        float factor = NORM == 1 ? factor_of_raw(side) : 1;
        if (i != lane) turn = turn_of(i % each);
        turn_place(side, side == 0 ? head : own, i % each, turn, factor, side == 0 ? writes_q : writes_k);
    }
    barrier();
}
// Keeps elements first .. first + size - 1 of `newest` in a row of a cache that begins at element `to`.
#define DEFINE_KEEP(name, block)                                                                         \
    void name(const uint to, const uint first, const uint size) {                                        \
        uint each = CACHE == F32 ? 1 : 2;                                                                \
        for (uint i = each * gl_LocalInvocationID.x; i < size; i += each * THREADS) {                    \
            uint e = first + i, word = narrow_of_f32(CACHE, floatBitsToUint(newest[e / 4][e & 3]));      \
            if (each == 2) {                                                                             \
                e++;                                                                                     \
                word |= narrow_of_f32(CACHE, floatBitsToUint(newest[e / 4][e & 3])) << 16;               \
            }                                                                                            \
            block.d[(to + i) / each] = word;                                                             \
        }                                                                                                \
    }
DEFINE_KEEP(keep_key, b2)
DEFINE_KEEP(keep_value, b3)
