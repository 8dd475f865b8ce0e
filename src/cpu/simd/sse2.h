/* The sse2 tier's vocabulary: four lanes, nothing newer than SSE2 (every x86-64; Pentium 4).
 * Rounding, selection and 16-bit floats are built from what there was then.
 * Names and meaning: vocabulary.inc. */
#ifndef OX_CPU_SIMD_SSE2_H
#define OX_CPU_SIMD_SSE2_H

#undef OXI_TIER
#define OXI_TIER sse2
#define oxi_sse2_TARGET __attribute__((target("sse2")))
#define oxi_sse2_VF 4
#define oxi_sse2_VD 2
#define oxi_sse2_SCALEF 0
#define oxi_sse2_CONSTANT 1
#define oxi_sse2_FMA 0
#define oxi_sse2_TWO 1
#define oxi_sse2_VS 4
#define oxi_sse2_VR 4
#define oxi_sse2_VQ 8

typedef __m128 vf;
typedef __m128i vi;
typedef __m128d vd;
typedef __m128i vl;
typedef __m128 vm;
typedef __m128d vmd;

/* ---- bits ---- */
#define oxi_sse2_vf_as_vi _mm_castps_si128
#define oxi_sse2_vi_as_vf _mm_castsi128_ps
#define oxi_sse2_vd_as_vl _mm_castpd_si128
#define oxi_sse2_vl_as_vd _mm_castsi128_pd
#define oxi_sse2_vf_and _mm_and_ps
#define oxi_sse2_vf_or _mm_or_ps
#define oxi_sse2_vf_xor _mm_xor_ps
#define oxi_sse2_vf_andnot _mm_andnot_ps
#define oxi_sse2_vd_and _mm_and_pd
#define oxi_sse2_vd_or _mm_or_pd
#define oxi_sse2_vd_xor _mm_xor_pd
#define oxi_sse2_vd_andnot _mm_andnot_pd

/* ---- f32 ---- */
#define oxi_sse2_vf_load _mm_loadu_ps
#define oxi_sse2_vf_store _mm_storeu_ps
#define oxi_sse2_vf_stream _mm_stream_ps
#define oxi_sse2_vf_set1 _mm_set1_ps
#if defined(__GNUC__) && !defined(__clang__)
/* Lies in memory as often as there are lanes, where arithmetic takes it from: gcc would read one and spread
 * it out, two instructions each time. `used` hides from gcc what is in it. */
#define oxi_sse2_vf_constant(x)                                                               \
    __extension__({                                                                           \
        static float oxi_constant[4] __attribute__((aligned(16), used)) = {(x), (x), (x), (x)}; \
        _mm_load_ps(oxi_constant);                                                            \
    })
#define oxi_sse2_vd_constant(x)                                                       \
    __extension__({                                                                   \
        static double oxi_constant[2] __attribute__((aligned(16), used)) = {(x), (x)}; \
        _mm_load_pd(oxi_constant);                                                    \
    })
#else
#define oxi_sse2_vf_constant _mm_set1_ps
#define oxi_sse2_vd_constant _mm_set1_pd
#endif
#define oxi_sse2_vf_zero _mm_setzero_ps
/* In registers: a vector read from where its lanes were just written singly waits for all earlier stores. */
OXI_INLINE vf vf_load_n(const float *p, int64_t n) {
    vf low = _mm_setzero_ps(), odd = low;
    if (n >= 4) return vf_load(p);
    if (n & 2) low = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p));
    if (n & 1) odd = _mm_load_ss(p + (n & 2));
    return n & 2 ? _mm_movelh_ps(low, odd) : odd;
}
OXI_INLINE void vf_store_n(float *p, vf a, int64_t n) {
    float all[4];
    vf_store(all, a);
    for (int64_t i = 0; i < n; i++) p[i] = all[i];
}
#define oxi_sse2_vf_add _mm_add_ps
#define oxi_sse2_vf_sub _mm_sub_ps
#define oxi_sse2_vf_mul _mm_mul_ps
#define oxi_sse2_vf_div _mm_div_ps
#define oxi_sse2_vf_fma(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define oxi_sse2_vf_fnma(a, b, c) _mm_sub_ps(c, _mm_mul_ps(a, b))
#define oxi_sse2_vf_min _mm_min_ps
#define oxi_sse2_vf_max _mm_max_ps
#define oxi_sse2_vf_sqrt _mm_sqrt_ps
#define oxi_sse2_vf_lt _mm_cmplt_ps
#define oxi_sse2_vf_le _mm_cmple_ps
#define oxi_sse2_vf_eq _mm_cmpeq_ps
#define oxi_sse2_vf_ne _mm_cmpneq_ps
#define oxi_sse2_vf_unord _mm_cmpunord_ps
OXI_INLINE vf vf_select(vm m, vf a, vf b) { return _mm_or_ps(_mm_and_ps(m, a), _mm_andnot_ps(m, b)); }
/* |a| + 2^23 has no fraction bits left: adding and taking it away rounds. From 2^23 up, a is whole
 * already. */
