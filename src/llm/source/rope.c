/* Scaling of the rope: kinds that change frequencies one by one become tensors of factors, as GGUF has them;
 * the others are facts. And embeddings of positions that are sines, which folders do not store.
 * Called by folder.c. */

enum { OXI_LLM_ROPE_MOST = 1 << 16 }; /* elements of a head that are rotated */

static ox_status oxi_llm_rope_plan(const oxi_llm_config *c, const char *name, const float *values,
                                   int64_t count) {
    float *copy = (float *)oxi_file_take(c->file, (size_t)count * sizeof *copy);
    oxi_llm_plan *plan = copy ? oxi_llm_add_plan(c, name) : NULL;
    if (!plan) return OX_ERR_NOMEM;
    memcpy(copy, values, (size_t)count * sizeof *copy);
    plan->transform = OXI_LLM_TRANSFORM_VALUES;
    plan->values = copy;
    plan->count = (uint32_t)count;
    return OX_OK;
}

/* A number of the scaling; `otherwise` where it is missing, NAN = it may not be. */
static ox_status oxi_llm_rope_number(const oxi_llm_config *c, const char *expression, double otherwise,
                                     double *out) {
    ox_status status;
    if (oxi_llm_config_number(c, expression, out, &status) || status != OX_OK) return status;
    *out = otherwise;
    if (!isnan(otherwise)) return OX_OK;
    return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "config.json: rope scaling: %s is missing",
                         expression);
}

/* Frequencies are divided by these: by `factor` where a turn takes longer than the old context has positions
 * (over low_freq_factor), by 1 where it takes much shorter, by something between else.
 * source transformers modeling_rope_utils.py, llama3 */
static ox_status oxi_llm_rope_llama3(const oxi_llm_config *c, int64_t size) {
    double factor, low, high, context, base;
    float *factors = (float *)oxi_calloc((size_t)size / 2, sizeof *factors);
    ox_status status = factors ? oxi_llm_rope_number(c, "rope.factor", NAN, &factor) : OX_ERR_NOMEM;
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.low_freq_factor", NAN, &low);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.high_freq_factor", NAN, &high);
    if (status == OX_OK)
        status = oxi_llm_rope_number(c, "rope.original_max_position_embeddings|max_position_embeddings", NAN,
                                     &context);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.rope_theta|10000", NAN, &base);
    for (int64_t i = 0; i < size / 2 && status == OX_OK; i++) {
        const double turn = 2 * 3.14159265358979323846 * pow(base, 2 * (double)i / (double)size);
        const double share = (context / turn - low) / (high - low);
        factors[i] = turn < context / high  ? 1.0f
                     : turn > context / low ? (float)factor
                                            : (float)(1 / ((1 - share) / factor + share));
    }
    if (status == OX_OK) status = oxi_llm_rope_plan(c, "rope_freqs.weight", factors, size / 2);
    oxi_free(factors, (size_t)size / 2 * sizeof *factors);
    return status;
}

/* Frequencies over the whole head, of which the last are 0: a factor that leaves nothing of a turn.
 * source transformers modeling_rope_utils.py, proportional */
static ox_status oxi_llm_rope_proportional(const oxi_llm_config *c) {
    double factor = 1, share = 1;
    int64_t size = 0;
    ox_status status = oxi_llm_config_int(c, "global_head_dim|$head", 2, OXI_LLM_ROPE_MOST, -1, &size);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.factor", 1, &factor);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.partial_rotary_factor", 0.25, &share);
    if (status == OX_OK && (size % 2 || !(factor > 0 && factor < 1e9) || !(share >= 0 && share <= 1)))
        status = oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                               "config.json: rope factor %g over %g of %lld elements of a head", factor,
                               share, (long long)size);
    if (status != OX_OK) return status;
    const int64_t pairs = (int64_t)(share * (double)size) / 2;
    float *factors = (float *)oxi_calloc((size_t)size / 2, sizeof *factors);
    for (int64_t i = 0; factors && i < size / 2; i++) factors[i] = i < pairs ? (float)factor : 1e30f;
    status = factors ? oxi_llm_rope_plan(c, "rope_freqs.weight", factors, size / 2) : OX_ERR_NOMEM;
    oxi_free(factors, (size_t)size / 2 * sizeof *factors);
    return status;
}

