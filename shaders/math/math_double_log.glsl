// math_double_log.glsl - e^x, logarithms and what is made of them in f64, good to a few units of the last
// place. Where one f64 would lose bits a number is two of them (math_two.glsl).

const double LOG_2 = 0.69314718055994531lf;
const double LOG_2_HIGH = 6.93147180369123816490e-01lf,
             LOG_2_LOW = 1.90821492927058770002e-10lf; // 33 bits, rest

// x 2^n, in two steps: the first keeps it normal.
double scaled_far(const double x, const int n) {
    return scaled(scaled(x, n / 2), n - n / 2);
}

// ---- e^x: x = n log 2 + r, |r| <= log 2 / 2 ----

// e^(x + y) = (1 + s.x + s.y) 2^n
dvec2 expm1_parts(const double x, const double y, out int n) {
    precise double whole = roundEven(x * 1.4426950408889634lf), a = x - whole * LOG_2_HIGH,
                   b = whole * LOG_2_LOW;
    dvec2 r = two_sum(a, -b);
    precise double low = r.y + y;
    r = quick_sum(r.x, low);
    double z = r.x, p = 1.6059043836821613e-10lf;
    p = p * z + 2.08767569878681e-09lf;
    p = p * z + 2.505210838544172e-08lf;
    p = p * z + 2.755731922398589e-07lf;
    p = p * z + 2.7557319223985893e-06lf;
    p = p * z + 2.48015873015873e-05lf;
    p = p * z + 1.984126984126984e-04lf;
    p = p * z + 1.388888888888889e-03lf;
    p = p * z + 8.333333333333333e-03lf;
    p = p * z + 4.1666666666666664e-02lf;
    p = p * z + 0.16666666666666666lf;
    p = p * z + 0.5lf;
    n = int(whole);
    return quick_sum(z, p * (z * z) + (r.y + r.y * z));
}
double exp_of(const double x, const double y) { /* e^(x + y) */
    if (is_nan(x)) return x;
    if (x > 710) return double(INF);
    if (x < -746) return 0;
    int n;
    dvec2 s = expm1_parts(x, y, n), r = quick_sum(1, s.x);
    precise double sum = r.x + (r.y + s.y);
    return scaled_far(sum, n);
}
double my_exp(const double x) {
    return exp_of(x, 0);
}
double my_exp2(const double x) {
    if (is_nan(x)) return x;
    if (x > 1025) return double(INF);
    if (x < -1080) return 0;
    double whole = roundEven(x);
    dvec2 p = two_product(x - whole, LOG_2);
    precise double low = p.y + (x - whole) * 2.3190468138462996e-17lf;
    return scaled_far(exp_of(p.x, low), int(whole));
}
double my_expm1(const double x) {
    if (is_nan(x) || !is_something(x)) return x;
    if (x > 710) return double(INF);
    if (x < -40) return -1;
    int n;
    dvec2 s = expm1_parts(x, 0, n);
    if (n == 0) return s.x + s.y;
    if (n > 60) return scaled_far(1 + s.x, n);
    double power = scaled(1, n);
    dvec2 r = two_sum(power - 1, power * s.x);
    precise double sum = r.x + (r.y + power * s.y);
    return sum;
}

// ---- logarithms: x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), log(1 + f) = 2 atanh(f / (2 + f)) ----

