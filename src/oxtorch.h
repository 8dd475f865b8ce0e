/* oxtorch.h - 0.1.0 - tensors, strided views and fast kernels in one header - SPDX-License-Identifier: MIT
 *
 * DO THIS
 *     #define OX_IMPLEMENTATION        in exactly one source file, before the include
 *     #include "oxtorch.h"
 *     cc app.c -lm -lpthread           no other flag: kernels are picked at run time for the processor
 *
 * A PROGRAM
 *     OX_SCOPE {                                                  frees every tensor made inside it
 *         ox_tensor *a = ox_randn(OX_SHAPE(256, 512), OX_BF16);
 *         ox_tensor *b = ox_randn(OX_SHAPE(128, 512), OX_BF16);
 *         ox_print(ox_softmax(ox_matmul(a, ox_t(b)), -1));        ox_t is a strided view: nothing is copied
 *     }
 *     if (ox_error()) puts(ox_error_text());                      one check for the whole chain
 *
 * TENSORS
 *     A tensor is (storage, offset, shape, strides, dtype), row-major, up to 8 dims; dims of size 0 are
 *     legal, and negative dims count from the end. Views (ox_t, ox_slice, ox_expand ...) share the
 *     storage, and every op gives on a view what it gives on a contiguous copy (float sums may take their
 *     terms in another order). Names and meaning follow PyTorch; a comment tells where they do not. Forms
 *     that end in _ write into their first operand.
 *
 * DTYPES
 *     bool, u8 to u64, i8 to i64, f16, bf16, f32, f64, c64, f8_e4m3, f8_e5m2. Operands of different dtypes
 *     are promoted as in PyTorch; numbers and 0-dim tensors by their category only. f16, bf16 and f8 compute
 *     in f32 and round once. Block types (Q4_0, Q4_K ...) pack numbers of a row as GGUF files do. They are
 *     weights: products, attention and ox_embedding read them, ox_cast packs and expands them. Products
 *     round activations to 8 bits beside them, ox_set_exact(true) does not. ox_prepack makes products
 *     with constant weights faster.
 *
 * OWNERSHIP
 *     A result belongs to the innermost open scope of its thread and is released when the scope ends; with
 *     no scope open it belongs to the caller, who gives it back with ox_release. ox_keep(t) hands a result
 *     to the scope outside. ox_retain adds a reference. ox_memory_get_stats() counts what is alive.
 *
 * ERRORS
 *     A function that fails returns NULL (or false, 0, -1) and records why; NULL passed on gives NULL. The
 *     first error of a thread stays until ox_error_clear(), so a chain needs one check: ox_error() is its
 *     status, ox_error_text() says it in words, as in "matmul: inner sizes differ: [2,3] x [4,5]". The
 *     library never aborts, exits or prints on its own. ox_set_log hears of errors as they happen.
 *
 * THREADS AND BITS
 *     One pool with as many threads as the process may use; ox_set_threads(n) changes that,
 *     ox_set_parallel_for lends the host's job system. It helps one calling thread at a time, long calls
 *     before short ones; ox_set_thread_limit(1) keeps the calling thread off it. Results have the same bits
 *     for any number of threads. Different tensors may be used from different threads at once; one tensor
 *     may be read by many.
 *     In the child of a fork everything in memory works, whatever other threads were at; streams and GPUs
 *     that the parent opened are errors in words there.
 *
 * RANDOM NUMBERS
 *     Philox4x32-10 with a seed (ox_manual_seed) and a counter that each tensor advances: the same numbers
 *     for any number of threads, and on a GPU. Seed and counter are a generator; ox_generator_open makes
 *     others, for one thread or to be saved and set again.
 *
 * MEMORY
 *     Freed blocks are kept and reused: a steady loop asks the system for nothing. ox_set_allocator takes
 *     your own functions, ox_set_arena a fixed block, ox_trim gives the cache back. ox_device_set_budget sets
 *     the most that a device's memory may take: beyond it OX_ERR_NOMEM, and nothing is lost.
 *
 * PROCESSORS
 *     x86-64: sse2, avx, avx2 (with FMA and F16C), avx512, amx; ARM: neon; anything else: c, portable C
 *     (with OX_C_TIER defined everywhere). The best one that the machine has is picked at the first op.
 *     OX_ISA=avx in the environment picks a lower one; ox_isa() tells which it is.
 *
 * FILES
 *     ox_file_open reads GGUF, safetensors, .npy and .npz; tensors lie in the mapped file where the format
 *     allows. ox_file_open_copy reads the file into memory instead, for weights that are used again and
 *     again. Files may be hostile: a bad one is an error that names file, offset and field.
 *     ox_save_safetensors, ox_save_npy and ox_save_npz write; a file appears under its name when it is
 *     whole.
 *
 * WATCHING
 *     ox_profile_begin ... ox_profile_end time each call; ox_profile_table shows seconds, flops and bytes by
 *     op, ox_profile_trace writes a trace for Chrome's viewer.
 *
 * WHAT IT DOES NOT DO (YET)
 *     No c128; some functions of c64 are missing. Gradients, einsum, rarer linear algebra are in
 *     oxtorch_nn.h.
 *     Floats are not packed into block types other than Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q4_K Q5_K Q6_K.
 *
 * CONTENTS (search for the tag)
 *     >>base/config.h   version, macros         >>tensor/dtype.h   dtypes
 *     >>base/error.h    errors, log             >>tensor/tensor.h  the tensor, ownership, scopes
 *     >>base/memory.h   allocators, counters    >>tensor/print.h   printing
 *     >>base/threads.h  the pool                >>ops/create.h     making tensors, numbers in and out
 *     >>tensor/device.h budgets, names          >>ops/move.h       pinned memory, copies not waited for
 *     >>ops/view.h      views                   >>ops/ops.h        the operations, the profiler
 *     >>composed/composed.h  functions made of others     >>special/special.h  special functions
 *     >>linalg/linalg.h linear algebra          >>fft/fft.h        Fourier transforms
 *     >>files/file.h    model and array files
 */
