/* A router without a dispatch of its own (shaders/product/router.glsl): its numbers are left in parts by the
 * product whose sum it is of, and added up by the gate that its experts begin with, which chooses them. The
 * product's dispatch is noted by then, and is made another one. Every result is written. Called by few.c,
 * product.c and fuse.c. */

static bool oxi_vk_meets_norm(const oxi_vk_device *d, const oxi_call *product); /* in fuse.c */

/* Whether the product, with a sum behind it, could leave parts as well: its dispatch is amended then. */
static bool oxi_vk_may_leave_parts(const oxi_vk_device *d, const oxi_vk_product_group *g,
                                   const oxi_vk_product *p, const oxi_vk_few *f,
                                   const oxi_vk_dispatch *dispatch) {
    return f->dot && dispatch->special.product_few.tail == OXI_VK_TAIL_ADD && !p->own && g->products == 1 &&
           p->form.m == 1 && p->form.ndim == 0 && p->form.column[0] == 1 &&
           ox_numel(g->tail->out[0]) == p->form.n &&
           oxi_vk_few_shared(d, f, p) + 4 * OXI_VK_LEFT_ROOM <= d->limits.maxComputeSharedMemorySize;
}

/* Behind that dispatch. */
static void oxi_vk_note_sum(oxi_vk_device *d, const oxi_vk_product_group *g, const oxi_vk_dispatch *dispatch,
                            const oxi_vk_product_params *params) {
    const ox_tensor *x = g->tail->out[0];
    d->sum_made.serial = d->serial;
    d->sum_made.noted = d->noted_at;
    d->sum_made.of = oxi_vk_chunk_of(x);
    d->sum_made.at = oxi_vk_element_at(x);
    d->sum_made.written = oxi_vk_epochs_of(d, d->sum_made.of)->written;
    d->sum_made.n = ox_numel(x);
    d->sum_made.dispatch = *dispatch;
    d->sum_made.params = *params;
}

static bool oxi_vk_sum_uses(const oxi_vk_device *d, const oxi_vk_chunk *chunk) {
    bool used = false;
    for (int i = 0; d->sum_made.of && i < d->sum_made.dispatch.uses; i++)
        used = used || d->sum_made.dispatch.use[i].chunk == chunk;
    return used;
}

/* Whether that is what x is, [1, n], and nothing has gone to the device since. */
static bool oxi_vk_sum_is_open(oxi_vk_device *d, const ox_tensor *x) {
    oxi_vk_chunk *chunk = oxi_vk_chunk_of(x);
    return d->recording && d->sum_made.of == chunk && d->sum_made.serial == d->serial &&
           d->sum_made.at == oxi_vk_element_at(x) && d->sum_made.n == ox_numel(x) &&
           d->sum_made.written == oxi_vk_epochs_of(d, chunk)->written;
}

/* ---- what goes together -------------------------------------------------------------------------------- */

/* Whether the call is of experts that the held routing chooses. */
static bool oxi_vk_is_of_chosen(const oxi_vk_routing *r, const oxi_call *call) {
    const ox_tensor *ids = call->in[2];
    if (!r->chosen || r->rows != 1 || ox_numel(ids) != r->used || call->in[1]->shape[0] != r->experts)
        return false;
    if (ids->dtype == OX_I64) return oxi_vk_is_chosen(r, ids);
    return ids->dtype == OX_I32 && oxi_vk_route_has(r, OXI_VK_ROUTE_IDS) && ox_is_contiguous(ids) &&
           oxi_vk_chunk_of(ids) == r->chunk[OXI_VK_ROUTE_IDS] &&
           oxi_vk_element_at(ids) == r->at[OXI_VK_ROUTE_IDS];
}

