/* Tokenizers as one pipeline of data: markers are cut out of the text, normalizers change what is between
 * them, pre-tokenizers split it into words, the model makes ids of words, post-processors put special tokens
 * around them; decoders turn ids into text. Each part is a list of steps, each step a row of a table with its
 * options. A tokenizer.json (sources/json.c) and a GGUF file (sources/gguf.c) have readers that make it. */
/* WORDS OF THIS ROOM
 *     marker         a token that is looked for before a text is split: special and added ones
 *     section        the text between two markers
 *     word           what pre-tokenizers make; the model sees one at a time
 *     byte mode      a BPE model over bytes: byte-level tokenizers without the detour over 256 characters
 *     piece          the bytes that a token adds to a text
 *     place          where in the original text a token comes from */
#ifndef OX_LLM_TOKENIZER_INTERNAL_H
#define OX_LLM_TOKENIZER_INTERNAL_H

/* ---- vocabulary: texts, types and scores by id, ids by text (vocabulary.c) ----------------------------- */

/* An open-addressed table of ids by text; of equal texts the last one is found. */
typedef struct oxi_text_index {
    int32_t *slots;  /* [count] id + 1, 0 = free */
    size_t count;    /* a power of two */
    uint64_t key[2]; /* of the hash: texts come from strangers */
} oxi_text_index;

/* Two texts may have one id: that which an id does not read as is an entry behind all ids. */
typedef struct oxi_vocabulary {
    int64_t count;          /* ids */
    int64_t entries;        /* these, and texts whose id reads otherwise */
    int32_t *covered;       /* [entries - count]: the ids of those; NULL: there are none */
    size_t *start;          /* [entries + 1]: where a token's text begins in texts, and its piece in pieces */
    char *texts;            /* as the file has them */
    char *pieces;           /* as they read */
    size_t piece_bytes;     /* of pieces */
    size_t *piece_start;    /* [entries], as the others are */
    uint32_t *piece_length; /* bytes of a piece */
    uint8_t *piece_cut;     /* bytes that are not there at the start of a text */
    uint8_t *type;          /* of ox_token_type */
    uint8_t *outside;       /* whether the model does not know it; NULL = it knows all */
    float *score;           /* of Unigram and SentencePiece */
    size_t longest;         /* bytes of a text */
    size_t spare;           /* bytes behind all texts that were allocated with them */
    oxi_text_index by_text, by_bytes; /* by_bytes: over pieces, in byte mode only */
    int32_t byte_token[256];          /* -1 = none */
} oxi_vocabulary;

static void oxi_vocabulary_free(oxi_vocabulary *v);
/* The entry of a text, -1 = none; the id of an entry. */
static int32_t oxi_vocabulary_find(const oxi_vocabulary *v, const char *text, size_t length);
static int32_t oxi_vocabulary_id(const oxi_vocabulary *v, int32_t entry);
/* The same among those that the model knows. */
static int32_t oxi_vocabulary_find_known(const oxi_vocabulary *v, const char *text, size_t length);
static size_t oxi_vocabulary_length(const oxi_vocabulary *v, int32_t token);
static const char *oxi_vocabulary_text(const oxi_vocabulary *v, int32_t token);
/* Room for `count` ids and `more` entries, whose texts have `bytes` bytes: texts, start and covered are the
 * caller's to fill. */
static ox_status oxi_vocabulary_make(oxi_vocabulary *v, int64_t count, int64_t more, size_t bytes);
static ox_status oxi_vocabulary_index(oxi_vocabulary *v);
/* Over pieces that are byte-level texts turned to bytes; needs pieces. */
static ox_status oxi_vocabulary_index_bytes(oxi_vocabulary *v);
static int32_t oxi_vocabulary_find_bytes(const oxi_vocabulary *v, const char *bytes, size_t length);
/* "<0x0A>" -> 10; -1 for anything else. */
static int oxi_byte_of_text(const char *text, size_t length);

/* ---- the text on its way ------------------------------------------------------------------------------- */

