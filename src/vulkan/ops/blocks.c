/* Block types beside plain ones: copies of blocks as they are, expanded to floats, packed from floats.
 * Shaders expand and pack rows of blocks that lie along the last dim of a temporary header; what else a
 * layout asks for is an elementwise copy before or behind. Called by the Vulkan device for COPY, by
 * products and embeddings of block types. */

/* A tensor that a call makes for itself; the chunk is NULL where there is none. */
typedef struct oxi_vk_temporary {
    ox_tensor t;
    ox_storage storage;
    oxi_vk_chunk *chunk;
} oxi_vk_temporary;

/* [shape], contiguous. */
static ox_status oxi_vk_temporary_make(oxi_vk_device *d, oxi_vk_temporary *made, ox_dtype dtype, int ndim,
                                       const int64_t *shape) {
    oxi_meta(&made->t, dtype, ndim, shape);
    made->chunk = oxi_vk_borrow(d, &made->t, &made->storage);
    return made->chunk ? OX_OK : OX_ERR_NOMEM;
}

/* Whoever gets the memory next waits for its last reader, which must be recorded by now. */
static void oxi_vk_temporary_drop(oxi_vk_device *d, oxi_vk_temporary *made) {
    if (made->chunk) oxi_vk_chunk_give(d, made->chunk);
    made->chunk = NULL;
}

static ox_status oxi_vk_copy(oxi_vk_device *d, const ox_tensor *from, const ox_tensor *to) {
    ox_tensor source = oxi_borrowed(from), result = oxi_borrowed(to), *in = &source;
    oxi_call copy = oxi_call_of(OXI_OP_copy, &in, 1, &result);
    return ox_numel(from) > 0 ? oxi_vk_map(d, &copy) : OX_OK;
}

/* ---- layouts ------------------------------------------------------------------------------------------- */

/* Every block type that the CPU expands: with OX_NO_IQ that is fewer. */
static bool oxi_vk_expands(ox_dtype dtype) {
    return oxi_is_block(dtype) && oxi_cpu_kernels()->unpack[dtype] != NULL;
}

/* t with dim `along` last. */
static ox_tensor oxi_vk_with_last(const ox_tensor *t, int along) {
    ox_tensor view = oxi_borrowed(t);
    int last = t->ndim - 1;
    for (int i = along; i < last; i++) {
        view.shape[i] = t->shape[i + 1];
        view.stride[i] = t->stride[i + 1];
    }
    view.shape[last] = t->shape[along];
    view.stride[last] = t->stride[along];
    return view;
}

/* Contiguous t, seen with its last dim at place `along`. */
static ox_tensor oxi_vk_with_last_at(const ox_tensor *t, int along) {
    ox_tensor view = oxi_borrowed(t);
    int last = t->ndim - 1;
    for (int i = last; i > along; i--) {
        view.shape[i] = t->shape[i - 1];
        view.stride[i] = t->stride[i - 1];
    }
    view.shape[along] = t->shape[last];
    view.stride[along] = t->stride[last];
    return view;
}

/* Blocks along the last dim as so many `unit`s, whose bytes divide a block's. */
static ox_tensor oxi_vk_as_units(const ox_tensor *blocks, ox_dtype unit) {
    ox_tensor view = oxi_borrowed(blocks);
    const ox_dtype_info *info = oxi_info(blocks->dtype);
    int64_t each = info->block_bytes / oxi_info(unit)->block_bytes;
    view.dtype = unit;
    view.offset = blocks->offset / info->block_elements * each;
    for (int i = 0; i < view.ndim - 1; i++) view.stride[i] = blocks->stride[i] / info->block_elements * each;
    view.shape[view.ndim - 1] = blocks->shape[view.ndim - 1] / info->block_elements * each;
    return view;
}

