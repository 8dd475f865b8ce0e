/* What a step takes of the disk, where that has a budget. Ways of a plan are told apart by what goes beyond
 * it, which is worse than any time; before a plan is carried out its moves are walked as they will be, with
 * what is where, so that a step that does not fit is an error before it has begun. Called by schedules, and
 * by the step. */

/* Bytes of the spill file, which has whole pages. */
static uint64_t oxi_shunt_spill_room(uint64_t bytes) {
    return (bytes + OXI_STREAM_PAGE - 1) / OXI_STREAM_PAGE * OXI_STREAM_PAGE;
}

static uint64_t oxi_shunt_spilled(const oxi_shunt_item *item) {
    return item->disk && !item->file ? oxi_shunt_spill_room(item->disk->bytes) : 0;
}

/* Of the item's copy, compressed or not. */
static size_t oxi_shunt_spill_bytes(const ox_shunt *s, const oxi_shunt_item *item, bool packed) {
    return oxi_shunt_moved_bytes(s, item, packed) + (packed || !s->compute->host ? 0 : item->skew);
}

static uint64_t oxi_shunt_disk_used(const ox_shunt *s) {
    return s->stream ? ox_device_get_stats(ox_stream_device(s->stream)).bytes_in_use : 0;
}

/* What a problem knows of the disk. What lies on the device and is not of the step leaves it before. */
static void oxi_shunt_spill_know(const ox_shunt *s, oxi_shunt_problem *p) {
    p->disk_most = s->desc.disk_bytes;
    if (p->disk_most == 0) return;
    p->disk_used = oxi_shunt_disk_used(s);
    for (int64_t r = 0; r < s->resident[0].count; r++) {
        const oxi_shunt_item *item = s->resident[0].item[r];
        if (item->mark == s->step_number || !oxi_shunt_is_bare(item)) continue;
        const uint64_t host = item->bytes <= p->host_room ? item->bytes : 0;
        p->host_room -= host;
        if (host == 0) p->disk_used += oxi_shunt_spill_room(oxi_shunt_spill_bytes(s, item, false));
    }
}

/* ---- a schedule ---------------------------------------------------------------------------------------- */

/* What is on the device without a copy leaves it when the step begins, unless it is pinned. False: no
 * memory. */
static bool oxi_shunt_spill_open(oxi_shunt_schedule *s) {
    const oxi_shunt_problem *p = s->p;
    s->disk_used = p->disk_used;
    if (p->disk_most == 0) return true;
    s->spilled = (uint64_t *)oxi_shunt_list((size_t)p->item_count, sizeof *s->spilled);
    for (int32_t i = 0; s->spilled && i < p->item_count; i++) {
        const oxi_shunt_known *k = &p->known[i];
        s->spilled[i] = k->spilled;
        if (!k->bare || k->pinned || k->small) continue;
        s->tier[i] = k->room <= s->host_left ? 1 : 2;
        if (s->tier[i] == 1) s->host_left -= k->room;
        if (s->tier[i] == 2) s->disk_used += s->spilled[i] = k->spill;
    }
    return s->spilled != NULL;
}

/* The item has another copy on the disk, or none. */
static void oxi_shunt_spill_set(oxi_shunt_schedule *s, int32_t item, uint64_t bytes) {
    if (!s->spilled) return;
    s->disk_used += bytes - s->spilled[item];
    s->spilled[item] = bytes;
}

