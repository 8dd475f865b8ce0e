/* schema.h - the schema language of PyTorch's native_functions.yaml, read strictly, and what two differ in.
 *     ["ox::"] name ["." overload] "(" [argument {", " argument}] ") -> " results
 *     argument  "*" | type " " name ["=" default]           behind "*": by keyword only
 *     type      base ["(" alias ")"] ["[" [length] "]"] ["?"]
 *     alias     "a" a view of it, "a!" is written to, "a -> *" views of it in a list
 *     results   type | "(" type " " name {", " type " " name} ")" */
#ifndef SCHEMA_H
#define SCHEMA_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_TEXT = 64, SCHEMA_MOST = 16 };

typedef struct schema_type {
    char base[SCHEMA_TEXT]; /* "Tensor" */
    char alias[SCHEMA_TEXT];
    bool list, optional;
    int length; /* of a list; 0: any */
} schema_type;

typedef struct schema_argument {
    schema_type type;
    char name[SCHEMA_TEXT]; /* of a result: maybe "" */
    char value[SCHEMA_TEXT];
    bool has_value, keyword;
} schema_argument;

typedef struct schema {
    char name[SCHEMA_TEXT], overload[SCHEMA_TEXT];
    bool own; /* "ox::": PyTorch has none */
    schema_argument argument[SCHEMA_MOST], result[SCHEMA_MOST];
    int arguments, results;
} schema;

/* ---- reading: each moves *at behind what it read, or gives false --------------------------------------- */

static bool schema_take(const char **at, const char *text) {
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0) return false;
    *at += length;
    return true;
}

static bool schema_word(const char **at, char *out) {
    size_t length = 0;
    while (isalnum((unsigned char)(*at)[length]) || (*at)[length] == '_') length++;
    if (length == 0 || length >= SCHEMA_TEXT || isdigit((unsigned char)**at)) return false;
    memcpy(out, *at, length);
    out[length] = 0;
    *at += length;
    return true;
}

static bool schema_is_one_of(const char *word, const char *const *list) {
    for (; *list; list++)
        if (strcmp(word, *list) == 0) return true;
    return false;
}

static bool schema_read_type(const char **at, schema_type *type) {
    static const char *const bases[] = {"Tensor",    "int",          "SymInt", "float",  "bool",
                                        "Scalar",    "ScalarType",   "Device", "Layout", "str",
                                        "Generator", "MemoryFormat", NULL};
    memset(type, 0, sizeof *type);
    if (!schema_word(at, type->base) || !schema_is_one_of(type->base, bases)) return false;
    if (schema_take(at, "(")) {
        size_t length = strcspn(*at, ")");
        if (strcmp(type->base, "Tensor") != 0 || !islower((unsigned char)**at)) return false;
        if (length >= SCHEMA_TEXT) return false;
        memcpy(type->alias, *at, length);
        *at += length;
        if (strcmp(type->alias + 1, "") != 0 && strcmp(type->alias + 1, "!") != 0 &&
            strcmp(type->alias + 1, " -> *") != 0)
            return false;
        if (!schema_take(at, ")")) return false;
    }
    if (schema_take(at, "[")) {
        type->list = true;
        while (isdigit((unsigned char)**at)) type->length = 10 * type->length + *(*at)++ - '0';
        if (!schema_take(at, "]")) return false;
    }
    type->optional = schema_take(at, "?");
    return true;
}

/* The numbers of a list's default: "[1, 2]", or "1" where the type has a length, each of them; -1:
 * neither. */
