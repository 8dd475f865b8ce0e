/* train_gpt2.c - trains a GPT-2 on bytes or on llm.c's token files, reads and writes llm.c's checkpoints, and
 * checks itself against llm.c's debug states.
 *
 * Shows   a transformer of ox_linear, ox_layer_norm and ox_scaled_dot_product_attention (gpt2.h), its
 *         gradients, AdamW, ox_clip_grad_norm_, ox_multinomial.
 * build   cc -O2 examples/train_gpt2.c -I. -o train_gpt2 -lm -lpthread   (options.h and gpt2.h beside it)
 * run     ./train_gpt2 [TEXT] [--model FILE] [--save FILE] [--steps N] ...
 *         ./train_gpt2 --model gpt2_124M.bin --check gpt2_124M_debug_state.bin
 * refuses --batch 0 => train_gpt2: --batch wants a whole number from 1 to 1000000 (0)
 * refuses --model no-such-file => train_gpt2: no-such-file: is no checkpoint of f32 of llm.c
 * refuses --check no-such-file => train_gpt2: --check wants --model as well
 * prints
 *     4 layers of width 64, 256 tokens, 0.2 million parameters
 *     step 1: loss 5.5...
 *     step 20: loss ...
 *     step 40: loss ...
 *     step 60: loss 1...
 *     the cat ...
 */
#define OX_IMPLEMENTATION
#include "oxtorch_nn.h"

#include "gpt2.h"
#include "options.h"

#include <math.h>

static const char help[] =
    "usage: train_gpt2 [TEXT] [options]\n"
    "trains a GPT-2 to continue text\n"
    "\n"
    "  TEXT            a file: its bytes are the tokens, or those it has as a token file of llm.c;\n"
    "                  without it text is made\n"
    "  --model FILE    begins with a checkpoint of llm.c (f32); else a model is made\n"
    "  --check FILE    compares logits, gradients and losses with a debug state of llm.c, and ends\n"
    "  --save FILE     writes the trained model as a checkpoint\n"
    "  --steps N       steps, 60\n"
    "  --batch N       sequences a step, 8\n"
    "  --length N      tokens of a sequence, 32\n"
    "  --layers N      of a made model, 4\n"
    "  --width N       of a made model, a multiple of 16, 64\n"
    "  --rate X        learning rate, 0.002\n"
    "  --help, -h      this text\n"
    "\n"
    "example: train_gpt2 book.txt --steps 2000 --width 256 --save book.bin\n";

enum { HEAD_WORDS = 256, MODEL_MAGIC = 20240326, STATE_MAGIC = 20240327, TOKENS_MAGIC = 20240520 };

static bool complain(const char *path, const char *what) {
    fprintf(stderr, "train_gpt2: %s: %s\n", path, what);
    return false;
}

/* int64_t */
static bool read_count(const char *text, void *out) {
    return read_whole(text, out) && *(int64_t *)out >= 1 && *(int64_t *)out <= 1000000;
}

/* ---- llm.c's files ------------------------------------------------------------------------------------- */

/* Parameters lie kind by kind, those of a kind layer by layer; rows behind the vocabulary's pad the table. */
static bool move_floats(FILE *file, const gpt2_config *config, int64_t padded,
                        ox_tensor *p[GPT2_KINDS][GPT2_MOST_LAYERS], bool writes) {
    for (int kind = 0; kind < GPT2_KINDS; kind++)
        for (int64_t l = 0; l < gpt2_copies(config, kind); l++) {
            const int64_t padding = kind == WTE ? (padded - config->vocabulary) * config->width : 0;
            const float zero = 0;
            float *data = (float *)ox_data(p[kind][l]);
            size_t count = (size_t)ox_numel(p[kind][l]);
            bool good =
                data && (writes ? fwrite(data, 4, count, file) : fread(data, 4, count, file)) == count;
            if (good && !writes && padding) good = fseek(file, (long)(4 * padding), SEEK_CUR) == 0;
            for (int64_t i = 0; i < padding && writes && good; i++) good = fwrite(&zero, 4, 1, file) == 1;
            if (!good) return false;
        }
    return true;
}

static bool make_empty(gpt2 *m) {
    bool good = true;
    for (int kind = 0; kind < GPT2_KINDS; kind++)
        for (int64_t l = 0; l < gpt2_copies(&m->config, kind); l++)
            good = good && (m->p[kind][l] = ox_empty(gpt2_shape(&m->config, kind), OX_F32)) != NULL;
    return good;
}

static void want_gradients(gpt2 *m) {
    for (int kind = 0; kind < GPT2_KINDS; kind++)
        for (int64_t l = 0; l < gpt2_copies(&m->config, kind); l++) ox_requires_grad_(m->p[kind][l], true);
}