#ifndef OX_TORCH_H
#define OX_TORCH_H

/* ---- the public interface, in the order of the manual -------------------------------------------------- */
#include "base/config.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"
#include "tensor/device.h"
#include "tensor/print.h"
#include "ops/create.h"
#include "ops/move.h"
#include "ops/view.h"
#include "ops/ops.h"
#include "composed/composed.h"
#include "special/special.h"
#include "linalg/linalg.h"
#include "fft/fft.h"
#include "files/file.h"

#endif /* OX_TORCH_H */

/* =========================================================================================================
 * Stop here if you only want to use the library.
 * ======================================================================================================== */
#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_IMPLEMENTED)
#define OX_TORCH_IMPLEMENTED

/* A kernel begins at a line of the instruction cache. Where its loop lies within one is worth up to a third
 * of a short loop's time, and would otherwise change with any code that comes before. An attribute, because
 * gcc's optimize("align-functions=64") changes the code of the functions as well. For arrays on the stack
 * too: vectors that lie across two lines take twice as long. Asked here: gcc forgets __OPTIMIZE__ where a
 * part of the file has had other options (PLAIN, below), OXI_OPTIMIZES it does not. */
#if (defined(__GNUC__) || defined(__clang__)) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define OXI_ALIGNED __attribute__((aligned(64)))
#else
#define OXI_ALIGNED
#endif

/* At -O2 gcc would spend most of its time where nobody sees the difference. What is between LIGHT lines is
 * control code, and kernels that say what they want vector by vector: little is left to find there. STRAIGHT
 * is for kernels whose loops are to be unrolled, and for the few loops of control code that run often. PLAIN
 * is for texts and the heads of files, which are left as they are: clang knows no -O1 for a part of a file.
 * expensive-optimizations: without it AVX code ends without vzeroupper, and SSE code behind it crawls.
 * FULL is for all other kernels: only their loops are aligned (as kernels are), as those of STRAIGHT.
 * It stands in no other pair of lines, where gcc would take the options for others and make other code.
 * LIGHT and STRAIGHT fuse products and sums only where they say so, whatever -std is. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#define OXI_OPTIMIZES
#ifdef __OPTIMIZE_SIZE__
#define OXI_ALIGNED_LOOPS
#else
#define OXI_ALIGNED_LOOPS _Pragma("GCC optimize(\"align-loops=64\")")
#endif
/* What compilers look for in all functions together: constants that all calls pass, functions that are the
 * same. There is next to none. */
#define OXI_APART \
    _Pragma("GCC optimize(\"no-ipa-cp\", \"no-ipa-sra\", \"no-ipa-icf\", \"no-ipa-modref\")") \
    _Pragma("GCC optimize(\"no-ipa-pure-const\", \"no-ipa-reference\")")
#define OXI_FULL_BEGIN _Pragma("GCC push_options") OXI_ALIGNED_LOOPS OXI_APART
#define OXI_FULL_END _Pragma("GCC pop_options")
#if __GNUC__ < 13
#define OXI_LIGHT_PASSES \
    _Pragma("GCC optimize(\"Og\", \"expensive-optimizations\", \"inline-functions-called-once\")") \
    _Pragma("GCC optimize(\"tree-sra\", \"tree-dse\", \"if-conversion\", \"move-loop-invariants\")") \
    _Pragma("GCC optimize(\"ira-region=one\", \"no-thread-jumps\", \"fp-contract=off\")") OXI_APART
