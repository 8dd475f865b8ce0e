/* Attention of one query a head to keys that all heads share, which are values too but for their ends, as
 * models with latents have it: the end of each query turned into its place, the rest of it made there by a
 * matrix a head, attention, and the heads' values by another matrix, in one dispatch instead of four of which
 * three wait for each other (shaders/rows/attention_latent.comp). fuse.c holds those calls back from the copy
 * of the turned ends on. Every result is written. */

/* They are held in the order in which they are called. */
enum { OXI_VK_LATENT_ROPE, OXI_VK_LATENT_COPY, OXI_VK_LATENT_KEY, OXI_VK_LATENT_ATTENTION };

static bool oxi_vk_is_f32_rows(const ox_tensor *t) {
    return t->dtype == OX_F32 && t->ndim == 3 && t->stride[2] == 1 && oxi_vk_fits(t);
}

/* Whether the held rope and the copy of its result may be of the ends of queries. */
static bool oxi_vk_latent_begins(const oxi_vk_device *d, const oxi_call *copy) {
    const oxi_call *rope = &d->rope.call;
    const ox_tensor *x = rope->in[0], *to = copy->out[0], *positions = rope->in[1];
    return !d->held_heads && d->held_turns == 0 && oxi_vk_is_f32_rows(x) && oxi_vk_is_f32_rows(to) &&
           x->shape[1] == 1 && x->shape[0] > 1 && positions && ox_numel(positions) == 1 &&
           to->stride[0] > to->shape[2] && oxi_vk_is_f32_rows(rope->out[0]);
}

static void oxi_vk_latent_begin(oxi_vk_device *d, const oxi_call *copy) {
    oxi_vk_hold(&d->latent[OXI_VK_LATENT_ROPE], &d->rope.call);
    oxi_vk_hold(&d->latent[OXI_VK_LATENT_COPY], copy);
    d->held_rope = false;
    d->held_latent = 2;
}

/* x [1, heads, k] by a matrix a head, whose numbers are i32, in a type that the shader takes in eights. */
static bool oxi_vk_is_by_head(const oxi_call *call, int64_t heads) {
    if (call->op != OXI_OP_linear_experts) return false;
    const ox_tensor *x = call->in[0], *w = call->in[1], *ids = call->in[2];
    if (call->in[3] || !oxi_vk_is_f32_rows(x) || w->ndim != 3)
        return false;
    if (x->shape[0] != 1 || x->shape[1] != heads || !oxi_vk_is_f32_rows(call->out[0])) return false;
    if (ids->dtype != OX_I32 || ids->ndim != 2 || w->shape[2] % 32 != 0 || oxi_vk_needs_books(w->dtype))
        return false;
    const bool halves = w->dtype == OX_F16 || w->dtype == OX_BF16;
    if (oxi_is_block(w->dtype)) return w->shape[2] % oxi_info(w->dtype)->block_elements == 0;
    return (halves || w->dtype == OX_F32) && w->stride[2] == 1 && w->stride[1] % 8 == 0 &&
           w->stride[0] % 8 == 0 && oxi_vk_element_at(w) % 8 == 0;
}

/* Of the plain parts of the queries whose ends are held. */
static bool oxi_vk_latent_makes_queries(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *end = &d->latent[OXI_VK_LATENT_COPY].result, *out = call->out[0];
    return oxi_vk_is_by_head(call, end->shape[0]) && oxi_vk_chunk_of(out) == oxi_vk_chunk_of(end) &&
           out->stride[1] == end->stride[0] &&
           oxi_vk_element_at(end) == oxi_vk_element_at(out) + (uint32_t)out->shape[2] &&
           oxi_vk_same_block(call->in[0], d->latent[OXI_VK_LATENT_ROPE].call.in[0]);
}

/* The keys that the only query sees: the first and how many. */
static void oxi_vk_latent_keys(const oxi_call *attention, int64_t *first, int64_t *count) {
    const int64_t start = attention->attr.attention.query_start, window = attention->attr.attention.window;
    int64_t end = attention->in[1]->shape[1];
    if (attention->attr.attention.causal && end > start + 1) end = start + 1;
    *first = window > 0 && start + 1 > window ? start + 1 - window : 0;
    *count = end - *first;
}

