/* A step call by call: each node's items are brought to the device, what is in the way leaves it, and what
 * nobody needs any more goes; nothing is computed a second time. So it runs without a budget, in eager mode,
 * and where no plan fits. */

static ox_status oxi_shunt_fail_room(const ox_shunt *s, uint64_t bytes) {
    return oxi_fail(OX_ERR_NOMEM,
                    "out of memory: %llu bytes needed at once, a budget of %llu, %llu of them for large "
                    "tensors",
                    (unsigned long long)bytes, (unsigned long long)s->desc.device_bytes,
                    (unsigned long long)s->main_bytes);
}

/* Whether an operand before has the same item. */
static bool oxi_shunt_is_seen(const oxi_shunt_node *node, int i) {
    for (int k = 0; k < i; k++)
        if (node->operand[k].item == node->operand[i].item) return true;
    return false;
}

static ox_status oxi_shunt_too_large(const ox_shunt *s, const oxi_shunt_node *node) {
    uint64_t bytes = 0;
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        const oxi_shunt_item *item = node->operand[i].item;
        if (item && !oxi_shunt_is_seen(node, i)) bytes += oxi_shunt_item_room(item);
    }
    return oxi_shunt_fail_room(s, bytes);
}

/* All of a node's items at once on the device; OX_ERR_NOMEM without an error: they lie in each other's
 * way. */
static ox_status oxi_shunt_bring_all(ox_shunt *s, const oxi_shunt_node *node) {
    int operands = node->in_count + node->out_count;
    s->node_clock++;
    for (int i = 0; i < operands; i++)
        if (node->operand[i].item) node->operand[i].item->protects = s->node_clock;
    for (int i = 0; i < operands; i++) {
        const oxi_shunt_operand *o = &node->operand[i];
        if (!o->item) continue;
        if (o->item->failed && (i < node->in_count || !o->covers)) return oxi_shunt_lost(s);
        ox_status status = oxi_shunt_bring(s, o->item, i < node->in_count || !o->covers);
        if (status != OX_OK) return status;
        o->item->used_at = s->node_clock;
    }
    return OX_OK;
}

/* Everything leaves the device; then there is room for what fits at all. */
static ox_status oxi_shunt_leave_all(ox_shunt *s) {
    ox_status status = OX_OK;
    for (int part = 0; part < 2; part++)
        while (s->resident[part].count > 0 && status == OX_OK)
            status = oxi_shunt_evict(s, s->resident[part].item[0]);
    return status;
}

static ox_status oxi_shunt_run_online(ox_shunt *s, const oxi_shunt_node *node) {
    bool clean = ox_error() == OX_OK;
    ox_status status = oxi_shunt_bring_all(s, node);
    if (status == OX_ERR_NOMEM && clean && ox_error() == OX_OK) {
        status = oxi_shunt_leave_all(s);
        if (status == OX_OK) status = oxi_shunt_bring_all(s, node);
        if (status == OX_ERR_NOMEM && ox_error() == OX_OK) status = oxi_shunt_too_large(s, node);
    }
    if (status == OX_OK) return oxi_shunt_run_node(s, node);
    if (clean) oxi_shunt_blame(s, node);
    return status;
}

/* over: what is there are an operand's numbers (over.c). */
static void oxi_shunt_not_made(oxi_shunt_item *item, bool over) {
    if (over || (!item->valid && !oxi_shunt_has_copy(item))) item->failed = true;
}

/* What a node that did not run was to make is lost; what it was to change is as it was. */
static void oxi_shunt_not_run(oxi_shunt_node *const *nodes, int64_t from, int64_t count) {
    for (int64_t n = from; n < count; n++)
        for (int i = 0; i < nodes[n]->out_count; i++) {
            const oxi_shunt_operand *o = &nodes[n]->operand[nodes[n]->in_count + i];
            oxi_shunt_item *item = o->item;
            for (int32_t k = 0; item && k < item->part_count; k++) oxi_shunt_not_made(item->part[k], o->over);
            if (item && !item->part) oxi_shunt_not_made(item, o->over);
        }
}

static void oxi_shunt_node_over(ox_shunt *s, const oxi_shunt_node *node) {
    for (int i = 0; i < node->in_count + node->out_count; i++) {
        oxi_shunt_item *item = node->operand[i].item;
        if (!item) continue;
        item->pending--;
        oxi_shunt_item_settle(s, item);
    }
}

/* None of them runs. */
static void oxi_shunt_drop_nodes(ox_shunt *s) {
    oxi_shunt_not_run(s->nodes, 0, s->node_count);
    for (int64_t n = 0; n < s->node_count; n++) oxi_shunt_node_over(s, s->nodes[n]);
}

static ox_status oxi_shunt_step_online(ox_shunt *s) {
    ox_status status = OX_OK;
    int64_t n = 0;
    oxi_shunt_ahead_end(s);
    for (int64_t i = 0; i < s->resident[0].count; i++) oxi_shunt_land(s, s->resident[0].item[i]);
    s->ran_last = 0;
    for (; n < s->node_count; n++) {
        status = oxi_shunt_run_online(s, s->nodes[n]);
        if (status != OX_OK) break;
        oxi_shunt_node_over(s, s->nodes[n]);
    }
    oxi_shunt_not_run(s->nodes, n, s->node_count);
    for (; n < s->node_count; n++) oxi_shunt_node_over(s, s->nodes[n]);
    return status;
}
