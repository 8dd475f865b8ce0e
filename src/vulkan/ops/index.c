/* Ops of INDEX by the kinds of form/index.def: PICK in one shader, PUT in another, PATTERN in a third; COPIES
 * are copies into parts of the result; select.c has the rest. Indices are looked at on the device: one out of
 * range makes its elements 0 and the next read an error. Called by the Vulkan device. */

/* Indices that move nothing, of results without elements: the CPU looks at them. */
static bool oxi_vk_only_looks(const oxi_call *call, const oxi_index_form *form) {
    bool looks = (form->kind == OXI_INDEX_PICK || form->kind == OXI_INDEX_PUT) && form->by != OXI_BY_EACH;
    return looks && ox_numel(call->out[0]) == 0 && ox_numel(call->in[1]) > 0;
}

/* Whether there is something along the dim that is indexed. */
static bool oxi_vk_has_places(const oxi_call *call, const oxi_index_form *form) {
    const ox_tensor *x = call->in[0];
    return x->ndim > 0 && x->shape[form->by == OXI_BY_ROWS ? 0 : call->attr.along.dim] > 0;
}

static bool oxi_vk_can_pick(const oxi_call *call) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    if (!oxi_is_block(x->dtype)) return x->dtype == out->dtype;
    return oxi_vk_expands(x->dtype) && oxi_is_float(out->dtype) && x->stride[1] == 1;
}

