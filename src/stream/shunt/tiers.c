/* The copies of an item: made, used and given up, within the budgets of host and disk. Who calls has the item
 * for himself: the thread that runs a step, or a lane that a plan has given it to. What all share is guarded
 * by `tiers`. */

static ox_status oxi_shunt_stream_open(ox_shunt *s) {
    if (s->stream) return OX_OK;
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    /* Moves go past its ring, which what is computed from disk to disk (far.c) has beside the budget. Tiles
     * are a good part of it: products read their operands once for each tile of the result. */
    uint64_t tile = s->main_bytes / 24 / OXI_SHUNT_PAGE * OXI_SHUNT_PAGE;
    const uint64_t least = (uint64_t)64 << 10, most = (uint64_t)4 << 20;
    desc.depth = 3;
    desc.tile_bytes = (size_t)(tile < least ? least : tile < most ? tile : most);
    desc.ram_bytes = 4 * (size_t)desc.depth * desc.tile_bytes;
    if (desc.ram_bytes < (size_t)1 << 20) desc.ram_bytes = (size_t)1 << 20;
    desc.forgetful = true;
    desc.spill = s->spill;
    desc.fault = s->desc.fault;
    desc.fault_user = s->desc.fault_user;
    s->stream = ox_stream_open(&desc);
    if (!s->stream) return ox_error();
    return s->desc.disk_bytes ? ox_device_set_budget(ox_stream_device(s->stream), s->desc.disk_bytes) : OX_OK;
}

static void oxi_shunt_rate_put(ox_shunt *s, int lane, bool write, size_t bytes, double seconds);
static void oxi_shunt_disk_put(ox_shunt *s, bool write, size_t bytes, double seconds, bool behind,
                               bool together);

/* Pages that memory and file have alike go straight from one to the other, the rest through the page cache.
 * owns: all of the pages that the memory's bytes lie in are theirs alone, as those of a file's are. */
static void oxi_shunt_flight_begin(oxi_shunt_flight *f, ox_storage *disk, size_t at, char *memory,
                                   size_t bytes, bool write, bool owns, bool urgent) {
    const oxi_stream_region *region = (const oxi_stream_region *)disk->data;
    ox_stream *stream = region->stream;
    memset(f, 0, sizeof *f);
    f->stream = stream;
    f->file = region->file;
    f->bytes = bytes;
    f->write = write;
    uint64_t offset = region->offset + at;
    size_t skew = (size_t)(offset % OXI_STREAM_PAGE), lead = 0, whole = 0;
    bool direct = region->file->direct != -1 && (uintptr_t)memory % OXI_STREAM_PAGE == skew;
    if (direct && owns && write) { /* what is around the bytes is nobody's */
        offset -= skew;
        memory -= skew;
        bytes = (bytes + skew + OXI_STREAM_PAGE - 1) / OXI_STREAM_PAGE * OXI_STREAM_PAGE;
    }
    if (direct && owns) {
        whole = bytes;
    } else if (direct) {
        lead = (OXI_STREAM_PAGE - skew) % OXI_STREAM_PAGE;
        if (lead < bytes) whole = (bytes - lead) / OXI_STREAM_PAGE * OXI_STREAM_PAGE;
        if (whole == 0) lead = 0;
    }
    oxi_stream_lock(stream);
    f->start = oxi_now(); /* of its turn: who waits for another's move is not moving yet */
    stream->reader.urgent = urgent;
    const size_t parts[4] = {0, lead, lead + whole, bytes};
    for (int i = 0; i < 3; i++)
        if (parts[i + 1] > parts[i])
            oxi_ring_request(stream, &f->load, region->file, offset + parts[i], parts[i + 1] - parts[i],
                             memory + parts[i], write, i == 1);
    stream->reader.urgent = false;
    oxi_stream_unlock(stream);
}

/* Sleeps for one request of the disk; true: none of this move's is left. */
static bool oxi_shunt_flight_step(oxi_shunt_flight *f) {
    oxi_stream_lock(f->stream);
    if (f->load.pending > 0) (void)oxi_ring_deliver(f->stream, true);
    bool over = f->load.pending == 0;
    oxi_stream_unlock(f->stream);
    return over;
}

