/* amalgamate.c - packs a page of src/ and the parts it includes into one self-contained header.
 * Usage: amalgamate src/oxtorch.h > oxtorch.h; `make headers` calls it once for each page src/oxtorch*.h.
 *
 * Quoted includes are looked for beside the including file, then in the folder of the page, and replaced by
 * the file's text: .h and .c the first time only, .inc (templates) and .def (tables) every time. Another page
 * of the same folder stays an #include, of the macro that is its name (see below), and so do <angle>
 * includes. Conditionals are not evaluated, so a part that is included first inside an #if lives inside that
 * #if. Output depends on nothing but the sources.
 *
 * What is included several times is packed in one of three ways. Text without directives between its lines
 * is a macro: rows of a table, and templates that are plain code. Other templates, if their copies would be
 * large, are sections behind the header's end: where one is wanted the header includes itself, with
 * OXI_SECTION set to its number. Compilers then read the whole header again, which is why macros come first.
 * The header's own name is the macro OX_TORCH_FILE (of oxtorch_llm.h: OX_TORCH_LLM_FILE), which whoever
 * renames the file defines. The rest is copied.
 *
 * The public half is packed as it is written. The implementation, from the line IMPLEMENTATION on, is packed
 * lean: without comments and indents, with spaces between words and between operators only, and without the
 * prototypes and #undefs that the order of the parts makes idle. Names stay, and each statement has its own
 * line, so that a debugger has something to show.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_LENGTH_MAX 1024
#define DEPTH_MAX 64
#define COPIES_MAX 2500 /* bytes of repeated text, from which on a template becomes a section */
#define LINE_MAX 140     /* of lean text: a newline is a byte, and a debugger shows so much of a line */
#define IMPLEMENTATION "\n#if defined(OX_IMPLEMENTATION)"
#define MARK "Generated from src/ by tools/amalgamate.c. Do not edit: edit src/ and run make headers."

/* ---- text ---- */

typedef struct text {
    char *data; /* always ends in a zero byte when data is not NULL */
    size_t size, capacity;
} text;

static void die_out_of_memory(void) {
    fprintf(stderr, "amalgamate: out of memory\n");
    exit(1);
}

static void text_add(text *t, const char *data, size_t size) {
    if (t->size + size + 1 > t->capacity) {
        size_t capacity = (t->size + size + 1) * 2;
        char *grown = (char *)realloc(t->data, capacity);
        if (!grown) die_out_of_memory();
        t->data = grown;
        t->capacity = capacity;
    }
    memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = 0;
}

static void text_add_string(text *t, const char *string) {
    text_add(t, string, strlen(string));
}

