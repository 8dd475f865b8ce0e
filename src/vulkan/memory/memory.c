/* Device memory: blocks from the driver, chunks of blocks for tensors, host-visible buffers.
 * Freed chunks join their free neighbors, small ones when nothing fits, and are handed out again in place;
 * blocks stay until memory runs out or the device closes, so a steady loop asks the driver for nothing. */

/* A memory type of `allowed` with all of `wanted`; -1 if there is none. */
static int oxi_vk_memory_type(const oxi_vk_device *d, uint32_t allowed, VkMemoryPropertyFlags wanted) {
    for (uint32_t i = 0; i < d->memories.memoryTypeCount; i++)
        if (allowed >> i & 1 && (d->memories.memoryTypes[i].propertyFlags & wanted) == wanted) return (int)i;
    return -1;
}

/* A buffer over memory of the driver's or, with `host`, over whole pages that the host has there. */
static VkResult oxi_vk_make_buffer(oxi_vk_device *d, uint64_t bytes, VkBufferUsageFlags usage,
                                   VkMemoryPropertyFlags wanted, void *host, VkBuffer *buffer,
                                   VkDeviceMemory *memory) {
    VkBufferCreateInfo info;
    VkExternalMemoryBufferCreateInfo external;
    memset(&external, 0, sizeof external);
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = usage;
    if (host) info.pNext = &external;
    uint32_t families[2] = {d->queue_family, d->transfer_family};
    if (d->caps & OX_VULKAN_CAP_TRANSFER && usage & VK_BUFFER_USAGE_TRANSFER_SRC_BIT &&
        usage & VK_BUFFER_USAGE_TRANSFER_DST_BIT) { /* tensors and pinned memory: both queues */
        info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        info.queueFamilyIndexCount = 2;
        info.pQueueFamilyIndices = families;
    }
    *memory = VK_NULL_HANDLE;
    VkResult result = d->vk.vkCreateBuffer(d->device, &info, NULL, buffer);
    if (result != VK_SUCCESS) {
        *buffer = VK_NULL_HANDLE;
        return result;
    }
    VkMemoryRequirements needs;
    d->vk.vkGetBufferMemoryRequirements(d->device, *buffer, &needs);
    VkMemoryAllocateInfo allocate;
    VkMemoryPriorityAllocateInfoEXT priority;
    VkImportMemoryHostPointerInfoEXT import;
    VkMemoryHostPointerPropertiesEXT pages;
    memset(&allocate, 0, sizeof allocate);
    memset(&priority, 0, sizeof priority);
    memset(&import, 0, sizeof import);
    memset(&pages, 0, sizeof pages);
    allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    priority.sType = VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT;
    priority.priority = usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT ? 1.0f : 0.5f;
    import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
    import.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    import.pHostPointer = host;
    pages.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
    if (d->caps & OX_VULKAN_CAP_PRIORITY) allocate.pNext = &priority;
    allocate.allocationSize = needs.size;
    if (host) {
        result = d->host_pointer_properties(d->device, import.handleType, host, &pages);
        if (result == VK_SUCCESS && needs.size > bytes) result = VK_ERROR_FEATURE_NOT_PRESENT;
        needs.memoryTypeBits &= pages.memoryTypeBits;
        allocate.pNext = &import;
        allocate.allocationSize = bytes;
    }
    int type = oxi_vk_memory_type(d, needs.memoryTypeBits, wanted);
    allocate.memoryTypeIndex = (uint32_t)type;
    if (type < 0) result = VK_ERROR_FEATURE_NOT_PRESENT;
    if (result == VK_SUCCESS) result = d->vk.vkAllocateMemory(d->device, &allocate, NULL, memory);
    if (result == VK_SUCCESS) {
        d->counters.allocations += !host;
        result = d->vk.vkBindBufferMemory(d->device, *buffer, *memory, 0);
    }
    if (result == VK_SUCCESS) return result;
    if (*memory) d->vk.vkFreeMemory(d->device, *memory, NULL);
    d->vk.vkDestroyBuffer(d->device, *buffer, NULL);
    *buffer = VK_NULL_HANDLE;
    *memory = VK_NULL_HANDLE;
    return result;
}

