/* The public functions of gradients: variables, modes, hooks, backward. */

/* ---- variables ----------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_requires_grad_(ox_tensor *t, bool requires_grad) {
    oxi_edge edge = {NULL, 0, NULL};
    if (oxi_any_null("requires_grad_", &t, 1)) return NULL;
    if (!requires_grad && !t->tape) return t;
    if (!oxi_has_gradients(t->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "requires_grad_: %s has no gradient, only floats and c64 have",
                             oxi_tensor_text(t));
    if (t->storage->inference && requires_grad && !oxi_inference_mode)
        return OXI_FAIL_NULL(OX_ERR_ARG,
                             "requires_grad_: %s is an inference tensor; ox_clone gives a plain one",
                             oxi_tensor_text(t));
    oxi_tape *tape = oxi_tape_of(t);
    if (!tape || oxi_start_recording("requires_grad_") != OX_OK || oxi_tape_edge(tape, &edge) != OX_OK)
        return NULL;
    if (edge.node && !requires_grad)
        return OXI_FAIL_NULL(OX_ERR_ARG,
                             "requires_grad_: %s is a result; ox_detach gives one without a gradient",
                             oxi_tensor_text(t));
    if (!edge.node) tape->requires_grad = requires_grad;
    return t;
}

/* Borrowed; nothing where there is no gradient, or no memory to say so. */
static oxi_edge oxi_edge_of(const ox_tensor *t) {
    oxi_edge edge = {NULL, 0, NULL};
    if (t && t->tape && oxi_tape_edge((oxi_tape *)t->tape, &edge) != OX_OK) memset(&edge, 0, sizeof edge);
    return edge;
}

OX_API bool ox_requires_grad(const ox_tensor *t) {
    oxi_edge edge = oxi_edge_of(t);
    return oxi_edge_is(&edge);
}

OX_API bool ox_is_leaf(const ox_tensor *t) {
    return !oxi_edge_of(t).node;
}

OX_API ox_tensor *ox_detach(ox_tensor *t) {
    oxi_attrs attr = oxi_attrs_sizes();
    if (oxi_any_null("detach", &t, 1)) return NULL;
    attr.sizes.shape = ox_shape_of(t);
    oxi_call call = oxi_call_of(OXI_OP_view, &t, 1, NULL);
    call.attr = attr;
    call.name = "detach";
    if (oxi_apply_quiet(&call) != OX_OK) return NULL;
    call.out[0]->is_number = t->is_number;
    return call.out[0];
}

OX_API ox_tensor *ox_gradient(ox_tensor *t) {
    return t && t->tape ? ((oxi_tape *)t->tape)->gradient : NULL;
}

OX_API ox_status ox_set_gradient(ox_tensor *t, ox_tensor *gradient) {
    if (oxi_any_null("set_gradient", &t, 1)) return ox_error();
    if (!gradient && !t->tape) return OX_OK;
    if (gradient && !oxi_same_sizes(gradient, t, -1))
        return oxi_fail(OX_ERR_SHAPE, "set_gradient: the gradient %s of %s", oxi_tensor_text(gradient),
                        oxi_tensor_text(t));
    if (gradient && (gradient->dtype != t->dtype || !oxi_has_gradients(t->dtype)))
        return oxi_fail(OX_ERR_DTYPE, "set_gradient: the gradient %s of %s", oxi_tensor_text(gradient),
                        oxi_tensor_text(t));
    oxi_tape *tape = oxi_tape_of(t);
    if (!tape) return OX_ERR_NOMEM;
    ox_retain(gradient);
    ox_release(tape->gradient);
    tape->gradient = gradient;
    return OX_OK;
}

OX_API ox_status ox_retain_gradient(ox_tensor *t) {
    if (oxi_any_null("retain_gradient", &t, 1)) return ox_error();
    oxi_edge edge;
    ox_status status = oxi_variable_edge("retain_gradient", t, &edge);
    if (status == OX_OK && edge.node) edge.node->keeper[edge.output] = (oxi_tape *)t->tape;
    return status;
}

