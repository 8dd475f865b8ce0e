/* What the parts of the template room share: values, memory, syntax trees, tables of filters and methods.
 * An interpreter of the Jinja that chat templates use; sources and values are hostile, so each limit is here.
 * Included before the .c parts of the room:
 *     syntax/              lexer, expressions and statements, to a tree
 *     values/              memory, strings and characters, how values print
 *     library/             filters, tests, methods, functions: a table each
 *     operators, call, run, template
 *                          the tree's walk, and what the user calls */
/* WORDS OF THIS ROOM
 *     template       the source, parsed once into a tree of nodes; read-only from then on
 *     state          oxi_jinja: memory, limits, position and text of one parse or one render
 *     heap           blocks that all values of a state lie in, given back together at its end
 *     step           a unit of work: a node, an element, some bytes of text; there are so many a render
 *     symbol         a name of the source as a number: equal names have equal numbers
 *     scope          variables by symbol; an inner one sees those around it
 *     capture        text that is written behind the output and then taken off as a string
 *     signature      a function's parameters in words: "name" must be given, "name?" may be missing,
 *                    "*" takes what is left by position, "**" by keyword (both at the end)
 *     missing        the value of a parameter that is not given; templates never see it
 *     generator      a sequence that is gone through once, as Python's; its elements are computed at once
 *     view           what a dict's keys(), values() and items() give */
#ifndef OX_LLM_TEMPLATE_TEMPLATE_H
#define OX_LLM_TEMPLATE_TEMPLATE_H

enum {
    OXI_JINJA_MOST_SOURCE = 4 << 20,  /* bytes */
    OXI_JINJA_MOST_NESTING = 96,      /* of blocks and brackets in the source together */
    OXI_JINJA_MOST_DEPTH = 110,       /* of nodes and macros that are being evaluated */
    OXI_JINJA_MOST_VALUE_DEPTH = 100, /* of lists in lists, when they are printed or compared */
    OXI_JINJA_MOST_RANGE = 100000,    /* elements, as in Jinja's sandbox */
    OXI_JINJA_MOST_PARAMETERS = 8,    /* of a built-in function */
    OXI_JINJA_BLOCK = 16 << 10        /* bytes of a block of the heap, unless one value takes more */
};
#define OXI_JINJA_MOST_STRING ((size_t)1 << 30)
#define OXI_JINJA_MEMORY ((size_t)256 << 20) /* of a render's values and text, unless the caller says */
#define OXI_JINJA_STEPS 20000000

/* ---- values -------------------------------------------------------------------------------------------- */

typedef enum oxi_jinja_type {
    OXI_JINJA_MISSING = 0,
    OXI_JINJA_UNDEFINED, /* text: the name for the error */
    OXI_JINJA_NONE,
    OXI_JINJA_BOOL,
    OXI_JINJA_INT,
    OXI_JINJA_FLOAT,
    OXI_JINJA_STRING, /* UTF-8, not terminated */
    OXI_JINJA_LIST,
    OXI_JINJA_TUPLE,
    OXI_JINJA_RANGE,
    OXI_JINJA_VIEW,
    OXI_JINJA_GENERATOR,
    OXI_JINJA_DICT,
    OXI_JINJA_NAMESPACE,
    OXI_JINJA_LOOP,
    OXI_JINJA_MACRO,
    OXI_JINJA_FUNCTION, /* a row of a table, bound to `self` if it is a method */
    OXI_JINJA_CYCLER,   /* list: its items, start: which one is the current one */
    OXI_JINJA_JOINER,   /* list: the separator, start: whether it has been called */
    OXI_JINJA_TYPE_COUNT
} oxi_jinja_type;

typedef struct oxi_jinja oxi_jinja;
typedef struct oxi_jinja_node oxi_jinja_node;
typedef struct oxi_jinja_list oxi_jinja_list;
typedef struct oxi_jinja_dict oxi_jinja_dict;
typedef struct oxi_jinja_loop oxi_jinja_loop;
typedef struct oxi_jinja_macro oxi_jinja_macro;
typedef struct oxi_jinja_bound oxi_jinja_bound;

