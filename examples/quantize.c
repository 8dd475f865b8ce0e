/* quantize.c - a language model's GGUF file with smaller weights.
 *
 * Shows   ox_llm_quantize with a mix of types, types for single tensors, an importance matrix, progress.
 * build   cc -O2 examples/quantize.c -I. -o quantize -lm -lpthread   (options.h beside it)
 * run     ./quantize [OPTIONS] MODEL.gguf [OUT.gguf] TYPE   (./quantize --help lists all options)
 * refuses model.gguf => quantize: a model and a type are needed; quantize --help says how
 * refuses model.gguf Q9_9 => quantize: Q9_9 is no type; quantize --help lists them
 * refuses --threads x => quantize: --threads wants a whole number >= 0 (x)
 * refuses --tensor-type q4_0 => quantize: --tensor-type wants NAME=TYPE such as attn_v=q8_0 (q4_0)
 * needs   a model: GGUF with weights of f32, f16 or bf16
 *
 * Types are chosen tensor by tensor as llama.cpp's tool of that name chooses them. Without OUT.gguf the file
 * is called ggml-model-TYPE.gguf and lies beside the model.
 */
#define OX_IMPLEMENTATION
#include "oxtorch_llm.h"

#include "options.h"

#include <ctype.h>

static const char help[] =
    "usage: quantize [OPTIONS] MODEL.gguf [OUT.gguf] TYPE\n"
    "writes a model with smaller weights\n"
    "\n"
    "  --imatrix FILE             importance matrix: of llama-imatrix, or of perplexity --imatrix\n"
    "  --tensor-type NAME=TYPE    type of the tensors whose name has NAME in it ('*' any text, '?' any\n"
    "                             letter, '^' and '$' start and end); may be given many times\n"
    "  --output-tensor-type TYPE  type of output.weight\n"
    "  --token-embedding-type TYPE\n"
    "                             type of the token embeddings\n"
    "  --leave-output-tensor      output.weight stays as it is\n"
    "  --pure                     the same type for all matrices\n"
    "  --allow-requantize         also weights that are quantized already; that costs quality\n"
    "  --threads N                threads, 0: as many as the process may use\n"
    "  --help, -h                 this text\n"
    "\n"
    "TYPE of the model: Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q2_K_S Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S\n"
    "Q5_K_M Q6_K IQ4_NL IQ4_XS MXFP4_MOE TQ1_0 TQ2_0 F16 BF16 F32 COPY; of tensors: q4_0 .. q8_0, q2_k ..\n"
    "q6_k, iq4_nl, iq4_xs, mxfp4, tq1_0, tq2_0, f16, bf16, f32\n"
    "\n"
    "example: quantize --imatrix imatrix.gguf --tensor-type attn_v=q8_0 model-f16.gguf small.gguf Q4_K_M\n";

enum { RULES = 64 };

typedef struct rule_list {
    ox_llm_quantize_rule rule[RULES];
    char name[RULES][128];
    int count;
} rule_list;

typedef struct options {
    const char *words[3], *importance;
    ox_llm_quantize_desc quantize;
    int64_t threads;
    rule_list rules;
} options;

static bool read_dtype(const char *text, void *out) {
    char lower[16] = {0};
    for (size_t i = 0; text[i] && i + 1 < sizeof lower; i++) lower[i] = (char)tolower((unsigned char)text[i]);
    return strlen(text) < sizeof lower && (*(ox_dtype *)out = ox_dtype_by_name(lower)) != OX_DTYPE_NONE;
}

/* NAME=TYPE */
static bool read_rule(const char *text, void *out) {
    rule_list *r = (rule_list *)out;
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof r->name[0] || r->count == RULES)
        return false;
    char *name = r->name[r->count];
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = 0;
    r->rule[r->count].pattern = name;
    return read_dtype(equals + 1, &r->rule[r->count++].dtype);
}

static bool is_mix(const char *text) {
    static const char *const aliases[] = {"Q3_K", "Q4_K", "Q5_K"};
    for (int64_t i = -3; i < 0 || ox_llm_quantize_mix(i); i++) {
        const char *a = i < 0 ? aliases[i + 3] : ox_llm_quantize_mix(i), *b = text;
        while (*a && toupper((unsigned char)*b) == *a) a++, b++;
        if (!*a && !*b) return true;
    }
    return false;
}

