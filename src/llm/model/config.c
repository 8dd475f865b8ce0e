/* What the facts of a model say: sizes, layer by layer, rope, and the numbers of the forward pass.
 * Everything is checked here, so that the passes behind it need not. Called by model.c. */

/* ---- sizes --------------------------------------------------------------------------------------------- */

/* Heads of layer `i`, and the sizes of one; windowed layers may have their own. */
static ox_status oxi_llm_read_heads(ox_llm *model, const ox_file *file, int64_t i) {
    oxi_llm_layer *l = &model->layers[i];
    const int64_t width = model->config.width, latent = model->numbers.latent;
    if (!l->attends) {
        oxi_llm_place_mixer_heads(model, l);
        return OX_OK;
    }
    ox_status status = oxi_llm_read_int(model, file, "attention.head_count", i, 1, OXI_LLM_NEEDED, &l->heads);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.head_count_kv", i, 1, l->heads, &l->kv_heads);
    if (status) return status;
    const int64_t head = width % l->heads == 0 ? width / l->heads : OXI_LLM_NEEDED;
    status = oxi_llm_read_int(model, file, "attention.key_length", -1, 1, head, &l->key_size);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.value_length", -1, 1, head, &l->value_size);
    if (!status && l->window)
        status = oxi_llm_read_int(model, file, "attention.key_length_swa", -1, 1, l->key_size, &l->key_size);
    if (!status && l->window)
        status =
            oxi_llm_read_int(model, file, "attention.value_length_swa", -1, 1, l->value_size, &l->value_size);
    if (status) return status;
    if (l->heads % l->kv_heads != 0)
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld heads cannot share %lld key-value heads",
                        (long long)l->heads, (long long)l->kv_heads);
    if (latent) { /* all heads share one latent key, whose plain part is the value too */
        l->kv_heads = 1;
        l->key_size = latent + model->rope.size;
        l->value_size = latent;
    }
    return OX_OK;
}

static bool oxi_llm_is_windowed(const ox_llm *model, int64_t layer) {
    const int n = model->family->windows;
    return n == 1 || (n > 1 ? layer % n != n - 1 : n < -1 && layer % -n != 0);
}

/* The window of each layer: a pattern in the file, a bool a layer or a number n as in families.def, or the
 * family's. */
static ox_status oxi_llm_read_windows(ox_llm *model, const ox_file *file) {
    int64_t window, every = 0;
    ox_status status = oxi_llm_read_int(model, file, "attention.sliding_window", -1, 0, 0, &window);
    const bool listed = oxi_llm_is_listed(model, file, "attention.sliding_window_pattern");
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(DEEP_WINDOWS)) && model->config.layers != 64 && !listed)
        window = 0;
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(CHUNKS))) model->numbers.chunk = window;
    if (status || window == 0) return status;
    if (!listed) status = oxi_llm_read_int(model, file, "attention.sliding_window_pattern", -1, 1, 0, &every);
    for (int64_t i = 0; !status && i < model->config.layers; i++) {
        int64_t windowed = every ? i % every != every - 1 : oxi_llm_is_windowed(model, i);
        if (listed)
            status = oxi_llm_read_int(model, file, "attention.sliding_window_pattern", i, 0, OXI_LLM_NEEDED,
                                      &windowed);
        model->layers[i].window = windowed ? window : 0;
        model->numbers.windows = model->numbers.windows || windowed;
    }
    return status;
}

/* The layer whose keys and values each sees: the last ones have none of their own, but those of the last of
 * their kind before them. */
static ox_status oxi_llm_read_sharing(ox_llm *model, const ox_file *file) {
    const int64_t layers = model->config.layers;
    int64_t shared = 0;
    ox_status status = OX_OK;
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(INPUTS)))
        status = oxi_llm_read_int(model, file, "attention.shared_kv_layers", -1, 0, 0, &shared);
    for (int64_t i = 0; !status && i < layers; i++) {
        oxi_llm_layer *l = &model->layers[i];
        l->keys_of = i;
        if (i < layers - shared) continue;
        for (l->keys_of = layers - shared - 1; l->keys_of >= 0; l->keys_of--)
            if (!model->layers[l->keys_of].window == !l->window) break;
        const oxi_llm_layer *from = &model->layers[l->keys_of >= 0 ? l->keys_of : 0];
        if (l->keys_of < 0 || from->kv_heads != l->kv_heads || from->key_size != l->key_size ||
            from->value_size != l->value_size || model->numbers.latent)
            return oxi_fail(OX_ERR_FORMAT, "llm: layer %lld has no layer before it whose keys it could see",
                            (long long)i);
    }
    return status;
}

static ox_status oxi_llm_read_expert_sizes(ox_llm *model, const ox_file *file, int64_t i) {
    oxi_llm_layer *l = &model->layers[i];
    ox_status status =
        oxi_llm_read_int(model, file, "expert_feed_forward_length", i, 1, l->hidden, &l->expert_hidden);
    if (!status) status = oxi_llm_read_float(model, file, "swiglu_clamp_exp", i, 0, 0, &l->expert_clamp);
    if (!status && oxi_llm_has_trait(model, OXI_LLM_TRAIT(SHARED_CLAMP))) {
        char key[96];
        oxi_llm_key(model, "swiglu_clamp_shexp", key);
        const bool own = ox_file_meta_find(file, key).type != OX_FILE_META_NONE; /* one of 0 is none */
        status = oxi_llm_read_float(model, file, "swiglu_clamp_shexp", i, 0, own ? 0 : l->expert_clamp,
                                    &l->shared_clamp);
    }
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(DENSE_WIDTH))) l->hidden = model->config.width;
    return status;
}

