/* The router of a mixture of experts: softmax or sigmoid of its numbers, topk and what becomes of the chosen
 * ones' scores until they are weights are held back and become one dispatch, a workgroup a row. Every result
 * is written. Called by fuse.c, before each call and when what is held has to be recorded. */

static bool oxi_vk_is_routed(const oxi_vk_device *d) {
    return d->routing.calls > 0 || d->routing.chosen;
}

/* Whether t is result `which` of what is held. */
static bool oxi_vk_is_result(const oxi_vk_routing *r, int which, const ox_tensor *t) {
    return t->dtype == OX_F32 && !t->is_number && r->given >> which & 1 &&
           oxi_vk_chunk_of(t) == r->chunk[which] && oxi_vk_element_at(t) == r->at[which] &&
           ox_is_contiguous(t);
}

/* Takes t as a result; false where it lies where the shader does not reach it. */
static bool oxi_vk_route_gives(oxi_vk_routing *r, int which, const ox_tensor *t) {
    const bool any = (r->given & ~(1u << OXI_VK_ROUTE_IDS)) != 0;
    if (!ox_is_contiguous(t) || t->dtype != (which == OXI_VK_ROUTE_IDS ? OX_I32 : OX_F32)) return false;
    for (int i = 0; i < OXI_VK_ROUTE_IDS && which != OXI_VK_ROUTE_IDS && any; i++) {
        if (!(r->given >> i & 1)) continue;
        if (r->chunk[i]->block != oxi_vk_chunk_of(t)->block || r->chunk[i] == oxi_vk_chunk_of(t))
            return false;
    }
    r->given |= 1u << which;
    r->chunk[which] = oxi_vk_chunk_of(t);
    r->at[which] = oxi_vk_element_at(t);
    r->shown = which;
    return true;
}

/* Rows of numbers that a router may have made. */
static bool oxi_vk_is_router(const ox_tensor *x) {
    return x->ndim == 2 && oxi_vk_is_plain_f32(x) && x->shape[0] > 0 && x->shape[1] > 0 &&
           x->shape[1] <= OXI_VK_ROUTE_EXPERTS && x->shape[0] < (1 << 20);
}

static void oxi_vk_route_numbers(oxi_vk_routing *r, const ox_tensor *x) {
    memset(r, 0, sizeof *r);
    r->rows = x->shape[0];
    r->experts = x->shape[1];
    r->scale = 1;
    r->numbers = oxi_vk_chunk_of(x);
    r->numbers_at = oxi_vk_element_at(x);
    r->shown = -1;
}

/* topk of what is held, or of numbers as they are. */
static bool oxi_vk_routes_best(oxi_vk_routing *r, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *values = call->out[0], *indices = call->out[1];
    if (r->chosen || !oxi_vk_is_router(x) || call->attr.topk.dim != 1 || !call->attr.topk.largest)
        return false;
    if (call->attr.topk.k < 1 || call->attr.topk.k > OXI_VK_ROUTE_USED || !ox_is_contiguous(indices))
        return false;
    if (r->calls > 0 && !oxi_vk_is_result(r, r->shown, x)) return false;
    oxi_vk_routing with = *r;
    if (r->calls == 0) oxi_vk_route_numbers(&with, x);
    if (!oxi_vk_route_gives(&with, OXI_VK_ROUTE_VALUES, values)) return false;
    with.used = call->attr.topk.k;
    with.indices = oxi_vk_chunk_of(indices);
    with.indices_at = oxi_vk_element_at(indices);
    with.chosen = true;
    *r = with;
    return true;
}

/* A bias for each expert, that decides the choice alone. */
static bool oxi_vk_routes_bias(oxi_vk_routing *r, const oxi_call *call) {
    const ox_tensor *bias = call->in[1];
    if (r->chosen || r->calls != 1 || call->attr.scale.scale != 1 || bias->is_number) return false;
    if (!oxi_vk_is_result(r, OXI_VK_ROUTE_SCORES, call->in[0]) || !oxi_vk_is_plain_f32(bias)) return false;
    if (ox_numel(bias) != r->experts || call->out[0]->ndim != 2) return false;
    if (ox_numel(call->out[0]) != r->rows * r->experts) return false;
    if (!oxi_vk_route_gives(r, OXI_VK_ROUTE_CHOICE, call->out[0])) return false;
    r->biased = 1;
    r->bias = oxi_vk_chunk_of(bias);
    r->bias_at = oxi_vk_element_at(bias);
    return true;
}

