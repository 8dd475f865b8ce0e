/* Submissions: commands are noted first, and written into a command buffer when they are submitted. One that
 * holds the same already is submitted again, with new parameters: a steady loop, as a language model's tokens
 * are, writes none. Called by record.c and transfer.c. */

#define OXI_VK_LOOK_SECONDS 2e-3
#define OXI_VK_HELD_SECONDS 0.5 /* after which commands are written anew: a driver may have better code */

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
    if (d->inherited)
        return oxi_fail(OX_ERR_DEVICE, "%s: the device was opened before a fork, by the parent process",
                        d->device_name);
    if (!d->open) return oxi_fail(OX_ERR_DEVICE, "%s: the device was closed", d->device_name);
    if (d->lost)
        return oxi_fail(OX_ERR_DEVICE, "%s: the device was lost; close it and open it again", d->device_name);
    return OX_OK;
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

/* Looks at a fence for a while: sleeping and waking take longer than the rest of a token's work. A device
 * that is the processor itself needs the time for its work. */
static void oxi_vk_look(oxi_vk_device *d, VkFence fence) {
    double until = oxi_now() + OXI_VK_LOOK_SECONDS;
    if (d->type == VK_PHYSICAL_DEVICE_TYPE_CPU) return;
    while (d->vk.vkGetFenceStatus(d->device, fence) == VK_NOT_READY && oxi_now() < until) continue;
}

/* Submission `serial` and all before it are over: one queue, in order. */
static void oxi_vk_is_done(oxi_vk_device *d, int64_t serial) {
    d->done = serial;
    for (int k = 0; k < OXI_VK_SLOTS; k++)
        if (d->slot[k].stamps > 0 && d->slot[k].serial <= serial) oxi_vk_time_end(d, &d->slot[k]);
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
        oxi_vk_is_done(d, serial);
        if (serial == d->serial) d->batch = OXI_VK_FIRST_BATCH; /* the device has nothing to do */
        return OX_OK;
    }
    d->done = serial; /* its slot has been used again, so it is over */
    return OX_OK;
}

/* ---- noting -------------------------------------------------------------------------------------------- */

/* Commands lie in the order of their epochs, and in one of them as they were called. */
static ox_status oxi_vk_note(oxi_vk_device *d, const oxi_vk_command *command) {
    if (d->command_count == d->command_room) {
        size_t size = sizeof *command, room = d->command_room ? 2 * (size_t)d->command_room : 256;
        oxi_vk_command *grown =
            (oxi_vk_command *)oxi_realloc(d->commands, (size_t)d->command_room * size, room * size);
        if (!grown) return OX_ERR_NOMEM;
        d->commands = grown;
        d->command_room = (uint32_t)room;
    }
    uint32_t at = d->command_count++;
    for (; at > 0 && d->commands[at - 1].epoch > d->noted_epoch; at--) d->commands[at] = d->commands[at - 1];
    d->commands[at] = *command;
    d->commands[at].epoch = d->noted_epoch;
    return OX_OK;
}

/* What comes next waits for what was noted so far. */
static void oxi_vk_barrier(oxi_vk_device *d) {
    d->counters.barriers++;
    d->least_epoch = ++d->epoch;
}

static ox_status oxi_vk_begin(oxi_vk_device *d) {
    oxi_vk_ahead_void(d);
    if (d->recording) return OX_OK;
    ox_status status = oxi_vk_check_open(d);
    if (status != OX_OK) return status;
    d->command_count = d->param_used = 0;
    d->recording = true;
    d->first_epoch = d->least_epoch = d->epoch;
    oxi_vk_time_begin(d);
    if (d->ahead.gap) oxi_vk_barrier(d);
    d->ahead.gap = false;
    return OX_OK;
}

static ox_status oxi_vk_copy_region(oxi_vk_device *d, VkBuffer from, uint64_t from_offset, VkBuffer to,
                                    uint64_t to_offset, uint64_t bytes) {
    oxi_vk_command copy;
    memset(&copy, 0, sizeof copy);
    copy.from = from;
    copy.to = to;
    copy.region.srcOffset = from_offset;
    copy.region.dstOffset = to_offset;
    copy.region.size = bytes;
    return oxi_vk_note(d, &copy);
}

