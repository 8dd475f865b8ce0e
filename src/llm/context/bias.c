/* What is added to scores for where a key is, and which keys a window lets see: made once a batch.
 * Called by attention.c and context.c. */

/* key - query of each pair, i64 [count, end]; of the last row alone where tokens see those before them,
 * else of the batch's own keys. */
static ox_tensor *oxi_llm_offsets(const oxi_llm_batch *batch) {
    const double start = (double)batch->start, end = start + (double)batch->count;
    const bool causal = batch->context->model->numbers.causal;
    ox_tensor *keys = oxi_arange(causal ? 0 : start, end, 1, OX_I64, ox_cpu());
    if (causal) return ox_sub(keys, ox_number(end - 1));
    return ox_sub(keys, ox_unsqueeze(oxi_arange(start, end, 1, OX_I64, ox_cpu()), 1));
}

/* Of how far a key is: -slope |t - s|, f32 [heads, 1 or count, end]. Where queries see those before them, it
 * is told from the last one: between two keys of a row that is the same, and softmax sees no more.
 * source: Press et al. 2022, "ALiBi" */
static ox_tensor *oxi_llm_distances(const oxi_llm_batch *batch) {
    const ox_llm *model = batch->context->model;
    ox_tensor *far = ox_abs(ox_cast(oxi_llm_offsets(batch), OX_F32));
    return ox_mul(model->slopes, ox_to(far, model->device));
}

/* Keys within half the window on either side. */
static ox_tensor *oxi_llm_nearness(const oxi_llm_batch *batch) {
    const ox_llm *model = batch->context->model;
    int64_t window = 0;
    for (int64_t i = 0; i < model->config.layers && !window; i++) window = model->layers[i].window;
    ox_tensor *far = ox_abs(oxi_llm_offsets(batch));
    return ox_to(ox_le(far, ox_integer(window / 2)), model->device);
}

/* The bucket of a key `offset` positions behind its query: one for each of the nearest, then wider and wider
 * ones up to `farthest`; those ahead have the second half, where they are seen.
 * source: Raffel et al. 2020, "T5"; computed in f32 as there, which decides at the borders */
static int32_t oxi_llm_bucket(const oxi_llm_numbers *n, int64_t offset) {
    const int64_t buckets = n->causal ? n->buckets : n->buckets / 2, near = buckets / 2;
    const int64_t half = !n->causal && offset > 0 ? buckets : 0;
    const int64_t far = offset < 0 ? -offset : n->causal ? 0 : offset;
    if (far < near) return (int32_t)(half + far);
    const float steps = logf((float)far / (float)near) / (float)log((double)n->farthest / (double)near);
    const int64_t wide = near + (int64_t)(steps * (float)(buckets - near));
    return (int32_t)(half + (wide < buckets ? wide : buckets - 1));
}

/* Of each pair, i32 [count, end]; [count, count] where tokens see all of a text. */
static ox_tensor *oxi_llm_buckets(const oxi_llm_batch *batch) {
    const ox_llm *model = batch->context->model;
    const int64_t first = model->numbers.causal ? 0 : batch->start, end = batch->start + batch->count;
    size_t bytes = 0;
    if (!oxi_mul_size((size_t)batch->count, (size_t)(end - first), &bytes) ||
        !oxi_mul_size(bytes, sizeof(int32_t), &bytes))
        return NULL;
    int32_t *list = (int32_t *)oxi_alloc(bytes);
    if (!list) return NULL;
    for (int64_t s = 0; s < batch->count; s++)
        for (int64_t t = first; t < end; t++)
            list[s * (end - first) + t - first] = oxi_llm_bucket(&model->numbers, t - batch->start - s);
    ox_tensor *out = ox_to(oxi_copied(list, OX_SHAPE(batch->count, end - first), OX_I32), model->device);
    oxi_free(list, bytes);
    return out;
}

/* The biases that a layer's heads have for these distances, f32 [heads, count, end]. */
static ox_tensor *oxi_llm_relative_bias(const oxi_llm_batch *batch, const oxi_llm_layer *l) {
    ox_tensor *rows = ox_cast(ox_embedding(batch->buckets, l->part[OXI_LLM_RELATIVE].weight), OX_F32);
    return ox_contiguous(ox_permute(rows, OX_SHAPE(2, 0, 1)));
}

/* What a layer adds to its scores, or the mask of what it sees; NULL = nothing. Layers without biases of
 * their own have the first one's. */
static bool oxi_llm_find_bias(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor **out) {
    const bool own = batch->buckets && l != batch->context->model->layers && l->part[OXI_LLM_RELATIVE].weight;
    *out = l->window && batch->near ? batch->near : own ? oxi_llm_relative_bias(batch, l) : batch->bias;
    return *out || !own;
}
