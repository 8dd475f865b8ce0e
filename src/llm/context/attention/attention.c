/* Attention of a layer: queries, keys and values of a batch, what the cache keeps of them, and the result.
 * All families, by the parts that a layer has. Called by forward.c. */

/* ---- differences --------------------------------------------------------------------------------------- */

/* Both halves of the heads attend to the values of both, and the second's result is taken off the first's: q
 * [heads, S, size], k, v [kv_heads, T, size] -> [heads / 2, S, 2 * size] */
static ox_tensor *oxi_llm_attend_difference(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *q,
                                            ox_tensor *k, ox_tensor *v) {
    const int64_t heads = l->heads / 2, keys = l->kv_heads > 1 ? l->kv_heads / 2 : 1;
    ox_tensor *halves[2];
    for (int i = 0; i < 2; i++) {
        ox_tensor *parts[2], *own = ox_narrow(k, 0, l->kv_heads > 1 ? i * keys : 0, keys);
        for (int j = 0; j < 2; j++) {
            ox_tensor *values = ox_narrow(v, 0, l->kv_heads > 1 ? j * keys : 0, keys);
            parts[j] = oxi_llm_attend(batch, l, ox_narrow(q, 0, i * heads, heads), own, values);
        }
        halves[i] = parts[0] && parts[1] ? ox_cat(parts, 2, 2) : NULL;
    }
    ox_tensor *out = ox_add_scaled_(halves[0], halves[1], -l->difference);
    return ox_mul_number_(oxi_llm_normalize(batch->context->model, NULL, out), l->difference_scale);
}

/* ---- queries of experts -------------------------------------------------------------------------------- */

/* x [S, width], normalized -> [S, width]: each token's experts make its queries, one a key each, and of what
 * these attend to its result. source: Shen et al. 2024, "JetMoE" (mixture of attention heads) */
