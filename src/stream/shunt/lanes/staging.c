/* Between memory of the host and a compute device that has memory of its own, as a GPU: the host's copies
 * are pinned, so that the device reads and writes them itself, and moves are waited for outside of its lock,
 * while others note calls. What goes between it and the disk passes rings of pinned memory in which a plan
 * has places; without a plan, two tiles by turns. Called by tiers.c and by lanes. */

enum {
    OXI_SHUNT_PINNED_LEAST = 64 << 10, /* bytes of a copy that is worth pinning */
    OXI_SHUNT_TWO = 4 << 20            /* of the two tiles where no plan has a ring */
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
    if (!any) return;
    (void)oxi_pins_trim(s->compute); /* or they would be kept there, */
    if (ox_memory_get_stats().bytes_cached > budget / 16) oxi_cache_empty(); /* or here */
}

/* Memory that counts already: pinned where that is worth it, and the device can. NULL: there is none. */
static void *oxi_shunt_pinned_new(ox_shunt *s, size_t bytes, ox_storage **pinned) {
    bool pins = !s->compute->host && s->compute->copy_async && bytes >= OXI_SHUNT_PINNED_LEAST;
    *pinned = pins ? oxi_shunt_kept_take(s, bytes) : NULL;
    if (!s->compute->host) oxi_shunt_kept_trim(s, s->desc.host_bytes);
    if (pins && !*pinned) *pinned = oxi_storage_pinned(s->compute, bytes);
    return *pinned ? (*pinned)->data : oxi_try_alloc(bytes);
}

/* ---- moves --------------------------------------------------------------------------------------------- */

