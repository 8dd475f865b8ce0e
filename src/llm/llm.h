/* Language models from GGUF files: tokenizer, sampler, model, context with its key-value cache, generation.
 * The forward pass is written in the public operations, for any device; weights stay in the mapped file.
 * Zeroed descriptions mean good defaults; files and text may be hostile. */
#ifndef OX_LLM_LLM_H
#define OX_LLM_LLM_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

/* ---- tokenizer --------------------------------------------------------------------------------------------
 * Text to token ids and back. Read-only once it is open: any number of threads may use one. */

typedef struct ox_tokenizer ox_tokenizer;

/* ox_tokenizer_open - the tokenizer in a GGUF file's metadata; the file may be closed after that.
 * kinds     tokenizer.ggml.model "llama" (SentencePiece, merging by score), "gpt2" (byte-level BPE, split as
 *           the row of tokenizer.ggml.pre says), "whitespace" (the same for words between white space),
 *           "bert" (WordPiece), "t5" (Unigram), "plamo2", "rwkv"
 * errors    NULL: OX_ERR_NOT_FOUND a key is missing; OX_ERR_FORMAT a bad value; OX_ERR_UNSUPPORTED another
 *           kind; OX_ERR_NOMEM. untrusted input: yes */
OX_API ox_tokenizer *ox_tokenizer_open(const ox_file *file);
/* ox_tokenizer_open_json - the tokenizer of a tokenizer.json (Hugging Face), from its text.
 *   text    `length` bytes, -1 = up to its final 0; not needed after that
 *   config  the text of tokenizer_config.json, which names special tokens, or NULL
 * errors    NULL: OX_ERR_FORMAT not such a text; OX_ERR_UNSUPPORTED a step or a pattern that is not known (in
 *           words); OX_ERR_NOMEM. untrusted input: yes
 * Control tokens in a text are parsed only with `parse_special`. */
OX_API ox_tokenizer *ox_tokenizer_open_json(const char *text, int64_t length, const char *config,
                                            int64_t config_length);
OX_API void ox_tokenizer_close(ox_tokenizer *tokenizer);
OX_API int64_t ox_tokenizer_count(const ox_tokenizer *tokenizer); /* ids are 0 .. count - 1 */

typedef struct ox_tokenizer_encode_desc {
    bool bare;          /* no BOS and EOS around the text; otherwise as the file says */
    bool parse_special; /* control tokens in the text ("<s>") become their ids; otherwise plain text */
} ox_tokenizer_encode_desc;

/* ox_tokenizer_encode - text to ids.
 *   text    UTF-8 of `length` bytes, -1 = up to its final 0; what is not UTF-8 becomes byte tokens
 *           (SentencePiece, RWKV); otherwise U+FFFD, of a tokenizer.json for each longest
 *           start of a character, else for each byte
 *   desc    NULL = zeroed
 *   out     gets at most `room` ids; NULL with room 0 to measure
 * returns   how many ids the whole text has; -1 on error
 * errors    OX_ERR_ARG a text of 2^28 bytes or more; OX_ERR_FORMAT the vocabulary has no token for it;
 *           OX_ERR_UNSUPPORTED the file's steps make it more than 32 times as long, or a pattern takes too
 *           many steps; OX_ERR_NOMEM. untrusted input: yes; n log n time */
OX_API int64_t ox_tokenizer_encode(const ox_tokenizer *tokenizer, const char *text, int64_t length,
                                   const ox_tokenizer_encode_desc *desc, int32_t *out, int64_t room);

/* Where a token comes from. */
typedef struct ox_token_place {
    int64_t start, end; /* bytes of the text that it stands for; whole characters */
    int32_t text;       /* 0 the first text, 1 the pair; -1 = neither: a special token around them */
    int32_t type;       /* which segment it belongs to (BERT's token type) */
} ox_token_place;

/* ox_tokenizer_encode_pair - one text, or two as a model for pairs wants them.
 *   pair    NULL = there is none
 *   places  for each id; NULL = not wanted
 * The rest as ox_tokenizer_encode. */