typedef struct oxi_jinja_value {
    uint16_t type;   /* oxi_jinja_type */
    uint16_t safe;   /* STRING: 1 = escaped already, Python's Markup */
    uint32_t length; /* STRING, UNDEFINED: bytes */
    union {
        int64_t i; /* INT, BOOL */
        double f;
        const char *text;
        oxi_jinja_list *list; /* LIST to GENERATOR, CYCLER, JOINER */
        oxi_jinja_dict *dict; /* DICT, NAMESPACE */
        oxi_jinja_loop *loop;
        oxi_jinja_macro *macro;
        oxi_jinja_bound *bound;
    } as;
} oxi_jinja_value;

struct oxi_jinja_list {
    oxi_jinja_value *items;
    size_t count, room;
    const char *name;            /* of a view, as Python prints it */
    int64_t start, stop, stride; /* of a range */
};

typedef struct oxi_jinja_entry {
    oxi_jinja_value key, value;
} oxi_jinja_entry;

/* In order of insertion; beyond a few entries they are found by hash. */
struct oxi_jinja_dict {
    oxi_jinja_entry *entries;
    size_t count, room;
    uint32_t *slots; /* [slot_count] entry + 1, 0 = free; slot_count is a power of two or 0 */
    size_t slot_count;
};

typedef struct oxi_jinja_variable {
    uint32_t symbol;
    oxi_jinja_value value;
} oxi_jinja_variable;

typedef struct oxi_jinja_scope {
    struct oxi_jinja_scope *outer;
    oxi_jinja_variable *variables;
    size_t count, room;
} oxi_jinja_scope;

struct oxi_jinja_loop {
    const oxi_jinja_list *items;
    size_t at;
    int depth;
    const oxi_jinja_node *node; /* of a recursive loop, to call it; its scope */
    oxi_jinja_scope *scope;
    oxi_jinja_value changed; /* what loop.changed saw last */
};

struct oxi_jinja_macro {
    const oxi_jinja_node *node;
    oxi_jinja_scope *scope; /* where it was defined */
    ox_string name;
};

/* Arguments of a call as they are written: by position, then by keyword (names[i] belongs to
 * items[positional + i]). */
typedef struct oxi_jinja_arguments {
    oxi_jinja_value *items, *names;
    size_t positional, keywords;
} oxi_jinja_arguments;

/* A filter, test, method or global function. a[0] is what it is applied to (none for functions), then its
 * parameters in order; "*" gives a tuple, "**" a dict. */
typedef oxi_jinja_value (*oxi_jinja_call)(oxi_jinja *j, oxi_jinja_value *a);
typedef struct oxi_jinja_function {
    const char *name, *signature;
    oxi_jinja_call call;
} oxi_jinja_function;

struct oxi_jinja_bound {
    const oxi_jinja_function *function;
    oxi_jinja_value self;
    bool is_method;
};

/* ---- syntax trees -------------------------------------------------------------------------------------- */

