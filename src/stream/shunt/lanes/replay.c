/* Carries a plan out. A thread a lane goes through its instructions in order; each begins when all lanes are
 * as far as its clock says. The compute lane is the thread that asked for the step. Where a lane gets no
 * thread, all are done in the plan's order, which is one that the clocks allow. What is pinned and not there
 * yet is loaded ahead of everything else, in the order of its use. */

typedef struct oxi_shunt_replay {
    ox_shunt *s;
    const oxi_shunt_plan *plan;
    int64_t done[OXI_LANES];                            /* instructions that are over */
    const oxi_shunt_instruction *sleeps_for[OXI_LANES]; /* what a lane waits to begin; NULL: it does not */
    double due_at[OXI_LANES];  /* when that was due: who made it so has woken the lane */
    double waited, busy;       /* seconds of the compute lane */
    int32_t *late, late_count; /* pinned items that are not there when the step begins, by their first use; */
    int32_t *late_slot;        /* that use */
    bool *awaited;             /* of items: those, until they are */
    bool failed, alone;        /* alone: no thread but this one */
    bool repeats;              /* the step before went by the same plan: the next one may */
    oxi_error error;
    bool *ran;
} oxi_shunt_replay;

#ifdef OX_NO_THREADS
static void oxi_shunt_replay_take(oxi_shunt_replay *r) {
    (void)r;
}
static void oxi_shunt_replay_give(oxi_shunt_replay *r) {
    (void)r;
}
static void oxi_shunt_replay_wait(oxi_shunt_replay *r, int lane) {
    (void)r, (void)lane;
}
static void oxi_shunt_replay_wake(oxi_shunt_replay *r, int lane) {
    (void)r, (void)lane;
}
#else
static void oxi_shunt_replay_take(oxi_shunt_replay *r) {
    if (!r->alone) oxi_mutex_take(&r->s->crew->mutex);
}
static void oxi_shunt_replay_give(oxi_shunt_replay *r) {
    if (!r->alone) oxi_mutex_give(&r->s->crew->mutex);
}
static void oxi_shunt_replay_wait(oxi_shunt_replay *r, int lane) {
    if (!r->alone) oxi_condition_wait(&r->s->crew->moved[lane], &r->s->crew->mutex);
}
static void oxi_shunt_replay_wake(oxi_shunt_replay *r, int lane) {
    if (!r->alone) oxi_condition_wake(&r->s->crew->moved[lane]);
}
#endif

/* ---- one instruction ----------------------------------------------------------------------------------- */

static bool oxi_shunt_is_due(const oxi_shunt_replay *r, const oxi_shunt_instruction *in) {
    for (int lane = 0; lane < OXI_LANES; lane++)
        if (r->done[lane] < in->wait[lane]) return false;
    return true;
}

/* Until its clock allows it; false: the step has failed. */
static bool oxi_shunt_await(oxi_shunt_replay *r, const oxi_shunt_instruction *in, int lane) {
    double start = 0, now = 0;
    oxi_shunt_replay_take(r);
    if (!r->failed && !r->alone && !oxi_shunt_is_due(r, in)) {
        start = oxi_now();
        r->sleeps_for[lane] = in;
        while (!r->failed && !oxi_shunt_is_due(r, in)) oxi_shunt_replay_wait(r, lane);
        r->sleeps_for[lane] = NULL;
        now = oxi_now();
    }
    bool goes_on = !r->failed;
    if (now > 0 && goes_on)
        oxi_shunt_figure_note(&r->s->rates.wake[lane], r->s->stats.steps, now - r->due_at[lane], 1);
    if (lane == OXI_LANE_COMPUTE) r->waited += now - start;
    oxi_shunt_replay_give(r);
    return goes_on;
}

/* Something has moved: lanes whose instruction is due now, and all of a step that has failed. */
static void oxi_shunt_wake_due(oxi_shunt_replay *r) {
    for (int lane = 0; lane < OXI_LANES; lane++) {
        const oxi_shunt_instruction *in = r->sleeps_for[lane];
        bool due = in && oxi_shunt_is_due(r, in);
        if (due) r->due_at[lane] = oxi_now();
        if (due || r->failed) oxi_shunt_replay_wake(r, lane);
    }
}

static bool oxi_shunt_has_failed(oxi_shunt_replay *r) {
    oxi_shunt_replay_take(r);
    bool failed = r->failed;
    oxi_shunt_replay_give(r);
    return failed;
}

