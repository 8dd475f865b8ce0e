/* Norms of heads and the ropes beside them, held back for the attention that they are made for, with the
 * copies of keys and values into their caches. Called by fuse.c, which says what is held. */

enum { OXI_VK_HEAD = 512 }; /* the longest head whose norm rope takes into itself */

/* rms_norm of each head of [S, heads, size]. */
static bool oxi_vk_can_hold_heads(const oxi_call *call) {
    const ox_tensor *x = call->in[0], *weight = call->in[1];
    return oxi_vk_fused_of(call->op)->tail == OXI_VK_NORM_RMS && call->attr.norm.last_dims == 1 &&
           x->ndim == 3 && x->shape[2] % 4 == 0 && x->shape[2] <= OXI_VK_HEAD && ox_numel(x) > 0 &&
           oxi_vk_fits(x) && oxi_vk_is_quads(x) && weight && oxi_vk_is_plain_f32(weight) &&
           oxi_vk_is_plain_f32(call->out[0]);
}

/* rms_norm of all heads as one row, [1, heads * size]. */
static bool oxi_vk_can_hold_row(const oxi_call *call) {
    const ox_tensor *x = call->in[0], *weight = call->in[1];
    return oxi_vk_fused_of(call->op)->tail == OXI_VK_NORM_RMS && call->attr.norm.last_dims == 1 &&
           x->ndim == 2 && x->shape[0] == 1 && ox_numel(x) > 0 && oxi_vk_is_quads(x) && weight &&
           oxi_vk_is_plain_f32(weight) && oxi_vk_is_plain_f32(call->out[0]);
}

/* Whether x, [heads, 1, size], is the row that such a norm gives. */
static bool oxi_vk_is_of_row(const ox_tensor *x, const oxi_call *norm) {
    const ox_tensor *row = norm->out[0];
    return oxi_vk_is_row_of_heads(x, x->ndim > 0 ? x->shape[0] : 0, x->ndim > 2 ? x->shape[2] : 0) &&
           ox_numel(x) == ox_numel(row) && (x->shape[0] == 1 || x->stride[0] == x->shape[2]) &&
           oxi_vk_chunk_of(x) == oxi_vk_chunk_of(row) && x->offset == row->offset;
}

/* A norm of so few heads, or of so short a row of them, that products could have taken it. */
static void oxi_vk_take_heads(oxi_vk_device *d, const oxi_call *rope) {
    const oxi_call *norm = &d->norm.call;
    if (!d->held_norm || d->held_post || d->held_products > 0 || d->norm_written) return;
    if (!oxi_vk_can_hold_heads(norm) && !(oxi_vk_can_hold_row(norm) && oxi_vk_is_of_row(rope->in[0], norm)))
        return;
    oxi_vk_hold(&d->heads, &d->norm.call);
    d->held_norm = false;
    d->held_heads = true;
}

/* Heads as norms have them, [S, heads, size], as rope and attention do. */
static ox_tensor oxi_vk_heads_first(const ox_tensor *heads) {
    ox_tensor turned = *heads;
    for (int i = 0; i < 2; i++) {
        turned.shape[i] = heads->shape[1 - i];
        turned.stride[i] = heads->stride[1 - i];
    }
    return turned;
}

/* Whether what a rope turns, [heads, S, size], is what the held norm gives. */
static bool oxi_vk_turns_heads(const oxi_vk_device *d, const oxi_call *call) {
    if (!d->held_heads || d->held_rope || call->in[2]) return false;
    const ox_tensor *x = call->in[0], *heads = d->heads.call.out[0], *out = call->out[0];
    const bool row = oxi_vk_norms_row(&d->heads.call);
    const ox_tensor turned = row ? *heads : oxi_vk_heads_first(heads);
    if (!(row ? oxi_vk_is_of_row(x, &d->heads.call) : oxi_vk_same_memory(x, &turned))) return false;
    return oxi_vk_same_block(out, heads) &&
           oxi_vk_chunk_of(out) != oxi_vk_chunk_of(heads) &&
           oxi_vk_chunk_of(out) != oxi_vk_chunk_of(d->heads.call.in[0]);
}

/* Records a rope with the norm before it, or behind it where that is late, and the copy of what comes of
 * both; norm and copy may be NULL. */
static ox_status oxi_vk_rope_with(oxi_vk_device *d, const oxi_call *rope, const oxi_call *norm, bool late,
                                  const oxi_call *copy) {
    const bool apart = norm && (late || oxi_vk_norms_row(norm));
    ox_status status = OX_OK;
    if (apart && !late) {
        oxi_vk_time_call(d, norm);
        status = oxi_vk_row(d, norm);
    }
    oxi_vk_time_call(d, rope);
    if (status == OX_OK)
        status = oxi_vk_rope(d, rope, apart ? NULL : norm, copy && !late ? copy->out[0] : NULL);
    if (status != OX_OK || !late) return status;
    oxi_vk_time_call(d, norm);
    status = oxi_vk_row(d, norm);
    return status == OX_OK && copy ? oxi_vk_copy_any(d, copy) : status;
}

static ox_status oxi_vk_record_rope(oxi_vk_device *d, const oxi_call *copy) {
    return oxi_vk_rope_with(d, &d->rope.call, d->held_heads ? &d->heads.call : NULL, d->held_late, copy);
}

