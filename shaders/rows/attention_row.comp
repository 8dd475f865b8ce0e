// attention_row.comp - attention of few queries to many keys, as when a model writes: a workgroup takes
// one query of a head and one of PARTS ranges of its keys, THREADS at a time; where there are several
// parts, a second dispatch (MERGE) joins their sums. k and v lie in aligned eights. Where it TURNS, the row
// of the newest position is not in the cache yet.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tables/attention_row.glsl"
#include "rows/attention.glsl"
#include "common/wide.glsl"

const uint THREADS = gl_WorkGroupSize.x;
const uint EIGHTS = DEPTH_V / 8, GROUPS = THREADS / EIGHTS; // threads of a row of v; keys at a time
const uint AT_ONCE = 4;                                 // values that are on their way at a time
// Neighbors that share a key: an instruction that runs once takes longer than what it does, so that half the
// numbers of a key take little more than half the time.
const uint WISHED = DEPTH >= 512 ? 8 : DEPTH >= 256 ? 4 : DEPTH >= 64 ? 2 : 1;
const uint EVENLY = DEPTH / 8 & (~(DEPTH / 8) + 1), SHARE = EVENLY < WISHED ? EVENLY : WISHED;
const uint KEYS = THREADS / SHARE;                      // at a time
const uint OWN = DEPTH / SHARE;                         // numbers of a key that an invocation takes
const uint ROOM = DEPTH_V + 4;                          // of a part: its sums, their maximum, the total

shared vec4 query[DEPTH / 4];
// Neighbors of a subgroup that have the same column of v; those that are left when each has added its own.
const uint TEAMS = THREADS / LANES;
const uint ODD = EIGHTS & (EIGHTS - 1);                 // 0: a power of two
const bool ADDED = LANES > EIGHTS && ODD == 0;
const uint SUMS = ADDED ? TEAMS : GROUPS;

shared float weights[THREADS], few[LANES > 1 ? TEAMS : 16];
shared vec4 sums[2 * THREADS];

const bool HALVES = CACHE == F16 || CACHE == BF16; // elements of the caches have 16 bits
#include "rows/turned.glsl"

#define DEFINE_EIGHT(name, block, wide)                                                           \
    void name(const uint e, const uint i, out vec4 x, out vec4 y) {                               \
        if (CACHE == Q8_0) {                                                                      \
            uint b = e + i / 32 * BYTES_Q8_0, w = b + 2 + i % 32, odd = w >> 1 & 1;                       \
            uint p = block.d[w >> 2], q = block.d[(w >> 2) + 1], r = block.d[(w >> 2) + 1 + odd]; \
            float one = unpackHalf2x16(block.d[b >> 2] >> ((b & 2) * 8)).x;                       \
            x = one * signed_bytes(odd == 0 ? p : p >> 16 | q << 16);                             \
            y = one * signed_bytes(odd == 0 ? q : q >> 16 | r << 16);                             \
        } else if (CACHE == F32) {                                                                \
            x = uintBitsToFloat(wide.d[(e + i) >> 2]);                                            \
            y = uintBitsToFloat(wide.d[((e + i) >> 2) + 1]);                                      \
        } else {                                                                                  \
            uvec4 words = wide.d[(e + i) >> 3];                                                   \
            x = four_halves(CACHE, words.xy);                                                     \
            y = four_halves(CACHE, words.zw);                                                     \
        }                                                                                         \
    }
DEFINE_EIGHT(eight_k, b2, w2)
DEFINE_EIGHT(eight_v, b3, w3)

// Keys and values of 16 bits are fetched ahead of their use, as they lie: an invocation's key, and the first
// eights of AT_ONCE values. The newest ones are not there yet.
const bool FETCHES = HALVES && OWN <= 128;
uvec4 next_key[FETCHES ? OWN / 8 : 1], next_values[AT_ONCE];