/* The numbers of an activation that layers have their own of; two are the softplus of what files have. */
static ox_status oxi_llm_read_bends(ox_llm *model, const ox_file *file, int64_t i) {
    static const char *const keys[4] = {"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"};
    oxi_llm_layer *l = &model->layers[i];
    ox_status status = OX_OK;
    l->bends = oxi_llm_has_trait(model, OXI_LLM_TRAIT(BENT));
    if (l->bends && !oxi_llm_is_listed(model, file, keys[0]))
        return oxi_fail(OX_ERR_NOT_FOUND, "llm: metadata key %s is missing", keys[0]);
    for (int k = 0; k < 4 && l->bends && !status; k++) {
        l->bend[k] = 0;
        (void)oxi_llm_find_number(model, file, keys[k], i, false, &l->bend[k], &status);
        if (!status && !isfinite(l->bend[k]))
            return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is %g", keys[k], l->bend[k]);
        if (k < 2) l->bend[k] = l->bend[k] > 20 ? l->bend[k] : log1p(exp(l->bend[k]));
    }
    l->bend[1] += l->bend[2];
    return status;
}

static ox_status oxi_llm_read_layers(ox_llm *model, const ox_file *file) {
    const oxi_llm_numbers *n = &model->numbers;
    ox_status status = oxi_llm_read_windows(model, file);
    if (!status) status = oxi_llm_read_mixers(model, file);
    const int64_t hidden = n->experts || n->mixing.kind ? 0 : OXI_LLM_NEEDED;
    for (int64_t i = 0; !status && i < model->config.layers; i++) {
        oxi_llm_layer *l = &model->layers[i];
        status = oxi_llm_read_heads(model, file, i);
        if (!status) status = oxi_llm_read_int(model, file, "feed_forward_length", i, 1, hidden, &l->hidden);
        if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(HALF_HIDDEN))) l->hidden /= 2;
        if (!status && n->experts) status = oxi_llm_read_expert_sizes(model, file, i);
        if (!status) status = oxi_llm_read_bends(model, file, i);
    }
    return status ? status : oxi_llm_read_sharing(model, file);
}

static ox_status oxi_llm_read_sizes(ox_llm *model, const ox_file *file) {
    ox_llm_config *c = &model->config;
    int64_t ahead = 0; /* layers at the end that guess further tokens: not run */
    ox_status status = oxi_llm_read_int(model, file, "block_count", -1, 1, OXI_LLM_NEEDED, &c->layers);
    if (!status && oxi_llm_has_trait(model, OXI_LLM_TRAIT(AFTER_ENCODER)))
        status = oxi_llm_read_int(model, file, "decoder_block_count", -1, 1, c->layers, &c->layers);
    if (!status) status = oxi_llm_read_int(model, file, "nextn_predict_layers", -1, 0, 0, &ahead);
    if (!status) status = oxi_llm_read_int(model, file, "embedding_length", -1, 1, OXI_LLM_NEEDED, &c->width);
    if (!status) status = oxi_llm_read_int(model, file, "context_length", -1, 1, OXI_LLM_NEEDED, &c->context);
    if (status) return status;
    if (ahead < c->layers) c->layers -= ahead;
    if (c->layers > ox_file_count(file))
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld layers, but only %lld tensors", (long long)c->layers,
                        (long long)ox_file_count(file));
    model->layers = (oxi_llm_layer *)oxi_calloc((size_t)c->layers, sizeof *model->layers);
    return model->layers ? OX_OK : OX_ERR_NOMEM;
}

/* ---- rope ---------------------------------------------------------------------------------------------- */

/* The numbers of YaRN. */
typedef struct oxi_llm_yarn {
    double factor, strength, fast, slow;
    int64_t original;
    bool truncate; /* the pairs between which it passes over are whole ones */
} oxi_llm_yarn;

/* The pair, of `size` / 2, that turns `turns` times within `positions`. */
static double oxi_llm_turning_pair(const oxi_llm_rope *rope, double positions, double turns) {
    return (double)rope->size * log(positions / (turns * 6.283185307179586)) / (2 * log(rope->base));
}

/* Divisors of the frequencies: pairs that turn fast stay as they are, slow ones are stretched by the factor,
 * those between a part of it. source: Peng et al. 2023, "YaRN", as llama.cpp rounds its borders */
static ox_tensor *oxi_llm_yarn_factors(const oxi_llm_rope *rope, const oxi_llm_yarn *yarn) {
    double low = oxi_llm_turning_pair(rope, (double)yarn->original, yarn->fast);
    double high = oxi_llm_turning_pair(rope, (double)yarn->original, yarn->slow);
    if (yarn->truncate) {
        low = floor(low);
        high = ceil(high);
    }
    if (!(low > 0)) low = 0;
    if (!(high < (double)rope->size - 1)) high = (double)rope->size - 1;
    const double width = high - low > 0.001 ? high - low : 0.001;
    const size_t bytes = (size_t)(rope->size / 2) * sizeof(float);
    float *out = (float *)oxi_alloc(bytes);
    if (!out) return NULL;
    for (int64_t i = 0; i < rope->size / 2; i++) {
        double ramp = ((double)i - low) / width;
        ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
        const double kept = (1 - ramp) * yarn->strength;
        out[i] = (float)(1 / ((1 - kept) / yarn->factor + kept));
    }
    ox_tensor *factors = oxi_copied(out, OX_SHAPE(rope->size / 2), OX_F32);
    oxi_free(out, bytes);
    return factors;
}

static ox_status oxi_llm_read_yarn_numbers(const ox_llm *model, const ox_file *file, double factor,
                                           oxi_llm_yarn *yarn) {
    double strength = 0;
    int64_t truncate = 1;
    yarn->factor = factor;
    ox_status status = oxi_llm_read_float(model, file, "rope.scaling.yarn_beta_fast", -1, 0, 32, &yarn->fast);
    if (!status)
        status = oxi_llm_read_float(model, file, "rope.scaling.yarn_beta_slow", -1, 0, 1, &yarn->slow);
    if (!status)
        status = oxi_llm_read_float(model, file, "rope.scaling.yarn_ext_factor", -1, -1, -1, &strength);
    if (!status) status = oxi_llm_read_int(model, file, "rope.scaling.yarn_truncate", -1, 0, 1, &truncate);
    if (!status)
        status = oxi_llm_read_int(model, file, "rope.scaling.original_context_length", -1, 1,
                                  model->config.context, &yarn->original);
    yarn->truncate = truncate != 0;
    yarn->strength = strength < 0 ? 1 : strength;
    return status;
}

