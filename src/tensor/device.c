/* Bytes from one device's memory into another, and what is public of devices: bytes in use, budgets. Two
 * devices that are not the host meet in a ring of pinned memory: while one fills a part, the other empties
 * the part before. Called by storages and the op `to`. */

/* ---- across two devices -------------------------------------------------------------------------------- */

enum { OXI_CROSS_PARTS = 4, OXI_CROSS_BYTES = 8 << 20 };

/* Pinned for `from`, and for `to` where it can be: otherwise `to` takes ordinary memory on its way. */
typedef struct oxi_cross {
    ox_device *from, *to;
    oxi_pin pin;
    void *second; /* what `to` gave for the same memory, or NULL */
} oxi_cross;

static oxi_cross oxi_cross_ring; /* of the two devices that used it last */
static oxi_lock oxi_cross_lock;

static void oxi_cross_drop(void) {
    oxi_cross *ring = &oxi_cross_ring;
    if (ring->second) ring->to->unpin(ring->to, ring->second);
    if (ring->from) oxi_pin_drop(&ring->pin);
    memset(ring, 0, sizeof *ring);
}

static bool oxi_cross_make(ox_device *from, ox_device *to) {
    oxi_cross *ring = &oxi_cross_ring;
    if (ring->from == from && ring->to == to) return true;
    oxi_cross_drop();
    if (!from->peer || from->peer(from, to) != OXI_PEER_PINNED) return false;
    if (!oxi_pin_make(from, (size_t)OXI_CROSS_PARTS * OXI_CROSS_BYTES, &ring->pin)) return false;
    ring->from = from;
    ring->to = to;
    if (to->pin(to, &ring->pin.memory, ring->pin.bytes, &ring->second) != OX_OK) ring->second = NULL;
    return true;
}

/* In the child of a fork the devices are the parent's. */
static void oxi_cross_in_child(void) {
    memset(&oxi_cross_ring, 0, sizeof oxi_cross_ring);
    memset(&oxi_cross_lock, 0, sizeof oxi_cross_lock);
}

static void oxi_cross_forget(void) {
    oxi_lock_take(&oxi_cross_lock);
    oxi_cross_drop();
    oxi_lock_give(&oxi_cross_lock);
}

OXI_UNUSED static void oxi_device_leaves(ox_device *device) {
    oxi_lock_take(&oxi_cross_lock);
    if (oxi_cross_ring.from == device || oxi_cross_ring.to == device) oxi_cross_drop();
    oxi_lock_give(&oxi_cross_lock);
    (void)oxi_pins_trim(device);
    oxi_pinned_leave(device);
}

/* Part i comes down when part i - OXI_CROSS_PARTS has gone up; part i goes up while i + 1 comes down. */
static ox_status oxi_cross_run(const oxi_place *to, const oxi_place *from, size_t bytes) {
    oxi_event down[OXI_CROSS_PARTS], up[OXI_CROSS_PARTS];
    const size_t each = OXI_CROSS_BYTES;
    int64_t parts = (int64_t)((bytes + each - 1) / each);
    ox_status status = OX_OK;
    memset(down, 0, sizeof down);
    memset(up, 0, sizeof up);
    for (int64_t i = 0; i <= parts && status == OX_OK; i++) {
        oxi_place source = *from, goal = *to, host;
        host.device = ox_cpu();
        host.memory = oxi_cross_ring.pin.memory;
        if (i < parts) {
            int place = (int)(i % OXI_CROSS_PARTS);
            size_t at = (size_t)i * each;
            host.offset = (size_t)place * each;
            source.offset += at;
            status =
                from->device->copy_async(from->device, &host, &source, bytes - at < each ? bytes - at : each,
                                         &up[place], &down[place]);
        }
        if (i > 0 && status == OX_OK) {
            int place = (int)((i - 1) % OXI_CROSS_PARTS);
            size_t at = (size_t)(i - 1) * each;
            host.offset = (size_t)place * each;
            goal.offset += at;
            status = to->device->copy_async(to->device, &goal, &host, bytes - at < each ? bytes - at : each,
                                            &down[place], &up[place]);
        }
    }
    /* the ring is used again, and `from` may be changed by the host: all of it is over on return */
    for (int i = 0; i < OXI_CROSS_PARTS; i++) {
        ox_status over[2];
        over[0] = oxi_event_wait(&down[i]);
        over[1] = oxi_event_wait(&up[i]);
        for (int k = 0; k < 2 && status == OX_OK; k++) status = over[k];
    }
    return status;
}

