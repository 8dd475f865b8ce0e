/* The device's functions: items for storages, nodes for calls. Nothing runs here but what cannot wait: a call
 * in place on another device's memory, and all of them where the shunt is eager. */

static ox_shunt *oxi_shunt_of(ox_device *device) {
    return (ox_shunt *)device->state;
}

static bool oxi_shunt_is_inherited(const ox_shunt *s) {
    return s->forks != oxi_forks();
}

/* Takes the lock. */
static ox_status oxi_shunt_enter(ox_shunt *s) {
    if (oxi_shunt_is_inherited(s))
        return oxi_fail(OX_ERR_DEVICE,
                        "%s: it was opened before a fork, by the parent process; a child opens "
                        "its own",
                        s->name);
    oxi_stream_take(&s->lock);
    return OX_OK;
}

static void oxi_shunt_free(ox_shunt *s);

static void oxi_shunt_drop_nodes(ox_shunt *s);
static void oxi_shunt_nodes_free(ox_shunt *s, bool all);

/* Nobody can ask for what is pending any more: after the end, without a tensor that is alive. */
static bool oxi_shunt_is_abandoned(const ox_shunt *s) {
    if (!s->closed || s->running || s->node_count == 0) return false;
    const oxi_shunt_item *item = s->items.next;
    while (item != &s->items && !item->held) item = item->next;
    return item == &s->items;
}

/* Gives one reference back and the lock, or all of it. */
static void oxi_shunt_release(ox_shunt *s) {
    if (oxi_shunt_is_abandoned(s)) {
        oxi_shunt_drop_nodes(s);
        oxi_shunt_nodes_free(s, false);
    }
    bool last = --s->references == 0;
    oxi_stream_give(&s->lock);
    if (last) oxi_shunt_free(s);
}

static ox_status oxi_shunt_flush(ox_shunt *s);

/* ---- items --------------------------------------------------------------------------------------------- */

static bool oxi_shunt_is_planned(const ox_shunt *s) {
    return s->desc.device_bytes > 0;
}

/* Bytes that an item takes of the budget. */
static uint64_t oxi_shunt_room_of(size_t bytes) {
    uint64_t align = bytes < 4 * OXI_SHUNT_PAGE ? OXI_SHUNT_ALIGN : OXI_SHUNT_PAGE;
    return ((uint64_t)bytes + align - 1 + (bytes == 0)) / align * align;
}

static uint64_t oxi_shunt_item_room(const oxi_shunt_item *item) {
    return oxi_shunt_room_of(item->bytes + item->skew);
}

/* file: where its bytes lie in one, or 0. */
static oxi_shunt_item *oxi_shunt_item_new(ox_shunt *s, size_t bytes, uint64_t file) {
    uint32_t skew = file % 8 == 0 && s->compute->host ? (uint32_t)(file % OXI_SHUNT_PAGE) : 0;
    if (oxi_shunt_room_of(bytes) <= s->small_most) skew = 0;
    oxi_shunt_item *item = (oxi_shunt_item *)oxi_calloc(1, sizeof *item);
    if (!item) return NULL;
    item->bytes = bytes;
    item->skew = skew;
    item->held = true;
    item->all_f32 = true;
    item->small = oxi_shunt_room_of(bytes) <= s->small_most;
    item->kind = OXI_KIND_STATE; /* until a step says otherwise */
    item->next = &s->items;
    item->previous = s->items.previous;
    item->previous->next = item;
    s->items.previous = item;
    s->references++;
    return item;
}

static void oxi_shunt_item_forget(ox_shunt *s, oxi_shunt_item *item);

/* Somebody needs its bytes after the step that is looked at. */
static bool oxi_shunt_outlives(const oxi_shunt_item *item) {
    return item->held || item->pending > item->uses;
}

static bool oxi_shunt_is_lost(const oxi_shunt_item *item) {
    bool lost = item->failed;
    for (int32_t k = 0; k < item->part_count; k++) lost = lost || item->part[k]->failed;
    return lost;
}

/* Frees an item that nobody needs. The shunt stays: whoever is here has a reference of his own. */
static void oxi_shunt_item_settle(ox_shunt *s, oxi_shunt_item *item) {
    if (item->held || item->pending > 0) return;
    oxi_shunt_item_forget(s, item);
    item->previous->next = item->next;
    item->next->previous = item->previous;
    oxi_free(item, sizeof *item);
    s->references--;
}

static ox_status oxi_shunt_alloc(ox_device *self, size_t bytes, void **out) {
    ox_shunt *s = oxi_shunt_of(self);
    *out = NULL;
    ox_status status = oxi_shunt_enter(s);
    if (status != OX_OK) return status;
    *out = oxi_shunt_item_new(s, bytes, 0);
    oxi_stream_give(&s->lock);
    return *out ? OX_OK : OX_ERR_NOMEM;
}

