/* Which processor this is: the tiers it can run and the extras that single kernels ask for. cpuid says
 * what the processor has, xgetbv what the operating system saves; on Arm the kernel's hwcap says both.
 * Called by tiers.c once, when the table of kernels is made. */

/* Lowest first. Each tier's table starts as a copy of the one below it that this machine runs. */
typedef enum oxi_tier {
    OXI_TIER_C, OXI_TIER_SSE2, OXI_TIER_AVX, OXI_TIER_AVX2, OXI_TIER_AVX512, OXI_TIER_AMX, OXI_TIER_NEON,
    OXI_TIER_COUNT
} oxi_tier;

/* What a processor may have beyond its tier. */
enum {
    OXI_CPU_SSSE3 = 1 << 0,
    OXI_CPU_SSE41 = 1 << 1,
    OXI_CPU_F16C = 1 << 2,
    OXI_CPU_AVX_VNNI = 1 << 3, /* 256-bit int8 dot products */
    OXI_CPU_AVX512_VNNI = 1 << 4,
    OXI_CPU_AVX512_VBMI = 1 << 5,
    OXI_CPU_AVX512_BF16 = 1 << 6,
    OXI_CPU_AVX512_FP16 = 1 << 7,
    OXI_CPU_AMX_BF16 = 1 << 8,
    OXI_CPU_AMX_INT8 = 1 << 9,
    OXI_CPU_DOTPROD = 1 << 10,
    OXI_CPU_I8MM = 1 << 11,
    OXI_CPU_ARM_FP16 = 1 << 12,
    OXI_CPU_ARM_BF16 = 1 << 13,
    OXI_CPU_FAST_PAIRS = 1 << 14 /* vdpbf16ps takes no longer than a multiply-add of f32 */
};

typedef struct oxi_cpu {
    unsigned features; /* OXI_CPU_... */
    bool runs[OXI_TIER_COUNT];
    int64_t near_cache, own_cache; /* bytes of a core's first level, for data, and of its second */
} oxi_cpu;

#if (defined(__GNUC__) || defined(__clang__)) && (defined(__x86_64__) || defined(__i386__))
#define OXI_X86 1
#include <cpuid.h>
#elif (defined(__GNUC__) || defined(__clang__)) && defined(__aarch64__) && !defined(__AARCH64EB__)
#define OXI_ARM64 1
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

/* Whether compiler and assembler know the 256-bit dot products, whose names those of AVX-512 share. */
#if defined(OXI_X86) && \
    ((defined(__clang__) && __clang_major__ >= 12) || (!defined(__clang__) && __GNUC__ >= 11))
#define OXI_AVX_VNNI 1
#else
#define OXI_AVX_VNNI 0
#endif

/* Whether they know tiles, and the kernel can be asked for them. */
#if OXI_AVX_VNNI && defined(__x86_64__) && defined(__linux__)
#define OXI_AMX 1
#include <sys/syscall.h>
#include <unistd.h>
#else
#define OXI_AMX 0
#endif

#if defined(OXI_X86)

/* XCR0: the registers whose state the operating system saves. */
static uint64_t oxi_saved_state(void) {
    uint32_t low, high;
    __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0)); /* xgetbv */
    return (uint64_t)high << 32 | low;
}

static unsigned oxi_feature(uint32_t reg, int bit, unsigned feature) {
    return reg >> bit & 1 ? feature : 0;
}

/* Registers of 8 KiB are for processes that ask: Linux, Documentation/arch/x86/xstate.rst. */
static bool oxi_may_use_tiles(void) {
#if OXI_AMX
    const long request = 0x1023, tile_data = 18; /* ARCH_REQ_XCOMP_PERM */
    return syscall(SYS_arch_prctl, request, tile_data) == 0;
#else
    return false;
#endif
}

