/* Tensors between devices: pinned memory, and copies that are not waited for.
 *
 *     ox_tensor *batch = ox_empty_pinned(OX_SHAPE(256, 1024), OX_F32, gpu);     once
 *     fill(ox_data(batch));                                   ox_data waits for a copy that still uses it
 *     ox_tensor *x = ox_to_async(batch, gpu);                 returns at once; ops on x wait by themselves
 *     ox_tensor *y = ox_to_async(ox_matmul(x, w), ox_cpu());  on its way, into pinned memory
 *     ...                                                     the processor is free meanwhile
 *     printf("%g\n", ox_item(ox_sum(y, OX_ALL_DIMS, false))); waits
 *
 * Nothing is read too early: ops, ox_data and every other function wait for the bytes that they need. Only an
 * address that was kept from an earlier ox_data is the caller's own affair: ox_wait(t) before it is used. */
#ifndef OX_OPS_MOVE_H
#define OX_OPS_MOVE_H

OX_EXTERN_C_BEGIN

/* ox_empty_pinned - a tensor in RAM that `device` reads and writes itself, not cleared.
 *   A GPU's copies from and to such memory run at the speed of its link, without the processor. It is a
 *   tensor of ox_cpu() like any other. Pinning takes the system about as long as clearing the memory, so
 *   keep it for many copies; it cannot be swapped out, so pin what moves often, not everything.
 * shapes    any; dtype any, block types too
 * memory    a new tensor, one reference; RAM under ox_cpu()'s budget, or of the driver where that does not
 *           take pages of the process. The device cannot be closed before the tensor is released
 * errors    OX_ERR_ARG device NULL; OX_ERR_SHAPE; OX_ERR_DTYPE; OX_ERR_NOMEM. A device that has no use for
 *           it, as a stream, gives ordinary memory: ox_is_pinned is false
 * source    torch.empty(pin_memory=True)
 */
OX_API ox_tensor *ox_empty_pinned(ox_shape shape, ox_dtype dtype, ox_device *device);

/* ox_pin - a copy of t in such memory; another view of t if it lies there already. An ox_number stays as it
 * is.
 * shapes    t any -> the same, contiguous
 * memory    a new tensor, one reference
 * errors    as ox_empty_pinned
 * source    torch.Tensor.pin_memory
 */
OX_API ox_tensor *ox_pin(ox_tensor *t, ox_device *device);

/* Whether t lies in memory that is pinned for `device`: torch.Tensor.is_pinned. */
OX_API bool ox_is_pinned(const ox_tensor *t, const ox_device *device);

/* ox_to_async - ox_to that does not wait, where t or the result is pinned memory.
 *   From pinned memory to a GPU: returns when the copy has begun. From a GPU to ox_cpu(): the result is
 *   pinned, and its numbers may still be on their way. In all other cases the same as ox_to.
 * shapes    t any -> the same; a view of t if it is on `device` already
 * memory    a new tensor, one reference. Both may be released at once: pinned memory is used again when what
 *           was begun with it is over
 * errors    as ox_to; what goes wrong on the way is told by whatever waits, an index out of range in what was
 *           computed before by the next ox_to or ox_device_sync
 * source    torch.Tensor.to(device, non_blocking=True)
 */
OX_API ox_tensor *ox_to_async(ox_tensor *t, ox_device *device);

/* ox_copy_async_ - ox_copy_ that does not wait: source into x, in place, across devices.
 *   Not waited for where the one in RAM is pinned for the other's device and both are contiguous and of one
 *   shape and dtype; into a device also where shape or dtype differ. Otherwise the same as ox_copy_.
 * shapes    source broadcasts to x
 * memory    x, without another reference
 * errors    as ox_copy_
 * source    torch.Tensor.copy_(source, non_blocking=True)
 */
OX_API ox_tensor *ox_copy_async_(ox_tensor *x, ox_tensor *source);

/* ox_is_ready - whether no copy that was begun with t's memory is under way: true for all but pinned tensors.
 * ox_wait waits until it is so.
 * errors    of ox_wait: those of the device, as OX_ERR_DEVICE when it was lost; OX_ERR_ARG: t NULL
 * source    torch.cuda.Event.query, synchronize
 */
OX_API bool ox_is_ready(const ox_tensor *t);
OX_API ox_status ox_wait(ox_tensor *t);

OX_EXTERN_C_END
#endif
