/* A language model: what its family, its facts and its tensors say of it, layer by layer.
 * Families are rows of families.def, weights those of parts.def; the forward pass (../context) reads both and
 * knows no names. Included before the .c parts of this folder and of ../context. */
/* WORDS OF THIS FOLDER
 *     family      architectures that differ by numbers alone: a row of families.def
 *     fact        a number or a text of the metadata, under "<architecture>.<key>"
 *     part        what a weight (and its bias) is for: the query projection of a layer, the output norm ...
 *     trait       a bit of a family: something it does that others do not
 *     latent      a vector that keys and values of all heads are made of (DeepSeek's attention)
 *     turned      rotated by its position (rope); plain: not
 *     windowed    of a layer whose queries see the last positions alone
 *     mixer       what a layer has instead of attention, or beside it: a recurrence over positions
 *     memory      what a recurrence knows of the positions so far: a matrix a head
 *     taps        of a convolution over positions: how many it sees, the last one is its own
 *     hyper       of hyper-connections: a position has several residual rows; each half of a layer reads a
 *                 mixture of them, and adds its result to each by a share
 *     kept        of residual rows that later layers attend to (Kimi K3): of every so many layers one
 *     shift       what a position takes of the one before it, number by number (RWKV) */
#ifndef OX_LLM_MODEL_H
#define OX_LLM_MODEL_H

/* ---- families: a row each ------------------------------------------------------------------------------ */

/* Where norms and sums stand; a = attention, f = feed-forward. */
typedef enum oxi_llm_block {
    OXI_LLM_BLOCK_PRE = 0,       /* x += a(norm x); x += f(norm x) */
    OXI_LLM_BLOCK_POST,          /* x += norm a(x); x += norm f(x) */
    OXI_LLM_BLOCK_SANDWICH,      /* x += norm a(norm x); x += norm f(norm x) */
    OXI_LLM_BLOCK_PARALLEL,      /* x += a(norm x) + f(norm x), the same norm where f has none of its own */
    OXI_LLM_BLOCK_SUM            /* x = norm(x + a(x)); x = norm(x + f(x)), as the first transformers */
} oxi_llm_block;

/* A score's scale in defaults.def: 1 / sqrt(width / heads). */
#define OXI_LLM_OF_WIDTH (-1)

typedef enum oxi_llm_norm_kind { OXI_LLM_NORM_RMS = 0, OXI_LLM_NORM_LAYER } oxi_llm_norm_kind;

typedef enum oxi_llm_rope_kind {
    OXI_LLM_ROPE_NONE = 0,
    OXI_LLM_ROPE_PAIRS, /* (2i, 2i + 1) */
    OXI_LLM_ROPE_HALVES /* (i, i + size / 2); sections of a text's positions are all the same */
} oxi_llm_rope_kind;

/* What a router's numbers become; those of GGUF's expert_gating_func, 0 = as the family has it. */
typedef enum oxi_llm_router {
    OXI_LLM_ROUTER_NONE = 0,
    OXI_LLM_ROUTER_SOFTMAX,
    OXI_LLM_ROUTER_SIGMOID,
    OXI_LLM_ROUTER_LATE, /* softmax of the chosen ones */
    OXI_LLM_ROUTER_ROOT, /* the root of softplus */
    OXI_LLM_ROUTER_COUNT
} oxi_llm_router;

enum { OXI_LLM_SPARSE_MOST = 16 }; /* experts that a sparse mixer uses */

/* What a token sees: those before it, or all of the text. */
enum { OXI_LLM_SEES_ALL = 0, OXI_LLM_SEES_BEFORE };

