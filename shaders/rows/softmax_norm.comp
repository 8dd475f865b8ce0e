// softmax_norm.comp - softmax, log_softmax and the norms: LANES invocations take a line, keep it in registers
// where it lies element behind element and is not too long, and write it. Sums are kept in two floats.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/softmax_norm.glsl"

#include "common/common.glsl"
#include "common/quads.glsl"
#include "common/number.glsl"
#include "math/math_log.glsl"
#include "common/sums.glsl"
#include "common/lines.glsl"

const uint KEPT = HELD == 0 ? 1 : HELD;

DEFINE_LOAD(load_x, b1)
DEFINE_LOAD(load_weight, b2)
DEFINE_LOAD(load_bias, b3)
DEFINE_STORE(store, b0)
DEFINE_LOAD_QUAD(load_quad, b1, p1, q1)
DEFINE_LOAD_QUAD(load_weights, b2, p2, q2)
DEFINE_LOAD_QUAD(load_biases, b3, p3, q3)
DEFINE_STORE_QUAD(store_quad, b0, p0, q0)

shared vec2 pairs[THREADS];
shared bool retake;
const uint GROUP_LINES = THREADS / LANES;
uint lane = gl_LocalInvocationID.x % LANES;

vec2 sum_of_line(vec2 p) {
    uint id = gl_LocalInvocationID.x;
    pairs[id] = p;
    barrier();
    [[dont_unroll]] for (uint half_way = LANES / 2; half_way > 0; half_way /= 2) {
        if (lane < half_way) pairs[id] = join2(pairs[id], pairs[id + half_way]);
        barrier();
    }
    p = pairs[id - lane];
    barrier();
    return settled(p);
}
float most_of_line(float x) {
    uint id = gl_LocalInvocationID.x;
    pairs[id].x = x;
    barrier();
    [[dont_unroll]] for (uint half_way = LANES / 2; half_way > 0; half_way /= 2) {
        if (lane < half_way) pairs[id].x = max(pairs[id].x, pairs[id + half_way].x);
        barrier();
    }
    x = pairs[id - lane].x;
    barrier();
    return x;
}

float number(const uint e) {
    return uintBitsToFloat(f32_of(FROM, load_x(FROM, e).x));
}
vec4 numbers_of(const uint dtype, uvec4 raw) {
    [[unroll]] for (int j = 0; j < 4; j++) raw[j] = f32_of(dtype, raw[j]);
    return uintBitsToFloat(raw);
}

// What is done to each element: (x - shift - shift_rest) * factor, and so on.
float shift = 0, shift_rest = 0, factor = 1;
vec4 held[KEPT]; // softmax: later the powers
uint n = P_length;
uvec4 at;

float finished(const float x, const float weight, const float bias) {
    precise float r;
    if (KIND == SOFTMAX) return HELD > 0 ? x * factor : my_exp(x - shift) * factor;
    if (KIND == LOG_SOFTMAX) {
        r = (x - shift) - factor;
        return r;
    }
    r = ((x - shift) - shift_rest) * factor;
    if (WEIGHT != 0) r = r * weight;
    if (BIAS != 0) r = r + bias;
    return r;
}
uint finished_at(const uint i) {
    uvec4 e = at + line_places(i);
    float weight = 0, bias = 0;
    if (WEIGHT != 0) weight = uintBitsToFloat(f32_of(WEIGHT, load_weight(WEIGHT, e.z).x));
    if (BIAS != 0) bias = uintBitsToFloat(f32_of(BIAS, load_bias(BIAS, e.w).x));
    return narrow_of_f32(TO, floatBitsToUint(finished(number(e.y), weight, bias)));
}

