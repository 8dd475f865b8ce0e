/* The neon tier's vocabulary: four lanes of AArch64 Advanced SIMD, which every 64-bit Arm processor has.
 * 32-bit Arm uses the c tier: its NEON has no f64 and flushes denormals.
 * Names and meaning: vocabulary.inc. */
#ifndef OX_CPU_SIMD_NEON_H
#define OX_CPU_SIMD_NEON_H

#undef OXI_TIER
#define OXI_TIER neon
#define oxi_neon_TARGET
#define oxi_neon_VF 4
#define oxi_neon_VD 2
#define oxi_neon_SCALEF 0
#define oxi_neon_CONSTANT 0
#define oxi_neon_FMA 1
#define oxi_neon_TWO 0
#define oxi_neon_VS 4
#define oxi_neon_VR 4
#define oxi_neon_VQ 4

typedef float32x4_t vf;
typedef int32x4_t vi;
typedef float64x2_t vd;
typedef int64x2_t vl;
typedef uint32x4_t vm;
typedef uint64x2_t vmd;

/* ---- bits ---- */
OXI_INLINE vi vf_as_vi(vf a) { return vreinterpretq_s32_f32(a); }
OXI_INLINE vf vi_as_vf(vi a) { return vreinterpretq_f32_s32(a); }
OXI_INLINE vl vd_as_vl(vd a) { return vreinterpretq_s64_f64(a); }
OXI_INLINE vd vl_as_vd(vl a) { return vreinterpretq_f64_s64(a); }
OXI_INLINE vf vf_and(vf a, vf b) { return vi_as_vf(vandq_s32(vf_as_vi(a), vf_as_vi(b))); }
OXI_INLINE vf vf_or(vf a, vf b) { return vi_as_vf(vorrq_s32(vf_as_vi(a), vf_as_vi(b))); }
OXI_INLINE vf vf_xor(vf a, vf b) { return vi_as_vf(veorq_s32(vf_as_vi(a), vf_as_vi(b))); }
OXI_INLINE vf vf_andnot(vf a, vf b) { return vi_as_vf(vbicq_s32(vf_as_vi(b), vf_as_vi(a))); }
OXI_INLINE vd vd_and(vd a, vd b) { return vl_as_vd(vandq_s64(vd_as_vl(a), vd_as_vl(b))); }
OXI_INLINE vd vd_or(vd a, vd b) { return vl_as_vd(vorrq_s64(vd_as_vl(a), vd_as_vl(b))); }
OXI_INLINE vd vd_xor(vd a, vd b) { return vl_as_vd(veorq_s64(vd_as_vl(a), vd_as_vl(b))); }
OXI_INLINE vd vd_andnot(vd a, vd b) { return vl_as_vd(vbicq_s64(vd_as_vl(b), vd_as_vl(a))); }

