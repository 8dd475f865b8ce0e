/* The search: who is pinned and how much is left for what comes early, tried a number of ways; single changes
 * of the best one where there are few; second runs where they pay. What a way takes says the schedule, which
 * also says when it does not fit. It ends with time_most, with the first way that reaches the bound, or when
 * nothing is left to try. */

typedef struct oxi_shunt_search {
    oxi_shunt_problem *p;
    oxi_shunt_order order, original;
    oxi_shunt_placing placing;
    oxi_shunt_rank *rank, *ranks[2]; /* by first use, and spread; rank: the one that is tried */
    int32_t rank_count;
    oxi_shunt_plan *trial, *best;
    uint8_t *best_keep, *best_pins;
    int packing;
    int64_t improved; /* how often the best one was replaced */
    uint64_t random;
    oxi_shunt_choice best_choice;
    uint64_t host_most; /* bytes that the host may ever have room for: of what is there before as well */
    double bound, disk, link, end;
    double enough;     /* costs that no other way is much below */
    double took;       /* seconds of the last way */
    double all_end;    /* the end, with the time that is left to second runs */
    bool spares;       /* time for another way, which is tried if this one fails */
    bool found, whole; /* whole: no order with second runs is better */
} oxi_shunt_search;

/* ---- tries --------------------------------------------------------------------------------------------- */

/* Of ways that take about as long the one is better whose moves leave computing more of the processors; worse
 * than any that does not is one that takes more of the disk than there is. */
static double oxi_shunt_costs(const oxi_shunt_plan *plan) {
    const double over = plan->over > 0 ? 1e3 + 1e-3 * (double)plan->over : 0;
    return plan->simulated + plan->takes + over;
}

/* Whether there is a plan already, without what is tried now, or is going to be by what is tried next. */
static bool oxi_shunt_has_one(const oxi_shunt_search *s) {
    return s->found || s->p->fits || s->p->another || s->spares;
}

/* On a busy machine the first ways may take all of the time: one that fits is wanted whatever it takes. Of
 * large steps no way is begun that would not be done with in time. */
static bool oxi_shunt_is_over(const oxi_shunt_search *s) {
    if (!s->found) return oxi_shunt_spent(s->p) > s->end + (oxi_shunt_has_one(s) ? 0 : 10 * s->p->time_most);
    return oxi_shunt_costs(s->best) <= s->enough || oxi_shunt_spent(s->p) + s->took > s->end;
}

static bool oxi_shunt_is_large(const oxi_shunt_search *s) {
    return s->order.access_count > OXI_SHUNT_FEW;
}

/* Seconds that a try has to stay below; 0: whatever it takes. */
static double oxi_shunt_too_long(const oxi_shunt_search *s) {
    return s->found ? oxi_shunt_costs(s->best) * (1 - 1e-6) : 0;
}

/* The trial becomes the best one if it is better. */
static bool oxi_shunt_judge(oxi_shunt_search *s) {
    if (s->found && oxi_shunt_costs(s->trial) >= oxi_shunt_too_long(s)) return false;
    oxi_shunt_plan *other = s->best;
    s->best = s->trial;
    s->trial = other;
    s->found = true;
    s->improved++;
    s->best_choice.packing = s->packing;
    memcpy(s->best_keep, s->placing.keep, (size_t)s->order.access_count);
    memcpy(s->order.best_alone, s->order.alone, (size_t)s->order.slot_count);
    for (int32_t i = 0; i < s->p->item_count; i++)
        s->best_pins[i] = (uint8_t)(s->p->known[i].pinned | s->p->known[i].caches << 1);
    return true;
}

/* Who is not needed in a slot leaves before it; from the second time on, who is needed as well, to come again
 * as the only ones that are there. No load passes it, nor the slots right behind it. */
static void oxi_shunt_clear_slot(oxi_shunt_search *s, int32_t slot, int32_t behind) {
    oxi_shunt_order *o = &s->order;
    bool all = o->alone[slot] > 1;
    o->alone[slot] = all ? 3 : 2;
    for (int32_t j = slot + 1; j <= slot + behind && j < o->slot_count; j++)
        if (o->alone[j] == 0) o->alone[j] = 1;
    for (int32_t i = 0; i < s->p->item_count; i++) {
        int32_t a = oxi_shunt_access_from(o, i, slot);
        if (a == o->first[i]) continue;
        bool used = a < o->first[i + 1] && o->at[a] == slot;
        if (all || !used) s->placing.keep[a - 1] = 0;
    }
}

