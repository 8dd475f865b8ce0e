/* What a device can do beyond the baseline: one row for each extension, what is found of them, restricted by
 * OX_VULKAN_CAPS, and a VkDevice that has all of it switched on; nothing else is ever assumed. Structures and
 * numbers are our own where headers may be older than an extension (from the Vulkan registry). Called by
 * device.c, and by share.c for a device that somebody else made. */

enum {
    OXI_VK_MATRIX_PROPERTIES = 1000506001,
    OXI_VK_COMPONENT_F16 = 0,
    OXI_VK_COMPONENT_F32 = 1,
    OXI_VK_COMPONENT_BF16 = 1000141000,
    OXI_VK_SCOPE_SUBGROUP = 3
};

/* All feature structures that are used here are a header and a few booleans. */
typedef struct oxi_vk_feature {
    int32_t type; /* VkStructureType */
    void *next;
    VkBool32 has[4];
} oxi_vk_feature;

typedef struct oxi_vk_extension {
    uint32_t caps; /* those that need it */
    const char *name;
    uint32_t core;    /* the version of Vulkan that has it anyway; 0 = none */
    int32_t features; /* VkStructureType of its features; 0 = none are switched on */
    uint32_t wanted;  /* which of their booleans, a bit each */
} oxi_vk_extension;

static const oxi_vk_extension oxi_vk_extensions[] = {
    {OX_VULKAN_CAP_F16 | OX_VULKAN_CAP_COOPERATIVE, "VK_KHR_shader_float16_int8", VK_API_VERSION_1_2,
     1000082000, 1},
    /* the model, and its scope of the whole device */
    {OX_VULKAN_CAP_COOPERATIVE | OX_VULKAN_CAP_BF16, "VK_KHR_vulkan_memory_model", VK_API_VERSION_1_2,
     1000211000, 3},
    {OX_VULKAN_CAP_COOPERATIVE | OX_VULKAN_CAP_BF16, "VK_KHR_cooperative_matrix", 0, 1000506000, 1},
    /* buffers of 16 bits: what tiles write */
    {OX_VULKAN_CAP_COOPERATIVE | OX_VULKAN_CAP_BF16, "VK_KHR_16bit_storage", VK_API_VERSION_1_1, 1000083000,
     1},
    /* the type, and matrices of it */
    {OX_VULKAN_CAP_BF16, "VK_KHR_shader_bfloat16", 0, 1000141000, 5},
    {OX_VULKAN_CAP_DOT, "VK_KHR_shader_integer_dot_product", VK_API_VERSION_1_3, 1000280000, 1},
    /* sizes that are asked for, full subgroups */
    {OX_VULKAN_CAP_SIZES, "VK_EXT_subgroup_size_control", VK_API_VERSION_1_3, 1000225002, 3},
    {OX_VULKAN_CAP_HOST_MEMORY, "VK_EXT_external_memory_host", 0, 0, 0},
    {OX_VULKAN_CAP_BUDGET, "VK_EXT_memory_budget", 0, 0, 0},
    {OX_VULKAN_CAP_PRIORITY, "VK_EXT_memory_priority", 0, 1000238000, 1},
    {OX_VULKAN_CAP_SUBNORMALS, "VK_KHR_shader_float_controls", VK_API_VERSION_1_2, 0, 0},
    {OX_VULKAN_CAP_TRANSFER, "VK_KHR_timeline_semaphore", VK_API_VERSION_1_2, 1000207000, 1},
};

enum { OXI_VK_EXTENSION_COUNT = (int)(sizeof oxi_vk_extensions / sizeof *oxi_vk_extensions) };

/* ---- what is allowed ----------------------------------------------------------------------------------- */

