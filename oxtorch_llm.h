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
 *     ox_llm_sampler        logits to the next id: greedy, temperature, top_k, top_p, min_p
 *     ox_gguf_writer    GGUF files: metadata of every type, tensors of every dtype that the format has
 *
 * A PROMPT FROM MESSAGES
 *     ox_llm_template *t = ox_llm_template_open(chat_template, -1);      its Jinja source
 *     char *prompt = ox_llm_template_render(t, "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}],"
 *                                              " \"add_generation_prompt\": true}", -1, NULL, NULL);
 *     if (!prompt) puts(ox_error_text());                                line, column and what is wrong
 *     ox_llm_template_free(prompt);
 *     ox_llm_template_close(t);
 *
 * WHAT IT READS
 *     GGUF files of the architecture "llama" (LLaMA 1 to 3, TinyLlama, Mistral 7B and others that are stored
 *     as such), every float and block weight type that oxtorch.h reads; SentencePiece tokenizers.
 *
 * WHAT IT DOES NOT, and says so in words when it is asked to
 *     Other architectures, mixtures of experts, rope scaling other than linear and per-frequency factors,
 *     byte-level BPE tokenizers (LLaMA 3: ids work, text does not).
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
 * kinds     tokenizer.ggml.model "llama": SentencePiece, merging by score, with byte fallback
 * errors    NULL: OX_ERR_NOT_FOUND a key is missing; OX_ERR_FORMAT a bad value; OX_ERR_UNSUPPORTED another
 *           kind; OX_ERR_NOMEM. untrusted input: yes */
OX_API ox_tokenizer *ox_tokenizer_open(const ox_file *file);
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

/* ox_tokenizer_piece - the bytes that `token` adds to the text after `previous` (-1 = at its start).
 * May be part of a UTF-8 character (byte tokens). Control and unknown tokens add nothing; the space that
 * encoding puts before a text is taken off again. Ids out of range: length 0. Valid like the tokenizer. */
OX_API ox_string ox_tokenizer_piece(const ox_tokenizer *tokenizer, int32_t previous, int32_t token);
/* The pieces of `count` ids into `out`, at most `room` bytes with a final 0 (NULL with room 0 to measure).
 * Returns the length of the whole text. */
OX_API size_t ox_tokenizer_decode(const ox_tokenizer *tokenizer, const int32_t *tokens, int64_t count,
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
    OX_TOKEN_ROLE_COUNT
} ox_token_role;
OX_API int32_t ox_tokenizer_role(const ox_tokenizer *tokenizer, ox_token_role which); /* -1 = it has none */
/* Whether generation should stop at this token: EOS, EOT, or BOS, which starts another text. */
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
 * escapes, raise_exception, strftime_now. No includes, no inheritance. */

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
    const char *architecture; /* "llama" */
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
    int64_t parameters;
    int64_t bytes; /* of the weights, as they lie in the file */
} ox_llm_config;

/* ox_llm_open - a model from a GGUF file; its weights stay in the mapped file.
 *   device    where it computes; NULL = CPU
 * dtypes    weights of any float or block type that ox_linear takes
 * errors    NULL: OX_ERR_IO; OX_ERR_FORMAT bad or contradicting sizes; OX_ERR_NOT_FOUND a key or tensor is
 *           missing; OX_ERR_SHAPE, OX_ERR_DTYPE of a tensor; OX_ERR_UNSUPPORTED another architecture,
 *           experts, a rope scaling other than linear; OX_ERR_NOMEM. untrusted input: yes */
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
/* Forgets all positions from `length` on. errors OX_ERR_ARG more than there are */
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

#endif /* OX_TORCH_LLM_H */

/* From here on the text is packed: comments, blank lines and indentation are left out. To read it, see
 * src/ in the repository: what stands behind the mark >>base/error.c here is src/base/error.c there. */
#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_LLM_IMPLEMENTED) && !defined(OX_NO_STDIO)
#define OX_TORCH_LLM_IMPLEMENTED
/* >>llm/internal.h */
#ifndef OX_LLM_INTERNAL_H
#define OX_LLM_INTERNAL_H
static ox_status oxi_llm_meta_int(const ox_file*file,const char*key,int64_t low,int64_t high,
 int64_t otherwise,int64_t*out);
static ox_status oxi_llm_meta_bool(const ox_file*file,const char*key,bool otherwise,bool*out);
static bool oxi_llm_text_is(ox_string text,const char*expected);
static void oxi_llm_copy_text(ox_string text,char*out,size_t room);
typedef struct oxi_marker_node{
int32_t child;
int32_t shorter;
int32_t user;
int32_t any;
uint8_t byte;}oxi_marker_node;
typedef struct oxi_vocabulary{
int64_t count;
size_t*start;
char*texts;
char*pieces;
size_t*piece_length;
uint8_t*type;
float*score;
size_t longest;
int32_t*slots;
size_t slot_count;
uint64_t key[2];
oxi_marker_node*nodes;
int32_t node_count;
int32_t byte_token[256];}oxi_vocabulary;
static ox_status oxi_vocabulary_read(oxi_vocabulary*v,const ox_file*file,bool needs_scores);
static void oxi_vocabulary_free(oxi_vocabulary*v);
static int32_t oxi_vocabulary_find(const oxi_vocabulary*v,const char*text,size_t length);
static void oxi_vocabulary_markers(const oxi_vocabulary*v,const char*text,size_t length,bool control,
 int32_t*out);
static size_t oxi_vocabulary_length(const oxi_vocabulary*v,int32_t token);
typedef struct oxi_token_list{
int32_t*out;
int64_t room,count;}oxi_token_list;
static void oxi_token_push(oxi_token_list*list,int32_t token);
typedef struct oxi_tokenizer_kind{
const char*name;
bool needs_scores;
bool add_bos,add_eos,space_prefix;
int32_t special[OX_TOKEN_ROLE_COUNT];
ox_status(*encode)(const ox_tokenizer*tokenizer,const char*text,size_t length,bool first,
 oxi_token_list*list);}oxi_tokenizer_kind;
struct ox_tokenizer{
const oxi_tokenizer_kind*kind;
bool add_bos,add_eos,space_prefix;
int32_t special[OX_TOKEN_ROLE_COUNT];
oxi_vocabulary vocabulary;};
static ox_status oxi_spm_encode(const ox_tokenizer*tokenizer,const char*text,size_t length,bool first,
 oxi_token_list*list);
