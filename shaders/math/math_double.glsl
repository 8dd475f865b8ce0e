// math_double.glsl - numbers of f64 by their bits, and arithmetic that is rounded once on any device:
// quotients and roots, which Vulkan asks little of, are corrected by what they miss.

double double_of(const uvec2 bits) {
    return packDouble2x32(bits);
}
uvec2 bits_of(const double x) {
    return unpackDouble2x32(x);
}
// x 2^n for results in range.
double scaled(const double x, const int n) {
    precise double r = x * packDouble2x32(uvec2(0, uint(1023 + n) << 20));
    return r;
}
#define SCALAR double
#define PAIR dvec2
#define HALVES_BY 134217729.0lf
#include "math/math_two.glsl"

int exponent_of(const double x) {
    return int(unpackDouble2x32(x).y >> 20 & 2047) - 1023;
}
// a / b; operands are brought to the size of 1 first, so that nothing is lost on the way.
double quotient(const double a, const double b) {
    int up = exponent_of(a), down = exponent_of(b);
    precise double plain = a / b;
    if (up < -1000 || down < -1000 || up > 1000 || down > 1000 || abs(up - down) > 1000) return plain;
    double x = scaled(a, -up), y = scaled(b, -down);
    precise double q = x / y;
    dvec2 p = two_product(q, y);
    precise double rest = (x - p.x) - p.y;
    q = q + rest / y;
    return scaled(q, up - down);
}
double root(const double a) {
    int exponent = exponent_of(a);
    if (!(a > 0) || exponent > 1000) return sqrt(a);
    precise double big = exponent < -1000 ? a * 18014398509481984.0lf : a; /* 2^54: no subnormals */
    int n = exponent_of(big) / 2 * 2;
    double x = scaled(big, -n);
    precise double s = sqrt(x);
    dvec2 p = two_product(s, s);
    precise double rest = (x - p.x) - p.y;
    s = s + rest / (2 * s);
    return scaled(s, n / 2 - (exponent < -1000 ? 27 : 0));
}
double inverse_root(const double a) {
    return quotient(1.0lf, root(a));
}

// ---- as in math.glsl ----

bool is_nan(const double x) {
    uvec2 bits = bits_of(x);
    uint size = bits.y & 0x7fffffffu;
    return size > 0x7ff00000u || (size == 0x7ff00000u && bits.x != 0);
}
bool is_inf(const double x) {
    uvec2 bits = bits_of(x);
    return (bits.y & 0x7fffffffu) == 0x7ff00000u && bits.x == 0;
}
double with_sign(const double size, const double sign) {
    uvec2 bits = bits_of(size);
    return double_of(uvec2(bits.x, (bits.y & 0x7fffffffu) | (bits_of(sign).y & 0x80000000u)));
}
bool is_something(const double x) {
    uvec2 bits = bits_of(x);
    return ((bits.y & 0x7fffffffu) | bits.x) != 0;
}
bool is_negative(const double x) {
    return bits_of(x).y >> 31 != 0;
}
double size_of(const double x) {
    uvec2 bits = bits_of(x);
    return double_of(uvec2(bits.x, bits.y & 0x7fffffffu));
}
double negative_of(const double x) {
    uvec2 bits = bits_of(x);
    return double_of(uvec2(bits.x, bits.y ^ 0x80000000u));
}
double product_beside(const double f, const double b, const bool divides, inout double c) {
    precise double p = f * b;
    return p;
}
double rank_of(const double x) {
    return x;
}
double greater_of(const double bound, const double x) {
    return bound > x ? bound : x;
}
double lesser_of(const double bound, const double x) {
    return bound < x ? bound : x;
}
