// row.comp - softmax, log_softmax and the norms: a workgroup takes a line, looks at it once or twice, writes it.
// Sums are kept in two floats.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint KIND = 0;
layout(constant_id = 2) const uint TO = 12;
layout(constant_id = 3) const uint FROM = 12;
layout(constant_id = 4) const uint WEIGHT = 0;      // dtype, 0 = none
layout(constant_id = 5) const uint BIAS = 0;
layout(constant_id = 6) const uint PACKED = 0;      // 1: a line's elements fill whole words

#include "common.glsl"
#include "number.glsl"
#include "math_log.glsl"
#include "lines.glsl"

const uint SOFTMAX = 0, LOG_SOFTMAX = 1, LAYER = 2, RMS = 3;

DEFINE_LOAD(load_x, b1)
DEFINE_LOAD(load_weight, b2)
DEFINE_LOAD(load_bias, b3)
DEFINE_STORE(store, b0)

shared vec2 pairs[256];

vec2 sum_of_all(vec2 p) {
    uint lane = gl_LocalInvocationID.x;
    pairs[lane] = p;
    barrier();
    for (uint half_way = 128; half_way > 0; half_way /= 2) {
        if (lane < half_way) pairs[lane] = add2(pairs[lane], pairs[lane + half_way]);
        barrier();
    }
    p = pairs[0];
    barrier();
    return p;
}
float most_of_all(float x) {
    uint lane = gl_LocalInvocationID.x;
    pairs[lane].x = x;
    barrier();
    for (uint half_way = 128; half_way > 0; half_way /= 2) {
        if (lane < half_way) {
            float a = pairs[lane].x, b = pairs[lane + half_way].x;
            pairs[lane].x = is_nan(a) ? a : is_nan(b) ? b : max(a, b);
        }
        barrier();
    }
    x = pairs[0].x;
    barrier();
    return x;
}

float number(uint e) {
    return uintBitsToFloat(lane_of(FROM, load_x(FROM, e), LANE_F32).x);
}

// What is done to each element: (x - mean - mean_rest) * scale, and so on.
float shift = 0, shift_rest = 0, factor = 1;

float finished(uvec4 at) {
    precise float x = number(at.y), r;
    if (KIND == SOFTMAX) {
        r = my_exp(x - shift) * factor;
    } else if (KIND == LOG_SOFTMAX) {
        r = (x - shift) - factor;
    } else {
        r = ((x - shift) - shift_rest) * factor;
        if (WEIGHT != 0) r = r * uintBitsToFloat(lane_of(WEIGHT, load_weight(WEIGHT, at.z), LANE_F32).x);
        if (BIAS != 0) r = r + uintBitsToFloat(lane_of(BIAS, load_bias(BIAS, at.w), LANE_F32).x);
    }
    return r;
}

vec2 mean_square(uvec4 at, float size) {
    uint n = param[0].y;
    vec2 sum = vec2(0);
    for (uint i = gl_LocalInvocationID.x; i < n; i += 256) {
        precise float x = ((number(at.y + line_places(i).y) - shift) - shift_rest) * size, square = x * x;
        sum = square < 1e37 && sum.x < 1e37 ? add2(sum, two_product(x, x)) : vec2(sum.x + square, 0);
    }
    return div2(sum_of_all(sum), vec2(float(n), 0));
}

void main() {
    uint position = group_index(), n = param[0].y, lane = gl_LocalInvocationID.x;
    if (position >= param[0].x) return;
    uvec4 at = kept_places(position);
    vec2 sum = vec2(0);
    if (KIND == SOFTMAX || KIND == LOG_SOFTMAX) {
        float most = -INF;
        for (uint i = lane; i < n; i += 256) {
            float x = number(at.y + line_places(i).y);
            most = is_nan(most) ? most : is_nan(x) ? x : max(most, x);
        }
        shift = most_of_all(most);
        for (uint i = lane; i < n; i += 256) sum = add2(sum, vec2(my_exp(number(at.y + line_places(i).y) - shift), 0));
        sum = sum_of_all(sum);
        factor = KIND == SOFTMAX ? 1 / (sum.x + sum.y) : my_log(sum.x + sum.y);
    } else {
        if (KIND == LAYER) {
            for (uint i = lane; i < n; i += 256) sum = add2(sum, vec2(number(at.y + line_places(i).y), 0));
            vec2 mean = div2(sum_of_all(sum), vec2(float(n), 0));
            shift = mean.x;
            shift_rest = mean.y;
            sum = vec2(0);
        }
        float size = 1; /* squares that leave the range of f32 are taken again, of numbers of another size */
        vec2 mean = mean_square(at, size);
        if (!(mean.x < 1e37)) mean = mean_square(at, size = 5.42101086e-20);
        else if (mean.x < 1e-25) mean = mean_square(at, size = 1.84467441e19);
        precise float squares = size == 1 ? mean.x + (mean.y + uintBitsToFloat(param[1].x))
                                          : mean.x + uintBitsToFloat(param[1].x) * size * size;
        factor = size / sqrt(squares);
    }
    uint width = width_of(TO);
    if (PACKED == 0) {
        for (uint i = lane; i < n; i += 256) {
            uvec4 e = at + line_places(i);
            store(TO, e.x, raw_of(TO, uvec2(floatBitsToUint(finished(e)), 0), LANE_F32));
        }
        return;
    }
    uint each = 4 >> width; /* elements of a word */
    for (uint i = lane * each; i < n; i += 256 * each) {
        uint word = 0;
        for (uint j = 0; j < each; j++) {
            uvec4 e = at + line_places(i + j);
            word |= raw_of(TO, uvec2(floatBitsToUint(finished(e)), 0), LANE_F32).x << (j * (8 << width));
        }
        b0.d[(at.x + line_places(i).x) >> (2 - width)] = word;
    }
}
