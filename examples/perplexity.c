/* perplexity.c - how surprised a language model is by a text: e to the mean of -log p over its tokens.
 *
 * Shows   a tokenizer by itself, ox_llm_decode_all (logits after every token of a batch), ox_llm_rewind.
 * build   cc -O2 examples/perplexity.c -I. -o perplexity -lm -lpthread
 * run     ./perplexity MODEL.gguf TEXT.txt [--tokens 2000] [--ctx 512] [--threads N]
 * refuses --ctx 1 => perplexity: --ctx wants a whole number >= 4 (1)
 * needs   a model with its tokenizer in the file, and a text
 *
 * As llama.cpp's tool of that name measures it: the text is cut into windows of --ctx tokens, each begins
 * anew with BOS in the place of its first token, and only the second half of each is counted, where there is
 * something to go by.
 */
#define OX_IMPLEMENTATION
#include "oxtorch_llm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options {
    const char *model, *text;
    long tokens, window, threads;
} options;

static bool read_number(const char *name, const char *text, long least, long *out) {
    char *end = NULL;
    long number = text ? strtol(text, &end, 10) : 0;
    if (!text || end == text || *end || number < least || number > 1 << 24) {
        fprintf(stderr, "perplexity: %s wants a whole number >= %ld (%s)\n", name, least,
                text ? text : "nothing follows");
        return false;
    }
    *out = number;
    return true;
}

static bool read_options(int count, char **words, options *o) {
    memset(o, 0, sizeof *o);
    o->tokens = 2000;
    o->window = 512;
    for (int i = 1; i < count; i++) {
        const char *name = words[i], *value = i + 1 < count ? words[i + 1] : NULL;
        bool ok = true, option = name[0] == '-' && name[1] == '-';
        if (strcmp(name, "--tokens") == 0) ok = read_number(name, value, 4, &o->tokens);
        else if (strcmp(name, "--ctx") == 0) ok = read_number(name, value, 4, &o->window);
        else if (strcmp(name, "--threads") == 0) ok = read_number(name, value, 0, &o->threads);
        else if (!option && !o->model) o->model = name;
        else if (!option && !o->text) o->text = name;
        else {
            fprintf(stderr, "perplexity: %s is no option\n", name);
            return false;
        }
        if (!ok) return false;
        if (option) i++;
    }
    if (o->text) return true;
    fprintf(stderr, "usage: perplexity MODEL.gguf TEXT.txt [--tokens 2000] [--ctx 512] [--threads N]\n");
    return false;
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
static bool measure_window(ox_llm_context *context, const int32_t *tokens, long window, int64_t vocabulary,
                           float *logits, totals *t) {
    if (ox_llm_rewind(context, 0) != OX_OK || ox_llm_decode_all(context, tokens, window, logits) != OX_OK)
        return false;
    for (long i = window / 2; i + 1 < window; i++) {
        double s = surprise(logits + i * vocabulary, vocabulary, tokens[i + 1]);
        t->sum += s;
        t->squares += s * s;
        t->count++;
    }
    return true;
}

static bool measure(const options *o, const ox_llm *model, ox_llm_context *context, int32_t *tokens,
                    long count, totals *t) {
    int64_t vocabulary = ox_llm_config_of(model)->vocabulary;
    int32_t bos = ox_tokenizer_special(ox_llm_tokenizer(model), OX_SPECIAL_BOS);
    float *logits = (float *)malloc((size_t)o->window * (size_t)vocabulary * sizeof *logits);
    bool ok = logits != NULL;
    for (long at = 0; ok && at + o->window <= count; at += o->window) {
        if (bos >= 0) tokens[at] = bos;
        ok = measure_window(context, tokens + at, o->window, vocabulary, logits, t);
    }
    free(logits);
    return ok;
}

int main(int count, char **words) {
    options o;
    totals t = {0, 0, 0};
    long length = 0, ids = 0;
    if (!read_options(count, words, &o)) return 2;
    char *text = read_file(o.text, &length);
    if (!text) return 1;
    if (o.threads > 0) ox_set_threads((int)o.threads);
    ox_llm *model = ox_llm_open(o.model, NULL);
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = desc.batch = o.window;
    ox_llm_context *context = model ? ox_llm_context_open(model, &desc) : NULL;
    const ox_tokenizer *tokenizer = context ? ox_llm_tokenizer(model) : NULL;
    int32_t *tokens = (int32_t *)malloc((size_t)o.tokens * sizeof *tokens);
    if (tokenizer && tokens) ids = (long)ox_tokenizer_encode(tokenizer, text, length, NULL, tokens, o.tokens);
    if (ids > o.tokens) ids = o.tokens;
    bool ok = ids > 0 && measure(&o, model, context, tokens, ids, &t);
    if (!ok) fprintf(stderr, "perplexity: %s\n", ox_error_text());
    else if (t.count < 2)
        fprintf(stderr, "perplexity: the text is shorter than a window of %ld tokens\n", o.window);
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
