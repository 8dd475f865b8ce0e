/* Attention of a layer: queries, keys and values of a batch, what the cache keeps of them, and the result.
 * All families, by the parts that a layer has. Called by forward.c. */

/* ---- heads --------------------------------------------------------------------------------------------- */

/* [S, heads * size] -> [S, heads, size] */
static ox_tensor *oxi_llm_split(ox_tensor *x, int64_t heads, int64_t size) {
    return x ? ox_view(x, OX_SHAPE(x->shape[0], heads, size)) : NULL;
}

/* The norm of q or k [S, heads, size]: of each head, or of all heads as one row. */
static ox_tensor *oxi_llm_normalize_heads(const ox_llm *model, const oxi_llm_part *part, ox_tensor *x) {
    if (!x || !part->weight) return x;
    const int64_t heads = x->shape[1], size = x->shape[2];
    if (part->weight->ndim > 1 || ox_numel(part->weight) == size) return oxi_llm_normalize(model, part, x);
    x = oxi_llm_normalize(model, part, ox_view(x, OX_SHAPE(x->shape[0], heads * size)));
    return oxi_llm_split(x, heads, size);
}

static ox_tensor *oxi_llm_turn(const oxi_llm_batch *batch, const oxi_llm_rope *rope, ox_tensor *heads) {
    const ox_llm_context *context = batch->context;
    ox_rope_desc desc;
    if (!rope) return heads;
    memset(&desc, 0, sizeof desc);
    desc.base = rope->base;
    desc.scale = rope->scale;
    desc.magnitude = rope->magnitude;
    desc.dims = (int)rope->size;
    desc.interleaved = context->model->numbers.rope == OXI_LLM_ROPE_PAIRS;
    desc.factors = rope->long_factors && context->stretched ? rope->long_factors : rope->factors;
    return ox_rope(heads, batch->positions, &desc);
}

/* Whether q and k of a turned layer have norms without weights. */
static bool oxi_llm_has_late_norms(const ox_llm *model, const oxi_llm_layer *l, const oxi_llm_part *norm) {
    if (norm->weight) return oxi_llm_has_trait(model, OXI_LLM_TRAIT(LATE_NORMS));
    return model->numbers.late_bare && l->rope;
}

/* x with the norm that comes before it is turned: `whole` with that of all heads as one row, else with that
 * of each head. Those of q and k as rows come before either is turned, the others right before: a device
 * makes one dispatch of what follows each other. */
static ox_tensor *oxi_llm_normalize_early(const oxi_llm_batch *batch, const oxi_llm_layer *l,
                                          const oxi_llm_part *norm, ox_tensor *x, bool whole) {
    const ox_llm *model = batch->context->model;
    if (!x || !norm->weight || oxi_llm_has_late_norms(model, l, norm)) return x;
    const bool row = norm->weight->ndim == 1 && ox_numel(norm->weight) != x->shape[2];
    return row == whole ? oxi_llm_normalize_heads(model, norm, x) : x;
}

/* q or k [S, heads, size] -> [heads, S, size], with its norm and turned by its positions. */
static ox_tensor *oxi_llm_place_heads(const oxi_llm_batch *batch, const oxi_llm_layer *l,
                                      const oxi_llm_part *norm, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const bool late = oxi_llm_has_late_norms(model, l, norm),
               clamped = oxi_llm_has_trait(model, OXI_LLM_TRAIT(CLAMP_NORMED));
    const double clamp = clamped ? model->numbers.clamp : 0;
    x = oxi_llm_normalize_early(batch, l, norm, x, false);
    if (clamp > 0) x = ox_clamp_(x, -clamp, clamp);
    x = oxi_llm_turn(batch, l->rope, ox_transpose(x, 0, 1));
    if (!late) return x;
    if (!norm->weight) return oxi_llm_normalize(model, norm, x);
    return ox_transpose(oxi_llm_normalize_heads(model, norm, ox_contiguous(ox_transpose(x, 0, 1))), 0, 1);
}

/* ---- the cache ----------------------------------------------------------------------------------------- */

/* The first position that a batch's rows see: of a chunk, which no batch crosses. */
static int64_t oxi_llm_first_seen(const oxi_llm_batch *batch, const oxi_llm_layer *l) {
    const int64_t chunk = batch->context->model->numbers.chunk;
    return chunk > 0 && l->window ? batch->start / chunk * chunk : 0;
}

/* Writes rows [kv_heads, S, size] behind those in the cache; gives all that is seen,
 * [kv_heads, start + S - first, size]. */
static ox_tensor *oxi_llm_remember(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *cache,
                                   ox_tensor *rows) {
    const int64_t first = oxi_llm_first_seen(batch, l);
    if (!ox_copy_(ox_narrow(cache, 1, batch->start, batch->count), rows)) return NULL;
    return ox_narrow(cache, 1, first, batch->start + batch->count - first);
}

