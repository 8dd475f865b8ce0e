// math_angle.glsl - sines, tangents and their inverses; comes behind math.glsl.

#include "common/integer.glsl"

const vec2 PI = vec2(3.14159274, -8.74227766e-8), HALF_PI = vec2(1.57079637, -4.37113883e-8);

// ---- angles: x = quarter pi/2 + r.x + r.y ----

const uint TWO_OVER_PI[10] = uint[](0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
                                    0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au);

// The product with as many bits of 2/pi as it takes (Payne & Hanek 1983).
vec2 turns_of_large(const float x, out int quarter) {
    uint bits = floatBitsToUint(x), window[3];
    uint m = (bits & 0x7fffffu) | 0x800000u;
    int first = int(bits >> 23 & 255) - 152 + 32, word = first >> 5, shift = first & 31;
    for (int i = 0; i < 3; i++)
        window[i] = shift == 0 ? TWO_OVER_PI[word + i]
                               : TWO_OVER_PI[word + i] << shift | TWO_OVER_PI[word + i + 1] >> (32 - shift);
    uint high, low, carried, unused;
    umulExtended(m, window[1], high, low);
    umulExtended(m, window[2], carried, unused);
    uvec2 product =
        plus(uvec2(low, high + m * window[0]), uvec2(carried, 0)); /* 2 bits of n, 62 of the rest */
    uint n = plus(product, uvec2(0, 0x20000000u)).y >> 30;
    uvec2 rest = minus(product, uvec2(0, n << 30));
    float high_part = uintBitsToFloat(f32_of_i64(rest, false));
    uvec2 left = minus(rest, i64_of_f32(floatBitsToUint(high_part), false));
    float low_part = uintBitsToFloat(f32_of_i64(left, false)),
          unit = uintBitsToFloat(0x20800000u); /* 2^-62 */
    vec2 r = mul2(vec2(high_part * unit, low_part * unit), HALF_PI);
    quarter = is_negative(x) ? -int(n) : int(n);
    return is_negative(x) ? -r : r;
}
vec2 turns_of(const float x, out int quarter) {
    if (size_of(x) >= 400) return turns_of_large(x, quarter);
    precise float n = roundEven(x * 0.636619772), a = x - n * 1.5703125, b = n * 4.83751297e-4;
    vec2 r = two_sum(a, -b), t = two_product(n, 7.54979013e-08), u = two_sum(r.x, -t.x);
    precise float low = u.y + ((r.y - t.y) - n * -1.7151245e-15);
    quarter = int(n);
    return quick_sum(u.x, low);
}
vec2 sine_of(const vec2 r) {
    precise float z = r.x * r.x, s = -1.94956621e-4;
    s = s * z + 8.33201408e-3;
    s = s * z - 0.166666523;
    s = (s * z) * r.x + (r.y - 0.5 * z * r.y);
    return quick_sum(r.x, s);
}
vec2 cosine_of(const vec2 r) {
    precise float z = r.x * r.x, c = 2.44133826e-5;
    c = c * z - 1.38871418e-3;
    c = c * z + 4.16666418e-2;
    vec2 square = two_product(r.x, r.x), head = quick_sum(1, -0.5 * square.x);
    precise float low = head.y - 0.5 * square.y + (c * z) * z - r.x * r.y;
    return quick_sum(head.x, low);
}
float sine_of_quarter(const vec2 r, const int quarter) {
    vec2 v = (quarter & 1) != 0 ? cosine_of(r) : sine_of(r);
    precise float s = v.x + v.y;
    return (quarter & 2) != 0 ? -s : s;
}
float my_sin(const float x) {
    if (is_nan(x) || is_inf(x)) return NOT_A_NUMBER;
    if (size_of(x) < 1e-10) return x;
    int quarter;
    vec2 r = turns_of(x, quarter);
    return sine_of_quarter(r, quarter);
}
float my_cos(const float x) {
    if (is_nan(x) || is_inf(x)) return NOT_A_NUMBER;
    int quarter;
    vec2 r = turns_of(x, quarter);
    return sine_of_quarter(r, quarter + 1);
}
float my_tan(const float x) {
    if (is_nan(x) || is_inf(x)) return NOT_A_NUMBER;
    if (size_of(x) < 1e-10) return x;
    int quarter;
    vec2 r = turns_of(x, quarter), s = sine_of(r), c = cosine_of(r);
    vec2 q = (quarter & 1) != 0 ? div2(-c, s) : div2(s, c);
    return q.x + q.y;
}
vec2 asin_small(const float x) { /* 0 <= x <= 1/2: x + x z P(z) */
    precise float z = x * x, p = 0.026919;
    p = p * z + 0.0223671;
    p = p * z + 0.0303914;
    p = p * z + 0.0446429;
    p = p * z + 0.0750000;
    p = p * z + 0.166666667;
    return quick_sum(x, (p * z) * x);
}
// sin within pi/4 of an estimate takes one Newton step: asin x = y + (x - sin y) / cos y.
vec2 asin_two(const vec2 x) {
    vec2 y = asin_small(x.x);
    vec2 s = sine_of(y), c = cosine_of(y);
    precise float step = (((x.x - s.x) - s.y) + x.y) / c.x;
    vec2 r = quick_sum(y.x, y.y + step);
    return r;
}
// asin of a size up to 1/2; beyond, asin x = pi/2 - 2 asin sqrt((1 - x) / 2): the second one.
vec2 asin_near(const float size) {
    return asin_two(size > 0.5 ? sqrt2(vec2(0.5 - 0.5 * size, 0)) : vec2(size, 0));
}
float my_asin(const float x) {
    float size = size_of(x);
    if (is_nan(x) || size > 1) return NOT_A_NUMBER;
    vec2 r = asin_near(size);
    if (size > 0.5) r = add2(HALF_PI, -2.0 * r);
    return with_sign(size < 1e-4 ? size : r.x + r.y, x);
}
float my_acos(const float x) {
    float size = size_of(x);
    if (is_nan(x) || size > 1) return NOT_A_NUMBER;
    bool outer = size > 0.5, negative = is_negative(x);
    vec2 r = asin_near(size);
    if (outer) r = negative ? add2(PI, -2.0 * r) : 2.0 * r;
    else r = add2(HALF_PI, negative ? r : -r);
    return r.x + r.y;
}
// 0 <= q <= 1. Beyond tan(pi/8): atan q = pi/4 + atan((q - 1) / (q + 1)).
vec2 atan_two(const vec2 q) {
    bool outer = q.x > 0.414213562;
    vec2 t = outer ? div2(add2(q, vec2(-1, 0)), add2(q, vec2(1, 0))) : q;
    precise float z = t.x * t.x, p = 0.0461999;
    p = p * z - 0.0653520;
    p = p * z + 0.0767936;
    p = p * z - 0.0909051;
    p = p * z + 0.111110937;
    p = p * z - 0.142857140;
    p = p * z + 0.2;
    p = p * z - 0.333333333;
    precise float low = (p * z) * t.x + (t.y - t.y * z);
    vec2 r = quick_sum(t.x, low);
    return outer ? add2(vec2(0.785398185, -2.18556941e-8), r) : r;
}
float my_atan(const float x) {
    float size = size_of(x);
    vec2 q = vec2(size, 0);
    if (size > 1) q = is_inf(x) || size > 1e30 ? vec2(0) : div2(vec2(1, 0), q);
    vec2 r = atan_two(q);
    if (size > 1) r = add2(HALF_PI, -r);
    return with_sign(is_nan(x) || size < 1e-4 ? size : r.x + r.y, x);
}
float my_atan2(const float y, const float x) {
    if (is_nan(x) || is_nan(y)) return NOT_A_NUMBER;
    float across = size_of(x), up = size_of(y), larger = max(across, up), smaller = min(across, up);
    vec2 r = vec2(0);
    int exponent = int(floatBitsToUint(larger) >> 23 & 255) - 127;
    if (larger != 0 && !is_inf(larger)) { /* both scaled to about 1 */
        float scale_by = uintBitsToFloat(uint(clamp(127 - exponent, 1, 253)) << 23);
        vec2 q = div2(vec2(smaller * scale_by, 0), vec2(larger * scale_by, 0));
        r = atan_two(q);
        if (!is_negative(x) && up <= across && q.x < 1e-20) return with_sign(q.x + q.y, y);
    } else if (is_inf(smaller)) {
        r = vec2(0.785398185, -2.18556941e-8);
    }
    if (up > across) r = add2(HALF_PI, -r);
    if (is_negative(x)) r = add2(PI, -r);
    return with_sign(r.x + r.y, y);
}

