/* The disk's lane. It works ahead of itself: the next moves are begun while one is still under way, and
 * pinned items that are not there yet come in between by their first use. Ends are in order. When it has done
 * its part of a step that repeats, it begins the next one's. */

typedef struct oxi_shunt_disk_work {
    const oxi_shunt_instruction *in; /* NULL: a pinned item that is late */
    int32_t item;
    oxi_shunt_flight own, *flight;   /* flight: own, or one that was begun ahead of the step */
} oxi_shunt_disk_work;

typedef struct oxi_shunt_disk_lane {
    oxi_shunt_replay *r;
    oxi_shunt_disk_work work[OXI_SHUNT_TILES];
    int most;         /* moves under way at once */
    int64_t begun, over;
    int32_t at, late; /* the next instruction, and pinned item */
} oxi_shunt_disk_lane;

typedef enum oxi_shunt_standing {
    OXI_STANDING_WAITS,
    OXI_STANDING_GOES,
    OXI_STANDING_FAILED
} oxi_shunt_standing;

/* Whether an instruction, or with NULL what waits for nothing, may begin. */
static oxi_shunt_standing oxi_shunt_standing_of(oxi_shunt_replay *r, const oxi_shunt_instruction *in) {
    oxi_shunt_replay_take(r);
    oxi_shunt_standing standing = r->failed                        ? OXI_STANDING_FAILED
                                  : !in || oxi_shunt_is_due(r, in) ? OXI_STANDING_GOES
                                                                   : OXI_STANDING_WAITS;
    oxi_shunt_replay_give(r);
    return standing;
}

static bool oxi_shunt_may_go(oxi_shunt_replay *r, const oxi_shunt_instruction *in) {
    return oxi_shunt_standing_of(r, in) == OXI_STANDING_GOES;
}

static void oxi_shunt_work_end(oxi_shunt_disk_lane *d) {
    oxi_shunt_disk_work *w = &d->work[d->over++ % OXI_SHUNT_TILES];
    ox_shunt *s = d->r->s;
    oxi_shunt_item *item = s->table[w->item];
    ox_status status = OX_OK;
    if (w->flight->stream)
        status = oxi_shunt_by_ring(w->in) ? oxi_shunt_ring_end(s, item, w->in, w->flight)
                                          : oxi_shunt_move_end(s, item, w->flight);
    if (status == OX_OK && w->in && w->in->action == OXI_ACT_SAVE) oxi_shunt_leave(s, item, false);
    if (w->in)
        oxi_shunt_done(d->r, OXI_LANE_DISK, status);
    else
        oxi_shunt_late_over(d->r, w->item, status);
}

/* Begins a move that needs no more than the disk. */
static ox_status oxi_shunt_work_go(oxi_shunt_disk_lane *d, oxi_shunt_disk_work *w) {
    ox_shunt *s = d->r->s;
    oxi_shunt_item *item = s->table[w->item];
    ox_status status = OX_OK;
    if (w->in && w->in->number < s->ahead_count) {
        w->flight = &s->ahead[w->in->number];
        return OX_OK;
    }
    if (oxi_shunt_by_ring(w->in)) {
        oxi_shunt_ring_begin(s, item, w->in, w->flight);
        return OX_OK;
    }
    if (w->in && w->in->action == OXI_ACT_SAVE)
        return oxi_shunt_has_copy(item) ? OX_OK : oxi_shunt_save_begin(s, item, w->flight);
    if (w->in)
        status = item->failed ? oxi_shunt_lost(s)
                              : oxi_shunt_put_at(s, item, d->r->plan->segment[w->in->segment].place);
    if (status == OX_OK) oxi_shunt_load_begin(s, item, w->flight);
    return status;
}

