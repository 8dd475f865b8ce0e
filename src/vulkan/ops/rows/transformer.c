/* Rotary position embedding and attention.
 * Frequencies of a base are worked out once, in double, and stay on the device as pairs of floats; attention
 * has a way for few queries, one for many on cooperative matrices, and one that takes any operands.
 * Called by the Vulkan device for ROPE and ATTENTION. */

/* ---- rope: lines are rows of x; operands are the result, x, positions, a copy of the result ------------ */

static bool oxi_vk_can_rope(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0];
    (void)d;
    return oxi_vk_product_reads(x->dtype) && call->out[0]->dtype == x->dtype && oxi_vk_fits(x);
}

/* The chunk with [half] frequencies base^(-2 i / dims), as two floats each, and as many pairs (1, 0). */
static ox_status oxi_vk_frequencies(oxi_vk_device *d, double base, int64_t dims, oxi_vk_chunk **out) {
    oxi_vk_frequency *row = &d->frequencies[0];
    for (int i = 0; i < OXI_VK_FREQUENCIES; i++) {
        row = &d->frequencies[i];
        if (row->chunk && row->base == base && row->dims == dims) {
            *out = row->chunk;
            return OX_OK;
        }
        if (!row->chunk) break;
    }
    int64_t half = dims / 2;
    size_t bytes = (size_t)half * 4 * sizeof(float);
    float *pairs = (float *)oxi_alloc(bytes);
    if (!pairs) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < half; i++) {
        double f = pow(base, -2.0 * (double)i / (double)dims);
        pairs[2 * i] = (float)f;
        pairs[2 * i + 1] = (float)(f - (double)pairs[2 * i]);
        pairs[2 * (half + i)] = 1;
        pairs[2 * (half + i) + 1] = 0;
    }
    if (row->chunk) oxi_vk_chunk_give(d, row->chunk); /* the list is full: the last one goes */
    row->chunk = oxi_vk_chunk_alloc(d, bytes);
    ox_status status =
        row->chunk ? oxi_vk_upload(d, row->chunk, 0, (const char *)pairs, bytes) : OX_ERR_NOMEM;
    row->base = base;
    row->dims = dims;
    oxi_free(pairs, bytes);
    *out = row->chunk;
    return status;
}

