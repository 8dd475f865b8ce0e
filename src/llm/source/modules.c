/* What sentence-transformers and PyLate have behind a model, by modules.json: pooling, and products of the
 * pooled row or, without one, of each token's, each in a folder of its own. They become the facts and tensors
 * that GGUF has for them. Called by folder.c.
 * source    sentence_transformers Pooling, Dense and SentenceTransformer, pylate Dense: what they read is
 *           read as they do, or refused */

/* ---- values of JSON ------------------------------------------------------------------------------------ */

/* A member's text; "" = there is none, or it has a 0 inside. */
static const char *oxi_llm_module_text(const oxi_json *json, uint32_t object, const char *key) {
    const uint32_t at = oxi_json_find(json, object, key);
    const oxi_json_node *node = &json->nodes[at];
    const bool whole = at && node->type == OXI_JSON_STRING && strlen(node->value.text) == node->length;
    return whole ? node->value.text : "";
}

/* Whether Python takes a member for true; `otherwise` where it is missing. */
static bool oxi_llm_module_flag(const oxi_json *json, const char *key, bool otherwise) {
    const uint32_t at = oxi_json_find(json, 0, key);
    const oxi_json_node *node = &json->nodes[at];
    if (!at) return otherwise;
    if (node->type == OXI_JSON_BOOL || node->type == OXI_JSON_INT) return node->value.i != 0;
    if (node->type == OXI_JSON_FLOAT) return node->value.f != 0;
    return node->type != OXI_JSON_NULL && node->length > 0;
}

/* Whether a member is missing, null or this text. */
static bool oxi_llm_module_is(const oxi_json *json, const char *key, const char *text) {
    const uint32_t at = oxi_json_find(json, 0, key);
    return !at || json->nodes[at].type == OXI_JSON_NULL ||
           strcmp(oxi_llm_module_text(json, 0, key), text) == 0;
}

/* Whether a member is missing or this size. */
static bool oxi_llm_module_has(const oxi_json *json, const char *key, int64_t size) {
    const uint32_t at = oxi_json_find(json, 0, key);
    return !at || (json->nodes[at].type == OXI_JSON_INT && json->nodes[at].value.i == size);
}

/* ---- one module ---------------------------------------------------------------------------------------- */

/* Its class, and its folder: "" where that is no plain name, which may lie elsewhere. */
typedef struct oxi_llm_module {
    const char *type, *path;
    char folder[64];
} oxi_llm_module;

static oxi_llm_module oxi_llm_module_at(const oxi_json *modules, uint32_t i) {
    oxi_llm_module m = {oxi_llm_module_text(modules, i, "type"), oxi_llm_module_text(modules, i, "path"), ""};
    size_t length = strlen(m.path);
    while (length > 0 && m.path[length - 1] == '/') length--;
    if (length < sizeof m.folder && *m.path != '.' && strcspn(m.path, "/\\:") >= length)
        memcpy(m.folder, m.path, length);
    return m;
}

static ox_status oxi_llm_refuse_module(const oxi_llm_config *c, const oxi_llm_module *m, const char *why) {
    return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX, "%s/config.json: %s",
                         oxi_quote(m->folder, strlen(m->folder)).text, why);
}

/* The object of its config.json. */
static ox_status oxi_llm_module_config(const oxi_llm_config *c, const oxi_llm_module *m, oxi_json *out) {
    char name[128];
    ox_string text;
    memset(out, 0, sizeof *out);
    if (!*m->folder)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                             "modules.json: the path %s is not supported: a folder in this one is",
                             oxi_quote(m->path, strlen(m->path)).text);
    (void)snprintf(name, sizeof name, "%s/config.json", m->folder);
    ox_status status = oxi_llm_folder_text(c->file, name, false, &text);
    if (status == OX_OK && !text.data) return oxi_llm_refuse_module(c, m, "there is no such file");
    if (status == OX_OK) status = oxi_llm_folder_json(c->file, name, text, out);
    if (status == OX_OK && oxi_json_duplicate(out, 0, &status))
        return oxi_llm_refuse_module(c, m, "a key is there twice");
    return status;
}

/* ---- pooling ------------------------------------------------------------------------------------------- */

