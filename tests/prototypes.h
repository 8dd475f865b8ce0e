/* prototypes.h - the public functions as the headers of src/ declare them: result, name, parameters.
 * It reads the pages src/oxtorch*.h up to where the implementation begins, and what they include. */
#ifndef PROTOTYPES_H
#define PROTOTYPES_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read_file.h"

enum { PROTOTYPE_TEXT = 80, PROTOTYPE_MOST = 16, PROTOTYPES_MOST = 1000, PROTOTYPE_PAGES_MOST = 1 << 20 };

typedef struct prototype_variable {
    char type[PROTOTYPE_TEXT]; /* words and stars with a space between: "const ox_tensor *" */
    char name[PROTOTYPE_TEXT];
} prototype_variable;

typedef struct prototype {
    prototype_variable self; /* its result's type, its name */
    prototype_variable parameter[PROTOTYPE_MOST];
    int parameters;
} prototype;

static prototype prototypes[PROTOTYPES_MOST];
static int prototype_count;
static char prototype_pages[PROTOTYPE_PAGES_MOST]; /* all headers, without comments */
static size_t prototype_used;

/* ---- the headers as one text --------------------------------------------------------------------------- */

static void prototype_add(const char *text, size_t length) {
    if (prototype_used + length + 2 > sizeof prototype_pages) return;
    memcpy(prototype_pages + prototype_used, text, length);
    prototype_used += length;
    prototype_pages[prototype_used++] = '\n';
    prototype_pages[prototype_used] = 0;
}

/* Comments become spaces, joined lines one line. */
static void prototype_strip(char *text) {
    bool comment = false;
    for (char *c = text; *c; c++) {
        if (!comment && c[0] == '/' && c[1] == '*') comment = true;
        if (comment && c[0] == '*' && c[1] == '/') {
            comment = false;
            c[0] = c[1] = ' ';
        }
        if (!comment && c[0] == '\\' && c[1] == '\n') c[0] = c[1] = ' ';
        if (comment && *c != '\n') *c = ' ';
    }
}

/* Adds a header and those that it includes; a page ends where OX_IMPLEMENTATION is asked for. */
static bool prototype_read(const char *name) {
    char path[512], inner[256];
    snprintf(path, sizeof path, "src/%s", name);
    char *text = read_file(path, NULL);
    if (!text) return false;
    prototype_strip(text);
    bool ok = true;
    for (char *line = text; *line && ok;) {
        size_t length = strcspn(line, "\n");
        if (strncmp(line, "#if defined(OX_IMPLEMENTATION)", 30) == 0) break;
        if (sscanf(line, "#include \"%255[^\"]\"", inner) == 1)
            ok = strcmp(inner, "oxtorch.h") == 0 || prototype_read(inner);
        else
            prototype_add(line, length);
        line += length + (line[length] == '\n');
    }
    free(text);
    return ok;
}

/* ---- declarations -------------------------------------------------------------------------------------- */

/* "const ox_tensor *t" to its type and its name, which is the last word; "out[16]" is named out. */
static bool prototype_variable_of(const char *text, size_t length, prototype_variable *out) {
    size_t used = 0, type = 0, end = length;
    while (end > 0 && isspace((unsigned char)text[end - 1])) end--;
    if (end > 0 && text[end - 1] == ']')
        while (end > 0 && text[end] != '[') end--;
    size_t start = end;
    while (start > 0 && (isalnum((unsigned char)text[start - 1]) || text[start - 1] == '_')) start--;
    if (start == end || end - start >= PROTOTYPE_TEXT) return false;
    memcpy(out->name, text + start, end - start);
    out->name[end - start] = 0;
    for (size_t i = 0; i < start; i++) {
        bool space = isspace((unsigned char)text[i]) != 0;
        if (space && (used == 0 || out->type[used - 1] == ' ' || out->type[used - 1] == '*')) continue;
        if (used + 2 >= PROTOTYPE_TEXT) return false;
        out->type[used++] = space ? ' ' : text[i];
        if (!space) type = used;
    }
    out->type[type] = 0;
    return type > 0;
}