/* The factors of a rope whose base and size are known. */
static ox_status oxi_llm_set_yarn(const ox_llm *model, const ox_file *file, double factor,
                                  oxi_llm_rope *rope) {
    oxi_llm_yarn yarn;
    const ox_status status = oxi_llm_read_yarn_numbers(model, file, factor, &yarn);
    if (status || rope->size == 0) return status;
    ox_release(rope->factors);
    rope->factors = ox_retain(oxi_llm_yarn_factors(rope, &yarn));
    rope->stretch = factor;
    return rope->factors ? OX_OK : oxi_llm_error();
}

static ox_status oxi_llm_read_yarn(ox_llm *model, const ox_file *file, double factor) {
    double logarithm, magnitude = 0; /* 0: the file has none */
    const bool latent = model->numbers.latent > 0;
    oxi_llm_rope *rope = &model->rope;
    ox_status status =
        oxi_llm_read_float(model, file, "rope.scaling.yarn_log_multiplier", -1, 0, 0, &logarithm);
    if (!status)
        status = oxi_llm_read_float(model, file, "rope.scaling.yarn_attn_factor", -1, 0, 0, &magnitude);
    if (status || factor <= 1 || rope->size == 0) return status;
    const double stretched = 1 + logarithm * log(factor), usual = 1 + 0.1 * log(factor),
                 given = rope->magnitude;
    /* without numbers of its own, scores of latent heads are scaled as what is turned, as in llama.cpp */
    const double scores = given * stretched * (logarithm == 0 && magnitude == 0 ? usual : 1);
    if (latent) model->numbers.attention_scale *= scores * scores;
    if (magnitude > 0 && (latent || magnitude != 1))
        rope->magnitude *= usual * magnitude;
    else if (!latent)
        rope->magnitude *= usual / (1 + 0.1 * logarithm * log(factor));
    else if (logarithm == 0)
        rope->magnitude *= usual; /* else DeepSeek's scores are scaled instead */
    return oxi_llm_set_yarn(model, file, factor, rope);
}

/* Positions are multiplied by 1 / factor when they are scaled linearly; other ways change the frequencies. */
static ox_status oxi_llm_read_rope_scaling(ox_llm *model, const ox_file *file) {
    oxi_llm_rope *rope = &model->rope;
    ox_string type;
    double factor = 1, scale = 1;
    ox_status status = oxi_llm_read_text(model, file, "rope.scaling.type", &type);
    if (!status)
        status = oxi_llm_read_float(model, file, "rope.scaling.attn_factor", -1, 0, 1, &rope->magnitude);
    if (!status)
        status =
            oxi_llm_read_float(model, file, "rope.scale_linear", -1, 1e-6, 1, &factor); /* the older key */
    if (!status) status = oxi_llm_read_float(model, file, "rope.scaling.factor", -1, 1e-6, factor, &factor);
    if (!status)
        status = oxi_llm_read_int(model, file, "rope.scaling.original_context_length", -1, 1,
                                  model->config.context, &rope->original);
    if (status) return status;
    if (type.length == 0 || oxi_llm_text_is(type, "linear")) {
        scale = 1 / factor;
    } else if (oxi_llm_text_is(type, "yarn")) {
        status = oxi_llm_read_yarn(model, file, factor);
    } else if (!oxi_llm_text_is(type, "none") && !oxi_llm_text_is(type, "longrope")) {
        char name[32];
        oxi_llm_copy_text(type, name, sizeof name);
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm: the rope scaling \"%s\" is not supported", name);
    }
    rope->scale = scale;
    if (!status)
        status = oxi_llm_read_float(model, file, "rope.scaling.attn_factor_long", -1, 0, rope->magnitude,
                                    &rope->long_magnitude);
    if (!status)
        status = oxi_llm_read_float(model, file, "rope.scaling.dynamic_factor", -1, 0, 0, &rope->growth);
    return status;
}

/* Whether layer `i` is turned, where the file does not list it. */
static bool oxi_llm_is_turned(const ox_llm *model, int64_t i) {
    const oxi_llm_layer *l = &model->layers[i];
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(FOURTH_PLAIN)) && i % 4 == 3) return false;
    if (!model->numbers.windows) return true;
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(FIRST_PLAIN)) && i % 4 == 0) return false;
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(DENSE_TURNS)) && i < model->numbers.dense_layers) return true;
    return l->window || !oxi_llm_has_trait(model, OXI_LLM_TRAIT(WINDOW_TURNS));
}

static ox_status oxi_llm_spread_rope(ox_llm *model, const ox_file *file) {
    const bool listed = oxi_llm_is_listed(model, file, "attention.rope_pattern");
    for (int64_t i = 0; i < model->config.layers; i++) {
        oxi_llm_layer *l = &model->layers[i];
        const oxi_llm_rope *rope = l->window && !l->ratio ? &model->window_rope : &model->rope;
        int64_t turned = oxi_llm_is_turned(model, i);
        if (listed) {
            const ox_status status =
                oxi_llm_read_int(model, file, "attention.rope_pattern", i, 0, 0, &turned);
            if (status) return status;
        }
        l->rope = rope->size > 0 && turned ? rope : NULL;
    }
    const bool turned = oxi_llm_has_trait(model, OXI_LLM_TRAIT(TURNED_SCALE)) && model->rope.size > 0;
    if (model->numbers.attention_scale == 0 && turned)
        model->numbers.attention_scale = 1 / sqrt((double)model->rope.size);
    return OX_OK;
}

/* The first layer with attention, or the first of all. */
static const oxi_llm_layer *oxi_llm_first_attending(const ox_llm *model) {
    for (int64_t i = 0; i < model->config.layers; i++)
        if (model->layers[i].attends) return &model->layers[i];
    return &model->layers[0];
}