#define OXI_LLM_TRAIT_LIST(X) \
    X(ENCODER)              /* gives hidden states, no logits */ \
    X(AFTER_ENCODER)        /* answers a text that an encoder read, its row is that behind this one */ \
    X(SCORES_BARE)          /* scores are not scaled */ \
    X(FIRST_BARE)           /* layer 0 has no norm before attention */ \
    X(PARALLEL_FACT)        /* parallel where use_parallel_residual says so */ \
    X(PARALLEL_WITHOUT)     /* layers without a feed-forward's norm are parallel */ \
    X(BARE_NORMS)           /* norms without weights */ \
    X(NORM_FACT)            /* norms are RMS norms where the file has their epsilon */ \
    X(EMBEDDING_ROOT)       /* embeddings times sqrt(width) */ \
    X(SCALES_OF_SIZES)      /* scales are MiniCPM's where the file does not say */ \
    X(EMBEDDING_NORMED)     /* and a norm without weights */ \
    X(LATE_NORMS)           /* norms of q and k after they are turned */ \
    X(LATE_BARE_NORMS)      /* the same without weights, in turned layers, if use_qk_norm */ \
    X(CLAMP_NORMED)         /* clamp_kqv is behind the norms of q and k */ \
    X(SCORE_CAP)            /* attn_logit_softcapping */ \
    X(LOGIT_CAP)            /* final_logit_softcapping */ \
    X(LOGIT_DIVIDED)        /* logits are divided by logit_scale; else multiplied */ \
    X(NO_OUTPUT_BIAS)       /* a bias of the output is not added */ \
    X(GATE_IN_UP)           /* ffn_up has the gate's rows first, then its own */ \
    X(HALF_HIDDEN)          /* feed_forward_length counts the gate's rows too */ \
    X(SECTION_HALVES)       /* turned in halves where the file has sections */ \
    X(DEPTH_POSITIONS)      /* 32 layers: turned; 40: ALiBi; else no positions at all */ \
    X(ROPE_FACT)            /* turned unless rope.scaling.finetuned is false */ \
    X(NO_FACTORS)           /* factors of frequencies in the file are not used */ \
    X(GATE_LOG2)            /* attention's gate is log2(1 + 2^g) */ \
    X(GATE_SOFTPLUS)        /* attention's gate is a softplus, not a sigmoid */ \
    X(POST_EPSILON)         /* norms behind attention and feed-forward have the epsilon 1e-8 */ \
    X(TURNED_SCALE)         /* scores by 1 / sqrt(rope size) */ \
    X(KEY_SCALE)            /* scores by 1 / key size, not its root */ \
    X(WINDOW_TURNS)         /* with windows: layers without one are not turned */ \
    X(DENSE_TURNS)          /* and neither are those with experts; the plain ones are */ \
    X(WINDOW_UNSCALED)      /* rope scaling is not for windowed layers */ \
    X(DEEP_WINDOWS)         /* windows in models of 64 layers alone */ \
    X(CHUNKS)               /* windows are chunks */ \
    X(FOURTH_PLAIN)         /* layers 3, 7 .. are not turned */ \
    X(FIRST_PLAIN)          /* layers 0, 4 .. are not turned, with windows */ \
    X(PLAIN_WARMER)         /* layers that are not turned: queries grow with the logarithm of positions */ \
    X(ROUTED_NORM)          /* weights of the chosen experts are divided by their sum */ \
    X(ROUTED_FIRST)         /* experts' inputs are weighted, not their results */ \
    X(ROUTER_EARLY)         /* the router sees the layer's input */ \
    X(DENSE_BESIDE)         /* layers with experts have a plain feed-forward too */ \
    X(EXPERTS_UNREAD)       /* layers with experts have the activation alone for a feed-forward */ \
    X(SHARED_HALF)          /* the mean of routed and shared experts, not their sum */ \
    X(CLAMP_LATE)           /* a clamped gate: its activation is at most that, not the gate */ \
    X(SHARED_CLAMP)         /* swiglu_clamp_shexp is used */ \
    X(DENSE_WIDTH)          /* a plain feed-forward beside experts is as wide as the model */ \
    X(BESIDE_ROOT)          /* with a plain feed-forward beside: the sum by sqrt(1/2) */ \
    X(QUERY_GATED)          /* attn_q has a head's query, then its gate */ \
    X(LATE_EMBEDDING_NORM)  /* token_embd_norm is the output's norm */ \
    X(RESIDUAL_NORMED)      /* sums take the normed input, by residual_scale */ \
    X(PAIRED_HEADS)         /* of a delta net: neighbors share a key, else values a row of keys apart */ \
    X(MIXED_SIGMOID)        /* a delta net's gate is a sigmoid, not silu */ \
    X(DECAY_NEGATIVE)       /* ssm_a is negative where decays have a bound too */ \
    X(KEY_IS_VALUE)         /* keys are values too; the end of a head is turned, and back in the result */ \
    X(VALUE_NORMED)         /* values have a norm without weights; a layer without has its keys for them */ \
    X(INPUTS)               /* layers may take numbers of a token beside, and see the keys of others */ \
    X(BENT)                 /* layers have activations of their own */ \
    X(ROUTER_SCALED)        /* the router sees the residual row, with a norm and ffn_gate_inp.scale */ \
    X(NORMS_VARY)           /* of a sandwich attention has the norms behind, a mixer those before */ \
    X(SOFT_GATE)            /* the feed-forward's gate and what it opens are capped by tanh */ \
    X(INDEXED)              /* of many keys the best by an indexer are attended to */

