/* Tensors as operands of a dispatch: which block, which element of it, which strides.
 * Walks are those of cpu/walk.c over "addresses" that are places in a block, so that both devices merge and
 * turn dims alike. Used by every executor of vulkan/. */

enum { OXI_VK_ORIGIN = 4096 }; /* the address of a block's first byte in a walk: not NULL */

static oxi_vk_chunk *oxi_vk_chunk_of(const ox_tensor *t) {
    return (oxi_vk_chunk *)t->storage->data;
}

static bool oxi_vk_is_here(const oxi_vk_device *d, const ox_tensor *t) {
    return t->storage->device == &d->base;
}

/* Shaders of a software device are compiled for long, and gain nothing by being unrolled. */
static bool oxi_vk_is_software(const oxi_vk_device *d) {
    return d->type == VK_PHYSICAL_DEVICE_TYPE_CPU;
}

/* A number that the host knows: it goes among the parameters. */
static bool oxi_vk_is_immediate(const ox_tensor *t) {
    return t->is_number && t->storage->device->host;
}

/* Such a number, at `value`; *storage is written. */
static ox_tensor oxi_vk_number(ox_dtype dtype, void *value, ox_storage *storage) {
    ox_tensor number;
    memset(storage, 0, sizeof *storage);
    oxi_meta(&number, dtype, 0, NULL);
    storage->device = ox_cpu();
    storage->data = value;
    number.storage = storage;
    number.is_number = true;
    return number;
}

/* log2 of an element's bytes, as width_of in common.glsl. */
static uint32_t oxi_vk_width(ox_dtype dtype) {
    int64_t bytes = oxi_info(dtype)->block_bytes;
    return bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
}

/* Bytes from the block's start to the tensor's first element. */
static uint64_t oxi_vk_byte_at(const ox_tensor *t) {
    return oxi_vk_chunk_of(t)->offset + oxi_byte_offset(t->dtype, t->offset);
}

/* The same in elements of a plain dtype. */
static uint32_t oxi_vk_element_at(const ox_tensor *t) {
    return (uint32_t)(oxi_vk_byte_at(t) >> oxi_vk_width(t->dtype));
}

static bool oxi_vk_same_memory(const ox_tensor *a, const ox_tensor *b) {
    return oxi_vk_chunk_of(a) == oxi_vk_chunk_of(b) && oxi_same_layout(a, b);
}

static bool oxi_vk_same_block(const ox_tensor *a, const ox_tensor *b) {
    return oxi_vk_chunk_of(a)->block == oxi_vk_chunk_of(b)->block;
}

/* Fits the shaders' 32-bit places. */
static bool oxi_vk_fits(const ox_tensor *t) {
    return ox_numel(t) < (int64_t)1 << 32;
}

/* Element behind element. */
static bool oxi_vk_is_plain_f32(const ox_tensor *t) {
    return t->dtype == OX_F32 && ox_is_contiguous(t);
}

/* Of f32 in quads that shaders reach. */
static bool oxi_vk_is_quads(const ox_tensor *t) {
    return oxi_vk_is_plain_f32(t) && oxi_vk_element_at(t) % 4 == 0;
}

static void oxi_vk_bind(oxi_vk_dispatch *dispatch, int binding, const ox_tensor *t, bool writes) {
    dispatch->use[binding].chunk = oxi_vk_chunk_of(t);
    dispatch->use[binding].writes = writes;
    if (binding >= dispatch->uses) dispatch->uses = binding + 1;
}

/* Bindings that a call leaves open repeat binding `from`, which only reads there. */
static void oxi_vk_bind_open(oxi_vk_dispatch *dispatch, int from) {
    for (int i = 1; i < dispatch->uses; i++)
        if (!dispatch->use[i].chunk) dispatch->use[i].chunk = dispatch->use[from].chunk;
}
static void oxi_vk_bind_rest(oxi_vk_dispatch *dispatch) {
    oxi_vk_bind_open(dispatch, 0);
}

/* Binds the blocks of chunks, or NULLs, beside what is bound already; a word of `blocks` says of ten of them
 * where they are, three bits each. False: they lie in more blocks than a shader binds. */
static bool oxi_vk_bind_blocks(oxi_vk_dispatch *dispatch, oxi_vk_chunk *const *chunk, int count,
                               uint32_t *blocks) {
    if (dispatch->uses < OXI_VK_BINDINGS) dispatch->uses = OXI_VK_BINDINGS;
    for (int i = 0; i < count; i++) {
        int at = 0, open = OXI_VK_BINDINGS;
        if (!chunk[i]) continue;
        for (; at < OXI_VK_BINDINGS; at++) {
            const oxi_vk_chunk *bound = dispatch->use[at].chunk;
            if (bound && bound->block == chunk[i]->block) break;
            if (!bound && at < open) open = at;
        }
        if (at == OXI_VK_BINDINGS && (at = open) == OXI_VK_BINDINGS) return false;
        dispatch->use[at == open ? at : dispatch->uses++].chunk = chunk[i];
        blocks[i / 10] |= (uint32_t)at << (3 * (i % 10));
    }
    return true;
}

/* ---- writes beside each other -------------------------------------------------------------------------- */

/* Notes that the last dispatch wrote this view. */
static void oxi_vk_place(oxi_vk_device *d, const ox_tensor *t) {
    oxi_vk_chunk *chunk = oxi_vk_chunk_of(t);
    d->placed.of = chunk;
    d->placed.written = oxi_vk_epochs_of(d, chunk)->written;
    d->placed.view = *t;
    d->placed.view.offset = (int64_t)oxi_vk_element_at(t);
    d->placed.view.storage = NULL;
}