static ox_status oxi_llm_read_rope(ox_llm *model, const ox_file *file) {
    oxi_llm_rope *rope = &model->rope, *window = &model->window_rope;
    const int64_t head = oxi_llm_first_attending(model)->key_size;
    if (model->numbers.rope == OXI_LLM_ROPE_NONE) return OX_OK;
    ox_status status = oxi_llm_read_float(model, file, "rope.freq_base", -1, 1e-6, 10000, &rope->base);
    if (!status && !model->numbers.latent)
        status = oxi_llm_read_int(model, file, "rope.dimension_count", -1, 0, head, &rope->size);
    const double plain = rope->base; /* keys of blocks, and the layers that have them, have their own */
    if (!status)
        status = oxi_llm_read_float(model, file, "attention.compress_rope_freq_base", -1, 1e-6, plain,
                                    &rope->base);
    if (!status) status = oxi_llm_read_rope_scaling(model, file);
    if (status) return status;
    *window = *rope;
    (void)ox_retain(window->factors);
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(WINDOW_UNSCALED))) {
        window->scale = window->magnitude = window->long_magnitude = 1;
        window->growth = 0;
        ox_release(window->factors);
        window->factors = NULL;
    }
    double factor = 0;
    status = oxi_llm_read_float(model, file, "rope.scaling.factor_swa", -1, 0, 0, &factor);
    if (factor > 0) window->scale = 1 / factor;
    if (!status)
        status = oxi_llm_read_float(model, file, "rope.freq_base_swa", -1, 1e-6, plain, &window->base);
    if (!status)
        status = oxi_llm_read_int(model, file, "rope.dimension_count_swa", -1, 1, rope->size, &window->size);
    if (!status && window->factors && (window->base != rope->base || window->size != rope->size))
        status = oxi_llm_set_yarn(model, file, window->stretch, window);
    for (int64_t i = 0; !status && i < model->config.layers; i++) {
        const oxi_llm_layer *l = &model->layers[i];
        const int64_t size = l->window ? window->size : rope->size;
        if (l->attends && (size > l->key_size || size % 2 != 0))
            return oxi_fail(OX_ERR_FORMAT, "llm: rope over %lld elements of heads that have %lld",
                            (long long)size, (long long)l->key_size);
    }
    return status ? status : oxi_llm_spread_rope(model, file);
}

/* ---- numbers of the forward pass ----------------------------------------------------------------------- */

static ox_status oxi_llm_read_scales(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    const double width = (double)model->config.width, layers = (double)model->config.layers;
    const bool sizes = oxi_llm_has_trait(model, OXI_LLM_TRAIT(SCALES_OF_SIZES));
    const bool root = oxi_llm_has_trait(model, OXI_LLM_TRAIT(EMBEDDING_ROOT));
    const double embedding = sizes ? 12 : 0, residual = sizes ? 1.4 / sqrt(layers) : 0,
                 logits = sizes ? width / 256 : 0;
    const bool divided = oxi_llm_has_trait(model, OXI_LLM_TRAIT(LOGIT_DIVIDED));
    ox_status status =
        oxi_llm_read_float(model, file, "embedding_scale", -1, 0, embedding, &n->embedding_scale);
    if (!status)
        status = oxi_llm_read_float(model, file, "residual_scale", -1, 0, residual, &n->residual_scale);
    if (!status)
        status = oxi_llm_read_float(model, file, "logit_scale", -1, 0,
                                    divided ? logits
                                    : sizes ? 1 / logits
                                            : 0,
                                    &n->logit_scale);
    if (!status) status = oxi_llm_read_float(model, file, "attention.clamp_kqv", -1, 0, 0, &n->clamp);
    if (!status) status = oxi_llm_read_float(model, file, "attention.value_scale", -1, 0, 0, &n->value_scale);
    if (!status && oxi_llm_has_trait(model, OXI_LLM_TRAIT(SCORE_CAP)))
        status = oxi_llm_read_float(model, file, "attn_logit_softcapping", -1, 0, 0, &n->score_cap);
    if (!status && oxi_llm_has_trait(model, OXI_LLM_TRAIT(LOGIT_CAP)))
        status = oxi_llm_read_float(model, file, "final_logit_softcapping", -1, 0, 0, &n->logit_cap);
    int64_t plain = 0; /* a scale of 0 in a file is none that it has */
    if (!status) status = oxi_llm_read_int(model, file, "embedding_plain", -1, 0, 0, &plain);
    if (root && !plain) n->embedding_scale = sqrt(width);
    if (divided && n->logit_scale > 0) n->logit_scale = 1 / n->logit_scale;
    return status;
}

/* Queries that grow with the logarithm of their position, so that attention stays sharp in long texts. */
static ox_status oxi_llm_read_temperature(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    int64_t original;
    ox_status status =
        oxi_llm_read_float(model, file, "attention.temperature_scale", -1, 0, 0, &n->temperature);
    if (!status)
        status = oxi_llm_read_int(model, file, "rope.scaling.original_context_length", -1, 1,
                                  model->config.context, &original);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.temperature_length", -1, 1, original,
                                  &n->temperature_length);
    return status;
}

/* Whether so many experts can be chosen so. */
static ox_status oxi_llm_check_experts(const oxi_llm_numbers *n) {
    if (n->jitter > 0 && n->experts_used > OXI_LLM_SPARSE_MOST)
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm: a sparse mixer of %lld experts is not supported",
                        (long long)n->experts_used);
    if (n->experts_used > n->experts || n->experts > 65536)
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld of %lld experts are used", (long long)n->experts_used,
                        (long long)n->experts);
    if (n->expert_groups > 1 && (n->experts % n->expert_groups != 0 || n->expert_groups_used < 1 ||
                                 n->expert_groups_used > n->expert_groups ||
                                 n->experts_used > n->experts / n->expert_groups * n->expert_groups_used))
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld experts in %lld groups, of which %lld are used",
                        (long long)n->experts, (long long)n->expert_groups, (long long)n->expert_groups_used);
    return OX_OK;
}