bool is_newest(const uint key) {
    return TURNS != 0 && key == P_newest;
}
// The first number that the invocation takes of its key.
uint own_first() {
    return gl_LocalInvocationID.x % SHARE * OWN;
}
void fetch_key(const uint row, const uint key, const uint end) {
    if (!FETCHES || key >= end || is_newest(key)) return;
    uint first = (row + key * P_row.z + own_first()) >> 3;
    [[unroll]] for (uint i = 0; i < OWN / 8; i++) next_key[i] = w2.d[first + i];
}
// Eights at `column` of values first, first + step .. of those from key0 on, up to `here`.
void fetch_values(const uint row, const uint key0, const uint first, const uint step, const uint here) {
    if (!HALVES) return;
    [[unroll]] for (uint u = 0; u < AT_ONCE; u++) {
        uint j = first + u * step;
        if (j < here && !is_newest(key0 + j)) next_values[u] = w3.d[(row + (key0 + j) * P_row.w) >> 3];
    }
}
vec4 newest_four(const uint i) { /* of a cache of f32 */
    return uintBitsToFloat(uvec4(newest_bits[i], newest_bits[i + 1], newest_bits[i + 2], newest_bits[i + 3]));
}
void take_newest_key(const uint key) {
    if (!FETCHES || !is_newest(key)) return;
    [[unroll]] for (uint i = 0; i < OWN / 8; i++) next_key[i] = newest_words[own_first() / 8 + i];
}
void key_eight(const uint e, const uint key, const uint i, out vec4 x, out vec4 y) { /* i: of its own */
    uint place = own_first() + i;
    if (!FETCHES && is_newest(key)) {
        x = newest_four(place);
        y = newest_four(place + 4);
    } else if (FETCHES) {
        x = four_halves(CACHE, next_key[i / 8].xy);
        y = four_halves(CACHE, next_key[i / 8].zw);
    } else {
        eight_k(e, place, x, y);
    }
}
void value_eight(const uint e, const uint key, const uint i, const uvec4 fetched, out vec4 x, out vec4 y) {
    if (HALVES) {
        uvec4 words = is_newest(key) ? newest_words[(DEPTH + i) / 8] : fetched;
        x = four_halves(CACHE, words.xy);
        y = four_halves(CACHE, words.zw);
    } else if (is_newest(key)) {
        x = newest_four(DEPTH + i);
        y = newest_four(DEPTH + i + 4);
    } else {
        eight_v(e, i, x, y);
    }
}

// Of all invocations' numbers: by subgroups, whose shuffles take less time here than their own sums and
// maxima, or in two steps of sixteen.
float most_of_all(float x) {
    uint lane = gl_LocalInvocationID.x;
    if (LANES > 1) {
        [[unroll]] for (uint i = 1; i < LANES; i *= 2) x = max(x, subgroupShuffleXor(x, i));
        if (lane % LANES == 0) few[lane / LANES] = x;
        barrier();
        x = few[0];
        [[unroll]] for (uint i = 1; i < TEAMS; i++) x = max(x, few[i]);
        return x;
    }
    weights[lane] = x;
    barrier();
    if (lane < 16) {
        [[unroll]] for (uint i = 1; i < 16; i++) x = max(x, weights[lane + 16 * i]);
        few[lane] = x;
    }
    barrier();
    x = few[0];
    [[unroll]] for (uint i = 1; i < 16; i++) x = max(x, few[i]);
    return x;
}
// A sum's first step: in `few`, behind the next barrier.
void put_sum(float x) {
    uint lane = gl_LocalInvocationID.x;
    if (LANES > 1) {
        [[unroll]] for (uint i = 1; i < LANES; i *= 2) x += subgroupShuffleXor(x, i);
        if (lane % LANES == 0) few[lane / LANES] = x;
        return;
    }
    barrier();
    weights[lane] = x;
    barrier();
    if (lane >= 16) return;
    [[unroll]] for (uint i = 1; i < 16; i++) x += weights[lane + 16 * i];
    few[lane] = x;
}
float taken_sum() {
    float x = few[0];
    [[unroll]] for (uint i = 1; i < (LANES > 1 ? TEAMS : 16); i++) x += few[i];
    return x;
}

// Of those who share a key, in all of them.
float sum_of_sharers(float x) {
    if (SHARE == 1) return x;
    if (LANES >= SHARE) {
        [[unroll]] for (uint i = 1; i < SHARE; i *= 2) x += subgroupShuffleXor(x, i);
        return x;
    }
    uint lane = gl_LocalInvocationID.x, first = lane - lane % SHARE;
    weights[lane] = x;
    barrier();
    x = weights[first];
    [[unroll]] for (uint i = 1; i < SHARE; i++) x += weights[first + i];
    barrier();
    return x;
}

