/* Calls that become one dispatch: a few are held back until it is known whether what follows can be part of
 * them. rms_norm, one or two products of its result with few rows, the residual that is added or the gate
 * that joins both; rope and the copy of its result into a cache. Every result is written, so nobody sees a
 * difference. Called by the Vulkan device before each call, and before anything else that looks at memory. */

static void oxi_vk_hold(oxi_vk_held_call *held, const oxi_call *call) {
    held->call = *call;
    for (int i = 0; i < call->in_count && i < OXI_VK_HELD_IN; i++) {
        held->in[i] = call->in[i];
        if (!call->in[i]) continue;
        held->operand[i] = *call->in[i];
        held->in[i] = &held->operand[i];
    }
    held->call.in = held->in;
    held->result = *call->out[0];
    held->call.out[0] = &held->result;
}

static bool oxi_vk_is_held(const oxi_vk_device *d) {
    return d->held_norm || d->held_products > 0 || d->held_rope;
}

static void oxi_vk_let_go(oxi_vk_device *d) {
    d->held_norm = d->held_rope = false;
    d->held_products = 0;
}

/* ---- what goes together -------------------------------------------------------------------------------- */

static bool oxi_vk_same_memory(const ox_tensor *a, const ox_tensor *b) {
    return a->storage == b->storage && oxi_same_layout(a, b);
}

static bool oxi_vk_same_block(const ox_tensor *a, const ox_tensor *b) {
    return oxi_vk_chunk_of(a)->block == oxi_vk_chunk_of(b)->block;
}

static bool oxi_vk_is_plain_f32(const ox_tensor *t) {
    return t->dtype == OX_F32 && ox_is_contiguous(t);
}

/* A norm over the last dim of few rows, which every workgroup of a product could take again. */
static bool oxi_vk_can_hold_norm(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *weight = call->in[1];
    int64_t k = x->ndim > 0 ? x->shape[x->ndim - 1] : 0;
    if (!weight || call->attr.norm.last_dims != 1 || k == 0 || k % 32 != 0) return false;
    int64_t rows = ox_numel(x) / k;
    return rows > 0 && rows <= OXI_VK_FEW_NORMS && oxi_vk_is_plain_f32(x) && oxi_vk_is_plain_f32(weight) &&
           oxi_vk_is_plain_f32(call->out[0]) && oxi_vk_element_at(x) % 4 == 0 &&
           oxi_vk_element_at(weight) % 4 == 0 && oxi_vk_element_at(call->out[0]) % 4 == 0 &&
           (uint64_t)(rows * k) * 6 + 8192 * (uint64_t)rows <= d->limits.maxComputeSharedMemorySize;
}

static bool oxi_vk_can_hold_product(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0];
    if (call->in[2] || call->attr.activation.activation != OX_ACTIVATION_NONE || !oxi_vk_can_product(d, call))
        return false;
    if (!oxi_vk_is_plain_f32(x) || !oxi_vk_is_plain_f32(call->out[0]) || ox_numel(call->out[0]) == 0)
        return false;
    oxi_vk_product p = oxi_vk_product_of(call, NULL);
    return p.form.ndim == 0 && p.form.k > 0 && oxi_vk_product_is_few(&p);
}

/* Whether a product's a is what the held norm gives. */
static bool oxi_vk_meets_norm(const oxi_vk_device *d, const oxi_call *product) {
    const oxi_call *norm = &d->norm.call;
    return d->held_norm && oxi_vk_same_memory(product->in[0], norm->out[0]) &&
           oxi_vk_same_block(product->out[0], norm->out[0]);
}

/* Whether a second product can share a dispatch with the held one. */
static bool oxi_vk_makes_pair(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *first = &d->product[0].call;
    if (d->held_products != 1 || d->product[0].call.exact != call->exact) return false;
    const ox_tensor *b = first->in[1], *c = first->out[0], *other = call->in[1];
    return oxi_vk_same_memory(first->in[0], call->in[0]) && b->dtype == other->dtype &&
           b->shape[0] == other->shape[0] && b->stride[0] == other->stride[0] &&
           b->stride[1] == other->stride[1] && oxi_vk_same_block(b, other) &&
           oxi_vk_same_block(c, call->out[0]) && (oxi_vk_byte_at(b) - oxi_vk_byte_at(other)) % 16 == 0;
}

/* x += c, where c is the held product's, and nothing that it reads is written. */
static bool oxi_vk_adds_product(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *product = &d->product[0].call;
    const ox_tensor *x = call->out[0];
    if (d->held_products != 1 || call->in_count != 2 || call->attr.scale.scale != 1) return false;
    if (!oxi_vk_same_memory(call->in[0], x) || !oxi_vk_same_memory(call->in[1], product->out[0]))
        return false;
    const ox_tensor *a = oxi_vk_meets_norm(d, product) ? d->norm.call.in[0] : product->in[0];
    return oxi_vk_is_plain_f32(x) && oxi_vk_same_block(x, product->out[0]) &&
           oxi_vk_chunk_of(x) != oxi_vk_chunk_of(a) && oxi_vk_chunk_of(x) != oxi_vk_chunk_of(product->out[0]);
}