static ox_status oxi_llm_read_experts(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    int64_t shared = 0, router = 0, hidden = 0,
            normalized = oxi_llm_has_trait(model, OXI_LLM_TRAIT(ROUTED_NORM));
    ox_status status = oxi_llm_read_int(model, file, "expert_count", -1, 0, 0, &n->experts);
    if (status || n->experts == 0) return status;
    status = oxi_llm_read_int(model, file, "expert_used_count", -1, 1, OXI_LLM_NEEDED, &n->experts_used);
    if (!status) status = oxi_llm_read_int(model, file, "expert_feed_forward_length", 0, 1, -1, &hidden);
    if (!status && hidden < 0)
        status = oxi_llm_read_int(model, file, "feed_forward_length", 0, 1, OXI_LLM_NEEDED, &hidden);
    if (!status)
        status = oxi_llm_read_int(model, file, "expert_latent_length", -1, 1, model->config.width,
                                  &n->expert_width);
    if (!status)
        status = oxi_llm_read_int(model, file, "moe_latent_size", -1, 1, n->expert_width, &n->expert_width);
    if (!status)
        status = oxi_llm_read_int(model, file, "leading_dense_block_count", -1, 0, 0, &n->dense_layers);
    if (!status) status = oxi_llm_read_int(model, file, "expert_shared_count", -1, 0, 0, &shared);
    if (!status)
        status = oxi_llm_read_int(model, file, "expert_shared_feed_forward_length", -1, 1,
                                  hidden * (shared ? shared : 1), &n->shared_hidden);
    if (!status) status = oxi_llm_read_int(model, file, "expert_gating_func", -1, 0, 0, &router);
    if (!status)
        status = oxi_llm_read_int(model, file, "expert_weights_norm", -1, 1, normalized, &normalized);
    int64_t plain = 0; /* files say expert_weights_norm 0 of families that norm them all the same */
    if (!status) status = oxi_llm_read_int(model, file, "expert_weights_plain", -1, 0, 0, &plain);
    if (plain) normalized = 0;
    if (!status) status = oxi_llm_read_float(model, file, "expert_weights_scale", -1, 0, 0, &n->routed_scale);
    if (!status) status = oxi_llm_read_int(model, file, "expert_group_count", -1, 0, 0, &n->expert_groups);
    if (!status)
        status = oxi_llm_read_int(model, file, "expert_group_used_count", -1, 0, 0, &n->expert_groups_used);
    if (!status) status = oxi_llm_read_float(model, file, "router_jitter", -1, 0, 0, &n->jitter);
    if (!status) status = oxi_llm_read_int(model, file, "experts_per_group", -1, 1, 1, &n->chunk_share);
    if (!status) status = oxi_llm_read_float(model, file, "expert_group_scale", -1, 0, 0, &n->chunk_scale);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.value_expert_count", -1, 0, 0, &n->value_experts);
    if (!status && n->value_experts > 0)
        status = oxi_llm_read_int(model, file, "attention.value_expert_used_count", -1, 1, OXI_LLM_NEEDED,
                                  &n->value_experts_used);
    if (!status && (n->value_experts_used > n->value_experts || n->experts % n->chunk_share != 0))
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld of %lld experts of values, %lld of %lld in a group",
                        (long long)n->value_experts_used, (long long)n->value_experts,
                        (long long)n->chunk_share, (long long)n->experts);
    if (status) return status;
    if (router >= OXI_LLM_ROUTER_COUNT)
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm: the expert_gating_func %lld is not supported",
                        (long long)router);
    n->router = router ? (oxi_llm_router)router : model->family->router;
    n->routed_norm = normalized != 0;
    return oxi_llm_check_experts(n);
}

/* Latent attention: sizes of what a head makes of the latent, and of its query. */
static ox_status oxi_llm_read_latent(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    ox_status status = oxi_llm_read_int(model, file, "attention.kv_lora_rank", -1, 0, 0, &n->latent);
    if (!status) status = oxi_llm_read_int(model, file, "attention.q_lora_rank", -1, 0, 0, &n->query_rank);
    if (!status)
        status = oxi_llm_read_float(model, file, "attention.latent_norm_epsilon", -1, 0, n->epsilon,
                                    &n->latent_epsilon);
    if (status || n->latent == 0) return status;
    if (!status)
        status =
            oxi_llm_read_int(model, file, "rope.dimension_count", -1, 0, OXI_LLM_NEEDED, &model->rope.size);
    int64_t key = -1, value = -1; /* older files have the sizes under the keys that now mean what is kept */
    if (!status) status = oxi_llm_read_int(model, file, "attention.key_length", -1, 1, OXI_LLM_NEEDED, &key);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.value_length", -1, 1, OXI_LLM_NEEDED, &value);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.key_length_mla", -1, 1, key, &n->latent_key);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.value_length_mla", -1, 1, value, &n->latent_value);
    if (!status && n->latent_key < model->rope.size)
        return oxi_fail(OX_ERR_FORMAT, "llm: rope over %lld elements of heads that have %lld",
                        (long long)model->rope.size, (long long)n->latent_key);
    return status;
}

/* Whether q and k have norms without weights, behind rope. */
static ox_status oxi_llm_read_bare_norms(ox_llm *model, const ox_file *file) {
    int64_t bare = model->numbers.experts != 128; /* LLaMA 4's larger one has none */
    if (!oxi_llm_has_trait(model, OXI_LLM_TRAIT(LATE_BARE_NORMS))) return OX_OK;
    const ox_status status = oxi_llm_read_int(model, file, "use_qk_norm", -1, 0, bare, &bare);
    model->numbers.late_bare = bare != 0;
    return status;
}

