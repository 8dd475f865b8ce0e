/* Tapes: what a tensor knows of how its numbers came about. Variables, their views, and what changes in place
 * do to both. A view's tape keeps the call that made it, so that it can be made again of a gradient, or of a
 * base that has changed. */

/* ---- references ---------------------------------------------------------------------------------------- */

static void oxi_counted_keep(oxi_counted *counted) {
    oxi_atomic_add(&counted->references, 1);
}

/* Puts what lost its last reference before a list of such. */
static void oxi_counted_give(oxi_counted *counted, oxi_counted **dead) {
    if (!counted || oxi_atomic_add(&counted->references, -1) > 0) return;
    counted->next_dead = *dead;
    *dead = counted;
}

static void oxi_edge_give(oxi_edge *edge, oxi_counted **dead) {
    if (edge->node) oxi_counted_give(&edge->node->counted, dead);
    if (edge->leaf) oxi_counted_give(&edge->leaf->counted, dead);
    edge->node = NULL;
    edge->leaf = NULL;
}

static void oxi_hooks_free(oxi_hook *hook) {
    while (hook) {
        oxi_hook *next = hook->next, **at = hook->tape ? &hook->tape->registered : NULL;
        while (at && *at != hook) at = &(*at)->sibling;
        if (at) *at = hook->sibling;
        ox_release(hook->header);
        oxi_free(hook, sizeof *hook);
        hook = next;
    }
}

/* The gradient of a result goes to this tape no longer. */
static void oxi_keeper_leaves(oxi_tape *tape) {
    oxi_node *node = tape->made.node;
    if (node && node->keeper[tape->made.output] == tape) node->keeper[tape->made.output] = NULL;
}

static void oxi_tape_free(oxi_tape *tape, oxi_counted **dead) {
    oxi_keeper_leaves(tape);
    oxi_edge_give(&tape->made, dead);
    if (tape->parent) oxi_counted_give(&tape->parent->counted, dead);
    ox_release(tape->gradient);
    ox_release(tape->viewed);
    oxi_hooks_free(tape->hooks);
    for (oxi_hook *hook = tape->registered; hook; hook = hook->sibling) hook->tape = NULL;
    oxi_free(tape, sizeof *tape);
}

static void oxi_saved_drop(oxi_saved *saved, oxi_counted **dead) {
    ox_release(saved->tensor);
    if (saved->packed) saved->hooks->drop(saved->packed, saved->hooks->user);
    oxi_edge_give(&saved->edge, dead);
    saved->tensor = NULL;
    saved->packed = NULL;
}

static void oxi_node_free(oxi_node *node, oxi_counted **dead) {
    for (int i = 0; i < node->in_count; i++) oxi_edge_give(&node->edges[i], dead);
    for (int i = 0; i < node->saved_count; i++) oxi_saved_drop(&node->saved[i], dead);
    for (int i = 0; i < node->out_count; i++) oxi_hooks_free(node->hooks[i]);
    oxi_hooks_free(node->watchers);
    if (node->kind == OXI_NODE_CUSTOM && node->function->drop) node->function->drop(node->user);
    oxi_free(node->views, (size_t)node->view_count * sizeof *node->views);
    oxi_free(node, node->bytes);
}

static void oxi_bury(oxi_counted *dead) {
    while (dead) {
        oxi_counted *one = dead;
        dead = one->next_dead;
        if (one->is_node)
            oxi_node_free((oxi_node *)one, &dead);
        else
            oxi_tape_free((oxi_tape *)one, &dead);
    }
}

static void oxi_counted_drop(oxi_counted *counted) {
    oxi_counted *dead = NULL;
    oxi_counted_give(counted, &dead);
    oxi_bury(dead);
}

static void oxi_tape_drop(void *tape) {
    oxi_counted_drop(&((oxi_tape *)tape)->counted);
}

static oxi_edge oxi_edge_copy(const oxi_edge *edge) {
    if (edge->node) oxi_counted_keep(&edge->node->counted);
    if (edge->leaf) oxi_counted_keep(&edge->leaf->counted);
    return *edge;
}

