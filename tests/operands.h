/* operands.h - numbers of every dtype as doubles, and operands laid out in every way a view can lie.
 * Formats are converted here bit by bit from their definition, so that tests do not lean on the library's
 * own rules. Used by the tests of ops, views and coverage. */
#ifndef OPERANDS_H
#define OPERANDS_H

#include "backwards.h"
#include "check.h"
#include "oxtorch.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define TEST_UNUSED __attribute__((unused))
#else
#define TEST_UNUSED
#endif

/* OX_BOOL .. OX_F8_E5M2: the dtypes with one element a block. */
#define PLAIN_DTYPES 16
#define MOST_ELEMENTS 8192

/* ---- random numbers for operands: xorshift64* (Vigna 2016) ------------------------------------------- */

static uint64_t test_random_state = 88172645463325252u;

TEST_UNUSED static uint64_t test_random(void) {
    uint64_t x = test_random_state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    test_random_state = x;
    return x * 2685821657736338717u;
}

/* Uniform in [0, 1). */
TEST_UNUSED static double test_uniform(void) {
    return (double)(test_random() >> 11) / 9007199254740992.0;
}

/* ---- formats ----------------------------------------------------------------------------------------- */

/* A binary float format: stored mantissa bits, exponent bias, largest finite value, whether it has
 * infinities. */
typedef struct float_format {
    int mantissa, exponent_bits, bias;
    double largest;
    bool infinities;
} float_format;

TEST_UNUSED static const float_format *format_of(ox_dtype dtype) {
    static const float_format f16 = {10, 5, 15, 65504.0, true},
                              bf16 = {7, 8, 127, 3.3895313892515355e38, true},
                              f32 = {23, 8, 127, 3.4028234663852886e38, true},
                              f64 = {52, 11, 1023, 1.7976931348623157e308, true},
                              e4m3 = {3, 4, 7, 448.0, false}, e5m2 = {2, 5, 15, 57344.0, true};
    switch (dtype) {
    case OX_F16: return &f16;
    case OX_BF16: return &bf16;
    case OX_F32:
    case OX_C64: return &f32;
    case OX_F64: return &f64;
    case OX_F8_E4M3: return &e4m3;
    case OX_F8_E5M2: return &e5m2;
    default: return NULL;
    }
}

TEST_UNUSED static double decode_float(const float_format *f, unsigned bits) {
    int exponent = (int)(bits >> f->mantissa) & ((1 << f->exponent_bits) - 1);
    int fraction = (int)(bits & ((1u << f->mantissa) - 1)), most = (1 << f->exponent_bits) - 1;
    double sign = bits >> (f->mantissa + f->exponent_bits) & 1 ? -1.0 : 1.0;
    if (f->infinities && exponent == most) return fraction ? (double)NAN : sign * (double)INFINITY;
    if (!f->infinities && exponent == most && fraction == (1 << f->mantissa) - 1) return (double)NAN;
    if (exponent == 0) return sign * ldexp((double)fraction, 1 - f->bias - f->mantissa);
    return sign * ldexp((double)(fraction + (1 << f->mantissa)), exponent - f->bias - f->mantissa);
}

/* The distance between neighbors of the format around x. */
TEST_UNUSED static double spacing(const float_format *f, double x) {
    int exponent = 0, least = 1 - f->bias;
    if (!(fabs(x) <= f->largest)) x = f->largest;
    if (x != 0) frexp(x, &exponent);
    exponent = x == 0 || exponent - 1 < least ? least : exponent - 1;
    return ldexp(1.0, exponent - f->mantissa);
}

/* x rounded to the format, to nearest even; beyond the largest number infinity, or the largest where there
 * is none. */
TEST_UNUSED static double round_to_format(const float_format *f, double x) {
    if (isnan(x) || x == 0 || f->mantissa == 52) return x;
    if (!isinf(x)) {
        double step = spacing(f, x), multiple = fabs(x) / step, whole = floor(multiple),
               part = multiple - whole;
        if (part > 0.5 || (part == 0.5 && fmod(whole, 2.0) == 1.0)) whole += 1;
        double rounded = whole * step;
        if (rounded <= f->largest) return x < 0 ? -rounded : rounded;
    }
    if (!f->infinities) return x < 0 ? -f->largest : f->largest;
    return x < 0 ? -(double)INFINITY : (double)INFINITY;
}

