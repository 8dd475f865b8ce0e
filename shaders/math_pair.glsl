// math_pair.glsl - functions of two numbers.

#include "math_log.glsl"

// ---- two operands ----

float my_pow(const float a, const float b) {
    if (b == 0 || a == 1) return 1;
    if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
    float size = size_of(a), size_b = size_of(b);
    if (is_inf(b)) return size == 1 ? 1 : (size > 1) == (b > 0) ? INF : 0;
    bool whole = size_b >= 16777216 || trunc(b) == b,
         odd = whole && size_b < 16777216 && (int(size_b) & 1) != 0;
    float sign = odd ? a : 1;
    if (floatBitsToUint(size) == 0 || is_inf(a)) {
        bool grows = is_inf(a) == (b > 0);
        return with_sign(grows ? INF : 0, sign);
    }
    if (is_negative(a) && !whole) return NOT_A_NUMBER;
    if (size == 1) return with_sign(1, sign);
    vec2 l = log_two(size);
    precise float estimate = l.x * b;
    float result;
    if (!(estimate < 100)) result = INF;
    else if (!(estimate > -110)) result = 0;
    else {
        vec2 t = mul2(l, vec2(b, 0));
        result = exp2_of(t.x, t.y);
    }
    return with_sign(result, sign);
}
float my_hypot(const float a, const float b) {
    if (is_inf(a) || is_inf(b)) return INF;
    if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
    float large = max(size_of(a), size_of(b)), small = min(size_of(a), size_of(b));
    int exponent = clamp(int(floatBitsToUint(large) >> 23) - 127, -100, 100);
    float x = scaled(large, -exponent), y = scaled(small, -exponent);
    vec2 s = sqrt2(add2(two_product(x, x), two_product(y, y)));
    return scaled(s.x + s.y, exponent);
}
// Exact, with the sign of a: long division of the whole numbers that the mantissas are.
float my_fmod(const float a, const float b) {
    uint x = floatBitsToUint(a) & 0x7fffffffu, y = floatBitsToUint(b) & 0x7fffffffu;
    if (x >= 0x7f800000u || y > 0x7f800000u || y == 0) return NOT_A_NUMBER;
    if (x < y) return a;
    int ex = int(x >> 23), ey = int(y >> 23);
    x = ex == 0 ? x : (x & 0x7fffffu) | 0x800000u;
    y = ey == 0 ? y : (y & 0x7fffffu) | 0x800000u;
    ex = max(ex, 1);
    ey = max(ey, 1);
    x %= y;
    for (int n = ex - ey; n > 0; n -= 8) {
        x <<= min(n, 8);
        x %= y;
    }
    if (x == 0) return with_sign(0, a);
    int up = 23 - findMSB(x), e = ey - up; /* the leading one back to bit 23, as far as the exponent goes */
    if (e > 0) x = ((x << up) & 0x7fffffu) | uint(e) << 23;
    else x <<= ey - 1;
    return with_sign(uintBitsToFloat(x), a);
}
float my_remainder(const float a, const float b) {
    float rest = my_fmod(a, b);
    precise float moved = rest + b;
    return rest != 0 && is_negative(rest) != is_negative(b) ? moved : rest;
}
float my_floor_divide(const float a, const float b) {
    precise float plain = a / b;
    if (b == 0 && (floatBitsToUint(b) & 0x7fffffffu) == 0) return plain;
    float rest = my_fmod(a, b);
    if (is_nan(rest)) return rest;
    bool opposes = rest != 0 && is_negative(rest) != is_negative(b);
    vec2 whole = two_sum(a, -rest);
    precise float quotient = (whole.x + whole.y) / b - (opposes ? 1.0 : 0.0);
    return quotient == 0 ? with_sign(0, plain) : roundEven(quotient);
}