static void oxi_edge_drop(oxi_edge *edge) {
    oxi_counted *dead = NULL;
    oxi_edge_give(edge, &dead);
    oxi_bury(dead);
}

/* ---- tapes --------------------------------------------------------------------------------------------- */

static void oxi_outline_of(const ox_tensor *t, oxi_outline *out) {
    out->dtype = t->dtype;
    out->ndim = t->ndim;
    memcpy(out->shape, t->shape, sizeof out->shape);
    out->device = ox_device_of(t);
}

static oxi_tape *oxi_tape_new(const ox_tensor *t) {
    oxi_tape *tape = (oxi_tape *)oxi_calloc(1, sizeof *tape);
    if (!tape) return NULL;
    tape->counted.references = 1;
    tape->base = tape;
    oxi_outline_of(t, &tape->outline);
    if (oxi_atomic_load(&oxi_tape_dropper) == 0)
        oxi_atomic_store(&oxi_tape_dropper, (int64_t)(intptr_t)oxi_tape_drop);
    return tape;
}

static oxi_tape *oxi_tape_of(ox_tensor *t) {
    if (!t->tape) t->tape = oxi_tape_new(t);
    return (oxi_tape *)t->tape;
}

/* ---- views --------------------------------------------------------------------------------------------- */

static ox_status oxi_tape_view(const oxi_call *call, oxi_node *node, bool recorded) {
    oxi_tape *parent = oxi_tape_of(call->in[0]), *tape = parent ? oxi_tape_of(call->out[0]) : NULL;
    if (!tape) return OX_ERR_NOMEM;
    oxi_counted_keep(&parent->counted);
    tape->parent = parent;
    tape->base = parent->base;
    tape->generation = parent->base->generation;
    tape->view = *call;
    tape->view.in = NULL;
    tape->view.out[0] = NULL;
    tape->unrecorded = !recorded || parent->unrecorded;
    if (call->op == OXI_OP_as_strided && !(tape->viewed = oxi_plain_header(call->in[0]))) return OX_ERR_NOMEM;
    if (node) {
        oxi_counted_keep(&node->counted);
        tape->made.node = node;
    }
    return OX_OK;
}

static void oxi_tape_comes_from(oxi_tape *tape, const oxi_edge *edge) {
    oxi_edge before = tape->made, now = oxi_edge_copy(edge);
    oxi_node *node = before.node;
    if (node && node->keeper[before.output] == tape) {
        node->keeper[before.output] = NULL;
        if (now.node) now.node->keeper[now.output] = tape;
    }
    tape->made = now;
    oxi_edge_drop(&before);
}

/* What a tape's gradient goes to, if it is not stale. */
static oxi_edge oxi_tape_edge_now(oxi_tape *tape) {
    oxi_edge edge = tape->made;
    if (!edge.node && tape->requires_grad) edge.leaf = tape;
    return edge;
}

/* The view's call, with its operand from `from`; nothing where that is nothing. */
static ox_status oxi_view_of_edge(const oxi_tape *tape, const oxi_edge *from, oxi_edge *made) {
    memset(made, 0, sizeof *made);
    if (!oxi_edge_is(from)) return OX_OK;
    oxi_node *node = oxi_node_new(OXI_NODE_CALL, 1, 1, tape->viewed ? 1 : 0);
    if (!node) return OX_ERR_NOMEM;
    made->node = node;
    if (tape->viewed) node->saved[0].tensor = oxi_plain_header(tape->viewed);
    node->call = tape->view;
    node->row = oxi_gradient_row_of(tape->view.op);
    node->edges[0] = oxi_edge_copy(from);
    node->operand[0] = tape->parent->outline;
    node->result[0] = tape->outline;
    return OX_OK;
}

/* What a view shows a part of: its base, or what became a view of itself on the way there. */
static oxi_tape *oxi_shown_by(const oxi_tape *view) {
    oxi_tape *shown = view->parent;
    while (shown->parent && !shown->became) shown = shown->parent;
    return shown;
}

/* The view calls from what it shows to a view, in order: *at is where the next one begins. */
static oxi_tape *oxi_next_view(oxi_tape *view, const oxi_tape *at) {
    while (view->parent != at) view = view->parent;
    return view;
}

