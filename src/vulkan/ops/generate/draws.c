/* Draws that take several steps: a permutation, whose swaps are sorted and followed as a tree, and
 * categories from rows of weights, by running sums or, without replacement, by the smallest of keys. The
 * numbers are those of cpu/generate/random.c, bit by bit. Called by the Vulkan device for FILL and RANDOM. */

/* ---- randperm ------------------------------------------------------------------------------------------ */

/* What swaps there are, in the order of the places that are swapped with; all [n]. */
typedef struct oxi_vk_permutation {
    oxi_vk_temporary drawn, swaps, order, links[2], result; /* U32, but order I64 */
} oxi_vk_permutation;

/* Those that the dtype certainly holds; the CPU says what is wrong with others. */
static bool oxi_vk_can_permute(const oxi_vk_device *d, const ox_tensor *out) {
    int64_t n = ox_numel(out);
    if ((uint64_t)n * 16 > d->tensor_bytes_most) return false;
    if (oxi_is_float(out->dtype)) return n <= (int64_t)1 << oxi_random_bits(out->dtype);
    return oxi_info(out->dtype)->block_bytes > 1 || n <= 128;
}

static ox_status oxi_vk_permute_sort(oxi_vk_device *d, oxi_vk_permutation *p) {
    ox_tensor *in = &p->drawn.t;
    oxi_call sort = oxi_call_of(OXI_OP_sort, &in, 1, &p->swaps.t);
    sort.out[1] = &p->order.t;
    sort.out_count = 2;
    return oxi_vk_sort(d, &sort);
}

static ox_status oxi_vk_permute_pass(oxi_vk_device *d, const oxi_vk_permutation *p, uint32_t pass, int from) {
    const oxi_vk_temporary *in = &p->links[from], *out = &p->links[1 - from];
    oxi_vk_permute_params params;
    oxi_vk_dispatch dispatch;
    bool gives = pass == OXI_VK_PERMUTE_GIVE;
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    params.n = (uint32_t)ox_numel(&p->swaps.t);
    params.to = oxi_vk_element_at(&p->result.t);
    params.swaps = oxi_vk_element_at(&p->swaps.t);
    params.order = oxi_vk_element_at(&p->order.t);
    params.links_in = oxi_vk_element_at(&in->t);
    params.links_out = oxi_vk_element_at(&out->t);
    oxi_vk_bind(&dispatch, 0, &p->result.t, gives);
    oxi_vk_bind(&dispatch, 1, &p->swaps.t, false);
    oxi_vk_bind(&dispatch, 2, &p->order.t, false);
    oxi_vk_bind(&dispatch, 3, &in->t, false);
    oxi_vk_bind(&dispatch, 4, &out->t, !gives);
    dispatch.shader = OXI_VK_SHADER_permute;
    dispatch.special.permute.pass = pass;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_invocations(&dispatch, params.n);
    return oxi_vk_record(d, &dispatch);
}

/* The swaps' tree is no deeper than n. */
static ox_status oxi_vk_permute_follow(oxi_vk_device *d, const oxi_vk_permutation *p) {
    int64_t n = ox_numel(&p->swaps.t);
    int last = 1;
    ox_status status = oxi_vk_permute_pass(d, p, OXI_VK_PERMUTE_LINK, 0);
    for (int64_t reach = 1; reach < n && status == OX_OK; reach *= 2, last = 1 - last)
        status = oxi_vk_permute_pass(d, p, OXI_VK_PERMUTE_DOUBLE_STEPS, last);
    return status == OX_OK ? oxi_vk_permute_pass(d, p, OXI_VK_PERMUTE_GIVE, last) : status;
}

static ox_status oxi_vk_permute(oxi_vk_device *d, const oxi_call *call) {
    const int64_t n = ox_numel(call->out[0]);
    oxi_vk_permutation p;
    oxi_vk_temporary *made[] = {&p.drawn, &p.swaps, &p.order, &p.links[0], &p.links[1], &p.result};
    oxi_call draw = *call;
    ox_status status = OX_OK;
    if (n == 0) return OX_OK;
    memset(&p, 0, sizeof p);
    for (size_t i = 0; i < sizeof made / sizeof *made && status == OX_OK; i++)
        status = oxi_vk_temporary_make(d, made[i], made[i] == &p.order ? OX_I64 : OX_U32, 1, &n);
    draw.out[0] = &p.drawn.t;
    if (status == OX_OK) status = oxi_vk_make(d, &draw);
    if (status == OX_OK) status = oxi_vk_permute_sort(d, &p);
    if (status == OX_OK) status = oxi_vk_permute_follow(d, &p);
    if (status == OX_OK) status = oxi_vk_copy(d, &p.result.t, call->out[0]);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) oxi_vk_temporary_drop(d, made[i]);
    return status;
}

/* ---- multinomial --------------------------------------------------------------------------------------- */

