// rows_back.comp - what comes back through softmax, log_softmax and the norms: LANES invocations take a line
// of g and of x (softmax: of the result), keep both in registers where they lie element behind element and
// are not too long, and write what comes back to x. What goes to weight and bias a workgroup adds up over its
// lines, one behind the other, as a row of block 4.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/rows_back.glsl"

#include "common/common.glsl"
#include "common/quads.glsl"
#include "tables/memory_chain.glsl"
#include "common/number.glsl"
#include "math/math_exp.glsl"
#include "common/sums.glsl"
#include "common/lines.glsl"

const uint KEPT = HELD == 0 ? 1 : HELD;
const bool IS_NORM = KIND == LAYER || KIND == RMS;

DEFINE_LOAD(load_g, b1)
DEFINE_LOAD(load_x, b2)
DEFINE_LOAD(load_weight, b3)
DEFINE_STORE(store, b0)
DEFINE_LOAD_QUAD(load_gs, b1, p1, q1)
DEFINE_LOAD_QUAD(load_xs, b2, p2, q2)
DEFINE_LOAD_QUAD(load_weights, b3, p3, q3)
DEFINE_STORE_QUAD(store_quad, b0, p0, q0)

shared vec4 pairs[THREADS];
shared bool retake;
const uint GROUP_LINES = THREADS / LANES;
uint lane = gl_LocalInvocationID.x % LANES;

// Two sums of a line, in two floats each.
vec4 sums_of_line(vec4 p) {
    uint id = gl_LocalInvocationID.x;
    pairs[id] = p;
    barrier();
    [[dont_unroll]] for (uint half_way = LANES / 2; half_way > 0; half_way /= 2) {
        if (lane < half_way) {
            vec4 q = pairs[id + half_way];
            p = vec4(join2(p.xy, q.xy), join2(p.zw, q.zw));
            pairs[id] = p;
        }
        barrier();
    }
    p = pairs[id - lane];
    barrier();
    return vec4(settled(p.xy), settled(p.zw));
}

vec4 numbers_of(const uint dtype, uvec4 raw) {
    [[unroll]] for (int j = 0; j < 4; j++) raw[j] = f32_of(dtype, raw[j]);
    return uintBitsToFloat(raw);
}

// The normalized x is (x - shift - shift_rest) * factor; total, total_rest and along are what is taken off of
// g. Means are in two floats: where a line hardly varies the factor is large, and what is left of g small.
float shift, shift_rest, factor, total, total_rest, along;
vec4 held_g[KEPT], held_x[KEPT];
uint n = P_length;
uvec4 at; // of the result, g, x, weight

float normal_of(const float x) {
    precise float y = ((x - shift) - shift_rest) * factor;
    return y;
}
float finished(const float g, const float x, const float weight) {
    if (KIND == SOFTMAX) return (g - along) * x;
    if (KIND == LOG_SOFTMAX) return g - my_exp(x) * along;
    precise float rest = (g * weight - total) - total_rest;
    return factor * (rest - normal_of(x) * along);
}

// Passes over the line: the sum of x; of squares, x being of another size; of what comes back.
const uint PLAIN = 0, SQUARES = 1, BACK = 2;
vec2 stepped(const uint what, const float g, const float x, const float weight, const float size) {
    if (what == PLAIN) return vec2(x, 0);
    if (what == SQUARES) {
        precise float y = ((x - shift) - shift_rest) * size, square = y * y;
        return vec2(square, 0);
    }
    if (KIND == SOFTMAX) return vec2(g * x, 0);
    if (KIND == LOG_SOFTMAX) return vec2(g, 0);
    precise float part = g * weight;
    return vec2(part * normal_of(x), part);
}
float g_at(const uint i) {
    return uintBitsToFloat(f32_of(GRADIENT, load_g(GRADIENT, at.y + line_places(i).y).x));
}
float x_at(const uint i) {
    return uintBitsToFloat(f32_of(FROM, load_x(FROM, at.z + line_places(i).z).x));
}
float weight_at(const uint i) {
    if (WEIGHT == 0) return 1;
    return uintBitsToFloat(f32_of(WEIGHT, load_weight(WEIGHT, at.w + line_places(i).w).x));
}
vec4 weights_at(const uint i) {
    return WEIGHT == 0 ? vec4(1) : numbers_of(WEIGHT, load_weights(WEIGHT, at.w + i));
}
vec4 walked(const uint what, const float size) {
    vec4 sum = vec4(0);
    if (HELD == 0) {
        for (uint i = lane; i < n; i += LANES) {
            bool back = what == BACK;
            float x = back && KIND == LOG_SOFTMAX ? 0 : x_at(i);
            vec2 more = stepped(what, back ? g_at(i) : 0, x, back && IS_NORM ? weight_at(i) : 1, size);
            sum = vec4(plus2(sum.xy, more.x), plus2(sum.zw, more.y));
        }
    } else {
        /* four at a time in f32 first: that is much less than what f32 loses in the sum of a long line, but
         * numbers that hardly differ beside their mean lose what they differ by */
        [[unroll]] for (uint q = 0; q < KEPT; q++) {
            uint i = (q * LANES + lane) * 4;
            if (i >= n) continue;
            vec4 g = held_g[q], x = held_x[q], weight = what == BACK ? weights_at(i) : vec4(1);
            vec2 more[4];
            [[unroll]] for (int j = 0; j < 4; j++) more[j] = stepped(what, g[j], x[j], weight[j], size);
            if (KIND == LAYER && what != SQUARES) {
                [[unroll]] for (int j = 0; j < 4; j++)
                    sum = vec4(plus2(sum.xy, more[j].x), plus2(sum.zw, more[j].y));
                continue;
            }
            precise vec2 four = (more[0] + more[1]) + (more[2] + more[3]);
            sum = vec4(plus2(sum.xy, four.x), plus2(sum.zw, four.y));
        }
    }
    return sums_of_line(sum);
}
// As softmax_norm.comp: squares that leave the range of f32 are taken again, of numbers of another size.
void learn_norm() {
    if (KIND == LAYER) {
        vec2 mean = div2(walked(PLAIN, 1).xy, vec2(float(n), 0));
        shift = mean.x;
        shift_rest = mean.y;
    }
    vec2 mean = vec2(0);
    float size = 1;
    [[dont_unroll]] for (uint attempt = 0; attempt < 2; attempt++) {
        vec2 fresh = div2(walked(SQUARES, size).xy, vec2(float(n), 0));
        if (attempt == 0 || size != 1) mean = fresh;
        if (attempt == 1) break;
        if (!(mean.x < 1e37)) size = 5.42101086e-20;
        else if (mean.x < 1e-25) size = 1.84467441e19;
        if (size != 1) retake = true;
        barrier();
        if (!retake) break;
    }
    float epsilon = uintBitsToFloat(P_f0);
    precise float squares = size == 1 ? mean.x + (mean.y + epsilon) : mean.x + epsilon * size * size;
    factor = size / sqrt(squares);
}
void learn_back() {
    vec4 sums = walked(BACK, 1);
    vec2 size = vec2(IS_NORM ? float(n) : 1, 0), mean = IS_NORM ? div2(sums.xy, size) : sums.xy;
    along = mean.x + mean.y;
    if (KIND != LAYER) return;
    mean = div2(sums.zw, size);
    total = mean.x;
    total_rest = mean.y;
}

