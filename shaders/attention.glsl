// attention.glsl - what the ways to attention share: parameters, operands, which keys a query sees.
// softmax(scale q k^T + mask) v with an online softmax (Dao et al. 2022, "FlashAttention"). Grouped heads,
// causal, window, softcap; k and v may be q8_0. param[0] queries S, keys T, depth of v, heads; [1] scale,
// softcap, first position, window; [2] first elements of result, q, k, v (bytes of q8_0); [3] the mask's
// first element, row, head and column stride; [4] strides from row to row, [5] head to head, [6] column to
// column; [7] queries of a kv head, lead dims, first element of parts; [8 + d] lead strides; [14], [15] the
// mask's lead strides; [16], [17] lead shape
layout(constant_id = 0) const uint DTYPE = 12;      // of q and the result
layout(constant_id = 1) const uint CACHE = 12;      // of k and v
layout(constant_id = 2) const uint MASK = 0;        // dtype, 0 = none
layout(constant_id = 3) const uint CAUSAL = 0;
layout(constant_id = 4) const uint SOFTCAP = 0;
layout(constant_id = 5) const uint DEPTH = 64;      // of q and k
layout(constant_id = 6) const uint ALIGNED = 0;     // 1: rows of the result are whole words

#include "common.glsl"
#include "number.glsl"
#include "words.glsl"
#include "math_exp.glsl"

DEFINE_LOAD(load_q, b1)
DEFINE_LOAD(load_k, b2)
DEFINE_LOAD(load_v, b3)
DEFINE_LOAD(load_mask, b4)
DEFINE_STORE(store, b0)

const uint Q8_0 = 21;

float scale() {
    return uintBitsToFloat(param[1].x);
}

// First elements of result, q, k, v for this head; where the mask begins.
uvec4 head_places(const uint head, uint rest, out uint mask_at) {
    uvec4 at = param[2] + head * uvec4(param[5].xy, 0, 0) + head / param[7].x * uvec4(0, 0, param[5].zw);
    mask_at = param[3].x + head * param[3].z;
    at = places_of(at, rest, param[7].y, 8, 16);
    if (MASK != 0)
        for (uint d = param[7].y; d-- > 0;) {
            mask_at += rest % size_at(16, d) * size_at(14, d);
            rest /= size_at(16, d);
        }
    return at;
}
// Keys that queries first .. last may see: from x on, up to y.
uvec2 keys_of(const uint first, const uint last) {
    uint start = param[1].z, window = param[1].w, end = param[0].y, begin = 0;
    if (CAUSAL == 1) end = min(end, start + last + 1);
    if (window > 0 && start + first + 1 > window) begin = start + first + 1 - window;
    return uvec2(begin, end);
}
bool sees(const uint query, const uint key, const uint end) {
    uint position = param[1].z + query, window = param[1].w;
    return query < param[0].x && key < end && (CAUSAL == 0 || key <= position) &&
           (window == 0 || key + window > position);
}
// A product of a query and a key, scaled, as it goes into the softmax.
float score_of(const float dots, const uint mask_at, const uint query, const uint key) {
    float softcap = uintBitsToFloat(param[1].y), score = dots * scale();
    if (SOFTCAP == 1) score = softcap * my_tanh(score / softcap);
    if (MASK != 0) {
        uvec2 m = load_mask(MASK, mask_at + query * param[3].y + key * param[3].w);
        if (MASK == BOOL) return m.x != 0 ? score : -INF;
        score += uintBitsToFloat(f32_of(MASK, m.x));
    }
    return score;
}
// Up to four neighbours of a row of the result.
void write_four(const vec4 r, const uint row, const uint column) {
    uint e = row + column * param[6].x, word = 0, width = width_of(DTYPE), each = 4 >> width;
    for (uint i = 0; i < 4 && column + i < param[0].z; i++) {
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