static ox_tensor *oxi_llm_attend(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *q,
                                 ox_tensor *k, ox_tensor *v) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_numbers *n = &model->numbers;
    const bool warmer = !l->rope || !oxi_llm_has_trait(model, OXI_LLM_TRAIT(PLAIN_WARMER));
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.causal = n->causal;
    desc.query_start = batch->start - oxi_llm_first_seen(batch, l);
    desc.window = n->chunk || !n->causal ? 0 : l->window;
    desc.scale = n->attention_scale;
    desc.softcap = n->score_cap;
    if (!oxi_llm_find_bias(batch, l, &desc.mask)) return NULL;
    desc.sinks = l->part[OXI_LLM_SINKS].weight;
    if (batch->temperatures && warmer) q = ox_mul(q, batch->temperatures);
    return ox_scaled_dot_product_attention(q, k, v, &desc); /* [heads, S, value_size] */
}

/* ---- q, k and v of their own --------------------------------------------------------------------------- */

/* x [S, width] -> [heads, S, value_size]; *gate [S, heads * key_size], of families whose queries have one
 * beside. */
static ox_tensor *oxi_llm_attend_heads(const oxi_llm_batch *batch, int64_t index, ox_tensor *x,
                                       ox_tensor **gate) {
    const ox_llm_context *context = batch->context;
    const ox_llm *model = context->model;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *p = l->part;
    const int64_t queries = l->heads * l->key_size, keys = l->kv_heads * l->key_size,
                  values = l->kv_heads * l->value_size;
    const double clamp = model->numbers.clamp;
    const bool gated = oxi_llm_has_trait(model, OXI_LLM_TRAIT(QUERY_GATED)) && p[OXI_LLM_QUERY].weight;
    ox_tensor *q, *k, *v;
    if (p[OXI_LLM_QUERY_KEY_VALUE].weight) {
        ox_tensor *all = oxi_llm_product(&p[OXI_LLM_QUERY_KEY_VALUE], x);
        q = ox_unflatten(ox_narrow(all, 1, 0, queries), 1, OX_SHAPE(l->heads, l->key_size));
        k = ox_unflatten(ox_narrow(all, 1, queries, keys), 1, OX_SHAPE(l->kv_heads, l->key_size));
        v = ox_unflatten(ox_narrow(all, 1, queries + keys, values), 1, OX_SHAPE(l->kv_heads, l->value_size));
    } else {
        q = gated ? NULL : oxi_llm_split(oxi_llm_product(&p[OXI_LLM_QUERY], x), l->heads, l->key_size);
        k = oxi_llm_split(oxi_llm_product(&p[OXI_LLM_KEY], x), l->kv_heads, l->key_size);
        v = p[OXI_LLM_VALUE_ROUTER].weight ? oxi_llm_mix_values(model, l, x)
                                           : oxi_llm_product(&p[OXI_LLM_VALUE], x);
        v = oxi_llm_split(v, l->kv_heads, l->value_size);
    }
    if (gated) {
        ox_tensor *both =
            ox_unflatten(oxi_llm_product(&p[OXI_LLM_QUERY], x), 1, OX_SHAPE(l->heads, 2 * l->key_size));
        q = ox_contiguous(ox_narrow(both, 2, 0, l->key_size));
        *gate = ox_flatten(ox_narrow(both, 2, l->key_size, l->key_size), 1, 2);
    }
    if (clamp > 0) {
        if (!oxi_llm_has_trait(model, OXI_LLM_TRAIT(CLAMP_NORMED))) {
            q = ox_clamp_(q, -clamp, clamp);
            k = ox_clamp_(k, -clamp, clamp);
        }
        v = ox_clamp_(v, -clamp, clamp);
    }
    q = oxi_llm_normalize_early(batch, l, &p[OXI_LLM_QUERY_NORM], q, true);
    k = oxi_llm_normalize_early(batch, l, &p[OXI_LLM_KEY_NORM], k, true);
    q = oxi_llm_place_heads(batch, l, &p[OXI_LLM_QUERY_NORM], q);
    k = oxi_llm_place_heads(batch, l, &p[OXI_LLM_KEY_NORM], k);
    k = oxi_llm_remember(batch, l, context->keys[index], k);
    v = oxi_llm_remember(batch, l, context->values[index], ox_transpose(v, 0, 1));
    return oxi_llm_attend(batch, l, q, k, v);
}

/* ---- latent attention ---------------------------------------------------------------------------------- */

/* Keys and values of all heads are made of one latent vector a position. That is what is kept: a query is
 * taken to the latent's space instead, and the mixed latent to the head's values.
 * x [S, width] -> [heads, S, latent_value]. source: DeepSeek-V2, 2024, section 2.1 */
