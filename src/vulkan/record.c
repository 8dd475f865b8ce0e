/* Recording: dispatches go into the open command buffer, which is submitted when it holds enough work or when
 * somebody reads. Pipelines and descriptor sets are made the first time they are needed and found again by
 * key; barriers stand only where a dispatch meets what an earlier one of the same epoch touched. */

#define OXI_VK_LOOK_SECONDS 2e-3

static bool oxi_vk_is_nomem(VkResult result) {
    return result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
}

static ox_status oxi_vk_check(oxi_vk_device *d, VkResult result, const char *what) {
    if (result == VK_SUCCESS) return OX_OK;
    if (result == VK_ERROR_DEVICE_LOST) d->lost = true;
    if (oxi_vk_is_nomem(result))
        return oxi_fail(OX_ERR_NOMEM, "%s: out of memory for %s", d->device_name, what);
    return oxi_fail(OX_ERR_DEVICE, "%s: %s: %s (%d)", d->device_name, what,
                    result == VK_ERROR_DEVICE_LOST ? "the device was lost" : "the driver failed",
                    (int)result);
}

static ox_status oxi_vk_check_open(const oxi_vk_device *d) {
    if (!d->open) return oxi_fail(OX_ERR_DEVICE, "%s: the device was closed", d->device_name);
    if (d->lost)
        return oxi_fail(OX_ERR_DEVICE, "%s: the device was lost; close it and open it again", d->device_name);
    return OX_OK;
}

/* ---- submissions --------------------------------------------------------------------------------------- */

enum {
    OXI_VK_OUR_STAGES = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
    OXI_VK_OUR_WRITES = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
    OXI_VK_OUR_USES = OXI_VK_OUR_WRITES | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT,
    OXI_VK_ANY_USE = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT
};

/* What was written in the stages before is seen by the uses in the stages behind. */
static void oxi_vk_order(oxi_vk_device *d, VkPipelineStageFlags before, VkAccessFlags writes,
                         VkPipelineStageFlags behind, VkAccessFlags uses) {
    VkMemoryBarrier barrier;
    memset(&barrier, 0, sizeof barrier);
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = writes;
    barrier.dstAccessMask = uses;
    d->vk.vkCmdPipelineBarrier(d->slot[d->current].commands, before, behind, 0, 1, &barrier, 0, NULL, 0,
                               NULL);
}

/* Looks at a fence for a while: sleeping and waking take longer than the rest of a token's work. A device
 * that is the processor itself needs the time for its work. */
static void oxi_vk_look(oxi_vk_device *d, VkFence fence) {
    double until = oxi_now() + OXI_VK_LOOK_SECONDS;
    if (d->type == VK_PHYSICAL_DEVICE_TYPE_CPU) return;
    while (d->vk.vkGetFenceStatus(d->device, fence) == VK_NOT_READY && oxi_now() < until) continue;
}

static ox_status oxi_vk_wait(oxi_vk_device *d, int64_t serial) {
    if (serial <= d->done) return OX_OK;
    if (d->lost) return oxi_vk_check_open(d);
    for (int i = 0; i < OXI_VK_SLOTS; i++) {
        oxi_vk_slot *slot = &d->slot[i];
        if (slot->serial != serial) continue;
        d->counters.waits++;
        oxi_vk_look(d, slot->fence);
        VkResult result = d->vk.vkWaitForFences(d->device, 1, &slot->fence, VK_TRUE, UINT64_MAX);
        if (result != VK_SUCCESS) return oxi_vk_check(d, result, "waiting");
        d->done = serial; /* one queue, in order: all before it are over as well */
        for (int k = 0; k < OXI_VK_SLOTS; k++)
            if (d->slot[k].stamps > 0 && d->slot[k].serial <= serial) oxi_vk_time_end(d, &d->slot[k]);
        if (serial == d->serial) d->batch = OXI_VK_FIRST_BATCH; /* the device has nothing to do */
        return OX_OK;
    }
    d->done = serial; /* its slot has been used again, so it is over */
    return OX_OK;
}

static ox_status oxi_vk_begin(oxi_vk_device *d) {
    if (d->recording) return OX_OK;
    oxi_vk_slot *slot = &d->slot[d->current];
    ox_status status = oxi_vk_check_open(d);
    if (status == OX_OK) status = oxi_vk_wait(d, slot->serial);
    if (status != OX_OK) return status;
    VkCommandBufferBeginInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    VkResult result = d->vk.vkResetCommandPool(d->device, slot->pool, 0);
    if (result == VK_SUCCESS) result = d->vk.vkBeginCommandBuffer(slot->commands, &info);
    if (result != VK_SUCCESS) return oxi_vk_check(d, result, "a command buffer");
    slot->serial = d->serial + 1;
    slot->param_used = 0;
    d->recording = true;
    if (d->shared) /* what the program has submitted to its queue */
        oxi_vk_order(d, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT, OXI_VK_OUR_STAGES,
                     OXI_VK_OUR_USES);
    oxi_vk_time_begin(d, slot);
    return OX_OK;
}