/* norm: rms_norm whose result is what is turned, or NULL; copy: where the result goes as well, or NULL. */
static ox_status oxi_vk_rope(oxi_vk_device *d, const oxi_call *call, const oxi_call *norm,
                             const ox_tensor *copy) {
    ox_tensor raw = *call->in[0]; /* before the norm: in the same order */
    if (norm) raw.storage = norm->in[0]->storage;
    if (norm) raw.offset = norm->in[0]->offset;
    const ox_tensor *x = &raw, *positions = call->in[1], *factors = call->in[2], *out = call->out[0];
    oxi_vk_line_operand o[4];
    oxi_vk_rope_params params;
    oxi_vk_dispatch dispatch;
    oxi_vk_lines l;
    oxi_vk_chunk *frequencies = NULL;
    int last = x->ndim - 1;
    if (ox_numel(x) == 0) return OX_OK;
    ox_status status = oxi_vk_frequencies(d, call->attr.rope.base, call->attr.rope.dims, &frequencies);
    if (status != OX_OK) return status;
    oxi_vk_line_operand_of(&o[0], out, x->ndim);
    oxi_vk_line_operand_of(&o[1], x, x->ndim);
    oxi_vk_line_operand_of(&o[2], positions ? positions : x, 0);
    o[2].stride[last - 1] = positions ? positions->stride[0] : 1; /* without positions: the place along S */
    oxi_vk_line_operand_of(&o[3], copy, x->ndim);
    oxi_vk_lines_cut(&l, x->ndim, x->shape, 1u << last, true, o, 4);
    /* a line may have been merged into one dim of any stride, or be a single element */
    memset(&params, 0, sizeof params);
    params.line = l.params;
    params.line.line_stride[0][0] = (uint32_t)out->stride[last];
    params.line.line_stride[0][1] = (uint32_t)x->stride[last];
    if (copy) params.line.line_stride[0][3] = (uint32_t)copy->stride[last];
    double scale = call->attr.rope.scale;
    params.line.f[0] = oxi_vk_float_bits(scale);
    params.line.f[1] = oxi_vk_float_bits(scale - (double)(float)scale);
    params.line.f[2] = oxi_vk_float_bits(call->attr.rope.magnitude);
    params.line.extra = (uint32_t)(call->attr.rope.dims / 2);
    params.frequencies = (uint32_t)(frequencies->offset / 4);
    params.origin = oxi_vk_element_at(positions ? positions : x);
    if (factors) {
        params.factors = oxi_vk_element_at(factors);
        params.factors_stride = (uint32_t)factors->stride[0];
    }
    if (norm) {
        params.factors = oxi_vk_element_at(norm->in[1]);
        params.normal = oxi_vk_element_at(norm->out[0]) - oxi_vk_element_at(x);
        params.epsilon = oxi_vk_float_bits(norm->attr.norm.eps);
    }
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_bind(&dispatch, 0, out, true);
    oxi_vk_bind(&dispatch, 1, x, false);
    if (positions) oxi_vk_bind(&dispatch, 2, positions, false);
    dispatch.use[3].chunk = frequencies;
    dispatch.uses = 4;
    if (factors) oxi_vk_bind(&dispatch, 4, factors, false);
    if (norm) oxi_vk_bind(&dispatch, 4, norm->in[1], false);
    if (copy) oxi_vk_bind(&dispatch, 5, copy, true);
    if (norm) oxi_vk_bind(&dispatch, OXI_VK_BINDINGS, norm->out[0], true);
    oxi_vk_bind_rest(&dispatch);
    dispatch.shader = OXI_VK_SHADER_rope;
    dispatch.special.rope.norm = norm != NULL;
    dispatch.special.rope.dtype = (uint32_t)x->dtype;
    dispatch.special.rope.positions = positions ? (uint32_t)positions->dtype : 0;
    dispatch.special.rope.interleaved = call->attr.rope.interleaved;
    dispatch.special.rope.factors = factors != NULL;
    dispatch.special.rope.copy = copy ? (uint32_t)copy->dtype : 0;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    uint64_t each = (uint64_t)(x->shape[last] - call->attr.rope.dims / 2);
    oxi_vk_invocations(&dispatch, (uint64_t)l.kept.numel * each);
    status = oxi_vk_record(d, &dispatch);
    if (status == OX_OK && copy) oxi_vk_place(d, copy);
    return status;
}

static ox_status oxi_vk_rope_alone(oxi_vk_device *d, const oxi_call *call) {
    return oxi_vk_rope(d, call, NULL, NULL);
}

/* ---- attention ----------------------------------------------------------------------------------------- */

enum {
    OXI_VK_ATTENTION_DEPTH = 512, /* of a row, at most, .. */
    OXI_VK_ATTENTION_LONG = 1024, /* .. and where queries are few: DeepSeek's latents have 576 */
    OXI_VK_ATTENTION_FEW = 8,     /* queries that are taken one by one */
    OXI_VK_ATTENTION_RANGE = 512, /* keys of a part of them */
    OXI_VK_ATTENTION_PARTS = 64,
    OXI_VK_ATTENTION_SUBS = 4 /* subgroups of a workgroup with matrices */
};

/* Whether there is a shader for it, whatever the dtype of keys and values. Results may be missing: then that
 * is all that is asked. */
static bool oxi_vk_fits_attention(const oxi_call *call) {
    const ox_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2], *mask = call->in[3];
    int n = q->ndim;
    const ox_tensor *out = call->out[0], *kept = call->out_count > 1 ? call->out[1] : NULL;
    if (n > OXI_VK_ATTENTION_LEAD || !oxi_vk_product_reads(q->dtype) || (out && out->dtype != q->dtype))
        return false;
    if (call->out_count > 1 && mask && call->in[4]) return false; /* it takes the block of one of them */
    if (kept && !ox_is_contiguous(kept)) return false;
    if (mask && mask->dtype != OX_BOOL && !oxi_vk_product_reads(mask->dtype)) return false;
    if (q->shape[n - 1] == 0 && (!out || ox_numel(out) > 0)) return false; /* arrays of DEPTH elements */
    int64_t lead = 1;
    for (int i = 0; i < n - 3; i++) lead *= q->shape[i];
    if (lead > 65535 || (n > 2 && q->shape[n - 3] > 65535)) return false;
    if (call->attr.attention.query_start >= (int64_t)1 << 30 ||
        call->attr.attention.window >= (int64_t)1 << 30) return false;
    return oxi_vk_fits(q) && oxi_vk_fits(k) && oxi_vk_fits(v);
}