/* Whether t is indices that topk gave. */
static bool oxi_vk_is_chosen(const oxi_vk_routing *r, const ox_tensor *t) {
    return r->chosen && t->dtype == OX_I64 && oxi_vk_chunk_of(t) == r->indices &&
           oxi_vk_element_at(t) == r->indices_at && ox_is_contiguous(t) && ox_numel(t) == r->rows * r->used;
}

/* The weights so far: what was made of the chosen last. */
static int oxi_vk_route_weights(const oxi_vk_routing *r) {
    static const int order[] = {OXI_VK_ROUTE_SCALED, OXI_VK_ROUTE_SHARES, OXI_VK_ROUTE_LATE,
                                OXI_VK_ROUTE_PICKED};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (r->given >> order[i] & 1) return order[i];
    return OXI_VK_ROUTE_VALUES;
}

static bool oxi_vk_route_has(const oxi_vk_routing *r, int which) {
    return (r->given >> which & 1) != 0;
}

/* Behind topk: scores at the chosen places, their softmax, or the sum of weights and what comes of it. */
static bool oxi_vk_routes_weights(oxi_vk_routing *r, const oxi_call *call) {
    const int weights = oxi_vk_route_weights(r);
    const bool summed = oxi_vk_route_has(r, OXI_VK_ROUTE_SUM);
    const bool bounded = oxi_vk_route_has(r, OXI_VK_ROUTE_BOUND);
    const ox_tensor *x = call->in[0];
    switch (call->op) {
    case OXI_OP_gather:
        if (weights != OXI_VK_ROUTE_VALUES || call->attr.along.dim != 1 || summed ||
            !oxi_vk_is_result(r, OXI_VK_ROUTE_SCORES, x) || !oxi_vk_is_chosen(r, call->in[1]) ||
            !oxi_vk_route_gives(r, OXI_VK_ROUTE_PICKED, call->out[0]))
            return false;
        r->picked = 1;
        return true;
    case OXI_OP_softmax:
        if (weights > OXI_VK_ROUTE_PICKED || call->attr.along.dim != 1 || summed ||
            !oxi_vk_is_result(r, weights, x) || !oxi_vk_route_gives(r, OXI_VK_ROUTE_LATE, call->out[0]))
            return false;
        r->late = 1;
        return true;
    case OXI_OP_sum:
        return weights <= OXI_VK_ROUTE_PICKED && call->attr.reduce.dims == 2 && call->attr.reduce.keepdim &&
               !summed && oxi_vk_is_result(r, weights, x) &&
               oxi_vk_route_gives(r, OXI_VK_ROUTE_SUM, call->out[0]);
    case OXI_OP_clamp:
        if (bounded || call->attr.range.high != INFINITY ||
            !oxi_vk_is_result(r, OXI_VK_ROUTE_SUM, x) ||
            !oxi_vk_route_gives(r, OXI_VK_ROUTE_BOUND, call->out[0]))
            return false;
        r->least = (float)call->attr.range.low;
        return true;
    case OXI_OP_div:
        return weights <= OXI_VK_ROUTE_PICKED && oxi_vk_is_result(r, weights, x) && summed &&
               oxi_vk_is_result(r, bounded ? OXI_VK_ROUTE_BOUND : OXI_VK_ROUTE_SUM, call->in[1]) &&
               oxi_vk_route_gives(r, OXI_VK_ROUTE_SHARES, call->out[0]);
    default: return false;
    }
}

/* Weights by a number of the host. */
static bool oxi_vk_routes_scale(oxi_vk_routing *r, const oxi_call *call) {
    const ox_tensor *number = call->in[1];
    if (!r->chosen || oxi_vk_route_has(r, OXI_VK_ROUTE_SCALED) || !oxi_vk_is_immediate(number)) return false;
    if (!oxi_vk_is_result(r, oxi_vk_route_weights(r), call->in[0])) return false;
    const double scale = oxi_element_to_f64(number->dtype, oxi_ptr(number));
    if (!oxi_vk_route_gives(r, OXI_VK_ROUTE_SCALED, call->out[0])) return false;
    r->scale = (float)scale;
    return true;
}

/* Whether the call goes on with what is held: then it is held too. */
static bool oxi_vk_routes_on(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_routing *r = &d->routing;
    if (!oxi_vk_is_routed(d) || call->in_count == 0) return false;
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && !oxi_vk_is_immediate(call->in[i]) && !oxi_vk_is_here(d, call->in[i])) return false;
    switch (call->op) {
    case OXI_OP_topk: return oxi_vk_routes_best(r, call);
    case OXI_OP_add:
        if (!oxi_vk_routes_bias(r, call)) return false;
        oxi_vk_hold(&r->call[r->calls++], call);
        return true;
    case OXI_OP_mul: return oxi_vk_routes_scale(r, call);
    case OXI_OP_copy:
        return oxi_vk_is_chosen(r, call->in[0]) && !oxi_vk_route_has(r, OXI_VK_ROUTE_IDS) &&
               call->out[0]->dtype == OX_I32 && oxi_vk_route_gives(r, OXI_VK_ROUTE_IDS, call->out[0]);
    default: return r->chosen && oxi_vk_routes_weights(r, call);
    }
}