/* The caps that OX_VULKAN_CAPS names; all of them where it is not set. */
static ox_status oxi_vk_allowed_caps(const oxi_vk_device *d, uint32_t *allowed) {
    static const struct {
        const char *name;
        uint32_t bit;
    } known[] = {{"baseline", 0},
#define OXI_X(name, bit, text) {text, name},
                 OX_VULKAN_CAP_LIST(OXI_X)
#undef OXI_X
    };
    const char *list = getenv("OX_VULKAN_CAPS");
    *allowed = list ? 0 : ~(uint32_t)0;
    for (const char *at = list ? list : ""; *at;) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < sizeof known / sizeof *known &&
               (strlen(known[i].name) != length || strncmp(known[i].name, at, length) != 0))
            i++;
        if (i == sizeof known / sizeof *known)
            return oxi_fail(OX_ERR_ARG, "%s: OX_VULKAN_CAPS: \"%.*s\" is none of \"baseline\"%s",
                            d->device_name, (int)(length < 64 ? length : 64), at,
#define OXI_X(name, bit, text) ", \"" text "\""
                            OX_VULKAN_CAP_LIST(OXI_X)
#undef OXI_X
            );
        *allowed |= known[i].bit;
        at += length + (at[length] == ',');
    }
    return OX_OK;
}

/* ---- what is found ------------------------------------------------------------------------------------- */

static bool oxi_vk_has_extension(const VkExtensionProperties *list, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].extensionName, name) == 0) return true;
    return false;
}

/* Caps whose extensions are all there, with the features that are wanted of them. */
static uint32_t oxi_vk_found_caps(const oxi_vk_device *d, const VkExtensionProperties *list, uint32_t count) {
    oxi_vk_feature features[OXI_VK_EXTENSION_COUNT];
    VkPhysicalDeviceFeatures2 all;
    uint32_t missing = 0, any = 0;
    memset(features, 0, sizeof features);
    memset(&all, 0, sizeof all);
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    for (int i = 0; i < OXI_VK_EXTENSION_COUNT; i++) {
        const oxi_vk_extension *x = &oxi_vk_extensions[i];
        bool core = x->core && d->api_version >= x->core;
        any |= x->caps;
        if (!core && !oxi_vk_has_extension(list, count, x->name))
            missing |= x->caps;
        else if (x->features) {
            features[i].type = x->features;
            features[i].next = all.pNext;
            all.pNext = &features[i];
        }
    }
    d->host.vkGetPhysicalDeviceFeatures2(d->physical, &all);
    for (int i = 0; i < OXI_VK_EXTENSION_COUNT; i++)
        for (int k = 0; k < 4; k++)
            if (oxi_vk_extensions[i].wanted >> k & 1 && !features[i].has[k])
                missing |= oxi_vk_extensions[i].caps;
    return (any & ~missing) | (all.features.shaderFloat64 ? (uint32_t)OX_VULKAN_CAP_F64 : 0u);
}

/* ---- cooperative matrices ------------------------------------------------------------------------------ */

typedef struct oxi_vk_matrix {
    int32_t type;
    void *next;
    uint32_t m, n, k;
    int32_t a, b, c, result; /* VkComponentTypeKHR */
    VkBool32 saturates;
    int32_t scope; /* VkScopeKHR */
} oxi_vk_matrix;

typedef VkResult(VKAPI_PTR *oxi_vk_list_matrices)(VkPhysicalDevice physical, uint32_t *count,
                                                  oxi_vk_matrix *out);

/* The side of square matrices of this component with f32 sums: 16 before 8; 0 = there are none. */
static uint32_t oxi_vk_matrix_side(const oxi_vk_device *d, int32_t component) {
    oxi_vk_list_matrices list = (oxi_vk_list_matrices)d->host.vkGetInstanceProcAddr(
        d->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    oxi_vk_matrix found[64];
    uint32_t count = 0, side = 0;
    if (!list || list(d->physical, &count, NULL) != VK_SUCCESS) return 0;
    if (count > 64) count = 64;
    memset(found, 0, sizeof found);
    for (uint32_t i = 0; i < count; i++) found[i].type = OXI_VK_MATRIX_PROPERTIES;
    VkResult result = list(d->physical, &count, found);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) return 0;
    for (uint32_t i = 0; i < count; i++) {
        const oxi_vk_matrix *x = &found[i];
        bool square = x->m == x->n && x->n == x->k && (x->m == 16 || x->m == 8);
        bool sums = x->c == OXI_VK_COMPONENT_F32 && x->result == OXI_VK_COMPONENT_F32;
        if (square && sums && x->a == component && x->b == component && x->scope == OXI_VK_SCOPE_SUBGROUP &&
            x->m > side)
            side = x->m;
    }
    return side;
}