OXI_INLINE vf vf_round(vf a) {
    vf sign = vf_and(a, vf_constant(-0.0f)), size = vf_andnot(vf_constant(-0.0f), a);
    vf big = vf_constant(8388608.0f);
    vf whole = vf_or(vf_sub(vf_add(size, big), big), sign);
    return vf_select(vf_lt(size, big), whole, a);
}
OXI_INLINE vf vf_floor(vf a) {
    vf r = vf_round(a), sign = vf_and(a, vf_constant(-0.0f));
    return vf_or(vf_sub(r, vf_and(vf_lt(a, r), vf_constant(1.0f))), sign);
}
OXI_INLINE vf vf_ceil(vf a) {
    vf r = vf_round(a), sign = vf_and(a, vf_constant(-0.0f));
    return vf_or(vf_add(r, vf_and(vf_lt(r, a), vf_constant(1.0f))), sign);
}
OXI_INLINE vf vf_trunc(vf a) {
    vf sign = vf_and(a, vf_constant(-0.0f)), size = vf_andnot(vf_constant(-0.0f), a), r = vf_round(size);
    return vf_or(vf_sub(r, vf_and(vf_lt(size, r), vf_constant(1.0f))), sign);
}
OXI_INLINE float vf_hsum(vf a) {
    vf b = _mm_add_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
}
OXI_INLINE float vf_hmax(vf a) {
    vf b = _mm_max_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_shuffle_ps(b, b, 1)));
}
OXI_INLINE float vf_hmin(vf a) {
    vf b = _mm_min_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_min_ss(b, _mm_shuffle_ps(b, b, 1)));
}

/* ---- i32 ---- */
#define oxi_sse2_vi_load(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define oxi_sse2_vi_store(p, a) _mm_storeu_si128((__m128i *)(void *)(p), a)
#define oxi_sse2_vi_set1 _mm_set1_epi32
#define oxi_sse2_vi_add _mm_add_epi32
#define oxi_sse2_vi_sub _mm_sub_epi32
#define oxi_sse2_vi_and _mm_and_si128
#define oxi_sse2_vi_or _mm_or_si128
#define oxi_sse2_vi_xor _mm_xor_si128
#define oxi_sse2_vi_sll _mm_slli_epi32
#define oxi_sse2_vi_srl _mm_srli_epi32
#define oxi_sse2_vi_sra _mm_srai_epi32
#define oxi_sse2_vi_cmpeq(a, b) _mm_castsi128_ps(_mm_cmpeq_epi32(a, b))
#define oxi_sse2_vi_cmpgt(a, b) _mm_castsi128_ps(_mm_cmpgt_epi32(a, b))
OXI_INLINE vi vi_select(vm m, vi a, vi b) { return vf_as_vi(vf_select(m, vi_as_vf(a), vi_as_vf(b))); }
OXI_INLINE vi oxi_sse2_load_4_bytes(const void *p) {
    int32_t a;
    memcpy(&a, p, 4);
    return _mm_cvtsi32_si128(a);
}
OXI_INLINE vi vi_load_u8(const uint8_t *p) {
    vi zero = _mm_setzero_si128();
    return _mm_unpacklo_epi16(_mm_unpacklo_epi8(oxi_sse2_load_4_bytes(p), zero), zero);
}
OXI_INLINE vi vi_load_i8(const int8_t *p) {
    vi a = oxi_sse2_load_4_bytes(p), b = _mm_unpacklo_epi8(a, a);
    return _mm_srai_epi32(_mm_unpacklo_epi16(b, b), 24);
}
#define oxi_sse2_vi_load_u16(p) \
    _mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)(const void *)(p)), _mm_setzero_si128())
