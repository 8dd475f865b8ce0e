/* Embeddings: hidden states of a text, pooled to one row, or a row for each token. Called by users. */

static ox_llm_pooling oxi_llm_pooling_of(const ox_llm *model, ox_llm_pooling asked) {
    if (asked != OX_LLM_POOLING_MODEL) return asked;
    return model->numbers.pooling != OX_LLM_POOLING_MODEL ? model->numbers.pooling : OX_LLM_POOLING_MEAN;
}

/* Pools `count` rows to the first one's place. Returns how many there are then. */
static int64_t oxi_llm_pool(ox_llm_pooling pooling, int64_t count, int64_t width, float *rows) {
    if (pooling == OX_LLM_POOLING_NONE) return count;
    const float *from = rows + (pooling == OX_LLM_POOLING_LAST ? (count - 1) * width : 0);
    for (int64_t i = 0; i < width; i++) {
        double sum = from[i];
        for (int64_t t = 1; t < count && pooling == OX_LLM_POOLING_MEAN; t++) sum += rows[t * width + i];
        rows[i] = (float)(pooling == OX_LLM_POOLING_MEAN ? sum / (double)count : sum);
    }
    return 1;
}

/* Rows [count, width] become what products make of them, [count, embedding]. */
static ox_status oxi_llm_run_dense(const ox_llm *model, int64_t count, float *rows) {
    if (!model->part[OXI_LLM_DENSE].weight) return OX_OK;
    ox_scope scope = ox_scope_begin();
    ox_device_scope cpu = ox_device_scope_begin(ox_cpu());
    ox_tensor *x = ox_from_floats(rows, OX_SHAPE(count, model->config.width), OX_F32);
    ox_device_scope_end(&cpu);
    x = ox_to(x, model->device);
    for (int i = 0; i < OXI_LLM_DENSE_MOST && model->part[OXI_LLM_DENSE + i].weight && x; i++) {
        const oxi_llm_activation *activation = model->numbers.dense[i];
        const oxi_llm_part *residual = &model->part[OXI_LLM_DENSE_RESIDUAL + i];
        ox_tensor *taken = model->numbers.dense_added[i] ? x : NULL;
        oxi_llm_wanted w = oxi_llm_want(&model->part[OXI_LLM_DENSE + i], x);
        x = oxi_llm_products(&w, 1) ? w.out : NULL;
        if (x && activation) x = activation->plain(x);
        if (taken && residual->weight) {
            oxi_llm_wanted r = oxi_llm_want(residual, taken);
            taken = oxi_llm_products(&r, 1) ? r.out : NULL;
            if (!taken) x = NULL;
        }
        if (x && taken) x = ox_add(x, taken);
    }
    const ox_status status = x ? ox_to_floats(x, rows, count * model->config.embedding) : oxi_llm_error();
    ox_scope_end(&scope);
    return status;
}

/* Hidden states [*count, *width] become the rows that are given: products lie behind the pooling, or before
 * it. */
static ox_status oxi_llm_finish_rows(const ox_llm *model, ox_llm_pooling pooling, int64_t *count,
                                     int64_t *width, float *rows) {
    const bool late = model->config.late;
    if (!late) *count = oxi_llm_pool(pooling, *count, *width, rows);
    if (!late && pooling == OX_LLM_POOLING_NONE) return OX_OK;
    const ox_status status = oxi_llm_run_dense(model, *count, rows);
    *width = model->config.embedding;
    if (late) *count = oxi_llm_pool(pooling, *count, *width, rows);
    return status;
}

static void oxi_llm_to_length_one(int64_t count, int64_t width, float *row) {
    for (; count > 0; count--, row += width) {
        double squares = 0;
        for (int64_t i = 0; i < width; i++) squares += (double)row[i] * row[i];
        for (int64_t i = 0; i < width && squares > 0; i++) row[i] = (float)(row[i] / sqrt(squares));
    }
}

static ox_status oxi_llm_check_types(const ox_llm *model, const int32_t *types, int64_t count) {
    const ox_tensor *table = model->part[OXI_LLM_TOKEN_TYPES].weight;
    const int64_t known = table ? table->shape[0] : 1;
    for (int64_t i = 0; types && i < count; i++)
        if (types[i] < 0 || types[i] >= known)
            return oxi_fail(OX_ERR_INDEX, "llm: the type of token %lld is %d, the model has %lld",
                            (long long)i, (int)types[i], (long long)known);
    return OX_OK;
}

/* The text's hidden states [count, width], in a context that is emptied first. */
static ox_status oxi_llm_run_text(ox_llm_context *context, const int32_t *tokens, int64_t count,
                                  const int32_t *types, float *out) {
    ox_status status = ox_llm_rewind(context, 0);
    if (!status) status = oxi_llm_check_tokens(context, tokens, count);
    if (!status) status = oxi_llm_check_types(context->model, types, count);
    context->types = types;
    if (!status) status = oxi_llm_run(context, tokens, count, true, false, out);
    context->types = NULL;
    return status;
}

OX_API ox_status ox_llm_embed(ox_llm_context *context, const int32_t *tokens, int64_t count,
                              const ox_llm_embed_desc *desc, float *out) {
    ox_llm_embed_desc zero;
    memset(&zero, 0, sizeof zero);
    if (!desc) desc = &zero;
    if (!context) return oxi_fail_missing("llm: the context");
    if (!out) return oxi_fail_missing("llm: the place for the embedding");
    if (desc->pooling < OX_LLM_POOLING_MODEL || desc->pooling >= OX_LLM_POOLING_COUNT)
        return oxi_fail(OX_ERR_ARG, "llm: there is no pooling %d", (int)desc->pooling);
    if (context->encoder) return ox_llm_embed(context->encoder, tokens, count, desc, out);
    const ox_llm *model = context->model;
    const ox_llm_pooling pooling = oxi_llm_pooling_of(model, desc->pooling);
    int64_t width = model->config.width;
    const int64_t most = model->config.embedding > width ? model->config.embedding : width;
    size_t bytes = 0;
    if (count < 0 || !oxi_mul_size((size_t)count, (size_t)most * sizeof *out, &bytes))
        return oxi_fail(OX_ERR_ARG, "llm: hidden states of %lld tokens", (long long)count);
    float *rows = (float *)oxi_alloc(bytes);
    if (!rows) return OX_ERR_NOMEM;
    ox_status status = oxi_llm_run_text(context, tokens, count, desc->types, rows);
    if (!status) status = oxi_llm_finish_rows(model, pooling, &count, &width, rows);
    if (!status && desc->normalize) oxi_llm_to_length_one(count, width, rows);
    if (!status) memcpy(out, rows, (size_t)(count * width) * sizeof *out);
    oxi_free(rows, bytes);
    return status;
}
