/* Attention that makes its query, and the newest key and value, itself: what norms of heads, rope and copies
 * into the caches would have written, in the same dispatch (shaders/rows/turned.glsl). fuse.c holds those
 * calls back until the attention comes, as they do when a language model writes token by token. */

enum { OXI_VK_TURNED_DEPTH = 256 }; /* of a row, at most: both rows lie in shared memory */

/* As they are called: q and k with their norms or without, then k and v into the caches. */
typedef struct oxi_vk_turned_group {
    const ox_tensor *query;            /* of the attention */
    const oxi_call *rope[2], *norm[2]; /* NULL; norm: or of what rope turns, of heads or all as one row, .. */
    bool late[2];                      /* .. or of what it has turned */
    const oxi_call *keep[2];           /* copies of the turned k, and of v */
} oxi_vk_turned_group;

/* Row `side` (q, k, v) before anything is done to it, as [heads, 1, size]. */
static ox_tensor oxi_vk_turned_raw(const oxi_vk_turned_group *g, int side) {
    if (side == 0 && !g->rope[0]) return *g->query;
    ox_tensor raw = side < 2 && g->rope[side] ? *g->rope[side]->in[0] : *g->keep[side - 1]->in[0];
    if (side == 2 || !g->norm[side] || g->late[side]) return raw;
    raw.storage = g->norm[side]->in[0]->storage;
    raw.offset = g->norm[side]->in[0]->offset;
    return raw;
}

/* Whether a norm takes all heads as one row, [1, heads * size]. */
static bool oxi_vk_norms_row(const oxi_call *norm) {
    return norm->in[0]->ndim == 2;
}

/* The result of a norm of heads [1, heads, size], or of them as one row, as attention has it: like x,
 * [heads, 1, size]. */
static ox_tensor oxi_vk_normed_heads(const oxi_call *norm, const ox_tensor *x) {
    ox_tensor heads = *x;
    heads.storage = norm->out[0]->storage;
    heads.offset = norm->out[0]->offset;
    return heads;
}

/* The norms do the same, in a way that the shader has. Rope leaves the sum of squares as it is where it only
 * turns. */
static bool oxi_vk_norm_alike(const oxi_vk_turned_group *g) {
    const oxi_call *q = g->norm[0], *k = g->norm[1];
    if (!q || !k) return !q && !k;
    if (q->attr.norm.eps != k->attr.norm.eps || g->late[0] != g->late[1]) return false;
    if (g->late[0] && g->rope[0]->attr.rope.magnitude != 1) return false;
    return oxi_vk_norms_row(q) == oxi_vk_norms_row(k);
}

/* f32 [heads, 1, size], each row element behind element. */
static bool oxi_vk_is_row_of_heads(const ox_tensor *t, int64_t heads, int64_t size) {
    return t->dtype == OX_F32 && t->ndim == 3 && t->shape[0] == heads && t->shape[1] == 1 &&
           t->shape[2] == size && (t->stride[2] == 1 || size == 1) && oxi_vk_fits(t);
}

/* Which row of a cache, as attention sees it, `row` is; -1: none. */
static int64_t oxi_vk_row_of_cache(const ox_tensor *cache, const ox_tensor *row) {
    const int64_t step = cache->stride[1], from = row->offset - cache->offset;
    if (oxi_vk_chunk_of(cache) != oxi_vk_chunk_of(row) || cache->dtype != row->dtype) return -1;
    if (row->ndim != 3 || row->shape[0] != cache->shape[0] || row->shape[1] != 1 ||
        row->shape[2] != cache->shape[2])
        return -1;
    if ((row->stride[0] != cache->stride[0] && row->shape[0] > 1) || row->stride[2] != 1) return -1;
    if (step <= 0 || from < 0 || from % step != 0 || from / step >= cache->shape[1]) return -1;
    return from / step;
}

/* Both ropes do the same, of one position. */
static bool oxi_vk_turn_alike(const oxi_vk_turned_group *g) {
    const oxi_call *q = g->rope[0], *k = g->rope[1];
    if (!q || !k) return !q && !k;
    const ox_tensor *positions = q->in[1], *factors = q->in[2];
    if (!positions || !k->in[1] || !oxi_vk_same_memory(positions, k->in[1]) || ox_numel(positions) != 1)
        return false;
    if (!factors != !k->in[2] || (factors && !oxi_vk_same_memory(factors, k->in[2]))) return false;
    if (!oxi_vk_norm_alike(g)) return false;
    return q->attr.rope.base == k->attr.rope.base && q->attr.rope.scale == k->attr.rope.scale &&
           q->attr.rope.magnitude == k->attr.rope.magnitude && q->attr.rope.dims == k->attr.rope.dims &&
           q->attr.rope.interleaved == k->attr.rope.interleaved;
}

