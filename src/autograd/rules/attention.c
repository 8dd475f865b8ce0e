/* Gradients of rope, the rotation back, and of attention: by chunks of query rows, so that what is in memory
 * grows with the keys and not with their square, and only by the keys that a chunk can see. */

/* By the negative angles: a rotation's transpose. */
OXI_GRADIENT_RULE(rope) {
    ox_tensor *in[3];
    oxi_attrs attr = b->call->attr;
    if (b->call->in_count > 2 && b->wants[2])
        return oxi_fail(OX_ERR_UNSUPPORTED, "rope: factors of frequencies have no gradient");
    attr.rope.scale = -attr.rope.scale;
    in[0] = b->g[0];
    in[1] = b->call->in[1];
    in[2] = b->call->in[2];
    return oxi_gives(b, 0, in[0] ? oxi_apply_list(OXI_OP_rope, &attr, in, 3, NULL) : NULL);
}

/* Scores that are in memory at once, and rows that are taken together all the same, for the products. */
#ifndef OXI_ATTENTION_SCORES
#define OXI_ATTENTION_SCORES ((int64_t)1 << 22)
#define OXI_ATTENTION_ROWS 32
#endif

/* ---- attention ----------------------------------------------------------------------------------------- */

enum { OXI_ATTENTION_Q, OXI_ATTENTION_K, OXI_ATTENTION_V, OXI_ATTENTION_MASK, OXI_ATTENTION_SINKS,
       OXI_ATTENTION_OPERANDS };

/* What all chunks have in common, and what they add up. */
typedef struct oxi_attention_back {
    oxi_backward *b;
    ox_tensor *in[OXI_ATTENTION_OPERANDS], *g; /* narrow floats as f32 */
    ox_tensor *sum[OXI_ATTENTION_OPERANDS];    /* of all operands but q, and of a mask with rows of its own */
    ox_tensor **rows;                          /* of those two, a chunk each */
    int64_t chunks, chunk;                     /* how many, rows of one */
    int64_t group, queries, keys;              /* heads that share a key head */
    bool mask_has_rows;
} oxi_attention_back;

/* One chunk: rows [first, first + count) of the queries, the keys that they see. */
typedef struct oxi_attention_chunk {
    oxi_call call;
    ox_tensor *in[OXI_ATTENTION_OPERANDS], *g;
    int64_t first, count, first_key, keys;
} oxi_attention_chunk;

/* t [.., Hkv, group, S, n] as [.., Hkv, group S, n]: heads of a group are more rows. */
static ox_tensor *oxi_heads_as_rows(ox_tensor *t) {
    if (!t || t->ndim < 4) return t;
    ox_shape shape = ox_shape_of(t);
    int last = t->ndim - 1;
    shape.dim[last - 2] *= shape.dim[last - 1];
    shape.dim[last - 1] = shape.dim[last];
    shape.ndim--;
    return ox_reshape(t, shape);
}

/* The reverse, with heads side by side: [.., H, S, n]. */
static ox_tensor *oxi_rows_as_heads(ox_tensor *t, int64_t group, int64_t rows) {
    if (!t || t->ndim < 3) return t;
    ox_shape shape = ox_shape_of(t);
    shape.dim[t->ndim - 3] *= group;
    shape.dim[t->ndim - 2] = rows;
    return ox_reshape(t, shape);
}

/* Which keys a chunk's rows may see at all. */
static void oxi_attention_key_range(const oxi_attention_back *a, oxi_attention_chunk *c) {
    const oxi_attr_attention *told = &a->b->call->attr.attention;
    int64_t end = a->keys, place = told->query_start + c->first; /* of the first row */
    c->first_key = 0;
    if (told->causal && place + c->count < end) end = place + c->count;
    if (told->window > 0 && place - told->window + 1 > 0) c->first_key = place - told->window + 1;
    c->keys = end > c->first_key ? end - c->first_key : 0;
}

static ox_tensor *oxi_mask_of_chunk(const oxi_attention_back *a, const oxi_attention_chunk *c) {
    ox_tensor *mask = a->in[OXI_ATTENTION_MASK];
    if (mask && mask->ndim > 1 && mask->shape[mask->ndim - 2] != 1)
        mask = ox_narrow(mask, -2, c->first, c->count);
    if (mask && mask->ndim > 0 && mask->shape[mask->ndim - 1] != 1)
        mask = ox_narrow(mask, -1, c->first_key, c->keys);
    return mask;
}