TEST_UNUSED static unsigned encode_float(const float_format *f, double x) {
    unsigned sign = signbit(x) ? 1u << (f->mantissa + f->exponent_bits) : 0,
             most = (1u << f->exponent_bits) - 1;
    double value = fabs(round_to_format(f, x));
    if (isnan(value) && f->infinities) return most << f->mantissa | 1u << (f->mantissa - 1);
    if (isnan(value)) return (most << f->mantissa) + (1u << f->mantissa) - 1;
    if (isinf(value)) return sign | most << f->mantissa;
    if (value == 0) return sign;
    int exponent;
    frexp(value, &exponent);
    exponent += f->bias - 1;
    if (exponent < 1) return sign | (unsigned)ldexp(value, f->bias - 1 + f->mantissa);
    double fraction = ldexp(value, f->mantissa - exponent + f->bias) - ldexp(1.0, f->mantissa);
    return sign | (((unsigned)exponent << f->mantissa) + (unsigned)fraction);
}

/* ---- one element at an address ----------------------------------------------------------------------- */

TEST_UNUSED static bool is_signed_int(ox_dtype d) {
    return d == OX_I8 || d == OX_I16 || d == OX_I32 || d == OX_I64;
}
TEST_UNUSED static bool is_integral(ox_dtype d) {
    return d >= OX_BOOL && d <= OX_I64;
}
TEST_UNUSED static bool is_real_float(ox_dtype d) {
    return (d >= OX_F16 && d <= OX_F64) || d == OX_F8_E4M3 || d == OX_F8_E5M2;
}
TEST_UNUSED static size_t width_of(ox_dtype d) {
    return (size_t)ox_dtype_get_info(d)->block_bytes;
}

/* Integers and bool, sign-extended; u64 as the same 64 bits. */
TEST_UNUSED static int64_t load_int(ox_dtype dtype, const void *p) {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    switch (dtype) {
    case OX_BOOL:
    case OX_U8: memcpy(&u8, p, 1); return u8;
    case OX_I8: memcpy(&i8, p, 1); return i8;
    case OX_U16: memcpy(&u16, p, 2); return u16;
    case OX_I16: memcpy(&i16, p, 2); return i16;
    case OX_U32: memcpy(&u32, p, 4); return u32;
    case OX_I32: memcpy(&i32, p, 4); return i32;
    default: memcpy(&i64, p, 8); return i64;
    }
}

/* The low bits of value, as any integer dtype keeps them; bool keeps whether it is 0. */
TEST_UNUSED static void store_int(ox_dtype dtype, void *p, int64_t value) {
    uint64_t bits = (uint64_t)value;
    uint8_t u8 = (uint8_t)bits;
    uint16_t u16 = (uint16_t)bits;
    uint32_t u32 = (uint32_t)bits;
    if (dtype == OX_BOOL) u8 = bits != 0;
    switch (width_of(dtype)) {
    case 1: memcpy(p, &u8, 1); break;
    case 2: memcpy(p, &u16, 2); break;
    case 4: memcpy(p, &u32, 4); break;
    default: memcpy(p, &bits, 8);
    }
}

/* Any plain dtype as a double; the real part of c64. */
TEST_UNUSED static double load_real(ox_dtype dtype, const void *p) {
    float f;
    double d;
    uint16_t u16;
    uint8_t u8;
    uint64_t u64;
    switch (dtype) {
    case OX_F64: memcpy(&d, p, 8); return d;
    case OX_F32:
    case OX_C64: memcpy(&f, p, 4); return (double)f;
    case OX_F16:
    case OX_BF16: memcpy(&u16, p, 2); return decode_float(format_of(dtype), u16);
    case OX_F8_E4M3:
    case OX_F8_E5M2: memcpy(&u8, p, 1); return decode_float(format_of(dtype), u8);
    case OX_U64: memcpy(&u64, p, 8); return (double)u64;
    default: return (double)load_int(dtype, p);
    }
}

TEST_UNUSED static double load_imaginary(ox_dtype dtype, const void *p) {
    return dtype == OX_C64 ? load_real(OX_F32, (const char *)p + 4) : 0;
}