static void oxi_shunt_done(oxi_shunt_replay *r, int lane, ox_status status) {
    oxi_shunt_replay_take(r);
    if (status == OX_OK)
        r->done[lane]++;
    else if (!r->failed)
        oxi_error_move(&r->error);
    if (status != OX_OK) r->failed = true;
    oxi_shunt_wake_due(r);
    oxi_shunt_replay_give(r);
}

/* Off the device without a copy. dies: nor anywhere else. */
static void oxi_shunt_leave(ox_shunt *s, oxi_shunt_item *item, bool dies) {
    if (item->storage) oxi_shunt_resident_remove(s, item);
    oxi_shunt_device_drop(s, item);
    if (!dies) return;
    oxi_shunt_host_drop(s, item);
    oxi_shunt_disk_drop(item);
}

/* It came when the step before ended, or is under way. */
static bool oxi_shunt_is_ahead(const oxi_shunt_plan *plan, const oxi_shunt_item *item) {
    return item->ahead == plan->number && (item->valid || item->flight);
}

static ox_status oxi_shunt_do_load(oxi_shunt_replay *r, const oxi_shunt_instruction *in) {
    ox_shunt *s = r->s;
    oxi_shunt_item *item = s->table[in->item];
    if (item->failed) return oxi_shunt_lost(s);
    if (oxi_shunt_is_ahead(r->plan, item)) {
        oxi_shunt_land(s, item);
        if (item->valid) return OX_OK;
        oxi_shunt_leave(s, item, false);
    }
    uint64_t place = r->plan->segment[in->segment].place;
    if (in->from > 0) return oxi_shunt_load_tile(s, item, in);
    bool there = item->host && item->packed == OX_COMPRESSION_NONE && !item->valid;
    if (there && oxi_shunt_may_lend(s, r->plan->known[in->item].kind))
        return oxi_shunt_lend_at(s, item, place);
    ox_status status = oxi_shunt_put_at(s, item, place);
    if (status != OX_OK) return status;
    if (in->bytes > 0) return oxi_shunt_load_tile(s, item, in);
    return item->staged ? oxi_shunt_load_staged(s, item) : oxi_shunt_load(s, item);
}

/* What the plan sends to the disk takes no room on the host from others. */
static ox_status oxi_shunt_do_save(oxi_shunt_replay *r, const oxi_shunt_instruction *in) {
    ox_shunt *s = r->s;
    oxi_shunt_item *item = s->table[in->item];
    const bool far = !s->compute->host && in->lane == OXI_LANE_DISK && !oxi_shunt_packs(s, item);
    ox_status status = OX_OK;
    if (r->plan->known[in->item].caches) oxi_shunt_cache(s, item);
    if (in->staged)
        status = oxi_shunt_save_staged(s, item, in->ring_at);
    else if (!far)
        status = oxi_shunt_save(s, item);
    else if (oxi_shunt_is_bare(item)) {
        oxi_storage_plain(item->storage);
        status = oxi_shunt_save_far(s, item);
    }
    if (status == OX_OK) oxi_shunt_leave(s, item, false);
    return status;
}

/* The small items of a node, and pinned ones on their way. */
static ox_status oxi_shunt_gather(oxi_shunt_replay *r, const oxi_shunt_node *node) {
    ox_shunt *s = r->s;
    s->node_clock++;
    for (int i = 0; i < node->in_count + node->out_count; i++)
        if (node->operand[i].item) node->operand[i].item->protects = s->node_clock;
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        const oxi_shunt_operand *o = &node->operand[i];
        bool reads = i < node->in_count || !o->covers;
        if (!o->item) continue;
        if (r->late_count > 0) {
            double start = oxi_now();
            oxi_shunt_replay_take(r);
            while (r->awaited[o->item->index] && !r->failed) oxi_shunt_replay_wait(r, OXI_LANE_COMPUTE);
            r->waited += oxi_now() - start;
            bool failed = r->failed;
            oxi_shunt_replay_give(r);
            if (failed) return OX_ERR_IO; /* the error is there */
        }
        if (o->item->failed && reads) return oxi_shunt_lost(s);
        o->item->used_at = s->node_clock;
        if (!o->item->small) continue;
        ox_status status = oxi_shunt_bring(s, o->item, reads);
        if (status == OX_ERR_NOMEM && ox_error() == OX_OK) status = oxi_shunt_too_large(s, node);
        if (status != OX_OK) return status;
    }
    return OX_OK;
}