/* Counts the submission, and lets it wait for the transfers that it needs. */
static void oxi_vk_tie_queues(oxi_vk_device *d, VkSubmitInfo *info, VkTimelineSemaphoreSubmitInfo *values,
                              uint64_t *counts) {
    static const VkPipelineStageFlags stages = OXI_VK_OUR_STAGES;
    counts[0] = (uint64_t)d->carrier.needed;
    counts[1] = (uint64_t)d->serial + 1;
    memset(values, 0, sizeof *values);
    values->sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    values->pWaitSemaphoreValues = &counts[0];
    values->pSignalSemaphoreValues = &counts[1];
    values->signalSemaphoreValueCount = info->signalSemaphoreCount = 1;
    values->waitSemaphoreValueCount = info->waitSemaphoreCount = d->carrier.needed > d->carrier.waited;
    info->pNext = values;
    info->pWaitSemaphores = &d->carrier.carried;
    info->pWaitDstStageMask = &stages;
    info->pSignalSemaphores = &d->carrier.computed;
}

static VkResult oxi_vk_queue_submit(oxi_vk_device *d, const oxi_vk_slot *slot) {
    VkTimelineSemaphoreSubmitInfo values;
    uint64_t counts[2];
    VkSubmitInfo info;
    memset(&info, 0, sizeof info);
    if (d->caps & OX_VULKAN_TRANSFER) oxi_vk_tie_queues(d, &info, &values, counts);
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &slot->commands;
    if (d->host_lock) d->host_lock(d->host_user);
    VkResult result = d->vk.vkQueueSubmit(d->queue, 1, &info, slot->fence);
    if (d->host_unlock) d->host_unlock(d->host_user);
    return result;
}

static ox_status oxi_vk_submit(oxi_vk_device *d) {
    if (!d->recording) return OX_OK;
    oxi_vk_slot *slot = &d->slot[d->current];
    /* What was written is to be seen by the host, which reads after waiting for the fence. */
    oxi_vk_order(d, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                 VK_ACCESS_HOST_READ_BIT);
    if (d->shared) /* and by what the program submits to its queue */
        oxi_vk_order(d, OXI_VK_OUR_STAGES, OXI_VK_OUR_WRITES, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                     OXI_VK_ANY_USE);
    VkResult result = d->vk.vkEndCommandBuffer(slot->commands);
    if (result == VK_SUCCESS) result = d->vk.vkResetFences(d->device, 1, &slot->fence);
    if (result == VK_SUCCESS) {
        result = oxi_vk_queue_submit(d, slot);
        if (oxi_vk_is_nomem(result) && oxi_vk_wait(d, d->serial) == OX_OK) /* it may have room again */
            result = oxi_vk_queue_submit(d, slot);
    }
    d->recording = false;
    if (result != VK_SUCCESS) {
        d->lost = true; /* what was recorded is gone, and tensors with it */
        return oxi_vk_check(d, result, "submitting");
    }
    d->serial++;
    d->carrier.waited = d->carrier.needed;
    d->counters.submits++;
    d->current = (d->current + 1) % OXI_VK_SLOTS;
    d->work = 0;
    d->recorded = 0;
    d->batch = d->batch < OXI_VK_BATCH ? 2 * d->batch : OXI_VK_BATCH;
    return OX_OK;
}

/* ---- hazards ------------------------------------------------------------------------------------------- */

static void oxi_vk_barrier(oxi_vk_device *d) {
    oxi_vk_order(d, OXI_VK_OUR_STAGES, OXI_VK_OUR_WRITES, OXI_VK_OUR_STAGES, OXI_VK_OUR_USES);
    d->counters.barriers++;
    d->epoch++;
}

static ox_status oxi_vk_touch(oxi_vk_device *d, const oxi_vk_use *use, int count) {
    ox_status status = oxi_vk_begin(d);
    bool conflict = false;
    for (int i = 0; i < count; i++) {
        const oxi_vk_chunk *c = use[i].chunk;
        conflict = conflict || c->written == d->epoch || (use[i].writes && c->read == d->epoch);
    }
    if (status == OX_OK && conflict) oxi_vk_barrier(d);
    for (int i = 0; i < count; i++) {
        oxi_vk_chunk *c = use[i].chunk;
        if (use[i].writes)
            c->written = d->epoch;
        else
            c->read = d->epoch;
        c->serial = d->serial + 1;
        if (c->carried > d->carrier.needed) d->carrier.needed = c->carried;
        d->work += c->bytes;
    }
    d->recorded++;
    return status;
}