static bool oxi_vk_reads_keys(ox_dtype dtype) { return dtype == OX_Q8_0 || oxi_vk_product_reads(dtype); }

/* Stride of t's dim that is `back` from the end, 0 where it is missing or broadcast. */
static int64_t oxi_vk_stride_back(const ox_tensor *t, int back) {
    int i = t->ndim - back;
    return i >= 0 && t->shape[i] != 1 ? t->stride[i] : 0;
}

/* Places of mask and sinks, which may be missing, beside a q of so many dims. to: the mask's first element,
 * its strides of rows, heads and columns, then the sinks' first and stride; stride: of the leading dims. */
static void oxi_vk_mask_places(const ox_tensor *mask, const ox_tensor *sinks, int ndim, uint32_t *const *to,
                               uint32_t *stride) {
    if (sinks) {
        *to[4] = oxi_vk_element_at(sinks);
        *to[5] = (uint32_t)sinks->stride[0];
    }
    if (!mask) return;
    *to[0] = oxi_vk_element_at(mask);
    *to[1] = (uint32_t)oxi_vk_stride_back(mask, 2);
    *to[2] = (uint32_t)oxi_vk_stride_back(mask, 3);
    *to[3] = (uint32_t)oxi_vk_stride_back(mask, 1);
    for (int e = 0; e < ndim - 3; e++) stride[e] = (uint32_t)oxi_vk_stride_back(mask, ndim - e);
}

static void oxi_vk_attention_sides(const oxi_call *call, oxi_vk_attention_params *p) {
    const ox_tensor *side[4] = {call->out[0], call->in[0], call->in[1], call->in[2]};
    const ox_tensor *q = call->in[0];
    p->lead = q->ndim > 3 ? (uint32_t)(q->ndim - 3) : 0;
    for (int i = 0; i < 4; i++) {
        const ox_tensor *t = side[i];
        if (!t) continue; /* a result that is only asked for */
        p->at[i] = oxi_is_block(t->dtype) ? (uint32_t)oxi_vk_byte_at(t) : oxi_vk_element_at(t);
        p->row[i] = oxi_vk_product_units(t, oxi_vk_stride_back(t, 2));
        p->head[i] = oxi_vk_product_units(t, oxi_vk_stride_back(t, 3));
        p->column[i] = (uint32_t)t->stride[t->ndim - 1];
        for (uint32_t e = 0; e < p->lead; e++) p->stride[e][i] = oxi_vk_product_units(t, t->stride[e]);
    }
    for (uint32_t e = 0; e < p->lead; e++) p->shape[e] = (uint32_t)q->shape[e];
    uint32_t *const to[6] = {&p->mask_at,     &p->mask_row, &p->mask_head,
                             &p->mask_column, &p->sinks_at, &p->sinks_stride};
    oxi_vk_mask_places(call->in[3], call->in[4], q->ndim, to, p->mask_stride);
}

static void oxi_vk_attention_params_of(const oxi_call *call, oxi_vk_attention_params *p) {
    const ox_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2];
    int n = q->ndim;
    memset(p, 0, sizeof *p);
    oxi_vk_attention_sides(call, p);
    p->length = (uint32_t)q->shape[n - 2];
    p->keys = (uint32_t)k->shape[n - 2];
    p->value_depth = (uint32_t)v->shape[n - 1];
    p->heads = n > 2 ? (uint32_t)q->shape[n - 3] : 1;
    p->group = n > 2 && k->shape[n - 3] > 0 ? (uint32_t)(q->shape[n - 3] / k->shape[n - 3]) : 1;
    p->scale = oxi_vk_float_bits(call->attr.attention.scale);
    p->softcap = oxi_vk_float_bits(call->attr.attention.softcap);
    p->start = (uint32_t)call->attr.attention.query_start;
    p->window = (uint32_t)call->attr.attention.window;
    if (call->out_count > 1) p->kept_at = oxi_vk_element_at(call->out[1]);
}