static ox_status oxi_shunt_do_node(oxi_shunt_replay *r, const oxi_shunt_instruction *in) {
    ox_shunt *s = r->s;
    const oxi_shunt_node *node = s->nodes[in->node];
    const oxi_shunt_change *changes = r->plan->change + in->first;
    bool clean = ox_error() == OX_OK;
    ox_status status = OX_OK;
    for (int32_t c = 0; c < in->count && status == OX_OK; c++)
        if (changes[c].begins) status = oxi_shunt_put_at(s, s->table[changes[c].item], changes[c].place);
    if (status == OX_OK) status = oxi_shunt_gather(r, node);
    if (status != OX_OK) {
        if (clean && ox_error() != OX_OK) oxi_shunt_blame(s, node);
        return status;
    }
    status = oxi_shunt_run_node(s, node);
    if (status != OX_OK) return status;
    r->ran[in->node] = true;
    for (int32_t c = 0; c < in->count; c++)
        if (!changes[c].begins) oxi_shunt_leave(s, s->table[changes[c].item], changes[c].dies);
    return OX_OK;
}

static ox_status oxi_shunt_do(oxi_shunt_replay *r, const oxi_shunt_instruction *in) {
    if (oxi_shunt_by_ring(in)) {
        oxi_shunt_flight flight;
        memset(&flight, 0, sizeof flight);
        oxi_shunt_ring_begin(r->s, r->s->table[in->item], in, &flight);
        return flight.stream ? oxi_shunt_ring_end(r->s, r->s->table[in->item], in, &flight) : OX_OK;
    }
    return in->action == OXI_ACT_NODE   ? oxi_shunt_do_node(r, in)
           : in->action == OXI_ACT_LOAD ? oxi_shunt_do_load(r, in)
                                        : oxi_shunt_do_save(r, in);
}

/* A pinned item that was not there is, or the step has failed. */
static void oxi_shunt_late_over(oxi_shunt_replay *r, int32_t item, ox_status status) {
    oxi_shunt_replay_take(r);
    r->awaited[item] = false;
    if (status != OX_OK && !r->failed) oxi_error_move(&r->error);
    if (status != OX_OK) r->failed = true;
    oxi_shunt_replay_wake(r, OXI_LANE_COMPUTE);
    oxi_shunt_wake_due(r);
    oxi_shunt_replay_give(r);
}

static void oxi_shunt_load_late(oxi_shunt_replay *r) {
    for (int32_t i = 0; i < r->late_count && !oxi_shunt_has_failed(r); i++)
        oxi_shunt_late_over(r, r->late[i], oxi_shunt_load(r->s, r->s->table[r->late[i]]));
}

static void oxi_shunt_lane_run(oxi_shunt_replay *r, int lane) {
    double start = oxi_now();
    for (int32_t i = 0; i < r->plan->instruction_count; i++) {
        const oxi_shunt_instruction *in = &r->plan->instruction[i];
        if (!r->alone && in->lane != lane) continue;
        if (!oxi_shunt_await(r, in, lane)) return;
        oxi_shunt_done(r, in->lane, oxi_shunt_do(r, in));
    }
    if (lane == OXI_LANE_COMPUTE) r->busy = oxi_now() - start - r->waited;
}

static void oxi_shunt_disk_run(oxi_shunt_replay *r);
static int oxi_shunt_flights_of(const oxi_shunt_plan *plan);

/* ---- lanes --------------------------------------------------------------------------------------------- */

#ifndef OX_NO_THREADS
/* Bytes that a lane has moved in this step. */
static double oxi_shunt_lane_moved(ox_shunt *s, int lane) {
    double bytes = 0;
    oxi_stream_take(&s->tiers);
    if (lane == OXI_LANE_DISK) oxi_shunt_disk_note(s, false);
    for (int write = 0; write < 2; write++) {
        const oxi_shunt_figure *moved = &s->rates.moved[lane][write];
        if (moved->step == s->stats.steps) bytes += moved->amount;
    }
    oxi_stream_give(&s->tiers);
    return bytes;
}

static double oxi_shunt_lane_packed(ox_shunt *s, int lane) {
    oxi_stream_take(&s->tiers);
    double seconds = s->packed_seconds[lane];
    oxi_stream_give(&s->tiers);
    return seconds;
}

static void oxi_shunt_run_lane(void *job, int lane) {
    oxi_shunt_replay *r = (oxi_shunt_replay *)job;
    double worked = oxi_thread_seconds(), moved = oxi_shunt_lane_moved(r->s, lane);
    double packed = oxi_shunt_lane_packed(r->s, lane);
    if (lane == OXI_LANE_DISK)
        oxi_shunt_disk_run(r);
    else
        oxi_shunt_lane_run(r, lane);
    worked = oxi_thread_seconds() - worked;
    moved = oxi_shunt_lane_moved(r->s, lane) - moved;
    worked -= oxi_shunt_lane_packed(r->s, lane) - packed; /* which counts by itself */
    if (lane != OXI_LANE_COMPUTE && moved > 0)
        oxi_shunt_figure_note(&r->s->rates.works[lane], r->s->stats.steps, worked > 0 ? worked : 0, moved);
}
#endif