static ox_tensor *oxi_llm_attend_latent(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const ox_llm *model = context->model;
    const oxi_llm_numbers *n = &model->numbers;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *p = l->part;
    const int64_t turned = model->rope.size, plain = n->latent_key - turned;
    ox_tensor *to_latent, *to_values, *parts[2], *q;
    if (p[OXI_LLM_QUERY].weight) {
        q = oxi_llm_product(&p[OXI_LLM_QUERY], x);
    } else {
        q = oxi_llm_normalize(model, &p[OXI_LLM_QUERY_DOWN_NORM], oxi_llm_product(&p[OXI_LLM_QUERY_DOWN], x));
        q = oxi_llm_product(&p[OXI_LLM_QUERY_UP], q);
    }
    q = ox_transpose(oxi_llm_split(q, l->heads, n->latent_key), 0, 1); /* [heads, S, plain + turned] */
    to_latent = p[OXI_LLM_LATENT_KEY].weight;
    to_values = p[OXI_LLM_LATENT_VALUE].weight;
    if (!to_latent || !to_values) oxi_llm_split_latent(model, l, &to_latent, &to_values);
    parts[0] = oxi_llm_product_by_head(ox_narrow(q, 2, 0, plain), to_latent);
    parts[1] = oxi_llm_turn(batch, l->rope, ox_narrow(q, 2, plain, turned));
    if (!parts[0] || !parts[1]) return NULL;
    q = ox_cat(parts, 2, 2);
    ox_tensor *kept = oxi_llm_product(&p[OXI_LLM_LATENT], x); /* [S, latent + turned] */
    parts[0] =
        oxi_llm_normalize(model, &p[OXI_LLM_LATENT_NORM], ox_contiguous(ox_narrow(kept, 1, 0, n->latent)));
    parts[1] = ox_narrow(kept, 1, n->latent, turned);
    if (p[OXI_LLM_KEY_NORM].weight)
        parts[1] = oxi_llm_normalize(model, &p[OXI_LLM_KEY_NORM], ox_contiguous(parts[1]));
    parts[1] = oxi_llm_turn(batch, l->rope, parts[1]);
    if (!parts[0] || !parts[1]) return NULL;
    kept = oxi_llm_remember(batch, l, context->keys[index], ox_unsqueeze(ox_cat(parts, 2, 1), 0));
    ox_tensor *mixed = oxi_llm_attend(batch, l, q, kept, ox_narrow(kept, 2, 0, n->latent));
    return oxi_llm_product_by_head(mixed, to_values);
}

/* ---- attention to what an encoder read ----------------------------------------------------------------- */

/* x [S, width], normalized -> [S, width] */
static ox_tensor *oxi_llm_attend_source(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const oxi_llm_layer *l = &context->model->layers[index];
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.scale = context->model->numbers.attention_scale;
    ox_tensor *q = oxi_llm_split(oxi_llm_product(&l->part[OXI_LLM_CROSS_QUERY], x), l->heads, l->key_size);
    ox_tensor *out = ox_scaled_dot_product_attention(ox_transpose(q, 0, 1), context->source[2 * index],
                                                     context->source[2 * index + 1], &desc);
    out = ox_reshape(ox_transpose(out, 0, 1), OX_SHAPE(batch->count, l->heads * l->value_size));
    return oxi_llm_product(&l->part[OXI_LLM_CROSS_MERGE], out);
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

/* out [S, heads * size] times what a gate, [S, heads] or as out, becomes: its sigmoid, or what the family
 * has. */
static ox_tensor *oxi_llm_open_gate(const ox_llm *model, ox_tensor *gate, ox_tensor *out, int64_t heads) {
    const double ln2 = 0.6931471805599453;
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(GATE_SOFTPLUS)))
        gate = ox_softplus(gate, 1, 20);
    else if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(GATE_LOG2)))
        gate = ox_mul_number_(ox_softplus(ox_mul_number_(gate, ln2), 1, 20), 1 / ln2);
    else
        gate = ox_sigmoid_(gate);
    if (!gate || !out) return NULL;
    if (gate->shape[1] == out->shape[1]) return ox_mul_(out, gate);
    ox_tensor *split = ox_unflatten(out, 1, OX_SHAPE(heads, out->shape[1] / heads));
    return ox_mul_(split, ox_unsqueeze(gate, 2)) ? out : NULL;
}

/* x [S, width], normalized -> [S, width] */
static ox_tensor *oxi_llm_attention(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_layer *l = &model->layers[index];
    const bool latent = model->numbers.latent > 0;
    ox_tensor *gate = NULL, *out = latent ? oxi_llm_attend_latent(batch, index, x)
                                          : oxi_llm_attend_heads(batch, index, x, &gate);
    const int64_t size = latent ? model->numbers.latent_value : l->value_size;
    out = ox_reshape(ox_transpose(out, 0, 1), OX_SHAPE(batch->count, l->heads * size));
    if (gate) out = oxi_llm_open_gate(model, gate, out, l->heads);
    if (l->part[OXI_LLM_ATTENTION_GATE].weight) /* one a head, or one a number */
        out = oxi_llm_open_gate(model, oxi_llm_product(&l->part[OXI_LLM_ATTENTION_GATE], x), out, l->heads);
    if (l->part[OXI_LLM_MERGE_NORM].weight) out = oxi_llm_normalize(model, &l->part[OXI_LLM_MERGE_NORM], out);
    out = oxi_llm_product(&l->part[OXI_LLM_MERGE], out);
    return model->numbers.value_scale > 0 ? ox_mul_number_(out, model->numbers.value_scale) : out;
}
