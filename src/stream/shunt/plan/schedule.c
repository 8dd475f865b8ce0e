/* From who stays to what is done when: segments with places, prefetches, and instructions on four lanes, each
 * with how far the others have to be; and what all of it takes, by the same walk. A load begins at the latest
 * time that its lane's later loads leave it, walking backward, or as early after that as memory allows. Where
 * they lie places.c says. */

/* ---- segments ------------------------------------------------------------------------------------------ */

static oxi_shunt_segment *oxi_shunt_segment_add(oxi_shunt_schedule *s) {
    oxi_shunt_plan *plan = s->plan;
    void *grown = oxi_grow(plan->segment, &plan->segment_room, (size_t)plan->segment_count + 1,
                           sizeof *plan->segment, false);
    if (!grown) return NULL;
    plan->segment = (oxi_shunt_segment *)grown;
    oxi_shunt_segment *made = &plan->segment[plan->segment_count++];
    memset(made, 0, sizeof *made);
    return made;
}

static bool oxi_shunt_segments_of(oxi_shunt_schedule *s, int32_t i) {
    const oxi_shunt_order *o = s->o;
    const oxi_shunt_known *k = &s->p->known[i];
    int32_t end = o->first[i + 1];
    bool has_bytes = k->had;
    for (int32_t a = o->first[i], b; a < end; a = b + 1) {
        oxi_shunt_segment *g = oxi_shunt_segment_add(s);
        if (!g) return false;
        g->item = i;
        g->first = g->from = o->at[a];
        g->loads = has_bytes && o->use[a] & 1;
        for (b = a;; b++) {
            if (o->use[b] & 2) g->dirty = has_bytes = true;
            if (!s->keep[b] || b + 1 == end) break;
        }
        g->last = o->at[b];
        bool needed = oxi_shunt_needed_after(o, s->p, i, b);
        g->stays = needed && s->keep[b];
        g->saves = needed && !g->stays && g->dirty;
        g->dies = b + 1 == end && !k->held;
    }
    return true;
}

static bool oxi_shunt_segments(oxi_shunt_schedule *s) {
    s->plan->segment_count = 0;
    for (int32_t i = 0; i < s->p->item_count; i++) {
        if (oxi_shunt_is_apart(&s->p->known[i])) continue;
        if (!oxi_shunt_segments_of(s, i)) return false;
    }
    for (int32_t g = 0; g < s->plan->segment_count; g++) {
        const oxi_shunt_segment *one = &s->plan->segment[g];
        uint64_t room = s->p->known[one->item].room;
        int32_t last = one->stays ? s->o->slot_count - 1 : one->last;
        s->used[one->first] += room;
        s->used[last + 1] -= room;
    }
    for (int32_t j = 0; j < s->o->slot_count; j++) s->used[j + 1] += s->used[j];
    for (int32_t j = 0; j < s->o->slot_count; j++)
        if (s->used[j] > s->p->capacity - s->plan->pinned_bytes) return false;
    return true;
}

/* Whether the search is over before this try is; asked now and then. */
static bool oxi_shunt_is_late(const oxi_shunt_schedule *s, int32_t j) {
    return j % 256 == 255 && s->plan->until > 0 && oxi_shunt_spent(s->p) > s->plan->until;
}

/* ---- prefetches ---------------------------------------------------------------------------------------- */

/* Segments by the slot of their first access, and of their last. */
static void oxi_shunt_list_segments(oxi_shunt_schedule *s) {
    for (int32_t g = s->plan->segment_count - 1; g >= 0; g--) {
        oxi_shunt_segment *one = &s->plan->segment[g];
        one->next_end = s->ends[one->last];
        s->ends[one->last] = g;
        int32_t *list = one->loads ? &s->loads[one->first] : &s->defines[one->first];
        one->next = *list;
        *list = g;
    }
}

/* For how long the disk was idle by the time a slot begins, if it did nothing but save: what the host has no
 * room for. Where no large item has a place kept, what comes that early would fill memory with pieces. */
