/* Nodes: recorded calls. The recorder is a listener: before a call it makes the node, with what the gradients
 * need of the operands as they are then; after it the results become the node's. What is saved says
 * grads.def. */

/* ---- making -------------------------------------------------------------------------------------------- */

/* Where an array of count elements lies in a block, whose bytes grow by it. */
static size_t oxi_room_for(size_t *bytes, int count, size_t each) {
    size_t at = (*bytes + 15) / 16 * 16;
    *bytes = at + (size_t)count * each;
    return at;
}

static int64_t oxi_next_sequence(void) {
    static int64_t sequence;
    return oxi_atomic_add(&sequence, 1);
}

/* Counts are those of operands and results of calls: no size overflows. */
static oxi_node *oxi_node_new(oxi_node_kind kind, int in_count, int out_count, int saved_count) {
    size_t bytes = sizeof(oxi_node);
    size_t edges = oxi_room_for(&bytes, in_count, sizeof(oxi_edge)),
           operand = oxi_room_for(&bytes, in_count, sizeof(oxi_outline)),
           wants = oxi_room_for(&bytes, in_count, sizeof(bool)),
           result = oxi_room_for(&bytes, out_count, sizeof(oxi_outline)),
           saved = oxi_room_for(&bytes, saved_count, sizeof(oxi_saved)),
           output = oxi_room_for(&bytes, saved_count, sizeof(int)),
           hooks = oxi_room_for(&bytes, out_count, sizeof(oxi_hook *)),
           keeper = oxi_room_for(&bytes, out_count, sizeof(oxi_tape *));
    char *block = (char *)oxi_alloc(bytes);
    if (!block) return NULL;
    oxi_node *node = (oxi_node *)block;
    memset(block, 0, bytes);
    node->counted.references = 1;
    node->counted.is_node = true;
    node->kind = kind;
    node->sequence = oxi_next_sequence();
    node->in_count = in_count;
    node->out_count = out_count;
    node->saved_count = saved_count;
    node->edges = (oxi_edge *)(block + edges);
    node->operand = (oxi_outline *)(block + operand);
    node->wants = (bool *)(block + wants);
    node->result = (oxi_outline *)(block + result);
    node->saved = (oxi_saved *)(block + saved);
    node->saved_output = (int *)(block + output);
    node->hooks = (oxi_hook **)(block + hooks);
    node->keeper = (oxi_tape **)(block + keeper);
    node->bytes = bytes;
    return node;
}

/* Numbers stay: they are small, and a node that saved nothing else can run again. */
static void oxi_node_forget(oxi_node *node) {
    oxi_counted *dead = NULL;
    for (int i = 0; i < node->saved_count; i++) {
        oxi_saved *saved = &node->saved[i];
        if ((!saved->tensor && !saved->packed) || (saved->tensor && saved->tensor->is_number)) continue;
        oxi_saved_drop(saved, &dead);
        node->released = true;
    }
    oxi_bury(dead);
}

/* The names of the functions that were called and that a node records, for messages. */
static const char *oxi_call_name(const oxi_call *call) {
    return call->name ? call->name : oxi_op_row_of(call->op)->name;
}
static const char *oxi_node_name(const oxi_node *node) {
    if (node->kind != OXI_NODE_CUSTOM) return oxi_call_name(&node->call);
    return node->function->name ? node->function->name : "function";
}

/* ---- saved tensors ------------------------------------------------------------------------------------- */

/* Another header of t, of no scope and without a tape; NULL and an error where memory ends. */
static ox_tensor *oxi_plain_header(const ox_tensor *t) {
    ox_tensor *header = oxi_tensor_over(t->storage, t);
    if (!header) return NULL;
    oxi_scope_unlink(header);
    header->is_number = t->is_number;
    return header;
}

static OXI_THREAD_LOCAL const ox_saved_hooks *oxi_saved_hooks;

/* What is saved next: the op and a number of its operands, then results; a checkpoint compares two runs. */
static OXI_THREAD_LOCAL int oxi_saving;
static void oxi_saves(int op, int i) { oxi_saving = op * 256 + i; }

