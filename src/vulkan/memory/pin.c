/* Pinned memory: host memory that the device reaches itself, imported (VK_EXT_external_memory_host) or of the
 * driver's own. Its transfers go to the queues for them, where there are any, and are not waited for; an
 * event is a submission of each queue. Called by transfer.c and through ox_device. */

enum {
    OXI_VK_PIN_UP = 1 << 20, /* bytes from which a copy that is waited for does without the ring */
    OXI_VK_PIN_DOWN = 64 << 10
};

/* ---- pinning ------------------------------------------------------------------------------------------- */

/* What of the host's memory can be imported. */
static void oxi_vk_learn_import(oxi_vk_device *d) {
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host;
    VkPhysicalDeviceProperties2 all;
    if (!(d->caps & OX_VULKAN_CAP_HOST_MEMORY)) return;
    memset(&host, 0, sizeof host);
    memset(&all, 0, sizeof all);
    host.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    all.pNext = &host;
    d->host.vkGetPhysicalDeviceProperties2(d->physical, &all);
    d->import_align = host.minImportedHostPointerAlignment;
    d->host_pointer_properties = (PFN_vkGetMemoryHostPointerPropertiesEXT)d->host.vkGetDeviceProcAddr(
        d->device, "vkGetMemoryHostPointerPropertiesEXT");
}

/* Whole pages around [*memory, + bytes), or memory of the driver's. */
static VkResult oxi_vk_pin_buffer(oxi_vk_device *d, oxi_vk_pin *pin, void **memory, uint64_t bytes) {
    const VkBufferUsageFlags usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    const VkMemoryPropertyFlags least =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    oxi_vk_block *block = &pin->block;
    if (*memory) {
        if (!d->host_pointer_properties || d->import_align == 0) return VK_ERROR_FEATURE_NOT_PRESENT;
        uint64_t before = (uintptr_t)*memory % d->import_align;
        pin->host = (char *)*memory - before;
        block->bytes = (before + bytes + d->import_align - 1) / d->import_align * d->import_align;
        return oxi_vk_make_buffer(d, block->bytes, usage, least, pin->host, &block->buffer, &block->memory);
    }
    void *mapped = NULL;
    block->bytes = bytes;
    VkResult result = oxi_vk_make_buffer(d, bytes, usage, least | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, NULL,
                                         &block->buffer, &block->memory);
    if (result != VK_SUCCESS)
        result = oxi_vk_make_buffer(d, bytes, usage, least, NULL, &block->buffer, &block->memory);
    if (result != VK_SUCCESS) return result;
    result = d->vk.vkMapMemory(d->device, block->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    *memory = mapped;
    pin->host = (char *)mapped;
    return result;
}

static void oxi_vk_pin_drop(oxi_vk_device *d, oxi_vk_pin *pin) {
    if (pin->block.buffer) d->vk.vkDestroyBuffer(d->device, pin->block.buffer, NULL);
    if (pin->block.memory) d->vk.vkFreeMemory(d->device, pin->block.memory, NULL);
    oxi_free(pin, sizeof *pin);
}

static ox_status oxi_vk_pin_memory(ox_device *self, void **memory, size_t bytes, void **out) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    oxi_vk_pin *pin = bytes > 0 ? (oxi_vk_pin *)oxi_try_alloc(sizeof *pin) : NULL;
    if (!pin) return OX_ERR_NOMEM;
    memset(pin, 0, sizeof *pin);
    oxi_lock_take(&d->lock);
    bool works = d->open && !d->lost;
    if (works && oxi_vk_pin_buffer(d, pin, memory, bytes) == VK_SUCCESS) {
        pin->chunk.block = &pin->block;
        pin->chunk.bytes = pin->block.bytes;
        pin->chunk.used = true;
        pin->next = d->pins;
        d->pins = pin;
        d->pin_count++;
        *out = pin;
        pin = NULL;
    }
    if (pin) oxi_vk_pin_drop(d, pin);
    oxi_lock_give(&d->lock);
    return pin ? OX_ERR_UNSUPPORTED : OX_OK;
}