/* The same of all slots that the last try found crowded, in one pass over the uses. */
static bool oxi_shunt_clear_slots(oxi_shunt_search *s, int32_t behind) {
    oxi_shunt_order *o = &s->order;
    size_t slots = (size_t)o->slot_count + 1;
    int32_t *crowded = (int32_t *)oxi_shunt_list(slots, sizeof *crowded); /* before a slot, so many */
    if (!crowded) return false;
    for (int32_t j = 0; j < o->slot_count; j++) {
        crowded[j + 1] = crowded[j] + o->crowded[j];
        if (!o->crowded[j]) continue;
        o->crowded[j] += o->alone[j] > 1;
        o->alone[j] = o->crowded[j] > 1 ? 3 : 2;
        for (int32_t k = j + 1; k <= j + behind && k < o->slot_count; k++)
            if (o->alone[k] == 0) o->alone[k] = 1;
    }
    for (int32_t i = 0; i < s->p->item_count; i++)
        for (int32_t a = o->first[i]; a < o->first[i + 1]; a++) {
            bool last = a + 1 == o->first[i + 1];
            int32_t end = last ? o->slot_count : o->at[a + 1];
            bool inside = crowded[end] > crowded[o->at[a] + 1];
            if (inside || (!last && o->crowded[end] > 1)) s->placing.keep[a] = 0;
        }
    oxi_shunt_unlist(crowded, slots, sizeof *crowded);
    return true;
}

/* The schedule of what is placed; where memory is in pieces that are too small, less comes ahead where an
 * item is large, and then slots are cleared. */
static bool oxi_shunt_schedule_mended(oxi_shunt_search *s, int packing) {
    enum { MENDS = 40, MENDS_OF_LARGE = 8 };
    bool large = oxi_shunt_is_large(s);
    memset(s->order.alone, 0, (size_t)s->order.slot_count);
    s->trial->most = oxi_shunt_too_long(s);
    s->trial->until = oxi_shunt_has_one(s) ? s->end : large ? 0 : s->end + 0.25 * s->p->time_most;
    for (int mend = 0; mend <= (large ? MENDS_OF_LARGE : MENDS); mend++) {
        if (oxi_shunt_schedule_run(s->p, &s->order, s->placing.keep, s->placing.pinned_bytes, packing,
                                   s->trial))
            return true;
        if (s->trial->crowded < 0 || oxi_shunt_spent(s->p) > s->end) return false;
        if (!large)
            oxi_shunt_clear_slot(s, s->trial->crowded, mend);
        else if (s->trial->large && !(packing & OXI_PACK_LOOSE))
            packing |= OXI_PACK_LOOSE;
        else if (!oxi_shunt_clear_slots(s, packing & OXI_PACK_LOOSE ? mend - 1 : mend))
            return false;
    }
    return false;
}

static bool oxi_shunt_try(oxi_shunt_search *s, const oxi_shunt_choice *c) {
    double start = oxi_shunt_spent(s->p);
    s->rank = s->ranks[c->spread];
    s->placing.pinned_bytes = oxi_shunt_pin_some(s->p, s->rank, s->rank_count, c->pinned_part);
    oxi_shunt_cache_some(s->p, s->ranks[1], s->rank_count);
    s->packing = c->packing;
    bool better = oxi_shunt_place(s->p, &s->order, c, &s->placing) &&
                  oxi_shunt_schedule_mended(s, c->packing) && oxi_shunt_judge(s);
    if (better) s->best_choice = *c;
    s->took = oxi_shunt_spent(s->p) - start;
    return better;
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
    memcpy(s->order.alone, s->order.best_alone, (size_t)s->order.slot_count);
    for (int32_t i = 0; i < s->p->item_count; i++) {
        s->p->known[i].pinned = s->best_pins[i] & 1;
        s->p->known[i].caches = s->best_pins[i] >> 1;
    }
    s->placing.pinned_bytes = oxi_shunt_pins_place(s->p);
}

static bool oxi_shunt_run_trial(oxi_shunt_search *s) {
    s->trial->most = oxi_shunt_too_long(s);
    s->trial->until = oxi_shunt_has_one(s) ? s->end : 0;
    return oxi_shunt_schedule_run(s->p, &s->order, s->placing.keep, s->placing.pinned_bytes, s->packing,
                                  s->trial) &&
           oxi_shunt_judge(s);
}

/* Who stays is who is needed again soon. */
static bool oxi_shunt_try_near(oxi_shunt_search *s, int32_t far, int packing) {
    s->placing.pinned_bytes = oxi_shunt_pin_some(s->p, s->rank, s->rank_count, 0);
    s->packing = packing;
    bool better = oxi_shunt_place_near(s->p, &s->order, far, s->placing.keep) &&
                  oxi_shunt_schedule_mended(s, packing) && oxi_shunt_judge(s);
    if (better) s->best_choice.capacity_part = s->best_choice.dirty_weight = 1;
    return better;
}

/* Everything leaves after its slot, and comes right before it, which fits wherever one slot does. */
static void oxi_shunt_try_none(oxi_shunt_search *s, int packing) {
    memset(s->placing.keep, 0, (size_t)s->order.access_count);
    s->placing.pinned_bytes = oxi_shunt_pin_some(s->p, s->rank, s->rank_count, 0);
    s->packing = packing;
    if (oxi_shunt_run_trial(s)) s->best_choice.capacity_part = s->best_choice.dirty_weight = 1;
}

