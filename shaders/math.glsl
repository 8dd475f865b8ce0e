// math.glsl - elementary functions in f32, good to 1 or 2 units of the last place on any driver: built from
// additions, multiplications and divisions that are not contracted or reordered (`precise`). Where f32 alone
// would lose bits, a number is two floats, x + y, whose sum is what counts (Dekker 1971).

const float INF = uintBitsToFloat(0x7f800000u), NOT_A_NUMBER = uintBitsToFloat(0x7fc00000u);

// Not isnan() and isinf(): drivers may take NaN and infinities for impossible.
bool is_nan(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}
bool is_inf(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}
float with_sign(float size, float sign) {
    return uintBitsToFloat((floatBitsToUint(size) & 0x7fffffffu) | (floatBitsToUint(sign) & 0x80000000u));
}
bool is_negative(float x) {
    return floatBitsToUint(x) >> 31 != 0;
}
float size_of(float x) {
    return uintBitsToFloat(floatBitsToUint(x) & 0x7fffffffu);
}
// NaN in the second place gives the first: max(bound, x) with the operands of SSE.
float greater_of(float bound, float x) {
    return bound > x ? bound : x;
}
float lesser_of(float bound, float x) {
    return bound < x ? bound : x;
}

// x 2^n, in two steps: the first keeps it normal.
float scaled(float x, int n) {
    int half_n = n / 2;
    precise float r = x * uintBitsToFloat(uint(127 + half_n) << 23);
    r = r * uintBitsToFloat(uint(127 + n - half_n) << 23);
    return r;
}

// ---- two floats ----

vec2 two_sum(float a, float b) {
    precise float s = a + b, bb = s - a, e = (a - (s - bb)) + (b - bb);
    return vec2(s, e);
}
vec2 quick_sum(float a, float b) { /* |a| >= |b| */
    precise float s = a + b, e = b - (s - a);
    return vec2(s, e);
}
vec2 halves(float a) {
    precise float t = a * 4097.0, high = t - (t - a), low = a - high;
    return vec2(high, low);
}
vec2 two_product(float a, float b) {
    precise float p = a * b;
    vec2 x = halves(a), y = halves(b);
    precise float e = ((x.x * y.x - p) + x.x * y.y + x.y * y.x) + x.y * y.y;
    return vec2(p, e);
}
vec2 add2(vec2 a, vec2 b) {
    vec2 s = two_sum(a.x, b.x);
    precise float e = s.y + (a.y + b.y);
    return quick_sum(s.x, e);
}
vec2 mul2(vec2 a, vec2 b) {
    vec2 p = two_product(a.x, b.x);
    precise float e = p.y + (a.x * b.y + a.y * b.x);
    return quick_sum(p.x, e);
}
vec2 div2(vec2 a, vec2 b) {
    precise float q = a.x / b.x;
    vec2 p = two_product(q, b.x);
    precise float rest = ((a.x - p.x) - p.y) + a.y - q * b.y, e = rest / b.x;
    return quick_sum(q, e);
}
vec2 sqrt2(vec2 a) {
    precise float s = sqrt(a.x);
    if (s == 0) return vec2(s, 0);
    vec2 p = two_product(s, s);
    precise float e = (((a.x - p.x) - p.y) + a.y) / (2 * s);
    return quick_sum(s, e);
}

// ---- e^x: x = n ln 2 + r, |r| <= ln 2 / 2 ----

