/* The search: who is pinned and how much is left for what comes early, tried a number of ways; single changes
 * of the best one where there are few; second runs where they pay. What a way takes says the schedule, which
 * also says when it does not fit. It ends with time_most, with the first way that reaches the bound, or when
 * nothing is left to try. */

typedef struct oxi_shunt_search {
    oxi_shunt_problem *p;
    oxi_shunt_order order, original;
    oxi_shunt_placing placing;
    oxi_shunt_rank *rank;
    int32_t rank_count;
    oxi_shunt_plan *trial, *best;
    uint8_t *best_keep, *best_pins;
    int packing;
    uint64_t random;
    oxi_shunt_choice best_choice;
    double bound, disk, end;
    bool found;
} oxi_shunt_search;

/* ---- the bound ----------------------------------------------------------------------------------------- */

typedef struct oxi_shunt_saving {
    double worth;
    uint64_t room;
    double seconds;
} oxi_shunt_saving;

static int oxi_shunt_saving_compare(const void *a, const void *b) {
    const oxi_shunt_saving *x = (const oxi_shunt_saving *)a, *y = (const oxi_shunt_saving *)b;
    return x->worth > y->worth ? -1 : x->worth < y->worth;
}

/* What has to come from the disk once and go back once, but for what fits the device and the host. */
static double oxi_shunt_disk_bound(const oxi_shunt_problem *p, const oxi_shunt_order *o) {
    oxi_shunt_saving *list = (oxi_shunt_saving *)oxi_shunt_list((size_t)p->item_count, sizeof *list);
    double seconds = 0, room = (double)(p->capacity + p->host_room);
    int32_t count = 0;
    for (int32_t i = 0; list && i < p->item_count; i++) {
        const oxi_shunt_known *k = &p->known[i];
        bool writes = false, reads = o->first[i] < o->first[i + 1] && o->use[o->first[i]] & 1;
        for (int32_t a = o->first[i]; a < o->first[i + 1]; a++) writes = writes || o->use[a] & 2;
        if (!k->had || !k->held) continue;
        list[count].seconds = (reads ? k->load[1] - p->least[OXI_LANE_DISK] : 0) +
                              (writes ? k->save[1] - p->least[OXI_LANE_DISK] : 0);
        list[count].room = k->room;
        list[count].worth = list[count].seconds / (double)k->room;
        count++;
    }
    if (list) qsort(list, (size_t)count, sizeof *list, oxi_shunt_saving_compare);
    for (int32_t i = 0; i < count; i++) {
        double part = (double)list[i].room <= room ? 1 : room / (double)list[i].room;
        seconds += (1 - part) * list[i].seconds;
        room -= part * (double)list[i].room;
    }
    oxi_shunt_unlist(list, (size_t)p->item_count, sizeof *list);
    return seconds;
}

/* ---- tries --------------------------------------------------------------------------------------------- */

static bool oxi_shunt_is_over(const oxi_shunt_search *s) {
    return (s->found && s->best->simulated <= 1.003 * s->bound) || oxi_now() > s->end;
}

/* The trial becomes the best one if it is better. */
static bool oxi_shunt_judge(oxi_shunt_search *s) {
    if (s->found && s->trial->simulated >= s->best->simulated * (1 - 1e-6)) return false;
    oxi_shunt_plan *other = s->best;
    s->best = s->trial;
    s->trial = other;
    s->found = true;
    memcpy(s->best_keep, s->placing.keep, (size_t)s->order.access_count);
    for (int32_t i = 0; i < s->p->item_count; i++) s->best_pins[i] = s->p->known[i].pinned;
    return true;
}

