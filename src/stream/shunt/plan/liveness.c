/* Who uses an item, in which order: the touches of a step's nodes, and the accesses of an order of slots. */

static void *oxi_shunt_list(size_t count, size_t each) {
    return oxi_calloc(count + 1, each);
}

static void oxi_shunt_unlist(void *list, size_t count, size_t each) {
    oxi_free(list, (count + 1) * each);
}

/* ---- an order ------------------------------------------------------------------------------------------ */

static void oxi_shunt_order_close(oxi_shunt_order *o, const oxi_shunt_problem *p) {
    size_t slots = (size_t)o->slot_count, accesses = (size_t)o->access_count;
    oxi_shunt_unlist(o->slot, slots, sizeof *o->slot);
    oxi_shunt_unlist(o->from, slots, sizeof *o->from);
    oxi_shunt_unlist(o->start, slots, sizeof *o->start);
    oxi_shunt_unlist(o->first, (size_t)p->item_count, sizeof *o->first);
    oxi_shunt_unlist(o->at, accesses, sizeof *o->at);
    oxi_shunt_unlist(o->use, accesses, sizeof *o->use);
    oxi_shunt_unlist(o->access, accesses, sizeof *o->access);
    oxi_shunt_unlist(o->alone, 3 * slots, sizeof *o->alone);
    memset(o, 0, sizeof *o);
}

/* Fills in who uses what, once slot and slot_count are there. */
static bool oxi_shunt_order_fill(oxi_shunt_order *o, const oxi_shunt_problem *p) {
    o->access_count = 0;
    for (int32_t j = 0; j < o->slot_count; j++)
        o->access_count += p->first[o->slot[j] + 1] - p->first[o->slot[j]];
    size_t slots = (size_t)o->slot_count, accesses = (size_t)o->access_count;
    o->from = (int32_t *)oxi_shunt_list(slots, sizeof *o->from);
    o->start = (double *)oxi_shunt_list(slots, sizeof *o->start);
    o->first = (int32_t *)oxi_shunt_list((size_t)p->item_count, sizeof *o->first);
    o->at = (int32_t *)oxi_shunt_list(accesses, sizeof *o->at);
    o->use = (uint8_t *)oxi_shunt_list(accesses, sizeof *o->use);
    o->access = (int32_t *)oxi_shunt_list(accesses, sizeof *o->access);
    o->alone = (uint8_t *)oxi_shunt_list(3 * slots, sizeof *o->alone);
    if (!o->from || !o->start || !o->first || !o->at || !o->use || !o->access || !o->alone) return false;
    o->best_alone = o->alone + slots;
    o->crowded = o->best_alone + slots;
    for (int32_t j = 0; j < o->slot_count; j++) {
        int32_t n = o->slot[j];
        o->from[j + 1] = o->from[j] + p->first[n + 1] - p->first[n];
        o->start[j + 1] = o->start[j] + p->seconds[n];
        for (int32_t t = p->first[n]; t < p->first[n + 1]; t++) o->first[p->touch[t].item + 1]++;
    }
    for (int32_t i = 0; i < p->item_count; i++) o->first[i + 1] += o->first[i];
    for (int32_t j = 0, k = 0; j < o->slot_count; j++) /* first[i] is where the next access of i goes */
        for (int32_t t = p->first[o->slot[j]]; t < p->first[o->slot[j] + 1]; t++, k++) {
            int32_t a = o->first[p->touch[t].item]++;
            o->at[a] = j;
            o->use[a] = (uint8_t)((p->touch[t].reads ? 1 : 0) | (p->touch[t].writes ? 2 : 0));
            o->access[k] = a;
        }
    for (int32_t i = p->item_count; i > 0; i--) o->first[i] = o->first[i - 1];
    o->first[0] = 0;
    return true;
}

/* As the program said it, or as the problem says. */
static bool oxi_shunt_order_open(oxi_shunt_order *o, const oxi_shunt_problem *p) {
    memset(o, 0, sizeof *o);
    o->slot_count = p->node_count;
    o->slot = (int32_t *)oxi_shunt_list((size_t)o->slot_count, sizeof *o->slot);
    for (int32_t j = 0; o->slot && j < o->slot_count; j++) o->slot[j] = p->order ? p->order[j] : j;
    if (o->slot && oxi_shunt_order_fill(o, p)) return true;
    oxi_shunt_order_close(o, p);
    return false;
}

/* Whether anybody needs the bytes that item i has after access a. */
static bool oxi_shunt_needed_after(const oxi_shunt_order *o, const oxi_shunt_problem *p, int32_t i,
                                   int32_t a) {
    return a + 1 < o->first[i + 1] ? (o->use[a + 1] & 1) != 0 : p->known[i].held;
}

