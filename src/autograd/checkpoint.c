/* Checkpoints: functions whose calls are recorded as any are, but do not keep what they save. That goes
 * through saved hooks into places, which are emptied when the function returns; when the first is asked for,
 * the function runs again and fills them in the same order. What that run records is dropped. */

/* ---- what it saves ------------------------------------------------------------------------------------- */

/* A tensor that the function saves; NULL until it runs again. */
typedef struct oxi_recalled {
    oxi_outline outline;
    ox_tensor *tensor;
    int64_t version;
    int what;                        /* oxi_saving */
} oxi_recalled;

/* What a thread's calls depend on besides their operands. */
typedef struct oxi_modes {
    ox_device *device;
    ox_dtype dtype;
    bool exact, grad_off, inference;
} oxi_modes;

struct oxi_checkpoint {
    int64_t references;              /* of saved tensors that are its places, and of the first run */
    ox_saved_hooks hooks;            /* what is packed is a place's number + 1 */
    ox_checkpoint_function function;
    void *user;
    oxi_saved *saved;                /* in_count inputs, without edges: this leads to no graph */
    bool *leaf, *result;             /* in_count: what they are outside, if they have a gradient */
    ox_tensor **in, **out;           /* in_count, out_count: of a run */
    int in_count, out_count;
    oxi_random_state *drawn;         /* of the random calls of the first run, which the second one gets */
    int drawn_count, drawn_again;
    size_t drawn_room;
    oxi_checkpoint *outside;         /* of a run: that which runs around it */
    oxi_modes modes;                 /* when it ran first */
    int64_t since;                   /* nodes with a smaller sequence are from outside */
    oxi_recalled *places;
    int count, filled;               /* of places; filled: by the latest run so far, those too many counted */
    size_t room;
    bool again, runs;                /* again: it ran before */
    ox_status status;                /* of the run, but for the function's */
    oxi_checkpoint *next, **link;    /* of those that a pass has run again */
    size_t bytes;                    /* of this block */
};

static oxi_modes oxi_modes_set(const oxi_modes *to) {
    oxi_modes before = {oxi_thread_device, oxi_thread_dtype, oxi_exact, oxi_grad_off, oxi_inference_mode};
    if (!to) return before;
    oxi_thread_device = to->device;
    oxi_thread_dtype = to->dtype;
    oxi_exact = to->exact;
    oxi_grad_off = to->grad_off;
    oxi_inference_mode = to->inference;
    return before;
}

static void oxi_recalled_empty(oxi_recalled *place) {
    ox_release(place->tensor);
    place->tensor = NULL;
}

static void oxi_checkpoints_empty(oxi_checkpoint *list) {
    for (oxi_checkpoint *c = list, *next; c; c = next) {
        next = c->next;
        c->link = NULL;
        for (int i = 0; i < c->count; i++) oxi_recalled_empty(&c->places[i]);
    }
}

static void oxi_checkpoint_drop(void *packed, void *user) {
    oxi_checkpoint *c = (oxi_checkpoint *)user;
    oxi_counted *dead = NULL;
    (void)packed;
    if (--c->references > 0) return;
    if (c->link) *c->link = c->next;
    if (c->link && c->next) c->next->link = c->link;
    for (int i = 0; i < c->in_count; i++) oxi_saved_drop(&c->saved[i], &dead);
    for (int i = 0; i < c->count; i++) oxi_recalled_empty(&c->places[i]);
    oxi_free(c->places, c->room * sizeof *c->places);
    oxi_free(c->drawn, c->drawn_room * sizeof *c->drawn);
    oxi_free(c, c->bytes);
}

/* Whether the tensor that is saved in a place again is what it was. What a run makes has the version that it
 * had in the one before; of inputs, which hooks may have moved, it was looked at. */