/* To keys and values of one cache, by the whole queries. */
static bool oxi_vk_latent_attends(const oxi_vk_device *d, const oxi_call *call) {
    if (call->op != OXI_OP_attention) return false;
    const ox_tensor *made = &d->latent[OXI_VK_LATENT_KEY].result, *q = call->in[0], *k = call->in[1],
                    *v = call->in[2], *out = call->out[0];
    const ox_dtype cache = k->dtype;
    if (call->out_count != 1 || call->in[3] || call->in[4]) return false;
    if (!oxi_vk_is_f32_rows(q) || !oxi_vk_is_f32_rows(out) || k->ndim != 3 || v->ndim != 3) return false;
    const int64_t heads = made->shape[1], latent = made->shape[2], depth = q->shape[2];
    int64_t first, count;
    oxi_vk_latent_keys(call, &first, &count);
    if (q->shape[0] != heads || q->shape[1] != 1 || q->stride[0] != made->stride[1]) return false;
    if (oxi_vk_chunk_of(q) != oxi_vk_chunk_of(made) || oxi_vk_element_at(q) != oxi_vk_element_at(made) ||
        depth != latent + d->latent[OXI_VK_LATENT_COPY].result.shape[2])
        return false;
    if (k->shape[0] != 1 || v->shape[0] != 1 || k->shape[2] != depth || v->shape[2] != latent) return false;
    if (cache != v->dtype || (cache != OX_F32 && cache != OX_F16 && cache != OX_BF16)) return false;
    if (k->stride[2] != 1 || v->stride[2] != 1 || k->stride[1] != v->stride[1] || k->stride[1] % 8 != 0 ||
        oxi_vk_chunk_of(k) != oxi_vk_chunk_of(v) || oxi_vk_element_at(k) != oxi_vk_element_at(v) ||
        oxi_vk_element_at(k) % 8 != 0 || !oxi_vk_fits(k))
        return false;
    return call->attr.attention.softcap == 0 && latent % 8 == 0 && depth % 8 == 0 && count > 0 &&
           count <= OXI_VK_LATENT_KEYS;
}

/* The heads' values of what is attended to. */
static bool oxi_vk_latent_ends(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *mixed = &d->latent[OXI_VK_LATENT_ATTENTION].result, *x = call->in[0];
    const oxi_call *key = &d->latent[OXI_VK_LATENT_KEY].call;
    return oxi_vk_is_by_head(call, mixed->shape[0]) && oxi_vk_chunk_of(x) == oxi_vk_chunk_of(mixed) &&
           oxi_vk_element_at(x) == oxi_vk_element_at(mixed) && x->stride[1] == mixed->stride[0] &&
           x->shape[2] == mixed->shape[2] && oxi_vk_same_memory(call->in[2], key->in[2]) &&
           call->in[1]->shape[0] == key->in[1]->shape[0] && oxi_vk_same_block(call->in[1], key->in[1]);
}

/* Whether what the dispatch writes lies apart from all else that it reads and writes. */
static bool oxi_vk_latent_apart(const oxi_vk_device *d, const oxi_call *last) {
    const oxi_call *rope = &d->latent[OXI_VK_LATENT_ROPE].call;
    const ox_tensor *written[4] = {last->out[0], &d->latent[OXI_VK_LATENT_KEY].result,
                                   &d->latent[OXI_VK_LATENT_ATTENTION].result, rope->out[0]};
    const ox_tensor *read[7] = {rope->in[0],
                                rope->in[1],
                                d->latent[OXI_VK_LATENT_KEY].call.in[0],
                                d->latent[OXI_VK_LATENT_KEY].call.in[1],
                                last->in[1],
                                last->in[2],
                                d->latent[OXI_VK_LATENT_ATTENTION].call.in[1]};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < i; k++)
            if (oxi_vk_chunk_of(written[i]) == oxi_vk_chunk_of(written[k])) return false;
        for (int k = 0; k < 7; k++)
            if (oxi_vk_chunk_of(written[i]) == oxi_vk_chunk_of(read[k])) return false;
    }
    return true;
}

/* ---- the dispatch -------------------------------------------------------------------------------------- */

static void oxi_vk_latent_matrix(const oxi_call *call, int i, oxi_vk_attention_latent_params *p) {
    oxi_vk_product_params own;
    const oxi_vk_product product = oxi_vk_product_of(call, NULL);
    oxi_vk_product_params_of(&product, &own);
    p->matrix_at[i] = own.at[2];
    p->matrix_row[i] = own.column[2];
    p->matrix_next[i] = own.expert_b;
    p->experts = own.experts;
}