static void oxi_attention_chunk_begin(const oxi_attention_back *a, oxi_attention_chunk *c, int64_t first) {
    c->first = first;
    c->count = a->queries - first < a->chunk ? a->queries - first : a->chunk;
    oxi_attention_key_range(a, c);
    c->call = *a->b->call;
    c->call.in = c->in;
    c->call.attr.attention.query_start += first - c->first_key;
    c->in[OXI_ATTENTION_Q] = ox_narrow(a->in[OXI_ATTENTION_Q], -2, first, c->count);
    c->in[OXI_ATTENTION_K] = ox_narrow(a->in[OXI_ATTENTION_K], -2, c->first_key, c->keys);
    c->in[OXI_ATTENTION_V] = ox_narrow(a->in[OXI_ATTENTION_V], -2, c->first_key, c->keys);
    c->in[OXI_ATTENTION_MASK] = oxi_mask_of_chunk(a, c);
    c->in[OXI_ATTENTION_SINKS] = a->in[OXI_ATTENTION_SINKS];
    c->g = ox_narrow(a->g, -2, first, c->count);
}

/* The softmax of masked scores [.., Hkv, group, S, T]; sinks have one more column. Rows that see nothing
 * are 0, and finite on the way there, so that this can be differentiated. */
static ox_tensor *oxi_attention_weights(const oxi_attention_back *a, const oxi_attention_chunk *c,
                                        ox_tensor *scores) {
    ox_tensor *most = ox_amax(scores, OX_DIMS(-1), true), *sinks = c->in[OXI_ATTENTION_SINKS];
    ox_tensor *blind = ox_eq(most, ox_number(-INFINITY));
    scores = ox_where(blind, ox_number(0), scores);
    if (sinks && most && scores) {
        if (scores->ndim > 3) sinks = ox_view(sinks, OX_SHAPE(ox_numel(sinks) / a->group, -1, 1, 1));
        ox_tensor *both[2];
        both[0] = scores;
        both[1] = ox_expand(oxi_as_dtype_of(sinks, scores), ox_shape_of(most));
        scores = both[1] ? ox_cat(both, 2, -1) : NULL;
    }
    return ox_where(blind, ox_number(0), ox_softmax(scores, -1));
}

/* Adds a part to the sum of its operand; the sum before goes. */
static void oxi_attention_add(oxi_attention_back *a, int i, ox_tensor *part) {
    ox_tensor *before = a->sum[i];
    a->sum[i] = before ? ox_add(before, part) : part;
    ox_release(before);
}

/* A part for the keys that a chunk sees, among zeros for the others. */
static ox_tensor *oxi_among_all_keys(const oxi_attention_back *a, const oxi_attention_chunk *c,
                                     ox_tensor *part, int dim) {
    int64_t behind = a->keys - c->first_key - c->keys;
    return part ? oxi_between_zeros(part, part->ndim + dim, c->first_key, behind) : NULL;
}

/* What comes back to the masked scores, [.., Hkv, group, S, T], goes to a mask of any shape. */
static void oxi_attention_mask_back(oxi_attention_back *a, const oxi_attention_chunk *c, ox_tensor *scores) {
    const oxi_outline *outline = &a->b->operand[OXI_ATTENTION_MASK];
    ox_shape shape = oxi_outline_shape(outline);
    if (shape.ndim > 1 && a->mask_has_rows) shape.dim[shape.ndim - 2] = c->count;
    bool own_keys = shape.ndim > 0 && shape.dim[shape.ndim - 1] != 1;
    if (own_keys) shape.dim[shape.ndim - 1] = c->keys;
    ox_tensor *part = oxi_rows_as_heads(oxi_heads_as_rows(scores), a->group, c->count);
    part = oxi_summed_to(part, shape);
    if (own_keys) part = oxi_among_all_keys(a, c, part, -1);
    if (a->mask_has_rows)
        a->rows[a->chunks + c->first / a->chunk] = part;
    else
        oxi_attention_add(a, OXI_ATTENTION_MASK, part);
}

/* Sinks take their weight off each row: what comes back to them is -weight sum(g out). */
static void oxi_attention_sinks_back(oxi_attention_back *a, const oxi_attention_chunk *c, ox_tensor *weights,
                                     ox_tensor *along) {
    ox_tensor *own = ox_neg(ox_mul(ox_narrow(weights, -1, c->keys, 1), along)); /* [.., Hkv, group, S, 1] */
    ox_shape heads = oxi_outline_shape(&a->b->operand[OXI_ATTENTION_SINKS]);
    own = oxi_rows_as_heads(oxi_heads_as_rows(own), a->group, c->count);        /* [.., H, S, 1] */
    own = ox_sum(own, OX_DIMS(-2, -1), false);
    oxi_attention_add(a, OXI_ATTENTION_SINKS, ox_reshape(oxi_summed_to(own, heads), heads));
}

