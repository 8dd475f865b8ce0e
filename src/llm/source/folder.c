/* A Hugging Face folder as an ox_file: config.json and its companions become facts, the tensors of
 * model.safetensors (or of shards) items that are made when they are asked for. Called by source.c. */

enum { OXI_LLM_TEXT_MOST = 1 << 28 }; /* bytes of a text in a folder */

#define OXI_X(name, architecture, sets, trait, period) \
    {name, architecture, sets, OXI_LLM_TRAIT_##trait, period},
static const oxi_llm_model_type oxi_llm_model_types[] = {OXI_LLM_MODEL_TYPE_LIST(OXI_X)};
#undef OXI_X

static void oxi_llm_folder_close(ox_file *file) {
    oxi_llm_folder *folder = (oxi_llm_folder *)file->state;
    if (!folder) return;
    ox_file_close(folder->weights);
    for (int i = 0; i < OXI_LLM_DENSE_MOST; i++) ox_file_close(folder->modules[i]);
    oxi_free(folder->plans, folder->plan_room * sizeof *folder->plans);
    oxi_free(folder->pieces, folder->piece_room * sizeof *folder->pieces);
    oxi_free(folder, sizeof *folder);
    file->state = NULL;
}

static const oxi_format oxi_format_huggingface = {
    "huggingface", "", NULL, NULL, NULL, oxi_llm_load_item, oxi_llm_folder_close};

/* ---- texts --------------------------------------------------------------------------------------------- */

/* The path of a file in it, of *bytes; NULL: out of memory. */
static char *oxi_llm_folder_path(const ox_file *file, const char *name, size_t *bytes) {
    const char *path = file->parts[0].path;
    const char *slash = oxi_folder_length(path) == strlen(path) ? "" : "/";
    *bytes = strlen(path) + strlen(name) + 2;
    char *whole = (char *)oxi_alloc(*bytes);
    if (whole) (void)snprintf(whole, *bytes, "%s%s%s", path, slash, name);
    return whole;
}

/* A file of the folder, in the arena, with a 0 behind it; data NULL = there is none, which is an error if it
 * is required. */
static ox_status oxi_llm_folder_text(ox_file *file, const char *name, bool required, ox_string *out) {
    size_t bytes = 0;
    oxi_mapping mapping;
    char *whole = oxi_llm_folder_path(file, name, &bytes), *copy = NULL;
    ox_status status = whole ? OX_OK : OX_ERR_NOMEM;
    memset(out, 0, sizeof *out);
    memset(&mapping, 0, sizeof mapping);
    if (whole && !oxi_is_file(whole) && !required) {
        oxi_free(whole, bytes);
        return OX_OK;
    }
    if (status == OX_OK) status = oxi_map_file(whole, false, &mapping);
    if (status == OX_OK && mapping.bytes > OXI_LLM_TEXT_MOST)
        status = oxi_file_fail(OX_ERR_FORMAT, file, 0, SIZE_MAX, "%s has %llu bytes (at most %d are read)",
                               name, (unsigned long long)mapping.bytes, (int)OXI_LLM_TEXT_MOST);
    if (status == OX_OK) {
        copy = (char *)oxi_file_take(file, mapping.bytes + 1);
        if (!copy) status = OX_ERR_NOMEM;
    }
    if (copy) {
        if (mapping.bytes) memcpy(copy, mapping.data, mapping.bytes);
        copy[mapping.bytes] = 0;
        out->data = copy;
        out->length = (int64_t)mapping.bytes;
    }
    oxi_unmap_file(&mapping);
    oxi_free(whole, bytes);
    return status;
}

/* Parses a text, which must be an object; none gives an empty one. */
static ox_status oxi_llm_folder_json(ox_file *file, const char *name, ox_string text, oxi_json *out) {
    char label[192];
    memset(out, 0, sizeof *out);
    if (!text.data) return OX_OK;
    (void)snprintf(label, sizeof label, "%s: %s", oxi_path_text(file->parts[0].path), name);
    const ox_status status = oxi_json_parse(label, text.data, (size_t)text.length, out);
    if (status != OX_OK || out->nodes[0].type == OXI_JSON_OBJECT) return status;
    oxi_json_free(out);
    return oxi_file_fail(OX_ERR_FORMAT, file, 0, SIZE_MAX, "%s is no object", name);
}

/* ---- what it says -------------------------------------------------------------------------------------- */

static const oxi_llm_model_type *oxi_llm_named_model(const char *name) {
    for (size_t i = 0; i < sizeof oxi_llm_model_types / sizeof *oxi_llm_model_types; i++)
        if (strcmp(oxi_llm_model_types[i].name, name) == 0) return &oxi_llm_model_types[i];
    return NULL;
}

/* By the class that it was saved from, or by its type. */
static const oxi_llm_model_type *oxi_llm_find_model(const oxi_json *json, uint32_t object,
                                                    const char **type) {
    const uint32_t at = oxi_json_find(json, object, "model_type"),
                   classes = oxi_json_find(json, object, "architectures");
    const oxi_json_node *first = classes ? &json->nodes[classes] + 1 : NULL;
    const oxi_llm_model_type *model = NULL;
    if (first && first[-1].type == OXI_JSON_ARRAY && first[-1].length > 0 && first->type == OXI_JSON_STRING)
        model = oxi_llm_named_model(first->value.text);
    if (model || !at || json->nodes[at].type != OXI_JSON_STRING) return model;
    *type = json->nodes[at].value.text;
    return oxi_llm_named_model(*type);
}

/* Whether one of Nemotron H's layers has experts: GGUF has two architectures. */
static bool oxi_llm_lists_experts(const oxi_llm_config *c) {
    const oxi_json_node *kinds = oxi_llm_layer_kinds(c);
    char letter = 'M';
    for (int64_t i = 0; letter && letter != 'E'; i++) letter = oxi_llm_layer_letter(kinds, i);
    return letter == 'E';
}

/* Whether tokens of a Gemma 3 see all of the text: GGUF has another architecture for it. */
static bool oxi_llm_sees_all(const oxi_llm_config *c) {
    const oxi_json_node *both = oxi_llm_config_node(c, "use_bidirectional_attention", 27);
    return both && both->type == OXI_JSON_BOOL && both->value.i;
}

/* The row of the model type: of the whole, or of the text model in it. */
static ox_status oxi_llm_folder_model(oxi_llm_config *c) {
    const char *type = NULL;
    const uint32_t inner = oxi_json_find(&c->config, 0, "text_config");
    if (inner && c->config.nodes[inner].type == OXI_JSON_OBJECT) c->inner = inner;
    if (c->inner) c->folder->model = oxi_llm_find_model(&c->config, c->inner, &type);
    if (!c->folder->model) c->folder->model = oxi_llm_find_model(&c->config, 0, &type);
    const oxi_llm_model_type *found = c->folder->model;
    if (found && strcmp(found->name, "nemotron_h") == 0 && !oxi_llm_lists_experts(c))
        c->folder->model = oxi_llm_named_model("nemotron_h/dense");
    if (found && strcmp(found->architecture, "gemma3") == 0 && oxi_llm_sees_all(c))
        c->folder->model = oxi_llm_named_model("gemma3/both");
    if (found) return OX_OK;
    if (!type) return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "config.json: no model_type");
    return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX, "models of the type %s are not supported",
                         OXI_QUOTE(type));
}

