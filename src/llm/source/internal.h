/* What the parts of this folder share: a folder's configuration while it is read, and what its tensors are
 * made of. A folder becomes an ox_file whose metadata are the facts, and whose items are made by a
 * transform. */
#ifndef OXI_LLM_SOURCE_INTERNAL_H
#define OXI_LLM_SOURCE_INTERNAL_H

#include "models.def"
#include "names.def"
#include "keys.def"

typedef enum oxi_llm_trait {
    OXI_LLM_TRAIT_NONE = 0,
    OXI_LLM_TRAIT_PAIRS,
    OXI_LLM_TRAIT_ONE,
    OXI_LLM_TRAIT_OFFSET,
    OXI_LLM_TRAIT_BACKWARDS,
    OXI_LLM_TRAIT_EITHER
} oxi_llm_trait;

typedef struct oxi_llm_model_type {
    const char *name, *architecture, *sets;
    oxi_llm_trait trait;
    int period;
} oxi_llm_model_type;

/* What is done to a stored tensor (or several), [.., rows, columns]. */
typedef enum oxi_llm_transform {
    OXI_LLM_TRANSFORM_NONE = 0,
    OXI_LLM_TRANSFORM_SKIP,    /* no tensor of the model */
    OXI_LLM_TRANSFORM_HEAD,    /* as it is; not there where the embedding is the output matrix too */
    OXI_LLM_TRANSFORM_ENCODER, /* as it is; a row of T5's encoder alone, or of its decoder */
    OXI_LLM_TRANSFORM_DECODER,
    OXI_LLM_TRANSFORM_ATTENDING, /* as it is; a row of layers with attention alone, or of those without */
    OXI_LLM_TRANSFORM_MIXING,
    OXI_LLM_TRANSFORM_NORM,  /* weights + 1 where the model has that trait */
    OXI_LLM_TRANSFORM_QUERY, /* rows of halves to pairs, with that trait: heads, or key-value heads */
    OXI_LLM_TRANSFORM_KEY,
    OXI_LLM_TRANSFORM_FUSED,        /* rows [kv_heads, heads / kv_heads + 2, size]: all q, all k, all v */
    OXI_LLM_TRANSFORM_FOURTHS,      /* rows of q, v, k of four parts: all q, all k, all v */
    OXI_LLM_TRANSFORM_TURNED,       /* rows and columns exchanged; vectors as they are */
    OXI_LLM_TRANSFORM_TURNED_FIRST, /* the first half of the columns, turned; the second */
    OXI_LLM_TRANSFORM_TURNED_SECOND,
    OXI_LLM_TRANSFORM_TURNED_EVEN, /* columns 0, 2, 4 .., turned; columns 1, 3, 5 .. */
    OXI_LLM_TRANSFORM_TURNED_ODD,
    OXI_LLM_TRANSFORM_ROWS_FIRST, /* the first half of the rows; the second */
    OXI_LLM_TRANSFORM_ROWS_SECOND,
    OXI_LLM_TRANSFORM_FIRST_FOURTH, /* the first fourth of the rows; the other three */
    OXI_LLM_TRANSFORM_OTHER_FOURTHS,
    OXI_LLM_TRANSFORM_EVEN, /* columns 0, 2, 4 ..; columns 1, 3, 5 .. */
    OXI_LLM_TRANSFORM_ODD,
    OXI_LLM_TRANSFORM_MXFP4, /* blocks u8 [E, rows, n, 16] and scales [E, rows, n]; of rows 0, 2, 4 ..; */
    OXI_LLM_TRANSFORM_MXFP4_EVEN, /* of rows 1, 3, 5 .. */
    OXI_LLM_TRANSFORM_MXFP4_ODD,
    OXI_LLM_TRANSFORM_LATENT_KEYS,   /* rows [heads, nope + value]: [heads, columns, nope] */
    OXI_LLM_TRANSFORM_LATENT_VALUES, /* [heads, value, columns] */
    OXI_LLM_TRANSFORM_LATENT_TURNED, /* halves of its last rows, which are turned, become pairs */
    OXI_LLM_TRANSFORM_DELTA_FIRST,   /* rows of q, k, values and gates of a key: all q, k, values */
    OXI_LLM_TRANSFORM_DELTA_SECOND,  /* all gates */
    /* A key's heads of values, which lie side by side, become a row of keys apart, where GGUF has them so: */
    OXI_LLM_TRANSFORM_DELTA_MIXED,  /* behind q and k */
    OXI_LLM_TRANSFORM_DELTA_HEADS,  /* alone */
    OXI_LLM_TRANSFORM_DELTA_DECAYS, /* the same as DECAYS */
    OXI_LLM_TRANSFORM_DELTA_COLUMNS,
    OXI_LLM_TRANSFORM_SCALED,        /* times a number, or one a row, f32 */
    OXI_LLM_TRANSFORM_PROJECTED,     /* [rows, n] by another tensor [m, n]: [rows, m]; by one [n, m] */
    OXI_LLM_TRANSFORM_PROJECTED_BACK,
    OXI_LLM_TRANSFORM_ADDED,         /* [rows, n] and another tensor of that; and itself: 1 on the diagonal */
    OXI_LLM_TRANSFORM_INTEGERS,      /* of 32 bits */
    OXI_LLM_TRANSFORM_POSITIONS,     /* without the first rows, where the model has that trait */
    OXI_LLM_TRANSFORM_WITHOUT_TWO,   /* without the first two rows */
    OXI_LLM_TRANSFORM_FLAT,          /* [1, n]: [n] */
    OXI_LLM_TRANSFORM_SQUEEZED,      /* [n, 1, m]: [n, m] */
    OXI_LLM_TRANSFORM_DECAYS,        /* logarithms of decays' rates: minus the rates, f32; [n]: [n, 1] */
    OXI_LLM_TRANSFORM_GATED_DECAYS,  /* -8 times their softplus, f32; [n]: [n, 1] */
    OXI_LLM_TRANSFORM_MIXER_SKIPS,   /* [n]: of Mamba 2 [n, 1] */
    OXI_LLM_TRANSFORM_MIXER_NORM,    /* [n]: [groups, n / groups] where it norms by group */
    OXI_LLM_TRANSFORM_TERNARY,       /* -1, 0 or 1, times the mean of what is there, where it computes so */
    OXI_LLM_TRANSFORM_STACK,         /* several as [count, ..] */
    OXI_LLM_TRANSFORM_JOIN,          /* several, rows behind rows; [n, 1, m] as [n, m]. In names.def: */
    OXI_LLM_TRANSFORM_JOIN_FIRST,    /* the first of them ... */
    OXI_LLM_TRANSFORM_JOIN_SECOND,
    OXI_LLM_TRANSFORM_JOIN_THIRD,
    OXI_LLM_TRANSFORM_JOIN_FOURTH,
    OXI_LLM_TRANSFORM_BY_EXPERT,     /* [experts n, m]: [experts, n, m]; and turned, [experts, m, n] */
    OXI_LLM_TRANSFORM_TURNED_BY_EXPERT,
    OXI_LLM_TRANSFORM_EACH_EXPERT,   /* [n], of all experts, whose shares sum to one: [experts, n] */
    OXI_LLM_TRANSFORM_VALUES         /* not stored: numbers that follow from config.json */
} oxi_llm_transform;

