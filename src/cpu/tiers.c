/* The tiers: stamps every kernel template once per instruction set and makes the one table that is used.
 * Each tier's functions carry their own target attribute, so a plain build holds all of them.
 * Executors call oxi_cpu_kernels(); the first call picks. */

#ifdef __FAST_MATH__
#error "OX_IMPLEMENTATION does not work with -ffast-math: it needs NaN, infinities and exact rounding"
#endif

/* ---- which tiers this build holds ---- */

#if !defined(OX_NO_SIMD)
#if defined(OXI_X86)
#include <immintrin.h>
#define OXI_BUILD_SSE2 1
#if !defined(OX_NO_AVX)
#define OXI_BUILD_AVX 1
#if !defined(OX_NO_AVX2)
#define OXI_BUILD_AVX2 1
#if !defined(OX_NO_AVX512)
#define OXI_BUILD_AVX512 1
#endif
#endif
#endif
#elif defined(OXI_ARM64) && !defined(OX_NO_NEON)
#include <arm_neon.h>
#define OXI_BUILD_NEON 1
#endif
#endif

/* The c tier is left out where the compiler's own target holds a vector tier: nothing would pick it. */
#if defined(OX_C_TIER) || !(defined(OXI_BUILD_NEON) \
                            || (defined(OXI_BUILD_SSE2) && (defined(__SSE2__) || defined(_M_X64))))
#define OXI_BUILD_C 1
#endif

/* ---- the stamps ---- */

#include "cpu/simd/vocabulary.inc"

#ifdef OXI_BUILD_C
#include "cpu/simd/c.h"
#include "cpu/kernels/stamp.inc"
#endif

#ifdef OXI_BUILD_SSE2
#include "cpu/simd/sse2.h"
#include "cpu/kernels/stamp.inc"
#endif

#ifdef OXI_BUILD_AVX
#include "cpu/simd/avx.h"
#include "cpu/kernels/stamp.inc"
#endif

#ifdef OXI_BUILD_AVX2
#include "cpu/simd/avx2.h"
#include "cpu/kernels/stamp.inc"
#endif

#ifdef OXI_BUILD_AVX512
/* As C++, gcc 12 warns about the undefined registers inside its own AVX-512 intrinsics. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "cpu/simd/avx512.h"
#include "cpu/kernels/stamp.inc"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif

#ifdef OXI_BUILD_NEON
#include "cpu/simd/neon.h"
#include "cpu/kernels/stamp.inc"
#endif

#include "cpu/simd/vocabulary_end.inc"

/* ---- the table ---- */

typedef struct oxi_tier_row {
    oxi_tier tier;
    const char *name;
    void (*fill)(oxi_kernels *k);
} oxi_tier_row;

/* Lowest first. */
static const oxi_tier_row oxi_tiers[] = {
#ifdef OXI_BUILD_C
    {OXI_TIER_C, "c", oxi_c_fill},
#endif
#ifdef OXI_BUILD_SSE2
    {OXI_TIER_SSE2, "sse2", oxi_sse2_fill},
#endif
#ifdef OXI_BUILD_AVX
    {OXI_TIER_AVX, "avx", oxi_avx_fill},
#endif
#ifdef OXI_BUILD_AVX2
    {OXI_TIER_AVX2, "avx2", oxi_avx2_fill},
#endif
#ifdef OXI_BUILD_AVX512
    {OXI_TIER_AVX512, "avx512", oxi_avx512_fill},
#if OXI_AMX
    {OXI_TIER_AMX, "amx", oxi_avx512_fill_tiles}, /* avx512 with tiles for some products */
#endif
#endif
#ifdef OXI_BUILD_NEON
    {OXI_TIER_NEON, "neon", oxi_neon_fill},
#endif
};
enum { OXI_TIER_ROWS = (int)(sizeof oxi_tiers / sizeof oxi_tiers[0]) };

/* Whether OX_ISA names this tier, "-base" behind it or not. */
static bool oxi_tier_is_named(const oxi_tier_row *row, const char *wanted) {
    size_t length = wanted ? strlen(wanted) : 0;
    if (oxi_wants_base(wanted)) length -= 5;
    return length == strlen(row->name) && strncmp(wanted, row->name, length) == 0;
}

/* The row of the tier to use: the best that runs here, or the one that OX_ISA names if it runs. */
static int oxi_pick_tier(void) {
    const char *wanted = getenv("OX_ISA");
    int best = 0;
    for (int i = 0; i < OXI_TIER_ROWS; i++) {
        if (!oxi_cpu_info()->runs[oxi_tiers[i].tier]) continue;
        best = i;
        if (oxi_tier_is_named(&oxi_tiers[i], wanted)) break;
    }
    return best;
}

/* Words for an OX_ISA that was not followed. */
static void oxi_warn_of_tier(const char *used) {
    const char *wanted = getenv("OX_ISA");
    bool known = false;
    if (!wanted || !*wanted) return;
    for (int i = 0; i < OXI_TIER_ROWS; i++) {
        if (!oxi_tier_is_named(&oxi_tiers[i], wanted)) continue;
        if (strcmp(oxi_tiers[i].name, used) == 0) return;
        known = true;
    }
    oxi_log(OX_LOG_WARN,
            known ? "OX_ISA=%s: this processor does not run it; %s is used"
                  : "OX_ISA=%s: no instruction set of this build; %s is used",
            wanted, used);
}

static oxi_lock oxi_tiers_lock; /* while the table is filled */

static const oxi_kernels *oxi_cpu_kernels(void) {
    static oxi_kernels table;
    static int64_t filled;
    if (!oxi_atomic_load(&filled)) {
        bool first = false;
        oxi_lock_take(&oxi_tiers_lock);
        if (!oxi_atomic_load(&filled)) {
            int best = oxi_pick_tier();
            first = true;
            oxi_fill_scalar_map(&table);
            oxi_fill_convert(&table);
            oxi_fill_move(&table);
            oxi_fill_iq(&table);
            oxi_fill_quantize(&table);
            for (int i = 0; i <= best; i++) {
                if (!oxi_cpu_info()->runs[oxi_tiers[i].tier]) continue;
                oxi_tiers[i].fill(&table);
                table.name = oxi_tiers[i].name;
            }
            oxi_atomic_store(&filled, 1);
        }
        oxi_lock_give(&oxi_tiers_lock);
        if (first)
            oxi_warn_of_tier(table.name); /* the program's log callback may call back: not under the lock */
    }
    return &table;
}

OX_API const char *ox_isa(void) {
    return oxi_cpu_kernels()->name;
}
