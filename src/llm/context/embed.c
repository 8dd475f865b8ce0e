/* Embeddings: hidden states of a text, pooled to one row. Called by users. */

static ox_llm_pooling oxi_llm_pooling_of(const ox_llm *model, ox_llm_pooling asked) {
    if (asked != OX_LLM_POOLING_MODEL) return asked;
    return model->numbers.pooling != OX_LLM_POOLING_MODEL ? model->numbers.pooling : OX_LLM_POOLING_MEAN;
}

/* Pools `count` rows to the first one's place. */
static void oxi_llm_pool(ox_llm_pooling pooling, int64_t count, int64_t width, const float *rows, float *out) {
    const float *from = rows + (pooling == OX_LLM_POOLING_LAST ? (count - 1) * width : 0);
    for (int64_t i = 0; i < width; i++) {
        double sum = from[i];
        for (int64_t t = 1; t < count && pooling == OX_LLM_POOLING_MEAN; t++) sum += rows[t * width + i];
        out[i] = (float)(pooling == OX_LLM_POOLING_MEAN ? sum / (double)count : sum);
    }
}

static void oxi_llm_to_length_one(int64_t width, float *row) {
    double squares = 0;
    for (int64_t i = 0; i < width; i++) squares += (double)row[i] * row[i];
    for (int64_t i = 0; i < width && squares > 0; i++) row[i] = (float)(row[i] / sqrt(squares));
}

OX_API ox_status ox_llm_embed(ox_llm_context *context, const int32_t *tokens, int64_t count, ox_llm_pooling pooling,
                              bool normalize, float *out) {
    if (!context) return oxi_fail_missing("llm: the context");
    if (!out) return oxi_fail_missing("llm: the place for the embedding");
    if (pooling < OX_LLM_POOLING_MODEL || pooling >= OX_LLM_POOLING_COUNT)
        return oxi_fail(OX_ERR_ARG, "llm: there is no pooling %d", (int)pooling);
    const int64_t width = context->model->config.width;
    ox_status status = ox_llm_rewind(context, 0);
    pooling = oxi_llm_pooling_of(context->model, pooling);
    if (!status && pooling == OX_LLM_POOLING_NONE) return oxi_llm_run(context, tokens, count, true, false, out);
    size_t bytes = 0;
    if (!status) status = oxi_llm_check_tokens(context, tokens, count);
    if (!status && !oxi_mul_size((size_t)count, (size_t)width * sizeof *out, &bytes))
        status = oxi_fail(OX_ERR_NOMEM, "llm: hidden states of %lld tokens", (long long)count);
    float *rows = status ? NULL : (float *)oxi_alloc(bytes);
    if (!status) status = rows ? oxi_llm_run(context, tokens, count, true, false, rows) : OX_ERR_NOMEM;
    if (!status) oxi_llm_pool(pooling, count, width, rows, out);
    if (!status && normalize) oxi_llm_to_length_one(width, out);
    oxi_free(rows, rows ? bytes : 0);
    return status;
}
