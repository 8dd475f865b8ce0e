/* perplexity.c - how surprised a language model is by a text: e to the mean of -log p over its tokens.
 *
 * Shows   a tokenizer by itself, ox_llm_decode_all (logits after every token of a batch), ox_llm_rewind, and
 *         an importance matrix that is collected on the way (for quantize).
 * build   cc -O2 examples/perplexity.c -I. -o perplexity -lm -lpthread   (options.h beside it)
 * run     ./perplexity MODEL.gguf -f TEXT.txt [--context 512] [--stride N] [--imatrix OUT.gguf] ...
 * refuses --context 1 => perplexity: --context wants a whole number from 4 to 2^24 (1)
 * refuses model.gguf => perplexity: no text is named; perplexity --help says how
 * needs   a model with its tokenizer in the file, and a text
 *
 * As llama.cpp's tool of that name measures it: the text is cut into windows of --context tokens, each begins
 * anew, with BOS in the place of its first token where the model wants one, and only the second half of each
 * is counted, where there is something to go by. With --stride N windows are half of N longer, begin N tokens
 * after one another, and the last N of each are counted.
 */
#define OX_IMPLEMENTATION
#include "oxtorch_llm.h"

#include "options.h"

#include <math.h>

static const char help[] = "usage: perplexity MODEL.gguf -f TEXT.txt [OPTIONS]\n"
                           "measures how surprised a language model is by a text\n"
                           "\n"
                           "  -f TEXT.txt        the text; may also stand behind the model\n"
                           "  --context N        tokens of a window, of which the second half counts, 512\n"
                           "  --ctx N            the same\n"
                           "  --stride N         windows begin N tokens apart, and their last N count\n"
                           "  --tokens N         of the text's beginning, 0: all\n"
                           "  --imatrix OUT      writes what weights were multiplied with, for quantize\n"
                           "  --threads N        threads, 0: as many as the process may use\n"
                           "  --help, -h         this text\n"
                           "\n"
                           "example: perplexity model.gguf -f book.txt --context 1024 --imatrix out.gguf\n";

typedef struct options {
    const char *model, *text, *importance;
    int64_t tokens, window, stride, threads;
} options;

/* int64_t, from 4 to 2^24 */
static bool read_tokens(const char *text, void *out) {
    return read_whole(text, out) && *(int64_t *)out >= 4 && *(int64_t *)out <= 1 << 24;
}

