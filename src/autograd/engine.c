/* The engine: from results back to leaves. It finds the nodes that lead to what gets a gradient, and runs
 * each when all its gradients have come, later ones first: the order is that of recording, so sums have the
 * same bits in every run. What all rows need is done here once: sums over broadcast dims, dtypes, devices. */

/* ---- the work of one backward -------------------------------------------------------------------------- */

/* A node, or a leaf, that gradients come to. */
typedef struct oxi_task {
    oxi_counted *what;               /* oxi_node or oxi_tape */
    int64_t pending;                 /* edges that are still to bring something */
    bool needed;                     /* leads to what gets a gradient */
    int first;                       /* of its gradients in run->g */
} oxi_task;

/* A gradient that is being added up. fresh: nobody else has its memory. */
typedef struct oxi_sum {
    ox_tensor *sum;
    bool fresh;
    bool wanted;                     /* by ox_grad, which takes it in the end */
} oxi_sum;

struct oxi_pass {
    oxi_task *tasks;
    int count, reached;              /* reached: the first tasks, which results lead to */
    size_t room;
    int *places, place_room;         /* hash table of `what`: index of the task + 1; a power of two */
    oxi_sum *g;
    int g_count;
    size_t g_room;
    int *ready, ready_count;         /* a heap of tasks by sequence, largest first; room: of tasks */
    bool create_graph, retain_graph;
    bool only;                       /* what is wanted, and no leaf besides */
    bool keeps;                      /* leaves keep their gradients: ox_backward */
};

static int64_t oxi_task_sequence(const oxi_task *task) {
    return task->what->is_node ? ((const oxi_node *)task->what)->sequence : INT64_MAX;
}

static int *oxi_place_of(const oxi_pass *run, const oxi_counted *what) {
    uint64_t hash = (uint64_t)(uintptr_t)what / 16 * 0x9E3779B97F4A7C15u; /* golden ratio */
    int at = (int)(hash >> 32) & (run->place_room - 1);
    while (run->places[at] && run->tasks[run->places[at] - 1].what != what)
        at = (at + 1) & (run->place_room - 1);
    return &run->places[at];
}

static bool oxi_places_grow(oxi_pass *run) {
    int room = run->place_room ? run->place_room * 2 : 256;
    int *places = (int *)oxi_calloc((size_t)room, sizeof *places);
    if (!places) return false;
    oxi_free(run->places, (size_t)run->place_room * sizeof *places);
    run->places = places;
    run->place_room = room;
    for (int i = 0; i < run->count; i++) *oxi_place_of(run, run->tasks[i].what) = i + 1;
    return true;
}

/* The task of a node or leaf, made if there is none; -1 and an error where memory ends. */
static int oxi_task_of(oxi_pass *run, oxi_counted *what) {
    if (run->count * 2 >= run->place_room && !oxi_places_grow(run)) return -1;
    int *place = oxi_place_of(run, what), outputs = what->is_node ? ((oxi_node *)what)->out_count : 1;
    if (*place) return *place - 1;
    void *tasks = oxi_grow(run->tasks, &run->room, (size_t)run->count + 1, sizeof *run->tasks, false);
    if (tasks) run->tasks = (oxi_task *)tasks;
    void *g = oxi_grow(run->g, &run->g_room, (size_t)(run->g_count + outputs), sizeof *run->g, false);
    if (g) run->g = (oxi_sum *)g;
    if (!tasks || !g) return -1;
    memset(run->g + run->g_count, 0, (size_t)outputs * sizeof *run->g);
    oxi_task *task = &run->tasks[run->count];
    memset(task, 0, sizeof *task);
    task->what = what;
    task->first = run->g_count;
    oxi_counted_keep(what);
    run->g_count += outputs;
    *place = ++run->count;
    return run->count - 1;
}

static int oxi_task_of_edge(oxi_pass *run, const oxi_edge *edge) {
    return oxi_task_of(run, edge->node ? &edge->node->counted : &edge->leaf->counted);
}

/* Where an edge's gradient is added up. */
static oxi_sum *oxi_sum_of_edge(oxi_pass *run, int task, const oxi_edge *edge) {
    return &run->g[run->tasks[task].first + (edge->node ? edge->output : 0)];
}

