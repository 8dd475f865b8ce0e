/* test_llm_t5.c - encoders with decoders (T5) against plain loops in double: biases of distances in buckets,
 * attention to what the encoder read, both feed-forwards; what a context keeps of a text, and errors; on
 * the CPU, on a stream and on Vulkan.
 */
#include "llm_plain.h"

enum { WIDTH = 20, HIDDEN = 28, HEADS = 3, SIZE = 6, KEYS = HEADS * SIZE, VOCABULARY = 32, MOST = 40 };
static const double epsilon = 1e-6;

typedef struct shape_row {
    const char *family;
    int layers, decoder_layers, gated, buckets, farthest, every_layer, tied, missing;
} shape_row;

static const shape_row shapes[] = {{"t5", 2, 3, 0, 32, 128, 0, 1, 0},
                                   {"t5", 3, 1, 1, 8, 20, 0, 0, 0},
                                   {"t5", 2, 2, 1, 16, 64, 1, 1, 0},
                                   {"t5encoder", 2, 0, 1, 32, 128, 0, 1, 0}};

/* ---- the model ----------------------------------------------------------------------------------------- */

static const char *side_name(const char *side, int layer, const char *name) {
    static char names[8][64];
    static int at;
    at = (at + 1) % 8;
    snprintf(names[at], sizeof names[at], "%s.%s", side, plain_name(layer, name));
    return names[at];
}

static void put_attention(const char *side, int l, const char *stem) {
    static const char *const parts[] = {"q", "k", "v"};
    char name[32];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s_%s.weight", stem, parts[i]);
        plain_put(side_name(side, l, name), 0, KEYS, WIDTH, 0, i ? -1.5 : -0.6);
    }
    snprintf(name, sizeof name, "%s_o.weight", stem);
    plain_matrix(side_name(side, l, name), WIDTH, KEYS);
    snprintf(name, sizeof name, "%s_norm", stem);
    plain_norm(side_name(side, l, name), WIDTH, 0);
}

static void put_side(const shape_row *s, const char *side, int layers) {
    char name[32];
    snprintf(name, sizeof name, "%s.output_norm", side);
    plain_norm(name, WIDTH, 0);
    for (int l = 0; l < layers; l++) {
        put_attention(side, l, "attn");
        if (strcmp(side, "dec") == 0) put_attention(side, l, "cross_attn");
        if (l == 0 || s->every_layer)
            plain_put(side_name(side, l, "attn_rel_b.weight"), 0, s->buckets, HEADS, 0, 1);
        plain_norm(side_name(side, l, "ffn_norm"), WIDTH, 0);
        if (s->gated) plain_matrix(side_name(side, l, "ffn_gate.weight"), HIDDEN, WIDTH);
        plain_matrix(side_name(side, l, "ffn_up.weight"), HIDDEN, WIDTH);
        plain_matrix(side_name(side, l, "ffn_down.weight"), WIDTH, HIDDEN);
    }
}

/* "</s>", then a letter a token. */
static void put_vocabulary(void) {
    char word[8] = "</s>";
    gguf_text(&plain_file, "tokenizer.ggml.model", "t5");
    gguf_array(&plain_file, "tokenizer.ggml.tokens", GGUF_TEXT, VOCABULARY);
    for (int i = 0; i < VOCABULARY; i++) {
        gguf_string(&plain_file.keys, word, strlen(word));
        snprintf(word, sizeof word, "%c", 'A' + i);
    }
    gguf_array(&plain_file, "tokenizer.ggml.scores", GGUF_F32, VOCABULARY);
    for (int i = 0; i < VOCABULARY; i++) gguf_number(&plain_file.keys, 0, 4);
    gguf_array(&plain_file, "tokenizer.ggml.token_type", GGUF_I32, VOCABULARY);
    for (int i = 0; i < VOCABULARY; i++) gguf_number(&plain_file.keys, i ? 1 : 3, 4);
    gguf_u32(&plain_file, "tokenizer.ggml.eos_token_id", 0);
}