/* printf's format; at most 4 names long. */
static void text_add_format(text *t, const char *format, ...) {
    char line[5 * PATH_LENGTH_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_add_string(t, line);
}

/* Reads a file without carriage returns and with a newline at its end. Returns 0 if it cannot be opened. */
static int text_read(text *t, const char *path) {
    FILE *file = fopen(path, "rb");
    char block[4096];
    size_t count, i;
    if (!file) return 0;
    text_add(t, "", 0);
    while ((count = fread(block, 1, sizeof block, file)) > 0) {
        for (i = 0; i < count; i++)
            if (block[i] != '\r') text_add(t, block + i, 1);
    }
    fclose(file);
    if (t->size && t->data[t->size - 1] != '\n') text_add(t, "\n", 1);
    return 1;
}

/* ---- the packer ---- */

/* A .inc or .def part. */
typedef struct template_part {
    char *path;
    int includes; /* in parts that are themselves counted once */
    size_t size;  /* with what it includes */
    int section;  /* its number, 0: it is copied */
    int is_rows;           /* 1: it is packed as a macro of its rows, 2: which is written */
    text head, rows, tail; /* the directives before and behind its rows, and these */
} template_part;

typedef struct packer {
    char folder[PATH_LENGTH_MAX]; /* folder of the page; all other paths are relative to it */
    char file_macro[PATH_LENGTH_MAX]; /* what the header calls itself */
    text output, macros; /* macros: of templates, to stand where the implementation begins */
    char **seen; /* the .h and .c parts that are in */
    size_t seen_count;
    int counting; /* the first of two passes: templates are counted, each is read once */
    template_part *templates;
    size_t template_count;
    int sections; /* so many are to be written */
    const char *stack[DEPTH_MAX]; /* the page and the includes that lead to the present part */
    int depth;
} packer;

/* Where we are in a source file; kept from line to line. */
typedef struct lexer {
    int in_comment;   /* inside a block comment at the start of the line */
    int continued;    /* the line before ended in a backslash */
    int line_comment; /* ... and that backslash stood in a // comment */
} lexer;

static void die_at(const packer *p, const char *path, int line, const char *what, const char *name) {
    int i;
    fprintf(stderr, "%s/%s:%d: error: %s \"%s\"\n", p->folder, path, line, what, name);
    for (i = p->depth - 1; i > 0; i--) fprintf(stderr, "  included from %s/%s\n", p->folder, p->stack[i - 1]);
    exit(1);
}

/* Follows comments and quotes through one line (without its newline). */
static void lexer_line(lexer *lex, const char *line, size_t size) {
    size_t i = 0;
    int backslash = size > 0 && line[size - 1] == '\\';
    int line_comment = lex->continued && lex->line_comment;
    char quote = 0;
    for (; i < size && !line_comment; i++) {
        if (lex->in_comment) {
            if (line[i] == '*' && i + 1 < size && line[i + 1] == '/') lex->in_comment = 0, i++;
        } else if (quote) {
            if (line[i] == '\\')
                i++;
            else if (line[i] == quote)
                quote = 0;
        } else if (line[i] == '"' || line[i] == '\'') {
            quote = line[i];
        } else if (line[i] == '/' && i + 1 < size && line[i + 1] == '*') {
            lex->in_comment = 1, i++;
        } else if (line[i] == '/' && i + 1 < size && line[i + 1] == '/') {
            line_comment = 1;
        }
    }
    lex->continued = backslash;
    lex->line_comment = line_comment;
}

/* ---- lean text ---- */

/* Text on its way to the header without comments and wide spacing, line by line. */
typedef struct lean_text {
    text *output;
    text line;       /* the line in hand: more may join it */
    int in_comment;  /* of the input, at the start of a line */
    int directive;   /* the line in hand is a directive */
    int continued;   /* ... and goes on behind a backslash */
    int parens;      /* open where the line in hand ends */
    int guarded;     /* the line before it did not end its statement */
} lean_text;

static int is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static int is_operator(char c) {
    return strchr("+-*/%<>=!&|^?:~#.", c) != NULL;
}

/* Whether the line in hand is a directive that reads its spaces, or a macro's name before its text. */
static int reads_spaces(const text *line) {
    const char *second;
    if (line->data[0] != '#' || strncmp(line->data, "#define ", 8) != 0) return line->data[0] == '#';
    second = strchr(line->data + 8, ' ');
    return second == NULL;
}

/* Whether two operators that end with a and begin with b would be read as another one. */
static int operators_join(char a, char b) {
    static const char *const pairs = "++ -- -> ** // /* << <: <% >> :: :> %: %> && || ## .. .* ??";
    const char *at;
    if (b == '=') return strchr("+-*/%<>=!&|^", a) != NULL;
    for (at = pairs; *at && (at[0] != a || at[1] != b); at++) {}
    return *at != 0;
}

/* Whether the word at the end of `line` is a number: a sign behind its last letter would be of it. */
static int ends_with_number(const text *line) {
    size_t at = line->size;
    while (at > 0 && (is_word(line->data[at - 1]) || line->data[at - 1] == '.')) at--;
    return isdigit((unsigned char)line->data[at]) || line->data[at] == '.';
}

/* Whether a space says something behind `line`, which is not empty, and before a token that begins with b. */
static int space_counts(const text *line, char b) {
    char a = line->data[line->size - 1];
    if (reads_spaces(line) && (is_word(a) || is_operator(a) || is_operator(b))) return 1;
    if (is_operator(a)) return is_operator(b) && operators_join(a, b);
    if (a == '"' || a == '\'') return is_word(b);
    if (!is_word(a)) return 0;
    return is_word(b) || b == '"' || b == '\'' || ((b == '+' || b == '-') && ends_with_number(line));
}

static void lean_flush(lean_text *lean, const char *end) {
    if (lean->line.size) {
        char last = lean->line.data[lean->line.size - 1];
        /* a quote before a word would take that for its suffix */
        if (*end == ' ' && !is_word(last) && last != '"' && last != '\'') end++;
        text_add(lean->output, lean->line.data, lean->line.size);
        text_add_string(lean->output, end);
    }
    lean->line.size = 0;
}

/* Adds a token, or several; `space`: one stood before it. */
static void lean_token(text *line, const char *token, size_t size, int space) {
    if (space && line->size && space_counts(line, token[0])) text_add(line, " ", 1);
    text_add(line, token, size);
}

/* The end of the token at `at`: a quote, a word or one character. */
static const char *token_end(const char *at, const char *end) {
    char first = *at++;
    if (first == '"' || first == '\'') {
        while (at < end && *at != first) at += *at == '\\' && at + 1 < end ? 2 : 1;
        return at < end ? at + 1 : end;
    }
    while (is_word(first) && at < end && is_word(*at)) at++;
    return at;
}

/* One line of the input without comments and spaces that say nothing; it gives the parentheses it opens. */
static int lean_line(lean_text *lean, const char *at, const char *end, text *line) {
    int space = 0, parens = 0;
    while (at < end) {
        const char *next;
        if (lean->in_comment) {
            for (; at < end && lean->in_comment; at++)
                if (*at == '*' && at + 1 < end && at[1] == '/') lean->in_comment = 0, at++;
            space = 1;
            continue;
        }
        if (isspace((unsigned char)*at)) {
            space = 1, at++;
            continue;
        }
        if (at + 1 < end && at[0] == '/' && at[1] == '/') break;
        if (at + 1 < end && at[0] == '/' && at[1] == '*') {
            lean->in_comment = 1, at += 2;
            continue;
        }
        next = token_end(at, end);
        if (next - at > 2 && at[0] == '0' && at[1] == 'x') {
            const char *digits = at + 2; /* zeros before a number in base 16 go */
            while (digits + 1 < next && *digits == '0') digits++;
            lean_token(line, "0x", 2, space);
            text_add(line, digits, (size_t)(next - digits));
            space = 0, at = next;
            continue;
        }
        parens += (*at == '(' || *at == '[') - (*at == ')' || *at == ']');
        lean_token(line, at, (size_t)(next - at), space);
        space = 0;
        at = next;
    }
    return parens;
}

/* Whether `piece` goes on with the statement of the line in hand. */
static int goes_on(const lean_text *lean, const text *piece) {
    char last = lean->line.size ? lean->line.data[lean->line.size - 1] : ';';
    if (!lean->continued && (lean->directive || piece->data[0] == '#')) return 0;
    if (lean->parens > 0 || strchr(",=+-*/&|?<", last)) return 1;
    return strchr("?:&|\"=", piece->data[0]) && !strchr(";{}:", last);
}

/* Whether another statement may stand behind those of the line in hand: the first of a block may, and what
 * follows a statement that neither is a guard nor stands behind one. */
static int stands_beside(const lean_text *lean, const text *piece) {
    static const char *const guards[] = {"if(", "for(", "while(", "else", "do"};
    size_t i;
    char last = lean->line.size ? lean->line.data[lean->line.size - 1] : '}';
    if (lean->directive || piece->data[0] == '#' || lean->continued) return 0;
    if (last == '{') return 1;
    for (i = 0; i < sizeof guards / sizeof *guards; i++)
        if (strstr(lean->line.data, guards[i])) return 0;
    return last == ';' && !lean->guarded;
}

/* Joins a piece to the line in hand, or begins another. What stands behind a guard has a line of its own, and
 * each statement of a macro: compilers warn of those that look as if an `if` before them were theirs. */
static void lean_add(lean_text *lean, const text *piece) {
    int closes = piece->data[0] == '}' && lean->line.size && (lean->continued || !lean->directive);
    int on = closes || goes_on(lean, piece);
    if ((on || stands_beside(lean, piece)) && lean->line.size + 1 + piece->size <= LINE_MAX - 2) {
        lean_token(&lean->line, piece->data, piece->size, 1);
        return;
    }
    lean->guarded = lean->line.size && !strchr(";{}", lean->line.data[lean->line.size - 1]);
    lean_flush(lean, lean->continued ? " \\\n" : "\n");
    if (!on) lean->parens = 0;
    text_add(&lean->line, piece->data, piece->size);
}

/* Marks of parts stay as they are. Returns 0 where the line is none. */
static int lean_keep(lean_text *lean, const char *at, const char *end) {
    if (lean->in_comment || lean->continued || end - at < 8) return 0;
    if (strncmp(at, "/* >>", 5) != 0 && strncmp(at, "#elif OXI_SECTION ==", 20) != 0) return 0;
    lean_flush(lean, "\n");
    lean->parens = lean->directive = 0;
    text_add(lean->output, at, (size_t)(end - at) + 1);
    return 1;
}

static void lean_pack(text *output, const char *at, const char *end) {
    lean_text lean = {0};
    text piece = {0};
    text_add(&lean.line, "", 0);
    text_add(&piece, "", 0);
    lean.output = output;
    while (at < end) {
        const char *line_end = (const char *)memchr(at, '\n', (size_t)(end - at)), *stop = line_end;
        int directive, parens, continued;
        if (lean_keep(&lean, at, line_end)) {
            at = line_end + 1;
            continue;
        }
        continued = stop > at && stop[-1] == '\\';
        if (continued) stop--;
        directive = lean.continued ? lean.directive : !lean.in_comment && at[strspn(at, " ")] == '#';
        piece.size = 0;
        parens = lean_line(&lean, at, stop, &piece);
        if (piece.size) {
            lean_add(&lean, &piece);
            lean.directive = directive;
            lean.parens += parens;
        }
        lean.continued = continued;
        at = line_end + 1;
    }
    lean_flush(&lean, "\n");
    free(lean.line.data);
    free(piece.data);
}

/* ---- prototypes ---- */

/* The next place from `at` on where `name` stands as a word; NULL: none. */
static const char *next_mention(const char *at, const char *name, size_t size) {
    for (at = strstr(at, name); at; at = strstr(at + size, name))
        if (!is_word(at[-1]) && !is_word(at[size])) return at;
    return NULL;
}

/* The name that a function's head declares which begins at `at` with "static ", and behind its parameters
 * `end`; NULL if it is none. */
static const char *declared_name(const char *at, size_t *size, const char **end) {
    const char *open = at + strcspn(at, "(;{}=#"), *name = open;
    int depth = 0;
    if (strncmp(at, "static ", 7) != 0 || *open != '(') return NULL;
    while (is_word(name[-1])) name--;
    *size = (size_t)(open - name);
    for (at = open; *at && !strchr(";{}#", *at); at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0) break;
    }
    *end = at + 1;
    return *size && *at == ')' ? name : NULL;
}

