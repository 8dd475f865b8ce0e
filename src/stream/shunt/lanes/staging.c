/* Between memory of the host and a compute device that has memory of its own, as a GPU: the host's copies are
 * pinned, so that the device reads and writes them itself, and moves are waited for outside of its lock, while
 * others note calls. What goes between it and the disk passes rings of pinned memory in which a plan has
 * places; without a plan, two tiles by turns. Called by tiers.c and by lanes. */

enum {
    OXI_SHUNT_PINNED_LEAST = 64 << 10, /* bytes of a copy that is worth pinning */
    OXI_SHUNT_TILE = 4 << 20           /* of the disk's pieces where no plan has a ring for them */
};

/* ---- pinned memory ------------------------------------------------------------------------------------- */

/* Pinning takes longer than a move, so that what was given up is kept for who wants as many bytes, as long as
 * it and what is in use fit the budget together. */
static ox_storage *oxi_shunt_kept_take(ox_shunt *s, size_t bytes) {
    ox_storage *found = NULL;
    oxi_stream_take(&s->tiers);
    for (int64_t i = s->kept_count - 1; i >= 0 && !found; i--) {
        if (s->kept[i]->bytes != bytes) continue;
        found = s->kept[i];
        s->kept[i] = s->kept[--s->kept_count];
        s->kept_bytes -= bytes;
    }
    oxi_stream_give(&s->tiers);
    return found;
}

static void oxi_shunt_kept_put(ox_shunt *s, ox_storage *pinned) {
    oxi_stream_take(&s->tiers);
    void *grown = oxi_grow(s->kept, &s->kept_room, (size_t)s->kept_count + 1, sizeof *s->kept, false);
    if (grown) {
        s->kept = (ox_storage **)grown;
        s->kept[s->kept_count++] = pinned;
        s->kept_bytes += pinned->bytes;
    }
    oxi_stream_give(&s->tiers);
    if (!grown) oxi_storage_release(pinned);
}

/* Gives back, the oldest first, until what is left is within the budget beside what is in use. */
static void oxi_shunt_kept_trim(ox_shunt *s, uint64_t budget) {
    bool any = false;
    for (;;) {
        ox_storage *oldest = NULL;
        oxi_stream_take(&s->tiers);
        if (s->kept_count > 0 && s->kept_bytes + s->stats.host_bytes > budget) {
            oldest = s->kept[0];
            s->kept_count--;
            s->kept_bytes -= oldest->bytes;
            memmove(s->kept, s->kept + 1, (size_t)s->kept_count * sizeof *s->kept);
        }
        oxi_stream_give(&s->tiers);
        if (!oldest) break;
        oxi_storage_release(oldest);
        any = true;
    }
    if (any) (void)oxi_pins_trim(s->compute); /* or they would be kept there */
}

/* Memory that counts already: pinned where that is worth it, and the device can. NULL: there is none. */
static void *oxi_shunt_pinned_new(ox_shunt *s, size_t bytes, ox_storage **pinned) {
    *pinned = NULL;
    if (!s->compute->host && s->compute->copy_async && bytes >= OXI_SHUNT_PINNED_LEAST) {
        *pinned = oxi_shunt_kept_take(s, bytes);
        oxi_shunt_kept_trim(s, s->desc.host_bytes);
        if (!*pinned) *pinned = oxi_storage_pinned(s->compute, bytes);
        if (*pinned) return (*pinned)->data;
    }
    return oxi_try_alloc(bytes);
}

/* ---- moves --------------------------------------------------------------------------------------------- */

/* Bytes [at, ..) of the device's memory, up to the host's or down from it; they are there on return. */
static ox_status oxi_shunt_link(ox_shunt *s, ox_storage *there, size_t at, char *host, size_t bytes, bool up) {
    ox_device *d = s->compute;
    oxi_event done;
    if (bytes == 0) return OX_OK;
    if (!d->copy_async)
        return up ? d->read(d, there->data, at, host, bytes) : d->write(d, there->data, at, host, bytes);
    const oxi_place device = {d, there->data, at}, memory = {ox_cpu(), host, 0};
    ox_status status = up ? d->copy_async(d, &memory, &device, bytes, NULL, &done)
                          : d->copy_async(d, &device, &memory, bytes, NULL, &done);
    return status == OX_OK ? oxi_event_wait(&done) : status;
}

static void oxi_shunt_count_down(ox_shunt *s, size_t bytes, double start) {
    double end = oxi_now();
    oxi_shunt_span_put(s, OXI_LANE_DOWN, "load", start, end, bytes);
    oxi_shunt_rate_put(s, OXI_LANE_DOWN, false, bytes, end - start);
    oxi_stream_take(&s->tiers);
    s->stats.down_bytes += (int64_t)bytes;
    oxi_stream_give(&s->tiers);
}

/* The same of an item's, counted with the whole time that it takes. */
static ox_status oxi_shunt_link_item(ox_shunt *s, const oxi_shunt_item *item, size_t at, char *host,
                                     size_t bytes, bool up) {
    double start = oxi_now();
    ox_status status = oxi_shunt_link(s, item->storage, at, host, bytes, up);
    if (status == OX_OK && up) oxi_shunt_count_up(s, bytes, start);
    if (status == OX_OK && !up) oxi_shunt_count_down(s, bytes, start);
    return status;
}