OX_API int64_t ox_tokenizer_encode_pair(const ox_tokenizer *tokenizer, const char *text, int64_t length,
                                        const char *pair, int64_t pair_length,
                                        const ox_tokenizer_encode_desc *desc, int32_t *out,
                                        ox_token_place *places, int64_t room);

/* ox_tokenizer_piece - the bytes that `token` adds to the text after `previous` (-1 = at its start).
 * May be part of a UTF-8 character (byte tokens). Control and unknown tokens add nothing; the space that
 * encoding puts before a text is taken off again. Ids out of range: length 0. Valid like the tokenizer. */
OX_API ox_string ox_tokenizer_piece(const ox_tokenizer *tokenizer, int32_t previous, int32_t token);
/* The pieces of `count` ids into `out`, at most `room` bytes with a final 0 (NULL with room 0 to measure).
 * Returns the length of the whole text. */
OX_API size_t ox_tokenizer_decode(const ox_tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                                  char *out, size_t room);


typedef struct ox_tokenizer_decode_desc {
    bool keep_special; /* control tokens as they are written; otherwise they add nothing */
} ox_tokenizer_decode_desc;
/* The same with options; desc NULL = zeroed. */
OX_API size_t ox_tokenizer_decode_with(const ox_tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                                       const ox_tokenizer_decode_desc *desc, char *out, size_t room);

/* Decodes ids one after the other: all that ox_token_stream_push and ox_token_stream_end give is together
 * what ox_tokenizer_decode gives of all ids, and no part ends within a character. What a later id may still
 * change is held back: the start of a character, a run of byte tokens, of which one that is no UTF-8 makes
 * U+FFFD of all, spaces that are taken off the end, and all of a text where decoders look at the whole of
 * it. Zeroed at the start of a text. */
typedef struct ox_token_stream {
    int64_t count; /* ids so far */
    int32_t previous;
    uint8_t pending_count; /* bytes of a character that is not whole yet */
    char pending[4];
    int32_t *held; /* [held_count] ids that are no text yet; released by ox_token_stream_end */
    int64_t held_count, held_room;
    int64_t shown;             /* ids whose text was decoded */
    int64_t leading, trailing; /* of what is taken off both ends: gone so far, held back */
} ox_token_stream;
/* The text that `token` makes certain, into `out` with a final 0. Returns its length; if that is not 0 and
 * not below `room`, nothing was done (three bytes for each byte token of a run, else the longest piece and 4
 * bytes, are enough). -1 on error. */
OX_API int64_t ox_token_stream_push(ox_token_stream *stream, const ox_tokenizer *tokenizer, int32_t token,
                                    char *out, size_t room);
/* The rest of the text, as above, and the stream as zeroed. Without a tokenizer the rest is dropped. */
OX_API int64_t ox_token_stream_end(ox_token_stream *stream, const ox_tokenizer *tokenizer, char *out,
                                   size_t room);

/* The numbers are those of GGUF's tokenizer.ggml.token_type. */
typedef enum ox_token_type {
    OX_TOKEN_UNDEFINED = 0,
    OX_TOKEN_NORMAL,
    OX_TOKEN_UNKNOWN,
    OX_TOKEN_CONTROL,
    OX_TOKEN_USER_DEFINED,
    OX_TOKEN_UNUSED,
    OX_TOKEN_BYTE,
    OX_TOKEN_TYPE_COUNT
} ox_token_type;

typedef struct ox_token_info {
    ox_string text; /* as the file has it: U+2581 for a space, "<0x0A>" for a byte */
    ox_token_type type;
    float score;
} ox_token_info;

/* Zeros out of range. */
OX_API ox_token_info ox_tokenizer_get_token(const ox_tokenizer *tokenizer, int32_t token);
/* The id of a text as the file has it (the last of equals); -1 = none. length -1 = up to its final 0. */
OX_API int32_t ox_tokenizer_find(const ox_tokenizer *tokenizer, const char *text, int64_t length);