/* ---- f32 ---- */
OXI_INLINE vf vf_load(const float *p) { return vld1q_f32(p); }
OXI_INLINE void vf_store(float *p, vf a) { vst1q_f32(p, a); }
OXI_INLINE void vf_stream(float *p, vf a) { vf_store(p, a); }
OXI_INLINE vf vf_set1(float a) { return vdupq_n_f32(a); }
OXI_INLINE vf vf_zero(void) { return vdupq_n_f32(0); }
OXI_INLINE vf vf_load_n(const float *p, int64_t n) {
    float all[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i < n; i++) all[i] = p[i];
    return vf_load(all);
}
OXI_INLINE void vf_store_n(float *p, vf a, int64_t n) {
    float all[4];
    vf_store(all, a);
    for (int64_t i = 0; i < n; i++) p[i] = all[i];
}
OXI_INLINE vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
OXI_INLINE vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
OXI_INLINE vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
OXI_INLINE vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
OXI_INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
OXI_INLINE vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
OXI_INLINE vf vf_sqrt(vf a) { return vsqrtq_f32(a); }
OXI_INLINE vf vf_round(vf a) { return vrndnq_f32(a); }
OXI_INLINE vf vf_floor(vf a) { return vrndmq_f32(a); }
OXI_INLINE vf vf_ceil(vf a) { return vrndpq_f32(a); }
OXI_INLINE vf vf_trunc(vf a) { return vrndq_f32(a); }
OXI_INLINE vm vf_lt(vf a, vf b) { return vcltq_f32(a, b); }
OXI_INLINE vm vf_le(vf a, vf b) { return vcleq_f32(a, b); }
OXI_INLINE vm vf_eq(vf a, vf b) { return vceqq_f32(a, b); }
OXI_INLINE vm vf_ne(vf a, vf b) { return vmvnq_u32(vceqq_f32(a, b)); }
OXI_INLINE vm vf_unord(vf a, vf b) { return vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b))); }
OXI_INLINE vf vf_select(vm m, vf a, vf b) { return vbslq_f32(m, a, b); }
OXI_INLINE vf vf_min(vf a, vf b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
OXI_INLINE vf vf_max(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
OXI_INLINE float vf_hsum(vf a) { return vaddvq_f32(a); }
OXI_INLINE float vf_hmax(vf a) { return vmaxnmvq_f32(a); }
OXI_INLINE float vf_hmin(vf a) { return vminnmvq_f32(a); }

/* ---- i32 ---- */
OXI_INLINE vi vi_load(const int32_t *p) { return vld1q_s32(p); }
OXI_INLINE void vi_store(int32_t *p, vi a) { vst1q_s32(p, a); }
OXI_INLINE vi vi_set1(int32_t a) { return vdupq_n_s32(a); }
OXI_INLINE vi vi_add(vi a, vi b) { return vaddq_s32(a, b); }
OXI_INLINE vi vi_sub(vi a, vi b) { return vsubq_s32(a, b); }
OXI_INLINE vi vi_and(vi a, vi b) { return vandq_s32(a, b); }
OXI_INLINE vi vi_or(vi a, vi b) { return vorrq_s32(a, b); }
OXI_INLINE vi vi_xor(vi a, vi b) { return veorq_s32(a, b); }
#define oxi_neon_vi_sll(a, count) vshlq_n_s32(a, count)
#define oxi_neon_vi_srl(a, count) vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a), count))
#define oxi_neon_vi_sra(a, count) vshrq_n_s32(a, count)
OXI_INLINE vm vi_cmpeq(vi a, vi b) { return vceqq_s32(a, b); }
OXI_INLINE vm vi_cmpgt(vi a, vi b) { return vcgtq_s32(a, b); }
OXI_INLINE vi vi_select(vm m, vi a, vi b) { return vbslq_s32(m, a, b); }
OXI_INLINE uint8x8_t oxi_neon_load_4_bytes(const void *p) {
    uint32_t a;
    memcpy(&a, p, 4);
    return vreinterpret_u8_u32(vdup_n_u32(a));
}
OXI_INLINE vi vi_load_u8(const uint8_t *p) {
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(oxi_neon_load_4_bytes(p)))));
}
OXI_INLINE vi vi_load_i8(const int8_t *p) {
    return vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(oxi_neon_load_4_bytes(p)))));
}
OXI_INLINE vi vi_load_u16(const uint16_t *p) { return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p))); }
OXI_INLINE vi vi_load_i16(const int16_t *p) { return vmovl_s16(vld1_s16(p)); }
OXI_INLINE void vi_store_16(void *p, vi a) { vst1_s16((int16_t *)p, vmovn_s32(a)); }
OXI_INLINE void vi_store_8(void *p, vi a) {
    int16x4_t half = vmovn_s32(a);
    uint32_t four = vget_lane_u32(vreinterpret_u32_s8(vmovn_s16(vcombine_s16(half, half))), 0);
    memcpy(p, &four, 4);
}
OXI_INLINE vi vf_to_vi(vf a) { return vcvtnq_s32_f32(a); }
OXI_INLINE vi vf_to_vi_trunc(vf a) {
    vm inside =
        vandq_u32(vcgeq_f32(a, vdupq_n_f32(-2147483648.0f)), vcltq_f32(a, vdupq_n_f32(2147483648.0f)));
    return vbslq_s32(inside, vcvtq_s32_f32(a), vdupq_n_s32(INT32_MIN));
}
OXI_INLINE vf vi_to_vf(vi a) { return vcvtq_f32_s32(a); }