/* What stands between the brackets. */
static bool prototype_parameters(const char *text, size_t length, prototype *p) {
    if (length == 4 && strncmp(text, "void", 4) == 0) return true;
    for (size_t at = 0; at < length;) {
        size_t part = 0;
        while (at + part < length && text[at + part] != ',') part++;
        if (p->parameters == PROTOTYPE_MOST ||
            !prototype_variable_of(text + at, part, &p->parameter[p->parameters++]))
            return false;
        at += part + 1;
    }
    return true;
}

static bool prototype_declaration(const char *text) {
    const char *open = strchr(text, '('), *close = strchr(text, ')');
    prototype p;
    memset(&p, 0, sizeof p);
    if (!open || !close || prototype_count == PROTOTYPES_MOST) return false;
    if (!prototype_variable_of(text, (size_t)(open - text), &p.self)) return false;
    if (!prototype_parameters(open + 1, (size_t)(close - open - 1), &p)) return false;
    prototypes[prototype_count++] = p;
    return true;
}

/* Functions that a list declares: the template's name is ox_##name or ox_##name##_, the list's is
 * OX_INPLACE_1. */
static bool prototype_expand(const char *declaration, const char *const *names) {
    const char *mark = strstr(declaration, "##name");
    char text[512];
    size_t marked = mark && strncmp(mark, "##name##", 8) == 0 ? 8 : 6;
    size_t length = strcspn(declaration, ";");
    for (; mark && *names; names++) {
        size_t front = (size_t)(mark - declaration);
        if (length + strlen(*names) + 2 > sizeof text) return false;
        snprintf(text, sizeof text, "%.*s%s%.*s;", (int)front, declaration, *names,
                 (int)(length - front - marked), mark + marked);
        if (!prototype_declaration(text)) return false;
    }
    return mark != NULL;
}

/* Reads every declaration behind an OX_API. Of lists: those that are given by name. */
typedef struct prototype_list {
    const char *call; /* "OX_INPLACE_1(OXI_X)" */
    const char *const *names;
} prototype_list;

static bool prototype_read_all(const prototype_list *lists, int count) {
    const char *pattern = NULL;
    for (char *line = prototype_pages; *line;) {
        char *end = line + strcspn(line, "\n"), *api = strstr(line, "OX_API ");
        bool directive = line[strspn(line, " ")] == '#';
        if (api && api < end && directive && strstr(line, "##name")) pattern = api + 7;
        for (int i = 0; i < count; i++)
            if (strncmp(line, lists[i].call, strlen(lists[i].call)) == 0 &&
                (!pattern || !prototype_expand(pattern, lists[i].names)))
                return false;
        if (api && api < end && !directive) {
            if (!prototype_declaration(api + 7)) return false;
            end = strchr(api, ';');
            if (!end) return false;
        }
        line = *end ? end + 1 : end;
    }
    return true;
}

static const prototype *prototype_find(const char *name) {
    for (int i = 0; i < prototype_count; i++)
        if (strcmp(prototypes[i].self.name, name) == 0) return &prototypes[i];
    return NULL;
}

/* The members of `typedef struct NAME {...} NAME;`; their number, -1 where there is no such type. */
static int prototype_members(const char *name, prototype_variable *out) {
    char head[128];
    int count = 0;
    snprintf(head, sizeof head, "typedef struct %s {", name);
    const char *at = strstr(prototype_pages, head);
    if (!at) return -1;
    at += strlen(head);
    while (*(at += strspn(at, " \n")) != '}') {
        size_t length = strcspn(at, ";");
        if (count == PROTOTYPE_MOST || !prototype_variable_of(at, length, &out[count++])) return -1;
        at += length + 1;
    }
    return count;
}

#endif
