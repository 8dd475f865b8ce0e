// attention.glsl - what the ways to attention share: parameters, operands, which keys a query sees.
// softmax(scale q k^T + mask) v with an online softmax (Dao et al. 2022, "FlashAttention"). Grouped heads,
// causal, window, softcap; k and v may be q8_0.
#include "tables/attention.glsl"
#include "tables/block_dtype.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "common/words.glsl"
#include "math/math_log.glsl"

DEFINE_LOAD(load_q, b1)
DEFINE_LOAD(load_k, b2)
DEFINE_LOAD(load_v, b3)
DEFINE_LOAD(load_mask, b4)
DEFINE_STORE(store, b0)

float scale() {
    return uintBitsToFloat(P_scale);
}

// First elements of result, q, k, v for this head; where the mask begins.
uvec4 head_places(const uint head, uint rest, out uint mask_at) {
    uvec4 at = P_at + head * uvec4(P_head.xy, 0, 0) + head / P_group * uvec4(0, 0, P_head.zw);
    mask_at = P_mask_at + head * P_mask_head;
    if (SINGLE == 0) at = places_of(at, rest, P_lead, ROW_stride, ROW_shape);
    if (MASK != 0)
        for (uint d = P_lead; d-- > 0;) {
            mask_at += rest % size_at(ROW_shape, d) * size_at(ROW_mask_stride, d);
            rest /= size_at(ROW_shape, d);
        }
    return at;
}
// Keys that queries first .. last may see: from x on, up to y.
uvec2 keys_of(const uint first, const uint last) {
    uint start = P_start, window = P_window, end = P_keys, begin = 0;
    if (CAUSAL == 1) end = min(end, start + last + 1);
    if (window > 0 && start + first + 1 > window) begin = start + first + 1 - window;
    return uvec2(begin, end);
}
bool sees(const uint query, const uint key, const uint end) {
    uint position = P_start + query, window = P_window;
    return query < P_length && key < end && (CAUSAL == 0 || key <= position) &&
           (window == 0 || key + window > position);
}
// A product of a query and a key, scaled, as it goes into the softmax.
float score_of(const float dots, const uint mask_at, const uint query, const uint key) {
    float softcap = uintBitsToFloat(P_softcap), score = dots * scale();
    if (SOFTCAP == 1) score = softcap * my_tanh(score / softcap);
    if (MASK != 0) {
        uvec2 m = load_mask(MASK, mask_at + query * P_mask_row + key * P_mask_column);
        if (MASK == BOOL) return m.x != 0 ? score : -INF;
        score += uintBitsToFloat(f32_of(MASK, m.x));
    }
    return score;
}
// What a row's result is multiplied by where its head has a sink: the share of the keys in all weights.
#define SINK_OF(block, head) uintBitsToFloat(block.d[P_sinks_at + (head) * P_sinks_stride])
float share_of_keys(const float sink, const float most, const float total) {
    if (total == 0) return 0;
    float top = max(most, sink), keys = total * my_exp(most - top);
    return keys / (keys + my_exp(sink - top));
}
// For the way back: the logarithm of the sum of e^score, without and with a sink; inf where nothing is seen.
void keep_logsumexp(const uint query, const float most, const float total) {
    if (KEPT == 0 || query >= P_length) return;
    float top = most, all = total;
    uint e = P_kept_at + (gl_WorkGroupID.z * P_heads + gl_WorkGroupID.y) * P_length + query;
    if (SINKS == 1 && total != 0) {
        float sink = SINK_OF(b5, gl_WorkGroupID.y);
        top = max(most, sink);
        all = total * my_exp(most - top) + my_exp(sink - top);
    }
    uint bits = floatBitsToUint(total == 0 ? INF : top + my_log(all));
    if (KEPT == 4) b4.d[e] = bits;
    else b5.d[e] = bits;
}
// Up to four neighbors of a row of the result.
void write_four(const vec4 r, const uint row, const uint column) {
    uint e = row + column * P_column.x, word = 0, width = width_of(DTYPE), each = 4 >> width;
    for (uint i = 0; i < 4 && column + i < P_value_depth; i++) {
        uint bits = narrow_of_f32(DTYPE, floatBitsToUint(r[i]));
        if (ALIGNED == 0) {
            store(DTYPE, e + i * P_column.x, uvec2(bits, 0));
            continue;
        }
        word |= bits << (i % each * (8 << width));
        if (i % each == each - 1) {
            b0.d[(e + i) >> (2 - width)] = word;
            word = 0;
        }
    }
}
