/* Writes the table of operations in docs/OPERATIONS.md from src/ops/ops.def, one line a row.
 *     op_table < docs/OPERATIONS.md > OPERATIONS.new
 * Everything between the lines <!-- ops: begin --> and <!-- ops: end --> is replaced. */
#include <stdio.h>
#include <string.h>

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
    {"RANDOM", "Random draws"},
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

static void print_row(const row *r) {
    const char *names = TEXT_OF(attributes, r->attributes);
    printf("| `%s` | %s |", r->name, TEXT_OF(operands, r->operands));
    if (strcmp(names, "nothing ") == 0) names = "";
    if (*names) putchar(' ');
    for (const char *c = names; *c; c++) {
        if (*c != ' ') putchar(*c);
        else if (c[1]) printf(", ");
    }
    printf(" |");
    for (const char *c = "BIFCQ"; *c; c++) printf(strchr(r->accepts, *c) ? " yes |" : " |");
    printf(" %s |\n", TEXT_OF(results, r->gives));
}

static void print_tables(void) {
    for (size_t h = 0; h < sizeof headings / sizeof *headings; h++) {
        printf("\n### %s\n\n", headings[h].text);
        printf("| operation | operands | options |");
        printf(" bool | integers | floats | c64 | block types | result |\n");
        printf("|---|---|---|---|---|---|---|---|---|\n");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strcmp(rows[i].family, headings[h].name) == 0) print_row(&rows[i]);
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
