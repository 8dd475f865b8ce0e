// attention.comp - softmax(scale q k^T + mask) v with an online softmax (Dao et al. 2022, "FlashAttention"):
// a workgroup takes QUERIES positions of a head, KEYS keys at a time; sums live in registers, four neighbours of a
// row an invocation. Grouped heads, causal, window, softcap; k and v may be q8_0.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint DTYPE = 12;      // of q and the result
layout(constant_id = 1) const uint CACHE = 12;      // of k and v
layout(constant_id = 2) const uint MASK = 0;        // dtype, 0 = none
layout(constant_id = 3) const uint QUERIES = 8;
layout(constant_id = 4) const uint KEYS = 32;
layout(constant_id = 5) const uint DEPTH = 64;      // of q and k
layout(constant_id = 6) const uint SUMS = 1;        // vec4 sums of an invocation
layout(constant_id = 7) const uint CAUSAL = 0;
layout(constant_id = 8) const uint SOFTCAP = 0;
layout(constant_id = 9) const uint ALIGNED = 0;     // 1: rows of the result are whole words

#include "common.glsl"
#include "number.glsl"
#include "math_exp.glsl"

// param[0] queries S, keys T, depth of v, heads; [1] scale, softcap, first position, window; [2] first elements of
// result, q, k, v (bytes of q8_0); [3] the mask's first element, row, head and column stride; [4] strides from row
// to row, [5] head to head, [6] column to column; [7] queries of a kv head, lead dims; [8 + d] lead strides;
// [14], [15] the mask's lead strides; [16], [17] lead shape
DEFINE_LOAD(load_q, b1)
DEFINE_LOAD(load_k, b2)
DEFINE_LOAD(load_v, b3)
DEFINE_LOAD(load_mask, b4)
DEFINE_STORE(store, b0)

const uint Q8_0 = 21;

shared float queries[QUERIES * DEPTH], weights[QUERIES * KEYS], most[QUERIES], total[QUERIES], rescale[QUERIES];

#define DEFINE_FOUR(name, block, load)                                                                             \
    vec4 name(uint e, uint step, uint i, uint size) {                                                              \
        if (CACHE == Q8_0) {                                                                                       \
            uint b = e + i / 32 * 34, h = b >> 1, w = b + 2 + i % 32;                                              \
            float scale = uintBitsToFloat(f32_of_f16(block.d[h >> 1] >> ((h & 1) * 16) & 0xffff));                 \
            uint low = block.d[w >> 2], bits = (w & 2) == 0 ? low : low >> 16 | block.d[(w >> 2) + 1] << 16;       \
            return scale * vec4(int(bits << 24) >> 24, int(bits << 16) >> 24, int(bits << 8) >> 24, int(bits) >> 24); \
        }                                                                                                          \
        vec4 r = vec4(0);                                                                                          \
        for (uint j = 0; j < 4; j++)                                                                               \
            if (i + j < size) r[j] = uintBitsToFloat(f32_of(CACHE, load(CACHE, e + (i + j) * step).x));            \
        return r;                                                                                                  \
    }
DEFINE_FOUR(four_k, b2, load_k)
DEFINE_FOUR(four_v, b3, load_v)

