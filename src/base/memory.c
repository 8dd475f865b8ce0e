/* The allocator: size classes, a list of free blocks each, before the system, the user's hooks or an arena.
 * Blocks carry no header: oxi_free is told the bytes, which give the class. One short lock guards it all.
 * Everything in the library that needs memory comes here. */

/* Counters of ox_memory_get_stats that other rooms change, with oxi_atomic_add. */
static int64_t oxi_stat_tensors, oxi_stat_storages, oxi_stat_tensors_made;
static int64_t oxi_stat_calls, oxi_stat_detours, oxi_stat_bad_releases, oxi_stat_pins;
static int64_t oxi_stat_pinned_bytes;                    /* of those that are cached */

/* Blocks that fill huge pages lie on these as far as they fill them. */
#define OXI_HUGE_PAGE ((size_t)2 << 20)
/* log2 of the bytes from which blocks are cut finer: 16 classes per power of two instead of 4. */
#define OXI_FINE_FROM 20
#define OXI_CLASS_COUNT (1 + 16 * ((int)sizeof(size_t) * 8 - 7))
/* The cache may hold this much beyond twice the most that was ever in use. */
#define OXI_CACHE_SLACK ((size_t)64 << 20)

/* A free block's own first bytes. */
typedef struct oxi_free_block {
    struct oxi_free_block *next;
    size_t bytes;
} oxi_free_block;

static oxi_lock oxi_memory_lock;                         /* guards all of the following */
static oxi_free_block *oxi_free_lists[OXI_CLASS_COUNT];
static size_t oxi_bytes_in_use, oxi_bytes_peak, oxi_bytes_cached, oxi_bytes_most;
static size_t oxi_bytes_kept;                            /* in blocks that are cached as they are pinned */
static size_t oxi_bytes_asked;                           /* of the source, by requests that are under way */
static size_t oxi_bytes_budget;                          /* the most of all held together; 0: no limit */
static int64_t oxi_system_allocs;
static ox_allocator oxi_hooks;                           /* alloc NULL: the system */
static char *oxi_arena_start;                            /* NULL: no arena */
static size_t oxi_arena_bytes;
static oxi_free_block *oxi_arena_free;                   /* by address, no two adjacent */

/* ---- size classes -------------------------------------------------------------------------------------- */

static int oxi_log2_size(size_t x) {
#if defined(__GNUC__) || defined(__clang__)
    return 63 - __builtin_clzll(x | 1);
#else
    int k = 0;
    while (x >>= 1) k++;
    return k;
#endif
}

/* Rounds bytes (at most SIZE_MAX/4) up to its class: multiples of 64 that cut a power of two into 4 or 16. */
static size_t oxi_class_of(size_t bytes, int *index) {
    *index = 0;
    if (bytes <= OXI_ALIGN) return OXI_ALIGN;
    int k = oxi_log2_size(bytes - 1);                    /* bytes in (2^k, 2^(k+1)] */
    size_t base = (size_t)1 << k;
    int cut = k - (k >= OXI_FINE_FROM ? 4 : 2);          /* log2 of a step, at least OXI_ALIGN */
    if (cut < 6) cut = 6;
    size_t steps = (bytes - base + ((size_t)1 << cut) - 1) >> cut;
    *index = 1 + (k - 6) * 16 + (int)(steps - 1);
    return base + (steps << cut);
}

/* ---- the system ---------------------------------------------------------------------------------------- */

static void *oxi_system_alloc(size_t bytes) {
    size_t align = bytes >= OXI_HUGE_PAGE ? OXI_HUGE_PAGE : OXI_ALIGN;
    void *memory = NULL;
#if defined(_WIN32)
    memory = _aligned_malloc(bytes, align);
#elif defined(__APPLE__)
    if (posix_memalign(&memory, align, bytes) != 0) memory = NULL;
#else
    memory = aligned_alloc(align, (bytes + align - 1) / align * align); /* what is behind is never touched */
#endif
#ifdef __linux__
    if (memory && bytes >= OXI_HUGE_PAGE) /* only a wish */
        (void)madvise(memory, bytes / OXI_HUGE_PAGE * OXI_HUGE_PAGE, MADV_HUGEPAGE);
#endif
    return memory;
}