static ox_status oxi_llm_rope_list(const oxi_llm_config *c, const char *name, const char *tensor,
                                   int64_t count) {
    const oxi_json_node *node = oxi_llm_config_node(c, name, strlen(name));
    if (!node || node->type != OXI_JSON_ARRAY || node->length != count)
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                             "config.json: %s is no list of %lld numbers (half of the elements that rope "
                             "turns)",
                             name, (long long)count);
    float *values = (float *)oxi_calloc((size_t)count, sizeof *values);
    ox_status status = values ? OX_OK : OX_ERR_NOMEM;
    for (int64_t i = 0; i < count && status == OX_OK; i++) {
        const oxi_json_node *element = node + 1 + i;
        if (element->type == OXI_JSON_FLOAT || element->type == OXI_JSON_INT)
            values[i] = element->type == OXI_JSON_INT ? (float)element->value.i : (float)element->value.f;
        else
            status = oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "config.json: %s[%lld] is no number",
                                   name, (long long)i);
    }
    if (status == OX_OK) status = oxi_llm_rope_plan(c, tensor, values, count);
    oxi_free(values, (size_t)count * sizeof *values);
    return status;
}

static ox_status oxi_llm_rope_original(const oxi_llm_config *c, double *context) {
    const ox_status status =
        oxi_llm_rope_number(c, "rope.original_max_position_embeddings|max_position_embeddings", NAN, context);
    if (status != OX_OK) return status;
    if (!(*context >= 1 && *context <= 4294967295.0))
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                             "config.json: original_max_position_embeddings is %g", *context);
    return oxi_llm_fact_number(c, "rope.scaling.original_context_length", OX_GGUF_U32, *context);
}

/* Phi-3.5-MoE has its own magnitude for short and long texts.
 * source Ding et al. 2024; transformers modeling_rope_utils.py and modeling_phimoe.py */
static ox_status oxi_llm_rope_longrope(const oxi_llm_config *c, int64_t size) {
    const bool two = strcmp(c->folder->model->architecture, "phimoe") == 0;
    double context = 0, most = 0, scale = 1, attention = 0, far = 0;
    ox_status status = oxi_llm_rope_original(c, &context);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "max_position_embeddings", NAN, &most);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.factor", most / context, &scale);
    if (status != OX_OK) return status;
    const double usual = scale > 1 && context > 1 ? sqrt(1 + log(scale) / log(context)) : 1;
    status = oxi_llm_rope_number(c, "rope.attention_factor", usual, &attention);
    far = attention;
    if (status == OX_OK && two) status = oxi_llm_rope_number(c, "rope.long_mscale", attention, &far);
    if (status == OX_OK && two) status = oxi_llm_rope_number(c, "rope.short_mscale", attention, &attention);
    if (status == OX_OK) status = oxi_llm_fact_text(c, "rope.scaling.type", "longrope", 8);
    if (status == OX_OK) status = oxi_llm_fact_number(c, "rope.scaling.attn_factor", OX_GGUF_F32, attention);
    if (status == OX_OK && far != attention)
        status = oxi_llm_fact_number(c, "rope.scaling.attn_factor_long", OX_GGUF_F32, far);
    if (status == OX_OK)
        status = oxi_llm_rope_list(c, "rope.long_factor", "rope_factors_long.weight", size / 2);
    if (status == OX_OK)
        status = oxi_llm_rope_list(c, "rope.short_factor", "rope_factors_short.weight", size / 2);
    return status;
}

static double oxi_llm_yarn_scale(double factor, double weight) {
    return factor > 1 ? 0.1 * weight * log(factor) + 1 : 1;
}

/* GGUF's attn_factor comes on top of 0.1 log(factor) + 1, and is for the scores of latent heads too; where
 * these are other than what is turned, it is yarn_attn_factor, which llama.cpp does not read.
 * source Peng et al. 2023; transformers modeling_rope_utils.py; llama.cpp's DeepSeek 2 */
