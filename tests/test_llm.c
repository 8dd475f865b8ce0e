/* test_llm.c - small models written here, of every weight type, against a forward pass in double; hostile
 * files; generation; with OX_TEST_DATA a trained model, byte for byte. OX_TIERS
 */
#include "oxtorch_llm.h"
#include "check.h"
#include "hook_alloc.h"
#include "llm_make.h"
#include "read_file.h"

#include <math.h>

/* ---- models ------------------------------------------------------------------------------------------- */

static ox_llm *write_and_open(gguf_make *g) {
    const char *path = gguf_path("llm.gguf");
    CHECK(gguf_write(g, path) == 0);
    ox_llm *llm = ox_llm_open(path, NULL);
    const size_t length = strlen(path);
    CHECK_MSG(llm || (strncmp(ox_error_text(), path, length) == 0 &&
                      strncmp(ox_error_text() + length, ": ", 2) == 0 &&
                      !strstr(ox_error_text() + length, path)),
              "the file is not named, or twice: %s", ox_error_text());
    remove(path);
    return llm;
}

static ox_llm *open_model(model *m, sizes s) {
    gguf_make g;
    memset(&g, 0, sizeof g);
    add_model(&g, m, s);
    ox_llm *llm = write_and_open(&g);
    CHECK_MSG(llm != NULL, "%s", ox_error_text());
    return llm;
}

/* ---- the forward pass by the book ---------------------------------------------------------------------- */

/* out [rows] = w [rows, columns] x + bias */
static void product(const float *w, const float *bias, int rows, int columns, const double *x, double *out) {
    for (int r = 0; r < rows; r++) {
        out[r] = bias ? bias[r] : 0;
        for (int c = 0; c < columns; c++) out[r] += (double)w[r * columns + c] * x[c];
    }
}

static void rms_norm(const float *weight, int count, const double *x, double *out) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += x[i] * x[i];
    for (int i = 0; i < count; i++) out[i] = x[i] / sqrt(sum / count + 1e-5f) * weight[i];
}

static void turn(const model *m, int heads, int position, double *x) {
    for (int h = 0; h < heads; h++, x += m->s.key) {
        for (int i = 0; i < m->s.rope / 2; i++) {
            const double factor = m->factors ? m->factors[i] : 1;
            const double angle = position / m->s.scaling / (pow(5000, 2.0 * i / m->s.rope) * factor);
            const double a = x[2 * i], b = x[2 * i + 1];
            x[2 * i] = a * cos(angle) - b * sin(angle);
            x[2 * i + 1] = a * sin(angle) + b * cos(angle);
        }
    }
}

/* keys and values of positions 0 .. position, kv_heads * size each; out [heads * value] */
static void attend(const sizes *s, int position, const double *q, const double *keys, const double *values,
                   double *out) {
    double scores[64];
    for (int h = 0; h < s->heads; h++) {
        const int kv = h / (s->heads / s->kv_heads);
        double max = -INFINITY, sum = 0;
        for (int t = 0; t <= position; t++) {
            scores[t] = 0;
            for (int i = 0; i < s->key; i++) {
                scores[t] += q[h * s->key + i] * keys[(t * s->kv_heads + kv) * s->key + i];
            }
            scores[t] /= sqrt(s->key);
            if (scores[t] > max) max = scores[t];
        }
        for (int t = 0; t <= position; t++) sum += scores[t] = exp(scores[t] - max);
        for (int i = 0; i < s->value; i++) {
            out[h * s->value + i] = 0;
            for (int t = 0; t <= position; t++) {
                out[h * s->value + i] += scores[t] / sum * values[(t * s->kv_heads + kv) * s->value + i];
            }
        }
    }
}

/* logits [count, vocabulary] */
static void reference(const model *m, const int32_t *tokens, int count, double *logits) {
    const sizes *s = &m->s;
    static double keys[MAX_LAYERS][64 * 256], values[MAX_LAYERS][64 * 256];
    double x[512], normal[512], q[512], out[512], gate[512], up[512];
    for (int t = 0; t < count; t++) {
        for (int i = 0; i < s->width; i++) x[i] = m->embedding[tokens[t] * s->width + i];
        for (int l = 0; l < s->layers; l++) {
            float *const *w = m->layer[l];
            double *k = keys[l] + t * s->kv_heads * s->key, *v = values[l] + t * s->kv_heads * s->value;
            rms_norm(w[NORM], s->width, x, normal);
            product(w[Q], w[Q_BIAS], s->heads * s->key, s->width, normal, q);
            product(w[K], w[K_BIAS], s->kv_heads * s->key, s->width, normal, k);
            product(w[V], w[V_BIAS], s->kv_heads * s->value, s->width, normal, v);
            turn(m, s->heads, t, q);
            turn(m, s->kv_heads, t, k);
            attend(s, t, q, keys[l], values[l], out);
            product(w[MERGE], w[MERGE_BIAS], s->width, s->heads * s->value, out, normal);
            for (int i = 0; i < s->width; i++) x[i] += normal[i];
            rms_norm(w[HIDDEN_NORM], s->width, x, normal);
            product(w[GATE], NULL, s->hidden, s->width, normal, gate);
            product(w[UP], NULL, s->hidden, s->width, normal, up);
            for (int i = 0; i < s->hidden; i++) gate[i] *= up[i] / (1 + exp(-gate[i]));
            product(w[DOWN], NULL, s->width, s->hidden, gate, normal);
            for (int i = 0; i < s->width; i++) x[i] += normal[i];
        }
        rms_norm(m->output_norm, s->width, x, normal);
        product(s->tied ? m->embedding : m->output, NULL, s->vocabulary, s->width, normal,
                logits + t * s->vocabulary);
    }
}