typedef enum oxi_jinja_kind {
    /* expressions */
    OXI_JINJA_LITERAL,   /* value */
    OXI_JINJA_NAME,      /* symbol; value: its text */
    OXI_JINJA_SEQUENCE,  /* a: elements; flag: a list, else a tuple */
    OXI_JINJA_DICTIONARY,/* a: keys and values in turn */
    OXI_JINJA_UNARY,     /* operation, a */
    OXI_JINJA_BINARY,    /* operation, a, b */
    OXI_JINJA_COMPARE,   /* a, b: operands that follow, each with the operation before it */
    OXI_JINJA_AND,       /* a, b */
    OXI_JINJA_OR,        /* a, b */
    OXI_JINJA_CONDITION, /* a if b else c (NULL: undefined) */
    OXI_JINJA_ATTRIBUTE, /* a, value: the name */
    OXI_JINJA_ITEM,      /* a, b */
    OXI_JINJA_SLICE,     /* a, b: start, stop, step, each a literal `missing` if it is not written */
    OXI_JINJA_CALL,      /* a, b: arguments */
    OXI_JINJA_FILTER,    /* a (NULL: a capture), b: arguments, function or NULL, value: the name */
    OXI_JINJA_TEST,      /* the same; flag: `is not` */
    OXI_JINJA_ARGUMENT,  /* a; operation: how it is passed; value: the keyword */
    /* statements */
    OXI_JINJA_TEXT,      /* value */
    OXI_JINJA_PRINT,     /* a */
    OXI_JINJA_IF,        /* a, b: body, c: the node of elif, or the nodes of else */
    OXI_JINJA_FOR,       /* a: iterable, b: target, c: body, d: else, e: filter; flag: recursive */
    OXI_JINJA_SET,       /* a, b: target */
    OXI_JINJA_SET_BLOCK, /* a: filter over a capture or NULL, b: target, c: body */
    OXI_JINJA_MACRO_NODE,/* symbol, value: name; a: parameters, c: body */
    OXI_JINJA_PARAMETER, /* symbol, value: name; a: default or NULL */
    OXI_JINJA_CALL_BLOCK,/* a: the call, b: the caller, a macro */
    OXI_JINJA_FILTER_BLOCK, /* a: the filters, c: body */
    OXI_JINJA_WITH,      /* a: values, b: targets, c: body */
    OXI_JINJA_SCOPE,     /* c: body (generation) */
    OXI_JINJA_SECTION,   /* {% block %}: symbol, value: name; c: body; flag: scoped; operation: required */
    OXI_JINJA_BREAK,
    OXI_JINJA_CONTINUE
} oxi_jinja_kind;

typedef enum oxi_jinja_operation {
    OXI_JINJA_NO_OPERATION = 0,
    OXI_JINJA_ADD, OXI_JINJA_SUBTRACT, OXI_JINJA_MULTIPLY, OXI_JINJA_DIVIDE, OXI_JINJA_FLOOR_DIVIDE,
    OXI_JINJA_MODULO, OXI_JINJA_POWER, OXI_JINJA_CONCATENATE,
    OXI_JINJA_NOT, OXI_JINJA_NEGATE, OXI_JINJA_PLUS,
    OXI_JINJA_EQUAL, OXI_JINJA_NOT_EQUAL, OXI_JINJA_LESS, OXI_JINJA_LESS_EQUAL, OXI_JINJA_GREATER,
    OXI_JINJA_GREATER_EQUAL, OXI_JINJA_IN, OXI_JINJA_NOT_IN,
    OXI_JINJA_BY_KEYWORD, OXI_JINJA_UNPACK, OXI_JINJA_UNPACK_KEYWORDS
} oxi_jinja_operation;

struct oxi_jinja_node {
    uint8_t kind, operation, flag;
    uint32_t line, column, symbol;
    oxi_jinja_node *next; /* of a list of nodes */
    oxi_jinja_node *a, *b, *c, *d, *e;
    const oxi_jinja_function *function;
    oxi_jinja_value value;
};

/* ---- the state ----------------------------------------------------------------------------------------- */

typedef struct oxi_jinja_block {
    struct oxi_jinja_block *next;
    size_t bytes, used; /* with this head */
} oxi_jinja_block;

struct oxi_jinja {
    ox_status status; /* of the first failure: everything returns early from then on */
    uint32_t line, column;
    int depth;
    oxi_jinja_block *blocks;
    size_t memory, most_memory;
    int64_t steps;            /* that are left */
    const char *last_end;     /* of the text that oxi_jinja_take made last */
    char *out;                /* the output, and behind it captures */
    size_t out_length, out_room;
    uint64_t key[2];          /* of hashes */
    oxi_jinja_scope *scope;
    const oxi_jinja_dict *symbols; /* of the template */
    oxi_jinja_scope *globals;
    uint32_t loop_symbol, caller_symbol, varargs_symbol, kwargs_symbol;
    int loop_depth;
    const oxi_jinja_dict *sections; /* of the template: names to macros */
    const char *json;         /* the values' text */
    int64_t now;              /* seconds */
    uint64_t seed, randoms;   /* of the filter random: how many were drawn */
    oxi_unicode *unicode;     /* NULL until a method asks for categories */
};

