// product.glsl - what the products share: parameters, operands, the epilogue. c = act(alpha a b + beta addend
// + bias), for every position of the leading dims (workgroup z). param[0] rows M, columns N, inner size K,
// leading dims; [1] alpha, beta; [2] first elements of c, a, b, addend; [3].x of the bias, .y its stride, .z
// the first word of the books of block types; [4] strides from row to row of c, a, b (along k), addend; [5]
// from column to column of c, a (along k), b, addend; [6 + d] along leading dim d; [14], [15] leading shape.
// A block type b has bytes for elements, and its columns lie in rows of blocks.
layout(constant_id = 0) const uint DTYPE_C = 12;
layout(constant_id = 1) const uint DTYPE_A = 12;
layout(constant_id = 2) const uint DTYPE_B = 12;
layout(constant_id = 3) const uint DTYPE_ADDEND = 0;
layout(constant_id = 4) const uint DTYPE_BIAS = 0;
layout(constant_id = 5) const uint ACTIVATION = 0;
layout(constant_id = 6) const uint PACKED = 0; // elements of c that fill words and lie side by side: 2 or 4
layout(constant_id = 7) const uint A_ALONG = 0;     // 1: neighbours along k are neighbours in memory
layout(constant_id = 8) const uint B_ALONG = 0;
layout(constant_id = 9) const uint A_WIDE =
    0; // 1: what is contiguous of a lies in aligned fours (tiles: eights)
layout(constant_id = 10) const uint B_WIDE = 0;
layout(constant_id = 11) const uint PLAIN = 0;      // 1: c = a b, in aligned fours (tiles: whole matrices)

#include "common.glsl"
#include "number.glsl"

#include "wide.glsl"
#define WEIGHTS b2
#define WIDE_WEIGHTS w2
#ifndef NO_BOOKS
#define BOOKS b5
#define BOOKS_AT param[3].z
#endif
#include "blocks.glsl"
#include "math_exp.glsl"

DEFINE_LOAD(load_a, b1)
DEFINE_LOAD(load_b, b2)
DEFINE_LOAD(load_addend, b3)
DEFINE_LOAD(load_bias, b4)
DEFINE_STORE(store_c, b0)

uvec4 batch_places(const uint i) {
    return places_of(param[2], i, param[0].w, 6, 14);
}
// The tile of c that a workgroup takes: neighbours share rows and columns, in strips of eight tiles down.
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

// Four or eight neighbours that lie in aligned words.
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

float finished(const float sum, const uvec4 at, const uint row, const uint column) {
    precise float r = sum * uintBitsToFloat(param[1].x);
    if (DTYPE_ADDEND != 0) {
        uint e = at.w + row * param[4].w + column * param[5].w;
        r = r + uintBitsToFloat(param[1].y) *
                    uintBitsToFloat(f32_of(DTYPE_ADDEND, load_addend(DTYPE_ADDEND, e).x));
    }
    if (DTYPE_BIAS != 0) {
        uint e = param[3].x + column * param[3].y;
        r = r + uintBitsToFloat(f32_of(DTYPE_BIAS, load_bias(DTYPE_BIAS, e).x));
    }
    switch (ACTIVATION) {
    case 1: return is_nan(r) ? r : max(r, 0.0);
    case 2: return my_gelu(r);
    case 3: return my_gelu_tanh(r);
    case 4: return my_silu(r);
    case 5: return my_sigmoid(r);
    case 6: return my_tanh(r);
    default: return r;
    }
}