/* ---- writing ------------------------------------------------------------------------------------------- */

enum {
    OXI_VK_OUR_STAGES = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
    OXI_VK_OUR_WRITES = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
    OXI_VK_OUR_USES = OXI_VK_OUR_WRITES | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT,
    OXI_VK_ANY_USE = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT
};

/* What was written in the stages before is seen by the uses in the stages behind. */
static void oxi_vk_order(oxi_vk_device *d, VkCommandBuffer to, VkPipelineStageFlags before,
                         VkAccessFlags writes, VkPipelineStageFlags behind, VkAccessFlags uses) {
    VkMemoryBarrier barrier;
    memset(&barrier, 0, sizeof barrier);
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = writes;
    barrier.dstAccessMask = uses;
    d->vk.vkCmdPipelineBarrier(to, before, behind, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static void oxi_vk_write_dispatch(oxi_vk_device *d, const oxi_vk_slot *slot, const oxi_vk_command *c) {
    VkDescriptorSet sets[OXI_VK_DESCRIPTOR_SETS];
    uint32_t offset = (uint32_t)(slot - d->slot) * OXI_VK_PARAM_ROOM + c->params;
    sets[OXI_VK_PARAM_SET] = d->param_set;
    sets[OXI_VK_BLOCK_SET] = c->set;
    d->vk.vkCmdBindPipeline(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, c->pipeline);
    d->vk.vkCmdBindDescriptorSets(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, d->layout, 0,
                                  OXI_VK_DESCRIPTOR_SETS, sets, 1, &offset);
    if (c->pushes)
        d->vk.vkCmdPushConstants(slot->commands, d->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 d->pushed_bytes, d->noted_params + c->params);
    d->vk.vkCmdDispatch(slot->commands, c->groups[0], c->groups[1], c->groups[2]);
}

static void oxi_vk_write_begin(oxi_vk_device *d, VkCommandBuffer to) {
    if (d->shared) /* what the program has submitted to its queue */
        oxi_vk_order(d, to, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT, OXI_VK_OUR_STAGES,
                     OXI_VK_OUR_USES);
}

/* What was written is to be seen by the host, which reads after waiting for the fence. */
static void oxi_vk_write_end(oxi_vk_device *d, VkCommandBuffer to) {
    oxi_vk_order(d, to, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                 VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    if (d->shared) /* and by what the program submits to its queue */
        oxi_vk_order(d, to, OXI_VK_OUR_STAGES, OXI_VK_OUR_WRITES, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                     OXI_VK_ANY_USE);
}

/* Room for copies of the commands in every slot at once: which of them is next hangs on how fast the device
 * is, and a steady loop asks for memory no more. */
static void oxi_vk_grow_held(oxi_vk_device *d) {
    for (int i = 0; i < OXI_VK_SLOTS; i++) {
        oxi_vk_slot *slot = &d->slot[i];
        size_t size = sizeof *slot->held;
        if (slot->held_room >= d->command_count) continue;
        oxi_free(slot->held, slot->held_room * size);
        slot->held = (oxi_vk_command *)oxi_try_alloc(d->command_room * size);
        slot->held_room = slot->held ? d->command_room : 0;
        slot->held_count = 0;
    }
}

/* Room for what so many commands push, in every slot for the same reason. */
static void oxi_vk_grow_pushed(oxi_vk_device *d, uint32_t count) {
    for (int i = 0; i < OXI_VK_SLOTS; i++) {
        oxi_vk_slot *slot = &d->slot[i];
        if (slot->pushed_room >= count) continue;
        oxi_free(slot->pushed, (size_t)slot->pushed_room * d->pushed_bytes);
        slot->pushed = (char *)oxi_try_alloc((size_t)count * d->pushed_bytes);
        slot->pushed_room = slot->pushed ? count : 0;
        slot->held_count = 0;
    }
}

/* Keeps what the slot's commands push; false: there is no memory for it. */
static bool oxi_vk_keep_pushed(oxi_vk_device *d, oxi_vk_slot *slot) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->command_count; i++) count += d->commands[i].pushes;
    if (slot->pushed_room < count) oxi_vk_grow_pushed(d, count);
    if (slot->pushed_room < count) return false;
    char *to = slot->pushed;
    for (uint32_t i = 0; i < d->command_count; i++) {
        if (!d->commands[i].pushes) continue;
        memcpy(to, d->noted_params + d->commands[i].params, d->pushed_bytes);
        to += d->pushed_bytes;
    }
    return true;
}

/* Whether the slot's commands, which are those that are noted, have pushed the same. */
static bool oxi_vk_slot_pushed(const oxi_vk_device *d, const oxi_vk_slot *slot) {
    const char *pushed = slot->pushed;
    for (uint32_t i = 0; i < d->command_count; i++) {
        if (!d->commands[i].pushes) continue;
        if (memcmp(pushed, d->noted_params + d->commands[i].params, d->pushed_bytes) != 0) return false;
        pushed += d->pushed_bytes;
    }
    return true;
}

/* Keeps what the slot's command buffer holds; without memory for that it counts as empty. */
static void oxi_vk_keep_commands(oxi_vk_device *d, oxi_vk_slot *slot) {
    slot->held_count = 0;
    if (slot->stamps > 0) return; /* the profiler's are never submitted again */
    if (slot->held_room < d->command_count) oxi_vk_grow_held(d);
    if (slot->held_room < d->command_count || !oxi_vk_keep_pushed(d, slot)) return;
    memcpy(slot->held, d->commands, d->command_count * sizeof *slot->held);
    slot->held_count = d->command_count;
    slot->held_since = oxi_now();
}

/* Empties a command buffer, with the pool that is its own, and opens it. */
static VkResult oxi_vk_open_commands(oxi_vk_device *d, VkCommandPool pool, VkCommandBuffer commands,
                                     VkCommandBufferUsageFlags usage) {
    VkCommandBufferBeginInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = usage;
    VkResult result = d->vk.vkResetCommandPool(d->device, pool, 0);
    return result == VK_SUCCESS ? d->vk.vkBeginCommandBuffer(commands, &info) : result;
}

/* A barrier, if what comes next is of a later epoch. */
static void oxi_vk_reach_epoch(oxi_vk_device *d, oxi_vk_slot *slot, uint32_t *epoch, uint32_t next) {
    if (next > *epoch)
        oxi_vk_order(d, slot->commands, OXI_VK_OUR_STAGES, OXI_VK_OUR_WRITES, OXI_VK_OUR_STAGES,
                     OXI_VK_OUR_USES);
    *epoch = next;
}

static void oxi_vk_write_command(oxi_vk_device *d, oxi_vk_slot *slot, const oxi_vk_command *c) {
    if (c->from) {
        d->vk.vkCmdCopyBuffer(slot->commands, c->from, c->to, 1, &c->region);
        return;
    }
    oxi_vk_write_dispatch(d, slot, c);
    oxi_vk_time_stamp(d, slot);
}

/* Which of the noted commands is written as number `i`. What lies between two barriers may run in any order:
 * where tests want it to, they are written from the last to the first one, so that results differ if a
 * barrier is missing, on a device as well that runs one dispatch behind the other. */
static uint32_t oxi_vk_written_at(const oxi_vk_device *d, uint32_t i) {
#ifdef OXI_VK_BACKWARDS
    uint32_t first = i, last = i;
    if (!d->backwards || d->noted_stamps > 0) return i; /* what is timed keeps its order */
    while (first > 0 && d->commands[first - 1].epoch == d->commands[i].epoch) first--;
    while (last + 1 < d->command_count && d->commands[last + 1].epoch == d->commands[i].epoch) last++;
    return first + last - i;
#else
    (void)d;
    return i;
#endif
}

static ox_status oxi_vk_write_commands(oxi_vk_device *d, oxi_vk_slot *slot) {
    VkResult result = oxi_vk_open_commands(d, slot->pool, slot->commands, 0);
    if (result != VK_SUCCESS) return oxi_vk_check(d, result, "a command buffer");
    oxi_vk_write_begin(d, slot->commands);
    oxi_vk_time_write(d, slot);
    uint32_t epoch = 0;
    for (uint32_t i = 0; i < d->command_count; i++) {
        oxi_vk_reach_epoch(d, slot, &epoch, d->commands[i].epoch);
        oxi_vk_write_command(d, slot, &d->commands[oxi_vk_written_at(d, i)]);
    }
    oxi_vk_reach_epoch(d, slot, &epoch, (uint32_t)(d->epoch - d->first_epoch));
    oxi_vk_write_end(d, slot->commands);
    d->counters.recordings++;
    oxi_vk_keep_commands(d, slot);
    return oxi_vk_check(d, d->vk.vkEndCommandBuffer(slot->commands), "a command buffer");
}

/* ---- submitting ---------------------------------------------------------------------------------------- */

static bool oxi_vk_slot_is_over(oxi_vk_device *d, const oxi_vk_slot *slot) {
    if (slot->serial > d->done && d->vk.vkGetFenceStatus(d->device, slot->fence) == VK_SUCCESS)
        oxi_vk_is_done(d, slot->serial);
    return slot->serial <= d->done;
}

static bool oxi_vk_slot_holds(const oxi_vk_device *d, const oxi_vk_slot *slot) {
    return slot->held_count > 0 && slot->held_count == d->command_count && d->noted_stamps == 0 &&
           memcmp(slot->held, d->commands, d->command_count * sizeof *d->commands) == 0 &&
           oxi_vk_slot_pushed(d, slot) &&
           oxi_now() - slot->held_since < OXI_VK_HELD_SECONDS;
}

/* One that is free and holds what is noted, else the one that has been free or under way for longest. */
static oxi_vk_slot *oxi_vk_find_slot(oxi_vk_device *d) {
    oxi_vk_slot *oldest = &d->slot[0];
    for (int i = 0; i < OXI_VK_SLOTS; i++) {
        oxi_vk_slot *slot = &d->slot[i];
        if (oxi_vk_slot_holds(d, slot) && oxi_vk_slot_is_over(d, slot)) return slot;
        if (slot->serial < oldest->serial) oldest = slot;
    }
    return oldest;
}

/* Counts the submission, and lets it wait for the transfers that it needs. */
static void oxi_vk_tie_queues(oxi_vk_device *d, VkSubmitInfo *info, VkTimelineSemaphoreSubmitInfo *values,
                              uint64_t *counts, VkSemaphore *semaphores) {
    static const VkPipelineStageFlags stages[OXI_VK_DIRECTIONS] = {OXI_VK_OUR_STAGES, OXI_VK_OUR_STAGES};
    const oxi_vk_carrier *c = &d->carrier;
    uint32_t waits = 0;
    for (int way = 0; way < OXI_VK_DIRECTIONS; way++) {
        if (c->needed[way] <= c->waited[way]) continue;
        semaphores[waits] = c->carried[way];
        counts[waits++] = (uint64_t)c->needed[way];
    }
    counts[OXI_VK_DIRECTIONS] = (uint64_t)d->serial + 1;
    memset(values, 0, sizeof *values);
    values->sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    values->pWaitSemaphoreValues = counts;
    values->pSignalSemaphoreValues = &counts[OXI_VK_DIRECTIONS];
    values->signalSemaphoreValueCount = info->signalSemaphoreCount = 1;
    values->waitSemaphoreValueCount = info->waitSemaphoreCount = waits;
    info->pNext = values;
    if (waits > 0) info->pWaitSemaphores = semaphores;
    if (waits > 0) info->pWaitDstStageMask = stages;
    info->pSignalSemaphores = &c->computed;
}

/* To a queue, a second time when what is under way is over if the driver had no room: it may have again. */
static VkResult oxi_vk_queue_submit(oxi_vk_device *d, VkQueue queue, const VkSubmitInfo *info,
                                    VkFence fence) {
    VkResult result = VK_SUCCESS;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (d->host_lock) d->host_lock(d->host_user);
        result = d->vk.vkQueueSubmit(queue, 1, info, fence);
        if (d->host_unlock) d->host_unlock(d->host_user);
        if (!oxi_vk_is_nomem(result) || oxi_vk_wait(d, d->serial) != OX_OK) break;
    }
    return result;
}