static oxi_event oxi_vk_event_of(oxi_vk_device *d, const oxi_vk_chunk *chunk) {
    oxi_event event;
    event.device = &d->base;
    event.count[0] = chunk->serial;
    for (int way = 0; way < OXI_VK_DIRECTIONS; way++) event.count[1 + way] = chunk->carried[way];
    return event;
}

/* Submits what the event waits for, and waits. What the device does not know of was before it was opened. */
static ox_status oxi_vk_reach(oxi_vk_device *d, const oxi_event *event) {
    ox_status status = OX_OK;
    if (event->count[0] > d->serial) status = oxi_vk_submit(d);
    if (status == OX_OK && event->count[0] <= d->serial) status = oxi_vk_wait(d, event->count[0]);
    for (int way = 0; way < OXI_VK_DIRECTIONS && status == OX_OK; way++)
        if (event->count[1 + way] <= d->carrier.serial[way])
            status = oxi_vk_carry_reach(d, way, event->count[1 + way]);
    return status;
}

/* As far as was heard yet. */
static bool oxi_vk_is_known_over(const oxi_vk_device *d, const oxi_event *event) {
    bool over = event->count[0] <= d->done;
    for (int way = 0; way < OXI_VK_DIRECTIONS; way++)
        over = over && event->count[1 + way] <= d->carrier.done[way];
    return over;
}

static void oxi_vk_unpin(ox_device *self, void *handle) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    oxi_vk_pin *pin = (oxi_vk_pin *)handle;
    if (d->inherited) return; /* the parent's */
    oxi_lock_take(&d->lock);
    oxi_event last = oxi_vk_event_of(d, &pin->chunk);
    bool noted = d->recording && last.count[0] > d->serial;
    if (!d->lost && (noted || !oxi_vk_is_known_over(d, &last))) {
        if (noted) (void)oxi_vk_flush(d);
        (void)oxi_vk_reach(d, &last);
    }
    if (d->lost && d->open && !d->shared) /* what was submitted may still write into the memory */
        (void)d->vk.vkDeviceWaitIdle(d->device);
    oxi_vk_forget_commands(d); /* they name the buffer, and another may get its name */
    for (oxi_vk_pin **link = &d->pins; *link; link = &(*link)->next)
        if (*link == pin) {
            *link = pin->next;
            d->pin_count--;
            oxi_vk_pin_drop(d, pin);
            break;
        }
    oxi_lock_give(&d->lock);
}

/* When the device goes. */
static void oxi_vk_pins_stop(oxi_vk_device *d) {
    while (d->pins) {
        oxi_vk_pin *next = d->pins->next;
        oxi_vk_pin_drop(d, d->pins);
        d->pins = next;
    }
    d->pin_count = 0;
}

/* What has all of these bytes, or NULL. */
static oxi_vk_pin *oxi_vk_find_pin(const oxi_vk_device *d, const char *host, uint64_t bytes) {
    for (oxi_vk_pin *pin = d->pins; pin; pin = pin->next)
        if ((uintptr_t)host >= (uintptr_t)pin->host &&
            (uintptr_t)host - (uintptr_t)pin->host <= pin->block.bytes &&
            bytes <= pin->block.bytes - ((uintptr_t)host - (uintptr_t)pin->host))
            return pin;
    return NULL;
}

/* ---- copies -------------------------------------------------------------------------------------------- */

/* By the queue for transfers, in one piece. */
static ox_status oxi_vk_direct_carry(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t offset, oxi_vk_pin *pin,
                                     uint64_t at, uint64_t bytes, bool up) {
    oxi_vk_carrier *c = &d->carrier;
    int place = OXI_VK_STAGES + (int)(c->direct % OXI_VK_DIRECT);
    oxi_vk_carried_piece *piece = &c->piece[place];
    const oxi_vk_direction way = up ? OXI_VK_UP : OXI_VK_DOWN;
    const int back = OXI_VK_DIRECTIONS - 1 - way;
    int64_t last = chunk->serial > pin->chunk.serial ? chunk->serial : pin->chunk.serial;
    int64_t other = chunk->carried[back] > pin->chunk.carried[back] ? chunk->carried[back]
                                                                    : pin->chunk.carried[back];
    ox_status status = last > d->serial ? oxi_vk_submit(d) : OX_OK;
    if (status == OX_OK) status = oxi_vk_carry_land(d, place);
    if (status != OX_OK) return status;
    piece->bytes = bytes;
    piece->way = way;
    VkResult result = oxi_vk_carry_record(d, piece, chunk, offset, pin->block.buffer, at);
    if (result == VK_SUCCESS) result = oxi_vk_carry_submit(d, piece, last, other);
    if (result != VK_SUCCESS) { /* its fence will not be signaled any more */
        d->lost = true;
        return oxi_vk_check(d, result, "a transfer");
    }
    c->direct++;
    chunk->carried[way] = pin->chunk.carried[way] = piece->serial;
    return OX_OK;
}

