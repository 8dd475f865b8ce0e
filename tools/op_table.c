/* Writes README.md's table of operations and dtypes from src/ops/ops.def.
 *     op_table < README.md > README.new
 * Everything between the lines <!-- ops: begin --> and <!-- ops: end --> is replaced; ops of one family that take the
 * same dtypes share a line. */
#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *name, *family, *accepts;
} row;

static const row rows[] = {
#define OXI_OP(name, family, operands, rule, gives, accepts, flag, flops, attributes, gradient, parts) \
    {#name, #family, #accepts},
#include "../src/ops/ops.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct title {
    const char *family, *text;
} title;

static const title titles[] = {
    {"MAP", "elementwise"},    {"REDUCE", "reductions"},    {"SCAN", "along a dim"}, {"SORT", "along a dim"},
    {"ROW", "rows"},           {"INDEX", "by index"},       {"PRODUCT", "products"}, {"ROPE", "transformers"},
    {"RANDOM", "random"},      {"ATTENTION", "transformers"}, {"COPY", "copies"},    {"FILL", "made from nothing"},
    {"VIEW", "views"},         {"MOVE", "between devices"},
};

static const char letters[] = "BIFCQ";

/* Bits of the classes that a row accepts. */
static int accepts_of(const row *r) {
    int bits = 0;
    for (const char *c = r->accepts; *c; c++) bits |= 1 << (strchr(letters, *c) - letters);
    return bits;
}

static void print_group(const char *family, const char *text, int accepts) {
    int count = 0;
    printf("| %s |", text);
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].family, family) == 0 && accepts_of(&rows[i]) == accepts)
            printf("%s `%s`", count++ ? "," : "", rows[i].name);
    for (int bit = 1; bit < 32; bit *= 2) printf(" | %s", accepts & bit ? "yes" : "");
    printf(" |\n");
}

static void print_table(void) {
    printf("| | operations | bool | integers | floats | c64 | block types |\n|---|---|---|---|---|---|---|\n");
    for (size_t t = 0; t < sizeof titles / sizeof *titles; t++)
        for (int accepts = 1; accepts < 32; accepts++)
            for (int i = 0; i < ROWS; i++)
                if (strcmp(rows[i].family, titles[t].family) == 0 && accepts_of(&rows[i]) == accepts) {
                    print_group(titles[t].family, titles[t].text, accepts);
                    break;
                }
}

int main(void) {
    char line[4096];
    int inside = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "<!-- ops: end -->", 17) == 0) inside = 0;
        if (!inside) fputs(line, stdout);
        if (strncmp(line, "<!-- ops: begin -->", 19) == 0) {
            inside = 1;
            print_table();
        }
    }
    return 0;
}
