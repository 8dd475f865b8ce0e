/* test_llm_sparse.c - latent attention to the keys that an indexer chooses, against plain loops in double:
 * indexers of all layers, and layers that take what the one before chose; at once, in batches, token by
 * token, rewound; on the CPU, on a stream and on Vulkan. */
#include "llm_plain.h"

enum { WIDTH = 20, HIDDEN = 14, HEADS = 3, FEW = 9, LATENT = 12, PLAIN = 6, TURNED = 4, VALUE = 5 };
enum { TEXT = 37, LAYERS = 3, BEST = 5, INDEX_HEADS = 9, INDEX_SIZE = 8, VOCABULARY = 40 };
static const double epsilon = 1e-5, base = 100;

typedef double row[WIDTH];

/* ---- the model ----------------------------------------------------------------------------------------- */

/* shared: layer 1 has no indexer of its own. */
static void put_layer(int l, bool shared) {
    plain_norm(plain_name(l, "attn_norm"), WIDTH, 0);
    plain_norm(plain_name(l, "ffn_norm"), WIDTH, 0);
    plain_matrix(plain_name(l, "attn_q_a.weight"), FEW, WIDTH);
    plain_norm(plain_name(l, "attn_q_a_norm"), FEW, 0);
    plain_matrix(plain_name(l, "attn_q_b.weight"), HEADS * (PLAIN + TURNED), FEW);
    plain_matrix(plain_name(l, "attn_kv_a_mqa.weight"), LATENT + TURNED, WIDTH);
    plain_norm(plain_name(l, "attn_kv_a_norm"), LATENT, 0);
    plain_put(plain_name(l, "attn_k_b.weight"), HEADS, LATENT, PLAIN, 0, -1.5);
    plain_put(plain_name(l, "attn_v_b.weight"), HEADS, VALUE, LATENT, 0, -1.5);
    plain_matrix(plain_name(l, "attn_output.weight"), WIDTH, HEADS * VALUE);
    if (l != 1 || !shared) {
        plain_matrix(plain_name(l, "indexer.attn_q_b.weight"), INDEX_HEADS * INDEX_SIZE, FEW);
        plain_matrix(plain_name(l, "indexer.attn_k.weight"), INDEX_SIZE, WIDTH);
        plain_norm(plain_name(l, "indexer.k_norm"), INDEX_SIZE, 1);
        plain_matrix(plain_name(l, "indexer.proj.weight"), INDEX_HEADS, WIDTH);
    }
    plain_matrix(plain_name(l, "ffn_gate.weight"), HIDDEN, WIDTH);
    plain_matrix(plain_name(l, "ffn_up.weight"), HIDDEN, WIDTH);
    plain_matrix(plain_name(l, "ffn_down.weight"), WIDTH, HIDDEN);
}

static void make_model(const char *family, uint64_t seed, int best, bool shared) {
    plain_start(family, seed);
    plain_whole("block_count", LAYERS);
    plain_whole("context_length", 64);
    plain_whole("embedding_length", WIDTH);
    plain_whole("feed_forward_length", HIDDEN);
    plain_whole("attention.head_count", HEADS);
    plain_whole("attention.head_count_kv", 1);
    plain_whole("attention.q_lora_rank", FEW);
    plain_whole("attention.kv_lora_rank", LATENT);
    plain_whole("attention.key_length", LATENT + TURNED);
    plain_whole("attention.value_length", LATENT);
    plain_whole("attention.key_length_mla", PLAIN + TURNED);
    plain_whole("attention.value_length_mla", VALUE);
    plain_whole("attention.indexer.top_k", best);
    plain_whole("attention.indexer.head_count", INDEX_HEADS);
    plain_whole("attention.indexer.key_length", INDEX_SIZE);
    plain_whole("rope.dimension_count", TURNED);
    plain_fact("rope.freq_base", base);
    plain_fact("attention.layer_norm_rms_epsilon", epsilon);
    plain_put("token_embd.weight", 0, VOCABULARY, WIDTH, 0, 1);
    plain_norm("output_norm", WIDTH, 0);
    plain_put("output.weight", 0, VOCABULARY, WIDTH, 0, -2);
    for (int l = 0; l < LAYERS; l++) put_layer(l, shared);
}

/* ---- plain loops --------------------------------------------------------------------------------------- */

/* Pairs of neighbors, or, of an indexer, of halves. */
static void turn(int at, bool halves, double *x) {
    for (int i = 0; i < TURNED / 2; i++) {
        double *a = x + (halves ? i : 2 * i), *b = halves ? a + TURNED / 2 : a + 1, first = *a;
        const double angle = at * pow(base, -2.0 * i / TURNED);
        *a = first * cos(angle) - *b * sin(angle);
        *b = first * sin(angle) + *b * cos(angle);
    }
}