static void oxi_shunt_find_idle(oxi_shunt_schedule *s) {
    const oxi_shunt_order *o = s->o;
    double busy_until = 0;
    uint64_t host = s->p->host_room;
    s->plan->large = oxi_shunt_has_large(s->p, o);
    if (s->plan->large) s->idle = (double *)oxi_shunt_list((size_t)o->slot_count + 1, sizeof *s->idle);
    if (!s->idle) return;
    for (int32_t j = 0; j < o->slot_count; j++) {
        double from = busy_until > o->start[j] ? busy_until : o->start[j];
        s->idle[j + 1] = s->idle[j] + (o->start[j + 1] > from ? o->start[j + 1] - from : 0);
        for (int32_t g = s->ends[j]; g >= 0; g = s->plan->segment[g].next_end) {
            const oxi_shunt_known *k = &s->p->known[s->plan->segment[g].item];
            if (!s->plan->segment[g].saves) continue;
            if (k->room <= host) {
                host -= k->room;
                continue;
            }
            busy_until = (busy_until > o->start[j + 1] ? busy_until : o->start[j + 1]) + k->save[1];
        }
    }
}

/* The slots that loads want to begin with, walking backward: as late as all that come after them allow. Those
 * of the disk do without the time in which it saves. */
static void oxi_shunt_want(oxi_shunt_schedule *s) {
    const oxi_shunt_order *o = s->o;
    const double *start[2];
    double next[2];
    int32_t by[2]; /* the last slot that begins by then */
    start[0] = o->start;
    start[1] = s->idle ? s->idle : o->start;
    for (int lane = 0; lane < 2; lane++) {
        next[lane] = start[lane][o->slot_count];
        by[lane] = o->slot_count - 1;
    }
    for (int32_t j = o->slot_count - 1; j >= 0; j--)
        for (int32_t g = s->loads[j]; g >= 0; g = s->plan->segment[g].next) {
            oxi_shunt_segment *one = &s->plan->segment[g];
            const oxi_shunt_known *k = &s->p->known[one->item];
            int lane = k->on_host || s->p->ring[0] > 0 ? 0 : 1; /* a ring has it by then */
            int32_t least = g > 0 && one[-1].item == one->item ? one[-1].last + 1 : 0;
            next[lane] = (next[lane] < start[lane][j] ? next[lane] : start[lane][j]) - k->load[lane];
            while (by[lane] > 0 && start[lane][by[lane]] > next[lane]) by[lane]--;
            one->block = next[lane] > 0 ? by[lane] : 0;
            if (one->block < least) one->block = least;
            if (s->packing & OXI_PACK_LATE) one->block = j;
        }
}

/* Slots that follow each other: the most bytes of any, and bytes of each beside its own, so that a load that
 * passes all of them has one to look at. */
enum { OXI_SHUNT_SPAN = 16 };
typedef struct oxi_shunt_span_used {
    uint64_t most, more;
} oxi_shunt_span_used;

/* A slot that no load passes has more bytes than there are. */
static oxi_shunt_span_used *oxi_shunt_spans_open(oxi_shunt_schedule *s) {
    const size_t slots = (size_t)s->o->slot_count;
    oxi_shunt_span_used *span =
        (oxi_shunt_span_used *)oxi_shunt_list(slots / OXI_SHUNT_SPAN + 1, sizeof *span);
    for (size_t j = 0; span && j < slots; j++) {
        if (s->o->alone[j]) s->used[j] = UINT64_MAX / 4;
        if (s->used[j] > span[j / OXI_SHUNT_SPAN].most) span[j / OXI_SHUNT_SPAN].most = s->used[j];
    }
    return span;
}

/* The slot that `bytes` come in front of, going back from `from` to `least`, where others have `others` at
 * most. */
static int32_t oxi_shunt_go_back(oxi_shunt_schedule *s, oxi_shunt_span_used *span, int32_t from,
                                 int32_t least, uint64_t bytes, uint64_t others) {
    while (from > least) {
        const int32_t j = from - 1;
        oxi_shunt_span_used *one = &span[j / OXI_SHUNT_SPAN];
        if (from % OXI_SHUNT_SPAN == 0 && from - OXI_SHUNT_SPAN >= least && one->most <= others) {
            one->most += bytes;
            one->more += bytes;
            from -= OXI_SHUNT_SPAN;
            continue;
        }
        if (s->used[j] + one->more > others) break;
        s->used[j] += bytes;
        if (s->used[j] + one->more > one->most) one->most = s->used[j] + one->more;
        from = j;
    }
    return from;
}