/* A view of a text, and where each byte comes from: [from[i], to[i]) of the original. */
typedef struct oxi_text {
    const char *bytes;
    size_t length;
    const uint32_t *from, *to; /* NULL: byte i is byte base + i */
    size_t base;
} oxi_text;

typedef struct oxi_buffer {
    char *bytes;
    uint32_t *from, *to;
    size_t length, byte_room, from_room, to_room;
    size_t most; /* bytes that it may have, 0 = any number */
} oxi_buffer;

/* Steps may make texts longer, by this many times what came in and a bit: each may double them. */
enum { OXI_MOST_GROWTH = 32, OXI_GROWTH_OF_NONE = 1 << 20 };

/* A part of the text; while it is split, whether the pattern matched it. */
typedef struct oxi_stretch {
    uint32_t start, end;
    bool match;
} oxi_stretch;

typedef struct oxi_split_list {
    oxi_stretch *list;
    size_t count, room;
} oxi_split_list;

typedef struct oxi_token {
    int32_t id;
    uint32_t from, to;
    uint16_t leading, trailing; /* white space of a text of its own; OXI_BY_ID: of the token's text */
} oxi_token;

enum { OXI_BY_ID = UINT16_MAX, OXI_MOST_BLANKS = 1024 }; /* markers may share their white space */

typedef struct oxi_token_list {
    oxi_token *list;
    size_t count, room;
} oxi_token_list;

struct oxi_word_cache;

/* All that one call of encode needs: the tokenizer itself is never written to. */
typedef struct oxi_flow {
    const ox_tokenizer *tokenizer;
    oxi_text text;         /* as it stands now */
    oxi_text whole;        /* all of it, as it came */
    size_t growth;         /* bytes by which steps may still make it longer */
    oxi_buffer buffers[4]; /* two that normalizers write in turn, two for pre-tokenizers */
    int turn;              /* the buffer that is written next */
    oxi_split_list splits, next, found;
    oxi_markers markers;
    oxi_matcher matcher;
    oxi_token_list tokens;
    struct oxi_word_cache *cache;
    size_t cache_count;
    void *scratch; /* of the model */
    size_t scratch_bytes;
    bool places, parse_special;
} oxi_flow;

static void oxi_work_free(oxi_flow *work);
/* Starts writing a new text; oxi_put_end makes it the text. */
static oxi_buffer *oxi_put_begin(oxi_flow *work);
static ox_status oxi_put(oxi_buffer *out, const char *bytes, size_t length, uint32_t from, uint32_t to);
static ox_status oxi_put_code(oxi_buffer *out, uint32_t code, uint32_t from, uint32_t to);
static void oxi_put_end(oxi_flow *work, const oxi_buffer *out);
/* Bytes by which steps may make `length` bytes longer. */
static size_t oxi_growth_of(size_t length);
/* Where the character at [at, end) of a text comes from. */
static uint32_t oxi_text_from(const oxi_text *text, size_t at);
static uint32_t oxi_text_to(const oxi_text *text, size_t end);
static ox_status oxi_split_push(oxi_split_list *list, size_t start, size_t end, bool match);
/* A token made of [start, end) of the text. */
static ox_status oxi_token_push(oxi_flow *work, int32_t id, size_t start, size_t end);
/* The same for one that reads like this part of the text: markers, unknown parts. */
static ox_status oxi_token_push_own(oxi_flow *work, int32_t id, size_t start, size_t end);
/* White space at an end of a text, in characters. */
static uint16_t oxi_count_blanks(const char *text, size_t length, bool at_end);
/* At least `bytes` of memory that lasts until the next call. */
static void *oxi_work_scratch(oxi_flow *work, size_t bytes);

/* ---- steps --------------------------------------------------------------------------------------------- */

typedef enum oxi_behavior {
    OXI_ISOLATED,
    OXI_REMOVED,
    OXI_CONTIGUOUS,
    OXI_MERGED_WITH_PREVIOUS,
    OXI_MERGED_WITH_NEXT
} oxi_behavior;

