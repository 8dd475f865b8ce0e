/* OX_RECOMPUTE_EXACT: of all orders in which a step's nodes run, some of them again, the one that takes the
 * least by the schedule, each with all ways to pin and to keep: branch and bound, for steps with few uses.
 * What runs again stands right before the node that reads it, and what that reads may run again before it.
 * An order is built from its end: when a node is in front, whichever of what it reads may run again does or
 * does not, one after another, for those in front serve those behind. Orders whose computing alone takes as
 * long as the best way so far are cut off with all that they would become. */

typedef struct oxi_shunt_exact {
    oxi_shunt_search *s;
    int32_t *order, room, front; /* nodes of order[front .. room) */
    int32_t slot;                /* of the original order, the one that is being placed */
    double seconds;              /* of computing, of the nodes before `slot` too */
    int32_t least, most;         /* second runs of this pass: more than, at most */
    bool cut;                    /* there are orders with more */
    bool whole;                  /* nothing was left out */
    bool over;                   /* its time is, which is asked for once in sixteen walks */
    int64_t walks;
} oxi_shunt_exact;

static void oxi_shunt_exact_push(oxi_shunt_exact *e, int32_t node) {
    e->order[--e->front] = node;
}

/* The node that can make item i again for the slot that is being placed; -1: none. */
static int32_t oxi_shunt_exact_maker(const oxi_shunt_exact *e, int32_t i) {
    const oxi_shunt_search *s = e->s;
    int32_t a = oxi_shunt_access_from(&s->original, i, e->slot);
    if (s->p->known[i].small) return -1;
    int32_t slot = oxi_shunt_maker_before(s->p, &s->original, i, a, e->slot);
    return slot < 0 ? -1 : s->original.slot[slot];
}

/* Whether a second run of it is one that the program wants: by what it moves instead, if that is asked
 * for. */
static bool oxi_shunt_exact_pays(const oxi_shunt_exact *e, int32_t i, int32_t node) {
    const oxi_shunt_problem *p = e->s->p;
    return p->recompute == OX_RECOMPUTE_EXACT ||
           oxi_shunt_repeat_pays(p, p->seconds[node], oxi_shunt_repeat_moves(p, &p->known[i]));
}

/* Whether a node runs between the front and position `at` anyway. */
static bool oxi_shunt_exact_has(const oxi_shunt_exact *e, int32_t at, int32_t node) {
    for (int32_t k = e->front; k < at; k++)
        if (e->order[k] == node) return true;
    return false;
}

static void oxi_shunt_exact_walk(oxi_shunt_exact *e, int32_t at);

/* The next slot of the original order, or the end: an order to try. */
static void oxi_shunt_exact_next(oxi_shunt_exact *e) {
    const oxi_shunt_search *s = e->s;
    if (e->slot == 0) {
        int32_t count = e->room - e->front;
        if (count - s->p->node_count <= e->least) return; /* that is tried */
        (void)oxi_shunt_try_order(e->s, e->order + e->front, count, &e->whole);
        return;
    }
    int32_t before = e->front, slot = e->slot--;
    oxi_shunt_exact_push(e, s->original.slot[e->slot]);
    oxi_shunt_exact_walk(e, e->front);
    e->front = before;
    e->slot = slot;
}

/* Position `at` is in front of all whose reads are decided: any of its own may run again, then what is
 * before it. */
static void oxi_shunt_exact_walk(oxi_shunt_exact *e, int32_t at) {
    const oxi_shunt_problem *p = e->s->p;
    if (e->seconds >= oxi_shunt_too_long(e->s)) return;
    e->over = e->over || (++e->walks % 16 == 0 && oxi_shunt_spent(e->s->p) > e->s->end);
    if (e->over) {
        e->whole = false;
        return;
    }
    int32_t node = e->order[at];
    for (int32_t t = p->first[node]; t < p->first[node + 1]; t++) {
        int32_t maker = p->touch[t].reads ? oxi_shunt_exact_maker(e, p->touch[t].item) : -1;
        if (maker < 0 || maker == node || oxi_shunt_exact_has(e, at, maker)) continue;
        if (!oxi_shunt_exact_pays(e, p->touch[t].item, maker)) continue;
        if (e->room - e->front - (p->node_count - e->slot) == e->most) {
            e->cut = true;
            continue;
        }
        if (e->front <= e->slot) { /* as many second runs as the list has room for */
            e->whole = false;
            continue;
        }
        oxi_shunt_exact_push(e, maker);
        e->seconds += p->seconds[maker];
        oxi_shunt_exact_walk(e, at);
        e->seconds -= p->seconds[maker];
        e->front++;
    }
    if (at > e->front)
        oxi_shunt_exact_walk(e, at - 1);
    else
        oxi_shunt_exact_next(e);
}

/* Orders with one second run, then those with two, up to four .. : where time is short, the few come first.
 * True: no order is better than the one that was found. */
static bool oxi_shunt_exact_all(oxi_shunt_search *s) {
    oxi_shunt_exact e;
    memset(&e, 0, sizeof e);
    e.s = s;
    e.whole = true;
    e.slot = s->p->node_count;
    e.room = e.front = 3 * s->p->node_count;
    e.seconds = s->original.start[s->p->node_count];
    e.order = (int32_t *)oxi_shunt_list((size_t)e.room, sizeof *e.order);
    if (!e.order) return false;
    do {
        e.cut = false;
        e.most = e.least == 0 ? 1 : 2 * e.least;
        oxi_shunt_exact_next(&e);
        e.least = e.most;
    } while (e.cut && !oxi_shunt_is_over(s));
    oxi_shunt_unlist(e.order, (size_t)e.room, sizeof *e.order);
    return e.whole && !e.cut && oxi_shunt_spent(s->p) <= s->end;
}