static bool oxi_shunt_try(oxi_shunt_search *s, const oxi_shunt_choice *c) {
    s->placing.pinned_bytes = oxi_shunt_pin_some(s->p, s->rank, s->rank_count, c->pinned_part);
    if (!oxi_shunt_place(s->p, &s->order, c, &s->placing) ||
        !oxi_shunt_schedule_run(s->p, &s->order, s->placing.keep, s->placing.pinned_bytes, c->packing,
                                s->trial))
        return false;
    bool better = oxi_shunt_judge(s);
    if (better) s->best_choice = *c;
    return better;
}

static void oxi_shunt_try_all(oxi_shunt_search *s) {
    static const double pins[] = {1, 0.75, 0.5, 0.25, 0, 0.9}, parts[] = {1, 0.85, 0.7, 0.5},
                        weights[] = {1, 3};
    for (int w = 0; w < 4; w++)
        for (size_t i = 0; i < sizeof pins / sizeof *pins; i++)
            for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
                const oxi_shunt_choice c = {pins[i], parts[k], weights[w % 2], w / 2 * OXI_PACK_TIGHT};
                if (oxi_shunt_is_over(s)) return;
                (void)oxi_shunt_try(s, &c);
                if (s->rank_count == 0 && i > 0) break;
            }
}

static uint64_t oxi_shunt_pins_place(oxi_shunt_problem *p) {
    uint64_t bytes = 0;
    for (int32_t i = 0; i < p->item_count; i++) {
        if (!p->known[i].pinned) continue;
        p->known[i].place = bytes;
        bytes += p->known[i].room;
    }
    return bytes;
}

static void oxi_shunt_recall(oxi_shunt_search *s) {
    memcpy(s->placing.keep, s->best_keep, (size_t)s->order.access_count);
    for (int32_t i = 0; i < s->p->item_count; i++) s->p->known[i].pinned = s->best_pins[i];
    s->placing.pinned_bytes = oxi_shunt_pins_place(s->p);
}

static bool oxi_shunt_run_trial(oxi_shunt_search *s) {
    return oxi_shunt_schedule_run(s->p, &s->order, s->placing.keep, s->placing.pinned_bytes, s->packing,
                                  s->trial) &&
           oxi_shunt_judge(s);
}

/* Everything leaves after its slot, and comes right before it: that fits wherever one slot does. */
static void oxi_shunt_try_least(oxi_shunt_search *s) {
    for (int packing = 0; packing <= (OXI_PACK_TIGHT | OXI_PACK_LATE) && !s->found; packing++) {
        memset(s->placing.keep, 0, (size_t)s->order.access_count);
        s->placing.pinned_bytes = oxi_shunt_pin_some(s->p, s->rank, s->rank_count, 0);
        s->packing = packing;
        (void)oxi_shunt_run_trial(s);
        s->best_choice.packing = packing;
        s->best_choice.capacity_part = s->best_choice.dirty_weight = 1;
    }
}

/* One gap more or less, as long as that helps. */
static void oxi_shunt_refine_gaps(oxi_shunt_search *s, bool *better) {
    for (int32_t i = 0; i < s->p->item_count; i++)
        for (int32_t a = s->order.first[i]; a < s->order.first[i + 1]; a++) {
            if (oxi_shunt_is_over(s)) return;
            oxi_shunt_recall(s);
            if (s->p->known[i].pinned || !oxi_shunt_needed_after(&s->order, s->p, i, a)) continue;
            s->placing.keep[a] = !s->placing.keep[a];
            *better = oxi_shunt_run_trial(s) || *better;
        }
}

/* Two gaps at once, where one alone does not fit or does not pay. */
static void oxi_shunt_refine_pairs(oxi_shunt_search *s, bool *better) {
    for (int32_t a = 0; a < s->order.access_count; a++)
        for (int32_t b = a + 1; b < s->order.access_count; b++) {
            if (oxi_shunt_is_over(s)) return;
            oxi_shunt_recall(s);
            s->placing.keep[a] = !s->placing.keep[a];
            s->placing.keep[b] = !s->placing.keep[b];
            *better = oxi_shunt_run_trial(s) || *better;
        }
}

