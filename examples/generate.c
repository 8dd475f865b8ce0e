/* generate.c - a language model from a GGUF file continues a text.
 *
 * Shows   ox_llm_open (the weights stay in the mapped file), a context, ox_llm_generate with a callback that
 *         gets each piece of text as it is made, what the model says about itself, tokens per second.
 * build   cc -O2 examples/generate.c -I. -o generate -lm -lpthread   (options.h, bar.h beside it)
 * run     ./generate MODEL [-p PROMPT] [-n 200] [--temp 0] ...   (./generate --help lists all options)
 * refuses --temp abc => generate: --temp wants a number (abc)
 * refuses -n 0.5 => generate: -n wants a whole number >= 0 (0.5)
 * refuses --tmp 1 => generate: --tmp is no option; generate --help lists what there is
 * refuses -n 5 => generate: no model is named; generate --help says how
 * needs   a model with its tokenizer
 *
 * The prompt and its continuation (of T5 and its like: the answer), and nothing else, go to standard output;
 * the rest goes to standard error:
 *
 *     stories: llama, 0.3 M parameters, 1.0 MB
 *     5 layers of width 64, 8 heads (4 for keys and values) of 8, vocabulary 512, context 2048
 *     avx2, 2 threads
 *     prompt    5 tokens in   0.001 s    5000 tokens/s
 *     new     200 tokens in   0.050 s    4000 tokens/s
 */
#define OX_IMPLEMENTATION
#include "oxtorch_llm.h"
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"

#include "bar.h"
#include "options.h"

static const char help[] =
    "usage: generate MODEL [OPTIONS]\n"
    "continues a text with a language model (GGUF, a Hugging Face folder, llama2.c's .bin)\n"
    "\n"
    "  -p PROMPT       the text to continue; without it the model begins by itself\n"
    "  -n N            new tokens at most, 200; 0: until the model ends the text or the context is full\n"
    "  --temp T        temperature of sampling, 0: always the likeliest token\n"
    "  --top-k K       among the K likeliest tokens, 0: all\n"
    "  --top-p P       among the likeliest tokens that together have the probability P\n"
    "  --min-p P       among tokens that have at least P times the probability of the likeliest\n"
    "  --seed S        of the random numbers, 0\n"
    "  --threads N     threads, 0: as many as the process may use\n"
    "  --ctx N         positions of the context, 0: as many as the model was trained for\n"
    "  --batch N       tokens of the prompt that are computed at once, 0: 512\n"
    "  --cache DTYPE   keys and values of the past as f32, f16, bf16 or q8_0\n"
    "  --device NAME   cpu or vulkan\n"
    "  --copy          reads the weights of a GGUF file into memory first instead of mapping it\n"
    "  --stream        leaves the weights in the file and reads them layer by layer: for models larger than\n"
    "                  memory\n"
    "  --ram SIZE      memory for what --stream keeps of them, such as 512M or 2G\n"
    "  --help, -h      this text\n"
    "\n"
    "example: generate model.gguf -p \"Once upon a time\" -n 100 --temp 0.8 --top-p 0.95 --seed 1\n";

typedef struct options {
    const char *model, *prompt;
    ox_llm_generate_desc generate;
    ox_llm_context_desc context;
    ox_stream_desc stream;
    int64_t threads;
    bool vulkan, copies, streams;
} options;

static bool print_piece(void *user, const char *bytes, int64_t length, int32_t token) {
    (void)user;
    (void)token;
    fwrite(bytes, 1, (size_t)length, stdout);
    return fflush(stdout) == 0; /* nobody reads any more: stop */
}

static bool read_dtype(const char *text, void *out) {
    return (*(ox_dtype *)out = ox_dtype_by_name(text)) != OX_DTYPE_NONE;
}

static bool read_device(const char *text, void *out) {
    *(bool *)out = strcmp(text, "vulkan") == 0;
    return *(bool *)out || strcmp(text, "cpu") == 0;
}

static bool read_options(int count, char **words, options *o) {
    const char *whole = "wants a whole number >= 0", *real = "wants a number";
    ox_llm_sampler_desc *sampling = &o->generate.sampling;
    const option known[] = {
        {"-p", read_text, &o->prompt, "wants a text"},
        {"-n", read_whole, &o->generate.steps, whole},
        {"--temp", read_real, &sampling->temperature, real},
        {"--top-k", read_whole, &sampling->top_k, whole},
        {"--top-p", read_real, &sampling->top_p, real},
        {"--min-p", read_real, &sampling->min_p, real},
        {"--seed", read_seed, &sampling->seed, whole},
        {"--threads", read_whole, &o->threads, whole},
        {"--ctx", read_whole, &o->context.capacity, whole},
        {"--batch", read_whole, &o->context.batch, whole},
        {"--cache", read_dtype, &o->context.cache, "wants f32, f16, bf16 or q8_0"},
        {"--device", read_device, &o->vulkan, "wants cpu or vulkan"},
        {"--copy", NULL, &o->copies, NULL},
        {"--stream", NULL, &o->streams, NULL},
        {"--ram", read_bytes, &o->stream.ram_bytes, "wants a size such as 512M or 2G"},
    };
    const option plain[] = {{"MODEL", read_text, &o->model, "wants a path"}};
    const command_line generate = {"generate", help, known, sizeof known / sizeof *known, plain, 1};
    memset(o, 0, sizeof *o);
    o->prompt = "";
    o->generate.steps = 200;
    o->generate.text = print_piece;
    if (!options_read(&generate, count, words)) return false;
    if (!o->model) fprintf(stderr, "generate: no model is named; generate --help says how\n");
    return o->model != NULL;
}