/* Waits, and counts it. Moves that overlap take their time from the end of the one before. */
static ox_status oxi_shunt_flight_end(ox_shunt *s, oxi_shunt_flight *f) {
    while (!oxi_shunt_flight_step(f)) {}
    ox_status status = f->load.cause != 0 ? oxi_ring_fail(&f->load, f->file) : OX_OK;
    oxi_stream_take(&s->tiers);
    bool behind = f->start < s->disk_moved_at, together = behind && f->load.end <= s->disk_moved_at;
    double start = behind ? s->disk_moved_at : f->start;
    double end = f->load.end > start ? f->load.end : start;
    s->disk_moved_at = end;
    *(f->write ? &s->stats.written_bytes : &s->stats.read_bytes) += (int64_t)f->bytes;
    s->stats.ahead_bytes += f->unwatched ? (int64_t)f->bytes : 0;
    oxi_stream_give(&s->tiers);
    oxi_shunt_span_put(s, OXI_LANE_DISK, f->write ? "write" : "read", start, end, f->bytes);
    if (status == OX_OK && !f->unwatched)
        oxi_shunt_disk_put(s, f->write, f->bytes, end - start, behind, together);
    f->stream = NULL;
    return status;
}

static ox_status oxi_shunt_disk_move(ox_shunt *s, ox_storage *disk, size_t at, char *memory, size_t bytes,
                                     bool write, bool owns) {
    oxi_shunt_flight flight;
    oxi_shunt_flight_begin(&flight, disk, at, memory, bytes, write, owns, true);
    return oxi_shunt_flight_end(s, &flight);
}

/* Whether the item's place has whole pages to itself. */
static bool oxi_shunt_owns_pages(const ox_shunt *s, const oxi_shunt_item *item) {
    return s->compute->host && oxi_shunt_is_planned(s) && !item->small && item->place % OXI_SHUNT_PAGE == 0 &&
           oxi_shunt_item_room(item) % OXI_SHUNT_PAGE == 0;
}

/* Errors from here on are nobody's until the end, which has the one that there was before. */
static oxi_error oxi_shunt_errors_begin(void) {
    oxi_error earlier;
    earlier.status = OX_OK;
    oxi_error_move(&earlier);
    return earlier;
}
static void oxi_shunt_errors_end(const oxi_error *earlier) {
    ox_error_clear();
    oxi_error_put_back(earlier);
}

/* The end of a move that nobody has asked for: where it fails, whoever needs it finds out by himself. */
static bool oxi_shunt_flight_lands(ox_shunt *s, oxi_shunt_flight *flight) {
    const oxi_error earlier = oxi_shunt_errors_begin();
    bool lands = oxi_shunt_flight_end(s, flight) == OX_OK;
    oxi_shunt_errors_end(&earlier);
    return lands;
}

/* The end of a load that was begun ahead of its step. Where it fails the item is not on the device, and the
 * load that a step asks for says why. */
static void oxi_shunt_land(ox_shunt *s, oxi_shunt_item *item) {
    if (!item->flight) return;
    item->valid = oxi_shunt_flight_lands(s, item->flight);
    item->flight = NULL;
}

/* ---- giving up ----------------------------------------------------------------------------------------- */

static void oxi_shunt_kept_put(ox_shunt *s, ox_storage *pinned);

static void oxi_shunt_host_return(ox_shunt *s, void *memory, size_t bytes, ox_storage *pinned) {
    if (pinned)
        oxi_shunt_kept_put(s, pinned);
    else
        oxi_free(memory, bytes);
    oxi_stream_take(&s->tiers);
    s->stats.host_bytes -= bytes;
    oxi_stream_give(&s->tiers);
}

static void oxi_shunt_host_drop(ox_shunt *s, oxi_shunt_item *item) {
    if (!item->host) return;
    oxi_shunt_host_return(s, item->host, item->host_bytes, item->pinned);
    item->host = NULL;
    item->pinned = NULL;
    item->host_bytes = 0;
}