float exp_reduce(float x, out int n) {
    precise float whole = roundEven(x * 1.44269504), r = x - whole * 0.693145752;
    r = r - whole * 1.42860677e-6;
    n = int(whole);
    return r;
}
float expm1_poly(float r) {
    precise float p = 1.39108044e-3;
    p = p * r + 8.37051682e-3;
    p = p * r + 4.16668691e-2;
    p = p * r + 0.166664988;
    p = p * r + 0.499999970;
    p = (r * r) * p + r;
    return p;
}
// e^(x + y) = (z.x + z.y) 2^n
vec2 exp_parts(float x, float y, out int n) {
    float r = exp_reduce(x, n);
    precise float s = expm1_poly(r);
    s = s + (y + y * s);
    return quick_sum(1, s);
}
float exp2_of(float x, float y) { /* e^(x + y) */
    if (is_nan(x)) return x;
    if (x < -104) return 0;
    int n;
    vec2 z = exp_parts(min(x, 89.0), x > 89 ? 0 : y, n);
    return scaled(z.x + z.y, n);
}
float my_exp(float x) {
    return exp2_of(x, 0);
}
float my_exp2(float x) {
    if (is_nan(x)) return x;
    if (x < -150) return 0;
    x = min(x, 129.0);
    precise float whole = roundEven(x), r = x - whole, p = 1.58246577e-4;
    p = p * r + 1.34177180e-3;
    p = p * r + 9.61706508e-3;
    p = p * r + 5.55027276e-2;
    p = p * r + 0.240226552;
    p = p * r + 0.693147242;
    p = p * r + 1.0;
    return scaled(p, int(whole));
}
float my_expm1(float x) {
    if (is_nan(x) || x == 0) return x;
    if (x < -40) return -1;
    int n;
    float r = exp_reduce(min(x, 89.0), n), s = expm1_poly(r);
    if (n > 60) return scaled(1 + s, n);
    float power = uintBitsToFloat(uint(127 + n) << 23);
    precise float result = power * s + (power - 1);
    return result;
}

// ---- logarithms: x = 2^e (1 + f), 1 + f in [2/3, 4/3) ----

void log_parts(float x, out float e, out float f, out float tail) {
    uint bits = floatBitsToUint(x);
    float bias = 0;
    if (bits < 0x800000u) { /* subnormal */
        int up = 23 - findMSB(bits);
        bits = ((bits << up) & 0x7fffffu) + 0x800000u;
        bias = float(1 - up) - 1;
    }
    int exponent = (int(bits) - 0x3f2aaaab) >> 23;
    e = float(exponent) + bias;
    precise float g = uintBitsToFloat(bits - uint(exponent << 23)) - 1, s = g * g, p = -0.128918126;
    p = p * g + 0.139844537;
    p = p * g - 0.121842332;
    p = p * g + 0.140058652;
    p = p * g - 0.166804895;
    p = p * g + 0.200104058;
    p = p * g - 0.249997973;
    p = p * g + 0.333332151;
    precise float t = (p * g) * s + s * -0.5;
    f = g;
    tail = t;
}
// The logarithms of what is not a positive finite number.
bool log_special(float x, out float result) {
    result = x;
    if (x == 0 && (floatBitsToUint(x) & 0x7fffffffu) == 0) {
        result = -INF;
        return true;
    }
    if (is_nan(x)) return true;
    if (is_negative(x)) {
        result = NOT_A_NUMBER;
        return true;
    }
    return is_inf(x);
}
float my_log(float x) {
    float e, f, tail, special;
    if (log_special(x, special)) return special;
    log_parts(x, e, f, tail);
    precise float r = e * 0.693145752 + (f + (e * 1.42860677e-6 + tail));
    return r;
}
float my_log2(float x) {
    float e, f, tail, special;
    if (log_special(x, special)) return special;
    log_parts(x, e, f, tail);
    precise float t = (f + tail) * 0.442695041 + tail, r = (e + f) + t;
    return r;
}
float my_log10(float x) {
    float e, f, tail, special;
    if (log_special(x, special)) return special;
    log_parts(x, e, f, tail);
    vec2 p = two_product(f, 0.434294482);
    precise float low = p.y + tail * 0.434294482 + (e * 7.9034151e-7 + f * -1.010305e-8);
    vec2 s = two_sum(e * 0.301029205, p.x);
    precise float r = s.x + (s.y + low);
    return r;
}
// log(1 + x + y)
float log1p2(float x, float y) {
    if (x == 0) return x;
    precise float sum = x + 1, lost = x - (sum - 1);
    float e, f, tail, special;
    if (log_special(sum, special)) return special;
    log_parts(sum, e, f, tail);
    precise float t = (e * 1.42860677e-6 + tail) + (lost + y) / sum, r = e * 0.693145752 + (f + t);
    return r;
}
float my_log1p(float x) {
    return log1p2(x, 0);
}
// log x to about 2^-32, for x positive and finite.
vec2 log_two(float x) {
    float e, f, tail;
    log_parts(x, e, f, tail);
    /* log(1 + f) = 2 atanh(s), s = f / (2 + f) */
    vec2 s = div2(vec2(f, 0), quick_sum(2, f));
    precise float z = s.x * s.x, p = 0.1538461538;
    p = p * z + 0.1818181818;
    p = p * z + 0.2222222222;
    p = p * z + 0.2857142857;
    p = p * z + 0.4;
    vec2 z2 = mul2(s, s), cube = mul2(z2, s);
    vec2 inner = add2(vec2(0.666666687, -1.98682154e-8), mul2(z2, vec2(p, 0)));
    vec2 r = add2(vec2(2 * s.x, 2 * s.y), mul2(cube, inner));
    vec2 whole = add2(two_product(e, 0.693147182), vec2(e * -1.90465421e-9, 0));
    return add2(whole, r);
}