// Of a positive finite number.
dvec2 log_two(const double x) {
    precise double normal = exponent_of(x) < -1022 ? x * 18014398509481984.0lf : x;    /* 2^54 */
    uvec2 bits = bits_of(normal), over = minus(bits, uvec2(0x667f3bcdu, 0x3fe6a09eu)); /* sqrt(1/2) */
    int k = int(over.y) >> 20;
    double f = double_of(uvec2(bits.x, bits.y - (uint(k) << 20))) - 1, e = double(normal == x ? k : k - 54);
    dvec2 s = div2(dvec2(f, 0), two_sum(2, f)), square = mul2(s, s);
    double z = square.x, p = 2.0lf / 25.0lf;
    p = p * z + 2.0lf / 23.0lf;
    p = p * z + 2.0lf / 21.0lf;
    p = p * z + 2.0lf / 19.0lf;
    p = p * z + 2.0lf / 17.0lf;
    p = p * z + 2.0lf / 15.0lf;
    p = p * z + 2.0lf / 13.0lf;
    p = p * z + 2.0lf / 11.0lf;
    p = p * z + 2.0lf / 9.0lf;
    p = p * z + 2.0lf / 7.0lf;
    p = p * z + 2.0lf / 5.0lf;
    dvec2 r = add2(dvec2(0.66666666666666663lf, 3.700743415417188e-17lf), mul2(square, dvec2(p, 0)));
    r = add2(2.0lf * s, mul2(mul2(square, s), r));
    precise double high = e * LOG_2_HIGH;
    return add2(add2(dvec2(high, 0), two_product(e, LOG_2_LOW)), r);
}
bool log_special(const double x, out double result) {
    result = !is_something(x) ? double(-INF) : is_nan(x) ? x : is_negative(x) ? double(NOT_A_NUMBER) : x;
    return !is_something(x) || is_nan(x) || is_negative(x) || is_inf(x);
}
// The logarithm times `factor`.
double log_times(const double x, const dvec2 factor) {
    double special;
    if (log_special(x, special)) return special;
    dvec2 r = mul2(log_two(x), factor);
    return r.x + r.y;
}
double my_log(const double x) {
    return log_times(x, dvec2(1, 0));
}
double my_log1p(const double x) {
    if (is_nan(x) || size_of(x) < 1e-17lf) return x;
    dvec2 sum = two_sum(1, x);
    double special;
    if (log_special(sum.x, special)) return special;
    dvec2 r = log_two(sum.x);
    precise double more = r.y + quotient(sum.y, sum.x), result = r.x + more;
    return result;
}
double my_pow(const double a, const double b) {
    if (!is_something(b) || a == 1) return 1;
    if (is_nan(a) || is_nan(b)) return double(NOT_A_NUMBER);
    double size = size_of(a), half_b = size_of(b) * 0.5lf;
    if (is_inf(b)) return size == 1 ? 1 : (size > 1) == (b > 0) ? double(INF) : 0;
    bool whole = trunc(b) == b, odd = whole && trunc(half_b) != half_b;
    double sign = odd ? a : 1;
    if (!is_something(a) || is_inf(a)) return with_sign(is_inf(a) == (b > 0) ? double(INF) : 0, sign);
    if (is_negative(a) && !whole) return double(NOT_A_NUMBER);
    dvec2 l = log_two(size);
    precise double estimate = l.x * b;
    if (!(size_of(estimate) < 760)) return with_sign(estimate > 0 ? double(INF) : 0, sign);
    dvec2 t = mul2(l, dvec2(b, 0));
    return with_sign(exp_of(t.x, t.y), sign);
}

// ---- hyperbolic ----

double half_exp(const double x) {
    int n;
    double r = 1 + expm1_parts(min(x, 711.0lf), 0, n).x;
    return x > 711 ? double(INF) : scaled_far(r, n - 1);
}
double my_sinh(const double x) {
    double size = size_of(x);
    if (is_nan(x) || !is_something(x)) return x;
    if (size > 25) return with_sign(half_exp(size), x);
    precise double t = my_expm1(size), r = 0.5lf * (t + quotient(t, t + 1));
    return with_sign(r, x);
}
double my_cosh(const double x) {
    double size = size_of(x);
    if (is_nan(x)) return x;
    if (size > 25) return half_exp(size);
    precise double t = my_exp(size), r = 0.5lf * (t + quotient(1, t));
    return r;
}
double my_tanh(const double x) {
    double size = size_of(x);
    if (is_nan(x) || !is_something(x)) return x;
    if (size > 22) return with_sign(1, x);
    double t = my_expm1(2 * size);
    return with_sign(quotient(t, t + 2), x);
}
double my_asinh(const double x) {
    double size = size_of(x);
    if (is_nan(x) || is_inf(x) || !is_something(x)) return x;
    if (size > 1e9lf) return with_sign(my_log(size) + LOG_2, x);
    precise double square = size * size, t = size + quotient(square, 1 + root(1 + square));
    return with_sign(my_log1p(t), x);
}
double my_acosh(const double x) {
    if (is_nan(x) || x < 1) return double(NOT_A_NUMBER);
    if (x > 1e9lf) return my_log(x) + LOG_2;
    precise double d = x - 1, t = d + root(2 * d + d * d);
    return my_log1p(t);
}
double my_atanh(const double x) {
    double size = size_of(x);
    if (is_nan(x) || size > 1) return double(NOT_A_NUMBER);
    if (size == 1) return with_sign(double(INF), x);
    if (size < 1e-9lf) return x;
    return with_sign(0.5lf * my_log1p(quotient(2 * size, 1 - size)), x);
}
double my_sigmoid(const double x) {
    double z = my_exp(-size_of(x));
    return quotient(x < 0 ? z : 1, 1 + z);
}

