/* The c tier's vocabulary: one lane, plain C, any processor and byte order.
 * Written as the vector tiers are, so that the same kernels run on it; the compiler may vectorize the loops.
 * Names and meaning: vocabulary.inc. */
#ifndef OX_CPU_SIMD_C_H
#define OX_CPU_SIMD_C_H

#undef OXI_TIER
#define OXI_TIER c
#define oxi_c_TARGET
#define oxi_c_VF 1
#define oxi_c_VD 1
#define oxi_c_SCALEF 0
#define oxi_c_CONSTANT 0
#define oxi_c_FMA 0
#define oxi_c_TWO 0

typedef float vf;
typedef int32_t vi;
typedef double vd;
typedef int64_t vl;
typedef bool vm;
typedef bool vmd;

/* ---- bits ---- */
OXI_INLINE vi vf_as_vi(vf a) { vi b; memcpy(&b, &a, sizeof b); return b; }
OXI_INLINE vf vi_as_vf(vi a) { vf b; memcpy(&b, &a, sizeof b); return b; }
OXI_INLINE vl vd_as_vl(vd a) { vl b; memcpy(&b, &a, sizeof b); return b; }
OXI_INLINE vd vl_as_vd(vl a) { vd b; memcpy(&b, &a, sizeof b); return b; }
OXI_INLINE vf vf_and(vf a, vf b) { return vi_as_vf(vf_as_vi(a) & vf_as_vi(b)); }
OXI_INLINE vf vf_or(vf a, vf b) { return vi_as_vf(vf_as_vi(a) | vf_as_vi(b)); }
OXI_INLINE vf vf_xor(vf a, vf b) { return vi_as_vf(vf_as_vi(a) ^ vf_as_vi(b)); }
OXI_INLINE vf vf_andnot(vf a, vf b) { return vi_as_vf(~vf_as_vi(a) & vf_as_vi(b)); }
OXI_INLINE vd vd_and(vd a, vd b) { return vl_as_vd(vd_as_vl(a) & vd_as_vl(b)); }
OXI_INLINE vd vd_or(vd a, vd b) { return vl_as_vd(vd_as_vl(a) | vd_as_vl(b)); }
OXI_INLINE vd vd_xor(vd a, vd b) { return vl_as_vd(vd_as_vl(a) ^ vd_as_vl(b)); }
OXI_INLINE vd vd_andnot(vd a, vd b) { return vl_as_vd(~vd_as_vl(a) & vd_as_vl(b)); }

/* ---- f32 ---- */
OXI_INLINE vf vf_load(const float *p) {
    float a;
    memcpy(&a, p, sizeof a);
    return a;
}
OXI_INLINE void vf_store(float *p, vf a) { memcpy(p, &a, sizeof a); }
OXI_INLINE void vf_stream(float *p, vf a) { vf_store(p, a); }
OXI_INLINE vf vf_load_n(const float *p, int64_t n) { return n > 0 ? *p : 0; }
OXI_INLINE void vf_store_n(float *p, vf a, int64_t n) { if (n > 0) *p = a; }
OXI_INLINE vf vf_set1(float a) { return a; }
OXI_INLINE vf vf_zero(void) { return 0; }
OXI_INLINE vf vf_add(vf a, vf b) { return a + b; }
OXI_INLINE vf vf_sub(vf a, vf b) { return a - b; }
OXI_INLINE vf vf_mul(vf a, vf b) { return a * b; }
OXI_INLINE vf vf_div(vf a, vf b) { return a / b; }
OXI_INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
OXI_INLINE vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }
OXI_INLINE vf vf_min(vf a, vf b) { return a < b ? a : b; }
OXI_INLINE vf vf_max(vf a, vf b) { return a > b ? a : b; }
OXI_INLINE vf vf_sqrt(vf a) { return sqrtf(a); }
OXI_INLINE vf vf_round(vf a) { return rintf(a); }
OXI_INLINE vf vf_floor(vf a) { return floorf(a); }
OXI_INLINE vf vf_ceil(vf a) { return ceilf(a); }
OXI_INLINE vf vf_trunc(vf a) { return truncf(a); }
OXI_INLINE vm vf_lt(vf a, vf b) { return a < b; }
OXI_INLINE vm vf_le(vf a, vf b) { return a <= b; }
OXI_INLINE vm vf_eq(vf a, vf b) { return a == b; }
OXI_INLINE vm vf_ne(vf a, vf b) { return a != b; }
OXI_INLINE vm vf_unord(vf a, vf b) { return a != a || b != b; }
OXI_INLINE vf vf_select(vm m, vf a, vf b) { return m ? a : b; }
OXI_INLINE float vf_hsum(vf a) { return a; }
OXI_INLINE float vf_hmax(vf a) { return a; }
OXI_INLINE float vf_hmin(vf a) { return a; }

