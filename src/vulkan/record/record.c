/* Recording: dispatches are noted for the open submission (submission.c), which goes when it holds enough
 * work or when somebody reads. Pipelines and descriptor sets are made the first time they are needed and
 * found again by key. Each dispatch goes to the first epoch in which it meets nothing that it must wait for,
 * and barriers stand between epochs: work that is apart runs side by side in whatever order it was called. */

/* ---- hazards ------------------------------------------------------------------------------------------- */

static oxi_vk_epochs *oxi_vk_epochs_of(oxi_vk_device *d, oxi_vk_chunk *chunk) {
    return chunk->block->lent ? &d->lent : &chunk->last;
}

static oxi_vk_use oxi_vk_use_of(oxi_vk_chunk *chunk, bool writes) {
    oxi_vk_use use;
    memset(&use, 0, sizeof use);
    use.chunk = chunk;
    use.writes = writes;
    return use;
}

/* What an epoch of the open submission does with chunks. */
static void oxi_vk_mark(oxi_vk_device *d, const oxi_vk_use *use, int count, int64_t epoch) {
    for (int i = 0; i < count; i++) {
        oxi_vk_chunk *c = use[i].chunk;
        oxi_vk_epochs *last = oxi_vk_epochs_of(d, c);
        int64_t *when = use[i].writes ? &last->written : &last->read;
        if (*when < epoch) *when = epoch;
        c->serial = d->serial + 1;
        for (int way = 0; way < OXI_VK_DIRECTIONS; way++)
            if (c->carried[way] > d->carrier.needed[way]) d->carrier.needed[way] = c->carried[way];
    }
}