enum { TEXT = 9, MOST_LOGITS = TEXT * 64 };
static const int32_t text[TEXT] = {1, 5, 30, 5, 7, 29, 11, 3, 2};

/* The largest difference, as a part of the largest logit. */
static double worst(const float *got, const double *expected, int count) {
    double difference = 0, size = 0;
    for (int i = 0; i < count; i++) {
        difference = fmax(difference, isnan(got[i]) ? INFINITY : fabs(got[i] - expected[i]));
        size = fmax(size, fabs(expected[i]));
    }
    return difference / size;
}

static ox_llm_context *open_context(ox_llm *llm, int64_t capacity, ox_dtype cache, int64_t batch) {
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = capacity;
    desc.cache = cache;
    desc.batch = batch;
    ox_llm_context *context = ox_llm_context_open(llm, &desc);
    CHECK_MSG(context != NULL, "%s", ox_error_text());
    return context;
}

/* All logits of the text, in batches. */
static void run_text(ox_llm *llm, ox_dtype cache, int64_t batch, float *logits) {
    ox_llm_context *context = open_context(llm, 0, cache, batch);
    CHECK_MSG(ox_llm_decode_all(context, text, TEXT, logits) == OX_OK, "%s", ox_error_text());
    CHECK(ox_llm_length(context) == TEXT);
    ox_llm_context_close(context);
}

static void expect_reference(ox_llm *llm, const model *m, const char *what, double tolerance) {
    double expected[MOST_LOGITS];
    float logits[MOST_LOGITS];
    reference(m, text, TEXT, expected);
    run_text(llm, OX_DTYPE_NONE, 0, logits);
    const double off = worst(logits, expected, TEXT * m->s.vocabulary);
    CHECK_MSG(off <= tolerance, "%s: off by %g of the largest logit", what, off);
    if (getenv("OX_TEST_VERBOSE")) printf("%s: off by %g, allowed %g\n", what, off, tolerance);
}

static void test_weight_types(void) {
    for (int i = 0; i < (int)(sizeof weight_types / sizeof *weight_types); i++) {
        model m;
        sizes s = small;
        s.type = weight_types[i].type;
        ox_llm *llm = open_model(&m, s);
        char what[64];
        snprintf(what, sizeof what, "weights of GGUF type %d", s.type);
        ox_set_exact(true);
        expect_reference(llm, &m, what, 1e-5);
        ox_set_exact(false);
        if (weight_types[i].make) expect_reference(llm, &m, what, weight_types[i].coarse);
        ox_llm_close(llm);
        free_model(&m);
    }
}

static void test_shapes(void) {
    model m;
    sizes s = odd;
    ox_llm *llm = open_model(&m, s);
    const ox_llm_config *c = ox_llm_get_config(llm);
    CHECK(c->layers == 3 && c->width == 48 && c->hidden == 40 && c->heads == 6 && c->kv_heads == 3);
    CHECK(c->key_size == 10 && c->value_size == 6 && c->rope_size == 8 && c->vocabulary == 37 &&
          c->context == 64);
    CHECK(c->rope_scale == 0.5 && c->rope_base == 5000 && c->tied && strcmp(c->architecture, "llama") == 0);
    CHECK(strcmp(c->name, "made?up") == 0 && c->parameters > 0 && c->bytes == 4 * c->parameters);
    expect_reference(llm, &m, "odd sizes", 1e-5);
    CHECK_MSG(ox_llm_tokenizer(llm) == NULL && ox_error() == OX_ERR_NOT_FOUND &&
                  strstr(ox_error_text(), "the model's file has no tokenizer"),
              "%s", ox_error_text());
    ox_error_clear();
    ox_llm_close(llm);
    free_model(&m);
    s.tied = s.biases = s.factors = 0;
    s.kv_heads = 1;
    llm = open_model(&m, s);
    expect_reference(llm, &m, "one key-value head", 1e-5);
    ox_llm_close(llm);
    free_model(&m);
}

/* ---- batches, threads, caches, positions --------------------------------------------------------------- */

static double apart(const float *a, const float *b, int count) {
    double expected[MOST_LOGITS];
    for (int i = 0; i < count; i++) expected[i] = b[i];
    return worst(a, expected, count);
}

