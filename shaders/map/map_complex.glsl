// map_complex.glsl - complex numbers as pairs of f64; infinities and zeros as C11, annex G.6, has them.

// A real operand's imaginary part is 0. A driver that knows it leaves out what is added to it or multiplied
// by it, with the signs of zeros and the NaN that come of that; there are no workgroups along z, which it
// does not know.
dvec2 complex_of(const uvec2 raw) {
    return dvec2(double_of(f64_of_f32(raw.x)), double_of(f64_of_f32(raw.y | gl_WorkGroupID.z)));
}
uvec2 raw_of_complex(const dvec2 z) {
    return uvec2(f32_of_f64(bits_of(z.x), false), f32_of_f64(bits_of(z.y), false));
}
bool is_finite(const double x) {
    return !is_nan(x) && !is_inf(x);
}
dvec2 times(const dvec2 a, const dvec2 b) {
    precise dvec2 r = dvec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
    return r;
}
// x / 0, whatever a driver makes of 0 / 0.
double over_zero(const double x) {
    return is_nan(x) || !is_something(x) ? double(NOT_A_NUMBER) : with_sign(double(INF), x);
}
// By the larger part of b (Smith 1962); by zero each part on its own, as torch and NumPy do.
dvec2 over(const dvec2 a, const dvec2 b) {
    double across = size_of(b.x), up = size_of(b.y);
    if (across == 0 && up == 0) return dvec2(over_zero(a.x), over_zero(a.y));
    bool turned = !(across >= up);
    dvec2 c = turned ? b.yx : b;
    precise double ratio = quotient(c.y, c.x), factor = quotient(1, c.x + c.y * ratio);
    precise dvec2 r =
        turned ? dvec2(a.x * ratio + a.y, a.y * ratio - a.x) : dvec2(a.x + a.y * ratio, a.y - a.x * ratio);
    r = r * factor;
    return r;
}
dvec2 exp_complex(const dvec2 z) {
    double grown = my_exp(z.x);
    if (z.y == 0) return dvec2(grown, z.y);
    if (!is_finite(z.y) && is_inf(z.x))
        return dvec2(grown, z.x > 0 ? double(NOT_A_NUMBER) : with_sign(0, z.y));
    return dvec2(grown * my_sin(z.y, 1), grown * my_sin(z.y, 0));
}
// Near |z| = 1 from |z|^2 - 1, which the f32 parts give exactly.
dvec2 log_complex(const dvec2 z) {
    double size = my_hypot(z.x, z.y), large = max(size_of(z.x), size_of(z.y)),
           small = min(size_of(z.x), size_of(z.y));
    precise double about_one = (large - 1) * (large + 1) + small * small;
    return dvec2(size > 0.5lf && size < 2 ? 0.5lf * my_log1p(about_one) : my_log(size), my_atan2(z.y, z.x));
}
dvec2 sqrt_complex(const dvec2 z) {
    if (z.x == 0 && z.y == 0) return dvec2(0, z.y);
    if (is_inf(z.y)) return dvec2(double(INF), z.y);
    if (is_inf(z.x)) {
        double other = is_nan(z.y) ? z.y : 0;
        return z.x > 0 ? dvec2(z.x, with_sign(other, z.y)) : dvec2(other, with_sign(double(INF), z.y));
    }
    double r = root((size_of(z.x) + my_hypot(z.x, z.y)) * 0.5lf);
    return z.x >= 0 ? dvec2(r, quotient(z.y, 2 * r))
                    : dvec2(quotient(size_of(z.y), 2 * r), with_sign(r, z.y));
}
dvec2 sinh_complex(const dvec2 z) {
    if (z.y == 0) return dvec2(my_sinh(z.x), z.y);
    double nan = double(NOT_A_NUMBER);
    if (!is_finite(z.y)) return dvec2(z.x == 0 || is_inf(z.x) ? z.x : nan, nan);
    return dvec2(my_sinh(z.x) * my_sin(z.y, 1), my_cosh(z.x) * my_sin(z.y, 0));
}
dvec2 cosh_complex(const dvec2 z) {
    if (z.y == 0) return dvec2(my_cosh(z.x), with_sign(0, z.x) * z.y);
    double nan = double(NOT_A_NUMBER);
    if (!is_finite(z.y)) return dvec2(is_inf(z.x) ? double(INF) : nan, z.x == 0 ? z.x : nan);
    return dvec2(my_cosh(z.x) * my_sin(z.y, 1), my_sinh(z.x) * my_sin(z.y, 0));
}
// Kahan 1987, "Branch cuts for complex elementary functions".
dvec2 tanh_complex(const dvec2 z) {
    if (z.y == 0) return dvec2(my_tanh(z.x), z.y);
    if (is_inf(z.x)) return dvec2(with_sign(1, z.x), with_sign(0, is_finite(z.y) ? my_sin(2 * z.y, 0) : z.y));
    double nan = double(NOT_A_NUMBER);
    if (!is_finite(z.y)) return dvec2(z.x == 0 ? z.x : nan, nan);
    if (size_of(z.x) > 20)
        return dvec2(with_sign(1, z.x), 4 * my_sin(z.y, 0) * my_sin(z.y, 1) * my_exp(-2 * size_of(z.x)));
    precise double t = my_tan(z.y), beta = 1 + t * t, s = my_sinh(z.x), below = 1 + beta * s * s;
    return dvec2(quotient(beta * root(1 + s * s) * s, below), quotient(t, below));
}