/* padded: the rows of the table in the file. */
static bool load_model(const char *path, gpt2 *m, int64_t *padded) {
    int32_t head[HEAD_WORDS];
    FILE *file = fopen(path, "rb");
    bool good = file && fread(head, sizeof head, 1, file) == 1 && head[0] == MODEL_MAGIC && head[1] >= 1 &&
                head[1] <= 3; /* 3: with a padded table */
    for (int i = 2; i < 7 && good; i++) good = head[i] > 0 && head[i] <= 1 << 20;
    if (good) {
        const gpt2_config config = {head[2], head[3], head[4], head[5], head[6]};
        m->config = config;
        *padded = head[1] == 3 ? head[7] : head[3];
        good = config.layers <= GPT2_MOST_LAYERS && config.width % config.heads == 0 && *padded >= head[3] &&
               *padded <= 1 << 20 && make_empty(m) && move_floats(file, &m->config, *padded, m->p, false);
    }
    if (file) fclose(file);
    if (!good) return complain(path, "is no checkpoint of f32 of llm.c");
    want_gradients(m);
    return true;
}

static bool save_model(const char *path, gpt2 *m) {
    const gpt2_config *c = &m->config;
    const int64_t padded = (c->vocabulary + 127) / 128 * 128;
    int32_t head[HEAD_WORDS] = {MODEL_MAGIC,           3,
                                (int32_t)c->positions, (int32_t)c->vocabulary,
                                (int32_t)c->layers,    (int32_t)c->heads,
                                (int32_t)c->width,     (int32_t)padded};
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(head, sizeof head, 1, file) == 1 && move_floats(file, c, padded, m->p, true);
    if (file && fclose(file) != 0) good = false;
    return good || complain(path, "cannot be written");
}

/* ---- checking ------------------------------------------------------------------------------------------ */

/* How far two tensors are apart at most; says so. */
static bool close_to(const char *name, ox_tensor *got, ox_tensor *expected, double tolerance) {
    double apart = ox_item(ox_amax(ox_abs(ox_sub(ox_detach(got), expected)), OX_ALL_DIMS, false));
    bool good = apart <= tolerance; /* not where it is NaN */
    printf("%-9s %s, %.2e apart\n", name, good ? "ok" : "WRONG", apart);
    return good;
}

static ox_tensor *read_tensor(FILE *file, ox_shape shape, ox_dtype dtype) {
    ox_tensor *t = ox_empty(shape, dtype);
    size_t count = t ? (size_t)ox_numel(t) : 0;
    return t && fread(ox_data(t), 4, count, file) == count ? t : NULL;
}

/* Gradients of all layers beside those of the file. */
static bool check_gradients(const gpt2 *m, const gpt2 *expected) {
    bool good = true;
    for (int kind = 0; kind < GPT2_KINDS; kind++)
        OX_SCOPE {
            ox_tensor *a[GPT2_MOST_LAYERS], *b[GPT2_MOST_LAYERS];
            const int layers = (int)gpt2_copies(&m->config, kind);
            for (int l = 0; l < layers; l++) {
                a[l] = ox_gradient(m->p[kind][l]);
                b[l] = expected->p[kind][l];
            }
            ox_tensor *got = ox_stack(a, layers, 0), *wanted = ox_stack(b, layers, 0);
            good = got && wanted && close_to(gpt2_kinds[kind].name, got, wanted, 2e-2) && good;
        }
    return good;
}

/* A batch, its logits, loss and gradients, as llm.c's writers put them; where ten losses follow, those of
 * AdamW steps. */
static bool check(gpt2 *m, int64_t padded, const char *path) {
    int32_t head[HEAD_WORDS];
    gpt2 expected = *m;
    ox_tensor *ids = NULL, *targets = NULL, *logits = NULL, *first = NULL, *losses = NULL, *all[4096];
    FILE *file = fopen(path, "rb");
    bool good = file && fread(head, sizeof head, 1, file) == 1 && head[0] == STATE_MAGIC && head[1] == 2 &&
                head[2] > 0 && head[2] <= 4096 && head[3] > 0 && head[3] <= m->config.positions;
    if (good) {
        const ox_shape batch = OX_SHAPE(head[2], head[3]);
        ids = read_tensor(file, batch, OX_I32);
        targets = read_tensor(file, batch, OX_I32);
        logits = read_tensor(file, OX_SHAPE(head[2], head[3], m->config.vocabulary), OX_F32);
        first = read_tensor(file, OX_SHAPE(1), OX_F32);
        good = ids && targets && logits && first && make_empty(&expected) &&
               move_floats(file, &m->config, padded, expected.p, false);
        losses = good ? read_tensor(file, OX_SHAPE(10), OX_F32) : NULL;
    }
    if (file) fclose(file);
    if (!good) return complain(path, "is no debug state of this model");
    targets = ox_cast(targets, OX_I64);
    ox_optimizer *adamw = ox_optimizer_open(OX_OPTIMIZER_ADAMW, all, gpt2_parameters(m, all));
    ox_optimizer_set(adamw, OX_ALL_GROUPS, "lr", 1e-4);
    ox_optimizer_set(adamw, OX_ALL_GROUPS, "weight_decay", 0.01);
    for (int step = 0; step < 10; step++)
        OX_SCOPE {
            ox_tensor *got = gpt2_forward(m, ids), *loss = gpt2_loss_of(got, targets);
            ox_optimizer_zero_grad(adamw);
            if (ox_backward(loss, NULL) != OX_OK) good = false;
            if (step == 0 && good) {
                good = close_to("logits", got, logits, 1e-2);
                good = close_to("loss", loss, first, 1e-2) && good;
                good = check_gradients(m, &expected) && good;
            }
            double known = losses ? ox_item(ox_select(losses, 0, step)) : NAN;
            ox_optimizer_step(adamw);
            printf("step %d: loss %.6f", step + 1, ox_item(loss));
            if (losses) printf(", %.6f in the file", known);
            printf("\n");
            if (losses && !(fabs(ox_item(loss) - known) < 1e-2)) good = false;
        }
    ox_optimizer_close(adamw);
    puts(good ? "all ok" : "NOT ok");
    return good;
}

