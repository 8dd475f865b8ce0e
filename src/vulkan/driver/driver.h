/* The driver's side of the Vulkan device, in three rooms: what is asked of Vulkan, and when. Nothing here
 * knows what an op computes.
 *   driver/
 *     loader, capabilities, device_objects, share
 *                                          find devices, open one or take over a program's, close it
 *     shaders, specialize, copies, cache   compiled shaders: words in this file, what one pipeline needs of
 *                                          them, functions for each constant, pipelines on disk
 *   memory/
 *     memory                               blocks from the driver, chunks of them for tensors
 *     transfer, transfer_queue, pin        bytes between host and device: through a ring of mapped memory, on
 *                                          queues of their own, or straight from the host's pages
 *   record/
 *     record, submission, prerecorded, key_table
 *                                          dispatches are noted, submitted in batches, submitted once more
 *     timing                               timestamps for the profiler
 * What these parts offer each other and the executors (ops/) is declared in internal.h. */
/* WORDS OF THESE ROOMS
 *     submission     commands that go to a queue at once, and are over at once
 *     ring           mapped memory whose parts (stages, pieces) are used one after the other, again and again
 *     hazard         a dispatch reads or writes what an earlier one has written: a barrier must stand between
 *                    them
 *     steady         of a loop: it submits the same commands each time, with other parameters
 *     pin            host memory as a buffer of the device, which reads and writes it itself; import: of
 *                    memory that was there already
 *     trait          what is to be said to the driver of a shader (shaders.def) */
#ifndef OX_VULKAN_DRIVER_H
#define OX_VULKAN_DRIVER_H

#endif
