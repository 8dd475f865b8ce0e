// expand.comp - rows of a block type as bf16 or f32, element behind element: an invocation makes two fours.
// With INDEX the rows are those that indices pick.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/expand.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "common/fault.glsl"
#include "common/wide.glsl"
#define WEIGHTS b1
#define WIDE_WEIGHTS w1
#define BOOKS b2
#define BOOKS_AT P_books
#define IN_EIGHTS
#define KEEPS_SUBNORMALS
#include "common/blocks.glsl"
#define IN_BF16 true
#include "common/element.glsl"

#include "tables/memory_fours.glsl"

DEFINE_LOAD(load_index, b3)

// The first byte of a row; false: there is none of that index.
bool place_of_row(const uint row, const bool tells, out uint place) {
    if (INDEX == 0) {
        place = places_of(param[ROW_at], row, P_dims, ROW_stride, ROW_shape).x;
        return true;
    }
    uvec2 index = i64_of(INDEX, load_index(INDEX, P_index + row));
    bool there = index.y == 0 && index.x < P_size;
    if (!there && tells) tell(P_fault, P_kind, index, P_size);
    place = P_at + (there ? index.x * P_step : 0);
    return there;
}

void store_four(const uint at, const vec4 x) {
    if (TO == F32) w0.d[at / 4] = floatBitsToUint(x);
    else f0.d[at / 4] = uvec2(pack_two(x.xy), pack_two(x.zw));
}

void main() {
    uint unit = group_index() * THREADS + gl_LocalInvocationID.x, units = P_length / 8;
    uint row = unit / units, chunk = unit % units, pair = pair_distance(FROM);
    uint k = chunk / (pair / 4) * 2 * pair + chunk % (pair / 4) * 4, at = P_to + row * P_length + k;
    if (row >= P_rows) return;
    vec4 x, y, terms;
    uint place;
    bool there = place_of_row(row, chunk == 0, place);
    block_eight(FROM, place, uvec2(k, k + pair), x, y, terms);
    precise vec4 low = x, high = y;
    if (FROM != MXFP4) { /* each rounded as ggml does it; MXFP4's subnormals stay what they are */
        low = terms.x * x;
        high = terms.y * y;
        low = low - terms.z;
        high = high - terms.w;
    }
    store_four(at, there ? low : vec4(0));
    store_four(at + pair, there ? high : vec4(0));
}