enum {
#define OXI_X(trait) OXI_LLM_TRAIT_BIT_##trait,
    OXI_LLM_TRAIT_LIST(OXI_X)
#undef OXI_X
        OXI_LLM_TRAIT_BITS
};
#define OXI_LLM_TRAIT(trait) ((uint64_t)1 << OXI_LLM_TRAIT_BIT_##trait)

/* What a layer mixes positions with beside attention; rows of mixers.def name them, context/recurrent/ runs
 * them. */
typedef enum oxi_llm_mixer {
    OXI_LLM_MIXES_NONE = 0,
    OXI_LLM_MIXES_MAMBA,
    OXI_LLM_MIXES_MAMBA2,
    OXI_LLM_MIXES_PLAMO2,    /* of both: Mamba 2 whose inputs are made as in Mamba 1 */
    OXI_LLM_MIXES_CONV,      /* a short convolution between two gates */
    OXI_LLM_MIXES_RWKV6,     /* linear attention with decays made of shifted inputs */
    OXI_LLM_MIXES_RWKV7,     /* the same, and a position changes what was written */
    OXI_LLM_MIXES_DELTA,     /* gated delta net: a decay a head */
    OXI_LLM_MIXES_KDA,       /* the same with a decay for each number of a key */
    OXI_LLM_MIXES_LIGHTNING, /* linear attention with a fixed decay a head */
    OXI_LLM_MIXES_GATED,     /* a decay for each number, and a gate for what comes in (RG-LRU) */
    OXI_LLM_MIXES_COUNT
} oxi_llm_mixer;

/* Rows of activations.c. */
typedef struct oxi_llm_activation {
    ox_tensor *(*plain)(ox_tensor *x);                   /* writes to x */
    ox_tensor *(*gated)(ox_tensor *gate, ox_tensor *up); /* plain(gate) * up, in gate; NULL: by these two */
} oxi_llm_activation;

typedef struct oxi_llm_family {
    const char *name; /* general.architecture, and what its keys begin with */
    oxi_llm_block block;
    oxi_llm_norm_kind norm;
    oxi_llm_rope_kind rope;
    const oxi_llm_activation *activation;
    oxi_llm_router router;
    int windows; /* n: the last of n layers sees everything; -n: the first; 1: all are windowed */
    bool causal;
    uint64_t traits;
} oxi_llm_family;

/* ---- parts --------------------------------------------------------------------------------------------- */

/* Sizes of a model's mixer, zeros where it has none: mixers.c. */
#define OXI_LLM_MIXER_SIZE_LIST(X)                                                                         \
    X(MIXER_IN) X(MIXER_INNER) X(MIXER_CHANNELS) X(MIXER_KERNEL) X(MIXER_X) X(MIXER_RANK) X(MIXER_STATE)   \
    X(MIXER_SHIFTS) X(MIXER_SHIFT_RANKS) X(MIXER_STEPS) X(MIXER_HEADS) X(MIXER_PAIRS) X(MIXER_DECAYS)       \
    X(MIXER_SKIPS) X(MIXER_NORM)                                                                           \
    X(MIXER_PART_KERNEL) X(MIXER_GROUPS) X(MIXER_GROUP)

/* What shapes are made of: of the model or of a layer, known once the facts are read. */
#define OXI_LLM_SIZE_LIST(X)                                                                              \
    X(NONE) X(ANY) X(VOCABULARY) X(WIDTH) X(HYPER) X(HYPER_WIDTH) X(HYPER_MIXES) X(HYPER_RANK) \
    X(HIDDEN) X(HIDDEN_UP) X(HEADS) X(KV_HEADS) X(QUERIES) X(KEYS) X(VALUES)    \
    X(QUERY_KEY_VALUE) X(MERGED) X(BUCKETS) X(PAIRS) X(QUERY_RANK) \
    X(MERGE_GROUPS) X(MERGE_RANK) X(MERGE_PART) X(RATIO) X(BLOCK)                                         \
    X(INDEX_QUERIES) X(INDEX_HEADS) X(INDEX_SIZE) X(INDEX_BLOCK)                                          \
    X(LATENT) X(LATENT_TURNED) X(LATENT_QUERIES) X(LATENT_PAIRS) X(LATENT_PLAIN) X(LATENT_VALUE)          \
    X(EXPERTS) X(EXPERTS_USED) X(CHUNKS) X(VALUE_EXPERTS) X(EXPERT_WIDTH) X(EXPERT_HIDDEN)               \
    X(EXPERT_GATE_UP)                                                                                     \
    X(SHARED_HIDDEN) X(INPUT) X(INPUTS) X(ALTERNATE) X(ALTERNATE_SQUARE) X(ALTERNATE_WIDTH)               \
    OXI_LLM_MIXER_SIZE_LIST(X)

