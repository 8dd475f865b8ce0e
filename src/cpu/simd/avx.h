/* The avx tier's vocabulary: eight lanes for floats, pairs of four for integers (Sandy Bridge, Bulldozer,
 * Jaguar). AVX has 256-bit float operations only, so a vi is two SSE halves that meet when a float is made
 * of them. Names and meaning: vocabulary.inc. */
#ifndef OX_CPU_SIMD_AVX_H
#define OX_CPU_SIMD_AVX_H

#undef OXI_TIER
#define OXI_TIER avx
#define oxi_avx_TARGET __attribute__((target("avx")))
#define oxi_avx_VF 8
#define oxi_avx_VD 4
#define oxi_avx_SCALEF 0
#define oxi_avx_CONSTANT 0
#define oxi_avx_FMA 0
#define oxi_avx_TWO 0
#define oxi_avx_VS 4
#define oxi_avx_VR 4
#define oxi_avx_VQ 8

typedef __m256 vf;
typedef __m256d vd;
typedef struct vi { __m128i lo, hi; } vi;
typedef struct vl { __m128i lo, hi; } vl;
typedef __m256 vm;
typedef __m256d vmd;

#include "cpu/simd/float256.inc"

OXI_INLINE vi oxi_avx_pair(__m128i lo, __m128i hi) { vi a; a.lo = lo; a.hi = hi; return a; }
OXI_INLINE vl oxi_avx_pair_long(__m128i lo, __m128i hi) { vl a; a.lo = lo; a.hi = hi; return a; }
OXI_INLINE __m256i oxi_avx_join(__m128i lo, __m128i hi) {
    return _mm256_insertf128_si256(_mm256_castsi128_si256(lo), hi, 1);
}

/* ---- bits ---- */
OXI_INLINE vi vf_as_vi(vf a) {
    return oxi_avx_pair(_mm_castps_si128(_mm256_castps256_ps128(a)),
                        _mm_castps_si128(_mm256_extractf128_ps(a, 1)));
}
OXI_INLINE vf vi_as_vf(vi a) { return _mm256_castsi256_ps(oxi_avx_join(a.lo, a.hi)); }
OXI_INLINE vl vd_as_vl(vd a) {
    return oxi_avx_pair_long(_mm_castpd_si128(_mm256_castpd256_pd128(a)),
                             _mm_castpd_si128(_mm256_extractf128_pd(a, 1)));
}
OXI_INLINE vd vl_as_vd(vl a) { return _mm256_castsi256_pd(oxi_avx_join(a.lo, a.hi)); }

/* By bits, not by blendv: gcc makes that a comparison of integers, which AVX has not, and then eight
 * branches. */
OXI_INLINE vf vf_select(vm m, vf a, vf b) { return vf_or(vf_and(m, a), vf_andnot(m, b)); }
OXI_INLINE vd vd_select(vmd m, vd a, vd b) { return vd_or(vd_and(m, a), vd_andnot(m, b)); }