/* Weights of other formats than floats: MXFP4 and 8-bit floats with scales are read. */
static ox_status oxi_llm_folder_quantized(const oxi_llm_config *c) {
    static const char *const scaled[] = {"fp8", "fbgemm_fp8", "compressed-tensors"};
    const char *method = oxi_llm_config_text(c, "quantization_config.quant_method");
    oxi_llm_folder *f = c->folder;
    if (!method || strcmp(method, "mxfp4") == 0) return OX_OK;
    for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++) {
        if (strcmp(method, scaled[i]) != 0) continue;
        const char *rows = "quantization_config.weight_block_size.0",
                   *columns = "quantization_config.weight_block_size.1";
        const ox_status status = oxi_llm_config_int(c, rows, 1, 1 << 20, 128, &f->scaled_rows);
        return status ? status : oxi_llm_config_int(c, columns, 1, 1 << 20, 128, &f->scaled_columns);
    }
    c->folder->ternary = strcmp(method, "bitnet") == 0; /* packed ones are refused by their dtype */
    if (c->folder->ternary) return OX_OK;
    return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                         "weights that are quantized by %s are not supported", OXI_QUOTE(method));
}

/* Of an expression that is not `only`; one with "?x:text" in it asks for a text. */
static ox_status oxi_llm_refuse_option(const oxi_llm_config *c, const char *expression, double value,
                                       double only) {
    const char *asks = strchr(expression, '?'), *colon = asks ? strchr(asks, ':') : NULL;
    if (!colon)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                             "config.json: %s is %g, and only %g is supported", expression, value, only);
    const int name = (int)(colon - asks - 1), text = (int)strcspn(colon + 1, "|");
    return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                         only != 0 ? "config.json: %.*s must be '%.*s', nothing else is supported"
                                   : "config.json: %.*s may not be '%.*s', which is not supported",
                         name, asks + 1, text, colon + 1);
}

