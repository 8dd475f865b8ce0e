// number.glsl - numbers of every dtype to and from the lanes that are computed in: f32 bits, 64-bit integers
// as two words, with WIDE_DTYPES defined also f64 bits and pairs of f32 bits. All by bits: rounding is to
// nearest even, and subnormals are what they are.

#include "tables/lane.glsl"

const uvec2 LEAST_I64 = uvec2(0, 0x80000000u);

uvec2 extend(const int v) {
    return uvec2(uint(v), uint(v >> 31));
}
uvec2 negated(const uvec2 v) {
    uint low = ~v.x + 1;
    return uvec2(low, ~v.y + (low == 0 ? 1 : 0));
}

uvec2 shifted_left(const uvec2 a, const uint count) {
    if (count == 0) return a;
    return count < 32 ? uvec2(a.x << count, a.y << count | a.x >> (32 - count))
                      : uvec2(0, a.x << (count - 32));
}
uvec2 shifted_right(const uvec2 a, const uint count) {
    if (count == 0) return a;
    return count < 32 ? uvec2(a.x >> count | a.y << (32 - count), a.y >> count)
                      : uvec2(a.y >> (count - 32), 0);
}
// Number of the first bit that is set, -1: none.
int top_of(const uvec2 v) {
    return v.y != 0 ? 32 + findMSB(v.y) : findMSB(v.x);
}
// What rounding to nearest even adds to what is kept; rest: what is cut off, its first bit on top.
uint rounded_up(const uint kept, const uint rest) {
    return rest > 0x80000000u || (rest == 0x80000000u && (kept & 1) != 0) ? 1 : 0;
}

// ---- narrow floats: `mantissa` stored bits, exponent bias ----

uint widened(const uint bits, const uint mantissa, const uint bias) {
    if (bits >> mantissa == 0)
        return floatBitsToUint(float(bits) * uintBitsToFloat((128 - bias - mantissa) << 23));
    return (bits << (23 - mantissa)) + ((127 - bias) << 23);
}
// A finite magnitude, as if the exponent had no upper end.
uint narrowed(const uint bits, const uint mantissa, const uint bias) {
    uint shift = 23 - mantissa, exponent = bits >> 23, kept = bits - ((127 - bias) << 23);
    if (exponent <= 127 - bias) {
        uint down = 128 - bias - exponent;
        if (down > mantissa + 2 || exponent == 0) return 0;
        kept = (bits & 0x7fffffu) | 0x800000u;
        shift += down;
    }
    return (kept + (1u << (shift - 1)) - 1 + (kept >> shift & 1)) >> shift;
}

