/* Events, and host memory that is pinned for a device, which reads and writes it at the speed of its link.
 * Dropped pins are kept for reuse. Called by storages, the op `to` and the devices themselves. */

/* ---- events -------------------------------------------------------------------------------------------- */

static bool oxi_event_done(const oxi_event *event) {
    return !event->device || event->device->event_done(event->device, event);
}

static ox_status oxi_event_wait(const oxi_event *event) {
    return event->device ? event->device->event_wait(event->device, event) : OX_OK;
}

/* ---- pinned memory ------------------------------------------------------------------------------------- */

enum { OXI_PIN_PAGE = 4096, OXI_PINS_KEPT = 32 };

/* Dropped pins, as torch's CachingHostAllocator keeps them: pinning takes a driver some 0.2 ms a MiB, for it
 * touches and locks every page. No more bytes are kept than were ever in use at once. */
static struct {
    oxi_lock lock;
    oxi_pin kept[OXI_PINS_KEPT]; /* device NULL: a free place */
    size_t bytes, in_use, most;  /* of those that are kept; of the others, and the most that these were */
} oxi_pin_cache;

/* Pins come in sizes that are at most an eighth apart, so that one fits where another was. */
static size_t oxi_pin_room(size_t bytes) {
    size_t step = OXI_PIN_PAGE;
    while (step <= bytes / 16) step *= 2;
    return (bytes + step - 1) / step * step;
}

/* Pages of their own, so that no other memory is pinned with them. */
static bool oxi_pin_block(oxi_pin *pin, size_t bytes) {
    size_t room = bytes + OXI_PIN_PAGE;
    pin->block = oxi_try_alloc(room);
    if (!pin->block) return false;
    pin->block_bytes = room;
    pin->memory = (char *)pin->block + (OXI_PIN_PAGE - (uintptr_t)pin->block % OXI_PIN_PAGE) % OXI_PIN_PAGE;
    return true;
}

static bool oxi_pin_make_new(ox_device *device, size_t bytes, oxi_pin *out) {
    (void)oxi_atomic_add(&oxi_stat_pins, 1);
    if (oxi_pin_block(out, bytes) && device->pin(device, &out->memory, bytes, &out->handle) == OX_OK)
        return true;
    oxi_free(out->block, out->block_bytes);
    out->block = out->memory = NULL;
    out->block_bytes = 0;
    if (device->pin(device, &out->memory, bytes, &out->handle) == OX_OK) return true;
    (void)oxi_atomic_add(&oxi_stat_pins, -1);
    return false;
}

/* What is kept is handed out or given back as it is: memory that a copy still reads or writes waits for its
 * end. */
static void oxi_pin_unlist(oxi_pin *kept, oxi_pin *out) {
    *out = *kept;
    out->pending = 0;
    memset(kept, 0, sizeof *kept);
    oxi_pin_cache.bytes -= out->bytes;
    (void)oxi_atomic_add(&oxi_stat_pinned_bytes, -(int64_t)out->bytes);
    if (out->block) oxi_block_kept(out->block_bytes, false);
}

static bool oxi_pin_reuse(ox_device *device, size_t bytes, oxi_pin *out) {
    bool found = false;
    oxi_lock_take(&oxi_pin_cache.lock);
    for (int i = 0; i < OXI_PINS_KEPT && !found; i++) {
        oxi_pin *kept = &oxi_pin_cache.kept[i];
        if (kept->device != device || kept->bytes != bytes) continue;
        oxi_event last = device->pin_event(device, kept->handle);
        found = oxi_event_done(&last);
        if (found) oxi_pin_unlist(kept, out);
    }
    oxi_lock_give(&oxi_pin_cache.lock);
    return found;
}

static void oxi_pin_give_back(oxi_pin *pin) {
    pin->device->unpin(pin->device, pin->handle);
    oxi_free(pin->block, pin->block_bytes);
    memset(pin, 0, sizeof *pin);
}

static bool oxi_pins_trim(const ox_device *device) {
    bool any = false;
    for (int i = 0; i < OXI_PINS_KEPT; i++) {
        oxi_pin pin;
        memset(&pin, 0, sizeof pin);
        oxi_lock_take(&oxi_pin_cache.lock);
        oxi_pin *kept = &oxi_pin_cache.kept[i];
        if (kept->device && (!device || kept->device == device)) oxi_pin_unlist(kept, &pin);
        oxi_lock_give(&oxi_pin_cache.lock);
        if (!pin.device) continue;
        oxi_pin_give_back(&pin);
        any = true;
    }
    return any;
}

static void oxi_pins_in_child(void);

static void oxi_pins_trim_all(void) {
    (void)oxi_pins_trim(NULL);
}

static oxi_pinned_memory *oxi_pinned_first; /* guarded by the cache's lock */

static OXI_UNUSED bool oxi_pin_memory(ox_device *device, void *memory, size_t bytes, oxi_pinned_memory *out) {
    memset(out, 0, sizeof *out);
    if (!device->pin || bytes == 0) return false;
    out->device = device;
    if (device->pin(device, &memory, bytes, &out->handle) != OX_OK) return false;
    oxi_on_fork(oxi_pins_in_child);
    oxi_lock_take(&oxi_pin_cache.lock);
    out->next = oxi_pinned_first;
    oxi_pinned_first = out;
    oxi_lock_give(&oxi_pin_cache.lock);
    return true;
}

