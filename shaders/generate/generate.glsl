// generate.glsl - tensors made from nothing: ramps and random numbers, to the bits that
// cpu/generate/random.c gives and describes. An invocation makes four elements that follow each other in
// the row-major order of the result. With DOUBLE defined, what is worked out in f64.
#include "tables/generate.glsl"

#define WIDE_DTYPES
#include "common/common.glsl"
#include "common/quads.glsl"
#include "common/number.glsl"
#include "common/integer.glsl"
#include "common/fault.glsl"
#include "generate/philox.glsl"

DEFINE_LOAD(load_p, b1)
DEFINE_STORE(store, b0)
DEFINE_STORE_QUAD(store_quad, b0, p0, q0)

// Of four elements: words, or double words as (low, high).
uvec2 words[4];
void draw(const uint first, const bool wide) {
    uvec4 w = philox(wide ? uvec2(first / 2, 0) : uvec2(first / 4, 0));
    if (!wide) {
        for (uint j = 0; j < 4; j++) words[j] = uvec2(w[j], 0);
        return;
    }
    uvec4 x = philox(uvec2(first / 2 + 1, 0));
    words[0] = w.yx;
    words[1] = w.wz;
    words[2] = x.yx;
    words[3] = x.wz;
}
// The number in [0, 1) of so many random bits that element j has.
uvec2 unit_of(const uint j, const uint bits) {
    if (bits == 53) return fraction(shifted_right(words[j], 11), 53);
    return fraction(uvec2(words[j].x >> (32 - bits), 0), bits);
}
uint random_bits(const uint dtype) {
    switch (dtype) {
    case F64: return 53;
    case F16: return 11;
    case BF16: return 8;
    case E4M3: return 4;
    case E5M2: return 3;
    default: return 24;
    }
}
// floor(a b / 2^64)
uvec2 high_product(const uvec2 a, const uvec2 b) {
    uint h, l, c0, c1;
    umulExtended(a.x, b.x, h, l);
    uvec2 low = uvec2(h, 0), x, y, z;
    umulExtended(a.y, b.x, x.y, x.x);
    umulExtended(a.x, b.y, y.y, y.x);
    umulExtended(a.y, b.y, z.y, z.x);
    uvec2 middle = plus(x, low);
    uvec2 carry = plus(y, uvec2(middle.x, 0));
    return plus(plus(z, uvec2(middle.y, 0)), uvec2(carry.y, 0));
}

uvec4 places(const uint i) {
    return places_of(param[ROW_at], i, P_ndim, ROW_stride, ROW_shape);
}

uvec2 drawn_by(const uint place, const uint j) {
    uvec2 raw = load_p(FROM, place), p = FROM == F64 ? raw : f64_of_f32(f32_of(FROM, raw.x));
    bool less = below(p, uvec2(0, 0x3ff00000u)) || p == uvec2(0, 0x3ff00000u) || p == uvec2(0, 0x80000000u);
    if (!less) tell(P_fault, P_kind, p, 0);
    bool one = less && p.y >> 31 == 0 && below(unit_of(j, FROM == F64 ? 53 : 24), p);
    return uvec2(0, one ? 0x3ff00000u : 0);
}

