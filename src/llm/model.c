/* The model: what a GGUF file says about it, checked against the tensors that are there.
 * Architectures are rows of one table; weights have roles, so the forward pass (context.c) knows no names.
 * Called by users and by context.c. */

#define OXI_LLM_BIT(role) ((uint32_t)1 << OXI_LLM_##role)

/* name, key of the epsilon; weights of the model and of a layer, then optional ones; rope, norm, gate. */
static const oxi_llm_architecture oxi_llm_architectures[] = {
    {"llama", "attention.layer_norm_rms_epsilon", OXI_LLM_BIT(EMBEDDING) | OXI_LLM_BIT(OUTPUT_NORM),
     OXI_LLM_BIT(ATTENTION_NORM) | OXI_LLM_BIT(QUERY) | OXI_LLM_BIT(KEY) | OXI_LLM_BIT(VALUE) |
         OXI_LLM_BIT(MERGE) | OXI_LLM_BIT(HIDDEN_NORM) | OXI_LLM_BIT(GATE) | OXI_LLM_BIT(UP) |
         OXI_LLM_BIT(DOWN),
     OXI_LLM_BIT(OUTPUT) | OXI_LLM_BIT(ROPE_FACTORS),
     OXI_LLM_BIT(QUERY_BIAS) | OXI_LLM_BIT(KEY_BIAS) | OXI_LLM_BIT(VALUE_BIAS) | OXI_LLM_BIT(MERGE_BIAS),
     true, ox_rms_norm, ox_silu_mul_},
};

typedef struct oxi_llm_weight_row {
    const char *name;
    oxi_llm_size rows, columns;
} oxi_llm_weight_row;

#define OXI_X(role, name, rows, columns) {name, OXI_LLM_SIZE_##rows, OXI_LLM_SIZE_##columns},
static const oxi_llm_weight_row oxi_llm_model_weights[] = {OXI_LLM_MODEL_WEIGHT_LIST(OXI_X)};
static const oxi_llm_weight_row oxi_llm_layer_weights[] = {OXI_LLM_LAYER_WEIGHT_LIST(OXI_X)};
#undef OXI_X

/* ---- metadata ------------------------------------------------------------------------------------------ */

static ox_status oxi_llm_find_architecture(ox_llm *model, const ox_file *file) {
    const ox_file_meta meta = ox_file_meta_find(file, "general.architecture");
    if (meta.type != OX_FILE_META_STRING) {
        return oxi_fail(OX_ERR_NOT_FOUND,
                        "llm: the file has no general.architecture, so it is no GGUF model");
    }
    for (size_t i = 0; i < sizeof oxi_llm_architectures / sizeof *oxi_llm_architectures; i++) {
        if (oxi_llm_text_is(meta.text, oxi_llm_architectures[i].name)) {
            model->architecture = &oxi_llm_architectures[i];
            return OX_OK;
        }
    }
    char name[48];
    oxi_llm_copy_text(meta.text, name, sizeof name);
    return oxi_fail(OX_ERR_UNSUPPORTED, "llm: the architecture \"%s\" is not supported", name);
}

/* "<architecture>.<key>" */
static void oxi_llm_key(const ox_llm *model, const char *key, char out[96]) {
    (void)snprintf(out, 96, "%s.%s", model->architecture->name, key);
}

static ox_status oxi_llm_read_int(const ox_llm *model, const ox_file *file, const char *key,
                                  int64_t otherwise, int64_t *out) {
    char full[96];
    oxi_llm_key(model, key, full);
    return oxi_llm_meta_int(file, full, 1, INT32_MAX, otherwise, out);
}

