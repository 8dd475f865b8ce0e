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
#define oxi_avx512_vf_as_vi _mm512_castps_si512
#define oxi_avx512_vi_as_vf _mm512_castsi512_ps
#define oxi_avx512_vd_as_vl _mm512_castpd_si512
#define oxi_avx512_vl_as_vd _mm512_castsi512_pd
#define oxi_avx512_vf_and _mm512_and_ps
#define oxi_avx512_vf_or _mm512_or_ps
#define oxi_avx512_vf_xor _mm512_xor_ps
#define oxi_avx512_vf_andnot _mm512_andnot_ps
#define oxi_avx512_vd_and _mm512_and_pd
#define oxi_avx512_vd_or _mm512_or_pd
#define oxi_avx512_vd_xor _mm512_xor_pd
#define oxi_avx512_vd_andnot _mm512_andnot_pd

/* ---- f32 ---- */
#define oxi_avx512_vf_load _mm512_loadu_ps
#define oxi_avx512_vf_store _mm512_storeu_ps
#define oxi_avx512_vf_stream _mm512_stream_ps
OXI_INLINE vm oxi_avx512_first_n(int64_t n) { return (vm)((1u << n) - 1); }
#define oxi_avx512_vf_load_n(p, n) _mm512_maskz_loadu_ps(oxi_avx512_first_n(n), p)
#define oxi_avx512_vf_store_n(p, a, n) _mm512_mask_storeu_ps(p, oxi_avx512_first_n(n), a)
#define oxi_avx512_vf_set1 _mm512_set1_ps
#define oxi_avx512_vf_zero _mm512_setzero_ps
#define oxi_avx512_vf_add _mm512_add_ps
#define oxi_avx512_vf_sub _mm512_sub_ps
#define oxi_avx512_vf_mul _mm512_mul_ps
#define oxi_avx512_vf_div _mm512_div_ps
#define oxi_avx512_vf_fma _mm512_fmadd_ps
#define oxi_avx512_vf_fnma _mm512_fnmadd_ps
#define oxi_avx512_vf_min _mm512_min_ps
#define oxi_avx512_vf_max _mm512_max_ps
#define oxi_avx512_vf_sqrt _mm512_sqrt_ps
#define oxi_avx512_vf_round(a) _mm512_roundscale_ps(a, 0x08)
#define oxi_avx512_vf_floor(a) _mm512_roundscale_ps(a, 0x09)
#define oxi_avx512_vf_ceil(a) _mm512_roundscale_ps(a, 0x0a)
#define oxi_avx512_vf_trunc(a) _mm512_roundscale_ps(a, 0x0b)
#define oxi_avx512_vf_lt(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define oxi_avx512_vf_le(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
#define oxi_avx512_vf_eq(a, b) _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)
#define oxi_avx512_vf_ne(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ)
#define oxi_avx512_vf_unord(a, b) _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q)
#define oxi_avx512_vf_select(m, a, b) _mm512_mask_blend_ps(m, b, a)
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
#define oxi_avx512_vi_load(p) _mm512_loadu_si512((const void *)(p))
#define oxi_avx512_vi_store(p, a) _mm512_storeu_si512((void *)(p), a)
#define oxi_avx512_vi_set1 _mm512_set1_epi32
#define oxi_avx512_vi_add _mm512_add_epi32
#define oxi_avx512_vi_sub _mm512_sub_epi32
#define oxi_avx512_vi_and _mm512_and_si512
#define oxi_avx512_vi_or _mm512_or_si512
#define oxi_avx512_vi_xor _mm512_xor_si512
#define oxi_avx512_vi_sll(a, count) _mm512_slli_epi32(a, count)
#define oxi_avx512_vi_srl(a, count) _mm512_srli_epi32(a, count)
#define oxi_avx512_vi_sra(a, count) _mm512_srai_epi32(a, count)
#define oxi_avx512_vi_cmpeq _mm512_cmpeq_epi32_mask
#define oxi_avx512_vi_cmpgt _mm512_cmpgt_epi32_mask
#define oxi_avx512_vi_select(m, a, b) _mm512_mask_blend_epi32(m, b, a)
#define oxi_avx512_vi_load_u8(p) _mm512_cvtepu8_epi32(oxi_avx512_load_16_bytes(p))
#define oxi_avx512_vi_load_i8(p) _mm512_cvtepi8_epi32(oxi_avx512_load_16_bytes(p))
#define oxi_avx512_vi_load_u16(p) _mm512_cvtepu16_epi32(oxi_avx512_load_half(p))
#define oxi_avx512_vi_load_i16(p) _mm512_cvtepi16_epi32(oxi_avx512_load_half(p))
#define oxi_avx512_vi_store_16(p, a) _mm256_storeu_si256((__m256i *)(p), _mm512_cvtepi32_epi16(a))
#define oxi_avx512_vi_store_8(p, a) _mm_storeu_si128((__m128i *)(p), _mm512_cvtepi32_epi8(a))
#define oxi_avx512_vf_to_vi _mm512_cvtps_epi32
#define oxi_avx512_vf_to_vi_trunc _mm512_cvttps_epi32
#define oxi_avx512_vi_to_vf _mm512_cvtepi32_ps

