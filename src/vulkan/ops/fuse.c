/* Calls that become one dispatch: a few are held back until it is known whether what follows can be part of
 * them. A norm, the sum that it may be of, up to three products of its result with few rows, and the
 * activation, gate or residual behind them; rope and the copy of its result into a cache. Every result is
 * written, so nobody sees a difference. Called by the Vulkan device before each call, and before anything
 * else that looks at memory.
 *
 *     y = rms_norm(c), x += y, z = norm(x), products of z      post, sum, norm, product[]
 *     x += c behind another sum, z = norm(x), products of z    the same without the first norm
 *     q = rms_norm(heads), rope(q), a copy of that             heads, rope (fuse_heads.c)
 *     rope(q), q = rms_norm(heads), a copy of that             the same
 *     the same of q and k, a copy of v, attention to both      turn[], store (attention_turned.c)
 *     copies of k and v, attention to both                     the same
 *     ends of q turned, the rest by heads, attention, by heads latent[] (attention_latent.c)
 *     a router's scores, the best of them, their weights       routing (rows/routing.c)
 *     gate and up by experts, silu(gate) up                    product[]
 *     products, relu(gate), its square, gate *= up             the same
 *     x += c, norm(x), a router of it, gate and up by experts  router (product/router.c)
 *     c by experts, c *= weights, their sum, x += that         product[0], weigh, slots (fuse_experts.c)
 *     s = a b, s += c d, s += bias, silu(s), cat of a, c ..    steps (steps.c)
 *     the same, and a selective scan of its columns            steps (rows/selective_scan.c)
 * The products are given what c, x and the weights are; x is written behind them, when they have read it. */

enum { OXI_VK_HELD_CALLS = OXI_VK_GROUP + 23 }; /* at once */

/* All that are held; their number. */
static int oxi_vk_all_held(oxi_vk_device *d, oxi_vk_held_call **out) {
    int count = 0;
    if (d->held_post) out[count++] = &d->post;
    if (d->held_post) out[count++] = &d->sum;
    if (d->held_norm) out[count++] = &d->norm;
    for (int i = 0; i < d->held_products; i++) out[count++] = &d->product[i];
    for (int i = 0; i < d->held_turns; i++) {
        oxi_vk_held_turn *turn = &d->turn[i];
        if (turn->normed) out[count++] = &turn->heads;
        if (turn->turned) out[count++] = &turn->rope;
        if (turn->copied) out[count++] = &turn->copy;
    }
    if (d->held_store) out[count++] = &d->store;
    for (int i = 0; i < d->held_latent; i++) out[count++] = &d->latent[i];
    if (d->held_weigh) out[count++] = &d->weigh;
    if (d->held_slots) out[count++] = &d->slots;
    if (d->held_router) out[count++] = &d->router;
    if (d->steps.count > 0) out[count++] = &d->steps.first;
    if (d->steps.count > 0 && d->steps.kept > 0) out[count++] = &d->steps.window;
    for (int i = 0; i < d->routing.calls; i++) out[count++] = &d->routing.call[i];
    if (d->held_heads) out[count++] = &d->heads;
    if (d->held_rope) out[count++] = &d->rope;
    return count;
}

static void oxi_vk_let_go(oxi_vk_device *d) {
    d->held_norm = d->held_rope = d->held_post = d->held_heads = d->held_store = d->held_added = false;
    d->held_weigh = d->held_slots = d->held_router = d->held_late = false;
    d->held_products = d->held_turns = d->held_latent = 0;
    d->routing.calls = d->steps.count = 0;
    d->routing.chosen = false;
    for (int i = 0; i < d->kept_count; i++) oxi_vk_chunk_give(d, d->kept[i]);
    d->kept_count = 0;
}

/* Memory that is given back while a held call is of it stays until that is recorded. False: it is free. */
static bool oxi_vk_keep(oxi_vk_device *d, oxi_vk_chunk *chunk) {
    oxi_vk_held_call *held[OXI_VK_HELD_CALLS];
    bool used =
        oxi_vk_steps_use(&d->steps, chunk) || (oxi_vk_is_routed(d) && oxi_vk_route_uses(&d->routing, chunk));
    for (int i = oxi_vk_all_held(d, held); i-- > 0;) {
        used = used || oxi_vk_chunk_of(&held[i]->result) == chunk;
        for (int k = 0; k < held[i]->call.in_count; k++)
            used = used || (held[i]->in[k] && held[i]->in[k]->storage->data == chunk);
    }
    if (!used) return false;
    if (d->kept_count == OXI_VK_KEPT || chunk->bytes > OXI_VK_KEPT_BYTES) {
        (void)oxi_vk_flush(d);
        return false;
    }
    d->kept[d->kept_count++] = chunk;
    return true;
}

