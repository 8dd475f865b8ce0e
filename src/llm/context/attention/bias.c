/* What is added to scores for where a key is, and which keys a window lets see: made once a batch.
 * Called by attention.c and context.c. */

/* How far the keys of a batch, all that its tokens see, are from each of them: i64 [count, count] */
static ox_tensor *oxi_llm_apart(const oxi_llm_batch *batch) {
    ox_tensor *keys = oxi_arange(0, (double)batch->count, 1, OX_I64, ox_cpu());
    return ox_abs(ox_sub(keys, ox_unsqueeze(keys, 1)));
}

/* Keys within half the window on either side. */
static ox_tensor *oxi_llm_nearness(const oxi_llm_batch *batch) {
    const ox_llm *model = batch->context->model;
    int64_t window = 0;
    for (int64_t i = 0; i < model->config.layers && !window; i++) window = model->layers[i].window;
    return ox_to(ox_le(oxi_llm_apart(batch), ox_integer(window / 2)), model->device);
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

/* ---- of the last query --------------------------------------------------------------------------------- */

/* Whether what is added to a query's scores is the same in all layers and told by how far keys lie behind it:
 * then it is made once for all queries. */
static bool oxi_llm_keeps_biases(const ox_llm *model) {
    bool keeps = model->numbers.causal && (model->numbers.alibi > 0 || model->numbers.buckets > 0);
    for (int64_t i = 1; keeps && i < model->config.layers; i++)
        keeps = !model->layers[i].part[OXI_LLM_RELATIVE].weight;
    return keeps;
}

/* The room of what grows with the text, by doubling: a short text in a long context takes little memory. */
static int64_t oxi_llm_roomier(int64_t room, int64_t needed, int64_t capacity) {
    room = room ? 2 * room : 256;
    if (room < needed) room = needed;
    return room < capacity ? room : capacity;
}

/* Makes them for so many positions and more, anew. */
static ox_status oxi_llm_grow_biases(const ox_llm_context *context, int64_t positions) {
    const ox_llm *model = context->model;
    int64_t room = context->biases && *context->biases ? (*context->biases)->shape[2] : 0;
    if (!context->biases || positions <= room) return OX_OK;
    room = oxi_llm_roomier(room, positions, context->capacity);
    oxi_llm_batch last;
    memset(&last, 0, sizeof last);
    last.context = context;
    last.start = room - 1;
    last.count = 1;
    ox_scope scope = ox_scope_begin();
    ox_tensor *made = NULL;
    if (model->numbers.alibi > 0)
        made = ox_mul(model->slopes,
                      ox_to(oxi_arange((double)last.start, -1, -1, OX_F32, ox_cpu()), model->device));
    else if ((last.buckets = oxi_llm_buckets(&last)))
        made = oxi_llm_relative_bias(&last, &model->layers[0]);
    if (made) {
        ox_release(*context->biases);
        *context->biases = ox_retain(made);
    }
    ox_scope_end(&scope);
    return made ? OX_OK : oxi_llm_error();
}

/* Those of a batch's last query: f32 [heads, 1, end]. */
static ox_tensor *oxi_llm_last_biases(const oxi_llm_batch *batch) {
    ox_tensor *all = *batch->context->biases;
    const int64_t end = batch->start + batch->count;
    return ox_narrow(all, 2, all->shape[2] - end, end);
}

/* -slope |t - s|: of the last query alone where queries see the keys before them, for between two keys of a
 * row that is the same, and softmax sees no more; else f32 [heads, count, count].
 * source: Press et al. 2022, "ALiBi" */
static ox_tensor *oxi_llm_distances(const oxi_llm_batch *batch) {
    const ox_llm *model = batch->context->model;
    if (batch->context->biases) return oxi_llm_last_biases(batch);
    return ox_mul(model->slopes, ox_to(ox_cast(oxi_llm_apart(batch), OX_F32), model->device));
}

/* ---- what a batch needs, and a layer ------------------------------------------------------------------- */

/* Biases that follow from where keys are. */
static ox_status oxi_llm_prepare_biases(oxi_llm_batch *batch) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_numbers *n = &model->numbers;
    bool done = true;
    if (n->alibi > 0) {
        done = (batch->bias = oxi_llm_distances(batch)) != NULL;
    } else if (n->buckets > 0 && batch->context->biases && batch->count == 1) {
        done = (batch->bias = oxi_llm_last_biases(batch)) != NULL;
    } else if (n->buckets > 0) {
        batch->buckets = oxi_llm_buckets(batch);
        batch->bias = batch->buckets ? oxi_llm_relative_bias(batch, &model->layers[0]) : NULL;
        done = batch->bias != NULL;
    }
    if (done && !n->causal && n->windows) done = (batch->near = oxi_llm_nearness(batch)) != NULL;
    return done ? OX_OK : oxi_llm_error();
}

/* What a layer adds to its scores, or the mask of what it sees; NULL = nothing. Layers without biases of
 * their own have the first one's. */
static bool oxi_llm_find_bias(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor **out) {
    const bool own = batch->buckets && l != batch->context->model->layers && l->part[OXI_LLM_RELATIVE].weight;
    *out = l->window && batch->near ? batch->near : own ? oxi_llm_relative_bias(batch, l) : batch->bias;
    return *out || !own;
}