static ox_status oxi_llm_rope_yarn(const oxi_llm_config *c) {
    double factor = 0, context = 0, value = 0, all = 0, attention = 0;
    ox_status status = oxi_llm_rope_number(
        c, "rope.factor|max_position_embeddings/rope.original_max_position_embeddings", NAN, &factor);
    if (status == OX_OK && !(factor > 0))
        status = oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "config.json: rope factor is %g", factor);
    if (status == OX_OK) status = oxi_llm_fact_text(c, "rope.scaling.type", "yarn", 4);
    if (status == OX_OK) status = oxi_llm_fact_number(c, "rope.scaling.factor", OX_GGUF_F32, factor);
    if (status == OX_OK) status = oxi_llm_rope_original(c, &context);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.beta_fast|32", NAN, &value);
    if (status == OX_OK) status = oxi_llm_fact_number(c, "rope.scaling.yarn_beta_fast", OX_GGUF_F32, value);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.beta_slow|1", NAN, &value);
    if (status == OX_OK) status = oxi_llm_fact_number(c, "rope.scaling.yarn_beta_slow", OX_GGUF_F32, value);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.truncate|1", NAN, &value);
    if (status == OX_OK && value == 0)
        status = oxi_llm_fact_number(c, "rope.scaling.yarn_truncate", OX_GGUF_BOOL, 0);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.mscale_all_dim", 0, &all);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "rope.mscale", 0, &value);
    const bool scores = all != 0 && oxi_llm_row_holds(c, "deepseek2 deepseek32 glm-dsa");
    /* DeepSeek 4 has none where it does not say so, and all of it is in GGUF's attn_factor */
    const bool whole = oxi_llm_row_holds(c, "deepseek4"),
               plain = whole && !oxi_llm_config_node(c, "rope_parameters.compress", 24);
    const double stretched = oxi_llm_yarn_scale(factor, 1), usual = plain ? 1 : stretched,
                 part = whole ? 1 : stretched;
    if (status == OX_OK) {
        const double both = oxi_llm_yarn_scale(factor, value) / oxi_llm_yarn_scale(factor, all);
        status = oxi_llm_rope_number(c, "rope.attention_factor", value != 0 && all != 0 ? both : usual,
                                     &attention);
        if (status == OX_OK && attention == both && value == 1 && oxi_llm_row_holds(c, "mistral3"))
            return oxi_llm_fact_number(c, "rope.scaling.yarn_log_multiplier", OX_GGUF_F32, all);
        const bool own =
            oxi_llm_row_holds(c, OXI_LLM_MLA " minicpm3") && (scores || fabs(attention - 1) > 1e-9);
        if (status == OX_OK && (own || attention != part))
            status =
                oxi_llm_fact_number(c, own ? "rope.scaling.yarn_attn_factor" : "rope.scaling.attn_factor",
                                    OX_GGUF_F32, attention / part);
    }
    if (status == OX_OK && scores)
        status = oxi_llm_fact_number(c, "rope.scaling.yarn_log_multiplier", OX_GGUF_F32, 0.1 * all);
    return status;
}

/* The base grows with the text beyond max_position_embeddings. source transformers modeling_rope_utils.py */
static ox_status oxi_llm_rope_dynamic(const oxi_llm_config *c) {
    double factor = 0, context = 0;
    ox_status status = oxi_llm_rope_number(c, "rope.factor", NAN, &factor);
    if (status == OX_OK && !(factor > 0 && factor < 1e9))
        status = oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "config.json: rope factor is %g", factor);
    if (status == OX_OK) status = oxi_llm_rope_number(c, "max_position_embeddings", 0, &context);
    if (status == OX_OK && context >= 1 && context <= 4294967295.0)
        status = oxi_llm_fact_number(c, "rope.scaling.original_context_length", OX_GGUF_U32, context);
    return status == OX_OK ? oxi_llm_fact_number(c, "rope.scaling.dynamic_factor", OX_GGUF_F32, factor)
                           : status;
}

/* Hunyuan's base: where its scaling is dynamic with an alpha, that of a text alpha times as long.
 * source transformers modeling_hunyuan_v1_dense.py */
static ox_status oxi_llm_rope_alpha(const oxi_llm_config *c, const char *type, int64_t size, bool *set) {
    double base = 0, alpha = 0;
    ox_status status = oxi_llm_rope_number(c, "rope.rope_theta|10000", NAN, &base);
    if (status == OX_OK && type && strcmp(type, "dynamic") == 0)
        status = oxi_llm_rope_number(c, "rope.alpha", 0, &alpha);
    if (status != OX_OK) return status;
    *set = alpha != 0;
    if (*set && !(alpha > 0 && alpha < 1e9 && size >= 4))
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                             "config.json: rope alpha is %g, over %lld elements of a head", alpha,
                             (long long)size);
    if (*set) base *= pow(alpha, (double)size / (double)(size - 2));
    return oxi_llm_fact_number(c, "rope.freq_base", OX_GGUF_F32, base);
}

/* An embedding [positions, width] of sines, then of cosines; the one of the padding token's number is 0.
 * source transformers modeling_xglm.py */
