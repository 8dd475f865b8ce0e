/* convert.c - writes a language model as one GGUF file: from a Hugging Face folder, llama2.c's .bin, or GGUF.
 *
 * Shows   ox_llm_convert: every fact and every tensor of a model, for every family that is known.
 * build   cc -O2 examples/convert.c -I. -o convert -lm -lpthread   (options.h beside it)
 * run     ./convert FOLDER out.gguf [--dtype f16] [--name "My model"]
 * refuses folder => convert: no file to write is named; convert --help says how
 * refuses --dtype f8 => convert: --dtype wants f32, f16, bf16 or q8_0 (f8)
 * needs   a model
 */
#define OX_IMPLEMENTATION
#include "oxtorch_llm.h"

#include "options.h"

static const char help[] = "usage: convert MODEL OUT.gguf [OPTIONS]\n"
                           "writes a model (a Hugging Face folder, llama2.c's .bin, a GGUF file) as GGUF\n"
                           "\n"
                           "  --dtype TYPE   of matrices: f32, f16, bf16 or q8_0; else as they are stored\n"
                           "  --name TEXT    the model's name; else the folder's\n"
                           "  --quiet        does not say how far it is\n"
                           "  --help, -h     this text\n"
                           "\n"
                           "example: convert ./SmolLM3-3B smollm3.gguf --dtype q8_0\n";

typedef struct options {
    const char *from, *to, *name;
    ox_dtype dtype;
    bool quiet;
} options;

/* ox_dtype */
static bool read_dtype(const char *text, void *out) {
    static const struct {
        const char *name;
        ox_dtype dtype;
    } known[] = {{"f32", OX_F32}, {"f16", OX_F16}, {"bf16", OX_BF16}, {"q8_0", OX_Q8_0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i].name) == 0) {
            *(ox_dtype *)out = known[i].dtype;
            return true;
        }
    return false;
}

static bool read_options(int count, char **words, options *o) {
    memset(o, 0, sizeof *o);
    const option list[] = {{"--dtype", read_dtype, &o->dtype, "wants f32, f16, bf16 or q8_0"},
                           {"--name", read_text, &o->name, "wants a text"},
                           {"--quiet", NULL, &o->quiet, NULL}};
    const option plain[] = {{"the model", read_text, &o->from, "is a path"},
                            {"the file", read_text, &o->to, "is a path"}};
    const command_line line = {"convert", help, list, 3, plain, 2};
    if (!options_read(&line, count, words)) return false;
    if (o->to) return true;
    fprintf(stderr, "convert: no %s is named; convert --help says how\n",
            o->from ? "file to write" : "model");
    return false;
}

static bool show(void *user, const char *tensor, int64_t done, int64_t count) {
    *(bool *)user = true;
    fprintf(stderr, "\r%lld of %lld  %-60.60s", (long long)done + 1, (long long)count, tensor);
    return true;
}

int main(int count, char **words) {
    options o;
    ox_llm_convert_desc desc;
    bool shown = false;
    if (!read_options(count, words, &o)) return 2;
    memset(&desc, 0, sizeof desc);
    desc.dtype = o.dtype;
    desc.name = o.name;
    desc.progress = o.quiet ? NULL : show;
    desc.user = &shown;
    const ox_status status = ox_llm_convert(o.from, o.to, &desc);
    if (shown) fputc('\n', stderr);
    if (status == OX_OK) return 0;
    fprintf(stderr, "convert: %s\n", ox_error_text());
    return 1;
}
