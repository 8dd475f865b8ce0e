/* The context: keys and values of the positions so far, and the batches and steps that add to them.
 * The forward pass (forward.c) is in public operations and views, inside scopes, so it runs on whatever
 * device the weights are on. Called by users and by generate.c. */

/* ---- opening and closing ------------------------------------------------------------------------------- */

OX_API ox_llm_context *ox_llm_context_open(ox_llm *model, const ox_llm_context_desc *desc) {
    ox_llm_context_desc zero;
    memset(&zero, 0, sizeof zero);
    if (!model) {
        (void)oxi_fail_missing("llm: the model");
        return NULL;
    }
    if (!desc) desc = &zero;
    const ox_dtype cache = desc->cache ? desc->cache : OX_F32;
    if (desc->capacity < 0 || desc->capacity > INT32_MAX || desc->batch < 0) {
        (void)oxi_fail(OX_ERR_ARG, "llm: a context of %lld positions, batches of %lld",
                       (long long)desc->capacity, (long long)desc->batch);
        return NULL;
    }
    if (cache != OX_F32 && cache != OX_F16 && cache != OX_BF16 && cache != OX_Q8_0) {
        (void)oxi_fail(OX_ERR_DTYPE, "llm: the cache is f32, f16, bf16 or q8_0, not %s",
                       ox_dtype_name(cache));
        return NULL;
    }
    const int64_t most =
        model->numbers.sparse > 0 && !model->numbers.indexed ? model->numbers.sparse : INT32_MAX;
    if (desc->capacity > most) {
        (void)oxi_fail(
            OX_ERR_UNSUPPORTED,
            "llm: of texts of more than %lld positions the model sees the best ones alone, which is "
            "not supported: a context of %lld",
            (long long)most, (long long)desc->capacity);
        return NULL;
    }
    for (int64_t i = 0; cache == OX_Q8_0 && i < model->config.layers; i++) {
        const int64_t key = model->layers[i].key_size, index = model->numbers.index_size,
                      value = index % 32 == 0 ? model->layers[i].value_size : index;
        if (!model->layers[i].attends || (key % 32 == 0 && value % 32 == 0)) continue;
        (void)oxi_fail(OX_ERR_DTYPE, "llm: keys of %lld and values of %lld numbers are no blocks of 32",
                       (long long)key, (long long)value);
        return NULL;
    }
    ox_llm_context *context = (ox_llm_context *)oxi_calloc(1, sizeof *context);
    if (!context) return NULL;
    const int64_t usual = model->config.context < 4096 ? model->config.context : 4096;
    context->model = model;
    context->capacity = desc->capacity ? desc->capacity : usual < most ? usual : most;
    context->batch = desc->batch ? desc->batch : 512;
    if (!model->numbers.causal) context->batch = context->capacity; /* each token sees all of the text */
    context->pending = -1;
    context->dtype = cache;
    /* weights that stream are computed with tile by tile, as they come */
    const bool keeps = oxi_llm_keeps_biases(model),
               biased = model->numbers.alibi > 0 || model->numbers.buckets > 0;
    if (ox_device_of(model->part[OXI_LLM_EMBEDDING].weight) != model->device || (biased && !keeps) ||
        model->numbers.temperature > 0 || model->numbers.chunk > 0 || !oxi_llm_states_go_ahead(model))
        context->not_ahead = OXI_LLM_TRIES;
    (void)oxi_atomic_add(&model->references, 1);
    context->keys = (ox_tensor **)oxi_calloc((size_t)model->config.layers, sizeof *context->keys);
    context->values = (ox_tensor **)oxi_calloc((size_t)model->config.layers, sizeof *context->values);
    if (keeps) context->biases = (ox_tensor **)oxi_calloc(1, sizeof *context->biases);
    if (model->encoder) context->encoder = ox_llm_context_open(model->encoder, desc);
    if (!context->keys || !context->values || (keeps && !context->biases) || !oxi_llm_open_states(context) ||
        (model->encoder && !context->encoder)) {
        ox_llm_context_close(context);
        return NULL;
    }
    return context;
}

/* Keys and values of what an encoder read. */
static void oxi_llm_drop_source(const ox_llm_context *context, ox_tensor **source) {
    const size_t count = 2 * (size_t)context->model->config.layers;
    for (size_t i = 0; source && i < count; i++) ox_release(source[i]);
    oxi_free(source, source ? count * sizeof *source : 0);
}