/* ---- found by key -------------------------------------------------------------------------------------- */

static ox_status oxi_vk_new_pool(oxi_vk_device *d) {
    VkDescriptorPool *grown = (VkDescriptorPool *)oxi_realloc(d->pools, (size_t)d->pool_count * sizeof *grown,
                                                              ((size_t)d->pool_count + 1) * sizeof *grown);
    if (!grown) return OX_ERR_NOMEM;
    d->pools = grown;
    VkDescriptorPoolSize size;
    size.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    size.descriptorCount = OXI_VK_SETS * OXI_VK_BINDINGS;
    VkDescriptorPoolCreateInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = OXI_VK_SETS;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    VkResult result = d->vk.vkCreateDescriptorPool(d->device, &info, NULL, &d->pools[d->pool_count]);
    if (result != VK_SUCCESS) return oxi_vk_check(d, result, "descriptors");
    d->pool_count++;
    d->pool_used = 0;
    return OX_OK;
}

static void oxi_vk_forget_sets(oxi_vk_device *d) {
    for (int i = 0; i < d->pool_count; i++) d->vk.vkDestroyDescriptorPool(d->device, d->pools[i], NULL);
    oxi_free(d->pools, (size_t)d->pool_count * sizeof *d->pools);
    oxi_vk_table_drop(&d->sets);
    d->pools = NULL;
    d->pool_count = d->pool_used = 0;
}

static ox_status oxi_vk_make_set(oxi_vk_device *d, oxi_vk_block *const *block, VkDescriptorSet *out) {
    if (d->pool_count == 0 || d->pool_used == OXI_VK_SETS) {
        ox_status status = oxi_vk_new_pool(d);
        if (status != OX_OK) return status;
    }
    VkDescriptorSetAllocateInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = d->pools[d->pool_count - 1];
    info.descriptorSetCount = 1;
    info.pSetLayouts = &d->buffer_layout;
    VkResult result = d->vk.vkAllocateDescriptorSets(d->device, &info, out);
    if (result != VK_SUCCESS) return oxi_vk_check(d, result, "descriptors");
    d->pool_used++;
    d->counters.descriptor_sets++;
    VkDescriptorBufferInfo whole[OXI_VK_BINDINGS];
    VkWriteDescriptorSet write;
    memset(&write, 0, sizeof write);
    for (int i = 0; i < OXI_VK_BINDINGS; i++) {
        whole[i].buffer = block[i]->buffer;
        whole[i].offset = block[i]->base;
        whole[i].range = block[i]->bytes;
    }
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = *out;
    write.descriptorCount = OXI_VK_BINDINGS;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = whole;
    d->vk.vkUpdateDescriptorSets(d->device, 1, &write, 0, NULL);
    return OX_OK;
}

/* The set that binds the blocks of these operands; places without one repeat the first. */
static ox_status oxi_vk_find_set(oxi_vk_device *d, const oxi_vk_dispatch *dispatch, VkDescriptorSet *out) {
    oxi_vk_block *key[OXI_VK_BINDINGS];
    for (int i = 0; i < OXI_VK_BINDINGS; i++) key[i] = dispatch->use[i < dispatch->uses ? i : 0].chunk->block;
    *out = (VkDescriptorSet)oxi_vk_table_get(&d->sets, key);
    if (*out) return OX_OK;
    ox_status status = oxi_vk_table_reserve(&d->sets, sizeof key);
    if (status == OX_OK) status = oxi_vk_make_set(d, key, out);
    if (status == OX_OK) oxi_vk_table_set(&d->sets, key, (uint64_t)*out);
    return status;
}

static ox_status oxi_vk_make_module(oxi_vk_device *d, uint32_t shader) {
    if (d->modules[shader]) return OX_OK;
    VkShaderModuleCreateInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = oxi_vk_shaders[shader].bytes;
    info.pCode = oxi_vk_shaders[shader].code;
    return oxi_vk_check(d, d->vk.vkCreateShaderModule(d->device, &info, NULL, &d->modules[shader]),
                        "a shader");
}

/* Whose workgroups are counted out in subgroups of the device's size. */
static bool oxi_vk_counts_subgroups(uint32_t shader) {
    return shader == OXI_VK_SHADER_product_tiles || shader == OXI_VK_SHADER_product_tiles_bf16 ||
           shader == OXI_VK_SHADER_attention_tiles || shader == OXI_VK_SHADER_attention_tiles_bf16;
}