/* ---- i32 ---- */
OXI_INLINE vi vi_load(const int32_t *p) { return *p; }
OXI_INLINE void vi_store(int32_t *p, vi a) { *p = a; }
OXI_INLINE vi vi_set1(int32_t a) { return a; }
OXI_INLINE vi vi_add(vi a, vi b) { return (vi)((uint32_t)a + (uint32_t)b); }
OXI_INLINE vi vi_sub(vi a, vi b) { return (vi)((uint32_t)a - (uint32_t)b); }
OXI_INLINE vi vi_and(vi a, vi b) { return a & b; }
OXI_INLINE vi vi_or(vi a, vi b) { return a | b; }
OXI_INLINE vi vi_xor(vi a, vi b) { return a ^ b; }
#define oxi_c_vi_sll(a, count) ((int32_t)((uint32_t)(a) << (count)))
#define oxi_c_vi_srl(a, count) ((int32_t)((uint32_t)(a) >> (count)))
#define oxi_c_vi_sra(a, count) ((int32_t)(a) >> (count))
OXI_INLINE vm vi_cmpeq(vi a, vi b) { return a == b; }
OXI_INLINE vm vi_cmpgt(vi a, vi b) { return a > b; }
OXI_INLINE vi vi_select(vm m, vi a, vi b) { return m ? a : b; }
OXI_INLINE vi vi_load_u8(const uint8_t *p) { return *p; }
OXI_INLINE vi vi_load_i8(const int8_t *p) { return *p; }
OXI_INLINE vi vi_load_u16(const uint16_t *p) { return *p; }
OXI_INLINE vi vi_load_i16(const int16_t *p) { return *p; }
OXI_INLINE void vi_store_8(void *p, vi a) { *(uint8_t *)p = (uint8_t)a; }
OXI_INLINE void vi_store_16(void *p, vi a) { *(uint16_t *)p = (uint16_t)a; }
OXI_INLINE vf vi_to_vf(vi a) { return (vf)a; }
OXI_INLINE vi vf_to_vi_trunc(vf a) { return a >= -2147483648.0f && a < 2147483648.0f ? (vi)a : INT32_MIN; }
OXI_INLINE vi vf_to_vi(vf a) { return vf_to_vi_trunc(a < 0 ? a - 0.5f : a + 0.5f); }

/* ---- masks ---- */
OXI_INLINE vm vm_and(vm a, vm b) { return a && b; }
OXI_INLINE vm vm_or(vm a, vm b) { return a || b; }
OXI_INLINE vm vm_not(vm a) { return !a; }
OXI_INLINE bool vm_any(vm a) { return a; }
OXI_INLINE unsigned vm_bits(vm a) { return a; }
OXI_INLINE vm vm_load_bool(const uint8_t *p) { return *p != 0; }
OXI_INLINE void vm_store_bool(uint8_t *p, vm a) { *p = a; }
OXI_INLINE vmd vmd_and(vmd a, vmd b) { return a && b; }
OXI_INLINE vmd vmd_or(vmd a, vmd b) { return a || b; }
OXI_INLINE vmd vmd_not(vmd a) { return !a; }
OXI_INLINE bool vmd_any(vmd a) { return a; }
OXI_INLINE unsigned vmd_bits(vmd a) { return a; }

/* ---- f64 ---- */
OXI_INLINE vd vd_load(const double *p) { return *p; }
OXI_INLINE void vd_store(double *p, vd a) { *p = a; }
OXI_INLINE vd vd_load_n(const double *p, int64_t n) { return n > 0 ? *p : 0; }
OXI_INLINE void vd_store_n(double *p, vd a, int64_t n) { if (n > 0) *p = a; }
OXI_INLINE vd vd_set1(double a) { return a; }
OXI_INLINE vd vd_zero(void) { return 0; }
OXI_INLINE vd vd_add(vd a, vd b) { return a + b; }
OXI_INLINE vd vd_sub(vd a, vd b) { return a - b; }
OXI_INLINE vd vd_mul(vd a, vd b) { return a * b; }
OXI_INLINE vd vd_div(vd a, vd b) { return a / b; }
OXI_INLINE vd vd_fma(vd a, vd b, vd c) { return a * b + c; }
OXI_INLINE vd vd_fnma(vd a, vd b, vd c) { return c - a * b; }
OXI_INLINE vd vd_min(vd a, vd b) { return a < b ? a : b; }
OXI_INLINE vd vd_max(vd a, vd b) { return a > b ? a : b; }
OXI_INLINE vd vd_sqrt(vd a) { return sqrt(a); }
OXI_INLINE vd vd_round(vd a) { return rint(a); }
OXI_INLINE vd vd_floor(vd a) { return floor(a); }
OXI_INLINE vd vd_ceil(vd a) { return ceil(a); }
OXI_INLINE vd vd_trunc(vd a) { return trunc(a); }
OXI_INLINE vmd vd_lt(vd a, vd b) { return a < b; }
OXI_INLINE vmd vd_le(vd a, vd b) { return a <= b; }
OXI_INLINE vmd vd_eq(vd a, vd b) { return a == b; }
OXI_INLINE vmd vd_ne(vd a, vd b) { return a != b; }
OXI_INLINE vmd vd_unord(vd a, vd b) { return a != a || b != b; }
OXI_INLINE vd vd_select(vmd m, vd a, vd b) { return m ? a : b; }
OXI_INLINE double vd_hsum(vd a) { return a; }
OXI_INLINE vd vd_from_vf_lo(vf a) { return (vd)a; }
OXI_INLINE vd vd_from_vf_hi(vf a) { return (vd)a; }
OXI_INLINE vf vf_from_vd(vd lo, vd hi) { (void)hi; return (vf)lo; }
OXI_INLINE vd vd_from_vi_lo(vi a) { return (vd)a; }
OXI_INLINE vd vd_from_vi_hi(vi a) { return (vd)a; }