/* Options that would give other logits, and are not computed. */
static ox_status oxi_llm_folder_options(const oxi_llm_config *c) {
    static const struct {
        const char *who, *expression;
        double only;
    } rows[] = {
#define OXI_X(who, expression, only) {who, expression, only},
        OXI_LLM_SOURCE_ONLY_LIST(OXI_X)
#undef OXI_X
    };
    double value = 0;
    ox_status status = OX_OK;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool first = oxi_llm_row_holds(c, rows[i].who);
        for (size_t before = 0; before < i && first; before++)
            first = strcmp(rows[before].expression, rows[i].expression) != 0 ||
                    !oxi_llm_row_holds(c, rows[before].who);
        if (!first || isnan(rows[i].only)) continue;
        if (oxi_llm_config_number(c, rows[i].expression, &value, &status) && value != rows[i].only)
            return oxi_llm_refuse_option(c, rows[i].expression, value, rows[i].only);
        if (status != OX_OK) return status;
    }
    const char *window = oxi_llm_config_text(c, "rope_parameters.sliding_attention.rope_type");
    if (window && strcmp(window, "default") != 0 && strcmp(window, "linear") != 0)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                             "config.json: the rope scaling %s of sliding_attention is not supported",
                             OXI_QUOTE(window));
    if (!oxi_llm_row_holds(c, "mamba mamba2 granitehybrid jamba falcon-h1 nemotron_h nemotron_h_moe"))
        return OX_OK; /* the kernels hold SiLU */
    const char *key = oxi_llm_config_text(c, "mamba_hidden_act") ? "mamba_hidden_act" : "hidden_act",
               *activation = oxi_llm_config_text(c, key);
    if (activation && strcmp(activation, "silu") != 0 && strcmp(activation, "swish") != 0)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                             "config.json: %s is %s, and only silu is supported", key,
                             OXI_QUOTE(activation));
    const oxi_json_node *limit = oxi_llm_config_node(c, "time_step_limit", 15);
    for (int64_t i = 0; limit && limit->type == OXI_JSON_ARRAY && i < limit->length && i < 2; i++) {
        const oxi_json_node *end = limit + 1 + i; /* 0, and infinity, which is no number here */
        const double number = end->type == OXI_JSON_FLOAT ? end->value.f : (double)end->value.i;
        if (end->type != OXI_JSON_FLOAT && end->type != OXI_JSON_INT) break;
        if (i == 0 ? number > 0 : isfinite(number))
            return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                                 "config.json: a time_step_limit other than 0 to infinity is not supported");
    }
    return OX_OK;
}

/* The heads of a delta net. Qwen 3 Next's GGUF files have the heads of values of a key side by side, as
 * folders do. */
