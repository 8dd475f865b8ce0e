/* Transfers on queues of their own, where the device has them (OX_VULKAN_CAP_TRANSFER): large pieces go
 * between host and device while the other queue computes. Each way has a queue, where the family has two, so
 * that uploads and downloads run at once: a link takes both at its full speed. Counting semaphores tie the
 * queues together: a piece waits for the submission, and for the piece of the other way, that touched its
 * memory last; what is computed with it waits for the piece. Called by transfer.c and pin.c; a ring of mapped
 * memory of its own. */

enum {
    OXI_VK_CARRY_UP = 256 << 10, /* bytes of an upload that are worth the semaphores */
    OXI_VK_CARRY_DOWN = 1 << 20
};

/* Where byte `offset` of a chunk lies in its buffer. */
static uint64_t oxi_vk_chunk_at(const oxi_vk_chunk *chunk, uint64_t offset) {
    return chunk->block->base + chunk->offset + offset;
}

static ox_status oxi_vk_carry_begin(oxi_vk_device *d) {
    oxi_vk_carrier *c = &d->carrier;
    VkSemaphoreTypeCreateInfo counting;
    VkSemaphoreCreateInfo info;
    VkFenceCreateInfo fence;
    if (!(d->caps & OX_VULKAN_CAP_TRANSFER)) return OX_OK;
    memset(&counting, 0, sizeof counting);
    memset(&info, 0, sizeof info);
    memset(&fence, 0, sizeof fence);
    counting.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    counting.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &counting;
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    fence.flags = VK_FENCE_CREATE_SIGNALED_BIT;
    VkResult result = d->vk.vkCreateSemaphore(d->device, &info, NULL, &c->computed);
    for (int way = 0; way < OXI_VK_DIRECTIONS && result == VK_SUCCESS; way++)
        result = d->vk.vkCreateSemaphore(d->device, &info, NULL, &c->carried[way]);
    for (int i = 0; i < OXI_VK_STAGES + OXI_VK_DIRECT && result == VK_SUCCESS; i++) {
        result = oxi_vk_make_commands(d, d->transfer_family, &c->piece[i].pool, &c->piece[i].commands);
        if (result == VK_SUCCESS) result = d->vk.vkCreateFence(d->device, &fence, NULL, &c->piece[i].fence);
    }
    if (result != VK_SUCCESS) return oxi_vk_check(d, result, "the queue for transfers");
    c->wait = (PFN_vkWaitSemaphores)d->host.vkGetDeviceProcAddr(d->device, "vkWaitSemaphores");
    return oxi_vk_host_buffer_make(d, OXI_VK_STAGES * OXI_VK_STAGE_BYTES,
                                   VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                   VK_MEMORY_PROPERTY_HOST_CACHED_BIT, &c->staging);
}

static void oxi_vk_carry_stop(oxi_vk_device *d) {
    oxi_vk_carrier *c = &d->carrier;
    for (int i = 0; i < OXI_VK_STAGES + OXI_VK_DIRECT; i++) {
        if (c->piece[i].fence) d->vk.vkDestroyFence(d->device, c->piece[i].fence, NULL);
        if (c->piece[i].pool) d->vk.vkDestroyCommandPool(d->device, c->piece[i].pool, NULL);
    }
    if (c->computed) d->vk.vkDestroySemaphore(d->device, c->computed, NULL);
    for (int way = 0; way < OXI_VK_DIRECTIONS; way++)
        if (c->carried[way]) d->vk.vkDestroySemaphore(d->device, c->carried[way], NULL);
    oxi_vk_host_buffer_drop(d, &c->staging);
}

/* Waits until a place is free, and copies out what came down there. */
static ox_status oxi_vk_carry_land(oxi_vk_device *d, int place) {
    oxi_vk_carried_piece *piece = &d->carrier.piece[place];
    if (d->lost) return oxi_vk_check_open(d);
    VkResult result = d->vk.vkWaitForFences(d->device, 1, &piece->fence, VK_TRUE, UINT64_MAX);
    if (result != VK_SUCCESS) return oxi_vk_check(d, result, "waiting for a transfer");
    int64_t *done = &d->carrier.done[piece->way];
    if (*done < piece->serial) *done = piece->serial; /* one queue, in order */
    if (piece->out)
        oxi_copy_bytes(piece->out, d->carrier.staging.mapped + (size_t)place * OXI_VK_STAGE_BYTES,
                       (size_t)piece->bytes);
    piece->out = NULL;
    return OX_OK;
}

static ox_status oxi_vk_carry_wait(oxi_vk_device *d) {
    ox_status status = OX_OK;
    for (int i = 0; i < OXI_VK_STAGES + OXI_VK_DIRECT && d->caps & OX_VULKAN_CAP_TRANSFER; i++) {
        ox_status landed = oxi_vk_carry_land(d, i);
        if (status == OX_OK) status = landed;
    }
    return status;
}

/* Until transfer `number` of a way and all before it are over. What came down through the ring was copied out
 * then. */
static ox_status oxi_vk_carry_reach(oxi_vk_device *d, int way, int64_t number) {
    oxi_vk_carrier *c = &d->carrier;
    if (number <= c->done[way]) return OX_OK;
    for (int i = 0; i < OXI_VK_STAGES + OXI_VK_DIRECT; i++)
        if ((int)c->piece[i].way == way && c->piece[i].serial == number) return oxi_vk_carry_land(d, i);
    c->done[way] = number; /* its place has been used again, so it is over */
    return OX_OK;
}

