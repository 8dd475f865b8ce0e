/* oxtorch.h - 0.1.0 - tensors, strided views and fast kernels in one header - SPDX-License-Identifier: MIT
 *
 * DO THIS
 *     #define OX_IMPLEMENTATION        in exactly one source file, before the include
 *     #include "oxtorch.h"
 *     cc app.c -lm -lpthread           no other flag: kernels are picked at run time for the processor
 */
#ifndef OX_TORCH_H
#define OX_TORCH_H

/* ---- the public interface, in the order of the manual --------------------------------------------------------- */
#include "base/config.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"
#include "tensor/print.h"
#include "ops/create.h"
#include "ops/view.h"
#include "ops/ops.h"
#include "files/file.h"

#endif /* OX_TORCH_H */

/* ================================================================================================================
 * Stop here if you only want to use the library.
 * ============================================================================================================== */
#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_IMPLEMENTED)
#define OX_TORCH_IMPLEMENTED

#include "base/platform.h"
#include "base/internal.h"
#include "base/check.c"
#include "base/atomic.c"
#include "base/error.c"
#include "base/memory.c"
#include "base/threads.c"
#include "base/os.c"
#include "base/random.c"

#include "tensor/internal.h"
#include "tensor/dtype.c"
#include "tensor/convert.c"
#include "tensor/storage.c"
#include "tensor/tensor.c"
#include "tensor/print.c"

#include "ops/call.h"
#include "ops/rules.c"
#include "ops/profile.c"
#include "ops/call.c"
#include "ops/view.c"
#include "ops/map.c"
#include "ops/create.c"
#include "ops/reduce.c"
#include "ops/index.c"
#include "ops/product.c"
#include "ops/einsum.c"
#include "ops/nn.c"
#include "ops/random.c"
#include "ops/data.c"

#include "cpu/kernels.h"
#include "cpu/isa.c"
#include "cpu/tiers.c"
#include "cpu/walk.c"
#include "cpu/map.c"
#include "cpu/copy.c"
#include "cpu/fill.c"
#include "cpu/reduce.c"
#include "cpu/scan.c"
#include "cpu/sort.c"
#include "cpu/row.c"
#include "cpu/index.c"
#include "cpu/gemm.c"
#include "cpu/blocks.c"
#include "cpu/product.c"
#include "cpu/rope.c"
#include "cpu/attention.c"
#include "cpu/device.c"

#ifndef OX_NO_STDIO
#include "files/internal.h"
#include "files/json.c"
#include "files/zip.c"
#include "files/safetensors.c"
#include "files/gguf.c"
#include "files/npy.c"
#include "files/file.c"
#endif

#endif /* OX_IMPLEMENTATION */