typedef enum ox_token_role {
    OX_TOKEN_ROLE_BOS = 1, /* begin of text */
    OX_TOKEN_ROLE_EOS,     /* end of text */
    OX_TOKEN_ROLE_EOT,     /* end of a turn */
    OX_TOKEN_ROLE_UNKNOWN,
    OX_TOKEN_ROLE_EOM, /* end of a message */
    OX_TOKEN_ROLE_SEP, /* between two texts, and behind them */
    OX_TOKEN_ROLE_PAD,
    OX_TOKEN_ROLE_CLS,
    OX_TOKEN_ROLE_MASK,
    OX_TOKEN_ROLE_FIM_PRE, /* fill in the middle: before what comes before the gap, and so on */
    OX_TOKEN_ROLE_FIM_SUF,
    OX_TOKEN_ROLE_FIM_MID,
    OX_TOKEN_ROLE_FIM_PAD,
    OX_TOKEN_ROLE_FIM_REP,
    OX_TOKEN_ROLE_FIM_SEP,
    OX_TOKEN_ROLE_COUNT
} ox_token_role;
OX_API int32_t ox_tokenizer_role(const ox_tokenizer *tokenizer, ox_token_role which); /* -1 = it has none */
/* Whether generation should stop at this token: EOS, EOT, EOM, what reads like one of them ("<|im_end|>"), or
 * BOS, which starts another text. */
OX_API bool ox_tokenizer_is_end(const ox_tokenizer *tokenizer, int32_t token);

/* ---- sampler ----------------------------------------------------------------------------------------------
 * Picks a token by the logits. The filters come first, in this order: top_k, top_p, min_p; temperature scales
 * what is left. The n-th pick of a seed draws the same number everywhere (Philox). One thread at a time. */

typedef struct ox_llm_sampler ox_llm_sampler;

typedef struct ox_llm_sampler_desc {
    double temperature; /* 0 = greedy: the largest logit, the first of equals; the rest is not used then */
    int64_t top_k;      /* keeps the k likeliest tokens; 0 = all */
    double top_p;       /* keeps the fewest that together reach probability p; 0 or >= 1 = all */
    double min_p;       /* keeps those at least p times as likely as the likeliest; 0 = all */
    uint64_t seed;
} ox_llm_sampler_desc;

/* desc NULL = zeroed. errors NULL: OX_ERR_ARG an option negative or NaN, min_p above 1; OX_ERR_NOMEM
 * source    top_p: Holtzman et al. 2020; min_p: Nguyen et al. 2024 */
OX_API ox_llm_sampler *ox_llm_sampler_open(const ox_llm_sampler_desc *desc);
OX_API void ox_llm_sampler_close(ox_llm_sampler *sampler);
/* The next token from logits [count]; -infinity = never.
 * errors    -1: OX_ERR_ARG no token is possible, a logit is NaN or +infinity, count above 2^31 - 1;
 *           OX_ERR_NOMEM */
OX_API int32_t ox_llm_sampler_pick(ox_llm_sampler *sampler, const float *logits, int64_t count);

/* ---- chat templates --------------------------------------------------------------------------------------
 * The Jinja of tokenizer.chat_template and chat_template.jinja, rendered as Hugging Face's
 * apply_chat_template does: trim_blocks, lstrip_blocks, loop controls, generation blocks, tojson without HTML
 * escapes, raise_exception, strftime_now. Blocks render in place. No includes, no inheritance. */

typedef struct ox_llm_template ox_llm_template;

/* ox_llm_template_open - a template from its source, parsed once; read-only: any number of threads may use
 * one.
 *   text      UTF-8 of `length` bytes, at most 4 MiB, -1 = up to its final 0; not kept
 * errors    NULL: OX_ERR_FORMAT bad syntax, with line and column, or nested too deep; OX_ERR_NOMEM.
 *           untrusted input: yes
 * source    Jinja 3.1 */
OX_API ox_llm_template *ox_llm_template_open(const char *text, int64_t length);
OX_API void ox_llm_template_close(ox_llm_template *t);

