/* Facts of a folder: the rows of keys.def, worked out and added to the metadata of its ox_file; which layers
 * have a sliding window. Called by folder.c. */

/* ---- writing ------------------------------------------------------------------------------------------- */

static oxi_meta_item *oxi_llm_new_fact(const oxi_llm_config *c, const char *key) {
    const bool whole = strncmp(key, "general.", 8) == 0 || strncmp(key, "tokenizer.", 10) == 0 ||
                       strncmp(key, "xielu.", 6) == 0;
    const char *architecture = whole ? "" : c->folder->model->architecture, *dot = whole ? "" : ".";
    const size_t length = strlen(architecture) + strlen(dot) + strlen(key);
    char *name = (char *)oxi_file_take(c->file, length + 1);
    oxi_meta_item *meta = name ? oxi_file_add_meta(c->file) : NULL;
    if (!meta) return NULL;
    (void)snprintf(name, length + 1, "%s%s%s", architecture, dot, key);
    meta->key = name;
    meta->key_length = (uint32_t)length;
    return meta;
}

static ox_status oxi_llm_fact_number(const oxi_llm_config *c, const char *key, ox_gguf_type type,
                                     double value) {
    oxi_meta_item *meta = oxi_llm_new_fact(c, key);
    if (!meta) return OX_ERR_NOMEM;
    meta->type = (uint16_t)oxi_gguf_types[type].type;
    meta->stored = (uint16_t)type;
    if (type == OX_GGUF_F32)
        meta->value.f = value;
    else
        meta->value.i = type == OX_GGUF_BOOL ? value != 0 : (int64_t)value;
    return OX_OK;
}

static ox_status oxi_llm_fact_text(const oxi_llm_config *c, const char *key, const char *text,
                                   size_t length) {
    char *copy = (char *)oxi_file_take(c->file, length + 1);
    oxi_meta_item *meta = copy ? oxi_llm_new_fact(c, key) : NULL;
    if (!meta) return OX_ERR_NOMEM;
    memcpy(copy, text, length);
    copy[length] = 0;
    meta->type = OX_FILE_META_STRING;
    meta->data = copy;
    meta->value.i = (int64_t)length;
    return OX_OK;
}

static ox_status oxi_llm_fact_array(const oxi_llm_config *c, const char *key, ox_gguf_type type,
                                    const void *values, int64_t count) {
    const size_t bytes = (size_t)count * (size_t)oxi_gguf_types[type].bytes;
    unsigned char *copy = (unsigned char *)oxi_file_take(c->file, bytes + 1);
    oxi_meta_array *array = (oxi_meta_array *)oxi_file_take(c->file, sizeof *array);
    oxi_meta_item *meta = copy && array ? oxi_llm_new_fact(c, key) : NULL;
    if (!meta) return OX_ERR_NOMEM;
    if (oxi_big_endian_host())
        oxi_copy_swapped(copy, values, bytes, (size_t)oxi_gguf_types[type].bytes);
    else
        memcpy(copy, values, bytes);
    memset(array, 0, sizeof *array);
    array->data = copy;
    array->count = count;
    array->type = (int)type;
    meta->type = OX_FILE_META_ARRAY;
    meta->data = array;
    return OX_OK;
}

/* ---- the rows of keys.def ------------------------------------------------------------------------------ */

typedef enum oxi_llm_fact_kind {
    OXI_LLM_FACT_INT,
    OXI_LLM_FACT_SIGNED,
    OXI_LLM_FACT_FLOAT,
    OXI_LLM_FACT_BOOL,
    OXI_LLM_FACT_TEXT
} oxi_llm_fact_kind;
static const ox_gguf_type oxi_llm_fact_types[] = {OX_GGUF_U32, OX_GGUF_I32, OX_GGUF_F32, OX_GGUF_BOOL,
                                                  OX_GGUF_STRING};

typedef struct oxi_llm_key_row {
    const char *who, *key, *expression;
    oxi_llm_fact_kind kind;
} oxi_llm_key_row;
#define OXI_X(who, key, kind, expression) {who, key, expression, OXI_LLM_FACT_##kind},
static const oxi_llm_key_row oxi_llm_key_rows[] = {OXI_LLM_SOURCE_KEY_LIST(OXI_X)};
#undef OXI_X
enum { OXI_LLM_KEY_ROWS = (int)(sizeof oxi_llm_key_rows / sizeof oxi_llm_key_rows[0]) };