/* ---- what goes together -------------------------------------------------------------------------------- */

/* A norm over the last dim of few rows, which every workgroup of a product could take again. */
static bool oxi_vk_can_hold_norm(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *weight = call->in[1], *bias = call->in_count > 2 ? call->in[2] : NULL;
    int64_t k = x->ndim > 0 ? x->shape[x->ndim - 1] : 0;
    if (call->attr.norm.last_dims != 1 || k == 0 || k % 32 != 0) return false;
    int64_t rows = ox_numel(x) / k;
    if (weight && bias && !oxi_vk_same_block(weight, bias)) return false;
    return rows > 0 && rows <= OXI_VK_FEW_NORMS && oxi_vk_is_quads(x) && oxi_vk_is_quads(call->out[0]) &&
           (!weight || oxi_vk_is_quads(weight)) && (!bias || oxi_vk_is_quads(bias)) &&
           (uint64_t)(rows * k) * 6 + 8192 * (uint64_t)rows <= d->limits.maxComputeSharedMemorySize;
}

static bool oxi_vk_can_hold_product(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *bias = call->in[2];
    if ((bias && !oxi_vk_is_plain_f32(bias)) || !oxi_vk_can_product(d, call)) return false;
    if (!oxi_vk_is_plain_f32(x) || !oxi_vk_is_plain_f32(call->out[0]) || ox_numel(call->out[0]) == 0)
        return false;
    oxi_vk_product p = oxi_vk_product_of(call, NULL);
    return p.form.ndim == 0 && p.form.k > 0 && oxi_vk_product_is_few(&p);
}

/* y = rms_norm(c) and now x += y. */
static bool oxi_vk_adds_norm(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *norm = &d->norm.call;
    if (!d->held_norm || d->held_post || d->held_products > 0 || d->norm_written || call->in_count != 2)
        return false;
    const ox_tensor *x = call->out[0], *other = norm->in[0], *y = norm->out[0];
    if (oxi_vk_fused_of(norm->op)->tail != OXI_VK_NORM_RMS || !norm->in[1] || call->attr.scale.scale != 1)
        return false;
    if (ox_numel(x) != ox_numel(y)) return false;
    return oxi_vk_same_memory(call->in[0], x) && oxi_vk_same_memory(call->in[1], y) && oxi_vk_is_quads(x) &&
           oxi_vk_same_block(x, other) && oxi_vk_chunk_of(x) != oxi_vk_chunk_of(other) &&
           oxi_vk_chunk_of(x) != oxi_vk_chunk_of(y);
}

/* Whether a product's a is what the held norm, or the held sum, gives. */
static bool oxi_vk_meets_norm(const oxi_vk_device *d, const oxi_call *product) {
    const ox_tensor *a = product->in[0], *c = product->out[0];
    if (d->held_norm && product->in[2] && oxi_vk_needs_books(product->in[1]->dtype) &&
        !oxi_vk_same_block(c, d->norm.call.out[0]))
        return false; /* bias and books are where it would be bound */
    if (d->held_norm && d->held_post && !d->held_added && d->norm.call.in[1] &&
        !oxi_vk_same_block(d->norm.call.in[1], d->post.call.in[1]))
        return false;
    return (d->held_norm || d->held_post) &&
           oxi_vk_same_memory(a, d->held_norm ? d->norm.call.out[0] : d->sum.call.out[0]);
}

/* Whether a product can share a dispatch with the held ones. */
static bool oxi_vk_joins_products(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *first = &d->product[0].call;
    if (d->held_products == 0 || d->held_products == OXI_VK_GROUP || oxi_vk_holds_experts(d) ||
        first->exact != call->exact)
        return false;
    if (first->attr.activation.activation || call->attr.activation.activation) return false;
    const ox_tensor *b = first->in[1], *c = first->out[0], *bias = first->in[2];
    const ox_tensor *other = call->in[1], *more = call->in[2];
    if (!bias != !more || (bias && !oxi_vk_same_block(bias, more))) return false;
    return oxi_vk_same_memory(first->in[0], call->in[0]) && b->dtype == other->dtype &&
           b->stride[0] == other->stride[0] && b->stride[1] == other->stride[1] &&
           oxi_vk_same_block(b, other) && oxi_vk_same_block(c, call->out[0]) &&
           (oxi_vk_byte_at(b) - oxi_vk_byte_at(other)) % 16 == 0;
}