/* A finite number of at least `low`; otherwise < low = it must be there. */
static ox_status oxi_llm_read_float(const ox_llm *model, const ox_file *file, const char *key, double low,
                                    double otherwise, double *out) {
    char full[96];
    oxi_llm_key(model, key, full);
    const ox_file_meta meta = ox_file_meta_find(file, full);
    *out = otherwise;
    if (meta.type == OX_FILE_META_NONE && otherwise >= low) return OX_OK;
    if (meta.type == OX_FILE_META_NONE)
        return oxi_fail(OX_ERR_NOT_FOUND, "llm: metadata key %s is missing", full);
    const bool number =
        meta.type == OX_FILE_META_FLOAT || meta.type == OX_FILE_META_INT || meta.type == OX_FILE_META_UINT;
    if (!number || !isfinite(meta.f) || meta.f < low) {
        return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is not a number of at least %g", full, low);
    }
    *out = meta.f;
    return OX_OK;
}

/* Positions are multiplied by 1 / factor when they are scaled linearly; other ways change the frequencies. */
static ox_status oxi_llm_read_rope_scaling(ox_llm *model, const ox_file *file) {
    char key[96];
    oxi_llm_key(model, "rope.scaling.type", key);
    const ox_file_meta type = ox_file_meta_find(file, key);
    double factor = 1;
    model->config.rope_scale = 1;
    if (type.type == OX_FILE_META_STRING && oxi_llm_text_is(type.text, "none")) return OX_OK;
    if (type.type != OX_FILE_META_NONE && type.type != OX_FILE_META_STRING)
        return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is not a text", key);
    if (type.type != OX_FILE_META_NONE && !oxi_llm_text_is(type.text, "linear")) {
        char name[32];
        oxi_llm_copy_text(type.text, name, sizeof name);
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm: the rope scaling \"%s\" is not supported", name);
    }
    ox_status status =
        oxi_llm_read_float(model, file, "rope.scale_linear", 1e-6, 1, &factor); /* the older key */
    if (!status) status = oxi_llm_read_float(model, file, "rope.scaling.factor", 0, factor, &factor);
    if (!status && factor > 0) model->config.rope_scale = 1 / factor;
    return status;
}

static ox_status oxi_llm_refuse_experts(const ox_llm *model, const ox_file *file) {
    char key[96];
    oxi_llm_key(model, "expert_count", key);
    const int64_t experts = ox_file_meta_int(file, key, 0);
    if (experts == 0) return OX_OK;
    return oxi_fail(OX_ERR_UNSUPPORTED, "llm: a mixture of %lld experts is not supported",
                    (long long)experts);
}

static ox_status oxi_llm_read_sizes(ox_llm *model, const ox_file *file) {
    ox_llm_config *c = &model->config;
    ox_status status = oxi_llm_read_int(model, file, "block_count", -1, &c->layers);
    if (!status) status = oxi_llm_read_int(model, file, "embedding_length", -1, &c->width);
    if (!status) status = oxi_llm_read_int(model, file, "feed_forward_length", -1, &c->hidden);
    if (!status) status = oxi_llm_read_int(model, file, "context_length", -1, &c->context);
    if (!status) status = oxi_llm_read_int(model, file, "attention.head_count", -1, &c->heads);
    if (!status) status = oxi_llm_read_int(model, file, "attention.head_count_kv", c->heads, &c->kv_heads);
    if (status) return status;
    /* 0 means: must be in the file, because the width does not divide into heads */
    const int64_t head = c->width % c->heads == 0 ? c->width / c->heads : 0;
    status = oxi_llm_read_int(model, file, "attention.key_length", head, &c->key_size);
    if (!status) status = oxi_llm_read_int(model, file, "attention.value_length", head, &c->value_size);
    if (!status) status = oxi_llm_read_int(model, file, "rope.dimension_count", c->key_size, &c->rope_size);
    if (status) return status;
    if (c->heads % c->kv_heads != 0) {
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld heads cannot share %lld key-value heads",
                        (long long)c->heads, (long long)c->kv_heads);
    }
    if (c->rope_size > c->key_size || c->rope_size % 2 != 0) {
        return oxi_fail(OX_ERR_FORMAT, "llm: rope over %lld elements of heads that have %lld",
                        (long long)c->rope_size, (long long)c->key_size);
    }
    if (c->layers > ox_file_count(file)) {
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld layers, but only %lld tensors", (long long)c->layers,
                        (long long)ox_file_count(file));
    }
    return OX_OK;
}

