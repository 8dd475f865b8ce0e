/* The patterns that tokenizers split by, as Oniguruma (Ruby's syntax) means them: alternatives, groups and
 * atomic ones, classes, \p{..}, quantifiers (greedy, lazy, possessive), look-ahead, look-behind of a known
 * length, (?imx:..), ^ $ of lines, \A \z \Z \b \R. No back references, no \X, \G, \K.
 * A pattern is compiled to a table of steps; a matcher walks it in order, first alternative first. Work is
 * bounded: once a text takes many steps, each (step, place) that failed is remembered and not tried again. */
/* WORDS
 *     class      a set of characters: bits for ASCII, categories or a list of terms for the others
 *     step       what is matched next: a run of a class, a choice, a look, an edge
 *     frame      where to go on when a step fails */
#ifndef OX_LLM_PATTERN_H
#define OX_LLM_PATTERN_H

/* A term of a class: characters of [low, high], of some categories, white space, ranges, or another class. */
typedef struct oxi_class_term {
    uint32_t low, high;            /* categories == 0, !white, of < 0 */
    const oxi_named_range *ranges; /* NULL = none */
    uint32_t categories;           /* bits */
    int32_t of;                    /* -1 = none */
    bool white, negated;
} oxi_class_term;

typedef struct oxi_class {
    uint8_t ascii[128];
    uint32_t term, term_count; /* of oxi_pattern.terms */
    uint32_t categories;       /* if simple: what is beyond ASCII and not U+0085 */
    int32_t both;              /* another class that must hold as well, -1 = none */
    bool negated, simple;
} oxi_class;

typedef enum oxi_step_kind {
    OXI_STEP_MATCH,
    OXI_STEP_RUN,    /* min to max (-1 = any) of a class, then next */
    OXI_STEP_CHOICE, /* next, else other */
    OXI_STEP_LOOK,   /* a body at `other` (not) matches here, or `min` characters before; then next */
    OXI_STEP_ATOMIC, /* a body at `other` matches in its first way alone; then next, behind it */
    OXI_STEP_BEFORE, /* the character before is (not) of the class */
    OXI_STEP_LINE_START,
    OXI_STEP_LINE_END,
    OXI_STEP_START,
    OXI_STEP_END,
    OXI_STEP_LAST_LINE, /* the end, or a last newline before it */
    OXI_STEP_WORD_EDGE
} oxi_step_kind;

typedef enum oxi_run_mode { OXI_GREEDY, OXI_LAZY, OXI_POSSESSIVE } oxi_run_mode;

typedef struct oxi_step {
    uint8_t kind, mode;
    bool negated;
    int32_t class_index, min, max, next, other;
} oxi_step;

typedef struct oxi_pattern {
    const oxi_unicode *unicode;
    oxi_class *classes;
    oxi_class_term *terms;
    oxi_step *steps;
    size_t class_count, class_room, term_count, term_room, step_count, step_room;
    int32_t *starts; /* [start_count] first steps of the alternatives */
    size_t start_count, start_room;
    uint64_t first[129]; /* by first byte, 128 = beyond ASCII: which of the first 64 alternatives may match */
    bool anchored;       /* it can match nothing at all: never skipped by the first byte */
    bool loops;          /* a group without end may match nothing: failures are remembered from the start */
} oxi_pattern;

/* The pattern is zeroed. OX_ERR_UNSUPPORTED says what it does not know; oxi_pattern_close is always due. */
static ox_status oxi_pattern_open(oxi_pattern *pattern, const oxi_unicode *unicode, const char *text,
                                  size_t length);
static void oxi_pattern_close(oxi_pattern *pattern);

typedef struct oxi_frame {
    int32_t step, class_index; /* class_index >= 0: give back characters down to `low` */
    uint32_t at, low;
} oxi_frame;

typedef struct oxi_matcher {
    oxi_frame *frames;
    uint64_t *failed; /* bit for each (step, place); NULL until it is needed */
    uint64_t *passed; /* the second half of `failed`: the same for what led a look to its end */
    uint32_t *open;   /* places in `failed` of steps that may still succeed, with the frames below them */
    size_t frame_count, frame_room, failed_words, open_count, open_room;
    uint64_t steps, most;
    ox_status status;
} oxi_matcher;

/* The first match in text[from, length): true, and where. False with matcher->status on error. */
static bool oxi_pattern_find(const oxi_pattern *pattern, oxi_matcher *matcher, const char *text,
                             size_t length, size_t from, size_t *start, size_t *end);
/* For another text. */
static void oxi_matcher_reset(oxi_matcher *matcher, size_t length);
static void oxi_matcher_free(oxi_matcher *matcher);
static bool oxi_class_has(const oxi_pattern *pattern, int32_t index, uint32_t code);

#endif