/* Whether what the held products read lies in t's memory: then t is not written by their dispatch. */
static bool oxi_vk_products_read(const oxi_vk_device *d, const ox_tensor *t) {
    const oxi_call *product = &d->product[0].call;
    const oxi_vk_chunk *chunk = oxi_vk_chunk_of(t);
    if (oxi_vk_holds_experts(d) && chunk == oxi_vk_chunk_of(product->in[0])) return true;
    if (!oxi_vk_meets_norm(d, product)) return chunk == oxi_vk_chunk_of(product->in[0]);
    if (d->held_post &&
        (chunk == oxi_vk_chunk_of(d->post.call.in[0]) || chunk == oxi_vk_chunk_of(d->sum.call.out[0])))
        return true;
    return d->held_norm && chunk == oxi_vk_chunk_of(d->norm.call.in[0]);
}

/* x += c, where c is the held product's, and nothing that it reads is written. */
static bool oxi_vk_adds_product(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *product = &d->product[0].call;
    const ox_tensor *x = call->out[0];
    if (d->held_products != 1 || call->in_count != 2 || call->attr.scale.scale != 1) return false;
    if (oxi_vk_holds_experts(d)) return oxi_vk_adds_experts(d, call);
    if (!oxi_vk_same_memory(call->in[0], x) || !oxi_vk_same_memory(call->in[1], product->out[0]))
        return false;
    if (ox_numel(x) != ox_numel(product->out[0])) return false; /* it is spread over more rows */
    return oxi_vk_is_plain_f32(x) && oxi_vk_same_block(x, product->out[0]) && !oxi_vk_products_read(d, x) &&
           oxi_vk_chunk_of(x) != oxi_vk_chunk_of(product->out[0]);
}

/* Whether x is a sum that was made behind what the product that is added to it is of: that would wait for it,
 * and products of the new sum make it themselves instead. */
static bool oxi_vk_adds_late(oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *product = &d->product[0].call;
    const ox_tensor *x = call->out[0], *c = product->out[0], *a = product->in[0];
    const int64_t made = oxi_vk_epochs_of(d, oxi_vk_chunk_of(a))->written;
    if (d->added_to != oxi_vk_chunk_of(x) || d->added_at != oxi_vk_epochs_of(d, d->added_to)->written)
        return false;
    if (oxi_vk_holds_experts(d) || d->steps.count > 0 || oxi_vk_meets_norm(d, product)) return false;
    return oxi_vk_is_quads(x) && oxi_vk_is_quads(c) && ox_numel(x) == x->shape[x->ndim - 1] &&
           oxi_vk_epochs_of(d, oxi_vk_chunk_of(x))->written > made;
}

/* An activation of the held product's result, in its place, or of the first one of two that a gate may
 * follow. */
static bool oxi_vk_activates_product(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *product = &d->product[0].call;
    return (d->held_products == 1 || d->held_products == 2) && !oxi_vk_holds_experts(d) &&
           !product->attr.activation.activation && oxi_vk_same_memory(call->in[0], product->out[0]) &&
           oxi_vk_same_memory(call->out[0], product->out[0]);
}

/* Whether the first of what is held has an activation. */
static bool oxi_vk_is_activated(const oxi_vk_device *d) {
    return d->held_products > 0 && !oxi_vk_holds_experts(d) &&
           d->product[0].call.attr.activation.activation != OX_ACTIVATION_NONE;
}

/* The square of what relu gave, in its place. */
static bool oxi_vk_squares_product(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *product = &d->product[0].call;
    return oxi_vk_is_activated(d) && d->held_products <= 2 &&
           product->attr.activation.activation == OX_ACTIVATION_RELU &&
           oxi_vk_same_memory(call->in[0], product->out[0]) &&
           oxi_vk_same_memory(call->in[1], product->out[0]) &&
           oxi_vk_same_memory(call->out[0], product->out[0]);
}

/* A chain that products have as a gate. */
static bool oxi_vk_is_clamped_gate(const oxi_call *call) {
    const double *numbers = call->attr.chain.numbers.n;
    return call->attr.chain.program == oxi_chain_of(OXI_CHAIN_CLAMPED_GATE) && numbers[2] == -numbers[0];
}

/* A gate over the results of two products, in the first one's place or elsewhere; a mul is one where the
 * first one's activation is the gate. */