enum { OXI_PREPEND_NEVER, OXI_PREPEND_FIRST, OXI_PREPEND_ALWAYS };

/* Options of all rows by their names in a tokenizer.json (sources/json_steps.c). */
typedef enum oxi_option {
    OXI_ADD_PREFIX_SPACE = 1 << 0,
    OXI_USE_REGEX = 1 << 1,
    OXI_TRIM_OFFSETS = 1 << 2,
    OXI_INVERT = 1 << 3,
    OXI_INDIVIDUAL_DIGITS = 1 << 4,
    OXI_SPLIT = 1 << 5,
    OXI_CLEAN_TEXT = 1 << 6,
    OXI_CHINESE_CHARS = 1 << 7,
    OXI_STRIP_ACCENTS = 1 << 8,
    OXI_LOWERCASE = 1 << 9,
    OXI_STRIP_LEFT = 1 << 10,
    OXI_STRIP_RIGHT = 1 << 11,
    OXI_CLEANUP = 1 << 12,
    OXI_REMOVE_EXTRA_SPACES = 1 << 13,
    OXI_ESCAPE_SPACES = 1 << 14
} oxi_option;

struct oxi_step_row;

typedef struct oxi_pipe_step {
    const struct oxi_step_row *row;
    uint32_t options;
    char *text, *find; /* what is put in; what is looked for, unless it is a pattern */
    size_t text_length, find_length;
    oxi_pattern *pattern;
    int64_t start, stop; /* counts */
    oxi_behavior behavior;
    int prepend;
    int32_t *ids; /* a template: ids, or -1 - n for text n; types beside them */
    uint8_t *types;
    size_t single, pair; /* how many of ids the template of one text has, and then that of two */
} oxi_pipe_step;

/* A decoder's tokens: what is left of each is [start, end) of bytes. */
typedef struct oxi_decode_list {
    oxi_buffer bytes[2];
    int turn;
    oxi_split_list tokens, next;
    bool first, last; /* the list begins, ends where the text does */
    bool lossy;       /* what is not UTF-8 becomes U+FFFD */
    size_t growth;    /* bytes by which steps may still make texts longer */
} oxi_decode_list;

typedef ox_status (*oxi_decode_row)(const oxi_pipe_step *step, oxi_decode_list *list);

typedef struct oxi_step_row {
    const char *name;       /* its "type" in a tokenizer.json */
    uint32_t needed, usual; /* options that must be there; that hold where the file does not say */
    unsigned unicode;       /* what of the tables it needs */
    ox_status (*apply)(const oxi_pipe_step *step, oxi_flow *work);
    oxi_decode_row decode;
} oxi_step_row;

typedef struct oxi_steps {
    oxi_pipe_step *list;
    size_t count, room;
} oxi_steps;

/* The row of a name, NULL = none. */
static const oxi_step_row *oxi_normalizer_row(const char *name);
static const oxi_step_row *oxi_pre_tokenizer_row(const char *name);
static const oxi_step_row *oxi_decoder_row(const char *name);
static oxi_pipe_step *oxi_steps_add(oxi_steps *steps, const oxi_step_row *row);
static ox_status oxi_step_set(char **text, size_t *length, const char *from, size_t bytes);
static ox_status oxi_step_set_pattern(ox_tokenizer *t, oxi_pipe_step *step, const char *text, size_t length);
static void oxi_steps_free(oxi_steps *steps);

/* ---- models -------------------------------------------------------------------------------------------- */

typedef struct oxi_model_row {
    const char *name;
    /* One word, [start, end) of the work's text. */
    ox_status (*encode)(oxi_flow *work, size_t start, size_t end);
} oxi_model_row;

/* Two neighbors, and what they make. */
typedef struct oxi_merge {
    int32_t left, right; /* left -1 = free */
    int32_t made;
    uint32_t rank;
} oxi_merge;

