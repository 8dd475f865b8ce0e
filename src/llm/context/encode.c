/* The text that a model with an encoder answers: it is run through the encoder once, and each layer of the
 * decoder keeps the keys and values that it makes of it. Called by users and by generate.c. */

/* Rows [n, width] by a part -> [kv_heads, n, size], as the cache keeps them. */
static ox_tensor *oxi_llm_source_heads(const ox_llm_context *context, const oxi_llm_part *part,
                                       ox_tensor *rows, int64_t heads, int64_t size) {
    const int64_t shape[3] = {heads, rows->shape[0], size};
    ox_tensor *out = oxi_tensor_new(context->model->device, context->dtype, 3, shape);
    ox_tensor *made = ox_transpose(oxi_llm_split(oxi_llm_product(part, rows), heads, size), 0, 1);
    return made && out ? ox_copy_(out, made) : NULL;
}

/* Keys and values of all layers; false with some missing on error. */
static bool oxi_llm_make_source(const ox_llm_context *context, ox_tensor *rows, ox_tensor **source) {
    const ox_llm *model = context->model;
    bool done = rows != NULL;
    for (int64_t i = 0; done && i < model->config.layers; i++) {
        const oxi_llm_layer *l = &model->layers[i];
        ox_scope scope = ox_scope_begin();
        source[2 * i] = ox_retain(
            oxi_llm_source_heads(context, &l->part[OXI_LLM_CROSS_KEY], rows, l->kv_heads, l->key_size));
        source[2 * i + 1] = ox_retain(
            oxi_llm_source_heads(context, &l->part[OXI_LLM_CROSS_VALUE], rows, l->kv_heads, l->value_size));
        done = source[2 * i] && source[2 * i + 1];
        ox_scope_end(&scope);
    }
    return done;
}

OX_API ox_status ox_llm_encode(ox_llm_context *context, const int32_t *tokens, int64_t count) {
    if (!context) return oxi_fail_missing("llm: the context");
    if (!context->encoder)
        return oxi_fail(OX_ERR_UNSUPPORTED,
                        "llm: a model of the architecture %s has no encoder before its decoder",
                        context->model->config.architecture);
    const int64_t width = context->model->config.width, layers = context->model->config.layers;
    size_t bytes = 0;
    if (count < 1 || !oxi_mul_size((size_t)count, (size_t)width * sizeof(float), &bytes))
        return oxi_fail(OX_ERR_ARG, "llm: %lld tokens to encode", (long long)count);
    float *rows = (float *)oxi_alloc(bytes);
    ox_tensor **source = (ox_tensor **)oxi_calloc(2 * (size_t)layers, sizeof *source);
    ox_status status =
        rows && source ? oxi_llm_run_text(context->encoder, tokens, count, NULL, rows) : OX_ERR_NOMEM;
    ox_scope scope = ox_scope_begin();
    if (!status) {
        ox_tensor *t = ox_to(oxi_copied(rows, OX_SHAPE(count, width), OX_F32), context->model->device);
        if (!oxi_llm_make_source(context, t, source)) status = oxi_llm_error();
    }
    ox_scope_end(&scope);
    oxi_free(rows, rows ? bytes : 0);
    if (status) {
        oxi_llm_drop_source(context, source);
        return status;
    }
    oxi_llm_drop_source(context, context->source);
    context->source = source;
    return ox_llm_rewind(context, 0);
}