static ox_status oxi_vk_make_pipeline(oxi_vk_device *d, const oxi_vk_pipeline_key *key, VkPipeline *out) {
    ox_status status = oxi_vk_make_module(d, key->shader);
    if (status != OX_OK) return status;
    VkSpecializationMapEntry entries[OXI_VK_SPECIALS];
    VkSpecializationInfo special;
    VkComputePipelineCreateInfo info;
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT size;
    memset(&info, 0, sizeof info);
    for (uint32_t i = 0; i < OXI_VK_SPECIALS; i++) {
        entries[i].constantID = i;
        entries[i].offset = 4 * i;
        entries[i].size = 4;
    }
    special.mapEntryCount = OXI_VK_SPECIALS;
    special.pMapEntries = entries;
    special.dataSize = sizeof key->special;
    special.pData = key->special;
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = d->modules[key->shader];
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &special;
    info.layout = d->layout;
    if (d->caps & OX_VULKAN_SIZES && oxi_vk_counts_subgroups(key->shader)) {
        memset(&size, 0, sizeof size);
        size.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT;
        size.requiredSubgroupSize = d->subgroup_size;
        info.stage.pNext = &size;
        info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
    }
    VkResult result = d->vk.vkCreateComputePipelines(d->device, d->cache, 1, &info, NULL, out);
    d->counters.pipelines++;
    return oxi_vk_check(d, result, "a pipeline");
}

static ox_status oxi_vk_find_pipeline(oxi_vk_device *d, const oxi_vk_dispatch *dispatch, VkPipeline *out) {
    oxi_vk_pipeline_key key;
    key.shader = (uint32_t)dispatch->shader;
    memcpy(key.special, dispatch->special, sizeof key.special);
    *out = (VkPipeline)oxi_vk_table_get(&d->pipelines, &key);
    if (*out) return OX_OK;
    ox_status status = oxi_vk_table_reserve(&d->pipelines, sizeof key);
    if (status == OX_OK) status = oxi_vk_make_pipeline(d, &key, out);
    if (status == OX_OK) oxi_vk_table_set(&d->pipelines, &key, (uint64_t)*out);
    return status;
}

/* ---- a dispatch ---------------------------------------------------------------------------------------- */

/* Copies the parameters into the ring; a full command buffer is submitted first. */
static ox_status oxi_vk_push_params(oxi_vk_device *d, const oxi_vk_dispatch *dispatch, uint32_t *offset) {
    uint32_t align = (uint32_t)d->limits.minUniformBufferOffsetAlignment;
    uint32_t room = (dispatch->param_bytes + align - 1) / align * align;
    ox_status status = oxi_vk_begin(d);
    if (status != OX_OK) return status;
    if (d->slot[d->current].param_used + OXI_VK_PARAM_BYTES + room > OXI_VK_PARAM_ROOM) {
        status = oxi_vk_submit(d);
        if (status == OX_OK) status = oxi_vk_begin(d);
        if (status != OX_OK) return status;
    }
    *offset = (uint32_t)d->current * OXI_VK_PARAM_ROOM + d->slot[d->current].param_used;
    memcpy(d->params.mapped + *offset, dispatch->params, dispatch->param_bytes);
    d->slot[d->current].param_used += room;
    return OX_OK;
}

static ox_status oxi_vk_record(oxi_vk_device *d, const oxi_vk_dispatch *dispatch) {
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkDescriptorSet sets[2];
    uint32_t offset = 0;
    if (dispatch->groups[0] == 0 || dispatch->groups[1] == 0 || dispatch->groups[2] == 0) return OX_OK;
    for (int i = 0; i < 3; i++)
        if (dispatch->groups[i] > d->limits.maxComputeWorkGroupCount[i])
            return oxi_fail(OX_ERR_DEVICE, "%s: %u workgroups at once", d->device_name, dispatch->groups[i]);
    ox_status status = oxi_vk_check_open(d);
    if (status == OX_OK) status = oxi_vk_find_pipeline(d, dispatch, &pipeline);
    if (status == OX_OK) status = oxi_vk_find_set(d, dispatch, &sets[1]);
    if (status == OX_OK) status = oxi_vk_push_params(d, dispatch, &offset);
    if (status == OX_OK) status = oxi_vk_touch(d, dispatch->use, dispatch->uses);
    if (status != OX_OK) return status;
    VkCommandBuffer commands = d->slot[d->current].commands;
    sets[0] = d->param_set;
    d->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    d->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, d->layout, 0, 2, sets, 1,
                                  &offset);
    d->vk.vkCmdDispatch(commands, dispatch->groups[0], dispatch->groups[1], dispatch->groups[2]);
    d->counters.dispatches++;
    oxi_vk_time_dispatch(d, &d->slot[d->current]);
    /* The device starts early, and is fed in larger portions while it is busy. */
    bool enough = d->recorded >= d->batch || d->work > (uint64_t)256 << 20;
    return enough ? oxi_vk_submit(d) : OX_OK;
}