static ox_status oxi_vk_host_buffer_make(oxi_vk_device *d, uint64_t bytes, VkBufferUsageFlags usage,
                                         VkMemoryPropertyFlags wanted, oxi_vk_host_buffer *out) {
    VkMemoryPropertyFlags least = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkResult result = oxi_vk_make_buffer(d, bytes, usage, least | wanted, NULL, &out->buffer, &out->memory);
    if (result != VK_SUCCESS)
        result = oxi_vk_make_buffer(d, bytes, usage, least, NULL, &out->buffer, &out->memory);
    void *mapped = NULL;
    if (result == VK_SUCCESS)
        result = d->vk.vkMapMemory(d->device, out->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    out->mapped = (char *)mapped;
    out->bytes = bytes;
    return oxi_vk_check(d, result, "host memory");
}

static void oxi_vk_host_buffer_drop(oxi_vk_device *d, oxi_vk_host_buffer *b) {
    if (b->buffer) d->vk.vkDestroyBuffer(d->device, b->buffer, NULL);
    if (b->memory) d->vk.vkFreeMemory(d->device, b->memory, NULL);
    memset(b, 0, sizeof *b);
}

/* ---- chunks -------------------------------------------------------------------------------------------- */

/* What chunks are told by comes from slabs that stay until the device closes, so that chunks which are not
 * joined at once ask for no memory of the host one by one. The first of a slab is its own. */
static void oxi_vk_chunk_drop(oxi_vk_device *d, oxi_vk_chunk *chunk) {
    if (!chunk) return;
    memset(chunk, 0, sizeof *chunk);
    chunk->after = d->spare_chunks;
    d->spare_chunks = chunk;
}

static oxi_vk_chunk *oxi_vk_chunk_new(oxi_vk_device *d, oxi_vk_block *block, uint64_t offset,
                                      uint64_t bytes) {
    if (!d->spare_chunks) {
        oxi_vk_chunk *slab = (oxi_vk_chunk *)oxi_calloc(OXI_VK_CHUNK_SLAB, sizeof *slab);
        if (!slab) return NULL;
        slab->after = d->chunk_slabs;
        d->chunk_slabs = slab;
        for (int i = OXI_VK_CHUNK_SLAB - 1; i > 0; i--) oxi_vk_chunk_drop(d, &slab[i]);
    }
    oxi_vk_chunk *chunk = d->spare_chunks;
    d->spare_chunks = chunk->after;
    chunk->after = NULL;
    chunk->block = block;
    chunk->offset = offset;
    chunk->bytes = bytes;
    return chunk;
}

/* The list for free chunks of so many bytes: small sizes have one each, others share theirs with those up to
 * twice as large. */
static int oxi_vk_size_list(uint64_t bytes) {
    const uint64_t units = bytes / OXI_VK_ALIGN;
    int list = OXI_VK_SMALL_SIZES + 1;
    if (bytes <= OXI_VK_SMALL) return (int)units;
    for (uint64_t n = units; n >= 2 * OXI_VK_SMALL_SIZES && list < OXI_VK_SIZES - 1; n >>= 1) list++;
    return list;
}

static void oxi_vk_list_free(oxi_vk_device *d, oxi_vk_chunk *chunk) {
    oxi_vk_chunk **first = &d->free_chunks[chunk->block->small][oxi_vk_size_list(chunk->bytes)];
    chunk->free_before = NULL;
    chunk->free_after = *first;
    if (*first) (*first)->free_before = chunk;
    *first = chunk;
}

static void oxi_vk_unlist_free(oxi_vk_device *d, oxi_vk_chunk *chunk) {
    if (chunk->free_before)
        chunk->free_before->free_after = chunk->free_after;
    else
        d->free_chunks[chunk->block->small][oxi_vk_size_list(chunk->bytes)] = chunk->free_after;
    if (chunk->free_after) chunk->free_after->free_before = chunk->free_before;
}

/* Takes the first `bytes` of a free chunk; the rest becomes a chunk of its own. */
static oxi_vk_chunk *oxi_vk_chunk_take(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t bytes) {
    oxi_vk_chunk *rest = NULL;
    if (chunk->bytes > bytes) {
        rest = oxi_vk_chunk_new(d, chunk->block, chunk->offset + bytes, chunk->bytes - bytes);
        if (!rest) return NULL;
        rest->last = chunk->last;
        rest->serial = chunk->serial;
        memcpy(rest->carried, chunk->carried, sizeof rest->carried);
        rest->before = chunk;
        rest->after = chunk->after;
        if (rest->after) rest->after->before = rest;
    }
    oxi_vk_unlist_free(d, chunk);
    if (rest) {
        chunk->after = rest;
        chunk->bytes = bytes;
        oxi_vk_list_free(d, rest);
    }
    chunk->used = true;
    chunk->block->used += chunk->bytes;
    d->counters.bytes_in_use += chunk->bytes;
    if (d->counters.bytes_in_use > d->bytes_peak) d->bytes_peak = d->counters.bytes_in_use;
    d->chunks++;
    return chunk;
}

/* Joins a chunk with the one behind it; neither is in a list. */
static void oxi_vk_chunk_join(oxi_vk_device *d, oxi_vk_chunk *chunk) {
    oxi_vk_chunk *gone = chunk->after;
    chunk->bytes += gone->bytes;
    if (gone->last.written > chunk->last.written) chunk->last.written = gone->last.written;
    if (gone->last.read > chunk->last.read) chunk->last.read = gone->last.read;
    if (gone->serial > chunk->serial) chunk->serial = gone->serial;
    for (int way = 0; way < OXI_VK_DIRECTIONS; way++)
        if (gone->carried[way] > chunk->carried[way]) chunk->carried[way] = gone->carried[way];
    chunk->after = gone->after;
    if (chunk->after) chunk->after->before = chunk;
    oxi_vk_chunk_drop(d, gone);
}

static void oxi_vk_chunk_give(oxi_vk_device *d, oxi_vk_chunk *chunk) {
    if (oxi_vk_sum_uses(d, chunk)) d->sum_made.of = NULL;
    chunk->used = false;
    chunk->block->used -= chunk->bytes;
    d->counters.bytes_in_use -= chunk->bytes;
    d->chunks--;
    if (!chunk->block->small) { /* small ones: oxi_vk_join_small */
        if (chunk->after && !chunk->after->used) {
            oxi_vk_unlist_free(d, chunk->after);
            oxi_vk_chunk_join(d, chunk);
        }
        if (chunk->before && !chunk->before->used) {
            chunk = chunk->before;
            oxi_vk_unlist_free(d, chunk);
            oxi_vk_chunk_join(d, chunk);
        }
    }
    oxi_vk_list_free(d, chunk);
}

/* Joins free neighbors in the blocks for small tensors, where nothing else fits: whoever gets what was joined
 * waits for the last use of any part of it. Returns whether there were any. */
static bool oxi_vk_join_small(oxi_vk_device *d) {
    bool any = false;
    for (oxi_vk_block *block = d->blocks; block; block = block->next)
        for (oxi_vk_chunk *c = block->small ? block->first : NULL; c; c = c->after) {
            if (c->used || !c->after || c->after->used) continue;
            oxi_vk_unlist_free(d, c);
            while (c->after && !c->after->used) {
                oxi_vk_unlist_free(d, c->after);
                oxi_vk_chunk_join(d, c);
            }
            oxi_vk_list_free(d, c);
            any = true;
        }
    return any;
}

/* Of free chunks of one small size the first one in memory that nothing has used for a while, so that what is
 * written into it is beside what is under way, and a steady loop gets the same ones each time round. Without
 * one, the one that rested longest where there are many or `only` those; else NULL. */
static oxi_vk_chunk *oxi_vk_chunk_rested(const oxi_vk_device *d, oxi_vk_chunk *list, bool only) {
    oxi_vk_chunk *rested = NULL, *oldest = NULL;
    int64_t least = INT64_MAX;
    int looked = 0;
    for (oxi_vk_chunk *c = list; c && looked < OXI_VK_LOOKED_AT; c = c->free_after, looked++) {
        const int64_t last = c->last.read > c->last.written ? c->last.read : c->last.written;
        if (last + OXI_VK_RESTED <= d->epoch && (!rested || c->offset < rested->offset)) rested = c;
        if (last < least) oldest = c;
        if (last < least) least = last;
    }
    return rested ? rested : only || looked == OXI_VK_LOOKED_AT ? oldest : NULL;
}

/* The smallest chunk of a range of lists that is large enough, or the first one of that very size. */
static oxi_vk_chunk *oxi_vk_chunk_larger(const oxi_vk_device *d, oxi_vk_chunk *const *lists, int from, int to,
                                         uint64_t bytes) {
    oxi_vk_chunk *best = NULL;
    for (int i = from; i < to && !best; i++)
        for (oxi_vk_chunk *c = lists[i]; c; c = c->free_after) {
            if (c->bytes == bytes) return c;
            if (c->bytes > bytes && !d->apart && (!best || c->bytes < best->bytes)) best = c;
        }
    return best;
}

/* A free chunk that is large enough, among the blocks for small tensors or the others: what an op makes of
 * small tensors lies in one block, so that one binding reaches all of it (fuse.c). Small sizes are cut from
 * what is large until there are enough of them, before those of other sizes are. */
static oxi_vk_chunk *oxi_vk_chunk_find(oxi_vk_device *d, uint64_t bytes) {
    const int list = oxi_vk_size_list(bytes), large = OXI_VK_SMALL_SIZES + 1;
    const bool small = bytes <= OXI_VK_SMALL;
    oxi_vk_chunk *const *lists = d->free_chunks[small], *found;
    if (!small) return oxi_vk_chunk_larger(d, lists, list, OXI_VK_SIZES, bytes);
    found = oxi_vk_chunk_rested(d, lists[list], false);
    if (!found) found = oxi_vk_chunk_larger(d, lists, large, OXI_VK_SIZES, bytes);
    if (!found) found = oxi_vk_chunk_rested(d, lists[list], true);
    if (!found && oxi_vk_join_small(d)) found = oxi_vk_chunk_larger(d, lists, large, OXI_VK_SIZES, bytes);
    return found ? found : oxi_vk_chunk_larger(d, lists, list, large, bytes);
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

/* Bytes that the driver would still give: its budget where it tells one, else what the heap has left. */
static uint64_t oxi_vk_free_bytes(const oxi_vk_device *d) {
    uint32_t heap = d->memories.memoryTypes[d->memory_type].heapIndex;
    uint64_t size = d->memories.memoryHeaps[heap].size, ours = d->counters.bytes_reserved;
    if (d->caps & OX_VULKAN_CAP_BUDGET) {
        VkPhysicalDeviceMemoryBudgetPropertiesEXT budget;
        VkPhysicalDeviceMemoryProperties2 properties;
        memset(&budget, 0, sizeof budget);
        memset(&properties, 0, sizeof properties);
        budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
        properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
        properties.pNext = &budget;
        d->host.vkGetPhysicalDeviceMemoryProperties2(d->physical, &properties);
        size = budget.heapBudget[heap];
        ours = budget.heapUsage[heap];
    }
    return size > ours ? size - ours : 0;
}

/* Whether the budget of ox_device_set_budget has so many bytes left. */
static bool oxi_vk_budget_has(const oxi_vk_device *d, uint64_t bytes) {
    uint64_t reserved = d->counters.bytes_reserved;
    return d->budget_bytes == 0 || (reserved <= d->budget_bytes && bytes <= d->budget_bytes - reserved);
}

static VkResult oxi_vk_block_new(oxi_vk_device *d, uint64_t bytes, bool small, oxi_vk_block **out) {
    /* beyond the budget a driver may still give memory, and move some of it out and in from then on */
    if (d->caps & OX_VULKAN_CAP_BUDGET && oxi_vk_free_bytes(d) < bytes) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (!oxi_vk_budget_has(d, bytes)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    oxi_vk_block *block = (oxi_vk_block *)oxi_calloc(1, sizeof *block);
    oxi_vk_chunk *all = block ? oxi_vk_chunk_new(d, block, 0, bytes) : NULL;
    VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VkResult result = all ? oxi_vk_make_buffer(d, bytes, usage, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, NULL,
                                               &block->buffer, &block->memory)
                          : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (result != VK_SUCCESS) {
        oxi_vk_chunk_drop(d, all);
        oxi_free(block, sizeof *block);
        return result;
    }
    block->bytes = bytes;
    block->small = small;
    block->first = all;
    oxi_vk_list_free(d, all);
    block->next = d->blocks;
    d->blocks = block;
    d->block_count++;
    d->counters.bytes_reserved += bytes;
    *out = block;
    return VK_SUCCESS;
}

static void oxi_vk_block_drop(oxi_vk_device *d, oxi_vk_block *block) {
    for (oxi_vk_chunk *c = block->first, *next; c; c = next) {
        next = c->after;
        if (!c->used) oxi_vk_unlist_free(d, c);
        oxi_vk_chunk_drop(d, c);
    }
    if (block->memory) {
        d->vk.vkDestroyBuffer(d->device, block->buffer, NULL);
        d->vk.vkFreeMemory(d->device, block->memory, NULL);
        d->counters.bytes_reserved -= block->bytes;
        d->block_count--;
    }
    oxi_free(block, sizeof *block);
}

static void oxi_vk_trim(oxi_vk_device *d) {
    (void)oxi_vk_submit(d);
    (void)oxi_vk_wait(d, d->serial);
    (void)oxi_vk_carry_wait(d);
    bool dropped = false;
    oxi_vk_forget_commands(d);
    for (oxi_vk_block **at = &d->blocks; *at;) {
        oxi_vk_block *block = *at;
        if (block->used > 0) {
            at = &block->next;
            continue;
        }
        *at = block->next;
        if (!dropped) oxi_vk_forget_sets(d); /* sets name buffers that are about to go */
        dropped = true;
        oxi_vk_block_drop(d, block);
    }
}

/* A chunk of at least so many bytes, and of some where that is none: a driver makes no empty buffers. */
static oxi_vk_chunk *oxi_vk_chunk_alloc(oxi_vk_device *d, uint64_t least) {
    uint64_t bytes =
        least ? (least + OXI_VK_ALIGN - 1) / OXI_VK_ALIGN * OXI_VK_ALIGN : (uint64_t)OXI_VK_ALIGN;
    oxi_vk_chunk *found = oxi_vk_chunk_find(d, bytes);
    if (found) return oxi_vk_chunk_take(d, found, bytes);
    bool small = bytes <= OXI_VK_SMALL;
    uint64_t whole = d->block_bytes;
    if (small && whole > (uint64_t)OXI_VK_SMALL_BLOCK) whole = OXI_VK_SMALL_BLOCK;
    uint64_t wanted = bytes > whole / 2 || d->apart || !oxi_vk_budget_has(d, whole) ? bytes : whole;
    if (d->block_count >= OXI_VK_BLOCKS) oxi_vk_trim(d);
    oxi_vk_block *block = NULL;
    VkResult result = oxi_vk_block_new(d, wanted, small, &block);
    if (result != VK_SUCCESS) { /* caches go, then a smaller block has to do */
        oxi_vk_trim(d);
        result = oxi_vk_block_new(d, wanted, small, &block);
        if (result != VK_SUCCESS && wanted > bytes) result = oxi_vk_block_new(d, bytes, small, &block);
    }
    if (result == VK_SUCCESS) return oxi_vk_chunk_take(d, block->first, bytes);
    unsigned long long in_use = (unsigned long long)d->counters.bytes_in_use;
    unsigned long long needed = (unsigned long long)bytes;
    if (d->budget_bytes > 0)
        (void)oxi_fail(OX_ERR_NOMEM, "%s: out of memory: %llu bytes needed, %llu in use, a budget of %llu",
                       d->device_name, needed, in_use, (unsigned long long)d->budget_bytes);
    else
        (void)oxi_fail(OX_ERR_NOMEM, "%s: out of memory: %llu bytes needed, %llu free, %llu in use",
                       d->device_name, needed, (unsigned long long)oxi_vk_free_bytes(d), in_use);
    return NULL;
}

static ox_status oxi_vk_alloc(ox_device *self, size_t bytes, void **out) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    *out = NULL;
    ox_status status = oxi_vk_check_open(d);
    if (status != OX_OK) return status;
    if (bytes > d->tensor_bytes_most)
        return oxi_fail(OX_ERR_NOMEM, "%s: a tensor of %llu bytes; this device reaches %llu at once",
                        d->device_name, (unsigned long long)bytes, (unsigned long long)d->tensor_bytes_most);
    oxi_lock_take(&d->lock);
    oxi_vk_chunk *chunk = oxi_vk_chunk_alloc(d, bytes);
    oxi_lock_give(&d->lock);
    *out = chunk;
    return chunk ? OX_OK : OX_ERR_NOMEM;
}

static void oxi_vk_statistics(ox_device *self, ox_device_stats *out) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    if (!d->open) return;
    oxi_lock_take(&d->lock);
    if (d->kept_count > 0 && !d->lost) (void)oxi_vk_flush(d);
    out->bytes_in_use = d->counters.bytes_in_use;
    out->bytes_peak = d->bytes_peak;
    out->bytes_reserved = d->counters.bytes_reserved;
    out->bytes_budget = d->budget_bytes;
    oxi_lock_give(&d->lock);
}

static ox_status oxi_vk_set_budget(ox_device *self, uint64_t bytes) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    ox_status status = oxi_vk_check_open(d);
    if (status != OX_OK) return status;
    oxi_vk_enter(d);
    d->budget_bytes = bytes;
    if (bytes > 0 && d->counters.bytes_reserved > bytes) {
        status = oxi_vk_flush(d);
        oxi_vk_trim(d);
    }
    oxi_lock_give(&d->lock);
    return status;
}

static void oxi_vk_free(ox_device *self, void *memory, size_t bytes) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    (void)bytes;
    if (!memory) return;
    oxi_lock_take(&d->lock);
    if (d->lost) oxi_vk_let_go(d); /* what is held back can never be recorded: no error of this call */
    if (d->open && !oxi_vk_keep(d, (oxi_vk_chunk *)memory)) oxi_vk_chunk_give(d, (oxi_vk_chunk *)memory);
    oxi_lock_give(&d->lock);
}