/* Who is needed later stays as well, while there is time: of large steps not all is looked at. */
static void oxi_shunt_try_farther(oxi_shunt_search *s) {
    enum { FARTHER = 4, STEPS = 1 << 21 };
    const int32_t farthest = STEPS / (s->order.access_count + 1);
    double took = 0;
    for (int32_t far = FARTHER; far <= farthest && s->found; far *= FARTHER) {
        double start = oxi_shunt_spent(s->p);
        if (start + took > s->end) return;
        (void)oxi_shunt_try_near(s, far, s->best_choice.packing);
        took = oxi_shunt_spent(s->p) - start;
    }
}

/* The same of a large step, whatever the time: by the earliest places, if the time is enough for that and
 * what follows; by those that fit the most often, and take the least time. */
static void oxi_shunt_try_least_large(oxi_shunt_search *s) {
    enum { FOLLOWS = 3 }; /* times what a way takes that fails */
    const int last = OXI_PACK_TIGHT | OXI_PACK_LATE;
    const double end = s->end;
    s->end = s->all_end - FOLLOWS * s->took;
    s->spares = true;
    if (oxi_shunt_spent(s->p) + s->took < s->end) (void)oxi_shunt_try_near(s, 1, 0);
    s->spares = false;
    s->end = end;
    if (!s->found) (void)oxi_shunt_try_near(s, 1, last);
    if (!s->found) oxi_shunt_try_none(s, last);
}

/* Where no other way fits: who the next slot needs stays, or nobody does. Where there is a plan already
 * nothing is begun when the search is over. */
static void oxi_shunt_try_least(oxi_shunt_search *s) {
    const int last = OXI_PACK_TIGHT | OXI_PACK_LATE;
    if (oxi_shunt_is_large(s) && s->p->another) return;
    if (oxi_shunt_is_large(s) && !oxi_shunt_has_one(s)) oxi_shunt_try_least_large(s);
    for (int packing = 0; packing <= last && !s->found && oxi_shunt_spent(s->p) < s->end; packing++)
        (void)oxi_shunt_try_near(s, 1, packing);
    for (int packing = 0; packing <= last && !s->found; packing++) {
        if (oxi_shunt_has_one(s) && oxi_shunt_spent(s->p) > s->end) return;
        oxi_shunt_try_none(s, packing);
    }
    oxi_shunt_try_farther(s);
}

static void oxi_shunt_try_all(oxi_shunt_search *s) {
    enum { PINS = 8 };
    /* Of large steps few are tried: those first that leave items of many sizes some room; behind a ring,
     * where what comes next waits, little more than one slot wants. */
    static const double of_all[PINS] = {1, -1, -2, 0.75, 0.5, 0.25, 0, 0.9},
                        of_large[PINS] = {-2, 0.75, -1, 0.5, 0.25, 0.9, 1, 0},
                        of_ringed[PINS] = {-0.1, -0.35, -1, -2, 0.75, 0.5, 0.25, 0};
    static const double parts[] = {1, 0.85, 0.7, 0.5};
    const double *pins = s->order.access_count <= OXI_SHUNT_FEW ? of_all
                         : s->p->ring[0] > 0                   ? of_ringed
                                                               : of_large;
    static const struct {
        double weight;
        int packing, spread;
    } ways[] = {{1, OXI_PACK_LATE, 1}, /* behind a ring, with the first two of its pins */
                {1, OXI_PACK_RING, 1},
                {1, 0, 0},
                {1, OXI_PACK_TIGHT, 1},
                {1, OXI_PACK_RING, 0},
                {1, OXI_PACK_APART, 1},
                {1, 0, 1},
                {1, OXI_PACK_TIGHT, 0},
                {3, OXI_PACK_APART, 1},
                {3, 0, 0},
                {3, OXI_PACK_TIGHT, 0},
                {3, OXI_PACK_RING, 1},
                {3, 0, 1},
                {1, OXI_PACK_LONG, 1}};
    for (size_t w = pins == of_ringed ? 0 : 1; w < sizeof ways / sizeof *ways; w++)
        for (size_t i = 0; i < PINS && (w > 0 || i < 2); i++)
            for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
                const oxi_shunt_choice c = {pins[i], parts[k], ways[w].weight, ways[w].packing,
                                            ways[w].spread};
                if (oxi_shunt_is_over(s)) return;
                (void)oxi_shunt_try(s, &c);
                if (!s->found && oxi_shunt_is_large(s)) oxi_shunt_try_least(s);
                if (!s->found && oxi_shunt_is_large(s) && s->p->another) return;
                if (s->rank_count == 0 && i > 0) break;
            }
}

/* Gaps that an item may be kept over: somebody needs its bytes afterwards, and what comes round again does
 * not just stay when the step is over, where the next one would have to save it. */