static void make_few(int l, const double *x, double *few) {
    plain_product(plain_name(l, "attn_q_a"), x, few);
    plain_normalize(plain_name(l, "attn_q_a_norm"), 0, 0, 1e-6, FEW, few);
}

/* Which keys each position attends to: the best of those before it and itself. */
static void choose(int l, int best, row *in, bool (*chosen)[TEXT]) {
    static double keys[TEXT][INDEX_SIZE];
    for (int t = 0; t < TEXT; t++) {
        plain_product(plain_name(l, "indexer.attn_k"), in[t], keys[t]);
        plain_normalize(plain_name(l, "indexer.k_norm"), 0, 1, 1e-6, INDEX_SIZE, keys[t]);
        turn(t, true, keys[t]);
    }
    for (int t = 0; t < TEXT; t++) {
        double few[FEW], q[INDEX_HEADS * INDEX_SIZE], weights[INDEX_HEADS], scores[TEXT];
        make_few(l, in[t], few);
        plain_product(plain_name(l, "indexer.attn_q_b"), few, q);
        plain_product(plain_name(l, "indexer.proj"), in[t], weights);
        for (int h = 0; h < INDEX_HEADS; h++) turn(t, true, q + h * INDEX_SIZE);
        for (int u = 0; u <= t; u++) {
            scores[u] = 0;
            for (int h = 0; h < INDEX_HEADS; h++) {
                double sum = 0;
                for (int i = 0; i < INDEX_SIZE; i++) sum += q[h * INDEX_SIZE + i] * keys[u][i];
                scores[u] += weights[h] * fmax(sum, 0);
            }
        }
        for (int u = 0; u <= t; u++) {
            int better = 0;
            for (int other = 0; other <= t; other++) better += scores[other] > scores[u];
            chosen[t][u] = better < best;
        }
    }
}

static void attend(int l, bool (*chosen)[TEXT], row *in, row *out) {
    static double kept[TEXT][LATENT + TURNED];
    const double scale = 1 / sqrt(PLAIN + TURNED);
    for (int t = 0; t < TEXT; t++) {
        plain_product(plain_name(l, "attn_kv_a_mqa"), in[t], kept[t]);
        plain_normalize(plain_name(l, "attn_kv_a_norm"), 0, 0, 1e-6, LATENT, kept[t]);
        turn(t, false, kept[t] + LATENT);
    }
    for (int t = 0; t < TEXT; t++) {
        double few[FEW], q[HEADS * (PLAIN + TURNED)], values[HEADS * VALUE];
        make_few(l, in[t], few);
        plain_product(plain_name(l, "attn_q_b"), few, q);
        for (int h = 0; h < HEADS; h++) {
            double *head = q + h * (PLAIN + TURNED), near[LATENT], scores[TEXT], mixed[LATENT] = {0};
            plain_product_of(plain_name(l, "attn_k_b"), h, head, near);
            turn(t, false, head + PLAIN);
            for (int u = 0; u <= t; u++) {
                scores[u] = 0;
                for (int i = 0; i < LATENT; i++) scores[u] += scale * near[i] * kept[u][i];
                for (int i = 0; i < TURNED; i++) scores[u] += scale * head[PLAIN + i] * kept[u][LATENT + i];
                if (!chosen[t][u]) scores[u] = -INFINITY;
            }
            plain_softmax(t + 1, scores);
            for (int u = 0; u <= t; u++)
                for (int i = 0; i < LATENT; i++) mixed[i] += scores[u] * kept[u][i];
            plain_product_of(plain_name(l, "attn_v_b"), h, mixed, values + h * VALUE);
        }
        plain_product(plain_name(l, "attn_output"), values, out[t]);
    }
}

static void feed(int l, double *x) {
    double normal[WIDTH], gate[HIDDEN], up[HIDDEN], down[WIDTH];
    memcpy(normal, x, sizeof normal);
    plain_normalize(plain_name(l, "ffn_norm"), 0, 0, epsilon, WIDTH, normal);
    plain_product(plain_name(l, "ffn_gate"), normal, gate);
    plain_product(plain_name(l, "ffn_up"), normal, up);
    for (int i = 0; i < HIDDEN; i++) up[i] *= plain_bend(PLAIN_SILU, gate[i]);
    plain_product(plain_name(l, "ffn_down"), up, down);
    for (int i = 0; i < WIDTH; i++) x[i] += down[i];
}