static void oxi_shunt_run_lanes(oxi_shunt_replay *r) {
#ifndef OX_NO_THREADS
    bool wanted[OXI_LANES];
    for (int lane = 0; lane < OXI_LANES; lane++)
        wanted[lane] = r->plan->lane_count[lane] > 0 || (lane == OXI_LANE_DISK && r->late_count > 0);
    if (oxi_shunt_crew_open(r->s, wanted)) {
        oxi_shunt_crew_run(r->s->crew, wanted, oxi_shunt_run_lane, r);
        return;
    }
    ox_error_clear();
#endif
    r->alone = true;
    oxi_shunt_ahead_end(r->s);
    oxi_shunt_load_late(r);
    oxi_shunt_lane_run(r, OXI_LANE_COMPUTE);
}

/* ---- before and after ---------------------------------------------------------------------------------- */

/* The slots that late items are needed in first; the list goes by them. */
static void oxi_shunt_order_late(oxi_shunt_replay *r) {
    const oxi_shunt_plan *plan = r->plan;
    int32_t count = 0;
    if (r->late_count == 0) return;
    for (int32_t k = 0; k < plan->instruction_count && count < r->late_count; k++) {
        const oxi_shunt_instruction *in = &plan->instruction[k];
        if (in->action != OXI_ACT_NODE) continue;
        const oxi_shunt_node *node = r->s->nodes[in->node];
        for (int i = 0; i < node->in_count + node->out_count; i++) {
            const oxi_shunt_item *item = node->operand[i].item;
            if (!item || !r->awaited[item->index]) continue;
            r->awaited[item->index] = false; /* for a moment */
            r->late[count] = item->index;
            r->late_slot[count++] = in->slot;
        }
    }
    for (int32_t i = 0; i < r->late_count; i++) r->awaited[r->late[i]] = true;
}

/* What is where the plan wants something else to be leaves, but for what is pinned: `moves` to its place. */
static ox_status oxi_shunt_settle_others(ox_shunt *s, const oxi_shunt_plan *plan, bool moves) {
    ox_status status = OX_OK;
    for (int64_t at = 0; at < s->resident[0].count && status == OX_OK;) {
        oxi_shunt_item *item = s->resident[0].item[at];
        const oxi_shunt_known *k = item->mark == s->step_number ? &plan->known[item->index] : NULL;
        bool stays = item->place >= plan->peak;
        if (k && oxi_shunt_is_ahead(plan, item))
            stays = item->index == item->ahead_index;
        else if (k)
            stays = k->pinned && item->valid && (moves || k->place == item->place);
        if (stays)
            at++;
        else
            status = oxi_shunt_evict(s, item);
    }
    return status;
}

/* What is pinned elsewhere than the plan before had it moves there within the device, as far as that is free
 * or becomes so. */
static ox_status oxi_shunt_shift_pins(ox_shunt *s, const oxi_shunt_plan *plan) {
    ox_status status = OX_OK;
    for (bool moved = true; moved && status == OX_OK;) {
        moved = false;
        for (int32_t i = 0; i < plan->item_count && status == OX_OK; i++) {
            const oxi_shunt_known *k = &plan->known[i];
            oxi_shunt_item *item = s->table[i];
            bool shifts = k->pinned && item->storage && item->valid && item->place != k->place &&
                          !oxi_shunt_is_ahead(plan, item) && oxi_shunt_is_free_for(s, item, k->place);
            if (!shifts) continue;
            status = oxi_shunt_shift(s, item, k->place);
            moved = true;
        }
    }
    return status;
}

/* Everything that the plan has no place for leaves, and what it pins comes to its place within the device. */
static ox_status oxi_shunt_settle(ox_shunt *s, const oxi_shunt_plan *plan) {
    ox_status status = oxi_shunt_settle_others(s, plan, true);
    if (status == OX_OK) status = oxi_shunt_shift_pins(s, plan);
    if (status == OX_OK) status = oxi_shunt_settle_others(s, plan, false); /* in each other's way */
    for (int32_t i = 0; i < plan->item_count && status == OX_OK; i++) {
        s->table[i]->kind = plan->known[i].kind;
        s->table[i]->packs = plan->known[i].packs;
    }
    return status;
}