/* An item pinned or not, or two for one. */
static void oxi_shunt_refine_pins(oxi_shunt_search *s, bool *better) {
    for (int32_t r = 0; r < s->rank_count; r++)
        for (int32_t q = r; q < s->rank_count; q++) {
            if (oxi_shunt_is_over(s)) return;
            oxi_shunt_recall(s);
            s->p->known[s->rank[r].item].pinned = !s->p->known[s->rank[r].item].pinned;
            if (q != r) s->p->known[s->rank[q].item].pinned = !s->p->known[s->rank[q].item].pinned;
            s->placing.pinned_bytes = oxi_shunt_pins_place(s->p);
            if (s->placing.pinned_bytes > s->p->capacity) continue;
            if (oxi_shunt_run_trial(s)) *better = true;
            if (oxi_shunt_place(s->p, &s->order, &s->best_choice, &s->placing) && oxi_shunt_run_trial(s))
                *better = true;
        }
}

/* Every way to pin, where there are few: with what MIN makes of the rest, and then single changes of that. */
static void oxi_shunt_refine_subsets(oxi_shunt_search *s) {
    static const double parts[] = {1, 0.7, 0.5};
    for (uint32_t pins = 0; pins < 1u << s->rank_count; pins++)
        for (int k = 0; k < 6; k++) {
            oxi_shunt_choice c = {0, parts[k / 2], 1, k % 2};
            if (oxi_shunt_is_over(s)) return;
            for (int32_t r = 0; r < s->rank_count; r++) s->p->known[s->rank[r].item].pinned = pins >> r & 1;
            s->placing.pinned_bytes = oxi_shunt_pins_place(s->p);
            s->packing = c.packing;
            if (s->placing.pinned_bytes > s->p->capacity ||
                !oxi_shunt_place(s->p, &s->order, &c, &s->placing))
                continue;
            if (oxi_shunt_run_trial(s)) s->best_choice = c;
            for (int32_t a = 0; a < s->order.access_count; a++) {
                s->placing.keep[a] ^= 1;
                if (!oxi_shunt_run_trial(s)) s->placing.keep[a] ^= 1;
            }
        }
}

/* A few changes at random, where there are few to choose from: of the best, or of the last ones, so that a
 * walk leads through ways that are worse. */
static void oxi_shunt_shake(oxi_shunt_search *s) {
    enum { TRIES = 8000, WALK = 24 };
    for (int t = 0; t < TRIES && !oxi_shunt_is_over(s); t++) {
        bool walks = t / WALK % 2 == 1 && t % WALK > 0;
        if (!walks) oxi_shunt_recall(s);
        for (int k = 0; k < (walks ? 1 : 3 + t % 3); k++) {
            s->random = oxi_shunt_mix(s->random, (uint64_t)t);
            uint64_t pick = s->random >> 20;
            if (k == 0 && s->rank_count > 0 && pick & 1) {
                oxi_shunt_known *known = &s->p->known[s->rank[pick / 2 % (uint64_t)s->rank_count].item];
                known->pinned = !known->pinned;
            } else {
                s->placing.keep[pick % (uint64_t)s->order.access_count] ^= 1;
            }
        }
        s->placing.pinned_bytes = oxi_shunt_pins_place(s->p);
        if (s->placing.pinned_bytes > s->p->capacity) continue;
        s->packing = t & OXI_PACK_TIGHT;
        (void)oxi_shunt_run_trial(s);
    }
    s->packing = s->best_choice.packing;
}