/* ---- i32 ---- */
OXI_INLINE __m128i oxi_avx_load_half(const void *p) { return _mm_loadu_si128((const __m128i *)p); }
OXI_INLINE __m128i oxi_avx_load_8_bytes(const void *p) { return _mm_loadl_epi64((const __m128i *)p); }
OXI_INLINE vi vi_load(const int32_t *p) {
    return oxi_avx_pair(oxi_avx_load_half(p), oxi_avx_load_half(p + 4));
}
OXI_INLINE void vi_store(int32_t *p, vi a) {
    _mm256_storeu_si256((__m256i *)(void *)p, oxi_avx_join(a.lo, a.hi));
}
OXI_INLINE vi vi_set1(int32_t a) { return oxi_avx_pair(_mm_set1_epi32(a), _mm_set1_epi32(a)); }
OXI_INLINE vi vi_add(vi a, vi b) {
    return oxi_avx_pair(_mm_add_epi32(a.lo, b.lo), _mm_add_epi32(a.hi, b.hi));
}
OXI_INLINE vi vi_sub(vi a, vi b) {
    return oxi_avx_pair(_mm_sub_epi32(a.lo, b.lo), _mm_sub_epi32(a.hi, b.hi));
}
OXI_INLINE vi vi_and(vi a, vi b) {
    return oxi_avx_pair(_mm_and_si128(a.lo, b.lo), _mm_and_si128(a.hi, b.hi));
}
OXI_INLINE vi vi_or(vi a, vi b) { return oxi_avx_pair(_mm_or_si128(a.lo, b.lo), _mm_or_si128(a.hi, b.hi)); }
OXI_INLINE vi vi_xor(vi a, vi b) {
    return oxi_avx_pair(_mm_xor_si128(a.lo, b.lo), _mm_xor_si128(a.hi, b.hi));
}
OXI_INLINE vi vi_sll(vi a, int count) {
    return oxi_avx_pair(_mm_slli_epi32(a.lo, count), _mm_slli_epi32(a.hi, count));
}
OXI_INLINE vi vi_srl(vi a, int count) {
    return oxi_avx_pair(_mm_srli_epi32(a.lo, count), _mm_srli_epi32(a.hi, count));
}
OXI_INLINE vi vi_sra(vi a, int count) {
    return oxi_avx_pair(_mm_srai_epi32(a.lo, count), _mm_srai_epi32(a.hi, count));
}
OXI_INLINE vm vi_cmpeq(vi a, vi b) {
    return vi_as_vf(oxi_avx_pair(_mm_cmpeq_epi32(a.lo, b.lo), _mm_cmpeq_epi32(a.hi, b.hi)));
}
OXI_INLINE vm vi_cmpgt(vi a, vi b) {
    return vi_as_vf(oxi_avx_pair(_mm_cmpgt_epi32(a.lo, b.lo), _mm_cmpgt_epi32(a.hi, b.hi)));
}
OXI_INLINE vi vi_select(vm m, vi a, vi b) { return vf_as_vi(vf_select(m, vi_as_vf(a), vi_as_vf(b))); }
OXI_INLINE vi vi_load_u8(const uint8_t *p) {
    __m128i a = oxi_avx_load_8_bytes(p);
    return oxi_avx_pair(_mm_cvtepu8_epi32(a), _mm_cvtepu8_epi32(_mm_srli_si128(a, 4)));
}
OXI_INLINE vi vi_load_i8(const int8_t *p) {
    __m128i a = oxi_avx_load_8_bytes(p);
    return oxi_avx_pair(_mm_cvtepi8_epi32(a), _mm_cvtepi8_epi32(_mm_srli_si128(a, 4)));
}
OXI_INLINE vi vi_load_u16(const uint16_t *p) {
    __m128i a = oxi_avx_load_half(p);
    return oxi_avx_pair(_mm_cvtepu16_epi32(a), _mm_unpackhi_epi16(a, _mm_setzero_si128()));
}
OXI_INLINE vi vi_load_i16(const int16_t *p) {
    __m128i a = oxi_avx_load_half(p);
    return oxi_avx_pair(_mm_cvtepi16_epi32(a), _mm_srai_epi32(_mm_unpackhi_epi16(a, a), 16));
}
OXI_INLINE void vi_store_16(void *p, vi a) {
    __m128i low = _mm_set1_epi32(0xffff);
    _mm_storeu_si128((__m128i *)p, _mm_packus_epi32(_mm_and_si128(a.lo, low), _mm_and_si128(a.hi, low)));
}
OXI_INLINE void vi_store_8(void *p, vi a) {
    __m128i low = _mm_set1_epi32(0xff);
    __m128i pairs = _mm_packus_epi32(_mm_and_si128(a.lo, low), _mm_and_si128(a.hi, low));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(pairs, pairs));
}
OXI_INLINE vi oxi_avx_split(__m256i a) {
    return oxi_avx_pair(_mm256_castsi256_si128(a), _mm256_extractf128_si256(a, 1));
}
OXI_INLINE vi vf_to_vi(vf a) { return oxi_avx_split(_mm256_cvtps_epi32(a)); }
OXI_INLINE vi vf_to_vi_trunc(vf a) { return oxi_avx_split(_mm256_cvttps_epi32(a)); }
OXI_INLINE vf vi_to_vf(vi a) { return _mm256_cvtepi32_ps(oxi_avx_join(a.lo, a.hi)); }

