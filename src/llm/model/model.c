/* The model: opened from a file, closed when its last context is.
 * Its family is a row of families.def; config.c reads the facts, weights.c the tensors. Called by users and
 * by the context. */

#define T(trait) OXI_LLM_TRAIT(trait)
#define OXI_LLM_FAMILY(name, block, norm, rope, activation, router, windows, sees, traits) \
    {name,                                                                                 \
     OXI_LLM_BLOCK_##block,                                                                \
     OXI_LLM_NORM_##norm,                                                                  \
     OXI_LLM_ROPE_##rope,                                                                  \
     &oxi_llm_##activation,                                                                \
     OXI_LLM_ROUTER_##router,                                                              \
     windows,                                                                              \
     OXI_LLM_SEES_##sees,                                                                  \
     traits},
static const oxi_llm_family oxi_llm_families[] = {
#include "families.def"
};
#undef T

static ox_status oxi_llm_find_family(ox_llm *model, const ox_file *file) {
    const ox_file_meta meta = ox_file_meta_find(file, "general.architecture");
    if (meta.type != OX_FILE_META_STRING) {
        return oxi_fail(OX_ERR_NOT_FOUND,
                        "llm: the file has no general.architecture, so it is no GGUF model");
    }
    for (size_t i = 0; i < sizeof oxi_llm_families / sizeof *oxi_llm_families; i++) {
        if (oxi_llm_text_is(meta.text, oxi_llm_families[i].name)) {
            model->family = &oxi_llm_families[i];
            model->config.architecture = model->family->name;
            return OX_OK;
        }
    }
    char name[48];
    oxi_llm_copy_text(meta.text, name, sizeof name);
    return oxi_fail(OX_ERR_UNSUPPORTED, "llm: the architecture \"%s\" is not supported", name);
}

/* ---- opening and closing ------------------------------------------------------------------------------- */

/* The tokenizer in the metadata: GGUF's arrays, or tokenizer.json as a whole. */
static ox_tokenizer *oxi_llm_open_tokenizer(const ox_file *file) {
    if (oxi_tokenizer_knows(file)) return ox_tokenizer_open(file);
    const ox_file_meta json = ox_file_meta_find(file, "tokenizer.huggingface.json");
    const ox_file_meta config = ox_file_meta_find(file, "tokenizer.huggingface.config");
    const bool configured = config.type == OX_FILE_META_STRING;
    if (json.type != OX_FILE_META_STRING) return NULL;
    return ox_tokenizer_open_json(json.text.data, json.text.length, configured ? config.text.data : NULL,
                                  configured ? config.text.length : 0);
}

/* A model without a tokenizer of a known kind still takes ids. */
static ox_status oxi_llm_read_tokenizer(ox_llm *model, const ox_file *file) {
    const ox_file_meta name = ox_file_meta_find(file, "tokenizer.ggml.model");
    const bool clear = ox_error() == OX_OK;
    if (name.type == OX_FILE_META_STRING)
        oxi_llm_copy_text(name.text, model->tokenizer_name, sizeof model->tokenizer_name);
    else if (ox_file_meta_find(file, "tokenizer.huggingface.json").type == OX_FILE_META_STRING)
        (void)snprintf(model->tokenizer_name, sizeof model->tokenizer_name, "tokenizer.json");
    model->tokenizer = oxi_llm_open_tokenizer(file);
    if (model->tokenizer || ox_error() == OX_OK) return OX_OK;
    if (ox_error() != OX_ERR_UNSUPPORTED) return oxi_llm_error();
    if (clear) ox_error_clear();
    return OX_OK;
}

static ox_status oxi_llm_read_template(ox_llm *model, const ox_file *file) {
    const ox_file_meta text = ox_file_meta_find(file, "tokenizer.chat_template");
    if (text.type != OX_FILE_META_STRING) return OX_OK;
    model->chat_template = (char *)oxi_alloc((size_t)text.text.length + 1);
    if (!model->chat_template) return OX_ERR_NOMEM;
    memcpy(model->chat_template, text.text.data, (size_t)text.text.length);
    model->chat_template[text.text.length] = 0;
    model->chat_template_length = text.text.length;
    return OX_OK;
}

