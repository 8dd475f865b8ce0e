/* Moving by index: gather, index_select and embedding in one shader, scatter and index_add in another,
 * triangles and one_hot in a third; cat and roll are copies into parts of the result; select.c has the rest.
 * Indices are looked at on the device: one out of range makes its elements 0 and the next read an error.
 * Called by the Vulkan device for INDEX. */

/* Indices that move nothing, of results without elements: the CPU looks at them. */
static bool oxi_vk_only_looks(const oxi_call *call) {
    bool looks =
        call->op == OXI_OP_index_select || call->op == OXI_OP_embedding || call->op == OXI_OP_index_add;
    return looks && ox_numel(call->out[0]) == 0 && ox_numel(call->in[1]) > 0;
}

static bool oxi_vk_can_index(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    bool f64 = d->caps & OX_VULKAN_F64;
    if (!oxi_vk_fits(out) || !oxi_vk_fits(x) || oxi_vk_only_looks(call)) return false;
    switch (call->op) {
    case OXI_OP_gather:
    case OXI_OP_index_select: return x->ndim > 0 && x->shape[call->attr.along.dim] > 0 && x->dtype == out->dtype;
    case OXI_OP_embedding:
        if (x->shape[0] == 0) return false;
        if (!oxi_is_block(x->dtype)) return x->dtype == out->dtype;
        return oxi_vk_expands(x->dtype) && oxi_is_float(out->dtype) && x->stride[1] == 1;
    case OXI_OP_cat:
        for (int i = 0; i < call->in_count; i++)
            if (oxi_is_block(call->in[i]->dtype)) return false;
        return true;
    case OXI_OP_scatter: return x->ndim > 0 && x->shape[call->attr.along.dim] > 0;
    case OXI_OP_scatter_add:
    case OXI_OP_index_add:
        return x->ndim > 0 && x->shape[call->attr.along.dim] > 0 && (f64 || out->dtype != OX_F64);
    case OXI_OP_masked_select: return oxi_vk_fits(call->in[1]);
    case OXI_OP_nonzero:
    case OXI_OP_triu:
    case OXI_OP_tril:
    case OXI_OP_one_hot:
    case OXI_OP_roll: return true;
    default: return false;
    }
}

/* ---- cat, roll ----------------------------------------------------------------------------------------- */

static ox_status oxi_vk_copies(oxi_vk_device *d, const oxi_call *call) {
    oxi_copies copies = oxi_copies_of(call);
    ox_tensor from, to;
    ox_status status = OX_OK;
    while (status == OX_OK && oxi_copies_next(&copies, &from, &to)) status = oxi_vk_copy(d, &from, &to);
    return status;
}

/* ---- scatter, scatter_add, index_add ------------------------------------------------------------------- */

/* alpha as a number of the lane that dtype is added in. */
static void oxi_vk_scatter_alpha(double alpha, ox_dtype dtype, uint32_t *words) {
    if (dtype == OX_F64)
        oxi_vk_double_words(alpha, words);
    else if (oxi_is_int(dtype) || dtype == OX_BOOL)
        oxi_vk_words_of((uint64_t)oxi_to_i64_saturated(alpha), words);
    else
        words[0] = oxi_vk_float_bits(alpha);
}