static const oxi_tokenizer_kind*oxi_tokenizer_kind_of(const ox_file*file);
#define OXI_LLM_SIZE_LIST(X) \
X(NONE) \
X(VOCABULARY) \
X(WIDTH) \
X(HIDDEN)X(QUERIES) \
X(KEYS) \
X(VALUES) \
X(MERGED) \
X(PAIRS)
#define OXI_LLM_MODEL_WEIGHT_LIST(X) \
X(EMBEDDING,"token_embd.weight",VOCABULARY,WIDTH) \
X(OUTPUT_NORM,"output_norm.weight",NONE,WIDTH) \
X(OUTPUT,"output.weight",VOCABULARY,WIDTH) \
X(ROPE_FACTORS,"rope_freqs.weight",NONE,PAIRS)
#define OXI_LLM_LAYER_WEIGHT_LIST(X) \
X(ATTENTION_NORM,"attn_norm.weight",NONE,WIDTH) \
X(QUERY,"attn_q.weight",QUERIES,WIDTH) \
X(KEY,"attn_k.weight",KEYS,WIDTH) \
X(VALUE,"attn_v.weight",VALUES,WIDTH) \
X(MERGE,"attn_output.weight",WIDTH,MERGED) \
X(QUERY_BIAS,"attn_q.bias",NONE,QUERIES) \
X(KEY_BIAS,"attn_k.bias",NONE,KEYS) \
X(VALUE_BIAS,"attn_v.bias",NONE,VALUES) \
X(MERGE_BIAS,"attn_output.bias",NONE,WIDTH) \
X(HIDDEN_NORM,"ffn_norm.weight",NONE,WIDTH) \
X(GATE,"ffn_gate.weight",HIDDEN,WIDTH) \
X(UP,"ffn_up.weight",HIDDEN,WIDTH) \
X(DOWN,"ffn_down.weight",WIDTH,HIDDEN)
typedef enum oxi_llm_size{
#define OXI_X(size)OXI_LLM_SIZE_##size,
OXI_LLM_SIZE_LIST(OXI_X)
#undef OXI_X
OXI_LLM_SIZE_COUNT}oxi_llm_size;
#define OXI_X(role,name,rows,columns)OXI_LLM_##role,
typedef enum oxi_llm_model_weight{
OXI_LLM_MODEL_WEIGHT_LIST(OXI_X)OXI_LLM_MODEL_WEIGHT_COUNT}oxi_llm_model_weight;
typedef enum oxi_llm_layer_weight{
OXI_LLM_LAYER_WEIGHT_LIST(OXI_X)OXI_LLM_LAYER_WEIGHT_COUNT}oxi_llm_layer_weight;
#undef OXI_X
typedef struct oxi_llm_architecture{
const char*name;
const char*norm_epsilon;
uint32_t model_weights,layer_weights;
uint32_t model_optional,layer_optional;
bool rope_interleaved;
ox_tensor*(*norm)(ox_tensor*x,int last_dims,ox_tensor*weight,double epsilon);
ox_tensor*(*gate)(ox_tensor*gate,ox_tensor*up);}oxi_llm_architecture;
typedef struct oxi_llm_layer{
ox_tensor*weight[OXI_LLM_LAYER_WEIGHT_COUNT];}oxi_llm_layer;
struct ox_llm{
int64_t references;
const oxi_llm_architecture*architecture;
ox_llm_config config;
ox_device*device;
ox_tokenizer*tokenizer;
char tokenizer_name[32];
ox_tensor*weight[OXI_LLM_MODEL_WEIGHT_COUNT];
oxi_llm_layer*layers;};
enum{OXI_LLM_TRIES=8};
struct ox_llm_context{
ox_llm*model;
int64_t capacity,length,batch;
int32_t pending;
ox_dtype dtype;
ox_tensor**keys,**values;
ox_tensor*next;
int64_t ahead,ahead_at;
int not_ahead;};
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
/* >>llm/vocabulary.c */
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
static size_t oxi_vocabulary_length(const oxi_vocabulary*v,int32_t token){
return v->start[token+1]-v->start[token];}
static ox_status oxi_vocabulary_read_texts(oxi_vocabulary*v,const ox_file*file){
ox_file_meta tokens;
const ox_status status=oxi_vocabulary_array(file,"tokenizer.ggml.tokens",OX_FILE_META_STRING,
 OX_FILE_META_STRING,-1,&tokens);
if(status)return status;
if(tokens.count<1||tokens.count>INT32_MAX/4){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: a vocabulary of %lld tokens",(long long)tokens.count);}
v->start=(size_t*)oxi_calloc((size_t)tokens.count+1,sizeof*v->start);
if(!v->start)return OX_ERR_NOMEM;
v->count=tokens.count;
for(int64_t i=0;i<v->count;i++){
const ox_string text=ox_file_meta_element(file,&tokens,i).text;
if(text.length<0|| !oxi_add_size(v->start[i],(size_t)text.length,&v->start[i+1])){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: the texts of all tokens are too long");}
if((size_t)text.length>v->longest)v->longest=(size_t)text.length;}
v->texts=(char*)oxi_alloc(v->start[v->count]);
if(!v->texts)return OX_ERR_NOMEM;
for(int64_t i=0;i<v->count;i++){
const size_t length=v->start[i+1]-v->start[i];
if(length)memcpy(v->texts+v->start[i],ox_file_meta_element(file,&tokens,i).text.data,length);}
return OX_OK;}
static ox_status oxi_vocabulary_read_types(oxi_vocabulary*v,const ox_file*file){
const char*key="tokenizer.ggml.token_type";
v->type=(uint8_t*)oxi_calloc((size_t)v->count,sizeof*v->type);
if(!v->type)return OX_ERR_NOMEM;
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
static ox_status oxi_vocabulary_read_scores(oxi_vocabulary*v,const ox_file*file){
ox_file_meta scores;
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
static int oxi_byte_of_text(const char*text,size_t length){
if(length!=6||memcmp(text,"<0x",3)!=0||text[5]!='>')return-1;
const int high=oxi_hex_digit(text[3]),low=oxi_hex_digit(text[4]);
return high<0||low<0? -1:high*16+low;}
static size_t oxi_vocabulary_piece(ox_token_type type,int byte,const char*text,size_t length,char*out){
if(type==OX_TOKEN_CONTROL||type==OX_TOKEN_UNKNOWN)return 0;
if(byte>=0){
out[0]=(char)byte;
return 1;}
if(type==OX_TOKEN_USER_DEFINED){
if(length)memcpy(out,text,length);
return length;}
size_t written=0;
for(size_t i=0;i<length;i++){
if(length-i>=3&&memcmp(text+i,"\xe2\x96\x81",3)==0){
out[written++]=' ';
i+=2;}else{
out[written++]=text[i];}}
return written;}
static ox_status oxi_vocabulary_make_pieces(oxi_vocabulary*v,bool typed){
v->pieces=(char*)oxi_alloc(v->start[v->count]);
v->piece_length=(size_t*)oxi_alloc((size_t)v->count*sizeof*v->piece_length);
if(!v->pieces|| !v->piece_length)return OX_ERR_NOMEM;
for(int b=0;b<256;b++)v->byte_token[b]= -1;
for(int32_t i=0;i<v->count;i++){
const char*text=v->texts+v->start[i];
const size_t length=oxi_vocabulary_length(v,i);
const bool may_be_byte= !typed||v->type[i]==OX_TOKEN_BYTE;
const int byte=may_be_byte?oxi_byte_of_text(text,length): -1;
if(typed&&may_be_byte&&byte<0){
return oxi_fail(OX_ERR_FORMAT,"tokenizer: token %d is a byte token, but its text is not <0x..>",(int)i);}
if(byte>=0)v->byte_token[byte]=i;
v->piece_length[i]=oxi_vocabulary_piece((ox_token_type)v->type[i],byte,text,length,v->pieces+v->start[i]);}
return OX_OK;}
static size_t oxi_vocabulary_slot(const oxi_vocabulary*v,const char*text,size_t length){
size_t slot=(size_t)oxi_keyed_hash(v->key,text,length)&(v->slot_count-1);
while(v->slots[slot]){
const int32_t token=v->slots[slot]-1;
if(oxi_vocabulary_length(v,token)==length&&memcmp(v->texts+v->start[token],text,length)==0){
break;}
slot=(slot+1)&(v->slot_count-1);}
return slot;}
static int32_t oxi_vocabulary_find(const oxi_vocabulary*v,const char*text,size_t length){
return length&&length<=v->longest?v->slots[oxi_vocabulary_slot(v,text,length)]-1: -1;}
static ox_status oxi_vocabulary_index(oxi_vocabulary*v){
v->slot_count=16;
v->key[0]=oxi_unpredictable();
v->key[1]=oxi_unpredictable();
while(v->slot_count<(size_t)v->count*2)v->slot_count*=2;
v->slots=(int32_t*)oxi_calloc(v->slot_count,sizeof*v->slots);
if(!v->slots)return OX_ERR_NOMEM;
for(int32_t i=0;i<v->count;i++){
const size_t length=oxi_vocabulary_length(v,i);
if(length)v->slots[oxi_vocabulary_slot(v,v->texts+v->start[i],length)]=i+1;}
return OX_OK;}
static bool oxi_is_marker(const oxi_vocabulary*v,int32_t token){
const uint8_t type=v->type[token];
if(type!=OX_TOKEN_CONTROL&&type!=OX_TOKEN_UNKNOWN&&type!=OX_TOKEN_USER_DEFINED)return false;
return oxi_vocabulary_find(v,v->texts+v->start[token],oxi_vocabulary_length(v,token))==token;}
typedef struct oxi_marker_build{
oxi_vocabulary*v;
uint32_t*tokens,*order,*scratch;
uint32_t count;
uint32_t*low,*high;}oxi_marker_build;
static int32_t oxi_build_token(const oxi_marker_build*build,uint32_t place){
return(int32_t)build->tokens[build->order[place]];}
static int oxi_byte_from_end(const oxi_vocabulary*v,int32_t token,size_t depth){
const size_t length=oxi_vocabulary_length(v,token);
return depth<length?(unsigned char)v->texts[v->start[token+1]-1-depth]: -1;}
static size_t oxi_same_end(const oxi_vocabulary*v,int32_t a,int32_t b){
size_t depth=0;
while(oxi_byte_from_end(v,a,depth)>=0&&oxi_byte_from_end(v,a,depth)==oxi_byte_from_end(v,b,depth))
depth++;
return depth;}
static int oxi_compare_ends(const void*user,uint32_t a,uint32_t b){
const oxi_marker_build*build=(const oxi_marker_build*)user;
const int32_t x=(int32_t)build->tokens[a],y=(int32_t)build->tokens[b];
const size_t depth=oxi_same_end(build->v,x,y);
return oxi_byte_from_end(build->v,x,depth)-oxi_byte_from_end(build->v,y,depth);}
static uint32_t oxi_build_bound(const oxi_marker_build*build,uint32_t low,uint32_t high,size_t depth){
const int byte=oxi_byte_from_end(build->v,oxi_build_token(build,low),depth);
while(low<high){
const uint32_t middle=low+(high-low)/2;
if(oxi_byte_from_end(build->v,oxi_build_token(build,middle),depth)>byte)
high=middle;
else
low=middle +1;}
return low;}
static int32_t oxi_marker_child(const oxi_vocabulary*v,int32_t node,uint8_t byte){
int32_t low=v->nodes[node].child,high=v->nodes[node +1].child;
const int32_t end=high;
while(low<high){
const int32_t middle=low+(high-low)/2;
if(v->nodes[middle].byte<byte)
low=middle +1;
else
high=middle;}
return low<end&&v->nodes[low].byte==byte?low: -1;}
static int32_t oxi_marker_step(const oxi_vocabulary*v,int32_t node,uint8_t byte){
for(;;){
const int32_t child=oxi_marker_child(v,node,byte);
if(child>=0)return child;
if(node==0)return 0;
node=v->nodes[node].shorter;}}
static void oxi_build_child(oxi_marker_build*build,int32_t parent,size_t depth,uint32_t low,uint32_t high){
oxi_vocabulary*v=build->v;
const int32_t token=oxi_build_token(build,low),index=v->node_count++;
oxi_marker_node*node= &v->nodes[index];
build->low[index]=low;
build->high[index]=high;
node->byte=(uint8_t)oxi_byte_from_end(v,token,depth);
node->shorter=parent==0?0:oxi_marker_step(v,v->nodes[parent].shorter,node->byte);
const oxi_marker_node*shorter= &v->nodes[node->shorter];
const bool whole=oxi_vocabulary_length(v,token)==depth+1;
node->any=whole?token:shorter->any;
node->user=whole&&v->type[token]==OX_TOKEN_USER_DEFINED?token:shorter->user;}
static void oxi_build_nodes(oxi_marker_build*build){
oxi_vocabulary*v=build->v;
size_t depth=0;
int32_t level_end=1;
v->node_count=1;
v->nodes[0].any=v->nodes[0].user= -1;
build->low[0]=0;
build->high[0]=build->count;
for(int32_t i=0;i<v->node_count;i++){
if(i==level_end){
level_end=v->node_count;
depth++;}
v->nodes[i].child=v->node_count;
uint32_t at=build->low[i];
if(oxi_byte_from_end(v,oxi_build_token(build,at),depth)<0)at++;
while(at<build->high[i]){
const uint32_t end=oxi_build_bound(build,at,build->high[i],depth);
oxi_build_child(build,i,depth,at,end);
at=end;}}
v->nodes[v->node_count].child=v->node_count;}
static uint64_t oxi_build_count(const oxi_marker_build*build){
uint64_t nodes=1;
for(uint32_t i=0;i<build->count;i++){
const int32_t token=oxi_build_token(build,i);
nodes+=oxi_vocabulary_length(build->v,token);
if(i>0)nodes-=oxi_same_end(build->v,oxi_build_token(build,i-1),token);}
return nodes;}
static ox_status oxi_build_markers(oxi_marker_build*build){
oxi_vocabulary*v=build->v;
uint32_t count=0;
for(int32_t i=0;i<v->count;i++)
if(oxi_is_marker(v,i))build->tokens[count++]=(uint32_t)i;
oxi_sort_indexes(build->order,build->scratch,build->count,oxi_compare_ends,build);
const uint64_t nodes=oxi_build_count(build);
if(nodes>=INT32_MAX)return oxi_fail(OX_ERR_FORMAT,"tokenizer: the texts of all tokens are too long");
v->nodes=(oxi_marker_node*)oxi_calloc((size_t)nodes+1,sizeof*v->nodes);
build->low=(uint32_t*)oxi_calloc((size_t)nodes,2*sizeof*build->low);
const bool made=v->nodes&&build->low;
if(v->nodes)v->node_count=(int32_t)nodes;
if(made){
build->high=build->low+nodes;
oxi_build_nodes(build);}
oxi_free(build->low,(size_t)nodes*2*sizeof*build->low);
return made?OX_OK:OX_ERR_NOMEM;}
static ox_status oxi_vocabulary_find_markers(oxi_vocabulary*v){
oxi_marker_build build;
memset(&build,0,sizeof build);
build.v=v;
for(int32_t i=0;i<v->count;i++)build.count+=oxi_is_marker(v,i);
if(build.count==0)return OX_OK;
build.tokens=(uint32_t*)oxi_calloc(build.count,3*sizeof*build.tokens);
if(!build.tokens)return OX_ERR_NOMEM;
build.order=build.tokens+build.count;
build.scratch=build.order+build.count;
const ox_status status=oxi_build_markers(&build);
oxi_free(build.tokens,build.count*3*sizeof*build.tokens);
return status;}
static void oxi_vocabulary_markers(const oxi_vocabulary*v,const char*text,size_t length,bool control,
 int32_t*out){
int32_t node=0;
for(size_t at=length;at-- >0;){
node=oxi_marker_step(v,node,(uint8_t)text[at]);
out[at]=control?v->nodes[node].any:v->nodes[node].user;}}
static ox_status oxi_vocabulary_read(oxi_vocabulary*v,const ox_file*file,bool needs_scores){
const bool typed=ox_file_meta_find(file,"tokenizer.ggml.token_type").type!=OX_FILE_META_NONE;
ox_status status=oxi_vocabulary_read_texts(v,file);
if(!status)status=oxi_vocabulary_read_types(v,file);
if(!status&&needs_scores)status=oxi_vocabulary_read_scores(v,file);
if(!status)status=oxi_vocabulary_make_pieces(v,typed);
if(!status)status=oxi_vocabulary_index(v);
if(!status)status=oxi_vocabulary_find_markers(v);
return status;}
static void oxi_vocabulary_free(oxi_vocabulary*v){
const size_t count=(size_t)v->count,text_bytes=v->start?v->start[count]:0;
oxi_free(v->nodes,((size_t)v->node_count+1)*sizeof*v->nodes);
oxi_free(v->slots,v->slot_count*sizeof*v->slots);
oxi_free(v->piece_length,count*sizeof*v->piece_length);
oxi_free(v->pieces,text_bytes);
oxi_free(v->score,count*sizeof*v->score);
oxi_free(v->type,count*sizeof*v->type);
oxi_free(v->texts,text_bytes);
oxi_free(v->start,(count+1)*sizeof*v->start);}
/* >>llm/sentencepiece.c */
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
static size_t oxi_spm_normalize(const char*text,size_t length,bool prefix,char*out){
static const char space[3]={'\xe2','\x96','\x81'};
size_t written=0;
if(prefix){
memcpy(out,space,sizeof space);
written=sizeof space;}
for(size_t i=0;i<length;i++){
if(text[i]==' '){
memcpy(out+written,space,sizeof space);
written+=sizeof space;}else{
out[written++]=text[i];}}
return written;}
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
static ox_status oxi_spm_emit(const oxi_spm*spm,int32_t unknown,oxi_token_list*list){
const oxi_vocabulary*v=spm->vocabulary;
for(int32_t i=spm->symbol_count?0: -1;i>=0;i=spm->symbols[i].next){
const char*text=spm->text+spm->symbols[i].start;
const int32_t length=spm->symbols[i].length;
const int32_t token=oxi_spm_find(v,text,(size_t)length);
if(token>=0){
oxi_token_push(list,token);
continue;}
bool bytes_known=true;
for(int32_t b=0;b<length;b++)bytes_known&=v->byte_token[(unsigned char)text[b]]>=0;
if(bytes_known){
for(int32_t b=0;b<length;b++)oxi_token_push(list,v->byte_token[(unsigned char)text[b]]);
 }else if(unknown>=0){
oxi_token_push(list,unknown);}else{
return oxi_fail(OX_ERR_FORMAT,"tokenizer: no token for byte 0x%02x, and no unknown token",
 (unsigned)(unsigned char)text[0]);}}
return OX_OK;}
static ox_status oxi_spm_encode(const ox_tokenizer*tokenizer,const char*text,size_t length,bool first,
 oxi_token_list*list){
const bool prefix=first&&tokenizer->space_prefix;
const size_t room=3*(length+1);
char*normal=(char*)oxi_alloc(room);
if(!normal)return OX_ERR_NOMEM;
const size_t bytes=oxi_spm_normalize(text,length,prefix,normal);
oxi_spm spm;
memset(&spm,0,sizeof spm);
spm.vocabulary= &tokenizer->vocabulary;
spm.text=normal;
spm.symbols=(oxi_spm_symbol*)oxi_calloc(length+1,sizeof*spm.symbols);
spm.heap=(oxi_spm_pair*)oxi_calloc(length+1,3*sizeof*spm.heap);
ox_status status=OX_ERR_NOMEM;
if(spm.symbols&&spm.heap){
oxi_spm_split(&spm,bytes);
oxi_spm_merge(&spm);
status=oxi_spm_emit(&spm,tokenizer->special[OX_TOKEN_ROLE_UNKNOWN],list);}
oxi_free(spm.heap,(length+1)*3*sizeof*spm.heap);
oxi_free(spm.symbols,(length+1)*sizeof*spm.symbols);
oxi_free(normal,room);
return status;}
/* >>llm/tokenizer.c */
static const oxi_tokenizer_kind oxi_tokenizer_kinds[]={
{"llama",true,true,false,true,{-1,1,2,-1,0},oxi_spm_encode},};
static const oxi_tokenizer_kind*oxi_tokenizer_kind_of(const ox_file*file){
const ox_file_meta name=ox_file_meta_find(file,"tokenizer.ggml.model");
if(name.type!=OX_FILE_META_STRING)return NULL;
for(size_t i=0;i<sizeof oxi_tokenizer_kinds/sizeof*oxi_tokenizer_kinds;i++){
if(oxi_llm_text_is(name.text,oxi_tokenizer_kinds[i].name))return&oxi_tokenizer_kinds[i];}
return NULL;}
static ox_status oxi_tokenizer_read_special(ox_tokenizer*t,const ox_file*file,ox_token_role which,
 const char*key){
const int32_t usual=t->kind->special[which]<t->vocabulary.count?t->kind->special[which]: -1;
const ox_file_meta meta=ox_file_meta_find(file,key);
int64_t token= -1;
if(meta.type==OX_FILE_META_NONE){
token=usual;}else if(meta.type!=OX_FILE_META_UINT||meta.i!=(int64_t)UINT32_MAX){
const ox_status status=oxi_llm_meta_int(file,key,-1,t->vocabulary.count-1,-1,&token);
if(status)return status;}
t->special[which]=(int32_t)token;
return OX_OK;}
static ox_status oxi_tokenizer_read(ox_tokenizer*t,const ox_file*file){
ox_status status=oxi_vocabulary_read(&t->vocabulary,file,t->kind->needs_scores);
t->special[OX_TOKEN_ROLE_BOS]=t->special[0]= -1;
if(!status)
status=oxi_tokenizer_read_special(t,file,OX_TOKEN_ROLE_BOS,"tokenizer.ggml.bos_token_id");
if(!status)
status=oxi_tokenizer_read_special(t,file,OX_TOKEN_ROLE_EOS,"tokenizer.ggml.eos_token_id");
if(!status)
status=oxi_tokenizer_read_special(t,file,OX_TOKEN_ROLE_EOT,"tokenizer.ggml.eot_token_id");
if(!status){
status=oxi_tokenizer_read_special(t,file,OX_TOKEN_ROLE_UNKNOWN,"tokenizer.ggml.unknown_token_id");}
if(!status){
status=oxi_llm_meta_bool(file,"tokenizer.ggml.add_bos_token",t->kind->add_bos,&t->add_bos);}
if(!status){
status=oxi_llm_meta_bool(file,"tokenizer.ggml.add_eos_token",t->kind->add_eos,&t->add_eos);}
if(!status){
status=oxi_llm_meta_bool(file,"tokenizer.ggml.add_space_prefix",t->kind->space_prefix,&t->space_prefix);}
return status;}
static ox_tokenizer*oxi_tokenizer_read_file(const ox_file*file){
const oxi_tokenizer_kind*kind=oxi_tokenizer_kind_of(file);
if(!kind){
const ox_file_meta name=ox_file_meta_find(file,"tokenizer.ggml.model");
char text[32]="";
if(name.type==OX_FILE_META_STRING)oxi_llm_copy_text(name.text,text,sizeof text);
(void)(name.type==OX_FILE_META_STRING
 ?oxi_fail(OX_ERR_UNSUPPORTED,"tokenizer: the tokenizer's kind \"%s\" is not supported",text)
 :oxi_fail(OX_ERR_NOT_FOUND,"tokenizer: the file has no tokenizer.ggml.model"));
return NULL;}
ox_tokenizer*tokenizer=(ox_tokenizer*)oxi_calloc(1,sizeof*tokenizer);
if(!tokenizer)return NULL;
tokenizer->kind=kind;
if(oxi_tokenizer_read(tokenizer,file)){
ox_tokenizer_close(tokenizer);
return NULL;}
return tokenizer;}
OX_API ox_tokenizer*ox_tokenizer_open(const ox_file*file){
if(!file){
(void)oxi_fail_missing("tokenizer: the file");
return NULL;}
const bool speaks=oxi_speak_for_file(file);
ox_tokenizer*tokenizer=oxi_tokenizer_read_file(file);
oxi_speak_end(speaks);
return tokenizer;}
OX_API void ox_tokenizer_close(ox_tokenizer*tokenizer){
if(!tokenizer)return;
oxi_vocabulary_free(&tokenizer->vocabulary);
oxi_free(tokenizer,sizeof*tokenizer);}
OX_API int64_t ox_tokenizer_count(const ox_tokenizer*tokenizer){
return tokenizer?tokenizer->vocabulary.count:0;}
static bool oxi_tokenizer_has(const ox_tokenizer*tokenizer,int32_t token){
return token>=0&&token<ox_tokenizer_count(tokenizer);}
OX_API ox_token_info ox_tokenizer_get_token(const ox_tokenizer*tokenizer,int32_t token){
ox_token_info info;
memset(&info,0,sizeof info);
if(!oxi_tokenizer_has(tokenizer,token))return info;
const oxi_vocabulary*v= &tokenizer->vocabulary;
info.text.data=v->texts+v->start[token];
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
if(!oxi_tokenizer_has(tokenizer,token))return false;
return token==tokenizer->special[OX_TOKEN_ROLE_EOS]||token==tokenizer->special[OX_TOKEN_ROLE_EOT]||
 token==tokenizer->special[OX_TOKEN_ROLE_BOS];}
static void oxi_token_push(oxi_token_list*list,int32_t token){
if(list->count<list->room)list->out[list->count]=token;
list->count++;}
static ox_status oxi_tokenizer_encode_parts(const ox_tokenizer*t,const char*text,size_t length,
 const int32_t*markers,oxi_token_list*list){
size_t start=0,at=markers?0:length;
bool first=true;
while(at<length){
if(markers[at]<0){
at++;
continue;}
if(at>start){
const ox_status status=t->kind->encode(t,text+start,at-start,first,list);
if(status)return status;}
oxi_token_push(list,markers[at]);
at+=oxi_vocabulary_length(&t->vocabulary,markers[at]);
start=at;
first=true;}
return at>start?t->kind->encode(t,text+start,at-start,first,list):OX_OK;}
static ox_status oxi_tokenizer_encode_text(const ox_tokenizer*t,const char*text,size_t length,
 bool control,oxi_token_list*list){
const oxi_vocabulary*v= &t->vocabulary;
if(!v->nodes||length==0)return oxi_tokenizer_encode_parts(t,text,length,NULL,list);
int32_t*markers=(int32_t*)oxi_alloc(length*sizeof*markers);
if(!markers)return OX_ERR_NOMEM;
oxi_vocabulary_markers(v,text,length,control,markers);
const ox_status status=oxi_tokenizer_encode_parts(t,text,length,markers,list);
oxi_free(markers,length*sizeof*markers);
return status;}
OX_API int64_t ox_tokenizer_encode(const ox_tokenizer*tokenizer,const char*text,int64_t length,
 const ox_tokenizer_encode_desc*desc,int32_t*out,int64_t room){
if(!tokenizer){
(void)oxi_fail_missing("tokenizer: the tokenizer");
return-1;}
const size_t bytes= !text?0:length<0?strlen(text):(size_t)length;
if((!text&&length>0)||bytes>=(size_t)1<<28){
(void)oxi_fail(OX_ERR_ARG,"tokenizer: a text of 2^28 bytes or more, or none at all");
return-1;}
oxi_token_list list;
list.out=out;
list.room=out?room:0;
list.count=0;
const bool bare=desc&&desc->bare;
if(!bare&&tokenizer->add_bos&&tokenizer->special[OX_TOKEN_ROLE_BOS]>=0){
oxi_token_push(&list,tokenizer->special[OX_TOKEN_ROLE_BOS]);}
if(oxi_tokenizer_encode_text(tokenizer,text,bytes,desc&&desc->parse_special,&list))return-1;
if(!bare&&tokenizer->add_eos&&tokenizer->special[OX_TOKEN_ROLE_EOS]>=0){
oxi_token_push(&list,tokenizer->special[OX_TOKEN_ROLE_EOS]);}
return list.count;}
OX_API ox_string ox_tokenizer_piece(const ox_tokenizer*tokenizer,int32_t previous,int32_t token){
ox_string piece;
piece.data="";
piece.length=0;
if(!oxi_tokenizer_has(tokenizer,token))return piece;
const oxi_vocabulary*v= &tokenizer->vocabulary;
piece.data=v->pieces+v->start[token];
piece.length=(int64_t)v->piece_length[token];
const uint8_t before=oxi_tokenizer_has(tokenizer,previous)?v->type[previous]:(uint8_t)OX_TOKEN_CONTROL;
const bool first=before==OX_TOKEN_CONTROL||before==OX_TOKEN_USER_DEFINED;
if(first&&tokenizer->space_prefix&&v->type[token]!=OX_TOKEN_USER_DEFINED&&piece.length>0&&
 piece.data[0]==' '){
piece.data++;
piece.length--;}
return piece;}
OX_API size_t ox_tokenizer_decode(const ox_tokenizer*tokenizer,const int32_t*tokens,int64_t count,
 char*out,size_t room){
size_t length=0;
int32_t previous= -1;
if(!tokenizer)(void)oxi_fail_missing("tokenizer: the tokenizer");
if(!tokens&&count>0)(void)oxi_fail_missing("tokenizer: the list of tokens");
for(int64_t i=0;tokens&&i<count;i++){
const ox_string piece=ox_tokenizer_piece(tokenizer,previous,tokens[i]);
for(int64_t b=0;b<piece.length;b++,length++){
if(length+1<room)out[length]=piece.data[b];}
previous=tokens[i];}
if(room)out[length<room?length:room-1]=0;
return length;}
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
 OXI_JINJA_DICT,OXI_JINJA_NAMESPACE,OXI_JINJA_LOOP,OXI_JINJA_MACRO,OXI_JINJA_FUNCTION,OXI_JINJA_TYPE_COUNT
 }oxi_jinja_type;
typedef struct oxi_jinja oxi_jinja;
typedef struct oxi_jinja_node oxi_jinja_node;
typedef struct oxi_jinja_list oxi_jinja_list;
typedef struct oxi_jinja_dict oxi_jinja_dict;
typedef struct oxi_jinja_loop oxi_jinja_loop;
typedef struct oxi_jinja_macro oxi_jinja_macro;
typedef struct oxi_jinja_bound oxi_jinja_bound;
typedef struct oxi_jinja_value{
uint32_t type;
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
 OXI_JINJA_BREAK,OXI_JINJA_CONTINUE}oxi_jinja_kind;
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
int64_t now;};
struct ox_llm_template{
oxi_jinja_block*blocks;
size_t memory;
oxi_jinja_dict symbols;
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
typedef struct oxi_jinja_json_style{
bool ascii,sorted,indented;
oxi_jinja_value indent,comma,colon;}oxi_jinja_json_style;
static void oxi_jinja_write_json(oxi_jinja*j,oxi_jinja_value v,const oxi_jinja_json_style*style,int level);
static void oxi_jinja_write_float(oxi_jinja*j,double f);
static void oxi_jinja_write_int(oxi_jinja*j,int64_t i);
static uint32_t oxi_jinja_code(const char*text,size_t length,size_t*at);
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
oxi_jinja_dict*symbols;
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
static uint32_t oxi_jinja_code(const char*text,size_t length,size_t*at){
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
v.type=(uint32_t)type;
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
 "range","view","generator","dict","namespace","LoopContext","macro","function"};
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
(void)oxi_jinja_code(v.as.text,v.length,&at);
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
const uint32_t code=oxi_jinja_code(v.as.text,v.length,&at);
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
case OXI_JINJA_STRING:oxi_jinja_write_quoted(j,v);break;
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
const uint32_t code=oxi_jinja_code(v.as.text,v.length,&at);
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
if(!oxi_jinja_is_space(oxi_jinja_code(p->source,p->length,&next)))break;
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
if(!oxi_jinja_is_space(oxi_jinja_code(p->source,p->length,&next)))break;
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
 {"break",OXI_JINJA_BREAK,oxi_jinja_parse_jump},{"continue",OXI_JINJA_CONTINUE,oxi_jinja_parse_jump},};
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
return j->status?a:oxi_jinja_join_texts(j,a,b);}
if(oxi_jinja_is_number(a)&&oxi_jinja_is_number(b)){
const bool floats=a.type==OXI_JINJA_FLOAT||b.type==OXI_JINJA_FLOAT;
if(floats||operation==OXI_JINJA_DIVIDE||(operation==OXI_JINJA_POWER&&b.as.i<0))
return oxi_jinja_float_operation(j,operation,oxi_jinja_number(a),oxi_jinja_number(b));
return oxi_jinja_int_operation(j,operation,a.as.i,b.as.i);}
const bool a_repeats=a.type==OXI_JINJA_STRING||a.type==OXI_JINJA_LIST||a.type==OXI_JINJA_TUPLE;
const bool b_repeats=b.type==OXI_JINJA_STRING||b.type==OXI_JINJA_LIST||b.type==OXI_JINJA_TUPLE;
if(operation==OXI_JINJA_ADD&&a.type==b.type&&a_repeats)
return a.type==OXI_JINJA_STRING?oxi_jinja_join_texts(j,a,b):oxi_jinja_append_lists(j,a,b);
if(operation==OXI_JINJA_MULTIPLY){
if(a_repeats&&(b.type==OXI_JINJA_INT||b.type==OXI_JINJA_BOOL))
return oxi_jinja_repeat(j,a,b.as.i);
if(b_repeats&&(a.type==OXI_JINJA_INT||a.type==OXI_JINJA_BOOL))
return oxi_jinja_repeat(j,b,a.as.i);}
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
(void)oxi_jinja_code(v.as.text,v.length,&end);
return oxi_jinja_text(v.as.text+start,end-start);}
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
if(v.type==OXI_JINJA_STRING)return oxi_jinja_slice_text(j,v,start,stop,step);
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
static void oxi_jinja_percent_one(oxi_jinja*j,oxi_jinja_value v,oxi_jinja_spec*spec){
const char type=spec->type;
if(type=='s'||type=='r'){
oxi_jinja_write_cut(j,type=='s'?oxi_jinja_string(j,v):oxi_jinja_repr(j,v),spec,'>');
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
oxi_jinja_percent_one(j,v,&spec);}
const bool may_be_left=values.type==OXI_JINJA_DICT||values.type==OXI_JINJA_LIST;
if(!may_be_left&&used<(several?values.as.list->count:1))
return oxi_jinja_fail(j,"too many values for a format");
return oxi_jinja_take(j,start);}
static void oxi_jinja_brace_spec(oxi_jinja*j,oxi_jinja_value text,oxi_jinja_spec*spec){
size_t at=0,next=0;
memset(spec,0,sizeof*spec);
spec->fill=' ';
spec->precision= -1;
if(text.length){
const uint32_t first=oxi_jinja_code(text.as.text,text.length,&next);
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
if(!j->status)oxi_jinja_brace_one(j,v,oxi_jinja_text(text+name,end-name));
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
return oxi_jinja_take(j,start);}
/* >>llm/template/library/filters.c */
static oxi_jinja_value oxi_jinja_map_case(oxi_jinja*j,oxi_jinja_value text,uint32_t(*of)(uint32_t)){
const size_t start=j->out_length;
for(size_t at=0;at<text.length&&oxi_jinja_step(j,1);)
oxi_jinja_write_code(j,of(oxi_jinja_code(text.as.text,text.length,&at)));
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_upper(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_map_case(j,oxi_jinja_string(j,a[0]),oxi_jinja_to_upper);}
static oxi_jinja_value oxi_jinja_lower(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_map_case(j,oxi_jinja_string(j,a[0]),oxi_jinja_to_lower);}
static oxi_jinja_value oxi_jinja_capitalize(oxi_jinja*j,oxi_jinja_value*a){
const oxi_jinja_value text=oxi_jinja_string(j,a[0]);
const size_t start=j->out_length;
for(size_t at=0;at<text.length&&oxi_jinja_step(j,1);){
const bool first=at==0;
const uint32_t code=oxi_jinja_code(text.as.text,text.length,&at);
oxi_jinja_write_code(j,first?oxi_jinja_to_upper(code):oxi_jinja_to_lower(code));}
return oxi_jinja_take(j,start);}
static bool oxi_jinja_is_cased(uint32_t code){
const bool sharp_s=code==0xDF;
return sharp_s||oxi_jinja_to_upper(code)!=code||oxi_jinja_to_lower(code)!=code;}
static oxi_jinja_value oxi_jinja_title_of(oxi_jinja*j,oxi_jinja_value text,bool is_filter){
const size_t start=j->out_length;
bool begins=true;
for(size_t at=0;at<text.length&&oxi_jinja_step(j,1);){
const uint32_t code=oxi_jinja_code(text.as.text,text.length,&at);
oxi_jinja_write_code(j,begins?oxi_jinja_to_upper(code):oxi_jinja_to_lower(code));
begins=is_filter?oxi_jinja_is_space(code)||(code<0x80&&code&&strchr("-({[<",(int)code))
 : !oxi_jinja_is_cased(code);}
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_title(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_title_of(j,oxi_jinja_string(j,a[0]),true);}
static bool oxi_jinja_in_set(uint32_t code,oxi_jinja_value set){
if(set.type!=OXI_JINJA_STRING)return oxi_jinja_is_space(code);
for(size_t at=0;at<set.length;)
if(oxi_jinja_code(set.as.text,set.length,&at)==code)return true;
return false;}
static oxi_jinja_value oxi_jinja_strip(oxi_jinja*j,oxi_jinja_value text,oxi_jinja_value set,bool left,
 bool right){
size_t start=0,end=text.length;
while(left&&start<end&&oxi_jinja_step(j,1+set.length/64*(set.type==OXI_JINJA_STRING))){
size_t next=start;
if(!oxi_jinja_in_set(oxi_jinja_code(text.as.text,end,&next),set))break;
start=next;}
while(right&&end>start&&oxi_jinja_step(j,1+set.length/64*(set.type==OXI_JINJA_STRING))){
size_t at=end-1;
while(at>start&&((unsigned char)text.as.text[at]&0xC0)==0x80)at--;
size_t next=at;
if(!oxi_jinja_in_set(oxi_jinja_code(text.as.text,end,&next),set))break;
end=at;}
return oxi_jinja_text(text.as.text+start,end-start);}
static oxi_jinja_value oxi_jinja_trim(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_strip(j,oxi_jinja_string(j,a[0]),a[1],true,true);}
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
(void)oxi_jinja_code(text.as.text,text.length,&at);
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
const uint32_t code=oxi_jinja_code(text.as.text,text.length,&at);
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
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_center_in(oxi_jinja*j,oxi_jinja_value text,int64_t width,char fill,
 char align){
const size_t start=j->out_length;
const int64_t missing=width-oxi_jinja_length(j,text);
int64_t left=align=='<'?0:align=='>'?missing:missing/2+(missing&width&1);
if(missing<=0)return text;
oxi_jinja_write_many(j,fill,left);
oxi_jinja_write(j,text.as.text,text.length);
oxi_jinja_write_many(j,fill,missing-left);
return oxi_jinja_take(j,start);}
static oxi_jinja_value oxi_jinja_center(oxi_jinja*j,oxi_jinja_value*a){
return oxi_jinja_center_in(j,oxi_jinja_string(j,a[0]),oxi_jinja_int_argument(j,a[1],80),' ','^');}
static oxi_jinja_value oxi_jinja_filter_escape(oxi_jinja*j,oxi_jinja_value*a){
static const char characters[]="&<>\"'";
static const char*const names[]={"&amp;","&lt;","&gt;","&#34;","&#39;"};
const oxi_jinja_value text=oxi_jinja_string(j,a[0]);
const size_t start=j->out_length;
for(size_t at=0;at<text.length&& !j->status;at++){
const char c=text.as.text[at];
const char*special=c?strchr(characters,c):NULL;
if(special)
oxi_jinja_write_text(j,names[special-characters]);
else
oxi_jinja_write(j,&c,1);}
return oxi_jinja_take(j,start);}
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
const uint32_t code=oxi_jinja_code(text.as.text,text.length,&at);
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
return oxi_jinja_join_texts(j,cut,end);}
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
return items&&items->count?items->items[items->count-1]:oxi_jinja_undefined("the last of nothing",19);}
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
return oxi_jinja_take(j,start);}
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
 {"escape","",oxi_jinja_filter_escape},{"first","",oxi_jinja_first},
 {"float","default?",oxi_jinja_to_float},{"forceescape","",oxi_jinja_filter_escape},
 {"format","* **",oxi_jinja_filter_format},
 {"groupby","attribute default? case_sensitive?",oxi_jinja_groupby},
 {"indent","width? first? blank?",oxi_jinja_indent},{"int","default? base?",oxi_jinja_to_int},
 {"items","",oxi_jinja_filter_items},{"join","d? attribute?",oxi_jinja_join},{"last","",oxi_jinja_last},
 {"length","",oxi_jinja_filter_length},{"list","",oxi_jinja_to_list},{"lower","",oxi_jinja_lower},
 {"map","* **",oxi_jinja_map},{"max","case_sensitive? attribute?",oxi_jinja_max},
 {"min","case_sensitive? attribute?",oxi_jinja_min},{"reject","* **",oxi_jinja_reject},
 {"rejectattr","* **",oxi_jinja_rejectattr},{"replace","old new count?",oxi_jinja_replace},
 {"reverse","",oxi_jinja_reverse},{"round","precision? method?",oxi_jinja_round},
 {"safe","",oxi_jinja_to_string},{"select","* **",oxi_jinja_select},
 {"selectattr","* **",oxi_jinja_selectattr},{"slice","slices fill_with?",oxi_jinja_filter_slice},
 {"sort","reverse? case_sensitive? attribute?",oxi_jinja_sort},{"string","",oxi_jinja_to_string},
 {"sum","attribute? start?",oxi_jinja_sum},{"title","",oxi_jinja_title},
 {"tojson","ensure_ascii? indent? separators? sort_keys?",oxi_jinja_tojson},
 {"trim","chars?",oxi_jinja_trim},{"truncate","length? killwords? end? leeway?",oxi_jinja_truncate},
 {"unique","case_sensitive? attribute?",oxi_jinja_unique},{"upper","",oxi_jinja_upper},
 {"urlencode","",oxi_jinja_urlencode},{"wordcount","",oxi_jinja_wordcount},};
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
 OXI_JINJA_BIT(UNDEFINED))