static void *oxi_source_alloc(size_t bytes) {
    oxi_watch_fork();
    (void)oxi_atomic_add(&oxi_system_allocs, 1);
    if (!oxi_hooks.alloc) return oxi_system_alloc(bytes);
    void *memory = oxi_hooks.alloc(oxi_hooks.user, bytes);
    if (memory && (uintptr_t)memory % OXI_ALIGN != 0) {
        oxi_log(OX_LOG_ERROR, "allocator: block is not aligned to %d bytes", OXI_ALIGN);
        oxi_hooks.free(oxi_hooks.user, memory, bytes);
        memory = NULL;
    }
    return memory;
}

static void oxi_source_free(void *memory, size_t bytes) {
    OXI_UNPOISON(memory, bytes);
    if (oxi_hooks.alloc) {
        oxi_hooks.free(oxi_hooks.user, memory, bytes);
        return;
    }
#if defined(_WIN32)
    _aligned_free(memory);
#else
    free(memory);
#endif
}

/* ---- the arena: first fit, free blocks merged with their neighbors; called with the lock held --------- */

static void *oxi_arena_take(size_t bytes) {
    oxi_free_block **link = &oxi_arena_free;
    while (*link && (*link)->bytes < bytes) link = &(*link)->next;
    oxi_free_block *block = *link;
    if (!block) return NULL;
    if (block->bytes > bytes) {
        oxi_free_block *rest = (oxi_free_block *)(void *)((char *)block + bytes);
        OXI_UNPOISON(rest, sizeof *rest);
        rest->next = block->next;
        rest->bytes = block->bytes - bytes;
        *link = rest;
    } else {
        *link = block->next;
    }
    OXI_UNPOISON(block, bytes);
    return block;
}

static void oxi_arena_merge_next(oxi_free_block *block) {
    oxi_free_block *next = block->next;
    if (!next || (char *)block + block->bytes != (char *)next) return;
    block->bytes += next->bytes;
    block->next = next->next;
    OXI_POISON(next, sizeof *next);
}

static void oxi_arena_give(void *memory, size_t bytes) {
    oxi_free_block *block = (oxi_free_block *)memory;
    oxi_free_block *before = NULL, *after = oxi_arena_free;
    while (after && (char *)after < (char *)block) {
        before = after;
        after = after->next;
    }
    block->next = after;
    block->bytes = bytes;
    OXI_POISON(block + 1, bytes - sizeof *block);
    if (before) {
        before->next = block;
    } else {
        oxi_arena_free = block;
    }
    oxi_arena_merge_next(block);
    if (before) oxi_arena_merge_next(before);
}

/* ---- the cache ----------------------------------------------------------------------------------------- */

static void oxi_count_in_use(size_t bytes) {
    oxi_bytes_in_use += bytes;
    if (oxi_bytes_in_use > oxi_bytes_peak) oxi_bytes_peak = oxi_bytes_in_use;
    if (oxi_bytes_in_use > oxi_bytes_most) oxi_bytes_most = oxi_bytes_in_use;
}

/* With the lock held: whether so many bytes more may be held. */
static bool oxi_budget_has(size_t bytes) {
    size_t held = oxi_bytes_in_use + oxi_bytes_cached + oxi_bytes_kept + oxi_bytes_asked;
    return oxi_bytes_budget == 0 || (held <= oxi_bytes_budget && bytes <= oxi_bytes_budget - held);
}

static bool oxi_budget_ask(size_t bytes) {
    oxi_lock_take(&oxi_memory_lock);
    bool allowed = oxi_budget_has(bytes);
    if (allowed) oxi_bytes_asked += bytes;
    oxi_lock_give(&oxi_memory_lock);
    return allowed;
}

/* From the arena or the cache; NULL means: ask the source. */
static void *oxi_take_at_hand(size_t bytes, int index) {
    void *memory = NULL;
    oxi_lock_take(&oxi_memory_lock);
    if (oxi_arena_start) {
        memory = oxi_budget_has(bytes) ? oxi_arena_take(bytes) : NULL;
    } else if (oxi_free_lists[index]) {
        oxi_free_block *block = oxi_free_lists[index];
        oxi_free_lists[index] = block->next;
        oxi_bytes_cached -= bytes;
        OXI_UNPOISON(block, bytes);
        memory = block;
    }
    if (memory) oxi_count_in_use(bytes);
    oxi_lock_give(&oxi_memory_lock);
    return memory;
}

