/* Whose copies are compressed: what makes a plan shorter, and nothing else. A plan is made with all bits, and
 * timed again as if all that moves and may be compressed was. Where that does not take a hundredth off,
 * nothing is. Else those moves keep all bits that have the time for them: as many as do not make it longer,
 * those first that may end the latest. */

static const double oxi_shunt_pack_gain = 0.01, oxi_shunt_pack_loss = 0.001;

/* The times of its moves as they are with the other kind of copies. */
static void oxi_shunt_pack_swap(oxi_shunt_known *a, oxi_shunt_known *b) {
    oxi_shunt_known before = *a;
    a->packs = b->packs;
    b->packs = before.packs;
    a->spill = b->spill;
    b->spill = before.spill;
    for (int tier = 0; tier < 2; tier++) {
        a->load[tier] = b->load[tier];
        a->save[tier] = b->save[tier];
        a->load_takes[tier] = b->load_takes[tier];
        a->save_takes[tier] = b->save_takes[tier];
        b->load[tier] = before.load[tier];
        b->save[tier] = before.save[tier];
        b->load_takes[tier] = before.load_takes[tier];
        b->save_takes[tier] = before.save_takes[tier];
    }
}

typedef struct oxi_shunt_slack {
    double seconds;
    int32_t item;
} oxi_shunt_slack;