/* Bytes [at, ..) of the device's memory, up to the host's or down from it; they are there on return. */
static ox_status oxi_shunt_link(ox_shunt *s, ox_storage *there, size_t at, char *host, size_t bytes,
                                bool up) {
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

/* The same of an item's, counted with the whole time that it takes. */
static ox_status oxi_shunt_link_item(ox_shunt *s, const oxi_shunt_item *item, size_t at, char *host,
                                     size_t bytes, bool up) {
    double start = oxi_now();
    ox_status status = oxi_shunt_link(s, item->storage, at, host, bytes, up);
    if (status == OX_OK) oxi_shunt_count_link(s, up, bytes, start);
    return status;
}

/* Where the first page in memory begins. */
static char *oxi_shunt_first_page(void *memory) {
    return (char *)memory + (OXI_SHUNT_PAGE - (uintptr_t)memory % OXI_SHUNT_PAGE) % OXI_SHUNT_PAGE;
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

static void oxi_shunt_tile_begin(const oxi_shunt_item *item, oxi_shunt_tiles *t, size_t k, bool write) {
    size_t at = k * t->tile, bytes = item->bytes - at < t->tile ? item->bytes - at : t->tile;
    oxi_shunt_flight_begin(&t->flight[k % 2], item->disk, item->disk_at + at, t->memory[k % 2], bytes, write,
                           true, true);
}

static ox_status oxi_shunt_tile_end(ox_shunt *s, oxi_shunt_tiles *t, size_t k) {
    return t->flight[k % 2].stream ? oxi_shunt_flight_end(s, &t->flight[k % 2]) : OX_OK;
}

static ox_status oxi_shunt_tiles_run(ox_shunt *s, const oxi_shunt_item *item, oxi_shunt_tiles *t,
                                     bool write) {
    size_t count = (item->bytes + t->tile - 1) / t->tile, ahead = write ? 0 : 2;
    ox_status status = OX_OK;
    for (size_t k = 0; k < count && k < ahead; k++) oxi_shunt_tile_begin(item, t, k, write);
    for (size_t k = 0; k < count && status == OX_OK; k++) {
        size_t at = k * t->tile, bytes = item->bytes - at < t->tile ? item->bytes - at : t->tile;
        status = oxi_shunt_tile_end(s, t, k);
        if (status == OX_OK) status = oxi_shunt_link_item(s, item, at, t->memory[k % 2], bytes, write);
        if (status == OX_OK && k + ahead < count) oxi_shunt_tile_begin(item, t, k + ahead, write);
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
    t.tile = oxi_shunt_pages_of(item->bytes < OXI_SHUNT_TWO ? item->bytes : (size_t)OXI_SHUNT_TWO);
    size_t each = t.tile + OXI_SHUNT_PAGE, room = 2 * each + OXI_SHUNT_PAGE;
    ox_storage *pinned = s->compute->copy_async ? oxi_storage_pinned(s->compute, room) : NULL;
    char *memory = pinned ? (char *)pinned->data : (char *)oxi_alloc(room);
    if (!memory) return OX_ERR_NOMEM;
    char *page = oxi_shunt_first_page(memory);
    for (int k = 0; k < 2; k++) t.memory[k] = page + (size_t)k * each + oxi_shunt_disk_skew(item);
    ox_status status = oxi_shunt_tiles_run(s, item, &t, write);
    oxi_storage_release(pinned);
    if (!pinned) oxi_free(memory, room);
    return status;
}

/* ---- copies -------------------------------------------------------------------------------------------- */

/* A copy of the device's bytes on the disk. */
static ox_status oxi_shunt_save_far(ox_shunt *s, oxi_shunt_item *item) {
    ox_status status = oxi_shunt_disk_take(s, item, item->bytes);
    if (status != OX_OK) return status;
    item->disk_at = 0;
    status = oxi_shunt_tiles_move(s, item, true);
    item->disk_valid = status == OX_OK;
    item->disk_bytes = item->bytes;
    return status;
}

/* The same, on the host where there is room. */
static ox_status oxi_shunt_save_off(ox_shunt *s, oxi_shunt_item *item) {
    ox_storage *pinned = NULL;
    char *host = (char *)oxi_shunt_host_take(s, item->bytes, &pinned);
    if (!host) return oxi_shunt_save_far(s, item);
    ox_status status = oxi_shunt_link_item(s, item, 0, host, item->bytes, true);
    if (status == OX_OK)
        oxi_shunt_host_set(item, host, item->bytes, pinned);
    else
        oxi_shunt_host_return(s, host, item->bytes, pinned);
    return status;
}

/* The copy off the device, of plain bytes, into the device's memory. */
static ox_status oxi_shunt_load_on(ox_shunt *s, const oxi_shunt_item *item) {
    return item->host ? oxi_shunt_link_item(s, item, 0, (char *)item->host, item->bytes, false)
                      : oxi_shunt_tiles_move(s, item, false);
}

/* ---- rings --------------------------------------------------------------------------------------------- */

/* What was read into a ring ahead of a step is given up, wherever that is. */
static void oxi_shunt_ahead_end(ox_shunt *s) {
    for (int k = 0; k < s->ahead_count; k++)
        if (s->ahead[k].stream) (void)oxi_shunt_flight_lands(s, &s->ahead[k]);
    s->ahead_count = 0;
}

/* The same if the item is among it, whose bytes or file are not what they were. */
static void oxi_shunt_ahead_drop(ox_shunt *s, const oxi_shunt_item *item) {
    bool among = false;
    for (int k = 0; k < s->ahead_count; k++) among = among || s->ahead_item[k] == item;
    if (among) oxi_shunt_ahead_end(s);
}

static void oxi_shunt_ring_drop(ox_shunt *s, int k) {
    if (!s->ring[k]) return;
    oxi_shunt_host_return(s, s->ring[k], (size_t)s->ring_bytes[k] + OXI_SHUNT_PAGE, s->ring_pinned[k]);
    s->ring[k] = NULL;
    s->ring_bytes[k] = 0;
}

/* Rings as large as a plan wants them, for all plans, within the host's budget. Without one its moves go by
 * tiles. */
static void oxi_shunt_rings_open(ox_shunt *s, const uint64_t *bytes) {
    for (int k = 0; k < 2; k++) {
        if (bytes[k] <= s->ring_bytes[k]) continue;
        oxi_shunt_ring_drop(s, k);
        s->ring[k] = oxi_shunt_host_take(s, (size_t)bytes[k] + OXI_SHUNT_PAGE, &s->ring_pinned[k]);
        if (s->ring[k]) s->ring_bytes[k] = bytes[k];
    }
}

/* Where a plan's place is, of a ring that is open. */
static char *oxi_shunt_ring_at(const ox_shunt *s, int k, uint64_t at) {
    return oxi_shunt_first_page(s->ring[k]) + at;
}

static bool oxi_shunt_by_ring(const oxi_shunt_instruction *in) {
    return in && (in->action == OXI_ACT_READ || in->action == OXI_ACT_WRITE);
}

static char *oxi_shunt_read_to(const ox_shunt *s, const oxi_shunt_item *item, uint64_t at) {
    return oxi_shunt_ring_at(s, 0, at) + oxi_shunt_disk_skew(item);
}

/* The item's bytes that a move is of. */
static size_t oxi_shunt_tile_bytes(const oxi_shunt_item *item, const oxi_shunt_instruction *in) {
    if (in->bytes == 0) return item->bytes;
    if (in->from >= item->bytes) return 0;
    size_t left = item->bytes - (size_t)in->from;
    return in->ends || left < in->bytes ? left : (size_t)in->bytes;
}

/* The disk's part of a move; none begins where the load finds its bytes elsewhere, or the save has left them
 * there. */
static void oxi_shunt_ring_begin(const ox_shunt *s, const oxi_shunt_item *item,
                                 const oxi_shunt_instruction *in, oxi_shunt_flight *flight) {
    bool reads = in->action == OXI_ACT_READ;
    size_t bytes = item->packed == OX_COMPRESSION_NONE ? oxi_shunt_tile_bytes(item, in) : item->disk_bytes;
    if (item->packed != OX_COMPRESSION_NONE && in->bytes > 0) bytes = 0; /* that comes at once */
    if (reads && bytes > 0 && s->ring[0] && !item->host && item->disk_valid && !item->valid)
        oxi_shunt_flight_begin(flight, item->disk, item->disk_at + in->from,
                               oxi_shunt_read_to(s, item, in->ring_at), bytes, false, true, false);
    else if (!reads && item->staged)
        oxi_shunt_flight_begin(flight, item->disk, 0, item->staged, item->bytes, true, true, false);
}

static ox_status oxi_shunt_ring_end(ox_shunt *s, oxi_shunt_item *item, const oxi_shunt_instruction *in,
                                    oxi_shunt_flight *flight) {
    ox_status status = oxi_shunt_flight_end(s, flight);
    if (status != OX_OK) return status;
    if (in->action == OXI_ACT_READ) {
        if (in->from == 0) item->staged = oxi_shunt_read_to(s, item, in->ring_at); /* others as well */
        return OX_OK;
    }
    item->staged = NULL;
    oxi_shunt_disk_set(item, item->bytes, 0);
    return OX_OK;
}

/* The link's part of a tile. Where the disk had none, all comes with the last one. */
static ox_status oxi_shunt_load_tile(ox_shunt *s, oxi_shunt_item *item, const oxi_shunt_instruction *in) {
    size_t bytes = oxi_shunt_tile_bytes(item, in);
    if (!item->staged) return in->ends ? oxi_shunt_load(s, item) : OX_OK;
    ox_status status = oxi_shunt_link_item(s, item, (size_t)in->from,
                                           oxi_shunt_read_to(s, item, in->ring_at), bytes, false);
    if (in->ends) item->staged = NULL;
    if (in->ends) item->valid = status == OX_OK;
    return status;
}

/* The link's part of a load; what is packed is unpacked by the host. */
static ox_status oxi_shunt_load_staged(ox_shunt *s, oxi_shunt_item *item) {
    char *from = item->staged, *through = NULL;
    ox_status status = OX_OK;
    item->staged = NULL;
    if (item->packed != OX_COMPRESSION_NONE) {
        through = (char *)oxi_alloc(item->bytes);
        status = through ? oxi_shunt_load_packed(s, item, from, through) : OX_ERR_NOMEM;
    }
    if (status == OX_OK)
        status = oxi_shunt_link_item(s, item, 0, through ? through : from, item->bytes, false);
    oxi_free(through, item->bytes);
    item->valid = status == OX_OK;
    return status;
}

/* The link's part of a save; what is to be packed goes all the way. */
static ox_status oxi_shunt_save_staged(ox_shunt *s, oxi_shunt_item *item, uint64_t at) {
    if (!s->ring[1] || oxi_shunt_packs(s, item)) return oxi_shunt_save(s, item);
    if (!oxi_shunt_is_bare(item)) return OX_OK;
    oxi_storage_plain(item->storage);
    ox_status status = oxi_shunt_disk_take(s, item, item->bytes);
    char *to = oxi_shunt_ring_at(s, 1, at);
    if (status == OX_OK) status = oxi_shunt_link_item(s, item, 0, to, item->bytes, true);
    if (status == OX_OK) item->staged = to;
    return status;
}

/* A step has failed while the item was on its way: the bytes that are nowhere else get another copy. */
static void oxi_shunt_unstage(ox_shunt *s, oxi_shunt_item *item) {
    const char *from = item->staged;
    item->staged = NULL;
    if (!from || item->valid || oxi_shunt_has_copy(item)) return;
    if (oxi_shunt_put_copy(s, item, from, item->bytes, 0, false) != OX_OK) item->failed = true;
}