static ox_status oxi_llm_add_sinusoids(const oxi_llm_config *c) {
    enum { OFFSET = 2, MOST = 1 << 24 };
    int64_t rows = 0, width = 0, padding = -1;
    if (!oxi_llm_row_holds(c, "xglm")) return OX_OK;
    ox_status status = oxi_llm_config_int(c, "max_position_embeddings|2048", 1, MOST, -1, &rows);
    if (status == OX_OK) status = oxi_llm_config_int(c, "$width", 4, MOST, -1, &width);
    if (status == OX_OK) status = oxi_llm_config_int(c, "pad_token_id", -1, INT32_MAX, -1, &padding);
    if (status == OX_OK && rows * width > MOST)
        status = oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "config.json: %lld positions of %lld",
                               (long long)rows, (long long)width);
    float *values =
        status == OX_OK ? (float *)oxi_file_take(c->file, (size_t)(rows * width) * sizeof *values) : NULL;
    oxi_llm_plan *plan = values ? oxi_llm_add_plan(c, "position_embd.weight") : NULL;
    if (!plan) return status == OX_OK ? OX_ERR_NOMEM : status;
    const int64_t half = width / 2;
    memset(values, 0, (size_t)(rows * width) * sizeof *values);
    for (int64_t i = 0; i < half; i++) {
        const double frequency = exp((double)i * -(log(10000.0) / (double)(half - 1)));
        for (int64_t p = 0; p < rows; p++) {
            if (p + OFFSET == padding) continue;
            values[p * width + i] = (float)sin((double)(p + OFFSET) * frequency);
            values[p * width + half + i] = (float)cos((double)(p + OFFSET) * frequency);
        }
    }
    plan->transform = OXI_LLM_TRANSFORM_VALUES;
    plan->values = values;
    plan->count = (uint32_t)(rows * width);
    plan->columns = (uint32_t)width;
    return OX_OK;
}

static ox_status oxi_llm_add_rope(const oxi_llm_config *c) {
    const char *type = oxi_llm_config_text(c, "rope.rope_type");
    const bool phi3 = strcmp(c->folder->model->architecture, "phi3") == 0;
    double factor = 1;
    int64_t size = 0;
    if (!type) type = oxi_llm_config_text(c, "rope.type");
    if (strcmp(type ? type : "proportional", "proportional") == 0 && oxi_llm_row_holds(c, "gemma4"))
        return oxi_llm_rope_proportional(c);
    ox_status status =
        oxi_llm_row_holds(c, OXI_LLM_MLA " minicpm3")
            ? oxi_llm_config_int(c, "qk_rope_head_dim", 2, OXI_LLM_ROPE_MOST, -1, &size)
            : oxi_llm_config_int(c, "rotary_dim|$rotary*$head", 0, OXI_LLM_ROPE_MOST, 0, &size);
    bool alpha = false;
    if (status == OX_OK && oxi_llm_row_holds(c, "hunyuan-dense hunyuan-moe"))
        status = oxi_llm_rope_alpha(c, type, size, &alpha);
    if (status != OX_OK || alpha) return status;
    if (!type || strcmp(type, "default") == 0 || strcmp(type, "mrope") == 0) /* of texts alone it is plain */
        return phi3 ? oxi_llm_rope_original(c, &factor) : OX_OK;
    if (strcmp(type, "dynamic") == 0) return oxi_llm_rope_dynamic(c);
    if (strcmp(type, "yarn") == 0) return oxi_llm_rope_yarn(c);
    if (strcmp(type, "linear") == 0) {
        status = oxi_llm_rope_number(c, "rope.factor", NAN, &factor);
        if (status == OX_OK) status = oxi_llm_fact_text(c, "rope.scaling.type", "linear", 6);
        if (status == OX_OK) status = oxi_llm_fact_number(c, "rope.scaling.factor", OX_GGUF_F32, factor);
        return status;
    }
    if (size < 2 || size % 2)
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                             "config.json: rope over %lld elements of a head", (long long)size);
    if (strcmp(type, "llama3") == 0) return oxi_llm_rope_llama3(c, size);
    if (strcmp(type, "longrope") == 0 || strcmp(type, "su") == 0) return oxi_llm_rope_longrope(c, size);
    return oxi_file_fail(OX_ERR_UNSUPPORTED, c->file, 0, SIZE_MAX,
                         "config.json: the rope scaling %s is not supported", OXI_QUOTE(type));
}
