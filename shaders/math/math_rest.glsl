// math_rest.glsl - what is left of a quotient of two numbers, and the whole number below it.

#include "math/math.glsl"

// x 2^64 for |x| < 2^63, and back where the result is a multiple of the least subnormal: exact also where the
// device takes subnormals for 0.
float raised(const float x) {
    uint size = floatBitsToUint(x) & 0x7fffffffu;
    float least = float(size) * 2.58493941e-26; /* 2^-85 */
    return with_sign(size < 0x800000u ? least : uintBitsToFloat(size + (64u << 23)), x);
}
float lowered(const float x) {
    uint size = floatBitsToUint(x) & 0x7fffffffu, exponent = size >> 23;
    if (exponent > 64) size -= 64u << 23;
    else size = ((size & 0x7fffffu) | 0x800000u) >> min(65 - exponent, 31);
    return with_sign(uintBitsToFloat(size), x);
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
// To the divisor's side of 0 from a rest that lies on the other.
float my_remainder(const float a, const float b) {
    float rest = my_fmod(a, b);
    if (!is_something(rest) || is_nan(rest) || is_negative(rest) == is_negative(b)) return rest;
    bool small = (floatBitsToUint(b) & 0x7fffffffu) < 64u << 23;
    float moved = small ? raised(rest) + raised(b) : rest + b;
    return small ? lowered(moved) : moved;
}
// The whole number below a / b: a quotient below 2^24 that is whole though something is left was rounded to
// it, upward where what is left is more than half of b.
float my_floor_divide(const float a, const float b) {
    float q = quotient(a, b), rest = my_fmod(a, b);
    uint size = floatBitsToUint(b) & 0x7fffffffu;
    uint half_size = size < 0x1000000u ? size >> 1 : size - 0x800000u;
    if (size == 0 || is_nan(rest)) return size == 0 ? q : rest;
    float whole = trunc(size_of(q));
    bool left = is_something(rest), opposes = left && is_negative(rest) != is_negative(b);
    bool near = left && whole == size_of(q) && whole > 0 && whole < 16777216;
    if (near && (floatBitsToUint(rest) & 0x7fffffffu) > half_size) whole = whole - 1;
    if (opposes) whole = whole + 1;
    return with_sign(whole, q);
}
