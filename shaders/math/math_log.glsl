// math_log.glsl - logarithms and what is made of them.

#include "math/math_exp.glsl"

// ---- logarithms: x = 2^e (1 + f), 1 + f in [2/3, 4/3) ----

void log_parts(const float x, out float e, out float f, out float tail) {
    uint bits = floatBitsToUint(x);
    float bias = 0;
    if (bits < 0x800000u) { /* subnormal */
        int up = 23 - findMSB(bits);
        bits = ((bits << up) & 0x7fffffu) + 0x800000u;
        bias = float(1 - up) - 1;
    }
    int exponent = (int(bits) - 0x3f2aaaab) >> 23;
    e = float(exponent) + bias;
    precise float g = uintBitsToFloat(bits - uint(exponent << 23)) - 1, s = g * g, p = -0.128918126;
    p = fma(p, g, 0.139844537);
    p = fma(p, g, -0.121842332);
    p = fma(p, g, 0.140058652);
    p = fma(p, g, -0.166804895);
    p = fma(p, g, 0.200104058);
    p = fma(p, g, -0.249997973);
    p = fma(p, g, 0.333332151);
    precise float t = (p * g) * s + s * -0.5;
    f = g;
    tail = t;
}
// The logarithms of what is not a positive finite number.
bool log_special(const float x, out float result) {
    result = x;
    if (x == 0 && (floatBitsToUint(x) & 0x7fffffffu) == 0) {
        result = -INF;
        return true;
    }
    if (is_nan(x)) return true;
    if (is_negative(x)) {
        result = NOT_A_NUMBER;
        return true;
    }
    return is_inf(x);
}
float my_log(const float x) {
    float e, f, tail, special;
    if (log_special(x, special)) return special;
    log_parts(x, e, f, tail);
    precise float r = e * 0.693145752 + (f + (e * 1.42860677e-6 + tail));
    return r;
}
float my_log2(const float x) {
    float e, f, tail, special;
    if (log_special(x, special)) return special;
    log_parts(x, e, f, tail);
    precise float t = (f + tail) * 0.442695041 + tail, r = (e + f) + t;
    return r;
}
float my_log10(const float x) {
    float e, f, tail, special;
    if (log_special(x, special)) return special;
    log_parts(x, e, f, tail);
    vec2 p = two_product(f, 0.434294482);
    precise float low = p.y + tail * 0.434294482 + (e * 7.9034151e-7 + f * -1.010305e-8);
    vec2 s = two_sum(e * 0.301029205, p.x);
    precise float r = s.x + (s.y + low);
    return r;
}
// log(1 + x + y)
float log1p2(const float x, const float y) {
    if (x == 0) return x;
    precise float sum = x + 1, lost = x - (sum - 1);
    float e, f, tail, special;
    if (log_special(sum, special)) return special;
    log_parts(sum, e, f, tail);
    precise float t = (e * 1.42860677e-6 + tail) + (lost + y) / sum, r = e * 0.693145752 + (f + t);
    return r;
}
float my_log1p(const float x) {
    return log1p2(x, 0);
}
// log x to about 2^-32, for x positive and finite.
vec2 log_two(const float x) {
    float e, f, tail;
    log_parts(x, e, f, tail);
    /* log(1 + f) = 2 atanh(s), s = f / (2 + f) */
    vec2 s = div2(vec2(f, 0), quick_sum(2, f));
    precise float z = s.x * s.x, p = 0.1538461538;
    p = fma(p, z, 0.1818181818);
    p = fma(p, z, 0.2222222222);
    p = fma(p, z, 0.2857142857);
    p = fma(p, z, 0.4);
    vec2 z2 = mul2(s, s), cube = mul2(z2, s);
    vec2 inner = add2(vec2(0.666666687, -1.98682154e-8), mul2(z2, vec2(p, 0)));
    vec2 r = add2(vec2(2 * s.x, 2 * s.y), mul2(cube, inner));
    vec2 whole = add2(two_product(e, 0.693147182), vec2(e * -1.90465421e-9, 0));
    return add2(whole, r);
}

float my_logsigmoid(const float x) {
    return is_nan(x) ? x : min(0.0, x) - my_log1p(my_exp(-size_of(x)));
}
float my_softplus(const float x, const float beta, const float threshold) {
    precise float scaled_x = x * beta;
    if (is_nan(x) || scaled_x > threshold || scaled_x > 88) return x;
    vec2 p = size_of(scaled_x) < 1e30 ? two_product(x, beta) : vec2(scaled_x, 0);
    precise float r = my_log1p(exp2_of(p.x, p.y)) / beta;
    return r;
}
float my_asinh(const float x) {
    precise float size = size_of(x), r = size;
    if (size > 1e9) {
        r = is_nan(x) || is_inf(x) ? size : my_log(size * 0.5) + 1.38629436;
    } else if (size >= 1e-4) {
        precise float square = size * size, t = square / (1 + sqrt(1 + square));
        vec2 s = two_sum(size, t);
        r = log1p2(s.x, s.y);
    }
    return with_sign(r, x);
}
float my_acosh(const float x) {
    if (is_nan(x) || x < 1) return NOT_A_NUMBER;
    if (is_inf(x)) return x;
    if (x > 1e9) return my_log(x * 0.5) + 1.38629436;
    float d = x - 1;
    vec2 t = sqrt2(mul2(vec2(d, 0), two_sum(d, 2))), s = add2(vec2(d, 0), t);
    return log1p2(s.x, s.y);
}
float my_atanh(const float x) {
    precise float size = size_of(x), r = size;
    if (is_nan(x) || size > 1) return NOT_A_NUMBER;
    if (size == 1) {
        r = INF;
    } else if (size >= 1e-4) {
        vec2 q = div2(vec2(2 * size, 0), two_sum(1, -size));
        r = 0.5 * log1p2(q.x, q.y);
    }
    return with_sign(r, x);
}