/* Gives all cached blocks back. They are unlinked under the lock and freed outside it. */
static void oxi_cache_empty(void) {
    oxi_free_block *list = NULL;
    oxi_lock_take(&oxi_memory_lock);
    for (int i = 0; i < OXI_CLASS_COUNT; i++) {
        while (oxi_free_lists[i]) {
            oxi_free_block *block = oxi_free_lists[i];
            oxi_free_lists[i] = block->next;
            block->next = list;
            list = block;
        }
    }
    oxi_bytes_cached = 0;
    oxi_lock_give(&oxi_memory_lock);
    while (list) {
        oxi_free_block *next = list->next;
        oxi_source_free(list, list->bytes);
        list = next;
    }
}

static void *oxi_take_from_source(size_t bytes) {
    if (!oxi_budget_ask(bytes)) {
        oxi_cache_empty();
        if (!oxi_budget_ask(bytes)) return NULL;
    }
    void *memory = oxi_source_alloc(bytes);
    if (!memory) {
        oxi_cache_empty();
        memory = oxi_source_alloc(bytes);
    }
    oxi_lock_take(&oxi_memory_lock);
    oxi_bytes_asked -= bytes;
    if (memory) oxi_count_in_use(bytes);
    oxi_lock_give(&oxi_memory_lock);
    return memory;
}

/* The bytes that a block of this size really has. */
static size_t oxi_block_bytes(size_t bytes, int *index) {
    size_t rounded = oxi_class_of(bytes, index);
    if (!oxi_arena_start) return rounded;
    return (bytes + (bytes == 0) + OXI_ALIGN - 1) & ~(size_t)(OXI_ALIGN - 1);
}

OXI_UNUSED static void *oxi_try_alloc(size_t bytes) {
    int index = 0;
    if (bytes > SIZE_MAX / 4) return NULL;
    size_t rounded = oxi_block_bytes(bytes, &index);
    void *memory = oxi_take_at_hand(rounded, index);
    if (!memory && !oxi_arena_start) memory = oxi_take_from_source(rounded);
    if (memory) OXI_POISON((char *)memory + bytes, rounded - bytes);
    return memory;
}

OXI_UNUSED static ox_status oxi_fail_memory(size_t bytes) {
    unsigned long long in_use = (unsigned long long)ox_memory_get_stats().bytes_in_use;
    if (oxi_bytes_budget == 0)
        return oxi_fail(OX_ERR_NOMEM, "out of memory: %llu bytes asked for, %llu in use",
                        (unsigned long long)bytes, in_use);
    return oxi_fail(OX_ERR_NOMEM, "out of memory: %llu bytes asked for, %llu in use, a budget of %llu",
                    (unsigned long long)bytes, in_use, (unsigned long long)oxi_bytes_budget);
}

OXI_UNUSED static void *oxi_alloc(size_t bytes) {
    void *memory = oxi_try_alloc(bytes);
    if (!memory) (void)oxi_fail_memory(bytes);
    return memory;
}

OXI_UNUSED static void oxi_free(void *memory, size_t bytes) {
    int index = 0;
    if (!memory) return;
    size_t rounded = oxi_block_bytes(bytes, &index);
    OXI_UNPOISON(memory, sizeof(oxi_free_block));
    oxi_lock_take(&oxi_memory_lock);
    if (oxi_arena_start) {
        oxi_bytes_in_use -= rounded;
        oxi_arena_give(memory, rounded);
        oxi_lock_give(&oxi_memory_lock);
        return;
    }
    oxi_free_block *block = (oxi_free_block *)memory;
    oxi_bytes_in_use -= rounded;
    block->next = oxi_free_lists[index];
    block->bytes = rounded;
    OXI_POISON(block + 1, rounded - sizeof *block);      /* the links stay readable for the leak checker */
    oxi_free_lists[index] = block;
    oxi_bytes_cached += rounded;
    bool overfull = oxi_bytes_cached > OXI_CACHE_SLACK;
    overfull = overfull && (oxi_bytes_cached - OXI_CACHE_SLACK) / 2 > oxi_bytes_most;
    oxi_lock_give(&oxi_memory_lock);
    if (overfull) oxi_cache_empty();
}