static void oxi_shunt_refine(oxi_shunt_search *s) {
    enum { FEW = 400, VERY_FEW = 64, SUBSETS = 5 };
    bool better = s->found && s->order.access_count <= FEW;
    if (s->found && s->order.access_count <= VERY_FEW && s->rank_count <= SUBSETS)
        oxi_shunt_refine_subsets(s);
    s->packing = s->best_choice.packing;
    while (better && !oxi_shunt_is_over(s)) {
        better = false;
        oxi_shunt_refine_gaps(s, &better);
        if (s->rank_count <= VERY_FEW) oxi_shunt_refine_pins(s, &better);
        if (!better && s->order.access_count <= VERY_FEW) oxi_shunt_refine_pairs(s, &better);
    }
    if (s->found && s->order.access_count <= VERY_FEW) oxi_shunt_shake(s);
}

/* ---- second runs --------------------------------------------------------------------------------------- */

/* Tries the order with so many of the list; whether it is better, and stays. */
static bool oxi_shunt_try_repeats(oxi_shunt_search *s, const oxi_shunt_repeat *list, int32_t count) {
    oxi_shunt_order order, before = s->order;
    oxi_shunt_plan *best = s->best;
    bool found = s->found;
    uint8_t *pins = (uint8_t *)oxi_alloc((size_t)s->p->item_count + 1), *keep = s->best_keep;
    uint8_t *placing = s->placing.keep;
    if (!pins || !oxi_shunt_order_with(s->p, &s->original, list, count, &order)) {
        oxi_free(pins, (size_t)s->p->item_count + 1);
        return false;
    }
    size_t accesses = (size_t)order.access_count;
    memcpy(pins, s->best_pins, (size_t)s->p->item_count);
    s->placing.keep = (uint8_t *)oxi_shunt_list(accesses, 1);
    s->best_keep = (uint8_t *)oxi_shunt_list(accesses, 1);
    s->order = order;
    if (s->placing.keep && s->best_keep) {
        if (found) (void)oxi_shunt_try(s, &s->best_choice);
        if (s->best == best && oxi_now() < s->end) oxi_shunt_try_all(s);
    }
    bool better = s->best != best || s->found != found;
    if (better) {
        oxi_shunt_unlist(keep, (size_t)before.access_count, 1);
        oxi_shunt_unlist(placing, (size_t)before.access_count, 1);
        oxi_shunt_order_close(&before, s->p);
    } else {
        oxi_shunt_unlist(s->placing.keep, accesses, 1);
        oxi_shunt_unlist(s->best_keep, accesses, 1);
        s->placing.keep = placing;
        s->best_keep = keep;
        oxi_shunt_order_close(&order, s->p);
        s->order = before;
        memcpy(s->best_pins, pins, (size_t)s->p->item_count);
    }
    oxi_free(pins, (size_t)s->p->item_count + 1);
    return better;
}