static void oxi_shunt_host_set(oxi_shunt_item *item, void *host, size_t bytes, ox_storage *pinned) {
    item->host = host;
    item->host_bytes = bytes;
    item->pinned = pinned;
}

static void oxi_shunt_disk_set(oxi_shunt_item *item, size_t bytes, size_t at) {
    item->disk_valid = true;
    item->disk_bytes = bytes;
    item->disk_at = at;
}

static void oxi_shunt_disk_drop(oxi_shunt_item *item) {
    oxi_storage_release(item->disk);
    item->disk = NULL;
    item->disk_valid = item->file = false;
    item->disk_bytes = item->disk_at = 0;
}

/* What the disk has is not the item's any more; room that is its own stays, where the disk has no budget. */
static void oxi_shunt_disk_stale(const ox_shunt *s, oxi_shunt_item *item) {
    if (item->file || s->desc.disk_bytes > 0)
        oxi_shunt_disk_drop(item);
    else
        item->disk_valid = false;
}

static void oxi_shunt_written(ox_shunt *s, oxi_shunt_item *item) {
    item->valid = true;
    item->failed = false;
    item->ahead = 0; /* no copy of what is off the device */
    oxi_shunt_host_drop(s, item);
    oxi_shunt_disk_stale(s, item);
    item->packed = OX_COMPRESSION_NONE;
}

static bool oxi_shunt_has_copy(const oxi_shunt_item *item) {
    return item->host || item->disk_valid;
}

/* Whether it has bytes, and no copy of them off the device. */
static bool oxi_shunt_is_bare(const oxi_shunt_item *item) {
    return item->valid && !oxi_shunt_has_copy(item);
}

static void oxi_shunt_count_device(ox_shunt *s, uint64_t bytes, bool more) {
    oxi_stream_take(&s->tiers);
    s->device_in_use += more ? bytes : 0 - bytes;
    s->stats.device_bytes = s->device_in_use;
    if (s->device_in_use > s->stats.device_peak) s->stats.device_peak = s->device_in_use;
    oxi_stream_give(&s->tiers);
}

/* From the compute device, whatever it is worth. */
static void oxi_shunt_device_drop(ox_shunt *s, oxi_shunt_item *item) {
    if (!item->storage) return;
    oxi_shunt_land(s, item);
    item->ahead = 0;
    oxi_storage_release(item->storage);
    item->storage = NULL;
    item->valid = item->lent = false;
    oxi_shunt_count_device(s, oxi_shunt_item_room(item), false);
}

static void oxi_shunt_resident_remove(ox_shunt *s, const oxi_shunt_item *item);

static void oxi_shunt_parts_drop(ox_shunt *s, oxi_shunt_item *item);
static void oxi_shunt_ahead_drop(ox_shunt *s, const oxi_shunt_item *item);

static void oxi_shunt_item_forget(ox_shunt *s, oxi_shunt_item *item) {
    oxi_shunt_ahead_drop(s, item);
    oxi_shunt_parts_drop(s, item);
    if (item->storage && oxi_shunt_is_planned(s)) oxi_shunt_resident_remove(s, item);
    oxi_shunt_device_drop(s, item);
    oxi_shunt_host_drop(s, item);
    oxi_shunt_disk_drop(item);
}

/* ---- to the host and the disk -------------------------------------------------------------------------- */

static void *oxi_shunt_pinned_new(ox_shunt *s, size_t bytes, ox_storage **pinned);

/* Memory of the host's budget, pinned for a device that has its own; NULL, and no error: it has none left. */
static void *oxi_shunt_host_take(ox_shunt *s, size_t bytes, ox_storage **pinned) {
    oxi_stream_take(&s->tiers);
    bool fits =
        s->stats.host_bytes <= s->desc.host_bytes && bytes <= s->desc.host_bytes - s->stats.host_bytes;
    if (fits) s->stats.host_bytes += bytes;
    if (s->stats.host_bytes > s->stats.host_peak) s->stats.host_peak = s->stats.host_bytes;
    oxi_stream_give(&s->tiers);
    void *memory = fits ? oxi_shunt_pinned_new(s, bytes, pinned) : NULL;
    if (fits && !memory) oxi_shunt_host_return(s, NULL, bytes, NULL);
    return memory;
}