/* With the lock held: from then on it is nobody's but the caller's. */
static void *oxi_pinned_unlist(oxi_pinned_memory *pinned) {
    void *handle = pinned->handle;
    oxi_pinned_memory **link = &oxi_pinned_first;
    while (*link && *link != pinned) link = &(*link)->next;
    if (*link) *link = pinned->next;
    pinned->handle = NULL;
    return handle;
}

static OXI_UNUSED void oxi_unpin_memory(oxi_pinned_memory *pinned) {
    oxi_lock_take(&oxi_pin_cache.lock);
    void *handle = oxi_pinned_unlist(pinned);
    oxi_lock_give(&oxi_pin_cache.lock);
    if (handle) pinned->device->unpin(pinned->device, handle);
    pinned->device = NULL;
}

static void oxi_pinned_leave(const ox_device *device) {
    for (;;) {
        oxi_lock_take(&oxi_pin_cache.lock);
        oxi_pinned_memory *pinned = oxi_pinned_first;
        while (pinned && pinned->device != device) pinned = pinned->next;
        ox_device *its = pinned ? pinned->device : NULL;
        void *handle = pinned ? oxi_pinned_unlist(pinned) : NULL;
        if (pinned) pinned->device = NULL; /* it may be pinned for another one */
        oxi_lock_give(&oxi_pin_cache.lock);
        if (!its) return;
        its->unpin(its, handle);
    }
}

/* In the child of a fork the devices are the parent's, and pinned memory stays with them. */
static void oxi_pins_in_child(void) {
    (void)oxi_atomic_add(&oxi_stat_pinned_bytes, -(int64_t)oxi_pin_cache.bytes);
    memset(&oxi_pin_cache, 0, sizeof oxi_pin_cache);
    for (; oxi_pinned_first; oxi_pinned_first = oxi_pinned_first->next) oxi_pinned_first->handle = NULL;
}

static bool oxi_pin_make(ox_device *device, size_t bytes, oxi_pin *out) {
    memset(out, 0, sizeof *out);
    if (!device->pin || bytes == 0 || bytes > SIZE_MAX / 4) return false;
    oxi_on_trim(oxi_pins_trim_all);
    oxi_on_memory_change(oxi_pins_trim_all);
    oxi_on_fork(oxi_pins_in_child);
    size_t room = oxi_pin_room(bytes);
    bool made = oxi_pin_reuse(device, room, out);
    if (!made) {
        out->device = device;
        out->bytes = room;
        made = oxi_pin_make_new(device, room, out) ||
               (oxi_pins_trim(NULL) && oxi_pin_make_new(device, room, out));
    }
    if (!made) return false;
    oxi_lock_take(&oxi_pin_cache.lock);
    oxi_pin_cache.in_use += room;
    if (oxi_pin_cache.in_use > oxi_pin_cache.most) oxi_pin_cache.most = oxi_pin_cache.in_use;
    oxi_lock_give(&oxi_pin_cache.lock);
    return true;
}

/* Copies that are under way with it may go on while it is kept. */
static void oxi_pin_drop(oxi_pin *pin) {
    if (!pin->handle) return;
    oxi_lock_take(&oxi_pin_cache.lock);
    oxi_pin_cache.in_use -= pin->bytes;
    bool fits = pin->bytes <= oxi_pin_cache.most - oxi_pin_cache.bytes;
    for (int i = 0; i < OXI_PINS_KEPT && fits; i++) {
        oxi_pin *place = &oxi_pin_cache.kept[i];
        if (place->device) continue;
        oxi_pin_cache.bytes += pin->bytes;
        (void)oxi_atomic_add(&oxi_stat_pinned_bytes, (int64_t)pin->bytes);
        if (pin->block) oxi_block_kept(pin->block_bytes, true);
        *place = *pin;
        memset(pin, 0, sizeof *pin);
        break;
    }
    oxi_lock_give(&oxi_pin_cache.lock);
    if (pin->handle) oxi_pin_give_back(pin);
}

static ox_status oxi_pin_settle(oxi_pin *pin) {
    int64_t pending = oxi_atomic_load(&pin->pending);
    if (pending == 0) return OX_OK;
    oxi_event last = pin->device->pin_event(pin->device, pin->handle);
    ox_status status = oxi_event_wait(&last);
    (void)oxi_atomic_cas(&pin->pending, pending, 0); /* unless another copy has begun meanwhile */
    return status;
}

static void oxi_pin_released(void *user, void *data) {
    oxi_pin *pin = (oxi_pin *)user;
    (void)data;
    oxi_pin_drop(pin);
    oxi_free(pin, sizeof *pin);
}

static ox_storage *oxi_storage_pinned(ox_device *device, size_t bytes) {
    oxi_pin *pin = device->pin ? (oxi_pin *)oxi_try_alloc(sizeof *pin) : NULL;
    if (!pin) return NULL;
    ox_storage *storage = NULL;
    if (oxi_pin_make(device, bytes, pin)) {
        storage = oxi_storage_borrow(ox_cpu(), pin->memory, bytes, oxi_pin_released, pin);
        if (storage) {
            storage->pin = pin;
            return storage;
        }
        oxi_pin_drop(pin);
    }
    oxi_free(pin, sizeof *pin);
    return NULL;
}

static bool oxi_storage_is_pinned_for(const ox_storage *storage, const ox_device *device) {
    return storage->pin && storage->pin->device == device;
}
