/* perplexity.c - how surprised a language model is by a text: e to the mean of -log p over its tokens.
 *
 * Shows   a tokenizer by itself, ox_llm_decode_all (logits after every token of a batch), ox_llm_rewind.
 * build   cc -O2 examples/perplexity.c -I. -o perplexity -lm -lpthread   (options.h beside it)
 * run     ./perplexity MODEL.gguf TEXT.txt [--tokens 2000] [--ctx 512] [--threads N]
 * refuses --ctx 1 => perplexity: --ctx wants a whole number from 4 to 2^24 (1)
 * refuses model.gguf => perplexity: no text is named; perplexity --help says how
 * needs   a model with its tokenizer in the file, and a text
 *
 * As llama.cpp's tool of that name measures it: the text is cut into windows of --ctx tokens, each begins
 * anew with BOS in the place of its first token, and only the second half of each is counted, where there is
 * something to go by.
 */
#define OX_IMPLEMENTATION
#include "oxtorch_llm.h"

#include "options.h"

#include <math.h>

static const char help[] = "usage: perplexity MODEL.gguf TEXT.txt [OPTIONS]\n"
                           "measures how surprised a language model is by a text\n"
                           "\n"
                           "  --tokens N     of the text's beginning, 2000\n"
                           "  --ctx N        tokens of a window, of which the second half is counted, 512\n"
                           "  --threads N    threads, 0: as many as the process may use\n"
                           "  --help, -h     this text\n"
                           "\n"
                           "example: perplexity model.gguf book.txt --tokens 8000 --ctx 1024\n";

typedef struct options {
    const char *model, *text;
    int64_t tokens, window, threads;
} options;

/* int64_t, from 4 to 2^24 */
static bool read_tokens(const char *text, void *out) {
    return read_whole(text, out) && *(int64_t *)out >= 4 && *(int64_t *)out <= 1 << 24;
}

static bool read_options(int count, char **words, options *o) {
    const option known[] = {
        {"--tokens", read_tokens, &o->tokens, "wants a whole number from 4 to 2^24"},
        {"--ctx", read_tokens, &o->window, "wants a whole number from 4 to 2^24"},
        {"--threads", read_whole, &o->threads, "wants a whole number >= 0"},
    };
    const option plain[] = {{"MODEL.gguf", read_text, &o->model, "wants a path"},
                            {"TEXT.txt", read_text, &o->text, "wants a path"}};
    const command_line perplexity = {"perplexity", help, known, sizeof known / sizeof *known, plain, 2};
    memset(o, 0, sizeof *o);
    o->tokens = 2000;
    o->window = 512;
    if (!options_read(&perplexity, count, words)) return false;
    if (!o->text)
        fprintf(stderr, "perplexity: no %s is named; perplexity --help says how\n",
                o->model ? "text" : "model");
    return o->text != NULL;
}

/* All of a file, to be freed. */
static char *read_file(const char *path, long *length) {
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0 && (*length = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0) {
        bytes = (char *)malloc((size_t)*length + 1);
        if (bytes && fread(bytes, 1, (size_t)*length, f) != (size_t)*length) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (!bytes) fprintf(stderr, "perplexity: %s cannot be read\n", path);
    if (f) fclose(f);
    return bytes;
}

/* -log of the probability that logits [count] give to a token. */
static double surprise(const float *logits, int64_t count, int32_t token) {
    double most = logits[0], sum = 0;
    for (int64_t i = 1; i < count; i++) most = logits[i] > most ? logits[i] : most;
    for (int64_t i = 0; i < count; i++) sum += exp((double)logits[i] - most);
    return most + log(sum) - (double)logits[token];
}

typedef struct totals {
    double sum, squares;
    long count;
} totals;

/* One window: its second half is counted. */
static bool measure_window(ox_llm_context *context, const int32_t *tokens, int64_t window, int64_t vocabulary,
                           float *logits, totals *t) {
    if (ox_llm_rewind(context, 0) != OX_OK || ox_llm_decode_all(context, tokens, window, logits) != OX_OK)
        return false;
    for (int64_t i = window / 2; i + 1 < window; i++) {
        double s = surprise(logits + i * vocabulary, vocabulary, tokens[i + 1]);
        t->sum += s;
        t->squares += s * s;
        t->count++;
    }
    return true;
}

static bool measure(const options *o, const ox_llm *model, ox_llm_context *context, int32_t *tokens,
                    int64_t count, totals *t) {
    int64_t vocabulary = ox_llm_get_config(model)->vocabulary;
    int32_t bos = ox_tokenizer_role(ox_llm_tokenizer(model), OX_TOKEN_ROLE_BOS);
    float *logits = (float *)malloc((size_t)o->window * (size_t)vocabulary * sizeof *logits);
    bool ok = logits != NULL;
    for (int64_t at = 0; ok && at + o->window <= count; at += o->window) {
        if (bos >= 0) tokens[at] = bos;
        ok = measure_window(context, tokens + at, o->window, vocabulary, logits, t);
    }
    free(logits);
    return ok;
}

int main(int count, char **words) {
    options o;
    totals t = {0, 0, 0};
    long length = 0;
    int64_t ids = 0;
    if (!read_options(count, words, &o)) return 2;
    char *text = read_file(o.text, &length);
    if (!text) return 1;
    if (o.threads > 0) ox_set_threads(o.threads < INT32_MAX ? (int)o.threads : INT32_MAX);
    ox_llm *model = ox_llm_open(o.model, NULL);
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = desc.batch = o.window;
    ox_llm_context *context = model ? ox_llm_context_open(model, &desc) : NULL;
    const ox_tokenizer *tokenizer = context ? ox_llm_tokenizer(model) : NULL;
    int32_t *tokens = (int32_t *)malloc((size_t)o.tokens * sizeof *tokens);
    if (tokenizer && tokens) ids = ox_tokenizer_encode(tokenizer, text, length, NULL, tokens, o.tokens);
    if (ids > o.tokens) ids = o.tokens;
    bool ok = ids > 0 && measure(&o, model, context, tokens, ids, &t);
    if (!ok) fprintf(stderr, "perplexity: %s\n", ox_error_text());
    else if (t.count < 2)
        fprintf(stderr, "perplexity: the text is shorter than a window of %lld tokens\n",
                (long long)o.window);
    else {
        double mean = t.sum / (double)t.count, variance = t.squares / (double)t.count - mean * mean;
        double spread = sqrt((variance > 0 ? variance : 0) / (double)(t.count - 1));
        printf("perplexity %.4f +- %.4f over %ld tokens\n", exp(mean), exp(mean) * spread, t.count);
    }
    free(tokens);
    free(text);
    ox_llm_context_close(context);
    ox_llm_close(model);
    return ok && t.count > 1 ? 0 : 1;
}