static void test_batches(int type, double tolerance) {
    model m;
    sizes s = small;
    s.type = type;
    ox_llm *llm = open_model(&m, s);
    float all[MOST_LOGITS], other[MOST_LOGITS], last[64];
    const int count = TEXT * s.vocabulary;
    run_text(llm, OX_F32, 0, all);
    run_text(llm, OX_F32, 1, other);
    CHECK_MSG(apart(other, all, count) <= tolerance, "token by token: %g", apart(other, all, count));
    run_text(llm, OX_F32, 4, other);
    CHECK_MSG(apart(other, all, count) <= tolerance, "batches of 4: %g", apart(other, all, count));
    run_text(llm, OX_F16, 0, other);
    CHECK_MSG(apart(other, all, count) <= 2e-3 + tolerance, "f16 cache: %g", apart(other, all, count));
    run_text(llm, OX_BF16, 0, other);
    CHECK_MSG(apart(other, all, count) <= 2e-2 + tolerance, "bf16 cache: %g", apart(other, all, count));
    run_text(llm, OX_Q8_0, 0, other);
    CHECK_MSG(apart(other, all, count) <= 2e-2 + tolerance, "q8_0 cache: %g", apart(other, all, count));
    run_text(llm, OX_Q8_0, 1, all);
    CHECK_MSG(apart(other, all, count) <= 1e-2 + tolerance, "q8_0 cache, token by token: %g",
              apart(other, all, count));
    run_text(llm, OX_F32, 0, all);
    ox_llm_context *context = open_context(llm, 0, OX_F32, 0);
    CHECK(ox_llm_decode(context, text, TEXT, last) == OX_OK);
    CHECK(apart(last, all + (TEXT - 1) * s.vocabulary, s.vocabulary) <= tolerance);
    /* back to the third token, and on from there */
    CHECK(ox_llm_rewind(context, 3) == OX_OK && ox_llm_length(context) == 3);
    CHECK(ox_llm_decode(context, text + 3, TEXT - 4, NULL) == OX_OK);
    CHECK(ox_llm_decode_one(context, text[TEXT - 1], last) == OX_OK);
    CHECK(apart(last, all + (TEXT - 1) * s.vocabulary, s.vocabulary) <= tolerance);
    CHECK(ox_llm_rewind(context, TEXT - 1) == OX_OK);
    const float *there = ox_llm_step(context, text[TEXT - 1]);
    CHECK(there && memcmp(there, last, (size_t)s.vocabulary * sizeof *last) == 0);
    CHECK(!ox_llm_step(context, -1) && ox_error() == OX_ERR_INDEX && ox_llm_length(context) == TEXT);
    ox_error_clear();
    ox_llm_context_close(context);
    ox_llm_close(llm);
    free_model(&m);
}

/* A file that was read into memory, whose weights are repacked where a tier has kernels for that: the model
 * is the one that stays in the file, bit for bit where products are exact; else sums are added in another
 * order, and an activation may be rounded to the next code. A second one of the same file is the same, and
 * tensors that somebody takes from it. */
static void test_copies(void) {
    static const int types[] = {TYPE_Q4_0, TYPE_Q4_K, TYPE_Q6_K};
    for (int i = 0; i < 3; i++) {
        model m;
        gguf_make g;
        sizes s = small;
        s.type = types[i];
        s.vocabulary = 64;
        s.tied = i == 1; /* rows of the embedding are read from what is repacked */
        memset(&g, 0, sizeof g);
        add_model(&g, &m, s);
        char path[1024];
        snprintf(path, sizeof path, "%s", gguf_path("copied.gguf"));
        CHECK(gguf_write(&g, path) == 0);
        ox_file *file = ox_file_open_copy(path, NULL), *plain = ox_file_open(path, NULL);
        ox_llm *mapped = ox_llm_open(path, NULL), *copied = ox_llm_open_file(file), *second;
        remove(path);
        CHECK_MSG(file && plain && mapped && copied, "%s", ox_error_text());
        float want[MOST_LOGITS], got[MOST_LOGITS];
        const int count = TEXT * s.vocabulary;
        for (int batch = 0; batch < 2; batch++) {
            run_text(mapped, OX_F32, batch, want);
            run_text(copied, OX_F32, batch, got);
            CHECK_MSG(apart(got, want, count) <= 0.02, "copied, %d: %g", batch, apart(got, want, count));
            ox_set_exact(true);
            run_text(mapped, OX_F32, batch, want);
            run_text(copied, OX_F32, batch, got);
            CHECK_MSG(memcmp(got, want, (size_t)count * sizeof *got) == 0, "copied, exact, %d", batch);
            ox_set_exact(false);
        }
        expect_reference(copied, &m, "copied", type_row(s.type)->coarse);
        second = ox_llm_open_file(file);
        run_text(copied, OX_F32, 1, got);
        run_text(second, OX_F32, 1, want);
        CHECK_MSG(memcmp(got, want, (size_t)count * sizeof *got) == 0, "two models of a file differ");
        for (int64_t t = 0; t < ox_file_count(file); t++)
            OX_SCOPE {
                ox_tensor *here = ox_file_tensor_at(file, t), *there = ox_file_tensor_at(plain, t);
                CHECK(here && there && memcmp(ox_data(here), ox_data(there), ox_nbytes(there)) == 0);
            }
        run_text(copied, OX_F32, 1, got); /* put back by these looks */
        CHECK_MSG(apart(got, want, count) <= 0.02, "put back: %g", apart(got, want, count));
        ox_set_exact(true);
        expect_reference(second, &m, "copied, exact", 1e-5);
        ox_set_exact(false);
        ox_llm_close(copied);
        copied = ox_llm_open_file(file); /* repacked once more */
        ox_file_close(file);
        ox_llm_close(second);
        ox_set_exact(true);
        expect_reference(copied, &m, "the last of three, exact", 1e-5);
        ox_set_exact(false);
        expect_reference(copied, &m, "the last of three", type_row(s.type)->coarse);
        ox_llm_close(copied);
        ox_llm_close(mapped);
        ox_file_close(plain);
        free_model(&m);
    }
}