static void make_model(const shape_row *s, uint64_t seed) {
    plain_start(s->family, seed);
    plain_whole("block_count", s->layers);
    plain_whole("context_length", 64);
    plain_whole("embedding_length", WIDTH);
    plain_whole("feed_forward_length", HIDDEN);
    plain_whole("attention.head_count", HEADS);
    plain_whole("attention.key_length", SIZE);
    plain_whole("attention.value_length", SIZE);
    plain_whole("attention.relative_buckets_count", s->buckets);
    if (s->farthest != 128) plain_whole("attention.relative_max_distance", s->farthest);
    plain_fact("attention.layer_norm_rms_epsilon", epsilon);
    plain_put("token_embd.weight", 0, VOCABULARY, WIDTH, 0, 1);
    if (!s->tied) plain_put("output.weight", 0, VOCABULARY, WIDTH, 0, -2);
    put_side(s, "enc", s->layers);
    put_vocabulary();
    if (s->decoder_layers) {
        plain_whole("decoder_block_count", s->decoder_layers + s->missing);
        plain_whole("decoder_start_token_id", 3);
        put_side(s, "dec", s->decoder_layers);
    }
}

/* ---- plain loops --------------------------------------------------------------------------------------- */

/* source: Raffel et al. 2020, "T5" */
static int bucket_of(const shape_row *s, int offset, int both) {
    int buckets = s->buckets, first = 0, far = -offset;
    if (both) {
        buckets /= 2;
        if (offset > 0) first = buckets;
        far = abs(offset);
    }
    if (far < 0) far = 0;
    const int near = buckets / 2;
    if (far < near) return first + far;
    int more = near;
    /* the number of borders near (farthest / near)^(i / (buckets - near)) that are not beyond */
    for (int i = 1; i < buckets - near; i++)
        more += far >= near * pow((double)s->farthest / near, (double)i / (buckets - near)) * (1 - 1e-6);
    return first + more;
}

typedef double rows[MOST][WIDTH];

/* x += attention of rows in [count] to rows of [other]; bias NULL: none. */
static void attend(const shape_row *s, const char *side, int l, const char *stem, const float *bias, int both,
                   int count, rows x, int others, rows other) {
    static double q[MOST][KEYS], k[MOST][KEYS], v[MOST][KEYS];
    char name[5][32];
    static const char *const parts[] = {"q", "k", "v", "o", "norm"};
    for (int i = 0; i < 5; i++) snprintf(name[i], sizeof name[i], "%s_%s", stem, parts[i]);
    for (int t = 0; t < count; t++) {
        double normal[WIDTH];
        memcpy(normal, x[t], sizeof normal);
        plain_normalize(side_name(side, l, name[4]), 0, 0, epsilon, WIDTH, normal);
        plain_product(side_name(side, l, name[0]), normal, q[t]);
        if (other) continue;
        plain_product(side_name(side, l, name[1]), normal, k[t]);
        plain_product(side_name(side, l, name[2]), normal, v[t]);
    }
    for (int t = 0; other && t < others; t++) {
        plain_product(side_name(side, l, name[1]), other[t], k[t]);
        plain_product(side_name(side, l, name[2]), other[t], v[t]);
    }
    for (int t = 0; t < count; t++) {
        double mixed[KEYS] = {0}, out[WIDTH];
        const int seen = other ? others : both ? count : t + 1;
        for (int h = 0; h < HEADS; h++) {
            double scores[MOST];
            for (int u = 0; u < seen; u++) {
                scores[u] = bias ? bias[bucket_of(s, u - t, both) * HEADS + h] : 0;
                for (int i = 0; i < SIZE; i++) scores[u] += q[t][h * SIZE + i] * k[u][h * SIZE + i];
            }
            plain_softmax(seen, scores);
            for (int u = 0; u < seen; u++)
                for (int i = 0; i < SIZE; i++) mixed[h * SIZE + i] += scores[u] * v[u][h * SIZE + i];
        }
        plain_product(side_name(side, l, name[3]), mixed, out);
        for (int i = 0; i < WIDTH; i++) x[t][i] += out[i];
    }
}