typedef struct ox_llm_template_desc {
    int64_t now;   /* what strftime_now says, in seconds since 1970 of the calendar that is meant; 0 = UTC */
    int64_t steps; /* of work at most: nodes, elements, pieces of text; 0 = 20 million, some seconds */
    size_t memory; /* bytes of values and text at most, beside the JSON's; 0 = 256 MiB */
    uint64_t seed; /* of the filter random, whose n-th choice of a render is the same everywhere */
} ox_llm_template_desc;

/* ox_llm_template_render - the text that a template makes of values.
 *   json      one object of `bytes` bytes, -1 = up to its final 0: messages, tools, add_generation_prompt,
 *             bos_token, eos_token and whatever else the template names
 *   desc      NULL = zeroed
 *   length    NULL, or gets the bytes of the text
 * returns   the text, UTF-8 with a final 0, for ox_llm_template_free
 * errors    NULL: OX_ERR_FORMAT bad JSON; what the template refuses (raise_exception, with its message) or
 *           cannot do with these values, with line and column; integers beyond 64 bits; more steps, memory
 *           or depth than allowed; OX_ERR_NOMEM. untrusted input: yes */
OX_API char *ox_llm_template_render(const ox_llm_template *t, const char *json, int64_t bytes,
                                    const ox_llm_template_desc *desc, int64_t *length);
OX_API void ox_llm_template_free(char *text);

/* ---- model --------------------------------------------------------------------------------------------- */

typedef struct ox_llm ox_llm;

/* What the file says about the model. Sizes count elements. */
typedef struct ox_llm_config {
    char name[64];            /* general.name, cut; unprintable bytes are '?' */
    const char *architecture; /* GGUF's general.architecture: "llama", "qwen3" ... */
    int64_t vocabulary;       /* rows of the embedding; logits of a token */
    int64_t layers;
    int64_t width;                /* embedding_length */
    int64_t embedding;            /* numbers of a row of ox_llm_embed: width, if no product makes it */
    bool late; /* late interaction (ColBERT): products take each token's row, not the pooled one */
    int64_t hidden;               /* feed_forward_length */
    int64_t heads, kv_heads;      /* heads is a multiple of kv_heads */
    int64_t key_size, value_size; /* a head's */
    int64_t context;              /* positions it was trained for */
    double norm_epsilon;
    double rope_base, rope_scale; /* of the frequencies; of the positions */
    int64_t rope_size;            /* elements of a head that are rotated */
    bool tied;                    /* the embedding is the output matrix too */
    bool causal;                   /* a token sees those before it; else all of the text */
    bool encoder;                  /* hidden states, no logits: ox_llm_embed alone */
    int64_t encoder_layers; /* > 0: it answers another text, which ox_llm_encode takes; `layers` decode */
    int32_t start_token;    /* what decoding begins with then */
    int64_t experts, experts_used; /* of a layer; of them, for a token; 0 = there are none */
    int64_t parameters;
    int64_t bytes; /* of the weights, as they lie in the file */
} ox_llm_config;

/* ox_llm_open - a model from what it lies in; its weights stay there, mapped, where they need no change.
 *   path      a GGUF file, a Hugging Face folder, or llama2.c's .bin
 *   device    where it computes; NULL = CPU
 * dtypes    weights of any float or block type that ox_linear takes; a folder's MXFP4, and its 8-bit floats
 *           with scales, which become bf16 in memory
 * errors    NULL: OX_ERR_IO; OX_ERR_FORMAT bad or contradicting sizes; OX_ERR_NOT_FOUND a key or tensor is
 *           missing; OX_ERR_SHAPE, OX_ERR_DTYPE of a tensor; OX_ERR_UNSUPPORTED an architecture, or something
 *           that one does, which is not read here; OX_ERR_NOMEM. untrusted input: yes
 * mapped    whoever cuts the file short while it is open takes away weights: the program gets SIGBUS at the
 *           next one that is read. Replace a model by writing another file and renaming it, which leaves
 *           this one as it is; or ox_file_open_copy, which keeps nothing mapped, and ox_llm_open_file */