static ox_tensor *oxi_llm_attend_by_experts(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const oxi_llm_layer *l = &context->model->layers[index];
    const oxi_llm_part *p = l->part, none = {NULL, NULL, 1, NULL, NULL};
    const int64_t used = l->heads / l->kv_heads, values = l->kv_heads * l->value_size;
    const ox_pair top = ox_topk(oxi_llm_product(&p[OXI_LLM_QUERY_ROUTER], x), used, 1, true);
    ox_tensor *weights = ox_softmax(top.values, -1);
    if (!top.indices) return NULL;
    ox_tensor *q = oxi_llm_product_of(oxi_llm_want_experts(&p[OXI_LLM_QUERY_EXPERTS], x, top.indices));
    q = ox_transpose(ox_unflatten(q, 2, OX_SHAPE(l->kv_heads, l->key_size)), 1, 2);
    q = oxi_llm_place_heads(batch, l, &none, ox_flatten(ox_contiguous(q), 1, 2));
    ox_tensor *k = oxi_llm_split(oxi_llm_product(&p[OXI_LLM_KEY], x), l->kv_heads, l->key_size);
    ox_tensor *v = oxi_llm_split(oxi_llm_product(&p[OXI_LLM_VALUE], x), l->kv_heads, l->value_size);
    k = oxi_llm_remember(batch, l, context->keys[index], oxi_llm_place_heads(batch, l, &none, k));
    v = oxi_llm_remember(batch, l, context->values[index], ox_transpose(v, 0, 1));
    ox_tensor *out = ox_transpose(oxi_llm_attend(batch, l, q, k, v), 0, 1); /* [S, heads, size] */
    out = ox_transpose(ox_unflatten(out, 1, OX_SHAPE(l->kv_heads, used)), 1, 2);
    out = ox_reshape(ox_contiguous(out), OX_SHAPE(batch->count, used, values));
    out = oxi_llm_product_of(oxi_llm_want_experts(&p[OXI_LLM_MERGE_EXPERTS], out, top.indices));
    return oxi_llm_sum_experts(out, weights);
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
    const bool own = l->keys_of == index;
    ox_tensor *q, *k = NULL, *v = NULL;
    if (p[OXI_LLM_QUERY_KEY_VALUE].weight) {
        ox_tensor *all = oxi_llm_product(&p[OXI_LLM_QUERY_KEY_VALUE], x);
        q = ox_unflatten(ox_narrow(all, 1, 0, queries), 1, OX_SHAPE(l->heads, l->key_size));
        k = ox_unflatten(ox_narrow(all, 1, queries, keys), 1, OX_SHAPE(l->kv_heads, l->key_size));
        v = ox_unflatten(ox_narrow(all, 1, queries + keys, values), 1, OX_SHAPE(l->kv_heads, l->value_size));
    } else {
        const bool routed = p[OXI_LLM_VALUE_ROUTER].weight != NULL;
        oxi_llm_wanted list[3];
        int count = 0;
        list[count++] = oxi_llm_want(&p[OXI_LLM_QUERY], x);
        if (own) list[count++] = oxi_llm_want(&p[OXI_LLM_KEY], x);
        if (own && p[OXI_LLM_VALUE].weight && !routed) list[count++] = oxi_llm_want(&p[OXI_LLM_VALUE], x);
        if (!oxi_llm_products(list, count)) return NULL;
        q = oxi_llm_split(list[0].out, l->heads, gated ? 2 * l->key_size : l->key_size);
        if (own) k = oxi_llm_split(list[1].out, l->kv_heads, l->key_size);
        v = own && routed ? oxi_llm_mix_values(model, l, x) : count > 2 ? list[2].out : NULL;
        v = v ? oxi_llm_split(v, l->kv_heads, l->value_size) : k;
    }
    if (gated) {
        ox_tensor *both = q;
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
    if (own && oxi_llm_has_trait(model, OXI_LLM_TRAIT(VALUE_NORMED))) v = oxi_llm_normalize(model, NULL, v);
    q = oxi_llm_normalize_early(batch, l, &p[OXI_LLM_QUERY_NORM], q, true);
    k = oxi_llm_normalize_early(batch, l, &p[OXI_LLM_KEY_NORM], k, true);
    q = oxi_llm_place_heads(batch, l, &p[OXI_LLM_QUERY_NORM], q);
    if (!own)
        return oxi_llm_attend(batch, l, q, oxi_llm_seen(batch, l, context->keys[l->keys_of]),
                              oxi_llm_seen(batch, l, context->values[l->keys_of]));
    k = oxi_llm_place_heads(batch, l, &p[OXI_LLM_KEY_NORM], k);
    k = oxi_llm_remember(batch, l, context->keys[index], k);
    v = ox_transpose(v, 0, 1);
    if (model->numbers.turned_values) v = oxi_llm_turn(batch, l->rope, v);
    v = oxi_llm_remember(batch, l, context->values[index], v);
    return p[OXI_LLM_DIFFERENCE].weight ? oxi_llm_attend_difference(batch, l, q, k, v)
                                        : oxi_llm_attend(batch, l, q, k, v);
}

/* ---- latent attention ---------------------------------------------------------------------------------- */

/* q [heads, S, plain + turned] -> [heads, S, latent + turned]: what is turned and what a product makes are
 * written where they belong. */
static ox_tensor *oxi_llm_latent_queries(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *q,
                                         int64_t plain, ox_tensor *to_latent) {
    const ox_llm *model = batch->context->model;
    const int64_t turned = model->rope.size, latent = model->numbers.latent,
                  shape[3] = {l->heads, batch->count, latent + turned};
    ox_tensor *whole = turned > 0 ? oxi_tensor_new(model->device, OX_F32, 3, shape) : NULL;
    if (turned > 0 && (!whole || !ox_copy_(ox_narrow(whole, 2, latent, turned),
                                           oxi_llm_turn(batch, l->rope, ox_narrow(q, 2, plain, turned)))))
        return NULL;
    ox_tensor *out = oxi_llm_product_by_head_to(model, ox_narrow(q, 2, 0, plain), to_latent,
                                                whole ? ox_narrow(whole, 2, 0, latent) : NULL);
    return out && whole ? whole : out;
}

/* Writes what is kept of a batch, [S, latent + turned] as a product gave it, into the cache: latents with
 * their norm, ends of keys turned; gives all that is seen. */
static ox_tensor *oxi_llm_remember_latents(const oxi_llm_batch *batch, int64_t index, ox_tensor *kept) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_numbers *n = &model->numbers;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *latent_norm = &l->part[OXI_LLM_LATENT_NORM], *norm = &l->part[OXI_LLM_KEY_NORM];
    const int64_t turned = model->rope.size;
    ox_tensor *cache = batch->context->keys[index], *rows = ox_narrow(cache, 1, batch->start, batch->count);
    ox_tensor *parts[2]; /* [1, S, latent] and [1, S, turned] */
    kept = ox_unsqueeze(kept, 0);
    parts[0] = ox_contiguous(ox_narrow(kept, 2, 0, n->latent));
    if (turned == 0) {
        parts[0] = oxi_llm_normalize_with(model, latent_norm, parts[0], n->latent_epsilon);
        return oxi_llm_remember(batch, l, cache, parts[0]);
    }
    parts[1] = ox_narrow(kept, 2, n->latent, turned);
    if (norm->weight) parts[1] = oxi_llm_normalize(model, norm, ox_contiguous(parts[1]));
    parts[1] = oxi_llm_turn(batch, l->rope, parts[1]);
    const bool apart = !oxi_is_block(cache->dtype); /* each is written where it belongs */
    if (apart && !ox_copy_(ox_narrow(rows, 2, n->latent, turned), parts[1])) return NULL;
    parts[0] = oxi_llm_normalize_with(model, latent_norm, parts[0], n->latent_epsilon);
    if (!parts[0] || !parts[1]) return NULL;
    if (!apart) return oxi_llm_remember(batch, l, cache, ox_cat(parts, 2, 2));
    return ox_copy_(ox_narrow(rows, 2, 0, n->latent), parts[0]) ? oxi_llm_seen(batch, l, cache) : NULL;
}

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
    ox_tensor *to_latent, *to_values, *q, *few;
    oxi_llm_wanted list[2];
    list[0] = oxi_llm_want(&p[p[OXI_LLM_QUERY].weight ? OXI_LLM_QUERY : OXI_LLM_QUERY_DOWN], x);
    list[1] = oxi_llm_want(&p[OXI_LLM_LATENT], x);
    if (!oxi_llm_products(list, 2)) return NULL;
    q = oxi_llm_finish_queries(model, l, list[0].out, &few);
    if (!oxi_llm_choose_keys(batch, index, few, x)) return NULL;
    q = ox_transpose(oxi_llm_split(q, l->heads, n->latent_key), 0, 1); /* [heads, S, plain + turned] */
    to_latent = p[OXI_LLM_LATENT_KEY].weight;
    to_values = p[OXI_LLM_LATENT_VALUE].weight;
    if (!to_latent || !to_values) oxi_llm_split_latent(model, l, &to_latent, &to_values);
    ox_tensor *kept = oxi_llm_remember_latents(batch, index, list[1].out); /* a GPU has the rest as one */
    q = kept ? oxi_llm_latent_queries(batch, l, q, plain, to_latent) : NULL;
    if (!q) return NULL;
    ox_tensor *mixed = oxi_llm_attend(batch, l, q, kept, ox_narrow(kept, 2, 0, n->latent));
    return oxi_llm_product_by_head(model, mixed, to_values);
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