/* Past the first 256 positions the caches grow; what they hold stays. */
static void test_growth(void) {
    enum { LONG = 600 };
    model m;
    ox_llm *llm = open_model(&m, tiny);
    ox_llm_context *grown = open_context(llm, LONG, OX_F32, 0), *once = open_context(llm, LONG, OX_F32, 100);
    int32_t tokens[LONG];
    float a[32], b[32];
    for (int i = 0; i < LONG; i++) tokens[i] = random_between(0, 31);
    CHECK(ox_llm_decode(once, tokens, LONG, b) == OX_OK);
    CHECK(ox_llm_decode(grown, tokens, 250, NULL) == OX_OK);
    for (int i = 250; i < 260; i++) CHECK(ox_llm_decode_one(grown, tokens[i], NULL) == OX_OK);
    CHECK(ox_llm_decode(grown, tokens + 260, LONG - 260, a) == OX_OK && ox_llm_length(grown) == LONG);
    CHECK_MSG(apart(a, b, 32) <= 1e-5, "%g", apart(a, b, 32));
    ox_llm_context_close(grown);
    ox_llm_context_close(once);
    ox_llm_close(llm);
    free_model(&m);
}

static void test_threads(void) {
    model m;
    sizes s = small;
    s.type = TYPE_Q4_0;
    ox_llm *llm = open_model(&m, s);
    float one[MOST_LOGITS], two[MOST_LOGITS];
    const size_t bytes = (size_t)(TEXT * s.vocabulary) * sizeof *one;
    for (int batch = 0; batch < 2; batch++) {
        ox_set_threads(1);
        run_text(llm, OX_F32, batch, one);
        ox_set_threads(2);
        run_text(llm, OX_F32, batch, two);
        CHECK_MSG(memcmp(one, two, bytes) == 0, "1 and 2 threads differ, batch %d", batch);
        ox_set_threads(3);
        run_text(llm, OX_F32, batch, two);
        CHECK_MSG(memcmp(one, two, bytes) == 0, "1 and 3 threads differ, batch %d", batch);
    }
    ox_set_threads(0);
    ox_llm_close(llm);
    free_model(&m);
}

static void expect_error(ox_status got, ox_status expected) {
    CHECK_MSG(got == expected && ox_error() == expected, "%d, expected %d: %s", (int)got, (int)expected,
              ox_error_text());
    ox_error_clear();
}

static void test_refusals(void) {
    model m;
    ox_llm *llm = open_model(&m, tiny);
    ox_llm_context *context = open_context(llm, 8, OX_F32, 0);
    const int32_t high[2] = {1, 32}, low[1] = {-1};
    float logits[64];
    CHECK(ox_llm_capacity(context) == 8 && ox_llm_length(context) == 0);
    expect_error(ox_llm_decode(context, high, 2, logits), OX_ERR_INDEX);
    expect_error(ox_llm_decode(context, low, 1, logits), OX_ERR_INDEX);
    expect_error(ox_llm_decode(context, high, 0, logits), OX_ERR_ARG);
    expect_error(ox_llm_decode(context, NULL, 1, logits), OX_ERR_ARG);
    expect_error(ox_llm_decode(context, text, 9, logits), OX_ERR_ARG);
    expect_error(ox_llm_decode(NULL, text, 1, logits), OX_ERR_ARG);
    expect_error(ox_llm_rewind(context, 1), OX_ERR_ARG);
    CHECK(ox_llm_decode(context, text, 8, logits) == OX_OK);
    expect_error(ox_llm_decode_one(context, 1, logits), OX_ERR_ARG);
    CHECK(ox_llm_length(context) == 8);
    ox_llm_close(llm); /* the context keeps it */
    CHECK(ox_llm_rewind(context, 0) == OX_OK && ox_llm_decode(context, text, 8, logits) == OX_OK);
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = -1;
    CHECK(ox_llm_context_open(llm, &desc) == NULL);
    expect_error(ox_error(), OX_ERR_ARG);
    desc.capacity = 0;
    desc.cache = OX_Q4_0;
    CHECK(ox_llm_context_open(llm, &desc) == NULL);
    expect_error(ox_error(), OX_ERR_DTYPE);
    ox_llm_context_close(context);
    ox_llm_close(NULL);
    ox_llm_context_close(NULL);
    CHECK(ox_llm_open(gguf_path("no such file"), NULL) == NULL);
    expect_error(ox_error(), OX_ERR_IO);
    free_model(&m);
    llm = open_model(&m, odd); /* keys of 10 numbers */
    desc.cache = OX_Q8_0;
    CHECK(ox_llm_context_open(llm, &desc) == NULL);
    expect_error(ox_error(), OX_ERR_DTYPE);
    ox_llm_close(llm);
    free_model(&m);
}

static void expect_missing(int failed, const char *words) {
    CHECK_MSG(failed && strcmp(ox_error_text(), words) == 0, "%s: %s", words, ox_error_text());
    expect_error(ox_error(), OX_ERR_ARG);
}