static ox_status oxi_llm_read_norm(ox_llm *model, const ox_file *file) {
    static const char *const epsilon[] = {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"};
    oxi_llm_numbers *n = &model->numbers;
    n->norm = model->family->norm;
    ox_status status = oxi_llm_read_float(model, file, "output_norm_epsilon", -1, 0, 0, &n->output_epsilon);
    if (!status && oxi_llm_has_trait(model, OXI_LLM_TRAIT(NORM_FACT))) {
        status = oxi_llm_read_float(model, file, epsilon[OXI_LLM_NORM_RMS], -1, 0, 0, &n->epsilon);
        if (n->epsilon > 0) n->norm = OXI_LLM_NORM_RMS;
    }
    if (status) return status;
    return oxi_llm_read_float(model, file, epsilon[n->norm], -1, 0, OXI_LLM_NEEDED_FLOAT, &n->epsilon);
}

/* How positions come in, where the family does not say it alone. */
static ox_status oxi_llm_read_positions(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    const bool deep = oxi_llm_has_trait(model, OXI_LLM_TRAIT(DEPTH_POSITIONS));
    char key[96];
    n->rope = deep && model->config.layers != 32 ? OXI_LLM_ROPE_NONE : model->family->rope;
    oxi_llm_key(model, "rope.dimension_sections", key);
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(SECTION_HALVES)) &&
        ox_file_meta_find(file, key).type == OX_FILE_META_ARRAY) {
        int64_t first = 0, second = 0;
        ox_status status = oxi_llm_read_int(model, file, "rope.dimension_sections", 0, 0, 0, &first);
        if (!status) status = oxi_llm_read_int(model, file, "rope.dimension_sections", 1, 0, 0, &second);
        if (status) return status;
        if (first > 0 && second > 0) n->rope = OXI_LLM_ROPE_HALVES;
    }
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(ROPE_FACT))) {
        int64_t turned = 1;
        const ox_status status = oxi_llm_read_int(model, file, "rope.scaling.finetuned", -1, 0, 1, &turned);
        if (status) return status;
        if (!turned) n->rope = OXI_LLM_ROPE_NONE;
    }
    ox_status status = oxi_llm_read_float(model, file, "attention.max_alibi_bias", -1, 0, 0, &n->alibi);
    if (n->alibi > 0) n->rope = OXI_LLM_ROPE_NONE; /* no model has both */
    if (!status) status = oxi_llm_read_float(model, file, "attention.alibi_scale", -1, 0, 1, &n->alibi_scale);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.relative_buckets_count", -1, 0, 0, &n->buckets);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.relative_max_distance", -1, 1, 128, &n->farthest);
    if (!status && n->buckets > 0 && (n->buckets < 4 || n->farthest <= n->buckets / 2))
        return oxi_fail(OX_ERR_FORMAT, "llm: distances up to %lld in %lld buckets", (long long)n->farthest,
                        (long long)n->buckets);
    return status;
}

/* The scale of scores; 0 = 1 / sqrt(key size). Grok's has a key of its own. */
static ox_status oxi_llm_read_scale(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    double scale = oxi_llm_has_trait(model, OXI_LLM_TRAIT(SCORES_BARE)) ? 1 : 0;
    int64_t heads = 1, size = 0, falls = 0, values = 0;
    ox_status status = oxi_llm_read_int(model, file, "attention.head_count", 0, 1, 1, &heads);
    if (!status) status = oxi_llm_read_int(model, file, "attention.scale_by_layer", -1, 0, 0, &falls);
    n->scale_falls = falls != 0;
    if (!status) status = oxi_llm_read_int(model, file, "attention.turned_values", -1, 0, 0, &values);
    n->turned_values = values != 0;
    if (!status && oxi_llm_has_trait(model, OXI_LLM_TRAIT(KEY_SCALE)))
        status =
            oxi_llm_read_int(model, file, "attention.key_length", -1, 1, model->config.width / heads, &size);
    if (size > 0) scale = 1 / (double)size;
    if (n->latent) scale = 1 / sqrt((double)n->latent_key);
    if (!status) status = oxi_llm_read_float(model, file, "attention.output_scale", -1, 0, scale, &scale);
    if (!status)
        status = oxi_llm_read_float(model, file, "attention.scale", -1, OXI_LLM_OF_WIDTH, scale, &scale);
    if (!status && scale < 0 && scale != OXI_LLM_OF_WIDTH)
        return oxi_fail(OX_ERR_FORMAT, "llm: scores are scaled by %g", scale);
    n->attention_scale = scale < 0 ? 1 / sqrt((double)model->config.width / (double)heads) : scale;
    return status;
}

/* Passes of two stacks: a layer of each pass has its own cache, and its weights are those of the stack. */
static ox_status oxi_llm_read_cycles(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    int64_t cycles = 0, prefix = 0;
    ox_status status = oxi_llm_read_int(model, file, "hrm.layers_per_stack", -1, 0, 0, &n->stack);
    if (status || n->stack == 0) return status;
    status = oxi_llm_read_int(model, file, "hrm.h_cycles", -1, 1, OXI_LLM_NEEDED, &cycles);
    if (!status)
        status = oxi_llm_read_int(model, file, "hrm.l_cycles", -1, 1, OXI_LLM_NEEDED, &n->low_passes);
    if (!status) status = oxi_llm_read_int(model, file, "hrm.prefix_lm", -1, 0, 0, &prefix);
    if (status) return status;
    if (prefix)
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm: prompts whose tokens see each other are not supported");
    if (n->stack > 65536 || cycles > 65536 || n->low_passes > 65536 ||
        n->stack * (n->low_passes + 1) * cycles != model->config.layers)
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld layers in %lld cycles of %lld passes of %lld",
                        (long long)model->config.layers, (long long)cycles, (long long)n->low_passes + 1,
                        (long long)n->stack);
    return OX_OK;
}