/* The end of a prototype at `at` that says what its function's head will say before anyone has asked; NULL if
 * it is none. What is written before it may be a macro that asks. */
static const char *idle_prototype(const char *text, const char *at) {
    size_t size, head;
    const char *end, *then, *name = declared_name(at, &size, &end), *mention;
    char word[128];
    if (!name || *end != ';' || size >= sizeof word) return NULL;
    memcpy(word, name, size);
    word[size] = 0;
    head = (size_t)(name - at);
    mention = next_mention(end, word, size);
    if (!mention || next_mention(text, word, size) != name) return NULL;
    if (memcmp(mention - head, at, head) != 0) return NULL; /* an attribute, say, that only one of them has */
    at = mention - head;
    if (!strchr(";}\n", at[-1]) || declared_name(at, &size, &then) != mention) return NULL;
    return *then == '{' ? end + 1 : NULL;
}

/* Leaves out of lean text what idle_prototype finds. */
static void drop_prototypes(text *all) {
    const char *from = all->data, *at;
    text output = {0};
    for (at = from; *at; at++) {
        const char *end;
        if (at > all->data && at[-1] == '\n' && *at == '#') {
            while (*at != '\n' || at[-1] == '\\') at++;
        } else if (at > all->data && strchr(";}\n", at[-1])) {
            if ((end = idle_prototype(all->data, at)) == NULL) continue;
            text_add(&output, from, (size_t)(at - from));
            from = at[-1] == '\n' && *end == '\n' ? end + 1 : end;
            at = from - 1;
        }
    }
    text_add_string(&output, from);
    free(all->data);
    *all = output;
}