static ox_status oxi_shunt_disk_take(ox_shunt *s, oxi_shunt_item *item, size_t bytes) {
    if (item->disk && !item->file && item->disk->bytes >= bytes) return OX_OK;
    oxi_shunt_disk_drop(item);
    oxi_stream_take(&s->opening);
    ox_status status = oxi_shunt_stream_open(s);
    oxi_stream_give(&s->opening);
    if (status == OX_OK) item->disk = oxi_storage_new(ox_stream_device(s->stream), bytes);
    if (!item->disk) return ox_error() != OX_OK ? ox_error() : OX_ERR_NOMEM;
    ox_device_stats now = ox_device_get_stats(ox_stream_device(s->stream));
    oxi_stream_take(&s->tiers);
    s->stats.disk_peak = now.bytes_peak;
    oxi_stream_give(&s->tiers);
    return OX_OK;
}

/* A move over the link is over, since `start`. */
static void oxi_shunt_count_link(ox_shunt *s, bool up, size_t bytes, double start) {
    const int lane = up ? OXI_LANE_UP : OXI_LANE_DOWN;
    double end = oxi_now();
    oxi_shunt_span_put(s, lane, up ? "save" : "load", start, end, bytes);
    oxi_shunt_rate_put(s, lane, up, bytes, end - start);
    oxi_stream_take(&s->tiers);
    *(up ? &s->stats.up_bytes : &s->stats.down_bytes) += (int64_t)bytes;
    oxi_stream_give(&s->tiers);
}

/* data: bytes of the host, of which the item gets a copy on the host, or on the disk, there from `at` on. */
static ox_status oxi_shunt_put_copy(ox_shunt *s, oxi_shunt_item *item, const void *data, size_t bytes,
                                    size_t at, bool owns) {
    double start = oxi_now();
    ox_storage *pinned = NULL;
    void *host = oxi_shunt_host_take(s, bytes, &pinned);
    if (host) {
        if (bytes > 0) memcpy(host, data, bytes);
        oxi_shunt_host_drop(s, item);
        oxi_shunt_host_set(item, host, bytes, pinned);
        oxi_shunt_count_link(s, true, bytes, start);
        return OX_OK;
    }
    ox_status status = oxi_shunt_disk_take(s, item, bytes + at);
    if (status == OX_OK)
        status = oxi_shunt_disk_move(s, item->disk, at, (char *)(uintptr_t)data, bytes, true, owns);
    if (status == OX_OK) oxi_shunt_disk_set(item, bytes, at);
    return status;
}

static bool oxi_shunt_may_pack(const ox_shunt *s, const oxi_shunt_item *item) {
    return s->desc.compression != OX_COMPRESSION_NONE && item->all_f32 && !item->small &&
           item->bytes % 4 == 0 && s->desc.compress >> item->kind & 1;
}

static bool oxi_shunt_packs(const ox_shunt *s, const oxi_shunt_item *item) {
    return (item->packs || s->desc.compress & OX_COMPRESS_ALWAYS) && oxi_shunt_may_pack(s, item);
}

static ox_status oxi_shunt_save_packed(ox_shunt *s, oxi_shunt_item *item, const void *data);
static ox_status oxi_shunt_load_packed(ox_shunt *s, const oxi_shunt_item *item, const void *packed,
                                       void *out);
static ox_status oxi_shunt_link_item(ox_shunt *s, const oxi_shunt_item *item, size_t at, char *host,
                                     size_t bytes, bool up);
static ox_status oxi_shunt_save_off(ox_shunt *s, oxi_shunt_item *item);
static ox_status oxi_shunt_load_on(ox_shunt *s, const oxi_shunt_item *item);

/* A copy on the host beside the disk's, where there is room for one. */
static void oxi_shunt_cache(ox_shunt *s, oxi_shunt_item *item) {
    if (!item->valid || item->host || !item->disk_valid || item->packed != OX_COMPRESSION_NONE) return;
    ox_storage *pinned = NULL;
    char *host = (char *)oxi_shunt_host_take(s, item->bytes, &pinned);
    if (!host) return;
    oxi_storage_plain(item->storage);
    if (oxi_shunt_link_item(s, item, 0, host, item->bytes, true) == OX_OK)
        oxi_shunt_host_set(item, host, item->bytes, pinned);
    else
        oxi_shunt_host_return(s, host, item->bytes, pinned); /* whoever needs it finds the device's error */
}