static bool oxi_vk_gates_products(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *out = call->out[0];
    if (d->held_products != 2 || !oxi_vk_is_plain_f32(out)) return false;
    if (oxi_vk_is_activated(d) != (call->op == OXI_OP_mul)) return false;
    const ox_tensor *c = d->product[0].call.out[0], *other = d->product[1].call.out[0];
    if (ox_numel(c) != ox_numel(other) || ox_numel(c) != ox_numel(out)) return false;
    /* in the gate's place: who has written it there writes the result over it */
    bool in_place = oxi_vk_same_memory(out, c);
    if (!in_place && oxi_vk_is_activated(d)) return false;
    return oxi_vk_same_memory(call->in[0], c) && oxi_vk_same_memory(call->in[1], other) &&
           oxi_vk_same_block(out, c) && (in_place || oxi_vk_chunk_of(out) != oxi_vk_chunk_of(c)) &&
           oxi_vk_chunk_of(out) != oxi_vk_chunk_of(other) && !oxi_vk_products_read(d, out);
}

/* Half of the last dim of t. */
static ox_tensor oxi_vk_half(const ox_tensor *t, bool second, int dim) {
    ox_tensor half = *t;
    half.shape[dim] /= 2;
    if (second) half.offset += half.shape[dim] * half.stride[dim];
    return half;
}

/* A gate over the two halves of the only product's result, in the first one's place. */
static bool oxi_vk_gates_halves(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *product = &d->product[0].call;
    if (d->held_products != 1 || oxi_vk_holds_experts(d) || product->attr.activation.activation) return false;
    const ox_tensor *c = product->out[0];
    int last = c->ndim - 1;
    if (c->shape[last] % 2 != 0) return false;
    ox_tensor first = oxi_vk_half(c, false, last), second = oxi_vk_half(c, true, last);
    const oxi_vk_product p = oxi_vk_product_of(product, NULL);
    const int64_t half = oxi_vk_product_units(p.form.t[2], p.form.column[2]) * first.shape[last];
    return oxi_vk_same_memory(call->in[0], &first) && oxi_vk_same_memory(call->in[1], &second) &&
           oxi_vk_same_memory(call->out[0], &first) && half % 16 == 0 && !oxi_vk_products_read(d, c);
}

/* ---- letting go ---------------------------------------------------------------------------------------- */

/* Products of the held norm, or the held sum, take it into their dispatch. */
static void oxi_vk_group_norm(oxi_vk_device *d, oxi_vk_product_group *group) {
    if (d->held_norm) group->norm = &d->norm.call;
    if (d->held_post && !d->held_added) group->post = &d->post.call;
    if (d->held_added) group->other = d->post.call.in[0];
    if (d->held_post) group->x = d->sum.call.out[0];
    group->writes_normal = d->held_norm && !d->norm_written;
    d->norm_written = true;
}

/* Records the router that was set aside, and what its numbers become. */
static ox_status oxi_vk_record_router(oxi_vk_device *d) {
    oxi_vk_product_group group;
    memset(&group, 0, sizeof group);
    group.products = 1;
    group.product[0] = &d->router.call;
    if (oxi_vk_meets_norm(d, group.product[0])) oxi_vk_group_norm(d, &group);
    group.routing = &d->routing;
    d->held_router = false;
    oxi_vk_time_call(d, group.product[0]);
    const ox_status status = oxi_vk_product_group_run(d, &group);
    return status == OX_OK ? oxi_vk_route_record(d) : status;
}

/* Records the two held products, of which one has an activation that no gate follows, one by one. */
static ox_status oxi_vk_record_apart(oxi_vk_device *d) {
    ox_status status = OX_OK;
    for (int i = 0; i < 2 && status == OX_OK; i++) {
        oxi_vk_product_group group;
        memset(&group, 0, sizeof group);
        group.products = 1;
        group.product[0] = &d->product[i].call;
        if (oxi_vk_meets_norm(d, group.product[0])) oxi_vk_group_norm(d, &group);
        oxi_vk_time_call(d, group.product[0]);
        status = oxi_vk_product_group_run(d, &group);
    }
    d->held_products = 0;
    return status;
}

