/* What sentence-transformers has behind a model, by modules.json: pooling, and products behind it, each in a
 * folder of its own. They become the facts and tensors that GGUF has for them. Called by folder.c. */

/* One module of the list; texts are "" where it has none. */
typedef struct oxi_llm_module {
    const char *type, *path;
} oxi_llm_module;

static oxi_llm_module oxi_llm_module_at(const oxi_json *modules, uint32_t i) {
    const uint32_t kind = oxi_json_find(modules, i, "type"), place = oxi_json_find(modules, i, "path");
    oxi_llm_module m = {"", ""};
    if (kind && modules->nodes[kind].type == OXI_JSON_STRING) m.type = modules->nodes[kind].value.text;
    if (place && modules->nodes[place].type == OXI_JSON_STRING) m.path = modules->nodes[place].value.text;
    return m;
}

/* Whether a path stays in the folder, and is no more than a name. */
static bool oxi_llm_is_plain_name(const char *path) {
    return *path && *path != '.' && strlen(path) < 64 && !strpbrk(path, "/\\:");
}

/* The object of a module's config.json; without nodes: there is none. */
static ox_status oxi_llm_module_config(const oxi_llm_config *c, const char *path, oxi_json *out) {
    char name[128];
    ox_string text;
    (void)snprintf(name, sizeof name, "%s/config.json", path);
    memset(out, 0, sizeof *out);
    const ox_status status = oxi_llm_folder_text(c->file, name, false, &text);
    return status == OX_OK ? oxi_llm_folder_json(c->file, name, text, out) : status;
}

static ox_status oxi_llm_refuse_module(const oxi_llm_config *c, const char *path, const char *why) {
    return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX, "%s/config.json: %s",
                         oxi_quote(path, strlen(path)).text, why);
}

/* ---- pooling ------------------------------------------------------------------------------------------- */

/* The number that GGUF has for a pooling; -1 = it has none. */
static int oxi_llm_pooling_number(const oxi_json *config) {
    static const struct {
        const char *flag, *name;
        int number;
    } kinds[] = {{"pooling_mode_mean_tokens", "mean", 1},
                 {"pooling_mode_cls_token", "cls", 2},
                 {"pooling_mode_lasttoken", "lasttoken", 3},
                 {"pooling_mode_max_tokens", "max", -1},
                 {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", -1},
                 {"pooling_mode_weightedmean_tokens", "weightedmean", -1}};
    const uint32_t named = oxi_json_find(config, 0, "pooling_mode");
    int number = 0, found = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const uint32_t flag = oxi_json_find(config, 0, kinds[i].flag);
        const bool asked = flag && config->nodes[flag].type == OXI_JSON_BOOL && config->nodes[flag].value.i,
                   called = named && config->nodes[named].type == OXI_JSON_STRING &&
                            strcmp(config->nodes[named].value.text, kinds[i].name) == 0;
        if (!asked && !called) continue;
        number = kinds[i].number;
        found++;
    }
    return found == 1 ? number : -1;
}

/* How hidden states become one row. */
static ox_status oxi_llm_add_pooling(const oxi_llm_config *c, const char *path) {
    oxi_json config;
    if (!oxi_llm_is_plain_name(path)) return OX_OK;
    const ox_status status = oxi_llm_module_config(c, path, &config);
    if (status != OX_OK || config.count == 0) return status;
    const int number = oxi_llm_pooling_number(&config);
    oxi_json_free(&config);
    if (number > 0) return oxi_llm_fact_number(c, "pooling_type", OX_GGUF_U32, number);
    return oxi_llm_refuse_module(c, path,
                                 "another pooling than one of mean, first and last token is not supported");
}

/* ---- products behind it -------------------------------------------------------------------------------- */

/* What our activations are called, by torch's class; "" = none is needed; NULL = there is none of it. */
static const char *oxi_llm_dense_activation(const char *name) {
    static const char *const names[][2] = {{"Identity", ""},   {"Tanh", "tanh"},       {"ReLU", "relu"},
                                           {"GELU", "gelu"},   {"Sigmoid", "sigmoid"}, {"SiLU", "silu"},
                                           {"ReLU6", "relu6"}, {"Mish", "mish"}};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(dot ? dot + 1 : name, names[i][0]) == 0) return names[i][1];
    return NULL;
}

/* What a product's config.json says beside its sizes, which its matrix has too. */
static ox_status oxi_llm_dense_options(const oxi_llm_config *c, const char *path, const oxi_json *config,
                                       int number) {
    const uint32_t act = oxi_json_find(config, 0, "activation_function"),
                   of = oxi_json_find(config, 0, "module_input_name"),
                   residual = oxi_json_find(config, 0, "use_residual");
    char key[64];
    if (of && (config->nodes[of].type != OXI_JSON_STRING ||
               strcmp(config->nodes[of].value.text, "sentence_embedding") != 0))
        return oxi_llm_refuse_module(c, path, "a product of anything but the pooled row is not supported");
    if (residual && config->nodes[residual].value.i)
        return oxi_llm_refuse_module(c, path, "use_residual is not supported");
    if (!act || config->nodes[act].type != OXI_JSON_STRING)
        return oxi_llm_refuse_module(c, path, "no activation_function is named");
    const char *name = oxi_llm_dense_activation(config->nodes[act].value.text);
    if (!name) return oxi_llm_refuse_module(c, path, "an activation_function that is not supported");
    (void)snprintf(key, sizeof key, "dense_%d_activation", number);
    return *name ? oxi_llm_fact_text(c, key, name, strlen(name)) : OX_OK;
}