/* The first alternative that is a name with something behind it. */
static const oxi_json_node *oxi_llm_first_node(const oxi_llm_config *c, const char *expression) {
    while (*expression) {
        const size_t length = strcspn(expression, "|");
        const oxi_json_node *node =
            strcspn(expression, "+-*/~$^@") >= length ? oxi_llm_config_node(c, expression, length) : NULL;
        if (node) return node;
        expression += length + (expression[length] == '|');
    }
    return NULL;
}

static ox_status oxi_llm_fact_bad(const oxi_llm_config *c, const oxi_llm_key_row *row, const char *why) {
    return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "config.json: %s (for %s) %s", row->expression,
                         row->key, why);
}

/* Whether a row is a token's id and this one none that the vocabulary has, as gguf-py's SpecialVocab leaves
 * it out: -1, or what configurations of a larger model say. */
static bool oxi_llm_is_no_token(const oxi_llm_config *c, const oxi_llm_key_row *row, double value) {
    const char *behind = strstr(row->key, "_token_id");
    double count = 0;
    ox_status status;
    if (!behind || strncmp(row->key, "tokenizer.", 10) != 0) return false;
    return value < 0 || (oxi_llm_config_number(c, "vocab_size", &count, &status) && value >= count);
}

/* A list of integers or bools: an array, or its first element. */
static ox_status oxi_llm_fact_list(const oxi_llm_config *c, const oxi_llm_key_row *row,
                                   const oxi_json_node *node) {
    const int64_t count = node->length;
    if (count > 1 << 16) return oxi_llm_fact_bad(c, row, "is a list of more than 65536 numbers");
    int32_t *values = (int32_t *)oxi_calloc((size_t)count + 1, sizeof *values); /* a 0 behind them */
    bool same = count > 0;
    ox_status status = values ? OX_OK : OX_ERR_NOMEM;
    for (int64_t i = 0; i < count && status == OX_OK; i++) {
        const oxi_json_node *element = node + 1 + i;
        if ((element->type != OXI_JSON_INT && element->type != OXI_JSON_BOOL) ||
            element->value.i < INT32_MIN || element->value.i > INT32_MAX)
            status = oxi_llm_fact_bad(c, row, "is a list of something other than integers of 32 bits");
        else
            values[i] = (int32_t)element->value.i;
        same = same && values[i] == values[0];
    }
    if (status == OX_OK && strncmp(row->key, "tokenizer.", 10) == 0) {
        if (count > 0 && !oxi_llm_is_no_token(c, row, values[0]))
            status = oxi_llm_fact_number(c, row->key, oxi_llm_fact_types[row->kind], values[0]);
    } else if (status == OX_OK && same && strcmp(row->key, "expert_used_count") == 0) {
        status = oxi_llm_fact_number(c, row->key, oxi_llm_fact_types[row->kind], values[0]);
    } else if (status == OX_OK) {
        const bool sections = count == 3 && strcmp(row->key, "rope.dimension_sections") == 0; /* of four */
        status = oxi_llm_fact_array(c, row->key, OX_GGUF_I32, values, count + sections);
    }
    oxi_free(values, ((size_t)count + 1) * sizeof *values);
    return status;
}

static ox_status oxi_llm_add_fact(const oxi_llm_config *c, const oxi_llm_key_row *row) {
    const oxi_llm_config with = oxi_llm_with_defaults(c);
    const oxi_json_node *node = oxi_llm_first_node(c, row->expression);
    const bool whole = row->kind == OXI_LLM_FACT_INT || row->kind == OXI_LLM_FACT_SIGNED;
    double value = 0;
    ox_status status;
    if (row->kind == OXI_LLM_FACT_TEXT) {
        if (row->expression[0] == '\'')
            return oxi_llm_fact_text(c, row->key, row->expression + 1, strlen(row->expression + 1));
        if (!node) node = oxi_llm_first_node(&with, row->expression);
        if (!node || node->type != OXI_JSON_STRING) return OX_OK;
        return oxi_llm_fact_text(c, row->key, node->value.text, node->length);
    }
    if (node && node->type == OXI_JSON_ARRAY && whole) return oxi_llm_fact_list(c, row, node);
    if (!oxi_llm_config_number(c, row->expression, &value, &status)) return status;
    if (whole && oxi_llm_is_no_token(c, row, value)) return OX_OK;
    if (value == 0 && strcmp(row->key, "logit_scale") == 0) return OX_OK; /* T5's, where nothing is tied */
    const double low = row->kind == OXI_LLM_FACT_SIGNED ? -2147483648.0 : 0,
                 high = row->kind == OXI_LLM_FACT_SIGNED ? 2147483647.0 : 4294967295.0;
    if (whole && !(value > low - 1 && value < high + 1))
        return oxi_llm_fact_bad(c, row, "is no integer of 32 bits");
    return oxi_llm_fact_number(c, row->key, oxi_llm_fact_types[row->kind], value);
}

