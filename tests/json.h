/* json.h - a small JSON reader for tests: text to a tree, with nodes from a fixed pool and strings cut in
 * place. It takes well-formed text of trusted files; anything else gives NULL. */
#ifndef TEST_JSON_H
#define TEST_JSON_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_type;

typedef struct json {
    json_type type;
    char *key;     /* of a member of an object */
    char *text;    /* of a string */
    double number; /* of a number; 1 or 0 of a bool */
    struct json *child, *next;
} json;

typedef struct json_pool {
    json *nodes;
    int count, room;
} json_pool;

static json *json_new(json_pool *pool, json_type type) {
    if (pool->count == pool->room) return NULL;
    json *node = &pool->nodes[pool->count++];
    memset(node, 0, sizeof *node);
    node->type = type;
    return node;
}

static char *json_skip(char *p) {
    return p + strspn(p, " \t\r\n");
}

static unsigned json_hex(const char *p) {
    char digits[5] = {p[0], p[1], p[2], p[3], 0};
    return (unsigned)strtoul(digits, NULL, 16);
}

/* p stands at the u of \uXXXX, or of two of them that are one character. Returns its last digit. */
static char *json_code(char *p, char **to) {
    unsigned code = json_hex(p + 1);
    p += 4;
    if (code >= 0xD800 && code < 0xDC00 && p[1] == '\\' && p[2] == 'u' && strlen(p) > 6) {
        code = 0x10000 + ((code - 0xD800) << 10) + (json_hex(p + 3) - 0xDC00);
        p += 6;
    }
    if (code >= 0x10000) *(*to)++ = (char)(0xF0 | code >> 18);
    if (code >= 0x10000) *(*to)++ = (char)(0x80 | (code >> 12 & 63));
    if (code >= 0x800 && code < 0x10000) *(*to)++ = (char)(0xE0 | code >> 12);
    if (code >= 0x800) *(*to)++ = (char)(0x80 | (code >> 6 & 63));
    if (code >= 0x80 && code < 0x800) *(*to)++ = (char)(0xC0 | code >> 6);
    *(*to)++ = (char)(code < 0x80 ? code : 0x80 | (code & 63));
    return p;
}

/* p stands behind the opening quote. The text is unescaped in place; *end gets what follows the closing
 * quote. */
static char *json_string(char *p, char **end) {
    char *text = p, *to = p;
    for (; *p && *p != '"'; p++) {
        if (*p != '\\') {
            *to++ = *p;
            continue;
        }
        p++;
        if (*p == 'n')
            *to++ = '\n';
        else if (*p == 't')
            *to++ = '\t';
        else if (*p == 'r')
            *to++ = '\r';
        else if (*p == 'b' || *p == 'f')
            *to++ = *p == 'b' ? '\b' : '\f';
        else if (*p == 'u' && strlen(p) > 4)
            p = json_code(p, &to);
        else
            *to++ = *p;
    }
    if (!*p) return NULL;
    *to = 0;
    *end = p + 1;
    return text;
}

static json *json_value(json_pool *pool, char *p, char **end);

/* The members of an array or object; p stands behind the opening bracket. */
static bool json_members(json_pool *pool, json *parent, char close, char *p, char **end) {
    json **last = &parent->child;
    for (p = json_skip(p); *p && *p != close; p = json_skip(p)) {
        char *key = NULL;
        if (close == '}') {
            if (*p != '"' || !(key = json_string(p + 1, &p))) return false;
            p = json_skip(p);
            if (*p++ != ':') return false;
        }
        json *member = json_value(pool, p, &p);
        if (!member) return false;
        member->key = key;
        *last = member;
        last = &member->next;
        p = json_skip(p);
        if (*p == ',')
            p++;
        else if (*p != close)
            return false;
    }
    *end = p + 1;
    return *p == close;
}

static json *json_value(json_pool *pool, char *p, char **end) {
    json *node = NULL;
    p = json_skip(p);
    if (*p == '{' || *p == '[') {
        node = json_new(pool, *p == '{' ? JSON_OBJECT : JSON_ARRAY);
        return node && json_members(pool, node, *p == '{' ? '}' : ']', p + 1, end) ? node : NULL;
    }
    if (*p == '"') {
        node = json_new(pool, JSON_STRING);
        return node && (node->text = json_string(p + 1, end)) ? node : NULL;
    }
    if (strncmp(p, "true", 4) == 0 || strncmp(p, "false", 5) == 0) {
        node = json_new(pool, JSON_BOOL);
        if (node) node->number = *p == 't';
        *end = p + (*p == 't' ? 4 : 5);
        return node;
    }
    if (strncmp(p, "null", 4) == 0) {
        *end = p + 4;
        return json_new(pool, JSON_NULL);
    }
    node = json_new(pool, JSON_NUMBER);
    if (node) node->number = strtod(p, end);
    return node && *end != p ? node : NULL;
}

/* Reads the one value that `text` starts with; text is changed. NULL if it is malformed or the pool is too
 * small. */
static json *json_read(json_pool *pool, char *text) {
    char *end = NULL;
    return json_value(pool, text, &end);
}

static inline json *json_get(const json *object, const char *key) {
    for (json *m = object ? object->child : NULL; m; m = m->next)
        if (m->key && strcmp(m->key, key) == 0) return m;
    return NULL;
}

static inline json *json_at(const json *array, int index) {
    json *m = array ? array->child : NULL;
    while (m && index-- > 0) m = m->next;
    return m;
}

static inline int json_count(const json *array) {
    int count = 0;
    for (json *m = array ? array->child : NULL; m; m = m->next) count++;
    return count;
}

static inline double json_number(const json *object, const char *key, double otherwise) {
    const json *m = json_get(object, key);
    return m && (m->type == JSON_NUMBER || m->type == JSON_BOOL) ? m->number : otherwise;
}

static inline const char *json_text(const json *object, const char *key, const char *otherwise) {
    const json *m = json_get(object, key);
    return m && m->type == JSON_STRING ? m->text : otherwise;
}

#endif