/* ---- i64 ---- */
OXI_INLINE vl vl_set1(int64_t a) { return oxi_avx_pair_long(_mm_set1_epi64x(a), _mm_set1_epi64x(a)); }
OXI_INLINE vl vl_add(vl a, vl b) {
    return oxi_avx_pair_long(_mm_add_epi64(a.lo, b.lo), _mm_add_epi64(a.hi, b.hi));
}
OXI_INLINE vl vl_sub(vl a, vl b) {
    return oxi_avx_pair_long(_mm_sub_epi64(a.lo, b.lo), _mm_sub_epi64(a.hi, b.hi));
}
OXI_INLINE vl vl_and(vl a, vl b) {
    return oxi_avx_pair_long(_mm_and_si128(a.lo, b.lo), _mm_and_si128(a.hi, b.hi));
}
OXI_INLINE vl vl_or(vl a, vl b) {
    return oxi_avx_pair_long(_mm_or_si128(a.lo, b.lo), _mm_or_si128(a.hi, b.hi));
}
OXI_INLINE vl vl_sll(vl a, int count) {
    return oxi_avx_pair_long(_mm_slli_epi64(a.lo, count), _mm_slli_epi64(a.hi, count));
}
OXI_INLINE vl vl_srl(vl a, int count) {
    return oxi_avx_pair_long(_mm_srli_epi64(a.lo, count), _mm_srli_epi64(a.hi, count));
}

/* ---- masks ---- */
OXI_INLINE vm vm_load_bool(const uint8_t *p) { return vi_cmpgt(vi_load_u8(p), vi_set1(0)); }
OXI_INLINE void vm_store_bool(uint8_t *p, vm a) { vi_store_8(p, vi_srl(vf_as_vi(a), 31)); }

/* ---- mixed ---- */
#define oxi_avx_vf_fma(a, b, c) _mm256_add_ps(_mm256_mul_ps(a, b), c)
#define oxi_avx_vf_fnma(a, b, c) _mm256_sub_ps(c, _mm256_mul_ps(a, b))
#define oxi_avx_vd_fma(a, b, c) _mm256_add_pd(_mm256_mul_pd(a, b), c)
#define oxi_avx_vd_fnma(a, b, c) _mm256_sub_pd(c, _mm256_mul_pd(a, b))
#define oxi_avx_vd_from_vi_lo(a) _mm256_cvtepi32_pd((a).lo)
#define oxi_avx_vd_from_vi_hi(a) _mm256_cvtepi32_pd((a).hi)

/* ---- 16-bit floats: integer work, which has four lanes here as on sse2 ---- */
OXI_INLINE vf vf_load_f16(const uint16_t *p) {
    __m128 low, high;
    oxi_sse2_vf_load2_f16(p, &low, &high);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
}
OXI_INLINE void vf_store_f16(uint16_t *p, vf a) {
    oxi_sse2_vf_store2_f16(p, _mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
}
/* F16C, which the first processors with AVX lack: kernels that use these are entered where it is there. */
#define OXI_F16C_APART 1
#define vf_load_f16c OXI_ISA(vf_load_f16c)
#define vf_store_f16c OXI_ISA(vf_store_f16c)
#define vf_load2_f16c OXI_ISA(vf_load2_f16c)
#define vf_store2_f16c OXI_ISA(vf_store2_f16c)
OXI_INLINE vf vf_load_f16c(const uint16_t *p) {
    __m128i h = _mm_loadu_si128((const __m128i *)(const void *)p);
    vf a;
    __asm__("vcvtph2ps {%1, %0|%0, %1}" : "=x"(a) : "x"(h));
    return a;
}
OXI_INLINE void vf_store_f16c(uint16_t *p, vf a) {
    __m128i h;
    __asm__("vcvtps2ph {$0, %1, %0|%0, %1, 0}" : "=x"(h) : "x"(a));
    _mm_storeu_si128((__m128i *)(void *)p, h);
}
OXI_INLINE void vf_load2_f16c(const uint16_t *p, vf *a, vf *b) {
    *a = vf_load_f16c(p);
    *b = vf_load_f16c(p + 8);
}
OXI_INLINE void vf_store2_f16c(uint16_t *p, vf a, vf b) {
    vf_store_f16c(p, a);
    vf_store_f16c(p + 8, b);
}
OXI_INLINE vf vf_load_bf16(const uint16_t *p) { return vi_as_vf(vi_sll(vi_load_u16(p), 16)); }
OXI_INLINE void vf_store_bf16(uint16_t *p, vf a) {
    oxi_sse2_vf_store2_bf16(p, _mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
}

/* ---- bytes: in registers of 16, as sse2 has them: most of its kernels of block types stay in use ---- */
#define OXI_BYTES_BELOW 1

#endif