static ox_status oxi_llm_read_config(ox_llm *model, const ox_file *file) {
    ox_llm_config *c = &model->config;
    c->architecture = model->architecture->name;
    const ox_file_meta name = ox_file_meta_find(file, "general.name");
    if (name.type == OX_FILE_META_STRING) oxi_llm_copy_text(name.text, c->name, sizeof c->name);
    ox_status status = oxi_llm_refuse_experts(model, file);
    if (!status) status = oxi_llm_read_sizes(model, file);
    if (!status) {
        status = oxi_llm_read_float(model, file, model->architecture->norm_epsilon, 0, -1, &c->norm_epsilon);
    }
    if (!status) status = oxi_llm_read_float(model, file, "rope.freq_base", 1e-6, 10000, &c->rope_base);
    if (!status) status = oxi_llm_read_rope_scaling(model, file);
    return status;
}

/* ---- weights ------------------------------------------------------------------------------------------- */

static int64_t oxi_llm_size_of(const ox_llm_config *c, oxi_llm_size size) {
    switch (size) {
    case OXI_LLM_SIZE_VOCABULARY: return c->vocabulary;
    case OXI_LLM_SIZE_WIDTH: return c->width;
    case OXI_LLM_SIZE_HIDDEN: return c->hidden;
    case OXI_LLM_SIZE_QUERIES: return c->heads * c->key_size;
    case OXI_LLM_SIZE_KEYS: return c->kv_heads * c->key_size;
    case OXI_LLM_SIZE_VALUES: return c->kv_heads * c->value_size;
    case OXI_LLM_SIZE_MERGED: return c->heads * c->value_size;
    case OXI_LLM_SIZE_PAIRS: return c->rope_size / 2;
    default: return 0;
    }
}

/* Whether a tensor is what its role asks for. The first one that has the vocabulary's size sets it. */
static ox_status oxi_llm_check_weight(ox_llm_config *c, const char *name, const oxi_llm_weight_row *row,
                                      const ox_tensor *t) {
    const int ndim = row->rows == OXI_LLM_SIZE_NONE ? 1 : 2;
    if (t->ndim == 2 && row->rows == OXI_LLM_SIZE_VOCABULARY && c->vocabulary == 0)
        c->vocabulary = t->shape[0];
    int64_t shape[2];
    shape[0] = oxi_llm_size_of(c, ndim == 2 ? row->rows : row->columns);
    shape[1] = oxi_llm_size_of(c, row->columns);
    bool fits = t->ndim == ndim;
    for (int d = 0; fits && d < ndim; d++) fits = t->shape[d] == shape[d] && shape[d] > 0;
    if (!fits) {
        return oxi_fail(OX_ERR_SHAPE, "llm: tensor %s is %s, the metadata asks for %s", name,
                        oxi_tensor_text(t), oxi_shape_text(ndim, shape));
    }
    const ox_dtype_class cls = oxi_info(t->dtype)->cls;
    if (cls != OX_CLASS_FLOAT && (cls != OX_CLASS_BLOCK || ndim == 1)) {
        return oxi_fail(OX_ERR_DTYPE,
                        "llm: tensor %s has dtype %s: weights are floats, matrices also of block types", name,
                        ox_dtype_name(t->dtype));
    }
    return OX_OK;
}

/* Why an operation gave NULL. */
static ox_status oxi_llm_error(void) {
    const ox_status status = ox_error();
    return status ? status : OX_ERR_NOMEM;
}

/* One reference in *out; NULL where it is optional and missing. Vectors are small: they become f32, and are
 * kept where the numbers of the forward pass are. */
