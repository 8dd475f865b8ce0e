/* The avx2 tier's vocabulary: eight lanes, fused multiply-add, 16-bit floats in hardware (Haswell, Zen and
 * later). Names and meaning: vocabulary.inc. */
#ifndef OX_CPU_SIMD_AVX2_H
#define OX_CPU_SIMD_AVX2_H

#undef OXI_TIER
#define OXI_TIER avx2
#define oxi_avx2_TARGET __attribute__((target("avx2,fma,f16c,bmi,bmi2")))
#define oxi_avx2_VF 8
#define oxi_avx2_VD 4
#define oxi_avx2_SCALEF 0
#define oxi_avx2_CONSTANT 0
#define oxi_avx2_FMA 1
#define oxi_avx2_TWO 0
#define oxi_avx2_VS 8
#define oxi_avx2_VR 8
#define oxi_avx2_VQ 8

typedef __m256 vf;
typedef __m256i vi;
typedef __m256d vd;
typedef __m256i vl;
typedef __m256 vm;
typedef __m256d vmd;

#include "cpu/simd/float256.inc"

/* ---- bits ---- */
OXI_INLINE vi vf_as_vi(vf a) { return _mm256_castps_si256(a); }
OXI_INLINE vf vi_as_vf(vi a) { return _mm256_castsi256_ps(a); }
OXI_INLINE vl vd_as_vl(vd a) { return _mm256_castpd_si256(a); }
OXI_INLINE vd vl_as_vd(vl a) { return _mm256_castsi256_pd(a); }

OXI_INLINE vf vf_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }
OXI_INLINE vd vd_select(vmd m, vd a, vd b) { return _mm256_blendv_pd(b, a, m); }

/* ---- i32 ---- */
OXI_INLINE __m128i oxi_avx2_load_half(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
OXI_INLINE __m128i oxi_avx2_load_8_bytes(const void *p) { return _mm_loadl_epi64((const __m128i *)p); }
OXI_INLINE vi vi_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
OXI_INLINE void vi_store(int32_t *p, vi a) { _mm256_storeu_si256((__m256i *)(void *)p, a); }
OXI_INLINE vi vi_set1(int32_t a) { return _mm256_set1_epi32(a); }
OXI_INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
OXI_INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
OXI_INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
OXI_INLINE vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
OXI_INLINE vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
OXI_INLINE vi vi_sll(vi a, int count) { return _mm256_slli_epi32(a, count); }
OXI_INLINE vi vi_srl(vi a, int count) { return _mm256_srli_epi32(a, count); }
OXI_INLINE vi vi_sra(vi a, int count) { return _mm256_srai_epi32(a, count); }
OXI_INLINE vm vi_cmpeq(vi a, vi b) { return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)); }
OXI_INLINE vm vi_cmpgt(vi a, vi b) { return _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b)); }
OXI_INLINE vi vi_select(vm m, vi a, vi b) { return vf_as_vi(vf_select(m, vi_as_vf(a), vi_as_vf(b))); }
OXI_INLINE vi vi_load_u8(const uint8_t *p) { return _mm256_cvtepu8_epi32(oxi_avx2_load_8_bytes(p)); }
OXI_INLINE vi vi_load_i8(const int8_t *p) { return _mm256_cvtepi8_epi32(oxi_avx2_load_8_bytes(p)); }
OXI_INLINE vi vi_load_u16(const uint16_t *p) { return _mm256_cvtepu16_epi32(oxi_avx2_load_half(p)); }
OXI_INLINE vi vi_load_i16(const int16_t *p) { return _mm256_cvtepi16_epi32(oxi_avx2_load_half(p)); }
OXI_INLINE void vi_store_16(void *p, vi a) {
    vi low = _mm256_and_si256(a, _mm256_set1_epi32(0xffff));
    vi packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(packed));
}
OXI_INLINE void vi_store_8(void *p, vi a) {
    vi low = _mm256_and_si256(a, _mm256_set1_epi32(0xff)), pairs = _mm256_packus_epi32(low, low);
    vi bytes = _mm256_packus_epi16(pairs, pairs);
    __m128i both = _mm_unpacklo_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    _mm_storel_epi64((__m128i *)p, both);
}
OXI_INLINE vi vf_to_vi(vf a) { return _mm256_cvtps_epi32(a); }
OXI_INLINE vi vf_to_vi_trunc(vf a) { return _mm256_cvttps_epi32(a); }
OXI_INLINE vf vi_to_vf(vi a) { return _mm256_cvtepi32_ps(a); }