/* Whether a held product is the router of these experts, and they read what it reads. */
static bool oxi_vk_router_waits(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *router = &d->product[0].call;
    if (d->held_products != 1 || router->op != OXI_OP_linear || d->steps.count > 0) return false;
    return oxi_vk_is_of_chosen(&d->routing, call) && oxi_vk_can_hold_experts(d, call) &&
           d->routing.numbers == oxi_vk_chunk_of(router->out[0]) &&
           d->routing.numbers_at == oxi_vk_element_at(router->out[0]) &&
           oxi_vk_same_memory(router->in[0], call->in[0]);
}

/* Whether the call belongs to what a router that is set aside waits for, or may begin that. */
static bool oxi_vk_router_goes_on(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_vk_fused *row = oxi_vk_fused_of(call->op);
    if (row->role == OXI_VK_JOINS_EXPERTS)
        return d->held_router ? oxi_vk_is_of_chosen(&d->routing, call) : oxi_vk_router_waits(d, call);
    return d->held_router && row->role == OXI_VK_JOINS_GATE;
}

static void oxi_vk_set_router_aside(oxi_vk_device *d) {
    oxi_vk_hold(&d->router, &d->product[0].call);
    d->held_products = 0;
    d->held_router = true;
}

/* The router that is set aside: a norm's only row by weights in f32. */
static bool oxi_vk_router_is_plain(const oxi_vk_device *d) {
    const oxi_call *router = &d->router.call, *norm = &d->norm.call;
    const ox_tensor *w = router->in[1], *bias = router->in[2];
    return d->held_norm && !d->held_post && !d->norm_written && oxi_vk_meets_norm(d, router) &&
           oxi_vk_fused_of(norm->op)->tail == OXI_VK_NORM_RMS && norm->in[1] && oxi_vk_is_plain_f32(w) &&
           w->shape[0] <= OXI_VK_CHOICE_EXPERTS && (!bias || oxi_vk_is_plain_f32(bias)) &&
           router->attr.activation.activation == OX_ACTIVATION_NONE;
}

/* Memory for parts of its numbers, of as many workgroups as the product has at most. */
static bool oxi_vk_parts_room(oxi_vk_device *d) {
    const uint32_t *groups = d->sum_made.dispatch.groups;
    const uint64_t rows = (uint64_t)d->router.call.in[1]->shape[0] + 1;
    const uint64_t bytes = 4 * rows * groups[0] * groups[1];
    const bool clear = ox_error() == OX_OK;
    if (d->parts.bytes >= bytes) return true;
    if (d->parts.chunk) oxi_vk_chunk_give(d, d->parts.chunk);
    d->parts.chunk = oxi_vk_chunk_alloc(d, bytes);
    d->parts.bytes = d->parts.chunk ? bytes : 0;
    if (!d->parts.chunk && clear) ox_error_clear(); /* the router has a dispatch of its own then */
    return d->parts.chunk != NULL;
}

/* Whether the gate of the two held products by experts has room for that, and reaches all of it. */
static bool oxi_vk_gate_can_choose(oxi_vk_device *d) {
    const oxi_call *gate = &d->product[0].call, *norm = &d->norm.call;
    const ox_tensor *bias = gate->in[3], *weight = norm->in[1];
    oxi_vk_product p = oxi_vk_product_of(gate, NULL);
    oxi_vk_dispatch dispatch;
    uint32_t blocks = 0;
    p.rough = p.weights && !gate->exact;
    if (p.form.m != 1 || p.form.ndim != 2 || p.form.shape[0] != 1) return false;
    const oxi_vk_few f = oxi_vk_few_of(d, &p, p.whole_n, true, true, true, false);
    if (!f.dot || oxi_vk_few_shared(d, &f, &p) + OXI_VK_CHOICE_SHARED > d->limits.maxComputeSharedMemorySize)
        return false;
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_bind(&dispatch, 0, gate->out[0], true);
    oxi_vk_bind(&dispatch, 1, norm->in[0], false);
    oxi_vk_bind(&dispatch, 2, gate->in[1], false);
    oxi_vk_bind(&dispatch, 3, weight, false);
    if (bias) oxi_vk_bind(&dispatch, 4, bias, false);
    if (!oxi_vk_same_block(gate->out[0], norm->out[0]))
        oxi_vk_bind(&dispatch, bias ? 5 : 4, norm->out[0], true);
    oxi_vk_chunk *chunk[OXI_VK_ROUTE_CHUNKS];
    oxi_vk_route_chunks(d, &d->routing, &d->router.call, chunk);
    return oxi_vk_bind_blocks(&dispatch, chunk, OXI_VK_ROUTE_CHUNKS, &blocks);
}