// ---- erf by its series, erfc by its continued fraction (Abramowitz & Stegun 7.1.6, 7.1.14) ----

// e^(-x^2) / sqrt(pi)
double bell(const double x) {
    dvec2 square = two_product(x, x);
    return exp_of(-square.x, -square.y) * 0.56418958354775629lf;
}
double erf_small(const double x) { /* |x| <= 1 */
    precise double square = 2 * x * x, sum = 1;
    for (int k = 24; k > 0; k--) sum = 1 + quotient(sum * square, double(2 * k + 1));
    return 2 * x * bell(x) * sum;
}
double erfc_large(const double x) { /* x >= 0.6 */
    precise double rest = x;
    for (int k = 16 + int(180 / min(x * x, 1000.0lf)); k > 0; k--)
        rest = x + quotient(0.5lf * double(k), rest);
    return quotient(bell(x), rest);
}
double my_erf(const double x) {
    double size = size_of(x);
    if (is_nan(x) || !is_something(x)) return x;
    return with_sign(size > 6 ? 1 : size > 1 ? 1 - erfc_large(size) : erf_small(size), x);
}
double my_erfc(const double x) {
    if (is_nan(x)) return x;
    if (size_of(x) > 28) return x > 0 ? 0 : 2;
    return x < -1 ? 2 - erfc_large(-x) : x < 0.6lf ? 1 - erf_small(x) : erfc_large(x);
}

// ---- rests ----

// The mantissa of a positive number, its leading one at bit 52.
uvec2 mantissa_of(const uvec2 bits, out int exponent) {
    exponent = int(bits.y >> 20);
    if (exponent > 0) return uvec2(bits.x, (bits.y & 0xfffffu) | 0x100000u);
    exponent = top_of(bits) - 51;
    return shifted_left(bits, uint(52 - top_of(bits)));
}
// Exact, with the sign of a: long division of the whole numbers that the mantissas are.
double my_fmod(const double a, const double b) {
    uvec2 x = bits_of(size_of(a)), y = bits_of(size_of(b));
    if (is_nan(a) || is_inf(a) || is_nan(b) || !is_something(b)) return double(NOT_A_NUMBER);
    if (below(x, y)) return a;
    int ex, ey;
    x = mantissa_of(x, ex);
    y = mantissa_of(y, ey);
    if (!below(x, y)) x = minus(x, y);
    for (int n = ex - ey; n > 0 && (x.x | x.y) != 0; n--) {
        x = shifted_left(x, 1);
        if (!below(x, y)) x = minus(x, y);
    }
    if ((x.x | x.y) == 0) return with_sign(0, a);
    int up = 52 - top_of(x), e = ey - up; /* the leading one back to bit 52, as far as the exponent goes */
    if (e <= 0) up = ey - 1;
    x = up >= 0 ? shifted_left(x, uint(up)) : shifted_right(x, uint(-up));
    return with_sign(double_of(e > 0 ? uvec2(x.x, (x.y & 0xfffffu) | uint(e) << 20) : x), a);
}