static ox_dtype oxi_vk_unit_of(ox_dtype block) {
    int64_t bytes = oxi_info(block)->block_bytes;
    return bytes % 4 == 0 ? OX_U32 : bytes % 2 == 0 ? OX_U16 : OX_U8;
}

/* ---- expanding ----------------------------------------------------------------------------------------- */

/* iq1, iq2 and iq3: their numbers are looked up in books (oxi_groups of cpu/product/blocks_iq.c). */
static bool oxi_vk_needs_books(ox_dtype dtype) {
    switch (dtype) {
    case OX_IQ1_S:
    case OX_IQ1_M:
    case OX_IQ2_XXS:
    case OX_IQ2_XS:
    case OX_IQ2_S:
    case OX_IQ3_XXS:
    case OX_IQ3_S: return true;
    default: return false;
    }
}

/* Binds the books where dtype needs them; *place: their first word. They go to the device when first asked
 * for, and stay. */
static ox_status oxi_vk_bind_books(oxi_vk_device *d, oxi_vk_dispatch *dispatch, int binding, ox_dtype dtype,
                                   uint32_t *place) {
    if (!oxi_vk_needs_books(dtype)) return OX_OK;
#ifndef OX_NO_IQ
    if (!d->books) {
        uint64_t bytes = OXI_BOOK_GROUPS * sizeof(uint64_t);
        d->books = oxi_vk_chunk_alloc(d, bytes);
        if (!d->books) return OX_ERR_NOMEM;
        ox_status status = oxi_vk_upload(d, d->books, 0, (const char *)oxi_groups(), bytes);
        if (status != OX_OK) return status;
    }
#endif
    *place = (uint32_t)(d->books->offset / 4);
    dispatch->use[binding].chunk = d->books;
    if (binding >= dispatch->uses) dispatch->uses = binding + 1;
    return OX_OK;
}

/* The indices that pick rows of a matrix of blocks. */
static void oxi_vk_expand_picks(oxi_vk_device *d, const oxi_call *pick, oxi_vk_expand_params *params,
                                oxi_vk_dispatch *dispatch) {
    const ox_tensor *blocks = pick->in[0], *ids = pick->in[1];
    params->step = params->stride[0][0];
    params->size = (uint32_t)blocks->shape[0];
    params->index = oxi_vk_element_at(ids);
    params->kind = (uint32_t)pick->op + 1;
    params->fault = (uint32_t)(d->fault->offset / 4);
    dispatch->special.expand.index = (uint32_t)ids->dtype;
    oxi_vk_bind(dispatch, 3, ids, false);
    oxi_vk_bind_fault(d, dispatch, OXI_VK_FAULT_BINDING);
}

/* Blocks along the last dim of `blocks` to contiguous `to`, bf16 or f32 of the same shape, whose first
 * element is a multiple of four; with `pick` the rows of them that its indices, element behind element, are
 * of. */
static ox_status oxi_vk_expand_rows(oxi_vk_device *d, const ox_tensor *blocks, const oxi_call *pick,
                                    const ox_tensor *to) {
    oxi_vk_expand_params params;
    oxi_vk_dispatch dispatch;
    int last = blocks->ndim - 1;
    if (ox_numel(to) == 0) return OX_OK;
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    params.length = (uint32_t)blocks->shape[last];
    params.rows = (uint32_t)(ox_numel(to) / blocks->shape[last]);
    params.dims = (uint32_t)last;
    params.to = oxi_vk_element_at(to);
    params.at = (uint32_t)oxi_vk_byte_at(blocks);
    for (int i = 0; i < last; i++) {
        int64_t blocks_apart = blocks->stride[i] / oxi_info(blocks->dtype)->block_elements;
        params.stride[i][0] = (uint32_t)(blocks_apart * oxi_info(blocks->dtype)->block_bytes);
        params.shape[i] = (uint32_t)blocks->shape[i];
    }
    oxi_vk_bind(&dispatch, 0, to, true);
    oxi_vk_bind(&dispatch, 1, blocks, false);
    ox_status status = oxi_vk_bind_books(d, &dispatch, 2, blocks->dtype, &params.books);
    if (status != OX_OK) return status;
    dispatch.shader = OXI_VK_SHADER_expand;
    if (pick) oxi_vk_expand_picks(d, pick, &params, &dispatch);
    dispatch.special.expand.from = (uint32_t)blocks->dtype;
    dispatch.special.expand.to = (uint32_t)to->dtype;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_invocations(&dispatch, (uint64_t)ox_numel(to) / 8);
    return oxi_vk_record(d, &dispatch);
}

