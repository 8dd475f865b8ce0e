/* oxtorch_stream.h - 0.1.0 - tensors larger than memory, over oxtorch.h - SPDX-License-Identifier: MIT
 *
 * DO THIS
 *     #define OX_IMPLEMENTATION        in exactly one source file, before the include
 *     #include "oxtorch_stream.h"      oxtorch.h lies beside it
 *     cc app.c -lm -lpthread           or, with io_uring: -DOX_USE_LIBURING and -luring
 *
 *     ox_stream_desc desc;
 *     memset(&desc, 0, sizeof desc);
 *     desc.ram_bytes = (size_t)1 << 30;                                  1 GiB of RAM for all of it
 *     ox_stream *stream = ox_stream_open(&desc);
 *     ox_file *file = ox_file_open("model.safetensors", ox_stream_device(stream));
 *     ox_tensor *w = ox_file_tensor(file, "weight");                            stays in the file
 *     ox_tensor *y = ox_linear(x, w, NULL);                              x and y in RAM
 *     ...
 *     ox_file_close(file);
 *     ox_device_close(ox_stream_device(stream));
 *
 * HOW IT WORKS
 *     The stream is a device: its memory is files, its compute another device (the CPU, or a GPU). A tensor
 *     on it stays where it lies in a GGUF, safetensors, .npy, .npz or raw file (ox_stream_raw). An
 *     operation is cut into tiles. While one tile is computed the next ones are read, and results are
 *     written, through a ring of buffers. Results have the bits that the operation has in RAM. Small
 *     results are made in RAM, large ones in a spill file that has no name and disappears with the stream,
 *     also when the process is killed. ox_stream_named makes a tensor in a file that stays.
 *
 * MEMORY
 *     ram_bytes is what the library may hold. The ring takes up to a quarter of it; the rest keeps tiles of
 *     read-only files, so that a second pass over a model reads only what did not fit. The order of the
 *     first pass tells what to prefetch, also between operations; on the first pass itself over layers that
 *     are alike, each is prefetched as the one before it was used. With 0, a stream takes half of what the
 *     system, the memory limits of the process's groups (cgroups) and its own (ulimit) leave.
 *
 * THE DISK
 *     Files are read past the system's page cache where the file system allows it, by io_uring or by threads,
 *     which take over where io_uring is forbidden. Tile size and depth follow from the speed of the first
 *     tiles unless they are given. A read that fails, a file that became shorter, one that was replaced or
 *     written to since ox_file_open, a full disk: each is OX_ERR_IO with path and offset.
 *
 * WITH A GPU
 *     desc.compute = ox_vulkan(0) moves tiles there; operands in its memory may stand beside streamed ones.
 *     The numbers are the GPU's then. Reductions, and rows longer than a tile, stay with the CPU, which adds
 *     numbers up faster than they can be moved.
 *
 * THE PLANNER
 *     ox_shunt_open makes a device that keeps calls until numbers are asked for, and then plans the step as a
 *     whole: which tensors stay in memory, which move to the host's and to the disk and when, so that moves
 *     hide behind computing, and which calls run a second time instead. A step that comes again is replayed.
 *     Training is captured as it is. Budgets hold: what does not fit waits elsewhere (stream/shunt/shunt.h).
 *
 * WATCHING
 *     ox_stream_get_stats counts bytes, tiles and waiting; desc.progress is called after each tile; the
 *     trace of the profiler has lanes for disk, ring and compute.
 *
 * MACROS
 *     OX_USE_LIBURING      read through io_uring; it is asked at run time whether the system allows it.
 *                          liburing.h wants GNU C, as gcc and clang compile by themselves, not -std=c11
 *
 * LIMITS
 *     One operation at a time for each stream. Sorts and running sums along the only dim, attention over
 *     keys of one head beyond a tile, rows longer than a tile whose result lies in another order (softmax
 *     over the last dim of a transposed tensor), and other operations that cannot be cut load their
 *     operands as a whole, within the budget. Rows with gaps between their elements are read with the gaps.
 *     A file must not be written to while tensors lie in it; changed bytes are an error only if
 *     desc.checksums asks for that. Compressed members of .npz archives are unpacked in RAM and moved to
 *     the spill folder, numbers in the other byte order a piece at a time.
 */
#ifndef OX_TORCH_STREAM_H
#define OX_TORCH_STREAM_H

#include "oxtorch.h"
#include "stream/stream.h"
#include "stream/shunt/shunt.h"

#endif /* OX_TORCH_STREAM_H */

#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_STREAM_IMPLEMENTED) && !defined(OX_NO_STDIO)
#define OX_TORCH_STREAM_IMPLEMENTED

#ifdef OX_USE_LIBURING
#include <liburing.h>
#endif

#include "stream/internal.h"
#include "stream/file/file.c"
#include "stream/file/spill.c"
#include "stream/file/reader.c"
#include "stream/ring/range_cache.c"
#include "stream/file/checksum.c"
#include "stream/ring/guess_next.c"
#include "stream/ring/ring.c"
#include "stream/ops/tile.c"
#include "stream/ops/cuttable_dims.c"
#include "stream/ops/cat_and_rows.c"
#include "stream/ops/experts.c"
#include "stream/ops/long_lines.c"
#include "stream/ops/reduce.c"
#include "stream/ops/long_rows.c"
#include "stream/memory.c"
#include "stream/device.c"

#include "stream/shunt/internal.h"
#include "stream/shunt/capture.c"
#include "stream/shunt/trace.c"
#include "stream/shunt/run.c"
#include "stream/shunt/tiers.c"
#include "stream/shunt/compress.c"
#include "stream/shunt/lanes/staging.c"
#include "stream/shunt/plan/arena.c"
#include "stream/shunt/plan/cost.c"
#include "stream/shunt/online.c"
#include "stream/shunt/plan/key.c"
#include "stream/shunt/plan/rings.c"
#include "stream/shunt/plan/liveness.c"
#include "stream/shunt/plan/early.c"
#include "stream/shunt/plan/place.c"
#include "stream/shunt/plan/places.c"
#include "stream/shunt/plan/reserve.c"
#include "stream/shunt/plan/spill.c"
#include "stream/shunt/plan/schedule.c"
#include "stream/shunt/plan/rematerialize.c"
#include "stream/shunt/plan/plan.c"
#include "stream/shunt/plan/exact.c"
#include "stream/shunt/plan/pack.c"
#include "stream/shunt/lanes/lanes.c"
#include "stream/shunt/lanes/replay.c"
#include "stream/shunt/lanes/disk.c"
#include "stream/shunt/dump.c"
#include "stream/shunt/far.c"
#include "stream/shunt/cut.c"
#include "stream/shunt/over.c"
#include "stream/shunt/device.c"

#endif