/* ---- sliding windows ----------------------------------------------------------------------------------- */

/* Which layers have the window, as config.json tells it: 1 = it has. */
static ox_status oxi_llm_told_windows(const oxi_llm_config *c, uint8_t *sliding) {
    const int64_t layers = c->folder->layers;
    const oxi_json_node *types = oxi_llm_config_node(c, "layer_types", 11);
    const bool all = oxi_llm_row_holds(c, "minimax-01"); /* that attend */
    int64_t period = 0, first_full = -1;
    if (oxi_llm_row_holds(c, "deepseek4")) { /* whatever their types say of what is beyond it */
        memset(sliding, 1, (size_t)layers);
        return OX_OK;
    }
    if (types && types->type == OXI_JSON_ARRAY && types->length >= layers) {
        const oxi_json_node *type = types + 1;
        for (int64_t i = 0; i < layers; i++, type++) {
            if (type->type != OXI_JSON_STRING)
                return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                                     "config.json: layer_types holds something other than texts");
            sliding[i] = strcmp(type->value.text, "sliding_attention") == 0 ||
                         strcmp(type->value.text, "chunked_attention") == 0 ||
                         (all && strcmp(type->value.text, "full_attention") == 0);
        }
        return OX_OK;
    }
    if (all) { /* every second one does */
        for (int64_t i = 0; i < layers; i += 2) sliding[i] = 1;
        return OX_OK;
    }
    types = oxi_llm_config_node(c, "attention_chunk_size", 20) ? oxi_llm_config_node(c, "no_rope_layers", 14)
                                                               : NULL;
    if (types && types->type == OXI_JSON_ARRAY && types->length >= layers) { /* 1: it has rope, in chunks */
        for (int64_t i = 0; i < layers; i++)
            sliding[i] = types[1 + i].type == OXI_JSON_INT && types[1 + i].value.i != 0;
        return OX_OK;
    }
    types = oxi_llm_config_node(c, "attention_layers", 16); /* GPT-Neo's: "global", "local" */
    if (types && types->type == OXI_JSON_ARRAY && types->length >= layers) {
        const oxi_json_node *type = types + 1;
        for (int64_t i = 0; i < layers; i++, type++)
            sliding[i] = type->type == OXI_JSON_STRING && strcmp(type->value.text, "local") == 0;
        return OX_OK;
    }
    const char *letters = oxi_llm_config_text(c, "sliding_window_pattern"); /* "LLLG": local and global */
    if (letters && *letters) {
        for (int64_t i = 0; i < layers; i++) sliding[i] = letters[i % (int64_t)strlen(letters)] == 'L';
        return OX_OK;
    }
    ox_status status = oxi_llm_config_int(
        c, "sliding_window_pattern|_sliding_window_pattern|global_attn_every_n_layers", 0, 1 << 20,
        c->folder->model->period < 0 ? -c->folder->model->period : c->folder->model->period, &period);
    const bool dots = oxi_llm_row_holds(c, "dots1"); /* from a layer on, as Qwen's */
    if (status == OX_OK && (dots || oxi_llm_config_node(c, "use_sliding_window", 18)))
        status = oxi_llm_config_int(c,
                                    oxi_llm_row_holds(c, "qwen3moe") ? "0" /* all layers have it */
                                    : dots                           ? "max_window_layers|62"
                                                                     : "max_window_layers|28",
                                    0, INT32_MAX, -1, &first_full);
    for (int64_t i = 0; i < layers && status == OX_OK; i++) {
        const bool full = period == 0                    ? i < first_full
                          : c->folder->model->period < 0 ? i % period == 0
                                                         : (i + 1) % period == 0;
        sliding[i] = !full;
    }
    return status;
}

