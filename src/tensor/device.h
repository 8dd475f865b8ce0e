/* What devices have in common: their memory and its budget, and what tells them apart.
 * Pinned memory and copies that are not waited for are functions of tensors: ops/move.h. */
#ifndef OX_TENSOR_DEVICE_H
#define OX_TENSOR_DEVICE_H

OX_EXTERN_C_BEGIN

/* Bytes of a device's memory: RAM of ox_cpu(), device-local memory of a GPU, the spill file of a stream
 * (what a stream holds in RAM is the CPU's, and has a budget beside this one: ox_stream_desc). */
typedef struct ox_device_stats {
    uint64_t bytes_in_use;   /* of tensors, and of what ops hold while they run */
    uint64_t bytes_peak;     /* the most since the device was opened */
    uint64_t bytes_reserved; /* taken from the system or the driver: in use, and kept for reuse */
    uint64_t bytes_budget;   /* the most that may be reserved, of a stream in use; 0 = no limit of ours */
} ox_device_stats;

/* ox_device_get_stats - how much of a device's memory is used.
 * memory    nothing is made
 * errors    OX_ERR_ARG: device NULL; zeros are returned
 * source    torch.cuda.memory_allocated, max_memory_allocated, memory_reserved
 */
OX_API ox_device_stats ox_device_get_stats(ox_device *device);

/* ox_device_sync - waits until all that was begun on a device is over.
 *   A GPU's recorded work is submitted first. The CPU and streams have nothing to wait for.
 * errors    what went wrong since the last wait, an index out of range in what a GPU computed too;
 *           OX_ERR_ARG: device NULL, or closed; OX_ERR_DEVICE: it was lost
 * source    torch.accelerator.synchronize
 */
OX_API ox_status ox_device_sync(ox_device *device);

/* ox_device_close - waits, and gives all that a device holds back. It is not to be used after that.
 *   A GPU is opened anew by the next ox_vulkan(i). A stream is closed by the last of its tensors and open
 *   files after this call. Nothing happens to the CPU, nor in a child process (fork) to its parent's streams.
 * errors    OX_ERR_ARG: device NULL, or a GPU that is closed or still has tensors; it stays open then
 */
OX_API ox_status ox_device_close(ox_device *device);

/* ox_device_set_budget - at most `bytes` of a device's memory are reserved from now on; 0 = no limit.
 *   What is kept for reuse is given back first; then a tensor that does not fit is refused, and all others
 *   stay as they are. A budget below what is in use refuses all that asks for more until enough is released.
 * errors    OX_ERR_ARG: device NULL. Beyond the budget: OX_ERR_NOMEM with the bytes asked for, in use and
 *           allowed, from whatever needed them
 * source    torch.cuda.set_per_process_memory_fraction, in bytes
 */
OX_API ox_status ox_device_set_budget(ox_device *device, uint64_t bytes);

/* ox_device_uuid - 16 bytes that name a GPU in every process and after each start: deviceUUID of
 *   VkPhysicalDeviceIDProperties, which is CUDA's. False, and zeros: it has none, as the CPU and streams.
 * source    torch.cuda.get_device_properties(device).uuid
 */
OX_API bool ox_device_uuid(ox_device *device, uint8_t out[16]);

OX_EXTERN_C_END
#endif