/* Bits: Intel SDM volume 2A, CPUID; volume 1, chapter 13 for XCR0. */
static void oxi_detect_cpu(oxi_cpu *cpu) {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0, ebx7 = 0, ecx7 = 0, edx7 = 0, eax71 = 0, unused_b, unused_c,
             unused_d;
    uint64_t saved = 0;
    if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx)) return;
    bool amd = ebx == 0x68747541; /* "Auth"enticAMD: Zen 4 on. Intel's take twice as long, up to now */
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return;
    if (ecx >> 27 & 1) saved = oxi_saved_state();
    bool ymm = (saved & 0x6) == 0x6, zmm = (saved & 0xe6) == 0xe6, tiles = (saved & 0x60000) == 0x60000;
    if (__get_cpuid_count(7, 0, &eax, &ebx7, &ecx7, &edx7) && eax >= 1)
        __get_cpuid_count(7, 1, &eax71, &unused_b, &unused_c, &unused_d);
    const uint32_t fma_f16c = 1u << 12 | 1u << 29, avx2_bmi = 1u << 3 | 1u << 5 | 1u << 8;
    const uint32_t avx512_f_dq_bw_vl = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
    cpu->runs[OXI_TIER_SSE2] = edx >> 26 & 1;
    cpu->runs[OXI_TIER_AVX] = ymm && (ecx >> 28 & 1);
    cpu->runs[OXI_TIER_AVX2] =
        cpu->runs[OXI_TIER_AVX] && (ecx & fma_f16c) == fma_f16c && (ebx7 & avx2_bmi) == avx2_bmi;
    cpu->runs[OXI_TIER_AVX512] =
        cpu->runs[OXI_TIER_AVX2] && zmm && (ebx7 & avx512_f_dq_bw_vl) == avx512_f_dq_bw_vl;
    cpu->features = oxi_feature(ecx, 9, OXI_CPU_SSSE3) | oxi_feature(ecx, 19, OXI_CPU_SSE41);
    if (ymm) cpu->features |= oxi_feature(ecx, 29, OXI_CPU_F16C) | oxi_feature(eax71, 4, OXI_CPU_AVX_VNNI);
    if (zmm)
        cpu->features |=
            oxi_feature(ecx7, 11, OXI_CPU_AVX512_VNNI) | oxi_feature(ecx7, 1, OXI_CPU_AVX512_VBMI) |
            oxi_feature(eax71, 5, OXI_CPU_AVX512_BF16) | oxi_feature(edx7, 23, OXI_CPU_AVX512_FP16);
    if (amd && cpu->features & OXI_CPU_AVX512_BF16) cpu->features |= OXI_CPU_FAST_PAIRS;
    if (tiles && (edx7 >> 24 & 1) && oxi_may_use_tiles())
        cpu->features |= oxi_feature(edx7, 22, OXI_CPU_AMX_BF16) | oxi_feature(edx7, 25, OXI_CPU_AMX_INT8);
    cpu->runs[OXI_TIER_AMX] =
        cpu->runs[OXI_TIER_AVX512] && cpu->features & (OXI_CPU_AMX_BF16 | OXI_CPU_AMX_INT8);
}

#elif defined(OXI_ARM64)

/* Bits: Linux arch/arm64/include/uapi/asm/hwcap.h. */
static void oxi_detect_cpu(oxi_cpu *cpu) {
    cpu->runs[OXI_TIER_NEON] = true;
#if defined(__linux__)
    unsigned long caps = getauxval(AT_HWCAP), caps2 = getauxval(AT_HWCAP2);
    if (caps >> 10 & 1) cpu->features |= OXI_CPU_ARM_FP16;
    if (caps >> 20 & 1) cpu->features |= OXI_CPU_DOTPROD;
    if (caps2 >> 13 & 1) cpu->features |= OXI_CPU_I8MM;
    if (caps2 >> 14 & 1) cpu->features |= OXI_CPU_ARM_BF16;
#endif
}

#else

static void oxi_detect_cpu(oxi_cpu *cpu) {
    (void)cpu;
}

#endif

/* Whether OX_ISA asks for the tier alone: "avx512-base" leaves out what the processor has beyond it. */
static bool oxi_wants_base(const char *wanted) {
    size_t length = wanted ? strlen(wanted) : 0;
    return length >= 5 && strcmp(wanted + length - 5, "-base") == 0;
}

/* 32 and 512 KiB where the system does not tell. */
static void oxi_detect_caches(oxi_cpu *cpu) {
    cpu->near_cache = cpu->own_cache = 0;
#if defined(OXI_POSIX) && defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE)
    cpu->near_cache = (int64_t)sysconf(_SC_LEVEL1_DCACHE_SIZE);
    cpu->own_cache = (int64_t)sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    if (cpu->near_cache < 16 << 10) cpu->near_cache = 32 << 10;
    if (cpu->own_cache < 128 << 10) cpu->own_cache = 512 << 10;
}

static oxi_lock oxi_cpu_lock; /* while it is found out */

/* This processor, found out once. */
static const oxi_cpu *oxi_cpu_info(void) {
    static oxi_cpu cpu;
    static int64_t known;
    if (!oxi_atomic_load(&known)) {
        oxi_lock_take(&oxi_cpu_lock);
        if (!oxi_atomic_load(&known)) {
            cpu.runs[OXI_TIER_C] = true;
            oxi_detect_cpu(&cpu);
            oxi_detect_caches(&cpu);
            if (oxi_wants_base(getenv("OX_ISA"))) cpu.features = 0;
            oxi_atomic_store(&known, 1);
        }
        oxi_lock_give(&oxi_cpu_lock);
    }
    return &cpu;
}
