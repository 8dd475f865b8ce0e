// turned.glsl - queries, and the key and value of the newest position, as attention_row.comp makes them
// itself (TURNS) instead of finding them: rms_norm of each head (NORM), rope, and what is kept of key and
// value in the cache's type. Each workgroup makes its head's own; one of them writes each result where calls
// of their own would have. Raw rows lie in block 1, results in block 0; the turns of the position, a cosine
// and a sine for each pair, and the norms' weights in block 4. With TURNS 2 there is no rope: P_pairs is 0.
#include "rows/rope.glsl"

shared vec4 raw_rows[NORM == 1 ? DEPTH / 2 : 1];                 // of q, of k
// The key and the value as they are kept: bits of each element, and words of two.
shared uint newest_bits[TURNS != 0 ? DEPTH + DEPTH_V : 1];
shared uvec4 newest_words[TURNS != 0 && HALVES ? (DEPTH + DEPTH_V) / 8 : 1];

vec4 four_of_raw(const uint i) {
    return raw_rows[i / 4];
}
DEFINE_ROW_FACTOR(raw_factor, four_of_raw)
const uint SQUARES = (DEPTH / 4 + 3) / 4; // fours of those sums of a row: the last ones may be 0
shared vec4 raw_squares[NORM == 1 ? 2 * SQUARES : 1]; // of the fours of both rows: their sums

// The norm's factor of a row, added up in raw_factor's order, which takes over where squares leave the range.
float factor_of_raw(const uint side) {
    float epsilon = uintBitsToFloat(P_epsilon), sum = 0;
    [[dont_unroll]] for (uint i = 0; i < SQUARES; i++) {
        vec4 four = raw_squares[side * SQUARES + i];
        [[unroll]] for (uint j = 0; j < 4; j++) sum += four[j];
    }
    sum /= float(DEPTH);
    if (!(sum < 1e37) || sum < 1e-25) return raw_factor(side * DEPTH, DEPTH, epsilon);
    precise float squares = sum + epsilon;
    return 1 / sqrt(squares);
}

uint as_kept(const float x) {
    return narrow_of_f32(CACHE, floatBitsToUint(x));
}
// Element i of the row of q (side 0) or k, with its norm; `writes` that too.
float normed(const uint side, const uint head, const uint i, const float factor, const bool writes) {
    if (NORM == 0) return uintBitsToFloat(b1.d[P_raw_at[side] + head * P_raw_head[side] + i]);
    float x = raw_rows[(side * DEPTH + i) / 4][i & 3];
    precise float r = x * factor;
    r = r * uintBitsToFloat(b4.d[P_weight_at[side] + i]);
    if (writes) b0.d[P_normal_at[side] + head * P_normal_head[side] + i] = floatBitsToUint(r);
    return r;
}
void put_turned(const uint side, const uint head, const uint i, const float x, const bool writes) {
    if (side == 0) query[i / 4][i & 3] = x;
    else newest_bits[i] = as_kept(x);
    if (TURNS == 1 && writes) b0.d[P_turned_at[side] + head * P_turned_head[side] + i] = floatBitsToUint(x);
}
// The turn of pair `place`, where there is one.
vec2 turn_of(const uint place) {
    if (place >= P_pairs) return vec2(0);
    uint t = P_turns + 2 * place;
    return vec2(uintBitsToFloat(b4.d[t]), uintBitsToFloat(b4.d[t + 1]));
}
// Pair `place` of a row, or the element behind the pairs that stays as it is, which is done twice.
void turn_place(const uint side, const uint head, const uint place, const vec2 turn, const float factor,
                const bool writes) {
    const bool turns = place < P_pairs;
    uint first = turns && INTERLEAVED == 1 ? 2 * place : place, second = first + 1;
    if (INTERLEAVED == 0 || !turns) second = place + P_pairs;
    if (!turns) first = second;
    float a = normed(side, head, first, factor, writes), b = normed(side, head, second, factor, writes);
    vec2 r = turns ? turned_pair(a, b, turn) : vec2(a);
    put_turned(side, head, first, r.x, writes);
    put_turned(side, head, second, r.y, writes);
}
// The query of `head`; with `sees` the newest key and value. writes_q, writes_k: their results too.
void make_rows(const uint head, const bool sees, const bool writes_q, const bool writes_k) {
    uint lane = gl_LocalInvocationID.x, own = head / P_group, each = DEPTH - P_pairs;
    for (uint i = lane; i < DEPTH && NORM == 1; i += THREADS) {
        raw_rows[i / 4][i & 3] = uintBitsToFloat(b1.d[P_raw_at.x + head * P_raw_head.x + i]);
        raw_rows[(DEPTH + i) / 4][i & 3] = uintBitsToFloat(b1.d[P_raw_at.y + own * P_raw_head.y + i]);
    }
    for (uint i = lane; i < DEPTH_V && sees; i += THREADS)
        newest_bits[DEPTH + i] = as_kept(uintBitsToFloat(b1.d[P_raw_at.z + own * P_raw_head.z + i]));
    vec2 turn = turn_of(lane % each); /* while the rows are on their way */
    if (NORM == 1) {
        barrier();
        for (uint i = lane; i < 8 * SQUARES; i += THREADS) {
            uint four = i % (4 * SQUARES), row = i / (4 * SQUARES) * (DEPTH / 4) + four;
            raw_squares[i / 4][i & 3] = four < DEPTH / 4 ? dot(raw_rows[row], raw_rows[row]) : 0;
        }
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
// Makes words of the newest key and value; `keeps`: in the rows of the caches too that begin at these
// elements.
void keep_newest(const uint key_at, const uint value_at, const bool keeps) {
    const uint each = HALVES ? 2 : 1;
    for (uint i = gl_LocalInvocationID.x; i < (DEPTH + DEPTH_V) / each; i += THREADS) {
        uint e = each * i, word = newest_bits[e];
        if (HALVES) {
            word |= newest_bits[e + 1] << 16;
            newest_words[i / 4][i & 3] = word;
        }
        if (!keeps) continue;
        if (e < DEPTH) b2.d[(key_at + e) / each] = word;
        else b3.d[(value_at + e - DEPTH) / each] = word;
    }
    barrier();
}