/* ---- training ------------------------------------------------------------------------------------------ */

/* Normal numbers, smaller where layers add up, as GPT-2 begins. */
static bool make_model(gpt2 *m) {
    if (!make_empty(m)) return false;
    for (int kind = 0; kind < GPT2_KINDS; kind++)
        for (int64_t l = 0; l < gpt2_copies(&m->config, kind); l++) {
            const bool adds = kind == ATTPROJW || kind == FCPROJW;
            const double deviation = adds ? 0.02 / sqrt(2 * (double)m->config.layers) : 0.02;
            if (gpt2_kinds[kind].columns)
                ox_normal_(m->p[kind][l], 0, deviation);
            else
                ox_fill_(m->p[kind][l], kind == LN1W || kind == LN2W || kind == LNFW);
        }
    want_gradients(m);
    return ox_error() == OX_OK;
}

/* Sentences of a few words. */
static ox_tensor *make_text(void) {
    static const char *const words[3][4] = {{"the cat", "a dog", "my bird", "one fish"},
                                            {" sees", " likes", " follows", " hears"},
                                            {" the sun. ", " some rain. ", " a song. ", " nobody. "}};
    enum { SENTENCES = 400 };
    ox_tensor *text = ox_empty(OX_SHAPE(SENTENCES * 32), OX_U8),
              *picks = ox_randint(0, 4, OX_SHAPE(SENTENCES, 3), OX_I64);
    if (!text || !picks) return NULL;
    char *at = (char *)ox_data(text);
    const int64_t *pick = (const int64_t *)ox_data(picks);
    int64_t length = 0;
    for (int i = 0; i < 3 * SENTENCES; i++) {
        const char *word = words[i % 3][pick[i]];
        memcpy(at + length, word, strlen(word));
        length += (int64_t)strlen(word);
    }
    return ox_narrow(text, 0, 0, length);
}

/* Tokens [N], i64. */
static ox_tensor *load_text(const char *path) {
    unsigned char head[4 * HEAD_WORDS];
    FILE *file = fopen(path, "rb");
    long bytes = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    ox_tensor *text = NULL;
    if (bytes > 0) {
        rewind(file);
        int32_t magic = 0;
        bool tokens = bytes > (long)sizeof head && fread(head, sizeof head, 1, file) == 1 &&
                      (memcpy(&magic, head, 4), magic == TOKENS_MAGIC);
        if (!tokens) rewind(file);
        const int64_t count = tokens ? (bytes - (long)sizeof head) / 2 : bytes;
        text = ox_empty(OX_SHAPE(count), tokens ? OX_U16 : OX_U8);
        if (text && fread(ox_data(text), tokens ? 2 : 1, (size_t)count, file) != (size_t)count) text = NULL;
    }
    if (file) fclose(file);
    if (!text) complain(path, "cannot be read");
    return text;
}