TEST_UNUSED static void store_real(ox_dtype dtype, void *p, double value) {
    float f = (float)value, zero = 0;
    uint16_t u16;
    uint8_t u8;
    switch (dtype) {
    case OX_F64: memcpy(p, &value, 8); return;
    case OX_F32: memcpy(p, &f, 4); return;
    case OX_C64:
        memcpy(p, &f, 4);
        memcpy((char *)p + 4, &zero, 4);
        return;
    case OX_F16:
    case OX_BF16:
        u16 = (uint16_t)encode_float(format_of(dtype), value);
        memcpy(p, &u16, 2);
        return;
    case OX_F8_E4M3:
    case OX_F8_E5M2:
        u8 = (uint8_t)encode_float(format_of(dtype), value);
        memcpy(p, &u8, 1);
        return;
    case OX_U64: {
        uint64_t u64 = value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
        memcpy(p, &u64, 8);
        return;
    }
    default: store_int(dtype, p, (int64_t)value);
    }
}

/* ---- all elements of a tensor, row by row, whatever its strides -------------------------------------- */

/* Element offset (from the first element) of the row-major position `at`. */
TEST_UNUSED static int64_t offset_of_element(const ox_tensor *t, int64_t at) {
    int64_t offset = 0;
    for (int d = t->ndim - 1; d >= 0; d--) {
        offset += at % t->shape[d] * t->stride[d];
        at /= t->shape[d];
    }
    return offset;
}

TEST_UNUSED static char *element(const ox_tensor *t, int64_t at) {
    return (char *)ox_data(t) + offset_of_element(t, at) * (int64_t)width_of(t->dtype);
}

TEST_UNUSED static void read_elements(const ox_tensor *t, void *out) {
    size_t width = width_of(t->dtype);
    for (int64_t i = 0; i < ox_numel(t); i++) memcpy((char *)out + (size_t)i * width, element(t, i), width);
}

TEST_UNUSED static void write_elements(ox_tensor *t, const void *values) {
    size_t width = width_of(t->dtype);
    for (int64_t i = 0; i < ox_numel(t); i++)
        memcpy(element(t, i), (const char *)values + (size_t)i * width, width);
}

/* A contiguous copy, made by plain loops. */
TEST_UNUSED static ox_tensor *plain_copy(const ox_tensor *t) {
    ox_tensor *copy = ox_empty(ox_shape_of(t), t->dtype);
    if (copy && ox_numel(t) > 0) read_elements(t, ox_data(copy));
    return copy;
}

/* ---- layouts ----------------------------------------------------------------------------------------- */

typedef enum layout {
    LAYOUT_PLAIN,
    LAYOUT_TRANSPOSED,
    LAYOUT_STEP_LAST,
    LAYOUT_STEP_FIRST,
    LAYOUT_INSIDE,
    LAYOUT_EXPANDED_FIRST,
    LAYOUT_EXPANDED_LAST,
    LAYOUT_FLIPPED,
    LAYOUT_STEP_BACK,
    LAYOUT_COUNT
} layout;

TEST_UNUSED static const char *layout_name(layout l) {
    static const char *const names[] = {"plain",
                                        "transposed",
                                        "step 2 in the last dim",
                                        "step 2 in the first dim",
                                        "a window inside",
                                        "first dim expanded",
                                        "last dim expanded",
                                        "flipped",
                                        "last dim backwards by 2"};
    return names[l];
}

/* Filled with what no kernel should ever look at: NaN in every float format, -1; bools stay 0 or 1. */
TEST_UNUSED static ox_tensor *new_base(int ndim, const int64_t *shape, ox_dtype dtype) {
    ox_tensor *t = ox_empty(ox_shape_from(ndim, shape), dtype);
    if (t) memset(ox_data(t), dtype == OX_BOOL ? 1 : 0xff, ox_nbytes(t));
    return t;
}

