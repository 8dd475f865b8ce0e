// reduce.comp - reductions in f32 and integers. Float sums are kept in two floats; where they leave the range
// of f32 the line is taken again, scaled. Results of segments are parts: f32 and an exponent.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "reduce/reduce.glsl"
#include "math/math_log.glsl"
#include "common/sums.glsl"

const bool REAL = LANE == LANE_F32;
const bool SQUARED = KIND == SQUARES || KIND == MOMENTS;
const uint ATTEMPTS = LANE != LANE_F32 ? 1 : KIND <= ABSOLUTE ? 2 : KIND == MOMENTS ? 2 : 1;
// Elements of a segment's result: of a sum what is lost too.
const uint PART = TO == C64 && KIND == SUM ? 2 : 1;

// State: floats and integers as bits. SUM, SQUARES, ABSOLUTE: two floats, or an integer; PRODUCT: two floats
// and an exponent, or an integer; MOST, LEAST: value and place; COUNT: an integer; MOMENTS: the sum, then
// that of squares about the mean; LOGSUMEXP: the largest, then the sum of e^(x - shift).
shared int retakes;

vec2 pair_of(const uvec4 s) {
    return uintBitsToFloat(s.xy);
}
uvec4 state_of(const vec2 p) {
    return uvec4(floatBitsToUint(p), 0, 0);
}
uvec4 plus_float(const uvec4 s, const float x) {
    return state_of(plus2(pair_of(s), x));
}

// The product of two states, brought back to the size of 1 by its exponent.
uvec4 times_float(const uvec4 s, const uvec4 t) {
    vec2 p = pair_of(s), q = pair_of(t);
    precise float plain = p.x * q.x;
    if (plain == 0 || !finite(plain)) return uvec4(floatBitsToUint(plain), 0, s.z + t.z, 0);
    p = mul2(p, q);
    int up = 127 - int(floatBitsToUint(p.x) >> 23 & 255);
    p *= uintBitsToFloat(uint(127 + up) << 23);
    return uvec4(floatBitsToUint(p), uint(clamp(int(s.z) + int(t.z) - up, -(1 << 29), 1 << 29)), 0);
}
uvec4 factor_of(const float x, int exponent) {
    if (x == 0 || !finite(x)) return uvec4(floatBitsToUint(x), 0, uint(exponent), 0);
    precise float y = size_of(x) < 1e-30 ? x * 1.26765060e30 : x;
    exponent -= size_of(x) < 1e-30 ? 100 : 0;
    int up = 127 - int(floatBitsToUint(y) >> 23 & 255);
    return uvec4(floatBitsToUint(y * uintBitsToFloat(uint(127 + clamp(up, -126, 126)) << 23)), 0,
                 uint(exponent - clamp(up, -126, 126)), 0);
}

