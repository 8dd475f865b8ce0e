/* What the parts of the llm room share: metadata, and the vocabulary under every tokenizer. Kinds of tokenizers are
 * rows of a table (tokenizer.c); models have a folder of their own.
 * Included before the .c parts of the room. */
/* WORDS OF THIS ROOM
 *     text, piece    a token as the file has it; the bytes that it adds to a text
 *     marker         a token that is looked for before a text is split: control and user-defined ones
 *     kind           of a tokenizer: a row of functions (SentencePiece)
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

/* ---- vocabulary: texts, types and scores by id, ids by text (vocabulary.c) ----------------------------- */

/* Markers are tokens that are looked for in the text before anything is split. They are found from its end to
 * its start, by an automaton over the markers' texts read backwards (Aho and Corasick 1975): a node stands
 * for the last bytes of a marker, and knows the longest marker that begins with what it stands for. */
typedef struct oxi_marker_node {
    int32_t child;   /* the first of its children, by byte; they end where those of the next node begin */
    int32_t shorter; /* the node of the longest start of its text that is another's */
    int32_t user;    /* the longest marker at its start: user-defined ones; -1 = none */
    int32_t any;     /* the same of all kinds */
    uint8_t byte;    /* its first one */
} oxi_marker_node;

typedef struct oxi_vocabulary {
    int64_t count;
    size_t *start;        /* [count + 1]: where a token's text begins in texts, and its piece in pieces */
    char *texts;          /* as the file has them */
    char *pieces;         /* as they read */
    size_t *piece_length; /* [count] */
    uint8_t *type;        /* [count] of ox_token_type */
    float *score;         /* [count] */
    size_t longest;       /* bytes of a text */
    int32_t *slots;       /* [slot_count] open addressing: id + 1, 0 = free */
    size_t slot_count;    /* a power of two */
    uint64_t key[2];      /* of the hash: texts come from strangers */
    oxi_marker_node *nodes; /* [node_count + 1], the root first, then by depth; NULL: there are no markers */
    int32_t node_count;
    int32_t byte_token[256]; /* -1 = none */
} oxi_vocabulary;

/* Reads tokens, token_type and scores of a GGUF file; v is zeroed. On error the caller still frees it. */
static ox_status oxi_vocabulary_read(oxi_vocabulary *v, const ox_file *file, bool needs_scores);
static void oxi_vocabulary_free(oxi_vocabulary *v);
static int32_t oxi_vocabulary_find(const oxi_vocabulary *v, const char *text, size_t length);
/* For each byte of a text the longest marker that begins there, control and unknown ones only if `control`;
 * -1 = none. */
static void oxi_vocabulary_markers(const oxi_vocabulary *v, const char *text, size_t length, bool control,
                                   int32_t *out);
static size_t oxi_vocabulary_length(const oxi_vocabulary *v, int32_t token);

/* ---- tokenizer ----------------------------------------------------------------------------------------- */

/* Where ids go: all are counted, those that fit are written. */
typedef struct oxi_token_list {
    int32_t *out;
    int64_t room, count;
} oxi_token_list;
static void oxi_token_push(oxi_token_list *list, int32_t token);

/* A row of the table of kinds. */
typedef struct oxi_tokenizer_kind {
    const char *name; /* tokenizer.ggml.model */
    bool needs_scores;
    bool add_bos, add_eos, space_prefix; /* where the file does not say */
    int32_t special[OX_TOKEN_ROLE_COUNT];   /* the same */
    /* Plain text to ids; `first` = at the start, or right after a marker. */
    ox_status (*encode)(const ox_tokenizer *tokenizer, const char *text, size_t length, bool first,
                        oxi_token_list *list);
} oxi_tokenizer_kind;

struct ox_tokenizer {
    const oxi_tokenizer_kind *kind;
    bool add_bos, add_eos, space_prefix;
    int32_t special[OX_TOKEN_ROLE_COUNT];
    oxi_vocabulary vocabulary;
};

static ox_status oxi_spm_encode(const ox_tokenizer *tokenizer, const char *text, size_t length, bool first,
                                oxi_token_list *list);
/* The row for a file, NULL if it has none or an unknown one; nothing is recorded. */
static const oxi_tokenizer_kind *oxi_tokenizer_kind_of(const ox_file *file);

/* Why an operation gave NULL. */
static ox_status oxi_llm_error(void);

#endif
