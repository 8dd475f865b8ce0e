/* The forward pass: embeddings, the layers, logits. One for all families: what a layer does follows from its
 * family's row and from the parts that it has. Written in public operations, so that it runs on any device.
 * Called by context.c. */

/* The norm before attention or feed-forward, which a layer may lack; families without weights of it have
 * one. */
static ox_tensor *oxi_llm_normalize_before(const ox_llm *model, const oxi_llm_layer *l,
                                           oxi_llm_layer_role role, ox_tensor *x) {
    const bool bare = oxi_llm_has_trait(model, OXI_LLM_TRAIT(BARE_NORMS));
    return bare || l->part[role].weight ? oxi_llm_normalize_row(model, &l->part[role], x) : x;
}

/* The norm behind one of them, which a layer may lack. */
static ox_tensor *oxi_llm_normalize_behind(const ox_llm *model, const oxi_llm_layer *l,
                                           oxi_llm_layer_role role, ox_tensor *x) {
    const bool own = oxi_llm_has_trait(model, OXI_LLM_TRAIT(POST_EPSILON));
    if (!l->part[role].weight) return x;
    return oxi_llm_normalize_with(model, &l->part[role], x, own ? 1e-8 : model->numbers.epsilon);
}

/* What a plain feed-forward and experts beside it make, each with norms of its own; `normal`: x with the norm
 * of the plain one. */
static ox_tensor *oxi_llm_feed_both(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *x,
                                    ox_tensor *normal) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_part *p = l->part;
    ox_tensor *seen = ox_mul(oxi_llm_normalize(model, NULL, x), p[OXI_LLM_ROUTER_SCALE].weight);
    seen = ox_mul_number_(seen, 1 / sqrt((double)model->config.width));
    ox_tensor *out =
        oxi_llm_mixture(batch, l, oxi_llm_normalize(model, &p[OXI_LLM_EXPERTS_PRE_NORM], x), seen, NULL);
    out = oxi_llm_normalize_behind(model, l, OXI_LLM_EXPERTS_POST_NORM, out);
    normal = oxi_llm_feed_forward(model, l, normal, NULL);
    return ox_add_(out, oxi_llm_normalize_behind(model, l, OXI_LLM_DENSE_POST_NORM, normal));
}

/* What the layer's second half adds to x; `normal`: x with its norm, of blocks that have one; `start`: the
 * layer's input, of families whose router sees that; `early`: what experts made of it already; `beside`:
 * NULL, or what may be left of it, a product to be added as well (oxi_llm_mixture). */
static ox_tensor *oxi_llm_second_half(const oxi_llm_batch *batch, int64_t index, ox_tensor *x,
                                      ox_tensor *normal, ox_tensor *start, ox_tensor *early,
                                      oxi_llm_wanted *beside) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_layer *l = &model->layers[index];
    if (l->mixer && l->part[OXI_LLM_FEED_SHIFT].weight)
        return oxi_llm_shifted_feed_forward(batch, index, normal);
    if (!l->part[OXI_LLM_ROUTER].weight) return oxi_llm_feed_forward(model, l, normal, NULL);
    if (l->part[OXI_LLM_EXPERTS_PRE_NORM].weight) return oxi_llm_feed_both(batch, l, x, normal);
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(EXPERTS_UNREAD)))
        return model->numbers.activation->plain(ox_clone(normal));
    const bool dense = l->part[OXI_LLM_UP].weight && oxi_llm_has_trait(model, OXI_LLM_TRAIT(DENSE_BESIDE));
    ox_tensor *out = early ? early
                           : oxi_llm_mixture(batch, l, normal, start ? start : normal, dense ? NULL : beside);
    if (!dense) return out;
    out = ox_add_(out, oxi_llm_feed_forward(model, l, normal, NULL));
    return oxi_llm_has_trait(model, OXI_LLM_TRAIT(BESIDE_ROOT)) ? ox_mul_number_(out, sqrt(0.5)) : out;
}

/* What the layer's first half makes of x: attention, a mixer, or the sum of both. */
static ox_tensor *oxi_llm_first_half(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const oxi_llm_layer *l = &batch->context->model->layers[index];
    if (!l->mixer) return oxi_llm_attention(batch, index, x);
    ox_tensor *mixed = oxi_llm_mixers[l->mixer](batch, index, x);
    return l->attends ? ox_add_(mixed, oxi_llm_attention(batch, index, x)) : mixed;
}

/* The residual sum: x + out, or out + normal of families that go on from the normed input; with several
 * residual rows, what `shares` says. */
