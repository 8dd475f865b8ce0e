/* oxtorch_llm.h - 0.1.0 - language models from GGUF files, over oxtorch.h - SPDX-License-Identifier: MIT
 * Generated from src/ by tools/amalgamate.c. Do not edit: edit src/ and run make headers.
 *
 * DO THIS
 *     #define OX_IMPLEMENTATION        in exactly one source file, before the include
 *     #include "oxtorch_llm.h"         oxtorch.h lies beside it
 *     cc app.c -lm -lpthread
 *
 *     bool print(void *user, const char *bytes, int64_t length, int32_t token) {
 *         return fwrite(bytes, 1, (size_t)length, stdout) == (size_t)length;
 *     }
 *     ...
 *     ox_llm *model = ox_llm_open("model.gguf", NULL);                   weights stay in the mapped file
 *     ox_llm_context *context = ox_llm_context_open(model, NULL);        one text with its keys and values
 *     ox_llm_generate_desc desc;
 *     memset(&desc, 0, sizeof desc);                                     greedy, until the text ends
 *     desc.text = print;
 *     if (ox_llm_generate(context, "Once upon a time", &desc, NULL)) puts(ox_error_text());
 *     ox_llm_context_close(context);
 *     ox_llm_close(model);
 *
 * THE PARTS, each of use alone
 *     ox_tokenizer      text to ids and back
 *     ox_llm            the weights and sizes of a model; any number of contexts share one
 *     ox_llm_context    ox_llm_decode runs ids (a prompt in batches, or one by one) and gives logits
 *     ox_llm_template   chat templates: messages to a prompt
 *     ox_llm_reply      what the model said, back to a message: content, reasoning, tool calls
 *     ox_llm_sampler        logits to the next id: greedy, temperature, top_k, top_p, min_p
 *     ox_gguf_writer    GGUF files: metadata of every type, tensors of every dtype that the format has
 *     ox_llm_quantize       a GGUF file with smaller weights, by a mix of types such as "Q4_K_M"
 *     ox_llm_importance     how much each column of a weight matters: from a file, or heard while a text runs
 *     ox_llm_convert    models of Hugging Face folders and of llama2.c as GGUF files, some sixty model types
 *
 * A PROMPT FROM MESSAGES
 *     ox_llm_template *t = ox_llm_template_open(chat_template, -1);      its Jinja source
 *     char *prompt = ox_llm_template_render(t, "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}],"
 *                                              " \"add_generation_prompt\": true}", -1, NULL, NULL);
 *     if (!prompt) puts(ox_error_text());                                line, column and what is wrong
 *     ox_llm_template_free(prompt);
 *     ox_llm_template_close(t);
 *
 * AND BACK
 *     ox_llm_reply_desc reply_desc;
 *     memset(&reply_desc, 0, sizeof reply_desc);
 *     reply_desc.source = chat_template;                                 it decides the format
 *     reply_desc.prompt = prompt;                                        its end may have begun the reasoning
 *     ox_llm_reply *reply = ox_llm_reply_open(&reply_desc);
 *     ox_llm_reply_feed(reply, bytes, length);                           piece by piece, as the text comes
 *     ox_llm_reply_end(reply);
 *     puts(ox_llm_reply_message(reply, NULL));                           JSON for the next "messages"
 *     ox_llm_reply_close(reply);
 *     A callback gets content, reasoning and the names and arguments of tool calls as they come, and nothing
 *     of the marks around them. Formats: Hermes and Qwen, Qwen3-Coder, Llama 3, Mistral, DeepSeek, GLM, Kimi,
 *     MiniMax, GPT-OSS, Command, Granite, Gemma, Functionary and others (ox_llm_reply_format_name).
 *
 * A MODEL WITH SMALLER WEIGHTS
 *     ox_llm_quantize_desc desc;
 *     memset(&desc, 0, sizeof desc);
 *     desc.mix = "Q4_K_M";
 *     if (ox_llm_quantize("model-f16.gguf", "model.gguf", &desc)) puts(ox_error_text());
 *
 * WHAT IT READS
 *     GGUF files, Hugging Face folders as they are (config.json, safetensors, tokenizer.json), llama2.c's
 *     .bin;
 *     more than 120 architectures (src/llm/model/families.def): LLaMA, Mistral, Mixtral, Phi, Gemma, Qwen,
 *     DeepSeek, GPT-OSS, GPT-2, GPT-NeoX, BLOOM, Falcon, MPT, StarCoder, StableLM, OLMo, Granite,
 *     Command-R, GLM,
 *     EXAONE, Nemotron, MiniCPM, LLaMA 4 and others; BERT and its kin as encoders. Every float and block
 *     weight
 *     type that oxtorch.h reads. Tokenizers: SentencePiece, byte-level BPE, WordPiece, Unigram, RWKV.
 *
 * WHAT IT DOES NOT, and says so in words when it is asked to
 *     Encoders with decoders (T5), RWKV, images and sound, attention to the best positions alone.
 */
#ifndef OX_TORCH_LLM_H
#define OX_TORCH_LLM_H

#ifndef OX_TORCH_FILE
#define OX_TORCH_FILE "oxtorch.h"
#endif
#include OX_TORCH_FILE
/* >>llm/llm.h */
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
 *           the row of tokenizer.ggml.pre says), "bert" (WordPiece), "t5" (Unigram), "rwkv"
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
 *   desc    NULL = zeroed
 *   out     gets at most `room` ids; NULL with room 0 to measure
 * returns   how many ids the whole text has; -1 on error
 * errors    OX_ERR_ARG a text of 2^28 bytes or more; OX_ERR_FORMAT the vocabulary has no token for it;
 *           OX_ERR_NOMEM. untrusted input: yes; n log n time */
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

/* Decodes ids one after the other, never a part of a character. Zeroed at the start of a text. */
typedef struct ox_token_stream {
    int64_t count; /* ids so far */
    int32_t previous;
    uint8_t pending_count; /* bytes of a character that is not whole yet */
    char pending[4];
} ox_token_stream;
/* The whole characters that `token` completes, into `out` with a final 0. Returns their length; if it is not
 * below `room` (the longest piece and 4 bytes are enough), nothing was done. -1 on error. */
OX_API int64_t ox_token_stream_push(ox_token_stream *stream, const ox_tokenizer *tokenizer, int32_t token,
                                    char *out, size_t room);

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
    int64_t experts, experts_used; /* of a layer; of them, for a token; 0 = there are none */
    int64_t parameters;
    int64_t bytes; /* of the weights, as they lie in the file */
} ox_llm_config;

/* ox_llm_open - a model from what it lies in; its weights stay there, mapped, where they need no change.
 *   path      a GGUF file, a Hugging Face folder, or llama2.c's .bin
 *   device    where it computes; NULL = CPU
 * dtypes    weights of any float or block type that ox_linear takes
 * errors    NULL: OX_ERR_IO; OX_ERR_FORMAT bad or contradicting sizes; OX_ERR_NOT_FOUND a key or tensor is
 *           missing; OX_ERR_SHAPE, OX_ERR_DTYPE of a tensor; OX_ERR_UNSUPPORTED an architecture, or something
 *           that one does, which is not read here; OX_ERR_NOMEM. untrusted input: yes */
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

/* ox_llm_decode - runs `count` tokens that follow those in the context.
 *   logits    NULL, or room for [vocabulary]: what comes after the last one
 * errors    OX_ERR_INDEX an id out of range; OX_ERR_ARG no token, or more than there is room for; what the
 *           operations report. The context is as before then.
 * numerics  float weights, f32 cache: about 1e-5 of float64; the same bits for any thread count */
OX_API ox_status ox_llm_decode(ox_llm_context *context, const int32_t *tokens, int64_t count, float *logits);
/* The same with what comes after each of them: logits [count, vocabulary]. */
OX_API ox_status ox_llm_decode_all(ox_llm_context *context, const int32_t *tokens, int64_t count,
                                   float *logits);
/* The same for one token. On a GPU the step after it is recorded while this one runs, and goes in one
 * submission when its token comes, unless the device was used for something else in between. */
OX_API ox_status ox_llm_decode_one(ox_llm_context *context, int32_t token, float *logits);

/* ---- embeddings
 * ------------------------------------------------------------------------------------------- */

typedef enum ox_llm_pooling {
    OX_LLM_POOLING_MODEL = 0, /* as the model's file says: the mean where it does not */
    OX_LLM_POOLING_NONE,      /* no pooling: a row for each token */
    OX_LLM_POOLING_MEAN,
    OX_LLM_POOLING_FIRST, /* the first token's (CLS) */
    OX_LLM_POOLING_LAST,  /* the last token's */
    OX_LLM_POOLING_COUNT
} ox_llm_pooling;

typedef struct ox_llm_embed_desc {
    ox_llm_pooling pooling;
    bool normalize;       /* divides the pooled row by its length */
    const int32_t *types; /* of each token, of models that have them (0 first text, 1 second); NULL = all 0 */
} ox_llm_embed_desc;

/* ox_llm_embed - what a model makes of a text: hidden states behind the last norm, pooled.
 *   desc      NULL = zeroed
 *   out       [width], or with OX_LLM_POOLING_NONE [count, width]
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
 *             ox_llm_generate ended
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
/* >>llm/chat/reply.h */
/* What a chat model said, back into a message: content, reasoning and tool calls, while the text still comes.
 * The way a model writes these is its format, which its chat template decides. */
#ifndef OX_LLM_CHAT_REPLY_H
#define OX_LLM_CHAT_REPLY_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

/* ---- replies ----------------------------------------------------------------------------------------------
 * A reply takes the text that a model generates, in pieces of any size, and gives it back in parts: content,
 * reasoning, and for each tool call its name and arguments. Nothing is given that may still turn out to be
 * a mark of the format ("<tool_call>"), and no UTF-8 character is cut. What cannot be understood is content:
 * no text is lost but marks and the white space beside them. The parts are the same however the text was cut.
 *
 *     ox_llm_reply_desc desc;
 *     memset(&desc, 0, sizeof desc);
 *     desc.source = chat_template;                      the Jinja source that the prompt was rendered by
 *     desc.prompt = prompt;                             its end tells whether reasoning has begun already
 *     ox_llm_reply *reply = ox_llm_reply_open(&desc);
 *     ... ox_llm_reply_feed(reply, bytes, length);      from the callback of ox_llm_generate
 *     ox_llm_reply_end(reply);
 *     puts(ox_llm_reply_message(reply, NULL));          goes to the end of "messages" for the next render
 *     ox_llm_reply_close(reply);
 *
 * Control tokens have no bytes in ox_tokenizer_piece, but formats have marks that are such tokens: where a
 * piece is empty and the token does not end the text, feed ox_tokenizer_get_token(..).text. */

typedef struct ox_llm_reply ox_llm_reply;

typedef enum ox_llm_reply_part {
    OX_LLM_REPLY_CONTENT = 1, /* more bytes of the answer */
    OX_LLM_REPLY_REASONING,   /* more bytes of what was thought before it */
    OX_LLM_REPLY_CALL,        /* a tool call begins: its name */
    OX_LLM_REPLY_ARGUMENTS,   /* more bytes of its arguments: together one JSON object */
    OX_LLM_REPLY_CALL_END,    /* its arguments are complete: its id */
    OX_LLM_REPLY_WITHDRAWN    /* the call is none: what was taken for it follows as content */
} ox_llm_reply_part;

typedef struct ox_llm_reply_delta {
    ox_llm_reply_part part;
    int64_t call;   /* which one, from 0; -1 for content and reasoning. A withdrawn number is used again */
    ox_string text; /* not terminated; valid during the callback */
} ox_llm_reply_delta;

typedef struct ox_llm_reply_desc {
    const char *source; /* the chat template, which decides the format; NULL = format says it */
    const char *format; /* a name of ox_llm_reply_format_name; NULL = by the source; both NULL = "plain" */
    const char *prompt; /* the text that the reply continues, or its end; NULL = not known */
    const char *tools;  /* JSON, the list that the template got. Formats that write arguments without quotes
                         * need it to tell the text 2 from the number; NULL = what reads as JSON is JSON */
    int64_t first_id;   /* calls without an id of their own get "call00000" and on, from this number */
    void (*delta)(void *user, const ox_llm_reply_delta *delta); /* NULL = only the message is wanted */
    void *user;
} ox_llm_reply_desc;

/* ox_llm_reply_open - desc NULL = zeroed. Its texts are not kept.
 * errors    NULL: OX_ERR_ARG no such format; OX_ERR_FORMAT the tools are no JSON; OX_ERR_NOMEM.
 *           untrusted input: yes
 * source    the formats: model cards and templates of their publishers; llama.cpp, common/chat.cpp */
OX_API ox_llm_reply *ox_llm_reply_open(const ox_llm_reply_desc *desc);
OX_API void ox_llm_reply_close(ox_llm_reply *reply);
/* ox_llm_reply_feed - more of the text, length -1 = up to its final 0. What is known goes to the callback.
 * Takes time in proportion to the text, and memory: some times its bytes.
 * errors    OX_ERR_ARG after the end; OX_ERR_NOMEM, also from then on. untrusted input: yes */
OX_API ox_status ox_llm_reply_feed(ox_llm_reply *reply, const char *bytes, int64_t length);
/* The text ends here: what was held back goes to the callback, a call that is not complete is withdrawn. */
OX_API ox_status ox_llm_reply_end(ox_llm_reply *reply);

/* ox_llm_reply_message - the message so far, as JSON with a final 0:
 *     {"role": "assistant", "content": "..", "reasoning_content": "..",
 *      "tool_calls": [{"id": "..", "type": "function", "function": {"name": "..", "arguments": {..}}}]}
 * reasoning_content and tool_calls only if there are some; calls that are complete. What is not UTF-8 is
 * U+FFFD. What the format's own template wants otherwise is so: arguments as a string, content null beside
 * calls, a member "thinking". Valid until the reply is used again.
 * errors    NULL: OX_ERR_NOMEM */
OX_API const char *ox_llm_reply_message(ox_llm_reply *reply, int64_t *length);

/* The same without JSON. Texts are not terminated, and valid until the reply is used again. */
typedef struct ox_llm_reply_state {
    ox_string content, reasoning;
    int64_t calls;
    const char *format; /* its name */
    bool reasons;       /* the text stands in reasoning */
} ox_llm_reply_state;
typedef struct ox_llm_reply_call {
    ox_string id, name, arguments;
    bool complete;
} ox_llm_reply_call;
OX_API ox_llm_reply_state ox_llm_reply_get(const ox_llm_reply *reply);
OX_API ox_llm_reply_call ox_llm_reply_get_call(const ox_llm_reply *reply, int64_t call); /* zeros: none */

/* The names of all formats: "hermes", "llama3", "mistral", "plain" ..; NULL beyond the last. */
OX_API const char *ox_llm_reply_format_name(int64_t index);
/* The name of the format that a chat template's source has; "plain" if it is none that is known. */
OX_API const char *ox_llm_reply_format_of(const char *source);

OX_EXTERN_C_END
#endif
#endif
/* >>llm/gguf/gguf_writer.h */
/* GGUF files, written: the directory first, then tensors one at a time, so that a file may be larger than
 * memory. It appears under its name when it is whole. (Reading is oxtorch.h's: ox_file_open.) */
#ifndef OX_LLM_GGUF_WRITER_H
#define OX_LLM_GGUF_WRITER_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

/* The numbers are the format's. */
typedef enum ox_gguf_type {
    OX_GGUF_U8 = 0,
    OX_GGUF_I8,
    OX_GGUF_U16,
    OX_GGUF_I16,
    OX_GGUF_U32,
    OX_GGUF_I32,
    OX_GGUF_F32,
    OX_GGUF_BOOL,
    OX_GGUF_STRING,
    OX_GGUF_ARRAY,
    OX_GGUF_U64,
    OX_GGUF_I64,
    OX_GGUF_F64
} ox_gguf_type;

/* A key and its value. */
typedef struct ox_gguf_pair {
    const char *key; /* UTF-8 */
    ox_gguf_type type, element; /* element: of an ARRAY */
    int64_t count;     /* ARRAY: elements; STRING: bytes, -1 = up to its final 0 */
    const void *value; /* the number, a bool, or the bytes of a STRING; an ARRAY's elements: numbers, bools,
                        * ox_string, or ox_gguf_pair without keys for ARRAYs */
} ox_gguf_pair;

typedef struct ox_gguf_desc {
    const ox_file *like;          /* its metadata comes first, but for keys of `pairs`; NULL = none */
    const ox_gguf_pair *pairs;    /* "general.alignment", a u32: where tensors may start; else that of `like`,
                                   * else 32 */
    int64_t pair_count;
    const ox_file_entry *entries; /* the tensors: name (at most 63 bytes), dtype, ndim (at most 4), shape */
    int64_t count;
} ox_gguf_desc;

typedef struct ox_gguf_writer ox_gguf_writer;
/* ox_gguf_writer_open - writes the directory; desc need not outlive the call.
 * errors    NULL: OX_ERR_ARG a name or key missing, twice or too long, a value that is not of its type;
 *           OX_ERR_SHAPE, OX_ERR_DTYPE; OX_ERR_UNSUPPORTED a dtype that the format lacks; OX_ERR_IO,
 *           OX_ERR_NOMEM
 * source    ggml docs/gguf.md, version 3 */
OX_API ox_gguf_writer *ox_gguf_writer_open(const char *path, const ox_gguf_desc *desc);
/* The next tensor of the directory, of any device and strides.
 * errors    OX_ERR_SHAPE, OX_ERR_DTYPE it is not what the directory says; the right one may follow.
 *           OX_ERR_ARG there is no next one; OX_ERR_IO, OX_ERR_NOMEM */
OX_API ox_status ox_gguf_writer_put(ox_gguf_writer *writer, ox_tensor *t);
/* Gives the file its name, if all tensors are in it; else drops it (OX_ERR_ARG, or the first error). */
OX_API ox_status ox_gguf_writer_close(ox_gguf_writer *writer);

OX_EXTERN_C_END
#endif
#endif
/* >>llm/convert/convert.h */
/* Models of any source, written as one GGUF file: every fact and every tensor, whatever the architecture. */
#ifndef OX_LLM_CONVERT_H
#define OX_LLM_CONVERT_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

typedef struct ox_llm_convert_desc {
    ox_dtype dtype; /* of matrices: OX_DTYPE_NONE = as they are stored; OX_F32, OX_F16, OX_BF16, OX_Q8_0. Rows
                       * that Q8_0's blocks do not divide become F16. Vectors, routers and position embeddings
                       * are F32 in every case; block types that are stored stay as they are */
    const char *name; /* general.name; NULL = the source's */
    /* Called before each tensor; false stops. */
    bool (*progress)(void *user, const char *tensor, int64_t done, int64_t count);
    void *user;
} ox_llm_convert_desc;

/* ox_llm_convert - writes a model as GGUF.
 *   from    a Hugging Face folder (config.json, safetensors), llama2.c's .bin, or a GGUF file
 *   to      path of the file; it appears when it is whole
 *   desc    NULL = zeroed
 * errors  OX_ERR_UNSUPPORTED a model type, a tensor or another dtype, by name; OX_ERR_FORMAT; OX_ERR_ARG the
 *         caller stopped it; OX_ERR_IO, OX_ERR_NOMEM. untrusted input: yes */
OX_API ox_status ox_llm_convert(const char *from, const char *to, const ox_llm_convert_desc *desc);

OX_EXTERN_C_END
#endif
#endif
/* >>llm/quantize/quantize.h */
/* Models in smaller types: GGUF files quantized tensor by tensor, as a named mix of types says, and
 * importance matrices, which say how much the columns of a weight matter.
 * A file appears under its name when it is whole. */
#ifndef OX_LLM_QUANTIZE_H
#define OX_LLM_QUANTIZE_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

/* ---- importance: what a model's products multiply their weights with ------------------------------------
 * For each weight [.., columns] the mean of the squares of its inputs, column by column, over a text. */

typedef struct ox_llm_importance ox_llm_importance;

/* ox_llm_importance_open - from a file: GGUF as llama-imatrix writes it (NAME.in_sum2, NAME.counts), or that
 * program's older format.
 * errors    NULL: OX_ERR_IO; OX_ERR_FORMAT no such file, sizes that contradict, sums that are negative or not
 *           finite, a name twice; OX_ERR_NOMEM. untrusted input: yes */
OX_API ox_llm_importance *ox_llm_importance_open(const char *path);
/* ox_llm_importance_collect - listens to the products of a model's layers from now on, whatever context and
 * thread makes them, until ox_llm_importance_stop. Runs slower meanwhile. The model stays open.
 * errors    NULL: OX_ERR_NOMEM; OX_ERR_UNSUPPORTED too many listeners */
OX_API ox_llm_importance *ox_llm_importance_collect(ox_llm *model);
/* errors    what went wrong while it listened: OX_ERR_NOMEM, OX_ERR_FORMAT inputs that are not finite */
OX_API ox_status ox_llm_importance_stop(ox_llm_importance *importance);
/* ox_llm_importance_save - as GGUF, which llama-quantize and ox_llm_quantize read.
 *   dataset   what text it was, by name; NULL = not said
 *   chunk     tokens that were run at once; 0 = not known: 512
 * errors    as ox_gguf_writer_open; OX_ERR_ARG nothing was heard */
OX_API ox_status ox_llm_importance_save(const ox_llm_importance *importance, const char *path,
                                        const char *dataset, int64_t chunk);
OX_API void ox_llm_importance_close(ox_llm_importance *importance); /* stops it, too */

/* ---- tensors ------------------------------------------------------------------------------------------- */

/* ox_llm_quantize_tensor - x as blocks, whose scales are searched for.
 * shapes      x [.., columns]; columns a multiple of the type's block. A new tensor on the CPU
 * dtypes      x of floats or blocks; dtype: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K .. Q6_K IQ4_NL IQ4_XS MXFP4 TQ1_0
 *             TQ2_0; or F32 F16 BF16, which are plain casts
 *   importance  NULL, or how much an error in each column counts, >= 0: [columns], or with `matrices` above 1
 *               [matrices, columns], x's rows being those of so many matrices (experts)
 * errors      OX_ERR_SHAPE, OX_ERR_DTYPE, OX_ERR_ARG, OX_ERR_UNSUPPORTED another type; OX_ERR_NOMEM
 * numerics    Q4_0 to Q8_0 without importance, MXFP4 and TQ: ggml's formulas, byte for byte. The others: no
 *             larger errors than ggml's. With importance, errors are weighted with it and with the root of
 *             x^2 and a mean of it, as ggml does. A block that is not finite is NaN (MXFP4: infinite)
 * source      the weights and the steps of scales that are tried: ggml-quants.c */
OX_API ox_tensor *ox_llm_quantize_tensor(ox_tensor *x, ox_dtype dtype, const float *importance,
                                         int64_t matrices);

/* ---- files --------------------------------------------------------------------------------------------- */

/* A type for tensors by name. */
typedef struct ox_llm_quantize_rule {
    const char *pattern; /* part of the name; '*' = any bytes, '?' = any one, '^' and '$' = start and end */
    ox_dtype dtype;
} ox_llm_quantize_rule;

/* What was done with a tensor. */
typedef struct ox_llm_quantize_step {
    const char *name;
    int64_t index, count; /* from 0; tensors of the file */
    ox_dtype from, to;
    int64_t from_bytes, to_bytes;
    bool weighted; /* its importance was known */
} ox_llm_quantize_step;

typedef struct ox_llm_quantize_desc {
    const char *mix; /* as llama-quantize names them: "Q4_K_M" (ox_llm_quantize_mix), or "q4_k_m" */
    const ox_llm_importance *importance; /* NULL = none */
    const char *importance_name;         /* its file, for the metadata; NULL = not said */
    const ox_llm_quantize_rule *rules;   /* the first that fits goes before the mix */
    int64_t rule_count;
    ox_dtype output, embedding; /* types of output.weight and of the token embeddings; 0 = as the mix says */
    bool pure;                  /* the mix's main type for all matrices */
    bool keep_output;           /* output.weight stays as it is */
    bool requantize;            /* block types may become others; else that is an error */
    /* Called after each tensor; false ends it: OX_ERR_ARG, and no file. */
    bool (*progress)(void *user, const ox_llm_quantize_step *step);
    void *user;
} ox_llm_quantize_desc;

/* ox_llm_quantize - writes GGUF file `to`: what is in `from`, with matrices in smaller types.
 * The types are chosen as llama-quantize chooses them: by the mix, a tensor's role, its layer and what the
 * model is like; where rows are no multiple of a type's block, a type with smaller blocks takes its place.
 * Norms, biases and small tables stay as they are. All of ox_threads() work; memory: one tensor of `to` and
 * a piece of one of `from`.
 * errors    OX_ERR_ARG no such mix; OX_ERR_UNSUPPORTED a type that is not written (IQ1 to IQ3), requantizing
 *           without desc->requantize, a part of a split file; OX_ERR_FORMAT importance of another size;
 *           OX_ERR_NOT_FOUND importance is missing where a mix needs it; what reading and writing report.
 *           There is no file `to` then, or the old one. untrusted input: yes
 * source    llama.cpp, src/llama-quant.cpp */
OX_API ox_status ox_llm_quantize(const char *from, const char *to, const ox_llm_quantize_desc *desc);
/* The names of mixes, from 0; NULL = no more. */
OX_API const char *ox_llm_quantize_mix(int64_t index);

OX_EXTERN_C_END
#endif
#endif

#endif /* OX_TORCH_LLM_H */

/* From here on the text is packed: comments, blank lines and indentation are left out. To read it, see
 * src/ in the repository: what stands behind the mark >>base/error.c here is src/base/error.c there. */
#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_LLM_IMPLEMENTED) && !defined(OX_NO_STDIO)
#define OX_TORCH_LLM_IMPLEMENTED
/* >>llm/unicode/unicode.h */
#ifndef OX_LLM_UNICODE_H
#define OX_LLM_UNICODE_H
static uint32_t oxi_utf8_code(const char*text,size_t length,size_t*at);
static bool oxi_utf8_is_valid(const char*text,size_t length);
typedef enum oxi_category{
OXI_CN,OXI_CC,OXI_CF,OXI_CO,OXI_CS,OXI_LL,OXI_LM,OXI_LO,OXI_LT,OXI_LU,OXI_MC,OXI_ME,OXI_MN,OXI_ND,OXI_NL,
 OXI_NO,OXI_PC,OXI_PD,OXI_PE,OXI_PF,OXI_PI,OXI_PO,OXI_PS,OXI_SC,OXI_SK,OXI_SM,OXI_SO,OXI_ZL,OXI_ZP,OXI_ZS,
 OXI_CATEGORY_COUNT}oxi_category;
#define OXI_IN(category)((uint32_t)1 <<(category))
#define OXI_OTHERS (OXI_IN(OXI_CN)|OXI_IN(OXI_CC)|OXI_IN(OXI_CF)|OXI_IN(OXI_CO)|OXI_IN(OXI_CS))
#define OXI_LETTERS (OXI_IN(OXI_LL)|OXI_IN(OXI_LM)|OXI_IN(OXI_LO)|OXI_IN(OXI_LT)|OXI_IN(OXI_LU))
#define OXI_MARKS (OXI_IN(OXI_MC)|OXI_IN(OXI_ME)|OXI_IN(OXI_MN))
#define OXI_NUMBERS (OXI_IN(OXI_ND)|OXI_IN(OXI_NL)|OXI_IN(OXI_NO))
#define OXI_PUNCTUATION \
(OXI_IN(OXI_PC)|OXI_IN(OXI_PD)|OXI_IN(OXI_PE)|OXI_IN(OXI_PF)|OXI_IN(OXI_PI)|OXI_IN(OXI_PO)|OXI_IN(OXI_PS))
#define OXI_SYMBOLS (OXI_IN(OXI_SC)|OXI_IN(OXI_SK)|OXI_IN(OXI_SM)|OXI_IN(OXI_SO))
#define OXI_SEPARATORS (OXI_IN(OXI_ZL)|OXI_IN(OXI_ZP)|OXI_IN(OXI_ZS))
typedef struct oxi_property{
uint16_t page[0x1100];
uint8_t*values;
size_t bytes,room;}oxi_property;
typedef struct oxi_decomposition{
uint32_t code;
uint32_t start:24,count:6,composes:1,compatible:1;}oxi_decomposition;
typedef struct oxi_composition{
uint32_t first,second,code;}oxi_composition;
typedef struct oxi_unicode{
oxi_property category,combining,script;
oxi_decomposition*decompositions;
oxi_composition*compositions;
uint32_t*parts;
size_t decomposition_room,composition_room,part_room,decomposition_count,composition_count;}oxi_unicode;
enum{OXI_UNICODE_NORMAL_FORMS=1,OXI_UNICODE_SCRIPTS=2};
static ox_status oxi_unicode_open(oxi_unicode*unicode,unsigned with);
static void oxi_unicode_close(oxi_unicode*unicode);
static uint8_t oxi_property_of(const oxi_property*property,uint32_t code);
static uint32_t oxi_category_bit(const oxi_unicode*unicode,uint32_t code);
static bool oxi_is_white_space(uint32_t code);
enum{OXI_MOST_PARTS=18};
static size_t oxi_decompose(const oxi_unicode*unicode,uint32_t code,bool compatible,uint32_t*out);
static uint32_t oxi_compose(const oxi_unicode*unicode,uint32_t first,uint32_t second);
#endif
/* >>llm/tokenizer/pattern/trie.h */
#ifndef OX_LLM_TRIE_H
#define OX_LLM_TRIE_H
typedef struct oxi_trie_node{
int32_t child;
int32_t shorter;
int32_t value;
int32_t user;
uint8_t byte;}oxi_trie_node;
typedef struct oxi_trie{
oxi_trie_node*nodes;
int32_t count;
int32_t root[256];}oxi_trie;
typedef struct oxi_trie_text{
const char*text;
size_t length;
int32_t value;
bool user;}oxi_trie_text;
static ox_status oxi_trie_make(oxi_trie*trie,const oxi_trie_text*texts,uint32_t count,bool backwards);
static void oxi_trie_free(oxi_trie*trie);
static int32_t oxi_trie_child(const oxi_trie*trie,int32_t node,uint8_t byte);
typedef struct oxi_marker{
size_t at;
int32_t value;}oxi_marker;
typedef struct oxi_markers{
oxi_marker*list;
size_t count,room;}oxi_markers;
static ox_status oxi_trie_find_markers(const oxi_trie*trie,const char*text,size_t length,bool user_only,
 oxi_markers*out);
static void oxi_markers_free(oxi_markers*markers);
#endif
/* >>llm/tokenizer/pattern/pattern.h */
#ifndef OX_LLM_PATTERN_H
#define OX_LLM_PATTERN_H
typedef struct oxi_class_term{
uint32_t low,high;
uint32_t categories;
int32_t of;
bool white,negated;}oxi_class_term;
typedef struct oxi_class{
uint8_t ascii[128];
uint32_t term,term_count;
uint32_t categories;
int32_t both;
bool negated,simple;}oxi_class;
typedef enum oxi_step_kind{
OXI_STEP_MATCH,OXI_STEP_RUN,OXI_STEP_CHOICE,OXI_STEP_LOOK,OXI_STEP_BEFORE,OXI_STEP_START,OXI_STEP_END,
 OXI_STEP_WORD_EDGE}oxi_step_kind;
typedef enum oxi_run_mode{OXI_GREEDY,OXI_LAZY,OXI_POSSESSIVE}oxi_run_mode;
typedef struct oxi_step{
uint8_t kind,mode;
bool negated;
int32_t class_index,min,max,next,other;}oxi_step;
typedef struct oxi_pattern{
const oxi_unicode*unicode;
oxi_class*classes;
oxi_class_term*terms;
oxi_step*steps;
size_t class_count,class_room,term_count,term_room,step_count,step_room;
int32_t*starts;
size_t start_count,start_room;
uint64_t first[129];
bool anchored;}oxi_pattern;
static ox_status oxi_pattern_open(oxi_pattern*pattern,const oxi_unicode*unicode,const char*text,
 size_t length);
static void oxi_pattern_close(oxi_pattern*pattern);
typedef struct oxi_frame{
int32_t step,class_index;
uint32_t at,low;}oxi_frame;
typedef struct oxi_matcher{
oxi_frame*frames;
uint64_t*failed;
uint32_t*open;
size_t frame_count,frame_room,failed_words,open_count,open_room;
uint64_t steps,most;
ox_status status;}oxi_matcher;
static bool oxi_pattern_find(const oxi_pattern*pattern,oxi_matcher*matcher,const char*text,
 size_t length,size_t from,size_t*start,size_t*end);
static void oxi_matcher_reset(oxi_matcher*matcher,size_t length);
static void oxi_matcher_free(oxi_matcher*matcher);
static bool oxi_class_has(const oxi_pattern*pattern,int32_t index,uint32_t code);
#endif
/* >>llm/tokenizer/tokenizer.h */
#ifndef OX_LLM_TOKENIZER_INTERNAL_H
#define OX_LLM_TOKENIZER_INTERNAL_H
typedef struct oxi_text_index{
int32_t*slots;
size_t count;
uint64_t key[2];}oxi_text_index;
typedef struct oxi_vocabulary{
int64_t count;
size_t*start;
char*texts;
char*pieces;
size_t piece_bytes;
size_t*piece_start;
uint32_t*piece_length;
uint8_t*piece_cut;
uint8_t*type;
uint8_t*outside;
float*score;
size_t longest;
size_t spare;
oxi_text_index by_text,by_bytes;
int32_t byte_token[256];}oxi_vocabulary;
static void oxi_vocabulary_free(oxi_vocabulary*v);
static int32_t oxi_vocabulary_find(const oxi_vocabulary*v,const char*text,size_t length);
static int32_t oxi_vocabulary_find_known(const oxi_vocabulary*v,const char*text,size_t length);
static size_t oxi_vocabulary_length(const oxi_vocabulary*v,int32_t token);
static const char*oxi_vocabulary_text(const oxi_vocabulary*v,int32_t token);
static ox_status oxi_vocabulary_make(oxi_vocabulary*v,int64_t count,size_t bytes);
static ox_status oxi_vocabulary_index(oxi_vocabulary*v);
static ox_status oxi_vocabulary_index_bytes(oxi_vocabulary*v);
static int32_t oxi_vocabulary_find_bytes(const oxi_vocabulary*v,const char*bytes,size_t length);
static int oxi_byte_of_text(const char*text,size_t length);
typedef struct oxi_text{
const char*bytes;
size_t length;
const uint32_t*from,*to;
size_t base;}oxi_text;
typedef struct oxi_buffer{
char*bytes;
uint32_t*from,*to;
size_t length,byte_room,from_room,to_room;}oxi_buffer;
typedef struct oxi_stretch{
uint32_t start,end;
bool match;}oxi_stretch;
typedef struct oxi_split_list{
oxi_stretch*list;
size_t count,room;}oxi_split_list;
typedef struct oxi_token{
int32_t id;
uint32_t from,to;}oxi_token;
typedef struct oxi_token_list{
oxi_token*list;
size_t count,room;}oxi_token_list;
struct oxi_word_cache;
typedef struct oxi_flow{
const ox_tokenizer*tokenizer;
oxi_text text;
oxi_buffer buffers[4];
int turn;
oxi_split_list splits,next,found;
oxi_markers markers;
oxi_matcher matcher;
oxi_token_list tokens;
struct oxi_word_cache*cache;
size_t cache_count;
void*scratch;
size_t scratch_bytes;
bool places,parse_special;}oxi_flow;
static void oxi_work_free(oxi_flow*work);
static oxi_buffer*oxi_put_begin(oxi_flow*work);
static ox_status oxi_put(oxi_buffer*out,const char*bytes,size_t length,uint32_t from,uint32_t to);
static ox_status oxi_put_code(oxi_buffer*out,uint32_t code,uint32_t from,uint32_t to);
static void oxi_put_end(oxi_flow*work,const oxi_buffer*out);
static uint32_t oxi_text_from(const oxi_text*text,size_t at);
static uint32_t oxi_text_to(const oxi_text*text,size_t end);
static ox_status oxi_split_push(oxi_split_list*list,size_t start,size_t end,bool match);
static ox_status oxi_token_push(oxi_flow*work,int32_t id,size_t start,size_t end);
static void*oxi_work_scratch(oxi_flow*work,size_t bytes);
typedef enum oxi_behavior{
OXI_ISOLATED,OXI_REMOVED,OXI_CONTIGUOUS,OXI_MERGED_WITH_PREVIOUS,OXI_MERGED_WITH_NEXT}oxi_behavior;
enum{OXI_PREPEND_NEVER,OXI_PREPEND_FIRST,OXI_PREPEND_ALWAYS};
typedef enum oxi_option{
OXI_ADD_PREFIX_SPACE=1<<0,OXI_USE_REGEX=1<<1,OXI_TRIM_OFFSETS=1<<2,OXI_INVERT=1<<3,
 OXI_INDIVIDUAL_DIGITS=1<<4,OXI_SPLIT=1<<5,OXI_CLEAN_TEXT=1<<6,OXI_CHINESE_CHARS=1<<7,
 OXI_STRIP_ACCENTS=1<<8,OXI_LOWERCASE=1<<9,OXI_STRIP_LEFT=1<<10,OXI_STRIP_RIGHT=1<<11,OXI_CLEANUP=1<<12,
 OXI_REMOVE_EXTRA_SPACES=1<<13,OXI_ESCAPE_SPACES=1<<14}oxi_option;
struct oxi_step_row;
typedef struct oxi_pipe_step{
const struct oxi_step_row*row;
uint32_t options;
char*text,*find;
size_t text_length,find_length;
oxi_pattern*pattern;
int64_t start,stop;
oxi_behavior behavior;
int prepend;
int32_t*ids;
uint8_t*types;
size_t single,pair;}oxi_pipe_step;
typedef struct oxi_decode_list{
oxi_buffer bytes[2];
int turn;
oxi_split_list tokens,next;
bool first,last;
bool lossy;}oxi_decode_list;
typedef ox_status(*oxi_decode_row)(const oxi_pipe_step*step,oxi_decode_list*list);
typedef struct oxi_step_row{
const char*name;
uint32_t needed,usual;
unsigned unicode;
ox_status(*apply)(const oxi_pipe_step*step,oxi_flow*work);
oxi_decode_row decode;}oxi_step_row;
typedef struct oxi_steps{
oxi_pipe_step*list;
size_t count,room;}oxi_steps;
static const oxi_step_row*oxi_normalizer_row(const char*name);
static const oxi_step_row*oxi_pre_tokenizer_row(const char*name);
static const oxi_step_row*oxi_decoder_row(const char*name);
static oxi_pipe_step*oxi_steps_add(oxi_steps*steps,const oxi_step_row*row);
static ox_status oxi_step_set(char**text,size_t*length,const char*from,size_t bytes);
static ox_status oxi_step_set_pattern(ox_tokenizer*t,oxi_pipe_step*step,const char*text,size_t length);
static void oxi_steps_free(oxi_steps*steps);
typedef struct oxi_model_row{
const char*name;
ox_status(*encode)(oxi_flow*work,size_t start,size_t end);}oxi_model_row;
typedef struct oxi_merge{
int32_t left,right;
int32_t made;
uint32_t rank;}oxi_merge;
typedef struct oxi_model{
const oxi_model_row*row;
int32_t unknown;
bool fuse_unknown,byte_fallback,ignore_merges;
bool whole_newlines;
bool whole_word;
bool drop_unknown;
char*prefix,*suffix;
size_t prefix_length,suffix_length;
int64_t longest_word;
oxi_merge*merges;
size_t merge_count;
int32_t byte_symbol[256];
oxi_trie trie;
double*scores;
double unknown_score;}oxi_model;
static const oxi_model_row*oxi_model_row_of(const char*name);
static ox_status oxi_model_make_merges(oxi_model*model,size_t count);
static bool oxi_model_add_merge(oxi_model*model,int32_t left,int32_t right,int32_t made,uint32_t rank);
static uint32_t oxi_byte_char(uint8_t byte);
static int oxi_char_byte(uint32_t code);
typedef struct oxi_added{
int32_t id;
bool special,lstrip,rstrip,single_word,normalized;}oxi_added;
struct ox_tokenizer{
char kind[32];
char pre[48];
oxi_unicode unicode;
oxi_vocabulary vocabulary;
oxi_model model;
oxi_steps normalizers,pre_tokenizers,post_processors,decoders;
oxi_added*added;
size_t added_count,added_room;
uint32_t*normalized_length;
oxi_trie markers[2];
bool has_decoders;
bool from_json,takes_bytes;
bool add_bos,add_eos,add_sep,space_prefix;
int32_t special[OX_TOKEN_ROLE_COUNT];
uint8_t*ends;};
static ox_status oxi_added_push(ox_tokenizer*t,oxi_added added);
static ox_status oxi_tokenizer_make_markers(ox_tokenizer*t);
static ox_status oxi_tokenizer_make_pieces(ox_tokenizer*t);
static void oxi_tokenizer_find_ends(ox_tokenizer*t);
static ox_status oxi_tokenizer_finish(ox_tokenizer*t);
static ox_status oxi_tokenizer_read_gguf(ox_tokenizer*t,const ox_file*file);
static ox_status oxi_tokenizer_read_json(ox_tokenizer*t,const char*text,size_t length,const char*config,
 size_t config_length);
static bool oxi_tokenizer_knows(const ox_file*file);
static ox_status oxi_tokenizer_run_decoders(const ox_tokenizer*t,const int32_t*ids,size_t count,
 bool keep_special,oxi_decode_list*list);
static void oxi_decode_list_free(oxi_decode_list*list);
#endif
/* >>llm/internal.h */
#ifndef OX_LLM_INTERNAL_H
#define OX_LLM_INTERNAL_H
static ox_status oxi_llm_meta_int(const ox_file*file,const char*key,int64_t low,int64_t high,
 int64_t otherwise,int64_t*out);
static ox_status oxi_llm_meta_bool(const ox_file*file,const char*key,bool otherwise,bool*out);
static bool oxi_llm_text_is(ox_string text,const char*expected);
static void oxi_llm_copy_text(ox_string text,char*out,size_t room);
static ox_status oxi_llm_error(void);
#endif
/* >>llm/metadata.c */
static ox_status oxi_llm_meta_int(const ox_file*file,const char*key,int64_t low,int64_t high,
 int64_t otherwise,int64_t*out){
const ox_file_meta meta=ox_file_meta_find(file,key);
*out=otherwise;
if(meta.type==OX_FILE_META_NONE){
return otherwise<low?oxi_fail(OX_ERR_NOT_FOUND,"llm: metadata key %s is missing",key):OX_OK;}
if(meta.type!=OX_FILE_META_INT&&meta.type!=OX_FILE_META_UINT){
return oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s is not a whole number",key);}
if(meta.i<low||meta.i>high||(meta.type==OX_FILE_META_UINT&&meta.i<0)){
return oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s is %.17g, allowed are %lld to %lld",key,meta.f,
 (long long)low,(long long)high);}
*out=meta.i;
return OX_OK;}
static ox_status oxi_llm_meta_bool(const ox_file*file,const char*key,bool otherwise,bool*out){
const ox_file_meta meta=ox_file_meta_find(file,key);
*out=otherwise;
if(meta.type==OX_FILE_META_NONE)return OX_OK;
if(meta.type!=OX_FILE_META_BOOL)
return oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s is not a bool",key);
*out=meta.i!=0;
return OX_OK;}
static bool oxi_llm_text_is(ox_string text,const char*expected){
return(size_t)text.length==strlen(expected)&&memcmp(text.data,expected,strlen(expected))==0;}
static void oxi_llm_copy_text(ox_string text,char*out,size_t room){
size_t length=0;
for(;length+1<room&&(int64_t)length<text.length;length++){
const char c=text.data[length];
out[length]=c>=' '&&c<='~'?c:'?';}
out[length]=0;}
static ox_status oxi_llm_error(void){
const ox_status status=ox_error();
return status?status:OX_ERR_NOMEM;}
/* >>llm/unicode/utf8.c */
static uint32_t oxi_utf8_code(const char*text,size_t length,size_t*at){
const unsigned char*p=(const unsigned char*)text+ *at;
const size_t left=length- *at;
if(p[0]<0xC0||left<2){
*at+=1;
return p[0];}
if(p[0]<0xE0||left<3){
*at+=2;
return(uint32_t)(p[0]&0x1F)<<6|(p[1]&0x3Fu);}
if(p[0]<0xF0||left<4){
*at+=3;
return(uint32_t)(p[0]&0xF)<<12|(uint32_t)(p[1]&0x3F)<<6|(p[2]&0x3Fu);}
*at+=4;
return(uint32_t)(p[0]&0x7)<<18|(uint32_t)(p[1]&0x3F)<<12|(uint32_t)(p[2]&0x3F)<<6|(p[3]&0x3Fu);}
static bool oxi_utf8_is_valid(const char*text,size_t length){
for(size_t at=0;at<length;){
const size_t used=oxi_utf8_length((const unsigned char*)text+at,length-at);
if(used==0)return false;
at+=used;}
return true;}
/* >>llm/unicode/unicode.c */
/* >>llm/unicode/properties.inc */
static const char*const oxi_unicode_categories_text[]={
"he7BvD1BvD0BwBzB3BzBvBxC5JxCzDxC1Y0BzBwB2BuB2BxY0B3BwB3B/e7BzBvE4BzB2B4BlByB3BgB4B2B4B3BrC2BjBxC2BtBlBx",
 "BpDzB7V3B7G1W3B1HnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnB",
 "jBnBjBnBjBnBjBnBjBnBjBnBhCnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBhCnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBn",
 "BjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBlCjBnBjBnB/ClCjBnBjBlCjBjDhChEjBlCjBjD/ClCjBlCjBnBjBnBjB",
 "lCjBnBhCnBjBlCjBjDjBnBjBlChClBnB/C/DnBmBjBnBmBjBnBmBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBhCnBjBnBjBnBjBnBjBn",
 "BjBnBjBnBjBnBjBnBhCnBmBjBnBjBjDjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnB",
 "jBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnB3GlCjBlChCnBjBhEjBnBjBnBjBnBjBnB7gClBvZiRwEuL8N8EqHkB2BkB2Q",
 "spDnBjBnBjBkB2BnBjB8BkB/CzBnB4D0CnBzBjDenBelCjBnQe3I/gBnBhCjD/CnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjB",
 "nBjBnB7EnBjB3BnBjBlChCjwBltBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjB4BiFnCn",
 "BjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjB",
 "nBjBlCjBnBjBnBjBnBjBnBjBnBjBnBhCnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBj",
 "BnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnB",
 "jBnBjBnBjBnBjBnBjBe9jB8BkBpGzmBzBvB8B2C1BeyqBvBqBzBoCzBoCzBqBwHxZ4D/DxCqK2FzDxC1BxC2C2KzBgBvDnekBzJiU5J",
 "tEjCqBh9CzBlB+GgB4BgGiCoC4BkEjC5JhD2ClB5NegBlBqBrc2Z8B1zC2KlBkN5Jlf6IiC4BvDkB8BqBzC7UkEkB6IkBmDkBiF8B3O",
 "e1XmD8BzBexK2E3W2B7Fe+B2E6I1mBkB8WgBseoB7yBqBoBqBlBkD8HiEqBmClB+GzJoCxC5JzBkBpOqBmCe3H8BjC8B7Ue5GelB6C/",
 "D8BqBlBkDkE8BmC8BmCqBlBwHoB4DjCehDoC8B5JjCzCjG4B1BlBzBqB8BoCoBe7F4DjC8B7Ue5GejCejCejC8BqBekDoC4DoC8BmD6",
 "CqByG/DelByG5JoChDqBzBsJoCoBe1IehDe7Ue5GejCe9E8BqBlBkDiFeoCoBemCqB8BlBiOjCoC8B5JzB1ByGlBgGeqBmCe3H8BjC8",
 "B7Ue5GejCe9E8BqBlBoBqBoBkE8BmC8BmCqByGoCoB4DjCehDoC8B5J4BlBjGsJqBlBe7F6ChDe/D6CjCelBejC6CjC6ChD6CvL4DmC",
 "qBmC6CkDekDqB8BlB0FoBkN5JpDuG1B4B2EqBkDqB3HehDe5VenP8BqBlBmDiEemDekEyGoCehD8BlB8BjCoC8B5JyGzBhH4BlBqBmC",
 "zB3HehDe5VezJe9E8BqBlBoBqBgFeqBmCemCoCyGmC0FjCejCoC8B5JejCoBoLoCmC1IehDe1mBoClBkDkEekDekDqBlB4B4DhDoBhH",
 "hDoC8B5J9I4B7FeqBmCejR6C3We1IelB8B5G6CqB4DkDmDeqBe6H0F5J8BmCzBoLntBqBjC+G4D1B7FkB8HzB5JxC2iBjCelBe9Ee3W",
 "elBezJqBjC6IlB8B9EekBe+Ge5J8B/DgelB0D3O4BzB0DoCuG5J7J4BqB4BqB4BqB0BwB0BwBmC3He/hB4DwNoBiFzBoC9E2KekiBeq",
 "IqBuGe2CrFyExC2iBxoBmCkEoBgGoBoCmCoClB5JpG7FmCoC/DmDlBkDjC8GhDkEtMqBmCoC+FqBlBoB5JkDqB2C9jBenB2EnB8BvoB",
 "zBkB/C10Je/D8B5GelBe/D8B1mBe/D8Blfe/D8B5GelBe/D8BpOe11Be/D8Bh/B8BmDjJnT6CnPmK0F9wC8B5F8BvBvlS4BzBlQ7BzY",
 "0BwB6CxmCvDoD3HyGjRmDoBuIhSoCoBxCuIjRoCoLtMehDeoCoL/wBoCoB+G6HqBmC2KvDkBvD1BlBqB8B5J0F7J0FpGvBtEmDgBqB5",
 "J0FhhBkB9xByG9EoCjgBqBlB2E7hCsJpdemDiEoCkD4DmCqB+FmD4D4B6CxC5Jrc8B9EqKvpB4DzY0F5JtB6C2gB5VoCmCqB8BxC9xB",
 "oBqBoB+GeqBoBqBmC8H+F4J8BqB5J0F5J0FnHkBpG8BwNpBsP+tBkEoBpsBqBoBiFoBqBgFqBmC3HexC5JnHmK6IoJvDoCoBrcoBkEm",
 "CoCoBmDjC5JvpBqBoBoCkDqBoBmDmCwHtE/hB6H8HmCoC6CrF5J6ChD5Jrc6FxCzInBjB2EzoB8BjDlIwHmDzByMoB+G/DqB7FqBjCo",
 "BoClB2EtpBo7BrMkBhgB8iBs8BnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBn",
 "BjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjB",
 "nBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBj",
 "BnBjBnBjBnBjBnBzInBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnB",
 "jBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBn",
 "BjBnBzI5H5F8B9F8B1H5H1H5H5F8B9F8B1HenBenBenBenB1H5HpN8B1H4H1H4H1H4H7EehChEmB2BjByD/CehChEmByD9D8BhChEey",
 "D1H/EyD8B/CehChEmB0CenL4ElGxCyBxB0BwCxB0ByBlI5B6B4E7BjJyBxBtEsCvD3B0BwB/K3BzBuBhK7B4EeuJtBkB8BjGzD0BwBk",
 "B7JzD0BwBesM6C1fiOyMjEqBlD0LiO2CnByEnB2CjBjDhCjDjB4BnB2C3B/EuGnB4BnB4BnB4BhE4BjBhEjB/DjB2ChClCvFnB9D4B3",
 "B2CjB4BvPohBnBjBmEtB2C4DvFwF1CyE3B2C3B2C3BsH3B8d1C2C3B4B3B8dh8HqI0BwB0BwByT1CsH0BwB4sC3B+cnYqmBtGqkC0Uk",
 "L2T34B+pCjVssF3BoJ3BuzBpI8oD3BqpH0BwB0BwB0BwB0BwB0BwB0BwB0BwBzciqBvF0BwB7d0BwB0BwB0BwB0BwB0BwB5P6wHz7D0",
 "BwB0BwB0BwB0BwB0BwB0BwB0BwB0BwB0BwB0BwB0BwB77B0BwB0BwB5e0BwB1yH6tBvU2CtGslB8B6eeojDptBltBnBjBjDhCnBjBnB",
 "jBnBjBhEjBnBhCnB5FiCjDjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBj",
 "BnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnB",
 "jBnBjBnBjBnBhCuGnBjBnBjBmDnBjB2EtEtBxC5jBejB2EjB8B30ByGkBzBkNqB5VuI5Ge5Ge5Ge5Ge5Ge5Ge5Ge5GesexCyBxByBxB",
 "vDyBxBzByBxBjJvBxCvBzByBxBxCyBxB0BwB0BwB0BwB0BwBrFkBhKtCtEvBzB0B7M2CvD0BwB0BwB0BwB0BwBvB8fmZeo0CoLupGsY",
 "6P7BvD4BkBlBsB0BwB0BwB0BwB0BwB0BwB2C0BwB0BwB0BwB0BwBvB0BuC4B8IkEmCvB8E2CoDkBlBzB2Ce7wC8BoC0CiClBvBz0CzB",
 "gDlB2ExoBer4Ce2CnEmKneukBuI4BnP8de7J+c/H4BxO6e7JslBxO6sJnkhG68B9znTkB5vhB6Cs0BuI3lB6FxCv7HkBvDnP5JjC4Sn",
 "BjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBlBqBlDzB4JzB",
 "kBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBiCoC7hC6JoCpGwHqW0I0CnBjBnBjBnBjBnBjBnBjBnBjB",
 "nB/CnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBnBj",
 "BnBjBnBjBnBjBnBjBnBjBnBjBkB1HnBjBnBjBlCjBnBjBnBjBnBjBnBjBkB0CnBjBnBjBlBnBjBnB/CnBjBnBjBnBjBnBjBnBjBnBjB",
 "nBjBnBjBnBjBnBjB/EjB/EjBnBjBnBjBnBjBnBjBnBjBnBjBnBjBhEjBnBjBlCjB8BnBjBejBejBnBjBnBjBnBjBnB2TgDnBjBlBiCj",
 "B5GqBhDqB/DqB5VmCoCoByEqB6CjG2C1B4B0F/wBtEwHmCjvBqPoCwHxC5J0FoR7FvDlBzBjCqB5Jva8HxC5V2KmCqKzBtb6CmDoBps",
 "BqBmCkEmCoCkD7MekB5J4DxC9EqBkB1I5J9Ee1mBgGmCoCmCoCuIhDqB3HqBoB8B5J8BtEnPkB7F0DlBoBqBoBjvBqBlBmDjCoC9EoC",
 "lBqBlBwWjCkBxCxKoBoCmCxClBiCoBqBsJ7F8B7F8B7FuI5Ge5GevoB2B+DzIkB0C4DlrChhBmCqBmCqBmCzBoBqB8B5J0F/pnKoL5V",
 "4DluB4Dkg8Bjw7Fr3K8BzjD0jB3GoL7E2ElBqBzJ3BtMe9EelBejCejCevlD2QgPx0KwB0B6Pn8B8B7yByG4BgevL1B0DsPnH0BwBzB",
 "0FsPzBtCsC0BwB0BwB0BwB0BwB0BwB0BwB0BwB0BwBxC0BwBtEqDvDetEvB0BwB0BwB0BwBvD3BvBzDezB1BxC4D9Ee5+D8BgBevD1B",
 "vD0BwBzB3BzBvBxC5JxCzDxC1Y0BzBwB2BuB2BxY0B3BwB3B0BwBzB0BwBxCzJkBtqBiCpd6C7F8B7F8B7F8BhD6CzC3B2B4BzCe4Bx",
 "E2CsJ8C2C8BvLezYehSejCepO8BrN8fxzD2EvD4D1qB6CoJkyBnE4QrC0DegN6C4BisBgrBqB85Dtb6CluBiOqB5Z4DnenEuI/SsB3H",
 "sB2E7jBiF2ErcezB/hB4D3HzBkFsnB5lB1lBrpC8B5J0FhiB4D9hB4D3lBwH/wBqKzBzKerOe7GelCevKenOe3GehC6C/wBoL5jJuI7",
 "UsJ3HwW6FeynBe0I2gC7F8BlBevpBejC6ClB8B5VezB/H5V2ChHpdwH9IgtBhSejC2ElF7UjG6CzBzY2EzBg8B30B4DrCjCvP8BzrBl",
 "BmDeoC2EkE/DehDetb8BmD4DqB9IyGjJyGtbrCzBtbpDge3H4BvaoC4DlFnHuI7yB6CnH7U8B/HhS2E/HjRyGtEoLhHgrC1kCyzBjwB",
 "mM/vByGjG/hBkEwH5J0F5J/DkBlB9U6CiFvBkB5UwH1CgjGxdeznBeoCvB8BjCgPhDyzBkEtb7JlBwH7U2KnErF0UjRkEtE0jB9ThH4",
 "S5VuIoBqBoB9xBuOnH4DnT5JqBjCoClBuImDoBtqBkDkEmCoCxCgBtEqBsJgB8B1XyG5J0FmD/hBiFoB8He5JtElBmClBwHhhBqBxCl",
 "BuIoCoBntBkD6ImC/DtEkEzBoBqB5JlBzBlBvDenTqKjRe1XkDmDmCqBoBoCpGqBjCqBk6B5GelBe/DepOezJzB0FpsBqBkD8H2E5J0",
 "FoCmCe3H8BjC8B7Ue5GejCe9EeoClBmCqBiE8BmC8BkD8BlB0FoB2E9EmC8B+G6CiFqKzJelB8BlBe7jBelBkDgGeoB8BoBeiEemCqB",
 "oBqBlBqBlBxCexCwHoCmb9xBkD8HmCmDoBqB/DrF5JxCezBqBhDkcntBkDgGoBqBiEoCoBoCjCzBlBwH5J07EpsBkDkE8BiEoCoBoCn",
 "W/DoC8fntBkD8HmCqBoBoCvDlBqK5J0F7M6RxoBqBoBqBmCgGoBqBlBzB0F5J0FlToaxZ8BqBoBqBmCkEoBiF4D5JrCvD4B5GutFvpB",
 "kD6IoBoCzB49Cpele5J9IoL3H8BlB8B3HejCe3W+FemC8BoCoBqBlBoBlBoBqBvDuI5J0hC3H8B5kBkDkE8BoCiEqBlBzBlBoBqZlB4",
 "J3lBgGoBlBkElIqBwHlBgGmCmDrrByMoBoCvDlBrFmM1kCyGhK0qFlfzBkN5J0F1Ie9iBoB+GegGoBqBlBrFsJ5JpS6CxCrc8BgVeoB",
 "+GoBoCoBoCukC5GejCe7jBgG6CqBeoCe+GlBqBwH5J0F7FejCenegFeoCemCqBoBqBlByG5J0iJhSoCmCxCyGoClBoBtMejgBmCiF6C",
 "mCqBoBqB7M5JqB2vClBiOlUqIvE4QmMzBzgb0/CwoDerFqK/3FontCl7CxCmMntfiPqB7FuOsJxh1D2E5iRutoGrc0LkDmD5J05yB11",
 "QyGpde5J4DxCpqCe5J0Frc8BiFzBsJntB+GrFyE+DzB4BsJ5JehHe9T2EhSg1MgD3lBiCvD5J05FpelehWtE2+CxmC4DqBlB8zByGkE",
 "sMg8BiCzBkBqBqKmCkN34zFwH7okBumBzJy4lI+De4GeiCehxIiOlBmbhD8BlBkN/DwHvzL4zjCxkD2EtM6C1IyGzJ8B4BoCzB6Domz",
 "D6hH5J0Fy5MonCwrB8B+VuIytDo4BunHsJslB8Bi5BmCmD0D+FyH8H2C+G+ckEg6B2T2+BmD4BsyDnToLnToLsyCuI9Xy+D1YxY1Y3G",
 "ehR1YxYnBelC8BnB8BlC8BhEe5H9DejBe3GevK1YxYlCehE8B5He7GexYlCehEe/EenB6C7GexY1YxY1YxY1YxY1YxY1YxY1Yta8B3X",
 "3BzX3B5F3X3BzX3B5F3X3BzX3B5F3X3BzX3B5F3X3BzX3B5FnBjB8BpvB6gP+zByEovBqIqB+NqB2CrFiOiFeuOgrgBxJlB9S0F5F2n",
 "G+GeqQ8B+GeoCeiF2Eq6B+eqBgpDtqB6C+G4G8B5J4DlB4BgsJrcqB+PvpBkE5J2E1BgzNxZkBkE5J0oGrcoClB5J4DzBgiO5Ge/Dej",
 "CepOe94F8B9I+GumBlgBhgB+GkB4D5J4DxC+/W53B4BpD1BnEonC1qB4BxO81F/DexZejCelB8BlBezJe/DelBelB0FlB4DlBelBelB",
 "ehDejCelB8BlBelBelBelBelBejCelB8B/De5Ge/De/DelBezJelQ2EhDe9EelQ4wB1Ck9HiqB4Dy+CoL8O8B8Oe8OewjBsJ1M43Ew0",
 "BgcmMiqB4DoJyG2CkNuGswEksHuFqrV4D4Q6CgN6CswD4D85C0FiM4D4BiOiM4Dq1BwHmK0FqmBwH+c8BiM4D2Ck6By/JoL+N8BgN6C",
 "mK2Eq1ByG8O8BkL0FoJyG0qEei3C5J0lenyjnBgez25D0FrwG8Bj6oFkNl+6GiOrnS8noCr8P8jsBx2wE2En66D+r0rUgBkci6Cg4Ds",
 "hHgvx7Bn+/7B8Bn+/7B8B",NULL};
static const char*const oxi_unicode_combining_text[]={
"gggGmvFoP8mBoP4O8uBqW8mBqW8+ChoB8mBmnCwPmP8emf8WgImf8mBmPoP8WmPpPqXpPqXpPmvDg4kCmvBgoiC8OmnB8Omf+O8Om3B",
 "82BmX8OmX+OkPmPqIrIsItIuIvIwIxIyIzQ0I1I2IgI3IgI4I5IgImP8OgIyIggSmnC+I/IgJggM7I8I9I+I/IgJhJiJmX8WmvB8OmX",
 "8OggEjJgoZm/BgQmnB8OmPgQmXgI8OmX8Og4IkJgwHmP8OmX8OmX8emP8WmP8Omf8OmP8OmP8OmP8OmXggoBm/B8OmPgoC8OggGmnBg",
 "ImvCgImfgImvBg4K8eg4OmX8emnBgwKmvB8uBm3DgI8OmX8OmX8Omf8e7I8I9Imf8OmX8WmvBggPnIggEpIgYmP8OmXg4ZnIggEpIgg",
 "MmPgoPnIggEpIgwbnIggEpIgwbnIggEpIg4fpIgwbnIggEpIg4B0K7KgoZnIggEpIgobpQggEpIggfpIgobnTpIgoDrjBggb2TpIgoD",
 "6jBggT8Wg4G8OgI8OgI4Og4NhMiMgIkMgoBikBgQiMgImXpIgImXgwP8OggcnIgIpQgwU8Og4zFmfggtHpQgwHpIgonBpIgwCmPg4yB",
 "kPg4jB+OmP8Og42BmP8Og4RpIggFmnCgQ8OggMmvB82BmX8OgI8WmX8WmvB8OmnBgoZnIg4DpIgwJmP8Om/BgwNpQgwOnIg4CpQg4Qn",
 "IggmBmfgIhI8uBmX8mBmPgIh4BggB8OgwBmPgYmXgwxBmX8Om/B8OmXqP2O8OqOmvJoPkX8O6OmPpP8OmP8Ogg0FmXhQmnBhYmXggBm",
 "PgYhQmP8OmPhQ8mBmPgw/XmfgojBpIggYmnIgwqE6OkPoP+OgXgoaoQgg1rHmPggBm3CggImXggUmXgglCpIgoJpIg4lBpIg4Gm3Ego",
 "O8egoJpIg4XnIggDpIg47BmPgImX8OgQmXgoBmXgImPggNpIgw9BpIggs+E6IgogGm/B8+BmXgozH8Ogw4B8OgolBmvBgwkN8OgImPg",
 "gKmPhI8OggBpIgopBmP8OgovEmnBgoQmvBgovCmXggU8egwR8Wmf8OmP8mBgoMmP8OmP8OggwBpIgoKpIgwDpIgoOpInIgoRmfggMpQ",
 "gwPnIggTpIgoCnIgwapInIgwsBnIpIggUnQggEpIggGm/BgYmvBgoWpYgocpIgYnIg4FmPg4YpInIg4+BpInIgwfpIgwdpInIg4cpIg",
 "ojCpInIgwgCpQggBnIggnBpIg4UpIgwEpIgoUpIgopDpIgwgCnIgIpQgoUpIgoqDpQgg7jEpIggwThoBg4Om/BgouJmQggr5EhIgwxp",
 "B4WhYgYiP4uBggC8mCgQmvB8WgwHmnBgglBmfg4ubm/BgImvEgQm/BgImXgImvBggZmPggoBm/Bg49CmPgoPmnBgg/DoX8OmPgw/BmP",
 "8Ogg4F8+Bgobm3BnIgottxH",NULL};
static const char*const oxi_unicode_decompositions_text[]={
"gFFgCIJAwuBCFiEFJhEouBDFkBBFCBJlBiuBBF45BDJ35BuwBBFiBBF8DCN7DmhQ/gQBNAmhQjhQBNEihQ/gQCKc+rBBKAgsBBKAisB",
 "BKAksBBKAusBBKAysBCKEouBBKE2rBBKA4rBBKA6rBBKAmsBBKIurBBKAwrBBKAyrBBKA+rBCKKqrBBKCirBBKAkrBBKAmrBBKAorBB",
 "KAyrBDKM2qBBKA4qBBKA6qBBKAmrBBKIwqBDKQ+pBBKAgqBBKAiqBBKAkqBBKAuqBBKAyqBCKEosBBKE2pBBKA4pBBKA6pBBKAmqBBK",
 "IupBBKAwpBBKAypBBKA+pBCKKqpBBKCipBBKAkpBBKAmpBBKAopBBKAypBDKM2oBBKA4oBBKA6oBBKAmpBBKIwoBCKA+oBBKvDmsBBK",
 "gCmqBBK/BqsBBKgCqqBBK/BuuBBKgCusBBK7B8rBBKgC8pBBK/B+rBBKgC+pBBK/BosBBKgCoqBBK/BysBBKgCyqBBK9BwsBBKgCwqB",
 "DK9B+rBBKgC+pBBK/BisBBKgCiqBBK/BksBBKgCkqBBK/BmuBBKgCmsBBK/BusBBKgCuqBBK7B2rBBKgC2pBBK/B+rBBKgC+pBBK/Bg",
 "sBBKgCgqBBK/BguBBKgCgsBBK9B0rBBKgC0pBDK9B0rBBKgC0pBBK/B2rBBKgC2pBBK/B6rBBKgC6pBBK/B+tBBKgC+rBBK/B8rBCJA",
 "CBJgCCBK9BwrBBKgCwpBBK9B4tBBKgC4rBCK9BqrBBKgCqpBBK/B2tBBKgC2rBBK/BgsBBKgCgqBBJ/B2GBJgC2EDK7BmrBBKgCmpBB",
 "K/BytBBKgCyrBBK/B8rBBKgC8pBBJ8kB7kBDK5mBqrBBKgCqpBBK/BurBBKgCupBBK/B4rBBKgC4pBDK5B+qBBKgC+oBBK/BqtBBKgC",
 "qrBBK/B0rBBKgC0pBBK9B8qBBKgC8oBBK/B+qBBKgC+oBBK/BotBBKgCorBBK/ByrBBKgCypBBK9BmtBBKgCmrBBK/BwrBBKgCwpBDK",
 "9B8qBBKgC8oBBK/B+qBBKgC+oBBK/BirBBKgCipBBK/BqrBBKgCqpBBK/BsrBBKgCspBBK/BmtBBKgCmrBBK7B2qBBKgC2oBBK7ByqB",
 "BKgCyoBBK/B+qBBKCuqBBKgCuoBBK/B6qBBKgC6oBBK/BkrBBKgCkpBBFNhBKnC4sBBKgC4qBOKzBssBBKgCsqBUJhDyTBJA0TBJgC0",
 "RBJvBDBJA8BBJgCDBJ7BHBJA4BBJgCHBK5C2sBBKgC2qBBKvBmsBBKgCmqBBKzB6rBBKgC6pBBKzBurBBKgCupBBKuGwiBBKgCwgBBK",
 "/BqiBBKgCqgBBK/BgjBBKgCghBBK/BoiBBKgCogBCKvDgkBBKgCgiBBKkU8NBKC6NBKhW8jBBKgC8hBDK9JqsBBKgCqqBBK3BisBBKg",
 "CiqBBK3BytBBKgCyrBBK2X0RBKCyRBKnDqVBK2N0HBKviBkqBBJrCsBBJAsDBJgCsBBK5B0rBBKgC0pBDKxBkrBBKgCkpBBKuF4jBBK",
 "gC4hBBK9B2jBBKgC2hBBKbyiBBKgCygBBKtL8sBBKgC8qBBK/BgtBBKgCgrBBK3B0sBBKgC0qBBK/B4sBBKgC4qBBK3BssBBKgCsqBB",
 "K/BwsBBKgCwqBBKzBgsBBKgCgqBBK/BksBBKgCkqBBK5B6rBBKgC6pBBK/B+rBBKgC+pBBK5B0rBBKgC0pBBK/B4rBBKgC4pBBKjCmt",
 "BBKgCmrBBK9BktBBKgCkrBDK3CosBBKgCoqBHKtCssBBKgCsqBBK3BkuBBKgCksBBKiH8iBBKgC8gBBKhC+iBBKgC+gBBKrKwrBBKgC",
 "wpBBK+bsNBKCqNBKrd2qBBKgC2oB9DFhBBF8fBF3fBFQBFugBBFEBFMBFzgBBFEgBJxFsuBBJAuuBBJA0uBBJAwwBBJAmuBBJA2uBDF",
 "mkBBFtfBFOBFKBF6hB8CE2GBECCEkBBIVNwBE9EGJxpBqyBEE2BGJ1BiuBBKwIylBBKyuB/IBEztBBK8tBnJBKErJBKEvJCKM7JCKMn",
 "KBKIvKBKiCxMaKhDhJBKY5JBKY/KBKInLBKErLBKEvLBKkBzMaKjBhLBKY5LBKL7LBKMnMBKIvMCFtBBFMBFlBBK6ChNBKAzMBFXBFL",
 "aFLBFOBFCCFzCBF6BEFjBHKkHpRBKA5QCKDjREKZ7PFKoBxRBKDvRBKW5RLKVjRgBKgCjTXKFpTBKA5SCKDjTEKmC7UFK3BxTBKDvTB",
 "KW5TYKiDpWBKCrWqCK9F/QBKgC/SOKrCzQBKgCzSBK/BvQBKgCvSDK1B9QBKgC9SDKmK/cBKChdBKlM7QBKgC7SBK9B9QBKgC9SDK9B",
 "nRBKgCnTBK/B/QBKgC/SBKzBrRBKgCrTDK0K/dBKCheBK3LpSBKgCpUBKzC9RBKgC9TBK/B1RBKgC1TBK/BvRBKgCvTBK3B9RBKgC9T",
 "DK3BlSBKgClUuEJ0R6B7EKkM4CBKA6CBKiCYBKhC8CBKmCUvCJlC6EBJiC4CBJ+HlFBJ5H0CoCK2IhICKnB5GRKiB7H2SKslBoBIKQY",
 "DKGSkBI7BuCBICsCBICqCBIKgCBIK2BBIC0BBISiBBIIasDKwJRBKAgBQIrC2BBIC0BCIaa0CImIUDIMIjBIjCsCBICqCBIKgCDIeiB",
 "qHK4ReDKARBKAgBQIrC2BBIC0B3BKgHqE2BKoDPBKCRBKBiB8DKgIgB4DKyHsBHKOeBKAgBCKAHBKIW/DK4HPBKCRBKBiBuEKmJdCKA",
 "TBKGjBBKFM1CJoH1BgEJgI1BpBJjCjBBJATvBFgG3BIuDqHKIU2GFIKsGFIKiGFIK4FNI1BqHKIiDCCIAGBIiEjDBJAhDBIClDBJAjD",
 "IIjEeSIiCqCKIU2BFIKsBFIKiBFIKYNI1BqCtDKqJS2GFuLqwCKyiFgDCKE8CCKE4CCKE0CCKEwCEKIoCpBKyCJCKENDKERBKCTCKGZ",
 "pPFhwNBFqIBFnICFEBFCBFyUBFtUBFCBFCBFCBFCBFCBFCBFCCFCBFmdBFjdBFEBFEBFCBFEBFUBF+eBFCBFirNBF/pOBFEBFCBFofB",
 "FEBFCBFpfCFIBFEBF8NBF3NBFqeBFksNBFCBFtqOBFIBFCBFwqOBF7qNBFxfBF+qOBFl3MBFCBFCBFkBBFCBF71BBFSBFGBFCBF4zBB",
 "FCBFcBFKBFCOFsHjBF1eBF9eBFkfBFpWBF4WBFrfBFyfBFEBFIBFGBFCBFCBFixNBF7tNBF/CBFwxNBFruNBF7CBFBBFEBFCBFCBFCB",
 "FGBFUBFCBFvNBF8NBFCBFkpNBFhpNBFCBFjhBBFshBBFCBFCBFsShCKt3BouBBKgCosBBK9BqsBBKgCqqBBK/BiuBBKgCisBBK/B+uB",
 "BKgC+sBBKqG0jBBKgC0hBBKlKmsBBKgCmqBBK/B+tBBKgC+rBBK/B6uBBKgC6sBBK/BmuBBKgCmsBBK/ByuBBKgCysBBK8K8eBKC6eB",
 "KB+eBKC8eBK7MwuBBKgCwsBBK/B2uBBKgC2sBBKmc8NBKC6NBKleisBBKgCiqBBK9B6rBBKgC6pBBK9B+rBBKgC+pBBK/B2tBBKgC2r",
 "BBK/BgsBBKgCgqBBK/B+tBBKgC+rBBK/BsuBBKgCssBBK9BuuBBKgCusBBKsGkjBBKgCkhBBKnKsrBBKgCspBBK/BwtBBKgCwrBBK/B",
 "suBBKgCssBBK9ButBBKgCurBBK08OjzNBKClzNBK1+OquBBKgCqsBBK/BiuBBKgCisBBK9BorBBKgCopBBK/B0rBBKgC0pBBK/BstBB",
 "KgCsrBBK9ByrBBKgCypBBK/BqtBBKgCqrBBK/BmuBBKgCmsBBK/B+tBBKgC+rBBKuG4iBBKgC4gBBK/BmjBBKgCmhBBKuFobBKCmbBK",
 "BqbBKCobBK5PirBBKgCipBBK/BurBBKgCupBBK7BqrBBKgCqpBBK/BitBBKgCirBBKw+Or1NBKCt1NBKxgP+tBBKgC+rBBK9BorBBKg",
 "CopBBK/BgtBBKgCgrBBKuO6aBKC4aBKKuaBKCsaBKiwO11NBKC31NBK9gPmrBBKgCmpBBK/B+sBBKgC+qBBK/B6tBBKgC6rBBK/BytB",
 "BKgCyrBBK9B+sBBKgC+qBBK/B2tBBKgC2rBBK/BwtBBKgCwrBBKmPyZBKCwZBKC8ZBKC6ZBKpR6qBBKgC6oBBK/B6sBBKgC6qBBK9By",
 "qBBKgCyoBBK/B0qBBKgC0oBBK/BirBBKgCipBBK/BgrBBKgCgpBBK/B4sBBKgC4qBBK9B+qBBKgC+oBBK/BgrBBKgCgpBBK9B8qBBKg",
 "C8oBBK9BwqBBKgCwoBBK/BysBBKgCyqBBK/ButBBKgCurBBKjBysBBKYopBBKGmpBBKEipBBJvB6lBBK8RwYFK7TkuBBKgCksBBK/Bw",
 "sBBKgCwqBBKiG+jBBKgC+hBBK/B8jBBKgC8hBBK/BukBBKgCuiBBK/BikBBKgCiiBBK87O75NBKC95NBK95O+fBKC8fBKB8fBKC6fBK",
 "BugBBKCsgBBKBigBBKCggBBK65Oz5NBKC15NBK3lP8tBBKgC8rBBK/BosBBKgCoqBBK/B8rBBKgC8pBBKqGujBBKgCuhBBK/BsjBBKg",
 "CshBBK/B+jBBKgC+hBBK/ByjBBKgCyhBBK88Or7NBKCt7NBK/mPgsBBKgCgqBBK/B0tBBKgC0rBBKzBotBBKgCorBBK/B0rBBKgC0pB",
 "BKqG6iBBKgC6gBBK/B4iBBKgC4gBBK/BqjBBKgCqhBBK/B+iBBKgC+gBBKw9Oz8NBKC18NBK5yOiWBKCgWBKBgWBKC+VBKByWBKCwWB",
 "KBmWBKCkWBKBmYBKCkYBK3U8sBBKgC8qBBK/BorBBKgCopBBK0TkVBKCiVBKBiVBKCgVBKB0VBKCyVBKBoVBKCmVBKBoXBKCmXBKtVu",
 "qBBKgCuoBBK/B0sBBKgC0qBBK/BgrBBKgCgpBBK/B0qBBKgC0oBHKwzB7JBKA5JBK+0N//NBKChgOBKB9/NBKC//NBKB77NBKC97NBK",
 "/2N7HBKA5HBKu3NvgOBKCxgOBKBtgOBKCvgOBKBr8NBKCt8NBKn1NjKBKAhKBK21N/gOBKChhOBKB9gOBKC/gODK33NjIBKAhIBKm4N",
 "vhOBKCxhOBKBthOBKCvhODKj2NnKBKAlKBKy2N/hOBKChiOBKB9hOBKC/hOBKB79NBKC99NBKz4NnIBKAlIBKi5NviOBKCxiOBKBtiO",
 "BKCviOBKBr+NBKCt+NBK/2NrKBKApKBKu3N/iOBKChjOBKB9iOBKC/iOBKB7+NBKC9+NBKv5NrIBKApIBK+5NvjOBKCxjOBKBtjOBKC",
 "vjOBKBr/NBKCt/NBKz3N3KBKA1KBKi4N/jOBKChkOBKB9jOBKC/jODKj6N3IBKA1IBKy6NvkOBKCxkOBKBtkOBKCvkODKn4NjLBKAhL",
 "BK24N/kOBKChlOBKB9kOBKC/kOBKB7gOBKC9gOCK36NhJCKo7NxlOCKAvlOCKAthOBK/4NrLBKApLBKu5N/lOBKChmOBKB9lOBKC/lO",
 "BKB7hOBKC9hOBKv7NrJBKApJBK+7NvmOBKCxmOBKBtmOBKCvmOBKBriOBKCtiOBKv7NhLBEJBKSpLBEPBKUtLBERBKWxLBETBKgB9LB",
 "EaBKNpMBEQBKHxMBEKDKkzN17NBKC37NBKC57NBKC77NBKC97NBKC/7NBKCh8NBKCj8NBKCl8NBKCn8NBKCp8NBKCr8NBKCt8NBKCv8",
 "NBKCx8NBKCz8NBKiB19NBKC39NBKC59NBKC79NBKC99NBKC/9NBKCh+NBKCj+NBKCl+NBKCn+NBKCp+NBKCr+NBKCt+NBKCv+NBKCx+",
 "NBKCz+NBKiD1hOBKC3hOBKC5hOBKC7hOBKC9hOBKC/hOBKChiOBKCjiOBKCliOBKCniOBKCpiOBKCriOBKCtiOBKCviOBKCxiOBKCzi",
 "OBK77N1KBKA5KBK+7N1iOBK97N3GBKJtGCKK9GBKqgOhnOBKpiO1IBKA5IBKAhJBEVBKW3EBJh3BmvBBEy5BBJx5BmvBBJAkyBBKwI0",
 "pBBK4sP9iOBK57NjHBKRxGCKSpHBK+gOhoOBKhjOpJBEZBKetJBEbBKcjFBKwiO9rOBKA7rOBKA5nOBKrgOlLBKApLBKiBzMBEzDDKy",
 "CtHBKiBvIBKhDlJBKApJBKAxJBEdCKonO7vOBKA5vOBKA3rOBKxjO9LBKAhMBKM1MBE1BBKiB7KBKA5KBKIlIBKMxIBKrC9JBKAhKBK",
 "ApKBEtBBKmB5IBKxvBwlBBE6tBBEpyBDK4xPtjOBKl7NnIBKKxICKJtIBK6iOhrOBKtlO9JBElBBK6BxKBEzBBK0BnGBEpvBBJnJovB",
 "CEk+PBECBFl+PBFABFABFABFABFABFABFABFAHFg/PGJ/+PmxBNFcBJAABNAAAJFbEJkhQABNAAACJGABNAAAFJnhQACJBquBJJ+BAB",
 "JA7BBJ7B8BORihQAAAIFjhQRFgBBFyDDFpDBFCBFCBFCBFCBFCBFbBFu+QBFp9QBFpBBFCBFqEBF7DBFCBFCBFCBFCBFCBFCBFCBFCB",
 "FCBFbBFu+QBFp9QBFpBBFCCFwDBFIBFUBFSBFieBFhfBFGBFCBFCBFCBFEBFGBFCMJjCiC4CNejDoDBNAjDoEBF7BBJ6G5GCN5EnDgE",
 "BNAnDsEBF6SCJ/NzGBFxEBF9BBFABFABFgCBF+LBF7NBFABFGBFgCCF7BBJAiCDFEBFCBFCBFABFADJCLBNCdOBJANCFMCE+0BCF90B",
 "CEdBE0HBFlIBFCCFkCBF/BBFCCFOBFkCBFi2CBFCBFCBFCBFz2CCNlCJuBBF03BBFZBF/BBFaBFinPFF58QBFgCBFCBFIBFCHNxDmhQ",
 "5gQBNAmhQ1gQBRAmhQlhQBBNAmhQhhQBNCkhQhhQBNBmhQ9gQBNCkhQ9gQBNCihQ9gQBNCghQ9gQBNFmhQ7gQBNI+gQ7gQBNHmhQ3gQ",
 "BNEihQ3gQBNE+gQ3gQBNE6gQ3gQBJLmhQBFwBBJAABNAAABJAaBFaBJAZBNAZABRAZAABJZeBFeBJAdBNAdABFXBFRBFCBFSBF4BBJA",
 "ABNAAABJAaBFaBJAZBNAZABRAZAABJZeBFeBJAdBNAdABFXBFRBFCBFSKN5DohQhhQRKg2QvlPBKEzlPTKE3lPfK4DvpPBKI3pPBKDz",
 "pP1BKiD1sPFKK/sPDKGltPYKwB1uPCKE5uPGJMABNAAACJGABNAAARKcnwPDKO1wPDKE5wPCKG/wPXK1gR2vBCKoiRxyPLKnBpxPBKh",
 "hR4vBBKE0vBBKsiR3yPBKC5yPDKazzPBKC1zPDKG7zPBKC9zPHKGj0PBKCl0PDKOz0PBKC10PDKG70PBKC90PjBK2Bz2PBKM/2PBKCh",
 "3PBKEl3PxBK9Cn0PBKCp0PBKoBx1PBKCz1PHKgCz3PBKC13PBKC33PBKC53P8BEm1GBEC2JFv9XBFCBFCBFCBFCBFCBFCBFCBFCBJPB",
 "BJAABJACBJAEBJAGBJAIBJAKBJAMBJAOBJAQBJCDBNTSPBNAURBNAWTBNAYVBNAaXBNAcZBNAebBNAgBdBNAiBfBRASBNBRASAPBRAS",
 "CRBRASETBRASGVBRASIXBRASKZBRASMbBRASOdBRASQfBRAUDNBJSFBJCHBJCJBJCLBJCNBJCPBJCRBJCTBJCVBNPBDBNAAFBNACHBN",
 "AEJBNAGLBNAINBNAKPBNAMRBNAOTBNAQVBNCDDBNTyDvDBNA0DxDBNA2DzDBNA4D1DBNA6D3DBNA8D5DBNA+D7DBNAgE9DBNAiE/DBN",
 "AkEhEBNAmEjEBNAoElEBNAqEnEBNAsEpEBNAuErEBNAwEtEBNAyEvEBNA0ExEBNA2EzEBNA4E1EBNA6E3EBNA8E5EBNA+E7EBNAgF9E",
 "BNAiF/EBNAkFhFBFyBBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFOBFCBFCB",
 "FCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFzEipBR2/QAAAoDNh/QAGBJGABNAAAmDIg",
 "qVp6TgNFlnVBFnByHF2wWwJF4mf0CFk9ZNF95oBBFwCBFcBFSBF0BBF4CBFOBFoBBF0BBFqoBBFsCBFMBFuBBFoBBFqBBFqDBFqBBFW",
 "BF2JBF8FBF4BBFKBF8BBFSBF2BBFaBFyBBFoDBFkBBF2BBFovBBFwEBF4cBFuBBFQBFWBFkBBF4EBF6dBFgDBFwHBFuBBFmBBFsBBFs",
 "DBFGBF0WBFUBFYBFaBFoHBFQBFKBFqHBFUBFaBFQBF6DBFiBBFkBBFgFBFqkBBF8CBFqBBFouBBFKBFmFBFgBBFaBFqBBFuCBFKBF2Q",
 "BFwBBFgCBFw/BBFkEBFuBBF0DBFwBBFSBFOBFoDBFKBFgCBFujCBF+bBFYBFKBFIBFQBFkBBFEBFiFBFwNBFKBFmVBFUBFkDBFOBFSB",
 "FQBF2FBFOBFoOBFOBFiDBFiBBF+CBF6OBFOBFiBBFuUBF8HBFMBFsLBFuFBF8CBF0XBFqIBF8jBBF2BBFyDBFmDBFoEBFWBFMBFiCBF",
 "4EBFUBF0VBFOBFSBFSBFgBBFeBFIBF+EBFIBFMBFq9BBF8BBFqdBFYBFuBBF2RBFaBFuEBF8CBFujBBFeBFeBFmCBFqCBFuMBFYBFmE",
 "BFwPBF+BBFiNBFqBBFKBF4NBFwLBF6HBFMBFKBFs6BBFSBF4JBF0JBFGBF+CBFyGBFaBFIBFOBFkGBFkCBFMBFcBFuKBFmDBFIBFuLB",
 "FGBFmBBF4PBFgDBFOBFsEBFUBFGBFUBF8BBF2YBFgZBFUBFsCBFsBBFQBFUBFIBFwCBFIBFiBBFKBFaBF2BBFeBFQBF2DBFeBFIrBF/",
 "3vC2BFk/XCF+yRBFGBFCSKzvR8ECKE4ECKE0ECKEwECKEsECKEoECKEkECKEgECKE8DCKE4DCKE0DCKEwDDKGqDCKEmDCKEiDHKO0CB",
 "KA2CCKGuCBKAwCCKGoCBKAqCCKGiCBKAkCCKG8BBKA+BXKpDmFHJriYynYBJA0nYCK6nYHBJpBENKmCjBCKEnBCKErBCKEvBCKEzBCK",
 "E3BCKE7BCKE/BCKEjCCKEnCCKErCCKEvCDKG1CCKE5CCKE9CHKOrDBKApDCKGxDBKAvDCKG3DBKA1DCKG9DBKA7DCKGjEBKAhEXKpDZ",
 "DKyErFBKCtFBKCvFBKCxFEKWnGBJzEqByBFl7PBFCBFyKBFvKBF0KBFCBFzKBFCBFCBF2KBFCBFCBFCBFCBFCBF1JBFnBBFCBFCBFyB",
 "BFvBBFCBFCBFCBFCBFCBFCBFCBFCBFCBF+EBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFpBBF3E",
 "BFCBFkLBFCBFIBFEBFKBFIBFEBF5LBFiMBFEBFjMBFCBFEBFEBFCBFIBFEBFEBFCBFCBFCBFCBFGBFIBFUBFOBFKBFqKBFCBF1JBFCB",
 "FCBF2CBFCBFGBFSBFCBFEBFUBFGEF+leBF4IBFlIBFktEBFhtEBFmCBFjCBFuyTBFxtTBF/DBFvBBFwyFBFxfBFrnEhDNjpnBwtIttI",
 "BNA0tIxtIBNA2tIztIBNA6tI3tIBNA8tI5tIBNA+tI7tIBNAiuI/tIBNAmuIjuIBNAouIluIBNAsuIpuIBNAuuIruIBNAwuItuIBNAy",
 "uIvuIBNA0uIxuIBRAwtIiGvzIBRA0tI+FvzIBRA2tI8FvzIBRA6tI4FvzIBRA8tI2FvzIBRA+tI0FvzIBRAiuIwFvzIBRAmuIsFvzIB",
 "RAouIqFvzIBRAsuImFvzIBRAuuIkFvzIBRAwuIiFvzIBRAyuIgFvzIBRA0uI+EvzIBRAouIkGp0IBdAmuI8F5FyFsEj4IBZAmuI8FtF",
 "4Fp0ICNAw9mBt9mBBNAomnBlmnBBNAi+mB/9mBBNAmrrBjrrBBNA4mnB1mnBBNAq0oBn0oBBNA29mBz9mBBNAm0oBj0oBBNAqjnBnjn",
 "BBNAyxpBvxpBBNAguzB9tzBBNAmk4Bjk4BBNA4g2B1g2BBNAgwzB9vzBBNAy6oCv6oCBNAuvrBrvrBBNA67yB37yBBNAkg0Bhg0BBNA",
 "iuzB/tzBBNAsx8Bpx8BBNAq+pBn+pBBNAil5B/k5BBNAynmCvnmCBNAqz8Bnz8BBNA4opB1opBBNA2rnBzrnBBNAolqBllqBBNA8ztB",
 "5ztBBNA2r7Bzr7BBNAytnBvtnBBNA+pmC7pmCBNA4ypB1ypBBNAq08Bn08BBNAyunBvunBBNAk8gCh8gCBNA28gCz8gCBFuyqBBF6yE",
 "BF2wDBFwgLJN9z9BIdBJ7BBBJAABJACBJAEBJAGBJAIBJAKBJAMBJAOBJCFBJADBJABBJAABJACBJAEBF6sIBFEBFCBFEBFCBFCBFEB",
 "FEBFCBFEBFCBFCBFCBFCBJjBiGBJE+FBJC8FBJE4FBJC2FBJC0FBJEwFBJEsFBJCqFBJEmFBJCkFBJCiFBJCgFBJC+EBVHmFsFtLyGB",
 "RDkGlGyGBJBmGCFqveBF4IBFlIBFktEBFtkEBFytBBFz2BBFw2BBF7wBBFouCBFu8JBFm2EBFtjCBF3wCBFyqVBFjrdBFssHBFqkBBF",
 "hSBFqjJBFhzSBF4mPBFwiNBFn0JBFxqTBFoyTBFhqCBFn8NBFsvbBF9zfBFskBBFw3MBF6xVBFnvkBBFwoBBF08MBFx1OBFmCBFjCBF",
 "29HBFl/EBFvLBF4lEBFhDBF63NBFj+TBFs8eBFl3cBFw8CBJxusBGBJAIBJAKBJAMBJCHBJAFBJADBJABBJAABJACBJAEBJAGBJAIBJ",
 "AKBJCJBJHutzBBJCstzBBJCqtzBBJCotzBBJCmtzBBJCktzBBJCitzBBJCgtzBBJC+szBBNPBwtzBBNAAutzBBNACstzBBJuB+BBN6B",
 "aVBJAdBNxBQfBFslYBFEBFEBFEBFEBFCBFEBFEBFEBFEBFEBFEBFEBFEBFEBFEBFEBFGBFEBFEBFEBFCBFCBFCBFCBFCBFGBFGBFGBF",
 "GBFGBFCBFCBFCBFCBFEBFEBFEBFCBFCBFCBFCBFCBFEBFCBFCBFCBJk/Ow6CBRjkP+C2CnDBRAyErBnDBRAiFxBvDBNA0FhBBREuCwC",
 "lEBNA+EjDBNEG0EBVEiBT6ElDBRAoFhFiFBNEyEzDBNAkF3BBNCNsEBRA8DrCKBRAkEFkBBNCiEMBNAuEpBBJEDBNA6BiDBRBwDKkBB",
 "RC6D1C4DBJBgEBVAgE5DyDRBZAgEX2BnDmCBVAgEE3CKBNGyDRBVAyDRvB2CBVB4D9CvByEBRA8De9CBNE2ElEBNEwDhCBNAyE9BBRE",
 "hBW4DBVA8DjD2D3BBREmDSlEBNIwDjDBNAwD1CBNK4DlEBJOfBJEkCBJB2CBJEIBNIVKBNC1CgCBVE2ChEwD1CBNA2CvDBRB4CfBBVI",
 "jDuBemCBNApC4DBJAhCBJBwBBVEnDwErCMBRAjDyFnDBVClBXfoEBNBoBUBVGxCgB6DhBBJE5BBNAdOBNDmBtCBNEyBzDBNAkCnEBNB",
 "mC5DBRIxD+E1CBNBelCBJBwBBNEsBzCBNDiChBBNAiCRBRGzDW8DBNAzDuEBNA1BYBNAa3DBVAqB3DgDYBRC/C8DMBJAWBVAWzB4ChB",
 "BJEpDBRApD4B2CBRA2BnDmCBNGwBlDBNAwBhBBNEnEiFBRItCKmCBJABBNCtBwCBRAiBrCqBBJCXBVAO1CrBiEBNG3CKBJ9rYyo4BBJ",
 "Cwo4BBJCuo4BBJCso4BBJCqo4BBJCoo4BBJCmo4BBJCko4BBJCio4BBJCgo4BBNPByo4BBNAAwo4BBNACuo4BBNAEso4BBNAGqo4BBN",
 "AIoo4BBNAKmo4BBNAMko4BBNAOio4BBNAQgo4BBNCDyo4BBNABwo4BBNAAuo4BBNACso4BBNAEqo4BBNsDvBiBBJHFBJlCoBBNiCBiB",
 "BJaxBBJCZBJXSBNASqEBNASsEBJ1BYBJ0ivB65BBJ07Dh6IBJrwG4jJBJuuG6qDBR4hB1xEp/HoiVBJz7zB9CBJD5CBJ80B13BBJ90B",
 "3CBJDzCBJ/BRBJEVBJLJBN4BDWBRQPDWBJKzCBJDvCBJ80Br3BBJAp1BBJ90BLBJDHBJlCkDBNmClCkDBN7BJkDBNLCkDBNaXkDBJw2",
 "Bu1OBJ90BsqQBJR+qQBJOwqQBJJOBJQBBJ80B90BBJ90BABJTUBJQEBNEAqEBNTUqEBJUqEBNDEqEBNEAsEBNTUsEBJUsEBNDEsEBNE",
 "w6Qj6QBRAw6Qj6Q+DBJ5BiBBN2B1BiBBN7BGiBBNLSiBBN2ChBGBVAhBGi7Qj6QBZAhBGi7Qj6Q+DBJDGBJDKBJ80Bx0BBJ90BMBJGz",
 "BBJDvBBJ80Br2BBJ90BtBBJDpBBJ7BSBJmCxBBJDtBBJ80Bp2BBJ90BrBBJDnBBJ7BUBJ8B8zBBJ7B41BBRoBlD+D9DBJ9B+CBJiCAB",
 "JACBR/Bk9Qz6QHBNA4ChEBJiCjCBJ5BkDBJiCNBJ/BQBJiCKBJ7BABJAEBJgCSBJCCBJAEBNAGPBJAYBJCVBNAHGBNAEFBJ5BPBRgCj",
 "E+D9DBN/BAFBJAEBJmCBBJ/BmCBJIWBNB+7Qv6QBNpBo9Qv6QBJfo7yBBJCm7yBBJCk7yBBJCi7yBBJCg7yBBJC+6yBBJC86yBBJC66",
 "yBBJC46yBBNPBq7yBBNAAo7yBBNACm7yBBNAEk7yBBNAGi7yBBNAIg7yBBNAK+6yBBNAM86yBBNAO66yBBNAQ46yBBNCDq7yBBNABo7",
 "yBBNAAm7yBBNACk7yBBNAEi7yBBNAGg7yBBNAI+6yBBNAK86yBBNAM66yBBNAO46yBBNCFq7yBBNADo7yBBNoDLW90cFm+BBFEzGFmy",
 "xCiEF3yzCBFGBFWEFqNBF6CjbFo9yCBFghCBF3s0CBFuu0CKFps0C3sTE27kCBEn1SBEs9TBEjgBBEt/OBE9pQBEm7CBEu7lBBEABE1",
 "kjBBEgocBEzkeBEi8BBE8qEBEmnKBE4xEBE0rDBE2XBE8TBEu5DBE5oTBEyxBBE87BBEqwBBE+lIBE6yGBEuoEBE92lBBEmvCBE+4LB",
 "EuxDBEkhKBEi/LBE7sgBBE2pJBEk+KBEu5BBE1pTBE+wPBEukDBEp1UBE6kEBEmlDBEk5CBEk9OBEv0gBBEijBBEuSBEs+IBE+gDBE6",
 "zDBEutCBE0xEBEqgDBEsFBEm5DBEm0EBE6jCBE2oBBE72SBEmPBEiiCBEyiDBE2zHBE23FBEx6JBEt/YBEqiDBE41OBE8hCBE3hHBEw",
 "mDBEw/JBEqjFBE9hfBE04BBEi7GBEu8BBEqTBEgiHBEwQBEohMBEx3hBBEy7WBE9qXBEfBEglUBEk6BBEmjDBEooJBEpvFBEhrUBEmz",
 "DBE4vQBEpseBE86GBE2iCBEq3JBEyeBExlRBEo+SBE3zUBE0+HBE35IBE+rPBEn1DBE06LBE91UBE2pCBEmqPBEw0GBEimDBE/uPBEs",
 "/RBEvyRBEz4EBEu+PBEp0PBEq8IBEtrTBE2rBBEgGBEwrLBEsmKBEw4CBEmmEBE6vDBEztfBE6UBEizCBEy3CBEytDBEyjFBE4yEBEm",
 "oOBE6rCBE6iCBEuDBEljmBBE2iKBEirCBE2+RBE7uYBE4xBBEgHBE0pBBEyoFBEsiBBEg0BBEi0CBE0iCBE2nBBEurHBEvjFBEqzFBE",
 "uyBBElzgBBE4IBE0hBBE2gOBE0/LBEweBEh+VBE4SBEs4BBEmjEBEgpIBExsEBEhpSBEqhEBE8uCBEmdBEkmBBEs5JBEuLBEizFBE4K",
 "BE8+IBEksCBEkFBEgNBE5okBBEmiVBEsgMBEowCBEt9aBE1lJBEolBBEoxFBEiFBE01EBEymCBE48DBEonCBE0rHBEg4FBEixHBEpwc",
 "BEs6XBEp6hBBEkvKBEwHBE80CBE2VBE62CBEgVBEkxBBEqqCBE80NBEhvjBBEisIBE0kaBE5kjBBE8uGBEitIBEg0QBE95XBEybBEmt",
 "DBEg3FBE+vRBE5liBBEseBEslEBE86EBE2TBE0VBE6jCBEiyDBE4dBEu5EBEs1EBEkBBE2uEBEsxCBEl6hBBE23NBE5pNBEm7OBEwsB",
 "BEk2IBEyqIBEo7CBEwkBBEvwbBEojDBE6hKBE5xDBEqFBEkXBEj9EBEtiBBE+rNBEvpeBEsnaBE3vYBElDBE+pGBE6iCBEmgNBEh1QB",
 "Ey5IBEzmDBEuoUBE9uDBEigHBEjsGBEvrVBEl5GBEgoCDE0pBCE0hHDErpKBE40QBEg6BBEknBBEkCBEOBE0CBEu8OBEvpNBE+vBCEq",
 "lDCEsuCDEg0CBEqMEEk/DBEaBE4CBE4oCBErtGBEy9CBExwjBBEyTBEsGBE4XBE2BBE6GBE4kBBEyGBEkGBEwdBEwGBE47BBEUBEsiC",
 "BEoNBEsCBEoGBE61BBEmJBE+KBEofBEkvCBEmKBEwQBE4kBBE6LBEufBE+mCBE6KBEWBEBBEQBEMBEOBEgDBECBEkLBEiEBE+TBEojB",
 "BEqBBEwDBEiTBEmJBEweBE4IBEABE8dBEyrCBEsIBE2WBEwDBE0ZBEqDBE8qBBEkIBE2qDBE4RBE4DBEr8bBEynxHBErtgHDEj/ZBE+",
 "4BBE5EBEveBEqcBE2DBEuUBEmDBEmqBBEvEBEoEBEyEBEwnBBEyFBEiJBEgBBE8QBEsMBE06BBEOBEgJBEoEBE2SBEsHBErEBEsIBE7",
 "CBEkJBEkEBEgZBEwFBEsDBEoQBE8RBEmKBEIBE2DBEmiCBEiEBEuYBE0ZBEfBEuFBE4PBEgVBEyjDBEj3CBE0HBE2HBEuUBEqJBEqDB",
 "EkOBEEBE2KBEiBBEyBBEsFBETBE4YBEqeBE+QBE2LBEgOBEyJBE0UBEuMBE60BBE6JBE04BBEwcBEqEBEgBBEySBEyDBE5CBEsDBEFB",
 "EhBBE4EBEiFBE8XBEgjBBE0TBEuSBE6NBEsgCBEuGBEmHBEqIBEoCBEYBEgDBEutBBE0oCBE8qkGBELBEi5FBEvj8HBE2nCBEiCBEgh",
 "pIBEuoFBEmgRBE/4vHBE2EnBJvyvCABJAGBJAMBNAAGBNAAMBJyR1QBJ3QCNJiwCEBJAdBJARBJUPBJTNGIqGpCCIyB1DBFfBFjBBFG",
 "BFCBFOBFCBFCBFWBFEBF97CBI87CvCBIAtCBIg26Dv46DBIAt46DBIx36DxBBIAvBBIAnBBICpBBICrBBICtBBICvBBICxBBICzBCIE",
 "3BBIC5BBIC7BBIC9BBIC/BCIEjCCIEnCBICpCCIEtCBICvCCIEzCBIC1CBIC3CBIC5CBIC7CBIpB3BBIHjBBIU3BBISpCBJnBYBFiKB",
 "FABFUBFABFABFABFGBFABFABFABFEBFABFABFABFLBFABFABFABFKBFABFABFABFLBFABFABFABF2CBFABFABFABFEBFABFABFABFjC",
 "BFABFABFABFBBFABFABFABFGBFABFABFABFCBFABFABFABFMBFABFBBFABFEBFABFLBFABFgBBFABFNBFABFwBBFABFABFABFMBFABF",
 "ABFABFIBFABFABFABFDBFABFABFABFSBFABFCBFABFABFABFKBFABFCBFABFABFABFFBFABFABFABFoBBFABFCBFAiBFrCBFABFABFA",
 "BF0BBFABFBBFABFEBFABFhFBFoFBFABFLBFABFIBFABFOBFABFABFABFtIBFABJlCCBJACBJA+KBJA+KBJAkCBJAkCBJAiKBJAiKBJA",
 "gKBJAgKBJAkKBJAkKBJA0KBJA0KBJA0KBJAmCBJAmCBJAmCBFsKBFABFABFABJrKMBJAOBJA+BBJAmCBJAoCBJEIBJAKBJAMBJA6BBJ",
 "AiCBJAkCBJEEBJAGBJAIBJA2BBJA+BBJAgCBJCCBJA0BBJA8BBJA+BBJCCBJAyBBJCBBJAwBBJCDBJABBJAuBBJKNBJALBJAJBJAkBB",
 "JEPBJAgBBJCTBJARBJAPBJAeBJCTBJAcBJCaBJCZBJAYBJCbBJAWBJOpBBJAnBBJAlBBJAIBJAQBJASBJCpBBJAGBJAOBJAQBJC3BBJ",
 "AtBBJArBBJApBBJACBJAEBJAMBJAOBJCvBBJAtBBJArBBJACBJAKBJAMBJCxBBJAvBBJAtBBJAABJAIBJAKBJCzBBJAxBBJAvBBJABB",
 "JAGBJAIBJC1BBJADBJAEBJAGBJG7BBJA5BBJA3BBJAJBJABBJAABJzBgEBJC+DBJwBuCBNxiD4iDKBNA6iDIBNA8iDGBNA+iDEBNAgj",
 "DCBNAijD+BBJsgDWBJAYBJA+BBJAgCBJAmCBJAoCBJESBJAUBJA6BBJA8BBJAiCBJAkCBJEOBJAQBJA2BBJA4BBJA+BBJAgCBJCMBJA",
 "OBJA0BBJA2BBJA8BBJA+BBJsBQBJASBJCOBJAQBJC3BBJACBJAEBJAMBJAOBJCCBJAKBJAMBJC7BBJAABJCpBBJAnBBJABBJAABJAGB",
 "JAIBJGuCBJCxBBJAvBBJAJBJAHBJABBJAABJnCMBJAOBJAQBJA+BBJAiCBJEIBJAKBJAMBJA6BBJA+BBJEEBJAGBJAIBJA2BBJA6BBJ",
 "C0BBJCCBJAyBBJCBBJAwBBJCDBJAuBBJKNBJALBJAJBJAkBBJEPBJANBJAgBBJCTBJARBJAPBJAeBJCTBJCaBJCZBJAYBJCbBJAWBJO",
 "pBBJAnBBJAlBBJAIBJCpBBJAGBJCtBBJArBBJApBBJACBJAEBJCvBBJAtBBJArBBJACBJAGBJCxBBJAvBBJAtBBJAABJCzBBJAxBBJA",
 "vBBJABBJACBJC1BBJADBJAyCBJG7BBJA5BBJA3BBJAJBJAFBJnC+BBJAiCBJE6BBJA+BBJE2BBJA6BBJC0BBJA4BBJQkBBJAoBBJCiB",
 "BJAmBBJeCBJAEBJCCBJEBBJACBJIJBJAFBNTcGBNAeEBNAgBCBJRkBBJAmBBJEgBBJAiBBJCeBJAgBBJNsBBJAuBBJCqBBJAsBBJN4B",
 "BJA6BBJB6BBJA8BBJE2BBJA4BBJOoBBJAqBBJCmBBJAoBBJDPBJANBJALBJAiBBJAFBJBDBJEHBJCJBJCkBBJAmBBJEgBBJAiBBJCeB",
 "JAgBBJNsBBJAuBBJCqBBJAsBBJN4BBJA6BBJB6BBJA8BBJE2BBJA4BBJOoBBJAqBBJCmBBJAoBBJDPBJANBJALBJAiBBJAFBJBDBJEH",
 "BJCJBJDPBJANBJALBJAiBBJBoBBJCmBBJGcBJHNBJALBJAJBJCPBJANBJALBJGcBJCaBJhBoCBJAoCTNGEyBBNAGBBNAGBBNAGwBBNA",
 "IuBBNA2BxBBNA2BvBBNA2BtBBNEyBvBBNAyBvBBNCwBKBNAwBIBNMLBBNANCBNAN6BBNAkBvBBNAkBvBBNAkBxBBNAkBABNAkBABNEP",
 "ABNAPABNAgBABNBNwBBNANwBBNAP8BBNAiBtBBNAiBtBBNAiBABNAiBABNER4BBNAPuBBNAPuBBNCcvBBNAcvBBNAcABNAcKBNEZyBB",
 "NAYABNAYABNAYIBNCWABNAWKBNAWIBNOlBuBBNAlBuBBNCGvBBNAGABNEtBwBBNAtB6BBNAtB4BBNAvBABNAvBABNArBuBBNArBuBBN",
 "ACvBBNACvBBNCvBBBNAvBwBBNAvB6BBNAxBCBNAxByBBNAtBDBNAtBuBDNAxBEBNEDxBBNADABNBxBwBBNAxB4BBNAzByBBNAzByBBN",
 "AzB6BBNABKBNABIBNIJABNAJABNjCM4BBNEE8BBNAE6BBNAI4BBNAI2BBNA2BKBNA2BIBNEyBKBNAC4BBNAyBIBNOJ2BBNEP6BBNBN6",
 "BBNER6BBNcvB8BBNACKBNM5B6BBNA7B8BBNAJKBNJAKBNFGKBNIxB6BBNHGvBBNEtBwBBNVYKBNUEKBNGzBCBNBtB4BBNBvByBBNBEA",
 "BNCvByBBNEzBCBNzBC6BBNCB8BBNwBxB8BBNHIKBNxBK6BBN2BEABNTZyBBNHgBABNDJ4BBNmBzB8BpBNhBe8IBNaE8IBR1B6BAGBRA",
 "4B1BSBR8BvBwBrBBRfeVYBRHEqBHBRQWMFBRepBiBCBNlBeKBpCAeKxiDugD6BAGtiDyhDWMFtiDwiDpBiBCBhBRwBniD4gDwB5B6BG",
 "BRK2JpK6BUFpgDBFq9XBFCBFv8XBFCBFzBBF8BBFu9XBFCBFh/HXFBBFhBBFBBFn7PBFABFtDBFCBFkFBFEBFu5XBFCBFJBFCBFNBFC",
 "BFFBFCBFGBFCBFCBFCDFn7XBFEBFi+PBFABFABFABF99PBFABFABFlDBFq9XBFl9XCFaBFBBFKBF7BBFm/PBF3+PBFCBFkFBFEBFu5X",
 "BFCBFj/XBFGBFIBFCBFEBFeBFEBFBCF+BBFvDBFCBF2BFJ/B2iDBJgiDWBJ/hD4iDCJA6iDCJA8iDBJgiDcBJ/hD+iDBJgiDeBJ/hDg",
 "jDBJgiDgBBJ/hDijDBJgiDiBBJ/hDkjDBJgiDkBBF9BBFCBFABFCBFABFCBFABFCBFABFCBFABFABFABFCBFABFCBFABFABFABFCBFA",
 "BFCBFABFABFABFCBFABFABFABFCBFABFABFABFCBFABFABFABFCBFABFABFABFCBFABFCBFABFCBFABFCBFABFCBFABFABFABFCBFAB",
 "FABFABFCBFABFABFABFCBFABFABFABFCBFABFABFABFCBFABFABFABFCBFABFABFABFCBFABFABFABFOBFABFABFABFCBFABFABFABF",
 "CBFABFABFABFCBFABFABFABFCBFABFABFABFCBFABFABFABFCBFABFABFABFCBFABFCBFABFCBFABFABFABJLjCBJAjCBJAhCBJAhCB",
 "JA9BBJA9BBJA5BBJA5BFFliDBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCB",
 "FCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBF",
 "CBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFuwUB",
 "FCBF4nDBFUBFCBFXBF0PBFRBFhFBFEBFEBFEBFEBF0DBFEBFEBFnCBFyDBFzFBFEBFEBFEBFEBFCBFEBFEBFEBFEBFEBFEBFEBFEBFE",
 "BFEBFEBFGBFEBFEBFEBFCBFCBFCBFCBFCBFGBFGBFGBFGBFGBFCBFCBFCBFCBFEBFEBFEBFCBFCBFCBFCBFCBFEBFIBFzFBFCBF0MBF",
 "lDBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCEFCBFCBFCBFCBF",
 "CBFCDFCBFCBFCBFCBFCBFCDFCBFCBFCBFCBFCBFCDFCBFCBFCEFhsYBFCBFSBFGBFRBFBBFogQCFylCBFj3BBFCBFCBFCBF6gCBF2C7",
 "uBKugwD1shEbKQlthE9MFzwhEBFCBF1eBFmbBFrECFgFBFms0CBFhs0CBFBBF7EBFCBF0zNBFxzNBFMBF2EBFpEBFDBFDBF2DBFnXBF",
 "qXBFpDBF6BBFsCBFCBF9DBFwpuHBFr37EBF/xyCBFupuHBFtnuHBFwnuHBF7gvHBF8XBFCBFrgBBFygBBF8ouHBF1ouHBFCBFEBFwCB",
 "FDBFis0CBF/r0CBF9BBFy+UCFj+UBFkBBFCBFTBFvNBFCBFCBFw0uHBFoBgnCKponDiCCKE+BPKUqBjEK4ITBKCV8QKqhBRBKAgB3BK",
 "2DuECKEuDJKOuDDKKyD0BKkDACKATBKAOzHKuPCBKARCKAI8HK+PRBKCT9bK43BJp/RKy+jBABKAWBKACBKWTBKVEBKGDBKCFBKBBgi",
 "DKskGABKHIBKMDs7XFvy2FBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFzCBF",
 "CBFCBFCBFCBFCBFCBFCBFCBFCljBI8xoHcBICaBIOeBIAgBBIAiBBIAkBBIAmB3CI0FnFBICpFBIC5EBIC7EBIB3EBIC5EgSF13oHBF",
 "CBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFOBFCBFCBFCBFCBFCBFCBFCBFCBFC",
 "BFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFxDBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFC",
 "BFCBFCBFCBFCBFCBFCBFCBFCBFOBFCBFCBFCBFCBFCBFCCFEBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFxD",
 "BFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFOBFCBFCBFCBFCBFCBFCBFCBFCB",
 "FCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFxDCFEBFCDFGDFGBFCDFGBFCBFCBFCCFEBFCBFCBFCBFCBFCBFCB",
 "FCBFOBFCBFCBFCCFECFEBFCBFCBFCBFCBFCBFCCFEBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFxDBFCBFCBFCBFCBFCBFCBFCBFCBFCB",
 "FCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFOBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBF",
 "CBFCBFCBFCBFCBFCBFCBFCBFxDBFCCFEBFCBFCBFCDFGBFCBFCBFCBFCBFCBFCBFCCFEBFCBFCBFCBFCBFCBFCCFQBFCBFCBFCBFCBF",
 "CBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFxDBFCCFEBFCBFCBFCCFEBFCBFCBFCBFCCFEEFIBF",
 "CBFCBFCBFCBFCBFCCFQBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFxDBFCBF",
 "CBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFOBFCBFCBFCBFCBFCBFCBFCBFCBFCBFC",
 "BFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFxDBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFC",
 "BFCBFCBFCBFCBFCBFCBFCBFOBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFxD",
 "BFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFOBFCBFCBFCBFCBFCBFCBFCBFCB",
 "FCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFxDBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCB",
 "FCBFCBFCBFCBFCBFCBFCBFCBFCBFOBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBF",
 "CBFxDBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFOBFCBFCBFCBFCBFCBFCBF",
 "CBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFxDBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBF",
 "CBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFOBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFC",
 "BFCBFCBFuLBFsQDF0VBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFmFBFhFBFCBFCBFCBFCBFCBFCBF8lPBFrlPB",
 "FCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFyjPBF5gPBFnCBF+BBF1BBF4BBF1BBF",
 "pEBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFmFBFhFBFCBFCBFCBFCBFCBFCBF8lPBFrlPBFCBFCBFCBFCBFCBF",
 "CBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFyjPBF5gPBFnCBF+BBF1BBF4BBF1BBFpEBFCBFCBFCBFCBF",
 "CBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFmFBFhFBFCBFCBFCBFCBFCBFCBF8lPBFrlPBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFC",
 "BFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFyjPBF5gPBFnCBF+BBF1BBF4BBF1BBFpEBFCBFCBFCBFCBFCBFCBFCBFCBFCBFC",
 "BFCBFCBFCBFCBFCBFCBFmFBFhFBFCBFCBFCBFCBFCBFCBF8lPBFrlPBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCB",
 "FCBFCBFCBFCBFCBFCBFCBFCBFyjPBF5gPBFnCBF+BBF1BBF4BBF1BBFpEBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCB",
 "FCBFmFBFhFBFCBFCBFCBFCBFCBFCBF8lPBFrlPBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBF",
 "CBFCBFCBFyjPBF5gPBFnCBF+BBF1BBF4BBF1BBFMBFCDF56BBFCBFCBFCBFCBFCBFCBFCBFCBFCBFRBFCBFCBFCBFCBFCBFCBFCBFCB",
 "FCBFRBFCBFCBFCBFCBFCBFCBFCBFCBFCBFRBFCBFCBFCBFCBFCBFCBFCBFCBFCBFRBFCBFCBFCBFCBFCBFCBFCBFCBFCxhCFu/BBFCB",
 "FCBFCBFCBFCBFCBFCBFCBFEBFCBFCBFEBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFGBFEBFCBF2jxCBF/6wCBFlIBFEBFiJBFzDBFgCB",
 "F9JBFCBFCBFCBFCBFCBFCBFCBFCBFEBFCBFGBFCBFEBFEBFCBFCBFCBFCBFCBFEBFCBFsEBF1DBFBBFUBF4EBFs6wCBF/5wCzsDFsXB",
 "FCBFIBFGCFyBBFrBBFJBFUBFmBBFNBFCBFCBFCBFlBBFMBFQBFXBFaBFhBBFGBFTBFCBFGBFEBFMBFEBFEBFoDBF4EBFxBBFjDCFtEB",
 "FICF2BDFzBCF6BBFNBFCBFCBFCBFlBBFMBFQBFXBFaCFbBFTBFCBFGCFQCFIHFbFFCCF6BCFLCFEBFlBBFMCFHBFaCFbDFLCFQCFICF",
 "gICF1ECFtEBFICF2BDFzBBFUBFmBBFNCFEBFCBFlBBFMBFQBFXBFaCFbBFTBFCBFGCFQBFEBFEBFoDCFmDCFzHBFCBFIBFGBFwBBFCB",
 "FrBBFJBFUBFmBCFLBFCBFCBFlBBFMBFQBFXBFaBFhBBFGBFTBFCBFGBFEBFMBFEBFEGFjBBFIBFGCFyBBFrBBFJBFUBFmBCFLBFCBFC",
 "BFlBBFMBFQBFXBFaBFhBBFGBFTBFCBFGBFEBFMBFEBFElSJzgDDBJAHBJCJBJCLBJCNBJCPBJCRBJCTBJCVBJCXBJCZGNhByBvBBNA0",
 "BxBBNA2BzBBNA4B1BBNA6B3BBNA8B5BBNA+B7BBNAgC9BBNAiC/BBNAkChCBNAmCjCBNAoClCBNAqCnCBNAsCpCBNAuCrCBNAwCtCBN",
 "AyCvCBNA0CxCBNA2CzCBNA4C1CBNA6C3CBNA8C5CBNA+C7CBNAgD9CBNAiD/CBNAkDhDBN4+Xh8Xk8XBFh9XBFeBJdCBJoBGCFrBBFC",
 "BFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBFCBJjBcBJKSBJMdBJAABNFAMBJOnBbJTT",
 "BJARBJAKkBJRMwDJujY/CBJwDABFEOFs5YBFnvDBF14DBFpwRBFq8OBF8oFBFysYBFzrYBFpoFBF43LBFiwFBFv4FBF30JBF+zGBF9/",
 "GBFmiKBFl5JBFqyVBFliEBF04LBFx7ZBFtrCBF2tNBF9nGBFgMBFp1KBFSBFikhBBFnmZBFx7HBFs8CBFoxHBFymVBF5xVBF8yLBFyP",
 "BFjnTBFwnNBFt3DBFBBF2iHBFhsRBFo0BBFu5dFNxzwBwxbtxbBNAq/On/OBNAwnPtnPBNAq3Vn3VBNAqqgBnqgBBNA+jZ7jZBNAmsj",
 "BjsjBBNAysRvsRBNAm0aj0aIFm4XBFv6F/sCF97pBBFCBFCBFCBFCBFCBFCBFCBFCBFCng/BEognBBEJBESBEiu5GBEj84GBE8EBEaB",
 "EuEBEwHBE+BBE8EBEvBBEhjOBE45oHBE5u6GBEOBEgBBEmBBEq65GBElmoHBE8qOBEsCBE875GBEn75GBEaBEvtBBEguBBESBE0igJB",
 "Ez+/IBEcBEnyOBE41OBEWBE4CBEKBEj2OBEk7OBEEBE2BBEsBBEWBECBEiBBEkDBEQBESBEyBBEUBEEBEABEABE6q7GBE37sGBErqOB",
 "EqBBEo47GBEv37GBEMBEqBBEwJBErGBEgBBEgCBE0DBEoFBE0BBEmEBEgBBEiCBEABEqBBEkBBEQBEeBEoVBE/QBEiRBErMBEmCBE5m",
 "CBEuuDBE/RBEsCBEyBBEjIBEuKBEBBE2HBEwj+GBEj/9GBEKBEeBEoBBEQBEgEBEs0+GBEkEBE7v+GBE+CBEYBE9EBE8IBEv3RBEcBE",
 "4gSBEsDBEABE0o/GBEpg/GBEqBBEeBEYBEqy/GBExx/GBEOBE60BBEhzBBEhqSBE+tSBEcBEkFBElDBEu1gHBEhqgHBEmqgHBEvngHB",
 "EFBEiBBEqGBECBEl7SBE88SBE2CBEqBBE4CBEtgTBEiy0HBEtw0HBEojTBEGBEGBEoBBEwsiJBEnpiJBEmjiHBEABE/ywGBE9tRBEAB",
 "E1lTBEi/8HBEkyXBEvnhIBESBEvoTBEurTBEmDBEUBEkCBEwIBEt0TBE7BBEw3TBEgkjHBE5gjHBEiIBEIBEEBEDBE8CBEoBBEoCBEb",
 "BEWBE+CBEoBBEIBE0BBEWBEkEBEoFBEmCBE4HBE47jHBE98jHBEhEBE4GBE2BBEiGBE6gkHBE98jHBE5FBE3BBE13UBE2jVBEqBBE+B",
 "BErCBE1gVBEmuVBE6BBE8plHBEtilHBEqRBE9KBE/yVBEw3VBEx4VBEnCBE8qLBEGBE22KBEnGBEihNBEnteBE8zRBEIBEMBE6DBEVB",
 "EgnmHBEzn8HBEirWBEpHBE6MBEmDBEw+lHBE99lHBE9GBEqPBEt3WBEq6WBEiGBEuEBE8LBE2/lHBEv8lHBElsXBEywXBEs4mHBEl1m",
 "HBErwXBEoyXBE6CBE2BBECBEktnHBEj4OBE++OBE3qnHBE8moHBE5/nHBEcBErGBE+KBEwCBEyDBErDBEwCBEeBEaBEy5nHBEz+nHBE",
 "2PBE+DBE1zYBEw5YBEHBE0goHBEvtoHBEqXBEg/nHBEgDBEv8nHBEmHBE1BBEFBEpoZBEorZBEmDBELBEsDBEwnqGBE/9pGBE8xoHBE",
 "tsoHBE+gpHBEl4oHBEaBE2BBEw7pHBEv4pHBEqBBEgqqHBE+NBEzpqHBEiBBE9taBEyvaBE5uaBEABE+4aBEqBBEqBBEoBBEqEBE96a",
 "BEygbBEkxrHBEvvrHBEo1rHBEjyrHBE+i2GBE941GBEi5sHBEuBBE4IBEvkoIBEYBE4ubBE+/sHBEBBEuCBE0BBEphtHBECBEABE2CB",
 "EhxbBEk1bBEp0bBEgFBEu4pIBE98tHBE8DBEgEBEx+bBEm0qIBE/suHBEo0uHBE2CBErzuHBE4FBE3rcBEixcBEUBEKBE6yvHBE2SBE",
 "ABEx7vHBE3ucBEy6sIBEp+vHBEGBEj6cBEyltIBE76vHBEjjdBEwkdBEJBE6BBEsoxHBElixHBEjmdBEssdBE2DBEmEBEhxdBEovvIB",
 "E+BBE7uvIBEg4vIBE91xHBEo8xHBEx6xHBEqGBEWBEqtyHBEyEBElsyHBEw0yHBEvzyHBE+u5GBEz43HBE6teBEiFBEvveBEmzeBExo",
 "TBEkvmIBEcBEjiaBESBE154GBEGBE05GBElzlBBEsifBELBEkBBEz+XBE8/XBEEBEUBEyCBEsl0HBEtl0HBEwDBEsEBE0EBEzIBE0JB",
 "E0CBEgHBEnQBEuHBEEBEgBBE0l0HBEqTBErJBEz6zIBEs8fBEEBEmCBEor3HBErm3HBEw80HBE980IBEIBEgl1IBEiSBEt21IBEqugB",
 "BEYBEWBEEBEgEBEhCBEsIBE3CBEuJBEhFBEmEBE2BBE96gBBE0ghBBEgCBEvghBBEumhBBEGBEog3HBE/42HBEOBExqhBBEqshBBE9j",
 "qBBEm/hJBEwLBEvq5IBESBEy9hBBE6EBE6JBE2MBEml4HBE5/3HBEsBBE0FBE4FBEw74HBE1y7BBExj9FBEdBEoDBE8u9FBEzg9FBEo",
 "GBE0p7HBE2BBEx16HBE6FBEgCBE6h7HBElh7HBE6RBE+JBECBE3FBE6XBE4BBEq+7HBE9m7HBEr/lBBEkimBBEg87HBEh5hJBE6tmBB",
 "EhxcBEi3cBEki9HBEqNBE36jJBEQBE02mBBE0i+HBEv1kJBEo+kJBE1o+HBEABE8BBE64+HBEnt+HBE96mBBEs/mBBE8HBE2BBE4DBE",
 "/inBBEk2nJBE7hgIBE8SBE6LBE9ioBBE+BBE0noBBEu2hIBEr9pJBE6gqJBEyQBEmIBEr9hIBEp2oBBEm6oBBEKBEOBEUBEOBEqCBEq",
 "sjI",NULL};
/* >>llm/unicode/older.inc */
static const uint32_t oxi_older_punctuation[][2]={
{0x61d,0x61d},{0x9fd,0x9fd},{0xa76,0xa76},{0xc77,0xc77},{0xc84,0xc84},{0x166d,0x166d},
 {0x1b4e,0x1b4f},{0x1b7d,0x1b7f},{0x2e43,0x2e4f},{0x2e52,0x2e5d},{0x10d6e,0x10d6e},
 {0x10ead,0x10ead},{0x10f55,0x10f59},{0x10f86,0x10f89},{0x111c9,0x111c9},{0x113d4,0x113d5},
 {0x113d7,0x113d8},{0x1144b,0x1144f},{0x1145a,0x1145b},{0x1145d,0x1145d},{0x11660,0x1166c},
 {0x116b9,0x116b9},{0x1183b,0x1183b},{0x11944,0x11946},{0x119e2,0x119e2},{0x11a3f,0x11a46},
 {0x11a9a,0x11a9c},{0x11a9e,0x11aa2},{0x11b00,0x11b09},{0x11be1,0x11be1},{0x11c41,0x11c45},
 {0x11c70,0x11c71},{0x11ef7,0x11ef8},{0x11f43,0x11f4f},{0x11fff,0x11fff},{0x12ff1,0x12ff2},
 {0x16d6d,0x16d6f},{0x16e97,0x16e9a},{0x16fe2,0x16fe2},{0x1e5ff,0x1e5ff},{0x1e95e,0x1e95f},};
static const uint32_t oxi_older_marks[][2]={
{0x7fd,0x7fd},{0x897,0x89f},{0x8ca,0x8d3},{0x9fe,0x9fe},{0xafa,0xaff},{0xb55,0xb55},
 {0xc04,0xc04},{0xc3c,0xc3c},{0xcf3,0xcf3},{0xd00,0xd00},{0xd3b,0xd3c},{0xd81,0xd81},
 {0xeba,0xeba},{0xece,0xece},{0x1715,0x1715},{0x180f,0x180f},{0x1abf,0x1ace},{0x1cf2,0x1cf3},
 {0x1cf7,0x1cf7},{0x1df6,0x1dfa},{0xa82c,0xa82c},{0xa8ff,0xa8ff},{0x10d24,0x10d27},
 {0x10d69,0x10d6d},{0x10eab,0x10eac},{0x10efc,0x10eff},{0x10f46,0x10f50},{0x10f82,0x10f85},
 {0x11070,0x11070},{0x11073,0x11074},{0x110c2,0x110c2},{0x11145,0x11146},{0x111c9,0x111c9},
 {0x111ce,0x111cf},{0x11241,0x11241},{0x1133b,0x1133b},{0x113b8,0x113c0},{0x113c2,0x113c2},
 {0x113c5,0x113c5},{0x113c7,0x113ca},{0x113cc,0x113d0},{0x113d2,0x113d2},{0x113e1,0x113e2},
 {0x1145e,0x1145e},{0x1182c,0x1183a},{0x11930,0x11935},{0x11937,0x11938},{0x1193b,0x1193e},
 {0x11940,0x11940},{0x11942,0x11943},{0x119d1,0x119d7},{0x119da,0x119e0},{0x119e4,0x119e4},
 {0x11a01,0x11a0a},{0x11a33,0x11a39},{0x11a3b,0x11a3e},{0x11a47,0x11a47},{0x11a51,0x11a5b},
 {0x11a8a,0x11a99},{0x11d31,0x11d36},{0x11d3a,0x11d3a},{0x11d3c,0x11d3d},{0x11d3f,0x11d45},
 {0x11d47,0x11d47},{0x11d8a,0x11d8e},{0x11d90,0x11d91},{0x11d93,0x11d97},{0x11ef3,0x11ef6},
 {0x11f00,0x11f01},{0x11f03,0x11f03},{0x11f34,0x11f3a},{0x11f3e,0x11f42},{0x11f5a,0x11f5a},
 {0x13440,0x13440},{0x13447,0x13455},{0x1611e,0x1612f},{0x16f4f,0x16f4f},{0x16f7f,0x16f87},
 {0x16fe4,0x16fe4},{0x16ff0,0x16ff1},{0x1cf00,0x1cf2d},{0x1cf30,0x1cf46},{0x1e08f,0x1e08f},
 {0x1e130,0x1e136},{0x1e2ae,0x1e2ae},{0x1e2ec,0x1e2ef},{0x1e4ec,0x1e4ef},{0x1e5ee,0x1e5ef},};
static const uint32_t oxi_older_nonspacing[][2]={
{0x7fd,0x7fd},{0x897,0x89f},{0x8ca,0x8e1},{0x9fe,0x9fe},{0xafa,0xaff},{0xb55,0xb55},
 {0xc04,0xc04},{0xc3c,0xc3c},{0xd00,0xd00},{0xd3b,0xd3c},{0xd81,0xd81},{0xeba,0xeba},
 {0xece,0xece},{0x1734,0x1734},{0x180f,0x180f},{0x1885,0x1886},{0x1abf,0x1ace},{0x1df6,0x1dfb},
 {0xa82c,0xa82c},{0xa8c5,0xa8c5},{0xa8ff,0xa8ff},{0xa9bd,0xa9bd},{0x10d24,0x10d27},
 {0x10d69,0x10d6d},{0x10eab,0x10eac},{0x10efc,0x10eff},{0x10f46,0x10f50},{0x10f82,0x10f85},
 {0x11070,0x11070},{0x11073,0x11074},{0x110c2,0x110c2},{0x111c9,0x111c9},{0x111cf,0x111cf},
 {0x1123e,0x1123e},{0x11241,0x11241},{0x1133b,0x1133b},{0x113bb,0x113c0},{0x113ce,0x113ce},
 {0x113d0,0x113d0},{0x113d2,0x113d2},{0x113e1,0x113e2},{0x11438,0x1143f},{0x11442,0x11444},
 {0x11446,0x11446},{0x1145e,0x1145e},{0x1171e,0x1171e},{0x1182f,0x11837},{0x11839,0x1183a},
 {0x1193b,0x1193c},{0x1193e,0x1193e},{0x11943,0x11943},{0x119d4,0x119d7},{0x119da,0x119db},
 {0x119e0,0x119e0},{0x11a01,0x11a0a},{0x11a33,0x11a38},{0x11a3b,0x11a3e},{0x11a47,0x11a47},
 {0x11a51,0x11a56},{0x11a59,0x11a5b},{0x11a8a,0x11a96},{0x11a98,0x11a99},{0x11c30,0x11c36},
 {0x11c38,0x11c3d},{0x11c3f,0x11c3f},{0x11c92,0x11ca7},{0x11caa,0x11cb0},{0x11cb2,0x11cb3},
 {0x11cb5,0x11cb6},{0x11d31,0x11d36},{0x11d3a,0x11d3a},{0x11d3c,0x11d3d},{0x11d3f,0x11d45},
 {0x11d47,0x11d47},{0x11d90,0x11d91},{0x11d95,0x11d95},{0x11d97,0x11d97},{0x11ef3,0x11ef4},
 {0x11f00,0x11f01},{0x11f36,0x11f3a},{0x11f40,0x11f40},{0x11f42,0x11f42},{0x11f5a,0x11f5a},
 {0x13440,0x13440},{0x13447,0x13455},{0x1611e,0x16120},{0x16129,0x16129},{0x1612d,0x1612f},
 {0x16f4f,0x16f4f},{0x16fe4,0x16fe4},{0x1cf00,0x1cf2d},{0x1cf30,0x1cf46},{0x1e000,0x1e006},
 {0x1e008,0x1e018},{0x1e01b,0x1e021},{0x1e023,0x1e024},{0x1e026,0x1e02a},{0x1e08f,0x1e08f},
 {0x1e130,0x1e136},{0x1e2ae,0x1e2ae},{0x1e2ec,0x1e2ef},{0x1e4ec,0x1e4ef},{0x1e5ee,0x1e5ef},
 {0x1e944,0x1e94a},};
static const uint32_t oxi_older_format[][2]={
{0x890,0x891},{0x8e2,0x8e2},{0x110cd,0x110cd},{0x13430,0x1343f},};
static const uint32_t oxi_older_forms[][2]={
{0x32ff,0x32ff},{0xa7f2,0xa7f4},{0xab69,0xab69},{0x105c9,0x105c9},{0x105e4,0x105e4},
 {0x10781,0x10785},{0x10787,0x107b0},{0x107b2,0x107ba},{0x11383,0x11383},{0x11385,0x11385},
 {0x1138e,0x1138e},{0x11391,0x11391},{0x113c5,0x113c5},{0x113c7,0x113c8},{0x11938,0x11938},
 {0x16121,0x16128},{0x16d68,0x16d6a},{0x1ccd6,0x1ccf9},{0x1e030,0x1e06d},{0x1f16c,0x1f16c},
 {0x1fbf0,0x1fbf9},};
static const char*const oxi_unicode_scripts_text[]={
"hgIgIhgIiwGhwBiwGh4LiIh4DiIhoBi4FhIi4HhIiowDh4JioBhoBjQhgFkgclgBhIlYgQlgBhIlIggBlIhIlIhIlYgIlIgIlgFgIl4",
 "PmwDlgEnohBkQnoqBgIowJgQo4BgIo4JgIhIoIgQoYgIp4NggCp4GgoBpoBg4CqoBhIqwBhIqwDhQgIqIhIqgIhIqwCk4CqwGkIqgbh",
 "IqwIrwDgIrgPgQrYqgMswMgwDt4OgoBuwLgQu4DgIvgHgQvIgoQqoFgIqgCgwFqwDhIqoHwoUkQwoEhQwwGxgBgIxgCgQxQgQxwFgIx",
 "4BgIxIgYxgBgQxoCgQxQgQxgBggCxIggBxQgIxoBgQxwFgoByYgIywBggByQgQywFgIy4BgIyQgIyQgIyQgQyIgIyoBggByQgQyYgYy",
 "Ig4BygBgIyIg4BygEg4CzYgIzoCgIzYgIzwFgIz4BgIzQgIzoBgQzwCgIzYgIzYgQzIg4DzgBgQzgDg4BzIg4B0YgI0gCgQ0QgQ0wFg",
 "I04BgI0QgI0oBgQ0oCgQ0QgQ0YggC0QggB0QgI0oBgQ0wEgwC1QgI1wBgY1YgI1gBgY1QgI1IgI1QgY1QgY1YgY1gDggB1oBgY1YgI1",
 "gBgQ1IgwB1IgwD1oFgoB2gBgI2gCgI2YgI24FgI2gEgY2gCgI2YgI2gBg4B2QgI2YgoB2gBgQ2wCggC2gC3gBgI3gCgI3YgI34FgI3w",
 "CgI3oBgQ3oCgI3YgI3gBg4B3Qg4B3IgI3gBgQ3wCgI3QgwD4YgI4gCgI4YgI4oKgQ4gCgI4YgI4wBggB4gEgQ4wGgQ5QgI5wEgY5gGg",
 "I5oCgI5IgQ54BgY5IggB5wBgI5IgI5gCgwB5wCgQ5YggD6wOggBhI6gHgoJ7QgI7IgQ7QgI7IgQ7IgwB7gBgI74BgI7YgI7IgI7IgQ7",
 "QgI7oDgI7YgQ7oBgI7IgI7wBgQ7wCgQ7gBggI8gSgI8gJggB84JgI8gJgI84DgI84BhgB8QgoJ9goB+wJgI+IgoB+IgQ+4KhI+gB/gg",
 "CgpSgIghBgQg5BgIgJgIghBgQgpKgIghBgQgpIgIghBgQg5BgIgJgIghBgQg5DgIgpOgIghBgQg5QgQghIgYgxGgwBhxVgQhxBgQihg",
 "FjpHgYk5ShYk5Cg4BlpDgIl5Bg4CmpFhQgoCnhFggDopDgIoZgIoRggDpxXgQpxCgwBpxCgwBqRhQqJhIqpCgIqxCgwBqhWggCq5Kgo",
 "BixRgwCr5HgIrhDggBrhDggBrJgYrhDsxHgQspBg4CthLggBtxGgwBt5CgYtRphIuhHgQuRv5PgIvpHgQv5CgwBvxCgwBvxDgQk4Dgo",
 "QwhTggBwpLgYxhQyhNggCyhBzhOgYz5DgYzZ0hMnoCg4NxhCggCkYhIkoDhIk4BhgBkIhwBkIhQgIkQgwBiwJloBnIioMloBigBloBi",
 "oDnIiwRlIkwNgoBkoBiggClwFgQlwBgQlwJgQlwBgQlgCgIlIgIlIgIlIgIl4HgQloNgIl4DgIlwDgQlwBgIl4EgQlYgIloCgIhgDkQ",
 "h4VgIh4CiIgQh4CiIh4DgIioDgYh4HgoEkoIg4DhwJlIhYiQhwBiIh4GiIhoEioKhYggBh47EgIh4JgoGh4CgoFhgoH1hgChg9EgQhg",
 "IgQhwIgYhgDgIhgCgwGhgBggE25LgI25LgIigImgdgoBm4B+wJgI+IgoB+IgQ3hOg4B3RgwD3Jg5FgoCg5BgIg5BgIg5BgIg5BgIg5B",
 "gIg5BgIg5BgIg5BgIngIhoRg4O4xGgI4pWggD4x1BgwGhgDggBhoB4JhI4JhoG4pCkgB/QhgC4hBhgBgI4xVgQkQhQ4ZhI4xWhI4hBg",
 "oBjoKgY/wXgIhgEj4GgoBhgJggD4hE/4HgIhgQ/4HhoU45LgI4hWhgqB4xtzBgwChgQ4x1jFgwK5pjJgY55NgoC6hM7hrCggFngY8hW",
 "ggChwIiwZhYigJgIigCg4PioC9hLggBhwCgwB+hOggC/xRggC/hDgwBwwHgQgyLhIgKhiJg4ChK/oHgYiyTgIhIiyCggBiS94HgIj6N",
 "goCjyDgQjyCgQjiB9gIk6QggGkqBl6FgwCgxBgQgxBgQgxBgoCg5BgIg5BgIi4KhIioClIgwChhUlyLgQlyCgwB/gp3CggD/4FggB/o",
 "MgghiC4x7CgQ4xagwJi4BggDooBgoBpwGgIpoBgIpIgIpQgIpQgIpwCqwcgoEq46ChQggEqgQgQqwNggKqwDgQkgEhwCgwBkwDnQh4I",
 "gIh4EgIhgBggBqoBgIq4hBgQhIgIhgIiwGhwBiwGh4C4xChI4pLhQ/4HgY/wBgQ/wBgQ/wBgQ/YgYh4BgIh4BgwChoBgQmiDgImyGgI",
 "m6EgImSgIm6DgQmyDgwIm6egoBhYggBhoLgYhoCl4TgIhgDggBlIg4LhoLkIgwgBnqHgYoqMg4DkIh4GggBpiJggDq6GgoBr6KgoBsy",
 "HgIsKtiJggBtyDgwKuiUviMwyHgQwyCgwBxiJggBxiJggByiKggCziNg4CzKggkB06tCgoC0yFgwC0iCggmB1yBgQ1KgI1iLgI1SgY1",
 "KgQ1K2yFgI2qC3iI46HggC4qCggM56EgI5SgoB5qB6iHgY6K7yGgoB7KggQ8iI9iGggB9iFgQ9yL+iBgI+SgoB+iCgI+agI+6GggB+a",
 "ggB+qCggC+qCg4B/iIgjIggIh7JggBhjDgoCizNgYi7BjzFgQjjCk7EgoBkjClzEg4BljBggDl7BggUmrSg4Nn7MgoDn7Mg4BnzBgg4",
 "Cq4HgogDozTggBozHg4DoLpzQgwDqrGg4BqzCgwBrrNgIrzDggDs7JgoCtzTgQtjEgI5gFg4CuzEgIujLgoQv7BgIvLgIvjBgIv7DgI",
 "v7CgwBw7OgoBwzCgwBxjBgIxjCgQxTgQxzFgIx7BgIxTgIxrBgQxrCgQxTgQxbgQxLgwBxLgoBx7BgQx7BgYxrBg4iByzWgIyLgIyLg",
 "wIzjSggCzzCgwpB0zNgQ0zJgwI1rRg4C1zCgwBqpDg4E2jOggC2zCgwN3zGgY37DggB3jEgg4C47UggD4LggwD5rOg4hC6rCgI6rLgI",
 "6zDgwC6rHgY7jIgQ7zFgI7zDgoyG8zmHgwZ87bgI8rBg4C8jxBggvV97rIgo0f+7xEgoujC8puEg4B/7HgI/zCggB/TggYg0HgQg0Bg",
 "wCh0RgwCh0CgIh8BgIhsFgoBh8Egg8GisRg4Ci8LggEisEggQjMg4Hjs7vBg4Ej88FgojqC4Rgw/Xk8agoBksDgYksCg4Bk0CgQkkBh",
 "gBgg3mBhw9BgwCh4JgQhwPkYhoEkgChQk4BhwHkgBh4Og4FlwRgwuBh4VgoChwEgwjBhoVgIh4RgIhQgQhIgQhQgQhgBgIhgDgIhIgI",
 "h4BgIhoQgIhgBgQhgCgIh4BgIhgHgIhgBgIhoBgIhIgYh4BgIhg1CgQhgpCgQhwMlkjFg4DlsBgIl8Dgg0K25BgI2pEgQ25BgI2RgI2",
 "pBgo1PmsxBgQmkEgoKn8SgoBn0CggBnUggoJqgBgIq4GgIqQgIqIgQqIgIqwCgIqgBgIqIgIqIgwBqIggBqIgIqIgIqIgIqYgIqQgIq",
 "IgQqIgIqIgIqIgIqIgIqIgIqQgIqIgQqgBgIq4BgIqgBgIqgBgIqIgIqwCgIqoEgoBqYgIqoBgIqoEggNqQgwjChgLggBhgZggDh4Dg",
 "Qh4DgIh4DgIhoJgwChoDgYh4HgIhgPggBhoPgoOhwG4JhQgoDhgLggBhoCg4BhQgwrBh40HgoDhoDgYh4BgoChgdggDhoVg4KhgDggB",
 "hgOggChwCgwBhgKggChwHgwYh4DgIhgCggChIgQhgDgIhgDggBh4DgoIhwEgwLhIg4vM451tKgoK4ptgBg4C4x3BgQ4xgtBgw3yC4xn",
 "Eg44rwFhIgwHhgYgggBkg8Bggk8vB",NULL};
typedef struct oxi_packed{
const char*const*line;
const char*at;}oxi_packed;
static bool oxi_packed_ends(oxi_packed*p){
while(*p->line&&(!p->at|| !*p->at))p->at=p->at? *++p->line: *p->line;
return!*p->line;}
static uint32_t oxi_unpack_number(oxi_packed*p){
uint32_t value=0;
for(int shift=0;;shift+=5){
if(oxi_packed_ends(p))return value;
const char c= *p->at++;
const uint32_t digit=(uint32_t)(c=='+'?62:c=='/'?63:c<'A'?c-'0'+52:c<'a'?c-'A':c-'a'+26);
value|=(digit&31)<<shift;
if(digit<32)return value;}}
static int32_t oxi_unpack_signed(oxi_packed*p){
const uint32_t value=oxi_unpack_number(p);
return value&1? -(int32_t)(value/2)-1:(int32_t)(value/2);}
static ox_status oxi_property_open(oxi_property*property,const char*const*text,uint32_t kinds){
oxi_packed packed={text,NULL};
int32_t plain[256];
uint8_t values[256];
uint32_t left=0,value=0;
for(int i=0;i<256;i++)plain[i]= -1;
for(uint32_t page=0;page<0x1100;page++){
bool same=true;
for(uint32_t i=0;i<256;i++,left--){
if(left==0){
const uint32_t number=oxi_unpack_number(&packed);
left=number/kinds;
value=number%kinds;}
values[i]=(uint8_t)value;
same&=values[i]==values[0];}
if(same&&plain[values[0]]>=0){
property->page[page]=(uint16_t)plain[values[0]];
continue;}
void*grown=oxi_grow(property->values,&property->room,property->bytes+256,1,false);
if(!grown)return OX_ERR_NOMEM;
property->values=(uint8_t*)grown;
memcpy(property->values+property->bytes,values,256);
property->page[page]=(uint16_t)(property->bytes/256);
if(same)plain[values[0]]=property->page[page];
property->bytes+=256;}
return OX_OK;}
static uint8_t oxi_property_of(const oxi_property*property,uint32_t code){
return property->values[(size_t)property->page[code>>8]*256+(code&255)];}
static uint32_t oxi_category_bit(const oxi_unicode*unicode,uint32_t code){
return OXI_IN(oxi_property_of(&unicode->category,code));}
static bool oxi_is_white_space(uint32_t code){
return(code>=9&&code<=13)||code==0x20||code==0x85||code==0xA0||code==0x1680||
 (code>=0x2000&&code<=0x200A)||code==0x2028||code==0x2029||code==0x202F||code==0x205F||code==0x3000;}
static int oxi_compare_compositions(const void*a,const void*b){
const oxi_composition*x=(const oxi_composition*)a,*y=(const oxi_composition*)b;
if(x->first!=y->first)return x->first<y->first? -1:1;
return x->second<y->second? -1:x->second>y->second;}
static ox_status oxi_unicode_open_forms(oxi_unicode*u){
oxi_packed packed={oxi_unicode_decompositions_text,NULL};
uint32_t code=0;
int32_t before=0;
size_t parts=0;
while(!oxi_packed_ends(&packed)){
void*rows=oxi_grow(u->decompositions,&u->decomposition_room,u->decomposition_count+1,
 sizeof*u->decompositions,false);
if(rows)u->decompositions=(oxi_decomposition*)rows;
code +=oxi_unpack_number(&packed);
const uint32_t facts=oxi_unpack_number(&packed);
void*all=oxi_grow(u->parts,&u->part_room,parts+facts/4,sizeof*u->parts,false);
if(all)u->parts=(uint32_t*)all;
void*made=oxi_grow(u->compositions,&u->composition_room,u->composition_count+1,
 sizeof*u->compositions,false);
if(made)u->compositions=(oxi_composition*)made;
if(!rows|| !all|| !made)return OX_ERR_NOMEM;
oxi_decomposition*row= &u->decompositions[u->decomposition_count++];
row->code=code;
row->start=(uint32_t)parts&0xFFFFFF;
row->count=(facts/4)&63;
row->composes=facts>>1&1;
row->compatible=facts&1;
for(uint32_t i=0;i<facts/4;i++){
before +=oxi_unpack_signed(&packed);
u->parts[parts++]=(uint32_t)before;}
before=(int32_t)u->parts[row->start];
if(row->composes){
oxi_composition*pair= &u->compositions[u->composition_count++];
pair->first=u->parts[row->start];
pair->second=u->parts[row->start+1];
pair->code=code;}}
qsort(u->compositions,u->composition_count,sizeof*u->compositions,oxi_compare_compositions);
return oxi_property_open(&u->combining,oxi_unicode_combining_text,256);}
static ox_status oxi_unicode_open(oxi_unicode*unicode,unsigned with){
ox_status status=OX_OK;
if(!unicode->category.values)
status=oxi_property_open(&unicode->category,oxi_unicode_categories_text,OXI_CATEGORY_COUNT);
if(!status&&(with&OXI_UNICODE_NORMAL_FORMS)&& !unicode->combining.values)
status=oxi_unicode_open_forms(unicode);
if(!status&&(with&OXI_UNICODE_SCRIPTS)&& !unicode->script.values)
status=oxi_property_open(&unicode->script,oxi_unicode_scripts_text,256);
return status;}
static void oxi_unicode_close(oxi_unicode*u){
oxi_free(u->category.values,u->category.room);
oxi_free(u->combining.values,u->combining.room);
oxi_free(u->script.values,u->script.room);
oxi_free(u->decompositions,u->decomposition_room*sizeof*u->decompositions);
oxi_free(u->compositions,u->composition_room*sizeof*u->compositions);
oxi_free(u->parts,u->part_room*sizeof*u->parts);}
static bool oxi_in_ranges(const uint32_t(*ranges)[2],size_t count,uint32_t code){
size_t low=0,high=count;
while(low<high){
const size_t middle=(low+high)/2;
if(code>ranges[middle][1])
low=middle +1;
else
high=middle;}
return low<count&&code>=ranges[low][0];}
#define OXI_OLDER(name,code) \
oxi_in_ranges(oxi_older_##name,sizeof oxi_older_##name/sizeof*oxi_older_##name,code)
enum{
OXI_HANGUL=0xAC00,OXI_HANGUL_L=0x1100,OXI_HANGUL_V=0x1161,OXI_HANGUL_T=0x11A7,OXI_HANGUL_COUNT=11172};
static const oxi_decomposition*oxi_decomposition_of(const oxi_unicode*u,uint32_t code){
size_t low=0,high=u->decomposition_count;
while(low<high){
const size_t middle=(low+high)/2;
if(u->decompositions[middle].code<code)
low=middle +1;
else
high=middle;}
if(low==u->decomposition_count||u->decompositions[low].code!=code)return NULL;
return code>0x3000&&OXI_OLDER(forms,code)?NULL: &u->decompositions[low];}
static size_t oxi_decompose(const oxi_unicode*u,uint32_t code,bool compatible,uint32_t*out){
uint32_t stack[2*OXI_MOST_PARTS];
size_t depth=1,count=0;
stack[0]=code;
while(depth>0){
const uint32_t c=stack[--depth];
const oxi_decomposition*row=c<0xA0?NULL:oxi_decomposition_of(u,c);
if(c-OXI_HANGUL<OXI_HANGUL_COUNT&&count+3<=OXI_MOST_PARTS){
const uint32_t syllable=c-OXI_HANGUL;
out[count++]=OXI_HANGUL_L+syllable/588;
out[count++]=OXI_HANGUL_V+syllable%588/28;
if(syllable%28)out[count++]=OXI_HANGUL_T+syllable%28;
 }else if(row&&(compatible|| !row->compatible)&&depth+row->count<=2*OXI_MOST_PARTS){
for(uint32_t i=row->count;i>0;i--)stack[depth++]=u->parts[row->start+i-1];}else if(count<OXI_MOST_PARTS){
out[count++]=c;}}
return count;}
static uint32_t oxi_compose(const oxi_unicode*u,uint32_t first,uint32_t second){
if(first-OXI_HANGUL_L<19&&second-OXI_HANGUL_V<21)
return OXI_HANGUL+((first-OXI_HANGUL_L)*21+(second-OXI_HANGUL_V))*28;
if(first-OXI_HANGUL<OXI_HANGUL_COUNT&&(first-OXI_HANGUL)%28==0&&second-(OXI_HANGUL_T+1)<27)
return first+(second-OXI_HANGUL_T);
const oxi_composition wanted={first,second,0};
const oxi_composition*found=u->composition_count
 ?(const oxi_composition*)bsearch(&wanted,u->compositions,u->composition_count,sizeof wanted,
 oxi_compare_compositions):NULL;
return found&& !(found->code>0x3000&&OXI_OLDER(forms,found->code))?found->code:0;}
/* >>llm/sampler.c */
typedef struct oxi_candidate{
float logit;
int32_t token;}oxi_candidate;
struct ox_llm_sampler{
ox_llm_sampler_desc desc;
uint64_t picks;
oxi_candidate*candidates;
size_t room;};
OX_API ox_llm_sampler*ox_llm_sampler_open(const ox_llm_sampler_desc*desc){
ox_llm_sampler_desc zero;
memset(&zero,0,sizeof zero);
if(!desc)desc= &zero;
if(!(desc->temperature>=0)||desc->top_k<0|| !(desc->top_p>=0)|| !(desc->min_p>=0)||desc->min_p>1){
(void)oxi_fail(OX_ERR_ARG,"sampler: temperature %g, top_k %lld, top_p %g, min_p %g are not all in range",
 desc->temperature,(long long)desc->top_k,desc->top_p,desc->min_p);
return NULL;}
ox_llm_sampler*sampler=(ox_llm_sampler*)oxi_calloc(1,sizeof*sampler);
if(sampler)sampler->desc= *desc;
return sampler;}
OX_API void ox_llm_sampler_close(ox_llm_sampler*sampler){
if(!sampler)return;
oxi_free(sampler->candidates,sampler->room*sizeof*sampler->candidates);
oxi_free(sampler,sizeof*sampler);}
static bool oxi_candidate_before(const oxi_candidate*a,const oxi_candidate*b){
return a->logit>b->logit||(!(a->logit<b->logit)&&a->token<b->token);}
static void oxi_candidate_sift(oxi_candidate*heap,size_t count,size_t at){
const oxi_candidate moved=heap[at];
for(;;){
size_t child=2*at+1;
if(child>=count)break;
if(child+1<count&&oxi_candidate_before(&heap[child+1],&heap[child]))child++;
if(!oxi_candidate_before(&heap[child],&moved))break;
heap[at]=heap[child];
at=child;}
heap[at]=moved;}
static void oxi_candidate_take(oxi_candidate*heap,size_t count){
const oxi_candidate best=heap[0];
heap[0]=heap[count-1];
oxi_candidate_sift(heap,count-1,0);
heap[count-1]=best;}
static double oxi_candidate_mass(const oxi_candidate*list,size_t count,double max){
double mass=0;
for(size_t i=0;i<count;i++)mass+=exp((double)list[i].logit-max);
return mass;}
static size_t oxi_sampler_keep_best(const ox_llm_sampler_desc*desc,oxi_candidate*list,size_t count,
 double max){
const bool top_k=desc->top_k>0&&(uint64_t)desc->top_k<count;
const bool top_p=desc->top_p>0&&desc->top_p<1;
if(!top_k&& !top_p)return count;
for(size_t i=count/2;i>0;i--)oxi_candidate_sift(list,count,i-1);
size_t taken=0,most=top_k?(size_t)desc->top_k:count;
double mass=0,wanted=INFINITY;
if(top_k){
for(;taken<most;taken++)oxi_candidate_take(list,count-taken);}
if(top_p)wanted=desc->top_p*oxi_candidate_mass(list+(top_k?count-most:0),most,max);
for(size_t kept=0;kept<most;kept++){
if(mass>=wanted)return kept;
if(kept==taken)oxi_candidate_take(list,count-taken++);
mass+=exp((double)list[count-1-kept].logit-max);}
return most;}
static double oxi_sampler_uniform(ox_llm_sampler*sampler){
uint32_t words[4];
oxi_philox(sampler->desc.seed,0,sampler->picks++,words);
return((double)(words[0]>>5)*67108864.0+(double)(words[1]>>6))/9007199254740992.0;}
static int32_t oxi_sampler_best(const float*logits,int64_t count){
int32_t best= -1;
float max= -INFINITY;
for(int64_t i=0;i<count;i++){
if(isnan(logits[i])||(isinf(logits[i])&&logits[i]>0))return-1;
if(logits[i]>max){
max=logits[i];
best=(int32_t)i;}}
return best;}
static size_t oxi_sampler_fill(ox_llm_sampler*sampler,const float*logits,int64_t count){
if((size_t)count>sampler->room){
size_t bytes;
oxi_candidate*list=NULL;
if(oxi_mul_size((size_t)count,sizeof*list,&bytes))list=(oxi_candidate*)oxi_alloc(bytes);
if(!list)return 0;
oxi_free(sampler->candidates,sampler->room*sizeof*list);
sampler->candidates=list;
sampler->room=(size_t)count;}
size_t used=0;
for(int64_t i=0;i<count;i++){
if(isinf(logits[i]))continue;
sampler->candidates[used].logit=logits[i];
sampler->candidates[used++].token=(int32_t)i;}
return used;}
OX_API int32_t ox_llm_sampler_pick(ox_llm_sampler*sampler,const float*logits,int64_t count){
if(!sampler|| !logits){
(void)oxi_fail_missing(sampler?"sampler: the list of logits":"sampler: the sampler");
return-1;}
const int32_t best=count<=INT32_MAX?oxi_sampler_best(logits,count): -1;
if(best<0){
(void)oxi_fail(OX_ERR_ARG,"sampler: no token can be picked from these %lld logits",(long long)count);
return-1;}
const ox_llm_sampler_desc*desc= &sampler->desc;
if(!(desc->temperature>0))return best;
const double max=logits[best];
const size_t used=oxi_sampler_fill(sampler,logits,count);
if(!used)return-1;
const size_t kept=oxi_sampler_keep_best(desc,sampler->candidates,used,max);
const oxi_candidate*list=sampler->candidates+used-kept;
const double least=desc->min_p>0?max+log(desc->min_p): -INFINITY;
double mass=0;
for(size_t i=0;i<kept;i++){
if(list[i].logit>=least)mass+=exp(((double)list[i].logit-max)/desc->temperature);}
double target=oxi_sampler_uniform(sampler)*mass;
for(size_t i=kept;i>0;i--){
if(!(list[i-1].logit>=least))continue;
target-=exp(((double)list[i-1].logit-max)/desc->temperature);
if(target<0)return list[i-1].token;}
return best;}
/* >>llm/template/template.h */
#ifndef OX_LLM_TEMPLATE_TEMPLATE_H
#define OX_LLM_TEMPLATE_TEMPLATE_H
enum{
OXI_JINJA_MOST_SOURCE=4<<20,OXI_JINJA_MOST_NESTING=96,OXI_JINJA_MOST_DEPTH=110,
 OXI_JINJA_MOST_VALUE_DEPTH=100,OXI_JINJA_MOST_RANGE=100000,OXI_JINJA_MOST_PARAMETERS=8,
 OXI_JINJA_BLOCK=16<<10};
#define OXI_JINJA_MOST_STRING ((size_t)1<<30)
#define OXI_JINJA_MEMORY ((size_t)256<<20)
#define OXI_JINJA_STEPS 20000000
typedef enum oxi_jinja_type{
OXI_JINJA_MISSING=0,OXI_JINJA_UNDEFINED,OXI_JINJA_NONE,OXI_JINJA_BOOL,OXI_JINJA_INT,OXI_JINJA_FLOAT,
 OXI_JINJA_STRING,OXI_JINJA_LIST,OXI_JINJA_TUPLE,OXI_JINJA_RANGE,OXI_JINJA_VIEW,OXI_JINJA_GENERATOR,
 OXI_JINJA_DICT,OXI_JINJA_NAMESPACE,OXI_JINJA_LOOP,OXI_JINJA_MACRO,OXI_JINJA_FUNCTION,OXI_JINJA_CYCLER,
 OXI_JINJA_JOINER,OXI_JINJA_TYPE_COUNT}oxi_jinja_type;
typedef struct oxi_jinja oxi_jinja;
typedef struct oxi_jinja_node oxi_jinja_node;
typedef struct oxi_jinja_list oxi_jinja_list;
typedef struct oxi_jinja_dict oxi_jinja_dict;
typedef struct oxi_jinja_loop oxi_jinja_loop;
typedef struct oxi_jinja_macro oxi_jinja_macro;
typedef struct oxi_jinja_bound oxi_jinja_bound;
typedef struct oxi_jinja_value{
uint16_t type;
uint16_t safe;
uint32_t length;
union{
int64_t i;
double f;
const char*text;
oxi_jinja_list*list;
oxi_jinja_dict*dict;
oxi_jinja_loop*loop;
oxi_jinja_macro*macro;
oxi_jinja_bound*bound;}as;}oxi_jinja_value;
struct oxi_jinja_list{
oxi_jinja_value*items;
size_t count,room;
const char*name;
int64_t start,stop,stride;};
typedef struct oxi_jinja_entry{
oxi_jinja_value key,value;}oxi_jinja_entry;
struct oxi_jinja_dict{
oxi_jinja_entry*entries;
size_t count,room;
uint32_t*slots;
size_t slot_count;};
typedef struct oxi_jinja_variable{
uint32_t symbol;
oxi_jinja_value value;}oxi_jinja_variable;
typedef struct oxi_jinja_scope{
struct oxi_jinja_scope*outer;
oxi_jinja_variable*variables;
size_t count,room;}oxi_jinja_scope;
struct oxi_jinja_loop{
const oxi_jinja_list*items;
size_t at;
int depth;
const oxi_jinja_node*node;
oxi_jinja_scope*scope;
oxi_jinja_value changed;};
struct oxi_jinja_macro{
const oxi_jinja_node*node;
oxi_jinja_scope*scope;
ox_string name;};
typedef struct oxi_jinja_arguments{
oxi_jinja_value*items,*names;
size_t positional,keywords;}oxi_jinja_arguments;
typedef oxi_jinja_value(*oxi_jinja_call)(oxi_jinja*j,oxi_jinja_value*a);
typedef struct oxi_jinja_function{
const char*name,*signature;
oxi_jinja_call call;}oxi_jinja_function;
struct oxi_jinja_bound{
const oxi_jinja_function*function;
oxi_jinja_value self;
bool is_method;};
typedef enum oxi_jinja_kind{
OXI_JINJA_LITERAL,OXI_JINJA_NAME,OXI_JINJA_SEQUENCE,OXI_JINJA_DICTIONARY,OXI_JINJA_UNARY,OXI_JINJA_BINARY,
 OXI_JINJA_COMPARE,OXI_JINJA_AND,OXI_JINJA_OR,OXI_JINJA_CONDITION,OXI_JINJA_ATTRIBUTE,OXI_JINJA_ITEM,
 OXI_JINJA_SLICE,OXI_JINJA_CALL,OXI_JINJA_FILTER,OXI_JINJA_TEST,OXI_JINJA_ARGUMENT,OXI_JINJA_TEXT,
 OXI_JINJA_PRINT,OXI_JINJA_IF,OXI_JINJA_FOR,OXI_JINJA_SET,OXI_JINJA_SET_BLOCK,OXI_JINJA_MACRO_NODE,
 OXI_JINJA_PARAMETER,OXI_JINJA_CALL_BLOCK,OXI_JINJA_FILTER_BLOCK,OXI_JINJA_WITH,OXI_JINJA_SCOPE,
 OXI_JINJA_SECTION,OXI_JINJA_BREAK,OXI_JINJA_CONTINUE}oxi_jinja_kind;
typedef enum oxi_jinja_operation{
OXI_JINJA_NO_OPERATION=0,
 OXI_JINJA_ADD,OXI_JINJA_SUBTRACT,OXI_JINJA_MULTIPLY,OXI_JINJA_DIVIDE,OXI_JINJA_FLOOR_DIVIDE,
 OXI_JINJA_MODULO,OXI_JINJA_POWER,OXI_JINJA_CONCATENATE,OXI_JINJA_NOT,OXI_JINJA_NEGATE,OXI_JINJA_PLUS,
 OXI_JINJA_EQUAL,OXI_JINJA_NOT_EQUAL,OXI_JINJA_LESS,OXI_JINJA_LESS_EQUAL,OXI_JINJA_GREATER,
 OXI_JINJA_GREATER_EQUAL,OXI_JINJA_IN,OXI_JINJA_NOT_IN,
 OXI_JINJA_BY_KEYWORD,OXI_JINJA_UNPACK,OXI_JINJA_UNPACK_KEYWORDS}oxi_jinja_operation;
struct oxi_jinja_node{
uint8_t kind,operation,flag;
uint32_t line,column,symbol;
oxi_jinja_node*next;
oxi_jinja_node*a,*b,*c,*d,*e;
const oxi_jinja_function*function;
oxi_jinja_value value;};
typedef struct oxi_jinja_block{
struct oxi_jinja_block*next;
size_t bytes,used;}oxi_jinja_block;
struct oxi_jinja{
ox_status status;
uint32_t line,column;
int depth;
oxi_jinja_block*blocks;
size_t memory,most_memory;
int64_t steps;
const char*last_end;
char*out;
size_t out_length,out_room;
uint64_t key[2];
oxi_jinja_scope*scope;
const oxi_jinja_dict*symbols;
oxi_jinja_scope*globals;
uint32_t loop_symbol,caller_symbol,varargs_symbol,kwargs_symbol;
int loop_depth;
const oxi_jinja_dict*sections;
const char*json;
int64_t now;
uint64_t seed,randoms;};
struct ox_llm_template{
oxi_jinja_block*blocks;
size_t memory;
oxi_jinja_dict symbols;
oxi_jinja_dict sections;
uint64_t key[2];
oxi_jinja_node*body;
uint32_t loop_symbol,caller_symbol,varargs_symbol,kwargs_symbol;};
static void*oxi_jinja_alloc(oxi_jinja*j,size_t bytes);
static void*oxi_jinja_alloc_array(oxi_jinja*j,size_t count,size_t bytes_each);
static void oxi_jinja_free_blocks(oxi_jinja_block*blocks);
static oxi_jinja_value oxi_jinja_fail(oxi_jinja*j,const char*format,...)OXI_PRINTF(2,3);
static bool oxi_jinja_step(oxi_jinja*j,size_t steps);
static bool oxi_jinja_enter(oxi_jinja*j);
static void oxi_jinja_leave(oxi_jinja*j);
static void oxi_jinja_write(oxi_jinja*j,const char*text,size_t length);
static void oxi_jinja_write_text(oxi_jinja*j,const char*text);
static void oxi_jinja_write_many(oxi_jinja*j,char c,int64_t count);
static void oxi_jinja_write_code(oxi_jinja*j,uint32_t code);
static oxi_jinja_value oxi_jinja_take(oxi_jinja*j,size_t start);
static oxi_jinja_value oxi_jinja_none(void);
static oxi_jinja_value oxi_jinja_bool(bool b);
static oxi_jinja_value oxi_jinja_int(int64_t i);
static oxi_jinja_value oxi_jinja_float(double f);
static oxi_jinja_value oxi_jinja_text(const char*text,size_t length);
static oxi_jinja_value oxi_jinja_word(const char*text);
static oxi_jinja_value oxi_jinja_undefined(const char*name,size_t length);
static oxi_jinja_value oxi_jinja_list_new(oxi_jinja*j,oxi_jinja_type type,size_t room);
static void oxi_jinja_push(oxi_jinja*j,oxi_jinja_list*list,oxi_jinja_value value);
static oxi_jinja_value oxi_jinja_pair(oxi_jinja*j,oxi_jinja_value a,oxi_jinja_value b);
static oxi_jinja_value oxi_jinja_dict_new(oxi_jinja*j);
static oxi_jinja_value*oxi_jinja_dict_find(oxi_jinja*j,const oxi_jinja_dict*dict,oxi_jinja_value key);
static void oxi_jinja_dict_set(oxi_jinja*j,oxi_jinja_dict*dict,oxi_jinja_value key,oxi_jinja_value value);
static bool oxi_jinja_dict_remove(oxi_jinja*j,oxi_jinja_dict*dict,oxi_jinja_value key,oxi_jinja_value*out);
static const char*oxi_jinja_type_name(oxi_jinja_value v);
static bool oxi_jinja_is_text(oxi_jinja_value v,const char*text);
static bool oxi_jinja_is_sequence(oxi_jinja_value v);
static bool oxi_jinja_is_number(oxi_jinja_value v);
static bool oxi_jinja_truth(oxi_jinja_value v);
static double oxi_jinja_number(oxi_jinja_value v);
static bool oxi_jinja_equal(oxi_jinja*j,oxi_jinja_value a,oxi_jinja_value b);
static int oxi_jinja_order(oxi_jinja*j,oxi_jinja_value a,oxi_jinja_value b);
static bool oxi_jinja_contains(oxi_jinja*j,oxi_jinja_value all,oxi_jinja_value one);
static const oxi_jinja_list*oxi_jinja_iterate(oxi_jinja*j,oxi_jinja_value v);
static int64_t oxi_jinja_length(oxi_jinja*j,oxi_jinja_value v);
static oxi_jinja_value*oxi_jinja_find_variable(oxi_jinja*j,oxi_jinja_scope*scope,uint32_t symbol);
static void oxi_jinja_set_variable(oxi_jinja*j,oxi_jinja_scope*scope,uint32_t symbol,
 oxi_jinja_value value);
static oxi_jinja_scope*oxi_jinja_scope_new(oxi_jinja*j,oxi_jinja_scope*outer);
static void oxi_jinja_write_value(oxi_jinja*j,oxi_jinja_value v);
static void oxi_jinja_write_repr(oxi_jinja*j,oxi_jinja_value v);
static oxi_jinja_value oxi_jinja_string(oxi_jinja*j,oxi_jinja_value v);
static oxi_jinja_value oxi_jinja_escaped(oxi_jinja*j,oxi_jinja_value v);
static oxi_jinja_value oxi_jinja_safe_as(oxi_jinja_value text,oxi_jinja_value of);
typedef struct oxi_jinja_json_style{
bool ascii,sorted,indented;
oxi_jinja_value indent,comma,colon;}oxi_jinja_json_style;
static void oxi_jinja_write_json(oxi_jinja*j,oxi_jinja_value v,const oxi_jinja_json_style*style,int level);
static void oxi_jinja_write_float(oxi_jinja*j,double f);
static void oxi_jinja_write_int(oxi_jinja*j,int64_t i);
static size_t oxi_jinja_characters(const char*text,size_t length);
static size_t oxi_jinja_byte_of(const char*text,size_t length,size_t index);
static bool oxi_jinja_is_space(uint32_t code);
static bool oxi_jinja_is_printable(uint32_t code);
static uint32_t oxi_jinja_to_upper(uint32_t code);
static uint32_t oxi_jinja_to_lower(uint32_t code);
typedef enum oxi_jinja_token{
OXI_JINJA_TOKEN_END,OXI_JINJA_TOKEN_NAME,OXI_JINJA_TOKEN_NUMBER,OXI_JINJA_TOKEN_STRING,
 OXI_JINJA_TOKEN_OPERATOR,OXI_JINJA_TOKEN_TEXT,OXI_JINJA_TOKEN_PRINT_BEGIN,OXI_JINJA_TOKEN_BLOCK_BEGIN,
 OXI_JINJA_TOKEN_CLOSE}oxi_jinja_token;
typedef struct oxi_jinja_parser{
oxi_jinja*j;
const char*source;
size_t length,at;
oxi_jinja_dict*symbols,*sections;
bool inside,inside_print;
bool line_starts;
int brackets,loops,nesting;
oxi_jinja_token token;
size_t start,end;
oxi_jinja_value value;
uint32_t line,column;
size_t counted;}oxi_jinja_parser;
static void oxi_jinja_next(oxi_jinja_parser*p);
static bool oxi_jinja_at(const oxi_jinja_parser*p,const char*text);
static bool oxi_jinja_skip(oxi_jinja_parser*p,const char*text);
static bool oxi_jinja_expect(oxi_jinja_parser*p,const char*text);
static void oxi_jinja_syntax(oxi_jinja_parser*p,const char*what);
static uint32_t oxi_jinja_symbol(oxi_jinja_parser*p,oxi_jinja_value name);
static oxi_jinja_node*oxi_jinja_node_new(oxi_jinja_parser*p,oxi_jinja_kind kind);
static oxi_jinja_node*oxi_jinja_parse_expression(oxi_jinja_parser*p,bool condition);
static oxi_jinja_node*oxi_jinja_parse_tuple(oxi_jinja_parser*p,bool condition);
static oxi_jinja_node*oxi_jinja_parse_filters(oxi_jinja_parser*p,oxi_jinja_node*node,bool first);
static oxi_jinja_node*oxi_jinja_parse_target(oxi_jinja_parser*p,bool may_be_attribute);
static oxi_jinja_node*oxi_jinja_parse_template(oxi_jinja_parser*p);
static oxi_jinja_value oxi_jinja_binary(oxi_jinja*j,oxi_jinja_operation operation,oxi_jinja_value a,
 oxi_jinja_value b);
static oxi_jinja_value oxi_jinja_unary(oxi_jinja*j,oxi_jinja_operation operation,oxi_jinja_value a);
static bool oxi_jinja_compare(oxi_jinja*j,oxi_jinja_operation operation,oxi_jinja_value a,
 oxi_jinja_value b);
static oxi_jinja_value oxi_jinja_attribute(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_value name);
static oxi_jinja_value oxi_jinja_item(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_value key);
static oxi_jinja_value oxi_jinja_slice(oxi_jinja*j,oxi_jinja_value v,const oxi_jinja_value bounds[3]);
static oxi_jinja_value oxi_jinja_percent_format(oxi_jinja*j,oxi_jinja_value format,oxi_jinja_value values);
static oxi_jinja_value oxi_jinja_brace_format(oxi_jinja*j,oxi_jinja_value format,
 oxi_jinja_value positional,oxi_jinja_value keywords);
static const oxi_jinja_function*oxi_jinja_find_filter(oxi_jinja_value name);
static const oxi_jinja_function*oxi_jinja_find_test(oxi_jinja_value name);
static const oxi_jinja_function*oxi_jinja_find_method(oxi_jinja_type type,oxi_jinja_value name);
static const oxi_jinja_function*oxi_jinja_find_global(oxi_jinja_value name);
static oxi_jinja_value oxi_jinja_apply(oxi_jinja*j,const oxi_jinja_function*function,
 const oxi_jinja_value*self,const oxi_jinja_arguments*arguments);
static oxi_jinja_value oxi_jinja_call_value(oxi_jinja*j,oxi_jinja_value callee,
 const oxi_jinja_arguments*arguments);
#endif
/* >>llm/template/values/memory.c */
static oxi_jinja_value oxi_jinja_fail(oxi_jinja*j,const char*format,...){
if(j->status==OX_OK){
char text[400];
va_list list;
va_start(list,format);
(void)vsnprintf(text,sizeof text,format,list);
va_end(list);
j->status=oxi_fail(OX_ERR_FORMAT,"template: line %u, column %u: %s",(unsigned)j->line,
 (unsigned)j->column,text);}
return oxi_jinja_undefined(NULL,0);}
static bool oxi_jinja_step(oxi_jinja*j,size_t steps){
if(j->status)return false;
if(steps>(uint64_t)j->steps){
(void)oxi_jinja_fail(j,"rendering takes too many steps");
return false;}
j->steps-=(int64_t)steps;
return true;}
static bool oxi_jinja_enter(oxi_jinja*j){
if(++j->depth>OXI_JINJA_MOST_DEPTH)
(void)oxi_jinja_fail(j,"nested deeper than %d levels",OXI_JINJA_MOST_DEPTH);
return oxi_jinja_step(j,1);}
static void oxi_jinja_leave(oxi_jinja*j){
j->depth--;}
static bool oxi_jinja_charge(oxi_jinja*j,size_t bytes){
if(j->status)return false;
if(bytes>j->most_memory-j->memory){
(void)oxi_jinja_fail(j,"more than %.0f bytes of memory",(double)j->most_memory);
return false;}
j->memory+=bytes;
return true;}
static void*oxi_jinja_alloc(oxi_jinja*j,size_t bytes){
oxi_jinja_block*block=j->blocks;
size_t wanted;
if(j->status)return NULL;
if(!oxi_add_size(bytes,15,&wanted))wanted=SIZE_MAX;
wanted&= ~(size_t)15;
if(!block||wanted>block->bytes-block->used){
const size_t head=(sizeof*block+15)& ~(size_t)15;
size_t whole;
if(!oxi_add_size(wanted,head,&whole))whole=SIZE_MAX;
if(whole<OXI_JINJA_BLOCK)whole=OXI_JINJA_BLOCK;
if(!oxi_jinja_charge(j,whole))return NULL;
oxi_jinja_block*made=(oxi_jinja_block*)oxi_alloc(whole);
if(!made){
j->status=OX_ERR_NOMEM;
return NULL;}
made->bytes=whole;
made->used=head;
const bool behind=block&&block->bytes-block->used>whole -head-wanted;
made->next=behind?block->next:block;
if(behind)
block->next=made;
else
j->blocks=made;
block=made;}
void*memory=(char*)block+block->used;
block->used+=wanted;
return memory;}
static void*oxi_jinja_alloc_array(oxi_jinja*j,size_t count,size_t bytes_each){
size_t bytes;
return oxi_jinja_alloc(j,oxi_mul_size(count,bytes_each,&bytes)?bytes:SIZE_MAX);}
static void oxi_jinja_free_blocks(oxi_jinja_block*block){
while(block){
oxi_jinja_block*next=block->next;
oxi_free(block,block->bytes);
block=next;}}
static void*oxi_jinja_grow(oxi_jinja*j,void*items,size_t count,size_t*room,size_t bytes_each){
if(count< *room)return items;
const size_t more= *room? *room*2:4;
void*grown=oxi_jinja_alloc_array(j,more,bytes_each);
if(!grown)return NULL;
if(count)memcpy(grown,items,count*bytes_each);
*room=more;
return grown;}
static bool oxi_jinja_reserve(oxi_jinja*j,size_t length){
if(j->status)return false;
if(length<=j->out_room-j->out_length)return true;
size_t room=j->out_room?j->out_room:1024;
while(room-j->out_length<length){
if(room>OXI_JINJA_MOST_STRING){
(void)oxi_jinja_fail(j,"text of more than %.0f bytes",(double)OXI_JINJA_MOST_STRING);
return false;}
room*=2;}
if(!oxi_jinja_charge(j,room-j->out_room))return false;
char*grown=(char*)oxi_realloc(j->out,j->out_room,room);
if(!grown){
j->status=OX_ERR_NOMEM;
return false;}
j->out=grown;
j->out_room=room;
return true;}
static void oxi_jinja_write(oxi_jinja*j,const char*text,size_t length){
if(!length|| !oxi_jinja_step(j,length/64)|| !oxi_jinja_reserve(j,length))return;
memcpy(j->out+j->out_length,text,length);
j->out_length+=length;}
static void oxi_jinja_write_text(oxi_jinja*j,const char*text){
oxi_jinja_write(j,text,strlen(text));}
static void oxi_jinja_write_many(oxi_jinja*j,char c,int64_t count){
if(count<=0)return;
if((uint64_t)count>OXI_JINJA_MOST_STRING){
(void)oxi_jinja_fail(j,"text of more than %.0f bytes",(double)OXI_JINJA_MOST_STRING);
return;}
if(!oxi_jinja_reserve(j,(size_t)count))return;
memset(j->out+j->out_length,c,(size_t)count);
j->out_length+=(size_t)count;}
static void oxi_jinja_write_code(oxi_jinja*j,uint32_t code){
char bytes[4];
oxi_jinja_write(j,bytes,oxi_utf8_write((int32_t)code,bytes));}
static oxi_jinja_value oxi_jinja_take(oxi_jinja*j,size_t start){
if(j->status)return oxi_jinja_text("",0);
const size_t length=j->out_length-start;
char*text=(char*)oxi_jinja_alloc(j,length);
j->out_length=start;
if(!text)return oxi_jinja_text("",0);
if(length)memcpy(text,j->out+start,length);
j->last_end=text+length;
return oxi_jinja_text(text,length);}
/* >>llm/template/values/unicode.c */
static size_t oxi_jinja_characters(const char*text,size_t length){
size_t count=0;
for(size_t i=0;i<length;i++)count+=((unsigned char)text[i]&0xC0)!=0x80;
return count;}
static size_t oxi_jinja_byte_of(const char*text,size_t length,size_t index){
size_t at=0;
for(;at<length;at++)
if(((unsigned char)text[at]&0xC0)!=0x80&&index-- ==0)break;
return at;}
static bool oxi_jinja_is_space(uint32_t code){
return(code>=9&&code<=13)||(code>=0x1C&&code<=0x20)||code==0x85||code==0xA0||
 code==0x1680||(code>=0x2000&&code<=0x200A)||code==0x2028||code==0x2029||
 code==0x202F||code==0x205F||code==0x3000;}
typedef struct oxi_jinja_case{
uint32_t first,last,step;
int32_t delta;}oxi_jinja_case;
/* >>llm/template/values/unicode_tables.inc */
static const uint32_t oxi_jinja_unprintable[][2]={
{0x7f,0xa0},{0xad,0xad},{0x378,0x379},{0x380,0x383},{0x38b,0x38b},{0x38d,0x38d},
 {0x3a2,0x3a2},{0x530,0x530},{0x557,0x558},{0x58b,0x58c},{0x590,0x590},{0x5c8,0x5cf},
 {0x5eb,0x5ee},{0x5f5,0x605},{0x61c,0x61c},{0x6dd,0x6dd},{0x70e,0x70f},{0x74b,0x74c},
 {0x7b2,0x7bf},{0x7fb,0x7fc},{0x82e,0x82f},{0x83f,0x83f},{0x85c,0x85d},{0x85f,0x85f},
 {0x86b,0x86f},{0x88f,0x896},{0x8e2,0x8e2},{0x984,0x984},{0x98d,0x98e},{0x991,0x992},
 {0x9a9,0x9a9},{0x9b1,0x9b1},{0x9b3,0x9b5},{0x9ba,0x9bb},{0x9c5,0x9c6},{0x9c9,0x9ca},
 {0x9cf,0x9d6},{0x9d8,0x9db},{0x9de,0x9de},{0x9e4,0x9e5},{0x9ff,0xa00},{0xa04,0xa04},
 {0xa0b,0xa0e},{0xa11,0xa12},{0xa29,0xa29},{0xa31,0xa31},{0xa34,0xa34},{0xa37,0xa37},
 {0xa3a,0xa3b},{0xa3d,0xa3d},{0xa43,0xa46},{0xa49,0xa4a},{0xa4e,0xa50},{0xa52,0xa58},
 {0xa5d,0xa5d},{0xa5f,0xa65},{0xa77,0xa80},{0xa84,0xa84},{0xa8e,0xa8e},{0xa92,0xa92},
 {0xaa9,0xaa9},{0xab1,0xab1},{0xab4,0xab4},{0xaba,0xabb},{0xac6,0xac6},{0xaca,0xaca},
 {0xace,0xacf},{0xad1,0xadf},{0xae4,0xae5},{0xaf2,0xaf8},{0xb00,0xb00},{0xb04,0xb04},
 {0xb0d,0xb0e},{0xb11,0xb12},{0xb29,0xb29},{0xb31,0xb31},{0xb34,0xb34},{0xb3a,0xb3b},
 {0xb45,0xb46},{0xb49,0xb4a},{0xb4e,0xb54},{0xb58,0xb5b},{0xb5e,0xb5e},{0xb64,0xb65},
 {0xb78,0xb81},{0xb84,0xb84},{0xb8b,0xb8d},{0xb91,0xb91},{0xb96,0xb98},{0xb9b,0xb9b},
 {0xb9d,0xb9d},{0xba0,0xba2},{0xba5,0xba7},{0xbab,0xbad},{0xbba,0xbbd},{0xbc3,0xbc5},
 {0xbc9,0xbc9},{0xbce,0xbcf},{0xbd1,0xbd6},{0xbd8,0xbe5},{0xbfb,0xbff},{0xc0d,0xc0d},
 {0xc11,0xc11},{0xc29,0xc29},{0xc3a,0xc3b},{0xc45,0xc45},{0xc49,0xc49},{0xc4e,0xc54},
 {0xc57,0xc57},{0xc5b,0xc5c},{0xc5e,0xc5f},{0xc64,0xc65},{0xc70,0xc76},{0xc8d,0xc8d},
 {0xc91,0xc91},{0xca9,0xca9},{0xcb4,0xcb4},{0xcba,0xcbb},{0xcc5,0xcc5},{0xcc9,0xcc9},
 {0xcce,0xcd4},{0xcd7,0xcdc},{0xcdf,0xcdf},{0xce4,0xce5},{0xcf0,0xcf0},{0xcf4,0xcff},
 {0xd0d,0xd0d},{0xd11,0xd11},{0xd45,0xd45},{0xd49,0xd49},{0xd50,0xd53},{0xd64,0xd65},
 {0xd80,0xd80},{0xd84,0xd84},{0xd97,0xd99},{0xdb2,0xdb2},{0xdbc,0xdbc},{0xdbe,0xdbf},
 {0xdc7,0xdc9},{0xdcb,0xdce},{0xdd5,0xdd5},{0xdd7,0xdd7},{0xde0,0xde5},{0xdf0,0xdf1},
 {0xdf5,0xe00},{0xe3b,0xe3e},{0xe5c,0xe80},{0xe83,0xe83},{0xe85,0xe85},{0xe8b,0xe8b},
 {0xea4,0xea4},{0xea6,0xea6},{0xebe,0xebf},{0xec5,0xec5},{0xec7,0xec7},{0xecf,0xecf},
 {0xeda,0xedb},{0xee0,0xeff},{0xf48,0xf48},{0xf6d,0xf70},{0xf98,0xf98},{0xfbd,0xfbd},
 {0xfcd,0xfcd},{0xfdb,0xfff},{0x10c6,0x10c6},{0x10c8,0x10cc},{0x10ce,0x10cf},{0x1249,0x1249},
 {0x124e,0x124f},{0x1257,0x1257},{0x1259,0x1259},{0x125e,0x125f},{0x1289,0x1289},
 {0x128e,0x128f},{0x12b1,0x12b1},{0x12b6,0x12b7},{0x12bf,0x12bf},{0x12c1,0x12c1},
 {0x12c6,0x12c7},{0x12d7,0x12d7},{0x1311,0x1311},{0x1316,0x1317},{0x135b,0x135c},
 {0x137d,0x137f},{0x139a,0x139f},{0x13f6,0x13f7},{0x13fe,0x13ff},{0x1680,0x1680},
 {0x169d,0x169f},{0x16f9,0x16ff},{0x1716,0x171e},{0x1737,0x173f},{0x1754,0x175f},
 {0x176d,0x176d},{0x1771,0x1771},{0x1774,0x177f},{0x17de,0x17df},{0x17ea,0x17ef},
 {0x17fa,0x17ff},{0x180e,0x180e},{0x181a,0x181f},{0x1879,0x187f},{0x18ab,0x18af},
 {0x18f6,0x18ff},{0x191f,0x191f},{0x192c,0x192f},{0x193c,0x193f},{0x1941,0x1943},
 {0x196e,0x196f},{0x1975,0x197f},{0x19ac,0x19af},{0x19ca,0x19cf},{0x19db,0x19dd},
 {0x1a1c,0x1a1d},{0x1a5f,0x1a5f},{0x1a7d,0x1a7e},{0x1a8a,0x1a8f},{0x1a9a,0x1a9f},
 {0x1aae,0x1aaf},{0x1acf,0x1aff},{0x1b4d,0x1b4d},{0x1bf4,0x1bfb},{0x1c38,0x1c3a},
 {0x1c4a,0x1c4c},{0x1c8b,0x1c8f},{0x1cbb,0x1cbc},{0x1cc8,0x1ccf},{0x1cfb,0x1cff},
 {0x1f16,0x1f17},{0x1f1e,0x1f1f},{0x1f46,0x1f47},{0x1f4e,0x1f4f},{0x1f58,0x1f58},
 {0x1f5a,0x1f5a},{0x1f5c,0x1f5c},{0x1f5e,0x1f5e},{0x1f7e,0x1f7f},{0x1fb5,0x1fb5},
 {0x1fc5,0x1fc5},{0x1fd4,0x1fd5},{0x1fdc,0x1fdc},{0x1ff0,0x1ff1},{0x1ff5,0x1ff5},
 {0x1fff,0x200f},{0x2028,0x202f},{0x205f,0x206f},{0x2072,0x2073},{0x208f,0x208f},
 {0x209d,0x209f},{0x20c1,0x20cf},{0x20f1,0x20ff},{0x218c,0x218f},{0x242a,0x243f},
 {0x244b,0x245f},{0x2b74,0x2b75},{0x2b96,0x2b96},{0x2cf4,0x2cf8},{0x2d26,0x2d26},
 {0x2d28,0x2d2c},{0x2d2e,0x2d2f},{0x2d68,0x2d6e},{0x2d71,0x2d7e},{0x2d97,0x2d9f},
 {0x2da7,0x2da7},{0x2daf,0x2daf},{0x2db7,0x2db7},{0x2dbf,0x2dbf},{0x2dc7,0x2dc7},
 {0x2dcf,0x2dcf},{0x2dd7,0x2dd7},{0x2ddf,0x2ddf},{0x2e5e,0x2e7f},{0x2e9a,0x2e9a},
 {0x2ef4,0x2eff},{0x2fd6,0x2fef},{0x3000,0x3000},{0x3040,0x3040},{0x3097,0x3098},
 {0x3100,0x3104},{0x3130,0x3130},{0x318f,0x318f},{0x31e6,0x31ee},{0x321f,0x321f},
 {0xa48d,0xa48f},{0xa4c7,0xa4cf},{0xa62c,0xa63f},{0xa6f8,0xa6ff},{0xa7ce,0xa7cf},
 {0xa7d2,0xa7d2},{0xa7d4,0xa7d4},{0xa7dd,0xa7f1},{0xa82d,0xa82f},{0xa83a,0xa83f},
 {0xa878,0xa87f},{0xa8c6,0xa8cd},{0xa8da,0xa8df},{0xa954,0xa95e},{0xa97d,0xa97f},
 {0xa9ce,0xa9ce},{0xa9da,0xa9dd},{0xa9ff,0xa9ff},{0xaa37,0xaa3f},{0xaa4e,0xaa4f},
 {0xaa5a,0xaa5b},{0xaac3,0xaada},{0xaaf7,0xab00},{0xab07,0xab08},{0xab0f,0xab10},
 {0xab17,0xab1f},{0xab27,0xab27},{0xab2f,0xab2f},{0xab6c,0xab6f},{0xabee,0xabef},
 {0xabfa,0xabff},{0xd7a4,0xd7af},{0xd7c7,0xd7ca},{0xd7fc,0xf8ff},{0xfa6e,0xfa6f},
 {0xfada,0xfaff},{0xfb07,0xfb12},{0xfb18,0xfb1c},{0xfb37,0xfb37},{0xfb3d,0xfb3d},
 {0xfb3f,0xfb3f},{0xfb42,0xfb42},{0xfb45,0xfb45},{0xfbc3,0xfbd2},{0xfd90,0xfd91},
 {0xfdc8,0xfdce},{0xfdd0,0xfdef},{0xfe1a,0xfe1f},{0xfe53,0xfe53},{0xfe67,0xfe67},
 {0xfe6c,0xfe6f},{0xfe75,0xfe75},{0xfefd,0xff00},{0xffbf,0xffc1},{0xffc8,0xffc9},
 {0xffd0,0xffd1},{0xffd8,0xffd9},{0xffdd,0xffdf},{0xffe7,0xffe7},{0xffef,0xfffb},
 {0xfffe,0xffff},{0x1000c,0x1000c},{0x10027,0x10027},{0x1003b,0x1003b},{0x1003e,0x1003e},
 {0x1004e,0x1004f},{0x1005e,0x1007f},{0x100fb,0x100ff},{0x10103,0x10106},{0x10134,0x10136},
 {0x1018f,0x1018f},{0x1019d,0x1019f},{0x101a1,0x101cf},{0x101fe,0x1027f},{0x1029d,0x1029f},
 {0x102d1,0x102df},{0x102fc,0x102ff},{0x10324,0x1032c},{0x1034b,0x1034f},{0x1037b,0x1037f},
 {0x1039e,0x1039e},{0x103c4,0x103c7},{0x103d6,0x103ff},{0x1049e,0x1049f},{0x104aa,0x104af},
 {0x104d4,0x104d7},{0x104fc,0x104ff},{0x10528,0x1052f},{0x10564,0x1056e},{0x1057b,0x1057b},
 {0x1058b,0x1058b},{0x10593,0x10593},{0x10596,0x10596},{0x105a2,0x105a2},{0x105b2,0x105b2},
 {0x105ba,0x105ba},{0x105bd,0x105bf},{0x105f4,0x105ff},{0x10737,0x1073f},{0x10756,0x1075f},
 {0x10768,0x1077f},{0x10786,0x10786},{0x107b1,0x107b1},{0x107bb,0x107ff},{0x10806,0x10807},
 {0x10809,0x10809},{0x10836,0x10836},{0x10839,0x1083b},{0x1083d,0x1083e},{0x10856,0x10856},
 {0x1089f,0x108a6},{0x108b0,0x108df},{0x108f3,0x108f3},{0x108f6,0x108fa},{0x1091c,0x1091e},
 {0x1093a,0x1093e},{0x10940,0x1097f},{0x109b8,0x109bb},{0x109d0,0x109d1},{0x10a04,0x10a04},
 {0x10a07,0x10a0b},{0x10a14,0x10a14},{0x10a18,0x10a18},{0x10a36,0x10a37},{0x10a3b,0x10a3e},
 {0x10a49,0x10a4f},{0x10a59,0x10a5f},{0x10aa0,0x10abf},{0x10ae7,0x10aea},{0x10af7,0x10aff},
 {0x10b36,0x10b38},{0x10b56,0x10b57},{0x10b73,0x10b77},{0x10b92,0x10b98},{0x10b9d,0x10ba8},
 {0x10bb0,0x10bff},{0x10c49,0x10c7f},{0x10cb3,0x10cbf},{0x10cf3,0x10cf9},{0x10d28,0x10d2f},
 {0x10d3a,0x10d3f},{0x10d66,0x10d68},{0x10d86,0x10d8d},{0x10d90,0x10e5f},{0x10e7f,0x10e7f},
 {0x10eaa,0x10eaa},{0x10eae,0x10eaf},{0x10eb2,0x10ec1},{0x10ec5,0x10efb},{0x10f28,0x10f2f},
 {0x10f5a,0x10f6f},{0x10f8a,0x10faf},{0x10fcc,0x10fdf},{0x10ff7,0x10fff},{0x1104e,0x11051},
 {0x11076,0x1107e},{0x110bd,0x110bd},{0x110c3,0x110cf},{0x110e9,0x110ef},{0x110fa,0x110ff},
 {0x11135,0x11135},{0x11148,0x1114f},{0x11177,0x1117f},{0x111e0,0x111e0},{0x111f5,0x111ff},
 {0x11212,0x11212},{0x11242,0x1127f},{0x11287,0x11287},{0x11289,0x11289},{0x1128e,0x1128e},
 {0x1129e,0x1129e},{0x112aa,0x112af},{0x112eb,0x112ef},{0x112fa,0x112ff},{0x11304,0x11304},
 {0x1130d,0x1130e},{0x11311,0x11312},{0x11329,0x11329},{0x11331,0x11331},{0x11334,0x11334},
 {0x1133a,0x1133a},{0x11345,0x11346},{0x11349,0x1134a},{0x1134e,0x1134f},{0x11351,0x11356},
 {0x11358,0x1135c},{0x11364,0x11365},{0x1136d,0x1136f},{0x11375,0x1137f},{0x1138a,0x1138a},
 {0x1138c,0x1138d},{0x1138f,0x1138f},{0x113b6,0x113b6},{0x113c1,0x113c1},{0x113c3,0x113c4},
 {0x113c6,0x113c6},{0x113cb,0x113cb},{0x113d6,0x113d6},{0x113d9,0x113e0},{0x113e3,0x113ff},
 {0x1145c,0x1145c},{0x11462,0x1147f},{0x114c8,0x114cf},{0x114da,0x1157f},{0x115b6,0x115b7},
 {0x115de,0x115ff},{0x11645,0x1164f},{0x1165a,0x1165f},{0x1166d,0x1167f},{0x116ba,0x116bf},
 {0x116ca,0x116cf},{0x116e4,0x116ff},{0x1171b,0x1171c},{0x1172c,0x1172f},{0x11747,0x117ff},
 {0x1183c,0x1189f},{0x118f3,0x118fe},{0x11907,0x11908},{0x1190a,0x1190b},{0x11914,0x11914},
 {0x11917,0x11917},{0x11936,0x11936},{0x11939,0x1193a},{0x11947,0x1194f},{0x1195a,0x1199f},
 {0x119a8,0x119a9},{0x119d8,0x119d9},{0x119e5,0x119ff},{0x11a48,0x11a4f},{0x11aa3,0x11aaf},
 {0x11af9,0x11aff},{0x11b0a,0x11bbf},{0x11be2,0x11bef},{0x11bfa,0x11bff},{0x11c09,0x11c09},
 {0x11c37,0x11c37},{0x11c46,0x11c4f},{0x11c6d,0x11c6f},{0x11c90,0x11c91},{0x11ca8,0x11ca8},
 {0x11cb7,0x11cff},{0x11d07,0x11d07},{0x11d0a,0x11d0a},{0x11d37,0x11d39},{0x11d3b,0x11d3b},
 {0x11d3e,0x11d3e},{0x11d48,0x11d4f},{0x11d5a,0x11d5f},{0x11d66,0x11d66},{0x11d69,0x11d69},
 {0x11d8f,0x11d8f},{0x11d92,0x11d92},{0x11d99,0x11d9f},{0x11daa,0x11edf},{0x11ef9,0x11eff},
 {0x11f11,0x11f11},{0x11f3b,0x11f3d},{0x11f5b,0x11faf},{0x11fb1,0x11fbf},{0x11ff2,0x11ffe},
 {0x1239a,0x123ff},{0x1246f,0x1246f},{0x12475,0x1247f},{0x12544,0x12f8f},{0x12ff3,0x12fff},
 {0x13430,0x1343f},{0x13456,0x1345f},{0x143fb,0x143ff},{0x14647,0x160ff},{0x1613a,0x167ff},
 {0x16a39,0x16a3f},{0x16a5f,0x16a5f},{0x16a6a,0x16a6d},{0x16abf,0x16abf},{0x16aca,0x16acf},
 {0x16aee,0x16aef},{0x16af6,0x16aff},{0x16b46,0x16b4f},{0x16b5a,0x16b5a},{0x16b62,0x16b62},
 {0x16b78,0x16b7c},{0x16b90,0x16d3f},{0x16d7a,0x16e3f},{0x16e9b,0x16eff},{0x16f4b,0x16f4e},
 {0x16f88,0x16f8e},{0x16fa0,0x16fdf},{0x16fe5,0x16fef},{0x16ff2,0x16fff},{0x187f8,0x187ff},
 {0x18cd6,0x18cfe},{0x18d09,0x1afef},{0x1aff4,0x1aff4},{0x1affc,0x1affc},{0x1afff,0x1afff},
 {0x1b123,0x1b131},{0x1b133,0x1b14f},{0x1b153,0x1b154},{0x1b156,0x1b163},{0x1b168,0x1b16f},
 {0x1b2fc,0x1bbff},{0x1bc6b,0x1bc6f},{0x1bc7d,0x1bc7f},{0x1bc89,0x1bc8f},{0x1bc9a,0x1bc9b},
 {0x1bca0,0x1cbff},{0x1ccfa,0x1ccff},{0x1ceb4,0x1ceff},{0x1cf2e,0x1cf2f},{0x1cf47,0x1cf4f},
 {0x1cfc4,0x1cfff},{0x1d0f6,0x1d0ff},{0x1d127,0x1d128},{0x1d173,0x1d17a},{0x1d1eb,0x1d1ff},
 {0x1d246,0x1d2bf},{0x1d2d4,0x1d2df},{0x1d2f4,0x1d2ff},{0x1d357,0x1d35f},{0x1d379,0x1d3ff},
 {0x1d455,0x1d455},{0x1d49d,0x1d49d},{0x1d4a0,0x1d4a1},{0x1d4a3,0x1d4a4},{0x1d4a7,0x1d4a8},
 {0x1d4ad,0x1d4ad},{0x1d4ba,0x1d4ba},{0x1d4bc,0x1d4bc},{0x1d4c4,0x1d4c4},{0x1d506,0x1d506},
 {0x1d50b,0x1d50c},{0x1d515,0x1d515},{0x1d51d,0x1d51d},{0x1d53a,0x1d53a},{0x1d53f,0x1d53f},
 {0x1d545,0x1d545},{0x1d547,0x1d549},{0x1d551,0x1d551},{0x1d6a6,0x1d6a7},{0x1d7cc,0x1d7cd},
 {0x1da8c,0x1da9a},{0x1daa0,0x1daa0},{0x1dab0,0x1deff},{0x1df1f,0x1df24},{0x1df2b,0x1dfff},
 {0x1e007,0x1e007},{0x1e019,0x1e01a},{0x1e022,0x1e022},{0x1e025,0x1e025},{0x1e02b,0x1e02f},
 {0x1e06e,0x1e08e},{0x1e090,0x1e0ff},{0x1e12d,0x1e12f},{0x1e13e,0x1e13f},{0x1e14a,0x1e14d},
 {0x1e150,0x1e28f},{0x1e2af,0x1e2bf},{0x1e2fa,0x1e2fe},{0x1e300,0x1e4cf},{0x1e4fa,0x1e5cf},
 {0x1e5fb,0x1e5fe},{0x1e600,0x1e7df},{0x1e7e7,0x1e7e7},{0x1e7ec,0x1e7ec},{0x1e7ef,0x1e7ef},
 {0x1e7ff,0x1e7ff},{0x1e8c5,0x1e8c6},{0x1e8d7,0x1e8ff},{0x1e94c,0x1e94f},{0x1e95a,0x1e95d},
 {0x1e960,0x1ec70},{0x1ecb5,0x1ed00},{0x1ed3e,0x1edff},{0x1ee04,0x1ee04},{0x1ee20,0x1ee20},
 {0x1ee23,0x1ee23},{0x1ee25,0x1ee26},{0x1ee28,0x1ee28},{0x1ee33,0x1ee33},{0x1ee38,0x1ee38},
 {0x1ee3a,0x1ee3a},{0x1ee3c,0x1ee41},{0x1ee43,0x1ee46},{0x1ee48,0x1ee48},{0x1ee4a,0x1ee4a},
 {0x1ee4c,0x1ee4c},{0x1ee50,0x1ee50},{0x1ee53,0x1ee53},{0x1ee55,0x1ee56},{0x1ee58,0x1ee58},
 {0x1ee5a,0x1ee5a},{0x1ee5c,0x1ee5c},{0x1ee5e,0x1ee5e},{0x1ee60,0x1ee60},{0x1ee63,0x1ee63},
 {0x1ee65,0x1ee66},{0x1ee6b,0x1ee6b},{0x1ee73,0x1ee73},{0x1ee78,0x1ee78},{0x1ee7d,0x1ee7d},
 {0x1ee7f,0x1ee7f},{0x1ee8a,0x1ee8a},{0x1ee9c,0x1eea0},{0x1eea4,0x1eea4},{0x1eeaa,0x1eeaa},
 {0x1eebc,0x1eeef},{0x1eef2,0x1efff},{0x1f02c,0x1f02f},{0x1f094,0x1f09f},{0x1f0af,0x1f0b0},
 {0x1f0c0,0x1f0c0},{0x1f0d0,0x1f0d0},{0x1f0f6,0x1f0ff},{0x1f1ae,0x1f1e5},{0x1f203,0x1f20f},
 {0x1f23c,0x1f23f},{0x1f249,0x1f24f},{0x1f252,0x1f25f},{0x1f266,0x1f2ff},{0x1f6d8,0x1f6db},
 {0x1f6ed,0x1f6ef},{0x1f6fd,0x1f6ff},{0x1f777,0x1f77a},{0x1f7da,0x1f7df},{0x1f7ec,0x1f7ef},
 {0x1f7f1,0x1f7ff},{0x1f80c,0x1f80f},{0x1f848,0x1f84f},{0x1f85a,0x1f85f},{0x1f888,0x1f88f},
 {0x1f8ae,0x1f8af},{0x1f8bc,0x1f8bf},{0x1f8c2,0x1f8ff},{0x1fa54,0x1fa5f},{0x1fa6e,0x1fa6f},
 {0x1fa7d,0x1fa7f},{0x1fa8a,0x1fa8e},{0x1fac7,0x1facd},{0x1fadd,0x1fade},{0x1faea,0x1faef},
 {0x1faf9,0x1faff},{0x1fb93,0x1fb93},{0x1fbfa,0x1ffff},{0x2a6e0,0x2a6ff},{0x2b73a,0x2b73f},
 {0x2b81e,0x2b81f},{0x2cea2,0x2ceaf},{0x2ebe1,0x2ebef},{0x2ee5e,0x2f7ff},{0x2fa1e,0x2ffff},
 {0x3134b,0x3134f},{0x323b0,0xe00ff},{0xe01f0,0x10ffff},};
static const oxi_jinja_case oxi_jinja_upper_cases[]={
{0xb5,0xb5,1,743},{0xe0,0xf6,1,-32},{0xf8,0xfe,1,-32},{0xff,0xff,1,121},
 {0x101,0x12f,2,-1},{0x131,0x131,1,-232},{0x133,0x137,2,-1},{0x13a,0x148,2,-1},
 {0x14b,0x177,2,-1},{0x17a,0x17e,2,-1},{0x17f,0x17f,1,-300},{0x180,0x180,1,195},
 {0x183,0x185,2,-1},{0x188,0x188,1,-1},{0x18c,0x18c,1,-1},{0x192,0x192,1,-1},
 {0x195,0x195,1,97},{0x199,0x199,1,-1},{0x19a,0x19a,1,163},{0x19b,0x19b,1,42561},
 {0x19e,0x19e,1,130},{0x1a1,0x1a5,2,-1},{0x1a8,0x1a8,1,-1},{0x1ad,0x1ad,1,-1},
 {0x1b0,0x1b0,1,-1},{0x1b4,0x1b6,2,-1},{0x1b9,0x1b9,1,-1},{0x1bd,0x1bd,1,-1},
 {0x1bf,0x1bf,1,56},{0x1c5,0x1c5,1,-1},{0x1c6,0x1c6,1,-2},{0x1c8,0x1c8,1,-1},
 {0x1c9,0x1c9,1,-2},{0x1cb,0x1cb,1,-1},{0x1cc,0x1cc,1,-2},{0x1ce,0x1dc,2,-1},
 {0x1dd,0x1dd,1,-79},{0x1df,0x1ef,2,-1},{0x1f2,0x1f2,1,-1},{0x1f3,0x1f3,1,-2},
 {0x1f5,0x1f5,1,-1},{0x1f9,0x21f,2,-1},{0x223,0x233,2,-1},{0x23c,0x23c,1,-1},
 {0x23f,0x240,1,10815},{0x242,0x242,1,-1},{0x247,0x24f,2,-1},{0x250,0x250,1,10783},
 {0x251,0x251,1,10780},{0x252,0x252,1,10782},{0x253,0x253,1,-210},{0x254,0x254,1,-206},
 {0x256,0x257,1,-205},{0x259,0x259,1,-202},{0x25b,0x25b,1,-203},{0x25c,0x25c,1,42319},
 {0x260,0x260,1,-205},{0x261,0x261,1,42315},{0x263,0x263,1,-207},{0x264,0x264,1,42343},
 {0x265,0x265,1,42280},{0x266,0x266,1,42308},{0x268,0x268,1,-209},{0x269,0x269,1,-211},
 {0x26a,0x26a,1,42308},{0x26b,0x26b,1,10743},{0x26c,0x26c,1,42305},{0x26f,0x26f,1,-211},
 {0x271,0x271,1,10749},{0x272,0x272,1,-213},{0x275,0x275,1,-214},{0x27d,0x27d,1,10727},
 {0x280,0x280,1,-218},{0x282,0x282,1,42307},{0x283,0x283,1,-218},{0x287,0x287,1,42282},
 {0x288,0x288,1,-218},{0x289,0x289,1,-69},{0x28a,0x28b,1,-217},{0x28c,0x28c,1,-71},
 {0x292,0x292,1,-219},{0x29d,0x29d,1,42261},{0x29e,0x29e,1,42258},{0x345,0x345,1,84},
 {0x371,0x373,2,-1},{0x377,0x377,1,-1},{0x37b,0x37d,1,130},{0x3ac,0x3ac,1,-38},
 {0x3ad,0x3af,1,-37},{0x3b1,0x3c1,1,-32},{0x3c2,0x3c2,1,-31},{0x3c3,0x3cb,1,-32},
 {0x3cc,0x3cc,1,-64},{0x3cd,0x3ce,1,-63},{0x3d0,0x3d0,1,-62},{0x3d1,0x3d1,1,-57},
 {0x3d5,0x3d5,1,-47},{0x3d6,0x3d6,1,-54},{0x3d7,0x3d7,1,-8},{0x3d9,0x3ef,2,-1},
 {0x3f0,0x3f0,1,-86},{0x3f1,0x3f1,1,-80},{0x3f2,0x3f2,1,7},{0x3f3,0x3f3,1,-116},
 {0x3f5,0x3f5,1,-96},{0x3f8,0x3f8,1,-1},{0x3fb,0x3fb,1,-1},{0x430,0x44f,1,-32},
 {0x450,0x45f,1,-80},{0x461,0x481,2,-1},{0x48b,0x4bf,2,-1},{0x4c2,0x4ce,2,-1},
 {0x4cf,0x4cf,1,-15},{0x4d1,0x52f,2,-1},{0x561,0x586,1,-48},{0x10d0,0x10fa,1,3008},
 {0x10fd,0x10ff,1,3008},{0x13f8,0x13fd,1,-8},{0x1c80,0x1c80,1,-6254},
 {0x1c81,0x1c81,1,-6253},{0x1c82,0x1c82,1,-6244},{0x1c83,0x1c84,1,-6242},
 {0x1c85,0x1c85,1,-6243},{0x1c86,0x1c86,1,-6236},{0x1c87,0x1c87,1,-6181},
 {0x1c88,0x1c88,1,35266},{0x1c8a,0x1c8a,1,-1},{0x1d79,0x1d79,1,35332},
 {0x1d7d,0x1d7d,1,3814},{0x1d8e,0x1d8e,1,35384},{0x1e01,0x1e95,2,-1},{0x1e9b,0x1e9b,1,-59},
 {0x1ea1,0x1eff,2,-1},{0x1f00,0x1f07,1,8},{0x1f10,0x1f15,1,8},{0x1f20,0x1f27,1,8},
 {0x1f30,0x1f37,1,8},{0x1f40,0x1f45,1,8},{0x1f51,0x1f57,2,8},{0x1f60,0x1f67,1,8},
 {0x1f70,0x1f71,1,74},{0x1f72,0x1f75,1,86},{0x1f76,0x1f77,1,100},{0x1f78,0x1f79,1,128},
 {0x1f7a,0x1f7b,1,112},{0x1f7c,0x1f7d,1,126},{0x1fb0,0x1fb1,1,8},{0x1fbe,0x1fbe,1,-7205},
 {0x1fd0,0x1fd1,1,8},{0x1fe0,0x1fe1,1,8},{0x1fe5,0x1fe5,1,7},{0x214e,0x214e,1,-28},
 {0x2170,0x217f,1,-16},{0x2184,0x2184,1,-1},{0x24d0,0x24e9,1,-26},{0x2c30,0x2c5f,1,-48},
 {0x2c61,0x2c61,1,-1},{0x2c65,0x2c65,1,-10795},{0x2c66,0x2c66,1,-10792},
 {0x2c68,0x2c6c,2,-1},{0x2c73,0x2c73,1,-1},{0x2c76,0x2c76,1,-1},{0x2c81,0x2ce3,2,-1},
 {0x2cec,0x2cee,2,-1},{0x2cf3,0x2cf3,1,-1},{0x2d00,0x2d25,1,-7264},{0x2d27,0x2d27,1,-7264},
 {0x2d2d,0x2d2d,1,-7264},{0xa641,0xa66d,2,-1},{0xa681,0xa69b,2,-1},{0xa723,0xa72f,2,-1},
 {0xa733,0xa76f,2,-1},{0xa77a,0xa77c,2,-1},{0xa77f,0xa787,2,-1},{0xa78c,0xa78c,1,-1},
 {0xa791,0xa793,2,-1},{0xa794,0xa794,1,48},{0xa797,0xa7a9,2,-1},{0xa7b5,0xa7c3,2,-1},
 {0xa7c8,0xa7ca,2,-1},{0xa7cd,0xa7cd,1,-1},{0xa7d1,0xa7d1,1,-1},{0xa7d7,0xa7db,2,-1},
 {0xa7f6,0xa7f6,1,-1},{0xab53,0xab53,1,-928},{0xab70,0xabbf,1,-38864},{0xff41,0xff5a,1,-32},
 {0x10428,0x1044f,1,-40},{0x104d8,0x104fb,1,-40},{0x10597,0x105a1,1,-39},
 {0x105a3,0x105b1,1,-39},{0x105b3,0x105b9,1,-39},{0x105bb,0x105bc,1,-39},
 {0x10cc0,0x10cf2,1,-64},{0x10d70,0x10d85,1,-32},{0x118c0,0x118df,1,-32},
 {0x16e60,0x16e7f,1,-32},{0x1e922,0x1e943,1,-34},};
static const oxi_jinja_case oxi_jinja_lower_cases[]={
{0xc0,0xd6,1,32},{0xd8,0xde,1,32},{0x100,0x12e,2,1},{0x132,0x136,2,1},
 {0x139,0x147,2,1},{0x14a,0x176,2,1},{0x178,0x178,1,-121},{0x179,0x17d,2,1},
 {0x181,0x181,1,210},{0x182,0x184,2,1},{0x186,0x186,1,206},{0x187,0x187,1,1},
 {0x189,0x18a,1,205},{0x18b,0x18b,1,1},{0x18e,0x18e,1,79},{0x18f,0x18f,1,202},
 {0x190,0x190,1,203},{0x191,0x191,1,1},{0x193,0x193,1,205},{0x194,0x194,1,207},
 {0x196,0x196,1,211},{0x197,0x197,1,209},{0x198,0x198,1,1},{0x19c,0x19c,1,211},
 {0x19d,0x19d,1,213},{0x19f,0x19f,1,214},{0x1a0,0x1a4,2,1},{0x1a6,0x1a6,1,218},
 {0x1a7,0x1a7,1,1},{0x1a9,0x1a9,1,218},{0x1ac,0x1ac,1,1},{0x1ae,0x1ae,1,218},
 {0x1af,0x1af,1,1},{0x1b1,0x1b2,1,217},{0x1b3,0x1b5,2,1},{0x1b7,0x1b7,1,219},
 {0x1b8,0x1b8,1,1},{0x1bc,0x1bc,1,1},{0x1c4,0x1c4,1,2},{0x1c5,0x1c5,1,1},
 {0x1c7,0x1c7,1,2},{0x1c8,0x1c8,1,1},{0x1ca,0x1ca,1,2},{0x1cb,0x1db,2,1},
 {0x1de,0x1ee,2,1},{0x1f1,0x1f1,1,2},{0x1f2,0x1f4,2,1},{0x1f6,0x1f6,1,-97},
 {0x1f7,0x1f7,1,-56},{0x1f8,0x21e,2,1},{0x220,0x220,1,-130},{0x222,0x232,2,1},
 {0x23a,0x23a,1,10795},{0x23b,0x23b,1,1},{0x23d,0x23d,1,-163},{0x23e,0x23e,1,10792},
 {0x241,0x241,1,1},{0x243,0x243,1,-195},{0x244,0x244,1,69},{0x245,0x245,1,71},
 {0x246,0x24e,2,1},{0x370,0x372,2,1},{0x376,0x376,1,1},{0x37f,0x37f,1,116},
 {0x386,0x386,1,38},{0x388,0x38a,1,37},{0x38c,0x38c,1,64},{0x38e,0x38f,1,63},
 {0x391,0x3a1,1,32},{0x3a3,0x3ab,1,32},{0x3cf,0x3cf,1,8},{0x3d8,0x3ee,2,1},
 {0x3f4,0x3f4,1,-60},{0x3f7,0x3f7,1,1},{0x3f9,0x3f9,1,-7},{0x3fa,0x3fa,1,1},
 {0x3fd,0x3ff,1,-130},{0x400,0x40f,1,80},{0x410,0x42f,1,32},{0x460,0x480,2,1},
 {0x48a,0x4be,2,1},{0x4c0,0x4c0,1,15},{0x4c1,0x4cd,2,1},{0x4d0,0x52e,2,1},
 {0x531,0x556,1,48},{0x10a0,0x10c5,1,7264},{0x10c7,0x10c7,1,7264},{0x10cd,0x10cd,1,7264},
 {0x13a0,0x13ef,1,38864},{0x13f0,0x13f5,1,8},{0x1c89,0x1c89,1,1},{0x1c90,0x1cba,1,-3008},
 {0x1cbd,0x1cbf,1,-3008},{0x1e00,0x1e94,2,1},{0x1e9e,0x1e9e,1,-7615},{0x1ea0,0x1efe,2,1},
 {0x1f08,0x1f0f,1,-8},{0x1f18,0x1f1d,1,-8},{0x1f28,0x1f2f,1,-8},{0x1f38,0x1f3f,1,-8},
 {0x1f48,0x1f4d,1,-8},{0x1f59,0x1f5f,2,-8},{0x1f68,0x1f6f,1,-8},{0x1f88,0x1f8f,1,-8},
 {0x1f98,0x1f9f,1,-8},{0x1fa8,0x1faf,1,-8},{0x1fb8,0x1fb9,1,-8},{0x1fba,0x1fbb,1,-74},
 {0x1fbc,0x1fbc,1,-9},{0x1fc8,0x1fcb,1,-86},{0x1fcc,0x1fcc,1,-9},{0x1fd8,0x1fd9,1,-8},
 {0x1fda,0x1fdb,1,-100},{0x1fe8,0x1fe9,1,-8},{0x1fea,0x1feb,1,-112},{0x1fec,0x1fec,1,-7},
 {0x1ff8,0x1ff9,1,-128},{0x1ffa,0x1ffb,1,-126},{0x1ffc,0x1ffc,1,-9},{0x2126,0x2126,1,-7517},
 {0x212a,0x212a,1,-8383},{0x212b,0x212b,1,-8262},{0x2132,0x2132,1,28},{0x2160,0x216f,1,16},
 {0x2183,0x2183,1,1},{0x24b6,0x24cf,1,26},{0x2c00,0x2c2f,1,48},{0x2c60,0x2c60,1,1},
 {0x2c62,0x2c62,1,-10743},{0x2c63,0x2c63,1,-3814},{0x2c64,0x2c64,1,-10727},
 {0x2c67,0x2c6b,2,1},{0x2c6d,0x2c6d,1,-10780},{0x2c6e,0x2c6e,1,-10749},
 {0x2c6f,0x2c6f,1,-10783},{0x2c70,0x2c70,1,-10782},{0x2c72,0x2c72,1,1},{0x2c75,0x2c75,1,1},
 {0x2c7e,0x2c7f,1,-10815},{0x2c80,0x2ce2,2,1},{0x2ceb,0x2ced,2,1},{0x2cf2,0x2cf2,1,1},
 {0xa640,0xa66c,2,1},{0xa680,0xa69a,2,1},{0xa722,0xa72e,2,1},{0xa732,0xa76e,2,1},
 {0xa779,0xa77b,2,1},{0xa77d,0xa77d,1,-35332},{0xa77e,0xa786,2,1},{0xa78b,0xa78b,1,1},
 {0xa78d,0xa78d,1,-42280},{0xa790,0xa792,2,1},{0xa796,0xa7a8,2,1},{0xa7aa,0xa7aa,1,-42308},
 {0xa7ab,0xa7ab,1,-42319},{0xa7ac,0xa7ac,1,-42315},{0xa7ad,0xa7ad,1,-42305},
 {0xa7ae,0xa7ae,1,-42308},{0xa7b0,0xa7b0,1,-42258},{0xa7b1,0xa7b1,1,-42282},
 {0xa7b2,0xa7b2,1,-42261},{0xa7b3,0xa7b3,1,928},{0xa7b4,0xa7c2,2,1},{0xa7c4,0xa7c4,1,-48},
 {0xa7c5,0xa7c5,1,-42307},{0xa7c6,0xa7c6,1,-35384},{0xa7c7,0xa7c9,2,1},
 {0xa7cb,0xa7cb,1,-42343},{0xa7cc,0xa7cc,1,1},{0xa7d0,0xa7d0,1,1},{0xa7d6,0xa7da,2,1},
 {0xa7dc,0xa7dc,1,-42561},{0xa7f5,0xa7f5,1,1},{0xff21,0xff3a,1,32},{0x10400,0x10427,1,40},
 {0x104b0,0x104d3,1,40},{0x10570,0x1057a,1,39},{0x1057c,0x1058a,1,39},
 {0x1058c,0x10592,1,39},{0x10594,0x10595,1,39},{0x10c80,0x10cb2,1,64},
 {0x10d50,0x10d65,1,32},{0x118a0,0x118bf,1,32},{0x16e40,0x16e5f,1,32},{0x1e900,0x1e921,1,34},};
static bool oxi_jinja_is_printable(uint32_t code){
size_t low=0,high=sizeof oxi_jinja_unprintable/sizeof*oxi_jinja_unprintable;
if(code<0x7F)return code>=0x20;
while(low<high){
const size_t middle=(low+high)/2;
if(code>oxi_jinja_unprintable[middle][1])
low=middle +1;
else
high=middle;}
return low==sizeof oxi_jinja_unprintable/sizeof*oxi_jinja_unprintable||code<oxi_jinja_unprintable[low][0];}
static uint32_t oxi_jinja_other_case(const oxi_jinja_case*cases,size_t count,uint32_t code){
size_t low=0,high=count;
while(low<high){
const size_t middle=(low+high)/2;
if(code>cases[middle].last)
low=middle +1;
else
high=middle;}
if(low==count||code<cases[low].first||(code -cases[low].first)%cases[low].step)return code;
return(uint32_t)((int32_t)code +cases[low].delta);}
static uint32_t oxi_jinja_to_upper(uint32_t code){
if(code<0x80)return code>='a'&&code<='z'?code -32:code;
return oxi_jinja_other_case(oxi_jinja_upper_cases,
 sizeof oxi_jinja_upper_cases/sizeof*oxi_jinja_upper_cases,code);}
static uint32_t oxi_jinja_to_lower(uint32_t code){
if(code<0x80)return code>='A'&&code<='Z'?code +32:code;
return oxi_jinja_other_case(oxi_jinja_lower_cases,
 sizeof oxi_jinja_lower_cases/sizeof*oxi_jinja_lower_cases,code);}
/* >>llm/template/values/value.c */
static oxi_jinja_value oxi_jinja_make(oxi_jinja_type type){
oxi_jinja_value v;
memset(&v,0,sizeof v);
v.type=(uint16_t)type;
return v;}
static oxi_jinja_value oxi_jinja_none(void){
return oxi_jinja_make(OXI_JINJA_NONE);}
static oxi_jinja_value oxi_jinja_bool(bool b){
oxi_jinja_value v=oxi_jinja_make(OXI_JINJA_BOOL);
v.as.i=b;
return v;}
static oxi_jinja_value oxi_jinja_int(int64_t i){
oxi_jinja_value v=oxi_jinja_make(OXI_JINJA_INT);
v.as.i=i;
return v;}
static oxi_jinja_value oxi_jinja_float(double f){
oxi_jinja_value v=oxi_jinja_make(OXI_JINJA_FLOAT);
v.as.f=f;
return v;}
static oxi_jinja_value oxi_jinja_text(const char*text,size_t length){
oxi_jinja_value v=oxi_jinja_make(OXI_JINJA_STRING);
v.as.text=text;
v.length=(uint32_t)length;
return v;}
static oxi_jinja_value oxi_jinja_word(const char*text){
return oxi_jinja_text(text,strlen(text));}
static oxi_jinja_value oxi_jinja_undefined(const char*name,size_t length){
oxi_jinja_value v=oxi_jinja_text(name,length);
v.type=OXI_JINJA_UNDEFINED;
return v;}
static oxi_jinja_value oxi_jinja_list_new(oxi_jinja*j,oxi_jinja_type type,size_t room){
oxi_jinja_value v=oxi_jinja_make(type);
oxi_jinja_list*list=(oxi_jinja_list*)oxi_jinja_alloc(j,sizeof*list);
oxi_jinja_value*items=list?(oxi_jinja_value*)oxi_jinja_alloc_array(j,room,sizeof*items):NULL;
if(!items)return oxi_jinja_undefined(NULL,0);
memset(list,0,sizeof*list);
list->items=items;
list->room=room;
v.as.list=list;
return v;}
static void oxi_jinja_push(oxi_jinja*j,oxi_jinja_list*list,oxi_jinja_value value){
if(j->status)return;
oxi_jinja_value*items=(oxi_jinja_value*)oxi_jinja_grow(j,list->items,list->count,&list->room,sizeof value);
if(!items|| !oxi_jinja_step(j,1))return;
list->items=items;
list->items[list->count++]=value;}
static oxi_jinja_value oxi_jinja_pair(oxi_jinja*j,oxi_jinja_value a,oxi_jinja_value b){
oxi_jinja_value pair=oxi_jinja_list_new(j,OXI_JINJA_TUPLE,2);
if(j->status)return pair;
oxi_jinja_push(j,pair.as.list,a);
oxi_jinja_push(j,pair.as.list,b);
return pair;}
static const char*oxi_jinja_type_name(oxi_jinja_value v){
static const char*const names[OXI_JINJA_TYPE_COUNT]={
"nothing","Undefined","NoneType","bool","int","float","str","list","tuple",
 "range","view","generator","dict","namespace","LoopContext","macro","function","Cycler","Joiner"};
return names[v.type];}
static bool oxi_jinja_is_text(oxi_jinja_value v,const char*text){
return v.type==OXI_JINJA_STRING&&v.length==strlen(text)&&memcmp(v.as.text,text,v.length)==0;}
static bool oxi_jinja_is_sequence(oxi_jinja_value v){
return v.type>=OXI_JINJA_LIST&&v.type<=OXI_JINJA_GENERATOR;}
static bool oxi_jinja_is_number(oxi_jinja_value v){
return v.type==OXI_JINJA_BOOL||v.type==OXI_JINJA_INT||v.type==OXI_JINJA_FLOAT;}
static double oxi_jinja_number(oxi_jinja_value v){
return v.type==OXI_JINJA_FLOAT?v.as.f:(double)v.as.i;}
static bool oxi_jinja_truth(oxi_jinja_value v){
switch(v.type){
case OXI_JINJA_MISSING:
case OXI_JINJA_UNDEFINED:
case OXI_JINJA_NONE:return false;
case OXI_JINJA_BOOL:
case OXI_JINJA_INT:return v.as.i!=0;
case OXI_JINJA_FLOAT:return v.as.f!=0;
case OXI_JINJA_STRING:return v.length>0;
case OXI_JINJA_LIST:
case OXI_JINJA_TUPLE:
case OXI_JINJA_RANGE:
case OXI_JINJA_VIEW:return v.as.list->count>0;
case OXI_JINJA_DICT:return v.as.dict->count>0;
default:return true;}}
static int oxi_jinja_order_numbers(oxi_jinja_value a,oxi_jinja_value b){
if(a.type!=OXI_JINJA_FLOAT&&b.type!=OXI_JINJA_FLOAT)return(a.as.i>b.as.i)-(a.as.i<b.as.i);
if(a.type==OXI_JINJA_FLOAT&&b.type==OXI_JINJA_FLOAT)return(a.as.f>b.as.f)-(a.as.f<b.as.f);
if(a.type==OXI_JINJA_FLOAT)return-oxi_jinja_order_numbers(b,a);
if(b.as.f>=9223372036854775808.0)return-1;
if(b.as.f< -9223372036854775808.0)return 1;
const int64_t whole=(int64_t)b.as.f;
if(a.as.i!=whole)return a.as.i>whole?1: -1;
return((double)whole>b.as.f)-((double)whole<b.as.f);}
static bool oxi_jinja_equal_lists(oxi_jinja*j,const oxi_jinja_list*a,const oxi_jinja_list*b){
if(a->count!=b->count)return false;
for(size_t i=0;i<a->count&&i<b->count;i++)
if(!oxi_jinja_equal(j,a->items[i],b->items[i]))return false;
return true;}
static bool oxi_jinja_equal_dicts(oxi_jinja*j,const oxi_jinja_dict*a,const oxi_jinja_dict*b){
if(a->count!=b->count)return false;
for(size_t i=0;i<a->count;i++){
const oxi_jinja_value*other=oxi_jinja_dict_find(j,b,a->entries[i].key);
if(!other|| !oxi_jinja_equal(j,a->entries[i].value,*other))return false;}
return true;}
static bool oxi_jinja_is_nan(oxi_jinja_value v){
return v.type==OXI_JINJA_FLOAT&&v.as.f!=v.as.f;}
static bool oxi_jinja_equal(oxi_jinja*j,oxi_jinja_value a,oxi_jinja_value b){
bool equal=false;
if(oxi_jinja_is_number(a)&&oxi_jinja_is_number(b))
return!oxi_jinja_is_nan(a)&& !oxi_jinja_is_nan(b)&&oxi_jinja_order_numbers(a,b)==0;
if(a.type!=b.type)return false;
if(a.type==OXI_JINJA_UNDEFINED||a.type==OXI_JINJA_NONE)return true;
if(a.type==OXI_JINJA_STRING)
return oxi_jinja_step(j,a.length/64)&&a.length==b.length&&memcmp(a.as.text,b.as.text,a.length)==0;
if(!oxi_jinja_enter(j))
equal=false;
else if(a.type==OXI_JINJA_LIST||a.type==OXI_JINJA_TUPLE||a.type==OXI_JINJA_RANGE)
equal=oxi_jinja_equal_lists(j,a.as.list,b.as.list);
else if(a.type==OXI_JINJA_DICT)
equal=oxi_jinja_equal_dicts(j,a.as.dict,b.as.dict);
else
equal=a.as.list==b.as.list;
oxi_jinja_leave(j);
return equal;}
static int oxi_jinja_order(oxi_jinja*j,oxi_jinja_value a,oxi_jinja_value b){
int order=0;
if(oxi_jinja_is_number(a)&&oxi_jinja_is_number(b))return oxi_jinja_order_numbers(a,b);
if(a.type==OXI_JINJA_STRING&&b.type==OXI_JINJA_STRING){
const uint32_t shorter=a.length<b.length?a.length:b.length;
(void)oxi_jinja_step(j,shorter/64);
order=memcmp(a.as.text,b.as.text,shorter);
if(!order)return(a.length>b.length)-(a.length<b.length);
return order>0?1: -1;}
if(a.type!=b.type||(a.type!=OXI_JINJA_LIST&&a.type!=OXI_JINJA_TUPLE)){
(void)oxi_jinja_fail(j,"%s and %s cannot be ordered",oxi_jinja_type_name(a),oxi_jinja_type_name(b));
return 0;}
if(oxi_jinja_enter(j)){
const oxi_jinja_list*x=a.as.list,*y=b.as.list;
size_t i=0;
while(i<x->count&&i<y->count&&oxi_jinja_equal(j,x->items[i],y->items[i]))i++;
if(i<x->count&&i<y->count)
order=oxi_jinja_order(j,x->items[i],y->items[i]);
else
order=(x->count>y->count)-(x->count<y->count);}
oxi_jinja_leave(j);
return order;}
static size_t oxi_jinja_find_text(oxi_jinja*j,oxi_jinja_value text,oxi_jinja_value part,size_t from){
const size_t none=(size_t)text.length+1;
if(part.length==0)return from;
while(from<text.length&&part.length<=text.length-from){
const size_t left=text.length-from-part.length+1;
const char*hit=(const char*)memchr(text.as.text+from,part.as.text[0],left);
if(!hit)return none;
const size_t at=(size_t)(hit-text.as.text);
if(!oxi_jinja_step(j,1+part.length/64+(at-from)/64))return none;
if(memcmp(hit,part.as.text,part.length)==0)return at;
from=at+1;}
return none;}
static bool oxi_jinja_contains(oxi_jinja*j,oxi_jinja_value all,oxi_jinja_value one){
if(all.type==OXI_JINJA_STRING){
if(one.type==OXI_JINJA_STRING)return oxi_jinja_find_text(j,all,one,0)<=all.length;
(void)oxi_jinja_fail(j,"'in' a string wants a string, not %s",oxi_jinja_type_name(one));
return false;}
if(all.type==OXI_JINJA_DICT)return oxi_jinja_dict_find(j,all.as.dict,one)!=NULL;
const oxi_jinja_list*list=oxi_jinja_iterate(j,all);
for(size_t i=0;list&&i<list->count&&oxi_jinja_step(j,1);i++)
if(oxi_jinja_equal(j,list->items[i],one))return true;
return false;}
enum{OXI_JINJA_FEW_ENTRIES=8};
static bool oxi_jinja_hash(oxi_jinja*j,oxi_jinja_value key,uint64_t*out){
*out=key.type;
if(oxi_jinja_is_number(key)){
double f=oxi_jinja_number(key);
if(f==0)f=0;
*out=oxi_keyed_hash(j->key,&f,sizeof f);}else if(key.type==OXI_JINJA_STRING){
if(!oxi_jinja_step(j,key.length/64))return false;
*out=oxi_keyed_hash(j->key,key.as.text,key.length);}else if(key.type==OXI_JINJA_TUPLE){
bool ok=oxi_jinja_enter(j);
for(size_t i=0;ok&&i<key.as.list->count;i++){
uint64_t both[2];
both[0]= *out;
ok=oxi_jinja_hash(j,key.as.list->items[i],&both[1]);
*out=ok?oxi_keyed_hash(j->key,both,sizeof both):0;}
oxi_jinja_leave(j);
return ok;}else if(key.type==OXI_JINJA_LIST||key.type==OXI_JINJA_DICT){
(void)oxi_jinja_fail(j,"a %s cannot be a key",oxi_jinja_type_name(key));
return false;}
return true;}
static oxi_jinja_value oxi_jinja_dict_new(oxi_jinja*j){
oxi_jinja_value v=oxi_jinja_make(OXI_JINJA_DICT);
oxi_jinja_dict*dict=(oxi_jinja_dict*)oxi_jinja_alloc(j,sizeof*dict);
if(!dict)return oxi_jinja_undefined(NULL,0);
memset(dict,0,sizeof*dict);
v.as.dict=dict;
return v;}
static size_t oxi_jinja_dict_at(oxi_jinja*j,const oxi_jinja_dict*dict,oxi_jinja_value key){
uint64_t hash;
if(!oxi_jinja_hash(j,key,&hash))return dict->count;
if(!dict->slot_count){
for(size_t i=0;i<dict->count;i++)
if(oxi_jinja_equal(j,dict->entries[i].key,key))return i;
return dict->count;}
for(size_t slot=(size_t)hash&(dict->slot_count-1);;slot=(slot+1)&(dict->slot_count-1)){
if(!dict->slots[slot]|| !oxi_jinja_step(j,1))return dict->count;
const size_t at=dict->slots[slot]-1;
if(oxi_jinja_equal(j,dict->entries[at].key,key))return at;}}
static oxi_jinja_value*oxi_jinja_dict_find(oxi_jinja*j,const oxi_jinja_dict*dict,oxi_jinja_value key){
const size_t at=oxi_jinja_dict_at(j,dict,key);
return at<dict->count? &dict->entries[at].value:NULL;}
static void oxi_jinja_dict_place(oxi_jinja*j,oxi_jinja_dict*dict,size_t at){
uint64_t hash;
if(!oxi_jinja_hash(j,dict->entries[at].key,&hash))return;
size_t slot=(size_t)hash&(dict->slot_count-1);
while(dict->slots[slot])slot=(slot+1)&(dict->slot_count-1);
dict->slots[slot]=(uint32_t)at+1;}
static void oxi_jinja_dict_index(oxi_jinja*j,oxi_jinja_dict*dict){
size_t wanted=4*OXI_JINJA_FEW_ENTRIES;
if(dict->count<=OXI_JINJA_FEW_ENTRIES){
dict->slot_count=0;
return;}
while(wanted<dict->count*2)wanted*=2;
if(wanted>dict->slot_count){
uint32_t*slots=(uint32_t*)oxi_jinja_alloc_array(j,wanted,2*sizeof*slots);
if(!slots)return;
dict->slots=slots;
dict->slot_count=wanted*2;}
memset(dict->slots,0,dict->slot_count*sizeof*dict->slots);
for(size_t i=0;i<dict->count&&oxi_jinja_step(j,1);i++)oxi_jinja_dict_place(j,dict,i);}
static void oxi_jinja_dict_set(oxi_jinja*j,oxi_jinja_dict*dict,oxi_jinja_value key,oxi_jinja_value value){
const size_t at=oxi_jinja_dict_at(j,dict,key);
if(j->status)return;
if(at<dict->count){
dict->entries[at].value=value;
return;}
oxi_jinja_entry*entries=
 (oxi_jinja_entry*)oxi_jinja_grow(j,dict->entries,dict->count,&dict->room,sizeof*entries);
if(!entries|| !oxi_jinja_step(j,1))return;
dict->entries=entries;
dict->entries[dict->count].key=key;
dict->entries[dict->count++].value=value;
if(dict->count<=OXI_JINJA_FEW_ENTRIES)return;
if(dict->slot_count<dict->count*2)
oxi_jinja_dict_index(j,dict);
else
oxi_jinja_dict_place(j,dict,dict->count-1);}
static bool oxi_jinja_dict_remove(oxi_jinja*j,oxi_jinja_dict*dict,oxi_jinja_value key,oxi_jinja_value*out){
const size_t at=oxi_jinja_dict_at(j,dict,key);
if(at>=dict->count)return false;
*out=dict->entries[at].value;
memmove(dict->entries+at,dict->entries+at+1,(dict->count-at-1)*sizeof*dict->entries);
dict->count--;
oxi_jinja_dict_index(j,dict);
return true;}
static const oxi_jinja_list*oxi_jinja_characters_of(oxi_jinja*j,oxi_jinja_value v){
oxi_jinja_value list=oxi_jinja_list_new(j,OXI_JINJA_LIST,oxi_jinja_characters(v.as.text,v.length));
for(size_t at=0;at<v.length&& !j->status;){
const size_t start=at;
(void)oxi_utf8_code(v.as.text,v.length,&at);
oxi_jinja_push(j,list.as.list,oxi_jinja_text(v.as.text+start,at-start));}
return j->status?NULL:list.as.list;}
static const oxi_jinja_list*oxi_jinja_iterate(oxi_jinja*j,oxi_jinja_value v){
oxi_jinja_value list;
if(j->status)return NULL;
if(v.type==OXI_JINJA_STRING)return oxi_jinja_characters_of(j,v);
if(oxi_jinja_is_sequence(v)&&v.type!=OXI_JINJA_GENERATOR)return v.as.list;
if(v.type==OXI_JINJA_GENERATOR){
list=oxi_jinja_list_new(j,OXI_JINJA_LIST,0);
if(j->status)return NULL;
*list.as.list= *v.as.list;
v.as.list->count=v.as.list->room=0;
return list.as.list;}
list=oxi_jinja_list_new(j,OXI_JINJA_LIST,v.type==OXI_JINJA_DICT?v.as.dict->count:0);
if(j->status||v.type==OXI_JINJA_UNDEFINED)return j->status?NULL:list.as.list;
if(v.type==OXI_JINJA_DICT){
for(size_t i=0;i<v.as.dict->count;i++)
oxi_jinja_push(j,list.as.list,v.as.dict->entries[i].key);
return j->status?NULL:list.as.list;}
(void)oxi_jinja_fail(j,"%s cannot be gone through",oxi_jinja_type_name(v));
return NULL;}
static int64_t oxi_jinja_length(oxi_jinja*j,oxi_jinja_value v){
if(v.type==OXI_JINJA_UNDEFINED)return 0;
if(v.type==OXI_JINJA_STRING)
return oxi_jinja_step(j,v.length/64)?(int64_t)oxi_jinja_characters(v.as.text,v.length): -1;
if(v.type==OXI_JINJA_DICT)return(int64_t)v.as.dict->count;
if(v.type==OXI_JINJA_LOOP)return(int64_t)v.as.loop->items->count;
if(oxi_jinja_is_sequence(v)&&v.type!=OXI_JINJA_GENERATOR)return(int64_t)v.as.list->count;
(void)oxi_jinja_fail(j,"%s has no length",oxi_jinja_type_name(v));
return-1;}
static oxi_jinja_scope*oxi_jinja_scope_new(oxi_jinja*j,oxi_jinja_scope*outer){
oxi_jinja_scope*scope=(oxi_jinja_scope*)oxi_jinja_alloc(j,sizeof*scope);
if(!scope)return NULL;
memset(scope,0,sizeof*scope);
scope->outer=outer;
return scope;}
static oxi_jinja_value*oxi_jinja_find_in_scope(oxi_jinja*j,oxi_jinja_scope*scope,uint32_t symbol){
if(!oxi_jinja_step(j,scope->count/16))return NULL;
for(size_t i=0;i<scope->count;i++)
if(scope->variables[i].symbol==symbol)return&scope->variables[i].value;
return NULL;}
static oxi_jinja_value*oxi_jinja_find_variable(oxi_jinja*j,oxi_jinja_scope*scope,uint32_t symbol){
oxi_jinja_value*found=NULL;
for(;scope&& !found&&oxi_jinja_step(j,1);scope=scope->outer)
found=oxi_jinja_find_in_scope(j,scope,symbol);
return found;}
static void oxi_jinja_set_variable(oxi_jinja*j,oxi_jinja_scope*scope,uint32_t symbol,
 oxi_jinja_value value){
if(j->status|| !scope)return;
oxi_jinja_value*found=oxi_jinja_find_in_scope(j,scope,symbol);
if(found){
*found=value;
return;}
oxi_jinja_variable*variables=(oxi_jinja_variable*)oxi_jinja_grow(j,scope->variables,scope->count,
 &scope->room,sizeof*variables);
if(!variables)return;
scope->variables=variables;
variables[scope->count].symbol=symbol;
variables[scope->count++].value=value;}
/* >>llm/template/values/text.c */
static OXI_NOINLINE void oxi_jinja_write_int(oxi_jinja*j,int64_t i){
char text[24];
(void)snprintf(text,sizeof text,"%lld",(long long)i);
oxi_jinja_write_text(j,text);}
static OXI_NOINLINE int oxi_jinja_digits(double f,char digits[20],int*exponent){
char text[40];
int count=0;
for(int precision=0;precision<17;precision++){
(void)snprintf(text,sizeof text,"%.*e",precision,f);
if(strtod(text,NULL)==f)break;}
const char*p=text;
for(;*p&& *p!='e';p++)
if(*p>='0'&& *p<='9'&&count<19)digits[count++]= *p;
*exponent= *p?atoi(p +1):0;
while(count>1&&digits[count-1]=='0')count--;
digits[count]=0;
return count;}
static OXI_NOINLINE void oxi_jinja_write_float(oxi_jinja*j,double f){
char digits[20];
int exponent;
if(f!=f){
oxi_jinja_write_text(j,"nan");
return;}
if(signbit(f))oxi_jinja_write(j,"-",1);
if(f>DBL_MAX||f< -DBL_MAX){
oxi_jinja_write_text(j,"inf");
return;}
const int count=oxi_jinja_digits(f<0? -f:f,digits,&exponent);
const bool scientific=exponent< -4||exponent>=16;
const int before=scientific?1:exponent+1;
if(before<=0){
oxi_jinja_write(j,"0.",2);
oxi_jinja_write_many(j,'0',-before);
oxi_jinja_write(j,digits,(size_t)count);}else{
oxi_jinja_write(j,digits,(size_t)(count<before?count:before));
oxi_jinja_write_many(j,'0',before -count);
if(count>before|| !scientific)oxi_jinja_write(j,".",1);
if(count>before)
oxi_jinja_write(j,digits+before,(size_t)(count-before));
else if(!scientific)
oxi_jinja_write(j,"0",1);}
if(!scientific)return;
(void)snprintf(digits,sizeof digits,"e%c%02d",exponent<0?'-':'+',exponent<0? -exponent:exponent);
oxi_jinja_write_text(j,digits);}
static OXI_NOINLINE void oxi_jinja_write_escape(oxi_jinja*j,char letter,int width,uint32_t code){
char text[16];
(void)snprintf(text,sizeof text,"\\%c%0*x",letter,width,(unsigned)code);
oxi_jinja_write_text(j,text);}
static void oxi_jinja_write_quoted(oxi_jinja*j,oxi_jinja_value v){
const bool single=v.length&&memchr(v.as.text,'\'',v.length);
const char quote=single&& !memchr(v.as.text,'"',v.length)?'"':'\'';
oxi_jinja_write(j,&quote,1);
for(size_t at=0;at<v.length&& !j->status;){
const size_t start=at;
const uint32_t code=oxi_utf8_code(v.as.text,v.length,&at);
if(code==(uint32_t)quote||code=='\\')oxi_jinja_write(j,"\\",1);
if(code=='\n')
oxi_jinja_write(j,"\\n",2);
else if(code=='\r')
oxi_jinja_write(j,"\\r",2);
else if(code=='\t')
oxi_jinja_write(j,"\\t",2);
else if(oxi_jinja_is_printable(code))
oxi_jinja_write(j,v.as.text+start,at-start);
else if(code<0x100)
oxi_jinja_write_escape(j,'x',2,code);
else if(code<0x10000)
oxi_jinja_write_escape(j,'u',4,code);
else
oxi_jinja_write_escape(j,'U',8,code);}
oxi_jinja_write(j,&quote,1);}
static oxi_jinja_value oxi_jinja_safe_as(oxi_jinja_value text,oxi_jinja_value of){
text.safe=text.type==OXI_JINJA_STRING&&of.type==OXI_JINJA_STRING&&of.safe;
return text;}
static oxi_jinja_value oxi_jinja_escaped(oxi_jinja*j,oxi_jinja_value v){
static const char characters[]="&<>\"'";
static const char*const names[]={"&amp;","&lt;","&gt;","&#34;","&#39;"};
oxi_jinja_value text=oxi_jinja_string(j,v);
if(text.safe)return text;
const size_t start=j->out_length;
for(size_t at=0;at<text.length&& !j->status;at++){
const char c=text.as.text[at];
const char*special=c?strchr(characters,c):NULL;
if(special)
oxi_jinja_write_text(j,names[special-characters]);
else
oxi_jinja_write(j,&c,1);}
text=oxi_jinja_take(j,start);
text.safe=1;
return text;}
static void oxi_jinja_write_items(oxi_jinja*j,const oxi_jinja_list*list,char open,char close){
oxi_jinja_write(j,&open,1);
for(size_t i=0;i<list->count&&oxi_jinja_step(j,1);i++){
if(i)oxi_jinja_write(j,", ",2);
oxi_jinja_write_repr(j,list->items[i]);}
if(open=='('&&list->count==1)oxi_jinja_write(j,",",1);
oxi_jinja_write(j,&close,1);}
static void oxi_jinja_write_entries(oxi_jinja*j,const oxi_jinja_dict*dict){
oxi_jinja_write(j,"{",1);
for(size_t i=0;i<dict->count&&oxi_jinja_step(j,1);i++){
if(i)oxi_jinja_write(j,", ",2);
oxi_jinja_write_repr(j,dict->entries[i].key);
oxi_jinja_write(j,": ",2);
oxi_jinja_write_repr(j,dict->entries[i].value);}
oxi_jinja_write(j,"}",1);}
static void oxi_jinja_write_range(oxi_jinja*j,const oxi_jinja_list*range){
oxi_jinja_write_text(j,"range(");
oxi_jinja_write_int(j,range->start);
oxi_jinja_write_text(j,", ");
oxi_jinja_write_int(j,range->stop);
if(range->stride!=1){
oxi_jinja_write_text(j,", ");
oxi_jinja_write_int(j,range->stride);}
oxi_jinja_write_text(j,")");}
static void oxi_jinja_write_container(oxi_jinja*j,oxi_jinja_value v){
switch(v.type){
case OXI_JINJA_LIST:oxi_jinja_write_items(j,v.as.list,'[',']');break;
case OXI_JINJA_TUPLE:oxi_jinja_write_items(j,v.as.list,'(',')');break;
case OXI_JINJA_DICT:oxi_jinja_write_entries(j,v.as.dict);break;
case OXI_JINJA_RANGE:oxi_jinja_write_range(j,v.as.list);break;
case OXI_JINJA_VIEW:
oxi_jinja_write_text(j,v.as.list->name);
oxi_jinja_write_text(j,"([");
for(size_t i=0;i<v.as.list->count&&oxi_jinja_step(j,1);i++){
if(i)oxi_jinja_write(j,", ",2);
oxi_jinja_write_repr(j,v.as.list->items[i]);}
oxi_jinja_write_text(j,"])");
break;
case OXI_JINJA_NAMESPACE:
oxi_jinja_write_text(j,"<Namespace ");
oxi_jinja_write_entries(j,v.as.dict);
oxi_jinja_write_text(j,">");
break;
case OXI_JINJA_MACRO:
oxi_jinja_write_text(j,"<Macro '");
oxi_jinja_write(j,v.as.macro->name.data,(size_t)v.as.macro->name.length);
oxi_jinja_write_text(j,"'>");
break;
case OXI_JINJA_LOOP:
oxi_jinja_write_text(j,"<LoopContext ");
oxi_jinja_write_int(j,(int64_t)v.as.loop->at+1);
oxi_jinja_write_text(j,"/");
oxi_jinja_write_int(j,(int64_t)v.as.loop->items->count);
oxi_jinja_write_text(j,">");
break;
default:
oxi_jinja_write_text(j,"<");
oxi_jinja_write_text(j,oxi_jinja_type_name(v));
oxi_jinja_write_text(j,">");}}
static void oxi_jinja_write_repr(oxi_jinja*j,oxi_jinja_value v){
switch(v.type){
case OXI_JINJA_UNDEFINED:oxi_jinja_write_text(j,"Undefined");break;
case OXI_JINJA_NONE:oxi_jinja_write_text(j,"None");break;
case OXI_JINJA_BOOL:oxi_jinja_write_text(j,v.as.i?"True":"False");break;
case OXI_JINJA_INT:oxi_jinja_write_int(j,v.as.i);break;
case OXI_JINJA_FLOAT:oxi_jinja_write_float(j,v.as.f);break;
case OXI_JINJA_STRING:
if(v.safe)oxi_jinja_write_text(j,"Markup(");
oxi_jinja_write_quoted(j,v);
if(v.safe)oxi_jinja_write_text(j,")");
break;
default:
if(oxi_jinja_enter(j))oxi_jinja_write_container(j,v);
oxi_jinja_leave(j);}}
static void oxi_jinja_write_value(oxi_jinja*j,oxi_jinja_value v){
if(v.type==OXI_JINJA_STRING)
oxi_jinja_write(j,v.as.text,v.length);
else if(v.type!=OXI_JINJA_UNDEFINED)
oxi_jinja_write_repr(j,v);}
static oxi_jinja_value oxi_jinja_string(oxi_jinja*j,oxi_jinja_value v){
if(v.type==OXI_JINJA_STRING)return v;
const size_t start=j->out_length;
oxi_jinja_write_value(j,v);
return oxi_jinja_take(j,start);}
static void oxi_jinja_write_json_code(oxi_jinja*j,uint32_t code){
if(code>=0x10000){
oxi_jinja_write_escape(j,'u',4,0xD800+((code -0x10000)>>10));
code=0xDC00+((code -0x10000)&0x3FF);}
oxi_jinja_write_escape(j,'u',4,code);}
static void oxi_jinja_write_json_string(oxi_jinja*j,oxi_jinja_value v,bool ascii){
static const char letters[]="\"\\\b\f\n\r\t",escapes[]="\"\\bfnrt";
oxi_jinja_write(j,"\"",1);
for(size_t at=0;at<v.length&& !j->status;){
const size_t start=at;
const uint32_t code=oxi_utf8_code(v.as.text,v.length,&at);
const char*letter=code&&code<0x80?strchr(letters,(int)code):NULL;
if(letter){
oxi_jinja_write(j,"\\",1);
oxi_jinja_write(j,&escapes[letter-letters],1);}else if(code<0x20||(ascii&&code>0x7E&&code!=0x7F))
oxi_jinja_write_json_code(j,code);
else
oxi_jinja_write(j,v.as.text+start,at-start);}
oxi_jinja_write(j,"\"",1);}
static void oxi_jinja_write_json_float(oxi_jinja*j,double f){
if(f!=f)
oxi_jinja_write_text(j,"NaN");
else if(f>DBL_MAX||f< -DBL_MAX)
oxi_jinja_write_text(j,f>0?"Infinity":"-Infinity");
else
oxi_jinja_write_float(j,f);}
static void oxi_jinja_write_json_line(oxi_jinja*j,const oxi_jinja_json_style*style,int level){
if(!style->indented)return;
oxi_jinja_write(j,"\n",1);
for(int i=0;i<level;i++)oxi_jinja_write(j,style->indent.as.text,style->indent.length);}
static void oxi_jinja_write_json_key(oxi_jinja*j,oxi_jinja_value key,const oxi_jinja_json_style*style){
if(key.type==OXI_JINJA_STRING){
oxi_jinja_write_json_string(j,key,style->ascii);
 }else if(oxi_jinja_is_number(key)||key.type==OXI_JINJA_NONE){
oxi_jinja_write(j,"\"",1);
oxi_jinja_write_json(j,key,style,0);
oxi_jinja_write(j,"\"",1);}else
(void)oxi_jinja_fail(j,"a %s cannot be a key in JSON",oxi_jinja_type_name(key));}
typedef struct oxi_jinja_key_order{
oxi_jinja*j;
const oxi_jinja_dict*dict;}oxi_jinja_key_order;
static int oxi_jinja_compare_keys(const void*user,uint32_t a,uint32_t b){
const oxi_jinja_key_order*order=(const oxi_jinja_key_order*)user;
return oxi_jinja_order(order->j,order->dict->entries[a].key,order->dict->entries[b].key);}
static const uint32_t*oxi_jinja_sorted_keys(oxi_jinja*j,const oxi_jinja_dict*dict){
uint32_t*order=(uint32_t*)oxi_jinja_alloc_array(j,dict->count,2*sizeof*order);
const oxi_jinja_key_order user={j,dict};
if(order)
oxi_sort_indexes(order,order+dict->count,(uint32_t)dict->count,oxi_jinja_compare_keys,&user);
return order;}
static void oxi_jinja_write_json_dict(oxi_jinja*j,const oxi_jinja_dict*dict,
 const oxi_jinja_json_style*style,int level){
const uint32_t*order=style->sorted?oxi_jinja_sorted_keys(j,dict):NULL;
oxi_jinja_write(j,"{",1);
for(size_t i=0;i<dict->count&&oxi_jinja_step(j,1);i++){
const oxi_jinja_entry*entry= &dict->entries[order?order[i]:i];
if(i)oxi_jinja_write(j,style->comma.as.text,style->comma.length);
oxi_jinja_write_json_line(j,style,level+1);
oxi_jinja_write_json_key(j,entry->key,style);
oxi_jinja_write(j,style->colon.as.text,style->colon.length);
oxi_jinja_write_json(j,entry->value,style,level+1);}
if(dict->count)oxi_jinja_write_json_line(j,style,level);
oxi_jinja_write(j,"}",1);}
static void oxi_jinja_write_json_list(oxi_jinja*j,const oxi_jinja_list*list,
 const oxi_jinja_json_style*style,int level){
oxi_jinja_write(j,"[",1);
for(size_t i=0;i<list->count&&oxi_jinja_step(j,1);i++){
if(i)oxi_jinja_write(j,style->comma.as.text,style->comma.length);
oxi_jinja_write_json_line(j,style,level+1);
oxi_jinja_write_json(j,list->items[i],style,level+1);}
if(list->count)oxi_jinja_write_json_line(j,style,level);
oxi_jinja_write(j,"]",1);}
static void oxi_jinja_write_json(oxi_jinja*j,oxi_jinja_value v,const oxi_jinja_json_style*style,int level){
if(oxi_jinja_enter(j))switch(v.type){
case OXI_JINJA_NONE:oxi_jinja_write_text(j,"null");break;
case OXI_JINJA_BOOL:oxi_jinja_write_text(j,v.as.i?"true":"false");break;
case OXI_JINJA_INT:oxi_jinja_write_int(j,v.as.i);break;
case OXI_JINJA_FLOAT:oxi_jinja_write_json_float(j,v.as.f);break;
case OXI_JINJA_STRING:oxi_jinja_write_json_string(j,v,style->ascii);break;
case OXI_JINJA_LIST:
case OXI_JINJA_TUPLE:oxi_jinja_write_json_list(j,v.as.list,style,level);break;
case OXI_JINJA_DICT:oxi_jinja_write_json_dict(j,v.as.dict,style,level);break;
default:(void)oxi_jinja_fail(j,"%s cannot be written as JSON",oxi_jinja_type_name(v));}
oxi_jinja_leave(j);}
/* >>llm/template/syntax/lexer.c */
static void oxi_jinja_locate(oxi_jinja_parser*p,size_t at){
for(;p->counted<at;p->counted++){
const unsigned char c=(unsigned char)p->source[p->counted];
if(c=='\n'){
p->line++;
p->column=1;}else if((c&0xC0)!=0x80)
p->column++;}
p->j->line=p->line;
p->j->column=p->column;}
static void oxi_jinja_syntax(oxi_jinja_parser*p,const char*what){
if(p->j->status)return;
const size_t length=p->end-p->start<40?p->end-p->start:40;
p->j->line=p->line;
p->j->column=p->column;
if(p->token==OXI_JINJA_TOKEN_END)
(void)oxi_jinja_fail(p->j,"%s, but the source ends",what);
else if(p->token==OXI_JINJA_TOKEN_TEXT)
(void)oxi_jinja_fail(p->j,"%s, not text",what);
else
(void)oxi_jinja_fail(p->j,"%s, not '%.*s'",what,(int)length,p->source +p->start);}
static void oxi_jinja_token_set(oxi_jinja_parser*p,oxi_jinja_token token,size_t start,size_t end){
p->token=token;
p->start=start;
p->end=p->at=end;
oxi_jinja_locate(p,start);}
static void oxi_jinja_bad(oxi_jinja_parser*p,const char*what,size_t at){
oxi_jinja_locate(p,at);
(void)oxi_jinja_fail(p->j,"%s",what);
p->token=OXI_JINJA_TOKEN_END;}
static char oxi_jinja_peek(const oxi_jinja_parser*p,size_t at){
return at<p->length?p->source[at]:'\0';}
static size_t oxi_jinja_skip_space(const oxi_jinja_parser*p,size_t at){
while(at<p->length){
size_t next=at;
if(!oxi_jinja_is_space(oxi_utf8_code(p->source,p->length,&next)))break;
at=next;}
return at;}
static size_t oxi_jinja_find_block(const oxi_jinja_parser*p,size_t at){
for(;at<p->length;at++){
const char*brace=(const char*)memchr(p->source +at,'{',p->length-at);
if(!brace)break;
at=(size_t)(brace -p->source);
const char c=oxi_jinja_peek(p,at+1);
if(c=='{'||c=='%'||c=='#')return at;}
return p->length;}
static size_t oxi_jinja_trim_text(const oxi_jinja_parser*p,size_t start,size_t block,char sign,
 bool is_print){
size_t end=block;
if(sign=='-'){
while(end>start){
size_t at=end-1;
while(at>start&&((unsigned char)p->source[at]&0xC0)==0x80)at--;
size_t next=at;
if(!oxi_jinja_is_space(oxi_utf8_code(p->source,p->length,&next)))break;
end=at;}}else if(sign!='+'&& !is_print){
size_t line=end;
while(line>start&&p->source[line -1]!='\n')line--;
if((line>start||p->line_starts)&&oxi_jinja_skip_space(p,line)>=end)end=line;}
return end;}
static size_t oxi_jinja_after_block(oxi_jinja_parser*p,size_t at,char sign,bool trims){
size_t end=at+2;
if(sign=='-')
end=oxi_jinja_skip_space(p,end);
else if(trims&&sign!='+'&&oxi_jinja_peek(p,end)=='\n')
end++;
p->line_starts=p->source[end-1]=='\n';
return end;}
static bool oxi_jinja_skip_comment(oxi_jinja_parser*p,size_t block){
const char first=oxi_jinja_peek(p,block+2);
const size_t start=block+(first=='-'||first=='+'?3:2);
for(size_t at=start;at+1<p->length;at++)
if(p->source[at]=='#'&&p->source[at+1]=='}'){
const char sign=at>start?p->source[at-1]:' ';
p->at=oxi_jinja_after_block(p,at,sign,true);
return true;}
oxi_jinja_bad(p,"a comment has no end",block);
return false;}
static size_t oxi_jinja_word_block(const oxi_jinja_parser*p,size_t block,const char*word,char*sign){
size_t at=block+2;
const size_t length=strlen(word);
if(oxi_jinja_peek(p,block)!='{'||oxi_jinja_peek(p,block+1)!='%')return 0;
if(oxi_jinja_peek(p,at)=='-'||oxi_jinja_peek(p,at)=='+')at++;
at=oxi_jinja_skip_space(p,at);
if(p->length-at<length||memcmp(p->source +at,word,length)!=0)return 0;
at=oxi_jinja_skip_space(p,at+length);
*sign=oxi_jinja_peek(p,at);
if(*sign=='-'|| *sign=='+')at++;
if(oxi_jinja_peek(p,at)!='%'||oxi_jinja_peek(p,at+1)!='}')return 0;
return at-block;}
static void oxi_jinja_raw(oxi_jinja_parser*p,size_t block,size_t bytes,char sign){
const size_t start=oxi_jinja_after_block(p,block+bytes,sign,false);
for(size_t at=start;at<p->length;at++){
char end_sign=' ';
const size_t end_bytes=p->source[at]=='{'?oxi_jinja_word_block(p,at,"endraw",&end_sign):0;
if(!end_bytes)continue;
const size_t end=oxi_jinja_trim_text(p,start,at,oxi_jinja_peek(p,at+2),false);
oxi_jinja_token_set(p,OXI_JINJA_TOKEN_TEXT,start,end);
p->value=oxi_jinja_text(p->source +start,end-start);
p->at=oxi_jinja_after_block(p,at+end_bytes,end_sign,true);
return;}
oxi_jinja_bad(p,"a raw block has no end",block);}
static void oxi_jinja_next_outside(oxi_jinja_parser*p){
while(!p->j->status){
const size_t start=p->at,block=oxi_jinja_find_block(p,start);
const bool is_print=oxi_jinja_peek(p,block+1)=='{';
const char sign=oxi_jinja_peek(p,block+2);
const size_t end=block==p->length?block:oxi_jinja_trim_text(p,start,block,sign,is_print);
if(end>start){
oxi_jinja_token_set(p,OXI_JINJA_TOKEN_TEXT,start,end);
p->value=oxi_jinja_text(p->source +start,end-start);
p->at=block;
p->line_starts=false;
return;}
if(block==p->length){
oxi_jinja_token_set(p,OXI_JINJA_TOKEN_END,block,block);
return;}
if(p->source[block+1]=='#'){
if(!oxi_jinja_skip_comment(p,block))return;
continue;}
char raw_sign=' ';
const size_t raw=is_print?0:oxi_jinja_word_block(p,block,"raw",&raw_sign);
if(raw&&raw_sign!='+'){
oxi_jinja_raw(p,block,raw,raw_sign);
return;}
const size_t head=sign=='-'||(sign=='+'&& !is_print)?3:2;
oxi_jinja_token_set(p,is_print?OXI_JINJA_TOKEN_PRINT_BEGIN:OXI_JINJA_TOKEN_BLOCK_BEGIN,block,block+head);
p->inside=true;
p->inside_print=is_print;
p->line_starts=false;
return;}}
static bool oxi_jinja_is_name_byte(char c){
return oxi_is_digit(c)||(c>='a'&&c<='z')||(c>='A'&&c<='Z')||c=='_'||(unsigned char)c>=0x80;}
static bool oxi_jinja_close(oxi_jinja_parser*p){
const char first=p->inside_print?'}':'%';
size_t at=p->at;
char sign=oxi_jinja_peek(p,at);
if(sign=='-'||(sign=='+'&& !p->inside_print))at++;
if(oxi_jinja_peek(p,at)!=first||oxi_jinja_peek(p,at+1)!='}')return false;
const size_t end=oxi_jinja_after_block(p,at,sign,!p->inside_print);
oxi_jinja_token_set(p,OXI_JINJA_TOKEN_CLOSE,p->at,at+2);
p->at=end;
p->inside=false;
return true;}
static int64_t oxi_jinja_hex(const oxi_jinja_parser*p,size_t at,int count){
int64_t code=0;
for(int i=0;i<count;i++){
const int digit=oxi_hex_digit(oxi_jinja_peek(p,at+(size_t)i));
if(digit<0)return-1;
code=code*16+digit;}
return code;}
static size_t oxi_jinja_escape(oxi_jinja_parser*p,size_t at){
static const char letters[]="\\'\"abfnrtv",meanings[]="\\'\"\a\b\f\n\r\t\v";
const char c=oxi_jinja_peek(p,at+1);
const char*letter=c?strchr(letters,c):NULL;
if(c=='\n')return at+2;
if(letter){
oxi_jinja_write(p->j,&meanings[letter-letters],1);
return at+2;}
if(c>='0'&&c<='7'){
uint32_t code=0;
size_t end=at+1;
for(;end<at+4&&oxi_jinja_peek(p,end)>='0'&&oxi_jinja_peek(p,end)<='7';end++)
code=code*8+(uint32_t)(p->source[end]-'0');
oxi_jinja_write_code(p->j,code);
return end;}
const int digits=c=='x'?2:c=='u'?4:c=='U'?8:0;
if(!digits){
oxi_jinja_write(p->j,"\\",1);
return c=='N'?0:at+1;}
const int64_t code=oxi_jinja_hex(p,at+2,digits);
if(code<0||code>0x10FFFF||(code>=0xD800&&code<=0xDFFF))return 0;
oxi_jinja_write_code(p->j,(uint32_t)code);
return at+2+(size_t)digits;}
static void oxi_jinja_string_token(oxi_jinja_parser*p){
const char quote=p->source[p->at];
const size_t start=p->at,capture=p->j->out_length;
size_t at=start+1,plain=at;
while(at<p->length&&p->source[at]!=quote){
if(p->source[at]!='\\'){
at++;
continue;}
oxi_jinja_write(p->j,p->source +plain,at-plain);
const size_t end=oxi_jinja_escape(p,at);
if(!end){
oxi_jinja_bad(p,"a bad escape in a string",at);
return;}
plain=end;
at=end==at+1?end+1:end;}
if(at>=p->length){
oxi_jinja_bad(p,"a string has no end",start);
return;}
if(plain==start+1){
p->value=oxi_jinja_text(p->source +plain,at-plain);}else{
oxi_jinja_write(p->j,p->source +plain,at-plain);
p->value=oxi_jinja_take(p->j,capture);}
oxi_jinja_token_set(p,OXI_JINJA_TOKEN_STRING,start,at+1);}
static size_t oxi_jinja_whole(oxi_jinja_parser*p,size_t at,unsigned base,uint64_t*value){
*value=0;
for(;;at++){
if(oxi_jinja_peek(p,at)=='_')at++;
const int digit=oxi_hex_digit(oxi_jinja_peek(p,at));
if(digit<0||(unsigned)digit>=base)return at-(at>0&&p->source[at-1]=='_');
if(*value>((uint64_t)INT64_MAX-(unsigned)digit)/base){
oxi_jinja_bad(p,"an integer of more than 64 bits",p->at);
return at;}
*value= *value*base +(unsigned)digit;}}
static size_t oxi_jinja_digits_end(const oxi_jinja_parser*p,size_t at){
while(oxi_is_digit(oxi_jinja_peek(p,at))||
 (oxi_jinja_peek(p,at)=='_'&&oxi_is_digit(oxi_jinja_peek(p,at+1))))
at++;
return at;}
static OXI_NOINLINE double oxi_jinja_float_of(const char*text,size_t length){
char digits[64];
size_t count=0,end=0;
int64_t exponent=0;
for(;end<length&&text[end]!='e'&&text[end]!='E';end++)
if(text[end]!='_'&&count<sizeof digits)digits[count++]=text[end];
if(end<length){
const bool minus=text[end+1]=='-';
for(size_t i=end+1;i<length;i++)
if(oxi_is_digit(text[i])&&exponent<1000000)exponent=exponent*10+(text[i]-'0');
if(minus)exponent= -exponent;}
return oxi_json_double(digits,digits+count,exponent);}
static void oxi_jinja_number_token(oxi_jinja_parser*p){
const size_t start=p->at;
const char c=oxi_jinja_peek(p,start+1);
const unsigned base=p->source[start]!='0'?10:c=='x'||c=='X'?16:c=='o'||c=='O'?8:c=='b'||c=='B'?2:10;
size_t end=oxi_jinja_digits_end(p,start);
uint64_t whole;
bool is_float=false;
if(base==10){
if(oxi_jinja_peek(p,end)=='.'&&oxi_is_digit(oxi_jinja_peek(p,end+1))){
is_float=true;
end=oxi_jinja_digits_end(p,end+1);}
if(oxi_jinja_peek(p,end)=='e'||oxi_jinja_peek(p,end)=='E'){
size_t at=end+1;
if(oxi_jinja_peek(p,at)=='-'||oxi_jinja_peek(p,at)=='+')at++;
if(oxi_is_digit(oxi_jinja_peek(p,at))){
is_float=true;
end=oxi_jinja_digits_end(p,at);}}}
if(is_float&&end-start>60){
oxi_jinja_bad(p,"a number of more than 60 characters",start);}else if(is_float){
p->value=oxi_jinja_float(oxi_jinja_float_of(p->source +start,end-start));}else{
end=oxi_jinja_whole(p,base==10?start:start+2,base,&whole);
p->value=oxi_jinja_int((int64_t)whole);}
if(!p->j->status)oxi_jinja_token_set(p,OXI_JINJA_TOKEN_NUMBER,start,end);}
static void oxi_jinja_operator_token(oxi_jinja_parser*p){
static const char*const two[]={"==","!=","<=",">=","//","**"};
const char c=p->source[p->at];
size_t length=c&&strchr("+-/*%~[](){}><=.:|,;",c)?1:0;
for(size_t i=0;i<sizeof two/sizeof*two;i++)
if(c==two[i][0]&&oxi_jinja_peek(p,p->at+1)==two[i][1])length=2;
if(!length){
oxi_jinja_bad(p,"a character that means nothing here",p->at);
return;}
if(c=='('||c=='['||c=='{')p->brackets++;
if(c==')'||c==']'||c=='}')p->brackets--;
if(p->brackets<0){
oxi_jinja_bad(p,"a bracket that was not opened",p->at);
return;}
oxi_jinja_token_set(p,OXI_JINJA_TOKEN_OPERATOR,p->at,p->at+length);}
static void oxi_jinja_next(oxi_jinja_parser*p){
if(p->j->status){
p->token=OXI_JINJA_TOKEN_END;
return;}
if(!p->inside){
oxi_jinja_next_outside(p);
return;}
p->at=oxi_jinja_skip_space(p,p->at);
if(p->at>=p->length){
oxi_jinja_token_set(p,OXI_JINJA_TOKEN_END,p->at,p->at);
return;}
const char c=p->source[p->at];
if(p->brackets==0&&oxi_jinja_close(p))return;
if(c=='"'||c=='\'')
oxi_jinja_string_token(p);
else if(oxi_is_digit(c))
oxi_jinja_number_token(p);
else if(oxi_jinja_is_name_byte(c)){
size_t end=p->at;
while(end<p->length&&oxi_jinja_is_name_byte(p->source[end]))end++;
p->value=oxi_jinja_text(p->source +p->at,end-p->at);
oxi_jinja_token_set(p,OXI_JINJA_TOKEN_NAME,p->at,end);}else
oxi_jinja_operator_token(p);}
static bool oxi_jinja_at(const oxi_jinja_parser*p,const char*text){
const size_t length=strlen(text);
return!p->j->status&&(p->token==OXI_JINJA_TOKEN_NAME||p->token==OXI_JINJA_TOKEN_OPERATOR)&&
 p->end-p->start==length&&memcmp(p->source +p->start,text,length)==0;}
static bool oxi_jinja_skip(oxi_jinja_parser*p,const char*text){
if(!oxi_jinja_at(p,text))return false;
oxi_jinja_next(p);
return true;}
static bool oxi_jinja_expect(oxi_jinja_parser*p,const char*text){
if(oxi_jinja_skip(p,text))return true;
char what[48];
(void)snprintf(what,sizeof what,"expected '%.30s'",text);
oxi_jinja_syntax(p,what);
return false;}
/* >>llm/template/syntax/parse_expression.c */
static uint32_t oxi_jinja_symbol(oxi_jinja_parser*p,oxi_jinja_value name){
const oxi_jinja_value*found=oxi_jinja_dict_find(p->j,p->symbols,name);
if(found)return(uint32_t)found->as.i;
const uint32_t symbol=(uint32_t)p->symbols->count;
oxi_jinja_dict_set(p->j,p->symbols,name,oxi_jinja_int(symbol));
return symbol;}
static oxi_jinja_node*oxi_jinja_node_new(oxi_jinja_parser*p,oxi_jinja_kind kind){
oxi_jinja_node*node=(oxi_jinja_node*)oxi_jinja_alloc(p->j,sizeof*node);
if(!node)return NULL;
memset(node,0,sizeof*node);
node->kind=(uint8_t)kind;
node->line=p->line;
node->column=p->column;
return node;}
static oxi_jinja_node*oxi_jinja_node_over(oxi_jinja_parser*p,oxi_jinja_kind kind,oxi_jinja_node*a){
oxi_jinja_node*node=a?oxi_jinja_node_new(p,kind):NULL;
if(node)node->a=a;
return node;}
static oxi_jinja_node*oxi_jinja_literal(oxi_jinja_parser*p,oxi_jinja_value value){
oxi_jinja_node*node=oxi_jinja_node_new(p,OXI_JINJA_LITERAL);
if(node)node->value=value;
return node;}
static bool oxi_jinja_deeper(oxi_jinja_parser*p){
if(++p->nesting>OXI_JINJA_MOST_NESTING)oxi_jinja_syntax(p,"nested too deep");
return!p->j->status;}
static void oxi_jinja_shallower(oxi_jinja_parser*p){
p->nesting--;}
static oxi_jinja_node*oxi_jinja_parse_unary(oxi_jinja_parser*p,bool with_filters);
static oxi_jinja_node*oxi_jinja_parse_argument(oxi_jinja_parser*p){
oxi_jinja_operation how=OXI_JINJA_NO_OPERATION;
oxi_jinja_value name=oxi_jinja_none();
if(oxi_jinja_skip(p,"*"))
how=OXI_JINJA_UNPACK;
else if(oxi_jinja_skip(p,"**"))
how=OXI_JINJA_UNPACK_KEYWORDS;
else if(p->token==OXI_JINJA_TOKEN_NAME){
const size_t at=oxi_jinja_skip_space(p,p->end);
if(oxi_jinja_peek(p,at)=='='&&oxi_jinja_peek(p,at+1)!='='){
how=OXI_JINJA_BY_KEYWORD;
name=p->value;
oxi_jinja_next(p);
oxi_jinja_next(p);}}
oxi_jinja_node*node=oxi_jinja_node_over(p,OXI_JINJA_ARGUMENT,oxi_jinja_parse_expression(p,true));
if(!node)return NULL;
node->operation=(uint8_t)how;
node->value=name;
return node;}
static oxi_jinja_node*oxi_jinja_parse_arguments(oxi_jinja_parser*p){
oxi_jinja_node*first=NULL,**last= &first;
bool keywords=false;
if(!oxi_jinja_expect(p,"("))return NULL;
while(!p->j->status&& !oxi_jinja_at(p,")")){
if(first&&(!oxi_jinja_expect(p,",")||oxi_jinja_at(p,")")))break;
oxi_jinja_node*argument=oxi_jinja_parse_argument(p);
if(!argument)return NULL;
const bool named=argument->operation==OXI_JINJA_BY_KEYWORD||argument->operation==OXI_JINJA_UNPACK_KEYWORDS;
if(keywords&&argument->operation==OXI_JINJA_NO_OPERATION)
oxi_jinja_syntax(p,"an argument without a keyword follows one that has it");
keywords=keywords||named;
*last=argument;
last= &argument->next;}
(void)oxi_jinja_expect(p,")");
return first;}
static oxi_jinja_value oxi_jinja_parse_dotted(oxi_jinja_parser*p){
const size_t start=p->start;
size_t end=p->end;
if(p->token!=OXI_JINJA_TOKEN_NAME)oxi_jinja_syntax(p,"expected a name");
oxi_jinja_next(p);
while(oxi_jinja_skip(p,".")){
end=p->end;
if(p->token!=OXI_JINJA_TOKEN_NAME)oxi_jinja_syntax(p,"expected a name");
oxi_jinja_next(p);}
return oxi_jinja_text(p->source +start,end-start);}
static oxi_jinja_node*oxi_jinja_parse_filter(oxi_jinja_parser*p,oxi_jinja_node*a){
oxi_jinja_node*node=oxi_jinja_node_new(p,OXI_JINJA_FILTER);
if(!node)return NULL;
node->a=a;
node->value=oxi_jinja_parse_dotted(p);
node->function=oxi_jinja_find_filter(node->value);
if(oxi_jinja_at(p,"("))node->b=oxi_jinja_parse_arguments(p);
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_postfix(oxi_jinja_parser*p,oxi_jinja_node*node);
static oxi_jinja_node*oxi_jinja_parse_primary(oxi_jinja_parser*p);
static oxi_jinja_node*oxi_jinja_parse_test(oxi_jinja_parser*p,oxi_jinja_node*a){
oxi_jinja_node*node=oxi_jinja_node_over(p,OXI_JINJA_TEST,a);
if(!node)return NULL;
node->flag=oxi_jinja_skip(p,"not");
node->value=oxi_jinja_parse_dotted(p);
node->function=oxi_jinja_find_test(node->value);
const bool word=p->token==OXI_JINJA_TOKEN_NAME&& !oxi_jinja_at(p,"else")&&
 !oxi_jinja_at(p,"or")&& !oxi_jinja_at(p,"and");
if(oxi_jinja_at(p,"is")){
oxi_jinja_syntax(p,"tests with 'is' cannot follow each other");}else if(oxi_jinja_at(p,"(")){
node->b=oxi_jinja_parse_arguments(p);
 }else if(word||p->token==OXI_JINJA_TOKEN_STRING||p->token==OXI_JINJA_TOKEN_NUMBER||
 oxi_jinja_at(p,"[")||oxi_jinja_at(p,"{")){
oxi_jinja_node*argument=oxi_jinja_parse_postfix(p,oxi_jinja_parse_primary(p));
node->b=oxi_jinja_node_over(p,OXI_JINJA_ARGUMENT,argument);}
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_call(oxi_jinja_parser*p,oxi_jinja_node*a){
oxi_jinja_node*node=oxi_jinja_node_over(p,OXI_JINJA_CALL,a);
if(node)node->b=oxi_jinja_parse_arguments(p);
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_filters(oxi_jinja_parser*p,oxi_jinja_node*node,bool first){
if(first)node=oxi_jinja_parse_filter(p,NULL);
while(!p->j->status){
if(oxi_jinja_skip(p,"|"))
node=oxi_jinja_parse_filter(p,node);
else if(oxi_jinja_skip(p,"is"))
node=oxi_jinja_parse_test(p,node);
else if(oxi_jinja_at(p,"("))
node=oxi_jinja_parse_call(p,node);
else
break;}
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_bound(oxi_jinja_parser*p){
if(!oxi_jinja_at(p,":")&& !oxi_jinja_at(p,"]")&& !oxi_jinja_at(p,","))
return oxi_jinja_parse_expression(p,true);
oxi_jinja_value missing=oxi_jinja_none();
missing.type=OXI_JINJA_MISSING;
return oxi_jinja_literal(p,missing);}
static oxi_jinja_node*oxi_jinja_parse_subscript(oxi_jinja_parser*p,oxi_jinja_node*a){
oxi_jinja_node*bound=oxi_jinja_parse_bound(p);
const bool is_slice=oxi_jinja_at(p,":");
oxi_jinja_node*node=oxi_jinja_node_over(p,is_slice?OXI_JINJA_SLICE:OXI_JINJA_ITEM,a);
if(!node|| !bound)return NULL;
node->b=bound;
for(int i=0;is_slice&&i<2;i++){
(void)oxi_jinja_skip(p,":");
bound->next=oxi_jinja_parse_bound(p);
bound=bound->next;
if(!bound)return NULL;}
if(!is_slice&&node->b->value.type==OXI_JINJA_MISSING&&node->b->kind==OXI_JINJA_LITERAL)
oxi_jinja_syntax(p,"expected an index");
(void)oxi_jinja_expect(p,"]");
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_member(oxi_jinja_parser*p,oxi_jinja_node*a){
const bool is_name=p->token==OXI_JINJA_TOKEN_NAME;
oxi_jinja_node*node=oxi_jinja_node_over(p,is_name?OXI_JINJA_ATTRIBUTE:OXI_JINJA_ITEM,a);
if(!node)return NULL;
node->value=p->value;
if(!is_name&&p->token==OXI_JINJA_TOKEN_NUMBER&&p->value.type==OXI_JINJA_INT)
node->b=oxi_jinja_literal(p,p->value);
else if(!is_name)
oxi_jinja_syntax(p,"expected a name or a number behind '.'");
oxi_jinja_next(p);
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_postfix(oxi_jinja_parser*p,oxi_jinja_node*node){
while(node&& !p->j->status){
if(oxi_jinja_skip(p,"."))
node=oxi_jinja_parse_member(p,node);
else if(oxi_jinja_skip(p,"["))
node=oxi_jinja_parse_subscript(p,node);
else if(oxi_jinja_at(p,"("))
node=oxi_jinja_parse_call(p,node);
else
break;}
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_name(oxi_jinja_parser*p){
static const struct{
const char*name;
oxi_jinja_type type;
int is_true;}constants[]={{"true",OXI_JINJA_BOOL,1},{"True",OXI_JINJA_BOOL,1},{"false",OXI_JINJA_BOOL,0},
 {"False",OXI_JINJA_BOOL,0},{"none",OXI_JINJA_NONE,0},{"None",OXI_JINJA_NONE,0}};
for(size_t i=0;i<sizeof constants/sizeof*constants;i++)
if(oxi_jinja_skip(p,constants[i].name))
return oxi_jinja_literal(p,constants[i].type==OXI_JINJA_NONE?oxi_jinja_none()
 :oxi_jinja_bool(constants[i].is_true!=0));
oxi_jinja_node*node=oxi_jinja_node_new(p,OXI_JINJA_NAME);
if(!node)return NULL;
node->value=p->value;
node->symbol=oxi_jinja_symbol(p,p->value);
oxi_jinja_next(p);
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_string(oxi_jinja_parser*p){
oxi_jinja_value text=p->value;
const size_t capture=p->j->out_length;
bool several=false;
for(oxi_jinja_next(p);p->token==OXI_JINJA_TOKEN_STRING;oxi_jinja_next(p)){
if(!several)oxi_jinja_write(p->j,text.as.text,text.length);
oxi_jinja_write(p->j,p->value.as.text,p->value.length);
several=true;}
if(several)text=oxi_jinja_take(p->j,capture);
return oxi_jinja_literal(p,text);}
static oxi_jinja_node*oxi_jinja_parse_elements(oxi_jinja_parser*p,oxi_jinja_node*node,const char*close){
oxi_jinja_node**last;
if(!node)return NULL;
last= &node->a;
while(!p->j->status&& !oxi_jinja_at(p,close)){
if(node->a&&(!oxi_jinja_expect(p,",")||oxi_jinja_at(p,close)))break;
oxi_jinja_node*element=oxi_jinja_parse_expression(p,true);
if(!element)return NULL;
*last=element;
last= &element->next;
if(node->kind!=OXI_JINJA_DICTIONARY)continue;
(void)oxi_jinja_expect(p,":");
element=oxi_jinja_parse_expression(p,true);
if(!element)return NULL;
*last=element;
last= &element->next;}
(void)oxi_jinja_expect(p,close);
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_bracket(oxi_jinja_parser*p){
oxi_jinja_node*node;
if(oxi_jinja_skip(p,"[")){
node=oxi_jinja_node_new(p,OXI_JINJA_SEQUENCE);
if(node)node->flag=1;
return oxi_jinja_parse_elements(p,node,"]");}
if(oxi_jinja_skip(p,"{"))
return oxi_jinja_parse_elements(p,oxi_jinja_node_new(p,OXI_JINJA_DICTIONARY),"}");
if(!oxi_jinja_skip(p,"(")){
oxi_jinja_syntax(p,"expected an expression");
return NULL;}
node=oxi_jinja_at(p,")")?oxi_jinja_node_new(p,OXI_JINJA_SEQUENCE):oxi_jinja_parse_tuple(p,true);
(void)oxi_jinja_expect(p,")");
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_primary(oxi_jinja_parser*p){
if(p->token==OXI_JINJA_TOKEN_NAME)return oxi_jinja_parse_name(p);
if(p->token==OXI_JINJA_TOKEN_STRING)return oxi_jinja_parse_string(p);
if(p->token==OXI_JINJA_TOKEN_NUMBER){
oxi_jinja_node*node=oxi_jinja_literal(p,p->value);
oxi_jinja_next(p);
return node;}
return oxi_jinja_parse_bracket(p);}
static oxi_jinja_node*oxi_jinja_parse_unary(oxi_jinja_parser*p,bool with_filters){
oxi_jinja_node*node=NULL;
if(oxi_jinja_deeper(p)){
const bool minus=oxi_jinja_at(p,"-");
if(minus||oxi_jinja_at(p,"+")){
oxi_jinja_next(p);
node=oxi_jinja_node_over(p,OXI_JINJA_UNARY,oxi_jinja_parse_unary(p,false));
if(node)node->operation=(uint8_t)(minus?OXI_JINJA_NEGATE:OXI_JINJA_PLUS);}else
node=oxi_jinja_parse_primary(p);
node=oxi_jinja_parse_postfix(p,node);
if(with_filters&&node)node=oxi_jinja_parse_filters(p,node,false);}
oxi_jinja_shallower(p);
return p->j->status?NULL:node;}
enum{OXI_JINJA_LEVEL_NOT=3,OXI_JINJA_LEVEL_COMPARE=4};
typedef struct oxi_jinja_operator{
const char*text;
uint8_t level,kind,operation;}oxi_jinja_operator;
static const oxi_jinja_operator oxi_jinja_operators[]={
{"or",1,OXI_JINJA_OR,0},{"and",2,OXI_JINJA_AND,0},{"==",4,OXI_JINJA_COMPARE,OXI_JINJA_EQUAL},
 {"!=",4,OXI_JINJA_COMPARE,OXI_JINJA_NOT_EQUAL},{"<",4,OXI_JINJA_COMPARE,OXI_JINJA_LESS},
 {"<=",4,OXI_JINJA_COMPARE,OXI_JINJA_LESS_EQUAL},{">",4,OXI_JINJA_COMPARE,OXI_JINJA_GREATER},
 {">=",4,OXI_JINJA_COMPARE,OXI_JINJA_GREATER_EQUAL},{"in",4,OXI_JINJA_COMPARE,OXI_JINJA_IN},
 {"not",4,OXI_JINJA_COMPARE,OXI_JINJA_NOT_IN},{"+",5,OXI_JINJA_BINARY,OXI_JINJA_ADD},
 {"-",5,OXI_JINJA_BINARY,OXI_JINJA_SUBTRACT},{"~",6,OXI_JINJA_BINARY,OXI_JINJA_CONCATENATE},
 {"*",7,OXI_JINJA_BINARY,OXI_JINJA_MULTIPLY},{"/",7,OXI_JINJA_BINARY,OXI_JINJA_DIVIDE},
 {"//",7,OXI_JINJA_BINARY,OXI_JINJA_FLOOR_DIVIDE},{"%",7,OXI_JINJA_BINARY,OXI_JINJA_MODULO},
 {"**",8,OXI_JINJA_BINARY,OXI_JINJA_POWER},};
static const oxi_jinja_operator*oxi_jinja_operator_at(const oxi_jinja_parser*p){
if(p->token!=OXI_JINJA_TOKEN_NAME&&p->token!=OXI_JINJA_TOKEN_OPERATOR)return NULL;
for(size_t i=0;i<sizeof oxi_jinja_operators/sizeof*oxi_jinja_operators;i++){
const oxi_jinja_operator*row= &oxi_jinja_operators[i];
if(!oxi_jinja_at(p,row->text))continue;
if(row->operation!=OXI_JINJA_NOT_IN)return row;
const size_t at=oxi_jinja_skip_space(p,p->end);
return oxi_jinja_peek(p,at)=='i'&&oxi_jinja_peek(p,at+1)=='n'&&
 !oxi_jinja_is_name_byte(oxi_jinja_peek(p,at+2))?row:NULL;}
return NULL;}
static oxi_jinja_node*oxi_jinja_parse_operators(oxi_jinja_parser*p,int level);
static oxi_jinja_node*oxi_jinja_parse_chain(oxi_jinja_parser*p,oxi_jinja_node*node,
 const oxi_jinja_operator*row){
const int level=row->level;
oxi_jinja_node*chain=oxi_jinja_node_over(p,(oxi_jinja_kind)row->kind,node),**last;
if(!chain)return NULL;
last= &chain->b;
while(row&&row->level==level){
oxi_jinja_node*operand=oxi_jinja_node_new(p,OXI_JINJA_ARGUMENT);
if(!operand)return NULL;
operand->operation=row->operation;
if(row->operation==OXI_JINJA_NOT_IN)oxi_jinja_next(p);
oxi_jinja_next(p);
operand->a=oxi_jinja_parse_operators(p,level+1);
if(!operand->a)return NULL;
*last=operand;
last= &operand->next;
row=oxi_jinja_operator_at(p);}
return chain;}
static oxi_jinja_node*oxi_jinja_parse_not(oxi_jinja_parser*p){
oxi_jinja_node*node=NULL;
if(oxi_jinja_deeper(p)){
oxi_jinja_next(p);
node=oxi_jinja_node_over(p,OXI_JINJA_UNARY,oxi_jinja_parse_operators(p,OXI_JINJA_LEVEL_NOT));
if(node)node->operation=OXI_JINJA_NOT;}
oxi_jinja_shallower(p);
return node;}
static oxi_jinja_node*oxi_jinja_parse_operators(oxi_jinja_parser*p,int level){
oxi_jinja_node*node=level<=OXI_JINJA_LEVEL_NOT&&oxi_jinja_at(p,"not")?oxi_jinja_parse_not(p)
 :oxi_jinja_parse_unary(p,true);
const oxi_jinja_operator*row=oxi_jinja_operator_at(p);
while(node&&row&&row->level>=level){
node=oxi_jinja_parse_chain(p,node,row);
row=oxi_jinja_operator_at(p);}
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_expression(oxi_jinja_parser*p,bool condition){
oxi_jinja_node*node=oxi_jinja_parse_operators(p,1);
while(condition&&node&&oxi_jinja_skip(p,"if")){
node=oxi_jinja_node_over(p,OXI_JINJA_CONDITION,node);
if(!node)return NULL;
node->b=oxi_jinja_parse_operators(p,1);
if(!oxi_jinja_skip(p,"else"))continue;
if(oxi_jinja_deeper(p))node->c=oxi_jinja_parse_expression(p,true);
oxi_jinja_shallower(p);}
return p->j->status?NULL:node;}
static bool oxi_jinja_tuple_ends(const oxi_jinja_parser*p){
return p->token==OXI_JINJA_TOKEN_CLOSE||oxi_jinja_at(p,")")||oxi_jinja_at(p,"recursive");}
static oxi_jinja_node*oxi_jinja_parse_tuple(oxi_jinja_parser*p,bool condition){
oxi_jinja_node*node=oxi_jinja_parse_expression(p,condition),*last=node;
if(!node|| !oxi_jinja_at(p,","))return node;
oxi_jinja_node*tuple=oxi_jinja_node_over(p,OXI_JINJA_SEQUENCE,node);
while(tuple&&oxi_jinja_skip(p,",")&& !oxi_jinja_tuple_ends(p)){
last->next=oxi_jinja_parse_expression(p,condition);
last=last->next;
if(!last)return NULL;}
return p->j->status?NULL:tuple;}
static oxi_jinja_node*oxi_jinja_parse_one_target(oxi_jinja_parser*p,bool may_be_attribute){
oxi_jinja_node*node=NULL;
if(oxi_jinja_deeper(p)&&oxi_jinja_skip(p,"(")){
node=oxi_jinja_parse_target(p,may_be_attribute);
(void)oxi_jinja_expect(p,")");}else if(p->token==OXI_JINJA_TOKEN_NAME){
node=oxi_jinja_parse_name(p);
if(node&&node->kind!=OXI_JINJA_NAME)oxi_jinja_syntax(p,"a constant cannot be assigned to");
if(may_be_attribute&&node&&oxi_jinja_skip(p,".")){
node=oxi_jinja_parse_member(p,node);
if(node&&node->kind!=OXI_JINJA_ATTRIBUTE)oxi_jinja_syntax(p,"expected an attribute");}}else
oxi_jinja_syntax(p,"expected a name");
oxi_jinja_shallower(p);
return p->j->status?NULL:node;}
static oxi_jinja_node*oxi_jinja_parse_target(oxi_jinja_parser*p,bool may_be_attribute){
oxi_jinja_node*node=oxi_jinja_parse_one_target(p,may_be_attribute),*last=node;
if(!node|| !oxi_jinja_at(p,","))return node;
oxi_jinja_node*tuple=oxi_jinja_node_over(p,OXI_JINJA_SEQUENCE,node);
while(tuple&&oxi_jinja_skip(p,",")&&p->token==OXI_JINJA_TOKEN_NAME&& !oxi_jinja_at(p,"in")){
last->next=oxi_jinja_parse_one_target(p,may_be_attribute);
last=last->next;
if(!last)return NULL;}
return p->j->status?NULL:tuple;}
/* >>llm/template/syntax/parse_statement.c */
typedef struct oxi_jinja_ends{
const char*words[4];}oxi_jinja_ends;
static oxi_jinja_node*oxi_jinja_parse_body(oxi_jinja_parser*p,const oxi_jinja_ends*ends);
static void oxi_jinja_close_block(oxi_jinja_parser*p){
if(p->token!=OXI_JINJA_TOKEN_CLOSE)
oxi_jinja_syntax(p,"expected the end of the block");
else
oxi_jinja_next(p);}
static oxi_jinja_node*oxi_jinja_parse_until(oxi_jinja_parser*p,const char*word){
oxi_jinja_ends ends={{NULL,NULL,NULL,NULL}};
ends.words[0]=word;
oxi_jinja_close_block(p);
oxi_jinja_node*body=oxi_jinja_parse_body(p,&ends);
(void)oxi_jinja_expect(p,word);
return body;}
static void oxi_jinja_parse_if(oxi_jinja_parser*p,oxi_jinja_node*node){
static const oxi_jinja_ends ends={{"elif","else","endif",NULL}};
for(;;){
node->a=oxi_jinja_parse_tuple(p,false);
oxi_jinja_close_block(p);
node->b=oxi_jinja_parse_body(p,&ends);
if(!oxi_jinja_skip(p,"elif"))break;
node->c=oxi_jinja_node_new(p,OXI_JINJA_IF);
if(!node->c)return;
node->flag=1;
node=node->c;}
if(oxi_jinja_skip(p,"else"))
node->c=oxi_jinja_parse_until(p,"endif");
else
(void)oxi_jinja_expect(p,"endif");}
static void oxi_jinja_parse_for(oxi_jinja_parser*p,oxi_jinja_node*node){
static const oxi_jinja_ends ends={{"else","endfor",NULL,NULL}};
node->b=oxi_jinja_parse_target(p,false);
(void)oxi_jinja_expect(p,"in");
node->a=oxi_jinja_parse_tuple(p,false);
if(oxi_jinja_skip(p,"if"))node->e=oxi_jinja_parse_expression(p,true);
node->flag=oxi_jinja_skip(p,"recursive");
oxi_jinja_close_block(p);
p->loops++;
node->c=oxi_jinja_parse_body(p,&ends);
p->loops--;
if(oxi_jinja_skip(p,"else"))
node->d=oxi_jinja_parse_until(p,"endfor");
else
(void)oxi_jinja_expect(p,"endfor");}
static void oxi_jinja_parse_set(oxi_jinja_parser*p,oxi_jinja_node*node){
node->b=oxi_jinja_parse_target(p,true);
if(oxi_jinja_skip(p,"=")){
node->a=oxi_jinja_parse_tuple(p,true);
return;}
node->kind=OXI_JINJA_SET_BLOCK;
if(oxi_jinja_skip(p,"|"))node->a=oxi_jinja_parse_filters(p,NULL,true);
node->c=oxi_jinja_parse_until(p,"endset");}
static oxi_jinja_node*oxi_jinja_parse_parameters(oxi_jinja_parser*p){
oxi_jinja_node*first=NULL,**last= &first;
bool defaults=false;
if(!oxi_jinja_expect(p,"("))return NULL;
while(!p->j->status&& !oxi_jinja_at(p,")")){
if(first&& !oxi_jinja_expect(p,","))break;
if(p->token!=OXI_JINJA_TOKEN_NAME){
oxi_jinja_syntax(p,"expected the name of a parameter");
break;}
oxi_jinja_node*parameter=oxi_jinja_node_new(p,OXI_JINJA_PARAMETER);
if(!parameter)return NULL;
parameter->value=p->value;
parameter->symbol=oxi_jinja_symbol(p,p->value);
oxi_jinja_next(p);
if(oxi_jinja_skip(p,"="))
parameter->a=oxi_jinja_parse_expression(p,true);
else if(defaults)
oxi_jinja_syntax(p,"a parameter without a default follows one that has it");
defaults=parameter->a!=NULL;
*last=parameter;
last= &parameter->next;}
(void)oxi_jinja_expect(p,")");
return first;}
static oxi_jinja_node*oxi_jinja_parse_macro_body(oxi_jinja_parser*p,const char*word){
const int loops=p->loops;
p->loops=0;
oxi_jinja_node*body=oxi_jinja_parse_until(p,word);
p->loops=loops;
return body;}
static void oxi_jinja_parse_macro(oxi_jinja_parser*p,oxi_jinja_node*node){
if(p->token!=OXI_JINJA_TOKEN_NAME)oxi_jinja_syntax(p,"expected the name of a macro");
node->value=p->value;
node->symbol=oxi_jinja_symbol(p,p->value);
oxi_jinja_next(p);
node->a=oxi_jinja_parse_parameters(p);
node->c=oxi_jinja_parse_macro_body(p,"endmacro");}
static void oxi_jinja_parse_call_block(oxi_jinja_parser*p,oxi_jinja_node*node){
oxi_jinja_node*caller=oxi_jinja_node_new(p,OXI_JINJA_MACRO_NODE);
if(!caller)return;
caller->value=oxi_jinja_word("caller");
if(oxi_jinja_at(p,"("))caller->a=oxi_jinja_parse_parameters(p);
node->b=caller;
node->a=oxi_jinja_parse_expression(p,true);
if(node->a&&node->a->kind!=OXI_JINJA_CALL)oxi_jinja_syntax(p,"expected a call");
caller->c=oxi_jinja_parse_macro_body(p,"endcall");}
static void oxi_jinja_parse_filter_block(oxi_jinja_parser*p,oxi_jinja_node*node){
node->a=oxi_jinja_parse_filters(p,NULL,true);
node->c=oxi_jinja_parse_until(p,"endfilter");}
static void oxi_jinja_parse_with(oxi_jinja_parser*p,oxi_jinja_node*node){
oxi_jinja_node**value= &node->a,**target= &node->b;
while(!p->j->status&&p->token!=OXI_JINJA_TOKEN_CLOSE){
if(node->a&& !oxi_jinja_expect(p,","))return;
*target=oxi_jinja_parse_one_target(p,false);
(void)oxi_jinja_expect(p,"=");
*value=oxi_jinja_parse_expression(p,true);
if(!*target|| !*value)return;
target= &(*target)->next;
value= &(*value)->next;}
node->c=oxi_jinja_parse_until(p,"endwith");}
static void oxi_jinja_parse_generation(oxi_jinja_parser*p,oxi_jinja_node*node){
node->c=oxi_jinja_parse_until(p,"endgeneration");}
static void oxi_jinja_parse_section(oxi_jinja_parser*p,oxi_jinja_node*node){
oxi_jinja_value v=oxi_jinja_make(OXI_JINJA_MACRO);
oxi_jinja_macro*macro=(oxi_jinja_macro*)oxi_jinja_alloc(p->j,sizeof*macro);
if(p->token!=OXI_JINJA_TOKEN_NAME)oxi_jinja_syntax(p,"expected the name of a block");
if(p->j->status|| !macro)return;
node->value=p->value;
if(oxi_jinja_dict_find(p->j,p->sections,p->value))oxi_jinja_syntax(p,"a block is there twice");
memset(macro,0,sizeof*macro);
macro->node=node;
macro->name.data=p->value.as.text;
macro->name.length=p->value.length;
v.as.macro=macro;
oxi_jinja_dict_set(p->j,p->sections,p->value,v);
oxi_jinja_next(p);
node->flag=oxi_jinja_skip(p,"scoped");
node->operation=oxi_jinja_skip(p,"required");
node->c=oxi_jinja_parse_macro_body(p,"endblock");
if(oxi_jinja_is_text(node->value,"")||p->token!=OXI_JINJA_TOKEN_NAME)return;
if(p->value.length!=node->value.length||memcmp(p->value.as.text,node->value.as.text,p->value.length)!=0)
oxi_jinja_syntax(p,"expected the name of the block that ends");
oxi_jinja_next(p);}
static void oxi_jinja_parse_jump(oxi_jinja_parser*p,oxi_jinja_node*node){
(void)node;
if(!p->loops)oxi_jinja_syntax(p,"break and continue belong into a loop");}
static const struct oxi_jinja_statement{
const char*word;
oxi_jinja_kind kind;
void(*parse)(oxi_jinja_parser*p,oxi_jinja_node*node);}oxi_jinja_statements[]={
{"if",OXI_JINJA_IF,oxi_jinja_parse_if},{"for",OXI_JINJA_FOR,oxi_jinja_parse_for},
 {"set",OXI_JINJA_SET,oxi_jinja_parse_set},{"macro",OXI_JINJA_MACRO_NODE,oxi_jinja_parse_macro},
 {"call",OXI_JINJA_CALL_BLOCK,oxi_jinja_parse_call_block},
 {"filter",OXI_JINJA_FILTER_BLOCK,oxi_jinja_parse_filter_block},
 {"with",OXI_JINJA_WITH,oxi_jinja_parse_with},{"generation",OXI_JINJA_SCOPE,oxi_jinja_parse_generation},
 {"block",OXI_JINJA_SECTION,oxi_jinja_parse_section},{"break",OXI_JINJA_BREAK,oxi_jinja_parse_jump},
 {"continue",OXI_JINJA_CONTINUE,oxi_jinja_parse_jump},};
static oxi_jinja_node*oxi_jinja_parse_block(oxi_jinja_parser*p){
for(size_t i=0;i<sizeof oxi_jinja_statements/sizeof*oxi_jinja_statements;i++){
if(!oxi_jinja_at(p,oxi_jinja_statements[i].word))continue;
oxi_jinja_node*node=oxi_jinja_node_new(p,oxi_jinja_statements[i].kind);
if(!node)return NULL;
oxi_jinja_next(p);
if(oxi_jinja_deeper(p))oxi_jinja_statements[i].parse(p,node);
oxi_jinja_shallower(p);
oxi_jinja_close_block(p);
return node;}
static const char*const others[]={"include","import","from","extends"};
for(size_t i=0;i<sizeof others/sizeof*others;i++)
if(oxi_jinja_at(p,others[i]))oxi_jinja_syntax(p,"a template cannot use other templates");
if(oxi_jinja_at(p,"autoescape"))oxi_jinja_syntax(p,"autoescape is not supported");
oxi_jinja_syntax(p,"expected a statement");
return NULL;}
static oxi_jinja_node*oxi_jinja_parse_print(oxi_jinja_parser*p){
oxi_jinja_node*node=oxi_jinja_node_new(p,OXI_JINJA_PRINT);
oxi_jinja_next(p);
if(node)node->a=oxi_jinja_parse_tuple(p,true);
oxi_jinja_close_block(p);
return node;}
static bool oxi_jinja_body_ends(const oxi_jinja_parser*p,const oxi_jinja_ends*ends){
for(size_t i=0;ends&&i<4&&ends->words[i];i++)
if(oxi_jinja_at(p,ends->words[i]))return true;
return false;}
static oxi_jinja_node*oxi_jinja_parse_body(oxi_jinja_parser*p,const oxi_jinja_ends*ends){
oxi_jinja_node*first=NULL,**last= &first;
while(!p->j->status&&p->token!=OXI_JINJA_TOKEN_END){
oxi_jinja_node*node;
if(p->token==OXI_JINJA_TOKEN_TEXT){
node=oxi_jinja_node_new(p,OXI_JINJA_TEXT);
if(node)node->value=p->value;
oxi_jinja_next(p);}else if(p->token==OXI_JINJA_TOKEN_PRINT_BEGIN){
node=oxi_jinja_parse_print(p);}else{
oxi_jinja_next(p);
if(oxi_jinja_body_ends(p,ends))return first;
node=oxi_jinja_parse_block(p);}
if(!node)return NULL;
*last=node;
last= &node->next;}
if(ends&& !p->j->status){
char what[48];
(void)snprintf(what,sizeof what,"expected '%s'",ends->words[ends->words[1]?1:0]);
oxi_jinja_syntax(p,what);}
return first;}
static oxi_jinja_node*oxi_jinja_parse_template(oxi_jinja_parser*p){
oxi_jinja_next(p);
return oxi_jinja_parse_body(p,NULL);}
/* >>llm/template/call.c */
static const oxi_jinja_function*oxi_jinja_find_row(const oxi_jinja_function*rows,size_t count,
 oxi_jinja_value name){
for(size_t i=0;i<count;i++)
if(oxi_jinja_is_text(name,rows[i].name))return&rows[i];
return NULL;}
static bool oxi_jinja_parameter(const char*signature,size_t*at,ox_string*word){
while(signature[*at]==' ')++*at;
word->data=signature + *at;
const size_t start= *at;
while(signature[*at]&&signature[*at]!=' ')++*at;
word->length=(int64_t)(*at-start);
return word->length>0;}
static bool oxi_jinja_is_named(oxi_jinja_value name,ox_string word){
size_t length=(size_t)word.length;
if(word.data[length-1]=='?')length--;
return name.length==length&&memcmp(name.as.text,word.data,length)==0;}
static oxi_jinja_value oxi_jinja_rest(oxi_jinja*j,const oxi_jinja_arguments*arguments,size_t from){
oxi_jinja_value rest=oxi_jinja_list_new(j,OXI_JINJA_TUPLE,0);
for(;from<arguments->positional&& !j->status;from++)
oxi_jinja_push(j,rest.as.list,arguments->items[from]);
return rest;}
static oxi_jinja_value oxi_jinja_all_keywords(oxi_jinja*j,const oxi_jinja_arguments*arguments){
oxi_jinja_value all=oxi_jinja_dict_new(j);
for(size_t i=0;i<arguments->keywords&& !j->status;i++)
oxi_jinja_dict_set(j,all.as.dict,arguments->names[i],arguments->items[arguments->positional+i]);
return all;}
static void oxi_jinja_bind(oxi_jinja*j,const oxi_jinja_function*function,
 const oxi_jinja_arguments*arguments,oxi_jinja_value*a){
size_t at=0,position=0,used=0,parameter=1;
bool rest=false,keywords=false;
ox_string word;
while(oxi_jinja_parameter(function->signature,&at,&word)){
oxi_jinja_value*out= &a[parameter++];
if(word.data[0]=='*'){
keywords=word.length==2;
rest=rest|| !keywords;
*out=keywords?oxi_jinja_all_keywords(j,arguments):oxi_jinja_rest(j,arguments,position);
continue;}
out->type=OXI_JINJA_MISSING;
if(position<arguments->positional)*out=arguments->items[position++];
for(size_t i=0;i<arguments->keywords;i++){
if(!oxi_jinja_is_named(arguments->names[i],word))continue;
if(out->type!=OXI_JINJA_MISSING)
(void)oxi_jinja_fail(j,"%s has its argument %.*s twice",function->name,(int)word.length,word.data);
*out=arguments->items[arguments->positional+i];
used++;}
if(out->type==OXI_JINJA_MISSING&&word.data[word.length-1]!='?')
(void)oxi_jinja_fail(j,"%s wants an argument %.*s",function->name,(int)word.length,word.data);}
if(!rest&&position<arguments->positional)
(void)oxi_jinja_fail(j,"%s has too many arguments",function->name);
if(!keywords&&used<arguments->keywords)
(void)oxi_jinja_fail(j,"%s has an argument by a keyword that it does not know",function->name);}
static oxi_jinja_value oxi_jinja_apply(oxi_jinja*j,const oxi_jinja_function*function,
 const oxi_jinja_value*self,const oxi_jinja_arguments*arguments){
oxi_jinja_value a[OXI_JINJA_MOST_PARAMETERS];
memset(a,0,sizeof a);
if(self)a[0]= *self;
oxi_jinja_bind(j,function,arguments,a);
return j->status?oxi_jinja_none():function->call(j,a);}
static int64_t oxi_jinja_int_argument(oxi_jinja*j,oxi_jinja_value v,int64_t otherwise){
if(v.type==OXI_JINJA_MISSING)return otherwise;
if(v.type==OXI_JINJA_INT||v.type==OXI_JINJA_BOOL)return v.as.i;
(void)oxi_jinja_fail(j,"expected an integer, not %s",oxi_jinja_type_name(v));
return otherwise;}
static bool oxi_jinja_text_argument(oxi_jinja*j,oxi_jinja_value v){
if(v.type==OXI_JINJA_STRING)return true;
(void)oxi_jinja_fail(j,"expected a string, not %s",oxi_jinja_type_name(v));
return false;}
/* >>llm/template/operators.c */
static oxi_jinja_value oxi_jinja_too_large(oxi_jinja*j){
return oxi_jinja_fail(j,"an integer of more than 64 bits");}
static oxi_jinja_value oxi_jinja_power_of_ints(oxi_jinja*j,int64_t base,int64_t exponent){
int64_t result=1;
while(exponent>0){
if((exponent&1)&& !oxi_mul_i64(result,base,&result))return oxi_jinja_too_large(j);
exponent>>=1;
if(exponent&& !oxi_mul_i64(base,base,&base))return oxi_jinja_too_large(j);}
return oxi_jinja_int(result);}
static oxi_jinja_value oxi_jinja_int_operation(oxi_jinja*j,oxi_jinja_operation operation,int64_t a,
 int64_t b){
int64_t result=0;
bool fits=true;
switch(operation){
case OXI_JINJA_ADD:fits=oxi_add_i64(a,b,&result);break;
case OXI_JINJA_SUBTRACT:
fits=b==INT64_MIN?a<0:oxi_add_i64(a,-b,&result);
if(b==INT64_MIN&&fits)result=a-b;
break;
case OXI_JINJA_MULTIPLY:fits=oxi_mul_i64(a,b,&result);break;
case OXI_JINJA_FLOOR_DIVIDE:
case OXI_JINJA_MODULO:
if(b==0)return oxi_jinja_fail(j,"division by zero");
if(b== -1){
fits=operation==OXI_JINJA_MODULO||a!=INT64_MIN;
result=operation==OXI_JINJA_MODULO|| !fits?0: -a;
break;}
result=operation==OXI_JINJA_MODULO?a%b:a/b;
if(a%b!=0&&(a<0)!=(b<0))result+=operation==OXI_JINJA_MODULO?b: -1;
break;
default:return oxi_jinja_power_of_ints(j,a,b);}
return fits?oxi_jinja_int(result):oxi_jinja_too_large(j);}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_float_operation(oxi_jinja*j,oxi_jinja_operation operation,
 double a,double b){
double result=0,rest;
switch(operation){
case OXI_JINJA_ADD:return oxi_jinja_float(a+b);
case OXI_JINJA_SUBTRACT:return oxi_jinja_float(a-b);
case OXI_JINJA_MULTIPLY:return oxi_jinja_float(a*b);
case OXI_JINJA_POWER:
if(a==0&&b<0)return oxi_jinja_fail(j,"0 to a negative power");
if(a<0&&b!=floor(b))return oxi_jinja_fail(j,"a power that is a complex number");
result=pow(a,b);
if(fabs(result)>DBL_MAX&&fabs(a)<=DBL_MAX&&fabs(b)<=DBL_MAX)
return oxi_jinja_fail(j,"a power that is too large");
return oxi_jinja_float(result);
default:break;}
if(b==0)return oxi_jinja_fail(j,"division by zero");
if(operation==OXI_JINJA_DIVIDE)return oxi_jinja_float(a/b);
rest=fmod(a,b);
if(operation==OXI_JINJA_MODULO){
if(rest!=0&&(rest<0)!=(b<0))rest+=b;
return oxi_jinja_float(rest==0?copysign(0.0,b):rest);}
result=(a-rest)/b;
if(rest!=0&&(rest<0)!=(b<0))result-=1;
if(result==0)return oxi_jinja_float(copysign(0.0,a/b));
const double down=floor(result);
return oxi_jinja_float(result-down>0.5?down+1:down);}
static oxi_jinja_value oxi_jinja_repeat(oxi_jinja*j,oxi_jinja_value v,int64_t times){
const size_t length=v.type==OXI_JINJA_STRING?v.length:v.as.list->count;
const size_t start=j->out_length;
size_t all;
if(times<0||length==0)times=0;
if((uint64_t)times>OXI_JINJA_MOST_STRING|| !oxi_mul_size(length,(size_t)times,&all)||
 all>OXI_JINJA_MOST_STRING)
return oxi_jinja_fail(j,"%.0f times %.0f is too long",(double)length,(double)times);
if(v.type==OXI_JINJA_STRING){
if(!oxi_jinja_step(j,all/16))return v;
if(length==1){
oxi_jinja_write_many(j,v.as.text[0],times);
times=0;}
while(times-- >0&&oxi_jinja_step(j,1))oxi_jinja_write(j,v.as.text,length);
return oxi_jinja_take(j,start);}
oxi_jinja_value list=oxi_jinja_list_new(j,(oxi_jinja_type)v.type,all);
while(times-- >0&& !j->status)
for(size_t i=0;i<length&& !j->status;i++)
oxi_jinja_push(j,list.as.list,v.as.list->items[i]);
return list;}
static oxi_jinja_value oxi_jinja_append_lists(oxi_jinja*j,oxi_jinja_value a,oxi_jinja_value b){
oxi_jinja_value list=oxi_jinja_list_new(j,(oxi_jinja_type)a.type,a.as.list->count+b.as.list->count);
for(size_t i=0;i<a.as.list->count&& !j->status;i++)
oxi_jinja_push(j,list.as.list,a.as.list->items[i]);
for(size_t i=0;i<b.as.list->count&& !j->status;i++)
oxi_jinja_push(j,list.as.list,b.as.list->items[i]);
return list;}
static oxi_jinja_value oxi_jinja_join_texts(oxi_jinja*j,oxi_jinja_value a,oxi_jinja_value b){
oxi_jinja_block*block=j->blocks;
const size_t start=j->out_length,length=(size_t)a.length+b.length;
if(length>OXI_JINJA_MOST_STRING)return oxi_jinja_fail(j,"a text that is too long");
if(!b.length)return a;
if(!a.length)return b;
if(block&& !j->status&&a.as.text+a.length==j->last_end){
const size_t end=(size_t)(j->last_end-(const char*)block);
if(((end+15)& ~(size_t)15)==block->used&&block->bytes-block->used>=b.length){
memcpy((char*)block+end,b.as.text,b.length);
block->used=(end+b.length+15)& ~(size_t)15;
j->last_end+=b.length;
return oxi_jinja_step(j,b.length/64)?oxi_jinja_text(a.as.text,length):a;}}
oxi_jinja_write(j,a.as.text,a.length);
oxi_jinja_write(j,b.as.text,b.length);
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_no_operation(oxi_jinja*j,const char*what,oxi_jinja_value a,
 oxi_jinja_value b){
if(a.type!=OXI_JINJA_UNDEFINED&&b.type==OXI_JINJA_UNDEFINED)a=b;
if(a.type==OXI_JINJA_UNDEFINED)
return oxi_jinja_fail(j,"'%.*s' is undefined",(int)(a.length<100?a.length:100),a.as.text?a.as.text:"");
return oxi_jinja_fail(j,"%s of %s and %s",what,oxi_jinja_type_name(a),oxi_jinja_type_name(b));}
static oxi_jinja_value oxi_jinja_binary(oxi_jinja*j,oxi_jinja_operation operation,oxi_jinja_value a,
 oxi_jinja_value b){
if(j->status)return a;
if(operation==OXI_JINJA_CONCATENATE){
a=oxi_jinja_string(j,a);
b=oxi_jinja_string(j,b);
a.safe=b.safe=0;
return j->status?a:oxi_jinja_join_texts(j,a,b);}
if(oxi_jinja_is_number(a)&&oxi_jinja_is_number(b)){
const bool floats=a.type==OXI_JINJA_FLOAT||b.type==OXI_JINJA_FLOAT;
if(floats||operation==OXI_JINJA_DIVIDE||(operation==OXI_JINJA_POWER&&b.as.i<0))
return oxi_jinja_float_operation(j,operation,oxi_jinja_number(a),oxi_jinja_number(b));
return oxi_jinja_int_operation(j,operation,a.as.i,b.as.i);}
const bool a_repeats=a.type==OXI_JINJA_STRING||a.type==OXI_JINJA_LIST||a.type==OXI_JINJA_TUPLE;
const bool b_repeats=b.type==OXI_JINJA_STRING||b.type==OXI_JINJA_LIST||b.type==OXI_JINJA_TUPLE;
if(operation==OXI_JINJA_ADD&&a.type==b.type&&a_repeats&&(a.safe||b.safe)){
a=oxi_jinja_join_texts(j,oxi_jinja_escaped(j,a),oxi_jinja_escaped(j,b));
a.safe=1;
return a;}
if(operation==OXI_JINJA_ADD&&a.type==b.type&&a_repeats)
return a.type==OXI_JINJA_STRING?oxi_jinja_join_texts(j,a,b):oxi_jinja_append_lists(j,a,b);
if(operation==OXI_JINJA_MULTIPLY){
if(a_repeats&&(b.type==OXI_JINJA_INT||b.type==OXI_JINJA_BOOL))
return oxi_jinja_safe_as(oxi_jinja_repeat(j,a,b.as.i),a);
if(b_repeats&&(a.type==OXI_JINJA_INT||a.type==OXI_JINJA_BOOL))
return oxi_jinja_safe_as(oxi_jinja_repeat(j,b,a.as.i),b);}
if(operation==OXI_JINJA_MODULO&&a.type==OXI_JINJA_STRING)return oxi_jinja_percent_format(j,a,b);
return oxi_jinja_no_operation(j,"no such operation",a,b);}
static oxi_jinja_value oxi_jinja_unary(oxi_jinja*j,oxi_jinja_operation operation,oxi_jinja_value a){
if(operation==OXI_JINJA_NOT)return oxi_jinja_bool(!oxi_jinja_truth(a));
if(!oxi_jinja_is_number(a))return oxi_jinja_no_operation(j,"no sign",a,a);
if(a.type==OXI_JINJA_FLOAT)return oxi_jinja_float(operation==OXI_JINJA_NEGATE? -a.as.f:a.as.f);
if(operation!=OXI_JINJA_NEGATE)return oxi_jinja_int(a.as.i);
return a.as.i==INT64_MIN?oxi_jinja_too_large(j):oxi_jinja_int(-a.as.i);}
static bool oxi_jinja_compare(oxi_jinja*j,oxi_jinja_operation operation,oxi_jinja_value a,
 oxi_jinja_value b){
if(operation==OXI_JINJA_EQUAL||operation==OXI_JINJA_NOT_EQUAL)
return oxi_jinja_equal(j,a,b)==(operation==OXI_JINJA_EQUAL);
if(operation==OXI_JINJA_IN||operation==OXI_JINJA_NOT_IN)
return oxi_jinja_contains(j,b,a)==(operation==OXI_JINJA_IN);
if(a.type==OXI_JINJA_UNDEFINED||b.type==OXI_JINJA_UNDEFINED){
(void)oxi_jinja_no_operation(j,"no order",a,b);
return false;}
if(oxi_jinja_is_nan(a)||oxi_jinja_is_nan(b))return false;
const int order=oxi_jinja_order(j,a,b);
switch(operation){
case OXI_JINJA_LESS:return order<0;
case OXI_JINJA_LESS_EQUAL:return order<=0;
case OXI_JINJA_GREATER:return order>0;
default:return order>=0;}}
static oxi_jinja_value oxi_jinja_method_value(oxi_jinja*j,oxi_jinja_value self,oxi_jinja_value name){
oxi_jinja_value v=oxi_jinja_undefined(name.as.text,name.length);
const oxi_jinja_function*function=oxi_jinja_find_method((oxi_jinja_type)self.type,name);
oxi_jinja_bound*bound=function?(oxi_jinja_bound*)oxi_jinja_alloc(j,sizeof*bound):NULL;
if(!bound)return v;
bound->function=function;
bound->self=self;
bound->is_method=true;
v.type=OXI_JINJA_FUNCTION;
v.as.bound=bound;
return v;}
static oxi_jinja_value oxi_jinja_loop_attribute(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_value name){
static const char*const names[]={"index","index0","revindex","revindex0","first","last",
 "length","previtem","nextitem","depth","depth0"};
const oxi_jinja_loop*loop=v.as.loop;
const int64_t at=(int64_t)loop->at,count=(int64_t)loop->items->count;
int which=0;
while(which<11&& !oxi_jinja_is_text(name,names[which]))which++;
switch(which){
case 0:return oxi_jinja_int(at+1);
case 1:return oxi_jinja_int(at);
case 2:return oxi_jinja_int(count-at);
case 3:return oxi_jinja_int(count-at-1);
case 4:return oxi_jinja_bool(at==0);
case 5:return oxi_jinja_bool(at+1==count);
case 6:return oxi_jinja_int(count);
case 7:return at>0?loop->items->items[at-1]:oxi_jinja_undefined("previtem",8);
case 8:return at+1<count?loop->items->items[at+1]:oxi_jinja_undefined("nextitem",8);
case 9:return oxi_jinja_int(loop->depth);
case 10:return oxi_jinja_int(loop->depth-1);
default:return oxi_jinja_method_value(j,v,name);}}
static oxi_jinja_value oxi_jinja_of_undefined(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_value name){
const char*text=name.type==OXI_JINJA_STRING?name.as.text:"an item";
const uint32_t length=name.type==OXI_JINJA_STRING?name.length:7;
return oxi_jinja_fail(j,"'%.*s' is undefined, and '%.*s' of it is wanted",
 (int)(v.length<100?v.length:100),v.as.text?v.as.text:"",(int)(length<100?length:100),text);}
static oxi_jinja_value oxi_jinja_part(oxi_jinja_value v,oxi_jinja_value name){
const oxi_jinja_list*list=v.as.list;
const bool cycler=v.type==OXI_JINJA_CYCLER;
if(cycler&&oxi_jinja_is_text(name,"current"))return list->items[list->start];
if(cycler&&oxi_jinja_is_text(name,"pos"))return oxi_jinja_int(list->start);
if(cycler&&oxi_jinja_is_text(name,"items")){
v.type=OXI_JINJA_TUPLE;
return v;}
if(!cycler&&oxi_jinja_is_text(name,"sep"))return list->items[0];
if(!cycler&&oxi_jinja_is_text(name,"used"))return oxi_jinja_bool(list->start!=0);
return oxi_jinja_undefined(name.as.text,name.length);}
static oxi_jinja_value oxi_jinja_attribute(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_value name){
const oxi_jinja_value none=oxi_jinja_undefined(name.as.text,name.length);
const oxi_jinja_value*found=NULL;
if(v.type==OXI_JINJA_UNDEFINED)return oxi_jinja_of_undefined(j,v,name);
if(v.type==OXI_JINJA_LOOP)return oxi_jinja_loop_attribute(j,v,name);
if(v.type==OXI_JINJA_MACRO&&oxi_jinja_is_text(name,"name"))
return oxi_jinja_text(v.as.macro->name.data,(size_t)v.as.macro->name.length);
if(v.type==OXI_JINJA_NAMESPACE){
found=oxi_jinja_dict_find(j,v.as.dict,name);
return found? *found:none;}
const oxi_jinja_value method=oxi_jinja_method_value(j,v,name);
if(method.type==OXI_JINJA_UNDEFINED&&(v.type==OXI_JINJA_CYCLER||v.type==OXI_JINJA_JOINER))
return oxi_jinja_part(v,name);
if(v.type==OXI_JINJA_DICT&&method.type==OXI_JINJA_UNDEFINED)
found=oxi_jinja_dict_find(j,v.as.dict,name);
return found? *found:method;}
static oxi_jinja_value oxi_jinja_element(oxi_jinja*j,oxi_jinja_value v,int64_t index){
const int64_t length=oxi_jinja_length(j,v);
if(index<0)index+=length;
if(index<0||index>=length)return oxi_jinja_undefined("an element beyond the end",25);
if(v.type!=OXI_JINJA_STRING)return v.as.list->items[index];
const size_t start=oxi_jinja_byte_of(v.as.text,v.length,(size_t)index);
size_t end=start;
(void)oxi_utf8_code(v.as.text,v.length,&end);
return oxi_jinja_safe_as(oxi_jinja_text(v.as.text+start,end-start),v);}
static bool oxi_jinja_has_elements(oxi_jinja_value v){
return v.type==OXI_JINJA_STRING||v.type==OXI_JINJA_LIST||v.type==OXI_JINJA_TUPLE||v.type==OXI_JINJA_RANGE;}
static oxi_jinja_value oxi_jinja_item(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_value key){
if(v.type==OXI_JINJA_UNDEFINED)return oxi_jinja_of_undefined(j,v,key);
if(oxi_jinja_has_elements(v)&&(key.type==OXI_JINJA_INT||key.type==OXI_JINJA_BOOL))
return oxi_jinja_element(j,v,key.as.i);
if(v.type==OXI_JINJA_DICT){
const bool hashable=key.type!=OXI_JINJA_LIST&&key.type!=OXI_JINJA_DICT;
const oxi_jinja_value*found=hashable?oxi_jinja_dict_find(j,v.as.dict,key):NULL;
if(found)return*found;}
if(key.type==OXI_JINJA_STRING)return oxi_jinja_attribute(j,v,key);
return oxi_jinja_undefined("an element",10);}
static int64_t oxi_jinja_bound_of(oxi_jinja*j,oxi_jinja_value v,int64_t length,int64_t low,int64_t high,
 int64_t otherwise){
if(v.type==OXI_JINJA_MISSING||v.type==OXI_JINJA_NONE)return otherwise;
if(v.type!=OXI_JINJA_INT&&v.type!=OXI_JINJA_BOOL){
(void)oxi_jinja_fail(j,"a slice's bound is %s",oxi_jinja_type_name(v));
return otherwise;}
int64_t at=v.as.i<0?v.as.i+length:v.as.i;
if(at<low)at=low;
return at>high?high:at;}
static oxi_jinja_value oxi_jinja_slice_text(oxi_jinja*j,oxi_jinja_value v,int64_t start,int64_t stop,
 int64_t step){
if(step==1){
if(stop<=start)return oxi_jinja_text("",0);
const size_t from=oxi_jinja_byte_of(v.as.text,v.length,(size_t)start);
const size_t to=from+oxi_jinja_byte_of(v.as.text+from,v.length-from,(size_t)(stop -start));
return oxi_jinja_text(v.as.text+from,to-from);}
const oxi_jinja_list*characters=oxi_jinja_characters_of(j,v);
const size_t capture=j->out_length;
for(int64_t at=start;characters&&(step>0?at<stop:at>stop);at+=step)
oxi_jinja_write(j,characters->items[at].as.text,characters->items[at].length);
return oxi_jinja_take(j,capture);}
static oxi_jinja_value oxi_jinja_slice(oxi_jinja*j,oxi_jinja_value v,const oxi_jinja_value bounds[3]){
int64_t step=1;
if(v.type==OXI_JINJA_UNDEFINED)return oxi_jinja_of_undefined(j,v,oxi_jinja_none());
if(!oxi_jinja_has_elements(v))return oxi_jinja_fail(j,"a slice of %s",oxi_jinja_type_name(v));
const int64_t length=oxi_jinja_length(j,v);
if(bounds[2].type==OXI_JINJA_INT||bounds[2].type==OXI_JINJA_BOOL)
step=bounds[2].as.i;
else if(bounds[2].type!=OXI_JINJA_MISSING&&bounds[2].type!=OXI_JINJA_NONE)
step=0;
if(step==0)return oxi_jinja_fail(j,"a slice's step is 0 or no integer");
if(step>length)step=length+1;
if(step< -length)step= -length-1;
const bool up=step>0;
const int64_t low=up?0: -1,high=up?length:length-1;
const int64_t start=oxi_jinja_bound_of(j,bounds[0],length,low,high,up?0:length-1);
const int64_t stop=oxi_jinja_bound_of(j,bounds[1],length,low,high,up?length: -1);
if(j->status)return v;
if(v.type==OXI_JINJA_STRING)
return oxi_jinja_safe_as(oxi_jinja_slice_text(j,v,start,stop,step),v);
oxi_jinja_value list=oxi_jinja_list_new(j,(oxi_jinja_type)v.type,0);
for(int64_t at=start;!j->status&&(up?at<stop:at>stop);at+=step)
oxi_jinja_push(j,list.as.list,v.as.list->items[at]);
if(v.type==OXI_JINJA_RANGE&& !j->status){
list.as.list->start=v.as.list->start+start*v.as.list->stride;
list.as.list->stop=v.as.list->start+stop*v.as.list->stride;
list.as.list->stride=step*v.as.list->stride;}
return list;}
/* >>llm/template/values/format.c */
enum{OXI_JINJA_MOST_WIDTH=100000,OXI_JINJA_MOST_PRECISION=100};
typedef struct oxi_jinja_spec{
uint32_t fill;
char align,sign,type;
bool alternate,zeros,commas;
int width,precision;}oxi_jinja_spec;
static int oxi_jinja_small_number(oxi_jinja*j,oxi_jinja_value text,size_t*at,int most){
int number=0;
while(*at<text.length&&oxi_is_digit(text.as.text[*at])){
number=number*10+(text.as.text[(*at)++]-'0');
if(number>most){
(void)oxi_jinja_fail(j,"a width or precision of more than %d",most);
return 0;}}
return number;}
static void oxi_jinja_pad(oxi_jinja*j,size_t start,size_t sign_length,const oxi_jinja_spec*spec,
 char align){
if(j->status)return;
const size_t count=oxi_jinja_characters(j->out+start,j->out_length-start);
if((size_t)spec->width<=count)return;
const size_t padding=(size_t)spec->width-count;
const size_t before=align=='<'?0:align=='^'?padding/2:padding;
const oxi_jinja_value text=oxi_jinja_take(j,start);
if(align=='=')oxi_jinja_write(j,text.as.text,sign_length);
for(size_t i=0;i<before&& !j->status;i++)oxi_jinja_write_code(j,spec->fill);
if(align=='=')
oxi_jinja_write(j,text.as.text+sign_length,text.length-sign_length);
else
oxi_jinja_write(j,text.as.text,text.length);
for(size_t i=before;i<padding&& !j->status;i++)oxi_jinja_write_code(j,spec->fill);}
static void oxi_jinja_write_grouped(oxi_jinja*j,const char*text){
size_t whole=0;
while(oxi_is_digit(text[whole]))whole++;
for(size_t i=0;i<whole;i++){
if(i&&(whole -i)%3==0)oxi_jinja_write(j,",",1);
oxi_jinja_write(j,text+i,1);}
oxi_jinja_write_text(j,text+whole);}
static OXI_NOINLINE void oxi_jinja_write_fixed(oxi_jinja*j,double f,const oxi_jinja_spec*spec){
char text[512],format[16];
const int precision=spec->precision<0?6:spec->precision;
const char type=spec->type=='F'?'f':spec->type=='%'?'f':spec->type;
(void)snprintf(format,sizeof format,spec->alternate?"%%#.*%c":"%%.*%c",type);
(void)snprintf(text,sizeof text,format,precision,spec->type=='%'?f*100:f);
for(char*p=text;*p;p++)
if(*p==',')*p='.';
if(spec->commas)
oxi_jinja_write_grouped(j,text);
else
oxi_jinja_write_text(j,text);
if(spec->type=='%')oxi_jinja_write(j,"%",1);}
static OXI_NOINLINE void oxi_jinja_write_whole(oxi_jinja*j,uint64_t u,const oxi_jinja_spec*spec){
char text[72];
size_t at=sizeof text-1;
const unsigned base=spec->type=='x'||spec->type=='X'?16:spec->type=='o'?8:spec->type=='b'?2:10;
const char*digits=spec->type=='X'?"0123456789ABCDEF":"0123456789abcdef";
text[at]=0;
do{
text[--at]=digits[u%base];
u/=base;}while(u);
if(spec->commas)
oxi_jinja_write_grouped(j,text+at);
else
oxi_jinja_write_text(j,text+at);}
static void oxi_jinja_write_number(oxi_jinja*j,oxi_jinja_value v,const oxi_jinja_spec*spec){
const size_t start=j->out_length;
const bool whole=v.type!=OXI_JINJA_FLOAT&& !strchr("eEfFgG%",spec->type?spec->type:'d');
const bool minus=v.type==OXI_JINJA_FLOAT?signbit(v.as.f)!=0&&v.as.f==v.as.f:v.as.i<0;
if(minus||spec->sign=='+'||spec->sign==' ')oxi_jinja_write(j,minus?"-": &spec->sign,1);
const double f=oxi_jinja_number(v);
size_t sign=j->out_length-start;
if(whole&&spec->alternate&&spec->type&&strchr("xXob",spec->type)){
oxi_jinja_write(j,"0",1);
oxi_jinja_write(j,&spec->type,1);
sign+=2;}
if(whole)
oxi_jinja_write_whole(j,minus?(uint64_t)0-(uint64_t)v.as.i:(uint64_t)v.as.i,spec);
else if(!spec->type&&spec->precision<0)
oxi_jinja_write_float(j,minus? -f:f);
else if(!spec->type||strchr("eEfFgG%",spec->type)){
oxi_jinja_spec general= *spec;
if(!spec->type)general.type='g';
if(general.type=='g'&&general.precision==0)general.precision=1;
oxi_jinja_write_fixed(j,minus? -f:f,&general);}else
(void)oxi_jinja_fail(j,"a float cannot be formatted as '%c'",spec->type);
oxi_jinja_pad(j,start,sign,spec,spec->align?spec->align:spec->zeros?'=':'>');}
static void oxi_jinja_write_cut(oxi_jinja*j,oxi_jinja_value text,const oxi_jinja_spec*spec,char align){
const size_t start=j->out_length;
size_t length=text.length;
if(spec->precision>=0)length=oxi_jinja_byte_of(text.as.text,text.length,(size_t)spec->precision);
oxi_jinja_write(j,text.as.text,length);
oxi_jinja_pad(j,start,0,spec,spec->align?spec->align:align);}
static oxi_jinja_value oxi_jinja_repr(oxi_jinja*j,oxi_jinja_value v){
const size_t start=j->out_length;
oxi_jinja_write_repr(j,v);
return oxi_jinja_take(j,start);}
static void oxi_jinja_percent_one(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_spec*spec,bool safe){
const char type=spec->type;
if(type=='s'||type=='r'){
v=type=='s'?oxi_jinja_string(j,v):oxi_jinja_repr(j,v);
oxi_jinja_write_cut(j,safe?oxi_jinja_escaped(j,v):v,spec,'>');
return;}
if(!type|| !strchr("diuxXoeEfFgG",type)|| !oxi_jinja_is_number(v)){
(void)oxi_jinja_fail(j,"'%%%c' cannot format %s",type?type:'%',oxi_jinja_type_name(v));
return;}
if(strchr("diuxXo",type)){
if(v.type==OXI_JINJA_FLOAT){
if(!(fabs(v.as.f)<9e18)||strchr("xXo",type)){
(void)oxi_jinja_fail(j,"'%%%c' wants an integer",type);
return;}
v=oxi_jinja_int((int64_t)v.as.f);}
if(type=='i'||type=='u')spec->type='d';}
if(spec->align=='<')spec->zeros=false;
if(spec->zeros)spec->fill='0';
oxi_jinja_write_number(j,v,spec);}
static void oxi_jinja_percent_flags(oxi_jinja*j,oxi_jinja_value format,size_t*at,oxi_jinja_spec*spec){
memset(spec,0,sizeof*spec);
spec->fill=' ';
spec->precision= -1;
for(;*at<format.length&&format.as.text[*at]&&strchr("-+ 0#",format.as.text[*at]);++*at){
const char c=format.as.text[*at];
if(c=='-')spec->align='<';
if(c=='0')spec->zeros=true;
if(c=='#')spec->alternate=true;
if(c=='+'||(c==' '&& !spec->sign))spec->sign=c;}
spec->width=oxi_jinja_small_number(j,format,at,OXI_JINJA_MOST_WIDTH);
if(*at<format.length&&format.as.text[*at]=='.'){
++*at;
spec->precision=oxi_jinja_small_number(j,format,at,OXI_JINJA_MOST_PRECISION);}
spec->type= *at<format.length?format.as.text[(*at)++]:'\0';}
static oxi_jinja_value oxi_jinja_percent_format(oxi_jinja*j,oxi_jinja_value format,oxi_jinja_value values){
const size_t start=j->out_length;
const bool several=values.type==OXI_JINJA_TUPLE;
size_t used=0,at=0;
while(at<format.length&& !j->status){
const char*text=format.as.text+at;
const char*percent=(const char*)memchr(text,'%',format.length-at);
const size_t plain=percent?(size_t)(percent-text):format.length-at;
oxi_jinja_write(j,text,plain);
at+=plain+1;
if(!percent)break;
oxi_jinja_value v=several?oxi_jinja_none():values;
oxi_jinja_spec spec;
if(at<format.length&&format.as.text[at]=='('){
size_t end=at;
while(end<format.length&&format.as.text[end]!=')')end++;
const oxi_jinja_value key=oxi_jinja_text(format.as.text+at+1,end-at-1);
const oxi_jinja_value*found=values.type==OXI_JINJA_DICT?oxi_jinja_dict_find(j,values.as.dict,key):NULL;
if(!found)return oxi_jinja_fail(j,"a format wants a key that is not there");
v= *found;
used=1;
at=end+1;
oxi_jinja_percent_flags(j,format,&at,&spec);}else{
oxi_jinja_percent_flags(j,format,&at,&spec);
if(spec.type=='%'){
oxi_jinja_write(j,"%",1);
continue;}
if(used>=(several?values.as.list->count:1))
return oxi_jinja_fail(j,"too few values for a format");
if(several)v=values.as.list->items[used];
used++;}
oxi_jinja_percent_one(j,v,&spec,format.safe);}
const bool may_be_left=values.type==OXI_JINJA_DICT||values.type==OXI_JINJA_LIST;
if(!may_be_left&&used<(several?values.as.list->count:1))
return oxi_jinja_fail(j,"too many values for a format");
return oxi_jinja_safe_as(oxi_jinja_take(j,start),format);}
static void oxi_jinja_brace_spec(oxi_jinja*j,oxi_jinja_value text,oxi_jinja_spec*spec){
size_t at=0,next=0;
memset(spec,0,sizeof*spec);
spec->fill=' ';
spec->precision= -1;
if(text.length){
const uint32_t first=oxi_utf8_code(text.as.text,text.length,&next);
if(next<text.length&&text.as.text[next]&&strchr("<>=^",text.as.text[next])){
spec->fill=first;
spec->align=text.as.text[next];
at=next+1;}else if(first<0x80&&first&&strchr("<>=^",(int)first)){
spec->align=(char)first;
at=1;}}
if(at<text.length&&text.as.text[at]&&strchr("+- ",text.as.text[at]))
spec->sign=text.as.text[at++];
if(at<text.length&&text.as.text[at]=='#')spec->alternate=at++ >0||true;
if(at<text.length&&text.as.text[at]=='0'){
spec->zeros=true;
if(!spec->align)spec->fill='0';
at++;}
spec->width=oxi_jinja_small_number(j,text,&at,OXI_JINJA_MOST_WIDTH);
if(at<text.length&&text.as.text[at]==',')spec->commas=at++ >0||true;
if(at<text.length&&text.as.text[at]=='.'){
at++;
spec->precision=oxi_jinja_small_number(j,text,&at,OXI_JINJA_MOST_PRECISION);}
if(at<text.length)spec->type=text.as.text[at++];
if(at<text.length||(spec->type&& !strchr("sdxXobeEfFgG%",spec->type)))
(void)oxi_jinja_fail(j,"a format that is not known");}
static void oxi_jinja_brace_one(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_value text){
oxi_jinja_spec spec;
if(!text.length){
oxi_jinja_write_value(j,v);
return;}
oxi_jinja_brace_spec(j,text,&spec);
if(j->status)return;
if(v.type==OXI_JINJA_STRING&&(!spec.type||spec.type=='s'))
oxi_jinja_write_cut(j,v,&spec,'<');
else if(oxi_jinja_is_number(v)&&spec.type!='s'&& !(v.type!=OXI_JINJA_FLOAT&&spec.precision>=0&& !spec.type))
oxi_jinja_write_number(j,v,&spec);
else
(void)oxi_jinja_fail(j,"%s cannot be formatted so",oxi_jinja_type_name(v));}
static oxi_jinja_value oxi_jinja_field(oxi_jinja*j,oxi_jinja_value name,size_t*automatic,
 oxi_jinja_value positional,oxi_jinja_value keywords){
size_t end=0,at=0;
while(end<name.length&&name.as.text[end]!='.'&&name.as.text[end]!='[')end++;
const oxi_jinja_value first=oxi_jinja_text(name.as.text,end);
oxi_jinja_value v=oxi_jinja_none();
size_t index=0;
if(end==0)
index=(*automatic)++;
else if(oxi_is_digit(name.as.text[0]))
index=(size_t)oxi_jinja_small_number(j,first,&at,1000000);
if(end==0||at==end){
if(index>=positional.as.list->count)return oxi_jinja_fail(j,"too few values for a format");
v=positional.as.list->items[index];}else{
const oxi_jinja_value*found=oxi_jinja_dict_find(j,keywords.as.dict,first);
if(!found)return oxi_jinja_fail(j,"a format wants a keyword that is not there");
v= *found;}
while(end<name.length&& !j->status){
const bool item=name.as.text[end]=='[';
const size_t start= ++end;
while(end<name.length&&name.as.text[end]!=(item?']':'.')&&(item||name.as.text[end]!='['))
end++;
oxi_jinja_value key=oxi_jinja_text(name.as.text+start,end-start);
at=0;
if(item&&key.length&&oxi_is_digit(key.as.text[0]))
key=oxi_jinja_int(oxi_jinja_small_number(j,key,&at,100000000));
v=item?oxi_jinja_item(j,v,key):oxi_jinja_attribute(j,v,key);
if(item)end++;}
return v;}
static size_t oxi_jinja_brace_field(oxi_jinja*j,oxi_jinja_value format,size_t at,size_t*automatic,
 oxi_jinja_value positional,oxi_jinja_value keywords){
const char*text=format.as.text;
const char*close=(const char*)memchr(text+at,'}',format.length-at);
const size_t end=close?(size_t)(close -text):format.length;
size_t name=at;
if(!close)(void)oxi_jinja_fail(j,"a format with a '{' that is not closed");
while(name<end&&text[name]!=':'&&text[name]!='!')name++;
oxi_jinja_value v=oxi_jinja_field(j,oxi_jinja_text(text+at,name -at),automatic,positional,keywords);
if(name +1<end&&text[name]=='!'){
v=text[name +1]=='r'?oxi_jinja_repr(j,v):oxi_jinja_string(j,v);
name +=2;}
if(name<end&&text[name]==':')name++;
const size_t start=j->out_length;
if(!j->status)oxi_jinja_brace_one(j,v,oxi_jinja_text(text+name,end-name));
if(format.safe&& !(v.type==OXI_JINJA_STRING&&v.safe)&& !j->status){
const oxi_jinja_value escaped=oxi_jinja_escaped(j,oxi_jinja_take(j,start));
oxi_jinja_write(j,escaped.as.text,escaped.length);}
return end+1;}
static oxi_jinja_value oxi_jinja_brace_format(oxi_jinja*j,oxi_jinja_value format,
 oxi_jinja_value positional,oxi_jinja_value keywords){
const size_t start=j->out_length;
size_t automatic=0,at=0;
while(at<format.length&&oxi_jinja_step(j,1)){
const char c=format.as.text[at];
const bool twice=at+1<format.length&&format.as.text[at+1]==c;
size_t plain=at;
while(plain<format.length&&format.as.text[plain]!='{'&&format.as.text[plain]!='}')plain++;
if(plain>at){
oxi_jinja_write(j,format.as.text+at,plain-at);
at=plain;}else if(twice){
oxi_jinja_write(j,&c,1);
at+=2;}else if(c=='}')
return oxi_jinja_fail(j,"a format with a single '}'");
else
at=oxi_jinja_brace_field(j,format,at+1,&automatic,positional,keywords);}
return oxi_jinja_safe_as(oxi_jinja_take(j,start),format);}
/* >>llm/template/library/filters.c */
static oxi_jinja_value oxi_jinja_map_case(oxi_jinja*j,oxi_jinja_value text,uint32_t(*of)(uint32_t)){
const size_t start=j->out_length;
for(size_t at=0;at<text.length&&oxi_jinja_step(j,1);)
oxi_jinja_write_code(j,of(oxi_utf8_code(text.as.text,text.length,&at)));
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_upper(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_safe_as(oxi_jinja_map_case(j,oxi_jinja_string(j,a[0]),oxi_jinja_to_upper),a[0]);}
static oxi_jinja_value oxi_jinja_lower(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_safe_as(oxi_jinja_map_case(j,oxi_jinja_string(j,a[0]),oxi_jinja_to_lower),a[0]);}
static oxi_jinja_value oxi_jinja_capitalize(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_value text=oxi_jinja_string(j,a[0]);
const size_t start=j->out_length;
for(size_t at=0;at<text.length&&oxi_jinja_step(j,1);){
const bool first=at==0;
const uint32_t code=oxi_utf8_code(text.as.text,text.length,&at);
oxi_jinja_write_code(j,first?oxi_jinja_to_upper(code):oxi_jinja_to_lower(code));}
return oxi_jinja_safe_as(oxi_jinja_take(j,start),text);}
static bool oxi_jinja_is_cased(uint32_t code){
const bool sharp_s=code==0xDF;
return sharp_s||oxi_jinja_to_upper(code)!=code||oxi_jinja_to_lower(code)!=code;}
static oxi_jinja_value oxi_jinja_title_of(oxi_jinja*j,oxi_jinja_value text,bool is_filter){
const size_t start=j->out_length;
bool begins=true;
for(size_t at=0;at<text.length&&oxi_jinja_step(j,1);){
const uint32_t code=oxi_utf8_code(text.as.text,text.length,&at);
oxi_jinja_write_code(j,begins?oxi_jinja_to_upper(code):oxi_jinja_to_lower(code));
begins=is_filter?oxi_jinja_is_space(code)||(code<0x80&&code&&strchr("-({[<",(int)code))
 : !oxi_jinja_is_cased(code);}
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_title(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_title_of(j,oxi_jinja_string(j,a[0]),true);}
static bool oxi_jinja_in_set(uint32_t code,oxi_jinja_value set){
if(set.type!=OXI_JINJA_STRING)return oxi_jinja_is_space(code);
for(size_t at=0;at<set.length;)
if(oxi_utf8_code(set.as.text,set.length,&at)==code)return true;
return false;}
static oxi_jinja_value oxi_jinja_strip(oxi_jinja*j,oxi_jinja_value text,oxi_jinja_value set,bool left,
 bool right){
size_t start=0,end=text.length;
while(left&&start<end&&oxi_jinja_step(j,1+set.length/64*(set.type==OXI_JINJA_STRING))){
size_t next=start;
if(!oxi_jinja_in_set(oxi_utf8_code(text.as.text,end,&next),set))break;
start=next;}
while(right&&end>start&&oxi_jinja_step(j,1+set.length/64*(set.type==OXI_JINJA_STRING))){
size_t at=end-1;
while(at>start&&((unsigned char)text.as.text[at]&0xC0)==0x80)at--;
size_t next=at;
if(!oxi_jinja_in_set(oxi_utf8_code(text.as.text,end,&next),set))break;
end=at;}
return oxi_jinja_text(text.as.text+start,end-start);}
static oxi_jinja_value oxi_jinja_trim(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_safe_as(oxi_jinja_strip(j,oxi_jinja_string(j,a[0]),a[1],true,true),a[0]);}
static oxi_jinja_value oxi_jinja_replace_in(oxi_jinja*j,oxi_jinja_value text,oxi_jinja_value old,
 oxi_jinja_value by,int64_t most){
const size_t start=j->out_length;
size_t at=0;
while(most!=0&&oxi_jinja_step(j,1)){
const size_t hit=oxi_jinja_find_text(j,text,old,at);
if(hit>text.length||(old.length==0&&hit==text.length&&at>hit))break;
oxi_jinja_write(j,text.as.text+at,hit-at);
oxi_jinja_write(j,by.as.text,by.length);
at=hit+old.length;
if(old.length==0){
const size_t from=at;
if(at==text.length)return oxi_jinja_take(j,start);
(void)oxi_utf8_code(text.as.text,text.length,&at);
oxi_jinja_write(j,text.as.text+from,at-from);}
most--;}
if(at<text.length)oxi_jinja_write(j,text.as.text+at,text.length-at);
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_replace(oxi_jinja*j,oxi_jinja_value*a){
const int64_t most=a[3].type==OXI_JINJA_NONE? -1:oxi_jinja_int_argument(j,a[3],-1);
const oxi_jinja_value text=oxi_jinja_string(j,a[0]),old=oxi_jinja_string(j,a[1]);
return oxi_jinja_replace_in(j,text,old,oxi_jinja_string(j,a[2]),most);}
static bool oxi_jinja_is_line_end(uint32_t code){
return(code>=10&&code<=13)||(code>=0x1C&&code<=0x1E)||code==0x85||code==0x2028||code==0x2029;}
static oxi_jinja_value oxi_jinja_lines(oxi_jinja*j,oxi_jinja_value text,bool keep_ends){
oxi_jinja_value lines=oxi_jinja_list_new(j,OXI_JINJA_LIST,0);
size_t start=0;
for(size_t at=0;at<text.length&&oxi_jinja_step(j,1);){
const size_t end=at;
const uint32_t code=oxi_utf8_code(text.as.text,text.length,&at);
if(!oxi_jinja_is_line_end(code))continue;
if(code=='\r'&&at<text.length&&text.as.text[at]=='\n')at++;
oxi_jinja_push(j,lines.as.list,oxi_jinja_text(text.as.text+start,(keep_ends?at:end)-start));
start=at;}
if(start<text.length&& !j->status)
oxi_jinja_push(j,lines.as.list,oxi_jinja_text(text.as.text+start,text.length-start));
return lines;}
static oxi_jinja_value oxi_jinja_indent(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_value by=a[1];
const size_t start=j->out_length;
const bool first=oxi_jinja_truth(a[2]),blank=oxi_jinja_truth(a[3]);
if(!oxi_jinja_text_argument(j,a[0]))return a[0];
if(by.type!=OXI_JINJA_STRING){
oxi_jinja_write_many(j,' ',oxi_jinja_int_argument(j,by,4));
by=oxi_jinja_take(j,start);}
oxi_jinja_write(j,a[0].as.text,a[0].length);
oxi_jinja_write(j,"\n",1);
const oxi_jinja_value lines=oxi_jinja_lines(j,oxi_jinja_take(j,start),false);
for(size_t i=0;!j->status&&i<lines.as.list->count;i++){
const oxi_jinja_value line=lines.as.list->items[i];
if(i)oxi_jinja_write(j,"\n",1);
if(i?blank||line.length:first)oxi_jinja_write(j,by.as.text,by.length);
oxi_jinja_write(j,line.as.text,line.length);}
return oxi_jinja_safe_as(oxi_jinja_take(j,start),a[0]);}
static oxi_jinja_value oxi_jinja_center_in(oxi_jinja*j,oxi_jinja_value text,int64_t width,char fill,
 char align){
const size_t start=j->out_length;
const int64_t missing=width-oxi_jinja_length(j,text);
int64_t left=align=='<'?0:align=='>'?missing:missing/2+(missing&width&1);
if(missing<=0)return text;
oxi_jinja_write_many(j,fill,left);
oxi_jinja_write(j,text.as.text,text.length);
oxi_jinja_write_many(j,fill,missing-left);
return oxi_jinja_safe_as(oxi_jinja_take(j,start),text);}
static oxi_jinja_value oxi_jinja_center(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_center_in(j,oxi_jinja_string(j,a[0]),oxi_jinja_int_argument(j,a[1],80),' ','^');}
static oxi_jinja_value oxi_jinja_filter_escape(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_escaped(j,a[0]);}
static oxi_jinja_value oxi_jinja_filter_forceescape(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_value text=oxi_jinja_string(j,a[0]);
text.safe=0;
return oxi_jinja_escaped(j,text);}
static oxi_jinja_value oxi_jinja_filter_safe(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_value text=oxi_jinja_string(j,a[0]);
text.safe=1;
return text;}
static oxi_jinja_value oxi_jinja_to_string(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_string(j,a[0]);}
static oxi_jinja_value oxi_jinja_filter_format(oxi_jinja*j,oxi_jinja_value*a){
const bool keywords=a[2].as.dict->count>0;
if(keywords&&a[1].as.list->count)return oxi_jinja_fail(j,"format has both kinds of arguments");
return oxi_jinja_percent_format(j,oxi_jinja_string(j,a[0]),keywords?a[2]:a[1]);}
static oxi_jinja_value oxi_jinja_wordcount(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_value text=oxi_jinja_string(j,a[0]);
int64_t count=0;
bool inside=false;
for(size_t at=0;at<text.length&&oxi_jinja_step(j,1);){
const uint32_t code=oxi_utf8_code(text.as.text,text.length,&at);
const bool word=code=='_'||(code>='0'&&code<='9')||oxi_jinja_is_cased(code)||
 (code>=0x80&&oxi_jinja_is_printable(code)&& !oxi_jinja_is_space(code));
count+=word&& !inside;
inside=word;}
return oxi_jinja_int(count);}
static oxi_jinja_value oxi_jinja_truncate(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_value text=oxi_jinja_string(j,a[0]);
const oxi_jinja_value end=a[3].type==OXI_JINJA_STRING?a[3]:oxi_jinja_word("...");
const int64_t most=oxi_jinja_int_argument(j,a[1],255),leeway=oxi_jinja_int_argument(j,a[4],5);
const int64_t left=most-oxi_jinja_length(j,end),length=oxi_jinja_length(j,a[0]);
if(left<0||leeway<0)return oxi_jinja_fail(j,"truncate: the end is longer than the text may be");
if(length<=most||length-most<=leeway)return a[0];
if(!oxi_jinja_text_argument(j,a[0]))return text;
oxi_jinja_value cut=oxi_jinja_text(text.as.text,oxi_jinja_byte_of(text.as.text,text.length,(size_t)left));
for(size_t i=cut.length;!oxi_jinja_truth(a[2])&&i>0;i--)
if(cut.as.text[i-1]==' '){
cut.length=(uint32_t)(i-1);
break;}
const oxi_jinja_value joined=oxi_jinja_join_texts(j,cut,a[0].safe?oxi_jinja_escaped(j,end):end);
return oxi_jinja_safe_as(joined,a[0]);}
static oxi_jinja_value oxi_jinja_urlencode(oxi_jinja*j,oxi_jinja_value*a){
if(a[0].type==OXI_JINJA_DICT||oxi_jinja_is_sequence(a[0]))
return oxi_jinja_fail(j,"urlencode of %s is not supported",oxi_jinja_type_name(a[0]));
const oxi_jinja_value text=oxi_jinja_string(j,a[0]);
const size_t start=j->out_length;
static const char digits[]="0123456789ABCDEF";
for(size_t at=0;at<text.length&& !j->status;at++){
const unsigned char c=(unsigned char)text.as.text[at];
const char escaped[3]={'%',digits[c>>4],digits[c&15]};
const bool plain=c<0x80&&c&&(oxi_jinja_is_name_byte((char)c)||strchr("-.~/",c));
oxi_jinja_write(j,plain?text.as.text+at:escaped,plain?1:3);}
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_spaces(oxi_jinja*j,int64_t count){
const size_t start=j->out_length;
oxi_jinja_write_many(j,' ',count);
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_tojson(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_json_style style;
const size_t start=j->out_length;
memset(&style,0,sizeof style);
style.ascii=oxi_jinja_truth(a[1]);
style.sorted=oxi_jinja_truth(a[4]);
style.indented=a[2].type!=OXI_JINJA_MISSING&&a[2].type!=OXI_JINJA_NONE;
style.comma=oxi_jinja_word(style.indented?",":", ");
style.colon=oxi_jinja_word(": ");
if(style.indented)
style.indent=a[2].type==OXI_JINJA_STRING?a[2]:oxi_jinja_spaces(j,oxi_jinja_int_argument(j,a[2],0));
if(a[3].type==OXI_JINJA_LIST||a[3].type==OXI_JINJA_TUPLE){
if(a[3].as.list->count!=2)return oxi_jinja_fail(j,"tojson wants two separators");
style.comma=a[3].as.list->items[0];
style.colon=a[3].as.list->items[1];
if(!oxi_jinja_text_argument(j,style.comma)|| !oxi_jinja_text_argument(j,style.colon))return a[0];}
oxi_jinja_write_json(j,a[0],&style,0);
return oxi_jinja_take(j,start);}
static bool oxi_jinja_parse_int(oxi_jinja*j,oxi_jinja_value text,int64_t base,int64_t*out){
const oxi_jinja_value t=oxi_jinja_strip(j,text,oxi_jinja_none(),true,true);
size_t at=0;
uint64_t value=0;
bool digits=false;
const bool minus=t.length&&t.as.text[0]=='-';
if(minus||(t.length&&t.as.text[0]=='+'))at++;
if(at+1<t.length&&t.as.text[at]=='0'){
const char c=t.as.text[at+1];
const int64_t prefix=c=='x'||c=='X'?16:c=='o'||c=='O'?8:c=='b'||c=='B'?2:0;
if(prefix&&(base==prefix||base==0)){
base=prefix;
at+=2;
if(at<t.length&&t.as.text[at]=='_')at++;}}
if(base==0)base=10;
if(base<2||base>36)return false;
for(;at<t.length;at++){
const char c=t.as.text[at];
const int64_t digit=oxi_is_digit(c)?c-'0':c>='a'&&c<='z'?c-'a'+10:c>='A'&&c<='Z'?c-'A'+10:99;
if(c=='_'&&digits&&at+1<t.length&&t.as.text[at+1]!='_')continue;
if(digit>=base)return false;
if(value>((uint64_t)INT64_MAX-(uint64_t)digit)/(uint64_t)base){
(void)oxi_jinja_too_large(j);
return false;}
value=value*(uint64_t)base +(uint64_t)digit;
digits=true;}
*out=minus? -(int64_t)value:(int64_t)value;
return digits;}
static bool oxi_jinja_parse_float(oxi_jinja*j,oxi_jinja_value text,double*out){
static const struct{
const char*name;
double value;}words[]={{"inf",HUGE_VAL},{"infinity",HUGE_VAL},{"nan",NAN}};
oxi_jinja_value t=oxi_jinja_strip(j,text,oxi_jinja_none(),true,true);
const bool minus=t.length&&t.as.text[0]=='-';
size_t at=0,digits=0;
if(minus||(t.length&&t.as.text[0]=='+')){
t.as.text++;
t.length--;}
const oxi_jinja_value low=oxi_jinja_map_case(j,t,oxi_jinja_to_lower);
for(size_t i=0;i<sizeof words/sizeof*words;i++)
if(oxi_jinja_is_text(low,words[i].name)){
*out=minus? -words[i].value:words[i].value;
return true;}
for(int part=0;part<2;part++){
while(at<t.length&&(oxi_is_digit(t.as.text[at])||(t.as.text[at]=='_'&&at>0&&oxi_is_digit(t.as.text[at-1])&&
 at+1<t.length&&oxi_is_digit(t.as.text[at+1]))))
digits+=t.as.text[at++]!='_';
if(part==0&&at<t.length&&t.as.text[at]=='.')at++;}
if(at<t.length&&(t.as.text[at]=='e'||t.as.text[at]=='E')){
at++;
if(at<t.length&&(t.as.text[at]=='-'||t.as.text[at]=='+'))at++;
if(at==t.length)return false;
while(at<t.length&&oxi_is_digit(t.as.text[at]))at++;}
if(!digits||at<t.length||t.length>60)return false;
*out=oxi_jinja_float_of(t.as.text,t.length);
if(minus)*out= -*out;
return true;}
static oxi_jinja_value oxi_jinja_int_of_float(oxi_jinja*j,double f,oxi_jinja_value otherwise){
if(f!=f||fabs(f)>DBL_MAX)return otherwise;
if(!(fabs(f)<9223372036854775808.0))return oxi_jinja_too_large(j);
return oxi_jinja_int((int64_t)f);}
static oxi_jinja_value oxi_jinja_to_int(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_value otherwise=a[1].type==OXI_JINJA_MISSING?oxi_jinja_int(0):a[1];
int64_t i;
double f;
if(a[0].type==OXI_JINJA_INT||a[0].type==OXI_JINJA_BOOL)return oxi_jinja_int(a[0].as.i);
if(a[0].type==OXI_JINJA_FLOAT)return oxi_jinja_int_of_float(j,a[0].as.f,otherwise);
if(a[0].type==OXI_JINJA_UNDEFINED)return oxi_jinja_of_undefined(j,a[0],oxi_jinja_word("int"));
if(a[0].type!=OXI_JINJA_STRING)return otherwise;
if(oxi_jinja_parse_int(j,a[0],oxi_jinja_int_argument(j,a[2],10),&i))return oxi_jinja_int(i);
if(j->status|| !oxi_jinja_parse_float(j,a[0],&f))return otherwise;
return oxi_jinja_int_of_float(j,f,otherwise);}
static oxi_jinja_value oxi_jinja_to_float(oxi_jinja*j,oxi_jinja_value*a){
double f;
if(oxi_jinja_is_number(a[0]))return oxi_jinja_float(oxi_jinja_number(a[0]));
if(a[0].type==OXI_JINJA_UNDEFINED)return oxi_jinja_of_undefined(j,a[0],oxi_jinja_word("float"));
if(a[0].type==OXI_JINJA_STRING&&oxi_jinja_parse_float(j,a[0],&f))return oxi_jinja_float(f);
return a[1].type==OXI_JINJA_MISSING?oxi_jinja_float(0):a[1];}
static oxi_jinja_value oxi_jinja_abs(oxi_jinja*j,oxi_jinja_value*a){
if(!oxi_jinja_is_number(a[0]))return oxi_jinja_no_operation(j,"no absolute value",a[0],a[0]);
if(a[0].type==OXI_JINJA_FLOAT)return oxi_jinja_float(fabs(a[0].as.f));
return a[0].as.i<0?oxi_jinja_unary(j,OXI_JINJA_NEGATE,a[0]):oxi_jinja_int(a[0].as.i);}
static OXI_NOINLINE double oxi_jinja_round_float(double f,int64_t precision){
char text[512],digits[400];
size_t count=0;
if(precision>22||f!=f||fabs(f)>DBL_MAX)return f;
if(precision<=0){
const double scale=pow(10,(double)(precision< -330?330: -precision));
const double down=floor(fabs(f)/scale),rest=fabs(f)/scale -down;
const double up=rest>0.5||(rest==0.5&&fmod(down,2)==1)?down+1:down;
return copysign(up*scale,f);}
(void)snprintf(text,sizeof text,"%.*f",(int)precision,fabs(f));
for(const char*p=text;*p&&count<sizeof digits;p++)
if(oxi_is_digit(*p))digits[count++]= *p;
return copysign(oxi_json_double(digits,digits+count,-precision),f);}
static oxi_jinja_value oxi_jinja_round(oxi_jinja*j,oxi_jinja_value*a){
const int64_t precision=oxi_jinja_int_argument(j,a[1],0);
const oxi_jinja_value method=a[2].type==OXI_JINJA_MISSING?oxi_jinja_word("common"):a[2];
const bool common=oxi_jinja_is_text(method,"common"),up=oxi_jinja_is_text(method,"ceil");
if(!common&& !up&& !oxi_jinja_is_text(method,"floor"))
return oxi_jinja_fail(j,"round: the method is common, ceil or floor");
if(!oxi_jinja_is_number(a[0]))return oxi_jinja_no_operation(j,"no rounding",a[0],a[0]);
if(common&&a[0].type!=OXI_JINJA_FLOAT&&precision>=0)return oxi_jinja_int(a[0].as.i);
const double f=oxi_jinja_number(a[0]);
if(common){
const double rounded=oxi_jinja_round_float(f,precision);
return a[0].type==OXI_JINJA_FLOAT?oxi_jinja_float(rounded):oxi_jinja_int_of_float(j,rounded,a[0]);}
const double scale=pow(10,(double)precision);
return oxi_jinja_float(((up?ceil(f*scale):floor(f*scale))+0.0)/scale);}
static oxi_jinja_value oxi_jinja_default(oxi_jinja*j,oxi_jinja_value*a){
(void)j;
const bool missing=a[0].type==OXI_JINJA_UNDEFINED||(oxi_jinja_truth(a[2])&& !oxi_jinja_truth(a[0]));
if(!missing)return a[0];
return a[1].type==OXI_JINJA_MISSING?oxi_jinja_word(""):a[1];}
static oxi_jinja_value oxi_jinja_filter_attr(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_value name=oxi_jinja_string(j,a[1]);
if(a[0].type!=OXI_JINJA_DICT)return oxi_jinja_attribute(j,a[0],name);
return oxi_jinja_method_value(j,a[0],name);}
static oxi_jinja_value oxi_jinja_filter_length(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_int(oxi_jinja_length(j,a[0]));}
/* >>llm/template/library/filters_text.c */
enum{OXI_JINJA_PRETTY_WIDTH=80};
static void oxi_jinja_pretty(oxi_jinja*j,oxi_jinja_value v,int64_t indent,int64_t allowance,int level);
static int oxi_jinja_compare_pretty(const void*user,uint32_t a,uint32_t b){
const oxi_jinja_key_order*order=(const oxi_jinja_key_order*)user;
const oxi_jinja_value x=order->dict->entries[a].key,y=order->dict->entries[b].key;
const bool texts=x.type==OXI_JINJA_STRING&&y.type==OXI_JINJA_STRING;
if(texts||(oxi_jinja_is_number(x)&&oxi_jinja_is_number(y)))return oxi_jinja_order(order->j,x,y);
return strcmp(oxi_jinja_type_name(x),oxi_jinja_type_name(y));}
static oxi_jinja_value oxi_jinja_sorted_deep(oxi_jinja*j,oxi_jinja_value v){
if(!oxi_jinja_enter(j)){
oxi_jinja_leave(j);
return v;}
if(v.type==OXI_JINJA_LIST||v.type==OXI_JINJA_TUPLE){
oxi_jinja_value list=oxi_jinja_list_new(j,(oxi_jinja_type)v.type,v.as.list->count);
for(size_t i=0;i<v.as.list->count&& !j->status;i++)
oxi_jinja_push(j,list.as.list,oxi_jinja_sorted_deep(j,v.as.list->items[i]));
v=list;}else if(v.type==OXI_JINJA_DICT){
const oxi_jinja_dict*dict=v.as.dict;
const oxi_jinja_key_order user={j,dict};
uint32_t*order=(uint32_t*)oxi_jinja_alloc_array(j,dict->count,2*sizeof*order);
if(order)
oxi_sort_indexes(order,order+dict->count,(uint32_t)dict->count,oxi_jinja_compare_pretty,&user);
oxi_jinja_value sorted=oxi_jinja_dict_new(j);
for(size_t i=0;i<dict->count&& !j->status;i++)
oxi_jinja_dict_set(j,sorted.as.dict,dict->entries[order[i]].key,
 oxi_jinja_sorted_deep(j,dict->entries[order[i]].value));
v=sorted;}
oxi_jinja_leave(j);
return v;}
static int64_t oxi_jinja_repr_length(oxi_jinja*j,oxi_jinja_value v){
return oxi_jinja_length(j,oxi_jinja_repr(j,v));}
static void oxi_jinja_pretty_line(oxi_jinja*j,int64_t indent){
oxi_jinja_write(j,"\n",1);
oxi_jinja_write_many(j,' ',indent);}
static size_t oxi_jinja_word_end(oxi_jinja_value text,size_t at){
for(int part=0;part<2;part++)
while(at<text.length){
size_t next=at;
if(oxi_jinja_is_space(oxi_utf8_code(text.as.text,text.length,&next))!=(part==1))break;
at=next;}
return at;}
static void oxi_jinja_pretty_words(oxi_jinja*j,oxi_jinja_list*chunks,oxi_jinja_value line,int64_t width,
 int64_t last_width){
oxi_jinja_value current=oxi_jinja_text(line.as.text,0);
for(size_t at=0;at<line.length&&oxi_jinja_step(j,1);){
const size_t end=oxi_jinja_word_end(line,at);
const oxi_jinja_value candidate=oxi_jinja_text(current.as.text,current.length+(end-at));
if(oxi_jinja_repr_length(j,candidate)>(end==line.length?last_width:width)){
if(current.length)oxi_jinja_push(j,chunks,oxi_jinja_repr(j,current));
current=oxi_jinja_text(line.as.text+at,end-at);}else
current=candidate;
at=end;}
if(current.length)oxi_jinja_push(j,chunks,oxi_jinja_repr(j,current));}
static void oxi_jinja_pretty_text(oxi_jinja*j,oxi_jinja_value v,int64_t indent,int64_t allowance,
 int level){
const oxi_jinja_value lines=oxi_jinja_lines(j,v,true);
oxi_jinja_value chunks=oxi_jinja_list_new(j,OXI_JINJA_LIST,0);
const bool brackets=level==1;
indent+=brackets;
allowance +=brackets;
const int64_t width=OXI_JINJA_PRETTY_WIDTH-indent;
for(size_t i=0;!j->status&&i<lines.as.list->count;i++){
const oxi_jinja_value line=lines.as.list->items[i],rep=oxi_jinja_repr(j,line);
const int64_t last=i+1==lines.as.list->count?width-allowance:width;
if(oxi_jinja_length(j,rep)<=last)
oxi_jinja_push(j,chunks.as.list,rep);
else
oxi_jinja_pretty_words(j,chunks.as.list,line,width,last);}
if(j->status)return;
const oxi_jinja_list*list=chunks.as.list;
if(brackets&&list->count>1)oxi_jinja_write(j,"(",1);
for(size_t i=0;i<list->count&& !j->status;i++){
if(i)oxi_jinja_pretty_line(j,indent);
oxi_jinja_write(j,list->items[i].as.text,list->items[i].length);}
if(brackets&&list->count>1)oxi_jinja_write(j,")",1);}
static void oxi_jinja_pretty_items(oxi_jinja*j,oxi_jinja_value v,int64_t indent,int64_t allowance,
 int level){
const oxi_jinja_list*list=v.as.list;
const bool tuple=v.type==OXI_JINJA_TUPLE;
const char*end= !tuple?"]":list->count==1?",)":")";
oxi_jinja_write_text(j,tuple?"(":"[");
for(size_t i=0;i<list->count&&oxi_jinja_step(j,1);i++){
if(i)oxi_jinja_write(j,",",1);
if(i)oxi_jinja_pretty_line(j,indent+1);
oxi_jinja_pretty(j,list->items[i],indent+1,i+1==list->count?allowance +(int64_t)strlen(end):1,level);}
oxi_jinja_write_text(j,end);}
static void oxi_jinja_pretty_entries(oxi_jinja*j,const oxi_jinja_dict*dict,int64_t indent,
 int64_t allowance,int level){
oxi_jinja_write(j,"{",1);
for(size_t i=0;i<dict->count&&oxi_jinja_step(j,1);i++){
const oxi_jinja_value key=oxi_jinja_repr(j,dict->entries[i].key);
if(i)oxi_jinja_write(j,",",1);
if(i)oxi_jinja_pretty_line(j,indent+1);
oxi_jinja_write(j,key.as.text,key.length);
oxi_jinja_write(j,": ",2);
if(j->status)return;
oxi_jinja_pretty(j,dict->entries[i].value,indent+3+oxi_jinja_length(j,key),
 i+1==dict->count?allowance +1:1,level);}
oxi_jinja_write(j,"}",1);}
static void oxi_jinja_pretty(oxi_jinja*j,oxi_jinja_value v,int64_t indent,int64_t allowance,int level){
const oxi_jinja_value rep=oxi_jinja_repr(j,v);
const bool fits=oxi_jinja_length(j,rep)<=OXI_JINJA_PRETTY_WIDTH-indent-allowance;
const bool items=(v.type==OXI_JINJA_LIST||v.type==OXI_JINJA_TUPLE)&&v.as.list->count;
if(!oxi_jinja_enter(j)){
oxi_jinja_leave(j);
return;}
if(!fits&&v.type==OXI_JINJA_STRING&& !v.safe)
oxi_jinja_pretty_text(j,v,indent,allowance,level+1);
else if(!fits&&items)
oxi_jinja_pretty_items(j,v,indent,allowance,level+1);
else if(!fits&&v.type==OXI_JINJA_DICT&&v.as.dict->count)
oxi_jinja_pretty_entries(j,v.as.dict,indent,allowance,level+1);
else
oxi_jinja_write(j,rep.as.text,rep.length);
oxi_jinja_leave(j);}
static oxi_jinja_value oxi_jinja_pprint(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_value sorted=oxi_jinja_sorted_deep(j,a[0]);
const size_t start=j->out_length;
if(!j->status)oxi_jinja_pretty(j,sorted,0,0,0);
return oxi_jinja_take(j,start);}
static bool oxi_jinja_wraps_at(char c){
return c==' '||(c>='\t'&&c<='\r');}
static bool oxi_jinja_is_letter(uint32_t code){
return code=='_'||oxi_jinja_is_cased(code)||
 (code>=0xAA&&oxi_jinja_is_printable(code)&& !oxi_jinja_is_space(code));}
static bool oxi_jinja_is_word_code(uint32_t code){
return(code>='0'&&code<='9')||oxi_jinja_is_letter(code);}
static uint32_t oxi_jinja_near(oxi_jinja_value t,size_t at,bool back){
if(back?at==0:at>=t.length)return 0;
if(back)at--;
while(back&&at>0&&((unsigned char)t.as.text[at]&0xC0)==0x80)at--;
return oxi_utf8_code(t.as.text,t.length,&at);}
static bool oxi_jinja_breaks_behind(oxi_jinja_value t,size_t at){
const size_t hyphen=at-1;
size_t before=hyphen,after=at;
if(!oxi_jinja_is_letter(oxi_jinja_near(t,hyphen,true)))return false;
while(before>0&&((unsigned char)t.as.text[before -1]&0xC0)==0x80)before--;
if(before>0)before--;
uint32_t far=oxi_jinja_near(t,before,true);
if(far=='-')far=oxi_jinja_near(t,before -1,true);
if(!oxi_jinja_is_letter(far))return false;
if(!oxi_jinja_is_letter(oxi_jinja_near(t,at,false)))return false;
(void)oxi_utf8_code(t.as.text,t.length,&after);
far=oxi_jinja_near(t,after,false);
if(far=='-')far=oxi_jinja_near(t,after+1,false);
return oxi_jinja_is_letter(far);}
static size_t oxi_jinja_dash_end(oxi_jinja_value t,size_t at){
const uint32_t before=oxi_jinja_near(t,at,true);
size_t end=at;
while(end<t.length&&t.as.text[end]=='-')end++;
const bool between=oxi_jinja_is_word_code(before)||(before&&before<0x80&&strchr("!\"'&.,?",(int)before));
return end>=at+2&&between&&oxi_jinja_is_word_code(oxi_jinja_near(t,end,false))?end:0;}
static size_t oxi_jinja_piece_end(oxi_jinja_value t,size_t at,bool hyphens){
const bool space=oxi_jinja_wraps_at(t.as.text[at]);
size_t end=at;
if(hyphens&& !space&&t.as.text[at]=='-'&&(end=oxi_jinja_dash_end(t,at))>0)return end;
for(end=at+1;end<t.length&&oxi_jinja_wraps_at(t.as.text[end])==space;end++){
if(!hyphens||space)continue;
if(t.as.text[end-1]=='-'&&end-1>at&&t.as.text[end]!='-'&&oxi_jinja_breaks_behind(t,end))
break;
if(t.as.text[end]=='-'&&t.as.text[end-1]!='-'&&oxi_jinja_dash_end(t,end))break;}
return end;}
static size_t oxi_jinja_long_end(oxi_jinja_value t,size_t at,size_t end,int64_t room,bool hyphens){
const size_t cut=at+oxi_jinja_byte_of(t.as.text+at,end-at,(size_t)room);
for(size_t i=cut;hyphens&&i>at+1;i--){
if(t.as.text[i-1]!='-')continue;
for(size_t k=at;k<i-1;k++)
if(t.as.text[k]!='-')return i;
break;}
return cut;}
typedef struct oxi_jinja_wrap{
int64_t width;
bool breaks,hyphens;
oxi_jinja_value by;}oxi_jinja_wrap;
static void oxi_jinja_wrap_line(oxi_jinja*j,const oxi_jinja_wrap*w,oxi_jinja_value t){
int64_t used=0;
size_t start=0,end=0;
size_t piece=0;
bool any=false;
for(size_t at=0;at<t.length&&oxi_jinja_step(j,1);){
if(at>=piece)piece=oxi_jinja_piece_end(t,at,w->hyphens);
size_t next=piece;
const bool space=oxi_jinja_wraps_at(t.as.text[at]);
int64_t length=(int64_t)oxi_jinja_characters(t.as.text+at,next-at);
if(space&&used==0&&any){
at=next;
start=end=at;
continue;}
if(used+length>w->width){
const bool cuts=length>w->width;
const int64_t room=w->width-used;
if(cuts&&w->breaks&&room>0){
next=oxi_jinja_long_end(t,at,next,room,w->hyphens);
if(!space)end=next;
at=next;}else if(cuts&&used==0){
if(!space)end=next;
at=next;}
if(end>start){
if(any)oxi_jinja_write(j,w->by.as.text,w->by.length);
oxi_jinja_write(j,t.as.text+start,end-start);
any=true;}
start=end=at;
used=0;
continue;}
used+=length;
if(!space)end=next;
at=next;}
if(end>start&&any)oxi_jinja_write(j,w->by.as.text,w->by.length);
if(end>start)oxi_jinja_write(j,t.as.text+start,end-start);}
static oxi_jinja_value oxi_jinja_wordwrap(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_wrap w;
const size_t start=j->out_length;
w.width=oxi_jinja_int_argument(j,a[1],79);
w.breaks=a[2].type==OXI_JINJA_MISSING||oxi_jinja_truth(a[2]);
w.by=a[3].type==OXI_JINJA_STRING?a[3]:oxi_jinja_word("\n");
w.hyphens=a[4].type==OXI_JINJA_MISSING||oxi_jinja_truth(a[4]);
if(!oxi_jinja_text_argument(j,a[0]))return a[0];
const oxi_jinja_value lines=oxi_jinja_lines(j,a[0],false);
for(size_t i=0;!j->status&&i<lines.as.list->count;i++){
if(i)oxi_jinja_write(j,w.by.as.text,w.by.length);
if(w.width<1&&lines.as.list->items[i].length)
return oxi_jinja_fail(j,"wordwrap: a width below 1");
oxi_jinja_wrap_line(j,&w,lines.as.list->items[i]);}
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_filesizeformat(oxi_jinja*j,oxi_jinja_value*a){
static const char*const units[]={"kB","MB","GB","TB","PB","EB","ZB","YB"};
const bool binary=oxi_jinja_truth(a[1]);
const double base=binary?1024:1000;
const size_t start=j->out_length;
double bytes=0,unit=base;
oxi_jinja_spec spec;
if(oxi_jinja_is_number(a[0]))
bytes=oxi_jinja_number(a[0]);
else if(a[0].type!=OXI_JINJA_STRING|| !oxi_jinja_parse_float(j,a[0],&bytes))
return oxi_jinja_fail(j,"filesizeformat of what is no number");
if(bytes!=bytes||fabs(bytes)>1e300)return oxi_jinja_fail(j,"filesizeformat of no finite number");
if(bytes==1)return oxi_jinja_word("1 Byte");
memset(&spec,0,sizeof spec);
spec.fill=' ';
spec.type='f';
spec.precision=1;
if(bytes<base){
if(!(bytes> -9e18))return oxi_jinja_fail(j,"filesizeformat of a number that is too small");
oxi_jinja_write_int(j,(int64_t)bytes);
oxi_jinja_write_text(j," Bytes");
return oxi_jinja_take(j,start);}
size_t i=0;
for(unit=base*base;i<7&&bytes>=unit;i++)unit*=base;
oxi_jinja_write_number(j,oxi_jinja_float(base*bytes/unit),&spec);
oxi_jinja_write(j," ",1);
oxi_jinja_write(j,binary&&i==0?"K":units[i],1);
oxi_jinja_write_text(j,binary?"iB":"B");
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_cut_between(oxi_jinja*j,oxi_jinja_value t,const char*open,
 const char*close){
const oxi_jinja_value first=oxi_jinja_word(open),last=oxi_jinja_word(close);
const size_t start=j->out_length;
size_t at=0;
while(at<t.length&&oxi_jinja_step(j,1)){
const size_t from=oxi_jinja_find_text(j,t,first,at);
const size_t to=from<=t.length?oxi_jinja_find_text(j,t,last,from):from;
if(to>t.length)break;
oxi_jinja_write(j,t.as.text+at,from-at);
at=to+last.length;}
oxi_jinja_write(j,t.as.text+at,t.length-at);
return oxi_jinja_take(j,start);}
static void oxi_jinja_write_entity(oxi_jinja*j,oxi_jinja_value t,size_t*at){
static const struct{
const char*name;
uint32_t code;}names[]={{"amp;",'&'},{"lt;",'<'},{"gt;",'>'},{"quot;",'"'},{"apos;",'\''},{"nbsp;",0xA0},
 {"amp",'&'},{"lt",'<'},{"gt",'>'},{"quot",'"'},{"nbsp",0xA0}};
const size_t left=t.length- *at-1;
const char*text=t.as.text+ *at+1;
size_t end=0;
for(size_t i=0;i<sizeof names/sizeof*names;i++){
const size_t length=strlen(names[i].name);
if(length>left||memcmp(names[i].name,text,length)!=0)continue;
oxi_jinja_write_code(j,names[i].code);
*at+=1+length;
return;}
while(end<left&&end<40&&(oxi_is_digit(text[end])||(text[end]|32)>='a')&&
 (oxi_is_digit(text[end])||(text[end]|32)<='z'))
end++;
if(left&& *text=='#'){
const bool hex=left>1&&(text[1]|32)=='x';
uint32_t code=0;
size_t digits=hex?2:1;
const size_t first=digits;
for(;digits<left&&(hex?oxi_hex_digit(text[digits])>=0:oxi_is_digit(text[digits]));digits++)
if(code<0x1000000)code=code*(hex?16:10)+(uint32_t)oxi_hex_digit(text[digits]);
if(digits>first){
if(digits<left&&text[digits]==';')digits++;
if((code<0x20&&code!='\t'&&code!='\n')||(code>=0x7F&&code<0xA0)||
 (code>=0xD800&&code<0xE000)||code>0x10FFFF)
(void)oxi_jinja_fail(j,"striptags: a character that is not supported");
else
oxi_jinja_write_code(j,code);
*at+=1+digits;
return;}}else if(end&&end<left&&text[end]==';'){
(void)oxi_jinja_fail(j,"striptags: the entity &%.*s; is not supported",(int)end,text);
return;}
oxi_jinja_write(j,"&",1);
++*at;}
static oxi_jinja_value oxi_jinja_striptags(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_value t=oxi_jinja_string(j,a[0]);
t=oxi_jinja_cut_between(j,t,"<!--","-->");
t=oxi_jinja_cut_between(j,t,"<",">");
const size_t start=j->out_length;
bool space=false,any=false;
for(size_t at=0;at<t.length&&oxi_jinja_step(j,1);){
size_t next=at;
const uint32_t code=oxi_utf8_code(t.as.text,t.length,&next);
const bool is_space=oxi_jinja_is_space(code);
if(!is_space&&space&&any)oxi_jinja_write(j," ",1);
space=is_space;
any=any|| !is_space;
if(code=='&')
oxi_jinja_write_entity(j,t,&at);
else{
if(!is_space)oxi_jinja_write(j,t.as.text+at,next-at);
at=next;}}
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_xmlattr(oxi_jinja*j,oxi_jinja_value*a){
const bool spaced=a[1].type==OXI_JINJA_MISSING||oxi_jinja_truth(a[1]);
const size_t start=j->out_length;
bool any=false;
if(a[0].type!=OXI_JINJA_DICT)return oxi_jinja_no_operation(j,"xmlattr",a[0],a[0]);
for(size_t i=0;i<a[0].as.dict->count&&oxi_jinja_step(j,1);i++){
const oxi_jinja_entry*entry= &a[0].as.dict->entries[i];
if(entry->value.type==OXI_JINJA_NONE||entry->value.type==OXI_JINJA_UNDEFINED)continue;
const oxi_jinja_value key=oxi_jinja_escaped(j,entry->key),value=oxi_jinja_escaped(j,entry->value);
if(!oxi_jinja_text_argument(j,entry->key))break;
for(size_t k=0;k<entry->key.length;k++)
if(oxi_jinja_wraps_at(entry->key.as.text[k])||strchr("/>=",entry->key.as.text[k]))
return oxi_jinja_fail(j,"xmlattr: a name with a character that is not allowed");
if(any||spaced)oxi_jinja_write(j," ",1);
any=true;
oxi_jinja_write(j,key.as.text,key.length);
oxi_jinja_write(j,"=\"",2);
oxi_jinja_write(j,value.as.text,value.length);
oxi_jinja_write(j,"\"",1);}
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_urlize(oxi_jinja*j,oxi_jinja_value*a){
(void)a;
return oxi_jinja_fail(j,"urlize is not supported");}
static oxi_jinja_value oxi_jinja_random(oxi_jinja*j,oxi_jinja_value*a){
uint32_t bits[4];
if(a[0].type==OXI_JINJA_GENERATOR||(!oxi_jinja_is_sequence(a[0])&&a[0].type!=OXI_JINJA_STRING))
return oxi_jinja_fail(j,"random of %s",oxi_jinja_type_name(a[0]));
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
if(!items|| !items->count)return oxi_jinja_undefined("a choice of nothing",19);
oxi_philox(j->seed,0,j->randoms++,bits);
return items->items[(((uint64_t)bits[0]<<32|bits[1])%items->count)];}
/* >>llm/template/library/filters_sequence.c */
static oxi_jinja_value oxi_jinja_path(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_value path,
 oxi_jinja_value otherwise){
if(path.type!=OXI_JINJA_STRING)return oxi_jinja_item(j,v,path);
for(size_t at=0;at<=path.length&& !j->status;){
size_t end=at,digits=0;
while(end<path.length&&path.as.text[end]!='.')end++;
oxi_jinja_value part=oxi_jinja_text(path.as.text+at,end-at);
while(digits<part.length&&oxi_is_digit(part.as.text[digits]))digits++;
size_t zero=0;
if(digits&&digits==part.length)
part=oxi_jinja_int(oxi_jinja_small_number(j,part,&zero,100000000));
v=oxi_jinja_item(j,v,part);
if(v.type==OXI_JINJA_UNDEFINED&&otherwise.type!=OXI_JINJA_MISSING)v=otherwise;
at=end+1;}
return v;}
static oxi_jinja_value oxi_jinja_missing(void){
return oxi_jinja_make(OXI_JINJA_MISSING);}
static oxi_jinja_value oxi_jinja_key_of(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_value attribute,
 bool cased){
if(attribute.type!=OXI_JINJA_MISSING&&attribute.type!=OXI_JINJA_NONE)
v=oxi_jinja_path(j,v,attribute,oxi_jinja_missing());
return cased||v.type!=OXI_JINJA_STRING?v:oxi_jinja_map_case(j,v,oxi_jinja_to_lower);}
static oxi_jinja_value oxi_jinja_list_of(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_type type){
const oxi_jinja_list*items=oxi_jinja_iterate(j,v);
oxi_jinja_value list=oxi_jinja_list_new(j,type,items?items->count:0);
for(size_t i=0;items&& !j->status&&i<items->count;i++)
oxi_jinja_push(j,list.as.list,items->items[i]);
return list;}
typedef struct oxi_jinja_order_of{
oxi_jinja*j;
const oxi_jinja_value*keys;
bool reverse;}oxi_jinja_order_of;
static int oxi_jinja_compare_values(const void*user,uint32_t a,uint32_t b){
const oxi_jinja_order_of*order=(const oxi_jinja_order_of*)user;
if(!oxi_jinja_step(order->j,1))return 0;
const int compared=oxi_jinja_compare(order->j,OXI_JINJA_LESS,order->keys[a],order->keys[b])? -1
 :oxi_jinja_compare(order->j,OXI_JINJA_LESS,order->keys[b],order->keys[a])?1:0;
return order->reverse? -compared:compared;}
static oxi_jinja_value oxi_jinja_sorted(oxi_jinja*j,const oxi_jinja_list*items,
 const oxi_jinja_value*keys,bool reverse){
if(j->status|| !items|| !keys)return oxi_jinja_none();
const oxi_jinja_order_of user={j,keys,reverse};
uint32_t*order=(uint32_t*)oxi_jinja_alloc_array(j,items->count,2*sizeof*order);
oxi_jinja_value list=oxi_jinja_list_new(j,OXI_JINJA_LIST,items->count);
if(j->status)return list;
oxi_sort_indexes(order,order+items->count,(uint32_t)items->count,oxi_jinja_compare_values,&user);
for(size_t i=0;i<items->count&& !j->status;i++)
oxi_jinja_push(j,list.as.list,items->items[order[i]]);
return list;}
static oxi_jinja_value*oxi_jinja_keys_of(oxi_jinja*j,const oxi_jinja_list*items,
 oxi_jinja_value attribute,bool cased,bool several){
oxi_jinja_value*keys=items?(oxi_jinja_value*)oxi_jinja_alloc_array(j,items->count,sizeof*keys):NULL;
for(size_t i=0;keys&&i<items->count&& !j->status;i++){
if(!several){
keys[i]=oxi_jinja_key_of(j,items->items[i],attribute,cased);
continue;}
keys[i]=oxi_jinja_list_new(j,OXI_JINJA_LIST,1);
if(attribute.type!=OXI_JINJA_STRING&& !j->status)
oxi_jinja_push(j,keys[i].as.list,oxi_jinja_key_of(j,items->items[i],attribute,cased));
if(attribute.type!=OXI_JINJA_STRING)continue;
for(size_t at=0;at<=attribute.length&& !j->status;){
size_t end=at;
while(end<attribute.length&&attribute.as.text[end]!=',')end++;
const oxi_jinja_value one=oxi_jinja_text(attribute.as.text+at,end-at);
oxi_jinja_push(j,keys[i].as.list,oxi_jinja_key_of(j,items->items[i],one,cased));
at=end+1;}}
return keys;}
static oxi_jinja_value oxi_jinja_sort(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
return oxi_jinja_sorted(j,items,oxi_jinja_keys_of(j,items,a[3],oxi_jinja_truth(a[2]),true),
 oxi_jinja_truth(a[1]));}
static oxi_jinja_value oxi_jinja_entries(oxi_jinja*j,oxi_jinja_value dict,oxi_jinja_type type){
oxi_jinja_value list=oxi_jinja_list_new(j,type,dict.as.dict->count);
for(size_t i=0;i<dict.as.dict->count&& !j->status;i++)
oxi_jinja_push(j,list.as.list,
 oxi_jinja_pair(j,dict.as.dict->entries[i].key,dict.as.dict->entries[i].value));
return list;}
static oxi_jinja_value oxi_jinja_dictsort(oxi_jinja*j,oxi_jinja_value*a){
const bool by_value=oxi_jinja_is_text(a[2],"value");
if(a[0].type==OXI_JINJA_UNDEFINED)return oxi_jinja_of_undefined(j,a[0],oxi_jinja_word("items"));
if(a[0].type!=OXI_JINJA_DICT)return oxi_jinja_fail(j,"dictsort of %s",oxi_jinja_type_name(a[0]));
if(a[2].type!=OXI_JINJA_MISSING&& !by_value&& !oxi_jinja_is_text(a[2],"key"))
return oxi_jinja_fail(j,"dictsort: by is key or value");
const oxi_jinja_value items=oxi_jinja_entries(j,a[0],OXI_JINJA_LIST);
if(j->status)return items;
return oxi_jinja_sorted(j,items.as.list,
 oxi_jinja_keys_of(j,items.as.list,oxi_jinja_int(by_value),oxi_jinja_truth(a[1]),false),
 oxi_jinja_truth(a[3]));}
static oxi_jinja_value oxi_jinja_extreme(oxi_jinja*j,oxi_jinja_value*a,oxi_jinja_operation better){
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
const oxi_jinja_value*keys=oxi_jinja_keys_of(j,items,a[2],oxi_jinja_truth(a[1]),false);
size_t best=0;
if(!keys)return oxi_jinja_none();
if(!items->count)return oxi_jinja_undefined("the least or most of nothing",28);
for(size_t i=1;i<items->count&&oxi_jinja_step(j,1);i++)
if(oxi_jinja_compare(j,better,keys[i],keys[best]))best=i;
return items->items[best];}
static oxi_jinja_value oxi_jinja_min(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_extreme(j,a,OXI_JINJA_LESS);}
static oxi_jinja_value oxi_jinja_max(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_extreme(j,a,OXI_JINJA_GREATER);}
static oxi_jinja_value oxi_jinja_unique(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
oxi_jinja_value list=oxi_jinja_list_new(j,OXI_JINJA_GENERATOR,0),seen=oxi_jinja_dict_new(j);
for(size_t i=0;items&& !j->status&&i<items->count;i++){
const oxi_jinja_value key=oxi_jinja_key_of(j,items->items[i],a[2],oxi_jinja_truth(a[1]));
if(j->status||oxi_jinja_dict_find(j,seen.as.dict,key))continue;
oxi_jinja_dict_set(j,seen.as.dict,key,oxi_jinja_none());
oxi_jinja_push(j,list.as.list,items->items[i]);}
return list;}
static oxi_jinja_value oxi_jinja_groupby(oxi_jinja*j,oxi_jinja_value*a){
const bool cased=oxi_jinja_truth(a[3]);
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
oxi_jinja_value groups=oxi_jinja_list_new(j,OXI_JINJA_LIST,0),last=oxi_jinja_none();
oxi_jinja_value*keys=items?(oxi_jinja_value*)oxi_jinja_alloc_array(j,items->count,sizeof*keys):NULL;
for(size_t i=0;keys&&i<items->count&& !j->status;i++){
keys[i]=oxi_jinja_path(j,items->items[i],a[1],a[2]);
if(!cased)keys[i]=oxi_jinja_key_of(j,keys[i],oxi_jinja_missing(),false);}
const oxi_jinja_value sorted=oxi_jinja_sorted(j,items,keys,false);
for(size_t i=0;!j->status&&i<sorted.as.list->count;i++){
const oxi_jinja_value original=oxi_jinja_path(j,sorted.as.list->items[i],a[1],a[2]);
const oxi_jinja_value key=oxi_jinja_key_of(j,original,oxi_jinja_missing(),cased);
if(i==0|| !oxi_jinja_equal(j,key,last))
oxi_jinja_push(j,groups.as.list,oxi_jinja_pair(j,original,oxi_jinja_list_new(j,OXI_JINJA_LIST,0)));
last=key;
if(j->status)break;
const oxi_jinja_value pair=groups.as.list->items[groups.as.list->count-1];
oxi_jinja_push(j,pair.as.list->items[1].as.list,sorted.as.list->items[i]);}
return groups;}
static oxi_jinja_value oxi_jinja_first(oxi_jinja*j,oxi_jinja_value*a){
if(a[0].type==OXI_JINJA_GENERATOR&&a[0].as.list->count){
a[0].as.list->count--;
if(a[0].as.list->room)a[0].as.list->room--;
return*a[0].as.list->items++;}
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
return items&&items->count?items->items[0]:oxi_jinja_undefined("the first of nothing",20);}
static oxi_jinja_value oxi_jinja_last(oxi_jinja*j,oxi_jinja_value*a){
if(a[0].type==OXI_JINJA_GENERATOR)return oxi_jinja_fail(j,"the last of a generator");
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
if(!items|| !items->count)return oxi_jinja_undefined("the last of nothing",19);
const oxi_jinja_value last=items->items[items->count-1];
return a[0].type==OXI_JINJA_STRING?oxi_jinja_safe_as(last,a[0]):last;}
static oxi_jinja_value oxi_jinja_sum(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
oxi_jinja_value sum=a[2].type==OXI_JINJA_MISSING?oxi_jinja_int(0):a[2];
for(size_t i=0;items&& !j->status&&i<items->count;i++)
sum=oxi_jinja_binary(j,OXI_JINJA_ADD,sum,oxi_jinja_key_of(j,items->items[i],a[1],true));
return sum;}
static oxi_jinja_value oxi_jinja_join(oxi_jinja*j,oxi_jinja_value*a){
const size_t start=j->out_length;
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
for(size_t i=0;items&& !j->status&&i<items->count;i++){
if(i&&a[1].type!=OXI_JINJA_MISSING)oxi_jinja_write_value(j,a[1]);
oxi_jinja_write_value(j,oxi_jinja_key_of(j,items->items[i],a[2],true));}
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_to_list(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_list_of(j,a[0],OXI_JINJA_LIST);}
static oxi_jinja_value oxi_jinja_reverse(oxi_jinja*j,oxi_jinja_value*a){
const size_t start=j->out_length;
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
if(a[0].type==OXI_JINJA_STRING){
for(size_t i=items?items->count:0;i>0&& !j->status;i--)
oxi_jinja_write(j,items->items[i-1].as.text,items->items[i-1].length);
return oxi_jinja_safe_as(oxi_jinja_take(j,start),a[0]);}
oxi_jinja_value list=oxi_jinja_list_new(j,OXI_JINJA_GENERATOR,0);
for(size_t i=items?items->count:0;i>0&& !j->status;i--)
oxi_jinja_push(j,list.as.list,items->items[i-1]);
return list;}
static oxi_jinja_value oxi_jinja_filter_items(oxi_jinja*j,oxi_jinja_value*a){
if(a[0].type==OXI_JINJA_UNDEFINED)return oxi_jinja_list_new(j,OXI_JINJA_GENERATOR,0);
if(a[0].type==OXI_JINJA_DICT)return oxi_jinja_entries(j,a[0],OXI_JINJA_GENERATOR);
return oxi_jinja_fail(j,"items of %s",oxi_jinja_type_name(a[0]));}
static oxi_jinja_value oxi_jinja_batch(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
const int64_t size=oxi_jinja_int_argument(j,a[1],1);
oxi_jinja_value batches=oxi_jinja_list_new(j,OXI_JINJA_GENERATOR,0),batch=oxi_jinja_none();
if(size<1)return oxi_jinja_fail(j,"batch: a size below 1");
for(size_t i=0;items&& !j->status&&i<items->count;i++){
if((int64_t)i%size==0){
batch=oxi_jinja_list_new(j,OXI_JINJA_LIST,0);
oxi_jinja_push(j,batches.as.list,batch);}
if(!j->status)oxi_jinja_push(j,batch.as.list,items->items[i]);}
const bool fills=a[2].type!=OXI_JINJA_MISSING&&a[2].type!=OXI_JINJA_NONE;
while(fills&& !j->status&&batch.type==OXI_JINJA_LIST&&(int64_t)batch.as.list->count<size)
oxi_jinja_push(j,batch.as.list,a[2]);
return batches;}
static oxi_jinja_value oxi_jinja_filter_slice(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[0]);
const int64_t count=oxi_jinja_int_argument(j,a[1],1);
oxi_jinja_value columns=oxi_jinja_list_new(j,OXI_JINJA_GENERATOR,0);
if(count<1)return oxi_jinja_fail(j,"slice: fewer than 1");
if(!items)return columns;
const int64_t length=(int64_t)items->count,each=length/count,more=length%count;
size_t at=0;
for(int64_t c=0;c<count&& !j->status;c++){
oxi_jinja_value column=oxi_jinja_list_new(j,OXI_JINJA_LIST,0);
for(int64_t i=0;i<each+(c<more)&& !j->status;i++)
oxi_jinja_push(j,column.as.list,items->items[at++]);
if(a[2].type!=OXI_JINJA_MISSING&&a[2].type!=OXI_JINJA_NONE&&c>=more&& !j->status)
oxi_jinja_push(j,column.as.list,a[2]);
oxi_jinja_push(j,columns.as.list,column);}
return columns;}
static oxi_jinja_arguments oxi_jinja_arguments_of(oxi_jinja*j,oxi_jinja_value rest,size_t from,
 oxi_jinja_value keywords){
oxi_jinja_arguments arguments;
memset(&arguments,0,sizeof arguments);
const size_t count=rest.as.list->count>from?rest.as.list->count-from:0;
const size_t named=keywords.type==OXI_JINJA_DICT?keywords.as.dict->count:0;
oxi_jinja_value*items=(oxi_jinja_value*)oxi_jinja_alloc_array(j,count+2*named,sizeof*items);
if(!items)return arguments;
if(count)memcpy(items,rest.as.list->items+from,count*sizeof*items);
arguments.items=items;
arguments.names=items+count+named;
arguments.positional=count;
arguments.keywords=named;
for(size_t i=0;i<named;i++){
items[count+i]=keywords.as.dict->entries[i].value;
arguments.names[i]=keywords.as.dict->entries[i].key;}
return arguments;}
static const oxi_jinja_list*oxi_jinja_iterate_any(oxi_jinja*j,oxi_jinja_value v){
return oxi_jinja_truth(v)?oxi_jinja_iterate(j,v):NULL;}
static oxi_jinja_value oxi_jinja_map_attribute(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_dict*keywords=a[2].as.dict;
const oxi_jinja_list*items=oxi_jinja_iterate_any(j,a[0]);
const oxi_jinja_value*path=oxi_jinja_dict_find(j,keywords,oxi_jinja_word("attribute"));
const oxi_jinja_value*otherwise=oxi_jinja_dict_find(j,keywords,oxi_jinja_word("default"));
oxi_jinja_value list=oxi_jinja_list_new(j,OXI_JINJA_GENERATOR,0);
if(!path||keywords->count>(otherwise?2u:1u))
return oxi_jinja_fail(j,"map wants a filter's name or an attribute");
for(size_t i=0;items&& !j->status&&i<items->count;i++)
oxi_jinja_push(j,list.as.list,
 oxi_jinja_path(j,items->items[i],*path,otherwise? *otherwise:oxi_jinja_missing()));
return list;}
static oxi_jinja_value oxi_jinja_map(oxi_jinja*j,oxi_jinja_value*a){
if(!a[1].as.list->count)return oxi_jinja_map_attribute(j,a);
const oxi_jinja_value name=a[1].as.list->items[0];
const oxi_jinja_function*filter=oxi_jinja_find_filter(name);
const oxi_jinja_arguments arguments=oxi_jinja_arguments_of(j,a[1],1,a[2]);
const oxi_jinja_list*items=oxi_jinja_iterate_any(j,a[0]);
oxi_jinja_value list=oxi_jinja_list_new(j,OXI_JINJA_GENERATOR,0);
if(!filter)return oxi_jinja_fail(j,"map: there is no such filter");
if(oxi_jinja_enter(j))
for(size_t i=0;items&& !j->status&&i<items->count;i++)
oxi_jinja_push(j,list.as.list,oxi_jinja_apply(j,filter,&items->items[i],&arguments));
oxi_jinja_leave(j);
return list;}
static oxi_jinja_value oxi_jinja_choose(oxi_jinja*j,oxi_jinja_value*a,bool by_attribute,bool wanted){
const size_t at=by_attribute?1:0;
const oxi_jinja_list*given=a[1].as.list,*items=oxi_jinja_iterate_any(j,a[0]);
const oxi_jinja_function*test=given->count>at?oxi_jinja_find_test(given->items[at]):NULL;
const oxi_jinja_arguments arguments=oxi_jinja_arguments_of(j,a[1],at+1,a[2]);
oxi_jinja_value list=oxi_jinja_list_new(j,OXI_JINJA_GENERATOR,0);
if(by_attribute&& !given->count)return oxi_jinja_fail(j,"an attribute is missing");
if(given->count>at&& !test)return oxi_jinja_fail(j,"there is no such test");
for(size_t i=0;items&& !j->status&&i<items->count;i++){
oxi_jinja_value v=items->items[i];
if(by_attribute)v=oxi_jinja_path(j,v,given->items[0],oxi_jinja_missing());
if(test)v=oxi_jinja_apply(j,test,&v,&arguments);
if(oxi_jinja_truth(v)==wanted)oxi_jinja_push(j,list.as.list,items->items[i]);}
return list;}
static oxi_jinja_value oxi_jinja_select(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_choose(j,a,false,true);}
static oxi_jinja_value oxi_jinja_reject(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_choose(j,a,false,false);}
static oxi_jinja_value oxi_jinja_selectattr(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_choose(j,a,true,true);}
static oxi_jinja_value oxi_jinja_rejectattr(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_choose(j,a,true,false);}
static const oxi_jinja_function oxi_jinja_filters[]={
{"abs","",oxi_jinja_abs},{"attr","name",oxi_jinja_filter_attr},
 {"batch","linecount fill_with?",oxi_jinja_batch},{"capitalize","",oxi_jinja_capitalize},
 {"center","width?",oxi_jinja_center},{"count","",oxi_jinja_filter_length},
 {"d","default_value? boolean?",oxi_jinja_default},{"default","default_value? boolean?",oxi_jinja_default},
 {"dictsort","case_sensitive? by? reverse?",oxi_jinja_dictsort},{"e","",oxi_jinja_filter_escape},
 {"escape","",oxi_jinja_filter_escape},{"filesizeformat","binary?",oxi_jinja_filesizeformat},
 {"first","",oxi_jinja_first},{"float","default?",oxi_jinja_to_float},
 {"forceescape","",oxi_jinja_filter_forceescape},{"format","* **",oxi_jinja_filter_format},
 {"groupby","attribute default? case_sensitive?",oxi_jinja_groupby},
 {"indent","width? first? blank?",oxi_jinja_indent},{"int","default? base?",oxi_jinja_to_int},
 {"items","",oxi_jinja_filter_items},{"join","d? attribute?",oxi_jinja_join},{"last","",oxi_jinja_last},
 {"length","",oxi_jinja_filter_length},{"list","",oxi_jinja_to_list},{"lower","",oxi_jinja_lower},
 {"map","* **",oxi_jinja_map},{"max","case_sensitive? attribute?",oxi_jinja_max},
 {"min","case_sensitive? attribute?",oxi_jinja_min},{"pprint","",oxi_jinja_pprint},
 {"random","",oxi_jinja_random},{"reject","* **",oxi_jinja_reject},
 {"rejectattr","* **",oxi_jinja_rejectattr},{"replace","old new count?",oxi_jinja_replace},
 {"reverse","",oxi_jinja_reverse},{"round","precision? method?",oxi_jinja_round},
 {"safe","",oxi_jinja_filter_safe},{"select","* **",oxi_jinja_select},
 {"selectattr","* **",oxi_jinja_selectattr},{"slice","slices fill_with?",oxi_jinja_filter_slice},
 {"sort","reverse? case_sensitive? attribute?",oxi_jinja_sort},{"string","",oxi_jinja_to_string},
 {"striptags","",oxi_jinja_striptags},{"sum","attribute? start?",oxi_jinja_sum},
 {"title","",oxi_jinja_title},{"tojson","ensure_ascii? indent? separators? sort_keys?",oxi_jinja_tojson},
 {"trim","chars?",oxi_jinja_trim},{"truncate","length? killwords? end? leeway?",oxi_jinja_truncate},
 {"unique","case_sensitive? attribute?",oxi_jinja_unique},{"upper","",oxi_jinja_upper},
 {"urlencode","",oxi_jinja_urlencode},{"urlize","* **",oxi_jinja_urlize},
 {"wordcount","",oxi_jinja_wordcount},
 {"wordwrap","width? break_long_words? wrapstring? break_on_hyphens?",oxi_jinja_wordwrap},
 {"xmlattr","autospace?",oxi_jinja_xmlattr},};
static const oxi_jinja_function*oxi_jinja_find_filter(oxi_jinja_value name){
return oxi_jinja_find_row(oxi_jinja_filters,sizeof oxi_jinja_filters/sizeof*oxi_jinja_filters,name);}
/* >>llm/template/library/tests.c */
#define OXI_JINJA_TYPE_TEST(name,types) \
static oxi_jinja_value oxi_jinja_is_##name(oxi_jinja*j,oxi_jinja_value*a){ \
(void)j; \
return oxi_jinja_bool(((types)>>a[0].type&1)!=0);}
#define OXI_JINJA_BIT(type)(1u <<OXI_JINJA_##type)
#define OXI_JINJA_INDEXED \
(OXI_JINJA_BIT(STRING)|OXI_JINJA_BIT(LIST)|OXI_JINJA_BIT(TUPLE)|OXI_JINJA_BIT(RANGE)|OXI_JINJA_BIT(DICT))
OXI_JINJA_TYPE_TEST(undefined,OXI_JINJA_BIT(UNDEFINED))
OXI_JINJA_TYPE_TEST(defined,~OXI_JINJA_BIT(UNDEFINED))
OXI_JINJA_TYPE_TEST(none,OXI_JINJA_BIT(NONE))
OXI_JINJA_TYPE_TEST(boolean,OXI_JINJA_BIT(BOOL))
OXI_JINJA_TYPE_TEST(integer,OXI_JINJA_BIT(INT))
OXI_JINJA_TYPE_TEST(float_number,OXI_JINJA_BIT(FLOAT))
OXI_JINJA_TYPE_TEST(any_number,OXI_JINJA_BIT(BOOL)|OXI_JINJA_BIT(INT)|OXI_JINJA_BIT(FLOAT))
OXI_JINJA_TYPE_TEST(string,OXI_JINJA_BIT(STRING))
OXI_JINJA_TYPE_TEST(mapping,OXI_JINJA_BIT(DICT))
OXI_JINJA_TYPE_TEST(any_sequence,OXI_JINJA_INDEXED|OXI_JINJA_BIT(UNDEFINED))
OXI_JINJA_TYPE_TEST(iterable,OXI_JINJA_INDEXED|OXI_JINJA_BIT(UNDEFINED)|OXI_JINJA_BIT(VIEW)|
 OXI_JINJA_BIT(GENERATOR)|OXI_JINJA_BIT(LOOP))
OXI_JINJA_TYPE_TEST(callable,OXI_JINJA_BIT(MACRO)|OXI_JINJA_BIT(FUNCTION)|OXI_JINJA_BIT(LOOP)|
 OXI_JINJA_BIT(JOINER)|OXI_JINJA_BIT(UNDEFINED))
static oxi_jinja_value oxi_jinja_is_escaped(oxi_jinja*j,oxi_jinja_value*a){
(void)j;
return oxi_jinja_bool(a[0].type==OXI_JINJA_STRING&&a[0].safe);}
static oxi_jinja_value oxi_jinja_is_true(oxi_jinja*j,oxi_jinja_value*a){
(void)j;
return oxi_jinja_bool(a[0].type==OXI_JINJA_BOOL&&a[0].as.i);}
static oxi_jinja_value oxi_jinja_is_false(oxi_jinja*j,oxi_jinja_value*a){
(void)j;
return oxi_jinja_bool(a[0].type==OXI_JINJA_BOOL&& !a[0].as.i);}
#define OXI_JINJA_COMPARE_TEST(name,operation) \
static oxi_jinja_value oxi_jinja_is_##name(oxi_jinja*j,oxi_jinja_value*a){ \
return oxi_jinja_bool(oxi_jinja_compare(j,operation,a[0],a[1]));}
OXI_JINJA_COMPARE_TEST(eq,OXI_JINJA_EQUAL)
OXI_JINJA_COMPARE_TEST(ne,OXI_JINJA_NOT_EQUAL)
OXI_JINJA_COMPARE_TEST(lt,OXI_JINJA_LESS)
OXI_JINJA_COMPARE_TEST(le,OXI_JINJA_LESS_EQUAL)
OXI_JINJA_COMPARE_TEST(gt,OXI_JINJA_GREATER)
OXI_JINJA_COMPARE_TEST(ge,OXI_JINJA_GREATER_EQUAL)
OXI_JINJA_COMPARE_TEST(in,OXI_JINJA_IN)
static oxi_jinja_value oxi_jinja_remainder_is(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_value divisor,
 int64_t wanted){
if(!oxi_jinja_is_number(v))return oxi_jinja_no_operation(j,"no remainder",v,divisor);
return oxi_jinja_bool(
 oxi_jinja_equal(j,oxi_jinja_binary(j,OXI_JINJA_MODULO,v,divisor),oxi_jinja_int(wanted)));}
static oxi_jinja_value oxi_jinja_is_odd(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_remainder_is(j,a[0],oxi_jinja_int(2),1);}
static oxi_jinja_value oxi_jinja_is_even(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_remainder_is(j,a[0],oxi_jinja_int(2),0);}
static oxi_jinja_value oxi_jinja_is_divisibleby(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_remainder_is(j,a[0],a[1],0);}
static oxi_jinja_value oxi_jinja_all_in_case(oxi_jinja*j,oxi_jinja_value v,uint32_t(*of)(uint32_t)){
const oxi_jinja_value text=oxi_jinja_string(j,v);
bool any=false;
for(size_t at=0;at<text.length&&oxi_jinja_step(j,1);){
const uint32_t code=oxi_utf8_code(text.as.text,text.length,&at);
if(of(code)!=code)return oxi_jinja_bool(false);
any=any||oxi_jinja_is_cased(code);}
return oxi_jinja_bool(any);}
static oxi_jinja_value oxi_jinja_is_lower(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_all_in_case(j,a[0],oxi_jinja_to_lower);}
static oxi_jinja_value oxi_jinja_is_upper(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_all_in_case(j,a[0],oxi_jinja_to_upper);}
static oxi_jinja_value oxi_jinja_is_sameas(oxi_jinja*j,oxi_jinja_value*a){
(void)j;
const bool same_value=a[0].type==OXI_JINJA_NONE||(a[0].type==OXI_JINJA_STRING&&a[0].length==a[1].length&&
 a[0].safe==a[1].safe&&(a[0].length==0||memcmp(a[0].as.text,a[1].as.text,a[0].length)==0))||
 (a[0].type!=OXI_JINJA_STRING&&a[0].as.i==a[1].as.i);
return oxi_jinja_bool(a[0].type==a[1].type&&same_value);}
static oxi_jinja_value oxi_jinja_is_filter(oxi_jinja*j,oxi_jinja_value*a){
(void)j;
return oxi_jinja_bool(oxi_jinja_find_filter(a[0])!=NULL);}
static oxi_jinja_value oxi_jinja_is_test(oxi_jinja*j,oxi_jinja_value*a){
(void)j;
return oxi_jinja_bool(oxi_jinja_find_test(a[0])!=NULL);}
static const oxi_jinja_function oxi_jinja_tests[]={
{"boolean","",oxi_jinja_is_boolean},{"callable","",oxi_jinja_is_callable},
 {"defined","",oxi_jinja_is_defined},{"divisibleby","num",oxi_jinja_is_divisibleby},
 {"eq","other",oxi_jinja_is_eq},{"equalto","other",oxi_jinja_is_eq},
 {"==","other",oxi_jinja_is_eq},{"escaped","",oxi_jinja_is_escaped},
 {"even","",oxi_jinja_is_even},{"false","",oxi_jinja_is_false},
 {"filter","",oxi_jinja_is_filter},{"float","",oxi_jinja_is_float_number},
 {"ge","other",oxi_jinja_is_ge},{">=","other",oxi_jinja_is_ge},
 {"greaterthan","other",oxi_jinja_is_gt},{"gt","other",oxi_jinja_is_gt},
 {">","other",oxi_jinja_is_gt},{"in","seq",oxi_jinja_is_in},
 {"integer","",oxi_jinja_is_integer},{"iterable","",oxi_jinja_is_iterable},
 {"le","other",oxi_jinja_is_le},{"<=","other",oxi_jinja_is_le},
 {"lessthan","other",oxi_jinja_is_lt},{"lower","",oxi_jinja_is_lower},
 {"lt","other",oxi_jinja_is_lt},{"<","other",oxi_jinja_is_lt},
 {"mapping","",oxi_jinja_is_mapping},{"ne","other",oxi_jinja_is_ne},
 {"!=","other",oxi_jinja_is_ne},{"none","",oxi_jinja_is_none},
 {"number","",oxi_jinja_is_any_number},{"odd","",oxi_jinja_is_odd},
 {"sameas","other",oxi_jinja_is_sameas},{"sequence","",oxi_jinja_is_any_sequence},
 {"string","",oxi_jinja_is_string},{"test","",oxi_jinja_is_test},
 {"true","",oxi_jinja_is_true},{"undefined","",oxi_jinja_is_undefined},{"upper","",oxi_jinja_is_upper},};
static const oxi_jinja_function*oxi_jinja_find_test(oxi_jinja_value name){
return oxi_jinja_find_row(oxi_jinja_tests,sizeof oxi_jinja_tests/sizeof*oxi_jinja_tests,name);}
/* >>llm/template/library/methods.c */
static oxi_jinja_value oxi_jinja_str_strip(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_strip(j,a[0],a[1],true,true);}
static oxi_jinja_value oxi_jinja_str_lstrip(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_strip(j,a[0],a[1],true,false);}
static oxi_jinja_value oxi_jinja_str_rstrip(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_strip(j,a[0],a[1],false,true);}
static oxi_jinja_value oxi_jinja_str_title(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_title_of(j,a[0],false);}
static void oxi_jinja_split_spaces(oxi_jinja*j,oxi_jinja_value text,int64_t most,bool right,
 oxi_jinja_list*out){
const oxi_jinja_value none=oxi_jinja_none();
oxi_jinja_value rest=oxi_jinja_strip(j,text,none,!right,right);
while(rest.length&& !j->status){
size_t end=0,at=rest.length;
if(most-- ==0){
oxi_jinja_push(j,out,rest);
return;}
if(right){
while(at>0){
size_t start=at-1;
while(start>0&&((unsigned char)rest.as.text[start]&0xC0)==0x80)start--;
size_t next=start;
if(oxi_jinja_is_space(oxi_utf8_code(rest.as.text,rest.length,&next)))break;
at=start;}
oxi_jinja_push(j,out,oxi_jinja_text(rest.as.text+at,rest.length-at));
rest=oxi_jinja_strip(j,oxi_jinja_text(rest.as.text,at),none,false,true);
continue;}
while(end<rest.length){
size_t next=end;
if(oxi_jinja_is_space(oxi_utf8_code(rest.as.text,rest.length,&next)))break;
end=next;}
oxi_jinja_push(j,out,oxi_jinja_text(rest.as.text,end));
rest=oxi_jinja_strip(j,oxi_jinja_text(rest.as.text+end,rest.length-end),none,true,false);}}
static size_t oxi_jinja_rfind_text(oxi_jinja*j,oxi_jinja_value text,oxi_jinja_value part,size_t end){
if(part.length>end)return(size_t)text.length+1;
for(size_t at=end-part.length+1;at-- >0;){
if(part.length&&text.as.text[at]!=part.as.text[0])continue;
if(!oxi_jinja_step(j,1+part.length/64))break;
if(part.length==0||memcmp(text.as.text+at,part.as.text,part.length)==0)return at;}
return(size_t)text.length+1;}
static void oxi_jinja_split_by(oxi_jinja*j,oxi_jinja_value text,oxi_jinja_value by,int64_t most,
 bool right,oxi_jinja_list*out){
size_t start=0,end=text.length;
for(;most!=0&& !j->status;most--){
const size_t hit=right?oxi_jinja_rfind_text(j,text,by,end):oxi_jinja_find_text(j,text,by,start);
if(hit>text.length)break;
if(right){
oxi_jinja_push(j,out,oxi_jinja_text(text.as.text+hit+by.length,end-hit-by.length));
end=hit;}else{
oxi_jinja_push(j,out,oxi_jinja_text(text.as.text+start,hit-start));
start=hit+by.length;}}
oxi_jinja_push(j,out,oxi_jinja_text(text.as.text+start,end-start));}
static oxi_jinja_value oxi_jinja_split_from(oxi_jinja*j,oxi_jinja_value*a,bool right){
const int64_t most=oxi_jinja_int_argument(j,a[2],-1);
const bool spaces=a[1].type==OXI_JINJA_MISSING||a[1].type==OXI_JINJA_NONE;
oxi_jinja_value list=oxi_jinja_list_new(j,OXI_JINJA_LIST,0);
if(j->status||(!spaces&& !oxi_jinja_text_argument(j,a[1])))return list;
if(!spaces&&a[1].length==0)return oxi_jinja_fail(j,"split: an empty separator");
if(spaces)
oxi_jinja_split_spaces(j,a[0],most,right,list.as.list);
else
oxi_jinja_split_by(j,a[0],a[1],most,right,list.as.list);
for(size_t i=0;right&& !j->status&&i<list.as.list->count/2;i++){
oxi_jinja_value*x= &list.as.list->items[i],*y= &list.as.list->items[list.as.list->count-1-i];
const oxi_jinja_value kept= *x;
*x= *y;
*y=kept;}
return list;}
static oxi_jinja_value oxi_jinja_str_split(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_split_from(j,a,false);}
static oxi_jinja_value oxi_jinja_str_rsplit(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_split_from(j,a,true);}
static oxi_jinja_value oxi_jinja_str_splitlines(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_lines(j,a[0],oxi_jinja_truth(a[1]));}
static oxi_jinja_value oxi_jinja_partition_at(oxi_jinja*j,oxi_jinja_value*a,bool right){
oxi_jinja_value parts=oxi_jinja_list_new(j,OXI_JINJA_TUPLE,3);
const oxi_jinja_value nothing=oxi_jinja_word("");
if(!oxi_jinja_text_argument(j,a[1])|| !a[1].length)
return oxi_jinja_fail(j,"partition: no separator");
const size_t hit=right?oxi_jinja_rfind_text(j,a[0],a[1],a[0].length):oxi_jinja_find_text(j,a[0],a[1],0);
if(j->status)return parts;
const bool found=hit<=a[0].length;
const size_t behind=found?hit+a[1].length:0;
const oxi_jinja_value before=oxi_jinja_text(a[0].as.text,found?hit:0);
const oxi_jinja_value after=oxi_jinja_text(a[0].as.text+behind,a[0].length-behind);
oxi_jinja_push(j,parts.as.list,found?before:right?nothing:a[0]);
oxi_jinja_push(j,parts.as.list,found?a[1]:nothing);
oxi_jinja_push(j,parts.as.list,found?after:right?a[0]:nothing);
return parts;}
static oxi_jinja_value oxi_jinja_str_partition(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_partition_at(j,a,false);}
static oxi_jinja_value oxi_jinja_str_rpartition(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_partition_at(j,a,true);}
static bool oxi_jinja_cut(oxi_jinja*j,oxi_jinja_value*a,size_t at,oxi_jinja_value*text,int64_t*start){
const int64_t length=oxi_jinja_length(j,a[0]);
*start=0;
if(a[at].type==OXI_JINJA_INT&&a[at].as.i>length)return false;
*start=oxi_jinja_bound_of(j,a[at],length,0,length,0);
const int64_t stop=oxi_jinja_bound_of(j,a[at+1],length,0,length,length);
*text=j->status?a[0]:oxi_jinja_slice_text(j,a[0],*start,stop,1);
return!j->status&&stop>= *start;}
static bool oxi_jinja_has_end(oxi_jinja_value text,oxi_jinja_value part,bool at_start){
return part.type==OXI_JINJA_STRING&&part.length<=text.length&&
 memcmp(text.as.text+(at_start?0:text.length-part.length),part.as.text,part.length)==0;}
static oxi_jinja_value oxi_jinja_any_end(oxi_jinja*j,oxi_jinja_value*a,bool at_start){
int64_t start;
oxi_jinja_value text;
if(a[1].type!=OXI_JINJA_TUPLE&& !oxi_jinja_text_argument(j,a[1]))return a[0];
if(!oxi_jinja_cut(j,a,2,&text,&start))return oxi_jinja_bool(false);
if(a[1].type==OXI_JINJA_STRING)return oxi_jinja_bool(oxi_jinja_has_end(text,a[1],at_start));
for(size_t i=0;i<a[1].as.list->count;i++){
if(!oxi_jinja_text_argument(j,a[1].as.list->items[i]))break;
if(oxi_jinja_has_end(text,a[1].as.list->items[i],at_start))return oxi_jinja_bool(true);}
return oxi_jinja_bool(false);}
static oxi_jinja_value oxi_jinja_str_startswith(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_any_end(j,a,true);}
static oxi_jinja_value oxi_jinja_str_endswith(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_any_end(j,a,false);}
static oxi_jinja_value oxi_jinja_str_replace(oxi_jinja*j,oxi_jinja_value*a){
if(!oxi_jinja_text_argument(j,a[1])|| !oxi_jinja_text_argument(j,a[2]))return a[0];
if(a[0].safe)a[2]=oxi_jinja_escaped(j,a[2]);
return oxi_jinja_replace_in(j,a[0],a[1],a[2],oxi_jinja_int_argument(j,a[3],-1));}
static oxi_jinja_value oxi_jinja_str_join(oxi_jinja*j,oxi_jinja_value*a){
const size_t start=j->out_length;
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[1]);
for(size_t i=0;items&& !j->status&&i<items->count;i++){
if(!a[0].safe&& !oxi_jinja_text_argument(j,items->items[i]))break;
if(i)oxi_jinja_write(j,a[0].as.text,a[0].length);
const oxi_jinja_value item=a[0].safe?oxi_jinja_escaped(j,items->items[i]):items->items[i];
oxi_jinja_write(j,item.as.text,item.length);}
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_position_of(oxi_jinja*j,oxi_jinja_value*a,bool right,bool must){
int64_t start=0;
oxi_jinja_value text=a[0];
if(!oxi_jinja_text_argument(j,a[1]))return a[0];
const bool within=oxi_jinja_cut(j,a,2,&text,&start);
const size_t hit= !within?(size_t)text.length+1:right?oxi_jinja_rfind_text(j,text,a[1],text.length)
 :oxi_jinja_find_text(j,text,a[1],0);
if(hit<=text.length)return oxi_jinja_int(start+(int64_t)oxi_jinja_characters(text.as.text,hit));
return must?oxi_jinja_fail(j,"index: there is no such part"):oxi_jinja_int(-1);}
static oxi_jinja_value oxi_jinja_str_find(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_position_of(j,a,false,false);}
static oxi_jinja_value oxi_jinja_str_rfind(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_position_of(j,a,true,false);}
static oxi_jinja_value oxi_jinja_str_index(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_position_of(j,a,false,true);}
static oxi_jinja_value oxi_jinja_str_count(oxi_jinja*j,oxi_jinja_value*a){
int64_t start,count=0;
oxi_jinja_value text;
if(!oxi_jinja_text_argument(j,a[1])|| !oxi_jinja_cut(j,a,2,&text,&start))return oxi_jinja_int(0);
if(!a[1].length)return oxi_jinja_int(oxi_jinja_length(j,text)+1);
for(size_t at=0;!j->status;count++){
at=oxi_jinja_find_text(j,text,a[1],at);
if(at>text.length)break;
at+=a[1].length;}
return oxi_jinja_int(count);}
static oxi_jinja_value oxi_jinja_str_format(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_brace_format(j,a[0],a[1],a[2]);}
static oxi_jinja_value oxi_jinja_str_removeprefix(oxi_jinja*j,oxi_jinja_value*a){
if(!oxi_jinja_text_argument(j,a[1])|| !oxi_jinja_has_end(a[0],a[1],true))return a[0];
return oxi_jinja_text(a[0].as.text+a[1].length,a[0].length-a[1].length);}
static oxi_jinja_value oxi_jinja_str_removesuffix(oxi_jinja*j,oxi_jinja_value*a){
if(!oxi_jinja_text_argument(j,a[1])|| !oxi_jinja_has_end(a[0],a[1],false))return a[0];
return oxi_jinja_text(a[0].as.text,a[0].length-a[1].length);}
static oxi_jinja_value oxi_jinja_justify(oxi_jinja*j,oxi_jinja_value*a,char align){
const bool filled=a[2].type==OXI_JINJA_STRING;
if(filled&&(a[2].length!=1||(unsigned char)a[2].as.text[0]>=0x80))
return oxi_jinja_fail(j,"the fill is not one ASCII character");
return oxi_jinja_center_in(j,a[0],oxi_jinja_int_argument(j,a[1],0),filled?a[2].as.text[0]:' ',align);}
static oxi_jinja_value oxi_jinja_str_ljust(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_justify(j,a,'<');}
static oxi_jinja_value oxi_jinja_str_rjust(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_justify(j,a,'>');}
static oxi_jinja_value oxi_jinja_str_center(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_justify(j,a,'^');}
static oxi_jinja_value oxi_jinja_str_isspace(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_bool(a[0].length&& !oxi_jinja_strip(j,a[0],oxi_jinja_none(),true,false).length);}
static oxi_jinja_value oxi_jinja_str_isdigit(oxi_jinja*j,oxi_jinja_value*a){
(void)j;
for(size_t i=0;i<a[0].length;i++)
if(!oxi_is_digit(a[0].as.text[i]))return oxi_jinja_bool(false);
return oxi_jinja_bool(a[0].length>0);}
static oxi_jinja_value oxi_jinja_list_append(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_push(j,a[0].as.list,a[1]);
return oxi_jinja_none();}
static oxi_jinja_value oxi_jinja_list_extend(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_list*more=oxi_jinja_iterate(j,a[1]);
const size_t count=more?more->count:0;
for(size_t i=0;i<count&& !j->status;i++)oxi_jinja_push(j,a[0].as.list,more->items[i]);
return oxi_jinja_none();}
static oxi_jinja_value oxi_jinja_list_insert(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_list*list=a[0].as.list;
const int64_t count=(int64_t)list->count;
const int64_t at=oxi_jinja_bound_of(j,a[1],count,0,count,0);
oxi_jinja_push(j,list,a[2]);
if(j->status|| !oxi_jinja_step(j,list->count/16))return a[0];
memmove(list->items+at+1,list->items+at,(size_t)(count-at)*sizeof*list->items);
list->items[at]=a[2];
return oxi_jinja_none();}
static oxi_jinja_value oxi_jinja_list_pop(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_list*list=a[0].as.list;
int64_t at=oxi_jinja_int_argument(j,a[1],-1);
if(at<0)at+=(int64_t)list->count;
if(at<0||at>=(int64_t)list->count)return oxi_jinja_fail(j,"pop: there is no such element");
const oxi_jinja_value v=list->items[at];
if(!oxi_jinja_step(j,list->count/16))return v;
memmove(list->items+at,list->items+at+1,(list->count-(size_t)at-1)*sizeof v);
list->count--;
return v;}
static oxi_jinja_value oxi_jinja_list_reverse(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_list*list=a[0].as.list;
if(!oxi_jinja_step(j,list->count/16))return a[0];
for(size_t i=0;i<list->count/2;i++){
const oxi_jinja_value kept=list->items[i];
list->items[i]=list->items[list->count-1-i];
list->items[list->count-1-i]=kept;}
return oxi_jinja_none();}
static oxi_jinja_value oxi_jinja_list_index(oxi_jinja*j,oxi_jinja_value*a){
for(size_t i=0;i<a[0].as.list->count&&oxi_jinja_step(j,1);i++)
if(oxi_jinja_equal(j,a[0].as.list->items[i],a[1]))return oxi_jinja_int((int64_t)i);
return oxi_jinja_fail(j,"index: there is no such element");}
static oxi_jinja_value oxi_jinja_list_count(oxi_jinja*j,oxi_jinja_value*a){
int64_t count=0;
for(size_t i=0;i<a[0].as.list->count&&oxi_jinja_step(j,1);i++)
count+=oxi_jinja_equal(j,a[0].as.list->items[i],a[1]);
return oxi_jinja_int(count);}
static oxi_jinja_value oxi_jinja_list_copy(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_list_of(j,a[0],OXI_JINJA_LIST);}
static oxi_jinja_value oxi_jinja_view(oxi_jinja*j,oxi_jinja_value dict,const char*name,int which){
oxi_jinja_value list=oxi_jinja_list_new(j,OXI_JINJA_VIEW,dict.as.dict->count);
for(size_t i=0;i<dict.as.dict->count&& !j->status;i++){
const oxi_jinja_entry entry=dict.as.dict->entries[i];
oxi_jinja_push(j,list.as.list,which==0?entry.key:which==1?entry.value
 :oxi_jinja_pair(j,entry.key,entry.value));}
if(!j->status)list.as.list->name=name;
return list;}
static oxi_jinja_value oxi_jinja_dict_keys(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_view(j,a[0],"dict_keys",0);}
static oxi_jinja_value oxi_jinja_dict_values(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_view(j,a[0],"dict_values",1);}
static oxi_jinja_value oxi_jinja_dict_items(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_view(j,a[0],"dict_items",2);}
static oxi_jinja_value oxi_jinja_dict_get(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_value*found=oxi_jinja_dict_find(j,a[0].as.dict,a[1]);
return found? *found:a[2].type==OXI_JINJA_MISSING?oxi_jinja_none():a[2];}
static oxi_jinja_value oxi_jinja_dict_setdefault(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_value*found=oxi_jinja_dict_find(j,a[0].as.dict,a[1]);
if(found)return*found;
if(a[2].type==OXI_JINJA_MISSING)a[2]=oxi_jinja_none();
oxi_jinja_dict_set(j,a[0].as.dict,a[1],a[2]);
return a[2];}
static oxi_jinja_value oxi_jinja_dict_pop(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_value v=a[2];
if(!oxi_jinja_step(j,a[0].as.dict->count/16))return v;
if(oxi_jinja_dict_remove(j,a[0].as.dict,a[1],&v)||v.type!=OXI_JINJA_MISSING)return v;
return oxi_jinja_fail(j,"pop: there is no such key");}
static void oxi_jinja_dict_add(oxi_jinja*j,oxi_jinja_dict*to,oxi_jinja_value from){
if(from.type==OXI_JINJA_DICT){
for(size_t i=0;i<from.as.dict->count&& !j->status;i++)
oxi_jinja_dict_set(j,to,from.as.dict->entries[i].key,from.as.dict->entries[i].value);
return;}
const oxi_jinja_list*pairs=oxi_jinja_iterate(j,from);
for(size_t i=0;pairs&& !j->status&&i<pairs->count;i++){
const oxi_jinja_list*pair=oxi_jinja_iterate(j,pairs->items[i]);
if(pair&&pair->count==2)
oxi_jinja_dict_set(j,to,pair->items[0],pair->items[1]);
else
(void)oxi_jinja_fail(j,"a dict is made of pairs");}}
static oxi_jinja_value oxi_jinja_dict_update(oxi_jinja*j,oxi_jinja_value*a){
for(size_t i=0;i<a[1].as.list->count;i++)
oxi_jinja_dict_add(j,a[0].as.dict,a[1].as.list->items[i]);
oxi_jinja_dict_add(j,a[0].as.dict,a[2]);
return oxi_jinja_none();}
static oxi_jinja_value oxi_jinja_dict_copy(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_value copy=oxi_jinja_dict_new(j);
if(!j->status)oxi_jinja_dict_add(j,copy.as.dict,a[0]);
return copy;}
static oxi_jinja_value oxi_jinja_loop_cycle(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_list*values=a[1].as.list;
if(!values->count)return oxi_jinja_fail(j,"loop.cycle of nothing");
return values->items[a[0].as.loop->at%values->count];}
static oxi_jinja_value oxi_jinja_loop_changed(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_loop*loop=a[0].as.loop;
const bool changed=loop->changed.type==OXI_JINJA_MISSING|| !oxi_jinja_equal(j,loop->changed,a[1]);
loop->changed=a[1];
return oxi_jinja_bool(changed);}
static oxi_jinja_value oxi_jinja_cycler_next(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_list*list=a[0].as.list;
const oxi_jinja_value v=list->items[list->start];
(void)j;
list->start=(list->start+1)%(int64_t)list->count;
return v;}
static oxi_jinja_value oxi_jinja_cycler_reset(oxi_jinja*j,oxi_jinja_value*a){
(void)j;
a[0].as.list->start=0;
return oxi_jinja_none();}
static const oxi_jinja_function oxi_jinja_str_methods[]={
{"capitalize","",oxi_jinja_capitalize},{"center","width fill?",oxi_jinja_str_center},
 {"count","sub start? end?",oxi_jinja_str_count},{"endswith","suffix start? end?",oxi_jinja_str_endswith},
 {"find","sub start? end?",oxi_jinja_str_find},{"format","* **",oxi_jinja_str_format},
 {"index","sub start? end?",oxi_jinja_str_index},{"isdigit","",oxi_jinja_str_isdigit},
 {"islower","",oxi_jinja_is_lower},{"isspace","",oxi_jinja_str_isspace},{"isupper","",oxi_jinja_is_upper},
 {"join","iterable",oxi_jinja_str_join},{"ljust","width fill?",oxi_jinja_str_ljust},
 {"lower","",oxi_jinja_lower},{"lstrip","chars?",oxi_jinja_str_lstrip},
 {"partition","sep",oxi_jinja_str_partition},{"removeprefix","prefix",oxi_jinja_str_removeprefix},
 {"removesuffix","suffix",oxi_jinja_str_removesuffix},{"replace","old new count?",oxi_jinja_str_replace},
 {"rfind","sub start? end?",oxi_jinja_str_rfind},{"rjust","width fill?",oxi_jinja_str_rjust},
 {"rpartition","sep",oxi_jinja_str_rpartition},{"rsplit","sep? maxsplit?",oxi_jinja_str_rsplit},
 {"rstrip","chars?",oxi_jinja_str_rstrip},{"split","sep? maxsplit?",oxi_jinja_str_split},
 {"splitlines","keepends?",oxi_jinja_str_splitlines},
 {"startswith","prefix start? end?",oxi_jinja_str_startswith},{"strip","chars?",oxi_jinja_str_strip},
 {"title","",oxi_jinja_str_title},{"upper","",oxi_jinja_upper},};
static const oxi_jinja_function oxi_jinja_list_methods[]={
{"append","object",oxi_jinja_list_append},{"copy","",oxi_jinja_list_copy},
 {"count","value",oxi_jinja_list_count},{"extend","iterable",oxi_jinja_list_extend},
 {"index","value",oxi_jinja_list_index},{"insert","index object",oxi_jinja_list_insert},
 {"pop","index?",oxi_jinja_list_pop},{"reverse","",oxi_jinja_list_reverse},};
static const oxi_jinja_function oxi_jinja_tuple_methods[]={
{"count","value",oxi_jinja_list_count},{"index","value",oxi_jinja_list_index},};
static const oxi_jinja_function oxi_jinja_dict_methods[]={
{"copy","",oxi_jinja_dict_copy},{"get","key default?",oxi_jinja_dict_get},
 {"items","",oxi_jinja_dict_items},{"keys","",oxi_jinja_dict_keys},
 {"pop","key default?",oxi_jinja_dict_pop},{"setdefault","key default?",oxi_jinja_dict_setdefault},
 {"update","* **",oxi_jinja_dict_update},{"values","",oxi_jinja_dict_values},};
static const oxi_jinja_function oxi_jinja_loop_methods[]={
{"changed","*",oxi_jinja_loop_changed},{"cycle","*",oxi_jinja_loop_cycle},};
static const oxi_jinja_function oxi_jinja_cycler_methods[]={
{"next","",oxi_jinja_cycler_next},{"reset","",oxi_jinja_cycler_reset},};
#define OXI_JINJA_ROWS(table)table,sizeof table/sizeof*table
static const struct{
oxi_jinja_type type;
const oxi_jinja_function*rows;
size_t count;}oxi_jinja_method_tables[]={
{OXI_JINJA_STRING,OXI_JINJA_ROWS(oxi_jinja_str_methods)},
 {OXI_JINJA_LIST,OXI_JINJA_ROWS(oxi_jinja_list_methods)},
 {OXI_JINJA_TUPLE,OXI_JINJA_ROWS(oxi_jinja_tuple_methods)},
 {OXI_JINJA_DICT,OXI_JINJA_ROWS(oxi_jinja_dict_methods)},
 {OXI_JINJA_LOOP,OXI_JINJA_ROWS(oxi_jinja_loop_methods)},
 {OXI_JINJA_CYCLER,OXI_JINJA_ROWS(oxi_jinja_cycler_methods)},};
static const oxi_jinja_function*oxi_jinja_find_method(oxi_jinja_type type,oxi_jinja_value name){
for(size_t i=0;i<sizeof oxi_jinja_method_tables/sizeof*oxi_jinja_method_tables;i++)
if(oxi_jinja_method_tables[i].type==type)
return oxi_jinja_find_row(oxi_jinja_method_tables[i].rows,oxi_jinja_method_tables[i].count,name);
return NULL;}
/* >>llm/template/library/globals.c */
static oxi_jinja_value oxi_jinja_global_range(oxi_jinja*j,oxi_jinja_value*a){
const bool only_stop=a[2].type==OXI_JINJA_MISSING;
const int64_t start=only_stop?0:oxi_jinja_int_argument(j,a[1],0);
const int64_t stop=oxi_jinja_int_argument(j,only_stop?a[1]:a[2],0);
const int64_t step=oxi_jinja_int_argument(j,a[3],1);
if(step==0)return oxi_jinja_fail(j,"range: a step of 0");
const uint64_t stride=step>0?(uint64_t)step:(uint64_t)0-(uint64_t)step;
const bool any=step>0?start<stop:start>stop;
const uint64_t span=step>0?(uint64_t)stop -(uint64_t)start:(uint64_t)start-(uint64_t)stop;
const uint64_t count=any?(span-1)/stride +1:0;
if(count>OXI_JINJA_MOST_RANGE)
return oxi_jinja_fail(j,"range: more than %d elements",(int)OXI_JINJA_MOST_RANGE);
oxi_jinja_value range=oxi_jinja_list_new(j,OXI_JINJA_RANGE,(size_t)count);
for(uint64_t i=0;i<count&& !j->status;i++)
oxi_jinja_push(j,range.as.list,oxi_jinja_int(start+(int64_t)i*step));
if(j->status)return range;
range.as.list->start=start;
range.as.list->stop=stop;
range.as.list->stride=step;
return range;}
static oxi_jinja_value oxi_jinja_global_dict(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_value dict=oxi_jinja_dict_new(j);
for(size_t i=0;i<a[1].as.list->count&& !j->status;i++)
oxi_jinja_dict_add(j,dict.as.dict,a[1].as.list->items[i]);
if(!j->status)oxi_jinja_dict_add(j,dict.as.dict,a[2]);
return dict;}
static oxi_jinja_value oxi_jinja_global_namespace(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_value v=oxi_jinja_global_dict(j,a);
if(!j->status)v.type=OXI_JINJA_NAMESPACE;
return v;}
static oxi_jinja_value oxi_jinja_global_raise(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_value text=oxi_jinja_string(j,a[1]);
if(j->status)return text;
return oxi_jinja_fail(j,"raise_exception: %.*s",(int)(text.length<300?text.length:300),text.as.text);}
static oxi_jinja_value oxi_jinja_global_cycler(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_value v=a[1];
if(!v.as.list->count)return oxi_jinja_fail(j,"a cycler of nothing");
v.type=OXI_JINJA_CYCLER;
v.as.list->start=0;
return v;}
static oxi_jinja_value oxi_jinja_global_joiner(oxi_jinja*j,oxi_jinja_value*a){
oxi_jinja_value v=oxi_jinja_list_new(j,OXI_JINJA_JOINER,1);
if(j->status)return v;
v.as.list->start=0;
oxi_jinja_push(j,v.as.list,a[1].type==OXI_JINJA_MISSING?oxi_jinja_word(", "):a[1]);
return v;}
static oxi_jinja_value oxi_jinja_global_lipsum(oxi_jinja*j,oxi_jinja_value*a){
(void)a;
return oxi_jinja_fail(j,"lipsum, which makes random text, is not supported");}
typedef struct oxi_jinja_date{
int64_t year;
int month,day,weekday,yearday,hour,minute,second;}oxi_jinja_date;
static oxi_jinja_date oxi_jinja_date_of(int64_t seconds){
static const int before[12]={0,31,59,90,120,151,181,212,243,273,304,334};
oxi_jinja_date date;
int64_t days=seconds/86400,rest=seconds%86400;
if(rest<0){
rest+=86400;
days--;}
date.hour=(int)(rest/3600);
date.minute=(int)(rest/60%60);
date.second=(int)(rest%60);
date.weekday=(int)(((days%7)+11)%7);
days+=719468;
const int64_t era=(days>=0?days:days-146096)/146097;
const int64_t day=days-era*146097;
const int64_t year=(day-day/1460+day/36524-day/146096)/365;
const int64_t yearday=day-(365*year+year/4-year/100);
const int64_t month=(5*yearday+2)/153;
date.day=(int)(yearday-(153*month+2)/5+1);
date.month=(int)(month<10?month+3:month-9);
date.year=year+era*400+(date.month<=2);
const bool leap=(date.year%4==0&&date.year%100!=0)||date.year%400==0;
date.yearday=before[date.month-1]+date.day+(leap&&date.month>2);
return date;}
static void oxi_jinja_write_padded(oxi_jinja*j,int64_t value,int width,char pad){
char text[24];
(void)snprintf(text,sizeof text,"%lld",(long long)value);
if(pad)oxi_jinja_write_many(j,pad,width-(int64_t)strlen(text));
oxi_jinja_write_text(j,text);}
static void oxi_jinja_write_date(oxi_jinja*j,const oxi_jinja_date*date,const char*format,size_t length);
static void oxi_jinja_write_date_part(oxi_jinja*j,const oxi_jinja_date*date,char letter,bool unpadded){
static const char*const days[]={"Sunday","Monday","Tuesday","Wednesday","Thursday","Friday","Saturday"};
static const char*const months[]={"January","February","March","April","May","June","July","August",
 "September","October","November","December"};
static const struct{
char letter;
const char*format;}composed[]={{'F',"%Y-%m-%d"},{'T',"%H:%M:%S"},{'R',"%H:%M"},{'D',"%m/%d/%y"},
 {'x',"%m/%d/%y"},{'X',"%H:%M:%S"},{'c',"%a %b %e %H:%M:%S %Y"}};
const char zero=unpadded?'\0':'0';
for(size_t i=0;i<sizeof composed/sizeof*composed;i++)
if(composed[i].letter==letter){
oxi_jinja_write_date(j,date,composed[i].format,strlen(composed[i].format));
return;}
switch(letter){
case 'Y':oxi_jinja_write_padded(j,date->year,4,zero);break;
case 'y':oxi_jinja_write_padded(j,date->year%100,2,zero);break;
case 'm':oxi_jinja_write_padded(j,date->month,2,zero);break;
case 'd':oxi_jinja_write_padded(j,date->day,2,zero);break;
case 'e':oxi_jinja_write_padded(j,date->day,2,unpadded?'\0':' ');break;
case 'H':oxi_jinja_write_padded(j,date->hour,2,zero);break;
case 'I':oxi_jinja_write_padded(j,(date->hour+11)%12+1,2,zero);break;
case 'M':oxi_jinja_write_padded(j,date->minute,2,zero);break;
case 'S':oxi_jinja_write_padded(j,date->second,2,zero);break;
case 'f':oxi_jinja_write_text(j,"000000");break;
case 'j':oxi_jinja_write_padded(j,date->yearday,3,zero);break;
case 'w':oxi_jinja_write_padded(j,date->weekday,1,zero);break;
case 'u':oxi_jinja_write_padded(j,date->weekday?date->weekday:7,1,zero);break;
case 'p':oxi_jinja_write_text(j,date->hour<12?"AM":"PM");break;
case 'A':oxi_jinja_write_text(j,days[date->weekday]);break;
case 'a':oxi_jinja_write(j,days[date->weekday],3);break;
case 'B':oxi_jinja_write_text(j,months[date->month-1]);break;
case 'b':
case 'h':oxi_jinja_write(j,months[date->month-1],3);break;
case 'Z':
case 'z':break;
case '%':oxi_jinja_write(j,"%",1);break;
default:(void)oxi_jinja_fail(j,"strftime_now: '%%%c' is not known",letter);}}
static void oxi_jinja_write_date(oxi_jinja*j,const oxi_jinja_date*date,const char*format,size_t length){
for(size_t i=0;i<length&& !j->status;i++){
if(format[i]!='%'){
oxi_jinja_write(j,format+i,1);
continue;}
const bool unpadded=i+1<length&&format[i+1]=='-';
i+=unpadded?2:1;
oxi_jinja_write_date_part(j,date,i<length?format[i]:' ',unpadded);}}
static oxi_jinja_value oxi_jinja_global_strftime(oxi_jinja*j,oxi_jinja_value*a){
const size_t start=j->out_length;
const oxi_jinja_date date=oxi_jinja_date_of(j->now);
if(!oxi_jinja_text_argument(j,a[1]))return a[1];
oxi_jinja_write_date(j,&date,a[1].as.text,a[1].length);
return oxi_jinja_take(j,start);}
static const oxi_jinja_function oxi_jinja_globals[]={
{"cycler","*",oxi_jinja_global_cycler},{"dict","* **",oxi_jinja_global_dict},
 {"joiner","sep?",oxi_jinja_global_joiner},{"lipsum","* **",oxi_jinja_global_lipsum},
 {"namespace","* **",oxi_jinja_global_namespace},{"raise_exception","message",oxi_jinja_global_raise},
 {"range","start stop? step?",oxi_jinja_global_range},{"strftime_now","format",oxi_jinja_global_strftime},
 };
static const oxi_jinja_function*oxi_jinja_find_global(oxi_jinja_value name){
return oxi_jinja_find_row(oxi_jinja_globals,sizeof oxi_jinja_globals/sizeof*oxi_jinja_globals,name);}
/* >>llm/template/run.c */
static oxi_jinja_value oxi_jinja_eval(oxi_jinja*j,const oxi_jinja_node*node);
typedef enum oxi_jinja_flow{OXI_JINJA_ON,OXI_JINJA_BROKEN,OXI_JINJA_CONTINUED}oxi_jinja_flow;
static oxi_jinja_flow oxi_jinja_exec(oxi_jinja*j,const oxi_jinja_node*node);
static void oxi_jinja_stand_at(oxi_jinja*j,const oxi_jinja_node*node){
if(j->status)return;
j->line=node->line;
j->column=node->column;}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_name(oxi_jinja*j,const oxi_jinja_node*node){
const oxi_jinja_value*found=oxi_jinja_find_variable(j,j->scope,node->symbol);
oxi_jinja_value v=oxi_jinja_undefined(node->value.as.text,node->value.length);
if(found)return*found;
const oxi_jinja_function*function=oxi_jinja_find_global(node->value);
oxi_jinja_bound*bound=function?(oxi_jinja_bound*)oxi_jinja_alloc(j,sizeof*bound):NULL;
if(!bound)return v;
bound->function=function;
bound->self=oxi_jinja_none();
bound->is_method=false;
v.type=OXI_JINJA_FUNCTION;
v.as.bound=bound;
return v;}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_sequence(oxi_jinja*j,const oxi_jinja_node*node){
oxi_jinja_value list=oxi_jinja_list_new(j,node->flag?OXI_JINJA_LIST:OXI_JINJA_TUPLE,0);
for(const oxi_jinja_node*e=node->a;e&& !j->status;e=e->next)
oxi_jinja_push(j,list.as.list,oxi_jinja_eval(j,e));
return list;}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_dict(oxi_jinja*j,const oxi_jinja_node*node){
oxi_jinja_value dict=oxi_jinja_dict_new(j);
for(const oxi_jinja_node*e=node->a;e&& !j->status;e=e->next->next){
const oxi_jinja_value key=oxi_jinja_eval(j,e);
oxi_jinja_dict_set(j,dict.as.dict,key,oxi_jinja_eval(j,e->next));}
return dict;}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_chain(oxi_jinja*j,const oxi_jinja_node*node){
oxi_jinja_value left=oxi_jinja_eval(j,node->a);
for(const oxi_jinja_node*e=node->b;e&& !j->status;e=e->next){
const oxi_jinja_value right=oxi_jinja_eval(j,e->a);
oxi_jinja_stand_at(j,e);
if(node->kind==OXI_JINJA_BINARY){
left=oxi_jinja_binary(j,(oxi_jinja_operation)e->operation,left,right);
continue;}
if(!oxi_jinja_compare(j,(oxi_jinja_operation)e->operation,left,right))
return oxi_jinja_bool(false);
left=right;}
return node->kind==OXI_JINJA_BINARY?left:oxi_jinja_bool(true);}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_logic(oxi_jinja*j,const oxi_jinja_node*node){
oxi_jinja_value v=oxi_jinja_eval(j,node->a);
for(const oxi_jinja_node*e=node->b;e&& !j->status;e=e->next){
if(oxi_jinja_truth(v)==(node->kind==OXI_JINJA_OR))return v;
v=oxi_jinja_eval(j,e->a);}
return v;}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_condition(oxi_jinja*j,const oxi_jinja_node*node){
if(oxi_jinja_truth(oxi_jinja_eval(j,node->b)))return oxi_jinja_eval(j,node->a);
return node->c?oxi_jinja_eval(j,node->c):oxi_jinja_undefined("the value of an if without else",31);}
static bool oxi_jinja_is_constant(const oxi_jinja_node*node);
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_slice(oxi_jinja*j,const oxi_jinja_node*node){
const oxi_jinja_value v=oxi_jinja_eval(j,node->a);
oxi_jinja_value*bounds=(oxi_jinja_value*)oxi_jinja_alloc_array(j,3,sizeof*bounds);
const oxi_jinja_node*bound=node->b;
for(int i=0;bounds&&i<3;i++,bound=bound->next)bounds[i]=oxi_jinja_eval(j,bound);
oxi_jinja_stand_at(j,node);
if(!j->status&&oxi_jinja_is_constant(node->a)&& !oxi_jinja_has_elements(v))
return oxi_jinja_undefined("a slice of what has none",24);
return j->status?v:oxi_jinja_slice(j,v,bounds);}
static oxi_jinja_value oxi_jinja_section_value(oxi_jinja*j,oxi_jinja_value section,oxi_jinja_scope*scope){
oxi_jinja_macro*macro=(oxi_jinja_macro*)oxi_jinja_alloc(j,sizeof*macro);
if(!macro)return oxi_jinja_none();
*macro= *section.as.macro;
macro->scope=scope;
section.as.macro=macro;
return section;}
static OXI_NOINLINE oxi_jinja_arguments*oxi_jinja_eval_arguments(oxi_jinja*j,const oxi_jinja_node*first){
oxi_jinja_arguments*arguments=(oxi_jinja_arguments*)oxi_jinja_alloc(j,sizeof*arguments);
oxi_jinja_value positional=oxi_jinja_list_new(j,OXI_JINJA_TUPLE,4),keywords=oxi_jinja_dict_new(j);
for(const oxi_jinja_node*e=first;e&& !j->status;e=e->next){
const oxi_jinja_value v=oxi_jinja_eval(j,e->a);
oxi_jinja_stand_at(j,e);
if(e->operation==OXI_JINJA_BY_KEYWORD){
oxi_jinja_dict_set(j,keywords.as.dict,e->value,v);}else if(e->operation==OXI_JINJA_UNPACK){
const oxi_jinja_list*items=oxi_jinja_iterate(j,v);
for(size_t i=0;items&& !j->status&&i<items->count;i++)
oxi_jinja_push(j,positional.as.list,items->items[i]);}else if(e->operation==OXI_JINJA_UNPACK_KEYWORDS){
if(v.type!=OXI_JINJA_DICT)(void)oxi_jinja_fail(j,"** of %s",oxi_jinja_type_name(v));
for(size_t i=0;!j->status&&i<v.as.dict->count;i++)
if(v.as.dict->entries[i].key.type==OXI_JINJA_STRING)
oxi_jinja_dict_set(j,keywords.as.dict,v.as.dict->entries[i].key,v.as.dict->entries[i].value);
else
(void)oxi_jinja_fail(j,"** of a dict with a key that is no string");}else
oxi_jinja_push(j,positional.as.list,v);}
if(j->status)return NULL;
*arguments=oxi_jinja_arguments_of(j,positional,0,keywords);
return j->status?NULL:arguments;}
static oxi_jinja_value*oxi_jinja_keyword(const oxi_jinja_arguments*arguments,oxi_jinja_value name){
for(size_t i=0;i<arguments->keywords;i++)
if(arguments->names[i].length==name.length&&
 memcmp(arguments->names[i].as.text,name.as.text,name.length)==0)
return&arguments->items[arguments->positional+i];
return NULL;}
static OXI_NOINLINE void oxi_jinja_bind_rest(oxi_jinja*j,const oxi_jinja_arguments*arguments,
 size_t positional){
oxi_jinja_value more=oxi_jinja_dict_new(j);
for(size_t i=0;i<arguments->keywords&& !j->status;i++){
const oxi_jinja_value name=arguments->names[i];
const oxi_jinja_value*symbol=oxi_jinja_dict_find(j,j->symbols,name);
const bool bound=symbol&&oxi_jinja_find_in_scope(j,j->scope,(uint32_t)symbol->as.i);
if(oxi_jinja_is_text(name,"caller")&&j->caller_symbol!=UINT32_MAX&& !bound)
oxi_jinja_set_variable(j,j->scope,j->caller_symbol,arguments->items[arguments->positional+i]);
else if(!bound)
oxi_jinja_dict_set(j,more.as.dict,name,arguments->items[arguments->positional+i]);}
const oxi_jinja_value rest=oxi_jinja_rest(j,arguments,positional);
if(j->status)return;
if(rest.as.list->count&&j->varargs_symbol==UINT32_MAX)
(void)oxi_jinja_fail(j,"too many arguments of a macro");
if(more.as.dict->count&&j->kwargs_symbol==UINT32_MAX)
(void)oxi_jinja_fail(j,"a macro has no parameter '%.*s'",(int)(more.as.dict->entries[0].key.length&127),
 more.as.dict->entries[0].key.as.text);
oxi_jinja_set_variable(j,j->scope,j->varargs_symbol,rest);
oxi_jinja_set_variable(j,j->scope,j->kwargs_symbol,more);}
static OXI_NOINLINE void oxi_jinja_bind_macro(oxi_jinja*j,const oxi_jinja_node*node,
 const oxi_jinja_arguments*arguments){
size_t position=0;
for(const oxi_jinja_node*p=node->a;p&& !j->status;p=p->next){
const oxi_jinja_value*named=oxi_jinja_keyword(arguments,p->value);
oxi_jinja_value v=oxi_jinja_undefined(p->value.as.text,p->value.length);
if(position<arguments->positional){
v=arguments->items[position++];
if(named)(void)oxi_jinja_fail(j,"a macro has an argument twice");}else if(named)
v= *named;
else if(p->a)
v=oxi_jinja_eval(j,p->a);
oxi_jinja_set_variable(j,j->scope,p->symbol,v);}
if(!j->status)oxi_jinja_bind_rest(j,arguments,position);}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_call_macro(oxi_jinja*j,const oxi_jinja_macro*macro,
 const oxi_jinja_arguments*arguments){
oxi_jinja_scope*scope=j->scope;
const size_t start=j->out_length;
const int loop_depth=j->loop_depth;
j->scope=oxi_jinja_scope_new(j,macro->scope);
j->loop_depth=0;
if(!j->status)oxi_jinja_bind_macro(j,macro->node,arguments);
if(!j->status)(void)oxi_jinja_exec(j,macro->node->c);
j->scope=scope;
j->loop_depth=loop_depth;
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_run_loop(oxi_jinja*j,const oxi_jinja_node*node,oxi_jinja_value over);
static oxi_jinja_value oxi_jinja_safe_result(oxi_jinja_value v,oxi_jinja_value self){
if(self.type!=OXI_JINJA_STRING|| !self.safe)return v;
for(size_t i=0;(v.type==OXI_JINJA_LIST||v.type==OXI_JINJA_TUPLE)&&i<v.as.list->count;i++)
v.as.list->items[i]=oxi_jinja_safe_as(v.as.list->items[i],self);
return v.type==OXI_JINJA_STRING?oxi_jinja_safe_as(v,self):v;}
static oxi_jinja_value oxi_jinja_call_value(oxi_jinja*j,oxi_jinja_value callee,
 const oxi_jinja_arguments*arguments){
if(j->status|| !arguments)return callee;
if(callee.type==OXI_JINJA_FUNCTION){
const oxi_jinja_value v=oxi_jinja_apply(j,callee.as.bound->function,&callee.as.bound->self,arguments);
return callee.as.bound->is_method?oxi_jinja_safe_result(v,callee.as.bound->self):v;}
if(callee.type==OXI_JINJA_JOINER&& !arguments->positional&& !arguments->keywords)
return callee.as.list->start++ ?callee.as.list->items[0]:oxi_jinja_word("");
if(callee.type==OXI_JINJA_MACRO)return oxi_jinja_call_macro(j,callee.as.macro,arguments);
if(callee.type==OXI_JINJA_LOOP&&callee.as.loop->node->flag&&arguments->positional==1){
oxi_jinja_scope*scope=j->scope;
const size_t start=j->out_length;
j->scope=callee.as.loop->scope;
(void)oxi_jinja_run_loop(j,callee.as.loop->node,arguments->items[0]);
j->scope=scope;
return oxi_jinja_take(j,start);}
if(callee.type==OXI_JINJA_UNDEFINED)
return oxi_jinja_fail(j,"'%.*s' is undefined, and called",(int)(callee.length<100?callee.length:100),
 callee.as.text?callee.as.text:"");
return oxi_jinja_fail(j,"%s cannot be called",oxi_jinja_type_name(callee));}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_call(oxi_jinja*j,const oxi_jinja_node*node){
const oxi_jinja_value callee=oxi_jinja_eval(j,node->a);
const oxi_jinja_arguments*arguments=oxi_jinja_eval_arguments(j,node->b);
oxi_jinja_stand_at(j,node);
return oxi_jinja_call_value(j,callee,arguments);}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_applied(oxi_jinja*j,const oxi_jinja_node*node,
 oxi_jinja_value v){
const bool is_test=node->kind==OXI_JINJA_TEST;
const oxi_jinja_arguments*arguments=oxi_jinja_eval_arguments(j,node->b);
oxi_jinja_stand_at(j,node);
if(!node->function)
return oxi_jinja_fail(j,"there is no %s '%.*s'",is_test?"test":"filter",
 (int)(node->value.length<60?node->value.length:60),node->value.as.text);
if(!arguments)return v;
v=oxi_jinja_apply(j,node->function,&v,arguments);
return is_test&&node->flag?oxi_jinja_bool(!oxi_jinja_truth(v)):v;}
static oxi_jinja_value oxi_jinja_eval_over(oxi_jinja*j,const oxi_jinja_node*node,oxi_jinja_value v){
if(!node|| !oxi_jinja_enter(j)){
if(node)oxi_jinja_leave(j);
return v;}
if(node->kind==OXI_JINJA_FILTER||node->kind==OXI_JINJA_TEST)
v=oxi_jinja_eval_applied(j,node,node->a?oxi_jinja_eval_over(j,node->a,v):v);
else
v=oxi_jinja_fail(j,"expected a filter");
oxi_jinja_leave(j);
return v;}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_item(oxi_jinja*j,const oxi_jinja_node*node){
const oxi_jinja_value v=oxi_jinja_eval(j,node->a);
const oxi_jinja_value key=oxi_jinja_eval(j,node->b);
oxi_jinja_stand_at(j,node);
return j->status?v:oxi_jinja_item(j,v,key);}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_attribute(oxi_jinja*j,const oxi_jinja_node*node){
if(node->a->kind==OXI_JINJA_NAME&&oxi_jinja_is_text(node->a->value,"self")&&
 !oxi_jinja_find_variable(j,j->scope,node->a->symbol)){
const oxi_jinja_value*section=oxi_jinja_dict_find(j,j->sections,node->value);
if(section)return oxi_jinja_section_value(j,*section,j->globals);
return oxi_jinja_fail(j,"there is no block of this name");}
const oxi_jinja_value v=oxi_jinja_eval(j,node->a);
oxi_jinja_stand_at(j,node);
return j->status?v:oxi_jinja_attribute(j,v,node->value);}
static bool oxi_jinja_is_constant(const oxi_jinja_node*node){
if(node->kind==OXI_JINJA_LITERAL)return true;
if(node->kind!=OXI_JINJA_DICTIONARY)return false;
for(const oxi_jinja_node*e=node->a;e;e=e->next)
if(e->kind!=OXI_JINJA_LITERAL)return false;
return true;}
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_unary(oxi_jinja*j,const oxi_jinja_node*node){
const oxi_jinja_value v=oxi_jinja_eval(j,node->a);
oxi_jinja_stand_at(j,node);
return j->status?v:oxi_jinja_unary(j,(oxi_jinja_operation)node->operation,v);}
static oxi_jinja_value oxi_jinja_eval_kind(oxi_jinja*j,const oxi_jinja_node*node){
switch(node->kind){
case OXI_JINJA_LITERAL:return node->value;
case OXI_JINJA_NAME:return oxi_jinja_eval_name(j,node);
case OXI_JINJA_SEQUENCE:return oxi_jinja_eval_sequence(j,node);
case OXI_JINJA_DICTIONARY:return oxi_jinja_eval_dict(j,node);
case OXI_JINJA_UNARY:return oxi_jinja_eval_unary(j,node);
case OXI_JINJA_BINARY:
case OXI_JINJA_COMPARE:return oxi_jinja_eval_chain(j,node);
case OXI_JINJA_AND:
case OXI_JINJA_OR:return oxi_jinja_eval_logic(j,node);
case OXI_JINJA_CONDITION:return oxi_jinja_eval_condition(j,node);
case OXI_JINJA_ATTRIBUTE:return oxi_jinja_eval_attribute(j,node);
case OXI_JINJA_ITEM:return oxi_jinja_eval_item(j,node);
case OXI_JINJA_SLICE:return oxi_jinja_eval_slice(j,node);
case OXI_JINJA_CALL:return oxi_jinja_eval_call(j,node);
default:return oxi_jinja_eval_applied(j,node,oxi_jinja_eval(j,node->a));}}
static oxi_jinja_value oxi_jinja_eval(oxi_jinja*j,const oxi_jinja_node*node){
oxi_jinja_stand_at(j,node);
const oxi_jinja_value v=oxi_jinja_enter(j)?oxi_jinja_eval_kind(j,node):oxi_jinja_none();
oxi_jinja_leave(j);
return v;}
static void oxi_jinja_assign(oxi_jinja*j,const oxi_jinja_node*target,oxi_jinja_value v){
if(j->status)return;
if(target->kind==OXI_JINJA_NAME){
oxi_jinja_set_variable(j,j->scope,target->symbol,v);
return;}
if(target->kind==OXI_JINJA_ATTRIBUTE){
const oxi_jinja_value space=oxi_jinja_eval(j,target->a);
oxi_jinja_stand_at(j,target);
if(space.type!=OXI_JINJA_NAMESPACE)
(void)oxi_jinja_fail(j,"an attribute of %s cannot be set",oxi_jinja_type_name(space));
else
oxi_jinja_dict_set(j,space.as.dict,target->value,v);
return;}
const oxi_jinja_list*items=oxi_jinja_iterate(j,v);
const oxi_jinja_node*part=target->a;
size_t i=0;
if(!oxi_jinja_enter(j))items=NULL;
for(;items&&part&&i<items->count&& !j->status;part=part->next)
oxi_jinja_assign(j,part,items->items[i++]);
if(items&&(part||i<items->count))(void)oxi_jinja_fail(j,"as many names as values are wanted");
oxi_jinja_leave(j);}
static oxi_jinja_flow oxi_jinja_exec_scoped(oxi_jinja*j,const oxi_jinja_node*body){
oxi_jinja_scope*scope=j->scope;
j->scope=oxi_jinja_scope_new(j,scope);
const oxi_jinja_flow flow=j->scope?oxi_jinja_exec(j,body):OXI_JINJA_ON;
j->scope=scope;
return flow;}
static OXI_NOINLINE const oxi_jinja_list*oxi_jinja_loop_items(oxi_jinja*j,const oxi_jinja_node*node,
 oxi_jinja_value over){
const oxi_jinja_list*items=oxi_jinja_iterate(j,over);
oxi_jinja_value kept=oxi_jinja_list_new(j,OXI_JINJA_LIST,0);
oxi_jinja_scope*scope=j->scope;
for(size_t i=0;items&& !j->status&&i<items->count;i++){
if(node->e){
j->scope=oxi_jinja_scope_new(j,scope);
oxi_jinja_assign(j,node->b,items->items[i]);}
if(!j->status&&(!node->e||oxi_jinja_truth(oxi_jinja_eval(j,node->e))))
oxi_jinja_push(j,kept.as.list,items->items[i]);
j->scope=scope;}
return j->status?NULL:kept.as.list;}
static oxi_jinja_value oxi_jinja_run_loop(oxi_jinja*j,const oxi_jinja_node*node,oxi_jinja_value over){
const oxi_jinja_list*items=oxi_jinja_loop_items(j,node,over);
oxi_jinja_value v=oxi_jinja_make(OXI_JINJA_LOOP);
oxi_jinja_loop*loop=(oxi_jinja_loop*)oxi_jinja_alloc(j,sizeof*loop);
oxi_jinja_scope*outer=j->scope;
if(!items|| !loop)return v;
memset(loop,0,sizeof*loop);
v.as.loop=loop;
loop->items=items;
loop->node=node;
loop->scope=outer;
loop->depth= ++j->loop_depth;
for(size_t i=0;i<items->count&& !j->status;i++){
loop->at=i;
j->scope=oxi_jinja_scope_new(j,outer);
oxi_jinja_set_variable(j,j->scope,j->loop_symbol,v);
oxi_jinja_assign(j,node->b,items->items[i]);
if(!j->status&&oxi_jinja_exec(j,node->c)==OXI_JINJA_BROKEN)break;}
j->scope=outer;
j->loop_depth--;
if(!items->count&&node->d)(void)oxi_jinja_exec_scoped(j,node->d);
return v;}
static OXI_NOINLINE void oxi_jinja_exec_for(oxi_jinja*j,const oxi_jinja_node*node){
const int depth=j->loop_depth;
j->loop_depth=0;
(void)oxi_jinja_run_loop(j,node,oxi_jinja_eval(j,node->a));
j->loop_depth=depth;}
static OXI_NOINLINE oxi_jinja_flow oxi_jinja_exec_if(oxi_jinja*j,const oxi_jinja_node*node){
for(;;){
if(oxi_jinja_truth(oxi_jinja_eval(j,node->a)))return oxi_jinja_exec(j,node->b);
if(j->status|| !node->c)return OXI_JINJA_ON;
if(!node->flag)return oxi_jinja_exec(j,node->c);
node=node->c;}}
static oxi_jinja_value oxi_jinja_capture(oxi_jinja*j,const oxi_jinja_node*body){
const size_t start=j->out_length;
(void)oxi_jinja_exec_scoped(j,body);
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_macro_value(oxi_jinja*j,const oxi_jinja_node*node){
oxi_jinja_value v=oxi_jinja_make(OXI_JINJA_MACRO);
oxi_jinja_macro*macro=(oxi_jinja_macro*)oxi_jinja_alloc(j,sizeof*macro);
if(!macro)return oxi_jinja_none();
macro->node=node;
macro->scope=j->scope;
macro->name.data=node->value.as.text;
macro->name.length=node->value.length;
v.as.macro=macro;
return v;}
static OXI_NOINLINE void oxi_jinja_exec_call(oxi_jinja*j,const oxi_jinja_node*node){
const oxi_jinja_value callee=oxi_jinja_eval(j,node->a->a);
oxi_jinja_arguments*arguments=oxi_jinja_eval_arguments(j,node->a->b);
const oxi_jinja_value caller=oxi_jinja_macro_value(j,node->b);
if(!arguments||j->status)return;
const size_t count=arguments->positional+arguments->keywords;
oxi_jinja_value*items=(oxi_jinja_value*)oxi_jinja_alloc_array(j,2*count+2,sizeof*items);
if(!items)return;
if(count)memcpy(items,arguments->items,count*sizeof*items);
items[count]=caller;
if(arguments->keywords)memcpy(items+count+1,arguments->names,arguments->keywords*sizeof*items);
items[count+1+arguments->keywords]=oxi_jinja_word("caller");
arguments->items=items;
arguments->names=items+count+1;
arguments->keywords++;
oxi_jinja_stand_at(j,node);
oxi_jinja_write_value(j,oxi_jinja_call_value(j,callee,arguments));}
static OXI_NOINLINE oxi_jinja_flow oxi_jinja_exec_with(oxi_jinja*j,const oxi_jinja_node*node){
oxi_jinja_scope*outer=j->scope,*inner=oxi_jinja_scope_new(j,outer);
const oxi_jinja_node*target=node->b;
for(const oxi_jinja_node*value=node->a;value&& !j->status;value=value->next){
const oxi_jinja_value v=oxi_jinja_eval(j,value);
j->scope=inner;
oxi_jinja_assign(j,target,v);
j->scope=outer;
target=target->next;}
j->scope=inner;
const oxi_jinja_flow flow=j->status?OXI_JINJA_ON:oxi_jinja_exec(j,node->c);
j->scope=outer;
return flow;}
static OXI_NOINLINE void oxi_jinja_exec_section(oxi_jinja*j,const oxi_jinja_node*node){
oxi_jinja_arguments none;
memset(&none,0,sizeof none);
if(node->operation){
(void)oxi_jinja_fail(j,"a block that is required has no other template to fill it");
return;}
const oxi_jinja_value*section=oxi_jinja_dict_find(j,j->sections,node->value);
if(!section)return;
const oxi_jinja_value v=oxi_jinja_section_value(j,*section,node->flag?j->scope:j->globals);
oxi_jinja_write_value(j,oxi_jinja_call_value(j,v,&none));}
static oxi_jinja_flow oxi_jinja_exec_one(oxi_jinja*j,const oxi_jinja_node*node){
switch(node->kind){
case OXI_JINJA_TEXT:oxi_jinja_write(j,node->value.as.text,node->value.length);break;
case OXI_JINJA_PRINT:oxi_jinja_write_value(j,oxi_jinja_eval(j,node->a));break;
case OXI_JINJA_IF:return oxi_jinja_exec_if(j,node);
case OXI_JINJA_FOR:oxi_jinja_exec_for(j,node);break;
case OXI_JINJA_SET:oxi_jinja_assign(j,node->b,oxi_jinja_eval(j,node->a));break;
case OXI_JINJA_SET_BLOCK:
oxi_jinja_assign(j,node->b,oxi_jinja_eval_over(j,node->a,oxi_jinja_capture(j,node->c)));
break;
case OXI_JINJA_MACRO_NODE:
oxi_jinja_set_variable(j,j->scope,node->symbol,oxi_jinja_macro_value(j,node));
break;
case OXI_JINJA_CALL_BLOCK:oxi_jinja_exec_call(j,node);break;
case OXI_JINJA_FILTER_BLOCK:
oxi_jinja_write_value(j,oxi_jinja_eval_over(j,node->a,oxi_jinja_capture(j,node->c)));
break;
case OXI_JINJA_WITH:return oxi_jinja_exec_with(j,node);
case OXI_JINJA_SCOPE:return oxi_jinja_exec_scoped(j,node->c);
case OXI_JINJA_SECTION:oxi_jinja_exec_section(j,node);break;
case OXI_JINJA_BREAK:return OXI_JINJA_BROKEN;
default:return OXI_JINJA_CONTINUED;}
return OXI_JINJA_ON;}
static oxi_jinja_flow oxi_jinja_exec(oxi_jinja*j,const oxi_jinja_node*node){
oxi_jinja_flow flow=OXI_JINJA_ON;
if(oxi_jinja_enter(j))
for(;node&&flow==OXI_JINJA_ON&&oxi_jinja_step(j,1);node=node->next){
oxi_jinja_stand_at(j,node);
flow=oxi_jinja_exec_one(j,node);}
oxi_jinja_leave(j);
return flow;}
/* >>llm/template/template.c */
static uint32_t oxi_jinja_known_symbol(const ox_llm_template*t,oxi_jinja*j,const char*name){
const oxi_jinja_value*found=oxi_jinja_dict_find(j,&t->symbols,oxi_jinja_word(name));
return found?(uint32_t)found->as.i:UINT32_MAX;}
static const char*oxi_jinja_copy_source(oxi_jinja*j,const char*text,size_t*length){
char*copy=(char*)oxi_jinja_alloc(j,*length);
size_t count=0;
for(size_t i=0;copy&&i< *length;i++){
if(text[i]=='\r'){
copy[count++]='\n';
if(i+1< *length&&text[i+1]=='\n')i++;}else
copy[count++]=text[i];}
if(count&&copy[count-1]=='\n')count--;
*length=count;
return copy;}
static void oxi_jinja_open_source(oxi_jinja*j,ox_llm_template*t,const char*text,size_t length){
oxi_jinja_parser p;
memset(&p,0,sizeof p);
p.j=j;
p.symbols= &t->symbols;
p.sections= &t->sections;
p.line=p.column=1;
p.line_starts=true;
p.source=oxi_jinja_copy_source(j,text,&length);
p.length=length;
if(j->status)return;
t->body=oxi_jinja_parse_template(&p);
t->loop_symbol=oxi_jinja_symbol(&p,oxi_jinja_word("loop"));
t->caller_symbol=oxi_jinja_known_symbol(t,j,"caller");
t->varargs_symbol=oxi_jinja_known_symbol(t,j,"varargs");
t->kwargs_symbol=oxi_jinja_known_symbol(t,j,"kwargs");}
OX_API ox_llm_template*ox_llm_template_open(const char*text,int64_t length){
oxi_jinja j;
if(!text){
(void)oxi_fail_missing("template: the text");
return NULL;}
const size_t bytes=length<0?strlen(text):(size_t)length;
if(bytes>OXI_JINJA_MOST_SOURCE|| !oxi_utf8_is_valid(text,bytes)){
(void)oxi_fail(OX_ERR_FORMAT,bytes>OXI_JINJA_MOST_SOURCE?"template: more than 4 MiB"
 :"template: the source is not UTF-8");
return NULL;}
ox_llm_template*t=(ox_llm_template*)oxi_calloc(1,sizeof*t);
if(!t)return NULL;
memset(&j,0,sizeof j);
t->key[0]=j.key[0]=oxi_unpredictable();
t->key[1]=j.key[1]=oxi_unpredictable();
j.most_memory=OXI_JINJA_MEMORY*4;
j.steps=INT64_MAX;
j.line=j.column=1;
oxi_jinja_open_source(&j,t,text,bytes);
oxi_free(j.out,j.out_room);
t->blocks=j.blocks;
if(!j.status)return t;
ox_llm_template_close(t);
return NULL;}
OX_API void ox_llm_template_close(ox_llm_template*t){
if(!t)return;
oxi_jinja_free_blocks(t->blocks);
oxi_free(t,sizeof*t);}
static oxi_jinja_value oxi_jinja_from_json(oxi_jinja*j,const oxi_json*json,uint32_t index);
static oxi_jinja_value oxi_jinja_from_members(oxi_jinja*j,const oxi_json*json,uint32_t index){
const bool is_dict=json->nodes[index].type==OXI_JSON_OBJECT;
oxi_jinja_value v=is_dict?oxi_jinja_dict_new(j):oxi_jinja_list_new(j,OXI_JINJA_LIST,0);
for(uint32_t i=index+1;i<json->nodes[index].next&& !j->status;i=json->nodes[i].next){
if(!is_dict){
oxi_jinja_push(j,v.as.list,oxi_jinja_from_json(j,json,i));
continue;}
const oxi_jinja_value key=oxi_jinja_text(json->nodes[i].value.text,json->nodes[i].length);
oxi_jinja_dict_set(j,v.as.dict,key,oxi_jinja_from_json(j,json,i+1));}
return v;}
static oxi_jinja_value oxi_jinja_from_float(oxi_jinja*j,const oxi_json_node*node){
const char*text=j->json+node->at;
size_t length=0;
while(oxi_is_digit(text[length])||text[length]=='-')length++;
if(text[length]&&strchr(".eE",text[length]))return oxi_jinja_float(node->value.f);
return oxi_jinja_fail(j,"the values have an integer beyond 64 bits: %.*s",(int)(length<60?length:60),text);
 }
static oxi_jinja_value oxi_jinja_from_json(oxi_jinja*j,const oxi_json*json,uint32_t index){
const oxi_json_node*node= &json->nodes[index];
switch(node->type){
case OXI_JSON_NULL:return oxi_jinja_none();
case OXI_JSON_BOOL:return oxi_jinja_bool(node->value.i!=0);
case OXI_JSON_INT:return oxi_jinja_int(node->value.i);
case OXI_JSON_FLOAT:return oxi_jinja_from_float(j,node);
case OXI_JSON_STRING:return oxi_jinja_text(node->value.text,node->length);
default:return oxi_jinja_from_members(j,json,index);}}
static void oxi_jinja_set_globals(oxi_jinja*j,const oxi_json*json){
j->globals=j->scope=oxi_jinja_scope_new(j,NULL);
for(uint32_t i=1;i<json->nodes[0].next&& !j->status;i=json->nodes[i].next){
const oxi_jinja_value name=oxi_jinja_text(json->nodes[i].value.text,json->nodes[i].length);
const oxi_jinja_value*symbol=oxi_jinja_dict_find(j,j->symbols,name);
if(symbol)
oxi_jinja_set_variable(j,j->scope,(uint32_t)symbol->as.i,oxi_jinja_from_json(j,json,i+1));}}
static void oxi_jinja_start(oxi_jinja*j,const ox_llm_template*t,const ox_llm_template_desc*desc){
memset(j,0,sizeof*j);
j->key[0]=t->key[0];
j->key[1]=t->key[1];
j->symbols= &t->symbols;
j->sections= &t->sections;
j->seed=desc?desc->seed:0;
j->loop_symbol=t->loop_symbol;
j->caller_symbol=t->caller_symbol;
j->varargs_symbol=t->varargs_symbol;
j->kwargs_symbol=t->kwargs_symbol;
j->line=j->column=1;
j->most_memory=desc&&desc->memory?desc->memory:OXI_JINJA_MEMORY;
j->steps=desc&&desc->steps>0?desc->steps:OXI_JINJA_STEPS;
j->now=desc&&desc->now?desc->now:(int64_t)time(NULL);
if(j->now>100000000000000||j->now< -100000000000000)j->now=0;}
static char*oxi_jinja_finish(oxi_jinja*j,int64_t*length){
char*block=NULL;
if(!j->status){
const size_t bytes=OXI_ALIGN+j->out_length+1;
block=(char*)oxi_alloc(bytes);
if(block){
memcpy(block,&bytes,sizeof bytes);
if(j->out_length)memcpy(block+OXI_ALIGN,j->out,j->out_length);
block[bytes-1]=0;
if(length)*length=(int64_t)j->out_length;}}
oxi_free(j->out,j->out_room);
oxi_jinja_free_blocks(j->blocks);
return block?block+OXI_ALIGN:NULL;}
OX_API char*ox_llm_template_render(const ox_llm_template*t,const char*json,int64_t bytes,
 const ox_llm_template_desc*desc,int64_t*length){
oxi_json document;
oxi_jinja j;
if(length)*length=0;
if(!t|| !json){
(void)oxi_fail_missing(t?"template: the values":"template: the template");
return NULL;}
if(oxi_json_parse("template",json,bytes<0?strlen(json):(size_t)bytes,&document))return NULL;
oxi_jinja_start(&j,t,desc);
j.json=json;
if(document.nodes[0].type!=OXI_JSON_OBJECT)
j.status=oxi_fail(OX_ERR_FORMAT,"template: the values are no JSON object");
if(!j.status)oxi_jinja_set_globals(&j,&document);
if(!j.status)(void)oxi_jinja_exec(&j,t->body);
char*text=oxi_jinja_finish(&j,length);
oxi_json_free(&document);
return text;}
OX_API void ox_llm_template_free(char*text){
size_t bytes;
if(!text)return;
memcpy(&bytes,text-OXI_ALIGN,sizeof bytes);
oxi_free(text-OXI_ALIGN,bytes);}
/* >>llm/tokenizer/pattern/trie.c */
typedef struct oxi_trie_build{
oxi_trie*trie;
const oxi_trie_text*texts;
bool backwards;
uint32_t*order,*scratch;
uint32_t count;
uint32_t*low,*high;}oxi_trie_build;
static int oxi_trie_byte(const oxi_trie_build*build,uint32_t text,size_t depth){
const oxi_trie_text*t= &build->texts[text];
if(depth>=t->length)return-1;
return(unsigned char)t->text[build->backwards?t->length-1-depth:depth];}
static size_t oxi_trie_same(const oxi_trie_build*build,uint32_t a,uint32_t b){
size_t depth=0;
while(oxi_trie_byte(build,a,depth)>=0&&oxi_trie_byte(build,a,depth)==oxi_trie_byte(build,b,depth))
depth++;
return depth;}
static int oxi_trie_compare(const void*user,uint32_t a,uint32_t b){
const oxi_trie_build*build=(const oxi_trie_build*)user;
const size_t depth=oxi_trie_same(build,a,b);
return oxi_trie_byte(build,a,depth)-oxi_trie_byte(build,b,depth);}
static uint32_t oxi_trie_bound(const oxi_trie_build*build,uint32_t low,uint32_t high,size_t depth){
const int byte=oxi_trie_byte(build,build->order[low],depth);
while(low<high){
const uint32_t middle=low+(high-low)/2;
if(oxi_trie_byte(build,build->order[middle],depth)>byte)
high=middle;
else
low=middle +1;}
return low;}
static int32_t oxi_trie_child(const oxi_trie*trie,int32_t node,uint8_t byte){
if(node==0)return trie->root[byte];
int32_t low=trie->nodes[node].child,high=trie->nodes[node +1].child;
const int32_t end=high;
while(low<high){
const int32_t middle=low+(high-low)/2;
if(trie->nodes[middle].byte<byte)
low=middle +1;
else
high=middle;}
return low<end&&trie->nodes[low].byte==byte?low: -1;}
static int32_t oxi_trie_step(const oxi_trie*trie,int32_t node,uint8_t byte){
for(;;){
const int32_t child=oxi_trie_child(trie,node,byte);
if(child>=0)return child;
if(node==0)return 0;
node=trie->nodes[node].shorter;}}
static void oxi_trie_add(oxi_trie_build*build,int32_t parent,size_t depth,uint32_t low,uint32_t high){
oxi_trie*trie=build->trie;
const int32_t index=trie->count++;
oxi_trie_node*node= &trie->nodes[index];
build->low[index]=low;
build->high[index]=high;
node->byte=(uint8_t)oxi_trie_byte(build,build->order[low],depth);
node->value=node->user= -1;
if(build->backwards&&parent!=0){
node->shorter=oxi_trie_step(trie,trie->nodes[parent].shorter,node->byte);
node->value=trie->nodes[node->shorter].value;
node->user=trie->nodes[node->shorter].user;}
for(;low<high&&build->texts[build->order[low]].length==depth+1;low++){
const oxi_trie_text*text= &build->texts[build->order[low]];
node->value=text->value;
if(text->user)node->user=text->value;}
if(parent==0)trie->root[node->byte]=index;}
static void oxi_trie_add_all(oxi_trie_build*build){
oxi_trie*trie=build->trie;
size_t depth=0;
int32_t level_end=1;
trie->count=1;
trie->nodes[0].value=trie->nodes[0].user= -1;
build->low[0]=0;
build->high[0]=build->count;
for(int32_t i=0;i<trie->count;i++){
if(i==level_end){
level_end=trie->count;
depth++;}
trie->nodes[i].child=trie->count;
uint32_t at=build->low[i];
while(at<build->high[i]&&oxi_trie_byte(build,build->order[at],depth)<0)at++;
while(at<build->high[i]){
const uint32_t end=oxi_trie_bound(build,at,build->high[i],depth);
oxi_trie_add(build,i,depth,at,end);
at=end;}}
trie->nodes[trie->count].child=trie->count;}
static uint64_t oxi_trie_count_nodes(const oxi_trie_build*build){
uint64_t nodes=1;
for(uint32_t i=0;i<build->count;i++){
nodes+=build->texts[build->order[i]].length;
if(i>0)nodes-=oxi_trie_same(build,build->order[i-1],build->order[i]);}
return nodes;}
static ox_status oxi_trie_build_nodes(oxi_trie_build*build){
oxi_trie*trie=build->trie;
const uint64_t nodes=oxi_trie_count_nodes(build);
if(nodes>=INT32_MAX)return oxi_fail(OX_ERR_FORMAT,"tokenizer: the texts of all tokens are too long");
trie->nodes=(oxi_trie_node*)oxi_calloc((size_t)nodes+1,sizeof*trie->nodes);
build->low=(uint32_t*)oxi_calloc((size_t)nodes,2*sizeof*build->low);
const bool made=trie->nodes&&build->low;
if(trie->nodes)trie->count=(int32_t)nodes;
if(made){
build->high=build->low+nodes;
oxi_trie_add_all(build);}
oxi_free(build->low,(size_t)nodes*2*sizeof*build->low);
return made?OX_OK:OX_ERR_NOMEM;}
static ox_status oxi_trie_make(oxi_trie*trie,const oxi_trie_text*texts,uint32_t count,bool backwards){
oxi_trie_build build;
memset(&build,0,sizeof build);
build.trie=trie;
build.texts=texts;
build.backwards=backwards;
for(int i=0;i<256;i++)trie->root[i]= -1;
if(count==0)return OX_OK;
build.order=(uint32_t*)oxi_calloc(count,2*sizeof*build.order);
if(!build.order)return OX_ERR_NOMEM;
build.scratch=build.order+count;
build.count=count;
oxi_sort_indexes(build.order,build.scratch,count,oxi_trie_compare,&build);
const ox_status status=oxi_trie_build_nodes(&build);
oxi_free(build.order,count*2*sizeof*build.order);
return status;}
static void oxi_trie_free(oxi_trie*trie){
oxi_free(trie->nodes,((size_t)trie->count+1)*sizeof*trie->nodes);}
static ox_status oxi_trie_find_markers(const oxi_trie*trie,const char*text,size_t length,bool user_only,
 oxi_markers*out){
int32_t node=0;
out->count=0;
if(!trie->nodes)return OX_OK;
for(size_t at=length;at-- >0;){
if(node==0&&trie->root[(uint8_t)text[at]]<0)continue;
node=oxi_trie_step(trie,node,(uint8_t)text[at]);
const int32_t value=user_only?trie->nodes[node].user:trie->nodes[node].value;
if(value<0)continue;
void*grown=oxi_grow(out->list,&out->room,out->count+1,sizeof*out->list,false);
if(!grown)return OX_ERR_NOMEM;
out->list=(oxi_marker*)grown;
out->list[out->count].at=at;
out->list[out->count++].value=value;}
return OX_OK;}
static void oxi_markers_free(oxi_markers*markers){
oxi_free(markers->list,markers->room*sizeof*markers->list);}
/* >>llm/tokenizer/pattern/pattern.c */
enum{OXI_PATTERN_DEPTH=24,OXI_PATTERN_STEPS=16384,OXI_PATTERN_COUNTED=4096};
typedef enum oxi_tree_kind{
OXI_TREE_EMPTY,OXI_TREE_CLASS,OXI_TREE_SEQUENCE,OXI_TREE_CHOICE,OXI_TREE_LOOK,OXI_TREE_EDGE}oxi_tree_kind;
typedef struct oxi_tree{
uint8_t kind,mode,edge;
bool negated,behind,repeats;
int32_t class_index,min,max;
int32_t child,sibling;}oxi_tree;
typedef struct oxi_compiler{
oxi_pattern*pattern;
const char*text;
size_t length,at;
oxi_tree*trees;
size_t tree_count,tree_room;
int64_t counted;
int depth;
bool ignore_case;}oxi_compiler;
static ox_status oxi_pattern_fail(const oxi_compiler*c,const char*what){
char shown[64];
const ox_string text={c->text,(int64_t)c->length};
oxi_llm_copy_text(text,shown,sizeof shown);
return oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: the pattern \"%s\" at byte %lld: %s",shown,
 (long long)c->at,what);}
typedef struct oxi_named_class{
const char*name;
uint32_t categories;}oxi_named_class;
static const oxi_named_class oxi_named_classes[]={{"L",OXI_LETTERS},{"Ll",OXI_IN(OXI_LL)},
 {"Lm",OXI_IN(OXI_LM)},{"Lo",OXI_IN(OXI_LO)},{"Lt",OXI_IN(OXI_LT)},{"Lu",OXI_IN(OXI_LU)},{"M",OXI_MARKS},
 {"Mc",OXI_IN(OXI_MC)},{"Me",OXI_IN(OXI_ME)},{"Mn",OXI_IN(OXI_MN)},{"N",OXI_NUMBERS},{"Nd",OXI_IN(OXI_ND)},
 {"Nl",OXI_IN(OXI_NL)},{"No",OXI_IN(OXI_NO)},{"P",OXI_PUNCTUATION},{"Pc",OXI_IN(OXI_PC)},
 {"Pd",OXI_IN(OXI_PD)},{"Pe",OXI_IN(OXI_PE)},{"Pf",OXI_IN(OXI_PF)},{"Pi",OXI_IN(OXI_PI)},
 {"Po",OXI_IN(OXI_PO)},{"Ps",OXI_IN(OXI_PS)},{"S",OXI_SYMBOLS},{"Sc",OXI_IN(OXI_SC)},{"Sk",OXI_IN(OXI_SK)},
 {"Sm",OXI_IN(OXI_SM)},{"So",OXI_IN(OXI_SO)},{"Z",OXI_SEPARATORS},{"Zl",OXI_IN(OXI_ZL)},
 {"Zp",OXI_IN(OXI_ZP)},{"Zs",OXI_IN(OXI_ZS)},{"C",OXI_OTHERS},{"Cc",OXI_IN(OXI_CC)},{"Cf",OXI_IN(OXI_CF)},
 {"Cn",OXI_IN(OXI_CN)},{"Co",OXI_IN(OXI_CO)},{"Cs",OXI_IN(OXI_CS)},{"Letter",OXI_LETTERS},
 {"Mark",OXI_MARKS},{"Number",OXI_NUMBERS},{"Symbol",OXI_SYMBOLS},{"Separator",OXI_SEPARATORS},
 {"Punctuation",OXI_PUNCTUATION}};
typedef struct oxi_named_range{
const char*name;
uint32_t low,high;}oxi_named_range;
static const oxi_named_range oxi_named_ranges[]={
{"Han",0x2E80,0x2E99},{"Han",0x2E9B,0x2EF3},{"Han",0x2F00,0x2FD5},
 {"Han",0x3005,0x3005},{"Han",0x3007,0x3007},{"Han",0x3021,0x3029},
 {"Han",0x3038,0x303B},{"Han",0x3400,0x4DBF},{"Han",0x4E00,0x9FFF},
 {"Han",0xF900,0xFA6D},{"Han",0xFA70,0xFAD9},{"Han",0x16FE2,0x16FE3},
 {"Han",0x16FF0,0x16FF1},{"Han",0x20000,0x2A6DF},{"Han",0x2A700,0x2B739},
 {"Han",0x2B740,0x2B81D},{"Han",0x2B820,0x2CEA1},{"Han",0x2CEB0,0x2EBE0},
 {"Han",0x2EBF0,0x2EE5D},{"Han",0x2F800,0x2FA1D},{"Han",0x30000,0x3134A},
 {"Han",0x31350,0x323AF},{"Hiragana",0x3041,0x3096},{"Hiragana",0x309D,0x309F},
 {"Hiragana",0x1B001,0x1B11F},{"Hiragana",0x1B132,0x1B132},{"Hiragana",0x1B150,0x1B152},
 {"Hiragana",0x1F200,0x1F200},{"Katakana",0x30A1,0x30FA},{"Katakana",0x30FD,0x30FF},
 {"Katakana",0x31F0,0x31FF},{"Katakana",0x32D0,0x32FE},{"Katakana",0x3300,0x3357},
 {"Katakana",0xFF66,0xFF6F},{"Katakana",0xFF71,0xFF9D},{"Hangul",0x1100,0x11FF},
 {"Hangul",0x3131,0x318E},{"Hangul",0xA960,0xA97C},{"Hangul",0xAC00,0xD7A3},
 {"Hangul",0xD7B0,0xD7FB},{"Thai",0xE01,0xE3A},{"Thai",0xE40,0xE5B}};
#define OXI_WORD_KINDS (OXI_LETTERS|OXI_MARKS|OXI_IN(OXI_ND)|OXI_IN(OXI_NL)|OXI_IN(OXI_PC))
static const uint32_t oxi_more_words[][2]={{0xB2,0xB3},{0xB9,0xB9},{0xBC,0xBE},
 {0x24B6,0x24E9},{0x1F130,0x1F149},{0x1F150,0x1F169},{0x1F170,0x1F189}};
static bool oxi_class_has_slow(const oxi_pattern*p,int32_t index,uint32_t code,int depth){
const oxi_class*c= &p->classes[index];
bool has=false;
for(uint32_t i=0;i<c->term_count&& !has;i++){
const oxi_class_term*t= &p->terms[c->term+i];
bool in=false;
if(t->of>=0)
in=depth<OXI_PATTERN_DEPTH&&oxi_class_has_slow(p,t->of,code,depth+1);
else if(t->categories)
in=(oxi_category_bit(p->unicode,code)&t->categories)!=0;
else if(t->white)
in=oxi_is_white_space(code);
else
in=code>=t->low&&code<=t->high;
has=in!=t->negated;}
if(has&&c->both>=0&&depth<OXI_PATTERN_DEPTH)
has=oxi_class_has_slow(p,c->both,code,depth+1);
return has!=c->negated;}
static bool oxi_class_has(const oxi_pattern*p,int32_t index,uint32_t code){
const oxi_class*c= &p->classes[index];
if(code<128)return c->ascii[code];
if(c->simple&&code!=0x85)return(oxi_category_bit(p->unicode,code)&c->categories)!=0;
return oxi_class_has_slow(p,index,code,0);}
static void oxi_class_finish(oxi_pattern*p,int32_t index){
oxi_class*c= &p->classes[index];
uint32_t categories=0;
c->simple=c->both<0;
for(uint32_t i=0;i<c->term_count;i++){
const oxi_class_term*t= &p->terms[c->term+i];
if(t->of>=0){
c->simple&=p->classes[t->of].simple;
categories|=t->negated? ~p->classes[t->of].categories:p->classes[t->of].categories;
 }else if(t->categories||t->white){
const uint32_t bits=t->categories?t->categories:OXI_SEPARATORS;
categories|=t->negated? ~bits:bits;}else{
c->simple&= !t->negated&&t->high<128;}}
c->categories=c->negated? ~categories:categories;
for(uint32_t code=0;code<128;code++)c->ascii[code]=oxi_class_has_slow(p,index,code,0);}
static int32_t oxi_class_add(oxi_pattern*p){
void*grown=oxi_grow(p->classes,&p->class_room,p->class_count+1,sizeof*p->classes,false);
if(!grown)return-1;
p->classes=(oxi_class*)grown;
oxi_class*c= &p->classes[p->class_count];
memset(c,0,sizeof*c);
c->both= -1;
c->term=(uint32_t)p->term_count;
return(int32_t)p->class_count++;}
static oxi_class_term*oxi_term_add(oxi_pattern*p){
void*grown=oxi_grow(p->terms,&p->term_room,p->term_count+1,sizeof*p->terms,false);
if(!grown)return NULL;
p->terms=(oxi_class_term*)grown;
oxi_class_term*t= &p->terms[p->term_count++];
memset(t,0,sizeof*t);
t->of= -1;
return t;}
typedef struct oxi_term_list{
oxi_class_term*terms;
size_t count,room;}oxi_term_list;
static ox_status oxi_term_push(oxi_term_list*list,oxi_class_term term){
void*grown=oxi_grow(list->terms,&list->room,list->count+1,sizeof*list->terms,false);
if(!grown)return OX_ERR_NOMEM;
list->terms=(oxi_class_term*)grown;
list->terms[list->count++]=term;
return OX_OK;}
static oxi_class_term oxi_range_term(uint32_t low,uint32_t high){
oxi_class_term t;
memset(&t,0,sizeof t);
t.of= -1;
t.low=low;
t.high=high;
return t;}
static ox_status oxi_push_range(oxi_compiler*c,oxi_term_list*list,uint32_t low,uint32_t high){
ox_status status=oxi_term_push(list,oxi_range_term(low,high));
for(uint32_t code=low;c->ignore_case&& !status&&code<=high&&code -low<512;code++){
const uint32_t lower=oxi_jinja_to_lower(code),upper=oxi_jinja_to_upper(code);
if(lower!=code)status=oxi_term_push(list,oxi_range_term(lower,lower));
if(!status&&upper!=code)status=oxi_term_push(list,oxi_range_term(upper,upper));
if(!status&&lower=='s')status=oxi_term_push(list,oxi_range_term(0x17F,0x17F));
if(!status&&lower=='k')status=oxi_term_push(list,oxi_range_term(0x212A,0x212A));}
return status;}
static int32_t oxi_class_from(oxi_compiler*c,const oxi_term_list*list,bool negated,int32_t both){
const int32_t index=oxi_class_add(c->pattern);
if(index<0)return-1;
for(size_t i=0;i<list->count;i++){
oxi_class_term*t=oxi_term_add(c->pattern);
if(!t)return-1;
*t=list->terms[i];}
oxi_class*made= &c->pattern->classes[index];
made->term_count=(uint32_t)list->count;
made->negated=negated;
made->both=both;
oxi_class_finish(c->pattern,index);
return index;}
static bool oxi_pattern_takes(oxi_compiler*c,const char*text){
const size_t length=strlen(text);
if(c->length-c->at<length||memcmp(c->text+c->at,text,length)!=0)return false;
c->at+=length;
return true;}
static ox_status oxi_push_property(oxi_compiler*c,oxi_term_list*list,bool negated){
char name[24]="";
size_t used=0;
if(c->at<c->length&&c->text[c->at]=='{'){
c->at++;
if(oxi_pattern_takes(c,"^"))negated= !negated;
if(!oxi_pattern_takes(c,"Script="))(void)oxi_pattern_takes(c,"Is");
while(c->at<c->length&&c->text[c->at]!='}'&&used+1<sizeof name)
name[used++]=c->text[c->at++];
if(!oxi_pattern_takes(c,"}"))return oxi_pattern_fail(c,"\\p{ without its }");}else if(c->at<c->length){
name[used++]=c->text[c->at++];}
name[used]=0;
oxi_class_term t=oxi_range_term(0,0);
for(size_t i=0;i<sizeof oxi_named_classes/sizeof*oxi_named_classes;i++)
if(strcmp(name,oxi_named_classes[i].name)==0)t.categories=oxi_named_classes[i].categories;
t.negated=negated;
if(t.categories)return oxi_term_push(list,t);
oxi_term_list ranges;
memset(&ranges,0,sizeof ranges);
ox_status status=OX_OK;
for(size_t i=0;i<sizeof oxi_named_ranges/sizeof*oxi_named_ranges&& !status;i++)
if(strcmp(name,oxi_named_ranges[i].name)==0)
status=oxi_term_push(&ranges,oxi_range_term(oxi_named_ranges[i].low,oxi_named_ranges[i].high));
if(!status&&ranges.count==0)status=oxi_pattern_fail(c,"a property that is not known");
t.of=status? -1:oxi_class_from(c,&ranges,false,-1);
oxi_free(ranges.terms,ranges.room*sizeof*ranges.terms);
if(status)return status;
return t.of<0?OX_ERR_NOMEM:oxi_term_push(list,t);}
static ox_status oxi_push_words(oxi_compiler*c,oxi_term_list*list,bool negated){
oxi_class_term whole=oxi_range_term(0,0),t=whole;
oxi_term_list terms;
memset(&terms,0,sizeof terms);
t.categories=OXI_WORD_KINDS;
ox_status status=oxi_term_push(&terms,t);
for(size_t i=0;i<sizeof oxi_more_words/sizeof*oxi_more_words&& !status;i++)
status=oxi_term_push(&terms,oxi_range_term(oxi_more_words[i][0],oxi_more_words[i][1]));
whole.negated=negated;
whole.of=status? -1:oxi_class_from(c,&terms,false,-1);
oxi_free(terms.terms,terms.room*sizeof*terms.terms);
if(status)return status;
return whole.of<0?OX_ERR_NOMEM:oxi_term_push(list,whole);}
static ox_status oxi_pattern_escape(oxi_compiler*c,oxi_term_list*list,uint32_t*code){
static const char letters[]="nrtfvae0",values[]="\n\r\t\f\v\a\033";
if(c->at>=c->length)return oxi_pattern_fail(c,"a backslash at the end");
const char letter=c->text[c->at++];
oxi_class_term t=oxi_range_term(0,0);
*code=UINT32_MAX;
t.negated=letter=='S'||letter=='D'||letter=='W'||letter=='P'||letter=='H';
if(letter=='p'||letter=='P')return oxi_push_property(c,list,t.negated);
if(letter=='s'||letter=='S')t.white=true;
if(letter=='d'||letter=='D')t.categories=OXI_IN(OXI_ND);
if(letter=='w'||letter=='W')return oxi_push_words(c,list,t.negated);
if(t.white||t.categories)return oxi_term_push(list,t);
const char*found=letter?strchr(letters,letter):NULL;
if(found){
*code=(unsigned char)values[found-letters];
return OX_OK;}
if(letter=='u'||letter=='x'){
const bool braces=oxi_pattern_takes(c,"{");
uint32_t value=0;
int digits=0;
for(;c->at<c->length&&digits<(braces?6:letter=='u'?4:2);digits++,c->at++){
const int digit=oxi_hex_digit(c->text[c->at]);
if(digit<0)break;
value=value*16+(uint32_t)digit;}
if(digits==0||value>0x10FFFF||(braces&& !oxi_pattern_takes(c,"}")))
return oxi_pattern_fail(c,"a number of a character that is none");
*code=value;
return OX_OK;}
if((letter>='a'&&letter<='z')||(letter>='A'&&letter<='Z')||(letter>='1'&&letter<='9')){
c->at--;
return oxi_pattern_fail(c,"an escape that is not known");}
c->at--;
*code=oxi_utf8_code(c->text,c->length,&c->at);
return OX_OK;}
static ox_status oxi_parse_class(oxi_compiler*c,int32_t*out);
static ox_status oxi_push_posix(oxi_compiler*c,oxi_term_list*list){
static const oxi_named_class names[]={{"alpha:]",OXI_LETTERS|OXI_MARKS},{"digit:]",OXI_IN(OXI_ND)},
 {"alnum:]",OXI_LETTERS|OXI_MARKS|OXI_IN(OXI_ND)},{"upper:]",OXI_IN(OXI_LU)},{"lower:]",OXI_IN(OXI_LL)},
 {"punct:]",OXI_PUNCTUATION},{"space:]",0}};
oxi_class_term t=oxi_range_term(0,0);
t.negated=oxi_pattern_takes(c,"^");
for(size_t i=0;i<sizeof names/sizeof*names;i++){
if(!oxi_pattern_takes(c,names[i].name))continue;
t.categories=names[i].categories;
t.white=t.categories==0;
return oxi_term_push(list,t);}
return oxi_pattern_fail(c,"a class [:..:] that is not known");}
static ox_status oxi_parse_term(oxi_compiler*c,oxi_term_list*list){
uint32_t low=0,high=0;
ox_status status=OX_OK;
if(oxi_pattern_takes(c,"[:"))return oxi_push_posix(c,list);
if(oxi_pattern_takes(c,"[")){
oxi_class_term t=oxi_range_term(0,0);
status=oxi_parse_class(c,&t.of);
return status?status:oxi_term_push(list,t);}
if(oxi_pattern_takes(c,"\\"))
status=oxi_pattern_escape(c,list,&low);
else
low=oxi_utf8_code(c->text,c->length,&c->at);
if(status||low==UINT32_MAX)return status;
high=low;
if(c->length-c->at>=2&&c->text[c->at]=='-'&&c->text[c->at+1]!=']'){
c->at++;
if(oxi_pattern_takes(c,"\\"))
status=oxi_pattern_escape(c,list,&high);
else
high=oxi_utf8_code(c->text,c->length,&c->at);
if(status)return status;
if(high==UINT32_MAX){
status=oxi_push_range(c,list,'-','-');
high=low;}
if(high<low)return oxi_pattern_fail(c,"a range from its end to its start");}
return status?status:oxi_push_range(c,list,low,high);}
static ox_status oxi_parse_class_parts(oxi_compiler*c,oxi_term_list*list,int32_t*both){
bool first=true;
while(c->at<c->length){
if(c->text[c->at]==']'&& !first){
c->at++;
return OX_OK;}
if(oxi_pattern_takes(c,"&&")){
oxi_term_list more;
memset(&more,0,sizeof more);
int32_t next= -1;
ox_status status=OX_ERR_UNSUPPORTED;
if(++c->depth<OXI_PATTERN_DEPTH)status=oxi_parse_class_parts(c,&more,&next);
c->depth--;
if(!status)*both=oxi_class_from(c,&more,false,next);
oxi_free(more.terms,more.room*sizeof*more.terms);
return status==OX_ERR_UNSUPPORTED&& !ox_error()?oxi_pattern_fail(c,"classes nested too deep"):status?status
 : *both<0?OX_ERR_NOMEM:OX_OK;}
const ox_status status=oxi_parse_term(c,list);
if(status)return status;
first=false;}
return oxi_pattern_fail(c,"[ without its ]");}
static ox_status oxi_parse_class(oxi_compiler*c,int32_t*out){
const bool negated=oxi_pattern_takes(c,"^");
oxi_term_list list;
int32_t both= -1;
memset(&list,0,sizeof list);
if(++c->depth>OXI_PATTERN_DEPTH)return oxi_pattern_fail(c,"classes nested too deep");
const ox_status status=oxi_parse_class_parts(c,&list,&both);
c->depth--;
*out=status? -1:oxi_class_from(c,&list,negated,both);
oxi_free(list.terms,list.room*sizeof*list.terms);
return status?status: *out<0?OX_ERR_NOMEM:OX_OK;}
/* >>llm/tokenizer/pattern/compile.c */
static int32_t oxi_tree_add(oxi_compiler*c,oxi_tree_kind kind){
void*grown=oxi_grow(c->trees,&c->tree_room,c->tree_count+1,sizeof*c->trees,false);
if(!grown)return-1;
c->trees=(oxi_tree*)grown;
oxi_tree*t= &c->trees[c->tree_count];
memset(t,0,sizeof*t);
t->kind=(uint8_t)kind;
t->child=t->sibling=t->class_index= -1;
t->min=t->max=1;
return(int32_t)c->tree_count++;}
static ox_status oxi_parse_choice(oxi_compiler*c,int32_t*out);
static ox_status oxi_parse_group_body(oxi_compiler*c,int32_t*out){
if(++c->depth>OXI_PATTERN_DEPTH)return oxi_pattern_fail(c,"groups nested too deep");
ox_status status=oxi_parse_choice(c,out);
c->depth--;
if(!status&& !oxi_pattern_takes(c,")"))status=oxi_pattern_fail(c,"( without its )");
return status;}
static ox_status oxi_parse_group(oxi_compiler*c,int32_t*out){
const bool before=c->ignore_case;
const bool ahead=oxi_pattern_takes(c,"?=")||oxi_pattern_takes(c,"?!");
const bool behind= !ahead&&(oxi_pattern_takes(c,"?<=")||oxi_pattern_takes(c,"?<!"));
if(ahead||behind){
const bool negated=c->text[c->at-1]=='!';
int32_t body;
const ox_status status=oxi_parse_group_body(c,&body);
if(status)return status;
for(int i=0;i<2&&behind;i++){
const oxi_tree*t= &c->trees[body];
if(t->kind!=OXI_TREE_CLASS&& !t->repeats&&t->child>=0&&c->trees[t->child].sibling<0)
body=t->child;}
if(behind&&(c->trees[body].kind!=OXI_TREE_CLASS||c->trees[body].repeats))
return oxi_pattern_fail(c,"a look behind at more than one character");
const int32_t look=oxi_tree_add(c,OXI_TREE_LOOK);
if(look<0)return OX_ERR_NOMEM;
c->trees[look].child=body;
c->trees[look].negated=negated;
c->trees[look].behind=behind;
*out=look;
return OX_OK;}
if(oxi_pattern_takes(c,"?i)")){
c->ignore_case=true;
*out=oxi_tree_add(c,OXI_TREE_EMPTY);
return*out<0?OX_ERR_NOMEM:OX_OK;}
if(oxi_pattern_takes(c,"?i:"))
c->ignore_case=true;
else if(oxi_pattern_takes(c,"?-i:"))
c->ignore_case=false;
else if(!oxi_pattern_takes(c,"?:")&&c->at<c->length&&c->text[c->at]=='?')
return oxi_pattern_fail(c,"a kind of group that is not known");
const ox_status status=oxi_parse_group_body(c,out);
c->ignore_case=before;
return status;}
static ox_status oxi_parse_edge(oxi_compiler*c,oxi_step_kind kind,bool negated,int32_t*out){
*out=oxi_tree_add(c,OXI_TREE_EDGE);
if(*out<0)return OX_ERR_NOMEM;
c->trees[*out].edge=(uint8_t)kind;
c->trees[*out].negated=negated;
return OX_OK;}
static ox_status oxi_parse_atom(oxi_compiler*c,int32_t*out){
oxi_term_list list;
uint32_t code=UINT32_MAX;
int32_t index= -1;
ox_status status=OX_OK;
memset(&list,0,sizeof list);
if(oxi_pattern_takes(c,"("))return oxi_parse_group(c,out);
if(oxi_pattern_takes(c,"^")||oxi_pattern_takes(c,"\\A"))
return oxi_parse_edge(c,OXI_STEP_START,false,out);
if(oxi_pattern_takes(c,"$")||oxi_pattern_takes(c,"\\z")||oxi_pattern_takes(c,"\\Z"))
return oxi_parse_edge(c,OXI_STEP_END,false,out);
if(oxi_pattern_takes(c,"\\b"))return oxi_parse_edge(c,OXI_STEP_WORD_EDGE,false,out);
if(oxi_pattern_takes(c,"\\B"))return oxi_parse_edge(c,OXI_STEP_WORD_EDGE,true,out);
if(strchr("*+?{",c->text[c->at])&&c->text[c->at]&&c->text[c->at]!='{')
return oxi_pattern_fail(c,"a quantifier of nothing");
if(oxi_pattern_takes(c,"[")){
status=oxi_parse_class(c,&index);}else{
bool negated=false;
if(oxi_pattern_takes(c,"\\")){
status=oxi_pattern_escape(c,&list,&code);}else if(oxi_pattern_takes(c,".")){
negated=true;
status=oxi_term_push(&list,oxi_range_term('\n','\n'));}else{
code=oxi_utf8_code(c->text,c->length,&c->at);}
if(!status&&code!=UINT32_MAX)status=oxi_push_range(c,&list,code,code);
if(!status)index=oxi_class_from(c,&list,negated,-1);
oxi_free(list.terms,list.room*sizeof*list.terms);}
if(status)return status;
*out=index<0? -1:oxi_tree_add(c,OXI_TREE_CLASS);
if(*out<0)return OX_ERR_NOMEM;
c->trees[*out].class_index=index;
return OX_OK;}
static bool oxi_parse_number(oxi_compiler*c,int32_t*out){
const size_t start=c->at;
int32_t value=0;
for(;c->at<c->length&&oxi_is_digit(c->text[c->at])&&c->at-start<6;c->at++)
value=value*10+(c->text[c->at]-'0');
if(c->at>start)*out=value;
return c->at>start;}
static bool oxi_parse_counts(oxi_compiler*c,int32_t*min,int32_t*max){
const size_t start=c->at;
*min=0;
*max= -1;
if(oxi_pattern_takes(c,"{")){
const bool low=oxi_parse_number(c,min),comma=oxi_pattern_takes(c,",");
const bool high=comma&&oxi_parse_number(c,max);
if(!comma)*max= *min;
if((low||high)&&oxi_pattern_takes(c,"}"))return true;}
c->at=start;
return false;}
static ox_status oxi_parse_quantifier(oxi_compiler*c,int32_t*tree){
int32_t min=0,max= -1;
bool counts=false;
if(oxi_pattern_takes(c,"?"))
max=1;
else if(oxi_pattern_takes(c,"+"))
min=1;
else if(!oxi_pattern_takes(c,"*")){
if(!oxi_parse_counts(c,&min,&max))return OX_OK;
counts=true;}
if(max>=0&&max<min)return oxi_pattern_fail(c,"a quantifier whose most is less than its least");
c->counted+=max>=0?max:min;
if(c->counted>OXI_PATTERN_COUNTED)return oxi_pattern_fail(c,"quantifiers that count too far");
const int32_t made=oxi_tree_add(c,OXI_TREE_SEQUENCE);
if(made<0)return OX_ERR_NOMEM;
oxi_tree*t= &c->trees[made];
const oxi_tree*child= &c->trees[*tree];
if(child->kind==OXI_TREE_LOOK||child->kind==OXI_TREE_EDGE)
return oxi_pattern_fail(c,"a quantifier of a place");
t->repeats=true;
t->min=min;
t->max=max;
t->mode=OXI_GREEDY;
if(oxi_pattern_takes(c,"?"))t->mode=OXI_LAZY;
if(!counts&&oxi_pattern_takes(c,"+"))t->mode=OXI_POSSESSIVE;
if(c->at<c->length&&strchr("*+?",c->text[c->at]))
return oxi_pattern_fail(c,"a quantifier of a quantifier");
if(child->kind==OXI_TREE_CLASS){
t->kind=OXI_TREE_CLASS;
t->class_index=child->class_index;}else{
t->child= *tree;
if(t->mode==OXI_POSSESSIVE)return oxi_pattern_fail(c,"a possessive group");}
*tree=made;
return OX_OK;}
static ox_status oxi_parse_sequence(oxi_compiler*c,int32_t*out){
const int32_t sequence=oxi_tree_add(c,OXI_TREE_SEQUENCE);
int32_t last= -1;
if(sequence<0)return OX_ERR_NOMEM;
while(c->at<c->length&&c->text[c->at]!='|'&&c->text[c->at]!=')'){
int32_t item= -1;
ox_status status=oxi_parse_atom(c,&item);
if(!status)status=oxi_parse_quantifier(c,&item);
if(status)return status;
if(last<0)
c->trees[sequence].child=item;
else
c->trees[last].sibling=item;
last=item;}
*out=sequence;
return OX_OK;}
static ox_status oxi_parse_choice(oxi_compiler*c,int32_t*out){
const bool ignore_case=c->ignore_case;
const int32_t choice=oxi_tree_add(c,OXI_TREE_CHOICE);
int32_t last= -1;
if(choice<0)return OX_ERR_NOMEM;
do{
int32_t item= -1;
const ox_status status=oxi_parse_sequence(c,&item);
if(status)return status;
if(last<0)
c->trees[choice].child=item;
else
c->trees[last].sibling=item;
last=item;}while(oxi_pattern_takes(c,"|"));
c->ignore_case=ignore_case;
*out=choice;
return OX_OK;}
static int32_t oxi_step_add(oxi_pattern*p,oxi_step_kind kind,int32_t next){
if(p->step_count>=OXI_PATTERN_STEPS){
(void)oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: a pattern of more than %d steps",OXI_PATTERN_STEPS);
return-1;}
void*grown=oxi_grow(p->steps,&p->step_room,p->step_count+1,sizeof*p->steps,false);
if(!grown)return-1;
p->steps=(oxi_step*)grown;
oxi_step*s= &p->steps[p->step_count];
memset(s,0,sizeof*s);
s->kind=(uint8_t)kind;
s->next=next;
s->other=s->class_index= -1;
s->min=s->max=1;
return(int32_t)p->step_count++;}
static bool oxi_tree_may_be_empty(const oxi_compiler*c,int32_t tree){
const oxi_tree*t= &c->trees[tree];
if(t->repeats&&t->min==0)return true;
if(t->kind==OXI_TREE_CLASS)return false;
if(t->kind!=OXI_TREE_SEQUENCE&&t->kind!=OXI_TREE_CHOICE)return true;
bool empty=t->kind==OXI_TREE_SEQUENCE;
for(int32_t i=t->child;i>=0;i=c->trees[i].sibling){
const bool may=oxi_tree_may_be_empty(c,i);
if(t->kind==OXI_TREE_CHOICE?may: !may)return may;}
return empty;}
static int32_t oxi_emit(oxi_compiler*c,int32_t tree,int32_t next);
static int32_t oxi_emit_sequence(oxi_compiler*c,int32_t child,int32_t next,int depth){
int32_t list[64];
int count=0;
for(;child>=0&&count<64;child=c->trees[child].sibling)list[count++]=child;
if(child>=0)next=depth>64? -1:oxi_emit_sequence(c,child,next,depth+1);
for(int i=count-1;i>=0&&next>=0;i--)next=oxi_emit(c,list[i],next);
return next;}
static int32_t oxi_emit_choice(oxi_compiler*c,int32_t first,int32_t second,bool lazy){
if(first<0||second<0)return-1;
const int32_t step=oxi_step_add(c->pattern,OXI_STEP_CHOICE,lazy?second:first);
if(step>=0)c->pattern->steps[step].other=lazy?first:second;
return step;}
static int32_t oxi_emit_repeated(oxi_compiler*c,const oxi_tree*t,int32_t next){
const bool lazy=t->mode==OXI_LAZY;
if(t->max<0){
if(oxi_tree_may_be_empty(c,t->child)){
(void)oxi_pattern_fail(c,"a group without end that may match nothing");
return-1;}
const int32_t loop=oxi_step_add(c->pattern,OXI_STEP_CHOICE,next);
const int32_t body=loop<0? -1:oxi_emit(c,t->child,loop);
if(body<0)return-1;
c->pattern->steps[loop].next=lazy?next:body;
c->pattern->steps[loop].other=lazy?body:next;
next=loop;}else{
const int32_t end=next;
for(int32_t i=t->min;i<t->max&&next>=0;i++)
next=oxi_emit_choice(c,oxi_emit(c,t->child,next),end,lazy);}
for(int32_t i=0;i<t->min&&next>=0;i++)next=oxi_emit(c,t->child,next);
return next;}
static int32_t oxi_emit_look(oxi_compiler*c,const oxi_tree*t,int32_t next){
if(t->behind){
const int32_t step=oxi_step_add(c->pattern,OXI_STEP_BEFORE,next);
if(step<0)return-1;
c->pattern->steps[step].class_index=c->trees[t->child].class_index;
c->pattern->steps[step].negated=t->negated;
return step;}
const int32_t match=oxi_step_add(c->pattern,OXI_STEP_MATCH,-1);
const int32_t body=match<0? -1:oxi_emit(c,t->child,match);
const int32_t step=body<0? -1:oxi_step_add(c->pattern,OXI_STEP_LOOK,next);
if(step<0)return-1;
c->pattern->steps[step].other=body;
c->pattern->steps[step].negated=t->negated;
return step;}
static int32_t oxi_emit(oxi_compiler*c,int32_t tree,int32_t next){
const oxi_tree t=c->trees[tree];
int32_t step=next;
if(t.kind==OXI_TREE_CLASS){
step=oxi_step_add(c->pattern,OXI_STEP_RUN,next);
if(step<0)return-1;
oxi_step*s= &c->pattern->steps[step];
s->class_index=t.class_index;
s->min=t.repeats?t.min:1;
s->max=t.repeats?t.max:1;
s->mode=t.mode;}else if(t.repeats){
step=oxi_emit_repeated(c,&t,next);}else if(t.kind==OXI_TREE_SEQUENCE){
step=oxi_emit_sequence(c,t.child,next,0);}else if(t.kind==OXI_TREE_CHOICE){
int32_t list[64];
int count=0;
for(int32_t i=t.child;i>=0;i=c->trees[i].sibling){
if(count==64){
(void)oxi_pattern_fail(c,"more than 64 alternatives");
return-1;}
list[count++]=i;}
step=oxi_emit(c,list[count-1],next);
for(int i=count-2;i>=0&&step>=0;i--)
step=oxi_emit_choice(c,oxi_emit(c,list[i],next),step,false);}else if(t.kind==OXI_TREE_LOOK){
step=oxi_emit_look(c,&t,next);}else if(t.kind==OXI_TREE_EDGE){
step=oxi_step_add(c->pattern,(oxi_step_kind)t.edge,next);
if(step>=0)c->pattern->steps[step].negated=t.negated;}
return step;}
static bool oxi_first_bytes(oxi_pattern*p,int32_t step,uint64_t bit,int*budget){
for(;;){
const oxi_step*s= &p->steps[step];
if(--*budget<0||s->kind==OXI_STEP_MATCH)return true;
if(s->kind==OXI_STEP_CHOICE){
if(oxi_first_bytes(p,s->next,bit,budget))return true;
step=s->other;
continue;}
if(s->kind==OXI_STEP_RUN){
for(int b=0;b<128;b++)
if(p->classes[s->class_index].ascii[b])p->first[b]|=bit;
p->first[128]|=bit;
if(s->min>0)return false;}
step=s->next;}}
static ox_status oxi_pattern_starts(oxi_compiler*c,int32_t tree){
oxi_pattern*p=c->pattern;
const int32_t match=oxi_step_add(p,OXI_STEP_MATCH,-1);
for(int32_t i=c->trees[tree].child;i>=0;i=c->trees[i].sibling){
void*grown=oxi_grow(p->starts,&p->start_room,p->start_count+1,sizeof*p->starts,false);
const int32_t start=grown&&match>=0?oxi_emit(c,i,match): -1;
if(grown)p->starts=(int32_t*)grown;
if(start<0)return ox_error()?ox_error():OX_ERR_NOMEM;
const uint64_t bit=(uint64_t)1<<(p->start_count<63?p->start_count:63);
int budget=2000;
p->starts[p->start_count++]=start;
if(oxi_first_bytes(p,start,bit,&budget)){
for(int b=0;b<=128;b++)p->first[b]|=bit;
p->anchored=true;}}
return OX_OK;}
static ox_status oxi_pattern_open(oxi_pattern*pattern,const oxi_unicode*unicode,const char*text,
 size_t length){
oxi_compiler c;
int32_t tree= -1;
memset(&c,0,sizeof c);
c.pattern=pattern;
c.text=text;
c.length=length;
pattern->unicode=unicode;
ox_status status=length>1<<20|| !oxi_utf8_is_valid(text,length)
 ?oxi_pattern_fail(&c,"not a pattern in UTF-8"):oxi_parse_choice(&c,&tree);
if(!status&&c.at<length)status=oxi_pattern_fail(&c,") without its (");
if(!status)status=oxi_pattern_starts(&c,tree);
oxi_free(c.trees,c.tree_room*sizeof*c.trees);
return status;}
static void oxi_pattern_close(oxi_pattern*p){
oxi_free(p->classes,p->class_room*sizeof*p->classes);
oxi_free(p->terms,p->term_room*sizeof*p->terms);
oxi_free(p->steps,p->step_room*sizeof*p->steps);
oxi_free(p->starts,p->start_room*sizeof*p->starts);}
/* >>llm/tokenizer/pattern/match.c */
static void oxi_matcher_reset(oxi_matcher*m,size_t length){
oxi_free(m->failed,m->failed_words*sizeof*m->failed);
m->failed=NULL;
m->failed_words=0;
m->frame_count=m->open_count=0;
m->steps=0;
m->most=(uint64_t)length*32+20000;
m->status=OX_OK;}
static void oxi_matcher_free(oxi_matcher*m){
oxi_free(m->frames,m->frame_room*sizeof*m->frames);
oxi_free(m->open,m->open_room*sizeof*m->open);
oxi_free(m->failed,m->failed_words*sizeof*m->failed);
memset(m,0,sizeof*m);}
typedef struct oxi_match{
const oxi_pattern*pattern;
oxi_matcher*matcher;
const char*text;
size_t length;}oxi_match;
static bool oxi_match_push(oxi_match*s,int32_t step,int32_t class_index,size_t at,size_t low){
oxi_matcher*m=s->matcher;
if(m->frame_count==m->frame_room){
void*grown=oxi_grow(m->frames,&m->frame_room,m->frame_count+1,sizeof*m->frames,false);
if(!grown){
m->status=OX_ERR_NOMEM;
return false;}
m->frames=(oxi_frame*)grown;}
oxi_frame*frame= &m->frames[m->frame_count++];
frame->step=step;
frame->class_index=class_index;
frame->at=(uint32_t)at;
frame->low=(uint32_t)low;
return true;}
static bool oxi_match_enter(oxi_match*s,int32_t step,size_t at){
oxi_matcher*m=s->matcher;
const size_t bit=(size_t)step*(s->length+1)+at;
if(m->failed[bit/64]>>(bit%64)&1)return false;
m->failed[bit/64]|=(uint64_t)1<<(bit%64);
void*grown=oxi_grow(m->open,&m->open_room,4*(m->open_count+1),sizeof*m->open,false);
if(!grown){
m->status=OX_ERR_NOMEM;
return false;}
m->open=(uint32_t*)grown;
uint32_t*entry=m->open+4*m->open_count++;
entry[0]=(uint32_t)step;
entry[1]=(uint32_t)at;
entry[2]=(uint32_t)m->frame_count;
return true;}
static void oxi_match_settle(oxi_matcher*m,size_t from){
while(m->open_count>from&&m->open[4*(m->open_count-1)+2]>m->frame_count)m->open_count--;}
static void oxi_match_forget(oxi_match*s,size_t from){
oxi_matcher*m=s->matcher;
for(;m->open_count>from;m->open_count--){
const uint32_t*entry=m->open+4*(m->open_count-1);
const size_t bit=(size_t)entry[0]*(s->length+1)+entry[1];
m->failed[bit/64]&= ~((uint64_t)1<<(bit%64));}}
static size_t oxi_step_back(const char*text,size_t at){
do at--;
while(at>0&&((unsigned char)text[at]&0xC0)==0x80);
return at;}
static size_t oxi_match_run(const oxi_match*s,int32_t index,size_t at,int32_t most,int32_t*count){
const oxi_class*c= &s->pattern->classes[index];
int32_t taken=0;
while(at<s->length&&taken!=most){
const unsigned char byte=(unsigned char)s->text[at];
if(byte<128){
if(!c->ascii[byte])break;
at++;}else{
size_t next=at;
if(!oxi_class_has(s->pattern,index,oxi_utf8_code(s->text,s->length,&next)))break;
at=next;}
if(taken<INT32_MAX)taken++;}
*count=taken;
return at;}
static bool oxi_match_is_word(const oxi_match*s,size_t at){
const uint32_t code=oxi_utf8_code(s->text,s->length,&at);
for(size_t i=0;i<sizeof oxi_more_words/sizeof*oxi_more_words;i++)
if(code>=oxi_more_words[i][0]&&code<=oxi_more_words[i][1])return true;
return(oxi_category_bit(s->pattern->unicode,code)&OXI_WORD_KINDS)!=0;}
static bool oxi_match_edge(const oxi_match*s,const oxi_step*step,size_t at){
if(step->kind==OXI_STEP_START)return at==0;
if(step->kind==OXI_STEP_END)return at==s->length;
if(step->kind==OXI_STEP_BEFORE){
size_t before=at?oxi_step_back(s->text,at):0;
const bool has=at&&oxi_class_has(s->pattern,step->class_index,oxi_utf8_code(s->text,s->length,&before));
return has!=step->negated;}
const bool left=at>0&&oxi_match_is_word(s,oxi_step_back(s->text,at));
const bool right=at<s->length&&oxi_match_is_word(s,at);
return(left!=right)!=step->negated;}
static bool oxi_match_steps(oxi_match*s,int32_t step,size_t at,size_t*end,int depth);
static bool oxi_match_look(oxi_match*s,const oxi_step*step,size_t at,int depth){
size_t end;
const oxi_step*body= &s->pattern->steps[step->other];
if(body->kind==OXI_STEP_RUN&&body->min==1&&s->pattern->steps[body->next].kind==OXI_STEP_MATCH){
int32_t count;
(void)oxi_match_run(s,body->class_index,at,1,&count);
return(count==1)!=step->negated;}
if(depth>OXI_PATTERN_DEPTH)return false;
return oxi_match_steps(s,step->other,at,&end,depth+1)!=step->negated;}
static size_t oxi_match_take(oxi_match*s,const oxi_step*step,size_t at){
int32_t count=0;
const size_t low=oxi_match_run(s,step->class_index,at,step->min,&count);
if(count<step->min)return SIZE_MAX;
if(step->max==step->min)return low;
if(step->mode==OXI_LAZY){
if(!oxi_match_push(s,step->next,-2-step->class_index,low,
 step->max<0?UINT32_MAX:(size_t)(step->max-step->min)))
return SIZE_MAX;
return low;}
const size_t high=oxi_match_run(s,step->class_index,low,step->max<0? -1:step->max-step->min,&count);
if(high>low&&step->mode==OXI_GREEDY&& !oxi_match_push(s,step->next,step->class_index,high,low))
return SIZE_MAX;
return high;}
static int32_t oxi_match_resume(oxi_match*s,size_t*at){
oxi_matcher*m=s->matcher;
oxi_frame*frame= &m->frames[m->frame_count-1];
const int32_t step=frame->step;
if(frame->class_index== -1){
*at=frame->at;
m->frame_count--;}else if(frame->class_index>=0){
*at=oxi_step_back(s->text,frame->at);
frame->at=(uint32_t)*at;
if(*at<=frame->low)m->frame_count--;}else{
int32_t count;
*at=oxi_match_run(s,-2-frame->class_index,frame->at,1,&count);
if(count==0||frame->low==0){
m->frame_count--;
return-1;}
frame->at=(uint32_t)*at;
if(frame->low!=UINT32_MAX)frame->low--;}
return step;}
static bool oxi_match_steps(oxi_match*s,int32_t start,size_t at,size_t*end,int depth){
oxi_matcher*m=s->matcher;
const size_t base=m->frame_count,open=m->open_count;
int32_t index=start;
for(;;){
const oxi_step*step=index>=0? &s->pattern->steps[index]:NULL;
bool goes_on=step!=NULL;
if(++m->steps>m->most){
m->status=OX_ERR_UNSUPPORTED;
m->frame_count=base;
return false;}
if(step&&m->failed&&(step->kind==OXI_STEP_RUN||step->kind==OXI_STEP_CHOICE))
goes_on=oxi_match_enter(s,index,at);
if(goes_on){
switch((oxi_step_kind)step->kind){
case OXI_STEP_MATCH:
*end=at;
m->frame_count=base;
if(m->failed)oxi_match_forget(s,open);
return true;
case OXI_STEP_RUN:{
const size_t next=oxi_match_take(s,step,at);
goes_on=next!=SIZE_MAX;
if(goes_on)at=next;
break;}
case OXI_STEP_CHOICE:goes_on=oxi_match_push(s,step->other,-1,at,0);break;
case OXI_STEP_LOOK:goes_on=oxi_match_look(s,step,at,depth);break;
default:goes_on=oxi_match_edge(s,step,at);break;}}
if(m->status){
m->frame_count=base;
return false;}
if(goes_on){
index=step->next;
continue;}
if(m->frame_count==base){
m->open_count=open;
return false;}
index=oxi_match_resume(s,&at);
if(m->failed)oxi_match_settle(m,open);}}
static bool oxi_matcher_remember(oxi_match*s){
oxi_matcher*m=s->matcher;
size_t bits=0;
if(m->failed|| !oxi_mul_size(s->pattern->step_count,s->length+1,&bits)||bits>(size_t)1<<33){
m->status=oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: a pattern takes too many steps on this text");
return false;}
m->failed_words=bits/64+1;
m->failed=(uint64_t*)oxi_calloc(m->failed_words,sizeof*m->failed);
m->status=m->failed?OX_OK:OX_ERR_NOMEM;
if(!m->failed)m->failed_words=0;
m->frame_count=m->open_count=0;
m->most=m->steps+((uint64_t)s->length+1)*512+1000000;
return m->failed!=NULL;}
static bool oxi_match_at(oxi_match*s,uint64_t which,size_t at,size_t*end){
const oxi_pattern*p=s->pattern;
for(size_t i=0;which;which>>=1,i++){
if(!(which&1))continue;
for(size_t k=i;k<(i<63?i+1:p->start_count);k++){
if(oxi_match_steps(s,p->starts[k],at,end,0))return true;
if(s->matcher->status==OX_ERR_UNSUPPORTED&&oxi_matcher_remember(s))k--;
if(s->matcher->status)return false;}}
return false;}
static bool oxi_pattern_find(const oxi_pattern*pattern,oxi_matcher*matcher,const char*text,
 size_t length,size_t from,size_t*start,size_t*end){
oxi_match s;
s.pattern=pattern;
s.matcher=matcher;
s.text=text;
s.length=length;
for(size_t at=from;at<=length;){
const unsigned char byte=at<length?(unsigned char)text[at]:0;
const uint64_t which=at==length?(pattern->anchored?pattern->first[128]:0)
 :pattern->first[byte<128?byte:128];
if(which&&oxi_match_at(&s,which,at,end)){
*start=at;
return true;}
if(matcher->status)return false;
if(at==length)return false;
if(byte<128)
at++;
else
(void)oxi_utf8_code(text,length,&at);}
return false;}
/* >>llm/tokenizer/vocabulary.c */
static size_t oxi_vocabulary_length(const oxi_vocabulary*v,int32_t token){
return v->start[token+1]-v->start[token];}
static const char*oxi_vocabulary_text(const oxi_vocabulary*v,int32_t token){
return v->texts+v->start[token];}
static ox_status oxi_vocabulary_make(oxi_vocabulary*v,int64_t count,size_t bytes){
v->start=(size_t*)oxi_calloc((size_t)count+1,sizeof*v->start);
if(!v->start)return OX_ERR_NOMEM;
v->count=count;
v->start[count]=bytes;
v->texts=(char*)oxi_alloc(bytes);
v->type=(uint8_t*)oxi_calloc((size_t)count,sizeof*v->type);
for(int b=0;b<256;b++)v->byte_token[b]= -1;
return v->texts&&v->type?OX_OK:OX_ERR_NOMEM;}
static int oxi_byte_of_text(const char*text,size_t length){
if(length!=6||memcmp(text,"<0x",3)!=0||text[5]!='>')return-1;
const int high=oxi_hex_digit(text[3]),low=oxi_hex_digit(text[4]);
return high<0||low<0? -1:high*16+low;}
static const char*oxi_indexed_text(const oxi_vocabulary*v,bool pieces,int32_t token,size_t*length){
*length=pieces?v->piece_length[token]:oxi_vocabulary_length(v,token);
return pieces?v->pieces+v->piece_start[token]:oxi_vocabulary_text(v,token);}
static size_t oxi_text_slot(const oxi_vocabulary*v,bool pieces,const char*text,size_t length){
const oxi_text_index*index=pieces? &v->by_bytes: &v->by_text;
size_t slot=(size_t)oxi_keyed_hash(index->key,text,length)&(index->count-1);
while(index->slots[slot]){
size_t other;
const char*there=oxi_indexed_text(v,pieces,index->slots[slot]-1,&other);
if(other==length&&memcmp(there,text,length)==0)break;
slot=(slot+1)&(index->count-1);}
return slot;}
static int32_t oxi_vocabulary_find(const oxi_vocabulary*v,const char*text,size_t length){
return length&&length<=v->longest?v->by_text.slots[oxi_text_slot(v,false,text,length)]-1: -1;}
static int32_t oxi_vocabulary_find_known(const oxi_vocabulary*v,const char*text,size_t length){
const int32_t id=oxi_vocabulary_find(v,text,length);
return id>=0&&v->outside&&v->outside[id]? -1:id;}
static int32_t oxi_vocabulary_find_bytes(const oxi_vocabulary*v,const char*bytes,size_t length){
return length&&length<=v->longest?v->by_bytes.slots[oxi_text_slot(v,true,bytes,length)]-1: -1;}
static ox_status oxi_text_index_make(const oxi_vocabulary*v,oxi_text_index*index){
index->count=16;
index->key[0]=oxi_unpredictable();
index->key[1]=oxi_unpredictable();
while(index->count<(size_t)v->count*2)index->count*=2;
index->slots=(int32_t*)oxi_calloc(index->count,sizeof*index->slots);
return index->slots?OX_OK:OX_ERR_NOMEM;}
static ox_status oxi_vocabulary_index(oxi_vocabulary*v){
const ox_status status=oxi_text_index_make(v,&v->by_text);
if(status)return status;
for(int32_t i=0;i<v->count;i++){
const size_t length=oxi_vocabulary_length(v,i);
if(length>v->longest)v->longest=length;}
for(int32_t i=0;i<v->count;i++){
const size_t length=oxi_vocabulary_length(v,i);
if(length)v->by_text.slots[oxi_text_slot(v,false,oxi_vocabulary_text(v,i),length)]=i+1;}
return OX_OK;}
static bool oxi_is_byte_text(const char*text,size_t length){
for(size_t at=0;at<length;)
if(oxi_char_byte(oxi_utf8_code(text,length,&at))<0)return false;
return length>0;}
static ox_status oxi_vocabulary_index_bytes(oxi_vocabulary*v){
const ox_status status=oxi_text_index_make(v,&v->by_bytes);
if(status)return status;
for(int32_t i=0;i<v->count;i++){
const size_t length=oxi_vocabulary_length(v,i);
if(!oxi_is_byte_text(oxi_vocabulary_text(v,i),length)||(v->outside&&v->outside[i]))continue;
if(oxi_vocabulary_find(v,oxi_vocabulary_text(v,i),length)!=i)continue;
v->by_bytes.slots[oxi_text_slot(v,true,v->pieces+v->piece_start[i],v->piece_length[i])]=i+1;}
return OX_OK;}
static void oxi_vocabulary_free(oxi_vocabulary*v){
const size_t count=(size_t)v->count;
oxi_free(v->by_bytes.slots,v->by_bytes.count*sizeof*v->by_bytes.slots);
oxi_free(v->by_text.slots,v->by_text.count*sizeof*v->by_text.slots);
oxi_free(v->outside,v->outside?count:0);
oxi_free(v->piece_cut,count);
oxi_free(v->piece_length,count*sizeof*v->piece_length);
oxi_free(v->piece_start,count*sizeof*v->piece_start);
oxi_free(v->pieces,v->piece_bytes);
oxi_free(v->score,count*sizeof*v->score);
oxi_free(v->type,count*sizeof*v->type);
oxi_free(v->texts,v->start?v->start[count]+v->spare:0);
oxi_free(v->start,(count+1)*sizeof*v->start);}
/* >>llm/tokenizer/work.c */
static uint32_t oxi_text_from(const oxi_text*text,size_t at){
return text->from?text->from[at]:(uint32_t)(text->base +at);}
static uint32_t oxi_text_to(const oxi_text*text,size_t end){
return text->to?text->to[end-1]:(uint32_t)(text->base +end);}
static oxi_buffer*oxi_put_begin(oxi_flow*work){
oxi_buffer*out= &work->buffers[work->turn];
work->turn^=1;
out->length=0;
return out;}
static ox_status oxi_buffer_reserve(oxi_buffer*out,size_t more){
const size_t need=out->length+more;
if(out->bytes&&need<=out->byte_room&&need<=out->from_room&&need<=out->to_room)return OX_OK;
if(need>=UINT32_MAX)return oxi_fail(OX_ERR_NOMEM,"tokenizer: a text becomes longer than 2^32 bytes");
void*bytes=oxi_grow(out->bytes,&out->byte_room,need,1,false);
if(bytes)out->bytes=(char*)bytes;
void*from=oxi_grow(out->from,&out->from_room,need,sizeof*out->from,false);
if(from)out->from=(uint32_t*)from;
void*to=oxi_grow(out->to,&out->to_room,need,sizeof*out->to,false);
if(to)out->to=(uint32_t*)to;
return bytes&&from&&to?OX_OK:OX_ERR_NOMEM;}
static ox_status oxi_put(oxi_buffer*out,const char*bytes,size_t length,uint32_t from,uint32_t to){
const ox_status status=oxi_buffer_reserve(out,length);
if(status)return status;
for(size_t i=0;i<length;i++){
out->bytes[out->length]=bytes[i];
out->from[out->length]=from;
out->to[out->length++]=to;}
return OX_OK;}
static ox_status oxi_put_code(oxi_buffer*out,uint32_t code,uint32_t from,uint32_t to){
char bytes[4];
if(code<128&&out->length<out->byte_room&&out->length<out->from_room&&out->length<out->to_room){
out->bytes[out->length]=(char)code;
out->from[out->length]=from;
out->to[out->length++]=to;
return OX_OK;}
return oxi_put(out,bytes,oxi_utf8_write((int32_t)code,bytes),from,to);}
static ox_status oxi_put_text(oxi_buffer*out,const oxi_text*text,size_t start,size_t end){
const ox_status status=oxi_buffer_reserve(out,end-start);
if(status||end==start)return status;
memcpy(out->bytes+out->length,text->bytes+start,end-start);
if(text->from){
memcpy(out->from+out->length,text->from+start,(end-start)*sizeof*out->from);
memcpy(out->to+out->length,text->to+start,(end-start)*sizeof*out->to);}else{
for(size_t at=start;at<end;){
size_t next=at;
(void)oxi_utf8_code(text->bytes,end,&next);
for(size_t i=at;i<next;i++){
out->from[out->length+i-start]=(uint32_t)(text->base +at);
out->to[out->length+i-start]=(uint32_t)(text->base +next);}
at=next;}}
out->length+=end-start;
return OX_OK;}
static void oxi_put_end(oxi_flow*work,const oxi_buffer*out){
work->text.bytes=out->bytes?out->bytes:"";
work->text.length=out->length;
work->text.from=out->from;
work->text.to=out->to;
work->text.base=0;}
static ox_status oxi_split_push(oxi_split_list*list,size_t start,size_t end,bool match){
if(list->count==list->room){
void*grown=oxi_grow(list->list,&list->room,list->count+1,sizeof*list->list,false);
if(!grown)return OX_ERR_NOMEM;
list->list=(oxi_stretch*)grown;}
oxi_stretch*split= &list->list[list->count++];
split->start=(uint32_t)start;
split->end=(uint32_t)end;
split->match=match;
return OX_OK;}
static ox_status oxi_token_push_place(oxi_flow*work,int32_t id,uint32_t from,uint32_t to){
oxi_token_list*tokens= &work->tokens;
if(tokens->count==tokens->room){
void*grown=oxi_grow(tokens->list,&tokens->room,tokens->count+1,sizeof*tokens->list,false);
if(!grown)return OX_ERR_NOMEM;
tokens->list=(oxi_token*)grown;}
oxi_token*token= &tokens->list[tokens->count++];
token->id=id;
token->from=from;
token->to=to;
return OX_OK;}
static ox_status oxi_token_push(oxi_flow*work,int32_t id,size_t start,size_t end){
const oxi_text*text= &work->text;
if(!work->places||end<=start)return oxi_token_push_place(work,id,0,0);
if(text->from)return oxi_token_push_place(work,id,text->from[start],text->to[end-1]);
while(start>0&&((unsigned char)text->bytes[start]&0xC0)==0x80)start--;
while(end<text->length&&((unsigned char)text->bytes[end]&0xC0)==0x80)end++;
return oxi_token_push_place(work,id,(uint32_t)(text->base +start),(uint32_t)(text->base +end));}
static void*oxi_work_scratch(oxi_flow*work,size_t bytes){
void*grown=oxi_grow(work->scratch,&work->scratch_bytes,bytes?bytes:1,1,false);
if(grown)work->scratch=grown;
return grown;}
static void oxi_buffer_free(oxi_buffer*buffer){
oxi_free(buffer->bytes,buffer->byte_room);
oxi_free(buffer->from,buffer->from_room*sizeof*buffer->from);
oxi_free(buffer->to,buffer->to_room*sizeof*buffer->to);}
static void oxi_split_list_free(oxi_split_list*list){
oxi_free(list->list,list->room*sizeof*list->list);}
static oxi_pipe_step*oxi_steps_add(oxi_steps*steps,const oxi_step_row*row){
void*grown=oxi_grow(steps->list,&steps->room,steps->count+1,sizeof*steps->list,false);
if(!grown)return NULL;
steps->list=(oxi_pipe_step*)grown;
oxi_pipe_step*step= &steps->list[steps->count++];
memset(step,0,sizeof*step);
step->row=row;
step->options=row?row->usual:0;
return step;}
static ox_status oxi_step_set(char**text,size_t*length,const char*from,size_t bytes){
char*copy=(char*)oxi_alloc(bytes+1);
if(!copy)return OX_ERR_NOMEM;
if(bytes)memcpy(copy,from,bytes);
copy[bytes]=0;
if(*text)oxi_free(*text,*length+1);
*text=copy;
*length=bytes;
return OX_OK;}
static ox_status oxi_step_set_pattern(ox_tokenizer*t,oxi_pipe_step*step,const char*text,size_t length){
ox_status status=oxi_unicode_open(&t->unicode,0);
if(status)return status;
status=oxi_step_set(&step->find,&step->find_length,text,length);
if(status||step->pattern)return status?status:oxi_fail(OX_ERR_FORMAT,"tokenizer: two patterns");
step->pattern=(oxi_pattern*)oxi_calloc(1,sizeof*step->pattern);
return step->pattern?oxi_pattern_open(step->pattern,&t->unicode,text,length):OX_ERR_NOMEM;}
static void oxi_steps_free(oxi_steps*steps){
for(size_t i=0;i<steps->count;i++){
oxi_pipe_step*step= &steps->list[i];
if(step->text)oxi_free(step->text,step->text_length+1);
if(step->find)oxi_free(step->find,step->find_length+1);
if(step->pattern){
oxi_pattern_close(step->pattern);
oxi_free(step->pattern,sizeof*step->pattern);}
oxi_free(step->ids,(step->single +step->pair)*sizeof*step->ids);
oxi_free(step->types,step->single +step->pair);}
oxi_free(steps->list,steps->room*sizeof*steps->list);}
/* >>llm/tokenizer/normalizers.c */
typedef struct oxi_char{
uint32_t code,from,to;
size_t start,end;}oxi_char;
static oxi_char oxi_char_at(const oxi_text*text,size_t at){
oxi_char c;
c.start=c.end=at;
c.code=oxi_utf8_code(text->bytes,text->length,&c.end);
c.from=oxi_text_from(text,c.start);
c.to=oxi_text_to(text,c.end);
return c;}
static bool oxi_is_ascii(const oxi_text*text){
for(size_t i=0;i<text->length;i++)
if((unsigned char)text->bytes[i]>=128)return false;
return true;}
typedef struct oxi_form_char{
uint32_t code,from,to;
uint8_t combining;}oxi_form_char;
typedef struct oxi_form_chars{
oxi_form_char*list;
size_t count,room;}oxi_form_chars;
static ox_status oxi_put_parts(const oxi_unicode*u,oxi_form_chars*parts,bool compose,oxi_buffer*out){
ox_status status=OX_OK;
size_t marks=0;
for(size_t i=0;i<parts->count;i++)marks+=parts->list[i].combining!=0;
if(marks>1&&parts->count<64){
for(size_t i=1;i<parts->count;i++){
const oxi_form_char moved=parts->list[i];
size_t at=i;
for(;moved.combining&&at>0&&parts->list[at-1].combining>moved.combining;at--)
parts->list[at]=parts->list[at-1];
parts->list[at]=moved;}}else if(marks>1){
oxi_form_char*sorted=(oxi_form_char*)oxi_alloc(parts->count*sizeof*sorted);
if(!sorted)return OX_ERR_NOMEM;
size_t count=0;
for(uint32_t combining=0;combining<256;combining++)
for(size_t i=0;i<parts->count;i++)
if(parts->list[i].combining==combining)sorted[count++]=parts->list[i];
memcpy(parts->list,sorted,parts->count*sizeof*sorted);
oxi_free(sorted,parts->count*sizeof*sorted);}
size_t kept=parts->count?1:0;
uint8_t last=0;
for(size_t i=1;compose&&i<parts->count;i++){
const oxi_form_char part=parts->list[i];
const bool blocked=kept>1&&(last==0||last>=part.combining);
const uint32_t made=blocked||parts->list[0].combining?0:oxi_compose(u,parts->list[0].code,part.code);
if(made){
parts->list[0].code=made;}else{
last=part.combining;
parts->list[kept++]=part;}}
if(!compose)kept=parts->count;
for(size_t i=0;i<kept&& !status;i++)
status=oxi_put_code(out,parts->list[i].code,parts->list[i].from,parts->list[i].to);
parts->count=0;
return status;}
static bool oxi_joins(const oxi_unicode*u,const oxi_form_chars*parts,uint32_t code){
return parts->count==1&&oxi_compose(u,parts->list[0].code,code)!=0;}
static ox_status oxi_normal_form(oxi_flow*work,bool compatible,bool compose){
const oxi_unicode*u= &work->tokenizer->unicode;
const oxi_text text=work->text;
if(oxi_is_ascii(&text))return OX_OK;
oxi_buffer*out=oxi_put_begin(work);
oxi_form_chars parts;
memset(&parts,0,sizeof parts);
ox_status status=OX_OK;
for(size_t at=0;at<text.length&& !status;){
const oxi_char c=oxi_char_at(&text,at);
uint32_t codes[OXI_MOST_PARTS];
const size_t count=oxi_decompose(u,c.code,compatible,codes);
for(size_t i=0;i<count&& !status;i++){
const uint8_t combining=codes[i]<0x300?0:oxi_property_of(&u->combining,codes[i]);
if(combining==0&&parts.count>0&& !(compose&&oxi_joins(u,&parts,codes[i])))
status=oxi_put_parts(u,&parts,compose,out);
void*grown=oxi_grow(parts.list,&parts.room,parts.count+1,sizeof*parts.list,false);
if(!grown)status=OX_ERR_NOMEM;
if(status)break;
parts.list=(oxi_form_char*)grown;
oxi_form_char*part= &parts.list[parts.count++];
part->code=codes[i];
part->from=c.from;
part->to=c.to;
part->combining=combining;
if(combining==0&&parts.count==2){
parts.list[0].code=oxi_compose(u,parts.list[0].code,codes[i]);
parts.count=1;}}
at=c.end;}
if(!status)status=oxi_put_parts(u,&parts,compose,out);
oxi_free(parts.list,parts.room*sizeof*parts.list);
oxi_put_end(work,out);
return status;}
static ox_status oxi_normalize_nfc(const oxi_pipe_step*step,oxi_flow*work){
(void)step;
return oxi_normal_form(work,false,true);}
static ox_status oxi_normalize_nfd(const oxi_pipe_step*step,oxi_flow*work){
(void)step;
return oxi_normal_form(work,false,false);}
static ox_status oxi_normalize_nfkc(const oxi_pipe_step*step,oxi_flow*work){
(void)step;
return oxi_normal_form(work,true,true);}
static ox_status oxi_normalize_nfkd(const oxi_pipe_step*step,oxi_flow*work){
(void)step;
return oxi_normal_form(work,true,false);}
typedef size_t(*oxi_char_map)(const oxi_unicode*u,uint32_t code,uint32_t out[3]);
static ox_status oxi_map_chars(oxi_flow*work,oxi_char_map map,bool ascii_stays){
const oxi_text text=work->text;
if(ascii_stays&&oxi_is_ascii(&text))return OX_OK;
oxi_buffer*out=oxi_put_begin(work);
ox_status status=oxi_buffer_reserve(out,text.length);
for(size_t at=0;at<text.length&& !status;){
const oxi_char c=oxi_char_at(&text,at);
uint32_t codes[3];
const size_t count=map(&work->tokenizer->unicode,c.code,codes);
for(size_t i=0;i<count&& !status;i++)status=oxi_put_code(out,codes[i],c.from,c.to);
at=c.end;}
oxi_put_end(work,out);
return status;}
static size_t oxi_char_lower(const oxi_unicode*u,uint32_t code,uint32_t out[3]){
(void)u;
out[0]=oxi_jinja_to_lower(code);
if(code!=0x130)return 1;
out[0]='i';
out[1]=0x307;
return 2;}
static size_t oxi_char_no_mark(const oxi_unicode*u,uint32_t code,uint32_t out[3]){
out[0]=code;
return code<0x300||((oxi_category_bit(u,code)&OXI_MARKS)==0)!=OXI_OLDER(marks,code);}
static size_t oxi_char_no_nonspacing(const oxi_unicode*u,uint32_t code,uint32_t out[3]){
out[0]=code;
return code<0x300||((oxi_category_bit(u,code)&OXI_IN(OXI_MN))==0)!=OXI_OLDER(nonspacing,code);}
static size_t oxi_char_clean(const oxi_unicode*u,uint32_t code,uint32_t out[3]){
const bool blank=code=='\t'||code=='\n'||code=='\r';
out[0]=blank||oxi_is_white_space(code)?' ':code;
const bool control=(oxi_category_bit(u,code)&OXI_OTHERS& ~OXI_IN(OXI_CN))!=0;
return!(code==0||code==0xFFFD||(!blank&&control!=(code>=128&&OXI_OLDER(format,code))));}
static bool oxi_is_ideograph(uint32_t c){
return(c>=0x4E00&&c<=0x9FFF)||(c>=0x3400&&c<=0x4DBF)||(c>=0x20000&&c<=0x2A6DF)||
 (c>=0x2A700&&c<=0x2B73F)||(c>=0x2B740&&c<=0x2B81F)||
 (c>=0x2B920&&c<=0x2CEAF)||(c>=0xF900&&c<=0xFAFF)||(c>=0x2F800&&c<=0x2FA1F);}
static size_t oxi_char_apart(const oxi_unicode*u,uint32_t code,uint32_t out[3]){
(void)u;
const bool ideograph=oxi_is_ideograph(code);
out[0]=out[2]=' ';
out[ideograph]=code;
return ideograph?3:1;}
static size_t oxi_char_nmt(const oxi_unicode*u,uint32_t c,uint32_t out[3]){
(void)u;
const bool space=c==9||c==10||c==12||c==13||c==0x1680||
 (c>=0x200B&&c<=0x200F)||c==0x2028||c==0x2029||c==0x2581||c==0xFEFF||c==0xFFFD;
out[0]=space?' ':c;
return!((c>=1&&c<=8)||c==11||(c>=14&&c<=31)||c==127||c==0x8F||c==0x9F);}
static ox_status oxi_normalize_lowercase(const oxi_pipe_step*step,oxi_flow*work){
(void)step;
return oxi_map_chars(work,oxi_char_lower,false);}
static ox_status oxi_normalize_strip_accents(const oxi_pipe_step*step,oxi_flow*work){
(void)step;
return oxi_map_chars(work,oxi_char_no_mark,true);}
static ox_status oxi_normalize_nmt(const oxi_pipe_step*step,oxi_flow*work){
(void)step;
return oxi_map_chars(work,oxi_char_nmt,false);}
static ox_status oxi_normalize_bert(const oxi_pipe_step*step,oxi_flow*work){
ox_status status=OX_OK;
if(step->options&OXI_CLEAN_TEXT)status=oxi_map_chars(work,oxi_char_clean,false);
if(!status&&(step->options&OXI_CHINESE_CHARS))status=oxi_map_chars(work,oxi_char_apart,true);
if(!status&&(step->options&OXI_STRIP_ACCENTS)){
status=oxi_normal_form(work,false,false);
if(!status)status=oxi_map_chars(work,oxi_char_no_nonspacing,true);}
return!status&&(step->options&OXI_LOWERCASE)?oxi_map_chars(work,oxi_char_lower,false):status;}
static ox_status oxi_byte_chars(oxi_flow*work,const oxi_text*text,size_t start,size_t end,oxi_buffer*out){
ox_status status=OX_OK;
for(size_t at=start;at<end&& !status;){
const oxi_char c=oxi_char_at(text,at);
for(;at<c.end&& !status;at++)
status=oxi_put_code(out,oxi_byte_char((uint8_t)text->bytes[at]),c.from,c.to);}
(void)work;
return status;}
static ox_status oxi_normalize_byte_level(const oxi_pipe_step*step,oxi_flow*work){
const oxi_text text=work->text;
oxi_buffer*out=oxi_put_begin(work);
const ox_status status=oxi_byte_chars(work,&text,0,text.length,out);
(void)step;
oxi_put_end(work,out);
return status;}
static ox_status oxi_normalize_strip(const oxi_pipe_step*step,oxi_flow*work){
const oxi_text text=work->text;
size_t start=0,end=text.length;
while((step->options&OXI_STRIP_LEFT)&&start<end){
const oxi_char c=oxi_char_at(&text,start);
if(!oxi_is_white_space(c.code))break;
start=c.end;}
while((step->options&OXI_STRIP_RIGHT)&&end>start){
const size_t before=oxi_step_back(text.bytes,end);
if(!oxi_is_white_space(oxi_char_at(&text,before).code))break;
end=before;}
if(start==0&&end==text.length)return OX_OK;
oxi_buffer*out=oxi_put_begin(work);
const ox_status status=oxi_put_text(out,&text,start,end);
oxi_put_end(work,out);
return status;}
static bool oxi_step_find(const oxi_pipe_step*step,oxi_flow*work,const char*text,size_t length,
 size_t from,size_t*start,size_t*end){
if(step->pattern)return oxi_pattern_find(step->pattern,&work->matcher,text,length,from,start,end);
if(step->find_length==0){
*start= *end=from;
return from<=length;}
while(length-from>=step->find_length){
const char*found=(const char*)memchr(text+from,step->find[0],length-from);
if(!found)return false;
from=(size_t)(found-text);
if(length-from<step->find_length)return false;
if(memcmp(found,step->find,step->find_length)==0){
*start=from;
*end=from+step->find_length;
return true;}
from++;}
return false;}
static ox_status oxi_normalize_replace(const oxi_pipe_step*step,oxi_flow*work){
const oxi_text text=work->text;
size_t at=0,start=0,end=0,search=0;
ox_status status=OX_OK;
oxi_matcher_reset(&work->matcher,text.length);
if(!oxi_step_find(step,work,text.bytes,text.length,0,&start,&end))return work->matcher.status;
oxi_buffer*out=oxi_put_begin(work);
do{
status=oxi_put_text(out,&text,at,start);
if(!status&&(end>start||start>0||end==0)){
const uint32_t from=end?oxi_text_from(&text,end>start?oxi_step_back(text.bytes,end):0):0;
const uint32_t to=end?oxi_text_to(&text,end):0;
status=oxi_put(out,step->text,step->text_length,from,to);}
at=end;
search=end;
if(end==start&&end<text.length)(void)oxi_utf8_code(text.bytes,text.length,&search);
if(end==start&&end==text.length)break;
 }while(!status&&oxi_step_find(step,work,text.bytes,text.length,search,&start,&end));
if(!status)status=work->matcher.status;
if(!status)status=oxi_put_text(out,&text,at,text.length);
oxi_put_end(work,out);
return status;}
static ox_status oxi_normalize_prepend(const oxi_pipe_step*step,oxi_flow*work){
const oxi_text text=work->text;
if(text.length==0)return OX_OK;
oxi_buffer*out=oxi_put_begin(work);
const oxi_char c=oxi_char_at(&text,0);
ox_status status=oxi_put(out,step->text,step->text_length,c.from,c.to);
if(!status)status=oxi_put_text(out,&text,0,text.length);
oxi_put_end(work,out);
return status;}
typedef struct oxi_charsmap{
const unsigned char*nodes,*texts;
size_t node_count,text_bytes;}oxi_charsmap;
static bool oxi_charsmap_of(const char*blob,size_t bytes,oxi_charsmap*out){
const unsigned char*p=(const unsigned char*)blob;
if(bytes<8)return false;
const size_t size=oxi_read_u32(p);
if(size%4||size>bytes-4||size==0)return false;
out->nodes=p +4;
out->node_count=size/4;
out->texts=p +4+size;
out->text_bytes=bytes-4-size;
return true;}
static uint32_t oxi_charsmap_jump(uint32_t node){
return(node>>10)<<((node&(1u<<9))>>6);}
static size_t oxi_charsmap_find(const oxi_charsmap*map,const char*text,size_t length,bool longest,
 const char**out,size_t*out_length){
uint32_t at=oxi_charsmap_jump(oxi_read_u32(map->nodes));
size_t found=0,place=0;
for(size_t i=0;i<length&&text[i];i++){
at^=(unsigned char)text[i];
if(at>=map->node_count)break;
const uint32_t node=oxi_read_u32(map->nodes+4*(size_t)at);
if((node&0x800000FFu)!=(unsigned char)text[i])break;
at^=oxi_charsmap_jump(node);
if(!(node>>8&1))continue;
if(at>=map->node_count)break;
found=i+1;
place=oxi_read_u32(map->nodes+4*(size_t)at)&0x7FFFFFFF;
if(!longest)break;}
if(found==0||place>=map->text_bytes)return 0;
const char*start=(const char*)map->texts+place;
const char*end=(const char*)memchr(start,0,map->text_bytes-place);
*out=start;
*out_length=end?(size_t)(end-start):map->text_bytes-place;
return oxi_utf8_is_valid(start,*out_length)?found:0;}
static size_t oxi_grapheme_end(const oxi_unicode*u,const oxi_text*text,size_t at){
const oxi_char first=oxi_char_at(text,at);
size_t end=first.end;
if(first.code=='\r'&&end<text->length&&text->bytes[end]=='\n')return end+1;
if(oxi_category_bit(u,first.code)&(OXI_IN(OXI_CC)|OXI_IN(OXI_ZL)|OXI_IN(OXI_ZP)))return end;
while(end<text->length){
const oxi_char c=oxi_char_at(text,end);
if(!(oxi_category_bit(u,c.code)&OXI_MARKS)&&c.code!=0x200C&&c.code!=0x200D&&
 !(c.code>=0x1F3FB&&c.code<=0x1F3FF)&&c.code!=0xFF9E&&c.code!=0xFF9F)
break;
end=c.end;}
return end;}
static ox_status oxi_normalize_precompiled(const oxi_pipe_step*step,oxi_flow*work){
const oxi_unicode*u= &work->tokenizer->unicode;
const oxi_text text=work->text;
oxi_charsmap map;
if(!oxi_charsmap_of(step->text,step->text_length,&map))return OX_OK;
oxi_buffer*out=oxi_put_begin(work);
ox_status status=OX_OK;
for(size_t at=0;at<text.length&& !status;){
const size_t end=oxi_grapheme_end(u,&text,at);
const char*made;
size_t made_length;
if(end-at<6&&oxi_charsmap_find(&map,text.bytes+at,end-at,false,&made,&made_length)){
const oxi_char c=oxi_char_at(&text,at);
status=oxi_put(out,made,made_length,c.from,c.to);
at=end;}
while(at<end&& !status){
const oxi_char c=oxi_char_at(&text,at);
if(!oxi_charsmap_find(&map,text.bytes+at,c.end-at,false,&made,&made_length)){
made=text.bytes+at;
made_length=c.end-at;}
status=oxi_put(out,made,made_length,c.from,c.to);
at=c.end;}}
oxi_put_end(work,out);
return status;}
static ox_status oxi_normalize_unigram(const oxi_pipe_step*step,oxi_flow*work){
static const char escaped[]="\xe2\x96\x81";
const oxi_text text=work->text;
const bool merge=(step->options&OXI_REMOVE_EXTRA_SPACES)!=0;
const bool prefix=(step->options&OXI_ADD_PREFIX_SPACE)!=0;
const char*space=step->options&OXI_ESCAPE_SPACES?escaped:" ";
const oxi_trie*user= &work->tokenizer->markers[0];
oxi_charsmap map;
const bool has_map=oxi_charsmap_of(step->text,step->text_length,&map);
oxi_buffer*out=oxi_put_begin(work);
bool prepended=false,inside=false;
ox_status status=OX_OK;
(void)user;
for(size_t at=0;at<text.length&& !status;){
const oxi_char c=oxi_char_at(&text,at);
const char*made=text.bytes+at;
size_t made_length=c.end-at,used=0;
if(has_map)
used=oxi_charsmap_find(&map,text.bytes+at,text.length-at,true,&made,&made_length);
if(used==0){
made=text.bytes+at;
made_length=used=c.end-at;}
for(size_t i=0;i<made_length&& !status;i++){
const bool blank=made[i]==' ';
if(!blank&& !inside&&((prefix&& !prepended)||merge)){
status=oxi_put(out,space,strlen(space),c.from,c.to);
prepended=true;}
inside= !blank;
if(!status&& !blank)status=oxi_put(out,made +i,1,c.from,c.to);
if(!status&&blank&& !merge)status=oxi_put(out,space,strlen(space),c.from,c.to);}
at+=used;}
oxi_put_end(work,out);
return status;}
static size_t oxi_char_gguf(const oxi_unicode*u,uint32_t code,uint32_t out[3]){
const uint32_t bit=oxi_category_bit(u,code);
out[0]=code;
if(oxi_is_white_space(code))out[0]=' ';
return out[0]==' '|| !(code==0||code==0xFFFD||(bit&OXI_OTHERS& ~OXI_IN(OXI_CN)));}
static size_t oxi_char_first_part(const oxi_unicode*u,uint32_t code,uint32_t out[3]){
uint32_t parts[OXI_MOST_PARTS];
(void)oxi_decompose(u,code,false,parts);
out[0]=parts[0];
return 1;}
static size_t oxi_char_gguf_no_mark(const oxi_unicode*u,uint32_t code,uint32_t out[3]){
out[0]=code;
return!(oxi_category_bit(u,code)&OXI_MARKS);}
static size_t oxi_char_gguf_lower(const oxi_unicode*u,uint32_t code,uint32_t out[3]){
return oxi_char_gguf(u,code>='A'&&code<='Z'?code +32:code,out);}
static ox_status oxi_normalize_bert_gguf(const oxi_pipe_step*step,oxi_flow*work){
ox_status status=OX_OK;
if((step->options&OXI_LOWERCASE)&&oxi_is_ascii(&work->text))
return oxi_map_chars(work,oxi_char_gguf_lower,false);
if(step->options&OXI_STRIP_ACCENTS)status=oxi_map_chars(work,oxi_char_first_part,true);
if(!status)status=oxi_map_chars(work,oxi_char_gguf,false);
if(!status&&(step->options&OXI_STRIP_ACCENTS))
status=oxi_map_chars(work,oxi_char_gguf_no_mark,true);
return!status&&(step->options&OXI_LOWERCASE)?oxi_map_chars(work,oxi_char_lower,false):status;}
static const oxi_step_row oxi_normalizers[]={
{"BertNormalizer",0,OXI_CLEAN_TEXT|OXI_CHINESE_CHARS|OXI_LOWERCASE,OXI_UNICODE_NORMAL_FORMS,
 oxi_normalize_bert,NULL},{"NFC",0,0,OXI_UNICODE_NORMAL_FORMS,oxi_normalize_nfc,NULL},
 {"NFD",0,0,OXI_UNICODE_NORMAL_FORMS,oxi_normalize_nfd,NULL},
 {"NFKC",0,0,OXI_UNICODE_NORMAL_FORMS,oxi_normalize_nfkc,NULL},
 {"NFKD",0,0,OXI_UNICODE_NORMAL_FORMS,oxi_normalize_nfkd,NULL},
 {"Lowercase",0,0,0,oxi_normalize_lowercase,NULL},
 {"Strip",0,OXI_STRIP_LEFT|OXI_STRIP_RIGHT,0,oxi_normalize_strip,NULL},
 {"StripAccents",0,0,0,oxi_normalize_strip_accents,NULL},{"Replace",0,0,0,oxi_normalize_replace,NULL},
 {"Prepend",0,0,0,oxi_normalize_prepend,NULL},{"Precompiled",0,0,0,oxi_normalize_precompiled,NULL},
 {"Nmt",0,0,0,oxi_normalize_nmt,NULL},{"ByteLevel",0,0,0,oxi_normalize_byte_level,NULL},
 {"bert",0,0,OXI_UNICODE_NORMAL_FORMS,oxi_normalize_bert_gguf,NULL},
 {"unigram",0,0,0,oxi_normalize_unigram,NULL},};
static const oxi_step_row*oxi_row_named(const oxi_step_row*rows,size_t count,const char*name){
for(size_t i=0;i<count;i++)
if(strcmp(rows[i].name,name)==0)return&rows[i];
return NULL;}
static const oxi_step_row*oxi_normalizer_row(const char*name){
return oxi_row_named(oxi_normalizers,sizeof oxi_normalizers/sizeof*oxi_normalizers,name);}
/* >>llm/tokenizer/pre_tokenizers.c */
static ox_status oxi_keep_splits(oxi_flow*work,oxi_behavior behavior){
oxi_stretch*list=work->found.list;
const size_t count=work->found.count;
ox_status status=OX_OK;
bool before=false;
size_t kept=0;
if(behavior==OXI_MERGED_WITH_NEXT){
kept=count;
for(size_t i=count;i-- >0;){
const oxi_stretch part=list[i];
if(part.match&& !before&&kept<count)
list[kept].start=part.start;
else
list[--kept]=part;
before=part.match;}
for(size_t i=kept;i<count&& !status;i++)
if(list[i].end>list[i].start)
status=oxi_split_push(&work->next,list[i].start,list[i].end,false);
return status;}
for(size_t i=0;i<count;i++){
const oxi_stretch part=list[i];
const bool joins=behavior==OXI_CONTIGUOUS?part.match==before
 :behavior==OXI_MERGED_WITH_PREVIOUS?part.match&& !before:false;
before=part.match;
if(behavior==OXI_REMOVED&&part.match)continue;
if(joins&&kept>0)
list[kept-1].end=part.end;
else
list[kept++]=part;}
for(size_t i=0;i<kept&& !status;i++)
if(list[i].end>list[i].start)
status=oxi_split_push(&work->next,list[i].start,list[i].end,false);
return status;}
static void oxi_swap_splits(oxi_flow*work){
const oxi_split_list old=work->splits;
work->splits=work->next;
work->next=old;
work->next.count=0;}
static ox_status oxi_split_by_step(const oxi_pipe_step*step,oxi_flow*work,oxi_behavior behavior,
 bool invert){
ox_status status=OX_OK;
for(size_t i=0;i<work->splits.count&& !status;i++){
const oxi_stretch word=work->splits.list[i];
const char*text=work->text.bytes+word.start;
const size_t length=word.end-word.start;
const bool plain=behavior==OXI_ISOLATED;
oxi_split_list*out=plain? &work->next: &work->found;
size_t at=0,search=0,start,end,last=SIZE_MAX;
work->found.count=0;
oxi_matcher_reset(&work->matcher,length);
while(!status&&search<=length&&oxi_step_find(step,work,text,length,search,&start,&end)){
search=end;
if(end==start){
if(end<length)
(void)oxi_utf8_code(text,length,&search);
else
search=length+1;
if(end==last)continue;}
last=end;
if(start>at)status=oxi_split_push(out,word.start+at,word.start+start,invert);
if(!status&&(end>start|| !plain))
status=oxi_split_push(out,word.start+start,word.start+end,!invert);
at=end;}
if(!status)status=work->matcher.status;
if(!status&&at<length)
status=oxi_split_push(out,word.start+at,word.start+length,invert);
if(!status&& !plain)status=oxi_keep_splits(work,behavior);}
oxi_swap_splits(work);
return status;}
typedef bool(*oxi_char_test)(const oxi_flow*work,const oxi_pipe_step*step,uint32_t code);
static ox_status oxi_split_by_char(const oxi_pipe_step*step,oxi_flow*work,oxi_char_test test,
 oxi_behavior behavior){
ox_status status=OX_OK;
for(size_t i=0;i<work->splits.count&& !status;i++){
const oxi_stretch word=work->splits.list[i];
size_t from=word.start;
work->found.count=0;
for(size_t at=word.start;at<word.end&& !status;){
size_t next=at;
if(test(work,step,oxi_utf8_code(work->text.bytes,word.end,&next))){
if(at>from)status=oxi_split_push(&work->found,from,at,false);
if(!status)status=oxi_split_push(&work->found,at,next,true);
from=next;}
at=next;}
if(!status&&word.end>from)status=oxi_split_push(&work->found,from,word.end,false);
if(!status)status=oxi_keep_splits(work,behavior);}
oxi_swap_splits(work);
return status;}
static bool oxi_test_space(const oxi_flow*work,const oxi_pipe_step*step,uint32_t code){
(void)work;
(void)step;
return oxi_is_white_space(code);}
static bool oxi_test_punctuation(const oxi_flow*work,const oxi_pipe_step*step,uint32_t code){
(void)step;
if(code<128)
return(code>=33&&code<=47)||(code>=58&&code<=64)||(code>=91&&code<=96)||(code>=123&&code<=126);
const bool is=(oxi_category_bit(&work->tokenizer->unicode,code)&OXI_PUNCTUATION)!=0;
return is!=OXI_OLDER(punctuation,code);}
static bool oxi_test_number(const oxi_flow*work,const oxi_pipe_step*step,uint32_t code){
(void)step;
return(oxi_category_bit(&work->tokenizer->unicode,code)&OXI_NUMBERS)!=0;}
static bool oxi_test_find(const oxi_flow*work,const oxi_pipe_step*step,uint32_t code){
size_t at=0;
(void)work;
return step->find_length>0&&oxi_utf8_code(step->find,step->find_length,&at)==code;}
static bool oxi_is_wide_word(const oxi_unicode*u,uint32_t code){
return(oxi_category_bit(u,code)&OXI_WORD_KINDS)||code==0x200C||code==0x200D||
 (code>=0x24B6&&code<=0x24E9)||(code>=0x1F130&&code<=0x1F149)||
 (code>=0x1F150&&code<=0x1F169)||(code>=0x1F170&&code<=0x1F189);}
static ox_status oxi_pre_whitespace(const oxi_pipe_step*step,oxi_flow*work){
ox_status status=OX_OK;
(void)step;
for(size_t i=0;i<work->splits.count&& !status;i++){
const oxi_stretch word=work->splits.list[i];
size_t from=word.start;
int last=0;
for(size_t at=word.start;at<word.end&& !status;){
const size_t here=at;
const uint32_t code=oxi_utf8_code(work->text.bytes,word.end,&at);
const int kind=oxi_is_wide_word(&work->tokenizer->unicode,code)?1:oxi_is_white_space(code)?0:2;
if(kind!=last){
if(last)status=oxi_split_push(&work->next,from,here,false);
from=here;}
last=kind;}
if(!status&&last)status=oxi_split_push(&work->next,from,word.end,false);}
oxi_swap_splits(work);
return status;}
static ox_status oxi_pre_split(const oxi_pipe_step*step,oxi_flow*work){
return oxi_split_by_step(step,work,step->behavior,(step->options&OXI_INVERT)!=0);}
static ox_status oxi_pre_bert(const oxi_pipe_step*step,oxi_flow*work){
const ox_status status=oxi_split_by_char(step,work,oxi_test_space,OXI_REMOVED);
return status?status:oxi_split_by_char(step,work,oxi_test_punctuation,OXI_ISOLATED);}
static bool oxi_test_alone(const oxi_flow*work,const oxi_pipe_step*step,uint32_t code){
const uint32_t bit=oxi_category_bit(&work->tokenizer->unicode,code);
(void)step;
return(bit&OXI_PUNCTUATION)||(code<0x7F&&(bit&OXI_SYMBOLS))||oxi_is_ideograph(code);}
static ox_status oxi_pre_bert_gguf(const oxi_pipe_step*step,oxi_flow*work){
const ox_status status=oxi_split_by_char(step,work,oxi_test_space,OXI_REMOVED);
return status?status:oxi_split_by_char(step,work,oxi_test_alone,OXI_ISOLATED);}
static ox_status oxi_pre_whitespace_split(const oxi_pipe_step*step,oxi_flow*work){
return oxi_split_by_char(step,work,oxi_test_space,OXI_REMOVED);}
static ox_status oxi_pre_punctuation(const oxi_pipe_step*step,oxi_flow*work){
return oxi_split_by_char(step,work,oxi_test_punctuation,step->behavior);}
static ox_status oxi_pre_digits(const oxi_pipe_step*step,oxi_flow*work){
const bool each=(step->options&OXI_INDIVIDUAL_DIGITS)!=0;
return oxi_split_by_char(step,work,oxi_test_number,each?OXI_ISOLATED:OXI_CONTIGUOUS);}
static ox_status oxi_pre_delimiter(const oxi_pipe_step*step,oxi_flow*work){
return oxi_split_by_char(step,work,oxi_test_find,OXI_REMOVED);}
static ox_status oxi_pre_fixed_length(const oxi_pipe_step*step,oxi_flow*work){
ox_status status=OX_OK;
for(size_t i=0;i<work->splits.count&& !status;i++){
const oxi_stretch word=work->splits.list[i];
int64_t characters=0;
size_t from=word.start;
for(size_t at=word.start;at<word.end&& !status;){
(void)oxi_utf8_code(work->text.bytes,word.end,&at);
if(++characters<step->start&&at<word.end)continue;
status=oxi_split_push(&work->next,from,at,false);
from=at;
characters=0;}}
oxi_swap_splits(work);
return status;}
static ox_status oxi_pre_scripts(const oxi_pipe_step*step,oxi_flow*work){
const oxi_unicode*u= &work->tokenizer->unicode;
ox_status status=OX_OK;
(void)step;
for(size_t i=0;i<work->splits.count&& !status;i++){
const oxi_stretch word=work->splits.list[i];
size_t from=SIZE_MAX;
int last= -1;
for(size_t at=word.start;at<word.end&& !status;){
const size_t here=at;
const uint32_t code=oxi_utf8_code(work->text.bytes,word.end,&at);
const int script=oxi_property_of(&u->script,code);
if(script==0)continue;
if(script!=last){
if(from!=SIZE_MAX)status=oxi_split_push(&work->next,from,here,false);
from=here;}
last=script;}
if(!status&&from!=SIZE_MAX)status=oxi_split_push(&work->next,from,word.end,false);}
oxi_swap_splits(work);
return status;}
static ox_status oxi_prefix_words(const oxi_pipe_step*step,oxi_flow*work,const char*prefix,
 size_t length,bool spaces,bool first_only){
const oxi_text text=work->text;
oxi_buffer*out=oxi_put_begin(work);
ox_status status=OX_OK;
for(size_t i=0;i<work->splits.count&& !status;i++){
oxi_stretch*word= &work->splits.list[i];
const size_t start=out->length;
const oxi_char c=oxi_char_at(&text,word->start);
const char*first=text.bytes+word->start;
const bool has=(spaces&& *first==' ')||(word->end-word->start>=length&&memcmp(first,prefix,length)==0);
if(step->prepend!=OXI_PREPEND_NEVER&& !has&& !(first_only&&c.from!=0))
status=oxi_put(out,prefix,length,c.from,c.to);
for(size_t at=word->start;at<word->end&& !status;){
if(spaces&&text.bytes[at]==' '){
status=oxi_put(out,prefix,length,oxi_text_from(&text,at),oxi_text_to(&text,at+1));
at++;
continue;}
const char*space=spaces?(const char*)memchr(text.bytes+at,' ',word->end-at):NULL;
const size_t next=space?(size_t)(space -text.bytes):word->end;
status=oxi_put_text(out,&text,at,next);
at=next;}
word->start=(uint32_t)start;
word->end=(uint32_t)out->length;}
oxi_put_end(work,out);
return status;}
static ox_status oxi_pre_metaspace(const oxi_pipe_step*step,oxi_flow*work){
const ox_status status=
 oxi_prefix_words(step,work,step->find,step->find_length,true,step->prepend==OXI_PREPEND_FIRST);
if(status|| !(step->options&OXI_SPLIT))return status;
return oxi_split_by_step(step,work,OXI_MERGED_WITH_NEXT,false);}
static ox_status oxi_pre_byte_level(const oxi_pipe_step*step,oxi_flow*work){
const oxi_steps*steps= &work->tokenizer->pre_tokenizers;
ox_status status=OX_OK;
if(step->options&OXI_ADD_PREFIX_SPACE){
oxi_pipe_step always= *step;
always.prepend=OXI_PREPEND_ALWAYS;
status=oxi_prefix_words(&always,work," ",1,false,false);}
if(!status&&(step->options&OXI_USE_REGEX))
status=oxi_split_by_step(step,work,OXI_ISOLATED,false);
if(status||(work->tokenizer->model.whole_word&&step== &steps->list[steps->count-1]))
return status;
const oxi_text text=work->text;
oxi_buffer*out=oxi_put_begin(work);
for(size_t i=0;i<work->splits.count&& !status;i++){
oxi_stretch*word= &work->splits.list[i];
const size_t start=out->length;
status=oxi_byte_chars(work,&text,word->start,word->end,out);
word->start=(uint32_t)start;
word->end=(uint32_t)out->length;}
oxi_put_end(work,out);
return status;}
static const oxi_step_row oxi_pre_tokenizers[]={
{"ByteLevel",0,OXI_ADD_PREFIX_SPACE|OXI_USE_REGEX|OXI_TRIM_OFFSETS,0,oxi_pre_byte_level,NULL},
 {"BertPreTokenizer",0,0,0,oxi_pre_bert,NULL},{"Whitespace",0,0,0,oxi_pre_whitespace,NULL},
 {"WhitespaceSplit",0,0,0,oxi_pre_whitespace_split,NULL},
 {"Metaspace",0,OXI_SPLIT,0,oxi_pre_metaspace,NULL},{"Punctuation",0,0,0,oxi_pre_punctuation,NULL},
 {"Digits",0,0,0,oxi_pre_digits,NULL},{"CharDelimiterSplit",0,0,0,oxi_pre_delimiter,NULL},
 {"Split",0,0,0,oxi_pre_split,NULL},{"UnicodeScripts",0,0,OXI_UNICODE_SCRIPTS,oxi_pre_scripts,NULL},
 {"FixedLength",0,0,0,oxi_pre_fixed_length,NULL},{"bert",0,0,0,oxi_pre_bert_gguf,NULL},};
static const oxi_step_row*oxi_pre_tokenizer_row(const char*name){
return oxi_row_named(oxi_pre_tokenizers,sizeof oxi_pre_tokenizers/sizeof*oxi_pre_tokenizers,name);}
/* >>llm/tokenizer/models/bpe.c */
static uint32_t oxi_byte_char(uint8_t byte){
if((byte>=33&&byte<=126)||(byte>=161&&byte!=173))return byte;
return byte<=32?256u+byte:byte<=160?256u+33+byte -127u:256u+33+34;}
static int oxi_char_byte(uint32_t code){
if(code<256)return(code>=33&&code<=126)||(code>=161&&code!=173)?(int)code: -1;
if(code<256+33)return(int)code -256;
return code<256+67?(int)code -256-33+127:code==256+67?173: -1;}
static ox_status oxi_model_make_merges(oxi_model*model,size_t count){
model->merge_count=16;
while(model->merge_count<2*count)model->merge_count*=2;
model->merges=(oxi_merge*)oxi_calloc(model->merge_count,sizeof*model->merges);
if(!model->merges)return OX_ERR_NOMEM;
for(size_t i=0;i<model->merge_count;i++)model->merges[i].left= -1;
return OX_OK;}
static size_t oxi_merge_slot(const oxi_model*model,int32_t left,int32_t right){
uint64_t hash=((uint64_t)(uint32_t)left<<32|(uint32_t)right)*0x9E3779B97F4A7C15u;
hash^=hash>>32;
size_t slot=(size_t)(hash*0xD6E8FEB86659FD93u>>20)&(model->merge_count-1);
while(model->merges[slot].left>=0&&(model->merges[slot].left!=left||model->merges[slot].right!=right))
slot=(slot+1)&(model->merge_count-1);
return slot;}
static const oxi_merge*oxi_merge_find(const oxi_model*model,int32_t left,int32_t right){
const oxi_merge*merge= &model->merges[oxi_merge_slot(model,left,right)];
return merge->left<0?NULL:merge;}
static bool oxi_model_add_merge(oxi_model*model,int32_t left,int32_t right,int32_t made,uint32_t rank){
oxi_merge*merge= &model->merges[oxi_merge_slot(model,left,right)];
if(merge->left>=0)return false;
merge->left=left;
merge->right=right;
merge->made=made;
merge->rank=rank;
return true;}
typedef struct oxi_symbol{
int32_t id;
uint32_t start,end;
int32_t previous,next;}oxi_symbol;
typedef struct oxi_bpe_pair{
uint32_t rank;
int32_t left,made;}oxi_bpe_pair;
static bool oxi_bpe_before(const oxi_bpe_pair*a,const oxi_bpe_pair*b){
return a->rank<b->rank||(a->rank==b->rank&&a->left<b->left);}
static void oxi_bpe_heap_push(oxi_bpe_pair*heap,size_t*count,oxi_bpe_pair pair){
size_t at=(*count)++;
while(at>0&&oxi_bpe_before(&pair,&heap[(at-1)/2])){
heap[at]=heap[(at-1)/2];
at=(at-1)/2;}
heap[at]=pair;}
static oxi_bpe_pair oxi_bpe_heap_pop(oxi_bpe_pair*heap,size_t*count){
const oxi_bpe_pair best=heap[0],last=heap[--*count];
size_t at=0;
for(;;){
size_t child=2*at+1;
if(child>= *count)break;
if(child+1< *count&&oxi_bpe_before(&heap[child+1],&heap[child]))child++;
if(!oxi_bpe_before(&heap[child],&last))break;
heap[at]=heap[child];
at=child;}
heap[at]=last;
return best;}
static void oxi_bpe_offer(const oxi_model*model,const oxi_symbol*symbols,int32_t left,int32_t right,
 oxi_bpe_pair*heap,size_t*count){
if(left<0||right<0)return;
const oxi_merge*merge=oxi_merge_find(model,symbols[left].id,symbols[right].id);
if(!merge)return;
const oxi_bpe_pair pair={merge->rank,left,merge->made};
oxi_bpe_heap_push(heap,count,pair);}
static size_t oxi_bpe_merge_long(const oxi_model*model,oxi_symbol*symbols,size_t count,oxi_bpe_pair*heap){
size_t pairs=0,kept=0;
for(size_t i=0;i<count;i++){
symbols[i].previous=(int32_t)i-1;
symbols[i].next=i+1<count?(int32_t)i+1: -1;}
for(size_t i=1;i<count;i++)
oxi_bpe_offer(model,symbols,(int32_t)i-1,(int32_t)i,heap,&pairs);
while(pairs>0){
const oxi_bpe_pair pair=oxi_bpe_heap_pop(heap,&pairs);
oxi_symbol*left= &symbols[pair.left];
if(left->id== -2||left->next<0)continue;
oxi_symbol*right= &symbols[left->next];
const oxi_merge*merge=oxi_merge_find(model,left->id,right->id);
if(!merge||merge->made!=pair.made)continue;
left->id=pair.made;
left->end=right->end;
left->next=right->next;
right->id= -2;
if(left->next>=0)symbols[left->next].previous=pair.left;
oxi_bpe_offer(model,symbols,left->previous,pair.left,heap,&pairs);
oxi_bpe_offer(model,symbols,pair.left,left->next,heap,&pairs);}
for(size_t i=0;i<count;i++)
if(symbols[i].id!= -2)symbols[kept++]=symbols[i];
return kept;}
enum{OXI_BPE_SHORT=48};
static size_t oxi_bpe_merge_short(const oxi_model*model,oxi_symbol*symbols,size_t count){
const oxi_merge*merge[OXI_BPE_SHORT];
for(size_t i=0;i+1<count;i++)merge[i]=oxi_merge_find(model,symbols[i].id,symbols[i+1].id);
while(count>1){
size_t best=SIZE_MAX;
uint32_t rank=UINT32_MAX;
for(size_t i=0;i+1<count;i++){
if(!merge[i]||(best!=SIZE_MAX&&merge[i]->rank>=rank))continue;
best=i;
rank=merge[i]->rank;}
if(best==SIZE_MAX)break;
symbols[best].id=merge[best]->made;
symbols[best].end=symbols[best+1].end;
count--;
for(size_t i=best+1;i<count;i++)symbols[i]=symbols[i+1];
for(size_t i=best+1;i+1<count;i++)merge[i]=merge[i+1];
if(best>0)merge[best-1]=oxi_merge_find(model,symbols[best-1].id,symbols[best].id);
if(best+1<count)merge[best]=oxi_merge_find(model,symbols[best].id,symbols[best+1].id);}
return count;}
static int32_t oxi_bpe_char_id(const ox_tokenizer*t,const char*text,size_t length,bool first,bool last){
const oxi_model*m= &t->model;
char joined[256];
const size_t prefix=first?0:m->prefix_length,suffix=last?m->suffix_length:0;
if(prefix+suffix==0)return oxi_vocabulary_find_known(&t->vocabulary,text,length);
if(prefix+length+suffix>sizeof joined)return-1;
if(prefix)memcpy(joined,m->prefix,prefix);
memcpy(joined+prefix,text,length);
if(suffix)memcpy(joined+prefix+length,m->suffix,suffix);
return oxi_vocabulary_find_known(&t->vocabulary,joined,prefix+length+suffix);}
enum{OXI_BPE_NOTHING=INT32_MAX};
static void oxi_bpe_add(oxi_symbol*symbols,size_t*count,int32_t id,size_t start,size_t end){
oxi_symbol*symbol= &symbols[(*count)++];
symbol->id=id;
symbol->start=(uint32_t)start;
symbol->end=(uint32_t)end;}
static ox_status oxi_bpe_symbols(const oxi_flow*work,size_t start,size_t end,oxi_symbol*symbols,
 size_t*out){
const ox_tokenizer*t=work->tokenizer;
const oxi_model*m= &t->model;
const char*text=work->text.bytes;
size_t count=0;
if(m->whole_word){
for(size_t at=start;at<end;at++){
const int32_t id=m->byte_symbol[(uint8_t)text[at]];
if(id>=0)
oxi_bpe_add(symbols,&count,id,at,at+1);
else if(m->unknown>=0&&m->fuse_unknown&&count&&symbols[count-1].id==m->unknown)
symbols[count-1].end=(uint32_t)at+1;
else if(m->unknown>=0||m->drop_unknown)
oxi_bpe_add(symbols,&count,m->unknown>=0?m->unknown:OXI_BPE_NOTHING,at,at+1);}
*out=count;
return OX_OK;}
bool waits=false;
size_t wait_start=0,wait_end=0;
for(size_t at=start,next=start;at<end;at=next){
(void)oxi_utf8_code(text,end,&next);
const int32_t id=oxi_bpe_char_id(t,text+at,next-at,at==start,next==end);
if(id>=0){
if(waits)oxi_bpe_add(symbols,&count,m->unknown,wait_start,wait_end);
waits=false;
oxi_bpe_add(symbols,&count,id,at,next);
continue;}
bool bytes=m->byte_fallback;
for(size_t i=at;i<next&&bytes;i++)bytes=t->vocabulary.byte_token[(uint8_t)text[i]]>=0;
for(size_t i=at;i<next&&bytes;i++)
oxi_bpe_add(symbols,&count,t->vocabulary.byte_token[(uint8_t)text[i]],i,i+1);
if(!bytes&&m->drop_unknown)oxi_bpe_add(symbols,&count,OXI_BPE_NOTHING,at,next);
if(bytes||m->unknown<0)continue;
if(waits&& !m->fuse_unknown)oxi_bpe_add(symbols,&count,m->unknown,wait_start,wait_end);
if(!waits|| !m->fuse_unknown)wait_start=at;
waits=true;
wait_end=next;}
if(waits)oxi_bpe_add(symbols,&count,m->unknown,wait_start,wait_end);
*out=count;
return OX_OK;}
static ox_status oxi_bpe_push(oxi_flow*work,const oxi_symbol*symbols,size_t count){
const int64_t known=work->tokenizer->vocabulary.count;
ox_status status=OX_OK;
for(size_t i=0;i<count&& !status;i++)
if(symbols[i].id<known)
status=oxi_token_push(work,symbols[i].id,symbols[i].start,symbols[i].end);
return status;}
enum{OXI_CACHED_BYTES=15,OXI_CACHED_TOKENS=7};
typedef struct oxi_word_cache{
char word[OXI_CACHED_BYTES+1];
uint8_t count,end[OXI_CACHED_TOKENS];
int32_t id[OXI_CACHED_TOKENS];}oxi_word_cache;
static oxi_word_cache*oxi_cache_slot(const oxi_flow*work,const char*word,size_t length,char key[16]){
uint64_t low,high;
memset(key,0,16);
memcpy(key,word,length);
key[15]=(char)length;
memcpy(&low,key,8);
memcpy(&high,key+8,8);
const uint64_t hash=(low^high*0x9E3779B97F4A7C15u)*0xD6E8FEB86659FD93u;
return&work->cache[(hash>>32^hash>>47)&(work->cache_count-1)];}
static ox_status oxi_bpe_encode_new(oxi_flow*work,size_t start,size_t end,oxi_word_cache*entry){
const oxi_model*model= &work->tokenizer->model;
oxi_symbol few[OXI_BPE_SHORT],*symbols=few;
oxi_bpe_pair*heap=NULL;
size_t count=0;
const size_t most=end-start+1;
if(most>OXI_BPE_SHORT){
if(most>=INT32_MAX/4)return oxi_fail(OX_ERR_ARG,"tokenizer: a word of %zu bytes",most-1);
symbols=(oxi_symbol*)oxi_work_scratch(work,most*(sizeof*symbols+3*sizeof*heap));
if(!symbols)return OX_ERR_NOMEM;
heap=(oxi_bpe_pair*)(symbols+most);}
const ox_status status=oxi_bpe_symbols(work,start,end,symbols,&count);
if(status)return status;
count=count<=OXI_BPE_SHORT?oxi_bpe_merge_short(model,symbols,count)
 :oxi_bpe_merge_long(model,symbols,count,heap);
if(entry&&count<=OXI_CACHED_TOKENS){
entry->count=(uint8_t)count;
for(size_t i=0;i<count;i++){
entry->id[i]=symbols[i].id;
entry->end[i]=(uint8_t)(symbols[i].end-start);}}else if(entry){
entry->word[15]=0;}
return oxi_bpe_push(work,symbols,count);}
static ox_status oxi_bpe_encode(oxi_flow*work,size_t start,size_t end){
const ox_tokenizer*t=work->tokenizer;
const char*word=work->text.bytes+start;
const size_t length=end-start;
oxi_word_cache*entry=NULL;
if(work->cache&&length<=OXI_CACHED_BYTES){
char key[16];
entry=oxi_cache_slot(work,word,length,key);
if(memcmp(entry->word,key,16)==0){
const int64_t known=t->vocabulary.count;
ox_status status=OX_OK;
size_t from=start;
for(int i=0;i<entry->count&& !status;i++){
if(entry->id[i]<known)
status=oxi_token_push(work,entry->id[i],from,start+entry->end[i]);
from=start+entry->end[i];}
return status;}
memcpy(entry->word,key,16);}
if(t->model.ignore_merges||(t->model.whole_newlines&&word[0]=='\n')){
const int32_t id=t->model.whole_word?oxi_vocabulary_find_bytes(&t->vocabulary,word,length)
 :oxi_vocabulary_find_known(&t->vocabulary,word,length);
if(id>=0){
if(entry){
entry->count=1;
entry->id[0]=id;
entry->end[0]=(uint8_t)length;}
return oxi_token_push(work,id,start,end);}}
return oxi_bpe_encode_new(work,start,end,entry);}
/* >>llm/tokenizer/models/sentencepiece.c */
typedef struct oxi_spm_symbol{
int32_t previous,next;
int32_t start,length;}oxi_spm_symbol;
typedef struct oxi_spm_pair{
float score;
int32_t left,right;
int32_t length;}oxi_spm_pair;
typedef struct oxi_spm{
const oxi_vocabulary*vocabulary;
const char*text;
oxi_spm_symbol*symbols;
int32_t symbol_count;
oxi_spm_pair*heap;
size_t heap_count;}oxi_spm;
static bool oxi_spm_before(const oxi_spm_pair*a,const oxi_spm_pair*b){
return a->score>b->score||(!(a->score<b->score)&&a->left<b->left);}
static void oxi_spm_heap_push(oxi_spm*spm,oxi_spm_pair pair){
size_t at=spm->heap_count++;
while(at>0&&oxi_spm_before(&pair,&spm->heap[(at-1)/2])){
spm->heap[at]=spm->heap[(at-1)/2];
at=(at-1)/2;}
spm->heap[at]=pair;}
static oxi_spm_pair oxi_spm_heap_pop(oxi_spm*spm){
const oxi_spm_pair best=spm->heap[0],last=spm->heap[--spm->heap_count];
size_t at=0;
for(;;){
size_t child=2*at+1;
if(child>=spm->heap_count)break;
if(child+1<spm->heap_count&&oxi_spm_before(&spm->heap[child+1],&spm->heap[child]))child++;
if(!oxi_spm_before(&spm->heap[child],&last))break;
spm->heap[at]=spm->heap[child];
at=child;}
spm->heap[at]=last;
return best;}
static int32_t oxi_spm_find(const oxi_vocabulary*v,const char*text,size_t length){
const int32_t token=oxi_vocabulary_find(v,text,length);
if(token<0)return-1;
const uint8_t type=v->type[token];
return type==OX_TOKEN_CONTROL||type==OX_TOKEN_UNKNOWN||type==OX_TOKEN_BYTE? -1:token;}
static void oxi_spm_offer(oxi_spm*spm,int32_t left,int32_t right){
if(left<0||right<0)return;
const oxi_spm_symbol*a= &spm->symbols[left];
oxi_spm_pair pair;
pair.left=left;
pair.right=right;
pair.length=a->length+spm->symbols[right].length;
const int32_t token=oxi_spm_find(spm->vocabulary,spm->text+a->start,(size_t)pair.length);
if(token<0)return;
pair.score=spm->vocabulary->score[token];
oxi_spm_heap_push(spm,pair);}
static void oxi_spm_merge(oxi_spm*spm){
for(int32_t i=1;i<spm->symbol_count;i++)oxi_spm_offer(spm,i-1,i);
while(spm->heap_count>0){
const oxi_spm_pair pair=oxi_spm_heap_pop(spm);
oxi_spm_symbol*left= &spm->symbols[pair.left],*right= &spm->symbols[pair.right];
if(left->length==0||right->length==0||left->length+right->length!=pair.length)continue;
left->length=pair.length;
left->next=right->next;
right->length=0;
if(left->next>=0)spm->symbols[left->next].previous=pair.left;
oxi_spm_offer(spm,left->previous,pair.left);
oxi_spm_offer(spm,pair.left,left->next);}}
static void oxi_spm_split(oxi_spm*spm,size_t length){
size_t at=0;
while(at<length){
oxi_spm_symbol*symbol= &spm->symbols[spm->symbol_count];
symbol->start=(int32_t)at;
const size_t bytes=oxi_utf8_length((const unsigned char*)spm->text+at,length-at);
symbol->length=bytes?(int32_t)bytes:1;
symbol->previous=spm->symbol_count-1;
symbol->next=spm->symbol_count+1;
at+=(size_t)symbol->length;
spm->symbol_count++;}
if(spm->symbol_count)spm->symbols[spm->symbol_count-1].next= -1;}
static ox_status oxi_spm_emit(const oxi_spm*spm,oxi_flow*work,size_t from){
const oxi_vocabulary*v=spm->vocabulary;
const int32_t unknown=work->tokenizer->model.unknown;
ox_status status=OX_OK;
for(int32_t i=spm->symbol_count?0: -1;i>=0&& !status;i=spm->symbols[i].next){
const char*text=spm->text+spm->symbols[i].start;
const int32_t length=spm->symbols[i].length;
const size_t start=from+(size_t)spm->symbols[i].start,end=start+(size_t)length;
const int32_t token=oxi_spm_find(v,text,(size_t)length);
if(token>=0){
status=oxi_token_push(work,token,start,end);
continue;}
bool bytes_known=true;
for(int32_t b=0;b<length;b++)bytes_known&=v->byte_token[(unsigned char)text[b]]>=0;
if(bytes_known){
for(int32_t b=0;b<length&& !status;b++)
status=oxi_token_push(work,v->byte_token[(unsigned char)text[b]],start,end);}else if(unknown>=0){
status=oxi_token_push(work,unknown,start,end);}else{
return oxi_fail(OX_ERR_FORMAT,"tokenizer: no token for byte 0x%02x, and no unknown token",
 (unsigned)(unsigned char)text[0]);}}
return status;}
static ox_status oxi_spm_encode(oxi_flow*work,size_t start,size_t end){
const size_t length=end-start;
oxi_spm spm;
memset(&spm,0,sizeof spm);
spm.vocabulary= &work->tokenizer->vocabulary;
spm.text=work->text.bytes+start;
const size_t symbol_bytes=(length+1)*sizeof*spm.symbols;
spm.symbols=(oxi_spm_symbol*)oxi_work_scratch(work,symbol_bytes+(length+1)*3*sizeof*spm.heap);
if(!spm.symbols)return OX_ERR_NOMEM;
spm.heap=(oxi_spm_pair*)(spm.symbols+length+1);
oxi_spm_split(&spm,length);
oxi_spm_merge(&spm);
return oxi_spm_emit(&spm,work,start);}
/* >>llm/tokenizer/models/words.c */
static ox_status oxi_push_unknown(oxi_flow*work,size_t start,size_t end){
const int32_t unknown=work->tokenizer->model.unknown;
if(unknown>=0)return oxi_token_push(work,unknown,start,end);
if(work->tokenizer->model.drop_unknown)return OX_OK;
return oxi_fail(OX_ERR_FORMAT,"tokenizer: no token for a part of the text, and no unknown token");}
static ox_status oxi_word_level_encode(oxi_flow*work,size_t start,size_t end){
const int32_t id=oxi_vocabulary_find_known(&work->tokenizer->vocabulary,work->text.bytes+start,end-start);
return id>=0?oxi_token_push(work,id,start,end):oxi_push_unknown(work,start,end);}
static int32_t oxi_trie_walk(const oxi_trie*trie,int32_t node,const char*text,size_t length){
for(size_t i=0;i<length&&node>=0;i++)node=oxi_trie_child(trie,node,(uint8_t)text[i]);
return node;}
static int32_t oxi_trie_longest(const oxi_trie*trie,int32_t node,const char*text,size_t start,
 size_t end,size_t*stop){
int32_t id= -1;
for(size_t at=start;at<end&&node>=0;){
node=oxi_trie_child(trie,node,(uint8_t)text[at++]);
if(node<0||trie->nodes[node].value<0)continue;
id=trie->nodes[node].value;
*stop=at;}
return id;}
static ox_status oxi_word_pieces(oxi_flow*work,size_t start,size_t end,const char*lead,size_t lead_length){
const oxi_model*m= &work->tokenizer->model;
const char*text=work->text.bytes;
const size_t before=work->tokens.count;
if(m->longest_word>0){
int64_t characters=0;
for(size_t at=start;at<end&&characters<=m->longest_word;characters++)
(void)oxi_utf8_code(text,end,&at);
if(characters>m->longest_word)return oxi_push_unknown(work,start,end);}
if(!m->trie.nodes)return oxi_push_unknown(work,start,end);
const int32_t first=oxi_trie_walk(&m->trie,0,lead,lead_length);
const int32_t later=oxi_trie_walk(&m->trie,0,m->prefix,m->prefix_length);
for(size_t at=start;at<end;){
size_t stop=at;
const int32_t node=at==start?first:later;
const int32_t id=node<0? -1:oxi_trie_longest(&m->trie,node,text,at,end,&stop);
if(id<0){
work->tokens.count=before;
return oxi_push_unknown(work,start,end);}
const ox_status status=oxi_token_push(work,id,at,stop);
if(status)return status;
at=stop;}
return OX_OK;}
static ox_status oxi_word_piece_encode(oxi_flow*work,size_t start,size_t end){
return oxi_word_pieces(work,start,end,"",0);}
static ox_status oxi_word_piece_gguf_encode(oxi_flow*work,size_t start,size_t end){
static const char lead[]="\xe2\x96\x81";
const oxi_trie*trie= &work->tokenizer->model.trie;
const size_t before=work->tokens.count;
size_t stop=start;
const int32_t node=trie->nodes?oxi_trie_walk(trie,0,lead,3): -1;
int32_t id=node<0? -1:oxi_trie_longest(trie,node,work->text.bytes,start,end,&stop);
if(id<0&&node>=0)id=trie->nodes[node].value;
if(id<0)return oxi_push_unknown(work,start,end);
ox_status status=oxi_token_push(work,id,start,stop);
while(!status&&stop<end){
const size_t at=stop;
id=oxi_trie_longest(trie,0,work->text.bytes,at,end,&stop);
if(id<0){
work->tokens.count=before;
return oxi_push_unknown(work,start,end);}
status=oxi_token_push(work,id,at,stop);}
return status;}
static ox_status oxi_greedy_encode(oxi_flow*work,size_t start,size_t end){
const oxi_trie*trie= &work->tokenizer->model.trie;
ox_status status=OX_OK;
for(size_t at=start;at<end&& !status;){
size_t stop=at+1;
const int32_t id=trie->nodes?oxi_trie_longest(trie,0,work->text.bytes,at,end,&stop): -1;
status=id>=0?oxi_token_push(work,id,at,stop):oxi_push_unknown(work,at,at+1);
at=stop;}
return status;}
/* >>llm/tokenizer/models/unigram.c */
typedef struct oxi_best{
double score;
uint32_t start;
int32_t id;}oxi_best;
static void oxi_unigram_offer(oxi_best*best,double score,uint32_t start,int32_t id){
if(best->id!= -1&& !(score>best->score))return;
best->score=score;
best->start=start;
best->id=id;}
static void oxi_unigram_search(const oxi_model*m,const char*text,size_t length,oxi_best*best){
for(size_t i=0;i<=length;i++){
best[i].score=0;
best[i].start=0;
best[i].id= -1;}
for(size_t at=0,next=0;at<length;at=next){
bool single=false;
int32_t node=0;
const double score=best[at].score;
(void)oxi_utf8_code(text,length,&next);
for(size_t i=at;i<length&&m->trie.nodes;i++){
node=oxi_trie_child(&m->trie,node,(uint8_t)text[i]);
if(node<0)break;
const int32_t id=m->trie.nodes[node].value;
if(id<0)continue;
single|=i+1==next;
oxi_unigram_offer(&best[i+1],score +m->scores[id],(uint32_t)at,id);}
if(!single)oxi_unigram_offer(&best[next],score +m->unknown_score,(uint32_t)at,-2);}}
static ox_status oxi_unigram_push_unknown(oxi_flow*work,size_t start,size_t end){
const oxi_model*m= &work->tokenizer->model;
const oxi_vocabulary*v= &work->tokenizer->vocabulary;
bool bytes=m->byte_fallback;
ox_status status=OX_OK;
const int32_t whole=v->by_text.slots&&m->byte_fallback
 ?oxi_vocabulary_find_known(v,work->text.bytes+start,end-start): -1;
if(whole>=0)return oxi_token_push(work,whole,start,end);
for(size_t i=start;i<end&&bytes;i++)bytes=v->byte_token[(uint8_t)work->text.bytes[i]]>=0;
if(!bytes)return oxi_push_unknown(work,start,end);
for(size_t i=start;i<end&& !status;i++){
status=oxi_token_push(work,v->byte_token[(uint8_t)work->text.bytes[i]],start,end);}
return status;}
static ox_status oxi_unigram_encode(oxi_flow*work,size_t start,size_t end){
const oxi_model*m= &work->tokenizer->model;
const size_t length=end-start;
size_t room=0;
if(!oxi_mul_size(length+1,sizeof(oxi_best),&room))return OX_ERR_NOMEM;
oxi_best*best=(oxi_best*)oxi_work_scratch(work,room);
if(!best)return OX_ERR_NOMEM;
oxi_unigram_search(m,work->text.bytes+start,length,best);
uint32_t stop=(uint32_t)length;
int32_t id=best[length].id;
uint32_t from=best[length].start;
while(stop>0){
const uint32_t at=from;
const int32_t here=id;
id=best[at].id;
from=best[at].start;
best[at].id=here;
best[at].start=stop;
stop=at;}
ox_status status=OX_OK;
for(size_t at=0;at<length&& !status;){
size_t next=best[at].start;
const int32_t token=best[at].id;
const bool unknown=token== -2||token==m->unknown;
while(unknown&&next<length&&(best[next].id== -2||best[next].id==m->unknown))
next=best[next].start;
status=unknown?oxi_unigram_push_unknown(work,start+at,start+next)
 :oxi_token_push(work,token,start+at,start+next);
at=next;}
return status;}
/* >>llm/tokenizer/models/rows.c */
static const oxi_model_row oxi_model_rows[]={
{"BPE",oxi_bpe_encode},{"WordPiece",oxi_word_piece_encode},{"WordLevel",oxi_word_level_encode},
 {"Unigram",oxi_unigram_encode},{"llama",oxi_spm_encode},{"bert",oxi_word_piece_gguf_encode},
 {"greedy",oxi_greedy_encode},};
static const oxi_model_row*oxi_model_row_of(const char*name){
for(size_t i=0;i<sizeof oxi_model_rows/sizeof*oxi_model_rows;i++)
if(strcmp(oxi_model_rows[i].name,name)==0)return&oxi_model_rows[i];
return NULL;}
/* >>llm/tokenizer/decoders.c */
static void oxi_decode_list_free(oxi_decode_list*list){
oxi_buffer_free(&list->bytes[0]);
oxi_buffer_free(&list->bytes[1]);
oxi_split_list_free(&list->tokens);
oxi_split_list_free(&list->next);}
static const char*oxi_decode_text(const oxi_decode_list*list,size_t i,size_t*length){
const oxi_stretch*token= &list->tokens.list[i];
*length=token->end-token->start;
return list->bytes[list->turn^1].bytes+token->start;}
static oxi_buffer*oxi_decode_begin(oxi_decode_list*list){
oxi_buffer*out= &list->bytes[list->turn];
out->length=0;
list->next.count=0;
return out;}
static void oxi_decode_end(oxi_decode_list*list){
const oxi_split_list old=list->tokens;
list->tokens=list->next;
list->next=old;
list->turn^=1;}
static ox_status oxi_put_lossy(oxi_buffer*out,const char*text,size_t length){
ox_status status=OX_OK;
for(size_t at=0;at<length&& !status;){
const unsigned char*p=(const unsigned char*)text+at;
size_t used=oxi_utf8_length(p,length-at);
if(used){
status=oxi_put(out,text+at,used,0,0);
at+=used;
continue;}
used=1;
for(size_t more=2;more<=3&&at+more<=length;more++){
unsigned char whole[4]={p[0],p[1],0x80,0x80};
if(more==3)whole[2]=p[2];
const size_t full=p[0]<0xE0?2:p[0]<0xF0?3:4;
if(p[0]<0xC2||full<=more||oxi_utf8_length(whole,full)!=full)break;
used=more;}
status=oxi_put(out,"\xef\xbf\xbd",3,0,0);
at+=used;}
return status;}
static ox_status oxi_decode_byte_level(const oxi_pipe_step*step,oxi_decode_list*list){
oxi_buffer*out=oxi_decode_begin(list);
ox_status status=OX_OK;
(void)step;
for(size_t i=0;i<list->tokens.count&& !status;i++){
size_t length;
const char*text=oxi_decode_text(list,i,&length);
const bool bytes=oxi_is_byte_text(text,length);
for(size_t at=0;at<length&&bytes&& !status;){
const char byte=(char)oxi_char_byte(oxi_utf8_code(text,length,&at));
status=oxi_put(out,&byte,1,0,0);}
if(!bytes&& !status)status=oxi_put(out,text,length,0,0);}
if(!status&&list->lossy&& !oxi_utf8_is_valid(out->bytes?out->bytes:"",out->length)){
list->turn^=1;
oxi_buffer*clean= &list->bytes[list->turn];
clean->length=0;
status=oxi_put_lossy(clean,out->bytes,out->length);
out=clean;}
if(!status)status=oxi_split_push(&list->next,0,out->length,false);
oxi_decode_end(list);
return status;}
static ox_status oxi_put_replaced(oxi_buffer*out,const char*text,size_t length,const char*from,
 size_t from_length,const char*to,size_t to_length){
ox_status status=OX_OK;
for(size_t at=0;at<length&& !status;){
const char*found=from_length?(const char*)memchr(text+at,from[0],length-at):NULL;
const size_t next=found?(size_t)(found-text):length;
status=oxi_put(out,text+at,next-at,0,0);
at=next;
if(at>=length||status)break;
const bool same=length-at>=from_length&&memcmp(text+at,from,from_length)==0;
status=same?oxi_put(out,to,to_length,0,0):oxi_put(out,text+at,1,0,0);
at+=same?from_length:1;}
return status;}
static ox_status oxi_decode_put_end(oxi_decode_list*list,const oxi_buffer*out,size_t start){
return oxi_split_push(&list->next,start,out->length,false);}
static ox_status oxi_put_cleaned(oxi_buffer*out,size_t start){
static const char*const pairs[][2]={
{" .","."},{" ?","?"},{" !","!"},{" ,",","},{" ' ","'"},{" n't","n't"},
 {" 'm","'m"},{" do not"," don't"},{" 's","'s"},{" 've","'ve"},{" 're","'re"}};
oxi_buffer other;
ox_status status=OX_OK;
memset(&other,0,sizeof other);
for(size_t i=0;i<sizeof pairs/sizeof*pairs&& !status;i++){
const size_t length=out->length-start;
if(length==0|| !memchr(out->bytes+start,' ',length))break;
other.length=0;
status=oxi_put_replaced(&other,out->bytes+start,length,pairs[i][0],strlen(pairs[i][0]),
 pairs[i][1],strlen(pairs[i][1]));
out->length=start;
if(!status)status=oxi_put(out,other.bytes?other.bytes:"",other.length,0,0);}
oxi_buffer_free(&other);
return status;}
static ox_status oxi_decode_word_piece(const oxi_pipe_step*step,oxi_decode_list*list){
oxi_buffer*out=oxi_decode_begin(list);
ox_status status=OX_OK;
for(size_t i=0;i<list->tokens.count&& !status;i++){
size_t length;
const char*text=oxi_decode_text(list,i,&length);
const size_t start=out->length,prefix=step->text_length;
const bool later=i>0|| !list->first;
if(later&&length>=prefix&&memcmp(text,step->text,prefix)==0){
status=oxi_put(out,text+prefix,length-prefix,0,0);}else{
if(later)status=oxi_put(out," ",1,0,0);
if(!status)status=oxi_put(out,text,length,0,0);}
if(!status&&(step->options&OXI_CLEANUP))status=oxi_put_cleaned(out,start);
if(!status)status=oxi_decode_put_end(list,out,start);}
oxi_decode_end(list);
return status;}
static ox_status oxi_decode_metaspace(const oxi_pipe_step*step,oxi_decode_list*list){
oxi_buffer*out=oxi_decode_begin(list);
ox_status status=OX_OK;
for(size_t i=0;i<list->tokens.count&& !status;i++){
size_t length;
const char*text=oxi_decode_text(list,i,&length);
const size_t start=out->length;
const bool first=i==0&&list->first&&step->prepend!=OXI_PREPEND_NEVER;
status=oxi_put_replaced(out,text,length,step->find,step->find_length," ",first?0:1);
if(!status)status=oxi_decode_put_end(list,out,start);}
oxi_decode_end(list);
return status;}
static ox_status oxi_decode_bpe(const oxi_pipe_step*step,oxi_decode_list*list){
oxi_buffer*out=oxi_decode_begin(list);
ox_status status=OX_OK;
for(size_t i=0;i<list->tokens.count&& !status;i++){
size_t length;
const char*text=oxi_decode_text(list,i,&length);
const size_t start=out->length;
const bool last=i+1==list->tokens.count&&list->last;
status=oxi_put_replaced(out,text,length,step->text,step->text_length," ",last?0:1);
if(!status)status=oxi_decode_put_end(list,out,start);}
oxi_decode_end(list);
return status;}
static ox_status oxi_decode_byte_fallback(const oxi_pipe_step*step,oxi_decode_list*list){
oxi_buffer*out=oxi_decode_begin(list);
ox_status status=OX_OK;
(void)step;
for(size_t i=0;i<list->tokens.count&& !status;){
size_t length,end=i;
const size_t start=out->length;
const char*text=oxi_decode_text(list,i,&length);
for(;end<list->tokens.count&& !status;end++){
text=oxi_decode_text(list,end,&length);
const int byte=oxi_byte_of_text(text,length);
if(byte<0)break;
const char c=(char)byte;
status=oxi_put(out,&c,1,0,0);}
if(end==i){
text=oxi_decode_text(list,i,&length);
status=oxi_put(out,text,length,0,0);
end=i+1;}else if(!status&&list->lossy&& !oxi_utf8_is_valid(out->bytes+start,out->length-start)){
out->length=start;
for(size_t k=i;k<end&& !status;k++)status=oxi_put(out,"\xef\xbf\xbd",3,0,0);}
i=end;
if(!status)status=oxi_decode_put_end(list,out,start);}
oxi_decode_end(list);
return status;}
static ox_status oxi_decode_fuse(const oxi_pipe_step*step,oxi_decode_list*list){
oxi_buffer*out=oxi_decode_begin(list);
ox_status status=OX_OK;
(void)step;
for(size_t i=0;i<list->tokens.count&& !status;i++){
size_t length;
const char*text=oxi_decode_text(list,i,&length);
status=oxi_put(out,text,length,0,0);}
if(!status)status=oxi_decode_put_end(list,out,0);
oxi_decode_end(list);
return status;}
static ox_status oxi_decode_strip(const oxi_pipe_step*step,oxi_decode_list*list){
oxi_buffer*out=oxi_decode_begin(list);
ox_status status=OX_OK;
for(size_t i=0;i<list->tokens.count&& !status;i++){
size_t length,from=0;
const char*text=oxi_decode_text(list,i,&length);
const size_t start=out->length,n=step->find_length;
size_t to=length;
for(int64_t k=0;list->first&&k<step->start&&to-from>=n&&n>0;k++,from+=n)
if(memcmp(text+from,step->find,n)!=0)break;
for(int64_t k=0;list->last&&k<step->stop&&to-from>=n&&n>0;k++,to-=n)
if(memcmp(text+to-n,step->find,n)!=0)break;
status=oxi_put(out,text+from,to-from,0,0);
if(!status)status=oxi_decode_put_end(list,out,start);}
oxi_decode_end(list);
return status;}
static ox_status oxi_decode_replace(const oxi_pipe_step*step,oxi_decode_list*list){
oxi_buffer*out=oxi_decode_begin(list);
oxi_flow work;
ox_status status=OX_OK;
memset(&work,0,sizeof work);
for(size_t i=0;i<list->tokens.count&& !status;i++){
size_t length,at=0,search=0,from,to;
const char*text=oxi_decode_text(list,i,&length);
const size_t start=out->length;
oxi_matcher_reset(&work.matcher,length);
while(!status&&search<=length&&oxi_step_find(step,&work,text,length,search,&from,&to)){
status=oxi_put(out,text+at,from-at,0,0);
if(!status)status=oxi_put(out,step->text,step->text_length,0,0);
at=search=to;
if(from==to&&to<length)(void)oxi_utf8_code(text,length,&search);
if(from==to&&to==length)break;}
if(!status)status=work.matcher.status;
if(!status)status=oxi_put(out,text+at,length-at,0,0);
if(!status)status=oxi_decode_put_end(list,out,start);}
oxi_matcher_free(&work.matcher);
oxi_decode_end(list);
return status;}
static ox_status oxi_decode_ctc(const oxi_pipe_step*step,oxi_decode_list*list){
oxi_buffer*out=oxi_decode_begin(list);
const char*before=NULL;
size_t before_length=0;
ox_status status=OX_OK;
for(size_t i=0;i<list->tokens.count&& !status;i++){
size_t length;
const char*text=oxi_decode_text(list,i,&length);
const bool again=before&&length==before_length&&memcmp(text,before,length)==0;
const size_t start=out->length;
before=text;
before_length=length;
if(again)continue;
status=oxi_put_replaced(out,text,length,step->find,step->find_length,"",0);
if(!status&&(step->options&OXI_CLEANUP))status=oxi_put_cleaned(out,start);
if(!status&&(step->options&OXI_CLEANUP)){
char*copy=NULL;
size_t copied=0;
status=oxi_step_set(&copy,&copied,out->bytes+start,out->length-start);
if(status)break;
out->length=start;
status=oxi_put_replaced(out,copy,copied,step->text,step->text_length," ",1);
oxi_free(copy,copied+1);}
if(!status&&out->length>start)status=oxi_decode_put_end(list,out,start);}
oxi_decode_end(list);
return status;}
static const oxi_step_row oxi_decoders[]={
{"ByteLevel",0,0,0,NULL,oxi_decode_byte_level},{"WordPiece",0,OXI_CLEANUP,0,NULL,oxi_decode_word_piece},
 {"Metaspace",0,0,0,NULL,oxi_decode_metaspace},{"BPEDecoder",0,0,0,NULL,oxi_decode_bpe},
 {"ByteFallback",0,0,0,NULL,oxi_decode_byte_fallback},{"Fuse",0,0,0,NULL,oxi_decode_fuse},
 {"Strip",0,0,0,NULL,oxi_decode_strip},{"Replace",0,0,0,NULL,oxi_decode_replace},
 {"CTC",0,OXI_CLEANUP,0,NULL,oxi_decode_ctc},};
static const oxi_step_row*oxi_decoder_row(const char*name){
return oxi_row_named(oxi_decoders,sizeof oxi_decoders/sizeof*oxi_decoders,name);}
/* >>llm/tokenizer/sources/json_steps.c */
typedef enum oxi_field_kind{
OXI_FIELD_FLAG,OXI_FIELD_TEXT,OXI_FIELD_FIND,OXI_FIELD_PATTERN,OXI_FIELD_START,OXI_FIELD_STOP,
 OXI_FIELD_BEHAVIOR,OXI_FIELD_PREPEND,OXI_FIELD_BLOB}oxi_field_kind;
typedef struct oxi_step_field{
const char*key,*row;
oxi_field_kind kind;
uint32_t option;}oxi_step_field;
static const oxi_step_field oxi_step_fields[]={
{"add_prefix_space",NULL,OXI_FIELD_FLAG,OXI_ADD_PREFIX_SPACE},
 {"use_regex",NULL,OXI_FIELD_FLAG,OXI_USE_REGEX},{"trim_offsets",NULL,OXI_FIELD_FLAG,OXI_TRIM_OFFSETS},
 {"invert",NULL,OXI_FIELD_FLAG,OXI_INVERT},{"individual_digits",NULL,OXI_FIELD_FLAG,OXI_INDIVIDUAL_DIGITS},
 {"split",NULL,OXI_FIELD_FLAG,OXI_SPLIT},{"clean_text",NULL,OXI_FIELD_FLAG,OXI_CLEAN_TEXT},
 {"handle_chinese_chars",NULL,OXI_FIELD_FLAG,OXI_CHINESE_CHARS},
 {"lowercase",NULL,OXI_FIELD_FLAG,OXI_LOWERCASE},{"strip_accents",NULL,OXI_FIELD_FLAG,OXI_STRIP_ACCENTS},
 {"strip_left",NULL,OXI_FIELD_FLAG,OXI_STRIP_LEFT},{"strip_right",NULL,OXI_FIELD_FLAG,OXI_STRIP_RIGHT},
 {"cleanup",NULL,OXI_FIELD_FLAG,OXI_CLEANUP},{"content","Strip",OXI_FIELD_FIND,0},
 {"content","Replace",OXI_FIELD_TEXT,0},{"prepend",NULL,OXI_FIELD_TEXT,0},{"prefix",NULL,OXI_FIELD_TEXT,0},
 {"suffix",NULL,OXI_FIELD_TEXT,0},{"word_delimiter_token",NULL,OXI_FIELD_TEXT,0},
 {"replacement",NULL,OXI_FIELD_FIND,0},{"delimiter",NULL,OXI_FIELD_FIND,0},
 {"pad_token",NULL,OXI_FIELD_FIND,0},{"pattern",NULL,OXI_FIELD_PATTERN,0},{"start",NULL,OXI_FIELD_START,0},
 {"length",NULL,OXI_FIELD_START,0},{"stop",NULL,OXI_FIELD_STOP,0},{"behavior",NULL,OXI_FIELD_BEHAVIOR,0},
 {"prepend_scheme",NULL,OXI_FIELD_PREPEND,0},{"precompiled_charsmap",NULL,OXI_FIELD_BLOB,0},};
static const char*const oxi_behavior_names[]={"Isolated","Removed","Contiguous","MergedWithPrevious",
 "MergedWithNext"};
static const char*const oxi_prepend_names[]={"never","first","always"};
static ox_status oxi_json_wrong(const char*what){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: tokenizer.json: %s",what);}
static int oxi_name_in(const oxi_json_node*node,const char*const*names,int count){
for(int i=0;node->type==OXI_JSON_STRING&&i<count;i++)
if(strlen(names[i])==node->length&&memcmp(names[i],node->value.text,node->length)==0)
return i;
return-1;}
static int oxi_base64_digit(char c){
if(c>='A'&&c<='Z')return c-'A';
if(c>='a'&&c<='z')return c-'a'+26;
if(c>='0'&&c<='9')return c-'0'+52;
return c=='+'?62:c=='/'?63: -1;}
static ox_status oxi_read_blob(oxi_pipe_step*step,const oxi_json_node*node){
ox_status status=oxi_step_set(&step->text,&step->text_length,node->value.text,node->length);
uint32_t bits=0,count=0;
size_t used=0;
for(size_t i=0;i<node->length&& !status&&node->value.text[i]!='=';i++){
const int digit=oxi_base64_digit(node->value.text[i]);
if(digit<0)return oxi_json_wrong("precompiled_charsmap is not base64");
bits=bits<<6|(uint32_t)digit;
count+=6;
if(count<8)continue;
count-=8;
step->text[used++]=(char)(bits>>count&255);}
if(status)return status;
char*const whole=step->text;
const size_t room=step->text_length;
step->text=NULL;
status=oxi_step_set(&step->text,&step->text_length,whole,used);
oxi_free(whole,room+1);
return status;}
static ox_status oxi_read_pattern(ox_tokenizer*t,oxi_pipe_step*step,const oxi_json*json,uint32_t node){
const uint32_t plain=oxi_json_find(json,node,"String"),regex=oxi_json_find(json,node,"Regex");
const oxi_json_node*found= &json->nodes[plain?plain:regex];
if(!(plain||regex)&&json->nodes[node].type==OXI_JSON_STRING)found= &json->nodes[node];
if(found->type!=OXI_JSON_STRING)return oxi_json_wrong("a pattern that is neither String nor Regex");
return regex?oxi_step_set_pattern(t,step,found->value.text,found->length)
 :oxi_step_set(&step->find,&step->find_length,found->value.text,found->length);}
static ox_status oxi_read_field(ox_tokenizer*t,oxi_pipe_step*step,const oxi_step_field*field,
 const oxi_json*json,uint32_t at){
const oxi_json_node*node= &json->nodes[at];
const bool text=node->type==OXI_JSON_STRING,number=node->type==OXI_JSON_INT;
int index;
switch(field->kind){
case OXI_FIELD_FLAG:
if(node->type==OXI_JSON_NULL)return OX_OK;
if(node->type!=OXI_JSON_BOOL)return oxi_json_wrong("an option that is not true or false");
step->options=node->value.i?step->options|field->option:step->options& ~field->option;
return OX_OK;
case OXI_FIELD_TEXT:
return text?oxi_step_set(&step->text,&step->text_length,node->value.text,node->length)
 :oxi_json_wrong("an option that is not a string");
case OXI_FIELD_FIND:
return text?oxi_step_set(&step->find,&step->find_length,node->value.text,node->length)
 :oxi_json_wrong("an option that is not a string");
case OXI_FIELD_PATTERN:return oxi_read_pattern(t,step,json,at);
case OXI_FIELD_START:
case OXI_FIELD_STOP:
if(!number||node->value.i<0)return oxi_json_wrong("an option that is not a count");
*(field->kind==OXI_FIELD_START? &step->start: &step->stop)=node->value.i;
return OX_OK;
case OXI_FIELD_BEHAVIOR:
index=oxi_name_in(node,oxi_behavior_names,5);
step->behavior=(oxi_behavior)(index<0?0:index);
return index<0?oxi_json_wrong("a behavior that is not known"):OX_OK;
case OXI_FIELD_PREPEND:
step->prepend=oxi_name_in(node,oxi_prepend_names,3);
return step->prepend<0?oxi_json_wrong("a prepend_scheme that is not known"):OX_OK;
default:return text?oxi_read_blob(step,node):oxi_json_wrong("an option that is not a string");}}
static bool oxi_row_is(const oxi_pipe_step*step,const char*name){
return step->row&&strcmp(step->row->name,name)==0;}
static ox_status oxi_finish_step(ox_tokenizer*t,oxi_pipe_step*step,const oxi_json*json,uint32_t object){
static const char gpt2[]=
 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const bool replaces=oxi_row_is(step,"Replace");
if(step->row->apply==oxi_pre_byte_level&&(step->options&OXI_USE_REGEX))
return oxi_step_set_pattern(t,step,gpt2,sizeof gpt2-1);
if(oxi_row_is(step,"Metaspace")&& !oxi_json_find(json,object,"prepend_scheme")){
const uint32_t old=oxi_json_find(json,object,"add_prefix_space");
step->prepend= !old||json->nodes[old].value.i?OXI_PREPEND_ALWAYS:OXI_PREPEND_NEVER;}
if(oxi_row_is(step,"BertNormalizer")){
const uint32_t accents=oxi_json_find(json,object,"strip_accents");
if(!accents||json->nodes[accents].type==OXI_JSON_NULL){
step->options&= ~(uint32_t)OXI_STRIP_ACCENTS;
if(step->options&OXI_LOWERCASE)step->options|=OXI_STRIP_ACCENTS;}}
if(oxi_row_is(step,"FixedLength")&&step->start==0&& !oxi_json_find(json,object,"length"))
step->start=5;
if(oxi_row_is(step,"FixedLength")&&step->start==0)return oxi_json_wrong("a FixedLength of 0");
if((replaces&& !step->text)||((replaces||oxi_row_is(step,"Split"))&& !step->find)||
 (oxi_row_is(step,"Prepend")&& !step->text)||
 ((oxi_row_is(step,"Metaspace")||oxi_row_is(step,"CharDelimiterSplit"))&&
 (!step->find||step->find_length==0)))
return oxi_json_wrong("a step without what it looks for or puts in");
if(!step->text)return oxi_step_set(&step->text,&step->text_length,"",0);
return OX_OK;}
static ox_status oxi_read_step(ox_tokenizer*t,oxi_pipe_step*step,const oxi_json*json,uint32_t object){
ox_status status=oxi_unicode_open(&t->unicode,step->row->unicode);
for(size_t i=0;i<sizeof oxi_step_fields/sizeof*oxi_step_fields&& !status;i++){
const oxi_step_field*field= &oxi_step_fields[i];
const uint32_t at=oxi_json_find(json,object,field->key);
if(!at||(field->row&& !oxi_row_is(step,field->row)))continue;
status=oxi_read_field(t,step,field,json,at);}
return status?status:oxi_finish_step(t,step,json,object);}
typedef const oxi_step_row*(*oxi_row_finder)(const char*name);
static ox_status oxi_read_steps(ox_tokenizer*t,oxi_steps*steps,oxi_row_finder find,const char*list_key,
 const oxi_json*json,uint32_t object,int depth){
const oxi_json_node*node= &json->nodes[object];
if(object==0||node->type==OXI_JSON_NULL)return OX_OK;
const uint32_t type=oxi_json_find(json,object,"type");
if(node->type!=OXI_JSON_OBJECT|| !type||json->nodes[type].type!=OXI_JSON_STRING)
return oxi_json_wrong("a step without a type");
if(strcmp(json->nodes[type].value.text,"Sequence")==0){
const uint32_t list=oxi_json_find(json,object,list_key);
if(!list||json->nodes[list].type!=OXI_JSON_ARRAY||depth>16)
return oxi_json_wrong("a Sequence without its list");
for(uint32_t i=list+1;i<json->nodes[list].next;i=json->nodes[i].next){
const ox_status status=oxi_read_steps(t,steps,find,list_key,json,i,depth+1);
if(status)return status;}
return OX_OK;}
const oxi_step_row*row=find(json->nodes[type].value.text);
if(!row){
char name[48];
const ox_string text={json->nodes[type].value.text,(int64_t)json->nodes[type].length};
oxi_llm_copy_text(text,name,sizeof name);
return oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: the step \"%s\" of a tokenizer.json is not known",name);}
oxi_pipe_step*step=oxi_steps_add(steps,row);
return step?oxi_read_step(t,step,json,object):OX_ERR_NOMEM;}
/* >>llm/tokenizer/post_processors.c */
static const oxi_step_row oxi_post_rows[]={
{"TemplateProcessing",0,0,0,NULL,NULL},{"BertProcessing",0,0,0,NULL,NULL},
 {"RobertaProcessing",0,OXI_ADD_PREFIX_SPACE|OXI_TRIM_OFFSETS,0,NULL,NULL},
 {"ByteLevel",0,OXI_ADD_PREFIX_SPACE|OXI_TRIM_OFFSETS,0,NULL,NULL},};
static const oxi_step_row*oxi_post_row(const char*name){
return oxi_row_named(oxi_post_rows,sizeof oxi_post_rows/sizeof*oxi_post_rows,name);}
enum{OXI_TEMPLATE_ITEMS=256};
static ox_status oxi_template_push(oxi_pipe_step*step,int32_t id,uint8_t type,bool pair){
const size_t count=step->single +step->pair;
if(count>=OXI_TEMPLATE_ITEMS)return oxi_json_wrong("a template of more than 256 items");
int32_t*ids=(int32_t*)oxi_realloc(step->ids,count*sizeof*ids,(count+1)*sizeof*ids);
if(ids)step->ids=ids;
uint8_t*types=(uint8_t*)oxi_realloc(step->types,count,count+1);
if(types)step->types=types;
if(!ids|| !types)return OX_ERR_NOMEM;
step->ids[count]=id;
step->types[count]=type;
*(pair? &step->pair: &step->single)+=1;
return OX_OK;}
static const oxi_pipe_step*oxi_template_of(const ox_tokenizer*t){
for(size_t i=0;i<t->post_processors.count;i++)
if(t->post_processors.list[i].single)return&t->post_processors.list[i];
return NULL;}
static uint32_t oxi_count_blanks(const char*text,size_t length,bool at_end){
uint32_t count=0;
for(size_t at=at_end?length:0;at_end?at>0:at<length;count++){
size_t next=at_end?oxi_step_back(text,at):at;
const size_t before=next;
const uint32_t code=oxi_utf8_code(text,length,&next);
if(code!=oxi_byte_char(' ')&& !oxi_is_white_space(code))break;
at=at_end?before:next;}
return count;}
static void oxi_trim_places(const ox_tokenizer*t,oxi_token*tokens,size_t count,bool prefix_space,
 const char*original){
const oxi_vocabulary*v= &t->vocabulary;
for(size_t i=0;i<count;i++){
oxi_token*token= &tokens[i];
const char*text=oxi_vocabulary_text(v,token->id);
size_t length=oxi_vocabulary_length(v,token->id);
const bool marker=v->type[token->id]==OX_TOKEN_CONTROL||v->type[token->id]==OX_TOKEN_USER_DEFINED;
if(marker&&token->to-token->from>length){
text=original+token->from;
length=token->to-token->from;}
uint32_t leading=oxi_count_blanks(text,length,false);
const uint32_t trailing=oxi_count_blanks(text,length,true);
if(leading==1&&prefix_space&&(i==0||token->from==0))leading=0;
if(leading)token->from=token->from+leading<token->to?token->from+leading:token->to;
if(trailing&&token->to>=trailing)
token->to=token->to-trailing>token->from?token->to-trailing:token->from;}}
static ox_status oxi_read_named_id(const oxi_json*json,uint32_t object,const char*key,int32_t*out){
const uint32_t pair=oxi_json_find(json,object,key);
if(!pair||json->nodes[pair].type!=OXI_JSON_ARRAY||json->nodes[pair].length!=2||
 json->nodes[pair+2].type!=OXI_JSON_INT||json->nodes[pair+2].value.i<0||
 json->nodes[pair+2].value.i>INT32_MAX)
return oxi_json_wrong("a post-processor without its tokens");
*out=(int32_t)json->nodes[pair+2].value.i;
return OX_OK;}
static ox_status oxi_read_fixed_template(oxi_pipe_step*step,const oxi_json*json,uint32_t object,
 bool roberta){
int32_t cls=0,sep=0;
ox_status status=oxi_read_named_id(json,object,"cls",&cls);
if(!status)status=oxi_read_named_id(json,object,"sep",&sep);
const int32_t single[]={cls,-1,sep},pair[]={cls,-1,sep,sep,-2,sep};
for(size_t i=0;i<3&& !status;i++)status=oxi_template_push(step,single[i],0,false);
for(size_t i=0;i<6&& !status;i++){
if(i==3&& !roberta)continue;
status=oxi_template_push(step,pair[i],i>3&& !roberta,true);}
return status;}
static ox_status oxi_read_template_item(oxi_pipe_step*step,const oxi_json*json,uint32_t item,
 uint32_t names,bool pair){
const uint32_t sequence=oxi_json_find(json,item,"Sequence"),token=oxi_json_find(json,item,"SpecialToken");
const uint32_t at=sequence?sequence:token;
const uint32_t id=at?oxi_json_find(json,at,"id"):0,type=at?oxi_json_find(json,at,"type_id"):0;
if(!id||json->nodes[id].type!=OXI_JSON_STRING)
return oxi_json_wrong("a template's item that is not known");
const uint8_t kind=type?(uint8_t)json->nodes[type].value.i:0;
if(sequence)return oxi_template_push(step,json->nodes[id].value.text[0]=='B'? -2: -1,kind,pair);
const uint32_t named=oxi_json_find(json,names,json->nodes[id].value.text);
const uint32_t ids=named?oxi_json_find(json,named,"ids"):0;
if(!ids||json->nodes[ids].type!=OXI_JSON_ARRAY)
return oxi_json_wrong("a template with a special token that it does not have");
ox_status status=OX_OK;
for(uint32_t i=ids+1;i<json->nodes[ids].next&& !status;i++){
const int64_t number=json->nodes[i].value.i;
if(json->nodes[i].type!=OXI_JSON_INT||number<0||number>INT32_MAX)
return oxi_json_wrong("a template with an id that is none");
status=oxi_template_push(step,(int32_t)number,kind,pair);}
return status;}
static ox_status oxi_read_template(oxi_pipe_step*step,const oxi_json*json,uint32_t object){
static const char*const keys[]={"single","pair"};
const uint32_t names=oxi_json_find(json,object,"special_tokens");
for(int pair=0;pair<2;pair++){
const uint32_t list=oxi_json_find(json,object,keys[pair]);
if(!list||json->nodes[list].type!=OXI_JSON_ARRAY)
return oxi_json_wrong("a template without its items");
for(uint32_t i=list+1;i<json->nodes[list].next;i=json->nodes[i].next){
const ox_status status=oxi_read_template_item(step,json,i,names,pair!=0);
if(status)return status;}}
return OX_OK;}
static ox_status oxi_read_post_processors(ox_tokenizer*t,const oxi_json*json,uint32_t object,int depth){
if(object==0||json->nodes[object].type==OXI_JSON_NULL)return OX_OK;
const uint32_t type=oxi_json_find(json,object,"type");
if(!type||json->nodes[type].type!=OXI_JSON_STRING)
return oxi_json_wrong("a post-processor without a type");
const char*name=json->nodes[type].value.text;
if(strcmp(name,"Sequence")==0){
const uint32_t list=oxi_json_find(json,object,"processors");
if(!list||json->nodes[list].type!=OXI_JSON_ARRAY||depth>16)
return oxi_json_wrong("a Sequence without its list");
for(uint32_t i=list+1;i<json->nodes[list].next;i=json->nodes[i].next){
const ox_status status=oxi_read_post_processors(t,json,i,depth+1);
if(status)return status;}
return OX_OK;}
const oxi_step_row*row=oxi_post_row(name);
if(!row)
return oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: a post-processor of a tokenizer.json is not known");
const bool had=oxi_template_of(t)!=NULL;
oxi_pipe_step*step=oxi_steps_add(&t->post_processors,row);
ox_status status=step?oxi_read_step(t,step,json,object):OX_ERR_NOMEM;
if(!status&&strcmp(name,"TemplateProcessing")==0)status=oxi_read_template(step,json,object);
if(!status&&(strcmp(name,"BertProcessing")==0||strcmp(name,"RobertaProcessing")==0))
status=oxi_read_fixed_template(step,json,object,name[0]=='R');
if(!status&&had&&step->single)
return oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: a tokenizer.json with two templates");
for(size_t i=0;!status&&i<step->single +step->pair;i++)
if(step->ids[i]>=t->vocabulary.count)
status=oxi_json_wrong("a template with an id out of range");
return status;}
/* >>llm/tokenizer/encode.c */
static size_t oxi_loose_length(const unsigned char*p,size_t left){
const size_t length=p[0]<0x80?1:p[0]<0xC0||p[0]>0xF7?0:p[0]<0xE0?2:p[0]<0xF0?3:4;
for(size_t i=1;i<length;i++)
if(i>=left||(p[i]&0xC0)!=0x80)return 0;
return length;}
static ox_status oxi_clean_text(const char*text,size_t length,bool loose,oxi_buffer*out){
ox_status status=OX_OK;
for(size_t at=0;at<length&& !status;){
size_t used=oxi_utf8_length((const unsigned char*)text+at,length-at);
if(used==0&&loose&&(used=oxi_loose_length((const unsigned char*)text+at,length-at))>0){
size_t next=at;
const uint32_t code=oxi_utf8_code(text,length,&next);
status=oxi_put_code(out,code>0x10FFFF?0xFFFD:code,(uint32_t)at,(uint32_t)(at+used));
at+=used;
continue;}
status=used?oxi_put(out,text+at,used,(uint32_t)at,(uint32_t)(at+used))
 :oxi_put(out,"\xef\xbf\xbd",3,(uint32_t)at,(uint32_t)(at+1));
at+=used?used:1;}
return status;}
static ox_status oxi_encode_words(oxi_flow*work){
const ox_tokenizer*t=work->tokenizer;
const oxi_model_row*row=t->model.row;
ox_status status=OX_OK;
work->turn=2;
work->splits.count=work->next.count=0;
status=oxi_split_push(&work->splits,0,work->text.length,false);
for(size_t i=0;i<t->pre_tokenizers.count&& !status;i++){
const oxi_pipe_step*step= &t->pre_tokenizers.list[i];
status=step->row->apply(step,work);}
for(size_t i=0;i<work->splits.count&& !status;i++){
const oxi_stretch*word= &work->splits.list[i];
if(word->end>word->start)status=row->encode(work,word->start,word->end);}
return status;}
static oxi_text oxi_text_part(const oxi_text*text,size_t start,size_t end){
oxi_text part= *text;
part.bytes+=start;
part.length=end-start;
part.base +=start;
if(part.from)part.from+=start;
if(part.to)part.to+=start;
return part;}
static bool oxi_is_word_char(const ox_tokenizer*t,const oxi_text*text,size_t at){
const uint32_t code=oxi_utf8_code(text->bytes,text->length,&at);
return oxi_is_wide_word(&t->unicode,code);}
static bool oxi_marker_extent(const ox_tokenizer*t,const oxi_added*added,const oxi_text*text,
 size_t done,size_t*start,size_t*end){
if(added->single_word&&((*start>0&&oxi_is_word_char(t,text,oxi_step_back(text->bytes,*start)))||
 (*end<text->length&&oxi_is_word_char(t,text,*end))))
return false;
while(added->lstrip&& *start>done){
size_t before=oxi_step_back(text->bytes,*start),at=before;
if(!oxi_is_white_space(oxi_utf8_code(text->bytes,text->length,&at)))break;
*start=before;}
while(added->rstrip&& *end<text->length){
size_t next= *end;
if(!oxi_is_white_space(oxi_utf8_code(text->bytes,text->length,&next)))break;
*end=next;}
return true;}
typedef ox_status(*oxi_section_fn)(oxi_flow*work,const oxi_text*section);
static ox_status oxi_cut_markers(oxi_flow*work,const oxi_text*text,const oxi_trie*trie,
 oxi_section_fn section){
const ox_tokenizer*t=work->tokenizer;
oxi_markers found;
size_t done=0,search=0;
if(!trie->nodes)return text->length?section(work,text):OX_OK;
memset(&found,0,sizeof found);
const bool user_only= !work->parse_special&& !t->from_json;
ox_status status=oxi_trie_find_markers(trie,text->bytes,text->length,user_only,&found);
for(size_t i=found.count;i-- >0&& !status;){
const oxi_added*added= &t->added[found.list[i].value];
size_t start=found.list[i].at,end=start+oxi_vocabulary_length(&t->vocabulary,added->id);
if(start<search)continue;
if(trie== &t->markers[1])end=start+(size_t)t->normalized_length[found.list[i].value];
search=end;
if(added->special&& !work->parse_special)continue;
if(!oxi_marker_extent(t,added,text,done,&start,&end)||start<done)continue;
if(start>done){
const oxi_text part=oxi_text_part(text,done,start);
status=section(work,&part);}
if(!status){
work->text= *text;
status=oxi_token_push(work,added->id,start,end);}
done=end;}
if(!status&&text->length>done){
const oxi_text part=oxi_text_part(text,done,text->length);
status=section(work,&part);}
oxi_markers_free(&found);
return status;}
static ox_status oxi_encode_normalized(oxi_flow*work,const oxi_text*section){
work->text= *section;
return oxi_encode_words(work);}
static ox_status oxi_normalize(oxi_flow*work){
const ox_tokenizer*t=work->tokenizer;
ox_status status=OX_OK;
work->turn=0;
for(size_t i=0;i<t->normalizers.count&& !status;i++){
const oxi_pipe_step*step= &t->normalizers.list[i];
status=step->row->apply(step,work);}
return status;}
static ox_status oxi_encode_section(oxi_flow*work,const oxi_text*section){
work->text= *section;
const ox_status status=oxi_normalize(work);
if(status)return status;
const oxi_text normal=work->text;
return oxi_cut_markers(work,&normal,&work->tokenizer->markers[1],oxi_encode_normalized);}
static void oxi_work_free(oxi_flow*work){
for(int i=0;i<4;i++)oxi_buffer_free(&work->buffers[i]);
oxi_split_list_free(&work->splits);
oxi_split_list_free(&work->next);
oxi_split_list_free(&work->found);
oxi_matcher_free(&work->matcher);
oxi_free(work->tokens.list,work->tokens.room*sizeof*work->tokens.list);
oxi_free(work->cache,work->cache_count*sizeof*work->cache);
oxi_free(work->scratch,work->scratch_bytes);}
static ox_status oxi_work_cache(oxi_flow*work,size_t length){
size_t count=256;
if(work->cache||length<4096||work->tokenizer->model.row->encode!=oxi_bpe_encode)return OX_OK;
while(count<length/16&&count<16384)count*=2;
work->cache=(oxi_word_cache*)oxi_calloc(count,sizeof*work->cache);
work->cache_count=work->cache?count:0;
return work->cache?OX_OK:OX_ERR_NOMEM;}
static ox_status oxi_encode_text(oxi_flow*work,const char*text,size_t length){
const ox_tokenizer*t=work->tokenizer;
oxi_buffer clean;
oxi_text whole;
ox_status status=oxi_work_cache(work,length);
memset(&clean,0,sizeof clean);
memset(&whole,0,sizeof whole);
whole.bytes=text;
whole.length=length;
if(!status&& !t->takes_bytes&& !oxi_utf8_is_valid(text,length)){
status=oxi_clean_text(text,length,!t->from_json,&clean);
whole.bytes=clean.bytes;
whole.length=clean.length;
whole.from=clean.from;
whole.to=clean.to;}
if(!status&&length)status=oxi_cut_markers(work,&whole,&t->markers[0],oxi_encode_section);
oxi_buffer_free(&clean);
return status;}
typedef struct oxi_output_list{
int32_t*ids;
ox_token_place*places;
int64_t room,count;}oxi_output_list;
static void oxi_output_push(oxi_output_list*out,const oxi_token*token,int32_t text,int32_t type){
if(out->count<out->room&&out->ids)out->ids[out->count]=token->id;
if(out->count<out->room&&out->places){
ox_token_place*place= &out->places[out->count];
place->start=token->from;
place->end=token->to;
place->text=text;
place->type=type;}
out->count++;}
static void oxi_output_text(oxi_output_list*out,const oxi_flow*work,const size_t bounds[3],int text,
 int type){
for(size_t i=bounds[text];i<bounds[text+1];i++)
oxi_output_push(out,&work->tokens.list[i],text,type);}
static void oxi_output_all(oxi_output_list*out,const oxi_flow*work,const size_t bounds[3],bool pair,
 bool bare){
const oxi_pipe_step*step=oxi_template_of(work->tokenizer);
if(!step){
oxi_output_text(out,work,bounds,0,0);
if(pair)oxi_output_text(out,work,bounds,1,1);
return;}
const size_t first=pair?step->single:0,count=pair?step->pair:step->single;
for(size_t i=first;i<first+count;i++){
const int32_t id=step->ids[i];
oxi_token token={id,0,0};
if(id>=0){
if(!bare)oxi_output_push(out,&token,-1,step->types[i]);}else if(pair||id== -1){
oxi_output_text(out,work,bounds,-1-id,step->types[i]);}}}
static int64_t oxi_encode(const ox_tokenizer*t,const char*const text[2],const size_t length[2],bool pair,
 const ox_tokenizer_encode_desc*desc,oxi_output_list*out){
oxi_flow work;
size_t bounds[3]={0,0,0};
ox_status status=OX_OK;
memset(&work,0,sizeof work);
work.tokenizer=t;
work.places=out->places!=NULL;
work.parse_special=desc&&desc->parse_special;
for(int i=0;i<(pair?2:1)&& !status;i++){
status=oxi_encode_text(&work,text[i],length[i]);
bounds[i+1]=work.tokens.count;
bounds[2]=work.tokens.count;}
for(size_t i=0;i<t->post_processors.count&&work.places&& !status;i++){
const oxi_pipe_step*step= &t->post_processors.list[i];
if(!(step->options&OXI_TRIM_OFFSETS))continue;
for(int k=0;k<2;k++)
oxi_trim_places(t,work.tokens.list+bounds[k],bounds[k+1]-bounds[k],
 (step->options&OXI_ADD_PREFIX_SPACE)!=0,text[k]);}
if(!status)oxi_output_all(out,&work,bounds,pair,desc&&desc->bare);
oxi_work_free(&work);
return status? -1:out->count;}
/* >>llm/tokenizer/sources/json.c */
static const oxi_json_node*oxi_json_text_at(const oxi_json*json,uint32_t object,const char*key){
const uint32_t at=oxi_json_find(json,object,key);
return at&&json->nodes[at].type==OXI_JSON_STRING? &json->nodes[at]:NULL;}
static bool oxi_json_flag(const oxi_json*json,uint32_t object,const char*key,bool otherwise){
const uint32_t at=oxi_json_find(json,object,key);
return at&&json->nodes[at].type==OXI_JSON_BOOL?json->nodes[at].value.i!=0:otherwise;}
typedef struct oxi_json_token{
const char*text;
size_t length;
double score;
bool outside;}oxi_json_token;
typedef struct oxi_json_vocabulary{
oxi_json_token*list;
size_t count,room,entries;}oxi_json_vocabulary;
static ox_status oxi_json_token_put(oxi_json_vocabulary*v,int64_t id,const oxi_json_node*text,
 double score){
if(id<0||id>(int64_t)1<<26)return oxi_json_wrong("a token whose id is out of range");
if((size_t)id>=v->count){
void*grown=oxi_grow(v->list,&v->room,(size_t)id+1,sizeof*v->list,false);
if(!grown)return OX_ERR_NOMEM;
v->list=(oxi_json_token*)grown;
memset(v->list+v->count,0,((size_t)id+1-v->count)*sizeof*v->list);
v->count=(size_t)id+1;}
v->list[id].text=text->value.text;
v->list[id].length=text->length;
v->list[id].score=score;
v->entries++;
return OX_OK;}
static ox_status oxi_json_read_vocabulary(const oxi_json*json,uint32_t at,oxi_json_vocabulary*v){
const oxi_json_node*node= &json->nodes[at];
const size_t most=16*(size_t)node->length+(1<<16);
ox_status status=OX_OK;
if(!at||(node->type!=OXI_JSON_OBJECT&&node->type!=OXI_JSON_ARRAY))
return oxi_json_wrong("a model without a vocabulary");
for(uint32_t i=at+1;i<node->next&& !status;i=json->nodes[i].next){
const oxi_json_node*item= &json->nodes[i],*value=item+(node->type==OXI_JSON_OBJECT?1:2);
if(node->type==OXI_JSON_OBJECT){
if(value->type!=OXI_JSON_INT||value->value.i<0||(size_t)value->value.i>=most)
return oxi_json_wrong("a token whose id is no number, or far from the others");
status=oxi_json_token_put(v,value->value.i,item,0);}else{
if(item->type!=OXI_JSON_ARRAY||item->length!=2||item[1].type!=OXI_JSON_STRING||
 (value->type!=OXI_JSON_FLOAT&&value->type!=OXI_JSON_INT))
return oxi_json_wrong("a token that is not [text, score]");
status=oxi_json_token_put(v,(int64_t)v->count,item+1,
 value->type==OXI_JSON_INT?(double)value->value.i:value->value.f);}}
return status;}
typedef struct oxi_json_index{
int32_t*slots;
size_t count;
uint64_t key[2];}oxi_json_index;
static int32_t*oxi_json_index_slot(const oxi_json_index*index,const oxi_json_vocabulary*v,
 const char*text,size_t length){
size_t slot=(size_t)oxi_keyed_hash(index->key,text,length)&(index->count-1);
for(;index->slots[slot];slot=(slot+1)&(index->count-1)){
const oxi_json_token*token= &v->list[index->slots[slot]-1];
if(token->length==length&&memcmp(token->text,text,length)==0)break;}
return&index->slots[slot];}
static ox_status oxi_json_index_make(oxi_json_index*index,const oxi_json_vocabulary*v,size_t more){
index->count=16;
index->key[0]=oxi_unpredictable();
index->key[1]=oxi_unpredictable();
while(index->count<2*(v->count+more))index->count*=2;
index->slots=(int32_t*)oxi_calloc(index->count,sizeof*index->slots);
if(!index->slots)return OX_ERR_NOMEM;
for(size_t i=0;i<v->count;i++)
if(v->list[i].text)
*oxi_json_index_slot(index,v,v->list[i].text,v->list[i].length)=(int32_t)i+1;
return OX_OK;}
static ox_status oxi_json_read_added(ox_tokenizer*t,const oxi_json*json,oxi_json_vocabulary*v,
 oxi_json_index*index){
const uint32_t list=oxi_json_find(json,0,"added_tokens");
const size_t model_count=v->entries;
int64_t most= -1;
if(!list||json->nodes[list].type!=OXI_JSON_ARRAY)return OX_OK;
for(uint32_t i=list+1;i<json->nodes[list].next;i=json->nodes[i].next){
const oxi_json_node*text=oxi_json_text_at(json,i,"content");
oxi_added added;
if(!text)return oxi_json_wrong("an added token without content");
if(text->length==0)continue;
int32_t*slot=oxi_json_index_slot(index,v,text->value.text,text->length);
added.special=oxi_json_flag(json,i,"special",false);
added.lstrip=oxi_json_flag(json,i,"lstrip",false);
added.rstrip=oxi_json_flag(json,i,"rstrip",false);
added.single_word=oxi_json_flag(json,i,"single_word",false);
added.normalized=oxi_json_flag(json,i,"normalized",!added.special);
added.id= *slot-1;
if(added.id<0){
const int64_t id=most>=(int64_t)model_count||(model_count==0&&most>=0)?most+1:(int64_t)model_count;
const ox_status status=oxi_json_token_put(v,id,text,0);
if(status)return status;
v->list[id].outside=true;
added.id=(int32_t)id;
*slot=added.id+1;}
if(added.id>most)most=added.id;
const ox_status status=oxi_added_push(t,added);
if(status)return status;}
return OX_OK;}
static ox_status oxi_json_make_vocabulary(ox_tokenizer*t,const oxi_json_vocabulary*from){
oxi_vocabulary*v= &t->vocabulary;
size_t bytes=0;
for(size_t i=0;i<from->count;i++)bytes+=from->list[i].length;
if(from->count==0)return oxi_json_wrong("a vocabulary without tokens");
ox_status status=oxi_vocabulary_make(v,(int64_t)from->count,bytes);
if(status)return status;
v->score=(float*)oxi_calloc(from->count,sizeof*v->score);
v->outside=(uint8_t*)oxi_calloc(from->count,1);
if(!v->score|| !v->outside)return OX_ERR_NOMEM;
bytes=0;
for(size_t i=0;i<from->count;i++){
v->start[i]=bytes;
if(from->list[i].length)memcpy(v->texts+bytes,from->list[i].text,from->list[i].length);
bytes+=from->list[i].length;
v->type[i]=from->list[i].text?OX_TOKEN_NORMAL:OX_TOKEN_UNUSED;
v->score[i]=(float)from->list[i].score;
v->outside[i]=from->list[i].outside;}
for(size_t i=0;i<t->added_count;i++)
v->type[t->added[i].id]=t->added[i].special?OX_TOKEN_CONTROL:OX_TOKEN_USER_DEFINED;
return oxi_vocabulary_index(v);}
static bool oxi_json_merge_parts(const oxi_json*json,uint32_t at,const char*part[2],size_t length[2]){
const oxi_json_node*node= &json->nodes[at];
if(node->type==OXI_JSON_ARRAY&&node->length==2&&node[1].type==OXI_JSON_STRING&&
 node[2].type==OXI_JSON_STRING){
for(int i=0;i<2;i++){
part[i]=node[1+i].value.text;
length[i]=node[1+i].length;}
return true;}
const char*space=node->type==OXI_JSON_STRING?(const char*)memchr(node->value.text,' ',node->length):NULL;
if(!space)return false;
part[0]=node->value.text;
length[0]=(size_t)(space -part[0]);
part[1]=space +1;
length[1]=node->length-length[0]-1;
return memchr(part[1],' ',length[1])==NULL;}
static int32_t oxi_made_id(const ox_tokenizer*t,const char*const part[2],const size_t length[2]){
const size_t cut=t->model.prefix_length<=length[1]?t->model.prefix_length:length[1];
const size_t bytes=length[0]+length[1]-cut;
char few[256],*joined=bytes<=sizeof few?few:(char*)oxi_alloc(bytes);
if(!joined)return-1;
memcpy(joined,part[0],length[0]);
memcpy(joined+length[0],part[1]+cut,length[1]-cut);
const int32_t id=oxi_vocabulary_find_known(&t->vocabulary,joined,bytes);
if(joined!=few)oxi_free(joined,bytes);
return id;}
static ox_status oxi_json_read_merges(ox_tokenizer*t,const oxi_json*json,uint32_t model){
const uint32_t list=oxi_json_find(json,model,"merges");
if(!list||json->nodes[list].type!=OXI_JSON_ARRAY)
return oxi_json_wrong("a BPE model without merges");
ox_status status=oxi_model_make_merges(&t->model,json->nodes[list].length);
uint32_t rank=0;
for(uint32_t i=list+1;i<json->nodes[list].next&& !status;i=json->nodes[i].next,rank++){
const char*part[2];
size_t length[2];
int32_t id[2];
if(!oxi_json_merge_parts(json,i,part,length))
return oxi_json_wrong("a merge that is not two texts");
for(int k=0;k<2;k++)id[k]=oxi_vocabulary_find_known(&t->vocabulary,part[k],length[k]);
const int32_t made=oxi_made_id(t,part,length);
if(id[0]<0||id[1]<0||made<0)return oxi_json_wrong("a merge of texts that are no tokens");
oxi_merge*merge= &t->model.merges[oxi_merge_slot(&t->model,id[0],id[1])];
if(merge->left>=0){
merge->rank=rank;
merge->made=made;}else{
(void)oxi_model_add_merge(&t->model,id[0],id[1],made,rank);}}
return status;}
static ox_status oxi_json_model_text(const oxi_json*json,uint32_t model,const char*key,char**out,
 size_t*length){
const oxi_json_node*text=oxi_json_text_at(json,model,key);
return text?oxi_step_set(out,length,text->value.text,text->length):OX_OK;}
static ox_status oxi_tokenizer_make_trie(ox_tokenizer*t,size_t count,uint32_t types){
const oxi_vocabulary*v= &t->vocabulary;
oxi_trie_text*texts=(oxi_trie_text*)oxi_calloc(count+1,sizeof*texts);
uint32_t used=0;
if(!texts)return OX_ERR_NOMEM;
for(int32_t i=0;i<(int32_t)count;i++){
if(!(types>>v->type[i]&1))continue;
if(v->outside&&v->outside[i])continue;
texts[used].text=oxi_vocabulary_text(v,i);
texts[used].length=oxi_vocabulary_length(v,i);
texts[used++].value=i;}
const ox_status status=oxi_trie_make(&t->model.trie,texts,used,false);
oxi_free(texts,(count+1)*sizeof*texts);
return status;}
static ox_status oxi_json_read_unigram(ox_tokenizer*t,const oxi_json*json,uint32_t model,
 const oxi_json_vocabulary*v,size_t model_count){
const uint32_t unknown=oxi_json_find(json,model,"unk_id");
oxi_model*m= &t->model;
double least=INFINITY;
m->scores=(double*)oxi_calloc((size_t)t->vocabulary.count,sizeof*m->scores);
if(!m->scores)return OX_ERR_NOMEM;
for(size_t i=0;i<model_count;i++){
m->scores[i]=v->list[i].score;
if(m->scores[i]<least)least=m->scores[i];}
m->unknown_score=least-10;
if(unknown&&json->nodes[unknown].type==OXI_JSON_INT){
if(json->nodes[unknown].value.i<0||(size_t)json->nodes[unknown].value.i>=model_count)
return oxi_json_wrong("an unk_id out of range");
m->unknown=(int32_t)json->nodes[unknown].value.i;}
return oxi_tokenizer_make_trie(t,model_count,UINT32_MAX);}
static ox_status oxi_json_read_model(ox_tokenizer*t,const oxi_json*json,uint32_t model,const char*type,
 const oxi_json_vocabulary*v,size_t model_count){
oxi_model*m= &t->model;
const oxi_json_node*unknown=oxi_json_text_at(json,model,"unk_token");
const uint32_t dropout=oxi_json_find(json,model,"dropout"),
 longest=oxi_json_find(json,model,"max_input_chars_per_word");
if(unknown)m->unknown=oxi_vocabulary_find_known(&t->vocabulary,unknown->value.text,unknown->length);
m->fuse_unknown=oxi_json_flag(json,model,"fuse_unk",false);
m->byte_fallback=oxi_json_flag(json,model,"byte_fallback",false);
m->ignore_merges=oxi_json_flag(json,model,"ignore_merges",false);
ox_status status=oxi_json_model_text(json,model,"continuing_subword_prefix",&m->prefix,&m->prefix_length);
if(!status)
status=oxi_json_model_text(json,model,"end_of_word_suffix",&m->suffix,&m->suffix_length);
if(status)return status;
if(dropout&&json->nodes[dropout].type==OXI_JSON_FLOAT&&json->nodes[dropout].value.f>0)
return oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: a BPE model with dropout");
for(int32_t i=0;i<t->vocabulary.count;i++){
const int byte=oxi_byte_of_text(oxi_vocabulary_text(&t->vocabulary,i),
 oxi_vocabulary_length(&t->vocabulary,i));
if(byte<0|| !m->byte_fallback||t->vocabulary.outside[i])continue;
t->vocabulary.byte_token[byte]=i;
if(t->vocabulary.type[i]==OX_TOKEN_NORMAL)t->vocabulary.type[i]=OX_TOKEN_BYTE;}
if(strcmp(type,"BPE")==0)status=oxi_json_read_merges(t,json,model);
if(strcmp(type,"Unigram")==0)status=oxi_json_read_unigram(t,json,model,v,model_count);
if(strcmp(type,"WordPiece")==0){
m->longest_word=longest&&json->nodes[longest].type==OXI_JSON_INT?json->nodes[longest].value.i:100;
if(m->longest_word<=0)m->longest_word=1;
status=oxi_tokenizer_make_trie(t,model_count,UINT32_MAX);}
if(!status&&m->unknown>=0&&t->vocabulary.type[m->unknown]==OX_TOKEN_NORMAL)
t->vocabulary.type[m->unknown]=OX_TOKEN_UNKNOWN;
return status;}
static const char*oxi_json_model_type(const oxi_json*json,uint32_t model){
const oxi_json_node*type=oxi_json_text_at(json,model,"type");
if(type)return type->value.text;
if(oxi_json_find(json,model,"merges"))return "BPE";
if(oxi_json_find(json,model,"unk_id"))return "Unigram";
return oxi_json_find(json,model,"max_input_chars_per_word")?"WordPiece":"WordLevel";}
static ox_status oxi_json_read_all(ox_tokenizer*t,const oxi_json*json,oxi_json_vocabulary*v,
 oxi_json_index*index){
const uint32_t model=oxi_json_find(json,0,"model");
if(!model||json->nodes[model].type!=OXI_JSON_OBJECT)return oxi_json_wrong("it has no model");
const char*type=oxi_json_model_type(json,model);
t->model.row=oxi_model_row_of(type);
if(!t->model.row||type[0]<'A'||type[0]>'Z')
return oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: a model that is not BPE, WordPiece, WordLevel or Unigram");
snprintf(t->kind,sizeof t->kind,"%s",type);
ox_status status=oxi_json_read_vocabulary(json,oxi_json_find(json,model,"vocab"),v);
const size_t model_count=v->count;
const uint32_t added=oxi_json_find(json,0,"added_tokens");
if(!status)status=oxi_json_index_make(index,v,added?json->nodes[added].length:0);
if(!status)status=oxi_json_read_added(t,json,v,index);
if(!status)status=oxi_json_make_vocabulary(t,v);
if(!status)status=oxi_json_read_model(t,json,model,type,v,model_count);
if(!status){
status=oxi_read_steps(t,&t->normalizers,oxi_normalizer_row,"normalizers",json,
 oxi_json_find(json,0,"normalizer"),0);}
if(!status){
status=oxi_read_steps(t,&t->pre_tokenizers,oxi_pre_tokenizer_row,"pretokenizers",json,
 oxi_json_find(json,0,"pre_tokenizer"),0);}
if(!status)status=oxi_read_post_processors(t,json,oxi_json_find(json,0,"post_processor"),0);
if(!status){
status=oxi_read_steps(t,&t->decoders,oxi_decoder_row,"decoders",json,oxi_json_find(json,0,"decoder"),0);}
return status;}
typedef struct oxi_role_key{
const char*key;
ox_token_role role;}oxi_role_key;
static const oxi_role_key oxi_role_keys[]={
{"bos_token",OX_TOKEN_ROLE_BOS},{"eos_token",OX_TOKEN_ROLE_EOS},
 {"unk_token",OX_TOKEN_ROLE_UNKNOWN},{"sep_token",OX_TOKEN_ROLE_SEP},
 {"pad_token",OX_TOKEN_ROLE_PAD},{"cls_token",OX_TOKEN_ROLE_CLS},
 {"mask_token",OX_TOKEN_ROLE_MASK},{"eot_token",OX_TOKEN_ROLE_EOT},};
static ox_status oxi_json_read_config(ox_tokenizer*t,const char*text,size_t length){
oxi_json json;
const ox_status status=oxi_json_parse("tokenizer: tokenizer_config.json",text,length,&json);
if(status)return status;
for(size_t i=0;i<sizeof oxi_role_keys/sizeof*oxi_role_keys;i++){
const uint32_t at=oxi_json_find(&json,0,oxi_role_keys[i].key);
const oxi_json_node*name=oxi_json_text_at(&json,0,oxi_role_keys[i].key);
if(!name&&at)name=oxi_json_text_at(&json,at,"content");
if(!name)continue;
t->special[oxi_role_keys[i].role]=oxi_vocabulary_find(&t->vocabulary,name->value.text,name->length);}
t->add_bos=oxi_json_flag(&json,0,"add_bos_token",t->add_bos);
t->add_eos=oxi_json_flag(&json,0,"add_eos_token",t->add_eos);
oxi_json_free(&json);
return OX_OK;}
static void oxi_json_template_roles(ox_tokenizer*t){
const oxi_pipe_step*step=oxi_template_of(t);
t->special[OX_TOKEN_ROLE_UNKNOWN]=t->model.unknown;
if(!step)return;
t->add_bos=step->ids[0]>=0;
t->add_eos=step->ids[step->single -1]>=0;
if(t->add_bos)t->special[OX_TOKEN_ROLE_BOS]=step->ids[0];
if(t->add_eos)t->special[OX_TOKEN_ROLE_EOS]=step->ids[step->single -1];}
static ox_status oxi_tokenizer_read_json(ox_tokenizer*t,const char*text,size_t length,const char*config,
 size_t config_length){
oxi_json json;
oxi_json_vocabulary v;
oxi_json_index index;
memset(&v,0,sizeof v);
memset(&index,0,sizeof index);
t->from_json=t->has_decoders=true;
ox_status status=oxi_json_parse("tokenizer: tokenizer.json",text,length,&json);
if(status)return status;
status=json.nodes[0].type==OXI_JSON_OBJECT?oxi_json_read_all(t,&json,&v,&index)
 :oxi_json_wrong("it is not an object");
oxi_free(v.list,v.room*sizeof*v.list);
oxi_free(index.slots,index.count*sizeof*index.slots);
oxi_json_free(&json);
if(!status)oxi_json_template_roles(t);
if(!status&&config&&config_length)status=oxi_json_read_config(t,config,config_length);
return status?status:oxi_tokenizer_finish(t);}
/* >>llm/tokenizer/sources/gguf_pre.c */
enum{
OXI_PRE_IGNORE_MERGES=1,OXI_PRE_BOS=2,OXI_PRE_RAW=4,OXI_PRE_ESCAPE=8,OXI_PRE_NEWLINES=16,OXI_PRE_NO_BOS=32
 };
enum{OXI_PRE_PATTERNS=6};
#define OXI_PATTERN_GPT2 \
 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define OXI_PATTERN_LLAMA3 \
 "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?" \
 "[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define OXI_PATTERN_QWEN2 \
 "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s" \
 "\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define OXI_PATTERN_DEEPSEEK3 \
 "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[" \
 "\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define OXI_PATTERN_KANA_AND_HAN \
 "[\344\270\200-\351\276\245\343\201\200-\343\202\237\343\202\240-\343\203\277]+"
#define OXI_PATTERN_BLOOM \
 " ?[^(\\s|.,!?\342\200\246\343\200\202\357\274\214\343\200\201\340\245\244\333\224\330\214)]+"
#define OXI_PATTERN_LINES "[^\\n]+|[\\n]+"
typedef struct oxi_pre_row{
const char*names;
unsigned flags;
const char*patterns[OXI_PRE_PATTERNS];}oxi_pre_row;
static const oxi_pre_row oxi_pre_rows[]={
{"default",0,{"[\\p{P}\\$\\+<=>\\^~\\|]+",OXI_PATTERN_GPT2,"\\p{N}+","[0-9][0-9][0-9]",NULL,NULL}},
 {"minicpm5",OXI_PRE_IGNORE_MERGES,{"\\p{N}{1,3}",
 "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+| ?[^"
 "\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",NULL,NULL,NULL,NULL}},
 {"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
 OXI_PRE_IGNORE_MERGES|OXI_PRE_BOS,{OXI_PATTERN_LLAMA3,NULL,NULL,NULL,NULL,NULL}},{"deepseek-llm",0,
 {"[\\r\\n]",
 "\\s?[A-Za-z\302\265\303\200-\303\226\303\230-\303\266\303\270-\306\272\306\274-\306\277\307\204-\312"
 "\223\312\225-\312\257\315\260-\315\263\315\266\315\267\315\273-\315\275\315\277\316\206\316\210-\316"
 "\212\316\214\316\216-\316\241\316\243-\317\265\317\267-\322\201\322\212-\324\257\324\261-\325\226"
 "\341\202\240-\341\203\205\341\216\240-\341\217\265\341\217\270-\341\217\275\341\262\220-\341\262\272"
 "\341\262\275-\341\262\277\341\264\200-\341\264\253\341\265\253-\341\265\267\341\265\271-\341\266\232"
 "\341\270\200-\341\274\225\341\274\230-\341\274\235\341\274\240-\341\275\205\341\275\210-\341\275\215"
 "\341\275\220-\341\275\227\341\275\231\341\275\233\341\275\235\341\275\237-\\x{1F7D}\341\276\200-\341"
 "\276\264\341\276\266-\341\276\274\\x{1FBE}\341\277\202-\341\277\204\341\277\206-\341\277\214\341"
 "\277\220-\\x{1FD3}\341\277\226-\\x{1FDB}\341\277\240-\341\277\254\341\277\262-\341\277\264\341\277"
 "\266-"
 "\341\277\274\342\204\202\342\204\207\342\204\212-\342\204\223\342\204\225\342\204\231-\342\204\235"
 "\342\204\244\\x{2126}\342\204\250\\x{212A}-\342\204\255\342\204\257-\342\204\264\342\204\271\342"
 "\204\274-\342"
 "\204\277\342\205\205-\342\205\211\342\205\216\342\206\203\342\206\204\342\260\200-\342\261\273\342"
 "\261\276-\342\263\244\342\263\253-\342\263\256\342\263\262\342\263\263\352\231\200-\352\231\255\352"
 "\232\200-\352\232\233\352\234\242-\352\235\257\352\235\261-\352\236\207\352\236\213-\352\236\216\352"
 "\255\260-\352\256\277\357\254\200-\357\254\206\357\254\223-\357\254\227\357\274\241-\357\274\272\357"
 "\275\201-\357\275\232\360\220\220\200-\360\220\221\217\360\220\222\260-\360\220\223\223\360\220\223"
 "\230-\360\220\223\273\360\220\262\200-\360\220\262\262\360\220\263\200-\360\220\263\262\360\221\242"
 "\240-\360\221\243\237\360\236\244\200-\360\236\245\203]+",
 "\\s?[!-/:-~\357\274\201-\357\274\217\357\274\232-\357\275\236\342\200\230-\342\200\237\343\200\201-"
 "\343\200\202]+","\\s+$","[\344\270\200-\351\276\245\340\240\200-\344\270\200\352\260\200-\355\237\277]+",
 "\\p{N}+"}},{"deepseek-coder",0,{"[\\r\\n]","\\s?\\p{L}+","\\s?\\p{P}+",
 "[\344\270\200-\351\276\245\340\240\200-\344\270\200\352\260\200-\355\237\277]+","\\p{N}",NULL}},
 {"deepseek-v3 hunyuan-dense hy_v4 joyai-llm",0,{"\\p{N}{1,3}",OXI_PATTERN_KANA_AND_HAN,
 OXI_PATTERN_DEEPSEEK3,NULL,NULL,NULL}},{"spark2_5",0,{"\\p{N}{1,3}",OXI_PATTERN_KANA_AND_HAN,
 "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?"
 "[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+","\\p{N}",NULL,NULL}},{"youtu",OXI_PRE_IGNORE_MERGES,
 {"[\352\260\200-\355\236\243\343\204\261-\343\206\216]+|[\357\274\201\342\200\246\342\200\234\342\200"
 "\235\342\200\230\342\200\231\342\200\224\357\274\232\357\274\233\357\274\214\343\200\201-\343\200"
 "\277\357\270\260-\357\271\217]+|[\343\204\205-\343\204\257]+|[\344\270\200-\351\276\245\343\201\200-"
 "\343\202\237\343\202\240-\343\203\277]+",
 "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]*[\\p{L}\\p{M}]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][l"
 "L]|'[dD])?|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+[\\p{L}\\p{M}]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'["
 "mM]|'[lL][lL]|'[dD])?|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
 NULL,NULL,NULL,NULL}},{"falcon",0,{"[\\p{P}\\$\\+<=>\\^~\\|`]+",OXI_PATTERN_GPT2,
 "[0-9][0-9][0-9]",NULL,NULL,NULL}},
 {"starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",0,{"\\p{N}",
 OXI_PATTERN_GPT2,NULL,NULL,NULL,NULL}},
 {"gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert mpt olmo jais e"
 "xaone4 trillion granite-docling jina-v1-en jina-v2-code roberta-bpe",0,
 {OXI_PATTERN_GPT2,NULL,NULL,NULL,NULL,NULL}},{"jais-2",0,
 {"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
 " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}"
 "(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}",
 NULL,NULL,NULL,NULL,NULL}},{"gemma4 granite-embed-multi-311m",
 OXI_PRE_RAW|OXI_PRE_ESCAPE|OXI_PRE_NEWLINES|OXI_PRE_BOS,{OXI_PATTERN_LINES,NULL,NULL,NULL,NULL,NULL}},
 {"sarvam-moe",OXI_PRE_RAW|OXI_PRE_ESCAPE,{OXI_PATTERN_LINES,NULL,NULL,NULL,NULL,NULL}},
 {"qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 megrez hunyuan solar-open grok-2",0,
 {OXI_PATTERN_QWEN2,NULL,NULL,NULL,NULL,NULL}},{"qwen35",0,
 {"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{"
 "N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",NULL,NULL,NULL,NULL,NULL}},
 {"dbrx smaug-bpe",0,{OXI_PATTERN_LLAMA3,NULL,NULL,NULL,NULL,NULL}},{"chatglm-bpe glm4",OXI_PRE_NO_BOS,
 {OXI_PATTERN_LLAMA3,NULL,NULL,NULL,NULL,NULL}},{"poro-chat bloom gpt3-finnish",0,
 {OXI_PATTERN_BLOOM,NULL,NULL,NULL,NULL,NULL}},{"viking",0,{OXI_PATTERN_BLOOM,
 "\\p{N}",NULL,NULL,NULL,NULL}},{"tekken",OXI_PRE_IGNORE_MERGES|OXI_PRE_BOS,
 {"[^\\r\\n\\p{L}\\p{N}]?[\\p{L}&&[^a-z]]*[\\p{L}&&[^A-Z]]+|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}&&[^a-z]]+[\\p"
 "{L}&&[^A-Z]]*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
 NULL,NULL,NULL,NULL,NULL}},{"exaone-moe",0,
 {"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: "
 "\\p{L}\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",
 NULL,NULL,NULL,NULL,NULL}},{"chameleon",OXI_PRE_BOS,{"<sentinel:[0-9]+>",
 "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z","([\\t\\n]|    |  )","\\p{N}","[\\p{P}!-/:-@\\[-`{-~]",
 OXI_PATTERN_GPT2}},{"gpt-4o llama4 kanana2 talkie minimax-m2",0,
 {"[^\\r\\n\\p{L}\\p{N}]?[\\p{L}&&[^a-z]]*[\\p{L}&&[^A-Z]]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[l"
 "L][lL]|'[dD])?|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}&&[^a-z]]+[\\p{L}&&[^A-Z]]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV"
 "][eE]|'[mM]|'[lL][lL]|'[dD])?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|"
 "\\s+",NULL,NULL,NULL,NULL,NULL}},{"granite-embed-multi-97m",OXI_PRE_IGNORE_MERGES,
 {"[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}&&[^a-z]]*[\\p{L}\\p{M}&&[^A-Z]]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][e"
 "E]|'[mM]|'[lL][lL]|'[dD])?|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}&&[^a-z]]+[\\p{L}\\p{M}&&[^A-Z]]*(?:'["
 "sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\"
 "s*[\\r\\n]+|\\s+(?!\\S)|\\s+",NULL,NULL,NULL,NULL,NULL}},{"tiny_aya cohere2moe",0,
 {"[0-9]{1,3}(?=(?:[0-9]{3})*(?![A-Za-z0-9_]))",
 "[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]*[\\p{L}\\p{M}]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][l"
 "L]|'[dD])?|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+[\\p{L}\\p{M}]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'["
 "mM]|'[lL][lL]|'[dD])?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
 NULL,NULL,NULL,NULL}},{"superbpe",0,{"\\p{N}+","(?=([0-9]{3})+(?![0-9]))",NULL,NULL,NULL,NULL}},
 {"bailingmoe bailingmoe2 llada-moe",0,
 {"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]"
 "+[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+",NULL,NULL,NULL,NULL,NULL}},{"seed-coder",0,
 {"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?"
 "[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",NULL,NULL,NULL,NULL,NULL}},{"kimi-k2",0,
 {"[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{20000}-\\x{2A6DF}\\x{2A700}-\\x{2B73F}\\x{2B740}-\\x{2B81"
 "F}\\x{2B820}-\\x{2CEAF}\\x{2CEB0}-\\x{2EBEF}\\x{F900}-\\x{FAFF}\\x{2F800}-\\x{2FA1F}]+|[^\\r\\n\\p{L"
 "}\\p{N}]?[\\p{L}&&[^\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{20000}-\\x{2A6DF}\\x{2A700}-\\x{2B73F}"
 "\\x{2B740}-\\x{2B81F}\\x{2B820}-\\x{2CEAF}\\x{2CEB0}-\\x{2EBEF}\\x{F900}-\\x{FAFF}\\x{2F800}-\\x{2FA"
 "1F}]]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+["
 "\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",NULL,NULL,NULL,NULL,NULL}},{"ufakzeka",0,
 {"[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
 NULL,NULL,NULL,NULL,NULL}},{"afmoe",0,{"\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))",
 "[\344\270\200-\351\277\277\343\220\200-\344\266\277\\x{F900}-\357\253\277\343\201\200-\343\202"
 "\237\343\202\240-\343\203\277\357\275\245-\357\276\237\342\274\200-\342\277\237\340\270\200-\340\271"
 "\277\340\272\200-\340\273\277\341\236\200-\341\237\277\341\200\200-\341\202\237\352\251\240-\352\251"
 "\277\352\247\240-\352\247\277\352\260\200-\355\236\257\341\204\200-\341\207\277]+",
 OXI_PATTERN_DEEPSEEK3,NULL,NULL,NULL}},{"laguna",0,{OXI_PATTERN_LINES,
 OXI_PATTERN_QWEN2,NULL,NULL,NULL,NULL}},};
static const oxi_pre_row*oxi_pre_row_of(const char*name){
const size_t length=strlen(name);
for(size_t i=0;i<sizeof oxi_pre_rows/sizeof*oxi_pre_rows&&length;i++){
for(const char*at=oxi_pre_rows[i].names;(at=strstr(at,name))!=NULL;at+=length){
const bool begins=at==oxi_pre_rows[i].names||at[-1]==' ';
if(begins&&(at[length]==' '||at[length]==0))return&oxi_pre_rows[i];}}
return NULL;}
/* >>llm/tokenizer/sources/gguf.c */
static ox_status oxi_vocabulary_array(const ox_file*file,const char*key,ox_file_meta_type a,
 ox_file_meta_type b,int64_t count,ox_file_meta*out){
*out=ox_file_meta_find(file,key);
if(out->type==OX_FILE_META_NONE)
return oxi_fail(OX_ERR_NOT_FOUND,"tokenizer: metadata key %s is missing",key);
if(out->type!=OX_FILE_META_ARRAY||(out->element!=a&&out->element!=b)){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: metadata key %s has a wrong type",key);}
if(count>=0&&out->count!=count){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: metadata key %s has %lld elements for %lld tokens",key,
 (long long)out->count,(long long)count);}
return OX_OK;}
static ox_status oxi_vocabulary_read_texts(oxi_vocabulary*v,const ox_file*file){
ox_file_meta tokens;
size_t bytes=0;
ox_status status=oxi_vocabulary_array(file,"tokenizer.ggml.tokens",OX_FILE_META_STRING,
 OX_FILE_META_STRING,-1,&tokens);
if(status)return status;
if(tokens.count<1||tokens.count>INT32_MAX/4){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: a vocabulary of %lld tokens",(long long)tokens.count);}
for(int64_t i=0;i<tokens.count;i++){
const ox_string text=ox_file_meta_element(file,&tokens,i).text;
if(text.length<0|| !oxi_add_size(bytes,(size_t)text.length,&bytes)){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: the texts of all tokens are too long");}}
status=oxi_vocabulary_make(v,tokens.count,bytes);
if(status)return status;
bytes=0;
for(int64_t i=0;i<v->count;i++){
const ox_string text=ox_file_meta_element(file,&tokens,i).text;
v->start[i]=bytes;
if(text.length)memcpy(v->texts+bytes,text.data,(size_t)text.length);
bytes+=(size_t)text.length;}
return OX_OK;}
static ox_status oxi_vocabulary_read_types(oxi_vocabulary*v,const ox_file*file){
const char*key="tokenizer.ggml.token_type";
if(ox_file_meta_find(file,key).type==OX_FILE_META_NONE)return OX_OK;
ox_file_meta types;
const ox_status status=oxi_vocabulary_array(file,key,OX_FILE_META_INT,OX_FILE_META_UINT,v->count,&types);
if(status)return status;
for(int64_t i=0;i<v->count;i++){
const int64_t type=ox_file_meta_element(file,&types,i).i;
if(type<0||type>=OX_TOKEN_TYPE_COUNT){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: token %lld is of the unknown type %lld",(long long)i,
 (long long)type);}
v->type[i]=(uint8_t)type;}
return OX_OK;}
static ox_status oxi_vocabulary_read_scores(oxi_vocabulary*v,const ox_file*file,bool needed){
ox_file_meta scores;
if(!needed&&ox_file_meta_find(file,"tokenizer.ggml.scores").type==OX_FILE_META_NONE)return OX_OK;
const ox_status status=oxi_vocabulary_array(file,"tokenizer.ggml.scores",OX_FILE_META_FLOAT,
 OX_FILE_META_FLOAT,v->count,&scores);
if(status)return status;
v->score=(float*)oxi_alloc((size_t)v->count*sizeof*v->score);
if(!v->score)return OX_ERR_NOMEM;
for(int64_t i=0;i<v->count;i++){
v->score[i]=(float)ox_file_meta_element(file,&scores,i).f;
if(isnan(v->score[i])){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: the score of token %lld is NaN",(long long)i);}}
return OX_OK;}
static ox_status oxi_vocabulary_find_byte_tokens(oxi_vocabulary*v,bool typed){
for(int32_t i=0;i<v->count;i++){
const bool may_be_byte= !typed||v->type[i]==OX_TOKEN_BYTE;
const int byte=may_be_byte?oxi_byte_of_text(oxi_vocabulary_text(v,i),oxi_vocabulary_length(v,i)): -1;
if(typed&&may_be_byte&&byte<0){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: token %d is a byte token, but its text is not <0x..>",(int)i);}
if(byte>=0)v->byte_token[byte]=i;}
return OX_OK;}
typedef struct oxi_gguf_kind{
const char*name,*model;
bool needs_scores,add_bos,add_eos,add_sep,space_prefix;
int32_t bos,eos,unknown,sep,pad,mask;
ox_status(*pipeline)(ox_tokenizer*t,const ox_file*file);}oxi_gguf_kind;
static ox_status oxi_add_replace(ox_tokenizer*t,oxi_steps*steps,const oxi_step_row*row,const char*from,
 const char*to){
oxi_pipe_step*step=oxi_steps_add(steps,row);
ox_status status=step?oxi_step_set(&step->text,&step->text_length,to,strlen(to)):OX_ERR_NOMEM;
(void)t;
if(!status&&from)status=oxi_step_set(&step->find,&step->find_length,from,strlen(from));
return status;}
static ox_status oxi_add_plain(oxi_steps*steps,const oxi_step_row*row,uint32_t options){
oxi_pipe_step*step=oxi_steps_add(steps,row);
if(step)step->options=options;
return step?OX_OK:OX_ERR_NOMEM;}
static const char oxi_escaped_space[]="\xe2\x96\x81";
static ox_status oxi_add_space_decoders(ox_tokenizer*t,bool bytes,bool cut){
ox_status status=oxi_add_replace(t,&t->decoders,oxi_decoder_row("Replace"),oxi_escaped_space," ");
if(!status&&bytes)status=oxi_add_plain(&t->decoders,oxi_decoder_row("ByteFallback"),0);
if(!status)status=oxi_add_plain(&t->decoders,oxi_decoder_row("Fuse"),0);
if(status|| !cut)return status;
status=oxi_add_replace(t,&t->decoders,oxi_decoder_row("Strip")," ","");
if(!status)t->decoders.list[t->decoders.count-1].start=1;
return status;}
static ox_status oxi_pipeline_llama(ox_tokenizer*t,const ox_file*file){
ox_status status=OX_OK;
(void)file;
t->takes_bytes=true;
if(t->space_prefix)
status=oxi_add_replace(t,&t->normalizers,oxi_normalizer_row("Prepend"),NULL," ");
if(!status)
status=oxi_add_replace(t,&t->normalizers,oxi_normalizer_row("Replace")," ",oxi_escaped_space);
return status?status:oxi_add_space_decoders(t,true,t->space_prefix);}
static ox_status oxi_gguf_read_merges(ox_tokenizer*t,const ox_file*file){
const oxi_vocabulary*v= &t->vocabulary;
ox_file_meta merges;
ox_status status=oxi_vocabulary_array(file,"tokenizer.ggml.merges",OX_FILE_META_STRING,
 OX_FILE_META_STRING,-1,&merges);
if(status)return status;
status=oxi_model_make_merges(&t->model,(size_t)merges.count);
for(int64_t i=0;i<merges.count&& !status;i++){
const ox_string text=ox_file_meta_element(file,&merges,i).text;
const char*space=text.length>1?(const char*)memchr(text.data+1,' ',(size_t)text.length-1):NULL;
if(!space)continue;
const char*const part[2]={text.data,space +1};
const size_t length[2]={(size_t)(space -text.data),(size_t)text.length-(size_t)(space -text.data)-1};
const int32_t left=oxi_vocabulary_find(v,part[0],length[0]),
 right=oxi_vocabulary_find(v,part[1],length[1]),made=oxi_made_id(t,part,length);
if(left>=0&&right>=0&&made>=0)
(void)oxi_model_add_merge(&t->model,left,right,made,(uint32_t)i);}
return status;}
static ox_status oxi_pipeline_bpe(ox_tokenizer*t,const ox_file*file){
const oxi_pre_row*row=oxi_pre_row_of(t->pre[0]?t->pre:"default");
if(!row)
return oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: the pre-tokenizer \"%s\" is not supported",t->pre);
ox_status status=oxi_gguf_read_merges(t,file);
if(!status&&(row->flags&OXI_PRE_ESCAPE))
status=oxi_add_replace(t,&t->normalizers,oxi_normalizer_row("Replace")," ",oxi_escaped_space);
for(size_t i=0;i<OXI_PRE_PATTERNS&&row->patterns[i]&& !status;i++){
oxi_pipe_step*step=oxi_steps_add(&t->pre_tokenizers,oxi_pre_tokenizer_row("Split"));
status=step?oxi_step_set_pattern(t,step,row->patterns[i],strlen(row->patterns[i])):OX_ERR_NOMEM;}
if(status)return status;
t->model.ignore_merges=(row->flags&OXI_PRE_IGNORE_MERGES)!=0;
t->model.whole_newlines=(row->flags&OXI_PRE_NEWLINES)!=0;
t->model.drop_unknown=true;
t->model.unknown= -1;
if(row->flags&OXI_PRE_BOS)t->add_bos=true;
if(row->flags&OXI_PRE_NO_BOS)t->special[OX_TOKEN_ROLE_BOS]= -1;
if(row->flags&OXI_PRE_RAW){
t->model.byte_fallback=true;
for(int32_t i=0;i<t->vocabulary.count;i++){
const int byte=oxi_byte_of_text(oxi_vocabulary_text(&t->vocabulary,i),
 oxi_vocabulary_length(&t->vocabulary,i));
if(byte>=0)t->vocabulary.byte_token[byte]=i;}
return oxi_add_space_decoders(t,true,false);}
status=oxi_add_plain(&t->pre_tokenizers,oxi_pre_tokenizer_row("ByteLevel"),0);
return status?status:oxi_add_plain(&t->decoders,oxi_decoder_row("ByteLevel"),0);}
static ox_status oxi_pipeline_bert(ox_tokenizer*t,const ox_file*file){
bool lowercase=true,accents=true;
ox_status status=oxi_llm_meta_bool(file,"tokenizer.ggml.normalizer.lowercase",true,&lowercase);
if(!status)
status=oxi_llm_meta_bool(file,"tokenizer.ggml.normalizer.strip_accents",lowercase,&accents);
if(!status)status=oxi_unicode_open(&t->unicode,OXI_UNICODE_NORMAL_FORMS);
if(!status){
status=oxi_add_plain(&t->normalizers,oxi_normalizer_row("bert"),(lowercase?(uint32_t)OXI_LOWERCASE:0u)|
 (accents?(uint32_t)OXI_STRIP_ACCENTS:0u));}
if(!status)status=oxi_add_plain(&t->pre_tokenizers,oxi_pre_tokenizer_row("bert"),0);
if(!status)status=oxi_tokenizer_make_trie(t,(size_t)t->vocabulary.count,UINT32_MAX);
return status?status:oxi_add_space_decoders(t,false,true);}
static ox_status oxi_read_charsmap(oxi_pipe_step*step,const ox_file*file){
const ox_file_meta map=ox_file_meta_find(file,"tokenizer.ggml.precompiled_charsmap");
if(map.type==OX_FILE_META_NONE)return oxi_step_set(&step->text,&step->text_length,"",0);
if(map.type!=OX_FILE_META_ARRAY||
 (map.element!=OX_FILE_META_INT&&map.element!=OX_FILE_META_UINT)||map.count<0||map.count>1<<28)
return oxi_fail(OX_ERR_FORMAT,"tokenizer: precompiled_charsmap is not a list of bytes");
ox_status status=oxi_step_set(&step->text,&step->text_length,"",0);
char*bytes=(char*)oxi_alloc((size_t)map.count+1);
if(!bytes)return OX_ERR_NOMEM;
for(int64_t i=0;i<map.count;i++)bytes[i]=(char)(ox_file_meta_element(file,&map,i).i&255);
if(!status)status=oxi_step_set(&step->text,&step->text_length,bytes,(size_t)map.count);
oxi_free(bytes,(size_t)map.count+1);
return status;}
static ox_status oxi_pipeline_t5(ox_tokenizer*t,const ox_file*file){
oxi_vocabulary*v= &t->vocabulary;
bool merge=false,escape=true;
double least=INFINITY;
ox_status status=oxi_llm_meta_bool(file,"tokenizer.ggml.remove_extra_whitespaces",false,&merge);
if(!status)status=oxi_llm_meta_bool(file,"tokenizer.ggml.escape_whitespaces",true,&escape);
if(status)return status;
oxi_pipe_step*step=oxi_steps_add(&t->normalizers,oxi_normalizer_row("unigram"));
if(!step)return OX_ERR_NOMEM;
step->options=(merge?(uint32_t)OXI_REMOVE_EXTRA_SPACES:0u)|(escape?(uint32_t)OXI_ESCAPE_SPACES:0u)|
 (t->space_prefix?(uint32_t)OXI_ADD_PREFIX_SPACE:0u);
status=oxi_read_charsmap(step,file);
t->model.scores=(double*)oxi_calloc((size_t)v->count,sizeof*t->model.scores);
if(!t->model.scores)return OX_ERR_NOMEM;
for(int64_t i=0;i<v->count;i++){
t->model.scores[i]=v->type[i]==OX_TOKEN_USER_DEFINED?0:v->score[i];
if((v->type[i]==OX_TOKEN_NORMAL||v->type[i]==OX_TOKEN_UNDEFINED)&&v->score[i]<least)
least=v->score[i];}
t->model.unknown_score=least-10;
if(!status){
status=oxi_tokenizer_make_trie(t,(size_t)v->count,1u<<OX_TOKEN_UNDEFINED|1u<<OX_TOKEN_NORMAL|
 1u<<OX_TOKEN_USER_DEFINED|1u<<OX_TOKEN_UNUSED);}
return status?status:oxi_add_space_decoders(t,true,t->space_prefix);}
static void oxi_unescape_texts(oxi_vocabulary*v){
size_t used=0;
for(int64_t i=0;i<v->count;i++){
const size_t start=v->start[i],end=v->start[i+1];
v->start[i]=used;
for(size_t at=start;at<end;at++){
char c=v->texts[at];
if(c=='\\'&&at+1<end){
c=v->texts[++at];
if(c=='t')c='\t';
if(c=='n')c='\n';
if(c=='r')c='\r';
if(c=='x'&&at+2<end&&oxi_hex_digit(v->texts[at+1])>=0&&oxi_hex_digit(v->texts[at+2])>=0){
c=(char)(oxi_hex_digit(v->texts[at+1])*16+oxi_hex_digit(v->texts[at+2]));
at+=2;}}
v->texts[used++]=c;}}
v->spare=v->start[v->count]-used;
v->start[v->count]=used;}
static ox_status oxi_pipeline_rwkv(ox_tokenizer*t,const ox_file*file){
(void)file;
t->takes_bytes=true;
const ox_status status=oxi_tokenizer_make_trie(t,(size_t)t->vocabulary.count,UINT32_MAX);
return status?status:oxi_add_plain(&t->decoders,oxi_decoder_row("Fuse"),0);}
static const oxi_gguf_kind oxi_gguf_kinds[]={
{"llama","llama",true,true,false,false,true,1,2,0,-1,-1,-1,oxi_pipeline_llama},
 {"gpt2","BPE",false,false,false,false,false,11,11,-1,-1,-1,-1,oxi_pipeline_bpe},
 {"gemma4","BPE",false,true,false,false,false,-1,-1,-1,-1,-1,-1,oxi_pipeline_bpe},
 {"bert","bert",false,true,false,true,false,101,-1,100,102,0,103,oxi_pipeline_bert},
 {"t5","Unigram",true,false,true,false,false,-1,1,2,-1,0,-1,oxi_pipeline_t5},
 {"rwkv","greedy",false,false,false,false,false,-1,-1,-1,-1,-1,-1,oxi_pipeline_rwkv},};
static const oxi_gguf_kind*oxi_gguf_kind_of(const ox_file*file){
const ox_file_meta name=ox_file_meta_find(file,"tokenizer.ggml.model");
if(name.type!=OX_FILE_META_STRING)return NULL;
for(size_t i=0;i<sizeof oxi_gguf_kinds/sizeof*oxi_gguf_kinds;i++)
if(oxi_llm_text_is(name.text,oxi_gguf_kinds[i].name))return&oxi_gguf_kinds[i];
return NULL;}
static bool oxi_tokenizer_knows(const ox_file*file){
const ox_file_meta pre=ox_file_meta_find(file,"tokenizer.ggml.pre");
const oxi_gguf_kind*kind=oxi_gguf_kind_of(file);
char name[48]="default";
if(!kind)return false;
if(pre.type==OX_FILE_META_STRING)oxi_llm_copy_text(pre.text,name,sizeof name);
return kind->pipeline!=oxi_pipeline_bpe||strcmp(kind->name,"gemma4")==0||oxi_pre_row_of(name);}
typedef struct oxi_gguf_role{
ox_token_role role;
const char*key;
const char*texts;}oxi_gguf_role;
static const oxi_gguf_role oxi_gguf_roles[]={
{OX_TOKEN_ROLE_BOS,"tokenizer.ggml.bos_token_id",NULL},
 {OX_TOKEN_ROLE_EOS,"tokenizer.ggml.eos_token_id",NULL},
 {OX_TOKEN_ROLE_UNKNOWN,"tokenizer.ggml.unknown_token_id",NULL},
 {OX_TOKEN_ROLE_SEP,"tokenizer.ggml.seperator_token_id",NULL},
 {OX_TOKEN_ROLE_PAD,"tokenizer.ggml.padding_token_id",NULL},
 {OX_TOKEN_ROLE_CLS,"tokenizer.ggml.cls_token_id",NULL},
 {OX_TOKEN_ROLE_MASK,"tokenizer.ggml.mask_token_id",NULL},{OX_TOKEN_ROLE_EOT,"tokenizer.ggml.eot_token_id",
 "<|eot_id|>\n<|im_end|>\n<|end|>\n<end_of_turn>\n<|endoftext|>\n<|end_of_text|>\n<EOT>\n_<EOT>\n[EOT]\n"
 "<\xef\xbd\x9c""end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>\n<end_of_utterance>"},
 {OX_TOKEN_ROLE_EOM,"tokenizer.ggml.eom_token_id","<|eom_id|>"},
 {OX_TOKEN_ROLE_FIM_PRE,"tokenizer.ggml.fim_pre_token_id",
 "<|fim_prefix|>\n<fim-prefix>\n<fim_prefix>\n<\xef\xbd\x9c""fim\xe2\x96\x81""begin\xef\xbd\x9c>\n<PRE>\n"
 "\xe2\x96\x81<PRE>\n<|code_prefix|>\n<|prefix|>"},
 {OX_TOKEN_ROLE_FIM_SUF,"tokenizer.ggml.fim_suf_token_id",
 "<|fim_suffix|>\n<fim-suffix>\n<fim_suffix>\n<\xef\xbd\x9c""fim\xe2\x96\x81hole\xef\xbd\x9c>\n<SUF>\n"
 "\xe2\x96\x81<SUF>\n<|code_suffix|>\n<|suffix|>"},
 {OX_TOKEN_ROLE_FIM_MID,"tokenizer.ggml.fim_mid_token_id",
 "<|fim_middle|>\n<fim-middle>\n<fim_middle>\n<\xef\xbd\x9c""fim\xe2\x96\x81""end\xef\xbd\x9c>\n<MID>\n"
 "\xe2\x96\x81<MID>\n<|code_middle|>\n<|middle|>"},
 {OX_TOKEN_ROLE_FIM_PAD,"tokenizer.ggml.fim_pad_token_id",
 "<|fim_pad|>\n<fim-pad>\n<fim_pad>\n<PAD>\n[PAD]"},
 {OX_TOKEN_ROLE_FIM_REP,"tokenizer.ggml.fim_rep_token_id",
 "<|fim_repo|>\n<|repo_name|>\n<fim-repo>\n<REPO>\n<reponame>"},
 {OX_TOKEN_ROLE_FIM_SEP,"tokenizer.ggml.fim_sep_token_id","<|file_sep|>"},};
static const char oxi_end_texts[]=
 "<|eot_id|>\n<|im_end|>\n<|end|>\n<|return|>\n<|call|>\n<|flush|>\n<|calls|>\n<end_of_turn>\n<|endoftext|"
 ">\n"
 "</s>\n<|eom_id|>\n<EOT>\n_<EOT>\n[EOT]\n[EOS]\n<|end_of_text|>\n<end_of_utterance>\n<eos>\n<turn|>\n"
 "<|tool_response>\n<\xef\xbd\x9c""end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>\n[e~[";
static const char oxi_shown_texts[]="<|channel|>\n<|message|>\n<|start|>\n<|constrain|>";
static int32_t oxi_next_listed(const oxi_vocabulary*v,const char**at){
while(*at&& **at){
const char*end=strchr(*at,'\n');
const size_t length=end?(size_t)(end- *at):strlen(*at);
const int32_t id=oxi_vocabulary_find(v,*at,length);
*at=end?end+1: *at+length;
if(id>=0)return id;}
return-1;}
static void oxi_tokenizer_find_ends(ox_tokenizer*t){
static const ox_token_role roles[]={OX_TOKEN_ROLE_BOS,OX_TOKEN_ROLE_EOS,OX_TOKEN_ROLE_EOT,
 OX_TOKEN_ROLE_EOM,OX_TOKEN_ROLE_FIM_PAD,OX_TOKEN_ROLE_FIM_REP,OX_TOKEN_ROLE_FIM_SEP};
const oxi_vocabulary*v= &t->vocabulary;
const char*at=oxi_end_texts;
for(int32_t id;(id=oxi_next_listed(v,&at))>=0;)t->ends[id]=1;
for(size_t i=0;i<sizeof roles/sizeof*roles;i++)
if(t->special[roles[i]]>=0)t->ends[t->special[roles[i]]]=1;
const int32_t end=oxi_vocabulary_find(v,"<|end|>",7),call=oxi_vocabulary_find(v,"<|call|>",8),
 calls=oxi_vocabulary_find(v,"<|calls|>",9),done=oxi_vocabulary_find(v,"<|return|>",10),
 flush=oxi_vocabulary_find(v,"<|flush|>",9),s=oxi_vocabulary_find(v,"</s>",4);
if(end>=0&&(call>=0||calls>=0)&&(done>=0||flush>=0))t->ends[end]=0;
if(s>=0&&oxi_vocabulary_find(v,"<|tool_response>",16)>=0)t->ends[s]=0;}
static void oxi_gguf_retype(ox_tokenizer*t){
oxi_vocabulary*v= &t->vocabulary;
const char*at=oxi_end_texts;
for(int32_t id;(id=oxi_next_listed(v,&at))>=0;)v->type[id]=OX_TOKEN_CONTROL;
at=oxi_shown_texts;
for(int32_t id;(id=oxi_next_listed(v,&at))>=0;)v->type[id]=OX_TOKEN_USER_DEFINED;
const int32_t end=oxi_vocabulary_find(v,"<|end|>",7),s=oxi_vocabulary_find(v,"</s>",4);
const bool calls=oxi_vocabulary_find(v,"<|call|>",8)>=0||oxi_vocabulary_find(v,"<|calls|>",9)>=0;
const bool done=oxi_vocabulary_find(v,"<|return|>",10)>=0||oxi_vocabulary_find(v,"<|flush|>",9)>=0;
if(end>=0&&calls&&done)v->type[end]=OX_TOKEN_USER_DEFINED;
if(s>=0&&oxi_vocabulary_find(v,"<|tool_response>",16)>=0)v->type[s]=OX_TOKEN_NORMAL;}
static ox_status oxi_gguf_read_roles(ox_tokenizer*t,const ox_file*file){
oxi_vocabulary*v= &t->vocabulary;
for(size_t i=0;i<sizeof oxi_gguf_roles/sizeof*oxi_gguf_roles;i++){
const oxi_gguf_role*row= &oxi_gguf_roles[i];
const ox_file_meta meta=ox_file_meta_find(file,row->key);
int64_t token=t->special[row->role]<v->count?t->special[row->role]: -1;
if(meta.type!=OX_FILE_META_NONE&& !(meta.type==OX_FILE_META_UINT&&meta.i==(int64_t)UINT32_MAX)){
const ox_status status=oxi_llm_meta_int(file,row->key,-1,v->count-1,-1,&token);
if(status)return status;}else if(meta.type!=OX_FILE_META_NONE){
token= -1;}
const char*at=row->texts;
if(token<0&&at&&(token=oxi_next_listed(v,&at))>=0)v->type[token]=OX_TOKEN_CONTROL;
t->special[row->role]=(int32_t)token;}
return OX_OK;}
static ox_status oxi_gguf_add_markers(ox_tokenizer*t,const ox_file*file){
const oxi_vocabulary*v= &t->vocabulary;
const ox_file_meta name=ox_file_meta_find(file,"general.name");
char model[64]="";
if(name.type==OX_FILE_META_STRING)oxi_llm_copy_text(name.text,model,sizeof model);
for(char*c=model;*c;c++)
if(*c>='A'&& *c<='Z')*c=(char)(*c+32);
const bool phi3=strstr(model,"phi-3")||strstr(model,"phi3");
const int32_t mask=oxi_vocabulary_find(v,strstr(model,"modern-bert")?"[MASK]":"<mask>",6);
const bool mask_strips=strcmp(t->pre,"jina-v2-de")==0||strcmp(t->pre,"jina-v2-es")==0||
 strcmp(t->pre,"jina-v2-code")==0||strstr(model,"modern-bert")!=NULL;
for(int32_t i=0;i<v->count;i++){
const uint8_t type=v->type[i];
oxi_added added;
if(type!=OX_TOKEN_CONTROL&&type!=OX_TOKEN_UNKNOWN&&type!=OX_TOKEN_USER_DEFINED)continue;
if(oxi_vocabulary_find(v,oxi_vocabulary_text(v,i),oxi_vocabulary_length(v,i))!=i)continue;
memset(&added,0,sizeof added);
added.id=i;
added.special=type!=OX_TOKEN_USER_DEFINED;
added.lstrip=mask_strips&&i==mask;
added.rstrip=phi3&&i!=oxi_vocabulary_find(v,"<unk>",5)&&i!=oxi_vocabulary_find(v,"<s>",3)&&
 i!=oxi_vocabulary_find(v,"<|endoftext|>",13);
const ox_status status=oxi_added_push(t,added);
if(status)return status;}
return OX_OK;}
static ox_status oxi_gguf_add_template(ox_tokenizer*t){
const bool bert=t->model.row==oxi_model_row_of("bert");
const int32_t bos=t->add_bos||bert?t->special[OX_TOKEN_ROLE_BOS]: -1;
const int32_t eos=bert?t->special[OX_TOKEN_ROLE_SEP]:t->add_eos?t->special[OX_TOKEN_ROLE_EOS]: -1;
oxi_pipe_step*step=oxi_steps_add(&t->post_processors,oxi_post_row("TemplateProcessing"));
ox_status status=step?OX_OK:OX_ERR_NOMEM;
for(int pair=0;pair<2&& !status;pair++){
if(bos>=0)status=oxi_template_push(step,bos,0,pair!=0);
for(int text=0;text<=pair&& !status;text++){
status=oxi_template_push(step,-1-text,(uint8_t)text,pair!=0);
if(!status&&eos>=0)status=oxi_template_push(step,eos,(uint8_t)text,pair!=0);}}
return status;}
static ox_status oxi_gguf_read_flags(ox_tokenizer*t,const ox_file*file){
ox_status status=oxi_llm_meta_bool(file,"tokenizer.ggml.add_bos_token",t->add_bos,&t->add_bos);
if(!status)status=oxi_llm_meta_bool(file,"tokenizer.ggml.add_eos_token",t->add_eos,&t->add_eos);
if(!status)status=oxi_llm_meta_bool(file,"tokenizer.ggml.add_sep_token",t->add_sep,&t->add_sep);
if(strcmp(t->kind,"gemma4")==0||strcmp(t->pre,"gemma4")==0)t->add_bos=true;
return status;}
static ox_status oxi_gguf_read_kind(ox_tokenizer*t,const ox_file*file,const oxi_gguf_kind*kind){
oxi_vocabulary*v= &t->vocabulary;
const bool typed=ox_file_meta_find(file,"tokenizer.ggml.token_type").type!=OX_FILE_META_NONE;
const ox_file_meta pre=ox_file_meta_find(file,"tokenizer.ggml.pre");
snprintf(t->kind,sizeof t->kind,"%s",kind->name);
if(pre.type==OX_FILE_META_STRING)oxi_llm_copy_text(pre.text,t->pre,sizeof t->pre);
if(strcmp(kind->name,"gemma4")==0)snprintf(t->pre,sizeof t->pre,"gemma4");
t->model.row=oxi_model_row_of(kind->model);
t->add_bos=kind->add_bos;
t->add_eos=kind->add_eos;
t->add_sep=kind->add_sep;
const int32_t ids[]={kind->bos,kind->eos,kind->unknown,kind->sep,kind->pad,kind->mask};
static const ox_token_role roles[]={OX_TOKEN_ROLE_BOS,OX_TOKEN_ROLE_EOS,OX_TOKEN_ROLE_UNKNOWN,
 OX_TOKEN_ROLE_SEP,OX_TOKEN_ROLE_PAD,OX_TOKEN_ROLE_MASK};
for(size_t i=0;i<sizeof roles/sizeof*roles;i++)t->special[roles[i]]=ids[i];
ox_status status=oxi_vocabulary_read_texts(v,file);
if(!status&&kind->pipeline==oxi_pipeline_rwkv)oxi_unescape_texts(v);
if(!status)status=oxi_vocabulary_read_types(v,file);
if(!status)status=oxi_vocabulary_read_scores(v,file,kind->needs_scores);
if(!status)status=oxi_vocabulary_index(v);
if(!status)status=oxi_vocabulary_find_byte_tokens(v,typed);
if(!status){
status=oxi_llm_meta_bool(file,"tokenizer.ggml.add_space_prefix",kind->space_prefix,&t->space_prefix);}
if(!status)status=kind->pipeline(t,file);
if(!status)status=oxi_gguf_read_roles(t,file);
if(!status)status=oxi_gguf_read_flags(t,file);
if(kind->pipeline!=oxi_pipeline_bpe)t->model.unknown=t->special[OX_TOKEN_ROLE_UNKNOWN];
if(status)return status;
oxi_gguf_retype(t);
status=oxi_gguf_add_markers(t,file);
return status?status:oxi_gguf_add_template(t);}
static ox_status oxi_tokenizer_read_gguf(ox_tokenizer*t,const ox_file*file){
const oxi_gguf_kind*kind=oxi_gguf_kind_of(file);
if(!kind){
const ox_file_meta name=ox_file_meta_find(file,"tokenizer.ggml.model");
char text[32]="";
if(name.type!=OX_FILE_META_STRING)
return oxi_fail(OX_ERR_NOT_FOUND,"tokenizer: the file has no tokenizer.ggml.model");
oxi_llm_copy_text(name.text,text,sizeof text);
return oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: the tokenizer's kind \"%s\" is not supported",text);}
const ox_status status=oxi_gguf_read_kind(t,file,kind);
return status?status:oxi_tokenizer_finish(t);}
/* >>llm/tokenizer/tokenizer.c */
static ox_status oxi_added_push(ox_tokenizer*t,oxi_added added){
void*grown=oxi_grow(t->added,&t->added_room,t->added_count+1,sizeof*t->added,false);
if(!grown)return OX_ERR_NOMEM;
t->added=(oxi_added*)grown;
t->added[t->added_count++]=added;
return OX_OK;}
static ox_status oxi_normalize_markers(ox_tokenizer*t,oxi_trie_text*texts,uint32_t count,oxi_buffer*all){
oxi_flow work;
ox_status status=OX_OK;
memset(&work,0,sizeof work);
work.tokenizer=t;
for(uint32_t i=0;i<count&& !status;i++){
work.text.bytes=texts[i].text;
work.text.length=texts[i].length;
work.text.from=work.text.to=NULL;
work.text.base=0;
status=oxi_normalize(&work);
texts[i].length=work.text.length;
t->normalized_length[texts[i].value]=(uint32_t)work.text.length;
if(!status)status=oxi_put(all,work.text.bytes,work.text.length,0,0);}
size_t at=0;
for(uint32_t i=0;i<count&& !status;at+=texts[i++].length)texts[i].text=all->bytes+at;
oxi_work_free(&work);
return status;}
static ox_status oxi_tokenizer_make_markers(ox_tokenizer*t){
const oxi_vocabulary*v= &t->vocabulary;
oxi_buffer all;
oxi_trie_text*texts=(oxi_trie_text*)oxi_calloc(t->added_count+1,sizeof*texts);
ox_status status=texts?OX_OK:OX_ERR_NOMEM;
memset(&all,0,sizeof all);
t->normalized_length=(uint32_t*)oxi_calloc(t->added_count+1,sizeof*t->normalized_length);
if(!t->normalized_length)status=OX_ERR_NOMEM;
for(int normalized=0;normalized<2&& !status;normalized++){
uint32_t count=0;
for(size_t i=0;i<t->added_count;i++){
const oxi_added*added= &t->added[i];
const bool changes=added->normalized&&t->normalizers.count>0;
if(added->normalized!=(normalized==1))continue;
(void)changes;
texts[count].text=oxi_vocabulary_text(v,added->id);
texts[count].length=oxi_vocabulary_length(v,added->id);
texts[count].user= !added->special;
texts[count++].value=(int32_t)i;}
if(normalized)status=oxi_normalize_markers(t,texts,count,&all);
if(!status)status=oxi_trie_make(&t->markers[normalized],texts,count,true);}
oxi_buffer_free(&all);
oxi_free(texts,(t->added_count+1)*sizeof*texts);
return status;}
static ox_status oxi_decode_start(oxi_decode_list*list){
list->bytes[0].length=0;
list->tokens.count=0;
list->turn=1;
return OX_OK;}
static ox_status oxi_decode_add(const ox_tokenizer*t,oxi_decode_list*list,int32_t id){
oxi_buffer*out= &list->bytes[0];
const size_t start=out->length;
const ox_status status=oxi_put(out,oxi_vocabulary_text(&t->vocabulary,id),
 oxi_vocabulary_length(&t->vocabulary,id),0,0);
return status?status:oxi_split_push(&list->tokens,start,out->length,false);}
static ox_status oxi_decode_join(oxi_decode_list*list){
oxi_buffer*out=oxi_decode_begin(list);
ox_status status=OX_OK;
for(size_t i=0;i<list->tokens.count&& !status;i++){
size_t length;
const char*text=oxi_decode_text(list,i,&length);
if(i>0|| !list->first)status=oxi_put(out," ",1,0,0);
if(!status)status=oxi_put(out,text,length,0,0);}
if(!status)status=oxi_split_push(&list->next,0,out->length,false);
oxi_decode_end(list);
return status;}
static ox_status oxi_decode_run(const ox_tokenizer*t,oxi_decode_list*list){
ox_status status=t->decoders.count?OX_OK:oxi_decode_join(list);
for(size_t i=0;i<t->decoders.count&& !status;i++)
status=t->decoders.list[i].row->decode(&t->decoders.list[i],list);
return status?status:oxi_decode_fuse(NULL,list);}
static ox_status oxi_tokenizer_run_decoders(const ox_tokenizer*t,const int32_t*ids,size_t count,
 bool keep_special,oxi_decode_list*list){
ox_status status=oxi_decode_start(list);
for(size_t i=0;i<count&& !status;i++){
if(ids[i]<0||ids[i]>=t->vocabulary.count)continue;
if(!keep_special&&t->vocabulary.type[ids[i]]==OX_TOKEN_CONTROL)continue;
status=oxi_decode_add(t,list,ids[i]);}
list->first=list->last=list->lossy=true;
return status?status:oxi_decode_run(t,list);}
static ox_status oxi_piece_text(const ox_tokenizer*t,oxi_decode_list*list,int32_t id,bool first){
ox_status status=oxi_decode_start(list);
list->first=first;
list->last=list->lossy=false;
if(!status&&oxi_vocabulary_length(&t->vocabulary,id))status=oxi_decode_add(t,list,id);
return status?status:oxi_decode_run(t,list);}
static ox_status oxi_make_piece(ox_tokenizer*t,oxi_decode_list*list,oxi_buffer*all,int32_t id){
oxi_vocabulary*v= &t->vocabulary;
const bool hidden=v->type[id]==OX_TOKEN_CONTROL||(v->type[id]==OX_TOKEN_UNKNOWN&& !t->from_json);
v->piece_start[id]=all->length;
if(hidden||oxi_vocabulary_length(v,id)==0)return OX_OK;
if(v->type[id]==OX_TOKEN_USER_DEFINED&& !t->from_json){
v->piece_length[id]=(uint32_t)oxi_vocabulary_length(v,id);
return oxi_put(all,oxi_vocabulary_text(v,id),v->piece_length[id],0,0);}
ox_status status=oxi_piece_text(t,list,id,false);
const oxi_buffer*made= &list->bytes[list->turn^1];
if(!status)status=oxi_put(all,made->bytes?made->bytes:"",made->length,0,0);
if(status)return status;
const size_t length=all->length-v->piece_start[id];
v->piece_length[id]=(uint32_t)length;
status=oxi_piece_text(t,list,id,true);
made= &list->bytes[list->turn^1];
if(status||made->length>length||length-made->length>255)return status;
const size_t cut=length-made->length;
if(made->length==0||memcmp(all->bytes+v->piece_start[id]+cut,made->bytes,made->length)==0)
v->piece_cut[id]=(uint8_t)cut;
return OX_OK;}
static ox_status oxi_tokenizer_make_pieces(ox_tokenizer*t){
oxi_vocabulary*v= &t->vocabulary;
const size_t count=(size_t)v->count;
oxi_decode_list list;
oxi_buffer all;
memset(&list,0,sizeof list);
memset(&all,0,sizeof all);
v->piece_start=(size_t*)oxi_calloc(count,sizeof*v->piece_start);
v->piece_length=(uint32_t*)oxi_calloc(count,sizeof*v->piece_length);
v->piece_cut=(uint8_t*)oxi_calloc(count,sizeof*v->piece_cut);
ox_status status=v->piece_start&&v->piece_length&&v->piece_cut?OX_OK:OX_ERR_NOMEM;
for(int32_t i=0;i<v->count&& !status;i++)status=oxi_make_piece(t,&list,&all,i);
if(!status){
v->pieces=(char*)oxi_alloc(all.length);
if(!v->pieces)status=OX_ERR_NOMEM;}
if(!status){
v->piece_bytes=all.length;
if(all.length)memcpy(v->pieces,all.bytes,all.length);}
oxi_decode_list_free(&list);
oxi_buffer_free(&all);
return status;}
static void oxi_choose_byte_mode(ox_tokenizer*t){
oxi_model*m= &t->model;
const size_t last=t->pre_tokenizers.count;
const oxi_decode_row decode=t->decoders.count==1?t->decoders.list[0].row->decode:NULL;
m->whole_word=m->row->encode==oxi_bpe_encode&&last>0&& !m->byte_fallback&& !m->prefix_length&&
 !m->suffix_length&&decode==oxi_decode_byte_level&&
 t->pre_tokenizers.list[last-1].row->apply==oxi_pre_byte_level;
for(int b=0;b<256&&m->whole_word;b++){
char text[4];
const size_t length=oxi_utf8_write((int32_t)oxi_byte_char((uint8_t)b),text);
m->byte_symbol[b]=oxi_vocabulary_find_known(&t->vocabulary,text,length);}}
static ox_status oxi_tokenizer_finish(ox_tokenizer*t){
ox_status status=oxi_unicode_open(&t->unicode,0);
if(!status)status=oxi_tokenizer_make_markers(t);
if(!status)status=oxi_tokenizer_make_pieces(t);
if(status)return status;
oxi_choose_byte_mode(t);
if(t->model.whole_word)status=oxi_vocabulary_index_bytes(&t->vocabulary);
t->ends=(uint8_t*)oxi_calloc((size_t)t->vocabulary.count,1);
if(!t->ends)return OX_ERR_NOMEM;
if(!status)oxi_tokenizer_find_ends(t);
return status;}
static ox_tokenizer*oxi_tokenizer_new(void){
ox_tokenizer*t=(ox_tokenizer*)oxi_calloc(1,sizeof*t);
if(!t)return NULL;
for(int i=0;i<OX_TOKEN_ROLE_COUNT;i++)t->special[i]= -1;
for(int i=0;i<2;i++)
for(int b=0;b<256;b++)t->markers[i].root[b]= -1;
for(int b=0;b<256;b++)t->vocabulary.byte_token[b]=t->model.byte_symbol[b]= -1;
t->model.unknown= -1;
return t;}
OX_API ox_tokenizer*ox_tokenizer_open(const ox_file*file){
if(!file){
(void)oxi_fail_missing("tokenizer: the file");
return NULL;}
const bool speaks=oxi_speak_for_file(file);
ox_tokenizer*tokenizer=oxi_tokenizer_new();
if(tokenizer&&oxi_tokenizer_read_gguf(tokenizer,file)){
ox_tokenizer_close(tokenizer);
tokenizer=NULL;}
oxi_speak_end(speaks);
return tokenizer;}
OX_API ox_tokenizer*ox_tokenizer_open_json(const char*text,int64_t length,const char*config,
 int64_t config_length){
if(!text){
(void)oxi_fail_missing("tokenizer: the text of a tokenizer.json");
return NULL;}
const size_t bytes=length<0?strlen(text):(size_t)length;
const size_t more= !config?0:config_length<0?strlen(config):(size_t)config_length;
ox_tokenizer*tokenizer=oxi_tokenizer_new();
if(tokenizer&&oxi_tokenizer_read_json(tokenizer,text,bytes,config,more)){
ox_tokenizer_close(tokenizer);
tokenizer=NULL;}
return tokenizer;}
OX_API void ox_tokenizer_close(ox_tokenizer*t){
if(!t)return;
const size_t count=(size_t)t->vocabulary.count;
oxi_model*m= &t->model;
oxi_free(t->ends,t->ends?count:0);
oxi_free(t->normalized_length,(t->added_count+1)*sizeof*t->normalized_length);
oxi_trie_free(&t->markers[0]);
oxi_trie_free(&t->markers[1]);
oxi_trie_free(&m->trie);
oxi_free(m->scores,count*sizeof*m->scores);
oxi_free(m->merges,m->merge_count*sizeof*m->merges);
if(m->prefix)oxi_free(m->prefix,m->prefix_length+1);
if(m->suffix)oxi_free(m->suffix,m->suffix_length+1);
oxi_steps_free(&t->normalizers);
oxi_steps_free(&t->pre_tokenizers);
oxi_steps_free(&t->post_processors);
oxi_steps_free(&t->decoders);
oxi_free(t->added,t->added_room*sizeof*t->added);
oxi_vocabulary_free(&t->vocabulary);
oxi_unicode_close(&t->unicode);
oxi_free(t,sizeof*t);}
OX_API int64_t ox_tokenizer_count(const ox_tokenizer*tokenizer){
return tokenizer?tokenizer->vocabulary.count:0;}
static bool oxi_tokenizer_has(const ox_tokenizer*tokenizer,int32_t token){
return token>=0&&token<ox_tokenizer_count(tokenizer);}
OX_API ox_token_info ox_tokenizer_get_token(const ox_tokenizer*tokenizer,int32_t token){
ox_token_info info;
memset(&info,0,sizeof info);
if(!oxi_tokenizer_has(tokenizer,token))return info;
const oxi_vocabulary*v= &tokenizer->vocabulary;
info.text.data=oxi_vocabulary_text(v,token);
info.text.length=(int64_t)oxi_vocabulary_length(v,token);
info.type=(ox_token_type)v->type[token];
info.score=v->score?v->score[token]:0;
return info;}
OX_API int32_t ox_tokenizer_find(const ox_tokenizer*tokenizer,const char*text,int64_t length){
if(!tokenizer|| !text){
(void)oxi_fail_missing(tokenizer?"tokenizer: the text":"tokenizer: the tokenizer");
return-1;}
return oxi_vocabulary_find(&tokenizer->vocabulary,text,length<0?strlen(text):(size_t)length);}
OX_API int32_t ox_tokenizer_role(const ox_tokenizer*tokenizer,ox_token_role which){
return tokenizer&&which>0&&which<OX_TOKEN_ROLE_COUNT?tokenizer->special[which]: -1;}
OX_API bool ox_tokenizer_is_end(const ox_tokenizer*tokenizer,int32_t token){
return oxi_tokenizer_has(tokenizer,token)&&tokenizer->ends[token];}
OX_API int64_t ox_tokenizer_encode_pair(const ox_tokenizer*tokenizer,const char*text,int64_t length,
 const char*pair,int64_t pair_length,const ox_tokenizer_encode_desc*desc,int32_t*out,
 ox_token_place*places,int64_t room){
if(!tokenizer){
(void)oxi_fail_missing("tokenizer: the tokenizer");
return-1;}
const char*const texts[2]={text?text:"",pair?pair:""};
const size_t bytes[2]={!text?0:length<0?strlen(text):(size_t)length,!pair?0:pair_length<0?strlen(pair)
 :(size_t)pair_length};
if((!text&&length>0)||bytes[0]>=(size_t)1<<28||bytes[1]>=(size_t)1<<28){
(void)oxi_fail(OX_ERR_ARG,"tokenizer: a text of 2^28 bytes or more, or none at all");
return-1;}
oxi_output_list list;
list.ids=out;
list.places=places;
list.room=out||places?room:0;
list.count=0;
return oxi_encode(tokenizer,texts,bytes,pair!=NULL,desc,&list);}
OX_API int64_t ox_tokenizer_encode(const ox_tokenizer*tokenizer,const char*text,int64_t length,
 const ox_tokenizer_encode_desc*desc,int32_t*out,int64_t room){
return ox_tokenizer_encode_pair(tokenizer,text,length,NULL,0,desc,out,NULL,room);}
OX_API ox_string ox_tokenizer_piece(const ox_tokenizer*tokenizer,int32_t previous,int32_t token){
ox_string piece;
piece.data="";
piece.length=0;
if(!oxi_tokenizer_has(tokenizer,token))return piece;
const oxi_vocabulary*v= &tokenizer->vocabulary;
piece.data=v->pieces+v->piece_start[token];
piece.length=(int64_t)v->piece_length[token];
bool first= !oxi_tokenizer_has(tokenizer,previous);
if(!first&&tokenizer->from_json)first=previous==tokenizer->special[OX_TOKEN_ROLE_BOS];
if(!first&& !tokenizer->from_json)
first=v->type[previous]==OX_TOKEN_CONTROL||v->type[previous]==OX_TOKEN_USER_DEFINED;
if(first){
piece.data+=v->piece_cut[token];
piece.length-=v->piece_cut[token];}
return piece;}
static void oxi_copy_text_out(char*out,size_t room,size_t at,const char*text,size_t length){
for(size_t i=0;i<length&&at+i+1<room;i++)out[at+i]=text[i];}
static size_t oxi_decode_pieces(const ox_tokenizer*t,const int32_t*tokens,int64_t count,char*out,
 size_t room){
size_t length=0;
int32_t previous= -1;
for(int64_t i=0;i<count;i++){
const ox_string piece=ox_tokenizer_piece(t,previous,tokens[i]);
oxi_copy_text_out(out,room,length,piece.data,(size_t)piece.length);
length+=(size_t)piece.length;
previous=tokens[i];}
return length;}
OX_API size_t ox_tokenizer_decode_with(const ox_tokenizer*tokenizer,const int32_t*tokens,int64_t count,
 const ox_tokenizer_decode_desc*desc,char*out,size_t room){
size_t length=0;
if(!tokenizer)(void)oxi_fail_missing("tokenizer: the tokenizer");
if(!tokens&&count>0)(void)oxi_fail_missing("tokenizer: the list of tokens");
if(tokenizer&&tokens&&count>0&& !tokenizer->from_json&& !(desc&&desc->keep_special)){
length=oxi_decode_pieces(tokenizer,tokens,count,out,room);}else if(tokenizer&&tokens&&count>0){
oxi_decode_list list;
memset(&list,0,sizeof list);
if(oxi_tokenizer_run_decoders(tokenizer,tokens,(size_t)count,desc&&desc->keep_special,&list)==OX_OK){
const oxi_buffer*made= &list.bytes[list.turn^1];
length=made->length;
oxi_copy_text_out(out,room,0,made->bytes?made->bytes:"",length);}
oxi_decode_list_free(&list);}
if(room)out[length<room?length:room-1]=0;
return length;}
OX_API size_t ox_tokenizer_decode(const ox_tokenizer*tokenizer,const int32_t*tokens,int64_t count,
 char*out,size_t room){
return ox_tokenizer_decode_with(tokenizer,tokens,count,NULL,out,room);}
static size_t oxi_whole_characters(const char*text,size_t length){
for(size_t back=1;back<=3&&back<=length;back++){
const unsigned char lead=(unsigned char)text[length-back];
if((lead&0xC0)==0x80)continue;
const size_t full=lead<0xC2||lead>0xF4?1:lead<0xE0?2:lead<0xF0?3:4;
return full>back?length-back:length;}
return length;}
OX_API int64_t ox_token_stream_push(ox_token_stream*stream,const ox_tokenizer*tokenizer,int32_t token,
 char*out,size_t room){
if(!stream|| !tokenizer){
(void)oxi_fail_missing(stream?"tokenizer: the tokenizer":"tokenizer: the stream");
return-1;}
const ox_string piece=ox_tokenizer_piece(tokenizer,stream->count?stream->previous: -1,token);
const size_t pending=stream->pending_count&3,total=pending+(size_t)piece.length;
char tail[8];
size_t kept=0;
for(size_t i=total>4?total-4:0;i<total;i++)
tail[kept++]=i<pending?stream->pending[i]:piece.data[i-pending];
const size_t whole=total-(kept-oxi_whole_characters(tail,kept));
if(whole +1>room&&whole>0)return(int64_t)whole;
for(size_t i=0;i<whole;i++)out[i]=i<pending?stream->pending[i]:piece.data[i-pending];
if(room)out[whole]=0;
stream->pending_count=(uint8_t)(total-whole);
for(size_t i=0;i<total-whole;i++)stream->pending[i]=tail[kept-(total-whole)+i];
stream->previous=token;
stream->count++;
return(int64_t)whole;}
/* >>llm/tokenizer/facts.h */
#ifndef OX_LLM_TOKENIZER_FACTS_H
#define OX_LLM_TOKENIZER_FACTS_H
typedef struct oxi_tokenizer_fact_list{
ox_gguf_pair*pairs;
size_t count,room;
void**blocks;
size_t*block_bytes;
size_t block_count,block_room,block_bytes_room;}oxi_tokenizer_fact_list;
static ox_status oxi_tokenizer_facts(const ox_tokenizer*tokenizer,oxi_tokenizer_fact_list*out);
static void oxi_tokenizer_facts_free(oxi_tokenizer_fact_list*list);
#endif
/* >>llm/tokenizer/facts.c */
typedef struct oxi_pre_name{
const char*name,*patterns[3];}oxi_pre_name;
static const oxi_pre_name oxi_pre_names[]={
{"llama-bpe",
 {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\"
 "n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",NULL,NULL}},{"qwen2",
 {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
 "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",NULL,NULL}},{"gpt-4o",
 {"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t"
 "|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p"
 "{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]"
 "+|\\s+(?!\\S)|\\s+",NULL,NULL}},{"deepseek-v3",
 {"\\p{N}{1,3}","[\344\270\200-\351\276\245\343\201\200-\343\202\237\343\202\240-\343\203\277]+",
 "[!\\\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]"
 "+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},{"tekken",
 {"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n"
 "\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\"
 "p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",NULL,NULL}},{"bloom",
 {" ?[^(\\s|[.,!?\342\200\246\343\200\202\357\274\214\343\200\201\340\245\244\333\224\330\214])]+",NULL,
 NULL}},{"qwen35",
 {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N"
 "}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",NULL,NULL}},{"bailingmoe",
 {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*["
 "\\r\\n]|\\s+(?!\\S)|\\s+",NULL,NULL}},};
static void*oxi_fact_block(oxi_tokenizer_fact_list*list,size_t bytes){
void*blocks=oxi_grow(list->blocks,&list->block_room,list->block_count+1,sizeof*list->blocks,false);
if(blocks)list->blocks=(void**)blocks;
void*sizes=oxi_grow(list->block_bytes,&list->block_bytes_room,list->block_count+1,
 sizeof*list->block_bytes,false);
if(sizes)list->block_bytes=(size_t*)sizes;
void*block=blocks&&sizes?oxi_calloc(bytes?bytes:1,1):NULL;
if(!block)return NULL;
list->block_bytes[list->block_count]=bytes?bytes:1;
list->blocks[list->block_count++]=block;
return block;}
static OXI_UNUSED void oxi_tokenizer_facts_free(oxi_tokenizer_fact_list*list){
for(size_t i=0;i<list->block_count;i++)oxi_free(list->blocks[i],list->block_bytes[i]);
oxi_free(list->blocks,list->block_room*sizeof*list->blocks);
oxi_free(list->block_bytes,list->block_bytes_room*sizeof*list->block_bytes);
oxi_free(list->pairs,list->room*sizeof*list->pairs);
memset(list,0,sizeof*list);}
static ox_status oxi_fact_push(oxi_tokenizer_fact_list*list,const char*key,ox_gguf_type type,
 ox_gguf_type element,int64_t count,const void*value){
void*grown=oxi_grow(list->pairs,&list->room,list->count+1,sizeof*list->pairs,false);
if(!grown|| !value)return OX_ERR_NOMEM;
list->pairs=(ox_gguf_pair*)grown;
ox_gguf_pair*pair= &list->pairs[list->count++];
pair->key=key;
pair->type=type;
pair->element=element;
pair->count=count;
pair->value=value;
return OX_OK;}
static ox_status oxi_fact_text(oxi_tokenizer_fact_list*list,const char*key,const char*text){
return oxi_fact_push(list,key,OX_GGUF_STRING,OX_GGUF_U8,-1,text);}
static ox_status oxi_fact_flag(oxi_tokenizer_fact_list*list,const char*key,bool flag){
bool*value=(bool*)oxi_fact_block(list,sizeof*value);
if(value)*value=flag;
return oxi_fact_push(list,key,OX_GGUF_BOOL,OX_GGUF_U8,0,value);}
static const char*oxi_fact_pre(const ox_tokenizer*t){
const oxi_steps*steps= &t->pre_tokenizers;
const oxi_pipe_step*last= &steps->list[steps->count-1];
if(steps->count==1&&(last->options&OXI_USE_REGEX))return "gpt-2";
if(steps->count==2&&oxi_row_is(&steps->list[0],"Digits")&&(last->options&OXI_USE_REGEX)&&
 (steps->list[0].options&OXI_INDIVIDUAL_DIGITS))
return "starcoder";
for(size_t i=0;i<sizeof oxi_pre_names/sizeof*oxi_pre_names;i++){
const oxi_pre_name*row= &oxi_pre_names[i];
size_t count=0;
bool same= !(last->options&OXI_USE_REGEX);
while(count<3&&row->patterns[count])count++;
same=same&&steps->count==count+1;
for(size_t k=0;k<count&&same;k++)
same=steps->list[k].pattern&&strcmp(steps->list[k].find,row->patterns[k])==0;
if(same)return row->name;}
return NULL;}
static bool oxi_fact_looks_special(const char*text,size_t length){
return length>2&&((text[0]=='<'&&text[1]=='|'&&text[length-1]=='>')||
 (length>6&&memcmp(text,"<\xef\xbd\x9c",4)==0));}
static ox_status oxi_fact_tokens(const ox_tokenizer*t,oxi_tokenizer_fact_list*list,bool bert){
const oxi_vocabulary*v= &t->vocabulary;
const size_t count=(size_t)v->count;
ox_string*texts=(ox_string*)oxi_fact_block(list,count*sizeof*texts);
int32_t*types=(int32_t*)oxi_fact_block(list,count*sizeof*types);
char*more=(char*)oxi_fact_block(list,v->start[count]+24*count);
if(!texts|| !types|| !more)return OX_ERR_NOMEM;
for(int32_t i=0;i<v->count;i++){
const char*text=oxi_vocabulary_text(v,i);
size_t length=oxi_vocabulary_length(v,i);
const size_t prefix=t->model.prefix_length;
types[i]=v->type[i];
if(types[i]==OX_TOKEN_USER_DEFINED&&oxi_fact_looks_special(text,length))
types[i]=OX_TOKEN_CONTROL;
if(t->model.whole_word&&types[i]==OX_TOKEN_UNKNOWN)types[i]=OX_TOKEN_NORMAL;
if(length==0){
length=(size_t)snprintf(more,24,"[PAD%d]",(int)i);
types[i]=OX_TOKEN_UNUSED;
text=more;
more +=length;}else if(bert&&prefix&&length>=prefix&&memcmp(text,t->model.prefix,prefix)==0){
text+=prefix;
length-=prefix;}else if(bert&&types[i]==OX_TOKEN_NORMAL){
memcpy(more,oxi_escaped_space,3);
memcpy(more +3,text,length);
text=more;
length+=3;
more +=length;}
texts[i].data=text;
texts[i].length=(int64_t)length;}
const ox_status status=
 oxi_fact_push(list,"tokenizer.ggml.tokens",OX_GGUF_ARRAY,OX_GGUF_STRING,v->count,texts);
return status?status:oxi_fact_push(list,"tokenizer.ggml.token_type",OX_GGUF_ARRAY,OX_GGUF_I32,v->count,
 types);}
static const oxi_merge**oxi_fact_ranked(const oxi_model*m,oxi_tokenizer_fact_list*list,size_t*count){
uint32_t most=0;
size_t used=0;
for(size_t i=0;i<m->merge_count;i++)
if(m->merges[i].left>=0&&m->merges[i].rank>=most)most=m->merges[i].rank+1;
const oxi_merge**ranked=(const oxi_merge**)oxi_fact_block(list,(size_t)most*sizeof*ranked);
if(!ranked)return NULL;
for(size_t i=0;i<m->merge_count;i++)
if(m->merges[i].left>=0)ranked[m->merges[i].rank]= &m->merges[i];
for(uint32_t i=0;i<most;i++)
if(ranked[i])ranked[used++]=ranked[i];
*count=used;
return ranked;}
static ox_status oxi_fact_merges(const ox_tokenizer*t,oxi_tokenizer_fact_list*list){
const oxi_vocabulary*v= &t->vocabulary;
size_t count=0,bytes=0;
const oxi_merge**ranked=oxi_fact_ranked(&t->model,list,&count);
for(size_t i=0;ranked&&i<count;i++)
bytes+=oxi_vocabulary_length(v,ranked[i]->left)+oxi_vocabulary_length(v,ranked[i]->right)+1;
ox_string*texts=(ox_string*)oxi_fact_block(list,count*sizeof*texts);
char*all=(char*)oxi_fact_block(list,bytes);
if(!ranked|| !texts|| !all)return OX_ERR_NOMEM;
for(size_t i=0;i<count;i++){
const size_t left=oxi_vocabulary_length(v,ranked[i]->left),right=oxi_vocabulary_length(v,ranked[i]->right);
texts[i].data=all;
texts[i].length=(int64_t)(left+right+1);
memcpy(all,oxi_vocabulary_text(v,ranked[i]->left),left);
all[left]=' ';
memcpy(all+left+1,oxi_vocabulary_text(v,ranked[i]->right),right);
all+=left+right+1;}
return oxi_fact_push(list,"tokenizer.ggml.merges",OX_GGUF_ARRAY,OX_GGUF_STRING,(int64_t)count,texts);}
static ox_status oxi_fact_scores(const ox_tokenizer*t,oxi_tokenizer_fact_list*list){
const oxi_vocabulary*v= &t->vocabulary;
float*scores=(float*)oxi_fact_block(list,(size_t)v->count*sizeof*scores);
if(!scores)return OX_ERR_NOMEM;
for(int32_t i=0;i<v->count;i++)scores[i]=t->model.scores?(float)t->model.scores[i]: -1e6f;
for(size_t i=0;i<t->model.merge_count;i++){
const oxi_merge*merge= &t->model.merges[i];
if(merge->left>=0&&scores[merge->made]< -(float)merge->rank)
scores[merge->made]= -(float)merge->rank;}
return oxi_fact_push(list,"tokenizer.ggml.scores",OX_GGUF_ARRAY,OX_GGUF_F32,v->count,scores);}
static ox_status oxi_fact_roles(const ox_tokenizer*t,oxi_tokenizer_fact_list*list,bool bert){
ox_status status=OX_OK;
for(size_t i=0;i<sizeof oxi_gguf_roles/sizeof*oxi_gguf_roles&& !status;i++){
int32_t id=t->special[oxi_gguf_roles[i].role];
if(bert&&id<0&&oxi_gguf_roles[i].role==OX_TOKEN_ROLE_SEP)id=t->special[OX_TOKEN_ROLE_EOS];
if(bert&&id<0&&oxi_gguf_roles[i].role==OX_TOKEN_ROLE_CLS)id=t->special[OX_TOKEN_ROLE_BOS];
uint32_t*value=id>=0?(uint32_t*)oxi_fact_block(list,sizeof*value):NULL;
if(id<0)continue;
if(value)*value=(uint32_t)id;
status=oxi_fact_push(list,oxi_gguf_roles[i].key,OX_GGUF_U32,OX_GGUF_U8,0,value);}
if(!status)status=oxi_fact_flag(list,"tokenizer.ggml.add_bos_token",t->add_bos);
return status?status:oxi_fact_flag(list,"tokenizer.ggml.add_eos_token",t->add_eos);}
static const oxi_pipe_step*oxi_fact_find_step(const oxi_steps*steps,const char*name){
for(size_t i=0;i<steps->count;i++)
if(oxi_row_is(&steps->list[i],name))return&steps->list[i];
return NULL;}
static ox_status oxi_fact_spaces(const ox_tokenizer*t,oxi_tokenizer_fact_list*list,bool unigram){
const oxi_pipe_step*meta=oxi_fact_find_step(&t->pre_tokenizers,"Metaspace");
const bool prefix=oxi_fact_find_step(&t->normalizers,"Prepend")||(meta&&meta->prepend!=OXI_PREPEND_NEVER);
const oxi_pipe_step*map=oxi_fact_find_step(&t->normalizers,"Precompiled");
ox_status status=oxi_fact_flag(list,"tokenizer.ggml.add_space_prefix",prefix);
if(status|| !unigram)return status;
status=oxi_fact_flag(list,"tokenizer.ggml.remove_extra_whitespaces",
 oxi_fact_find_step(&t->normalizers,"Replace")!=NULL);
if(status|| !map||map->text_length==0)return status;
return oxi_fact_push(list,"tokenizer.ggml.precompiled_charsmap",OX_GGUF_ARRAY,OX_GGUF_U8,
 (int64_t)map->text_length,map->text);}
static OXI_UNUSED ox_status oxi_tokenizer_facts(const ox_tokenizer*t,oxi_tokenizer_fact_list*list){
const bool bpe=t->model.row->encode==oxi_bpe_encode,bytes=t->model.whole_word;
const bool unigram=t->model.row->encode==oxi_unigram_encode;
const bool bert=t->model.row->encode==oxi_word_piece_encode;
const char*pre=bytes?oxi_fact_pre(t):"default";
if(!t->from_json|| !(unigram||bert||(bpe&&(bytes||t->model.byte_fallback))))
return oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: GGUF files have no kind for this tokenizer (%s)",t->kind);
if(!pre)
return oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: no name of tokenizer.ggml.pre stands for its patterns");
ox_status status=oxi_fact_text(list,"tokenizer.ggml.model",bytes?"gpt2":unigram?"t5":bert?"bert":"llama");
if(!status)status=oxi_fact_text(list,"tokenizer.ggml.pre",pre);
if(!status)status=oxi_fact_tokens(t,list,bert);
if(!status&&bytes)status=oxi_fact_merges(t,list);
if(!status&& !bytes&& !bert)status=oxi_fact_scores(t,list);
if(!status&& !bytes&& !bert)status=oxi_fact_spaces(t,list,unigram);
const oxi_pipe_step*normalizer=oxi_fact_find_step(&t->normalizers,"BertNormalizer");
if(!status&&bert&&normalizer){
status=oxi_fact_flag(list,"tokenizer.ggml.normalizer.lowercase",(normalizer->options&OXI_LOWERCASE)!=0);
if(!status)
status=oxi_fact_flag(list,"tokenizer.ggml.normalizer.strip_accents",
 (normalizer->options&OXI_STRIP_ACCENTS)!=0);}
return status?status:oxi_fact_roles(t,list,bert);}
/* >>llm/source/source.h */
#ifndef OX_LLM_SOURCE_H
#define OX_LLM_SOURCE_H
#ifndef OX_NO_STDIO
typedef struct oxi_llm_source oxi_llm_source;
static oxi_llm_source*oxi_llm_source_open(const char*path,ox_device*device);
static oxi_llm_source*oxi_llm_source_of_file(ox_file*file);
static void oxi_llm_source_close(oxi_llm_source*source);
static ox_file*oxi_llm_source_file(const oxi_llm_source*s);
static ox_file_meta oxi_llm_source_find(const oxi_llm_source*s,const char*key);
static ox_file_meta oxi_llm_source_element(const oxi_llm_source*s,const ox_file_meta*array,int64_t i);
static int64_t oxi_llm_source_meta_count(const oxi_llm_source*s);
static ox_file_meta oxi_llm_source_meta_at(const oxi_llm_source*s,int64_t i);
static bool oxi_llm_source_has(const oxi_llm_source*s,const char*tensor);
static ox_tensor*oxi_llm_source_tensor(oxi_llm_source*s,const char*tensor);
static int64_t oxi_llm_source_count(const oxi_llm_source*s);
static const char*oxi_llm_source_name(const oxi_llm_source*s,int64_t i);
static ox_status oxi_llm_source_entry(const oxi_llm_source*s,int64_t i,ox_file_entry*out);
typedef enum oxi_llm_source_text_kind{
OXI_LLM_SOURCE_CONFIG=0,OXI_LLM_SOURCE_TOKENIZER,OXI_LLM_SOURCE_TOKENIZER_CONFIG,OXI_LLM_SOURCE_TEXT_COUNT
 }oxi_llm_source_text_kind;
static ox_string oxi_llm_source_text(const oxi_llm_source*s,oxi_llm_source_text_kind which);
#endif
#endif
/* >>llm/source/internal.h */
#ifndef OXI_LLM_SOURCE_INTERNAL_H
#define OXI_LLM_SOURCE_INTERNAL_H
/* >>llm/source/models.def */
#define OXI_LLM_MODEL_TYPE_LIST(X) \
X("llama","llama","base pre",PAIRS,0) \
X("mistral","llama","base pre",PAIRS,0) \
X("mixtral","llama","base pre sparse",PAIRS,0) \
X("llama4_text","llama4","base pre llama4",NONE,0) \
X("llama4","llama4","base pre llama4",NONE,0) \
X("arcee","arcee","base pre",PAIRS,0) \
X("seed_oss","seed_oss","base post_named",NONE,0) \
X("qwen2","qwen2","base pre",NONE,0) \
X("qwen2_moe","qwen2moe","base pre experts",NONE,0) \
X("qwen3","qwen3","base pre",NONE,0) \
X("qwen3_moe","qwen3moe","base pre experts",NONE,0) \
X("gemma","gemma","base pre",ONE,0) \
X("gemma2","gemma2","base post",ONE,2) \
X("gemma3_text","gemma3","base post",ONE,6) \
X("gemma3","gemma3","base post",ONE,6) \
X("phi","phi2","base pre",NONE,0) \
X("phi3","phi3","base pre",NONE,0) \
X("phimoe","phimoe","base pre sparse",NONE,0) \
X("stablelm","stablelm","base pre",NONE,0) \
X("starcoder2","starcoder2","base pre",NONE,0) \
X("smollm3","smollm3","base pre",PAIRS,0) \
X("olmo","olmo","base pre",PAIRS,0) \
X("olmo2","olmo2","base post",NONE,0) \
X("olmo3","olmo2","base post",NONE,4) \
X("olmoe","olmoe","base pre experts",NONE,0) \
X("granite","granite","base pre",PAIRS,0) \
X("granitemoe","granitemoe","base pre sparse",PAIRS,0) \
X("granitemoeshared","granitemoe","base pre sparse",PAIRS,0) \
X("cohere","command-r","base pre",NONE,0) \
X("cohere2","cohere2","base pre",NONE,4) \
X("glm4","glm4","base pre",NONE,0) \
X("glm4_moe","glm4moe","base post_named experts",NONE,0) \
X("exaone","exaone","exaone",NONE,0) \
X("exaone4","exaone4","base post",NONE,4) \
X("nemotron","nemotron","base pre",ONE,0) \
X("minicpm","minicpm","base pre",PAIRS,0) \
X("minicpm3","minicpm3","base pre latent latent_whole",NONE,0) \
X("deepseek_v2","deepseek2","base pre experts latent latent_split",NONE,0) \
X("deepseek_v3","deepseek2","base pre experts latent latent_split",NONE,0) \
X("gpt_oss","gpt-oss","base post_named oss",NONE,2) \
X("bitnet","bitnet","bitnet pre",NONE,0) \
X("gpt2","gpt2","gpt2 gpt2_turned",NONE,0) \
X("gpt_bigcode","starcoder","gpt2 gpt2_plain",NONE,0) \
X("gptj","gptj","gptj",NONE,0) \
X("gpt_neox","gptneox","neox",NONE,0) \
X("bloom","bloom","bloom",NONE,0) \
X("falcon","falcon","falcon",NONE,0) \
X("mpt","mpt","mpt",NONE,0) \
X("opt","opt","opt",NONE,0) \
X("bert","bert","bert",NONE,0) \
X("roberta","bert","bert",OFFSET,0) \
X("xlm-roberta","bert","bert",OFFSET,0) \
X("camembert","bert","bert",OFFSET,0) \
X("distilbert","bert","distil",NONE,0) \
X("modernbert","modern-bert","modern",NONE,-3) \
X("nomic_bert","nomic-bert","nomic",NONE,0) \
X("t5","t5","t5",NONE,0) \
X("mt5","t5","t5",NONE,0) \
X("umt5","t5","t5",NONE,0)
/* >>llm/source/names.def */
#define OXI_LLM_PREFIX_LIST(X) \
X("")X("model.")X("transformer.")X("gpt_neox.")X("bert.")X("roberta.")X("distilbert.") \
X("model.language_model.")X("language_model.model.")X("language_model.")X("model.decoder.") \
X("decoder.")
#define OXI_LLM_STEM_LIST(X) \
X("base bitnet neox opt modern","layers.","blk.") \
X("gpt2 gptj bloom falcon exaone","h.","blk.") \
X("mpt","blocks.","blk.") \
X("bert","encoder.layer.","blk.") \
X("distil","transformer.layer.","blk.") \
X("distil","layer.","blk.") \
X("nomic","encoder.layers.","blk.") \
X("t5","encoder.block.","enc.blk.") \
X("t5","decoder.block.","dec.blk.")
#define OXI_LLM_MODEL_NAME_LIST(X) \
X("base bitnet opt","embed_tokens.weight","token_embd.weight",NONE) \
X("base bitnet","norm.*","output_norm.*",NORM) \
X("base","final_layernorm.*","output_norm.*",NORM) \
X("base bitnet opt gpt2 gptj falcon mpt bloom t5 exaone","lm_head.*","output.*",HEAD) \
X("base neox","rotary_emb.inv_freq","",SKIP) \
X("gpt2 gptj mpt exaone","wte.weight","token_embd.weight",NONE) \
X("gpt2","wpe.weight","position_embd.weight",NONE) \
X("gpt2 gptj bloom falcon exaone","ln_f.*","output_norm.*",NONE) \
X("neox","embed_in.weight","token_embd.weight",NONE) \
X("neox","embed_out.weight","output.weight",HEAD) \
X("neox","final_layer_norm.*","output_norm.*",NONE) \
X("bloom falcon","word_embeddings.weight","token_embd.weight",NONE) \
X("bloom","word_embeddings_layernorm.*","token_embd_norm.*",NONE) \
X("mpt","norm_f.*","output_norm.*",NONE) \
X("opt","embed_positions.weight","position_embd.weight",WITHOUT_TWO) \
X("opt","final_layer_norm.*","output_norm.*",NONE) \
X("bert distil nomic","embeddings.word_embeddings.weight","token_embd.weight",NONE) \
X("bert distil","embeddings.position_embeddings.weight","position_embd.weight",POSITIONS) \
X("bert nomic","embeddings.token_type_embeddings.weight","token_types.weight",NONE) \
X("bert distil","embeddings.LayerNorm.*","token_embd_norm.*",NONE) \
X("bert","embeddings.position_ids","",SKIP) \
X("bert","pooler.dense.*","cls.*",NONE) \
X("bert","cls.~","",SKIP) \
X("bert distil modern","lm_head.~","",SKIP) \
X("distil","vocab_~","",SKIP) \
X("modern","embeddings.tok_embeddings.weight","token_embd.weight",NONE) \
X("modern","embeddings.norm.*","token_embd_norm.*",NONE) \
X("modern","final_norm.*","output_norm.*",NONE) \
X("modern","head.~","",SKIP) \
X("modern","decoder.~","",SKIP) \
X("nomic","emb_ln.*","token_embd_norm.*",NONE) \
X("t5","shared.weight","token_embd.weight",NONE) \
X("t5","encoder.embed_tokens.weight","",SKIP) \
X("t5","decoder.embed_tokens.weight","",SKIP) \
X("t5","encoder.final_layer_norm.*","enc.output_norm.*",NONE) \
X("t5","decoder.final_layer_norm.*","dec.output_norm.*",NONE) \
X("base","vision_tower.~","",SKIP) \
X("base","vision_model.~","",SKIP) \
X("base","multi_modal_projector.~","",SKIP)
#define OXI_LLM_LAYER_NAME_LIST(X) \
X("base bitnet","input_layernorm.*","attn_norm.*",NORM) \
X("pre","post_attention_layernorm.*","ffn_norm.*",NORM) \
X("post post_named","post_attention_layernorm.*","post_attention_norm.*",NORM) \
X("post","pre_feedforward_layernorm.*","ffn_norm.*",NORM) \
X("post","post_feedforward_layernorm.*","post_ffw_norm.*",NORM) \
X("pre","post_self_attn_layernorm.*","post_attention_norm.*",NORM) \
X("pre","post_mlp_layernorm.*","post_ffw_norm.*",NORM) \
X("base","self_attn.q_proj.*","attn_q.*",QUERY) \
X("base","self_attn.k_proj.*","attn_k.*",KEY) \
X("base","self_attn.v_proj.*","attn_v.*",NONE) \
X("base","self_attn.o_proj.*","attn_output.*",NONE) \
X("base","self_attn.dense.*","attn_output.*",NONE) \
X("base","self_attn.qkv_proj.*","attn_qkv.*",NONE) \
X("base","self_attn.q_norm.*","attn_q_norm.*",NORM) \
X("base","self_attn.k_norm.*","attn_k_norm.*",NORM) \
X("base","self_attn.q_layernorm.norms.#.weight","attn_q_norm.weight",STACK) \
X("base","self_attn.k_layernorm.norms.#.weight","attn_k_norm.weight",STACK) \
X("base bitnet","self_attn.rotary_emb.inv_freq","",SKIP) \
X("base","mlp.gate_proj.*","ffn_gate.*",NONE) \
X("base","mlp.up_proj.*","ffn_up.*",NONE) \
X("base","mlp.down_proj.*","ffn_down.*",NONE) \
X("base","mlp.gate_up_proj.*","ffn_up.*",NONE) \
X("base","mlp.fc1.*","ffn_up.*",NONE) \
X("base","mlp.fc2.*","ffn_down.*",NONE) \
X("base","mlp.c_fc.*","ffn_up.*",NONE) \
X("base","mlp.c_proj.*","ffn_down.*",NONE) \
X("experts","mlp.gate.weight","ffn_gate_inp.weight",NONE) \
X("experts","mlp.gate.e_score_correction_bias","exp_probs_b.bias",NONE) \
X("experts","mlp.experts.#.gate_proj.weight","ffn_gate_exps.weight",STACK) \
X("experts","mlp.experts.#.up_proj.weight","ffn_up_exps.weight",STACK) \
X("experts","mlp.experts.#.down_proj.weight","ffn_down_exps.weight",STACK) \
X("experts sparse","mlp.experts.gate_up_proj","ffn_gate_exps.weight",ROWS_FIRST) \
X("experts sparse","mlp.experts.gate_up_proj","ffn_up_exps.weight",ROWS_SECOND) \
X("experts sparse","mlp.experts.down_proj","ffn_down_exps.weight",NONE) \
X("experts","mlp.shared_expert_gate.weight","ffn_gate_inp_shexp.weight",FLAT) \
X("experts","mlp.shared_expert.gate_proj.weight","ffn_gate_shexp.weight",NONE) \
X("experts","mlp.shared_expert.up_proj.weight","ffn_up_shexp.weight",NONE) \
X("experts","mlp.shared_expert.down_proj.weight","ffn_down_shexp.weight",NONE) \
X("experts","mlp.shared_experts.gate_proj.weight","ffn_gate_shexp.weight",NONE) \
X("experts","mlp.shared_experts.up_proj.weight","ffn_up_shexp.weight",NONE) \
X("experts","mlp.shared_experts.down_proj.weight","ffn_down_shexp.weight",NONE) \
X("sparse","block_sparse_moe.gate.weight","ffn_gate_inp.weight",NONE) \
X("sparse","mlp.gate.weight","ffn_gate_inp.weight",NONE) \
X("sparse","mlp.router.weight","ffn_gate_inp.weight",NONE) \
X("sparse","block_sparse_moe.experts.#.w1.weight","ffn_gate_exps.weight",STACK) \
X("sparse","block_sparse_moe.experts.#.w3.weight","ffn_up_exps.weight",STACK) \
X("sparse","block_sparse_moe.experts.#.w2.weight","ffn_down_exps.weight",STACK) \
X("sparse","block_sparse_moe.router.layer.weight","ffn_gate_inp.weight",NONE) \
X("sparse","block_sparse_moe.input_linear.weight","ffn_gate_exps.weight",ROWS_FIRST) \
X("sparse","block_sparse_moe.input_linear.weight","ffn_up_exps.weight",ROWS_SECOND) \
X("sparse","block_sparse_moe.output_linear.weight","ffn_down_exps.weight",NONE) \
X("sparse","shared_mlp.input_linear.weight","ffn_gate_shexp.weight",ROWS_FIRST) \
X("sparse","shared_mlp.input_linear.weight","ffn_up_shexp.weight",ROWS_SECOND) \
X("sparse","shared_mlp.output_linear.weight","ffn_down_shexp.weight",NONE) \
X("latent","self_attn.q_a_proj.*","attn_q_a.*",NONE) \
X("latent","self_attn.q_a_layernorm.weight","attn_q_a_norm.weight",NONE) \
X("latent","self_attn.q_b_proj.weight","attn_q_b.weight",NONE) \
X("latent","self_attn.kv_a_proj_with_mqa.*","attn_kv_a_mqa.*",NONE) \
X("latent","self_attn.kv_a_layernorm.weight","attn_kv_a_norm.weight",NONE) \
X("latent_whole","self_attn.kv_b_proj.weight","attn_kv_b.weight",NONE) \
X("latent_split","self_attn.kv_b_proj.weight","attn_k_b.weight",LATENT_KEYS) \
X("latent_split","self_attn.kv_b_proj.weight","attn_v_b.weight",LATENT_VALUES) \
X("llama4","feed_forward.gate_proj.weight","ffn_gate.weight",NONE) \
X("llama4","feed_forward.up_proj.weight","ffn_up.weight",NONE) \
X("llama4","feed_forward.down_proj.weight","ffn_down.weight",NONE) \
X("llama4","feed_forward.router.weight","ffn_gate_inp.weight",NONE) \
X("llama4","feed_forward.experts.gate_up_proj","ffn_gate_exps.weight",TURNED_FIRST) \
X("llama4","feed_forward.experts.gate_up_proj","ffn_up_exps.weight",TURNED_SECOND) \
X("llama4","feed_forward.experts.down_proj","ffn_down_exps.weight",TURNED) \
X("llama4","feed_forward.shared_expert.gate_proj.weight","ffn_gate_shexp.weight",NONE) \
X("llama4","feed_forward.shared_expert.up_proj.weight","ffn_up_shexp.weight",NONE) \
X("llama4","feed_forward.shared_expert.down_proj.weight","ffn_down_shexp.weight",NONE) \
X("oss","self_attn.sinks","attn_sinks.weight",NONE) \
X("oss","mlp.router.*","ffn_gate_inp.*",NONE) \
X("oss","mlp.experts.gate_up_proj","ffn_gate_exps.weight",TURNED_EVEN) \
X("oss","mlp.experts.gate_up_proj","ffn_up_exps.weight",TURNED_ODD) \
X("oss","mlp.experts.down_proj","ffn_down_exps.weight",TURNED) \
X("oss","mlp.experts.gate_up_proj_bias","ffn_gate_exps.bias",EVEN) \
X("oss","mlp.experts.gate_up_proj_bias","ffn_up_exps.bias",ODD) \
X("oss","mlp.experts.down_proj_bias","ffn_down_exps.bias",NONE) \
X("oss","mlp.experts.gate_up_proj_blocks","ffn_gate_exps.weight",MXFP4_EVEN) \
X("oss","mlp.experts.gate_up_proj_blocks","ffn_up_exps.weight",MXFP4_ODD) \
X("oss","mlp.experts.down_proj_blocks","ffn_down_exps.weight",MXFP4) \
X("oss","mlp.experts.gate_up_proj_scales","",SKIP) \
X("oss","mlp.experts.down_proj_scales","",SKIP) \
X("bitnet","self_attn.q_proj.weight","attn_q.weight",TERNARY) \
X("bitnet","self_attn.k_proj.weight","attn_k.weight",TERNARY) \
X("bitnet","self_attn.v_proj.weight","attn_v.weight",TERNARY) \
X("bitnet","self_attn.o_proj.weight","attn_output.weight",TERNARY) \
X("bitnet","mlp.gate_proj.weight","ffn_gate.weight",TERNARY) \
X("bitnet","mlp.up_proj.weight","ffn_up.weight",TERNARY) \
X("bitnet","mlp.down_proj.weight","ffn_down.weight",TERNARY) \
X("bitnet","self_attn.inner_attn_ln.weight","attn_sub_norm.weight",NONE) \
X("bitnet","self_attn.attn_sub_norm.weight","attn_sub_norm.weight",NONE) \
X("bitnet","mlp.ffn_layernorm.weight","ffn_sub_norm.weight",NONE) \
X("bitnet","mlp.ffn_sub_norm.weight","ffn_sub_norm.weight",NONE) \
X("exaone gpt2 gptj","ln_1.*","attn_norm.*",NONE) \
X("exaone gpt2","ln_2.*","ffn_norm.*",NONE) \
X("exaone","attn.attention.q_proj.*","attn_q.*",NONE) \
X("exaone","attn.attention.k_proj.*","attn_k.*",NONE) \
X("exaone","attn.attention.v_proj.*","attn_v.*",NONE) \
X("exaone","attn.attention.out_proj.*","attn_output.*",NONE) \
X("exaone","attn.attention.rotary.inv_freq","",SKIP) \
X("exaone","mlp.c_fc_0.*","ffn_gate.*",NONE) \
X("exaone","mlp.c_fc_1.*","ffn_up.*",NONE) \
X("exaone","mlp.c_proj.*","ffn_down.*",NONE) \
X("gpt2 gptj","attn.bias","",SKIP) \
X("gpt2 gptj","attn.masked_bias","",SKIP) \
X("gpt2_turned","attn.c_attn.*","attn_qkv.*",TURNED) \
X("gpt2_turned","attn.c_proj.*","attn_output.*",TURNED) \
X("gpt2_turned","mlp.c_fc.*","ffn_up.*",TURNED) \
X("gpt2_turned","mlp.c_proj.*","ffn_down.*",TURNED) \
X("gpt2_plain","attn.c_attn.*","attn_qkv.*",NONE) \
X("gpt2_plain","attn.c_proj.*","attn_output.*",NONE) \
X("gpt2_plain","mlp.c_fc.*","ffn_up.*",NONE) \
X("gpt2_plain","mlp.c_proj.*","ffn_down.*",NONE) \
X("gptj","attn.q_proj.weight","attn_q.weight",NONE) \
X("gptj","attn.k_proj.weight","attn_k.weight",NONE) \
X("gptj","attn.v_proj.weight","attn_v.weight",NONE) \
X("gptj","attn.out_proj.weight","attn_output.weight",NONE) \
X("gptj","mlp.fc_in.*","ffn_up.*",NONE) \
X("gptj","mlp.fc_out.*","ffn_down.*",NONE) \
X("neox bloom falcon","input_layernorm.*","attn_norm.*",NONE) \
X("neox bloom falcon","post_attention_layernorm.*","ffn_norm.*",NONE) \
X("neox","attention.query_key_value.*","attn_qkv.*",FUSED) \
X("neox","attention.dense.*","attn_output.*",NONE) \
X("neox","attention.bias","",SKIP) \
X("neox","attention.masked_bias","",SKIP) \
X("neox","attention.rotary_emb.inv_freq","",SKIP) \
X("bloom falcon","self_attention.query_key_value.*","attn_qkv.*",FUSED) \
X("bloom falcon","self_attention.dense.*","attn_output.*",NONE) \
X("falcon","self_attention.rotary_emb.inv_freq","",SKIP) \
X("falcon","ln_mlp.*","attn_norm.*",NONE) \
X("falcon","ln_attn.*","attn_norm_2.*",NONE) \
X("neox bloom falcon","mlp.dense_h_to_4h.*","ffn_up.*",NONE) \
X("neox bloom falcon","mlp.dense_4h_to_h.*","ffn_down.*",NONE) \
X("mpt","norm_1.*","attn_norm.*",NONE) \
X("mpt","norm_2.*","ffn_norm.*",NONE) \
X("mpt modern nomic","attn.Wqkv.*","attn_qkv.*",NONE) \
X("mpt nomic","attn.out_proj.*","attn_output.*",NONE) \
X("mpt","attn.q_ln.*","attn_q_norm.*",NONE) \
X("mpt","attn.k_ln.*","attn_k_norm.*",NONE) \
X("mpt","ffn.up_proj.*","ffn_up.*",NONE) \
X("mpt","ffn.down_proj.*","ffn_down.*",NONE) \
X("opt","self_attn_layer_norm.*","attn_norm.*",NONE) \
X("opt","final_layer_norm.*","ffn_norm.*",NONE) \
X("opt","self_attn.q_proj.*","attn_q.*",NONE) \
X("opt","self_attn.k_proj.*","attn_k.*",NONE) \
X("opt","self_attn.v_proj.*","attn_v.*",NONE) \
X("opt","self_attn.out_proj.*","attn_output.*",NONE) \
X("opt","fc1.*","ffn_up.*",NONE) \
X("opt","fc2.*","ffn_down.*",NONE) \
X("bert","attention.self.query.*","attn_q.*",NONE) \
X("bert","attention.self.key.*","attn_k.*",NONE) \
X("bert","attention.self.value.*","attn_v.*",NONE) \
X("bert","attention.output.dense.*","attn_output.*",NONE) \
X("bert","attention.output.LayerNorm.*","attn_output_norm.*",NONE) \
X("bert","intermediate.dense.*","ffn_up.*",NONE) \
X("bert","output.dense.*","ffn_down.*",NONE) \
X("bert","output.LayerNorm.*","layer_output_norm.*",NONE) \
X("distil","attention.q_lin.*","attn_q.*",NONE) \
X("distil","attention.k_lin.*","attn_k.*",NONE) \
X("distil","attention.v_lin.*","attn_v.*",NONE) \
X("distil","attention.out_lin.*","attn_output.*",NONE) \
X("distil","sa_layer_norm.*","attn_output_norm.*",NONE) \
X("distil","ffn.lin1.*","ffn_up.*",NONE) \
X("distil","ffn.lin2.*","ffn_down.*",NONE) \
X("distil","output_layer_norm.*","layer_output_norm.*",NONE) \
X("modern","attn_norm.*","attn_norm.*",NONE) \
X("modern","mlp_norm.*","ffn_norm.*",NONE) \
X("modern","attn.Wo.*","attn_output.*",NONE) \
X("modern","mlp.Wi.*","ffn_up.*",NONE) \
X("modern","mlp.Wo.*","ffn_down.*",NONE) \
X("nomic","norm1.*","attn_output_norm.*",NONE) \
X("nomic","norm2.*","layer_output_norm.*",NONE) \
X("nomic","mlp.fc11.*","ffn_up.*",NONE) \
X("nomic","mlp.fc12.*","ffn_gate.*",NONE) \
X("nomic","mlp.fc2.*","ffn_down.*",NONE) \
X("t5","layer.0.SelfAttention.q.weight","attn_q.weight",NONE) \
X("t5","layer.0.SelfAttention.k.weight","attn_k.weight",NONE) \
X("t5","layer.0.SelfAttention.v.weight","attn_v.weight",NONE) \
X("t5","layer.0.SelfAttention.o.weight","attn_o.weight",NONE) \
X("t5","layer.0.SelfAttention.relative_attention_bias.weight","attn_rel_b.weight",NONE) \
X("t5","layer.0.layer_norm.weight","attn_norm.weight",NONE) \
X("t5","layer.1.EncDecAttention.q.weight","cross_attn_q.weight",NONE) \
X("t5","layer.1.EncDecAttention.k.weight","cross_attn_k.weight",NONE) \
X("t5","layer.1.EncDecAttention.v.weight","cross_attn_v.weight",NONE) \
X("t5","layer.1.EncDecAttention.o.weight","cross_attn_o.weight",NONE) \
X("t5","layer.1.EncDecAttention.relative_attention_bias.weight","",SKIP) \
X("t5","layer.1.layer_norm.weight","cross_attn_norm.weight",DECODER) \
X("t5","layer.1.layer_norm.weight","ffn_norm.weight",ENCODER) \
X("t5","layer.2.layer_norm.weight","ffn_norm.weight",NONE) \
X("t5","layer.1.DenseReluDense.wi.weight","ffn_up.weight",NONE) \
X("t5","layer.1.DenseReluDense.wi_0.weight","ffn_gate.weight",NONE) \
X("t5","layer.1.DenseReluDense.wi_1.weight","ffn_up.weight",NONE) \
X("t5","layer.1.DenseReluDense.wo.weight","ffn_down.weight",NONE) \
X("t5","layer.2.DenseReluDense.wi.weight","ffn_up.weight",NONE) \
X("t5","layer.2.DenseReluDense.wi_0.weight","ffn_gate.weight",NONE) \
X("t5","layer.2.DenseReluDense.wi_1.weight","ffn_up.weight",NONE) \
X("t5","layer.2.DenseReluDense.wo.weight","ffn_down.weight",NONE)
/* >>llm/source/keys.def */
#define OXI_LLM_SOURCE_SIZE_LIST(X) \
X("*","width","hidden_size|n_embd|n_embed|dim|d_model") \
X("*","layers","num_hidden_layers|n_layer|n_layers|num_layers") \
X("*","heads","num_attention_heads|n_head|n_heads|num_heads") \
X("starcoder","kv_heads","1") \
X("mpt","kv_heads","attn_config.kv_n_heads|$heads") \
X("deepseek2","kv_heads","1") \
X("*","kv_heads","num_key_value_heads|num_kv_heads|n_kv_heads|n_head_kv|$heads") \
X("deepseek2 minicpm3","head","qk_nope_head_dim+qk_rope_head_dim") \
X("t5","head","d_kv") \
X("*","head","head_dim|$width/$heads") \
X("phi2 glm4 glm4moe nemotron","rotary","rope.partial_rotary_factor|0.5") \
X("stablelm gptneox","rotary","rope.partial_rotary_factor|rotary_pct|0.25") \
X("nomic-bert","rotary","rotary_emb_fraction|1") \
X("*","rotary","rope.partial_rotary_factor|rotary_pct|1") \
X("*","window","sliding_window")
#define OXI_LLM_NO_ROPE "gpt2 starcoder bloom mpt opt bert t5"
#define OXI_LLM_SOURCE_KEY_LIST(X) \
X("*","vocab_size",INT,"vocab_size") \
X("roberta xlm-roberta camembert","context_length",INT,"max_position_embeddings-pad_token_id-1") \
X("command-r","context_length",INT,"model_max_length|max_position_embeddings") \
X("nomic-bert","context_length",INT,"max_trained_positions|n_positions|2048") \
X("t5","context_length",INT,"n_positions|512") \
X("*","context_length",INT,"max_position_embeddings|n_positions|n_ctx|max_seq_len|seq_length|2048") \
X("*","embedding_length",INT,"$width") \
X("*","block_count",INT,"$layers") \
X("t5","decoder_block_count",INT,"num_decoder_layers|$layers") \
X("t5","feed_forward_length",INT,"d_ff") \
X("gpt2 gptj starcoder","feed_forward_length",INT,"n_inner|$width*4") \
X("bloom","feed_forward_length",INT,"$width*4") \
X("falcon","feed_forward_length",INT,"ffn_hidden_size|$width*4") \
X("mpt","feed_forward_length",INT,"$width*expansion_ratio|$width*4") \
X("llama4","feed_forward_length",INT,"intermediate_size_mlp") \
X("*","feed_forward_length",INT,"intermediate_size|n_inner|hidden_dim|ffn_dim") \
X("gptneox stablelm","use_parallel_residual",BOOL,"use_parallel_residual") \
X("*","hidden_activation",TEXT,"hidden_activation|hidden_act|activation_function|activation") \
X("t5","hidden_activation",TEXT,"dense_act_fn|feed_forward_proj") \
X("*","attention.head_count",INT,"$heads") \
X("*","attention.head_count_kv",INT,"$kv_heads") \
X("deepseek2","attention.key_length",INT,"kv_lora_rank+qk_rope_head_dim") \
X("deepseek2","attention.value_length",INT,"kv_lora_rank") \
X("deepseek2","attention.key_length_mla",INT,"$head") \
X("deepseek2","attention.value_length_mla",INT,"v_head_dim") \
X("minicpm3","attention.value_length",INT,"v_head_dim|$width/$heads") \
X(OXI_LLM_NO_ROPE,"attention.key_length",INT,"head_dim|d_kv") \
X(OXI_LLM_NO_ROPE,"attention.value_length",INT,"head_dim|d_kv") \
X("*","attention.key_length",INT,"$head") \
X("*","attention.value_length",INT,"$head") \
X("deepseek2 minicpm3","attention.q_lora_rank",INT,"q_lora_rank") \
X("deepseek2 minicpm3","attention.kv_lora_rank",INT,"kv_lora_rank") \
X("modern-bert","attention.layer_norm_epsilon",FLOAT,"norm_eps|layer_norm_eps|0.00001") \
X("olmo","attention.layer_norm_epsilon",FLOAT,"0.00001") \
X("distilbert","attention.layer_norm_epsilon",FLOAT,"0.000000000001") \
X("nemotron","attention.layer_norm_epsilon",FLOAT,"norm_eps|layer_norm_eps|0.00001") \
X("nomic-bert","attention.layer_norm_epsilon",FLOAT,"layer_norm_epsilon|layer_norm_eps") \
X("mpt gpt2 starcoder gptj bloom falcon opt","attention.layer_norm_epsilon",FLOAT, \
 "layer_norm_epsilon|layer_norm_eps|0.00001") \
X("exaone","attention.layer_norm_rms_epsilon",FLOAT,"layer_norm_epsilon|rms_norm_eps|0.00001") \
X("t5","attention.layer_norm_rms_epsilon",FLOAT,"layer_norm_epsilon|0.000001") \
X("deepseek2","attention.layer_norm_rms_epsilon",FLOAT,"rms_norm_eps|0.000001") \
X("*","attention.layer_norm_rms_epsilon",FLOAT,"rms_norm_eps") \
X("*","attention.layer_norm_epsilon",FLOAT,"layer_norm_eps|layer_norm_epsilon|norm_epsilon") \
X("bert modern-bert nomic-bert","attention.causal",BOOL,"0") \
X("mpt","attention.clamp_kqv",FLOAT,"attn_config.clip_qkv") \
X("olmo olmoe","attention.clamp_kqv",FLOAT,"clip_qkv") \
X("mpt","attention.max_alibi_bias",FLOAT,"attn_config.alibi*attn_config.alibi_bias_max|8") \
X("falcon","attention.max_alibi_bias",FLOAT,"alibi*8") \
X("bloom","attention.max_alibi_bias",FLOAT,"8") \
X("granite granitemoe","attention.scale",FLOAT,"attention_multiplier") \
X("gemma2 gemma3","attention.scale",FLOAT,"1/~query_pre_attn_scalar") \
X("t5","attention.relative_buckets_count",INT,"relative_attention_num_buckets|32") \
X("t5","decoder_start_token_id",INT,"decoder_start_token_id|generation.decoder_start_token_id|0") \
X("*","attn_logit_softcapping",FLOAT,"attn_logit_softcapping") \
X("*","final_logit_softcapping",FLOAT,"final_logit_softcapping") \
X("granite granitemoe","embedding_scale",FLOAT,"embedding_multiplier") \
X("granite granitemoe","residual_scale",FLOAT,"residual_multiplier") \
X("granite granitemoe","logit_scale",FLOAT,"logits_scaling") \
X("command-r cohere2","logit_scale",FLOAT,"logit_scale|0.0625") \
X("minicpm","embedding_scale",FLOAT,"scale_emb") \
X("minicpm","residual_scale",FLOAT,"scale_depth/~$layers") \
X("minicpm","logit_scale",FLOAT,"$width/dim_model_base") \
X("minicpm3","embedding_scale",FLOAT,"scale_emb") \
X("minicpm3","residual_scale",FLOAT,"scale_depth/~$layers") \
X("minicpm3","logit_scale",FLOAT,"$width/dim_model_base") \
X("t5","logit_scale",FLOAT,"tie_word_embeddings/~d_model|1/~d_model") \
X("falcon","tensor_data_layout",TEXT,"'jploski") \
X(OXI_LLM_NO_ROPE,"rope.dimension_count",INT,"") \
X("deepseek2 minicpm3","rope.dimension_count",INT,"qk_rope_head_dim") \
X("gptj","rope.dimension_count",INT,"rotary_dim|64") \
X("*","rope.dimension_count",INT,"$rotary*$head") \
X(OXI_LLM_NO_ROPE,"rope.freq_base",FLOAT,"") \
X("gemma3","rope.freq_base",FLOAT,"rope.rope_theta|1000000") \
X("modern-bert","rope.freq_base",FLOAT,"rope.rope_theta|global_rope_theta|160000") \
X("mixtral","rope.freq_base",FLOAT,"rope.rope_theta|1000000") \
X("smollm3","rope.freq_base",FLOAT,"rope.rope_theta|2000000") \
X("gpt-oss","rope.freq_base",FLOAT,"rope.rope_theta|150000") \
X("llama4","rope.freq_base",FLOAT,"rope.rope_theta|500000") \
X("*","rope.freq_base",FLOAT,"rope.rope_theta|rotary_emb_base|10000") \
X("gemma3","rope.freq_base_swa",FLOAT, \
 "rope_parameters.sliding_attention.rope_theta|rope_local_base_freq|10000") \
X("modern-bert","rope.freq_base_swa",FLOAT, \
 "rope_parameters.sliding_attention.rope_theta|local_rope_theta|10000") \
X("smollm3 llama4","attention.rope_pattern",INT,"no_rope_layers") \
X("*","expert_count",INT,"num_local_experts|num_experts|n_routed_experts") \
X("*","expert_used_count",INT,"num_experts_per_tok|num_experts_per_token") \
X("gpt-oss llama4","expert_feed_forward_length",INT,"intermediate_size") \
X("deepseek2","expert_feed_forward_length",INT,"moe_intermediate_size|intermediate_size") \
X("qwen2moe qwen3moe glm4moe","expert_feed_forward_length",INT,"moe_intermediate_size") \
X("qwen2moe","expert_shared_feed_forward_length",INT,"shared_expert_intermediate_size") \
X("granitemoe","expert_shared_feed_forward_length",INT,"shared_intermediate_size") \
X("deepseek2","expert_shared_count",INT,"n_shared_experts|0") \
X("glm4moe","expert_shared_count",INT,"n_shared_experts") \
X("deepseek2 glm4moe","expert_group_count",INT,"n_group") \
X("deepseek2 glm4moe","expert_group_used_count",INT,"topk_group") \
X("deepseek2 glm4moe","expert_weights_scale",FLOAT,"routed_scaling_factor") \
X("deepseek_v3","expert_weights_norm",BOOL,"norm_topk_prob|1") \
X("*","expert_weights_norm",BOOL,"norm_topk_prob") \
X("deepseek_v3 glm4moe","expert_gating_func",INT,"2") \
X("deepseek_v2","expert_gating_func",INT,"1") \
X("deepseek2","leading_dense_block_count",INT,"first_k_dense_replace|0") \
X("glm4moe","leading_dense_block_count",INT,"first_k_dense_replace") \
X("llama4","interleave_moe_layer_step",INT,"interleave_moe_layer_step|1") \
X("bert nomic-bert","tokenizer.ggml.token_type_count",INT,"type_vocab_size|1") \
X("*","tokenizer.ggml.bos_token_id",INT,"bos_token_id|generation.bos_token_id") \
X("*","tokenizer.ggml.eos_token_id",INT,"eos_token_id|generation.eos_token_id") \
X("*","tokenizer.ggml.padding_token_id",INT,"pad_token_id|generation.pad_token_id") \
X("*","general.sampling.temp",FLOAT,"generation.temperature") \
X("*","general.sampling.top_k",SIGNED,"generation.top_k") \
X("*","general.sampling.top_p",FLOAT,"generation.top_p") \
X("*","general.sampling.min_p",FLOAT,"generation.min_p") \
X("*","general.sampling.penalty_repeat",FLOAT,"generation.repetition_penalty")
typedef enum oxi_llm_trait{
OXI_LLM_TRAIT_NONE=0,OXI_LLM_TRAIT_PAIRS,OXI_LLM_TRAIT_ONE,OXI_LLM_TRAIT_OFFSET}oxi_llm_trait;
typedef struct oxi_llm_model_type{
const char*name,*architecture,*sets;
oxi_llm_trait trait;
int period;}oxi_llm_model_type;
typedef enum oxi_llm_transform{
OXI_LLM_TRANSFORM_NONE=0,OXI_LLM_TRANSFORM_SKIP,OXI_LLM_TRANSFORM_HEAD,OXI_LLM_TRANSFORM_ENCODER,
 OXI_LLM_TRANSFORM_DECODER,OXI_LLM_TRANSFORM_NORM,OXI_LLM_TRANSFORM_QUERY,OXI_LLM_TRANSFORM_KEY,
 OXI_LLM_TRANSFORM_FUSED,OXI_LLM_TRANSFORM_TURNED,OXI_LLM_TRANSFORM_TURNED_FIRST,
 OXI_LLM_TRANSFORM_TURNED_SECOND,OXI_LLM_TRANSFORM_TURNED_EVEN,OXI_LLM_TRANSFORM_TURNED_ODD,
 OXI_LLM_TRANSFORM_ROWS_FIRST,OXI_LLM_TRANSFORM_ROWS_SECOND,OXI_LLM_TRANSFORM_EVEN,OXI_LLM_TRANSFORM_ODD,
 OXI_LLM_TRANSFORM_MXFP4,OXI_LLM_TRANSFORM_MXFP4_EVEN,OXI_LLM_TRANSFORM_MXFP4_ODD,
 OXI_LLM_TRANSFORM_LATENT_KEYS,OXI_LLM_TRANSFORM_LATENT_VALUES,OXI_LLM_TRANSFORM_POSITIONS,
 OXI_LLM_TRANSFORM_WITHOUT_TWO,OXI_LLM_TRANSFORM_FLAT,OXI_LLM_TRANSFORM_TERNARY,OXI_LLM_TRANSFORM_STACK,
 OXI_LLM_TRANSFORM_VALUES}oxi_llm_transform;
typedef struct oxi_llm_plan{
const char*name;
oxi_llm_transform transform;
uint32_t number;
uint32_t from;
uint32_t first,count;
const float*values;}oxi_llm_plan;
typedef struct oxi_llm_folder{
const oxi_llm_model_type*model;
ox_file*weights;
oxi_llm_plan*plans;
size_t plan_count,plan_room;
uint32_t*pieces;
size_t piece_room;
int64_t heads,kv_heads,layers,nope_size,value_size,offset,beyond;
bool tied,ternary;
ox_string text[OXI_LLM_SOURCE_TEXT_COUNT];}oxi_llm_folder;
typedef struct oxi_llm_config{
ox_file*file;
oxi_llm_folder*folder;
oxi_json config,generation;
uint32_t inner;}oxi_llm_config;
static bool oxi_llm_share_word(const char*a,const char*b);
static const oxi_json_node*oxi_llm_config_node(const oxi_llm_config*c,const char*name,size_t length);
static bool oxi_llm_config_number(const oxi_llm_config*c,const char*expression,double*out,
 ox_status*status);
static ox_status oxi_llm_config_int(const oxi_llm_config*c,const char*expression,int64_t low,
 int64_t high,int64_t otherwise,int64_t*out);
static const char*oxi_llm_config_text(const oxi_llm_config*c,const char*name);
static ox_status oxi_llm_fact_number(const oxi_llm_config*c,const char*key,ox_gguf_type type,double value);
static ox_status oxi_llm_fact_text(const oxi_llm_config*c,const char*key,const char*text,size_t length);
static ox_status oxi_llm_fact_array(const oxi_llm_config*c,const char*key,ox_gguf_type type,
 const void*values,int64_t count);
static ox_status oxi_llm_add_facts(const oxi_llm_config*c);
static ox_status oxi_llm_add_rope(const oxi_llm_config*c);
static bool oxi_llm_adds_one(const oxi_llm_folder*folder,const oxi_llm_plan*plan);
static oxi_llm_plan*oxi_llm_add_plan(const oxi_llm_config*c,const char*name);
static ox_status oxi_llm_add_tensors(const oxi_llm_config*c);
static ox_status oxi_llm_add_items(const oxi_llm_config*c);
static ox_tensor*oxi_llm_load_item(ox_file*file,const oxi_file_item*item);
#endif
/* >>llm/source/config.c */
enum{OXI_LLM_SIZE_DEPTH=4};
static bool oxi_llm_share_word(const char*a,const char*b){
while(*a){
const size_t length=strcspn(a," ");
for(const char*p=b;*p&&length;){
const size_t other=strcspn(p," ");
if(other==length&&memcmp(a,p,length)==0)return true;
p +=other+strspn(p +other," ");}
a+=length+strspn(a+length," ");}
return false;}
static bool oxi_llm_row_holds(const oxi_llm_config*c,const char*who){
const oxi_llm_model_type*model=c->folder->model;
return strcmp(who,"*")==0||oxi_llm_share_word(who,model->architecture)||
 oxi_llm_share_word(who,model->name);}
static uint32_t oxi_llm_config_member(const oxi_json*json,uint32_t object,const char*path,size_t length){
const char*end=path+length;
while(path<end&&json->count>0){
const char*dot=(const char*)memchr(path,'.',(size_t)(end-path)),*stop=dot?dot:end;
char name[64];
if((size_t)(stop -path)>=sizeof name)return 0;
memcpy(name,path,(size_t)(stop -path));
name[stop -path]=0;
object=oxi_json_find(json,object,name);
if(object==0||json->nodes[object].type==OXI_JSON_NULL)return 0;
path=dot?dot+1:end;}
return object;}
static bool oxi_llm_starts(const char*text,size_t length,const char*start){
return length>strlen(start)&&memcmp(text,start,strlen(start))==0;}
static uint32_t oxi_llm_config_rope(const oxi_llm_config*c,uint32_t object,const char*name,size_t length){
static const char*const places[]={"rope_parameters.full_attention.","rope_parameters.",
 "rope_scaling.full_attention.","rope_scaling.",""};
char path[128];
for(size_t i=0;i<sizeof places/sizeof*places;i++){
const int used=snprintf(path,sizeof path,"%s%.*s",places[i],(int)length,name);
const uint32_t found=oxi_llm_config_member(&c->config,object,path,(size_t)used);
if(found)return found;}
return 0;}
static const oxi_json_node*oxi_llm_config_node(const oxi_llm_config*c,const char*name,size_t length){
const oxi_json*json= &c->config;
uint32_t found=0;
if(length>60)return NULL;
if(oxi_llm_starts(name,length,"generation.")){
json= &c->generation;
found=oxi_llm_config_member(json,0,name +11,length-11);}else if(oxi_llm_starts(name,length,"rope.")){
if(c->inner)found=oxi_llm_config_rope(c,c->inner,name +5,length-5);
if(!found)found=oxi_llm_config_rope(c,0,name +5,length-5);}else{
if(c->inner)found=oxi_llm_config_member(json,c->inner,name,length);
if(!found)found=oxi_llm_config_member(json,0,name,length);}
return found? &json->nodes[found]:NULL;}
static const char*oxi_llm_config_text(const oxi_llm_config*c,const char*name){
const oxi_json_node*node=oxi_llm_config_node(c,name,strlen(name));
return node&&node->type==OXI_JSON_STRING?node->value.text:NULL;}
typedef struct oxi_llm_size_row{
const char*who,*name,*expression;}oxi_llm_size_row;
#define OXI_X(who,name,expression){who,name,expression},
static const oxi_llm_size_row oxi_llm_size_rows[]={OXI_LLM_SOURCE_SIZE_LIST(OXI_X)};
#undef OXI_X
static bool oxi_llm_eval(const oxi_llm_config*c,const char*expression,int depth,double*out,
 ox_status*status);
static bool oxi_llm_eval_operand(const oxi_llm_config*c,const char*p,size_t length,int depth,
 double*out,ox_status*status){
if(length>0&&(oxi_is_digit(*p)|| *p=='.')){
*out=oxi_json_double(p,p +length,0);
return true;}
if(length==9&&memcmp(p,"$kv_heads",9)==0&&c->folder->kv_heads>0){
*out=(double)c->folder->kv_heads;
return true;}
if(length>0&& *p=='$'){
for(size_t i=0;i<sizeof oxi_llm_size_rows/sizeof*oxi_llm_size_rows;i++){
const oxi_llm_size_row*row= &oxi_llm_size_rows[i];
if(strlen(row->name)!=length-1||memcmp(row->name,p +1,length-1))continue;
if(!oxi_llm_row_holds(c,row->who))continue;
return depth>0&&oxi_llm_eval(c,row->expression,depth-1,out,status);}
return false;}
const oxi_json_node*node=oxi_llm_config_node(c,p,length);
if(!node)return false;
if(node->type==OXI_JSON_FLOAT)
*out=node->value.f;
else if(node->type==OXI_JSON_INT||node->type==OXI_JSON_BOOL)
*out=(double)node->value.i;
else if(*status==OX_OK)
*status=oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"config.json: %s is no number",
 oxi_quote(p,length).text);
return*status==OX_OK;}
static bool oxi_llm_eval_one(const oxi_llm_config*c,const char*p,const char*end,int depth,double*out,
 ox_status*status){
char operation='+';
double total=0;
while(p<end){
const bool root= *p=='~';
if(root)p++;
const char*stop=p;
while(stop<end&& !strchr("+-*/",*stop))stop++;
double value=0;
if(!oxi_llm_eval_operand(c,p,(size_t)(stop -p),depth,&value,status))return false;
if(root)value=sqrt(value);
total=operation=='+'?total+value:operation=='-'?total-value:operation=='*'?total*value:total/value;
operation=stop<end? *stop:0;
p=stop<end?stop +1:end;}
*out=total;
return true;}
static bool oxi_llm_eval(const oxi_llm_config*c,const char*expression,int depth,double*out,
 ox_status*status){
while(*expression&& *status==OX_OK){
const size_t length=strcspn(expression,"|");
if(oxi_llm_eval_one(c,expression,expression+length,depth,out,status))return true;
expression+=length+(expression[length]=='|');}
return false;}
static bool oxi_llm_config_number(const oxi_llm_config*c,const char*expression,double*out,
 ox_status*status){
*status=OX_OK;
if(!oxi_llm_eval(c,expression,OXI_LLM_SIZE_DEPTH,out,status))return false;
if(isfinite(*out))return true;
*status=oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"config.json: %s is no finite number",expression);
return false;}
static ox_status oxi_llm_config_int(const oxi_llm_config*c,const char*expression,int64_t low,
 int64_t high,int64_t otherwise,int64_t*out){
double value=0;
ox_status status;
*out=otherwise;
if(!oxi_llm_config_number(c,expression,&value,&status)){
if(status!=OX_OK||otherwise>=low)return status;
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"config.json: %s is missing",expression);}
if(!(value>(double)low-1&&value<(double)high+1))
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,
 "config.json: %s is %.17g, allowed are %lld to %lld",expression,value,(long long)low,(long long)high);
*out=(int64_t)value;
return OX_OK;}
/* >>llm/source/facts.c */
static oxi_meta_item*oxi_llm_new_fact(const oxi_llm_config*c,const char*key){
const bool whole=strncmp(key,"general.",8)==0||strncmp(key,"tokenizer.",10)==0;
const char*architecture=whole?"":c->folder->model->architecture,*dot=whole?"":".";
const size_t length=strlen(architecture)+strlen(dot)+strlen(key);
char*name=(char*)oxi_file_take(c->file,length+1);
oxi_meta_item*meta=name?oxi_file_add_meta(c->file):NULL;
if(!meta)return NULL;
(void)snprintf(name,length+1,"%s%s%s",architecture,dot,key);
meta->key=name;
meta->key_length=(uint32_t)length;
return meta;}
static ox_status oxi_llm_fact_number(const oxi_llm_config*c,const char*key,ox_gguf_type type,double value){
oxi_meta_item*meta=oxi_llm_new_fact(c,key);
if(!meta)return OX_ERR_NOMEM;
meta->type=(uint16_t)oxi_gguf_types[type].type;
meta->stored=(uint16_t)type;
if(type==OX_GGUF_F32)
meta->value.f=value;
else
meta->value.i=type==OX_GGUF_BOOL?value!=0:(int64_t)value;
return OX_OK;}
static ox_status oxi_llm_fact_text(const oxi_llm_config*c,const char*key,const char*text,size_t length){
char*copy=(char*)oxi_file_take(c->file,length+1);
oxi_meta_item*meta=copy?oxi_llm_new_fact(c,key):NULL;
if(!meta)return OX_ERR_NOMEM;
memcpy(copy,text,length);
copy[length]=0;
meta->type=OX_FILE_META_STRING;
meta->data=copy;
meta->value.i=(int64_t)length;
return OX_OK;}
static ox_status oxi_llm_fact_array(const oxi_llm_config*c,const char*key,ox_gguf_type type,
 const void*values,int64_t count){
const size_t bytes=(size_t)count*(size_t)oxi_gguf_types[type].bytes;
unsigned char*copy=(unsigned char*)oxi_file_take(c->file,bytes+1);
oxi_meta_array*array=(oxi_meta_array*)oxi_file_take(c->file,sizeof*array);
oxi_meta_item*meta=copy&&array?oxi_llm_new_fact(c,key):NULL;
if(!meta)return OX_ERR_NOMEM;
if(oxi_big_endian_host())
oxi_copy_swapped(copy,values,bytes,(size_t)oxi_gguf_types[type].bytes);
else
memcpy(copy,values,bytes);
memset(array,0,sizeof*array);
array->data=copy;
array->count=count;
array->type=(int)type;
meta->type=OX_FILE_META_ARRAY;
meta->data=array;
return OX_OK;}
typedef enum oxi_llm_fact_kind{
OXI_LLM_FACT_INT,OXI_LLM_FACT_SIGNED,OXI_LLM_FACT_FLOAT,OXI_LLM_FACT_BOOL,OXI_LLM_FACT_TEXT
 }oxi_llm_fact_kind;
static const ox_gguf_type oxi_llm_fact_types[]={OX_GGUF_U32,OX_GGUF_I32,OX_GGUF_F32,OX_GGUF_BOOL,
 OX_GGUF_STRING};
typedef struct oxi_llm_key_row{
const char*who,*key,*expression;
oxi_llm_fact_kind kind;}oxi_llm_key_row;
#define OXI_X(who,key,kind,expression){who,key,expression,OXI_LLM_FACT_##kind},
static const oxi_llm_key_row oxi_llm_key_rows[]={OXI_LLM_SOURCE_KEY_LIST(OXI_X)};
#undef OXI_X
enum{OXI_LLM_KEY_ROWS=(int)(sizeof oxi_llm_key_rows/sizeof oxi_llm_key_rows[0])};
static const oxi_json_node*oxi_llm_first_node(const oxi_llm_config*c,const char*expression){
while(*expression){
const size_t length=strcspn(expression,"|");
const oxi_json_node*node=
 strcspn(expression,"+-*/~$")>=length?oxi_llm_config_node(c,expression,length):NULL;
if(node)return node;
expression+=length+(expression[length]=='|');}
return NULL;}
static ox_status oxi_llm_fact_bad(const oxi_llm_config*c,const oxi_llm_key_row*row,const char*why){
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"config.json: %s (for %s) %s",row->expression,
 row->key,why);}
static ox_status oxi_llm_fact_list(const oxi_llm_config*c,const oxi_llm_key_row*row,
 const oxi_json_node*node){
const int64_t count=node->length;
if(count>1<<16)return oxi_llm_fact_bad(c,row,"is a list of more than 65536 numbers");
int32_t*values=(int32_t*)oxi_calloc((size_t)count+1,sizeof*values);
ox_status status=values?OX_OK:OX_ERR_NOMEM;
for(int64_t i=0;i<count&&status==OX_OK;i++){
const oxi_json_node*element=node +1+i;
if((element->type!=OXI_JSON_INT&&element->type!=OXI_JSON_BOOL)||
 element->value.i<INT32_MIN||element->value.i>INT32_MAX)
status=oxi_llm_fact_bad(c,row,"is a list of something other than integers of 32 bits");
else
values[i]=(int32_t)element->value.i;}
if(status==OX_OK&&strncmp(row->key,"tokenizer.",10)==0){
if(count>0&&values[0]>=0)
status=oxi_llm_fact_number(c,row->key,oxi_llm_fact_types[row->kind],values[0]);}else if(status==OX_OK){
status=oxi_llm_fact_array(c,row->key,OX_GGUF_I32,values,count);}
oxi_free(values,((size_t)count+1)*sizeof*values);
return status;}
static ox_status oxi_llm_add_fact(const oxi_llm_config*c,const oxi_llm_key_row*row){
const oxi_json_node*node=oxi_llm_first_node(c,row->expression);
const bool whole=row->kind==OXI_LLM_FACT_INT||row->kind==OXI_LLM_FACT_SIGNED;
double value=0;
ox_status status;
if(row->kind==OXI_LLM_FACT_TEXT){
if(row->expression[0]=='\'')
return oxi_llm_fact_text(c,row->key,row->expression+1,strlen(row->expression+1));
if(!node||node->type!=OXI_JSON_STRING)return OX_OK;
return oxi_llm_fact_text(c,row->key,node->value.text,node->length);}
if(node&&node->type==OXI_JSON_ARRAY&&whole)return oxi_llm_fact_list(c,row,node);
if(!oxi_llm_config_number(c,row->expression,&value,&status))return status;
if(whole&&strncmp(row->key,"tokenizer.",10)==0&&value<0)return OX_OK;
if(value==0&&strcmp(row->key,"logit_scale")==0)return OX_OK;
const double low=row->kind==OXI_LLM_FACT_SIGNED? -2147483648.0:0,
 high=row->kind==OXI_LLM_FACT_SIGNED?2147483647.0:4294967295.0;
if(whole&& !(value>low-1&&value<high+1))
return oxi_llm_fact_bad(c,row,"is no integer of 32 bits");
return oxi_llm_fact_number(c,row->key,oxi_llm_fact_types[row->kind],value);}
static ox_status oxi_llm_window_pattern(const oxi_llm_config*c,uint8_t*sliding){
const int64_t layers=c->folder->layers;
const oxi_json_node*types=oxi_llm_config_node(c,"layer_types",11);
int64_t period=0,first_full= -1;
if(types&&types->type==OXI_JSON_ARRAY&&types->length>=layers){
const oxi_json_node*type=types+1;
for(int64_t i=0;i<layers;i++,type++){
if(type->type!=OXI_JSON_STRING)
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,
 "config.json: layer_types holds something other than texts");
sliding[i]=strcmp(type->value.text,"sliding_attention")==0;}
return OX_OK;}
const char*letters=oxi_llm_config_text(c,"sliding_window_pattern");
if(letters&& *letters){
for(int64_t i=0;i<layers;i++)sliding[i]=letters[i%(int64_t)strlen(letters)]=='L';
return OX_OK;}
ox_status status=oxi_llm_config_int(
 c,"sliding_window_pattern|_sliding_window_pattern|global_attn_every_n_layers",0,1<<20,
 c->folder->model->period<0? -c->folder->model->period:c->folder->model->period,&period);
if(status==OX_OK&&oxi_llm_config_node(c,"use_sliding_window",18))
status=oxi_llm_config_int(c,"max_window_layers",0,INT32_MAX,-1,&first_full);
for(int64_t i=0;i<layers&&status==OX_OK;i++){
const bool full=period==0?i<first_full:c->folder->model->period<0?i%period==0:(i+1)%period==0;
sliding[i]= !full;}
return status;}
static ox_status oxi_llm_add_window(const oxi_llm_config*c){
int64_t window=0,use=1;
ox_status status=oxi_llm_config_int(c,"use_sliding_window",0,1,1,&use);
if(status==OX_OK)
status=oxi_llm_config_int(c,"sliding_window|local_attention",-1,INT32_MAX,0,&window);
if(status!=OX_OK)return status;
if(!use||window<=0){
const bool says=strcmp(c->folder->model->architecture,"phi3")==0;
return says?oxi_llm_fact_number(c,"attention.sliding_window",OX_GGUF_U32,0):OX_OK;}
uint8_t*sliding=(uint8_t*)oxi_calloc((size_t)c->folder->layers,1);
status=sliding?oxi_llm_window_pattern(c,sliding):OX_ERR_NOMEM;
if(status==OX_OK&&memchr(sliding,1,(size_t)c->folder->layers)){
status=oxi_llm_fact_number(c,"attention.sliding_window",OX_GGUF_U32,(double)window);
if(status==OX_OK)
status=oxi_llm_fact_array(c,"attention.sliding_window_pattern",OX_GGUF_BOOL,sliding,c->folder->layers);}
oxi_free(sliding,(size_t)c->folder->layers);
return status;}
static ox_status oxi_llm_add_facts(const oxi_llm_config*c){
const char*architecture=c->folder->model->architecture;
ox_status status=oxi_llm_fact_text(c,"general.architecture",architecture,strlen(architecture));
if(status==OX_OK)status=oxi_llm_fact_text(c,"general.type","model",5);
for(int i=0;i<OXI_LLM_KEY_ROWS&&status==OX_OK;i++){
const oxi_llm_key_row*row= &oxi_llm_key_rows[i];
bool first=oxi_llm_row_holds(c,row->who);
for(int before=0;before<i&&first;before++)
first=strcmp(oxi_llm_key_rows[before].key,row->key)!=0|| !oxi_llm_row_holds(c,oxi_llm_key_rows[before].who);
if(first&&row->expression[0])status=oxi_llm_add_fact(c,row);}
return status==OX_OK?oxi_llm_add_window(c):status;}
/* >>llm/source/rope.c */
enum{OXI_LLM_ROPE_MOST=1<<16};
static ox_status oxi_llm_rope_plan(const oxi_llm_config*c,const char*name,const float*values,
 int64_t count){
float*copy=(float*)oxi_file_take(c->file,(size_t)count*sizeof*copy);
oxi_llm_plan*plan=copy?oxi_llm_add_plan(c,name):NULL;
if(!plan)return OX_ERR_NOMEM;
memcpy(copy,values,(size_t)count*sizeof*copy);
plan->transform=OXI_LLM_TRANSFORM_VALUES;
plan->values=copy;
plan->count=(uint32_t)count;
return OX_OK;}
static ox_status oxi_llm_rope_number(const oxi_llm_config*c,const char*expression,double otherwise,
 double*out){
ox_status status;
if(oxi_llm_config_number(c,expression,out,&status)||status!=OX_OK)return status;
*out=otherwise;
if(!isnan(otherwise))return OX_OK;
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"config.json: rope scaling: %s is missing",
 expression);}
static ox_status oxi_llm_rope_llama3(const oxi_llm_config*c,int64_t size){
double factor,low,high,context,base;
float*factors=(float*)oxi_calloc((size_t)size/2,sizeof*factors);
ox_status status=factors?oxi_llm_rope_number(c,"rope.factor",NAN,&factor):OX_ERR_NOMEM;
if(status==OX_OK)status=oxi_llm_rope_number(c,"rope.low_freq_factor",NAN,&low);
if(status==OX_OK)status=oxi_llm_rope_number(c,"rope.high_freq_factor",NAN,&high);
if(status==OX_OK)
status=oxi_llm_rope_number(c,"rope.original_max_position_embeddings|max_position_embeddings",NAN,&context);
if(status==OX_OK)status=oxi_llm_rope_number(c,"rope.rope_theta|10000",NAN,&base);
for(int64_t i=0;i<size/2&&status==OX_OK;i++){
const double turn=2*3.14159265358979323846*pow(base,2*(double)i/(double)size);
const double share=(context/turn-low)/(high-low);
factors[i]=turn<context/high?1.0f:turn>context/low?(float)factor:(float)(1/((1-share)/factor+share));}
if(status==OX_OK)status=oxi_llm_rope_plan(c,"rope_freqs.weight",factors,size/2);
oxi_free(factors,(size_t)size/2*sizeof*factors);
return status;}
static ox_status oxi_llm_rope_list(const oxi_llm_config*c,const char*name,const char*tensor,int64_t count){
const oxi_json_node*node=oxi_llm_config_node(c,name,strlen(name));
if(!node||node->type!=OXI_JSON_ARRAY||node->length!=count)
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,
 "config.json: %s is no list of %lld numbers (half of the elements that rope ""turns)",
 name,(long long)count);
float*values=(float*)oxi_calloc((size_t)count,sizeof*values);
ox_status status=values?OX_OK:OX_ERR_NOMEM;
for(int64_t i=0;i<count&&status==OX_OK;i++){
const oxi_json_node*element=node +1+i;
if(element->type==OXI_JSON_FLOAT||element->type==OXI_JSON_INT)
values[i]=element->type==OXI_JSON_INT?(float)element->value.i:(float)element->value.f;
else
status=oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"config.json: %s[%lld] is no number",
 name,(long long)i);}
if(status==OX_OK)status=oxi_llm_rope_plan(c,tensor,values,count);
oxi_free(values,(size_t)count*sizeof*values);
return status;}
static ox_status oxi_llm_rope_original(const oxi_llm_config*c,double*context){
const ox_status status=
 oxi_llm_rope_number(c,"rope.original_max_position_embeddings|max_position_embeddings",NAN,context);
if(status!=OX_OK)return status;
if(!(*context>=1&& *context<=4294967295.0))
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,
 "config.json: original_max_position_embeddings is %g",*context);
return oxi_llm_fact_number(c,"rope.scaling.original_context_length",OX_GGUF_U32,*context);}
static ox_status oxi_llm_rope_longrope(const oxi_llm_config*c,int64_t size){
double context=0,most=0,attention=0;
ox_status status=oxi_llm_rope_original(c,&context);
if(status==OX_OK)status=oxi_llm_rope_number(c,"max_position_embeddings",NAN,&most);
if(status!=OX_OK)return status;
const double scale=most/context;
const double usual=scale>1&&context>1?sqrt(1+log(scale)/log(context)):1;
status=oxi_llm_rope_number(c,"rope.attention_factor",usual,&attention);
if(status==OX_OK)status=oxi_llm_fact_text(c,"rope.scaling.type","longrope",8);
if(status==OX_OK)status=oxi_llm_fact_number(c,"rope.scaling.attn_factor",OX_GGUF_F32,attention);
if(status==OX_OK)
status=oxi_llm_rope_list(c,"rope.long_factor","rope_factors_long.weight",size/2);
if(status==OX_OK)
status=oxi_llm_rope_list(c,"rope.short_factor","rope_factors_short.weight",size/2);
return status;}
static double oxi_llm_yarn_scale(double factor,double weight){
return factor>1?0.1*weight*log(factor)+1:1;}
static ox_status oxi_llm_rope_yarn(const oxi_llm_config*c){
double factor=0,context=0,value=0,all=0,attention=0;
ox_status status=oxi_llm_rope_number(c,"rope.factor",NAN,&factor);
if(status==OX_OK&& !(factor>0))
status=oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"config.json: rope factor is %g",factor);
if(status==OX_OK)status=oxi_llm_fact_text(c,"rope.scaling.type","yarn",4);
if(status==OX_OK)status=oxi_llm_fact_number(c,"rope.scaling.factor",OX_GGUF_F32,factor);
if(status==OX_OK)status=oxi_llm_rope_original(c,&context);
if(status==OX_OK)status=oxi_llm_rope_number(c,"rope.beta_fast|32",NAN,&value);
if(status==OX_OK)status=oxi_llm_fact_number(c,"rope.scaling.yarn_beta_fast",OX_GGUF_F32,value);
if(status==OX_OK)status=oxi_llm_rope_number(c,"rope.beta_slow|1",NAN,&value);
if(status==OX_OK)status=oxi_llm_fact_number(c,"rope.scaling.yarn_beta_slow",OX_GGUF_F32,value);
if(status==OX_OK)status=oxi_llm_rope_number(c,"rope.truncate|1",NAN,&value);
if(status==OX_OK&&value==0)
status=oxi_llm_fact_number(c,"rope.scaling.yarn_truncate",OX_GGUF_BOOL,0);
if(status==OX_OK)status=oxi_llm_rope_number(c,"rope.mscale_all_dim",0,&all);
if(status==OX_OK)status=oxi_llm_rope_number(c,"rope.mscale",0,&value);
if(status==OX_OK){
const double usual=oxi_llm_yarn_scale(factor,1);
const double both=oxi_llm_yarn_scale(factor,value)/oxi_llm_yarn_scale(factor,all);
status=oxi_llm_rope_number(c,"rope.attention_factor",value!=0&&all!=0?both:usual,&attention);
if(status==OX_OK&&attention!=usual)
status=oxi_llm_fact_number(c,"rope.scaling.yarn_attn_factor",OX_GGUF_F32,attention/usual);}
if(status==OX_OK&&all!=0)
status=oxi_llm_fact_number(c,"rope.scaling.yarn_log_multiplier",OX_GGUF_F32,0.1*all);
return status;}
static ox_status oxi_llm_add_rope(const oxi_llm_config*c){
const char*type=oxi_llm_config_text(c,"rope.rope_type");
const bool phi3=strcmp(c->folder->model->architecture,"phi3")==0;
double factor=1;
int64_t size=0;
if(!type)type=oxi_llm_config_text(c,"rope.type");
ox_status status=strcmp(c->folder->model->architecture,"deepseek2")==0||
 strcmp(c->folder->model->architecture,"minicpm3")==0
 ?oxi_llm_config_int(c,"qk_rope_head_dim",2,OXI_LLM_ROPE_MOST,-1,&size)
 :oxi_llm_config_int(c,"rotary_dim|$rotary*$head",0,OXI_LLM_ROPE_MOST,0,&size);
if(status!=OX_OK)return status;
if(!type||strcmp(type,"default")==0||strcmp(type,"dynamic")==0)
return phi3?oxi_llm_rope_original(c,&factor):OX_OK;
if(strcmp(type,"yarn")==0)return oxi_llm_rope_yarn(c);
if(strcmp(type,"linear")==0){
status=oxi_llm_rope_number(c,"rope.factor",NAN,&factor);
if(status==OX_OK)status=oxi_llm_fact_text(c,"rope.scaling.type","linear",6);
if(status==OX_OK)status=oxi_llm_fact_number(c,"rope.scaling.factor",OX_GGUF_F32,factor);
return status;}
if(size<2||size%2)
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,
 "config.json: rope over %lld elements of a head",(long long)size);
if(strcmp(type,"llama3")==0)return oxi_llm_rope_llama3(c,size);
if(strcmp(type,"longrope")==0||strcmp(type,"su")==0)return oxi_llm_rope_longrope(c,size);
return oxi_file_fail(OX_ERR_UNSUPPORTED,c->file,0,SIZE_MAX,
 "config.json: the rope scaling %s is not supported",OXI_QUOTE(type));}
/* >>llm/source/names.c */
typedef struct oxi_llm_name_row{
const char*sets,*name,*target;
oxi_llm_transform transform;}oxi_llm_name_row;
typedef struct oxi_llm_stem_row{
const char*sets,*stem,*target;}oxi_llm_stem_row;
#define OXI_X(sets,name,target,transform){sets,name,target,OXI_LLM_TRANSFORM_##transform},
static const oxi_llm_name_row oxi_llm_model_name_rows[]={OXI_LLM_MODEL_NAME_LIST(OXI_X)};
static const oxi_llm_name_row oxi_llm_layer_name_rows[]={OXI_LLM_LAYER_NAME_LIST(OXI_X)};
#undef OXI_X
#define OXI_X(sets,stem,target){sets,stem,target},
static const oxi_llm_stem_row oxi_llm_stem_rows[]={OXI_LLM_STEM_LIST(OXI_X)};
#undef OXI_X
#define OXI_X(prefix)prefix,
static const char*const oxi_llm_prefixes[]={OXI_LLM_PREFIX_LIST(OXI_X)};
#undef OXI_X
enum{
OXI_LLM_MODEL_NAMES=(int)(sizeof oxi_llm_model_name_rows/sizeof*oxi_llm_model_name_rows),
 OXI_LLM_LAYER_NAMES=(int)(sizeof oxi_llm_layer_name_rows/sizeof*oxi_llm_layer_name_rows),
 OXI_LLM_STEMS=(int)(sizeof oxi_llm_stem_rows/sizeof*oxi_llm_stem_rows),
 OXI_LLM_PREFIXES=(int)(sizeof oxi_llm_prefixes/sizeof*oxi_llm_prefixes)};
static oxi_llm_plan*oxi_llm_add_plan(const oxi_llm_config*c,const char*name){
oxi_llm_folder*folder=c->folder;
const size_t length=strlen(name);
char*copy=(char*)oxi_file_take(c->file,length+1);
void*grown=copy?oxi_grow(folder->plans,&folder->plan_room,folder->plan_count+1,sizeof*folder->plans,false)
 :NULL;
if(!grown)return NULL;
folder->plans=(oxi_llm_plan*)grown;
oxi_llm_plan*plan= &folder->plans[folder->plan_count++];
memset(plan,0,sizeof*plan);
memcpy(copy,name,length+1);
plan->name=copy;
return plan;}
static bool oxi_llm_name_number(const char**p,uint32_t*number){
int digits=0;
for(*number=0;oxi_is_digit(**p)&&digits<9;++*p,digits++)
*number= *number*10+(uint32_t)(**p -'0');
return digits>0&& !oxi_is_digit(**p);}
static bool oxi_llm_name_is(const char*pattern,const char*name,uint32_t*number,const char**suffix){
for(;*pattern;pattern++){
if(*pattern=='~')return true;
if(*pattern=='*'){
const bool weight=strcmp(name,"weight")==0||strcmp(name,"gamma")==0;
*suffix=weight?"weight":"bias";
return weight||strcmp(name,"bias")==0||strcmp(name,"beta")==0;}
if(*pattern=='#'){
if(!oxi_llm_name_number(&name,number))return false;}else if(*pattern!= *name++){
return false;}}
return*name==0;}
typedef struct oxi_llm_naming{
const oxi_llm_config*config;
bool of_model[OXI_LLM_MODEL_NAMES],of_layer[OXI_LLM_LAYER_NAMES],stems[OXI_LLM_STEMS];
uint32_t from;
bool found;}oxi_llm_naming;
static ox_status oxi_llm_name_take(oxi_llm_naming*naming,const oxi_llm_name_row*row,const char*start,
 uint32_t number,const char*suffix){
const oxi_llm_config*c=naming->config;
char name[160];
const int stem=(int)strcspn(row->target,"*");
naming->found=true;
if(row->transform==OXI_LLM_TRANSFORM_SKIP)return OX_OK;
if(row->transform==OXI_LLM_TRANSFORM_HEAD&&c->folder->tied)return OX_OK;
(void)snprintf(name,sizeof name,"%s%.*s%s",start,stem,row->target,row->target[stem]?suffix:"");
oxi_llm_plan*plan=oxi_llm_add_plan(c,name);
if(!plan)return OX_ERR_NOMEM;
plan->transform=row->transform;
plan->number=number;
plan->from=naming->from;
return OX_OK;}
static ox_status oxi_llm_name_rows(oxi_llm_naming*naming,const oxi_llm_name_row*rows,const bool*holds,
 int count,const char*start,const char*name){
for(int i=0;i<count;i++){
const oxi_llm_transform transform=rows[i].transform;
uint32_t number=0;
const char*suffix="";
if(!holds[i]|| !oxi_llm_name_is(rows[i].name,name,&number,&suffix))continue;
if(transform==OXI_LLM_TRANSFORM_ENCODER&&strncmp(start,"enc.",4)!=0)continue;
if(transform==OXI_LLM_TRANSFORM_DECODER&&strncmp(start,"dec.",4)!=0)continue;
const ox_status status=oxi_llm_name_take(naming,&rows[i],start,number,suffix);
if(status!=OX_OK)return status;}
return OX_OK;}
static ox_status oxi_llm_name_rest(oxi_llm_naming*naming,const char*whole,const char*rest){
const oxi_llm_folder*folder=naming->config->folder;
for(int i=0;i<OXI_LLM_STEMS&& !naming->found;i++){
const oxi_llm_stem_row*stem= &oxi_llm_stem_rows[i];
const size_t length=strlen(stem->stem);
const char*p=rest+length;
uint32_t layer=0;
char start[64];
if(!naming->stems[i]||strncmp(rest,stem->stem,length)!=0)continue;
if(!oxi_llm_name_number(&p,&layer)|| *p!='.')continue;
if(layer>=folder->layers&&layer<folder->layers+folder->beyond){
naming->found=true;
return OX_OK;}
(void)snprintf(start,sizeof start,"%s%u.",stem->target,(unsigned)layer);
const ox_status status=oxi_llm_name_rows(naming,oxi_llm_layer_name_rows,naming->of_layer,
 OXI_LLM_LAYER_NAMES,start,p +1);
if(status!=OX_OK)return status;
if(naming->found&&layer>=folder->layers)
return oxi_file_fail(OX_ERR_FORMAT,naming->config->file,0,SIZE_MAX,
 "tensor %s is of layer %u, config.json says %lld layers",OXI_QUOTE(whole),
 (unsigned)layer,(long long)folder->layers);}
if(naming->found)return OX_OK;
return oxi_llm_name_rows(naming,oxi_llm_model_name_rows,naming->of_model,OXI_LLM_MODEL_NAMES,"",rest);}
static ox_status oxi_llm_place_tensor(oxi_llm_naming*naming,const char*name){
naming->found=false;
for(int i=0;i<OXI_LLM_PREFIXES&& !naming->found;i++){
const size_t length=strlen(oxi_llm_prefixes[i]);
if(strncmp(name,oxi_llm_prefixes[i],length)!=0)continue;
const ox_status status=oxi_llm_name_rest(naming,name,name +length);
if(status!=OX_OK)return status;}
if(naming->found)return OX_OK;
return oxi_file_fail(OX_ERR_UNSUPPORTED,naming->config->file,0,SIZE_MAX,
 "tensor %s is none that is known of models of the type %s",OXI_QUOTE(name),
 naming->config->folder->model->name);}
static int oxi_llm_compare_plans(const void*user,uint32_t a,uint32_t b){
const oxi_llm_plan*x=(const oxi_llm_plan*)user+a,*y=(const oxi_llm_plan*)user+b;
const int order=strcmp(x->name,y->name);
return order?order:x->number<y->number? -1:x->number>y->number;}
static ox_status oxi_llm_stack_plans(const oxi_llm_config*c,const uint32_t*order,size_t first,size_t end,
 size_t*pieces,oxi_llm_plan*out){
oxi_llm_folder*folder=c->folder;
*out=folder->plans[order[first]];
if(out->transform!=OXI_LLM_TRANSFORM_STACK){
if(end-first==1)return OX_OK;
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"tensors %s and %s are both %s",
 OXI_QUOTE(ox_file_name(folder->weights,out->from)),
 OXI_QUOTE(ox_file_name(folder->weights,folder->plans[order[first+1]].from)),out->name);}
out->first=(uint32_t)*pieces;
out->count=(uint32_t)(end-first);
for(size_t i=first;i<end;i++){
const oxi_llm_plan*piece= &folder->plans[order[i]];
if(piece->transform!=OXI_LLM_TRANSFORM_STACK||piece->number!=i-first)
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,
 "tensor %s: number %u of those that make up %s was expected",
 OXI_QUOTE(ox_file_name(folder->weights,piece->from)),(unsigned)(i-first),out->name);
folder->pieces[(*pieces)++]=piece->from;}
return OX_OK;}
static ox_status oxi_llm_join_plans(const oxi_llm_config*c){
oxi_llm_folder*folder=c->folder;
const size_t count=folder->plan_count;
size_t kept=0,pieces=0;
if(count==0||count>UINT32_MAX/2)
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"%llu tensors",(unsigned long long)count);
uint32_t*order=(uint32_t*)oxi_calloc(count,2*sizeof*order);
oxi_llm_plan*joined=(oxi_llm_plan*)oxi_calloc(count,sizeof*joined);
folder->pieces=(uint32_t*)oxi_calloc(count,sizeof*folder->pieces);
folder->piece_room=count;
ox_status status=order&&joined&&folder->pieces?OX_OK:OX_ERR_NOMEM;
if(status==OX_OK)
oxi_sort_indexes(order,order+count,(uint32_t)count,oxi_llm_compare_plans,folder->plans);
for(size_t first=0,end;first<count&&status==OX_OK;first=end){
const char*name=folder->plans[order[first]].name;
for(end=first+1;end<count&&strcmp(folder->plans[order[end]].name,name)==0;)end++;
status=oxi_llm_stack_plans(c,order,first,end,&pieces,&joined[kept++]);}
if(status==OX_OK){
memcpy(folder->plans,joined,kept*sizeof*joined);
folder->plan_count=kept;}
oxi_free(order,count*2*sizeof*order);
oxi_free(joined,count*sizeof*joined);
return status;}
static ox_status oxi_llm_add_tensors(const oxi_llm_config*c){
const oxi_llm_folder*folder=c->folder;
const char*sets=folder->model->sets;
oxi_llm_naming naming;
memset(&naming,0,sizeof naming);
naming.config=c;
for(int i=0;i<OXI_LLM_MODEL_NAMES;i++)
naming.of_model[i]=oxi_llm_share_word(oxi_llm_model_name_rows[i].sets,sets);
for(int i=0;i<OXI_LLM_LAYER_NAMES;i++)
naming.of_layer[i]=oxi_llm_share_word(oxi_llm_layer_name_rows[i].sets,sets);
for(int i=0;i<OXI_LLM_STEMS;i++)
naming.stems[i]=oxi_llm_share_word(oxi_llm_stem_rows[i].sets,sets);
const int64_t count=ox_file_count(folder->weights);
for(int64_t i=0;i<count;i++){
naming.from=(uint32_t)i;
const ox_status status=oxi_llm_place_tensor(&naming,ox_file_name(folder->weights,i));
if(status!=OX_OK)return status;}
return oxi_llm_join_plans(c);}
/* >>llm/source/shapes.c */
static bool oxi_llm_adds_one(const oxi_llm_folder*folder,const oxi_llm_plan*plan){
return folder->model->trait==OXI_LLM_TRAIT_ONE&&oxi_ends_with(plan->name,".weight");}
static const char*oxi_llm_shape_rows(const oxi_llm_folder*folder,const oxi_llm_plan*plan,ox_file_entry*e){
int64_t*rows=e->ndim==1? &e->shape[0]: &e->shape[e->ndim-2];
const int64_t heads=plan->transform==OXI_LLM_TRANSFORM_KEY?folder->kv_heads:folder->heads;
const int64_t groups=folder->kv_heads,share=folder->heads/groups+2;
switch(plan->transform){
case OXI_LLM_TRANSFORM_QUERY:
case OXI_LLM_TRANSFORM_KEY:
if(folder->model->trait!=OXI_LLM_TRAIT_PAIRS)return NULL;
if(e->ndim>2)return "is no matrix or vector";
return*rows%(2*heads)?"has rows that are no pairs of as many heads as config.json says":NULL;
case OXI_LLM_TRANSFORM_FUSED:
if(e->ndim>2)return "is no matrix or vector";
if(folder->heads%groups|| *rows%(groups*share))
return "has rows that do not divide into heads";
return NULL;
case OXI_LLM_TRANSFORM_ROWS_FIRST:
case OXI_LLM_TRANSFORM_ROWS_SECOND:
if(e->ndim<2|| *rows%2)return "has rows that are no two halves";
*rows/=2;
return NULL;
case OXI_LLM_TRANSFORM_POSITIONS:
case OXI_LLM_TRANSFORM_WITHOUT_TWO:{
const int64_t offset=plan->transform==OXI_LLM_TRANSFORM_WITHOUT_TWO?2
 :folder->model->trait==OXI_LLM_TRAIT_OFFSET?folder->offset:0;
if(e->ndim!=2|| *rows<=offset)return "has no rows for positions";
*rows-=offset;
return NULL;}
default:return NULL;}}
static const char*oxi_llm_shape_columns(const oxi_llm_plan*plan,ox_file_entry*e){
const oxi_llm_transform how=plan->transform;
const bool turned=how>=OXI_LLM_TRANSFORM_TURNED&&how<=OXI_LLM_TRANSFORM_TURNED_ODD;
int64_t*columns= &e->shape[e->ndim-1];
if(how==OXI_LLM_TRANSFORM_TURNED&&e->ndim==1)return NULL;
if(turned&&e->ndim<2)return "is no matrix";
if((turned&&how!=OXI_LLM_TRANSFORM_TURNED)||how==OXI_LLM_TRANSFORM_EVEN||how==OXI_LLM_TRANSFORM_ODD){
if(*columns%2)return "has an odd number of columns";
*columns/=2;}
if(turned){
const int64_t rows=columns[-1];
columns[-1]= *columns;
*columns=rows;}
return NULL;}
static const char*oxi_llm_shape_latent(const oxi_llm_folder*folder,const oxi_llm_plan*plan,
 ox_file_entry*e){
const int64_t columns=e->shape[1];
if(e->ndim!=2||e->shape[0]!=folder->heads*(folder->nope_size +folder->value_size))
return "has other rows than heads, qk_nope_head_dim and v_head_dim give";
const bool keys=plan->transform==OXI_LLM_TRANSFORM_LATENT_KEYS;
e->ndim=3;
e->shape[0]=folder->heads;
e->shape[1]=keys?columns:folder->value_size;
e->shape[2]=keys?folder->nope_size:columns;
return NULL;}
static int64_t oxi_llm_scales_of(const ox_file*weights,uint32_t blocks){
const char*name=ox_file_name(weights,blocks);
const size_t length=strlen(name),stem=length>7?length-7:0;
char scales[160];
if(stem+8>sizeof scales)return-1;
memcpy(scales,name,stem);
memcpy(scales+stem,"_scales",8);
return oxi_file_find(weights,scales);}
static const char*oxi_llm_shape_mxfp4(const oxi_llm_folder*folder,const oxi_llm_plan*plan,ox_file_entry*e){
ox_file_entry scales;
const int64_t at=oxi_llm_scales_of(folder->weights,plan->from);
if(at<0)return "has no scales beside it";
if(ox_file_get_entry(folder->weights,at,&scales)!=OX_OK)return "has no scales beside it";
if(e->dtype!=OX_U8||e->ndim!=4||e->shape[3]!=16)return "is not u8 [.., .., .., 16]";
if(scales.dtype!=OX_U8||scales.ndim!=3||memcmp(scales.shape,e->shape,3*sizeof*e->shape))
return "has scales of another shape";
if(plan->transform!=OXI_LLM_TRANSFORM_MXFP4&&e->shape[1]%2)return "has an odd number of rows";
if(e->shape[2]>INT64_MAX/32)return "has too many blocks";
e->dtype=OX_MXFP4;
e->ndim=3;
e->shape[1]/=plan->transform==OXI_LLM_TRANSFORM_MXFP4?1:2;
e->shape[2]*=32;
return NULL;}
static const char*oxi_llm_shape_stack(const oxi_llm_folder*folder,const oxi_llm_plan*plan,ox_file_entry*e){
for(uint32_t i=1;i<plan->count;i++){
ox_file_entry other;
if(ox_file_get_entry(folder->weights,folder->pieces[plan->first+i],&other)!=OX_OK||
 other.dtype!=e->dtype||other.ndim!=e->ndim||memcmp(other.shape,e->shape,(size_t)e->ndim*sizeof*e->shape))
return "has not the dtype and shape of all that are stacked with it";}
if(e->ndim>3)return "has too many dims to be stacked";
memmove(e->shape +1,e->shape,(size_t)e->ndim*sizeof*e->shape);
e->shape[0]=plan->count;
e->ndim++;
return NULL;}
static const char*oxi_llm_shape(const oxi_llm_folder*folder,const oxi_llm_plan*plan,ox_file_entry*e){
const bool floats=oxi_info(e->dtype)->cls==OX_CLASS_FLOAT;
if(e->ndim<1)return "has no dims";
switch(plan->transform){
case OXI_LLM_TRANSFORM_NORM:
if(!oxi_llm_adds_one(folder,plan))return NULL;
if(!floats)return "is not of floats";
e->dtype=OX_F32;
return NULL;
case OXI_LLM_TRANSFORM_TERNARY:return floats?NULL:"is not of floats: packed weights are not read";
case OXI_LLM_TRANSFORM_FLAT:
if(e->ndim!=2||e->shape[0]!=1)return "is not [1, n]";
e->ndim=1;
e->shape[0]=e->shape[1];
return NULL;
case OXI_LLM_TRANSFORM_LATENT_KEYS:
case OXI_LLM_TRANSFORM_LATENT_VALUES:return oxi_llm_shape_latent(folder,plan,e);
case OXI_LLM_TRANSFORM_MXFP4:
case OXI_LLM_TRANSFORM_MXFP4_EVEN:
case OXI_LLM_TRANSFORM_MXFP4_ODD:return oxi_llm_shape_mxfp4(folder,plan,e);
case OXI_LLM_TRANSFORM_STACK:return oxi_llm_shape_stack(folder,plan,e);
default:{
const char*wrong=oxi_llm_shape_rows(folder,plan,e);
return wrong?wrong:oxi_llm_shape_columns(plan,e);}}}
static ox_status oxi_llm_add_item(const oxi_llm_config*c,uint32_t index){
const oxi_llm_folder*folder=c->folder;
const oxi_llm_plan*plan= &folder->plans[index];
const uint32_t from=plan->transform==OXI_LLM_TRANSFORM_STACK?folder->pieces[plan->first]:plan->from;
ox_file_entry entry;
size_t bytes=0;
memset(&entry,0,sizeof entry);
if(plan->transform==OXI_LLM_TRANSFORM_VALUES){
entry.dtype=OX_F32;
entry.ndim=1;
entry.shape[0]=plan->count;}else{
const ox_status status=ox_file_get_entry(folder->weights,from,&entry);
if(status!=OX_OK)return status;
const oxi_file_item*stored= &folder->weights->items[from];
const char*wrong=stored->unsupported?stored->unsupported:oxi_llm_shape(folder,plan,&entry);
if(wrong)
return oxi_file_fail(stored->unsupported?OX_ERR_UNSUPPORTED:OX_ERR_FORMAT,c->file,0,
 SIZE_MAX,"tensor %s %s",OXI_QUOTE(stored->name),wrong);}
oxi_file_item*item=oxi_file_add_item(c->file);
int64_t*shape=(int64_t*)oxi_file_take(c->file,sizeof entry.shape);
if(!item|| !shape)return OX_ERR_NOMEM;
memcpy(shape,entry.shape,sizeof entry.shape);
item->name=plan->name;
item->packed=true;
item->extra=index;
if(!oxi_item_shape(item,entry.dtype,entry.ndim,shape,&bytes))
return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"tensor %s is too large",plan->name);
item->bytes=bytes;
return OX_OK;}
static ox_status oxi_llm_add_items(const oxi_llm_config*c){
ox_status status=OX_OK;
for(size_t i=0;i<c->folder->plan_count&&status==OX_OK;i++)
status=oxi_llm_add_item(c,(uint32_t)i);
return status;}
/* >>llm/source/transform.c */
static ox_tensor*oxi_llm_pair_rows(ox_tensor*t,int64_t heads){
const int64_t rows=t->shape[0],columns=t->ndim==2?t->shape[1]:1;
ox_tensor*halves=ox_reshape(t,OX_SHAPE(heads,2,rows/heads/2,columns));
return ox_reshape(ox_transpose(halves,1,2),ox_shape_of(t));}
static ox_tensor*oxi_llm_split_fused(ox_tensor*t,int64_t groups,int64_t share){
const int64_t rows=t->shape[0],columns=t->ndim==2?t->shape[1]:1;
ox_tensor*all=ox_reshape(t,OX_SHAPE(groups,share,rows/groups/share,columns));
ox_tensor*parts[3];
parts[0]=ox_reshape(ox_narrow(all,1,0,share -2),OX_SHAPE(-1,columns));
parts[1]=ox_reshape(ox_narrow(all,1,share -2,1),OX_SHAPE(-1,columns));
parts[2]=ox_reshape(ox_narrow(all,1,share -1,1),OX_SHAPE(-1,columns));
return ox_reshape(ox_cat(parts,3,0),ox_shape_of(t));}
static ox_tensor*oxi_llm_half(ox_tensor*t,int dim,bool second){
const int64_t half=ox_size(t,dim)/2;
return ox_narrow(t,dim,second?half:0,half);}
static ox_tensor*oxi_llm_every_second(ox_tensor*t,int dim,bool odd){
return ox_slice(t,dim,odd,OX_END,2);}
static ox_tensor*oxi_llm_ternary(ox_tensor*t){
const ox_dtype dtype=t->dtype;
ox_tensor*wide=ox_cast(t,OX_F32);
ox_tensor*scale=ox_clamp(ox_mean(ox_flatten(ox_abs(wide),0,-1),OX_DIMS(0),true),1e-5,INFINITY);
return ox_cast(ox_mul(ox_clamp(ox_round(ox_div(wide,scale)),-1,1),scale),dtype);}
static void oxi_llm_mxfp4_block(const unsigned char*from,unsigned char scale,unsigned char*out){
out[0]=scale;
for(int i=0;i<16;i++){
const int low=from[i/2]>>(i%2*4)&15,high=from[8+i/2]>>(i%2*4)&15;
out[1+i]=(unsigned char)(low|high<<4);}}
static ox_tensor*oxi_llm_mxfp4(const oxi_llm_folder*folder,const oxi_llm_plan*plan,ox_tensor*blocks){
const int64_t at=oxi_llm_scales_of(folder->weights,plan->from);
ox_tensor*scales=at<0?NULL:ox_file_tensor_at(folder->weights,at);
if(plan->transform!=OXI_LLM_TRANSFORM_MXFP4){
blocks=oxi_llm_every_second(blocks,1,plan->transform==OXI_LLM_TRANSFORM_MXFP4_ODD);
scales=oxi_llm_every_second(scales,1,plan->transform==OXI_LLM_TRANSFORM_MXFP4_ODD);}
blocks=ox_contiguous(ox_to(blocks,ox_cpu()));
scales=ox_contiguous(ox_to(scales,ox_cpu()));
if(!blocks|| !scales)return NULL;
ox_device_scope cpu=ox_device_scope_begin(ox_cpu());
ox_tensor*out=ox_empty(OX_SHAPE(blocks->shape[0],blocks->shape[1],blocks->shape[2]*32),OX_MXFP4);
ox_device_scope_end(&cpu);
const unsigned char*from=(const unsigned char*)ox_data(blocks),
 *scale=(const unsigned char*)ox_data(scales);
unsigned char*to=out?(unsigned char*)ox_data(out):NULL;
const int64_t count=ox_numel(scales);
for(int64_t i=0;to&&i<count;i++)oxi_llm_mxfp4_block(from+i*16,scale[i],to+i*17);
return out;}
static ox_tensor*oxi_llm_stack(const oxi_llm_folder*folder,const oxi_llm_plan*plan){
const size_t bytes=plan->count*sizeof(ox_tensor*);
ox_tensor**list=(ox_tensor**)oxi_calloc(1,bytes),*out=NULL;
uint32_t count=0;
if(!list||plan->count>INT32_MAX)return oxi_free(list,bytes),(ox_tensor*)NULL;
while(count<plan->count&&
 (list[count]=ox_file_tensor_at(folder->weights,folder->pieces[plan->first+count]))!=NULL)
count++;
if(count==plan->count)out=ox_stack(list,(int)count,0);
oxi_free(list,bytes);
return out;}
static ox_tensor*oxi_llm_transform_one(const oxi_llm_folder*folder,const oxi_llm_plan*plan,ox_tensor*t){
const oxi_llm_transform how=plan->transform;
const oxi_llm_trait trait=folder->model->trait;
switch(how){
case OXI_LLM_TRANSFORM_NORM:
return oxi_llm_adds_one(folder,plan)?ox_add(ox_cast(t,OX_F32),ox_number(1)):t;
case OXI_LLM_TRANSFORM_QUERY:
return trait==OXI_LLM_TRAIT_PAIRS?oxi_llm_pair_rows(t,folder->heads):t;
case OXI_LLM_TRANSFORM_KEY:
return trait==OXI_LLM_TRAIT_PAIRS?oxi_llm_pair_rows(t,folder->kv_heads):t;
case OXI_LLM_TRANSFORM_FUSED:
return oxi_llm_split_fused(t,folder->kv_heads,folder->heads/folder->kv_heads+2);
case OXI_LLM_TRANSFORM_TURNED:return t->ndim==1?t:ox_transpose(t,-2,-1);
case OXI_LLM_TRANSFORM_TURNED_FIRST:return ox_transpose(oxi_llm_half(t,-1,false),-2,-1);
case OXI_LLM_TRANSFORM_TURNED_SECOND:return ox_transpose(oxi_llm_half(t,-1,true),-2,-1);
case OXI_LLM_TRANSFORM_TURNED_EVEN:return ox_transpose(oxi_llm_every_second(t,-1,false),-2,-1);
case OXI_LLM_TRANSFORM_TURNED_ODD:return ox_transpose(oxi_llm_every_second(t,-1,true),-2,-1);
case OXI_LLM_TRANSFORM_ROWS_FIRST:return oxi_llm_half(t,-2,false);
case OXI_LLM_TRANSFORM_ROWS_SECOND:return oxi_llm_half(t,-2,true);
case OXI_LLM_TRANSFORM_EVEN:return oxi_llm_every_second(t,-1,false);
case OXI_LLM_TRANSFORM_ODD:return oxi_llm_every_second(t,-1,true);
case OXI_LLM_TRANSFORM_MXFP4:
case OXI_LLM_TRANSFORM_MXFP4_EVEN:
case OXI_LLM_TRANSFORM_MXFP4_ODD:return oxi_llm_mxfp4(folder,plan,t);
case OXI_LLM_TRANSFORM_LATENT_KEYS:
case OXI_LLM_TRANSFORM_LATENT_VALUES:{
const bool keys=how==OXI_LLM_TRANSFORM_LATENT_KEYS;
ox_tensor*heads=ox_reshape(t,OX_SHAPE(folder->heads,folder->nope_size +folder->value_size,t->shape[1]));
return keys?ox_transpose(ox_narrow(heads,1,0,folder->nope_size),1,2)
 :ox_narrow(heads,1,folder->nope_size,folder->value_size);}
case OXI_LLM_TRANSFORM_POSITIONS:
return trait==OXI_LLM_TRAIT_OFFSET?ox_slice(t,0,folder->offset,OX_END,1):t;
case OXI_LLM_TRANSFORM_WITHOUT_TWO:return ox_slice(t,0,2,OX_END,1);
case OXI_LLM_TRANSFORM_FLAT:return ox_flatten(t,0,-1);
case OXI_LLM_TRANSFORM_TERNARY:return folder->ternary?oxi_llm_ternary(t):t;
default:return t;}}
static ox_tensor*oxi_llm_transform_plan(const oxi_llm_folder*folder,const oxi_llm_plan*plan){
if(plan->transform==OXI_LLM_TRANSFORM_STACK)return oxi_llm_stack(folder,plan);
if(plan->transform==OXI_LLM_TRANSFORM_VALUES){
ox_device_scope cpu=ox_device_scope_begin(ox_cpu());
ox_tensor*t=ox_from_floats(plan->values,OX_SHAPE((int64_t)plan->count),OX_F32);
ox_device_scope_end(&cpu);
return t;}
ox_tensor*t=ox_file_tensor_at(folder->weights,plan->from);
return t?oxi_llm_transform_one(folder,plan,t):NULL;}
static ox_tensor*oxi_llm_load_item(ox_file*file,const oxi_file_item*item){
const oxi_llm_folder*folder=(const oxi_llm_folder*)file->state;
ox_scope scope=ox_scope_begin();
ox_tensor*t=ox_contiguous(oxi_llm_transform_plan(folder,&folder->plans[item->extra]));
if(t&& !file->device->region&&ox_device_of(t)!=file->device)t=ox_to(t,file->device);
bool same=t&&t->dtype==(ox_dtype)item->dtype&&t->ndim==item->ndim;
for(int d=0;same&&d<t->ndim;d++)same=t->shape[d]==item->shape[d];
if(t&& !same)
t=OXI_FAIL_NULL(OX_ERR_SHAPE,"llm: tensor %s became %s",item->name,oxi_tensor_text(t));
if(t)t=ox_keep(t);
ox_scope_end(&scope);
return t;}
/* >>llm/source/folder.c */
enum{OXI_LLM_TEXT_MOST=1<<28};
#define OXI_X(name,architecture,sets,trait,period) \
{name,architecture,sets,OXI_LLM_TRAIT_##trait,period},
static const oxi_llm_model_type oxi_llm_model_types[]={OXI_LLM_MODEL_TYPE_LIST(OXI_X)};
#undef OXI_X
static void oxi_llm_folder_close(ox_file*file){
oxi_llm_folder*folder=(oxi_llm_folder*)file->state;
if(!folder)return;
ox_file_close(folder->weights);
oxi_free(folder->plans,folder->plan_room*sizeof*folder->plans);
oxi_free(folder->pieces,folder->piece_room*sizeof*folder->pieces);
oxi_free(folder,sizeof*folder);
file->state=NULL;}
static const oxi_format oxi_format_huggingface={
"huggingface","",NULL,NULL,NULL,oxi_llm_load_item,oxi_llm_folder_close};
static ox_status oxi_llm_folder_text(ox_file*file,const char*name,bool required,ox_string*out){
const char*path=file->parts[0].path;
const size_t bytes=strlen(path)+strlen(name)+2;
const char*slash=oxi_folder_length(path)==strlen(path)?"":"/";
oxi_mapping mapping;
char*whole=(char*)oxi_alloc(bytes),*copy=NULL;
ox_status status=whole?OX_OK:OX_ERR_NOMEM;
memset(out,0,sizeof*out);
memset(&mapping,0,sizeof mapping);
if(whole)(void)snprintf(whole,bytes,"%s%s%s",path,slash,name);
if(whole&& !oxi_is_file(whole)&& !required){
oxi_free(whole,bytes);
return OX_OK;}
if(status==OX_OK)status=oxi_map_file(whole,false,&mapping);
if(status==OX_OK&&mapping.bytes>OXI_LLM_TEXT_MOST)
status=oxi_file_fail(OX_ERR_FORMAT,file,0,SIZE_MAX,"%s has %llu bytes (at most %d are read)",
 name,(unsigned long long)mapping.bytes,(int)OXI_LLM_TEXT_MOST);
if(status==OX_OK){
copy=(char*)oxi_file_take(file,mapping.bytes+1);
if(!copy)status=OX_ERR_NOMEM;}
if(copy){
if(mapping.bytes)memcpy(copy,mapping.data,mapping.bytes);
copy[mapping.bytes]=0;
out->data=copy;
out->length=(int64_t)mapping.bytes;}
oxi_unmap_file(&mapping);
oxi_free(whole,bytes);
return status;}
static ox_status oxi_llm_folder_json(ox_file*file,const char*name,ox_string text,oxi_json*out){
char label[192];
memset(out,0,sizeof*out);
if(!text.data)return OX_OK;
(void)snprintf(label,sizeof label,"%s: %s",oxi_path_text(file->parts[0].path),name);
const ox_status status=oxi_json_parse(label,text.data,(size_t)text.length,out);
if(status!=OX_OK||out->nodes[0].type==OXI_JSON_OBJECT)return status;
return oxi_file_fail(OX_ERR_FORMAT,file,0,SIZE_MAX,"%s is no object",name);}
static const oxi_llm_model_type*oxi_llm_find_model(const oxi_json*json,uint32_t object,const char**type){
const uint32_t at=oxi_json_find(json,object,"model_type");
if(!at||json->nodes[at].type!=OXI_JSON_STRING)return NULL;
*type=json->nodes[at].value.text;
for(size_t i=0;i<sizeof oxi_llm_model_types/sizeof*oxi_llm_model_types;i++)
if(strcmp(oxi_llm_model_types[i].name,*type)==0)return&oxi_llm_model_types[i];
return NULL;}
static ox_status oxi_llm_folder_model(oxi_llm_config*c){
const char*type=NULL;
const uint32_t inner=oxi_json_find(&c->config,0,"text_config");
if(inner&&c->config.nodes[inner].type==OXI_JSON_OBJECT)c->inner=inner;
if(c->inner)c->folder->model=oxi_llm_find_model(&c->config,c->inner,&type);
if(!c->folder->model)c->folder->model=oxi_llm_find_model(&c->config,0,&type);
if(c->folder->model)return OX_OK;
if(!type)return oxi_file_fail(OX_ERR_FORMAT,c->file,0,SIZE_MAX,"config.json: no model_type");
return oxi_file_fail(OX_ERR_UNSUPPORTED,c->file,0,SIZE_MAX,"models of the type %s are not supported",
 OXI_QUOTE(type));}
static ox_status oxi_llm_folder_quantized(const oxi_llm_config*c){
const char*method=oxi_llm_config_text(c,"quantization_config.quant_method");
if(!method||strcmp(method,"mxfp4")==0)return OX_OK;
c->folder->ternary=strcmp(method,"bitnet")==0;
if(c->folder->ternary)return OX_OK;
return oxi_file_fail(OX_ERR_UNSUPPORTED,c->file,0,SIZE_MAX,
 "weights that are quantized by %s are not supported",OXI_QUOTE(method));}
static ox_status oxi_llm_folder_sizes(const oxi_llm_config*c){
enum{MOST=1<<20};
oxi_llm_folder*f=c->folder;
int64_t value=0,decoder=0,groups=0;
ox_status status=oxi_llm_config_int(c,"$heads",1,MOST,-1,&f->heads);
if(status==OX_OK)status=oxi_llm_config_int(c,"$layers",1,1<<16,-1,&f->layers);
if(status==OX_OK)status=oxi_llm_config_int(c,"num_decoder_layers",1,1<<16,1,&decoder);
if(status==OX_OK)status=oxi_llm_config_int(c,"num_nextn_predict_layers",0,MOST,0,&f->beyond);
if(status==OX_OK)status=oxi_llm_config_int(c,"$kv_heads",1,MOST,f->heads,&groups);
if(status==OX_OK)status=oxi_llm_config_int(c,"qk_nope_head_dim",1,MOST,1,&f->nope_size);
if(status==OX_OK)status=oxi_llm_config_int(c,"v_head_dim",1,MOST,1,&f->value_size);
if(status==OX_OK)status=oxi_llm_config_int(c,"pad_token_id+1",0,INT32_MAX,0,&f->offset);
if(status==OX_OK)status=oxi_llm_config_int(c,"tie_word_embeddings",0,1,0,&value);
f->tied=value!=0;
if(decoder>f->layers)f->layers=decoder;
if(status==OX_OK&&strcmp(f->model->architecture,"falcon")==0){
int64_t newer=0;
status=oxi_llm_config_int(c,"multi_query",0,1,1,&value);
if(status==OX_OK)status=oxi_llm_config_int(c,"new_decoder_architecture",0,1,0,&newer);
if(value&& !newer)groups=1;}
f->kv_heads=groups;
if(status==OX_OK&&strcmp(f->model->name,"deepseek_v3")==0){
status=oxi_llm_config_int(c,"rope_interleave",0,1,1,&value);
if(status==OX_OK&& !value)
status=oxi_file_fail(OX_ERR_UNSUPPORTED,c->file,0,SIZE_MAX,
 "config.json: rope_interleave false is not supported");}
return status;}
static ox_status oxi_llm_folder_template(const oxi_llm_config*c,const oxi_json*tokenizer){
ox_string file;
ox_status status=oxi_llm_folder_text(c->file,"chat_template.jinja",false,&file);
if(status!=OX_OK)return status;
if(file.data)return oxi_llm_fact_text(c,"tokenizer.chat_template",file.data,(size_t)file.length);
const uint32_t at=tokenizer->count?oxi_json_find(tokenizer,0,"chat_template"):0;
const oxi_json_node*node=at? &tokenizer->nodes[at]:NULL;
if(node&&node->type==OXI_JSON_STRING)
return oxi_llm_fact_text(c,"tokenizer.chat_template",node->value.text,node->length);
if(!node||node->type!=OXI_JSON_ARRAY)return OX_OK;
for(uint32_t i=at+1;i<node->next&&status==OX_OK;i=tokenizer->nodes[i].next){
const uint32_t name=oxi_json_find(tokenizer,i,"name"),text=oxi_json_find(tokenizer,i,"template");
if(!name|| !text||tokenizer->nodes[name].type!=OXI_JSON_STRING||
 tokenizer->nodes[text].type!=OXI_JSON_STRING)
continue;
char key[96];
const bool usual=strcmp(tokenizer->nodes[name].value.text,"default")==0;
(void)snprintf(key,sizeof key,"tokenizer.chat_template%s%.48s",usual?"":".",
 usual?"":tokenizer->nodes[name].value.text);
status=oxi_llm_fact_text(c,key,tokenizer->nodes[text].value.text,tokenizer->nodes[text].length);}
return status;}
static ox_status oxi_llm_folder_tokenizer(const oxi_llm_config*c){
oxi_json tokenizer;
const ox_string json=c->folder->text[OXI_LLM_SOURCE_TOKENIZER],
 config=c->folder->text[OXI_LLM_SOURCE_TOKENIZER_CONFIG];
ox_status status=OX_OK;
if(json.data)
status=oxi_llm_fact_text(c,"tokenizer.huggingface.json",json.data,(size_t)json.length);
if(json.data&&status==OX_OK&&config.data)
status=oxi_llm_fact_text(c,"tokenizer.huggingface.config",config.data,(size_t)config.length);
if(status==OX_OK)
status=oxi_llm_folder_json(c->file,"tokenizer_config.json",
 c->folder->text[OXI_LLM_SOURCE_TOKENIZER_CONFIG],&tokenizer);
if(status!=OX_OK)return status;
status=oxi_llm_folder_template(c,&tokenizer);
oxi_json_free(&tokenizer);
return status;}
static ox_status oxi_llm_folder_name(const oxi_llm_config*c){
const char*path=c->file->parts[0].path,*end=path+strlen(path);
while(end>path&&(end[-1]=='/'||end[-1]=='\\'))end--;
const char*start=end;
while(start>path&&start[-1]!='/'&&start[-1]!='\\')start--;
if(start==end|| !oxi_is_utf8(path))return OX_OK;
return oxi_llm_fact_text(c,"general.name",start,(size_t)(end-start));}
static ox_status oxi_llm_folder_texts(oxi_llm_config*c){
static const char*const names[]={"config.json","tokenizer.json","tokenizer_config.json"};
ox_string generation;
ox_status status=OX_OK;
for(int i=0;i<OXI_LLM_SOURCE_TEXT_COUNT&&status==OX_OK;i++)
status=oxi_llm_folder_text(c->file,names[i],i==OXI_LLM_SOURCE_CONFIG,&c->folder->text[i]);
if(status==OX_OK)status=oxi_llm_folder_text(c->file,"generation_config.json",false,&generation);
if(status==OX_OK)
status=oxi_llm_folder_json(c->file,"config.json",c->folder->text[OXI_LLM_SOURCE_CONFIG],&c->config);
if(status==OX_OK)
status=oxi_llm_folder_json(c->file,"generation_config.json",generation,&c->generation);
return status;}
static ox_status oxi_llm_folder_read(oxi_llm_config*c){
ox_status status=oxi_llm_folder_texts(c);
if(status==OX_OK)status=oxi_llm_folder_model(c);
if(status==OX_OK)status=oxi_llm_folder_quantized(c);
if(status==OX_OK)status=oxi_llm_folder_sizes(c);
if(status==OX_OK){
c->folder->weights=ox_file_open(c->file->parts[0].path,c->file->device);
if(!c->folder->weights)status=ox_error();}
if(status==OX_OK&&strcmp(ox_file_format(c->folder->weights),"safetensors")!=0)
status=oxi_file_fail(OX_ERR_UNSUPPORTED,c->file,0,SIZE_MAX,"the weights are no safetensors");
if(status==OX_OK)status=oxi_llm_add_facts(c);
if(status==OX_OK)status=oxi_llm_folder_name(c);
if(status==OX_OK)status=oxi_llm_folder_tokenizer(c);
if(status==OX_OK)status=oxi_llm_add_tensors(c);
if(status==OX_OK)status=oxi_llm_add_rope(c);
if(status==OX_OK)status=oxi_llm_add_items(c);
return status==OX_OK?oxi_file_index(c->file):status;}
static ox_file*oxi_llm_empty_file(const char*path,ox_device*device,const oxi_format*format){
ox_file*file=oxi_file_new(device);
if(!file)return NULL;
char*copy=(char*)oxi_file_take(file,strlen(path)+1);
oxi_file_part*part=copy?oxi_file_add_part(file):NULL;
if(!part){
oxi_file_free(file);
return NULL;}
strcpy(copy,path);
part->path=copy;
part->borrowed=true;
file->format=format;
return file;}
static ox_file*oxi_llm_open_folder(const char*path,ox_device*device){
oxi_llm_config c;
ox_file*file=oxi_llm_empty_file(path,device,&oxi_format_huggingface);
if(!file)return NULL;
memset(&c,0,sizeof c);
c.file=file;
file->state=c.folder=(oxi_llm_folder*)oxi_calloc(1,sizeof*c.folder);
const ox_status status=c.folder?oxi_llm_folder_read(&c):OX_ERR_NOMEM;
oxi_json_free(&c.config);
oxi_json_free(&c.generation);
if(status==OX_OK)return file;
oxi_file_free(file);
return NULL;}
/* >>llm/source/bin.c */
static const oxi_format oxi_format_llama2c={"llama2.c","",NULL,NULL,NULL,NULL,NULL};
typedef struct oxi_llm_bin{
ox_file*file;
int64_t width,hidden,layers,heads,kv_heads,vocabulary,context;
bool shared;
uint64_t at;}oxi_llm_bin;
static ox_status oxi_llm_bin_header(oxi_llm_bin*b,int*version){
unsigned char head[40];
const size_t bytes=b->file->parts[0].mapping.bytes;
if(bytes<256)
return oxi_file_fail(OX_ERR_FORMAT,b->file,0,SIZE_MAX,"no model: less than 256 bytes");
ox_status status=oxi_file_copy(b->file,0,0,head,sizeof head);
if(status!=OX_OK)return status;
*version=oxi_read_u32(head)==0x616b3432u?(int32_t)oxi_read_u32(head+4):0;
if(*version!=0&& *version!=1)
return oxi_file_fail(OX_ERR_UNSUPPORTED,b->file,0,4,
 "version %d of llama2.c's format is not supported (0 and 1 are)",*version);
int64_t sizes[7];
for(int i=0;i<7;i++)sizes[i]=(int32_t)oxi_read_u32(head+(*version?8:0)+4*i);
b->shared= *version?head[36]!=0:sizes[5]>0;
if(!*version&&sizes[5]<0)sizes[5]= -sizes[5];
for(int i=0;i<7;i++)
if(sizes[i]<1||sizes[i]>1<<24)
return oxi_file_fail(OX_ERR_FORMAT,b->file,0,(size_t)(4*i),"size %d is %lld",i,(long long)sizes[i]);
b->width=sizes[0];
b->hidden=sizes[1];
b->layers=sizes[2];
b->heads=sizes[3];
b->kv_heads=sizes[4];
b->vocabulary=sizes[5];
b->context=sizes[6];
b->at= *version?256:28;
if(b->width%b->heads||b->heads%b->kv_heads||b->width/b->heads%2||b->layers>1<<16)
return oxi_file_fail(OX_ERR_FORMAT,b->file,0,0,"%lld wide, %lld heads, %lld key-value heads",
 (long long)b->width,(long long)b->heads,(long long)b->kv_heads);
return OX_OK;}
static ox_status oxi_llm_bin_weight(oxi_llm_bin*b,bool of_layers,const char*name,int64_t rows,
 int64_t columns){
const uint64_t each=(uint64_t)(rows?rows:1)*(uint64_t)columns*4;
const uint64_t all=b->file->parts[0].mapping.bytes;
for(int64_t layer=0;layer<(of_layers?b->layers:1);layer++,b->at+=each){
if(b->at>all||each>all-b->at)
return oxi_file_fail(OX_ERR_FORMAT,b->file,0,(size_t)b->at,
 "the file ends inside %s, of %llu bytes a layer",name?name:"its rope",(unsigned long long)each);
if(!name)continue;
char full[64];
size_t bytes=0;
if(of_layers)
(void)snprintf(full,sizeof full,"blk.%lld.%s",(long long)layer,name);
else
(void)snprintf(full,sizeof full,"%s",name);
char*copy=(char*)oxi_file_take(b->file,strlen(full)+1);
int64_t*shape=(int64_t*)oxi_file_take(b->file,2*sizeof*shape);
oxi_file_item*item=copy&&shape?oxi_file_add_item(b->file):NULL;
if(!item)return OX_ERR_NOMEM;
strcpy(copy,full);
shape[0]=rows?rows:columns;
shape[1]=columns;
if(!oxi_item_shape(item,OX_F32,rows?2:1,shape,&bytes))
return oxi_file_fail(OX_ERR_FORMAT,b->file,0,(size_t)b->at,"%s is too large",copy);
item->name=copy;
item->bytes=bytes;
item->offset=(size_t)b->at;
item->swapped=oxi_big_endian_host();}
return OX_OK;}
static ox_status oxi_llm_bin_weights(oxi_llm_bin*b,int version){
const int64_t width=b->width,hidden=b->hidden,size=width/b->heads;
const struct{
int before;
int after;
bool of_layers;
const char*name;
int64_t rows,columns;}weights[]={
{0,3,false,"token_embd.weight",b->vocabulary,width},{1,0,true,"attn_norm.weight",0,width},
 {2,4,true,"attn_q.weight",width,width},{3,5,true,"attn_k.weight",b->kv_heads*size,width},
 {4,6,true,"attn_v.weight",b->kv_heads*size,width},{5,7,true,"attn_output.weight",width,width},
 {6,1,true,"ffn_norm.weight",0,width},{7,8,true,"ffn_gate.weight",hidden,width},
 {8,9,true,"ffn_down.weight",width,hidden},{9,10,true,"ffn_up.weight",hidden,width},
 {10,2,false,"output_norm.weight",0,width},{11,-1,false,NULL,b->context,size},
 {12,11,false,"output.weight",b->vocabulary,width},};
enum{COUNT=(int)(sizeof weights/sizeof*weights)};
for(int place=0;place<COUNT;place++)
for(int i=0;i<COUNT;i++){
if((version?weights[i].after:weights[i].before)!=place)continue;
if(i==COUNT-1&&b->shared)continue;
const ox_status status=oxi_llm_bin_weight(b,weights[i].of_layers,weights[i].name,
 weights[i].rows,weights[i].columns);
if(status!=OX_OK)return status;}
return OX_OK;}
static ox_status oxi_llm_bin_facts(const oxi_llm_config*c,const oxi_llm_bin*b){
const struct{
const char*key;
int64_t value;}facts[]={{"vocab_size",b->vocabulary},{"context_length",b->context},
 {"embedding_length",b->width},{"block_count",b->layers},{"feed_forward_length",b->hidden},
 {"attention.head_count",b->heads},{"attention.head_count_kv",b->kv_heads},
 {"rope.dimension_count",b->width/b->heads},{"tokenizer.ggml.bos_token_id",1},
 {"tokenizer.ggml.eos_token_id",2}};
ox_status status=oxi_llm_fact_text(c,"general.architecture","llama",5);
for(size_t i=0;i<sizeof facts/sizeof*facts&&status==OX_OK;i++)
status=oxi_llm_fact_number(c,facts[i].key,OX_GGUF_U32,(double)facts[i].value);
if(status==OX_OK)
status=oxi_llm_fact_number(c,"attention.layer_norm_rms_epsilon",OX_GGUF_F32,1e-5);
return status==OX_OK?oxi_llm_fact_number(c,"rope.freq_base",OX_GGUF_F32,10000):status;}
static ox_status oxi_llm_bin_token(ox_file*file,int64_t id,const char*text,size_t length,ox_string*out){
static const char*const markers[]={"<unk>","<s>","</s>"};
if(id<3){
text=markers[id];
length=strlen(text);}
size_t blanks=0,used=0;
for(size_t i=0;i<length;i++)blanks+=text[i]==' ';
char*copy=(char*)oxi_file_take(file,length+2*blanks+1);
if(!copy)return OX_ERR_NOMEM;
for(size_t i=0;i<length;i++){
if(text[i]==' '){
memcpy(copy+used,"\xE2\x96\x81",3);
used+=3;}else{
copy[used++]=text[i];}}
copy[used]=0;
out->data=copy;
out->length=(int64_t)used;
return OX_OK;}
static ox_status oxi_llm_bin_tokens(const oxi_llm_config*c,const unsigned char*data,size_t bytes,
 int64_t count){
ox_file*file=c->file;
if((uint64_t)count>bytes/8)
return oxi_file_fail(OX_ERR_FORMAT,file,0,SIZE_MAX,"its tokenizer has less than %lld tokens",
 (long long)count);
oxi_meta_array*array=(oxi_meta_array*)oxi_file_take(file,sizeof*array);
ox_string*texts=(ox_string*)oxi_file_take(file,(size_t)count*sizeof*texts);
float*scores=(float*)oxi_file_take(file,(size_t)count*sizeof*scores);
int32_t*types=(int32_t*)oxi_file_take(file,(size_t)count*sizeof*types);
size_t at=4;
if(!array|| !texts|| !scores|| !types)return OX_ERR_NOMEM;
for(int64_t i=0;i<count;i++){
if(bytes<at||bytes-at<8)
return oxi_file_fail(OX_ERR_FORMAT,file,0,SIZE_MAX,"its tokenizer ends at token %lld",(long long)i);
const uint32_t bits=oxi_read_u32(data+at),length=oxi_read_u32(data+at+4);
at+=8;
if(length>bytes-at)
return oxi_file_fail(OX_ERR_FORMAT,file,0,SIZE_MAX,"its tokenizer ends inside token %lld",(long long)i);
memcpy(&scores[i],&bits,4);
types[i]=i==0?OX_TOKEN_UNKNOWN:i<3?OX_TOKEN_CONTROL:i<259?OX_TOKEN_BYTE:OX_TOKEN_NORMAL;
const ox_status status=oxi_llm_bin_token(file,i,(const char*)data+at,length,&texts[i]);
if(status!=OX_OK)return status;
at+=length;}
memset(array,0,sizeof*array);
array->count=count;
array->texts=texts;
array->type=OX_GGUF_STRING;
ox_status status=oxi_llm_fact_text(c,"tokenizer.ggml.model","llama",5);
oxi_meta_item*meta=status==OX_OK?oxi_llm_new_fact(c,"tokenizer.ggml.tokens"):NULL;
if(!meta)return OX_ERR_NOMEM;
meta->type=OX_FILE_META_ARRAY;
meta->data=array;
status=oxi_llm_fact_array(c,"tokenizer.ggml.scores",OX_GGUF_F32,scores,count);
return status==OX_OK?oxi_llm_fact_array(c,"tokenizer.ggml.token_type",OX_GGUF_I32,types,count):status;}
static ox_status oxi_llm_bin_tokenizer(const oxi_llm_config*c,int64_t count){
const char*path=c->file->parts[0].path;
const size_t folder=oxi_folder_length(path),bytes=folder+40;
char*beside=(char*)oxi_alloc(bytes);
oxi_mapping mapping;
if(!beside)return OX_ERR_NOMEM;
memset(&mapping,0,sizeof mapping);
(void)snprintf(beside,bytes,"%.*stok%lld.bin",(int)folder,path,(long long)count);
if(!oxi_is_file(beside))(void)snprintf(beside,bytes,"%.*stokenizer.bin",(int)folder,path);
ox_status status=OX_OK;
if(oxi_is_file(beside)){
status=oxi_map_file(beside,true,&mapping);
if(status==OX_OK)status=oxi_llm_bin_tokens(c,mapping.data,mapping.bytes,count);
oxi_unmap_file(&mapping);}
oxi_free(beside,bytes);
return status;}
static ox_file*oxi_llm_open_bin(const char*path,ox_device*device){
static const oxi_llm_model_type llama={"llama","llama","",OXI_LLM_TRAIT_NONE,0};
oxi_llm_config c;
oxi_llm_folder folder;
oxi_llm_bin b;
int version=0;
ox_file*file=oxi_file_new(device);
if(!file)return NULL;
memset(&c,0,sizeof c);
memset(&folder,0,sizeof folder);
memset(&b,0,sizeof b);
folder.model= &llama;
c.file=b.file=file;
c.folder= &folder;
file->format= &oxi_format_llama2c;
ox_status status=oxi_file_map_part(file,path);
if(status==OX_OK)status=oxi_llm_bin_header(&b,&version);
if(status==OX_OK)status=oxi_llm_bin_weights(&b,version);
if(status==OX_OK)status=oxi_llm_bin_facts(&c,&b);
if(status==OX_OK)status=oxi_llm_bin_tokenizer(&c,b.vocabulary);
if(status==OX_OK)status=oxi_file_index(file);
if(status==OX_OK)return file;
oxi_file_free(file);
return NULL;}
/* >>llm/source/source.c */
struct oxi_llm_source{
ox_file*file;};
static oxi_llm_source*oxi_llm_source_over(ox_file*file){
if(!file)return NULL;
oxi_llm_source*source=(oxi_llm_source*)oxi_calloc(1,sizeof*source);
if(source)
source->file=file;
else
ox_file_close(file);
return source;}
static OXI_UNUSED oxi_llm_source*oxi_llm_source_of_file(ox_file*file){
if(!file){
(void)oxi_fail_missing("llm: the file");
return NULL;}
oxi_atomic_add(&file->references,1);
return oxi_llm_source_over(file);}
static oxi_llm_source*oxi_llm_source_beside(const char*path,ox_device*device){
const size_t length=oxi_folder_length(path),bytes=length+2;
char*folder=(char*)oxi_alloc(bytes);
if(!folder)return NULL;
memcpy(folder,length?path:"./",length?length:2);
folder[length?length:1]=0;
oxi_llm_source*source=oxi_llm_source_over(oxi_llm_open_folder(folder,device));
oxi_free(folder,bytes);
return source;}
static oxi_llm_source*oxi_llm_source_open(const char*path,ox_device*device){
if(!path|| !*path){
(void)oxi_fail(OX_ERR_ARG,"llm: no path");
return NULL;}
if(oxi_is_folder(path))return oxi_llm_source_over(oxi_llm_open_folder(path,device));
if(strcmp(path+oxi_folder_length(path),"config.json")==0)
return oxi_llm_source_beside(path,device);
if(oxi_ends_with(path,".bin"))return oxi_llm_source_over(oxi_llm_open_bin(path,device));
ox_file*file=ox_file_open(path,device);
if(file&&strcmp(ox_file_format(file),"gguf")!=0){
(void)oxi_file_fail(OX_ERR_UNSUPPORTED,file,0,SIZE_MAX,
 "no model: a GGUF file, a folder with a config.json, or llama2.c's .bin is one");
ox_file_close(file);
return NULL;}
return oxi_llm_source_over(file);}
static void oxi_llm_source_close(oxi_llm_source*source){
if(!source)return;
ox_file_close(source->file);
oxi_free(source,sizeof*source);}
static OXI_UNUSED ox_file*oxi_llm_source_file(const oxi_llm_source*s){
return s->file;}
static OXI_UNUSED ox_file_meta oxi_llm_source_find(const oxi_llm_source*s,const char*key){
return ox_file_meta_find(s->file,key);}
static OXI_UNUSED ox_file_meta oxi_llm_source_element(const oxi_llm_source*s,const ox_file_meta*array,
 int64_t i){
return ox_file_meta_element(s->file,array,i);}
static OXI_UNUSED int64_t oxi_llm_source_meta_count(const oxi_llm_source*s){
return ox_file_meta_count(s->file);}
static OXI_UNUSED ox_file_meta oxi_llm_source_meta_at(const oxi_llm_source*s,int64_t i){
return ox_file_meta_at(s->file,i);}
static OXI_UNUSED bool oxi_llm_source_has(const oxi_llm_source*s,const char*tensor){
return ox_file_has(s->file,tensor);}
static OXI_UNUSED ox_tensor*oxi_llm_source_tensor(oxi_llm_source*s,const char*tensor){
return ox_file_tensor(s->file,tensor);}
static OXI_UNUSED int64_t oxi_llm_source_count(const oxi_llm_source*s){
return ox_file_count(s->file);}
static OXI_UNUSED const char*oxi_llm_source_name(const oxi_llm_source*s,int64_t i){
return ox_file_name(s->file,i);}
static OXI_UNUSED ox_status oxi_llm_source_entry(const oxi_llm_source*s,int64_t i,ox_file_entry*out){
return ox_file_get_entry(s->file,i,out);}
static OXI_UNUSED ox_string oxi_llm_source_text(const oxi_llm_source*s,oxi_llm_source_text_kind which){
ox_string none;
memset(&none,0,sizeof none);
if(s->file->format== &oxi_format_huggingface)
return((const oxi_llm_folder*)s->file->state)->text[which];
if(which!=OXI_LLM_SOURCE_TOKENIZER)return none;
const ox_file_meta meta=ox_file_meta_find(s->file,"tokenizer.huggingface.json");
return meta.type==OX_FILE_META_STRING?meta.text:none;}
/* >>llm/model/model.h */
#ifndef OX_LLM_MODEL_H
#define OX_LLM_MODEL_H
typedef enum oxi_llm_block{
OXI_LLM_BLOCK_PRE=0,OXI_LLM_BLOCK_POST,OXI_LLM_BLOCK_SANDWICH,OXI_LLM_BLOCK_PARALLEL,OXI_LLM_BLOCK_SUM
 }oxi_llm_block;
typedef enum oxi_llm_norm_kind{OXI_LLM_NORM_RMS=0,OXI_LLM_NORM_LAYER}oxi_llm_norm_kind;
typedef enum oxi_llm_rope_kind{
OXI_LLM_ROPE_NONE=0,OXI_LLM_ROPE_PAIRS,OXI_LLM_ROPE_HALVES}oxi_llm_rope_kind;
typedef enum oxi_llm_router{
OXI_LLM_ROUTER_NONE=0,OXI_LLM_ROUTER_SOFTMAX,OXI_LLM_ROUTER_SIGMOID,OXI_LLM_ROUTER_LATE,
 OXI_LLM_ROUTER_COUNT}oxi_llm_router;
enum{OXI_LLM_SEES_ALL=0,OXI_LLM_SEES_BEFORE};
#define OXI_LLM_TRAIT_LIST(X) \
X(ENCODER) \
X(FIRST_BARE) \
X(PARALLEL_FACT) \
X(PARALLEL_WITHOUT) \
X(BARE_NORMS) \
X(NORM_FACT) \
X(EMBEDDING_ROOT) \
X(SCALES_OF_SIZES) \
X(EMBEDDING_NORMED) \
X(LATE_NORMS) \
X(LATE_BARE_NORMS) \
X(SCORE_CAP) \
X(LOGIT_CAP) \
X(LOGIT_CAP_30) \
X(LOGIT_DIVIDED) \
X(NO_OUTPUT_BIAS) \
X(GATE_IN_UP) \
X(HALF_HIDDEN) \
X(SECTION_HALVES) \
X(DEPTH_POSITIONS) \
X(ALIBI_8) \
X(ROPE_FACT) \
X(NO_FACTORS) \
X(GATE_LOG2) \
X(GATE_SOFTPLUS) \
X(POST_EPSILON) \
X(TURNED_SCALE) \
X(KEY_SCALE) \
X(WINDOW_TURNS) \
X(DENSE_TURNS) \
X(WINDOW_UNSCALED) \
X(WINDOW_10000) \
X(DEEP_WINDOWS) \
X(CHUNKS) \
X(FOURTH_PLAIN) \
X(FIRST_PLAIN) \
X(PLAIN_WARMER) \
X(ROUTED_NORM) \
X(ROUTED_FIRST) \
X(ROUTER_EARLY) \
X(DENSE_BESIDE) \
X(SHARED_HALF) \
X(EXPERT_CLAMP_7) \
X(CLAMP_LATE) \
X(SHARED_CLAMP) \
X(DENSE_WIDTH) \
X(BESIDE_ROOT) \
X(QUERY_GATED) \
X(LATE_EMBEDDING_NORM) \
X(RESIDUAL_NORMED) \
X(PAIRED_HEADS)
enum{
#define OXI_X(trait)OXI_LLM_TRAIT_BIT_##trait,
OXI_LLM_TRAIT_LIST(OXI_X)
#undef OXI_X
OXI_LLM_TRAIT_BITS};
#define OXI_LLM_TRAIT(trait)((uint64_t)1 <<OXI_LLM_TRAIT_BIT_##trait)
typedef enum oxi_llm_mixer{
OXI_LLM_MIXES_NONE=0,OXI_LLM_MIXES_MAMBA,OXI_LLM_MIXES_MAMBA2,OXI_LLM_MIXES_PLAMO2,OXI_LLM_MIXES_CONV,
 OXI_LLM_MIXES_DELTA,OXI_LLM_MIXES_KDA,OXI_LLM_MIXES_LIGHTNING,OXI_LLM_MIXES_COUNT}oxi_llm_mixer;
typedef struct oxi_llm_activation{
ox_tensor*(*plain)(ox_tensor*x);
ox_tensor*(*gated)(ox_tensor*gate,ox_tensor*up);}oxi_llm_activation;
typedef struct oxi_llm_family{
const char*name;
oxi_llm_block block;
oxi_llm_norm_kind norm;
oxi_llm_rope_kind rope;
const oxi_llm_activation*activation;
oxi_llm_router router;
int windows;
bool causal;
uint64_t traits;}oxi_llm_family;
#define OXI_LLM_MIXER_SIZE_LIST(X) \
X(MIXER_IN)X(MIXER_INNER)X(MIXER_CHANNELS)X(MIXER_KERNEL)X(MIXER_X)X(MIXER_RANK)X(MIXER_STATE) \
X(MIXER_STEPS)X(MIXER_HEADS)X(MIXER_PAIRS)X(MIXER_DECAYS)X(MIXER_SKIPS)X(MIXER_NORM) \
X(MIXER_PART_KERNEL)
#define OXI_LLM_SIZE_LIST(X) \
X(NONE)X(ANY)X(VOCABULARY)X(WIDTH)X(HIDDEN)X(HIDDEN_UP)X(HEADS)X(QUERIES)X(KEYS)X(VALUES) \
X(QUERY_KEY_VALUE)X(MERGED)X(PAIRS)X(QUERY_RANK)X(LATENT)X(LATENT_TURNED)X(LATENT_QUERIES) \
X(LATENT_PAIRS)X(LATENT_PLAIN)X(LATENT_VALUE) \
X(EXPERTS)X(EXPERT_WIDTH)X(EXPERT_HIDDEN)X(EXPERT_GATE_UP) \
X(SHARED_HIDDEN)OXI_LLM_MIXER_SIZE_LIST(X)
typedef enum oxi_llm_size{
#define OXI_X(size)OXI_LLM_SIZE_##size,
OXI_LLM_SIZE_LIST(OXI_X)
#undef OXI_X
OXI_LLM_SIZE_COUNT}oxi_llm_size;
typedef enum oxi_llm_model_role{
#define OXI_LLM_MODEL_PART(role,name,rows,columns)OXI_LLM_##role,
/* >>llm/model/parts.def */
#define OXI_ROWS_OF_LLM_MODEL_PARTS \
OXI_LLM_MODEL_PART(EMBEDDING,"token_embd",VOCABULARY,WIDTH) \
OXI_LLM_MODEL_PART(EMBEDDING_NORM,"token_embd_norm",NONE,WIDTH) \
OXI_LLM_MODEL_PART(POSITIONS,"position_embd",ANY,WIDTH) \
OXI_LLM_MODEL_PART(TOKEN_TYPES,"token_types",ANY,WIDTH) \
OXI_LLM_MODEL_PART(OUTPUT_NORM,"output_norm",NONE,WIDTH) \
OXI_LLM_MODEL_PART(OUTPUT,"output",VOCABULARY,WIDTH) \
OXI_LLM_MODEL_PART(ROPE_FACTORS,"rope_freqs",NONE,PAIRS) \
OXI_LLM_MODEL_PART(ROPE_LONG,"rope_factors_long",NONE,PAIRS) \
OXI_LLM_MODEL_PART(ROPE_SHORT,"rope_factors_short",NONE,PAIRS) \
OXI_LLM_LAYER_PART(ATTENTION_NORM,"attn_norm",NONE,NONE,WIDTH) \
OXI_LLM_LAYER_PART(ATTENTION_POST_NORM,"post_attention_norm",NONE,NONE,WIDTH) \
OXI_LLM_LAYER_PART(ATTENTION_SUM_NORM,"attn_output_norm",NONE,NONE,WIDTH) \
OXI_LLM_LAYER_PART(QUERY_KEY_VALUE,"attn_qkv",NONE,QUERY_KEY_VALUE,WIDTH) \
OXI_LLM_LAYER_PART(QUERY,"attn_q",NONE,QUERIES,WIDTH) \
OXI_LLM_LAYER_PART(KEY,"attn_k",NONE,KEYS,WIDTH) \
OXI_LLM_LAYER_PART(VALUE,"attn_v",NONE,VALUES,WIDTH) \
OXI_LLM_LAYER_PART(MERGE,"attn_output",NONE,WIDTH,MERGED) \
OXI_LLM_LAYER_PART(QUERY_NORM,"attn_q_norm",NONE,NONE,ANY) \
OXI_LLM_LAYER_PART(KEY_NORM,"attn_k_norm",NONE,NONE,ANY) \
OXI_LLM_LAYER_PART(MERGE_NORM,"attn_sub_norm",NONE,NONE,MERGED) \
OXI_LLM_LAYER_PART(ATTENTION_GATE,"attn_gate",NONE,ANY,WIDTH) \
OXI_LLM_LAYER_PART(SINKS,"attn_sinks",NONE,NONE,HEADS) \
OXI_LLM_LAYER_PART(QUERY_DOWN,"attn_q_a",NONE,QUERY_RANK,WIDTH) \
OXI_LLM_LAYER_PART(QUERY_DOWN_NORM,"attn_q_a_norm",NONE,NONE,QUERY_RANK) \
OXI_LLM_LAYER_PART(QUERY_UP,"attn_q_b",NONE,LATENT_QUERIES,QUERY_RANK) \
OXI_LLM_LAYER_PART(LATENT,"attn_kv_a_mqa",NONE,LATENT_TURNED,WIDTH) \
OXI_LLM_LAYER_PART(LATENT_NORM,"attn_kv_a_norm",NONE,NONE,LATENT) \
OXI_LLM_LAYER_PART(LATENT_UP,"attn_kv_b",NONE,LATENT_PAIRS,LATENT) \
OXI_LLM_LAYER_PART(LATENT_KEY,"attn_k_b",HEADS,LATENT,LATENT_PLAIN) \
OXI_LLM_LAYER_PART(LATENT_VALUE,"attn_v_b",HEADS,LATENT_VALUE,LATENT) \
OXI_LLM_LAYER_PART(HIDDEN_NORM,"ffn_norm",NONE,NONE,WIDTH) \
OXI_LLM_LAYER_PART(HIDDEN_POST_NORM,"post_ffw_norm",NONE,NONE,WIDTH) \
OXI_LLM_LAYER_PART(LAYER_SUM_NORM,"layer_output_norm",NONE,NONE,WIDTH) \
OXI_LLM_LAYER_PART(GATE,"ffn_gate",NONE,HIDDEN,WIDTH) \
OXI_LLM_LAYER_PART(UP,"ffn_up",NONE,HIDDEN_UP,WIDTH) \
OXI_LLM_LAYER_PART(DOWN,"ffn_down",NONE,WIDTH,HIDDEN) \
OXI_LLM_LAYER_PART(DOWN_DIVISOR,"ffn.act.scales",NONE,NONE,HIDDEN) \
OXI_LLM_LAYER_PART(DOWN_NORM,"ffn_sub_norm",NONE,NONE,HIDDEN) \
OXI_LLM_LAYER_PART(ROUTER,"ffn_gate_inp",NONE,EXPERTS,WIDTH) \
OXI_LLM_LAYER_PART(ROUTER_CHOICE,"exp_probs_b",NONE,NONE,EXPERTS) \
OXI_LLM_LAYER_PART(EXPERTS_NORM,"ffn_norm_exps",NONE,NONE,WIDTH) \
OXI_LLM_LAYER_PART(EXPERTS_GATE,"ffn_gate_exps",EXPERTS,EXPERT_HIDDEN,EXPERT_WIDTH) \
OXI_LLM_LAYER_PART(EXPERTS_UP,"ffn_up_exps",EXPERTS,EXPERT_HIDDEN,EXPERT_WIDTH) \
OXI_LLM_LAYER_PART(EXPERTS_GATE_UP,"ffn_gate_up_exps",EXPERTS,EXPERT_GATE_UP,EXPERT_WIDTH) \
OXI_LLM_LAYER_PART(EXPERTS_DOWN,"ffn_down_exps",EXPERTS,EXPERT_WIDTH,EXPERT_HIDDEN) \
OXI_LLM_LAYER_PART(EXPERTS_IN,"ffn_latent_down",NONE,EXPERT_WIDTH,WIDTH) \
OXI_LLM_LAYER_PART(EXPERTS_OUT,"ffn_latent_up",NONE,WIDTH,EXPERT_WIDTH) \
OXI_LLM_LAYER_PART(SHARED_ROUTER,"ffn_gate_inp_shexp",NONE,NONE,WIDTH) \
OXI_LLM_LAYER_PART(SHARED_GATE,"ffn_gate_shexp",NONE,SHARED_HIDDEN,WIDTH) \
OXI_LLM_LAYER_PART(SHARED_UP,"ffn_up_shexp",NONE,SHARED_HIDDEN,WIDTH) \
OXI_LLM_LAYER_PART(SHARED_DOWN,"ffn_down_shexp",NONE,WIDTH,SHARED_HIDDEN) \
OXI_LLM_LAYER_PART(MIXER_IN,"ssm_in",NONE,MIXER_IN,WIDTH) \
OXI_LLM_LAYER_PART(MIXER_OUT,"ssm_out",NONE,WIDTH,MIXER_INNER) \
OXI_LLM_LAYER_PART(MIXER_CONV,"ssm_conv1d",NONE,NONE,ANY) \
OXI_LLM_LAYER_PART(CONV_QUERY,"ssm_conv1d_q",NONE,NONE,ANY) \
OXI_LLM_LAYER_PART(CONV_KEY,"ssm_conv1d_k",NONE,NONE,ANY) \
OXI_LLM_LAYER_PART(CONV_VALUE,"ssm_conv1d_v",NONE,NONE,ANY) \
OXI_LLM_LAYER_PART(MIXER_X,"ssm_x",NONE,MIXER_X,MIXER_INNER) \
OXI_LLM_LAYER_PART(MIXER_STEP,"ssm_dt",NONE,MIXER_STEPS,MIXER_RANK) \
OXI_LLM_LAYER_PART(MIXER_STEP_NORM,"ssm_dt_norm",NONE,NONE,MIXER_RANK) \
OXI_LLM_LAYER_PART(MIXER_KEY_NORM,"ssm_b_norm",NONE,NONE,MIXER_STATE) \
OXI_LLM_LAYER_PART(MIXER_QUERY_NORM,"ssm_c_norm",NONE,NONE,MIXER_STATE) \
OXI_LLM_LAYER_PART(MIXER_DECAY,"ssm_a",NONE,NONE,ANY) \
OXI_LLM_LAYER_PART(MIXER_SKIP,"ssm_d",NONE,NONE,ANY) \
OXI_LLM_LAYER_PART(MIXER_NORM,"ssm_norm",NONE,NONE,ANY) \
OXI_LLM_LAYER_PART(MIXER_ALPHA,"ssm_alpha",NONE,MIXER_HEADS,WIDTH) \
OXI_LLM_LAYER_PART(MIXER_BETA,"ssm_beta",NONE,MIXER_HEADS,WIDTH) \
OXI_LLM_LAYER_PART(MIXER_BETA_ALPHA,"ssm_ba",NONE,MIXER_PAIRS,WIDTH) \
OXI_LLM_LAYER_PART(DECAY_DOWN,"ssm_f_a",NONE,ANY,WIDTH) \
OXI_LLM_LAYER_PART(DECAY_UP,"ssm_f_b",NONE,MIXER_INNER,ANY) \
OXI_LLM_LAYER_PART(MIXER_GATE,"ssm_g_a",NONE,ANY,WIDTH) \
OXI_LLM_LAYER_PART(MIXER_GATE_UP,"ssm_g_b",NONE,MIXER_INNER,ANY)
#ifndef OXI_LLM_MODEL_PART
#define OXI_LLM_MODEL_PART(role,name,rows,columns)
#endif
#ifndef OXI_LLM_LAYER_PART
#define OXI_LLM_LAYER_PART(role,name,experts,rows,columns)
#endif
OXI_ROWS_OF_LLM_MODEL_PARTS
#undef OXI_LLM_MODEL_PART
#undef OXI_LLM_LAYER_PART
OXI_LLM_MODEL_ROLES}oxi_llm_model_role;
typedef enum oxi_llm_layer_role{
#define OXI_LLM_LAYER_PART(role,name,experts,rows,columns)OXI_LLM_##role,
#ifndef OXI_LLM_MODEL_PART
#define OXI_LLM_MODEL_PART(role,name,rows,columns)
#endif
#ifndef OXI_LLM_LAYER_PART
#define OXI_LLM_LAYER_PART(role,name,experts,rows,columns)
#endif
OXI_ROWS_OF_LLM_MODEL_PARTS
#undef OXI_LLM_MODEL_PART
#undef OXI_LLM_LAYER_PART
OXI_LLM_LAYER_ROLES}oxi_llm_layer_role;
typedef struct oxi_llm_part{
ox_tensor*weight,*bias;
double scale;}oxi_llm_part;
typedef struct oxi_llm_rope{
double base,scale,magnitude;
double stretch;
int64_t size;
ox_tensor*factors;
ox_tensor*long_factors;
int64_t original;}oxi_llm_rope;
typedef struct oxi_llm_layer{
oxi_llm_part part[OXI_LLM_LAYER_ROLES];
int64_t heads,kv_heads,key_size,value_size,hidden,expert_hidden;
double expert_clamp;
double shared_clamp;
int64_t window;
const oxi_llm_rope*rope;
bool attends,feeds;
oxi_llm_mixer mixer;}oxi_llm_layer;
typedef struct oxi_llm_mixing{
oxi_llm_mixer kind;
int64_t taps;
int64_t inner,groups,rank;
int64_t heads,key,value;
bool bare_norms;
double bound;
int64_t size[OXI_LLM_SIZE_COUNT];}oxi_llm_mixing;
typedef struct oxi_llm_numbers{
oxi_llm_block block;
oxi_llm_norm_kind norm;
oxi_llm_rope_kind rope;
double epsilon,attention_scale,score_cap,logit_cap,clamp,alibi;
double embedding_scale,residual_scale,logit_scale;
int64_t query_rank,latent;
int64_t latent_key,latent_value;
int64_t experts,experts_used,expert_width,shared_hidden,expert_groups,expert_groups_used;
int64_t dense_layers;
oxi_llm_router router;
bool routed_norm;
double routed_scale;
double temperature;
int64_t temperature_length;
int64_t chunk;
int64_t norm_groups;
double value_scale;
bool windows;
ox_llm_pooling pooling;
bool causal;
oxi_llm_mixing mixing;}oxi_llm_numbers;
struct ox_llm{
int64_t references;
const oxi_llm_family*family;
ox_llm_config config;
oxi_llm_numbers numbers;
oxi_llm_rope rope,window_rope;
ox_device*device;
ox_tokenizer*tokenizer;
char tokenizer_name[32];
char*chat_template;
int64_t chat_template_length;
oxi_llm_part part[OXI_LLM_MODEL_ROLES];
oxi_llm_layer*layers;};
static bool oxi_llm_has_trait(const ox_llm*model,uint64_t trait){
return(model->family->traits&trait)!=0;}
enum{OXI_LLM_TRIES=8};
typedef struct oxi_llm_state{
ox_tensor*window;
ox_tensor*memory;}oxi_llm_state;
struct ox_llm_context{
ox_llm*model;
int64_t capacity,length,batch;
int32_t pending;
ox_dtype dtype;
ox_tensor**keys,**values;
oxi_llm_state*states,*written;
const int32_t*types;
int32_t*history;
bool stretched;
ox_tensor*next;
int64_t ahead,ahead_at;
int not_ahead;};
#endif
/* >>llm/model/activations.c */
static ox_tensor*oxi_llm_relu2(ox_tensor*x){
x=ox_relu_(x);
return ox_mul_(x,x);}
static ox_tensor*oxi_llm_gelu_gated(ox_tensor*gate,ox_tensor*up){
return ox_mul_(ox_gelu_(gate),up);}
static ox_tensor*oxi_llm_relu_gated(ox_tensor*gate,ox_tensor*up){
return ox_mul_(ox_relu_(gate),up);}
static ox_tensor*oxi_llm_relu2_gated(ox_tensor*gate,ox_tensor*up){
return ox_mul_(oxi_llm_relu2(gate),up);}
static ox_tensor*oxi_llm_clamped_gated(ox_tensor*gate,ox_tensor*up){
gate=ox_clamp_(gate,-INFINITY,7);
ox_tensor*opened=ox_mul_(ox_sigmoid_(ox_mul_number(gate,1.702)),gate);
return ox_mul_(opened,ox_add_number_(ox_clamp_(up,-7,7),1));}
static const oxi_llm_activation oxi_llm_silu={ox_silu_,ox_silu_mul_};
static const oxi_llm_activation oxi_llm_gelu={ox_gelu_,oxi_llm_gelu_gated};
static const oxi_llm_activation oxi_llm_gelu_tanh={ox_gelu_tanh_,ox_gelu_mul_};
static const oxi_llm_activation oxi_llm_relu={ox_relu_,oxi_llm_relu_gated};
static const oxi_llm_activation oxi_llm_square={oxi_llm_relu2,oxi_llm_relu2_gated};
static const oxi_llm_activation oxi_llm_clamped={ox_silu_,oxi_llm_clamped_gated};
/* >>llm/model/facts.c */
static void oxi_llm_key(const ox_llm*model,const char*key,char out[96]){
(void)snprintf(out,96,"%s.%s",model->family->name,key);}
static bool oxi_llm_find_number(const ox_llm*model,const ox_file*file,const char*key,int64_t layer,
 bool whole,double*out,ox_status*status){
char full[96];
oxi_llm_key(model,key,full);
ox_file_meta meta=ox_file_meta_find(file,full);
*status=OX_OK;
if(meta.type==OX_FILE_META_ARRAY&&layer>=0){
if(layer>=meta.count){
*status=oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s has %lld elements, none for layer %lld",
 full,(long long)meta.count,(long long)layer);
return false;}
meta=ox_file_meta_element(file,&meta,layer);}
if(meta.type==OX_FILE_META_NONE)return false;
const bool integer=meta.type==OX_FILE_META_INT||meta.type==OX_FILE_META_UINT||meta.type==OX_FILE_META_BOOL;
if(!integer&&(whole||meta.type!=OX_FILE_META_FLOAT)){
*status=oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s is not a %s",full,whole?"whole number":"number");
return false;}
*out= !integer?meta.f:meta.type==OX_FILE_META_UINT&&meta.i<0?1e19:(double)meta.i;
return true;}
#define OXI_LLM_NEEDED INT64_MIN
#define OXI_LLM_NEEDED_FLOAT (-INFINITY)
static ox_status oxi_llm_read_int(const ox_llm*model,const ox_file*file,const char*key,int64_t layer,
 int64_t low,int64_t otherwise,int64_t*out){
double number=0;
ox_status status=OX_OK;
*out=otherwise;
const bool found=oxi_llm_find_number(model,file,key,layer,true,&number,&status);
const bool none= !found||(number==0&&low>0);
if(status||(none&&otherwise!=OXI_LLM_NEEDED))return status;
char full[96];
oxi_llm_key(model,key,full);
if(!found)return oxi_fail(OX_ERR_NOT_FOUND,"llm: metadata key %s is missing",full);
if(number<(double)low||number>INT32_MAX)
return oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s is %.17g, allowed are %lld to %d",full,number,
 (long long)low,INT32_MAX);
*out=(int64_t)number;
return OX_OK;}
static ox_status oxi_llm_read_float(const ox_llm*model,const ox_file*file,const char*key,int64_t layer,
 double low,double otherwise,double*out){
double number=0;
ox_status status=OX_OK;
*out=otherwise;
const bool found=oxi_llm_find_number(model,file,key,layer,false,&number,&status);
const bool none= !found||number==0;
if(status||(none&&otherwise!=OXI_LLM_NEEDED_FLOAT))return status;
char full[96];
oxi_llm_key(model,key,full);
if(!found)return oxi_fail(OX_ERR_NOT_FOUND,"llm: metadata key %s is missing",full);
if(!(number>=low&&number<=DBL_MAX))
return oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s is not a number of at least %g",full,low);
*out=number;
return OX_OK;}
static ox_status oxi_llm_read_text(const ox_llm*model,const ox_file*file,const char*key,ox_string*out){
char full[96];
oxi_llm_key(model,key,full);
const ox_file_meta meta=ox_file_meta_find(file,full);
memset(out,0,sizeof*out);
if(meta.type==OX_FILE_META_NONE)return OX_OK;
if(meta.type!=OX_FILE_META_STRING)
return oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s is not a text",full);
*out=meta.text;
return OX_OK;}
/* >>llm/model/mixers.c */
typedef enum oxi_llm_mixer_place{
OXI_LLM_PLACE_ALONE=0,OXI_LLM_PLACE_BESIDE,OXI_LLM_PLACE_UNHEADED,OXI_LLM_PLACE_SINGLE,OXI_LLM_PLACE_LISTED
 }oxi_llm_mixer_place;
typedef struct oxi_llm_mixer_row{
const char*family;
oxi_llm_mixer mixer;
oxi_llm_mixer_place place;
int interval;}oxi_llm_mixer_row;
#define OXI_LLM_MIXER(family,mixer,place,interval) \
{family,OXI_LLM_MIXES_##mixer,OXI_LLM_PLACE_##place,interval},
static const oxi_llm_mixer_row oxi_llm_mixer_rows[]={
/* >>llm/model/mixers.def */
OXI_LLM_MIXER("mamba",MAMBA,ALONE,0)
OXI_LLM_MIXER("mamba2",MAMBA2,ALONE,0)
OXI_LLM_MIXER("jamba",MAMBA,UNHEADED,0)
OXI_LLM_MIXER("granitehybrid",MAMBA2,UNHEADED,0)
OXI_LLM_MIXER("falcon-h1",MAMBA2,BESIDE,0)
OXI_LLM_MIXER("nemotron_h",MAMBA2,SINGLE,0)
OXI_LLM_MIXER("nemotron_h_moe",MAMBA2,SINGLE,0)
OXI_LLM_MIXER("plamo2",PLAMO2,UNHEADED,0)
OXI_LLM_MIXER("lfm2",CONV,UNHEADED,0)
OXI_LLM_MIXER("lfm2moe",CONV,UNHEADED,0)
OXI_LLM_MIXER("qwen3next",DELTA,LISTED,4)
OXI_LLM_MIXER("qwen35",DELTA,LISTED,4)
OXI_LLM_MIXER("qwen35moe",DELTA,LISTED,4)
OXI_LLM_MIXER("kimi-linear",KDA,UNHEADED,0)
OXI_LLM_MIXER("bailingmoe3",KDA,UNHEADED,0)
OXI_LLM_MIXER("minimax-01",LIGHTNING,LISTED,8)
#undef OXI_LLM_MIXER
};
static const oxi_llm_mixer_row*oxi_llm_find_mixer(const ox_llm*model){
for(size_t i=0;i<sizeof oxi_llm_mixer_rows/sizeof*oxi_llm_mixer_rows;i++)
if(strcmp(oxi_llm_mixer_rows[i].family,model->family->name)==0)return&oxi_llm_mixer_rows[i];
return NULL;}
static ox_status oxi_llm_read_listed(const ox_llm*model,const ox_file*file,int64_t interval,int64_t i,
 int64_t*out){
char key[96];
*out=i%interval!=interval-1;
oxi_llm_key(model,"attention.recurrent_layers",key);
if(ox_file_meta_find(file,key).type!=OX_FILE_META_ARRAY)return OX_OK;
return oxi_llm_read_int(model,file,"attention.recurrent_layers",i,0,OXI_LLM_NEEDED,out);}
static ox_status oxi_llm_read_layer_kind(ox_llm*model,const ox_file*file,const oxi_llm_mixer_row*row,
 int64_t interval,int64_t i){
oxi_llm_layer*l= &model->layers[i];
const bool single=row->place==OXI_LLM_PLACE_SINGLE;
int64_t heads=1,hidden=0,recurrent=1;
ox_status status=OX_OK;
if(single||row->place==OXI_LLM_PLACE_UNHEADED){
status=oxi_llm_read_int(model,file,"attention.head_count_kv",i,0,OXI_LLM_NEEDED,&heads);
if(!status&&single)
status=oxi_llm_read_int(model,file,"feed_forward_length",i,0,0,&hidden);
recurrent=heads==0&&hidden==0;}
if(row->place==OXI_LLM_PLACE_LISTED)
status=oxi_llm_read_listed(model,file,interval,i,&recurrent);
l->mixer=recurrent?row->mixer:OXI_LLM_MIXES_NONE;
l->attends=row->place==OXI_LLM_PLACE_BESIDE||(!recurrent&&hidden==0);
l->feeds=row->place!=OXI_LLM_PLACE_ALONE&&(!single||hidden>0);
return status;}
static void oxi_llm_set_size(oxi_llm_mixing*m,oxi_llm_size size,int64_t value){
m->size[size]=value;}
static ox_status oxi_llm_read_size(const ox_llm*model,const ox_file*file,const char*key,
 int64_t otherwise,int64_t*out){
const ox_status status=oxi_llm_read_int(model,file,key,0,1,otherwise,out);
if(status|| *out<=(int64_t)1<<20)return status;
return oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s.%s is %lld, allowed are at most %lld",
 model->family->name,key,(long long)*out,(long long)1<<20);}
static ox_status oxi_llm_size_mamba(ox_llm*model,const ox_file*file,oxi_llm_mixing*m){
int64_t state=0,steps=0,bare=0;
ox_status status=oxi_llm_read_size(model,file,"ssm.inner_size",OXI_LLM_NEEDED,&m->inner);
if(!status)status=oxi_llm_read_size(model,file,"ssm.state_size",OXI_LLM_NEEDED,&state);
if(!status)status=oxi_llm_read_size(model,file,"ssm.time_step_rank",OXI_LLM_NEEDED,&steps);
if(!status)status=oxi_llm_read_size(model,file,"ssm.group_count",1,&m->groups);
if(!status)status=oxi_llm_read_int(model,file,"ssm.dt_b_c_rms",-1,0,0,&bare);
if(status)return status;
const bool first=m->kind==OXI_LLM_MIXES_MAMBA,second=m->kind==OXI_LLM_MIXES_MAMBA2;
m->bare_norms=bare!=0;
m->heads=first?1:steps;
m->key=first?m->inner:state;
m->value=first?state:m->inner/steps;
if(!second)m->groups=1;
m->rank=first?steps:second?0:model->config.width/16>64?model->config.width/16:64;
if(m->inner%m->heads!=0||m->heads%m->groups!=0||m->inner%m->groups!=0)
return oxi_fail(OX_ERR_FORMAT,"llm: a state of %lld numbers in %lld heads, %lld groups",
 (long long)m->inner,(long long)m->heads,(long long)m->groups);
const int64_t pairs=2*m->groups*state,channels=m->inner+(second?pairs:0);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_CHANNELS,channels);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_IN,m->inner+channels+(second?steps:0));
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_X,pairs+m->rank);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_STATE,state);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_STEPS,first?m->inner:steps);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_DECAYS,first?m->inner*state:steps);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_SKIPS,first?m->inner:steps);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_NORM,m->inner);
return OX_OK;}
static ox_status oxi_llm_size_conv(ox_llm*model,const ox_file*file,oxi_llm_mixing*m){
m->inner=model->config.width;
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_CHANNELS,m->inner);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_IN,3*m->inner);
return oxi_llm_read_int(model,file,"shortconv.l_cache",-1,2,OXI_LLM_NEEDED,&m->taps);}
static ox_status oxi_llm_size_delta(ox_llm*model,const ox_file*file,oxi_llm_mixing*m){
ox_status status=oxi_llm_read_size(model,file,"ssm.inner_size",OXI_LLM_NEEDED,&m->inner);
if(!status)status=oxi_llm_read_size(model,file,"ssm.state_size",OXI_LLM_NEEDED,&m->key);
if(!status)status=oxi_llm_read_size(model,file,"ssm.time_step_rank",OXI_LLM_NEEDED,&m->heads);
if(!status)status=oxi_llm_read_size(model,file,"ssm.group_count",OXI_LLM_NEEDED,&m->groups);
if(status)return status;
m->value=m->key;
if(m->heads%m->groups!=0||m->inner!=m->heads*m->key)
return oxi_fail(OX_ERR_FORMAT,"llm: a delta net of %lld numbers, %lld heads of %lld, %lld keys",
 (long long)m->inner,(long long)m->heads,(long long)m->key,(long long)m->groups);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_CHANNELS,2*m->groups*m->key+m->inner);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_IN,2*m->groups*m->key+2*m->inner);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_STEPS,m->heads);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_DECAYS,m->heads);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_NORM,m->value);
return OX_OK;}
static ox_status oxi_llm_size_kda(ox_llm*model,const ox_file*file,oxi_llm_mixing*m){
ox_status status=oxi_llm_read_size(model,file,"kda.head_dim",OXI_LLM_NEEDED,&m->key);
if(!status)status=oxi_llm_read_size(model,file,"attention.head_count",OXI_LLM_NEEDED,&m->heads);
if(!status)
status=oxi_llm_read_float(model,file,"kda.gate_lower_bound",-1,-INFINITY,0,&m->bound);
if(!(m->bound> -1e30&&m->bound<0))m->bound=0;
m->value=m->key;
m->groups=m->heads;
m->inner=m->heads*m->key;
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_CHANNELS,3*m->inner);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_STEPS,m->inner);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_DECAYS,m->heads);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_NORM,m->value);
return status;}
static ox_status oxi_llm_size_lightning(ox_llm*model,const ox_file*file,oxi_llm_mixing*m){
ox_status status=oxi_llm_read_size(model,file,"attention.head_count",OXI_LLM_NEEDED,&m->heads);
if(status)return status;
const int64_t width=model->config.width,head=width%m->heads==0?width/m->heads:OXI_LLM_NEEDED;
status=oxi_llm_read_size(model,file,"attention.key_length",head,&m->key);
m->value=m->key;
m->groups=m->heads;
m->inner=m->heads*m->key;
return status;}
typedef struct oxi_llm_mixer_need{
oxi_llm_layer_role role;
oxi_llm_size count;}oxi_llm_mixer_need;
enum{OXI_LLM_MIXER_NEEDS=12};
typedef struct oxi_llm_mixer_kind{
ox_status(*size)(ox_llm*model,const ox_file*file,oxi_llm_mixing*m);
oxi_llm_mixer_need needs[OXI_LLM_MIXER_NEEDS];}oxi_llm_mixer_kind;
#define OXI_N(role,count) \
{OXI_LLM_##role,OXI_LLM_SIZE_##count}
static const oxi_llm_mixer_kind oxi_llm_mixer_kinds[OXI_LLM_MIXES_COUNT]={
{NULL,{OXI_N(ATTENTION_NORM,NONE)}},{oxi_llm_size_mamba,
 {OXI_N(MIXER_IN,NONE),OXI_N(MIXER_CONV,MIXER_KERNEL),OXI_N(MIXER_X,NONE),OXI_N(MIXER_STEP,NONE),
 OXI_N(MIXER_DECAY,MIXER_DECAYS),OXI_N(MIXER_SKIP,MIXER_SKIPS),OXI_N(MIXER_OUT,NONE),
 OXI_N(ATTENTION_NORM,NONE)}},{oxi_llm_size_mamba,
 {OXI_N(MIXER_IN,NONE),OXI_N(MIXER_CONV,MIXER_KERNEL),OXI_N(MIXER_DECAY,MIXER_DECAYS),
 OXI_N(MIXER_SKIP,MIXER_SKIPS),OXI_N(MIXER_OUT,NONE),OXI_N(ATTENTION_NORM,NONE)}},{oxi_llm_size_mamba,
 {OXI_N(MIXER_IN,NONE),OXI_N(MIXER_CONV,MIXER_KERNEL),OXI_N(MIXER_X,NONE),OXI_N(MIXER_STEP,NONE),
 OXI_N(MIXER_DECAY,MIXER_DECAYS),OXI_N(MIXER_SKIP,MIXER_SKIPS),OXI_N(MIXER_OUT,NONE),
 OXI_N(MIXER_STEP_NORM,NONE),OXI_N(MIXER_KEY_NORM,NONE),OXI_N(MIXER_QUERY_NORM,NONE),
 OXI_N(ATTENTION_NORM,NONE)}},{oxi_llm_size_conv,
 {OXI_N(MIXER_IN,NONE),OXI_N(MIXER_CONV,MIXER_KERNEL),OXI_N(MIXER_OUT,NONE),OXI_N(ATTENTION_NORM,NONE)}},
 {oxi_llm_size_delta,
 {OXI_N(QUERY_KEY_VALUE,NONE),OXI_N(ATTENTION_GATE,NONE),OXI_N(MIXER_CONV,MIXER_KERNEL),
 OXI_N(MIXER_DECAY,MIXER_DECAYS),OXI_N(MIXER_NORM,MIXER_NORM),OXI_N(MIXER_OUT,NONE),
 OXI_N(ATTENTION_NORM,NONE)}},{oxi_llm_size_kda,
 {OXI_N(QUERY,NONE),OXI_N(KEY,NONE),OXI_N(VALUE,NONE),OXI_N(CONV_QUERY,MIXER_PART_KERNEL),
 OXI_N(CONV_KEY,MIXER_PART_KERNEL),OXI_N(CONV_VALUE,MIXER_PART_KERNEL),
 OXI_N(MIXER_DECAY,MIXER_DECAYS),OXI_N(MIXER_BETA,NONE),OXI_N(DECAY_DOWN,NONE),
 OXI_N(MIXER_GATE,NONE),OXI_N(MIXER_NORM,MIXER_NORM),OXI_N(MERGE,NONE)}},{oxi_llm_size_lightning,
 {OXI_N(QUERY_KEY_VALUE,NONE),OXI_N(MERGE_NORM,NONE),OXI_N(ATTENTION_GATE,NONE),OXI_N(MERGE,NONE),
 OXI_N(ATTENTION_NORM,NONE)}}};
#undef OXI_N
static ox_status oxi_llm_read_mixing(ox_llm*model,const ox_file*file,oxi_llm_mixer kind){
oxi_llm_mixing*m= &model->numbers.mixing;
const int64_t most=1<<20;
m->kind=kind;
ox_status status=OX_OK;
if(kind!=OXI_LLM_MIXES_CONV&&kind!=OXI_LLM_MIXES_LIGHTNING)
status=oxi_llm_read_int(model,file,"ssm.conv_kernel",-1,2,OXI_LLM_NEEDED,&m->taps);
if(!status)status=oxi_llm_mixer_kinds[kind].size(model,file,m);
if(status)return status;
if(m->inner>most||m->groups>most||m->heads>most||m->key>most||m->value>most||m->taps>64)
return oxi_fail(OX_ERR_FORMAT,"llm: a recurrence of %lld numbers, %lld heads, %lld taps",
 (long long)m->inner,(long long)m->heads,(long long)m->taps);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_INNER,m->inner);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_RANK,m->rank);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_HEADS,m->heads);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_PAIRS,2*m->heads);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_KERNEL,m->taps*m->size[OXI_LLM_SIZE_MIXER_CHANNELS]);
oxi_llm_set_size(m,OXI_LLM_SIZE_MIXER_PART_KERNEL,m->taps*m->inner);
return OX_OK;}
static ox_status oxi_llm_read_mixers(ox_llm*model,const ox_file*file){
const oxi_llm_mixer_row*row=oxi_llm_find_mixer(model);
int64_t interval=1;
for(int64_t i=0;i<model->config.layers;i++)
model->layers[i].attends=model->layers[i].feeds=true;
if(!row)return OX_OK;
ox_status status=oxi_llm_read_int(model,file,"full_attention_interval",-1,1,
 row->interval?row->interval:1,&interval);
if(!status)status=oxi_llm_read_mixing(model,file,row->mixer);
for(int64_t i=0;!status&&i<model->config.layers;i++)
status=oxi_llm_read_layer_kind(model,file,row,interval,i);
if(!status&& !model->numbers.causal)
return oxi_fail(OX_ERR_UNSUPPORTED,"llm: recurrences whose tokens see all of the text are not supported");
return status;}
static void oxi_llm_place_mixer_heads(const ox_llm*model,oxi_llm_layer*l){
const oxi_llm_mixing*m= &model->numbers.mixing;
const bool named=m->kind>=OXI_LLM_MIXES_DELTA;
l->heads=l->kv_heads=named?m->groups:0;
l->key_size=named?m->key:0;
l->value_size=named?m->heads/m->groups*m->value:0;}
static ox_status oxi_llm_place_kernel(const ox_llm*model,oxi_llm_layer*l){
const int64_t taps=model->numbers.mixing.taps;
oxi_llm_part*p=l->part;
ox_tensor*list[3]={p[OXI_LLM_CONV_QUERY].weight,p[OXI_LLM_CONV_KEY].weight,p[OXI_LLM_CONV_VALUE].weight};
const bool one=l->mixer!=OXI_LLM_MIXES_KDA;
if(one)list[0]=p[OXI_LLM_MIXER_CONV].weight;
ox_scope scope=ox_scope_begin();
for(int i=0;i<(one?1:3);i++)
list[i]=ox_transpose(ox_reshape(list[i],OX_SHAPE(ox_numel(list[i])/taps,taps)),0,1);
ox_tensor*kernel=one?ox_contiguous(list[0]):list[0]&&list[1]&&list[2]?ox_cat(list,3,1):NULL;
if(kernel){
ox_release(p[OXI_LLM_MIXER_CONV].weight);
p[OXI_LLM_MIXER_CONV].weight=ox_retain(kernel);}
ox_scope_end(&scope);
return kernel?OX_OK:oxi_llm_error();}
static ox_status oxi_llm_count_numbers(const ox_llm*model,const oxi_llm_layer*l,int64_t layer,
 const oxi_llm_mixer_need*need,const char*name){
const int64_t wanted=model->numbers.mixing.size[need->count];
const oxi_llm_part*part= &l->part[need->role];
if(!part->weight)
return oxi_fail(OX_ERR_NOT_FOUND,"llm: tensor blk.%lld.%s is missing",(long long)layer,name);
if(need->count==OXI_LLM_SIZE_NONE||ox_numel(part->weight)==wanted)return OX_OK;
return oxi_fail(OX_ERR_SHAPE,"llm: tensor blk.%lld.%s is %s, the metadata asks for %lld numbers",
 (long long)layer,name,oxi_tensor_text(part->weight),(long long)wanted);}
/* >>llm/model/config.c */
static ox_status oxi_llm_read_heads(ox_llm*model,const ox_file*file,int64_t i){
oxi_llm_layer*l= &model->layers[i];
const int64_t width=model->config.width,latent=model->numbers.latent;
if(!l->attends){
oxi_llm_place_mixer_heads(model,l);
return OX_OK;}
ox_status status=oxi_llm_read_int(model,file,"attention.head_count",i,1,OXI_LLM_NEEDED,&l->heads);
if(!status)
status=oxi_llm_read_int(model,file,"attention.head_count_kv",i,1,l->heads,&l->kv_heads);
if(status)return status;
const int64_t head=width%l->heads==0?width/l->heads:OXI_LLM_NEEDED;
status=oxi_llm_read_int(model,file,"attention.key_length",-1,1,head,&l->key_size);
if(!status)
status=oxi_llm_read_int(model,file,"attention.value_length",-1,1,head,&l->value_size);
if(!status&&l->window)
status=oxi_llm_read_int(model,file,"attention.key_length_swa",-1,1,l->key_size,&l->key_size);
if(!status&&l->window)
status=oxi_llm_read_int(model,file,"attention.value_length_swa",-1,1,l->value_size,&l->value_size);
if(status)return status;
if(l->heads%l->kv_heads!=0)
return oxi_fail(OX_ERR_FORMAT,"llm: %lld heads cannot share %lld key-value heads",
 (long long)l->heads,(long long)l->kv_heads);
if(latent){
l->kv_heads=1;
l->key_size=latent+model->rope.size;
l->value_size=latent;}
return OX_OK;}
static bool oxi_llm_is_windowed(const ox_llm*model,int64_t layer){
const int n=model->family->windows;
return n==1||(n>1?layer%n!=n-1:n< -1&&layer% -n!=0);}
static ox_status oxi_llm_read_windows(ox_llm*model,const ox_file*file){
const int64_t usual=oxi_llm_has_trait(model,OXI_LLM_TRAIT(CHUNKS))?8192:0;
int64_t window,every=0;
ox_status status=oxi_llm_read_int(model,file,"attention.sliding_window",-1,0,usual,&window);
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(DEEP_WINDOWS))&&model->config.layers!=64)window=0;
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(CHUNKS)))model->numbers.chunk=window;
if(status||window==0)return status;
char key[96];
oxi_llm_key(model,"attention.sliding_window_pattern",key);
const bool listed=ox_file_meta_find(file,key).type==OX_FILE_META_ARRAY;
if(!listed)status=oxi_llm_read_int(model,file,"attention.sliding_window_pattern",-1,1,0,&every);
for(int64_t i=0;!status&&i<model->config.layers;i++){
int64_t windowed=every?i%every!=every-1:oxi_llm_is_windowed(model,i);
if(listed)
status=oxi_llm_read_int(model,file,"attention.sliding_window_pattern",i,0,OXI_LLM_NEEDED,&windowed);
model->layers[i].window=windowed?window:0;
model->numbers.windows=model->numbers.windows||windowed;}
return status;}
static ox_status oxi_llm_read_expert_sizes(ox_llm*model,const ox_file*file,int64_t i){
oxi_llm_layer*l= &model->layers[i];
const double clamp=oxi_llm_has_trait(model,OXI_LLM_TRAIT(EXPERT_CLAMP_7))?7:0;
ox_status status=oxi_llm_read_int(model,file,"expert_feed_forward_length",i,1,l->hidden,&l->expert_hidden);
if(!status)status=oxi_llm_read_float(model,file,"swiglu_clamp_exp",i,0,clamp,&l->expert_clamp);
if(!status&&oxi_llm_has_trait(model,OXI_LLM_TRAIT(SHARED_CLAMP)))
status=oxi_llm_read_float(model,file,"swiglu_clamp_shexp",i,0,0,&l->shared_clamp);
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(DENSE_WIDTH)))l->hidden=model->config.width;
return status;}
static ox_status oxi_llm_read_layers(ox_llm*model,const ox_file*file){
const oxi_llm_numbers*n= &model->numbers;
ox_status status=oxi_llm_read_windows(model,file);
if(!status)status=oxi_llm_read_mixers(model,file);
const int64_t hidden=n->experts||n->mixing.kind?0:OXI_LLM_NEEDED;
for(int64_t i=0;!status&&i<model->config.layers;i++){
oxi_llm_layer*l= &model->layers[i];
status=oxi_llm_read_heads(model,file,i);
if(!status)status=oxi_llm_read_int(model,file,"feed_forward_length",i,1,hidden,&l->hidden);
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(HALF_HIDDEN)))l->hidden/=2;
if(!status&&n->experts)status=oxi_llm_read_expert_sizes(model,file,i);}
return status;}
static ox_status oxi_llm_read_sizes(ox_llm*model,const ox_file*file){
ox_llm_config*c= &model->config;
int64_t ahead=0;
ox_status status=oxi_llm_read_int(model,file,"block_count",-1,1,OXI_LLM_NEEDED,&c->layers);
if(!status)status=oxi_llm_read_int(model,file,"nextn_predict_layers",-1,0,0,&ahead);
if(!status)status=oxi_llm_read_int(model,file,"embedding_length",-1,1,OXI_LLM_NEEDED,&c->width);
if(!status)status=oxi_llm_read_int(model,file,"context_length",-1,1,OXI_LLM_NEEDED,&c->context);
if(status)return status;
if(ahead<c->layers)c->layers-=ahead;
if(c->layers>ox_file_count(file))
return oxi_fail(OX_ERR_FORMAT,"llm: %lld layers, but only %lld tensors",(long long)c->layers,
 (long long)ox_file_count(file));
model->layers=(oxi_llm_layer*)oxi_calloc((size_t)c->layers,sizeof*model->layers);
return model->layers?OX_OK:OX_ERR_NOMEM;}
typedef struct oxi_llm_yarn{
double factor,strength,fast,slow;
int64_t original;
bool truncate;}oxi_llm_yarn;
static double oxi_llm_turning_pair(const oxi_llm_rope*rope,double positions,double turns){
return(double)rope->size*log(positions/(turns*6.283185307179586))/(2*log(rope->base));}
static ox_tensor*oxi_llm_yarn_factors(const oxi_llm_rope*rope,const oxi_llm_yarn*yarn){
double low=oxi_llm_turning_pair(rope,(double)yarn->original,yarn->fast);
double high=oxi_llm_turning_pair(rope,(double)yarn->original,yarn->slow);
if(yarn->truncate){
low=floor(low);
high=ceil(high);}
if(!(low>0))low=0;
if(!(high<(double)rope->size -1))high=(double)rope->size -1;
const double width=high-low>0.001?high-low:0.001;
const size_t bytes=(size_t)(rope->size/2)*sizeof(float);
float*out=(float*)oxi_alloc(bytes);
if(!out)return NULL;
for(int64_t i=0;i<rope->size/2;i++){
double ramp=((double)i-low)/width;
ramp=ramp<0?0:ramp>1?1:ramp;
const double kept=(1-ramp)*yarn->strength;
out[i]=(float)(1/((1-kept)/yarn->factor+kept));}
ox_tensor*factors=oxi_copied(out,OX_SHAPE(rope->size/2),OX_F32);
oxi_free(out,bytes);
return factors;}
static ox_status oxi_llm_read_yarn_numbers(const ox_llm*model,const ox_file*file,double factor,
 oxi_llm_yarn*yarn){
double strength=0;
int64_t truncate=1;
yarn->factor=factor;
ox_status status=oxi_llm_read_float(model,file,"rope.scaling.yarn_beta_fast",-1,0,32,&yarn->fast);
if(!status)
status=oxi_llm_read_float(model,file,"rope.scaling.yarn_beta_slow",-1,0,1,&yarn->slow);
if(!status)
status=oxi_llm_read_float(model,file,"rope.scaling.yarn_ext_factor",-1,-1,-1,&strength);
if(!status)status=oxi_llm_read_int(model,file,"rope.scaling.yarn_truncate",-1,0,1,&truncate);
if(!status)
status=oxi_llm_read_int(model,file,"rope.scaling.original_context_length",-1,1,
 model->config.context,&yarn->original);
yarn->truncate=truncate!=0;
yarn->strength=strength<0?1:strength;
return status;}
static ox_status oxi_llm_set_yarn(const ox_llm*model,const ox_file*file,double factor,oxi_llm_rope*rope){
oxi_llm_yarn yarn;
const ox_status status=oxi_llm_read_yarn_numbers(model,file,factor,&yarn);
if(status||rope->size==0)return status;
ox_release(rope->factors);
rope->factors=ox_retain(oxi_llm_yarn_factors(rope,&yarn));
rope->stretch=factor;
return rope->factors?OX_OK:oxi_llm_error();}
static ox_status oxi_llm_read_yarn(ox_llm*model,const ox_file*file,double factor){
double logarithm,magnitude=1;
oxi_llm_rope*rope= &model->rope;
ox_status status=oxi_llm_read_float(model,file,"rope.scaling.yarn_log_multiplier",-1,0,0,&logarithm);
if(!status)
status=oxi_llm_read_float(model,file,"rope.scaling.yarn_attn_factor",-1,0,1,&magnitude);
if(status||factor<=1||rope->size==0)return status;
const double stretched=1+logarithm*log(factor),usual=1+0.1*log(factor),given=rope->magnitude;
if(model->numbers.latent)model->numbers.attention_scale*=given*given*stretched*stretched;
if(magnitude!=1)rope->magnitude*=usual*magnitude;
else if(!model->numbers.latent)rope->magnitude*=usual/(1+0.1*logarithm*log(factor));
else if(logarithm==0)rope->magnitude*=usual;
return oxi_llm_set_yarn(model,file,factor,rope);}
static ox_status oxi_llm_read_rope_scaling(ox_llm*model,const ox_file*file){
oxi_llm_rope*rope= &model->rope;
ox_string type;
double factor=1,scale=1;
ox_status status=oxi_llm_read_text(model,file,"rope.scaling.type",&type);
if(!status)
status=oxi_llm_read_float(model,file,"rope.scaling.attn_factor",-1,0,1,&rope->magnitude);
if(!status)
status=oxi_llm_read_float(model,file,"rope.scale_linear",-1,1e-6,1,&factor);
if(!status)status=oxi_llm_read_float(model,file,"rope.scaling.factor",-1,1e-6,factor,&factor);
if(!status)
status=oxi_llm_read_int(model,file,"rope.scaling.original_context_length",-1,1,
 model->config.context,&rope->original);
if(status)return status;
if(type.length==0||oxi_llm_text_is(type,"linear")){
scale=1/factor;}else if(oxi_llm_text_is(type,"yarn")){
status=oxi_llm_read_yarn(model,file,factor);
 }else if(!oxi_llm_text_is(type,"none")&& !oxi_llm_text_is(type,"longrope")){
char name[32];
oxi_llm_copy_text(type,name,sizeof name);
return oxi_fail(OX_ERR_UNSUPPORTED,"llm: the rope scaling \"%s\" is not supported",name);}
rope->scale=scale;
return status;}
static bool oxi_llm_is_turned(const ox_llm*model,int64_t i){
const oxi_llm_layer*l= &model->layers[i];
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(FOURTH_PLAIN))&&i%4==3)return false;
if(!model->numbers.windows)return true;
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(FIRST_PLAIN))&&i%4==0)return false;
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(DENSE_TURNS))&&i<model->numbers.dense_layers)return true;
return l->window|| !oxi_llm_has_trait(model,OXI_LLM_TRAIT(WINDOW_TURNS));}
static void oxi_llm_spread_rope(ox_llm*model){
for(int64_t i=0;i<model->config.layers;i++){
oxi_llm_layer*l= &model->layers[i];
const oxi_llm_rope*rope=l->window? &model->window_rope: &model->rope;
l->rope=rope->size>0&&oxi_llm_is_turned(model,i)?rope:NULL;}
if(model->numbers.attention_scale==0&&oxi_llm_has_trait(model,OXI_LLM_TRAIT(TURNED_SCALE)))
model->numbers.attention_scale=1/sqrt((double)model->rope.size);}
static const oxi_llm_layer*oxi_llm_first_attending(const ox_llm*model){
for(int64_t i=0;i<model->config.layers;i++)
if(model->layers[i].attends)return&model->layers[i];
return&model->layers[0];}
static ox_status oxi_llm_read_rope(ox_llm*model,const ox_file*file){
oxi_llm_rope*rope= &model->rope,*window= &model->window_rope;
const int64_t head=oxi_llm_first_attending(model)->key_size;
if(model->numbers.rope==OXI_LLM_ROPE_NONE)return OX_OK;
ox_status status=oxi_llm_read_float(model,file,"rope.freq_base",-1,1e-6,10000,&rope->base);
if(!status&& !model->numbers.latent)
status=oxi_llm_read_int(model,file,"rope.dimension_count",-1,1,head,&rope->size);
if(!status)status=oxi_llm_read_rope_scaling(model,file);
if(status)return status;
*window= *rope;
(void)ox_retain(window->factors);
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(WINDOW_UNSCALED))){
window->scale=window->magnitude=1;
ox_release(window->factors);
window->factors=NULL;}
status=oxi_llm_read_float(model,file,"rope.freq_base_swa",-1,1e-6,
 oxi_llm_has_trait(model,OXI_LLM_TRAIT(WINDOW_10000))?10000:rope->base,&window->base);
if(!status)
status=oxi_llm_read_int(model,file,"rope.dimension_count_swa",-1,1,rope->size,&window->size);
if(!status&&window->factors&&(window->base!=rope->base||window->size!=rope->size))
status=oxi_llm_set_yarn(model,file,window->stretch,window);
for(int64_t i=0;!status&&i<model->config.layers;i++){
const oxi_llm_layer*l= &model->layers[i];
const int64_t size=l->window?window->size:rope->size;
if(l->attends&&(size>l->key_size||size%2!=0))
return oxi_fail(OX_ERR_FORMAT,"llm: rope over %lld elements of heads that have %lld",
 (long long)size,(long long)l->key_size);}
if(!status)oxi_llm_spread_rope(model);
return status;}
static ox_status oxi_llm_read_scales(ox_llm*model,const ox_file*file){
oxi_llm_numbers*n= &model->numbers;
const double width=(double)model->config.width,layers=(double)model->config.layers;
const bool sizes=oxi_llm_has_trait(model,OXI_LLM_TRAIT(SCALES_OF_SIZES));
const double embedding=sizes?12:0,residual=sizes?1.4/sqrt(layers):0,logits=sizes?width/256:0;
const bool divided=oxi_llm_has_trait(model,OXI_LLM_TRAIT(LOGIT_DIVIDED));
ox_status status=oxi_llm_read_float(model,file,"embedding_scale",-1,0,embedding,&n->embedding_scale);
if(!status)
status=oxi_llm_read_float(model,file,"residual_scale",-1,0,residual,&n->residual_scale);
if(!status)
status=oxi_llm_read_float(model,file,"logit_scale",-1,0,divided?logits:sizes?1/logits:0,&n->logit_scale);
if(!status)status=oxi_llm_read_float(model,file,"attention.clamp_kqv",-1,0,0,&n->clamp);
if(!status)status=oxi_llm_read_float(model,file,"attention.value_scale",-1,0,0,&n->value_scale);
if(!status&&oxi_llm_has_trait(model,OXI_LLM_TRAIT(SCORE_CAP)))
status=oxi_llm_read_float(model,file,"attn_logit_softcapping",-1,0,50,&n->score_cap);
if(!status&&oxi_llm_has_trait(model,OXI_LLM_TRAIT(LOGIT_CAP)))
status=oxi_llm_read_float(model,file,"final_logit_softcapping",-1,0,
 oxi_llm_has_trait(model,OXI_LLM_TRAIT(LOGIT_CAP_30))?30:0,&n->logit_cap);
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(EMBEDDING_ROOT)))n->embedding_scale=sqrt(width);
if(divided&&n->logit_scale>0)n->logit_scale=1/n->logit_scale;
return status;}
static ox_status oxi_llm_read_temperature(ox_llm*model,const ox_file*file){
oxi_llm_numbers*n= &model->numbers;
const bool plain=oxi_llm_has_trait(model,OXI_LLM_TRAIT(PLAIN_WARMER));
int64_t original;
ox_status status=oxi_llm_read_float(model,file,"attention.temperature_scale",-1,0,plain?0.1:0,
 &n->temperature);
if(!status)
status=oxi_llm_read_int(model,file,"rope.scaling.original_context_length",-1,1,
 model->config.context,&original);
if(!status)
status=oxi_llm_read_int(model,file,"attention.temperature_length",-1,1,plain?8192:original,
 &n->temperature_length);
return status;}
static ox_status oxi_llm_read_experts(ox_llm*model,const ox_file*file){
oxi_llm_numbers*n= &model->numbers;
int64_t shared=0,router=0,hidden=0,normalized=oxi_llm_has_trait(model,OXI_LLM_TRAIT(ROUTED_NORM));
ox_status status=oxi_llm_read_int(model,file,"expert_count",-1,0,0,&n->experts);
if(status||n->experts==0)return status;
status=oxi_llm_read_int(model,file,"expert_used_count",-1,1,OXI_LLM_NEEDED,&n->experts_used);
if(!status)status=oxi_llm_read_int(model,file,"expert_feed_forward_length",0,1,-1,&hidden);
if(!status&&hidden<0)
status=oxi_llm_read_int(model,file,"feed_forward_length",0,1,OXI_LLM_NEEDED,&hidden);
if(!status)
status=oxi_llm_read_int(model,file,"moe_latent_size",-1,1,model->config.width,&n->expert_width);
if(!status)
status=oxi_llm_read_int(model,file,"leading_dense_block_count",-1,0,0,&n->dense_layers);
if(!status)status=oxi_llm_read_int(model,file,"expert_shared_count",-1,0,0,&shared);
if(!status)
status=oxi_llm_read_int(model,file,"expert_shared_feed_forward_length",-1,1,
 hidden*(shared?shared:1),&n->shared_hidden);
if(!status)status=oxi_llm_read_int(model,file,"expert_gating_func",-1,0,0,&router);
if(!status)
status=oxi_llm_read_int(model,file,"expert_weights_norm",-1,1,normalized,&normalized);
if(!status)status=oxi_llm_read_float(model,file,"expert_weights_scale",-1,0,0,&n->routed_scale);
if(!status)status=oxi_llm_read_int(model,file,"expert_group_count",-1,0,0,&n->expert_groups);
if(!status)
status=oxi_llm_read_int(model,file,"expert_group_used_count",-1,0,0,&n->expert_groups_used);
if(status)return status;
if(router>=OXI_LLM_ROUTER_COUNT)
return oxi_fail(OX_ERR_UNSUPPORTED,"llm: the expert_gating_func %lld is not supported",(long long)router);
n->router=router?(oxi_llm_router)router:model->family->router;
n->routed_norm=normalized!=0;
if(n->experts_used>n->experts||n->experts>65536)
return oxi_fail(OX_ERR_FORMAT,"llm: %lld of %lld experts are used",(long long)n->experts_used,
 (long long)n->experts);
if(n->expert_groups>1&&(n->experts%n->expert_groups!=0||n->expert_groups_used<1||
 n->expert_groups_used>n->expert_groups||
 n->experts_used>n->experts/n->expert_groups*n->expert_groups_used))
return oxi_fail(OX_ERR_FORMAT,"llm: %lld experts in %lld groups, of which %lld are used",
 (long long)n->experts,(long long)n->expert_groups,(long long)n->expert_groups_used);
return OX_OK;}
static ox_status oxi_llm_read_latent(ox_llm*model,const ox_file*file){
oxi_llm_numbers*n= &model->numbers;
ox_status status=oxi_llm_read_int(model,file,"attention.kv_lora_rank",-1,0,0,&n->latent);
if(status||n->latent==0)return status;
status=oxi_llm_read_int(model,file,"attention.q_lora_rank",-1,0,0,&n->query_rank);
if(!status)
status=oxi_llm_read_int(model,file,"rope.dimension_count",-1,1,OXI_LLM_NEEDED,&model->rope.size);
int64_t key= -1,value= -1;
if(!status)status=oxi_llm_read_int(model,file,"attention.key_length",-1,1,OXI_LLM_NEEDED,&key);
if(!status)
status=oxi_llm_read_int(model,file,"attention.value_length",-1,1,OXI_LLM_NEEDED,&value);
if(!status)
status=oxi_llm_read_int(model,file,"attention.key_length_mla",-1,1,key,&n->latent_key);
if(!status)
status=oxi_llm_read_int(model,file,"attention.value_length_mla",-1,1,value,&n->latent_value);
if(!status&&n->latent_key<model->rope.size)
return oxi_fail(OX_ERR_FORMAT,"llm: rope over %lld elements of heads that have %lld",
 (long long)model->rope.size,(long long)n->latent_key);
return status;}
static ox_status oxi_llm_read_norm(ox_llm*model,const ox_file*file){
static const char*const epsilon[]={"attention.layer_norm_rms_epsilon","attention.layer_norm_epsilon"};
oxi_llm_numbers*n= &model->numbers;
n->norm=model->family->norm;
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(NORM_FACT))){
const ox_status status=oxi_llm_read_float(model,file,epsilon[OXI_LLM_NORM_RMS],-1,0,0,&n->epsilon);
if(status)return status;
if(n->epsilon>0)n->norm=OXI_LLM_NORM_RMS;}
return oxi_llm_read_float(model,file,epsilon[n->norm],-1,0,OXI_LLM_NEEDED_FLOAT,&n->epsilon);}
static ox_status oxi_llm_read_positions(ox_llm*model,const ox_file*file){
oxi_llm_numbers*n= &model->numbers;
const bool deep=oxi_llm_has_trait(model,OXI_LLM_TRAIT(DEPTH_POSITIONS));
const bool alibi=oxi_llm_has_trait(model,OXI_LLM_TRAIT(ALIBI_8))||(deep&&model->config.layers==40);
char key[96];
n->rope=deep&&model->config.layers!=32?OXI_LLM_ROPE_NONE:model->family->rope;
oxi_llm_key(model,"rope.dimension_sections",key);
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(SECTION_HALVES))&&
 ox_file_meta_find(file,key).type==OX_FILE_META_ARRAY){
int64_t first=0,second=0;
ox_status status=oxi_llm_read_int(model,file,"rope.dimension_sections",0,0,0,&first);
if(!status)status=oxi_llm_read_int(model,file,"rope.dimension_sections",1,0,0,&second);
if(status)return status;
if(first>0&&second>0)n->rope=OXI_LLM_ROPE_HALVES;}
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(ROPE_FACT))){
int64_t turned=1;
const ox_status status=oxi_llm_read_int(model,file,"rope.scaling.finetuned",-1,0,1,&turned);
if(status)return status;
if(!turned)n->rope=OXI_LLM_ROPE_NONE;}
return oxi_llm_read_float(model,file,"attention.max_alibi_bias",-1,0,alibi?8:0,&n->alibi);}
static ox_status oxi_llm_usual_scale(const ox_llm*model,const ox_file*file,double*out){
const char*family=model->family->name;
const int64_t layers=model->config.layers;
int64_t heads,size=0;
ox_status status=oxi_llm_read_int(model,file,"attention.head_count",0,1,1,&heads);
if(!status&&oxi_llm_has_trait(model,OXI_LLM_TRAIT(KEY_SCALE)))
status=oxi_llm_read_int(model,file,"attention.key_length",-1,1,model->config.width/heads,&size);
if(size>0)*out=1/(double)size;
if((strcmp(family,"gemma2")==0&&layers==46)||(strcmp(family,"gemma3")==0&&layers==62))
*out=1/sqrt((double)model->config.width/(double)heads);
if(strcmp(family,"grok")==0)
status=oxi_llm_read_float(model,file,"attention.output_scale",-1,0,0.08838834764831845,out);
return status;}
static ox_status oxi_llm_refuse_sparse(const ox_llm*model,const ox_file*file){
int64_t best,loops;
ox_status status=oxi_llm_read_int(model,file,"attention.indexer.top_k",-1,1,INT32_MAX,&best);
if(!status)status=oxi_llm_read_int(model,file,"num_loops",-1,1,1,&loops);
if(status)return status;
if(best<model->config.context)
return oxi_fail(OX_ERR_UNSUPPORTED,"llm: attention to the best %lld positions is not supported",
 (long long)best);
return loops==1?OX_OK:oxi_fail(OX_ERR_UNSUPPORTED,"llm: %lld passes through the layers are not supported",
 (long long)loops);}
static ox_status oxi_llm_read_pooling(ox_llm*model,const ox_file*file){
static const ox_llm_pooling kinds[]={OX_LLM_POOLING_NONE,OX_LLM_POOLING_MEAN,OX_LLM_POOLING_FIRST,
 OX_LLM_POOLING_LAST};
int64_t kind;
double number=0;
ox_status status=OX_OK;
if(!oxi_llm_find_number(model,file,"pooling_type",-1,true,&number,&status))return status;
kind=number>=0&&number<4?(int64_t)number: -1;
model->numbers.pooling=kind<0?OX_LLM_POOLING_MODEL:kinds[kind];
return status;}
static ox_status oxi_llm_read_numbers(ox_llm*model,const ox_file*file){
oxi_llm_numbers*n= &model->numbers;
int64_t parallel=0,causal=1;
n->block=model->family->block;
ox_status status=oxi_llm_read_norm(model,file);
if(!status)status=oxi_llm_read_positions(model,file);
if(!status)status=oxi_llm_read_scales(model,file);
if(!status)status=oxi_llm_read_temperature(model,file);
if(!status)status=oxi_llm_read_pooling(model,file);
if(!status)status=oxi_llm_refuse_sparse(model,file);
if(!status)
status=oxi_llm_read_int(model,file,"attention.group_norm_groups",-1,1,0,&n->norm_groups);
if(!status)status=oxi_llm_read_experts(model,file);
if(!status)status=oxi_llm_read_latent(model,file);
if(!status)status=oxi_llm_read_float(model,file,"attention.scale",-1,0,0,&n->attention_scale);
if(!status&&n->latent&&n->attention_scale==0)n->attention_scale=1/sqrt((double)n->latent_key);
if(!status&&n->attention_scale==0)status=oxi_llm_usual_scale(model,file,&n->attention_scale);
if(!status&&oxi_llm_has_trait(model,OXI_LLM_TRAIT(PARALLEL_FACT)))
status=oxi_llm_read_int(model,file,"use_parallel_residual",-1,0,1,&parallel);
if(parallel)n->block=OXI_LLM_BLOCK_PARALLEL;
if(!status)
status=oxi_llm_read_int(model,file,"attention.causal",-1,0,model->family->causal,&causal);
n->causal=causal!=0;
return status;}
static ox_status oxi_llm_read_config(ox_llm*model,const ox_file*file){
ox_llm_config*c= &model->config;
c->architecture=model->family->name;
const ox_file_meta name=ox_file_meta_find(file,"general.name");
if(name.type==OX_FILE_META_STRING)oxi_llm_copy_text(name.text,c->name,sizeof c->name);
ox_status status=oxi_llm_read_sizes(model,file);
if(!status)status=oxi_llm_read_numbers(model,file);
if(!status)status=oxi_llm_read_layers(model,file);
if(!status)status=oxi_llm_read_rope(model,file);
if(status)return status;
const oxi_llm_layer*first=oxi_llm_first_attending(model);
c->hidden=first->hidden;
c->heads=first->heads;
c->kv_heads=first->kv_heads;
c->key_size=first->key_size;
c->value_size=first->value_size;
c->norm_epsilon=model->numbers.epsilon;
c->rope_base=model->rope.base;
c->rope_scale=model->rope.scale;
c->rope_size=model->rope.size;
c->causal=model->numbers.causal;
c->encoder=oxi_llm_has_trait(model,OXI_LLM_TRAIT(ENCODER));
c->experts=model->numbers.experts;
c->experts_used=model->numbers.experts_used;
return OX_OK;}
/* >>llm/model/weights.c */
typedef struct oxi_llm_part_row{
const char*name;
oxi_llm_size experts,rows,columns;}oxi_llm_part_row;
#define OXI_LLM_MODEL_PART(role,name,rows,columns) \
{name,OXI_LLM_SIZE_NONE,OXI_LLM_SIZE_##rows,OXI_LLM_SIZE_##columns},
static const oxi_llm_part_row oxi_llm_model_parts[]={
#ifndef OXI_LLM_MODEL_PART
#define OXI_LLM_MODEL_PART(role,name,rows,columns)
#endif
#ifndef OXI_LLM_LAYER_PART
#define OXI_LLM_LAYER_PART(role,name,experts,rows,columns)
#endif
OXI_ROWS_OF_LLM_MODEL_PARTS
#undef OXI_LLM_MODEL_PART
#undef OXI_LLM_LAYER_PART
};
#define OXI_LLM_LAYER_PART(role,name,experts,rows,columns) \
{name,OXI_LLM_SIZE_##experts,OXI_LLM_SIZE_##rows,OXI_LLM_SIZE_##columns},
static const oxi_llm_part_row oxi_llm_layer_parts[]={
#ifndef OXI_LLM_MODEL_PART
#define OXI_LLM_MODEL_PART(role,name,rows,columns)
#endif
#ifndef OXI_LLM_LAYER_PART
#define OXI_LLM_LAYER_PART(role,name,experts,rows,columns)
#endif
OXI_ROWS_OF_LLM_MODEL_PARTS
#undef OXI_LLM_MODEL_PART
#undef OXI_LLM_LAYER_PART
};
static int64_t oxi_llm_size_of(const ox_llm*model,const oxi_llm_layer*l,oxi_llm_size size){
const ox_llm_config*c= &model->config;
const oxi_llm_numbers*n= &model->numbers;
const int64_t turned=model->rope.size;
const bool gated=oxi_llm_has_trait(model,OXI_LLM_TRAIT(QUERY_GATED));
switch(size){
case OXI_LLM_SIZE_ANY:return-1;
case OXI_LLM_SIZE_VOCABULARY:return c->vocabulary?c->vocabulary: -1;
case OXI_LLM_SIZE_WIDTH:return c->width;
case OXI_LLM_SIZE_HIDDEN:return l->hidden;
case OXI_LLM_SIZE_HIDDEN_UP:
return oxi_llm_has_trait(model,OXI_LLM_TRAIT(GATE_IN_UP))?2*l->hidden:l->hidden;
case OXI_LLM_SIZE_HEADS:return l->heads;
case OXI_LLM_SIZE_QUERIES:
if(!l->attends)return l->heads*l->key_size;
return l->heads*(n->latent?n->latent_key:gated?2*l->key_size:l->key_size);
case OXI_LLM_SIZE_KEYS:return l->kv_heads*l->key_size;
case OXI_LLM_SIZE_VALUES:return l->kv_heads*l->value_size;
case OXI_LLM_SIZE_QUERY_KEY_VALUE:
return(l->heads+l->kv_heads)*l->key_size +l->kv_heads*l->value_size;
case OXI_LLM_SIZE_MERGED:return l->heads*(n->latent&&l->attends?n->latent_value:l->value_size);
case OXI_LLM_SIZE_PAIRS:return turned?turned/2: -1;
case OXI_LLM_SIZE_QUERY_RANK:return n->query_rank;
case OXI_LLM_SIZE_LATENT:return n->latent;
case OXI_LLM_SIZE_LATENT_TURNED:return n->latent+turned;
case OXI_LLM_SIZE_LATENT_QUERIES:return l->heads*n->latent_key;
case OXI_LLM_SIZE_LATENT_PAIRS:return l->heads*(n->latent_key-turned+n->latent_value);
case OXI_LLM_SIZE_LATENT_PLAIN:return n->latent_key-turned;
case OXI_LLM_SIZE_LATENT_VALUE:return n->latent_value;
case OXI_LLM_SIZE_EXPERTS:return n->experts;
case OXI_LLM_SIZE_EXPERT_WIDTH:return n->expert_width;
case OXI_LLM_SIZE_EXPERT_HIDDEN:return l->expert_hidden;
case OXI_LLM_SIZE_EXPERT_GATE_UP:return 2*l->expert_hidden;
case OXI_LLM_SIZE_SHARED_HIDDEN:return n->shared_hidden;
#define OXI_X(size)case OXI_LLM_SIZE_##size:
OXI_LLM_MIXER_SIZE_LIST(OXI_X)
#undef OXI_X
return n->mixing.size[size];
case OXI_LLM_SIZE_NONE:
case OXI_LLM_SIZE_COUNT:break;}
return 0;}
static ox_status oxi_llm_check_shape(const ox_llm*model,const oxi_llm_layer*l,const char*name,
 const oxi_llm_part_row*row,const ox_tensor*t){
int64_t shape[3];
int ndim=0;
if(row->experts)shape[ndim++]=oxi_llm_size_of(model,l,row->experts);
if(row->rows)shape[ndim++]=oxi_llm_size_of(model,l,row->rows);
shape[ndim++]=oxi_llm_size_of(model,l,row->columns);
if(ndim==1&&shape[0]<0&&t->ndim<=3)return OX_OK;
bool fits=t->ndim==ndim;
for(int d=0;fits&&d<ndim;d++){
if(shape[d]<0)shape[d]=t->shape[d];
fits=t->shape[d]==shape[d]&&shape[d]>0;}
if(fits)return OX_OK;
return oxi_fail(OX_ERR_SHAPE,"llm: tensor %s is %s, the metadata asks for %s",name,oxi_tensor_text(t),
 oxi_shape_text(ndim,shape));}
static ox_tensor*oxi_llm_keep(ox_llm*model,ox_tensor*t,bool matrix){
model->config.parameters+=ox_numel(t);
model->config.bytes+=(int64_t)ox_nbytes(t);
return ox_retain(matrix?t:ox_to(ox_cast(t,OX_F32),oxi_working_device(ox_device_of(t))));}
static ox_status oxi_llm_load_tensor(ox_llm*model,const oxi_llm_layer*l,ox_file*file,const char*name,
 const oxi_llm_part_row*row,ox_tensor**out){
if(!ox_file_has(file,name))return OX_OK;
ox_scope scope=ox_scope_begin();
ox_tensor*t=ox_file_tensor(file,name);
const int ndim=1+(row->rows!=OXI_LLM_SIZE_NONE)+(row->experts!=OXI_LLM_SIZE_NONE);
if(t&&t->ndim==ndim-1)t=ox_unsqueeze(t,0);
ox_status status=t?oxi_llm_check_shape(model,l,name,row,t):oxi_llm_error();
if(!status){
const ox_dtype_class cls=oxi_info(t->dtype)->cls;
if(cls!=OX_CLASS_FLOAT&&(cls!=OX_CLASS_BLOCK||row->rows==OXI_LLM_SIZE_NONE))
status=oxi_fail(OX_ERR_DTYPE,
 "llm: tensor %s has dtype %s: weights are floats, matrices also of block types",
 name,ox_dtype_name(t->dtype));}
if(!status){
*out=oxi_llm_keep(model,t,row->rows!=OXI_LLM_SIZE_NONE);
if(!*out)status=oxi_llm_error();}
ox_scope_end(&scope);
return status;}
static ox_status oxi_llm_load_scale(ox_file*file,const char*name,double*out){
if(!ox_file_has(file,name))return OX_OK;
ox_scope scope=ox_scope_begin();
ox_tensor*t=ox_file_tensor(file,name);
float*numbers=NULL;
const int64_t count=t?ox_numel(t):0;
ox_status status=t?OX_OK:oxi_llm_error();
if(!status&&(count<1||count>65536))
status=oxi_fail(OX_ERR_SHAPE,"llm: tensor %s is %s, not a factor",name,oxi_tensor_text(t));
if(!status){
numbers=(float*)oxi_alloc((size_t)count*sizeof*numbers);
status=numbers?ox_to_floats(t,numbers,count):OX_ERR_NOMEM;}
for(int64_t i=0;!status&&i<count;i++)
if(!isfinite(numbers[i])||numbers[i]!=numbers[0])
status=oxi_fail(OX_ERR_UNSUPPORTED,"llm: tensor %s has different factors, which is not supported",name);
if(!status)*out=numbers[0];
oxi_free(numbers,numbers?(size_t)count*sizeof*numbers:0);
ox_scope_end(&scope);
return status;}
static void oxi_llm_free_part(oxi_llm_part*part){
ox_release(part->weight);
ox_release(part->bias);
part->weight=part->bias=NULL;}
static ox_status oxi_llm_load_part(ox_llm*model,const oxi_llm_layer*l,ox_file*file,const char*stem,
 const oxi_llm_part_row*row,oxi_llm_part*out){
char name[96];
const bool matrix=row->rows!=OXI_LLM_SIZE_NONE;
oxi_llm_part_row bias= *row;
if(matrix)bias.columns=row->rows;
if(!matrix||row->experts==OXI_LLM_SIZE_NONE)bias.rows=OXI_LLM_SIZE_NONE;
if(row->experts)bias.rows=row->experts;
bias.experts=OXI_LLM_SIZE_NONE;
out->scale=1;
(void)snprintf(name,sizeof name,"%s.weight",stem);
ox_status status=oxi_llm_load_tensor(model,l,file,name,row,&out->weight);
if(!status&& !out->weight&& !matrix)
status=oxi_llm_load_tensor(model,l,file,stem,row,&out->weight);
(void)snprintf(name,sizeof name,"%s.bias",stem);
if(!status)status=oxi_llm_load_tensor(model,l,file,name,&bias,&out->bias);
(void)snprintf(name,sizeof name,"%s.scale",stem);
return status|| !matrix?status:oxi_llm_load_scale(file,name,&out->scale);}
typedef struct oxi_llm_other_name{
const char*family;
oxi_llm_layer_role role;
const char*name;}oxi_llm_other_name;
#define OXI_LLM_NAME(family,role,name){family,OXI_LLM_##role,name},
static const oxi_llm_other_name oxi_llm_other_names[]={
/* >>llm/model/names.def */
#define OXI_ROWS_OF_LLM_MODEL_NAMES \
OXI_LLM_NAME("falcon",ATTENTION_NORM,"attn_norm_2") \
OXI_LLM_NAME("falcon",HIDDEN_NORM,"attn_norm") \
OXI_LLM_NAME("grok",ATTENTION_POST_NORM,"attn_output_norm") \
OXI_LLM_NAME("grok",HIDDEN_POST_NORM,"layer_output_norm") \
OXI_LLM_NAME("dbrx",HIDDEN_NORM,"attn_output_norm") \
OXI_LLM_NAME("gpt-oss",HIDDEN_NORM,"post_attention_norm") \
OXI_LLM_NAME("gpt-oss",ATTENTION_POST_NORM,"") \
OXI_LLM_NAME("seed_oss",HIDDEN_NORM,"post_attention_norm") \
OXI_LLM_NAME("seed_oss",ATTENTION_POST_NORM,"") \
OXI_LLM_NAME("glm4moe",HIDDEN_NORM,"post_attention_norm") \
OXI_LLM_NAME("glm4moe",ATTENTION_POST_NORM,"") \
OXI_LLM_NAME("qwen35",HIDDEN_NORM,"post_attention_norm") \
OXI_LLM_NAME("qwen35",ATTENTION_POST_NORM,"") \
OXI_LLM_NAME("qwen35moe",HIDDEN_NORM,"post_attention_norm") \
OXI_LLM_NAME("qwen35moe",ATTENTION_POST_NORM,"") \
OXI_LLM_NAME("qwen3next",HIDDEN_NORM,"post_attention_norm") \
OXI_LLM_NAME("qwen3next",ATTENTION_POST_NORM,"") \
OXI_LLM_NAME("nemotron_h",HIDDEN_NORM,"attn_norm") \
OXI_LLM_NAME("nemotron_h_moe",HIDDEN_NORM,"attn_norm") \
OXI_LLM_NAME("lfm2",MIXER_IN,"shortconv.in_proj") \
OXI_LLM_NAME("lfm2",MIXER_CONV,"shortconv.conv") \
OXI_LLM_NAME("lfm2",MIXER_OUT,"shortconv.out_proj") \
OXI_LLM_NAME("lfm2moe",MIXER_IN,"shortconv.in_proj") \
OXI_LLM_NAME("lfm2moe",MIXER_CONV,"shortconv.conv") \
OXI_LLM_NAME("lfm2moe",MIXER_OUT,"shortconv.out_proj") \
OXI_LLM_NAME("minimax-01",MERGE_NORM,"attn_norm_2") \
OXI_LLM_NO_BIAS("falcon-h1",MERGE) \
OXI_LLM_NO_BIAS("llada",MERGE) \
OXI_LLM_NO_BIAS("llada",GATE) \
OXI_LLM_NO_BIAS("llada",UP) \
OXI_LLM_NO_BIAS("llada",DOWN) \
OXI_LLM_NO_BIAS("mimo2",QUERY) \
OXI_LLM_NO_BIAS("mimo2",KEY) \
OXI_LLM_NO_BIAS("mimo2",VALUE) \
OXI_LLM_NO_BIAS("ernie4_5",MERGE) \
OXI_LLM_NO_BIAS("ernie4_5-moe",MERGE) \
OXI_LLM_NO_BIAS("refact",MERGE) \
OXI_LLM_NO_BIAS("refact",GATE) \
OXI_LLM_NO_BIAS("refact",UP) \
OXI_LLM_NO_BIAS("refact",DOWN)
#ifndef OXI_LLM_NAME
#define OXI_LLM_NAME(family,role,name)
#endif
#ifndef OXI_LLM_NO_BIAS
#define OXI_LLM_NO_BIAS(family,role)
#endif
OXI_ROWS_OF_LLM_MODEL_NAMES
#undef OXI_LLM_NAME
#undef OXI_LLM_NO_BIAS
};
static const char*oxi_llm_part_name(const ox_llm*model,const ox_file*file,int64_t layer,int role){
for(size_t i=0;i<sizeof oxi_llm_other_names/sizeof*oxi_llm_other_names;i++){
const oxi_llm_other_name*other= &oxi_llm_other_names[i];
char name[96];
if((int)other->role!=role||strcmp(other->family,model->family->name)!=0)continue;
(void)snprintf(name,sizeof name,"blk.%lld.%s.weight",(long long)layer,other->name);
if(!other->name[0]||ox_file_has(file,name))return other->name;}
return oxi_llm_layer_parts[role].name;}
#define OXI_LLM_NO_BIAS(family,role){family,OXI_LLM_##role,NULL},
static const oxi_llm_other_name oxi_llm_no_biases[]={
#ifndef OXI_LLM_NAME
#define OXI_LLM_NAME(family,role,name)
#endif
#ifndef OXI_LLM_NO_BIAS
#define OXI_LLM_NO_BIAS(family,role)
#endif
OXI_ROWS_OF_LLM_MODEL_NAMES
#undef OXI_LLM_NAME
#undef OXI_LLM_NO_BIAS
};
static void oxi_llm_drop_biases(const ox_llm*model,oxi_llm_layer*l){
for(size_t i=0;i<sizeof oxi_llm_no_biases/sizeof*oxi_llm_no_biases;i++){
if(strcmp(oxi_llm_no_biases[i].family,model->family->name)!=0)continue;
oxi_llm_part*part= &l->part[oxi_llm_no_biases[i].role];
ox_release(part->bias);
part->bias=NULL;}}
static ox_status oxi_llm_need(const oxi_llm_layer*l,int64_t layer,oxi_llm_layer_role role){
if(l->part[role].weight)return OX_OK;
return oxi_fail(OX_ERR_NOT_FOUND,"llm: tensor blk.%lld.%s.weight is missing",(long long)layer,
 oxi_llm_layer_parts[role].name);}
static ox_status oxi_llm_check_attention(const ox_llm*model,const oxi_llm_layer*l,int64_t i){
ox_status status=OX_OK;
if(model->numbers.latent){
status=oxi_llm_need(l,i,l->part[OXI_LLM_QUERY].weight?OXI_LLM_QUERY:OXI_LLM_QUERY_UP);
if(!status&& !l->part[OXI_LLM_QUERY].weight)status=oxi_llm_need(l,i,OXI_LLM_QUERY_DOWN);
if(!status&& !l->part[OXI_LLM_QUERY].weight)status=oxi_llm_need(l,i,OXI_LLM_QUERY_DOWN_NORM);
if(!status)status=oxi_llm_need(l,i,OXI_LLM_LATENT);
if(!status)status=oxi_llm_need(l,i,OXI_LLM_LATENT_NORM);
if(!status&& !l->part[OXI_LLM_LATENT_UP].weight)status=oxi_llm_need(l,i,OXI_LLM_LATENT_KEY);
if(!status&& !l->part[OXI_LLM_LATENT_UP].weight)status=oxi_llm_need(l,i,OXI_LLM_LATENT_VALUE);
 }else if(!l->part[OXI_LLM_QUERY_KEY_VALUE].weight){
status=oxi_llm_need(l,i,OXI_LLM_QUERY);
if(!status)status=oxi_llm_need(l,i,OXI_LLM_KEY);
if(!status)status=oxi_llm_need(l,i,OXI_LLM_VALUE);}
return status?status:oxi_llm_need(l,i,OXI_LLM_MERGE);}
static ox_status oxi_llm_check_feed_forward(const oxi_llm_layer*l,int64_t i){
if(!l->part[OXI_LLM_ROUTER].weight){
const ox_status status=oxi_llm_need(l,i,OXI_LLM_UP);
return status?status:oxi_llm_need(l,i,OXI_LLM_DOWN);}
ox_status status=oxi_llm_need(l,i,OXI_LLM_EXPERTS_DOWN);
if(!status&& !l->part[OXI_LLM_EXPERTS_GATE_UP].weight)status=oxi_llm_need(l,i,OXI_LLM_EXPERTS_UP);
if(!status&&l->part[OXI_LLM_SHARED_UP].weight)status=oxi_llm_need(l,i,OXI_LLM_SHARED_DOWN);
return status;}
static ox_status oxi_llm_check_pair(const ox_llm*model,const oxi_llm_layer*l,int64_t i,
 oxi_llm_layer_role first,oxi_llm_layer_role second){
const ox_tensor*down=l->part[first].weight,*up=l->part[second].weight;
const int64_t wanted=up?up->shape[1]:model->numbers.mixing.inner;
if(down->shape[0]==wanted)return OX_OK;
return oxi_fail(OX_ERR_SHAPE,"llm: tensor blk.%lld.%s.weight is %s, asked for are %lld rows",
 (long long)i,oxi_llm_layer_parts[first].name,oxi_tensor_text(down),(long long)wanted);}
static ox_status oxi_llm_check_mixer(const ox_llm*model,oxi_llm_layer*l,int64_t i){
const oxi_llm_mixer_need*needs=oxi_llm_mixer_kinds[l->mixer].needs;
const oxi_llm_mixer_need norm={OXI_LLM_MIXER_NORM,OXI_LLM_SIZE_MIXER_NORM};
const ox_tensor*bias=l->part[OXI_LLM_MIXER_CONV].bias;
ox_status status=OX_OK;
for(int k=0;!status&&k<OXI_LLM_MIXER_NEEDS&&needs[k].role!=OXI_LLM_ATTENTION_NORM;k++)
status=oxi_llm_count_numbers(model,l,i,&needs[k],oxi_llm_layer_parts[needs[k].role].name);
if(!status&&l->part[OXI_LLM_MIXER_NORM].weight)
status=oxi_llm_count_numbers(model,l,i,&norm,oxi_llm_layer_parts[norm.role].name);
if(!status&&bias&&ox_numel(bias)!=model->numbers.mixing.size[OXI_LLM_SIZE_MIXER_CHANNELS])
status=oxi_fail(OX_ERR_SHAPE,"llm: tensor blk.%lld.%s.bias is %s",(long long)i,
 oxi_llm_layer_parts[OXI_LLM_MIXER_CONV].name,oxi_tensor_text(bias));
if(!status&&l->mixer==OXI_LLM_MIXES_KDA)
status=oxi_llm_check_pair(model,l,i,OXI_LLM_DECAY_DOWN,OXI_LLM_DECAY_UP);
if(!status&&l->mixer==OXI_LLM_MIXES_KDA)
status=oxi_llm_check_pair(model,l,i,OXI_LLM_MIXER_GATE,OXI_LLM_MIXER_GATE_UP);
if(!status&&l->mixer==OXI_LLM_MIXES_DELTA&& !l->part[OXI_LLM_MIXER_BETA_ALPHA].weight){
status=oxi_llm_need(l,i,OXI_LLM_MIXER_BETA);
if(!status)status=oxi_llm_need(l,i,OXI_LLM_MIXER_ALPHA);}
return status||model->numbers.mixing.taps==0?status:oxi_llm_place_kernel(model,l);}
static ox_status oxi_llm_check_norms(const ox_llm*model,const oxi_llm_layer*l,int64_t i){
static const oxi_llm_layer_role wanted[][4]={
{OXI_LLM_ATTENTION_NORM,OXI_LLM_HIDDEN_NORM,OXI_LLM_LAYER_ROLES,OXI_LLM_LAYER_ROLES},
 {OXI_LLM_ATTENTION_POST_NORM,OXI_LLM_HIDDEN_POST_NORM,OXI_LLM_LAYER_ROLES,OXI_LLM_LAYER_ROLES},
 {OXI_LLM_ATTENTION_NORM,OXI_LLM_HIDDEN_NORM,OXI_LLM_ATTENTION_POST_NORM,OXI_LLM_HIDDEN_POST_NORM},
 {OXI_LLM_ATTENTION_NORM,OXI_LLM_LAYER_ROLES,OXI_LLM_LAYER_ROLES,OXI_LLM_LAYER_ROLES},
 {OXI_LLM_ATTENTION_SUM_NORM,OXI_LLM_LAYER_SUM_NORM,OXI_LLM_LAYER_ROLES,OXI_LLM_LAYER_ROLES}};
ox_status status=OX_OK;
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(BARE_NORMS)))return OX_OK;
for(int k=0;k<4&& !status;k++){
const oxi_llm_layer_role role=wanted[model->numbers.block][k];
if(role==OXI_LLM_ATTENTION_NORM&&i==0&&oxi_llm_has_trait(model,OXI_LLM_TRAIT(FIRST_BARE)))
continue;
if(role==OXI_LLM_HIDDEN_NORM&&oxi_llm_has_trait(model,OXI_LLM_TRAIT(PARALLEL_WITHOUT)))
continue;
if((role==OXI_LLM_HIDDEN_NORM||role==OXI_LLM_HIDDEN_POST_NORM)&& !l->feeds)continue;
if(role!=OXI_LLM_LAYER_ROLES)status=oxi_llm_need(l,i,role);}
return status;}
static ox_status oxi_llm_load_layer(ox_llm*model,ox_file*file,int64_t index){
oxi_llm_layer*l= &model->layers[index];
ox_status status=OX_OK;
for(int role=0;!status&&role<OXI_LLM_LAYER_ROLES;role++){
char stem[80];
const char*name=oxi_llm_part_name(model,file,index,role);
if(!name[0])continue;
(void)snprintf(stem,sizeof stem,"blk.%lld.%s",(long long)index,name);
status=oxi_llm_load_part(model,l,file,stem,&oxi_llm_layer_parts[role],&l->part[role]);}
oxi_llm_drop_biases(model,l);
if(!l->part[OXI_LLM_QUERY_NORM].weight&& !model->numbers.latent)
oxi_llm_free_part(&l->part[OXI_LLM_KEY_NORM]);
if(!status)status=oxi_llm_check_norms(model,l,index);
if(!status&&l->attends)status=oxi_llm_check_attention(model,l,index);
if(!status&&l->mixer)status=oxi_llm_check_mixer(model,l,index);
if(!status&&l->feeds)status=oxi_llm_check_feed_forward(l,index);
return status;}
static ox_status oxi_llm_place_factors(ox_llm*model){
ox_tensor*plain=model->part[OXI_LLM_ROPE_FACTORS].weight,*far=model->part[OXI_LLM_ROPE_LONG].weight,
 *near=model->part[OXI_LLM_ROPE_SHORT].weight;
if(near)plain=near;
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(NO_FACTORS)))plain=far=NULL;
oxi_llm_rope*ropes[2]={&model->rope,&model->window_rope};
for(int i=0;i<2;i++){
oxi_llm_rope*rope=ropes[i];
if(plain&&ox_numel(plain)==rope->size/2){
ox_tensor*all=rope->factors?ox_mul(rope->factors,plain):plain;
if(!all)return oxi_llm_error();
ox_release(rope->factors);
rope->factors=ox_retain(all);}
if(far&&ox_numel(far)==rope->size/2)rope->long_factors=ox_retain(far);
if(!rope->factors||ox_device_of(rope->factors)==model->device)continue;
ox_tensor*moved=ox_to(rope->factors,model->device);
if(!moved)return oxi_llm_error();
ox_release(rope->factors);
rope->factors=ox_retain(moved);}
return OX_OK;}
static ox_status oxi_llm_load_weights(ox_llm*model,ox_file*file){
ox_status status=OX_OK;
for(int role=0;!status&&role<OXI_LLM_MODEL_ROLES;role++){
const oxi_llm_part_row*row= &oxi_llm_model_parts[role];
status=oxi_llm_load_part(model,&model->layers[0],file,row->name,row,&model->part[role]);
if(!status&&role==OXI_LLM_EMBEDDING){
const ox_tensor*embedding=model->part[role].weight;
if(!embedding)return oxi_fail(OX_ERR_NOT_FOUND,"llm: tensor %s.weight is missing",row->name);
model->config.vocabulary=embedding->shape[0];}}
if(status)return status;
if(!model->part[OXI_LLM_OUTPUT_NORM].weight&&oxi_llm_has_trait(model,OXI_LLM_TRAIT(LATE_EMBEDDING_NORM))){
const oxi_llm_part none={NULL,NULL,1};
model->part[OXI_LLM_OUTPUT_NORM]=model->part[OXI_LLM_EMBEDDING_NORM];
model->part[OXI_LLM_EMBEDDING_NORM]=none;}
if(!model->part[OXI_LLM_OUTPUT_NORM].weight&&model->numbers.block!=OXI_LLM_BLOCK_SUM&&
 !oxi_llm_has_trait(model,OXI_LLM_TRAIT(BARE_NORMS)))
return oxi_fail(OX_ERR_NOT_FOUND,"llm: tensor output_norm.weight is missing");
oxi_llm_part*output= &model->part[OXI_LLM_OUTPUT];
model->config.tied= !output->weight;
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(NO_OUTPUT_BIAS))){
ox_release(output->bias);
output->bias=NULL;}
if(model->config.tied)output->weight=ox_retain(model->part[OXI_LLM_EMBEDDING].weight);
model->device=oxi_working_device(ox_device_of(model->part[OXI_LLM_EMBEDDING].weight));
ox_scope scope=ox_scope_begin();
status=oxi_llm_place_factors(model);
ox_scope_end(&scope);
for(int64_t i=0;!status&&i<model->config.layers;i++)status=oxi_llm_load_layer(model,file,i);
return status;}
static ox_status oxi_llm_prepack(const ox_llm*model,const ox_file*file){
ox_tensor*output=model->part[OXI_LLM_OUTPUT].weight;
ox_status status=OX_OK;
if(!file->copies)return OX_OK;
if(oxi_is_block(output->dtype))status=ox_prepack(output);
for(int64_t i=0;i<model->config.layers;i++)
for(int role=0;role<OXI_LLM_LAYER_ROLES&& !status;role++){
ox_tensor*t=model->layers[i].part[role].weight;
if(t&&oxi_is_block(t->dtype))status=ox_prepack(t);}
return status;}
static void oxi_llm_free_weights(ox_llm*model){
for(int role=0;role<OXI_LLM_MODEL_ROLES;role++)oxi_llm_free_part(&model->part[role]);
for(int64_t i=0;model->layers&&i<model->config.layers;i++)
for(int role=0;role<OXI_LLM_LAYER_ROLES;role++)
oxi_llm_free_part(&model->layers[i].part[role]);
ox_release(model->rope.factors);
ox_release(model->rope.long_factors);
ox_release(model->window_rope.factors);
ox_release(model->window_rope.long_factors);
oxi_free(model->layers,model->layers?(size_t)model->config.layers*sizeof*model->layers:0);}
/* >>llm/model/model.c */
#define T(trait)OXI_LLM_TRAIT(trait)
#define OXI_LLM_FAMILY(name,block,norm,rope,activation,router,windows,sees,traits) \
{name,OXI_LLM_BLOCK_##block,OXI_LLM_NORM_##norm,OXI_LLM_ROPE_##rope,&oxi_llm_##activation, \
 OXI_LLM_ROUTER_##router,windows,OXI_LLM_SEES_##sees,traits},
static const oxi_llm_family oxi_llm_families[]={
/* >>llm/model/families.def */
OXI_LLM_FAMILY("llama",PRE,RMS,PAIRS,silu,LATE,1,BEFORE,0)
OXI_LLM_FAMILY("afmoe",SANDWICH,RMS,HALVES,silu,SIGMOID,4,BEFORE,T(EMBEDDING_ROOT)|T(FOURTH_PLAIN))
OXI_LLM_FAMILY("arcee",PRE,RMS,PAIRS,square,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("arctic",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(ROUTED_NORM)|T(DENSE_BESIDE)|T(DENSE_WIDTH))
OXI_LLM_FAMILY("baichuan",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(DEPTH_POSITIONS))
OXI_LLM_FAMILY("bailingmoe",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(TURNED_SCALE))
OXI_LLM_FAMILY("bailingmoe2",PRE,RMS,HALVES,silu,SIGMOID,1,BEFORE,0)
OXI_LLM_FAMILY("bitnet",PRE,RMS,HALVES,square,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("bloom",PRE,LAYER,NONE,gelu_tanh,SOFTMAX,1,BEFORE,T(ALIBI_8))
OXI_LLM_FAMILY("chatglm",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(GATE_IN_UP))
OXI_LLM_FAMILY("codeshell",PRE,LAYER,HALVES,gelu_tanh,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("cogvlm",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(NO_FACTORS))
OXI_LLM_FAMILY("cohere2",PARALLEL,LAYER,PAIRS,silu,SOFTMAX,4,BEFORE,T(WINDOW_TURNS))
OXI_LLM_FAMILY("cohere2moe",PARALLEL,LAYER,PAIRS,silu,SIGMOID,-4,BEFORE,T(NORM_FACT)|
 T(WINDOW_TURNS)|T(DENSE_TURNS)|T(SHARED_HALF))
OXI_LLM_FAMILY("command-r",PARALLEL,LAYER,PAIRS,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("dbrx",PRE,LAYER,HALVES,silu,SOFTMAX,1,BEFORE,T(ROUTED_NORM))
OXI_LLM_FAMILY("deci",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("deepseek",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("deepseek2",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("deepseek32",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("dots1",PRE,RMS,HALVES,silu,SIGMOID,1,BEFORE,0)
OXI_LLM_FAMILY("dots3note",PRE,RMS,PAIRS,silu,SIGMOID,1,BEFORE,0)
OXI_LLM_FAMILY("dream",PRE,RMS,HALVES,silu,SOFTMAX,1,ALL,T(NO_OUTPUT_BIAS))
OXI_LLM_FAMILY("ernie4_5",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("ernie4_5-moe",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(ROUTED_NORM))
OXI_LLM_FAMILY("exaone",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("exaone-moe",PRE,RMS,HALVES,silu,SIGMOID,4,BEFORE,T(WINDOW_TURNS))
OXI_LLM_FAMILY("exaone4",POST,RMS,HALVES,silu,SOFTMAX,4,BEFORE,T(WINDOW_TURNS)|T(DEEP_WINDOWS))
OXI_LLM_FAMILY("falcon",PARALLEL,LAYER,HALVES,gelu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("gemma",PRE,RMS,HALVES,gelu_tanh,SOFTMAX,1,BEFORE,T(EMBEDDING_ROOT))
OXI_LLM_FAMILY("gemma2",SANDWICH,RMS,HALVES,gelu_tanh,SOFTMAX,2,BEFORE,T(EMBEDDING_ROOT)|
 T(SCORE_CAP)|T(LOGIT_CAP)|T(LOGIT_CAP_30))
OXI_LLM_FAMILY("gemma3",SANDWICH,RMS,HALVES,gelu_tanh,SOFTMAX,6,BEFORE,T(EMBEDDING_ROOT)|
 T(LOGIT_CAP)|T(WINDOW_UNSCALED)|T(WINDOW_10000))
OXI_LLM_FAMILY("glm-dsa",PRE,RMS,PAIRS,silu,SIGMOID,1,BEFORE,0)
OXI_LLM_FAMILY("glm4",SANDWICH,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(GATE_IN_UP)|T(SECTION_HALVES))
OXI_LLM_FAMILY("glm4moe",PRE,RMS,HALVES,silu,SIGMOID,1,BEFORE,0)
OXI_LLM_FAMILY("gpt-oss",PRE,RMS,HALVES,clamped,LATE,2,BEFORE,T(TURNED_SCALE))
OXI_LLM_FAMILY("gpt2",PRE,LAYER,NONE,gelu_tanh,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("gptneox",PRE,LAYER,HALVES,gelu,SOFTMAX,1,BEFORE,T(PARALLEL_FACT))
OXI_LLM_FAMILY("gptj",PARALLEL,LAYER,PAIRS,gelu_tanh,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("granite",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(LOGIT_DIVIDED)|T(ROUTED_NORM))
OXI_LLM_FAMILY("granite_swa",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(LOGIT_DIVIDED)|T(ROUTED_NORM))
OXI_LLM_FAMILY("granitemoe",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(LOGIT_DIVIDED)|T(ROUTED_NORM))
OXI_LLM_FAMILY("grok",SANDWICH,RMS,HALVES,gelu_tanh,SOFTMAX,1,BEFORE,T(SCORE_CAP)|
 T(LOGIT_CAP)|T(ROUTED_NORM)|T(DENSE_BESIDE)|T(BESIDE_ROOT))
OXI_LLM_FAMILY("hunyuan-dense",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(LATE_NORMS))
OXI_LLM_FAMILY("hunyuan-moe",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(LATE_NORMS)|T(ROUTED_NORM))
OXI_LLM_FAMILY("hunyuan_vl",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(LATE_NORMS))
OXI_LLM_FAMILY("hy_v3",PRE,RMS,HALVES,silu,SIGMOID,1,BEFORE,0)
OXI_LLM_FAMILY("internlm2",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("jais",PRE,LAYER,NONE,silu,SOFTMAX,1,BEFORE,T(KEY_SCALE))
OXI_LLM_FAMILY("jais2",PRE,LAYER,HALVES,square,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("k2-horizon",PRE,RMS,HALVES,silu,SIGMOID,1,BEFORE,T(GATE_LOG2))
OXI_LLM_FAMILY("laguna",PRE,RMS,HALVES,silu,SIGMOID,-4,BEFORE,T(WINDOW_UNSCALED)|T(GATE_SOFTPLUS))
OXI_LLM_FAMILY("llada",PRE,RMS,PAIRS,silu,SOFTMAX,1,ALL,T(NO_FACTORS))
OXI_LLM_FAMILY("llada-moe",PRE,RMS,HALVES,silu,SOFTMAX,1,ALL,0)
OXI_LLM_FAMILY("llama4",PRE,RMS,PAIRS,silu,SIGMOID,4,BEFORE,T(CHUNKS)|
 T(FOURTH_PLAIN)|T(PLAIN_WARMER)|T(LATE_BARE_NORMS)|T(ROUTED_FIRST))
OXI_LLM_FAMILY("maincoder",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(LATE_NORMS))
OXI_LLM_FAMILY("maion-coder",SANDWICH,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(WINDOW_TURNS)|T(ROUTED_NORM))
OXI_LLM_FAMILY("maple",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(WINDOW_TURNS)|
 T(ROUTED_NORM)|T(EXPERT_CLAMP_7))
OXI_LLM_FAMILY("mellum",PRE,RMS,HALVES,silu,SOFTMAX,4,BEFORE,T(WINDOW_UNSCALED)|T(ROUTED_NORM))
OXI_LLM_FAMILY("mimo2",PRE,RMS,HALVES,silu,SIGMOID,1,BEFORE,T(WINDOW_UNSCALED)|
 T(WINDOW_10000)|T(ROUTED_NORM))
OXI_LLM_FAMILY("minicpm",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(SCALES_OF_SIZES)|
 T(LOGIT_DIVIDED)|T(ROUTED_NORM))
OXI_LLM_FAMILY("minicpm3",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(SCALES_OF_SIZES))
OXI_LLM_FAMILY("minimax-m2",PRE,RMS,HALVES,silu,SIGMOID,1,BEFORE,T(ROUTED_NORM))
OXI_LLM_FAMILY("minimax-m3",PRE,RMS,HALVES,clamped,SIGMOID,1,BEFORE,0)
OXI_LLM_FAMILY("mistral3",PRE,RMS,PAIRS,silu,LATE,1,BEFORE,0)
OXI_LLM_FAMILY("mistral4",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("mpt",PRE,LAYER,NONE,gelu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("muse-glimmer",SANDWICH,RMS,PAIRS,silu,SOFTMAX,4,BEFORE,T(EMBEDDING_NORMED)|
 T(WINDOW_TURNS)|T(WINDOW_UNSCALED)|T(POST_EPSILON)|T(LOGIT_CAP))
OXI_LLM_FAMILY("nanbeige",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("nemotron",PRE,LAYER,HALVES,square,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("olmo",PRE,LAYER,PAIRS,silu,SOFTMAX,1,BEFORE,T(BARE_NORMS))
OXI_LLM_FAMILY("olmo2",POST,RMS,HALVES,silu,SOFTMAX,4,BEFORE,T(WINDOW_UNSCALED))
OXI_LLM_FAMILY("olmoe",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("openelm",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("opt",PRE,LAYER,NONE,relu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("orion",PRE,LAYER,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("paddleocr",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("pangu-embedded",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(NO_FACTORS))
OXI_LLM_FAMILY("phi2",PARALLEL,LAYER,HALVES,gelu_tanh,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("phi3",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(GATE_IN_UP))
OXI_LLM_FAMILY("phimoe",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(ROUTED_NORM))
OXI_LLM_FAMILY("plamo",PARALLEL,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("plamo3",SANDWICH,RMS,HALVES,silu,SOFTMAX,8,BEFORE,T(GATE_IN_UP)|
 T(WINDOW_UNSCALED)|T(WINDOW_10000)|T(NO_FACTORS))
OXI_LLM_FAMILY("pockettts",PRE,LAYER,PAIRS,gelu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("qwen",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(HALF_HIDDEN))
OXI_LLM_FAMILY("qwen2",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("qwen2moe",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("qwen2vl",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(NO_OUTPUT_BIAS))
OXI_LLM_FAMILY("qwen3",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("qwen3moe",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(ROUTED_NORM))
OXI_LLM_FAMILY("qwen3tts",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("qwen3vl",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("qwen3vlmoe",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(ROUTED_NORM))
OXI_LLM_FAMILY("refact",PRE,RMS,NONE,silu,SOFTMAX,1,BEFORE,T(ALIBI_8))
OXI_LLM_FAMILY("rnd1",PRE,RMS,HALVES,silu,SOFTMAX,1,ALL,T(ROUTED_NORM))
OXI_LLM_FAMILY("seed_oss",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("smallthinker",PRE,RMS,HALVES,relu,SOFTMAX,-4,BEFORE,T(ROUTER_EARLY)|
 T(ROUTED_NORM)|T(FIRST_PLAIN))
OXI_LLM_FAMILY("smollm3",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(FOURTH_PLAIN))
OXI_LLM_FAMILY("spark2_5",PRE,RMS,HALVES,gelu_tanh,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("stablelm",PRE,LAYER,HALVES,silu,SOFTMAX,1,BEFORE,T(PARALLEL_WITHOUT))
OXI_LLM_FAMILY("starcoder",PRE,LAYER,NONE,gelu_tanh,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("starcoder2",PRE,LAYER,HALVES,gelu_tanh,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("xverse",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("bert",SUM,LAYER,NONE,gelu,SOFTMAX,1,ALL,T(ENCODER))
OXI_LLM_FAMILY("jina-bert-v3",SUM,LAYER,HALVES,gelu,SOFTMAX,1,ALL,T(ENCODER))
OXI_LLM_FAMILY("nomic-bert",SUM,LAYER,HALVES,silu,SOFTMAX,1,ALL,T(ENCODER))
OXI_LLM_FAMILY("nomic-bert-moe",SUM,LAYER,HALVES,gelu,SOFTMAX,1,ALL,T(ENCODER))
OXI_LLM_FAMILY("modern-bert",PRE,LAYER,HALVES,gelu,SOFTMAX,-3,ALL,T(ENCODER)|T(FIRST_BARE)|T(GATE_IN_UP))
OXI_LLM_FAMILY("eurobert",PRE,RMS,HALVES,silu,SOFTMAX,1,ALL,T(ENCODER))
OXI_LLM_FAMILY("bailingmoe3",PRE,RMS,PAIRS,silu,SIGMOID,1,BEFORE,T(SECTION_HALVES)|
 T(SHARED_CLAMP)|T(CLAMP_LATE))
OXI_LLM_FAMILY("falcon-h1",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(NO_FACTORS))
OXI_LLM_FAMILY("granitehybrid",PRE,RMS,PAIRS,silu,SOFTMAX,1,BEFORE,T(LOGIT_DIVIDED)|
 T(ROUTED_NORM)|T(ROPE_FACT))
OXI_LLM_FAMILY("jamba",PRE,RMS,NONE,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("kimi-linear",PRE,RMS,NONE,silu,SIGMOID,1,BEFORE,T(ROUTED_NORM))
OXI_LLM_FAMILY("lfm2",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(LATE_EMBEDDING_NORM))
OXI_LLM_FAMILY("lfm2moe",PRE,RMS,HALVES,silu,SIGMOID,1,BEFORE,T(LATE_EMBEDDING_NORM)|T(ROUTED_NORM))
OXI_LLM_FAMILY("mamba",PRE,RMS,NONE,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("mamba2",PRE,RMS,NONE,silu,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("minimax-01",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(ROUTED_NORM)|T(RESIDUAL_NORMED))
OXI_LLM_FAMILY("nemotron_h",PRE,RMS,NONE,square,SOFTMAX,1,BEFORE,0)
OXI_LLM_FAMILY("nemotron_h_moe",PRE,RMS,NONE,square,SIGMOID,1,BEFORE,0)
OXI_LLM_FAMILY("plamo2",SANDWICH,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(GATE_IN_UP))
OXI_LLM_FAMILY("qwen35",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(QUERY_GATED))
OXI_LLM_FAMILY("qwen35moe",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(QUERY_GATED)|T(ROUTED_NORM))
OXI_LLM_FAMILY("qwen3next",PRE,RMS,HALVES,silu,SOFTMAX,1,BEFORE,T(QUERY_GATED)|
 T(ROUTED_NORM)|T(PAIRED_HEADS))
#undef OXI_LLM_FAMILY
};
#undef T
static ox_status oxi_llm_find_family(ox_llm*model,const ox_file*file){
const ox_file_meta meta=ox_file_meta_find(file,"general.architecture");
if(meta.type!=OX_FILE_META_STRING){
return oxi_fail(OX_ERR_NOT_FOUND,"llm: the file has no general.architecture, so it is no GGUF model");}
for(size_t i=0;i<sizeof oxi_llm_families/sizeof*oxi_llm_families;i++){
if(oxi_llm_text_is(meta.text,oxi_llm_families[i].name)){
model->family= &oxi_llm_families[i];
return OX_OK;}}
char name[48];
oxi_llm_copy_text(meta.text,name,sizeof name);
return oxi_fail(OX_ERR_UNSUPPORTED,"llm: the architecture \"%s\" is not supported",name);}
static ox_tokenizer*oxi_llm_open_tokenizer(const ox_file*file){
if(oxi_tokenizer_knows(file))return ox_tokenizer_open(file);
const ox_file_meta json=ox_file_meta_find(file,"tokenizer.huggingface.json");
const ox_file_meta config=ox_file_meta_find(file,"tokenizer.huggingface.config");
const bool configured=config.type==OX_FILE_META_STRING;
if(json.type!=OX_FILE_META_STRING)return NULL;
return ox_tokenizer_open_json(json.text.data,json.text.length,configured?config.text.data:NULL,
 configured?config.text.length:0);}
static ox_status oxi_llm_read_tokenizer(ox_llm*model,const ox_file*file){
const ox_file_meta name=ox_file_meta_find(file,"tokenizer.ggml.model");
const bool clear=ox_error()==OX_OK;
if(name.type==OX_FILE_META_STRING)
oxi_llm_copy_text(name.text,model->tokenizer_name,sizeof model->tokenizer_name);
else if(ox_file_meta_find(file,"tokenizer.huggingface.json").type==OX_FILE_META_STRING)
(void)snprintf(model->tokenizer_name,sizeof model->tokenizer_name,"tokenizer.json");
model->tokenizer=oxi_llm_open_tokenizer(file);
if(model->tokenizer||ox_error()==OX_OK)return OX_OK;
if(ox_error()!=OX_ERR_UNSUPPORTED)return oxi_llm_error();
if(clear)ox_error_clear();
return OX_OK;}
static ox_status oxi_llm_read_template(ox_llm*model,const ox_file*file){
const ox_file_meta text=ox_file_meta_find(file,"tokenizer.chat_template");
if(text.type!=OX_FILE_META_STRING)return OX_OK;
model->chat_template=(char*)oxi_alloc((size_t)text.text.length+1);
if(!model->chat_template)return OX_ERR_NOMEM;
memcpy(model->chat_template,text.text.data,(size_t)text.text.length);
model->chat_template[text.text.length]=0;
model->chat_template_length=text.text.length;
return OX_OK;}
static ox_status oxi_llm_check_vocabulary(const ox_llm*model,const ox_file*file){
const int64_t rows=model->config.vocabulary,tokens=ox_tokenizer_count(model->tokenizer);
int64_t stated;
const ox_status status=oxi_llm_read_int(model,file,"vocab_size",-1,1,rows,&stated);
if(status)return status;
if(stated!=rows||tokens>rows||rows>INT32_MAX){
return oxi_fail(OX_ERR_FORMAT,"llm: an embedding of %lld rows, vocab_size %lld, %lld tokens",
 (long long)rows,(long long)stated,(long long)tokens);}
return OX_OK;}
static ox_llm*oxi_llm_read(ox_file*file){
ox_llm*model=(ox_llm*)oxi_calloc(1,sizeof*model);
if(!model)return NULL;
model->references=1;
ox_status status=oxi_llm_find_family(model,file);
if(!status)status=oxi_llm_read_config(model,file);
if(!status)status=oxi_llm_read_tokenizer(model,file);
if(!status)status=oxi_llm_read_template(model,file);
if(!status)status=oxi_llm_load_weights(model,file);
if(!status)status=oxi_llm_check_vocabulary(model,file);
if(!status)status=oxi_llm_prepack(model,file);
if(status){
ox_llm_close(model);
return NULL;}
return model;}
OX_API ox_llm*ox_llm_open_file(ox_file*file){
if(!file){
(void)oxi_fail_missing("llm: the file");
return NULL;}
const bool speaks=oxi_speak_for_file(file);
ox_llm*model=oxi_llm_read(file);
oxi_speak_end(speaks);
return model;}
OX_API ox_llm*ox_llm_open(const char*path,ox_device*device){
oxi_llm_source*source=oxi_llm_source_open(path,device);
ox_llm*model=source?ox_llm_open_file(oxi_llm_source_file(source)):NULL;
oxi_llm_source_close(source);
return model;}
OX_API void ox_llm_close(ox_llm*model){
if(!model||oxi_atomic_add(&model->references,-1)>0)return;
oxi_llm_free_weights(model);
oxi_free(model->chat_template,model->chat_template?(size_t)model->chat_template_length+1:0);
ox_tokenizer_close(model->tokenizer);
oxi_free(model,sizeof*model);}
OX_API const ox_llm_config*ox_llm_get_config(const ox_llm*model){
if(!model)(void)oxi_fail_missing("llm: the model");
return model? &model->config:NULL;}
OX_API const ox_tokenizer*ox_llm_tokenizer(const ox_llm*model){
if(!model){
(void)oxi_fail_missing("llm: the model");
return NULL;}
if(!model->tokenizer&& !model->tokenizer_name[0])
(void)oxi_fail(OX_ERR_NOT_FOUND,"llm: the model's file has no tokenizer (tokenizer.ggml.model)");
else if(!model->tokenizer)
(void)oxi_fail(OX_ERR_UNSUPPORTED,
 "llm: the model's tokenizer is of the kind \"%s\", which is not supported yet",model->tokenizer_name);
return model->tokenizer;}
OX_API const char*ox_llm_chat_template(const ox_llm*model){
if(!model)(void)oxi_fail_missing("llm: the model");
return model?model->chat_template:NULL;}
/* >>llm/context/context.h */
#ifndef OX_LLM_CONTEXT_H
#define OX_LLM_CONTEXT_H
typedef struct oxi_llm_batch{
const ox_llm_context*context;
int64_t start,count;
ox_tensor*positions;
ox_tensor*types;
ox_tensor*alibi;
ox_tensor*near;
ox_tensor*temperatures;}oxi_llm_batch;
#endif
/* >>llm/context/attention.c */
static ox_tensor*oxi_llm_product(const oxi_llm_part*part,ox_tensor*x){
x=ox_linear(x,part->weight,part->scale==1?part->bias:NULL);
if(part->scale==1)return x;
x=ox_mul_number_(x,part->scale);
return part->bias?ox_add_(x,part->bias):x;}
static ox_tensor*oxi_llm_normalize_with(const ox_llm*model,const oxi_llm_part*part,ox_tensor*x,
 double epsilon){
ox_tensor*weight=part?part->weight:NULL,*bias=part?part->bias:NULL;
const bool rows=weight&&weight->ndim>1,rms=model->numbers.norm==OXI_LLM_NORM_RMS;
ox_tensor*w=rows?NULL:weight,*b=rows?NULL:bias;
x=rms?ox_rms_norm(x,1,w,epsilon):ox_layer_norm(x,1,w,b,epsilon);
if(rows)x=ox_mul_(x,weight);
return bias&&(rows||rms)?ox_add_(x,bias):x;}
static ox_tensor*oxi_llm_normalize(const ox_llm*model,const oxi_llm_part*part,ox_tensor*x){
return oxi_llm_normalize_with(model,part,x,model->numbers.epsilon);}
static ox_tensor*oxi_llm_split(ox_tensor*x,int64_t heads,int64_t size){
return x?ox_view(x,OX_SHAPE(x->shape[0],heads,size)):NULL;}
static ox_tensor*oxi_llm_normalize_heads(const ox_llm*model,const oxi_llm_part*part,ox_tensor*x){
if(!x|| !part->weight)return x;
const int64_t heads=x->shape[1],size=x->shape[2];
if(part->weight->ndim>1||ox_numel(part->weight)==size)return oxi_llm_normalize(model,part,x);
x=oxi_llm_normalize(model,part,ox_view(x,OX_SHAPE(x->shape[0],heads*size)));
return oxi_llm_split(x,heads,size);}
static ox_tensor*oxi_llm_turn(const oxi_llm_batch*batch,const oxi_llm_rope*rope,ox_tensor*heads){
const ox_llm_context*context=batch->context;
ox_rope_desc desc;
if(!rope)return heads;
memset(&desc,0,sizeof desc);
desc.base=rope->base;
desc.scale=rope->scale;
desc.magnitude=rope->magnitude;
desc.dims=(int)rope->size;
desc.interleaved=context->model->numbers.rope==OXI_LLM_ROPE_PAIRS;
desc.factors=rope->long_factors&&context->stretched?rope->long_factors:rope->factors;
return ox_rope(heads,batch->positions,&desc);}
static bool oxi_llm_has_late_norms(const ox_llm*model,const oxi_llm_layer*l,const oxi_llm_part*norm){
if(norm->weight)return oxi_llm_has_trait(model,OXI_LLM_TRAIT(LATE_NORMS));
return oxi_llm_has_trait(model,OXI_LLM_TRAIT(LATE_BARE_NORMS))&&l->rope&&model->numbers.experts!=128;}
static ox_tensor*oxi_llm_place_heads(const oxi_llm_batch*batch,const oxi_llm_layer*l,
 const oxi_llm_part*norm,ox_tensor*x){
const ox_llm*model=batch->context->model;
const bool late=oxi_llm_has_late_norms(model,l,norm);
if(!late)x=oxi_llm_normalize_heads(model,norm,x);
x=oxi_llm_turn(batch,l->rope,ox_transpose(x,0,1));
if(!late)return x;
if(!norm->weight)return oxi_llm_normalize(model,norm,x);
return ox_transpose(oxi_llm_normalize_heads(model,norm,ox_contiguous(ox_transpose(x,0,1))),0,1);}
static int64_t oxi_llm_first_seen(const oxi_llm_batch*batch,const oxi_llm_layer*l){
const int64_t chunk=batch->context->model->numbers.chunk;
return chunk>0&&l->window?batch->start/chunk*chunk:0;}
static ox_tensor*oxi_llm_remember(const oxi_llm_batch*batch,const oxi_llm_layer*l,ox_tensor*cache,
 ox_tensor*rows){
const int64_t first=oxi_llm_first_seen(batch,l);
if(!ox_copy_(ox_narrow(cache,1,batch->start,batch->count),rows))return NULL;
return ox_narrow(cache,1,first,batch->start+batch->count-first);}
static ox_tensor*oxi_llm_attend(const oxi_llm_batch*batch,const oxi_llm_layer*l,ox_tensor*q,
 ox_tensor*k,ox_tensor*v){
const ox_llm*model=batch->context->model;
const oxi_llm_numbers*n= &model->numbers;
const bool warmer= !l->rope|| !oxi_llm_has_trait(model,OXI_LLM_TRAIT(PLAIN_WARMER));
ox_attention_desc desc;
memset(&desc,0,sizeof desc);
desc.causal=n->causal;
desc.query_start=batch->start-oxi_llm_first_seen(batch,l);
desc.window=n->chunk|| !n->causal?0:l->window;
desc.scale=n->attention_scale;
desc.softcap=n->score_cap;
desc.mask=l->window&&batch->near?batch->near:batch->alibi;
desc.sinks=l->part[OXI_LLM_SINKS].weight;
if(batch->temperatures&&warmer)q=ox_mul(q,batch->temperatures);
return ox_scaled_dot_product_attention(q,k,v,&desc);}
static ox_tensor*oxi_llm_attend_heads(const oxi_llm_batch*batch,int64_t index,ox_tensor*x,ox_tensor**gate){
const ox_llm_context*context=batch->context;
const ox_llm*model=context->model;
const oxi_llm_layer*l= &model->layers[index];
const oxi_llm_part*p=l->part;
const int64_t queries=l->heads*l->key_size,keys=l->kv_heads*l->key_size,values=l->kv_heads*l->value_size;
const double clamp=model->numbers.clamp;
const bool gated=oxi_llm_has_trait(model,OXI_LLM_TRAIT(QUERY_GATED))&&p[OXI_LLM_QUERY].weight;
ox_tensor*q,*k,*v;
if(p[OXI_LLM_QUERY_KEY_VALUE].weight){
ox_tensor*all=oxi_llm_product(&p[OXI_LLM_QUERY_KEY_VALUE],x);
q=ox_unflatten(ox_narrow(all,1,0,queries),1,OX_SHAPE(l->heads,l->key_size));
k=ox_unflatten(ox_narrow(all,1,queries,keys),1,OX_SHAPE(l->kv_heads,l->key_size));
v=ox_unflatten(ox_narrow(all,1,queries+keys,values),1,OX_SHAPE(l->kv_heads,l->value_size));}else{
q=gated?NULL:oxi_llm_split(oxi_llm_product(&p[OXI_LLM_QUERY],x),l->heads,l->key_size);
k=oxi_llm_split(oxi_llm_product(&p[OXI_LLM_KEY],x),l->kv_heads,l->key_size);
v=oxi_llm_split(oxi_llm_product(&p[OXI_LLM_VALUE],x),l->kv_heads,l->value_size);}
if(gated){
ox_tensor*both=ox_unflatten(oxi_llm_product(&p[OXI_LLM_QUERY],x),1,OX_SHAPE(l->heads,2*l->key_size));
q=ox_contiguous(ox_narrow(both,2,0,l->key_size));
*gate=ox_flatten(ox_narrow(both,2,l->key_size,l->key_size),1,2);}
if(clamp>0){
q=ox_clamp_(q,-clamp,clamp);
k=ox_clamp_(k,-clamp,clamp);
v=ox_clamp_(v,-clamp,clamp);}
q=oxi_llm_place_heads(batch,l,&p[OXI_LLM_QUERY_NORM],q);
k=oxi_llm_place_heads(batch,l,&p[OXI_LLM_KEY_NORM],k);
k=oxi_llm_remember(batch,l,context->keys[index],k);
v=oxi_llm_remember(batch,l,context->values[index],ox_transpose(v,0,1));
return oxi_llm_attend(batch,l,q,k,v);}
static ox_tensor*oxi_llm_product_by_head(ox_tensor*x,ox_tensor*weights){
if(weights&&weights->dtype!=OX_F32)weights=ox_cast(weights,OX_F32);
return weights?ox_matmul(x,ox_transpose(weights,1,2)):NULL;}
static void oxi_llm_latent_matrices(const ox_llm*model,const oxi_llm_layer*l,ox_tensor**keys,
 ox_tensor**values){
const oxi_llm_numbers*n= &model->numbers;
const int64_t plain=n->latent_key-model->rope.size;
*keys=l->part[OXI_LLM_LATENT_KEY].weight;
*values=l->part[OXI_LLM_LATENT_VALUE].weight;
if(*keys&& *values)return;
ox_tensor*both=ox_unflatten(l->part[OXI_LLM_LATENT_UP].weight,0,OX_SHAPE(l->heads,plain+n->latent_value));
if(both&&both->dtype!=OX_F32)both=ox_cast(both,OX_F32);
*keys=ox_transpose(ox_narrow(both,1,0,plain),1,2);
*values=ox_narrow(both,1,plain,n->latent_value);}
static ox_tensor*oxi_llm_attend_latent(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm_context*context=batch->context;
const ox_llm*model=context->model;
const oxi_llm_numbers*n= &model->numbers;
const oxi_llm_layer*l= &model->layers[index];
const oxi_llm_part*p=l->part;
const int64_t turned=model->rope.size,plain=n->latent_key-turned;
ox_tensor*to_latent,*to_values,*parts[2],*q;
if(p[OXI_LLM_QUERY].weight){
q=oxi_llm_product(&p[OXI_LLM_QUERY],x);}else{
q=oxi_llm_normalize(model,&p[OXI_LLM_QUERY_DOWN_NORM],oxi_llm_product(&p[OXI_LLM_QUERY_DOWN],x));
q=oxi_llm_product(&p[OXI_LLM_QUERY_UP],q);}
q=ox_transpose(oxi_llm_split(q,l->heads,n->latent_key),0,1);
oxi_llm_latent_matrices(model,l,&to_latent,&to_values);
parts[0]=oxi_llm_product_by_head(ox_narrow(q,2,0,plain),to_latent);
parts[1]=oxi_llm_turn(batch,l->rope,ox_narrow(q,2,plain,turned));
if(!parts[0]|| !parts[1])return NULL;
q=ox_cat(parts,2,2);
ox_tensor*kept=oxi_llm_product(&p[OXI_LLM_LATENT],x);
parts[0]=oxi_llm_normalize(model,&p[OXI_LLM_LATENT_NORM],ox_contiguous(ox_narrow(kept,1,0,n->latent)));
parts[1]=ox_narrow(kept,1,n->latent,turned);
if(p[OXI_LLM_KEY_NORM].weight)
parts[1]=oxi_llm_normalize(model,&p[OXI_LLM_KEY_NORM],ox_contiguous(parts[1]));
parts[1]=oxi_llm_turn(batch,l->rope,parts[1]);
if(!parts[0]|| !parts[1])return NULL;
kept=oxi_llm_remember(batch,l,context->keys[index],ox_unsqueeze(ox_cat(parts,2,1),0));
ox_tensor*mixed=oxi_llm_attend(batch,l,q,kept,ox_narrow(kept,2,0,n->latent));
return oxi_llm_product_by_head(mixed,to_values);}
static ox_tensor*oxi_llm_open_gate(const ox_llm*model,ox_tensor*gate,ox_tensor*out,int64_t heads){
const double ln2=0.6931471805599453;
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(GATE_SOFTPLUS)))
gate=ox_softplus(gate,1,20);
else if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(GATE_LOG2)))
gate=ox_mul_number_(ox_softplus(ox_mul_number_(gate,ln2),1,20),1/ln2);
else
gate=ox_sigmoid_(gate);
if(!gate|| !out)return NULL;
if(gate->shape[1]==out->shape[1])return ox_mul_(out,gate);
ox_tensor*split=ox_unflatten(out,1,OX_SHAPE(heads,out->shape[1]/heads));
return ox_mul_(split,ox_unsqueeze(gate,2))?out:NULL;}
static ox_tensor*oxi_llm_attention(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm*model=batch->context->model;
const oxi_llm_layer*l= &model->layers[index];
const bool latent=model->numbers.latent>0;
ox_tensor*gate=NULL,*out=latent?oxi_llm_attend_latent(batch,index,x)
 :oxi_llm_attend_heads(batch,index,x,&gate);
const int64_t size=latent?model->numbers.latent_value:l->value_size;
out=ox_reshape(ox_transpose(out,0,1),OX_SHAPE(batch->count,l->heads*size));
if(gate)out=oxi_llm_open_gate(model,gate,out,l->heads);
if(l->part[OXI_LLM_ATTENTION_GATE].weight)
out=oxi_llm_open_gate(model,oxi_llm_product(&l->part[OXI_LLM_ATTENTION_GATE],x),out,l->heads);
if(l->part[OXI_LLM_MERGE_NORM].weight)out=oxi_llm_normalize(model,&l->part[OXI_LLM_MERGE_NORM],out);
out=oxi_llm_product(&l->part[OXI_LLM_MERGE],out);
return model->numbers.value_scale>0?ox_mul_number_(out,model->numbers.value_scale):out;}
/* >>llm/context/feed_forward.c */
static ox_tensor*oxi_llm_activate(const ox_llm*model,ox_tensor*gate,ox_tensor*up,bool halves,double clamp){
const oxi_llm_activation*activation=model->family->activation;
if(!up)return NULL;
if(halves){
const int64_t half=up->shape[up->ndim-1]/2;
gate=ox_narrow(up,-1,0,half);
up=ox_narrow(up,-1,half,half);}
const bool late=oxi_llm_has_trait(model,OXI_LLM_TRAIT(CLAMP_LATE));
if(clamp>0)up=ox_clamp_(up,-clamp,clamp);
if(clamp>0&&gate&&late)return ox_mul_(ox_clamp_(activation->plain(gate),-INFINITY,clamp),up);
if(clamp>0&&gate)gate=ox_clamp_(gate,-INFINITY,clamp);
return gate?activation->gated(gate,up):activation->plain(up);}
static ox_tensor*oxi_llm_feed_forward(const ox_llm*model,const oxi_llm_layer*l,ox_tensor*x){
const oxi_llm_part*p=l->part;
ox_tensor*gate=NULL;
if(p[OXI_LLM_GATE].weight&& !(gate=oxi_llm_product(&p[OXI_LLM_GATE],x)))return NULL;
ox_tensor*up=oxi_llm_product(&p[OXI_LLM_UP],x);
x=oxi_llm_activate(model,gate,up,oxi_llm_has_trait(model,OXI_LLM_TRAIT(GATE_IN_UP)),l->shared_clamp);
if(p[OXI_LLM_DOWN_DIVISOR].weight)x=ox_div_(x,p[OXI_LLM_DOWN_DIVISOR].weight);
if(p[OXI_LLM_DOWN_NORM].weight)x=oxi_llm_normalize(model,&p[OXI_LLM_DOWN_NORM],x);
return oxi_llm_product(&p[OXI_LLM_DOWN],x);}
static ox_tensor*oxi_llm_shared_expert(const ox_llm*model,const oxi_llm_layer*l,ox_tensor*x){
const oxi_llm_part*p=l->part;
ox_tensor*gate=NULL,*open=NULL;
if(p[OXI_LLM_SHARED_GATE].weight&& !(gate=oxi_llm_product(&p[OXI_LLM_SHARED_GATE],x)))return NULL;
ox_tensor*out=oxi_llm_activate(model,gate,oxi_llm_product(&p[OXI_LLM_SHARED_UP],x),false,l->shared_clamp);
out=oxi_llm_product(&p[OXI_LLM_SHARED_DOWN],out);
if(!p[OXI_LLM_SHARED_ROUTER].weight)return out;
open=ox_sigmoid_(ox_linear(x,ox_unsqueeze(p[OXI_LLM_SHARED_ROUTER].weight,0),NULL));
return ox_mul_(out,open);}
static ox_tensor*oxi_llm_choose_groups(const oxi_llm_numbers*n,ox_tensor*scores){
const int64_t groups=n->expert_groups,size=n->experts/groups;
ox_tensor*grouped=ox_unflatten(scores,1,OX_SHAPE(groups,size));
ox_tensor*best=ox_sum(ox_topk(grouped,size<2?size:2,2,true).values,OX_DIMS(2),false);
ox_tensor*chosen=ox_topk(best,n->expert_groups_used,1,true).indices;
if(!chosen)return NULL;
ox_tensor*ones=ox_full_like(best,1),*zeros=ox_full_like(best,0);
ox_tensor*open=ox_scatter(zeros,1,chosen,ox_narrow(ones,1,0,n->expert_groups_used));
open=ox_unsqueeze(ox_gt(open,ox_number(0)),2);
return ox_flatten(ox_where(open,grouped,ox_number(-INFINITY)),1,2);}
static ox_tensor*oxi_llm_route(const ox_llm*model,const oxi_llm_layer*l,ox_tensor*x,ox_tensor**weights){
const oxi_llm_numbers*n= &model->numbers;
ox_tensor*logits=oxi_llm_product(&l->part[OXI_LLM_ROUTER],x),*scores=logits;
if(n->router==OXI_LLM_ROUTER_SOFTMAX)scores=ox_softmax(logits,-1);
if(n->router==OXI_LLM_ROUTER_SIGMOID)scores=ox_sigmoid(logits);
const oxi_llm_part*own= &l->part[OXI_LLM_ROUTER_CHOICE];
ox_tensor*bias=own->bias?own->bias:own->weight,*choice=bias?ox_add(scores,bias):scores;
if(n->expert_groups>1)choice=oxi_llm_choose_groups(n,choice);
ox_tensor*chosen=ox_topk(choice,n->experts_used,1,true).indices;
ox_tensor*w=ox_gather(scores,1,chosen);
if(n->router==OXI_LLM_ROUTER_LATE)w=ox_softmax(w,-1);
if(n->routed_norm&&n->router!=OXI_LLM_ROUTER_LATE)
w=ox_div(w,ox_clamp(ox_sum(w,OX_DIMS(1),true),6.103515625e-5,INFINITY));
if(n->routed_scale>0)w=ox_mul_number(w,n->routed_scale);
*weights=w;
return ox_cast(chosen,OX_I32);}
static ox_tensor*oxi_llm_product_by_expert(const oxi_llm_part*part,ox_tensor*x,ox_tensor*experts){
ox_tensor*out=ox_linear_experts(x,part->weight,experts,part->scale==1?part->bias:NULL);
if(part->scale==1)return out;
out=ox_mul_number_(out,part->scale);
return part->bias?ox_add_(out,ox_embedding(experts,part->bias)):out;}
static ox_tensor*oxi_llm_mixture(const ox_llm*model,const oxi_llm_layer*l,ox_tensor*x,ox_tensor*router_x){
const oxi_llm_part*p=l->part;
const bool first=oxi_llm_has_trait(model,OXI_LLM_TRAIT(ROUTED_FIRST)),
 joined=p[OXI_LLM_EXPERTS_GATE_UP].weight!=NULL;
ox_tensor*weights=NULL,*gate=NULL,*experts=oxi_llm_route(model,l,router_x,&weights);
if(!experts|| !weights)return NULL;
ox_tensor*in=p[OXI_LLM_EXPERTS_IN].weight?oxi_llm_product(&p[OXI_LLM_EXPERTS_IN],x):x;
if(first)in=ox_mul(ox_unsqueeze(in,1),ox_unsqueeze(weights,2));
if(p[OXI_LLM_EXPERTS_GATE].weight&& !joined&&
 !(gate=oxi_llm_product_by_expert(&p[OXI_LLM_EXPERTS_GATE],in,experts)))
return NULL;
ox_tensor*up=oxi_llm_product_by_expert(&p[joined?OXI_LLM_EXPERTS_GATE_UP:OXI_LLM_EXPERTS_UP],in,experts);
ox_tensor*out=oxi_llm_activate(model,gate,up,joined,l->expert_clamp);
out=oxi_llm_product_by_expert(&p[OXI_LLM_EXPERTS_DOWN],out,experts);
if(!first)out=ox_mul_(out,ox_unsqueeze(weights,2));
out=ox_sum(out,OX_DIMS(1),false);
if(p[OXI_LLM_EXPERTS_OUT].weight)out=oxi_llm_product(&p[OXI_LLM_EXPERTS_OUT],out);
if(!p[OXI_LLM_SHARED_UP].weight)return out;
out=ox_add_(out,oxi_llm_shared_expert(model,l,x));
return oxi_llm_has_trait(model,OXI_LLM_TRAIT(SHARED_HALF))?ox_mul_number_(out,0.5):out;}
/* >>llm/context/recurrent.c */
static bool oxi_llm_open_states(ox_llm_context*context){
const size_t layers=(size_t)context->model->config.layers;
if(!context->model->numbers.mixing.kind)return true;
context->states=(oxi_llm_state*)oxi_calloc(layers,sizeof*context->states);
context->written=(oxi_llm_state*)oxi_calloc(layers,sizeof*context->written);
return context->states&&context->written;}
static void oxi_llm_drop_states(const ox_llm_context*context,oxi_llm_state*states){
for(int64_t i=0;states&&i<context->model->config.layers;i++){
ox_release(states[i].window);
ox_release(states[i].memory);
states[i].window=states[i].memory=NULL;}}
static void oxi_llm_clear_states(ox_llm_context*context){
oxi_llm_drop_states(context,context->states);}
static void oxi_llm_close_states(ox_llm_context*context){
const size_t bytes=(size_t)context->model->config.layers*sizeof*context->states;
oxi_llm_drop_states(context,context->states);
oxi_llm_drop_states(context,context->written);
oxi_free(context->states,context->states?bytes:0);
oxi_free(context->written,context->written?bytes:0);}
static void oxi_llm_settle_state(ox_tensor**kept,ox_tensor**written){
if(!*written)return;
ox_release(*kept);
*kept= *written;
*written=NULL;}
static void oxi_llm_settle_states(const ox_llm_context*context,bool good){
if(!context->states)return;
for(int64_t i=0;good&&i<context->model->config.layers;i++){
oxi_llm_settle_state(&context->states[i].window,&context->written[i].window);
oxi_llm_settle_state(&context->states[i].memory,&context->written[i].memory);}
oxi_llm_drop_states(context,context->written);}
static ox_tensor*oxi_llm_state_or_zeros(const ox_llm*model,ox_tensor*written,ox_tensor*kept,
 ox_shape shape){
if(written)return written;
if(kept)return kept;
ox_tensor*zeros=oxi_tensor_new(model->device,OX_F32,shape.ndim,shape.dim);
return zeros?ox_zero_(zeros):NULL;}
static bool oxi_llm_write_state(ox_tensor**slot,ox_tensor*t){
if(!t)return false;
ox_release(*slot);
*slot=ox_retain(t);
return true;}
static ox_tensor*oxi_llm_memory(const oxi_llm_batch*batch,int64_t index){
const ox_llm_context*context=batch->context;
const oxi_llm_mixing*m= &context->model->numbers.mixing;
return oxi_llm_state_or_zeros(context->model,context->written[index].memory,
 context->states[index].memory,OX_SHAPE(m->heads,m->key,m->value));}
static ox_tensor*oxi_llm_convolve(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm_context*context=batch->context;
const oxi_llm_part*part= &context->model->layers[index].part[OXI_LLM_MIXER_CONV];
ox_tensor*kernel=part->weight;
const int64_t before=kernel->shape[0]-1,count=batch->count;
ox_tensor*list[2];
list[0]=oxi_llm_state_or_zeros(context->model,context->written[index].window,
 context->states[index].window,OX_SHAPE(before,kernel->shape[1]));
list[1]=x;
if(!list[0]|| !x)return NULL;
ox_tensor*all=ox_cat(list,2,0);
ox_tensor*out=ox_mul(ox_narrow(all,0,0,count),ox_select(kernel,0,0));
for(int64_t k=1;k<=before;k++)
out=ox_addcmul_(out,ox_narrow(all,0,k,count),ox_select(kernel,0,k),1);
if(!oxi_llm_write_state(&context->written[index].window,ox_clone(ox_narrow(all,0,count,before))))
return NULL;
return part->bias?ox_add_(out,part->bias):out;}
typedef struct oxi_llm_linear{
ox_tensor*q,*k,*v;
ox_tensor*decay;
ox_tensor*rate;}oxi_llm_linear;
enum{OXI_LLM_CHUNK=64,OXI_LLM_CHUNK_WIDE=16};
static ox_tensor*oxi_llm_linear_step(const oxi_llm_linear*in,ox_tensor**memory){
ox_tensor*m=ox_mul(*memory,ox_exp(ox_transpose(in->decay,1,2))),*u=in->v;
if(in->rate)u=ox_mul(ox_sub(in->v,ox_matmul(in->k,m)),in->rate);
*memory=m=ox_addcmul_(m,ox_transpose(in->k,1,2),u,1);
return ox_matmul(in->q,m);}
static ox_tensor*oxi_llm_decays(ox_tensor*decay){
ox_tensor*rows=ox_unsqueeze(ox_transpose(decay,1,2),3);
if(!rows)return NULL;
const int64_t count=rows->shape[2];
rows=ox_expand(rows,OX_SHAPE(rows->shape[0],rows->shape[1],count,count));
return ox_tril_(ox_exp_(ox_cumsum_(ox_tril(rows,-1),2)),0);}
static ox_tensor*oxi_llm_decayed_scores(ox_tensor*a,ox_tensor*b,ox_tensor*left){
if(!a|| !b|| !left)return NULL;
if(left->shape[1]==1)return ox_mul_(ox_matmul(a,ox_transpose(b,1,2)),ox_squeeze(left,1));
ox_tensor*columns=ox_unsqueeze(ox_transpose(b,1,2),2),*rows=ox_unsqueeze(ox_transpose(a,1,2),3);
return ox_sum(ox_mul_(ox_mul(left,columns),rows),OX_DIMS(1),false);}
static ox_tensor*oxi_llm_delta(const oxi_llm_linear*in,ox_tensor*left,ox_tensor*from,ox_tensor*memory){
ox_tensor*scores=ox_mul_(oxi_llm_decayed_scores(in->k,in->k,left),in->rate);
ox_tensor*u=ox_mul_(ox_sub(in->v,ox_matmul(ox_mul(in->k,from),memory)),in->rate);
for(int64_t t=1;u&&scores&&t<u->shape[1];t++){
ox_scope scope=ox_scope_begin();
ox_tensor*row=ox_narrow(ox_narrow(scores,1,t,1),2,0,t);
const bool done=ox_sub_(ox_narrow(u,1,t,1),ox_matmul(row,ox_narrow(u,1,0,t)))!=NULL;
ox_scope_end(&scope);
if(!done)return NULL;}
return scores?u:NULL;}
static ox_tensor*oxi_llm_linear_chunk(const oxi_llm_linear*in,ox_tensor**memory){
const int64_t last=in->k->shape[1]-1;
ox_tensor*left=oxi_llm_decays(in->decay),*from=ox_exp_(ox_cumsum(in->decay,1)),*u=in->v;
if(!left|| !from)return NULL;
if(in->rate)u=oxi_llm_delta(in,left,from,*memory);
ox_tensor*out=ox_matmul(oxi_llm_decayed_scores(in->q,in->k,left),u);
out=ox_add_(out,ox_matmul(ox_mul(in->q,from),*memory));
ox_tensor*to_end=ox_transpose(ox_select(left,2,last),1,2);
ox_tensor*kept=ox_mul(*memory,ox_transpose(ox_narrow(from,1,last,1),1,2));
*memory=ox_add_(kept,ox_matmul(ox_transpose(ox_mul(in->k,to_end),1,2),u));
return*memory?out:NULL;}
static ox_tensor*oxi_llm_run_linear(const oxi_llm_batch*batch,int64_t index,const oxi_llm_linear*in){
const ox_llm*model=batch->context->model;
const oxi_llm_mixing*m= &model->numbers.mixing;
ox_tensor*memory=oxi_llm_memory(batch,index);
if(!memory|| !in->q|| !in->k|| !in->v|| !in->decay)return NULL;
const int64_t most=in->decay->shape[2]==1?OXI_LLM_CHUNK:OXI_LLM_CHUNK_WIDE;
const int64_t shape[3]={m->heads,batch->count,m->value};
ox_tensor*out=oxi_tensor_new(model->device,OX_F32,3,shape);
for(int64_t start=0;out&&start<batch->count;start+=most){
const int64_t count=batch->count-start<most?batch->count-start:most;
ox_scope scope=ox_scope_begin();
oxi_llm_linear part;
part.q=ox_narrow(in->q,1,start,count);
part.k=ox_narrow(in->k,1,start,count);
part.v=ox_narrow(in->v,1,start,count);
part.decay=ox_narrow(in->decay,1,start,count);
part.rate=in->rate?ox_narrow(in->rate,1,start,count):NULL;
ox_tensor*rows=count==1?oxi_llm_linear_step(&part,&memory):oxi_llm_linear_chunk(&part,&memory);
const bool done=rows&&ox_copy_(ox_narrow(out,1,start,count),rows)&&
 oxi_llm_write_state(&batch->context->written[index].memory,memory);
ox_scope_end(&scope);
if(!done)return NULL;
memory=batch->context->written[index].memory;}
return out;}
/* >>llm/context/mixers.c */
static ox_tensor*oxi_llm_columns(ox_tensor*x,int64_t first,int64_t count){
return ox_narrow(x,1,first,count);}
static ox_tensor*oxi_llm_by_head(ox_tensor*x,int64_t heads,int64_t size){
return ox_transpose(ox_unflatten(x,1,OX_SHAPE(heads,size)),0,1);}
static ox_tensor*oxi_llm_share_groups(ox_tensor*x,int64_t heads,bool paired){
if(!x||x->shape[0]==heads)return x;
const int64_t groups=x->shape[0],rows=x->shape[1],size=x->shape[2],each=heads/groups;
x=paired?ox_expand(ox_unsqueeze(x,1),OX_SHAPE(groups,each,rows,size))
 :ox_expand(ox_unsqueeze(x,0),OX_SHAPE(each,groups,rows,size));
return ox_reshape(x,OX_SHAPE(heads,rows,size));}
static ox_tensor*oxi_llm_join_heads(ox_tensor*x){
if(!x)return NULL;
return ox_reshape(ox_transpose(x,0,1),OX_SHAPE(x->shape[1],x->shape[0]*x->shape[2]));}
static ox_tensor*oxi_llm_normalize_if(const ox_llm*model,const oxi_llm_part*part,ox_tensor*x){
if(!part->weight&& !model->numbers.mixing.bare_norms)return x;
return oxi_llm_normalize(model,part->weight?part:NULL,ox_contiguous(x));}
static ox_tensor*oxi_llm_scan(const oxi_llm_batch*batch,int64_t index,ox_tensor*steps,ox_tensor*x,
 ox_tensor*b,ox_tensor*c){
const ox_llm*model=batch->context->model;
const oxi_llm_mixing*m= &model->numbers.mixing;
const oxi_llm_part*p=model->layers[index].part;
const int64_t channels=m->key,state=m->value,shape[2]={batch->count,channels};
const int64_t fits=((int64_t)1<<21)/(channels*state),most=fits<1?1:fits>64?64:fits;
ox_tensor*h=ox_reshape(oxi_llm_memory(batch,index),OX_SHAPE(channels,state));
ox_tensor*rates=ox_reshape(p[OXI_LLM_MIXER_DECAY].weight,OX_SHAPE(channels,state));
ox_tensor*out=oxi_tensor_new(model->device,OX_F32,2,shape),*written=ox_mul(steps,x);
if(!h|| !rates|| !written|| !b|| !c)return NULL;
for(int64_t start=0;out&&start<batch->count;start+=most){
const int64_t count=batch->count-start<most?batch->count-start:most;
ox_scope scope=ox_scope_begin();
ox_tensor*left=ox_exp_(ox_mul(ox_unsqueeze(ox_narrow(steps,0,start,count),2),rates));
ox_tensor*all=ox_mul(ox_unsqueeze(ox_narrow(written,0,start,count),2),
 ox_unsqueeze(ox_narrow(b,0,start,count),1));
for(int64_t t=0;all&&left&&h&&t<count;t++){
ox_tensor*next=ox_select(all,0,t);
h=ox_addcmul_(next,h,ox_select(left,0,t),1)?next:NULL;}
ox_tensor*y=ox_matmul(all,ox_unsqueeze(ox_narrow(c,0,start,count),2));
h=h&&y?ox_clone(ox_reshape(h,OX_SHAPE(1,channels,state))):NULL;
const bool done=h&&oxi_llm_write_state(&batch->context->written[index].memory,h)&&
 ox_copy_(ox_narrow(out,0,start,count),ox_squeeze(y,2));
ox_scope_end(&scope);
if(!done)return NULL;
h=ox_reshape(batch->context->written[index].memory,OX_SHAPE(channels,state));}
return out;}
static ox_tensor*oxi_llm_mamba(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm*model=batch->context->model;
const oxi_llm_mixing*m= &model->numbers.mixing;
const oxi_llm_part*p=model->layers[index].part;
const int64_t inner=m->inner,state=m->value;
ox_tensor*both=oxi_llm_product(&p[OXI_LLM_MIXER_IN],x);
ox_tensor*u=ox_silu_(oxi_llm_convolve(batch,index,oxi_llm_columns(both,0,inner)));
ox_tensor*made=oxi_llm_product(&p[OXI_LLM_MIXER_X],u);
ox_tensor*steps=oxi_llm_normalize_if(model,&p[OXI_LLM_MIXER_STEP_NORM],oxi_llm_columns(made,0,m->rank));
ox_tensor*b=oxi_llm_normalize_if(model,&p[OXI_LLM_MIXER_KEY_NORM],oxi_llm_columns(made,m->rank,state));
ox_tensor*c=oxi_llm_normalize_if(model,&p[OXI_LLM_MIXER_QUERY_NORM],
 oxi_llm_columns(made,m->rank+state,state));
steps=ox_softplus(oxi_llm_product(&p[OXI_LLM_MIXER_STEP],ox_contiguous(steps)),1,20);
ox_tensor*y=oxi_llm_scan(batch,index,steps,u,b,c);
y=ox_addcmul_(y,u,ox_reshape(p[OXI_LLM_MIXER_SKIP].weight,OX_SHAPE(inner)),1);
y=ox_silu_mul(oxi_llm_columns(both,inner,inner),y);
return oxi_llm_product(&p[OXI_LLM_MIXER_OUT],y);}
static ox_tensor*oxi_llm_state_space(const oxi_llm_batch*batch,int64_t index,ox_tensor*x,ox_tensor*b,
 ox_tensor*c,ox_tensor*steps){
const oxi_llm_mixing*m= &batch->context->model->numbers.mixing;
const oxi_llm_part*p=batch->context->model->layers[index].part;
ox_tensor*rates=ox_reshape(p[OXI_LLM_MIXER_DECAY].weight,OX_SHAPE(m->heads));
ox_tensor*skips=ox_reshape(p[OXI_LLM_MIXER_SKIP].weight,OX_SHAPE(m->heads,1,1));
ox_tensor*heads=oxi_llm_by_head(x,m->heads,m->value);
oxi_llm_linear in;
memset(&in,0,sizeof in);
in.q=oxi_llm_share_groups(oxi_llm_by_head(c,m->groups,m->key),m->heads,true);
in.k=oxi_llm_share_groups(oxi_llm_by_head(b,m->groups,m->key),m->heads,true);
in.v=ox_mul(heads,oxi_llm_by_head(steps,m->heads,1));
in.decay=oxi_llm_by_head(ox_mul(steps,rates),m->heads,1);
ox_tensor*y=oxi_llm_run_linear(batch,index,&in);
return oxi_llm_join_heads(ox_addcmul_(y,heads,skips,1));}
static ox_tensor*oxi_llm_mamba2(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm*model=batch->context->model;
const oxi_llm_mixing*m= &model->numbers.mixing;
const oxi_llm_part*p=model->layers[index].part;
const int64_t inner=m->inner,keys=m->groups*m->key,channels=inner+2*keys;
ox_tensor*all=oxi_llm_product(&p[OXI_LLM_MIXER_IN],x);
ox_tensor*u=ox_silu_(oxi_llm_convolve(batch,index,oxi_llm_columns(all,inner,channels)));
ox_tensor*steps=oxi_llm_columns(all,inner+channels,m->heads),*bias=p[OXI_LLM_MIXER_STEP].bias;
steps=ox_softplus(bias?ox_add(steps,bias):steps,1,20);
ox_tensor*y=oxi_llm_state_space(batch,index,oxi_llm_columns(u,0,inner),oxi_llm_columns(u,inner,keys),
 oxi_llm_columns(u,inner+keys,keys),steps);
y=ox_silu_mul(oxi_llm_columns(all,0,inner),y);
if(p[OXI_LLM_MIXER_NORM].weight){
y=oxi_llm_normalize(model,NULL,ox_unflatten(y,1,OX_SHAPE(m->groups,inner/m->groups)));
y=ox_mul_(ox_flatten(y,1,2),ox_reshape(p[OXI_LLM_MIXER_NORM].weight,OX_SHAPE(inner)));}
return oxi_llm_product(&p[OXI_LLM_MIXER_OUT],y);}
static ox_tensor*oxi_llm_plamo2(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm*model=batch->context->model;
const oxi_llm_mixing*m= &model->numbers.mixing;
const oxi_llm_part*p=model->layers[index].part;
const int64_t state=m->key;
ox_tensor*both=oxi_llm_product(&p[OXI_LLM_MIXER_IN],x);
both=ox_unflatten(both,1,OX_SHAPE(m->heads,2*m->value));
ox_tensor*gate=ox_flatten(ox_narrow(both,2,0,m->value),1,2);
ox_tensor*u=ox_flatten(ox_narrow(both,2,m->value,m->value),1,2);
u=ox_silu_(oxi_llm_convolve(batch,index,u));
ox_tensor*made=oxi_llm_product(&p[OXI_LLM_MIXER_X],u);
ox_tensor*b=oxi_llm_normalize_if(model,&p[OXI_LLM_MIXER_KEY_NORM],oxi_llm_columns(made,0,state));
ox_tensor*c=oxi_llm_normalize_if(model,&p[OXI_LLM_MIXER_QUERY_NORM],oxi_llm_columns(made,state,state));
ox_tensor*steps=
 oxi_llm_normalize_if(model,&p[OXI_LLM_MIXER_STEP_NORM],oxi_llm_columns(made,2*state,m->rank));
steps=ox_softplus(oxi_llm_product(&p[OXI_LLM_MIXER_STEP],steps),1,20);
ox_tensor*y=oxi_llm_state_space(batch,index,u,b,c,steps);
return oxi_llm_product(&p[OXI_LLM_MIXER_OUT],ox_silu_mul(gate,y));}
static ox_tensor*oxi_llm_short_conv(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const oxi_llm_part*p=batch->context->model->layers[index].part;
const int64_t width=batch->context->model->numbers.mixing.inner;
ox_tensor*all=oxi_llm_product(&p[OXI_LLM_MIXER_IN],x);
ox_tensor*in=ox_mul(oxi_llm_columns(all,0,width),oxi_llm_columns(all,2*width,width));
ox_tensor*out=ox_mul_(oxi_llm_convolve(batch,index,in),oxi_llm_columns(all,width,width));
return oxi_llm_product(&p[OXI_LLM_MIXER_OUT],out);}
static ox_tensor*oxi_llm_of_length(ox_tensor*x,double length,double epsilon){
if(!x)return NULL;
const double size=(double)x->shape[2];
return ox_mul_number_(ox_rms_norm(ox_contiguous(x),1,NULL,epsilon/size),length/sqrt(size));}
static bool oxi_llm_place_delta(const ox_llm*model,ox_tensor*x,oxi_llm_linear*in){
const oxi_llm_mixing*m= &model->numbers.mixing;
const bool paired=oxi_llm_has_trait(model,OXI_LLM_TRAIT(PAIRED_HEADS));
const double epsilon=model->numbers.epsilon;
const int64_t keys=m->groups*m->key;
in->q=oxi_llm_by_head(oxi_llm_columns(x,0,keys),m->groups,m->key);
in->k=oxi_llm_by_head(oxi_llm_columns(x,keys,keys),m->groups,m->key);
in->v=oxi_llm_by_head(oxi_llm_columns(x,2*keys,m->inner),m->heads,m->value);
in->q=oxi_llm_share_groups(oxi_llm_of_length(in->q,1/sqrt((double)m->key),epsilon),m->heads,paired);
in->k=oxi_llm_share_groups(oxi_llm_of_length(in->k,1,epsilon),m->heads,paired);
return in->q&&in->k&&in->v;}
static ox_tensor*oxi_llm_normalize_values(const ox_llm*model,const oxi_llm_layer*l,ox_tensor*y){
return oxi_llm_join_heads(oxi_llm_normalize(model,&l->part[OXI_LLM_MIXER_NORM],y));}
static bool oxi_llm_delta_numbers(const ox_llm*model,const oxi_llm_layer*l,ox_tensor*x,
 ox_tensor**rates,ox_tensor**decays){
const oxi_llm_mixing*m= &model->numbers.mixing;
const oxi_llm_part*p=l->part;
const int64_t each=m->heads/m->groups;
if(!p[OXI_LLM_MIXER_BETA_ALPHA].weight){
*rates=oxi_llm_product(&p[OXI_LLM_MIXER_BETA],x);
*decays=oxi_llm_product(&p[OXI_LLM_MIXER_ALPHA],x);}else{
ox_tensor*both=oxi_llm_product(&p[OXI_LLM_MIXER_BETA_ALPHA],x);
both=ox_unflatten(both,1,OX_SHAPE(m->groups,2*each));
*rates=ox_flatten(ox_narrow(both,2,0,each),1,2);
*decays=ox_flatten(ox_narrow(both,2,each,each),1,2);}
return*rates&& *decays;}
static ox_tensor*oxi_llm_delta_net(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm*model=batch->context->model;
const oxi_llm_mixing*m= &model->numbers.mixing;
const oxi_llm_layer*l= &model->layers[index];
const oxi_llm_part*p=l->part;
ox_tensor*rates,*decays,*bias=p[OXI_LLM_MIXER_STEP].bias;
oxi_llm_linear in;
memset(&in,0,sizeof in);
ox_tensor*gate=oxi_llm_product(&p[OXI_LLM_ATTENTION_GATE],x);
if(!oxi_llm_delta_numbers(model,l,x,&rates,&decays))return NULL;
decays=ox_softplus(bias?ox_add(decays,bias):decays,1,20);
decays=ox_mul_(decays,ox_reshape(p[OXI_LLM_MIXER_DECAY].weight,OX_SHAPE(m->heads)));
x=ox_silu_(oxi_llm_convolve(batch,index,oxi_llm_product(&p[OXI_LLM_QUERY_KEY_VALUE],x)));
if(!oxi_llm_place_delta(model,x,&in))return NULL;
in.decay=oxi_llm_by_head(decays,m->heads,1);
in.rate=oxi_llm_by_head(ox_sigmoid(rates),m->heads,1);
ox_tensor*y=oxi_llm_normalize_values(model,l,oxi_llm_run_linear(batch,index,&in));
return oxi_llm_product(&p[OXI_LLM_MIXER_OUT],ox_silu_mul(gate,y));}
static ox_tensor*oxi_llm_product_by_two(const oxi_llm_part*first,const oxi_llm_part*second,ox_tensor*x){
x=oxi_llm_product(first,x);
return second->weight?oxi_llm_product(second,x):x;}
static ox_tensor*oxi_llm_kda_decays(const ox_llm*model,const oxi_llm_layer*l,ox_tensor*x){
const oxi_llm_mixing*m= &model->numbers.mixing;
const oxi_llm_part*p=l->part;
ox_tensor*rates=ox_reshape(p[OXI_LLM_MIXER_DECAY].weight,OX_SHAPE(m->heads,1));
ox_tensor*bias=p[OXI_LLM_MIXER_STEP].bias;
x=oxi_llm_product_by_two(&p[OXI_LLM_DECAY_DOWN],&p[OXI_LLM_DECAY_UP],x);
if(bias)x=ox_add_(x,bias);
x=ox_unflatten(x,1,OX_SHAPE(m->heads,m->key));
if(m->bound==0)return ox_mul_(ox_softplus(x,1,20),rates);
return ox_mul_number_(ox_sigmoid_(ox_mul(x,rates)),m->bound);}
static ox_tensor*oxi_llm_kda(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm*model=batch->context->model;
const oxi_llm_mixing*m= &model->numbers.mixing;
const oxi_llm_layer*l= &model->layers[index];
const oxi_llm_part*p=l->part;
oxi_llm_linear in;
memset(&in,0,sizeof in);
ox_tensor*list[3];
for(int i=0;i<3;i++)
if(!(list[i]=ox_linear(x,p[OXI_LLM_QUERY+i].weight,NULL)))return NULL;
ox_tensor*mixed=ox_silu_(oxi_llm_convolve(batch,index,ox_cat(list,3,1)));
if(!oxi_llm_place_delta(model,mixed,&in))return NULL;
in.decay=ox_transpose(oxi_llm_kda_decays(model,l,x),0,1);
in.rate=oxi_llm_by_head(ox_sigmoid_(oxi_llm_product(&p[OXI_LLM_MIXER_BETA],x)),m->heads,1);
ox_tensor*gate=oxi_llm_product_by_two(&p[OXI_LLM_MIXER_GATE],&p[OXI_LLM_MIXER_GATE_UP],x);
ox_tensor*y=oxi_llm_normalize_values(model,l,oxi_llm_run_linear(batch,index,&in));
return oxi_llm_product(&p[OXI_LLM_MERGE],ox_mul_(y,ox_sigmoid_(gate)));}
static ox_tensor*oxi_llm_lightning_decays(const ox_llm*model,int64_t index,int64_t count){
const int64_t heads=model->numbers.mixing.heads,layers=model->config.layers;
const double base=exp2(-exp2(-(log2((double)heads)-3)));
const double depth=layers>1?(double)index/(double)(layers-1):0;
float*decays=(float*)oxi_alloc((size_t)heads*sizeof*decays);
if(!decays)return NULL;
for(int64_t h=0;h<heads;h++)decays[h]=(float)-(pow(base,(double)(h+1))*(1-depth+1e-5));
ox_tensor*t=ox_to(oxi_copied(decays,OX_SHAPE(heads,1,1),OX_F32),model->device);
oxi_free(decays,(size_t)heads*sizeof*decays);
return ox_expand(t,OX_SHAPE(heads,count,1));}
static ox_tensor*oxi_llm_lightning(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm*model=batch->context->model;
const oxi_llm_mixing*m= &model->numbers.mixing;
const oxi_llm_part*p=model->layers[index].part;
oxi_llm_linear in;
memset(&in,0,sizeof in);
ox_tensor*all=ox_silu_(oxi_llm_product(&p[OXI_LLM_QUERY_KEY_VALUE],x));
all=oxi_llm_by_head(all,m->heads,3*m->key);
in.q=ox_narrow(all,2,0,m->key);
in.k=ox_narrow(all,2,m->key,m->key);
in.v=ox_narrow(all,2,2*m->key,m->key);
in.decay=oxi_llm_lightning_decays(model,index,batch->count);
ox_tensor*y=oxi_llm_join_heads(oxi_llm_run_linear(batch,index,&in));
y=oxi_llm_normalize(model,&p[OXI_LLM_MERGE_NORM],y);
y=ox_mul_(y,ox_sigmoid_(oxi_llm_product(&p[OXI_LLM_ATTENTION_GATE],x)));
return oxi_llm_product(&p[OXI_LLM_MERGE],y);}
static ox_tensor*(*const oxi_llm_mixers[OXI_LLM_MIXES_COUNT])(const oxi_llm_batch*batch,int64_t index,
 ox_tensor*x)={
NULL,oxi_llm_mamba,oxi_llm_mamba2,oxi_llm_plamo2,oxi_llm_short_conv,oxi_llm_delta_net,
 oxi_llm_kda,oxi_llm_lightning};
/* >>llm/context/forward.c */
static ox_tensor*oxi_llm_scaled(ox_tensor*x,double scale){
return scale>0&&scale!=1?ox_mul_number_(x,scale):x;}
static ox_tensor*oxi_llm_normalize_row(const ox_llm*model,const oxi_llm_part*part,ox_tensor*x){
const int64_t groups=model->numbers.norm_groups,width=model->config.width;
if(groups<2)return oxi_llm_normalize(model,part,x);
x=oxi_llm_normalize(model,NULL,ox_unflatten(x,1,OX_SHAPE(groups,width/groups)));
x=ox_flatten(x,1,2);
return part->weight?ox_mul_(x,part->weight):x;}
static ox_tensor*oxi_llm_normalize_before(const ox_llm*model,const oxi_llm_layer*l,
 oxi_llm_layer_role role,ox_tensor*x){
const bool bare=oxi_llm_has_trait(model,OXI_LLM_TRAIT(BARE_NORMS));
return bare||l->part[role].weight?oxi_llm_normalize_row(model,&l->part[role],x):x;}
static ox_tensor*oxi_llm_normalize_behind(const ox_llm*model,const oxi_llm_layer*l,
 oxi_llm_layer_role role,ox_tensor*x){
const bool own=oxi_llm_has_trait(model,OXI_LLM_TRAIT(POST_EPSILON));
if(!l->part[role].weight)return x;
return oxi_llm_normalize_with(model,&l->part[role],x,own?1e-8:model->numbers.epsilon);}
static ox_tensor*oxi_llm_second_half(const ox_llm*model,const oxi_llm_layer*l,ox_tensor*normal,
 ox_tensor*start,ox_tensor*early){
if(!l->part[OXI_LLM_ROUTER].weight)return oxi_llm_feed_forward(model,l,normal);
ox_tensor*out=early?early:oxi_llm_mixture(model,l,normal,start?start:normal);
if(!l->part[OXI_LLM_UP].weight|| !oxi_llm_has_trait(model,OXI_LLM_TRAIT(DENSE_BESIDE)))return out;
out=ox_add_(out,oxi_llm_feed_forward(model,l,normal));
return oxi_llm_has_trait(model,OXI_LLM_TRAIT(BESIDE_ROOT))?ox_mul_number_(out,sqrt(0.5)):out;}
static ox_tensor*oxi_llm_first_half(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const oxi_llm_layer*l= &batch->context->model->layers[index];
if(!l->mixer)return oxi_llm_attention(batch,index,x);
ox_tensor*mixed=oxi_llm_mixers[l->mixer](batch,index,x);
return l->attends?ox_add_(mixed,oxi_llm_attention(batch,index,x)):mixed;}
static ox_tensor*oxi_llm_join(const ox_llm*model,ox_tensor*x,ox_tensor*normal,ox_tensor*out){
const double scale=model->numbers.residual_scale;
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(RESIDUAL_NORMED)))return ox_add_scaled_(out,normal,scale);
return ox_add_(x,oxi_llm_scaled(out,scale));}
static bool oxi_llm_run_layer(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm*model=batch->context->model;
const oxi_llm_numbers*n= &model->numbers;
const oxi_llm_layer*l= &model->layers[index];
const oxi_llm_part*p=l->part;
const bool sum=n->block==OXI_LLM_BLOCK_SUM;
const bool parallel=n->block==OXI_LLM_BLOCK_PARALLEL||
 (oxi_llm_has_trait(model,OXI_LLM_TRAIT(PARALLEL_WITHOUT))&& !p[OXI_LLM_HIDDEN_NORM].weight);
ox_scope scope=ox_scope_begin();
ox_tensor*place=x,*start=NULL,*early=NULL;
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(ROUTER_EARLY)))start=ox_clone(x);
if(p[OXI_LLM_EXPERTS_NORM].weight){
early=oxi_llm_normalize(model,&p[OXI_LLM_EXPERTS_NORM],x);
early=oxi_llm_mixture(model,l,early,early);}
ox_tensor*normal=x,*attended=NULL;
if(l->attends||l->mixer){
normal=oxi_llm_normalize_before(model,l,OXI_LLM_ATTENTION_NORM,x);
attended=oxi_llm_first_half(batch,index,normal);
attended=oxi_llm_normalize_behind(model,l,OXI_LLM_ATTENTION_POST_NORM,attended);
if(!parallel)x=oxi_llm_join(model,x,normal,attended);
if(sum)x=oxi_llm_normalize(model,&p[OXI_LLM_ATTENTION_SUM_NORM],x);}
if(l->feeds){
if(!parallel||p[OXI_LLM_HIDDEN_NORM].weight)
normal=oxi_llm_normalize_before(model,l,OXI_LLM_HIDDEN_NORM,x);
ox_tensor*out=oxi_llm_second_half(model,l,normal,start,early);
out=oxi_llm_normalize_behind(model,l,OXI_LLM_HIDDEN_POST_NORM,out);
if(parallel)x=oxi_llm_join(model,x,normal,attended);
x=oxi_llm_join(model,x,normal,out);}
if(sum)x=oxi_llm_normalize(model,&p[OXI_LLM_LAYER_SUM_NORM],x);
const bool done=x&&(x==place||ox_copy_(place,x));
ox_scope_end(&scope);
return done;}
static ox_tensor*oxi_llm_embed(const oxi_llm_batch*batch,ox_tensor*ids){
const ox_llm*model=batch->context->model;
ox_tensor*x=ox_cast(ox_embedding(ids,model->part[OXI_LLM_EMBEDDING].weight),OX_F32);
x=oxi_llm_scaled(x,model->numbers.embedding_scale);
if(model->part[OXI_LLM_POSITIONS].weight)
x=ox_add_(x,ox_embedding(batch->positions,model->part[OXI_LLM_POSITIONS].weight));
ox_tensor*types=model->part[OXI_LLM_TOKEN_TYPES].weight;
if(types)x=ox_add_(x,batch->types?ox_embedding(batch->types,types):ox_narrow(types,0,0,1));
if(oxi_llm_has_trait(model,OXI_LLM_TRAIT(EMBEDDING_NORMED)))x=oxi_llm_normalize(model,NULL,x);
return model->part[OXI_LLM_EMBEDDING_NORM].weight
 ?oxi_llm_normalize(model,&model->part[OXI_LLM_EMBEDDING_NORM],x):x;}
static ox_tensor*oxi_llm_hidden(const ox_llm*model,ox_tensor*x){
const oxi_llm_part*norm= &model->part[OXI_LLM_OUTPUT_NORM];
const bool bare=oxi_llm_has_trait(model,OXI_LLM_TRAIT(BARE_NORMS));
return norm->weight||bare?oxi_llm_normalize_row(model,norm,x):x;}
static ox_tensor*oxi_llm_logits(const ox_llm*model,ox_tensor*x){
const oxi_llm_numbers*n= &model->numbers;
x=oxi_llm_scaled(oxi_llm_product(&model->part[OXI_LLM_OUTPUT],x),n->logit_scale);
if(n->logit_cap>0)x=ox_mul_number_(ox_tanh_(ox_mul_number_(x,1/n->logit_cap)),n->logit_cap);
return x;}
static ox_tensor*oxi_llm_forward(const oxi_llm_batch*batch,ox_tensor*ids,int64_t rows){
const ox_llm*model=batch->context->model;
ox_tensor*x=oxi_llm_embed(batch,ids);
for(int64_t i=0;x&&i<model->config.layers;i++)
if(!oxi_llm_run_layer(batch,i,x))return NULL;
if(!x||rows==0)return x;
return oxi_llm_hidden(model,ox_narrow(x,0,x->shape[0]-rows,rows));}
/* >>llm/context/context.c */
OX_API ox_llm_context*ox_llm_context_open(ox_llm*model,const ox_llm_context_desc*desc){
ox_llm_context_desc zero;
memset(&zero,0,sizeof zero);
if(!model){
(void)oxi_fail_missing("llm: the model");
return NULL;}
if(!desc)desc= &zero;
const ox_dtype cache=desc->cache?desc->cache:OX_F32;
if(desc->capacity<0||desc->capacity>INT32_MAX||desc->batch<0){
(void)oxi_fail(OX_ERR_ARG,"llm: a context of %lld positions, batches of %lld",
 (long long)desc->capacity,(long long)desc->batch);
return NULL;}
if(cache!=OX_F32&&cache!=OX_F16&&cache!=OX_BF16&&cache!=OX_Q8_0){
(void)oxi_fail(OX_ERR_DTYPE,"llm: the cache is f32, f16, bf16 or q8_0, not %s",ox_dtype_name(cache));
return NULL;}
for(int64_t i=0;cache==OX_Q8_0&&i<model->config.layers;i++){
const int64_t key=model->layers[i].key_size,value=model->layers[i].value_size;
if(!model->layers[i].attends||(key%32==0&&value%32==0))continue;
(void)oxi_fail(OX_ERR_DTYPE,"llm: keys of %lld and values of %lld numbers are no blocks of 32",
 (long long)key,(long long)value);
return NULL;}
ox_llm_context*context=(ox_llm_context*)oxi_calloc(1,sizeof*context);
if(!context)return NULL;
const int64_t usual=model->config.context<4096?model->config.context:4096;
context->model=model;
context->capacity=desc->capacity?desc->capacity:usual;
context->batch=desc->batch?desc->batch:512;
if(!model->numbers.causal)context->batch=context->capacity;
context->pending= -1;
context->dtype=cache;
if(ox_device_of(model->part[OXI_LLM_EMBEDDING].weight)!=model->device||model->numbers.alibi>0||
 model->numbers.temperature>0||model->numbers.chunk>0||model->numbers.mixing.kind)
context->not_ahead=OXI_LLM_TRIES;
(void)oxi_atomic_add(&model->references,1);
context->keys=(ox_tensor**)oxi_calloc((size_t)model->config.layers,sizeof*context->keys);
context->values=(ox_tensor**)oxi_calloc((size_t)model->config.layers,sizeof*context->values);
if(!context->keys|| !context->values|| !oxi_llm_open_states(context)){
ox_llm_context_close(context);
return NULL;}
return context;}
OX_API void ox_llm_context_close(ox_llm_context*context){
if(!context)return;
const size_t layers=(size_t)context->model->config.layers;
for(size_t i=0;i<layers;i++){
if(context->keys)ox_release(context->keys[i]);
if(context->values)ox_release(context->values[i]);}
oxi_llm_close_states(context);
ox_release(context->next);
oxi_free(context->history,context->history?(size_t)context->capacity*sizeof*context->history:0);
oxi_free(context->keys,layers*sizeof*context->keys);
oxi_free(context->values,layers*sizeof*context->values);
ox_llm_close(context->model);
oxi_free(context,sizeof*context);}
OX_API int64_t ox_llm_capacity(const ox_llm_context*context){
return context?context->capacity:0;}
OX_API int64_t ox_llm_length(const ox_llm_context*context){
return context?context->length:0;}
OX_API ox_status ox_llm_rewind(ox_llm_context*context,int64_t length){
if(!context)return oxi_fail_missing("llm: the context");
if(length<0||length>context->length){
return oxi_fail(OX_ERR_ARG,"llm: cannot rewind to position %lld of %lld",(long long)length,
 (long long)context->length);}
if(context->states&&length>0&&length<context->length)
return oxi_fail(OX_ERR_UNSUPPORTED,
 "llm: recurrent layers cannot forget positions %lld to %lld, only all of them",
 (long long)length,(long long)context->length-1);
if(length==0)oxi_llm_clear_states(context);
context->length=length;
context->pending= -1;
return OX_OK;}
static ox_status oxi_llm_grow(const ox_llm_context*context,ox_tensor**cache,int64_t heads,int64_t size,
 int64_t needed){
int64_t room= *cache?(*cache)->shape[1]:0;
if(needed<=room)return OX_OK;
room=room?2*room:256;
if(room<needed)room=needed;
if(room>context->capacity)room=context->capacity;
const int64_t shape[3]={heads,room,size};
ox_scope scope=ox_scope_begin();
ox_tensor*grown=oxi_tensor_new(context->model->device,context->dtype,3,shape);
if(grown&&context->length>0){
ox_tensor*kept=ox_narrow(*cache,1,0,context->length);
if(!ox_copy_(ox_narrow(grown,1,0,context->length),kept))grown=NULL;}
if(grown){
ox_release(*cache);
*cache=ox_retain(grown);}
ox_scope_end(&scope);
return grown?OX_OK:oxi_llm_error();}
static ox_status oxi_llm_reserve(const ox_llm_context*context,int64_t positions){
const ox_llm*model=context->model;
ox_status status=OX_OK;
for(int64_t i=0;!status&&i<model->config.layers;i++){
const oxi_llm_layer*l= &model->layers[i];
if(!l->attends)continue;
status=oxi_llm_grow(context,&context->keys[i],l->kv_heads,l->key_size,positions);
if(!status&& !model->numbers.latent)
status=oxi_llm_grow(context,&context->values[i],l->kv_heads,l->value_size,positions);}
return status;}
static ox_tensor*oxi_llm_offsets(const oxi_llm_batch*batch){
const double start=(double)batch->start,end=start+(double)batch->count;
ox_tensor*keys=oxi_arange(0,end,1,OX_I64,ox_cpu());
if(batch->context->model->numbers.causal)return ox_sub(keys,ox_number(end-1));
return ox_sub(keys,ox_unsqueeze(oxi_arange(start,end,1,OX_I64,ox_cpu()),1));}
static ox_tensor*oxi_llm_distances(const oxi_llm_batch*batch){
const ox_llm*model=batch->context->model;
const double most=model->numbers.alibi;
const int64_t heads=model->config.heads;
int64_t power=1;
while(2*power<=heads)power*=2;
float*slopes=(float*)oxi_alloc((size_t)heads*sizeof*slopes);
for(int64_t h=0;slopes&&h<heads;h++)
slopes[h]=(float)-exp2(h<power? -most*(double)(h+1)/(double)power
 : -most*(double)(2*(h-power)+1)/(double)(2*power));
ox_tensor*t=slopes?oxi_copied(slopes,OX_SHAPE(heads,1,1),OX_F32):NULL;
oxi_free(slopes,slopes?(size_t)heads*sizeof*slopes:0);
return ox_to(ox_mul(t,ox_abs(ox_cast(oxi_llm_offsets(batch),OX_F32))),model->device);}
static ox_tensor*oxi_llm_nearness(const oxi_llm_batch*batch){
const ox_llm*model=batch->context->model;
int64_t window=0;
for(int64_t i=0;i<model->config.layers&& !window;i++)window=model->layers[i].window;
ox_tensor*far=ox_abs(oxi_llm_offsets(batch));
return ox_to(ox_le(far,ox_integer(window/2)),model->device);}
static ox_tensor*oxi_llm_temperatures(const oxi_llm_batch*batch){
const ox_llm*model=batch->context->model;
const oxi_llm_numbers*n= &model->numbers;
const int64_t shift=oxi_llm_has_trait(model,OXI_LLM_TRAIT(PLAIN_WARMER));
const size_t bytes=(size_t)batch->count*sizeof(float);
float*factors=(float*)oxi_alloc(bytes);
if(!factors)return NULL;
for(int64_t i=0;i<batch->count;i++)
factors[i]=(float)(1+n->temperature*log1p((double)((batch->start+i+shift)/n->temperature_length)));
ox_tensor*t=ox_to(oxi_copied(factors,OX_SHAPE(batch->count,1),OX_F32),model->device);
oxi_free(factors,bytes);
return t;}
static ox_status oxi_llm_prepare_batch(oxi_llm_batch*batch){
const ox_llm*model=batch->context->model;
const oxi_llm_numbers*n= &model->numbers;
const double start=(double)batch->start,end=start+(double)batch->count;
batch->positions=ox_to(oxi_arange(start,end,1,OX_I32,ox_cpu()),model->device);
if(!batch->positions)return oxi_llm_error();
if(batch->context->types){
batch->types=oxi_copied(batch->context->types+batch->start,OX_SHAPE(batch->count),OX_I32);
batch->types=ox_to(batch->types,model->device);
if(!batch->types)return oxi_llm_error();}
if(n->alibi>0&& !(batch->alibi=oxi_llm_distances(batch)))return oxi_llm_error();
if(!n->causal&&n->windows&& !(batch->near=oxi_llm_nearness(batch)))return oxi_llm_error();
if(n->temperature>0&& !(batch->temperatures=oxi_llm_temperatures(batch)))return oxi_llm_error();
return OX_OK;}
static ox_status oxi_llm_run_batch(oxi_llm_batch*batch,const int32_t*tokens,int64_t rows,bool logits,
 float*out){
const ox_llm*model=batch->context->model;
ox_scope scope=ox_scope_begin();
ox_tensor*ids=ox_to(oxi_copied(tokens,OX_SHAPE(batch->count),OX_I32),model->device);
ox_status status=ids?oxi_llm_prepare_batch(batch):oxi_llm_error();
ox_tensor*x=status?NULL:oxi_llm_forward(batch,ids,rows);
if(rows>0&&logits)x=oxi_llm_logits(model,x);
if(!status&& !x)status=oxi_llm_error();
if(!status&&rows>0)status=ox_to_floats(x,out,ox_numel(x));
ox_scope_end(&scope);
return status;}
static ox_status oxi_llm_check_tokens(const ox_llm_context*context,const int32_t*tokens,int64_t count){
if(!context)return oxi_fail_missing("llm: the context");
if(!tokens)return oxi_fail_missing("llm: the list of tokens");
if(count<1)
return oxi_fail(OX_ERR_ARG,"llm: %lld tokens to run, at least one is needed",(long long)count);
if(count>context->capacity-context->length){
return oxi_fail(OX_ERR_ARG,"llm: %lld tokens do not fit a context that holds %lld of %lld",
 (long long)count,(long long)context->length,(long long)context->capacity);}
for(int64_t i=0;i<count;i++){
if(tokens[i]<0||tokens[i]>=context->model->config.vocabulary){
return oxi_fail(OX_ERR_INDEX,"llm: token %lld is %d, ids go from 0 to %lld",(long long)i,
 (int)tokens[i],(long long)context->model->config.vocabulary-1);}}
return OX_OK;}
static ox_status oxi_llm_run_tokens(const ox_llm_context*context,const int32_t*tokens,int64_t count,
 bool every,bool logits,float*out){
const ox_llm*model=context->model;
const int64_t chunk=model->numbers.chunk,width=logits?model->config.vocabulary:model->config.width;
ox_status status=oxi_llm_reserve(context,context->length+count);
oxi_llm_batch batch;
memset(&batch,0,sizeof batch);
batch.context=context;
for(int64_t done=0;!status&&done<count;done +=batch.count){
batch.start=context->length+done;
batch.count=count-done<context->batch?count-done:context->batch;
if(chunk>0&&batch.count>chunk-batch.start%chunk)batch.count=chunk-batch.start%chunk;
const bool last=done +batch.count==count;
const int64_t rows= !out?0:every?batch.count:last;
status=oxi_llm_run_batch(&batch,tokens+done,rows,logits,out);
if(out)out+=rows*width;}
oxi_llm_settle_states(context,status==OX_OK);
return status;}
static ox_status oxi_llm_fit_frequencies(ox_llm_context*context,const int32_t*tokens,int64_t count){
const int64_t length=context->length;
const oxi_llm_rope*rope= &context->model->rope;
if(!rope->long_factors)return OX_OK;
if(!context->history)
context->history=(int32_t*)oxi_alloc((size_t)context->capacity*sizeof*context->history);
if(!context->history)return OX_ERR_NOMEM;
memcpy(context->history+length,tokens,(size_t)count*sizeof*tokens);
const bool stretched=length+count>rope->original;
if(stretched==context->stretched)return OX_OK;
context->stretched=stretched;
context->ahead=0;
if(length==0)return OX_OK;
context->length=0;
oxi_llm_clear_states(context);
const ox_status status=oxi_llm_run_tokens(context,context->history,length,false,true,NULL);
if(!status)context->length=length;
return status;}
static ox_status oxi_llm_run(ox_llm_context*context,const int32_t*tokens,int64_t count,bool every,
 bool logits,float*out){
ox_status status=oxi_llm_check_tokens(context,tokens,count);
if(!status)status=oxi_llm_fit_frequencies(context,tokens,count);
if(!status)status=oxi_llm_run_tokens(context,tokens,count,every,logits,out);
if(status)return status;
context->length+=count;
context->pending= -1;
return OX_OK;}
static ox_status oxi_llm_check_decoder(const ox_llm_context*context){
if(!context|| !oxi_llm_has_trait(context->model,OXI_LLM_TRAIT(ENCODER)))return OX_OK;
return oxi_fail(OX_ERR_UNSUPPORTED,
 "llm: a model of the architecture %s has no logits: ox_llm_embed gives what ""it makes of a text",
 context->model->family->name);}
OX_API ox_status ox_llm_decode(ox_llm_context*context,const int32_t*tokens,int64_t count,float*logits){
const ox_status status=oxi_llm_check_decoder(context);
return status?status:oxi_llm_run(context,tokens,count,false,true,logits);}
OX_API ox_status ox_llm_decode_all(ox_llm_context*context,const int32_t*tokens,int64_t count,float*logits){
const ox_status status=oxi_llm_check_decoder(context);
return status?status:oxi_llm_run(context,tokens,count,true,true,logits);}
static int64_t oxi_llm_record_step(ox_llm_context*context,int64_t start){
const ox_llm*model=context->model;
ox_device*device=model->device;
const int64_t two=2;
const size_t bytes=(size_t)model->config.vocabulary*sizeof(float);
const bool clear=ox_error()==OX_OK;
int64_t number=0;
oxi_llm_batch batch;
memset(&batch,0,sizeof batch);
batch.context=context;
batch.start=start;
batch.count=1;
ox_scope scope=ox_scope_begin();
if(!context->next)context->next=ox_retain(oxi_tensor_new(device,OX_I32,1,&two));
if(context->next&&device->ahead->begin(device,context->next->storage->data,2*sizeof(int32_t),bytes)){
batch.positions=ox_narrow(context->next,0,1,1);
ox_tensor*x=oxi_llm_logits(model,oxi_llm_forward(&batch,ox_narrow(context->next,0,0,1),1));
const bool plain=x&&x->dtype==OX_F32&&ox_is_contiguous(x)&&ox_nbytes(x)==bytes;
number=device->ahead->end(device,plain?x->storage->data:NULL,plain?oxi_byte_offset(OX_F32,x->offset):0);
if(number==0)context->not_ahead++;}
ox_scope_end(&scope);
if(number==0&&clear)ox_error_clear();
context->ahead_at=start;
return number;}
static int64_t oxi_llm_start_step(ox_llm_context*context,int32_t token){
ox_device*device=context->model->device;
const int32_t next[2]={token,(int32_t)context->length};
int64_t number=context->ahead;
context->ahead=0;
if(context->ahead_at==context->length&&device->ahead->start(device,number,next))return number;
number=oxi_llm_record_step(context,context->length);
return device->ahead->start(device,number,next)?number:0;}
static void oxi_llm_look_ahead(ox_llm_context*context){
const int64_t position=context->length+1,layers=context->model->config.layers;
if(context->keys[layers-1]->shape[1]<=position)return;
context->ahead=oxi_llm_record_step(context,position);}
OX_API ox_status ox_llm_decode_one(ox_llm_context*context,int32_t token,float*logits){
ox_status status=oxi_llm_check_tokens(context,&token,1);
if(!status)status=oxi_llm_check_decoder(context);
if(status)return status;
ox_device*device=context->model->device;
if(!device->ahead||context->not_ahead>=OXI_LLM_TRIES)
return oxi_llm_run(context,&token,1,false,true,logits);
status=oxi_llm_fit_frequencies(context,&token,1);
if(!status)status=oxi_llm_reserve(context,context->length+1);
if(status)return status;
const int64_t number=oxi_llm_start_step(context,token);
if(!number)return oxi_llm_run(context,&token,1,false,true,logits);
oxi_llm_look_ahead(context);
status=device->ahead->take(device,number,logits);
if(status)return status;
context->length++;
context->pending= -1;
return OX_OK;}
/* >>llm/context/embed.c */
static ox_llm_pooling oxi_llm_pooling_of(const ox_llm*model,ox_llm_pooling asked){
if(asked!=OX_LLM_POOLING_MODEL)return asked;
return model->numbers.pooling!=OX_LLM_POOLING_MODEL?model->numbers.pooling:OX_LLM_POOLING_MEAN;}
static void oxi_llm_pool(ox_llm_pooling pooling,int64_t count,int64_t width,const float*rows,float*out){
const float*from=rows+(pooling==OX_LLM_POOLING_LAST?(count-1)*width:0);
for(int64_t i=0;i<width;i++){
double sum=from[i];
for(int64_t t=1;t<count&&pooling==OX_LLM_POOLING_MEAN;t++)sum+=rows[t*width+i];
out[i]=(float)(pooling==OX_LLM_POOLING_MEAN?sum/(double)count:sum);}}
static void oxi_llm_to_length_one(int64_t width,float*row){
double squares=0;
for(int64_t i=0;i<width;i++)squares+=(double)row[i]*row[i];
for(int64_t i=0;i<width&&squares>0;i++)row[i]=(float)(row[i]/sqrt(squares));}
static ox_status oxi_llm_check_types(const ox_llm*model,const int32_t*types,int64_t count){
const ox_tensor*table=model->part[OXI_LLM_TOKEN_TYPES].weight;
const int64_t known=table?table->shape[0]:1;
for(int64_t i=0;types&&i<count;i++)
if(types[i]<0||types[i]>=known)
return oxi_fail(OX_ERR_INDEX,"llm: the type of token %lld is %d, the model has %lld",
 (long long)i,(int)types[i],(long long)known);
return OX_OK;}
static ox_status oxi_llm_run_text(ox_llm_context*context,const int32_t*tokens,int64_t count,
 const int32_t*types,float*out){
ox_status status=oxi_llm_check_tokens(context,tokens,count);
if(!status)status=oxi_llm_check_types(context->model,types,count);
context->types=types;
if(!status)status=oxi_llm_run(context,tokens,count,true,false,out);
context->types=NULL;
return status;}
OX_API ox_status ox_llm_embed(ox_llm_context*context,const int32_t*tokens,int64_t count,
 const ox_llm_embed_desc*desc,float*out){
ox_llm_embed_desc zero;
memset(&zero,0,sizeof zero);
if(!desc)desc= &zero;
if(!context)return oxi_fail_missing("llm: the context");
if(!out)return oxi_fail_missing("llm: the place for the embedding");
if(desc->pooling<OX_LLM_POOLING_MODEL||desc->pooling>=OX_LLM_POOLING_COUNT)
return oxi_fail(OX_ERR_ARG,"llm: there is no pooling %d",(int)desc->pooling);
const int64_t width=context->model->config.width;
const ox_llm_pooling pooling=oxi_llm_pooling_of(context->model,desc->pooling);
size_t bytes=0;
ox_status status=ox_llm_rewind(context,0);
if(status)return status;
if(pooling==OX_LLM_POOLING_NONE)return oxi_llm_run_text(context,tokens,count,desc->types,out);
if(count<0|| !oxi_mul_size((size_t)count,(size_t)width*sizeof*out,&bytes))
return oxi_fail(OX_ERR_ARG,"llm: hidden states of %lld tokens",(long long)count);
float*rows=(float*)oxi_alloc(bytes);
if(!rows)return OX_ERR_NOMEM;
status=oxi_llm_run_text(context,tokens,count,desc->types,rows);
if(!status)oxi_llm_pool(pooling,count,width,rows,out);
if(!status&&desc->normalize)oxi_llm_to_length_one(width,out);
oxi_free(rows,bytes);
return status;}
/* >>llm/chat/chat.h */
#ifndef OX_LLM_CHAT_CHAT_H
#define OX_LLM_CHAT_CHAT_H
typedef enum oxi_reply_at{
OXI_REPLY_START=1,OXI_REPLY_TEXT=2,OXI_REPLY_THINK=4,OXI_REPLY_AFTER=8,OXI_REPLY_HEAD=16,OXI_REPLY_OPEN=32,
 OXI_REPLY_NAME=64,OXI_REPLY_ID=128,OXI_REPLY_SKIP=256,OXI_REPLY_PARAMETERS=512,OXI_REPLY_KEY=1024,
 OXI_REPLY_GAP=2048,OXI_REPLY_VALUE=4096,OXI_REPLY_WORD=8192,OXI_REPLY_DATA=16384,
 OXI_REPLY_ARGUMENTS=1<<15,OXI_REPLY_CALLS=1<<16,OXI_REPLY_NAMED=1<<17,OXI_REPLY_PYTHON=1<<18,
 OXI_REPLY_GEMMA=1<<19,OXI_REPLY_CODE=1<<20}oxi_reply_at;
#define OXI_REPLY_ANY (OXI_REPLY_START|OXI_REPLY_TEXT)
#define OXI_REPLY_BLOCK (OXI_REPLY_PYTHON|OXI_REPLY_GEMMA|OXI_REPLY_CODE)
enum{
OXI_REPLY_MOST_NAME=256,OXI_REPLY_MOST_DEPTH=48};
typedef struct oxi_reply_mark{
uint32_t in;
const char*text;
uint32_t next;
uint32_t back;}oxi_reply_mark;
enum{
OXI_REPLY_TEXT_ARGUMENTS=1,OXI_REPLY_NULL_CONTENT=2,OXI_REPLY_THINKING=4,OXI_REPLY_NEEDS_ARGUMENTS=8,
 OXI_REPLY_NUMBERED=16,OXI_REPLY_RECIPIENTS=32,OXI_REPLY_PYTHON_CODE=64,OXI_REPLY_ALL_IS_CONTENT=128};
typedef struct oxi_reply_format{
const char*name;
const char*signs[3];
const oxi_reply_mark*marks;
uint32_t flags;}oxi_reply_format;
static const oxi_reply_format*oxi_reply_format_by_name(const char*name);
static const oxi_reply_format*oxi_reply_format_by_source(const char*source);
typedef struct oxi_reply_text{
char*data;
size_t length,room;}oxi_reply_text;
typedef enum oxi_reply_event{
OXI_REPLY_NO_EVENT,OXI_REPLY_KEY_BEGINS,OXI_REPLY_KEY_ENDS,OXI_REPLY_VALUE_BEGINS,OXI_REPLY_VALUE_ENDS,
 OXI_REPLY_BAD}oxi_reply_event;
typedef struct oxi_reply_json{
uint64_t objects;
int depth;
uint8_t state,left;
bool number_ended;
const char*literal;}oxi_reply_json;
static void oxi_reply_json_start(oxi_reply_json*json);
static oxi_reply_event oxi_reply_json_step(oxi_reply_json*json,char c,int*depth);
typedef struct oxi_reply_piece{
size_t start,length;}oxi_reply_piece;
typedef struct oxi_reply_call{
oxi_reply_piece name,id,arguments;
size_t texts;
bool announced,complete;}oxi_reply_call;
struct ox_llm_reply{
const oxi_reply_format*format;
void(*delta)(void*user,const ox_llm_reply_delta*delta);
void*user;
int64_t first_id;
oxi_json tools;
ox_status status;
bool ended;
oxi_reply_text raw,content,reasoning,texts,message;
oxi_reply_call*calls;
size_t call_count,call_room;
uint32_t starts[256];
uint32_t state;
size_t at;
size_t held;
size_t settled;
bool after_call;
size_t part;
bool behind;
bool open;
bool made;
oxi_reply_piece key;
size_t sent;
oxi_reply_json json;
int base;
size_t string,value;
uint8_t member;
bool begun;
oxi_reply_piece json_arguments;
size_t json_sent;};
static bool oxi_reply_append(ox_llm_reply*r,oxi_reply_text*text,const char*bytes,size_t length);
static bool oxi_reply_append_word(ox_llm_reply*r,oxi_reply_text*text,const char*word);
static bool oxi_reply_append_escaped(ox_llm_reply*r,oxi_reply_text*text,const char*bytes,size_t length);
static bool oxi_reply_append_string(ox_llm_reply*r,oxi_reply_text*text,const char*bytes,size_t length);
static void oxi_reply_give(ox_llm_reply*r,ox_llm_reply_part part,const char*bytes,size_t length);
static bool oxi_reply_is_space(char c);
static bool oxi_reply_is_json(const char*text,size_t length);
static bool oxi_reply_value(ox_llm_reply*r,const char*text,size_t length,uint32_t how);
static bool oxi_reply_literal(ox_llm_reply*r,const char*text,size_t length,size_t*at,int depth);
static void oxi_reply_skip_space(const char*text,size_t length,size_t*at);
static bool oxi_reply_call_begin(ox_llm_reply*r);
static bool oxi_reply_call_name(ox_llm_reply*r,const char*text,size_t length);
static void oxi_reply_call_id(ox_llm_reply*r,const char*text,size_t length);
static void oxi_reply_call_arguments(ox_llm_reply*r,const char*text,size_t length);
static bool oxi_reply_call_parameter(ox_llm_reply*r,const char*text,size_t length,uint32_t how);
static bool oxi_reply_call_begin_text(ox_llm_reply*r,uint32_t how);
static void oxi_reply_call_text(ox_llm_reply*r,const char*text,size_t length,bool ends);
static bool oxi_reply_call_complete(ox_llm_reply*r);
static void oxi_reply_call_withdraw(ox_llm_reply*r);
static bool oxi_reply_call_json(ox_llm_reply*r,bool*done);
static bool oxi_reply_call_block(ox_llm_reply*r,const char*text,size_t length);
#endif
/* >>llm/chat/formats.c */
#define OXI_REPLY_THINKS(open,close) \
{OXI_REPLY_START,open,OXI_REPLY_THINK,0},{OXI_REPLY_START,close,OXI_REPLY_START,0},{ \
OXI_REPLY_THINK,close,OXI_REPLY_START,0}
#define OXI_REPLY_END \
{0,NULL,0,0}
static const oxi_reply_mark oxi_reply_plain[]={OXI_REPLY_END};
static const oxi_reply_mark oxi_reply_think[]={OXI_REPLY_THINKS("<think>","</think>"),OXI_REPLY_END};
static const oxi_reply_mark oxi_reply_hermes[]={
OXI_REPLY_THINKS("<think>","</think>"),{OXI_REPLY_ANY,"<tool_call>",OXI_REPLY_CALLS,0},
 {OXI_REPLY_AFTER,"</tool_call>",OXI_REPLY_AFTER,0},{OXI_REPLY_ANY,"<function=",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,">",OXI_REPLY_ARGUMENTS,0},{OXI_REPLY_AFTER,"</function>",OXI_REPLY_AFTER,0},
 OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_qwen_coder[]={
OXI_REPLY_THINKS("<think>","</think>"),{OXI_REPLY_ANY,"<tool_call>",OXI_REPLY_OPEN,0},
 {OXI_REPLY_ANY|OXI_REPLY_OPEN,"<function=",OXI_REPLY_NAME,0},{OXI_REPLY_NAME,">",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"<parameter=",OXI_REPLY_KEY,0},{OXI_REPLY_KEY,">",OXI_REPLY_VALUE,0},
 {OXI_REPLY_VALUE,"</parameter>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"</function>",OXI_REPLY_AFTER,0},{OXI_REPLY_AFTER,"</tool_call>",OXI_REPLY_AFTER,0},
 OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_seed[]={
OXI_REPLY_THINKS("<seed:think>","</seed:think>"),{OXI_REPLY_ANY,"<seed:tool_call>",OXI_REPLY_OPEN,0},
 {OXI_REPLY_OPEN|OXI_REPLY_AFTER,"<function=",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,">",OXI_REPLY_PARAMETERS,0},{OXI_REPLY_PARAMETERS,"<parameter=",OXI_REPLY_KEY,0},
 {OXI_REPLY_KEY,">",OXI_REPLY_VALUE,0},{OXI_REPLY_VALUE,"</parameter>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"</function>",OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,"</seed:tool_call>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_glm[]={
OXI_REPLY_THINKS("<think>","</think>"),{OXI_REPLY_ANY,"<tool_call>",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME|OXI_REPLY_PARAMETERS,"<arg_key>",OXI_REPLY_KEY,0},
 {OXI_REPLY_KEY,"</arg_key>",OXI_REPLY_GAP,0},{OXI_REPLY_GAP,"<arg_value>",OXI_REPLY_VALUE,0},
 {OXI_REPLY_VALUE,"</arg_value>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_NAME|OXI_REPLY_PARAMETERS,"</tool_call>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_hy3[]={
OXI_REPLY_THINKS("<think:opensource>","</think:opensource>"),
 {OXI_REPLY_ANY,"<tool_calls:opensource>",OXI_REPLY_OPEN,0},
 {OXI_REPLY_OPEN|OXI_REPLY_AFTER,"<tool_call:opensource>",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,"<tool_sep:opensource>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"<arg_key:opensource>",OXI_REPLY_KEY,0},
 {OXI_REPLY_KEY,"</arg_key:opensource>",OXI_REPLY_GAP,0},
 {OXI_REPLY_GAP,"<arg_value:opensource>",OXI_REPLY_VALUE,0},
 {OXI_REPLY_VALUE,"</arg_value:opensource>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_NAME|OXI_REPLY_PARAMETERS,"</tool_call:opensource>",OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,"</tool_calls:opensource>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_minimax[]={
OXI_REPLY_THINKS("<think>","</think>"),{OXI_REPLY_ANY,"<minimax:tool_call>",OXI_REPLY_OPEN,0},
 {OXI_REPLY_OPEN|OXI_REPLY_AFTER,"<invoke name=\"",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,"\">",OXI_REPLY_PARAMETERS,0},{OXI_REPLY_PARAMETERS,"<parameter name=\"",OXI_REPLY_KEY,0},
 {OXI_REPLY_KEY,"\">",OXI_REPLY_VALUE,0},{OXI_REPLY_VALUE,"</parameter>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"</invoke>",OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,"</minimax:tool_call>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_muse[]={
{OXI_REPLY_ANY|OXI_REPLY_AFTER,"<|start|>assistant",OXI_REPLY_HEAD,0},
 {OXI_REPLY_HEAD,"<|message|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY|OXI_REPLY_THINK,"<|eom|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY|OXI_REPLY_THINK,"<|eot|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY,"<atem:function_calls>",OXI_REPLY_OPEN,0},
 {OXI_REPLY_OPEN|OXI_REPLY_AFTER,"<atem:invoke name=\"",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,"\">",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"<atem:parameter name=\"",OXI_REPLY_KEY,0},{OXI_REPLY_KEY,"\">",OXI_REPLY_VALUE,0},
 {OXI_REPLY_VALUE,"</atem:parameter>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"</atem:invoke>",OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,"</atem:function_calls>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_minicpm[]={
OXI_REPLY_THINKS("<think>","</think>"),{OXI_REPLY_ANY,"<function name=\"",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,"\">",OXI_REPLY_PARAMETERS,0},{OXI_REPLY_PARAMETERS,"<param name=\"",OXI_REPLY_KEY,0},
 {OXI_REPLY_KEY,"\">",OXI_REPLY_VALUE,0},{OXI_REPLY_KEY,"\"><![CDATA[",OXI_REPLY_WORD,0},
 {OXI_REPLY_VALUE,"</param>",OXI_REPLY_PARAMETERS,0},{OXI_REPLY_WORD,"]]></param>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"</function>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_dsml[]={
OXI_REPLY_THINKS("<think>","</think>"),
 {OXI_REPLY_ANY,"<\357\275\234DSML\357\275\234function_calls>",OXI_REPLY_OPEN,0},
 {OXI_REPLY_ANY,"<\357\275\234DSML\357\275\234tool_calls>",OXI_REPLY_OPEN,0},
 {OXI_REPLY_OPEN|OXI_REPLY_AFTER,"<\357\275\234DSML\357\275\234invoke name=\"",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,"\">",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"<\357\275\234DSML\357\275\234parameter name=\"",OXI_REPLY_KEY,0},
 {OXI_REPLY_KEY,"\" string=\"true\">",OXI_REPLY_WORD,0},
 {OXI_REPLY_KEY,"\" string=\"false\">",OXI_REPLY_DATA,0},
 {OXI_REPLY_WORD|OXI_REPLY_DATA,"</\357\275\234DSML\357\275\234parameter>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"</\357\275\234DSML\357\275\234invoke>",OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,"</\357\275\234DSML\357\275\234function_calls>",OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,"</\357\275\234DSML\357\275\234tool_calls>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
#define OXI_REPLY_BAR(words)"<\357\275\234" words "\357\275\234>"
#define OXI_REPLY_LOW "\342\226\201"
#define OXI_REPLY_DS(a,b,c)OXI_REPLY_BAR(a OXI_REPLY_LOW b OXI_REPLY_LOW c)
static const oxi_reply_mark oxi_reply_deepseek_r1[]={
OXI_REPLY_THINKS("<think>","</think>"),
 {OXI_REPLY_ANY|OXI_REPLY_THINK,OXI_REPLY_DS("tool","calls","begin"),OXI_REPLY_OPEN,0},
 {OXI_REPLY_OPEN|OXI_REPLY_AFTER|OXI_REPLY_ANY,OXI_REPLY_DS("tool","call","begin"),OXI_REPLY_SKIP,0},
 {OXI_REPLY_SKIP,OXI_REPLY_BAR("tool" OXI_REPLY_LOW "sep"),OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,"\n```json",OXI_REPLY_ARGUMENTS,0},{OXI_REPLY_AFTER,"```",OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,OXI_REPLY_DS("tool","call","end"),OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,OXI_REPLY_DS("tool","calls","end"),OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_deepseek_v3[]={
OXI_REPLY_THINKS("<think>","</think>"),
 {OXI_REPLY_ANY|OXI_REPLY_THINK,OXI_REPLY_DS("tool","calls","begin"),OXI_REPLY_OPEN,0},
 {OXI_REPLY_OPEN|OXI_REPLY_AFTER|OXI_REPLY_ANY,OXI_REPLY_DS("tool","call","begin"),OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,OXI_REPLY_BAR("tool" OXI_REPLY_LOW "sep"),OXI_REPLY_ARGUMENTS,0},
 {OXI_REPLY_AFTER,OXI_REPLY_DS("tool","call","end"),OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,OXI_REPLY_DS("tool","calls","end"),OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_kimi_k2[]={
OXI_REPLY_THINKS("<think>","</think>"),
 {OXI_REPLY_ANY|OXI_REPLY_THINK,"<|tool_calls_section_begin|>",OXI_REPLY_OPEN,0},
 {OXI_REPLY_OPEN|OXI_REPLY_AFTER|OXI_REPLY_ANY,"<|tool_call_begin|>",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,"<|tool_call_argument_begin|>",OXI_REPLY_ARGUMENTS,0},
 {OXI_REPLY_AFTER,"<|tool_call_end|>",OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,"<|tool_calls_section_end|>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_kimi_k3[]={
OXI_REPLY_THINKS("<|open|>think<|sep|>","<|close|>think<|sep|>"),
 {OXI_REPLY_START,"<|open|>response<|sep|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY,"<|close|>response<|sep|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY,"<|open|>tools<|sep|>",OXI_REPLY_OPEN,0},
 {OXI_REPLY_OPEN|OXI_REPLY_AFTER,"<|open|>call tool=\"",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,"\" index=\"",OXI_REPLY_SKIP,0},{OXI_REPLY_SKIP,"\"<|sep|>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"<|open|>argument key=\"",OXI_REPLY_KEY,0},
 {OXI_REPLY_KEY,"\" type=\"string\"<|sep|>",OXI_REPLY_WORD,0},
 {OXI_REPLY_KEY,"\" type=\"number\"<|sep|>",OXI_REPLY_DATA,0},
 {OXI_REPLY_KEY,"\" type=\"integer\"<|sep|>",OXI_REPLY_DATA,0},
 {OXI_REPLY_KEY,"\" type=\"boolean\"<|sep|>",OXI_REPLY_DATA,0},
 {OXI_REPLY_KEY,"\" type=\"object\"<|sep|>",OXI_REPLY_DATA,0},
 {OXI_REPLY_KEY,"\" type=\"array\"<|sep|>",OXI_REPLY_DATA,0},
 {OXI_REPLY_KEY,"\" type=\"null\"<|sep|>",OXI_REPLY_DATA,0},
 {OXI_REPLY_WORD|OXI_REPLY_DATA,"<|close|>argument<|sep|>",OXI_REPLY_PARAMETERS,0},
 {OXI_REPLY_PARAMETERS,"<|close|>call<|sep|>",OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,"<|close|>tools<|sep|>",OXI_REPLY_AFTER,0},
 {OXI_REPLY_START|OXI_REPLY_AFTER,"<|close|>message<|sep|>",OXI_REPLY_START,0},
 {OXI_REPLY_START|OXI_REPLY_AFTER,"<|end_of_msg|>",OXI_REPLY_START,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_harmony[]={
{OXI_REPLY_ANY|OXI_REPLY_AFTER,"<|start|>assistant",OXI_REPLY_HEAD,0},
 {OXI_REPLY_ANY|OXI_REPLY_AFTER,"<|channel|>",OXI_REPLY_HEAD,0},
 {OXI_REPLY_HEAD,"<|message|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY|OXI_REPLY_THINK|OXI_REPLY_AFTER,"<|end|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY|OXI_REPLY_THINK|OXI_REPLY_AFTER,"<|return|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY|OXI_REPLY_AFTER,"<|call|>",OXI_REPLY_START,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_nemo[]={
OXI_REPLY_THINKS("[THINK]","[/THINK]"),{OXI_REPLY_ANY,"[TOOL_CALLS]",OXI_REPLY_CALLS,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_mistral[]={
OXI_REPLY_THINKS("[THINK]","[/THINK]"),{OXI_REPLY_ANY,"[TOOL_CALLS]",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,"[CALL_ID]",OXI_REPLY_ID,0},{OXI_REPLY_NAME|OXI_REPLY_ID,"[ARGS]",OXI_REPLY_ARGUMENTS,0},
 OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_functionary_31[]={
{OXI_REPLY_ANY,"<function=",OXI_REPLY_NAME,0},{OXI_REPLY_NAME,">",OXI_REPLY_ARGUMENTS,0},
 {OXI_REPLY_AFTER,"</function>",OXI_REPLY_AFTER,0},{OXI_REPLY_ANY,"<|python_tag|>",OXI_REPLY_CODE,0},
 OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_functionary_32[]={
{OXI_REPLY_ANY,">>>",OXI_REPLY_NAME,0},{OXI_REPLY_NAME,"\n",OXI_REPLY_ARGUMENTS,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_firefunction[]={
{OXI_REPLY_ANY,"functools[",OXI_REPLY_CALLS,1},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_llama3[]={
{OXI_REPLY_START,"{",OXI_REPLY_CALLS,1},{OXI_REPLY_ANY,"<|python_tag|>",OXI_REPLY_PYTHON,0},
 {OXI_REPLY_PYTHON|OXI_REPLY_AFTER,"<|eom_id|>",OXI_REPLY_AFTER,0},
 {OXI_REPLY_PYTHON|OXI_REPLY_AFTER,"<|eot_id|>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_command[]={
OXI_REPLY_THINKS("<|START_THINKING|>","<|END_THINKING|>"),
 {OXI_REPLY_START,"<|START_RESPONSE|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY,"<|END_RESPONSE|>",OXI_REPLY_START,0},{OXI_REPLY_START,"<|START_TEXT|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY,"<|END_TEXT|>",OXI_REPLY_START,0},{OXI_REPLY_ANY,"<|START_ACTION|>",OXI_REPLY_CALLS,0},
 {OXI_REPLY_AFTER,"<|END_ACTION|>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_granite[]={
OXI_REPLY_THINKS("<think>","</think>"),{OXI_REPLY_START,"<response>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY,"</response>",OXI_REPLY_START,0},{OXI_REPLY_ANY,"<|tool_call|>",OXI_REPLY_CALLS,0},
 {OXI_REPLY_AFTER,"<|/tool_call|>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_apertus[]={
OXI_REPLY_THINKS("<|inner_prefix|>","<|inner_suffix|>"),
 {OXI_REPLY_ANY,"<|tools_prefix|>",OXI_REPLY_NAMED,0},
 {OXI_REPLY_AFTER,"<|tools_suffix|>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_lfm2[]={
OXI_REPLY_THINKS("<think>","</think>"),{OXI_REPLY_ANY,"<|tool_call_start|>",OXI_REPLY_PYTHON,0},
 {OXI_REPLY_PYTHON|OXI_REPLY_AFTER,"<|tool_call_end|>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_nemotron[]={
OXI_REPLY_THINKS("<think>","</think>"),{OXI_REPLY_ANY,"<TOOLCALL>",OXI_REPLY_CALLS,0},
 {OXI_REPLY_AFTER,"</TOOLCALL>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_gigachat[]={
{OXI_REPLY_ANY,"<|function_call|>",OXI_REPLY_CALLS,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_gemma[]={
OXI_REPLY_THINKS("<|channel>thought\n","<channel|>"),
 {OXI_REPLY_START,"<|channel>thought<channel|>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY,"<|tool_call>",OXI_REPLY_GEMMA,0},
 {OXI_REPLY_GEMMA|OXI_REPLY_AFTER,"<tool_call|>",OXI_REPLY_AFTER,0},OXI_REPLY_END,};
static const oxi_reply_mark oxi_reply_hunyuan[]={
OXI_REPLY_THINKS("<think>","</think>"),{OXI_REPLY_START,"<answer>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY|OXI_REPLY_AFTER,"</answer>",OXI_REPLY_START,0},
 {OXI_REPLY_ANY,"<tool_calls>",OXI_REPLY_OPEN,0},{OXI_REPLY_OPEN,"[",OXI_REPLY_CALLS,1},
 {OXI_REPLY_OPEN|OXI_REPLY_AFTER|OXI_REPLY_ANY,"<tool_call>",OXI_REPLY_NAME,0},
 {OXI_REPLY_NAME,"\n```json",OXI_REPLY_ARGUMENTS,0},{OXI_REPLY_AFTER,"```",OXI_REPLY_AFTER,0},
 {OXI_REPLY_AFTER,"</tool_call>",OXI_REPLY_AFTER,0},{OXI_REPLY_AFTER,"</tool_calls>",OXI_REPLY_AFTER,0},
 OXI_REPLY_END,};
#define OXI_REPLY_SEP OXI_REPLY_BAR("tool" OXI_REPLY_LOW "sep")
static const oxi_reply_format oxi_reply_formats[]={
{"kimi-k3",{"'<|open|>'","<|sep|>",NULL},oxi_reply_kimi_k3,0},
 {"deepseek-dsml",{"DSML",NULL,NULL},oxi_reply_dsml,0},{"deepseek-r1",{OXI_REPLY_SEP,"```json",NULL},
 oxi_reply_deepseek_r1,OXI_REPLY_TEXT_ARGUMENTS|OXI_REPLY_NULL_CONTENT},
 {"deepseek-v3",{OXI_REPLY_SEP,NULL,NULL},oxi_reply_deepseek_v3,0},
 {"kimi-k2",{"<|tool_calls_section_begin|>",NULL,NULL},oxi_reply_kimi_k2,OXI_REPLY_NUMBERED},
 {"minimax-m2",{"<minimax:tool_call>",NULL,NULL},oxi_reply_minimax,0},
 {"seed-oss",{"<seed:tool_call>",NULL,NULL},oxi_reply_seed,0},
 {"seed-oss",{"<seed:think>",NULL,NULL},oxi_reply_seed,0},
 {"muse",{"<atem:function_calls>",NULL,NULL},oxi_reply_muse,0},{"gpt-oss",
 {"<|channel|>","<|message|>",NULL},oxi_reply_harmony,OXI_REPLY_THINKING|OXI_REPLY_RECIPIENTS},
 {"hy3",{"<arg_key{}>",NULL,NULL},oxi_reply_hy3,0},{"glm",{"<arg_key>",NULL,NULL},oxi_reply_glm,0},
 {"qwen3-coder",{"<function=","<parameter=",NULL},oxi_reply_qwen_coder,0},{"functionary-v3.1",
 {"<function=",NULL,NULL},oxi_reply_functionary_31,OXI_REPLY_TEXT_ARGUMENTS|OXI_REPLY_PYTHON_CODE},
 {"functionary-v3.2",{">>>all",NULL,NULL},oxi_reply_functionary_32,
 OXI_REPLY_TEXT_ARGUMENTS|OXI_REPLY_PYTHON_CODE|OXI_REPLY_ALL_IS_CONTENT},
 {"minicpm",{"<function name=",NULL,NULL},oxi_reply_minicpm,0},
 {"command-r7b",{"<|START_ACTION|>",NULL,NULL},oxi_reply_command,0},
 {"command-r7b",{"<|START_RESPONSE|>",NULL,NULL},oxi_reply_command,0},
 {"apertus",{"<|tools_prefix|>",NULL,NULL},oxi_reply_apertus,0},
 {"lfm2",{"<|tool_call_start|>",NULL,NULL},oxi_reply_lfm2,0},
 {"lfm2",{"<|tool_list_start|>",NULL,NULL},oxi_reply_lfm2,0},
 {"nemotron-v2",{"<TOOLCALL>",NULL,NULL},oxi_reply_nemotron,0},
 {"gigachat",{"<|function_call|>",NULL,NULL},oxi_reply_gigachat,0},
 {"gemma4",{"<|tool_call>",NULL,NULL},oxi_reply_gemma,0},
 {"granite",{"<|tool_call|>",NULL,NULL},oxi_reply_granite,0},
 {"mistral",{"[TOOL_CALLS]","[ARGS]",NULL},oxi_reply_mistral,0},
 {"mistral-nemo",{"[TOOL_CALLS]",NULL,NULL},oxi_reply_nemo,0},
 {"mistral",{"[THINK]",NULL,NULL},oxi_reply_mistral,0},
 {"firefunction-v2",{"functools[",NULL,NULL},oxi_reply_firefunction,0},
 {"hunyuan",{"<tool_calls>",NULL,NULL},oxi_reply_hunyuan,0},
 {"hunyuan",{"<answer>",NULL,NULL},oxi_reply_hunyuan,0},
 {"hermes",{"<tool_call>",NULL,NULL},oxi_reply_hermes,0},
 {"llama3",{"<|start_header_id|>","<|python_tag|>",NULL},oxi_reply_llama3,OXI_REPLY_NEEDS_ARGUMENTS},
 {"llama3",{"<|start_header_id|>","\"parameters\": ",NULL},oxi_reply_llama3,OXI_REPLY_NEEDS_ARGUMENTS},
 {"think",{"</think>",NULL,NULL},oxi_reply_think,0},{"think",{"<think>",NULL,NULL},oxi_reply_think,0},
 {"plain",{NULL,NULL,NULL},oxi_reply_plain,0},};
enum{OXI_REPLY_FORMATS=sizeof oxi_reply_formats/sizeof*oxi_reply_formats};
static const oxi_reply_format*oxi_reply_format_by_name(const char*name){
for(int i=0;i<OXI_REPLY_FORMATS;i++)
if(strcmp(oxi_reply_formats[i].name,name)==0)return&oxi_reply_formats[i];
return NULL;}
static const oxi_reply_format*oxi_reply_format_by_source(const char*source){
const oxi_reply_format*row=oxi_reply_formats;
for(;;row++){
bool all=true;
for(int i=0;i<3&&row->signs[i]&&all;i++)all=strstr(source,row->signs[i])!=NULL;
if(all)return row;}}
OX_API const char*ox_llm_reply_format_of(const char*source){
return(source?oxi_reply_format_by_source(source): &oxi_reply_formats[OXI_REPLY_FORMATS-1])->name;}
OX_API const char*ox_llm_reply_format_name(int64_t index){
for(int i=0;i<OXI_REPLY_FORMATS;i++)
if(oxi_reply_format_by_name(oxi_reply_formats[i].name)== &oxi_reply_formats[i]&&index-- ==0)
return oxi_reply_formats[i].name;
return NULL;}
/* >>llm/chat/json_steps.c */
enum{
OXI_REPLY_WANT_VALUE,OXI_REPLY_WANT_VALUE_OR_END,OXI_REPLY_WANT_KEY,OXI_REPLY_WANT_KEY_OR_END,
 OXI_REPLY_WANT_COLON,OXI_REPLY_WANT_COMMA,OXI_REPLY_IN_STRING,OXI_REPLY_IN_KEY,OXI_REPLY_IN_ESCAPE,
 OXI_REPLY_IN_KEY_ESCAPE,OXI_REPLY_IN_NUMBER,OXI_REPLY_IN_LITERAL};
static void oxi_reply_json_start(oxi_reply_json*json){
memset(json,0,sizeof*json);}
static oxi_reply_event oxi_reply_json_value(oxi_reply_json*json,char c,int*depth){
*depth=json->depth;
if(c=='{'||c=='['){
if(json->depth+1>OXI_REPLY_MOST_DEPTH)return OXI_REPLY_BAD;
json->depth++;
if(c=='{')
json->objects|=(uint64_t)1<<json->depth;
else
json->objects&= ~((uint64_t)1<<json->depth);
json->state=c=='{'?OXI_REPLY_WANT_KEY_OR_END:OXI_REPLY_WANT_VALUE_OR_END;
return OXI_REPLY_VALUE_BEGINS;}
json->literal=c=='t'?"rue":c=='f'?"alse":c=='n'?"ull":NULL;
if(c=='"')
json->state=OXI_REPLY_IN_STRING;
else if(json->literal)
json->state=OXI_REPLY_IN_LITERAL;
else if(c=='-'||oxi_is_digit(c))
json->state=OXI_REPLY_IN_NUMBER;
else
return OXI_REPLY_BAD;
return OXI_REPLY_VALUE_BEGINS;}
static oxi_reply_event oxi_reply_json_string(oxi_reply_json*json,char c,int*depth){
const bool is_key=json->state==OXI_REPLY_IN_KEY;
*depth=json->depth;
if((unsigned char)c<0x20)return OXI_REPLY_BAD;
if(c=='\\'){
json->state=(uint8_t)(json->state +2);
json->left=0;}
if(c!='"')return OXI_REPLY_NO_EVENT;
json->state=is_key?OXI_REPLY_WANT_COLON:OXI_REPLY_WANT_COMMA;
return is_key?OXI_REPLY_KEY_ENDS:OXI_REPLY_VALUE_ENDS;}
static oxi_reply_event oxi_reply_json_escape(oxi_reply_json*json,char c){
if(json->left){
if(oxi_hex_digit(c)<0)return OXI_REPLY_BAD;
json->left--;}else if(c=='u')
json->left=4;
else if(!c|| !strchr("\"\\/bfnrt",c))
return OXI_REPLY_BAD;
if(!json->left)json->state=(uint8_t)(json->state -2);
return OXI_REPLY_NO_EVENT;}
static oxi_reply_event oxi_reply_json_close(oxi_reply_json*json,char c,int*depth){
const bool is_object=(json->objects>>json->depth&1)!=0;
if(!json->depth||c!=(is_object?'}':']'))return OXI_REPLY_BAD;
*depth= --json->depth;
json->state=OXI_REPLY_WANT_COMMA;
return OXI_REPLY_VALUE_ENDS;}
static oxi_reply_event oxi_reply_json_between(oxi_reply_json*json,char c,int*depth){
const bool in_object=(json->objects>>json->depth&1)!=0;
switch(json->state){
case OXI_REPLY_WANT_VALUE:return oxi_reply_json_value(json,c,depth);
case OXI_REPLY_WANT_VALUE_OR_END:
return c==']'?oxi_reply_json_close(json,c,depth):oxi_reply_json_value(json,c,depth);
case OXI_REPLY_WANT_COLON:
json->state=OXI_REPLY_WANT_VALUE;
return c==':'?OXI_REPLY_NO_EVENT:OXI_REPLY_BAD;
case OXI_REPLY_WANT_COMMA:
if(c!=','|| !json->depth)return oxi_reply_json_close(json,c,depth);
json->state=in_object?OXI_REPLY_WANT_KEY:OXI_REPLY_WANT_VALUE;
return OXI_REPLY_NO_EVENT;
default:
if(c=='}'&&json->state==OXI_REPLY_WANT_KEY_OR_END)return oxi_reply_json_close(json,c,depth);
json->state=OXI_REPLY_IN_KEY;
*depth=json->depth;
return c=='"'?OXI_REPLY_KEY_BEGINS:OXI_REPLY_BAD;}}
static oxi_reply_event oxi_reply_json_step(oxi_reply_json*json,char c,int*depth){
json->number_ended=false;
*depth=json->depth;
switch(json->state){
case OXI_REPLY_IN_STRING:
case OXI_REPLY_IN_KEY:return oxi_reply_json_string(json,c,depth);
case OXI_REPLY_IN_ESCAPE:
case OXI_REPLY_IN_KEY_ESCAPE:return oxi_reply_json_escape(json,c);
case OXI_REPLY_IN_LITERAL:
if(c!= *json->literal++)return OXI_REPLY_BAD;
if(*json->literal)return OXI_REPLY_NO_EVENT;
json->state=OXI_REPLY_WANT_COMMA;
return OXI_REPLY_VALUE_ENDS;
case OXI_REPLY_IN_NUMBER:
if(oxi_is_digit(c)||(c&&strchr("+-.eE",c)))return OXI_REPLY_NO_EVENT;
json->number_ended=true;
json->state=OXI_REPLY_WANT_COMMA;
break;
default:break;}
return oxi_reply_is_space(c)?OXI_REPLY_NO_EVENT:oxi_reply_json_between(json,c,depth);}
/* >>llm/chat/literals.c */
static bool oxi_reply_is_space(char c){
return c==' '||c=='\n'||c=='\r'||c=='\t';}
static void oxi_reply_skip_space(const char*text,size_t length,size_t*at){
while(*at<length&&oxi_reply_is_space(text[*at]))++*at;}
static bool oxi_reply_is_json(const char*text,size_t length){
oxi_json_reader reader;
oxi_json_type type;
oxi_json_start(&reader,text,length);
do{
type=oxi_json_next(&reader);
 }while(type!=OXI_JSON_END&&type!=OXI_JSON_ERROR&&reader.depth<=OXI_REPLY_MOST_DEPTH);
return type==OXI_JSON_END;}
#define OXI_REPLY_GEMMA_QUOTE "<|\"|>"
static bool oxi_reply_here(const char*text,size_t length,size_t at,const char*word){
const size_t bytes=strlen(word);
return length-at>=bytes&&memcmp(text+at,word,bytes)==0;}
static bool oxi_reply_python_code(ox_llm_reply*r,const char*text,size_t length,size_t*at,int digits,
 oxi_reply_text*out){
uint32_t code=0;
char bytes[4];
for(int i=0;i<digits;i++,++*at){
const int digit= *at<length?oxi_hex_digit(text[*at]): -1;
if(digit<0||code>0xFFFFFFF)return false;
code=code*16+(uint32_t)digit;}
if(code>0x10FFFF||(code>=0xD800&&code<0xE000))return false;
return oxi_reply_append(r,out,bytes,oxi_utf8_write((int32_t)code,bytes));}
static bool oxi_reply_python_escape(ox_llm_reply*r,const char*text,size_t length,size_t*at,
 oxi_reply_text*out){
static const char letters[]="\\'\"ntrbfav0",meanings[]="\\'\"\n\t\r\b\f\a\v\0";
const char c= *at<length?text[*at]:'z';
const char*letter=c?strchr(letters,c):NULL;
++*at;
if(letter)return oxi_reply_append(r,out,&meanings[letter-letters],1);
if(c=='x')return oxi_reply_python_code(r,text,length,at,2,out);
if(c=='u')return oxi_reply_python_code(r,text,length,at,4,out);
if(c=='U')return oxi_reply_python_code(r,text,length,at,8,out);
return c=='\n'||(*at<=length&&oxi_reply_append(r,out,"\\",1)&&oxi_reply_append(r,out,&c,1));}
static bool oxi_reply_closes(const char*text,size_t length,size_t at){
at++;
oxi_reply_skip_space(text,length,&at);
return at>=length||(text[at]&&strchr(",:)]}",text[at]));}
static bool oxi_reply_literal_text(ox_llm_reply*r,const char*text,size_t length,size_t*at){
const bool gemma=oxi_reply_here(text,length,*at,OXI_REPLY_GEMMA_QUOTE);
const char quote=text[*at];
oxi_reply_text made;
bool good=true,closed=false;
memset(&made,0,sizeof made);
*at+=gemma?strlen(OXI_REPLY_GEMMA_QUOTE):1;
while(good&& *at<length&& !closed){
closed=gemma?oxi_reply_here(text,length,*at,OXI_REPLY_GEMMA_QUOTE)
 :text[*at]==quote&&oxi_reply_closes(text,length,*at);
if(closed){
*at+=gemma?strlen(OXI_REPLY_GEMMA_QUOTE):1;}else if(!gemma&&text[*at]=='\\'){
++*at;
good=oxi_reply_python_escape(r,text,length,at,&made);}else
good=oxi_reply_append(r,&made,text+(*at)++,1);}
good=good&&closed&&oxi_reply_append_string(r,&r->texts,made.data,made.length);
oxi_free(made.data,made.room);
return good;}
static bool oxi_reply_is_text_start(const char*text,size_t length,size_t at){
return at<length&&(text[at]=='\''||text[at]=='"'||oxi_reply_here(text,length,at,OXI_REPLY_GEMMA_QUOTE));}
static bool oxi_reply_literal_key(ox_llm_reply*r,const char*text,size_t length,size_t*at){
size_t end= *at;
if(oxi_reply_is_text_start(text,length,*at))return oxi_reply_literal_text(r,text,length,at);
while(end<length&&text[end]!=':'&& !strchr(" \t\r\n,{}[]()<>\"'",text[end]))end++;
const size_t start= *at;
*at=end;
return end>start&&oxi_reply_append_string(r,&r->texts,text+start,end-start);}
static bool oxi_reply_literal_members(ox_llm_reply*r,const char*text,size_t length,size_t*at,
 char close,int depth){
const bool is_object=close=='}';
if(!oxi_reply_append(r,&r->texts,is_object?"{":"[",1))return false;
for(bool first=true;;first=false){
oxi_reply_skip_space(text,length,at);
if(*at>=length)return false;
if(text[*at]==close)break;
if(!first){
if(text[*at]!=',')return false;
++*at;
oxi_reply_skip_space(text,length,at);
if(*at<length&&text[*at]==close)break;
if(!oxi_reply_append(r,&r->texts,", ",2))return false;}
if(is_object){
if(!oxi_reply_literal_key(r,text,length,at))return false;
oxi_reply_skip_space(text,length,at);
if(*at>=length||text[(*at)++]!=':'|| !oxi_reply_append(r,&r->texts,": ",2))
return false;}
if(!oxi_reply_literal(r,text,length,at,depth+1))return false;}
++*at;
return oxi_reply_append(r,&r->texts,is_object?"}":"]",1);}
static bool oxi_reply_literal(ox_llm_reply*r,const char*text,size_t length,size_t*at,int depth){
static const char*const words[][2]={{"True","true"},{"true","true"},{"False","false"},
 {"false","false"},{"None","null"},{"null","null"}};
oxi_reply_skip_space(text,length,at);
if(*at>=length||depth>OXI_REPLY_MOST_DEPTH)return false;
if(oxi_reply_is_text_start(text,length,*at))return oxi_reply_literal_text(r,text,length,at);
const char c=text[*at];
if(c=='['||c=='('||c=='{'){
++*at;
return oxi_reply_literal_members(r,text,length,at,c=='{'?'}':c=='['?']':')',depth);}
size_t end= *at;
while(end<length&&text[end]&& !strchr(" \t\r\n,:{}[]()<>\"'=",text[end]))end++;
const size_t start= *at,bytes=end-start;
*at=end;
for(size_t i=0;i<sizeof words/sizeof*words;i++)
if(strlen(words[i][0])==bytes&&memcmp(words[i][0],text+start,bytes)==0)
return oxi_reply_append_word(r,&r->texts,words[i][1]);
return(c=='-'||oxi_is_digit(c))&&oxi_reply_is_json(text+start,bytes)&&
 oxi_reply_append(r,&r->texts,text+start,bytes);}
static bool oxi_reply_node_is(const oxi_json*json,uint32_t index,const char*bytes,size_t length){
const oxi_json_node*node= &json->nodes[index];
return index&&node->type==OXI_JSON_STRING&&node->length==length&&
 (!length||memcmp(node->value.text,bytes,length)==0);}
static uint32_t oxi_reply_find_tool(const oxi_json*tools,const char*name,size_t length){
const uint32_t end=tools->count&&tools->nodes[0].type==OXI_JSON_ARRAY?tools->nodes[0].next:0;
for(uint32_t i=1;i<end;i=tools->nodes[i].next){
const uint32_t function=oxi_json_find(tools,i,"function");
const uint32_t tool=function?function:i;
if(oxi_reply_node_is(tools,oxi_json_find(tools,tool,"name"),name,length))return tool;}
return 0;}
static int oxi_reply_is_text_parameter(const ox_llm_reply*r){
const oxi_json*tools= &r->tools;
const oxi_reply_call*call= &r->calls[r->call_count-1];
const char*key=r->texts.data+r->key.start;
const uint32_t tool=oxi_reply_find_tool(tools,r->texts.data+call->name.start,call->name.length);
uint32_t schema=tool?oxi_json_find(tools,tool,"parameters"):0;
schema=schema?oxi_json_find(tools,schema,"properties"):0;
if(!schema||tools->nodes[schema].type!=OXI_JSON_OBJECT)return-1;
for(uint32_t i=schema+1;i<tools->nodes[schema].next;i=tools->nodes[i].next){
const oxi_json_node*node= &tools->nodes[i];
if(node->length+2!=r->key.length||memcmp(node->value.text,key+1,node->length)!=0)
continue;
const uint32_t type=oxi_json_find(tools,i+1,"type");
if(!type||tools->nodes[type].type!=OXI_JSON_STRING)return-1;
return oxi_reply_node_is(tools,type,"string",6);}
return-1;}
static void oxi_reply_trim_lines(const char**text,size_t*length){
if(*length&& **text=='\n'){
++*text;
--*length;}
if(*length&&(*text)[*length-1]=='\n')--*length;}
static void oxi_reply_trim(const char**text,size_t*length){
while(*length&&oxi_reply_is_space(**text)){
++*text;
--*length;}
while(*length&&oxi_reply_is_space((*text)[*length-1]))--*length;}
static bool oxi_reply_value(ox_llm_reply*r,const char*text,size_t length,uint32_t how){
const char*inner=text;
size_t bytes=length,at=0;
const int is_text=how==OXI_REPLY_WORD?1:how==OXI_REPLY_DATA?0:oxi_reply_is_text_parameter(r);
oxi_reply_trim(&inner,&bytes);
if(is_text!=1&&oxi_reply_is_json(inner,bytes))return oxi_reply_append(r,&r->texts,inner,bytes);
if(is_text!=1&&bytes&&strchr("{[TFN",*inner)){
const size_t start=r->texts.length;
if(oxi_reply_literal(r,inner,bytes,&at,0)&&at==bytes)return true;
r->texts.length=start;
if(r->status)return false;}
if(how==OXI_REPLY_VALUE)oxi_reply_trim_lines(&text,&length);
return oxi_reply_append_string(r,&r->texts,text,length);}
/* >>llm/chat/calls.c */
static oxi_reply_call*oxi_reply_last(ox_llm_reply*r){
return&r->calls[r->call_count-1];}
static bool oxi_reply_call_begin(ox_llm_reply*r){
if(r->call_count==r->call_room){
const size_t room=r->call_room?r->call_room*2:4;
oxi_reply_call*calls=(oxi_reply_call*)oxi_realloc(r->calls,r->call_room*sizeof*calls,room*sizeof*calls);
if(!calls){
r->status=OX_ERR_NOMEM;
return false;}
r->calls=calls;
r->call_room=room;}
oxi_reply_call*call= &r->calls[r->call_count++];
memset(call,0,sizeof*call);
call->texts=r->texts.length;
r->open=true;
r->made=false;
r->json_arguments.length=r->json_sent=0;
return true;}
static oxi_reply_piece oxi_reply_piece_from(const ox_llm_reply*r,size_t start){
oxi_reply_piece piece;
piece.start=start;
piece.length=r->texts.length-start;
return piece;}
static bool oxi_reply_is_name(const char*text,size_t length){
for(size_t i=0;i<length;i++)
if((unsigned char)text[i]<=' '||strchr("\"'`<>{}[](),;=",text[i]))return false;
return length>0&&length<=OXI_REPLY_MOST_NAME;}
static void oxi_reply_cut_number(const char**text,size_t*length){
static const char prefix[]="functions.";
size_t end= *length;
if(end>sizeof prefix-1&&memcmp(*text,prefix,sizeof prefix-1)==0){
*text+=sizeof prefix-1;
end= *length-=sizeof prefix-1;}
while(end&&oxi_is_digit((*text)[end-1]))end--;
if(end>1&&end< *length&&(*text)[end-1]==':')*length=end-1;}
static bool oxi_reply_call_name(ox_llm_reply*r,const char*text,size_t length){
oxi_reply_trim(&text,&length);
if(!oxi_reply_is_name(text,length)||oxi_reply_last(r)->announced)return false;
if(r->format->flags&OXI_REPLY_NUMBERED){
oxi_reply_call_id(r,text,length);
oxi_reply_cut_number(&text,&length);}
const size_t start=r->texts.length;
if(!oxi_reply_append(r,&r->texts,text,length))return false;
oxi_reply_call*call=oxi_reply_last(r);
call->name=oxi_reply_piece_from(r,start);
call->announced=true;
oxi_reply_give(r,OX_LLM_REPLY_CALL,r->texts.data+start,length);
return true;}
static void oxi_reply_call_id(ox_llm_reply*r,const char*text,size_t length){
oxi_reply_trim(&text,&length);
const size_t start=r->texts.length;
if(!length||length>OXI_REPLY_MOST_NAME)return;
if(oxi_reply_append(r,&r->texts,text,length))oxi_reply_last(r)->id=oxi_reply_piece_from(r,start);}
static void oxi_reply_call_arguments(ox_llm_reply*r,const char*text,size_t length){
oxi_reply_call*call=oxi_reply_last(r);
if(!length||r->status)return;
if(!call->arguments.length)call->arguments.start=r->texts.length;
if(!oxi_reply_append(r,&r->texts,text,length))return;
call->arguments.length+=length;
oxi_reply_give(r,OX_LLM_REPLY_ARGUMENTS,r->texts.data+r->texts.length-length,length);}
static void oxi_reply_call_grown(ox_llm_reply*r,size_t start){
oxi_reply_last(r)->arguments.length+=r->texts.length-start;
oxi_reply_give(r,OX_LLM_REPLY_ARGUMENTS,r->texts.data+start,r->texts.length-start);}
static bool oxi_reply_call_key(ox_llm_reply*r){
const size_t start=r->key.start,end=r->texts.length;
const char*before=r->made?", ":"{";
if(!oxi_reply_append_word(r,&r->texts,before)||
 !oxi_reply_append(r,&r->texts,r->texts.data+start,r->key.length)||
 !oxi_reply_append_word(r,&r->texts,": "))
return false;
memmove(r->texts.data+start,r->texts.data+end,r->texts.length-end);
r->texts.length-=end-start;
if(!r->made)oxi_reply_last(r)->arguments.start=start;
r->made=true;
r->key.start+=strlen(before);
oxi_reply_call_grown(r,start);
return true;}
static bool oxi_reply_call_parameter(ox_llm_reply*r,const char*text,size_t length,uint32_t how){
if(!oxi_reply_call_key(r))return false;
const size_t start=r->texts.length;
if(!oxi_reply_value(r,text,length,how))return false;
oxi_reply_call_grown(r,start);
return true;}
static bool oxi_reply_call_begin_text(ox_llm_reply*r,uint32_t how){
if(how!=OXI_REPLY_WORD&&(how!=OXI_REPLY_VALUE||oxi_reply_is_text_parameter(r)!=1))
return false;
if(!oxi_reply_call_key(r))return false;
oxi_reply_call_arguments(r,"\"",1);
return!r->status;}
static void oxi_reply_call_text(ox_llm_reply*r,const char*text,size_t length,bool ends){
const size_t start=r->texts.length;
if(length&& !oxi_reply_append_escaped(r,&r->texts,text,length))return;
if(ends&& !oxi_reply_append(r,&r->texts,"\"",1))return;
if(r->texts.length>start)oxi_reply_call_grown(r,start);}
static bool oxi_reply_unwrap(ox_llm_reply*r,const char*text,size_t length){
oxi_json_reader reader;
oxi_reply_text inner;
oxi_reply_trim(&text,&length);
if(!length||(length==4&&memcmp(text,"null",4)==0)){
oxi_reply_call_arguments(r,"{}",2);
return true;}
if(*text!='"'){
if(*text=='{')oxi_reply_call_arguments(r,text,length);
return*text=='{';}
memset(&inner,0,sizeof inner);
oxi_json_start(&reader,text,length);
if(oxi_json_next(&reader)!=OXI_JSON_STRING|| !oxi_reply_append(r,&inner,text,length))return false;
const char*json=inner.data;
size_t bytes=oxi_json_decode(&reader,inner.data);
oxi_reply_trim(&json,&bytes);
const bool good=bytes&& *json=='{';
if(good)oxi_reply_call_arguments(r,json,bytes);
oxi_free(inner.data,inner.room);
return good;}
static bool oxi_reply_call_complete(ox_llm_reply*r){
oxi_reply_call*call=oxi_reply_last(r);
char id[32];
if(!call->announced)return false;
if(r->made)oxi_reply_call_arguments(r,"}",1);
if(!call->arguments.length&& !r->made)oxi_reply_call_arguments(r,"{}",2);
if(r->status|| !oxi_reply_is_json(r->texts.data+call->arguments.start,call->arguments.length))
return false;
if(!call->id.length){
(void)snprintf(id,sizeof id,"call%05lld",(long long)(r->first_id+(int64_t)r->call_count-1));
oxi_reply_call_id(r,id,strlen(id));}
if(r->status)return false;
call->complete=true;
r->open=false;
r->settled=r->at;
r->after_call=true;
oxi_reply_give(r,OX_LLM_REPLY_CALL_END,r->texts.data+call->id.start,call->id.length);
return true;}
static void oxi_reply_call_withdraw(ox_llm_reply*r){
if(!r->open)return;
const oxi_reply_call*call=oxi_reply_last(r);
if(call->announced)
oxi_reply_give(r,OX_LLM_REPLY_WITHDRAWN,r->texts.data+call->name.start,call->name.length);
r->texts.length=call->texts;
r->call_count--;
r->open=false;}
enum{OXI_REPLY_OTHER,OXI_REPLY_MEMBER_NAME,OXI_REPLY_MEMBER_ARGUMENTS,OXI_REPLY_MEMBER_ID};
static uint8_t oxi_reply_member(const ox_llm_reply*r,size_t end){
static const struct{
const char*key;
uint8_t member;}members[]={{"\"name\"",OXI_REPLY_MEMBER_NAME},{"\"tool_name\"",OXI_REPLY_MEMBER_NAME},
 {"\"arguments\"",OXI_REPLY_MEMBER_ARGUMENTS},{"\"parameters\"",OXI_REPLY_MEMBER_ARGUMENTS},
 {"\"id\"",OXI_REPLY_MEMBER_ID},{"\"tool_call_id\"",OXI_REPLY_MEMBER_ID}};
const size_t length=end-r->string;
for(size_t i=0;i<sizeof members/sizeof*members;i++)
if(strlen(members[i].key)==length&&memcmp(members[i].key,r->raw.data+r->string,length)==0)
return members[i].member;
return OXI_REPLY_OTHER;}
static bool oxi_reply_json_text(ox_llm_reply*r,size_t start,size_t end,bool is_name){
char text[OXI_REPLY_MOST_NAME];
oxi_json_reader reader;
oxi_json_start(&reader,r->raw.data+start,end-start);
const oxi_json_type type=oxi_json_next(&reader);
if(type==OXI_JSON_INT&& !is_name)oxi_reply_call_id(r,r->raw.data+start,end-start);
if(type!=OXI_JSON_STRING)return!is_name;
if(reader.raw_length>sizeof text)return false;
const size_t length=oxi_json_decode(&reader,text);
if(is_name)return oxi_reply_call_name(r,text,length);
oxi_reply_call_id(r,text,length);
return true;}
static void oxi_reply_json_give(ox_llm_reply*r,size_t end){
if(!r->json_sent|| !r->open|| !oxi_reply_last(r)->announced||end<=r->json_sent)return;
oxi_reply_call_arguments(r,r->raw.data+r->json_sent,end-r->json_sent);
r->json_sent=end;}
static bool oxi_reply_json_member_ends(ox_llm_reply*r,size_t end){
const uint8_t member=r->member;
r->member=OXI_REPLY_OTHER;
if(member==OXI_REPLY_MEMBER_ID)return oxi_reply_json_text(r,r->value,end,false);
if(member==OXI_REPLY_MEMBER_ARGUMENTS){
if(r->json_arguments.length)return false;
r->json_arguments.start=r->value;
r->json_arguments.length=end-r->value;
if(!oxi_reply_last(r)->announced)r->json_sent=0;
oxi_reply_json_give(r,end);
return true;}
return member!=OXI_REPLY_MEMBER_NAME||oxi_reply_json_text(r,r->value,end,true);}
static bool oxi_reply_json_call_ends(ox_llm_reply*r){
const bool has_any=r->json_arguments.length>0;
if(!has_any&&(r->format->flags&OXI_REPLY_NEEDS_ARGUMENTS))return false;
if(!r->json_sent&&oxi_reply_last(r)->announced&&has_any&&
 !oxi_reply_unwrap(r,r->raw.data+r->json_arguments.start,r->json_arguments.length))
return false;
r->json_sent=0;
return oxi_reply_call_complete(r);}
static void oxi_reply_json_value_begins(ox_llm_reply*r,size_t at){
r->value=at;
r->json_sent=r->member==OXI_REPLY_MEMBER_ARGUMENTS&& !r->json_arguments.length&&r->raw.data[at]=='{'?at
 :r->json_sent;}
static bool oxi_reply_json_event(ox_llm_reply*r,oxi_reply_event event,int depth,bool named){
const size_t at=r->at-1;
if(event==OXI_REPLY_VALUE_BEGINS&&depth==0){
r->base=r->raw.data[at]=='[';
if(r->raw.data[at]!='['&&r->raw.data[at]!='{')return false;}
if(event==OXI_REPLY_VALUE_BEGINS&&depth==r->base){
if(r->raw.data[at]!='{')return false;
r->member=OXI_REPLY_OTHER;
return named||oxi_reply_call_begin(r);}
if(event==OXI_REPLY_KEY_BEGINS&&depth==r->base +1)r->string=at;
if(event==OXI_REPLY_KEY_ENDS&&depth==r->base +1){
if(!named){
r->member=oxi_reply_member(r,r->at);
return r->member!=OXI_REPLY_MEMBER_ARGUMENTS|| !r->json_arguments.length;}else{
r->member=OXI_REPLY_MEMBER_ARGUMENTS;
return oxi_reply_call_begin(r)&&oxi_reply_json_text(r,r->string,r->at,true);}}
if(event==OXI_REPLY_VALUE_BEGINS&&depth==r->base +1)oxi_reply_json_value_begins(r,at);
if(event==OXI_REPLY_VALUE_ENDS&&depth==r->base +1)
return oxi_reply_json_member_ends(r,r->at)&&(!named||oxi_reply_json_call_ends(r));
if(event==OXI_REPLY_VALUE_ENDS&&depth==r->base&& !named&&r->open)
return oxi_reply_json_call_ends(r);
return true;}
static bool oxi_reply_json_arguments(ox_llm_reply*r,oxi_reply_event event,int depth){
if(depth!=0)return true;
if(event==OXI_REPLY_VALUE_BEGINS){
r->member=OXI_REPLY_MEMBER_ARGUMENTS;
oxi_reply_json_value_begins(r,r->at-1);}
if(event!=OXI_REPLY_VALUE_ENDS)return true;
return oxi_reply_json_member_ends(r,r->at)&&oxi_reply_json_call_ends(r);}
static bool oxi_reply_call_json(ox_llm_reply*r,bool*done){
const bool arguments=r->state==OXI_REPLY_ARGUMENTS,named=r->state==OXI_REPLY_NAMED;
*done=false;
while(r->at<r->raw.length&& !r->status){
int depth,before=r->json.depth;
const oxi_reply_event event=oxi_reply_json_step(&r->json,r->raw.data[r->at],&depth);
if(r->json.number_ended&& !arguments&&before==r->base +1&&(named|| !oxi_reply_json_member_ends(r,r->at)))
return false;
if(event==OXI_REPLY_BAD)return false;
r->at++;
if(event==OXI_REPLY_NO_EVENT)continue;
if(!(arguments?oxi_reply_json_arguments(r,event,depth):oxi_reply_json_event(r,event,depth,named)))
return false;
if(event==OXI_REPLY_VALUE_ENDS&&depth==0){
*done=true;
return!r->status;}}
if(r->member==OXI_REPLY_MEMBER_ARGUMENTS)oxi_reply_json_give(r,r->at);
return!r->status;}
static size_t oxi_reply_name_end(const char*text,size_t length,size_t at){
while(at<length&&(unsigned char)text[at]>' '&& !strchr("(){}[],:=\"'<>",text[at]))at++;
return at;}
static bool oxi_reply_block_call(ox_llm_reply*r,const char*text,size_t length,size_t*at,bool gemma){
static const char prefix[]="call:",suffix[]=".call";
const char close=gemma?'}':')',sign=gemma?':':'=';
oxi_reply_skip_space(text,length,at);
if(gemma){
if(!oxi_reply_here(text,length,*at,prefix))return false;
*at+=sizeof prefix-1;}
const size_t end=oxi_reply_name_end(text,length,*at);
size_t bytes=end- *at;
if(!gemma&&bytes>sizeof suffix-1&&oxi_reply_here(text,length,end-(sizeof suffix-1),suffix))
bytes-=sizeof suffix-1;
if(end>=length||text[end]!=(gemma?'{':'('))return false;
oxi_reply_call*call=oxi_reply_last(r);
if(!oxi_reply_is_name(text+ *at,bytes))return false;
call->name.start=r->texts.length;
call->name.length=bytes;
if(!oxi_reply_append(r,&r->texts,text+ *at,bytes))return false;
call->arguments.start=r->texts.length;
if(!oxi_reply_append(r,&r->texts,"{",1))return false;
*at=end+1;
for(bool first=true;;first=false){
oxi_reply_skip_space(text,length,at);
if(*at<length&&text[*at]==close)break;
if(!first&&(*at>=length||text[(*at)++]!=','))return false;
oxi_reply_skip_space(text,length,at);
if(!first&& *at<length&&text[*at]==close)break;
const size_t key= *at,key_end=oxi_reply_name_end(text,length,key);
if(key_end==key||(!first&& !oxi_reply_append(r,&r->texts,", ",2)))return false;
if(!oxi_reply_append_string(r,&r->texts,text+key,key_end-key))return false;
*at=key_end;
oxi_reply_skip_space(text,length,at);
if(*at>=length||text[(*at)++]!=sign|| !oxi_reply_append(r,&r->texts,": ",2))return false;
if(!oxi_reply_literal(r,text,length,at,0))return false;}
++*at;
if(!oxi_reply_append(r,&r->texts,"}",1))return false;
call=oxi_reply_last(r);
call->arguments.length=r->texts.length-call->arguments.start;
return true;}
static void oxi_reply_block_give(ox_llm_reply*r,size_t first){
const size_t count=r->call_count;
for(r->call_count=first;r->call_count<count&& !r->status;){
r->call_count++;
oxi_reply_call*call=oxi_reply_last(r);
oxi_reply_give(r,OX_LLM_REPLY_CALL,r->texts.data+call->name.start,call->name.length);
oxi_reply_give(r,OX_LLM_REPLY_ARGUMENTS,r->texts.data+call->arguments.start,call->arguments.length);
call->announced=r->open=true;
r->made=false;
(void)oxi_reply_call_complete(r);}}
static bool oxi_reply_code_block(ox_llm_reply*r,const char*text,size_t length){
if(!r->open&& !(oxi_reply_call_begin(r)&&oxi_reply_call_name(r,"python",6)))return false;
oxi_reply_trim(&text,&length);
const size_t start=r->texts.length;
if(!oxi_reply_append_word(r,&r->texts,"{\"code\": ")||
 !oxi_reply_append_string(r,&r->texts,text,length)|| !oxi_reply_append(r,&r->texts,"}",1))
return false;
oxi_reply_call*call=oxi_reply_last(r);
call->arguments=oxi_reply_piece_from(r,start);
oxi_reply_give(r,OX_LLM_REPLY_ARGUMENTS,r->texts.data+start,r->texts.length-start);
return oxi_reply_call_complete(r);}
static bool oxi_reply_call_block(ox_llm_reply*r,const char*text,size_t length){
const size_t first=r->call_count,texts=r->texts.length;
const bool gemma=r->state==OXI_REPLY_GEMMA;
size_t at=0;
bool good=true;
if(r->state==OXI_REPLY_CODE)return oxi_reply_code_block(r,text,length);
oxi_reply_skip_space(text,length,&at);
const bool list=at<length&&text[at]=='[';
if(list)at++;
for(bool more=true;more&&good;){
good=oxi_reply_call_begin(r)&&oxi_reply_block_call(r,text,length,&at,gemma);
if(!good)break;
oxi_reply_skip_space(text,length,&at);
more=list&&at<length&&text[at]==',';
if(more)at++;}
if(list&&good)good=at<length&&text[at++]==']';
oxi_reply_skip_space(text,length,&at);
r->open=false;
good=good&&at==length;
for(size_t i=first;i<r->call_count&&good;i++)
good=oxi_reply_is_json(r->texts.data+r->calls[i].arguments.start,r->calls[i].arguments.length);
if(good)
oxi_reply_block_give(r,first);
else{
r->call_count=first;
r->texts.length=texts;}
return good;}
/* >>llm/chat/reply.c */
static void oxi_reply_give(ox_llm_reply*r,ox_llm_reply_part part,const char*bytes,size_t length){
ox_llm_reply_delta delta;
const bool is_text=part==OX_LLM_REPLY_CONTENT||part==OX_LLM_REPLY_REASONING;
if(!r->delta||r->status||(is_text&& !length))return;
delta.part=part;
delta.call=is_text? -1:(int64_t)r->call_count-1;
delta.text.data=bytes;
delta.text.length=(int64_t)length;
r->delta(r->user,&delta);}
static bool oxi_reply_append(ox_llm_reply*r,oxi_reply_text*text,const char*bytes,size_t length){
size_t wanted;
if(r->status)return false;
if(!oxi_add_size(text->length,length,&wanted)||wanted>SIZE_MAX/4)wanted=SIZE_MAX/4;
if(wanted>text->room){
const size_t room=wanted<128?256:wanted*2;
const bool own=text->data&&bytes>=text->data&&bytes<text->data+text->length;
const size_t offset=own?(size_t)(bytes-text->data):0;
char*data=(char*)oxi_realloc(text->data,text->room,room);
if(!data){
r->status=OX_ERR_NOMEM;
return false;}
text->data=data;
text->room=room;
if(own)bytes=data+offset;}
if(length)memcpy(text->data+text->length,bytes,length);
text->length+=length;
return true;}
static bool oxi_reply_append_word(ox_llm_reply*r,oxi_reply_text*text,const char*word){
return oxi_reply_append(r,text,word,strlen(word));}
static bool oxi_reply_is_text(uint32_t state){
return(state&(OXI_REPLY_START|OXI_REPLY_TEXT|OXI_REPLY_THINK|OXI_REPLY_AFTER))!=0;}
static void oxi_reply_give_held(ox_llm_reply*r,size_t end){
const bool thinks=r->state==OXI_REPLY_THINK;
if(end<=r->held)return;
if(oxi_reply_append(r,thinks? &r->reasoning: &r->content,r->raw.data+r->held,end-r->held))
oxi_reply_give(r,thinks?OX_LLM_REPLY_REASONING:OX_LLM_REPLY_CONTENT,r->raw.data+r->held,end-r->held);
r->held=end;}
static size_t oxi_reply_whole(const ox_llm_reply*r,size_t low,size_t end){
for(size_t back=1;back<=3&&back<=end-low;back++){
const unsigned char c=(unsigned char)r->raw.data[end-back];
if((c&0xC0)==0x80)continue;
return c>=0xC2&&c<=0xF4&&back<(c<0xE0?2u:c<0xF0?3u:4u)?end-back:end;}
return end;}
static void oxi_reply_flush(ox_llm_reply*r,size_t before,bool at_mark){
const size_t back=before>3?before -3:0,low=back>r->held?back:r->held;
size_t end=r->at;
if(!(r->state&(OXI_REPLY_TEXT|OXI_REPLY_THINK))||r->behind)return;
while(end>low&&oxi_reply_is_space(r->raw.data[end-1]))end--;
if(end==low)return;
oxi_reply_give_held(r,at_mark||r->ended?end:oxi_reply_whole(r,r->held,end));}
static void oxi_reply_flush_value(ox_llm_reply*r,size_t end,bool ends){
const bool trims=r->state==OXI_REPLY_VALUE;
if(!r->sent|| !(r->state&(OXI_REPLY_VALUE|OXI_REPLY_WORD)))return;
if(trims&&r->sent==r->part&&end>r->part&&r->raw.data[r->part]=='\n')r->sent++;
const size_t low=r->sent;
if(trims&&end>low&&r->raw.data[end-1]=='\n')end--;
if(!ends)end=oxi_reply_whole(r,low,end);
oxi_reply_call_text(r,r->raw.data+low,end-low,ends);
r->sent=end;}
static void oxi_reply_fail(ox_llm_reply*r){
oxi_reply_call_withdraw(r);
r->state=OXI_REPLY_TEXT;
r->held=r->settled;
if(r->after_call)
while(r->held<r->at&&oxi_reply_is_space(r->raw.data[r->held]))r->held++;
r->behind=r->after_call&&r->held==r->at;
if(r->behind)r->state=OXI_REPLY_START;
oxi_reply_flush(r,r->held+3,false);}
static void oxi_reply_enter(ox_llm_reply*r,uint32_t next){
r->state=next;
r->part=r->at;
r->begun=false;
if(oxi_reply_is_text(next)){
r->held=r->settled=r->at;
r->behind=true;}
if(next&(OXI_REPLY_CALLS|OXI_REPLY_NAMED|OXI_REPLY_ARGUMENTS)){
oxi_reply_json_start(&r->json);
r->base=0;
r->member=OXI_REPLY_OTHER;}
if(next==OXI_REPLY_NAME)(void)oxi_reply_call_begin(r);
r->sent=oxi_reply_call_begin_text(r,next)?r->at:0;}
static ox_string oxi_reply_recipient(const char*head,size_t length){
static const char prefix[]="functions.";
ox_string name;
size_t at=0;
while(at+3<=length&&memcmp(head+at,"to=",3)!=0)at++;
name.data=head;
name.length=0;
if(at+3>length)return name;
at+=3;
if(oxi_reply_here(head,length,at,prefix))at+=sizeof prefix-1;
name.data=head+at;
while(at<length&&(unsigned char)head[at]>' '&&head[at]!='<')at++;
name.length=head+at-name.data;
return name;}
static bool oxi_reply_head(ox_llm_reply*r,const char*head,size_t length){
static const char thoughts[]="analysis";
const ox_string to=oxi_reply_recipient(head,length);
bool thinks=oxi_llm_text_is(to,"self");
const bool is_call=(r->format->flags&OXI_REPLY_RECIPIENTS)&&to.length&&
 !oxi_llm_text_is(to,"user")&& !oxi_llm_text_is(to,"assistant");
for(size_t at=0;at+sizeof thoughts-1<=length&& !thinks;at++)
thinks=memcmp(head+at,thoughts,sizeof thoughts-1)==0;
if(!is_call){
oxi_reply_enter(r,thinks?OXI_REPLY_THINK:OXI_REPLY_START);
return true;}
oxi_reply_enter(r,OXI_REPLY_ARGUMENTS);
return oxi_reply_call_begin(r)&&oxi_reply_call_name(r,to.data,(size_t)to.length);}
static bool oxi_reply_leave(ox_llm_reply*r,size_t end,uint32_t next){
const char*text=r->raw.data+r->part;
size_t length=end-r->part;
bool good=true;
switch(r->state){
case OXI_REPLY_NAME:good=oxi_reply_call_name(r,text,length);break;
case OXI_REPLY_ID:oxi_reply_call_id(r,text,length);break;
case OXI_REPLY_KEY:
oxi_reply_trim(&text,&length);
r->key.start=r->texts.length;
good=length&&oxi_reply_append_string(r,&r->texts,text,length);
r->key.length=r->texts.length-r->key.start;
break;
case OXI_REPLY_VALUE:
case OXI_REPLY_WORD:
case OXI_REPLY_DATA:
if(r->sent)
oxi_reply_flush_value(r,end,true);
else
good=oxi_reply_call_parameter(r,text,length,r->state);
break;
case OXI_REPLY_PYTHON:
case OXI_REPLY_GEMMA:
case OXI_REPLY_CODE:return oxi_reply_call_block(r,text,length);
default:break;}
return good&&(next!=OXI_REPLY_AFTER|| !r->open||oxi_reply_call_complete(r));}
static bool oxi_reply_is_all(const ox_llm_reply*r,size_t end){
const char*text=r->raw.data+r->part;
size_t length=end-r->part;
oxi_reply_trim(&text,&length);
return(r->format->flags&OXI_REPLY_ALL_IS_CONTENT)&&length==3&&memcmp(text,"all",3)==0;}
static void oxi_reply_take_mark(ox_llm_reply*r,size_t start,const oxi_reply_mark*mark){
const uint32_t from=r->state;
const size_t before=r->at;
r->at=start;
if(oxi_reply_is_text(from)){
oxi_reply_flush(r,before,true);
r->settled=r->behind?start:r->held;
r->after_call=false;}
r->at=start+strlen(mark->text)-mark->back;
if(from==OXI_REPLY_NAME&&oxi_reply_is_all(r,start)){
oxi_reply_call_withdraw(r);
oxi_reply_enter(r,OXI_REPLY_START);}else if(from==OXI_REPLY_HEAD){
if(!oxi_reply_head(r,r->raw.data+r->part,start-r->part))oxi_reply_fail(r);
 }else if(oxi_reply_leave(r,start,mark->next))
oxi_reply_enter(r,mark->next);
else
oxi_reply_fail(r);}
static const oxi_reply_mark*oxi_reply_find_mark(const ox_llm_reply*r,size_t at,uint32_t states,bool*waits){
const oxi_reply_mark*found=NULL;
const size_t left=r->raw.length-at;
size_t longest=0;
*waits=false;
for(const oxi_reply_mark*mark=r->format->marks;mark->in;mark++){
const size_t length=(mark->in&states)?strlen(mark->text):0;
if(length<=longest||memcmp(mark->text,r->raw.data+at,length<left?length:left)!=0)
continue;
if(length>left){
*waits=true;
continue;}
found=mark;
longest=length;}
return found;}
static uint32_t oxi_reply_states(uint32_t state){
if(state==OXI_REPLY_AFTER)return OXI_REPLY_AFTER|OXI_REPLY_START|OXI_REPLY_TEXT;
return state==OXI_REPLY_START?OXI_REPLY_START|OXI_REPLY_TEXT:state;}
static bool oxi_reply_allows(ox_llm_reply*r,size_t at){
const char c=r->raw.data[at];
const bool space=oxi_reply_is_space(c);
switch(r->state){
case OXI_REPLY_START:
case OXI_REPLY_AFTER:
case OXI_REPLY_THINK:
if(space)return true;
if(r->behind)r->held=at;
r->behind=false;
if(r->state!=OXI_REPLY_THINK)r->state=OXI_REPLY_TEXT;
return true;
case OXI_REPLY_OPEN:
case OXI_REPLY_PARAMETERS:
case OXI_REPLY_GAP:return space;
case OXI_REPLY_NAME:
case OXI_REPLY_ID:return(space||oxi_reply_is_name(&c,1))&&at-r->part<=OXI_REPLY_MOST_NAME;
case OXI_REPLY_HEAD:return c!='\n'&&at-r->part<=OXI_REPLY_MOST_NAME;
case OXI_REPLY_KEY:
case OXI_REPLY_SKIP:return at-r->part<=OXI_REPLY_MOST_NAME;
default:return true;}}
static bool oxi_reply_scan(ox_llm_reply*r){
const size_t before=r->at;
for(size_t at=before;at<r->raw.length;at++){
const uint32_t states=oxi_reply_states(r->state);
bool waits=false;
if(r->starts[(unsigned char)r->raw.data[at]]&states){
const oxi_reply_mark*mark=oxi_reply_find_mark(r,at,states,&waits);
if(waits&& !r->ended){
r->at=at;
oxi_reply_flush(r,before,false);
oxi_reply_flush_value(r,at,false);
return false;}
if(mark){
oxi_reply_take_mark(r,at,mark);
return true;}}
if(!oxi_reply_allows(r,at)){
r->at=at;
oxi_reply_fail(r);
return true;}}
r->at=r->raw.length;
oxi_reply_flush(r,before,false);
oxi_reply_flush_value(r,r->at,false);
return false;}
static bool oxi_reply_look(ox_llm_reply*r){
for(;r->at<r->raw.length;r->at++){
const char c=r->raw.data[r->at];
if(oxi_reply_is_space(c))continue;
const bool second=r->part<r->at&&r->raw.data[r->part]=='[';
if(!second)r->part=r->at;
if(r->state==OXI_REPLY_PYTHON&&c=='['&& !second)continue;
const bool is_json=c=='{';
const size_t part=r->part;
r->at=part;
if(r->state==OXI_REPLY_PYTHON&&is_json)oxi_reply_enter(r,OXI_REPLY_CALLS);
if(r->state==OXI_REPLY_ARGUMENTS&& !is_json){
const oxi_reply_call*call= &r->calls[r->call_count-1];
if((r->format->flags&OXI_REPLY_PYTHON_CODE)&&call->name.length==6&&
 memcmp(r->texts.data+call->name.start,"python",6)==0)
r->state=OXI_REPLY_CODE;}
r->part=part;
r->begun=true;
return true;}
return false;}
static bool oxi_reply_step(ox_llm_reply*r){
bool done;
if(!r->begun&&(r->state&(OXI_REPLY_PYTHON|OXI_REPLY_ARGUMENTS))&& !oxi_reply_look(r))
return false;
if(!(r->state&(OXI_REPLY_CALLS|OXI_REPLY_NAMED|OXI_REPLY_ARGUMENTS)))return oxi_reply_scan(r);
if(!oxi_reply_call_json(r,&done)){
if(!r->status)oxi_reply_fail(r);
return true;}
if(done)oxi_reply_enter(r,OXI_REPLY_AFTER);
return done;}
static void oxi_reply_run(ox_llm_reply*r){
while(!r->status&&oxi_reply_step(r))continue;}
static void oxi_reply_continue(ox_llm_reply*r,const char*prompt){
const oxi_reply_mark*found=NULL;
size_t trimmed=strlen(prompt),longest=0;
const size_t whole=trimmed;
while(trimmed&&oxi_reply_is_space(prompt[trimmed-1]))trimmed--;
for(const oxi_reply_mark*mark=r->format->marks;mark->in;mark++){
const size_t length=strlen(mark->text);
if(!(mark->in&OXI_REPLY_ANY)||mark->back||length<=longest)continue;
if((length<=whole&&memcmp(prompt+whole -length,mark->text,length)==0)||
 (length<=trimmed&&memcmp(prompt+trimmed-length,mark->text,length)==0)){
found=mark;
longest=length;}}
if(found)oxi_reply_enter(r,found->next);}
OX_API ox_llm_reply*ox_llm_reply_open(const ox_llm_reply_desc*desc){
const oxi_reply_format*format= &oxi_reply_formats[OXI_REPLY_FORMATS-1];
if(desc&&desc->format)
format=oxi_reply_format_by_name(desc->format);
else if(desc&&desc->source)
format=oxi_reply_format_by_source(desc->source);
if(!format){
(void)oxi_fail(OX_ERR_ARG,"reply: there is no format '%.60s'",desc->format);
return NULL;}
ox_llm_reply*r=(ox_llm_reply*)oxi_calloc(1,sizeof*r);
if(!r)return NULL;
r->format=format;
r->state=OXI_REPLY_START;
for(const oxi_reply_mark*mark=format->marks;mark->in;mark++)
r->starts[(unsigned char)*mark->text]|=mark->in;
if(!desc)return r;
r->delta=desc->delta;
r->user=desc->user;
r->first_id=desc->first_id;
if(desc->tools&&oxi_json_parse("reply: tools",desc->tools,strlen(desc->tools),&r->tools)){
memset(&r->tools,0,sizeof r->tools);
ox_llm_reply_close(r);
return NULL;}
if(desc->prompt)oxi_reply_continue(r,desc->prompt);
if(!r->status)return r;
ox_llm_reply_close(r);
return NULL;}
OX_API void ox_llm_reply_close(ox_llm_reply*r){
if(!r)return;
oxi_free(r->raw.data,r->raw.room);
oxi_free(r->content.data,r->content.room);
oxi_free(r->reasoning.data,r->reasoning.room);
oxi_free(r->texts.data,r->texts.room);
oxi_free(r->message.data,r->message.room);
oxi_free(r->calls,r->call_room*sizeof*r->calls);
if(r->tools.nodes)oxi_json_free(&r->tools);
oxi_free(r,sizeof*r);}
OX_API ox_status ox_llm_reply_feed(ox_llm_reply*r,const char*bytes,int64_t length){
if(!r||(!bytes&&length))return oxi_fail_missing(r?"reply: the text":"reply: the reply");
if(r->ended)return oxi_fail(OX_ERR_ARG,"reply: more text after its end");
if(r->status)return r->status;
if(!oxi_reply_append(r,&r->raw,bytes,length<0?strlen(bytes):(size_t)length))return r->status;
oxi_reply_run(r);
return r->status;}
OX_API ox_status ox_llm_reply_end(ox_llm_reply*r){
if(!r)return oxi_fail_missing("reply: the reply");
if(r->ended||r->status)return r->status;
r->ended=true;
oxi_reply_run(r);
r->at=r->raw.length;
if(!r->status&&(r->state&OXI_REPLY_BLOCK)&&oxi_reply_leave(r,r->at,OXI_REPLY_AFTER))
oxi_reply_enter(r,OXI_REPLY_AFTER);
if(!r->status&& !oxi_reply_is_text(r->state))oxi_reply_fail(r);
if(!r->status&&(r->state&OXI_REPLY_ANY)&& !r->behind)oxi_reply_give_held(r,r->at);
return r->status;}
static ox_string oxi_reply_string(const char*data,size_t length){
ox_string text;
text.data=data?data:"";
text.length=(int64_t)length;
return text;}
OX_API ox_llm_reply_state ox_llm_reply_get(const ox_llm_reply*r){
ox_llm_reply_state state;
memset(&state,0,sizeof state);
state.content=oxi_reply_string(r?r->content.data:NULL,r?r->content.length:0);
state.reasoning=oxi_reply_string(r?r->reasoning.data:NULL,r?r->reasoning.length:0);
if(!r)return state;
state.calls=(int64_t)r->call_count;
state.format=r->format->name;
state.reasons=r->state==OXI_REPLY_THINK;
return state;}
OX_API ox_llm_reply_call ox_llm_reply_get_call(const ox_llm_reply*r,int64_t index){
ox_llm_reply_call result;
memset(&result,0,sizeof result);
if(!r||index<0||(uint64_t)index>=r->call_count)return result;
const oxi_reply_call*call= &r->calls[index];
result.id=oxi_reply_string(r->texts.data+call->id.start,call->id.length);
result.name=oxi_reply_string(r->texts.data+call->name.start,call->name.length);
result.arguments=oxi_reply_string(r->texts.data+call->arguments.start,call->arguments.length);
result.complete=call->complete;
return result;}
/* >>llm/chat/message.c */
static bool oxi_reply_append_escaped(ox_llm_reply*r,oxi_reply_text*text,const char*bytes,size_t length){
static const char letters[]="\"\\\b\f\n\r\t",escapes[]="\"\\bfnrt";
size_t plain=0,at=0;
bool good=true;
while(at<length&&good){
const unsigned char c=(unsigned char)bytes[at];
const size_t used=oxi_utf8_length((const unsigned char*)bytes+at,length-at);
const char*letter=c?strchr(letters,c):NULL;
char escape[8];
if(used&&c>=0x20&& !letter){
at+=used;
continue;}
if(!used)
(void)snprintf(escape,sizeof escape,"\357\277\275");
else if(letter)
(void)snprintf(escape,sizeof escape,"\\%c",escapes[letter-letters]);
else
(void)snprintf(escape,sizeof escape,"\\u%04x",c);
good=oxi_reply_append(r,text,bytes+plain,at-plain)&&oxi_reply_append_word(r,text,escape);
plain= ++at;}
return good&&oxi_reply_append(r,text,bytes+plain,length-plain);}
static bool oxi_reply_append_string(ox_llm_reply*r,oxi_reply_text*text,const char*bytes,size_t length){
return oxi_reply_append(r,text,"\"",1)&&(!length||oxi_reply_append_escaped(r,text,bytes,length))&&
 oxi_reply_append(r,text,"\"",1);}
static void oxi_reply_member_text(ox_llm_reply*r,const char*key,const char*bytes,size_t length){
oxi_reply_text*out= &r->message;
(void)(oxi_reply_append_word(r,out,", \"")&&oxi_reply_append_word(r,out,key)&&
 oxi_reply_append_word(r,out,"\": ")&&oxi_reply_append_string(r,out,bytes,length));}
static void oxi_reply_message_call(ox_llm_reply*r,const oxi_reply_call*call){
oxi_reply_text*out= &r->message;
const char*texts=r->texts.data,*arguments=texts+call->arguments.start;
(void)(oxi_reply_append_word(r,out,"{\"id\": ")&&
 oxi_reply_append_string(r,out,texts+call->id.start,call->id.length)&&
 oxi_reply_append_word(r,out,", \"type\": \"function\", \"function\": {\"name\": ")&&
 oxi_reply_append_string(r,out,texts+call->name.start,call->name.length)&&
 oxi_reply_append_word(r,out,", \"arguments\": ")&&(r->format->flags&OXI_REPLY_TEXT_ARGUMENTS
 ?oxi_reply_append_string(r,out,arguments,call->arguments.length)
 :oxi_reply_append(r,out,arguments,call->arguments.length))&&oxi_reply_append_word(r,out,"}}"));}
OX_API const char*ox_llm_reply_message(ox_llm_reply*r,int64_t*length){
if(length)*length=0;
if(!r){
(void)oxi_fail_missing("reply: the reply");
return NULL;}
oxi_reply_text*out= &r->message;
const size_t count=r->call_count-r->open;
out->length=0;
(void)oxi_reply_append_word(r,out,"{\"role\": \"assistant\"");
if(count&& !r->content.length&&(r->format->flags&OXI_REPLY_NULL_CONTENT))
(void)oxi_reply_append_word(r,out,", \"content\": null");
else
oxi_reply_member_text(r,"content",r->content.data,r->content.length);
if(r->reasoning.length){
oxi_reply_member_text(r,"reasoning_content",r->reasoning.data,r->reasoning.length);
if(r->format->flags&OXI_REPLY_THINKING)
oxi_reply_member_text(r,"thinking",r->reasoning.data,r->reasoning.length);}
if(count)(void)oxi_reply_append_word(r,out,", \"tool_calls\": [");
for(size_t i=0;i<count;i++){
if(i)(void)oxi_reply_append_word(r,out,", ");
oxi_reply_message_call(r,&r->calls[i]);}
if(count)(void)oxi_reply_append_word(r,out,"]");
if(!oxi_reply_append(r,out,"}",2))return NULL;
if(length)*length=(int64_t)out->length-1;
return out->data;}
/* >>llm/generate.c */
typedef struct oxi_generation{
ox_llm_context*context;
const ox_tokenizer*tokenizer;
const ox_llm_generate_desc*desc;
ox_llm_generate_result result;
int32_t*prompt;
int64_t prompt_room;
float*logits;
ox_llm_sampler*sampler;}oxi_generation;
static ox_status oxi_generate_prepare(oxi_generation*g,const char*prompt){
ox_tokenizer_encode_desc encode;
encode.bare=true;
encode.parse_special=g->desc->parse_special;
const char*text=prompt?prompt:"";
const int64_t own=ox_tokenizer_encode(g->tokenizer,text,-1,&encode,NULL,0);
if(own<0)return oxi_llm_error();
int32_t before=g->context->pending;
if(g->context->length==0&&before<0&&(g->tokenizer->add_bos||own==0)){
before=ox_tokenizer_role(g->tokenizer,OX_TOKEN_ROLE_BOS);}
const int64_t extra=before>=0;
if(own+extra==0)
return oxi_fail(OX_ERR_ARG,"llm: no prompt, and nothing to go on from: %s",
 g->context->length>0?"what is in the context was not generated":"the model has no begin-of-text token");
g->prompt=(int32_t*)oxi_alloc((size_t)(own+extra)*sizeof*g->prompt);
if(!g->prompt)return OX_ERR_NOMEM;
g->prompt_room=g->result.prompt_tokens=own+extra;
g->prompt[0]=before;
return ox_tokenizer_encode(g->tokenizer,text,-1,&encode,g->prompt+extra,own)<0?oxi_llm_error():OX_OK;}
static ox_llm_stop oxi_generate_emit(const oxi_generation*g,int32_t previous,int32_t token){
const ox_llm_generate_desc*desc=g->desc;
const ox_string piece=ox_tokenizer_piece(g->tokenizer,previous,token);
if(desc->text&& !desc->text(desc->user,piece.data,piece.length,token))return OX_LLM_STOP_CALLER;
if(!desc->past_end&&ox_tokenizer_is_end(g->tokenizer,token))return OX_LLM_STOP_END;
if(desc->steps>0&&g->result.new_tokens>=desc->steps)return OX_LLM_STOP_STEPS;
return g->context->length>=g->context->capacity?OX_LLM_STOP_CONTEXT:OX_LLM_STOP_NONE;}
static ox_status oxi_generate_run(oxi_generation*g){
ox_llm_context*context=g->context;
const int64_t vocabulary=context->model->config.vocabulary;
int32_t previous=g->prompt[g->result.prompt_tokens-1];
double clock=oxi_now();
ox_status status=ox_llm_decode(context,g->prompt,g->result.prompt_tokens,g->logits);
g->result.prompt_seconds=oxi_now()-clock;
clock+=g->result.prompt_seconds;
while(!status&& !g->result.stop){
const int32_t token=ox_llm_sampler_pick(g->sampler,g->logits,vocabulary);
if(token<0)return oxi_llm_error();
g->result.new_tokens++;
context->pending=token;
g->result.stop=oxi_generate_emit(g,previous,token);
if(!g->result.stop)status=ox_llm_decode_one(context,token,g->logits);
previous=token;
g->result.new_seconds=oxi_now()-clock;}
return status;}
OX_API ox_status ox_llm_generate(ox_llm_context*context,const char*prompt,
 const ox_llm_generate_desc*desc,ox_llm_generate_result*result){
ox_llm_generate_desc zero;
memset(&zero,0,sizeof zero);
if(result)memset(result,0,sizeof*result);
if(!context)return oxi_fail_missing("llm: the context");
oxi_generation g;
memset(&g,0,sizeof g);
g.context=context;
g.desc=desc?desc: &zero;
const size_t logits_bytes=(size_t)context->model->config.vocabulary*sizeof*g.logits;
g.tokenizer=ox_llm_tokenizer(context->model);
g.sampler=g.tokenizer?ox_llm_sampler_open(&g.desc->sampling):NULL;
g.logits=g.sampler?(float*)oxi_alloc(logits_bytes):NULL;
ox_status status=g.logits?oxi_generate_prepare(&g,prompt):oxi_llm_error();
if(!status)status=oxi_generate_run(&g);
oxi_free(g.prompt,(size_t)g.prompt_room*sizeof*g.prompt);
oxi_free(g.logits,logits_bytes);
ox_llm_sampler_close(g.sampler);
if(result)*result=g.result;
return status;}
/* >>llm/gguf/gguf_writer.c */
#define OXI_GGUF_NAME_READ 63
struct ox_gguf_writer{
oxi_output output;
ox_file_entry*entries;
int64_t count,next;
uint64_t align;};
static void oxi_gguf_put(oxi_output*out,uint64_t value,int bytes){
unsigned char field[8];
for(int i=0;i<8;i++)field[i]=(unsigned char)(value>>(8*i));
oxi_output_write(out,field,(size_t)bytes);}
static void oxi_gguf_put_text(oxi_output*out,const char*text,int64_t length){
oxi_gguf_put(out,(uint64_t)length,8);
oxi_output_write(out,text,(size_t)length);}
static int64_t oxi_gguf_text_length(const ox_gguf_pair*pair){
return pair->count<0?(int64_t)strlen((const char*)pair->value):pair->count;}
static void oxi_gguf_put_numbers(oxi_output*out,int type,const void*numbers,int64_t count){
size_t bytes=(size_t)oxi_gguf_types[type].bytes;
if(!oxi_big_endian_host()){
oxi_output_write(out,numbers,bytes*(size_t)count);
return;}
for(int64_t i=0;i<count;i++){
unsigned char number[8];
oxi_copy_swapped(number,(const char*)numbers+(size_t)i*bytes,bytes,bytes);
oxi_output_write(out,number,bytes);}}
static void oxi_gguf_put_value(oxi_output*out,const ox_gguf_pair*pair){
if(pair->type==OX_GGUF_STRING){
oxi_gguf_put_text(out,(const char*)pair->value,oxi_gguf_text_length(pair));
 }else if(pair->type==OX_GGUF_ARRAY){
oxi_gguf_put(out,(uint64_t)pair->element,4);
oxi_gguf_put(out,(uint64_t)pair->count,8);
if(pair->element==OX_GGUF_STRING){
const ox_string*texts=(const ox_string*)pair->value;
for(int64_t i=0;i<pair->count;i++)oxi_gguf_put_text(out,texts[i].data,texts[i].length);
 }else if(pair->element==OX_GGUF_ARRAY){
const ox_gguf_pair*inner=(const ox_gguf_pair*)pair->value;
for(int64_t i=0;i<pair->count;i++)oxi_gguf_put_value(out,&inner[i]);}else{
oxi_gguf_put_numbers(out,(int)pair->element,pair->value,pair->count);}}else{
oxi_gguf_put_numbers(out,(int)pair->type,pair->value,1);}}
static void oxi_gguf_copy_array(oxi_output*out,const oxi_meta_array*array){
oxi_gguf_put(out,(uint64_t)array->type,4);
oxi_gguf_put(out,(uint64_t)array->count,8);
for(int64_t i=0;array->texts&&i<array->count;i++)
oxi_gguf_put_text(out,array->texts[i].data,array->texts[i].length);
for(int64_t i=0;array->inner&&i<array->count;i++)oxi_gguf_copy_array(out,&array->inner[i]);
if(array->type!=OXI_GGUF_STRING&&array->type!=OXI_GGUF_ARRAY)
oxi_output_write(out,array->data,(size_t)array->count*(size_t)oxi_gguf_types[array->type].bytes);}
static void oxi_gguf_copy_pair(oxi_output*out,const oxi_meta_item*item){
int type=item->type==OX_FILE_META_STRING?OXI_GGUF_STRING:item->type==OX_FILE_META_ARRAY?OXI_GGUF_ARRAY
 :(int)item->stored;
oxi_gguf_put_text(out,item->key,item->key_length);
oxi_gguf_put(out,(uint64_t)type,4);
if(type==OXI_GGUF_STRING){
oxi_gguf_put_text(out,(const char*)item->data,item->value.i);}else if(type==OXI_GGUF_ARRAY){
oxi_gguf_copy_array(out,(const oxi_meta_array*)item->data);
 }else if(item->type==OX_FILE_META_FLOAT&&oxi_gguf_types[type].bytes==4){
float narrow=(float)item->value.f;
oxi_gguf_put_numbers(out,type,&narrow,1);}else{
oxi_gguf_put(out,(uint64_t)item->value.i,oxi_gguf_types[type].bytes);}}
static bool oxi_gguf_gives(const ox_gguf_desc*desc,const oxi_meta_item*item){
for(int64_t i=0;i<desc->pair_count;i++)
if(strlen(desc->pairs[i].key)==item->key_length&&memcmp(desc->pairs[i].key,item->key,item->key_length)==0)
return true;
return false;}
static bool oxi_gguf_is_value(const ox_gguf_pair*pair,int depth){
if((unsigned)pair->type>=OXI_GGUF_TYPES)return false;
if(pair->type==OX_GGUF_STRING)return pair->value||pair->count==0;
if(pair->type!=OX_GGUF_ARRAY)return pair->value!=NULL;
if((unsigned)pair->element>=OXI_GGUF_TYPES||pair->count<0||(pair->count>0&& !pair->value))
return false;
for(int64_t i=0;i<pair->count&&pair->element==OX_GGUF_STRING;i++){
const ox_string*text=(const ox_string*)pair->value +i;
if(text->length<0||(text->length>0&& !text->data))return false;}
for(int64_t i=0;i<pair->count&&pair->element==OX_GGUF_ARRAY;i++){
const ox_gguf_pair*inner=(const ox_gguf_pair*)pair->value +i;
if(depth+1>=OXI_GGUF_NEST_MOST||inner->type!=OX_GGUF_ARRAY|| !oxi_gguf_is_value(inner,depth+1))
return false;}
return true;}
static ox_status oxi_gguf_check_pairs(const ox_gguf_desc*desc,uint64_t*align){
const int64_t count=desc->pair_count;
if(count<0||count>INT32_MAX||(count>0&& !desc->pairs))
return oxi_fail(OX_ERR_ARG,"gguf_writer_open: no pairs");
size_t bytes=(size_t)count*sizeof(const char*);
const char**keys=(const char**)oxi_alloc(bytes);
if(!keys)return OX_ERR_NOMEM;
for(int64_t i=0;i<count;i++)keys[i]=desc->pairs[i].key;
ox_status status=oxi_check_names("gguf_writer_open",keys,count);
oxi_free(keys,bytes);
int64_t given=ox_file_meta_int(desc->like,"general.alignment",32);
for(int64_t i=0;i<count&&status==OX_OK;i++){
const ox_gguf_pair*pair= &desc->pairs[i];
if(!oxi_is_utf8(pair->key)|| !oxi_gguf_is_value(pair,0))
status=oxi_fail(OX_ERR_ARG,"gguf_writer_open: key %s: not UTF-8, or its value not of its type",
 OXI_QUOTE(pair->key));
else if(strcmp(pair->key,"general.alignment")==0)
given=pair->type==OX_GGUF_U32?(int64_t)*(const uint32_t*)pair->value:0;}
if(status==OX_OK&&(given<1||given>OXI_GGUF_ALIGN_MOST||(given&(given-1))))
status=oxi_fail(OX_ERR_ARG,"gguf_writer_open: general.alignment must be a u32, a power of 2 of at "
 "most 2^20");
*align=(uint64_t)given;
return status;}
static ox_status oxi_gguf_check_entries(const ox_gguf_desc*desc,ox_file_entry*entries){
const char**names=(const char**)oxi_alloc((size_t)desc->count*sizeof*names);
if(!names)return OX_ERR_NOMEM;
for(int64_t i=0;i<desc->count;i++)names[i]=desc->entries[i].name;
ox_status status=oxi_check_names("gguf_writer_open",names,desc->count);
for(int64_t i=0;i<desc->count&&status==OX_OK;i++){
ox_file_entry*entry= &entries[i];
size_t bytes=0;
*entry=desc->entries[i];
entry->name=NULL;
status=oxi_check_shape("gguf_writer_open",entry->dtype,entry->ndim,entry->shape,&bytes);
if(status!=OX_OK)break;
entry->bytes=(int64_t)bytes;
if(strlen(names[i])>OXI_GGUF_NAME_READ|| !oxi_is_utf8(names[i]))
status=oxi_fail(OX_ERR_ARG,"gguf_writer_open: name %s is not UTF-8, or has more than %d bytes",
 OXI_QUOTE(names[i]),OXI_GGUF_NAME_READ);
else if(oxi_info(entry->dtype)->gguf_id<0)
status=oxi_fail(OX_ERR_UNSUPPORTED,"gguf_writer_open: tensor %s: the format has no %s",
 OXI_QUOTE(names[i]),ox_dtype_name(entry->dtype));
else if(entry->ndim>OXI_GGUF_DIMS_MOST)
status=oxi_fail(OX_ERR_SHAPE,"gguf_writer_open: tensor %s has %d dims (at most %d)",
 OXI_QUOTE(names[i]),entry->ndim,OXI_GGUF_DIMS_MOST);}
oxi_free(names,(size_t)desc->count*sizeof*names);
return status;}
static uint64_t oxi_gguf_padding(const ox_gguf_writer*w,uint64_t bytes){
return(w->align-bytes%w->align)%w->align;}
static void oxi_gguf_put_entry(ox_gguf_writer*w,const char*name,const ox_file_entry*entry,uint64_t*offset){
oxi_output*out= &w->output;
oxi_gguf_put_text(out,name,(int64_t)strlen(name));
oxi_gguf_put(out,entry->ndim?(uint64_t)entry->ndim:1,4);
for(int d=entry->ndim-1;d>=0;d--)oxi_gguf_put(out,(uint64_t)entry->shape[d],8);
if(entry->ndim==0)oxi_gguf_put(out,1,8);
oxi_gguf_put(out,(uint64_t)oxi_info(entry->dtype)->gguf_id,4);
oxi_gguf_put(out,*offset,8);
*offset+=(uint64_t)entry->bytes+oxi_gguf_padding(w,(uint64_t)entry->bytes);}
static void oxi_gguf_put_directory(ox_gguf_writer*w,const ox_gguf_desc*desc){
oxi_output*out= &w->output;
uint64_t offset=0,pairs=(uint64_t)desc->pair_count;
size_t old=desc->like?desc->like->meta_count:0;
for(size_t i=0;i<old;i++)pairs+= !oxi_gguf_gives(desc,&desc->like->metas[i]);
oxi_output_write(out,"GGUF",4);
oxi_gguf_put(out,3,4);
oxi_gguf_put(out,(uint64_t)w->count,8);
oxi_gguf_put(out,pairs,8);
for(size_t i=0;i<old;i++)
if(!oxi_gguf_gives(desc,&desc->like->metas[i]))oxi_gguf_copy_pair(out,&desc->like->metas[i]);
for(int64_t i=0;i<desc->pair_count;i++){
oxi_gguf_put_text(out,desc->pairs[i].key,(int64_t)strlen(desc->pairs[i].key));
oxi_gguf_put(out,(uint64_t)desc->pairs[i].type,4);
oxi_gguf_put_value(out,&desc->pairs[i]);}
for(int64_t i=0;i<w->count;i++)
oxi_gguf_put_entry(w,desc->entries[i].name,&w->entries[i],&offset);
oxi_output_fill(out,0,(size_t)oxi_gguf_padding(w,out->written));}
static void oxi_gguf_writer_free(ox_gguf_writer*w){
oxi_output_drop(&w->output);
oxi_free(w->entries,(size_t)w->count*sizeof*w->entries);
oxi_free(w,sizeof*w);}
OX_API ox_gguf_writer*ox_gguf_writer_open(const char*path,const ox_gguf_desc*desc){
if(!desc||desc->count<0||desc->count>INT32_MAX||(desc->count>0&& !desc->entries)){
(void)oxi_fail(OX_ERR_ARG,"gguf_writer_open: no tensors");
return NULL;}
ox_gguf_writer*w=(ox_gguf_writer*)oxi_calloc(1,sizeof*w);
if(!w)return NULL;
w->count=desc->count;
w->entries=(ox_file_entry*)oxi_alloc((size_t)w->count*sizeof*w->entries);
ox_status status=w->entries?OX_OK:OX_ERR_NOMEM;
if(status==OX_OK)status=oxi_gguf_check_pairs(desc,&w->align);
if(status==OX_OK)status=oxi_gguf_check_entries(desc,w->entries);
if(status==OX_OK)status=oxi_output_open(&w->output,"gguf_writer_open",path);
if(status==OX_OK){
oxi_gguf_put_directory(w,desc);
status=w->output.status;}
if(status==OX_OK)return w;
oxi_gguf_writer_free(w);
return NULL;}
OX_API ox_status ox_gguf_writer_put(ox_gguf_writer*w,ox_tensor*t){
if(!w|| !t)return oxi_fail(OX_ERR_ARG,"gguf_writer_put: no %s",w?"tensor":"writer");
if(w->output.status!=OX_OK)return w->output.status;
if(w->next==w->count)
return oxi_fail(OX_ERR_ARG,"gguf_writer_put: all %lld tensors are written",(long long)w->count);
const ox_file_entry*entry= &w->entries[w->next];
bool same=t->ndim==entry->ndim;
for(int d=0;same&&d<t->ndim;d++)same=t->shape[d]==entry->shape[d];
if(!same||t->dtype!=entry->dtype)
return oxi_fail(same?OX_ERR_DTYPE:OX_ERR_SHAPE,
 "gguf_writer_put: tensor %lld is %s%s, the directory has another dtype or shape",
 (long long)w->next,ox_dtype_name(t->dtype),oxi_shape_text(t->ndim,t->shape));
ox_tensor*whole=oxi_writable("gguf_writer_put",t);
if(!whole)return ox_error();
oxi_output_tensor(&w->output,whole);
oxi_output_fill(&w->output,0,(size_t)oxi_gguf_padding(w,(uint64_t)entry->bytes));
ox_release(whole);
w->next++;
return w->output.status;}
OX_API ox_status ox_gguf_writer_close(ox_gguf_writer*w){
if(!w)return OX_OK;
ox_status status=w->output.status;
if(status==OX_OK&&w->next<w->count)
status=oxi_fail(OX_ERR_ARG,"gguf_writer_close: %lld of %lld tensors were put; the file is dropped",
 (long long)w->next,(long long)w->count);
if(status==OX_OK)status=oxi_output_finish(&w->output);
if(status==OX_OK)status=oxi_output_rename(&w->output);
oxi_gguf_writer_free(w);
return status;}
/* >>llm/convert/convert.c */
static bool oxi_llm_stays_f32(const char*name,int ndim){
static const char*const endings[]={"_norm.weight","ffn_gate_inp.weight","position_embd.weight",
 "token_types.weight","attn_rel_b.weight",".bias"};
if(ndim<2)return true;
for(size_t i=0;i<sizeof endings/sizeof*endings;i++)
if(oxi_ends_with(name,endings[i]))return true;
return false;}
static ox_dtype oxi_llm_convert_dtype(const ox_file_entry*entry,ox_dtype asked){
if(oxi_info(entry->dtype)->cls!=OX_CLASS_FLOAT)return entry->dtype;
if(oxi_llm_stays_f32(entry->name,entry->ndim))return OX_F32;
if(asked==OX_DTYPE_NONE)return entry->dtype==OX_F64?OX_F32:entry->dtype;
if(asked==OX_Q8_0&&entry->shape[entry->ndim-1]%32)return OX_F16;
return asked;}
static uint32_t oxi_llm_file_type(ox_dtype dtype){
return dtype==OX_F16?1:dtype==OX_Q8_0?7:dtype==OX_BF16?32:dtype==OX_MXFP4?38:0;}
typedef struct oxi_llm_conversion{
ox_file*file;
const ox_llm_convert_desc*desc;
ox_file_entry*entries;
int64_t count;
ox_gguf_pair pairs[4];
int64_t pair_count;
ox_tokenizer*tokenizer;
oxi_tokenizer_fact_list facts;
ox_gguf_pair*all;
size_t all_count;}oxi_llm_conversion;
static ox_status oxi_llm_convert_entries(oxi_llm_conversion*work,ox_dtype*most){
int64_t bytes[64],largest=0;
memset(bytes,0,sizeof bytes);
*most=OX_F32;
for(int64_t i=0;i<work->count;i++){
ox_file_entry*entry= &work->entries[i];
const ox_status status=ox_file_get_entry(work->file,i,entry);
if(status!=OX_OK)return status;
if(entry->dtype==OX_DTYPE_NONE)continue;
entry->dtype=oxi_llm_convert_dtype(entry,work->desc->dtype);
if((unsigned)entry->dtype>=64||entry->ndim<2)continue;
bytes[entry->dtype]+=entry->bytes;
if(bytes[entry->dtype]>largest){
largest=bytes[entry->dtype];
*most=entry->dtype;}}
return OX_OK;}
static ox_status oxi_llm_convert_put(oxi_llm_conversion*work,ox_gguf_writer*writer,int64_t i){
const ox_llm_convert_desc*desc=work->desc;
const ox_file_entry*entry= &work->entries[i];
if(desc->progress&& !desc->progress(desc->user,entry->name,i,work->count))
return oxi_fail(OX_ERR_ARG,"llm_convert: stopped at tensor %s",OXI_QUOTE(entry->name));
ox_scope scope=ox_scope_begin();
ox_tensor*t=ox_file_tensor_at(work->file,i);
if(t&&t->dtype!=entry->dtype)t=ox_cast(t,entry->dtype);
const ox_status status=t?ox_gguf_writer_put(writer,t):oxi_llm_error();
ox_scope_end(&scope);
return status;}
static void oxi_llm_add_pair(oxi_llm_conversion*work,const char*key,ox_gguf_type type,const void*value){
ox_gguf_pair*pair= &work->pairs[work->pair_count++];
memset(pair,0,sizeof*pair);
pair->key=key;
pair->type=type;
pair->count=type==OX_GGUF_STRING? -1:0;
pair->value=value;}
static ox_status oxi_llm_convert_tokenizer(oxi_llm_conversion*work){
const bool clear=ox_error()==OX_OK;
if(ox_file_meta_find(work->file,"tokenizer.ggml.model").type!=OX_FILE_META_NONE)return OX_OK;
ox_tokenizer*tokenizer=oxi_llm_open_tokenizer(work->file);
ox_status status=tokenizer?oxi_tokenizer_facts(tokenizer,&work->facts):ox_error();
work->tokenizer=tokenizer;
if(tokenizer&&status==OX_OK)return OX_OK;
if(status!=OX_OK&&status!=OX_ERR_UNSUPPORTED)return status;
if(clear)ox_error_clear();
work->facts.count=0;
oxi_llm_add_pair(work,"tokenizer.ggml.model",OX_GGUF_STRING,"no_vocab");
return OX_OK;}
static ox_status oxi_llm_convert_pairs(oxi_llm_conversion*work,const uint32_t*type){
static const uint32_t version=2;
if(work->desc->name)oxi_llm_add_pair(work,"general.name",OX_GGUF_STRING,work->desc->name);
if(work->desc->dtype!=OX_DTYPE_NONE||strcmp(ox_file_format(work->file),"gguf")!=0){
oxi_llm_add_pair(work,"general.file_type",OX_GGUF_U32,type);
oxi_llm_add_pair(work,"general.quantization_version",OX_GGUF_U32,&version);}
const ox_status status=oxi_llm_convert_tokenizer(work);
if(status!=OX_OK||work->facts.count==0)return status;
work->all_count=work->facts.count+(size_t)work->pair_count;
work->all=(ox_gguf_pair*)oxi_alloc(work->all_count*sizeof*work->all);
if(!work->all)return OX_ERR_NOMEM;
memcpy(work->all,work->facts.pairs,work->facts.count*sizeof*work->all);
memcpy(work->all+work->facts.count,work->pairs,(size_t)work->pair_count*sizeof*work->all);
return OX_OK;}
static ox_status oxi_llm_convert_write(oxi_llm_conversion*work,const char*to){
ox_dtype most;
ox_gguf_desc desc;
ox_status status=oxi_llm_convert_entries(work,&most);
const uint32_t type=oxi_llm_file_type(most);
if(status==OX_OK)status=oxi_llm_convert_pairs(work,&type);
if(status!=OX_OK)return status;
memset(&desc,0,sizeof desc);
desc.like=work->file;
desc.pairs=work->all?work->all:work->pairs;
desc.pair_count=work->all?(int64_t)work->all_count:work->pair_count;
desc.entries=work->entries;
desc.count=work->count;
ox_gguf_writer*writer=ox_gguf_writer_open(to,&desc);
if(!writer)return oxi_llm_error();
for(int64_t i=0;i<work->count&&status==OX_OK;i++)
status=oxi_llm_convert_put(work,writer,i);
if(status==OX_OK)return ox_gguf_writer_close(writer);
oxi_gguf_writer_free(writer);
return status;}
OX_API ox_status ox_llm_convert(const char*from,const char*to,const ox_llm_convert_desc*desc){
ox_llm_convert_desc zero;
oxi_llm_conversion work;
memset(&zero,0,sizeof zero);
memset(&work,0,sizeof work);
work.desc=desc?desc: &zero;
const ox_dtype dtype=work.desc->dtype;
if(dtype!=OX_DTYPE_NONE&&dtype!=OX_F32&&dtype!=OX_F16&&dtype!=OX_BF16&&dtype!=OX_Q8_0)
return oxi_fail(OX_ERR_UNSUPPORTED,"llm_convert: dtype %s: F32, F16, BF16 and Q8_0 are written",
 ox_dtype_name(dtype));
if(!to|| !*to)return oxi_fail(OX_ERR_ARG,"llm_convert: no path to write to");
oxi_llm_source*source=oxi_llm_source_open(from,NULL);
if(!source)return oxi_llm_error();
work.file=oxi_llm_source_file(source);
work.count=ox_file_count(work.file);
const size_t bytes=(size_t)work.count*sizeof*work.entries;
work.entries=(ox_file_entry*)oxi_alloc(bytes);
const ox_status status=work.entries?oxi_llm_convert_write(&work,to):OX_ERR_NOMEM;
oxi_free(work.entries,bytes);
oxi_free(work.all,work.all_count*sizeof*work.all);
oxi_tokenizer_facts_free(&work.facts);
ox_tokenizer_close(work.tokenizer);
oxi_llm_source_close(source);
return status;}
/* >>llm/quantize/blocks.c */
typedef void(*oxi_write_blocks)(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p);
typedef struct oxi_block_writer{
ox_dtype dtype;
float spread;
oxi_write_blocks write;
oxi_k_plan plain,weighted;}oxi_block_writer;
static void oxi_weigh_plainly(const float*x,float mean,float*weight){
const float size=sqrtf(mean);
for(int i=0;i<256;i++)weight[i]=size +fabsf(x[i]);}
static void oxi_weights_finish(float*weight){
float most=0;
for(int i=0;i<256;i++)most=weight[i]>most?weight[i]:most;
const float scale=most>0?1/most:0,floor=most>0?1e-4f:1;
for(int i=0;i<256;i++)weight[i]=weight[i]*scale +floor;}
static void oxi_weigh(const float*x,const float*importance,int count,float spread,float*out){
float squares=0,most=0,*weight=out+256;
for(int i=0;i<256;i++)out[i]=i<count?x[i]:0;
for(int i=0;i<256;i++)squares+=fabsf(out[i])<1e9f?out[i]*out[i]:0;
const float mean=squares/(float)count;
for(int i=0;importance&&i<count;i++)most=importance[i]>most?importance[i]:most;
if(!(most>0)){
oxi_weigh_plainly(out,mean,weight);}else{
for(int i=0;i<256;i++){
const float share=i<count?importance[i]/most:0;
weight[i]=spread>0?share*sqrtf(spread*mean+out[i]*out[i]):share;}}
for(int i=0;i<256;i++)weight[i]=fabsf(out[i])<1e9f?weight[i]:0;
oxi_weights_finish(weight);}
static unsigned oxi_take_blocks(const float*x,float*y){
unsigned bad=0;
memcpy(y,x,512*sizeof*y);
for(int b=0;b<8;b++){
float low,high;
if(oxi_find_range(32,x+32*b,&low,&high)&&low> -1e9f&&high<1e9f)continue;
memset(y+32*b,0,32*sizeof*y);
bad|=1u<<b;}
return bad;}
static void oxi_code_block(const float*x,float d,float least,float most,uint8_t*code){
const float inverse=d!=0?1/d:0;
for(int i=0;i<32;i++)code[i]=(uint8_t)(int)oxi_nearest_code((x[i]-least)*inverse,most);}
static void oxi_write_centered(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
float y[512];
uint8_t code[32];
oxi_runs r;
const unsigned bad=oxi_take_blocks(x,y);
oxi_runs_begin(&r,plan,y);
oxi_runs_search(&r);
for(int b=0;b<blocks;b++,p +=plan->bytes){
const float d=oxi_as_half(r.scale[b]);
oxi_code_block(y+32*b,d,-plan->zero*d,r.most,code);
oxi_put_half(p,bad>>b&1?NAN:d);
oxi_store_codes_32(code,plan->bits,p +2);}}
static void oxi_write_above_least(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
float y[512],z[512],middle[8];
uint8_t code[32];
oxi_runs r;
const unsigned bad=oxi_take_blocks(x,y);
memcpy(z,y,sizeof z);
for(int b=0;b<8;b++){
float low,high;
(void)oxi_find_range(32,y+32*b,&low,&high);
middle[b]=0.5f*(low+high);
for(int i=0;i<32;i++)z[32*b+i]-=middle[b];}
oxi_runs_begin(&r,plan,z);
oxi_runs_search(&r);
for(int b=0;b<blocks;b++,p +=plan->bytes){
const float d=oxi_as_half(r.scale[b]);
const float least=oxi_as_half(r.low[b]-r.least[b]+middle[b]);
oxi_code_block(y+32*b,d,least,r.most,code);
oxi_put_half(p,bad>>b&1?NAN:d);
oxi_put_half(p +2,bad>>b&1?NAN:least);
oxi_store_codes_32(code,plan->bits,p +4);}}
static void oxi_write_q45_k(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
(void)blocks;
oxi_quantize_q45_k(plan,x,p);}
static void oxi_write_q6_k(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
(void)blocks;
oxi_quantize_q6_k(plan,x,p);}
static void oxi_store_codes_2(const uint8_t*code,uint8_t*p){
for(int i=0;i<64;i++){
const uint8_t*c=code +i/32*128+i%32;
p[i]=(uint8_t)((c[0]&3)|(c[32]&3)<<2|(c[64]&3)<<4|(c[96]&3)<<6);}}
static void oxi_write_q2_k(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
oxi_k_block b;
uint8_t code[256];
(void)blocks;
memset(p,0,(size_t)plan->bytes);
const bool found=oxi_k_find(plan,x,&b,code);
oxi_put_half(p +80,found?b.d:NAN);
if(!found)return;
oxi_put_half(p +82,b.dmin);
for(int j=0;j<16;j++)
p[j]=(uint8_t)((int)b.scale_code[j/8][j%8]|(int)b.least_code[j/8][j%8]<<4);
oxi_store_codes_2(code,p +16);}
static void oxi_write_q3_k(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
oxi_k_block b;
uint8_t code[256];
(void)blocks;
memset(p,0,(size_t)plan->bytes);
const bool found=oxi_k_find(plan,x,&b,code);
oxi_put_half(p +108,found?b.d:NAN);
if(!found)return;
for(int j=0;j<16;j++){
const int scale=(int)b.scale_code[j/8][j%8]+32;
p[96+j%8]|=(uint8_t)((scale&15)<<j/8*4);
p[104+j%4]|=(uint8_t)(scale>>4<<j/4*2);}
for(int i=0;i<256;i++)p[i%32]|=(uint8_t)(code[i]>>2<<i/32);
oxi_store_codes_2(code,p +32);}
static uint8_t oxi_mxfp4_code(float x,float inverse){
const float v=fabsf(x)*inverse;
const int code=(v>0.5f)+(v>1.5f)+(v>2.5f)+(v>3.5f)+(v>5)+(v>7)+(v>10);
return(uint8_t)(code>0&&x<0?code|8:code);}
static float oxi_mxfp4_error(const float*x,const float*weight,int power){
const float inverse=ldexpf(1,-power),half=ldexpf(1,power);
float sum=0;
for(int i=0;i<32;i++){
const float off=half*(float)oxi_table_e2m1[oxi_mxfp4_code(x[i],inverse)]-x[i];
sum+=weight[i]*off*off;}
return sum;}
static void oxi_write_mxfp4(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
for(int b=0;b<blocks;b++,x+=32,p +=OXI_BYTES_OX_MXFP4){
float low,high;
uint8_t code[32]={0};
const bool finite=oxi_find_range(32,x,&low,&high);
const float largest=high> -low?high: -low;
int power=finite&&largest>0?(int)floorf(log2f(largest))-3: -128;
if(plan->weighted&&power> -126&&power<125){
const float as_is=oxi_mxfp4_error(x,x+256,power);
const float more=oxi_mxfp4_error(x,x+256,power+1);
const float less=oxi_mxfp4_error(x,x+256,power-1);
power+=more<as_is&&more<=less?1:less<as_is? -1:0;}
const float inverse=ldexpf(1,-power);
for(int i=0;power> -128&&i<32;i++)code[i]=oxi_mxfp4_code(x[i],inverse);
if(!finite)memset(code,7,sizeof code);
p[0]=(uint8_t)(!finite?255:power> -128?power+128:0);
oxi_store_codes_32(code,4,p +1);}}
static bool oxi_code_ternary(const float*x,uint8_t*code,uint8_t*p){
float low,high;
const bool finite=oxi_find_range(256,x,&low,&high);
const float d=high> -low?high: -low,inverse=d>0?1/d:0;
oxi_put_half(p,finite?fabsf(d):NAN);
for(int i=0;finite&&i<256;i++){
const float v=x[i]*inverse;
code[i]=(uint8_t)(1+(v>=0.5f)-(v<= -0.5f));}
return finite;}
static uint8_t oxi_pack_ternary(const uint8_t*code,int digits,int apart){
int value=0;
for(int n=0;n<5;n++)value=value*3+(n<digits?code[n*apart]:0);
return(uint8_t)((value*256+242)/243);}
static void oxi_write_tq1_0(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
uint8_t code[256];
(void)plan,(void)blocks;
memset(p,0,OXI_BYTES_OX_TQ1_0);
if(!oxi_code_ternary(x,code,p +52))return;
for(int i=0;i<32;i++)p[i]=oxi_pack_ternary(code +i,5,32);
for(int i=0;i<16;i++)p[32+i]=oxi_pack_ternary(code +160+i,5,16);
for(int i=0;i<4;i++)p[48+i]=oxi_pack_ternary(code +240+i,4,4);}
static void oxi_write_tq2_0(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
uint8_t code[256];
(void)plan,(void)blocks;
memset(p,0,OXI_BYTES_OX_TQ2_0);
if(oxi_code_ternary(x,code,p +64))oxi_store_codes_2(code,p);}
/* >>llm/quantize/nonlinear.c */
typedef struct oxi_iq4{
float
near[512];
float x[32][OXI_RUNS],weight[32][OXI_RUNS],largest[OXI_RUNS];
float scale[OXI_RUNS],curve[OXI_RUNS],gain[OXI_RUNS];}oxi_iq4;
static void oxi_iq4_begin(oxi_iq4*b,const float*x){
memset(b,0,sizeof*b);
for(int k=0,i=0;k<16;k++){
const int end=k<15?oxi_table_iq4[k]+oxi_table_iq4[k+1]+256:512;
for(;i<end;i++)b->near[i]=(float)oxi_table_iq4[k];}
for(int j=0;j<OXI_RUNS;j++)
for(int i=0;i<32;i++){
b->x[i][j]=x[32*j+i];
b->weight[i][j]=x[256+32*j+i];
if(fabsf(b->x[i][j])>fabsf(b->largest[j]))b->largest[j]=b->x[i][j];}}
static void oxi_iq4_sum(const oxi_iq4*b,const float*inverse,float*wqx,float*wqq){
float twice[OXI_RUNS],q[OXI_RUNS],sum[OXI_RUNS]={0},square[OXI_RUNS]={0};
int at[OXI_RUNS];
for(int j=0;j<OXI_RUNS;j++)twice[j]=2*inverse[j];
for(int i=0;i<32;i++){
for(int j=0;j<OXI_RUNS;j++){
float v=b->x[i][j]*twice[j]+256;
v=v>0?v:0;
v=v<511?v:511;
at[j]=(int)v;}
for(int j=0;j<OXI_RUNS;j++)q[j]=b->near[at[j]];
for(int j=0;j<OXI_RUNS;j++){
const float wq=b->weight[i][j]*q[j];
sum[j]+=wq*b->x[i][j];
square[j]+=wq*q[j];}}
memcpy(wqx,sum,sizeof sum);
memcpy(wqq,square,sizeof square);}
static void oxi_iq4_try(oxi_iq4*b,const float*inverse){
float wqx[OXI_RUNS],wqq[OXI_RUNS];
oxi_iq4_sum(b,inverse,wqx,wqq);
for(int j=0;j<OXI_RUNS;j++){
if(!(wqq[j]>0)|| !(wqx[j]*wqx[j]>b->gain[j]*wqq[j]))continue;
b->scale[j]=wqx[j]/wqq[j];
b->gain[j]=wqx[j]*b->scale[j];
b->curve[j]=wqq[j];}}
static void oxi_iq4_search(oxi_iq4*b){
float inverse[OXI_RUNS];
for(int step=0;step<24;step++){
const float end=step<15?(float)(step -134):101+3.5f*(float)(step -15);
for(int j=0;j<OXI_RUNS;j++)inverse[j]=b->largest[j]!=0?end/b->largest[j]:0;
oxi_iq4_try(b,inverse);}
for(int round=0;round<2;round++){
for(int j=0;j<OXI_RUNS;j++)inverse[j]=b->scale[j]!=0?1/b->scale[j]:0;
oxi_iq4_try(b,inverse);}}
static void oxi_iq4_cost(const oxi_iq4*b,const float*scale,float*cost){
float inverse[OXI_RUNS],wqx[OXI_RUNS],wqq[OXI_RUNS];
for(int j=0;j<OXI_RUNS;j++)inverse[j]=scale[j]!=0?1/scale[j]:0;
oxi_iq4_sum(b,inverse,wqx,wqq);
for(int j=0;j<OXI_RUNS;j++)cost[j]=scale[j]*(scale[j]*wqq[j]-2*wqx[j]);}
static uint8_t oxi_iq4_code(float v){
int code=0;
while(code<15&&2*v>=(float)(oxi_table_iq4[code]+oxi_table_iq4[code +1]))code++;
return(uint8_t)code;}
static void oxi_iq4_store(const oxi_iq4*b,int run,float scale,uint8_t*p){
const float inverse=scale!=0?1/scale:0;
uint8_t code[32];
for(int i=0;i<32;i++)code[i]=oxi_iq4_code(b->x[i][run]*inverse);
oxi_store_codes_32(code,4,p);}
static void oxi_write_iq4_nl(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
oxi_iq4 b;
float y[512];
const unsigned bad=oxi_take_blocks(x,y);
(void)plan;
oxi_iq4_begin(&b,y);
oxi_iq4_search(&b);
for(int j=0;j<blocks;j++,p +=OXI_BYTES_OX_IQ4_NL){
const float d=oxi_as_half(b.scale[j]);
oxi_put_half(p,bad>>j&1?NAN:d);
oxi_iq4_store(&b,j,d,p +2);}}
static void oxi_iq4_step(const oxi_iq4*b,float d,float*code,float*cost){
float from[OXI_RUNS],scale[OXI_RUNS],other[OXI_RUNS];
memcpy(from,code,sizeof from);
for(int by= -1;by<=1;by+=2){
for(int j=0;j<OXI_RUNS;j++)scale[j]=d*oxi_nearest_between(from[j]+(float)by,-32,31);
oxi_iq4_cost(b,scale,other);
for(int j=0;j<OXI_RUNS;j++){
if(!(other[j]<cost[j]))continue;
cost[j]=other[j];
code[j]=oxi_nearest_between(from[j]+(float)by,-32,31);}}}
static float oxi_iq4_costs(const oxi_iq4*b,float d,const float*code,float*cost){
float scale[OXI_RUNS],sum=0;
for(int j=0;j<OXI_RUNS;j++)scale[j]=d*code[j];
oxi_iq4_cost(b,scale,cost);
for(int j=0;j<OXI_RUNS;j++)sum+=cost[j];
return sum;}
static float oxi_iq4_refit(const oxi_iq4*b,float d,const float*code,float*cost){
float inverse[OXI_RUNS],wqx[OXI_RUNS],wqq[OXI_RUNS],other[OXI_RUNS],now=0,up=0,down=0;
for(int j=0;j<OXI_RUNS;j++)inverse[j]=d*code[j]!=0?1/(d*code[j]):0;
oxi_iq4_sum(b,inverse,wqx,wqq);
for(int j=0;j<OXI_RUNS;j++){
up +=code[j]*wqx[j];
down+=code[j]*code[j]*wqq[j];
now+=cost[j];}
const float fitted=down>0?oxi_as_half(up/down):d;
if(!(oxi_iq4_costs(b,fitted,code,other)<now))return d;
memcpy(cost,other,sizeof other);
return fitted;}
static void oxi_write_iq4_xs(const oxi_k_plan*plan,const float*x,int blocks,uint8_t*p){
oxi_iq4 b;
float low,high,code[OXI_RUNS],cost[OXI_RUNS];
int high_bits=0;
(void)plan,(void)blocks;
memset(p,0,OXI_BYTES_OX_IQ4_XS);
if(!oxi_find_range(256,x,&low,&high)||low< -1e9f||high>1e9f){
oxi_put_half(p,NAN);
return;}
oxi_iq4_begin(&b,x);
oxi_iq4_search(&b);
float d=oxi_common_unit(OXI_RUNS,b.scale,b.curve,-32,31);
for(int j=0;j<OXI_RUNS;j++)code[j]=d!=0?oxi_nearest_between(b.scale[j]/d,-32,31):0;
(void)oxi_iq4_costs(&b,d,code,cost);
for(int round=0;round<2;round++){
oxi_iq4_step(&b,d,code,cost);
d=oxi_iq4_refit(&b,d,code,cost);}
oxi_put_half(p,d);
for(int j=0;j<OXI_RUNS;j++){
const int scale=(int)code[j]+32;
p[4+j/2]|=(uint8_t)((scale&15)<<j%2*4);
high_bits|=scale>>4<<2*j;
oxi_iq4_store(&b,j,d*code[j],p +8+16*j);}
p[2]=(uint8_t)high_bits;
p[3]=(uint8_t)(high_bits>>8);}
/* >>llm/quantize/tensor.c */
#define OXI_NO_PLAN \
{0,0,0,0,0,0,0,0,0,0,0,false}
static const oxi_block_writer oxi_block_writers[]={
{OX_Q4_0,1,oxi_write_centered,OXI_NO_PLAN,{4,OXI_BYTES_OX_Q4_0,32,1,8,0,0,25,-1.2f,0.1f,0,true}},{OX_Q4_1,
 1,oxi_write_above_least,OXI_NO_PLAN,{4,OXI_BYTES_OX_Q4_1,32,1,0,0,0,19,-1.8f,0.15f,0,true}},{OX_Q5_0,1,
 oxi_write_centered,OXI_NO_PLAN,{5,OXI_BYTES_OX_Q5_0,32,1,16,0,0,25,-1.2f,0.1f,0,true}},{OX_Q5_1,1,
 oxi_write_above_least,OXI_NO_PLAN,{5,OXI_BYTES_OX_Q5_1,32,1,0,0,0,19,-1.8f,0.15f,0,true}},{OX_Q2_K,1,
 oxi_write_q2_k,{2,OXI_BYTES_OX_Q2_K,16,2,0,0,15,6,-0.9f,0.35f,2,false},
 {2,OXI_BYTES_OX_Q2_K,16,2,0,0,15,19,-0.9f,0.1f,3,true}},{OX_Q3_K,2,oxi_write_q3_k,
 {3,OXI_BYTES_OX_Q3_K,16,2,4,-32,31,6,-0.9f,0.35f,1,false},
 {3,OXI_BYTES_OX_Q3_K,16,2,4,-32,31,21,-1.5f,0.12f,3,true}},{OX_Q4_K,2,oxi_write_q45_k,OXI_NO_PLAN,
 {4,OXI_BYTES_OX_Q4_K,32,1,0,0,63,12,-1.3f,0.2f,3,true}},{OX_Q5_K,2,oxi_write_q45_k,OXI_NO_PLAN,
 {5,OXI_BYTES_OX_Q5_K,32,1,0,0,63,12,-1.3f,0.2f,3,true}},{OX_Q6_K,0,oxi_write_q6_k,OXI_NO_PLAN,
 {6,OXI_BYTES_OX_Q6_K,16,2,32,-128,127,16,-2.7f,0.25f,2,true}},
 {OX_IQ4_NL,2,oxi_write_iq4_nl,OXI_NO_PLAN,OXI_NO_PLAN},
 {OX_IQ4_XS,2,oxi_write_iq4_xs,OXI_NO_PLAN,OXI_NO_PLAN},
 {OX_MXFP4,1,oxi_write_mxfp4,OXI_NO_PLAN,{0,0,0,0,0,0,0,0,0,0,0,true}},
 {OX_TQ1_0,0,oxi_write_tq1_0,OXI_NO_PLAN,OXI_NO_PLAN},{OX_TQ2_0,0,oxi_write_tq2_0,OXI_NO_PLAN,OXI_NO_PLAN},
 };
static const oxi_block_writer*oxi_block_writer_of(ox_dtype dtype){
for(size_t i=0;i<sizeof oxi_block_writers/sizeof*oxi_block_writers;i++)
if(oxi_block_writers[i].dtype==dtype)return&oxi_block_writers[i];
return NULL;}
static bool oxi_is_written_by_cast(ox_dtype dtype){
return dtype==OX_F32||dtype==OX_F16||dtype==OX_BF16||oxi_cpu_kernels()->quantize[dtype];}
static bool oxi_is_written(ox_dtype dtype){
return(unsigned)dtype<OX_DTYPE_COUNT&&(oxi_is_written_by_cast(dtype)||oxi_block_writer_of(dtype));}
typedef struct oxi_quantize_job{
const oxi_block_writer*writer;
oxi_load_kernel load;
const char*from;
uint8_t*to;
const float*importance;
int64_t rows,columns,rows_of_matrix,rows_of_task,first_row;
size_t from_row,to_row;}oxi_quantize_job;
static void oxi_blocks_of_row(const oxi_quantize_job*job,int64_t row){
enum{PIECE=1024};
float buffer[PIECE],x[512];
const oxi_block_writer*w=job->writer;
const ox_dtype_info*info=ox_dtype_get_info(w->dtype);
const int64_t matrix=(job->first_row+row)/job->rows_of_matrix;
const float*importance=job->importance?job->importance +matrix*job->columns:NULL;
const char*from=job->from+(size_t)row*job->from_row;
const size_t from_bytes=job->from_row/(size_t)job->columns;
uint8_t*p=job->to+(size_t)row*job->to_row;
for(int64_t at=0;at<job->columns;at+=256){
if(at%PIECE==0)
job->load(oxi_min_i64(PIECE,job->columns-at),from+(size_t)at*from_bytes,1,buffer);
const int count=(int)oxi_min_i64(256,job->columns-at),blocks=count/info->block_elements;
oxi_weigh(buffer+at%PIECE,importance?importance +at:NULL,count,w->spread,x);
w->write(importance? &w->weighted: &w->plain,x,blocks,p);
p +=blocks*info->block_bytes;}}
static void oxi_quantize_rows(void*arg,int64_t index,int lane){
const oxi_quantize_job*job=(const oxi_quantize_job*)arg;
const int64_t first=index*job->rows_of_task,end=oxi_min_i64(job->rows,first+job->rows_of_task);
(void)lane;
for(int64_t row=first;row<end;row++)oxi_blocks_of_row(job,row);}
static bool oxi_quantize_part(ox_tensor*x,ox_tensor*out,int64_t first,const float*importance,
 int64_t rows_of_matrix){
oxi_quantize_job job;
memset(&job,0,sizeof job);
job.writer=oxi_block_writer_of(out->dtype);
if(!x)return false;
if(!job.writer||(!importance&&oxi_is_written_by_cast(out->dtype)))
return ox_copy_(ox_narrow(out,0,first,x->shape[0]),x)!=NULL;
job.load=oxi_cpu_kernels()->load[x->dtype][OXI_LANE_F32];
if(!job.load){
x=ox_cast(x,OX_F32);
job.load=oxi_cpu_kernels()->load[OX_F32][OXI_LANE_F32];
if(!x)return false;}
job.rows=x->shape[0];
job.columns=x->shape[1];
job.from=(const char*)ox_data(x);
job.from_row=ox_nbytes(x)/(size_t)job.rows;
job.to_row=ox_nbytes(out)/(size_t)out->shape[0];
job.to=(uint8_t*)ox_data(out)+(size_t)first*job.to_row;
job.importance=importance;
job.rows_of_matrix=rows_of_matrix;
job.first_row=first;
job.rows_of_task=(1<<13)/job.columns>1?(1<<13)/job.columns:1;
oxi_parallel_for((job.rows+job.rows_of_task-1)/job.rows_of_task,oxi_quantize_rows,&job);
return true;}
static ox_status oxi_quantize_check(const ox_tensor*x,ox_dtype dtype,const float*importance,
 int64_t matrices){
if(!x)return oxi_fail_missing("llm_quantize_tensor: x");
if(!oxi_is_written(dtype))
return oxi_fail(OX_ERR_UNSUPPORTED,"llm_quantize_tensor: nothing is quantized to %s",ox_dtype_name(dtype));
const ox_dtype_class cls=ox_dtype_get_info(x->dtype)->cls;
if(cls!=OX_CLASS_FLOAT&&cls!=OX_CLASS_BLOCK)
return oxi_fail(OX_ERR_DTYPE,"llm_quantize_tensor: floats or blocks, not %s",oxi_tensor_text(x));
const int block=ox_dtype_get_info(dtype)->block_elements;
if(x->ndim<1||x->shape[x->ndim-1]%block!=0)
return oxi_fail(OX_ERR_SHAPE,"llm_quantize_tensor: rows of %s are no multiple of %s's %d",
 oxi_tensor_text(x),ox_dtype_name(dtype),block);
const int64_t columns=x->shape[x->ndim-1],numbers=ox_numel(x);
if(matrices<0||(matrices>1&&numbers>0&&numbers/columns%matrices!=0))
return oxi_fail(OX_ERR_ARG,"llm_quantize_tensor: %s is not %lld matrices",oxi_tensor_text(x),
 (long long)matrices);
for(int64_t i=0;importance&&numbers>0&&i<columns*(matrices>1?matrices:1);i++)
if(!(importance[i]>=0)|| !(importance[i]<=FLT_MAX))
return oxi_fail(OX_ERR_ARG,"llm_quantize_tensor: an importance of %g",(double)importance[i]);
return OX_OK;}
static ox_tensor*oxi_quantize_tensor(ox_tensor*x,ox_dtype dtype,const float*importance,int64_t matrices){
ox_tensor*out=oxi_tensor_new(ox_cpu(),dtype,x->ndim,x->shape);
if(!out||ox_numel(out)==0)return out;
const int64_t columns=x->shape[x->ndim-1],rows=ox_numel(x)/columns;
const bool blocks=oxi_is_block(x->dtype);
const int64_t of_part=blocks?oxi_min_i64(rows,(1<<22)/columns+1):rows;
bool done=true;
ox_scope scope=ox_scope_begin();
ox_tensor*plain=ox_contiguous(ox_device_of(x)==ox_cpu()?x:ox_to(x,ox_cpu()));
plain=ox_reshape(plain,OX_SHAPE(rows,columns));
ox_tensor*flat=ox_reshape(out,OX_SHAPE(rows,columns));
for(int64_t row=0;done&&row<rows;row+=of_part){
ox_scope part=ox_scope_begin();
ox_tensor*some=ox_narrow(plain,0,row,oxi_min_i64(of_part,rows-row));
if(blocks)some=ox_cast(some,OX_F32);
done=flat&&oxi_quantize_part(some,flat,row,importance,rows/(matrices>1?matrices:1));
ox_scope_end(&part);}
ox_scope_end(&scope);
if(done)return out;
ox_release(out);
return NULL;}
OX_API ox_tensor*ox_llm_quantize_tensor(ox_tensor*x,ox_dtype dtype,const float*importance,
 int64_t matrices){
if(oxi_quantize_check(x,dtype,importance,matrices)!=OX_OK)return NULL;
return oxi_quantize_tensor(x,dtype,importance,matrices);}
/* >>llm/quantize/mixes.c */
#define OXI_MIX_LIST(X) \
X(Q4_0,2,OX_Q4_0) \
X(Q4_1,3,OX_Q4_1) \
X(MXFP4_MOE,38,OX_MXFP4) \
X(Q5_0,8,OX_Q5_0) \
X(Q5_1,9,OX_Q5_1) \
X(TQ1_0,36,OX_TQ1_0) \
X(TQ2_0,37,OX_TQ2_0) \
X(Q2_K,10,OX_Q2_K) \
X(Q2_K_S,21,OX_Q2_K) \
X(Q3_K_S,11,OX_Q3_K) \
X(Q3_K_M,12,OX_Q3_K) \
X(Q3_K_L,13,OX_Q3_K) \
X(IQ4_NL,25,OX_IQ4_NL) \
X(IQ4_XS,30,OX_IQ4_XS) \
X(Q4_K_S,14,OX_Q4_K) \
X(Q4_K_M,15,OX_Q4_K) \
X(Q5_K_S,16,OX_Q5_K) \
X(Q5_K_M,17,OX_Q5_K) \
X(Q6_K,18,OX_Q6_K) \
X(Q8_0,7,OX_Q8_0) \
X(F16,1,OX_F16) \
X(BF16,32,OX_BF16) \
X(F32,0,OX_F32) \
X(COPY,-1,OX_DTYPE_NONE)
typedef enum oxi_mix{
#define OXI_X(name,file_type,dtype)OXI_MIX_##name,
OXI_MIX_LIST(OXI_X)
#undef OXI_X
OXI_MIX_COUNT}oxi_mix;
static const struct oxi_mix_row{
const char*name;
int file_type;
ox_dtype dtype;}oxi_mixes[]={
#define OXI_X(name,file_type,dtype){#name,file_type,dtype},
OXI_MIX_LIST(OXI_X)
#undef OXI_X
};
static const struct oxi_mix_alias{
const char*name;
oxi_mix mix;}oxi_mix_aliases[]={{"Q3_K",OXI_MIX_Q3_K_M},{"Q4_K",OXI_MIX_Q4_K_M},{"Q5_K",OXI_MIX_Q5_K_M}};
OX_API const char*ox_llm_quantize_mix(int64_t index){
return index>=0&&index<OXI_MIX_COUNT?oxi_mixes[index].name:NULL;}
static bool oxi_same_letters(const char*a,const char*b){
for(;*a&& *b;a++,b++){
const char upper= *a>='a'&& *a<='z'?(char)(*a-'a'+'A'): *a;
if(upper!= *b)return false;}
return*a== *b;}
static oxi_mix oxi_mix_by_name(const char*name){
for(size_t i=0;i<sizeof oxi_mix_aliases/sizeof*oxi_mix_aliases;i++)
if(oxi_same_letters(name,oxi_mix_aliases[i].name))return oxi_mix_aliases[i].mix;
int mix=0;
while(mix<OXI_MIX_COUNT&& !oxi_same_letters(name,oxi_mixes[mix].name))mix++;
return(oxi_mix)mix;}
enum{
OXI_PART_OTHER=0,OXI_PART_OUTPUT=1,OXI_PART_EMBEDDING=2,OXI_PART_VALUE=4,OXI_PART_KEY=8,OXI_PART_MERGE=16,
 OXI_PART_DOWN=32};
static const struct oxi_part_row{
const char*text;
bool whole;
int part;}oxi_parts_by_name[]={
{"output.weight",true,OXI_PART_OUTPUT},{"token_embd.weight",true,OXI_PART_EMBEDDING},
 {"per_layer_token_embd.weight",true,OXI_PART_EMBEDDING},{"attn_qkv.weight",false,OXI_PART_VALUE},
 {"attn_kv_b.weight",false,OXI_PART_VALUE},{"attn_v.weight",false,OXI_PART_VALUE},
 {"attn_k.weight",false,OXI_PART_KEY},{"attn_output.weight",false,OXI_PART_MERGE},
 {"ffn_down",false,OXI_PART_DOWN},};
static int oxi_mix_part(const char*name){
for(size_t i=0;i<sizeof oxi_parts_by_name/sizeof*oxi_parts_by_name;i++){
const struct oxi_part_row*row= &oxi_parts_by_name[i];
if(row->whole?strcmp(name,row->text)==0:strstr(name,row->text)!=NULL)return row->part;}
return OXI_PART_OTHER;}
static const char*const oxi_kept_names[]={"position_embd.weight","token_types.weight"};
static const char*const oxi_kept_texts[]={
"_norm.weight","ffn_gate_inp.weight","ffn_gate_tid2eid.weight","altup","laurel","per_layer_model_proj",
 "ssm_conv1d","shortconv.conv.weight","indexer.k_proj.weight","indexer.q_proj.weight",
 "time_mix_first.weight","time_mix_w0.weight","time_mix_w1.weight","time_mix_w2.weight",
 "time_mix_v0.weight","time_mix_v1.weight","time_mix_v2.weight","time_mix_a0.weight","time_mix_a1.weight",
 "time_mix_a2.weight","time_mix_g1.weight","time_mix_g2.weight","time_mix_decay_w1.weight",
 "time_mix_decay_w2.weight","time_mix_lerp_fused.weight","attn_rel_b.weight",".position_embd",
 "sam.pos_embd","sam.neck.","sam.net_",".rel_pos",".patch_embd",".patch_merger","a.rvq.codebook",
 "mm.a.code_embd",};
static int oxi_real_dims(const ox_file_entry*entry){
int first=0;
while(first<entry->ndim-1&&entry->shape[first]==1)first++;
return entry->ndim-first;}
static bool oxi_is_quantizable(const ox_file_entry*entry){
const size_t length=strlen(entry->name);
if(oxi_real_dims(entry)<2||length<6||strcmp(entry->name +length-6,"weight")!=0)
return false;
for(size_t i=0;i<sizeof oxi_kept_names/sizeof*oxi_kept_names;i++)
if(strcmp(entry->name,oxi_kept_names[i])==0)return false;
for(size_t i=0;i<sizeof oxi_kept_texts/sizeof*oxi_kept_texts;i++)
if(strstr(entry->name,oxi_kept_texts[i]))return false;
return true;}
typedef struct oxi_mix_model{
oxi_mix mix;
bool importance,falcon,tied;
bool shares_values;
int64_t layers,experts,sharing;
int64_t values;
int64_t value,down;}oxi_mix_model;
static int64_t oxi_mix_number(const ox_file*file,const char*architecture,const char*key,int64_t otherwise){
char name[128];
snprintf(name,sizeof name,"%s.%s",architecture,key);
ox_file_meta meta=ox_file_meta_find(file,name);
if(meta.type==OX_FILE_META_ARRAY)meta=ox_file_meta_element(file,&meta,0);
const bool number=meta.type==OX_FILE_META_INT||meta.type==OX_FILE_META_UINT;
return number&&meta.i>=0&&meta.i<INT32_MAX?meta.i:otherwise;}
static void oxi_mix_read(oxi_mix_model*m,const ox_file*file,oxi_mix mix,bool importance){
static const char*const sharing_at_80[]={"qwen2","deci","apertus"};
char name[64];
memset(m,0,sizeof*m);
const ox_file_meta architecture=ox_file_meta_find(file,"general.architecture");
name[0]=0;
if(architecture.type==OX_FILE_META_STRING)oxi_llm_copy_text(architecture.text,name,sizeof name);
m->mix=mix;
m->importance=importance;
m->falcon=strcmp(name,"falcon")==0;
m->layers=oxi_mix_number(file,name,"block_count",0);
m->experts=oxi_mix_number(file,name,"expert_count",0);
const int64_t heads=oxi_mix_number(file,name,"attention.head_count",0);
const int64_t keys=oxi_mix_number(file,name,"attention.head_count_kv",heads);
m->sharing=keys>0?heads/keys:0;
m->shares_values=m->layers==80&&strcmp(name,"llama")==0&&heads!=keys;
for(size_t i=0;i<sizeof sharing_at_80/sizeof*sharing_at_80;i++)
if(m->layers==80&&strcmp(name,sharing_at_80[i])==0)m->shares_values=true;
m->tied=true;
for(int64_t i=0;i<ox_file_count(file);i++){
const int part=oxi_mix_part(ox_file_name(file,i));
if(part==OXI_PART_OUTPUT)m->tied=false;
if(part==OXI_PART_VALUE)m->values++;}}
static int64_t oxi_layer_of(const char*name){
int64_t layer=0;
int digits=0;
if(strncmp(name,"blk.",4)!=0)return-1;
for(name +=4;*name>='0'&& *name<='9'&&digits<9;name++,digits++)
layer=layer*10+(*name -'0');
return digits>0&& *name=='.'?layer: -1;}
typedef enum oxi_when{
OXI_WHEN_ALWAYS,OXI_WHEN_SHARED,OXI_WHEN_FIRST_2,OXI_WHEN_FIRST_4,OXI_WHEN_FIRST_16TH,OXI_WHEN_FIRST_8TH,
 OXI_WHEN_PLAIN_8TH,OXI_WHEN_WEIGHTED_8TH,OXI_WHEN_ENDS}oxi_when;
typedef enum oxi_who{
OXI_WHO_ANY,OXI_WHO_FALCON,OXI_WHO_OTHERS,OXI_WHO_EIGHT,OXI_WHO_ALL_EIGHT}oxi_who;
#define OXI_M(name)((uint32_t)1 <<OXI_MIX_##name)
static const struct oxi_mix_rule{
int part;
uint32_t mixes;
oxi_who who;
oxi_when when;
ox_dtype dtype;}oxi_mix_rules[]={
{OXI_PART_EMBEDDING,OXI_M(TQ1_0)|OXI_M(TQ2_0),OXI_WHO_ANY,OXI_WHEN_ALWAYS,OX_Q4_K},
 {OXI_PART_VALUE|OXI_PART_KEY,0,OXI_WHO_ALL_EIGHT,OXI_WHEN_ALWAYS,OX_Q8_0},
 {OXI_PART_VALUE,OXI_M(Q2_K)|OXI_M(Q2_K_S),OXI_WHO_ANY,OXI_WHEN_SHARED,OX_Q4_K},
 {OXI_PART_VALUE,OXI_M(Q2_K),OXI_WHO_ANY,OXI_WHEN_ALWAYS,OX_Q3_K},
 {OXI_PART_VALUE,OXI_M(Q3_K_M),OXI_WHO_ANY,OXI_WHEN_FIRST_2,OX_Q5_K},
 {OXI_PART_VALUE,OXI_M(Q3_K_M),OXI_WHO_ANY,OXI_WHEN_ALWAYS,OX_Q4_K},
 {OXI_PART_VALUE,OXI_M(Q3_K_L),OXI_WHO_ANY,OXI_WHEN_ALWAYS,OX_Q5_K},
 {OXI_PART_VALUE,OXI_M(IQ4_NL)|OXI_M(IQ4_XS),OXI_WHO_ANY,OXI_WHEN_SHARED,OX_Q5_K},
 {OXI_PART_VALUE,OXI_M(Q4_K_M)|OXI_M(Q5_K_M),OXI_WHO_ANY,OXI_WHEN_ENDS,OX_Q6_K},
 {OXI_PART_VALUE,OXI_M(Q4_K_S),OXI_WHO_ANY,OXI_WHEN_FIRST_4,OX_Q5_K},
 {OXI_PART_DOWN,OXI_M(Q2_K),OXI_WHO_ANY,OXI_WHEN_ALWAYS,OX_Q3_K},
 {OXI_PART_DOWN,OXI_M(Q2_K_S),OXI_WHO_ANY,OXI_WHEN_FIRST_8TH,OX_Q4_K},
 {OXI_PART_DOWN,OXI_M(Q3_K_M),OXI_WHO_ANY,OXI_WHEN_FIRST_16TH,OX_Q5_K},
 {OXI_PART_DOWN,OXI_M(Q3_K_M),OXI_WHO_OTHERS,OXI_WHEN_ALWAYS,OX_Q4_K},
 {OXI_PART_DOWN,OXI_M(Q3_K_M),OXI_WHO_FALCON,OXI_WHEN_ENDS,OX_Q4_K},
 {OXI_PART_DOWN,OXI_M(Q3_K_L),OXI_WHO_FALCON,OXI_WHEN_ALWAYS,OX_Q4_K},
 {OXI_PART_DOWN,OXI_M(Q3_K_L),OXI_WHO_OTHERS,OXI_WHEN_ALWAYS,OX_Q5_K},
 {OXI_PART_DOWN,OXI_M(Q4_K_M),OXI_WHO_FALCON,OXI_WHEN_FIRST_16TH,OX_Q6_K},
 {OXI_PART_DOWN,OXI_M(Q4_K_M),OXI_WHO_FALCON,OXI_WHEN_ENDS,OX_Q5_K},
 {OXI_PART_DOWN,OXI_M(Q4_K_M),OXI_WHO_OTHERS,OXI_WHEN_ENDS,OX_Q6_K},
 {OXI_PART_DOWN,OXI_M(Q5_K_M),OXI_WHO_ANY,OXI_WHEN_ENDS,OX_Q6_K},
 {OXI_PART_DOWN,OXI_M(IQ4_NL)|OXI_M(IQ4_XS),OXI_WHO_ANY,OXI_WHEN_PLAIN_8TH,OX_Q5_K},
 {OXI_PART_DOWN,OXI_M(Q4_K_S),OXI_WHO_OTHERS,OXI_WHEN_FIRST_8TH,OX_Q5_K},
 {OXI_PART_DOWN,OXI_M(Q4_0),OXI_WHO_ANY,OXI_WHEN_WEIGHTED_8TH,OX_Q4_1},
 {OXI_PART_DOWN,OXI_M(Q5_0),OXI_WHO_ANY,OXI_WHEN_WEIGHTED_8TH,OX_Q5_1},{OXI_PART_MERGE,
 OXI_M(Q2_K)|OXI_M(Q3_K_S)|OXI_M(Q3_K_M)|OXI_M(IQ4_NL)|OXI_M(IQ4_XS)|OXI_M(Q4_K_S)|OXI_M(Q4_K_M),
 OXI_WHO_EIGHT,OXI_WHEN_ALWAYS,OX_Q5_K},{OXI_PART_MERGE,0,OXI_WHO_EIGHT,OXI_WHEN_ALWAYS,OX_DTYPE_NONE},
 {OXI_PART_MERGE,OXI_M(Q2_K),OXI_WHO_OTHERS,OXI_WHEN_ALWAYS,OX_Q3_K},
 {OXI_PART_MERGE,OXI_M(Q3_K_M),OXI_WHO_OTHERS,OXI_WHEN_ALWAYS,OX_Q4_K},
 {OXI_PART_MERGE,OXI_M(Q3_K_L),OXI_WHO_OTHERS,OXI_WHEN_ALWAYS,OX_Q5_K},
 {OXI_PART_MERGE,OXI_M(Q3_K_L),OXI_WHO_FALCON,OXI_WHEN_ALWAYS,OX_Q4_K},};
#undef OXI_M
static bool oxi_is_when(oxi_when when,const oxi_mix_model*m,int64_t index,int64_t count){
switch(when){
case OXI_WHEN_SHARED:return m->sharing>=4;
case OXI_WHEN_FIRST_2:return index<2;
case OXI_WHEN_FIRST_4:return index<4;
case OXI_WHEN_FIRST_16TH:return index<count/16;
case OXI_WHEN_FIRST_8TH:return index<count/8;
case OXI_WHEN_PLAIN_8TH:return index<count/8&& !m->importance;
case OXI_WHEN_WEIGHTED_8TH:return index<count/8&&m->importance;
case OXI_WHEN_ENDS:return index<count/8||index>=7*count/8||(index-count/8)%3==2;
default:return true;}}
static bool oxi_is_who(oxi_who who,const oxi_mix_model*m){
switch(who){
case OXI_WHO_FALCON:return m->falcon;
case OXI_WHO_OTHERS:return!m->falcon;
case OXI_WHO_EIGHT:return!m->falcon&&m->experts==8;
case OXI_WHO_ALL_EIGHT:return m->experts==8;
default:return true;}}
static ox_dtype oxi_mix_choose(oxi_mix_model*m,const ox_file_entry*entry,int part){
const ox_dtype own=oxi_mixes[m->mix].dtype;
if(part==OXI_PART_OUTPUT||(m->tied&&part==OXI_PART_EMBEDDING)){
const bool fits=entry->shape[entry->ndim-1]%ox_dtype_get_info(own)->block_elements==0;
return m->mix==OXI_MIX_MXFP4_MOE||m->falcon|| !fits||own==OX_Q8_0?OX_Q8_0:OX_Q6_K;}
if(m->mix==OXI_MIX_MXFP4_MOE)return oxi_real_dims(entry)>2?OX_MXFP4:OX_Q8_0;
const bool down=part==OXI_PART_DOWN;
const int64_t layer=oxi_layer_of(entry->name);
int64_t index=down?m->down++ :part==OXI_PART_VALUE?m->value++ :0;
if(down&&m->experts>1&&layer>=0)index=layer;
ox_dtype dtype=own;
for(size_t i=0;i<sizeof oxi_mix_rules/sizeof*oxi_mix_rules;i++){
const struct oxi_mix_rule*rule= &oxi_mix_rules[i];
if(!(rule->part&part)||(rule->mixes&& !(rule->mixes>>m->mix&1)))continue;
if(!oxi_is_who(rule->who,m)|| !oxi_is_when(rule->when,m,index,down?m->layers:m->values))
continue;
dtype=rule->dtype==OX_DTYPE_NONE?own:rule->dtype;
break;}
if(part==OXI_PART_VALUE&&m->shares_values&&(dtype==OX_Q3_K||dtype==OX_Q4_K))return OX_Q5_K;
return dtype;}
static ox_dtype oxi_mix_fit(ox_dtype dtype,int64_t columns){
static const ox_dtype smaller[][2]={{OX_IQ4_XS,OX_IQ4_NL},{OX_Q2_K,OX_Q4_0},{OX_Q3_K,OX_Q4_0},
 {OX_TQ1_0,OX_Q4_0},{OX_TQ2_0,OX_Q4_0},{OX_Q4_K,OX_Q5_0},{OX_Q5_K,OX_Q5_1},{OX_Q6_K,OX_Q8_0}};
if(columns%ox_dtype_get_info(dtype)->block_elements==0)return dtype;
for(size_t i=0;i<sizeof smaller/sizeof*smaller;i++)
if(smaller[i][0]==dtype&&columns%32==0)return smaller[i][1];
return OX_F16;}
/* >>llm/quantize/importance.c */
typedef struct oxi_importance_entry{
char*name;
size_t name_bytes;
const ox_tensor*weight;
int64_t columns,matrices;
float*sum;
size_t bytes;}oxi_importance_entry;
struct ox_llm_importance{
oxi_importance_entry*entries;
size_t count,room;
uint32_t*order;
char*dataset;
size_t dataset_bytes;
int64_t chunks;
ox_llm*model;
struct ox_llm_importance*next;
ox_status status;};
static bool oxi_is_sum(float v){
return v>=0&&v<=FLT_MAX;}
static oxi_importance_entry*oxi_importance_add(ox_llm_importance*m,const char*name,size_t length,
 int64_t columns,int64_t matrices){
size_t numbers,bytes;
const bool fits=columns>0&&matrices>0&&m->count<UINT32_MAX/4&&
 oxi_mul_size((size_t)columns+1,(size_t)matrices,&numbers)&&oxi_mul_size(numbers,sizeof(float),&bytes);
if(!fits){
(void)oxi_fail(OX_ERR_FORMAT,"llm_importance: %s has %lld columns of %lld matrices",
 oxi_quote(name,length).text,(long long)columns,(long long)matrices);
return NULL;}
oxi_importance_entry*grown=
 (oxi_importance_entry*)oxi_grow(m->entries,&m->room,m->count+1,sizeof*grown,false);
if(!grown)return NULL;
m->entries=grown;
oxi_importance_entry*e= &m->entries[m->count];
memset(e,0,sizeof*e);
e->columns=columns;
e->matrices=matrices;
e->bytes=bytes;
e->name_bytes=length+1;
e->sum=(float*)oxi_calloc(1,bytes);
e->name=(char*)oxi_alloc(e->name_bytes);
m->count++;
if(!e->sum|| !e->name)return NULL;
memcpy(e->name,name,length);
e->name[length]=0;
return e;}
static float*oxi_importance_counts(const oxi_importance_entry*e){
return e->sum+e->columns*e->matrices;}
static int oxi_importance_compare(const void*user,uint32_t a,uint32_t b){
const ox_llm_importance*m=(const ox_llm_importance*)user;
return strcmp(m->entries[a].name,m->entries[b].name);}
static ox_status oxi_importance_sort(ox_llm_importance*m){
m->order=(uint32_t*)oxi_alloc(2*m->count*sizeof*m->order);
if(!m->order)return OX_ERR_NOMEM;
for(size_t i=0;i<m->count;i++)m->order[i]=(uint32_t)i;
oxi_sort_indexes(m->order,m->order+m->count,(uint32_t)m->count,oxi_importance_compare,m);
for(size_t i=1;i<m->count;i++)
if(oxi_importance_compare(m,m->order[i-1],m->order[i])==0)
return oxi_fail(OX_ERR_FORMAT,"llm_importance: %s is there twice",OXI_QUOTE(m->entries[m->order[i]].name));
return OX_OK;}
static const oxi_importance_entry*oxi_importance_find(const ox_llm_importance*m,const char*name){
size_t low=0,high=m?m->count:0;
while(low<high){
const size_t middle=low+(high-low)/2;
const int order=strcmp(m->entries[m->order[middle]].name,name);
if(order==0)return&m->entries[m->order[middle]];
if(order<0)
low=middle +1;
else
high=middle;}
return NULL;}
static void oxi_importance_means(const oxi_importance_entry*e,float*out){
for(int64_t j=0;j<e->matrices;j++){
const float count=oxi_importance_counts(e)[j];
for(int64_t i=j*e->columns;i<(j+1)*e->columns;i++)
out[i]=count>0?e->sum[i]/count:1;}}
static bool oxi_ends_in(const char*name,const char*end,size_t*length){
const size_t all=strlen(name),tail=strlen(end);
*length=all>tail?all-tail:0;
return all>tail&&strcmp(name + *length,end)==0;}
static ox_status oxi_importance_copy(ox_tensor*t,const char*name,float*out){
const int64_t count=ox_numel(t);
ox_status status=ox_to_floats(t,out,count);
for(int64_t i=0;status==OX_OK&&i<count;i++)
if(!oxi_is_sum(out[i]))
status=oxi_fail(OX_ERR_FORMAT,"llm_importance: %s has a sum of %g",OXI_QUOTE(name),(double)out[i]);
return status;}
static ox_status oxi_importance_read_pair(ox_llm_importance*m,const char*name,size_t length,
 ox_tensor*sums,ox_tensor*counts){
const int64_t numbers=ox_numel(sums),matrices=ox_numel(counts);
if(sums->dtype!=OX_F32||counts->dtype!=OX_F32||numbers<1||matrices<1||numbers%matrices!=0)
return oxi_fail(OX_ERR_FORMAT,"llm_importance: %s does not fit its counts",OXI_QUOTE(name));
oxi_importance_entry*e=oxi_importance_add(m,name,length,numbers/matrices,matrices);
if(!e)return ox_error();
const ox_status status=oxi_importance_copy(sums,name,e->sum);
return status==OX_OK?oxi_importance_copy(counts,name,oxi_importance_counts(e)):status;}
static ox_status oxi_importance_read_entry(ox_llm_importance*m,ox_file*file,int64_t index){
const char*sums=ox_file_name(file,index);
size_t length;
char counts[256];
ox_status status=OX_OK;
if(!oxi_ends_in(sums,".in_sum2",&length))return OX_OK;
if(length+sizeof ".counts">sizeof counts)
return oxi_fail(OX_ERR_FORMAT,"llm_importance: the name %s is too long",OXI_QUOTE(sums));
memcpy(counts,sums,length);
memcpy(counts+length,".counts",sizeof ".counts");
OX_SCOPE{
ox_tensor*a=ox_file_tensor_at(file,index),*b=a?ox_file_tensor(file,counts):NULL;
status=b?oxi_importance_read_pair(m,sums,length,a,b):ox_error();}
return status;}
static ox_status oxi_importance_set_dataset(ox_llm_importance*m,const char*text,size_t length){
oxi_free(m->dataset,m->dataset_bytes);
m->dataset_bytes=length+1;
m->dataset=(char*)oxi_alloc(m->dataset_bytes);
if(!m->dataset)return OX_ERR_NOMEM;
for(size_t i=0;i<length;i++)m->dataset[i]=text[i]?text[i]:'?';
m->dataset[length]=0;
return OX_OK;}
static ox_status oxi_importance_read_gguf(ox_llm_importance*m,ox_file*file){
const ox_file_meta datasets=ox_file_meta_find(file,"imatrix.datasets");
const ox_file_meta first=ox_file_meta_element(file,&datasets,0);
ox_status status=OX_OK;
m->chunks=ox_file_meta_int(file,"imatrix.chunk_count",0);
if(first.type==OX_FILE_META_STRING)
status=oxi_importance_set_dataset(m,first.text.data,(size_t)first.text.length);
for(int64_t i=0;status==OX_OK&&i<ox_file_count(file);i++)
status=oxi_importance_read_entry(m,file,i);
return status;}
typedef struct oxi_importance_bytes{
const unsigned char*data;
size_t bytes,at;
bool ends;}oxi_importance_bytes;
static const unsigned char*oxi_importance_take(oxi_importance_bytes*b,size_t bytes){
if(b->ends||bytes>b->bytes-b->at){
b->ends=true;
return NULL;}
b->at+=bytes;
return b->data+(b->at-bytes);}
static int64_t oxi_importance_number(oxi_importance_bytes*b){
const unsigned char*p=oxi_importance_take(b,4);
const uint32_t value=p?oxi_read_u32(p):UINT32_MAX;
return value<=INT32_MAX?(int64_t)value: -1;}
static ox_status oxi_importance_read_old_entry(ox_llm_importance*m,oxi_importance_bytes*b){
const size_t start=b->at;
const int64_t length=oxi_importance_number(b);
const unsigned char*name=length>0?oxi_importance_take(b,(size_t)length):NULL;
const int64_t calls=oxi_importance_number(b),count=oxi_importance_number(b);
const unsigned char*numbers=count>0?oxi_importance_take(b,4*(size_t)count):NULL;
if(!name|| !numbers||calls<0||memchr(name,0,(size_t)length))
return oxi_fail(OX_ERR_FORMAT,"llm_importance: offset %lld: no importance matrix, or one that ends",
 (long long)start);
oxi_importance_entry*e=oxi_importance_add(m,(const char*)name,(size_t)length,count,1);
if(!e)return ox_error();
for(int64_t i=0;i<count;i++){
const uint32_t bits=oxi_read_u32(numbers+4*i);
memcpy(&e->sum[i],&bits,4);
if(!oxi_is_sum(e->sum[i]))
return oxi_fail(OX_ERR_FORMAT,"llm_importance: %s has a sum of %g",OXI_QUOTE(e->name),(double)e->sum[i]);}
oxi_importance_counts(e)[0]=calls>0?(float)calls:1;
return OX_OK;}
static ox_status oxi_importance_read_old(ox_llm_importance*m,const unsigned char*data,size_t bytes){
oxi_importance_bytes b={data,bytes,0,false};
const int64_t count=oxi_importance_number(&b);
ox_status status=OX_OK;
if(count<1)return oxi_fail(OX_ERR_FORMAT,"llm_importance: no importance matrix");
for(int64_t i=0;status==OX_OK&&i<count;i++)status=oxi_importance_read_old_entry(m,&b);
if(status!=OX_OK)return status;
const int64_t chunks=oxi_importance_number(&b),length=oxi_importance_number(&b);
const unsigned char*name=length>0?oxi_importance_take(&b,(size_t)length):NULL;
m->chunks=chunks>0?chunks:0;
return name?oxi_importance_set_dataset(m,(const char*)name,(size_t)length):OX_OK;}
static ox_status oxi_importance_read(ox_llm_importance*m,const char*path){
oxi_mapping mapping;
ox_status status=oxi_map_file(path,true,&mapping);
if(status!=OX_OK)return status;
if(mapping.bytes<4||memcmp(mapping.data,"GGUF",4)!=0){
status=oxi_importance_read_old(m,mapping.data,mapping.bytes);}else{
ox_file*file=oxi_open_memory(path,mapping.data,mapping.bytes,ox_cpu());
status=file?oxi_importance_read_gguf(m,file):ox_error();
ox_file_close(file);}
oxi_unmap_file(&mapping);
if(status==OX_OK&&m->count==0)
status=oxi_fail(OX_ERR_FORMAT,"llm_importance: %s has no importance matrix",oxi_path_text(path));
return status==OX_OK?oxi_importance_sort(m):status;}
OX_API ox_llm_importance*ox_llm_importance_open(const char*path){
if(!path){
(void)oxi_fail_missing("llm_importance_open: the path");
return NULL;}
ox_llm_importance*m=(ox_llm_importance*)oxi_calloc(1,sizeof*m);
if(!m)return NULL;
if(oxi_importance_read(m,path)==OX_OK)return m;
ox_llm_importance_close(m);
return NULL;}
/* >>llm/quantize/collect.c */
static oxi_lock oxi_importance_lock;
static ox_llm_importance*oxi_importance_listening;
static ox_status oxi_importance_square(ox_tensor*x,float*sum,int64_t columns,float*count){
ox_status status=OX_OK;
OX_SCOPE{
const int64_t rows=ox_numel(x)/columns;
ox_tensor*plain=ox_device_of(x)==ox_cpu()?x:ox_to(x,ox_cpu());
plain=ox_contiguous(ox_cast(plain,OX_F32));
const float*p=plain?(const float*)ox_data(plain):NULL;
if(!p)status=ox_error();
for(int64_t r=0;p&&r<rows;r++,p +=columns)
for(int64_t i=0;i<columns;i++)sum[i]+=p[i]*p[i];
*count+=(float)rows;}
for(int64_t i=0;status==OX_OK&&i<columns;i++)
if(!oxi_is_sum(sum[i]))status=oxi_fail(OX_ERR_FORMAT,"llm_importance: inputs are not finite");
return status;}
static void oxi_importance_hear_for(ox_llm_importance*m,const oxi_call*call){
for(size_t i=0;i<m->count&&m->status==OX_OK;i++){
oxi_importance_entry*e= &m->entries[i];
if(e->weight!=call->in[1])continue;
if(call->in[0]->shape[call->in[0]->ndim-1]==e->columns)
m->status=oxi_importance_square(call->in[0],e->sum,e->columns,oxi_importance_counts(e));
return;}}
static void oxi_importance_hear(oxi_listener*self,const oxi_call*call,ox_device*device,ox_status status){
(void)self,(void)device;
if(status!=OX_OK||call->op!=OXI_OP_linear||call->in[0]->ndim<1)return;
oxi_lock_take(&oxi_importance_lock);
for(ox_llm_importance*m=oxi_importance_listening;m;m=m->next)oxi_importance_hear_for(m,call);
oxi_lock_give(&oxi_importance_lock);}
static oxi_listener oxi_importance_listener={NULL,oxi_importance_hear,NULL};
static ox_status oxi_importance_name_weights(ox_llm_importance*m,const ox_llm*model){
for(int64_t layer=0;layer<model->config.layers;layer++)
for(int role=0;role<OXI_LLM_LAYER_ROLES;role++){
const ox_tensor*weight=model->layers[layer].part[role].weight;
char name[96];
if(!weight||weight->ndim!=2||weight->shape[1]<1)continue;
const int length=snprintf(name,sizeof name,"blk.%lld.%s.weight",(long long)layer,
 oxi_llm_layer_parts[role].name);
oxi_importance_entry*e=oxi_importance_add(m,name,(size_t)length,weight->shape[1],1);
if(!e)return ox_error();
e->weight=weight;}
return oxi_importance_sort(m);}
OX_API ox_llm_importance*ox_llm_importance_collect(ox_llm*model){
if(!model){
(void)oxi_fail_missing("llm_importance_collect: the model");
return NULL;}
ox_llm_importance*m=(ox_llm_importance*)oxi_calloc(1,sizeof*m);
if(!m)return NULL;
if(oxi_importance_name_weights(m,model)!=OX_OK){
ox_llm_importance_close(m);
return NULL;}
if(!oxi_listen(&oxi_importance_listener)){
(void)oxi_fail(OX_ERR_UNSUPPORTED,"llm_importance_collect: too many listen");
ox_llm_importance_close(m);
return NULL;}
m->model=model;
(void)oxi_atomic_add(&model->references,1);
oxi_lock_take(&oxi_importance_lock);
m->next=oxi_importance_listening;
oxi_importance_listening=m;
oxi_lock_give(&oxi_importance_lock);
return m;}
OX_API ox_status ox_llm_importance_stop(ox_llm_importance*m){
if(!m)return oxi_fail_missing("llm_importance_stop: the importance");
if(!m->model)return m->status;
oxi_lock_take(&oxi_importance_lock);
ox_llm_importance**at= &oxi_importance_listening;
while(*at&& *at!=m)at= &(*at)->next;
if(*at)*at=m->next;
if(!oxi_importance_listening)oxi_listen_end(&oxi_importance_listener);
oxi_lock_give(&oxi_importance_lock);
for(size_t i=0;i<m->count;i++)m->entries[i].weight=NULL;
ox_llm_close(m->model);
m->model=NULL;
return m->status;}
OX_API void ox_llm_importance_close(ox_llm_importance*m){
if(!m)return;
(void)ox_llm_importance_stop(m);
for(size_t i=0;i<m->count;i++){
oxi_free(m->entries[i].sum,m->entries[i].bytes);
oxi_free(m->entries[i].name,m->entries[i].name_bytes);}
oxi_free(m->entries,m->room*sizeof*m->entries);
oxi_free(m->order,2*m->count*sizeof*m->order);
oxi_free(m->dataset,m->dataset_bytes);
oxi_free(m,sizeof*m);}
static bool oxi_is_heard(const oxi_importance_entry*e){
for(int64_t i=0;i<e->matrices;i++)
if(oxi_importance_counts(e)[i]>0)return true;
return false;}
static void oxi_importance_describe(const oxi_importance_entry*e,char*names,ox_file_entry*out){
memset(out,0,2*sizeof*out);
for(int k=0;k<2;k++,names+=e->name_bytes+8){
snprintf(names,e->name_bytes+8,"%s.%s",e->name,k?"counts":"in_sum2");
out[k].name=names;
out[k].dtype=OX_F32;
out[k].ndim=2;
out[k].shape[0]=e->matrices;
out[k].shape[1]=k?1:e->columns;}}
static ox_status oxi_importance_put(ox_gguf_writer*writer,const oxi_importance_entry*e){
ox_status status;
ox_scope scope=ox_scope_begin();
ox_tensor*sums=ox_from_floats(e->sum,OX_SHAPE(e->matrices,e->columns),OX_F32);
ox_tensor*counts=ox_from_floats(oxi_importance_counts(e),OX_SHAPE(e->matrices,1),OX_F32);
status=sums&&counts?ox_gguf_writer_put(writer,sums):ox_error();
if(status==OX_OK)status=ox_gguf_writer_put(writer,counts);
ox_scope_end(&scope);
return status;}
static uint32_t oxi_importance_chunks(const ox_llm_importance*m,int64_t chunk){
double most=0;
for(size_t i=0;i<m->count;i++)
for(int64_t j=0;j<m->entries[i].matrices;j++)
most=fmax(most,(double)oxi_importance_counts(&m->entries[i])[j]);
const double chunks=m->chunks>0?(double)m->chunks:ceil(most/(double)chunk);
return chunks<4e9?(uint32_t)chunks:UINT32_MAX;}
static ox_status oxi_importance_write(const ox_llm_importance*m,const char*path,const ox_gguf_desc*desc){
ox_gguf_writer*writer=ox_gguf_writer_open(path,desc);
ox_status status=writer?OX_OK:ox_error();
for(size_t i=0;i<m->count&&status==OX_OK;i++)
if(oxi_is_heard(&m->entries[m->order[i]]))
status=oxi_importance_put(writer,&m->entries[m->order[i]]);
if(status==OX_OK)return ox_gguf_writer_close(writer);
if(writer)oxi_gguf_writer_free(writer);
return status;}
OX_API ox_status ox_llm_importance_save(const ox_llm_importance*m,const char*path,const char*dataset,
 int64_t chunk){
if(!m|| !path)return oxi_fail_missing("llm_importance_save: the importance, or a path");
ox_string name={dataset?dataset:m->dataset?m->dataset:"",0};
name.length=(int64_t)strlen(name.data);
chunk=chunk>0&&chunk<INT32_MAX?chunk:512;
const uint32_t size=(uint32_t)chunk,chunks=oxi_importance_chunks(m,chunk);
const ox_gguf_pair pairs[]={
{"general.type",OX_GGUF_STRING,OX_GGUF_U8,-1,"imatrix"},
 {"imatrix.datasets",OX_GGUF_ARRAY,OX_GGUF_STRING,1,&name},
 {"imatrix.chunk_count",OX_GGUF_U32,OX_GGUF_U8,0,&chunks},
 {"imatrix.chunk_size",OX_GGUF_U32,OX_GGUF_U8,0,&size},};
size_t heard=0,names=0,at=0;
for(size_t i=0;i<m->count;i++){
heard+=oxi_is_heard(&m->entries[i]);
names+=2*(m->entries[i].name_bytes+8);}
if(heard==0)return oxi_fail(OX_ERR_ARG,"llm_importance_save: nothing was heard");
ox_file_entry*entries=(ox_file_entry*)oxi_alloc(2*heard*sizeof*entries);
char*text=(char*)oxi_alloc(names);
ox_status status=entries&&text?OX_OK:OX_ERR_NOMEM;
ox_gguf_desc desc={NULL,pairs,4,entries,(int64_t)(2*heard)};
for(size_t i=0,n=0;i<m->count&&status==OX_OK;i++){
const oxi_importance_entry*e= &m->entries[m->order[i]];
if(!oxi_is_heard(e))continue;
oxi_importance_describe(e,text+at,&entries[n]);
at+=2*(e->name_bytes+8);
n+=2;}
if(status==OX_OK)status=oxi_importance_write(m,path,&desc);
oxi_free(text,names);
oxi_free(entries,2*heard*sizeof*entries);
return status;}
/* >>llm/quantize/quantize.c */
typedef struct oxi_quantize_item{
ox_file_entry entry;
int64_t index,layer;
ox_dtype to;}oxi_quantize_item;
typedef struct oxi_quantize_plan{
ox_file*file;
const ox_llm_quantize_desc*desc;
oxi_quantize_item*items;
uint32_t*order;
ox_file_entry*entries;
size_t count;
float*importance;
size_t importance_room;}oxi_quantize_plan;
static bool oxi_pattern_begins(const char*pattern,const char*text){
const char*star=NULL,*from=text;
while(true){
if(*pattern=='*'){
star= ++pattern;
from=text;}else if(*pattern==0||(*pattern=='$'&& !pattern[1]&& !*text)){
return true;}else if(*text&&(*pattern=='?'|| *pattern== *text)){
pattern++;
text++;}else if(star&& *from){
pattern=star;
text= ++from;}else{
return false;}}}
static bool oxi_pattern_fits(const char*pattern,const char*text){
if(*pattern=='^')return oxi_pattern_begins(pattern+1,text);
do
if(oxi_pattern_begins(pattern,text))return true;
while(*text++);
return false;}
static ox_status oxi_quantize_check_desc(const char*from,const char*to,const ox_llm_quantize_desc*desc){
if(!from|| !to|| !desc|| !desc->mix)
return oxi_fail_missing(!desc|| !desc->mix?"llm_quantize: the mix":"llm_quantize: a path");
if(strcmp(from,to)==0)return oxi_fail(OX_ERR_ARG,"llm_quantize: a file cannot become itself");
if(oxi_mix_by_name(desc->mix)==OXI_MIX_COUNT)
return oxi_fail(strncmp(desc->mix,"IQ",2)==0?OX_ERR_UNSUPPORTED:OX_ERR_ARG,
 "llm_quantize: there is no mix %s",OXI_QUOTE(desc->mix));
if(desc->rule_count<0||(desc->rule_count>0&& !desc->rules))
return oxi_fail(OX_ERR_ARG,"llm_quantize: %lld rules",(long long)desc->rule_count);
for(int64_t i= -2;i<desc->rule_count;i++){
const ox_dtype dtype=i== -2?desc->output:i== -1?desc->embedding:desc->rules[i].dtype;
if(i>=0&& !desc->rules[i].pattern)return oxi_fail_missing("llm_quantize: a rule's pattern");
if((i>=0||dtype!=OX_DTYPE_NONE)&& !oxi_is_written(dtype))
return oxi_fail(OX_ERR_UNSUPPORTED,"llm_quantize: nothing is quantized to %s",ox_dtype_name(dtype));}
return OX_OK;}
static ox_dtype oxi_quantize_ruled(const ox_llm_quantize_desc*desc,const char*name){
for(int64_t i=0;i<desc->rule_count;i++)
if(oxi_pattern_fits(desc->rules[i].pattern,name))return desc->rules[i].dtype;
return OX_DTYPE_NONE;}
static ox_dtype oxi_quantize_choose(const ox_llm_quantize_desc*desc,oxi_mix_model*model,
 const ox_file_entry*entry){
const ox_dtype main=oxi_mixes[model->mix].dtype;
const int part=oxi_mix_part(entry->name);
if(model->mix==OXI_MIX_COPY|| !oxi_is_quantizable(entry))return entry->dtype;
if(part==OXI_PART_OUTPUT&&desc->keep_output)return entry->dtype;
const ox_dtype ruled=oxi_is_block(main)?oxi_quantize_ruled(desc,entry->name):OX_DTYPE_NONE;
ox_dtype to=main;
if(part==OXI_PART_EMBEDDING&&desc->embedding)
to=desc->embedding;
else if(part==OXI_PART_OUTPUT&&desc->output)
to=desc->output;
else if(ruled)
to=ruled;
else if(part==OXI_PART_EMBEDDING&&model->tied&&desc->output&&oxi_is_block(main))
to=desc->output;
else if(oxi_is_block(main)&& !desc->pure)
to=oxi_mix_choose(model,entry,part);
return oxi_mix_fit(to,entry->shape[entry->ndim-1]);}
static int oxi_quantize_compare(const void*user,uint32_t a,uint32_t b){
const oxi_quantize_item*items=(const oxi_quantize_item*)user;
if(items[a].layer!=items[b].layer)return items[a].layer<items[b].layer? -1:1;
return strcmp(items[a].entry.name,items[b].entry.name);}
static ox_status oxi_quantize_list(oxi_quantize_plan*plan){
const size_t count=(size_t)ox_file_count(plan->file);
plan->count=count;
plan->items=(oxi_quantize_item*)oxi_calloc(count,sizeof*plan->items);
plan->entries=(ox_file_entry*)oxi_calloc(count,sizeof*plan->entries);
plan->order=(uint32_t*)oxi_calloc(2*count,sizeof*plan->order);
if(!plan->items|| !plan->entries|| !plan->order)return OX_ERR_NOMEM;
for(size_t i=0;i<count;i++){
oxi_quantize_item*item= &plan->items[i];
const ox_status status=ox_file_get_entry(plan->file,(int64_t)i,&item->entry);
if(status!=OX_OK)return status;
item->index=(int64_t)i;
item->layer=oxi_layer_of(item->entry.name);
plan->order[i]=(uint32_t)i;}
oxi_sort_indexes(plan->order,plan->order+count,(uint32_t)count,oxi_quantize_compare,plan->items);
return OX_OK;}
static int64_t oxi_quantize_matrices(const ox_file_entry*entry){
return entry->ndim>2?entry->shape[entry->ndim-3]:1;}
static ox_status oxi_quantize_find_importance(const oxi_quantize_plan*plan,const oxi_quantize_item*item,
 const oxi_importance_entry**out){
const ox_file_entry*entry= &item->entry;
const oxi_importance_entry*e=oxi_importance_find(plan->desc->importance,entry->name);
*out=NULL;
if(!e||item->to==entry->dtype|| !oxi_is_block(item->to))return OX_OK;
if(entry->ndim<=3&&e->columns*e->matrices==entry->shape[entry->ndim-1]*oxi_quantize_matrices(entry))
*out=e;
else if(oxi_mix_part(entry->name)!=OXI_PART_EMBEDDING)
return oxi_fail(OX_ERR_FORMAT,"llm_quantize: %s: importance of %lld columns, it has %lld",
 OXI_QUOTE(entry->name),(long long)(e->columns*e->matrices),(long long)entry->shape[entry->ndim-1]);
return OX_OK;}
static ox_status oxi_quantize_check_item(const oxi_quantize_plan*plan,const oxi_quantize_item*item,
 oxi_mix mix){
const ox_file_entry*entry= &item->entry;
const oxi_importance_entry*importance;
const int part=oxi_mix_part(entry->name);
if(entry->dtype==OX_DTYPE_NONE)
return oxi_fail(OX_ERR_UNSUPPORTED,"llm_quantize: %s is of a type that cannot be read",
 OXI_QUOTE(entry->name));
if(item->to==entry->dtype)return OX_OK;
const ox_dtype_class cls=ox_dtype_get_info(entry->dtype)->cls;
if(cls==OX_CLASS_BLOCK&& !plan->desc->requantize)
return oxi_fail(OX_ERR_UNSUPPORTED,"llm_quantize: %s is %s already",OXI_QUOTE(entry->name),
 ox_dtype_name(entry->dtype));
if(cls!=OX_CLASS_BLOCK&&cls!=OX_CLASS_FLOAT)
return oxi_fail(OX_ERR_DTYPE,"llm_quantize: %s is %s",OXI_QUOTE(entry->name),ox_dtype_name(entry->dtype));
const ox_status status=oxi_quantize_find_importance(plan,item,&importance);
if(status!=OX_OK||importance)return status;
if(mix==OXI_MIX_Q2_K_S&&item->to==OX_Q2_K&&part!=OXI_PART_OUTPUT&&part!=OXI_PART_EMBEDDING)
return oxi_fail(OX_ERR_NOT_FOUND,"llm_quantize: Q2_K_S needs the importance of %s",OXI_QUOTE(entry->name));
return OX_OK;}
static ox_status oxi_quantize_make_plan(oxi_quantize_plan*plan,oxi_mix mix){
oxi_mix_model model;
ox_status status=oxi_quantize_list(plan);
if(status!=OX_OK)return status;
if(ox_file_meta_int(plan->file,"split.count",0)>1)
return oxi_fail(OX_ERR_UNSUPPORTED,"llm_quantize: the file is a part of a split one");
oxi_mix_read(&model,plan->file,mix,plan->desc->importance!=NULL);
for(size_t i=0;i<plan->count&&status==OX_OK;i++){
oxi_quantize_item*item= &plan->items[plan->order[i]];
item->to=oxi_quantize_choose(plan->desc,&model,&item->entry);
plan->entries[i]=item->entry;
plan->entries[i].dtype=item->to;
status=oxi_quantize_check_item(plan,item,mix);}
return status;}
static ox_status oxi_quantize_importance(oxi_quantize_plan*plan,const oxi_quantize_item*item,
 const float**out){
const oxi_importance_entry*e;
ox_status status=oxi_quantize_find_importance(plan,item,&e);
*out=NULL;
if(status!=OX_OK|| !e)return status;
if(plan->importance_room<e->bytes){
oxi_free(plan->importance,plan->importance_room);
plan->importance=(float*)oxi_alloc(e->bytes);
plan->importance_room=plan->importance?e->bytes:0;
if(!plan->importance)return OX_ERR_NOMEM;}
oxi_importance_means(e,plan->importance);
*out=plan->importance;
return OX_OK;}
static ox_status oxi_quantize_put(oxi_quantize_plan*plan,ox_gguf_writer*writer,size_t index){
const oxi_quantize_item*item= &plan->items[plan->order[index]];
const float*importance=NULL;
ox_status status=oxi_quantize_importance(plan,item,&importance);
ox_llm_quantize_step step={item->entry.name,(int64_t)index,(int64_t)plan->count,item->entry.dtype,item->to,
 item->entry.bytes,0,importance!=NULL};
if(status!=OX_OK)return status;
ox_scope scope=ox_scope_begin();
ox_tensor*t=ox_file_tensor_at(plan->file,item->index);
if(t&&item->to!=t->dtype)
t=oxi_quantize_tensor(t,item->to,importance,oxi_quantize_matrices(&item->entry));
if(t)step.to_bytes=(int64_t)ox_nbytes(t);
status=t?ox_gguf_writer_put(writer,t):ox_error();
ox_scope_end(&scope);
if(status==OX_OK&&plan->desc->progress&& !plan->desc->progress(plan->desc->user,&step))
return oxi_fail(OX_ERR_ARG,"llm_quantize: the caller ended it");
return status;}
static ox_status oxi_quantize_write(oxi_quantize_plan*plan,const char*to,oxi_mix mix){
const ox_llm_importance*importance=plan->desc->importance;
const char*name=plan->desc->importance_name?plan->desc->importance_name:"";
const uint32_t version=2,file_type=(uint32_t)oxi_mixes[mix].file_type;
const uint32_t entries=importance?(uint32_t)importance->count:0;
const uint32_t chunks=importance&&importance->chunks<UINT32_MAX?(uint32_t)importance->chunks:0;
ox_gguf_pair pairs[6];
int count=0;
memset(pairs,0,sizeof pairs);
const ox_gguf_pair all[]={
{"general.quantization_version",OX_GGUF_U32,OX_GGUF_U8,0,&version},
 {"general.file_type",OX_GGUF_U32,OX_GGUF_U8,0,mix==OXI_MIX_COPY?NULL: &file_type},
 {"quantize.imatrix.file",OX_GGUF_STRING,OX_GGUF_U8,-1,importance&& *name?name:NULL},
 {"quantize.imatrix.dataset",OX_GGUF_STRING,OX_GGUF_U8,-1,importance?importance->dataset:NULL},
 {"quantize.imatrix.entries_count",OX_GGUF_U32,OX_GGUF_U8,0,importance? &entries:NULL},
 {"quantize.imatrix.chunks_count",OX_GGUF_U32,OX_GGUF_U8,0,chunks>0? &chunks:NULL},};
for(int i=0;i<6;i++)
if(all[i].value)pairs[count++]=all[i];
const ox_gguf_desc desc={plan->file,pairs,count,plan->entries,(int64_t)plan->count};
ox_gguf_writer*writer=ox_gguf_writer_open(to,&desc);
ox_status status=writer?OX_OK:ox_error();
for(size_t i=0;i<plan->count&&status==OX_OK;i++)status=oxi_quantize_put(plan,writer,i);
if(status==OX_OK)return ox_gguf_writer_close(writer);
if(writer)oxi_gguf_writer_free(writer);
return status;}
OX_API ox_status ox_llm_quantize(const char*from,const char*to,const ox_llm_quantize_desc*desc){
ox_status status=oxi_quantize_check_desc(from,to,desc);
if(status!=OX_OK)return status;
oxi_quantize_plan plan;
memset(&plan,0,sizeof plan);
plan.desc=desc;
plan.file=ox_file_open(from,ox_cpu());
if(!plan.file)return ox_error();
const oxi_mix mix=oxi_mix_by_name(desc->mix);
if(strcmp(ox_file_format(plan.file),"gguf")!=0)
status=oxi_fail(OX_ERR_UNSUPPORTED,"llm_quantize: %s is no GGUF file",oxi_path_text(from));
if(status==OX_OK)status=oxi_quantize_make_plan(&plan,mix);
if(status==OX_OK)status=oxi_quantize_write(&plan,to,mix);
oxi_free(plan.importance,plan.importance_room);
oxi_free(plan.items,plan.count*sizeof*plan.items);
oxi_free(plan.entries,plan.count*sizeof*plan.entries);
oxi_free(plan.order,2*plan.count*sizeof*plan.order);
ox_file_close(plan.file);
return status;}
#endif
