// attention_back.glsl - what the ways of attention_back share: operands, who sees whom. A workgroup takes
// NEAR rows of a head, queries or keys, and meets the rows of the other kind, far ones. Memory grows with
// rows and not with their product: weights are computed anew from three numbers a query (its largest score,
// the inverse of the sum of e^(score - it), the sum of weight times what comes back to it), which the pass of
// queries measures first and leaves for the one of keys, or which a logsumexp tells.
// Source: Dao 2023, "FlashAttention-2", algorithm 2.
#include "tables/attention_back.glsl"

#include "common/common.glsl"
#include "back/blocks.glsl"
#include "common/number.glsl"
#include "math/math_exp.glsl"

const uint Q = 0, K = 1, V = 2, G = 3, MASKS = 4, SINKS_OF = 5, MEASURES = 6, TO = 7, TO_V = 8,
           MADE = 9;
const bool OF_QUERIES = WHAT == BACK_QUERIES, WANTS_V = (WHAT & BACK_VALUES) != 0,
           WANTS_K = WHAT != BACK_VALUES; /* or q: what comes back to scores */

#define BLOCK_OF(which) (BLOCKS >> (3 * (which)) & 7u)
#define DTYPE_OF(which) ((which) == Q ? DTYPE : (which) == G ? GRADIENT : CACHE)

uint lane = gl_LocalInvocationID.x;
uint near0 = gl_WorkGroupID.x * NEAR, far0, head; /* head: of queries */
uint mask_at;
uvec4 at; // first elements of q, k, v, g of the head

void begin_head(const uint query_head) {
    uint rest = gl_WorkGroupID.z;
    head = query_head;
    at = P_at + query_head * uvec4(P_head.x, 0, 0, P_head.w) + query_head / P_group * uvec4(0, P_head.yz, 0);
    at = places_of(at, rest, P_lead, ROW_stride, ROW_shape);
    mask_at = P_mask_at + query_head * P_mask_head;
    if (MASK != 0)
        for (uint d = P_lead; d-- > 0;) {
            mask_at += rest % size_at(ROW_shape, d) * size_at(ROW_mask_stride, d);
            rest /= size_at(ROW_shape, d);
        }
}

bool sees(const uint query, const uint key) {
    uint position = P_start + query, window = P_window;
    return query < P_length && key < P_keys && (CAUSAL == 0 || key <= position) &&
           (window == 0 || key + window > position);
}
// A product as it goes into the softmax; -INF: unseen.
float score_of(const float product, const uint query, const uint key) {
    if (!sees(query, key)) return -INF;
    float score = product * uintBitsToFloat(P_scale);
    if (SOFTCAP == 1) score = uintBitsToFloat(P_softcap) * my_tanh(score / uintBitsToFloat(P_softcap));
    if (MASK == 0) return score;
    uint m = load(BLOCK_OF(MASKS), MASK, mask_at + query * P_mask_row + key * P_mask_column);
    if (MASK == BOOL) return m != 0 ? score : -INF;
    return score + uintBitsToFloat(f32_of(MASK, m));
}
uint measures_of(const uint query) {
    return P_measures + 3 * ((gl_WorkGroupID.z * P_heads + head) * P_length + query);
}
// Keys that the queries of this workgroup may see: from x on, up to y.
uvec2 keys_seen() {
    uint last = min(near0 + NEAR, P_length) - 1, end = P_keys, begin = 0;
    if (CAUSAL == 1) end = min(end, P_start + last + 1);
    if (P_window > 0 && P_start + near0 + 1 > P_window) begin = P_start + near0 + 1 - P_window;
    return uvec2(begin, end);
}
// Queries that may see the keys of this workgroup.
uvec2 queries_seen() {
    uint last = min(near0 + NEAR, P_keys) - 1, end = P_length, begin = 0;
    if (CAUSAL == 1 && near0 > P_start) begin = near0 - P_start;
    if (P_window > 0) end = min(end, last + P_window > P_start ? last + P_window - P_start : 0);
    return uvec2(begin, end);
}