static bool read_options(int count, char **words, options *o) {
    const char *tokens = "wants a whole number from 4 to 2^24", *whole = "wants a whole number >= 0";
    const option known[] = {
        {"-f", read_text, &o->text, "wants a path"},
        {"--context", read_tokens, &o->window, tokens},
        {"--ctx", read_tokens, &o->window, tokens},
        {"--stride", read_tokens, &o->stride, tokens},
        {"--tokens", read_whole, &o->tokens, whole},
        {"--imatrix", read_text, &o->importance, "wants a path"},
        {"--threads", read_whole, &o->threads, whole},
    };
    const option plain[] = {{"MODEL.gguf", read_text, &o->model, "wants a path"},
                            {"TEXT.txt", read_text, &o->text, "wants a path"}};
    const command_line perplexity = {"perplexity", help, known, sizeof known / sizeof *known, plain, 2};
    memset(o, 0, sizeof *o);
    o->window = 512;
    if (!options_read(&perplexity, count, words)) return false;
    if (!o->model || !o->text)
        fprintf(stderr, "perplexity: no %s is named; perplexity --help says how\n",
                o->model ? "text" : "model");
    if (o->stride > 0) o->window += o->stride / 2;
    return o->model && o->text;
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

static const int64_t piece = 256; /* tokens whose logits are held at once */

/* Tokens [0, window) by themselves; those from `first` on are counted. */
static bool measure_window(ox_llm_context *context, const int32_t *tokens, int64_t window, int64_t first,
                           int64_t vocabulary, float *logits, totals *t) {
    if (ox_llm_rewind(context, 0) != OX_OK) return false;
    if (first > 1 && ox_llm_decode(context, tokens, first - 1, NULL) != OX_OK) return false;
    for (int64_t at = first - 1; at < window; at += piece) { /* logits of a token are for the one behind it */
        const int64_t count = window - at < piece ? window - at : piece;
        if (ox_llm_decode_all(context, tokens + at, count, logits) != OX_OK) return false;
        for (int64_t i = 0; i < count && at + i + 1 < window; i++) {
            double s = surprise(logits + i * vocabulary, vocabulary, tokens[at + i + 1]);
            t->sum += s;
            t->squares += s * s;
            t->count++;
        }
    }
    return true;
}

/* The token that the model wants before a text; -1 = none. */
static int32_t first_token(const ox_tokenizer *tokenizer) {
    int32_t first[2] = {-1, -1};
    const int32_t bos = ox_tokenizer_role(tokenizer, OX_TOKEN_ROLE_BOS);
    (void)ox_tokenizer_encode(tokenizer, "", 0, NULL, first, 2);
    return first[0] == bos ? bos : -1;
}

static bool measure(const options *o, const ox_llm *model, ox_llm_context *context, int32_t *tokens,
                    int64_t count, totals *t) {
    const int64_t vocabulary = ox_llm_get_config(model)->vocabulary;
    const int64_t step = o->stride > 0 ? o->stride : o->window;
    const int64_t first = o->stride > 0 ? o->window - o->stride : o->window / 2 + 1;
    const int32_t bos = first_token(ox_llm_tokenizer(model));
    float *logits = (float *)malloc((size_t)piece * (size_t)vocabulary * sizeof *logits);
    bool ok = logits != NULL;
    if (!ok) fprintf(stderr, "perplexity: no memory\n");
    for (int64_t at = 0; ok && at + o->window <= count - (o->stride > 0); at += step) {
        const int32_t own = tokens[at];
        if (bos >= 0) tokens[at] = bos;
        ok = measure_window(context, tokens + at, o->window, first, vocabulary, logits, t);
        tokens[at] = own;
    }
    free(logits);
    return ok;
}

/* The ids of a text, to be freed; at most `most` of them, 0 = all. */
static int32_t *tokenize(const ox_tokenizer *tokenizer, const char *text, int64_t length, int64_t most,
                         int64_t *count) {
    *count = tokenizer ? ox_tokenizer_encode(tokenizer, text, length, NULL, NULL, 0) : -1;
    if (most > 0 && *count > most) *count = most;
    int32_t *tokens = *count > 0 ? (int32_t *)malloc((size_t)*count * sizeof *tokens) : NULL;
    if (tokens) (void)ox_tokenizer_encode(tokenizer, text, length, NULL, tokens, *count);
    return tokens;
}

static void print_totals(const options *o, const totals *t) {
    if (t->count < 2) {
        fprintf(stderr, "perplexity: the text is shorter than a window of %lld tokens\n",
                (long long)o->window);
        return;
    }
    double mean = t->sum / (double)t->count, variance = t->squares / (double)t->count - mean * mean;
    double spread = sqrt((variance > 0 ? variance : 0) / (double)(t->count - 1));
    printf("perplexity %.4f +- %.4f over %ld tokens\n", exp(mean), exp(mean) * spread, t->count);
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
    int32_t *tokens = context ? tokenize(ox_llm_tokenizer(model), text, length, o.tokens, &ids) : NULL;
    ox_llm_importance *importance = tokens && o.importance ? ox_llm_importance_collect(model) : NULL;
    bool ok = tokens && (importance || !o.importance) && measure(&o, model, context, tokens, ids, &t);
    if (ok && importance && t.count > 1)
        ok = ox_llm_importance_stop(importance) == OX_OK &&
             ox_llm_importance_save(importance, o.importance, o.text, o.window) == OX_OK;
    if (ok) print_totals(&o, &t);
    else if (*ox_error_text()) fprintf(stderr, "perplexity: %s\n", ox_error_text());
    else if (context && !tokens)
        fprintf(stderr, "perplexity: %s\n", ids == 0 ? "the text is empty" : "the model has no tokenizer");
    ox_llm_importance_close(importance);
    free(tokens);
    free(text);
    ox_llm_context_close(context);
    ox_llm_close(model);
    return ok && t.count > 1 ? 0 : 1;
}
