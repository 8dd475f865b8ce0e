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

dvec2 sin_complex(const dvec2 z) { /* -i sinh(iz) */
    dvec2 r = sinh_complex(dvec2(negative_of(z.y), z.x));
    return dvec2(r.y, negative_of(r.x));
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