static void oxi_shunt_item_released(ox_shunt *s, oxi_shunt_item *item) {
    if (oxi_shunt_is_inherited(s)) return;
    oxi_stream_take(&s->lock);
    s->references++;
    item->held = false;
    oxi_shunt_item_settle(s, item);
    oxi_shunt_release(s);
}

static void oxi_shunt_give_back(ox_device *self, void *memory, size_t bytes) {
    (void)bytes;
    if (memory) oxi_shunt_item_released(oxi_shunt_of(self), (oxi_shunt_item *)memory);
}

/* ---- bytes in and out ---------------------------------------------------------------------------------- */

static ox_status oxi_shunt_item_read(ox_shunt *s, oxi_shunt_item *item, size_t offset, void *out,
                                     size_t bytes);
static ox_status oxi_shunt_item_write(ox_shunt *s, oxi_shunt_item *item, size_t offset, const void *data,
                                      size_t bytes);

/* What is pending on an item runs first. */
static ox_status oxi_shunt_ready(ox_shunt *s, const oxi_shunt_item *item) {
    return item->pending > 0 ? oxi_shunt_flush(s) : OX_OK;
}

static ox_status oxi_shunt_lost(const ox_shunt *s) {
    return oxi_fail(OX_ERR_DEVICE, "%s: these numbers were lost when a step failed", s->name);
}

static ox_status oxi_shunt_read(ox_device *self, const void *memory, size_t offset, void *out, size_t bytes) {
    ox_shunt *s = oxi_shunt_of(self);
    oxi_shunt_item *item = (oxi_shunt_item *)(uintptr_t)memory;
    ox_status status = oxi_shunt_enter(s);
    if (status != OX_OK) return status;
    status = s->node_count > 0 ? oxi_shunt_flush(s) : OX_OK;
    if (status == OX_OK) status = oxi_shunt_is_lost(item) ? oxi_shunt_lost(s) : OX_OK;
    if (status == OX_OK && bytes > 0) status = oxi_shunt_item_read(s, item, offset, out, bytes);
    oxi_stream_give(&s->lock);
    return status;
}

static ox_status oxi_shunt_write(ox_device *self, void *memory, size_t offset, const void *data,
                                 size_t bytes) {
    ox_shunt *s = oxi_shunt_of(self);
    oxi_shunt_item *item = (oxi_shunt_item *)memory;
    ox_status status = oxi_shunt_enter(s);
    if (status != OX_OK) return status;
    status = oxi_shunt_ready(s, item);
    if (status == OX_OK && bytes < item->bytes && oxi_shunt_is_lost(item)) status = oxi_shunt_lost(s);
    if (status == OX_OK && bytes > 0) status = oxi_shunt_item_write(s, item, offset, data, bytes);
    if (status == OX_OK) item->failed = false;
    oxi_stream_give(&s->lock);
    return status;
}