OX_API void ox_llm_context_close(ox_llm_context *context) {
    if (!context) return;
    const size_t layers = (size_t)context->model->config.layers;
    for (size_t i = 0; i < layers; i++) {
        if (context->keys) ox_release(context->keys[i]);
        if (context->values) ox_release(context->values[i]);
    }
    oxi_llm_close_states(context);
    if (context->biases) ox_release(*context->biases);
    oxi_free(context->biases, context->biases ? sizeof *context->biases : 0);
    oxi_llm_drop_source(context, context->source);
    ox_llm_context_close(context->encoder);
    ox_release(context->next);
    const size_t logits = (size_t)context->model->config.vocabulary * sizeof *context->logits;
    oxi_free(context->logits, context->logits ? logits : 0);
    oxi_free(context->history, context->history ? (size_t)context->capacity * sizeof *context->history : 0);
    oxi_free(context->keys, layers * sizeof *context->keys);
    oxi_free(context->values, layers * sizeof *context->values);
    ox_llm_close(context->model);
    oxi_free(context, sizeof *context);
}

OX_API int64_t ox_llm_capacity(const ox_llm_context *context) {
    return context ? context->capacity : 0;
}

OX_API int64_t ox_llm_length(const ox_llm_context *context) {
    return context ? context->length : 0;
}

OX_API ox_status ox_llm_rewind(ox_llm_context *context, int64_t length) {
    if (!context) return oxi_fail_missing("llm: the context");
    if (length < 0 || length > context->length) {
        return oxi_fail(OX_ERR_ARG, "llm: cannot rewind to position %lld of %lld", (long long)length,
                        (long long)context->length);
    }
    if (context->states && length > 0 && length < context->length)
        return oxi_fail(OX_ERR_UNSUPPORTED,
                        "llm: recurrent layers cannot forget positions %lld to %lld, only all of them",
                        (long long)length, (long long)context->length - 1);
    if (length == 0) oxi_llm_clear_states(context);
    if (context->states) context->ahead = 0; /* the step that is recorded goes on from the old ones */
    context->length = length;
    context->pending = -1;
    return OX_OK;
}

/* ---- keys and values ----------------------------------------------------------------------------------- */

/* Makes room for so many positions in one layer's keys or values, [kv_heads, room, size], of which each
 * has `ratio` positions. They grow with the text (oxi_llm_roomier). On error the cache is as it was. */
static ox_status oxi_llm_grow(const ox_llm_context *context, ox_tensor **cache, int64_t heads, int64_t size,
                              int64_t ratio, int64_t positions) {
    const int64_t needed = positions / ratio > 1 ? positions / ratio : 1, length = context->length / ratio,
                  capacity = context->capacity / ratio > 1 ? context->capacity / ratio : 1;
    int64_t room = *cache ? (*cache)->shape[1] : 0;
    if (needed <= room) return OX_OK;
    room = oxi_llm_roomier(room, needed, capacity);
    const int64_t shape[3] = {heads, room, size};
    ox_scope scope = ox_scope_begin();
    ox_tensor *grown = oxi_tensor_new(context->model->device, context->dtype, 3, shape);
    if (grown && length > 0) {
        ox_tensor *kept = ox_narrow(*cache, 1, 0, length);
        if (!ox_copy_(ox_narrow(grown, 1, 0, length), kept)) grown = NULL;
    }
    if (grown) {
        ox_release(*cache);
        *cache = ox_retain(grown);
    }
    ox_scope_end(&scope);
    return grown ? OX_OK : oxi_llm_error();
}

/* The sizes of what layer `l` keeps beside its keys, of one position or block; 0: nothing. A latent's values
 * are a part of its keys; where keys are values, the rows of blocks have their place. An indexer's keys have
 * the first one's, or are behind the others. */
static int64_t oxi_llm_size_beside(const ox_llm *model, const oxi_llm_layer *l) {
    const bool one = oxi_llm_has_trait(model, OXI_LLM_TRAIT(KEY_IS_VALUE));
    const int64_t index = l->part[OXI_LLM_INDEX_QUERY].weight ? model->numbers.index_size : 0;
    if (model->numbers.latent) return index;
    return one && l->ratio == 0 ? 0 : l->value_size + index;
}

