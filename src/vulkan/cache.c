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
    d->host.vkGetPhysicalDeviceProperties(d->physical, &p);
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

static bool oxi_vk_write_cache(const oxi_vk_device *d, const char *path, const void *data, size_t bytes) {
    oxi_vk_cache_header h = oxi_vk_cache_header_of(d, data, bytes);
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool written = fwrite(&h, sizeof h, 1, file) == 1 && fwrite(data, bytes, 1, file) == 1;
    return fclose(file) == 0 && written;
}

/* Written beside the old one and put in its place when it is complete. */
static void oxi_vk_save_cache(oxi_vk_device *d) {
    char beside[1024];
    size_t bytes = 0;
    if (!d->cache_path || d->lost || strlen(d->cache_path) + 5 > sizeof beside) return;
    if (d->vk.vkGetPipelineCacheData(d->device, d->cache, &bytes, NULL) != VK_SUCCESS) return;
    void *data = oxi_try_alloc(bytes);
    size_t room = bytes;
    (void)snprintf(beside, sizeof beside, "%s.new", d->cache_path);
    if (data && d->vk.vkGetPipelineCacheData(d->device, d->cache, &bytes, data) == VK_SUCCESS) {
        bool kept = oxi_vk_write_cache(d, beside, data, bytes);
        if (kept && rename(beside, d->cache_path) != 0) { /* systems that do not rename over a file */
            (void)remove(d->cache_path);
            kept = rename(beside, d->cache_path) == 0;
        }
        if (!kept) (void)remove(beside);
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
    FILE *there = fopen(path, "rb"); /* a missing file is nothing to be told of */
    if (!there) return OX_OK;
    (void)fclose(there);
    size_t bytes = 0;
    const void *data = NULL;
    oxi_mapping file;
    bool clear = ox_error() == OX_OK, mapped = oxi_map_file(path, false, &file) == OX_OK;
    if (mapped)
        data = oxi_vk_cache_bytes(d, &file, &bytes);
    else if (clear)
        ox_error_clear(); /* nor is one that cannot be read an error */
    VkPipelineCache old = d->cache;
    if (data && oxi_vk_make_cache(d, data, bytes) == OX_OK)
        d->vk.vkDestroyPipelineCache(d->device, old, NULL);
    else
        d->cache = old;
    if (mapped) oxi_unmap_file(&file);
    return OX_OK;
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