/* ---- masks ---- */
OXI_INLINE vm vm_and(vm a, vm b) { return vandq_u32(a, b); }
OXI_INLINE vm vm_or(vm a, vm b) { return vorrq_u32(a, b); }
OXI_INLINE vm vm_not(vm a) { return vmvnq_u32(a); }
OXI_INLINE bool vm_any(vm a) { return vmaxvq_u32(a) != 0; }
OXI_INLINE unsigned vm_bits(vm a) {
    static const uint32_t bits[4] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(a, vld1q_u32(bits)));
}
OXI_INLINE vm vm_load_bool(const uint8_t *p) { return vcgtq_s32(vi_load_u8(p), vdupq_n_s32(0)); }
OXI_INLINE void vm_store_bool(uint8_t *p, vm a) { vi_store_8(p, vreinterpretq_s32_u32(vshrq_n_u32(a, 31))); }
OXI_INLINE vmd vmd_and(vmd a, vmd b) { return vandq_u64(a, b); }
OXI_INLINE vmd vmd_or(vmd a, vmd b) { return vorrq_u64(a, b); }
OXI_INLINE vmd vmd_not(vmd a) { return vreinterpretq_u64_u32(vmvnq_u32(vreinterpretq_u32_u64(a))); }
OXI_INLINE unsigned vmd_bits(vmd a) {
    return (unsigned)((vgetq_lane_u64(a, 0) & 1) | (vgetq_lane_u64(a, 1) & 2));
}
OXI_INLINE bool vmd_any(vmd a) { return vmd_bits(a) != 0; }

/* ---- f64 ---- */
OXI_INLINE vd vd_load(const double *p) { return vld1q_f64(p); }
OXI_INLINE void vd_store(double *p, vd a) { vst1q_f64(p, a); }
OXI_INLINE vd vd_load_n(const double *p, int64_t n) {
    return n >= 2 ? vld1q_f64(p) : vsetq_lane_f64(n == 1 ? *p : 0, vdupq_n_f64(0), 0);
}
OXI_INLINE void vd_store_n(double *p, vd a, int64_t n) {
    if (n >= 2) vst1q_f64(p, a);
    else if (n == 1) *p = vgetq_lane_f64(a, 0);
}
OXI_INLINE vd vd_set1(double a) { return vdupq_n_f64(a); }
OXI_INLINE vd vd_zero(void) { return vdupq_n_f64(0); }
OXI_INLINE vd vd_add(vd a, vd b) { return vaddq_f64(a, b); }
OXI_INLINE vd vd_sub(vd a, vd b) { return vsubq_f64(a, b); }
OXI_INLINE vd vd_mul(vd a, vd b) { return vmulq_f64(a, b); }
OXI_INLINE vd vd_div(vd a, vd b) { return vdivq_f64(a, b); }
OXI_INLINE vd vd_fma(vd a, vd b, vd c) { return vfmaq_f64(c, a, b); }
OXI_INLINE vd vd_fnma(vd a, vd b, vd c) { return vfmsq_f64(c, a, b); }
OXI_INLINE vd vd_sqrt(vd a) { return vsqrtq_f64(a); }
OXI_INLINE vd vd_round(vd a) { return vrndnq_f64(a); }
OXI_INLINE vd vd_floor(vd a) { return vrndmq_f64(a); }
OXI_INLINE vd vd_ceil(vd a) { return vrndpq_f64(a); }
OXI_INLINE vd vd_trunc(vd a) { return vrndq_f64(a); }
OXI_INLINE vmd vd_lt(vd a, vd b) { return vcltq_f64(a, b); }
OXI_INLINE vmd vd_le(vd a, vd b) { return vcleq_f64(a, b); }
OXI_INLINE vmd vd_eq(vd a, vd b) { return vceqq_f64(a, b); }
OXI_INLINE vmd vd_ne(vd a, vd b) { return vmd_not(vceqq_f64(a, b)); }
OXI_INLINE vmd vd_unord(vd a, vd b) { return vmd_not(vandq_u64(vceqq_f64(a, a), vceqq_f64(b, b))); }
OXI_INLINE vd vd_select(vmd m, vd a, vd b) { return vbslq_f64(m, a, b); }
OXI_INLINE vd vd_min(vd a, vd b) { return vbslq_f64(vcltq_f64(a, b), a, b); }
OXI_INLINE vd vd_max(vd a, vd b) { return vbslq_f64(vcgtq_f64(a, b), a, b); }
OXI_INLINE double vd_hsum(vd a) { return vaddvq_f64(a); }
OXI_INLINE vd vd_from_vf_lo(vf a) { return vcvt_f64_f32(vget_low_f32(a)); }
OXI_INLINE vd vd_from_vf_hi(vf a) { return vcvt_high_f64_f32(a); }
OXI_INLINE vf vf_from_vd(vd lo, vd hi) { return vcvt_high_f32_f64(vcvt_f32_f64(lo), hi); }
OXI_INLINE vd vd_load_f32(const float *p) { return vcvt_f64_f32(vld1_f32(p)); }
OXI_INLINE void vd_store_f32(float *p, vd a) { vst1_f32(p, vcvt_f32_f64(a)); }
OXI_INLINE vd vd_from_vi_lo(vi a) { return vcvtq_f64_s64(vmovl_s32(vget_low_s32(a))); }
OXI_INLINE vd vd_from_vi_hi(vi a) { return vcvtq_f64_s64(vmovl_high_s32(a)); }

