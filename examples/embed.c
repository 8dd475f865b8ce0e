/* embed.c - texts as vectors of a language model: close ones point the same way.
 *
 * Shows   ox_llm_embed with its ways of pooling, a tokenizer that says where tokens come from, a .npy file.
 * build   cc -O2 examples/embed.c -I. -o embed -lm -lpthread   (options.h beside it)
 * run     ./embed MODEL "a text" "another one"   or   ./embed MODEL -f lines.txt -o vectors.npy
 *         ./embed MODEL -f lines.txt --query "a question" --top 5   (./embed --help lists all options)
 * refuses --pooling max => embed: --pooling wants model, none, mean, first or last (max)
 * refuses --top 0 m => embed: --top wants a whole number from 1 on (0)
 * refuses -n 5 => embed: -n is no option; embed --help lists what there is
 * refuses a b --query c --similarity => embed: --query and --similarity print different things
 * refuses -f lines.txt => embed: no model is named; embed --help says how
 * needs   a model with its tokenizer: BERT and its like, or any other language model
 *
 * Vectors go to standard output, one a line, unless -o names a file. A text that is longer than the context
 * loses its end, but not the special tokens behind it.
 */
#define OX_IMPLEMENTATION
#include "oxtorch_llm.h"
#include "oxtorch_vulkan.h"

#include "options.h"

#include <math.h>

static const char help[] =
    "usage: embed MODEL [TEXT ...] [OPTIONS]\n"
    "turns texts into vectors with a model (GGUF, a Hugging Face folder)\n"
    "\n"
    "Texts are words of the command line, lines of a file, or without both lines of standard input.\n"
    "Lines that are empty are left out.\n"
    "\n"
    "  -f FILE             lines of a file; -: of standard input\n"
    "  -o FILE             writes the vectors there: NAME.npy as an array [texts, width], others as text\n"
    "  --pooling HOW       what of the tokens: model (as its file says, else mean), mean, first, last, or\n"
    "                      none: a vector for each token\n"
    "  --raw               vectors as long as they are; otherwise their length is 1\n"
    "  --similarity        a table of cosines, each text with each\n"
    "  --query TEXT        the texts that are closest to this one, with their cosines\n"
    "  --top N             how many of them, 5\n"
    "  --prefix TEXT       stands before each text, such as \"search_document: \"\n"
    "  --query-prefix TEXT stands before the query\n"
    "  --context N         tokens of a text at most, 0: as many as the model was trained for, at most 4096\n"
    "  --threads N         threads, 0: as many as the process may use\n"
    "  --device NAME       cpu or vulkan\n"
    "  --help, -h          this text\n"
    "\n"
    "example: embed all-MiniLM-L6-v2 -f sentences.txt --query \"How do I cook rice?\" --top 3\n";

enum { TEXTS = 4096 };

typedef struct text_list {
    const char *text[TEXTS];
    int count;
} text_list;

typedef struct options {
    const char *model, *file, *out, *query, *prefix, *query_prefix;
    text_list texts;
    ox_llm_pooling pooling;
    ox_llm_context_desc context;
    int64_t top, threads;
    bool raw, similarity, vulkan;
} options;

typedef struct embedder {
    const options *o;
    ox_llm *model;
    const ox_tokenizer *tokenizer;
    ox_llm_context *context;
    int64_t width;
    /* tokens of a text */
    int32_t *ids;
    ox_token_place *places;
    int64_t room;
    /* what there is so far: `rows` vectors, of a text or of a token each */
    float *vectors;
    int64_t rows, row_room;
    char **names; /* the texts, if something is said about them */
    int64_t count, name_room;
} embedder;

static bool complain(const char *what) {
    fprintf(stderr, "embed: %s\n", what);
    return false;
}

static void *grow(void *memory, size_t bytes) {
    memory = realloc(memory, bytes ? bytes : 1);
    if (memory) return memory;
    fprintf(stderr, "embed: no memory\n");
    exit(1);
}

/* ---- a text -------------------------------------------------------------------------------------------- */

/* Its tokens; cut where the context ends, but for special tokens at the end. */
static int64_t tokenize(embedder *e, const char *text, int64_t length) {
    const int64_t most = ox_llm_capacity(e->context);
    int64_t count, tail = 0;
    while ((count = ox_tokenizer_encode_pair(e->tokenizer, text, length, NULL, 0, NULL, e->ids, e->places,
                                             e->room)) > e->room) {
        e->room = count;
        e->ids = (int32_t *)grow(e->ids, (size_t)count * sizeof *e->ids);
        e->places = (ox_token_place *)grow(e->places, (size_t)count * sizeof *e->places);
    }
    if (count <= most) return count;
    while (tail < most && e->places[count - 1 - tail].text < 0) tail++;
    memmove(e->ids + most - tail, e->ids + count - tail, (size_t)tail * sizeof *e->ids);
    fprintf(stderr, "embed: a text of %lld tokens is cut to %lld: %.40s ..\n", (long long)count,
            (long long)most, text);
    return most;
}

