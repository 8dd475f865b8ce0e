/* What every open device has: layouts, parameters, command buffers, staging memory; and giving it all back.
 * Made once by oxi_vk_start, so that recording asks the driver for nothing but new pipelines and sets.
 * Called by device.c when a device is opened, and when it is closed. */

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
    VkDescriptorSetLayout layouts[OXI_VK_DESCRIPTOR_SETS];
    VkPipelineLayoutCreateInfo layout;
    d->pushed_bytes = OXI_VK_PUSHED_LEAST;
    if (d->limits.maxPushConstantsSize >= OXI_VK_PUSHED_MOST) d->pushed_bytes = OXI_VK_PUSHED_MOST;
    const VkPushConstantRange pushed = {VK_SHADER_STAGE_COMPUTE_BIT, 0, d->pushed_bytes};
    memset(&layout, 0, sizeof layout);
    layouts[OXI_VK_PARAM_SET] = d->param_layout;
    layouts[OXI_VK_BLOCK_SET] = d->buffer_layout;
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = OXI_VK_DESCRIPTOR_SETS;
    layout.pSetLayouts = layouts;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &pushed;
    if (result == VK_SUCCESS) result = d->vk.vkCreatePipelineLayout(d->device, &layout, NULL, &d->layout);
    return oxi_vk_check(d, result, "layouts");
}

