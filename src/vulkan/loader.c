/* Finding, opening and closing devices. One VkInstance serves all that ox_vulkan opens; a device that the
 * caller made comes with its own. All that is optional is asked for by name and noted in `caps`, nothing else
 * is ever assumed. Called by the public functions of this part and, at the end of the process, through
 * ox_shutdown. */

static oxi_vk_device oxi_vk_devices[OXI_VK_DEVICES];
static oxi_lock oxi_vk_open_lock;

/* The instance and its physical devices in the order of ox_vulkan. */
static struct {
    bool tried;
    VkResult result;
    VkInstance instance;
    VkPhysicalDevice physical[OXI_VK_DEVICES];
    int count;
} oxi_vk_host;

/* ---- the instance -------------------------------------------------------------------------------------- */

static const char *oxi_vk_type_name(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "software";
    default: return "other";
    }
}

static int oxi_vk_rank(VkPhysicalDevice physical) {
    VkPhysicalDeviceProperties p;
    vkGetPhysicalDeviceProperties(physical, &p);
    switch (p.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 4;
    default: return 3;
    }
}

static void oxi_vk_move_first(int at) {
    VkPhysicalDevice chosen = oxi_vk_host.physical[at];
    for (int i = at; i > 0; i--) oxi_vk_host.physical[i] = oxi_vk_host.physical[i - 1];
    oxi_vk_host.physical[0] = chosen;
}

/* Discrete first, in the driver's order otherwise; the one that OX_VULKAN_DEVICE names before all. */
static void oxi_vk_sort_devices(void) {
    VkPhysicalDevice *list = oxi_vk_host.physical;
    for (int i = 1; i < oxi_vk_host.count; i++)
        for (int j = i; j > 0 && oxi_vk_rank(list[j]) < oxi_vk_rank(list[j - 1]); j--) {
            VkPhysicalDevice swap = list[j];
            list[j] = list[j - 1];
            list[j - 1] = swap;
        }
    const char *wanted = getenv("OX_VULKAN_DEVICE");
    if (!wanted || !*wanted) return;
    char *end = NULL;
    long number = strtol(wanted, &end, 10);
    if (!*end && number >= 0 && number < oxi_vk_host.count) oxi_vk_move_first((int)number);
    for (int i = 0; *end && i < oxi_vk_host.count; i++) {
        VkPhysicalDeviceProperties p;
        vkGetPhysicalDeviceProperties(list[i], &p);
        if (!strstr(p.deviceName, wanted)) continue;
        oxi_vk_move_first(i);
        return;
    }
}

static VkResult oxi_vk_make_instance(void) {
    VkResult result = volkInitialize();
    if (result != VK_SUCCESS) return result;
    if (volkGetInstanceVersion() < VK_API_VERSION_1_1) return VK_ERROR_INCOMPATIBLE_DRIVER;
    VkApplicationInfo application;
    VkInstanceCreateInfo info;
    memset(&application, 0, sizeof application);
    memset(&info, 0, sizeof info);
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pEngineName = "OxTorch";
    application.apiVersion = VK_API_VERSION_1_3;
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    result = vkCreateInstance(&info, NULL, &oxi_vk_host.instance);
    if (result == VK_SUCCESS) volkLoadInstanceOnly(oxi_vk_host.instance);
    return result;
}

static void oxi_vk_look_around(void) {
    if (oxi_vk_host.tried) return;
    oxi_vk_host.tried = true;
    oxi_vk_host.result = oxi_vk_make_instance();
    if (oxi_vk_host.result != VK_SUCCESS) return;
    uint32_t count = OXI_VK_DEVICES;
    VkResult result = vkEnumeratePhysicalDevices(oxi_vk_host.instance, &count, oxi_vk_host.physical);
    oxi_vk_host.count = result == VK_SUCCESS || result == VK_INCOMPLETE ? (int)count : 0;
    oxi_vk_sort_devices();
}

/* ---- what a device can do ------------------------------------------------------------------------------ */

typedef struct oxi_vk_features {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceFloatControlsPropertiesKHR floats;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceDriverProperties driver;
    VkPhysicalDeviceProperties2 properties;
} oxi_vk_features;

static bool oxi_vk_has_extension(const VkExtensionProperties *list, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].extensionName, name) == 0) return true;
    return false;
}

static uint32_t oxi_vk_allowed_caps(void) {
    static const struct {
        const char *name;
        uint32_t bit;
    } known[] = {
#define OXI_X(name, bit, text) {text, name},
        OX_VULKAN_CAP_LIST(OXI_X)
#undef OXI_X
    };
    const char *list = getenv("OX_VULKAN_CAPS");
    uint32_t allowed = 0;
    if (!list) return ~allowed;
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (strlen(known[i].name) == length && strncmp(known[i].name, at, length) == 0)
                allowed |= known[i].bit;
        at += length + (at[length] == ',');
    }
    return allowed;
}