/* The same with what is so whatever is told: Gemma 4's last layer sees all of the text. */
static ox_status oxi_llm_window_pattern(const oxi_llm_config *c, uint8_t *sliding) {
    const ox_status status = oxi_llm_told_windows(c, sliding);
    if (oxi_llm_row_holds(c, "gemma4")) sliding[c->folder->layers - 1] = 0;
    return status;
}

/* Whether it must be said that layers with windows alone are turned: in some families it shows where there
 * are any, and Exaone's turn all of them where there is no window at all. */
static bool oxi_llm_only_sliding_turn(const oxi_llm_config *c, bool windowed, bool any) {
    if (oxi_llm_row_holds(c, "afmoe")) return windowed;
    return !any && oxi_llm_row_holds(c, windowed ? "cohere2 exaone4 exaone-moe" : "cohere2");
}

/* Which layers of Cohere 2 with experts are turned: those with a window, and those without experts. */
static ox_status oxi_llm_add_dense_turns(const oxi_llm_config *c, uint8_t *turned) {
    const oxi_json_node *kinds = oxi_llm_config_node(c, "mlp_layer_types", 15);
    const int64_t layers = c->folder->layers;
    if (!kinds || kinds->type != OXI_JSON_ARRAY || kinds->length < layers) return OX_OK;
    for (int64_t i = 0; i < layers; i++)
        if (kinds[1 + i].type == OXI_JSON_STRING && strcmp(kinds[1 + i].value.text, "dense") == 0)
            turned[i] = 1;
    return oxi_llm_fact_array(c, "attention.rope_pattern", OX_GGUF_BOOL, turned, layers);
}

static ox_status oxi_llm_add_window(const oxi_llm_config *c) {
    int64_t window = 0, use = 1;
    ox_status status = oxi_llm_config_int(c, "use_sliding_window", 0, 1, 1, &use);
    if (status == OX_OK) status = oxi_llm_config_int(c, "$window", -1, INT32_MAX, 0, &window);
    if (status != OX_OK) return status;
    const bool windowed = use && window > 0, two = oxi_llm_row_holds(c, "phi3"); /* Phi 3 and 4, told by it */
    uint8_t *sliding = (uint8_t *)oxi_calloc((size_t)c->folder->layers, 1);
    if (!sliding) return OX_ERR_NOMEM;
    if (windowed) status = oxi_llm_window_pattern(c, sliding);
    const bool any = memchr(sliding, 1, (size_t)c->folder->layers) != NULL;
    if (status == OX_OK && (any || (two && !windowed)))
        status = oxi_llm_fact_number(c, "attention.sliding_window", OX_GGUF_U32, any ? (double)window : 0);
    if (status == OX_OK && any)
        status = oxi_llm_fact_array(c, "attention.sliding_window_pattern", OX_GGUF_BOOL, sliding,
                                    c->folder->layers);
    if (status == OX_OK && oxi_llm_only_sliding_turn(c, windowed, any))
        status = oxi_llm_fact_array(c, "attention.rope_pattern", OX_GGUF_BOOL, sliding, c->folder->layers);
    if (status == OX_OK && oxi_llm_row_holds(c, "cohere2moe")) status = oxi_llm_add_dense_turns(c, sliding);
    oxi_free(sliding, (size_t)c->folder->layers);
    return status;
}

/* ---- layers without attention -------------------------------------------------------------------------- */

/* Key-value heads and widths of Gemma 4's layers: those that see everything may have heads of their own,
 * those without keys of their own wider feed-forwards. */
