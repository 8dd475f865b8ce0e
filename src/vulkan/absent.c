/* oxtorch_vulkan.h compiled without volk.h: the same functions, which say why there is no device.
 * A program that includes the header builds and runs anywhere.
 * Included in place of all other parts of vulkan/. */

static ox_status oxi_vk_absent(void) {
    return oxi_fail(OX_ERR_DEVICE, "vulkan: this program was compiled without volk.h and the Vulkan headers");
}

OX_API ox_device *ox_vulkan(int index) {
    (void)index;
    (void)oxi_vk_absent();
    return NULL;
}
OX_API int ox_vulkan_count(void) {
    return 0;
}
OX_API ox_status ox_vulkan_use_loader(ox_vulkan_loader loader) {
    (void)loader;
    return oxi_vk_absent();
}
OX_API ox_status ox_vulkan_get_info(ox_device *device, ox_vulkan_info *out) {
    (void)device;
    if (out) memset(out, 0, sizeof *out);
    return oxi_vk_absent();
}
OX_API ox_device *ox_vulkan_open(const ox_vulkan_desc *desc) {
    (void)desc;
    (void)oxi_vk_absent();
    return NULL;
}
OX_API uint64_t ox_vulkan_buffer_of(ox_tensor *t, uint64_t *byte_offset) {
    (void)t;
    (void)byte_offset;
    (void)oxi_vk_absent();
    return 0;
}
OX_API ox_tensor *ox_vulkan_from_buffer(ox_device *device, uint64_t buffer, uint64_t byte_offset,
                                        uint64_t bytes, ox_shape shape, ox_dtype dtype, ox_release_fn release,
                                        void *user) {
    (void)device;
    (void)buffer;
    (void)byte_offset;
    (void)bytes;
    (void)shape;
    (void)dtype;
    (void)release;
    (void)user;
    (void)oxi_vk_absent();
    return NULL;
}
OX_API ox_status ox_vulkan_pipeline_cache(ox_device *device, const char *path) {
    (void)device;
    (void)path;
    return oxi_vk_absent();
}
OX_API ox_vulkan_stats ox_vulkan_get_stats(ox_device *device) {
    ox_vulkan_stats none;
    (void)device;
    memset(&none, 0, sizeof none);
    return none;
}