/* How a tensor of the source is made. */
typedef struct oxi_llm_plan {
    const char *name; /* GGUF's */
    oxi_llm_transform transform;
    uint32_t number;       /* of an expert or head, while plans are collected */
    uint32_t from;         /* the stored tensor */
    uint32_t module;       /* 0: of the model's weights; else of modules[module - 1] */
    uint32_t by;           /* PROJECTED and ADDED: the other one */
    uint32_t first, count; /* STACK and JOIN: in `pieces` */
    const float *values;   /* VALUES and SCALED: count of them */
    uint32_t columns;      /* VALUES: of a matrix; 0 = a vector */
} oxi_llm_plan;

/* The state of a folder that is open: what its items need. */
typedef struct oxi_llm_folder {
    const oxi_llm_model_type *model;
    ox_file *weights;
    ox_file *modules[OXI_LLM_DENSE_MOST]; /* weights of products behind the model; NULL = no more */
    oxi_llm_plan *plans; /* an item's `extra` is its plan */
    size_t plan_count, plan_room;
    uint32_t *pieces; /* stored tensors, in the order of their stacks */
    size_t piece_room;
    int64_t heads, kv_heads, layers, nope_size, value_size, offset, beyond, experts;
    int64_t delta_keys, delta_key; /* of a delta net: heads of keys, their size; */
    int64_t delta_each;            /* heads of values for each of them */
    int64_t mixer_groups;          /* of Mamba 2's norms by group; 0 = there are none */
    int64_t width;                 /* hidden_size, where experts may be stored turned */
    int64_t turned;                /* elements of a head that are turned; 0 = all */
    int64_t halves; /* last elements of a latent head that turn as halves, and become pairs; 0 = none do */
    int64_t scaled_rows, scaled_columns; /* of 8-bit floats that have one scale; 0 = weights have none */
    bool tied, ternary, second;          /* second: it mixes by Mamba 2 */
    ox_string text[OXI_LLM_SOURCE_TEXT_COUNT];
} oxi_llm_folder;