static ox_status oxi_llm_add_widths(const oxi_llm_config *c) {
    const int64_t layers = c->folder->layers, most = 1 << 24;
    int64_t wide = 0, same = 0, global = 0, shared = 0, hidden = 0;
    if (!oxi_llm_row_holds(c, "gemma4")) return OX_OK;
    ox_status status = oxi_llm_config_int(c, "intermediate_size", 1, most, -1, &hidden);
    if (status == OX_OK) status = oxi_llm_config_int(c, "use_double_wide_mlp", 0, 1, 0, &wide);
    if (status == OX_OK) status = oxi_llm_config_int(c, "attention_k_eq_v", 0, 1, 0, &same);
    if (status == OX_OK) status = oxi_llm_config_int(c, "num_kv_shared_layers", 0, layers, 0, &shared);
    if (status == OX_OK)
        status = oxi_llm_config_int(c, "num_global_key_value_heads", 1, most, c->folder->kv_heads, &global);
    int32_t *heads = (int32_t *)oxi_calloc((size_t)layers, 2 * sizeof *heads);
    uint8_t *sliding = (uint8_t *)oxi_calloc((size_t)layers, 1);
    if (status == OX_OK) status = heads && sliding ? oxi_llm_window_pattern(c, sliding) : OX_ERR_NOMEM;
    for (int64_t i = 0; status == OX_OK && i < layers; i++) {
        heads[i] = (int32_t)(same && !sliding[i] ? global : c->folder->kv_heads);
        heads[layers + i] = (int32_t)(wide && shared < layers && i >= layers - shared ? 2 * hidden : hidden);
    }
    if (status == OX_OK)
        status = oxi_llm_fact_array(c, "attention.head_count_kv", OX_GGUF_I32, heads, layers);
    if (status == OX_OK)
        status = oxi_llm_fact_array(c, "feed_forward_length", OX_GGUF_I32, heads + layers, layers);
    oxi_free(heads, (size_t)layers * 2 * sizeof *heads);
    oxi_free(sliding, (size_t)layers);
    return status;
}

/* The number that a share `p` of a normal distribution lies below: where its integral is p, by halving. */
static double oxi_llm_normal_quantile(double p) {
    double low = -40, high = 40;
    for (int i = 0; i < 80; i++) {
        const double middle = (low + high) / 2;
        *(0.5 * erfc(-middle * sqrt(0.5)) < p ? &low : &high) = middle;
    }
    return low;
}

/* The cutoffs of Gemma 3n's gates, of the shares that they leave out: a list, or one for all layers. */
static ox_status oxi_llm_add_cutoffs(const oxi_llm_config *c) {
    const int64_t layers = c->folder->layers;
    const oxi_json_node *shares = oxi_llm_config_node(c, "activation_sparsity_pattern", 27);
    if (!oxi_llm_row_holds(c, "gemma3n")) return OX_OK;
    const bool list = shares && shares->type == OXI_JSON_ARRAY;
    float *cutoffs = (float *)oxi_calloc((size_t)layers, sizeof *cutoffs);
    ox_status status = cutoffs ? OX_OK : OX_ERR_NOMEM;
    for (int64_t i = 0; status == OX_OK && i < layers; i++) {
        const oxi_json_node *share = list ? shares + 1 + i : shares;
        if (!share) { /* transformers' own: ten of more layers */
            cutoffs[i] = layers > 10 && i < 10 ? (float)oxi_llm_normal_quantile(0.95) : -INFINITY;
            continue;
        }
        const double number = share->type == OXI_JSON_FLOAT ? share->value.f : (double)share->value.i;
        if ((list && i >= shares->length) || (share->type != OXI_JSON_FLOAT && share->type != OXI_JSON_INT) ||
            !(number >= 0 && number < 1))
            status = oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                                   "config.json: activation_sparsity_pattern has no share for layer %lld",
                                   (long long)i);
        else
            cutoffs[i] = number > 0 ? (float)oxi_llm_normal_quantile(number) : -INFINITY;
    }
    if (status == OX_OK)
        status = oxi_llm_fact_array(c, "activation_sparsity_scale", OX_GGUF_F32, cutoffs, layers);
    oxi_free(cutoffs, (size_t)layers * sizeof *cutoffs);
    return status;
}

/* One number that a layer stores; `otherwise` where it does not, NAN = it must. */
static ox_status oxi_llm_stored_number(const oxi_llm_config *c, int64_t layer, const char *end,
                                       double otherwise, float *out) {
    char name[128];
    (void)snprintf(name, sizeof name, "model.layers.%lld.%s", (long long)layer, end);
    const int64_t at = oxi_file_find(c->folder->weights, name);
    *out = (float)otherwise;
    if (at < 0 && !isnan(otherwise)) return OX_OK;
    if (at < 0) return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "tensor %s is missing", name);
    ox_scope scope = ox_scope_begin();
    ox_tensor *t = ox_file_tensor_at(c->folder->weights, at);
    ox_status status = t ? OX_OK : ox_error();
    if (t && (ox_numel(t) != 1 || oxi_info(t->dtype)->cls != OX_CLASS_FLOAT))
        status = oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "tensor %s is not one number", name);
    if (status == OX_OK) status = ox_to_floats(t, out, 1);
    ox_scope_end(&scope);
    return status;
}