/* What else is pinned gets its place, and comes when the step begins. */
static ox_status oxi_shunt_settle_pins(ox_shunt *s, oxi_shunt_replay *r) {
    const oxi_shunt_plan *plan = r->plan;
    ox_status status = oxi_shunt_settle(s, plan);
    for (int32_t i = 0; i < plan->item_count && status == OX_OK; i++) {
        if (!plan->known[i].pinned || s->table[i]->storage) continue;
        status = oxi_shunt_put_at(s, s->table[i], plan->known[i].place);
        r->late[r->late_count++] = i;
        r->awaited[i] = true;
    }
    oxi_shunt_order_late(r);
    return status;
}

/* What is to be read has the numbers that it had before the step, or is lost. */
static void oxi_shunt_after_failure(oxi_shunt_replay *r) {
    ox_shunt *s = r->s;
    oxi_shunt_ahead_end(s);
    for (int32_t i = 0; i < s->table_count; i++) { /* a load that did not end */
        oxi_shunt_item *item = s->table[i];
        oxi_shunt_unstage(s, item);
        if (item->storage && !item->valid) oxi_shunt_leave(s, item, false);
    }
    for (int64_t n = 0; n < s->node_count; n++)
        if (!r->ran[n]) oxi_shunt_not_run(s->nodes, n, n + 1);
}

/* What was read into a ring ahead of the step is its first reads, or is given up. */
static void oxi_shunt_ahead_check(ox_shunt *s, const oxi_shunt_plan *plan) {
    bool same = s->ahead_plan == plan->number;
    int count = 0;
    for (int32_t k = 0; k < plan->instruction_count && same && count < s->ahead_count; k++)
        if (plan->instruction[k].lane == OXI_LANE_DISK)
            same = s->table[plan->instruction[k].item] == s->ahead_item[count++];
    if (!same) oxi_shunt_ahead_end(s);
}

static ox_status oxi_shunt_replay_run(ox_shunt *s, const oxi_shunt_plan *plan) {
    oxi_shunt_replay r;
    size_t items = (size_t)plan->item_count, nodes = (size_t)plan->node_count;
    memset(&r, 0, sizeof r);
    r.s = s;
    r.plan = plan;
    r.late = (int32_t *)oxi_shunt_list(items, sizeof *r.late);
    r.late_slot = (int32_t *)oxi_shunt_list(items, sizeof *r.late_slot);
    r.awaited = (bool *)oxi_shunt_list(items, sizeof *r.awaited);
    r.ran = (bool *)oxi_shunt_list(nodes, sizeof *r.ran);
    bool clean = ox_error() == OX_OK;
    ox_status status = r.late && r.late_slot && r.awaited && r.ran ? oxi_shunt_arena_open(s) : OX_ERR_NOMEM;
    oxi_shunt_ahead_check(s, plan);
    oxi_shunt_rings_open(s, plan->ring);
    if (status == OX_OK) status = oxi_shunt_settle_pins(s, &r);
    r.repeats = s->ran_last == plan->number;
    s->ran_last = plan->number;
    s->planned = true;
    if (status == OX_OK) {
        double start = oxi_now(), computed = s->stats.compute_seconds;
        oxi_shunt_run_lanes(&r);
        s->lanes_seconds += oxi_now() - start;
        s->lanes_runs++;
        if (!r.failed)
            oxi_shunt_figure_note(&s->rates.between, s->stats.steps,
                                  r.busy - (s->stats.compute_seconds - computed),
                                  (double)plan->lane_count[OXI_LANE_COMPUTE]);
        if (r.failed) status = r.error.status != OX_OK ? r.error.status : OX_ERR_DEVICE;
        if (r.failed && clean) oxi_error_put_back(&r.error);
    }
    s->planned = false;
    if (status != OX_OK && r.ran) oxi_shunt_after_failure(&r);
    s->stats.recomputed += status == OX_OK ? plan->recomputed : 0;
    for (int64_t n = 0; n < s->node_count; n++) oxi_shunt_node_over(s, s->nodes[n]);
    oxi_shunt_unlist(r.late, items, sizeof *r.late);
    oxi_shunt_unlist(r.late_slot, items, sizeof *r.late_slot);
    oxi_shunt_unlist(r.awaited, items, sizeof *r.awaited);
    oxi_shunt_unlist(r.ran, nodes, sizeof *r.ran);
    return status;
}

/* ---- a step by its plan -------------------------------------------------------------------------------- */

/* How many moves of the disk are under way at once. */
static int oxi_shunt_flights_of(const oxi_shunt_plan *plan) {
    return plan->ring[0] + plan->ring[1] > 0 ? OXI_SHUNT_TILES : OXI_SHUNT_FLIGHTS;
}

