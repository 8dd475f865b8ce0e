/* Which items stay on the device between two uses. What comes round with every step is pinned by the moves
 * that it saves for its bytes; for the rest, Belady's MIN with weights: who is used again the latest leaves,
 * and what is clean leaves before what has to be saved first, unless that is used again much later. */

/* The run that leaves the least; no load before its slot; loads in the order of their uses; large items from
 * the end of memory, small ones from its beginning, so that they do not cut what a large one will want; the
 * same of those that stay over a slot, or until the next one, and those that leave before; from one end and
 * the other in turns, so that what one is made of and leaves has not cut what comes behind; and the end of
 * each place given, a bit each, where there are few. */
enum { OXI_PACK_TIGHT = 1, OXI_PACK_LATE = 2, OXI_PACK_RING = 4, OXI_PACK_APART = 8, OXI_PACK_LONG = 16 };
enum { OXI_PACK_NEXT = 32, OXI_PACK_TURNS = 64, OXI_PACK_SIDES = 128, OXI_PACKINGS = 8 };
enum { OXI_PACK_ENDS = OXI_PACK_APART | OXI_PACK_LONG | OXI_PACK_NEXT | OXI_PACK_TURNS | OXI_PACK_SIDES };
enum { OXI_PACK_LOOSE = 1 << 28 }; /* loads come ahead into seven eighths of memory alone */
enum { OXI_PACK_SIDES_AT = 8, OXI_PACK_SIDES_MOST = 20 }; /* the bits, from the first place on, and so many */
static const int oxi_shunt_packings[OXI_PACKINGS] = {
    0, OXI_PACK_TIGHT, OXI_PACK_RING, OXI_PACK_RING | OXI_PACK_TIGHT, OXI_PACK_APART, OXI_PACK_LONG,
    OXI_PACK_NEXT, OXI_PACK_TURNS};

/* One item that takes more than one of so many parts of memory is large. */
enum { OXI_SHUNT_LARGE = 16 };

typedef struct oxi_shunt_choice {
    double pinned_part, capacity_part, dirty_weight;
    int packing, spread; /* spread: which of the orders of items to pin */
} oxi_shunt_choice;

/* keep[a]: the item stays on the device from access a to the next one. */
typedef struct oxi_shunt_placing {
    uint8_t *keep;
    uint64_t pinned_bytes;
} oxi_shunt_placing;

/* ---- what is pinned ------------------------------------------------------------------------------------ */

/* Bytes that one slot wants at once, at most, of what is not pinned. */
static uint64_t oxi_shunt_widest(const oxi_shunt_problem *p) {
    uint64_t most = 0;
    for (int32_t n = 0; n < p->node_count; n++) {
        uint64_t bytes = 0;
        for (int32_t t = p->first[n]; t < p->first[n + 1]; t++)
            if (!p->known[p->touch[t].item].pinned) bytes += p->known[p->touch[t].item].room;
        if (bytes > most) most = bytes;
    }
    return most;
}

typedef struct oxi_shunt_rank {
    double worth; /* seconds of moves saved, by bytes */
    int32_t item, first;
} oxi_shunt_rank;