/* Whether it may be the first of a router's calls; what was held before it is recorded by then. */
static bool oxi_vk_route_begins(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_routing *r = &d->routing;
    const ox_tensor *x = call->in[0], *out = call->out[0];
    if (call->op == OXI_OP_topk) return oxi_vk_routes_best(r, call);
    oxi_vk_route_numbers(r, x);
    if (!oxi_vk_route_gives(r, OXI_VK_ROUTE_SCORES, out)) return false;
    r->scores = call->op == OXI_OP_softmax ? OXI_VK_ROUTE_SOFTMAX : OXI_VK_ROUTE_SIGMOID;
    oxi_vk_hold(&r->call[r->calls++], call);
    return true;
}

static bool oxi_vk_is_route(const oxi_call *call) {
    const bool rows = call->op == OXI_OP_softmax && call->attr.along.dim == 1;
    const bool first = call->op == OXI_OP_sigmoid || rows;
    if (call->op == OXI_OP_topk) return oxi_vk_is_router(call->in[0]);
    return first && oxi_vk_is_router(call->in[0]) && !oxi_vk_same_memory(call->in[0], call->out[0]);
}

static ox_status oxi_vk_route_dispatch(oxi_vk_device *d, const oxi_vk_routing *r) {
    oxi_vk_route_params params;
    oxi_vk_dispatch dispatch;
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    params.rows = (uint32_t)r->rows;
    params.experts = (uint32_t)r->experts;
    params.used = (uint32_t)r->used;
    params.numbers = r->numbers_at;
    params.indices = r->indices_at;
    params.ids = r->at[OXI_VK_ROUTE_IDS];
    params.bias = r->bias_at;
    params.least = oxi_bits_of_float(r->least);
    params.scale = oxi_bits_of_float(r->scale);
    oxi_vk_route_specials *special = &dispatch.special.route;
    special->scores = r->scores;
    special->biased = r->biased;
    special->picked = r->picked;
    special->late = r->late;
    special->given = r->given;
    dispatch.use[1].chunk = r->numbers;
    dispatch.use[2].chunk = r->indices;
    dispatch.use[3].chunk = oxi_vk_route_has(r, OXI_VK_ROUTE_IDS) ? r->chunk[OXI_VK_ROUTE_IDS] : NULL;
    dispatch.use[4].chunk = r->bias;
    dispatch.use[2].writes = true;
    dispatch.use[3].writes = dispatch.use[3].chunk != NULL;
    dispatch.uses = OXI_VK_BINDINGS;
    for (int i = 0; i < OXI_VK_ROUTE_IDS; i++) {
        if (!oxi_vk_route_has(r, i)) continue;
        params.at[i] = r->at[i];
        const int to = dispatch.use[0].chunk ? dispatch.uses++ : 0;
        dispatch.use[to].chunk = r->chunk[i];
        dispatch.use[to].writes = true;
    }
    oxi_vk_bind_open(&dispatch, 1);
    dispatch.shader = OXI_VK_SHADER_route;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_groups(&dispatch, (uint64_t)r->rows);
    return oxi_vk_record(d, &dispatch);
}

/* Records what is held: as one dispatch if topk was among it, else call by call. */
static ox_status oxi_vk_route_record(oxi_vk_device *d) {
    const oxi_vk_routing r = d->routing;
    ox_status status = OX_OK;
    if (!oxi_vk_is_routed(d)) return OX_OK;
    d->routing.calls = 0;
    d->routing.chosen = false;
    if (r.chosen) return oxi_vk_route_dispatch(d, &r);
    for (int i = 0; i < r.calls && status == OX_OK; i++) {
        oxi_call call = r.call[i].call;
        status = call.op == OXI_OP_softmax ? oxi_vk_row(d, &call) : oxi_vk_map(d, &call);
    }
    return status;
}

static bool oxi_vk_route_uses(const oxi_vk_routing *r, const oxi_vk_chunk *chunk) {
    bool used = chunk == r->numbers || (r->biased && chunk == r->bias) || (r->chosen && chunk == r->indices);
    for (int i = 0; i < OXI_VK_ROUTE_RESULTS; i++)
        used = used || (oxi_vk_route_has(r, i) && chunk == r->chunk[i]);
    return used;
}

