/* What this machine can do at best, in loops that do nothing else: f32 multiply-adds and products of bytes
 * with the instructions of the tier in use, and bytes read and copied by some threads. Benchmarks report
 * fractions of these; a peak of 0 says that there is no loop for the tier. */
#ifndef OX_PEAKS_H
#define OX_PEAKS_H

#include <pthread.h>
#include <stdint.h>

#include "bench.h"

#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
#include <immintrin.h>
#define PEAKS_X86 1
#endif

/* ---- arithmetic: twelve sums that only wait for each other's units ------------------------------------- */

#define PEAKS_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define PEAKS_KEEP(a, b) __asm__ volatile("" : "+v"(a), "+v"(b))
#define PEAKS_START(i)                 \
    __typeof__(scale) sum##i = offset; \
    PEAKS_KEEP(sum##i, scale);
#define PEAKS_END(i) PEAKS_KEEP(sum##i, scale);
#define PEAKS_LOOP(name, isa, vector, start, step)              \
    __attribute__((target(isa))) static void name(long steps) { \
        vector scale = start, offset = start;                   \
        PEAKS_EACH(PEAKS_START)                                 \
        for (long i = 0; i < steps; i++) {                      \
            PEAKS_EACH(step)                                    \
            PEAKS_KEEP(scale, offset);                          \
        }                                                       \
        PEAKS_EACH(PEAKS_END)                                   \
    }

#ifdef PEAKS_X86
#define PEAKS_SSE(i)                                        \
    sum##i = _mm_add_ps(sum##i, _mm_mul_ps(scale, offset)); \
    PEAKS_KEEP(scale, sum##i);
#define PEAKS_AVX(i)                                              \
    sum##i = _mm256_add_ps(sum##i, _mm256_mul_ps(scale, offset)); \
    PEAKS_KEEP(scale, sum##i);
#define PEAKS_FMA(i) sum##i = _mm256_fmadd_ps(scale, offset, sum##i);
#define PEAKS_AVX512(i) sum##i = _mm512_fmadd_ps(scale, offset, sum##i);
PEAKS_LOOP(peaks_f32_sse2, "sse2", __m128, _mm_set1_ps(0.5f), PEAKS_SSE)
PEAKS_LOOP(peaks_f32_avx, "avx", __m256, _mm256_set1_ps(0.5f), PEAKS_AVX)
PEAKS_LOOP(peaks_f32_avx2, "avx2,fma", __m256, _mm256_set1_ps(0.5f), PEAKS_FMA)
PEAKS_LOOP(peaks_f32_avx512, "avx512f", __m512, _mm512_set1_ps(0.5f), PEAKS_AVX512)

/* 16 bits at a time; bytes by pairs; four bytes by one instruction. */
#define PEAKS_WORDS(i)                                               \
    sum##i = _mm_add_epi32(sum##i, _mm_madd_epi16(scale, offset)); \
    PEAKS_KEEP(scale, sum##i);
#define PEAKS_BYTES(i)                                                  \
    sum##i = _mm_add_epi16(sum##i, _mm_maddubs_epi16(scale, offset)); \
    PEAKS_KEEP(scale, sum##i);
#define PEAKS_BYTES_256(i)                                                    \
    sum##i = _mm256_add_epi16(sum##i, _mm256_maddubs_epi16(scale, offset)); \
    PEAKS_KEEP(scale, sum##i);
#define PEAKS_BYTES_512(i)                                                    \
    sum##i = _mm512_add_epi16(sum##i, _mm512_maddubs_epi16(scale, offset)); \
    PEAKS_KEEP(scale, sum##i);
#define PEAKS_DOT(i) __asm__("vpdpbusd %2, %1, %0" : "+v"(sum##i) : "v"(scale), "v"(offset));
PEAKS_LOOP(peaks_i8_words, "sse2", __m128i, _mm_set1_epi16(3), PEAKS_WORDS)
PEAKS_LOOP(peaks_i8_bytes, "ssse3", __m128i, _mm_set1_epi8(3), PEAKS_BYTES)
PEAKS_LOOP(peaks_i8_avx, "avx", __m128i, _mm_set1_epi8(3), PEAKS_BYTES)
PEAKS_LOOP(peaks_i8_avx2, "avx2", __m256i, _mm256_set1_epi8(3), PEAKS_BYTES_256)
PEAKS_LOOP(peaks_i8_avx512, "avx512bw", __m512i, _mm512_set1_epi8(3), PEAKS_BYTES_512)
PEAKS_LOOP(peaks_i8_dot, "avx512bw", __m512i, _mm512_set1_epi8(3), PEAKS_DOT)

/* Twelve products of tiles, four sums in turn. The library asked the system for them. */
#define PEAKS_TILES(name, dot)                                                                      \
    static void name(long steps) {                                                                  \
        static const uint8_t config[64] = {[0] = 1,   [16] = 64, [18] = 64, [20] = 64, [22] = 64,   \
                                           [24] = 64, [26] = 64, [48] = 16, [49] = 16, [50] = 16,   \
                                           [51] = 16, [52] = 16, [53] = 16};                        \
        __asm__ volatile("ldtilecfg %0" : : "m"(config));                                           \
        for (long i = 0; i < 3 * steps; i++)                                                        \
            __asm__ volatile(dot " %tmm5, %tmm4, %tmm0\n\t" dot " %tmm5, %tmm4, %tmm1\n\t" dot       \
                                 " %tmm5, %tmm4, %tmm2\n\t" dot " %tmm5, %tmm4, %tmm3");            \
        __asm__ volatile("tilerelease");                                                            \
    }
PEAKS_TILES(peaks_bf16_tiles, "tdpbf16ps")
PEAKS_TILES(peaks_i8_tiles, "tdpbssd")
#endif

typedef struct peaks_arithmetic {
    const char *isa;
    void (*run)(long steps);
    int each; /* multiply-adds of an instruction or pair of them */
} peaks_arithmetic;

static const peaks_arithmetic peaks_f32[] = {
#ifdef PEAKS_X86
    {"sse2", peaks_f32_sse2, 4}, {"avx", peaks_f32_avx, 8},
    {"avx2", peaks_f32_avx2, 8}, {"avx512", peaks_f32_avx512, 16}, {"amx", peaks_f32_avx512, 16},
#endif
    {NULL, NULL, 0},
};
/* Tiers without a row compute bf16 in f32. */
static const peaks_arithmetic peaks_bf16[] = {
#ifdef PEAKS_X86
    {"amx", peaks_bf16_tiles, 16 * 16 * 32},
#endif
    {NULL, NULL, 0},
};
/* "-": without what the processor has beyond the tier. */
static const peaks_arithmetic peaks_i8[] = {
#ifdef PEAKS_X86
    {"sse2-", peaks_i8_words, 8},  {"sse2", peaks_i8_bytes, 16},   {"avx", peaks_i8_avx, 16},
    {"avx2", peaks_i8_avx2, 32},   {"avx512-", peaks_i8_avx512, 64}, {"avx512", peaks_i8_dot, 64},
    {"amx", peaks_i8_tiles, 16 * 16 * 64},
#endif
    {NULL, NULL, 0},
};

static inline bool peaks_has_more(void) {
    const char *asked = getenv("OX_ISA");
    if (asked && strstr(asked, "-base")) return false;
#ifdef PEAKS_X86
    __builtin_cpu_init();
    if (strcmp(ox_isa(), "sse2") == 0) return __builtin_cpu_supports("ssse3");
    if (strcmp(ox_isa(), "avx512") == 0) return __builtin_cpu_supports("avx512vnni");
#endif
    return true;
}

/* Thousand millions of operations a second of one thread, a multiply-add being two. */
static inline double peaks_rate(const peaks_arithmetic *table) {
    char plain[16];
    const peaks_arithmetic *found = NULL;
    snprintf(plain, sizeof plain, "%s-", ox_isa());
    for (const peaks_arithmetic *p = table; p->isa; p++) {
        if (strcmp(p->isa, ox_isa()) == 0 && (peaks_has_more() || !found)) found = p;
        if (strcmp(p->isa, plain) == 0 && !peaks_has_more()) found = p;
    }
    if (!found) return 0;
    double best = 1e9;
    for (int i = 0; i < 20; i++) {
        double start = bench_now();
        found->run(50000);
        double took = bench_now() - start;
        if (took < best) best = took;
    }
    return 50000.0 * 12 * 2 * found->each / best * 1e-9;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* A thread reads fastest what lies in several places, a few lines of each in turn, for the processor fetches
 * ahead within a page alone; how many places depends on the size of pages. */
enum { PEAKS_THREADS = 256, PEAKS_AHEAD = 3072, PEAKS_TURN = 512, PEAKS_PLACES = 4 };
typedef struct peaks_part {
    pthread_t thread;
    const char *from;
    char *to; /* NULL: read only */
    size_t bytes;
    int places; /* 1 to PEAKS_PLACES */
    uint64_t sum;
} peaks_part;

static inline void peaks_read_turn(const char *from, uint64_t *sum) {
    for (size_t i = 0; i < PEAKS_TURN; i += 64) {
        uint64_t line[8];
        memcpy(line, from + i, 64);
        __builtin_prefetch(from + i + PEAKS_AHEAD);
        for (int j = 0; j < 8; j++) sum[j] ^= line[j];
    }
}

static inline void *peaks_run(void *arg) {
    peaks_part *p = (peaks_part *)arg;
    if (p->to) {
        memcpy(p->to, p->from, p->bytes);
        return NULL;
    }
    uint64_t sum[8] = {0};
    size_t each = p->bytes / (size_t)p->places;
    for (size_t i = 0; i < each; i += PEAKS_TURN)
        for (int k = 0; k < p->places; k++) peaks_read_turn(p->from + (size_t)k * each + i, sum);
    for (int j = 0; j < 8; j++) p->sum ^= sum[j];
    return NULL;
}

/* GB/s at which `threads` threads read `bytes` bytes or, with `to`, copy them: the best of some runs. */
static inline double peaks_memory(int threads, const void *from, void *to, size_t bytes) {
    static peaks_part part[PEAKS_THREADS];
    double best = 1e9;
    if (threads < 1 || threads > PEAKS_THREADS) return 0;
    size_t unit = PEAKS_TURN * PEAKS_PLACES, each = bytes / (size_t)threads / unit * unit;
    for (int run = 0; run < 15; run++) {
        int started = 1;
        double start = bench_now();
        for (int i = 0; i < threads; i++) {
            part[i].from = (const char *)from + (size_t)i * each;
            part[i].to = to ? (char *)to + (size_t)i * each : NULL;
            part[i].bytes = each;
            part[i].places = 1 << run % 3;
            if (i > 0 && pthread_create(&part[i].thread, NULL, peaks_run, &part[i]) != 0) break;
            if (i > 0) started++;
        }
        (void)peaks_run(&part[0]);
        for (int i = 1; i < started; i++) pthread_join(part[i].thread, NULL);
        double took = bench_now() - start;
        if (started == threads && took < best) best = took;
    }
    return (double)each * threads * (to ? 2 : 1) / best * 1e-9;
}

/* The same of `bytes` bytes of fresh memory; 0 if there is none. Copies go from one half to the other. */
static inline double peaks_read(int threads, size_t bytes) {
    char *memory = (char *)malloc(bytes);
    if (memory) memset(memory, 1, bytes);
    double rate = memory ? peaks_memory(threads, memory, NULL, bytes) : 0;
    free(memory);
    return rate;
}
static inline double peaks_copy(int threads, size_t bytes) {
    char *memory = (char *)malloc(bytes);
    if (memory) memset(memory, 1, bytes);
    double rate = memory ? peaks_memory(threads, memory, memory + bytes / 2, bytes / 2) : 0;
    free(memory);
    return rate;
}

#endif