/* Behind a slot, whose nodes gave up what they did before anything was saved. */
static void oxi_shunt_spill_note(oxi_shunt_schedule *s) {
    const uint64_t most = s->p->disk_most;
    if (s->spilled && s->disk_used > most && s->disk_used - most > s->plan->over)
        s->plan->over = s->disk_used - most;
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

/* A step as it is going to be: of items, what they have on the host and on the disk. */
typedef struct oxi_shunt_walk {
    const ox_shunt *s;
    const oxi_shunt_plan *plan;
    uint64_t *host, *disk;
    bool *copied;
    uint64_t host_left, used, most;
    uint64_t ever; /* .. if all that is saved went to the disk, and nothing were given up */
    bool touches;  /* what has just been walked takes room of host or disk, or gives some back */
} oxi_shunt_walk;

static bool oxi_shunt_walk_open(oxi_shunt_walk *w, const ox_shunt *s, const oxi_shunt_plan *plan) {
    const size_t items = (size_t)plan->item_count;
    memset(w, 0, sizeof *w);
    w->s = s;
    w->plan = plan;
    w->host_left = oxi_shunt_host_left(s);
    w->used = w->most = w->ever = oxi_shunt_disk_used(s);
    w->host = (uint64_t *)oxi_shunt_list(2 * items, sizeof *w->host);
    w->copied = (bool *)oxi_shunt_list(items, sizeof *w->copied);
    if (!w->host || !w->copied) return false;
    w->disk = w->host + items;
    for (size_t i = 0; i < items; i++) {
        w->host[i] = s->table[i]->host_bytes;
        w->disk[i] = oxi_shunt_spilled(s->table[i]);
        w->copied[i] = oxi_shunt_has_copy(s->table[i]);
    }
    return true;
}

static void oxi_shunt_walk_close(oxi_shunt_walk *w) {
    oxi_shunt_unlist(w->host, 2 * (size_t)w->plan->item_count, sizeof *w->host);
    oxi_shunt_unlist(w->copied, (size_t)w->plan->item_count, sizeof *w->copied);
}

/* No copy is the item's any more. */
static void oxi_shunt_walk_drop(oxi_shunt_walk *w, int32_t i) {
    w->touches = w->touches || w->host[i] > 0 || w->disk[i] > 0;
    w->host_left += w->host[i];
    w->used -= w->disk[i];
    w->host[i] = w->disk[i] = 0;
    w->copied[i] = false;
}

static void oxi_shunt_walk_node(oxi_shunt_walk *w, const oxi_shunt_instruction *in) {
    const oxi_shunt_node *node = w->s->nodes[in->node];
    for (int i = 0; i < node->out_count; i++) {
        const oxi_shunt_item *item = node->operand[node->in_count + i].item;
        if (item) oxi_shunt_walk_drop(w, item->index);
    }
    for (int32_t c = in->first; c < in->first + in->count; c++)
        if (w->plan->change[c].dies) oxi_shunt_walk_drop(w, w->plan->change[c].item);
}

/* A copy that the disk's lane makes by way of the host's memory, as it makes compressed ones, may be on
 * either: both are short of it. */
static void oxi_shunt_walk_save(oxi_shunt_walk *w, const oxi_shunt_instruction *in) {
    const ox_shunt *s = w->s;
    const int32_t i = in->item;
    const oxi_shunt_item *item = s->table[i];
    const bool packed = oxi_shunt_packs(s, item), caches = w->plan->known[i].caches;
    const size_t bytes = oxi_shunt_moved_bytes(s, item, packed);
    w->touches = caches || !w->copied[i];
    if (caches && w->host[i] == 0 && item->bytes <= w->host_left) {
        w->host[i] = item->bytes;
        w->host_left -= item->bytes;
    }
    if (w->copied[i]) return;
    const bool past = in->lane == OXI_LANE_DISK || (in->staged && s->ring[1]);
    const bool host = (!past || packed || caches) && bytes <= w->host_left;
    w->copied[i] = true;
    w->ever += oxi_shunt_spill_room(oxi_shunt_spill_bytes(s, item, packed));
    if (host) {
        w->host[i] = bytes;
        w->host_left -= bytes;
    }
    if (host && !past) return;
    const uint64_t room = oxi_shunt_spill_room(oxi_shunt_spill_bytes(s, item, packed));
    if (room > w->disk[i]) w->used += room - w->disk[i];
    if (room > w->disk[i]) w->disk[i] = room;
    if (w->used > w->most) w->most = w->used;
}

/* ---- small items --------------------------------------------------------------------------------------- */

/* A small item in the part of the budget that those share. */
typedef struct oxi_shunt_nook {
    uint64_t place, end;
    const oxi_shunt_item *item;
} oxi_shunt_nook;

typedef struct oxi_shunt_nooks {
    oxi_shunt_nook *list;
    int64_t count;
} oxi_shunt_nooks;

/* The first place that is free for it, as the arena finds it; false: somebody has to leave. */
static bool oxi_shunt_nook_take(const ox_shunt *s, oxi_shunt_nooks *n, const oxi_shunt_item *item) {
    const uint64_t room = oxi_shunt_item_room(item);
    uint64_t place = s->main_bytes;
    int64_t at = 0;
    for (; at < n->count && n->list[at].place < place + room; at++) {
        if (n->list[at].item == item) return true;
        place = n->list[at].end;
    }
    for (int64_t k = at; k < n->count; k++)
        if (n->list[k].item == item) return true;
    if (place + room > s->desc.device_bytes) return false;
    memmove(n->list + at + 1, n->list + at, (size_t)(n->count++ - at) * sizeof *n->list);
    const oxi_shunt_nook taken = {place, place + room, item};
    n->list[at] = taken;
    return true;
}

static void oxi_shunt_nook_leave(oxi_shunt_nooks *n, const oxi_shunt_item *item) {
    for (int64_t k = 0; k < n->count; k++)
        if (n->list[k].item == item) {
            memmove(n->list + k, n->list + k + 1, (size_t)(--n->count - k) * sizeof *n->list);
            return;
        }
}

/* Whether the small items of a node find places, and those that the step gives up with it leave. */
static bool oxi_shunt_nooks_node(const ox_shunt *s, const oxi_shunt_plan *plan, oxi_shunt_nooks *n,
                                 const oxi_shunt_instruction *in) {
    const oxi_shunt_node *node = s->nodes[in->node];
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        const oxi_shunt_item *item = node->operand[i].item;
        if (item && item->small && !oxi_shunt_nook_take(s, n, item)) return false;
    }
    for (int32_t c = in->first; c < in->first + in->count; c++)
        if (plan->change[c].dies && s->table[plan->change[c].item]->small)
            oxi_shunt_nook_leave(n, s->table[plan->change[c].item]);
    return true;
}