/* Of `caps`, those whose matrices the tiles can use; finds their side. The tiles are cut for eight subgroups
 * of at most 64. */
static uint32_t oxi_vk_usable_matrices(oxi_vk_device *d, uint32_t caps) {
    bool fits = d->subgroup_stages & VK_SHADER_STAGE_COMPUTE_BIT && d->subgroup_size <= 64 &&
                8 * d->subgroup_size <= d->limits.maxComputeWorkGroupInvocations &&
                d->limits.maxComputeSharedMemorySize >= 32768;
    d->matrix_side =
        caps & OX_VULKAN_CAP_COOPERATIVE && fits ? oxi_vk_matrix_side(d, OXI_VK_COMPONENT_F16) : 0;
    if (!d->matrix_side) return caps & ~(uint32_t)(OX_VULKAN_CAP_COOPERATIVE | OX_VULKAN_CAP_BF16);
    if (caps & OX_VULKAN_CAP_BF16 && oxi_vk_matrix_side(d, OXI_VK_COMPONENT_BF16) != d->matrix_side)
        caps &= ~(uint32_t)OX_VULKAN_CAP_BF16;
    return caps;
}

/* ---- queues -------------------------------------------------------------------------------------------- */

/* The families of a device's queues, to be given back with their number; NULL = no memory. */
static VkQueueFamilyProperties *oxi_vk_list_families(const oxi_vk_device *d, uint32_t *count) {
    d->host.vkGetPhysicalDeviceQueueFamilyProperties(d->physical, count, NULL);
    VkQueueFamilyProperties *list = (VkQueueFamilyProperties *)oxi_calloc(*count ? *count : 1, sizeof *list);
    if (list) d->host.vkGetPhysicalDeviceQueueFamilyProperties(d->physical, count, list);
    return list;
}

/* Chooses the families for computing and for transfers, and learns whether the first can tell times. */
static ox_status oxi_vk_choose_families(oxi_vk_device *d) {
    uint32_t count = 0, room;
    int compute = d->shared ? (int)d->queue_family : -1, transfer = -1;
    VkQueueFamilyProperties *list = oxi_vk_list_families(d, &count);
    if (!list) return OX_ERR_NOMEM;
    room = count ? count : 1;
    for (int i = 0; i < (int)count && !d->shared; i++) {
        VkQueueFlags flags = list[i].queueFlags;
        bool graphics = flags & VK_QUEUE_GRAPHICS_BIT;
        /* one without graphics, where there is one, does not wait for the desktop */
        if (flags & VK_QUEUE_COMPUTE_BIT && (compute < 0 || !graphics)) compute = i;
        if (flags & VK_QUEUE_TRANSFER_BIT && !(flags & VK_QUEUE_COMPUTE_BIT) && !graphics && transfer < 0)
            transfer = i;
    }
    bool fits = compute >= 0 && compute < (int)count && list[compute].queueFlags & VK_QUEUE_COMPUTE_BIT;
    d->base.times_calls = fits && d->limits.timestampPeriod > 0 && list[compute].timestampValidBits > 0;
    bool two = transfer >= 0 && list[transfer].queueCount >= OXI_VK_DIRECTIONS;
    oxi_free(list, room * sizeof *list);
    if (!fits) return oxi_fail(OX_ERR_DEVICE, "%s: %s cannot compute", d->device_name, d->model);
    d->queue_family = (uint32_t)compute;
    if (transfer < 0) d->caps &= ~(uint32_t)OX_VULKAN_CAP_TRANSFER;
    d->transfer_family = (uint32_t)(transfer < 0 ? compute : transfer);
    d->transfer_queues = two ? OXI_VK_DIRECTIONS : 1;
    return OX_OK;
}

/* ---- learning ------------------------------------------------------------------------------------------ */