typedef struct oxi_shunt_gaps {
    int32_t *access, *item, count;
    uint64_t *used; /* by slot, while all ways are walked */
    int64_t left;   /* of the ways that may be tried */
    int64_t walked; /* steps of a walk */
} oxi_shunt_gaps;

static bool oxi_shunt_gaps_open(const oxi_shunt_search *s, oxi_shunt_gaps *gaps) {
    const oxi_shunt_order *o = &s->order;
    size_t most = (size_t)o->access_count;
    memset(gaps, 0, sizeof *gaps);
    gaps->access = (int32_t *)oxi_shunt_list(2 * most, sizeof *gaps->access);
    gaps->used = (uint64_t *)oxi_shunt_list((size_t)o->slot_count, sizeof *gaps->used);
    if (!gaps->access || !gaps->used) return false;
    gaps->item = gaps->access + most;
    for (int32_t i = 0; i < s->p->item_count; i++)
        for (int32_t a = o->first[i]; a < o->first[i + 1]; a++) {
            bool last = a + 1 == o->first[i + 1];
            if (s->p->known[i].small || !oxi_shunt_needed_after(o, s->p, i, a)) continue;
            if (last && s->p->known[i].had) continue;
            gaps->access[gaps->count] = a;
            gaps->item[gaps->count++] = i;
        }
    return true;
}

static void oxi_shunt_gaps_close(const oxi_shunt_search *s, oxi_shunt_gaps *gaps) {
    oxi_shunt_unlist(gaps->access, 2 * (size_t)s->order.access_count, sizeof *gaps->access);
    oxi_shunt_unlist(gaps->used, (size_t)s->order.slot_count, sizeof *gaps->used);
}

/* One gap more or less, as long as that helps. */
static void oxi_shunt_refine_gaps(oxi_shunt_search *s, const oxi_shunt_gaps *gaps, bool *better) {
    for (int32_t g = 0; g < gaps->count; g++) {
        if (oxi_shunt_is_over(s)) return;
        oxi_shunt_recall(s);
        if (s->p->known[gaps->item[g]].pinned) continue;
        s->placing.keep[gaps->access[g]] ^= 1;
        *better = oxi_shunt_run_trial(s) || *better;
    }
}