static ox_status oxi_vk_expand(oxi_vk_device *d, const ox_tensor *blocks, const ox_tensor *to) {
    return oxi_vk_expand_rows(d, blocks, NULL, to);
}

/* Blocks to floats of any dtype and strides; shapes broadcast. */
static ox_status oxi_vk_from_blocks(oxi_vk_device *d, const ox_tensor *from, const ox_tensor *to) {
    int along = oxi_block_dim(from);
    ox_tensor blocks = oxi_vk_with_last(from, along);
    oxi_vk_temporary plain;
    bool direct = to->dtype == OX_F32 && to->ndim == from->ndim && along == from->ndim - 1 &&
                  ox_is_contiguous(to) && ox_numel(to) == ox_numel(from) && oxi_vk_element_at(to) % 4 == 0;
    if (direct) return oxi_vk_expand(d, &blocks, to);
    memset(&plain, 0, sizeof plain);
    ox_status status = oxi_vk_temporary_make(d, &plain, OX_F32, blocks.ndim, blocks.shape);
    if (status == OX_OK) status = oxi_vk_expand(d, &blocks, &plain.t);
    if (status == OX_OK) {
        ox_tensor view = oxi_vk_with_last_at(&plain.t, along);
        status = oxi_vk_copy(d, &view, to);
    }
    oxi_vk_temporary_drop(d, &plain);
    return status;
}

/* ---- packing ------------------------------------------------------------------------------------------- */

/* Contiguous floats to contiguous blocks. */
static ox_status oxi_vk_pack(oxi_vk_device *d, const ox_tensor *from, const ox_tensor *to) {
    const ox_dtype_info *info = oxi_info(to->dtype);
    uint32_t count = (uint32_t)(ox_numel(to) / info->block_elements), each = 1; /* invocations of a block */
    oxi_vk_pack_params params = {count, oxi_vk_element_at(from), (uint32_t)oxi_vk_byte_at(to), {0}};
    oxi_vk_dispatch dispatch;
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_bind(&dispatch, 0, to, true);
    oxi_vk_bind(&dispatch, 1, from, false);
    dispatch.shader = OXI_VK_SHADER_pack;
    if (info->block_elements == 256) {
        dispatch.shader = OXI_VK_SHADER_pack_k;
        each = to->dtype == OX_Q6_K ? 16 : 8;
    }
    dispatch.special.pack.dtype = (uint32_t)to->dtype;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_invocations(&dispatch, (uint64_t)count * each);
    return oxi_vk_record(d, &dispatch);
}

/* Same blocks elsewhere. */
static ox_status oxi_vk_copy_blocks(oxi_vk_device *d, const ox_tensor *from, const ox_tensor *to) {
    ox_dtype unit = oxi_vk_unit_of(to->dtype);
    ox_tensor source = oxi_vk_as_units(from, unit), result = oxi_vk_as_units(to, unit);
    return oxi_vk_copy(d, &source, &result);
}