#ifdef DOUBLE
// Cosine and sine of 2 pi u for u in [0, 1): reduced exactly to an eighth of a turn either way.
dvec2 turned(const double u) {
    precise double t = u * 4.0lf, whole = roundEven(t), r = (t - whole) * 1.5707963267948966lf, z = r * r;
    uint quarter = uint(int(whole));
    precise double c = 1.0lf / 87178291200.0lf - z * (1.0lf / 20922789888000.0lf);
    precise double s = 1.0lf / 1307674368000.0lf - z * (1.0lf / 355687428096000.0lf);
    c = 1.0lf / 479001600.0lf - z * c;
    s = 1.0lf / 6227020800.0lf - z * s;
    c = 1.0lf / 3628800.0lf - z * c;
    s = 1.0lf / 39916800.0lf - z * s;
    c = 1.0lf / 40320.0lf - z * c;
    s = 1.0lf / 362880.0lf - z * s;
    c = 1.0lf / 720.0lf - z * c;
    s = 1.0lf / 5040.0lf - z * s;
    c = 1.0lf / 24.0lf - z * c;
    s = 1.0lf / 120.0lf - z * s;
    c = 1.0lf / 2.0lf - z * c;
    s = 1.0lf / 6.0lf - z * s;
    c = 1.0lf - z * c;
    s = (1.0lf - z * s) * r;
    dvec2 both = (quarter & 1) != 0 ? dvec2(s, c) : dvec2(c, s);
    if (((quarter + 1) & 2) != 0) both.x = -both.x;
    if ((quarter & 2) != 0) both.y = -both.y;
    return both;
}
uvec2 uniform_of(const uint j) {
    double low = double_of(P_f0), high = double_of(P_f1);
    double u = double_of(unit_of(j, random_bits(TO)));
    precise double value = low + u * (high - low);
    uvec2 raw = raw_of_f64(TO, bits_of(value));
    double rounded = double_of(TO == F64 ? raw : f64_of_f32(f32_of(TO, raw.x)));
    return low < high && rounded >= high ? P_below : bits_of(value);
}
uvec2 normal_of(const uint j) {
    uint even = j & ~1u;
    double u1, u2;
    if (TO == F64) {
        u1 = double_of(fraction(plus(shifted_right(words[even], 11), uvec2(1, 0)), 53));
        u2 = double_of(fraction(shifted_right(words[even + 1], 11), 53));
    } else {
        u1 = double_of(fraction(plus(words[even], uvec2(1, 0)), 32));
        u2 = double_of(fraction(words[even + 1], 32));
    }
    precise double r = double_of(P_f1) * root(-2.0lf * log_of(u1));
    dvec2 both = turned(u2);
    precise double value = double_of(P_f0) + r * ((j & 1) != 0 ? both.y : both.x);
    return bits_of(value);
}
uvec2 ramp_of(const uint i) {
    double start = double_of(P_f0), step = double_of(P_below), end = double_of(P_f1);
    uint n = P_n;
    precise double value = start + step * double(i);
    if (OP == GENERATE_linspace && i >= n / 2 && n > 1) value = end - step * double(n - 1 - i);
    return bits_of(value);
}
#endif

// Element i, number j of its four, as an element of the result.
uvec2 made(const uint i, const uint j) {
#ifdef DOUBLE
    return raw_of_f64(TO, OP == GENERATE_uniform  ? uniform_of(j)
                          : OP == GENERATE_normal ? normal_of(j)
                                                  : ramp_of(i));
#else
    switch (OP) {
    case GENERATE_uniform: return raw_of_f64(TO, unit_of(j, random_bits(TO)));
    case GENERATE_bernoulli: return raw_of_f64(TO, drawn_by(places(i).y, j));
    case GENERATE_randint: return raw_of(TO, plus(P_low, high_product(words[j], P_range)), LANE_I64);
    case GENERATE_randperm: return high_product(words[j], uvec2(i + 1, 0)); /* what each place swaps with */
    default: return raw_of(TO, plus(P_low, times(uvec2(i, 0), P_range)), LANE_I64);
    }
#endif
}

void main() {
    uint n = P_n, first = 4 * (group_index() * THREADS + gl_LocalInvocationID.x);
    if (first >= n) return;
    bool wide = OP == GENERATE_randint || OP == GENERATE_randperm;
    if (!wide) wide = (OP == GENERATE_bernoulli ? FROM : TO) == F64;
    if (OP <= GENERATE_randperm) draw(first, wide);
    uvec2 raw[4];
    for (uint j = 0; j < 4; j++)
        if (first + j < n) raw[j] = made(first + j, j);
    if (FLAT == 1 && first + 4 <= n) {
        store_quad(TO, P_at.x + first, uvec4(raw[0].x, raw[1].x, raw[2].x, raw[3].x));
        return;
    }
    for (uint j = 0; j < 4; j++)
        if (first + j < n) store(TO, places(first + j).x, raw[j]);
}
