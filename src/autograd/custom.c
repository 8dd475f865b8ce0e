/* Functions with a gradient of one's own, and checkpoints, which are one of them. */

/* ---- custom functions ---------------------------------------------------------------------------------- */

/* Which of the outputs t is, or -1. */
static int oxi_output_of(const ox_tensor *t, ox_tensor *const *outputs, int count) {
    for (int i = 0; i < count; i++)
        if (outputs[i] == t) return i;
    return -1;
}

static ox_status oxi_custom_saves(oxi_node *node, ox_tensor *const *outputs, ox_tensor *const *saved) {
    ox_status status = OX_OK;
    for (int i = 0; i < node->saved_count && status == OX_OK; i++) {
        oxi_edge edge = {NULL, 0, NULL};
        node->saved_output[i] = oxi_output_of(saved[i], outputs, node->out_count);
        if (node->saved_output[i] < 0 && saved[i]->tape)
            status = oxi_tape_edge((oxi_tape *)saved[i]->tape, &edge);
        if (status == OX_OK)
            status = oxi_save_tensor(&node->saved[i], saved[i], oxi_atomic_load(&saved[i]->storage->version),
                                     &edge);
    }
    return status;
}

/* more: variables behind the inputs, of which backward knows by itself; NULL: none. */
static ox_status oxi_custom_inputs(oxi_node *node, ox_tensor *const *inputs, const oxi_variables *more,
                                   bool *wants) {
    ox_status status = OX_OK;
    int count = node->in_count - (more ? more->count : 0);
    *wants = more && more->count;
    for (int i = 0; i < count && status == OX_OK; i++) {
        oxi_edge edge = {NULL, 0, NULL};
        oxi_outline_of(inputs[i], &node->operand[i]);
        if (inputs[i]->tape && oxi_has_gradients(inputs[i]->dtype))
            status = oxi_tape_edge((oxi_tape *)inputs[i]->tape, &edge);
        node->edges[i] = oxi_edge_copy(&edge);
        *wants = *wants || oxi_edge_is(&edge);
    }
    for (int i = count; i < node->in_count; i++) {
        node->edges[i] = oxi_edge_copy(&more->list[i - count].edge);
        node->operand[i] = more->list[i - count].outline;
    }
    return status;
}

/* Views of inputs count as results like others. */
static ox_status oxi_custom_outputs(oxi_node *node, ox_tensor *const *outputs) {
    for (int k = 0; k < node->out_count; k++) {
        oxi_edge edge = {node, k, NULL};
        oxi_outline_of(outputs[k], &node->result[k]);
        if (outputs[k]->tape) oxi_counted_drop((oxi_counted *)outputs[k]->tape);
        outputs[k]->tape = NULL;
        if (oxi_has_gradients(outputs[k]->dtype) && oxi_attach(outputs[k], &edge) != OX_OK)
            return OX_ERR_NOMEM;
    }
    return OX_OK;
}

static oxi_node *oxi_function_node(const ox_function *function, void *user, int input_count, int output_count,
                                   int saved_count) {
    oxi_node *node = oxi_node_new(OXI_NODE_CUSTOM, input_count, output_count, saved_count);
    if (!node && function->drop) function->drop(user);
    if (!node) return NULL;
    node->function = function;
    node->user = user;
    return node;
}

/* The outputs come from the node, where one of the inputs has a gradient. */
static ox_status oxi_attach_function(oxi_node *node, ox_tensor *const *inputs, const oxi_variables *more,
                                     ox_tensor *const *outputs, ox_tensor *const *saved) {
    bool wants = false;
    if (!node) return OX_ERR_NOMEM;
    ox_status status = oxi_custom_inputs(node, inputs, more, &wants);
    wants = wants && !oxi_grad_off;
    if (status == OX_OK && wants) status = oxi_custom_saves(node, outputs, saved);
    if (status == OX_OK && wants) status = oxi_custom_outputs(node, outputs);
    oxi_counted_drop(&node->counted);
    return status;
}

/* Why there is no such function, or OX_OK. */
static ox_status oxi_check_function(const ox_function *function, ox_tensor *const *inputs, int input_count,
                                    ox_tensor *const *outputs, int output_count, ox_tensor *const *saved,
                                    int saved_count) {
    const char *name = "attach_function";
    if (!function || !function->backward) return oxi_fail(OX_ERR_ARG, "%s: no function", name);
    if (input_count < 0 || output_count < 1 || saved_count < 0)
        return oxi_fail(OX_ERR_ARG, "%s: %d inputs, %d outputs, %d saved", name, input_count, output_count,
                        saved_count);
    if (oxi_any_null(name, inputs, input_count) || oxi_any_null(name, outputs, output_count) ||
        oxi_any_null(name, saved, saved_count))
        return ox_error();
    for (int k = 0; k < output_count; k++) {
        const oxi_tape *tape = (const oxi_tape *)outputs[k]->tape;
        bool view = tape && tape->parent && tape->unrecorded && !tape->made.node && !tape->requires_grad;
        if ((tape && !view) || oxi_output_of(outputs[k], outputs, k) >= 0)
            return oxi_fail(OX_ERR_ARG, "%s: output %d is recorded already; compute it under OX_NO_GRAD "
                            "(ox_detach of an input)", name, k + 1);
    }
    return OX_OK;
}

