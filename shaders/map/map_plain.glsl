// map_plain.glsl - arithmetic on REAL, f32 or f64: what is an instruction or a few of them. The includer
// brings the functions of numbers of that type.

// -0 stays what it is, whatever a driver makes of comparisons.
REAL positive_part(const REAL a) {
    return is_negative(a) && is_something(a) && !is_nan(a) ? REAL(0) : a;
}
// Of 0 and -0 the second is the larger and the smaller one, as in torch; a driver's choice differs.
bool are_zeros(const REAL a, const REAL b) {
    return !is_something(a) && !is_something(b);
}
REAL mapped(const REAL a, const REAL b, const REAL c, const REAL f0, const REAL f1, const REAL f2) {
    const REAL nan = REAL(NOT_A_NUMBER), inf = REAL(INF), zero = REAL(0), one = REAL(1), six = REAL(6);
    const bool known = !is_nan(a) && !is_nan(b), above = rank_of(a) > rank_of(b),
               below = rank_of(a) < rank_of(b);
    precise REAL r = zero, d = c;
    switch (OP) {
    case OP_abs: r = size_of(a); break;
    case OP_neg: r = negative_of(a); break;
    case OP_sign: r = is_nan(a) || !is_something(a) ? zero : with_sign(one, a); break;
    case OP_square: r = a * a; break;
    case OP_floor: r = with_sign(floor(a), a); break;
    case OP_ceil: r = with_sign(ceil(a), a); break;
    case OP_round: r = with_sign(roundEven(a), a); break;
    case OP_trunc: r = with_sign(trunc(a), a); break;
    case OP_frac: r = is_inf(a) ? nan : a - trunc(a); break;
    case OP_clamp: case OP_hardtanh:
        r = is_nan(f0) || is_nan(f1) ? nan : is_nan(a) ? a : lesser_of(f1, greater_of(f0, a));
        break;
    case OP_nan_to_num: r = is_nan(a) ? f0 : a == inf ? f1 : a == -inf ? f2 : a; break;
    case OP_sqrt: r = is_negative(a) && a != 0 ? nan : root(a); break;
    case OP_rsqrt: r = is_negative(a) && a != 0 ? nan : inverse_root(a); break;
    case OP_reciprocal: r = quotient(one, a); break;
    case OP_isnan: r = is_nan(a) ? one : zero; break;
    case OP_isinf: r = is_inf(a) ? one : zero; break;
    case OP_isfinite: r = is_nan(a) || is_inf(a) ? zero : one; break;
    case OP_logical_not: r = is_something(a) ? zero : one; break;
    case OP_relu: r = positive_part(a); break;
    case OP_relu6: r = is_nan(a) ? a : lesser_of(six, positive_part(a)); break;
    case OP_leaky_relu: r = a > 0 ? a : a * f0; break;
    case OP_softsign: r = quotient(a, one + size_of(a)); break;
    case OP_hardsigmoid: r = is_nan(a) ? a : quotient(lesser_of(six, greater_of(zero, a + 3)), six); break;
    case OP_hardswish: r = is_nan(a) ? a : a * quotient(lesser_of(six, greater_of(zero, a + 3)), six); break;
    case OP_threshold: r = a <= f0 ? f1 : a; break;
    case OP_add: r = f0 == 1 ? a + b : fma(f0, b, a); break;
    case OP_sub: r = f0 == 1 ? a - b : fma(-f0, b, a); break;
    case OP_mul: r = a * b; break;
    case OP_div: r = quotient(a, b); break;
    case OP_trunc_divide: r = trunc(quotient(a, b)); break;
    case OP_maximum: r = !known ? nan : above && !are_zeros(a, b) ? a : b; break;
    case OP_minimum: r = !known ? nan : below && !are_zeros(a, b) ? a : b; break;
    case OP_copysign: r = with_sign(a, b); break;
    case OP_eq: r = known && !above && !below ? one : zero; break;
    case OP_ne: r = !known || above || below ? one : zero; break;
    case OP_lt: r = known && below ? one : zero; break;
    case OP_le: r = known && !above ? one : zero; break;
    case OP_gt: r = known && above ? one : zero; break;
    case OP_ge: r = known && !below ? one : zero; break;
    case OP_logical_and: r = is_something(a) && is_something(b) ? one : zero; break;
    case OP_logical_or: r = is_something(a) || is_something(b) ? one : zero; break;
    case OP_logical_xor: r = is_something(a) != is_something(b) ? one : zero; break;
    case OP_lerp: r = size_of(c) < REAL(0.5) ? fma(c, b - a, a) : fma(a - b, one - c, b); break;
    case OP_addcmul: r = product_beside(f0, b, false, d); r = fma(r, d, a); break;
    case OP_addcdiv: r = product_beside(f0, b, true, d); r = a + quotient(r, d); break;
    }
    return r;
}
