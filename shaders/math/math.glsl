// math.glsl - elementary functions in f32, good to 1 or 2 units of the last place on any driver: built from
// additions, multiplications and divisions that are not contracted or reordered (`precise`). Where f32 alone
// would lose bits, a number is two floats (math_two.glsl). Where a device takes subnormals for 0, a result
// that is subnormal may be 0; none is lost on the way. Needs number.glsl.
#ifndef MATH
#define MATH

const float INF = uintBitsToFloat(0x7f800000u), NOT_A_NUMBER = uintBitsToFloat(0x7fc00000u);

// Not isnan() and isinf(): drivers may take NaN and infinities for impossible.
bool is_nan(const float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}
bool is_inf(const float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}
float with_sign(const float size, const float sign) {
    return uintBitsToFloat((floatBitsToUint(size) & 0x7fffffffu) | (floatBitsToUint(sign) & 0x80000000u));
}
// Not 0, also where the device takes subnormals for 0.
bool is_something(const float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) != 0;
}
bool is_negative(const float x) {
    return floatBitsToUint(x) >> 31 != 0;
}
float size_of(const float x) {
    return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu);
}
// Orders numbers that are not NaN, -0 beside 0, also where the device takes subnormals for 0.
int rank_of(const float x) {
    int bits = floatBitsToInt(x);
    return bits < 0 ? int(0x80000000u) - bits : bits;
}
// NaN in the second place gives the first: max(bound, x) with the operands of SSE.
float greater_of(const float bound, const float x) {
    return bound > x ? bound : x;
}
float lesser_of(const float bound, const float x) {
    return bound < x ? bound : x;
}

// x 2^n, in two steps: the first keeps it normal.
float scaled(const float x, const int n) {
    int half_n = n / 2;
    precise float r = x * uintBitsToFloat(uint(127 + half_n) << 23);
    r = r * uintBitsToFloat(uint(127 + n - half_n) << 23);
    return r;
}

// ---- two floats ----

#define SCALAR float
#define PAIR vec2
#define HALVES_BY 4097.0
#include "math/math_two.glsl"

// f b, in a place where it is multiplied by c (divided by: `divides`): it may be subnormal where the whole is
// not. Then it is 2^126 times as large, and c brings that back.
float product_beside(const float f, const float b, const bool divides, inout float c) {
    precise float p = f * b, raised = (f * 9.22337204e18) * (b * 9.22337204e18); /* 2^63 */
    uint least = min(floatBitsToUint(f) & 0x7fffffffu, floatBitsToUint(b) & 0x7fffffffu);
    bool small = (floatBitsToUint(p) & 0x7fffffffu) < 0x800000u && least >= 0x800000u &&
                 (divides ? size_of(c) < 0.5 : size_of(c) >= 2);
    c = c * (!small ? 1.0 : divides ? 8.50705917e37 : 1.17549435e-38); /* 2^126, 2^-126 */
    return small ? raised : p;
}
float negative_of(const float x) {
    return uintBitsToFloat(floatBitsToUint(x) ^ 0x80000000u);
}
// The mantissa of the bits of a number that is not 0, 24 bits, and its exponent as a normal number's.
uint mantissa_of(const uint size, out int exponent) {
    int up = size < 0x800000u ? 23 - findMSB(size) : 0;
    exponent = up > 0 ? 1 - up : int(size >> 23);
    return ((size << up) & 0x7fffffu) | 0x800000u;
}
// a / b rounded once on any device, subnormal or not, though Vulkan promises 2.5 units of the last place and
// nothing for divisors beyond 2^126: the quotient of the mantissas is guessed in f32 and mended by what it
// leaves, which whole numbers tell exactly.
float quotient(const float a, const float b) {
    uint x = floatBitsToUint(a) & 0x7fffffffu, y = floatBitsToUint(b) & 0x7fffffffu;
    uint minus = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
    if (min(x, y) == 0 || max(x, y) >= 0x7f800000u) {
        if (max(x, y) > 0x7f800000u || x == y) return NOT_A_NUMBER;
        return uintBitsToFloat(minus | (x < y ? 0 : 0x7f800000u));
    }
    int up, down;
    uint m = mantissa_of(x, up), n = mantissa_of(y, down), twice = m < n ? 1 : 0;
    float inverse = 1 / uintBitsToFloat(n + 0x3f000000u);
    uint q = floatBitsToUint(uintBitsToFloat(m + 0x3f000000u + (twice << 23)) * inverse) - 0x3f000000u;
    int e = up - down + 127 - int(twice), left = int((m << (23 + twice)) - q * n);
    int off = int(roundEven(float(left) * inverse * 1.19209290e-7)); /* 2^-23 */
    left -= off * int(n);
    int more = 2 * left > int(n) ? 1 : -2 * left > int(n) ? -1 : 0;
    q += uint(off + more); /* m 2^23 / n to the nearest */
    if (e > 0) return uintBitsToFloat(minus | min((uint(e - 1) << 23) + q, 0x7f800000u));
    uint fine = 2 * q + uint(sign(left - more * int(n))), cut = uint(min(2 - e, 27)), kept = fine >> cut;
    return uintBitsToFloat(minus | (kept + rounded_up(kept, fine << (32 - cut))));
}
vec2 sqrt2(const vec2 a) {
    precise float s = sqrt(a.x);
    if (s == 0) return vec2(s, 0);
    vec2 p = two_product(s, s);
    precise float e = (((a.x - p.x) - p.y) + a.y) / (2 * s);
    return quick_sum(s, e);
}
// Rounded once also where a driver's root is a unit off: the neighbor whose side of the middle a lies on, by
// what is left of a. a is not negative.
float root(const float a) {
    bool large = a > 1e30, small = a < 1e-25;
    precise float x = large ? a * 5.42101086e-20 : small ? a * 1.84467441e19 : a; /* 2^-64, 2^64 */
    if (is_inf(a) || is_nan(a) || x == 0) return sqrt(a);
    float s = sqrt2(vec2(x, 0)).x;
    vec2 p = two_product(s, s);
    float below = uintBitsToFloat(floatBitsToUint(s) - 1), above = uintBitsToFloat(floatBitsToUint(s) + 1);
    precise float left = (x - p.x) - p.y, down = s * (below - s), up = s * (above - s);
    precise float r = left <= down ? below : left > up ? above : s;
    r = r * (large ? 4294967296.0 : small ? 2.32830644e-10 : 1.0);
    return r;
}
float inverse_root(const float a) {
    precise float r = 1.0 / sqrt(a);
    return r;
}
#endif