typedef struct oxi_model {
    const oxi_model_row *row;
    int32_t unknown; /* -1 = none */
    bool fuse_unknown, byte_fallback, ignore_merges;
    bool whole_newlines;   /* a word of newlines that is a token stays one */
    bool whole_word;       /* words go to the model as bytes: byte mode */
    bool drop_unknown;     /* no token and no unknown one: nothing, not an error */
    char *prefix, *suffix; /* of words' later parts; of words' ends */
    size_t prefix_length, suffix_length;
    int64_t longest_word;     /* characters */
    oxi_merge *merges;        /* [merge_count] open addressing */
    size_t merge_count;       /* a power of two */
    int32_t byte_symbol[256]; /* byte mode: the id of a byte, -1 = none */
    oxi_trie trie;            /* of texts */
    double *scores;           /* of Unigram */
    double unknown_score;
} oxi_model;

static const oxi_model_row *oxi_model_row_of(const char *name);
static ox_status oxi_model_make_merges(oxi_model *model, size_t count);
static bool oxi_model_add_merge(oxi_model *model, int32_t left, int32_t right, int32_t made, uint32_t rank);
static uint32_t oxi_byte_char(uint8_t byte); /* the character that stands for a byte in byte-level texts */
static int oxi_char_byte(uint32_t code);     /* back; -1 = none */

/* ---- tokenizer ----------------------------------------------------------------------------------------- */

/* A marker, and how it is looked for. */
typedef struct oxi_added {
    int32_t id; /* of its entry */
    bool special, lstrip, rstrip, single_word, normalized;
} oxi_added;

/* A marker that reads otherwise than its text: normalized. */
typedef struct oxi_shown {
    int32_t id;
    char *text;
    size_t length;
} oxi_shown;

struct ox_tokenizer {
    char kind[32]; /* tokenizer.ggml.model, or the model's type */
    char pre[48];  /* tokenizer.ggml.pre, "" = none */
    oxi_unicode unicode;
    oxi_vocabulary vocabulary;
    oxi_model model;
    oxi_steps normalizers, pre_tokenizers, post_processors, decoders;
    oxi_added *added;
    size_t added_count, added_room;
    uint32_t *normalized_length; /* [added_count + 1] of markers' normalized texts */
    int32_t nothing;             /* the marker that normalizes to nothing, -1 = none does */
    oxi_shown *shown;
    size_t shown_count, shown_room;
    oxi_trie markers[2]; /* in the text as it is; in the normalized text: values are places in `added` */
    bool has_decoders;   /* decoding is the list of decoders, not pieces one after the other */
    bool decodes_whole; /* texts of tokens stand together though there are no decoders: an empty list */
    bool from_json, takes_bytes;
    bool add_bos, add_eos, add_sep, space_prefix;
    int32_t special[OX_TOKEN_ROLE_COUNT];
    uint8_t *ends; /* [count]: generation stops here */
};

static ox_status oxi_added_push(ox_tokenizer *t, oxi_added added);
static ox_status oxi_tokenizer_make_markers(ox_tokenizer *t);
/* Pieces of all tokens; after the steps and types are there. */
static ox_status oxi_tokenizer_make_pieces(ox_tokenizer *t);
/* Which tokens end a text. */
static void oxi_tokenizer_find_ends(ox_tokenizer *t);
/* What both readers end with: byte mode, indexes, pieces, markers. */
static ox_status oxi_tokenizer_finish(ox_tokenizer *t);
static ox_status oxi_tokenizer_read_gguf(ox_tokenizer *t, const ox_file *file);
static ox_status oxi_tokenizer_read_json(ox_tokenizer *t, const char *text, size_t length, const char *config,
                                         size_t config_length);
/* Whether the file's kind is one that is read. */
static bool oxi_tokenizer_knows(const ox_file *file);
/* The decoders' text of some ids. */
static ox_status oxi_tokenizer_run_decoders(const ox_tokenizer *t, const int32_t *ids, size_t count,
                                            bool keep_special, oxi_decode_list *list);
static void oxi_decode_list_free(oxi_decode_list *list);

#endif