static size_t oxi_shunt_pages_of(size_t bytes) {
    return (bytes + OXI_SHUNT_PAGE - 1) / OXI_SHUNT_PAGE * OXI_SHUNT_PAGE;
}

/* How far into its page the copy on the disk begins. */
static size_t oxi_shunt_disk_skew(const oxi_shunt_item *item) {
    const oxi_stream_region *region = (const oxi_stream_region *)item->disk->data;
    return (size_t)((region->offset + item->disk_at) % OXI_SHUNT_PAGE);
}

/* Two tiles on the way between the device and the disk. */
typedef struct oxi_shunt_tiles {
    oxi_shunt_flight flight[2];
    char *memory[2];
    size_t tile;
} oxi_shunt_tiles;

static ox_status oxi_shunt_tile_begin(const oxi_shunt_item *item, oxi_shunt_tiles *t, size_t k, bool write) {
    size_t at = k * t->tile, bytes = item->bytes - at < t->tile ? item->bytes - at : t->tile;
    oxi_shunt_flight_begin(&t->flight[k % 2], item->disk, item->disk_at + at, t->memory[k % 2], bytes, write,
                           true, true);
    return OX_OK;
}

static ox_status oxi_shunt_tile_end(ox_shunt *s, oxi_shunt_tiles *t, size_t k) {
    return t->flight[k % 2].stream ? oxi_shunt_flight_end(s, &t->flight[k % 2]) : OX_OK;
}

static ox_status oxi_shunt_tiles_run(ox_shunt *s, const oxi_shunt_item *item, oxi_shunt_tiles *t, bool write) {
    size_t count = (item->bytes + t->tile - 1) / t->tile, ahead = write ? 0 : 2;
    ox_status status = OX_OK;
    for (size_t k = 0; k < count && k < ahead; k++) (void)oxi_shunt_tile_begin(item, t, k, write);
    for (size_t k = 0; k < count && status == OX_OK; k++) {
        size_t at = k * t->tile, bytes = item->bytes - at < t->tile ? item->bytes - at : t->tile;
        status = oxi_shunt_tile_end(s, t, k);
        if (status == OX_OK) status = oxi_shunt_link_item(s, item, at, t->memory[k % 2], bytes, write);
        if (status == OX_OK && k + ahead < count) status = oxi_shunt_tile_begin(item, t, k + ahead, write);
    }
    for (size_t k = 0; k < 2; k++) { /* whatever failed, the disk is done with the tiles */
        ox_status ended = oxi_shunt_tile_end(s, t, count + k);
        if (status == OX_OK) status = ended;
    }
    return status;
}

/* Between the device and the item's copy on the disk, which is or is to be one of plain bytes. */
static ox_status oxi_shunt_tiles_move(ox_shunt *s, const oxi_shunt_item *item, bool write) {
    oxi_shunt_tiles t;
    memset(&t, 0, sizeof t);
    t.tile = oxi_shunt_pages_of(item->bytes < OXI_SHUNT_TILE ? item->bytes : (size_t)OXI_SHUNT_TILE);
    size_t each = t.tile + OXI_SHUNT_PAGE, room = 2 * each + OXI_SHUNT_PAGE;
    ox_storage *pinned = s->compute->copy_async ? oxi_storage_pinned(s->compute, room) : NULL;
    char *memory = pinned ? (char *)pinned->data : (char *)oxi_alloc(room);
    if (!memory) return OX_ERR_NOMEM;
    char *page = memory + (OXI_SHUNT_PAGE - (uintptr_t)memory % OXI_SHUNT_PAGE) % OXI_SHUNT_PAGE;
    for (int k = 0; k < 2; k++) t.memory[k] = page + (size_t)k * each + oxi_shunt_disk_skew(item);
    ox_status status = oxi_shunt_tiles_run(s, item, &t, write);
    oxi_storage_release(pinned);
    if (!pinned) oxi_free(memory, room);
    return status;
}

/* ---- copies -------------------------------------------------------------------------------------------- */

/* A copy of the device's bytes, on the host or the disk. */
static ox_status oxi_shunt_save_off(ox_shunt *s, oxi_shunt_item *item) {
    ox_storage *pinned = NULL;
    char *host = (char *)oxi_shunt_host_take(s, item->bytes, &pinned);
    ox_status status;
    if (host) {
        status = oxi_shunt_link_item(s, item, 0, host, item->bytes, true);
        if (status == OX_OK)
            oxi_shunt_host_set(item, host, item->bytes, pinned);
        else
            oxi_shunt_host_return(s, host, item->bytes, pinned);
        return status;
    }
    status = oxi_shunt_disk_take(s, item, item->bytes);
    if (status != OX_OK) return status;
    item->disk_at = 0;
    status = oxi_shunt_tiles_move(s, item, true);
    item->disk_valid = status == OX_OK;
    item->disk_bytes = item->bytes;
    return status;
}

/* The copy off the device, of plain bytes, into the device's memory. */
static ox_status oxi_shunt_load_on(ox_shunt *s, const oxi_shunt_item *item) {
    return item->host ? oxi_shunt_link_item(s, item, 0, (char *)item->host, item->bytes, false)
                      : oxi_shunt_tiles_move(s, item, false);
}
