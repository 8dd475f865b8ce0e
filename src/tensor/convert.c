/* One element at a time between f32 and the narrow floats, bit by bit.
 * Both ways follow from the format's exponent and mantissa widths; rounding is to nearest even.
 * For slow paths and tests; kernels convert whole vectors, or take the first two into loops. */

OXI_SMALL float oxi_float_of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

OXI_SMALL uint32_t oxi_bits_of_float(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* The magnitude of a finite f32 (bits without sign) in a float with `mantissa` stored bits and that bias, as
 * if the exponent had no upper end: the caller cuts what is too large. */
static uint32_t oxi_narrow_bits(uint32_t bits, int mantissa, int bias) {
    int shift = 23 - mantissa;
    int exponent = (int)(bits >> 23);
    int64_t rebiased = (int64_t)bits - ((int64_t)(127 - bias) << 23);
    uint32_t kept = (uint32_t)rebiased;
    if (exponent <= 127 - bias) {                        /* subnormal there: the leading 1 becomes explicit */
        int down = 127 - bias + 1 - exponent;
        if (down > mantissa + 2 || exponent == 0) return 0;
        kept = (bits & 0x7fffff) | 0x800000;
        shift += down;
    }
    uint32_t half = (uint32_t)1 << (shift - 1);
    return (kept + half - 1 + (kept >> shift & 1)) >> shift;
}

/* The value of a finite, unsigned narrow float. Subnormals are exact multiples of the smallest one. */
static float oxi_widen_bits(uint32_t bits, int mantissa, int bias) {
    uint32_t smallest = (uint32_t)(127 + 1 - bias - mantissa) << 23;
    if (bits >> mantissa == 0) return (float)bits * oxi_float_of_bits(smallest);
    return oxi_float_of_bits((bits << (23 - mantissa)) + ((uint32_t)(127 - bias) << 23));
}

static float oxi_signed(float magnitude, bool negative) { return negative ? -magnitude : magnitude; }

/* ---- f16: 1 sign, 5 exponent, 10 mantissa bits --------------------------------------------------------- */

OXI_UNUSED static float oxi_f16_to_f32(uint16_t h) {
    uint32_t magnitude = h & 0x7fffu, sign = (uint32_t)(h & 0x8000u) << 16;
    if (magnitude == 0x7c00) return oxi_float_of_bits(sign | 0x7f800000);
    if (magnitude > 0x7c00) return oxi_float_of_bits(sign | 0x7fc00000 | (magnitude & 0x3ff) << 13);
    return oxi_signed(oxi_widen_bits(magnitude, 10, 15), sign != 0);
}

OXI_UNUSED static uint16_t oxi_f32_to_f16(float f) {
    uint32_t bits = oxi_bits_of_float(f), magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x47800000) return (uint16_t)(sign | 0x7c00);       /* 65536 and more */
    return (uint16_t)(sign | oxi_narrow_bits(magnitude, 10, 15));        /* 65520 rounds to infinity */
}

OXI_UNUSED static double oxi_f16_to_f64(uint16_t h) { return (double)oxi_f16_to_f32(h); }

/* ---- bf16: the upper half of an f32 -------------------------------------------------------------------- */

OXI_UNUSED static float oxi_bf16_to_f32(uint16_t h) { return oxi_float_of_bits((uint32_t)h << 16); }