static bool read_options(int count, char **words, options *o) {
    ox_llm_quantize_desc *q = &o->quantize;
    const char *dtype = "wants a type such as q8_0";
    const option known[] = {
        {"--imatrix", read_text, &o->importance, "wants a path"},
        {"--tensor-type", read_rule, &o->rules, "wants NAME=TYPE such as attn_v=q8_0"},
        {"--output-tensor-type", read_dtype, &q->output, dtype},
        {"--token-embedding-type", read_dtype, &q->embedding, dtype},
        {"--leave-output-tensor", NULL, &q->keep_output, NULL},
        {"--pure", NULL, &q->pure, NULL},
        {"--allow-requantize", NULL, &q->requantize, NULL},
        {"--threads", read_whole, &o->threads, "wants a whole number >= 0"},
    };
    const option plain[] = {{"MODEL.gguf", read_text, &o->words[0], "wants a path"},
                            {"OUT.gguf", read_text, &o->words[1], "wants a path"},
                            {"TYPE", read_text, &o->words[2], "wants a type"}};
    const command_line quantize = {"quantize", help, known, sizeof known / sizeof *known, plain, 3};
    memset(o, 0, sizeof *o);
    if (!options_read(&quantize, count, words)) return false;
    q->mix = o->words[2] ? o->words[2] : o->words[1];
    if (!q->mix) {
        fprintf(stderr, "quantize: a model and a type are needed; quantize --help says how\n");
    } else if (!is_mix(q->mix)) {
        fprintf(stderr, "quantize: %s is no type; quantize --help lists them\n", q->mix);
        return false;
    }
    q->rules = o->rules.rule;
    q->rule_count = o->rules.count;
    return q->mix != NULL;
}

typedef struct totals {
    int64_t from_bytes, to_bytes, weighted; /* weighted: tensors whose importance was known */
} totals;

static bool show_step(void *user, const ox_llm_quantize_step *s) {
    totals *t = (totals *)user;
    t->from_bytes += s->from_bytes;
    t->to_bytes += s->to_bytes;
    t->weighted += s->weighted;
    printf("[%4lld/%4lld] %-36s %6s -> %-6s %9.2f -> %8.2f MiB%s\n", (long long)s->index + 1,
           (long long)s->count, s->name, ox_dtype_name(s->from), ox_dtype_name(s->to),
           (double)s->from_bytes / (1 << 20), (double)s->to_bytes / (1 << 20), s->weighted ? " *" : "");
    return fflush(stdout) == 0;
}

/* ggml-model-TYPE.gguf in the folder of the model; to be freed. */
static char *beside(const char *model, const char *type) {
    const char *slash = strrchr(model, '/');
    const size_t folder = slash ? (size_t)(slash - model) + 1 : 0, room = folder + strlen(type) + 32;
    char *path = (char *)malloc(room);
    if (path) snprintf(path, room, "%.*sggml-model-%s.gguf", (int)folder, model, type);
    return path;
}

int main(int count, char **words) {
    static options o;
    totals t = {0, 0, 0};
    if (!read_options(count, words, &o)) return 2;
    if (o.threads > 0) ox_set_threads(o.threads < INT32_MAX ? (int)o.threads : INT32_MAX);
    char *own = o.words[2] ? NULL : beside(o.words[0], o.quantize.mix);
    const char *out = o.words[2] ? o.words[1] : own;
    ox_llm_importance *importance = o.importance ? ox_llm_importance_open(o.importance) : NULL;
    ox_status status = o.importance && !importance ? ox_error() : OX_OK;
    o.quantize.importance = importance;
    o.quantize.importance_name = o.importance;
    o.quantize.progress = show_step;
    o.quantize.user = &t;
    if (status == OX_OK) status = ox_llm_quantize(o.words[0], out, &o.quantize);
    if (status == OX_OK)
        printf("%s: %.2f -> %.2f MiB\n", out, (double)t.from_bytes / (1 << 20),
               (double)t.to_bytes / (1 << 20));
    else fprintf(stderr, "quantize: %s\n", ox_error_text());
    if (status == OX_OK && importance && t.weighted == 0)
        fprintf(stderr, "quantize: %s knows none of these tensors: nothing was weighted\n", o.importance);
    ox_llm_importance_close(importance);
    free(own);
    return status == OX_OK ? 0 : 1;
}
