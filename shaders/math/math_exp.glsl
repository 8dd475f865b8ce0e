// math_exp.glsl - e^x and what is made of it. Polynomials go by fma, which drivers may take apart and
// reorder; what must not be reordered does not.

#include "math/math.glsl"

// ---- e^x: x = n ln 2 + r, |r| <= ln 2 / 2 ----

float exp_reduce(const float x, out int n) {
    precise float whole = roundEven(x * 1.44269504), r = x - whole * 0.693145752;
    r = r - whole * 1.42860677e-6;
    n = int(whole);
    return r;
}
float expm1_poly(const float r) {
    precise float p = 1.39108044e-3;
    p = fma(p, r, 8.37051682e-3);
    p = fma(p, r, 4.16668691e-2);
    p = fma(p, r, 0.166664988);
    p = fma(p, r, 0.499999970);
    p = fma(r * r, p, r);
    return p;
}
// e^(x + y) = (z.x + z.y) 2^n
vec2 exp_parts(const float x, const float y, out int n) {
    float r = exp_reduce(x, n);
    precise float s = expm1_poly(r);
    s = s + (y + y * s);
    return quick_sum(1, s);
}
float exp2_of(const float x, const float y) { /* e^(x + y) */
    if (is_nan(x)) return x;
    if (x < -104) return 0;
    int n;
    vec2 z = exp_parts(min(x, 89.0), x > 89 ? 0 : y, n);
    return scaled(z.x + z.y, n);
}
float my_exp(const float x) {
    return exp2_of(x, 0);
}
float my_exp2(float x) {
    if (is_nan(x)) return x;
    if (x < -150) return 0;
    x = min(x, 129.0);
    precise float whole = roundEven(x), r = x - whole, p = 1.58246577e-4;
    p = fma(p, r, 1.34177180e-3);
    p = fma(p, r, 9.61706508e-3);
    p = fma(p, r, 5.55027276e-2);
    p = fma(p, r, 0.240226552);
    p = fma(p, r, 0.693147242);
    p = fma(p, r, 1.0);
    return scaled(p, int(whole));
}
float my_expm1(const float x) {
    if (is_nan(x) || x == 0) return x;
    if (x < -40) return -1;
    int n;
    float r = exp_reduce(min(x, 89.0), n), s = expm1_poly(r);
    if (n > 60) return scaled(1 + s, n);
    float power = uintBitsToFloat(uint(127 + n) << 23);
    precise float result = power * s + (power - 1);
    return result;
}

// ---- tanh, sigmoid, erf ----