dvec2 turned(const dvec2 z) { /* i z */
    return dvec2(negative_of(z.y), z.x);
}
dvec2 turned_back(const dvec2 z) { /* -i z */
    return dvec2(z.y, negative_of(z.x));
}
dvec2 sin_complex(const dvec2 z) {
    return turned_back(sinh_complex(turned(z)));
}
dvec2 cos_complex(const dvec2 z) {
    return cosh_complex(turned(z));
}
dvec2 tan_complex(const dvec2 z) {
    return turned_back(tanh_complex(turned(z)));
}
dvec2 one_complex() {
    return complex_of(uvec2(floatBitsToUint(1), 0));
}

// The rest by their parts, as on the CPU (scalar_map.c): squares of f32 neither overflow nor vanish in f64.
dvec2 expm1_complex(const dvec2 z) { /* e^x cos y - 1 without what cancels */
    if (z.y == 0) return dvec2(my_expm1(z.x), z.y);
    if (is_inf(z.x) || !is_finite(z.y)) {
        dvec2 grown = exp_complex(z);
        return dvec2(grown.x - 1, grown.y);
    }
    precise double half_sine = my_sin(z.y * 0.5lf, 0),
                   less = my_expm1(z.x) * my_sin(z.y, 1) - 2 * half_sine * half_sine;
    return dvec2(less, my_exp(z.x) * my_sin(z.y, 0));
}
dvec2 log1p_complex(const dvec2 z) {
    precise double square = z.x * (2 + z.x) + z.y * z.y; /* |1 + z|^2 - 1 */
    if (size_of(square) < 0.5lf) return dvec2(0.5lf * my_log1p(square), my_atan2(z.y, 1 + z.x));
    return log_complex(dvec2(1 + z.x, z.y));
}
dvec2 asin_infinite(const dvec2 z) { /* a quarter of the circle for each part that is infinite */
    double across = is_inf(z.x) ? with_sign(1, z.x) : 0 * z.x, up = is_inf(z.y) ? 1 : 0 * size_of(z.y);
    return dvec2(my_atan2(across, up), with_sign(double(INF), z.y));
}
// The roots of 1 - z and 1 + z.
void roots_beside(const dvec2 z, out dvec2 p, out dvec2 q) {
    p = sqrt_complex(dvec2(1 - z.x, negative_of(z.y)));
    q = sqrt_complex(dvec2(1 + z.x, z.y));
}
dvec2 asin_complex(const dvec2 z) {
    if (is_inf(z.x) || is_inf(z.y)) return asin_infinite(z);
    dvec2 p, q;
    roots_beside(z, p, q);
    precise double along = p.x * q.x - p.y * q.y, across = p.x * q.y - p.y * q.x;
    return dvec2(my_atan2(z.x, along), my_asinh(across));
}
dvec2 acos_complex(const dvec2 z) {
    if (is_inf(z.x) || is_inf(z.y)) {
        dvec2 r = asin_infinite(z);
        return dvec2(1.5707963267948966lf - r.x, negative_of(r.y));
    }
    dvec2 p, q;
    roots_beside(z, p, q);
    precise double across = q.x * p.y - q.y * p.x;
    return dvec2(2 * my_atan2(p.x, q.x), my_asinh(across));
}
dvec2 acosh_complex(const dvec2 z) { /* i or -i acos, so that its real part is not below 0 */
    dvec2 r = acos_complex(z);
    return dvec2(size_of(r.y), with_sign(r.x, z.y));
}
dvec2 asinh_complex(const dvec2 z) {
    return turned_back(asin_complex(turned(z)));
}
dvec2 atanh_complex(const dvec2 z) { /* of |x|: near -1 a quotient would be rounded to -1 */
    if (is_inf(z.x) || is_inf(z.y))
        return dvec2(with_sign(0, z.x), with_sign(1.5707963267948966lf, z.y));
    precise double x = size_of(z.x), away = 1 - x, square = z.y * z.y,
                   below = away * away + square, back = away * (1 + x) - square;
    double grown = below == 0 ? double(INF) : quotient(4 * x, below);
    return dvec2(with_sign(my_log1p(grown) * 0.25lf, z.x), my_atan2(2 * z.y, back) * 0.5lf);
}
dvec2 atan_complex(const dvec2 z) {
    return turned_back(atanh_complex(turned(z)));
}
dvec2 sigmoid_complex(const dvec2 z) {
    if (z.x < -40) return exp_complex(z);
    dvec2 grown = exp_complex(dvec2(negative_of(z.x), negative_of(z.y)));
    return over(one_complex(), dvec2(1 + grown.x, grown.y));
}
// 0 to the 0 is 1; 0 to a power with a positive real part is 0.
dvec2 pow_complex(const dvec2 a, const dvec2 b) {
    if (b.x == 0 && b.y == 0) return dvec2(1, 0);
    if (a.x == 0 && a.y == 0 && b.x > 0) return dvec2(0, 0);
    return exp_complex(times(b, log_complex(a)));
}
dvec2 plus(const dvec2 a, const double f, const dvec2 b) {
    precise dvec2 r = a + f * b;
    return r;
}
dvec2 minus(const dvec2 a, const double f, const dvec2 b) {
    precise dvec2 r = a - f * b;
    return r;
}

dvec2 truth(const bool b) {
    return dvec2(b ? 1 : 0, 0);
}
dvec2 map_complex(const dvec2 a, const dvec2 b, const double f0) {
    bool first = a.x != 0 || a.y != 0, second = b.x != 0 || b.y != 0;
    switch (OP) {
#include "tables/map_complex_cases.glsl"
    }
    return a;
}