typedef enum oxi_llm_size {
#define OXI_X(size) OXI_LLM_SIZE_##size,
    OXI_LLM_SIZE_LIST(OXI_X)
#undef OXI_X
        OXI_LLM_SIZE_COUNT
} oxi_llm_size;

typedef enum oxi_llm_model_role {
#define OXI_LLM_MODEL_PART(role, name, rows, columns) OXI_LLM_##role,
#include "parts.def"
    OXI_LLM_MODEL_ROLES
} oxi_llm_model_role;

typedef enum oxi_llm_layer_role {
#define OXI_LLM_LAYER_PART(role, name, experts, rows, columns) OXI_LLM_##role,
#include "parts.def"
    OXI_LLM_LAYER_ROLES
} oxi_llm_layer_role;

typedef struct oxi_llm_part {
    ox_tensor *weight, *bias; /* NULL = there is none */
    double scale;             /* of the product; 1 */
    ox_tensor *scales;        /* f32 [experts, 1] where each expert has its own; NULL = they have none */
    ox_tensor *rest;          /* the weight's last rows, where they are no sixteen and lie apart; or NULL */
} oxi_llm_part;

/* ---- a model ------------------------------------------------------------------------------------------- */

typedef struct oxi_llm_rope {
    double base, scale, magnitude;
    double long_magnitude; /* instead, with long_factors */
    double growth;  /* of the base with texts of more than `original` positions; 0 = none */
    double stretch; /* factor of YaRN, where there are such factors */
    int64_t size;             /* elements of a head that are turned; 0 = none */
    ox_tensor *factors;       /* f32 [size / 2], or NULL */
    ox_tensor *long_factors;  /* instead, in contexts of more than `original` positions; NULL = the same */
    int64_t original;
} oxi_llm_rope;

typedef struct oxi_llm_layer {
    oxi_llm_part part[OXI_LLM_LAYER_ROLES];
    int64_t heads, kv_heads, key_size, value_size, hidden, expert_hidden;
    double expert_clamp;      /* of what goes into the experts' activation; 0 = none */
    double bend[4];           /* of an activation that each layer has its own of: oxi_llm_bent; */
    bool bends;               /* it has */
    double cutoff;            /* of the gate, in standard deviations over its mean; */
    bool cuts;                /* what is below is 0 */
    double difference;        /* how much is taken off of what the second half of the heads attends to; */
    double difference_scale;  /* of what is left */
    double shared_clamp;      /* the same of shared experts, and of a plain feed-forward */
    int64_t window;           /* positions that are seen; 0 = all */
    int64_t keys_of;          /* the layer whose keys and values it sees: itself, or one before it */
    int64_t ratio;            /* positions that leave one row of keys beyond the window; 0 = none do */
    int64_t overlaps;         /* such a row is of the block before its own as well */
    const oxi_llm_rope *rope; /* NULL: not turned */
    bool attends, feeds;      /* it has attention; it has a feed-forward */
    oxi_llm_mixer mixer;      /* heads and sizes above are the mixer's in layers that do not attend */
} oxi_llm_layer;

/* A model's mixer, the same in all layers that have it. */
typedef struct oxi_llm_mixing {
    oxi_llm_mixer kind;
    int64_t taps;                /* of the convolution; 0 = there is none */
    int64_t inner, groups, rank; /* numbers that are mixed; heads of keys; numbers that steps are made of */
    int64_t heads, key, value;   /* of the memory; 0 = there is none */
    int64_t norm_groups;         /* of what is mixed: each has a norm of its own */
    bool gated_late;             /* the gate comes behind that norm, not before it */
    double epsilon;              /* of norms of what is made of the inputs; 0 = the model's */
    int64_t shifts;              /* inputs that are made of a position and the one before it */
    bool bare_norms;             /* norms without weights, of what is made of the inputs */
    double length_epsilon;       /* of keys and queries of length 1; 0 = the model's */
    double bound;                /* of KDA's logarithmic decays, or 0 */
    double rate_scale;           /* of a delta net's rates */
    int64_t size[OXI_LLM_SIZE_COUNT];
} oxi_llm_mixing;