/* ---- i64 ---- */
OXI_INLINE vl vl_set1(int64_t a) { return vdupq_n_s64(a); }
OXI_INLINE vl vl_add(vl a, vl b) { return vaddq_s64(a, b); }
OXI_INLINE vl vl_sub(vl a, vl b) { return vsubq_s64(a, b); }
OXI_INLINE vl vl_and(vl a, vl b) { return vandq_s64(a, b); }
OXI_INLINE vl vl_or(vl a, vl b) { return vorrq_s64(a, b); }
#define oxi_neon_vl_sll(a, count) vshlq_n_s64(a, count)
#define oxi_neon_vl_srl(a, count) vreinterpretq_s64_u64(vshrq_n_u64(vreinterpretq_u64_s64(a), count))

/* ---- 16-bit floats: AArch64 converts them in its baseline ---- */
OXI_INLINE vf vf_load_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
OXI_INLINE void vf_store_f16(uint16_t *p, vf a) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a))); }

#include "cpu/simd/bf16.inc"

/* ---- bytes ---- */
typedef uint8x16_t vr;
typedef int32x4_t vrs;
/* An instruction of three vectors, for assemblers that were not told of it. */
#define OXI_NEON_INSTRUCTION(bits, to, a, b) \
    __asm__(".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n" \
            ".set oxi_number_of_v\\n, \\n\n" \
            ".endr\n" \
            ".inst " bits " | (oxi_number_of_%2 << 16) | (oxi_number_of_%1 << 5) | oxi_number_of_%0" \
            : "+w"(to) : "w"(a), "w"(b))