#include "vulkan/matrices.c"

/* Fills the facts of a device from its physical one; caps are what it could do. */
static ox_status oxi_vk_learn(oxi_vk_device *d, const VkExtensionProperties *list, uint32_t count) {
    oxi_vk_features f;
    memset(&f, 0, sizeof f);
    f.properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    f.properties.pNext = &f.subgroup;
    f.subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    bool names_driver = oxi_vk_has_extension(list, count, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
    if (names_driver) f.subgroup.pNext = &f.driver;
    f.driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    bool controls = oxi_vk_has_extension(list, count, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
    f.floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES_KHR;
    if (controls) f.driver.pNext = &f.floats;
    if (controls && !names_driver) f.subgroup.pNext = &f.floats;
    vkGetPhysicalDeviceProperties2(d->physical, &f.properties);
    const VkPhysicalDeviceProperties *p = &f.properties.properties;
    d->limits = p->limits;
    d->api_version = p->apiVersion;
    d->type = p->deviceType;
    d->subgroup_size = f.subgroup.subgroupSize;
    (void)snprintf(d->model, sizeof d->model, "%.127s", p->deviceName);
    (void)snprintf(d->driver, sizeof d->driver, "%.60s %.60s", f.driver.driverName, f.driver.driverInfo);
    vkGetPhysicalDeviceMemoryProperties(d->physical, &d->memories);
    VkSubgroupFeatureFlags arithmetic = VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
    d->caps = 0;
    if (f.subgroup.supportedOperations & arithmetic &&
        f.subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT)
        d->caps |= OX_VULKAN_SUBGROUP;
    if (controls && f.floats.shaderDenormPreserveFloat32) d->caps |= OX_VULKAN_DENORMALS;
    if (oxi_vk_has_extension(list, count, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME)) d->caps |= OX_VULKAN_BUDGET;
    VkPhysicalDeviceFeatures core;
    vkGetPhysicalDeviceFeatures(d->physical, &core);
    if (list && core.shaderFloat64) d->caps |= OX_VULKAN_F64;
    d->caps |= oxi_vk_matrix_caps(d, list, count, &f.subgroup) | oxi_vk_dot_caps(d, list, count);
    d->caps &= oxi_vk_allowed_caps();
    if (p->apiVersion < VK_API_VERSION_1_1)
        return oxi_fail(OX_ERR_DEVICE, "%s: %s has Vulkan 1.0 only", d->device_name, d->model);
    if (p->limits.maxComputeWorkGroupInvocations < 256 || p->limits.maxComputeSharedMemorySize < 16384 ||
        p->limits.maxPerStageDescriptorStorageBuffers < OXI_VK_BINDINGS)
        return oxi_fail(OX_ERR_DEVICE, "%s: %s has workgroups of %u, %u storage buffers: too few",
                        d->device_name, d->model, p->limits.maxComputeWorkGroupInvocations,
                        p->limits.maxPerStageDescriptorStorageBuffers);
    return OX_OK;
}

static int oxi_vk_compute_family(VkPhysicalDevice physical) {
    VkQueueFamilyProperties families[16];
    uint32_t count = 16;
    int found = -1;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (int i = 0; i < (int)count; i++) {
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
        /* one without graphics, where there is one, does not wait for the desktop */
        if (found < 0 || !(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT)) found = i;
    }
    return found;
}

static ox_status oxi_vk_make_device(oxi_vk_device *d) {
    uint32_t count = 0;
    vkEnumerateDeviceExtensionProperties(d->physical, NULL, &count, NULL);
    VkExtensionProperties *list = (VkExtensionProperties *)oxi_calloc(count, sizeof *list);
    if (!list) return OX_ERR_NOMEM;
    vkEnumerateDeviceExtensionProperties(d->physical, NULL, &count, list);
    const char *names[8];
    oxi_vk_matrix_features matrices;
    uint32_t wanted = 0;
    ox_status status = oxi_vk_learn(d, list, count);
    if (d->caps & OX_VULKAN_BUDGET) names[wanted++] = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
    oxi_free(list, count * sizeof *list);
    if (status != OX_OK) return status;
    int family = oxi_vk_compute_family(d->physical);
    if (family < 0) return oxi_fail(OX_ERR_DEVICE, "%s: %s cannot compute", d->device_name, d->model);
    float priority = 1;
    VkPhysicalDeviceFeatures core;
    VkDeviceQueueCreateInfo queue;
    VkDeviceCreateInfo info;
    memset(&core, 0, sizeof core);
    memset(&queue, 0, sizeof queue);
    memset(&info, 0, sizeof info);
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = d->queue_family = (uint32_t)family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    core.shaderFloat64 = (d->caps & OX_VULKAN_F64) != 0;
    info.pEnabledFeatures = &core;
    oxi_vk_ask_matrices(d, &matrices, names, &wanted, &info);
    info.enabledExtensionCount = wanted;
    info.ppEnabledExtensionNames = names;
    VkResult result = vkCreateDevice(d->physical, &info, NULL, &d->device);
    if (result != VK_SUCCESS) return oxi_vk_check(d, result, "opening the device");
    volkLoadDeviceTable(&d->vk, d->device);
    d->vk.vkGetDeviceQueue(d->device, d->queue_family, 0, &d->queue);
    return OX_OK;
}

/* ---- what every device needs --------------------------------------------------------------------------- */

static ox_status oxi_vk_make_layouts(oxi_vk_device *d) {
    VkDescriptorSetLayoutBinding bindings[OXI_VK_BINDINGS];
    VkDescriptorSetLayoutCreateInfo info;
    memset(&info, 0, sizeof info);
    memset(bindings, 0, sizeof bindings);
    for (uint32_t i = 0; i < OXI_VK_BINDINGS; i++) {
        bindings[i].binding = i;
        bindings[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = OXI_VK_BINDINGS;
    info.pBindings = bindings;
    VkResult result = d->vk.vkCreateDescriptorSetLayout(d->device, &info, NULL, &d->buffer_layout);
    info.bindingCount = 1;
    bindings[0].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
    if (result == VK_SUCCESS)
        result = d->vk.vkCreateDescriptorSetLayout(d->device, &info, NULL, &d->param_layout);
    VkDescriptorSetLayout layouts[2];
    VkPipelineLayoutCreateInfo layout;
    memset(&layout, 0, sizeof layout);
    layouts[0] = d->param_layout;
    layouts[1] = d->buffer_layout;
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = 2;
    layout.pSetLayouts = layouts;
    if (result == VK_SUCCESS) result = d->vk.vkCreatePipelineLayout(d->device, &layout, NULL, &d->layout);
    return oxi_vk_check(d, result, "layouts");
}

static ox_status oxi_vk_make_params(oxi_vk_device *d) {
    ox_status status =
        oxi_vk_host_buffer_make(d, OXI_VK_SLOTS * OXI_VK_PARAM_ROOM, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
                                VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, &d->params);
    if (status != OX_OK) return status;
    VkDescriptorPoolSize size;
    VkDescriptorPoolCreateInfo pool;
    VkDescriptorSetAllocateInfo allocate;
    memset(&pool, 0, sizeof pool);
    memset(&allocate, 0, sizeof allocate);
    size.type = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
    size.descriptorCount = 1;
    pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool.maxSets = 1;
    pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    VkResult result = d->vk.vkCreateDescriptorPool(d->device, &pool, NULL, &d->param_pool);
    allocate.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    allocate.descriptorPool = d->param_pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &d->param_layout;
    if (result == VK_SUCCESS) result = d->vk.vkAllocateDescriptorSets(d->device, &allocate, &d->param_set);
    if (result != VK_SUCCESS) return oxi_vk_check(d, result, "descriptors");
    VkDescriptorBufferInfo buffer;
    VkWriteDescriptorSet write;
    memset(&write, 0, sizeof write);
    buffer.buffer = d->params.buffer;
    buffer.offset = 0;
    buffer.range = OXI_VK_PARAM_BYTES;
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = d->param_set;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC;
    write.pBufferInfo = &buffer;
    d->vk.vkUpdateDescriptorSets(d->device, 1, &write, 0, NULL);
    return OX_OK;
}

static ox_status oxi_vk_make_slots(oxi_vk_device *d) {
    VkCommandPoolCreateInfo pool;
    memset(&pool, 0, sizeof pool);
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = d->queue_family;
    VkResult result = d->vk.vkCreateCommandPool(d->device, &pool, NULL, &d->command_pool);
    for (int i = 0; i < OXI_VK_SLOTS && result == VK_SUCCESS; i++) {
        VkCommandBufferAllocateInfo allocate;
        VkFenceCreateInfo fence;
        memset(&allocate, 0, sizeof allocate);
        memset(&fence, 0, sizeof fence);
        allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        allocate.commandPool = d->command_pool;
        allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
        allocate.commandBufferCount = 1;
        fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
        result = d->vk.vkAllocateCommandBuffers(d->device, &allocate, &d->slot[i].commands);
        if (result == VK_SUCCESS) result = d->vk.vkCreateFence(d->device, &fence, NULL, &d->slot[i].fence);
    }
    return oxi_vk_check(d, result, "command buffers");
}

static ox_status oxi_vk_make_cache(oxi_vk_device *d, const void *data, size_t bytes) {
    VkPipelineCacheCreateInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = bytes;
    info.pInitialData = data;
    return oxi_vk_check(d, d->vk.vkCreatePipelineCache(d->device, &info, NULL, &d->cache),
                        "a pipeline cache");
}

static ox_status oxi_vk_start(oxi_vk_device *d) {
    uint64_t most = d->limits.maxStorageBufferRange, local = 0;
    int type = oxi_vk_memory_type(d, ~(uint32_t)0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    d->memory_type = type < 0 ? 0 : (uint32_t)type;
    local = d->memories.memoryHeaps[d->memories.memoryTypes[d->memory_type].heapIndex].size;
    d->tensor_bytes_most = most / OXI_VK_ALIGN * OXI_VK_ALIGN;
    d->block_bytes = (uint64_t)(local >= (uint64_t)32 << 30 ? 1024
                                : local > (uint64_t)4 << 30 ? 256
                                                            : 64)
                     << 20;
    if (d->block_bytes > d->tensor_bytes_most) d->block_bytes = d->tensor_bytes_most;
    d->epoch = 1;
    d->base.times_calls = oxi_vk_can_time(d);
    d->batch = OXI_VK_FIRST_BATCH;
    ox_status status = oxi_vk_make_layouts(d);
    if (status == OX_OK) status = oxi_vk_make_params(d);
    if (status == OX_OK) status = oxi_vk_make_slots(d);
    if (status == OX_OK) status = oxi_vk_make_cache(d, NULL, 0);
    if (status == OX_OK)
        status = oxi_vk_host_buffer_make(d, OXI_VK_STAGES * OXI_VK_STAGE_BYTES,
                                         VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                         VK_MEMORY_PROPERTY_HOST_CACHED_BIT, &d->staging);
    if (status == OX_OK) d->fault = oxi_vk_chunk_alloc(d, OXI_VK_ALIGN);
    if (status == OX_OK && !d->fault) status = OX_ERR_NOMEM;
    return status == OX_OK ? oxi_vk_clear_fault(d) : status;
}

/* Gives everything back, also what a failed start left half made. */
static void oxi_vk_stop(oxi_vk_device *d) {
    if (!d->device) return;
    if (d->recording && !d->lost) (void)oxi_vk_submit(d);
    d->vk.vkDeviceWaitIdle(d->device);
    for (oxi_vk_block *b = d->blocks, *next; b; b = next) {
        next = b->next;
        oxi_vk_block_drop(d, b);
    }
    oxi_vk_forget_sets(d);
    for (size_t i = 0; i < d->pipeline_places; i++)
        if (d->pipelines[i].pipeline) d->vk.vkDestroyPipeline(d->device, d->pipelines[i].pipeline, NULL);
    oxi_free(d->pipelines, d->pipeline_places * sizeof *d->pipelines);
    for (int i = 0; i < OXI_VK_SHADER_COUNT; i++)
        if (d->modules[i]) d->vk.vkDestroyShaderModule(d->device, d->modules[i], NULL);
    for (int i = 0; i < OXI_VK_SLOTS; i++) oxi_vk_time_stop(d, &d->slot[i]);
    for (int i = 0; i < OXI_VK_SLOTS; i++)
        if (d->slot[i].fence) d->vk.vkDestroyFence(d->device, d->slot[i].fence, NULL);
    if (d->command_pool) d->vk.vkDestroyCommandPool(d->device, d->command_pool, NULL);
    if (d->cache) d->vk.vkDestroyPipelineCache(d->device, d->cache, NULL);
    if (d->param_pool) d->vk.vkDestroyDescriptorPool(d->device, d->param_pool, NULL);
    if (d->layout) d->vk.vkDestroyPipelineLayout(d->device, d->layout, NULL);
    if (d->param_layout) d->vk.vkDestroyDescriptorSetLayout(d->device, d->param_layout, NULL);
    if (d->buffer_layout) d->vk.vkDestroyDescriptorSetLayout(d->device, d->buffer_layout, NULL);
    oxi_vk_host_buffer_drop(d, &d->params);
    oxi_vk_host_buffer_drop(d, &d->staging);
    if (!d->shared) d->vk.vkDestroyDevice(d->device, NULL);
    d->device = VK_NULL_HANDLE;
    d->open = false;
}
