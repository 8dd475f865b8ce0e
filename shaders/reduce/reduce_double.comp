// reduce_double.comp - reductions in f64, of floats. Results of segments are f64.
#version 450
#define ONLY_F64
#extension GL_GOOGLE_include_directive : require
#include "reduce/reduce.glsl"
#include "math/math.glsl"
#include "math/math_double.glsl"
#include "math/math_double_log.glsl"

// State: MOST, LEAST and theirs of sizes: a number, its place, 1; COUNT: an integer; else a sum or a product.
double number_of(const uvec4 s) {
    return double_of(s.xy);
}
uvec4 state_of(const double x) {
    return uvec4(bits_of(x), 0, 0);
}
uvec2 lane_at(const uint e) {
    uvec2 raw = load_x(FROM, e);
    if (FROM == C64) return bits_of(((raw.x | raw.y) & 0x7fffffffu) != 0 ? 1.0lf : 0.0lf); /* for COUNT */
    return lane_of(FROM, raw, LANE_F64);
}
bool is_most(const uint what) {
    return what == MOST || what == MOST_ABSOLUTE;
}
// Whether t takes the place of s: NaN wins, of equals the first.
bool replaces(const uvec4 s, const uvec4 t, const bool most) {
    double old = number_of(s), fresh = number_of(t);
    if (s.w == 0 || t.w == 0) return s.w == 0;
    if (is_nan(old)) return is_nan(fresh) && t.z < s.z;
    if (is_nan(fresh)) return true;
    return fresh == old ? t.z < s.z : most ? fresh > old : fresh < old;
}
// Of the line: the mean, or the largest.
double shift = 0;

uvec4 begun(const uint what) {
    return what == PRODUCT ? state_of(1) : uvec4(0);
}
uvec4 merged(const uint what, const uvec4 s, const uvec4 t) {
    precise double sum = number_of(s) + number_of(t), product = number_of(s) * number_of(t);
    switch (what) {
    case MOST:
    case LEAST:
    case MOST_ABSOLUTE:
    case LEAST_ABSOLUTE: return replaces(s, t, is_most(what)) ? t : s;
    case COUNT: return uvec4(plus(s.xy, t.xy), 0, 0);
    case PRODUCT: return state_of(product);
    default: return state_of(sum);
    }
}
uvec4 added(const uint what, const uvec4 s, uvec2 v, const uint place) {
    if (READS == READS_NUMBER && is_nan(double_of(v))) v = uvec2(0);
    double x = double_of(v);
    precise double y = x - shift, square = y * y;
    switch (what) {
    case MOST:
    case LEAST: return merged(what, s, uvec4(v, place, 1));
    case MOST_ABSOLUTE:
    case LEAST_ABSOLUTE: return merged(what, s, uvec4(bits_of(size_of(x)), place, 1));
    case COUNT: return is_something(x) ? merged(what, s, uvec4(1, 0, 0, 0)) : s;
    case ABSOLUTE: return merged(what, s, state_of(size_of(x)));
    case SQUARES:
    case MOMENTS: return merged(what, s, state_of(square));
    case LOGSUMEXP: return merged(what, s, state_of(my_exp(y)));
    case POWERS: return merged(what, s, state_of(my_pow(size_of(x), double_of(P_power))));
    default: return merged(what, s, uvec4(v, 0, 0));
    }
}

// The line's state and, of its moments and exponentials, what they are taken about.
uvec4 taken(const bool real_line, const uint at, const uint begin, const uint end) {
    if (KIND == MOMENTS) shift = quotient(number_of(walked(SUM, real_line, at, begin, end)), double(end));
    if (KIND == LOGSUMEXP) {
        double most = number_of(walked(MOST, real_line, at, begin, end));
        shift = is_inf(most) || is_nan(most) ? 0 : most;
    }
    return walked(KIND, real_line, at, begin, end);
}
double finished(const double x, const uint n) {
    switch (FINISH) {
    case MEAN: return n == 0 ? double(NOT_A_NUMBER) : quotient(x, double(n));
    case VARIANCE: return quotient(x, max(double(n) - double_of(P_power), 0.0lf));
    case DEVIATION: return root(quotient(x, max(double(n) - double_of(P_power), 0.0lf)));
    case ROOT: return root(x);
    case POWER: return my_pow(x, quotient(1, double_of(P_power)));
    default: return KIND == LOGSUMEXP ? my_log(x) + shift : x;
    }
}
void write(const uvec4 s, const uvec4 at, const uint n) {
    if (PLACES != PLACES_NONE) store_place(I64, PLACES == PLACES_ONLY ? at.y : at.z, uvec2(s.z, 0));
    if (PLACES == PLACES_ONLY) return;
    uvec2 v = bits_of(finished(number_of(s), n));
    if (KIND == COUNT) {
        v = TO == I64 ? s.xy : raw_of(TO, f64_of_u64(s.xy), LANE);
        if (FINISH == ALL) v = uvec2(s.xy == uvec2(n, 0) ? 1 : 0, 0);
        if (FINISH == ANY) v = uvec2((s.x | s.y) != 0 ? 1 : 0, 0);
        store(TO, at.y, v);
        return;
    }
    store(TO, at.y, raw_of(TO, v, LANE));
}

void main() {
    uint position = group_index() / SEGMENTS * GROUP_LINES + line, segment = group_index() % SEGMENTS,
         n = P_length;
    bool real_line = position < P_kept;
    uvec4 at = kept_places(real_line ? position : 0);
    if (SEGMENTS > 1) at.y = P_at.y + position * SEGMENTS + segment;
    uvec4 s = taken(real_line, at.x, segment * LANES, n);
    if (real_line && lane == 0) write(s, at, P_extra != 0 ? P_extra : n);
}
