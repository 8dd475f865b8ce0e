/* The avx512 tier's vocabulary: sixteen lanes with mask registers (F, BW, DQ, VL: Skylake-X, Zen 4 and
 * later). Sums over lanes are written out: g++ 12 warns about its own _mm512_reduce_add_ps. Names and
 * meaning: vocabulary.inc. */
#ifndef OX_CPU_SIMD_AVX512_H
#define OX_CPU_SIMD_AVX512_H

#undef OXI_TIER
#define OXI_TIER avx512
#define oxi_avx512_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi,bmi2")))
#define oxi_avx512_VF 16
#define oxi_avx512_VD 8
#define oxi_avx512_SCALEF 1
#define oxi_avx512_CONSTANT 0
#define oxi_avx512_FMA 1
#define oxi_avx512_TWO 0
#define oxi_avx512_VS 8
#define oxi_avx512_VR 16
#define oxi_avx512_VQ 16

typedef __m512 vf;
typedef __m512i vi;
typedef __m512d vd;
typedef __m512i vl;
typedef __mmask16 vm;
typedef __mmask8 vmd;

/* ---- bits ---- */
OXI_INLINE vi vf_as_vi(vf a) { return _mm512_castps_si512(a); }
OXI_INLINE vf vi_as_vf(vi a) { return _mm512_castsi512_ps(a); }
OXI_INLINE vl vd_as_vl(vd a) { return _mm512_castpd_si512(a); }
OXI_INLINE vd vl_as_vd(vl a) { return _mm512_castsi512_pd(a); }
OXI_INLINE vf vf_and(vf a, vf b) { return _mm512_and_ps(a, b); }
OXI_INLINE vf vf_or(vf a, vf b) { return _mm512_or_ps(a, b); }
OXI_INLINE vf vf_xor(vf a, vf b) { return _mm512_xor_ps(a, b); }
OXI_INLINE vf vf_andnot(vf a, vf b) { return _mm512_andnot_ps(a, b); }
OXI_INLINE vd vd_and(vd a, vd b) { return _mm512_and_pd(a, b); }
OXI_INLINE vd vd_or(vd a, vd b) { return _mm512_or_pd(a, b); }
OXI_INLINE vd vd_xor(vd a, vd b) { return _mm512_xor_pd(a, b); }
OXI_INLINE vd vd_andnot(vd a, vd b) { return _mm512_andnot_pd(a, b); }

/* ---- f32 ---- */
OXI_INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
OXI_INLINE void vf_store(float *p, vf a) { _mm512_storeu_ps(p, a); }
OXI_INLINE void vf_stream(float *p, vf a) { _mm512_stream_ps(p, a); }
OXI_INLINE vm oxi_avx512_first_n(int64_t n) { return (vm)((1u << n) - 1); }
OXI_INLINE vf vf_load_n(const float *p, int64_t n) { return _mm512_maskz_loadu_ps(oxi_avx512_first_n(n), p); }
OXI_INLINE void vf_store_n(float *p, vf a, int64_t n) { _mm512_mask_storeu_ps(p, oxi_avx512_first_n(n), a); }
OXI_INLINE vf vf_set1(float a) { return _mm512_set1_ps(a); }
OXI_INLINE vf vf_zero(void) { return _mm512_setzero_ps(); }
OXI_INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
OXI_INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
OXI_INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
OXI_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
OXI_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
OXI_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
OXI_INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
OXI_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
OXI_INLINE vf vf_sqrt(vf a) { return _mm512_sqrt_ps(a); }
OXI_INLINE vf vf_round(vf a) { return _mm512_roundscale_ps(a, 0x08); }
OXI_INLINE vf vf_floor(vf a) { return _mm512_roundscale_ps(a, 0x09); }
OXI_INLINE vf vf_ceil(vf a) { return _mm512_roundscale_ps(a, 0x0a); }
OXI_INLINE vf vf_trunc(vf a) { return _mm512_roundscale_ps(a, 0x0b); }
OXI_INLINE vm vf_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
OXI_INLINE vm vf_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
OXI_INLINE vm vf_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
OXI_INLINE vm vf_ne(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
OXI_INLINE vm vf_unord(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
OXI_INLINE vf vf_select(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }
OXI_INLINE float vf_hsum(vf a) {
    __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
}
OXI_INLINE float vf_hmax(vf a) {
    __m256 b = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_shuffle_ps(c, c, 1)));
}
OXI_INLINE float vf_hmin(vf a) {
    __m256 b = _mm256_min_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_min_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_min_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_min_ss(c, _mm_shuffle_ps(c, c, 1)));
}