/* The largest number that divides `pitch` and the strides of all dims of t but the last. */
static int64_t oxi_vk_common_pitch(const ox_tensor *t, int64_t pitch) {
    for (int i = 0; i + 1 < t->ndim; i++)
        for (int64_t rest = t->shape[i] > 1 ? t->stride[i] : 0; rest != 0;) {
            const int64_t next = pitch % rest;
            pitch = rest;
            rest = next;
        }
    return pitch < 0 ? -pitch : pitch;
}

/* Whether t has no element of the view that was noted, which was the last to be written in their memory: both
 * are columns of one matrix, and none is of both. Holds once. */
static bool oxi_vk_lies_beside(oxi_vk_device *d, const ox_tensor *t) {
    const ox_tensor *view = &d->placed.view;
    oxi_vk_chunk *chunk = oxi_vk_chunk_of(t);
    if (d->placed.of != chunk || d->placed.written != oxi_vk_epochs_of(d, chunk)->written) return false;
    d->placed.of = NULL;
    if (t->dtype != view->dtype || t->ndim == 0 || view->ndim == 0) return false;
    if (t->stride[t->ndim - 1] != 1 || view->stride[view->ndim - 1] != 1) return false;
    const int64_t pitch = oxi_vk_common_pitch(t, oxi_vk_common_pitch(view, 0));
    const int64_t apart = view->offset - (int64_t)oxi_vk_element_at(t);
    if (pitch == 0) /* both are one row */
        return apart >= t->shape[t->ndim - 1] || -apart >= view->shape[view->ndim - 1];
    const int64_t behind = apart % pitch,
                  column = behind < 0 ? behind + pitch : behind; /* where the view's lines begin in t's */
    return t->shape[t->ndim - 1] <= column && column + view->shape[view->ndim - 1] <= pitch;
}

/* Where a shader tells that an index is out of range: the last operand, as a rule. */
static void oxi_vk_bind_fault(oxi_vk_device *d, oxi_vk_dispatch *dispatch, int binding) {
    dispatch->use[binding].chunk = d->fault;
    dispatch->use[binding].writes = true;
    dispatch->uses = binding + 1;
    oxi_vk_bind_rest(dispatch);
    d->fault_told = true;
}

/* So many workgroups, in x and y where x alone does not reach. */
static void oxi_vk_groups(oxi_vk_dispatch *dispatch, uint64_t groups) {
    dispatch->groups[1] = (uint32_t)((groups + 65534) / 65535);
    dispatch->groups[0] =
        (uint32_t)(dispatch->groups[1] > 1 ? (groups + dispatch->groups[1] - 1) / dispatch->groups[1]
                                           : groups);
    dispatch->groups[2] = 1;
}

/* Invocations of a workgroup of the shader; 0 where a specialization constant says it. */
static uint32_t oxi_vk_threads(oxi_vk_shader shader) {
    return oxi_vk_shaders[shader].threads;
}

/* As many workgroups as so many invocations are. */
static void oxi_vk_invocations(oxi_vk_dispatch *dispatch, uint64_t count) {
    uint64_t threads = oxi_vk_threads(dispatch->shader);
    oxi_vk_groups(dispatch, (count + threads - 1) / threads);
}

static void oxi_vk_walk_add(oxi_walk *w, const ox_tensor *t) {
    int64_t stride[OX_MAX_DIMS];
    int lead = w->ndim - t->ndim;
    for (int i = 0; i < w->ndim; i++)
        stride[i] = i < lead || (t->shape[i - lead] == 1 && w->shape[i] != 1) ? 0 : t->stride[i - lead];
    char *address = (char *)(uintptr_t)(OXI_VK_ORIGIN + oxi_vk_byte_at(t));
    oxi_walk_add_raw(w, address, (int64_t)1 << oxi_vk_width(t->dtype), stride);
}

/* The first element of a walk's operand, after it was made ready. */
static uint32_t oxi_vk_walk_at(const oxi_walk *w, int operand) {
    return (uint32_t)(((uint64_t)(uintptr_t)w->base[operand] - OXI_VK_ORIGIN) / (uint64_t)w->bytes[operand]);
}

/* Holds a call back (fuse.c), with its tensors and their storages as they were: those may be gone when the
 * call is recorded, but not the memory (oxi_vk_keep). */
static void oxi_vk_hold(oxi_vk_held_call *held, const oxi_call *call) {
    held->call = *call;
    for (int i = 0; i < call->in_count && i < OXI_VK_HELD_IN; i++) {
        held->in[i] = call->in[i];
        if (!call->in[i]) continue;
        held->operand[i] = *call->in[i];
        held->storage[i] = *call->in[i]->storage;
        held->operand[i].storage = &held->storage[i];
        held->in[i] = &held->operand[i];
    }
    held->call.in = held->in;
    held->result = *call->out[0];
    held->result_storage = *call->out[0]->storage;
    held->result.storage = &held->result_storage;
    held->call.out[0] = &held->result;
}

static uint32_t oxi_vk_float_bits(double value) {
    return oxi_bits_of_float((float)value);
}

static void oxi_vk_words_of(uint64_t value, uint32_t *words) {
    words[0] = (uint32_t)value;
    words[1] = (uint32_t)(value >> 32);
}

/* Memory for a tensor that a call makes for itself, [t->shape]; the caller gives the chunk back as soon as
 * its last reader is recorded: whoever gets it next waits for that one. NULL: out of memory. */
static oxi_vk_chunk *oxi_vk_borrow(oxi_vk_device *d, ox_tensor *t, ox_storage *storage) {
    oxi_vk_chunk *chunk = oxi_vk_chunk_alloc(d, (uint64_t)ox_nbytes(t));
    memset(storage, 0, sizeof *storage);
    storage->data = chunk;
    storage->device = &d->base;
    t->storage = storage;
    return chunk;
}