/* Seconds of a move from in->start on, which may begin at `due`. What the step before began is there, or on
 * its way: `landed` is when the last of those begun before it is over, `now` when the step begins. */
static double oxi_shunt_move_takes(ox_shunt *s, const oxi_shunt_plan *plan, const oxi_shunt_instruction *in,
                                   double due, double now, double *landed, oxi_shunt_told *told) {
    const oxi_shunt_item *item = s->table[in->item];
    bool write = !oxi_shunt_comes(in), packed = oxi_shunt_moves_packed(item, plan->known[in->item].packs);
    uint64_t bytes = in->bytes > 0 ? oxi_shunt_tile_bytes(item, in) : oxi_shunt_moved_bytes(s, item, packed);
    double work = packed ? oxi_shunt_packing_seconds(s, item, write) : 0;
    if (in->lane == OXI_LANE_DISK && in->number < s->ahead_count && s->ahead_plan == plan->number) return 0;
    if (!write && oxi_shunt_is_ahead(plan, item)) {
        double start = item->flight && item->flight->start > *landed ? item->flight->start : *landed;
        if (!item->valid) *landed = start + oxi_shunt_lane_seconds(s, OXI_LANE_DISK, bytes, false);
        double waits = !item->valid && *landed > now + in->start ? *landed - now - in->start : 0;
        told->start = told->over = in->start + waits; /* what follows begins when it is there */
        return waits;
    }
    if (in->lane == OXI_LANE_DISK) {
        if (packed && due < told->over) due = told->over; /* behind all that was begun */
        told->over = oxi_shunt_disk_over(s, bytes, write, due, told) + work;
        if (packed) told->start = told->over;
        return told->over - in->start;
    }
    if (in->lane == OXI_LANE_DOWN && !packed && oxi_shunt_may_lend(s, plan->known[in->item].kind)) bytes = 0;
    return oxi_shunt_lane_seconds(s, in->lane, bytes, write) + work;
}

/* What the plan takes by what its calls took so far. */
static void oxi_shunt_resimulate(ox_shunt *s, oxi_shunt_plan *plan) {
    double *finish[OXI_LANES], end[OXI_LANES] = {0, 0, 0, 0};
    oxi_shunt_told told = {0, 0, 1};
    const int flights = oxi_shunt_flights_of(plan);
    size_t all = 0;
    for (int lane = 0; lane < OXI_LANES; lane++) all += (size_t)plan->lane_count[lane];
    double *block = (double *)oxi_try_alloc((all + 1) * sizeof *block), *at = block;
    plan->compute = 0;
    if (!block) return;
    for (int lane = 0; lane < OXI_LANES; at += plan->lane_count[lane++]) finish[lane] = at;
    oxi_shunt_rates_fold(s);
    double now = oxi_now(), landed = 0, wake[OXI_LANES],
           between = oxi_shunt_figure_of(&s->rates.between, s->stats.steps);
    for (int lane = 0; lane < OXI_LANES; lane++)
        wake[lane] = oxi_shunt_figure_of(&s->rates.wake[lane], s->stats.steps);
    for (int32_t i = 0; i < plan->instruction_count; i++) {
        oxi_shunt_instruction *in = &plan->instruction[i];
        double took =
            in->action == OXI_ACT_NODE ? oxi_shunt_mean_seconds(s, s->nodes[in->node]->shape_key) : 0;
        if (took > 0) in->seconds = took;
        double due =
            in->lane == OXI_LANE_DISK && in->number >= flights ? finish[in->lane][in->number - flights] : 0;
        for (int lane = 0; lane < OXI_LANES; lane++)
            if (in->wait[lane] > 0 && finish[lane][in->wait[lane] - 1] > due)
                due = finish[lane][in->wait[lane] - 1];
        in->start = due > end[in->lane] ? due += wake[in->lane] : end[in->lane]; /* it slept */
        if (in->action != OXI_ACT_NODE)
            in->seconds = oxi_shunt_move_takes(s, plan, in, due, now, &landed, &told);
        end[in->lane] = finish[in->lane][in->number] = in->start + in->seconds;
        if (in->action == OXI_ACT_NODE) {
            plan->compute += in->seconds;
            end[in->lane] = finish[in->lane][in->number] += between;
        }
    }
    double slower = plan->disk_read / s->rates.disk_read; /* than the plan was made for */
    plan->bound = plan->compute > plan->disk * slower ? plan->compute : plan->disk * slower;
    if (plan->link > plan->bound) plan->bound = plan->link;
    plan->simulated = 0;
    for (int lane = 0; lane < OXI_LANES; lane++)
        if (end[lane] > plan->simulated) plan->simulated = end[lane];
    plan->simulated += oxi_shunt_figure_of(&s->rates.around, s->stats.steps);
    oxi_free(block, (all + 1) * sizeof *block);
}