/* A copy off the device, where there is none. */
static ox_status oxi_shunt_save(ox_shunt *s, oxi_shunt_item *item) {
    if (!oxi_shunt_is_bare(item)) return OX_OK;
    ox_status status = OX_OK;
    oxi_storage_plain(item->storage);
    if (!s->compute->host && !oxi_shunt_packs(s, item)) return oxi_shunt_save_off(s, item);
    void *data = item->storage->data, *through = NULL; /* what is packed is packed by the host */
    if (!s->compute->host) {
        data = through = oxi_alloc(item->bytes);
        status =
            data ? s->compute->read(s->compute, item->storage->data, 0, data, item->bytes) : OX_ERR_NOMEM;
    }
    if (status == OX_OK)
        status = oxi_shunt_packs(s, item) ? oxi_shunt_save_packed(s, item, data)
                                          : oxi_shunt_put_copy(s, item, data, item->bytes, item->skew,
                                                               oxi_shunt_owns_pages(s, item));
    oxi_free(through, item->bytes);
    return status;
}

/* ---- back ---------------------------------------------------------------------------------------------- */

/* Bytes [offset, ..) of the copy off the device, as they are kept. */
static ox_status oxi_shunt_get_copy(ox_shunt *s, const oxi_shunt_item *item, size_t offset, void *out,
                                    size_t bytes, bool owns) {
    if (!item->host)
        return oxi_shunt_disk_move(s, item->disk, item->disk_at + offset, (char *)out, bytes, false, owns);
    double start = oxi_now();
    if (bytes > 0) memcpy(out, (const char *)item->host + offset, bytes);
    oxi_shunt_count_link(s, false, bytes, start);
    return OX_OK;
}

/* All of the item's bytes into memory of the host. */
static ox_status oxi_shunt_fetch(ox_shunt *s, const oxi_shunt_item *item, void *out, bool owns) {
    if (item->packed == OX_COMPRESSION_NONE) return oxi_shunt_get_copy(s, item, 0, out, item->bytes, owns);
    size_t bytes = item->host ? item->host_bytes : item->disk_bytes;
    void *packed = oxi_alloc(bytes);
    ox_status status = packed ? oxi_shunt_get_copy(s, item, 0, packed, bytes, false) : OX_ERR_NOMEM;
    if (status == OX_OK) status = oxi_shunt_load_packed(s, item, packed, out);
    oxi_free(packed, bytes);
    return status;
}

/* Whether the host's copy can be computed with where it lies: the device's memory is the host's, and the step
 * only reads it. */
static bool oxi_shunt_may_lend(const ox_shunt *s, int kind) {
    return s->compute->host && kind == OXI_KIND_WEIGHT;
}

/* The item's memory at a place of a host's device. */
static ox_storage *oxi_shunt_storage_at(ox_shunt *s, const oxi_shunt_item *item, uint64_t place) {
    return oxi_storage_borrow(s->compute, (char *)s->arena + place + item->skew, item->bytes, NULL, NULL);
}

/* Somebody is to write to it: its bytes go to the place that it has. */
static ox_status oxi_shunt_unlend(ox_shunt *s, oxi_shunt_item *item) {
    if (!item->lent) return OX_OK;
    ox_storage *own = oxi_shunt_storage_at(s, item, item->place);
    if (!own) return ox_error() != OX_OK ? ox_error() : OX_ERR_NOMEM;
    memcpy(own->data, item->host, item->bytes);
    oxi_storage_release(item->storage);
    item->storage = own;
    item->lent = false;
    return OX_OK;
}