/* Whether rows of side `i` (0 result, 1 q, 2 k, 3 v) lie in aligned groups of `each` elements. */
static bool oxi_vk_attention_wide(const oxi_vk_attention_params *p, int i, uint32_t each) {
    bool wide = p->column[i] == 1 && p->at[i] % each == 0 && p->row[i] % each == 0 && p->head[i] % each == 0;
    for (uint32_t e = 0; e < p->lead; e++) wide = wide && p->stride[e][i] % each == 0;
    return wide;
}

static uint64_t oxi_vk_attention_lead(const oxi_vk_attention_params *p) {
    uint64_t lead = 1;
    for (uint32_t e = 0; e < p->lead; e++) lead *= p->shape[e];
    return lead;
}

/* Keys and values that attention_row.comp reads in eights; it keeps no logsumexp. */
static bool oxi_vk_attention_is_few(const oxi_call *call, const oxi_vk_attention_params *p) {
    const ox_tensor *q = call->in[0];
    ox_dtype cache = call->in[1]->dtype;
    bool known = cache == OX_Q8_0 || cache == OX_F32 || cache == OX_F16 || cache == OX_BF16;
    int64_t depth = q->shape[q->ndim - 1];
    bool wide = cache == OX_Q8_0 || (oxi_vk_attention_wide(p, 2, 8) && oxi_vk_attention_wide(p, 3, 8));
    return p->length <= OXI_VK_ATTENTION_FEW && p->keys > 0 && known && wide && depth % 8 == 0 &&
           p->value_depth % 8 == 0 && call->out_count == 1;
}

static bool oxi_vk_can_attention(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *q = call->in[0], *v = call->in[2];
    const ox_dtype keys = call->in[1]->dtype;
    const int last = q->ndim - 1;
    oxi_vk_attention_params p;
    (void)d;
    if (!(oxi_vk_reads_keys(keys) || oxi_vk_expands(keys)) || !oxi_vk_fits_attention(call)) return false;
    const int64_t depth = q->shape[last] > v->shape[last] ? q->shape[last] : v->shape[last];
    if (depth <= OXI_VK_ATTENTION_DEPTH) return true;
    if (depth > OXI_VK_ATTENTION_LONG) return false;
    oxi_vk_attention_params_of(call, &p);
    return oxi_vk_attention_is_few(call, &p);
}

/* Invocations of a workgroup: those of long heads share a key by fours (attention_row.comp), and twice as
 * many take as many keys at a time as others do. */
static uint32_t oxi_vk_attention_threads(const oxi_vk_device *d, const oxi_vk_dispatch *dispatch) {
    const oxi_vk_attention_row_specials *special = &dispatch->special.attention_row;
    const bool fits = d->limits.maxComputeWorkGroupInvocations >= 2 * OXI_VK_THREADS &&
                      d->limits.maxComputeSharedMemorySize >= 32768;
    return special->base.depth >= 256 && special->lanes > 1 && fits ? 2 * OXI_VK_THREADS : OXI_VK_THREADS;
}

/* One query a workgroup, its keys in parts where there are many: the parts' sums are joined by a second
 * dispatch, from memory that is given back at once (whoever gets it next waits for its readers). */
static ox_status oxi_vk_attention_few(oxi_vk_device *d, oxi_vk_dispatch *dispatch,
                                      oxi_vk_attention_params *p) {
    uint32_t most = p->window && p->window < p->keys ? p->window : p->keys;
    uint32_t parts = (most + OXI_VK_ATTENTION_RANGE - 1) / OXI_VK_ATTENTION_RANGE;
    if (parts > OXI_VK_ATTENTION_PARTS) parts = OXI_VK_ATTENTION_PARTS;
    dispatch->shader = OXI_VK_SHADER_attention_row;
    dispatch->special.attention_row.depth_v = p->value_depth;
    dispatch->special.attention_row.parts = parts;
    dispatch->special.attention_row.lanes = oxi_vk_is_sized(d, dispatch->shader) ? oxi_vk_few_lanes(d) : 1;
    dispatch->special.attention_row.threads = oxi_vk_attention_threads(d, dispatch);
    dispatch->groups[0] = p->length * parts;
    if (parts == 1) {
        oxi_vk_bind_open(dispatch, 1);
        return oxi_vk_record(d, dispatch);
    }
    uint64_t rows = (uint64_t)p->length * p->heads * dispatch->groups[2];
    oxi_vk_chunk *chunk = oxi_vk_chunk_alloc(d, rows * parts * (p->value_depth + 4) * sizeof(float));
    if (!chunk) return OX_ERR_NOMEM;
    p->parts_at = (uint32_t)(chunk->offset / sizeof(float));
    const oxi_vk_use sinks = dispatch->use[5], out = dispatch->use[0];
    dispatch->use[5].chunk = chunk;
    dispatch->use[5].writes = true;
    if (dispatch->uses < OXI_VK_BINDINGS) dispatch->uses = OXI_VK_BINDINGS;
    dispatch->use[0] = dispatch->use[dispatch->special.attention_row.turns == 1 ? dispatch->uses - 1 : 1];
    oxi_vk_bind_open(dispatch, 1);
    ox_status status = oxi_vk_record(d, dispatch); /* the result is not written yet */
    dispatch->use[0] = out;
    dispatch->use[5].writes = false;
    dispatch->uses = OXI_VK_BINDINGS;
    if (sinks.chunk) dispatch->use[4] = sinks; /* no mask is read there */
    dispatch->special.attention_row.merge = 1;
    dispatch->special.attention_row.turns = 0;
    dispatch->groups[0] = p->length;
    if (status == OX_OK) status = oxi_vk_record(d, dispatch);
    oxi_vk_chunk_give(d, chunk);
    return status;
}

