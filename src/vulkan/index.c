/* Moving by index: gather, index_select and embedding in one shader, cat as copies into parts of the result.
 * Indices are looked at on the device: one out of range makes its elements 0 and the next read an error.
 * Called by the Vulkan device for INDEX. */

/* Mirrors param of gather.comp. */
typedef struct oxi_vk_gather_params {
    uint32_t n, ndim, kind, fault;
    uint32_t at[3], step;
    uint32_t size, unused[3];
    uint32_t stride[OX_MAX_DIMS][4];
    uint32_t shape[OX_MAX_DIMS];
} oxi_vk_gather_params;

static bool oxi_vk_can_index(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    (void)d;
    if (!oxi_vk_fits(out) || !oxi_vk_fits(x)) return false;
    switch (call->op) {
    case OXI_OP_gather:
    case OXI_OP_index_select: return x->ndim > 0 && x->shape[call->attr.dim] > 0 && x->dtype == out->dtype;
    case OXI_OP_embedding:
        if (x->shape[0] == 0) return false;
        if (!oxi_is_block(x->dtype)) return x->dtype == out->dtype;
        return oxi_vk_expands(x->dtype) && out->dtype == OX_F32 && x->stride[1] == 1;
    case OXI_OP_cat:
        for (int i = 0; i < call->in_count; i++) {
            const ox_tensor *t = call->in[i];
            if (t->dtype != out->dtype && !(oxi_vk_map_reads(t->dtype) && oxi_vk_map_reads(out->dtype)))
                return false;
        }
        return true;
    default: return false;
    }
}

/* ---- cat ----------------------------------------------------------------------------------------------- */

static ox_status oxi_vk_cat(oxi_vk_device *d, const oxi_call *call) {
    int dim = call->attr.dim;
    int64_t at = 0;
    ox_status status = OX_OK;
    for (int i = 0; i < call->in_count && status == OX_OK; i++) {
        ox_tensor *t = call->in[i], part = oxi_borrowed(call->out[0]);
        oxi_call copy;
        memset(&copy, 0, sizeof copy);
        part.shape[dim] = t->shape[dim];
        part.offset += at * part.stride[dim];
        at += t->shape[dim];
        copy.op = OXI_OP_copy;
        copy.in = &t;
        copy.in_count = copy.out_count = 1;
        copy.out[0] = &part;
        if (ox_numel(t) > 0) status = oxi_vk_map(d, &copy);
    }
    return status;
}

/* ---- gather -------------------------------------------------------------------------------------------- */

/* Strides of the index and of x over the result's shape; the dim that is indexed has none in x. */
typedef struct oxi_vk_gather {
    ox_tensor out, index, x;
    int64_t index_stride[OX_MAX_DIMS], x_stride[OX_MAX_DIMS];
    int64_t step, size; /* along the indexed dim of x: elements, or bytes of a block type */
} oxi_vk_gather;

static oxi_vk_gather oxi_vk_gather_of(const oxi_call *call) {
    oxi_vk_gather g;
    int dim = call->attr.dim;
    memset(&g, 0, sizeof g);
    g.out = oxi_at_least_1d(call->out[0]);
    g.x = oxi_at_least_1d(call->in[0]);
    g.index = call->op == OXI_OP_embedding ? oxi_borrowed(call->in[1]) : oxi_at_least_1d(call->in[1]);
    if (call->op == OXI_OP_embedding) {
        for (int i = 0; i < g.index.ndim; i++) g.index_stride[i] = g.index.stride[i];
        g.x_stride[g.index.ndim] = g.x.stride[1];
        g.step = oxi_is_block(g.x.dtype) ? (int64_t)oxi_byte_offset(g.x.dtype, g.x.stride[0]) : g.x.stride[0];
        g.size = g.x.shape[0];
        return g;
    }
    for (int i = 0; i < g.out.ndim; i++) {
        if (i != dim) g.x_stride[i] = g.x.stride[i];
        if (call->op == OXI_OP_gather) g.index_stride[i] = g.index.stride[i];
    }
    if (call->op == OXI_OP_index_select) g.index_stride[dim] = g.index.stride[0];
    g.step = g.x.stride[dim];
    g.size = g.x.shape[dim];
    return g;
}

static void oxi_vk_add_raw(oxi_walk *w, uint64_t byte_at, uint32_t width, const int64_t *stride) {
    oxi_walk_add_raw(w, (char *)(uintptr_t)(OXI_VK_ORIGIN + byte_at), (int64_t)1 << width, stride);
}

static ox_status oxi_vk_gather_run(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_gather g = oxi_vk_gather_of(call);
    oxi_vk_gather_params params;
    oxi_vk_dispatch dispatch;
    oxi_walk w;
    bool block = oxi_is_block(g.x.dtype);
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    if (ox_numel(&g.out) == 0) return OX_OK;
    oxi_walk_begin(&w, g.out.ndim, g.out.shape);
    oxi_vk_walk_add(&w, &g.out);
    oxi_vk_add_raw(&w, oxi_vk_byte_at(&g.index), oxi_vk_width(g.index.dtype), g.index_stride);
    oxi_vk_add_raw(&w, block ? 0 : oxi_vk_byte_at(&g.x), block ? 0 : oxi_vk_width(g.x.dtype), g.x_stride);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    params.n = (uint32_t)w.numel;
    params.ndim = (uint32_t)w.ndim;
    params.kind = (uint32_t)call->op + 1;
    params.fault = (uint32_t)(d->fault->offset / 4);
    for (int i = 0; i < 3; i++) {
        params.at[i] = oxi_vk_walk_at(&w, i);
        for (int e = 0; e < w.ndim; e++) params.stride[e][i] = (uint32_t)w.stride[i][e];
    }
    if (block) params.at[2] = (uint32_t)oxi_vk_byte_at(&g.x);
    for (int e = 0; e < w.ndim; e++) params.shape[e] = (uint32_t)w.shape[e];
    params.step = (uint32_t)g.step;
    params.size = (uint32_t)g.size;
    uint32_t width = oxi_vk_width(g.out.dtype), each = oxi_vk_map_packs(&w) && width < 2 ? 4u >> width : 1;
    dispatch.shader = OXI_VK_SHADER_gather;
    dispatch.special[0] = (uint32_t)g.x.dtype;
    dispatch.special[1] = (uint32_t)g.index.dtype;
    dispatch.special[2] = each;
    oxi_vk_bind(&dispatch, 0, &g.out, true);
    oxi_vk_bind(&dispatch, 1, &g.index, false);
    oxi_vk_bind(&dispatch, 2, &g.x, false);
    dispatch.use[5].chunk = d->fault;
    dispatch.uses = 6;
    oxi_vk_bind_rest(&dispatch);
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_groups(&dispatch, ((uint64_t)w.numel + 256 * each - 1) / (256 * each));
    d->fault_told = true;
    return oxi_vk_record(d, &dispatch);
}

static ox_status oxi_vk_index(oxi_vk_device *d, const oxi_call *call) {
    return call->op == OXI_OP_cat ? oxi_vk_cat(d, call) : oxi_vk_gather_run(d, call);
}