// Where the parts of a query of a head lie.
uint parts_at(const uint s) {
    return P_parts_at +
           ((gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * P_length + s) * PARTS * ROOM;
}

void merge(const uint s, const uint row) {
    uint from = parts_at(s), lane = gl_LocalInvocationID.x;
    float most = -INF, total = 0;
    for (uint i = 0; i < PARTS; i++) most = max(most, uintBitsToFloat(b5.d[from + i * ROOM + DEPTH_V]));
    vec4 sum = vec4(0);
    for (uint i = 0; i < PARTS; i++) {
        uint part = from + i * ROOM;
        float own = uintBitsToFloat(b5.d[part + DEPTH_V]), factor = own == -INF ? 0 : my_exp(own - most);
        total += factor * uintBitsToFloat(b5.d[part + DEPTH_V + 1]);
        for (uint j = 0; j < 4 && 4 * lane < DEPTH_V; j++)
            sum[j] += factor * uintBitsToFloat(b5.d[part + 4 * lane + j]);
    }
    if (4 * lane >= DEPTH_V) return;
    sum = total == 0 ? vec4(0) : sum / total;
    if (SINKS == 1) sum *= share_of_keys(SINK_OF(b4, gl_WorkGroupID.y), most, total);
    write_four(sum, row, 4 * lane);
}

void main() {
    uint lane = gl_LocalInvocationID.x, mask_at, s = MERGE == 1 ? gl_WorkGroupID.x : gl_WorkGroupID.x / PARTS;
    uint part = gl_WorkGroupID.x % PARTS;
    uvec4 at = head_places(gl_WorkGroupID.y, gl_WorkGroupID.z, mask_at);
    if (MERGE == 1) {
        merge(s, at.x + s * P_row.x);
        return;
    }
    uvec2 range = keys_of(s, s);
    uint each = (range.y - min(range.x, range.y) + PARTS - 1) / PARTS, begin = range.x + part * each;
    uint end = min(range.y, begin + each), group = lane / EIGHTS, column = lane % EIGHTS * 8;
    fetch_key(at.z, begin + lane / SHARE, end);
    float sink = SINKS == 1 && PARTS == 1 ? SINK_OF(b5, gl_WorkGroupID.y) : 0; /* before it is needed */
    if (TURNS != 0) {
        bool sees = P_newest >= begin && P_newest < end, keeps = sees && gl_WorkGroupID.y % P_group == 0;
        make_rows(gl_WorkGroupID.y, sees, part == 0, keeps);
        keep_newest(at.z + P_newest * P_row.z, at.w + P_newest * P_row.w, keeps);
    } else {
        for (uint i = lane; i < DEPTH; i += THREADS)
            query[i / 4][i & 3] =
                uintBitsToFloat(f32_of(DTYPE, load_q(DTYPE, at.y + s * P_row.y + i * P_column.y).x));
        barrier();
    }
    float most = -INF, total = 0;
    vec4 low = vec4(0), high = vec4(0);
    for (uint key0 = begin; key0 < end; key0 += KEYS) {
        uint key = key0 + lane / SHARE;
        uint here = min(KEYS, end - key0);
        if (key0 > begin) barrier(); /* weights and few are still read */
        float score = -INF, sum_of_dots = 0;
        if (group < GROUPS) fetch_values(at.w + column, key0, group, GROUPS, here);
        if (key < end) {
            take_newest_key(key);
            vec4 dots = vec4(0);
            [[unroll]] for (uint i = 0; i < OWN; i += 8) {
                vec4 x, y;
                key_eight(at.z + key * P_row.z, key, i, x, y);
                uint place = (own_first() + i) / 4;
                dots += query[place] * x + query[place + 1] * y;
            }
            sum_of_dots = dot(dots, vec4(1));
        }
        sum_of_dots = sum_of_sharers(sum_of_dots);
        if (key < end) score = score_of(sum_of_dots, mask_at, s, key);
        fetch_key(at.z, key + KEYS, end);
        float fresh = max(most, most_of_all(score)), rescale = most == -INF ? 0 : my_exp(most - fresh);
        float weight = score == -INF ? 0 : my_exp(score - fresh);
        most = fresh;
        total = total * rescale + (lane % SHARE == 0 ? weight : 0);
        if (lane % SHARE == 0) weights[lane / SHARE] = weight;
        barrier();
        low *= rescale;
        high *= rescale;
        if (group < GROUPS)
            for (uint first = group; first < here; first += AT_ONCE * GROUPS) {
                vec4 x[AT_ONCE], y[AT_ONCE];
                [[unroll]] for (uint u = 0; u < AT_ONCE; u++) {
                    uint j = first + u * GROUPS, own = key0 + j;
                    if (j < here)
                        value_eight(at.w + own * P_row.w, own, column, next_values[u], x[u], y[u]);
                }
                fetch_values(at.w + column, key0, first + AT_ONCE * GROUPS, GROUPS, here);
                [[unroll]] for (uint u = 0; u < AT_ONCE; u++) {
                    uint j = first + u * GROUPS;
                    if (j >= here) continue;
                    low += weights[j] * x[u];
                    high += weights[j] * y[u];
                }
            }
    }
    put_sum(total);
    uint place = lane;
    if (ADDED) {
        [[unroll]] for (uint i = EIGHTS; i < LANES; i *= 2) {
            low += subgroupShuffleXor(low, i);
            high += subgroupShuffleXor(high, i);
        }
        place = lane / LANES * EIGHTS + lane % LANES;
    }
    if (!ADDED || lane % LANES < EIGHTS) {
        sums[2 * place] = low;
        sums[2 * place + 1] = high;
    }
    barrier();
    if (lane >= 2 * EIGHTS) return;
    total = taken_sum();
    vec4 sum = sums[lane];
    [[unroll]] for (uint i = 1; i < SUMS; i++) sum += sums[2 * EIGHTS * i + lane];
    if (PARTS == 1) {
        sum = total == 0 ? vec4(0) : sum / total;
        if (SINKS == 1) sum *= share_of_keys(sink, most, total);
        write_four(sum, at.x + s * P_row.x, 4 * lane);
        return;
    }
    uint to = parts_at(s) + part * ROOM;
    for (uint j = 0; j < 4; j++) b5.d[to + 4 * lane + j] = floatBitsToUint(sum[j]);
    if (lane == 0) b5.d[to + DEPTH_V] = floatBitsToUint(most);
    if (lane == 0) b5.d[to + DEPTH_V + 1] = floatBitsToUint(total);
}
