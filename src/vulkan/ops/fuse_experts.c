/* Which calls of a mixture of experts become one dispatch: the products of a gate and its other half, and the
 * product behind them with the weights of its results, their sum and what that is added to. Called by
 * fuse.c. */

static bool oxi_vk_holds_experts(const oxi_vk_device *d) {
    return d->held_products > 0 && d->product[0].call.op == OXI_OP_linear_experts;
}

/* x [S,K] or [S,slots,K] by the matrices of experts, in f32. */
static bool oxi_vk_can_hold_experts(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *c = call->out[0], *bias = call->in[3];
    if (bias && !oxi_vk_is_plain_f32(bias)) return false;
    if (!oxi_vk_can_product(d, call) || !oxi_vk_is_plain_f32(x) || !oxi_vk_is_plain_f32(c)) return false;
    if (ox_numel(c) == 0 || !ox_is_contiguous(call->in[2])) return false;
    const oxi_vk_product p = oxi_vk_product_of(call, NULL);
    return p.form.k > 0 && oxi_vk_product_is_few(&p);
}

/* Whether a product by experts can share a dispatch with the held one: same rows, same experts. */
static bool oxi_vk_joins_experts(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *first = &d->product[0].call;
    if (!oxi_vk_holds_experts(d) || d->held_products != 1 || d->held_weigh || first->exact != call->exact)
        return false;
    const ox_tensor *b = first->in[1], *other = call->in[1], *bias = first->in[3], *more = call->in[3];
    if (!bias != !more || (bias && (!oxi_vk_same_block(bias, more) || bias->stride[0] != more->stride[0])))
        return false;
    return oxi_vk_same_memory(first->in[0], call->in[0]) && oxi_vk_same_memory(first->in[2], call->in[2]) &&
           b->dtype == other->dtype && oxi_same_layout(b, other) && oxi_vk_same_block(b, other) &&
           oxi_vk_same_block(first->out[0], call->out[0]) &&
           (oxi_vk_byte_at(b) - oxi_vk_byte_at(other)) % 16 == 0;
}

/* c *= weights [S,slots,1], where c is the held product's. */
static bool oxi_vk_weighs_experts(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *product = &d->product[0].call;
    if (!oxi_vk_holds_experts(d) || d->held_products != 1 || d->held_weigh) return false;
    const ox_tensor *c = product->out[0], *weights = call->in[1];
    return oxi_vk_same_memory(call->in[0], c) && oxi_vk_same_memory(call->out[0], c) &&
           !oxi_vk_is_immediate(weights) && oxi_vk_is_here(d, weights) && oxi_vk_is_plain_f32(weights) &&
           weights->ndim == 3 && ox_numel(weights) == c->shape[0] * c->shape[1];
}

/* The sum over slots of that, and a shader that can take all of it: a row an expert, with its own columns. */
static bool oxi_vk_sums_experts(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *product = &d->product[0].call;
    if (!d->held_weigh || d->held_slots) return false;
    const ox_tensor *c = product->out[0], *sum = call->out[0], *ids = product->in[2], *b = product->in[1];
    if (!oxi_vk_same_memory(call->in[0], c) || call->attr.reduce.dims != 2 || call->attr.reduce.keepdim)
        return false;
    if (product->in[0]->ndim != 3 || c->shape[1] > OXI_VK_PRODUCT_ROWS || b->shape[2] % 16 != 0 ||
        oxi_vk_needs_books(b->dtype))
        return false;
    return oxi_vk_is_plain_f32(sum) && oxi_vk_same_block(sum, ids) &&
           oxi_vk_chunk_of(sum) != oxi_vk_chunk_of(c) && oxi_vk_same_block(d->weigh.call.in[1], ids);
}

/* x += that sum. */
static bool oxi_vk_adds_experts(const oxi_vk_device *d, const oxi_call *call) {
    if (!d->held_slots || call->in_count != 2 || call->attr.scale.scale != 1) return false;
    const ox_tensor *x = call->out[0], *sum = d->slots.call.out[0];
    return oxi_vk_same_memory(call->in[0], x) && oxi_vk_same_memory(call->in[1], sum) &&
           oxi_vk_is_plain_f32(x) && ox_numel(x) == ox_numel(sum) && oxi_vk_same_block(x, sum) &&
           oxi_vk_chunk_of(x) != oxi_vk_chunk_of(d->product[0].call.in[0]);
}
