// integer.glsl - 64-bit integers as two words: arithmetic wraps, nothing traps.

bool below(const uvec2 a, const uvec2 b) {
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}
bool below_signed(const uvec2 a, const uvec2 b) {
    return below(uvec2(a.x, a.y ^ 0x80000000u), uvec2(b.x, b.y ^ 0x80000000u));
}
uvec2 plus(const uvec2 a, const uvec2 b) {
    uint carry, low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}
uvec2 minus(const uvec2 a, const uvec2 b) {
    return plus(a, negated(b));
}
uvec2 times(const uvec2 a, const uvec2 b) {
    uint high, low;
    umulExtended(a.x, b.x, high, low);
    return uvec2(low, high + a.x * b.y + a.y * b.x);
}

// Quotient; the rest in `rest`. b is not 0.
uvec2 divided(const uvec2 a, const uvec2 b, out uvec2 rest) {
    if ((a.y | b.y) == 0) {
        rest = uvec2(a.x % b.x, 0);
        return uvec2(a.x / b.x, 0);
    }
    uvec2 quotient = uvec2(0);
    rest = uvec2(0);
    for (int i = 63; i >= 0; i--) {
        bool over = rest.y >> 31 != 0;
        rest = shifted_left(rest, 1);
        rest.x |= i < 32 ? a.x >> i & 1 : a.y >> (i - 32) & 1;
        quotient = shifted_left(quotient, 1);
        if (over || !below(rest, b)) {
            rest = minus(rest, b);
            quotient.x |= 1;
        }
    }
    return quotient;
}
// Toward zero, the rest with the sign of a; by 0 both are 0.
uvec2 divided_signed(const uvec2 a, const uvec2 b, out uvec2 rest) {
    rest = uvec2(0);
    if ((b.x | b.y) == 0) return uvec2(0);
    bool na = int(a.y) < 0, nb = int(b.y) < 0;
    uvec2 quotient = divided(na ? negated(a) : a, nb ? negated(b) : b, rest);
    if (na) rest = negated(rest);
    return na != nb ? negated(quotient) : quotient;
}
uvec2 powered(uvec2 base, uvec2 exponent) {
    uvec2 result = uvec2(1, 0);
    while ((exponent.x | exponent.y) != 0) {
        if ((exponent.x & 1) != 0) result = times(result, base);
        exponent = shifted_right(exponent, 1);
        base = times(base, base);
    }
    return result;
}
// A negative power of a whole number: 0 unless that is 1 or -1.
uvec2 powered_below(const uvec2 base, const uvec2 exponent) {
    if (base == uvec2(1, 0)) return base;
    if (base != uvec2(~0u)) return uvec2(0);
    return (exponent.x & 1) != 0 ? base : uvec2(1, 0);
}