/* Through the cap and the product: to q's rows of this chunk, and to k. scores: capped, before the mask. */
static void oxi_attention_scores_back(oxi_attention_back *a, const oxi_attention_chunk *c, ox_tensor *scores,
                                      ox_tensor *back) {
    const oxi_attr_attention *told = &c->call.attr.attention;
    if (told->softcap > 0) {
        ox_tensor *slope = ox_rsub_number(ox_square(ox_div_number(scores, told->softcap)), 1);
        back = ox_mul(back, slope);
    }
    back = oxi_heads_as_rows(ox_mul_number(back, told->scale));
    if (a->b->wants[OXI_ATTENTION_Q]) {
        ox_tensor *own = ox_matmul(back, c->in[OXI_ATTENTION_K]);
        a->rows[c->first / a->chunk] = oxi_rows_as_heads(own, a->group, c->count);
    }
    if (a->b->wants[OXI_ATTENTION_K] && back) {
        ox_tensor *q = oxi_heads_as_rows(oxi_grouped_heads(c->in[OXI_ATTENTION_Q], a->group));
        ox_tensor *own = ox_matmul(ox_transpose(back, -2, -1), q);
        oxi_attention_add(a, OXI_ATTENTION_K, oxi_among_all_keys(a, c, own, -2));
    }
}

static void oxi_attention_chunk_back(oxi_attention_back *a, oxi_attention_chunk *c) {
    const bool *wants = a->b->wants;
    ox_tensor *scores = oxi_attention_scores(&c->call, a->group);
    ox_tensor *masked = oxi_masked_scores(&c->call, scores, a->group);
    ox_tensor *weights = masked ? oxi_attention_weights(a, c, masked) : NULL;
    ox_tensor *seen = c->in[OXI_ATTENTION_SINKS] ? ox_narrow(weights, -1, 0, c->keys) : weights;
    ox_tensor *rows = oxi_heads_as_rows(seen);
    ox_tensor *g = oxi_heads_as_rows(oxi_grouped_heads(c->g, a->group));
    if (wants[OXI_ATTENTION_V]) {
        ox_tensor *own = ox_matmul(ox_transpose(rows, -2, -1), g);
        oxi_attention_add(a, OXI_ATTENTION_V, oxi_among_all_keys(a, c, own, -2));
    }
    if (!wants[0] && !wants[1] && !wants[OXI_ATTENTION_MASK] && !wants[OXI_ATTENTION_SINKS]) return;
    ox_tensor *back = ox_matmul(g, ox_transpose(c->in[OXI_ATTENTION_V], -2, -1));
    back = seen ? ox_reshape(back, ox_shape_of(seen)) : NULL;
    ox_tensor *weighted = ox_mul(back, seen), *along = ox_sum(weighted, OX_DIMS(-1), true);
    if (wants[OXI_ATTENTION_SINKS]) oxi_attention_sinks_back(a, c, weights, along);
    back = ox_sub(weighted, ox_mul(seen, along));
    if (wants[OXI_ATTENTION_MASK] && back) oxi_attention_mask_back(a, c, back);
    if (wants[0] || wants[1]) oxi_attention_scores_back(a, c, scores, back);
}

/* Rows of a chunk that sees no keys. */
static void oxi_attention_blind_rows(oxi_attention_back *a, const oxi_attention_chunk *c) {
    int64_t at = c->first / a->chunk;
    if (a->b->wants[OXI_ATTENTION_Q] && c->in[OXI_ATTENTION_Q])
        a->rows[at] = oxi_thin_zeros(a->g, ox_shape_of(c->in[OXI_ATTENTION_Q]));
    if (!a->b->wants[OXI_ATTENTION_MASK] || !a->mask_has_rows) return;
    ox_shape shape = oxi_outline_shape(&a->b->operand[OXI_ATTENTION_MASK]);
    shape.dim[shape.ndim - 2] = c->count;
    a->rows[a->chunks + at] = oxi_thin_zeros(a->g, shape);
}