OXI_INLINE vi vi_load_i16(const int16_t *p) {
    vi a = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return _mm_srai_epi32(_mm_unpacklo_epi16(a, a), 16);
}
OXI_INLINE void vi_store_16(void *p, vi a) {
    vi low = _mm_srai_epi32(_mm_slli_epi32(a, 16), 16);
    _mm_storel_epi64((__m128i *)p, _mm_packs_epi32(low, low));
}
OXI_INLINE void vi_store_8(void *p, vi a) {
    vi low = _mm_and_si128(a, _mm_set1_epi32(255));
    int32_t four = _mm_cvtsi128_si32(_mm_packus_epi16(_mm_packs_epi32(low, low), low));
    memcpy(p, &four, 4);
}
#define oxi_sse2_vf_to_vi _mm_cvtps_epi32
#define oxi_sse2_vf_to_vi_trunc _mm_cvttps_epi32
#define oxi_sse2_vi_to_vf _mm_cvtepi32_ps

/* ---- masks ---- */
#define oxi_sse2_vm_and _mm_and_ps
#define oxi_sse2_vm_or _mm_or_ps
#define oxi_sse2_vm_not(a) _mm_xor_ps(a, _mm_castsi128_ps(_mm_set1_epi32(-1)))
OXI_INLINE bool vm_any(vm a) { return _mm_movemask_ps(a) != 0; }
OXI_INLINE unsigned vm_bits(vm a) { return (unsigned)_mm_movemask_ps(a); }
#define oxi_sse2_vm_load_bool(p) _mm_castsi128_ps(_mm_cmpgt_epi32(vi_load_u8(p), _mm_setzero_si128()))
OXI_INLINE void vm_store_bool(uint8_t *p, vm a) { vi_store_8(p, _mm_srli_epi32(_mm_castps_si128(a), 31)); }
#define oxi_sse2_vmd_and _mm_and_pd
#define oxi_sse2_vmd_or _mm_or_pd
#define oxi_sse2_vmd_not(a) _mm_xor_pd(a, _mm_castsi128_pd(_mm_set1_epi32(-1)))
OXI_INLINE bool vmd_any(vmd a) { return _mm_movemask_pd(a) != 0; }
OXI_INLINE unsigned vmd_bits(vmd a) { return (unsigned)_mm_movemask_pd(a); }