/* How often `before`, one of the marks of directives, stands before this very name. */
static size_t count_directives(const text *all, const char *before, const char *name, size_t size) {
    const char *at = all->data;
    size_t count = 0, length = strlen(before);
    while ((at = strstr(at, before)) != NULL) {
        at += length;
        if (strncmp(at, name, size) == 0 && !isalnum((unsigned char)at[size]) && at[size] != '_') count++;
    }
    return count;
}

/* Whether a condition of the preprocessor names it. */
static int is_asked_for(const text *all, const char *name, size_t size) {
    const char *at = all->data, *end, *in;
    while ((at = strchr(at, '#')) != NULL) {
        int asks = strncmp(at, "#if", 3) == 0 || strncmp(at, "#elif", 5) == 0;
        for (end = strchr(at, '\n'); asks && end && end[-1] == '\\';) end = strchr(end + 1, '\n');
        for (in = at; asks && end && in + size <= end; in++)
            if (strncmp(in, name, size) == 0 && !isalnum((unsigned char)in[size]) && in[size] != '_' &&
                !isalnum((unsigned char)in[-1]) && in[-1] != '_')
                return 1;
        at++;
    }
    return 0;
}

/* Drops each #undef of a macro of the implementation that is defined in one place only, the same each time,
 * and that no condition asks for. Other pages must not define it otherwise: the compiler would say so. */