static bool oxi_vk_can_index(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_index_form *form = oxi_index_form_of(call->op);
    const ox_tensor *out = call->out[0];
    if (!oxi_vk_fits(out) || !oxi_vk_fits(call->in[0]) || oxi_vk_only_looks(call, form)) return false;
    switch (form->kind) {
    case OXI_INDEX_PICK: return oxi_vk_has_places(call, form) && oxi_vk_can_pick(call);
    case OXI_INDEX_PUT:
        if (form->does != OXI_DOES_MOVES && form->does != OXI_DOES_ADDS) return false;
        return oxi_vk_has_places(call, form) &&
               (form->does == OXI_DOES_MOVES || out->dtype != OX_F64 || d->caps & OX_VULKAN_CAP_F64);
    case OXI_INDEX_SELECT: return oxi_vk_fits(call->in[call->in_count - 1]);
    case OXI_INDEX_COPIES:
        for (int i = 0; i < call->in_count; i++)
            if (oxi_is_block(call->in[i]->dtype)) return false;
        return true;
    case OXI_INDEX_PATTERN: return true;
    }
    return false;
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

enum {
    OXI_VK_SCATTER_THREADS = 1 << 16,  /* invocations that a device is to have */
    OXI_VK_SCATTER_SLICES = 64,        /* most of a line, each of which goes through all of it */
    OXI_VK_SCATTER_LONG = 64           /* elements of a line that is worth more than one */
};

static uint32_t oxi_vk_scatter_slices(const oxi_vk_device *d, int64_t lines, int64_t length) {
    int64_t most = oxi_vk_is_software(d) ? 4 : OXI_VK_SCATTER_SLICES, slices = 1;
    if (length < OXI_VK_SCATTER_LONG) return 1;
    while (slices < most && lines * slices < OXI_VK_SCATTER_THREADS) slices *= 2;
    return (uint32_t)slices;
}

static ox_status oxi_vk_scatter(oxi_vk_device *d, const oxi_call *call) {
    const bool adds = oxi_index_form_of(call->op)->does == OXI_DOES_ADDS;
    oxi_places p;
    oxi_vk_line_operand o[3];
    oxi_vk_dispatch dispatch;
    oxi_vk_lines l;
    oxi_vk_scatter_params params;
    memset(&dispatch, 0, sizeof dispatch);
    memset(&params, 0, sizeof params);
    oxi_places_of(call, &p);
    ox_tensor x = oxi_at_least_1d(call->in[0]), *out = &p.indexed;
    bool in_place = x.storage == out->storage && oxi_same_layout(&x, out);
    ox_status status = in_place ? OX_OK : oxi_vk_copy(d, &x, out);
    for (int i = 0; i < p.ndim; i++)
        if (p.shape[i] == 0) return status;
    if (status != OX_OK) return status;
    oxi_vk_line_operand_of(&o[0], out, 0);
    oxi_vk_line_operand_of(&o[1], &p.index, 0);
    oxi_vk_line_operand_of(&o[2], &p.moved, p.moved.ndim);
    memcpy(o[0].stride, p.indexed_stride, sizeof p.indexed_stride);
    memcpy(o[1].stride, p.index_stride, sizeof p.index_stride);
    oxi_vk_lines_cut(&l, p.ndim, p.shape, 1u << p.dim, true, o, 3);
    l.params.f[1] = (uint32_t)p.step;
    l.params.f[2] = (uint32_t)p.size;
    l.params.extra = (uint32_t)(d->fault->offset / 4);
    params.line = l.params;
    oxi_vk_scatter_alpha(p.alpha, out->dtype, params.alpha);
    dispatch.shader = out->dtype == OX_F64 && adds ? OXI_VK_SHADER_scatter_double : OXI_VK_SHADER_scatter;
    dispatch.special.scatter.dtype = (uint32_t)out->dtype;
    dispatch.special.scatter.lane = adds ? (uint32_t)oxi_lane_of(out->dtype) : (uint32_t)OXI_VK_LANE_RAW;
    dispatch.special.scatter.index = (uint32_t)p.index.dtype;
    dispatch.special.scatter.kind = (uint32_t)call->op + 1;
    dispatch.special.scatter.slices = oxi_vk_scatter_slices(d, l.kept.numel, p.shape[p.dim]);
    dispatch.special.scatter.beside = p.step == 1;
    oxi_vk_bind(&dispatch, 0, out, true);
    oxi_vk_bind(&dispatch, 1, &p.index, false);
    oxi_vk_bind(&dispatch, 2, &p.moved, false);
    oxi_vk_bind_fault(d, &dispatch, OXI_VK_FAULT_BINDING);
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_invocations(&dispatch, (uint64_t)l.kept.numel * dispatch.special.scatter.slices);
    return oxi_vk_record(d, &dispatch);
}

/* ---- triangles and one_hot ----------------------------------------------------------------------------- */

static ox_status oxi_vk_pattern(oxi_vk_device *d, const oxi_call *call) {
    const oxi_index_form *form = oxi_index_form_of(call->op);
    const ox_tensor *x = call->in[0], *out = call->out[0];
    oxi_vk_pattern_params params;
    oxi_vk_dispatch dispatch;
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    if (ox_numel(out) == 0) return OX_OK;
    int64_t number = form->by == OXI_BY_ROWS ? out->shape[out->ndim - 1] : call->attr.diagonal.diagonal;
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
    dispatch.special.pattern.kind = (uint32_t)form->does;
    dispatch.special.pattern.op = (uint32_t)call->op + 1;
    oxi_vk_bind(&dispatch, 0, out, true);
    oxi_vk_bind(&dispatch, 1, x, false);
    oxi_vk_bind_fault(d, &dispatch, OXI_VK_FAULT_BINDING);
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_invocations(&dispatch, params.n);
    return oxi_vk_record(d, &dispatch);
}

/* ---- gather -------------------------------------------------------------------------------------------- */

static void oxi_vk_add_raw(oxi_walk *w, uint64_t byte_at, uint32_t width, const int64_t *stride) {
    oxi_walk_add_raw(w, (char *)(uintptr_t)(OXI_VK_ORIGIN + byte_at), (int64_t)1 << width, stride);
}

static ox_status oxi_vk_gather_run(oxi_vk_device *d, const oxi_call *call) {
    oxi_places p;
    oxi_vk_gather_params params;
    oxi_vk_dispatch dispatch;
    oxi_walk w;
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    oxi_places_of(call, &p);
    if (ox_numel(&p.moved) == 0) return OX_OK;
    oxi_walk_begin(&w, p.ndim, p.shape);
    oxi_vk_walk_add(&w, &p.moved);
    oxi_vk_add_raw(&w, oxi_vk_byte_at(&p.index), oxi_vk_width(p.index.dtype), p.index_stride);
    oxi_vk_add_raw(&w, oxi_vk_byte_at(&p.indexed), oxi_vk_width(p.indexed.dtype), p.indexed_stride);
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
    params.step = (uint32_t)p.step;
    params.size = (uint32_t)p.size;
    uint32_t width = oxi_vk_width(p.moved.dtype), each = oxi_vk_map_packs(&w) && width < 2 ? 4u >> width : 1;
    dispatch.shader = OXI_VK_SHADER_gather;
    dispatch.special.gather.dtype = (uint32_t)p.indexed.dtype;
    dispatch.special.gather.index = (uint32_t)p.index.dtype;
    dispatch.special.gather.each = each;
    oxi_vk_bind(&dispatch, 0, &p.moved, true);
    oxi_vk_bind(&dispatch, 1, &p.index, false);
    oxi_vk_bind(&dispatch, 2, &p.indexed, false);
    oxi_vk_bind_fault(d, &dispatch, OXI_VK_FAULT_BINDING);
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_invocations(&dispatch, ((uint64_t)w.numel + each - 1) / each);
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
    switch (oxi_index_form_of(call->op)->kind) {
    case OXI_INDEX_PICK:
        return oxi_is_block(call->in[0]->dtype) ? oxi_vk_embed_blocks(d, call) : oxi_vk_gather_run(d, call);
    case OXI_INDEX_PUT: return oxi_vk_scatter(d, call);
    case OXI_INDEX_PATTERN: return oxi_vk_pattern(d, call);
    case OXI_INDEX_SELECT: return oxi_vk_select(d, call);
    case OXI_INDEX_COPIES: break;
    }
    return oxi_vk_copies(d, call);
}