/* ---- i64 ---- */
OXI_INLINE vl vl_set1(int64_t a) { return _mm256_set1_epi64x(a); }
OXI_INLINE vl vl_add(vl a, vl b) { return _mm256_add_epi64(a, b); }
OXI_INLINE vl vl_sub(vl a, vl b) { return _mm256_sub_epi64(a, b); }
OXI_INLINE vl vl_and(vl a, vl b) { return _mm256_and_si256(a, b); }
OXI_INLINE vl vl_or(vl a, vl b) { return _mm256_or_si256(a, b); }
OXI_INLINE vl vl_sll(vl a, int count) { return _mm256_slli_epi64(a, count); }
OXI_INLINE vl vl_srl(vl a, int count) { return _mm256_srli_epi64(a, count); }

/* ---- 16-bit floats ---- */
OXI_INLINE vf vf_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(oxi_avx2_load_half(p)); }
OXI_INLINE void vf_store_f16(uint16_t *p, vf a) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

/* ---- masks ---- */
OXI_INLINE vm vm_load_bool(const uint8_t *p) { return vi_cmpgt(vi_load_u8(p), vi_set1(0)); }
OXI_INLINE void vm_store_bool(uint8_t *p, vm a) { vi_store_8(p, vi_srl(vf_as_vi(a), 31)); }

/* ---- mixed ---- */
OXI_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
OXI_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
OXI_INLINE vd vd_fma(vd a, vd b, vd c) { return _mm256_fmadd_pd(a, b, c); }
OXI_INLINE vd vd_fnma(vd a, vd b, vd c) { return _mm256_fnmadd_pd(a, b, c); }
OXI_INLINE vd vd_from_vi_lo(vi a) { return _mm256_cvtepi32_pd(_mm256_castsi256_si128(a)); }
OXI_INLINE vd vd_from_vi_hi(vi a) { return _mm256_cvtepi32_pd(_mm256_extracti128_si256(a, 1)); }

#include "cpu/simd/bf16.inc"

/* ---- bytes ---- */
#define oxi_avx2_vb oxi_avx2_vr
#define oxi_avx2_vb_load oxi_avx2_vr_load
#define oxi_avx2_vb_store oxi_avx2_vr_store
#define oxi_avx2_vb_set1 oxi_avx2_vr_set1
#define oxi_avx2_vb_and oxi_avx2_vr_and
#define oxi_avx2_vb_or oxi_avx2_vr_or
#define oxi_avx2_vb_sub oxi_avx2_vr_sub
#define oxi_avx2_vb_right oxi_avx2_vr_right
#define oxi_avx2_vb_left oxi_avx2_vr_left
#include "cpu/simd/bytes_x86.inc"
#include "cpu/simd/bytes256.inc"

/* ---- codes ---- */
#define oxi_avx2_vq oxi_avx2_vr
#define oxi_avx2_vqw oxi_avx2_vr
#define oxi_avx2_vq_zero oxi_avx2_vrs_zero
#define oxi_avx2_vq_load oxi_avx2_vr_load
#define oxi_avx2_vq_weights oxi_avx2_vr_load
#define oxi_avx2_vq_spread oxi_avx2_vr_spread
#if OXI_AVX_VNNI
#define oxi_avx2_vq_step(sums, w, x, way) \
    if (way == OXI_CODES_DOT) OXI_VNNI("vpdpbusd", sums, w, x); \
    else OXI_MULTIPLY_ADD("x", sums, w, x, way)
#else
#define oxi_avx2_vq_step(sums, w, x, way) OXI_MULTIPLY_ADD("x", sums, w, x, way)
#endif
OXI_INLINE vf vq_sums(vq sums, vq ratio, int way) {
    return _mm256_cvtepi32_ps(way == OXI_CODES_BYTES ? _mm256_madd_epi16(sums, ratio) : sums);
}

#endif