/* The keys that attention_tiles.glsl can take at a time: 64, 32, or 0 where it does not run. */
static uint32_t oxi_vk_attention_keys(const oxi_vk_device *d, const oxi_call *call,
                                      const oxi_vk_attention_params *p) {
    const ox_dtype q = call->in[0]->dtype, cache = call->in[1]->dtype;
    uint32_t depth = (uint32_t)call->in[0]->shape[call->in[0]->ndim - 1], side = d->matrix_side;
    uint32_t cap = cache == OX_F16 ? OX_VULKAN_CAP_COOPERATIVE : cache == OX_BF16 ? OX_VULKAN_CAP_BF16 : 0;
    if (call->exact) return 0; /* q and the softmax are rounded */
    if (!(d->caps & cap) || !(q == cache || q == OX_F32) || p->length < side || p->keys < side) return 0;
    if (depth % side != 0 || p->value_depth % side != 0 || depth > 256 || p->value_depth > 256) return 0;
    if (!oxi_vk_attention_wide(p, 1, q == OX_F32 ? 4 : 8) || !oxi_vk_attention_wide(p, 2, 8) ||
        !oxi_vk_attention_wide(p, 3, 8))
        return 0;
    for (uint32_t keys = 64; keys >= 32; keys /= 2) {
        uint32_t queries = OXI_VK_ATTENTION_SUBS * side, line = depth / 8 + 1;
        uint32_t tiles = keys * (line + p->value_depth / 8 + 1);
        if (tiles < queries * line) tiles = queries * line;
        uint32_t bytes = 16 * (tiles + queries * (keys / 8 + 1)) + 12 * queries;
        if (bytes <= d->limits.maxComputeSharedMemorySize) return keys;
    }
    return 0;
}

static ox_status oxi_vk_attention_many(oxi_vk_device *d, oxi_vk_dispatch *dispatch,
                                       const oxi_vk_attention_params *p, uint32_t keys) {
    uint32_t queries = OXI_VK_ATTENTION_SUBS * d->matrix_side;
    dispatch->shader = dispatch->special.attention.cache == (uint32_t)OX_F16 ? OXI_VK_SHADER_attention_tiles
                                                                : OXI_VK_SHADER_attention_tiles_bf16;
    dispatch->special.attention_tiles.threads = OXI_VK_ATTENTION_SUBS * d->subgroup_size;
    dispatch->special.attention_tiles.depth_v = p->value_depth;
    dispatch->special.attention_tiles.side = d->matrix_side;
    dispatch->special.attention_tiles.subs = OXI_VK_ATTENTION_SUBS;
    dispatch->special.attention_tiles.keys = keys;
    dispatch->groups[0] = (p->length + queries - 1) / queries;
    return oxi_vk_record(d, dispatch);
}