static ox_status oxi_llm_folder_delta(const oxi_llm_config *c) {
    enum { MOST = 1 << 16 };
    oxi_llm_folder *f = c->folder;
    int64_t values = 0;
    if (!oxi_llm_row_holds(c, "qwen3next qwen35 qwen35moe")) return OX_OK;
    ox_status status = oxi_llm_config_int(c, "linear_num_key_heads", 1, MOST, -1, &f->delta_keys);
    if (status == OX_OK) status = oxi_llm_config_int(c, "linear_key_head_dim", 1, MOST, -1, &f->delta_key);
    if (status == OX_OK) status = oxi_llm_config_int(c, "linear_num_value_heads", 1, MOST, -1, &values);
    if (status == OX_OK && values % f->delta_keys)
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                             "config.json: %lld heads of values for %lld of keys", (long long)values,
                             (long long)f->delta_keys);
    f->delta_each = status != OX_OK || oxi_llm_row_holds(c, "qwen3next") ? 1 : values / f->delta_keys;
    return status;
}

/* Whether a stored output matrix is passed over: not where the whole or the text model in it says that it is
 * no embedding, nor where it never is one, whatever is said. */
static ox_status oxi_llm_folder_tied(const oxi_llm_config *c) {
    oxi_llm_config whole = *c;
    int64_t tied = 0, all = 0;
    whole.inner = 0;
    ox_status status = oxi_llm_config_int(c, "tie_word_embeddings", 0, 1, 0, &tied);
    if (status == OX_OK) status = oxi_llm_config_int(&whole, "tie_word_embeddings", 0, 1, tied, &all);
    c->folder->tied = tied && all && !oxi_llm_row_holds(c, "nemotron_h nemotron_h_moe");
    return status;
}

/* What the transforms need. */
static ox_status oxi_llm_folder_sizes(const oxi_llm_config *c) {
    enum { MOST = 1 << 20 };
    oxi_llm_folder *f = c->folder;
    int64_t value = 0, decoder = 0, groups = 0;
    ox_status status = oxi_llm_config_int(c, "$heads", 1, MOST, -1, &f->heads);
    if (status == OX_OK) status = oxi_llm_config_int(c, "$layers", 1, 1 << 16, -1, &f->layers);
    if (status == OX_OK) status = oxi_llm_config_int(c, "num_decoder_layers", 1, 1 << 16, 1, &decoder);
    if (status == OX_OK) status = oxi_llm_config_int(c, "num_nextn_predict_layers", 0, MOST, 0, &f->beyond);
    if (status == OX_OK) status = oxi_llm_config_int(c, "$kv_heads", 1, MOST, f->heads, &groups);
    if (status == OX_OK)
        status = oxi_llm_config_int(c, "num_local_experts|ffn_config.moe_num_experts|8", 0, 1 << 16, 0,
                                    &f->experts);
    if (status == OX_OK) status = oxi_llm_config_int(c, "qk_nope_head_dim", 1, MOST, 1, &f->nope_size);
    if (status == OX_OK) status = oxi_llm_config_int(c, "v_head_dim", 1, MOST, 1, &f->value_size);
    if (status == OX_OK && oxi_llm_row_holds(c, "deepseek_v3 glm4_moe_lite youtu mistral4")) {
        status = oxi_llm_config_int(c, "rope_interleave|^rope_interleave", 0, 1, 1, &value);
        if (status == OX_OK && value == 0)
            status = oxi_llm_config_int(c, "qk_rope_head_dim", 2, OXI_LLM_ROPE_MOST, -1, &f->halves);
    }
    if (status == OX_OK) status = oxi_llm_folder_delta(c);
    f->second = oxi_llm_row_holds(c, "mamba2 granitehybrid falcon-h1 nemotron_h nemotron_h_moe");
    if (status == OX_OK && oxi_llm_row_holds(c, "falcon-h1 nemotron_h nemotron_h_moe"))
        status = oxi_llm_config_int(c, "n_groups|mamba_n_groups", 1, MOST, 1, &f->mixer_groups);
    if (status == OX_OK && oxi_llm_row_holds(c, "bamba"))
        status = oxi_llm_config_int(c, "$rotary*$head", 0, OXI_LLM_ROPE_MOST, 0, &f->turned);
    if (status == OX_OK && f->model->trait == OXI_LLM_TRAIT_EITHER)
        status = oxi_llm_config_int(c, "hidden_size", 1, INT32_MAX, -1, &f->width);
    if (status == OX_OK) status = oxi_llm_config_int(c, "pad_token_id+1", 0, INT32_MAX, 0, &f->offset);
    if (status == OX_OK) status = oxi_llm_folder_tied(c);
    if (decoder > f->layers) f->layers = decoder;
    if (status == OX_OK &&
        strcmp(f->model->architecture, "falcon") == 0) { /* 1 unless it is of the newer kind */
        int64_t newer = 0;
        status = oxi_llm_config_int(c, "multi_query", 0, 1, 1, &value);
        if (status == OX_OK) status = oxi_llm_config_int(c, "new_decoder_architecture", 0, 1, 0, &newer);
        if (value && !newer) groups = 1;
    }
    f->kv_heads = groups;
    return status;
}