/* A piece at a time through ordinary memory, for they may be more than the host has. */
static ox_status oxi_cross_plain(const oxi_place *to, const oxi_place *from, size_t bytes) {
    size_t room = bytes < (size_t)OXI_CROSS_BYTES ? bytes : (size_t)OXI_CROSS_BYTES, done = 0;
    char *piece = (char *)oxi_alloc(room);
    ox_status status = piece ? OX_OK : OX_ERR_NOMEM;
    while (status == OX_OK && done < bytes) {
        size_t part = bytes - done < room ? bytes - done : room;
        status = from->device->read(from->device, from->memory, from->offset + done, piece, part);
        if (status == OX_OK)
            status = to->device->write(to->device, to->memory, to->offset + done, piece, part);
        done += part;
    }
    oxi_free(piece, room);
    return status;
}

/* Few bytes are not worth pinning a ring, if there is none yet. */
static ox_status oxi_cross_move(const oxi_place *to, const oxi_place *from, size_t bytes) {
    bool ringed = false;
    ox_status status = OX_OK;
    if (bytes > (size_t)OXI_CROSS_BYTES && from->device->copy_async && to->device->copy_async) {
        oxi_on_memory_change(oxi_cross_forget);
        oxi_on_fork(oxi_cross_in_child);
        oxi_lock_take(&oxi_cross_lock);
        ringed = oxi_cross_make(from->device, to->device);
        if (ringed) status = oxi_cross_run(to, from, bytes);
        oxi_lock_give(&oxi_cross_lock);
    }
    return ringed ? status : oxi_cross_plain(to, from, bytes);
}

/* ---- between storages ---------------------------------------------------------------------------------- */

/* Begins the copy, if the host's side is pinned for the other; false: nothing was done. */
static bool oxi_storage_begin(const oxi_place *to, const oxi_place *from, ox_storage *host, size_t bytes,
                              ox_status *status) {
    ox_device *device = to->device->host ? from->device : to->device;
    oxi_event done;
    if (!oxi_storage_is_pinned_for(host, device)) return false;
    (void)oxi_atomic_add(&host->pin->pending, 1);
    *status = device->copy_async(device, to, from, bytes, NULL, &done);
    return true;
}

static ox_status oxi_storage_move(ox_storage *to, size_t to_offset, ox_storage *from, size_t from_offset,
                                  size_t bytes, bool waits) {
    oxi_place goal = {to->device, to->data, to_offset}, source = {from->device, from->data, from_offset};
    ox_status status = OX_OK;
    if (bytes == 0) return OX_OK;
    if (!to->device->host && !from->device->host) return oxi_cross_move(&goal, &source, bytes);
    if (!waits && oxi_storage_begin(&goal, &source, to->device->host ? to : from, bytes, &status))
        return status;
    if (from->device->host)
        return to->device->write(to->device, to->data, to_offset,
                                 (const char *)oxi_storage_data(from) + from_offset, bytes);
    return from->device->read(from->device, from->data, from_offset, (char *)oxi_storage_data(to) + to_offset,
                              bytes);
}

/* ---- public -------------------------------------------------------------------------------------------- */

OX_API ox_device_stats ox_device_get_stats(ox_device *device) {
    ox_device_stats stats;
    memset(&stats, 0, sizeof stats);
    if (device)
        device->statistics(device, &stats);
    else
        (void)oxi_fail_missing("device_stats: the device");
    return stats;
}

OX_API ox_status ox_device_sync(ox_device *device) {
    return device ? device->sync(device) : oxi_fail_missing("device_sync: the device");
}

OX_API ox_status ox_device_close(ox_device *device) {
    if (!device) return oxi_fail_missing("device_close: the device");
    return device->close ? device->close(device) : OX_OK;
}

OX_API ox_status ox_device_set_budget(ox_device *device, uint64_t bytes) {
    return device ? device->budget(device, bytes) : oxi_fail_missing("device_set_budget: the device");
}

OX_API bool ox_device_uuid(ox_device *device, uint8_t out[16]) {
    static const uint8_t none[16] = {0};
    if (device)
        memcpy(out, device->uuid, 16);
    else
        memset(out, 0, 16);
    return memcmp(out, none, 16) != 0;
}
