// turned.glsl - queries, and the key and value of the newest position, as attention_row.comp makes them
// itself (TURNS) instead of finding them: rms_norm (NORM), rope, and what is kept of key and value in the
// cache's type. Each workgroup makes its head's own; one of them writes each result where calls
// of their own would have. Raw rows lie in block 1, results in block 0; the turns of the position, a cosine
// and a sine for each pair, and the norms' weights in block 4. With TURNS 2 there is no rope: P_pairs is 0.
#include "rows/rope.glsl"

// The norm is of each head, of all heads as one row, or of each head behind rope, which leaves the squares'
// sum as it is.
const bool NORMS_ROW = NORM == 2, NORMS_LATE = NORM == 3;

// The key and the value as they are kept: bits of each element, and words of two.
shared uint newest_bits[TURNS != 0 ? DEPTH + DEPTH_V : 1];
shared uvec4 newest_words[TURNS != 0 && HALVES ? (DEPTH + DEPTH_V) / 8 : 1];

// Where the raw row of q (side 0) or k begins.
uint raw_at(const uint side, const uint head) {
    return P_raw_at[side] + head * P_raw_head[side];
}
vec4 four_of_raw(const uint i) {
    return uintBitsToFloat(uvec4(b1.d[i], b1.d[i + 1], b1.d[i + 2], b1.d[i + 3]));
}
DEFINE_ROW_FACTOR(raw_factor, four_of_raw)

// Squares of the numbers of both rows, as far as they are added up: by subgroups, or in two steps of sixteen.
const uint SQUARES = LANES > 1 ? TEAMS : 16;
shared vec2 squares[NORM != 0 ? SQUARES : 1], all_squares[NORM != 0 && LANES == 1 ? THREADS : 1];

void put_squares(vec2 sum) {
    uint lane = gl_LocalInvocationID.x;
    if (LANES > 1) {
        [[unroll]] for (uint i = 1; i < LANES; i *= 2) sum += subgroupShuffleXor(sum, i);
        if (lane % LANES == 0) squares[lane / LANES] = sum;
    } else {
        all_squares[lane] = sum;
        barrier();
        if (lane < 16) {
            for (uint i = lane + 16; i < THREADS; i += 16) sum += all_squares[i];
            squares[lane] = sum;
        }
    }
    barrier();
}
// The norm's factor of a row; raw_factor takes over where squares leave the range.
float factor_of_raw(const uint side, const uint at) {
    float epsilon = uintBitsToFloat(P_epsilon), sum = 0;
    [[unroll]] for (uint i = 0; i < SQUARES; i++) sum += squares[i][side];
    uint length = NORMS_ROW ? P_heads / (side == 0 ? 1 : P_group) * DEPTH : DEPTH;
    sum /= float(length);
    if (!(sum < 1e37) || sum < 1e-25) return raw_factor(NORMS_ROW ? P_raw_at[side] : at, length, epsilon);
    precise float square = sum + epsilon;
    return 1 / sqrt(square);
}

// What an invocation adds to the squares of both whole rows, of which several quads are on their way at a
// time; without `sees` nobody asks for the second one's.
vec2 row_squares(const bool sees) {
    const uint quads = P_heads * (DEPTH / 4), all = quads + (sees ? quads / P_group : 0), ahead = 4;
    const uint from_q = P_raw_at.x / 4, from_k = P_raw_at.y / 4 - quads;
    vec2 sum = vec2(0);
    for (uint first = gl_LocalInvocationID.x; first < all; first += ahead * THREADS) {
        vec4 x[ahead];
        [[unroll]] for (uint u = 0; u < ahead; u++) {
            uint i = first + u * THREADS;
            x[u] = vec4(0);
            if (i < all) x[u] = uintBitsToFloat(w1.d[(i < quads ? from_q : from_k) + i]);
        }
        [[unroll]] for (uint u = 0; u < ahead; u++) {
            float square = dot(x[u], x[u]);
            sum += first + u * THREADS < quads ? vec2(square, 0) : vec2(0, square);
        }
    }
    return sum;
}