static ox_status oxi_llm_reserve(const ox_llm_context *context, int64_t positions) {
    const ox_llm *model = context->model;
    ox_status status = oxi_llm_grow_biases(context, positions);
    for (int64_t i = 0; !status && i < model->config.layers; i++) {
        const oxi_llm_layer *l = &model->layers[i];
        if (!l->attends || l->keys_of != i) continue;
        const bool one = oxi_llm_has_trait(model, OXI_LLM_TRAIT(KEY_IS_VALUE));
        status = oxi_llm_grow(context, &context->keys[i], l->kv_heads, l->key_size, 1, positions);
        const int64_t beside = oxi_llm_size_beside(model, l);
        if (!status && beside > 0)
            status = oxi_llm_grow(context, &context->values[i], l->kv_heads, beside, one ? l->ratio : 1,
                                  positions);
    }
    return status;
}

/* ---- a batch ------------------------------------------------------------------------------------------- */

/* Factors of queries by their positions, f32 [count, 1]. Layers that alone are not turned count from 1. */
static ox_tensor *oxi_llm_temperatures(const oxi_llm_batch *batch) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_numbers *n = &model->numbers;
    const int64_t shift = oxi_llm_has_trait(model, OXI_LLM_TRAIT(PLAIN_WARMER));
    const size_t bytes = (size_t)batch->count * sizeof(float);
    float *factors = (float *)oxi_alloc(bytes);
    if (!factors) return NULL;
    for (int64_t i = 0; i < batch->count; i++)
        factors[i] =
            (float)(1 + n->temperature * log1p((double)((batch->start + i + shift) / n->temperature_length)));
    ox_tensor *t = ox_to(oxi_copied(factors, OX_SHAPE(batch->count, 1), OX_F32), model->device);
    oxi_free(factors, bytes);
    return t;
}

/* What a batch's layers need beside its tokens. */
static ox_status oxi_llm_prepare_batch(oxi_llm_batch *batch) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_numbers *n = &model->numbers;
    const double start = (double)batch->start, end = start + (double)batch->count;
    batch->positions = ox_to(oxi_arange(start, end, 1, OX_I32, ox_cpu()), model->device);
    if (!batch->positions) return oxi_llm_error();
    if (batch->context->types) {
        batch->types = oxi_copied(batch->context->types + batch->start, OX_SHAPE(batch->count), OX_I32);
        batch->types = ox_to(batch->types, model->device);
        if (!batch->types) return oxi_llm_error();
    }
    if (model->grams.rows > 0 && !(batch->grams = oxi_llm_gram_rows(batch, batch->context->history)))
        return oxi_llm_error();
    const ox_status status = oxi_llm_prepare_biases(batch);
    if (status) return status;
    const int64_t shape[2] = {batch->count, n->mixing.inner};
    if (n->mixing.kind == OXI_LLM_MIXES_RWKV7 &&
        !(batch->values = oxi_tensor_new(model->device, OX_F32, 2, shape)))
        return oxi_llm_error();
    if (n->temperature > 0 && !(batch->temperatures = oxi_llm_temperatures(batch))) return oxi_llm_error();
    return OX_OK;
}

/* Rows [rows, vocabulary] of logits, or [rows, width] of hidden states. */
static ox_status oxi_llm_run_batch(oxi_llm_batch *batch, const int32_t *tokens, int64_t rows, bool logits,
                                   float *out) {
    const ox_llm *model = batch->context->model;
    ox_scope scope = ox_scope_begin();
    ox_tensor *ids = ox_to(oxi_copied(tokens, OX_SHAPE(batch->count), OX_I32), model->device);
    ox_status status = ids ? oxi_llm_prepare_batch(batch) : oxi_llm_error();
    ox_tensor *x = status ? NULL : oxi_llm_forward(batch, ids, rows);
    if (rows > 0 && logits) x = oxi_llm_logits(model, x);
    if (!status && !x) status = oxi_llm_error();
    if (!status && rows > 0) status = ox_to_floats(x, out, ox_numel(x));
    ox_scope_end(&scope);
    return status;
}

/* ---- running tokens ------------------------------------------------------------------------------------ */

static ox_status oxi_llm_check_tokens(const ox_llm_context *context, const int32_t *tokens, int64_t count) {
    if (!context) return oxi_fail_missing("llm: the context");
    if (!tokens) return oxi_fail_missing("llm: the list of tokens");
    if (count < 1)
        return oxi_fail(OX_ERR_ARG, "llm: %lld tokens to run, at least one is needed", (long long)count);
    if (count > context->capacity - context->length) {
        return oxi_fail(OX_ERR_ARG, "llm: %lld tokens do not fit a context that holds %lld of %lld",
                        (long long)count, (long long)context->length, (long long)context->capacity);
    }
    for (int64_t i = 0; i < count; i++) {
        if (tokens[i] < 0 || tokens[i] >= context->model->config.vocabulary) {
            return oxi_fail(OX_ERR_INDEX, "llm: token %lld is %d, ids go from 0 to %lld", (long long)i,
                            (int)tokens[i], (long long)context->model->config.vocabulary - 1);
        }
    }
    return OX_OK;
}