static int oxi_shunt_rank_compare(const void *a, const void *b) {
    const oxi_shunt_rank *x = (const oxi_shunt_rank *)a, *y = (const oxi_shunt_rank *)b;
    if (x->worth != y->worth) return x->worth > y->worth ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static uint32_t oxi_shunt_reversed(uint32_t bits) {
    uint32_t out = 0;
    for (int i = 0; i < 32; i++) out |= (bits >> i & 1u) << (31 - i);
    return out;
}

/* What is worth about the same goes by the reversed bits of where it comes in the step (van der Corput), so
 * that whatever part of it is pinned lies evenly over the step, and the disk has work all the time. What is
 * so large that the rest would wait for it to leave its place comes first. */
static void oxi_shunt_rank_spread(const oxi_shunt_problem *p, oxi_shunt_rank *rank, int32_t count) {
    for (int32_t r = 0, end; r < count; r = end) {
        for (end = r + 1; end < count && rank[end].worth > 0.8 * rank[r].worth;) end++;
        for (int32_t q = r; q < end; q++) rank[q].worth = rank[r].worth;
        qsort(rank + r, (size_t)(end - r), sizeof *rank, oxi_shunt_rank_compare); /* by first use */
        for (int32_t q = r; q < end; q++) {
            bool large = p->known[rank[q].item].room > p->capacity / OXI_SHUNT_LARGE;
            rank[q].first = large ? -1 : (int32_t)(oxi_shunt_reversed((uint32_t)(q - r)) >> 1);
        }
        qsort(rank + r, (size_t)(end - r), sizeof *rank, oxi_shunt_rank_compare);
    }
}

/* Items that are there before and after the step, the best first; how many. */
static int32_t oxi_shunt_rank_all(const oxi_shunt_problem *p, const oxi_shunt_order *o,
                                  oxi_shunt_rank *rank) {
    int32_t count = 0;
    for (int32_t i = 0; i < p->item_count; i++) {
        const oxi_shunt_known *k = &p->known[i];
        if (!k->had || !k->held || k->small || o->first[i] == o->first[i + 1]) continue;
        int uses = 0;
        bool writes = false;
        for (int32_t a = o->first[i]; a < o->first[i + 1]; a++) {
            writes = writes || o->use[a] & 2;
            if (o->use[a] & 1 && (a == o->first[i] || o->at[a] > o->at[a - 1] + 2)) uses++;
        }
        int from = k->on_host ? 0 : 1; /* pinned, it would be in both: the host keeps its copy */
        double load = k->load[from], save = k->save[from];
        rank[count].item = i;
        rank[count].first = o->at[o->first[i]];
        rank[count++].worth = (load * (uses > 0) + 1e-3 * load * uses + save * writes) / (double)k->room;
    }
    qsort(rank, (size_t)count, sizeof *rank, oxi_shunt_rank_compare);
    return count;
}

/* Places of the pinned are the first ones. part: of what one slot leaves; below 0: all of it but for so many
 * times what one slot wants, for what comes next meanwhile. */
static uint64_t oxi_shunt_pin_some(oxi_shunt_problem *p, const oxi_shunt_rank *rank, int32_t count,
                                   double part) {
    uint64_t bytes = 0;
    for (int32_t i = 0; i < p->item_count; i++) p->known[i].pinned = false;
    for (int pass = 0; pass < 2 && part != 0; pass++) { /* what is pinned is not wanted besides */
        double left = (double)p->capacity - (double)oxi_shunt_widest(p);
        double room = part > 0 ? part * left : left + part * ((double)p->capacity - left);
        for (int32_t r = 0; r < count; r++) {
            oxi_shunt_known *k = &p->known[rank[r].item];
            if (k->pinned || (double)(bytes + k->room) > room) continue;
            k->pinned = true;
            k->place = bytes;
            bytes += k->room;
        }
    }
    return bytes;
}

/* Of what is not pinned, which of the files' the host keeps: the next in the list, which is the spread one
 * whatever is pinned by: what host and disk have to bring takes turns. */
static void oxi_shunt_cache_some(oxi_shunt_problem *p, const oxi_shunt_rank *rank, int32_t count) {
    uint64_t left = p->cache_room;
    for (int32_t r = 0; r < count; r++) {
        oxi_shunt_known *k = &p->known[rank[r].item];
        k->caches = !k->pinned && !k->on_host && k->on_disk && k->room <= left;
        if (k->caches) left -= k->room;
    }
}

/* Items that come and go by themselves, or not at all. */
static bool oxi_shunt_is_apart(const oxi_shunt_known *k) {
    return k->pinned || k->small;
}

/* ---- the bound ----------------------------------------------------------------------------------------- */

typedef struct oxi_shunt_saving {
    double worth;
    uint64_t room;
    double seconds, takes;
} oxi_shunt_saving;

static int oxi_shunt_saving_compare(const void *a, const void *b) {
    const oxi_shunt_saving *x = (const oxi_shunt_saving *)a, *y = (const oxi_shunt_saving *)b;
    return x->worth > y->worth ? -1 : x->worth < y->worth;
}

/* What has to come from a tier (0 the host, 1 the disk) once and go back once, but for what fits the device,
 * and of the disk's the host; takes: what that takes from computing. */
static double oxi_shunt_tier_bound(const oxi_shunt_problem *p, const oxi_shunt_order *o, int tier,
                                   double *takes) {
    oxi_shunt_saving *list = (oxi_shunt_saving *)oxi_shunt_list((size_t)p->item_count, sizeof *list);
    double seconds = 0, room = (double)(p->capacity + (tier ? p->host_room : 0));
    int32_t count = 0;
    for (int32_t i = 0; list && i < p->item_count; i++) {
        const oxi_shunt_known *k = &p->known[i];
        bool writes = false, reads = o->first[i] < o->first[i + 1] && o->use[o->first[i]] & 1;
        for (int32_t a = o->first[i]; a < o->first[i + 1]; a++) writes = writes || o->use[a] & 2;
        if (!k->had || !k->held || k->on_host == (tier == 1)) continue;
        list[count].seconds = (reads ? k->load[tier] - p->least[tier ? OXI_LANE_DISK : OXI_LANE_DOWN] : 0) +
                              (writes ? k->save[tier] - p->least[tier ? OXI_LANE_DISK : OXI_LANE_UP] : 0);
        list[count].takes = reads * k->load_takes[tier] + writes * k->save_takes[tier];
        list[count].room = k->room;
        list[count].worth = list[count].seconds / (double)k->room;
        count++;
    }
    if (list) qsort(list, (size_t)count, sizeof *list, oxi_shunt_saving_compare);
    for (int32_t i = 0; i < count; i++) {
        double part = (double)list[i].room <= room ? 1 : room / (double)list[i].room;
        seconds += (1 - part) * list[i].seconds;
        *takes += (1 - part) * list[i].takes;
        room -= part * (double)list[i].room;
    }
    oxi_shunt_unlist(list, (size_t)p->item_count, sizeof *list);
    return seconds;
}

/* ---- who leaves ---------------------------------------------------------------------------------------- */

/* Items by their next use, the latest on top; entries that are out of date are passed over. */
typedef struct oxi_shunt_heap {
    int32_t *access, *next, count;
} oxi_shunt_heap;

static void oxi_shunt_heap_put(oxi_shunt_heap *h, int32_t access, int32_t next) {
    int32_t at = h->count++;
    for (; at > 0 && h->next[(at - 1) / 2] < next; at = (at - 1) / 2) {
        h->next[at] = h->next[(at - 1) / 2];
        h->access[at] = h->access[(at - 1) / 2];
    }
    h->next[at] = next;
    h->access[at] = access;
}

static void oxi_shunt_heap_pop(oxi_shunt_heap *h) {
    int32_t next = h->next[--h->count], access = h->access[h->count], at = 0;
    for (int32_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && h->next[child + 1] > h->next[child]) child++;
        if (h->next[child] <= next) break;
        h->next[at] = h->next[child];
        h->access[at] = h->access[child];
    }
    h->next[at] = next;
    h->access[at] = access;
}