static VkResult oxi_vk_slot_submit(oxi_vk_device *d, const oxi_vk_slot *slot) {
    VkTimelineSemaphoreSubmitInfo values;
    uint64_t counts[OXI_VK_DIRECTIONS + 1];
    VkSemaphore semaphores[OXI_VK_DIRECTIONS];
    VkSubmitInfo info;
    memset(&info, 0, sizeof info);
    if (d->caps & OX_VULKAN_CAP_TRANSFER) oxi_vk_tie_queues(d, &info, &values, counts, semaphores);
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &slot->commands;
    return oxi_vk_queue_submit(d, d->queue, &info, slot->fence);
}

/* Readies a slot for what is noted: commands, parameters, the fence. */
static ox_status oxi_vk_ready_slot(oxi_vk_device *d, oxi_vk_slot *slot) {
    ox_status status = oxi_vk_wait(d, slot->serial);
    if (status == OX_OK && !oxi_vk_slot_holds(d, slot)) status = oxi_vk_write_commands(d, slot);
    if (status != OX_OK) return status;
    memcpy(d->params.mapped + (slot - d->slot) * OXI_VK_PARAM_ROOM, d->noted_params, d->param_used);
    return oxi_vk_check(d, d->vk.vkResetFences(d->device, 1, &slot->fence), "submitting");
}