OX_API ox_status ox_attach_function(const ox_function *function, void *user, ox_tensor *const *inputs,
                                    int input_count, ox_tensor *const *outputs, int output_count,
                                    ox_tensor *const *saved, int saved_count) {
    ox_status status = oxi_check_function(function, inputs, input_count, outputs, output_count, saved,
                                          saved_count);
    if (status != OX_OK) {
        if (function && function->drop) function->drop(user);
        return status;
    }
    return oxi_attach_function(oxi_function_node(function, user, input_count, output_count, saved_count),
                               inputs, NULL, outputs, saved);
}

/* ---- checkpoints --------------------------------------------------------------------------------------- */

typedef struct oxi_checkpoint {
    ox_checkpoint_function function;
    void *user;
    int input_count, output_count;
    ox_generator_state random;       /* of the thread's generator, when it ran */
    ox_tensor **room;                /* for backward: leaves, inputs, outputs, gradients */
    const oxi_node *node;            /* whose edges are those of the inputs, then of what else it uses */
} oxi_checkpoint;

static size_t oxi_checkpoint_bytes(const oxi_checkpoint *c) {
    return (2 * (size_t)c->input_count + 2 * (size_t)c->output_count) * sizeof(ox_tensor *);
}

static void oxi_checkpoint_drop(void *user) {
    oxi_checkpoint *c = (oxi_checkpoint *)user;
    oxi_free(c->room, oxi_checkpoint_bytes(c));
    oxi_free(c, sizeof *c);
}

/* A gradient as it is. */
static ox_status oxi_same_backward(const ox_function_context *context) {
    context->input_gradients[0] = context->gradients[0];
    return OX_OK;
}

/* Input i of the function that is to run again: a leaf, or where gradients are recorded a result of it. */
static ox_status oxi_checkpoint_input(const ox_function_context *context, int i, ox_tensor **leaf,
                                      ox_tensor **input) {
    static const ox_function same = {"checkpoint", oxi_same_backward, NULL};
    bool joins = !oxi_grad_off && ox_requires_grad(context->saved[i]);
    *input = *leaf = ox_detach(context->saved[i]);
    if (!*leaf || ((joins || context->wants[i]) && !ox_requires_grad_(*leaf, true))) return ox_error();
    if (!joins) return OX_OK;
    *input = ox_detach(*leaf);
    if (!*input) return ox_error();
    return oxi_attach_function(oxi_function_node(&same, NULL, 1, 1, 0), leaf, NULL, input, NULL);
}

/* Gradients of the gradients go past the leaf, to what it stood for. */
static ox_status oxi_checkpoint_join(ox_tensor *outside, ox_tensor *leaf, ox_tensor *input) {
    oxi_edge edge = {NULL, 0, NULL}, to = {NULL, 0, NULL};
    if (input == leaf) return OX_OK;
    ox_status status = oxi_tape_edge((oxi_tape *)input->tape, &edge);
    if (status == OX_OK) status = oxi_tape_edge((oxi_tape *)outside->tape, &to);
    if (status != OX_OK || !edge.node) return status;
    oxi_edge before = edge.node->edges[0];
    edge.node->edges[0] = oxi_edge_copy(&to);
    oxi_edge_drop(&before);
    return OX_OK;
}

/* The function once more, recorded this time, on inputs of a graph of their own. */
static ox_status oxi_checkpoint_again(const oxi_checkpoint *c, const ox_function_context *context,
                                      ox_tensor **leaves, ox_tensor **inputs, ox_tensor **outputs) {
    ox_generator *random = ox_generator_open(0);
    ox_status status = random ? OX_OK : OX_ERR_NOMEM;
    for (int i = 0; i < c->input_count && status == OX_OK; i++)
        status = oxi_checkpoint_input(context, i, &leaves[i], &inputs[i]);
    if (random) ox_generator_set_state(random, c->random);
    if (status == OX_OK) {
        ox_generator *before = ox_generator_use(random);
        bool enabled = ox_set_grad_enabled(true);
        status = c->function(inputs, outputs, c->user);
        (void)ox_set_grad_enabled(enabled);
        (void)ox_generator_use(before);
    }
    if (random) ox_generator_close(random);
    return status;
}

/* From the outputs to the inputs and to what else the function used, and no further: that is outside. */
static ox_status oxi_checkpoint_grad(const oxi_checkpoint *c, const ox_function_context *context,
                                     ox_tensor **leaves, ox_tensor **outputs, ox_tensor **g, int count,
                                     int64_t since) {
    oxi_pass run;
    int wanted_count = c->node->in_count;
    oxi_edge *wanted = (oxi_edge *)oxi_calloc((size_t)wanted_count + 1, sizeof *wanted);
    memset(&run, 0, sizeof run);
    if (!wanted) return OX_ERR_NOMEM;
    for (int i = 0; i < wanted_count; i++)
        if (context->wants[i]) wanted[i] = i < c->input_count ? oxi_edge_of(leaves[i]) : c->node->edges[i];
    run.only = true;
    run.create_graph = run.retain_graph = !oxi_grad_off;
    run.since = since;
    run.inside = c->input_count;
    ox_status status = oxi_grad_from(&run, "checkpoint", outputs, count, g, wanted, wanted_count);
    if (status == OX_OK)
        status = oxi_take_gradients(&run, wanted, wanted_count, true, NULL, context->input_gradients);
    oxi_run_end(&run);
    oxi_edges_free(wanted, wanted_count);
    return status;
}