/* ---- i32 ---- */
OXI_INLINE __m128i oxi_avx512_load_16_bytes(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
OXI_INLINE __m256i oxi_avx512_load_half(const void *p) { return _mm256_loadu_si256((const __m256i *)p); }
OXI_INLINE vi vi_load(const int32_t *p) { return _mm512_loadu_si512((const void *)p); }
OXI_INLINE void vi_store(int32_t *p, vi a) { _mm512_storeu_si512((void *)p, a); }
OXI_INLINE vi vi_set1(int32_t a) { return _mm512_set1_epi32(a); }
OXI_INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
OXI_INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
OXI_INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
OXI_INLINE vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
OXI_INLINE vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
#define oxi_avx512_vi_sll(a, count) _mm512_slli_epi32(a, count)
#define oxi_avx512_vi_srl(a, count) _mm512_srli_epi32(a, count)
#define oxi_avx512_vi_sra(a, count) _mm512_srai_epi32(a, count)
OXI_INLINE vm vi_cmpeq(vi a, vi b) { return _mm512_cmpeq_epi32_mask(a, b); }
OXI_INLINE vm vi_cmpgt(vi a, vi b) { return _mm512_cmpgt_epi32_mask(a, b); }
OXI_INLINE vi vi_select(vm m, vi a, vi b) { return _mm512_mask_blend_epi32(m, b, a); }
OXI_INLINE vi vi_load_u8(const uint8_t *p) { return _mm512_cvtepu8_epi32(oxi_avx512_load_16_bytes(p)); }
OXI_INLINE vi vi_load_i8(const int8_t *p) { return _mm512_cvtepi8_epi32(oxi_avx512_load_16_bytes(p)); }
OXI_INLINE vi vi_load_u16(const uint16_t *p) { return _mm512_cvtepu16_epi32(oxi_avx512_load_half(p)); }
OXI_INLINE vi vi_load_i16(const int16_t *p) { return _mm512_cvtepi16_epi32(oxi_avx512_load_half(p)); }
OXI_INLINE void vi_store_16(void *p, vi a) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(a)); }
OXI_INLINE void vi_store_8(void *p, vi a) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(a)); }
OXI_INLINE vi vf_to_vi(vf a) { return _mm512_cvtps_epi32(a); }
OXI_INLINE vi vf_to_vi_trunc(vf a) { return _mm512_cvttps_epi32(a); }
OXI_INLINE vf vi_to_vf(vi a) { return _mm512_cvtepi32_ps(a); }

OXI_INLINE vf vf_scale(vf a, vi n) { return _mm512_scalef_ps(a, _mm512_cvtepi32_ps(n)); }

/* ---- masks ---- */
OXI_INLINE vm vm_and(vm a, vm b) { return (vm)(a & b); }
OXI_INLINE vm vm_or(vm a, vm b) { return (vm)(a | b); }
OXI_INLINE vm vm_not(vm a) { return (vm)~a; }
OXI_INLINE bool vm_any(vm a) { return a != 0; }
OXI_INLINE unsigned vm_bits(vm a) { return a; }
OXI_INLINE vm vm_load_bool(const uint8_t *p) {
    __m128i a = oxi_avx512_load_16_bytes(p);
    return _mm_test_epi8_mask(a, a);
}
OXI_INLINE void vm_store_bool(uint8_t *p, vm a) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm_maskz_set1_epi8(a, 1));
}
OXI_INLINE vmd vmd_and(vmd a, vmd b) { return (vmd)(a & b); }
OXI_INLINE vmd vmd_or(vmd a, vmd b) { return (vmd)(a | b); }
OXI_INLINE vmd vmd_not(vmd a) { return (vmd)~a; }
OXI_INLINE bool vmd_any(vmd a) { return a != 0; }
OXI_INLINE unsigned vmd_bits(vmd a) { return a; }