typedef struct oxi_shunt_min {
    const oxi_shunt_problem *p;
    const oxi_shunt_order *o;
    uint8_t *keep;
    int32_t *item_of; /* of accesses */
    int32_t *last;    /* access that an item is on the device by; -1: it is not there */
    int32_t *stamp;   /* slot that an item was needed in last */
    uint8_t *dirty;
    oxi_shunt_heap heap[2]; /* clean, dirty */
    uint64_t used, most, all; /* most: what stays beside a slot, which alone may want more */
    double weight;
} oxi_shunt_min;

/* The top of a heap that still holds, and is not needed in this slot; -1: none. */
static int32_t oxi_shunt_min_top(oxi_shunt_min *m, int which, int32_t slot) {
    oxi_shunt_heap *h = &m->heap[which];
    while (h->count > 0) {
        int32_t a = h->access[0], i = m->item_of[a];
        if (m->last[i] == a && m->dirty[i] == which && m->stamp[i] != slot) return a;
        oxi_shunt_heap_pop(h); /* an item of this slot comes back with its access */
    }
    return -1;
}

static void oxi_shunt_min_leave(oxi_shunt_min *m, int32_t i) {
    m->keep[m->last[i]] = 0;
    m->last[i] = -1;
    m->dirty[i] = 0;
    m->used -= m->p->known[i].room;
}

static bool oxi_shunt_min_evict(oxi_shunt_min *m, int32_t slot) {
    int32_t clean = oxi_shunt_min_top(m, 0, slot), dirty = oxi_shunt_min_top(m, 1, slot), victim;
    if (clean < 0 && dirty < 0) return false;
    if (clean < 0 || dirty < 0) {
        victim = clean < 0 ? dirty : clean;
    } else {
        double now = m->o->start[slot];
        int32_t a = m->heap[0].next[0], b = m->heap[1].next[0];
        double first = m->o->start[a] - now + 1e-9 * a, second = m->o->start[b] - now + 1e-9 * b;
        victim = second > m->weight * first ? dirty : clean;
    }
    oxi_shunt_min_leave(m, m->item_of[victim]);
    return true;
}

/* After a slot: who is not needed goes, the others wait in the heaps. */
static void oxi_shunt_min_after(oxi_shunt_min *m, int32_t slot) {
    const oxi_shunt_order *o = m->o;
    for (int32_t k = o->from[slot]; k < o->from[slot + 1]; k++) {
        int32_t a = o->access[k], i = m->item_of[a];
        bool ends = a + 1 == o->first[i + 1];
        if (oxi_shunt_is_apart(&m->p->known[i])) continue;
        if (o->use[a] & 2) m->dirty[i] = 1;
        m->keep[a] = 1;
        m->last[i] = a;
        if (!oxi_shunt_needed_after(o, m->p, i, a) || (ends && m->p->known[i].had)) {
            oxi_shunt_min_leave(m, i);
            continue;
        }
        oxi_shunt_heap_put(&m->heap[m->dirty[i]], a, ends ? o->slot_count : o->at[a + 1]);
    }
}

