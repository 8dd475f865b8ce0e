/* Which nodes run a second time instead of having their results moved: those that bring back the most bytes
 * for the time they take (Capuchin, Peng et al. 2020), as long as the plan gains by it. A second run stands
 * right before the use that wants it. It reads what the first one read, so that must not have changed
 * since. */

typedef struct oxi_shunt_repeat {
    int32_t node, before; /* the slot that it comes before */
    double worth;         /* seconds of moves, by seconds of computing */
} oxi_shunt_repeat;

static int oxi_shunt_repeat_compare(const void *a, const void *b) {
    const oxi_shunt_repeat *x = (const oxi_shunt_repeat *)a, *y = (const oxi_shunt_repeat *)b;
    if (x->worth != y->worth) return x->worth > y->worth ? -1 : 1;
    return x->before < y->before ? -1 : x->before > y->before;
}

/* Whether item i has the bytes before slot `to` that it had before slot `from`. */
static bool oxi_shunt_unchanged(const oxi_shunt_order *o, int32_t i, int32_t from, int32_t to) {
    for (int32_t a = oxi_shunt_access_from(o, i, from); a < o->first[i + 1] && o->at[a] < to; a++)
        if (o->use[a] & 2) return false;
    return true;
}

/* The slot of the last write of item i before access a; -1: none, or it may not run again before `to`. */
static int32_t oxi_shunt_maker_before(const oxi_shunt_problem *p, const oxi_shunt_order *o, int32_t i,
                                      int32_t a, int32_t to) {
    int32_t w = a - 1;
    while (w >= o->first[i] && !(o->use[w] & 2)) w--;
    if (w < o->first[i] || o->use[w] & 1 || !p->again) return -1;
    int32_t slot = o->at[w], node = o->slot[slot];
    if (!p->again[node]) return -1;
    for (int32_t t = p->first[node]; t < p->first[node + 1]; t++) {
        int32_t in = p->touch[t].item;
        if (in == i) continue;
        if (!oxi_shunt_unchanged(o, in, slot, to)) return -1;
    }
    return slot;
}

static int32_t oxi_shunt_maker(const oxi_shunt_problem *p, const oxi_shunt_order *o, int32_t i, int32_t a) {
    return oxi_shunt_maker_before(p, o, i, a, o->at[a]);
}

/* Seconds of the moves that a second run of its maker saves. */
static double oxi_shunt_repeat_moves(const oxi_shunt_problem *p, const oxi_shunt_known *k) {
    int tier = (k->had ? k->on_host : k->room <= p->host_room) ? 0 : 1;
    return k->load[tier] + k->save[tier];
}

/* By what the program allows. */
static bool oxi_shunt_repeat_pays(const oxi_shunt_problem *p, double seconds, double moves) {
    return p->recompute >= OX_RECOMPUTE_AGGRESSIVE ||
           seconds <= (p->recompute == OX_RECOMPUTE_CHEAP ? 1 : 8) * moves;
}

/* Loads of the best plan that a second run could take the place of, the best first; how many. */
static int32_t oxi_shunt_repeats(const oxi_shunt_problem *p, const oxi_shunt_order *o,
                                 const oxi_shunt_plan *best, oxi_shunt_repeat *out) {
    int32_t count = 0;
    for (int32_t g = 0; g < best->segment_count; g++) {
        const oxi_shunt_segment *one = &best->segment[g];
        if (!one->loads) continue;
        int32_t a = oxi_shunt_access_from(o, one->item, one->first);
        int32_t slot = oxi_shunt_maker(p, o, one->item, a);
        if (slot < 0) continue;
        double moves = oxi_shunt_repeat_moves(p, &p->known[one->item]), seconds = p->seconds[o->slot[slot]];
        bool wants = best->over > 0 && p->recompute != OX_RECOMPUTE_CHEAP; /* bytes of the disk */
        if (!wants && !oxi_shunt_repeat_pays(p, seconds, moves)) continue;
        out[count].node = o->slot[slot];
        out[count].before = one->first;
        out[count++].worth = moves / (seconds + 1e-12);
    }
    qsort(out, (size_t)count, sizeof *out, oxi_shunt_repeat_compare);
    return count;
}

/* The order with the first `count` of the list in it. */
static bool oxi_shunt_order_with(const oxi_shunt_problem *p, const oxi_shunt_order *o,
                                 const oxi_shunt_repeat *list, int32_t count, oxi_shunt_order *out) {
    size_t slots = (size_t)o->slot_count;
    int32_t *more = (int32_t *)oxi_shunt_list(slots + 1, sizeof *more), *next;
    memset(out, 0, sizeof *out);
    out->slot_count = o->slot_count + count;
    out->slot = (int32_t *)oxi_shunt_list(slots + (size_t)count, sizeof *out->slot);
    next = (int32_t *)oxi_shunt_list((size_t)count, sizeof *next);
    bool made = more && out->slot && next;
    for (int32_t r = count - 1; made && r >= 0; r--) { /* lists by slot, from 1 on */
        next[r] = more[list[r].before];
        more[list[r].before] = r + 1;
    }
    for (int32_t j = 0, k = 0; made && j < o->slot_count; j++) {
        for (int32_t r = more[j]; r > 0; r = next[r - 1]) out->slot[k++] = list[r - 1].node;
        out->slot[k++] = o->slot[j];
    }
    oxi_shunt_unlist(more, slots + 1, sizeof *more);
    oxi_shunt_unlist(next, (size_t)count, sizeof *next);
    made = made && oxi_shunt_order_fill(out, p);
    if (!made) oxi_shunt_order_close(out, p);
    return made;
}