static ox_status oxi_shunt_copy(ox_device *self, void *to, size_t to_offset, const void *from,
                                size_t from_offset, size_t bytes) {
    void *through = oxi_alloc(bytes);
    ox_status status = through ? oxi_shunt_read(self, from, from_offset, through, bytes) : OX_ERR_NOMEM;
    if (status == OX_OK) status = oxi_shunt_write(self, to, to_offset, through, bytes);
    oxi_free(through, bytes);
    return status;
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

/* Memory of the step that is kept; it goes with the step. */
static void *oxi_shunt_node_memory(ox_shunt *s, size_t bytes) {
    oxi_shunt_chunk *chunk = s->chunks;
    bytes = (bytes + 15) / 16 * 16;
    if (!chunk || chunk->bytes - chunk->used < bytes) {
        size_t head = (sizeof *chunk + 15) / 16 * 16;
        size_t room = head + bytes > OXI_SHUNT_CHUNK ? head + bytes : (size_t)OXI_SHUNT_CHUNK;
        chunk = (oxi_shunt_chunk *)oxi_alloc(room);
        if (!chunk) return NULL;
        chunk->next = s->chunks;
        chunk->used = head;
        chunk->bytes = room;
        s->chunks = chunk;
    }
    void *memory = (char *)chunk + chunk->used;
    chunk->used += bytes;
    return memory;
}

/* All but one chunk, which the next step begins with. */
static void oxi_shunt_nodes_free(ox_shunt *s, bool all) {
    while (s->chunks && (all || s->chunks->next)) {
        oxi_shunt_chunk *chunk = s->chunks;
        s->chunks = chunk->next;
        oxi_free(chunk, chunk->bytes);
    }
    if (s->chunks) s->chunks->used = (sizeof *s->chunks + 15) / 16 * 16;
    s->node_count = 0;
}

/* A copy of what t reaches of memory of another device: offset becomes that of its first element there. */
static oxi_shunt_item *oxi_shunt_snapshot(ox_shunt *s, const ox_tensor *t, int64_t *offset) {
    int64_t first, last;
    if (ox_numel(t) == 0) {
        *offset = 0;
        oxi_shunt_item *empty = oxi_shunt_item_new(s, 0, 0);
        if (empty) empty->held = false;
        return empty;
    }
    oxi_reach(t, &first, &last);
    size_t from = oxi_byte_offset(t->dtype, first);
    size_t bytes = oxi_byte_offset(t->dtype, last) + (size_t)oxi_info(t->dtype)->block_bytes - from;
    *offset = t->offset - first;
    oxi_shunt_item *item = oxi_shunt_item_new(s, bytes, 0);
    ox_device *device = ox_device_of(t);
    ox_status status = item ? OX_OK : OX_ERR_NOMEM;
    if (status == OX_OK && device->host) {
        status = oxi_shunt_item_write(s, item, 0, (const char *)oxi_storage_data(t->storage) + from, bytes);
    } else if (status == OX_OK) {
        void *through = oxi_alloc(bytes);
        status = through ? device->read(device, t->storage->data, from, through, bytes) : OX_ERR_NOMEM;
        if (status == OX_OK) status = oxi_shunt_item_write(s, item, 0, through, bytes);
        oxi_free(through, bytes);
    }
    if (item) item->held = false; /* the node's alone */
    if (status == OX_OK) return item;
    if (item) oxi_shunt_item_settle(s, item);
    return NULL;
}

static bool oxi_shunt_covers(const ox_tensor *t, const oxi_shunt_item *item) {
    if (ox_nbytes(t) != item->bytes) return false;
    for (int d = 0; d < t->ndim; d++)
        if (t->stride[d] == 0 && t->shape[d] > 1) return false;
    return true;
}

/* From one row of what t is a part of to the next one, where a place in a row has a meaning of its own. */
static int64_t oxi_shunt_columns_of(const ox_tensor *t) {
    bool rows = t->ndim == 2 || t->ndim == 3;
    return rows && t->stride[t->ndim - 1] == 1 ? t->stride[t->ndim - 2] : 0;
}

/* written: as a result, which another device's memory is written to directly. */
static bool oxi_shunt_note(ox_shunt *s, ox_tensor *t, bool written, oxi_shunt_operand *o, int64_t **dims,
                           bool *at_once) {
    memset(o, 0, sizeof *o);
    if (!t) return true;
    o->there = true;
    o->is_number = t->is_number;
    o->dtype = t->dtype;
    o->ndim = (int8_t)t->ndim;
    o->offset = t->offset;
    o->dims = *dims;
    for (int d = 0; d < t->ndim; d++) {
        o->dims[d] = t->shape[d];
        o->dims[t->ndim + d] = t->stride[d];
    }
    *dims += 2 * t->ndim;
    ox_device *device = ox_device_of(t);
    if (device == &s->device && (ox_numel(t) > 0 || t->storage->bytes == 0)) {
        o->item = (oxi_shunt_item *)t->storage->data;
    } else if (device == &s->device) { /* what reaches no element needs none of its item's memory */
        if (!(o->item = oxi_shunt_snapshot(s, t, &o->offset))) return false;
    } else if (t->is_number && device->host) {
        memcpy(o->number, oxi_ptr(t), (size_t)oxi_info(t->dtype)->block_bytes);
        o->offset = 0;
        return true;
    } else if (written) {
        o->given = t;
        *at_once = true;
        return true;
    } else if (!(o->item = oxi_shunt_snapshot(s, t, &o->offset))) {
        return false;
    }
    o->covers = oxi_shunt_covers(t, o->item);
    o->item->all_f32 = o->item->all_f32 && t->dtype == OX_F32;
    if (written) o->item->columns = oxi_shunt_columns_of(t);
    o->item->pending++;
    return true;
}

static oxi_shunt_node *oxi_shunt_node_new(ox_shunt *s, const oxi_call *call, int64_t **dims) {
    int operands = call->in_count + call->out_count;
    size_t numbers = 0;
    for (int i = 0; i < call->in_count; i++) numbers += call->in[i] ? 2 * (size_t)call->in[i]->ndim : 0;
    for (int i = 0; i < call->out_count; i++) numbers += call->out[i] ? 2 * (size_t)call->out[i]->ndim : 0;
    size_t head = (sizeof(oxi_shunt_node) + 15) / 16 * 16, attr = (sizeof(oxi_attrs) + 15) / 16 * 16;
    size_t list = (size_t)operands * sizeof(oxi_shunt_operand);
    char *memory = (char *)oxi_shunt_node_memory(s, head + attr + list + numbers * sizeof **dims);
    if (!memory) return NULL;
    oxi_shunt_node *node = (oxi_shunt_node *)(void *)memory;
    node->attr = (oxi_attrs *)(void *)(memory + head);
    node->operand = (oxi_shunt_operand *)(void *)(memory + head + attr);
    *dims = (int64_t *)(void *)(memory + head + attr + list);
    node->op = call->op;
    node->exact = call->exact;
    node->in_count = call->in_count;
    node->out_count = call->out_count;
    *node->attr = call->attr;
    node->random = call->random;
    node->name = call->name;
    node->shape_key = 0;
    node->number = s->node_count;
    node->told = NULL;
    return node;
}

/* Whether e is raised to the call's last result on the way back: what that is off by is a factor there. */
static bool oxi_shunt_makes_logarithms(const oxi_call *call) {
    return call->op == OXI_OP_log_softmax || call->op == OXI_OP_logsumexp ||
           (call->op == OXI_OP_attention && call->out_count > 1);
}

/* at_once: a result lies in another device's memory. */
static ox_status oxi_shunt_keep(ox_shunt *s, const oxi_call *call, bool *at_once) {
    int64_t *dims;
    oxi_shunt_node **nodes =
        (oxi_shunt_node **)oxi_grow(s->nodes, &s->node_room, (size_t)s->node_count + 1, sizeof *nodes, false);
    if (!nodes) return OX_ERR_NOMEM;
    s->nodes = nodes;
    oxi_shunt_node *node = oxi_shunt_node_new(s, call, &dims);
    bool noted = node != NULL;
    int count = 0;
    for (; noted && count < call->in_count; count++)
        noted = oxi_shunt_note(s, call->in[count], false, &node->operand[count], &dims, at_once);
    for (int i = 0; noted && i < call->out_count; i++, count++)
        noted = oxi_shunt_note(s, call->out[i], true, &node->operand[count], &dims, at_once);
    if (noted && oxi_shunt_makes_logarithms(call) && node->operand[count - 1].item)
        node->operand[count - 1].item->all_f32 = false;
    if (noted) {
        nodes[s->node_count++] = node;
        s->stats.calls++;
        return OX_OK;
    }
    for (int i = 0; node && i < count - 1; i++)
        if (node->operand[i].item) {
            node->operand[i].item->pending--;
            oxi_shunt_item_settle(s, node->operand[i].item);
        }
    return ox_error() != OX_OK ? ox_error() : OX_ERR_NOMEM;
}

/* The compute device's run knows what it does without kernels. But rows for gradients, and what is saved for
 * them, are called only where it has them: it is asked with operands as it would get them. */
static bool oxi_shunt_supports(ox_device *self, const oxi_call *call) {
    const ox_shunt *s = oxi_shunt_of(self);
    ox_tensor header[OXI_MAX_IN], *in[OXI_MAX_IN];
    ox_storage storage;
    bool saves = call->op == OXI_OP_attention && call->out_count > 1;
    if (s->compute->host || (oxi_op_row_of(call->op)->family != OXI_FAMILY_BACK && !saves)) return true;
    memset(&storage, 0, sizeof storage);
    storage.references = 1;
    storage.device = s->compute;
    oxi_call asked = *call;
    asked.in = in;
    for (int i = 0; i < call->in_count; i++) {
        in[i] = call->in[i] ? &header[i] : NULL;
        if (!in[i]) continue;
        header[i] = *call->in[i];
        header[i].storage = &storage;
    }
    return s->compute->supports(s->compute, &asked);
}

static ox_status oxi_shunt_run(ox_device *self, const oxi_call *call) {
    ox_shunt *s = oxi_shunt_of(self);
    bool at_once = s->desc.eager;
    ox_status status = oxi_shunt_enter(s);
    if (status != OX_OK) return status;
    s->references++;
    for (int i = 0; i < call->out_count && !s->desc.eager;
         i++) /* its step is its own: others keep their keys */
        at_once = at_once || ox_device_of(call->out[i]) != self;
    if (at_once && s->node_count > 0) status = oxi_shunt_flush(s);
    if (status == OX_OK) status = oxi_shunt_keep(s, call, &at_once);
    if (status == OX_OK && (at_once || s->node_count >= OXI_SHUNT_NODES_MOST)) status = oxi_shunt_flush(s);
    oxi_shunt_release(s);
    return status;
}

static ox_status oxi_shunt_sync(ox_device *self) {
    ox_shunt *s = oxi_shunt_of(self);
    ox_status status = oxi_shunt_enter(s);
    if (status != OX_OK) return status;
    status = s->node_count > 0 ? oxi_shunt_flush(s) : OX_OK;
    if (status == OX_OK) status = s->compute->sync(s->compute);
    oxi_stream_give(&s->lock);
    return status;
}