/* Records the held products, with what makes their a before them and `tail` (or NULL) behind. */
static ox_status oxi_vk_record_products(oxi_vk_device *d, const oxi_call *tail) {
    oxi_vk_product_group group;
    const bool chooses = d->held_router && oxi_vk_chooses(d, tail);
    if (d->held_router && !chooses) {
        const ox_status before = oxi_vk_record_router(d);
        if (before != OX_OK) return before;
    }
    if (oxi_vk_holds_experts(d) && d->held_products == 2 && !tail) { /* only a gate makes one of them */
        ox_status first = oxi_vk_product_run(d, &d->product[0].call);
        d->held_products = 0;
        return first == OX_OK ? oxi_vk_product_run(d, &d->product[1].call) : first;
    }
    if (d->held_products == 2 && oxi_vk_is_activated(d) && !tail) return oxi_vk_record_apart(d);
    memset(&group, 0, sizeof group);
    group.products = d->held_products;
    for (int i = 0; i < d->held_products; i++) group.product[i] = &d->product[i].call;
    group.pair = group.products == 2 && tail;
    if (chooses || (!oxi_vk_holds_experts(d) && oxi_vk_meets_norm(d, group.product[0])))
        oxi_vk_group_norm(d, &group);
    if (chooses) group.router = &d->router.call;
    d->held_router = false;
    group.tail = tail;
    if (d->steps.count > 0) group.steps = &d->steps;
    if (d->routing.chosen) group.routing = &d->routing;
    if (d->held_slots) group.weigh = &d->weigh.call;
    if (d->held_slots) group.sum = &d->slots.call;
    const bool weighs = d->held_weigh && !d->held_slots;
    d->held_products = 0;
    d->held_weigh = d->held_slots = false;
    oxi_vk_time_call(d, group.product[0]);
    const ox_status status = oxi_vk_product_group_run(d, &group);
    if (status != OX_OK || !weighs) return status;
    oxi_vk_time_call(d, &d->weigh.call);
    return oxi_vk_map(d, &d->weigh.call);
}

/* The two halves of the held product as two products, with a gate behind them. */
static ox_status oxi_vk_record_halves(oxi_vk_device *d, const oxi_call *gate) {
    oxi_vk_held_call *held = &d->product[0];
    const ox_tensor c = held->result, b = held->operand[1], bias = held->operand[2];
    for (int i = 0; i < 2; i++) {
        held = &d->product[i];
        oxi_vk_hold(held, &d->product[0].call);
        held->result = oxi_vk_half(&c, i, c.ndim - 1);
        held->operand[1] = oxi_vk_half(&b, i, 0);
        if (held->in[2]) held->operand[2] = oxi_vk_half(&bias, i, 0);
    }
    d->held_products = 2;
    return oxi_vk_record_products(d, gate);
}

/* Has what was added to a sum given back later: whoever got it next would wait for the sum, which runs beside
 * what comes behind it. */
static void oxi_vk_give_late(oxi_vk_device *d, oxi_vk_chunk *chunk) {
    for (int i = 0; i < d->kept_count; i++) {
        if (d->kept[i] != chunk) continue;
        if (d->late) oxi_vk_chunk_give(d, d->late);
        d->late = chunk;
        d->kept[i] = d->kept[--d->kept_count];
        return;
    }
}

/* Records what is held beside products, whose dispatches have read what this writes. */
static ox_status oxi_vk_flush_rest(oxi_vk_device *d) {
    ox_status status = oxi_vk_flush_turns(d);
    if (status != OX_OK) {
        oxi_vk_let_go(d);
        return status;
    }
    if (d->held_added) {
        oxi_vk_time_call(d, &d->sum.call);
        status = oxi_vk_map(d, &d->sum.call);
        oxi_vk_give_late(d, oxi_vk_chunk_of(d->post.in[0]));
    } else if (d->held_post) {
        ox_tensor sum = d->post.result; /* both lie element behind element */
        sum.storage = d->sum.result.storage;
        sum.offset = d->sum.result.offset;
        const ox_tensor *added = &sum;
        oxi_vk_time_call(d, &d->post.call);
        status = oxi_vk_row_added(d, &d->post.call, &added);
        oxi_vk_time_call(d, &d->sum.call);
        if (status == OX_OK && added) status = oxi_vk_map(d, &d->sum.call);
    }
    if (status == OX_OK && d->held_norm && !d->norm_written) {
        oxi_vk_time_call(d, &d->norm.call);
        status = oxi_vk_row(d, &d->norm.call);
    }
    if (status == OX_OK && d->held_heads && !d->held_rope) {
        oxi_vk_time_call(d, &d->heads.call);
        status = oxi_vk_row(d, &d->heads.call);
    }
    if (status == OX_OK && d->held_rope) status = oxi_vk_record_rope(d, NULL);
    oxi_vk_let_go(d);
    return status;
}

/* Records whatever is held. */
static ox_status oxi_vk_flush(oxi_vk_device *d) {
    ox_status status = d->held_products > 0 ? oxi_vk_record_products(d, NULL) : OX_OK;
    if (status == OX_OK && d->held_latent > 0) status = oxi_vk_latent_record(d);
    if (status == OX_OK) status = oxi_vk_route_record(d);
    if (status == OX_OK) status = oxi_vk_steps_record(d);
    if (status == OX_OK) return oxi_vk_flush_rest(d);
    oxi_vk_let_go(d);
    return status;
}

