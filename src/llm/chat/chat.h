/* What the parts of the chat room share: formats as tables of marks, and the state of a reply.
 * A format is a small automaton: in each state some marks are looked for, and each says which state follows.
 * Included before the .c parts of the room:
 *     formats      the table of formats
 *     json_steps   a JSON checker that takes a byte at a time
 *     literals     arguments as JSON: values of unknown type, Python's and Gemma's literals
 *     calls        tool calls: their names, arguments and ends
 *     reply        the automaton, and what the user calls
 *     message      the message as JSON */
/* WORDS OF THIS ROOM
 *     mark           a text that is structure and no part of the message: "<think>"
 *     sign           a text by which a template's source is recognized
 *     raw            the whole text so far, as it came
 *     settled        bytes of raw that are given away for good: behind it a call may still be withdrawn
 *     held           bytes of raw that are content or reasoning for sure only if no mark follows: white space
 *     part           what stands between two marks: a name, a key, a value
 *     announced      a call whose name has been given to the user */
#ifndef OX_LLM_CHAT_CHAT_H
#define OX_LLM_CHAT_CHAT_H

/* Bits, since a mark may count in several states. */
typedef enum oxi_reply_at {
    OXI_REPLY_START = 1,        /* content, and nothing but space since the last mark or the beginning */
    OXI_REPLY_TEXT = 2,         /* content */
    OXI_REPLY_THINK = 4,        /* reasoning */
    OXI_REPLY_AFTER = 8,        /* behind a call: its closing marks, or as START */
    OXI_REPLY_HEAD = 16,        /* role, channel and recipient of what follows */
    OXI_REPLY_OPEN = 32,        /* space before a call or between two */
    OXI_REPLY_NAME = 64,        /* of a call */
    OXI_REPLY_ID = 128,         /* of a call */
    OXI_REPLY_SKIP = 256,       /* what says nothing */
    OXI_REPLY_PARAMETERS = 512, /* space between parameters */
    OXI_REPLY_KEY = 1024,
    OXI_REPLY_GAP = 2048,          /* space between a key and its value */
    OXI_REPLY_VALUE = 4096,        /* of the type that the tools say */
    OXI_REPLY_WORD = 8192,         /* a value that is a text */
    OXI_REPLY_DATA = 16384,        /* a value in JSON */
    OXI_REPLY_ARGUMENTS = 1 << 15, /* all of them as JSON */
    OXI_REPLY_CALLS = 1 << 16,     /* a call or a list of calls as JSON: name and arguments are members */
    OXI_REPLY_NAMED = 1 << 17,     /* the same as {name: arguments} */
    OXI_REPLY_PYTHON = 1 << 18,    /* calls as Python writes them */
    OXI_REPLY_GEMMA = 1 << 19,     /* call:name{key:value} */
    OXI_REPLY_CODE = 1 << 20       /* the one argument "code" of the call "python" */
} oxi_reply_at;

#define OXI_REPLY_ANY (OXI_REPLY_START | OXI_REPLY_TEXT)
#define OXI_REPLY_BLOCK (OXI_REPLY_PYTHON | OXI_REPLY_GEMMA | OXI_REPLY_CODE)

enum {
    OXI_REPLY_MOST_NAME = 256, /* bytes of a name, an id, a head: longer ones are content */
    OXI_REPLY_MOST_DEPTH = 48  /* of arguments: the whole of a render's values may have 64 */
};

typedef struct oxi_reply_mark {
    uint32_t in; /* states where it counts; 0 ends a table */
    const char *text;
    uint32_t next; /* the state behind it */
    uint32_t back; /* bytes at its end that are read again */
} oxi_reply_mark;

/* What a format needs beside its marks. */
enum {
    OXI_REPLY_TEXT_ARGUMENTS = 1,  /* its template wants arguments as a string in messages */
    OXI_REPLY_NULL_CONTENT = 2,    /* and null for no content beside calls */
    OXI_REPLY_THINKING = 4,        /* and a member "thinking" */
    OXI_REPLY_NEEDS_ARGUMENTS = 8, /* JSON is only a call if it has arguments */
    OXI_REPLY_NUMBERED = 16,       /* names are "functions.name:number", which is the id */
    OXI_REPLY_RECIPIENTS = 32,     /* a head's recipient is a function */
    OXI_REPLY_PYTHON_CODE = 64,    /* a call of "python" may have code, not JSON */
    OXI_REPLY_ALL_IS_CONTENT = 128 /* the name "all" is no call */
};

typedef struct oxi_reply_format {
    const char *name;
    const char *signs[3]; /* all of them are in the template's source */
    const oxi_reply_mark *marks;
    uint32_t flags;
} oxi_reply_format;

static const oxi_reply_format *oxi_reply_format_by_name(const char *name);
static const oxi_reply_format *oxi_reply_format_by_source(const char *source);

typedef struct oxi_reply_text {
    char *data;
    size_t length, room;
} oxi_reply_text;

/* ---- JSON, a byte at a time (json_steps.c) ------------------------------------------------------------- */

typedef enum oxi_reply_event {
    OXI_REPLY_NO_EVENT,
    OXI_REPLY_KEY_BEGINS, /* at its quote */
    OXI_REPLY_KEY_ENDS,
    OXI_REPLY_VALUE_BEGINS,
    OXI_REPLY_VALUE_ENDS, /* with this byte */
    OXI_REPLY_BAD
} oxi_reply_event;