OXI_UNUSED static void oxi_block_kept(size_t bytes, bool kept) {
    int index = 0;
    size_t rounded = oxi_block_bytes(bytes, &index);
    oxi_lock_take(&oxi_memory_lock);
    if (kept) {
        oxi_bytes_in_use -= rounded;
        oxi_bytes_kept += rounded;
    } else {
        oxi_bytes_kept -= rounded;
        oxi_count_in_use(rounded);
    }
    oxi_lock_give(&oxi_memory_lock);
}

OXI_UNUSED static void *oxi_calloc(size_t count, size_t bytes_each) {
    size_t bytes = 0;
    if (!oxi_mul_size(count, bytes_each, &bytes)) {
        (void)oxi_fail(OX_ERR_NOMEM, "out of memory: %llu x %llu bytes asked for", (unsigned long long)count,
                       (unsigned long long)bytes_each);
        return NULL;
    }
    void *memory = oxi_alloc(bytes);
    if (memory) memset(memory, 0, bytes);
    return memory;
}

OXI_UNUSED static void *oxi_realloc(void *memory, size_t old_bytes, size_t new_bytes) {
    int index = 0;
    if (memory && new_bytes <= SIZE_MAX / 4) {
        size_t rounded = oxi_block_bytes(new_bytes, &index);
        if (oxi_block_bytes(old_bytes, &index) == rounded) {
            OXI_UNPOISON(memory, rounded);
            OXI_POISON((char *)memory + new_bytes, rounded - new_bytes);
            return memory;
        }
    }
    void *grown = oxi_alloc(new_bytes);
    if (!grown) return NULL;
    if (memory) memcpy(grown, memory, old_bytes < new_bytes ? old_bytes : new_bytes);
    oxi_free(memory, old_bytes);
    return grown;
}

OXI_UNUSED static void oxi_set_budget(size_t bytes) {
    oxi_lock_take(&oxi_memory_lock);
    oxi_bytes_budget = bytes;
    bool full = !oxi_budget_has(0);
    oxi_lock_give(&oxi_memory_lock);
    if (full) oxi_cache_empty();
}

OXI_UNUSED static size_t oxi_budget(void) {
    oxi_lock_take(&oxi_memory_lock);
    size_t bytes = oxi_bytes_budget;
    oxi_lock_give(&oxi_memory_lock);
    return bytes;
}

/* ---- public -------------------------------------------------------------------------------------------- */

/* Rooms above that keep memory while no tensor is alive give it back here. */
#define OXI_MAX_KEEPERS 16
static void (*oxi_keepers[OXI_MAX_KEEPERS])(void);

OXI_UNUSED static void oxi_on_memory_change(void (*give_back)(void)) {
    oxi_lock_take(&oxi_memory_lock);
    for (int i = 0; i < OXI_MAX_KEEPERS; i++) {
        if (oxi_keepers[i] == give_back) break;
        if (!oxi_keepers[i]) {
            oxi_keepers[i] = give_back;
            break;
        }
    }
    oxi_lock_give(&oxi_memory_lock);
}

/* Empties the cache, and while no tensor is alive also what the rooms above keep. */
static void oxi_memory_let_go(void) {
    bool alive = oxi_atomic_load(&oxi_stat_tensors) > 0 || oxi_atomic_load(&oxi_stat_storages) > 0;
    for (int i = 0; !alive && i < OXI_MAX_KEEPERS && oxi_keepers[i]; i++) oxi_keepers[i]();
    oxi_cache_empty();
}