static ox_tensor *oxi_llm_join(const ox_llm *model, const oxi_llm_shares *shares, ox_tensor *x,
                               ox_tensor *normal, ox_tensor *out) {
    const double scale = model->numbers.residual_scale;
    if (shares->taken) return oxi_llm_add_rows(shares, x, out);
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(RESIDUAL_NORMED))) return ox_add_scaled_(out, normal, scale);
    return scale > 0 && scale != 1 ? ox_add_scaled_(x, out, scale) : ox_add_(x, out);
}

/* Of a layer whose halves see the same input: its heads' values are merged behind the second half, so that a
 * GPU computes the halves side by side, and each sum with the product that it is of. */
static bool oxi_llm_merges_late(const ox_llm *model, const oxi_llm_layer *l, bool parallel) {
    return parallel && l->attends && l->feeds && !l->mixer && model->numbers.bank == 0 && !model->encoder &&
           !l->part[OXI_LLM_ATTENTION_POST_NORM].weight && !l->part[OXI_LLM_ATTENTION_MIX].weight &&
           !oxi_llm_has_trait(model, OXI_LLM_TRAIT(RESIDUAL_NORMED));
}

/* x and a way past attention: what it read, and few numbers made of that. source: Gemma 3n, "LAuReL" */
static ox_tensor *oxi_llm_add_past(const ox_llm *model, const oxi_llm_part *p, ox_tensor *x,
                                   ox_tensor *normal) {
    ox_tensor *made = oxi_llm_product(&p[OXI_LLM_PAST_UP], oxi_llm_product(&p[OXI_LLM_PAST_DOWN], normal));
    made = ox_add_(oxi_llm_normalize(model, &p[OXI_LLM_PAST_NORM], made), normal);
    return ox_mul_number_(ox_add_(x, made), sqrt(0.5));
}

/* x += what the layer computes; false on error. */
static bool oxi_llm_run_layer(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_numbers *n = &model->numbers;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *p = l->part;
    const bool sum = n->block == OXI_LLM_BLOCK_SUM;
    const bool parallel =
        n->block == OXI_LLM_BLOCK_PARALLEL ||
        (oxi_llm_has_trait(model, OXI_LLM_TRAIT(PARALLEL_WITHOUT)) && !p[OXI_LLM_HIDDEN_NORM].weight);
    const bool late = oxi_llm_merges_late(model, l, parallel);
    oxi_llm_shares shares = {NULL, NULL};
    ox_scope scope = ox_scope_begin();
    ox_tensor *place = x, *start = NULL, *early = NULL;
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(ROUTER_EARLY))) start = ox_clone(x);
    if (p[OXI_LLM_EXPERTS_NORM].weight) {
        early = oxi_llm_normalize(model, &p[OXI_LLM_EXPERTS_NORM], x);
        early = oxi_llm_mixture(batch, l, early, early, NULL);
    }
    if (p[OXI_LLM_GRAM_KEY].weight) x = oxi_llm_add_grams(batch, index, x);
    ox_tensor *normal = x, *attended = NULL;
    if (l->attends || l->mixer) {
        normal = oxi_llm_read_rows(batch, index, 0, x, &shares);
        normal = oxi_llm_normalize_before(model, l, OXI_LLM_ATTENTION_NORM, normal);
        attended = late ? oxi_llm_mix_heads(batch, index, normal) : oxi_llm_first_half(batch, index, normal);
        attended = oxi_llm_normalize_behind(model, l, OXI_LLM_ATTENTION_POST_NORM, attended);
        if (p[OXI_LLM_ATTENTION_RESIDUAL].weight) x = ox_mul_(x, p[OXI_LLM_ATTENTION_RESIDUAL].weight);
        if (n->bank > 0 && index % n->bank == 0)
            x = ox_copy_(ox_select(batch->kept, 1, index / n->bank), x) ? attended : NULL;
        else if (!parallel)
            x = oxi_llm_join(model, &shares, x, normal, attended);
        if (p[OXI_LLM_PAST_DOWN].weight) x = oxi_llm_add_past(model, p, x, normal);
        if (sum) x = oxi_llm_normalize(model, &p[OXI_LLM_ATTENTION_SUM_NORM], x);
    }
    if (model->encoder) {
        normal = oxi_llm_normalize(model, &p[OXI_LLM_CROSS_NORM], x);
        x = oxi_llm_join(model, &shares, x, normal, oxi_llm_attend_source(batch, index, normal));
    }
    if (l->feeds) {
        if (!parallel || p[OXI_LLM_HIDDEN_NORM].weight)
            normal = oxi_llm_normalize_before(model, l, OXI_LLM_HIDDEN_NORM,
                                              oxi_llm_read_rows(batch, index, 1, x, &shares));
        const bool plain = !p[OXI_LLM_HIDDEN_POST_NORM].weight && !shares.taken &&
                           !oxi_llm_has_trait(model, OXI_LLM_TRAIT(RESIDUAL_NORMED));
        oxi_llm_wanted beside = oxi_llm_want(NULL, NULL);
        ox_tensor *out =
            oxi_llm_second_half(batch, index, x, normal, start, early, plain ? &beside : NULL);
        out = oxi_llm_normalize_behind(model, l, OXI_LLM_HIDDEN_POST_NORM, out);
        if (p[OXI_LLM_HIDDEN_RESIDUAL].weight) x = ox_mul_(x, p[OXI_LLM_HIDDEN_RESIDUAL].weight);
        if (parallel && !late) x = oxi_llm_join(model, &shares, x, normal, attended);
        x = oxi_llm_join(model, &shares, x, normal, out);
        if (beside.part) x = oxi_llm_join(model, &shares, x, normal, oxi_llm_product_of(beside));
        if (late) x = oxi_llm_join(model, &shares, x, normal, oxi_llm_merge_heads(model, l, attended));
    }
    if (sum) x = oxi_llm_normalize(model, &p[OXI_LLM_LAYER_SUM_NORM], x);
    if (batch->inputs && n->alternate == 0) x = ox_add_(x, oxi_llm_layer_input(batch, index, x));
    if (p[OXI_LLM_LAYER_SCALE].weight) x = ox_mul_(x, p[OXI_LLM_LAYER_SCALE].weight);
    if (batch->embedded) x = ox_add_(x, ox_mul(batch->embedded, p[OXI_LLM_EMBEDDING_SHARE].weight));
    if (n->halved > 0 && (index + 1) % n->halved == 0) x = ox_mul_number_(x, 0.5);
    const bool done = x && (x == place || ox_copy_(place, x));
    ox_scope_end(&scope);
    return done;
}

