/* Writes the table of language model families in docs/MODELS.md from src/llm/model/families.def and
 * src/llm/source/models.def, one line a family.
 *     model_table < docs/MODELS.md > MODELS.new
 * Everything between the lines <!-- models: begin --> and <!-- models: end --> is replaced. */
#include <stdio.h>
#include <string.h>

#include "../src/llm/source/models.def"

typedef struct family {
    const char *name, *block, *norm, *rope, *activation, *sees;
} family;

static const family families[] = {
#define OXI_LLM_FAMILY(name, block, norm, rope, activation, router, windows, sees, traits) \
    {name, #block, #norm, #rope, #activation, #sees},
#include "../src/llm/model/families.def"
};

/* A model type of config.json, and the family that its folder is read as. */
typedef struct model_type {
    const char *name, *family;
} model_type;

static const model_type model_types[] = {
#define X(name, family, names, traits, period) {name, family},
    OXI_LLM_MODEL_TYPE_LIST(X)
#undef X
};

typedef struct word {
    const char *name, *text;
} word;

static const word words[] = {
    {"PRE", "norm before"},       {"POST", "norm behind"},       {"SANDWICH", "norms before and behind"},
    {"PARALLEL", "parallel"},     {"SUM", "norm of the sum"},    {"RMS", "rms"},
    {"LAYER", "layer"},           {"NONE", "no"},                {"PAIRS", "pairs"},
    {"HALVES", "halves"},         {"gelu_tanh", "gelu (tanh)"},  {"square", "relu squared"},
    {"clamped", "silu, clamped"}, {"BEFORE", "those before it"}, {"ALL", "all"},
    {"relu_or_gelu", "relu or gelu (tanh)"},
};

static const char *text_of(const char *name) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, name) == 0) return words[i].text;
    return name;
}

static void print_table(void) {
    printf("| architecture | model types of folders | block | norm | rope | activation | a token sees |\n");
    printf("|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const family *f = &families[i];
        const char *comma = "";
        printf("| `%s` | ", f->name);
        for (size_t k = 0; k < sizeof model_types / sizeof *model_types; k++) {
            if (strcmp(model_types[k].family, f->name) != 0) continue;
            printf("%s`%s`", comma, model_types[k].name);
            comma = " ";
        }
        printf(" | %s | %s | %s | %s | %s |\n", text_of(f->block), text_of(f->norm), text_of(f->rope),
               text_of(f->activation), text_of(f->sees));
    }
    printf("\n%d architectures; %d model types of folders.\n", (int)(sizeof families / sizeof *families),
           (int)(sizeof model_types / sizeof *model_types));
}

int main(void) {
    char line[4096];
    int inside = 0, seen = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "<!-- models: end -->\n") == 0) inside = 0;
        if (!inside) fputs(line, stdout);
        if (strcmp(line, "<!-- models: begin -->\n") == 0) {
            inside = seen = 1;
            print_table();
        }
    }
    if (!seen || inside) {
        fprintf(stderr, "model_table: there are no lines <!-- models: begin --> and <!-- models: end -->\n");
        return 1;
    }
    return 0;
}
