// math_pair.glsl - functions of two numbers.

#include "math/math_log.glsl"

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
