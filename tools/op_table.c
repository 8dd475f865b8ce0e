/* Writes README.md's table of operations: functions from src/ops/api.def, dtypes from src/ops/ops.def.
 *     op_table < README.md > README.new
 * Everything between the lines <!-- ops: begin --> and <!-- ops: end --> is replaced; functions of one family
 * that take the same dtypes share a line. Forms that end in _ take what the others do, and are left out. */
#include <stdio.h>
#include <string.h>

typedef struct row {
    const char *name, *family, *accepts;
} row;

static const row rows[] = {
#define OXI_OP(name, family, operands, rule, gives, accepts, flag, flops, attributes, gradient) \
    {#name, #family, #accepts},
#include "../src/ops/ops.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct function {
    const char *name, *from;
} function;

static const function functions[] = {
#define OXI_API(function, schema, form, from, arguments, note) {#function, #from},
#include "../src/ops/api.def"
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

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

/* The functions whose `from` begins so; returns how many there are by then. */
static int print_functions(const char *from, int count) {
    for (int i = 0; i < FUNCTIONS; i++) {
        const char *name = functions[i].name + 3;
        if (strncmp(functions[i].from, from, strlen(from)) != 0 || name[strlen(name) - 1] == '_') continue;
        printf("%s `%s`", count++ ? "," : "", name);
    }
    return count;
}

static void print_group(const char *family, const char *text, int accepts) {
    int count = 0;
    char from[80];
    printf("| %s |", text);
    for (int i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].family, family) != 0 || accepts_of(&rows[i]) != accepts) continue;
        snprintf(from, sizeof from, "ROW(%s)", rows[i].name);
        count = print_functions(from, count);
    }
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
    printf("| made of these |");
    (void)print_functions("PARTS(", 0);
    printf(" | | | | | |\n");
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