static ox_status oxi_vk_touch(oxi_vk_device *d, const oxi_vk_use *use, int count) {
    ox_status status = oxi_vk_begin(d);
    int64_t epoch = d->least_epoch;
    for (int i = 0; i < count; i++) {
        const oxi_vk_epochs *last = oxi_vk_epochs_of(d, use[i].chunk);
        if (last->written >= epoch) epoch = last->written + !use[i].beside;
        if (use[i].writes && last->read >= epoch) epoch = last->read + 1;
    }
    if (d->noted_stamps > 0 && epoch < d->epoch) epoch = d->epoch; /* what is timed keeps its order */
    if (epoch > d->epoch) d->counters.barriers++;
    if (epoch > d->epoch) d->epoch = epoch;
    d->noted_epoch = (uint32_t)(epoch - d->first_epoch);
    oxi_vk_mark(d, use, count, epoch);
    for (int i = 0; i < count; i++) d->work += use[i].chunk->bytes;
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
    oxi_vk_forget_commands(d);
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

/* What `constants`, [OXI_VK_CONSTANTS], leave of a shader's words: at *words, which the caller frees, in the
 * first half of *room bytes and a little more than that. */
static ox_status oxi_vk_special_words(const oxi_vk_code *shader, const uint32_t *constants, uint32_t **words,
                                      size_t *bytes, size_t *room) {
    *room = 2 * shader->bytes + 4 * OXI_VK_CHANGE_WORDS;
    *words = (uint32_t *)oxi_alloc(*room);
    if (!*words) return OX_ERR_NOMEM;
    ox_status status = oxi_vk_specialize(shader, constants, *words, bytes);
    if (status != OX_OK) oxi_free(*words, *room);
    return status;
}

/* The same with functions copied for the constants that they are called with. */
static ox_status oxi_vk_special_copies(const oxi_vk_code *shader, const uint32_t *constants, uint32_t **words,
                                       size_t *bytes, size_t *room) {
    oxi_vk_code copied = *shader;
    size_t copied_words = 0, copied_room = 0;
    ox_status status = oxi_vk_special_words(shader, constants, words, bytes, room);
    if (status != OX_OK) return status;
    uint32_t *copies = oxi_vk_copy_functions(*words, (uint32_t)(*bytes / 4), &copied_words, &copied_room);
    oxi_free(*words, *room);
    if (!copies) return OX_ERR_NOMEM;
    copied.code = copies;
    copied.bytes = 4 * copied_words;
    status = oxi_vk_special_words(&copied, constants, words, bytes, room);
    oxi_free(copies, 4 * copied_room);
    return status;
}

/* A shader's module for one pipeline: what its constants leave of it, with what the device wants said. */
static ox_status oxi_vk_make_module(oxi_vk_device *d, const oxi_vk_pipeline_key *key,
                                    const uint32_t *constants, VkShaderModule *out) {
    oxi_vk_code code = oxi_vk_shaders[key->shader];
    uint32_t *words = NULL;
    size_t room = 0, bytes = 0;
    if (!(d->caps & OX_VULKAN_CAP_SUBNORMALS)) code.traits &= ~(uint32_t)OXI_VK_KEEPS_SUBNORMALS;
    if (!(d->caps & OX_VULKAN_CAP_SUBGROUP)) code.traits |= OXI_VK_NO_ARITHMETIC;
    ox_status status = code.traits & OXI_VK_COPIES
                           ? oxi_vk_special_copies(&code, constants, &words, &bytes, &room)
                           : oxi_vk_special_words(&code, constants, &words, &bytes, &room);
    if (status != OX_OK) return status;
    VkShaderModuleCreateInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    uint32_t *changed = words + (room - 4 * OXI_VK_CHANGE_WORDS) / 8;
    code.code = words;
    code.bytes = bytes;
    info.codeSize = oxi_vk_change_module(&code, changed);
    info.pCode = changed;
    status = oxi_vk_check(d, d->vk.vkCreateShaderModule(d->device, &info, NULL, out), "a shader");
    oxi_free(words, room);
    return status;
}

/* Whether the shader's workgroups consist of whole subgroups of the device's size. */
static bool oxi_vk_is_sized(const oxi_vk_device *d, uint32_t shader) {
    return d->caps & OX_VULKAN_CAP_SIZES && oxi_vk_shaders[shader].traits & OXI_VK_SUBGROUPS &&
           oxi_vk_shaders[shader].threads <= d->subgroups_most * d->subgroup_size;
}

static ox_status oxi_vk_make_pipeline(oxi_vk_device *d, const oxi_vk_pipeline_key *key, VkPipeline *out) {
    VkShaderModule module = VK_NULL_HANDLE;
    uint32_t constants[OXI_VK_CONSTANTS], count = oxi_vk_constants_of(key, constants);
    ox_status status = oxi_vk_make_module(d, key, constants, &module);
    if (status != OX_OK) return status;
    VkSpecializationMapEntry entries[OXI_VK_CONSTANTS];
    VkSpecializationInfo special;
    VkComputePipelineCreateInfo info;
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfoEXT size;
    memset(&info, 0, sizeof info);
    for (uint32_t i = 0; i < count; i++) {
        entries[i].constantID = i;
        entries[i].offset = 4 * i;
        entries[i].size = 4;
    }
    special.mapEntryCount = count;
    special.pMapEntries = entries;
    special.dataSize = count * sizeof *constants;
    special.pData = constants;
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &special;
    info.layout = d->layout;
    if (oxi_vk_is_sized(d, key->shader)) {
        memset(&size, 0, sizeof size);
        size.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO_EXT;
        size.requiredSubgroupSize = d->subgroup_size;
        info.stage.pNext = &size;
        info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
    }
    VkResult result = d->vk.vkCreateComputePipelines(d->device, d->cache, 1, &info, NULL, out);
    d->vk.vkDestroyShaderModule(d->device, module, NULL);
    d->counters.pipelines++;
    return oxi_vk_check(d, result, "a pipeline");
}

static ox_status oxi_vk_find_pipeline(oxi_vk_device *d, const oxi_vk_dispatch *dispatch, VkPipeline *out) {
    oxi_vk_pipeline_key key;
    key.shader = (uint32_t)dispatch->shader;
    key.special = dispatch->special;
    *out = (VkPipeline)oxi_vk_table_get(&d->pipelines, &key);
    if (*out) return OX_OK;
    ox_status status = oxi_vk_table_reserve(&d->pipelines, sizeof key);
    if (status == OX_OK) status = oxi_vk_make_pipeline(d, &key, out);
    if (status == OX_OK) oxi_vk_table_set(&d->pipelines, &key, (uint64_t)*out);
    return status;
}

/* ---- a dispatch ---------------------------------------------------------------------------------------- */

/* Notes the parameters for the slot that the dispatch will go to; where there is no room, what is noted so
 * far is submitted first. */
static ox_status oxi_vk_push_params(oxi_vk_device *d, const oxi_vk_dispatch *dispatch, uint32_t *offset) {
    uint32_t align = (uint32_t)d->limits.minUniformBufferOffsetAlignment;
    uint32_t room = (dispatch->param_bytes + align - 1) / align * align;
    ox_status status = oxi_vk_begin(d);
    if (status != OX_OK) return status;
    if (d->param_used + OXI_VK_PARAM_BYTES + room > OXI_VK_PARAM_ROOM) {
        status = oxi_vk_submit(d);
        if (status == OX_OK) status = oxi_vk_begin(d);
        if (status != OX_OK) return status;
    }
    *offset = d->param_used;
    memcpy(d->noted_params + *offset, dispatch->params, dispatch->param_bytes);
    d->param_used += room;
    return OX_OK;
}

/* The dispatch that was noted with its parameters at `at`, or NULL. */
static oxi_vk_command *oxi_vk_noted(oxi_vk_device *d, uint32_t at) {
    for (uint32_t i = d->command_count; i-- > 0;)
        if (!d->commands[i].from && d->commands[i].params == at) return &d->commands[i];
    return NULL;
}

/* Whether the use was one of `before` already. */
static bool oxi_vk_used_before(const oxi_vk_dispatch *before, const oxi_vk_use *use) {
    for (int i = 0; i < before->uses; i++)
        if (before->use[i].chunk == use->chunk && (before->use[i].writes || !use->writes)) return true;
    return false;
}

/* Makes another dispatch, with more uses and as many parameters, of the one that was noted as `before` with
 * its parameters at `at`. False: it would have to wait for more, or something failed; nothing is changed. */
static bool oxi_vk_amend(oxi_vk_device *d, const oxi_vk_dispatch *dispatch, const oxi_vk_dispatch *before,
                         uint32_t at) {
    oxi_vk_command *command = oxi_vk_noted(d, at);
    if (!command) return false;
    const int64_t epoch = d->first_epoch + command->epoch;
    VkPipeline pipeline;
    VkDescriptorSet set;
    for (int i = 0; i < dispatch->uses; i++) {
        const oxi_vk_use *use = &dispatch->use[i];
        const oxi_vk_epochs *last = oxi_vk_epochs_of(d, use->chunk);
        if (oxi_vk_used_before(before, use)) continue;
        if (last->written >= epoch || (use->writes && last->read >= epoch)) return false;
    }
    if (oxi_vk_find_pipeline(d, dispatch, &pipeline) != OX_OK) return false;
    if (oxi_vk_find_set(d, dispatch, &set) != OX_OK) return false;
    command->pipeline = pipeline;
    command->set = set;
    memcpy(command->groups, dispatch->groups, sizeof command->groups);
    memcpy(d->noted_params + at, dispatch->params, dispatch->param_bytes);
    oxi_vk_mark(d, dispatch->use, dispatch->uses, epoch);
    return true;
}

static ox_status oxi_vk_record(oxi_vk_device *d, const oxi_vk_dispatch *dispatch) {
    oxi_vk_command command;
    memset(&command, 0, sizeof command);
    if (dispatch->groups[0] == 0 || dispatch->groups[1] == 0 || dispatch->groups[2] == 0) return OX_OK;
    for (int i = 0; i < 3; i++)
        if (dispatch->groups[i] > d->limits.maxComputeWorkGroupCount[i])
            return oxi_fail(OX_ERR_DEVICE, "%s: %u workgroups at once", d->device_name, dispatch->groups[i]);
    ox_status status = oxi_vk_check_open(d);
    if (status == OX_OK) status = oxi_vk_find_pipeline(d, dispatch, &command.pipeline);
    if (status == OX_OK) status = oxi_vk_find_set(d, dispatch, &command.set);
    if (status == OX_OK) status = oxi_vk_push_params(d, dispatch, &command.params);
    if (status == OX_OK) status = oxi_vk_touch(d, dispatch->use, dispatch->uses);
    memcpy(command.groups, dispatch->groups, sizeof command.groups);
    command.pushes = (oxi_vk_shaders[dispatch->shader].traits & OXI_VK_PUSHED) != 0;
    if (status == OX_OK) status = oxi_vk_note(d, &command);
    if (status != OX_OK) return status;
    d->noted_at = command.params;
    d->counters.dispatches++;
    oxi_vk_time_dispatch(d);
    if (dispatch->waits && d->recorded < 2 * d->batch && d->work < 2 * (uint64_t)OXI_VK_BATCH_BYTES)
        return OX_OK;
    return oxi_vk_submit_enough(d);
}