/* ---- f64 ---- */
#define oxi_sse2_vd_load _mm_loadu_pd
#define oxi_sse2_vd_store _mm_storeu_pd
OXI_INLINE vd vd_load_n(const double *p, int64_t n) {
    return n >= 2 ? _mm_loadu_pd(p) : n == 1 ? _mm_load_sd(p) : _mm_setzero_pd();
}
OXI_INLINE void vd_store_n(double *p, vd a, int64_t n) {
    if (n >= 2) _mm_storeu_pd(p, a);
    else if (n == 1) _mm_store_sd(p, a);
}
#define oxi_sse2_vd_set1 _mm_set1_pd
#define oxi_sse2_vd_zero _mm_setzero_pd
#define oxi_sse2_vd_add _mm_add_pd
#define oxi_sse2_vd_sub _mm_sub_pd
#define oxi_sse2_vd_mul _mm_mul_pd
#define oxi_sse2_vd_div _mm_div_pd
#define oxi_sse2_vd_fma(a, b, c) _mm_add_pd(_mm_mul_pd(a, b), c)
#define oxi_sse2_vd_fnma(a, b, c) _mm_sub_pd(c, _mm_mul_pd(a, b))
#define oxi_sse2_vd_min _mm_min_pd
#define oxi_sse2_vd_max _mm_max_pd
#define oxi_sse2_vd_sqrt _mm_sqrt_pd
#define oxi_sse2_vd_lt _mm_cmplt_pd
#define oxi_sse2_vd_le _mm_cmple_pd
#define oxi_sse2_vd_eq _mm_cmpeq_pd
#define oxi_sse2_vd_ne _mm_cmpneq_pd
#define oxi_sse2_vd_unord _mm_cmpunord_pd
OXI_INLINE vd vd_select(vmd m, vd a, vd b) { return _mm_or_pd(_mm_and_pd(m, a), _mm_andnot_pd(m, b)); }
OXI_INLINE vd vd_round(vd a) {
    vd sign = vd_and(a, vd_constant(-0.0)), size = vd_andnot(vd_constant(-0.0), a);
    vd big = vd_constant(4503599627370496.0);
    vd whole = vd_or(vd_sub(vd_add(size, big), big), sign);
    return vd_select(vd_lt(size, big), whole, a);
}
OXI_INLINE vd vd_floor(vd a) {
    vd r = vd_round(a), sign = vd_and(a, vd_constant(-0.0));
    return vd_or(vd_sub(r, vd_and(vd_lt(a, r), vd_constant(1.0))), sign);
}
OXI_INLINE vd vd_ceil(vd a) {
    vd r = vd_round(a), sign = vd_and(a, vd_constant(-0.0));
    return vd_or(vd_add(r, vd_and(vd_lt(r, a), vd_constant(1.0))), sign);
}
OXI_INLINE vd vd_trunc(vd a) {
    vd sign = vd_and(a, vd_constant(-0.0)), size = vd_andnot(vd_constant(-0.0), a), r = vd_round(size);
    return vd_or(vd_sub(r, vd_and(vd_lt(size, r), vd_constant(1.0))), sign);
}
OXI_INLINE double vd_hsum(vd a) { return _mm_cvtsd_f64(_mm_add_sd(a, _mm_unpackhi_pd(a, a))); }
#define oxi_sse2_vd_from_vf_lo _mm_cvtps_pd
OXI_INLINE vd vd_from_vf_hi(vf a) { return _mm_cvtps_pd(_mm_movehl_ps(a, a)); }
#define oxi_sse2_vf_from_vd(lo, hi) _mm_movelh_ps(_mm_cvtpd_ps(lo), _mm_cvtpd_ps(hi))
OXI_INLINE vd vd_load_f32(const float *p) { 
    return _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
#define oxi_sse2_vd_store_f32(p, a) \
    _mm_storel_epi64((__m128i *)(void *)(p), _mm_castps_si128(_mm_cvtpd_ps(a)))
#define oxi_sse2_vd_from_vi_lo _mm_cvtepi32_pd
OXI_INLINE vd vd_from_vi_hi(vi a) { return _mm_cvtepi32_pd(_mm_unpackhi_epi64(a, a)); }

/* ---- i64 ---- */
#define oxi_sse2_vl_set1 _mm_set1_epi64x
#define oxi_sse2_vl_add _mm_add_epi64
#define oxi_sse2_vl_sub _mm_sub_epi64
#define oxi_sse2_vl_and _mm_and_si128
#define oxi_sse2_vl_or _mm_or_si128
#define oxi_sse2_vl_sll _mm_slli_epi64
#define oxi_sse2_vl_srl _mm_srli_epi64

#include "cpu/simd/half.inc"
#include "cpu/simd/bf16.inc"
/* Eight f16 at once, in lanes of 16 bits. Normal numbers: the upper half of the f32, and the lower one. */
OXI_INLINE bool oxi_sse2_f16_is_normal(vi all) {
    vi usual = _mm_and_si128(_mm_add_epi16(all, _mm_set1_epi16(1 << 10)), _mm_set1_epi16(30 << 10));
    return _mm_movemask_epi8(_mm_cmpeq_epi16(usual, _mm_setzero_si128())) == 0;
}
OXI_INLINE vi oxi_sse2_f16_upper(vi all) {
    vi fields = _mm_and_si128(_mm_srai_epi16(all, 3), _mm_set1_epi16((int16_t)0x8fff));
    return _mm_add_epi16(fields, _mm_set1_epi16((127 - 15) << 7));
}
OXI_INLINE vi oxi_sse2_f16_lower(vi all) { return _mm_slli_epi16(all, 13); }
OXI_INLINE void vf_load2_f16(const uint16_t *p, vf *a, vf *b) {
    vi all = _mm_loadu_si128((const __m128i *)(const void *)p);
    if (!oxi_sse2_f16_is_normal(all)) {
        *a = vf_load_f16(p);
        *b = vf_load_f16(p + VF);
        return;
    }
    vi upper = oxi_sse2_f16_upper(all), lower = oxi_sse2_f16_lower(all);
    *a = vi_as_vf(_mm_unpacklo_epi16(lower, upper));
    *b = vi_as_vf(_mm_unpackhi_epi16(lower, upper));
}
OXI_INLINE void vf_pairs_f16(vf pairs, vf *even, vf *odd) {
    vi all = vf_as_vi(pairs);
    if (!oxi_sse2_f16_is_normal(all)) {
        *even = oxi_sse2_f16_widen(all);
        *odd = oxi_sse2_f16_widen(vi_srl(all, 16));
        return;
    }
    vi upper = oxi_sse2_f16_upper(all), lower = oxi_sse2_f16_lower(all), high = vi_set1((int32_t)0xffff0000u);
    *even = vi_as_vf(vi_or(vi_sll(upper, 16), _mm_andnot_si128(high, lower)));
    *odd = vi_as_vf(vi_or(vi_and(upper, high), vi_srl(lower, 16)));
}
OXI_INLINE void vf_load2_bf16(const uint16_t *p, vf *a, vf *b) {
    vi all = _mm_loadu_si128((const __m128i *)(const void *)p), zero = _mm_setzero_si128();
    *a = vi_as_vf(_mm_unpacklo_epi16(zero, all));
    *b = vi_as_vf(_mm_unpackhi_epi16(zero, all));
}
/* The size of a normal f16, rounded; of all other numbers something that is not such a size in 16 bits
 * either, when what is too large for these is cut to the largest. */
OXI_INLINE vi oxi_sse2_f16_size(vi bits) {
    vi size = vi_and(bits, vi_set1(0x7fffffff)), odd = vi_and(vi_srl(size, 13), vi_set1(1));
    return vi_srl(vi_add(vi_add(size, vi_set1(0xfff - ((127 - 15) << 23))), odd), 13);
}
OXI_INLINE void vf_store2_f16(uint16_t *p, vf a, vf b) {
    vi x = vf_as_vi(a), y = vf_as_vi(b);
    vi size = _mm_packs_epi32(oxi_sse2_f16_size(x), oxi_sse2_f16_size(y));
    vi above = _mm_add_epi16(size, _mm_set1_epi16((int16_t)(0x8000 - 0x400))); /* the smallest normal */
    if (_mm_movemask_epi8(_mm_cmpgt_epi16(above, _mm_set1_epi16((int16_t)(0x8000 + 0x7bff - 0x400))))) {
        vf_store_f16(p, a);
        vf_store_f16(p + VF, b);
        return;
    }
    vi signs = _mm_and_si128(_mm_packs_epi32(vi_sra(x, 16), vi_sra(y, 16)), _mm_set1_epi16((int16_t)0x8000));
    _mm_storeu_si128((__m128i *)(void *)p, _mm_or_si128(size, signs));
}
OXI_INLINE void vf_store2_bf16(uint16_t *p, vf a, vf b) {
    if (vm_any(vf_unord(a, b))) {
        vf_store_bf16(p, a);
        vf_store_bf16(p + VF, b);
        return;
    }
    vi x = vi_sra(OXI_ISA(bf16_round)(a), 16), y = vi_sra(OXI_ISA(bf16_round)(b), 16);
    _mm_storeu_si128((__m128i *)(void *)p, _mm_packs_epi32(x, y));
}

#endif
