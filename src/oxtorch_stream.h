/* oxtorch_stream.h - 0.1.0 - tensors larger than memory, over oxtorch.h - SPDX-License-Identifier: MIT
 *
 * DO THIS
 *     #define OX_IMPLEMENTATION        in exactly one source file, before the include
 *     #include "oxtorch_stream.h"      oxtorch.h lies beside it
 *     cc app.c -lm -lpthread           or, with io_uring: -DOX_USE_LIBURING and -luring
 *
 *     ox_stream_desc desc;
 *     memset(&desc, 0, sizeof desc);
 *     desc.ram_bytes = (size_t)1 << 30;                                  never more than 1 GiB of RAM
 *     ox_stream *stream = ox_stream_open(&desc);
 *     ox_file *file = ox_open("model.safetensors", ox_stream_device(stream));
 *     ox_tensor *w = ox_load(file, "weight");                            stays in the file
 *     ox_tensor *y = ox_linear(x, w, NULL);                              x and y in RAM
 *     ...
 *     ox_close(file);
 *     ox_stream_close(stream);
 *
 * HOW IT WORKS
 *     The stream is a device: its memory is files, its compute another device (the CPU, or a GPU). An
 *     operation on its tensors is cut into tiles. While one tile is computed the next ones are read, and
 *     results are written, through a ring of buffers. Results have the bits that the operation has in RAM.
 *     Small results are made in RAM, large ones in a spill file that has no name and goes with the stream.
 *     What fits of the budget keeps tiles of read-only files, so that a second pass over a model reads only
 *     the rest; the order of the first pass tells what to read ahead, also between operations. On the first
 *     pass over layers that are alike, each is read ahead as the one before was used.
 *
 * MACROS
 *     OX_USE_LIBURING      read through io_uring; it is asked at run time whether the system allows it.
 *                          liburing.h wants GNU C, as gcc and clang compile by themselves, not -std=c11
 *
 * LIMITS
 *     One operation at a time for each stream. Sorts and running sums along the only dim, attention over keys
 *     of one head beyond a tile, rows longer than a tile whose result lies in another order (softmax over the
 *     last dim of a transposed tensor), and other operations that cannot be cut load their operands as a
 *     whole, within the budget. Rows with gaps between their elements are read with the gaps.
 *     A file must not be written to while tensors lie in it; one that becomes shorter is an error, one that
 *     was replaced or written to since ox_open cannot be loaded from, and other bytes are an error if
 *     checksums are asked for. Compressed members of .npz archives are unpacked in RAM and moved to the spill
 *     folder, numbers in the other byte order a piece at a time. On a GPU the numbers are the GPU's; reductions,
 *     and rows that are longer than a tile, are the CPU's: there they take less time than on their way.
 */
#ifndef OX_TORCH_STREAM_H
#define OX_TORCH_STREAM_H

#include "oxtorch.h"
#include "stream/stream.h"

#endif /* OX_TORCH_STREAM_H */

#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_STREAM_IMPLEMENTED) && !defined(OX_NO_STDIO)
#define OX_TORCH_STREAM_IMPLEMENTED

#ifdef OX_USE_LIBURING
#include <liburing.h>
#endif

#include "stream/internal.h"
#include "stream/file.c"
#include "stream/spill.c"
#include "stream/reader.c"
#include "stream/capacitor.c"
#include "stream/checksum.c"
#include "stream/foresee.c"
#include "stream/ring.c"
#include "stream/tile.c"
#include "stream/ops.c"
#include "stream/gather.c"
#include "stream/lines.c"
#include "stream/reduce.c"
#include "stream/rows.c"
#include "stream/memory.c"
#include "stream/device.c"

#endif