#define OXI_STRAIGHT_PASSES \
    _Pragma("GCC optimize(\"O1\", \"expensive-optimizations\", \"no-tree-pta\", \"no-tree-slsr\")") \
    _Pragma("GCC optimize(\"no-tree-dominator-opts\", \"no-ivopts\", \"no-tree-bit-ccp\")") \
    _Pragma("GCC optimize(\"ira-region=one\", \"fp-contract=off\")") OXI_ALIGNED_LOOPS OXI_APART
#define OXI_PLAIN_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"O0\")")
#define OXI_PLAIN_END _Pragma("GCC pop_options")
#else
/* Another level than the rest has would be another target for x86 here, and into that nothing is inlined,
 * even if it must be: passes are left out by name. */
#define OXI_STRAIGHT_PASSES \
    _Pragma("GCC optimize(\"no-tree-pre\", \"no-tree-vrp\", \"no-tree-dominator-opts\", \"no-tree-pta\")") \
    _Pragma("GCC optimize(\"no-ivopts\", \"no-tree-slsr\", \"no-code-hoisting\", \"no-thread-jumps\")") \
    _Pragma("GCC optimize(\"no-tree-loop-vectorize\", \"no-tree-slp-vectorize\", \"no-schedule-insns2\")") \
    _Pragma("GCC optimize(\"no-gcse\", \"no-rerun-cse-after-loop\", \"no-cse-follow-jumps\")") \
    _Pragma("GCC optimize(\"no-crossjumping\", \"no-tree-tail-merge\", \"ira-region=one\")") \
    _Pragma("GCC optimize(\"fp-contract=off\")") \
    OXI_ALIGNED_LOOPS OXI_APART
#define OXI_LIGHT_PASSES OXI_STRAIGHT_PASSES \
    _Pragma("GCC optimize(\"no-tree-fre\", \"no-tree-loop-im\", \"no-tree-switch-conversion\")") \
    _Pragma("GCC optimize(\"no-store-merging\")")
#endif
#define OXI_LIGHT_BEGIN _Pragma("GCC push_options") OXI_LIGHT_PASSES
#define OXI_LIGHT_END _Pragma("GCC pop_options")
#define OXI_STRAIGHT_BEGIN _Pragma("GCC push_options") OXI_STRAIGHT_PASSES
#define OXI_STRAIGHT_END _Pragma("GCC pop_options")
#elif defined(__clang__) && defined(__OPTIMIZE__)
#define OXI_LIGHT_BEGIN _Pragma("clang attribute push(__attribute__((minsize)), apply_to = function)")
#define OXI_LIGHT_END _Pragma("clang attribute pop")
#define OXI_PLAIN_BEGIN _Pragma("clang attribute push(__attribute__((optnone)), apply_to = function)")
#define OXI_PLAIN_END _Pragma("clang attribute pop")
#else
#define OXI_LIGHT_BEGIN
#define OXI_LIGHT_END
#endif
#ifndef OXI_FULL_BEGIN
#define OXI_FULL_BEGIN
#define OXI_FULL_END
#endif
#ifndef OXI_STRAIGHT_BEGIN
#define OXI_STRAIGHT_BEGIN OXI_LIGHT_BEGIN
#define OXI_STRAIGHT_END OXI_LIGHT_END
#endif
#ifndef OXI_PLAIN_BEGIN
#define OXI_PLAIN_BEGIN OXI_LIGHT_BEGIN
#define OXI_PLAIN_END OXI_LIGHT_END
#endif

#include "base/platform.h"
#include "base/internal.h"
OXI_STRAIGHT_BEGIN
#include "base/checked_sizes.c"
#include "base/atomic.c"
#include "base/error.c"
#include "base/memory.c"
#include "base/threads.c"
#include "base/clock_and_mapping.c"
OXI_STRAIGHT_END
OXI_FULL_BEGIN
#include "base/random.c"
OXI_FULL_END

OXI_LIGHT_BEGIN
#include "tensor/internal.h"
#include "tensor/dtype.c"
#include "tensor/convert.c"
#include "tensor/pin.c"
#include "tensor/device.c"
#include "tensor/storage.c"
#include "tensor/tensor.c"
OXI_LIGHT_END
OXI_PLAIN_BEGIN
#include "tensor/print.c"
OXI_PLAIN_END
OXI_LIGHT_BEGIN