static void run(const int32_t *ids, int best, bool shared, double *logits) {
    static row x[TEXT], in[TEXT], out[TEXT];
    static bool chosen[TEXT][TEXT];
    const float *tokens = plain_data("token_embd.weight");
    for (int t = 0; t < TEXT; t++)
        for (int i = 0; i < WIDTH; i++) x[t][i] = tokens[ids[t] * WIDTH + i];
    for (int l = 0; l < LAYERS; l++) {
        memcpy(in, x, sizeof in);
        for (int t = 0; t < TEXT; t++)
            plain_normalize(plain_name(l, "attn_norm"), 0, 0, epsilon, WIDTH, in[t]);
        if (l != 1 || !shared) choose(l, best, in, chosen);
        attend(l, chosen, in, out);
        for (int t = 0; t < TEXT; t++) {
            for (int i = 0; i < WIDTH; i++) x[t][i] += out[t][i];
            feed(l, x[t]);
        }
    }
    for (int t = 0; t < TEXT; t++) {
        plain_normalize("output_norm", 0, 0, epsilon, WIDTH, x[t]);
        plain_product("output", x[t], logits + t * VOCABULARY);
    }
}

/* ---- tests --------------------------------------------------------------------------------------------- */

/* batch 0: as a whole; below 0: token by token. */
static void compare(ox_llm *model, int batch, ox_dtype cache, const int32_t *ids, const double *expected,
                    const char *where) {
    static float got[TEXT * VOCABULARY];
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.batch = batch > 0 ? batch : 0;
    desc.cache = cache;
    ox_llm_context *context = ox_llm_context_open(model, &desc);
    ox_status status = context ? OX_OK : ox_error();
    for (int from = 0; from < TEXT && !status; from += TEXT / 2) { /* again from the start, then the middle */
        if (from) status = ox_llm_rewind(context, from);
        if (batch >= 0 && !status)
            status = ox_llm_decode_all(context, ids + from, TEXT - from, got + from * VOCABULARY);
        for (int t = from; batch < 0 && !status && t < TEXT; t++)
            status = ox_llm_decode_one(context, ids[t], got + t * VOCABULARY);
        CHECK_MSG(status == OX_OK, "on %s: %s", where, ox_error_text());
        const double apart = plain_apart(got, expected, TEXT * VOCABULARY);
        CHECK_MSG(apart < (cache == OX_F16 ? 2e-2 : 5e-5), "on %s, batches of %d: %g apart", where, batch,
                  apart);
    }
    ox_llm_context_close(context);
}

static void test_text(const char *family, uint64_t seed, int best, bool shared, ox_device *device,
                      const char *where) {
    static const int batches[] = {0, 1, 3, 7, 20, -1};
    static double expected[TEXT * VOCABULARY];
    int32_t ids[TEXT];
    make_model(family, seed, best, shared);
    for (int t = 0; t < TEXT; t++) ids[t] = (int32_t)((seed + (uint64_t)(t * t * 5 + 3 * t)) % VOCABULARY);
    run(ids, best, shared, expected);
    ox_llm *model = plain_open_on(device);
    if (!model) return;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        compare(model, batches[i], OX_F32, ids, expected, where);
    ox_llm_close(model);
}

/* The first layer has to have an indexer's parts; heads have to hold what is turned. */
static void test_refused(void) {
    static const struct {
        const char *key, *told;
        int value;
    } rows[] = {{"attention.indexer.key_length", "indexer", TURNED - 2},
                {"attention.indexer.head_count", "indexer", INDEX_HEADS + 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_model("deepseek32", 3, BEST, false);
        const char *path = gguf_path("llm_sparse.gguf");
        unsigned char *keys = plain_file.keys.data;
        const size_t length = strlen(plain_key(rows[i].key));
        for (size_t at = 0; at + length + 8 < plain_file.keys.count; at++)
            if (memcmp(keys + at, plain_key(rows[i].key), length) == 0)
                keys[at + length + 4] = (unsigned char)rows[i].value;
        CHECK(gguf_write(&plain_file, path) == 0);
        CHECK(!ox_llm_open(path, NULL));
        CHECK_MSG(strstr(ox_error_text(), rows[i].told), "%s", ox_error_text());
        ox_error_clear();
        remove(path);
    }
}

int main(void) {
    ox_set_exact(true);
    for (int at = PLAIN_CPU; at < PLAIN_PLACES; at++) {
        ox_device *device = plain_device((plain_place)at);
        if (!device) continue;
        test_text("deepseek32", 31, BEST, false, device, plain_places[at]);
        test_text("deepseek32", 32, 1, false, device, plain_places[at]);
        test_text("glm-dsa", 33, BEST, true, device, plain_places[at]);
        test_text("deepseek32", 34, 1000, false, device, plain_places[at]);
        plain_leave((plain_place)at, device);
    }
    test_refused();
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("llm_sparse");
}