static bool oxi_vk_gates_products(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *out = call->out[0];
    if (d->held_products != 2 || !oxi_vk_is_plain_f32(out)) return false;
    const ox_tensor *c = d->product[0].call.out[0], *other = d->product[1].call.out[0];
    /* in the gate's place: who has written it there writes the result over it */
    bool in_place = oxi_vk_same_memory(out, c);
    return oxi_vk_same_memory(call->in[0], c) && oxi_vk_same_memory(call->in[1], other) &&
           oxi_vk_same_block(out, c) && (in_place || oxi_vk_chunk_of(out) != oxi_vk_chunk_of(c)) &&
           oxi_vk_chunk_of(out) != oxi_vk_chunk_of(other) &&
           oxi_vk_chunk_of(out) != oxi_vk_chunk_of(d->product[0].call.in[0]);
}

/* A copy of what the held rope gives, to somewhere else. */
static bool oxi_vk_copies_rope(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *rope = &d->rope.call;
    const ox_tensor *to = call->out[0];
    bool fits =
        d->held_rope && oxi_vk_same_memory(call->in[0], rope->out[0]) && oxi_vk_product_reads(to->dtype);
    for (int i = 0; fits && i < rope->in_count; i++)
        fits = !rope->in[i] || oxi_vk_chunk_of(rope->in[i]) != oxi_vk_chunk_of(to);
    return fits && oxi_vk_chunk_of(rope->out[0]) != oxi_vk_chunk_of(to) && oxi_vk_fits(to);
}

/* ---- letting go ---------------------------------------------------------------------------------------- */

/* Records the held products, with the norm before them and `tail` (or NULL) behind. */
static ox_status oxi_vk_record_products(oxi_vk_device *d, const oxi_call *tail) {
    oxi_vk_product_group group;
    memset(&group, 0, sizeof group);
    group.product[0] = &d->product[0].call;
    if (d->held_products == 2) group.product[1] = &d->product[1].call;
    if (oxi_vk_meets_norm(d, group.product[0])) {
        group.norm = &d->norm.call;
        group.writes_normal = !d->norm_written;
        d->norm_written = true;
    }
    group.tail = tail;
    d->held_products = 0;
    oxi_vk_time_call(d, group.product[0]);
    return oxi_vk_product_group_run(d, &group);
}

/* Records whatever is held. */
static ox_status oxi_vk_flush(oxi_vk_device *d) {
    ox_status status = OX_OK;
    if (!oxi_vk_is_held(d)) return OX_OK;
    if (d->held_products > 0) status = oxi_vk_record_products(d, NULL);
    if (status == OX_OK && d->held_norm && !d->norm_written) {
        oxi_vk_time_call(d, &d->norm.call);
        status = oxi_vk_row(d, &d->norm.call);
    }
    if (status == OX_OK && d->held_rope) {
        oxi_vk_time_call(d, &d->rope.call);
        status = oxi_vk_rope(d, &d->rope.call, NULL);
    }
    oxi_vk_let_go(d);
    return status;
}

/* ---- each call comes here first ------------------------------------------------------------------------ */

static ox_status oxi_vk_join_product(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    ox_status status = OX_OK;
    if (!oxi_vk_can_hold_product(d, call)) return oxi_vk_flush(d);
    if (oxi_vk_makes_pair(d, call)) {
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

static ox_status oxi_vk_join_tail(oxi_vk_device *d, const oxi_call *call, bool fits, bool *joined) {
    if (!fits) return oxi_vk_flush(d);
    *joined = true;
    ox_status status = oxi_vk_record_products(d, call);
    oxi_vk_let_go(d);
    return status;
}

/* Takes a call that can be held or joins what is held; everything else finds nothing held any more. */
static ox_status oxi_vk_join(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    ox_status status = OX_OK;
    switch (oxi_vk_fused_of(call->op)->role) {
    case OXI_VK_JOINS_PRODUCT: return oxi_vk_join_product(d, call, joined);
    case OXI_VK_JOINS_SUM: return oxi_vk_join_tail(d, call, oxi_vk_adds_product(d, call), joined);
    case OXI_VK_JOINS_GATE: return oxi_vk_join_tail(d, call, oxi_vk_gates_products(d, call), joined);
    case OXI_VK_JOINS_NORM:
        status = oxi_vk_flush(d);
        if (status != OX_OK || !oxi_vk_can_hold_norm(d, call)) return status;
        oxi_vk_hold(&d->norm, call);
        d->held_norm = *joined = true;
        d->norm_written = false;
        return OX_OK;
    case OXI_VK_JOINS_ROPE:
        status = oxi_vk_flush(d);
        if (status != OX_OK || ox_numel(call->in[0]) == 0 || call->in[0]->dtype == OX_F64) return status;
        oxi_vk_hold(&d->rope, call);
        d->held_rope = *joined = true;
        return OX_OK;
    case OXI_VK_JOINS_COPY:
        if (!oxi_vk_copies_rope(d, call)) return oxi_vk_flush(d);
        *joined = true;
        oxi_vk_let_go(d);
        oxi_vk_time_call(d, &d->rope.call);
        return oxi_vk_rope(d, &d->rope.call, call->out[0]);
    case OXI_VK_JOINS_NOTHING: break;
    }
    return oxi_vk_flush(d);
}