/* "chat_template": a text, or a list of objects with name and template. */
static ox_status oxi_llm_folder_template(const oxi_llm_config *c, const oxi_json *tokenizer) {
    ox_string file;
    ox_status status = oxi_llm_folder_text(c->file, "chat_template.jinja", false, &file);
    if (status != OX_OK) return status;
    if (file.data) return oxi_llm_fact_text(c, "tokenizer.chat_template", file.data, (size_t)file.length);
    const uint32_t at = tokenizer->count ? oxi_json_find(tokenizer, 0, "chat_template") : 0;
    const oxi_json_node *node = at ? &tokenizer->nodes[at] : NULL;
    if (node && node->type == OXI_JSON_STRING)
        return oxi_llm_fact_text(c, "tokenizer.chat_template", node->value.text, node->length);
    if (!node || node->type != OXI_JSON_ARRAY) return OX_OK;
    for (uint32_t i = at + 1; i < node->next && status == OX_OK; i = tokenizer->nodes[i].next) {
        const uint32_t name = oxi_json_find(tokenizer, i, "name"),
                       text = oxi_json_find(tokenizer, i, "template");
        if (!name || !text || tokenizer->nodes[name].type != OXI_JSON_STRING ||
            tokenizer->nodes[text].type != OXI_JSON_STRING)
            continue;
        char key[96];
        const bool usual = strcmp(tokenizer->nodes[name].value.text, "default") == 0;
        (void)snprintf(key, sizeof key, "tokenizer.chat_template%s%.48s", usual ? "" : ".",
                       usual ? "" : tokenizer->nodes[name].value.text);
        status = oxi_llm_fact_text(c, key, tokenizer->nodes[text].value.text, tokenizer->nodes[text].length);
    }
    return status;
}