/* A view that is made again of what it shows as that is now, which is not stale, by nodes of its own. */
static ox_status oxi_view_afresh(oxi_tape *tape, oxi_edge *edge) {
    oxi_tape *at = oxi_shown_by(tape);
    oxi_edge now = oxi_tape_edge_now(at), made;
    ox_status status = OX_OK;
    now = oxi_edge_copy(&now);
    while (at != tape && status == OX_OK) {
        at = oxi_next_view(tape, at);
        status = oxi_view_of_edge(at, &now, &made);
        oxi_edge_drop(&now);
        now = made;
    }
    *edge = now;
    return status;
}

static bool oxi_is_stale(const oxi_tape *tape) {
    return tape->parent && tape->generation != tape->base->generation;
}

static ox_status oxi_tape_edge(oxi_tape *tape, oxi_edge *edge) {
    while (oxi_is_stale(tape)) {
        oxi_tape *first = tape;
        for (oxi_tape *t = tape->parent; t; t = t->parent)
            if (t->became && oxi_is_stale(t)) first = t;
        ox_status status = oxi_view_afresh(first, edge);
        if (status == OX_OK) oxi_tape_comes_from(first, edge);
        oxi_edge_drop(edge);
        if (status != OX_OK) return status;
        first->generation = first->base->generation;
    }
    *edge = oxi_tape_edge_now(tape);
    return OX_OK;
}

/* ---- changes in place ---------------------------------------------------------------------------------- */

static ox_status oxi_tape_before(oxi_tape *tape, oxi_edge *edge) {
    ox_status status = oxi_tape_edge(oxi_shown_by(tape), edge);
    return status == OX_OK ? oxi_view_afresh(tape, edge) : status;
}

/* The node of what a view shows after the view came from another edge; nothing where neither has a
 * gradient. */
static ox_status oxi_put_back(oxi_tape *view, oxi_tape *shown, const oxi_edge *now, oxi_edge *made) {
    oxi_edge before;
    ox_status status = oxi_tape_edge(shown, &before);
    memset(made, 0, sizeof *made);
    if (status != OX_OK || (!oxi_edge_is(&before) && !oxi_edge_is(now))) return status;
    oxi_node *node = oxi_node_new(OXI_NODE_PUT_BACK, 2, 1, 0);
    if (!node) return OX_ERR_NOMEM;
    made->node = node;
    for (const oxi_tape *t = view; t != shown; t = t->parent) node->view_count++;
    node->views = (oxi_call *)oxi_alloc((size_t)node->view_count * sizeof *node->views);
    if (!node->views) return OX_ERR_NOMEM;
    int i = node->view_count;
    for (const oxi_tape *t = view; t != shown; t = t->parent) node->views[--i] = t->view;
    node->call = view->view;
    node->edges[0] = oxi_edge_copy(&before);
    node->edges[1] = oxi_edge_copy(now);
    node->operand[0] = node->result[0] = shown->outline;
    node->operand[1] = view->outline;
    return OX_OK;
}

/* Whether its gradient is kept. */
static bool oxi_is_keeper(const oxi_tape *tape) {
    return tape->made.node && tape->made.node->keeper[tape->made.output] == tape;
}

/* What was written is put back into what its view shows, up to the base. Views of that, this one too, come
 * from the base then, whose hooks hear of all of them. */
static ox_status oxi_tape_rewrite(oxi_tape *tape, const oxi_edge *edge, const char *by) {
    oxi_edge now = oxi_edge_copy(edge), above;
    ox_status status = OX_OK;
    oxi_tape *t = tape;
    tape->changed_by = tape->base->changed_by = by;
    while (t->parent && status == OX_OK) {
        oxi_tape *shown = oxi_shown_by(t);
        status = oxi_put_back(t, shown, &now, &above);
        oxi_edge_drop(&now);
        now = above;
        t = shown;
    }
    if (status == OX_OK) oxi_tape_comes_from(t, &now);
    oxi_edge_drop(&now);
    tape->base->generation++;
    return status == OX_OK && tape->parent && oxi_is_keeper(tape) ? oxi_tape_edge(tape, &above) : status;
}
