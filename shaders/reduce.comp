// reduce.comp - reductions: LANES invocations share a line, partial states are merged through shared memory.
// Float sums are kept in two floats. Lines are taken twice where a mean or a maximum is wanted first. Few long lines
// are cut into SEGMENTS, whose results a second dispatch reduces; param[1].w is what a mean is divided by then, or 0.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint KIND = 0;
layout(constant_id = 1) const uint LANE = 0;
layout(constant_id = 2) const uint TO = 12;
layout(constant_id = 3) const uint FROM = 12;
layout(constant_id = 4) const uint LANES = 256;     // invocations of a line, a power of two
layout(constant_id = 5) const uint ACROSS = 0;      // 1: neighbours among invocations are neighbours in kept order
layout(constant_id = 6) const uint FINISH = 0;
layout(constant_id = 7) const uint PLACES = 0;      // 1: also stores indices, as I64; 2: stores these alone
layout(constant_id = 8) const uint SEGMENTS = 1;    // parts of a line, each with a result of its own (LANES is 256)

#include "common.glsl"
#include "number.glsl"
#include "integer.glsl"
#include "math_log.glsl"
#include "lines.glsl"

const uint SUM = 0, SQUARES = 1, ABSOLUTE = 2, PRODUCT = 3, MOST = 4, LEAST = 5, COUNT = 6, MOMENTS = 7,
           LOGSUMEXP = 8, MOST_ABSOLUTE = 9, LEAST_ABSOLUTE = 10;
const uint PLAIN = 0, MEAN = 1, VARIANCE = 2, DEVIATION = 3, ROOT = 4, ALL = 5, ANY = 6;
const bool REAL = LANE == LANE_F32;

DEFINE_LOAD(load_x, b0)
DEFINE_STORE(store, b1)
DEFINE_STORE(store_place, b2)

// State: floats and integers as bits. SUM, SQUARES, ABSOLUTE: two floats, or an integer; MOST, LEAST: value and
// place; COUNT: an integer; MOMENTS: sum of squares about the mean; LOGSUMEXP: sum of e^(x - shift).
shared uvec4 states[256];

vec2 pair_of(uvec4 s) {
    return vec2(uintBitsToFloat(s.x), uintBitsToFloat(s.y));
}
uvec4 state_of(vec2 p) {
    return uvec4(floatBitsToUint(p.x), floatBitsToUint(p.y), 0, 0);
}
bool finite(float x) {
    return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u;
}
uvec4 plus_float(uvec4 s, vec2 x) {
    vec2 p = pair_of(s);
    float plain = p.x + x.x;
    return state_of(finite(plain) ? add2(p, x) : vec2(plain, 0));
}
uvec4 times_float(uvec4 s, vec2 x) {
    vec2 p = pair_of(s);
    precise float plain = p.x * x.x;
    bool safe = finite(plain) && size_of(plain) > 1e-30 && size_of(p.x) < 1e30 && size_of(x.x) < 1e30;
    return state_of(safe ? mul2(p, x) : vec2(plain, 0));
}
// Whether candidate (value, place) takes the place of s: NaN wins, of equals the first.
bool replaces(uvec4 s, uvec2 value, uint place, bool most) {
    if (s.w == 0) return true;
    if (REAL) {
        float old = uintBitsToFloat(s.x), fresh = uintBitsToFloat(value.x);
        if (is_nan(old)) return is_nan(fresh) && place < s.z;
        if (is_nan(fresh)) return true;
        if (fresh == old) return place < s.z;
        return most ? fresh > old : fresh < old;
    }
    if (value == s.xy) return place < s.z;
    bool less = LANE == LANE_U64 ? below(value, s.xy) : below_signed(value, s.xy);
    return most != less;
}

float rest = 0; // of a mean that `shift` has the first part of