struct ox_llm_template {
    oxi_jinja_block *blocks;
    size_t memory;
    oxi_jinja_dict symbols;  /* texts to numbers */
    oxi_jinja_dict sections; /* names of {% block %} to macros without a scope */
    uint64_t key[2];
    oxi_jinja_node *body;
    uint32_t loop_symbol, caller_symbol, varargs_symbol, kwargs_symbol;
};

/* ---- memory and failures (memory.c) -------------------------------------------------------------------- */

/* NULL after a failure, also of the limit. Aligned for any value; not cleared. */
static void *oxi_jinja_alloc(oxi_jinja *j, size_t bytes);
static void *oxi_jinja_alloc_array(oxi_jinja *j, size_t count, size_t bytes_each);
static void oxi_jinja_free_blocks(oxi_jinja_block *blocks);
/* Records the failure with line and column; the first one stands. Returns an undefined value. */
static oxi_jinja_value oxi_jinja_fail(oxi_jinja *j, const char *format, ...) OXI_PRINTF(2, 3);
/* Takes steps; false after a failure, also when there are none left. */
static bool oxi_jinja_step(oxi_jinja *j, size_t steps);
static bool oxi_jinja_enter(oxi_jinja *j); /* one level deeper; oxi_jinja_leave whatever it says */
static void oxi_jinja_leave(oxi_jinja *j);

/* ---- output and captures (memory.c) -------------------------------------------------------------------- */

static void oxi_jinja_write(oxi_jinja *j, const char *text, size_t length);
static void oxi_jinja_write_text(oxi_jinja *j, const char *text); /* terminated */
static void oxi_jinja_write_many(oxi_jinja *j, char c, int64_t count);
static void oxi_jinja_write_code(oxi_jinja *j, uint32_t code); /* a code point */
/* What was written since out_length was `start`, taken off. */
static oxi_jinja_value oxi_jinja_take(oxi_jinja *j, size_t start);

/* ---- values (value.c) ---------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_none(void);
static oxi_jinja_value oxi_jinja_bool(bool b);
static oxi_jinja_value oxi_jinja_int(int64_t i);
static oxi_jinja_value oxi_jinja_float(double f);
static oxi_jinja_value oxi_jinja_text(const char *text, size_t length); /* borrowed */
static oxi_jinja_value oxi_jinja_word(const char *text);                /* borrowed, terminated */
static oxi_jinja_value oxi_jinja_undefined(const char *name, size_t length);
static oxi_jinja_value oxi_jinja_list_new(oxi_jinja *j, oxi_jinja_type type, size_t room);
static void oxi_jinja_push(oxi_jinja *j, oxi_jinja_list *list, oxi_jinja_value value);
static oxi_jinja_value oxi_jinja_pair(oxi_jinja *j, oxi_jinja_value a, oxi_jinja_value b); /* a tuple */
static oxi_jinja_value oxi_jinja_dict_new(oxi_jinja *j);
static oxi_jinja_value *oxi_jinja_dict_find(oxi_jinja *j, const oxi_jinja_dict *dict, oxi_jinja_value key);
static void oxi_jinja_dict_set(oxi_jinja *j, oxi_jinja_dict *dict, oxi_jinja_value key,
                               oxi_jinja_value value);
static bool oxi_jinja_dict_remove(oxi_jinja *j, oxi_jinja_dict *dict, oxi_jinja_value key,
                                  oxi_jinja_value *out);