static ox_status oxi_vk_scatter(oxi_vk_device *d, const oxi_call *call) {
    ox_tensor x = oxi_at_least_1d(call->in[0]), index = oxi_at_least_1d(call->in[1]),
              source = oxi_at_least_1d(call->in[2]), out = oxi_at_least_1d(call->out[0]);
    int dim = call->attr.along.dim;
    bool whole = call->op == OXI_OP_index_add;
    oxi_vk_line_operand o[3];
    oxi_vk_dispatch dispatch;
    oxi_vk_lines l;
    oxi_vk_scatter_params params;
    memset(&dispatch, 0, sizeof dispatch);
    memset(&params, 0, sizeof params);
    bool in_place = x.storage == out.storage && oxi_same_layout(&x, &out);
    ox_status status = in_place ? OX_OK : oxi_vk_copy(d, &x, &out);
    const ox_tensor *shape = whole ? &source : &index;
    if (status != OX_OK || ox_numel(shape) == 0) return status;
    oxi_vk_line_operand_of(&o[0], &out, out.ndim);
    oxi_vk_line_operand_of(&o[1], &index, whole ? 0 : index.ndim);
    oxi_vk_line_operand_of(&o[2], &source, source.ndim);
    o[0].stride[dim] = 0;
    if (whole) o[1].stride[dim] = index.stride[0];
    oxi_vk_lines_cut(&l, shape->ndim, shape->shape, 1u << dim, true, o, 3);
    l.params.f[1] = (uint32_t)out.stride[dim];
    l.params.f[2] = (uint32_t)out.shape[dim];
    l.params.extra = (uint32_t)(d->fault->offset / 4);
    params.line = l.params;
    oxi_vk_scatter_alpha(whole ? call->attr.index_add.alpha : 1, out.dtype, params.alpha);
    bool doubles = out.dtype == OX_F64 && call->op != OXI_OP_scatter;
    dispatch.shader = doubles ? OXI_VK_SHADER_scatter_double : OXI_VK_SHADER_scatter;
    dispatch.special.scatter.dtype = (uint32_t)out.dtype;
    dispatch.special.scatter.lane = (uint32_t)OXI_VK_LANE_RAW;
    if (call->op != OXI_OP_scatter) dispatch.special.scatter.lane = (uint32_t)oxi_lane_of(out.dtype);
    dispatch.special.scatter.index = (uint32_t)index.dtype;
    dispatch.special.scatter.kind = (uint32_t)call->op + 1;
    oxi_vk_bind(&dispatch, 0, &out, true);
    oxi_vk_bind(&dispatch, 1, &index, false);
    oxi_vk_bind(&dispatch, 2, &source, false);
    oxi_vk_bind_fault(d, &dispatch);
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_groups(&dispatch, ((uint64_t)l.kept.numel + 63) / 64);
    return oxi_vk_record(d, &dispatch);
}

/* ---- triangles and one_hot ----------------------------------------------------------------------------- */

static ox_status oxi_vk_pattern(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    oxi_vk_pattern_params params;
    oxi_vk_dispatch dispatch;
    int64_t number = call->attr.diagonal.diagonal;
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    if (ox_numel(out) == 0) return OX_OK;
    if (call->op == OXI_OP_one_hot) number = out->shape[out->ndim - 1];
    const int64_t most = (int64_t)1 << 30; /* a diagonal further away is as far outside */
    number = number > most ? most : number < -most ? -most : number;
    params.n = (uint32_t)ox_numel(out);
    params.ndim = (uint32_t)out->ndim;
    params.fault = (uint32_t)(d->fault->offset / 4);
    params.at[0] = oxi_vk_element_at(out);
    params.at[1] = oxi_vk_element_at(x);
    params.number = (uint32_t)(int32_t)number;
    for (int e = 0; e < out->ndim; e++) {
        params.stride[e][0] = (uint32_t)out->stride[e];
        params.stride[e][1] = e < x->ndim ? (uint32_t)x->stride[e] : 0;
        params.shape[e] = (uint32_t)out->shape[e];
    }
    dispatch.shader = OXI_VK_SHADER_pattern;
    dispatch.special.pattern.dtype = (uint32_t)x->dtype;
    dispatch.special.pattern.kind = call->op == OXI_OP_triu ? 0 : call->op == OXI_OP_tril ? 1 : 2;
    dispatch.special.pattern.op = (uint32_t)call->op + 1;
    oxi_vk_bind(&dispatch, 0, out, true);
    oxi_vk_bind(&dispatch, 1, x, false);
    oxi_vk_bind_fault(d, &dispatch);
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_groups(&dispatch, ((uint64_t)params.n + 255) / 256);
    return oxi_vk_record(d, &dispatch);
}

/* ---- gather -------------------------------------------------------------------------------------------- */

/* Strides of the index and of x over the result's shape; the dim that is indexed has none in x. */
typedef struct oxi_vk_gather {
    ox_tensor out, index, x;
    int64_t index_stride[OX_MAX_DIMS], x_stride[OX_MAX_DIMS];
    int64_t step, size; /* along the indexed dim of x */
} oxi_vk_gather;

