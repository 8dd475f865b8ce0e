/* Version, linkage and the configuration macros.
 * Every macro that changes how the library is built is listed here; none of them changes a public struct.
 * Read by every other part. */
#ifndef OX_BASE_CONFIG_H
#define OX_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OX_VERSION_MAJOR 0
#define OX_VERSION_MINOR 1
#define OX_VERSION_PATCH 0
#define OX_VERSION "0.1.0"

/*   OX_IMPLEMENTATION   define it in exactly one source file, before the include: that file gets the code
 *   OX_API              linkage of the public functions (default: extern)
 *   OX_STATIC           everything static, private to the file that defines OX_IMPLEMENTATION
 *   OX_ASSERT(x)        checks of the library's own invariants, never of input (default: nothing)
 *   OX_NO_THREADS       no threads are started; the library runs on the caller's thread
 *   OX_NO_STDIO         no files and no printing
 *   OX_NO_SIMD          portable C kernels only
 *   OX_C_TIER           portable C kernels too where each machine has better ones (x86-64, aarch64): OX_ISA=c
 *   OX_NO_IQ            the block types iq1, iq2 and iq3 are listed, not computed with: a smaller program
 *   OX_NO_LINALG, OX_NO_FFT, OX_NO_SPECIAL
 *                       linear algebra, Fourier transforms, special functions are declared, and
 *                       refused when they are called: a smaller program
 *   OX_TORCH_FILE       the name of this file, quoted, where it is not "oxtorch.h": it includes itself, and
 *                       the other headers include it
 *   OX_NO_AVX, OX_NO_AVX2, OX_NO_AVX512, OX_NO_NEON     leave one processor tier (and those above it) out
 */
#if defined(__GNUC__) || defined(__clang__)
#define OXI_UNUSED __attribute__((unused))
#define OXI_NOINLINE __attribute__((noinline))
#define OXI_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#else
#define OXI_UNUSED
#define OXI_NOINLINE
#define OXI_PRINTF(format_index, first_arg)
#endif

#ifndef OX_API
#ifdef OX_STATIC
#define OX_API static OXI_UNUSED
#else
#define OX_API extern
#endif
#endif

#ifdef __cplusplus
#define OX_EXTERN_C_BEGIN extern "C" {
#define OX_EXTERN_C_END }
#else
#define OX_EXTERN_C_BEGIN
#define OX_EXTERN_C_END
#endif

/* Dimensions a tensor may have. */
#define OX_MAX_DIMS 8

OX_EXTERN_C_BEGIN
/* The version of the implementation that was linked, "major.minor.patch". */
OX_API const char *ox_version(void);
OX_EXTERN_C_END

#endif