// Passes over the line. STEP: 0 the largest, 1 powers, 2 the sum, 3 squares of x size.
const uint LARGEST = 0, POWERS = 1, PLAIN = 2, SQUARES = 3;
float stepped(const uint what, inout vec2 sum, float x, const float size) {
    if (what == LARGEST) sum.x = x > sum.x ? x : sum.x;
    if (what == POWERS) x = my_exp(x - shift);
    if (what == POWERS || what == PLAIN) sum = plus2(sum, x);
    if (what == SQUARES) {
        precise float y = ((x - shift) - shift_rest) * size, square = y * y;
        sum = plus2(sum, square);
    }
    return x;
}
vec2 walked(const uint what, const float size) {
    vec2 sum = vec2(what == LARGEST ? -INF : 0.0, 0);
    if (HELD == 0) {
        for (uint i = lane; i < n; i += LANES) stepped(what, sum, number(at.y + line_places(i).y), size);
    } else {
        /* squares and powers four at a time in f32 first: they are of one sign and lose next to nothing, but
         * numbers that hardly differ beside their mean what they differ by */
        [[unroll]] for (uint q = 0; q < KEPT; q++) {
            if ((q * LANES + lane) * 4 >= n) continue;
            precise vec4 x = held[q];
            if (what == LARGEST) {
                [[unroll]] for (int j = 0; j < 4; j++) sum.x = x[j] > sum.x ? x[j] : sum.x;
                continue;
            }
            if (what == PLAIN) {
                [[unroll]] for (int j = 0; j < 4; j++) sum = plus2(sum, x[j]);
                continue;
            }
            if (what == SQUARES) {
                x = ((x - shift) - shift_rest) * size;
                x = x * x;
            }
            if (what == POWERS) {
                [[unroll]] for (int j = 0; j < 4; j++) x[j] = my_exp(x[j] - shift);
                if (KIND == SOFTMAX) held[q] = x;
            }
            precise float four = (x.x + x.y) + (x.z + x.w);
            sum = plus2(sum, four);
        }
    }
    return what == LARGEST ? vec2(most_of_line(sum.x), 0) : sum_of_line(sum);
}
void learn_norm() {
    if (KIND == LAYER) {
        vec2 mean = div2(walked(PLAIN, 1), vec2(float(n), 0));
        shift = mean.x;
        shift_rest = mean.y;
    }
    /* squares that leave the range of f32 are taken again, of numbers of another size */
    vec2 mean = vec2(0);
    float size = 1;
    [[dont_unroll]] for (uint attempt = 0; attempt < 2; attempt++) {
        vec2 fresh = div2(walked(SQUARES, size), vec2(float(n), 0));
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

void write_held() {
    [[unroll]] for (uint q = 0; q < KEPT; q++) {
        uint i = (q * LANES + lane) * 4;
        if (i >= n) continue;
        vec4 x = held[q], weight = vec4(0), bias = vec4(0);
        uvec4 r;
        if (WEIGHT != 0) weight = numbers_of(WEIGHT, load_weights(WEIGHT, at.z + i));
        if (BIAS != 0) bias = numbers_of(BIAS, load_biases(BIAS, at.w + i));
        [[unroll]] for (int j = 0; j < 4; j++)
            r[j] = narrow_of_f32(TO, floatBitsToUint(finished(x[j], weight[j], bias[j])));
        store_quad(TO, at.x + i, r);
        if (ADDS == 0) continue;
        precise vec4 sum = uintBitsToFloat(q3.d[(at.w + i) >> 2]) + uintBitsToFloat(r);
        q3.d[(at.w + i) >> 2] = floatBitsToUint(sum);
    }
}

void main() {
    uint position = group_index() * GROUP_LINES + gl_LocalInvocationID.x / LANES;
    bool real_line = position < P_kept;
    at = kept_places(real_line ? position : 0);
    retake = false;
    if (HELD > 0)
        [[unroll]] for (uint q = 0; q < KEPT; q++) {
            uint i = (q * LANES + lane) * 4;
            if (i < n) held[q] = numbers_of(FROM, load_quad(FROM, at.y + i));
        }
    if (KIND == SOFTMAX || KIND == LOG_SOFTMAX) {
        shift = walked(LARGEST, 1).x;
        vec2 sum = walked(POWERS, 1);
        factor = KIND == SOFTMAX ? 1 / (sum.x + sum.y) : my_log(sum.x + sum.y);
    } else {
        learn_norm();
    }
    if (!real_line) return;
    if (HELD > 0) {
        write_held();
        return;
    }
    uint width = width_of(TO), each = PACKED == 0 ? 1 : 4 >> width; /* elements of a word */
    for (uint i = lane * each; i < n; i += LANES * each) {
        uint word = 0;
        for (uint j = 0; j < each; j++) word |= finished_at(i + j) << (j * (8 << width));
        if (PACKED == 0) store(TO, at.x + line_places(i).x, uvec2(word, 0));
        else b0.d[(at.x + line_places(i).x) >> (2 - width)] = word;
    }
}
