/* The driver's side of the Vulkan device: what is asked of Vulkan, and when. Nothing here knows what an op
 * computes.
 *   loader, capabilities, start, share   find devices, open one or take over a program's, close it
 *   memory                               blocks from the driver, chunks of them for tensors
 *   record, batch, ahead, table          dispatches are noted, submitted in batches, submitted once more
 *   transfer, transfer_queue, import     bytes between host and device: through a ring of mapped memory, on a
 *                                        queue of their own, or straight from the host's pages
 *   shaders, cache                       compiled shaders: words in this file, pipelines on disk
 *   timing                               timestamps for the profiler
 * What these parts offer each other and the executors (ops/) is declared in internal.h. */
/* WORDS OF THIS ROOM
 *     submission     commands that go to a queue at once, and are over at once
 *     ring           mapped memory whose parts (stages, pieces) are used one after the other, again and again
 *     hazard         a dispatch reads or writes what an earlier one has written: a barrier must stand between
 *                    them
 *     steady         of a loop: it submits the same commands each time, with other parameters
 *     import         host memory becomes a buffer of the device for the time of a transfer
 *     trait          what is to be said to the driver of a shader (shaders.def)
 *     twin           a module whose f16 has been made bf16 */
#ifndef OX_VULKAN_DRIVER_H
#define OX_VULKAN_DRIVER_H

#endif