/* By the queue that computes: a copy like any other, in its order. */
static ox_status oxi_vk_direct_note(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t offset, oxi_vk_pin *pin,
                                    uint64_t at, uint64_t bytes, bool up) {
    const oxi_vk_use use[2] = {oxi_vk_use_of(chunk, up), oxi_vk_use_of(&pin->chunk, !up)};
    VkBuffer block = chunk->block->buffer, host = pin->block.buffer;
    uint64_t in_block = oxi_vk_chunk_at(chunk, offset);
    ox_status status = oxi_vk_touch(d, use, 2);
    if (status == OX_OK)
        status = up ? oxi_vk_copy_region(d, host, at, block, in_block, bytes)
                    : oxi_vk_copy_region(d, block, in_block, host, at, bytes);
    /* a download is wanted soon; an upload with what comes behind it, unless it keeps the device busy */
    return status == OX_OK && (!up || bytes >= OXI_VK_PIN_UP) ? oxi_vk_submit(d) : status;
}

/* Begins to copy between a chunk and `host`, which is pinned. */
static ox_status oxi_vk_direct(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t offset, oxi_vk_pin *pin,
                               const char *host, uint64_t bytes, bool up) {
    uint64_t at = (uint64_t)((uintptr_t)host - (uintptr_t)pin->host);
    bool carries = d->caps & OX_VULKAN_CAP_TRANSFER && !chunk->block->lent && bytes >= OXI_VK_CARRY_UP;
    ox_status status = carries ? oxi_vk_direct_carry(d, chunk, offset, pin, at, bytes, up)
                               : oxi_vk_direct_note(d, chunk, offset, pin, at, bytes, up);
    if (status != OX_OK) return status;
    d->counters.imports++;
    if (up)
        d->counters.bytes_up += (int64_t)bytes;
    else
        d->counters.bytes_down += (int64_t)bytes;
    return status;
}

/* The same, waited for; false: not pinned, or too few bytes, and nothing was done. */
static bool oxi_vk_by_pin(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t offset, const char *host,
                          uint64_t bytes, bool up, ox_status *status) {
    uint64_t least = up ? OXI_VK_PIN_UP : OXI_VK_PIN_DOWN;
    oxi_vk_pin *pin = bytes >= least ? oxi_vk_find_pin(d, host, bytes) : NULL;
    if (!pin) return false;
    *status = oxi_vk_direct(d, chunk, offset, pin, host, bytes, up);
    oxi_event last = oxi_vk_event_of(d, &pin->chunk);
    if (*status == OX_OK) *status = oxi_vk_reach(d, &last);
    return true;
}

/* ---- events -------------------------------------------------------------------------------------------- */

/* What is begun from now on comes behind the event, which is this device's. */
static ox_status oxi_vk_wait_for(oxi_vk_device *d, const oxi_event *event) {
    oxi_vk_carrier *c = &d->carrier;
    for (int way = 0; way < OXI_VK_DIRECTIONS; way++)
        if (event->count[1 + way] <= c->serial[way] && event->count[1 + way] > c->needed[way])
            c->needed[way] = event->count[1 + way];
    if (event->count[0] <= d->done || event->count[0] > d->serial + d->recording) return OX_OK;
    ox_status status = oxi_vk_begin(d);
    if (status == OX_OK) oxi_vk_barrier(d);
    return status;
}

static oxi_event oxi_vk_pin_event(ox_device *self, void *handle) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    oxi_event event;
    memset(&event, 0, sizeof event);
    if (d->inherited) return event;
    oxi_lock_take(&d->lock);
    event = oxi_vk_event_of(d, &((oxi_vk_pin *)handle)->chunk);
    oxi_lock_give(&d->lock);
    return event;
}

