/* What the parts of the llm room share: metadata, the model's weights by role. (Tokenizers: tokenizer/.)
 * Model architectures are rows of a table (model.c); nothing else asks.
 * Included before the .c parts of the room. */
/* WORDS OF THIS ROOM
 *     role           what a weight is for: the query projection of a layer, the output norm ...
 *     architecture   a row that says which roles a model has, and their sizes
 *     context        one text with its keys and values; position: a place in it; capacity: how many it holds
 *     prefill        to run the tokens of a prompt, `batch` at a time; decode: one token after another */
#ifndef OX_LLM_INTERNAL_H
#define OX_LLM_INTERNAL_H

/* ---- metadata (metadata.c) ----------------------------------------------------------------------------- */

/* A whole number in [low, high] under `key`. A missing key gives `otherwise`, or OX_ERR_NOT_FOUND if that is
 * below low. OX_ERR_FORMAT for another type or a number out of range. */
static ox_status oxi_llm_meta_int(const ox_file *file, const char *key, int64_t low, int64_t high,
                                  int64_t otherwise, int64_t *out);
static ox_status oxi_llm_meta_bool(const ox_file *file, const char *key, bool otherwise, bool *out);
static bool oxi_llm_text_is(ox_string text, const char *expected);
/* Text from a file, cut to fit and safe to print. */
static void oxi_llm_copy_text(ox_string text, char *out, size_t room);

/* ---- weights by role ----------------------------------------------------------------------------------- */

/* What the shapes of weights are made of: all known once the config is read. */
#define OXI_LLM_SIZE_LIST(X)                         \
    X(NONE)                                          \
    X(VOCABULARY)                                    \
    X(WIDTH)                                         \
    X(HIDDEN) X(QUERIES) /* heads * key_size */      \
        X(KEYS)          /* kv_heads * key_size */   \
        X(VALUES)        /* kv_heads * value_size */ \
        X(MERGED)        /* heads * value_size */    \
        X(PAIRS)         /* rope_size / 2 */

/* role, name in GGUF files, rows, columns; a vector has columns only. Architectures say which they have. */
#define OXI_LLM_MODEL_WEIGHT_LIST(X)                     \
    X(EMBEDDING, "token_embd.weight", VOCABULARY, WIDTH) \
    X(OUTPUT_NORM, "output_norm.weight", NONE, WIDTH)    \
    X(OUTPUT, "output.weight", VOCABULARY, WIDTH)        \
    X(ROPE_FACTORS, "rope_freqs.weight", NONE, PAIRS)

/* The same for those that each layer has, after "blk.<layer>.". */
#define OXI_LLM_LAYER_WEIGHT_LIST(X)                   \
    X(ATTENTION_NORM, "attn_norm.weight", NONE, WIDTH) \
    X(QUERY, "attn_q.weight", QUERIES, WIDTH)          \
    X(KEY, "attn_k.weight", KEYS, WIDTH)               \
    X(VALUE, "attn_v.weight", VALUES, WIDTH)           \
    X(MERGE, "attn_output.weight", WIDTH, MERGED)      \
    X(QUERY_BIAS, "attn_q.bias", NONE, QUERIES)        \
    X(KEY_BIAS, "attn_k.bias", NONE, KEYS)             \
    X(VALUE_BIAS, "attn_v.bias", NONE, VALUES)         \
    X(MERGE_BIAS, "attn_output.bias", NONE, WIDTH)     \
    X(HIDDEN_NORM, "ffn_norm.weight", NONE, WIDTH)     \
    X(GATE, "ffn_gate.weight", HIDDEN, WIDTH)          \
    X(UP, "ffn_up.weight", HIDDEN, WIDTH)              \
    X(DOWN, "ffn_down.weight", WIDTH, HIDDEN)

typedef enum oxi_llm_size {
#define OXI_X(size) OXI_LLM_SIZE_##size,
    OXI_LLM_SIZE_LIST(OXI_X)
#undef OXI_X
        OXI_LLM_SIZE_COUNT
} oxi_llm_size;

#define OXI_X(role, name, rows, columns) OXI_LLM_##role,
typedef enum oxi_llm_model_weight {
    OXI_LLM_MODEL_WEIGHT_LIST(OXI_X) OXI_LLM_MODEL_WEIGHT_COUNT
} oxi_llm_model_weight;
typedef enum oxi_llm_layer_weight {
    OXI_LLM_LAYER_WEIGHT_LIST(OXI_X) OXI_LLM_LAYER_WEIGHT_COUNT
} oxi_llm_layer_weight;
#undef OXI_X

/* ---- architectures: a row each ------------------------------------------------------------------------- */

typedef struct oxi_llm_architecture {
    const char *name;                        /* general.architecture, and what its keys begin with */
    const char *norm_epsilon;                /* key of the epsilon */
    uint32_t model_weights, layer_weights;   /* bit per role: must be there */
    uint32_t model_optional, layer_optional; /* may be there */
    bool rope_interleaved;                   /* pairs (2i, 2i+1); else (i, i + rope_size/2) */
    ox_tensor *(*norm)(ox_tensor *x, int last_dims, ox_tensor *weight, double epsilon);
    ox_tensor *(*gate)(ox_tensor *gate, ox_tensor *up); /* activation(gate) * up, written to gate */
} oxi_llm_architecture;

typedef struct oxi_llm_layer {
    ox_tensor *weight[OXI_LLM_LAYER_WEIGHT_COUNT]; /* NULL where optional and missing */
} oxi_llm_layer;

struct ox_llm {
    int64_t references; /* the user's and one for each context */
    const oxi_llm_architecture *architecture;
    ox_llm_config config;
    ox_device *device;
    ox_tokenizer *tokenizer; /* NULL = a kind that is not read here */
    char tokenizer_name[32];
    ox_tensor *weight[OXI_LLM_MODEL_WEIGHT_COUNT]; /* OUTPUT is EMBEDDING where tied */
    oxi_llm_layer *layers;                         /* [config.layers] */
};

enum { OXI_LLM_TRIES = 8 };

struct ox_llm_context {
    ox_llm *model;
    int64_t capacity, length, batch;
    int32_t pending; /* generated, but not run yet: goes first in the next ox_llm_generate; -1 = none */
    ox_dtype dtype;  /* of keys and values */
    ox_tensor **keys, **values; /* a layer's: [kv_heads, room, key_size], [.., value_size]; NULL = room 0 */
    ox_tensor *next; /* i32 [2]: token and position of a step that is recorded ahead; NULL at first */
    int64_t ahead, ahead_at;    /* the step that is recorded, by the device's number, or 0; its position */
    int not_ahead; /* steps that could not be recorded; after OXI_LLM_TRIES it is not tried again */
};

#endif