/* ---- each call comes here first ------------------------------------------------------------------------ */

static ox_status oxi_vk_join_product(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    ox_status status = OX_OK;
    if (!oxi_vk_can_hold_product(d, call)) return oxi_vk_flush(d);
    if (oxi_vk_joins_products(d, call)) {
        oxi_vk_hold(&d->product[d->held_products++], call);
        *joined = true;
        return OX_OK;
    }
    if (!oxi_vk_meets_norm(d, call))
        status = oxi_vk_flush(d);
    else if (d->held_products > 0)
        status = oxi_vk_record_products(d, NULL);
    if (status != OX_OK) return status;
    oxi_vk_hold(&d->product[0], call);
    d->held_products = 1;
    *joined = true;
    return OX_OK;
}

static ox_status oxi_vk_join_experts(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    const bool joins = oxi_vk_can_hold_experts(d, call);
    ox_status status = OX_OK;
    if (!d->held_router && oxi_vk_router_waits(d, call)) {
        oxi_vk_set_router_aside(d);
        oxi_vk_hold(&d->product[d->held_products++], call);
        *joined = true;
        return OX_OK;
    }
    if (!joins || !oxi_vk_joins_experts(d, call)) status = oxi_vk_flush(d);
    if (status != OX_OK || !joins) return status;
    oxi_vk_hold(&d->product[d->held_products++], call);
    *joined = true;
    return OX_OK;
}

/* Holds a call that is of what is held, or records all. */
static ox_status oxi_vk_join_held(oxi_vk_device *d, oxi_vk_held_call *held, bool *is_held, bool fits,
                                  const oxi_call *call, bool *joined) {
    if (!fits) return oxi_vk_flush(d);
    oxi_vk_hold(held, call);
    *is_held = *joined = true;
    return OX_OK;
}

static ox_status oxi_vk_join_tail(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    *joined = true;
    const bool normed = d->held_norm && !d->held_post && d->kept_count == 0 && call->op != OXI_OP_add;
    ox_status status = oxi_vk_record_products(d, call);
    if (call->op == OXI_OP_add) d->added_to = oxi_vk_chunk_of(call->out[0]);
    if (call->op == OXI_OP_add) d->added_at = oxi_vk_epochs_of(d, oxi_vk_chunk_of(call->out[0]))->written;
    if (status == OX_OK) {
        status = oxi_vk_flush_rest(d);
        d->held_norm = d->norm_written = normed && status == OX_OK; /* for more products of it */
        return status;
    }
    oxi_vk_let_go(d);
    return status;
}

static ox_status oxi_vk_join_mul(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    const bool weighs = oxi_vk_weighs_experts(d, call);
    if (oxi_vk_squares_product(d, call)) {
        d->product[0].call.attr.activation.activation = (ox_activation)OXI_VK_ACT_SQUARE;
        *joined = true;
        return OX_OK;
    }
    if (oxi_vk_is_activated(d) && oxi_vk_gates_products(d, call)) return oxi_vk_join_tail(d, call, joined);
    if (!weighs && oxi_vk_steps_wait(d) && oxi_vk_steps_begin(d, call)) {
        *joined = true;
        return OX_OK;
    }
    const ox_status status = oxi_vk_join_held(d, &d->weigh, &d->held_weigh, weighs, call, joined);
    if (status == OX_OK && !*joined) *joined = oxi_vk_steps_begin(d, call);
    return status;
}

static ox_status oxi_vk_join_norm(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    bool of_sum = d->held_post && !d->held_norm && d->held_products == 0 &&
                  oxi_vk_same_memory(call->in[0], d->sum.call.out[0]);
    const bool late = oxi_vk_norms_turned(d, call);
    if (late || oxi_vk_norms_keys(d, call)) {
        if (!late) oxi_vk_set_aside(d, NULL);
        oxi_vk_hold(&d->heads, call);
        d->held_heads = *joined = true;
        d->held_late = late;
        return OX_OK;
    }
    ox_status status = of_sum ? OX_OK : oxi_vk_flush(d);
    if (status == OX_OK && !oxi_vk_can_hold_norm(d, call)) {
        status = oxi_vk_flush(d);
        if (status != OX_OK || !(oxi_vk_can_hold_heads(call) || oxi_vk_can_hold_row(call))) return status;
        oxi_vk_hold(&d->heads, call);
        d->held_heads = *joined = true;
        return OX_OK;
    }
    if (status != OX_OK) return status;
    oxi_vk_hold(&d->norm, call);
    d->held_norm = *joined = true;
    d->norm_written = false;
    return OX_OK;
}