static oxi_vk_multinomial_params oxi_vk_multinomial_params_of(const oxi_vk_device *d, const oxi_call *call,
                                                              const ox_tensor *kept) {
    const ox_tensor *weights = call->in[0], *out = call->out[0];
    oxi_vk_multinomial_params p;
    int last = weights->ndim - 1;
    memset(&p, 0, sizeof p);
    p.categories = (uint32_t)weights->shape[last];
    p.samples = (uint32_t)out->shape[last];
    p.rows = (uint32_t)(ox_numel(weights) / weights->shape[last]);
    p.dims = (uint32_t)last;
    p.fault = (uint32_t)(d->fault->offset / 4);
    p.kind = (uint32_t)call->op + 1;
    oxi_vk_words_of(call->random.seed, p.seed);
    oxi_vk_words_of(call->random.counter, p.counter);
    p.at[0] = oxi_vk_element_at(weights);
    p.at[1] = oxi_vk_element_at(out);
    p.step[0] = (uint32_t)weights->stride[last];
    p.step[1] = (uint32_t)out->stride[last];
    for (int i = 0; i < last; i++) {
        p.stride[i][0] = (uint32_t)weights->stride[i];
        p.stride[i][1] = (uint32_t)out->stride[i];
        p.shape[i] = (uint32_t)weights->shape[i];
    }
    p.kept = oxi_vk_element_at(kept);
    return p;
}

/* LOOK: the sums or keys of all rows; DRAW: samples with replacement. */
static ox_status oxi_vk_multinomial_pass(oxi_vk_device *d, const oxi_call *call, const ox_tensor *kept,
                                         uint32_t pass) {
    oxi_vk_multinomial_params params = oxi_vk_multinomial_params_of(d, call, kept);
    oxi_vk_dispatch dispatch;
    uint64_t drawn = (uint64_t)params.rows * params.samples;
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_bind(&dispatch, 0, call->out[0], pass == OXI_VK_MULTINOMIAL_DRAW);
    oxi_vk_bind(&dispatch, 1, call->in[0], false);
    oxi_vk_bind(&dispatch, 2, kept, pass == OXI_VK_MULTINOMIAL_LOOK);
    oxi_vk_bind_fault(d, &dispatch, OXI_VK_FAULT_BINDING);
    dispatch.shader = OXI_VK_SHADER_multinomial;
    dispatch.special.multinomial.pass = pass;
    dispatch.special.multinomial.from = (uint32_t)call->in[0]->dtype;
    dispatch.special.multinomial.race = !call->attr.multinomial.replacement;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    if (pass == OXI_VK_MULTINOMIAL_LOOK)
        oxi_vk_groups(&dispatch, params.rows);
    else
        oxi_vk_invocations(&dispatch, drawn);
    return oxi_vk_record(d, &dispatch);
}

/* Places of the smallest keys go to the result. */
static ox_status oxi_vk_multinomial_least(oxi_vk_device *d, const oxi_call *call, ox_tensor *keys) {
    oxi_vk_temporary least;
    memset(&least, 0, sizeof least);
    ox_status status = oxi_vk_temporary_make(d, &least, OX_F64, call->out[0]->ndim, call->out[0]->shape);
    if (status != OX_OK) return status;
    oxi_call best = oxi_call_of(OXI_OP_topk, &keys, 1, &least.t);
    best.out[1] = call->out[0];
    best.out_count = 2;
    best.attr.topk.dim = keys->ndim - 1;
    status = oxi_vk_sort(d, &best);
    oxi_vk_temporary_drop(d, &least);
    return status;
}

static ox_status oxi_vk_multinomial(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *weights = call->in[0];
    oxi_vk_temporary kept; /* sums or keys */
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    memset(&kept, 0, sizeof kept);
    ox_status status = oxi_vk_temporary_make(d, &kept, OX_F64, weights->ndim, weights->shape);
    if (status == OX_OK) status = oxi_vk_multinomial_pass(d, call, &kept.t, OXI_VK_MULTINOMIAL_LOOK);
    if (status == OX_OK)
        status = call->attr.multinomial.replacement
                     ? oxi_vk_multinomial_pass(d, call, &kept.t, OXI_VK_MULTINOMIAL_DRAW)
                     : oxi_vk_multinomial_least(d, call, &kept.t);
    oxi_vk_temporary_drop(d, &kept);
    return status;
}

/* Work memory: f64 of every weight, twice where they are sorted. */
static bool oxi_vk_can_multinomial(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *weights = call->in[0];
    uint64_t bytes = (uint64_t)ox_numel(weights) * (call->attr.multinomial.replacement ? 8 : 12);
    if (!(d->caps & OX_VULKAN_CAP_F64) || !oxi_vk_fits(weights) || bytes > d->tensor_bytes_most) return false;
    if (oxi_vk_byte_at(call->out[0]) % 8 != 0) return false;
    return weights->shape[weights->ndim - 1] > 0 && (uint64_t)ox_numel(call->out[0]) < UINT32_MAX;
}

/* ---- any of them --------------------------------------------------------------------------------------- */

/* Of what is drawn together, categories have weights. */
static bool oxi_vk_can_draw(const oxi_vk_device *d, const oxi_call *call) {
    bool together = oxi_generated_kind_of(call->op) == OXI_GENERATES_TOGETHER;
    if (together && call->in_count) return oxi_vk_can_multinomial(d, call);
    return oxi_vk_can_make(d, call) && (!together || oxi_vk_can_permute(d, call->out[0]));
}

static ox_status oxi_vk_draw(oxi_vk_device *d, const oxi_call *call) {
    if (oxi_generated_kind_of(call->op) != OXI_GENERATES_TOGETHER) return oxi_vk_make(d, call);
    return call->in_count ? oxi_vk_multinomial(d, call) : oxi_vk_permute(d, call);
}