/* A folder while it is opened. */
typedef struct oxi_llm_config {
    ox_file *file; /* what it becomes; parts[0].path is the folder */
    oxi_llm_folder *folder;
    oxi_json config, generation;
    oxi_json sizes;    /* what transformers' class has for sizes; without nodes: nothing */
    oxi_json defaults; /* and for what else it has */
    bool defaulted;    /* they are looked at too */
    uint32_t inner;    /* the node of text_config; 0 = there is none */
} oxi_llm_config;

/* Whether a word of one text, with blanks between, is one of another. */
static bool oxi_llm_share_word(const char *a, const char *b);

/* ---- config.json (config.c) ---------------------------------------------------------------------------- */

/* A value by its name as keys.def has them; NULL = missing or null. */
static const oxi_json_node *oxi_llm_config_node(const oxi_llm_config *c, const char *name, size_t length);
/* The members that the defaults of models.def and keys.def have for the model. */
static ox_status oxi_llm_add_defaults(oxi_llm_config *c);
/* The same configuration, whose defaults are looked at too. */
static oxi_llm_config oxi_llm_with_defaults(const oxi_llm_config *c);
/* An expression of keys.def; false = missing, or OX_ERR_FORMAT in *status: what is there is no number. */
static bool oxi_llm_config_number(const oxi_llm_config *c, const char *expression, double *out,
                                  ox_status *status);
/* The same cut to an integer in [low, high]; `otherwise` where it is missing, OX_ERR_FORMAT if that is
 * below. */
static ox_status oxi_llm_config_int(const oxi_llm_config *c, const char *expression, int64_t low,
                                    int64_t high, int64_t otherwise, int64_t *out);
/* A text; NULL = missing or none. */
static const char *oxi_llm_config_text(const oxi_llm_config *c, const char *name);

/* Whether a stored tensor is no weight: scales of weights or of what meets them (shapes.c). */
static bool oxi_llm_is_scale(const oxi_llm_folder *folder, const char *name);

/* ---- facts (facts.c, rope.c) --------------------------------------------------------------------------- */

/* The key is "<architecture>.<key>", but for general. and tokenizer. keys. */
static ox_status oxi_llm_fact_number(const oxi_llm_config *c, const char *key, ox_gguf_type type,
                                     double value);
static ox_status oxi_llm_fact_text(const oxi_llm_config *c, const char *key, const char *text, size_t length);
/* values [count], of 4 bytes (u32, i32, f32) or 1 (bool) each, little-endian; copied. */
static ox_status oxi_llm_fact_array(const oxi_llm_config *c, const char *key, ox_gguf_type type,
                                    const void *values, int64_t count);
static ox_status oxi_llm_add_facts(const oxi_llm_config *c);
/* Scaling of the rope, and the tensors of factors that it has in GGUF. */
static ox_status oxi_llm_add_rope(const oxi_llm_config *c);
/* The embedding of positions, of models that make theirs of sines. */
static ox_status oxi_llm_add_sinusoids(const oxi_llm_config *c);

/* ---- modules (modules.c) ------------------------------------------------------------------------------- */

/* Files of the folder (folder.c): the path of one, of *bytes, or NULL; its text, with a 0 behind it, data
 * NULL = there is none; an object that it holds. */
static char *oxi_llm_folder_path(const ox_file *file, const char *name, size_t *bytes);
static ox_status oxi_llm_folder_text(ox_file *file, const char *name, bool required, ox_string *out);
static ox_status oxi_llm_folder_json(ox_file *file, const char *name, ox_string text, oxi_json *out);
/* What sentence-transformers and PyLate have behind the model: pooling, and plans for products. */
static ox_status oxi_llm_add_modules(const oxi_llm_config *c);

/* ---- tensors (names.c, shapes.c, transform.c) ---------------------------------------------------------- */

/* The file that a plan's tensor is stored in. */
static ox_file *oxi_llm_plan_file(const oxi_llm_folder *folder, const oxi_llm_plan *plan);
/* Whether a norm's tensor gets 1 added. */
static bool oxi_llm_adds_one(const oxi_llm_folder *folder, const oxi_llm_plan *plan);
/* A new plan, cleared. */
static oxi_llm_plan *oxi_llm_add_plan(const oxi_llm_config *c, const char *name);
/* Plans for all stored tensors; each must have a row. */
static ox_status oxi_llm_add_tensors(const oxi_llm_config *c);
/* The item of each plan: its dtype and shape follow from what is stored. */
static ox_status oxi_llm_add_items(const oxi_llm_config *c);
/* oxi_format.load: makes the tensor. */
static ox_tensor *oxi_llm_load_item(ox_file *file, const oxi_file_item *item);

#endif