OX_API const ox_saved_hooks *ox_set_saved_hooks(const ox_saved_hooks *hooks) {
    const ox_saved_hooks *before = oxi_saved_hooks;
    oxi_saved_hooks = hooks;
    return before;
}

/* version: of the storage, when the numbers were those that are saved. */
static ox_status oxi_save_tensor(oxi_saved *saved, const ox_tensor *t, int64_t version,
                                 const oxi_edge *edge) {
    if (t->storage->inference && !t->is_number)
        return oxi_fail(OX_ERR_ARG, "%s is an inference tensor, which no gradient may need; ox_clone gives a "
                                    "plain one", oxi_tensor_text(t));
    saved->tensor = oxi_plain_header(t);
    if (!saved->tensor) return OX_ERR_NOMEM;
    saved->version = version;
    if (edge) saved->edge = oxi_edge_copy(edge);
    if (!oxi_saved_hooks || t->is_number || saved->edge.leaf) return OX_OK;
    saved->hooks = oxi_saved_hooks;
    saved->packed = saved->hooks->pack(saved->tensor, saved->hooks->user);
    if (!saved->packed) return OX_OK; /* kept as it is */
    ox_release(saved->tensor);
    saved->tensor = NULL;
    return OX_OK;
}

/* As the variable that it was: with a tape of its own, or its leaf's. */
static ox_status oxi_attach(ox_tensor *t, const oxi_edge *edge) {
    oxi_tape *tape;
    if (edge->leaf) {
        oxi_counted_keep(&edge->leaf->counted);
        t->tape = edge->leaf;
        return OX_OK;
    }
    if (!edge->node) return OX_OK;
    tape = oxi_tape_of(t);
    if (!tape) return OX_ERR_NOMEM;
    tape->made = oxi_edge_copy(edge);
    return OX_OK;
}

/* changes: its numbers may have been changed since. */
static ox_tensor *oxi_saved_plain(const oxi_saved *saved, const char *name, bool changes) {
    const ox_tensor *kept = saved->packed ? saved->hooks->unpack(saved->packed, saved->hooks->user)
                                          : saved->tensor;
    ox_tensor *t = kept ? oxi_tensor_over(kept->storage, kept) : NULL; /* hooks may give a variable */
    if (!t && ox_error() == OX_OK)
        (void)oxi_fail(OX_ERR_ARG, "backward: %s: a saved tensor was not unpacked", name);
    if (t && !changes && oxi_atomic_load(&t->storage->version) != oxi_saved_version(saved, t)) {
        const char *by = saved->edge.leaf ? saved->edge.leaf->changed_by : NULL;
        return OXI_FAIL_NULL(OX_ERR_ARG,
                             "backward: %s needs the numbers of %s, which was changed in place%s%s", name,
                             oxi_tensor_text(t), by ? " by " : " since", by ? by : "");
    }
    if (t && saved->tensor) t->is_number = saved->tensor->is_number;
    return t;
}

static ox_tensor *oxi_saved_take(oxi_node *node, oxi_saved *saved, int output, bool with_tape) {
    oxi_edge edge = saved->edge;
    bool view = oxi_op_row_of(node->call.op)->family == OXI_FAMILY_VIEW; /* which needs strides alone */
    ox_tensor *t = oxi_saved_plain(saved, oxi_node_name(node), view);
    if (output >= 0) {
        edge.node = node;
        edge.output = output;
    }
    if (t && with_tape && oxi_attach(t, &edge) != OX_OK) t = NULL;
    return t;
}

/* ---- what is saved ------------------------------------------------------------------------------------- */

static bool oxi_is_saved(unsigned letters, const oxi_call *call, int i) {
    return call->in[i] && (call->in[i]->is_number || (i < OXI_LETTER_RESULTS && letters >> i & 1));
}

/* ---- recording ----------------------------------------------------------------------------------------- */

/* The call that is under way in this thread. */
typedef struct oxi_recording {
    oxi_node *node;                  /* NULL: it is not recorded */
    unsigned letters;
    bool given;                      /* its result was there before */
} oxi_recording;
static OXI_THREAD_LOCAL oxi_recording oxi_recorded;