static ox_status oxi_recalled_check(const oxi_checkpoint *c, int at, const ox_tensor *t) {
    const oxi_recalled *place = &c->places[at];
    bool same = oxi_atomic_load(&t->storage->version) == place->version;
    for (int i = 0; i < c->in_count; i++) same = same || c->in[i]->storage == t->storage;
    if (place->outline.dtype != t->dtype || !oxi_same_as_outline(t, &place->outline))
        return oxi_fail(OX_ERR_ARG, "checkpoint: run again, a checkpoint saves %s as number %d, not %s%s",
                        oxi_tensor_text(t), at + 1, ox_dtype_name(place->outline.dtype),
                        oxi_shape_text(place->outline.ndim, place->outline.shape));
    if (place->what != oxi_saving)
        return oxi_fail(OX_ERR_ARG, "checkpoint: run again, a checkpoint saves %s as number %d for another "
                        "call, or operand (since something wants a gradient that did not, or does not any "
                        "more?)", oxi_tensor_text(t), at + 1);
    if (!same)
        return oxi_fail(OX_ERR_ARG, "checkpoint: %s, which a checkpoint uses, was changed in place since",
                        oxi_tensor_text(t));
    return OX_OK;
}

/* The next place is t's. The second run, whose graph is dropped, keeps its tensors besides. */
static void *oxi_checkpoint_pack(ox_tensor *t, void *user) {
    oxi_checkpoint *c = (oxi_checkpoint *)user;
    int at = c->filled;
    oxi_recalled *place;
    if (c->again) {
        c->filled++;
        if (at >= c->count) return NULL;
        if (c->status == OX_OK) c->status = oxi_recalled_check(c, at, t);
        place = &c->places[at];
    } else {
        void *places = oxi_grow(c->places, &c->room, (size_t)at + 1, sizeof *place, false);
        if (!places) c->status = OX_ERR_NOMEM;
        if (!places) return NULL;
        c->places = (oxi_recalled *)places;
        place = &c->places[at];
        memset(place, 0, sizeof *place);
        oxi_outline_of(t, &place->outline);
        place->what = oxi_saving;
        c->filled = c->count = at + 1;
        c->references++;
    }
    if (!place->tensor) {
        place->tensor = ox_retain(t);
        place->version = oxi_atomic_load(&t->storage->version);
    }
    return c->again ? NULL : (void *)(intptr_t)(at + 1);
}

/* ---- random numbers ------------------------------------------------------------------------------------ */

/* The innermost that runs in this thread. */
static OXI_THREAD_LOCAL oxi_checkpoint *oxi_checkpoint_running;

/* For a random call: as in the first run, or from around it and noted. */
static oxi_random_state oxi_checkpoint_draw(oxi_checkpoint *c) {
    oxi_random_state state = oxi_no_random_state();
    if (!c) return oxi_draw_random_state();
    if (c->again) return c->drawn_again++ < c->drawn_count ? c->drawn[c->drawn_again - 1] : state;
    state = oxi_checkpoint_draw(c->outside);
    void *drawn = oxi_grow(c->drawn, &c->drawn_room, (size_t)c->drawn_count + 1, sizeof state, false);
    if (!drawn) c->status = OX_ERR_NOMEM;
    if (!drawn) return state;
    c->drawn = (oxi_random_state *)drawn;
    c->drawn[c->drawn_count++] = state;
    return state;
}
static oxi_random_state oxi_checkpoint_random(void) { return oxi_checkpoint_draw(oxi_checkpoint_running); }

/* ---- the function -------------------------------------------------------------------------------------- */

static ox_status oxi_checkpoint_run(oxi_checkpoint *c, ox_tensor **out) {
    const ox_saved_hooks *hooks = oxi_saved_hooks;
    int64_t since = oxi_checkpoint_since;
    bool again = oxi_random_again;
    c->outside = oxi_checkpoint_running;
    oxi_checkpoint_running = c;
    oxi_random_source = oxi_checkpoint_random;
    oxi_random_again = again || c->again;
    oxi_saved_hooks = &c->hooks;
    oxi_checkpoint_since = c->since;
    c->filled = c->drawn_again = 0;
    c->status = OX_OK;
    c->runs = true;
    ox_status status = c->function(c->in, out, c->user);
    c->runs = false;
    c->again = true;
    oxi_checkpoint_since = since;
    oxi_saved_hooks = hooks;
    oxi_random_again = again;
    oxi_checkpoint_running = c->outside;
    if (!c->outside) oxi_random_source = NULL;
    return status == OX_OK ? c->status : status;
}