/* What is written beside the result of attention: q and k turned, and with their norms. */
static int oxi_vk_turned_written(const oxi_vk_turned_group *g, const ox_tensor **out) {
    int count = 0;
    for (int i = 0; i < 2; i++)
        if (g->rope[i]) out[count++] = g->rope[i]->out[0];
    for (int i = 0; i < 2; i++)
        if (g->norm[i]) out[count++] = g->norm[i]->out[0];
    return count;
}

/* ---- turns --------------------------------------------------------------------------------------------- */

/* A row of the turns that this rope makes use of, still to be made. */
static oxi_vk_turns oxi_vk_turns_for(oxi_vk_device *d, const oxi_call *rope) {
    oxi_vk_turns t;
    memset(&t, 0, sizeof t);
    t.base = rope->attr.rope.base;
    t.scale = rope->attr.rope.scale;
    t.magnitude = rope->attr.rope.magnitude;
    t.dims = rope->attr.rope.dims;
    t.dtype = rope->in[1]->dtype;
    for (int i = 0; i < 2; i++) {
        const ox_tensor *of = rope->in[1 + i];
        if (!of) continue;
        oxi_vk_chunk *chunk = oxi_vk_chunk_of(of);
        t.of[i] = chunk;
        t.at[i] = oxi_vk_byte_at(of);
        t.written[i] = oxi_vk_epochs_of(d, chunk)->written;
        t.carried[i] = chunk->carried[OXI_VK_UP];
    }
    return t;
}

/* of the same rope, perhaps at another position; layers with other factors have a row of their own */
static bool oxi_vk_turns_alike(const oxi_vk_turns *a, const oxi_vk_turns *b) {
    return a->base == b->base && a->scale == b->scale && a->magnitude == b->magnitude && a->dims == b->dims &&
           a->of[1] == b->of[1] && a->at[1] == b->at[1];
}

/* Memory that others may write is never known to be the same. */
static bool oxi_vk_turns_hold(const oxi_vk_turns *a, const oxi_vk_turns *b) {
    bool same = oxi_vk_turns_alike(a, b) && a->dtype == b->dtype;
    for (int i = 0; i < 2 && same; i++)
        same = a->of[i] == b->of[i] && a->at[i] == b->at[i] && a->written[i] == b->written[i] &&
               a->carried[i] == b->carried[i] && !(b->of[i] && b->of[i]->block->lent);
    return same;
}

/* Turns pairs (1, 0) by the rope: their cosines and sines. */
static ox_status oxi_vk_turns_make(oxi_vk_device *d, const oxi_call *rope, oxi_vk_chunk *frequencies,
                                   oxi_vk_chunk *to) {
    const int64_t shape[3] = {1, 1, rope->attr.rope.dims};
    ox_tensor x, out, *in[3] = {&x, rope->in[1], rope->in[2]};
    ox_storage storage[2];
    oxi_call call = *rope;
    memset(storage, 0, sizeof storage);
    storage[0].data = frequencies;
    storage[1].data = to;
    storage[0].device = storage[1].device = &d->base;
    oxi_meta(&x, OX_F32, 3, shape);
    oxi_meta(&out, OX_F32, 3, shape);
    x.storage = &storage[0];
    x.offset = rope->attr.rope.dims; /* behind the frequencies */
    out.storage = &storage[1];
    call.in = in;
    call.out[0] = &out;
    call.attr.rope.interleaved = true;
    return oxi_vk_rope(d, &call, NULL, NULL);
}

/* The row of a rope like `own`, or else a free one, or the one that was not asked for the longest: the first
 * of the list now. */
static oxi_vk_turns *oxi_vk_turns_row(oxi_vk_device *d, const oxi_vk_turns *own) {
    int at = 0;
    while (at < OXI_VK_FREQUENCIES - 1 && d->turns[at].chunk && !oxi_vk_turns_alike(&d->turns[at], own)) at++;
    const oxi_vk_turns row = d->turns[at];
    memmove(&d->turns[1], &d->turns[0], (size_t)at * sizeof row);
    d->turns[0] = row;
    return &d->turns[0];
}

/* The chunk with the turns of a rope's one position. All layers share them: working them out takes longer
 * than what else attention to few keys does. */
static ox_status oxi_vk_turns_of(oxi_vk_device *d, const oxi_call *rope, oxi_vk_chunk **out) {
    oxi_vk_turns own = oxi_vk_turns_for(d, rope), *row = oxi_vk_turns_row(d, &own);
    oxi_vk_chunk *frequencies = NULL;
    *out = row->chunk;
    if (row->chunk && oxi_vk_turns_hold(row, &own)) return OX_OK;
    ox_status status = oxi_vk_frequencies(d, own.base, own.dims, &frequencies);
    own.chunk = row->chunk;
    if (row->chunk && row->dims != own.dims) oxi_vk_chunk_give(d, row->chunk);
    if (!row->chunk || row->dims != own.dims)
        own.chunk = oxi_vk_chunk_alloc(d, (uint64_t)own.dims * sizeof(float));
    *row = own;
    if (!own.chunk) return OX_ERR_NOMEM;
    if (status == OX_OK) status = oxi_vk_turns_make(d, rope, frequencies, own.chunk);
    if (status != OX_OK) row->of[0] = NULL;
    *out = own.chunk;
    return status;
}