/* Those that are needed first have the first say on memory; with OXI_PACK_RING none overtakes another. False:
 * no memory. */
static bool oxi_shunt_prefetch(oxi_shunt_schedule *s) {
    enum { STEPS = 1 << 22, FAR = 512 }; /* of large steps not all is looked at */
    uint64_t room = s->p->capacity - s->plan->pinned_bytes;
    oxi_shunt_span_used *span = oxi_shunt_spans_open(s);
    if (!span) return false;
    if (s->packing & OXI_PACK_LOOSE) room -= room / 8;
    int32_t before[2] = {0, 0}, far = STEPS / (s->o->slot_count + 1);
    if (far < FAR) far = FAR;
    oxi_shunt_list_segments(s);
    oxi_shunt_find_idle(s);
    oxi_shunt_want(s);
    for (int32_t j = 0; j < s->o->slot_count && !oxi_shunt_is_late(s, j); j++)
        for (int32_t g = s->loads[j]; g >= 0; g = s->plan->segment[g].next) {
            oxi_shunt_segment *one = &s->plan->segment[g];
            const oxi_shunt_known *k = &s->p->known[one->item];
            int32_t *last = &before[k->on_host || s->p->ring[0] > 0 ? 0 : 1], least = one->block;
            if (s->packing & OXI_PACK_RING && *last > least) least = *last;
            if (least < j - far) least = j - far;
            if (s->o->alone[j] > 2) least = j; /* all of memory is its own */
            if (k->room <= room)
                one->from = oxi_shunt_go_back(s, span, one->from, least, k->room, room - k->room);
            if (one->from > *last) *last = one->from;
        }
    for (int32_t j = s->o->slot_count - 1; j >= 0; j--)
        for (int32_t g = s->loads[j], next; g >= 0; g = next) {
            oxi_shunt_segment *one = &s->plan->segment[g];
            next = one->next;
            one->next = s->issues[one->from]; /* those that are needed earlier come before it */
            s->issues[one->from] = g;
        }
    oxi_shunt_unlist(span, (size_t)s->o->slot_count / OXI_SHUNT_SPAN + 1, sizeof *span);
    return true;
}

/* ---- instructions -------------------------------------------------------------------------------------- */

static double oxi_shunt_time_of(const oxi_shunt_schedule *s, const int32_t *wait) {
    double time = 0;
    for (int lane = 0; lane < OXI_LANES; lane++)
        if (wait[lane] > 0 && s->finish[lane][wait[lane] - 1] > time) time = s->finish[lane][wait[lane] - 1];
    return time;
}

static oxi_shunt_instruction *oxi_shunt_emit(oxi_shunt_schedule *s, int action, int lane, const int32_t *wait,
                                             double seconds) {
    oxi_shunt_plan *plan = s->plan;
    void *grown = oxi_grow(plan->instruction, &plan->instruction_room, (size_t)plan->instruction_count + 1,
                           sizeof *plan->instruction, false);
    if (!grown) return NULL;
    plan->instruction = (oxi_shunt_instruction *)grown;
    oxi_shunt_instruction *in = &plan->instruction[plan->instruction_count++];
    memset(in, 0, sizeof *in);
    in->action = (uint8_t)action;
    in->lane = (uint8_t)lane;
    in->number = plan->lane_count[lane]++;
    memcpy(in->wait, wait, sizeof in->wait);
    in->seconds = seconds;
    in->start = oxi_shunt_time_of(s, in->wait);
    if (s->lane_end[lane] > in->start) in->start = s->lane_end[lane];
    s->lane_end[lane] = s->finish[lane][in->number] = in->start + seconds;
    return in;
}

/* Whether a move brings an item, or a part of the way; else it takes one away. */
static bool oxi_shunt_comes(const oxi_shunt_instruction *in) {
    return in->action == OXI_ACT_LOAD || in->action == OXI_ACT_READ;
}

/* share: of the item's bytes. */
static oxi_shunt_instruction *oxi_shunt_emit_share(oxi_shunt_schedule *s, int action, int lane,
                                                   const int32_t *wait, int32_t segment, double share) {
    int32_t item = s->plan->segment[segment].item, tier = lane == OXI_LANE_DISK;
    const oxi_shunt_known *k = &s->p->known[item];
    bool loads = action == OXI_ACT_LOAD || action == OXI_ACT_READ;
    oxi_shunt_instruction *in =
        oxi_shunt_emit(s, action, lane, wait, share * (loads ? k->load[tier] : k->save[tier]));
    if (!in) return NULL;
    in->item = item;
    in->segment = segment;
    in->ends = true;
    s->plan->takes += share * (loads ? k->load_takes[tier] : k->save_takes[tier]);
    return in;
}

