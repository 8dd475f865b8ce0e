/* A product of two tensors and elementwise calls that go on with it in place, as of the taps of a convolution
 * over the last positions: held back, they are one dispatch. So is the cat that makes the window of the next
 * position, whose rows are read already. Called by fuse.c, before each call and when what is held has to be
 * recorded. */

enum { OXI_VK_STEPS_CHUNKS = 2 * OXI_VK_STEPS_MOST + 1 };
enum { OXI_VK_STEPS_ELEMENTS = 1 << 18 }; /* most that are worth it: what takes long itself gains nothing */

static bool oxi_vk_steps_take(const oxi_vk_device *d, const ox_tensor *t, const ox_tensor *like) {
    return !oxi_vk_is_immediate(t) && oxi_vk_is_here(d, t) && oxi_vk_is_plain_f32(t) &&
           ox_numel(t) == ox_numel(like);
}

/* The chunks that steps read, and behind them that of the window, or NULL. */
static void oxi_vk_steps_chunks(const oxi_vk_steps *s, oxi_vk_chunk **chunk) {
    for (int i = 0; i < 2 * OXI_VK_STEPS_MOST; i++) chunk[i] = i < 2 * s->count ? s->chunk[i] : NULL;
    chunk[2 * OXI_VK_STEPS_MOST] = s->kept ? oxi_vk_chunk_of(&s->window.result) : NULL;
}

/* A dispatch that has bound them writes the window. */
static void oxi_vk_steps_write_window(const oxi_vk_steps *s, oxi_vk_dispatch *dispatch) {
    for (int i = 0; s->kept && i < dispatch->uses; i++)
        if (dispatch->use[i].chunk == oxi_vk_chunk_of(&s->window.result)) dispatch->use[i].writes = true;
}

/* Blocks of all tensors, that of the result first; false: a shader cannot bind them. */
static bool oxi_vk_steps_blocks(const oxi_vk_steps *s, oxi_vk_dispatch *dispatch) {
    oxi_vk_chunk *chunk[OXI_VK_STEPS_CHUNKS];
    uint32_t blocks[2] = {0, 0};
    dispatch->use[0].chunk = oxi_vk_chunk_of(&s->first.result);
    dispatch->use[0].writes = true;
    oxi_vk_steps_chunks(s, chunk);
    const bool bound = oxi_vk_bind_blocks(dispatch, chunk, OXI_VK_STEPS_CHUNKS, blocks);
    dispatch->special.steps.blocks = blocks[0];
    dispatch->special.steps.more_blocks = blocks[1];
    dispatch->special.steps.kept = s->kept;
    if (bound) oxi_vk_steps_write_window(s, dispatch);
    return bound;
}

static void oxi_vk_steps_add(oxi_vk_steps *s, uint32_t code, const ox_tensor *a, const ox_tensor *b) {
    const ox_tensor *of[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        s->chunk[2 * s->count + i] = of[i] ? oxi_vk_chunk_of(of[i]) : NULL;
        s->at[2 * s->count + i] = of[i] ? oxi_vk_element_at(of[i]) : 0;
    }
    s->codes |= code << (4 * s->count++);
}

/* Takes one more step, unless its tensors lie in too many blocks or in the result's memory. */
static bool oxi_vk_steps_try(oxi_vk_steps *s, uint32_t code, const ox_tensor *a, const ox_tensor *b) {
    const oxi_vk_chunk *result = oxi_vk_chunk_of(&s->first.result);
    oxi_vk_steps with = *s;
    oxi_vk_dispatch dispatch;
    const oxi_vk_chunk *window = s->kept ? oxi_vk_chunk_of(&s->window.result) : result;
    if ((a && oxi_vk_chunk_of(a) == result) || (b && oxi_vk_chunk_of(b) == result)) return false;
    if ((a && oxi_vk_chunk_of(a) == window) || (b && oxi_vk_chunk_of(b) == window)) return false;
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_steps_add(&with, code, a, b);
    if (!oxi_vk_steps_blocks(&with, &dispatch)) return false;
    oxi_vk_steps_add(s, code, a, b);
    return true;
}

/* Whether t's rows, one behind the other, are what steps `first`, first + 1 .. read. */
static bool oxi_vk_steps_read_rows(const oxi_vk_steps *s, const ox_tensor *t, int first, int64_t size) {
    if (t->ndim != 2 || t->shape[1] != size || first + t->shape[0] > s->count) return false;
    for (int i = 0; i < t->shape[0]; i++) {
        const int step = first + i;
        const uint64_t at = oxi_vk_element_at(t) + (uint64_t)(i * t->stride[0]);
        const bool adds = (s->codes >> (4 * step) & 15) == OXI_VK_STEPS_ADDCMUL;
        if (!adds || s->chunk[2 * step] != oxi_vk_chunk_of(t) || s->at[2 * step] != at) return false;
    }
    return t->stride[1] == 1 || size == 1;
}