/* The sequence from which on nodes are of the innermost checkpoint that runs in this thread; 0: none does. */
static OXI_THREAD_LOCAL int64_t oxi_checkpoint_since;

/* Why the given result may not be written to while things are recorded. wants: what is written has a
 * gradient. */
static ox_status oxi_check_written(const oxi_call *call, bool wants) {
    const oxi_tape *tape = call->out[0] ? (const oxi_tape *)call->out[0]->tape : NULL;
    const char *name = oxi_call_name(call);
    if (!tape) return OX_OK;
    bool leaf = tape->base->requires_grad;
    for (const oxi_tape *t = tape; t && !leaf; t = t->parent) leaf = t->requires_grad; /* a view may be one */
    if (leaf)
        return oxi_fail(OX_ERR_ARG, "%s: a leaf that wants a gradient%s is changed in place; use OX_NO_GRAD",
                        name, tape->requires_grad ? "" : " (by a view of it)");
    if (tape->base->made.node && tape->base->made.node->sequence < oxi_checkpoint_since)
        return oxi_fail(OX_ERR_ARG, "%s: a result from outside of a checkpoint, which runs twice, is changed "
                        "in place in it", name);
    if (tape->unrecorded && (wants || tape->base->made.node))
        return oxi_fail(OX_ERR_ARG,
                        "%s: a view that was made while nothing was recorded, or by a call without a "
                        "gradient, is changed in place",
                        name);
    return OX_OK;
}

/* The edges of the operands, borrowed. wants: whether one of them has a gradient. */
static ox_status oxi_edges_of(const oxi_call *call, oxi_edge *edges, bool *wants) {
    *wants = false;
    for (int i = 0; i < call->in_count; i++) {
        ox_tensor *t = call->in[i];
        memset(&edges[i], 0, sizeof edges[i]);
        if (!t || !t->tape || !oxi_has_gradients(t->dtype)) continue;
        ox_status status = oxi_tape_edge((oxi_tape *)t->tape, &edges[i]);
        if (status != OX_OK) return status;
        *wants = *wants || oxi_edge_is(&edges[i]);
    }
    return OX_OK;
}

/* An operand as it is before the call; a copy where the call writes over it. */
static ox_status oxi_save_operand(oxi_saved *saved, const oxi_call *call, int i, const oxi_edge *edge) {
    ox_tensor *t = call->in[i];
    if (!call->out[0] || call->out[0]->storage != t->storage)
        return oxi_save_tensor(saved, t, oxi_atomic_load(&t->storage->version), edge);
    ox_scope scope = ox_scope_begin();
    ox_tensor *copy = ox_clone(t);
    ox_status status = copy ? oxi_save_tensor(saved, copy, oxi_atomic_load(&copy->storage->version), edge)
                            : ox_error();
    ox_scope_end(&scope);
    return status;
}

/* Edges and outlines of the operands, and those of them that gradients need. */
static ox_status oxi_record_operands(oxi_node *node, const oxi_call *call, const oxi_edge *edges,
                                     unsigned letters) {
    ox_status status = OX_OK;
    for (int i = 0; i < call->in_count && status == OX_OK; i++) {
        if (!call->in[i]) continue;
        node->edges[i] = oxi_edge_copy(&edges[i]);
        oxi_outline_of(call->in[i], &node->operand[i]);
        if (!oxi_is_saved(letters, call, i)) continue;
        oxi_saves((int)call->op, i);
        status = oxi_save_operand(&node->saved[i], call, i, &edges[i]);
    }
    return status;
}

static ox_status oxi_record(const oxi_call *call, const oxi_op_row *row, const oxi_edge *edges) {
    const oxi_gradient_row *known = oxi_gradient_row_of(call->op);
    if (!known && row->gradient == OXI_GRADIENT_yes)
        return oxi_fail(OX_ERR_UNSUPPORTED, "%s: no gradient is known", row->name);
    oxi_node *node =
        oxi_node_new(OXI_NODE_CALL, call->in_count, call->out_count, call->in_count + call->out_count);
    if (!node) return OX_ERR_NOMEM;
    node->row = known; /* flat ones have none */
    node->call = *call;
    node->call.in = NULL;
    node->call.out[0] = node->call.out[1] = NULL;
    for (int i = 0; i < call->in_count; i++) node->wants[i] = oxi_edge_is(&edges[i]);
    unsigned letters = oxi_gradient_letters(call, node->wants);
    ox_status status = oxi_record_operands(node, call, edges, letters);
    if (status != OX_OK) {
        oxi_counted_drop(&node->counted);
        return status;
    }
    oxi_recorded.node = node;
    oxi_recorded.letters = letters;
    return OX_OK;
}