static oxi_shunt_instruction *oxi_shunt_emit_move(oxi_shunt_schedule *s, int action, int lane,
                                                  const int32_t *wait, int32_t segment) {
    return oxi_shunt_emit_share(s, action, lane, wait, segment, 1);
}

static bool oxi_shunt_change_add(oxi_shunt_schedule *s, int32_t item, bool begins, bool dies,
                                 uint64_t place) {
    oxi_shunt_plan *plan = s->plan;
    void *grown = oxi_grow(plan->change, &plan->change_room, (size_t)plan->change_count + 1,
                           sizeof *plan->change, false);
    if (!grown) return false;
    plan->change = (oxi_shunt_change *)grown;
    oxi_shunt_change *c = &plan->change[plan->change_count++];
    c->item = item;
    c->begins = begins;
    c->dies = dies;
    c->place = place;
    return true;
}

/* ---- rings --------------------------------------------------------------------------------------------- */

static bool oxi_shunt_may_stage(const oxi_shunt_schedule *s, int32_t item, bool saves) {
    const oxi_shunt_known *k = &s->p->known[item];
    uint64_t bytes = s->p->ring[saves], room = saves ? k->room : oxi_shunt_tile_room(s->p, k, 0);
    return bytes > 0 && oxi_shunt_ring_room(room) <= bytes;
}

/* Tile t of a load: the disk's part, or the link's. */
static oxi_shunt_instruction *oxi_shunt_emit_tile(oxi_shunt_schedule *s, int action, const int32_t *clock,
                                                  int32_t g, int32_t t, uint64_t ring_at) {
    const oxi_shunt_known *k = &s->p->known[s->plan->segment[g].item];
    int32_t tiles = oxi_shunt_tiles_of(s->p, k);
    int lane = action == OXI_ACT_READ ? OXI_LANE_DISK : OXI_LANE_DOWN;
    uint64_t room = oxi_shunt_tile_room(s->p, k, t);
    double share = tiles > 1 ? (double)room / (double)k->room : 1;
    oxi_shunt_instruction *in = oxi_shunt_emit_share(s, action, lane, clock, g, share);
    if (!in) return NULL;
    in->ring_at = ring_at;
    in->ends = t + 1 == tiles;
    if (tiles > 1) in->from = (uint64_t)t * s->p->tile;
    if (tiles > 1) in->bytes = room;
    return in;
}

/* A load, or the disk's part of it, waits until its item's copy is whole and the item has left the device. */
static void oxi_shunt_wait_away(const oxi_shunt_schedule *s, int32_t g, int32_t *clock) {
    const oxi_shunt_segment *one = &s->plan->segment[g];
    const int32_t *saved = s->saved[one->item];
    if (saved[0] >= 0) clock[saved[0]] = saved[1] + 1;
    if (g > 0 && one[-1].item == one->item) clock[OXI_LANE_COMPUTE] = one[-1].last + 1;
}

/* The disk's part of a load: its next tile. */
static bool oxi_shunt_emit_read(oxi_shunt_schedule *s, int32_t g) {
    int32_t clock[OXI_LANES] = {0, 0, 0, 0}, i = s->plan->segment[g].item, t = s->plan->segment[g].read;
    uint64_t room = oxi_shunt_ring_room(oxi_shunt_tile_room(s->p, &s->p->known[i], t));
    oxi_shunt_wait_away(s, g, clock);
    int32_t entry = oxi_shunt_ring_take(&s->ring[0], room, &clock[OXI_LANE_DOWN]);
    if (entry < 0) return false;
    const oxi_shunt_instruction *in =
        oxi_shunt_emit_tile(s, OXI_ACT_READ, clock, g, t, s->ring[0].entry[entry].at);
    if (!in) return false;
    s->ring[0].entry[entry].there = in->number + 1;
    if (t == 0) s->plan->segment[g].entry = entry;
    s->plan->segment[g].read++;
    return true;
}