/* ids i32 [S] -> f32 [S, width]: the layers add to it in place */
static ox_tensor *oxi_llm_embed(const oxi_llm_batch *batch, ox_tensor *ids) {
    const ox_llm *model = batch->context->model;
    ox_tensor *x = ox_cast(ox_embedding(ids, model->part[OXI_LLM_EMBEDDING].weight), OX_F32);
    x = oxi_llm_scaled(x, model->numbers.embedding_scale);
    if (model->part[OXI_LLM_POSITIONS].weight)
        x = ox_add_(x, ox_embedding(batch->positions, model->part[OXI_LLM_POSITIONS].weight));
    ox_tensor *types = model->part[OXI_LLM_TOKEN_TYPES].weight;
    if (types) x = ox_add_(x, batch->types ? ox_embedding(batch->types, types) : ox_narrow(types, 0, 0, 1));
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(EMBEDDING_NORMED))) x = oxi_llm_normalize(model, NULL, x);
    return model->part[OXI_LLM_EMBEDDING_NORM].weight
               ? oxi_llm_normalize(model, &model->part[OXI_LLM_EMBEDDING_NORM], x)
               : x;
}

/* x [rows, width] of the last layer, with the last norm. */
static ox_tensor *oxi_llm_hidden(const ox_llm *model, ox_tensor *x) {
    const oxi_llm_part *norm = &model->part[OXI_LLM_OUTPUT_NORM];
    const bool bare = oxi_llm_has_trait(model, OXI_LLM_TRAIT(BARE_NORMS)) && model->numbers.stack == 0;
    if (model->numbers.output_epsilon > 0)
        return oxi_llm_normalize_with(model, norm, x, model->numbers.output_epsilon);
    return norm->weight || bare ? oxi_llm_normalize_row(model, norm, x) : x;
}

/* That -> logits [rows, vocabulary] */
static ox_tensor *oxi_llm_logits(const ox_llm *model, ox_tensor *x) {
    const oxi_llm_numbers *n = &model->numbers;
    if (model->part[OXI_LLM_HEAD].weight) {
        x = model->family->activation->plain(oxi_llm_product(&model->part[OXI_LLM_HEAD], x));
        x = oxi_llm_normalize(model, &model->part[OXI_LLM_HEAD_NORM], x);
    }
    x = oxi_llm_scaled(oxi_llm_product(&model->part[OXI_LLM_OUTPUT], x), n->logit_scale);
    return oxi_llm_capped(n->logit_cap, x);
}

