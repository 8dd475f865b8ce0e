/* Conversions between the plain dtypes and the lanes that maps compute in: a plain loop for every pair, at
 * any stride. oxi_kernels' load and store; the vector tiers replace the pairs that models live on
 * (kernels/convert.inc). Entered into the table by cpu/tiers.c. */

/* ---- one number ---------------------------------------------------------------------------------------- */

/* Float to integer as x86-64 does it, which is what torch shows there: toward zero, and the smallest integer
 * for what does not fit. Types below 32 bits keep the low bits of the 32-bit result. */
static int64_t oxi_f64_to_i64(double x) {
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}
static int32_t oxi_f64_to_i32(double x) {
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}
static uint64_t oxi_f64_to_u64(double x) {
    if (x >= 9223372036854775808.0 && x < 18446744073709551616.0) {
        return (uint64_t)(x - 9223372036854775808.0) + 9223372036854775808u;
    }
    return (uint64_t)oxi_f64_to_i64(x);
}

/* f64 to a float whose last bit is set when the value is not exact: rounding that once more to a narrower
 * type gives what one rounding from f64 would (round to odd; Boldo & Melquiond 2008). */
static float oxi_f64_to_odd_f32(double x) {
    float f = (float)x;
    if (!(f - f == 0) || (double)f == x) {
        if (f - f == 0 || x != x || x - x != 0) return f;
        return x > 0 ? FLT_MAX : -FLT_MAX; /* too large for f32, and for anything narrower */
    }
    uint32_t bits = oxi_bits_of_float(f);
    if (fabs((double)f) > fabs(x)) bits--;
    return oxi_float_of_bits(bits | 1);
}

/* The same for integers: bits that f64 has no room for are folded into the last one it has. */
static float oxi_u64_to_odd_f32(uint64_t u) {
    if (u >> 53) u = (u >> 11 | ((u & 2047) != 0)) << 11;
    return oxi_f64_to_odd_f32((double)u);
}
static float oxi_i64_to_odd_f32(int64_t i) {
    return i < 0 ? -oxi_u64_to_odd_f32(0 - (uint64_t)i) : oxi_u64_to_odd_f32((uint64_t)i);
}

/* Every plain real dtype: its C type, its value as a number, and its encoding of a lane's number x of each
 * kind: from a float, a double, an int64_t, a uint64_t. */
#define OXI_REAL_DTYPES(X)                                                                                \
    X(OX_BOOL, uint8_t, (s != 0), x != 0, x != 0, x != 0, x != 0)                                         \
    X(OX_U8, uint8_t, s, (uint8_t)oxi_f64_to_i32(x), (uint8_t)oxi_f64_to_i32(x), (uint8_t)x, (uint8_t)x)  \
    X(OX_I8, int8_t, s, (int8_t)oxi_f64_to_i32(x), (int8_t)oxi_f64_to_i32(x), (int8_t)x, (int8_t)x)       \
    X(OX_U16, uint16_t, s, (uint16_t)oxi_f64_to_i32(x), (uint16_t)oxi_f64_to_i32(x), (uint16_t)x,         \
      (uint16_t)x)                                                                                        \
    X(OX_I16, int16_t, s, (int16_t)oxi_f64_to_i32(x), (int16_t)oxi_f64_to_i32(x), (int16_t)x, (int16_t)x) \
    X(OX_U32, uint32_t, s, (uint32_t)oxi_f64_to_i64(x), (uint32_t)oxi_f64_to_i64(x), (uint32_t)x,         \
      (uint32_t)x)                                                                                        \
    X(OX_I32, int32_t, s, oxi_f64_to_i32(x), oxi_f64_to_i32(x), (int32_t)x, (int32_t)x)                   \
    X(OX_U64, uint64_t, s, oxi_f64_to_u64(x), oxi_f64_to_u64(x), (uint64_t)x, x)                          \
    X(OX_I64, int64_t, s, oxi_f64_to_i64(x), oxi_f64_to_i64(x), x, (int64_t)x)                            \
    X(OX_F16, uint16_t, oxi_f16_to_f32(s), oxi_f32_to_f16(x), oxi_f32_to_f16(oxi_f64_to_odd_f32(x)),      \
      oxi_f32_to_f16(oxi_i64_to_odd_f32(x)), oxi_f32_to_f16(oxi_u64_to_odd_f32(x)))                       \
    X(OX_BF16, uint16_t, oxi_bf16_to_f32(s), oxi_f32_to_bf16(x), oxi_f32_to_bf16(oxi_f64_to_odd_f32(x)),  \
      oxi_f32_to_bf16(oxi_i64_to_odd_f32(x)), oxi_f32_to_bf16(oxi_u64_to_odd_f32(x)))                     \
    X(OX_F32, float, s, x, (float)x, (float)x, (float)x)                                                  \
    X(OX_F64, double, s, x, x, (double)x, (double)x)                                                      \
    X(OX_F8_E4M3, uint8_t, oxi_f8_e4m3_to_f32(s), oxi_f32_to_f8_e4m3(x),                                  \
      oxi_f32_to_f8_e4m3(oxi_f64_to_odd_f32(x)), oxi_f32_to_f8_e4m3(oxi_i64_to_odd_f32(x)),               \
      oxi_f32_to_f8_e4m3(oxi_u64_to_odd_f32(x)))                                                          \
    X(OX_F8_E5M2, uint8_t, oxi_f8_e5m2_to_f32(s), oxi_f32_to_f8_e5m2(x),                                  \
      oxi_f32_to_f8_e5m2(oxi_f64_to_odd_f32(x)), oxi_f32_to_f8_e5m2(oxi_i64_to_odd_f32(x)),               \
      oxi_f32_to_f8_e5m2(oxi_u64_to_odd_f32(x)))