/* ---- modes --------------------------------------------------------------------------------------------- */

OX_API bool ox_is_grad_enabled(void) {
    return !oxi_grad_off;
}

OX_API bool ox_set_grad_enabled(bool enabled) {
    bool before = !oxi_grad_off;
    oxi_grad_off = !enabled || oxi_inference_mode;
    return before;
}

OX_API ox_grad_scope ox_grad_scope_begin(bool enabled) {
    ox_grad_scope scope;
    scope.previous = ox_set_grad_enabled(enabled);
    scope.open = true;
    return scope;
}

OX_API void ox_grad_scope_end(ox_grad_scope *scope) {
    if (scope && scope->open) (void)ox_set_grad_enabled(scope->previous);
    if (scope) scope->open = false;
}

OX_API bool ox_is_inference_mode_enabled(void) {
    return oxi_inference_mode;
}

OX_API bool ox_is_inference(const ox_tensor *t) {
    return t && t->storage->inference;
}

OX_API ox_inference_scope ox_inference_scope_begin(bool enabled) {
    ox_inference_scope scope;
    scope.previous = oxi_inference_mode;
    scope.grad = !oxi_grad_off;
    scope.open = true;
    oxi_inference_mode = oxi_grad_off = enabled;
    return scope;
}

OX_API void ox_inference_scope_end(ox_inference_scope *scope) {
    if (!scope || !scope->open) return;
    oxi_inference_mode = scope->previous;
    oxi_grad_off = !scope->grad;
    scope->open = false;
}

/* ---- hooks --------------------------------------------------------------------------------------------- */

/* The list that hooks of t's gradient are in; NULL and an error where it has none. */
static oxi_hook **oxi_hooks_of(const char *name, ox_tensor *t) {
    oxi_edge edge;
    if (oxi_any_null(name, &t, 1) || oxi_variable_edge(name, t, &edge) != OX_OK) return NULL;
    return edge.node ? &edge.node->hooks[edge.output] : &edge.leaf->hooks;
}

/* At the end: hooks run in the order in which they came. */
static oxi_hook *oxi_hook_add(ox_tensor *t, oxi_hook **list, void *user) {
    static int64_t numbers;
    oxi_tape *tape = (oxi_tape *)t->tape;
    oxi_hook *hook = (oxi_hook *)oxi_calloc(1, sizeof *hook);
    if (!hook) return NULL;
    hook->number = oxi_atomic_add(&numbers, 1);
    hook->user = user;
    hook->list = list;
    hook->tape = tape;
    hook->sibling = tape->registered;
    tape->registered = hook;
    while (*list) list = &(*list)->next;
    *list = hook;
    return hook;
}

OX_API int64_t ox_register_hook(ox_tensor *t, ox_gradient_hook change, void *user) {
    oxi_hook **list = oxi_hooks_of("register_hook", t), *hook;
    if (list && !change) (void)oxi_fail(OX_ERR_ARG, "register_hook: no function");
    if (!list || !change || !(hook = oxi_hook_add(t, list, user))) return 0;
    hook->change = change;
    return hook->number;
}

OX_API int64_t ox_register_accumulated_hook(ox_tensor *leaf, ox_accumulated_hook accumulated, void *user) {
    oxi_hook **list = oxi_hooks_of("register_accumulated_hook", leaf), *hook;
    if (!list) return 0;
    if (!accumulated || !ox_is_leaf(leaf)) {
        (void)oxi_fail(OX_ERR_ARG, "register_accumulated_hook: %s",
                       accumulated ? "a result adds no gradients up, only leaves do" : "no function");
        return 0;
    }
    ox_tensor *header = oxi_plain_header(leaf);
    hook = header ? oxi_hook_add(leaf, list, user) : NULL;
    if (!hook) {
        ox_release(header);
        return 0;
    }
    hook->accumulated = accumulated;
    hook->header = header;
    return hook->number;
}