static ox_status oxi_vk_join_sum(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    if (oxi_vk_adds_product(d, call)) {
        if (!oxi_vk_adds_late(d, call)) return oxi_vk_join_tail(d, call, joined);
        const ox_status status = oxi_vk_flush(d);
        oxi_vk_hold(&d->post, call);
        oxi_vk_hold(&d->sum, call);
        d->post.in[0] = &d->post.operand[1];
        d->held_post = d->held_added = *joined = status == OX_OK;
        return status;
    }
    if (!oxi_vk_adds_norm(d, call)) return oxi_vk_flush(d);
    d->held_norm = false;
    oxi_vk_hold(&d->post, &d->norm.call);
    oxi_vk_hold(&d->sum, call);
    d->held_post = *joined = true;
    return OX_OK;
}

static ox_status oxi_vk_join_gate(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    if (call->op == OXI_OP_chain && !oxi_vk_is_clamped_gate(call)) return oxi_vk_flush(d);
    if (oxi_vk_gates_products(d, call)) return oxi_vk_join_tail(d, call, joined);
    if (!oxi_vk_gates_halves(d, call)) return oxi_vk_flush(d);
    *joined = true;
    ox_status status = oxi_vk_record_halves(d, call);
    if (status == OX_OK) return oxi_vk_flush_rest(d);
    oxi_vk_let_go(d);
    return status;
}

static ox_status oxi_vk_join_rope(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    ox_status status = OX_OK;
    oxi_vk_take_heads(d, call);
    if (oxi_vk_turns_queries(d, call->in[0]))
        oxi_vk_set_aside(d, NULL);
    else if (!oxi_vk_turns_heads(d, call))
        status = oxi_vk_flush(d);
    if (status != OX_OK || ox_numel(call->in[0]) == 0 || call->in[0]->dtype == OX_F64) return status;
    oxi_vk_hold(&d->rope, call);
    d->held_rope = *joined = true;
    return OX_OK;
}

/* Whether a copy is of what the held norm gives, which no product is of, to somewhere else. */
static bool oxi_vk_copies_norm(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *norm = &d->norm.call;
    const ox_tensor *to = call->out[0];
    if (!d->held_norm || d->held_post || d->norm_written || d->held_products > 0) return false;
    bool fits = oxi_vk_same_memory(call->in[0], norm->out[0]) && oxi_vk_product_reads(to->dtype) &&
                to->ndim == norm->out[0]->ndim && ox_numel(to) == ox_numel(norm->out[0]) &&
                oxi_vk_chunk_of(norm->out[0]) != oxi_vk_chunk_of(to);
    for (int i = 0; i < norm->in_count; i++)
        fits = fits && (!norm->in[i] || (oxi_vk_chunk_of(norm->in[i]) != oxi_vk_chunk_of(to) &&
                                         oxi_vk_chunk_of(norm->in[i]) != oxi_vk_chunk_of(norm->out[0])));
    return fits;
}

/* Such a norm twice, each to one of both places: none waits for the other. */
static ox_status oxi_vk_record_norm_twice(oxi_vk_device *d, const oxi_call *copy) {
    oxi_call norm = d->norm.call;
    oxi_vk_time_call(d, &norm);
    ox_status status = oxi_vk_row(d, &norm);
    norm.out[0] = copy->out[0];
    if (status == OX_OK) status = oxi_vk_row(d, &norm);
    oxi_vk_let_go(d);
    return status;
}

static ox_status oxi_vk_join_copy(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    ox_status status = OX_OK;
    if (oxi_vk_copies_norm(d, call)) {
        *joined = true;
        return oxi_vk_record_norm_twice(d, call);
    }
    const bool row = oxi_vk_stores_row(d, call);
    if (row && d->held_turns == 2 && !d->held_store) {
        oxi_vk_hold(&d->store, call);
        d->held_store = *joined = true;
        return OX_OK;
    }
    if (!oxi_vk_copies_rope(d, call)) {
        status = oxi_vk_flush(d);
        *joined = row && status == OX_OK;
        if (*joined) oxi_vk_set_key_aside(d, call);
        return status;
    }
    *joined = true;
    if (d->held_turns == 1) {
        oxi_vk_set_aside(d, call);
        return OX_OK;
    }
    if (oxi_vk_latent_begins(d, call)) {
        oxi_vk_latent_begin(d, call);
        return OX_OK;
    }
    status = oxi_vk_record_rope(d, call);
    oxi_vk_let_go(d);
    return status;
}

