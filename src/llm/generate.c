/* Generation: a prompt is run at once, then token by token what the sampler picks.
 * The only part that knows both tokenizer and context; text goes to a callback as it is made.
 * Called by users; examples/generate.c shows it. */

typedef struct oxi_generation {
    ox_llm_context *context;
    const ox_tokenizer *tokenizer;
    const ox_llm_generate_desc *desc;
    ox_llm_generate_result result;
    int32_t *prompt; /* [prompt_room] */
    int64_t prompt_room;
    float *logits; /* [vocabulary] */
    ox_llm_sampler *sampler;
} oxi_generation;

/* A model with an encoder reads the prompt there, and begins its answer. */
static ox_status oxi_generate_encode(oxi_generation *g, const char *prompt) {
    ox_tokenizer_encode_desc encode;
    encode.bare = false;
    encode.parse_special = g->desc->parse_special;
    const int64_t count = ox_tokenizer_encode(g->tokenizer, prompt, -1, &encode, NULL, 0);
    if (count < 0) return oxi_llm_error();
    g->prompt = (int32_t *)oxi_alloc((size_t)(count + 1) * sizeof *g->prompt);
    if (!g->prompt) return OX_ERR_NOMEM;
    g->prompt_room = count + 1;
    ox_status status = ox_tokenizer_encode(g->tokenizer, prompt, -1, &encode, g->prompt, count) < 0
                           ? oxi_llm_error()
                           : ox_llm_encode(g->context, g->prompt, count);
    g->prompt[0] = g->context->model->config.start_token;
    g->result.prompt_tokens = 1;
    return status;
}

/* What goes into the context: the last token of the text before, or BOS; then the prompt's own tokens. */
static ox_status oxi_generate_prepare(oxi_generation *g, const char *prompt) {
    ox_tokenizer_encode_desc encode;
    const char *text = prompt ? prompt : "";
    if (g->context->encoder && *text) return oxi_generate_encode(g, text);
    encode.bare = true;
    encode.parse_special = g->desc->parse_special;
    const int64_t own = ox_tokenizer_encode(g->tokenizer, text, -1, &encode, NULL, 0);
    if (own < 0) return oxi_llm_error();
    int32_t before = g->context->pending;
    if (g->context->length == 0 && before < 0 && (g->tokenizer->add_bos || own == 0)) {
        before = g->context->encoder ? g->context->model->config.start_token
                                     : ox_tokenizer_role(g->tokenizer, OX_TOKEN_ROLE_BOS);
    }
    const int64_t extra = before >= 0;
    if (own + extra == 0)
        return oxi_fail(OX_ERR_ARG, "llm: no prompt, and nothing to go on from: %s",
                        g->context->length > 0 ? "what is in the context was not generated"
                                               : "the model has no begin-of-text token");
    g->prompt = (int32_t *)oxi_alloc((size_t)(own + extra) * sizeof *g->prompt);
    if (!g->prompt) return OX_ERR_NOMEM;
    g->prompt_room = g->result.prompt_tokens = own + extra;
    g->prompt[0] = before;
    return ox_tokenizer_encode(g->tokenizer, text, -1, &encode, g->prompt + extra, own) < 0 ? oxi_llm_error()
                                                                                            : OX_OK;
}

/* Hands the piece out; OX_LLM_STOP_NONE = go on. */
static ox_llm_stop oxi_generate_emit(const oxi_generation *g, int32_t previous, int32_t token) {
    const ox_llm_generate_desc *desc = g->desc;
    const ox_string piece = ox_tokenizer_piece(g->tokenizer, previous, token);
    if (desc->text && !desc->text(desc->user, piece.data, piece.length, token)) return OX_LLM_STOP_CALLER;
    if (!desc->past_end && ox_tokenizer_is_end(g->tokenizer, token)) return OX_LLM_STOP_END;
    if (desc->steps > 0 && g->result.new_tokens >= desc->steps) return OX_LLM_STOP_STEPS;
    return g->context->length >= g->context->capacity ? OX_LLM_STOP_CONTEXT : OX_LLM_STOP_NONE;
}

static ox_status oxi_generate_run(oxi_generation *g) {
    ox_llm_context *context = g->context;
    const int64_t vocabulary = context->model->config.vocabulary;
    int32_t previous = g->prompt[g->result.prompt_tokens - 1];
    const float *logits = g->logits;
    double clock = oxi_now();
    ox_status status = ox_llm_decode(context, g->prompt, g->result.prompt_tokens, g->logits);
    g->result.prompt_seconds = oxi_now() - clock;
    clock += g->result.prompt_seconds;
    while (!status && !g->result.stop) {
        const int32_t token = ox_llm_sampler_pick(g->sampler, logits, vocabulary);
        if (token < 0) return oxi_llm_error();
        g->result.new_tokens++;
        context->pending = token;
        g->result.stop = oxi_generate_emit(g, previous, token);
        if (!g->result.stop && !(logits = ox_llm_step(context, token))) status = oxi_llm_error();
        previous = token;
        g->result.new_seconds = oxi_now() - clock;
    }
    return status;
}

OX_API ox_status ox_llm_generate(ox_llm_context *context, const char *prompt,
                                 const ox_llm_generate_desc *desc, ox_llm_generate_result *result) {
    ox_llm_generate_desc zero;
    memset(&zero, 0, sizeof zero);
    if (result) memset(result, 0, sizeof *result);
    if (!context) return oxi_fail_missing("llm: the context");
    oxi_generation g;
    memset(&g, 0, sizeof g);
    g.context = context;
    g.desc = desc ? desc : &zero;
    const size_t logits_bytes = (size_t)context->model->config.vocabulary * sizeof *g.logits;
    g.tokenizer = ox_llm_tokenizer(context->model);
    g.sampler = g.tokenizer ? ox_llm_sampler_open(&g.desc->sampling) : NULL;
    g.logits = g.sampler ? (float *)oxi_alloc(logits_bytes) : NULL;
    ox_status status = g.logits ? oxi_generate_prepare(&g, prompt) : oxi_llm_error();
    if (!status) status = oxi_generate_run(&g);
    oxi_free(g.prompt, (size_t)g.prompt_room * sizeof *g.prompt);
    oxi_free(g.logits, logits_bytes);
    ox_llm_sampler_close(g.sampler);
    if (result) *result = g.result;
    return status;
}