static void run_side(const shape_row *s, const char *side, int layers, const int32_t *ids, int count,
                     int others, rows other, rows x) {
    const float *tokens = plain_data("token_embd.weight");
    const int both = strcmp(side, "enc") == 0;
    char name[32];
    for (int t = 0; t < count; t++)
        for (int i = 0; i < WIDTH; i++) x[t][i] = tokens[ids[t] * WIDTH + i];
    for (int l = 0; l < layers; l++) {
        const float *bias = plain_data(side_name(side, s->every_layer ? l : 0, "attn_rel_b.weight"));
        attend(s, side, l, "attn", bias, both, count, x, 0, NULL);
        if (other) attend(s, side, l, "cross_attn", NULL, 1, count, x, others, other);
        for (int t = 0; t < count; t++) {
            double normal[WIDTH], gate[HIDDEN], up[HIDDEN], out[WIDTH];
            memcpy(normal, x[t], sizeof normal);
            plain_normalize(side_name(side, l, "ffn_norm"), 0, 0, epsilon, WIDTH, normal);
            plain_product(side_name(side, l, "ffn_up"), normal, up);
            if (s->gated) plain_product(side_name(side, l, "ffn_gate"), normal, gate);
            for (int i = 0; i < HIDDEN; i++)
                up[i] =
                    s->gated ? plain_bend(PLAIN_GELU_TANH, gate[i]) * up[i] : plain_bend(PLAIN_RELU, up[i]);
            plain_product(side_name(side, l, "ffn_down"), up, out);
            for (int i = 0; i < WIDTH; i++) x[t][i] += out[i];
        }
    }
    snprintf(name, sizeof name, "%s.output_norm", side);
    for (int t = 0; t < count; t++) plain_normalize(name, 0, 0, epsilon, WIDTH, x[t]);
}