uvec4 begun() {
    if (KIND == PRODUCT) return REAL ? state_of(vec2(1, 0)) : uvec4(1, 0, 0, 0);
    return uvec4(0);
}
uvec4 added(uvec4 s, uvec2 v, uint place, float shift) {
    float x = uintBitsToFloat(v.x);
    bool most = KIND == MOST || KIND == MOST_ABSOLUTE;
    switch (KIND) {
    case SUM: return REAL ? plus_float(s, vec2(x, 0)) : uvec4(plus(s.xy, v), 0, 0);
    case SQUARES: {
        precise float y = x * shift;
        return plus_float(s, finite(y) ? two_product(y, y) : vec2(y * y, 0));
    }
    case ABSOLUTE: return plus_float(s, vec2(size_of(x), 0));
    case PRODUCT: return REAL ? times_float(s, vec2(x, 0)) : uvec4(times(s.xy, v), 0, 0);
    case COUNT: {
        bool counts = REAL ? is_nan(x) || x != 0 : (v.x | v.y) != 0;
        return counts ? uvec4(plus(s.xy, uvec2(1, 0)), 0, 0) : s;
    }
    case MOMENTS: {
        precise float y = (x - shift) - rest;
        return plus_float(s, finite(y) ? two_product(y, y) : vec2(y * y, 0));
    }
    case LOGSUMEXP: return plus_float(s, vec2(my_exp(x - shift), 0));
    case MOST_ABSOLUTE: case LEAST_ABSOLUTE: v.x &= 0x7fffffffu; break;
    }
    return replaces(s, v, place, most) ? uvec4(v, place, 1) : s;
}
uvec4 merged(uvec4 s, uvec4 t) {
    switch (KIND) {
    case SUM: case SQUARES: case ABSOLUTE: case MOMENTS: case LOGSUMEXP:
        return REAL ? plus_float(s, pair_of(t)) : uvec4(plus(s.xy, t.xy), 0, 0);
    case PRODUCT: return REAL ? times_float(s, pair_of(t)) : uvec4(times(s.xy, t.xy), 0, 0);
    case COUNT: return uvec4(plus(s.xy, t.xy), 0, 0);
    }
    if (t.w == 0) return s;
    return replaces(s, t.xy, t.z, KIND == MOST || KIND == MOST_ABSOLUTE) ? t : s;
}

const uint GROUP_LINES = 256 / LANES;
uint slot_of(uint line, uint lane) {
    return ACROSS == 1 ? lane * GROUP_LINES + line : line * LANES + lane;
}
// The line's state in its lane 0, from every lane's; all invocations come here.
uvec4 joined(uint line, uint lane, uvec4 s) {
    states[slot_of(line, lane)] = s;
    barrier();
    for (uint half_way = LANES / 2; half_way > 0; half_way /= 2) {
        if (lane < half_way) {
            s = merged(s, states[slot_of(line, lane + half_way)]);
            states[slot_of(line, lane)] = s;
        }
        barrier();
    }
    return s;
}
shared vec2 shared_pair[256];