/* The numbers of Apertus' activations, which lie among the weights. */
static ox_status oxi_llm_add_bends(const oxi_llm_config *c) {
    static const struct {
        const char *key, *name;
        double otherwise;
    } rows[] = {{"xielu.alpha_p", "mlp.act_fn.alpha_p", NAN},
                {"xielu.alpha_n", "mlp.act_fn.alpha_n", NAN},
                {"xielu.beta", "mlp.act_fn.beta", 0.5},
                {"xielu.eps", "mlp.act_fn.eps", -1e-6}};
    const int64_t layers = c->folder->layers;
    if (!oxi_llm_row_holds(c, "apertus")) return OX_OK;
    float *numbers = (float *)oxi_calloc((size_t)layers, sizeof *numbers);
    ox_status status = numbers ? OX_OK : OX_ERR_NOMEM;
    for (size_t k = 0; k < sizeof rows / sizeof *rows && status == OX_OK; k++) {
        for (int64_t i = 0; i < layers && status == OX_OK; i++)
            status = oxi_llm_stored_number(c, i, rows[k].name, rows[k].otherwise, &numbers[i]);
        if (status == OX_OK) status = oxi_llm_fact_array(c, rows[k].key, OX_GGUF_F32, numbers, layers);
    }
    oxi_free(numbers, (size_t)layers * sizeof *numbers);
    return status;
}

/* Whether layer `i` has attention, by types of layers, over and over, or by a list of those that have. */
static bool oxi_llm_layer_attends(const oxi_json_node *types, const oxi_json_node *which, int64_t i) {
    bool found = false;
    if (types) types += 1 + i % types->length;
    if (types)
        return types->type == OXI_JSON_STRING && strstr(types->value.text, "attention") &&
               !strstr(types->value.text, "linear");
    for (int64_t k = 0; which && k < which->length; k++)
        found = found || (which[1 + k].type == OXI_JSON_INT && which[1 + k].value.i == i);
    return found;
}

/* Key-value heads of each layer: those of no attention have none. For models that have no such number for all
 * of them. */
static ox_status oxi_llm_add_kv_heads(const oxi_llm_config *c) {
    const int64_t layers = c->folder->layers;
    const oxi_json_node *types = oxi_llm_config_node(c, "layer_types", 11),
                        *which = oxi_llm_config_node(c, "full_attn_idxs", 14);
    int64_t period = 0, offset = 0;
    if (!which) which = oxi_llm_config_node(c, "attn_layer_indices", 18);
    ox_status status = oxi_llm_config_int(c, "attn_layer_period", 0, 1 << 16, 0, &period); /* Jamba's */
    if (status == OX_OK) status = oxi_llm_config_int(c, "attn_layer_offset", 0, 1 << 16, 0, &offset);
    if (status != OX_OK) return status;
    char key[96];
    (void)snprintf(key, sizeof key, "%s.attention.head_count_kv", c->folder->model->architecture);
    if (types && (types->type != OXI_JSON_ARRAY || types->length < layers)) types = NULL;
    if (!types) types = oxi_llm_config_node(c, "block_types", 11); /* Griffin's */
    if (types && (types->type != OXI_JSON_ARRAY || types->length == 0)) types = NULL;
    if (which && which->type != OXI_JSON_ARRAY) which = NULL;
    for (size_t i = 0; i < c->file->meta_count; i++)
        if (strcmp(c->file->metas[i].key, key) == 0) return OX_OK;
    int32_t *heads = (int32_t *)oxi_calloc((size_t)layers, sizeof *heads);
    if (!heads) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < layers; i++)
        heads[i] = (period > 0 ? i % period == offset : oxi_llm_layer_attends(types, which, i))
                       ? (int32_t)c->folder->kv_heads
                       : 0;
    status = oxi_llm_fact_array(c, "attention.head_count_kv", OX_GGUF_I32, heads, layers);
    oxi_free(heads, (size_t)layers * sizeof *heads);
    return status;
}