static ox_status oxi_checkpoint_backward(const ox_function_context *context) {
    oxi_checkpoint *c = (oxi_checkpoint *)context->user;
    ox_tensor **leaves = c->room, **inputs = leaves + c->input_count;
    ox_tensor **outputs = inputs + c->input_count, **g = outputs + c->output_count;
    int count = 0;
    int64_t since = oxi_next_sequence();
    memset(c->room, 0, oxi_checkpoint_bytes(c));
    ox_status status = oxi_checkpoint_again(c, context, leaves, inputs, outputs);
    for (int k = 0; k < c->output_count && status == OX_OK; k++) {
        if (!outputs[k] || !context->gradients[k] || !ox_requires_grad(outputs[k])) continue;
        outputs[count] = outputs[k];
        g[count++] = context->gradients[k];
    }
    if (status != OX_OK || !count) return status;
    status = oxi_checkpoint_grad(c, context, leaves, outputs, g, count, since);
    for (int i = 0; i < c->input_count && status == OX_OK; i++)
        status = oxi_checkpoint_join(context->saved[i], leaves[i], inputs[i]);
    return status;
}

static const ox_function oxi_checkpoint_as_function = {"checkpoint", oxi_checkpoint_backward,
                                                       oxi_checkpoint_drop};

static oxi_checkpoint *oxi_checkpoint_new(ox_checkpoint_function function, void *user, int input_count,
                                          int output_count) {
    oxi_checkpoint *c = (oxi_checkpoint *)oxi_calloc(1, sizeof *c);
    if (!c) return NULL;
    c->function = function;
    c->user = user;
    c->input_count = input_count;
    c->output_count = output_count;
    c->random = ox_generator_get_state(oxi_generator);
    c->room = (ox_tensor **)oxi_alloc(oxi_checkpoint_bytes(c));
    if (c->room) return c;
    oxi_free(c, sizeof *c);
    return NULL;
}

/* The function, of whose tensors only the outputs stay. What it gives of what was there gets a header of its
 * own where gradients are sought. */
static ox_status oxi_checkpoint_forward(ox_checkpoint_function function, void *user, ox_tensor *const *inputs,
                                        ox_tensor **outputs, int output_count, oxi_variables *seen) {
    ox_scope scope = ox_scope_begin();
    ox_status status = function(inputs, outputs, user);
    for (int k = 0; k < output_count && status == OX_OK && seen; k++) {
        oxi_edge edge = oxi_edge_of(outputs[k]);
        if (oxi_edge_is(&edge)) status = oxi_variables_add(seen, &edge, outputs[k]);
        if (!outputs[k] || (!outputs[k]->tape && oxi_output_of(outputs[k], outputs, k) < 0)) continue;
        outputs[k] = oxi_tensor_over(outputs[k]->storage, outputs[k]);
        if (!outputs[k]) status = OX_ERR_NOMEM;
    }
    for (int k = 0; k < output_count; k++) ox_keep(outputs[k]);
    ox_scope_end(&scope);
    return status;
}

OX_API ox_status ox_checkpoint(ox_checkpoint_function function, void *user, ox_tensor *const *inputs,
                               int input_count, ox_tensor **outputs, int output_count) {
    ox_status status = OX_OK;
    if (!function || !outputs || output_count < 1 || input_count < 0 || (input_count > 0 && !inputs))
        return oxi_fail(OX_ERR_ARG, "checkpoint: %s", function ? "no outputs, or no inputs" : "no function");
    if (oxi_any_null("checkpoint", inputs, input_count)) return ox_error();
    for (int k = 0; k < output_count; k++) outputs[k] = NULL;
    if (oxi_grad_off) return oxi_checkpoint_forward(function, user, inputs, outputs, output_count, NULL);
    oxi_checkpoint *c = oxi_checkpoint_new(function, user, input_count, output_count);
    if (!c) return OX_ERR_NOMEM;
    oxi_variables seen, *outside = oxi_grad_seen;
    memset(&seen, 0, sizeof seen);
    oxi_grad_seen = &seen;
    oxi_grad_off = true;
    status = oxi_checkpoint_forward(function, user, inputs, outputs, output_count, &seen);
    oxi_grad_off = false;
    oxi_grad_seen = outside;
    if (status != OX_OK || !seen.count) {
        oxi_checkpoint_drop(c);
    } else {
        oxi_node *node = oxi_function_node(&oxi_checkpoint_as_function, c, input_count + seen.count,
                                           output_count, input_count);
        if (node) c->node = node;
        status = oxi_attach_function(node, inputs, &seen, outputs, inputs);
    }
    oxi_variables_free(&seen);
    return status;
}