/* The access of item i in a slot at or behind `slot`. */
static int32_t oxi_shunt_access_from(const oxi_shunt_order *o, int32_t i, int32_t slot) {
    int32_t low = o->first[i], high = o->first[i + 1];
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (o->at[middle] < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- a problem of a step ------------------------------------------------------------------------------- */

typedef struct oxi_shunt_touches {
    int32_t *first;
    oxi_shunt_touch *touch;
    double *seconds;
    bool *again;
    int32_t count; /* of touches, as there is memory for */
} oxi_shunt_touches;

static void oxi_shunt_problem_close(oxi_shunt_problem *p, oxi_shunt_touches *t) {
    size_t nodes = (size_t)p->node_count;
    oxi_shunt_unlist(t->first, nodes, sizeof *t->first);
    oxi_shunt_unlist(t->touch, (size_t)t->count, sizeof *t->touch);
    oxi_shunt_unlist(t->seconds, nodes, sizeof *t->seconds);
    oxi_shunt_unlist(t->again, nodes, sizeof *t->again);
}

static void oxi_shunt_touch_node(const oxi_shunt_node *node, oxi_shunt_touches *t, int32_t *end) {
    int32_t begin = *end;
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        const oxi_shunt_operand *o = &node->operand[i];
        if (!o->item) continue;
        int32_t k = begin;
        while (k < *end && t->touch[k].item != o->item->index) k++;
        if (k == *end) {
            memset(&t->touch[k], 0, sizeof t->touch[k]);
            t->touch[k].item = o->item->index;
            (*end)++;
        }
        if (i < node->in_count || !o->covers) t->touch[k].reads = true;
        if (i >= node->in_count) t->touch[k].writes = true;
    }
}

/* A node that makes one whole item of others may run again. */
static bool oxi_shunt_may_repeat(const oxi_shunt_node *node) {
    const oxi_shunt_operand *out = &node->operand[node->in_count];
    if (node->out_count != 1 || !out->item || !out->covers || out->item->small) return false;
    for (int i = 0; i < node->in_count; i++)
        if (node->operand[i].item == out->item) return false;
    return true;
}

/* Whether what moves is compressed: of what the step only reads, as the copy is that there is. */
static bool oxi_shunt_moves_packed(const oxi_shunt_item *item, bool packs) {
    bool copied = item->kind == OXI_KIND_WEIGHT && oxi_shunt_has_copy(item);
    return copied ? item->packed != OX_COMPRESSION_NONE : packs;
}

static size_t oxi_shunt_moved_bytes(const ox_shunt *s, const oxi_shunt_item *item, bool packed) {
    int64_t count = (int64_t)(item->bytes / 4);
    return packed ? oxi_shunt_packed_bytes(oxi_shunt_compression_of(s, count), count) : item->bytes;
}

static uint64_t oxi_shunt_spill_room(uint64_t bytes);
static uint64_t oxi_shunt_spilled(const oxi_shunt_item *item);
static size_t oxi_shunt_spill_bytes(const ox_shunt *s, const oxi_shunt_item *item, bool packed);
static void oxi_shunt_spill_know(const ox_shunt *s, oxi_shunt_problem *p);

/* What a move takes is what it moves, and packing. */
static void oxi_shunt_know_moves(ox_shunt *s, const oxi_shunt_item *item, bool packs,
                                 oxi_shunt_known *known) {
    bool packed = oxi_shunt_moves_packed(item, packs);
    size_t moved = oxi_shunt_moved_bytes(s, item, packed);
    size_t down = !packed && oxi_shunt_may_lend(s, item->kind) ? 0 : moved;
    double work[2] = {0, 0};
    for (int save = 0; save < 2 && packed; save++) work[save] = oxi_shunt_packing_seconds(s, item, save != 0);
    known->packs = packs;
    known->spill = oxi_shunt_spill_room(oxi_shunt_spill_bytes(s, item, packed));
    known->load[0] = oxi_shunt_lane_seconds(s, OXI_LANE_DOWN, down, false) + work[0];
    known->load[1] = oxi_shunt_lane_seconds(s, OXI_LANE_DISK, moved, false) + work[0];
    known->save[0] = oxi_shunt_lane_seconds(s, OXI_LANE_UP, moved, true) + work[1];
    known->save[1] = oxi_shunt_lane_seconds(s, OXI_LANE_DISK, moved, true) + work[1];
    for (int save = 0; save < 2 && !s->compute->host; save++) work[save] = 0; /* its processors are others */
    known->load_takes[0] = oxi_shunt_lane_takes(s, OXI_LANE_DOWN, down) + work[0];
    known->save_takes[0] = oxi_shunt_lane_takes(s, OXI_LANE_UP, moved) + work[1];
    known->load_takes[1] = oxi_shunt_lane_takes(s, OXI_LANE_DISK, moved) + work[0];
    known->save_takes[1] = oxi_shunt_lane_takes(s, OXI_LANE_DISK, moved) + work[1];
}

/* other: as it is if its copies are compressed; known alone where that is asked for. */
static void oxi_shunt_know(ox_shunt *s, const oxi_shunt_item *item, oxi_shunt_known *known,
                           oxi_shunt_known *other) {
    bool may = oxi_shunt_may_pack(s, item), always = (s->desc.compress & OX_COMPRESS_ALWAYS) != 0;
    memset(known, 0, sizeof *known);
    known->room = item->small ? 0 : oxi_shunt_item_room(item);
    known->held = oxi_shunt_outlives(item);
    known->had = item->valid || oxi_shunt_has_copy(item);
    known->small = item->small;
    known->on_host = item->host != NULL;
    known->on_disk = item->disk_valid;
    known->bare = oxi_shunt_is_bare(item);
    known->spilled = oxi_shunt_spilled(item);
    known->kind = item->kind;
    known->moves_whole = may || item->packed != OX_COMPRESSION_NONE;
    oxi_shunt_know_moves(s, item, may && always, known);
    *other = *known;
    if (may && !always) oxi_shunt_know_moves(s, item, true, other);
}

/* By the step, or to be: nobody had bytes of it before. */
static bool oxi_shunt_is_made(const oxi_shunt_item *item) {
    return !item->valid && !oxi_shunt_has_copy(item);
}

static bool oxi_shunt_is_elementwise(oxi_op op);

/* What changes state number by number is as good as state, and so is what is added to that before: of a
 * gradient, an optimizer divides the small numbers by their size, whatever a copy has left of them. */
static void oxi_shunt_classify_changes(const oxi_shunt_node *node) {
    bool changes = false;
    for (int i = 0; i < node->out_count; i++) {
        const oxi_shunt_item *item = node->operand[node->in_count + i].item;
        bool there = item && !oxi_shunt_is_made(item);
        for (int k = 0; k < node->in_count; k++) there = there || (item && node->operand[k].item == item);
        changes = changes || (there && item->kind == OXI_KIND_STATE);
    }
    for (int i = 0; i < node->in_count && changes && oxi_shunt_is_elementwise(node->op); i++) {
        oxi_shunt_item *item = node->operand[i].item;
        if (item && item->kind == OXI_KIND_ACTIVATION) item->kind = OXI_KIND_STATE;
    }
}

/* The classes that compression knows: what a step only reads; what it makes and gives up; what it changes, or
 * makes and leaves: of an optimizer's state the first step. */
static void oxi_shunt_classify(ox_shunt *s) {
    for (int32_t i = 0; i < s->table_count; i++) {
        oxi_shunt_item *item = s->table[i];
        item->kind = !oxi_shunt_is_made(item)   ? OXI_KIND_WEIGHT
                     : oxi_shunt_outlives(item) ? OXI_KIND_STATE
                                                : OXI_KIND_ACTIVATION;
    }
    for (int64_t n = 0; n < s->node_count; n++)
        for (int i = 0; i < s->nodes[n]->out_count; i++) {
            oxi_shunt_item *item = s->nodes[n]->operand[s->nodes[n]->in_count + i].item;
            if (item && item->kind == OXI_KIND_WEIGHT) item->kind = OXI_KIND_STATE;
        }
    for (int64_t n = s->node_count - 1; n >= 0; n--) oxi_shunt_classify_changes(s->nodes[n]);
}

/* Of the host's room, what is left beside all that the step makes or changes, where that is the most: copies
 * of files shall not drive those to the disk. Behind a ring, where little waits on the device, some of it
 * stays there. */
static uint64_t oxi_shunt_cache_room(const oxi_shunt_problem *p) {
    size_t items = (size_t)p->item_count, nodes = (size_t)p->node_count;
    int32_t *first = (int32_t *)oxi_shunt_list(3 * items, sizeof *first), *last = first + items,
            *writes = last + items;
    uint64_t *live = (uint64_t *)oxi_shunt_list(nodes + 1, sizeof *live), most = p->host_room, now = 0;
    for (int32_t n = 0; first && n < p->node_count; n++)
        for (int32_t t = p->first[n]; t < p->first[n + 1]; t++) {
            int32_t i = p->touch[t].item;
            if (first[i] == 0) first[i] = n + 1;
            last[i] = n + 1;
            writes[i] |= p->touch[t].writes;
        }
    for (int32_t i = 0; first && live && i < p->item_count; i++) {
        const oxi_shunt_known *k = &p->known[i];
        if (first[i] == 0 || k->small || (k->had && !writes[i])) continue;
        live[k->had ? 0 : first[i] - 1] += k->room;
        live[k->held ? p->node_count : last[i]] -= k->room;
    }
    if (first && live) most = 0;
    for (int32_t n = 0; first && live && n < p->node_count; n++) {
        now += live[n];
        if (now > most) most = now;
    }
    oxi_shunt_unlist(first, 3 * items, sizeof *first);
    oxi_shunt_unlist(live, nodes + 1, sizeof *live);
    if (p->ring[0] > 0) most -= most < p->capacity / 32 ? most : p->capacity / 32;
    return most < p->host_room ? p->host_room - most : 0;
}

/* For how long a plan of a step is sought that computes for so many seconds: up to 35 ms, or what its calls
 * ask for at least. What is begun then is done with: 10,000 calls take 36. */
static double oxi_shunt_search_seconds(const ox_shunt *s, const oxi_shunt_problem *p, double computes) {
    double least = 0.015 + 2e-6 * p->node_count, seconds = least + 0.005 * computes;
    if (s->desc.search_seconds > 0) return s->desc.search_seconds;
    if (p->recompute == OX_RECOMPUTE_EXACT) return 1;
    if (p->first[p->node_count] <= OXI_SHUNT_VERY_FEW) return 0.1;
    if (seconds > 0.035) seconds = 0.035;
    return seconds > least ? seconds : least;
}

static uint64_t oxi_shunt_host_left(const ox_shunt *s) {
    return s->desc.host_bytes > s->stats.host_bytes ? s->desc.host_bytes - s->stats.host_bytes : 0;
}

/* The step whose table is filled; known: two lists. False: no memory, or more small items in one node than
 * they have room. */
static bool oxi_shunt_problem_open(ox_shunt *s, oxi_shunt_problem *p, oxi_shunt_touches *t,
                                   oxi_shunt_known *known) {
    uint64_t shared = s->desc.device_bytes - s->main_bytes;
    int64_t operands = 0;
    memset(p, 0, sizeof *p);
    memset(t, 0, sizeof *t);
    for (int64_t n = 0; n < s->node_count; n++) {
        uint64_t small = 0;
        for (int i = 0; i < s->nodes[n]->in_count + s->nodes[n]->out_count; i++, operands++) {
            const oxi_shunt_item *item = s->nodes[n]->operand[i].item;
            if (item && item->small) small += oxi_shunt_item_room(item);
        }
        if (small > shared / 2) return false;
    }
    p->node_count = (int32_t)s->node_count;
    p->item_count = s->table_count;
    p->known = known;
    p->items = s->table;
    t->count = (int32_t)operands;
    t->first = (int32_t *)oxi_shunt_list((size_t)p->node_count, sizeof *t->first);
    t->touch = (oxi_shunt_touch *)oxi_shunt_list((size_t)operands, sizeof *t->touch);
    t->seconds = (double *)oxi_shunt_list((size_t)p->node_count, sizeof *t->seconds);
    t->again = (bool *)oxi_shunt_list((size_t)p->node_count, sizeof *t->again);
    if (!t->first || !t->touch || !t->seconds || !t->again) return false;
    for (int32_t i = 0; i < s->table_count; i++) {
        oxi_shunt_known *other = &known[s->table_count + i];
        oxi_shunt_know(s, s->table[i], &known[i], other);
        if (other->packs != known[i].packs) p->other = known + s->table_count;
    }
    for (int32_t n = 0, end = 0; n < p->node_count; n++) {
        oxi_shunt_touch_node(s->nodes[n], t, &end);
        t->first[n + 1] = end;
        t->seconds[n] = oxi_shunt_node_seconds(s, s->nodes[n]);
        p->time_most += t->seconds[n];
        t->again[n] = oxi_shunt_may_repeat(s->nodes[n]);
    }
    p->first = t->first;
    p->touch = t->touch;
    p->seconds = t->seconds;
    p->again = t->again;
    p->capacity = s->main_bytes;
    p->host_room = oxi_shunt_host_left(s);
    oxi_shunt_ring_sizes(s, p);
    oxi_shunt_spill_know(s, p);
    p->cache_room = oxi_shunt_cache_room(p);
    p->recompute = s->desc.recompute;
    p->time_most = oxi_shunt_search_seconds(s, p, p->time_most);
    for (int lane = 0; lane < OXI_LANES; lane++) p->least[lane] = s->rates.start[lane];
    return true;
}