/* One chunk, whose tensors go when it is done, but for what it adds to. */
static ox_status oxi_attention_chunk_run(oxi_attention_back *a, int64_t first) {
    oxi_attention_chunk c;
    ox_status status = OX_OK;
    ox_scope scope = ox_scope_begin();
    oxi_attention_chunk_begin(a, &c, first);
    if (c.keys > 0)
        oxi_attention_chunk_back(a, &c);
    else
        oxi_attention_blind_rows(a, &c);
    int64_t at = first / a->chunk;
    const bool *wants = a->b->wants;
    for (int i = 1; i < OXI_ATTENTION_OPERANDS; i++) {
        ox_keep(a->sum[i]);
        bool by_rows = i == OXI_ATTENTION_MASK && a->mask_has_rows;
        if (wants[i] && !by_rows && !a->sum[i] && c.keys > 0) status = ox_error();
    }
    ox_keep(a->rows[at]);
    ox_keep(a->rows[a->chunks + at]);
    if (wants[OXI_ATTENTION_Q] && !a->rows[at]) status = ox_error();
    if (wants[OXI_ATTENTION_MASK] && a->mask_has_rows && !a->rows[a->chunks + at]) status = ox_error();
    ox_scope_end(&scope);
    return status;
}

/* Operands as the chunks read them, and how many rows these have. */
static ox_status oxi_attention_back_begin(oxi_attention_back *a, oxi_backward *b) {
    const oxi_outline *q = &b->operand[OXI_ATTENTION_Q], *k = &b->operand[OXI_ATTENTION_K],
                      *mask = &b->operand[OXI_ATTENTION_MASK];
    int n = q->ndim;
    int64_t heads = 1;
    memset(a, 0, sizeof *a);
    a->b = b;
    a->queries = q->shape[n - 2];
    a->keys = k->shape[n - 2];
    a->group = n > 2 ? q->shape[n - 3] / k->shape[n - 3] : 1;
    for (int d = 0; d < n - 2; d++) heads *= q->shape[d];
    a->chunk = OXI_ATTENTION_SCORES / (heads * a->keys);
    if (a->chunk < OXI_ATTENTION_ROWS) a->chunk = OXI_ATTENTION_ROWS;
    if (a->chunk > a->queries) a->chunk = a->queries;
    a->chunks = (a->queries + a->chunk - 1) / a->chunk;
    a->g = oxi_wide(b->g[0]);
    for (int i = 0; i < OXI_ATTENTION_OPERANDS; i++) {
        ox_tensor *t = b->call->in[i];
        a->in[i] =
            t && t->dtype != OX_BOOL && i < OXI_ATTENTION_SINKS ? oxi_as_dtype_of(oxi_wide(t), a->g) : t;
        if (t && !a->in[i]) return ox_error();
    }
    a->mask_has_rows = a->in[OXI_ATTENTION_MASK] && mask->ndim > 1 && mask->shape[mask->ndim - 2] != 1;
    return a->g ? OX_OK : ox_error();
}

OXI_GRADIENT_RULE(attention) {
    oxi_attention_back a;
    if (oxi_outline_numel(&b->operand[OXI_ATTENTION_Q]) == 0 || oxi_outline_numel(&b->result[0]) == 0 ||
        b->operand[OXI_ATTENTION_K].shape[b->operand[0].ndim - 2] == 0)
        return OX_OK;
    bool done;
    ox_status status = oxi_attention_back_by_row(b, &done);
    if (!done && status == OX_OK) status = oxi_attention_back_begin(&a, b);
    if (done || status != OX_OK) return status;
    size_t bytes = (size_t)a.chunks * 2 * sizeof *a.rows;
    a.rows = (ox_tensor **)oxi_alloc(bytes);
    if (!a.rows) return OX_ERR_NOMEM;
    memset(a.rows, 0, bytes);
    for (int64_t first = 0; status == OX_OK && first < a.queries; first += a.chunk)
        status = oxi_attention_chunk_run(&a, first);
    for (int i = 1; status == OX_OK && i < OXI_ATTENTION_OPERANDS; i++)
        if (b->wants[i]) b->grad[i] = a.sum[i];
    if (status == OX_OK && b->wants[OXI_ATTENTION_Q])
        status = oxi_gives(b, OXI_ATTENTION_Q, ox_cat(a.rows, (int)a.chunks, -2));
    if (status == OX_OK && b->wants[OXI_ATTENTION_MASK] && a.mask_has_rows)
        status = oxi_gives(b, OXI_ATTENTION_MASK, ox_cat(a.rows + a.chunks, (int)a.chunks, -2));
    oxi_free(a.rows, bytes);
    return status;
}