/* Numbers of the model that its layers share; zeros where the family has none. */
typedef struct oxi_llm_numbers {
    oxi_llm_block block;
    oxi_llm_norm_kind norm;
    oxi_llm_rope_kind rope;
    double output_epsilon; /* of the last norm */
    double epsilon, attention_scale, score_cap, logit_cap, clamp, alibi;
    double row_epsilon; /* of norms of what halves of layers add to, where it has a factor of its own */
    double embedding_scale, residual_scale, logit_scale; /* factors; 0 = none */
    int64_t query_rank, latent;       /* of latent attention */
    double latent_epsilon;            /* of the norms of these */
    int64_t merge_groups, merge_rank; /* of heads, each merged to so many numbers first; 0 = they are not */
    int64_t sparse, best; /* positions up to which all keys are attended to, of more the best; 0 = always */
    bool indexed;         /* there is what tells which these are: */
    int64_t index_heads, index_size;
    bool blocks;                      /* some layer has a ratio */
    int64_t latent_key, latent_value; /* and the sizes of a head's key and value in it */
    int64_t experts, experts_used, expert_width, shared_hidden, expert_groups, expert_groups_used;
    int64_t dense_layers; /* the first ones, which have no experts */
    int64_t table_layers; /* the first ones, whose experts tokens choose by a table */
    int64_t input;        /* numbers of a token's that each layer takes beside; 0 = none */
    const oxi_llm_activation *activation;
    oxi_llm_router router;
    bool routed_norm;
    double routed_scale;
    int64_t chunk_share; /* experts that have one of the chunk experts */
    double chunk_scale;  /* of what chunk experts make of the others' result; 0 = there are none */
    int64_t value_experts, value_experts_used; /* that make values; 0 = none */
    double temperature; /* queries times 1 + this log(1 + floor(position / temperature_length)); 0 = none */
    int64_t temperature_length;
    int64_t chunk;       /* a window is a chunk of so many positions: a token sees those in it before; or 0 */
    int64_t norm_groups; /* of a row, each with a norm of its own; 0 or 1 = none */
    bool late_bare;      /* q and k of turned layers have norms without weights, behind rope */
    double alibi_scale;  /* of ALiBi's slopes */
    double jitter;       /* of a sparse mixer: experts count that are near the best one; 0 = no such router */
    double value_scale;  /* of attention's result; 0 = none */
    bool turned_values;  /* values are turned as keys are */
    bool scale_falls;    /* the scale of scores is divided by the layer's number, from 1 on */
    int64_t stack, low_passes; /* layers of a pass; passes of the low stack before one of the high; or 0 */
    int64_t hyper;       /* residual rows of a position; 0 = one, as usual */
    int64_t hyper_rank;  /* of the matrices that mix them; 0 = they are mixed by a number for each */
    int64_t hyper_rounds; /* of Sinkhorn's, of what each row takes of the others; 0 = each is kept */
    double hyper_epsilon, hyper_magnitude;
    int64_t alternate;   /* residual rows, of which the layers compute the first and guess the others; or 0 */
    int64_t bank;        /* every so many layers the residual row is kept and begins anew; 0 = never */
    double gate_cap, up_cap; /* of what goes into the feed-forward's activation, by tanh; 0 = none */
    int64_t halved;      /* x is halved behind every so many layers; 0 = never */
    int64_t buckets, farthest; /* of distances that have a bias of their own; the one where the last begins */
    bool windows;        /* some layer has a window */
    ox_llm_pooling pooling;
    const oxi_llm_activation *dense[OXI_LLM_DENSE_MOST]; /* behind each product; NULL = none */
    bool dense_added[OXI_LLM_DENSE_MOST]; /* what it takes is added behind that */
    bool causal;
    oxi_llm_mixing mixing;
} oxi_llm_numbers;

enum { OXI_LLM_GRAM_MOST = 8, OXI_LLM_GRAM_ROWS = 64 };