/* Whether a text is this name, but for capitals. */
static bool oxi_llm_names_mode(const oxi_json_node *node, const char *name) {
    if (node->type != OXI_JSON_STRING || node->length != strlen(name)) return false;
    for (size_t i = 0; name[i]; i++) {
        const char letter = node->value.text[i];
        if ((letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter) != name[i]) return false;
    }
    return true;
}

/* The number that GGUF has for a pooling; -1 = it has none. pooling_mode counts before flags, and without
 * both it is the mean; several lie side by side. */
static int oxi_llm_pooling_number(const oxi_json *config) {
    static const struct {
        const char *flag, *name;
        int number;
    } modes[] = {{"pooling_mode_mean_tokens", "mean", 1},
                 {"pooling_mode_cls_token", "cls", 2},
                 {"pooling_mode_lasttoken", "lasttoken", 3},
                 {"pooling_mode_max_tokens", "max", -1},
                 {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", -1},
                 {"pooling_mode_weightedmean_tokens", "weightedmean", -1},
                 {"pooling_mode_lmk", "lmk", -1}};
    const uint32_t at = oxi_json_find(config, 0, "pooling_mode");
    const oxi_json_node *mode = &config->nodes[at];
    const bool named = at && mode->type != OXI_JSON_NULL;
    int number = 1, found = 0;
    if (named && mode->type == OXI_JSON_ARRAY && mode->length == 1) mode++;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        const bool asked = named ? oxi_llm_names_mode(mode, modes[i].name)
                                 : oxi_llm_module_flag(config, modes[i].flag, false);
        if (asked) number = modes[i].number;
        found += asked;
    }
    return found == 1 || (found == 0 && !named) ? number : -1;
}

/* How hidden states become one row. */
static ox_status oxi_llm_add_pooling(const oxi_llm_config *c, const oxi_llm_module *m) {
    oxi_json config;
    ox_status status = oxi_llm_module_config(c, m, &config);
    const int number = status == OX_OK ? oxi_llm_pooling_number(&config) : 0;
    oxi_json_free(&config);
    if (number > 0) status = oxi_llm_fact_number(c, "pooling_type", OX_GGUF_U32, number);
    if (number >= 0) return status;
    return oxi_llm_refuse_module(c, m,
                                 "another pooling than one of mean, first and last token is not supported");
}

/* ---- products ------------------------------------------------------------------------------------------ */

/* What our activations are called, by torch's class; "" = none is needed; NULL = there is none of it. Only
 * torch's own are taken from a name. */
static const char *oxi_llm_dense_activation(const char *name) {
    static const char *const names[][2] = {{"Identity", ""},   {"Tanh", "tanh"},       {"ReLU", "relu"},
                                           {"GELU", "gelu"},   {"Sigmoid", "sigmoid"}, {"SiLU", "silu"},
                                           {"ReLU6", "relu6"}, {"Mish", "mish"}};
    const char *dot = strncmp(name, "torch.", 6) == 0 ? strrchr(name, '.') : "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (*dot && strcmp(dot + 1, names[i][0]) == 0) return names[i][1];
    return NULL;
}

/* Whether a product takes rows of this name and gives them: PyLate's are of tokens where nothing is said. */
static bool oxi_llm_dense_is_of(const oxi_llm_module *m, const oxi_json *config, const char *rows) {
    const bool tokens = strncmp(m->type, "pylate.", 7) == 0;
    const char *usual = tokens ? "token_embeddings" : "sentence_embedding";
    const bool named = *oxi_llm_module_text(config, 0, "module_input_name") != 0;
    return (named || strcmp(usual, rows) == 0) && oxi_llm_module_is(config, "module_input_name", rows) &&
           oxi_llm_module_is(config, "module_output_name", rows);
}

