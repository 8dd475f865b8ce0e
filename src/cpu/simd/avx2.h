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
#define oxi_avx2_vf_as_vi _mm256_castps_si256
#define oxi_avx2_vi_as_vf _mm256_castsi256_ps
#define oxi_avx2_vd_as_vl _mm256_castpd_si256
#define oxi_avx2_vl_as_vd _mm256_castsi256_pd

#define oxi_avx2_vf_select(m, a, b) _mm256_blendv_ps(b, a, m)
#define oxi_avx2_vd_select(m, a, b) _mm256_blendv_pd(b, a, m)

/* ---- i32 ---- */
OXI_INLINE __m128i oxi_avx2_load_half(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
OXI_INLINE __m128i oxi_avx2_load_8_bytes(const void *p) { return _mm_loadl_epi64((const __m128i *)p); }
#define oxi_avx2_vi_load(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define oxi_avx2_vi_store(p, a) _mm256_storeu_si256((__m256i *)(void *)(p), a)
#define oxi_avx2_vi_set1 _mm256_set1_epi32
#define oxi_avx2_vi_add _mm256_add_epi32
#define oxi_avx2_vi_sub _mm256_sub_epi32
#define oxi_avx2_vi_and _mm256_and_si256
#define oxi_avx2_vi_or _mm256_or_si256
#define oxi_avx2_vi_xor _mm256_xor_si256
#define oxi_avx2_vi_sll _mm256_slli_epi32
#define oxi_avx2_vi_srl _mm256_srli_epi32
#define oxi_avx2_vi_sra _mm256_srai_epi32
#define oxi_avx2_vi_cmpeq(a, b) _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b))
#define oxi_avx2_vi_cmpgt(a, b) _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b))
OXI_INLINE vi vi_select(vm m, vi a, vi b) { return vf_as_vi(vf_select(m, vi_as_vf(a), vi_as_vf(b))); }
#define oxi_avx2_vi_load_u8(p) _mm256_cvtepu8_epi32(oxi_avx2_load_8_bytes(p))
#define oxi_avx2_vi_load_i8(p) _mm256_cvtepi8_epi32(oxi_avx2_load_8_bytes(p))
#define oxi_avx2_vi_load_u16(p) _mm256_cvtepu16_epi32(oxi_avx2_load_half(p))
#define oxi_avx2_vi_load_i16(p) _mm256_cvtepi16_epi32(oxi_avx2_load_half(p))
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
#define oxi_avx2_vf_to_vi _mm256_cvtps_epi32
#define oxi_avx2_vf_to_vi_trunc _mm256_cvttps_epi32
#define oxi_avx2_vi_to_vf _mm256_cvtepi32_ps

/* ---- i64 ---- */
#define oxi_avx2_vl_set1 _mm256_set1_epi64x
#define oxi_avx2_vl_add _mm256_add_epi64
#define oxi_avx2_vl_sub _mm256_sub_epi64
#define oxi_avx2_vl_and _mm256_and_si256
#define oxi_avx2_vl_or _mm256_or_si256
#define oxi_avx2_vl_sll _mm256_slli_epi64
#define oxi_avx2_vl_srl _mm256_srli_epi64

/* ---- 16-bit floats ---- */
#define oxi_avx2_vf_load_f16(p) _mm256_cvtph_ps(oxi_avx2_load_half(p))
#define oxi_avx2_vf_store_f16(p, a) \
    _mm_storeu_si128((__m128i *)(void *)(p), _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT))

/* ---- masks ---- */
OXI_INLINE vm vm_load_bool(const uint8_t *p) { return vi_cmpgt(vi_load_u8(p), vi_set1(0)); }
OXI_INLINE void vm_store_bool(uint8_t *p, vm a) { vi_store_8(p, vi_srl(vf_as_vi(a), 31)); }

/* ---- mixed ---- */
#define oxi_avx2_vf_fma _mm256_fmadd_ps
#define oxi_avx2_vf_fnma _mm256_fnmadd_ps
#define oxi_avx2_vd_fma _mm256_fmadd_pd
#define oxi_avx2_vd_fnma _mm256_fnmadd_pd
#define oxi_avx2_vd_from_vi_lo(a) _mm256_cvtepi32_pd(_mm256_castsi256_si128(a))
#define oxi_avx2_vd_from_vi_hi(a) _mm256_cvtepi32_pd(_mm256_extracti128_si256(a, 1))

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

#endif
