/* What all kinds of attention are made of: heads, their norms and turns, the cache, the scores.
 * Called by attention.c, compressed.c and mixers.c. */

/* ---- heads --------------------------------------------------------------------------------------------- */

/* [S, heads * size] -> [S, heads, size] */
static ox_tensor *oxi_llm_split(ox_tensor *x, int64_t heads, int64_t size) {
    return x ? ox_view(x, OX_SHAPE(x->shape[0], heads, size)) : NULL;
}

/* [heads, S, size] -> [S, heads * size] */
static ox_tensor *oxi_llm_join_heads(ox_tensor *x) {
    if (!x) return NULL;
    return ox_reshape(ox_transpose(x, 0, 1), OX_SHAPE(x->shape[1], x->shape[0] * x->shape[2]));
}

/* The norm of q or k [S, heads, size]: of each head, or of all heads as one row. */
static ox_tensor *oxi_llm_normalize_heads(const ox_llm *model, const oxi_llm_part *part, ox_tensor *x) {
    if (!x || !part->weight) return x;
    const int64_t heads = x->shape[1], size = x->shape[2];
    if (part->weight->ndim > 1 || ox_numel(part->weight) == size) return oxi_llm_normalize(model, part, x);
    x = oxi_llm_normalize(model, part, ox_view(x, OX_SHAPE(x->shape[0], heads * size)));
    return oxi_llm_split(x, heads, size);
}

/* The base of a rope, larger for tokens that end a text of more positions than it is for. Keys that were
 * turned before stay as they are. source: transformers, the rope type "dynamic" */
static double oxi_llm_rope_base(const oxi_llm_batch *batch, const oxi_llm_rope *rope) {
    const int64_t end = batch->start + batch->count, reach = batch->context->reach;
    const double over = (double)(end > reach ? end : reach) / (double)rope->original - 1;
    if (!(rope->growth > 0 && over > 0) || rope->size < 4) return rope->base;
    return rope->base * pow(1 + rope->growth * over, (double)rope->size / (double)(rope->size - 2));
}

static ox_tensor *oxi_llm_turn_as(const oxi_llm_batch *batch, const oxi_llm_rope *rope, ox_tensor *heads,
                                  bool pairs) {
    const ox_llm_context *context = batch->context;
    ox_rope_desc desc;
    if (!rope) return heads;
    memset(&desc, 0, sizeof desc);
    desc.base = oxi_llm_rope_base(batch, rope);
    desc.scale = rope->scale;
    const bool far = rope->long_factors && context->stretched;
    desc.magnitude = far ? rope->long_magnitude : rope->magnitude;
    desc.dims = (int)rope->size;
    desc.interleaved = pairs;
    desc.factors = far ? rope->long_factors : rope->factors;
    return ox_rope(heads, batch->positions, &desc);
}

static ox_tensor *oxi_llm_turn(const oxi_llm_batch *batch, const oxi_llm_rope *rope, ox_tensor *heads) {
    return oxi_llm_turn_as(batch, rope, heads, batch->context->model->numbers.rope == OXI_LLM_ROPE_PAIRS);
}

/* Whether q and k of a turned layer have norms without weights. */
static bool oxi_llm_has_late_norms(const ox_llm *model, const oxi_llm_layer *l, const oxi_llm_part *norm) {
    if (norm->weight) return oxi_llm_has_trait(model, OXI_LLM_TRAIT(LATE_NORMS));
    return model->numbers.late_bare && l->rope;
}

/* x with the norm that comes before it is turned: `whole` with that of several rows of all heads, else with
 * that of each head, or of a single row. Those of q and k as rows come before either is turned, the others
 * right before: a device makes one dispatch of what follows each other. */