/* x [S, width], normalized -> [S, heads * size], what heads have of the values */
static ox_tensor *oxi_llm_mix_heads(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_layer *l = &model->layers[index];
    const bool latent = model->numbers.latent > 0,
               one = oxi_llm_has_trait(model, OXI_LLM_TRAIT(KEY_IS_VALUE));
    ox_tensor *gate = NULL, *out = latent ? oxi_llm_attend_latent(batch, index, x)
                                   : one  ? oxi_llm_attend_one_key(batch, index, x)
                                          : oxi_llm_attend_heads(batch, index, x, &gate);
    const int64_t size = latent ? model->numbers.latent_value : l->value_size;
    out = ox_reshape(ox_transpose(out, 0, 1), OX_SHAPE(batch->count, l->heads * size));
    if (gate) out = oxi_llm_open_gate(model, gate, out, l->heads);
    if (l->part[OXI_LLM_ATTENTION_GATE].weight) /* one a head, or one a number */
        out = oxi_llm_open_gate(model, oxi_llm_product(&l->part[OXI_LLM_ATTENTION_GATE], x), out, l->heads);
    if (l->part[OXI_LLM_MERGE_NORM].weight) out = oxi_llm_normalize(model, &l->part[OXI_LLM_MERGE_NORM], out);
    return out;
}

/* That -> [S, width] */
static ox_tensor *oxi_llm_merge_heads(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *out) {
    if (l->part[OXI_LLM_MERGE_DOWN].weight) out = oxi_llm_merge_groups(model, l, out);
    out = oxi_llm_product(&l->part[OXI_LLM_MERGE], out);
    return model->numbers.value_scale > 0 ? ox_mul_number_(out, model->numbers.value_scale) : out;
}

/* x [S, width], normalized -> [S, width] */
static ox_tensor *oxi_llm_attention(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    if (model->layers[index].part[OXI_LLM_QUERY_ROUTER].weight)
        return oxi_llm_attend_by_experts(batch, index, x);
    return oxi_llm_merge_heads(model, &model->layers[index], oxi_llm_mix_heads(batch, index, x));
}