/* ---- as the tail of the product that makes the numbers ------------------------------------------------- */

/* Whether a product that is held makes what the call begins with: it stays so. */
static bool oxi_vk_route_waits(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *product = &d->product[0].call;
    return d->held_products == 1 && product->op == OXI_OP_linear && d->steps.count == 0 &&
           oxi_vk_same_memory(product->out[0], call->in[0]) && call->in[0]->shape[0] == 1;
}

/* Whether it makes the only row of numbers. */
static bool oxi_vk_product_can_route(const oxi_vk_product_group *g, const oxi_vk_product *p) {
    const oxi_vk_routing *r = g->routing;
    return g->products == 1 && !g->tail && p->form.ndim == 0 && p->form.m == 1 && r->rows == 1 &&
           r->experts == p->form.n && !oxi_vk_needs_books(p->form.t[2]->dtype) &&
           oxi_vk_is_plain_f32(p->form.t[0]) && r->numbers == oxi_vk_chunk_of(p->form.t[0]) &&
           r->numbers_at == oxi_vk_element_at(p->form.t[0]);
}

/* Chunks that a product reaches for it, in the order of ROUTER_BLOCKS: with `router` NULL what counts
 * workgroups, else what product/router.glsl has. */
enum { OXI_VK_ROUTE_CHUNKS = 8 };
static void oxi_vk_route_chunks(const oxi_vk_device *d, const oxi_vk_routing *r, const oxi_call *router,
                                oxi_vk_chunk **chunk) {
    chunk[0] = r->chunk[OXI_VK_ROUTE_VALUES];
    chunk[1] = r->indices;
    chunk[2] = oxi_vk_route_has(r, OXI_VK_ROUTE_IDS) ? r->chunk[OXI_VK_ROUTE_IDS] : NULL;
    chunk[3] = r->biased ? r->bias : NULL;
    chunk[4] = router ? oxi_vk_chunk_of(router->out[0]) : d->fault;
    chunk[5] = router ? d->parts.chunk : NULL;
    chunk[6] = router ? oxi_vk_chunk_of(router->in[1]) : NULL;
    chunk[7] = router && router->in[2] ? oxi_vk_chunk_of(router->in[2]) : NULL;
}

/* Lets the product's last workgroup go on with them, or each of a gate's choose by them; false: results lie
 * in too many blocks. */
static bool oxi_vk_product_routes(const oxi_vk_device *d, const oxi_vk_product_group *g,
                                  oxi_vk_product_params *params, oxi_vk_dispatch *dispatch) {
    oxi_vk_routing *r = g->routing;
    const oxi_vk_dispatch before = *dispatch;
    oxi_vk_chunk *chunk[OXI_VK_ROUTE_CHUNKS];
    oxi_vk_product_few_specials *special = &dispatch->special.product_few;
    uint32_t blocks = 0;
    oxi_vk_route_chunks(d, r, g->router, chunk);
    if (!oxi_vk_bind_blocks(dispatch, chunk, OXI_VK_ROUTE_CHUNKS, &blocks)) {
        *dispatch = before;
        return false;
    }
    for (int i = 0; i < OXI_VK_ROUTE_RESULTS; i++) {
        if (!oxi_vk_route_has(r, i)) continue;
        params->behind[i] = r->at[i];
        dispatch->use[dispatch->uses++].chunk = r->chunk[i];
        dispatch->use[dispatch->uses - 1].writes = true;
    }
    for (int i = 0; i < dispatch->uses; i++)
        if (dispatch->use[i].chunk == r->indices || dispatch->use[i].chunk == chunk[4])
            dispatch->use[i].writes = true;
    const uint32_t rest[] = {r->indices_at, r->bias_at, oxi_bits_of_float(r->least),
                             oxi_bits_of_float(r->scale), (uint32_t)r->used,
                             (uint32_t)(d->fault->offset / 4) + OXI_VK_ARRIVED};
    memcpy(params->behind + OXI_VK_ROUTE_RESULTS, rest, sizeof rest);
    if (g->router) oxi_vk_choice_params(d, g, params);
    special->router_scores = r->scores;
    special->router_biased = r->biased;
    special->router_picked = r->picked;
    special->router_late = r->late;
    special->router_given = r->given;
    special->router_blocks = blocks;
    if (g->router && g->router->in[2]) special->router_blocks |= 1u << 24;
    r->calls = 0;
    r->chosen = false;
    return true;
}
