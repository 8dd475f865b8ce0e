/* What makes two steps the same: ops, attributes but for numbers that vary, dtypes, shapes and strides,
 * which operand is which item, and what becomes of items. Where items lie when the step begins is no part
 * of it, nor which part of an item an operand is: plans move whole ones. How large that part is counts by
 * powers of two, for what it costs: so a text that grows in a cache of one size has the same step, token by
 * token. */

static uint64_t oxi_shunt_mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Factors, learning rates and the like differ from step to step, and so do the numbers of a fill. What a fill
 * makes is said by its result. */
static bool oxi_shunt_varies(const oxi_attr_member *m, oxi_op op) {
    return m->kind == OXI_ATTR_F64 || m->kind == OXI_ATTR_SCALAR || m->kind == OXI_ATTR_FACTOR ||
           m->kind == OXI_ATTR_NUMBERS || m->kind == OXI_ATTR_SIZES ||
           (m->kind == OXI_ATTR_I64 && op == OXI_OP_fill);
}

/* The least power of two that is not less. */
static uint64_t oxi_shunt_round(uint64_t number) {
    uint64_t power = 1;
    while (power < number && power < UINT64_MAX / 2) power *= 2;
    return power;
}

/* Counts: position 256 is that of the 257th row. */
static uint64_t oxi_shunt_hash_attributes(uint64_t hash, const oxi_shunt_node *node) {
    for (const oxi_attr_member *m = oxi_op_row_of(node->op)->attributes(); m->name; m++) {
        const void *at = oxi_attr_at(node->attr, m);
        if (oxi_shunt_varies(m, node->op)) continue;
        hash = m->kind == OXI_ATTR_I64
                   ? oxi_shunt_mix(hash, oxi_shunt_round((uint64_t)*(const int64_t *)at + 1))
                   : oxi_attr_hash_member(hash, m, at);
    }
    return hash;
}

static uint64_t oxi_shunt_hash_shape(uint64_t hash, const oxi_shunt_operand *o) {
    hash = oxi_shunt_mix(hash, (uint64_t)o->dtype << 16 | (uint64_t)(uint8_t)o->ndim << 4 |
                                   (uint64_t)o->there << 1 | (uint64_t)o->is_number);
    for (int d = 0; d < 2 * o->ndim; d++) {
        bool counts = d < o->ndim && o->item && !o->covers;
        uint64_t number = (uint64_t)o->dims[d];
        hash = oxi_shunt_mix(hash, counts ? oxi_shunt_round(number) : number);
    }
    return hash;
}

/* Gives the item a place in the step's table, the first time that it is seen. */
static bool oxi_shunt_tabulate(ox_shunt *s, oxi_shunt_item *item) {
    item->uses = item->mark == s->step_number ? item->uses + 1 : 1;
    if (item->mark == s->step_number) return true;
    void *grown = oxi_grow(s->table, &s->table_room, (size_t)s->table_count + 1, sizeof *s->table, false);
    if (!grown) return false;
    s->table = (oxi_shunt_item **)grown;
    item->again = item->mark == s->step_number - 1;
    item->mark = s->step_number;
    item->index = s->table_count;
    s->table[s->table_count++] = item;
    return true;
}

/* Fills the table, and two hashes of the step. */
static bool oxi_shunt_key(ox_shunt *s, uint64_t key[2]) {
    uint64_t hash = 1, items = 2;
    s->step_number++;
    s->table_count = 0;
    for (int64_t n = 0; n < s->node_count; n++) {
        oxi_shunt_node *node = s->nodes[n];
        uint64_t own = oxi_shunt_mix(3 + (uint64_t)node->exact, (uint64_t)node->op);
        own = oxi_shunt_hash_attributes(own, node);
        for (int i = 0; i < node->in_count + node->out_count; i++) {
            const oxi_shunt_operand *o = &node->operand[i];
            if (o->there) own = oxi_shunt_hash_shape(own, o);
            if (!o->item) continue;
            if (!oxi_shunt_tabulate(s, o->item)) return false;
            items = oxi_shunt_mix(items, (uint64_t)o->item->index << 3 | (uint64_t)o->covers << 1 |
                                             (uint64_t)(i >= node->in_count));
        }
        node->shape_key = own | 1;
        hash = oxi_shunt_mix(hash, own);
        items = oxi_shunt_mix(items, (uint64_t)node->in_count);
    }
    for (int32_t i = 0; i < s->table_count; i++) {
        const oxi_shunt_item *item = s->table[i];
        uint64_t fate = (uint64_t)oxi_shunt_outlives(item) << 1 |
                        (uint64_t)(item->valid || oxi_shunt_has_copy(item));
        items = oxi_shunt_mix(items, (uint64_t)(item->bytes + item->skew) << 2 | fate);
    }
    key[0] = oxi_shunt_mix(oxi_shunt_mix(5, hash), items);
    key[1] = oxi_shunt_mix(oxi_shunt_mix(7, items), hash);
    return true;
}

/* ---- plans that are known ------------------------------------------------------------------------------ */

static void oxi_shunt_plan_free(oxi_shunt_plan *plan) {
    if (!plan) return;
    oxi_free(plan->instruction, plan->instruction_room * sizeof *plan->instruction);
    oxi_free(plan->change, plan->change_room * sizeof *plan->change);
    oxi_free(plan->segment, plan->segment_room * sizeof *plan->segment);
    oxi_free(plan->known, (size_t)plan->item_count * sizeof *plan->known);
    oxi_free(plan->seconds, (size_t)plan->node_count * sizeof *plan->seconds);
    oxi_free(plan->text, plan->text_bytes);
    oxi_free(plan, sizeof *plan);
}

static oxi_shunt_plan *oxi_shunt_plan_find(ox_shunt *s, const uint64_t key[2]) {
    for (int i = 0; i < OXI_SHUNT_PLANS; i++) {
        oxi_shunt_plan *plan = s->plans[i];
        if (!plan || plan->key[0] != key[0] || plan->key[1] != key[1]) continue;
        if (plan->node_count != s->node_count || plan->item_count != s->table_count) continue;
        plan->used_at = s->step_number;
        return plan;
    }
    return NULL;
}

static void oxi_shunt_plan_drop(ox_shunt *s, oxi_shunt_plan *plan) {
    for (int i = 0; i < OXI_SHUNT_PLANS; i++)
        if (s->plans[i] == plan) s->plans[i] = NULL;
    if (s->last_plan == plan) s->last_plan = NULL;
    oxi_shunt_plan_free(plan);
}

/* In the place of the one that was used the longest time ago. */
static void oxi_shunt_plan_keep(ox_shunt *s, oxi_shunt_plan *plan, const uint64_t key[2]) {
    int place = 0;
    for (int i = 0; i < OXI_SHUNT_PLANS && s->plans[place]; i++)
        if (!s->plans[i] || s->plans[i]->used_at < s->plans[place]->used_at) place = i;
    if (s->plans[place] == s->last_plan) s->last_plan = NULL;
    oxi_shunt_plan_free(s->plans[place]);
    s->plans[place] = plan;
    memcpy(plan->key, key, sizeof plan->key);
    plan->used_at = s->step_number;
}