static ox_tensor *oxi_llm_normalize_early(const oxi_llm_batch *batch, const oxi_llm_layer *l,
                                          const oxi_llm_part *norm, ox_tensor *x, bool whole) {
    const ox_llm *model = batch->context->model;
    if (!x || !norm->weight || oxi_llm_has_late_norms(model, l, norm)) return x;
    const bool row = x->shape[0] > 1 && norm->weight->ndim == 1 && ox_numel(norm->weight) != x->shape[2];
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

/* The first position that a batch's rows see: of a chunk, which no batch crosses; where tokens see all of a
 * text, a batch is one. */
static int64_t oxi_llm_first_seen(const oxi_llm_batch *batch, const oxi_llm_layer *l) {
    const int64_t chunk = batch->context->model->numbers.chunk;
    if (!batch->context->model->numbers.causal) return batch->start;
    return chunk > 0 && l->window ? batch->start / chunk * chunk : 0;
}

/* What the batch's rows see of a cache that holds theirs too: [kv_heads, start + S - first, size]. */
static ox_tensor *oxi_llm_seen(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *cache) {
    const int64_t first = oxi_llm_first_seen(batch, l);
    return ox_narrow(cache, 1, first, batch->start + batch->count - first);
}

/* Writes rows [kv_heads, S, size] behind those in the cache; gives all that is seen. */
static ox_tensor *oxi_llm_remember(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *cache,
                                   ox_tensor *rows) {
    if (!ox_copy_(ox_narrow(cache, 1, batch->start, batch->count), rows)) return NULL;
    return oxi_llm_seen(batch, l, cache);
}

/* What each key adds to the scores of the queries that see it, of values v [kv_heads, T, size]: f32
 * [heads, 1, T]. source: Shi et al. 2025, "Trainable Dynamic Mask Sparse Attention" */
static ox_tensor *oxi_llm_key_scores(const oxi_llm_layer *l, ox_tensor *v) {
    const oxi_llm_part *p = l->part;
    if (!v) return NULL;
    const int64_t count = v->shape[1], each = l->heads / l->kv_heads;
    ox_tensor *rows = ox_cast(ox_contiguous(ox_transpose(v, 0, 1)), OX_F32);
    rows = oxi_llm_product(&p[OXI_LLM_KEY_SCORE], ox_flatten(rows, 1, 2)); /* [T, kv_heads] */
    rows = ox_exp_(ox_mul_(ox_softplus(rows, 1, 20), p[OXI_LLM_KEY_RATE].weight));
    rows = ox_expand(ox_unsqueeze(ox_t(rows), 1), OX_SHAPE(l->kv_heads, each, count));
    return ox_reshape(rows, OX_SHAPE(l->heads, 1, count));
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
    if (n->scale_falls)
        desc.scale = (desc.scale > 0 ? desc.scale : 1 / sqrt((double)l->key_size)) /
                     (double)(l - model->layers + 1);
    desc.softcap = n->score_cap;
    if (!oxi_llm_find_bias(batch, l, &desc.mask)) return NULL;
    if (l->part[OXI_LLM_KEY_SCORE].weight && !(desc.mask = oxi_llm_key_scores(l, v))) return NULL;
    if (batch->chosen) desc.mask = batch->chosen;
    desc.sinks = l->part[OXI_LLM_SINKS].weight;
    if (batch->temperatures && warmer) q = ox_mul(q, batch->temperatures);
    return ox_scaled_dot_product_attention(q, k, v, &desc); /* [heads, S, value_size] */
}

/* Queries [S, heads * size] by one product, or by two with few numbers and a norm between them, of which x is
 * what the first gave. *few: these with their norm, or NULL. */
static ox_tensor *oxi_llm_finish_queries(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *x,
                                         ox_tensor **few) {
    const oxi_llm_part *p = l->part;
    *few = NULL;
    if (p[OXI_LLM_QUERY].weight) return x;
    *few = oxi_llm_normalize_with(model, &p[OXI_LLM_QUERY_DOWN_NORM], x, model->numbers.latent_epsilon);
    return oxi_llm_product(&p[OXI_LLM_QUERY_UP], *few);
}