static oxi_vk_gather oxi_vk_gather_of(const oxi_call *call) {
    oxi_vk_gather g;
    int dim = call->attr.along.dim;
    memset(&g, 0, sizeof g);
    g.out = oxi_at_least_1d(call->out[0]);
    g.x = oxi_at_least_1d(call->in[0]);
    g.index = call->op == OXI_OP_embedding ? oxi_borrowed(call->in[1]) : oxi_at_least_1d(call->in[1]);
    if (call->op == OXI_OP_embedding) {
        for (int i = 0; i < g.index.ndim; i++) g.index_stride[i] = g.index.stride[i];
        g.x_stride[g.index.ndim] = g.x.stride[1];
        g.step = g.x.stride[0];
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
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    if (ox_numel(&g.out) == 0) return OX_OK;
    oxi_walk_begin(&w, g.out.ndim, g.out.shape);
    oxi_vk_walk_add(&w, &g.out);
    oxi_vk_add_raw(&w, oxi_vk_byte_at(&g.index), oxi_vk_width(g.index.dtype), g.index_stride);
    oxi_vk_add_raw(&w, oxi_vk_byte_at(&g.x), oxi_vk_width(g.x.dtype), g.x_stride);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    params.n = (uint32_t)w.numel;
    params.ndim = (uint32_t)w.ndim;
    params.kind = (uint32_t)call->op + 1;
    params.fault = (uint32_t)(d->fault->offset / 4);
    for (int i = 0; i < 3; i++) {
        params.at[i] = oxi_vk_walk_at(&w, i);
        for (int e = 0; e < w.ndim; e++) params.stride[e][i] = (uint32_t)w.stride[i][e];
    }
    for (int e = 0; e < w.ndim; e++) params.shape[e] = (uint32_t)w.shape[e];
    params.step = (uint32_t)g.step;
    params.size = (uint32_t)g.size;
    uint32_t width = oxi_vk_width(g.out.dtype), each = oxi_vk_map_packs(&w) && width < 2 ? 4u >> width : 1;
    dispatch.shader = OXI_VK_SHADER_gather;
    dispatch.special.gather.dtype = (uint32_t)g.x.dtype;
    dispatch.special.gather.index = (uint32_t)g.index.dtype;
    dispatch.special.gather.each = each;
    oxi_vk_bind(&dispatch, 0, &g.out, true);
    oxi_vk_bind(&dispatch, 1, &g.index, false);
    oxi_vk_bind(&dispatch, 2, &g.x, false);
    oxi_vk_bind_fault(d, &dispatch);
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_groups(&dispatch, ((uint64_t)w.numel + 256 * each - 1) / (256 * each));
    return oxi_vk_record(d, &dispatch);
}

/* Rows of a block type: picked as they are, then expanded. */
static ox_status oxi_vk_embed_blocks(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *out = call->out[0];
    ox_tensor x = oxi_borrowed(call->in[0]), units, to, *in[2] = {&x, call->in[1]};
    oxi_vk_temporary rows;
    oxi_call pick = *call;
    memset(&rows, 0, sizeof rows);
    ox_status status = oxi_vk_temporary_make(d, &rows, x.dtype, out->ndim, out->shape);
    if (status != OX_OK) return status;
    units = oxi_vk_as_units(&x, oxi_vk_unit_of(x.dtype));
    to = oxi_vk_as_units(&rows.t, units.dtype);
    in[0] = &units;
    pick.in = in;
    pick.out[0] = &to;
    if (ox_numel(out) > 0) status = oxi_vk_gather_run(d, &pick);
    if (status == OX_OK && ox_numel(out) > 0) status = oxi_vk_from_blocks(d, &rows.t, out);
    oxi_vk_temporary_drop(d, &rows);
    return status;
}

static ox_status oxi_vk_index(oxi_vk_device *d, const oxi_call *call) {
    switch (call->op) {
    case OXI_OP_cat:
    case OXI_OP_roll: return oxi_vk_copies(d, call);
    case OXI_OP_scatter:
    case OXI_OP_scatter_add:
    case OXI_OP_index_add: return oxi_vk_scatter(d, call);
    case OXI_OP_triu:
    case OXI_OP_tril:
    case OXI_OP_one_hot: return oxi_vk_pattern(d, call);
    case OXI_OP_masked_select:
    case OXI_OP_nonzero: return oxi_vk_select(d, call);
    case OXI_OP_embedding:
        return oxi_is_block(call->in[0]->dtype) ? oxi_vk_embed_blocks(d, call) : oxi_vk_gather_run(d, call);
    default: return oxi_vk_gather_run(d, call);
    }
}