OX_API ox_llm *ox_llm_open(const char *path, ox_device *device);
/* The same from a file that is open, on its device; it may be closed afterwards. If ox_file_open_copy
 * opened it, weights of block types are repacked in their place (ox_prepack): faster, in the same memory.
 * That is not for when other threads multiply with weights of the same ox_file. */
OX_API ox_llm *ox_llm_open_file(ox_file *file);
OX_API void ox_llm_close(ox_llm *model); /* its contexts keep it as long as they live */
OX_API const ox_llm_config *ox_llm_get_config(const ox_llm *model);
/* The model's own. NULL: OX_ERR_NOT_FOUND if its file has none, OX_ERR_UNSUPPORTED if it is of a kind that is
 * not read here; ids still work. */
OX_API const ox_tokenizer *ox_llm_tokenizer(const ox_llm *model);
/* The source of its chat template, for ox_llm_template_open; NULL = it has none. Valid like the model. */
OX_API const char *ox_llm_chat_template(const ox_llm *model);

/* ---- context: one text, with its keys and values ----------------------------------------------------------
 * One thread at a time; a model may have many contexts. */

typedef struct ox_llm_context ox_llm_context;

typedef struct ox_llm_context_desc {
    int64_t capacity; /* positions at most; 0 = as trained, at most 4096. Memory grows with the text: each
                       * position takes layers * kv_heads * (key_size + value_size) numbers */
    ox_dtype cache;   /* of these numbers: OX_F32 (the default), OX_F16, OX_BF16 or OX_Q8_0 */
    int64_t batch;    /* tokens at a time in prefill: more is faster and takes more memory; 0 = 512 */
} ox_llm_context_desc;

/* desc NULL = zeroed. errors NULL: OX_ERR_ARG, OX_ERR_DTYPE, OX_ERR_NOMEM (later too: ox_llm_decode) */
OX_API ox_llm_context *ox_llm_context_open(ox_llm *model, const ox_llm_context_desc *desc);
OX_API void ox_llm_context_close(ox_llm_context *context);
OX_API int64_t ox_llm_capacity(const ox_llm_context *context);
OX_API int64_t ox_llm_length(const ox_llm_context *context); /* positions in use */
/* Forgets all positions from `length` on. errors OX_ERR_ARG more than there are; OX_ERR_UNSUPPORTED models
 * with recurrent layers (Mamba, delta nets ...) forget all positions or none: their state is of the whole
 * text */
OX_API ox_status ox_llm_rewind(ox_llm_context *context, int64_t length);

/* ox_llm_encode - the text that a model with an encoder (T5) answers; ox_llm_decode begins its answer with
 * start_token. Models without one take all text by ox_llm_decode.
 * The context keeps what the encoder made of it until the next one, and is emptied.
 * errors    as ox_llm_decode; OX_ERR_UNSUPPORTED the model has no encoder. The context is as before then */
OX_API ox_status ox_llm_encode(ox_llm_context *context, const int32_t *tokens, int64_t count);
/* ox_llm_decode - runs `count` tokens that follow those in the context.
 *   logits    NULL, or room for [vocabulary]: what comes after the last one
 * Where tokens see all of a text (config.causal is false: diffusion models), the tokens of a call are one:
 * they see each other, and none of those in the context.
 * errors    OX_ERR_INDEX an id out of range; OX_ERR_ARG no token, more than there is room for, or nothing
 *           encoded yet; what the operations report. The context is as before then.
 * numerics  float weights, f32 cache: about 1e-5 of float64; the same bits for any thread count */
OX_API ox_status ox_llm_decode(ox_llm_context *context, const int32_t *tokens, int64_t count, float *logits);
/* The same with what comes after each of them: logits [count, vocabulary]. */
OX_API ox_status ox_llm_decode_all(ox_llm_context *context, const int32_t *tokens, int64_t count,
                                   float *logits);
/* The same for one token. On a GPU the step after it is recorded while this one runs, and goes in one
 * submission when its token comes, unless the device was used for something else in between. */
OX_API ox_status ox_llm_decode_one(ox_llm_context *context, int32_t token, float *logits);
/* The same without a copy: the logits [vocabulary] where they are, which stay until the next call with this
 * context, or with another one of its device. NULL: an error. */