/* What is read of block 4, where it lies beside the turns; -1: elsewhere. */
static int oxi_vk_turned_small(const oxi_vk_turned_group *g, const oxi_vk_chunk *turns,
                               const ox_tensor **out) {
    int count = 0;
    for (int i = 0; i < 2; i++)
        if (g->norm[i]) out[count++] = g->norm[i]->in[1];
    for (int i = 0; i < count; i++)
        if (oxi_vk_chunk_of(out[i])->block != turns->block) return -1;
    return count;
}

/* Whether workgroups can write all that without reading what others write: each other's rows of the caches
 * are the only ones that are read and written. */
static bool oxi_vk_turned_apart(const oxi_vk_turned_group *g, const oxi_call *call) {
    const ox_tensor *written[5], *out = call->out[0], *mask = call->in[3];
    ox_tensor raw[3];
    for (int i = 0; i < 3; i++) raw[i] = oxi_vk_turned_raw(g, i);
    int count = oxi_vk_turned_written(g, written);
    written[count++] = out;
    for (int i = 0; i < count; i++) {
        if (!oxi_vk_same_block(written[i], out)) return false;
        if (mask && oxi_vk_chunk_of(written[i]) == oxi_vk_chunk_of(mask)) return false;
        for (int k = 0; k < i; k++)
            if (oxi_vk_chunk_of(written[i]) == oxi_vk_chunk_of(written[k])) return false;
        for (int k = 0; k < 3; k++)
            if (oxi_vk_chunk_of(written[i]) == oxi_vk_chunk_of(&raw[k])) return false;
        for (int k = 0; k < 2; k++)
            if (oxi_vk_chunk_of(written[i]) == oxi_vk_chunk_of(g->keep[k]->out[0])) return false;
    }
    if (oxi_vk_chunk_of(g->keep[0]->out[0]) == oxi_vk_chunk_of(g->keep[1]->out[0])) return false;
    for (int k = 0; mask && k < 2; k++)
        if (oxi_vk_chunk_of(g->keep[k]->out[0]) == oxi_vk_chunk_of(mask)) return false;
    for (int k = 0; k < 3; k++)
        if (!oxi_vk_same_block(&raw[k], &raw[0]) ||
            oxi_vk_chunk_of(&raw[k]) == oxi_vk_chunk_of(g->keep[0]->out[0]) ||
            oxi_vk_chunk_of(&raw[k]) == oxi_vk_chunk_of(g->keep[1]->out[0]))
            return false;
    return true;
}

/* Whether `call`, an attention, is of what the group makes, in a form that one dispatch can have. */
static bool oxi_vk_attends_turned(const oxi_vk_turned_group *g, const oxi_call *call) {
    const ox_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2];
    oxi_vk_attention_params p;
    if (q->ndim != 3 || k->ndim != 3 || v->ndim != 3 || q->shape[1] != 1) return false;
    if (call->in[3] && g->rope[0]) return false; /* turns lie where the mask is bound */
    if (q->dtype != OX_F32 || call->out[0]->dtype != OX_F32 || ox_numel(call->out[0]) == 0) return false;
    if (k->dtype != v->dtype) return false;
    if (k->dtype != OX_F32 && k->dtype != OX_F16 && k->dtype != OX_BF16) return false;
    const int64_t heads = q->shape[0], size = q->shape[2], kept = k->shape[0], depth = v->shape[2];
    if (size > OXI_VK_TURNED_DEPTH || depth > OXI_VK_TURNED_DEPTH || !oxi_vk_turn_alike(g)) return false;
    oxi_vk_attention_params_of(call, &p);
    if (!oxi_vk_attention_is_few(call, &p)) return false;
    for (int i = 0; i < 3; i++) {
        const ox_tensor raw = oxi_vk_turned_raw(g, i);
        if (!oxi_vk_is_row_of_heads(&raw, i ? kept : heads, i < 2 ? size : depth)) return false;
        if (i < 2 && g->norm[i] && oxi_vk_norms_row(g->norm[i]) &&
            (oxi_vk_element_at(&raw) % 4 != 0 || (raw.shape[0] > 1 && raw.stride[0] != size)))
            return false;
    }
    const ox_tensor query = !g->rope[0]   ? *q
                            : g->late[0] ? oxi_vk_normed_heads(g->norm[0], g->rope[0]->out[0])
                                         : *g->rope[0]->out[0];
    if (g->rope[0] && (g->rope[0]->attr.rope.dims > size || !oxi_vk_same_memory(q, &query) ||
                       !oxi_vk_is_row_of_heads(g->rope[1]->out[0], kept, size) ||
                       !oxi_vk_is_row_of_heads(g->rope[0]->out[0], heads, size)))
        return false;
    const int64_t row = oxi_vk_row_of_cache(k, g->keep[0]->out[0]);
    const int64_t start = call->attr.attention.query_start, window = call->attr.attention.window;
    /* who sees the newest key writes it */
    const bool seen = (!call->attr.attention.causal || row <= start) && (!window || row + window > start);
    return row >= 0 && seen && row == oxi_vk_row_of_cache(v, g->keep[1]->out[0]) &&
           oxi_vk_turned_apart(g, call);
}