/* A view of that shape with fresh memory under it. *base gets the tensor that owns the memory. */
TEST_UNUSED static ox_tensor *new_layout(layout l, int ndim, const int64_t *shape, ox_dtype dtype,
                                         ox_tensor **base) {
    int64_t big[OX_MAX_DIMS];
    ox_tensor *t;
    int last = ndim - 1;
    for (int d = 0; d < ndim; d++) big[d] = shape[d];
    if (ndim == 0) l = LAYOUT_PLAIN;
    switch (l) {
    case LAYOUT_TRANSPOSED:
        for (int d = 0; d < ndim; d++) big[d] = shape[last - d];
        t = *base = new_base(ndim, big, dtype);
        for (int d = 0; d < ndim / 2; d++) t = ox_transpose(t, d, last - d);
        return t;
    case LAYOUT_STEP_LAST:
        big[last] = 2 * shape[last] + 1;
        *base = new_base(ndim, big, dtype);
        return ox_slice(*base, last, 1, OX_END, 2);
    case LAYOUT_STEP_FIRST:
        big[0] = 2 * shape[0] + 1;
        *base = new_base(ndim, big, dtype);
        return ox_slice(*base, 0, 1, OX_END, 2);
    case LAYOUT_INSIDE:
        for (int d = 0; d < ndim; d++) big[d] = shape[d] + 3;
        t = *base = new_base(ndim, big, dtype);
        for (int d = 0; d < ndim; d++) t = ox_narrow(t, d, 2, shape[d]);
        return t;
    case LAYOUT_EXPANDED_FIRST:
    case LAYOUT_EXPANDED_LAST:
        big[l == LAYOUT_EXPANDED_FIRST ? 0 : last] = 1;
        *base = new_base(ndim, big, dtype);
        return ox_expand(*base, ox_shape_from(ndim, shape));
    case LAYOUT_FLIPPED: {
        ox_shape all = ox_shape_from(ndim, big);
        for (int d = 0; d < ndim; d++) all.dim[d] = d;
        *base = new_base(ndim, big, dtype);
        return backwards(*base, all);
    }
    case LAYOUT_STEP_BACK:
        big[last] = 2 * shape[last];
        *base = new_base(ndim, big, dtype);
        return ox_slice(*base, last, OX_END, OX_END, -2);
    default: return *base = new_base(ndim, big, dtype);
    }
}

/* ---- numbers for operands ---------------------------------------------------------------------------- */

typedef enum domain {
    DOMAIN_ANY,      /* small, large, tiny, 0 */
    DOMAIN_MODEST,   /* about [-8, 8] */
    DOMAIN_POSITIVE, /* (0, large) */
    DOMAIN_UNIT,     /* [-1, 1] */
    DOMAIN_NOT_ZERO, /* no 0: divisors */
    DOMAIN_COUNT     /* 0 .. 9: shift counts, integer exponents */
} domain;

TEST_UNUSED static double random_real(domain kind, double largest) {
    double u = test_uniform() * 2 - 1;
    switch (kind) {
    case DOMAIN_MODEST: return 8 * u;
    case DOMAIN_UNIT: return u;
    case DOMAIN_POSITIVE:
        return test_random() % 4 ? fabs(u) * 20 + 1e-3 : ldexp(fabs(u) + 0.1, (int)(test_random() % 20) - 10);
    case DOMAIN_NOT_ZERO: return (fabs(u) + 0.25) * (u < 0 ? -3 : 3);
    case DOMAIN_COUNT: return (double)(test_random() % 10);
    default: break;
    }
    switch (test_random() % 8) {
    case 0: return u * largest;
    case 1: return ldexp(u, -(int)(test_random() % 30));
    case 2: return (double)((int)(u * 4));
    default: return 8 * u;
    }
}

TEST_UNUSED static int64_t random_int(domain kind, ox_dtype dtype) {
    int64_t wide = (int64_t)test_random(), small = (int64_t)(test_random() % 13) - 6;
    if (kind == DOMAIN_COUNT) return (int64_t)(test_random() % 10);
    if (kind == DOMAIN_UNIT) return small % 2;
    int64_t value = kind == DOMAIN_MODEST ? small : test_random() % 4 ? small * 3 + 1 : wide;
    if (kind == DOMAIN_POSITIVE) value = value < 0 ? -(value + 1) % 100 + 1 : value % 100 + 1;
    if (!is_signed_int(dtype) && value < 0 && value > -1000) value = -value;
    if (kind == DOMAIN_NOT_ZERO) {
        char cell[8];
        store_int(dtype, cell, value);
        if (load_int(dtype, cell) == 0) value = 3;
    }
    return value;
}

/* n numbers of `dtype` side by side at out. */
TEST_UNUSED static void random_values(domain kind, ox_dtype dtype, int64_t n, void *out) {
    const float_format *f = format_of(dtype);
    char *p = (char *)out;
    for (int64_t i = 0; i < n; i++, p += width_of(dtype)) {
        if (dtype == OX_BOOL) {
            *p = kind == DOMAIN_NOT_ZERO ? 1 : (char)(test_random() >> 20 & 1);
            continue;
        }
        if (!f) {
            store_int(dtype, p, random_int(kind, dtype));
            continue;
        }
        double largest = f->largest < 1e6 ? f->largest / 4 : 1e6;
        store_real(dtype, p, random_real(kind, largest));
        if (dtype == OX_C64) store_real(OX_F32, p + 4, random_real(kind, largest));
    }
}