/* The names of nodes, for people. */
static void oxi_shunt_plan_name(ox_shunt *s, oxi_shunt_plan *plan) {
    size_t bytes = 0;
    for (int64_t n = 0; n < s->node_count; n++) bytes += strlen(oxi_shunt_node_name(s->nodes[n])) + 1;
    plan->text = (char *)oxi_try_alloc(bytes);
    if (!plan->text) return;
    plan->text_bytes = bytes;
    char *at = plan->text;
    for (int64_t n = 0; n < s->node_count; n++) {
        const char *name = oxi_shunt_node_name(s->nodes[n]);
        size_t length = strlen(name) + 1;
        memcpy(at, name, length);
        at += length;
    }
}

static oxi_shunt_plan *oxi_shunt_plan_new(ox_shunt *s, const uint64_t key[2]) {
    oxi_shunt_problem p;
    oxi_shunt_touches touches;
    oxi_shunt_plan *plan = NULL;
    size_t items = (size_t)s->table_count;
    if (s->desc.host_bytes == 0 || s->stats.written_bytes + s->stats.read_bytes > 0)
        oxi_shunt_calibrate_disk(s);
    oxi_shunt_give_back_cached(s);
    double start = oxi_now();
    oxi_shunt_classify(s);
    oxi_shunt_rings_make_room(s);
    oxi_shunt_known *known = (oxi_shunt_known *)oxi_shunt_list(2 * items, sizeof *known);
    bool open = known && oxi_shunt_problem_open(s, &p, &touches, known);
    if (open) plan = oxi_shunt_plan_pack(&p);
    if (known) oxi_shunt_problem_close(&p, &touches);
    oxi_shunt_unlist(known, 2 * items, sizeof *known);
    if (plan) {
        plan->number = ++s->plans_made;
        oxi_shunt_plan_name(s, plan);
        plan->disk_read = s->rates.disk_read;
        plan->disk_write = s->rates.disk_write;
        oxi_shunt_plan_keep(s, plan, key);
    }
    double end = oxi_now();
    s->stats.plan_seconds += end - start;
    oxi_shunt_span_put(s, OXI_SHUNT_PLAN_LANE, "plan", start, end, 0);
    return plan;
}

/* Whether items wait on another tier than the plan was made for: as after its first run, which gave the host
 * copies of files. */
static bool oxi_shunt_lies_elsewhere(const ox_shunt *s, const oxi_shunt_plan *plan) {
    uint64_t all = 0, moved = 0;
    for (int32_t i = 0; i < plan->item_count; i++) {
        const oxi_shunt_known *k = &plan->known[i];
        if (!k->had || k->small || k->pinned || s->table[i]->valid) continue;
        all += k->room;
        if (k->on_host != (s->table[i]->host != NULL)) moved += k->room;
    }
    return moved > all / 16;
}

/* Once its calls have run twice, a plan that moves anything is made again if they take other times than it
 * was made for; by those times the better of the two stays. */
static oxi_shunt_plan *oxi_shunt_plan_revise(ox_shunt *s, oxi_shunt_plan *plan, const uint64_t key[2]) {
    if (plan->moved < 2 && oxi_shunt_lies_elsewhere(s, plan)) {
        oxi_shunt_plan *other = oxi_shunt_plan_new(s, key);
        if (!other) return plan;
        other->moved = plan->moved + 1;
        other->runs = plan->runs;
        other->measured = plan->measured;
        oxi_shunt_plan_drop(s, plan);
        s->stats.revised++;
        return other;
    }
    bool moves =
        plan->lane_count[OXI_LANE_UP] + plan->lane_count[OXI_LANE_DOWN] + plan->lane_count[OXI_LANE_DISK] > 0;
    if (plan->measured || ++plan->runs < 2) return plan;
    plan->measured = true;
    bool same_disk =
        plan->lane_count[OXI_LANE_DISK] == 0 || (fabs(plan->disk_read / s->rates.disk_read - 1) < 0.2 &&
                                                 fabs(plan->disk_write / s->rates.disk_write - 1) < 0.2);
    if (!moves || (same_disk && fabs(plan->compute - plan->expected) < 0.2 * plan->expected)) return plan;
    oxi_shunt_plan *better = oxi_shunt_plan_new(s, key);
    if (!better) return plan;
    oxi_shunt_resimulate(s, better);
    bool is_better = better->simulated < plan->simulated;
    better->measured = true;
    better->moved = plan->moved;
    is_better = is_better && better->over == 0;
    oxi_shunt_plan_drop(s, is_better ? plan : better);
    s->stats.revised++;
    return is_better ? better : plan;
}