/* Logits of an answer to a text. */
static void answer(const shape_row *s, const int32_t *ids, int count, const int32_t *words, int said,
                   double *logits) {
    static rows read, x;
    run_side(s, "enc", s->layers, ids, count, 0, NULL, read);
    run_side(s, "dec", s->decoder_layers, words, said, count, read, x);
    for (int t = 0; t < said; t++) {
        if (!s->tied) {
            plain_product("output", x[t], logits + t * VOCABULARY);
            continue;
        }
        const float *tokens = plain_data("token_embd.weight");
        for (int r = 0; r < VOCABULARY; r++) {
            logits[t * VOCABULARY + r] = 0;
            for (int i = 0; i < WIDTH; i++) logits[t * VOCABULARY + r] += tokens[r * WIDTH + i] * x[t][i];
        }
    }
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static int32_t text[MOST], words[MOST];
static float got[MOST * VOCABULARY];
static double expected[MOST * VOCABULARY];

static void expect(ox_status status, ox_status wanted, const char *word) {
    CHECK_MSG(status == wanted && strstr(ox_error_text(), word), "%d, expected %d: %s", (int)status,
              (int)wanted, ox_error_text());
    ox_error_clear();
}

static void compare(plain_place place, const char *what, int said) {
    const double apart = plain_apart(got, expected, said * VOCABULARY);
    CHECK_MSG(apart < 2e-5, "%s on %s: %g apart", what, plain_places[place], apart);
}

static void test_answers(const shape_row *s, ox_llm *model, plain_place place, ox_dtype cache) {
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.cache = cache;
    ox_llm_context *context = ox_llm_context_open(model, &desc);
    expect(ox_llm_decode(context, words, 3, NULL), OX_ERR_ARG, "ox_llm_encode");
    expect(ox_llm_decode_one(context, words[0], got), OX_ERR_ARG, "ox_llm_encode");
    for (int count = 1; count <= MOST; count += 13) {
        const int said = MOST - count + 1;
        answer(s, text, count, words, said, expected);
        CHECK(ox_llm_encode(context, text, count) == OX_OK && ox_llm_length(context) == 0);
        CHECK(ox_llm_decode_all(context, words, said, got) == OX_OK);
        if (cache == OX_F32) compare(place, "at once", said);
        CHECK(ox_llm_rewind(context, 0) == OX_OK); /* the text that is answered stays */
        for (int t = 0; t < said; t++)
            CHECK(ox_llm_decode_one(context, words[t], got + t * VOCABULARY) == OX_OK);
        if (cache == OX_F32)
            compare(place, "token by token", said);
        else
            CHECK(plain_apart(got, expected, said * VOCABULARY) < 0.02);
    }
    /* an error leaves the text and its answer as they were */
    int32_t bad[2] = {1, VOCABULARY};
    CHECK(ox_llm_encode(context, text, 9) == OX_OK && ox_llm_decode(context, words, 4, NULL) == OX_OK);
    expect(ox_llm_encode(context, bad, 2), OX_ERR_INDEX, "token 1");
    expect(ox_llm_encode(context, text, 0), OX_ERR_ARG, "0 tokens");
    CHECK(ox_llm_length(context) == 4);
    CHECK(ox_llm_decode_all(context, words + 4, 3, got) == OX_OK);
    answer(s, text, 9, words, 7, expected);
    CHECK(plain_apart(got, expected + 4 * VOCABULARY, 3 * VOCABULARY) < (cache == OX_F32 ? 2e-5 : 0.02));
    ox_llm_context_close(context);
}

/* The encoder's hidden states. */
static void test_embedding(const shape_row *s, ox_llm *model) {
    static rows read;
    double whole[WIDTH] = {0};
    float mean[WIDTH];
    ox_llm_context *context = ox_llm_context_open(model, NULL);
    CHECK(ox_llm_embed(context, text, 21, NULL, mean) == OX_OK);
    run_side(s, "enc", s->layers, text, 21, 0, NULL, read);
    for (int t = 0; t < 21; t++)
        for (int i = 0; i < WIDTH; i++) whole[i] += read[t][i] / 21;
    CHECK_MSG(plain_apart(mean, whole, WIDTH) < 2e-5, "%g apart", plain_apart(mean, whole, WIDTH));
    if (!s->decoder_layers) {
        expect(ox_llm_encode(context, text, 5), OX_ERR_UNSUPPORTED, "decoder");
        expect(ox_llm_decode(context, text, 5, NULL), OX_ERR_UNSUPPORTED, "ox_llm_embed");
    }
    ox_llm_context_close(context);
}

static bool take_token(void *user, const char *bytes, int64_t length, int32_t token) {
    int32_t **next = (int32_t **)user;
    (void)bytes, (void)length;
    *(*next)++ = token;
    return true;
}

/* Without a prompt, what ox_llm_encode read is answered, from the token that answers begin with. */
static void test_generated(ox_llm *model) {
    enum { STEPS = 3 };
    float logits[VOCABULARY];
    int32_t said[STEPS] = {-1, -1, -1}, *next = said;
    ox_llm_generate_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.steps = STEPS;
    desc.past_end = true;
    desc.text = take_token;
    desc.user = &next;
    ox_llm_context *context = ox_llm_context_open(model, NULL);
    ox_llm_sampler *greedy = ox_llm_sampler_open(NULL);
    expect(ox_llm_generate(context, "", &desc, NULL), OX_ERR_ARG, "ox_llm_encode comes first");
    CHECK(ox_llm_encode(context, text, 7) == OX_OK);
    CHECK_MSG(ox_llm_generate(context, NULL, &desc, NULL) == OX_OK, "%s", ox_error_text());
    CHECK(ox_llm_rewind(context, 0) == OX_OK);
    int32_t token = ox_llm_get_config(model)->start_token;
    for (int i = 0; i < STEPS; i++) {
        CHECK(ox_llm_decode(context, &token, 1, logits) == OX_OK);
        token = ox_llm_sampler_pick(greedy, logits, VOCABULARY);
        CHECK(said[i] == token);
    }
    ox_llm_sampler_close(greedy);
    ox_llm_context_close(context);
}

/* A tensor that is not there is named as the file would have it. */
static void test_missing(void) {
    shape_row more = shapes[0];
    more.missing = 1;
    make_model(&more, 1);
    const char *path = gguf_path("llm_t5_missing.gguf");
    CHECK(gguf_write(&plain_file, path) == 0);
    CHECK(!ox_llm_open(path, NULL));
    remove(path);
    expect(ox_error(), OX_ERR_NOT_FOUND, "tensor dec.blk.3.");
}

static void test_shape(const shape_row *s, ox_llm *model, plain_place place) {
    const ox_llm_config *config = ox_llm_get_config(model);
    CHECK(config->encoder == !s->decoder_layers);
    test_embedding(s, model);
    if (!s->decoder_layers) return;
    CHECK(config->encoder_layers == s->layers && config->layers == s->decoder_layers);
    CHECK(config->start_token == 3 && config->tied == s->tied);
    test_answers(s, model, place, OX_F32);
    test_answers(s, model, place, OX_F16);
    test_generated(model);
}

int main(void) {
    ox_set_exact(true);
    for (int t = 0; t < MOST; t++) {
        text[t] = (t * t * 3 + 5 * t + 1) % VOCABULARY;
        words[t] = t ? (t * 7 + 2) % VOCABULARY : 3;
    }
    for (int at = 0; at < PLAIN_PLACES; at++) {
        const plain_place place = (plain_place)at;
        ox_device *device = plain_device(place);
        for (int i = 0; device && i < (int)(sizeof shapes / sizeof *shapes); i++) {
            make_model(&shapes[i], (uint64_t)i);
            ox_llm *model = plain_open_on(device);
            if (model) test_shape(&shapes[i], model, place);
            ox_llm_close(model);
        }
        if (device) plain_leave(place, device);
    }
    test_missing();
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("llm_t5");
}