/* Reads go ahead of their loads as far as the ring has room: they want no place on the device. In the order
 * of the loads, so that a load whose turn it is has its read, or finds the ring empty. */
static void oxi_shunt_read_ahead(oxi_shunt_schedule *s) {
    while (s->p->ring[0] > 0 && s->read_slot < s->o->slot_count) {
        int32_t g = s->read_segment;
        if (g < 0) g = s->read_segment = s->issues[s->read_slot];
        if (g < 0) {
            s->read_slot++;
            continue;
        }
        const oxi_shunt_segment *one = &s->plan->segment[g];
        bool first = g == 0 || one[-1].item != one->item;
        if (!one->begun) {
            if (!first && !one[-1].over) return; /* who knows where it will wait */
            int32_t tiles = oxi_shunt_tiles_of(s->p, &s->p->known[one->item]);
            if (s->tier[one->item] != 2 || !oxi_shunt_may_stage(s, one->item, false)) tiles = 0;
            while (one->read < tiles)
                if (!oxi_shunt_emit_read(s, g)) return;
        }
        s->read_segment = s->plan->segment[g].next;
        s->read_slot += s->read_segment < 0;
    }
}

/* All tiles of a load, each behind its read. */
static bool oxi_shunt_emit_tiles(oxi_shunt_schedule *s, int32_t g, int32_t *clock) {
    oxi_shunt_segment *one = &s->plan->segment[g];
    int32_t tiles = oxi_shunt_tiles_of(s->p, &s->p->known[one->item]);
    for (int32_t t = 0; t < tiles; t++) {
        if (one->read == t && !oxi_shunt_emit_read(s, g)) return false;
        oxi_shunt_ring_entry *entry = &s->ring[0].entry[one->entry + t];
        if (entry->there > clock[OXI_LANE_DISK]) clock[OXI_LANE_DISK] = entry->there;
        oxi_shunt_instruction *in = oxi_shunt_emit_tile(s, OXI_ACT_LOAD, clock, g, t, entry->at);
        if (!in) return false;
        in->staged = true;
        entry->over = in->number + 1;
    }
    return true;
}

static bool oxi_shunt_emit_load(oxi_shunt_schedule *s, int32_t g) {
    int32_t clock[OXI_LANES] = {0, 0, 0, 0};
    oxi_shunt_segment *one = &s->plan->segment[g];
    int32_t i = one->item;
    bool staged = s->tier[i] == 2 && oxi_shunt_may_stage(s, i, false);
    oxi_shunt_wait_away(s, g, clock);
    int lane = s->tier[i] == 1 || staged ? OXI_LANE_DOWN : OXI_LANE_DISK;
    if (!oxi_shunt_take_place(s, s->lane_end[lane], one, clock)) return false;
    if (staged ? !oxi_shunt_emit_tiles(s, g, clock)
               : !oxi_shunt_emit_move(s, OXI_ACT_LOAD, lane, clock, g))
        return false;
    one->lane = (uint8_t)lane;
    one->begun = true;
    one->block = s->plan->lane_count[lane]; /* what its first node waits for */
    s->segment_of[i] = g;
    return true;
}

static bool oxi_shunt_emit_node(oxi_shunt_schedule *s, int32_t slot) {
    int32_t clock[OXI_LANES] = {0, 0, 0, 0}, node = s->o->slot[slot], first = s->plan->change_count;
    for (int32_t g = s->defines[slot]; g >= 0; g = s->plan->segment[g].next) {
        oxi_shunt_segment *one = &s->plan->segment[g];
        if (!oxi_shunt_take_place(s, s->lane_end[OXI_LANE_COMPUTE], one, clock) ||
            !oxi_shunt_change_add(s, one->item, true, false, one->place))
            return false;
        s->segment_of[one->item] = g;
    }
    for (int32_t t = s->p->first[node]; t < s->p->first[node + 1]; t++) {
        int32_t i = s->p->touch[t].item, g = s->segment_of[i];
        if (g >= 0 && s->plan->segment[g].loads && s->plan->segment[g].first == slot) {
            int lane = s->plan->segment[g].lane;
            if (s->plan->segment[g].block > clock[lane]) clock[lane] = s->plan->segment[g].block;
        }
        if (s->p->known[i].small) continue;
        if (!s->p->touch[t].writes) continue;
        if (s->tier[i] == 1) s->host_left += s->p->known[i].room;
        s->tier[i] = 0;
        oxi_shunt_spill_set(s, i, 0);
    }
    oxi_shunt_instruction *in = oxi_shunt_emit(s, OXI_ACT_NODE, OXI_LANE_COMPUTE, clock, s->p->seconds[node]);
    if (!in) return false;
    in->node = node;
    in->slot = slot;
    in->first = first;
    return true;
}