/* A view in layout l with random numbers in it. */
TEST_UNUSED static ox_tensor *random_layout(layout l, domain kind, int ndim, const int64_t *shape,
                                            ox_dtype dtype) {
    static double values[MOST_ELEMENTS];
    ox_tensor *base = NULL, *t = new_layout(l, ndim, shape, dtype, &base);
    if (!t || ox_numel(t) > MOST_ELEMENTS) return NULL;
    random_values(kind, dtype, ox_numel(t), values);
    write_elements(t, values);
    return t;
}

/* ---- comparing --------------------------------------------------------------------------------------- */

TEST_UNUSED static bool is_nan_element(ox_dtype dtype, const void *p) {
    return format_of(dtype) && isnan(load_real(dtype, p));
}

/* Same dtype, shape and bits; one NaN is as good as another. */
TEST_UNUSED static bool same_bits(const ox_tensor *a, const ox_tensor *b) {
    if (!a || !b || a->dtype != b->dtype || a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    if (ox_is_contiguous(a) && ox_is_contiguous(b) && memcmp(ox_data(a), ox_data(b), ox_nbytes(a)) == 0)
        return true;
    size_t width = width_of(a->dtype), part = a->dtype == OX_C64 ? 4 : width;
    ox_dtype part_dtype = a->dtype == OX_C64 ? OX_F32 : a->dtype;
    for (int64_t i = 0; i < ox_numel(a); i++) {
        const char *pa = element(a, i), *pb = element(b, i);
        for (size_t at = 0; at < width; at += part)
            if (memcmp(pa + at, pb + at, part) != 0 &&
                !(is_nan_element(part_dtype, pa + at) && is_nan_element(part_dtype, pb + at)))
                return false;
    }
    return true;
}

/* Whether calls run on a device that takes subnormal f32 for 0: tests/mirror.c finds out and says so. */
TEST_UNUSED static bool flushes_subnormals(void) {
    static int known = -1;
    if (known < 0) known = getenv("OX_FLUSHES_SUBNORMALS") != NULL;
    return known == 1;
}

/* What such a device takes an operand for. */
TEST_UNUSED static double flushed(double x) {
    return fabs(x) < FLT_MIN && flushes_subnormals() ? copysign(0, x) : x;
}

/* Whether got, a number of `dtype`, is within `ulps` f32 ULP (f64: f64 ULP) of `want`, plus half an ULP of
 * a narrower dtype. An ULP is measured at `around`, which is larger than want where terms cancel. ulps 0 =
 * correctly rounded. */
TEST_UNUSED static bool is_close_around(ox_dtype dtype, double got, double want, double ulps, double around) {
    const float_format *f = format_of(dtype), *f32 = format_of(OX_F32);
    bool narrow = f->mantissa < 23;
    if (isnan(want)) return isnan(got);
    if (got == 0 && dtype != OX_F64 && fabs(want) < FLT_MIN && flushes_subnormals()) return true;
    double rounded = round_to_format(f, narrow && ulps == 0 ? (double)(float)want : want);
    if (ulps == 0) return got == rounded || (isnan(rounded) && isnan(got));
    if (got == rounded) return true;
    if (isnan(got)) return false;
    /* An overflow may go one way or the other at the edge: beyond the largest number counts as one step
     * more. */
    double edge = f->largest + (f->infinities ? spacing(f, f->largest) : 0),
           far = fabs(want) > edge ? (want < 0 ? -edge : edge) : want;
    if (isinf(got)) got = got < 0 ? -edge : edge;
    if (fabs(around) < fabs(far)) around = far;
    double slack = ulps * spacing(narrow ? f32 : f, around) + (narrow ? 0.5 * spacing(f, far) : 0);
    return fabs(got - far) <= slack * (1 + 1e-9);
}

TEST_UNUSED static bool is_close(ox_dtype dtype, double got, double want, double ulps) {
    return is_close_around(dtype, got, want, ulps, want);
}

#endif