/* Several residual rows a position, or rows of earlier layers that are attended to. */
static ox_status oxi_llm_read_residual(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    ox_status status = oxi_llm_read_int(model, file, "hyper_connection.count", -1, 0, 0, &n->hyper);
    if (!status)
        status = oxi_llm_read_int(model, file, "hyper_connection.low_rank", -1, 0, 0, &n->hyper_rank);
    if (!status)
        status =
            oxi_llm_read_int(model, file, "hyper_connection.sinkhorn_iterations", -1, 0, 0, &n->hyper_rounds);
    if (!status)
        status = oxi_llm_read_float(model, file, "hyper_connection.epsilon", -1, 0, 0, &n->hyper_epsilon);
    if (!status)
        status = oxi_llm_read_float(model, file, "hyper_connection.magnitude", -1, 0, 2, &n->hyper_magnitude);
    if (!status) status = oxi_llm_read_int(model, file, "attn_res.block_size", -1, 0, 0, &n->bank);
    if (!status &&
        (n->hyper > 64 || n->hyper_rounds > 1000 || n->hyper_rank > 1 << 20 || (n->hyper && n->bank)))
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld residual rows, mixed in %lld rounds or by rank %lld",
                        (long long)n->hyper, (long long)n->hyper_rounds, (long long)n->hyper_rank);
    return status;
}

/* Residual rows of which the layers compute the first, and gates of which the largest numbers alone are kept:
 * how far over their mean, layer by layer. Files without that have it in the first ten layers. */
static ox_status oxi_llm_read_alternate(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    int64_t active = 0;
    if (!oxi_llm_has_trait(model, OXI_LLM_TRAIT(INPUTS))) return OX_OK;
    ox_status status = oxi_llm_read_int(model, file, "altup.num_inputs", -1, 2, 0, &n->alternate);
    if (!status) status = oxi_llm_read_int(model, file, "altup.active_idx", -1, 0, 0, &active);
    if (status || n->alternate == 0) return status;
    if (active != 0 || n->alternate > 64 || n->hyper > 0 || n->bank > 0 || n->stack > 0)
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm: %lld residual rows of which the layers compute row %lld",
                        (long long)n->alternate, (long long)active);
    const bool listed = oxi_llm_is_listed(model, file, "activation_sparsity_scale");
    for (int64_t i = 0; !status && i < model->config.layers; i++) {
        double cutoff = listed || i >= 10 ? -INFINITY : 1.6448533535003662;
        if (listed)
            (void)oxi_llm_find_number(model, file, "activation_sparsity_scale", i, false, &cutoff, &status);
        model->layers[i].cuts = isfinite(cutoff);
        model->layers[i].cutoff = cutoff;
    }
    return status;
}

/* Caps of what goes into the feed-forward's activation. */
static ox_status oxi_llm_read_caps(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    if (!oxi_llm_has_trait(model, OXI_LLM_TRAIT(SOFT_GATE))) return OX_OK;
    const ox_status status = oxi_llm_read_float(model, file, "activation.situ_beta", -1, 0, 1, &n->gate_cap);
    return status ? status
                  : oxi_llm_read_float(model, file, "activation.situ_linear_beta", -1, 0, 0, &n->up_cap);
}

/* Keys beyond the window, of blocks of positions: their ratio layer by layer, and how heads are merged. */
static ox_status oxi_llm_read_blocks(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    if (!oxi_llm_has_trait(model, OXI_LLM_TRAIT(KEY_IS_VALUE))) return OX_OK;
    ox_status status =
        oxi_llm_read_int(model, file, "attention.output_group_count", -1, 0, 0, &n->merge_groups);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.output_lora_rank", -1, 0, 0, &n->merge_rank);
    if (!status) status = oxi_llm_read_int(model, file, "hash_layer_count", -1, 0, 0, &n->table_layers);
    for (int64_t i = 0; !status && i < model->config.layers; i++) {
        oxi_llm_layer *l = &model->layers[i];
        status = oxi_llm_read_int(model, file, "attention.compress_ratios", i, 0, 0, &l->ratio);
        if (!status) /* files that do not say so mean blocks of 4 */
            status = oxi_llm_read_int(model, file, "attention.compress_overlaps", i, 0, l->ratio == 4,
                                      &l->overlaps);
        n->blocks = n->blocks || l->ratio > 0;
        if (!status && l->ratio > 65536)
            return oxi_fail(OX_ERR_FORMAT, "llm: %lld positions leave one key", (long long)l->ratio);
    }
    return status;
}

/* How many positions of an attention that sees the best keys alone see all: in blocks, the smallest that an
 * indexer chooses of. */
static int64_t oxi_llm_positions_of_best(const ox_llm *model, int64_t best) {
    int64_t ratio = 0;
    if (!oxi_llm_has_trait(model, OXI_LLM_TRAIT(KEY_IS_VALUE))) return best;
    for (int64_t i = 0; i < model->config.layers; i++) {
        const oxi_llm_layer *l = &model->layers[i];
        if (l->overlaps && (ratio == 0 || l->ratio < ratio)) ratio = l->ratio;
    }
    return ratio > 0 && best < INT32_MAX / ratio ? best * ratio : INT32_MAX;
}

/* Whether the first layer that needs one has an indexer; files may leave them out. */
static bool oxi_llm_has_indexer(const ox_llm *model, const ox_file *file) {
    char name[64];
    int64_t i = 0;
    if (!oxi_llm_has_trait(model, OXI_LLM_TRAIT(INDEXED))) return false;
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(KEY_IS_VALUE)))
        while (i < model->config.layers && !model->layers[i].overlaps) i++;
    (void)snprintf(name, sizeof name, "blk.%lld.indexer.attn_q_b.weight", (long long)i);
    return ox_file_has(file, name);
}

/* What is read and not computed with would give other logits: only where it makes no difference is it
 * passed over. */
static ox_status oxi_llm_read_sparse(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    int64_t loops;
    ox_status status = oxi_llm_read_int(model, file, "attention.indexer.top_k", -1, 1, INT32_MAX, &n->best);
    if (!status) status = oxi_llm_read_int(model, file, "num_loops", -1, 1, 1, &loops);
    if (status) return status;
    if (loops != 1)
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm: %lld passes through the layers are not supported",
                        (long long)loops);
    const int64_t all = oxi_llm_positions_of_best(model, n->best);
    if (all >= model->config.context) return OX_OK;
    n->sparse = all;
    n->indexed = oxi_llm_has_indexer(model, file);
    if (!n->indexed) return OX_OK;
    status = oxi_llm_read_int(model, file, "attention.indexer.head_count", -1, 1, OXI_LLM_NEEDED,
                              &n->index_heads);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.indexer.key_length", -1, 1, OXI_LLM_NEEDED,
                                  &n->index_size);
    if (!status && n->index_size < model->rope.size)
        return oxi_fail(OX_ERR_FORMAT, "llm: rope over %lld elements of an indexer's heads of %lld",
                        (long long)model->rope.size, (long long)n->index_size);
    return status;
}