OXI_INLINE vd vd_load_f32(const float *p) { return *p; }
OXI_INLINE void vd_store_f32(float *p, vd a) { *p = (float)a; }

/* ---- i64 ---- */
OXI_INLINE vl vl_set1(int64_t a) { return a; }
OXI_INLINE vl vl_add(vl a, vl b) { return (vl)((uint64_t)a + (uint64_t)b); }
OXI_INLINE vl vl_sub(vl a, vl b) { return (vl)((uint64_t)a - (uint64_t)b); }
OXI_INLINE vl vl_and(vl a, vl b) { return a & b; }
OXI_INLINE vl vl_or(vl a, vl b) { return a | b; }
#define oxi_c_vl_sll(a, count) ((int64_t)((uint64_t)(a) << (count)))
#define oxi_c_vl_srl(a, count) ((int64_t)((uint64_t)(a) >> (count)))

#include "cpu/simd/half.inc"
#include "cpu/simd/bf16.inc"

/* ---- bytes, by eight in a word ---- */
typedef struct vb { uint64_t word[4]; } vb;
typedef float vs;
OXI_INLINE vb vb_load(const void *p) {
    vb r;
    memcpy(r.word, p, 32);
    return r;
}
OXI_INLINE void vb_store(void *p, vb a) { memcpy(p, a.word, 32); }
OXI_INLINE vb OXI_ISA(vb_four)(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    vb r;
    r.word[0] = a;
    r.word[1] = b;
    r.word[2] = c;
    r.word[3] = d;
    return r;
}
OXI_INLINE vb vb_set1(int a) {
    uint64_t word = (uint8_t)a * UINT64_C(0x0101010101010101);
    return OXI_ISA(vb_four)(word, word, word, word);
}
#define OXI_C_WORDS(name, parameters, expression) \
    OXI_INLINE vb name parameters { \
        vb r; \
        for (int i = 0; i < 4; i++) r.word[i] = (expression); \
        return r; \
    }
#define OXI_HIGH_BITS UINT64_C(0x8080808080808080)
OXI_C_WORDS(vb_and, (vb a, vb b), a.word[i] & b.word[i])
OXI_C_WORDS(vb_or, (vb a, vb b), a.word[i] | b.word[i])
OXI_C_WORDS(vb_sub, (vb a, vb b), ((a.word[i] | OXI_HIGH_BITS) - (b.word[i] & ~OXI_HIGH_BITS))
                                    ^ ((a.word[i] ^ ~b.word[i]) & OXI_HIGH_BITS))
OXI_C_WORDS(vb_right, (vb a, int count), a.word[i] >> count)
OXI_C_WORDS(vb_left, (vb a, int count), a.word[i] << count)
#undef OXI_C_WORDS
#undef OXI_HIGH_BITS
OXI_INLINE vb vb_nibbles(const void *p) {
    uint64_t word[2], low = UINT64_C(0x0f0f0f0f0f0f0f0f);
    memcpy(word, p, 16);
    return OXI_ISA(vb_four)(word[0] & low, word[1] & low, word[0] >> 4 & low, word[1] >> 4 & low);
}
OXI_INLINE vb vb_look_up(const int8_t *table, const void *p, int extra) {
    const uint8_t *byte = (const uint8_t *)p;
    int8_t number[32];
    (void)extra;
    for (int i = 0; i < 16; i++) {
        number[i] = table[byte[i] & 15];
        number[i + 16] = table[byte[i] >> 4];
    }
    return vb_load(number);
}
OXI_INLINE vb vb_bits(const uint8_t *p) {
    uint8_t byte[32];
    for (int i = 0; i < 32; i++) byte[i] = p[i / 8] >> i % 8 & 1 ? 255 : 0;
    return vb_load(byte);
}
OXI_INLINE vs vs_zero(void) { return 0; }
OXI_INLINE float vs_sum(vs a) { return a; }
OXI_INLINE vs vs_add(vs a, vs b) { return a + b; }
OXI_INLINE int32_t OXI_ISA(vb_dot)(const int8_t *code, const int8_t *q) {
    int32_t sum = 0;
    for (int i = 0; i < 16; i++) sum += code[i] * q[i];
    return sum;
}
OXI_INLINE vs vs_halves(vb codes, const int8_t *q, const float *scale, bool plus, int extra) {
    const int8_t *code = (const int8_t *)codes.word;
    (void)plus;
    (void)extra;
    return (float)OXI_ISA(vb_dot)(code, q) * scale[0] + (float)OXI_ISA(vb_dot)(code + 16, q + 16) * scale[1];
}

#endif