static void drop_undefs(text *all) {
    static const char mark[] = "\n#undef OXI_";
    const char *from = all->data, *at = strstr(all->data, IMPLEMENTATION);
    text output = {0};
    for (; at && (at = strstr(at, mark)) != NULL; at++) {
        const char *name = at + 8, *end = strchr(name, '\n');
        size_t size = end ? (size_t)(end - name) : 0;
        if (!end || count_directives(all, "#define ", name, size) != 1 ||
            count_directives(all, "#undef ", name, size) != 1 || is_asked_for(all, name, size))
            continue;
        text_add(&output, from, (size_t)(at - from));
        from = end;
    }
    text_add_string(&output, from);
    free(all->data);
    *all = output;
}

/* Packs the implementation half lean, and says so at its head. */
static void make_lean(text *all) {
    const char *from = strstr(all->data, IMPLEMENTATION);
    text output = {0}, lean = {0};
    if (!from) return;
    text_add(&output, all->data, (size_t)(from - all->data) + 1);
    text_add_string(&output, "/* From here on the text is packed: comments, blank lines and indentation "
                             "are left out. To read it, see\n * src/ in the repository: what stands behind "
                             "the mark >>base/error.c here is src/base/error.c there. */\n");
    lean_pack(&lean, from + 1, all->data + all->size);
    drop_prototypes(&lean);
    text_add(&output, lean.data, lean.size);
    free(lean.data);
    free(all->data);
    *all = output;
}

/* If the line is `#include "name"`, copies name and returns what follows it on the line, else NULL. */
static const char *quoted_include(const char *line, const char *end, char *name) {
    const char *start;
    while (line < end && isblank((unsigned char)*line)) line++;
    if (line == end || *line++ != '#') return NULL;
    while (line < end && isblank((unsigned char)*line)) line++;
    if (end - line < 7 || strncmp(line, "include", 7) != 0) return NULL;
    line += 7;
    while (line < end && isblank((unsigned char)*line)) line++;
    if (line == end || *line++ != '"') return NULL;
    start = line;
    while (line < end && *line != '"') line++;
    if (line == end || line - start >= PATH_LENGTH_MAX) return NULL;
    memcpy(name, start, (size_t)(line - start));
    name[line - start] = 0;
    return line + 1;
}

static int is_pragma_once(const char *line, const char *end) {
    while (line < end && isspace((unsigned char)*line)) line++;
    while (end > line && isspace((unsigned char)end[-1])) end--;
    return end - line == 12 && strncmp(line, "#pragma once", 12) == 0;
}

static int has_suffix(const char *path, const char *suffix) {
    size_t path_size = strlen(path), suffix_size = strlen(suffix);
    return path_size > suffix_size && strcmp(path + path_size - suffix_size, suffix) == 0;
}

/* Takes "x/./", "x/../" and "//" out of a relative path, in place: one file, one name. */
static void path_normalize(char *path) {
    char *read = path, *write = path; /* each component written is followed by a slash until the end */
    int more = 1;
    while (more) {
        size_t size = strcspn(read, "/");
        int up = size == 2 && read[0] == '.' && read[1] == '.';
        char *last = write; /* start of the last component written, when there is one to take back */
        more = read[size] == '/';
        if (write > path) {
            last--;
            while (last > path && last[-1] != '/') last--;
        }
        if (up && write > path && strncmp(last, "../", 3) != 0) {
            write = last;
        } else if (size && !(size == 1 && read[0] == '.')) {
            memmove(write, read, size);
            write += size;
            *write++ = '/';
        }
        read += size + 1;
    }
    if (write > path) write--;
    *write = 0;
}

/* Reads the include `name` of part `from`; its path relative to the folder goes to `path`. */
static int find_part(const packer *p, const char *from, const char *name, char *path, text *content) {
    char full[2 * PATH_LENGTH_MAX + 2];
    const char *slash = strrchr(from, '/');
    int beside;
    for (beside = 1; beside >= 0; beside--) {
        size_t from_size = beside && slash ? (size_t)(slash - from) + 1 : 0;
        if (from_size + strlen(name) >= PATH_LENGTH_MAX) return 0;
        memcpy(path, from, from_size);
        strcpy(path + from_size, name);
        path_normalize(path);
        snprintf(full, sizeof full, "%s/%s", p->folder, path);
        if (text_read(content, full)) return 1;
    }
    return 0;
}

static int seen_before(packer *p, const char *path) {
    size_t i, size = strlen(path) + 1;
    for (i = 0; i < p->seen_count; i++)
        if (strcmp(p->seen[i], path) == 0) return 1;
    p->seen = (char **)realloc(p->seen, (p->seen_count + 1) * sizeof *p->seen);
    if (!p->seen || !(p->seen[p->seen_count] = (char *)malloc(size))) die_out_of_memory();
    memcpy(p->seen[p->seen_count++], path, size);
    return 0;
}

