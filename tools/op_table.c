/* Writes README.md's table of operations and dtypes from src/ops/ops.def.
 *     op_table < README.md > README.new
 * Everything between the lines <!-- ops: begin --> and <!-- ops: end --> is replaced; ops of one family that take the
 * same dtypes share a line. */
#include <stdio.h>
#include <string.h>

enum { B = 1, I = 2, F = 4, C = 8, Q = 16, INPLACE = 0, RANDOM = 0, COND = 0 };
typedef struct row {
    const char *name, *family;
    int accepts;
} row;

static const row rows[] = {
#define OXI_OP(name, family, in, out, rule, accepts, flags, flops, grad) {#name, #family, accepts},
#include "../src/ops/ops.def"
#undef OXI_OP
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct title {
    const char *family, *text;
} title;

static const title titles[] = {
    {"MAP", "elementwise"},    {"REDUCE", "reductions"},    {"SCAN", "along a dim"}, {"SORT", "along a dim"},
    {"ROW", "rows"},           {"INDEX", "by index"},       {"PRODUCT", "products"}, {"ROPE", "transformers"},
    {"RANDOM", "random"},      {"ATTENTION", "transformers"}, {"COPY", "copies"},    {"FILL", "made from nothing"},
    {"VIEW", "views"},
};

static void print_group(const char *family, const char *text, int accepts) {
    int count = 0;
    printf("| %s |", text);
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].family, family) == 0 && rows[i].accepts == accepts)
            printf("%s `%s`", count++ ? "," : "", rows[i].name);
    for (int bit = B; bit <= Q; bit *= 2) printf(" | %s", accepts & bit ? "yes" : "");
    printf(" |\n");
}

static void print_table(void) {
    printf("| | operations | bool | integers | floats | c64 | block types |\n|---|---|---|---|---|---|---|\n");
    for (size_t t = 0; t < sizeof titles / sizeof *titles; t++)
        for (int accepts = 1; accepts < 32; accepts++)
            for (int i = 0; i < ROWS; i++)
                if (strcmp(rows[i].family, titles[t].family) == 0 && rows[i].accepts == accepts) {
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