/* A number as an integer lane: floats as above, integers keep their bits. */
#define OXI_AS_I64(dtype, value) \
    (oxi_dtypes[dtype].cls == OX_CLASS_FLOAT ? oxi_f64_to_i64((double)(value)) : (int64_t)(value))
#define OXI_AS_U64(dtype, value) \
    (oxi_dtypes[dtype].cls == OX_CLASS_FLOAT ? oxi_f64_to_u64((double)(value)) : (uint64_t)(value))

/* ---- runs ---------------------------------------------------------------------------------------------- */

#define OXI_LOAD_LOOP(dtype, type, lane, lane_type, statement)                                        \
    static OXI_ALIGNED void oxi_load_##dtype##_##lane(int64_t n, const void *source, int64_t stride,  \
                                                      void *out) {                                    \
        const type *from = (const type *)source;                                                      \
        lane_type *to = (lane_type *)out;                                                             \
        for (int64_t i = 0; i < n; i++) {                                                             \
            const type s = from[i * stride];                                                          \
            statement;                                                                                \
        }                                                                                             \
    }
#define OXI_STORE_LOOP(dtype, type, lane, lane_type, number, encoded)                              \
    static OXI_ALIGNED void oxi_store_##dtype##_##lane(int64_t n, const void *in, void *out,       \
                                                       int64_t stride) {                           \
        const lane_type *from = (const lane_type *)in;                                             \
        type *to = (type *)out;                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const number;                                                                          \
            to[i * stride] = (type)(encoded);                                                      \
        }                                                                                          \
    }
#define OXI_X(dtype, type, value, of_float, of_double, of_int, of_uint)                   \
    OXI_LOAD_LOOP(dtype, type, f32, float, to[i] = (float)(value))                        \
    OXI_LOAD_LOOP(dtype, type, f64, double, to[i] = (double)(value))                      \
    OXI_LOAD_LOOP(dtype, type, i64, int64_t, to[i] = OXI_AS_I64(dtype, value))            \
    OXI_LOAD_LOOP(dtype, type, u64, uint64_t, to[i] = OXI_AS_U64(dtype, value))           \
    OXI_LOAD_LOOP(dtype, type, c64, float, to[2 * i] = (float)(value); to[2 * i + 1] = 0) \
    OXI_STORE_LOOP(dtype, type, f32, float, float x = from[i], of_float)                  \
    OXI_STORE_LOOP(dtype, type, f64, double, double x = from[i], of_double)               \
    OXI_STORE_LOOP(dtype, type, i64, int64_t, int64_t x = from[i], of_int)                \
    OXI_STORE_LOOP(dtype, type, u64, uint64_t, uint64_t x = from[i], of_uint)
OXI_REAL_DTYPES(OXI_X)
#undef OXI_X