/* The copy off the device into item->storage. */
static ox_status oxi_shunt_load(ox_shunt *s, oxi_shunt_item *item) {
    ox_status status;
    if (item->valid || !oxi_shunt_has_copy(item)) return OX_OK; /* a blank one is whatever it is */
    if (s->compute->host) {
        status = oxi_shunt_fetch(s, item, item->storage->data, oxi_shunt_owns_pages(s, item));
    } else if (item->packed == OX_COMPRESSION_NONE) {
        status = oxi_shunt_load_on(s, item);
    } else {
        void *through = oxi_alloc(item->bytes);
        status = through ? oxi_shunt_fetch(s, item, through, false) : OX_ERR_NOMEM;
        if (status == OX_OK)
            status = s->compute->write(s->compute, item->storage->data, 0, through, item->bytes);
        oxi_free(through, item->bytes);
    }
    item->valid = status == OX_OK;
    return status;
}

/* Whether the item comes straight from the disk to where it lies on the device. */
static bool oxi_shunt_loads_plainly(const ox_shunt *s, const oxi_shunt_item *item) {
    return s->compute->host && !item->valid && !item->host && item->disk_valid &&
           item->packed == OX_COMPRESSION_NONE;
}

static void oxi_shunt_load_begin(ox_shunt *s, oxi_shunt_item *item, oxi_shunt_flight *flight) {
    oxi_shunt_flight_begin(flight, item->disk, item->disk_at, (char *)item->storage->data, item->bytes, false,
                           oxi_shunt_owns_pages(s, item), false);
}

/* Whether a copy on the disk is all that is to be made, and comes straight from where the item lies. */
static bool oxi_shunt_saves_plainly(const ox_shunt *s, const oxi_shunt_item *item) {
    return s->compute->host && oxi_shunt_is_bare(item) && !oxi_shunt_packs(s, item);
}

static ox_status oxi_shunt_save_begin(ox_shunt *s, oxi_shunt_item *item, oxi_shunt_flight *flight) {
    oxi_storage_plain(item->storage);
    ox_status status = oxi_shunt_disk_take(s, item, item->bytes + item->skew);
    if (status != OX_OK) return status;
    oxi_shunt_flight_begin(flight, item->disk, item->skew, (char *)item->storage->data, item->bytes, true,
                           oxi_shunt_owns_pages(s, item), false);
    return OX_OK;
}

/* The move is over: what it read or wrote counts. */
static ox_status oxi_shunt_move_end(ox_shunt *s, oxi_shunt_item *item, oxi_shunt_flight *flight) {
    bool write = flight->write;
    ox_status status = oxi_shunt_flight_end(s, flight);
    if (!write) item->valid = status == OX_OK;
    if (write && status == OX_OK) oxi_shunt_disk_set(item, item->bytes, item->skew);
    return status;
}

/* ---- reads and writes of the user's -------------------------------------------------------------------- */

static ox_status oxi_shunt_bring(ox_shunt *s, oxi_shunt_item *item, bool loads);
static ox_status oxi_shunt_parts_move(ox_shunt *s, oxi_shunt_item *item, size_t offset, void *out,
                                      const void *data, size_t bytes);
static ox_status oxi_shunt_parts_replace(ox_shunt *s, oxi_shunt_item *item, const char *data);
static ox_status oxi_shunt_parts_even(ox_shunt *s, oxi_shunt_item *item);
static bool oxi_shunt_is_oversized(const ox_shunt *s, const oxi_shunt_item *item);

static ox_status oxi_shunt_item_read(ox_shunt *s, oxi_shunt_item *item, size_t offset, void *out,
                                     size_t bytes) {
    oxi_shunt_land(s, item);
    if (item->part) return oxi_shunt_parts_move(s, item, offset, out, NULL, bytes);
    if (item->valid) {
        oxi_storage_plain(item->storage);
        return s->compute->read(s->compute, item->storage->data, offset, out, bytes);
    }
    if (!oxi_shunt_has_copy(item)) { /* nobody wrote to it */
        memset(out, 0, bytes);
        return OX_OK;
    }
    ox_status status = s->compute->host ? OX_OK : s->compute->sync(s->compute); /* what went wrong there */
    if (status != OX_OK) return status;
    if (item->packed == OX_COMPRESSION_NONE) return oxi_shunt_get_copy(s, item, offset, out, bytes, false);
    if (offset == 0 && bytes == item->bytes) return oxi_shunt_fetch(s, item, out, false);
    void *all = oxi_alloc(item->bytes);
    status = all ? oxi_shunt_fetch(s, item, all, false) : OX_ERR_NOMEM;
    if (status == OX_OK) memcpy(out, (const char *)all + offset, bytes);
    oxi_free(all, item->bytes);
    return status;
}