// What goes to weight and bias: in registers, or, where a line is not kept, in block 4 itself, where each
// element is one invocation's.
vec4 for_weight[KEPT], for_bias[KEPT];
uint part_at(const uint which) {
    return P_f1 + (group_index() * SUMS + which) * n;
}
void add_at(const uint e, const float x, const bool first) {
    b4.d[e] = floatBitsToUint(first ? x : uintBitsToFloat(b4.d[e]) + x);
}
void write_held(const bool real_line) {
    [[unroll]] for (uint q = 0; q < KEPT; q++) {
        uint i = (q * LANES + lane) * 4;
        if (i >= n || !real_line) continue;
        vec4 g = held_g[q], x = held_x[q], weight = weights_at(i);
        uvec4 r;
        [[unroll]] for (int j = 0; j < 4; j++)
            r[j] = narrow_of_f32(TO, floatBitsToUint(finished(g[j], x[j], weight[j])));
        store_quad(TO, at.x + i, r);
        if (SUMS > 0)
            [[unroll]] for (int j = 0; j < 4; j++) for_weight[q][j] += g[j] * normal_of(x[j]);
        if (SUMS > 1) for_bias[q] += g;
    }
}
void write_line(const bool first) {
    uint width = width_of(TO), each = PACKED == 0 ? 1 : 4 >> width; /* elements of a word */
    for (uint i = lane * each; i < n; i += LANES * each) {
        uint word = 0;
        for (uint j = 0; j < each; j++) {
            float r = finished(g_at(i + j), x_at(i + j), weight_at(i + j));
            word |= narrow_of_f32(TO, floatBitsToUint(r)) << (j * (8 << width));
        }
        if (PACKED == 0) store(TO, at.x + line_places(i).x, uvec2(word, 0));
        else b0.d[(at.x + line_places(i).x) >> (2 - width)] = word;
    }
    if (SUMS > 0)
        for (uint i = lane; i < n; i += LANES) {
            float g = g_at(i);
            add_at(part_at(0) + i, g * normal_of(x_at(i)), first);
            if (SUMS > 1) add_at(part_at(1) + i, g, first);
        }
}
// Over the lines of a workgroup that were taken at once.
void give_sum(const uint which, const uint q, const vec4 mine) {
    uint id = gl_LocalInvocationID.x, i = (q * LANES + lane) * 4;
    pairs[id] = mine;
    barrier();
    if (id < LANES && i < n) {
        vec4 sum = pairs[id];
        for (uint k = 1; k < GROUP_LINES; k++) sum += pairs[id + k * LANES];
        [[unroll]] for (int j = 0; j < 4; j++) b4.d[part_at(which) + i + j] = floatBitsToUint(sum[j]);
    }
    barrier();
}

void main() {
    [[unroll]] for (uint q = 0; q < KEPT; q++) for_weight[q] = for_bias[q] = vec4(0);
    for (uint turn = 0; turn < P_extra; turn++) {
        uint position = (group_index() * P_extra + turn) * GROUP_LINES + gl_LocalInvocationID.x / LANES;
        bool real_line = position < P_kept;
        at = kept_places(real_line ? position : 0);
        retake = false;
        shift = shift_rest = total = total_rest = 0;
        factor = 1;
        if (HELD > 0)
            [[unroll]] for (uint q = 0; q < KEPT; q++) {
                uint i = (q * LANES + lane) * 4;
                if (i >= n) continue;
                held_g[q] = numbers_of(GRADIENT, load_gs(GRADIENT, at.y + i));
                held_x[q] = numbers_of(FROM, load_xs(FROM, at.z + i));
            }
        barrier(); /* retake */
        if (IS_NORM) learn_norm();
        learn_back();
        if (HELD > 0) write_held(real_line);
        else if (real_line) write_line(turn == 0);
    }
    if (HELD == 0 || SUMS == 0) return;
    [[unroll]] for (uint q = 0; q < KEPT; q++) {
        give_sum(0, q, for_weight[q]);
        if (SUMS > 1) give_sum(1, q, for_bias[q]);
    }
}