uint as_kept(const float x) {
    return narrow_of_f32(CACHE, floatBitsToUint(x));
}
// Pair `place` of a row, or the element behind the pairs that stays as it is, which is done twice: its
// elements, their numbers, the norm's weights, the turn.
struct pair {
    uvec2 at;
    vec2 x, weight, turn;
};
bool is_pair(const uint place) {
    return place < P_pairs;
}
pair pair_at(const uint side, const uint raw, const uint place) {
    pair p;
    uint first = is_pair(place) && INTERLEAVED == 1 ? 2 * place : place, second = first + 1;
    if (INTERLEAVED == 0 || !is_pair(place)) second = place + P_pairs;
    p.at = uvec2(is_pair(place) ? first : second, second);
    p.x = uintBitsToFloat(uvec2(b1.d[raw + p.at.x], b1.d[raw + p.at.y]));
    p.weight = p.turn = vec2(0);
    if (NORM != 0) {
        uint w = P_weight_at[side] + (NORMS_ROW ? raw - P_raw_at[side] : 0);
        p.weight = uintBitsToFloat(uvec2(b4.d[w + p.at.x], b4.d[w + p.at.y]));
    }
    if (is_pair(place)) {
        uint t = P_turns + 2 * place;
        p.turn = uintBitsToFloat(uvec2(b4.d[t], b4.d[t + 1]));
    }
    return p;
}
vec2 normed_pair(const uint side, const uint head, const pair p, const vec2 x, const float factor,
                 const bool writes) {
    uint to = P_normal_at[side] + head * P_normal_head[side];
    precise vec2 r = x * factor;
    r = r * p.weight;
    if (writes) b0.d[to + p.at.x] = floatBitsToUint(r.x);
    if (writes) b0.d[to + p.at.y] = floatBitsToUint(r.y);
    return r;
}
void turn_pair(const uint side, const uint head, const pair p, const float factor, const bool turns,
               const bool writes) {
    vec2 r = p.x;
    if (NORM != 0 && !NORMS_LATE) r = normed_pair(side, head, p, r, factor, writes);
    if (turns) r = turned_pair(r.x, r.y, p.turn);
    uint to = P_turned_at[side] + head * P_turned_head[side];
    if (TURNS == 1 && writes) b0.d[to + p.at.x] = floatBitsToUint(r.x);
    if (TURNS == 1 && writes) b0.d[to + p.at.y] = floatBitsToUint(r.y);
    if (NORMS_LATE) r = normed_pair(side, head, p, r, factor, writes);
    [[unroll]] for (uint i = 0; i < 2; i++) {
        if (side == 0) query[p.at[i] / 4][p.at[i] & 3] = r[i];
        else newest_bits[p.at[i]] = as_kept(r[i]);
    }
}
// The query of `head`; with `sees` the newest key and value. writes_q, writes_k: their results too. All that
// an invocation reads is on its way before the first of it is needed.
void make_rows(const uint head, const bool sees, const bool writes_q, const bool writes_k) {
    uint lane = gl_LocalInvocationID.x, own = head / P_group, each = DEPTH - P_pairs;
    const uint count = (sees ? 2 : 1) * each;
    const uvec2 raw = uvec2(raw_at(0, head), raw_at(1, own));
    pair p;
    if (lane < count) p = pair_at(lane / each, raw[lane / each], lane % each);
    vec2 sum = NORMS_ROW ? row_squares(sees) : vec2(0);
    for (uint i = lane; i < DEPTH && NORM != 0 && !NORMS_ROW; i += THREADS) {
        vec2 x = uintBitsToFloat(uvec2(b1.d[raw.x + i], b1.d[raw.y + i]));
        sum += x * x;
    }
    for (uint i = lane; i < DEPTH_V && sees; i += THREADS)
        newest_bits[DEPTH + i] = as_kept(uintBitsToFloat(b1.d[P_raw_at.z + own * P_raw_head.z + i]));
    if (NORM != 0) put_squares(sum);
    for (uint i = lane; i < count; i += THREADS) {
        uint side = i / each, place = i % each;
        float factor = NORM != 0 ? factor_of_raw(side, raw[side]) : 1;
        if (i != lane) p = pair_at(side, raw[side], place);
        turn_pair(side, side == 0 ? head : own, p, factor, is_pair(place), side == 0 ? writes_q : writes_k);
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