static template_part *template_of(packer *p, const char *path) {
    size_t i;
    template_part *t;
    for (i = 0; i < p->template_count; i++)
        if (strcmp(p->templates[i].path, path) == 0) return &p->templates[i];
    p->templates = (template_part *)realloc(p->templates, (p->template_count + 1) * sizeof *p->templates);
    if (!p->templates) die_out_of_memory();
    t = &p->templates[p->template_count++];
    memset(t, 0, sizeof *t);
    t->path = (char *)malloc(strlen(path) + 1);
    if (!t->path) die_out_of_memory();
    strcpy(t->path, path);
    return t;
}

static void pack(packer *p, const char *path, const text *content);

/* Where a section is wanted. */
static void write_section_include(packer *p, const template_part *t, const char *after, size_t after_size) {
    text_add_format(&p->output, "#undef OXI_SECTION\n");
    text_add_format(&p->output, "#define OXI_SECTION %d /* %s */", t->section, t->path);
    text_add(&p->output, after, after_size);
    text_add_format(&p->output, "\n#include %s\n#undef OXI_SECTION\n", p->file_macro);
}

/* The text of a .h or .c part, or of a template that is copied. */
static void write_part(packer *p, const char *path, const text *content, const char *after,
                       size_t after_size) {
    if (p->depth == DEPTH_MAX) die_at(p, path, 1, "includes are nested too deeply at", path);
    text_add_string(&p->output, "/* >>");
    text_add_string(&p->output, path);
    text_add_string(&p->output, " */");
    text_add(&p->output, after, after_size);
    text_add_string(&p->output, "\n");
    pack(p, path, content);
}

/* Parts a template whose rows have no directives between them; returns 0 if it is none. */
static int split_rows(template_part *t, const text *content) {
    text lean = {0};
    text *to = &t->head;
    const char *at, *end;
    int inside = 0, whole = 1; /* conditionals, and the directive goes on */
    text_add(&lean, "", 0);
    lean_pack(&lean, content->data, content->data + content->size);
    t->head.size = t->rows.size = t->tail.size = 0;
    for (at = lean.data; *at && whole; at = end) {
        end = strchr(at, '\n') + 1;
        inside += strncmp(at, "#if", 3) == 0;
        if (*at == '#' || inside) {
            if (to == &t->rows) to = &t->tail;
        } else if (to == &t->head) {
            to = &t->rows;
        } else if (to == &t->tail) {
            whole = 0;
        }
        inside -= strncmp(at, "#endif", 6) == 0;
        whole = whole && strncmp(at, "#include", 8) != 0;
        text_add(to, at, (size_t)(end - at));
    }
    free(lean.data);
    return whole && t->rows.size > 0;
}

/* "ops/ops.def" is OXI_ROWS_OF_OPS_OPS. */
static void rows_macro(const char *path, char *name) {
    size_t used = (size_t)sprintf(name, "OXI_ROWS_OF_");
    for (; *path && *path != '.'; path++)
        name[used++] = is_word(*path) ? (char)toupper((unsigned char)*path) : '_';
    name[used] = 0;
}

/* The rows of a template, as a macro. */
static void write_rows(text *output, const template_part *t, const char *name) {
    const char *at = t->rows.data;
    text_add_format(output, "/* >>%s */\n#define %s", t->path, name);
    while (*at) {
        size_t size = strcspn(at, "\n");
        text_add_string(output, " \\\n");
        text_add(output, at, size);
        at += size + 1;
    }
    text_add_string(output, "\n");
}

/* A template that is a macro. Tables define it where they are read first, as their columns are read there;
 * others may first be wanted between conditions, and define it before all. */
static void pack_rows(packer *p, template_part *t) {
    char name[PATH_LENGTH_MAX + 16];
    rows_macro(t->path, name);
    if (t->is_rows == 1) write_rows(has_suffix(t->path, ".def") ? &p->output : &p->macros, t, name);
    t->is_rows = 2;
    if (t->head.size) text_add(&p->output, t->head.data, t->head.size);
    text_add_format(&p->output, "%s\n", name);
    if (t->tail.size) text_add(&p->output, t->tail.data, t->tail.size);
}

static void pack_template(packer *p, const char *path, const text *content, const char *after,
                          size_t after_size) {
    template_part *t = template_of(p, path);
    size_t before = p->output.size;
    if (p->counting && t->includes++ > 0) return;
    if (t->is_rows) {
        pack_rows(p, t);
        return;
    }
    if (t->section > 0) {
        write_section_include(p, t, after, after_size);
        return;
    }
    write_part(p, path, content, after, after_size);
    if (p->counting) template_of(p, path)->size = p->output.size - before; /* the list may have moved */
}