/* The same; fails while anything is handed out. */
static ox_status oxi_memory_quiet(const char *who) {
    ox_memory_stats now = ox_memory_get_stats();
    if (now.tensors > 0 || now.storages > 0) {
        return oxi_fail(OX_ERR_ARG, "%s: %lld tensors are alive", who, (long long)now.tensors);
    }
    oxi_memory_let_go();
    now = ox_memory_get_stats();
    if (now.bytes_in_use > 0) {
        return oxi_fail(OX_ERR_ARG, "%s: %llu bytes are in use", who, (unsigned long long)now.bytes_in_use);
    }
    return OX_OK;
}

static void oxi_arena_leave(void) {
    if (oxi_arena_start) OXI_UNPOISON(oxi_arena_start, oxi_arena_bytes);
    oxi_arena_start = NULL;
    oxi_arena_free = NULL;
    oxi_arena_bytes = 0;
}

OX_API ox_status ox_set_allocator(const ox_allocator *allocator) {
    if (allocator && (!allocator->alloc || !allocator->free)) {
        return oxi_fail(OX_ERR_ARG, "set_allocator: alloc and free must both be given");
    }
    ox_status status = oxi_memory_quiet("set_allocator");
    if (status != OX_OK) return status;
    oxi_lock_take(&oxi_memory_lock);
    oxi_arena_leave();
    memset(&oxi_hooks, 0, sizeof oxi_hooks);
    if (allocator) oxi_hooks = *allocator;
    oxi_lock_give(&oxi_memory_lock);
    return OX_OK;
}

OX_API ox_status ox_set_arena(void *memory, size_t bytes) {
    if (!memory) return ox_set_allocator(NULL);
    oxi_watch_fork();
    size_t skip = (size_t)(-(intptr_t)memory & (OXI_ALIGN - 1));
    if (bytes < skip + OXI_ALIGN) {
        return oxi_fail(OX_ERR_ARG, "set_arena: %llu bytes are too few", (unsigned long long)bytes);
    }
    ox_status status = oxi_memory_quiet("set_arena");
    if (status != OX_OK) return status;
    oxi_lock_take(&oxi_memory_lock);
    oxi_arena_leave();
    oxi_arena_start = (char *)memory + skip;
    oxi_arena_bytes = (bytes - skip) & ~(size_t)(OXI_ALIGN - 1);
    oxi_arena_give(oxi_arena_start, oxi_arena_bytes);
    oxi_lock_give(&oxi_memory_lock);
    return OX_OK;
}

static void (*oxi_trimmed)(void);

OXI_UNUSED static void oxi_on_trim(void (*give_back)(void)) {
    oxi_lock_take(&oxi_memory_lock);
    oxi_trimmed = give_back;
    oxi_lock_give(&oxi_memory_lock);
}

OX_API void ox_trim(void) {
    oxi_lock_take(&oxi_memory_lock);
    void (*give_back)(void) = oxi_trimmed;
    oxi_lock_give(&oxi_memory_lock);
    if (give_back) give_back();
    oxi_cache_empty();
}

OX_API ox_memory_stats ox_memory_get_stats(void) {
    ox_memory_stats s;
    memset(&s, 0, sizeof s);
    s.tensors = oxi_atomic_load(&oxi_stat_tensors);
    s.storages = oxi_atomic_load(&oxi_stat_storages);
    s.tensors_made = oxi_atomic_load(&oxi_stat_tensors_made);
    s.calls = oxi_atomic_load(&oxi_stat_calls);
    s.detours = oxi_atomic_load(&oxi_stat_detours);
    s.bad_releases = oxi_atomic_load(&oxi_stat_bad_releases);
    s.system_allocs = oxi_atomic_load(&oxi_system_allocs);
    oxi_lock_take(&oxi_memory_lock);
    s.bytes_in_use = oxi_bytes_in_use;
    s.bytes_peak = oxi_bytes_peak;
    s.bytes_cached = oxi_bytes_cached;
    s.bytes_cached_pinned = (size_t)oxi_atomic_load(&oxi_stat_pinned_bytes);
    s.pins = oxi_atomic_load(&oxi_stat_pins);
    oxi_lock_give(&oxi_memory_lock);
    return s;
}

OX_API void ox_memory_reset_peak(void) {
    oxi_lock_take(&oxi_memory_lock);
    oxi_bytes_peak = oxi_bytes_in_use;
    oxi_lock_give(&oxi_memory_lock);
}
