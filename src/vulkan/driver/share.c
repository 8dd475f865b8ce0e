/* Sharing with a program that uses Vulkan itself: its device becomes ours, buffers go both ways.
 * Nothing here is needed by a program that only computes.
 * A buffer of the caller is a block of its own, without memory that we would free. */

static oxi_vk_device *oxi_vk_free_place(void) {
    for (int i = OXI_VK_DEVICES - 1; i >= oxi_vk_host.count; i--)
        if (!oxi_vk_devices[i].open && !oxi_vk_devices[i].inherited) return &oxi_vk_devices[i];
    return NULL;
}

/* The functions of the caller's instance and device. */
static ox_status oxi_vk_adopt_functions(oxi_vk_device *d, const ox_vulkan_desc *desc) {
    union { /* from the pointer type of a header without Vulkan */
        ox_vulkan_loader given;
        PFN_vkGetInstanceProcAddr wanted;
    } function;
    function.given = desc->get_instance_proc_addr;
    PFN_vkGetInstanceProcAddr loader = function.given ? function.wanted : oxi_vk_system_loader();
    if (!loader) return oxi_fail(OX_ERR_DEVICE, "vulkan_open: no Vulkan loader on this machine");
    (void)oxi_vk_load_global(loader, &d->host); /* some loaders give them without an instance only */
    if (!oxi_vk_load_instance(d->instance, &d->host) || !oxi_vk_load_device(&d->host, d->device, &d->vk))
        return oxi_fail(OX_ERR_DEVICE,
                        "vulkan_open: the instance or the device lacks functions of Vulkan 1.1");
    return OX_OK;
}

static ox_device *oxi_vk_adopt(const ox_vulkan_desc *desc) {
    oxi_vk_device *d = oxi_vk_free_place();
    if (!d) {
        (void)oxi_fail(OX_ERR_DEVICE, "vulkan_open: %d devices are open already", OXI_VK_DEVICES);
        return NULL;
    }
    memset(d, 0, sizeof *d);
    d->shared = true;
    d->place = (int)(d - oxi_vk_devices);
    d->instance = (VkInstance)desc->instance;
    d->physical = (VkPhysicalDevice)desc->physical_device;
    d->device = (VkDevice)desc->device;
    d->queue = (VkQueue)desc->queue;
    d->queue_family = desc->queue_family;
    d->host_lock = desc->lock;
    d->host_unlock = desc->unlock;
    d->host_user = desc->user;
    (void)snprintf(d->device_name, sizeof d->device_name, "vulkan:%d", d->place);
    if (oxi_vk_adopt_functions(d, desc) != OX_OK) return NULL;
    /* a queue for transfers would be a second one of the caller's */
    if (oxi_vk_learn(d, (desc->caps | OX_VULKAN_CAP_SUBGROUP) & ~(uint32_t)OX_VULKAN_CAP_TRANSFER) != OX_OK)
        return NULL;
    ox_device *device = oxi_vk_open(d);
    if (device && desc->pipeline_cache && ox_vulkan_pipeline_cache(device, desc->pipeline_cache) != OX_OK) {
        (void)ox_device_close(device);
        return NULL;
    }
    return device;
}