void main() {
    uint line = ACROSS == 1 ? gl_LocalInvocationID.x % GROUP_LINES : gl_LocalInvocationID.x / LANES;
    uint lane = ACROSS == 1 ? gl_LocalInvocationID.x / GROUP_LINES : gl_LocalInvocationID.x % LANES;
    uint position = group_index() / SEGMENTS * GROUP_LINES + line, segment = group_index() % SEGMENTS, n = param[0].y;
    bool real_line = position < param[0].x;
    uvec4 at = kept_places(real_line ? position : 0);
    uint part = (n + SEGMENTS - 1) / SEGMENTS, begin = segment * part + lane, end = min(n, (segment + 1) * part);
    if (SEGMENTS > 1) at.y = param[2].y + position * SEGMENTS + segment;
    float shift = 0;
    if (KIND == MOMENTS || KIND == LOGSUMEXP || KIND == SQUARES) { /* what has to be known first */
        vec2 sum = vec2(0);
        float most = -INF;
        if (real_line)
            for (uint i = lane; i < n; i += LANES) {
                float x = uintBitsToFloat(lane_of(FROM, load_x(FROM, at.x + line_places(i).x), LANE_F32).x);
                float size = KIND == SQUARES ? size_of(x) : x;
                if (KIND == MOMENTS) sum = pair_of(plus_float(state_of(sum), vec2(x, 0)));
                else most = is_nan(most) ? most : is_nan(x) ? x : max(most, size);
            }
        shared_pair[slot_of(line, lane)] = KIND == MOMENTS ? sum : vec2(most, 0);
        barrier();
        for (uint half_way = LANES / 2; half_way > 0; half_way /= 2) {
            if (lane < half_way) {
                vec2 a = shared_pair[slot_of(line, lane)], b = shared_pair[slot_of(line, lane + half_way)];
                vec2 m = vec2(is_nan(a.x) ? a.x : is_nan(b.x) ? b.x : max(a.x, b.x), 0);
                shared_pair[slot_of(line, lane)] = KIND == MOMENTS ? pair_of(plus_float(state_of(a), b)) : m;
            }
            barrier();
        }
        vec2 p = shared_pair[slot_of(line, 0)];
        if (KIND == MOMENTS) { /* a mean far from 0 takes more than one float */
            vec2 mean = finite(p.x) ? div2(p, vec2(float(n), 0)) : p;
            shift = mean.x;
            rest = mean.y;
        }
        else if (KIND == LOGSUMEXP) shift = finite(p.x) ? p.x : 0;
        else { /* a power of two that brings squares into range */
            int exponent = int(floatBitsToUint(p.x) >> 23 & 255) - 127;
            shift = finite(p.x) && p.x > 0 ? uintBitsToFloat(uint(clamp(127 - exponent, 1, 253)) << 23) : 1.0;
        }
        barrier();
    }
    uvec4 s = begun();
    if (real_line)
        for (uint i = begin; i < end; i += LANES)
            s = added(s, lane_of(FROM, load_x(FROM, at.x + line_places(i).x), LANE), i, shift);
    s = joined(line, lane, s);
    if (!real_line || lane != 0) return;
    if (PLACES != 0) store_place(I64, PLACES == 2 ? at.y : at.z, uvec2(s.z, 0));
    if (PLACES == 2) return;
    vec2 p = pair_of(s);
    float f0 = uintBitsToFloat(param[1].x);
    switch (FINISH) {
    case MEAN: {
        vec2 q = finite(p.x) ? div2(p, vec2(float(param[1].w != 0 ? param[1].w : n), 0)) : p;
        p = n == 0 ? vec2(NOT_A_NUMBER, 0) : q;
        break;
    }
    case VARIANCE: case DEVIATION: {
        float freedom = max(float(n) - f0, 0.0);
        precise float v = (p.x + p.y) / freedom;
        p = vec2(FINISH == DEVIATION ? sqrt(v) : v, 0);
        break;
    }
    case ROOT: p = vec2(finite(p.x) ? sqrt2(p).x / shift : p.x, 0); break;
    case ALL: s.xy = uvec2(s.xy == uvec2(n, 0) ? 1 : 0, 0); break;
    case ANY: s.xy = uvec2((s.x | s.y) != 0 ? 1 : 0, 0); break;
    }
    if (KIND == LOGSUMEXP) {
        precise float l = my_log(p.x + p.y) + shift;
        p = vec2(l, 0);
    }
    bool two = KIND == SUM || KIND == SQUARES || KIND == ABSOLUTE || KIND == PRODUCT || KIND == MOMENTS || KIND == LOGSUMEXP;
    uvec2 v = s.xy;
    uint lane_out = LANE;
    if (REAL && two) v = uvec2(floatBitsToUint(finite(p.x) ? p.x + p.y : p.x), 0);
    if (KIND == COUNT) {
        lane_out = LANE_I64;
        if (is_float(TO)) {
            v = uvec2(f32_of_u64(v, false), 0);
            lane_out = LANE_F32;
        }
    }
    store(TO, at.y, raw_of(TO, v, lane_out));
}