static int schema_list_of(const schema_type *type, const char *value, long out[SCHEMA_MOST]) {
    int count = 0;
    char *end = NULL;
    if (*value != '[') {
        for (; count < type->length && count < SCHEMA_MOST; count++) out[count] = strtol(value, &end, 10);
        return count > 0 && end != value && *end == 0 ? count : -1;
    }
    for (value++; *value != ']' && count < SCHEMA_MOST; value = end + (strncmp(end, ", ", 2) == 0 ? 2 : 0)) {
        out[count++] = strtol(value, &end, 10);
        if (end == value || (*end != ']' && strncmp(end, ", ", 2) != 0)) return -1;
    }
    bool fits = count == 0 || type->length == 0 || count == type->length;
    return fits && strcmp(value, "]") == 0 ? count : -1;
}

/* Whether a default is one of the type; torch writes the dtype i64 as 4, people write long. */
static bool schema_fits(const schema_type *type, const char *value) {
    static const char *const numbers[] = {"int", "SymInt", "float", "Scalar", NULL};
    size_t length = strlen(value);
    char *end = NULL;
    if (strcmp(value, "None") == 0) return type->optional;
    long list[SCHEMA_MOST];
    if (type->list) return schema_list_of(type, value, list) >= 0;
    if (strcmp(type->base, "bool") == 0) return strcmp(value, "True") == 0 || strcmp(value, "False") == 0;
    if (strcmp(type->base, "str") == 0) return length >= 2 && value[0] == '"' && value[length - 1] == '"';
    if (strcmp(type->base, "ScalarType") == 0) return strcmp(value, "long") == 0 || strcmp(value, "4") == 0;
    if (strcmp(type->base, "MemoryFormat") == 0) return strcmp(value, "0") == 0;
    if (!schema_is_one_of(type->base, numbers)) return false;
    (void)strtod(value, &end);
    return *end == 0 && (strchr(value, '.') == NULL || type->base[0] == 'f' || type->base[0] == 'S');
}

static bool schema_read_argument(const char **at, schema_argument *a) {
    memset(a, 0, sizeof *a);
    if (!schema_read_type(at, &a->type) || !schema_take(at, " ") || !schema_word(at, a->name)) return false;
    if (!schema_take(at, "=")) return true;
    size_t length = **at == '"'   ? strcspn(*at + 1, "\"") + 2
                    : **at == '[' ? strcspn(*at, "]") + 1
                                  : strcspn(*at, ",)");
    if (length > strlen(*at)) return false;
    if (length == 0 || length >= SCHEMA_TEXT) return false;
    memcpy(a->value, *at, length);
    *at += length;
    a->has_value = true;
    return schema_fits(&a->type, a->value);
}

static bool schema_named(const schema_argument *list, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return true;
    return false;
}

static bool schema_read_arguments(const char **at, schema *s) {
    bool keyword = false, defaults = false;
    if (schema_take(at, ")")) return true;
    for (;;) {
        if (schema_take(at, "*, ")) {
            if (keyword) return false;
            keyword = true;
        }
        schema_argument *a = &s->argument[s->arguments];
        if (s->arguments == SCHEMA_MOST || !schema_read_argument(at, a)) return false;
        if (schema_named(s->argument, s->arguments, a->name)) return false;
        a->keyword = keyword;
        if (!keyword && defaults && !a->has_value) return false; /* Python could not call it */
        defaults = defaults || a->has_value;
        s->arguments++;
        if (schema_take(at, ")")) return true;
        if (!schema_take(at, ", ")) return false;
    }
}

static bool schema_read_results(const char **at, schema *s) {
    if (!schema_take(at, "(")) {
        memset(s->result, 0, sizeof s->result[0]);
        s->results = 1;
        return schema_read_type(at, &s->result[0].type);
    }
    do {
        schema_argument *r = &s->result[s->results];
        memset(r, 0, sizeof *r);
        if (s->results == SCHEMA_MOST || !schema_read_type(at, &r->type)) return false;
        if (schema_take(at, " ") && !schema_word(at, r->name)) return false; /* or it has none */
        if (*r->name && schema_named(s->result, s->results, r->name)) return false;
        s->results++;
    } while (schema_take(at, ", "));
    return s->results > 1 && schema_take(at, ")");
}