/* The plan of linear.weight or linear.bias. */
static ox_status oxi_llm_dense_plan(const oxi_llm_config *c, int index, const char *part, int64_t from) {
    char name[64];
    (void)snprintf(name, sizeof name, "dense_%d.%s", index + 2, part);
    oxi_llm_plan *plan = oxi_llm_add_plan(c, name);
    if (!plan) return OX_ERR_NOMEM;
    plan->module = (uint32_t)index + 1;
    plan->from = (uint32_t)from;
    return OX_OK;
}

/* Its weights, and the sizes that GGUF repeats: rows of the row before, and of its own. */
static ox_status oxi_llm_dense_weights(const oxi_llm_config *c, const char *path, const oxi_json *config,
                                       int index, int64_t *width) {
    const uint32_t biased = oxi_json_find(config, 0, "bias");
    char key[64], name[96];
    size_t bytes = 0;
    ox_file_entry entry;
    (void)snprintf(name, sizeof name, "%s/model.safetensors", path);
    char *whole = oxi_llm_folder_path(c->file, name, &bytes);
    if (!whole) return OX_ERR_NOMEM;
    const bool there = oxi_is_file(whole);
    ox_file *file = there ? ox_file_open(whole, c->file->device) : NULL;
    oxi_free(whole, bytes);
    if (!there)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX, "the weights of %s are no safetensors",
                             oxi_quote(path, strlen(path)).text);
    if (!file) return ox_error();
    c->folder->modules[index] = file;
    const int64_t weight = oxi_file_find(file, "linear.weight"), bias = oxi_file_find(file, "linear.bias");
    if (weight < 0 || (bias < 0 && biased && config->nodes[biased].value.i))
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "%s: tensor linear.%s is missing",
                             oxi_quote(path, strlen(path)).text, weight < 0 ? "weight" : "bias");
    ox_status status = ox_file_get_entry(file, weight, &entry);
    if (status != OX_OK) return status;
    if (entry.ndim != 2)
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "%s: linear.weight is no matrix",
                             oxi_quote(path, strlen(path)).text);
    status = oxi_llm_dense_plan(c, index, "weight", weight);
    if (status == OX_OK && bias >= 0) status = oxi_llm_dense_plan(c, index, "bias", bias);
    *width = entry.shape[0];
    (void)snprintf(key, sizeof key, "dense_%d_feat_in", index + 2);
    if (status == OX_OK) status = oxi_llm_fact_number(c, key, OX_GGUF_U32, (double)entry.shape[1]);
    (void)snprintf(key, sizeof key, "dense_%d_feat_out", index + 2);
    if (status == OX_OK) status = oxi_llm_fact_number(c, key, OX_GGUF_U32, (double)entry.shape[0]);
    return status;
}

/* The product number `index`, from 0 on: GGUF counts from 2, as folders do. *width receives its rows. */
static ox_status oxi_llm_add_dense(const oxi_llm_config *c, const char *path, int index, int64_t *width) {
    oxi_json config;
    if (!oxi_llm_is_plain_name(path) || index >= OXI_LLM_DENSE_MOST)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                             "modules.json: at most %d products behind the pooling, each in a folder of this "
                             "one, are supported",
                             (int)OXI_LLM_DENSE_MOST);
    ox_status status = oxi_llm_module_config(c, path, &config);
    if (status == OX_OK && config.count == 0)
        return oxi_llm_refuse_module(c, path, "no activation_function is named");
    if (status == OX_OK) status = oxi_llm_dense_options(c, path, &config, index + 2);
    if (status == OX_OK) status = oxi_llm_dense_weights(c, path, &config, index, width);
    oxi_json_free(&config);
    return status;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

/* Modules in their order; what comes behind a row of length one would be no product of what is pooled. */
static ox_status oxi_llm_add_module_list(const oxi_llm_config *c, const oxi_json *modules) {
    bool pooled = false, ended = false;
    int dense = 0;
    int64_t width = 0, embedding = 0;
    ox_status status = oxi_llm_config_int(c, "$width", 1, INT32_MAX, -1, &width);
    embedding = width;
    for (uint32_t i = 1; status == OX_OK && i < modules->nodes[0].next; i = modules->nodes[i].next) {
        const oxi_llm_module m = oxi_llm_module_at(modules, i);
        const bool pooling = oxi_ends_with(m.type, ".Pooling"), product = oxi_ends_with(m.type, ".Dense");
        if (oxi_ends_with(m.type, ".Transformer") || oxi_ends_with(m.type, ".Dropout")) continue;
        if ((pooling && pooled) || (product && (!pooled || ended)) ||
            !(pooling || product || oxi_ends_with(m.type, ".Normalize")))
            return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                                 "modules.json: a module %s at its place is not supported",
                                 oxi_quote(m.type, strlen(m.type)).text);
        ended = ended || !(pooling || product);
        pooled = pooled || pooling;
        if (pooling) status = oxi_llm_add_pooling(c, m.path);
        if (product) status = oxi_llm_add_dense(c, m.path, dense++, &embedding);
    }
    if (status == OX_OK && embedding != width)
        status = oxi_llm_fact_number(c, "embedding_length_out", OX_GGUF_U32, (double)embedding);
    return status;
}

static ox_status oxi_llm_add_modules(const oxi_llm_config *c) {
    ox_string text;
    oxi_json modules;
    ox_status status = oxi_llm_folder_text(c->file, "modules.json", false, &text);
    if (status != OX_OK || !text.data) return status;
    status = oxi_json_parse("modules.json", text.data, (size_t)text.length, &modules);
    if (status != OX_OK) return status;
    if (modules.nodes[0].type == OXI_JSON_ARRAY) status = oxi_llm_add_module_list(c, &modules);
    oxi_json_free(&modules);
    return status;
}