#include "ops/call/call.h"
#include "ops/call/chain.h"
#include "ops/call/attributes.c"
#include "form/form.h"
#include "form/reduce.c"
#include "form/rows.c"
#include "form/product.c"
#include "form/conv.c"
#include "form/index.c"
#include "form/generate.c"
#include "form/map.c"
#include "ops/rules/promote.c"
#include "ops/rules/map.c"
#include "ops/rules/create.c"
#include "ops/rules/reduce.c"
#include "ops/rules/rows.c"
#include "ops/rules/index.c"
#include "ops/rules/product.c"
#include "ops/rules/conv.c"
#include "ops/rules/pool.c"
#include "ops/rules/attention.c"
#include "ops/rules/view.c"
#include "ops/rules/linalg.c"
#include "fft/rules.c"
#include "ops/call/profile.c"
#include "ops/parts.c"
#include "linalg/parts.c"
#include "ops/call/call.c"
#include "ops/call/kept.c"
#include "ops/call/chain.c"
#include "ops/call/numbers.c"
#include "ops/functions/view.c"
#include "ops/functions/map.c"
#include "ops/functions/create.c"
#include "ops/functions/reduce.c"
#include "ops/functions/index.c"
#include "ops/functions/product.c"
#include "ops/functions/nn.c"
#include "ops/functions/conv.c"
#include "ops/functions/pool.c"
#include "ops/functions/random.c"
#include "ops/functions/data.c"
#include "ops/functions/move.c"
#include "composed/elementwise.c"
#include "linalg/factor.c"
#include "fft/functions.c"

OXI_LIGHT_END

#include "cpu/kernels.h"
#include "cpu/isa.c"
OXI_STRAIGHT_BEGIN
#include "cpu/move/convert.c"
#include "cpu/move/move.c"
#include "cpu/map/scalar_map.c"
OXI_STRAIGHT_END
#include "cpu/product/quantize.c"
#include "cpu/product/blocks_iq.c"
#include "cpu/tiers.c"
OXI_STRAIGHT_BEGIN
#include "cpu/walk.c"
#include "cpu/transpose.c"
#include "cpu/product/repack.c"
OXI_STRAIGHT_END
OXI_FULL_BEGIN
#include "cpu/move/copy.c"
#include "cpu/generate/fill.c"
#include "cpu/generate/random.c"
#include "cpu/generate/generate.c"
#include "cpu/reduce/reduce_kernels.c"
#include "cpu/reduce/scan.c"
#include "cpu/index/sort.c"
#include "cpu/index/index.c"
#include "cpu/rows/rope.c"
OXI_FULL_END

OXI_LIGHT_BEGIN
#ifndef OX_NO_SPECIAL
#include "special/gamma.c"
#include "special/bessel.c"
#endif
#include "special/special.c"
#ifndef OX_NO_LINALG
#include "linalg/dense.c"
#include "linalg/orthogonal.c"
#include "linalg/symmetric.c"
#include "linalg/divide.c"
#include "linalg/real_schur.c"
#include "linalg/pairs.c"
#include "linalg/general.c"
#include "linalg/tasks.c"
#include "linalg/complex.c"
#endif
#include "linalg/run.c"
#include "fft/plan.c"
#include "fft/fft.c"
OXI_LIGHT_END

OXI_LIGHT_BEGIN
#include "cpu/map/map.c"
#include "cpu/map/chain.c"
#include "cpu/reduce/reduce.c"
#include "cpu/rows/softmax_norm.c"
#include "cpu/product/prepack.c"
#include "cpu/windows/windows.h"
#include "cpu/product/gemm.h"
#include "cpu/windows/windows.c"
#include "cpu/product/gemm_pack.c"
#include "cpu/product/gemm_tile.c"
#include "cpu/product/gemm_thin.c"
#include "cpu/product/gemm.c"
#include "cpu/product/blocks.c"
#include "cpu/product/codes.c"
#include "cpu/product/product.c"
#include "cpu/product/experts.c"
#include "cpu/rows/attention.c"
#include "cpu/windows/depthwise.c"
#include "cpu/windows/image.c"
#include "cpu/windows/winograd.c"
#include "cpu/windows/conv.c"
#include "cpu/windows/pool.c"
#include "cpu/rows/linear_attention.c"
#include "cpu/device.c"
OXI_LIGHT_END

#ifndef OX_NO_STDIO
#include "files/internal.h"
OXI_LIGHT_BEGIN
#include "files/contents.c"
#include "files/zip.c"
#include "files/json.c"
#include "files/safetensors.c"
#include "files/gguf.c"
OXI_LIGHT_END
OXI_PLAIN_BEGIN
#include "files/filesystem.c"
#include "files/atomic_write.c"
#include "files/safetensors_save.c"
#include "files/npy.c"
#include "files/file.c"
OXI_PLAIN_END
#endif

#include "base/fork.c"

#endif /* OX_IMPLEMENTATION */