OXI_JINJA_TYPE_TEST(escaped,0u)
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
const uint32_t code=oxi_jinja_code(text.as.text,text.length,&at);
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
 (a[0].length==0||memcmp(a[0].as.text,a[1].as.text,a[0].length)==0))||
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
if(oxi_jinja_is_space(oxi_jinja_code(rest.as.text,rest.length,&next)))break;
at=start;}
oxi_jinja_push(j,out,oxi_jinja_text(rest.as.text+at,rest.length-at));
rest=oxi_jinja_strip(j,oxi_jinja_text(rest.as.text,at),none,false,true);
continue;}
while(end<rest.length){
size_t next=end;
if(oxi_jinja_is_space(oxi_jinja_code(rest.as.text,rest.length,&next)))break;
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
return oxi_jinja_replace_in(j,a[0],a[1],a[2],oxi_jinja_int_argument(j,a[3],-1));}
static oxi_jinja_value oxi_jinja_str_join(oxi_jinja*j,oxi_jinja_value*a){
const size_t start=j->out_length;
const oxi_jinja_list*items=oxi_jinja_iterate(j,a[1]);
for(size_t i=0;items&& !j->status&&i<items->count;i++){
if(!oxi_jinja_text_argument(j,items->items[i]))break;
if(i)oxi_jinja_write(j,a[0].as.text,a[0].length);
oxi_jinja_write(j,items->items[i].as.text,items->items[i].length);}
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
#define OXI_JINJA_ROWS(table)table,sizeof table/sizeof*table
static const struct{
oxi_jinja_type type;
const oxi_jinja_function*rows;
size_t count;}oxi_jinja_method_tables[]={
{OXI_JINJA_STRING,OXI_JINJA_ROWS(oxi_jinja_str_methods)},
 {OXI_JINJA_LIST,OXI_JINJA_ROWS(oxi_jinja_list_methods)},
 {OXI_JINJA_TUPLE,OXI_JINJA_ROWS(oxi_jinja_tuple_methods)},
 {OXI_JINJA_DICT,OXI_JINJA_ROWS(oxi_jinja_dict_methods)},
 {OXI_JINJA_LOOP,OXI_JINJA_ROWS(oxi_jinja_loop_methods)},};
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
{"dict","* **",oxi_jinja_global_dict},{"namespace","* **",oxi_jinja_global_namespace},
 {"raise_exception","message",oxi_jinja_global_raise},{"range","start stop? step?",oxi_jinja_global_range},
 {"strftime_now","format",oxi_jinja_global_strftime},};
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
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_slice(oxi_jinja*j,const oxi_jinja_node*node){
const oxi_jinja_value v=oxi_jinja_eval(j,node->a);
oxi_jinja_value*bounds=(oxi_jinja_value*)oxi_jinja_alloc_array(j,3,sizeof*bounds);
const oxi_jinja_node*bound=node->b;
for(int i=0;bounds&&i<3;i++,bound=bound->next)bounds[i]=oxi_jinja_eval(j,bound);
oxi_jinja_stand_at(j,node);
return j->status?v:oxi_jinja_slice(j,v,bounds);}
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
static oxi_jinja_value oxi_jinja_call_value(oxi_jinja*j,oxi_jinja_value callee,
 const oxi_jinja_arguments*arguments){
if(j->status|| !arguments)return callee;
if(callee.type==OXI_JINJA_FUNCTION)
return oxi_jinja_apply(j,callee.as.bound->function,&callee.as.bound->self,arguments);
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
const oxi_jinja_value v=oxi_jinja_eval(j,node->a);
oxi_jinja_stand_at(j,node);
return j->status?v:oxi_jinja_attribute(j,v,node->value);}
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
static bool oxi_jinja_is_utf8(const char*text,size_t length){
for(size_t at=0;at<length;){
const size_t used=oxi_utf8_length((const unsigned char*)text+at,length-at);
if(!used)return false;
at+=used;}
return true;}
static void oxi_jinja_open_source(oxi_jinja*j,ox_llm_template*t,const char*text,size_t length){
oxi_jinja_parser p;
memset(&p,0,sizeof p);
p.j=j;
p.symbols= &t->symbols;
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
if(bytes>OXI_JINJA_MOST_SOURCE|| !oxi_jinja_is_utf8(text,bytes)){
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
static oxi_jinja_value oxi_jinja_from_json(oxi_jinja*j,const oxi_json*json,uint32_t index){
const oxi_json_node*node= &json->nodes[index];
switch(node->type){
case OXI_JSON_NULL:return oxi_jinja_none();
case OXI_JSON_BOOL:return oxi_jinja_bool(node->value.i!=0);
case OXI_JSON_INT:return oxi_jinja_int(node->value.i);
case OXI_JSON_FLOAT:return oxi_jinja_float(node->value.f);
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
/* >>llm/model.c */
#define OXI_LLM_BIT(role)((uint32_t)1 <<OXI_LLM_##role)
static const oxi_llm_architecture oxi_llm_architectures[]={
{"llama","attention.layer_norm_rms_epsilon",OXI_LLM_BIT(EMBEDDING)|OXI_LLM_BIT(OUTPUT_NORM),
 OXI_LLM_BIT(ATTENTION_NORM)|OXI_LLM_BIT(QUERY)|OXI_LLM_BIT(KEY)|OXI_LLM_BIT(VALUE)|
 OXI_LLM_BIT(MERGE)|OXI_LLM_BIT(HIDDEN_NORM)|OXI_LLM_BIT(GATE)|OXI_LLM_BIT(UP)|OXI_LLM_BIT(DOWN),
 OXI_LLM_BIT(OUTPUT)|OXI_LLM_BIT(ROPE_FACTORS),
 OXI_LLM_BIT(QUERY_BIAS)|OXI_LLM_BIT(KEY_BIAS)|OXI_LLM_BIT(VALUE_BIAS)|OXI_LLM_BIT(MERGE_BIAS),
 true,ox_rms_norm,ox_silu_mul_},};
typedef struct oxi_llm_weight_row{
const char*name;
oxi_llm_size rows,columns;}oxi_llm_weight_row;
#define OXI_X(role,name,rows,columns){name,OXI_LLM_SIZE_##rows,OXI_LLM_SIZE_##columns},
static const oxi_llm_weight_row oxi_llm_model_weights[]={OXI_LLM_MODEL_WEIGHT_LIST(OXI_X)};
static const oxi_llm_weight_row oxi_llm_layer_weights[]={OXI_LLM_LAYER_WEIGHT_LIST(OXI_X)};
#undef OXI_X
static ox_status oxi_llm_find_architecture(ox_llm*model,const ox_file*file){
const ox_file_meta meta=ox_file_meta_find(file,"general.architecture");
if(meta.type!=OX_FILE_META_STRING){
return oxi_fail(OX_ERR_NOT_FOUND,"llm: the file has no general.architecture, so it is no GGUF model");}
for(size_t i=0;i<sizeof oxi_llm_architectures/sizeof*oxi_llm_architectures;i++){
if(oxi_llm_text_is(meta.text,oxi_llm_architectures[i].name)){
model->architecture= &oxi_llm_architectures[i];
return OX_OK;}}
char name[48];
oxi_llm_copy_text(meta.text,name,sizeof name);
return oxi_fail(OX_ERR_UNSUPPORTED,"llm: the architecture \"%s\" is not supported",name);}
static void oxi_llm_key(const ox_llm*model,const char*key,char out[96]){
(void)snprintf(out,96,"%s.%s",model->architecture->name,key);}
static ox_status oxi_llm_read_int(const ox_llm*model,const ox_file*file,const char*key,
 int64_t otherwise,int64_t*out){
char full[96];
oxi_llm_key(model,key,full);
return oxi_llm_meta_int(file,full,1,INT32_MAX,otherwise,out);}
static ox_status oxi_llm_read_float(const ox_llm*model,const ox_file*file,const char*key,double low,
 double otherwise,double*out){
char full[96];
oxi_llm_key(model,key,full);
const ox_file_meta meta=ox_file_meta_find(file,full);
*out=otherwise;
if(meta.type==OX_FILE_META_NONE&&otherwise>=low)return OX_OK;
if(meta.type==OX_FILE_META_NONE)
return oxi_fail(OX_ERR_NOT_FOUND,"llm: metadata key %s is missing",full);
const bool number=meta.type==OX_FILE_META_FLOAT||meta.type==OX_FILE_META_INT||meta.type==OX_FILE_META_UINT;
if(!number|| !isfinite(meta.f)||meta.f<low){
return oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s is not a number of at least %g",full,low);}
*out=meta.f;
return OX_OK;}
static ox_status oxi_llm_read_rope_scaling(ox_llm*model,const ox_file*file){
char key[96];
oxi_llm_key(model,"rope.scaling.type",key);
const ox_file_meta type=ox_file_meta_find(file,key);
double factor=1;
model->config.rope_scale=1;
if(type.type==OX_FILE_META_STRING&&oxi_llm_text_is(type.text,"none"))return OX_OK;
if(type.type!=OX_FILE_META_NONE&&type.type!=OX_FILE_META_STRING)
return oxi_fail(OX_ERR_FORMAT,"llm: metadata key %s is not a text",key);
if(type.type!=OX_FILE_META_NONE&& !oxi_llm_text_is(type.text,"linear")){
char name[32];
oxi_llm_copy_text(type.text,name,sizeof name);
return oxi_fail(OX_ERR_UNSUPPORTED,"llm: the rope scaling \"%s\" is not supported",name);}
ox_status status=oxi_llm_read_float(model,file,"rope.scale_linear",1e-6,1,&factor);
if(!status)status=oxi_llm_read_float(model,file,"rope.scaling.factor",0,factor,&factor);
if(!status&&factor>0)model->config.rope_scale=1/factor;
return status;}
static ox_status oxi_llm_refuse_experts(const ox_llm*model,const ox_file*file){
char key[96];
oxi_llm_key(model,"expert_count",key);
const int64_t experts=ox_file_meta_int(file,key,0);
if(experts==0)return OX_OK;
return oxi_fail(OX_ERR_UNSUPPORTED,"llm: a mixture of %lld experts is not supported",(long long)experts);}
static ox_status oxi_llm_read_sizes(ox_llm*model,const ox_file*file){
ox_llm_config*c= &model->config;
ox_status status=oxi_llm_read_int(model,file,"block_count",-1,&c->layers);
if(!status)status=oxi_llm_read_int(model,file,"embedding_length",-1,&c->width);
if(!status)status=oxi_llm_read_int(model,file,"feed_forward_length",-1,&c->hidden);
if(!status)status=oxi_llm_read_int(model,file,"context_length",-1,&c->context);
if(!status)status=oxi_llm_read_int(model,file,"attention.head_count",-1,&c->heads);
if(!status)status=oxi_llm_read_int(model,file,"attention.head_count_kv",c->heads,&c->kv_heads);
if(status)return status;
const int64_t head=c->width%c->heads==0?c->width/c->heads:0;
status=oxi_llm_read_int(model,file,"attention.key_length",head,&c->key_size);
if(!status)status=oxi_llm_read_int(model,file,"attention.value_length",head,&c->value_size);
if(!status)status=oxi_llm_read_int(model,file,"rope.dimension_count",c->key_size,&c->rope_size);
if(status)return status;
if(c->heads%c->kv_heads!=0){
return oxi_fail(OX_ERR_FORMAT,"llm: %lld heads cannot share %lld key-value heads",
 (long long)c->heads,(long long)c->kv_heads);}
if(c->rope_size>c->key_size||c->rope_size%2!=0){
return oxi_fail(OX_ERR_FORMAT,"llm: rope over %lld elements of heads that have %lld",
 (long long)c->rope_size,(long long)c->key_size);}
if(c->layers>ox_file_count(file)){
return oxi_fail(OX_ERR_FORMAT,"llm: %lld layers, but only %lld tensors",(long long)c->layers,
 (long long)ox_file_count(file));}
return OX_OK;}
static ox_status oxi_llm_read_config(ox_llm*model,const ox_file*file){
ox_llm_config*c= &model->config;
c->architecture=model->architecture->name;
const ox_file_meta name=ox_file_meta_find(file,"general.name");
if(name.type==OX_FILE_META_STRING)oxi_llm_copy_text(name.text,c->name,sizeof c->name);
ox_status status=oxi_llm_refuse_experts(model,file);
if(!status)status=oxi_llm_read_sizes(model,file);
if(!status){
status=oxi_llm_read_float(model,file,model->architecture->norm_epsilon,0,-1,&c->norm_epsilon);}
if(!status)status=oxi_llm_read_float(model,file,"rope.freq_base",1e-6,10000,&c->rope_base);
if(!status)status=oxi_llm_read_rope_scaling(model,file);
return status;}
static int64_t oxi_llm_size_of(const ox_llm_config*c,oxi_llm_size size){
switch(size){
case OXI_LLM_SIZE_VOCABULARY:return c->vocabulary;
case OXI_LLM_SIZE_WIDTH:return c->width;
case OXI_LLM_SIZE_HIDDEN:return c->hidden;
case OXI_LLM_SIZE_QUERIES:return c->heads*c->key_size;
case OXI_LLM_SIZE_KEYS:return c->kv_heads*c->key_size;
case OXI_LLM_SIZE_VALUES:return c->kv_heads*c->value_size;
case OXI_LLM_SIZE_MERGED:return c->heads*c->value_size;
case OXI_LLM_SIZE_PAIRS:return c->rope_size/2;
default:return 0;}}
static ox_status oxi_llm_check_weight(ox_llm_config*c,const char*name,const oxi_llm_weight_row*row,
 const ox_tensor*t){
const int ndim=row->rows==OXI_LLM_SIZE_NONE?1:2;
if(t->ndim==2&&row->rows==OXI_LLM_SIZE_VOCABULARY&&c->vocabulary==0)
c->vocabulary=t->shape[0];
int64_t shape[2];
shape[0]=oxi_llm_size_of(c,ndim==2?row->rows:row->columns);
shape[1]=oxi_llm_size_of(c,row->columns);
bool fits=t->ndim==ndim;
for(int d=0;fits&&d<ndim;d++)fits=t->shape[d]==shape[d]&&shape[d]>0;
if(!fits){
return oxi_fail(OX_ERR_SHAPE,"llm: tensor %s is %s, the metadata asks for %s",name,
 oxi_tensor_text(t),oxi_shape_text(ndim,shape));}
const ox_dtype_class cls=oxi_info(t->dtype)->cls;
if(cls!=OX_CLASS_FLOAT&&(cls!=OX_CLASS_BLOCK||ndim==1)){
return oxi_fail(OX_ERR_DTYPE,
 "llm: tensor %s has dtype %s: weights are floats, matrices also of block types",name,
 ox_dtype_name(t->dtype));}
return OX_OK;}
static ox_status oxi_llm_error(void){
const ox_status status=ox_error();
return status?status:OX_ERR_NOMEM;}
static ox_status oxi_llm_load_weight(ox_llm*model,ox_file*file,const char*name,
 const oxi_llm_weight_row*row,bool required,ox_tensor**out){
*out=NULL;
if(!ox_file_has(file,name)){
return required?oxi_fail(OX_ERR_NOT_FOUND,"llm: tensor %s is missing",name):OX_OK;}
ox_scope scope=ox_scope_begin();
ox_tensor*t=ox_file_tensor(file,name);
ox_status status=t?oxi_llm_check_weight(&model->config,name,row,t):oxi_llm_error();
if(!status){
model->config.parameters+=ox_numel(t);
model->config.bytes+=(int64_t)ox_nbytes(t);
ox_device*near=oxi_working_device(ox_device_of(t));
*out=ox_retain(t->ndim==1?ox_to(ox_cast(t,OX_F32),near):t);
if(!*out)status=oxi_llm_error();}
ox_scope_end(&scope);
return status;}
static ox_status oxi_llm_load_layer(ox_llm*model,ox_file*file,int64_t index){
const oxi_llm_architecture*a=model->architecture;
for(int role=0;role<OXI_LLM_LAYER_WEIGHT_COUNT;role++){
const uint32_t bit=(uint32_t)1<<role;
if(!((a->layer_weights|a->layer_optional)&bit))continue;
char name[64];
(void)snprintf(name,sizeof name,"blk.%lld.%s",(long long)index,oxi_llm_layer_weights[role].name);
const ox_status status=
 oxi_llm_load_weight(model,file,name,&oxi_llm_layer_weights[role],a->layer_weights&bit,
 &model->layers[index].weight[role]);
if(status)return status;}
return OX_OK;}
static ox_status oxi_llm_load_weights(ox_llm*model,ox_file*file){
const oxi_llm_architecture*a=model->architecture;
for(int role=0;role<OXI_LLM_MODEL_WEIGHT_COUNT;role++){
const uint32_t bit=(uint32_t)1<<role;
if(!((a->model_weights|a->model_optional)&bit))continue;
const oxi_llm_weight_row*row= &oxi_llm_model_weights[role];
const ox_status status=
 oxi_llm_load_weight(model,file,row->name,row,a->model_weights&bit,&model->weight[role]);
if(status)return status;}
model->config.tied= !model->weight[OXI_LLM_OUTPUT];
if(model->config.tied)model->weight[OXI_LLM_OUTPUT]=ox_retain(model->weight[OXI_LLM_EMBEDDING]);
model->device=oxi_working_device(ox_device_of(model->weight[OXI_LLM_EMBEDDING]));
model->layers=(oxi_llm_layer*)oxi_calloc((size_t)model->config.layers,sizeof*model->layers);
if(!model->layers)return OX_ERR_NOMEM;
for(int64_t i=0;i<model->config.layers;i++){
const ox_status status=oxi_llm_load_layer(model,file,i);
if(status)return status;}
return OX_OK;}
static ox_status oxi_llm_prepack(const ox_llm*model,const ox_file*file){
ox_tensor*output=model->weight[OXI_LLM_OUTPUT];
ox_status status=OX_OK;
if(!file->copies)return OX_OK;
if(oxi_is_block(output->dtype))status=ox_prepack(output);
for(int64_t i=0;i<model->config.layers;i++)
for(int role=0;role<OXI_LLM_LAYER_WEIGHT_COUNT&& !status;role++){
ox_tensor*t=model->layers[i].weight[role];
if(t&&oxi_is_block(t->dtype))status=ox_prepack(t);}
return status;}
static ox_status oxi_llm_read_tokenizer(ox_llm*model,const ox_file*file){
const ox_file_meta name=ox_file_meta_find(file,"tokenizer.ggml.model");
if(name.type==OX_FILE_META_STRING)
oxi_llm_copy_text(name.text,model->tokenizer_name,sizeof model->tokenizer_name);
if(!oxi_tokenizer_kind_of(file))return OX_OK;
model->tokenizer=ox_tokenizer_open(file);
return model->tokenizer?OX_OK:oxi_llm_error();}
static ox_status oxi_llm_check_vocabulary(const ox_llm*model,const ox_file*file){
const int64_t rows=model->config.vocabulary,tokens=ox_tokenizer_count(model->tokenizer);
int64_t stated;
const ox_status status=oxi_llm_read_int(model,file,"vocab_size",rows,&stated);
if(status)return status;
if(stated!=rows||tokens>rows||rows>INT32_MAX){
return oxi_fail(OX_ERR_FORMAT,"llm: an embedding of %lld rows, vocab_size %lld, %lld tokens",
 (long long)rows,(long long)stated,(long long)tokens);}
return OX_OK;}
static ox_llm*oxi_llm_read(ox_file*file){
ox_llm*model=(ox_llm*)oxi_calloc(1,sizeof*model);
if(!model)return NULL;
model->references=1;
ox_status status=oxi_llm_find_architecture(model,file);
if(!status)status=oxi_llm_read_config(model,file);
if(!status)status=oxi_llm_read_tokenizer(model,file);
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
ox_file*file=ox_file_open(path,device);
if(!file)return NULL;
ox_llm*model=ox_llm_open_file(file);
ox_file_close(file);
return model;}
OX_API void ox_llm_close(ox_llm*model){
if(!model||oxi_atomic_add(&model->references,-1)>0)return;
for(int role=0;role<OXI_LLM_MODEL_WEIGHT_COUNT;role++)ox_release(model->weight[role]);
for(int64_t i=0;model->layers&&i<model->config.layers;i++){
for(int role=0;role<OXI_LLM_LAYER_WEIGHT_COUNT;role++)
ox_release(model->layers[i].weight[role]);}
oxi_free(model->layers,(size_t)model->config.layers*sizeof*model->layers);
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
/* >>llm/context.c */
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
const int64_t key=model->config.key_size,value=model->config.value_size;
if(cache==OX_Q8_0&&(key%32!=0||value%32!=0)){
(void)oxi_fail(OX_ERR_DTYPE,"llm: keys of %lld and values of %lld numbers are no blocks of 32",
 (long long)key,(long long)value);
return NULL;}
ox_llm_context*context=(ox_llm_context*)oxi_calloc(1,sizeof*context);
if(!context)return NULL;
const int64_t usual=model->config.context<4096?model->config.context:4096;
context->model=model;
context->capacity=desc->capacity?desc->capacity:usual;
context->batch=desc->batch?desc->batch:512;
context->pending= -1;
context->dtype=cache;
if(ox_device_of(model->weight[OXI_LLM_EMBEDDING])!=model->device)context->not_ahead=OXI_LLM_TRIES;
(void)oxi_atomic_add(&model->references,1);
context->keys=(ox_tensor**)oxi_calloc((size_t)model->config.layers,sizeof*context->keys);
context->values=(ox_tensor**)oxi_calloc((size_t)model->config.layers,sizeof*context->values);
if(!context->keys|| !context->values){
ox_llm_context_close(context);
return NULL;}
return context;}
OX_API void ox_llm_context_close(ox_llm_context*context){
if(!context)return;
const size_t layers=(size_t)context->model->config.layers;
for(size_t i=0;i<layers;i++){
if(context->keys)ox_release(context->keys[i]);
if(context->values)ox_release(context->values[i]);}
ox_release(context->next);
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
context->length=length;
context->pending= -1;
return OX_OK;}
static ox_status oxi_llm_grow(const ox_llm_context*context,ox_tensor**cache,int64_t size,int64_t needed){
int64_t room= *cache?(*cache)->shape[1]:0;
if(needed<=room)return OX_OK;
room=room?2*room:256;
if(room<needed)room=needed;
if(room>context->capacity)room=context->capacity;
const int64_t shape[3]={context->model->config.kv_heads,room,size};
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
const ox_llm_config*c= &context->model->config;
ox_status status=OX_OK;
for(int64_t i=0;!status&&i<c->layers;i++){
status=oxi_llm_grow(context,&context->keys[i],c->key_size,positions);
if(!status)status=oxi_llm_grow(context,&context->values[i],c->value_size,positions);}
return status;}
typedef struct oxi_llm_batch{
const ox_llm_context*context;
int64_t start,count;
ox_tensor*positions;}oxi_llm_batch;
static ox_tensor*oxi_llm_heads(ox_tensor*x,ox_tensor*weight,ox_tensor*bias,int64_t heads,int64_t size){
if(!x)return NULL;
ox_tensor*product=ox_linear(x,weight,bias);
return ox_transpose(ox_view(product,OX_SHAPE(x->shape[0],heads,size)),0,1);}
static ox_tensor*oxi_llm_turn(const oxi_llm_batch*batch,ox_tensor*heads){
const ox_llm*model=batch->context->model;
ox_rope_desc desc;
memset(&desc,0,sizeof desc);
desc.base=model->config.rope_base;
desc.scale=model->config.rope_scale;
desc.dims=(int)model->config.rope_size;
desc.interleaved=model->architecture->rope_interleaved;
desc.factors=model->weight[OXI_LLM_ROPE_FACTORS];
return ox_rope(heads,batch->positions,&desc);}
static ox_tensor*oxi_llm_remember(const oxi_llm_batch*batch,ox_tensor*cache,ox_tensor*rows){
if(!ox_copy_(ox_narrow(cache,1,batch->start,batch->count),rows))return NULL;
return ox_narrow(cache,1,0,batch->start+batch->count);}
static ox_tensor*oxi_llm_attention(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm_context*context=batch->context;
const ox_llm_config*c= &context->model->config;
ox_tensor*const*w=context->model->layers[index].weight;
ox_tensor*q=oxi_llm_heads(x,w[OXI_LLM_QUERY],w[OXI_LLM_QUERY_BIAS],c->heads,c->key_size);
ox_tensor*k=oxi_llm_heads(x,w[OXI_LLM_KEY],w[OXI_LLM_KEY_BIAS],c->kv_heads,c->key_size);
ox_tensor*v=oxi_llm_heads(x,w[OXI_LLM_VALUE],w[OXI_LLM_VALUE_BIAS],c->kv_heads,c->value_size);
q=oxi_llm_turn(batch,q);
k=oxi_llm_remember(batch,context->keys[index],oxi_llm_turn(batch,k));
v=oxi_llm_remember(batch,context->values[index],v);
ox_attention_desc desc;
memset(&desc,0,sizeof desc);
desc.causal=true;
desc.query_start=batch->start;
ox_tensor*out=ox_scaled_dot_product_attention(q,k,v,&desc);
out=ox_reshape(ox_transpose(out,0,1),OX_SHAPE(batch->count,c->heads*c->value_size));
return ox_linear(out,w[OXI_LLM_MERGE],w[OXI_LLM_MERGE_BIAS]);}
static ox_tensor*oxi_llm_feed_forward(const ox_llm*model,int64_t index,ox_tensor*x){
ox_tensor*const*w=model->layers[index].weight;
ox_tensor*gate=ox_linear(x,w[OXI_LLM_GATE],NULL);
ox_tensor*up=ox_linear(x,w[OXI_LLM_UP],NULL);
return ox_linear(model->architecture->gate(gate,up),w[OXI_LLM_DOWN],NULL);}
static bool oxi_llm_run_layer(const oxi_llm_batch*batch,int64_t index,ox_tensor*x){
const ox_llm*model=batch->context->model;
const double epsilon=model->config.norm_epsilon;
ox_tensor*const*w=model->layers[index].weight;
ox_scope scope=ox_scope_begin();
ox_tensor*normal=model->architecture->norm(x,1,w[OXI_LLM_ATTENTION_NORM],epsilon);
x=ox_add_(x,oxi_llm_attention(batch,index,normal));
normal=model->architecture->norm(x,1,w[OXI_LLM_HIDDEN_NORM],epsilon);
const bool done=ox_add_(x,oxi_llm_feed_forward(model,index,normal))!=NULL;
ox_scope_end(&scope);
return done;}
static ox_tensor*oxi_llm_forward(const oxi_llm_batch*batch,ox_tensor*ids,int64_t rows){
const ox_llm*model=batch->context->model;
ox_tensor*x=ox_cast(ox_embedding(ids,model->weight[OXI_LLM_EMBEDDING]),OX_F32);
for(int64_t i=0;x&&i<model->config.layers;i++)
if(!oxi_llm_run_layer(batch,i,x))return NULL;
if(!x||rows==0)return x;
x=ox_narrow(x,0,x->shape[0]-rows,rows);
x=model->architecture->norm(x,1,model->weight[OXI_LLM_OUTPUT_NORM],model->config.norm_epsilon);
return ox_linear(x,model->weight[OXI_LLM_OUTPUT],NULL);}
static ox_status oxi_llm_run_batch(oxi_llm_batch*batch,const int32_t*tokens,int64_t rows,float*logits){
const ox_llm*model=batch->context->model;
ox_status status=OX_OK;
ox_scope scope=ox_scope_begin();
double start=(double)batch->start,end=start+(double)batch->count;
ox_tensor*positions=oxi_arange(start,end,1,OX_I32,ox_cpu());
ox_tensor*ids=ox_to(oxi_copied(tokens,OX_SHAPE(batch->count),OX_I32),model->device);
batch->positions=ox_to(positions,model->device);
ox_tensor*x=batch->positions&&ids?oxi_llm_forward(batch,ids,rows):NULL;
if(!x)status=oxi_llm_error();
if(!status&&rows>0)status=ox_to_floats(x,logits,rows*model->config.vocabulary);
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
static ox_status oxi_llm_run(ox_llm_context*context,const int32_t*tokens,int64_t count,bool every,
 float*logits){
ox_status status=oxi_llm_check_tokens(context,tokens,count);
if(!status)status=oxi_llm_reserve(context,context->length+count);
oxi_llm_batch batch;
memset(&batch,0,sizeof batch);
batch.context=context;
for(int64_t done=0;!status&&done<count;done +=batch.count){
batch.start=context->length+done;
batch.count=count-done<context->batch?count-done:context->batch;
const bool last=done +batch.count==count;
const int64_t rows= !logits?0:every?batch.count:last;
status=oxi_llm_run_batch(&batch,tokens+done,rows,logits);
if(logits)logits+=rows*context->model->config.vocabulary;}
if(status)return status;
context->length+=count;
context->pending= -1;
return OX_OK;}
OX_API ox_status ox_llm_decode(ox_llm_context*context,const int32_t*tokens,int64_t count,float*logits){
return oxi_llm_run(context,tokens,count,false,logits);}
OX_API ox_status ox_llm_decode_all(ox_llm_context*context,const int32_t*tokens,int64_t count,float*logits){
return oxi_llm_run(context,tokens,count,true,logits);}
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
ox_tensor*x=oxi_llm_forward(&batch,ox_narrow(context->next,0,0,1),1);
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
if(layers==0||context->keys[layers-1]->shape[1]<=position||context->values[layers-1]->shape[1]<=position)
return;
context->ahead=oxi_llm_record_step(context,position);}
OX_API ox_status ox_llm_decode_one(ox_llm_context*context,int32_t token,float*logits){
ox_status status=oxi_llm_check_tokens(context,&token,1);
if(status)return status;
ox_device*device=context->model->device;
if(!device->ahead||context->not_ahead>=OXI_LLM_TRIES)
return oxi_llm_run(context,&token,1,false,logits);
status=oxi_llm_reserve(context,context->length+1);
if(status)return status;
const int64_t number=oxi_llm_start_step(context,token);
if(!number)return oxi_llm_run(context,&token,1,false,logits);
oxi_llm_look_ahead(context);
status=device->ahead->take(device,number,logits);
if(status)return status;
context->length++;
context->pending= -1;
return OX_OK;}
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
#endif