/* What is no plain move is done at once, after all that was begun. */
static void oxi_shunt_work_begin(oxi_shunt_disk_lane *d, const oxi_shunt_instruction *in, int32_t i) {
    oxi_shunt_replay *r = d->r;
    ox_shunt *s = r->s;
    oxi_shunt_item *item = s->table[i];
    bool saves = in && in->action == OXI_ACT_SAVE;
    bool plain =
        !saves ? oxi_shunt_loads_plainly(s, item) && !item->ahead
               : !r->plan->known[i].caches && (oxi_shunt_has_copy(item) || oxi_shunt_saves_plainly(s, item));
    plain = plain || oxi_shunt_by_ring(in);
    ox_status status = OX_OK;
    if (plain) {
        oxi_shunt_disk_work *w = &d->work[d->begun % OXI_SHUNT_TILES];
        memset(w, 0, sizeof *w);
        w->in = in;
        w->item = i;
        w->flight = &w->own;
        status = oxi_shunt_work_go(d, w);
        d->begun += status == OX_OK;
        if (status == OX_OK) return;
    }
    while (d->over < d->begun) oxi_shunt_work_end(d);
    if (!plain) status = in ? oxi_shunt_do(r, in) : oxi_shunt_load(s, item);
    if (in)
        oxi_shunt_done(r, OXI_LANE_DISK, status);
    else
        oxi_shunt_late_over(r, i, status);
}

/* The next thing to begin: a late item unless an instruction is needed before it and may begin. False: there
 * is nothing, or not yet. */
static bool oxi_shunt_disk_next(oxi_shunt_disk_lane *d, const oxi_shunt_instruction **in, int32_t *item) {
    oxi_shunt_replay *r = d->r;
    const oxi_shunt_plan *plan = r->plan;
    while (d->at < plan->instruction_count && plan->instruction[d->at].lane != OXI_LANE_DISK) d->at++;
    *in = d->at < plan->instruction_count ? &plan->instruction[d->at] : NULL;
    bool late = d->late < r->late_count;
    if (late && *in) {
        int32_t needed = oxi_shunt_comes(*in) ? plan->segment[(*in)->segment].first : 0;
        late = r->late_slot[d->late] <= needed || !oxi_shunt_may_go(r, *in);
    }
    if (late) *in = NULL;
    if (!late && !*in) return false;
    *item = late ? r->late[d->late] : (*in)->item;
    return oxi_shunt_may_go(r, *in);
}

/* ---- ahead of the next step ---------------------------------------------------------------------------- */

/* How far computing has to be until no node wants bytes of a place any more. */
static int32_t oxi_shunt_free_after(const oxi_shunt_plan *plan, uint64_t place, uint64_t room) {
    int32_t last = 0;
    for (int32_t g = 0; g < plan->segment_count; g++) {
        const oxi_shunt_segment *one = &plan->segment[g];
        bool apart = one->place >= place + room || place >= one->place + plan->known[one->item].room;
        if (!apart && one->last + 1 > last) last = one->last + 1;
    }
    return last;
}

/* Until computing is so far, with the moves that were begun. False: the step has failed. */
static bool oxi_shunt_meanwhile(oxi_shunt_replay *r, int32_t slots, oxi_shunt_item *const *begun, int count) {
    oxi_shunt_instruction in;
    memset(&in, 0, sizeof in);
    in.wait[OXI_LANE_COMPUTE] = slots;
    for (int i = 0; i < count && oxi_shunt_standing_of(r, &in) == OXI_STANDING_WAITS;)
        if (oxi_shunt_flight_step(begun[i]->flight)) i++;
    return oxi_shunt_await(r, &in, OXI_LANE_DISK);
}

/* Whether the item's place has nobody's bytes; those that are saved leave when they are. */
static bool oxi_shunt_place_is_free(ox_shunt *s, const oxi_shunt_item *item, uint64_t place) {
    oxi_stream_take(&s->tiers);
    bool is_free = oxi_shunt_is_free_for(s, item, place);
    oxi_stream_give(&s->tiers);
    return is_free;
}

/* The disk has done its part of the step, and the program is likely to run the same one again: the first
 * loads of that, which wait for nothing there, begin as soon as their places are free. The step does not wait
 * for their end. */