static ox_status oxi_vk_make_params(oxi_vk_device *d) {
    ox_status status =
        oxi_vk_host_buffer_make(d, OXI_VK_SLOTS * OXI_VK_PARAM_ROOM, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
                                VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, &d->params);
    if (status != OX_OK) return status;
    d->noted_params = (char *)oxi_calloc(1, OXI_VK_PARAM_ROOM);
    if (!d->noted_params) return OX_ERR_NOMEM;
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

/* A command buffer in a pool of its own, which is reset as a whole. */
static VkResult oxi_vk_make_commands(oxi_vk_device *d, uint32_t family, VkCommandPool *pool,
                                     VkCommandBuffer *commands) {
    VkCommandPoolCreateInfo info;
    VkCommandBufferAllocateInfo allocate;
    memset(&info, 0, sizeof info);
    memset(&allocate, 0, sizeof allocate);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    info.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    info.queueFamilyIndex = family;
    VkResult result = d->vk.vkCreateCommandPool(d->device, &info, NULL, pool);
    if (result != VK_SUCCESS) return result;
    allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    allocate.commandPool = *pool;
    allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    allocate.commandBufferCount = 1;
    return d->vk.vkAllocateCommandBuffers(d->device, &allocate, commands);
}

static ox_status oxi_vk_make_slots(oxi_vk_device *d) {
    VkResult result = VK_SUCCESS;
    for (int i = 0; i < OXI_VK_SLOTS && result == VK_SUCCESS; i++) {
        VkFenceCreateInfo fence;
        memset(&fence, 0, sizeof fence);
        fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
        result = oxi_vk_make_commands(d, d->queue_family, &d->slot[i].pool, &d->slot[i].commands);
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
    d->block_bytes = (uint64_t)(local >= (uint64_t)64 << 30 ? 4096
                                : local >= (uint64_t)32 << 30 ? 1024
                                : local > (uint64_t)4 << 30 ? 256
                                                            : 64)
                     << 20;
    if (d->block_bytes > d->tensor_bytes_most) d->block_bytes = d->tensor_bytes_most;
    const uint32_t none = 0;
    const char *blocks = getenv("OX_VULKAN_BLOCKS");
    d->apart = blocks && strcmp(blocks, "apart") == 0;
#ifdef OXI_VK_BACKWARDS
    const char *order = getenv("OX_VULKAN_ORDER");
    d->backwards = order && strcmp(order, "backwards") == 0;
#endif
    d->epoch = 1;
    d->batch = OXI_VK_FIRST_BATCH;
    oxi_vk_learn_import(d);
    ox_status status = oxi_vk_make_layouts(d);
    if (status == OX_OK) status = oxi_vk_make_params(d);
    if (status == OX_OK) status = oxi_vk_make_slots(d);
    if (status == OX_OK) status = oxi_vk_make_cache(d, NULL, 0);
    if (status == OX_OK)
        status = oxi_vk_host_buffer_make(d, OXI_VK_STAGES * OXI_VK_STAGE_BYTES,
                                         VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                         VK_MEMORY_PROPERTY_HOST_CACHED_BIT, &d->staging);
    if (status == OX_OK) status = oxi_vk_carry_begin(d);
    if (status == OX_OK) d->fault = oxi_vk_chunk_alloc(d, OXI_VK_ALIGN);
    if (status == OX_OK && !d->fault) status = OX_ERR_NOMEM;
    if (status == OX_OK)
        status = oxi_vk_upload(d, d->fault, 4 * OXI_VK_ARRIVED, (const char *)&none, sizeof none);
    return status == OX_OK ? oxi_vk_clear_fault(d) : status;
}

/* Gives everything back, also what a failed start left half made. */
static void oxi_vk_stop(oxi_vk_device *d) {
    if (!d->device) return;
    /* of a shared device only our own work: others may be using its queues */
    if (!d->lost) (void)oxi_vk_submit(d);
    if (!d->lost) (void)oxi_vk_wait(d, d->serial);
    if (!d->shared) d->vk.vkDeviceWaitIdle(d->device);
    oxi_vk_pins_stop(d);
    for (oxi_vk_block *b = d->blocks, *next; b; b = next) {
        next = b->next;
        oxi_vk_block_drop(d, b);
    }
    for (oxi_vk_chunk *slab = d->chunk_slabs, *next; slab; slab = next) {
        next = slab->after;
        oxi_free(slab, OXI_VK_CHUNK_SLAB * sizeof *slab);
    }
    d->chunk_slabs = d->spare_chunks = NULL;
    oxi_vk_forget_sets(d);
    for (size_t i = 0; i < d->pipelines.places; i++)
        if (d->pipelines.values[i])
            d->vk.vkDestroyPipeline(d->device, (VkPipeline)d->pipelines.values[i], NULL);
    oxi_vk_table_drop(&d->pipelines);
    for (int i = 0; i < OXI_VK_SLOTS; i++) oxi_vk_time_stop(d, &d->slot[i]);
    for (int i = 0; i < OXI_VK_SLOTS; i++) {
        if (d->slot[i].fence) d->vk.vkDestroyFence(d->device, d->slot[i].fence, NULL);
        if (d->slot[i].pool) d->vk.vkDestroyCommandPool(d->device, d->slot[i].pool, NULL);
    }
    oxi_free(d->commands, d->command_room * sizeof *d->commands);
    oxi_free(d->noted_params, OXI_VK_PARAM_ROOM);
    oxi_free(d->noted, OXI_VK_STAMPS * sizeof *d->noted);
    if (d->cache) d->vk.vkDestroyPipelineCache(d->device, d->cache, NULL);
    if (d->param_pool) d->vk.vkDestroyDescriptorPool(d->device, d->param_pool, NULL);
    if (d->layout) d->vk.vkDestroyPipelineLayout(d->device, d->layout, NULL);
    if (d->param_layout) d->vk.vkDestroyDescriptorSetLayout(d->device, d->param_layout, NULL);
    if (d->buffer_layout) d->vk.vkDestroyDescriptorSetLayout(d->device, d->buffer_layout, NULL);
    oxi_vk_carry_stop(d);
    oxi_vk_ahead_stop(d);
    oxi_vk_host_buffer_drop(d, &d->params);
    oxi_vk_host_buffer_drop(d, &d->staging);
    if (!d->shared) d->vk.vkDestroyDevice(d->device, NULL);
    d->device = VK_NULL_HANDLE;
    d->open = false;
}