/* Whether all small items of the step have places without that any leaves: where they fit behind those that
 * are there they have, else they are placed one by one. */
static bool oxi_shunt_nooks_suffice(const ox_shunt *s, const oxi_shunt_plan *plan) {
    const oxi_shunt_residents *there = &s->resident[1];
    uint64_t end = there->count > 0 ? oxi_shunt_end_of(there->item[there->count - 1]) : s->main_bytes;
    size_t room = (size_t)there->count + (size_t)plan->item_count;
    for (int32_t i = 0; i < plan->item_count; i++)
        if (s->table[i]->small && !s->table[i]->storage) end += oxi_shunt_item_room(s->table[i]);
    if (end <= s->desc.device_bytes) return true;
    oxi_shunt_nooks n = {(oxi_shunt_nook *)oxi_shunt_list(room, sizeof *n.list), 0};
    bool suffice = n.list != NULL;
    for (int64_t r = 0; suffice && r < there->count; r++) {
        const oxi_shunt_item *item = there->item[r];
        const oxi_shunt_nook nook = {item->place, oxi_shunt_end_of(item), item};
        n.list[n.count++] = nook;
    }
    for (int32_t k = 0; k < plan->instruction_count && suffice; k++)
        if (plan->instruction[k].action == OXI_ACT_NODE)
            suffice = oxi_shunt_nooks_node(s, plan, &n, &plan->instruction[k]);
    oxi_shunt_unlist(n.list, room, sizeof *n.list);
    return suffice;
}

/* Where they do not, who leaves and how often is not known: each may get a copy, on the host or the disk. */
static void oxi_shunt_walk_small(oxi_shunt_walk *w) {
    const ox_shunt *s = w->s;
    uint64_t host = 0;
    if (oxi_shunt_nooks_suffice(s, w->plan)) return;
    for (const oxi_shunt_item *item = s->items.next; item != &s->items; item = item->next) {
        if (!item->small || (!item->storage && item->mark != s->step_number)) continue;
        if (oxi_shunt_spilled(item) == 0) w->used += oxi_shunt_spill_room(item->bytes);
        host += item->bytes;
    }
    w->host_left -= host < w->host_left ? host : w->host_left;
    if (w->used > w->most) w->most = w->used;
}

/* Lanes are ahead of each other by more than the order of a plan says. With in_order what takes or gives back
 * room of host or disk waits for all that is before it there. False: no memory. */
static bool oxi_shunt_walk_all(oxi_shunt_walk *w, const ox_shunt *s, oxi_shunt_plan *plan, bool in_order) {
    int64_t before[OXI_LANES] = {0};
    const bool open = oxi_shunt_walk_open(w, s, plan);
    if (open) oxi_shunt_walk_small(w);
    for (int32_t k = 0; k < plan->instruction_count && open; k++) {
        oxi_shunt_instruction *in = &plan->instruction[k];
        w->touches = false;
        if (in->action == OXI_ACT_NODE) oxi_shunt_walk_node(w, in);
        if (in->action == OXI_ACT_SAVE) oxi_shunt_walk_save(w, in);
        for (int lane = 0; lane < OXI_LANES && in_order && w->touches; lane++)
            if (lane != (int)in->lane && before[lane] > in->wait[lane])
                in->wait[lane] = (int32_t)before[lane];
        before[in->lane]++;
    }
    oxi_shunt_walk_close(w);
    return open;
}

/* The most bytes of the disk that a plan will have taken, with what is where now. Where only its order keeps
 * it within the budget, that is what is carried out. False: no memory. */
static bool oxi_shunt_spill_walk(const ox_shunt *s, oxi_shunt_plan *plan, uint64_t *most) {
    const uint64_t budget = s->desc.disk_bytes;
    oxi_shunt_walk w;
    bool open = oxi_shunt_walk_all(&w, s, plan, false);
    *most = w.most;
    if (open && budget > 0 && w.most <= budget && w.ever > budget)
        open = oxi_shunt_walk_all(&w, s, plan, true);
    return open;
}