static void oxi_vk_latent_params(const oxi_vk_device *d, const oxi_call *last, const oxi_vk_chunk *turns,
                                 oxi_vk_attention_latent_params *p) {
    const oxi_call *rope = &d->latent[OXI_VK_LATENT_ROPE].call, *key = &d->latent[OXI_VK_LATENT_KEY].call,
                   *attention = &d->latent[OXI_VK_LATENT_ATTENTION].call;
    const ox_tensor *plain = key->in[0], *end = rope->in[0], *turned = rope->out[0], *q = attention->in[0],
                    *k = attention->in[1], *mixed = attention->out[0], *ids = key->in[2], *out = last->out[0];
    int64_t first, count;
    oxi_vk_latent_keys(attention, &first, &count);
    memset(p, 0, sizeof *p);
    p->begin = (uint32_t)first;
    p->count = (uint32_t)count;
    p->scale = oxi_vk_float_bits(attention->attr.attention.scale);
    p->pairs = (uint32_t)(rope->attr.rope.dims / 2);
    p->raw_at[0] = oxi_vk_element_at(plain);
    p->raw_at[1] = oxi_vk_element_at(end);
    p->raw_head[0] = (uint32_t)plain->stride[1];
    p->raw_head[1] = (uint32_t)end->stride[0];
    oxi_vk_latent_matrix(key, 0, p);
    oxi_vk_latent_matrix(last, 1, p);
    p->key_at = oxi_vk_element_at(k);
    p->key_row = (uint32_t)k->stride[1];
    p->turns = (uint32_t)(turns->offset / 4);
    p->turned_at = oxi_vk_element_at(turned);
    p->turned_head = (uint32_t)turned->stride[0];
    p->whole_at = oxi_vk_element_at(q);
    p->whole_head = (uint32_t)q->stride[0];
    p->mixed_at = oxi_vk_element_at(mixed);
    p->mixed_head = (uint32_t)mixed->stride[0];
    p->ids = oxi_vk_element_at(ids);
    p->ids_stride = (uint32_t)ids->stride[1];
    p->out_at = oxi_vk_element_at(out);
    p->out_head = (uint32_t)out->stride[1];
    p->fault = (uint32_t)(d->fault->offset / 4);
    p->kind = (uint32_t)OXI_OP_linear_experts + 1;
}

/* Shared memory of a workgroup. */
static uint64_t oxi_vk_latent_shared(const oxi_vk_attention_latent_specials *s) {
    return 4 * (uint64_t)(2 * s->latent + s->turned + s->plain) + 8 * OXI_VK_LATENT_KEYS + 32 * s->threads;
}

static void oxi_vk_latent_specials(const oxi_vk_device *d, const oxi_call *last, oxi_vk_dispatch *dispatch) {
    const oxi_call *rope = &d->latent[OXI_VK_LATENT_ROPE].call, *key = &d->latent[OXI_VK_LATENT_KEY].call;
    oxi_vk_attention_latent_specials *special = &dispatch->special.attention_latent;
    dispatch->shader = OXI_VK_SHADER_attention_latent;
    special->lanes = oxi_vk_is_sized(d, OXI_VK_SHADER_attention_latent) ? oxi_vk_few_lanes(d) : 1;
    special->cache = (uint32_t)d->latent[OXI_VK_LATENT_ATTENTION].call.in[1]->dtype;
    special->latent = (uint32_t)key->out[0]->shape[2];
    special->turned = (uint32_t)rope->in[0]->shape[2];
    special->plain = (uint32_t)key->in[0]->shape[2];
    special->values = (uint32_t)last->out[0]->shape[2];
    special->key_matrix = (uint32_t)key->in[1]->dtype;
    special->value_matrix = (uint32_t)last->in[1]->dtype;
    special->interleaved = rope->attr.rope.interleaved;
    special->threads = 4 * OXI_VK_THREADS; /* code that runs once takes longer than what it does */
    while (special->threads > OXI_VK_THREADS &&
           (!oxi_vk_has_lines(d, special->threads / OXI_VK_LINE_LANES) ||
            oxi_vk_latent_shared(special) > d->limits.maxComputeSharedMemorySize))
        special->threads /= 2;
}