OX_API ox_device *ox_vulkan_open(const ox_vulkan_desc *desc) {
    if (!desc || !desc->instance || !desc->physical_device || !desc->device || !desc->queue ||
        !desc->lock != !desc->unlock) {
        (void)oxi_fail(OX_ERR_ARG,
                       "vulkan_open: instance, physical device, device and queue are wanted, and lock "
                       "and unlock both or neither");
        return NULL;
    }
    oxi_lock_take(&oxi_vk_open_lock);
    ox_device *device = oxi_vk_adopt(desc);
    oxi_lock_give(&oxi_vk_open_lock);
    return device;
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

OX_API uint64_t ox_vulkan_buffer_of(ox_tensor *t, uint64_t *byte_offset) {
    if (oxi_any_null("vulkan_buffer_of", &t, 1)) return 0;
    oxi_vk_device *d = oxi_vk_of("vulkan_buffer_of", ox_device_of(t));
    if (!d) return 0;
    oxi_lock_take(&d->lock);
    ox_status status = oxi_vk_check_open(d);
    if (status == OX_OK) status = oxi_vk_flush(d);
    if (status == OX_OK) status = oxi_vk_submit(d);
    oxi_lock_give(&d->lock);
    if (status != OX_OK) return 0;
    if (byte_offset) *byte_offset = oxi_vk_chunk_of(t)->block->base + oxi_vk_byte_at(t);
    uint64_t handle = 0;
    memcpy(&handle, &oxi_vk_chunk_of(t)->block->buffer, sizeof(VkBuffer));
    return handle;
}

/* Tensors over bytes of this buffer begin: it may be the buffer of other tensors, too. From now on barriers
 * and queues take all that lies in such buffers for one memory, which was just written. */
static ox_status oxi_vk_lend(oxi_vk_device *d, VkBuffer buffer) {
    ox_status status = OX_OK;
    oxi_lock_take(&d->lock);
    for (oxi_vk_block *b = d->blocks; b; b = b->next)
        if (b->buffer == buffer && !b->lent) {
            status = oxi_vk_carry_wait(d);
            b->lent = true;
        }
    d->lent.written = d->epoch;
    oxi_lock_give(&d->lock);
    return status;
}

/* What a borrowed storage gives back: the block of the caller's buffer. */
typedef struct oxi_vk_loan {
    oxi_vk_device *device;
    oxi_vk_chunk *chunk;
    ox_release_fn release;
    void *user, *data;
} oxi_vk_loan;

static void oxi_vk_return_loan(void *user, void *data) {
    oxi_vk_loan *loan = (oxi_vk_loan *)user;
    oxi_vk_device *d = loan->device;
    (void)data;
    oxi_lock_take(&d->lock);
    if (d->open) { /* the caller may destroy the buffer now: nothing may be under way, no set may name it */
        (void)oxi_vk_flush(d);
        (void)oxi_vk_submit(d);
        (void)oxi_vk_wait(d, d->serial);
        oxi_vk_forget_sets(d);
    }
    oxi_lock_give(&d->lock);
    if (loan->release) loan->release(loan->user, loan->data);
    oxi_free(loan->chunk->block, sizeof *loan->chunk->block);
    oxi_free(loan->chunk, sizeof *loan->chunk);
    oxi_free(loan, sizeof *loan);
}

OX_API ox_tensor *ox_vulkan_from_buffer(ox_device *device, uint64_t buffer, uint64_t byte_offset,
                                        uint64_t bytes, ox_shape shape, ox_dtype dtype, ox_release_fn release,
                                        void *user) {
    size_t needed = 0;
    oxi_vk_device *d = oxi_vk_of("vulkan_from_buffer", device);
    if (!d || oxi_check_shape("vulkan_from_buffer", dtype, shape.ndim, shape.dim, &needed) != OX_OK)
        return NULL;
    if (!buffer || needed > bytes || bytes > d->tensor_bytes_most || byte_offset % OXI_VK_ALIGN)
        return OXI_FAIL_NULL(
            OX_ERR_ARG,
            "vulkan_from_buffer: %llu bytes of a buffer from byte %llu for %llu: at most %llu, from "
            "a multiple of %d",
            (unsigned long long)bytes, (unsigned long long)byte_offset, (unsigned long long)needed,
            (unsigned long long)d->tensor_bytes_most, OXI_VK_ALIGN);
    oxi_vk_loan *loan = (oxi_vk_loan *)oxi_calloc(1, sizeof *loan);
    oxi_vk_block *block = (oxi_vk_block *)oxi_calloc(1, sizeof *block);
    oxi_vk_chunk *chunk = (oxi_vk_chunk *)oxi_calloc(1, sizeof *chunk);
    ox_storage *storage = NULL;
    if (loan && block && chunk)
        storage = oxi_storage_borrow(device, chunk, (size_t)bytes, oxi_vk_return_loan, loan);
    if (!storage) {
        oxi_free(loan, sizeof *loan);
        oxi_free(block, sizeof *block);
        oxi_free(chunk, sizeof *chunk);
        return NULL;
    }
    memcpy(&block->buffer, &buffer, sizeof(VkBuffer));
    block->lent = true;
    block->base = byte_offset;
    block->bytes = bytes;
    chunk->block = block;
    chunk->bytes = bytes;
    chunk->used = true;
    loan->device = d;
    loan->chunk = chunk;
    loan->release = release;
    loan->user = user;
    memcpy(&loan->data, &buffer, sizeof loan->data);
    ox_tensor meta;
    oxi_meta(&meta, dtype, shape.ndim, shape.dim);
    ox_tensor *t = oxi_vk_lend(d, block->buffer) == OX_OK ? oxi_tensor_over(storage, &meta) : NULL;
    oxi_storage_release(storage); /* the tensor holds it, or it goes */
    return t;
}