/* To the disk through the ring; the place is free when the bytes are there. */
static bool oxi_shunt_emit_save(oxi_shunt_schedule *s, int32_t g, int32_t *clock, double now) {
    int32_t i = s->plan->segment[g].item, written[OXI_LANES] = {0, 0, 0, 0};
    int32_t entry =
        oxi_shunt_ring_take(&s->ring[1], oxi_shunt_ring_room(s->p->known[i].room), &clock[OXI_LANE_DISK]);
    if (entry < 0) return false;
    oxi_shunt_instruction *in = oxi_shunt_emit_move(s, OXI_ACT_SAVE, OXI_LANE_UP, clock, g);
    if (!in) return false;
    in->staged = true;
    in->ring_at = s->ring[1].entry[entry].at;
    clock[OXI_LANE_UP] = written[OXI_LANE_UP] = in->number + 1;
    double free_at = s->lane_end[OXI_LANE_UP];
    in = oxi_shunt_emit_move(s, OXI_ACT_WRITE, OXI_LANE_DISK, written, g);
    if (!in) return false;
    in->ring_at = s->ring[1].entry[entry].at;
    s->ring[1].entry[entry].over = in->number + 1;
    s->tier[i] = 2;
    oxi_shunt_spill_set(s, i, s->p->known[i].spill);
    s->saved[i][0] = OXI_LANE_DISK;
    s->saved[i][1] = in->number;
    oxi_shunt_leave_place(s, i, clock, free_at, now);
    return true;
}

static bool oxi_shunt_emit_end(oxi_shunt_schedule *s, int32_t g) {
    int32_t clock[OXI_LANES] = {0, 0, 0, 0};
    oxi_shunt_segment *one = &s->plan->segment[g];
    const oxi_shunt_known *k = &s->p->known[one->item];
    if (one->stays) return true;
    one->over = true;
    clock[OXI_LANE_COMPUTE] = s->plan->lane_count[OXI_LANE_COMPUTE];
    double free_at = s->lane_end[OXI_LANE_COMPUTE], now = free_at;
    bool caches =
        k->caches && !one->dirty && !one->dies && s->tier[one->item] == 2 && k->room <= s->host_left;
    if (one->saves || caches) {
        bool host = k->room <= s->host_left;
        if (!host && oxi_shunt_may_stage(s, one->item, true)) return oxi_shunt_emit_save(s, g, clock, now);
        int lane = host ? OXI_LANE_UP : OXI_LANE_DISK;
        oxi_shunt_instruction *in = oxi_shunt_emit_move(s, OXI_ACT_SAVE, lane, clock, g);
        if (!in) return false;
        if (host) s->host_left -= k->room;
        if (!host) oxi_shunt_spill_set(s, one->item, k->spill);
        s->tier[one->item] = host ? 1 : 2;
        s->saved[one->item][0] = lane;
        s->saved[one->item][1] = in->number;
        clock[lane] = in->number + 1;
        free_at = s->lane_end[lane];
    } else {
        if (!oxi_shunt_change_add(s, one->item, false, one->dies, one->place)) return false;
        if (one->dies && s->tier[one->item] == 1) s->host_left += k->room;
        if (one->dies) oxi_shunt_spill_set(s, one->item, 0);
    }
    oxi_shunt_leave_place(s, one->item, clock, free_at, now);
    return true;
}

/* Small items that the step gives up. */
static bool oxi_shunt_emit_deaths(oxi_shunt_schedule *s, int32_t slot) {
    const oxi_shunt_order *o = s->o;
    for (int32_t k = o->from[slot]; k < o->from[slot + 1]; k++) {
        int32_t i = s->p->touch[s->p->first[o->slot[slot]] + k - o->from[slot]].item;
        if (!s->p->known[i].small || s->p->known[i].held || o->access[k] + 1 < o->first[i + 1]) continue;
        if (!oxi_shunt_change_add(s, i, false, true, 0)) return false;
    }
    return true;
}