/* Names, limits, subgroups and what becomes of subnormals. */
static void oxi_vk_learn_facts(oxi_vk_device *d, const VkExtensionProperties *list, uint32_t count) {
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceIDProperties names;
    VkPhysicalDeviceDriverProperties driver;
    VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes;
    VkPhysicalDeviceFloatControlsPropertiesKHR floats;
    VkPhysicalDeviceProperties2 all;
    memset(&floats, 0, sizeof floats);
    memset(&sizes, 0, sizeof sizes);
    memset(&subgroup, 0, sizeof subgroup);
    memset(&names, 0, sizeof names);
    memset(&driver, 0, sizeof driver);
    memset(&all, 0, sizeof all);
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    all.pNext = &subgroup;
    subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    if (oxi_vk_has_extension(list, count, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)) subgroup.pNext = &driver;
    sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT;
    sizes.pNext = subgroup.pNext;
    if (oxi_vk_has_extension(list, count, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
        subgroup.pNext = &sizes;
    floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES_KHR;
    floats.pNext = subgroup.pNext;
    if (oxi_vk_has_extension(list, count, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME))
        subgroup.pNext = &floats;
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    names.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    names.pNext = subgroup.pNext;
    subgroup.pNext = &names;
    d->host.vkGetPhysicalDeviceProperties2(d->physical, &all);
    d->limits = all.properties.limits;
    d->api_version = all.properties.apiVersion;
    d->type = all.properties.deviceType;
    d->subgroup_size = subgroup.subgroupSize;
    d->subgroup_stages = subgroup.supportedStages;
    d->sized_stages = sizes.requiredSubgroupSizeStages;
    d->subgroups_most = sizes.maxComputeWorkgroupSubgroups;
    memcpy(d->base.uuid, names.deviceUUID, sizeof d->base.uuid);
    d->keeps_subnormals = floats.shaderDenormPreserveFloat32;
    (void)snprintf(d->model, sizeof d->model, "%.127s", all.properties.deviceName);
    (void)snprintf(d->driver, sizeof d->driver, "%.60s %.60s", driver.driverName, driver.driverInfo);
    d->host.vkGetPhysicalDeviceMemoryProperties(d->physical, &d->memories);
    const VkSubgroupFeatureFlags both = VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
    if ((subgroup.supportedOperations & both) == both &&
        subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT)
        d->caps |= OX_VULKAN_CAP_SUBGROUP;
}

static ox_status oxi_vk_check_limits(const oxi_vk_device *d) {
    if (d->api_version < VK_API_VERSION_1_1)
        return oxi_fail(OX_ERR_DEVICE, "%s: %s has Vulkan 1.0 only", d->device_name, d->model);
    if (d->limits.maxComputeWorkGroupInvocations < OXI_VK_THREADS ||
        d->limits.maxComputeSharedMemorySize < 16384 ||
        d->limits.maxPerStageDescriptorStorageBuffers < OXI_VK_BINDINGS)
        return oxi_fail(OX_ERR_DEVICE, "%s: %s has workgroups of %u, %u storage buffers: too few",
                        d->device_name, d->model, d->limits.maxComputeWorkGroupInvocations,
                        d->limits.maxPerStageDescriptorStorageBuffers);
    return OX_OK;
}

/* Fills the facts of a device from its physical one; caps are those of `offered` that it has and may use. */
static ox_status oxi_vk_learn(oxi_vk_device *d, uint32_t offered) {
    uint32_t count = 0, room, allowed = 0;
    d->host.vkEnumerateDeviceExtensionProperties(d->physical, NULL, &count, NULL);
    room = count ? count : 1;
    VkExtensionProperties *list = (VkExtensionProperties *)oxi_calloc(room, sizeof *list);
    if (!list) return OX_ERR_NOMEM;
    d->host.vkEnumerateDeviceExtensionProperties(d->physical, NULL, &count, list);
    d->caps = 0;
    oxi_vk_learn_facts(d, list, count);
    ox_status status = oxi_vk_check_limits(d);
    if (status == OX_OK) status = oxi_vk_allowed_caps(d, &allowed);
    if (status == OX_OK) {
        d->caps = (d->caps | oxi_vk_found_caps(d, list, count)) & allowed & offered;
        d->caps = oxi_vk_usable_matrices(d, d->caps);
        if (!(d->sized_stages & VK_SHADER_STAGE_COMPUTE_BIT)) d->caps &= ~(uint32_t)OX_VULKAN_CAP_SIZES;
        if (!d->keeps_subnormals) d->caps &= ~(uint32_t)OX_VULKAN_CAP_SUBNORMALS;
        status = oxi_vk_choose_families(d);
    }
    oxi_free(list, room * sizeof *list);
    return status;
}

/* ---- a VkDevice ---------------------------------------------------------------------------------------- */

/* Names the extensions that d->caps use and chains their features; how many names. */
static uint32_t oxi_vk_ask_extensions(const oxi_vk_device *d, oxi_vk_feature *features, const char **names,
                                      VkDeviceCreateInfo *info) {
    uint32_t count = 0;
    for (int i = 0; i < OXI_VK_EXTENSION_COUNT; i++) {
        const oxi_vk_extension *x = &oxi_vk_extensions[i];
        if (!(d->caps & x->caps)) continue;
        if (!x->core || d->api_version < x->core) names[count++] = x->name;
        if (!x->features) continue;
        memset(&features[i], 0, sizeof features[i]);
        features[i].type = x->features;
        features[i].next = (void *)(uintptr_t)info->pNext;
        info->pNext = &features[i];
        for (int k = 0; k < 4; k++) features[i].has[k] = x->wanted >> k & 1;
    }
    return count;
}

static ox_status oxi_vk_make_device(oxi_vk_device *d) {
    const float priority[OXI_VK_DIRECTIONS] = {1, 1};
    const char *names[OXI_VK_EXTENSION_COUNT];
    oxi_vk_feature features[OXI_VK_EXTENSION_COUNT];
    VkPhysicalDeviceFeatures core;
    VkDeviceQueueCreateInfo queue[2];
    VkDeviceCreateInfo info;
    ox_status status = oxi_vk_learn(d, ~(uint32_t)0);
    if (status != OX_OK) return status;
    memset(&core, 0, sizeof core);
    memset(queue, 0, sizeof queue);
    memset(&info, 0, sizeof info);
    for (int i = 0; i < 2; i++) {
        queue[i].sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queue[i].queueFamilyIndex = i ? d->transfer_family : d->queue_family;
        queue[i].queueCount = i ? d->transfer_queues : 1;
        queue[i].pQueuePriorities = priority;
    }
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.queueCreateInfoCount = d->caps & OX_VULKAN_CAP_TRANSFER ? 2 : 1;
    info.pQueueCreateInfos = queue;
    core.shaderFloat64 = (d->caps & OX_VULKAN_CAP_F64) != 0;
    info.pEnabledFeatures = &core;
    info.enabledExtensionCount = oxi_vk_ask_extensions(d, features, names, &info);
    info.ppEnabledExtensionNames = names;
    VkResult result = d->host.vkCreateDevice(d->physical, &info, NULL, &d->device);
    if (result != VK_SUCCESS) {
        d->device = VK_NULL_HANDLE;
        return oxi_vk_check(d, result, "opening the device");
    }
    if (!oxi_vk_load_device(&d->host, d->device, &d->vk))
        return oxi_fail(OX_ERR_DEVICE, "%s: %s lacks functions of Vulkan 1.1", d->device_name, d->model);
    d->vk.vkGetDeviceQueue(d->device, d->queue_family, 0, &d->queue);
    for (uint32_t way = 0; way < OXI_VK_DIRECTIONS && d->caps & OX_VULKAN_CAP_TRANSFER; way++)
        if (way < d->transfer_queues)
            d->vk.vkGetDeviceQueue(d->device, d->transfer_family, way, &d->transfer_queue[way]);
        else
            d->transfer_queue[way] = d->transfer_queue[0];
    return OX_OK;
}
