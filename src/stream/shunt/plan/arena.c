/* The device's memory under a budget: places in a range of bytes that every resident item has one of, without
 * overlap. Whoever wants a place and finds none free takes the window whose items are the cheapest to bring
 * back for the bytes they take and the time since their last use: h = cost / (bytes x staleness), as in
 * "Dynamic tensor rematerialization" (Kirisame et al. 2021), with moves as what an item costs. Plans put
 * items at places of their own. Small items have a range to themselves, in which plans have no say. */

static int oxi_shunt_part_of(const ox_shunt *s, uint64_t place) {
    return place >= s->main_bytes;
}

/* The first item of a list at or behind a place. */
static int64_t oxi_shunt_resident_from(const oxi_shunt_residents *list, uint64_t place) {
    int64_t low = 0, high = list->count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (list->item[middle]->place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t oxi_shunt_end_of(const oxi_shunt_item *item) {
    return item->place + oxi_shunt_item_room(item);
}

/* The first item of a list that reaches behind a place. */
static int64_t oxi_shunt_resident_over(const oxi_shunt_residents *list, uint64_t place) {
    int64_t at = oxi_shunt_resident_from(list, place);
    return at > 0 && oxi_shunt_end_of(list->item[at - 1]) > place ? at - 1 : at;
}

static void oxi_shunt_resident_remove(ox_shunt *s, const oxi_shunt_item *item) {
    oxi_shunt_residents *list = &s->resident[oxi_shunt_part_of(s, item->place)];
    oxi_stream_take(&s->tiers);
    int64_t at = oxi_shunt_resident_from(list, item->place);
    if (at < list->count && list->item[at] == item) {
        list->count--;
        memmove(list->item + at, list->item + at + 1, (size_t)(list->count - at) * sizeof *list->item);
    }
    oxi_stream_give(&s->tiers);
}

static ox_status oxi_shunt_resident_add(ox_shunt *s, oxi_shunt_item *item) {
    oxi_shunt_residents *list = &s->resident[oxi_shunt_part_of(s, item->place)];
    ox_status status = OX_OK;
    oxi_stream_take(&s->tiers);
    void *grown = oxi_grow(list->item, &list->room, (size_t)list->count + 1, sizeof *list->item, false);
    if (grown) {
        list->item = (oxi_shunt_item **)grown;
        int64_t at = oxi_shunt_resident_from(list, item->place);
        memmove(list->item + at + 1, list->item + at, (size_t)(list->count - at) * sizeof *list->item);
        list->item[at] = item;
        list->count++;
    } else {
        status = OX_ERR_NOMEM;
    }
    oxi_stream_give(&s->tiers);
    return status;
}

/* Off the device: saved first if it is the only copy and anybody needs it. */
static ox_status oxi_shunt_evict(ox_shunt *s, oxi_shunt_item *item) {
    ox_status status = item->held || item->pending > 0 ? oxi_shunt_save(s, item) : OX_OK;
    if (status != OX_OK) return status;
    oxi_shunt_resident_remove(s, item);
    oxi_shunt_device_drop(s, item);
    return OX_OK;
}

/* The block that a host's device has its places in; a GPU's items are storages of their own. */
static ox_status oxi_shunt_arena_open(ox_shunt *s) {
    if (!s->compute->host || s->arena) return OX_OK;
    return s->compute->alloc(s->compute, (size_t)s->desc.device_bytes, &s->arena);
}

enum { OXI_SHUNT_STEPS_ASKED = 64 };

/* What the pool keeps for reuse lies beside the budget: where that is much, and a step is new, it goes. Steps
 * that repeat find what they gave up themselves, and ask now and then: others may have left something. */
static void oxi_shunt_give_back_cached(const ox_shunt *s) {
    if (!s->compute->host || !oxi_shunt_is_planned(s)) return;
    if (ox_memory_get_stats().bytes_cached > s->desc.device_bytes / 16) oxi_cache_empty();
}

/* Takes a place for its storage. */
static ox_status oxi_shunt_settle_at(ox_shunt *s, oxi_shunt_item *item, uint64_t place) {
    if (!item->storage) return ox_error() != OX_OK ? ox_error() : OX_ERR_NOMEM;
    item->place = place;
    ox_status status = oxi_shunt_resident_add(s, item);
    oxi_shunt_count_device(s, oxi_shunt_item_room(item), true);
    if (status != OX_OK) oxi_shunt_device_drop(s, item);
    return status;
}

/* A storage at a place, which is free. */
static ox_status oxi_shunt_put_at(ox_shunt *s, oxi_shunt_item *item, uint64_t place) {
    item->storage = s->compute->host ? oxi_shunt_storage_at(s, item, place)
                                     : oxi_storage_new(s->compute, item->bytes);
    item->valid = item->lent = false;
    return oxi_shunt_settle_at(s, item, place);
}

/* The host's copy, with its bytes. */
static ox_status oxi_shunt_lend_at(ox_shunt *s, oxi_shunt_item *item, uint64_t place) {
    item->storage = oxi_storage_borrow(s->compute, item->host, item->bytes, NULL, NULL);
    item->valid = item->lent = true;
    return oxi_shunt_settle_at(s, item, place);
}

/* Whether nobody else lies where the item would at a place. */
static bool oxi_shunt_is_free_for(const ox_shunt *s, const oxi_shunt_item *item, uint64_t place) {
    const oxi_shunt_residents *list = &s->resident[oxi_shunt_part_of(s, place)];
    uint64_t end = place + oxi_shunt_item_room(item);
    int64_t at = oxi_shunt_resident_over(list, place);
    for (; at < list->count && list->item[at]->place < end; at++)
        if (list->item[at] != item) return false;
    return true;
}

/* To another place of the device, which is free for it. What is lent, or a GPU's, has its memory
 * elsewhere. */
static ox_status oxi_shunt_shift(ox_shunt *s, oxi_shunt_item *item, uint64_t place) {
    if (s->compute->host && !item->lent) {
        ox_storage *moved = oxi_shunt_storage_at(s, item, place);
        if (!moved) return ox_error() != OX_OK ? ox_error() : OX_ERR_NOMEM;
        oxi_storage_plain(item->storage);
        memmove(moved->data, item->storage->data, item->bytes);
        oxi_storage_release(item->storage);
        item->storage = moved;
    }
    oxi_shunt_resident_remove(s, item);
    item->place = place;
    return oxi_shunt_resident_add(s, item); /* in the room that it had in the list */
}

/* ---- the window that costs the least ------------------------------------------------------------------- */

static double oxi_shunt_move_seconds(const ox_shunt *s, size_t bytes, bool write);

/* What it takes to have the item back, by seconds since it was used. */
static double oxi_shunt_worth(const ox_shunt *s, const oxi_shunt_item *item) {
    double cost = oxi_shunt_move_seconds(s, item->bytes, false);
    if (!item->held && item->pending == 0) return 0;
    if (oxi_shunt_is_bare(item)) cost += oxi_shunt_move_seconds(s, item->bytes, true);
    return cost / (double)(1 + s->node_clock - item->used_at);
}

typedef struct oxi_shunt_window {
    uint64_t place;
    double worth;
    bool found;
} oxi_shunt_window;

/* The window that begins at `place`: what it costs to clear; false: it cannot be. */
static bool oxi_shunt_window_at(const ox_shunt *s, uint64_t place, uint64_t bytes, uint64_t end, double most,
                                double *worth) {
    if (bytes > end || place > end - bytes) return false;
    const oxi_shunt_residents *list = &s->resident[oxi_shunt_part_of(s, place)];
    int64_t at = oxi_shunt_resident_over(list, place);
    *worth = 0;
    for (; at < list->count && list->item[at]->place < place + bytes; at++) {
        if (list->item[at]->protects == s->node_clock) return false;
        *worth += oxi_shunt_worth(s, list->item[at]);
        if (*worth > most) return false;
    }
    return true;
}

/* Windows begin where the range does, at items and behind them. */
static oxi_shunt_window oxi_shunt_find(const ox_shunt *s, uint64_t bytes, uint64_t begin, uint64_t end) {
    const oxi_shunt_residents *list = &s->resident[oxi_shunt_part_of(s, begin)];
    oxi_shunt_window best;
    double worth;
    best.found = oxi_shunt_window_at(s, begin, bytes, end, 1e300, &best.worth);
    best.place = begin;
    for (int64_t i = oxi_shunt_resident_from(list, begin); i < list->count; i++) {
        const uint64_t starts[2] = {list->item[i]->place, oxi_shunt_end_of(list->item[i])};
        if (best.found && best.worth == 0) break;
        if (starts[0] >= end) break;
        for (int k = 0; k < 2; k++)
            if (oxi_shunt_window_at(s, starts[k], bytes, end, best.found ? best.worth : 1e300, &worth) &&
                (!best.found || worth < best.worth)) {
                best.found = true;
                best.worth = worth;
                best.place = starts[k];
            }
    }
    return best;
}

static ox_status oxi_shunt_clear(ox_shunt *s, uint64_t place, uint64_t bytes) {
    for (;;) {
        const oxi_shunt_residents *list = &s->resident[oxi_shunt_part_of(s, place)];
        int64_t at = oxi_shunt_resident_over(list, place);
        if (at >= list->count || list->item[at]->place >= place + bytes) return OX_OK;
        ox_status status = oxi_shunt_evict(s, list->item[at]);
        if (status != OX_OK) return status;
    }
}

/* Where a new item of so many bytes may lie, its window cleared. found false: what is protected is in the
 * way everywhere. */
static ox_status oxi_shunt_make_room(ox_shunt *s, const oxi_shunt_item *item, uint64_t *place, bool *found) {
    uint64_t bytes = oxi_shunt_item_room(item);
    oxi_shunt_window window = {0, 0, false};
    if (item->small) window = oxi_shunt_find(s, bytes, s->main_bytes, s->desc.device_bytes);
    if (!window.found && !s->planned) window = oxi_shunt_find(s, bytes, 0, s->main_bytes);
    *found = window.found;
    *place = window.place;
    return window.found ? oxi_shunt_clear(s, window.place, bytes) : OX_OK;
}

/* ---- an item on the device ----------------------------------------------------------------------------- */

typedef struct oxi_shunt_pages {
    size_t bytes;
    char *memory;
} oxi_shunt_pages;

static void oxi_shunt_pages_free(void *user, void *data) {
    oxi_shunt_pages *pages = (oxi_shunt_pages *)user;
    (void)data;
    oxi_free(pages->memory, pages->bytes);
    oxi_free(pages, sizeof *pages);
}

/* Without a budget: memory of its own. A file's bytes lie in pages as in the file, which a disk reads into
 * them. */
static ox_storage *oxi_shunt_storage_new(ox_shunt *s, const oxi_shunt_item *item) {
    if (!item->file || !s->compute->host || item->bytes < OXI_SHUNT_CHUNK)
        return oxi_storage_new(s->compute, item->bytes);
    oxi_shunt_pages *pages = (oxi_shunt_pages *)oxi_alloc(sizeof *pages);
    if (!pages) return NULL;
    pages->bytes = item->bytes + 2 * OXI_SHUNT_PAGE;
    pages->memory = (char *)oxi_alloc(pages->bytes);
    if (!pages->memory) {
        oxi_free(pages, sizeof *pages);
        return NULL;
    }
    char *place = pages->memory + (OXI_SHUNT_PAGE - (uintptr_t)pages->memory % OXI_SHUNT_PAGE) + item->skew;
    ox_storage *made = oxi_storage_borrow(s->compute, place, item->bytes, oxi_shunt_pages_free, pages);
    if (!made) oxi_shunt_pages_free(pages, NULL);
    return made;
}

/* On the device, with its bytes if `loads`; it is not protected by that. */
static ox_status oxi_shunt_bring(ox_shunt *s, oxi_shunt_item *item, bool loads) {
    if (!item->storage && !oxi_shunt_is_planned(s)) {
        item->storage = oxi_shunt_storage_new(s, item);
        if (!item->storage) return ox_error() != OX_OK ? ox_error() : OX_ERR_NOMEM;
        oxi_shunt_count_device(s, oxi_shunt_item_room(item), true);
    } else if (!item->storage) {
        uint64_t place = 0;
        bool found = false;
        ox_status status = oxi_shunt_make_room(s, item, &place, &found);
        if (status != OX_OK) return status;
        if (!found) return OX_ERR_NOMEM; /* no error: whoever asks tries otherwise */
        status = oxi_shunt_arena_open(s);
        if (status == OX_OK) status = oxi_shunt_put_at(s, item, place);
        if (status != OX_OK) return status;
    }
    ox_status status = loads ? oxi_shunt_load(s, item) : OX_OK;
    if (status != OX_OK && !item->valid) {
        if (oxi_shunt_is_planned(s)) oxi_shunt_resident_remove(s, item);
        oxi_shunt_device_drop(s, item);
    }
    return status;
}