static ox_status oxi_llm_folder_tokenizer(const oxi_llm_config *c) {
    oxi_json tokenizer;
    const ox_string json = c->folder->text[OXI_LLM_SOURCE_TOKENIZER],
                    config = c->folder->text[OXI_LLM_SOURCE_TOKENIZER_CONFIG];
    ox_status status = OX_OK;
    if (json.data)
        status = oxi_llm_fact_text(c, "tokenizer.huggingface.json", json.data, (size_t)json.length);
    if (json.data && status == OX_OK && config.data)
        status = oxi_llm_fact_text(c, "tokenizer.huggingface.config", config.data, (size_t)config.length);
    if (status == OX_OK)
        status = oxi_llm_folder_json(c->file, "tokenizer_config.json",
                                     c->folder->text[OXI_LLM_SOURCE_TOKENIZER_CONFIG], &tokenizer);
    if (status != OX_OK) return status;
    status = oxi_llm_folder_template(c, &tokenizer);
    oxi_json_free(&tokenizer);
    return status;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* The folder's own name. */
static ox_status oxi_llm_folder_name(const oxi_llm_config *c) {
    const char *path = c->file->parts[0].path, *end = path + strlen(path);
    while (end > path && (end[-1] == '/' || end[-1] == '\\')) end--;
    const char *start = end;
    while (start > path && start[-1] != '/' && start[-1] != '\\') start--;
    if (start == end || !oxi_utf8_is_valid(path, strlen(path))) return OX_OK;
    return oxi_llm_fact_text(c, "general.name", start, (size_t)(end - start));
}

static ox_status oxi_llm_folder_texts(oxi_llm_config *c) {
    static const char *const names[] = {"config.json", "tokenizer.json", "tokenizer_config.json"};
    ox_string generation;
    ox_status status = OX_OK;
    for (int i = 0; i < OXI_LLM_SOURCE_TEXT_COUNT && status == OX_OK; i++)
        status = oxi_llm_folder_text(c->file, names[i], i == OXI_LLM_SOURCE_CONFIG, &c->folder->text[i]);
    if (status == OX_OK) status = oxi_llm_folder_text(c->file, "generation_config.json", false, &generation);
    if (status == OX_OK)
        status =
            oxi_llm_folder_json(c->file, "config.json", c->folder->text[OXI_LLM_SOURCE_CONFIG], &c->config);
    if (status == OX_OK)
        status = oxi_llm_folder_json(c->file, "generation_config.json", generation, &c->generation);
    return status;
}

static ox_status oxi_llm_folder_read(oxi_llm_config *c) {
    ox_status status = oxi_llm_folder_texts(c);
    if (status == OX_OK) status = oxi_llm_folder_model(c);
    if (status == OX_OK) status = oxi_llm_add_defaults(c);
    if (status == OX_OK) status = oxi_llm_folder_quantized(c);
    if (status == OX_OK) status = oxi_llm_folder_options(c);
    if (status == OX_OK) status = oxi_llm_folder_sizes(c);
    if (status == OX_OK) {
        c->folder->weights = ox_file_open(c->file->parts[0].path, c->file->device);
        if (!c->folder->weights) status = ox_error();
    }
    if (status == OX_OK && strcmp(ox_file_format(c->folder->weights), "safetensors") != 0)
        status = oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX, "the weights are no safetensors");
    if (status == OX_OK) status = oxi_llm_add_facts(c);
    if (status == OX_OK) status = oxi_llm_folder_name(c);
    if (status == OX_OK) status = oxi_llm_folder_tokenizer(c);
    if (status == OX_OK) status = oxi_llm_add_tensors(c);
    if (status == OX_OK) status = oxi_llm_add_rope(c);
    if (status == OX_OK) status = oxi_llm_add_sinusoids(c);
    if (status == OX_OK) status = oxi_llm_add_modules(c);
    if (status == OX_OK) status = oxi_llm_add_items(c);
    return status == OX_OK ? oxi_file_index(c->file) : status;
}

/* An ox_file with nothing in it yet, whose one part has a path and no bytes. */
static ox_file *oxi_llm_empty_file(const char *path, ox_device *device, const oxi_format *format) {
    ox_file *file = oxi_file_new(device);
    if (!file) return NULL;
    char *copy = (char *)oxi_file_take(file, strlen(path) + 1);
    oxi_file_part *part = copy ? oxi_file_add_part(file) : NULL;
    if (!part) {
        oxi_file_free(file);
        return NULL;
    }
    strcpy(copy, path);
    part->path = copy;
    part->borrowed = true;
    file->format = format;
    return file;
}

static ox_file *oxi_llm_open_folder(const char *path, ox_device *device) {
    oxi_llm_config c;
    ox_file *file = oxi_llm_empty_file(path, device, &oxi_format_huggingface);
    if (!file) return NULL;
    memset(&c, 0, sizeof c);
    c.file = file;
    file->state = c.folder = (oxi_llm_folder *)oxi_calloc(1, sizeof *c.folder);
    const ox_status status = c.folder ? oxi_llm_folder_read(&c) : OX_ERR_NOMEM;
    oxi_json_free(&c.config);
    oxi_json_free(&c.generation);
    oxi_json_free(&c.sizes);
    oxi_json_free(&c.defaults);
    if (status == OX_OK) return file;
    oxi_file_free(file);
    return NULL;
}
