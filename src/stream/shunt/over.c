/* Results in the memory of operands: an elementwise call that is too large for the budget writes over an
 * operand that the step has made and nobody needs any more. That one is made in the result's item from the
 * beginning; the result, if its call does not run, is lost, whatever is there. Called by flushes, before
 * cut.c. */

static bool oxi_shunt_is_blank(const oxi_shunt_item *item) {
    return !item->held && !item->valid && !item->failed && !item->part && !oxi_shunt_has_copy(item);
}

/* Whether an operand is its item, all of it, as the result is its own. */
static bool oxi_shunt_lies_alike(const oxi_shunt_operand *a, const oxi_shunt_operand *out) {
    return a->dtype == out->dtype && a->ndim == out->ndim && a->offset == out->offset && a->covers &&
           a->item->bytes == out->item->bytes &&
           memcmp(a->dims, out->dims, 2 * (size_t)out->ndim * sizeof *out->dims) == 0;
}

/* The operand's item that node n may write over; NULL: none. */
static oxi_shunt_item *oxi_shunt_find_over(const ox_shunt *s, int64_t n) {
    const oxi_shunt_node *node = s->nodes[n];
    const oxi_shunt_operand *out = &node->operand[node->in_count];
    oxi_family family = oxi_op_row_of(node->op)->family;
    oxi_shunt_item *item = out->item, *old = NULL;
    bool elementwise = family == OXI_FAMILY_MAP || family == OXI_FAMILY_CHAIN;
    if (!elementwise || node->out_count != 1 || !item || !out->covers) return NULL;
    if (item->valid || item->part || oxi_shunt_has_copy(item) || item->first_at < n) return NULL;
    for (int i = 0; i < node->in_count && !old; i++) {
        const oxi_shunt_operand *o = &node->operand[i];
        if (o->item && oxi_shunt_is_blank(o->item) && oxi_shunt_lies_alike(o, out)) old = o->item;
    }
    for (int i = 0; i < node->in_count && old; i++)
        if (node->operand[i].item == old && !oxi_shunt_lies_alike(&node->operand[i], out)) return NULL;
    return old && old->last_at <= n ? old : NULL;
}

/* What nodes up to n do to `old`, they do to the result's item. */
static void oxi_shunt_write_over(ox_shunt *s, oxi_shunt_item *old, int64_t n) {
    oxi_shunt_operand *out = &s->nodes[n]->operand[s->nodes[n]->in_count];
    oxi_shunt_item *item = out->item;
    int64_t first = old->first_at;
    for (int64_t k = first; k <= n; k++)
        for (int i = 0; i < s->nodes[k]->in_count + s->nodes[k]->out_count; i++) {
            oxi_shunt_operand *o = &s->nodes[k]->operand[i];
            if (o->item != old) continue;
            o->item = item;
            item->pending++;
            old->pending--;
        }
    out->over = true;
    item->first_at = first;
    item->all_f32 = item->all_f32 && old->all_f32;
    oxi_shunt_item_settle(s, old);
}

/* Notes the first and the last node of the step that use an item. */
static void oxi_shunt_note_uses(const ox_shunt *s) {
    for (int64_t n = 0; n < s->node_count; n++) {
        const oxi_shunt_node *last = s->nodes[n], *first = s->nodes[s->node_count - 1 - n];
        for (int i = 0; i < last->in_count + last->out_count; i++)
            if (last->operand[i].item) last->operand[i].item->last_at = n;
        for (int i = 0; i < first->in_count + first->out_count; i++)
            if (first->operand[i].item) first->operand[i].item->first_at = s->node_count - 1 - n;
    }
}

static void oxi_shunt_write_all_over(ox_shunt *s) {
    bool noted = false;
    for (int64_t n = 0; n < s->node_count; n++) {
        if (!oxi_shunt_is_too_large(s, s->nodes[n])) continue;
        if (!noted) oxi_shunt_note_uses(s);
        noted = true;
        oxi_shunt_item *old = oxi_shunt_find_over(s, n);
        if (old) oxi_shunt_write_over(s, old, n);
    }
}