/* GGUF's numbers: 0 none, 1 mean, 2 first, 3 last; what is none of these, or 0, pools as it usually is:
 * whoever asks for one row has room for one. */
static ox_status oxi_llm_read_pooling(ox_llm *model, const ox_file *file) {
    static const ox_llm_pooling kinds[] = {OX_LLM_POOLING_MODEL, OX_LLM_POOLING_MEAN, OX_LLM_POOLING_FIRST,
                                           OX_LLM_POOLING_LAST};
    int64_t kind;
    double number = 0;
    ox_status status = OX_OK;
    if (!oxi_llm_find_number(model, file, "pooling_type", -1, true, &number, &status)) return status;
    kind = number >= 0 && number < 4 ? (int64_t)number : -1;
    model->numbers.pooling = kind < 0 ? OX_LLM_POOLING_MODEL : kinds[kind];
    return status;
}

/* The activation that `key` names; *out stays where there is no such key. */
static ox_status oxi_llm_read_activation(const ox_llm *model, const ox_file *file, const char *key,
                                         const oxi_llm_activation **out) {
    ox_string name;
    const ox_status status = oxi_llm_read_text(model, file, key, &name);
    if (status || name.length == 0) return status;
    *out = oxi_llm_named_activation(name);
    if (*out) return OX_OK;
    char text[48];
    oxi_llm_copy_text(name, text, sizeof text);
    return oxi_fail(OX_ERR_UNSUPPORTED, "llm: the activation \"%s\" is not supported", text);
}

static ox_status oxi_llm_read_numbers(ox_llm *model, const ox_file *file) {
    oxi_llm_numbers *n = &model->numbers;
    int64_t parallel = 0, sequential = 0, behind = 0, causal = 1;
    n->block = model->family->block;
    n->activation = model->family->activation;
    ox_status status = oxi_llm_read_norm(model, file);
    if (!status) status = oxi_llm_read_activation(model, file, "hidden_activation", &n->activation);
    if (!status) status = oxi_llm_read_positions(model, file);
    if (!status) status = oxi_llm_read_scales(model, file);
    if (!status) status = oxi_llm_read_temperature(model, file);
    if (!status) status = oxi_llm_read_pooling(model, file);
    if (!status) status = oxi_llm_read_cycles(model, file);
    if (!status) status = oxi_llm_read_residual(model, file);
    if (!status) status = oxi_llm_read_alternate(model, file);
    if (!status) status = oxi_llm_read_caps(model, file);
    if (!status) status = oxi_llm_read_grams(model, file);
    if (!status) status = oxi_llm_read_blocks(model, file);
    if (!status) status = oxi_llm_read_sparse(model, file);
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.group_norm_groups", -1, 1, 0, &n->norm_groups);
    if (!status && oxi_llm_has_trait(model, OXI_LLM_TRAIT(INPUTS)))
        status = oxi_llm_read_int(model, file, "embedding_length_per_layer_input", -1, 0, 0, &n->input);
    if (!status) status = oxi_llm_read_int(model, file, "rescale_every_n_layers", -1, 0, 0, &n->halved);
    if (!status) status = oxi_llm_read_experts(model, file);
    if (!status) status = oxi_llm_read_bare_norms(model, file);
    if (!status) status = oxi_llm_read_latent(model, file);
    if (!status) status = oxi_llm_read_scale(model, file);
    if (!status && oxi_llm_has_trait(model, OXI_LLM_TRAIT(PARALLEL_FACT)))
        status = oxi_llm_read_int(model, file, "use_parallel_residual", -1, 0, 1, &parallel);
    if (!status) status = oxi_llm_read_int(model, file, "sequential_residual", -1, -1, 0, &sequential);
    if (!status) status = oxi_llm_read_int(model, file, "norms_behind_sums", -1, 0, 0, &behind);
    if (behind) n->block = OXI_LLM_BLOCK_SUM;
    if (parallel) n->block = OXI_LLM_BLOCK_PARALLEL;
    if (sequential > 0) n->block = OXI_LLM_BLOCK_PRE;
    if (!status)
        status = oxi_llm_read_int(model, file, "attention.causal", -1, 0, model->family->causal, &causal);
    n->causal = causal != 0;
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static ox_status oxi_llm_read_config(ox_llm *model, const ox_file *file) {
    ox_llm_config *c = &model->config;
    const ox_file_meta name = ox_file_meta_find(file, "general.name");
    if (name.type == OX_FILE_META_STRING) oxi_llm_copy_text(name.text, c->name, sizeof c->name);
    ox_status status = oxi_llm_read_sizes(model, file);
    if (!status) status = oxi_llm_read_numbers(model, file);
    if (!status) status = oxi_llm_read_layers(model, file);
    if (!status) status = oxi_llm_read_rope(model, file);
    if (status) return status;
    const oxi_llm_layer *first = oxi_llm_first_attending(model);
    c->hidden = first->hidden;
    c->heads = first->heads;
    c->kv_heads = first->kv_heads;
    c->key_size = first->key_size;
    c->value_size = first->value_size;
    c->norm_epsilon = model->numbers.epsilon;
    c->rope_base = model->rope.base;
    c->rope_scale = model->rope.scale;
    c->rope_size = model->rope.size;
    c->causal = model->numbers.causal;
    c->encoder = oxi_llm_has_trait(model, OXI_LLM_TRAIT(ENCODER));
    c->experts = model->numbers.experts;
    c->experts_used = model->numbers.experts_used;
    return OX_OK;
}