static ox_status oxi_vk_attention_any(oxi_vk_device *d, oxi_vk_dispatch *dispatch,
                                      const oxi_vk_attention_params *p) {
    uint32_t depth = dispatch->special.attention.depth, fours = (p->value_depth + 3) / 4;
    uint32_t queries = p->length == 1 || depth > 256 || p->value_depth > 256 ? 1 : 8;
    uint32_t threads = oxi_vk_threads(OXI_VK_SHADER_attention);
    dispatch->shader = OXI_VK_SHADER_attention;
    dispatch->special.attention_any.queries = queries;
    dispatch->special.attention_any.keys = queries == 1 ? threads : 32;
    dispatch->special.attention_any.sums = (queries * fours + threads - 1) / threads;
    dispatch->groups[0] = (p->length + queries - 1) / queries;
    return oxi_vk_record(d, dispatch);
}

/* What the dispatches of all ways have in common. */
static void oxi_vk_attention_begin(const oxi_call *call, const oxi_vk_attention_params *p,
                                   oxi_vk_dispatch *dispatch) {
    const ox_tensor *q = call->in[0], *mask = call->in[3], *sinks = call->in[4], *out = call->out[0];
    const uint32_t each = 4u >> oxi_vk_width(out->dtype);
    memset(dispatch, 0, sizeof *dispatch);
    oxi_vk_bind(dispatch, 0, out, true);
    for (int i = 0; i < 3; i++) oxi_vk_bind(dispatch, i + 1, call->in[i], false);
    if (mask) oxi_vk_bind(dispatch, 4, mask, false);
    if (sinks) oxi_vk_bind(dispatch, 5, sinks, false);
    if (call->out_count > 1) {
        dispatch->special.attention.kept = sinks ? 4 : 5;
        oxi_vk_bind(dispatch, sinks ? 4 : 5, call->out[1], true);
    }
    dispatch->special.attention.single = p->lead == 0;
    dispatch->special.attention.dtype = (uint32_t)q->dtype;
    dispatch->special.attention.cache = (uint32_t)call->in[1]->dtype;
    dispatch->special.attention.mask = mask ? (uint32_t)mask->dtype : 0;
    dispatch->special.attention.causal = call->attr.attention.causal;
    dispatch->special.attention.softcap = call->attr.attention.softcap > 0;
    dispatch->special.attention.sinks = sinks != NULL;
    dispatch->special.attention.depth = (uint32_t)q->shape[q->ndim - 1];
    dispatch->special.attention.aligned = oxi_vk_attention_wide(p, 0, each) && p->value_depth % each == 0;
    dispatch->params = p;
    dispatch->param_bytes = sizeof *p;
    dispatch->groups[1] = p->heads;
    dispatch->groups[2] = (uint32_t)oxi_vk_attention_lead(p);
}

static ox_status oxi_vk_attention_shader(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_attention_params p;
    oxi_vk_dispatch dispatch;
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    oxi_vk_attention_params_of(call, &p);
    oxi_vk_attention_begin(call, &p, &dispatch);
    oxi_vk_bind_open(&dispatch, 1);
    if (oxi_vk_attention_is_few(call, &p)) return oxi_vk_attention_few(d, &dispatch, &p);
    uint32_t keys = oxi_vk_attention_keys(d, call, &p);
    return keys ? oxi_vk_attention_many(d, &dispatch, &p, keys) : oxi_vk_attention_any(d, &dispatch, &p);
}

/* Keys and values of block types that shaders do not read are expanded first. */
static ox_status oxi_vk_attention(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *k = call->in[1];
    oxi_vk_temporary plain[2];
    ox_tensor *in[5];
    oxi_call expanded = *call;
    ox_status status = OX_OK;
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    if (oxi_vk_reads_keys(k->dtype)) return oxi_vk_attention_shader(d, call);
    memset(plain, 0, sizeof plain);
    for (int i = 0; i < 5; i++) in[i] = call->in[i];
    for (int i = 0; i < 2 && status == OX_OK; i++) {
        const ox_tensor *blocks = call->in[1 + i];
        status = oxi_vk_temporary_make(d, &plain[i], OX_F32, blocks->ndim, blocks->shape);
        if (status == OX_OK) status = oxi_vk_from_blocks(d, blocks, &plain[i].t);
        in[1 + i] = &plain[i].t;
    }
    expanded.in = in;
    if (status == OX_OK) status = oxi_vk_attention_shader(d, &expanded);
    for (int i = 0; i < 2; i++) oxi_vk_temporary_drop(d, &plain[i]);
    return status;
}
