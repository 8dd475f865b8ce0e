/* The pipeline cache on disk: compiled shaders outlive the process.
 * A file starts with a header of ours that names the driver and sums up what follows; anything that does not
 * fit is ignored, and written anew when the device closes. Used where a path is given. */

#ifndef OX_NO_STDIO

typedef struct oxi_vk_cache_header {
    char magic[8];
    uint32_t vendor, device, driver, unused;
    uint64_t bytes, sum;
    uint8_t uuid[VK_UUID_SIZE];
} oxi_vk_cache_header;

static oxi_vk_cache_header oxi_vk_cache_header_of(const oxi_vk_device *d, const void *data, uint64_t bytes) {
    VkPhysicalDeviceProperties p;
    oxi_vk_cache_header h;
    vkGetPhysicalDeviceProperties(d->physical, &p);
    memset(&h, 0, sizeof h);
    memcpy(h.magic, "oxvkpc1", 8);
    h.vendor = p.vendorID;
    h.device = p.deviceID;
    h.driver = p.driverVersion;
    h.bytes = bytes;
    h.sum = oxi_vk_hash(data, (size_t)bytes);
    memcpy(h.uuid, p.pipelineCacheUUID, sizeof h.uuid);
    return h;
}

/* The driver's bytes of a mapped file, or NULL. */
static const void *oxi_vk_cache_bytes(const oxi_vk_device *d, const oxi_mapping *file, size_t *bytes) {
    if (file->bytes < sizeof(oxi_vk_cache_header)) return NULL;
    const unsigned char *data = file->data + sizeof(oxi_vk_cache_header);
    *bytes = file->bytes - sizeof(oxi_vk_cache_header);
    oxi_vk_cache_header h = oxi_vk_cache_header_of(d, data, *bytes);
    return memcmp(&h, file->data, sizeof h) == 0 ? data : NULL;
}

static void oxi_vk_save_cache(oxi_vk_device *d) {
    size_t bytes = 0;
    if (!d->cache_path || d->lost) return;
    if (d->vk.vkGetPipelineCacheData(d->device, d->cache, &bytes, NULL) != VK_SUCCESS) return;
    void *data = oxi_alloc(bytes);
    size_t room = bytes;
    if (data && d->vk.vkGetPipelineCacheData(d->device, d->cache, &bytes, data) == VK_SUCCESS) {
        oxi_vk_cache_header h = oxi_vk_cache_header_of(d, data, bytes);
        FILE *file = fopen(d->cache_path, "wb");
        if (file) {
            bool written = fwrite(&h, sizeof h, 1, file) == 1 && fwrite(data, bytes, 1, file) == 1;
            bool closed = fclose(file) == 0;
            if (!written || !closed) (void)remove(d->cache_path);
        }
    }
    oxi_free(data, room);
}

static void oxi_vk_forget_cache_path(oxi_vk_device *d) {
    if (d->cache_path) oxi_free(d->cache_path, strlen(d->cache_path) + 1);
    d->cache_path = NULL;
}

static ox_status oxi_vk_load_cache(oxi_vk_device *d, const char *path) {
    char *kept = (char *)oxi_alloc(strlen(path) + 1);
    if (!kept) return OX_ERR_NOMEM;
    memcpy(kept, path, strlen(path) + 1);
    oxi_vk_forget_cache_path(d);
    d->cache_path = kept;
    FILE *there = fopen(path, "rb"); /* a missing file is no error */
    if (!there) return OX_OK;
    (void)fclose(there);
    oxi_mapping file;
    ox_status status = oxi_map_file(path, false, &file);
    if (status != OX_OK) return status;
    size_t bytes = 0;
    const void *data = oxi_vk_cache_bytes(d, &file, &bytes);
    if (data) {
        VkPipelineCache old = d->cache;
        status = oxi_vk_make_cache(d, data, bytes);
        if (status == OX_OK)
            d->vk.vkDestroyPipelineCache(d->device, old, NULL);
        else
            d->cache = old;
    }
    oxi_unmap_file(&file);
    return status;
}

#else
static void oxi_vk_save_cache(oxi_vk_device *d) {
    (void)d;
}
static void oxi_vk_forget_cache_path(oxi_vk_device *d) {
    (void)d;
}
static ox_status oxi_vk_load_cache(oxi_vk_device *d, const char *path) {
    (void)path;
    return oxi_fail(OX_ERR_UNSUPPORTED, "vulkan_pipeline_cache: %s: no files in this build (OX_NO_STDIO)",
                    d->device_name);
}
#endif