/* What fails on NULL says so; facts of NULL are zeros. */
static void test_nulls(void) {
    const char *no_model = "llm: the model is NULL", *no_context = "llm: the context is NULL";
    expect_missing(!ox_llm_open_file(NULL), "llm: the file is NULL");
    expect_missing(!ox_llm_get_config(NULL), no_model);
    expect_missing(!ox_llm_tokenizer(NULL), no_model);
    expect_missing(!ox_llm_context_open(NULL, NULL), no_model);
    expect_missing(ox_llm_decode(NULL, text, 1, NULL) == OX_ERR_ARG, no_context);
    expect_missing(ox_llm_decode_all(NULL, text, 1, NULL) == OX_ERR_ARG, no_context);
    expect_missing(ox_llm_decode_one(NULL, 1, NULL) == OX_ERR_ARG, no_context);
    expect_missing(ox_llm_rewind(NULL, 0) == OX_ERR_ARG, no_context);
    expect_missing(ox_llm_generate(NULL, "", NULL, NULL) == OX_ERR_ARG, no_context);
    CHECK(ox_llm_capacity(NULL) == 0 && ox_llm_length(NULL) == 0 && ox_error() == OX_OK);
    /* an error that is there stands, through a whole chain of calls */
    ox_llm *llm = ox_llm_open(gguf_path("no such file"), NULL);
    ox_llm_context *context = ox_llm_context_open(llm, NULL);
    CHECK(!context && ox_llm_decode_one(context, 1, NULL) == OX_ERR_IO);
    expect_error(ox_llm_generate(context, "", NULL, NULL), OX_ERR_IO);
}

/* The name that stands before the errors of a file goes when it is open, or is not. */
static void test_file_named(void) {
    model m;
    gguf_make g;
    ox_llm *llm = open_model(&m, tiny);
    expect_missing(ox_llm_decode_one(NULL, 1, NULL) == OX_ERR_ARG, "llm: the context is NULL");
    ox_llm_close(llm);
    free_model(&m);
    memset(&g, 0, sizeof g);
    left_out = "blk.0.ffn_up.weight";
    add_model(&g, &m, tiny);
    left_out = "";
    CHECK(!write_and_open(&g) && strstr(ox_error_text(), "llm.gguf: tensor blk.0.ffn_up.weight is missing"));
    expect_error(ox_error(), OX_ERR_NOT_FOUND);
    expect_missing(ox_llm_decode_one(NULL, 1, NULL) == OX_ERR_ARG, "llm: the context is NULL");
    free_model(&m);
}

/* ---- hostile files ------------------------------------------------------------------------------------- */

enum { NOTHING, AS_U32, AS_I32, AS_F32, AS_TEXT, AS_ARRAY, AS_TENSOR, AS_TENSOR_I32 };

/* `key` is left out of a good file, and put back as something else. */
static const struct {
    const char *key;
    int how;
    double number;
    const char *text;
    ox_status status;
    const char *words;
} hostile[] = {
    {"general.architecture", NOTHING, 0, NULL, OX_ERR_NOT_FOUND, "general.architecture"},
    {"general.architecture", AS_TEXT, 0, "no-such-family", OX_ERR_UNSUPPORTED, "no-such-family"},
    {"general.architecture", AS_U32, 3, NULL, OX_ERR_NOT_FOUND, "general.architecture"},
    {"llama.block_count", NOTHING, 0, NULL, OX_ERR_NOT_FOUND, "llama.block_count"},
    {"llama.block_count", AS_U32, 0, NULL, OX_ERR_FORMAT, "llama.block_count"},
    {"llama.block_count", AS_U32, 4e9, NULL, OX_ERR_FORMAT, "llama.block_count"},
    {"llama.block_count", AS_U32, 1e9, NULL, OX_ERR_FORMAT, "layers"},
    {"llama.block_count", AS_U32, 2, NULL, OX_ERR_NOT_FOUND, "blk.1.attn_norm.weight"},
    {"llama.block_count", AS_TEXT, 0, "1", OX_ERR_FORMAT, "llama.block_count"},
    {"llama.block_count", AS_F32, 1, NULL, OX_ERR_FORMAT, "llama.block_count"},
    {"llama.block_count", AS_ARRAY, 1, NULL, OX_ERR_FORMAT, "llama.block_count"},
    {"llama.context_length", NOTHING, 0, NULL, OX_ERR_NOT_FOUND, "llama.context_length"},
    {"llama.context_length", AS_I32, -5, NULL, OX_ERR_FORMAT, "llama.context_length"},
    {"llama.embedding_length", NOTHING, 0, NULL, OX_ERR_NOT_FOUND, "llama.embedding_length"},
    {"llama.embedding_length", AS_U32, 64, NULL, OX_ERR_SHAPE, "token_embd.weight"},
    {"llama.embedding_length", AS_U32, 2147483647, NULL, OX_ERR_NOT_FOUND, "llama.attention.key_length"},
    {"llama.feed_forward_length", AS_U32, 2147483647, NULL, OX_ERR_SHAPE, "blk.0.ffn_gate.weight"},
    {"llama.attention.head_count", AS_U32, 0, NULL, OX_ERR_FORMAT, "llama.attention.head_count"},
    {"llama.attention.head_count", AS_U32, 1, NULL, OX_ERR_SHAPE, "blk.0.attn_k.weight"},
    {"llama.attention.head_count", AS_ARRAY, 3, NULL, OX_ERR_NOT_FOUND, "key_length"},
    {"llama.attention.head_count_kv", AS_U32, 3, NULL, OX_ERR_FORMAT, "3 key-value heads"},
    {"llama.attention.head_count_kv", AS_U32, 2, NULL, OX_ERR_SHAPE, "blk.0.attn_k.weight"},
    {"llama.attention.key_length", AS_U32, 2147483646, NULL, OX_ERR_SHAPE, "blk.0.attn_q.weight"},
    {"llama.attention.value_length", AS_U32, 8, NULL, OX_ERR_SHAPE, "blk.0.attn_v.weight"},
    {"llama.rope.dimension_count", AS_U32, 3, NULL, OX_ERR_FORMAT, "rope"},
    {"llama.rope.dimension_count", AS_U32, 18, NULL, OX_ERR_FORMAT, "rope"},
    {"llama.rope.freq_base", AS_F32, -1, NULL, OX_ERR_FORMAT, "llama.rope.freq_base"},
    {"llama.rope.freq_base", AS_F32, INFINITY, NULL, OX_ERR_FORMAT, "llama.rope.freq_base"},
    {"llama.rope.scaling.type", AS_TEXT, 0, "dynamic", OX_ERR_UNSUPPORTED, "dynamic"},
    {"llama.rope.scaling.factor", AS_F32, -1, NULL, OX_ERR_FORMAT, "llama.rope.scaling.factor"},
    {"llama.attention.layer_norm_rms_epsilon", NOTHING, 0, NULL, OX_ERR_NOT_FOUND, "rms_epsilon"},
    {"llama.attention.layer_norm_rms_epsilon", AS_F32, NAN, NULL, OX_ERR_FORMAT, "rms_epsilon"},
    {"llama.attention.layer_norm_rms_epsilon", AS_F32, -1, NULL, OX_ERR_FORMAT, "rms_epsilon"},
    {"llama.expert_count", AS_U32, 8, NULL, OX_ERR_NOT_FOUND, "llama.expert_used_count"},
    {"llama.vocab_size", AS_U32, 31, NULL, OX_ERR_FORMAT, "vocab_size 31"},
    {"token_embd.weight", NOTHING, 0, NULL, OX_ERR_NOT_FOUND, "token_embd.weight"},
    {"token_embd.weight", AS_TENSOR, 1, NULL, OX_ERR_SHAPE, "token_embd.weight"},
    {"output.weight", AS_TENSOR, 32, NULL, OX_ERR_SHAPE, "output.weight"},
    {"output_norm.weight", NOTHING, 0, NULL, OX_ERR_NOT_FOUND, "output_norm.weight"},
    {"output_norm.weight", AS_TENSOR_I32, 32, NULL, OX_ERR_DTYPE, "output_norm.weight"},
    {"rope_freqs.weight", AS_TENSOR, 9, NULL, OX_ERR_SHAPE, "rope_freqs.weight"},
    {"blk.0.attn_norm.weight", AS_TENSOR, 31, NULL, OX_ERR_SHAPE, "blk.0.attn_norm.weight"},
    {"blk.0.attn_q.bias", AS_TENSOR, 31, NULL, OX_ERR_SHAPE, "blk.0.attn_q.bias"},
    {"blk.0.ffn_up.weight", NOTHING, 0, NULL, OX_ERR_NOT_FOUND, "blk.0.ffn_up.weight"},
    {"blk.0.ffn_up.weight", AS_TENSOR, 32, NULL, OX_ERR_SHAPE, "blk.0.ffn_up.weight"}};