/* The vectors of a text behind those that are there. */
static bool embed_text(embedder *e, const char *prefix, const char *text) {
    ox_llm_embed_desc desc;
    const size_t before = prefix ? strlen(prefix) : 0, length = before + strlen(text);
    char *whole = (char *)grow(NULL, length + 1);
    memcpy(whole, prefix ? prefix : "", before);
    strcpy(whole + before, text);
    const int64_t count = tokenize(e, whole, (int64_t)length);
    free(whole);
    if (count < 0) return complain(ox_error_text());
    const int64_t rows = e->o->pooling == OX_LLM_POOLING_NONE ? count : 1;
    if (e->rows + rows > e->row_room) {
        e->row_room = 2 * (e->rows + rows);
        e->vectors = (float *)grow(e->vectors, (size_t)e->row_room * (size_t)e->width * sizeof *e->vectors);
    }
    memset(&desc, 0, sizeof desc);
    desc.pooling = e->o->pooling;
    desc.normalize = !e->o->raw;
    if (ox_llm_embed(e->context, e->ids, count, &desc, e->vectors + e->rows * e->width) != OX_OK) {
        fprintf(stderr, "embed: \"%.40s\": %s\n", text, ox_error_text());
        return false;
    }
    e->rows += rows;
    return true;
}

/* ---- what is printed ----------------------------------------------------------------------------------- */

static void print_rows(FILE *file, const embedder *e) {
    for (int64_t r = 0; r < e->rows; r++)
        for (int64_t i = 0; i < e->width; i++)
            fprintf(file, "%.7g%c", (double)e->vectors[r * e->width + i], i + 1 < e->width ? ' ' : '\n');
}