/* A complex number as a real one is its real part; as a bool, whether either part is not 0. */
#define OXI_X(dtype, type, value, of_float, of_double, of_int, of_uint) \
    OXI_STORE_LOOP(dtype, type, c64, float, float x = from[2 * i],      \
                   (dtype) == OX_BOOL ? x != 0 || from[2 * i + 1] != 0 : (of_float))
OXI_REAL_DTYPES(OXI_X)
#undef OXI_X

#define OXI_LOAD_COMPLEX(lane, lane_type, value)                                                   \
    static void oxi_load_OX_C64_##lane(int64_t n, const void *source, int64_t stride, void *out) { \
        lane_type *to = (lane_type *)out;                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const float s = ((const float *)source)[2 * i * stride];                               \
            to[i] = value;                                                                         \
        }                                                                                          \
    }
OXI_LOAD_COMPLEX(f32, float, s)
OXI_LOAD_COMPLEX(f64, double, (double)s)
OXI_LOAD_COMPLEX(i64, int64_t, oxi_f64_to_i64((double)s))
OXI_LOAD_COMPLEX(u64, uint64_t, oxi_f64_to_u64((double)s))

/* |z| of complex numbers. */
#define OXI_LOAD_SIZE(lane, lane_type)                                                                      \
    static OXI_UNUSED void oxi_load_size_##lane(int64_t n, const void *source, int64_t stride, void *out) { \
        for (int64_t i = 0; i < n; i++) {                                                                   \
            const float *z = (const float *)source + 2 * i * stride;                                        \
            ((lane_type *)out)[i] = (lane_type)hypot(z[0], z[1]);                                           \
        }                                                                                                   \
    }
OXI_LOAD_SIZE(f32, float)
OXI_LOAD_SIZE(f64, double)
#undef OXI_LOAD_SIZE

static void oxi_load_OX_C64_c64(int64_t n, const void *source, int64_t stride, void *out) {
    for (int64_t i = 0; i < n; i++) memcpy((float *)out + 2 * i, (const float *)source + 2 * i * stride, 8);
}
static void oxi_store_OX_C64_c64(int64_t n, const void *in, void *out, int64_t stride) {
    for (int64_t i = 0; i < n; i++) memcpy((float *)out + 2 * i * stride, (const float *)in + 2 * i, 8);
}
#define OXI_STORE_COMPLEX(lane, lane_type)                                                      \
    static void oxi_store_OX_C64_##lane(int64_t n, const void *in, void *out, int64_t stride) { \
        for (int64_t i = 0; i < n; i++) {                                                       \
            ((float *)out)[2 * i * stride] = (float)((const lane_type *)in)[i];                 \
            ((float *)out)[2 * i * stride + 1] = 0;                                             \
        }                                                                                       \
    }
OXI_STORE_COMPLEX(f32, float)
OXI_STORE_COMPLEX(f64, double)
OXI_STORE_COMPLEX(i64, int64_t)
OXI_STORE_COMPLEX(u64, uint64_t)

#define OXI_ENTER(dtype)                                     \
    k->load[dtype][OXI_LANE_F32] = oxi_load_##dtype##_f32;   \
    k->load[dtype][OXI_LANE_F64] = oxi_load_##dtype##_f64;   \
    k->load[dtype][OXI_LANE_I64] = oxi_load_##dtype##_i64;   \
    k->load[dtype][OXI_LANE_U64] = oxi_load_##dtype##_u64;   \
    k->load[dtype][OXI_LANE_C64] = oxi_load_##dtype##_c64;   \
    k->store[dtype][OXI_LANE_F32] = oxi_store_##dtype##_f32; \
    k->store[dtype][OXI_LANE_F64] = oxi_store_##dtype##_f64; \
    k->store[dtype][OXI_LANE_I64] = oxi_store_##dtype##_i64; \
    k->store[dtype][OXI_LANE_U64] = oxi_store_##dtype##_u64; \
    k->store[dtype][OXI_LANE_C64] = oxi_store_##dtype##_c64;

/* The plain loops of every pair; the tiers put their own over some of them. */
static void oxi_fill_convert(oxi_kernels *k) {
#define OXI_X(dtype, type, value, of_float, of_double, of_int, of_uint) OXI_ENTER(dtype)
    OXI_REAL_DTYPES(OXI_X)
#undef OXI_X
    OXI_ENTER(OX_C64)
}
#undef OXI_ENTER