OX_API int64_t ox_register_operation_hook(ox_tensor *t, ox_operation_hook operation, void *user) {
    const char *name = "register_operation_hook";
    oxi_edge edge;
    if (oxi_any_null(name, &t, 1) || oxi_variable_edge(name, t, &edge) != OX_OK) return 0;
    if (!operation || !edge.node) {
        (void)oxi_fail(OX_ERR_ARG, "%s: %s", name,
                       operation ? "a leaf comes from no operation" : "no function");
        return 0;
    }
    oxi_hook *hook = oxi_hook_add(t, &edge.node->watchers, user);
    if (!hook) return 0;
    hook->operation = operation;
    return hook->number;
}

static void oxi_hook_remove(oxi_hook *hook) {
    oxi_hook **list = hook->list;
    while (*list != hook) list = &(*list)->next;
    *list = hook->next;
    hook->next = NULL;
    oxi_hooks_free(hook);
}

/* Of what t was when it was registered: that may be another node, or what t became a view of. */
OX_API void ox_remove_hook(ox_tensor *t, int64_t number) {
    for (oxi_tape *tape = t ? (oxi_tape *)t->tape : NULL; tape; tape = tape->became ? tape->parent : NULL)
        for (oxi_hook *hook = tape->registered; hook; hook = hook->sibling)
            if (hook->number == number) {
                oxi_hook_remove(hook);
                return;
            }
}

/* ---- backward ------------------------------------------------------------------------------------------ */

/* The edges of tensors, in one block of count. */
static oxi_edge *oxi_edges_of_list(const char *name, ox_tensor *const *list, int count) {
    oxi_edge *edges = NULL;
    if (count < 0 || (count > 0 && !list)) {
        (void)oxi_fail(OX_ERR_ARG, "%s: %d tensors", name, count);
        return NULL;
    }
    if (oxi_any_null(name, list, count)) return NULL;
    edges = (oxi_edge *)oxi_calloc((size_t)count + 1, sizeof *edges);
    for (int i = 0; edges && i < count; i++)
        if (oxi_variable_edge(name, list[i], &edges[i]) != OX_OK) {
            oxi_free(edges, ((size_t)count + 1) * sizeof *edges);
            return NULL;
        }
    return edges;
}

static void oxi_edges_free(oxi_edge *edges, int count) {
    if (edges) oxi_free(edges, ((size_t)count + 1) * sizeof *edges);
}

/* Results that a backward is for keep their gradients as leaves do. */
static ox_status oxi_keep_wanted(oxi_pass *run, ox_tensor *const *inputs, const oxi_edge *wanted, int count) {
    ox_status status = OX_OK;
    ox_scope scope = ox_scope_begin();
    for (int i = 0; i < count && status == OX_OK; i++) {
        if (!wanted[i].node || wanted[i].node->keeper[wanted[i].output]) continue;
        oxi_sum *sum = oxi_sum_of_edge(run, oxi_task_of_edge(run, &wanted[i]), &wanted[i]);
        status = oxi_keep_gradient(run, (oxi_tape *)inputs[i]->tape, sum);
        ox_release(sum->sum); /* once, however often it is named */
        sum->sum = NULL;
    }
    ox_scope_end(&scope);
    return status;
}

