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
// a + f b c and a + f b / c, where the product f b leaves the range too.
REAL plus_product(const REAL f, const REAL b, const REAL c, const REAL a) {
    precise REAL d = c, r = product_beside(f, b, false, d);
    r = fma(r, d, a);
    return r;
}
REAL plus_quotient(const REAL f, const REAL b, const REAL c, const REAL a) {
    precise REAL d = c, r = product_beside(f, b, true, d);
    r = a + quotient(r, d);
    return r;
}
REAL mapped(const uint op, const REAL a, const REAL b, const REAL c, const REAL f0, const REAL f1,
            const REAL f2) {
    const REAL nan = REAL(NOT_A_NUMBER), inf = REAL(INF), zero = REAL(0), one = REAL(1), six = REAL(6);
    const bool known = !is_nan(a) && !is_nan(b), above = rank_of(a) > rank_of(b),
               below = rank_of(a) < rank_of(b);
    precise REAL r = zero;
    switch (op) {
#include "tables/map_real_cases.glsl"
    }
    return r;
}