/* x [S, rows, width] = what layer `index` makes of it; false on error. */
static bool oxi_llm_run_alternating(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_part *p = model->layers[index].part;
    const int64_t rows = model->numbers.alternate;
    ox_scope scope = ox_scope_begin();
    ox_tensor *guessed = oxi_llm_guess_rows(model, p, x), *made = ox_clone(ox_select(guessed, 1, 0));
    bool done = guessed && made && oxi_llm_run_layer(batch, index, made);
    if (done) {
        ox_tensor *out = oxi_llm_correct_rows(model, p, guessed, made);
        if (batch->inputs) {
            ox_tensor *first = ox_contiguous(ox_select(out, 1, 0));
            if (p[OXI_LLM_ALTERNATE_SCALE].weight) first = ox_mul(first, p[OXI_LLM_ALTERNATE_SCALE].weight);
            first = oxi_llm_layer_input(batch, index, first);
            done = ox_add_(ox_narrow(out, 1, 1, rows - 1), ox_unsqueeze(first, 1)) != NULL;
        }
        done = done && ox_copy_(x, out);
    }
    ox_scope_end(&scope);
    return done;
}

/* x = layers first .. first + count - 1 of it; false on error. */
static bool oxi_llm_run_layers(const oxi_llm_batch *batch, int64_t first, int64_t count, ox_tensor *x) {
    for (int64_t i = first; i < first + count; i++)
        if (!(batch->context->model->numbers.alternate ? oxi_llm_run_alternating(batch, i, x)
                                                       : oxi_llm_run_layer(batch, i, x)))
            return false;
    return true;
}

/* Two stacks of layers in turn over what both made of the text so far: `low` a few times, then `high`, with a
 * norm behind each. x: of the high one; the layers are those of all passes, one behind the other.
 * source: Wang et al. 2025, "Hierarchical Reasoning Model" */
static bool oxi_llm_run_cycles(const oxi_llm_batch *batch, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_numbers *n = &model->numbers;
    ox_tensor *low = ox_zeros_like(x), *both = ox_empty_like(x);
    if (!ox_add_(low, model->part[OXI_LLM_LOW_START].weight)) return false;
    for (int64_t i = 0; i < model->config.layers; i += n->stack) {
        const bool high = i / n->stack % (n->low_passes + 1) == n->low_passes;
        ox_scope scope = ox_scope_begin();
        const bool done = ox_copy_(both, x) && ox_add_(both, low) &&
                          oxi_llm_run_layers(batch, i, n->stack, both) &&
                          ox_copy_(high ? x : low, oxi_llm_normalize(model, NULL, both));
        ox_scope_end(&scope);
        if (!done) return false;
    }
    return true;
}

/* ids i32 [S] -> hidden states [rows, width] of the last `rows` of them; with rows 0 the last layer's x. */
static ox_tensor *oxi_llm_forward(const oxi_llm_batch *batch, ox_tensor *ids, int64_t rows) {
    const ox_llm *model = batch->context->model;
    oxi_llm_batch with = *batch;
    const oxi_llm_numbers *n = &model->numbers;
    ox_tensor *x = oxi_llm_embed(batch, ids);
    with.ids = ids;
    if (x && n->input > 0 && !(with.inputs = oxi_llm_layer_inputs(model, ids, x))) return NULL;
    x = oxi_llm_alternate_rows(model, oxi_llm_spread_rows(model, x));
    const int64_t most = n->bank > 0 ? (model->config.layers - 1) / n->bank + 1 : 0,
                  shape[3] = {batch->count, most, model->config.width};
    if (most && !(with.kept = oxi_tensor_new(model->device, OX_F32, 3, shape))) return NULL;
    const int64_t pairs[2] = {batch->count, batch->start + batch->count};
    if (n->indexed && n->latent && pairs[1] > n->best &&
        !(with.chosen = oxi_tensor_new(model->device, OX_BOOL, 2, pairs)))
        return NULL;
    if (x && model->layers[0].part[OXI_LLM_EMBEDDING_SHARE].weight && !(with.embedded = ox_clone(x)))
        return NULL;
    if (!x || !(model->numbers.stack > 0 ? oxi_llm_run_cycles(&with, x)
                                         : oxi_llm_run_layers(&with, 0, model->config.layers, x)))
        return NULL;
    if (rows == 0) return x;
    x = n->alternate ? oxi_llm_join_alternate(model, rows, x) : oxi_llm_last_rows(&with, rows, x);
    return oxi_llm_hidden(model, x);
}
