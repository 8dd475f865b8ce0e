/* Another order of a step's nodes: what needs no more memory than it gives back comes as early as it may. So
 * an optimizer changes a weight right after its gradient is there, and gradients are never all there at once,
 * though the program makes all of them first. Nodes stay behind whoever wrote what they read, or used what
 * they write. */

static bool oxi_shunt_uses(const oxi_shunt_problem *p, int32_t n, int32_t item) {
    for (int32_t t = p->first[n]; t < p->first[n + 1]; t++)
        if (p->touch[t].item == item) return true;
    return false;
}

/* Bytes that a node makes beyond those that it is the last to use, of items that node `but` (-1: none) does
 * not use. */
static int64_t oxi_shunt_growth(const oxi_shunt_problem *p, const oxi_shunt_order *o, int32_t n,
                                int32_t but) {
    int64_t bytes = 0;
    for (int32_t k = o->from[n]; k < o->from[n + 1]; k++) {
        int32_t a = o->access[k], i = p->touch[p->first[n] + k - o->from[n]].item;
        const oxi_shunt_known *known = &p->known[i];
        if (but >= 0 && oxi_shunt_uses(p, but, i)) continue;
        if (a == o->first[i] && !known->had) bytes += (int64_t)known->room;
        if (a + 1 == o->first[i + 1] && !known->held) bytes -= (int64_t)known->room;
    }
    return bytes;
}

/* Whether it works on anything that plans move, besides. */
static bool oxi_shunt_has_weight(const oxi_shunt_problem *p, int32_t n) {
    for (int32_t t = p->first[n]; t < p->first[n + 1]; t++)
        if (p->known[p->touch[t].item].room > 0) return true;
    return false;
}

/* behind[n]: the node of the program's order that n comes right behind, with all that came earlier and do so;
 * itself where it stays. */
static void oxi_shunt_anchor(const oxi_shunt_problem *p, const oxi_shunt_order *o, int32_t *behind,
                             int32_t (*used)[2]) {
    for (int32_t i = 0; i < p->item_count; i++) used[i][0] = used[i][1] = -1; /* by anybody, by writers */
    for (int32_t n = 0; n < p->node_count; n++) {
        int32_t least = -1;
        for (int32_t t = p->first[n]; t < p->first[n + 1]; t++) {
            int32_t last = used[p->touch[t].item][p->touch[t].writes ? 0 : 1];
            if (last > least) least = last;
        }
        bool early = least >= 0 && oxi_shunt_has_weight(p, n) && oxi_shunt_growth(p, o, n, -1) <= 0;
        behind[n] = early ? least : n;
        for (int32_t t = p->first[n]; t < p->first[n + 1]; t++) {
            int32_t *last = used[p->touch[t].item];
            if (behind[n] > last[0]) last[0] = behind[n];
            if (p->touch[t].writes) last[1] = behind[n];
        }
    }
}

/* Whether neither of two nodes needs what the other one writes. */
static bool oxi_shunt_are_apart(const oxi_shunt_problem *p, int32_t a, int32_t b) {
    for (int32_t t = p->first[a]; t < p->first[a + 1]; t++)
        for (int32_t u = p->first[b]; u < p->first[b + 1]; u++)
            if (p->touch[t].item == p->touch[u].item && (p->touch[t].writes || p->touch[u].writes))
                return false;
    return true;
}

/* Of neighbors that are apart the one that needs much less memory comes first: so the gradient of a product
 * with a large matrix, which is not needed any more when that of the matrix itself is made. */
static void oxi_shunt_order_lean(const oxi_shunt_problem *p, const oxi_shunt_order *o, int32_t *order) {
    enum { FAR = 4, MUCH = 16 };
    const int64_t much = (int64_t)(p->capacity / MUCH);
    for (int32_t j = 1; j < p->node_count; j++)
        for (int32_t k = j; k > 0 && j - k < FAR; k--) {
            int32_t a = order[k - 1], b = order[k];
            if (oxi_shunt_growth(p, o, a, b) - oxi_shunt_growth(p, o, b, a) <= much) break;
            if (!oxi_shunt_are_apart(p, a, b)) break;
            order[k - 1] = b;
            order[k] = a;
        }
}

/* Nodes in that order, a list of node_count; NULL: it is the program's, or there is no memory. */
static int32_t *oxi_shunt_order_early(const oxi_shunt_problem *p) {
    size_t nodes = (size_t)p->node_count, items = (size_t)p->item_count;
    oxi_shunt_order o;
    if (!oxi_shunt_order_open(&o, p)) return NULL;
    int32_t *behind = (int32_t *)oxi_shunt_list(nodes, sizeof *behind);
    int32_t *start = (int32_t *)oxi_shunt_list(nodes, sizeof *start);
    int32_t *order = (int32_t *)oxi_shunt_list(nodes, sizeof *order);
    int32_t(*used)[2] = (int32_t(*)[2])oxi_shunt_list(items, sizeof *used);
    bool made = behind && start && order && used, moves = false;
    if (made) oxi_shunt_anchor(p, &o, behind, used);
    for (int32_t n = 0; made && n < p->node_count; n++) start[behind[n] + 1]++;
    for (int32_t n = 0; made && n < p->node_count; n++) start[n + 1] += start[n];
    for (int32_t n = 0; made && n < p->node_count; n++) order[start[behind[n]]++] = n;
    for (int32_t n = 0; made && n < p->node_count; n++) moves = moves || order[n] != n;
    if (moves) oxi_shunt_order_lean(p, &o, order);
    oxi_shunt_unlist(behind, nodes, sizeof *behind);
    oxi_shunt_unlist(start, nodes, sizeof *start);
    oxi_shunt_unlist(used, items, sizeof *used);
    oxi_shunt_order_close(&o, p);
    if (moves) return order;
    oxi_shunt_unlist(order, nodes, sizeof *order);
    return NULL;
}
