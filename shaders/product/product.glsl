// product.glsl - what the products share: parameters, operands, the epilogue. c = act(alpha a b + beta addend
// + bias), for every position of the leading dims (workgroup z).
#include "tables/product.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "common/fault.glsl"

#include "common/wide.glsl"
#define WEIGHTS b2
#define WIDE_WEIGHTS w2
#ifndef NO_BOOKS
#define BOOKS b5
#define BOOKS_AT P_books
#endif
#include "common/blocks.glsl"
#include "math/math_exp.glsl"

DEFINE_LOAD(load_a, b1)
DEFINE_LOAD(load_b, b2)
DEFINE_LOAD(load_addend, b3)
DEFINE_LOAD(load_bias, b4)
DEFINE_STORE(store_c, b0)

DEFINE_TELL(tell_without_bias, b4) /* block 5 may have books then */
// With IDS: the expert whose number lies at `place`.
uint expert_at_place(const uint place) {
    uvec2 id = i64_of(IDS, load_addend(IDS, place));
    if (id.y == 0 && id.x < P_experts) return id.x;
    if (DTYPE_BIAS == 0) tell_without_bias(P_fault, P_kind, id, P_experts);
    else tell(P_fault, P_kind, id, P_experts);
    return 0;
}
#ifndef OWN_EXPERTS
#define OWN_EXPERTS false
#endif
#ifndef CHOSEN_EXPERTS
#define CHOSEN_EXPERTS false
#endif
// b of the expert, and as w the place of its bias, counted from that of the first.
uvec4 at_expert(const uvec4 at, const uint expert) {
    return uvec4(at.xy, at.z + expert * P_expert_b, expert * P_expert_bias);
}
// With IDS those of the expert; where each row has an expert of its own, or who includes this is still to
// choose it, b is that of the first one.
uvec4 batch_places(const uint i) {
    uvec4 at = PARAM(ROW_at);
    if (SINGLE == 0) at = places_of(at, i, P_lead, ROW_stride, ROW_shape);
    if (SINGLE == 2) at += i * PARAM(ROW_stride);
    if (IDS == 0 || OWN_EXPERTS || CHOSEN_EXPERTS) return at;
    return at_expert(at, expert_at_place(at.w));
}
uint place_of_bias(const uvec4 at, const uint column) {
    return P_bias_at + (IDS == 0 ? 0 : at.w) + column * P_bias_stride;
}
// The tile of c that a workgroup takes: neighbors share rows and columns, in strips of eight tiles down.
uvec2 tile_of_group() {
    uint across = gl_NumWorkGroups.x, id = gl_WorkGroupID.y * across + gl_WorkGroupID.x,
         strip = id / (8 * across);
    uint high = min(8, gl_NumWorkGroups.y - 8 * strip), rest = id - strip * 8 * across;
    return uvec2(rest / high, 8 * strip + rest % high);
}
float number_a(const uint e) {
    return uintBitsToFloat(f32_of(DTYPE_A, load_a(DTYPE_A, e).x));
}
float number_b(const uint e) {
    return uintBitsToFloat(f32_of(DTYPE_B, load_b(DTYPE_B, e).x));
}

// Four or eight neighbors that lie in aligned words.
vec4 four_of(const uint dtype, const uvec2 words) {
    if (width_of(dtype) == 1) return four_halves(dtype, words);
    vec4 r;
    for (uint j = 0; j < 4; j++) r[j] = uintBitsToFloat(f32_of(dtype, words.x >> (8 * j) & 0xff));
    return r;
}
#define DEFINE_FOUR(name, block, wide)                                                \
    vec4 name(const uint dtype, const uint e) {                                       \
        switch (width_of(dtype)) {                                                    \
        case 2: return uintBitsToFloat(wide.d[e >> 2]);                               \
        case 1: return four_of(dtype, uvec2(block.d[e >> 1], block.d[(e >> 1) + 1])); \
        default: return four_of(dtype, uvec2(block.d[e >> 2], 0));                    \
        }                                                                             \
    }
DEFINE_FOUR(wide_a, b1, w1)
DEFINE_FOUR(wide_b, b2, w2)

float bias_at(const uint place) {
    return DTYPE_BIAS == 0 ? 0 : uintBitsToFloat(f32_of(DTYPE_BIAS, load_bias(DTYPE_BIAS, place).x));
}
// An element of c, from its sum of products, with its place in the addend and its bias, before an activation.
float summed_with(const float sum, const uint addend, const float bias) {
    precise float r = sum * uintBitsToFloat(P_alpha);
    if (DTYPE_ADDEND != 0)
        r = r + uintBitsToFloat(P_beta) *
                    uintBitsToFloat(f32_of(DTYPE_ADDEND, load_addend(DTYPE_ADDEND, addend).x));
    if (DTYPE_BIAS != 0) r = r + bias;
    return r;
}
float finished_with(const float sum, const uint addend, const float bias) {
    float r = summed_with(sum, addend, bias);
    switch (ACTIVATION) {
    case ACT_RELU: return is_nan(r) ? r : max(r, 0.0);
    case ACT_SQUARE: return is_nan(r) ? r : max(r, 0.0) * max(r, 0.0);
    case ACT_GELU: return my_gelu(r);
    case ACT_GELU_TANH: return my_gelu_tanh(r);
    case ACT_SILU: return my_silu(r);
    case ACT_SIGMOID: return my_sigmoid(r);
    case ACT_TANH: return my_tanh(r);
    default: return r;
    }
}
float finished(const float sum, const uvec4 at, const uint row, const uint column) {
    return finished_with(sum, at.w + row * P_row.w + column * P_column.w, bias_at(place_of_bias(at, column)));
}