/* "oxtorch_llm.h" calls itself OX_TORCH_LLM_FILE. */
static void name_file_macro(char macro[PATH_LENGTH_MAX], const char *page) {
    size_t used;
    int i;
    const char *rest = strncmp(page, "oxtorch", 7) == 0 ? page + 7 : page;
    strcpy(macro, "OX_TORCH");
    used = strlen(macro);
    for (i = 0; rest[i] && rest[i] != '.' && used < PATH_LENGTH_MAX - 8; i++)
        macro[used++] = (char)toupper((unsigned char)rest[i]);
    strcpy(macro + used, "_FILE");
}

/* Another page, under the name that it may have got. */
static void write_page_include(packer *p, const char *page, const char *after, size_t after_size) {
    char macro[PATH_LENGTH_MAX];
    name_file_macro(macro, page);
    text_add_format(&p->output, "#ifndef %s\n#define %s \"%s\"\n#endif\n#include %s", macro, macro, page,
                    macro);
    text_add(&p->output, after, after_size);
    text_add_string(&p->output, "\n");
}

/* Handles one include line: `after` is what stands behind the name (a comment, as a rule). */
static void pack_include(packer *p, const char *from, int line, const char *name, const char *after,
                         size_t after_size) {
    char path[PATH_LENGTH_MAX];
    text content = {0};
    lexer rest = {0};
    int i, once;
    lexer_line(&rest, after, after_size);
    if (rest.in_comment || rest.continued) die_at(p, from, line, "the comment must end on the line of", name);
    if (!find_part(p, from, name, path, &content)) die_at(p, from, line, "cannot find", name);
    once = has_suffix(path, ".h") || has_suffix(path, ".c");
    if (!once && !has_suffix(path, ".inc") && !has_suffix(path, ".def"))
        die_at(p, from, line, "not a .h, .c, .inc or .def file:", name);
    for (i = 0; i < p->depth; i++)
        if (strcmp(p->stack[i], path) == 0) die_at(p, from, line, "a file includes itself:", name);
    if (has_suffix(path, ".h") && !strchr(path, '/')) {
        write_page_include(p, path, after, after_size);
    } else if (!once) {
        pack_template(p, path, &content, after, after_size);
    } else if (!seen_before(p, path)) {
        write_part(p, path, &content, after, after_size);
    }
    free(content.data);
}

static void pack(packer *p, const char *path, const text *content) {
    const char *at = content->data, *end = content->data + content->size;
    char name[PATH_LENGTH_MAX];
    lexer lex = {0};
    int line;
    p->stack[p->depth++] = path;
    for (line = 1; at < end; line++) {
        const char *line_end = (const char *)memchr(at, '\n', (size_t)(end - at));
        const char *after = NULL;
        int directive = !lex.in_comment && !lex.continued;
        if (directive) after = quoted_include(at, line_end, name);
        lexer_line(&lex, at, (size_t)(line_end - at));
        if (after) {
            pack_include(p, path, line, name, after, (size_t)(line_end - after));
        } else if (!(directive && p->depth > 1 && is_pragma_once(at, line_end))) {
            text_add(&p->output, at, (size_t)(line_end - at) + 1);
        }
        if (line == 1 && p->depth == 1) /* the mark; the manual may be one long comment */
            text_add_string(&p->output, lex.in_comment ? " * " MARK "\n" : "/* " MARK " */\n");
        at = line_end + 1;
    }
    if (lex.in_comment) die_at(p, path, line - 1, "a comment does not end in", path);
    p->depth--;
}

static void forget_seen(packer *p) {
    size_t i;
    for (i = 0; i < p->seen_count; i++) free(p->seen[i]);
    free(p->seen);
    p->seen = NULL;
    p->seen_count = 0;
}

/* What is read several times is a macro if it can be, a section if it is long, and copied otherwise. */
static void choose_ways(packer *p) {
    size_t i;
    for (i = 0; i < p->template_count; i++) {
        template_part *t = &p->templates[i];
        char path[PATH_LENGTH_MAX];
        text content = {0};
        size_t copies;
        int table;
        if (t->includes < 2 || !find_part(p, "", t->path, path, &content)) continue;
        copies = (size_t)(t->includes - 1);
        table = has_suffix(t->path, ".def");
        t->is_rows = split_rows(t, &content);
        if (!table && (t->head.size + t->tail.size) * copies > COPIES_MAX) t->is_rows = 0;
        if (!table && !t->is_rows && t->size * copies > COPIES_MAX) t->section = ++p->sections;
        free(content.data);
    }
}

