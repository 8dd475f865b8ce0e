/* test_api.c - the public table, src/ops/api.def: every public function that gives a tensor has a row, each
 * schema is one and goes together with the C prototype, rows of ops.def are reached, and the comparison with
 * PyTorch in tests/torch_schemas.txt is that of this table. Headers are read as text, schemas strictly. */
#include "oxtorch.h"
#include "oxtorch_nn.h"

#include "check.h"
#include "prototypes.h"
#include "schema.h"

typedef struct api_row {
    const char *function, *schema, *form, *from, *arguments, *note;
} api_row;

typedef struct api_reason {
    const char *name, *reason;
} api_reason;

static const api_row api_rows[] = {
#define OXI_API(function, schema, form, from, arguments, note) \
    {#function, schema, #form, #from, arguments, note},
#include "../src/ops/api.def"
};
static const api_reason api_lacks[] = {
#define OXI_API_LACKS(argument, reason) {#argument, reason},
#include "../src/ops/api.def"
};
static const api_reason api_not[] = {
#define OXI_API_NOT(function, reason) {#function, reason},
#include "../src/ops/api.def"
};
static const api_reason api_no_row[] = {
#define OXI_API_NO_ROW(row, reason) {#row, reason},
#include "../src/ops/api.def"
};
static const char *const op_names[] = {
#define OXI_OP(name, family, operands, rule, gives, accepts, flag, flops, attributes, gradient, parts) #name,
#include "../src/ops/ops.def"
};
enum {
    API_ROWS = sizeof api_rows / sizeof *api_rows,
    API_LACKS = sizeof api_lacks / sizeof *api_lacks,
    API_NOT = sizeof api_not / sizeof *api_not,
    API_NO_ROW = sizeof api_no_row / sizeof *api_no_row,
    OP_NAMES = sizeof op_names / sizeof *op_names,
    TEXT = 2000
};

static bool same(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

static const api_row *row_of(const char *function) {
    for (int i = 0; i < API_ROWS; i++)
        if (same(api_rows[i].function, function)) return &api_rows[i];
    return NULL;
}

static const char *reason_of(const api_reason *list, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (same(list[i].name, name)) return list[i].reason;
    return NULL;
}

static bool is_op(const char *name) {
    for (int i = 0; i < OP_NAMES; i++)
        if (same(op_names[i], name)) return true;
    return false;
}

/* The next word of a list that spaces separate. */
static bool next_word(const char **at, char *word, size_t room) {
    *at += strspn(*at, " ");
    size_t length = strcspn(*at, " ");
    if (length == 0 || length >= room) return false;
    memcpy(word, *at, length);
    word[length] = 0;
    *at += length;
    return true;
}

static void append(char *out, size_t room, const char *format, ...) {
    size_t used = strlen(out);
    va_list args;
    va_start(args, format);
    vsnprintf(out + used, room - used, format, args);
    va_end(args);
}

/* ---- schemas ------------------------------------------------------------------------------------------- */

/* What the reader must not take for a schema, and what it must. */
static void test_reader(void) {
    static const char *const bad[] = {
        "",
        "f",
        "f()",
        "f() ->",
        "f() -> Tensor ",
        "f( ) -> Tensor",
        "f(Tensor) -> Tensor",
        "f(Tensor a,) -> Tensor",
        "f(Tensor a,Tensor b) -> Tensor",
        "f(tensor a) -> Tensor",
        "f(Tensor a, Tensor a) -> Tensor",
        "f(Tensor(a? a) -> Tensor",
        "f(Tensor(ab) a) -> Tensor",
        "f(int(a) a) -> Tensor",
        "f(int a=x) -> Tensor",
        "f(int a=1.5) -> Tensor",
        "f(int a=None) -> Tensor",
        "f(bool a=0) -> Tensor",
        "f(str a=b) -> Tensor",
        "f(int[] a=1) -> Tensor",
        "f(int a=1, int b) -> Tensor",
        "f(*) -> Tensor",
        "f(*, *, int a) -> Tensor",
        "f(int a, *) -> Tensor",
        "f.(int a) -> Tensor",
        "1(int a) -> Tensor",
        "aten::f(int a) -> Tensor",
        "f(int a) -> (Tensor a)",
        "f(int a) -> (Tensor a, Tensor a)",
        "f(int? a=) -> Tensor",
        "f(int[ a) -> Tensor",
    };
    static const char *const good[] = {
        "f() -> Tensor",
        "ox::f(Tensor a) -> Tensor",
        "f_.o(Tensor(a!) self, *, Scalar b=1.) -> Tensor(a!)",
        "f(Tensor(a -> *) self, SymInt[1] b, int[]? c=None, *, str d=\"x\", bool e=True) -> Tensor(a)[]",
        "f(Tensor? a=None, float b=-1e-05, *, ScalarType? d=long, Device? e=None) -> (Tensor x, Tensor y)",
        "f(int a=1, *, int b) -> Tensor",
        "f(int a) -> (Tensor, Tensor)",
    };
    schema s;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK_MSG(!schema_read(bad[i], &s), "%s", bad[i]);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK_MSG(schema_read(good[i], &s), "%s", good[i]);
}

static void test_differences(void) {
    static const char *const pairs[][3] = {
        {"f(Tensor a, float e=1e-05) -> Tensor", "f(Tensor a, float e=1.0000000000000001e-05) -> Tensor", ""},
        {"f(*, ScalarType? d=long) -> Tensor", "f(*, ScalarType? d=4) -> Tensor", ""},
        {"f(int[] d) -> Tensor", "f(int[1]? d=None) -> Tensor", "type of d, default of d"},
        {"f(Tensor(a) s) -> Tensor(a)", "f(Tensor s) -> Tensor", "alias of s, results"},
        {"f(int a, int b) -> Tensor", "f(int b, int a, int c) -> Tensor", "lacks c, order"},
        {"f(int a, *, int b) -> Tensor", "f(int a, int b) -> Tensor", "keyword b"},
        {"f(int a, int b=1) -> Tensor", "f(int a) -> Tensor", "adds b"},
        {"f(int a=1) -> Tensor", "f(int a=2) -> Tensor", "default of a"},
        {"f(int[2] a=1, int b=0) -> Tensor", "f(int[2] a=[1, 1], int b=0) -> Tensor", ""},
        {"f(int[2] a=1) -> Tensor", "f(int[2] a=[1, 2]) -> Tensor", "default of a"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        schema a, b;
        char said[TEXT];
        CHECK(schema_read(pairs[i][0], &a) && schema_read(pairs[i][1], &b));
        schema_differences(&a, &b, said, sizeof said);
        CHECK_MSG(same(said, pairs[i][2]), "%s: \"%s\"", pairs[i][0], said);
    }
}

/* ---- a row and its prototype --------------------------------------------------------------------------- */

/* What C hands over, each one argument of the schema. */
typedef enum slot_kind { SLOT_TENSORS, SLOT_SIZES, SLOT_FLOATS, SLOT_PLAIN } slot_kind;
typedef struct slot {
    slot_kind kind;
    char type[PROTOTYPE_TEXT];
} slot;

/* "count", or "state_count" where there is more than one list. */
static bool is_count(const char *name) {
    size_t length = strlen(name);
    return length >= 5 && same(name + length - 5, "count");
}

static int add_slots(slot *slots, int count, const prototype_variable *v, int variables) {
    for (int i = 0; i < variables && count < PROTOTYPE_MOST; i++) {
        bool counted = i + 1 < variables && is_count(v[i + 1].name);
        slots[count].kind = counted && same(v[i].type, "ox_tensor *const *") ? SLOT_TENSORS
                            : counted && same(v[i].type, "const int64_t *")  ? SLOT_SIZES
                            : counted && same(v[i].type, "const double *")   ? SLOT_FLOATS
                                                                             : SLOT_PLAIN;
        strcpy(slots[count].type, v[i].type);
        i += slots[count].kind != SLOT_PLAIN;
        count++;
    }
    return count;
}

/* The parameters as slots: -1 for a description of no known members. *gives_list: the last two are a list of
 * results. */
static int slots_of(const prototype *p, slot *slots, bool *gives_list) {
    int count = 0, parameters = p->parameters;
    *gives_list = parameters > 1 && same(p->parameter[parameters - 2].type, "ox_tensor **") &&
                  same(p->parameter[parameters - 1].name, "room");
    if (*gives_list) parameters -= 2;
    if (parameters > 0 && strstr(p->parameter[parameters - 1].type, "_desc *")) {
        prototype_variable members[PROTOTYPE_MOST];
        char name[PROTOTYPE_TEXT];
        if (sscanf(p->parameter[parameters - 1].type, "const %79[a-z_]", name) != 1) return -1;
        int found = prototype_members(name, members);
        if (found < 0) return -1;
        count = add_slots(slots, 0, p->parameter, parameters - 1);
        return add_slots(slots, count, members, found);
    }
    return add_slots(slots, 0, p->parameter, parameters);
}

/* none: the row says what C gets for None. */
static bool types_fit(const slot *c, const schema_type *s, bool none) {
    static const char *const pairs[][2] = {
        {"int", "int"},
        {"int64_t", "int"},
        {"int64_t", "SymInt"},
        {"double", "float"},
        {"double", "Scalar"},
        {"bool", "bool"},
        {"ox_device *", "Device"},
        {"const char *", "str"},
        {"ox_activation", "str"},
        {"ox_reduction", "str"},
        {"ox_loss_reduction", "str"},
        {"ox_scalar", "Scalar"},
    };
    bool tensor = same(s->base, "Tensor"), whole = same(s->base, "int") || same(s->base, "SymInt");
    if (none && !s->optional) return false;
    if (c->kind == SLOT_TENSORS) return tensor && s->list && !s->optional;
    if (c->kind == SLOT_FLOATS) return same(s->base, "float") && s->list && !none;
    if (c->kind == SLOT_SIZES || same(c->type, "ox_shape")) return whole && s->list && s->optional == none;
    if (s->list) return false;
    if (same(c->type, "ox_tensor *") || same(c->type, "const ox_tensor *")) return tensor && !none;
    if (same(c->type, "ox_dtype")) return same(s->base, "ScalarType") && !none;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (same(c->type, pairs[i][0]) && same(s->base, pairs[i][1])) return s->optional == none;
    return false;
}

/* Whether another row of the schema has another value of this argument. */
static bool has_other_value(const api_row *r, const char *word) {
    for (int i = 0; i < API_ROWS; i++) {
        const api_row *other = &api_rows[i];
        if (other != r && same(other->schema, r->schema) && !strstr(other->arguments, word)) return true;
    }
    return false;
}

/* One word of the arguments column: which argument it is, -1 if it is none. */
static int argument_of(const schema *s, const char *word, char mark, bool *has) {
    char name[SCHEMA_TEXT];
    const char *end = strchr(word, mark);
    *has = end != NULL;
    snprintf(name, sizeof name, "%.*s", (int)(end ? end - word : (long)strlen(word)), word);
    for (int i = 0; i < s->arguments; i++)
        if (same(s->argument[i].name, name)) return i;
    return -1;
}

/* NULL, or what is wrong. */
static const char *check_word(const api_row *r, const schema *s, const char *word, const slot *slots,
                              int count, int *used, int *seen) {
    bool constant, none, counts = *word == '#', given = *word == '!';
    int at = argument_of(s, word, '=', &constant);
    if (constant) {
        if (at < 0 || seen[at]++ > 0) return "a value of no argument";
        return has_other_value(r, word) ? NULL : "no other row has the other values";
    }
    at = argument_of(s, word + (counts || given), '?', &none);
    if (at < 0 || seen[at] > 0) return "a word of no argument";
    seen[at] += !given;
    if (*used == count) return "more arguments than parameters";
    const slot *c = &slots[(*used)++];
    if (given) return same(c->type, "bool") && !none ? NULL : "no bool for an argument that is given";
    const schema_type *type = &s->argument[at].type;
    if (counts) return same(c->type, "int") && type->list && !none ? NULL : "a count of no list";
    return types_fit(c, type, none) ? NULL : "the type in C is another one";
}

static const char *check_arguments(const api_row *r, const schema *s, const prototype *p) {
    slot slots[PROTOTYPE_MOST];
    int used = 0, seen[SCHEMA_MOST] = {0};
    bool gives_list;
    int count = slots_of(p, slots, &gives_list);
    const char *at = r->arguments, *fault = NULL;
    char word[SCHEMA_TEXT];
    if (count < 0) return "a description whose members are not found";
    if (!*at)
        for (int i = 0; i < s->arguments && !fault; i++)
            fault = check_word(r, s, s->argument[i].name, slots, count, &used, seen);
    while (!fault && next_word(&at, word, sizeof word))
        fault = check_word(r, s, word, slots, count, &used, seen);
    if (fault) return fault;
    if (*at) return "a word that is too long";
    for (int i = 0; i < s->arguments; i++)
        if (!seen[i]) return "an argument that C does not get";
    return used == count ? NULL : "a parameter that no argument gives";
}

static const char *check_results(const schema *s, const prototype *p) {
    slot slots[PROTOTYPE_MOST];
    bool gives_list;
    (void)slots_of(p, slots, &gives_list);
    const schema_type *first = &s->result[0].type;
    const char *type = p->self.type;
    bool tensor = same(first->base, "Tensor") && !first->optional, one = s->results == 1;
    if (gives_list)
        return same(type, "int64_t") && one && tensor && first->list ? NULL : "no list of tensors";
    if (same(type, "ox_tensor *")) return one && tensor && !first->list ? NULL : "not one tensor";
    if (same(type, "bool")) return one && same(first->base, "bool") ? NULL : "no bool";
    if (same(type, "ox_tuple")) {
        for (int i = 0; i < s->results; i++)
            if (!same(s->result[i].type.base, "Tensor")) return "a result that is no tensor";
        return s->results >= 2 && s->results <= 4 ? NULL : "not two to four tensors";
    }
    if (!same(type, "ox_pair") || s->results != 2 || !tensor) return "other results than in C";
    bool unnamed = !*s->result[0].name && !*s->result[1].name; /* as PyTorch's pooling has them */
    bool named = same(s->result[0].name, "values") && same(s->result[1].name, "indices");
    return named || unnamed ? NULL : "no pair";
}

/* A name that ends in _ writes to its first argument, and gives that; no other is written to. */
static const char *check_aliases(const api_row *r, const schema *s) {
    bool in_place = s->name[strlen(s->name) - 1] == '_';
    if (in_place != (r->function[strlen(r->function) - 1] == '_')) return "one of its names ends in _";
    for (int i = 0; i < s->arguments; i++) {
        const char *alias = s->argument[i].type.alias;
        if (i > 0 && *alias) return "an alias that is not the first argument";
        if (i == 0 && in_place != same(alias, "a!")) return "the first argument of a _ is Tensor(a!)";
    }
    const char *first = s->arguments ? s->argument[0].type.alias : "", *result = s->result[0].type.alias;
    if (strlen(result) && result[0] != first[0]) return "a result that is no view of the first argument";
    return in_place == same(result, "a!") && !*result == !*first ? NULL : "the result's alias is another one";
}

/* ---- what a row follows from --------------------------------------------------------------------------- */

static const char *check_from(const api_row *r) {
    char name[TEXT], part[SCHEMA_TEXT], function[SCHEMA_TEXT + 4];
    const char *at = name;
    if (same(r->from, "MEMORY")) return NULL;
    if (sscanf(r->from, "ROW(%1999[a-z0-9_])", name) == 1) return is_op(name) ? NULL : "no row of ops.def";
    if (sscanf(r->from, "PARTS(\"%1999[a-z0-9_ ]\")", name) != 1) return "no row, no parts, no memory";
    while (next_word(&at, part, sizeof part)) {
        snprintf(function, sizeof function, "ox_%s", part);
        if (!row_of(function) || same(function, r->function)) return "a part that has no row";
    }
    return NULL;
}

static bool is_form(const char *form) {
    return same(form, "METHOD") || same(form, "FUNCTION") || same(form, "BOTH") || same(form, "NN");
}

static void test_rows(void) {
    for (int i = 0; i < API_ROWS; i++) {
        const api_row *r = &api_rows[i];
        const prototype *p = prototype_find(r->function);
        schema s;
        CHECK_MSG(row_of(r->function) == r, "%s has two rows", r->function);
        CHECK_MSG(p != NULL, "%s is declared in no public header", r->function);
        CHECK_MSG(is_form(r->form), "%s: %s is no form", r->function, r->form);
        bool reads = schema_read(r->schema, &s);
        CHECK_MSG(reads, "%s: no schema: %s", r->function, r->schema);
        if (!p || !reads) continue;
        const char *faults[] = {check_arguments(r, &s, p), check_results(&s, p), check_aliases(r, &s),
                                check_from(r)};
        for (int f = 0; f < 4; f++) CHECK_MSG(!faults[f], "%s: %s: %s", r->function, faults[f], r->schema);
        CHECK_MSG(!s.own || *r->note, "%s: PyTorch has none: the note says why", r->function);
    }
}

/* ---- nobody is left out -------------------------------------------------------------------------------- */

static bool gives_tensor(const prototype *p) {
    bool gives_list;
    slot slots[PROTOTYPE_MOST];
    (void)slots_of(p, slots, &gives_list);
    return gives_list || same(p->self.type, "ox_tensor *") || same(p->self.type, "ox_pair") ||
           same(p->self.type, "ox_tuple");
}

static void test_functions(void) {
    for (int i = 0; i < prototype_count; i++) {
        const char *name = prototypes[i].self.name;
        bool listed = row_of(name) != NULL, left_out = reason_of(api_not, API_NOT, name) != NULL;
        if (gives_tensor(&prototypes[i]))
            CHECK_MSG(listed != left_out, "%s is in api.def %d times", name, listed + left_out);
        CHECK_MSG(prototype_find(name) == &prototypes[i], "%s is read twice", name);
    }
    for (int i = 0; i < API_NOT; i++) {
        const prototype *p = prototype_find(api_not[i].name);
        CHECK_MSG(p && gives_tensor(p) && *api_not[i].reason, "%s gives no tensor", api_not[i].name);
    }
}

static void test_ops(void) {
    char from[TEXT];
    for (int i = 0; i < OP_NAMES; i++) {
        bool reached = false, left_out = reason_of(api_no_row, API_NO_ROW, op_names[i]) != NULL;
        snprintf(from, sizeof from, "ROW(%s)", op_names[i]);
        for (int j = 0; j < API_ROWS && !reached; j++) reached = same(api_rows[j].from, from);
        CHECK_MSG(reached != left_out, "row %s is reached %d times", op_names[i], reached + left_out);
    }
    for (int i = 0; i < API_NO_ROW; i++)
        CHECK_MSG(is_op(api_no_row[i].name), "no row %s", api_no_row[i].name);
}

/* ---- the committed comparison -------------------------------------------------------------------------- */

static int lacks_used[API_LACKS];

/* The reasons of what differs: the general ones of arguments that are lacking, then the note. */
static void reasons_of(const api_row *r, const schema *theirs, const schema *ours, char *out, size_t room) {
    *out = 0;
    for (int i = 0; theirs && i < theirs->arguments; i++) {
        const char *name = theirs->argument[i].name, *why = reason_of(api_lacks, API_LACKS, name);
        if (!why || schema_find(ours, name)) continue;
        for (int l = 0; l < API_LACKS; l++) lacks_used[l] += same(api_lacks[l].name, name);
        append(out, room, "%s%s: %s", *out ? "; " : "", name, why);
    }
    if (*r->note) append(out, room, "%s%s", *out ? "; " : "", r->note);
}

/* Differences that no reason is given for. */
static bool has_reasons(const api_row *r, const char *differences) {
    if (*r->note) return true;
    for (const char *at = differences; *at; at += strspn(at, ", ")) {
        char name[SCHEMA_TEXT];
        int read = 0;
        if (sscanf(at, "lacks %63[a-z_0-9]%n", name, &read) != 1 || !reason_of(api_lacks, API_LACKS, name))
            return false;
        at += read;
    }
    return true;
}

/* The block of a row, as tests/torch_schemas.py writes it. torch: the schema there, NULL for none. */
static void block_of(const api_row *r, const char *torch, char *out, size_t room, int *kinds) {
    schema ours, theirs;
    char differences[TEXT] = "", why[TEXT] = "";
    bool reads = schema_read(r->schema, &ours) && (!torch || schema_read(torch, &theirs));
    CHECK_MSG(reads, "%s: no schema of PyTorch: %s", r->function, torch ? torch : "");
    if (!reads) return;
    if (torch) {
        schema_differences(&ours, &theirs, differences, sizeof differences);
        CHECK(same(ours.name, theirs.name) && same(ours.overload, theirs.overload));
        CHECK_MSG(has_reasons(r, differences), "%s: %s, and no reason is given", r->function, differences);
    }
    CHECK_MSG(ours.own == !torch, "%s: PyTorch knows it, or not: %s", r->function, r->schema);
    reasons_of(r, torch ? &theirs : NULL, &ours, why, sizeof why);
    kinds[!torch ? 2 : *differences ? 1 : 0]++;
    const char *verdict = !torch ? "unknown" : *differences ? "differs: " : "equal";
    append(out, room, "%s, %s: %s%s\n  ours   %s\n", r->function, r->form, verdict, differences, r->schema);
    if (torch) append(out, room, "  torch  %s\n", torch);
    if (*why) append(out, room, "  why    %s\n", why);
}

static void test_list(void) {
    char *list = read_file("tests/torch_schemas.txt", NULL), expected[3 * TEXT], counts[TEXT];
    int kinds[3] = {0, 0, 0};
    CHECK(list != NULL);
    char *at = list;
    while (at && *at == '#') at += strcspn(at, "\n") + 1;
    for (int i = 0; at && i < API_ROWS; i++) {
        size_t length = strcspn(at, "\n");
        char torch[TEXT] = "";
        while (at[length] && at[length + 1] == ' ') { /* the lines of a block begin with spaces */
            (void)sscanf(at + length + 1, "  torch  %1999[^\n]", torch);
            length += 1 + strcspn(at + length + 1, "\n");
        }
        length += at[length] == '\n';
        *expected = 0;
        block_of(&api_rows[i], *torch ? torch : NULL, expected, sizeof expected, kinds);
        bool equal = strlen(expected) == length && strncmp(expected, at, length) == 0;
        CHECK_MSG(equal, "run tests/torch_schemas.py with PyTorch 2.14; the list has\n%.*s", (int)length, at);
        if (!equal) break;
        at += length;
    }
    CHECK(at && !*at);
    snprintf(counts, sizeof counts, "# %d functions: %d equal, %d differ, %d unknown to PyTorch\n", API_ROWS,
             kinds[0], kinds[1], kinds[2]);
    CHECK_MSG(list && strstr(list, counts), "%s", counts);
    for (int l = 0; l < API_LACKS; l++) CHECK_MSG(lacks_used[l], "no function lacks %s", api_lacks[l].name);
    free(list);
}

/* ---- PyTorch's operators ------------------------------------------------------------------------------- */

/* tests/torch_ops.txt has a line for each name of PyTorch's op_db: the functions that compute it, all of them
 * of the table, and how many samples are equal; or why there is none. */
static void test_operators(void) {
    char *list = read_file("tests/torch_ops.txt", NULL), name[TEXT], middle[TEXT], rest[TEXT],
         word[SCHEMA_TEXT];
    int names = 0, missing = 0, whole = 0;
    CHECK(list != NULL);
    for (char *line = list; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        int equal = -1, of = 0;
        if (*line == '#') continue;
        bool reads = sscanf(line, "%1999[^ |\n] | %1999[^|\n]| %1999[^\n]", name, middle, rest) == 3;
        CHECK_MSG(reads, "tests/torch_ops.txt: %.*s", (int)strcspn(line, "\n"), line);
        if (!reads) break;
        names++;
        if (same(middle, "missing ")) {
            missing++;
            CHECK_MSG(strlen(rest) > 5, "%s is missing without a reason", name);
            continue;
        }
        for (const char *at = middle; next_word(&at, word, sizeof word);)
            CHECK_MSG(prototype_find(word) != NULL, "%s: there is no function %s", name, word);
        CHECK_MSG(sscanf(rest, "forward %d of %d", &equal, &of) == 2 && of >= equal && equal >= 0, "%s: %s",
                  name, rest);
        whole += equal == of && of > 0;
    }
    CHECK_MSG(names == 637 && missing < 30 && whole >= 615, "%d names, %d missing, %d equal", names, missing,
              whole);
    free(list);
}

/* tests/torch_surface.txt has a line for each operator that programs call: its tier, its family, its name,
 * and the functions of that name or another that compute it, or why none does. A name has one line. */
static void test_surface(void) {
    char *list = read_file("tests/torch_surface.txt", NULL), tier, name[TEXT], middle[TEXT], rest[TEXT],
         word[SCHEMA_TEXT], counts[TEXT], own[TEXT + 8];
    int names[2] = {0, 0}, missing = 0;
    CHECK(list != NULL);
    for (char *line = list; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (*line == '#') continue;
        int read = sscanf(line, "%c | %1999[^|\n]| %1999[^ |\n] | %1999[^\n]", &tier, middle, name, rest);
        CHECK_MSG(read == 4 && (tier == 'A' || tier == 'B'), "tests/torch_surface.txt: %.*s",
                  (int)strcspn(line, "\n"), line);
        if (read != 4) break;
        names[tier == 'B']++;
        snprintf(own, sizeof own, " | %s | ", name);
        const char *first = strstr(list, own);
        CHECK_MSG(first && !strstr(first + 1, own), "%s has several lines", name);
        if (strncmp(rest, "missing ", 8) == 0) {
            missing++;
            CHECK_MSG(strlen(rest) > 15, "%s is missing without a reason", name);
            continue;
        }
        for (const char *at = rest; next_word(&at, word, sizeof word);)
            CHECK_MSG(prototype_find(word) != NULL, "%s: there is no function %s", name, word);
    }
    snprintf(counts, sizeof counts, "# %d of tier A, %d of tier B\n", names[0], names[1]);
    bool all = names[0] + names[1] == 441 && missing == 0;
    CHECK_MSG(list && strstr(list, counts) && all, "%s%d missing", counts, missing);
    free(list);
}

int main(void) {
#define OXI_X(name) #name,
    static const char *const in_place_1[] = {OX_INPLACE_1(OXI_X) NULL};
    static const char *const in_place_2[] = {OX_INPLACE_2(OXI_X) NULL};
    static const char *const numbers[] = {OX_NUMBER_2(OXI_X) NULL};
    static const char *const reversed[] = {OX_NUMBER_REVERSED(OXI_X) NULL};
    static const char *const reduce_dims[] = {OX_REDUCE_DIMS(OXI_X) NULL};
    static const char *const composed_1[] = {OX_COMPOSED_1(OXI_X) NULL};
    static const char *const composed_2[] = {OX_COMPOSED_2(OXI_X) NULL};
    static const char *const tensors_1[] = {OX_TENSORS_1(OXI_X) NULL};
    static const char *const tensors_2[] = {OX_TENSORS_2(OXI_X) NULL};
    static const char *const masked_dims[] = {OX_MASKED_DIMS(OXI_X) NULL};
    static const char *const masked_along[] = {OX_MASKED_ALONG(OXI_X) NULL};
    static const char *const special_1[] = {OX_SPECIAL_1(OXI_X) OX_SPECIAL_COMPOSED(OXI_X) NULL};
    static const char *const special_2[] = {OX_SPECIAL_2(OXI_X) NULL};
    static const char *const fourier[] = {OX_FFT(OXI_X) NULL};
#undef OXI_X
    static const prototype_list lists[] = {
        {"OX_INPLACE_1(OXI_X)", in_place_1},      {"OX_INPLACE_2(OXI_X)", in_place_2},
        {"OX_NUMBER_2(OXI_X)", numbers},          {"OX_NUMBER_REVERSED(OXI_X)", reversed},
        {"OX_REDUCE_DIMS(OXI_X)", reduce_dims},   {"OX_COMPOSED_1(OXI_X)", composed_1},
        {"OX_COMPOSED_2(OXI_X)", composed_2},     {"OX_MASKED_DIMS(OXI_X)", masked_dims},
        {"OX_MASKED_ALONG(OXI_X)", masked_along}, {"OX_SPECIAL_1(OXI_X)", special_1},
        {"OX_SPECIAL_2(OXI_X)", special_2},       {"OX_FFT(OXI_X)", fourier},
        {"OX_TENSORS_1(OXI_X)", tensors_1},       {"OX_TENSORS_2(OXI_X)", tensors_2}};
    static const char *const pages[] = {"oxtorch.h", "oxtorch_nn.h", "oxtorch_stream.h", "oxtorch_vulkan.h",
                                        "oxtorch_llm.h"};
    for (int i = 0; i < 5; i++) CHECK_MSG(prototype_read(pages[i]), "src/%s is not read", pages[i]);
    CHECK(prototype_read_all(lists, (int)(sizeof lists / sizeof *lists)));
    CHECK_MSG(prototype_count > API_ROWS, "%d functions are read", prototype_count);
    test_reader();
    test_differences();
    test_rows();
    test_functions();
    test_ops();
    test_list();
    test_operators();
    test_surface();
    return check_done("api");
}