/* Whether it takes too long already, whatever is to come behind slot j. */
static bool oxi_shunt_takes_too_long(const oxi_shunt_schedule *s, int32_t j) {
    const double *start = s->o->start, most = s->plan->most;
    double end = s->lane_end[OXI_LANE_COMPUTE] + start[s->o->slot_count] - start[j + 1];
    if (most <= 0) return false;
    for (int lane = OXI_LANE_UP; lane < OXI_LANES; lane++)
        if (s->lane_end[lane] > end) end = s->lane_end[lane];
    return end + s->plan->takes >= most;
}

/* A slot in which there was no place; whether the walk goes on behind it, to find the others. Those that come
 * before all of memory has been used again are no others: a slot that is cleared makes room for them. Where
 * there are very many, clearing them leaves nothing of the way. */
static bool oxi_shunt_note_crowded(oxi_shunt_schedule *s, int32_t j) {
    enum { MOST = 16, ONE_IN = 128 };
    bool other = s->plan->crowded < 0 || s->placed > s->p->capacity - s->plan->pinned_bytes;
    if (s->plan->crowded < 0) s->plan->crowded = j;
    if (other) s->o->crowded[j] = 1;
    if (other) s->placed = 0;
    s->crowded = false;
    if (++s->crowds > MOST + s->o->slot_count / ONE_IN) s->plan->crowded = -1;
    return s->o->access_count > OXI_SHUNT_FEW && s->plan->crowded >= 0;
}

static bool oxi_shunt_emit_slot(oxi_shunt_schedule *s, int32_t j) {
    s->tight = s->packing & OXI_PACK_TIGHT || s->o->alone[j];
    for (int32_t g = s->issues[j]; g >= 0; g = s->plan->segment[g].next)
        if (!oxi_shunt_emit_load(s, g)) return false;
    if (!oxi_shunt_emit_node(s, j)) return false;
    int32_t node = s->plan->instruction_count - 1; /* the list may move */
    if (!oxi_shunt_emit_deaths(s, j)) return false;
    for (int32_t g = s->ends[j]; g >= 0; g = s->plan->segment[g].next_end)
        if (!oxi_shunt_emit_end(s, g)) return false;
    oxi_shunt_spill_note(s);
    oxi_shunt_read_ahead(s);
    s->plan->instruction[node].count = s->plan->change_count - s->plan->instruction[node].first;
    return true;
}

/* False: somewhere there is no place, or no memory, or it takes too long. */
static bool oxi_shunt_emit_all(oxi_shunt_schedule *s) {
    oxi_shunt_read_ahead(s);
    for (int32_t j = 0; j < s->o->slot_count; j++) {
        bool emitted = oxi_shunt_emit_slot(s, j);
        if (s->crowded && (!oxi_shunt_note_crowded(s, j) || !emitted)) return false;
        if (!emitted) return false;
        if (oxi_shunt_takes_too_long(s, j) || oxi_shunt_is_late(s, j)) {
            s->plan->crowded = -1;
            return false;
        }
    }
    return s->plan->crowded < 0;
}

/* ---- one try ------------------------------------------------------------------------------------------- */