/* Puts the macros where the implementation begins, behind the two lines of its condition. */
static void write_macros(packer *p) {
    text all = {0};
    const char *at = strstr(p->output.data, IMPLEMENTATION);
    if (!at || !p->macros.size) return;
    at = strchr(strchr(at + 1, '\n') + 1, '\n') + 1;
    text_add(&all, p->output.data, (size_t)(at - p->output.data));
    text_add(&all, p->macros.data, p->macros.size);
    text_add_string(&all, at);
    free(p->output.data);
    p->output = all;
}

/* Of the sources: the parts of a header know each other by it. */
static unsigned long text_hash(const text *t) {
    unsigned long hash = 5381;
    size_t i;
    for (i = 0; i < t->size; i++) hash = (hash * 33 + (unsigned char)t->data[i]) & 0xffffffffUL;
    return hash;
}

/* The end of the manual, behind which the header may begin to be conditional. */
static size_t manual_end(const text *page) {
    const char *end = strstr(page->data, "*/\n");
    return end ? (size_t)(end - page->data) + 3 : 0;
}

/* Wraps what is packed, and writes the sections behind it. Sections may include others. */
static void write_sections(packer *p, const char *page, unsigned long hash) {
    text all = {0}, body = p->output;
    const char *self = p->file_macro;
    size_t i, head = manual_end(&body);
    memset(&p->output, 0, sizeof p->output);
    text_add(&all, body.data, head);
    text_add_string(&all, "#ifndef OXI_SECTION\n"
                          "/* Kernels are written once, behind the end of this header, and it includes "
                          "itself for each kind of\n");
    text_add_format(&all, " * processor. Another name than %s: #define %s \"name.h\" before it. */\n", page,
                    self);
    text_add_format(&all, "#ifndef %s\n#define %s \"%s\"\n#endif\n", self, self, page);
    text_add_format(&all, "#define OXI_SECTION_OF_%s 0x%08lx\n\n", self, hash);
    text_add(&all, body.data + head, body.size - head);
    text_add_string(&all, "\n/* ==== sections: what is included several times "
                          "======================================================== */\n");
    text_add_format(&all, "#elif OXI_SECTION_OF_%s != 0x%08lx\n", self, hash);
    text_add_format(&all, "#error \"%s names another version of %s\"\n", self, page);
    for (i = 0; i < p->template_count; i++) {
        text content = {0};
        char path[PATH_LENGTH_MAX];
        template_part t = p->templates[i];
        if (t.section == 0 || !find_part(p, "", t.path, path, &content)) continue;
        text_add_format(&all, "\n#elif OXI_SECTION == %d /* >>%s */\n", t.section, t.path);
        p->stack[p->depth++] = page;
        pack(p, path, &content);
        p->depth--;
        text_add(&all, p->output.data, p->output.size);
        p->output.size = 0;
        free(content.data);
    }
    text_add_string(&all, "#endif\n");
    free(body.data);
    free(p->output.data);
    p->output = all;
}

int main(int argc, char **argv) {
    static packer p;
    text page = {0};
    const char *slash, *name;
    unsigned long hash;
    size_t i;
    if (argc != 2 || strlen(argv[1]) >= PATH_LENGTH_MAX) {
        fprintf(stderr, "usage: amalgamate src/PAGE.h > PAGE.h\n");
        return 1;
    }
    slash = strrchr(argv[1], '/');
    name = slash ? slash + 1 : argv[1];
    if (slash)
        snprintf(p.folder, sizeof p.folder, "%.*s", (int)(slash - argv[1]), argv[1]);
    else
        strcpy(p.folder, ".");
    name_file_macro(p.file_macro, name);
    if (!text_read(&page, argv[1])) {
        fprintf(stderr, "amalgamate: cannot read %s\n", argv[1]);
        return 1;
    }
    p.counting = 1;
    pack(&p, name, &page);
    hash = text_hash(&p.output);
    p.counting = 0;
    p.output.size = 0;
    forget_seen(&p);
    choose_ways(&p);
    pack(&p, name, &page);
    if (p.sections > 0) write_sections(&p, name, hash);
    write_macros(&p);
    make_lean(&p.output);
    if (strcmp(name, "oxtorch.h") == 0) drop_undefs(&p.output); /* the one that has little room */
    if (fwrite(p.output.data, 1, p.output.size, stdout) != p.output.size || fflush(stdout) != 0) {
        fprintf(stderr, "amalgamate: cannot write\n");
        return 1;
    }
    forget_seen(&p);
    for (i = 0; i < p.template_count; i++) {
        free(p.templates[i].path);
        free(p.templates[i].head.data);
        free(p.templates[i].rows.data);
        free(p.templates[i].tail.data);
    }
    free(p.templates);
    free(p.output.data);
    free(p.macros.data);
    free(page.data);
    return 0;
}