static void print_facts(const ox_llm *model, ox_device *device) {
    const ox_llm_config *c = ox_llm_get_config(model);
    fprintf(stderr, "%s: %s, %.1f M parameters, %.1f MB\n", c->name[0] ? c->name : "a model", c->architecture,
            (double)c->parameters / 1e6, (double)c->bytes / 1e6);
    fprintf(stderr, "%lld layers of width %lld, ", (long long)c->layers, (long long)c->width);
    if (c->heads) /* models without attention have none */
        fprintf(stderr, "%lld heads (%lld for keys and values) of %lld, ", (long long)c->heads,
                (long long)c->kv_heads, (long long)c->key_size);
    fprintf(stderr, "vocabulary %lld, context %lld\n", (long long)c->vocabulary, (long long)c->context);
    ox_vulkan_info facts;
    if (device && ox_vulkan_get_info(device, &facts) == OX_OK) fprintf(stderr, "%s\n\n", facts.name);
    else fprintf(stderr, "%s, %d threads\n\n", ox_isa(), ox_threads());
}

static void print_speed(const char *what, int64_t tokens, int64_t steps, double seconds) {
    fprintf(stderr, "%-6s %6lld tokens in %9.3f s %9.1f tokens/s\n", what, (long long)tokens, seconds,
            seconds > 0 ? (double)steps / seconds : 0.0);
}

static void print_stream(ox_stream *stream) {
    const ox_stream_stats s = ox_stream_get_stats(stream);
    fprintf(stderr, "stream %.1f MB from the disk, %.1f MB kept in RAM and used again, waited %.3f s\n",
            (double)s.disk_bytes / 1e6, (double)s.ram_bytes / 1e6, s.stall_seconds);
}

/* How much of the weights the first pass over them has used. */
static void show_progress(void *user, int64_t tile, int64_t tiles, int64_t bytes) {
    (void)tile, (void)tiles;
    bar_show((bar *)user, bytes);
}

int main(int count, char **words) {
    options o;
    if (!read_options(count, words, &o)) return 2;
    if (o.threads > 0) ox_set_threads(o.threads < INT32_MAX ? (int)o.threads : INT32_MAX);
    ox_llm_generate_result result;
    bar progress = {0, 0};
    memset(&result, 0, sizeof result);
    o.stream.progress = show_progress;
    o.stream.progress_user = &progress;
    o.stream.compute = o.vulkan ? ox_vulkan(0) : ox_cpu();
    ox_stream *stream = o.streams && o.stream.compute ? ox_stream_open(&o.stream) : NULL;
    ox_device *device = stream ? ox_stream_device(stream) : o.streams ? NULL : o.stream.compute;
    ox_file *file = device && o.copies ? ox_file_open_copy(o.model, device) : NULL;
    ox_llm *model = file ? ox_llm_open_file(file) : device && !o.copies ? ox_llm_open(o.model, device) : NULL;
    ox_file_close(file); /* the model keeps it */
    if (model) print_facts(model, o.vulkan ? o.stream.compute : NULL);
    if (model) progress.all = (int64_t)ox_llm_get_config(model)->bytes;
    ox_llm_context *context = model ? ox_llm_context_open(model, &o.context) : NULL;
    ox_status status = OX_ERR_ARG;
    if (context && ox_llm_get_config(model)->encoder) {
        fprintf(stderr, "generate: the model makes vectors of texts, not text; see embed\n");
    } else if (context) {
        if (!ox_llm_get_config(model)->encoder_layers) fputs(o.prompt, stdout); /* else it gets an answer */
        status = ox_llm_generate(context, o.prompt, &o.generate, &result);
    }
    if (!status) {
        fprintf(stderr, "\n\n");
        print_speed("prompt", result.prompt_tokens, result.prompt_tokens, result.prompt_seconds);
        print_speed("new", result.new_tokens, result.new_tokens - 1, result.new_seconds);
        if (stream) print_stream(stream);
    } else if (ox_error()) {
        fprintf(stderr, "generate: %s\n", ox_error_text());
    }
    ox_llm_context_close(context);
    ox_llm_close(model);
    ox_device_close(ox_stream_device(stream));
    return status ? 1 : 0;
}