static ox_status oxi_llm_load_weight(ox_llm *model, ox_file *file, const char *name,
                                     const oxi_llm_weight_row *row, bool required, ox_tensor **out) {
    *out = NULL;
    if (!ox_file_has(file, name)) {
        return required ? oxi_fail(OX_ERR_NOT_FOUND, "llm: tensor %s is missing", name) : OX_OK;
    }
    ox_scope scope = ox_scope_begin();
    ox_tensor *t = ox_file_tensor(file, name);
    ox_status status = t ? oxi_llm_check_weight(&model->config, name, row, t) : oxi_llm_error();
    if (!status) {
        model->config.parameters += ox_numel(t);
        model->config.bytes += (int64_t)ox_nbytes(t);
        ox_device *near = oxi_working_device(ox_device_of(t));
        *out = ox_retain(t->ndim == 1 ? ox_to(ox_cast(t, OX_F32), near) : t);
        if (!*out) status = oxi_llm_error();
    }
    ox_scope_end(&scope);
    return status;
}

static ox_status oxi_llm_load_layer(ox_llm *model, ox_file *file, int64_t index) {
    const oxi_llm_architecture *a = model->architecture;
    for (int role = 0; role < OXI_LLM_LAYER_WEIGHT_COUNT; role++) {
        const uint32_t bit = (uint32_t)1 << role;
        if (!((a->layer_weights | a->layer_optional) & bit)) continue;
        char name[64];
        (void)snprintf(name, sizeof name, "blk.%lld.%s", (long long)index, oxi_llm_layer_weights[role].name);
        const ox_status status =
            oxi_llm_load_weight(model, file, name, &oxi_llm_layer_weights[role], a->layer_weights & bit,
                                &model->layers[index].weight[role]);
        if (status) return status;
    }
    return OX_OK;
}

static ox_status oxi_llm_load_weights(ox_llm *model, ox_file *file) {
    const oxi_llm_architecture *a = model->architecture;
    for (int role = 0; role < OXI_LLM_MODEL_WEIGHT_COUNT; role++) {
        const uint32_t bit = (uint32_t)1 << role;
        if (!((a->model_weights | a->model_optional) & bit)) continue;
        const oxi_llm_weight_row *row = &oxi_llm_model_weights[role];
        const ox_status status =
            oxi_llm_load_weight(model, file, row->name, row, a->model_weights & bit, &model->weight[role]);
        if (status) return status;
    }
    model->config.tied = !model->weight[OXI_LLM_OUTPUT];
    if (model->config.tied) model->weight[OXI_LLM_OUTPUT] = ox_retain(model->weight[OXI_LLM_EMBEDDING]);
    model->device = oxi_working_device(ox_device_of(model->weight[OXI_LLM_EMBEDDING]));
    model->layers = (oxi_llm_layer *)oxi_calloc((size_t)model->config.layers, sizeof *model->layers);
    if (!model->layers) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < model->config.layers; i++) {
        const ox_status status = oxi_llm_load_layer(model, file, i);
        if (status) return status;
    }
    return OX_OK;
}

/* Matrices of block types in a file that was read into memory are kept as products want them. Mapped ones
 * stay in the file. */
static ox_status oxi_llm_prepack(const ox_llm *model, const ox_file *file) {
    ox_tensor *output = model->weight[OXI_LLM_OUTPUT];
    ox_status status = OX_OK;
    if (!file->copies) return OX_OK;
    if (oxi_is_block(output->dtype)) status = ox_prepack(output);
    for (int64_t i = 0; i < model->config.layers; i++)
        for (int role = 0; role < OXI_LLM_LAYER_WEIGHT_COUNT && !status; role++) {
            ox_tensor *t = model->layers[i].weight[role];
            if (t && oxi_is_block(t->dtype)) status = ox_prepack(t);
        }
    return status;
}

/* ---- opening and closing ------------------------------------------------------------------------------- */