static void put_back(gguf_make *g, int i) {
    const char *key = hostile[i].key;
    const double number = hostile[i].number;
    const int64_t count = fabs(number) < 1e18 ? (int64_t)number : 0;
    const unsigned char zeros[256] = {0};
    switch (hostile[i].how) {
    case AS_U32: gguf_u32(g, key, (uint32_t)number); break;
    case AS_I32: gguf_i32(g, key, (int32_t)number); break;
    case AS_F32: gguf_f32(g, key, (float)number); break;
    case AS_TEXT: gguf_text(g, key, hostile[i].text); break;
    case AS_ARRAY:
        gguf_array(g, key, GGUF_U32, 1);
        gguf_number(&g->keys, (uint64_t)number, 4);
        break;
    case AS_TENSOR: gguf_tensor(g, key, TYPE_F32, 1, &count, zeros, (size_t)count * 4); break;
    case AS_TENSOR_I32: gguf_tensor(g, key, TYPE_I32, 1, &count, zeros, (size_t)count * 4); break;
    default: break;
    }
}

static void test_hostile(void) {
    for (int i = 0; i < (int)(sizeof hostile / sizeof *hostile); i++) {
        model m;
        gguf_make g;
        memset(&g, 0, sizeof g);
        left_out = hostile[i].key;
        put_back(&g, i);
        add_model(&g, &m, tiny);
        left_out = "";
        ox_llm *llm = write_and_open(&g);
        CHECK_MSG(!llm && ox_error() == hostile[i].status && strstr(ox_error_text(), hostile[i].words),
                  "case %d, %s: %d \"%s\"", i, hostile[i].key, (int)ox_error(), ox_error_text());
        ox_error_clear();
        ox_llm_close(llm);
        free_model(&m);
    }
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static bool try_everything(const char *path) {
    ox_llm_generate_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.steps = 2;
    desc.sampling.temperature = 1;
    ox_llm *llm = ox_llm_open(path, NULL);
    ox_llm_context *context = llm ? ox_llm_context_open(llm, NULL) : NULL;
    ox_llm_close(llm);
    const bool done = context && ox_llm_generate(context, "ABC", &desc, NULL) == OX_OK;
    ox_llm_context_close(context);
    return done;
}

/* Whichever allocation fails: an error, and nothing is lost. */
static void test_scarce_memory(void) {
    model m;
    gguf_make g;
    const char *path = gguf_path("scarce.gguf");
    memset(&g, 0, sizeof g);
    add_model(&g, &m, tiny);
    CHECK(gguf_write(&g, path) == 0);
    free_model(&m);
    hook h = {0, INT64_MAX, 0, 0, 0, 0};
    const ox_allocator scarce = {hook_alloc, hook_free, &h};
    ox_trim();
    CHECK_MSG(ox_set_allocator(&scarce) == OX_OK, "%s", ox_error_text());
    CHECK_MSG(try_everything(path), "%s", ox_error_text()); /* what is made once is made now */
    const size_t before = ox_memory_get_stats().bytes_in_use;
    bool done = false;
    for (int64_t most = 0; most < 2000 && !done; most++) {
        ox_trim();
        hook_allow(&h, most);
        done = try_everything(path);
        CHECK_MSG(done || ox_error() == OX_ERR_NOMEM, "%lld allocations: %d %s", (long long)most,
                  (int)ox_error(), ox_error_text());
        CHECK_MSG(ox_memory_get_stats().bytes_in_use == before && ox_memory_get_stats().tensors == 0,
                  "%lld allocations: %lld bytes lost", (long long)most,
                  (long long)(ox_memory_get_stats().bytes_in_use - before));
        ox_error_clear();
    }
    CHECK(done);
    hook_allow(&h, INT64_MAX);
    ox_trim();
    CHECK_MSG(ox_set_allocator(NULL) == OX_OK, "%s", ox_error_text());
    ox_error_clear();
    remove(path);
}

/* ---- generation ---------------------------------------------------------------------------------------- */

typedef struct heard {
    int32_t tokens[256];
    char text[4096];
    size_t length;
    int count, most;
} heard;

static bool listen(void *user, const char *bytes, int64_t length, int32_t token) {
    heard *h = (heard *)user;
    h->tokens[h->count++] = token;
    if (h->length + (size_t)length < sizeof h->text) {
        memcpy(h->text + h->length, bytes, (size_t)length);
        h->length += (size_t)length;
    }
    return h->count != h->most;
}

static ox_llm_generate_result generate(ox_llm_context *context, const char *prompt, int64_t steps,
                                       bool past_end, double temperature, heard *h) {
    ox_llm_generate_desc desc;
    ox_llm_generate_result result;
    memset(&desc, 0, sizeof desc);
    desc.steps = steps;
    desc.past_end = past_end;
    desc.sampling.temperature = temperature;
    desc.sampling.seed = 3;
    desc.text = listen;
    desc.user = h;
    CHECK_MSG(ox_llm_generate(context, prompt, &desc, &result) == OX_OK, "%s", ox_error_text());
    return result;
}

static int32_t largest(const float *logits, int count) {
    int best = 0;
    for (int i = 1; i < count; i++) best = logits[i] > logits[best] ? i : best;
    return best;
}

static void test_generate(void) {
    model m;
    ox_llm *llm = open_model(&m, tiny);
    ox_llm_context *a = open_context(llm, 40, OX_F32, 0), *b = open_context(llm, 40, OX_F32, 0);
    heard first, second, whole;
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    memset(&whole, 0, sizeof whole);
    /* greedy, against steps by hand */
    ox_llm_generate_result r = generate(a, "ABBA", 6, true, 0, &first);
    const int32_t prompt[5] = {1, 3, 4, 4, 3};
    float logits[32];
    CHECK(r.stop == OX_LLM_STOP_STEPS && r.prompt_tokens == 5 && r.new_tokens == 6 && first.count == 6);
    CHECK(ox_llm_length(a) == 10);
    CHECK(ox_llm_decode(b, prompt, 5, logits) == OX_OK);
    for (int i = 0; i < 6; i++) {
        const int32_t token = largest(logits, 32);
        CHECK(first.tokens[i] == token && ox_llm_decode_one(b, token, logits) == OX_OK);
    }
    /* in two parts as in one, also across a second prompt */
    r = generate(a, "", 5, true, 0, &second);
    CHECK(r.prompt_tokens == 1 && r.new_tokens == 5);
    CHECK(ox_llm_rewind(b, 0) == OX_OK);
    r = generate(b, "ABBA", 11, true, 0, &whole);
    CHECK(memcmp(whole.tokens, first.tokens, 6 * sizeof *whole.tokens) == 0);
    CHECK(memcmp(whole.tokens + 6, second.tokens, 5 * sizeof *whole.tokens) == 0);
    r = generate(a, "CD", 1, true, 0, &second);
    CHECK(r.prompt_tokens == 3 && r.new_tokens == 1 && ox_llm_length(a) == 18);
    /* the same seed draws the same tokens */
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    CHECK(ox_llm_rewind(a, 0) == OX_OK && ox_llm_rewind(b, 0) == OX_OK);
    (void)generate(a, "A", 20, true, 1, &first);
    (void)generate(b, "A", 20, true, 1, &second);
    CHECK(memcmp(&first, &second, sizeof first) == 0);
    ox_llm_context_close(a);
    ox_llm_context_close(b);
    ox_llm_close(llm);
    free_model(&m);
}

static void test_stops(void) {
    model m;
    ox_llm *llm = open_model(&m, tiny);
    ox_llm_context *context = open_context(llm, 16, OX_F32, 0);
    heard h;
    memset(&h, 0, sizeof h);
    ox_llm_generate_result r = generate(context, "AB", 0, true, 1, &h);
    CHECK(r.stop == OX_LLM_STOP_CONTEXT && r.new_tokens == 14 && ox_llm_length(context) == 16);
    CHECK(ox_llm_generate(context, "A", NULL, NULL) == OX_ERR_ARG); /* full */
    ox_error_clear();
    memset(&h, 0, sizeof h);
    h.most = 3;
    CHECK(ox_llm_rewind(context, 0) == OX_OK);
    r = generate(context, "AB", 0, true, 1, &h);
    CHECK(r.stop == OX_LLM_STOP_CALLER && r.new_tokens == 3);
    /* an end token stops, sooner or later: high temperature picks it some day */
    ox_llm_stop stop = OX_LLM_STOP_NONE;
    for (int i = 0; i < 40 && stop != OX_LLM_STOP_END; i++) {
        ox_llm_generate_desc desc;
        memset(&desc, 0, sizeof desc);
        memset(&h, 0, sizeof h);
        desc.sampling.temperature = 100;
        desc.sampling.seed = (uint64_t)i;
        desc.text = listen;
        desc.user = &h;
        CHECK(ox_llm_rewind(context, 0) == OX_OK && ox_llm_generate(context, NULL, &desc, &r) == OX_OK);
        CHECK(r.prompt_tokens == 1);
        stop = r.stop;
    }
    CHECK(stop == OX_LLM_STOP_END && (h.tokens[h.count - 1] == 1 || h.tokens[h.count - 1] == 2));
    CHECK(ox_llm_generate(NULL, "", NULL, NULL) == OX_ERR_ARG);
    ox_error_clear();
    ox_llm_context_close(context);
    ox_llm_close(llm);
    free_model(&m);
}

/* ---- a trained model ----------------------------------------------------------------------------------- */

static char *read_model_file(const char *folder, const char *name, size_t *bytes) {
    char path[1200];
    snprintf(path, sizeof path, "%s/models/stories260K/%s", folder, name);
    return read_file(path, bytes);
}

/* Golden logits [64, 512], computed in double, from an .npy file of version 1. */
static void test_golden_logits(ox_llm *llm, const char *ids, const char *npy, size_t bytes) {
    const size_t head = 10 + (unsigned char)npy[8] + 256 * (unsigned char)npy[9];
    CHECK(bytes == head + 64 * 512 * sizeof(double));
    if (bytes != head + 64 * 512 * sizeof(double)) return;
    double *expected = (double *)malloc(64 * 512 * sizeof *expected), off = 0;
    float *logits = (float *)malloc(64 * 512 * sizeof *logits),
          *steps = (float *)malloc(64 * 512 * sizeof *steps);
    memcpy(expected, npy + head, 64 * 512 * sizeof *expected);
    int32_t tokens[64];
    for (int i = 0; i < 64; i++) tokens[i] = (int32_t)strtol(ids, (char **)&ids, 10);
    ox_llm_context *context = open_context(llm, 0, OX_DTYPE_NONE, 0);
    CHECK(ox_llm_decode_all(context, tokens, 64, logits) == OX_OK && ox_llm_rewind(context, 0) == OX_OK);
    for (int i = 0; i < 64; i++) CHECK(ox_llm_decode_one(context, tokens[i], steps + 512 * i) == OX_OK);
    for (int i = 0; i < 64 * 512; i++) {
        off = check_worst(off, fabs(logits[i] - expected[i]));
        off = check_worst(off, fabs(steps[i] - expected[i]));
    }
    CHECK_MSG(off <= 5e-5, "logits off by %g", off);
    if (getenv("OX_TEST_VERBOSE")) printf("stories260K: off by %g, allowed 5e-5\n", off);
    ox_llm_context_close(context);
    free(expected);
    free(logits);
    free(steps);
}

static void test_stories(const char *folder) {
    size_t text_bytes, ids_bytes, npy_bytes;
    char path[1200];
    snprintf(path, sizeof path, "%s/models/stories260K/stories260K.gguf", folder);
    char *expected = read_model_file(folder, "expected_greedy_200.txt", &text_bytes);
    char *ids = read_model_file(folder, "golden_greedy_ids.txt", &ids_bytes);
    char *npy = read_model_file(folder, "golden_greedy_logits_f64_64x512.npy", &npy_bytes);
    ox_llm *llm = expected && ids && npy ? ox_llm_open(path, NULL) : NULL;
    if (llm) {
        heard h;
        memset(&h, 0, sizeof h);
        ox_llm_generate_desc desc;
        memset(&desc, 0, sizeof desc);
        test_golden_logits(llm, ids, npy, npy_bytes);
        ox_llm_context *context = open_context(llm, 0, OX_DTYPE_NONE, 0);
        (void)generate(context, "", 63, false, 0, &h);
        (void)generate(context, "", 137, false, 0, &h);
        CHECK_MSG(h.length == text_bytes && memcmp(h.text, expected, text_bytes) == 0, "%.*s", (int)h.length,
                  h.text);
        ox_llm_context_close(context);
    } else {
        check_skip("stories260K", "no such model (OX_TEST_DATA)");
    }
    CHECK_MSG(llm || !expected, "%s", ox_error_text());
    ox_error_clear();
    ox_llm_close(llm);
    free(expected);
    free(ids);
    free(npy);
}

int main(void) {
    const char *folder = getenv("OX_TEST_DATA");
    test_weight_types();
    test_shapes();
    test_batches(TYPE_F32, 1e-5);
    test_batches(TYPE_Q4_0, 0.02); /* one row multiplies in int8, many may do so in f32 */
    test_copies();
    test_growth();
    test_threads();
    test_refusals();
    test_nulls();
    test_file_named();
    test_hostile();
    test_generate();
    test_stops();
    test_scarce_memory();
    test_stories(folder ? folder : "../shared/data");
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0 &&
          ox_memory_get_stats().bad_releases == 0);
    return check_done("llm");
}