static ox_status oxi_vk_join_attention(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    if (d->held_turns < 2 || !d->held_store) return oxi_vk_flush(d);
    oxi_vk_turned_group group;
    for (int i = 0; i < 2; i++) {
        group.rope[i] = d->turn[i].turned ? &d->turn[i].rope.call : NULL;
        group.norm[i] = d->turn[i].normed ? &d->turn[i].heads.call : NULL;
        group.late[i] = d->turn[i].late;
    }
    group.query = call->in[0];
    group.keep[0] = &d->turn[1].copy.call;
    group.keep[1] = &d->store.call;
    if (!oxi_vk_attends_turned(&group, call)) return oxi_vk_flush(d);
    oxi_vk_time_call(d, call);
    ox_status status = oxi_vk_attention_turned(d, &group, call, joined);
    if (status == OX_OK && !*joined) return oxi_vk_flush(d);
    oxi_vk_let_go(d);
    return status;
}

/* A scan of what held steps make, unless these become part of the product before them, or of a step that a
 * held product makes. */
static ox_status oxi_vk_join_scan(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    if (d->steps.count == 0) {
        const oxi_call *product = &d->product[0].call;
        *joined = true;
        oxi_vk_time_call(d, call);
        const ox_status done = oxi_vk_selective(d, call, NULL, product);
        oxi_vk_let_go(d);
        return done;
    }
    ox_status status = d->held_products > 0 ? oxi_vk_record_products(d, NULL) : OX_OK;
    if (status != OX_OK || d->steps.count == 0) return status == OX_OK ? oxi_vk_flush(d) : status;
    *joined = true;
    oxi_vk_time_call(d, call);
    status = oxi_vk_selective(d, call, &d->steps, NULL);
    oxi_vk_let_go(d);
    return status;
}

/* Takes a call that can be held or joins what is held; everything else finds nothing held any more. */
static ox_status oxi_vk_join(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    const oxi_vk_fused *row = oxi_vk_fused_of(call->op);
    if (d->held_latent > 0) {
        const ox_status status = oxi_vk_latent_on(d, call, joined);
        if (status != OX_OK || *joined) return status;
    }
    if ((!d->held_router && oxi_vk_routes_on(d, call)) || oxi_vk_steps_on(d, call)) {
        *joined = true;
        return OX_OK;
    }
    if ((oxi_vk_is_routed(d) && !oxi_vk_router_goes_on(d, call)) || oxi_vk_is_route(call)) {
        const bool waits = !oxi_vk_is_routed(d) && oxi_vk_route_waits(d, call);
        ox_status status = waits ? OX_OK : oxi_vk_flush(d);
        if (status != OX_OK) return status;
        *joined = oxi_vk_is_route(call) && oxi_vk_route_begins(d, call);
        if (*joined) return OX_OK;
    }
    if (row->role == OXI_VK_JOINS_SCAN &&
        (d->steps.count > 0 ? oxi_vk_scans_steps(d, call) : oxi_vk_scans_product(d, call)))
        return oxi_vk_join_scan(d, call, joined);
    if (d->steps.count > 0) {
        ox_status status = oxi_vk_flush(d);
        if (status != OX_OK) return status;
    }
    switch (row->role) {
    case OXI_VK_JOINS_PRODUCT: return oxi_vk_join_product(d, call, joined);
    case OXI_VK_JOINS_EXPERTS: return oxi_vk_join_experts(d, call, joined);
    case OXI_VK_JOINS_WEIGHTS: return oxi_vk_join_mul(d, call, joined);
    case OXI_VK_JOINS_SLOTS:
        return oxi_vk_join_held(d, &d->slots, &d->held_slots, oxi_vk_sums_experts(d, call), call, joined);
    case OXI_VK_JOINS_SUM: return oxi_vk_join_sum(d, call, joined);
    case OXI_VK_JOINS_GATE: return oxi_vk_join_gate(d, call, joined);
    case OXI_VK_JOINS_NORM: return oxi_vk_join_norm(d, call, joined);
    case OXI_VK_JOINS_ACTIVATION:
        if (!oxi_vk_activates_product(d, call)) break;
        d->product[0].call.attr.activation.activation = (ox_activation)row->tail;
        *joined = true;
        return OX_OK;
    case OXI_VK_JOINS_ROPE: return oxi_vk_join_rope(d, call, joined);
    case OXI_VK_JOINS_COPY: return oxi_vk_join_copy(d, call, joined);
    case OXI_VK_JOINS_ATTENTION: return oxi_vk_join_attention(d, call, joined);
    case OXI_VK_JOINS_SCAN:
    case OXI_VK_JOINS_NOTHING: break;
    }
    return oxi_vk_flush(d);
}
