/* Large transfers without the ring: whole pages of the host's memory become a buffer for as long as it takes
 * (VK_EXT_external_memory_host), and the device reads or writes them itself. Files' pages are slower to pin
 * than to copy, and some memory drivers refuse: that goes the usual way. Called by transfer.c. */

enum {
    OXI_VK_IMPORT_BYTES = 32 << 20, /* that are worth pinning */
    OXI_VK_IMPORT_TRIES = 8         /* that fail, after which it is not tried again */
};

static void oxi_vk_learn_import(oxi_vk_device *d) {
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host;
    VkPhysicalDeviceProperties2 all;
    if (!(d->caps & OX_VULKAN_HOST_MEMORY)) return;
    memset(&host, 0, sizeof host);
    memset(&all, 0, sizeof all);
    host.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    all.pNext = &host;
    d->host.vkGetPhysicalDeviceProperties2(d->physical, &all);
    d->import_align = host.minImportedHostPointerAlignment;
    d->host_pointer_properties = (PFN_vkGetMemoryHostPointerPropertiesEXT)d->host.vkGetDeviceProcAddr(
        d->device, "vkGetMemoryHostPointerPropertiesEXT");
}

/* The whole pages of `bytes` at `host`: how many bytes, and how many before them; 0: too few, or not here. */
static uint64_t oxi_vk_can_import(const oxi_vk_device *d, const char *host, uint64_t bytes,
                                  uint64_t *before) {
    if (!d->host_pointer_properties || d->import_align == 0 || bytes < OXI_VK_IMPORT_BYTES ||
        d->imports_failed >= OXI_VK_IMPORT_TRIES || oxi_is_file_page(host))
        return 0;
    *before = (d->import_align - (uintptr_t)host % d->import_align) % d->import_align;
    return (bytes - *before) / d->import_align * d->import_align;
}

/* Moves whole pages between a chunk and the host; false: they have to go another way. */
static bool oxi_vk_import(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t offset, const char *host,
                          uint64_t bytes, bool up, ox_status *status) {
    VkBuffer pages = VK_NULL_HANDLE, block = chunk->block->buffer;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    oxi_vk_use use;
    use.chunk = chunk;
    use.writes = up;
    VkResult result =
        oxi_vk_make_buffer(d, bytes, up ? VK_BUFFER_USAGE_TRANSFER_SRC_BIT : VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                           0, (void *)(uintptr_t)host, &pages, &memory);
    if (result != VK_SUCCESS) {
        d->imports_failed++;
        return false;
    }
    uint64_t at = oxi_vk_chunk_at(chunk, offset);
    *status = oxi_vk_touch(d, &use, 1);
    if (*status == OX_OK)
        *status = up ? oxi_vk_copy_region(d, pages, 0, block, at, bytes)
                     : oxi_vk_copy_region(d, block, at, pages, 0, bytes);
    if (*status == OX_OK) *status = oxi_vk_submit(d);
    if (*status == OX_OK) *status = oxi_vk_wait(d, d->serial);
    if (*status == OX_OK) d->counters.imports++;
    if (*status == OX_OK && up) d->counters.bytes_up += (int64_t)bytes;
    if (*status == OX_OK && !up) d->counters.bytes_down += (int64_t)bytes;
    oxi_vk_forget_commands(d); /* they name the buffer, and another may get its name */
    d->vk.vkDestroyBuffer(d->device, pages, NULL);
    d->vk.vkFreeMemory(d->device, memory, NULL);
    return true;
}