/* Whether the call is the cat of all rows that steps read, but for the first one: then it is held too. */
static bool oxi_vk_steps_keep(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_steps *s = &d->steps;
    if (call->op != OXI_OP_cat || s->count < 2 || s->kept || call->in_count != 2 || call->attr.along.dim != 0)
        return false;
    const ox_tensor *old = call->in[0], *last = call->in[1], *out = call->out[0];
    const oxi_vk_chunk *made = oxi_vk_chunk_of(out);
    if (!oxi_vk_is_plain_f32(out) || out->ndim != 2 || oxi_vk_is_immediate(old) || oxi_vk_is_immediate(last))
        return false;
    if (!oxi_vk_is_here(d, old) || !oxi_vk_is_here(d, last) || old->dtype != OX_F32 || last->dtype != OX_F32)
        return false;
    const int64_t size = out->shape[1], rows = old->ndim == 2 ? old->shape[0] : 0;
    if (size != ox_numel(&s->first.result) || last->ndim != 2 || last->shape[0] != 1) return false;
    if (!oxi_vk_steps_read_rows(s, old, 1, size) || !oxi_vk_steps_read_rows(s, last, 1 + (int)rows, size))
        return false;
    if (made == oxi_vk_chunk_of(&s->first.result)) return false;
    for (int i = 0; i < 2 * s->count; i++)
        if (s->chunk[i] == made) return false;
    oxi_vk_dispatch dispatch;
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_hold(&s->window, call);
    s->kept = (uint32_t)out->shape[0];
    if (oxi_vk_steps_blocks(s, &dispatch)) return true;
    s->kept = 0;
    return false;
}

/* Whether the call goes on with what is held: then it is held too. */
static bool oxi_vk_steps_on(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_steps *s = &d->steps;
    if (oxi_vk_steps_keep(d, call)) return true;
    if (s->count == 0 || s->count == OXI_VK_STEPS_MOST || call->in_count < 1) return false;
    const ox_tensor *result = &s->first.result;
    if (!oxi_vk_same_memory(call->out[0], result) || !call->in[0] || oxi_vk_is_immediate(call->in[0]) ||
        !oxi_vk_is_here(d, call->in[0]) || !oxi_vk_same_memory(call->in[0], result))
        return false;
    const ox_tensor *a = call->in_count > 1 ? call->in[1] : NULL;
    const ox_tensor *b = call->in_count > 2 ? call->in[2] : NULL;
    if ((a && !oxi_vk_steps_take(d, a, result)) || (b && !oxi_vk_steps_take(d, b, result))) return false;
    switch (call->op) {
    case OXI_OP_addcmul:
        return call->attr.value.value == 1 && oxi_vk_steps_try(s, OXI_VK_STEPS_ADDCMUL, a, b);
    case OXI_OP_add: return call->attr.scale.scale == 1 && oxi_vk_steps_try(s, OXI_VK_STEPS_ADD, a, NULL);
    case OXI_OP_mul: return oxi_vk_steps_try(s, OXI_VK_STEPS_MUL, a, NULL);
    case OXI_OP_silu: return oxi_vk_steps_try(s, OXI_VK_STEPS_SILU, NULL, NULL);
    default: return false;
    }
}

/* A product in memory of its own, of tensors that lie as it does. */
static bool oxi_vk_steps_begin(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_steps *s = &d->steps;
    if (call->op != OXI_OP_mul) return false;
    const ox_tensor *out = call->out[0], *a = call->in[0], *b = call->in[1];
    if (!oxi_vk_is_plain_f32(out) || ox_numel(out) == 0 || ox_numel(out) > OXI_VK_STEPS_ELEMENTS)
        return false;
    if (!oxi_vk_steps_take(d, a, out) || !oxi_vk_steps_take(d, b, out)) return false;
    if (oxi_vk_chunk_of(a) == oxi_vk_chunk_of(out) || oxi_vk_chunk_of(b) == oxi_vk_chunk_of(out))
        return false;
    s->count = 0;
    s->codes = s->kept = 0;
    oxi_vk_hold(&s->first, call);
    oxi_vk_steps_add(s, OXI_VK_STEPS_MUL, a, b);
    return true;
}

static ox_status oxi_vk_steps_record(oxi_vk_device *d) {
    const oxi_vk_steps *s = &d->steps;
    const int count = s->count;
    oxi_vk_steps_params params;
    oxi_vk_dispatch dispatch;
    if (count == 0) return OX_OK;
    d->steps.count = 0;
    oxi_vk_time_call(d, &s->first.call);
    if (count == 1) return oxi_vk_map(d, &s->first.call);
    d->steps.count = count; /* until its blocks are known */
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    (void)oxi_vk_steps_blocks(s, &dispatch);
    d->steps.count = 0;
    dispatch.special.steps.count = (uint32_t)count;
    dispatch.special.steps.codes = s->codes;
    params.n = (uint32_t)ox_numel(&s->first.result);
    params.to = oxi_vk_element_at(&s->first.result);
    if (s->kept) params.window = oxi_vk_element_at(&s->window.result);
    memcpy(params.at, s->at, 2 * (size_t)count * sizeof *params.at);
    oxi_vk_bind_open(&dispatch, 0);
    dispatch.shader = OXI_VK_SHADER_steps;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_invocations(&dispatch, params.n);
    return oxi_vk_record(d, &dispatch);
}