static void oxi_shunt_run_ahead(oxi_shunt_replay *r) {
    ox_shunt *s = r->s;
    const oxi_shunt_plan *plan = r->plan;
    oxi_shunt_item *begun[OXI_SHUNT_AHEAD];
    int count = 0;
    for (int32_t k = 0; k < plan->instruction_count && count < OXI_SHUNT_AHEAD; k++) {
        const oxi_shunt_instruction *in = &plan->instruction[k];
        if (in->lane != OXI_LANE_DISK) continue;
        oxi_shunt_item *item = s->table[in->item];
        bool waits = in->action != OXI_ACT_LOAD;
        for (int lane = 0; lane < OXI_LANES; lane++) waits = waits || in->wait[lane] > 0;
        if (waits || s->ahead[count].stream) return;
        if (!item->held || !item->again) continue; /* it is of this step alone */
        uint64_t place = plan->segment[in->segment].place, room = plan->known[in->item].room;
        if (!oxi_shunt_meanwhile(r, oxi_shunt_free_after(plan, place, room), begun, count)) return;
        if (item->storage || !oxi_shunt_loads_plainly(s, item) || !oxi_shunt_place_is_free(s, item, place))
            continue;
        if (oxi_shunt_put_at(s, item, place) != OX_OK) {
            ox_error_clear();
            return;
        }
        oxi_shunt_load_begin(s, item, &s->ahead[count]);
        s->ahead[count].unwatched = true;
        item->flight = &s->ahead[count];
        item->ahead = plan->number;
        item->ahead_index = in->item;
        begun[count++] = item;
    }
    (void)oxi_shunt_meanwhile(r, plan->lane_count[OXI_LANE_COMPUTE], begun, count);
}

/* The same behind a ring, once the step is over: the next one's first reads, as far as they wait for nothing
 * there. */
static void oxi_shunt_read_next(oxi_shunt_replay *r) {
    ox_shunt *s = r->s;
    const oxi_shunt_plan *plan = r->plan;
    oxi_shunt_instruction in;
    memset(&in, 0, sizeof in);
    memcpy(in.wait, plan->lane_count, sizeof in.wait);
    if (!oxi_shunt_await(r, &in, OXI_LANE_DISK)) return;
    for (int32_t k = 0; k < plan->instruction_count && s->ahead_count < OXI_SHUNT_AHEAD; k++) {
        const oxi_shunt_instruction *next = &plan->instruction[k];
        oxi_shunt_flight *flight = &s->ahead[s->ahead_count];
        if (next->lane != OXI_LANE_DISK) continue;
        oxi_shunt_item *item = s->table[next->item];
        bool waits = next->action != OXI_ACT_READ;
        for (int lane = 0; lane < OXI_LANES; lane++) waits = waits || next->wait[lane] > 0;
        if (waits || !item->held || !item->again || flight->stream) return;
        oxi_shunt_ring_begin(s, item, next, flight);
        if (!flight->stream) return;
        flight->unwatched = true;
        s->ahead_plan = plan->number;
        s->ahead_item[s->ahead_count++] = item;
    }
}

static void oxi_shunt_disk_run(oxi_shunt_replay *r) {
    oxi_shunt_disk_lane d;
    const oxi_shunt_instruction *in = NULL;
    int32_t item = 0;
    memset(&d, 0, sizeof d);
    d.r = r;
    d.most = oxi_shunt_flights_of(r->plan);
    for (;;) {
        bool goes = d.begun - d.over < d.most && oxi_shunt_disk_next(&d, &in, &item);
        if (goes) {
            d.late += in == NULL;
            d.at += in != NULL;
            oxi_shunt_work_begin(&d, in, item);
        } else if (d.over < d.begun) { /* a request at a time: the next load may be due meanwhile */
            oxi_shunt_disk_work *first = &d.work[d.over % OXI_SHUNT_TILES];
            if (!first->flight->stream || oxi_shunt_flight_step(first->flight)) oxi_shunt_work_end(&d);
        } else if (oxi_shunt_has_failed(r) || (!in && d.late == r->late_count) ||
                   !oxi_shunt_await(r, in, OXI_LANE_DISK)) {
            break;
        }
    }
    if (oxi_shunt_has_failed(r)) return;
    r->s->ahead_count = 0;
    if (r->repeats && r->plan->ring[0] > 0)
        oxi_shunt_read_next(r);
    else if (r->repeats)
        oxi_shunt_run_ahead(r);
}