/* Binds what is read and written; false: it lies in more blocks than a shader binds. */
static bool oxi_vk_latent_bind(oxi_vk_device *d, const oxi_call *last, oxi_vk_chunk *turns,
                               oxi_vk_dispatch *dispatch) {
    const oxi_call *rope = &d->latent[OXI_VK_LATENT_ROPE].call, *key = &d->latent[OXI_VK_LATENT_KEY].call,
                   *attention = &d->latent[OXI_VK_LATENT_ATTENTION].call;
    const ox_tensor *ids = key->in[2];
    oxi_vk_chunk *chunk[5] = {oxi_vk_chunk_of(attention->in[0]), oxi_vk_chunk_of(attention->out[0]),
                              oxi_vk_chunk_of(rope->out[0]), oxi_vk_chunk_of(ids), d->fault};
    oxi_vk_bind(dispatch, 0, last->out[0], true);
    oxi_vk_bind(dispatch, 1, rope->in[0], false);
    oxi_vk_bind(dispatch, 2, attention->in[1], false);
    oxi_vk_bind(dispatch, 3, key->in[1], false);
    dispatch->use[4].chunk = turns;
    dispatch->uses = 5;
    if (!oxi_vk_bind_blocks(dispatch, chunk, 5, &dispatch->special.attention_latent.blocks)) return false;
    for (int i = 0; i < dispatch->uses; i++)
        for (int k = 0; k < 5; k++)
            if (k != 3 && dispatch->use[i].chunk == chunk[k]) dispatch->use[i].writes = true;
    oxi_vk_bind(dispatch, dispatch->uses, key->in[0], false);
    oxi_vk_bind(dispatch, dispatch->uses, last->in[1], false);
    oxi_vk_bind_open(dispatch, 1);
    return true;
}

/* All that is held, and the call that ends it; *done = false: it goes one by one. */
static ox_status oxi_vk_latent_whole(oxi_vk_device *d, const oxi_call *last, bool *done) {
    oxi_vk_attention_latent_params p;
    oxi_vk_dispatch dispatch;
    oxi_vk_chunk *turns = NULL;
    *done = false;
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_latent_specials(d, last, &dispatch);
    const oxi_vk_attention_latent_specials *special = &dispatch.special.attention_latent;
    if (!oxi_vk_latent_apart(d, last) || special->latent / 8 > special->threads ||
        oxi_vk_latent_shared(special) > d->limits.maxComputeSharedMemorySize)
        return OX_OK;
    ox_status status = oxi_vk_turns_of(d, &d->latent[OXI_VK_LATENT_ROPE].call, &turns);
    if (status != OX_OK || !oxi_vk_latent_bind(d, last, turns, &dispatch)) return status;
    *done = true;
    oxi_vk_latent_params(d, last, turns, &p);
    dispatch.params = &p;
    dispatch.param_bytes = sizeof p;
    dispatch.groups[0] = (uint32_t)last->out[0]->shape[1];
    dispatch.groups[1] = dispatch.groups[2] = 1;
    d->fault_told = true;
    oxi_vk_time_call(d, &d->latent[OXI_VK_LATENT_ATTENTION].call);
    return oxi_vk_record(d, &dispatch);
}

/* ---- what fuse.c asks for ------------------------------------------------------------------------------ */

/* Records what is held, one by one. */
static ox_status oxi_vk_latent_record(oxi_vk_device *d) {
    const int count = d->held_latent;
    ox_status status = OX_OK;
    d->held_latent = 0;
    for (int i = 0; i < count && status == OX_OK; i++) {
        const oxi_call *call = &d->latent[i].call;
        if (i != OXI_VK_LATENT_COPY) oxi_vk_time_call(d, call);
        if (i == OXI_VK_LATENT_ROPE)
            status = oxi_vk_rope(d, call, NULL, d->latent[OXI_VK_LATENT_COPY].call.out[0]);
        if (i == OXI_VK_LATENT_KEY) status = oxi_vk_product_run(d, call);
        if (i == OXI_VK_LATENT_ATTENTION) status = oxi_vk_attention(d, call);
    }
    return status;
}

/* Takes a call that goes on with what is held; what it does not go on with is recorded. */
static ox_status oxi_vk_latent_on(oxi_vk_device *d, const oxi_call *call, bool *joined) {
    const bool next = d->held_latent == OXI_VK_LATENT_KEY         ? oxi_vk_latent_makes_queries(d, call)
                      : d->held_latent == OXI_VK_LATENT_ATTENTION ? oxi_vk_latent_attends(d, call)
                                                                  : oxi_vk_latent_ends(d, call);
    if (next && d->held_latent <= OXI_VK_LATENT_ATTENTION) {
        oxi_vk_hold(&d->latent[d->held_latent++], call);
        *joined = true;
        return OX_OK;
    }
    ox_status status = next ? oxi_vk_latent_whole(d, call, joined) : OX_OK;
    if (status == OX_OK && !*joined) return oxi_vk_flush(d);
    oxi_vk_let_go(d);
    return status;
}
