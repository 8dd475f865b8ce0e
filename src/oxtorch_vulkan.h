/* oxtorch_vulkan.h - 0.1.0 - tensors on a GPU, over oxtorch.h and Vulkan 1.1 - SPDX-License-Identifier: MIT
 *
 * DO THIS
 *     #define OX_IMPLEMENTATION        in exactly one source file, before the include
 *     #include "oxtorch_vulkan.h"      oxtorch.h lies beside it
 *     cc app.c -lm -lpthread           volk.h and the Vulkan headers are needed to compile, a driver to run
 *
 *     ox_device *gpu = ox_vulkan(0);                    NULL: ox_error_text() says why there is none
 *     ox_tensor *a = ox_to(x, gpu), *b = ox_to(y, gpu);
 *     ox_tensor *c = ox_softmax(ox_matmul(a, b), -1);   recorded, not waited for
 *     ox_print(ox_to(c, ox_cpu()));                     reading numbers waits
 *
 * WHERE THINGS RUN
 *     Ops on tensors of a Vulkan device run there, with any strides. What has no shader (attention whose
 *     scores need more memory than a tensor may have, for one) takes a detour over the CPU, which
 *     ox_memory_get_stats().detours counts; so do f64 and complex numbers on a device without f64. A few
 *     calls are held back until the next one is known, and may become one dispatch with it; whatever looks
 *     at memory comes after them.
 *
 * NUMBERS
 *     Within the bounds of the CPU's kernels, but not the same bits. These have the CPU's: random numbers
 *     and draws, ramps, sort, topk, selections, products of integers, block types expanded and packed.
 *     Sums are kept in two floats, and taken again, scaled, where a partial sum leaves the range of f32
 *     (the CPU keeps f64). Where the device has cooperative matrices (tensor cores), products and
 *     attention of f16 and bf16 run on them, and so do many rows of f32 beside weights, rounded to f16 or
 *     bf16. Where it has integer dot products, up to 8 rows of f32 that meet weights of block types are
 *     rounded to 8 bits. ox_set_exact(true) keeps both in f32. Results that are subnormal f32 may be 0;
 *     where the device can keep them (OX_VULKAN_CAP_SUBNORMALS), elementwise ops, reductions, norms and scans
 *     do. An index out of range, or a probability that is none, is told by the next read or
 *     ox_device_sync; elements that such an index picks are 0, what it would move stays.
 *
 * MEMORY
 *     Tensors lie in blocks that are kept and used again; new ones are taken while the driver's budget has
 *     room. A tensor is no larger than what a shader can bind at once (maxStorageBufferRange: 128 MiB at
 *     least, 4 GiB on most GPUs; largest_tensor_bytes of ox_vulkan_info): a larger one is refused,
 *     OX_ERR_NOMEM with both numbers. Cut it along a dim, or leave it on a stream that computes here
 *     (oxtorch_stream.h). ox_device_set_budget sets the most that is taken from the driver.
 *
 * TRANSFERS
 *     Pinned memory (ox_empty_pinned, ox_pin) is read and written by the device itself, on queues for
 *     transfers where it has them, beside what it computes: one up and one down, at once. ox_to_async and
 *     ox_copy_async_ do not wait. Pinned memory that is released is kept for the next that asks, until
 *     ox_trim. Ordinary memory goes through a ring of mapped memory that all threads copy through, nearly as
 *     fast where there are enough of them. Two GPUs meet in pinned memory of the host: one writes a part
 *     while the other reads the part before.
 *
 * DEVICES AND THREADS
 *     Several devices may be open, and several threads may use one. OX_VULKAN_DEVICE in the environment (a
 *     number or a part of a name) says which one ox_vulkan(0) is.
 *
 * WHEN IT FAILS
 *     A missing driver, a driver that computes wrong, memory that is used up and a lost device are errors in
 *     words. ox_vulkan opens a lost device anew once its tensors are released.
 *     VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation in the environment checks what is asked of the driver.
 *     OX_VULKAN_BLOCKS=apart gives each tensor a buffer of its own, so that layers see exactly what a
 *     dispatch reaches; OX_VULKAN_CAPS=baseline does without all that is optional, a list such as
 *     OX_VULKAN_CAPS=f16,subgroup without the rest.
 *
 * WITHOUT A GPU
 *     Programs compile and run as well without volk.h, the Vulkan headers or a driver: ox_vulkan gives NULL,
 *     ox_error_text() says what is missing.
 *
 * WITH A RENDERER
 *     ox_vulkan_open takes the program's VkInstance, VkDevice and queue, with its lock; ox_vulkan_from_buffer
 *     and ox_vulkan_buffer_of pass buffers both ways. Nothing of the program is destroyed. volk.h must come
 *     before vulkan.h, or vulkan.h with VK_NO_PROTOTYPES. A program that has volk's implementation already
 *     (or, with OX_STATIC, in another file) defines OX_NO_VOLK_IMPLEMENTATION.
 */