OXI_UNUSED static uint16_t oxi_f32_to_bf16(float f) {
    uint32_t bits = oxi_bits_of_float(f);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* ---- f8_e4m3: no infinity, 0x7f is NaN (OCP 8-bit floating point; torch.float8_e4m3fn) ----------------- */

OXI_UNUSED static float oxi_f8_e4m3_to_f32(uint8_t b) {
    uint32_t magnitude = b & 0x7fu;
    if (magnitude == 0x7f) return oxi_float_of_bits((uint32_t)(b & 0x80u) << 24 | 0x7fc00000);
    return oxi_signed(oxi_widen_bits(magnitude, 3, 7), (b & 0x80) != 0);
}

OXI_UNUSED static uint8_t oxi_f32_to_f8_e4m3(float f) {
    uint32_t bits = oxi_bits_of_float(f), magnitude = bits & 0x7fffffff, sign = bits >> 24 & 0x80;
    if (magnitude > 0x7f800000) return (uint8_t)(sign | 0x7f);
    if (magnitude >= 0x43e00000) return (uint8_t)(sign | 0x7e);          /* 448 and more, infinity too */
    return (uint8_t)(sign | oxi_narrow_bits(magnitude, 3, 7));
}

/* ---- f8_e5m2: as IEEE formats (torch.float8_e5m2) ------------------------------------------------------ */

OXI_UNUSED static float oxi_f8_e5m2_to_f32(uint8_t b) { return oxi_f16_to_f32((uint16_t)((uint16_t)b << 8)); }

OXI_UNUSED static uint8_t oxi_f32_to_f8_e5m2(float f) {
    uint32_t bits = oxi_bits_of_float(f), magnitude = bits & 0x7fffffff, sign = bits >> 24 & 0x80;
    if (magnitude > 0x7f800000) return (uint8_t)(sign | 0x7f);
    if (magnitude >= 0x47800000) return (uint8_t)(sign | 0x7c);
    return (uint8_t)(sign | oxi_narrow_bits(magnitude, 2, 15));
}

/* ---- any plain dtype ----------------------------------------------------------------------------------- */

OXI_UNUSED static int64_t oxi_element_to_i64(ox_dtype dtype, const void *element) {
    const unsigned char *b = (const unsigned char *)element;
    uint16_t u16 = 0;
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    switch (oxi_info(dtype)->block_bytes) {
    case 2: memcpy(&u16, b, 2); break;
    case 4: memcpy(&u32, b, 4); break;
    case 8: memcpy(&u64, b, 8); break;
    default: break;
    }
    switch (dtype) {
    case OX_BOOL: return b[0] != 0;
    case OX_U8: return b[0];
    case OX_I8: return (int8_t)b[0];
    case OX_U16: return u16;
    case OX_I16: return (int16_t)u16;
    case OX_U32: return u32;
    case OX_I32: return (int32_t)u32;
    case OX_U64:
    case OX_I64: return (int64_t)u64;
    default: break;
    }
    double x = oxi_element_to_f64(dtype, element);
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

OXI_UNUSED static double oxi_element_to_f64(ox_dtype dtype, const void *element) {
    const unsigned char *b = (const unsigned char *)element;
    uint16_t u16;
    float f32;
    double f64;
    switch (dtype) {
    case OX_F16: memcpy(&u16, b, 2); return oxi_f16_to_f64(u16);
    case OX_BF16: memcpy(&u16, b, 2); return (double)oxi_bf16_to_f32(u16);
    case OX_F8_E4M3: return (double)oxi_f8_e4m3_to_f32(b[0]);
    case OX_F8_E5M2: return (double)oxi_f8_e5m2_to_f32(b[0]);
    case OX_F32:
    case OX_C64: memcpy(&f32, b, 4); return (double)f32;
    case OX_F64: memcpy(&f64, b, 8); return f64;
    case OX_U64: return (double)(uint64_t)oxi_element_to_i64(dtype, element);
    default: break;
    }
    ox_dtype_class cls = oxi_info(dtype)->cls;
    return cls == OX_CLASS_INT || cls == OX_CLASS_BOOL ? (double)oxi_element_to_i64(dtype, element) : 0;
}

/* The whole part of a number that fits some integer type, as the bits of one of 64; 0 of all others. */
static int64_t oxi_whole_bits(double value) {
    const double end = 18446744073709551616.0;
    if (!(value > -end && value < end)) return 0;
    return (int64_t)(value < 0 ? 0 - (uint64_t)-value : (uint64_t)value);
}
