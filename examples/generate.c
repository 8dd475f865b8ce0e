/* generate.c - a language model from a GGUF file continues a text.
 *
 * Shows   ox_llm_open (the weights stay in the mapped file), a context, ox_llm_generate with a callback that
 *         gets each piece of text as it is made, what the model says about itself, tokens per second.
 * build   cc -O2 examples/generate.c -I. -o generate -lm -lpthread
 * run     ./generate MODEL.gguf [-p PROMPT] [-n 200] [--temp 0] [--top-k K] [--top-p P] [--min-p P]
 *                    [--seed S] [--threads N] [--ctx N] [--batch 512] [--device vulkan] [--stream] [--ram 2G]
 *         --stream leaves the weights in the file and reads them layer by layer, with at most --ram of memory
 *         (512M, 2G ...) for what is kept of them: for models larger than memory
 *         -n 0 makes text until the model ends it or the context is full
 * refuses --temp abc => generate: --temp wants a number (abc)
 * refuses -n 0.5 => generate: -n wants a whole number >= 0 (0.5)
 * needs   a model: GGUF of the architecture "llama" with a SentencePiece tokenizer
 *
 * The prompt and its continuation, and nothing else, go to standard output; the rest goes to standard error:
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

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *model, *prompt;
    ox_generate_desc generate;
    ox_llm_context_desc context;
    ox_stream_desc stream;
    int64_t threads;
    bool vulkan, streams;
} options;

static bool print_piece(void *user, const char *bytes, int64_t length, int32_t token) {
    (void)user;
    (void)token;
    fwrite(bytes, 1, (size_t)length, stdout);
    return fflush(stdout) == 0; /* nobody reads any more: stop */
}

static bool read_whole(const char *text, long long most, long long *out) {
    char *end = NULL;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && errno == 0 && *out >= 0 && *out <= most;
}

static bool read_seed(const char *text, uint64_t *out) {
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && errno == 0;
}

/* Bytes: "300M", "2G". */
static bool read_bytes(const char *text, size_t *out) {
    char *end = NULL;
    double number = strtod(text, &end), unit = *end == 'G' ? 1 << 30 : *end == 'M' ? 1 << 20 : 0;
    *out = number * unit < 1e15 && number > 0 ? (size_t)(number * unit) : 0;
    return end != text && unit > 0 && !end[1] && *out > 0;
}

static bool read_real(const char *text, double *out) {
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && !*end && *out > -1e9 && *out < 1e9;
}

/* Takes one option with its value. NULL, or what is wrong with the two. */
static const char *take_option(options *o, const char *name, const char *value) {
    struct {
        const char *name;
        double *real;
        int64_t *whole;
    } known[] = {
        {"-n", NULL, &o->generate.steps},
        {"--temp", &o->generate.sampling.temperature, NULL},
        {"--top-k", NULL, &o->generate.sampling.top_k},
        {"--top-p", &o->generate.sampling.top_p, NULL},
        {"--min-p", &o->generate.sampling.min_p, NULL},
        {"--threads", NULL, &o->threads},
        {"--ctx", NULL, &o->context.capacity},
        {"--batch", NULL, &o->context.batch},
    };
    if (strcmp(name, "--seed") == 0)
        return value && read_seed(value, &o->generate.sampling.seed) ? NULL : "wants a whole number >= 0";
    if (strcmp(name, "-p") == 0) {
        o->prompt = value;
        return value ? NULL : "wants a text";
    }
    if (strcmp(name, "--device") == 0) {
        o->vulkan = value && strcmp(value, "vulkan") == 0;
        return o->vulkan || (value && strcmp(value, "cpu") == 0) ? NULL : "wants cpu or vulkan";
    }
    if (strcmp(name, "--ram") == 0)
        return value && read_bytes(value, &o->stream.ram_bytes) ? NULL : "wants a size such as 512M or 2G";
    if (strcmp(name, "--cache") == 0) {
        o->context.cache = value ? ox_dtype_by_name(value) : OX_DTYPE_NONE;
        return o->context.cache ? NULL : "wants f32, f16, bf16 or q8_0";
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        if (known[i].real) return value && read_real(value, known[i].real) ? NULL : "wants a number";
        long long whole = 0;
        if (!value || !read_whole(value, known[i].whole == &o->threads ? INT32_MAX : INT64_MAX, &whole))
            return "wants a whole number >= 0";
        *known[i].whole = whole;
        return NULL;
    }
    return "is no option";
}