float my_tanh(const float x) {
    precise float size = size_of(x), z = x * x, p = -6.16961392e-3, r = size;
    if (size < 0.55) {
        p = fma(p, z, 2.10003760e-2);
        p = fma(p, z, -5.38357571e-2);
        p = fma(p, z, 0.133324370);
        p = fma(p, z, -0.333333135);
        r = (p * z) * size + size;
    } else if (!is_nan(x)) {
        float grown = my_exp(min(9.1, size) * 2.0);
        r = 1.0 - 2.0 / (grown + 1.0);
    }
    return with_sign(r, x);
}
float my_sigmoid(const float x) {
    if (is_nan(x)) return x;
    precise float z = my_exp(-size_of(x)), sum = 1 + z, lost = z - (sum - 1);
    precise float n = x < 0 ? z : 1.0, q = n / sum;
    vec2 p = two_product(q, sum);
    precise float left = ((n - p.x) - p.y) - q * lost, result = q + left / sum;
    return result;
}
float my_erf(const float x) {
    precise float size = size_of(x), a = min(3.95, size), z = x * x, r = size;
    if (size < 1) {
        precise float p = 7.80690389e-5;
        p = fma(p, z, -7.99785310e-4);
        p = fma(p, z, 5.18716220e-3);
        p = fma(p, z, -2.68533472e-2);
        p = fma(p, z, 0.112835787);
        p = fma(p, z, -0.376126260);
        p = fma(p, z, 0.128379166);
        r = fma(p, size, size); /* the product alone may be subnormal */
    } else if (!is_nan(x)) {
        precise float q = -2.16922926e-5;
        q = fma(q, a, 4.41424811e-4);
        q = fma(q, a, -4.20510629e-3);
        q = fma(q, a, 2.52099875e-2);
        q = fma(q, a, -0.108421713);
        q = fma(q, a, -0.633216619);
        q = fma(q, a, -1.12958026);
        q = fma(q, a, 1.88468155e-4);
        r = 1 - my_exp(q);
    }
    return with_sign(r, x);
}
// e^(-a^2) u P(u), u = 1 / (1 + 0.4 a); 2 minus that for negative x.
float my_erfc(const float x) {
    if (is_nan(x)) return x;
    if (size_of(x) < 0.45) return 1 - my_erf(x);
    float a = min(12.0, size_of(x));
    vec2 u = div2(vec2(1, 0), add2(vec2(1, 0), mul2(vec2(a, 0), vec2(0.400000006, -5.96046448e-9))));
    precise float p = 0.021914285893;
    p = fma(p, u.x, -0.160418186700);
    p = fma(p, u.x, 0.486359690246);
    p = fma(p, u.x, -0.764397718834);
    p = fma(p, u.x, 0.657407844271);
    p = fma(p, u.x, -0.391167638631);
    p = fma(p, u.x, 0.240468521224);
    p = fma(p, u.x, 0.070135022317);
    vec2 q = add2(vec2(0.182018533, 0), mul2(u, vec2(p, 0)));
    q = add2(vec2(0.206222132, 1.5e-9), mul2(u, q));
    q = add2(vec2(0.225785494, 7.5e-9), mul2(u, q));
    q = add2(vec2(0.225672007, 5.0e-10), mul2(u, q));
    q = mul2(u, q);
    vec2 square = two_product(a, a);
    int n;
    vec2 z = mul2(q, exp_parts(-square.x, -square.y, n));
    if (is_negative(x)) return 2 - scaled(z.x, n);
    return n < -160 ? 0 : scaled(z.x + z.y, n);
}

// ---- activations: max(x, 0) - t, t = |x| g(-|x|) ----