/* One, two, four .. of the loads of the best plan, then its others. */
static void oxi_shunt_try_again(oxi_shunt_search *s) {
    size_t room = (size_t)s->best->segment_count;
    oxi_shunt_repeat *list = (oxi_shunt_repeat *)oxi_shunt_list(room, sizeof *list);
    int32_t count = list ? oxi_shunt_repeats(s->p, &s->original, s->best, list) : 0, taken = 0;
    for (int32_t some = 1; some <= 2 * count && oxi_now() < s->end; some *= 2) {
        int32_t many = some < count ? some : count;
        if (oxi_shunt_try_repeats(s, list, many)) taken = many;
        if (many == count) break;
    }
    for (int32_t r = 0; r < count && count <= 16 && oxi_now() < s->end; r++) { /* each alone, in few */
        oxi_shunt_repeat one = list[r];
        if (taken == 0 && oxi_shunt_try_repeats(s, &one, 1)) break;
    }
    oxi_shunt_unlist(list, room, sizeof *list);
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static bool oxi_shunt_search_open(oxi_shunt_search *s, oxi_shunt_problem *p) {
    memset(s, 0, sizeof *s);
    s->p = p;
    s->end = oxi_now() + p->time_most;
    size_t items = (size_t)p->item_count;
    s->trial = (oxi_shunt_plan *)oxi_calloc(1, sizeof *s->trial);
    s->best = (oxi_shunt_plan *)oxi_calloc(1, sizeof *s->best);
    s->rank = (oxi_shunt_rank *)oxi_shunt_list(items, sizeof *s->rank);
    s->best_pins = (uint8_t *)oxi_shunt_list(items, 1);
    if (!s->trial || !s->best || !s->rank || !s->best_pins) return false;
    if (!oxi_shunt_order_open(&s->order, p) || !oxi_shunt_order_open(&s->original, p)) return false;
    s->placing.keep = (uint8_t *)oxi_shunt_list((size_t)s->order.access_count, 1);
    s->best_keep = (uint8_t *)oxi_shunt_list((size_t)s->order.access_count, 1);
    return s->placing.keep && s->best_keep;
}

static void oxi_shunt_search_close(oxi_shunt_search *s) {
    size_t items = (size_t)s->p->item_count, accesses = (size_t)s->order.access_count;
    oxi_shunt_plan_free(s->trial);
    oxi_shunt_plan_free(s->best);
    oxi_shunt_unlist(s->rank, items, sizeof *s->rank);
    oxi_shunt_unlist(s->best_pins, items, 1);
    oxi_shunt_unlist(s->placing.keep, accesses, 1);
    oxi_shunt_unlist(s->best_keep, accesses, 1);
    oxi_shunt_order_close(&s->order, s->p);
    oxi_shunt_order_close(&s->original, s->p);
}

/* What the plan has to know when it is replayed. */
static bool oxi_shunt_plan_finish(oxi_shunt_search *s) {
    const oxi_shunt_problem *p = s->p;
    oxi_shunt_plan *plan = s->best;
    oxi_shunt_recall(s);
    plan->node_count = p->node_count;
    plan->slot_count = s->order.slot_count;
    plan->recomputed = s->order.slot_count - p->node_count;
    plan->known = (oxi_shunt_known *)oxi_alloc((size_t)p->item_count * sizeof *plan->known);
    plan->seconds = (double *)oxi_alloc((size_t)p->node_count * sizeof *plan->seconds);
    if (!plan->known || !plan->seconds) {
        oxi_free(plan->known, (size_t)p->item_count * sizeof *plan->known);
        oxi_free(plan->seconds, (size_t)p->node_count * sizeof *plan->seconds);
        plan->known = NULL;
        plan->seconds = NULL;
        return false;
    }
    plan->item_count = p->item_count;
    memcpy(plan->known, p->known, (size_t)p->item_count * sizeof *plan->known);
    memcpy(plan->seconds, p->seconds, (size_t)p->node_count * sizeof *plan->seconds);
    plan->compute = plan->expected = s->original.start[p->node_count];
    plan->bound = s->bound;
    plan->disk = s->disk;
    return true;
}

/* A plan, or NULL: none fits, or there is no memory for one. No error is recorded. */
static oxi_shunt_plan *oxi_shunt_plan_make(oxi_shunt_problem *p) {
    oxi_shunt_search s;
    oxi_shunt_plan *made = NULL;
    if (oxi_shunt_search_open(&s, p)) {
        s.disk = oxi_shunt_disk_bound(p, &s.order);
        s.bound = s.order.start[p->node_count] > s.disk ? s.order.start[p->node_count] : s.disk;
        s.rank_count = oxi_shunt_rank_all(p, &s.order, s.rank);
        oxi_shunt_try_all(&s);
        if (!s.found) oxi_shunt_try_least(&s);
        oxi_shunt_refine(&s);
        if (s.found && p->recompute != OX_RECOMPUTE_OFF && !oxi_shunt_is_over(&s)) {
            oxi_shunt_try_again(&s);
            oxi_shunt_refine(&s);
        }
        if (s.found && oxi_shunt_plan_finish(&s)) {
            made = s.best;
            s.best = NULL;
        }
    }
    oxi_shunt_search_close(&s);
    return made;
}
