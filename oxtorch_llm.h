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
 *     ox_llm_sampler        logits to the next id: greedy, temperature, top_k, top_p, min_p
 *
 * WHAT IT READS
 *     GGUF files of the architecture "llama" (LLaMA 1 to 3, TinyLlama, Mistral 7B and others that are stored
 *     as such), every float and block weight type that oxtorch.h reads; SentencePiece tokenizers.
 *
 * WHAT IT DOES NOT, and says so in words when it is asked to
 *     Other architectures, mixtures of experts, rope scaling other than linear and per-frequency factors,
 *     byte-level BPE tokenizers (LLaMA 3: ids work, text does not), chat templates.
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
#endif