uint f32_of_f16(const uint h) {
    uint size = h & 0x7fff, sign = (h & 0x8000) << 16;
    if (size >= 0x7c00) return sign | 0x7f800000u | (size & 0x3ff) << 13 | (size > 0x7c00 ? 0x400000u : 0u);
    return sign | widened(size, 10, 15);
}
uint f16_of_f32(const uint bits) {
    uint size = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000;
    if (size > 0x7f800000u) return sign | 0x7e00 | (size >> 13 & 0x3ff);
    return sign | (size >= 0x47800000u ? 0x7c00 : narrowed(size, 10, 15));
}
uint bf16_of_f32(const uint bits) {
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
uint f32_of_e4m3(const uint b) {
    uint size = b & 0x7f, sign = (b & 0x80) << 24;
    return sign | (size == 0x7f ? 0x7fc00000u : widened(size, 3, 7));
}
uint e4m3_of_f32(const uint bits) {
    uint size = bits & 0x7fffffffu, sign = bits >> 24 & 0x80;
    if (size > 0x7f800000u) return sign | 0x7f;
    return sign | (size >= 0x43e00000u ? 0x7e : narrowed(size, 3, 7));
}
uint e5m2_of_f32(const uint bits) {
    uint size = bits & 0x7fffffffu, sign = bits >> 24 & 0x80;
    if (size > 0x7f800000u) return sign | 0x7f;
    return sign | (size >= 0x47800000u ? 0x7c : narrowed(size, 2, 15));
}

// ---- floats and integers ----

// Toward zero; what does not fit is the least integer.
uvec2 i64_of_f32(const uint bits, const bool unsigned_too) {
    int exponent = int(bits >> 23 & 255) - 150;
    uint whole = (bits & 0x7fffffu) | 0x800000u;
    bool negative = bits >> 31 != 0;
    int most = unsigned_too && !negative ? 40 : 39;
    if (exponent <= -24) return uvec2(0);
    if (exponent > most) return LEAST_I64;
    uvec2 v = exponent <= 0 ? uvec2(whole >> -exponent, 0) : shifted_left(uvec2(whole, 0), uint(exponent));
    return negative ? negated(v) : v;
}
uint i32_of_f32(const uint bits) {
    float f = uintBitsToFloat(bits);
    return f >= -2147483648.0 && f < 2147483648.0 ? uint(int(f)) : 0x80000000u;
}

// An unsigned integer as f32 bits: to nearest even, or (odd) toward zero with a last bit that says "not
// exact", which another rounding to a narrower format then sees.
uint f32_of_u64(const uvec2 v, const bool odd) {
    int top = top_of(v);
    if (top < 0) return 0;
    uvec2 first = shifted_left(v, uint(63 - top));
    uint kept = first.y >> 8, rest = first.y << 24 | (first.x != 0 ? 1 : 0);
    uint bits = (uint(126 + top) << 23) + kept;
    return odd ? bits | (rest != 0 ? 1 : 0) : bits + rounded_up(kept, rest);
}
uint f32_of_i64(const uvec2 v, const bool odd) {
    return int(v.y) < 0 ? f32_of_u64(negated(v), odd) | 0x80000000u : f32_of_u64(v, odd);
}

uvec2 f64_of_f32(const uint bits) {
    uint sign = bits & 0x80000000u, size = bits & 0x7fffffffu;
    if (size == 0) return uvec2(0, sign);
    if (size >= 0x7f800000u) return uvec2(size << 29, sign | 0x7ff00000u | (size & 0x7fffffu) >> 3);
    if (size < 0x800000u) { /* subnormal: its first bit becomes the leading one */
        int up = 23 - findMSB(size);
        size = (size << up & 0x7fffffu) | 0x800000u;
        return uvec2(size << 29, sign | (((size >> 3) & 0xfffffu) + (uint(897 - up) << 20)));
    }
    return uvec2(size << 29, sign | ((size >> 3) + (896u << 20)));
}
uvec2 f64_of_u64(const uvec2 v) {
    int top = top_of(v);
    if (top < 0) return uvec2(0);
    uvec2 first = shifted_left(v, uint(63 - top)), kept = shifted_right(first, 11);
    uint low = kept.x + rounded_up(kept.x, first.x << 21);
    return uvec2(low, kept.y + (uint(1022 + top) << 20) + (low < kept.x ? 1 : 0));
}

// ---- f64 and the others ----

#if defined(WIDE_DTYPES) || defined(ONLY_F64)
bool is_nan64(const uvec2 v) {
    uint size = v.y & 0x7fffffffu;
    return size > 0x7ff00000u || (size == 0x7ff00000u && v.x != 0);
}
// To nearest even, or (odd) toward zero with a last bit that says "not exact".
uint f32_of_f64(const uvec2 v, const bool odd) {
    uint sign = v.y & 0x80000000u, size = v.y & 0x7fffffffu, rest = v.x << 3;
    if (is_nan64(v)) return sign | 0x7fc00000u | (size << 3 & 0x7fffffu) | v.x >> 29;
    if (size == 0x7ff00000u) return sign | 0x7f800000u;
    int exponent = int(size >> 20) - 896;
    if (exponent >= 255) return sign | (odd ? 0x7f7fffffu : 0x7f800000u);
    uint kept = (size << 3 & 0x7fffffu) | v.x >> 29;
    if (exponent <= 0) { /* subnormal: bits are shifted out, all that is lost shows in `rest` */
        uint down = uint(1 - exponent);
        if (down > 25 || size < 0x100000u) return sign | (odd && (size | v.x) != 0 ? 1 : 0);
        kept |= 0x800000u;
        rest = kept << (32 - down) | (rest != 0 ? 1 : 0);
        kept >>= down;
    } else {
        kept |= uint(exponent) << 23;
    }
    if (odd) return sign | kept | (rest != 0 ? 1 : 0);
    return sign | (kept + rounded_up(kept, rest));
}
#endif
#ifdef WIDE_DTYPES
// Toward zero; what does not fit is the least integer.
uvec2 i64_of_f64(const uvec2 v, const bool unsigned_too) {
    int exponent = int(v.y >> 20 & 2047) - 1023;
    bool negative = v.y >> 31 != 0;
    if (exponent < 0) return uvec2(0);
    if (exponent > (unsigned_too && !negative ? 63 : 62)) return LEAST_I64;
    uvec2 m = uvec2(v.x, (v.y & 0xfffffu) | 0x100000u); /* 53 bits */
    m = exponent > 52 ? shifted_left(m, uint(exponent - 52)) : shifted_right(m, uint(52 - exponent));
    return negative ? negated(m) : m;
}
uint i32_of_f64(const uvec2 v) {
    uvec2 i = i64_of_f64(v, false);
    return i == extend(int(i.x)) ? i.x : 0x80000000u;
}
uvec2 f64_of_i64(const uvec2 v) {
    bool negative = int(v.y) < 0;
    uvec2 bits = f64_of_u64(negative ? negated(v) : v);
    return uvec2(bits.x, bits.y | (negative ? 0x80000000u : 0));
}
#endif

// ---- lanes ----

uint f32_of(const uint dtype, const uint raw) {
    switch (dtype) {
    case F16: return f32_of_f16(raw);
    case BF16: return raw << 16;
    case E4M3: return f32_of_e4m3(raw);
    case E5M2: return f32_of_f16(raw << 8);
    default: return raw;
    }
}
uint narrow_of_f32(const uint dtype, const uint bits) {
    switch (dtype) {
    case F16: return f16_of_f32(bits);
    case BF16: return bf16_of_f32(bits);
    case E4M3: return e4m3_of_f32(bits);
    case E5M2: return e5m2_of_f32(bits);
    default: return bits;
    }
}
// An integer or bool, sign-extended.
uvec2 i64_of(const uint dtype, const uvec2 raw) {
    switch (dtype) {
    case BOOL: return uvec2(raw.x != 0 ? 1 : 0, 0);
    case I8: return extend(int(raw.x << 24) >> 24);
    case I16: return extend(int(raw.x << 16) >> 16);
    case I32: return extend(int(raw.x));
    default: return raw;
    }
}

#ifdef WIDE_DTYPES
// An element from f64 bits.
uvec2 raw_of_f64(const uint dtype, const uvec2 v) {
    switch (dtype) {
    case BOOL: return uvec2((v.y & 0x7fffffffu | v.x) != 0 ? 1 : 0, 0);
    case F64: return v;
    case U64: return i64_of_f64(v, true);
    case I64: return i64_of_f64(v, false);
    case U32: return uvec2(i64_of_f64(v, false).x, 0);
    case U8: case I8: case U16: case I16: case I32: return uvec2(i32_of_f64(v), 0);
    default: return uvec2(narrow_of_f32(dtype, f32_of_f64(v, dtype != F32 && dtype != C64)), 0);
    }
}
#endif
// What a shader has no use for it need not bring: with ONLY_F32 defined all lanes are f32 and results are
// floats or bool; with ONLY_INTEGERS operands and results are integers or bool; with ONLY_F64 they are
// floats, computed with in f64; with ONE_DTYPE elements are numbers as they are.
#if defined(ONLY_F32)
uvec2 lane_of(const uint dtype, const uvec2 raw, const uint lane) {
    if (is_float(dtype)) return uvec2(f32_of(dtype, raw.x), 0);
    uvec2 v = i64_of(dtype, raw);
    return uvec2(dtype == U64 ? f32_of_u64(v, false) : f32_of_i64(v, false), 0);
}
uvec2 raw_of(const uint dtype, const uvec2 v, const uint lane) {
    if (dtype == BOOL) return uvec2((v.x & 0x7fffffffu) != 0 ? 1 : 0, 0);
    return uvec2(narrow_of_f32(dtype, v.x), 0);
}
#elif defined(ONLY_F64)
uvec2 lane_of(const uint dtype, const uvec2 raw, const uint lane) {
    return dtype == F64 ? raw : f64_of_f32(f32_of(dtype, raw.x));
}
uvec2 raw_of(const uint dtype, const uvec2 v, const uint lane) {
    return dtype == F64 ? v : uvec2(narrow_of_f32(dtype, f32_of_f64(v, dtype != F32)), 0);
}
#elif defined(ONE_DTYPE)
uvec2 lane_of(const uint dtype, const uvec2 raw, const uint lane) {
    return raw;
}
uvec2 raw_of(const uint dtype, const uvec2 v, const uint lane) {
    return v;
}
#elif defined(ONLY_INTEGERS)
uvec2 lane_of(const uint dtype, const uvec2 raw, const uint lane) {
    return i64_of(dtype, raw);
}
uvec2 raw_of(const uint dtype, const uvec2 v, const uint lane) {
    return dtype == BOOL ? uvec2((v.x | v.y) != 0 ? 1 : 0, 0) : v;
}
#else
uvec2 lane_of(const uint dtype, const uvec2 raw, const uint lane) {
    if (lane == LANE_RAW) return raw;
#ifdef WIDE_DTYPES
    if (dtype == C64 && lane == LANE_C64) return raw;
    bool single = lane == LANE_F32 || lane == LANE_C64;
    if (dtype == F64) {
        if (lane == LANE_F64) return raw;
        return single ? uvec2(f32_of_f64(raw, false), 0) : i64_of_f64(raw, lane == LANE_U64);
    }
    if (lane == LANE_F64) {
        if (is_float(dtype)) return f64_of_f32(f32_of(dtype, raw.x));
        return dtype == U64 ? f64_of_u64(raw) : f64_of_i64(i64_of(dtype, raw));
    }
#else
    bool single = lane == LANE_F32;
#endif
    if (is_float(dtype)) {
        uint bits = f32_of(dtype, raw.x);
        return single ? uvec2(bits, 0) : i64_of_f32(bits, lane == LANE_U64);
    }
    uvec2 v = i64_of(dtype, raw);
    if (!single) return v;
    return uvec2(dtype == U64 ? f32_of_u64(v, false) : f32_of_i64(v, false), 0);
}

uvec2 raw_of(const uint dtype, const uvec2 v, const uint lane) {
    if (lane == LANE_RAW) return v;
#ifdef WIDE_DTYPES
    if (lane == LANE_F64) return raw_of_f64(dtype, v);
    if (lane == LANE_C64 && dtype == C64) return v;
    if (lane == LANE_C64 && dtype == BOOL) return uvec2(((v.x | v.y) & 0x7fffffffu) != 0 ? 1 : 0, 0);
#endif
    if (lane == LANE_F32 || lane == LANE_C64) {
        switch (dtype) {
        case BOOL: return uvec2((v.x & 0x7fffffffu) != 0 ? 1 : 0, 0);
        case F64: return f64_of_f32(v.x);
        case U64: return i64_of_f32(v.x, true);
        case I64: return i64_of_f32(v.x, false);
        case U32: return uvec2(i64_of_f32(v.x, false).x, 0);
        case U8: case I8: case U16: case I16: case I32: return uvec2(i32_of_f32(v.x), 0);
        default: return uvec2(narrow_of_f32(dtype, v.x), 0);
        }
    }
    bool negative = lane == LANE_I64 && int(v.y) < 0;
    if (dtype == BOOL) return uvec2((v.x | v.y) != 0 ? 1 : 0, 0);
    if (dtype == F64) {
        uvec2 bits = f64_of_u64(negative ? negated(v) : v);
        return uvec2(bits.x, bits.y | (negative ? 0x80000000u : 0));
    }
    if (is_float(dtype) || dtype == C64) {
        bool odd = dtype != F32 && dtype != C64;
        return uvec2(narrow_of_f32(dtype, lane == LANE_U64 ? f32_of_u64(v, odd) : f32_of_i64(v, odd)), 0);
    }
    return v;
}
#endif
