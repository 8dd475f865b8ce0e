/* A product of two tensors and elementwise calls that go on with it in place, as of the taps of a convolution
 * over the last positions: held back, they are one dispatch. Called by fuse.c, before each call and when what
 * is held has to be recorded. */

enum { OXI_VK_STEPS_ELEMENTS = 1 << 18 }; /* most that are worth it: what takes long itself gains nothing */

static bool oxi_vk_steps_take(const oxi_vk_device *d, const ox_tensor *t, const ox_tensor *like) {
    return !oxi_vk_is_immediate(t) && oxi_vk_is_here(d, t) && oxi_vk_is_plain_f32(t) &&
           ox_numel(t) == ox_numel(like);
}

/* Blocks of all tensors, that of the result first; false: a shader cannot bind them. */
static bool oxi_vk_steps_blocks(const oxi_vk_steps *s, oxi_vk_dispatch *dispatch) {
    uint32_t blocks[2] = {0, 0};
    dispatch->use[0].chunk = oxi_vk_chunk_of(&s->first.result);
    dispatch->use[0].writes = true;
    const bool bound = oxi_vk_bind_blocks(dispatch, s->chunk, 2 * s->count, blocks);
    dispatch->special.steps.blocks = blocks[0];
    dispatch->special.steps.more_blocks = blocks[1];
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
    if ((a && oxi_vk_chunk_of(a) == result) || (b && oxi_vk_chunk_of(b) == result)) return false;
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_steps_add(&with, code, a, b);
    if (!oxi_vk_steps_blocks(&with, &dispatch)) return false;
    oxi_vk_steps_add(s, code, a, b);
    return true;
}

/* Whether the call goes on with what is held: then it is held too. */
static bool oxi_vk_steps_on(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_steps *s = &d->steps;
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
    s->codes = 0;
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