// ---- tanh, sigmoid, erf ----

float my_tanh(float x) {
    if (is_nan(x)) return x;
    precise float size = size_of(x), z = x * x, p = -6.16961392e-3;
    if (size < 0.55) {
        p = p * z + 2.10003760e-2;
        p = p * z - 5.38357571e-2;
        p = p * z + 0.133324370;
        p = p * z - 0.333333135;
        p = (p * z) * size + size;
        return with_sign(p, x);
    }
    precise float grown = my_exp(min(9.1, size) * 2.0), far = 1.0 - 2.0 / (grown + 1.0);
    return with_sign(far, x);
}
float my_sigmoid(float x) {
    if (is_nan(x)) return x;
    precise float z = my_exp(-size_of(x)), sum = 1 + z, lost = z - (sum - 1);
    precise float quotient = (x < 0 ? z : 1.0) / sum, result = quotient - quotient * lost;
    return result;
}
float my_erf(float x) {
    if (is_nan(x)) return x;
    precise float size = size_of(x), a = min(3.95, size), z = x * x;
    if (size < 1) {
        precise float p = 7.80690389e-5;
        p = p * z - 7.99785310e-4;
        p = p * z + 5.18716220e-3;
        p = p * z - 2.68533472e-2;
        p = p * z + 0.112835787;
        p = p * z - 0.376126260;
        p = p * z + 0.128379166;
        p = p * size + size;
        return with_sign(p, x);
    }
    precise float q = -2.16922926e-5;
    q = q * a + 4.41424811e-4;
    q = q * a - 4.20510629e-3;
    q = q * a + 2.52099875e-2;
    q = q * a - 0.108421713;
    q = q * a - 0.633216619;
    q = q * a - 1.12958026;
    q = q * a + 1.88468155e-4;
    return with_sign(1 - my_exp(q), x);
}
// e^(-a^2) u P(u), u = 1 / (1 + 0.4 a); 2 minus that for negative x.
float my_erfc(float x) {
    if (is_nan(x)) return x;
    float a = min(12.0, size_of(x));
    vec2 u = div2(vec2(1, 0), add2(vec2(1, 0), mul2(vec2(a, 0), vec2(0.400000006, -5.96046448e-9))));
    precise float p = 0.021914285893;
    p = p * u.x - 0.160418186700;
    p = p * u.x + 0.486359690246;
    p = p * u.x - 0.764397718834;
    p = p * u.x + 0.657407844271;
    p = p * u.x - 0.391167638631;
    p = p * u.x + 0.240468521224;
    p = p * u.x + 0.070135022317;
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

float gate(float x, float t) {
    return x == -INF ? NOT_A_NUMBER : greater_of(-0.0, x) - t;
}
float gate_logistic(float x, float size, float r, int n) { /* g(-|x|) = z / (1 + z), z = e^r 2^n */
    precise float s = expm1_poly(r), z = n > -100 ? scaled(s + 1, n) : 0.0, t = (size * s + size) / (1 + z);
    return gate(x, n > -160 ? scaled(t, n) : 0.0);
}
float my_silu(float x) {
    if (is_nan(x)) return x;
    int n;
    float size = min(120.0, size_of(x)), r = exp_reduce(-size, n);
    return gate_logistic(x, size, r, n);
}
float my_gelu_tanh(float x) {
    if (is_nan(x)) return x;
    float size = min(12.0, size_of(x));
    vec2 square = two_product(size, size);
    vec2 inner = add2(vec2(1.59576917, -7.93498e-9), mul2(square, vec2(0.0713548139, 1.27e-9)));
    vec2 y = mul2(vec2(size, 0), inner);
    int n;
    precise float r = exp_reduce(-y.x, n) - y.y;
    return gate_logistic(x, size, r, n);
}
float my_gelu(float x) {
    if (is_nan(x)) return x;
    precise float size = size_of(x), z = x * x, q = -6.78697779e-6;
    if (size < 1.05) {
        q = q * z + 1.10864989e-4;
        q = q * z - 1.18341495e-3;
        q = q * z + 9.97188222e-3;
        q = q * z - 6.64900616e-2;
        q = q * z + 0.398942262;
        q = x * (q * x + 0.5);
        return q;
    }
    precise float a = min(15.0, size), au = a / (a * 0.5 + 1.0), u = 1.0 - au * 0.5, p = 0.134060487;
    p = p * u - 0.415568709;
    p = p * u + 0.410808951;
    p = p * u - 2.35542934e-3;
    p = p * u - 0.189348504;
    p = p * u - 2.85515413e-2;
    p = p * u + 4.21440341e-2;
    p = p * u + 0.150613114;
    p = p * u + 0.199399844;
    p = p * u + 0.199473247;
    float top = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
    int n;
    precise float r = exp_reduce(top * top * -0.5, n) - ((a - top) * 0.5) * (a + top);
    p = au * p;
    p = n > -160 ? p * expm1_poly(r) + p : 0.0;
    return gate(x, scaled(p, n));
}
float my_logsigmoid(float x) {
    return is_nan(x) ? x : min(0.0, x) - my_log1p(my_exp(-size_of(x)));
}
float my_softplus(float x, float beta, float threshold) {
    precise float scaled_x = x * beta;
    if (is_nan(x) || scaled_x > threshold || scaled_x > 88) return x;
    vec2 p = size_of(scaled_x) < 1e30 ? two_product(x, beta) : vec2(scaled_x, 0);
    precise float r = my_log1p(exp2_of(p.x, p.y)) / beta;
    return r;
}
float my_mish(float x) { /* tanh(log(1 + w)) = w (w + 2) / (w (w + 2) + 2), w = e^x */
    if (is_nan(x)) return x;
    if (x == -INF) return NOT_A_NUMBER;
    if (x > 40) return x;
    if (x < -80) { /* w + 2 = 2, w (w + 2) + 2 = 2: x w, scaled last */
        int n;
        vec2 z = exp_parts(max(x, -200.0), 0, n);
        return scaled(max(x, -200.0) * z.x, n);
    }
    precise float w = my_exp(x), part = w * (w + 2), r = x * (part / (part + 2));
    return r;
}
float my_elu(float x, float alpha, float inner) {
    precise float r = alpha * my_expm1(x * inner);
    return x > 0 ? x : r;
}

// ---- angles: x = quarter pi/2 + r.x + r.y ----

const uint TWO_OVER_PI[10] = uint[](0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
                                    0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au);

// The product with as many bits of 2/pi as it takes (Payne & Hanek 1983).
vec2 turns_of_large(float x, out int quarter) {
    uint bits = floatBitsToUint(x), window[3];
    uint m = (bits & 0x7fffffu) | 0x800000u;
    int first = int(bits >> 23 & 255) - 152 + 32, word = first >> 5, shift = first & 31;
    for (int i = 0; i < 3; i++)
        window[i] = shift == 0 ? TWO_OVER_PI[word + i]
                               : TWO_OVER_PI[word + i] << shift | TWO_OVER_PI[word + i + 1] >> (32 - shift);
    uint high, low, carried, unused;
    umulExtended(m, window[1], high, low);
    umulExtended(m, window[2], carried, unused);
    uvec2 product = plus(uvec2(low, high + m * window[0]), uvec2(carried, 0)); /* 2 bits of n, 62 of the rest */
    uint n = plus(product, uvec2(0, 0x20000000u)).y >> 30;
    uvec2 rest = minus(product, uvec2(0, n << 30));
    float high_part = uintBitsToFloat(f32_of_i64(rest, false));
    uvec2 left = minus(rest, i64_of_f32(floatBitsToUint(high_part), false));
    float low_part = uintBitsToFloat(f32_of_i64(left, false)), unit = uintBitsToFloat(0x20800000u); /* 2^-62 */
    vec2 r = mul2(vec2(high_part * unit, low_part * unit), vec2(1.57079637, -4.37113883e-8));
    quarter = is_negative(x) ? -int(n) : int(n);
    return is_negative(x) ? -r : r;
}
vec2 turns_of(float x, out int quarter) {
    if (size_of(x) >= 400) return turns_of_large(x, quarter);
    precise float n = roundEven(x * 0.636619772), a = x - n * 1.5703125, b = n * 4.83751297e-4;
    vec2 r = two_sum(a, -b);
    precise float low = r.y - n * 7.54953362e-8 - n * 2.56334407e-12;
    quarter = int(n);
    return quick_sum(r.x, low);
}
vec2 sine_of(vec2 r) {
    precise float z = r.x * r.x, s = -1.94956621e-4;
    s = s * z + 8.33201408e-3;
    s = s * z - 0.166666523;
    s = (s * z) * r.x + (r.y - 0.5 * z * r.y);
    return quick_sum(r.x, s);
}
vec2 cosine_of(vec2 r) {
    precise float z = r.x * r.x, c = 2.44133826e-5;
    c = c * z - 1.38871418e-3;
    c = c * z + 4.16666418e-2;
    vec2 square = two_product(r.x, r.x), head = quick_sum(1, -0.5 * square.x);
    precise float low = head.y - 0.5 * square.y + (c * z) * z - r.x * r.y;
    return quick_sum(head.x, low);
}
float sine_of_quarter(vec2 r, int quarter) {
    vec2 v = (quarter & 1) != 0 ? cosine_of(r) : sine_of(r);
    precise float s = v.x + v.y;
    return (quarter & 2) != 0 ? -s : s;
}
float my_sin(float x) {
    if (is_nan(x) || is_inf(x)) return NOT_A_NUMBER;
    if (size_of(x) < 1e-10) return x;
    int quarter;
    vec2 r = turns_of(x, quarter);
    return sine_of_quarter(r, quarter);
}
float my_cos(float x) {
    if (is_nan(x) || is_inf(x)) return NOT_A_NUMBER;
    int quarter;
    vec2 r = turns_of(x, quarter);
    return sine_of_quarter(r, quarter + 1);
}
float my_tan(float x) {
    if (is_nan(x) || is_inf(x)) return NOT_A_NUMBER;
    if (size_of(x) < 1e-10) return x;
    int quarter;
    vec2 r = turns_of(x, quarter), s = sine_of(r), c = cosine_of(r);
    vec2 q = (quarter & 1) != 0 ? div2(-c, s) : div2(s, c);
    return q.x + q.y;
}
vec2 asin_small(float x) { /* 0 <= x <= 1/2: x + x z P(z) */
    precise float z = x * x, p = 0.0375165;
    p = 0.026919;
    p = p * z + 0.0223671;
    p = p * z + 0.0303914;
    p = p * z + 0.0446429;
    p = p * z + 0.0750000;
    p = p * z + 0.166666667;
    return quick_sum(x, (p * z) * x);
}
// sin within pi/4 of an estimate takes one Newton step: asin x = y + (x - sin y) / cos y.
vec2 asin_two(vec2 x) {
    vec2 y = asin_small(x.x);
    vec2 s = sine_of(y), c = cosine_of(y);
    precise float step = (((x.x - s.x) - s.y) + x.y) / c.x;
    vec2 r = quick_sum(y.x, y.y + step);
    return r;
}
float my_asin(float x) {
    float size = size_of(x);
    if (is_nan(x) || size > 1) return NOT_A_NUMBER;
    if (size < 1e-4) return x;
    if (size <= 0.5) {
        vec2 p = asin_two(vec2(size, 0));
        return with_sign(p.x + p.y, x);
    }
    vec2 p = asin_two(sqrt2(vec2(0.5 - 0.5 * size, 0)));
    vec2 r = add2(vec2(1.57079637, -4.37113883e-8), -2.0 * p);
    return with_sign(r.x + r.y, x);
}
float my_acos(float x) {
    float size = size_of(x);
    if (is_nan(x) || size > 1) return NOT_A_NUMBER;
    if (size <= 0.5) {
        vec2 p = asin_two(vec2(size, 0)), r = add2(vec2(1.57079637, -4.37113883e-8), is_negative(x) ? p : -p);
        return r.x + r.y;
    }
    vec2 p = 2.0 * asin_two(sqrt2(vec2(0.5 - 0.5 * size, 0)));
    if (is_negative(x)) p = add2(vec2(3.14159274, -8.74227766e-8), -p);
    return p.x + p.y;
}
// 0 <= q <= 1. Beyond tan(pi/8): atan q = pi/4 + atan((q - 1) / (q + 1)).
vec2 atan_two(vec2 q) {
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
float my_atan(float x) {
    if (is_nan(x)) return x;
    float size = size_of(x);
    if (size < 1e-4) return x;
    vec2 r = size > 1 ? add2(vec2(1.57079637, -4.37113883e-8),
                             -atan_two(is_inf(x) || size > 1e30 ? vec2(0) : div2(vec2(1, 0), vec2(size, 0))))
                      : atan_two(vec2(size, 0));
    return with_sign(r.x + r.y, x);
}
float my_atan2(float y, float x) {
    if (is_nan(x) || is_nan(y)) return NOT_A_NUMBER;
    float across = size_of(x), up = size_of(y), larger = max(across, up), smaller = min(across, up);
    vec2 r = vec2(0);
    int exponent = int(floatBitsToUint(larger) >> 23 & 255) - 127;
    if (larger != 0 && !is_inf(larger)) { /* both scaled to about 1 */
        float scale_by = uintBitsToFloat(uint(clamp(127 - exponent, 1, 253)) << 23);
        vec2 q = div2(vec2(smaller * scale_by, 0), vec2(larger * scale_by, 0));
        r = atan_two(q);
        if (!is_negative(x) && up <= across && q.x < 1e-20) return with_sign(smaller / larger, y);
    } else if (is_inf(smaller)) {
        r = vec2(0.785398185, -2.18556941e-8);
    }
    if (up > across) r = add2(vec2(1.57079637, -4.37113883e-8), -r);
    if (is_negative(x)) r = add2(vec2(3.14159274, -8.74227766e-8), -r);
    return with_sign(r.x + r.y, y);
}

// ---- hyperbolic ----

float my_cosh(float x) {
    if (is_nan(x)) return x;
    float size = min(size_of(x), 91.0);
    int n, m;
    vec2 grown = exp_parts(size, 0, n), shrunk = exp_parts(-size, 0, m);
    if (n > 24) return scaled(grown.x + grown.y, n - 1);
    float a = uintBitsToFloat(uint(126 + n) << 23), b = uintBitsToFloat(uint(126 + m) << 23);
    vec2 r = add2(grown * a, shrunk * b);
    return r.x + r.y;
}
float my_sinh(float x) {
    if (is_nan(x)) return x;
    float size = min(size_of(x), 91.0);
    if (size < 0.5) {
        precise float z = x * x, p = 2.77e-6;
        p = p * z + 1.984126984e-4;
        p = p * z + 8.333333333e-3;
        p = p * z + 0.166666667;
        p = (p * z) * x + x;
        return size < 1e-4 ? x : p;
    }
    int n, m;
    vec2 grown = exp_parts(size, 0, n), shrunk = exp_parts(-size, 0, m);
    if (n > 24) return with_sign(scaled(grown.x + grown.y, n - 1), x);
    float a = uintBitsToFloat(uint(126 + n) << 23), b = uintBitsToFloat(uint(126 + m) << 23);
    vec2 r = add2(grown * a, -shrunk * b);
    return with_sign(r.x + r.y, x);
}
float my_asinh(float x) {
    if (is_nan(x) || is_inf(x)) return x;
    float size = size_of(x);
    if (size < 1e-4) return x;
    if (size > 1e9) return with_sign(my_log(size * 0.5) + 1.38629436, x);
    precise float square = size * size, t = square / (1 + sqrt(1 + square));
    vec2 s = two_sum(size, t);
    return with_sign(log1p2(s.x, s.y), x);
}
float my_acosh(float x) {
    if (is_nan(x) || x < 1) return NOT_A_NUMBER;
    if (is_inf(x)) return x;
    if (x > 1e9) return my_log(x * 0.5) + 1.38629436;
    float d = x - 1;
    vec2 t = sqrt2(mul2(vec2(d, 0), two_sum(d, 2))), s = add2(vec2(d, 0), t);
    return log1p2(s.x, s.y);
}
float my_atanh(float x) {
    float size = size_of(x);
    if (is_nan(x) || size > 1) return NOT_A_NUMBER;
    if (size == 1) return with_sign(INF, x);
    if (size < 1e-4) return x;
    vec2 q = div2(vec2(2 * size, 0), two_sum(1, -size));
    return with_sign(0.5 * log1p2(q.x, q.y), x);
}

// ---- two operands ----

float my_pow(float a, float b) {
    if (b == 0 || a == 1) return 1;
    if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
    float size = size_of(a), size_b = size_of(b);
    if (is_inf(b)) return size == 1 ? 1 : (size > 1) == (b > 0) ? INF : 0;
    bool whole = size_b >= 16777216 || trunc(b) == b, odd = whole && size_b < 16777216 && (int(size_b) & 1) != 0;
    float sign = odd ? a : 1;
    if (floatBitsToUint(size) == 0 || is_inf(a)) {
        bool grows = is_inf(a) == (b > 0);
        return with_sign(grows ? INF : 0, sign);
    }
    if (is_negative(a) && !whole) return NOT_A_NUMBER;
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
float my_hypot(float a, float b) {
    if (is_inf(a) || is_inf(b)) return INF;
    if (is_nan(a) || is_nan(b)) return NOT_A_NUMBER;
    float large = max(size_of(a), size_of(b)), small = min(size_of(a), size_of(b));
    int exponent = clamp(int(floatBitsToUint(large) >> 23) - 127, -100, 100);
    float x = scaled(large, -exponent), y = scaled(small, -exponent);
    vec2 s = sqrt2(add2(two_product(x, x), two_product(y, y)));
    return scaled(s.x + s.y, exponent);
}
// Exact, with the sign of a: long division of the whole numbers that the mantissas are.
float my_fmod(float a, float b) {
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
float my_remainder(float a, float b) {
    float rest = my_fmod(a, b);
    precise float moved = rest + b;
    return rest != 0 && is_negative(rest) != is_negative(b) ? moved : rest;
}
float my_floor_divide(float a, float b) {
    precise float plain = a / b;
    if (b == 0 && (floatBitsToUint(b) & 0x7fffffffu) == 0) return plain;
    float rest = my_fmod(a, b);
    if (is_nan(rest)) return rest;
    bool opposes = rest != 0 && is_negative(rest) != is_negative(b);
    vec2 whole = two_sum(a, -rest);
    precise float quotient = (whole.x + whole.y) / b - (opposes ? 1.0 : 0.0);
    return quotient == 0 ? with_sign(0, plain) : roundEven(quotient);
}