/* Embeddings of n-grams: a hash of a token and those before it chooses rows of a table. */
typedef struct oxi_llm_grams {
    int64_t most, each, rows; /* tokens of the longest; rows of each length, and of all: 0 = there are none */
    int64_t taps;             /* of the convolution over what they make, every `most` positions */
    int32_t end;              /* the token that ends a text */
    uint64_t factor[OXI_LLM_GRAM_MOST];                          /* of the token, of those before it */
    uint64_t first[OXI_LLM_GRAM_ROWS], count[OXI_LLM_GRAM_ROWS]; /* rows of the table that are chosen from */
} oxi_llm_grams;

/* Memory that small weights of all layers lie in, one behind the other. */
typedef struct oxi_llm_shared_memory {
    ox_tensor *memory; /* u8, or NULL */
    size_t used;
} oxi_llm_shared_memory;

struct ox_llm {
    int64_t references; /* the user's and one for each context */
    const oxi_llm_family *family;
    ox_llm *encoder; /* that reads the text which this one answers, or NULL */
    ox_llm_config config;
    oxi_llm_numbers numbers;
    oxi_llm_grams grams;
    oxi_llm_rope rope, window_rope; /* of layers that see everything, and of windowed ones */
    ox_device *device;
    ox_tokenizer *tokenizer; /* NULL = a kind that is not read here */
    char tokenizer_name[32];
    char *chat_template; /* NULL = there is none */
    int64_t chat_template_length;
    oxi_llm_part part[OXI_LLM_MODEL_ROLES]; /* OUTPUT is EMBEDDING where tied */
    oxi_llm_layer *layers;                  /* [config.layers] */
    ox_tensor *slopes;                      /* of ALiBi, f32 [heads, 1, 1], or NULL */
    ox_tensor *head_numbers;                /* 0, 1 .. as experts, i32 [1, most heads or groups] */
    oxi_llm_shared_memory by_head[2];       /* of keys and of values that are made of latents */
};

static bool oxi_llm_has_trait(const ox_llm *model, uint64_t trait) {
    return (model->family->traits & trait) != 0;
}

/* ---- a context ----------------------------------------------------------------------------------------- */

enum { OXI_LLM_TRIES = 8 };

/* What a layer's mixer keeps; NULL = zeros. */
typedef struct oxi_llm_state {
    ox_tensor *window; /* [taps - 1, channels]: the last inputs of its convolution */
    ox_tensor *memory; /* [heads, key, value] */
    ox_tensor *home;   /* [heads, 1 + key, value] whose end memory is, written in place; or NULL */
    ox_tensor *late[3]; /* keys, values, decays of a last position that memory lacks, or NULL */
    ox_tensor *grams;  /* [(taps - 1) * most, hyper * width]: the last that n-grams made */
    ox_tensor *fed;    /* [1, width]: the last input of its feed-forward, where that mixes it in */
} oxi_llm_state;

struct ox_llm_context {
    ox_llm *model;
    int64_t capacity, length, batch;
    int32_t pending; /* generated, but not run yet: goes first in the next ox_llm_generate; -1 = none */
    ox_dtype dtype;  /* of keys and values */
    ox_tensor **keys, **values; /* a layer's: [kv_heads, room, key_size], [.., value_size]; NULL = room 0 */
    /* a layer's: so far, of the tokens that run, and of the step that is recorded ahead; NULL = no mixers */
    oxi_llm_state *states, *written, *recorded;
    ox_tensor **homes; /* [1]: NULL at first, [layers, heads, 1 + key, value] of memories written in place */
    ox_tensor **biases; /* [1]: what a query's scores take of how far keys are, the last being its own, f32
                         * [heads, 1, room]; NULL = none, or made anew for each batch */
    ox_llm_context *encoder; /* of the model's encoder, or NULL */
    ox_tensor **source; /* [2 * layers] keys and values [kv_heads, n, size] of what it read, or NULL */
    const int32_t *types; /* of the tokens that are run, while ox_llm_embed does; NULL = all 0 */
    float *logits;        /* [vocabulary] of ox_llm_step, where a device does not keep them; or NULL */
    int32_t *history;     /* [capacity] its tokens, for n-grams or frequencies that change with the length;
                           * or NULL */
    int64_t reach;        /* positions up to the end of the tokens that run, or ran last */
    bool stretched;       /* its keys were turned by the frequencies for long texts */
    ox_tensor *next; /* i32 [2]: token and position of a step that is recorded ahead; NULL at first */
    int64_t ahead, ahead_at;    /* the step that is recorded, by the device's number, or 0; its position */
    int not_ahead; /* steps that could not be recorded; after OXI_LLM_TRIES it is not tried again */
};

#endif