static int read_options(int count, char **words, options *o) {
    memset(o, 0, sizeof *o);
    o->prompt = "";
    o->generate.steps = 200;
    o->generate.text = print_piece;
    for (int i = 1; i < count; i++) {
        if (words[i][0] != '-' && !o->model) {
            o->model = words[i];
            continue;
        }
        if (strcmp(words[i], "--stream") == 0) {
            o->streams = true;
            continue;
        }
        const char *value = i + 1 < count ? words[i + 1] : NULL, *wrong = take_option(o, words[i], value);
        if (wrong) {
            fprintf(stderr, "generate: %s %s (%s)\n", words[i], wrong, value ? value : "nothing follows");
            return 0;
        }
        i++;
    }
    return o->model != NULL;
}

static void print_facts(const ox_llm *model, ox_device *device) {
    const ox_llm_config *c = ox_llm_config_of(model);
    fprintf(stderr, "%s: %s, %.1f M parameters, %.1f MB\n", c->name[0] ? c->name : "a model", c->architecture,
            (double)c->parameters / 1e6, (double)c->bytes / 1e6);
    fprintf(stderr,
            "%lld layers of width %lld, %lld heads (%lld for keys and values) of %lld, vocabulary %lld, "
            "context %lld\n",
            (long long)c->layers, (long long)c->width, (long long)c->heads, (long long)c->kv_heads,
            (long long)c->key_size, (long long)c->vocabulary, (long long)c->context);
    ox_vulkan_facts facts;
    if (device && ox_vulkan_info(device, &facts) == OX_OK) fprintf(stderr, "%s\n\n", facts.name);
    else fprintf(stderr, "%s, %d threads\n\n", ox_isa(), ox_threads());
}

static void print_speed(const char *what, int64_t tokens, int64_t steps, double seconds) {
    fprintf(stderr, "%-6s %6lld tokens in %9.3f s %9.1f tokens/s\n", what, (long long)tokens, seconds,
            seconds > 0 ? (double)steps / seconds : 0.0);
}

static void print_stream(ox_stream *stream) {
    const ox_stream_statistics s = ox_stream_stats(stream);
    fprintf(stderr, "stream %.1f MB from the disk, %.1f MB kept in RAM and used again, waited %.3f s\n",
            (double)s.disk_bytes / 1e6, (double)s.ram_bytes / 1e6, s.stall_seconds);
}

int main(int count, char **words) {
    options o;
    if (!read_options(count, words, &o)) {
        fprintf(stderr, "usage: generate MODEL.gguf [-p PROMPT] [-n 200] [--temp 0] [--top-k K] [--top-p P] "
                        "[--min-p P] [--seed S] [--threads N] [--ctx N] [--cache f32] [--batch N]\n"
                        "       [--device cpu] [--stream] [--ram 2G]\n"
                        "       -n 0: until the model ends the text or the context is full\n");
        return 2;
    }
    if (o.threads > 0) ox_set_threads((int)o.threads);
    ox_generate_result result;
    memset(&result, 0, sizeof result);
    ox_stream *stream = o.streams ? ox_stream_open(&o.stream) : NULL;
    ox_device *device = stream     ? ox_stream_device(stream)
                        : o.vulkan ? ox_vulkan(0)
                                   : NULL; /* NULL: the CPU */
    bool ready = device || !(o.streams || o.vulkan);
    ox_llm *model = ready ? ox_llm_open(o.model, device) : NULL;
    if (model) print_facts(model, o.vulkan ? device : NULL);
    ox_llm_context *context = model ? ox_llm_context_open(model, &o.context) : NULL;
    ox_status status = OX_ERR_ARG;
    if (context) {
        fputs(o.prompt, stdout);
        status = ox_llm_generate(context, o.prompt, &o.generate, &result);
    }
    if (!status) {
        fprintf(stderr, "\n\n");
        print_speed("prompt", result.prompt_tokens, result.prompt_tokens, result.prompt_seconds);
        print_speed("new", result.new_tokens, result.new_tokens - 1, result.new_seconds);
        if (stream) print_stream(stream);
    } else {
        fprintf(stderr, "generate: %s\n", ox_error_text());
    }
    ox_llm_context_close(context);
    ox_llm_close(model);
    ox_stream_close(stream);
    return status ? 1 : 0;
}