/* Adds gradients up in the leaves of several results; gradients NULL, or an entry of it: 1. */
static ox_status oxi_backward_from(const char *name, ox_tensor *const *results, ox_tensor *const *gradients,
                                   int count, const ox_backward_desc *desc) {
    oxi_pass run;
    oxi_edge *wanted = NULL, *roots = oxi_edges_of_list(name, results, count);
    int wanted_count = desc && desc->inputs ? desc->input_count : 0;
    memset(&run, 0, sizeof run);
    if (!roots) return ox_error() != OX_OK ? ox_error() : OX_ERR_NOMEM;
    run.create_graph = desc && desc->create_graph;
    run.retain_graph = desc && (desc->retain_graph || desc->create_graph);
    run.keeps = true;
    run.only = desc && desc->inputs;
    if (run.only) wanted = oxi_edges_of_list(name, desc->inputs, wanted_count);
    ox_status status = run.only && !wanted ? OX_ERR_NOMEM
                                           : oxi_run_prepare(&run, roots, count, wanted, wanted_count);
    if (status == OX_OK) status = oxi_run_from(&run, results, roots, count, gradients);
    if (status == OX_OK) status = oxi_keep_wanted(&run, desc ? desc->inputs : NULL, wanted, wanted_count);
    oxi_run_end(&run);
    oxi_edges_free(roots, count);
    oxi_edges_free(wanted, wanted_count);
    return status != OX_OK && ox_error() != OX_OK ? ox_error() : status;
}

OX_API ox_status ox_backward(ox_tensor *t, const ox_backward_desc *desc) {
    if (oxi_any_null("backward", &t, 1)) return ox_error();
    bool speaks = oxi_speak("backward");
    ox_status status = oxi_backward_from("backward", &t, desc ? &desc->gradient : NULL, 1, desc);
    oxi_speak_end(speaks);
    return status;
}

/* Takes what was wanted out of a run that is over; the results are the scope's. */
static ox_status oxi_take_gradients(oxi_pass *run, const oxi_edge *wanted, int count, bool allow_unused,
                                    ox_tensor *const *inputs, ox_tensor **grads) {
    for (int i = 0; i < count; i++) {
        ox_tensor *g = oxi_sum_of_edge(run, oxi_task_of_edge(run, &wanted[i]), &wanted[i])->sum;
        if (!g && !allow_unused)
            return oxi_fail(OX_ERR_ARG,
                            "grad: the outputs do not depend on input %d, %s; allow_unused gives NULL", i + 1,
                            oxi_tensor_text(inputs[i]));
        if (g && !(grads[i] = oxi_same_again(g))) return ox_error();
    }
    return OX_OK;
}

OX_API ox_status ox_grad(ox_tensor *const *outputs, int output_count, ox_tensor *const *inputs,
                         int input_count, const ox_grad_desc *desc, ox_tensor **grads) {
    ox_grad_desc plain;
    oxi_pass run;
    ox_status status = OX_ERR_NOMEM;
    memset(&plain, 0, sizeof plain);
    memset(&run, 0, sizeof run);
    if (!desc) desc = &plain;
    if (!grads && input_count > 0) return oxi_fail(OX_ERR_ARG, "grad: no room for %d gradients", input_count);
    for (int i = 0; i < input_count; i++) grads[i] = NULL;
    oxi_edge *roots = oxi_edges_of_list("grad", outputs, output_count);
    oxi_edge *wanted = roots ? oxi_edges_of_list("grad", inputs, input_count) : NULL;
    if (!wanted && ox_error() != OX_OK) status = ox_error();
    run.create_graph = desc->create_graph;
    run.retain_graph = desc->retain_graph || desc->create_graph;
    run.only = true;
    bool speaks = oxi_speak("grad");
    if (wanted) status = oxi_run_prepare(&run, roots, output_count, wanted, input_count);
    if (wanted && status == OX_OK) status = oxi_run_from(&run, outputs, roots, output_count, desc->gradients);
    if (wanted && status == OX_OK)
        status = oxi_take_gradients(&run, wanted, input_count, desc->allow_unused, inputs, grads);
    for (int i = 0; i < input_count && status != OX_OK; i++) {
        ox_release(grads[i]);
        grads[i] = NULL;
    }
    oxi_run_end(&run);
    oxi_edges_free(roots, output_count);
    oxi_edges_free(wanted, input_count);
    oxi_speak_end(speaks);
    return status;
}