/* Whether a submission is over, of those whose fences are known: without waiting. */
static bool oxi_vk_is_over(oxi_vk_device *d, const oxi_event *event) {
    oxi_vk_carrier *c = &d->carrier;
    if (event->count[0] > d->serial) return !d->recording;
    for (int i = 0; i < OXI_VK_SLOTS; i++)
        if (event->count[0] > d->done && d->slot[i].serial >= event->count[0])
            (void)oxi_vk_slot_is_over(d, &d->slot[i]);
    for (int i = 0; i < OXI_VK_STAGES + OXI_VK_DIRECT; i++) {
        const oxi_vk_carried_piece *piece = &c->piece[i];
        int64_t asked = event->count[1 + piece->way];
        if (asked > c->done[piece->way] && piece->serial >= asked &&
            d->vk.vkGetFenceStatus(d->device, piece->fence) == VK_SUCCESS)
            c->done[piece->way] = piece->serial;
    }
    return oxi_vk_is_known_over(d, event);
}

static bool oxi_vk_event_done(ox_device *self, const oxi_event *event) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    if (d->inherited) return true;
    oxi_lock_take(&d->lock);
    if (d->open && !d->lost && d->recording && event->count[0] > d->serial) { /* or it would never be */
        (void)oxi_vk_flush(d);
        (void)oxi_vk_submit(d);
    }
    bool over = !d->open || d->lost || oxi_vk_is_over(d, event);
    oxi_lock_give(&d->lock);
    return over;
}

/* With the lock held, which others have while this thread sleeps, where semaphores count what the event waits
 * for. What it is made of keeps the device open. */
static ox_status oxi_vk_sleep(oxi_vk_device *d, const oxi_event *event) {
    const oxi_vk_carrier *c = &d->carrier;
    VkSemaphoreWaitInfo info;
    VkSemaphore semaphores[1 + OXI_VK_DIRECTIONS];
    uint64_t values[1 + OXI_VK_DIRECTIONS];
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    if (event->count[0] > d->serial && oxi_vk_submit(d) != OX_OK) return ox_error();
    if (event->count[0] > d->done && event->count[0] <= d->serial) {
        semaphores[info.semaphoreCount] = c->computed;
        values[info.semaphoreCount++] = (uint64_t)event->count[0];
    }
    for (int way = 0; way < OXI_VK_DIRECTIONS; way++) {
        if (event->count[1 + way] <= c->done[way] || event->count[1 + way] > c->serial[way]) continue;
        semaphores[info.semaphoreCount] = c->carried[way];
        values[info.semaphoreCount++] = (uint64_t)event->count[1 + way];
    }
    if (info.semaphoreCount == 0) return OX_OK;
    info.pSemaphores = semaphores;
    info.pValues = values;
    oxi_lock_give(&d->lock);
    VkResult result = c->wait(d->device, &info, UINT64_MAX);
    oxi_lock_take(&d->lock);
    if (result != VK_SUCCESS) return oxi_vk_check(d, result, "waiting");
    return d->open && d->lost ? oxi_vk_check_open(d) : OX_OK;
}

static ox_status oxi_vk_event_wait(ox_device *self, const oxi_event *event) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    if (d->inherited) return oxi_vk_check_open(d);
    oxi_lock_take(&d->lock);
    ox_status status = OX_OK;
    if (d->open && d->lost) status = oxi_vk_check_open(d);
    if (status == OX_OK && d->open && d->recording && event->count[0] > d->serial) status = oxi_vk_flush(d);
    if (status == OX_OK && d->open && d->caps & OX_VULKAN_CAP_TRANSFER && d->carrier.wait)
        status = oxi_vk_sleep(d, event);
    if (status == OX_OK && d->open) status = oxi_vk_reach(d, event);
    oxi_lock_give(&d->lock);
    return status;
}

static oxi_peer oxi_vk_peer(ox_device *self, ox_device *other) {
    const oxi_vk_device *d = (const oxi_vk_device *)self;
    if (other == self || other->host) return OXI_PEER_DIRECT;
    return d->open && !d->lost && other->pin && other->copy_async ? OXI_PEER_PINNED : OXI_PEER_NONE;
}
