/* Embeddings of n-grams, which a layer adds to its residual rows: by gates, and by a convolution over the
 * last positions. Called by forward.c and context.c. source: Qwen 4 (experimental), llama.cpp */

/* The token `back` positions before `at`; an end of a text, or a place before the first one, hides what lies
 * before it. */
static uint64_t oxi_llm_token_before(const oxi_llm_grams *g, const int32_t *tokens, int64_t at,
                                     int64_t back) {
    for (int64_t k = 1; k <= back; k++)
        if (at - k < 0 || tokens[at - k] == g->end) return (uint64_t)g->end;
    return (uint64_t)tokens[at - back];
}

/* Rows of the table for each position of a batch, i32 [count, rows]; `tokens`: of the whole text. */
static ox_tensor *oxi_llm_gram_rows(const oxi_llm_batch *batch, const int32_t *tokens) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_grams *g = &model->grams;
    const size_t bytes = (size_t)(batch->count * g->rows) * sizeof(int32_t);
    int32_t *list = (int32_t *)oxi_alloc(bytes);
    if (!list) return NULL;
    for (int64_t i = 0; i < batch->count; i++) {
        const int64_t at = batch->start + i;
        uint64_t hash = (uint64_t)tokens[at] * g->factor[0];
        for (int64_t back = 1; back < g->most; back++) {
            hash ^= oxi_llm_token_before(g, tokens, at, back) * g->factor[back];
            for (int64_t row = (back - 1) * g->each; row < back * g->each; row++)
                list[i * g->rows + row] = (int32_t)(hash % g->count[row] + g->first[row]);
        }
    }
    ox_tensor *out = ox_to(oxi_copied(list, OX_SHAPE(batch->count, g->rows), OX_I32), model->device);
    oxi_free(list, bytes);
    return out;
}

/* Rows [S, hyper, width], each with its norm, by weights of all of them. */
static ox_tensor *oxi_llm_normalize_rows(const ox_llm *model, const oxi_llm_part *norm, ox_tensor *x) {
    const int64_t rows = model->numbers.hyper, width = model->config.width;
    return ox_mul_(oxi_llm_normalize(model, NULL, x), ox_reshape(norm->weight, OX_SHAPE(rows, width)));
}

/* The sigmoid of a root that keeps the sign. */
static ox_tensor *oxi_llm_root_gate(ox_tensor *x) {
    ox_tensor *root = ox_sqrt_(ox_clamp_(ox_abs(x), 1e-6, INFINITY));
    return ox_sigmoid_(ox_mul_(root, ox_sign(x)));
}

/* x [S, hyper, width] with what the n-grams add. */
static ox_tensor *oxi_llm_add_grams(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const ox_llm *model = context->model;
    const oxi_llm_part *p = model->layers[index].part;
    const int64_t rows = model->numbers.hyper, width = model->config.width;
    ox_tensor *made = ox_cast(ox_embedding(batch->grams, model->part[OXI_LLM_GRAMS].weight), OX_F32);
    made = ox_flatten(made, 1, 2);
    ox_tensor *key = ox_unflatten(oxi_llm_product(&p[OXI_LLM_GRAM_KEY], made), 1, OX_SHAPE(rows, width));
    ox_tensor *value = ox_unsqueeze(oxi_llm_product(&p[OXI_LLM_GRAM_VALUE], made), 1); /* [S, 1, width] */
    key = oxi_llm_normalize_rows(model, &p[OXI_LLM_GRAM_KEY_NORM], key);
    ox_tensor *query = oxi_llm_normalize_rows(model, &p[OXI_LLM_GRAM_QUERY_NORM], x);
    ox_tensor *score = ox_sum(ox_mul_(key, query), OX_DIMS(2), true); /* [S, hyper, 1] */
    value = ox_mul(value, oxi_llm_root_gate(ox_mul_number_(score, 1 / sqrt((double)width))));
    ox_tensor *mixed = ox_flatten(oxi_llm_normalize_rows(model, &p[OXI_LLM_GRAM_CONV_NORM], value), 1, 2);
    mixed = oxi_llm_convolve_over(model, p[OXI_LLM_GRAM_CONV].weight, NULL, true, model->grams.most,
                                  context->states[index].grams, &context->written[index].grams, mixed);
    mixed = ox_unflatten(mixed, 1, OX_SHAPE(rows, width));
    return ox_add_(ox_add_(x, value), mixed);
}