/* The whole text is one schema. */
static bool schema_read(const char *text, schema *s) {
    memset(s, 0, sizeof *s);
    s->own = schema_take(&text, "ox::");
    return schema_word(&text, s->name) && (!schema_take(&text, ".") || schema_word(&text, s->overload)) &&
           schema_take(&text, "(") && schema_read_arguments(&text, s) && schema_take(&text, " -> ") &&
           schema_read_results(&text, s) && *text == 0;
}

/* ---- differences --------------------------------------------------------------------------------------- */

static bool schema_same_type(const schema_type *a, const schema_type *b) {
    return strcmp(a->base, b->base) == 0 && a->list == b->list && a->optional == b->optional &&
           a->length == b->length;
}

/* Numbers by what they are: PyTorch writes 1e-05 with all its digits. */
static bool schema_same_value(const schema_argument *a, const schema_argument *b) {
    char *end_a = NULL, *end_b = NULL;
    if (a->has_value != b->has_value || strcmp(a->value, b->value) == 0) return a->has_value == b->has_value;
    if (strcmp(a->type.base, "ScalarType") == 0)
        return (strcmp(a->value, "long") == 0 && strcmp(b->value, "4") == 0) ||
               (strcmp(a->value, "4") == 0 && strcmp(b->value, "long") == 0);
    if (a->type.list && b->type.list) {
        long x[SCHEMA_MOST], y[SCHEMA_MOST];
        int count = schema_list_of(&a->type, a->value, x);
        return count >= 0 && count == schema_list_of(&b->type, b->value, y) &&
               memcmp(x, y, (size_t)count * sizeof *x) == 0;
    }
    double x = strtod(a->value, &end_a), y = strtod(b->value, &end_b);
    return *end_a == 0 && *end_b == 0 && x == y;
}

static void schema_say(char *out, size_t room, const char *what, const char *name) {
    size_t used = strlen(out);
    snprintf(out + used, room - used, "%s%s%s", used ? ", " : "", what, name);
}

static const schema_argument *schema_find(const schema *s, const char *name) {
    for (int i = 0; i < s->arguments; i++)
        if (strcmp(s->argument[i].name, name) == 0) return &s->argument[i];
    return NULL;
}

static bool schema_same_results(const schema *a, const schema *b) {
    bool same = a->results == b->results;
    for (int i = 0; same && i < a->results; i++)
        same = schema_same_type(&a->result[i].type, &b->result[i].type) &&
               strcmp(a->result[i].type.alias, b->result[i].type.alias) == 0 &&
               strcmp(a->result[i].name, b->result[i].name) == 0;
    return same;
}

/* In words: "lacks dtype, type of dim, default of keepdim, adds window, order, results"; "" for none. */
static void schema_differences(const schema *ours, const schema *theirs, char *out, size_t room) {
    const schema_argument *last = NULL;
    bool ordered = true;
    *out = 0;
    for (int i = 0; i < theirs->arguments; i++) {
        const schema_argument *b = &theirs->argument[i], *a = schema_find(ours, b->name);
        if (!a) {
            schema_say(out, room, "lacks ", b->name);
            continue;
        }
        if (!schema_same_type(&a->type, &b->type)) schema_say(out, room, "type of ", b->name);
        if (strcmp(a->type.alias, b->type.alias) != 0) schema_say(out, room, "alias of ", b->name);
        if (!schema_same_value(a, b)) schema_say(out, room, "default of ", b->name);
        if (a->keyword != b->keyword) schema_say(out, room, "keyword ", b->name);
        ordered = ordered && (!last || last < a);
        last = a;
    }
    for (int i = 0; i < ours->arguments; i++)
        if (!schema_find(theirs, ours->argument[i].name))
            schema_say(out, room, "adds ", ours->argument[i].name);
    if (!ordered) schema_say(out, room, "order", "");
    if (!schema_same_results(ours, theirs)) schema_say(out, room, "results", "");
}

#endif