/* How many positions leave one key in layer `i` of DeepSeek 4 (0: none do) and whether such blocks overlap:
 * by a number of older files, a type, or, where neither is told, two of many positions, then few and many in
 * turn. */
static ox_status oxi_llm_layer_ratio(const oxi_llm_config *c, const oxi_json_node *told, int64_t i,
                                     int64_t *ratio, bool *overlaps) {
    const bool few = i >= 2 && i % 2;
    const char *type = few ? "compressed_sparse_attention" : "heavily_compressed_attention";
    if (told) type = told->type == OXI_JSON_STRING ? told->value.text : "";
    *ratio = told && told->type == OXI_JSON_INT && told->value.i <= 65536 ? told->value.i : -1;
    *overlaps = *ratio == 4 || strcmp(type, "compressed_sparse_attention") == 0;
    ox_status status = OX_OK;
    if (*overlaps && *ratio < 0)
        status = oxi_llm_config_int(c, "compress_rates.compressed_sparse_attention|compress_rate_csa", 1,
                                    65536, 4, ratio);
    if (strcmp(type, "heavily_compressed_attention") == 0)
        status = oxi_llm_config_int(c, "compress_rates.heavily_compressed_attention|compress_rate_hca", 1,
                                    65536, 128, ratio);
    if (strcmp(type, "sliding_attention") == 0) *ratio = 0;
    if (status != OX_OK || *ratio >= 0) return status;
    return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                         "config.json: the type of layer %lld says nothing of its attention", (long long)i);
}

static ox_status oxi_llm_add_ratios(const oxi_llm_config *c) {
    const int64_t layers = c->folder->layers;
    const oxi_json_node *types = oxi_llm_config_node(c, "layer_types", 11);
    bool usual = true; /* blocks of 4 overlap, and these alone */
    if (!oxi_llm_row_holds(c, "deepseek4")) return OX_OK;
    if (!types) types = oxi_llm_config_node(c, "compress_ratios", 15);
    if (types && (types->type != OXI_JSON_ARRAY || types->length < layers)) types = NULL;
    int32_t *ratios = (int32_t *)oxi_calloc((size_t)layers, 2 * sizeof *ratios);
    ox_status status = ratios ? OX_OK : OX_ERR_NOMEM;
    for (int64_t i = 0; i < layers && status == OX_OK; i++) {
        int64_t ratio = 0;
        bool overlaps = false;
        status = oxi_llm_layer_ratio(c, types ? types + 1 + i : NULL, i, &ratio, &overlaps);
        ratios[i] = (int32_t)ratio;
        ratios[layers + i] = overlaps;
        usual = usual && overlaps == (ratio == 4);
    }
    if (status == OX_OK)
        status = oxi_llm_fact_array(c, "attention.compress_ratios", OX_GGUF_I32, ratios, layers);
    if (status == OX_OK && !usual)
        status =
            oxi_llm_fact_array(c, "attention.compress_overlaps", OX_GGUF_I32, ratios + layers, layers);
    oxi_free(ratios, (size_t)layers * 2 * sizeof *ratios);
    return status;
}

/* What Nemotron H says of its layers; NULL = nothing. */
static const oxi_json_node *oxi_llm_layer_kinds(const oxi_llm_config *c) {
    const oxi_json_node *kinds = oxi_llm_config_node(c, "layers_block_type", 17);
    return kinds ? kinds : oxi_llm_config_node(c, "hybrid_override_pattern", 23);
}

/* What layer `i` is: M(amba), * attention, - dense or E(xperts), of a list of words, or a text of these
 * letters. 0 = it does not say. */
static char oxi_llm_layer_letter(const oxi_json_node *kinds, int64_t i) {
    static const char *const words[] = {"mamba", "attention", "mlp", "moe"};
    if (!kinds || i >= kinds->length) return 0;
    if (kinds->type == OXI_JSON_STRING) return kinds->value.text[i];
    if (kinds->type != OXI_JSON_ARRAY) return 0;
    for (int w = 0; w < 4 && kinds[1 + i].type == OXI_JSON_STRING; w++)
        if (strcmp(kinds[1 + i].value.text, words[w]) == 0) return "M*-E"[w];
    return 0;
}