static bool oxi_shunt_min_walk(oxi_shunt_min *m) {
    const oxi_shunt_order *o = m->o;
    for (int32_t slot = 0; slot < o->slot_count; slot++) {
        for (int32_t k = o->from[slot]; k < o->from[slot + 1]; k++) {
            int32_t i = m->item_of[o->access[k]];
            m->stamp[i] = slot;
            if (m->last[i] >= 0 || oxi_shunt_is_apart(&m->p->known[i])) continue;
            m->used += m->p->known[i].room;
            m->last[i] = o->access[k];
        }
        while (m->used > m->most && oxi_shunt_min_evict(m, slot)) {}
        if (m->used > m->all) return false;
        oxi_shunt_min_after(m, slot);
    }
    return true;
}

/* Whether an item wants more than half of memory, in a step of which not all ways are tried. */
static bool oxi_shunt_has_large(const oxi_shunt_problem *p, const oxi_shunt_order *o) {
    return o->access_count > OXI_SHUNT_FEW && p->largest > p->capacity / 2;
}

/* Fills keep, by a capacity that leaves room for what comes early. False: that is too little, or no
 * memory. */
static bool oxi_shunt_place(const oxi_shunt_problem *p, const oxi_shunt_order *o, const oxi_shunt_choice *c,
                            oxi_shunt_placing *out) {
    size_t items = (size_t)p->item_count, accesses = (size_t)o->access_count;
    uint64_t widest = oxi_shunt_widest(p), left = p->capacity - out->pinned_bytes;
    oxi_shunt_min m;
    memset(&m, 0, sizeof m);
    if (out->pinned_bytes > p->capacity || widest > left) return false;
    m.p = p;
    m.o = o;
    m.keep = out->keep;
    m.weight = c->dirty_weight;
    m.most = (uint64_t)(c->capacity_part * (double)left);
    if (m.most < widest && !oxi_shunt_has_large(p, o)) m.most = widest;
    m.all = left;
    int32_t *ints = (int32_t *)oxi_alloc((2 * items + 5 * accesses + 1) * sizeof *ints);
    m.dirty = (uint8_t *)oxi_shunt_list(items, 1);
    bool placed = ints && m.dirty;
    if (placed) {
        memset(m.keep, 0, accesses);
        m.last = ints;
        m.stamp = ints + items;
        m.item_of = m.stamp + items;
        for (int h = 0; h < 2; h++) {
            m.heap[h].access = m.item_of + accesses * (size_t)(1 + 2 * h);
            m.heap[h].next = m.heap[h].access + accesses;
        }
        for (int32_t i = 0; i < p->item_count; i++) {
            m.last[i] = m.stamp[i] = -1;
            for (int32_t a = o->first[i]; a < o->first[i + 1]; a++) m.item_of[a] = i;
        }
        placed = oxi_shunt_min_walk(&m);
    }
    oxi_shunt_unlist(m.dirty, items, 1);
    oxi_free(ints, (2 * items + 5 * accesses + 1) * sizeof *ints);
    return placed;
}

/* Without who leaves first: an item stays from a use to the next one that is at most `far` slots on, as bytes
 * allow, large ones before small ones. */
static bool oxi_shunt_place_near(const oxi_shunt_problem *p, const oxi_shunt_order *o, int32_t far,
                                 uint8_t *keep) {
    uint64_t *used = (uint64_t *)oxi_shunt_list((size_t)o->slot_count, sizeof *used);
    if (!used) return false;
    memset(keep, 0, (size_t)o->access_count);
    for (int32_t i = 0; i < p->item_count; i++)
        for (int32_t a = o->first[i]; a < o->first[i + 1]; a++)
            if (!oxi_shunt_is_apart(&p->known[i])) used[o->at[a]] += p->known[i].room;
    for (int small = 0; small < 2; small++)
        for (int32_t i = 0; i < p->item_count; i++) {
            const uint64_t room = p->known[i].room;
            const bool is_small = room <= p->capacity / OXI_SHUNT_LARGE;
            if (oxi_shunt_is_apart(&p->known[i]) || is_small != (small == 1)) continue;
            for (int32_t a = o->first[i]; a + 1 < o->first[i + 1]; a++) {
                int32_t from = o->at[a] + 1, to = o->at[a + 1];
                bool fits = to - from < far;
                for (int32_t j = from; fits && j < to; j++) fits = used[j] + room <= p->capacity;
                for (int32_t j = from; fits && j < to; j++) used[j] += room;
                keep[a] = fits;
            }
        }
    oxi_shunt_unlist(used, (size_t)o->slot_count, sizeof *used);
    return true;
}