/* ---- the two dispatches -------------------------------------------------------------------------------- */

/* What the gate is told. */
static void oxi_vk_choice_params(const oxi_vk_device *d, const oxi_vk_product_group *g,
                                 oxi_vk_product_params *params) {
    const ox_tensor *w = g->router->in[1], *bias = g->router->in[2];
    uint32_t *behind = params->behind + OXI_VK_ROUTE_RESULTS + 6;
    params->steps_first = (uint32_t)(d->parts.chunk->offset / 4);
    params->steps_n = d->parts.each;
    params->steps_to = (uint32_t)g->routing->used;
    params->window = oxi_vk_element_at(g->router->out[0]);
    behind[0] = oxi_vk_element_at(w);
    behind[1] = (uint32_t)w->stride[0];
    behind[2] = bias ? oxi_vk_element_at(bias) : 0;
}

/* Lets the product that made the sum leave parts; false: it cannot. */
static bool oxi_vk_leave_parts(oxi_vk_device *d) {
    const ox_tensor *w = d->router.call.in[1], *weight = d->norm.call.in[1];
    oxi_vk_dispatch with = d->sum_made.dispatch;
    oxi_vk_product_params params = d->sum_made.params;
    oxi_vk_product_few_specials *special = &with.special.product_few;
    const int64_t takes = special->threads / OXI_VK_LINE_LANES / special->split * special->columns;
    uint32_t blocks = 0;
    d->parts.each = oxi_vk_groups_of_own(&with, takes, d->sum_made.n);
    if (!d->parts.each) return false;
    oxi_vk_chunk *chunk[3] = {d->parts.chunk, oxi_vk_chunk_of(w), oxi_vk_chunk_of(weight)};
    if (!oxi_vk_bind_blocks(&with, chunk, 3, &blocks)) return false;
    for (int i = 0; i < with.uses; i++)
        if (with.use[i].chunk == d->parts.chunk) with.use[i].writes = true;
    oxi_vk_bind_rest(&with);
    params.experts = (uint32_t)w->shape[0];
    params.steps_first = (uint32_t)(d->parts.chunk->offset / 4);
    params.steps_n = (uint32_t)w->stride[0];
    params.steps_to = oxi_vk_element_at(w);
    params.window = oxi_vk_element_at(weight);
    special->routes = OXI_VK_ROUTES_PARTS;
    special->router_blocks = blocks << 15;
    oxi_vk_groups(&with, d->parts.each);
    with.params = &params;
    return oxi_vk_amend(d, &with, &d->sum_made.dispatch, d->sum_made.noted);
}

/* Whether the held products and this gate, or NULL, go on without a dispatch of the router; then the one
 * before has been amended. */
static bool oxi_vk_chooses(oxi_vk_device *d, const oxi_call *gate) {
    const ox_tensor *x = d->norm.call.in[0];
    const bool plain = gate && d->held_products == 2 && oxi_vk_router_is_plain(d) && oxi_vk_sum_is_open(d, x);
    /* asking for memory may submit what is noted */
    const bool chooses = plain && oxi_vk_parts_room(d) && oxi_vk_sum_is_open(d, x) &&
                         oxi_vk_gate_can_choose(d) && oxi_vk_leave_parts(d);
    d->counters.chosen += chooses;
    return chooses;
}