static void oxi_vk_turned_params(const oxi_vk_turned_group *g, const oxi_call *call,
                                 const oxi_vk_chunk *turns, oxi_vk_attention_params *p) {
    p->newest = (uint32_t)oxi_vk_row_of_cache(call->in[1], g->keep[0]->out[0]);
    p->pairs = turns ? (uint32_t)(g->rope[0]->attr.rope.dims / 2) : 0;
    p->turns = turns ? (uint32_t)(turns->offset / 4) : 0;
    for (int i = 0; i < 3; i++) {
        const ox_tensor raw = oxi_vk_turned_raw(g, i);
        p->raw_at[i] = oxi_vk_element_at(&raw);
        p->raw_head[i] = (uint32_t)raw.stride[0];
    }
    for (int i = 0; i < 2 && turns; i++) {
        const ox_tensor *out = g->rope[i]->out[0];
        p->turned_at[i] = oxi_vk_element_at(out);
        p->turned_head[i] = (uint32_t)out->stride[0];
        if (!g->norm[i]) continue;
        p->weight_at[i] = oxi_vk_element_at(g->norm[i]->in[1]);
        p->normal_at[i] = oxi_vk_element_at(g->norm[i]->out[0]);
        p->normal_head[i] = (uint32_t)out->shape[2];
        p->epsilon = oxi_vk_float_bits(g->norm[i]->attr.norm.eps);
    }
}

/* Binds what attention reads and writes beside its own operands, and tells its shader of it. */
static void oxi_vk_turned_bind(const oxi_vk_turned_group *g, oxi_vk_chunk *turns,
                               const ox_tensor *const *small, int small_count, oxi_vk_dispatch *dispatch) {
    const ox_tensor *written[4];
    ox_tensor raw[3];
    int more = OXI_VK_BINDINGS;
    oxi_vk_attention_row_specials *special = &dispatch->special.attention_row;
    for (int i = 0; i < 3; i++) raw[i] = oxi_vk_turned_raw(g, i);
    oxi_vk_bind(dispatch, 1, &raw[0], false);
    if (turns) dispatch->use[4].chunk = turns;
    for (int i = 1; i < 3; i++) oxi_vk_bind(dispatch, more++, &raw[i], false);
    for (int i = 0; i < small_count; i++) oxi_vk_bind(dispatch, more++, small[i], false);
    for (int i = 0; i < 2; i++) oxi_vk_bind(dispatch, more++, g->keep[i]->out[0], true);
    for (int i = oxi_vk_turned_written(g, written); i-- > 0;)
        oxi_vk_bind(dispatch, more++, written[i], true);
    special->turns = turns ? 1 : 2;
    special->interleaved = turns && g->rope[0]->attr.rope.interleaved;
    special->norm = !g->norm[0] ? 0 : g->late[0] ? 3 : oxi_vk_norms_row(g->norm[0]) ? 2 : 1;
}

/* Records it all; *done = false: it has to go one by one, for what is small lies in several blocks. */
static ox_status oxi_vk_attention_turned(oxi_vk_device *d, const oxi_vk_turned_group *g, const oxi_call *call,
                                         bool *done) {
    const ox_tensor *small[2];
    oxi_vk_attention_params p;
    oxi_vk_dispatch dispatch;
    oxi_vk_chunk *turns = NULL;
    *done = false;
    ox_status status = g->rope[0] ? oxi_vk_turns_of(d, g->rope[0], &turns) : OX_OK;
    const int count = status == OX_OK ? oxi_vk_turned_small(g, turns, small) : -1;
    if (status != OX_OK || count < 0) return status;
    *done = true;
    oxi_vk_attention_params_of(call, &p);
    oxi_vk_attention_begin(call, &p, &dispatch);
    oxi_vk_turned_params(g, call, turns, &p);
    oxi_vk_turned_bind(g, turns, small, count, &dispatch);
    return oxi_vk_attention_few(d, &dispatch, &p);
}