OX_API const float *ox_llm_step(ox_llm_context *context, int32_t token);

/* ---- embeddings
 * ------------------------------------------------------------------------------------------- */

typedef enum ox_llm_pooling {
    OX_LLM_POOLING_MODEL = 0, /* as the model's file says: the mean where it says none */
    OX_LLM_POOLING_NONE,      /* no pooling: a row for each token */
    OX_LLM_POOLING_MEAN,
    OX_LLM_POOLING_FIRST, /* the first token's (CLS) */
    OX_LLM_POOLING_LAST,  /* the last token's */
    OX_LLM_POOLING_COUNT
} ox_llm_pooling;

typedef struct ox_llm_embed_desc {
    ox_llm_pooling pooling;
    bool normalize;       /* divides each row by its length */
    const int32_t *types; /* of each token, of models that have them (0 first text, 1 second); NULL = all 0 */
} ox_llm_embed_desc;

/* ox_llm_embed - what a model makes of a text: hidden states behind the last norm, pooled; the encoder's, if
 * the model has one. Products behind the model take what was pooled (EmbeddingGemma, LaBSE), or are pooled
 * themselves: those of each token (ColBERT), where ox_llm_config says `late`.
 *   desc      NULL = zeroed
 *   out       [embedding] of ox_llm_config, or with OX_LLM_POOLING_NONE a row for each token: the hidden
 *             states [count, width]; of a model that is `late` [count, embedding]
 * The context is emptied first, and holds the text afterwards.
 * errors    as ox_llm_decode; OX_ERR_ARG another pooling; OX_ERR_INDEX a type out of range */
OX_API ox_status ox_llm_embed(ox_llm_context *context, const int32_t *tokens, int64_t count,
                              const ox_llm_embed_desc *desc, float *out);

/* ---- generation ---------------------------------------------------------------------------------------- */

typedef enum ox_llm_stop {
    OX_LLM_STOP_NONE = 0,
    OX_LLM_STOP_STEPS,   /* as many tokens as were asked for */
    OX_LLM_STOP_END,     /* the model ended the text */
    OX_LLM_STOP_CONTEXT, /* the context is full */
    OX_LLM_STOP_CALLER   /* the callback said so */
} ox_llm_stop;

typedef struct ox_llm_generate_desc {
    int64_t steps;            /* new tokens at most; 0 = until the context is full */
    ox_llm_sampler_desc sampling; /* zeroed = greedy */
    bool past_end;            /* goes on after an end token */
    bool parse_special;       /* of the prompt, as in ox_tokenizer_encode_desc */
    /* Called for each new token with its bytes, not terminated (see ox_tokenizer_piece). false stops. */
    bool (*text)(void *user, const char *bytes, int64_t length, int32_t token);
    void *user;
} ox_llm_generate_desc;

typedef struct ox_llm_generate_result {
    int64_t prompt_tokens, new_tokens;
    double prompt_seconds; /* prefill: until the first logits */
    double new_seconds;    /* decode: from there on, new_tokens - 1 steps */
    ox_llm_stop stop;
} ox_llm_generate_result;

/* ox_llm_generate - continues a text, which goes after what the context holds.
 *   prompt    UTF-8, terminated. "" or NULL: the model begins by itself, or goes on where the last
 *             ox_llm_generate ended. Models with an encoder read it there, and answer it; "" or NULL
 *             answers what ox_llm_encode read
 *   desc      NULL = zeroed; result may be NULL
 * BOS comes before the first prompt of a context, if the file says so. The last new token is not in the
 * context yet: a next ox_llm_generate puts it there first.
 * errors    as ox_llm_tokenizer, ox_tokenizer_encode, ox_llm_decode, ox_llm_sampler_pick; OX_ERR_ARG there is
 *           nothing to begin with. untrusted input: yes */
OX_API ox_status ox_llm_generate(ox_llm_context *context, const char *prompt,
                                 const ox_llm_generate_desc *desc, ox_llm_generate_result *result);

OX_EXTERN_C_END
#endif
#endif