/* ---- which nodes --------------------------------------------------------------------------------------- */

/* All that the tasks so far lead to. */
static ox_status oxi_find_tasks(oxi_pass *run) {
    for (int i = 0; i < run->count; i++) {
        if (!run->tasks[i].what->is_node) continue;
        oxi_node *node = (oxi_node *)run->tasks[i].what;
        for (int e = 0; e < node->in_count; e++)
            if (oxi_edge_is(&node->edges[e]) && oxi_task_of_edge(run, &node->edges[e]) < 0)
                return OX_ERR_NOMEM;
    }
    return OX_OK;
}

static int oxi_earlier_task(const void *a, const void *b) {
    const int64_t *x = (const int64_t *)a, *y = (const int64_t *)b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

/* Marks what leads to a gradient that is wanted, and counts the edges that will bring one. */
static ox_status oxi_mark_needed(oxi_pass *run) {
    size_t bytes = (size_t)run->reached * 2 * sizeof(int64_t);
    int64_t *order = (int64_t *)oxi_alloc(bytes);
    if (!order) return OX_ERR_NOMEM;
    for (int i = 0; i < run->reached; i++) {
        order[2 * i] =
            run->tasks[i].what->is_node ? oxi_task_sequence(&run->tasks[i]) : -1; /* leaves first */
        order[2 * i + 1] = i;
    }
    qsort(order, (size_t)run->reached, 2 * sizeof *order, oxi_earlier_task);
    for (int i = 0; i < run->reached; i++) {
        oxi_task *task = &run->tasks[order[2 * i + 1]];
        oxi_node *node = task->what->is_node ? (oxi_node *)task->what : NULL;
        if (!node && !run->only) task->needed = true;
        for (int e = 0; node && e < node->in_count; e++) {
            if (!oxi_edge_is(&node->edges[e])) continue;
            int to = oxi_task_of_edge(run, &node->edges[e]);
            bool wanted = run->tasks[to].needed || oxi_sum_of_edge(run, to, &node->edges[e])->wanted;
            task->needed = task->needed || wanted;
        }
    }
    oxi_free(order, bytes);
    return OX_OK;
}

/* Whether a node gives a gradient along an edge. */
static bool oxi_edge_is_needed(oxi_pass *run, const oxi_edge *edge) {
    if (!oxi_edge_is(edge)) return false;
    int to = oxi_task_of_edge(run, edge);
    return run->tasks[to].needed || oxi_sum_of_edge(run, to, edge)->wanted;
}

static void oxi_count_pending(oxi_pass *run) {
    for (int i = 0; i < run->reached; i++) {
        if (!run->tasks[i].what->is_node || !run->tasks[i].needed) continue;
        oxi_node *node = (oxi_node *)run->tasks[i].what;
        for (int e = 0; e < node->in_count; e++)
            if (oxi_edge_is_needed(run, &node->edges[e]))
                run->tasks[oxi_task_of_edge(run, &node->edges[e])].pending++;
    }
}

/* ---- the heap of what is ready ------------------------------------------------------------------------- */

static bool oxi_task_before(const oxi_pass *run, int a, int b) {
    return oxi_task_sequence(&run->tasks[run->ready[a]]) > oxi_task_sequence(&run->tasks[run->ready[b]]);
}

static void oxi_ready_swap(oxi_pass *run, int a, int b) {
    int task = run->ready[a];
    run->ready[a] = run->ready[b];
    run->ready[b] = task;
}

static void oxi_ready_put(oxi_pass *run, int task) {
    int at = run->ready_count++;
    run->ready[at] = task;
    for (; at > 0 && oxi_task_before(run, at, (at - 1) / 2); at = (at - 1) / 2)
        oxi_ready_swap(run, at, (at - 1) / 2);
}

static int oxi_ready_take(oxi_pass *run) {
    int first = run->ready[0];
    run->ready[0] = run->ready[--run->ready_count];
    for (int at = 0;;) {
        int next = 2 * at + 1;
        if (next >= run->ready_count) return first;
        if (next + 1 < run->ready_count && oxi_task_before(run, next + 1, next)) next++;
        if (!oxi_task_before(run, next, at)) return first;
        oxi_ready_swap(run, at, next);
        at = next;
    }
}

/* ---- gradients on their way ---------------------------------------------------------------------------- */

static bool oxi_same_as_outline(const ox_tensor *t, const oxi_outline *outline) {
    bool same = t->ndim == outline->ndim;
    for (int d = 0; d < outline->ndim && same; d++) same = t->shape[d] == outline->shape[d];
    return same;
}

/* Of the operand's shape, dtype and device. A gradient that stands for more of the same number may be
 * smaller. */
static ox_tensor *oxi_fit_gradient(ox_tensor *g, const oxi_outline *to) {
    bool smaller = g->ndim < to->ndim;
    for (int d = 0; d < to->ndim && !smaller; d++) {
        int64_t size = g->shape[g->ndim - to->ndim + d];
        smaller = size == 1 && to->shape[d] != 1;
    }
    if (smaller) g = ox_expand(g, oxi_outline_shape(to));
    if (g) g = oxi_summed_to(g, oxi_outline_shape(to));
    if (g && g->dtype != to->dtype) g = ox_cast(g, to->dtype);
    if (g && !oxi_common_device(ox_device_of(g), to->device)) g = ox_to(g, to->device);
    return g;
}

static int64_t oxi_detects_anomaly; /* atomic */

/* Whether nobody but one sum or scope can see the memory of a gradient. */
static bool oxi_gradient_is_own(const ox_tensor *g) {
    return g->references == 1 && g->storage->references == 1 && !g->storage->read_only && ox_is_contiguous(g);
}

/* Adds g, of the edge's shape, to what came before: in memory that nobody else sees, if one of them has
 * such. */
static ox_status oxi_add_gradient(const oxi_pass *run, oxi_sum *sum, ox_tensor *g) {
    ox_tensor *total;
    if (!sum->sum) {
        sum->sum = ox_retain(g);
        return OX_OK;
    }
    bool into = !run->create_graph && sum->sum->dtype == g->dtype && oxi_same_sizes(g, sum->sum, -1);
    if (sum->fresh || (into && oxi_gradient_is_own(sum->sum)))
        return ox_add_(sum->sum, g) ? OX_OK : ox_error();
    total = ox_add(sum->sum, g);
    if (!total) return ox_error();
    ox_release(sum->sum);
    sum->sum = ox_retain(total);
    sum->fresh = !run->create_graph;
    return OX_OK;
}

static ox_tensor *oxi_sum_so_far(const oxi_backward *b, int i) {
    oxi_pass *run = (oxi_pass *)b->pass;
    if (!run || run->create_graph || b->node->watchers || oxi_atomic_load(&oxi_detects_anomaly)) return NULL;
    const oxi_edge *edge = &b->node->edges[i];
    ox_tensor *sum = oxi_sum_of_edge(run, oxi_task_of_edge(run, edge), edge)->sum;
    return sum && oxi_gradient_is_own(sum) ? sum : NULL;
}

/* Brings a gradient along an edge; g NULL: zeros, but what waits for it is told. */
static ox_status oxi_bring(oxi_pass *run, const oxi_edge *edge, const oxi_outline *to, ox_tensor *g) {
    int task = oxi_task_of_edge(run, edge);
    ox_status status = OX_OK;
    if (g) {
        g = oxi_fit_gradient(g, to);
        status = g ? oxi_add_gradient(run, oxi_sum_of_edge(run, task, edge), g) : ox_error();
    }
    if (--run->tasks[task].pending == 0) oxi_ready_put(run, task);
    return status;
}

/* What hooks make of a complete gradient. */
static ox_status oxi_run_hooks(oxi_sum *sum, const oxi_hook *hook) {
    for (; hook && sum->sum; hook = hook->next) {
        ox_tensor *changed = hook->change ? hook->change(sum->sum, hook->user) : NULL;
        if (!changed) {
            if (hook->change && ox_error() != OX_OK) return ox_error();
            continue;
        }
        if (!oxi_same_sizes(changed, sum->sum, -1))
            return oxi_fail(OX_ERR_SHAPE, "backward: a hook made %s of a gradient %s",
                            oxi_tensor_text(changed), oxi_tensor_text(sum->sum));
        ox_retain(changed);
        ox_release(sum->sum);
        sum->sum = changed;
        sum->fresh = false;
    }
    return OX_OK;
}

/* ---- into leaves --------------------------------------------------------------------------------------- */

/* A gradient that a tensor may keep: nobody else writes into its memory. */
static ox_tensor *oxi_own_gradient(const oxi_pass *run, const oxi_sum *sum) {
    bool own = sum->fresh || (sum->sum->references == 1 && sum->sum->storage->references == 1);
    if (run->create_graph || (own && ox_is_contiguous(sum->sum))) return sum->sum;
    return ox_clone(sum->sum);
}

static ox_status oxi_keep_gradient(const oxi_pass *run, oxi_tape *tape, const oxi_sum *sum) {
    ox_tensor *g;
    if (!sum->sum) return OX_OK;
    if (tape->gradient && !run->create_graph && !tape->gradient->tape)
        return ox_add_(tape->gradient, sum->sum) ? OX_OK : ox_error();
    g = tape->gradient ? ox_add(tape->gradient, sum->sum) : oxi_own_gradient(run, sum);
    if (!g) return ox_error();
    ox_retain(g);
    ox_release(tape->gradient);
    tape->gradient = g;
    return OX_OK;
}

/* Hooks get a header of their own: which of the leaf's the user has is not known. */
static ox_status oxi_run_accumulated_hooks(oxi_tape *leaf) {
    for (const oxi_hook *hook = leaf->hooks; hook; hook = hook->next) {
        if (!hook->accumulated) continue;
        ox_tensor *t = oxi_tensor_over(hook->header->storage, hook->header);
        if (!t) return OX_ERR_NOMEM;
        oxi_counted_keep(&leaf->counted);
        t->tape = leaf;
        hook->accumulated(t, hook->user);
    }
    return OX_OK;
}

static ox_status oxi_run_leaf(oxi_pass *run, oxi_tape *leaf, const oxi_task *task) {
    oxi_sum *sum = &run->g[task->first];
    ox_status status = oxi_run_hooks(sum, leaf->hooks);
    if (status != OX_OK || !run->keeps || !sum->sum || (run->only && !sum->wanted)) return status;
    status = oxi_keep_gradient(run, leaf, sum);
    return status == OX_OK ? oxi_run_accumulated_hooks(leaf) : status;
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

static ox_tensor *oxi_zeros_like(const oxi_outline *outline) {
    return oxi_full("zeros", oxi_outline_shape(outline), 0, outline->dtype,
                    oxi_working_device(outline->device));
}

/* By the rule or the formulas of its row, of what it saved. */
static ox_status oxi_run_call(oxi_pass *run, oxi_node *node, oxi_sum *sums, const bool *wants, ox_tensor **in,
                              ox_tensor **grad) {
    oxi_call call = node->call;
    oxi_backward b;
    memset(&b, 0, sizeof b);
    for (int i = 0; i < node->saved_count; i++) {
        oxi_saved *saved = &node->saved[i];
        int output = i - node->in_count;
        if (!saved->tensor && !saved->packed) continue;
        ox_tensor *t = oxi_saved_take(node, saved, output, run->create_graph);
        if (!t) return ox_error();
        if (output < 0)
            in[i] = t;
        else
            b.out[output] = t;
    }
    call.in = in;
    call.in_count = node->in_count;
    b.call = &call;
    b.operand = node->operand;
    b.result = node->result;
    b.wants = wants;
    b.grad = grad;
    b.pass = run;
    b.node = node;
    for (int k = 0; k < node->out_count; k++) b.g[k] = sums[k].sum;
    if (node->row) return node->row->rule ? node->row->rule(&b) : oxi_gradient_by_formula(node->row, &b);
    for (int i = 0; i < node->in_count; i++)
        if (wants[i] && !(grad[i] = oxi_zeros_like(&node->operand[i]))) return ox_error();
    return OX_OK;
}

/* The view of a gradient of its base. */
static ox_tensor *oxi_views_again(const oxi_node *node, ox_tensor *g) {
    const oxi_call *view = node->views;
    for (int i = 0; g && i < node->view_count; i++) g = oxi_apply_1(view[i].op, &view[i].attr, g);
    return g;
}

/* The base had other numbers where the view is: those have no gradient, the view's has that part of it. */
static ox_status oxi_run_put_back(const oxi_node *node, ox_tensor *g, const bool *wants, ox_tensor **grad) {
    if (wants[0]) {
        grad[0] = ox_clone(g);
        ox_tensor *part = oxi_views_again(node, grad[0]);
        if (!part || !ox_zero_(part)) return ox_error();
    }
    if (wants[1]) grad[1] = oxi_views_again(node, ox_contiguous(g));
    return wants[1] && !grad[1] ? ox_error() : OX_OK;
}

static ox_status oxi_run_custom(oxi_pass *run, oxi_node *node, oxi_sum *sums, const bool *wants,
                                ox_tensor **in, ox_tensor **grad) {
    ox_function_context context;
    ox_status status = OX_OK;
    size_t bytes = (size_t)node->out_count * sizeof(ox_tensor *);
    ox_tensor **g = (ox_tensor **)oxi_alloc(bytes);
    if (!g) return OX_ERR_NOMEM;
    for (int k = 0; k < node->out_count; k++) g[k] = sums[k].sum;
    for (int i = 0; i < node->saved_count && status == OX_OK; i++) {
        in[i] = oxi_saved_take(node, &node->saved[i], node->saved_output[i], run->create_graph);
        if (!in[i]) status = ox_error();
    }
    context.gradients = g;
    context.saved = in;
    context.wants = wants;
    context.input_gradients = grad;
    context.user = node->user;
    if (status == OX_OK) status = node->function->backward(&context);
    if (status != OX_OK && ox_error() == OX_OK)
        (void)oxi_fail(status, "backward: %s failed", oxi_node_name(node));
    oxi_free(g, bytes);
    return status;
}

OX_API void ox_set_detect_anomaly(bool detect) {
    oxi_atomic_store(&oxi_detects_anomaly, detect);
}

/* The gradient of operand i is not NaN, if somebody looks. */
static ox_status oxi_check_gradient(const oxi_node *node, int i, ox_tensor *g) {
    if (!oxi_atomic_load(&oxi_detects_anomaly) || !g) return OX_OK;
    ox_tensor *any = ox_any(ox_isnan(g), OX_ALL_DIMS, false);
    if (!any) return ox_error();
    if (ox_item(any) == 0) return OX_OK;
    return oxi_fail(OX_ERR_ARG, "backward: %s gave NaN as the gradient of operand %d, %s",
                    oxi_node_name(node), i + 1, oxi_tensor_text(g));
}

/* Gradients of the operands along the edges that are needed. */
static ox_status oxi_bring_all(oxi_pass *run, oxi_node *node, const bool *wants, ox_tensor **grad) {
    ox_status status = OX_OK;
    for (int i = 0; i < node->in_count && status == OX_OK; i++) {
        if (!wants[i]) continue;
        status = oxi_check_gradient(node, i, grad[i]);
        if (status == OX_OK) status = oxi_bring(run, &node->edges[i], &node->operand[i], grad[i]);
    }
    return status;
}

/* Whether a gradient came to any result. */
static bool oxi_came(const oxi_node *node, const oxi_sum *sums) {
    bool came = false;
    for (int k = 0; k < node->out_count; k++) came = came || sums[k].sum;
    return came;
}

/* What the operation's hooks make of the gradients of its operands. */
static ox_status oxi_run_watchers(const oxi_node *node, const oxi_sum *sums, const bool *wants,
                                  ox_tensor **grad) {
    size_t bytes = (size_t)node->out_count * sizeof(ox_tensor *);
    ox_tensor **g = (ox_tensor **)oxi_alloc(bytes);
    ox_status status = g ? OX_OK : OX_ERR_NOMEM;
    for (int k = 0; k < node->out_count && g; k++) g[k] = sums[k].sum;
    for (int i = 0; i < node->in_count && status == OX_OK; i++)
        if (wants[i] && grad[i] && !(grad[i] = oxi_fit_gradient(grad[i], &node->operand[i])))
            status = ox_error();
    for (const oxi_hook *hook = node->watchers; hook && status == OX_OK; hook = hook->next) {
        status = hook->operation(grad, node->in_count, g, node->out_count, hook->user);
        if (status != OX_OK && ox_error() == OX_OK)
            (void)oxi_fail(status, "backward: a hook of %s failed", oxi_node_name(node));
    }
    oxi_free(g, bytes);
    for (int i = 0; i < node->in_count && status == OX_OK; i++)
        if (wants[i] && grad[i] && !oxi_same_as_outline(grad[i], &node->operand[i]))
            status = oxi_fail(OX_ERR_SHAPE, "backward: a hook of %s made %s of a gradient of operand %d",
                              oxi_node_name(node), oxi_tensor_text(grad[i]), i + 1);
    return status;
}

static ox_status oxi_run_any_node(oxi_pass *run, oxi_node *node, oxi_sum *sums) {
    int room = node->in_count > node->saved_count ? node->in_count : node->saved_count;
    size_t each = 2 * sizeof(ox_tensor *) + sizeof(bool), bytes = (size_t)room * each;
    ox_tensor **in = (ox_tensor **)oxi_calloc((size_t)room, each), **grad = in + room;
    bool *wants = (bool *)(grad + room);
    ox_status status = OX_OK;
    if (!in) return OX_ERR_NOMEM;
    for (int i = 0; i < node->in_count; i++) wants[i] = oxi_edge_is_needed(run, &node->edges[i]);
    if (oxi_came(node, sums)) {
        if (node->released)
            status = oxi_fail(OX_ERR_ARG, "backward: what %s saved is gone after the first backward; "
                              "retain_graph keeps it", oxi_node_name(node));
        else if (node->kind == OXI_NODE_CALL)
            status = oxi_run_call(run, node, sums, wants, in, grad);
        else if (node->kind == OXI_NODE_PUT_BACK)
            status = oxi_run_put_back(node, sums[0].sum, wants, grad);
        else
            status = oxi_run_custom(run, node, sums, wants, in, grad);
    }
    if (status == OX_OK && node->watchers) status = oxi_run_watchers(node, sums, wants, grad);
    if (status == OX_OK) status = oxi_bring_all(run, node, wants, grad);
    oxi_free(in, bytes);
    return status;
}

/* Hooks and tapes that keep the gradients of results first. */
static ox_status oxi_run_node(oxi_pass *run, oxi_node *node, const oxi_task *task) {
    oxi_sum *sums = &run->g[task->first];
    ox_status status = OX_OK;
    for (int k = 0; k < node->out_count && status == OX_OK; k++) {
        status = oxi_run_hooks(&sums[k], node->hooks[k]);
        if (status == OX_OK && node->keeper[k])
            status = oxi_keep_gradient(run, node->keeper[k], &sums[k]);
    }
    if (status != OX_OK || !task->needed) return status;
    status = oxi_run_any_node(run, node, sums);
    if (status == OX_OK && !run->retain_graph) oxi_node_forget(node);
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static void oxi_run_end(oxi_pass *run) {
    for (int i = 0; i < run->count; i++) oxi_counted_drop(run->tasks[i].what);
    for (int i = 0; i < run->g_count; i++) ox_release(run->g[i].sum);
    oxi_free(run->tasks, run->room * sizeof *run->tasks);
    oxi_free(run->g, run->g_room * sizeof *run->g);
    oxi_free(run->places, (size_t)run->place_room * sizeof *run->places);
    oxi_free(run->ready, (size_t)run->count * sizeof *run->ready);
}

static void oxi_release_gradients(oxi_pass *run, const oxi_task *task) {
    int outputs = task->what->is_node ? ((oxi_node *)task->what)->out_count : 1;
    for (int k = 0; k < outputs; k++) {
        oxi_sum *sum = &run->g[task->first + k];
        if (sum->wanted) continue;
        ox_release(sum->sum);
        sum->sum = NULL;
    }
}

/* Runs what is ready until nothing is. */
static ox_status oxi_pass_run(oxi_pass *run) {
    ox_status status = OX_OK;
    while (run->ready_count && status == OX_OK) {
        oxi_task *task = &run->tasks[oxi_ready_take(run)];
        ox_scope scope = ox_scope_begin();
        status = task->what->is_node ? oxi_run_node(run, (oxi_node *)task->what, task)
                                     : oxi_run_leaf(run, (oxi_tape *)task->what, task);
        oxi_release_gradients(run, task);
        ox_scope_end(&scope);
    }
    return status;
}

/* The gradient that a result begins with. */
static ox_tensor *oxi_first_gradient(ox_tensor *t, ox_tensor *given) {
    if (given) {
        if (oxi_same_sizes(given, t, -1)) return given;
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "backward: the gradient %s of a result %s", oxi_tensor_text(given),
                             oxi_tensor_text(t));
    }
    if (ox_numel(t) != 1)
        return OXI_FAIL_NULL(OX_ERR_ARG, "backward: %s has %lld elements and no gradient was given",
                             oxi_tensor_text(t), (long long)ox_numel(t));
    return oxi_full("ones", ox_shape_of(t), 1, t->dtype, oxi_working_device(ox_device_of(t)));
}

static ox_status oxi_variable_edge(const char *name, ox_tensor *t, oxi_edge *edge) {
    memset(edge, 0, sizeof *edge);
    ox_status status = t->tape ? oxi_tape_edge((oxi_tape *)t->tape, edge) : OX_OK;
    if (status != OX_OK || oxi_edge_is(edge)) return status;
    return oxi_fail(OX_ERR_ARG, "%s: %s wants no gradient, and nothing was recorded that it came from", name,
                    oxi_tensor_text(t));
}

/* Tasks of the results, of all they lead to, and of what is wanted: where no result leads there, what is
 * behind it brings nothing and is not waited for. Each holds its node or leaf. */
static ox_status oxi_run_prepare(oxi_pass *run, const oxi_edge *roots, int root_count, const oxi_edge *wanted,
                                 int wanted_count) {
    ox_status status = OX_OK;
    for (int i = 0; i < root_count; i++)
        if (oxi_task_of_edge(run, &roots[i]) < 0) return OX_ERR_NOMEM;
    status = oxi_find_tasks(run);
    run->reached = run->count;
    for (int i = 0; i < wanted_count && status == OX_OK; i++) {
        int task = oxi_task_of_edge(run, &wanted[i]);
        if (task < 0) return OX_ERR_NOMEM;
        oxi_sum_of_edge(run, task, &wanted[i])->wanted = true;
    }
    if (status == OX_OK) status = oxi_mark_needed(run);
    if (status != OX_OK) return status;
    oxi_count_pending(run);
    for (int i = 0; i < root_count; i++) run->tasks[oxi_task_of_edge(run, &roots[i])].pending++;
    run->ready = (int *)oxi_alloc((size_t)run->count * sizeof *run->ready);
    return run->ready ? OX_OK : OX_ERR_NOMEM;
}

/* Checkpoints that the innermost pass of this thread has run again. */
static OXI_THREAD_LOCAL oxi_checkpoint **oxi_filled;

/* gradients: NULL, or one for each result, or NULL. */
static ox_status oxi_run_from(oxi_pass *run, ox_tensor *const *results, const oxi_edge *roots, int count,
                              ox_tensor *const *gradients) {
    ox_status status = OX_OK;
    bool off = oxi_grad_off;
    oxi_checkpoint *filled = NULL, **outside = oxi_filled;
    oxi_grad_off = !run->create_graph || oxi_inference_mode;
    oxi_filled = &filled;
    for (int i = 0; i < count && status == OX_OK; i++) {
        oxi_outline outline;
        ox_scope scope = ox_scope_begin();
        ox_tensor *g = oxi_first_gradient(results[i], gradients ? gradients[i] : NULL);
        oxi_outline_of(results[i], &outline);
        status = g ? oxi_bring(run, &roots[i], &outline, g) : ox_error();
        ox_scope_end(&scope);
    }
    if (status == OX_OK) status = oxi_pass_run(run);
    oxi_grad_off = off;
    oxi_filled = outside;
    oxi_checkpoints_empty(filled);
    return status;
}