/* Layers that are one thing each: key-value heads and feed-forward lengths say which. */
static ox_status oxi_llm_add_single(const oxi_llm_config *c) {
    const oxi_json_node *kinds = oxi_llm_layer_kinds(c);
    const int64_t layers = c->folder->layers, most = 1 << 20;
    int64_t dense = 0, expert = 0;
    if (!oxi_llm_row_holds(c, "nemotron_h nemotron_h_moe")) return OX_OK;
    ox_status status = oxi_llm_config_int(c, "intermediate_size", 0, most, 0, &dense);
    if (status == OX_OK) status = oxi_llm_config_int(c, "moe_intermediate_size", 0, most, 0, &expert);
    int32_t *heads = (int32_t *)oxi_calloc((size_t)layers, 2 * sizeof *heads);
    if (!heads) return OX_ERR_NOMEM;
    int32_t *hidden = heads + layers;
    for (int64_t i = 0; i < layers && status == OX_OK; i++) {
        const char letter = oxi_llm_layer_letter(kinds, i);
        if (!letter || !strchr("M*-E", letter))
            status =
                oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                              "config.json: layers_block_type does not say what layer %lld is", (long long)i);
        heads[i] = letter == '*' ? (int32_t)c->folder->kv_heads : 0;
        hidden[i] = (int32_t)(letter == '-' ? dense : letter == 'E' ? expert : 0);
    }
    if (status == OX_OK)
        status = oxi_llm_fact_array(c, "attention.head_count_kv", OX_GGUF_I32, heads, layers);
    if (status == OX_OK) status = oxi_llm_fact_array(c, "feed_forward_length", OX_GGUF_I32, hidden, layers);
    oxi_free(heads, (size_t)layers * 2 * sizeof *heads);
    return status;
}

/* Which layers have a delta net, where config.json lists them; MiniMax's have a rule. */
static ox_status oxi_llm_add_recurrent(const oxi_llm_config *c) {
    const oxi_json_node *types = oxi_llm_config_node(c, "layer_types", 11);
    const int64_t layers = c->folder->layers;
    if (!oxi_llm_row_holds(c, "qwen3next qwen35 qwen35moe minimax-01 olmo_hybrid")) return OX_OK;
    const bool listed = types && types->type == OXI_JSON_ARRAY && types->length >= layers;
    if (!listed && !oxi_llm_row_holds(c, "minimax-01")) return OX_OK;
    uint8_t *recurrent = (uint8_t *)oxi_calloc((size_t)layers, 1);
    if (!recurrent) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < layers; i++)
        recurrent[i] =
            !listed ? i % 2 == 1 /* MiniMax: every second one */
                    : types[1 + i].type == OXI_JSON_STRING && strstr(types[1 + i].value.text, "linear");
    const ox_status status =
        oxi_llm_fact_array(c, "attention.recurrent_layers", OX_GGUF_BOOL, recurrent, layers);
    oxi_free(recurrent, (size_t)layers);
    return status;
}

static ox_status oxi_llm_add_facts(const oxi_llm_config *c) {
    const char *architecture = c->folder->model->architecture;
    ox_status status = oxi_llm_fact_text(c, "general.architecture", architecture, strlen(architecture));
    if (status == OX_OK) status = oxi_llm_fact_text(c, "general.type", "model", 5);
    for (int i = 0; i < OXI_LLM_KEY_ROWS && status == OX_OK; i++) {
        const oxi_llm_key_row *row = &oxi_llm_key_rows[i];
        bool first = oxi_llm_row_holds(c, row->who);
        for (int before = 0; before < i && first; before++)
            first = strcmp(oxi_llm_key_rows[before].key, row->key) != 0 ||
                    !oxi_llm_row_holds(c, oxi_llm_key_rows[before].who);
        if (first && row->expression[0]) status = oxi_llm_add_fact(c, row);
    }
    if (status == OX_OK) status = oxi_llm_add_single(c);
    if (status == OX_OK) status = oxi_llm_add_widths(c);
    if (status == OX_OK) status = oxi_llm_add_cutoffs(c);
    if (status == OX_OK) status = oxi_llm_add_bends(c);
    if (status == OX_OK) status = oxi_llm_add_kv_heads(c);
    if (status == OX_OK) status = oxi_llm_add_recurrent(c);
    if (status == OX_OK) status = oxi_llm_add_ratios(c);
    return status == OX_OK ? oxi_llm_add_window(c) : status;
}