/* What is done beside the product itself. */
static ox_status oxi_llm_dense_options(const oxi_llm_config *c, const oxi_llm_module *m,
                                       const oxi_json *config, int number, bool pooled) {
    const char *act = oxi_llm_module_text(config, 0, "activation_function");
    const char *name = oxi_llm_dense_activation(act);
    char key[64];
    if (!oxi_llm_dense_is_of(m, config, pooled ? "sentence_embedding" : "token_embeddings"))
        return oxi_llm_refuse_module(c, m,
                                     "a product of or for anything but the pooled row or, without a pooling, "
                                     "each token's is not supported");
    if (!*act) return oxi_llm_refuse_module(c, m, "no activation_function is named");
    if (!name) return oxi_llm_refuse_module(c, m, "an activation_function that is not supported");
    if (!*name) return OX_OK;
    (void)snprintf(key, sizeof key, "dense_%d_activation", number);
    const ox_status status = oxi_llm_fact_text(c, key, name, strlen(name));
    if (status != OX_OK || !oxi_llm_module_flag(config, "use_residual", false)) return status;
    (void)snprintf(key, sizeof key, "dense_%d_residual", number);
    return oxi_llm_fact_number(c, key, OX_GGUF_BOOL, 1);
}

/* Opens its weights, which the folder keeps. */
static ox_status oxi_llm_dense_file(const oxi_llm_config *c, const oxi_llm_module *m, ox_file **out) {
    char name[96];
    size_t bytes = 0;
    (void)snprintf(name, sizeof name, "%s/model.safetensors", m->folder);
    char *whole = oxi_llm_folder_path(c->file, name, &bytes);
    if (!whole) return OX_ERR_NOMEM;
    const bool there = oxi_is_file(whole);
    *out = there ? ox_file_open(whole, c->file->device) : NULL;
    oxi_free(whole, bytes);
    if (there) return *out ? OX_OK : ox_error();
    return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX, "the weights of %s are no safetensors",
                         oxi_quote(m->folder, strlen(m->folder)).text);
}

/* The plan of one of its tensors; NULL = no memory. */
static oxi_llm_plan *oxi_llm_dense_plan(const oxi_llm_config *c, int index, const char *part, int64_t from) {
    char name[64];
    (void)snprintf(name, sizeof name, "dense_%d%s", index + 2, part);
    oxi_llm_plan *plan = oxi_llm_add_plan(c, name);
    if (!plan) return NULL;
    plan->module = (uint32_t)index + 1;
    plan->from = (uint32_t)from;
    return plan;
}

static ox_status oxi_llm_dense_missing(const oxi_llm_config *c, const oxi_llm_module *m, const char *tensor) {
    return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "%s: tensor %s is missing",
                         oxi_quote(m->folder, strlen(m->folder)).text, tensor);
}

/* Its tensors: a matrix of the sizes that config.json has, a bias where it has one, nothing else. With
 * use_residual what it takes is added to what it gives, times a matrix if that is longer or shorter: without
 * an activation between, both are one product with the sum of matrices. */
static ox_status oxi_llm_dense_tensors(const oxi_llm_config *c, const oxi_llm_module *m,
                                       const oxi_json *config, int index, ox_file_entry *weight) {
    const ox_file *file = c->folder->modules[index];
    const int64_t at = oxi_file_find(file, "linear.weight"), bias = oxi_file_find(file, "linear.bias");
    const bool biased = oxi_llm_module_flag(config, "bias", true),
               added = oxi_llm_module_flag(config, "use_residual", false);
    if (at < 0) return oxi_llm_dense_missing(c, m, "linear.weight");
    if (biased && bias < 0) return oxi_llm_dense_missing(c, m, "linear.bias");
    const ox_status status = ox_file_get_entry(file, at, weight);
    if (status != OX_OK) return status;
    if (weight->ndim != 2)
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "%s: linear.weight is no matrix",
                             oxi_quote(m->folder, strlen(m->folder)).text);
    const bool longer = added && weight->shape[0] != weight->shape[1];
    const int64_t by = longer ? oxi_file_find(file, "residual.weight") : at;
    if (by < 0) return oxi_llm_dense_missing(c, m, "residual.weight");
    if (ox_file_count(file) != 1 + biased + longer)
        return oxi_llm_refuse_module(c, m, "model.safetensors has more tensors than a product of this kind");
    if (!oxi_llm_module_has(config, "in_features", weight->shape[1]) ||
        !oxi_llm_module_has(config, "out_features", weight->shape[0]))
        return oxi_llm_refuse_module(c, m, "in_features or out_features are not those of linear.weight");
    const bool plain = !*oxi_llm_dense_activation(oxi_llm_module_text(config, 0, "activation_function"));
    oxi_llm_plan *plan = oxi_llm_dense_plan(c, index, ".weight", at);
    if (plan && added && plain) {
        plan->transform = OXI_LLM_TRANSFORM_ADDED;
        plan->by = (uint32_t)by;
    }
    if (plan && longer && !plain) plan = oxi_llm_dense_plan(c, index, "_residual.weight", by);
    if (plan && biased) plan = oxi_llm_dense_plan(c, index, ".bias", bias);
    return plan ? OX_OK : OX_ERR_NOMEM;
}

