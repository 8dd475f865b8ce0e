// attention.comp - attention of any operands: a workgroup takes QUERIES positions of a head, KEYS keys at a
// time; sums live in registers, four neighbors of a row an invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/attention_any.glsl"
#include "rows/attention.glsl"

shared float queries[QUERIES * DEPTH], weights[QUERIES * KEYS], most[QUERIES], total[QUERIES],
    rescale[QUERIES];

#define DEFINE_FOUR(name, block, load)                                                                       \
    vec4 name(const uint e, const uint step, const uint i, const uint size) {                                \
        if (CACHE == Q8_0) {                                                                                 \
            uint b = e + i / 32 * BYTES_Q8_0, h = b >> 1, w = b + 2 + i % 32;                                \
            float size_of_one = uintBitsToFloat(f32_of_f16(block.d[h >> 1] >> ((h & 1) * 16) & 0xffff));     \
            uint low = block.d[w >> 2], bits = (w & 2) == 0 ? low : low >> 16 | block.d[(w >> 2) + 1] << 16; \
            return size_of_one * signed_bytes(bits);                                                         \
        }                                                                                                    \
        vec4 r = vec4(0);                                                                                    \
        for (uint j = 0; j < 4; j++)                                                                         \
            if (i + j < size) r[j] = uintBitsToFloat(f32_of(CACHE, load(CACHE, e + (i + j) * step).x));      \
        return r;                                                                                            \
    }
DEFINE_FOUR(four_k, b2, load_k)
DEFINE_FOUR(four_v, b3, load_v)

void main() {
    uint lane = gl_LocalInvocationID.x, length = P_length, depth_v = P_value_depth,
         first = gl_WorkGroupID.x * QUERIES;
    uint mask_at;
    uvec4 at = head_places(gl_WorkGroupID.y, gl_WorkGroupID.z, mask_at);
    for (uint i = lane; i < QUERIES * DEPTH; i += THREADS) {
        uint s = first + i / DEPTH;
        uint e = at.y + s * P_row.y + i % DEPTH * P_column.y;
        queries[i] = s < length ? uintBitsToFloat(f32_of(DTYPE, load_q(DTYPE, e).x)) : 0;
    }
    if (lane < QUERIES) {
        most[lane] = -INF;
        total[lane] = 0;
    }
    vec4 sum[SUMS];
    for (uint j = 0; j < SUMS; j++) sum[j] = vec4(0);
    uvec2 range = keys_of(first, min(first + QUERIES, length) - 1);
    uint end = range.y, fours = (depth_v + 3) / 4;
    barrier();
    for (uint key0 = range.x / KEYS * KEYS; key0 < end; key0 += KEYS) {
        for (uint pair = lane; pair < QUERIES * KEYS; pair += THREADS) {
            uint query = pair / KEYS, key = key0 + pair % KEYS, s = first + query;
            float score = -INF;
            if (sees(s, key, end)) {
                float dots = 0;
                for (uint i = 0; i < DEPTH; i += 4) {
                    vec4 k = four_k(at.z + key * P_row.z, P_column.z, i, DEPTH);
                    for (uint j = 0; j < 4 && i + j < DEPTH; j++)
                        dots += queries[query * DEPTH + i + j] * k[j];
                }
                score = score_of(dots, mask_at, s, key);
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
        for (uint pair = lane; pair < QUERIES * KEYS; pair += THREADS) {
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
            uint unit = lane + THREADS * j;
            if (unit >= QUERIES * fours) break;
            uint query = unit / fours, column = unit % fours * 4;
            vec4 more = sum[j] * rescale[query];
            for (uint key = 0; key < KEYS && key0 + key < end; key++) {
                float w = weights[query * KEYS + key];
                if (w != 0) more += w * four_v(at.w + (key0 + key) * P_row.w, P_column.w, column, depth_v);
            }
            sum[j] = more;
        }
        barrier();
    }
    if (lane < QUERIES) keep_logsumexp(first + lane, most[lane], total[lane]);
    if (SINKS == 1 && lane < QUERIES)
        rescale[lane] = share_of_keys(SINK_OF(b5, gl_WorkGroupID.y), most[lane], total[lane]);
    barrier();
    for (uint j = 0; j < SUMS; j++) {
        uint unit = lane + THREADS * j;
        if (unit >= QUERIES * fours) break;
        uint query = unit / fours, s = first + query;
        if (s >= length) break;
        vec4 r = total[query] == 0 ? vec4(0) : sum[j] / total[query];
        if (SINKS == 1) r *= rescale[query];
        write_four(r, at.x + s * P_row.x, unit % fours * 4);
    }
}