/* The plan of what is pending: the known one, made again where measured costs say so, or a new one. NULL:
 * none fits, or there is no memory for one, which is no error by itself. */
static oxi_shunt_plan *oxi_shunt_plan_of(ox_shunt *s, const uint64_t key[2]) {
    const oxi_error earlier = oxi_shunt_errors_begin();
    oxi_shunt_plan *known = oxi_shunt_plan_find(s, key), *plan = known;
    if (known) {
        s->stats.replays++;
        oxi_shunt_resimulate(s, known);
        plan = oxi_shunt_plan_revise(s, known, key);
    } else {
        plan = oxi_shunt_plan_new(s, key);
        s->stats.plans += plan != NULL;
    }
    if (plan && plan != known) oxi_shunt_resimulate(s, plan);
    oxi_shunt_errors_end(&earlier);
    return plan;
}

/* Bytes of the disk that the step will have taken at most, once what has to leave the device has left. */
static ox_status oxi_shunt_disk_wants(ox_shunt *s, oxi_shunt_plan *plan, uint64_t *bytes) {
    ox_status status = oxi_shunt_arena_open(s);
    oxi_shunt_ahead_check(s, plan);
    oxi_shunt_rings_open(s, plan->ring);
    if (status == OX_OK) status = oxi_shunt_settle(s, plan);
    if (status == OX_OK && !oxi_shunt_spill_walk(s, plan, bytes)) status = OX_ERR_NOMEM;
    return status;
}

/* Whether the step fits the disk's budget, by its plan or, with what is where by now, another one; where none
 * does nothing has run. */
static ox_status oxi_shunt_fit_disk(ox_shunt *s, oxi_shunt_plan **plan, const uint64_t key[2]) {
    uint64_t wants = 0, least;
    ox_status status = oxi_shunt_disk_wants(s, *plan, &wants);
    if (status != OX_OK || wants <= s->desc.disk_bytes) return status;
    least = wants;
    const oxi_error earlier = oxi_shunt_errors_begin();
    oxi_shunt_plan *other = oxi_shunt_plan_new(s, key);
    oxi_shunt_errors_end(&earlier);
    if (other) {
        other->moved = (*plan)->moved;
        other->runs = (*plan)->runs;
        other->measured = (*plan)->measured;
        oxi_shunt_plan_drop(s, *plan);
        *plan = other;
        s->stats.revised++;
        oxi_shunt_resimulate(s, other);
        status = oxi_shunt_disk_wants(s, other, &wants);
        if (status != OX_OK || wants <= s->desc.disk_bytes) return status;
    }
    if (wants > least) wants = least;
    return oxi_fail(OX_ERR_NOMEM,
                    "%s: a step of %lld calls wants %llu bytes of the disk at once, a budget of %llu",
                    s->name, (long long)s->node_count, (unsigned long long)wants,
                    (unsigned long long)s->desc.disk_bytes);
}

/* planned false: no plan fits, and nothing has run. */
static ox_status oxi_shunt_step_planned(ox_shunt *s, bool *planned) {
    uint64_t key[2];
    for (int64_t n = 0; n < s->node_count; n++)
        for (int i = 0; i < s->nodes[n]->out_count; i++)
            if (s->nodes[n]->operand[s->nodes[n]->in_count + i].given) return OX_OK;
    if (!oxi_shunt_key(s, key)) return OX_ERR_NOMEM;
    oxi_shunt_wait_for_others(s);
    oxi_shunt_plan *plan = oxi_shunt_plan_of(s, key);
    *planned = plan != NULL;
    if (!plan && s->desc.raise)
        return oxi_fail(OX_ERR_NOMEM, "%s: no plan of %lld calls fits a budget of %llu bytes", s->name,
                        (long long)s->node_count, (unsigned long long)s->desc.device_bytes);
    if (!plan) return OX_OK;
    if (s->desc.disk_bytes > 0) {
        ox_status status = oxi_shunt_fit_disk(s, &plan, key);
        *planned = status == OX_OK;
        if (status != OX_OK) return status;
    }
    s->last_plan = plan;
    s->stats.simulated_seconds += plan->simulated;
    s->stats.bound_seconds += plan->bound;
    s->stats.resident_bytes = plan->pinned_bytes;
    return oxi_shunt_replay_run(s, plan);
}