/* Logits or hidden states of no token (out NULL), of the last one, or of every one. */
static ox_status oxi_llm_run_tokens(const ox_llm_context *context, const int32_t *tokens, int64_t count,
                                    bool every, bool logits, float *out) {
    const ox_llm *model = context->model;
    const int64_t chunk = model->numbers.chunk,
                  width = logits ? model->config.vocabulary : model->config.width;
    ox_status status = oxi_llm_reserve(context, context->length + count);
    oxi_llm_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.context = context;
    for (int64_t done = 0; !status && done < count; done += batch.count) {
        batch.start = context->length + done;
        batch.count = count - done < context->batch ? count - done : context->batch;
        if (chunk > 0 && batch.count > chunk - batch.start % chunk) batch.count = chunk - batch.start % chunk;
        const bool last = done + batch.count == count;
        const int64_t rows = !out ? 0 : every ? batch.count : last;
        status = oxi_llm_run_batch(&batch, tokens + done, rows, logits, out);
        if (out) out += rows * width;
    }
    oxi_llm_settle_states(context, status == OX_OK);
    return status;
}

/* Keeps the tokens of models that want them: for n-grams, or for their frequencies.
 * Models with two sets of frequencies turn all keys of a text by those for its length: where a text grows
 * beyond what the first are for, or is cut back, its tokens are run again. */
static ox_status oxi_llm_keep_tokens(ox_llm_context *context, const int32_t *tokens, int64_t count) {
    const int64_t length = context->length;
    const oxi_llm_rope *rope = &context->model->rope;
    context->reach = length + count;
    if (!rope->long_factors && context->model->grams.rows == 0) return OX_OK;
    if (!context->history)
        context->history = (int32_t *)oxi_alloc((size_t)context->capacity * sizeof *context->history);
    if (!context->history) return OX_ERR_NOMEM;
    memcpy(context->history + length, tokens, (size_t)count * sizeof *tokens);
    const bool stretched = rope->long_factors && length + count > rope->original;
    if (stretched == context->stretched) return OX_OK;
    context->stretched = stretched;
    context->ahead = 0;
    if (length == 0) return OX_OK;
    context->length = 0; /* an error leaves it empty: its keys are of neither kind */
    oxi_llm_clear_states(context);
    const ox_status status = oxi_llm_run_tokens(context, context->history, length, false, true, NULL);
    if (!status) context->length = length;
    return status;
}

static ox_status oxi_llm_run(ox_llm_context *context, const int32_t *tokens, int64_t count, bool every,
                             bool logits, float *out) {
    ox_status status = oxi_llm_check_tokens(context, tokens, count);
    if (!status) status = oxi_llm_keep_tokens(context, tokens, count);
    if (!status) status = oxi_llm_run_tokens(context, tokens, count, every, logits, out);
    if (status) return status;
    context->length += count;
    context->pending = -1;
    return OX_OK;
}

static ox_status oxi_llm_check_decoder(const ox_llm_context *context) {
    if (context && context->encoder && !context->source)
        return oxi_fail(OX_ERR_ARG, "llm: nothing to decode from: ox_llm_encode comes first");
    if (!context || !oxi_llm_has_trait(context->model, OXI_LLM_TRAIT(ENCODER))) return OX_OK;
    return oxi_fail(OX_ERR_UNSUPPORTED,
                    "llm: a model of the architecture %s has no logits: ox_llm_embed gives what "
                    "it makes of a text",
                    context->model->family->name);
}

OX_API ox_status ox_llm_decode(ox_llm_context *context, const int32_t *tokens, int64_t count, float *logits) {
    const ox_status status = oxi_llm_check_decoder(context);
    return status ? status : oxi_llm_run(context, tokens, count, false, true, logits);
}

OX_API ox_status ox_llm_decode_all(ox_llm_context *context, const int32_t *tokens, int64_t count,
                                   float *logits) {
    const ox_status status = oxi_llm_check_decoder(context);
    return status ? status : oxi_llm_run(context, tokens, count, true, true, logits);
}

/* ---- steps recorded ahead ------------------------------------------------------------------------------ */