/* The sizes that GGUF repeats. */
static ox_status oxi_llm_dense_sizes(const oxi_llm_config *c, int number, const ox_file_entry *weight) {
    char key[64];
    (void)snprintf(key, sizeof key, "dense_%d_feat_in", number);
    const ox_status status = oxi_llm_fact_number(c, key, OX_GGUF_U32, (double)weight->shape[1]);
    (void)snprintf(key, sizeof key, "dense_%d_feat_out", number);
    return status ? status : oxi_llm_fact_number(c, key, OX_GGUF_U32, (double)weight->shape[0]);
}

/* The product number `index`, from 0 on: GGUF counts from 2. *width receives its rows. */
static ox_status oxi_llm_add_dense(const oxi_llm_config *c, const oxi_llm_module *m, int index, bool pooled,
                                   int64_t *width) {
    oxi_json config;
    ox_file_entry weight;
    if (index >= OXI_LLM_DENSE_MOST)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                             "modules.json: at most %d products behind a model are supported",
                             (int)OXI_LLM_DENSE_MOST);
    ox_status status = oxi_llm_module_config(c, m, &config);
    if (status == OX_OK) status = oxi_llm_dense_options(c, m, &config, index + 2, pooled);
    if (status == OX_OK) status = oxi_llm_dense_file(c, m, &c->folder->modules[index]);
    if (status == OX_OK) status = oxi_llm_dense_tensors(c, m, &config, index, &weight);
    oxi_json_free(&config);
    if (status != OX_OK) return status;
    *width = weight.shape[0];
    return oxi_llm_dense_sizes(c, index + 2, &weight);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

/* Modules in their order: the model, which lies in the folder itself, one pooling or none, products; GGUF has
 * none behind a row of length one, and no pooling behind products. */
static ox_status oxi_llm_add_module_list(const oxi_llm_config *c, const oxi_json *modules) {
    bool pooled = false, ended = false;
    int dense = 0;
    int64_t width = 0, embedding = 0;
    ox_status status = oxi_llm_config_int(c, "$width", 1, INT32_MAX, -1, &width);
    embedding = width;
    for (uint32_t i = 1; status == OX_OK && i < modules->nodes[0].next; i = modules->nodes[i].next) {
        const oxi_llm_module m = oxi_llm_module_at(modules, i);
        const bool model = oxi_ends_with(m.type, ".Transformer"), pooling = oxi_ends_with(m.type, ".Pooling"),
                   product = oxi_ends_with(m.type, ".Dense"), norm = oxi_ends_with(m.type, ".Normalize"),
                   known = model || pooling || product || norm || oxi_ends_with(m.type, ".Dropout");
        if (!known || model != (i == 1) || (pooling && (pooled || dense || ended)) || (product && ended))
            return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                                 "modules.json: a module %s at its place is not supported",
                                 oxi_quote(m.type, strlen(m.type)).text);
        if (model && *m.path)
            return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                                 "modules.json: a model in a folder of its own, %s, is not supported",
                                 oxi_quote(m.path, strlen(m.path)).text);
        if (oxi_json_duplicate(modules, i, &status))
            return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                                 "modules.json: a key of %s is there twice",
                                 oxi_quote(m.type, strlen(m.type)).text);
        ended = ended || norm;
        pooled = pooled || pooling;
        if (status == OX_OK && pooling) status = oxi_llm_add_pooling(c, &m);
        if (status == OX_OK && product) status = oxi_llm_add_dense(c, &m, dense++, pooled, &embedding);
    }
    if (status == OX_OK && dense && !pooled) status = oxi_llm_fact_number(c, "pooling_type", OX_GGUF_U32, 0);
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
    if (modules.nodes[0].type == OXI_JSON_ARRAY && modules.nodes[0].length > 0)
        status = oxi_llm_add_module_list(c, &modules);
    else
        status = oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "modules.json is no list of modules");
    oxi_json_free(&modules);
    return status;
}