static int oxi_shunt_slack_compare(const void *a, const void *b) {
    const oxi_shunt_slack *x = (const oxi_shunt_slack *)a, *y = (const oxi_shunt_slack *)b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

/* A plan whose instructions are timed again; times: one for each of them, a lane behind the other. */
typedef struct oxi_shunt_timing {
    oxi_shunt_plan *plan;
    oxi_shunt_known *other;
    double *times, *lane[OXI_LANES], *left;
    oxi_shunt_slack *slack; /* of items that move and may be compressed, the most first */
    int32_t count;
} oxi_shunt_timing;

static double oxi_shunt_pack_seconds(const oxi_shunt_known *k, const oxi_shunt_instruction *in) {
    int tier = in->lane == OXI_LANE_DISK;
    double share = in->bytes > 0 ? (double)in->bytes / (double)k->room : 1;
    return share * (oxi_shunt_comes(in) ? k->load[tier] : k->save[tier]);
}

/* When everything is, by what moves take now; what it costs. */
static double oxi_shunt_pack_time(oxi_shunt_timing *t) {
    oxi_shunt_plan *plan = t->plan;
    double end[OXI_LANES] = {0, 0, 0, 0};
    plan->simulated = plan->takes = 0;
    for (int32_t k = 0; k < plan->instruction_count; k++) {
        oxi_shunt_instruction *in = &plan->instruction[k];
        in->start = end[in->lane];
        for (int lane = 0; lane < OXI_LANES; lane++)
            if (in->wait[lane] > 0 && t->lane[lane][in->wait[lane] - 1] > in->start)
                in->start = t->lane[lane][in->wait[lane] - 1];
        if (in->action != OXI_ACT_NODE) {
            const oxi_shunt_known *known = &plan->known[in->item];
            int tier = in->lane == OXI_LANE_DISK;
            in->seconds = oxi_shunt_pack_seconds(known, in);
            plan->takes += oxi_shunt_comes(in) ? known->load_takes[tier] : known->save_takes[tier];
        }
        end[in->lane] = t->lane[in->lane][in->number] = in->start + in->seconds;
        if (end[in->lane] > plan->simulated) plan->simulated = end[in->lane];
    }
    return oxi_shunt_costs(plan);
}

/* Items that move and may be compressed, which they are from now on. */
static void oxi_shunt_pack_list(oxi_shunt_timing *t) {
    for (int32_t k = 0; k < t->plan->instruction_count; k++) {
        const oxi_shunt_instruction *in = &t->plan->instruction[k];
        if (in->action == OXI_ACT_NODE || !t->other[in->item].packs) continue;
        oxi_shunt_pack_swap(&t->plan->known[in->item], &t->other[in->item]);
        t->slack[t->count++].item = in->item;
    }
}

/* Walking backward, how much later their moves may end, and how much of that all bits would leave. */
static void oxi_shunt_pack_slack(oxi_shunt_timing *t) {
    const oxi_shunt_plan *plan = t->plan;
    double *left = t->left;
    for (int32_t k = 0; k < t->count; k++) left[t->slack[k].item] = plan->simulated;
    for (int lane = 0; lane < OXI_LANES; lane++)
        for (int32_t k = 0; k < plan->lane_count[lane]; k++) t->lane[lane][k] = plan->simulated;
    for (int32_t k = plan->instruction_count - 1; k >= 0; k--) {
        const oxi_shunt_instruction *in = &plan->instruction[k];
        double latest = t->lane[in->lane][in->number], start = latest - in->seconds;
        if (in->number > 0 && t->lane[in->lane][in->number - 1] > start)
            t->lane[in->lane][in->number - 1] = start;
        for (int lane = 0; lane < OXI_LANES; lane++)
            if (in->wait[lane] > 0 && t->lane[lane][in->wait[lane] - 1] > start)
                t->lane[lane][in->wait[lane] - 1] = start;
        if (in->action == OXI_ACT_NODE || !plan->known[in->item].packs) continue;
        double whole = latest - in->start - oxi_shunt_pack_seconds(&t->other[in->item], in);
        if (whole < left[in->item]) left[in->item] = whole;
    }
    for (int32_t k = 0; k < t->count; k++) t->slack[k].seconds = left[t->slack[k].item];
    qsort(t->slack, (size_t)t->count, sizeof *t->slack, oxi_shunt_slack_compare);
}

/* So many of the list keep all bits, where `before` did. */
static void oxi_shunt_pack_first(oxi_shunt_timing *t, int32_t before, int32_t count) {
    int32_t low = before < count ? before : count, high = before < count ? count : before;
    for (int32_t k = low; k < high; k++)
        oxi_shunt_pack_swap(&t->plan->known[t->slack[k].item], &t->other[t->slack[k].item]);
}

/* All of them, if that pays; then as few as may be, by halves. */
static void oxi_shunt_pack_few(oxi_shunt_timing *t) {
    double whole = oxi_shunt_costs(t->plan);
    oxi_shunt_pack_list(t);
    double packed = t->count > 0 ? oxi_shunt_pack_time(t) : whole, most = (1 + oxi_shunt_pack_loss) * packed;
    bool pays = packed < (1 - oxi_shunt_pack_gain) * whole;
    int32_t low = pays ? 0 : t->count, high = t->count, now = 0;
    if (pays) oxi_shunt_pack_slack(t);
    while (low < high) {
        int32_t middle = (low + high + 1) / 2;
        oxi_shunt_pack_first(t, now, middle);
        now = middle;
        if (oxi_shunt_pack_time(t) <= most)
            low = middle;
        else
            high = middle - 1;
    }
    oxi_shunt_pack_first(t, now, low);
    if (t->count > 0) (void)oxi_shunt_pack_time(t);
}

/* A plan with all copies compressed that may be, where the disk is too small for whole ones; the one at hand
 * if that is of no use. */
static oxi_shunt_plan *oxi_shunt_plan_pack_all(oxi_shunt_problem *p, oxi_shunt_plan *plan) {
    for (int32_t i = 0; i < p->item_count; i++)
        if (p->other[i].packs) oxi_shunt_pack_swap(&p->known[i], &p->other[i]);
    oxi_shunt_plan *packed = oxi_shunt_plan_make(p);
    bool better = packed && packed->over < plan->over;
    oxi_shunt_plan_free(better ? plan : packed);
    return better ? packed : plan;
}

/* A plan, or NULL: none fits, or there is no memory for one. No error is recorded. */
static oxi_shunt_plan *oxi_shunt_plan_pack(oxi_shunt_problem *p) {
    oxi_shunt_plan *plan = oxi_shunt_plan_make(p);
    if (!plan || !p->other) return plan;
    if (plan->over > 0) return oxi_shunt_plan_pack_all(p, plan);
    size_t all = (size_t)plan->instruction_count, items = (size_t)plan->item_count;
    oxi_shunt_timing t;
    memset(&t, 0, sizeof t);
    t.plan = plan;
    t.other = p->other;
    double *at = t.times = (double *)oxi_shunt_list(all, sizeof *t.times);
    t.left = (double *)oxi_shunt_list(items, sizeof *t.left);
    t.slack = (oxi_shunt_slack *)oxi_shunt_list(items, sizeof *t.slack);
    for (int lane = 0; at && lane < OXI_LANES; at += plan->lane_count[lane++]) t.lane[lane] = at;
    if (t.times && t.left && t.slack) oxi_shunt_pack_few(&t);
    oxi_shunt_unlist(t.times, all, sizeof *t.times);
    oxi_shunt_unlist(t.left, items, sizeof *t.left);
    oxi_shunt_unlist(t.slack, items, sizeof *t.slack);
    return plan;
}