/* Records the step at position `start` for a token that is told later; its number, 0: that cannot be. */
static int64_t oxi_llm_record_step(ox_llm_context *context, int64_t start) {
    const ox_llm *model = context->model;
    ox_device *device = model->device;
    const int64_t two = 2;
    const size_t bytes = (size_t)model->config.vocabulary * sizeof(float);
    const bool clear = ox_error() == OX_OK;
    int64_t number = 0;
    oxi_llm_batch batch;
    memset(&batch, 0, sizeof batch);
    batch.context = context;
    batch.start = start;
    batch.count = 1;
    ox_scope scope = ox_scope_begin();
    if (!context->next) context->next = ox_retain(oxi_tensor_new(device, OX_I32, 1, &two));
    if (context->next &&
        device->ahead->begin(device, context->next->storage->data, 2 * sizeof(int32_t), bytes)) {
        batch.positions = ox_narrow(context->next, 0, 1, 1);
        if (context->biases) batch.bias = oxi_llm_last_biases(&batch);
        ox_tensor *x = oxi_llm_logits(model, oxi_llm_forward(&batch, ox_narrow(context->next, 0, 0, 1), 1));
        const bool plain = x && x->dtype == OX_F32 && ox_is_contiguous(x) && ox_nbytes(x) == bytes;
        number = device->ahead->end(device, plain ? x->storage->data : NULL,
                                    plain ? oxi_byte_offset(OX_F32, x->offset) : 0);
        if (number == 0) context->not_ahead++;
    }
    ox_scope_end(&scope);
    if (number == 0 && clear) ox_error_clear(); /* the usual way tells of it, or comes through */
    context->ahead_at = start;
    return number;
}

/* Starts the recorded step with this token, or records it first; its number, 0: that cannot be. */
static int64_t oxi_llm_start_step(ox_llm_context *context, int32_t token) {
    ox_device *device = context->model->device;
    const int32_t next[2] = {token, (int32_t)context->length};
    int64_t number = context->ahead;
    context->ahead = 0;
    const bool there = context->ahead_at == context->length && device->ahead->start(device, number, next);
    oxi_llm_take_recorded(context, there);
    if (there) return number;
    number = oxi_llm_record_step(context, context->length);
    if (device->ahead->start(device, number, next)) return number;
    oxi_llm_settle_states(context, false);
    return 0;
}

/* Records the step after this one, if its keys and values have room. */
static void oxi_llm_look_ahead(ox_llm_context *context) {
    const int64_t position = context->length + 1, layers = context->model->config.layers;
    int64_t room = context->capacity, i = 0;
    while (i < layers && !context->keys[i]) i++;
    if (i < layers) room = context->keys[i]->shape[1]; /* all layers have the same, and biases */
    if (room <= position) return;
    oxi_llm_go_on_from_written(context);
    context->ahead = oxi_llm_record_step(context, position);
    oxi_llm_keep_recorded(context, context->ahead != 0);
}

/* Runs a token whose logits are copied to `out`, or stay where *there is told; both NULL: nowhere. */
static ox_status oxi_llm_run_step(ox_llm_context *context, int32_t token, float *out, const float **there) {
    ox_status status = oxi_llm_check_tokens(context, &token, 1);
    if (!status) status = oxi_llm_check_decoder(context);
    if (status) return status;
    ox_device *device = context->model->device;
    int64_t number = 0;
    if (device->ahead && context->not_ahead < OXI_LLM_TRIES) {
        status = oxi_llm_keep_tokens(context, &token, 1);
        if (!status) status = oxi_llm_reserve(context, context->length + 1);
        if (status) return status;
        number = oxi_llm_start_step(context, token);
    }
    if (!number) {
        if (there && !context->logits)
            context->logits = (float *)oxi_alloc((size_t)context->model->config.vocabulary * sizeof(float));
        if (there && !(*there = out = context->logits)) return OX_ERR_NOMEM;
        return oxi_llm_run(context, &token, 1, false, true, out);
    }
    const void *place = NULL;
    oxi_llm_look_ahead(context);
    status = device->ahead->take(device, number, out, there ? &place : NULL);
    if (there) *there = (const float *)place;
    oxi_llm_settle_states(context, status == OX_OK);
    if (status) context->ahead = 0;
    if (status) return status;
    context->length++;
    context->pending = -1;
    return OX_OK;
}

OX_API ox_status ox_llm_decode_one(ox_llm_context *context, int32_t token, float *logits) {
    return oxi_llm_run_step(context, token, logits, NULL);
}

OX_API const float *ox_llm_step(ox_llm_context *context, int32_t token) {
    const float *logits = NULL;
    return oxi_llm_run_step(context, token, NULL, &logits) == OX_OK ? logits : NULL;
}