/* The copies off the device that `from` has become `to`'s, which has none. */
static void oxi_shunt_copies_move(oxi_shunt_item *to, oxi_shunt_item *from) {
    oxi_shunt_host_set(to, from->host, from->host_bytes, from->pinned);
    oxi_shunt_host_set(from, NULL, 0, NULL);
    to->disk = from->disk;
    to->disk_valid = from->disk_valid;
    to->file = from->file;
    to->disk_bytes = from->disk_bytes;
    to->disk_at = from->disk_at;
    from->disk = NULL;
    oxi_shunt_disk_drop(from);
}

/* All of an item's bytes anew, off the device. The old copies are given up when the new one is there. Where
 * there is no room beside them they go first, and the item is lost if that does not help. */
static ox_status oxi_shunt_replace(ox_shunt *s, oxi_shunt_item *item, const void *data) {
    const bool clean = ox_error() == OX_OK;
    oxi_shunt_item old;
    memset(&old, 0, sizeof old);
    if (item->host && item->host_bytes == item->bytes) {
        double start = oxi_now();
        memcpy(item->host, data, item->bytes);
        oxi_shunt_count_link(s, true, item->bytes, start);
        oxi_shunt_disk_stale(s, item);
        return OX_OK;
    }
    if (oxi_shunt_has_copy(item)) oxi_shunt_copies_move(&old, item);
    ox_status status = oxi_shunt_put_copy(s, item, data, item->bytes, item->skew, false);
    if (status != OX_OK && oxi_shunt_has_copy(&old)) {
        const bool had_room = item->disk != NULL;
        oxi_shunt_disk_drop(item);
        oxi_shunt_copies_move(item, &old);
        if (had_room || (item->file && !item->host)) return status;
        if (clean) ox_error_clear();
        oxi_shunt_host_drop(s, item);
        if (item->file)
            oxi_shunt_disk_drop(item);
        else
            item->disk_valid = false; /* the room is what is wanted */
        status = oxi_shunt_put_copy(s, item, data, item->bytes, item->skew, false);
        item->failed = item->failed || status != OX_OK;
    }
    if (status == OX_OK) item->packed = OX_COMPRESSION_NONE;
    oxi_shunt_host_drop(s, &old);
    oxi_shunt_disk_drop(&old);
    return status;
}

/* All of it goes to a tier that does without the device, so that a plan finds the device as it left it. */
static ox_status oxi_shunt_item_write(ox_shunt *s, oxi_shunt_item *item, size_t offset, const void *data,
                                      size_t bytes) {
    bool whole = offset == 0 && bytes == item->bytes;
    oxi_shunt_land(s, item);
    oxi_shunt_ahead_drop(s, item);
    if (!item->part && !whole && !item->storage && oxi_shunt_is_oversized(s, item)) {
        ox_status cut = oxi_shunt_parts_even(s, item);
        if (cut != OX_OK) return cut;
    }
    if (item->part && whole) return oxi_shunt_parts_replace(s, item, (const char *)data);
    if (item->part) return oxi_shunt_parts_move(s, item, offset, NULL, data, bytes);
    if (whole && oxi_shunt_is_planned(s) && !item->storage && !item->small)
        return oxi_shunt_replace(s, item, data);
    ox_status status = oxi_shunt_bring(s, item, !whole);
    if (status == OX_OK) status = oxi_shunt_unlend(s, item);
    if (status != OX_OK) return status;
    oxi_storage_plain(item->storage);
    status = s->compute->write(s->compute, item->storage->data, offset, data, bytes);
    if (status != OX_OK) return status;
    oxi_shunt_written(s, item);
    (void)oxi_atomic_add(&item->storage->version, 1);
    return status;
}