/* A model without a tokenizer of a known kind still takes ids. */
static ox_status oxi_llm_read_tokenizer(ox_llm *model, const ox_file *file) {
    const ox_file_meta name = ox_file_meta_find(file, "tokenizer.ggml.model");
    if (name.type == OX_FILE_META_STRING)
        oxi_llm_copy_text(name.text, model->tokenizer_name, sizeof model->tokenizer_name);
    if (!oxi_tokenizer_knows(file)) return OX_OK;
    model->tokenizer = ox_tokenizer_open(file);
    return model->tokenizer ? OX_OK : oxi_llm_error();
}

static ox_status oxi_llm_check_vocabulary(const ox_llm *model, const ox_file *file) {
    const int64_t rows = model->config.vocabulary, tokens = ox_tokenizer_count(model->tokenizer);
    int64_t stated;
    const ox_status status = oxi_llm_read_int(model, file, "vocab_size", rows, &stated);
    if (status) return status;
    if (stated != rows || tokens > rows || rows > INT32_MAX) {
        return oxi_fail(OX_ERR_FORMAT, "llm: an embedding of %lld rows, vocab_size %lld, %lld tokens",
                        (long long)rows, (long long)stated, (long long)tokens);
    }
    return OX_OK;
}

static ox_llm *oxi_llm_read(ox_file *file) {
    ox_llm *model = (ox_llm *)oxi_calloc(1, sizeof *model);
    if (!model) return NULL;
    model->references = 1;
    ox_status status = oxi_llm_find_architecture(model, file);
    if (!status) status = oxi_llm_read_config(model, file);
    if (!status) status = oxi_llm_read_tokenizer(model, file);
    if (!status) status = oxi_llm_load_weights(model, file);
    if (!status) status = oxi_llm_check_vocabulary(model, file);
    if (!status) status = oxi_llm_prepack(model, file);
    if (status) {
        ox_llm_close(model);
        return NULL;
    }
    return model;
}

OX_API ox_llm *ox_llm_open_file(ox_file *file) {
    if (!file) {
        (void)oxi_fail_missing("llm: the file");
        return NULL;
    }
    const bool speaks = oxi_speak_for_file(file);
    ox_llm *model = oxi_llm_read(file);
    oxi_speak_end(speaks);
    return model;
}

OX_API ox_llm *ox_llm_open(const char *path, ox_device *device) {
    ox_file *file = ox_file_open(path, device);
    if (!file) return NULL;
    ox_llm *model = ox_llm_open_file(file);
    ox_file_close(file);
    return model;
}

OX_API void ox_llm_close(ox_llm *model) {
    if (!model || oxi_atomic_add(&model->references, -1) > 0) return;
    for (int role = 0; role < OXI_LLM_MODEL_WEIGHT_COUNT; role++) ox_release(model->weight[role]);
    for (int64_t i = 0; model->layers && i < model->config.layers; i++) {
        for (int role = 0; role < OXI_LLM_LAYER_WEIGHT_COUNT; role++)
            ox_release(model->layers[i].weight[role]);
    }
    oxi_free(model->layers, (size_t)model->config.layers * sizeof *model->layers);
    ox_tokenizer_close(model->tokenizer);
    oxi_free(model, sizeof *model);
}

OX_API const ox_llm_config *ox_llm_get_config(const ox_llm *model) {
    if (!model) (void)oxi_fail_missing("llm: the model");
    return model ? &model->config : NULL;
}

OX_API const ox_tokenizer *ox_llm_tokenizer(const ox_llm *model) {
    if (!model) {
        (void)oxi_fail_missing("llm: the model");
        return NULL;
    }
    if (!model->tokenizer && !model->tokenizer_name[0])
        (void)oxi_fail(OX_ERR_NOT_FOUND, "llm: the model's file has no tokenizer (tokenizer.ggml.model)");
    else if (!model->tokenizer)
        (void)oxi_fail(OX_ERR_UNSUPPORTED,
                       "llm: the model's tokenizer is of the kind \"%s\", which is not supported yet",
                       model->tokenizer_name);
    return model->tokenizer;
}