static ox_status oxi_record_before(oxi_listener *self, const oxi_call *call, ox_device *device) {
    const oxi_op_row *row = oxi_op_row_of(call->op);
    oxi_edge few[OXI_MAX_IN], *edges = few;
    bool wants = false, taped = false;
    ox_status status = OX_OK;
    (void)self, (void)device;
    oxi_recorded.node = NULL;
    oxi_recorded.given = call->out[0] != NULL;
    if (oxi_recorded.given && call->out[0]->storage->inference && !oxi_inference_mode)
        return oxi_fail(OX_ERR_ARG, "%s: an inference tensor is changed in place outside of inference mode",
                        oxi_call_name(call));
    if (oxi_grad_off || call->op == OXI_OP_alias) return OX_OK;
    for (int i = 0; i < call->in_count; i++) taped = taped || (call->in[i] && call->in[i]->tape);
    if (!taped || row->gradient == OXI_GRADIENT_none) return oxi_check_written(call, false);
    size_t bytes = (size_t)call->in_count * sizeof *edges;
    if (call->in_count > OXI_MAX_IN) edges = (oxi_edge *)oxi_alloc(bytes);
    if (!edges) return OX_ERR_NOMEM;
    status = oxi_edges_of(call, edges, &wants);
    if (status == OX_OK) status = oxi_check_written(call, wants);
    if (status == OX_OK && wants) status = oxi_record(call, row, edges);
    if (edges != few) oxi_free(edges, bytes);
    return status;
}

/* What the call gave is the node's: outlines, those that gradients need, tapes. */
static ox_status oxi_record_results(oxi_node *node, const oxi_call *call, unsigned letters) {
    ox_status status = OX_OK;
    for (int k = 0; k < call->out_count && status == OX_OK; k++) {
        ox_tensor *t = call->out[k];
        oxi_outline_of(t, &node->result[k]);
        if (!(letters >> (OXI_LETTER_RESULTS + k) & 1)) continue;
        oxi_saves((int)call->op, call->in_count + k);
        status = oxi_save_tensor(&node->saved[call->in_count + k], t, oxi_atomic_load(&t->storage->version),
                                 NULL);
    }
    return status;
}

/* Fresh results come from the node. */
static ox_status oxi_attach_results(oxi_node *node, const oxi_call *call) {
    ox_status status = OX_OK;
    for (int k = 0; k < call->out_count && status == OX_OK; k++) {
        oxi_edge edge = {node, k, NULL};
        if (oxi_has_gradients(call->out[k]->dtype)) status = oxi_attach(call->out[k], &edge);
    }
    return status;
}

/* The same variable again. */
static ox_status oxi_share_tape(const oxi_call *call) {
    oxi_tape *tape = (oxi_tape *)call->in[0]->tape;
    if (!tape && !oxi_grad_off) tape = oxi_tape_of(call->in[0]);
    if (tape) oxi_counted_keep(&tape->counted);
    call->out[0]->tape = tape;
    return tape || oxi_grad_off ? OX_OK : OX_ERR_NOMEM;
}

/* Numbers without a gradient were written over a variable with one: it still wants one, which is zeros. */
static ox_status oxi_record_cut(const oxi_call *call, oxi_tape *tape, oxi_edge *edge) {
    oxi_edge before;
    ox_status status = oxi_tape_edge(tape, &before);
    if (status != OX_OK || !oxi_edge_is(&before)) return status;
    edge->node = oxi_node_new(OXI_NODE_CALL, 1, 1, 0);
    if (!edge->node) return OX_ERR_NOMEM;
    edge->node->call = *call;
    edge->node->call.in = NULL;
    edge->node->call.out[0] = NULL;
    edge->node->edges[0] = oxi_edge_copy(&before);
    edge->node->operand[0] = edge->node->result[0] = tape->outline;
    return OX_OK;
}

