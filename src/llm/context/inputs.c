/* What each layer takes of a token beside its residual row: numbers of a table, and of the token's embedding,
 * let in by a gate behind the feed-forward. Called by forward.c.
 * source: transformers, Gemma 3n and 4 (per-layer embeddings) */

/* ids i32 [S], x [S, width] their embeddings -> [S, layers, input] */
static ox_tensor *oxi_llm_layer_inputs(const ox_llm *model, ox_tensor *ids, ox_tensor *x) {
    const oxi_llm_part *table = &model->part[OXI_LLM_GRAMS];
    const int64_t size = model->numbers.input, layers = model->config.layers, known = table->weight->shape[0];
    if (known < model->config.vocabulary) /* tokens that stand for images have the first row */
        ids = ox_where(ox_lt(ids, ox_integer(known)), ids, ox_integer(0));
    ox_tensor *rows = ox_cast(ox_embedding(ids, table->weight), OX_F32);
    rows = ox_unflatten(ox_mul_number_(rows, sqrt((double)size)), 1, OX_SHAPE(layers, size));
    ox_tensor *made = ox_mul_number_(oxi_llm_product(&model->part[OXI_LLM_INPUTS], x),
                                     1 / sqrt((double)model->config.width));
    made = oxi_llm_normalize(model, &model->part[OXI_LLM_INPUTS_NORM],
                             ox_unflatten(made, 1, OX_SHAPE(layers, size)));
    return ox_mul_number_(ox_add_(made, rows), sqrt(0.5));
}

/* What layer `index` makes of its part of them, for x [S, width]: [S, width] */
static ox_tensor *oxi_llm_layer_input(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_part *p = model->layers[index].part;
    ox_tensor *gate = oxi_llm_product(&p[OXI_LLM_INPUT_GATE], x), *own = ox_select(batch->inputs, 1, index);
    if (!gate || !own) return NULL;
    gate = oxi_llm_gated(model->numbers.activation, gate, own);
    return oxi_llm_normalize(model, &p[OXI_LLM_INPUT_NORM], oxi_llm_product(&p[OXI_LLM_INPUT_MERGE], gate));
}
