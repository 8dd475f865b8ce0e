// math_double_angle.glsl - sines, tangents and their inverses in f64.

const dvec2 HALF_PI = dvec2(1.5707963267948966lf, 6.123233995736766e-17lf);

// ---- angles: x = quarter pi/2 + r.x + r.y ----

// 2/pi in binary, after two words of zeros.
const uint TWO_OVER_PI[39] = uint[](
    0u, 0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
    0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u,
    0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu,
    0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u,
    0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u);
const uint WINDOW = 6; // words of it that matter: 2 bits of the quarter, 190 of the rest

// x = m 2^e: of 2/pi only the bits from weight 2^(1 - e) on matter to the quarter (Payne & Hanek 1983).
dvec2 turns_of_large(const double x, out int quarter) {
    uvec2 bits = bits_of(x);
    uint m[2] = uint[](bits.x, (bits.y & 0xfffffu) | 0x100000u), product[WINDOW + 1];
    uint first = uint(int(bits.y >> 20 & 2047) - 1075 - 2 + 64), word = first >> 5, shift = first & 31;
    for (uint i = 0; i <= WINDOW; i++) product[i] = 0;
    for (uint i = 0; i < WINDOW; i++) { /* the last word first; product[0] is above the quarter */
        uint at = WINDOW - 1 - i, window = TWO_OVER_PI[word + at] << shift;
        if (shift != 0) window |= TWO_OVER_PI[word + at + 1] >> (32 - shift);
        for (uint j = 0; j < 2; j++) {
            uint high, low, carry;
            umulExtended(window, m[j], high, low);
            int to = int(at + 1) - int(j);
            product[to] = uaddCarry(product[to], low, carry);
            high += carry; /* a high word is never all ones */
            for (to--; to > 0 && high != 0; to--) {
                product[to] = uaddCarry(product[to], high, carry);
                high = carry;
            }
        }
    }
    uint n = (product[1] + 0x20000000u) >> 30;
    product[1] -= n << 30;
    bool negative = product[1] >> 31 != 0;
    dvec2 r = dvec2(0);
    uint carry = negative ? 1 : 0;
    double weight = scaled(1.0lf, -30 - 32 * int(WINDOW - 1));
    for (uint i = WINDOW; i > 0; i--) { /* the smallest first */
        uint digit = negative ? uaddCarry(~product[i], carry, carry) : product[i];
        r = add2(dvec2(double(digit) * weight, 0), r);
        weight *= 4294967296.0lf;
    }
    r = mul2(r, HALF_PI);
    quarter = is_negative(x) ? -int(n) : int(n);
    return negative != is_negative(x) ? -r : r;
}
dvec2 turns_of(const double x, out int quarter) {
    if (size_of(x) >= 524288) return turns_of_large(x, quarter);
    /* pi/2 in two parts of 33 bits, whose products are exact, and a rest (fdlibm) */
    precise double n = roundEven(x * 0.63661977236758138lf), a = x - n * 1.57079632673412561417lf;
    dvec2 r = two_sum(a, -(n * 6.07710050630396597660e-11lf));
    precise double low = r.y - n * 2.02226624879595063154e-21lf;
    quarter = int(n);
    return quick_sum(r.x, low);
}
double sine_of(const dvec2 r) {
    double z = r.x * r.x, s = 2.8114572543455206e-15lf;
    s = s * z - 7.6471637318198164e-13lf;
    s = s * z + 1.6059043836821613e-10lf;
    s = s * z - 2.505210838544172e-08lf;
    s = s * z + 2.7557319223985893e-06lf;
    s = s * z - 1.984126984126984e-04lf;
    s = s * z + 8.333333333333333e-03lf;
    s = s * z - 0.16666666666666666lf;
    return r.x + ((s * z) * r.x + (r.y - 0.5lf * z * r.y));
}
double cosine_of(const dvec2 r) {
    dvec2 square = two_product(r.x, r.x);
    double z = square.x;
    double c = -1.5619206968586225e-16lf;
    c = c * z + 4.779477332387385e-14lf;
    c = c * z - 1.1470745597729725e-11lf;
    c = c * z + 2.08767569878681e-09lf;
    c = c * z - 2.755731922398589e-07lf;
    c = c * z + 2.48015873015873e-05lf;
    c = c * z - 1.388888888888889e-03lf;
    c = c * z + 4.1666666666666664e-02lf;
    dvec2 head = quick_sum(1, -0.5lf * z);
    return head.x + (head.y - 0.5lf * square.y + (c * z) * z - r.x * r.y);
}
double sine_of_quarter(const dvec2 r, const int quarter) {
    double s = (quarter & 1) != 0 ? cosine_of(r) : sine_of(r);
    return (quarter & 2) != 0 ? -s : s;
}
// The sine of x, or `ahead` quarters of a turn further.
double my_sin(const double x, const int ahead) {
    if (is_nan(x) || is_inf(x)) return double(NOT_A_NUMBER);
    if (ahead == 0 && size_of(x) < 1e-9lf) return x;
    int quarter;
    dvec2 r = turns_of(x, quarter);
    return sine_of_quarter(r, quarter + ahead);
}
double my_tan(const double x) {
    if (is_nan(x) || is_inf(x)) return double(NOT_A_NUMBER);
    if (size_of(x) < 1e-9lf) return x;
    int quarter;
    dvec2 r = turns_of(x, quarter);
    double s = sine_of(r), c = cosine_of(r);
    return (quarter & 1) != 0 ? -quotient(c, s) : quotient(s, c);
}
// 0 <= q <= 1. Beyond tan(pi/8): atan q = pi/4 + atan((q - 1) / (q + 1)).
double atan_of(const double q) {
    bool outer = q > 0.41421356237309503lf;
    precise double t = outer ? quotient(q - 1, q + 1) : q, z = t * t, p = 0;
    for (int k = 24; k > 0; k--) p = quotient(1.0lf, double(2 * k + 1)) - z * p;
    p = (z * t) * p;
    precise double r = outer ? 0.78539816339744828lf + ((t - p) + 3.061616997868383e-17lf) : t - p;
    return r;
}
double my_atan2(const double y, const double x) {
    if (is_nan(x) || is_nan(y)) return double(NOT_A_NUMBER);
    double across = size_of(x), up = size_of(y), r = 0;
    if (across != up)
        r = atan_of(quotient(min(across, up), max(across, up)));
    else if (is_something(x))
        r = 0.78539816339744828lf;
    precise double turned = HALF_PI.x - (r - HALF_PI.y);
    if (up > across) r = turned;
    turned = 2 * HALF_PI.x - (r - 2 * HALF_PI.y);
    return with_sign(is_negative(x) ? turned : r, y);
}
double cosine_leg(const double x) { /* sqrt(1 - x^2) */
    precise double square = (1 - x) * (1 + x);
    return root(square);
}
double my_asin(const double x) {
    return size_of(x) > 1 ? double(NOT_A_NUMBER) : my_atan2(x, cosine_leg(x));
}
double my_acos(const double x) {
    return size_of(x) > 1 ? double(NOT_A_NUMBER) : my_atan2(cosine_leg(x), x);
}
double my_hypot(const double a, const double b) {
    if (is_inf(a) || is_inf(b)) return double(INF);
    if (is_nan(a) || is_nan(b)) return double(NOT_A_NUMBER);
    double large = max(size_of(a), size_of(b)), small = min(size_of(a), size_of(b));
    int exponent = clamp(exponent_of(large), -900, 900);
    double x = scaled(large, -exponent), y = scaled(small, -exponent);
    precise double square = x * x + y * y;
    return scaled(root(square), exponent);
}