/* A call that wrote to a view changed its base: what it changed is a part of the base as that was. */
static ox_status oxi_record_view_write(const oxi_call *call, oxi_tape *tape, oxi_node *node) {
    oxi_edge before;
    if (!node || call->op == OXI_OP_copy || !call->in[0] || call->in[0]->tape != tape || tape->became)
        return OX_OK;
    ox_status status = oxi_tape_before(tape, &before);
    if (status != OX_OK) return status;
    oxi_edge_drop(&node->edges[0]);
    node->edges[0] = before;
    node->sequence = oxi_next_sequence(); /* it comes after what it comes from */
    return OX_OK;
}

/* The given result has other numbers than before. */
static ox_status oxi_record_write(const oxi_call *call, oxi_node *node) {
    oxi_edge edge = {node, 0, NULL};
    oxi_tape *tape = (oxi_tape *)call->out[0]->tape;
    const char *name = oxi_call_name(call);
    if (tape && oxi_grad_off) tape->changed_by = name;
    if (oxi_grad_off || (!tape && !node) || !oxi_has_gradients(call->out[0]->dtype)) return OX_OK;
    tape = oxi_tape_of(call->out[0]);
    ox_status status = !tape           ? OX_ERR_NOMEM
                       : tape->parent  ? oxi_record_view_write(call, tape, node)
                       : node          ? OX_OK
                                       : oxi_record_cut(call, tape, &edge);
    if (status == OX_OK) status = oxi_tape_rewrite(tape, &edge, name);
    if (!node) oxi_edge_drop(&edge);
    return status;
}

static ox_status oxi_record_after_call(const oxi_call *call, const oxi_recording *recorded) {
    bool view = oxi_op_row_of(call->op)->family == OXI_FAMILY_VIEW;
    ox_status status = OX_OK;
    if (call->op == OXI_OP_alias) return oxi_share_tape(call);
    if (recorded->node) status = oxi_record_results(recorded->node, call, recorded->letters);
    if (status != OX_OK) return status;
    if (recorded->given) return oxi_record_write(call, recorded->node);
    if (view && oxi_has_gradients(call->out[0]->dtype)) {
        bool known = oxi_op_row_of(call->op)->gradient == OXI_GRADIENT_yes;
        return oxi_grad_off && !call->in[0]->tape
                   ? OX_OK
                   : oxi_tape_view(call, recorded->node, known && !oxi_grad_off);
    }
    return recorded->node ? oxi_attach_results(recorded->node, call) : OX_OK;
}

static void oxi_record_after(oxi_listener *self, const oxi_call *call, ox_device *device, ox_status status) {
    oxi_recording recorded = oxi_recorded;
    (void)self, (void)device;
    oxi_recorded.node = NULL;
    if (status == OX_OK && oxi_record_after_call(call, &recorded) != OX_OK) {
        /* the result is there, but what leads to it is not: backward says so */
        (void)oxi_fail(OX_ERR_NOMEM, "%s: no memory to record the call", oxi_op_row_of(call->op)->name);
        if (recorded.node) recorded.node->released = true;
    }
    if (recorded.node) oxi_counted_drop(&recorded.node->counted);
}

static oxi_listener oxi_recorder = {oxi_record_before, oxi_record_after, NULL};

/* So that the CPU runs rows of the family BACK. */
static void oxi_start_back(void) {
    static int64_t started; /* atomic: then nobody writes what all read */
    if (oxi_atomic_load(&started)) return;
    oxi_lock_take(&oxi_gradient_chain_lock);
    if (!oxi_atomic_load(&started)) oxi_cpu_back = oxi_run_back;
    oxi_atomic_store(&started, 1);
    oxi_lock_give(&oxi_gradient_chain_lock);
}

/* From the first variable on that wants a gradient. */
static ox_status oxi_start_recording(const char *name) {
    oxi_start_back();
    if (oxi_listen(&oxi_recorder)) return OX_OK;
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s: too many listen to calls", name);
}