static const char *oxi_jinja_type_name(oxi_jinja_value v);
static bool oxi_jinja_is_text(oxi_jinja_value v, const char *text);
static bool oxi_jinja_is_sequence(oxi_jinja_value v); /* LIST to GENERATOR */
static bool oxi_jinja_is_number(oxi_jinja_value v);   /* bools are */
static bool oxi_jinja_truth(oxi_jinja_value v);
static double oxi_jinja_number(oxi_jinja_value v);
static bool oxi_jinja_equal(oxi_jinja *j, oxi_jinja_value a, oxi_jinja_value b);
static int oxi_jinja_order(oxi_jinja *j, oxi_jinja_value a, oxi_jinja_value b); /* -1, 0, 1; fails in words */
static bool oxi_jinja_contains(oxi_jinja *j, oxi_jinja_value all, oxi_jinja_value one);
/* The elements of anything that can be gone through, NULL and a failure for the rest. A generator is used
 * up by it. Never written to. */
static const oxi_jinja_list *oxi_jinja_iterate(oxi_jinja *j, oxi_jinja_value v);
static int64_t oxi_jinja_length(oxi_jinja *j, oxi_jinja_value v); /* -1 and a failure: it has none */
/* A variable of the scope or those around it, or NULL. */
static oxi_jinja_value *oxi_jinja_find_variable(oxi_jinja *j, oxi_jinja_scope *scope, uint32_t symbol);
static void oxi_jinja_set_variable(oxi_jinja *j, oxi_jinja_scope *scope, uint32_t symbol,
                                   oxi_jinja_value value);
static oxi_jinja_scope *oxi_jinja_scope_new(oxi_jinja *j, oxi_jinja_scope *outer);

/* ---- values as text (text.c) --------------------------------------------------------------------------- */

static void oxi_jinja_write_value(oxi_jinja *j, oxi_jinja_value v); /* as Python's str */
static void oxi_jinja_write_repr(oxi_jinja *j, oxi_jinja_value v);
static oxi_jinja_value oxi_jinja_string(oxi_jinja *j, oxi_jinja_value v); /* str(v); stays safe */
/* With &, <, >, " and ' as entities, and safe; what is safe already is as it was. */
static oxi_jinja_value oxi_jinja_escaped(oxi_jinja *j, oxi_jinja_value v);
/* A text that is safe if `of` is. */
static oxi_jinja_value oxi_jinja_safe_as(oxi_jinja_value text, oxi_jinja_value of);
typedef struct oxi_jinja_json_style {
    bool ascii, sorted, indented;
    oxi_jinja_value indent, comma, colon; /* strings */
} oxi_jinja_json_style;
static void oxi_jinja_write_json(oxi_jinja *j, oxi_jinja_value v, const oxi_jinja_json_style *style,
                                 int level);
static void oxi_jinja_write_float(oxi_jinja *j, double f);
static void oxi_jinja_write_int(oxi_jinja *j, int64_t i);

/* ---- characters (unicode.c) ---------------------------------------------------------------------------- */

static size_t oxi_jinja_characters(const char *text, size_t length);
/* The byte where character `index` begins. */
static size_t oxi_jinja_byte_of(const char *text, size_t length, size_t index);
static bool oxi_jinja_is_space(uint32_t code);
static bool oxi_jinja_is_printable(uint32_t code);
static uint32_t oxi_jinja_to_upper(uint32_t code);
static uint32_t oxi_jinja_to_lower(uint32_t code);

/* ---- parser (lexer.c, parse_expression.c, parse_statement.c) ------------------------------------------- */

typedef enum oxi_jinja_token {
    OXI_JINJA_TOKEN_END, /* of the source */
    OXI_JINJA_TOKEN_NAME,
    OXI_JINJA_TOKEN_NUMBER,
    OXI_JINJA_TOKEN_STRING,
    OXI_JINJA_TOKEN_OPERATOR,
    OXI_JINJA_TOKEN_TEXT,        /* between blocks */
    OXI_JINJA_TOKEN_PRINT_BEGIN, /* {{ */
    OXI_JINJA_TOKEN_BLOCK_BEGIN, /* {% */
    OXI_JINJA_TOKEN_CLOSE        /* }} or %} */
} oxi_jinja_token;