#ifndef OX_TORCH_VULKAN_H
#define OX_TORCH_VULKAN_H

#include "oxtorch.h"
#include "vulkan/api.h"

#endif /* OX_TORCH_VULKAN_H */

#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_VULKAN_IMPLEMENTED)
#define OX_TORCH_VULKAN_IMPLEMENTED

#if defined(__has_include)
#if __has_include(<volk.h>) && (__has_include(<vulkan/vulkan_core.h>) || defined(VOLK_VULKAN_H_PATH))
#define OXI_HAS_VOLK 1
#endif
#endif

#ifdef OXI_HAS_VOLK
#ifndef OX_NO_VOLK_IMPLEMENTATION
#define VOLK_IMPLEMENTATION
#endif
#include <volk.h>

OXI_LIGHT_BEGIN
#include "vulkan/internal.h"
#include "vulkan/driver/driver.h"
#include "vulkan/ops/ops.h"
#include "vulkan/driver/shaders.c"
#include "vulkan/driver/specialize.c"
#include "vulkan/driver/copies.c"
#include "vulkan/memory/memory.c"
#include "vulkan/record/timing.c"
#include "vulkan/record/key_table.c"
#include "vulkan/record/submission.c"
#include "vulkan/record/record.c"
#include "vulkan/memory/transfer_queue.c"
#include "vulkan/memory/pin.c"
#include "vulkan/memory/transfer.c"
#include "vulkan/record/prerecorded.c"
#include "vulkan/driver/loader.c"
#include "vulkan/driver/capabilities.c"
#include "vulkan/driver/device_objects.c"
#include "vulkan/driver/cache.c"
#include "vulkan/ops/operand.c"
#include "vulkan/ops/map.c"
#include "vulkan/ops/chain.c"
#include "vulkan/ops/blocks.c"
#include "vulkan/ops/windows/pool.c"
#include "vulkan/ops/generate/fill.c"
#include "vulkan/ops/reduce.c"
#include "vulkan/ops/rows/softmax_norm.c"
#include "vulkan/ops/sort.c"
#include "vulkan/ops/lay/lay.c"
#include "vulkan/ops/product/form.c"
#include "vulkan/ops/product/few.c"
#include "vulkan/ops/product/product.c"
#include "vulkan/ops/lay/product_lay.c"
#include "vulkan/ops/windows/conv.c"
#include "vulkan/ops/select.c"
#include "vulkan/ops/index.c"
#include "vulkan/ops/generate/draws.c"
#include "vulkan/ops/fault.c"
#include "vulkan/ops/rows/transformer.c"
#include "vulkan/ops/steps.c"
#include "vulkan/ops/rows/selective_scan.c"
#include "vulkan/ops/rows/linear_attention.c"
#include "vulkan/ops/rows/attention_turned.c"
#include "vulkan/ops/rows/attention_latent.c"
#include "vulkan/ops/back/rows_back.c"
#include "vulkan/ops/back/channels_back.c"
#include "vulkan/ops/back/recurrent_step.c"
#include "vulkan/ops/back/attention_back.c"
#include "vulkan/ops/back/back.c"
#include "vulkan/ops/rows/routing.c"
#include "vulkan/ops/fuse_experts.c"
#include "vulkan/ops/fuse_heads.c"
#include "vulkan/ops/product/router.c"
#include "vulkan/ops/fuse.c"
#include "vulkan/device.c"
#include "vulkan/driver/share.c"
OXI_LIGHT_END
#else
#include "vulkan/absent.c"
#endif

#endif
