/* The pipeline cache on disk: compiled shaders outlive the process.
 * A file starts with a header of ours that names the driver and sums up what follows; anything that does not
 * fit is ignored, and written anew when the device closes. A driver believes what it is given, so the sum is
 * looked at first: it finds accidents, not forgery. Used where a path is given. */

#ifndef OX_NO_STDIO

typedef struct oxi_vk_cache_header {
    char magic[8];
    uint32_t vendor, device, driver, unused;
    uint64_t bytes, sum;
    uint8_t uuid[VK_UUID_SIZE];
} oxi_vk_cache_header;

enum { OXI_VK_CACHE_MOST = 1 << 30 }; /* bytes of a file that is believed: drivers write far fewer */

/* Of a file that this driver wrote, but for what follows the header. */
static oxi_vk_cache_header oxi_vk_cache_header_of(const oxi_vk_device *d) {
    VkPhysicalDeviceProperties p;
    oxi_vk_cache_header h;
    d->host.vkGetPhysicalDeviceProperties(d->physical, &p);
    memset(&h, 0, sizeof h);
    memcpy(h.magic, "oxvkpc1", 8);
    h.vendor = p.vendorID;
    h.device = p.deviceID;
    h.driver = p.driverVersion;
    memcpy(h.uuid, p.pipelineCacheUUID, sizeof h.uuid);
    return h;
}

/* The driver's bytes, to be given back with their number; NULL: another driver's, cut off or changed. */
static void *oxi_vk_read_cache(const oxi_vk_device *d, FILE *file, size_t *bytes) {
    oxi_vk_cache_header found, ours = oxi_vk_cache_header_of(d);
    if (fread(&found, sizeof found, 1, file) != 1 || found.bytes == 0 || found.bytes > OXI_VK_CACHE_MOST)
        return NULL;
    ours.bytes = found.bytes;
    ours.sum = found.sum;
    if (memcmp(&found, &ours, sizeof found) != 0) return NULL;
    *bytes = (size_t)found.bytes;
    void *data = oxi_try_alloc(*bytes);
    if (!data) return NULL;
    if (fread(data, 1, *bytes, file) == *bytes && fgetc(file) == EOF &&
        oxi_vk_hash(data, *bytes) == found.sum)
        return data;
    oxi_free(data, *bytes);
    return NULL;
}

/* Whole, in the place of the old one, or not at all. */
static void oxi_vk_write_cache(const oxi_vk_device *d, const void *data, size_t bytes) {
    oxi_vk_cache_header h = oxi_vk_cache_header_of(d);
    oxi_output output;
    h.bytes = bytes;
    h.sum = oxi_vk_hash(data, bytes);
    if (oxi_output_open(&output, "vulkan_pipeline_cache", d->cache_path) != OX_OK) return;
    oxi_output_write(&output, &h, sizeof h);
    oxi_output_write(&output, data, bytes);
    (void)oxi_output_finish(&output);
    (void)oxi_output_rename(&output);
}

/* A device closes well without it: nothing is told. */
static void oxi_vk_save_cache(oxi_vk_device *d) {
    const bool clear = ox_error() == OX_OK;
    size_t bytes = 0;
    if (!d->cache_path || d->lost) return;
    if (d->vk.vkGetPipelineCacheData(d->device, d->cache, &bytes, NULL) != VK_SUCCESS) return;
    void *data = oxi_try_alloc(bytes);
    size_t room = bytes;
    if (data && d->vk.vkGetPipelineCacheData(d->device, d->cache, &bytes, data) == VK_SUCCESS)
        oxi_vk_write_cache(d, data, bytes);
    oxi_free(data, room);
    if (clear) ox_error_clear();
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
    FILE *file = fopen(path, "rb"); /* a missing file is nothing to be told of, nor one of another kind */
    if (!file) return OX_OK;
    size_t bytes = 0;
    void *data = oxi_vk_read_cache(d, file, &bytes);
    (void)fclose(file);
    if (!data) return OX_OK;
    VkPipelineCache old = d->cache;
    bool clear = ox_error() == OX_OK;
    if (oxi_vk_make_cache(d, data, bytes) == OX_OK) {
        d->vk.vkDestroyPipelineCache(d->device, old, NULL);
    } else {
        d->cache = old;
        if (clear) ox_error_clear();
    }
    oxi_free(data, bytes);
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