static ox_status oxi_vk_submit(oxi_vk_device *d) {
    ox_status status = OX_OK;
    oxi_vk_ahead_void(d);
    d->ahead.recorder = NULL;
    if (!d->recording) return OX_OK;
    oxi_vk_slot *slot = d->ahead.slot;
    d->ahead.slot = NULL;
    d->recording = false;
    if (!slot) {
        slot = oxi_vk_find_slot(d);
        status = oxi_vk_ready_slot(d, slot);
    }
    if (status != OX_OK) {
        d->lost = true; /* what was noted is gone, and tensors with it */
        return status;
    }
    VkResult result = oxi_vk_slot_submit(d, slot);
    if (result != VK_SUCCESS) {
        d->lost = true;
        return oxi_vk_check(d, result, "submitting");
    }
    slot->serial = ++d->serial;
    memcpy(d->carrier.waited, d->carrier.needed, sizeof d->carrier.waited);
    d->counters.submits++;
    d->work = 0;
    d->recorded = 0;
    d->batch = d->batch < OXI_VK_BATCH ? 3 * d->batch : OXI_VK_BATCH;
    return OX_OK;
}

/* Behind each dispatch: the device starts early, and is fed in larger portions while it is busy. */
static ox_status oxi_vk_submit_enough(oxi_vk_device *d) {
    if (d->ahead.recorder) return OX_OK;
    return d->recorded >= d->batch || d->work > OXI_VK_BATCH_BYTES ? oxi_vk_submit(d) : OX_OK;
}

/* Command buffers name sets and buffers that are about to go. */
static void oxi_vk_forget_commands(oxi_vk_device *d) {
    for (int i = 0; i < OXI_VK_SLOTS; i++) {
        oxi_vk_slot *slot = &d->slot[i];
        oxi_free(slot->held, slot->held_room * sizeof *slot->held);
        oxi_free(slot->pushed, (size_t)slot->pushed_room * d->pushed_bytes);
        slot->held = NULL;
        slot->pushed = NULL;
        slot->pushed_room = 0;
        slot->held_count = slot->held_room = 0;
    }
}