typedef struct oxi_reply_json {
    uint64_t objects;    /* bit d: level d is an object */
    int depth;           /* of the value that the event is about; of what is open otherwise */
    uint8_t state, left; /* left: hexadecimal digits, bytes of a literal */
    bool number_ended;   /* before this byte, at the depth that was */
    const char *literal;
} oxi_reply_json;

static void oxi_reply_json_start(oxi_reply_json *json);
/* Events of the byte c; `depth` is that of the key or value which the event is about, 0 for the whole. */
static oxi_reply_event oxi_reply_json_step(oxi_reply_json *json, char c, int *depth);

/* ---- the reply ----------------------------------------------------------------------------------------- */

/* Texts are pieces of ox_llm_reply.texts. */
typedef struct oxi_reply_piece {
    size_t start, length;
} oxi_reply_piece;

typedef struct oxi_reply_call {
    oxi_reply_piece name, id, arguments;
    size_t texts; /* where its texts begin */
    bool announced, complete;
} oxi_reply_call;

struct ox_llm_reply {
    const oxi_reply_format *format;
    void (*delta)(void *user, const ox_llm_reply_delta *delta);
    void *user;
    int64_t first_id;
    oxi_json tools; /* count 0 = none */
    ox_status status;
    bool ended;
    oxi_reply_text raw, content, reasoning, texts, message;
    oxi_reply_call *calls;
    size_t call_count, call_room;
    uint32_t starts[256]; /* states in which a mark begins with this byte */
    /* where the automaton stands */
    uint32_t state;
    size_t at;   /* bytes of raw that are read */
    size_t held; /* content or reasoning from here on is not given yet */
    size_t settled;
    bool after_call; /* settled is the end of a call */
    size_t part;     /* where a name, key, value or block begins */
    bool behind;     /* content or reasoning begins behind a mark: without space */
    bool open;       /* the last call is not complete */
    bool made;       /* its arguments are put together here, not taken from raw */
    oxi_reply_piece key;
    size_t sent; /* bytes of raw that are given of a value that is a text; 0 = it is given at its end */
    /* JSON of calls */
    oxi_reply_json json;
    int base;                       /* the depth of a call's object */
    size_t string, value;           /* where the last key and a call's member begin */
    uint8_t member;                 /* which one it is */
    bool begun;                     /* what the JSON or the block begins with is known */
    oxi_reply_piece json_arguments; /* in raw; length 0 = none yet */
    size_t json_sent; /* bytes of raw that went to the arguments; 0 = they are not given on the way */
};

/* Room for and a copy of bytes at a text's end. False: OX_ERR_NOMEM is in the reply's status. */
static bool oxi_reply_append(ox_llm_reply *r, oxi_reply_text *text, const char *bytes, size_t length);
static bool oxi_reply_append_word(ox_llm_reply *r, oxi_reply_text *text, const char *word);
/* Bytes within and as a string of JSON; what is not UTF-8 is U+FFFD. */
static bool oxi_reply_append_escaped(ox_llm_reply *r, oxi_reply_text *text, const char *bytes, size_t length);
static bool oxi_reply_append_string(ox_llm_reply *r, oxi_reply_text *text, const char *bytes, size_t length);
static void oxi_reply_give(ox_llm_reply *r, ox_llm_reply_part part, const char *bytes, size_t length);
static bool oxi_reply_is_space(char c);

/* ---- literals (literals.c) ----------------------------------------------------------------------------- */

/* Whether a text is one JSON value, as strict as the reader of templates' values, and not too deep. */
static bool oxi_reply_is_json(const char *text, size_t length);
/* A value as JSON at the end of r->texts. `how` is VALUE, WORD or DATA. */
static bool oxi_reply_value(ox_llm_reply *r, const char *text, size_t length, uint32_t how);
/* A value as Python or Gemma writes it, as JSON; moves *at behind it. False: it is none. */
static bool oxi_reply_literal(ox_llm_reply *r, const char *text, size_t length, size_t *at, int depth);
static void oxi_reply_skip_space(const char *text, size_t length, size_t *at);

/* ---- calls (calls.c) ----------------------------------------------------------------------------------- */

static bool oxi_reply_call_begin(ox_llm_reply *r);
/* The call's name, checked; announces it. False: it is no name. */
static bool oxi_reply_call_name(ox_llm_reply *r, const char *text, size_t length);
static void oxi_reply_call_id(ox_llm_reply *r, const char *text, size_t length);
/* More bytes of the arguments that are at the end of texts already since `from`, or given here. */
static void oxi_reply_call_arguments(ox_llm_reply *r, const char *text, size_t length);
/* r->key and its value: a member of the arguments that are put together here. */
static bool oxi_reply_call_parameter(ox_llm_reply *r, const char *text, size_t length, uint32_t how);
/* The same for a value that is a text for sure, which is given as it comes. False: it is none. */
static bool oxi_reply_call_begin_text(ox_llm_reply *r, uint32_t how);
static void oxi_reply_call_text(ox_llm_reply *r, const char *text, size_t length, bool ends);
/* False: the arguments are no JSON object. */
static bool oxi_reply_call_complete(ox_llm_reply *r);
static void oxi_reply_call_withdraw(ox_llm_reply *r);
/* Reads JSON from r->at on; false: it is broken there. *done: it has ended. */
static bool oxi_reply_call_json(ox_llm_reply *r, bool *done);
/* A whole block of calls; false: it is none, and nothing is changed. */
static bool oxi_reply_call_block(ox_llm_reply *r, const char *text, size_t length);

#endif