/* Sequences from random places, and what follows each token. */
static bool learn(gpt2 *m, ox_tensor *text, int64_t steps, int64_t batch, int64_t length, double rate) {
    const int64_t places = ox_numel(text) - length;
    ox_tensor *all[4096];
    const int count = gpt2_parameters(m, all);
    ox_optimizer *adamw = ox_optimizer_open(OX_OPTIMIZER_ADAMW, all, count);
    ox_optimizer_set(adamw, OX_ALL_GROUPS, "lr", rate);
    for (int64_t step = 1; step <= steps && ox_error() == OX_OK; step++)
        OX_SCOPE {
            ox_tensor *from = ox_unsqueeze(ox_randint(0, places, OX_SHAPE(batch), OX_I64), 1);
            ox_tensor *at = ox_add(from, ox_arange(0, (double)length + 1, 1, OX_I64));
            ox_tensor *both = ox_cast(
                ox_reshape(ox_index_select(text, 0, ox_flatten(at, 0, -1)), OX_SHAPE(batch, length + 1)),
                OX_I64);
            ox_tensor *loss = gpt2_loss(m, ox_narrow(both, 1, 0, length), ox_narrow(both, 1, 1, length));
            ox_optimizer_zero_grad(adamw);
            ox_backward(loss, NULL);
            ox_clip_grad_norm_(all, count, 1, 2);
            ox_optimizer_step(adamw);
            if (step == 1 || step % 20 == 0 || step == steps)
                printf("step %lld: loss %.4g\n", (long long)step, ox_item(loss));
        }
    ox_optimizer_close(adamw);
    return ox_error() == OX_OK;
}

/* What the model makes of the text's first bytes, where tokens are bytes. */
static void continue_text(const gpt2 *m, ox_tensor *text, int64_t length) {
    ox_tensor *ids = ox_unsqueeze(ox_cast(ox_narrow(text, 0, 0, length < 8 ? length : 8), OX_I64), 0);
    OX_NO_GRAD for (int i = 0; i < 64 && ids; i++) {
        int64_t known = ids->shape[1], seen = known < length ? known : length;
        ox_tensor *logits = gpt2_forward(m, ox_narrow(ids, 1, known - seen, seen));
        ox_tensor *next[2] = {ids, ox_multinomial(ox_softmax(ox_select(logits, 1, seen - 1), -1), 1, false)};
        ids = ox_cat(next, 2, 1);
    }
    if (!ids) return;
    const int64_t *token = (const int64_t *)ox_data(ids);
    for (int64_t i = 0; i < ox_numel(ids); i++)
        putchar(token[i] >= 32 && token[i] < 127 ? (int)token[i] : ' ');
    putchar('\n');
}

int main(int argc, char **argv) {
    const char *path = NULL, *model = NULL, *state = NULL, *save = NULL;
    int64_t steps = 60, batch = 8, length = 32, layers = 4, width = 64, padded = 0;
    double rate = 0.002;
    const char count[] = "wants a whole number from 1 to 1000000";
    const option options[] = {
        {"--model", read_text, &model, "wants a file"}, {"--check", read_text, &state, "wants a file"},
        {"--save", read_text, &save, "wants a file"},   {"--steps", read_count, &steps, count},
        {"--batch", read_count, &batch, count},         {"--length", read_count, &length, count},
        {"--layers", read_count, &layers, count},       {"--width", read_count, &width, count},
        {"--rate", read_real, &rate, "wants a number"}};
    const option plain[] = {{"TEXT", read_text, &path, "is a file"}};
    const command_line line = {"train_gpt2", help, options, sizeof options / sizeof *options, plain, 1};
    static gpt2 m;
    bool good;
    if (!options_read(&line, argc, argv)) return 2;
    if (state && !model) {
        fputs("train_gpt2: --check wants --model as well\n", stderr);
        return 2;
    }
    ox_scope scope = ox_scope_begin();
    ox_manual_seed(1);
    ox_tensor *text = state ? NULL : path ? load_text(path) : make_text();
    good = state || text;
    if (good && model) {
        good = load_model(model, &m, &padded);
        if (good && length > m.config.positions) length = m.config.positions;
    } else if (good) {
        const gpt2_config config = {length, text->dtype == OX_U8 ? 256 : 65536, layers, width / 16, width};
        m.config = config;
        good =
            (layers <= GPT2_MOST_LAYERS && width % 16 == 0) || complain("--layers, --width", "no such model");
        good = good && make_model(&m);
    }
    if (good && state) {
        good = check(&m, padded, state);
    } else if (good) {
        int64_t numbers = 0;
        for (int kind = 0; kind < GPT2_KINDS; kind++)
            for (int64_t l = 0; l < gpt2_copies(&m.config, kind); l++) numbers += ox_numel(m.p[kind][l]);
        printf("%lld layers of width %lld, %lld tokens, %.1f million parameters\n",
               (long long)m.config.layers, (long long)m.config.width, (long long)m.config.vocabulary,
               (double)numbers / 1e6);
        good = ox_numel(text) > length + 1 || complain(path ? path : "text", "is too short");
        good = good && learn(&m, text, steps, batch, length, rate);
        if (good && text->dtype == OX_U8) continue_text(&m, text, length);
        if (good && save) good = save_model(save, &m);
    }
    if (ox_error() != OX_OK) fprintf(stderr, "train_gpt2: %s\n", ox_error_text());
    ox_scope_end(&scope);
    return good ? 0 : 1;
}