void main() {
    uint lane = gl_LocalInvocationID.x, length = param[0].x, keys = param[0].y, depth_v = param[0].z;
    uint first = gl_WorkGroupID.x * QUERIES, head = gl_WorkGroupID.y, rest = gl_WorkGroupID.z;
    uvec4 at = param[2] + head * uvec4(param[5].xy, 0, 0) + head / param[7].x * uvec4(0, 0, param[5].zw);
    uint mask_at = param[3].x + head * param[3].z;
    for (int d = int(param[7].y) - 1; d >= 0; d--) {
        uint size = d < 4 ? param[16][d] : param[17][d - 4], index = rest % size;
        at += index * param[8 + d];
        mask_at += index * (d < 4 ? param[14][d] : param[15][d - 4]);
        rest /= size;
    }
    for (uint i = lane; i < QUERIES * DEPTH; i += 256) {
        uint s = first + i / DEPTH;
        uint e = at.y + s * param[4].y + i % DEPTH * param[6].y;
        queries[i] = s < length ? uintBitsToFloat(f32_of(DTYPE, load_q(DTYPE, e).x)) : 0;
    }
    if (lane < QUERIES) {
        most[lane] = -INF;
        total[lane] = 0;
    }
    vec4 sum[SUMS];
    for (uint j = 0; j < SUMS; j++) sum[j] = vec4(0);
    float scale = uintBitsToFloat(param[1].x), softcap = uintBitsToFloat(param[1].y);
    uint start = param[1].z, window = param[1].w, last = min(first + QUERIES, length) - 1, end = keys, begin = 0;
    if (CAUSAL == 1) end = min(keys, start + last + 1);
    if (window > 0 && start + first + 1 > window) begin = start + first + 1 - window;
    begin = begin / KEYS * KEYS;
    uint fours = (depth_v + 3) / 4;
    barrier();
    for (uint key0 = begin; key0 < end; key0 += KEYS) {
        for (uint pair = lane; pair < QUERIES * KEYS; pair += 256) {
            uint query = pair / KEYS, key = key0 + pair % KEYS, s = first + query, position = start + s;
            bool seen = s < length && key < end && (CAUSAL == 0 || key <= position) &&
                        (window == 0 || key + window > position);
            float score = -INF;
            if (seen) {
                float dots = 0;
                for (uint i = 0; i < DEPTH; i += 4) {
                    vec4 k = four_k(at.z + key * param[4].z, param[6].z, i, DEPTH);
                    for (uint j = 0; j < 4 && i + j < DEPTH; j++) dots += queries[query * DEPTH + i + j] * k[j];
                }
                score = dots * scale;
                if (SOFTCAP == 1) score = softcap * my_tanh(score / softcap);
                if (MASK != 0) {
                    uvec2 m = load_mask(MASK, mask_at + s * param[3].y + key * param[3].w);
                    if (MASK == BOOL) score = m.x != 0 ? score : -INF;
                    else score += uintBitsToFloat(f32_of(MASK, m.x));
                }
            }
            weights[pair] = score;
        }
        barrier();
        if (lane < QUERIES) {
            float old = most[lane], fresh = old;
            for (uint j = 0; j < KEYS; j++) {
                float w = weights[lane * KEYS + j];
                fresh = is_nan(fresh) ? fresh : is_nan(w) ? w : max(fresh, w);
            }
            rescale[lane] = old == -INF ? 0 : my_exp(old - fresh);
            most[lane] = fresh;
        }
        barrier();
        for (uint pair = lane; pair < QUERIES * KEYS; pair += 256) {
            float w = weights[pair];
            weights[pair] = w == -INF ? 0 : my_exp(w - most[pair / KEYS]);
        }
        barrier();
        if (lane < QUERIES) {
            float more = 0;
            for (uint j = 0; j < KEYS; j++) more += weights[lane * KEYS + j];
            total[lane] = total[lane] * rescale[lane] + more;
        }
        for (uint j = 0; j < SUMS; j++) {
            uint unit = lane + 256 * j;
            if (unit >= QUERIES * fours) break;
            uint query = unit / fours, column = unit % fours * 4;
            vec4 more = sum[j] * rescale[query];
            for (uint key = 0; key < KEYS && key0 + key < end; key++) {
                float w = weights[query * KEYS + key];
                if (w != 0) more += w * four_v(at.w + (key0 + key) * param[4].w, param[6].w, column, depth_v);
            }
            sum[j] = more;
        }
        barrier();
    }
    barrier();
    for (uint j = 0; j < SUMS; j++) {
        uint unit = lane + 256 * j;
        if (unit >= QUERIES * fours) break;
        uint query = unit / fours, column = unit % fours * 4, s = first + query, width = width_of(DTYPE);
        if (s >= length) break;
        vec4 r = total[query] == 0 ? vec4(0) : sum[j] / total[query];
        uint e = at.x + s * param[4].x + column * param[6].x, word = 0, each = 4 >> width;
        for (uint i = 0; i < 4 && column + i < depth_v; i++) {
            uint bits = narrow_of_f32(DTYPE, floatBitsToUint(r[i]));
            if (ALIGNED == 0) {
                store(DTYPE, e + i * param[6].x, uvec2(bits, 0));
                continue;
            }
            word |= bits << (i % each * (8 << width));
            if (i % each == each - 1) {
                b0.d[(e + i) >> (2 - width)] = word;
                word = 0;
            }
        }
    }
}