uvec2 lane_at(const uint e) {
    uvec2 raw = load_x(FROM, e);
    return FROM == C64 ? raw : lane_of(FROM, raw, LANE);
}
// Whether candidate (value, place) takes the place of s: NaN wins, of equals the first.
bool replaces(const uvec4 s, const uvec2 value, const uint place, const bool most) {
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

// Of the line: the mean or the largest, what the mean is less its first float, a power of two that numbers
// are multiplied by.
float shift = 0, rest = 0, scale = 1;
int scale_exponent = 0;

// A number of the line in range; parts come with an exponent.
float in_range(const float x, const int exponent) {
    if (FROM == C64) return scaled(x, clamp(exponent + scale_exponent, -252, 252));
    precise float y = x * scale;
    return y;
}

uvec4 begun(const uint what) {
    if (what == PRODUCT) return REAL ? state_of(vec2(1, 0)) : uvec4(1, 0, 0, 0);
    return uvec4(0);
}
uvec4 added(const uint what, const uvec4 s, uvec2 v, const uint place) {
    bool most = what == MOST || what == MOST_ABSOLUTE;
    int exponent = FROM == C64 ? int(v.y) : 0;
    precise float x = uintBitsToFloat(v.x), y;
    if (READS == READS_NUMBER && REAL && is_nan(x)) x = 0;
    switch (what) {
    case SUM: return REAL ? plus_float(s, in_range(x, exponent)) : uvec4(plus(s.xy, v), 0, 0);
    case SQUARES:
        y = in_range(x, 0);
        return plus_float(s, y * y);
    case ABSOLUTE: return plus_float(s, size_of(in_range(x, exponent)));
    case PRODUCT: return REAL ? times_float(s, factor_of(x, exponent)) : uvec4(times(s.xy, v), 0, 0);
    case COUNT: {
        bool counts = REAL ? (v.x & 0x7fffffffu) != 0 : (v.x | v.y) != 0; /* subnormals are something */
        return counts ? uvec4(plus(s.xy, uvec2(1, 0)), 0, 0) : s;
    }
    case MOMENTS:
        y = (in_range(x, 0) - shift) - rest;
        return plus_float(s, y * y);
    case LOGSUMEXP: return plus_float(s, my_exp(x - shift));
    case MOST_ABSOLUTE: case LEAST_ABSOLUTE: v.x &= 0x7fffffffu; break;
    }
    if (FROM == C64) v.y = 0;
    return replaces(s, v, place, most) ? uvec4(v, place, 1) : s;
}
uvec4 merged(const uint what, const uvec4 s, const uvec4 t) {
    switch (what) {
    case SUM: case SQUARES: case ABSOLUTE: case MOMENTS: case LOGSUMEXP:
        return REAL ? state_of(join2(pair_of(s), pair_of(t))) : uvec4(plus(s.xy, t.xy), 0, 0);
    case PRODUCT: return REAL ? times_float(s, t) : uvec4(times(s.xy, t.xy), 0, 0);
    case COUNT: return uvec4(plus(s.xy, t.xy), 0, 0);
    }
    if (t.w == 0) return s;
    return replaces(s, t.xy, t.z, what == MOST || what == MOST_ABSOLUTE) ? t : s;
}

// The exponent of a scale that would bring the result s into the range where sums are exact.
int exponent_for(const uvec4 s) {
    float sum = uintBitsToFloat(s.x);
    if (!finite(sum)) return SQUARED ? -80 : -64;
    return SQUARED && sum < 1e-25 ? 80 : 0;
}
const uint FIRST = KIND == MOMENTS ? SUM : MOST; // what has to be known of the line before
const uint PASSES = KIND == MOMENTS || KIND == LOGSUMEXP ? 2 : 1;
uvec4 taken(const bool real_line, const uint at, const uint begin, const uint end) {
    uvec4 s;
    [[dont_unroll]] for (uint pass = 0; pass < PASSES; pass++) {
        s = walked(pass + 1 == PASSES ? KIND : FIRST, real_line, at, begin, end);
        if (pass + 1 == PASSES) break;
        if (KIND == MOMENTS) { /* a mean far from 0 takes more than one float */
            vec2 sum = settled(pair_of(s)), mean = finite(sum.x) ? div2(sum, vec2(float(end), 0)) : sum;
            shift = mean.x;
            rest = mean.y;
        } else {
            float most = uintBitsToFloat(s.x);
            shift = finite(most) ? most : 0;
        }
    }
    return s;
}

void write(const uvec4 s, const uvec4 at, const uint n) {
    if (PLACES != PLACES_NONE) store_place(I64, PLACES == PLACES_ONLY ? at.y : at.z, uvec2(s.z, 0));
    if (PLACES == PLACES_ONLY) return;
    vec2 p = settled(pair_of(s));
    float f0 = uintBitsToFloat(P_f0);
    int exponent = KIND == PRODUCT ? int(s.z) : -scale_exponent;
    bool two = REAL && (KIND <= PRODUCT || KIND == MOMENTS || KIND == LOGSUMEXP);
    uvec2 v = s.xy;
    uint lane_out = LANE;
    switch (FINISH) {
    case MEAN:
        if (n == 0) p = vec2(NOT_A_NUMBER, 0);
        else if (finite(p.x)) p = div2(p, vec2(float(n), 0));
        break;
    case VARIANCE: case DEVIATION: {
        float freedom = max(float(n) - f0, 0.0);
        precise float variance = (p.x + p.y) / freedom;
        p = vec2(FINISH == DEVIATION ? sqrt(variance) : variance, 0);
        if (FINISH == VARIANCE) exponent *= 2;
        break;
    }
    case ROOT: p = finite(p.x) ? sqrt2(p) : p; break;
    case ALL: v = uvec2(s.xy == uvec2(n, 0) ? 1 : 0, 0); break;
    case ANY: v = uvec2((s.x | s.y) != 0 ? 1 : 0, 0); break;
    }
    if (KIND == LOGSUMEXP) {
        precise float l = my_log(p.x + p.y) + shift;
        p = vec2(l, 0);
    }
    float number = finite(p.x) ? p.x + p.y : p.x;
    if (TO == C64) {
        if (PART == 2) store(TO, at.y + 1, uvec2(floatBitsToUint(p.y), uint(exponent)));
        store(TO, at.y, two ? uvec2(floatBitsToUint(number), uint(exponent)) : uvec2(s.x, 0));
        return;
    }
    if (two) v = uvec2(floatBitsToUint(scaled(number, clamp(exponent, -252, 252))), 0);
    if (KIND == COUNT) {
        lane_out = LANE_I64;
        if (is_float(TO)) {
            v = uvec2(f32_of_u64(v, false), 0);
            lane_out = LANE_F32;
        }
    }
    store(TO, at.y, raw_of(TO, v, lane_out));
}

void main() {
    uint position = group_index() / SEGMENTS * GROUP_LINES + line, segment = group_index() % SEGMENTS,
         n = P_length;
    bool real_line = position < P_kept;
    uvec4 at = kept_places(real_line ? position : 0);
    /* neighboring segments take neighboring units in turn: what is read at a time lies close together */
    uint unit = QUADS > 0 ? 4 * LANES * EACH : LANES, begin = segment * unit, end = n;
    if (SEGMENTS > 1) at.y = P_at.y + (position * SEGMENTS + segment) * PART;
    uvec4 s;
    [[dont_unroll]] for (uint attempt = 0; attempt < ATTEMPTS; attempt++) {
        uvec4 fresh = taken(real_line, at.x, begin, end);
        if (attempt == 1) {
            if (scale_exponent > 0 && !finite(uintBitsToFloat(fresh.x))) scale_exponent = 0;
            else s = fresh;
            break;
        }
        s = fresh;
        if (ATTEMPTS == 1) break;
        retakes = 0;
        barrier();
        scale_exponent = real_line ? exponent_for(s) : 0;
        if (scale_exponent != 0) retakes = 1;
        scale = uintBitsToFloat(uint(127 + scale_exponent) << 23);
        barrier();
        if (retakes == 0) break;
    }
    if (real_line && lane == 0) write(s, at, P_extra != 0 ? P_extra : n);
}