static bool oxi_shunt_schedule_open(oxi_shunt_schedule *s) {
    size_t slots = (size_t)s->o->slot_count + 1, items = (size_t)s->p->item_count;
    s->finish_room = 2 * ((size_t)s->o->access_count + slots);
    for (size_t i = 0; i < items && s->p->ring[0] > 0; i++) {
        size_t uses = (size_t)(s->o->first[i + 1] - s->o->first[i]);
        s->finish_room += uses * (size_t)(oxi_shunt_tiles_of(s->p, &s->p->known[i]) - 1);
    }
    s->used = (uint64_t *)oxi_shunt_list(slots, sizeof *s->used);
    s->loads = (int32_t *)oxi_shunt_list(4 * slots, sizeof *s->loads);
    s->segment_of = (int32_t *)oxi_shunt_list(2 * items, sizeof *s->segment_of);
    s->tier = (uint8_t *)oxi_shunt_list(items, 1);
    s->saved = (int32_t(*)[2])oxi_shunt_list(items, sizeof *s->saved);
    for (int lane = 0; lane < OXI_LANES; lane++) {
        s->finish[lane] = (double *)oxi_alloc(s->finish_room * sizeof **s->finish);
        if (!s->finish[lane]) return false;
    }
    if (!s->used || !s->loads || !s->segment_of || !s->tier || !s->saved) return false;
    s->block_of = s->segment_of + items;
    s->issues = s->loads + slots;
    s->defines = s->issues + slots;
    s->ends = s->defines + slots;
    for (size_t j = 0; j < 4 * slots; j++) s->loads[j] = -1;
    for (size_t i = 0; i < items; i++) {
        s->segment_of[i] = s->block_of[i] = s->saved[i][0] = -1;
        s->tier[i] = s->p->known[i].had ? (s->p->known[i].on_host ? 1 : 2) : 0;
    }
    s->by_time = !(s->packing & (OXI_PACK_ENDS | OXI_PACK_TIGHT));
    s->spare = -1;
    for (int bin = 0; bin < OXI_SHUNT_BINS; bin++) s->bin[bin] = -1;
    if (oxi_shunt_block_new(s, -1, -1) < 0) return false;
    s->block->place = s->plan->pinned_bytes;
    s->block->bytes = s->p->capacity - s->plan->pinned_bytes;
    oxi_shunt_block_open(s, 0);
    s->host_left = s->p->host_room;
    s->read_segment = -1;
    for (int k = 0; k < 2; k++) s->ring[k].bytes = s->p->ring[k];
    return oxi_shunt_spill_open(s);
}

static void oxi_shunt_schedule_close(oxi_shunt_schedule *s) {
    size_t slots = (size_t)s->o->slot_count + 1, items = (size_t)s->p->item_count;
    oxi_shunt_reserve_end(s);
    oxi_shunt_unlist(s->used, slots, sizeof *s->used);
    if (s->idle) oxi_shunt_unlist(s->idle, slots, sizeof *s->idle);
    oxi_shunt_unlist(s->loads, 4 * slots, sizeof *s->loads);
    oxi_shunt_unlist(s->segment_of, 2 * items, sizeof *s->segment_of);
    oxi_shunt_unlist(s->tier, items, 1);
    oxi_shunt_unlist(s->saved, items, sizeof *s->saved);
    if (s->spilled) oxi_shunt_unlist(s->spilled, items, sizeof *s->spilled);
    for (int lane = 0; lane < OXI_LANES; lane++)
        oxi_free(s->finish[lane], s->finish_room * sizeof **s->finish);
    oxi_free(s->block, s->block_room * sizeof *s->block);
    for (int k = 0; k < 2; k++) oxi_free(s->ring[k].entry, s->ring[k].room * sizeof *s->ring[k].entry);
}

/* Fills the plan's lists and `simulated`. False: it does not fit. */
static bool oxi_shunt_schedule_run(const oxi_shunt_problem *p, const oxi_shunt_order *o, const uint8_t *keep,
                                   uint64_t pinned_bytes, int packing, oxi_shunt_plan *plan) {
    oxi_shunt_schedule s;
    memset(&s, 0, sizeof s);
    s.p = p;
    s.o = o;
    s.keep = keep;
    s.plan = plan;
    s.packing = packing;
    plan->instruction_count = plan->change_count = plan->segment_count = 0;
    memset(plan->lane_count, 0, sizeof plan->lane_count);
    plan->peak = plan->pinned_bytes = pinned_bytes;
    plan->simulated = plan->takes = 0;
    plan->over = 0;
    plan->crowded = -1;
    memset(o->crowded, 0, (size_t)o->slot_count);
    bool fits = oxi_shunt_schedule_open(&s) && oxi_shunt_segments(&s);
    fits = fits && oxi_shunt_prefetch(&s);
    if (fits && s.idle) oxi_shunt_reserve(&s);
    fits = fits && oxi_shunt_emit_all(&s);
    for (int lane = 0; lane < OXI_LANES; lane++)
        if (s.lane_end[lane] > plan->simulated) plan->simulated = s.lane_end[lane];
    for (int k = 0; k < 2; k++) plan->ring[k] = s.ring[k].count > 0 ? p->ring[k] : 0;
    oxi_shunt_schedule_close(&s);
    return fits;
}