/* Input i as the second run gets it: a leaf or a result, as it is outside, but of a graph of its own. */
static ox_status oxi_checkpoint_input(const oxi_checkpoint *c, int i) {
    ox_tensor *t = c->in[i] = oxi_saved_plain(&c->saved[i], "checkpoint", false);
    if (!t) return ox_error();
    if (c->leaf[i]) return ox_requires_grad_(t, true) ? OX_OK : ox_error();
    if (!c->result[i]) return OX_OK;
    oxi_edge edge = {oxi_node_new(OXI_NODE_CALL, 0, 1, 0), 0, NULL};
    if (!edge.node) return OX_ERR_NOMEM;
    edge.node->call.name = "checkpoint";
    oxi_outline_of(t, &edge.node->result[0]);
    ox_status status = oxi_attach(t, &edge);
    oxi_edge_drop(&edge);
    return status;
}

static ox_status oxi_checkpoint_run_again(oxi_checkpoint *c) {
    ox_status status = OX_OK;
    oxi_modes modes = oxi_modes_set(&c->modes);
    memset(c->out, 0, (size_t)c->out_count * sizeof *c->out);
    for (int i = 0; i < c->in_count && status == OX_OK; i++) status = oxi_checkpoint_input(c, i);
    if (status == OX_OK) status = oxi_checkpoint_run(c, c->out);
    (void)oxi_modes_set(&modes);
    if (status == OX_OK && c->drawn_again != c->drawn_count)
        status = oxi_fail(OX_ERR_ARG, "checkpoint: run again, a checkpoint makes %d random calls, not %d",
                          c->drawn_again, c->drawn_count);
    if (status == OX_OK && c->filled != c->count)
        status = oxi_fail(OX_ERR_ARG, "checkpoint: run again, a checkpoint saves %d tensors, not %d",
                          c->filled, c->count);
    return status;
}

/* Fills the places, for the pass under way. */
static ox_status oxi_checkpoint_fill(oxi_checkpoint *c) {
    if (!c->link) {
        c->link = oxi_filled;
        c->next = *oxi_filled;
        if (c->next) c->next->link = &c->next;
        *oxi_filled = c;
    }
    ox_scope scope = ox_scope_begin();
    ox_status status = oxi_checkpoint_run_again(c);
    ox_scope_end(&scope);
    if (status != OX_OK && ox_error() == OX_OK)
        (void)oxi_fail(status, "checkpoint: run again, a checkpoint failed");
    return status;
}

static ox_tensor *oxi_checkpoint_unpack(void *packed, void *user) {
    oxi_checkpoint *c = (oxi_checkpoint *)user;
    oxi_recalled *place = &c->places[(intptr_t)packed - 1];
    if (c->runs && c->again)
        return OXI_FAIL_NULL(OX_ERR_ARG, "checkpoint: a checkpoint needs gradients of itself");
    c->references++; /* whatever the function does to the graph */
    ox_tensor *t = NULL;
    if (place->tensor || oxi_checkpoint_fill(c) == OX_OK)
        t = oxi_tensor_over(place->tensor->storage, place->tensor);
    if (!c->runs) oxi_recalled_empty(place);
    oxi_checkpoint_drop(NULL, c);
    return t;
}

static int64_t oxi_saved_version(const oxi_saved *saved, const ox_tensor *now) {
    if (!saved->packed) return saved->version;
    if (saved->hooks->unpack != oxi_checkpoint_unpack) return oxi_atomic_load(&now->storage->version);
    return ((const oxi_checkpoint *)saved->hooks->user)->places[(intptr_t)saved->packed - 1].version;
}

/* ---- the first run ------------------------------------------------------------------------------------- */

