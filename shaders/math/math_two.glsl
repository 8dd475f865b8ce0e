// math_two.glsl - arithmetic on SCALAR, f32 or f64, that loses nothing: a PAIR is two of them, x + y, whose
// sum is what counts (Dekker 1971). The includer defines both and HALVES_BY, 2^ceil(p / 2) + 1 of p bits of
// mantissa; they are gone behind it, for the other type.

PAIR two_sum(const SCALAR a, const SCALAR b) {
    precise SCALAR s = a + b, bb = s - a, e = (a - (s - bb)) + (b - bb);
    return PAIR(s, e);
}
PAIR quick_sum(const SCALAR a, const SCALAR b) { /* |a| >= |b| */
    precise SCALAR s = a + b, e = b - (s - a);
    return PAIR(s, e);
}
PAIR halves(const SCALAR a) {
    precise SCALAR t = a * HALVES_BY, high = t - (t - a), low = a - high;
    return PAIR(high, low);
}
PAIR two_product(const SCALAR a, const SCALAR b) {
    precise SCALAR p = a * b;
    PAIR x = halves(a), y = halves(b);
    precise SCALAR e = ((x.x * y.x - p) + x.x * y.y + x.y * y.x) + x.y * y.y;
    return PAIR(p, e);
}
PAIR add2(const PAIR a, const PAIR b) {
    PAIR s = two_sum(a.x, b.x);
    precise SCALAR e = s.y + (a.y + b.y);
    return quick_sum(s.x, e);
}
PAIR mul2(const PAIR a, const PAIR b) {
    PAIR p = two_product(a.x, b.x);
    precise SCALAR e = p.y + (a.x * b.y + a.y * b.x);
    return quick_sum(p.x, e);
}
PAIR div2(const PAIR a, const PAIR b) {
    precise SCALAR q = a.x / b.x;
    PAIR p = two_product(q, b.x);
    precise SCALAR rest = ((a.x - p.x) - p.y) + a.y - q * b.y, e = rest / b.x;
    return quick_sum(q, e);
}
#undef SCALAR
#undef PAIR
#undef HALVES_BY
