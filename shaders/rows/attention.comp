// attention.comp - attention of any operands: a workgroup takes QUERIES positions of a head, KEYS keys at a
// time; sums live in registers, four neighbors of a row an invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/attention_any.glsl"
#include "rows/attention.glsl"

// With several queries keys and values go through shared memory, PART numbers of a row at a time, in fours.
const bool SHARES = QUERIES > 1; /* then an invocation has a pair of a query and a key */
const uint PART = 64, PITCH = PART / 4 + 1, TILE_KEYS = QUERIES > 1 ? KEYS : 1;
shared vec4 tile[TILE_KEYS * PITCH];
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

// The tile is read by others before, and behind that.
#define LOAD_TILE(four_of, row_at, step, column_step, part, size)                                            \
    barrier();                                                                                               \
    for (uint u = gl_LocalInvocationID.x; u < KEYS * (PART / 4); u += THREADS) {                             \
        uint key = u / (PART / 4), i = u % (PART / 4);                                                       \
        bool there = key0 + key < end && (part) + 4 * i < (size);                                            \
        tile[key * PITCH + i] =                                                                              \
            there ? four_of(row_at + (key0 + key) * step, column_step, (part) + 4 * i, size) : vec4(0);      \
    }                                                                                                        \
    barrier();

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
        float product = 0; /* of this invocation's pair, with SHARES */
        if (SHARES)
            for (uint part = 0; part < DEPTH; part += PART) {
                LOAD_TILE(four_k, at.z, P_row.z, P_column.z, part, DEPTH)
                uint from = lane / KEYS * DEPTH + part;
                for (uint i = 0; i < PART && part + i < DEPTH; i += 4) {
                    vec4 k = tile[lane % KEYS * PITCH + i / 4];
                    [[unroll]] for (uint j = 0; j < 4; j++)
                        if (DEPTH % 4 == 0 || part + i + j < DEPTH) product += queries[from + i + j] * k[j];
                }
            }
        for (uint pair = lane; pair < QUERIES * KEYS; pair += THREADS) {
            uint query = pair / KEYS, key = key0 + pair % KEYS, s = first + query;
            float score = -INF;
            if (SHARES) {
                if (sees(s, key, end)) score = score_of(product, mask_at, s, key);
            } else if (sees(s, key, end)) {
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
        for (uint part = 0; SHARES && part < depth_v; part += PART) {
            LOAD_TILE(four_v, at.w, P_row.w, P_column.w, part, depth_v)
            for (uint j = 0; j < SUMS; j++) {
                uint unit = lane + THREADS * j, query = unit / fours, column = unit % fours * 4;
                if (unit >= QUERIES * fours || column < part || column >= part + PART) continue;
                vec4 more = sum[j] * rescale[query];
                for (uint key = 0; key < KEYS; key++) {
                    float w = weights[query * KEYS + key];
                    if (w != 0) more += w * tile[key * PITCH + (column - part) / 4];
                }
                sum[j] = more;
            }
        }
        for (uint j = 0; !SHARES && j < SUMS; j++) {
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