/* Two gaps at once, where one alone does not fit or does not pay. */
static void oxi_shunt_refine_pairs(oxi_shunt_search *s, const oxi_shunt_gaps *gaps, bool *better) {
    for (int32_t a = 0; a < gaps->count; a++)
        for (int32_t b = a + 1; b < gaps->count; b++) {
            if (oxi_shunt_is_over(s)) return;
            oxi_shunt_recall(s);
            s->placing.keep[gaps->access[a]] ^= 1;
            s->placing.keep[gaps->access[b]] ^= 1;
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

/* Seconds of moves that a way cannot do without: of the disk, of the link to the device, and of loads that
 * are on one of the two, whichever the host's room decides. */
typedef struct oxi_shunt_moves {
    double disk, down, either;
} oxi_shunt_moves;

static double oxi_shunt_moves_least(const oxi_shunt_moves *m) {
    double most = m->disk > m->down ? m->disk : m->down, half = (m->disk + m->down + m->either) / 2;
    return most > half ? most : half;
}

/* A load of what nobody wrote to comes from where it was; of what was saved from the disk, or from the host
 * where that has room. */
static void oxi_shunt_moves_load(const oxi_shunt_search *s, int32_t i, bool written, oxi_shunt_moves *m) {
    const oxi_shunt_known *k = &s->p->known[i];
    bool disk = written ? k->room > s->host_most : !k->on_host;
    if (!written && k->on_host)
        m->down += k->load[0];
    else if (disk && !k->caches)
        m->disk += k->load[1];
    else
        m->either += k->load[0] < k->load[1] ? k->load[0] : k->load[1];
}

/* Of the items that are there before the step and not pinned: they come once, and go back once if they are
 * changed. */
static oxi_shunt_moves oxi_shunt_moves_once(const oxi_shunt_search *s) {
    const oxi_shunt_order *o = &s->order;
    oxi_shunt_moves m = {0, 0, 0};
    for (int32_t i = 0; i < s->p->item_count; i++) {
        const oxi_shunt_known *k = &s->p->known[i];
        bool writes = false;
        if (!k->had || oxi_shunt_is_apart(k) || o->first[i] == o->first[i + 1]) continue;
        for (int32_t a = o->first[i]; a < o->first[i + 1]; a++) writes = writes || o->use[a] & 2;
        if (o->use[o->first[i]] & 1) oxi_shunt_moves_load(s, i, false, &m);
        if (k->held && writes && k->room > s->host_most) m.disk += k->save[1];
    }
    return m;
}

/* And where item i leaves behind access a. */
static void oxi_shunt_moves_gap(const oxi_shunt_search *s, int32_t a, int32_t i, oxi_shunt_moves *m) {
    const oxi_shunt_order *o = &s->order;
    const oxi_shunt_known *k = &s->p->known[i];
    bool written = false, dirty = false, again = false, here = true;
    for (int32_t b = a; b >= o->first[i]; b--) {
        written = written || o->use[b] & 2;
        here = here && (b == a || s->placing.keep[b]);
        dirty = dirty || (here && o->use[b] & 2);
    }
    for (int32_t b = a + 1; b < o->first[i + 1]; b++) again = again || o->use[b] & 2;
    if (dirty && k->room > s->host_most && (again || !k->had || !k->held)) m->disk += k->save[1];
    if (a + 1 < o->first[i + 1] && o->use[a + 1] & 1) oxi_shunt_moves_load(s, i, written, m);
}

/* The way at hand, which fits but for memory in pieces: each place at either end, but for the first one,
 * which may as well be at the beginning; some of the ways to do so where there are many. */
static void oxi_shunt_walk_sides(oxi_shunt_search *s, oxi_shunt_gaps *gaps, bool late) {
    enum { ALL = 8, SOME = 1 << (ALL - 1) };
    int32_t places = s->trial->segment_count;
    int64_t improved = s->improved;
    for (int32_t w = 1; w < SOME && gaps->left > 0 && s->improved == improved; w++) {
        int32_t sides = w << 1;
        if (places <= ALL && sides >= 1 << places) break;
        if (places > ALL) sides = (int32_t)(oxi_shunt_mix(17, (uint64_t)w) >> 44);
        s->packing = OXI_PACK_SIDES | (late ? OXI_PACK_LATE : 0) | sides << OXI_PACK_SIDES_AT;
        gaps->left--;
        (void)oxi_shunt_run_trial(s);
    }
}

/* The way at hand with all packings. */
static void oxi_shunt_walk_packings(oxi_shunt_search *s, oxi_shunt_gaps *gaps) {
    for (int late = 0; late < 2; late++) {
        bool better = false, crowded = false;
        for (int w = 0; w < OXI_PACKINGS && gaps->left > 0; w++) {
            s->packing = oxi_shunt_packings[w] | (late ? OXI_PACK_LATE : 0);
            gaps->left--;
            bool is = oxi_shunt_run_trial(s);
            better = better || is;
            crowded = crowded || (!is && s->trial->crowded >= 0);
        }
        if (crowded && !better) oxi_shunt_walk_sides(s, gaps, late == 1);
    }
}

/* All ways to keep gaps from `from` on that fit and whose moves may take less than the best one. */
static void oxi_shunt_walk_gaps(oxi_shunt_search *s, oxi_shunt_gaps *gaps, int32_t from,
                                oxi_shunt_moves moves) {
    if (++gaps->walked % 256 == 0 && oxi_shunt_is_over(s)) gaps->left = 0;
    if (gaps->left <= 0 || oxi_shunt_moves_least(&moves) >= oxi_shunt_too_long(s)) return;
    if (from == gaps->count) {
        if (!oxi_shunt_is_over(s)) oxi_shunt_walk_packings(s, gaps);
        return;
    }
    int32_t a = gaps->access[from], i = gaps->item[from], end;
    uint64_t room = s->p->known[i].room, all = s->p->capacity - s->placing.pinned_bytes;
    bool fits = true;
    end = a + 1 < s->order.first[i + 1] ? s->order.at[a + 1] : s->order.slot_count;
    s->placing.keep[a] = 0;
    if (s->p->known[i].pinned) {
        oxi_shunt_walk_gaps(s, gaps, from + 1, moves);
        return;
    }
    for (int32_t j = s->order.at[a] + 1; j < end; j++) {
        gaps->used[j] += room;
        fits = fits && gaps->used[j] <= all;
    }
    s->placing.keep[a] = 1;
    if (fits) oxi_shunt_walk_gaps(s, gaps, from + 1, moves);
    for (int32_t j = s->order.at[a] + 1; j < end; j++) gaps->used[j] -= room;
    s->placing.keep[a] = 0;
    oxi_shunt_moves_gap(s, a, i, &moves);
    oxi_shunt_walk_gaps(s, gaps, from + 1, moves);
}

/* Every way to pin, where there are few, with every way to keep, those that are like the best one first.
 * False: that was not done with in the end. */
static bool oxi_shunt_refine_all(oxi_shunt_search *s, oxi_shunt_gaps *gaps) {
    enum { TRIES = 8000 * OXI_PACKINGS };
    uint32_t first = 0;
    gaps->left = TRIES;
    if (s->rank_count > 16) return false;
    for (int32_t r = 0; r < s->rank_count; r++) first |= (uint32_t)(s->best_pins[s->rank[r].item] & 1) << r;
    for (uint32_t w = 0; w < 1u << s->rank_count; w++) {
        uint32_t pins = w ^ first;
        for (int32_t r = 0; r < s->rank_count; r++) s->p->known[s->rank[r].item].pinned = pins >> r & 1;
        s->placing.pinned_bytes = oxi_shunt_pins_place(s->p);
        if (s->placing.pinned_bytes > s->p->capacity) continue;
        memset(s->placing.keep, 0, (size_t)s->order.access_count);
        memset(s->order.alone, 0,
               (size_t)s->order.slot_count); /* the best so far may have had to be mended */
        memset(gaps->used, 0, (size_t)s->order.slot_count * sizeof *gaps->used);
        for (int32_t i = 0; i < s->p->item_count; i++) /* where it is used it is there */
            for (int32_t a = s->order.first[i]; a < s->order.first[i + 1]; a++)
                if (!oxi_shunt_is_apart(&s->p->known[i])) gaps->used[s->order.at[a]] += s->p->known[i].room;
        oxi_shunt_walk_gaps(s, gaps, 0, oxi_shunt_moves_once(s));
    }
    return gaps->left > 0 && !oxi_shunt_is_over(s);
}

/* Every way to pin, where there are few: with what MIN makes of the rest, and then single changes of that. */
static void oxi_shunt_refine_subsets(oxi_shunt_search *s, const oxi_shunt_gaps *gaps) {
    static const double parts[] = {1, 0.7, 0.5};
    for (uint32_t pins = 0; pins < 1u << s->rank_count; pins++)
        for (int k = 0; k < 6; k++) {
            oxi_shunt_choice c = {0, parts[k / 2], 1, k % 2, 0};
            if (oxi_shunt_is_over(s)) return;
            for (int32_t r = 0; r < s->rank_count; r++) s->p->known[s->rank[r].item].pinned = pins >> r & 1;
            s->placing.pinned_bytes = oxi_shunt_pins_place(s->p);
            s->packing = c.packing;
            if (s->placing.pinned_bytes > s->p->capacity ||
                !oxi_shunt_place(s->p, &s->order, &c, &s->placing))
                continue;
            if (oxi_shunt_run_trial(s)) s->best_choice = c;
            for (int32_t g = 0; g < gaps->count; g++) {
                s->placing.keep[gaps->access[g]] ^= 1;
                if (!oxi_shunt_run_trial(s)) s->placing.keep[gaps->access[g]] ^= 1;
            }
        }
}

/* A few changes at random, where there are few to choose from: of the best, or of the last ones, so that a
 * walk leads through ways that are worse. */
static void oxi_shunt_shake(oxi_shunt_search *s, const oxi_shunt_gaps *gaps) {
    enum { TRIES = 8000, WALK = 24 };
    for (int t = 0; t < TRIES && gaps->count > 0 && !oxi_shunt_is_over(s); t++) {
        bool walks = t / WALK % 2 == 1 && t % WALK > 0;
        if (!walks) oxi_shunt_recall(s);
        for (int k = 0; k < (walks ? 1 : 3 + t % 3); k++) {
            s->random = oxi_shunt_mix(s->random, (uint64_t)t);
            uint64_t pick = s->random >> 20;
            if (k == 0 && s->rank_count > 0 && pick & 1) {
                oxi_shunt_known *known = &s->p->known[s->rank[pick / 2 % (uint64_t)s->rank_count].item];
                known->pinned = !known->pinned;
            } else {
                s->placing.keep[gaps->access[pick % (uint64_t)gaps->count]] ^= 1;
            }
        }
        s->placing.pinned_bytes = oxi_shunt_pins_place(s->p);
        if (s->placing.pinned_bytes > s->p->capacity) continue;
        int packing = t % (OXI_PACKINGS + 1), sides = (int)(s->random >> 44) << OXI_PACK_SIDES_AT;
        s->packing = (packing < OXI_PACKINGS ? oxi_shunt_packings[packing] : OXI_PACK_SIDES | sides) |
                     (t / (OXI_PACKINGS + 1) % 2 ? OXI_PACK_LATE : 0);
        (void)oxi_shunt_run_trial(s);
    }
}

/* Whether the best way takes more of the disk than there is. */
static bool oxi_shunt_is_short(const oxi_shunt_search *s) {
    return s->found && s->best->over > 0;
}

static void oxi_shunt_refine(oxi_shunt_search *s) {
    enum { SUBSETS = 5 };
    bool better = s->found && s->order.access_count <= OXI_SHUNT_FEW;
    bool very_few = s->order.access_count <= OXI_SHUNT_VERY_FEW, whole = false;
    bool few_pins = very_few && s->rank_count <= SUBSETS;
    oxi_shunt_gaps gaps;
    if (!better) return;
    if (oxi_shunt_gaps_open(s, &gaps)) {
        if (few_pins) {
            oxi_shunt_refine_subsets(s, &gaps); /* the better the first, the less is walked */
            whole = oxi_shunt_refine_all(s, &gaps);
            better = !whole;
        }
        while (better && !oxi_shunt_is_over(s)) {
            better = false;
            s->packing = s->best_choice.packing;
            oxi_shunt_refine_gaps(s, &gaps, &better);
            if (s->rank_count <= OXI_SHUNT_VERY_FEW) oxi_shunt_refine_pins(s, &better);
            if (!better && very_few) oxi_shunt_refine_pairs(s, &gaps, &better);
        }
        if ((very_few && !(few_pins && whole)) || oxi_shunt_is_short(s)) oxi_shunt_shake(s, &gaps);
    }
    oxi_shunt_gaps_close(s, &gaps);
}

/* ---- second runs --------------------------------------------------------------------------------------- */

/* Every way to keep and to pin with the order at hand. */
static bool oxi_shunt_try_ways(oxi_shunt_search *s) {
    oxi_shunt_gaps gaps;
    bool all = oxi_shunt_gaps_open(s, &gaps) && oxi_shunt_refine_all(s, &gaps);
    oxi_shunt_gaps_close(s, &gaps);
    return all;
}

/* Tries an order, which it takes; whether it is better, and stays. whole: with every way to keep and to pin,
 * and it becomes false where those were not done with; NULL: with what was the best so far, and some more. */
static bool oxi_shunt_try_other(oxi_shunt_search *s, oxi_shunt_order order, bool *whole) {
    oxi_shunt_order before = s->order;
    int64_t improved = s->improved;
    uint8_t *pins = (uint8_t *)oxi_alloc((size_t)s->p->item_count + 1), *keep = s->best_keep;
    uint8_t *placing = s->placing.keep;
    if (!pins) {
        oxi_shunt_order_close(&order, s->p);
        return false;
    }
    size_t accesses = (size_t)order.access_count;
    memcpy(pins, s->best_pins, (size_t)s->p->item_count);
    s->placing.keep = (uint8_t *)oxi_shunt_list(accesses, 1);
    s->best_keep = (uint8_t *)oxi_shunt_list(accesses, 1);
    s->order = order;
    if (s->placing.keep && s->best_keep) {
        (void)oxi_shunt_try(s, &s->best_choice);
        if (!whole && s->improved == improved && oxi_shunt_spent(s->p) < s->end) oxi_shunt_try_all(s);
        if (whole && !oxi_shunt_try_ways(s)) *whole = false;
    }
    bool better = s->improved != improved;
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

/* Tries the order with so many of the list. */
static bool oxi_shunt_try_repeats(oxi_shunt_search *s, const oxi_shunt_repeat *list, int32_t count) {
    oxi_shunt_order order;
    return oxi_shunt_order_with(s->p, &s->original, list, count, &order) &&
           oxi_shunt_try_other(s, order, NULL);
}

/* Tries nodes in an order of their own. */
static bool oxi_shunt_try_order(oxi_shunt_search *s, const int32_t *nodes, int32_t count, bool *whole) {
    oxi_shunt_order order;
    memset(&order, 0, sizeof order);
    order.slot_count = count;
    order.slot = (int32_t *)oxi_shunt_list((size_t)count, sizeof *order.slot);
    if (order.slot) memcpy(order.slot, nodes, (size_t)count * sizeof *nodes);
    if (order.slot && oxi_shunt_order_fill(&order, s->p)) return oxi_shunt_try_other(s, order, whole);
    oxi_shunt_order_close(&order, s->p);
    *whole = false;
    return false;
}

/* One, two, four .. of the loads of the best plan, then its others. */
static void oxi_shunt_try_again(oxi_shunt_search *s) {
    size_t room = (size_t)s->best->segment_count;
    oxi_shunt_repeat *list = (oxi_shunt_repeat *)oxi_shunt_list(room, sizeof *list);
    int32_t count = list ? oxi_shunt_repeats(s->p, &s->original, s->best, list) : 0, taken = 0;
    for (int32_t some = 1; some <= 2 * count && oxi_shunt_spent(s->p) + s->took < s->end; some *= 2) {
        int32_t many = some < count ? some : count;
        if (oxi_shunt_try_repeats(s, list, many)) taken = many;
        if (many == count) break;
    }
    for (int32_t r = 0; r < count && count <= 16 && oxi_shunt_spent(s->p) < s->end; r++) { /* each alone */
        oxi_shunt_repeat one = list[r];
        if (taken == 0 && oxi_shunt_try_repeats(s, &one, 1)) break;
    }
    oxi_shunt_unlist(list, room, sizeof *list);
}

static bool oxi_shunt_exact_all(oxi_shunt_search *s);

/* ---- the plan ------------------------------------------------------------------------------------------ */

static bool oxi_shunt_search_open(oxi_shunt_search *s, oxi_shunt_problem *p) {
    memset(s, 0, sizeof *s);
    s->p = p;
    s->end = oxi_shunt_spent(p) + p->time_most;
    size_t items = (size_t)p->item_count;
    s->trial = (oxi_shunt_plan *)oxi_calloc(1, sizeof *s->trial);
    s->best = (oxi_shunt_plan *)oxi_calloc(1, sizeof *s->best);
    s->ranks[0] = s->rank = (oxi_shunt_rank *)oxi_shunt_list(2 * items, sizeof *s->rank);
    s->ranks[1] = s->rank + items;
    s->best_pins = (uint8_t *)oxi_shunt_list(items, 1);
    s->host_most = p->host_room;
    for (int32_t i = 0; i < p->item_count; i++) {
        if (p->known[i].had && p->known[i].on_host) s->host_most += p->known[i].room;
        if (p->known[i].room > p->largest) p->largest = p->known[i].room;
    }
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
    oxi_shunt_unlist(s->ranks[0], 2 * items, sizeof *s->rank);
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
    plan->link = s->link;
    plan->enough = s->enough;
    plan->whole = s->whole;
    return true;
}

/* Where the best way takes more of the disk than there is, the alternative to another one is an error. */
static void oxi_shunt_give_time(oxi_shunt_search *s) {
    if (oxi_shunt_is_short(s)) s->end = oxi_shunt_spent(s->p) + 4 * s->p->time_most;
}

/* The best plan of an order. */
static oxi_shunt_plan *oxi_shunt_plan_search(oxi_shunt_problem *p) {
    oxi_shunt_search s;
    oxi_shunt_plan *made = NULL;
    const double begun = oxi_shunt_spent(p);
    if (oxi_shunt_search_open(&s, p)) {
        double takes = 0;
        s.disk = oxi_shunt_tier_bound(p, &s.order, 1, &takes);
        s.link = oxi_shunt_tier_bound(p, &s.order, 0, &takes);
        s.bound = s.order.start[p->node_count] > s.disk ? s.order.start[p->node_count] : s.disk;
        if (s.link > s.bound) s.bound = s.link;
        s.enough = 1.003 * (s.bound + takes);
        s.rank_count = oxi_shunt_rank_all(p, &s.order, s.rank);
        memcpy(s.ranks[1], s.rank, (size_t)s.rank_count * sizeof *s.rank);
        oxi_shunt_rank_spread(p, s.ranks[1], s.rank_count);
        s.end -= (oxi_shunt_spent(p) - begun) / 2; /* what is done with it takes about as long */
        const double end = s.all_end = s.end;
        if (p->recompute != OX_RECOMPUTE_OFF && oxi_shunt_is_large(&s))
            s.end -= p->time_most / 5; /* for second runs */
        oxi_shunt_try_all(&s);
        if (!s.found) oxi_shunt_try_least(&s);
        s.end = end;
        oxi_shunt_give_time(&s);
        oxi_shunt_refine(&s);
        oxi_shunt_give_time(&s);
        if (s.found && p->recompute != OX_RECOMPUTE_OFF && !oxi_shunt_is_over(&s)) {
            oxi_shunt_try_again(&s);
            oxi_shunt_refine(&s);
        }
        if (s.found && p->recompute != OX_RECOMPUTE_OFF && s.original.access_count <= OXI_SHUNT_VERY_FEW &&
            !oxi_shunt_is_over(&s))
            s.whole = oxi_shunt_exact_all(&s);
        if (s.found && oxi_shunt_plan_finish(&s)) {
            made = s.best;
            s.best = NULL;
        }
    }
    oxi_shunt_search_close(&s);
    return made;
}

/* Of two plans the better one; the other goes. */
static oxi_shunt_plan *oxi_shunt_plan_better(oxi_shunt_plan *a, oxi_shunt_plan *b) {
    bool better = b && (!a || oxi_shunt_costs(b) < oxi_shunt_costs(a));
    oxi_shunt_plan_free(better ? a : b);
    return better ? b : a;
}

/* A plan, or NULL: none fits, or there is no memory for one. No error is recorded. In half of the time one of
 * the program's order, in the rest one of the early order; where that has none either, of the program's,
 * whatever it takes. */
static oxi_shunt_plan *oxi_shunt_plan_make(oxi_shunt_problem *p) {
    const double most = p->time_most;
    oxi_shunt_spend(p);
    int32_t *early = oxi_shunt_order_early(p);
    if (early) p->time_most = most / 2;
    p->another = early != NULL;
    oxi_shunt_plan *plan = oxi_shunt_plan_search(p);
    const double left = most - oxi_shunt_spent(p);
    p->another = false;
    p->order = early;
    p->fits = plan && plan->over == 0;
    if (left > 0) p->time_most = left;
    bool again = early && (!p->fits || (left > 0 && oxi_shunt_costs(plan) > plan->enough));
    if (again) plan = oxi_shunt_plan_better(plan, oxi_shunt_plan_search(p));
    p->order = NULL;
    p->fits = false;
    if (early && !plan) plan = oxi_shunt_plan_search(p);
    p->time_most = most;
    oxi_shunt_unlist(early, (size_t)p->node_count, sizeof *early);
    return plan;
}