static ox_status oxi_llm_check_vocabulary(const ox_llm *model, const ox_file *file) {
    const int64_t rows = model->config.vocabulary, tokens = ox_tokenizer_count(model->tokenizer);
    int64_t stated;
    const ox_status status = oxi_llm_read_int(model, file, "vocab_size", -1, 1, rows, &stated);
    if (status) return status;
    if (stated != rows || tokens > rows || rows > INT32_MAX) {
        return oxi_fail(OX_ERR_FORMAT, "llm: an embedding of %lld rows, vocab_size %lld, %lld tokens",
                        (long long)rows, (long long)stated, (long long)tokens);
    }
    return OX_OK;
}

/* All of a model whose family is known. */
static ox_status oxi_llm_read(ox_llm *model, ox_file *file) {
    ox_status status = oxi_llm_read_config(model, file);
    if (!status) status = oxi_llm_load_weights(model, file);
    if (!status) status = oxi_llm_check_vocabulary(model, file);
    return status ? status : oxi_llm_prepack(model, file);
}

/* The encoder before a decoder, whose facts have the same names: of the row behind. They share the
 * embedding. */
static ox_status oxi_llm_read_encoder(ox_llm *model, ox_file *file) {
    int64_t start = 0;
    if (!oxi_llm_has_trait(model, OXI_LLM_TRAIT(AFTER_ENCODER))) return OX_OK;
    ox_llm *encoder = (ox_llm *)oxi_calloc(1, sizeof *encoder);
    if (!encoder) return OX_ERR_NOMEM;
    model->encoder = encoder;
    encoder->references = 1;
    encoder->family = model->family + 1;
    encoder->config.architecture = model->config.architecture;
    ox_status status = oxi_llm_read(encoder, file);
    if (!status) status = oxi_llm_read_int(model, file, "decoder_start_token_id", -1, 0, 0, &start);
    if (status) return status;
    if (encoder->config.width != model->config.width || start >= model->config.vocabulary)
        return oxi_fail(OX_ERR_FORMAT, "llm: decoding begins with token %lld of %lld", (long long)start,
                        (long long)model->config.vocabulary);
    const oxi_llm_part *embedding = &model->part[OXI_LLM_EMBEDDING];
    for (int role = 0; role < OXI_LLM_MODEL_ROLES; role++) {
        ox_tensor **weight = &encoder->part[role].weight;
        if (role != OXI_LLM_EMBEDDING && role != OXI_LLM_OUTPUT) continue;
        ox_release(*weight);
        *weight = ox_retain(embedding->weight);
    }
    model->config.encoder_layers = encoder->config.layers;
    model->config.start_token = (int32_t)start;
    model->config.parameters += encoder->config.parameters - ox_numel(embedding->weight);
    model->config.bytes += encoder->config.bytes - (int64_t)ox_nbytes(embedding->weight);
    return OX_OK;
}

static ox_llm *oxi_llm_read_file(ox_file *file) {
    ox_llm *model = (ox_llm *)oxi_calloc(1, sizeof *model);
    if (!model) return NULL;
    model->references = 1;
    ox_status status = oxi_llm_find_family(model, file);
    if (!status) status = oxi_llm_read_tokenizer(model, file);
    if (!status) status = oxi_llm_read_template(model, file);
    if (!status) status = oxi_llm_read(model, file);
    if (!status) status = oxi_llm_read_encoder(model, file);
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
    ox_llm *model = oxi_llm_read_file(file);
    oxi_speak_end(speaks);
    return model;
}

OX_API ox_llm *ox_llm_open(const char *path, ox_device *device) {
    oxi_llm_source *source = oxi_llm_source_open(path, device);
    ox_llm *model = source ? ox_llm_open_file(oxi_llm_source_file(source)) : NULL;
    oxi_llm_source_close(source);
    return model;
}

OX_API void ox_llm_close(ox_llm *model) {
    if (!model || oxi_atomic_add(&model->references, -1) > 0) return;
    ox_llm_close(model->encoder);
    oxi_llm_free_weights(model);
    oxi_free(model->chat_template, model->chat_template ? (size_t)model->chat_template_length + 1 : 0);
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

OX_API const char *ox_llm_chat_template(const ox_llm *model) {
    if (!model) (void)oxi_fail_missing("llm: the model");
    return model ? model->chat_template : NULL;
}