/* sdot: adds sums of four products each. */
OXI_INLINE int32x4_t OXI_ISA(vb_dot)(int32x4_t sum, int8x16_t a, int8x16_t b) {
    OXI_NEON_INSTRUCTION("0x4e809400", sum, a, b);
    return sum;
}
OXI_INLINE vr vr_load(const void *p) { return vld1q_u8((const uint8_t *)p); }
OXI_INLINE void vr_store(void *p, vr a) { vst1q_u8((uint8_t *)p, a); }
OXI_INLINE vr vr_set1(int a) { return vdupq_n_u8((uint8_t)a); }
OXI_INLINE vr vr_spread(const void *p) {
    uint32_t lane;
    memcpy(&lane, p, 4);
    return vreinterpretq_u8_u32(vdupq_n_u32(lane));
}
OXI_INLINE vr vr_and(vr a, vr b) { return vandq_u8(a, b); }
OXI_INLINE vr vr_or(vr a, vr b) { return vorrq_u8(a, b); }
OXI_INLINE vr vr_sub(vr a, vr b) { return vsubq_u8(a, b); }
OXI_INLINE vr vr_look_up(const uint8_t *table, vr a) { return vqtbl1q_u8(vld1q_u8(table), a); }
OXI_INLINE vr vr_left(vr a, int count) { return vshlq_u8(a, vdupq_n_s8((int8_t)count)); }
OXI_INLINE vr vr_right(vr a, int count) { return vr_left(a, -count); }
OXI_INLINE vrs vrs_number(vr a, int i, bool is_signed) {
    uint32x4_t high = vshlq_u32(vreinterpretq_u32_u8(a), vdupq_n_s32(24 - 8 * i));
    return is_signed ? vshrq_n_s32(vreinterpretq_s32_u32(high), 24)
                     : vreinterpretq_s32_u32(vshrq_n_u32(high, 24));
}
OXI_INLINE vrs vrs_bits(vrs a, int from, int count) {
    uint32x4_t moved = vshlq_u32(vreinterpretq_u32_s32(a), vdupq_n_s32(-from));
    return vreinterpretq_s32_u32(vandq_u32(moved, vdupq_n_u32((1u << count) - 1)));
}
OXI_INLINE vrs vrs_words(const uint8_t *p) {
    uint16_t words[4];
    memcpy(words, p, sizeof words);
    return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(words)));
}
OXI_INLINE vrs vrs_zero(void) { return vdupq_n_s32(0); }
OXI_INLINE vrs vrs_load(const int32_t *p) { return vld1q_s32(p); }
OXI_INLINE void vrs_store(int32_t *p, vrs a) { vst1q_s32(p, a); }
OXI_INLINE vrs vrs_one(void) { return vdupq_n_s32(1); }
OXI_INLINE vrs vrs_step(vrs sums, vr codes, vr x, int extra) {
    int8x16_t c = vreinterpretq_s8_u8(codes), q = vreinterpretq_s8_u8(x);
    if (extra) return OXI_ISA(vb_dot)(sums, c, q);
    int16x8_t low = vmull_s8(vget_low_s8(c), vget_low_s8(q));
    int16x8_t high = vmull_s8(vget_high_s8(c), vget_high_s8(q));
    return vpadalq_s16(sums, vpaddq_s16(low, high));
}
OXI_INLINE vrs vrs_scaled(vrs total, vrs sums, vrs scale) { return vmlaq_s32(total, sums, scale); }
OXI_INLINE int16x8_t OXI_ISA(vrs_spread_words)(const int16_t *two) {
    return vreinterpretq_s16_u8(vr_spread(two));
}
OXI_INLINE vrs vrs_dot(vrs total, vrs a, const int16_t *two) {
    int16x8_t b = OXI_ISA(vrs_spread_words)(two), w = vreinterpretq_s16_s32(a);
    int32x4_t low = vmull_s16(vget_low_s16(w), vget_low_s16(b));
    int32x4_t high = vmull_s16(vget_high_s16(w), vget_high_s16(b));
    return vaddq_s32(total, vpaddq_s32(low, high));
}
OXI_INLINE vrs vrw_odd(vr a, bool is_signed) {
    int16x8_t w = vreinterpretq_s16_u8(a);
    return is_signed ? vreinterpretq_s32_s16(vshrq_n_s16(w, 8))
                     : vreinterpretq_s32_u16(vshrq_n_u16(vreinterpretq_u16_s16(w), 8));
}
OXI_INLINE vrs vrw_even(vr a, bool is_signed) {
    return vrw_odd(vreinterpretq_u8_u16(vshlq_n_u16(vreinterpretq_u16_u8(a), 8)), is_signed);
}
OXI_INLINE vrs vrw_mul(vrs a, const int16_t *two) {
    return vreinterpretq_s32_s16(vmulq_s16(vreinterpretq_s16_s32(a), OXI_ISA(vrs_spread_words)(two)));
}
OXI_INLINE vrs vrw_low(vrs a) { return vshrq_n_s32(vshlq_n_s32(a, 16), 16); }
OXI_INLINE vrs vrw_high(vrs a) { return vshrq_n_s32(a, 16); }

#endif