/* A copy of what the held rope gives, or the norm behind it, to somewhere else. */
static bool oxi_vk_copies_rope(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *rope = &d->rope.call;
    const ox_tensor *to = call->out[0];
    if (!d->held_rope) return false;
    const ox_tensor made = d->held_late ? oxi_vk_heads_first(d->heads.call.out[0]) : *rope->out[0];
    bool fits = oxi_vk_same_memory(call->in[0], &made) && oxi_vk_product_reads(to->dtype);
    for (int i = 0; fits && i < rope->in_count; i++)
        fits = !rope->in[i] || oxi_vk_chunk_of(rope->in[i]) != oxi_vk_chunk_of(to);
    if (fits && d->held_heads)
        fits = oxi_vk_chunk_of(d->heads.call.in[0]) != oxi_vk_chunk_of(to) &&
               oxi_vk_chunk_of(d->heads.call.in[1]) != oxi_vk_chunk_of(to) &&
               oxi_vk_chunk_of(d->heads.call.out[0]) != oxi_vk_chunk_of(to);
    return fits && oxi_vk_chunk_of(rope->out[0]) != oxi_vk_chunk_of(to) && oxi_vk_fits(to);
}

/* Sets the held rope aside, with its norm and the copy behind it (or NULL). */
static void oxi_vk_set_aside(oxi_vk_device *d, const oxi_call *copy) {
    oxi_vk_held_turn *turn = &d->turn[d->held_turns++];
    turn->normed = d->held_heads;
    turn->late = d->held_late;
    turn->turned = true;
    turn->copied = copy != NULL;
    if (d->held_heads) oxi_vk_hold(&turn->heads, &d->heads.call);
    oxi_vk_hold(&turn->rope, &d->rope.call);
    if (copy) oxi_vk_hold(&turn->copy, copy);
    d->held_heads = d->held_rope = d->held_late = false;
}

/* Whether the held rope may be of the queries of an attention, and what comes of its keys. */
static bool oxi_vk_turns_queries(const oxi_vk_device *d, const ox_tensor *next) {
    if (!d->held_rope || d->held_turns > 0) return false;
    const ox_tensor *x = d->rope.call.in[0];
    return x->dtype == OX_F32 && x->ndim == 3 && x->shape[1] == 1 && next->ndim == 3;
}

/* Whether a norm is of the keys whose queries' rope is held: of heads, or of them as one row as the queries'
 * own was. */
static bool oxi_vk_norms_keys(const oxi_vk_device *d, const oxi_call *call) {
    ox_tensor heads = *call->in[0];
    if (oxi_vk_can_hold_heads(call)) return oxi_vk_turns_queries(d, call->in[0]);
    heads.ndim = 3; /* asked for its dims alone */
    return oxi_vk_can_hold_row(call) && d->held_heads && !d->held_late &&
           oxi_vk_norms_row(&d->heads.call) && oxi_vk_turns_queries(d, &heads);
}

/* Whether a norm of heads is of what the held rope gives. */
static bool oxi_vk_norms_turned(const oxi_vk_device *d, const oxi_call *call) {
    if (!d->held_rope || d->held_heads || !oxi_vk_can_hold_heads(call)) return false;
    const ox_tensor *turned = d->rope.call.out[0], x = oxi_vk_heads_first(call->in[0]);
    return turned->dtype == OX_F32 && turned->ndim == 3 && turned->shape[1] == 1 &&
           oxi_vk_same_memory(&x, turned) && oxi_vk_chunk_of(call->out[0]) != oxi_vk_chunk_of(turned);
}

/* A copy that may be of the keys or values of an attention into their cache. */
static bool oxi_vk_stores_row(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *row = call->in[0];
    return row->dtype == OX_F32 && row->ndim == 3 && call->out[0]->ndim == 3 && oxi_vk_is_here(d, row) &&
           oxi_vk_product_reads(call->out[0]->dtype) && row->shape[1] == 1;
}

/* Sets it aside as the keys of queries and keys without rope. */
static void oxi_vk_set_key_aside(oxi_vk_device *d, const oxi_call *copy) {
    for (int i = 0; i < 2; i++) {
        oxi_vk_held_turn *turn = &d->turn[i];
        turn->normed = turn->late = turn->turned = turn->copied = false;
    }
    oxi_vk_hold(&d->turn[1].copy, copy);
    d->turn[1].copied = true;
    d->held_turns = 2;
}

/* Records what was set aside for an attention that has not come: norms of rows before all that waits for
 * them. */
static ox_status oxi_vk_flush_turns(oxi_vk_device *d) {
    ox_status status = OX_OK;
    for (int i = 0; i < d->held_turns && status == OX_OK; i++) {
        oxi_vk_held_turn *turn = &d->turn[i];
        if (!turn->normed || !oxi_vk_norms_row(&turn->heads.call)) continue;
        oxi_vk_time_call(d, &turn->heads.call);
        status = oxi_vk_row(d, &turn->heads.call);
        turn->normed = false;
    }
    for (int i = 0; i < d->held_turns && status == OX_OK; i++) {
        const oxi_vk_held_turn *turn = &d->turn[i];
        if (turn->turned) {
            status = oxi_vk_rope_with(d, &turn->rope.call, turn->normed ? &turn->heads.call : NULL,
                                      turn->late, turn->copied ? &turn->copy.call : NULL);
        } else if (turn->copied) {
            oxi_vk_time_call(d, &turn->copy.call);
            status = oxi_vk_copy_any(d, &turn->copy.call);
        }
    }
    if (status != OX_OK || !d->held_store) return status;
    oxi_vk_time_call(d, &d->store.call);
    return oxi_vk_copy_any(d, &d->store.call);
}