/* ---- f64 ---- */
OXI_INLINE vd vd_load(const double *p) { return _mm512_loadu_pd(p); }
OXI_INLINE void vd_store(double *p, vd a) { _mm512_storeu_pd(p, a); }
OXI_INLINE vd vd_load_n(const double *p, int64_t n) {
    return _mm512_maskz_loadu_pd((vmd)oxi_avx512_first_n(n), p);
}
OXI_INLINE void vd_store_n(double *p, vd a, int64_t n) {
    _mm512_mask_storeu_pd(p, (vmd)oxi_avx512_first_n(n), a);
}
OXI_INLINE vd vd_set1(double a) { return _mm512_set1_pd(a); }
OXI_INLINE vd vd_zero(void) { return _mm512_setzero_pd(); }
OXI_INLINE vd vd_add(vd a, vd b) { return _mm512_add_pd(a, b); }
OXI_INLINE vd vd_sub(vd a, vd b) { return _mm512_sub_pd(a, b); }
OXI_INLINE vd vd_mul(vd a, vd b) { return _mm512_mul_pd(a, b); }
OXI_INLINE vd vd_div(vd a, vd b) { return _mm512_div_pd(a, b); }
OXI_INLINE vd vd_fma(vd a, vd b, vd c) { return _mm512_fmadd_pd(a, b, c); }
OXI_INLINE vd vd_fnma(vd a, vd b, vd c) { return _mm512_fnmadd_pd(a, b, c); }
OXI_INLINE vd vd_min(vd a, vd b) { return _mm512_min_pd(a, b); }
OXI_INLINE vd vd_max(vd a, vd b) { return _mm512_max_pd(a, b); }
OXI_INLINE vd vd_sqrt(vd a) { return _mm512_sqrt_pd(a); }
OXI_INLINE vd vd_round(vd a) { return _mm512_roundscale_pd(a, 0x08); }
OXI_INLINE vd vd_floor(vd a) { return _mm512_roundscale_pd(a, 0x09); }
OXI_INLINE vd vd_ceil(vd a) { return _mm512_roundscale_pd(a, 0x0a); }
OXI_INLINE vd vd_trunc(vd a) { return _mm512_roundscale_pd(a, 0x0b); }
OXI_INLINE vmd vd_lt(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
OXI_INLINE vmd vd_le(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ); }
OXI_INLINE vmd vd_eq(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ); }
OXI_INLINE vmd vd_ne(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ); }
OXI_INLINE vmd vd_unord(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q); }
OXI_INLINE vd vd_select(vmd m, vd a, vd b) { return _mm512_mask_blend_pd(m, b, a); }
OXI_INLINE double vd_hsum(vd a) {
    __m256d b = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    __m128d c = _mm_add_pd(_mm256_castpd256_pd128(b), _mm256_extractf128_pd(b, 1));
    return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
}
OXI_INLINE vd vd_from_vf_lo(vf a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
OXI_INLINE vd vd_from_vf_hi(vf a) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
OXI_INLINE vf vf_from_vd(vd lo, vd hi) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lo)), _mm512_cvtpd_ps(hi), 1);
}
OXI_INLINE vd vd_load_f32(const float *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
OXI_INLINE void vd_store_f32(float *p, vd a) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(a)); }
OXI_INLINE vd vd_from_vi_lo(vi a) { return _mm512_cvtepi32_pd(_mm512_castsi512_si256(a)); }
OXI_INLINE vd vd_from_vi_hi(vi a) { return _mm512_cvtepi32_pd(_mm512_extracti32x8_epi32(a, 1)); }

/* ---- i64 ---- */
OXI_INLINE vl vl_set1(int64_t a) { return _mm512_set1_epi64(a); }
OXI_INLINE vl vl_add(vl a, vl b) { return _mm512_add_epi64(a, b); }
OXI_INLINE vl vl_sub(vl a, vl b) { return _mm512_sub_epi64(a, b); }
OXI_INLINE vl vl_and(vl a, vl b) { return _mm512_and_si512(a, b); }
OXI_INLINE vl vl_or(vl a, vl b) { return _mm512_or_si512(a, b); }
#define oxi_avx512_vl_sll(a, count) _mm512_slli_epi64(a, count)
#define oxi_avx512_vl_srl(a, count) _mm512_srli_epi64(a, count)

/* ---- 16-bit floats ---- */
OXI_INLINE vf vf_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(oxi_avx512_load_half(p)); }
OXI_INLINE void vf_store_f16(uint16_t *p, vf a) {
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

#include "cpu/simd/bf16.inc"

/* ---- bytes ---- */
#include "cpu/simd/bytes_x86.inc"
#include "cpu/simd/bytes256.inc"

/* ---- codes ---- */
#define oxi_avx512_vq oxi_avx512_vr
#define oxi_avx512_vqw oxi_avx512_vr
#define oxi_avx512_vq_zero oxi_avx512_vrs_zero
#define oxi_avx512_vq_load oxi_avx512_vr_load
#define oxi_avx512_vq_weights oxi_avx512_vr_load
#define oxi_avx512_vq_spread oxi_avx512_vr_spread
#define oxi_avx512_vq_step(sums, w, x, way) \
    if (way == OXI_CODES_DOT) OXI_VNNI("vpdpbusd", sums, w, x); \
    else OXI_MULTIPLY_ADD("v", sums, w, x, way)
OXI_INLINE vf vq_sums(vq sums, vq ratio, int way) {
    return _mm512_cvtepi32_ps(way == OXI_CODES_BYTES ? _mm512_madd_epi16(sums, ratio) : sums);
}

#endif