static double cosine(const embedder *e, int64_t a, int64_t b) {
    const float *x = e->vectors + a * e->width, *y = e->vectors + b * e->width;
    double xx = 0, yy = 0, xy = 0;
    for (int64_t i = 0; i < e->width; i++) {
        xx += (double)x[i] * x[i];
        yy += (double)y[i] * y[i];
        xy += (double)x[i] * y[i];
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static void print_table(const embedder *e) {
    printf("      ");
    for (int64_t b = 0; b < e->rows; b++) printf("%8lld", (long long)b + 1);
    printf("\n");
    for (int64_t a = 0; a < e->rows; a++) {
        printf("%6lld", (long long)a + 1);
        for (int64_t b = 0; b < e->rows; b++) printf("%8.4f", cosine(e, a, b));
        printf("  %.60s\n", e->names[a]);
    }
}

/* The texts closest to the last vector; the first of those that are as close. */
static void print_closest(const embedder *e) {
    double *near = (double *)grow(NULL, (size_t)e->count * sizeof *near);
    for (int64_t i = 0; i < e->count; i++) near[i] = cosine(e, i, e->rows - 1);
    for (int64_t n = 0; n < e->o->top && n < e->count; n++) {
        int64_t best = 0;
        for (int64_t i = 1; i < e->count; i++)
            if (near[i] > near[best]) best = i;
        printf("%7.4f  %s\n", near[best], e->names[best]);
        near[best] = -2;
    }
    free(near);
}

static bool write_npy(const char *path, const embedder *e) {
    ox_status status = OX_ERR_NOMEM;
    OX_SCOPE {
        ox_tensor *all = ox_from_floats(e->vectors, OX_SHAPE(e->rows, e->width), OX_F32);
        if (all) status = ox_save_npy(path, all);
    }
    return status == OX_OK || complain(ox_error_text());
}

static bool write_text(const char *path, const embedder *e) {
    FILE *file = fopen(path, "w");
    if (file) print_rows(file, e);
    const bool good = file && !ferror(file);
    if ((file && fclose(file)) || !good) {
        fprintf(stderr, "embed: %s cannot be written\n", path);
        return false;
    }
    return true;
}

/* What was asked for, of all vectors; lines of a text come as they are made (add_text). */
static bool finish(embedder *e) {
    const char *out = e->o->out;
    const size_t length = out ? strlen(out) : 0;
    bool good = true;
    if (e->count == 0) return complain("there is no text");
    if (out)
        good = length > 4 && strcmp(out + length - 4, ".npy") == 0 ? write_npy(out, e) : write_text(out, e);
    if (e->o->similarity) print_table(e);
    if (!e->o->query) return good;
    if (!good || !embed_text(e, e->o->query_prefix, e->o->query)) return false;
    print_closest(e);
    return true;
}

/* ---- texts --------------------------------------------------------------------------------------------- */

static bool add_text(embedder *e, const char *text) {
    const options *o = e->o;
    if (!embed_text(e, o->prefix, text)) return false;
    e->count++;
    if (o->query || o->similarity) {
        if (e->count > e->name_room) {
            e->name_room = 2 * e->count + 64;
            e->names = (char **)grow(e->names, (size_t)e->name_room * sizeof *e->names);
        }
        e->names[e->count - 1] = strcpy((char *)grow(NULL, strlen(text) + 1), text);
    } else if (!o->out) {
        print_rows(stdout, e);
        e->rows = 0;
        if (fflush(stdout)) return complain("nobody reads the vectors");
    }
    return true;
}

/* A line without its end, to be used until the next call; NULL at the end of the file. */
static char *read_line(FILE *file, char **line, size_t *room) {
    size_t length = 0;
    for (;;) {
        if (*room - length < 4096) *line = (char *)grow(*line, *room = 2 * *room + 8192);
        (*line)[length] = 0;
        if (!fgets(*line + length, (int)(*room - length < 65536 ? *room - length : 65536), file)) break;
        length += strlen(*line + length);
        if (length && (*line)[length - 1] == '\n') break;
    }
    if (!length) return NULL;
    (*line)[strcspn(*line, "\r\n")] = 0;
    return *line;
}

static bool add_lines(embedder *e, const char *path) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    bool good = true;
    while (good && file && read_line(file, &line, &room))
        if (*line) good = add_text(e, line);
    if (!file || ferror(file)) {
        fprintf(stderr, "embed: %s cannot be read\n", path);
        good = false;
    }
    if (file && file != stdin) fclose(file);
    free(line);
    return good;
}

/* ---- the program --------------------------------------------------------------------------------------- */

static bool read_pooling(const char *text, void *out) {
    static const char *const names[] = {"model", "none", "mean", "first", "last"};
    for (int i = 0; i < OX_LLM_POOLING_COUNT; i++)
        if (strcmp(text, names[i]) == 0) {
            *(ox_llm_pooling *)out = (ox_llm_pooling)i;
            return true;
        }
    return false;
}

static bool read_top(const char *text, void *out) {
    return read_whole(text, out) && *(int64_t *)out > 0;
}

static bool read_device(const char *text, void *out) {
    *(bool *)out = strcmp(text, "vulkan") == 0;
    return *(bool *)out || strcmp(text, "cpu") == 0;
}

static bool read_word(const char *text, void *out) {
    text_list *texts = (text_list *)out;
    if (texts->count == TEXTS) return false;
    texts->text[texts->count++] = text;
    return true;
}

static bool read_options(int count, char **words, options *o) {
    const char *whole = "wants a whole number >= 0", *text = "wants a text";
    const option known[] = {
        {"-f", read_text, &o->file, "wants a path"},
        {"-o", read_text, &o->out, "wants a path"},
        {"--pooling", read_pooling, &o->pooling, "wants model, none, mean, first or last"},
        {"--raw", NULL, &o->raw, NULL},
        {"--similarity", NULL, &o->similarity, NULL},
        {"--query", read_text, &o->query, text},
        {"--top", read_top, &o->top, "wants a whole number from 1 on"},
        {"--prefix", read_text, &o->prefix, text},
        {"--query-prefix", read_text, &o->query_prefix, text},
        {"--context", read_whole, &o->context.capacity, whole},
        {"--threads", read_whole, &o->threads, whole},
        {"--device", read_device, &o->vulkan, "wants cpu or vulkan"},
    };
    const option plain[] = {
        {"MODEL", read_text, &o->model, "wants a path"},
        {"TEXT ...", read_word, &o->texts, "has room for 4096 words; -f reads any number"}};
    const command_line embed = {"embed", help, known, sizeof known / sizeof *known, plain, 2};
    memset(o, 0, sizeof *o);
    o->top = 5;
    if (!options_read(&embed, count, words)) return false;
    if (!o->model) return complain("no model is named; embed --help says how");
    if (o->texts.count && o->file) return complain("texts come as words or from a file, not both");
    if (o->query && o->similarity) return complain("--query and --similarity print different things");
    if (o->pooling == OX_LLM_POOLING_NONE && (o->query || o->similarity))
        return complain("cosines want one vector a text, and --pooling none makes one of each token");
    return true;
}

static bool open_model(embedder *e, const options *o) {
    ox_device *device = o->vulkan ? ox_vulkan(0) : ox_cpu();
    ox_llm_context_desc desc = o->context;
    e->o = o;
    e->model = device ? ox_llm_open(o->model, device) : NULL;
    e->tokenizer = e->model ? ox_llm_tokenizer(e->model) : NULL;
    e->context = e->tokenizer ? ox_llm_context_open(e->model, &desc) : NULL;
    if (!e->context) return complain(ox_error_text());
    const ox_llm_config *config = ox_llm_get_config(e->model);
    e->width = o->pooling == OX_LLM_POOLING_NONE && !config->late ? config->width : config->embedding;
    return true;
}

int main(int count, char **words) {
    static options o;
    embedder e;
    if (!read_options(count, words, &o)) return 2;
    if (o.threads > 0) ox_set_threads(o.threads < INT32_MAX ? (int)o.threads : INT32_MAX);
    memset(&e, 0, sizeof e);
    bool good = open_model(&e, &o);
    for (int i = 0; good && i < o.texts.count; i++) good = add_text(&e, o.texts.text[i]);
    if (good && !o.texts.count) good = add_lines(&e, o.file ? o.file : "-");
    if (good) good = finish(&e);
    while (o.query || o.similarity ? e.count > 0 : false) free(e.names[--e.count]);
    free(e.names);
    free(e.vectors);
    free(e.ids);
    free(e.places);
    ox_llm_context_close(e.context);
    ox_llm_close(e.model);
    return good ? 0 : 1;
}