float gate(const float x, const float t) {
    return x == -INF ? NOT_A_NUMBER : greater_of(-0.0, x) - t;
}
// g(-|x|) = z / (1 + z), z = e^r 2^n. Times `factor`: a gate may be subnormal where the product is not.
float gate_logistic(const float x, const float size, const float r, const int n, const float factor) {
    if (size < 1e-9) return x * (0.5 * factor); /* t may be subnormal where the result is not */
    precise float s = expm1_poly(r), z = n > -100 ? scaled(s + 1, n) : 0.0, t = (size * s + size) / (1 + z);
    if (n > -60 || n <= -160 || !is_negative(x)) {
        precise float gated = gate(x, n > -160 ? scaled(t, n) : 0.0) * factor;
        return gated;
    }
    int half_n = n / 2;
    precise float product = -t * uintBitsToFloat(uint(127 + half_n) << 23) * factor;
    product = product * uintBitsToFloat(uint(127 + n - half_n) << 23);
    return product;
}
float my_silu_times(const float x, const float factor) {
    if (is_nan(x)) return x;
    int n;
    float size = min(120.0, size_of(x)), r = exp_reduce(-size, n);
    return gate_logistic(x, size, r, n, factor);
}
float my_silu(const float x) {
    return my_silu_times(x, 1);
}
float my_gelu_tanh_times(const float x, const float factor) {
    if (is_nan(x)) return x;
    float size = min(12.0, size_of(x));
    vec2 square = two_product(size, size);
    vec2 inner = add2(vec2(1.59576917, -4.53406804e-8), mul2(square, vec2(0.0713548139, 2.39883240e-9)));
    vec2 y = mul2(vec2(size, 0), inner);
    int n;
    precise float r = exp_reduce(-y.x, n) - y.y;
    return gate_logistic(x, size, r, n, factor);
}
float my_gelu_tanh(const float x) {
    return my_gelu_tanh_times(x, 1);
}
float my_gelu(const float x) {
    if (is_nan(x)) return x;
    precise float size = size_of(x), z = x * x, q = -6.78697779e-6;
    if (size < 1.05) {
        q = fma(q, z, 1.10864989e-4);
        q = fma(q, z, -1.18341495e-3);
        q = fma(q, z, 9.97188222e-3);
        q = fma(q, z, -6.64900616e-2);
        q = fma(q, z, 0.398942262);
        q = x * (q * x + 0.5);
        return q;
    }
    precise float a = min(15.0, size), au = a / (a * 0.5 + 1.0), u = 1.0 - au * 0.5, p = 0.134060487;
    p = fma(p, u, -0.415568709);
    p = fma(p, u, 0.410808951);
    p = fma(p, u, -2.35542934e-3);
    p = fma(p, u, -0.189348504);
    p = fma(p, u, -2.85515413e-2);
    p = fma(p, u, 4.21440341e-2);
    p = fma(p, u, 0.150613114);
    p = fma(p, u, 0.199399844);
    p = fma(p, u, 0.199473247);
    float top = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
    int n;
    precise float r = exp_reduce(top * top * -0.5, n) - ((a - top) * 0.5) * (a + top);
    p = au * p;
    p = n > -160 ? p * expm1_poly(r) + p : 0.0;
    return gate(x, scaled(p, n));
}
float my_mish(const float x) { /* tanh(log(1 + w)) = w (w + 2) / (w (w + 2) + 2), w = e^x */
    if (is_nan(x)) return x;
    if (x == -INF) return NOT_A_NUMBER;
    if (x > 40) return x;
    if (x < -80) { /* w + 2 = 2, w (w + 2) + 2 = 2: x w, scaled last */
        int n;
        vec2 z = exp_parts(max(x, -150.0), 0, n);
        return scaled(max(x, -150.0) * z.x, n);
    }
    precise float w = my_exp(x), part = w * (w + 2), r = x * (part / (part + 2));
    return r;
}
float my_elu(const float x, const float alpha, const float inner) {
    precise float y = x * inner, r = size_of(y) < 1e-20 ? x * (alpha * inner) : alpha * my_expm1(y);
    return is_negative(x) && is_something(x) ? r : x;
}

// ---- hyperbolic ----

float my_cosh(const float x) {
    if (is_nan(x)) return x;
    float size = min(size_of(x), 91.0);
    int n, m;
    vec2 grown = exp_parts(size, 0, n), shrunk = exp_parts(-size, 0, m);
    if (n > 24) return scaled(grown.x + grown.y, n - 1);
    float a = uintBitsToFloat(uint(126 + n) << 23), b = uintBitsToFloat(uint(126 + m) << 23);
    vec2 r = add2(grown * a, shrunk * b);
    return r.x + r.y;
}
float my_sinh(const float x) {
    precise float size = size_of(x), r = size;
    if (size < 0.5) {
        precise float z = x * x, p = 2.77e-6;
        p = fma(p, z, 1.984126984e-4);
        p = fma(p, z, 8.333333333e-3);
        p = fma(p, z, 0.166666667);
        if (size >= 1e-4) r = (p * z) * size + size;
    } else if (!is_nan(x)) {
        int n, m;
        size = min(size, 91.0);
        vec2 grown = exp_parts(size, 0, n), shrunk = exp_parts(-size, 0, m);
        float a = uintBitsToFloat(uint(126 + n) << 23), b = uintBitsToFloat(uint(126 + m) << 23);
        vec2 sum = add2(grown * a, -shrunk * b);
        r = n > 24 ? scaled(grown.x + grown.y, n - 1) : sum.x + sum.y;
    }
    return with_sign(r, x);
}