/* Between a chunk and the bytes of `host` from `at` on. */
static VkResult oxi_vk_carry_record(oxi_vk_device *d, const oxi_vk_carried_piece *piece,
                                    const oxi_vk_chunk *chunk, uint64_t offset, VkBuffer host, uint64_t at) {
    VkBufferCopy region;
    bool up = piece->way == OXI_VK_UP;
    VkResult result = oxi_vk_open_commands(d, piece->pool, piece->commands,
                                           VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
    if (result != VK_SUCCESS) return result;
    /* behind earlier pieces of the same memory */
    oxi_vk_order(d, piece->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                 VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    region.srcOffset = up ? at : oxi_vk_chunk_at(chunk, offset);
    region.dstOffset = up ? oxi_vk_chunk_at(chunk, offset) : at;
    region.size = piece->bytes;
    VkBuffer block = chunk->block->buffer;
    d->vk.vkCmdCopyBuffer(piece->commands, up ? host : block, up ? block : host, 1, &region);
    oxi_vk_order(d, piece->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                 VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    result = d->vk.vkEndCommandBuffer(piece->commands);
    return result == VK_SUCCESS ? d->vk.vkResetFences(d->device, 1, &piece->fence) : result;
}

/* Behind submission `last` and transfer `other` of the other way. The transfer's number is the piece's serial
 * then. */
static VkResult oxi_vk_carry_submit(oxi_vk_device *d, oxi_vk_carried_piece *piece, int64_t last,
                                    int64_t other) {
    static const VkPipelineStageFlags stages[2] = {VK_PIPELINE_STAGE_TRANSFER_BIT,
                                                   VK_PIPELINE_STAGE_TRANSFER_BIT};
    VkTimelineSemaphoreSubmitInfo values;
    VkSubmitInfo info;
    oxi_vk_carrier *c = &d->carrier;
    oxi_vk_direction way = piece->way, back = way == OXI_VK_UP ? OXI_VK_DOWN : OXI_VK_UP;
    VkSemaphore wait[2] = {c->computed, c->carried[back]};
    uint64_t before[2] = {(uint64_t)last, (uint64_t)other}, behind = (uint64_t)c->serial[way] + 1;
    memset(&values, 0, sizeof values);
    memset(&info, 0, sizeof info);
    values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    values.waitSemaphoreValueCount = info.waitSemaphoreCount = other > c->done[back] ? 2 : 1;
    values.signalSemaphoreValueCount = 1;
    values.pWaitSemaphoreValues = before;
    values.pSignalSemaphoreValues = &behind;
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.pNext = &values;
    info.signalSemaphoreCount = info.commandBufferCount = 1;
    info.pWaitSemaphores = wait;
    info.pWaitDstStageMask = stages;
    info.pSignalSemaphores = &c->carried[way];
    info.pCommandBuffers = &piece->commands;
    VkResult result = oxi_vk_queue_submit(d, d->transfer_queue[way], &info, piece->fence);
    if (result != VK_SUCCESS) return result;
    piece->serial = ++c->serial[way];
    d->counters.transfers++;
    return result;
}

/* Whether so many bytes of a chunk go this way: it is ours alone, and the open buffer does not touch it. */
static bool oxi_vk_can_carry(const oxi_vk_device *d, const oxi_vk_chunk *chunk, uint64_t bytes, bool up) {
    if (!(d->caps & OX_VULKAN_CAP_TRANSFER) || chunk->block->lent || chunk->serial > d->serial) return false;
    if (up) return bytes >= OXI_VK_CARRY_UP;
    /* a short download only where later work would be waited for otherwise */
    if (bytes >= OXI_VK_STAGE_BYTES) return true;
    return bytes >= OXI_VK_CARRY_DOWN && (d->recording || chunk->serial < d->serial);
}

/* Moves bytes of a chunk from `data` or, where that is NULL, to `out`, which is complete on return. Pieces
 * are whole parts of the ring: smaller ones cost more for their submissions than overlapping them wins. */
static ox_status oxi_vk_carry(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t offset, const char *data,
                              char *out, uint64_t bytes) {
    oxi_vk_carrier *c = &d->carrier;
    ox_status status = OX_OK;
    const oxi_vk_direction way = data ? OXI_VK_UP : OXI_VK_DOWN, back = data ? OXI_VK_DOWN : OXI_VK_UP;
    for (uint64_t done = 0, part; done < bytes && status == OX_OK; done += part) {
        int place = (int)(c->ringed % OXI_VK_STAGES);
        oxi_vk_carried_piece *piece = &c->piece[place];
        uint64_t at = (uint64_t)place * OXI_VK_STAGE_BYTES;
        part = bytes - done;
        if (part > OXI_VK_STAGE_BYTES) part = OXI_VK_STAGE_BYTES;
        status = oxi_vk_carry_land(d, place);
        if (status != OX_OK) break;
        piece->bytes = part;
        piece->way = way;
        if (data) oxi_copy_bytes(c->staging.mapped + at, data + done, (size_t)part);
        VkResult result = oxi_vk_carry_record(d, piece, chunk, offset + done, c->staging.buffer, at);
        if (result == VK_SUCCESS)
            result = oxi_vk_carry_submit(d, piece, chunk->serial, chunk->carried[back]);
        if (result != VK_SUCCESS) { /* its fence will not be signaled any more: nothing goes this way again */
            d->lost = true;
            status = oxi_vk_check(d, result, "a transfer");
            break;
        }
        c->ringed++;
        chunk->carried[way] = piece->serial;
        if (out) piece->out = out + done;
        if (data)
            d->counters.bytes_up += (int64_t)part;
        else
            d->counters.bytes_down += (int64_t)part;
    }
    for (int i = 0; i < OXI_VK_STAGES && out; i++) { /* the last of them; uploads may go on */
        if (status == OX_OK && c->piece[i].out) status = oxi_vk_carry_land(d, i);
        c->piece[i].out = NULL; /* also where a wait has failed */
    }
    return status;
}