static oxi_checkpoint *oxi_checkpoint_new(ox_checkpoint_function function, void *user, int in_count,
                                          int out_count) {
    size_t bytes = sizeof(oxi_checkpoint);
    size_t saved = oxi_room_for(&bytes, in_count, sizeof(oxi_saved)),
           flags = oxi_room_for(&bytes, in_count, 2 * sizeof(bool)),
           in = oxi_room_for(&bytes, in_count, sizeof(ox_tensor *)),
           out = oxi_room_for(&bytes, out_count, sizeof(ox_tensor *));
    char *block = (char *)oxi_calloc(1, bytes);
    if (!block) return NULL;
    oxi_checkpoint *c = (oxi_checkpoint *)block;
    c->references = 1;
    c->hooks.pack = oxi_checkpoint_pack;
    c->hooks.unpack = oxi_checkpoint_unpack;
    c->hooks.drop = oxi_checkpoint_drop;
    c->hooks.user = c;
    c->function = function;
    c->user = user;
    c->saved = (oxi_saved *)(block + saved);
    c->leaf = (bool *)(block + flags);
    c->result = c->leaf + in_count;
    c->in = (ox_tensor **)(block + in);
    c->out = (ox_tensor **)(block + out);
    c->in_count = in_count;
    c->out_count = out_count;
    c->modes = oxi_modes_set(NULL);
    c->since = oxi_next_sequence();
    c->bytes = bytes;
    return c;
}

/* What a second run needs of the inputs; by the saved hooks outside. */
static ox_status oxi_checkpoint_save_inputs(oxi_checkpoint *c) {
    ox_status status = OX_OK;
    for (int i = 0; i < c->in_count && status == OX_OK; i++) {
        ox_tensor *t = c->in[i];
        oxi_edge edge = {NULL, 0, NULL};
        oxi_saves(-2, i);
        if (t->tape && oxi_has_gradients(t->dtype)) status = oxi_tape_edge((oxi_tape *)t->tape, &edge);
        c->leaf[i] = edge.leaf != NULL;
        c->result[i] = edge.node != NULL;
        if (status == OX_OK)
            status = oxi_save_tensor(&c->saved[i], t, oxi_atomic_load(&t->storage->version), &edge);
        oxi_edge_drop(&c->saved[i].edge);
    }
    return status;
}

/* The inputs are still what they were, for a second run. */
static ox_status oxi_checkpoint_check_inputs(const oxi_checkpoint *c) {
    for (int i = 0; i < c->in_count && c->count; i++)
        if (oxi_atomic_load(&c->in[i]->storage->version) != c->saved[i].version)
            return oxi_fail(OX_ERR_ARG, "checkpoint: input %d, %s, is changed in place by the function, "
                            "which runs twice", i + 1, oxi_tensor_text(c->in[i]));
    return OX_OK;
}

OX_API ox_status ox_checkpoint(ox_checkpoint_function function, void *user, ox_tensor *const *inputs,
                               int input_count, ox_tensor **outputs, int output_count) {
    if (!function || !outputs || output_count < 1 || input_count < 0 || (input_count > 0 && !inputs))
        return oxi_fail(OX_ERR_ARG, "checkpoint: %s", function ? "no outputs, or no inputs" : "no function");
    if (oxi_any_null("checkpoint", inputs, input_count)) return ox_error();
    oxi_checkpoint *c = oxi_checkpoint_new(function, user, input_count, output_count);
    if (!c) return OX_ERR_NOMEM;
    if (input_count) memcpy(c->in, inputs, (size_t)input_count * sizeof *inputs); /* may be the outputs */
    for (int k = 0; k < output_count; k++) outputs[k] = NULL;
    ox_scope scope = ox_scope_begin();
    ox_status status = oxi_grad_off ? OX_OK : oxi_checkpoint_save_inputs(c);
    if (status == OX_OK)
        status = oxi_grad_off ? function(c->in, outputs, user) : oxi_checkpoint_run(c, outputs);
    if (status == OX_OK) status = oxi_checkpoint_check_inputs(c);
    for (int k = 0; k < output_count; k++)
        outputs[k] = status == OX_OK ? ox_keep(outputs[k]) : NULL;
    for (int i = 0; i < c->count; i++) oxi_recalled_empty(&c->places[i]);
    ox_scope_end(&scope);
    oxi_checkpoint_drop(NULL, c);
    return status;
}