#define oxi_avx512_vf_scale(a, n) _mm512_scalef_ps(a, _mm512_cvtepi32_ps(n))

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
#define oxi_avx512_vm_store_bool(p, a) _mm_storeu_si128((__m128i *)(void *)(p), _mm_maskz_set1_epi8(a, 1))
OXI_INLINE vmd vmd_and(vmd a, vmd b) { return (vmd)(a & b); }
OXI_INLINE vmd vmd_or(vmd a, vmd b) { return (vmd)(a | b); }
OXI_INLINE vmd vmd_not(vmd a) { return (vmd)~a; }
OXI_INLINE bool vmd_any(vmd a) { return a != 0; }
OXI_INLINE unsigned vmd_bits(vmd a) { return a; }

/* ---- f64 ---- */
#define oxi_avx512_vd_load _mm512_loadu_pd
#define oxi_avx512_vd_store _mm512_storeu_pd
#define oxi_avx512_vd_load_n(p, n) _mm512_maskz_loadu_pd((vmd)oxi_avx512_first_n(n), p)
#define oxi_avx512_vd_store_n(p, a, n) _mm512_mask_storeu_pd(p, (vmd)oxi_avx512_first_n(n), a)
#define oxi_avx512_vd_set1 _mm512_set1_pd
#define oxi_avx512_vd_zero _mm512_setzero_pd
#define oxi_avx512_vd_add _mm512_add_pd
#define oxi_avx512_vd_sub _mm512_sub_pd
#define oxi_avx512_vd_mul _mm512_mul_pd
#define oxi_avx512_vd_div _mm512_div_pd
#define oxi_avx512_vd_fma _mm512_fmadd_pd
#define oxi_avx512_vd_fnma _mm512_fnmadd_pd
#define oxi_avx512_vd_min _mm512_min_pd
#define oxi_avx512_vd_max _mm512_max_pd
#define oxi_avx512_vd_sqrt _mm512_sqrt_pd
#define oxi_avx512_vd_round(a) _mm512_roundscale_pd(a, 0x08)
#define oxi_avx512_vd_floor(a) _mm512_roundscale_pd(a, 0x09)
#define oxi_avx512_vd_ceil(a) _mm512_roundscale_pd(a, 0x0a)
#define oxi_avx512_vd_trunc(a) _mm512_roundscale_pd(a, 0x0b)
#define oxi_avx512_vd_lt(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define oxi_avx512_vd_le(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ)
#define oxi_avx512_vd_eq(a, b) _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ)
#define oxi_avx512_vd_ne(a, b) _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ)
#define oxi_avx512_vd_unord(a, b) _mm512_cmp_pd_mask(a, b, _CMP_UNORD_Q)
#define oxi_avx512_vd_select(m, a, b) _mm512_mask_blend_pd(m, b, a)
OXI_INLINE double vd_hsum(vd a) {
    __m256d b = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    __m128d c = _mm_add_pd(_mm256_castpd256_pd128(b), _mm256_extractf128_pd(b, 1));
    return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
}
#define oxi_avx512_vd_from_vf_lo(a) _mm512_cvtps_pd(_mm512_castps512_ps256(a))
#define oxi_avx512_vd_from_vf_hi(a) _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1))
#define oxi_avx512_vf_from_vd(lo, hi) \
    _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(lo)), _mm512_cvtpd_ps(hi), 1)
#define oxi_avx512_vd_load_f32(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
#define oxi_avx512_vd_store_f32(p, a) _mm256_storeu_ps(p, _mm512_cvtpd_ps(a))
#define oxi_avx512_vd_from_vi_lo(a) _mm512_cvtepi32_pd(_mm512_castsi512_si256(a))
#define oxi_avx512_vd_from_vi_hi(a) _mm512_cvtepi32_pd(_mm512_extracti32x8_epi32(a, 1))

/* ---- i64 ---- */
#define oxi_avx512_vl_set1 _mm512_set1_epi64
#define oxi_avx512_vl_add _mm512_add_epi64
#define oxi_avx512_vl_sub _mm512_sub_epi64
#define oxi_avx512_vl_and _mm512_and_si512
#define oxi_avx512_vl_or _mm512_or_si512
#define oxi_avx512_vl_sll(a, count) _mm512_slli_epi64(a, count)
#define oxi_avx512_vl_srl(a, count) _mm512_srli_epi64(a, count)

/* ---- 16-bit floats ---- */
#define oxi_avx512_vf_load_f16(p) _mm512_cvtph_ps(oxi_avx512_load_half(p))
#define oxi_avx512_vf_store_f16(p, a) \
    _mm256_storeu_si256((__m256i *)(void *)(p), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT))

#include "cpu/simd/bf16.inc"

#endif