typedef struct oxi_jinja_parser {
    oxi_jinja *j;
    const char *source;
    size_t length, at;
    oxi_jinja_dict *symbols, *sections;
    bool inside, inside_print; /* of a block; of {{ }} */
    bool line_starts;          /* nothing but the start of a line is before `at` */
    int brackets, loops, nesting;
    /* the token */
    oxi_jinja_token token;
    size_t start, end;     /* its bytes */
    oxi_jinja_value value; /* of a number, a string, a text; the text of a name */
    uint32_t line, column;
    size_t counted;        /* bytes that line and column stand for */
} oxi_jinja_parser;

static void oxi_jinja_next(oxi_jinja_parser *p);
/* Whether the token is this operator or name. */
static bool oxi_jinja_at(const oxi_jinja_parser *p, const char *text);
static bool oxi_jinja_skip(oxi_jinja_parser *p, const char *text);
static bool oxi_jinja_expect(oxi_jinja_parser *p, const char *text);
static void oxi_jinja_syntax(oxi_jinja_parser *p, const char *what); /* fails, with the token */
static uint32_t oxi_jinja_symbol(oxi_jinja_parser *p, oxi_jinja_value name);
static oxi_jinja_node *oxi_jinja_node_new(oxi_jinja_parser *p, oxi_jinja_kind kind);
static oxi_jinja_node *oxi_jinja_parse_expression(oxi_jinja_parser *p, bool condition);
/* Expressions with commas between them are a tuple. */
static oxi_jinja_node *oxi_jinja_parse_tuple(oxi_jinja_parser *p, bool condition);
static oxi_jinja_node *oxi_jinja_parse_filters(oxi_jinja_parser *p, oxi_jinja_node *node, bool first);
static oxi_jinja_node *oxi_jinja_parse_target(oxi_jinja_parser *p, bool may_be_attribute);
static oxi_jinja_node *oxi_jinja_parse_template(oxi_jinja_parser *p);

/* ---- operators, attributes, calls ---------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_binary(oxi_jinja *j, oxi_jinja_operation operation, oxi_jinja_value a,
                                        oxi_jinja_value b);
static oxi_jinja_value oxi_jinja_unary(oxi_jinja *j, oxi_jinja_operation operation, oxi_jinja_value a);
static bool oxi_jinja_compare(oxi_jinja *j, oxi_jinja_operation operation, oxi_jinja_value a,
                              oxi_jinja_value b);
static oxi_jinja_value oxi_jinja_attribute(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_value name);
static oxi_jinja_value oxi_jinja_item(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_value key);
static oxi_jinja_value oxi_jinja_slice(oxi_jinja *j, oxi_jinja_value v, const oxi_jinja_value bounds[3]);
/* Both escape what they put into a format that is safe. */
static oxi_jinja_value oxi_jinja_percent_format(oxi_jinja *j, oxi_jinja_value format, oxi_jinja_value values);
static oxi_jinja_value oxi_jinja_brace_format(oxi_jinja *j, oxi_jinja_value format,
                                              oxi_jinja_value positional, oxi_jinja_value keywords);
static const oxi_jinja_function *oxi_jinja_find_filter(oxi_jinja_value name);
static const oxi_jinja_function *oxi_jinja_find_test(oxi_jinja_value name);
static const oxi_jinja_function *oxi_jinja_find_method(oxi_jinja_type type, oxi_jinja_value name);
static const oxi_jinja_function *oxi_jinja_find_global(oxi_jinja_value name);
/* Calls a row: `self` is its a[0] if it has one. */
static oxi_jinja_value oxi_jinja_apply(oxi_jinja *j, const oxi_jinja_function *function,
                                       const oxi_jinja_value *self, const oxi_jinja_arguments *arguments);
static oxi_jinja_value oxi_jinja_call_value(oxi_jinja *j, oxi_jinja_value callee,
                                            const oxi_jinja_arguments *arguments);

#endif
