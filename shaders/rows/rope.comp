// rope.comp - rotary position embedding: an invocation turns a pair of a row's elements, or moves one that
// stays. Angles are formed in two floats and reduced exactly. Lines are rows; operands: result, x, positions.
// With NORM, rms_norm of each row of x in f32 comes before it, and is written too; each invocation takes the
// sum of the row's squares, which are few.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/rope.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math.glsl"
#include "math/math_angle.glsl"
#include "common/lines.glsl"
#include "common/wide.glsl"
#include "rows/rope.glsl"

// Cosine and sine of a frequency (in two floats) times a position, times `magnitude`: the angle is formed in
// two floats and reduced exactly. scale: of the position, in two floats.
vec2 turn_at(const vec2 frequency, const int position, const vec2 scale, const float magnitude) {
    vec2 at = vec2(float(position), float(position - int(float(position))));
    vec2 angle = mul2(mul2(frequency, at), scale);
    int quarter;
    vec2 r = turns_of(angle.x, quarter);
    r = add2(r, vec2(angle.y, 0));
    precise float c = magnitude * sine_of_quarter(r, quarter + 1),
                  s = magnitude * sine_of_quarter(r, quarter);
    return vec2(c, s);
}

DEFINE_LOAD(load_x, b1)
DEFINE_LOAD(load_position, b2)
DEFINE_STORE(store, b0)
DEFINE_STORE(store_copy, b5)

float number(const uint e) {
    return uintBitsToFloat(f32_of(DTYPE, load_x(DTYPE, e).x));
}
void write(const uvec4 e, const uvec2 raw) {
    store(DTYPE, e.x, raw);
    if (COPY != 0) store_copy(COPY, e.w, uvec2(narrow_of_f32(COPY, f32_of(DTYPE, raw.x)), 0));
}
vec4 four_of_row(const uint e) {
    return uintBitsToFloat(w1.d[e >> 2]);
}
DEFINE_ROW_FACTOR(norm_factor, four_of_row)
// Element `k` of the row, at place e, as it is turned.
float turned(const uint e, const uint k, const float factor) {
    float x = number(e);
    if (NORM == 0) return x;
    precise float r = x * factor;
    r = r * uintBitsToFloat(b4.d[P_factors + k]);
    b0.d[e + P_normal] = floatBitsToUint(r);
    return r;
}
uvec2 raw_of_number(const float x) {
    return uvec2(narrow_of_f32(DTYPE, floatBitsToUint(x)), 0);
}

void main() {
    uint pairs = P_extra, each = P_length - pairs, i = group_index() * THREADS + gl_LocalInvocationID.x;
    if (i >= P_kept * each) return;
    uint place = i % each;
    uvec4 row = kept_places(i / each);
    float factor = NORM == 1 ? norm_factor(row.y, P_length, uintBitsToFloat(P_epsilon)) : 1;
    if (place >= pairs) { /* elements behind the turning ones stay */
        uvec4 e = row + (place + pairs) * param[ROW_line_stride];
        if (NORM == 1) write(e, raw_of_number(turned(e.y, place + pairs, factor)));
        else write(e, load_x(DTYPE, e.y));
        return;
    }
    int position = POSITIONS != 0 ? int(load_position(POSITIONS, row.z).x) : int(row.z - P_origin);
    uint f = P_frequencies + 2 * place;
    vec2 angle = vec2(uintBitsToFloat(b3.d[f]), uintBitsToFloat(b3.d[f + 1]));
    if (FACTORS == 1)
        angle = div2(angle, vec2(uintBitsToFloat(b4.d[P_factors + place * P_factors_stride]), 0));
    vec2 scale = vec2(uintBitsToFloat(P_f0), uintBitsToFloat(P_f1));
    vec2 turn = turn_at(angle, position, scale, uintBitsToFloat(P_f2));
    uint first = INTERLEAVED == 1 ? 2 * place : place, second = INTERLEAVED == 1 ? first + 1 : place + pairs;
    uvec4 ea = row + first * param[ROW_line_stride], eb = row + second * param[ROW_line_stride];
    float a = turned(ea.y, first, factor), b = turned(eb.y, second, factor);
    vec2 r = turned_pair(a, b, turn);
    write(ea, raw_of_number(r.x));
    write(eb, raw_of_number(r.y));
}
