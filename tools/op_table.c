/* Writes the tables of operations in docs/OPERATIONS.md from src/ops/ops.def, one line a row; where there is
 * src/ops/api.def, with the public functions that call it.
 *     op_table < docs/OPERATIONS.md > OPERATIONS.new
 * Everything between the lines <!-- ops: begin --> and <!-- ops: end --> is replaced. */
#include <stdio.h>
#include <string.h>

#include "../src/oxtorch.h" /* the lists of functions that api.def has rows for */

typedef struct row {
    const char *name, *family, *operands, *gives, *accepts, *attributes;
} row;

static const row rows[] = {
#define OXI_OP(name, family, operands, rule, gives, accepts, flag, flops, attributes, ...) \
    {#name, #family, #operands, #gives, #accepts, #attributes},
#include "../src/ops/ops.def"
};

typedef struct word {
    const char *name, *text;
} word;

/* What a row calls its operands, and its attributes. */
static const word operands[] = {
#define OXI_OPERANDS(name, inputs, input_names, results, result_names) {#name, input_names},
#include "../src/ops/ops.def"
};
static const word attributes[] = {
#define OXI_ATTR(kind, name, default) #name " "
#define OXI_ATTRIBUTES(name, list) {#name, list},
#include "../src/ops/ops.def"
};

/* Functions of api.def and what they come from: "ROW(abs)", "PARTS(...)". */
static const word functions[] = {
#if defined(__has_include)
#if __has_include("../src/ops/api.def")
#define OXI_API(function, schema, form, from, arguments, note) {#function, #from},
#include "../src/ops/api.def"
#define HAS_FUNCTIONS 1
#endif
#endif
#ifndef HAS_FUNCTIONS
#define HAS_FUNCTIONS 0
#endif
    {"", ""},
};

static const word headings[] = {
    {"MAP", "Elementwise"},
    {"REDUCE", "Reductions"},
    {"SCAN", "Along a dim"},
    {"SORT", "Sorting"},
    {"ROW", "Rows: softmax and norms"},
    {"INDEX", "By index"},
    {"PRODUCT", "Matrix products"},
    {"ROPE", "Rotary position embedding"},
    {"ATTENTION", "Attention"},
    {"CONV", "Convolutions"},
    {"POOL", "Pooling"},
    {"RECURRENCE", "Linear attention"},
    {"CHAIN", "Chains of elementwise operations"},
    {"RANDOM", "Random draws"},
    {"SPECIAL", "Special functions"},
    {"LINALG", "Linear algebra"},
    {"FFT", "Fourier transforms"},
    {"COPY", "Copies and conversions"},
    {"FILL", "New tensors"},
    {"VIEW", "Views"},
    {"MOVE", "Between devices"},
};

static const word results[] = {
    {"SAME", "as the operands"},
    {"FLOAT", "as the operands; integers, bool: f32"},
    {"REAL", "as the operands; c64: f32"},
    {"BOOL", "bool"},
    {"TRUTH", "bool; u8: u8"},
    {"INDEX", "i64"},
    {"TOTAL", "as the operands; integers, bool: i64"},
    {"OTHER", "see the header"},
};

static const char *text_of(const word *words, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i].name, name) == 0) return words[i].text;
    return "";
}
#define TEXT_OF(words, name) text_of(words, sizeof words / sizeof *words, name)

/* The functions whose origin begins so; those that end in _ do what the others do, in place. */
static void print_functions(const char *from) {
    int count = 0;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const char *name = functions[i].name;
        if (strncmp(functions[i].text, from, strlen(from)) != 0 || name[strlen(name) - 1] == '_') continue;
        printf("%s`%s`", count++ ? ", " : " ", name);
    }
}

/* "dim eps " as " dim, eps" */
static void print_options(const char *names) {
    if (strcmp(names, "nothing ") == 0) return;
    putchar(' ');
    for (const char *c = names; *c; c++) {
        if (*c != ' ') putchar(*c);
        else if (c[1]) printf(", ");
    }
}

static void print_row(const row *r) {
    char from[80];
    snprintf(from, sizeof from, "ROW(%s)", r->name);
    printf("| `%s` |", r->name);
    if (HAS_FUNCTIONS) {
        print_functions(from);
        printf(" |");
    }
    printf(" %s |", TEXT_OF(operands, r->operands));
    print_options(TEXT_OF(attributes, r->attributes));
    printf(" |");
    for (const char *c = "BIFCQ"; *c; c++) printf(strchr(r->accepts, *c) ? " yes |" : " |");
    printf(" %s |\n", TEXT_OF(results, r->gives));
}

static void print_tables(void) {
    for (size_t h = 0; h < sizeof headings / sizeof *headings; h++) {
        printf("\n### %s\n\n", headings[h].text);
        printf("| operation |%s operands | options |", HAS_FUNCTIONS ? " functions |" : "");
        printf(" bool | integers | floats | c64 | block types | result |\n");
        printf("|---|---|---|---|---|---|---|---|---|%s\n", HAS_FUNCTIONS ? "---|" : "");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strcmp(rows[i].family, headings[h].name) == 0) print_row(&rows[i]);
    }
    if (HAS_FUNCTIONS) {
        printf("\n### Made of others\n\n");
        print_functions("PARTS(");
        printf("\n");
    }
    printf("\n");
}

int main(void) {
    char line[4096];
    int inside = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "<!-- ops: end -->", 17) == 0) inside = 0;
        if (!inside) fputs(line, stdout);
        if (strncmp(line, "<!-- ops: begin -->", 19) == 0) {
            inside = 1;
            print_tables();
        }
    }
    return 0;
}
