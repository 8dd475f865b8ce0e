// channels_back.comp - what comes back through batch, group and instance norm. A unit is a channel of all
// samples (of a batch), or a channel of one sample; some units next to each other share mean and deviation.
// A workgroup takes a part of a unit's samples. First it adds up g y and g, y being the normalized x; then,
// from these sums, it writes what comes back to x. Cut by shapes alone: the same bits in every run.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/channels_back.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math_exp.glsl"
#include "common/sums.glsl"

DEFINE_LOAD(load_g, b1)
DEFINE_LOAD(load_x, b2)
DEFINE_LOAD(load_weight, b3)
DEFINE_STORE(store, b0)
// Block 4: means and variances, then sums.

shared vec4 pairs[THREADS];
uint lane = gl_LocalInvocationID.x;

// Two sums of the workgroup, in two floats each.
vec2 sums_of(vec4 p) {
    pairs[lane] = p;
    barrier();
    [[dont_unroll]] for (uint half_way = THREADS / 2; half_way > 0; half_way /= 2) {
        if (lane < half_way) {
            vec4 q = pairs[lane + half_way];
            p = vec4(join2(p.xy, q.xy), join2(p.zw, q.zw));
            pairs[lane] = p;
        }
        barrier();
    }
    p = pairs[0];
    barrier();
    return vec2(p.x + p.y, p.z + p.w);
}
float number_of(const uint dtype, const uint raw) {
    return uintBitsToFloat(f32_of(dtype, raw));
}
float weight_of(const uint unit) {
    if (WEIGHT == 0) return 1;
    return number_of(WEIGHT, load_weight(WEIGHT, P_weight_at + unit % P_channels).x);
}
// Mean and variance of a unit lie P_apart numbers apart.
vec2 statistics_of(const uint unit) {
    uint e = P_statistics + unit / P_together;
    vec2 r = uintBitsToFloat(uvec2(b4.d[e], b4.d[e + P_apart]));
    return vec2(r.x, 1 / sqrt(r.y + uintBitsToFloat(P_epsilon)));
}
uint sum_at(const uint part, const uint which, const uint unit) {
    return P_sums + (part * 2 + which) * P_units + unit;
}

// The workgroup's unit and part, and the numbers of that part.
uint unit = group_index() % P_units, part = group_index() / P_units, count, first;
uint place_of(const uint i) {
    return ((first + i / P_size) * P_units + unit) * P_size + i % P_size;
}

void add_up(const vec2 statistics) {
    vec4 sum = vec4(0);
    for (uint i = lane; i < count; i += THREADS) {
        uint e = place_of(i);
        float g = number_of(GRADIENT, load_g(GRADIENT, P_at.y + e).x);
        float x = number_of(FROM, load_x(FROM, P_at.z + e).x);
        precise float y = (x - statistics.x) * statistics.y, gy = g * y;
        sum = vec4(plus2(sum.xy, gy), plus2(sum.zw, g));
    }
    vec2 all = sums_of(sum);
    if (lane == 0) b4.d[sum_at(part, 0, unit)] = floatBitsToUint(all.x);
    if (lane == 0) b4.d[sum_at(part, 1, unit)] = floatBitsToUint(all.y);
}

void write(const vec2 statistics) {
    float weight = weight_of(unit);
    vec2 mean = vec2(0);
    if (TRAINING == 1) {
        /* weighted sums of all units and parts that these statistics are of */
        uint from = unit / P_together * P_together;
        vec4 sum = vec4(0);
        for (uint i = lane; i < P_together * P_parts; i += THREADS) {
            uint other = from + i % P_together;
            float w = weight_of(other), gy = w * uintBitsToFloat(b4.d[sum_at(i / P_together, 0, other)]);
            float g = w * uintBitsToFloat(b4.d[sum_at(i / P_together, 1, other)]);
            sum = vec4(plus2(sum.xy, gy), plus2(sum.zw, g));
        }
        mean = sums_of(sum) / uintBitsToFloat(P_count);
    }
    for (uint i = lane; i < count; i += THREADS) {
        uint e = place_of(i);
        float r = weight * number_of(GRADIENT, load_g(GRADIENT, P_at.y + e).x);
        if (TRAINING == 1) {
            float y = (number_of(FROM, load_x(FROM, P_at.z + e).x) - statistics.x) * statistics.y;
            r = (r - mean.y) - y * mean.x;
        }
        store(TO, P_at.x + e, uvec2(narrow_of_f32(TO, floatBitsToUint(statistics.y * r)), 0));
    }
}

void main() {
    if (part >= P_parts) return;
    first = part * P_each;
    count = first < P_samples ? min(P_each, P_samples - first) * P_size : 0;
    vec2 statistics = statistics_of(unit);
    if (WRITES == 0) add_up(statistics);
    else write(statistics);
}