/* Floats of any dtype and strides to blocks; shapes broadcast. */
static ox_status oxi_vk_to_blocks(oxi_vk_device *d, const ox_tensor *from, const ox_tensor *to) {
    int along = oxi_block_dim(to), last = to->ndim - 1;
    ox_tensor blocks = oxi_vk_with_last(to, along), source = oxi_borrowed(from);
    oxi_vk_temporary plain, packed;
    ox_status status = OX_OK;
    bool whole = ox_is_contiguous(&blocks);
    memset(&plain, 0, sizeof plain);
    memset(&packed, 0, sizeof packed);
    if (ox_numel(to) == 0) return OX_OK;
    if (from->dtype != OX_F32 || along != last || ox_numel(from) != ox_numel(to) || !ox_is_contiguous(from)) {
        status = oxi_vk_temporary_make(d, &plain, OX_F32, blocks.ndim, blocks.shape);
        source = plain.t;
        ox_tensor view = oxi_vk_with_last_at(&plain.t, along);
        if (status == OX_OK) status = oxi_vk_copy(d, from, &view);
    }
    if (status == OX_OK && !whole)
        status = oxi_vk_temporary_make(d, &packed, to->dtype, blocks.ndim, blocks.shape);
    if (status == OX_OK) status = oxi_vk_pack(d, &source, whole ? &blocks : &packed.t);
    if (status == OX_OK && !whole) status = oxi_vk_copy_blocks(d, &packed.t, &blocks);
    oxi_vk_temporary_drop(d, &packed);
    oxi_vk_temporary_drop(d, &plain);
    return status;
}

/* ---- copies, from and to any dtype --------------------------------------------------------------------- */

static bool oxi_vk_can_pack(const oxi_vk_device *d, ox_dtype dtype) {
    if (!oxi_cpu_kernels()->quantize[dtype]) return false;
    return oxi_info(dtype)->block_elements == 32 || d->caps & OX_VULKAN_CAP_F64;
}

/* Where the CPU refuses a layout it says so itself. */
static bool oxi_vk_can_copy(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *from = call->in[0], *to = call->out[0];
    bool from_blocks = oxi_is_block(from->dtype), to_blocks = oxi_is_block(to->dtype);
    int lead = to->ndim - from->ndim;
    if (!from_blocks && !to_blocks) return oxi_vk_can_map(d, call);
    if (lead < 0 || !oxi_vk_is_here(d, from) || !oxi_vk_fits(from) || !oxi_vk_fits(to)) return false;
    int from_along = from_blocks ? oxi_block_dim(from) : 0, to_along = to_blocks ? oxi_block_dim(to) : 0;
    if (from_along < 0 || to_along < 0) return false;
    if (from_blocks && to_blocks && from->dtype == to->dtype)
        return to_along == from_along + lead && from->shape[from_along] == to->shape[to_along];
    if (from_blocks &&
        (!oxi_vk_expands(from->dtype) || from->shape[from_along] != to->shape[from_along + lead]))
        return false;
    return !to_blocks || oxi_vk_can_pack(d, to->dtype);
}

static ox_status oxi_vk_copy_any(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *from = call->in[0], *to = call->out[0];
    bool from_blocks = oxi_is_block(from->dtype), to_blocks = oxi_is_block(to->dtype);
    oxi_vk_temporary plain;
    if (!from_blocks && !to_blocks) return oxi_vk_map(d, call);
    if (!from_blocks) return oxi_vk_to_blocks(d, from, to);
    if (!to_blocks) return oxi_vk_from_blocks(d, from, to);
    if (from->dtype == to->dtype) {
        ox_tensor source = oxi_vk_with_last(from, oxi_block_dim(from)),
                  result = oxi_vk_with_last(to, oxi_block_dim(to));
        return oxi_vk_copy_blocks(d, &source, &result);
    }
    memset(&plain, 0, sizeof plain);
    ox_status status = oxi_vk_temporary_make(d, &plain, OX_F32, from->ndim, from->shape);
    if (status == OX_OK) status = oxi_vk_from_blocks(d, from, &plain.t);
    if (status == OX_OK) status = oxi_vk_to_blocks(d, &plain.t, to);
    oxi_vk_temporary_drop(d, &plain);
    return status;
}