static bool oxi_vk_steps_use(const oxi_vk_steps *s, const oxi_vk_chunk *chunk) {
    bool used = false;
    for (int i = 0; i < 2 * s->count; i++) used = used || s->chunk[i] == chunk;
    return used;
}

/* ---- behind the product that makes one of their operands ----------------------------------------------- */

/* Whether a product that is held may stay so while steps begin: they are of part of its only row. */
static bool oxi_vk_steps_wait(const oxi_vk_device *d) {
    const oxi_call *product = &d->product[0].call;
    if (d->held_products != 1 || d->held_post || product->op != OXI_OP_linear) return false;
    const ox_tensor *c = product->out[0];
    return c->ndim > 0 && ox_numel(c) == c->shape[c->ndim - 1];
}

/* The operands that lie in the product's result, a bit each, and the first column of it that they are; 0:
 * there are none, or different ones. */
static uint32_t oxi_vk_steps_own(const oxi_vk_steps *s, const ox_tensor *c, uint32_t *first) {
    uint32_t own = 0;
    for (int i = 0; i < 2 * s->count; i++) {
        if (s->chunk[i] != oxi_vk_chunk_of(c)) continue;
        if (own && s->at[i] - oxi_vk_element_at(c) != *first) return 0;
        *first = s->at[i] - oxi_vk_element_at(c);
        own |= 1u << i;
    }
    return own && *first + ox_numel(&s->first.result) <= ox_numel(c) ? own : 0;
}

/* Whether other workgroups of that product's dispatch read or write what steps write, or write what they
 * read. */
static bool oxi_vk_steps_clash(const oxi_vk_product_group *g, const oxi_vk_steps *s) {
    const oxi_vk_chunk *to[2] = {oxi_vk_chunk_of(&s->first.result),
                                 s->kept ? oxi_vk_chunk_of(&s->window.result) : NULL};
    const oxi_call *calls[2] = {g->product[0], g->norm};
    const oxi_vk_chunk *normal = g->norm ? oxi_vk_chunk_of(g->norm->out[0]) : NULL;
    for (int i = 0; i < 2; i++) {
        if (!to[i]) continue;
        if (to[i] == oxi_vk_chunk_of(g->product[0]->out[0]) || to[i] == normal) return true;
        for (int k = 0; k < 2; k++)
            for (int j = 0; calls[k] && j < calls[k]->in_count; j++)
                if (calls[k]->in[j] && oxi_vk_chunk_of(calls[k]->in[j]) == to[i]) return true;
    }
    for (int i = 0; normal && i < 2 * s->count; i++)
        if (s->chunk[i] == normal) return true;
    return false;
}

/* Makes held steps the tail of a product's dispatch; false: they are none, or lie in too many blocks. */
static bool oxi_vk_product_steps(const oxi_vk_product_group *g, oxi_vk_product_params *params,
                                 oxi_vk_dispatch *dispatch) {
    const oxi_vk_steps *s = g->steps;
    const ox_tensor *c = g->product[0]->out[0];
    const oxi_vk_dispatch before = *dispatch;
    oxi_vk_chunk *chunk[OXI_VK_STEPS_CHUNKS + 1];
    uint32_t blocks[2] = {0, 0}, first = 0, own = oxi_vk_steps_own(s, c, &first);
    if (!own || s->count < 2 || g->tail || !oxi_vk_is_plain_f32(c) || params->m != 1) return false;
    if (oxi_vk_steps_clash(g, s) || oxi_vk_needs_books(g->product[0]->in[1]->dtype)) return false;
    oxi_vk_steps_chunks(s, chunk);
    for (int i = 0; i < 2 * s->count; i++)
        if (own >> i & 1) chunk[i] = NULL;
    chunk[OXI_VK_STEPS_CHUNKS] = oxi_vk_chunk_of(&s->first.result);
    if (!oxi_vk_bind_blocks(dispatch, chunk, OXI_VK_STEPS_CHUNKS + 1, blocks)) {
        *dispatch = before;
        return false;
    }
    oxi_vk_steps_write_window(s, dispatch);
    for (int i = 0; i < dispatch->uses; i++)
        if (dispatch->use[i].chunk == chunk[OXI_VK_STEPS_CHUNKS]) dispatch->use[i].writes = true;
    oxi_vk_product_few_specials *special = &dispatch->special.product_few;
    special->tail = OXI_VK_TAIL_STEPS;
    special->steps_count = (uint32_t)s->count;
    special->steps_codes = s->codes;
    special->steps_blocks = blocks[0];
    special->steps_more_blocks = blocks[1];
    special->steps_kept = s->kept;
    special->steps_own = own;
    params->steps_first = first;
    params->steps_n = (uint32_t)ox_numel(&s->first.result);
    params->steps_to = oxi_vk_element_at(&s->first.result);
    if (s->kept) params->window = oxi_vk_element_at(&s->window.result);
    memcpy(params->behind, s->at, 2 * (size_t)s->count * sizeof *s->at);
    return true;
}
