/* test_llm_plain.c - families of language models against plain loops in double: where norms and sums stand,
 * rope in pairs and halves, grouped heads, windows, ALiBi, caps of scores and logits, experts, biases;
 * heads in odd numbers, a context of one token, texts longer than windows; at once, in batches and
 * token by token. ALiBi on a stream and on Vulkan, too.
 */
#include "llm_plain.h"

enum { PRE, POST, SANDWICH, PARALLEL };
enum { BARE, PAIRS, HALVES };
enum { NO_EXPERTS, LATE, SOFTMAX, UNREAD }; /* UNREAD: the activation stands in their place */
enum { MOST_TEXT = 30, MOST_WIDTH = 64, MOST_HIDDEN = 96, MOST_KEYS = 64, MOST_VOCABULARY = 64 };

typedef struct shape_row {
    const char *name;
    int block, layer_norm, biased, rope;
    plain_curve curve;
    int gated;
    int query_norm;     /* 1: of each head; 2: of all heads as one */
    int window, period; /* of n layers the last one sees all; 1: none does */
    int plain_full;     /* layers that see all are not turned */
    double score_cap, logit_cap, alibi, embedding, logits;
    int router, shared, positions, embedding_norm;
    const char *hidden_norm; /* NULL = the family has one norm for both halves */
} shape_row;

static const shape_row shapes[] = {
    {"llama", PRE, 0, 0, PAIRS, PLAIN_SILU, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, "ffn_norm"},
    {"llama", PRE, 0, 1, PAIRS, PLAIN_SILU, 1, 0, 5, 1, 0, 0, 0, 0, 1, 1, LATE, 0, 0, 0, "ffn_norm"},
    {"qwen3", PRE, 0, 0, HALVES, PLAIN_SILU, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, "ffn_norm"},
    {"qwen2moe", PRE, 0, 1, HALVES, PLAIN_SILU, 1, 0, 0, 1, 0, 0, 0, 0, 1, 1, SOFTMAX, 1, 0, 0, "ffn_norm"},
    {"command-r", PARALLEL, 1, 0, PAIRS, PLAIN_SILU, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0.25, 0, 0, 0, 0, NULL},
    {"cohere2", PARALLEL, 1, 0, PAIRS, PLAIN_SILU, 1, 0, 4, 4, 1, 0, 0, 0, 1, 0.5, 0, 0, 0, 0, NULL},
    {"gptneox", PARALLEL, 1, 1, HALVES, PLAIN_GELU, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, "ffn_norm"},
    {"starcoder2", PRE, 1, 1, HALVES, PLAIN_GELU_TANH, 0, 0, 6, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, "ffn_norm"},
    {"gpt2", PRE, 1, 1, BARE, PLAIN_GELU_TANH, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, "ffn_norm"},
    {"bloom", PRE, 1, 1, BARE, PLAIN_GELU_TANH, 0, 0, 0, 1, 0, 0, 0, 8, 1, 1, 0, 0, 0, 1, "ffn_norm"},
    {"mpt", PRE, 1, 0, BARE, PLAIN_GELU_TANH, 0, 0, 0, 1, 0, 0, 0, 6, 1, 1, 0, 0, 0, 0, "ffn_norm"},
    {"refact", PRE, 0, 0, BARE, PLAIN_SILU, 1, 0, 0, 1, 0, 0, 0, 8, 1, 1, UNREAD, 0, 0, 0, "ffn_norm"},
    {"nemotron", PRE, 1, 1, HALVES, PLAIN_SQUARE, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, "ffn_norm"},
    {"olmo2", POST, 0, 0, HALVES, PLAIN_SILU, 1, 2, 0, 4, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, NULL},
    {"gemma2", SANDWICH, 0, 0, HALVES, PLAIN_GELU_TANH, 1, 0, 3, 2, 0, 1.5, 2, 0, -1,
     1,        0,        0, 0, 0,      "ffn_norm"}};

enum { SHAPES = (int)(sizeof shapes / sizeof *shapes) };

/* Sizes that are drawn for each model. */
typedef struct sizes {
    int width, hidden, heads, kv_heads, size, turned, layers, vocabulary, experts, used, text;
    double base, epsilon;
} sizes;

static const sizes all_sizes[] = {{24, 40, 4, 2, 6, 6, 3, 37, 5, 2, MOST_TEXT, 10000, 1e-5},
                                  {21, 33, 3, 1, 10, 4, 4, 29, 3, 3, 17, 500, 1e-6},
                                  {40, 17, 5, 5, 8, 8, 2, 61, 4, 1, 1, 100, 1e-5},
                                  {36, 48, 6, 3, 4, 2, 5, 16, 7, 3, 23, 3e4, 1e-3}};

/* ---- the model ----------------------------------------------------------------------------------------- */

static void put_weights(const char *stem, int rows, int columns, int biased) {
    char name[72];
    snprintf(name, sizeof name, "%s.weight", stem);
    plain_matrix(name, rows, columns);
    snprintf(name, sizeof name, "%s.bias", stem);
    if (biased) plain_put(name, 0, 0, rows, 0, 0.3);
}

static void put_experts(const shape_row *s, const sizes *z, int l) {
    plain_put(plain_name(l, "ffn_gate_inp.weight"), 0, z->experts, z->width, 0, -2);
    plain_put(plain_name(l, "ffn_gate_exps.weight"), z->experts, z->hidden, z->width, 0, -1.5);
    plain_put(plain_name(l, "ffn_up_exps.weight"), z->experts, z->hidden, z->width, 0, -1.5);
    plain_put(plain_name(l, "ffn_down_exps.weight"), z->experts, z->width, z->hidden, 0, -1.5);
    if (!s->shared) return;
    plain_put(plain_name(l, "ffn_gate_inp_shexp.weight"), 0, 0, z->width, 0, 0.5);
    plain_matrix(plain_name(l, "ffn_gate_shexp.weight"), z->hidden + 3, z->width);
    plain_matrix(plain_name(l, "ffn_up_shexp.weight"), z->hidden + 3, z->width);
    plain_matrix(plain_name(l, "ffn_down_shexp.weight"), z->width, z->hidden + 3);
}

static void put_layer(const shape_row *s, const sizes *z, int l) {
    const int queries = z->heads * z->size, keys = z->kv_heads * z->size, biased = s->biased;
    if (s->block != POST) plain_norm(plain_name(l, "attn_norm"), z->width, s->layer_norm && biased);
    if (s->block != POST && s->hidden_norm)
        plain_norm(plain_name(l, s->hidden_norm), z->width, s->layer_norm && biased);
    if (s->block == POST || s->block == SANDWICH) {
        plain_norm(plain_name(l, "post_attention_norm"), z->width, 0);
        plain_norm(plain_name(l, "post_ffw_norm"), z->width, 0);
    }
    put_weights(plain_name(l, "attn_q"), queries, z->width, biased);
    put_weights(plain_name(l, "attn_k"), keys, z->width, biased);
    put_weights(plain_name(l, "attn_v"), keys, z->width, biased);
    put_weights(plain_name(l, "attn_output"), z->width, queries, biased);
    if (s->query_norm) plain_norm(plain_name(l, "attn_q_norm"), s->query_norm == 2 ? queries : z->size, 0);
    if (s->query_norm) plain_norm(plain_name(l, "attn_k_norm"), s->query_norm == 2 ? keys : z->size, 0);
    if (s->router) {
        put_experts(s, z, l);
        return;
    }
    if (s->gated) put_weights(plain_name(l, "ffn_gate"), z->hidden, z->width, biased);
    put_weights(plain_name(l, "ffn_up"), z->hidden, z->width, biased);
    put_weights(plain_name(l, "ffn_down"), z->width, z->hidden, biased);
}

static void make_model(const shape_row *s, const sizes *z, uint64_t seed) {
    plain_start(s->name, seed);
    plain_whole("block_count", z->layers);
    plain_whole("context_length", 64);
    plain_whole("embedding_length", z->width);
    plain_whole("feed_forward_length", z->hidden);
    plain_whole("attention.head_count", z->heads);
    plain_whole("attention.head_count_kv", z->kv_heads);
    plain_whole("attention.key_length", z->size);
    plain_whole("attention.value_length", z->size);
    plain_fact(s->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
               z->epsilon);
    if (s->rope) plain_whole("rope.dimension_count", z->turned);
    if (s->rope) plain_fact("rope.freq_base", z->base);
    if (s->window) plain_whole("attention.sliding_window", s->window);
    if (s->score_cap > 0) plain_fact("attn_logit_softcapping", s->score_cap);
    if (s->logit_cap > 0) plain_fact("final_logit_softcapping", s->logit_cap);
    if (s->alibi > 0) plain_fact("attention.max_alibi_bias", s->alibi);
    if (s->logits != 1) plain_fact("logit_scale", s->logits);
    if (s->block == PARALLEL && s->hidden_norm) plain_whole("use_parallel_residual", 1);
    if (s->router) {
        plain_whole("expert_count", z->experts);
        plain_whole("expert_used_count", z->used);
        plain_whole("expert_feed_forward_length", z->hidden);
        if (s->shared) plain_whole("expert_shared_feed_forward_length", z->hidden + 3);
    }
    plain_put("token_embd.weight", 0, z->vocabulary, z->width, 0, s->embedding < 0 ? -1 : 1);
    if (s->positions) plain_put("position_embd.weight", 0, 64, z->width, 0, 1);
    if (s->embedding_norm) plain_norm("token_embd_norm", z->width, 1);
    plain_norm("output_norm", z->width, s->layer_norm && s->biased);
    plain_put("output.weight", 0, z->vocabulary, z->width, 0, -2);
    for (int l = 0; l < z->layers; l++) put_layer(s, z, l);
}

/* ---- plain loops --------------------------------------------------------------------------------------- */

static void turn(const shape_row *s, const sizes *z, int position, double *head) {
    for (int i = 0; i < z->turned / 2; i++) {
        const double angle = position * pow(z->base, -2.0 * i / z->turned);
        double *a = head + (s->rope == PAIRS ? 2 * i : i),
               *b = head + (s->rope == PAIRS ? 2 * i + 1 : i + z->turned / 2);
        const double first = *a * cos(angle) - *b * sin(angle);
        *b = *a * sin(angle) + *b * cos(angle);
        *a = first;
    }
}

/* Queries or keys of a row: their norms, turned. */
static void place(const shape_row *s, const sizes *z, const char *norm, int heads, int position, int turned,
                  double *x) {
    if (s->query_norm == 2) plain_normalize(norm, 0, 0, z->epsilon, heads * z->size, x);
    for (int h = 0; h < heads; h++) {
        if (s->query_norm == 1) plain_normalize(norm, 0, 0, z->epsilon, z->size, x + h * z->size);
        if (turned && s->rope) turn(s, z, position, x + h * z->size);
    }
}

static double slope(const shape_row *s, int heads, int h) {
    int power = 1;
    while (2 * power <= heads) power *= 2;
    if (h < power) return pow(2, -s->alibi * (h + 1) / power);
    return pow(2, -s->alibi * (2 * (h - power) + 1) / (2 * power));
}

static void attend(const shape_row *s, const sizes *z, int l, int count, double in[][MOST_WIDTH],
                   double out[][MOST_WIDTH]) {
    static double q[MOST_TEXT][MOST_KEYS], k[MOST_TEXT][MOST_KEYS], v[MOST_TEXT][MOST_KEYS];
    const int full = s->window == 0 || (s->period > 1 && l % s->period == s->period - 1);
    const int turned = !(s->plain_full && full);
    for (int t = 0; t < count; t++) {
        plain_product(plain_name(l, "attn_q"), in[t], q[t]);
        plain_product(plain_name(l, "attn_k"), in[t], k[t]);
        plain_product(plain_name(l, "attn_v"), in[t], v[t]);
        place(s, z, plain_name(l, "attn_q_norm"), z->heads, t, turned, q[t]);
        place(s, z, plain_name(l, "attn_k_norm"), z->kv_heads, t, turned, k[t]);
    }
    for (int t = 0; t < count; t++) {
        double mixed[MOST_KEYS] = {0};
        for (int h = 0; h < z->heads; h++) {
            const int from = h / (z->heads / z->kv_heads) * z->size;
            double scores[MOST_TEXT];
            for (int u = 0; u <= t; u++) {
                scores[u] = 0;
                for (int i = 0; i < z->size; i++) scores[u] += q[t][h * z->size + i] * k[u][from + i];
                scores[u] /= sqrt(z->size);
                if (s->score_cap > 0) scores[u] = s->score_cap * tanh(scores[u] / s->score_cap);
                if (s->alibi > 0) scores[u] -= slope(s, z->heads, h) * (t - u);
                if (!full && t - u >= s->window) scores[u] = -INFINITY;
            }
            plain_softmax(t + 1, scores);
            for (int u = 0; u <= t; u++)
                for (int i = 0; i < z->size; i++) mixed[h * z->size + i] += scores[u] * v[u][from + i];
        }
        plain_product(plain_name(l, "attn_output"), mixed, out[t]);
    }
}

/* out += weight times one feed-forward of x, by matrix number `which`. */
static void feed(const shape_row *s, int l, const char *end, int which, double weight, int width,
                 const double *x, double *out) {
    char name[32];
    double gate[MOST_HIDDEN], up[MOST_HIDDEN], down[MOST_WIDTH];
    snprintf(name, sizeof name, "ffn_up%s", end);
    const int hidden = plain_product_of(plain_name(l, name), which, x, up);
    snprintf(name, sizeof name, "ffn_gate%s", end);
    if (s->gated) plain_product_of(plain_name(l, name), which, x, gate);
    for (int i = 0; i < hidden; i++)
        up[i] = s->gated ? plain_bend(s->curve, gate[i]) * up[i] : plain_bend(s->curve, up[i]);
    snprintf(name, sizeof name, "ffn_down%s", end);
    plain_product_of(plain_name(l, name), which, up, down);
    for (int i = 0; i < width; i++) out[i] += weight * down[i];
}

static void feed_experts(const shape_row *s, const sizes *z, int l, const double *x, double *out) {
    double scores[8], chosen[8];
    int best[8];
    plain_product(plain_name(l, "ffn_gate_inp"), x, scores);
    if (s->router == SOFTMAX) plain_softmax(z->experts, scores);
    for (int i = 0; i < z->used; i++) {
        best[i] = -1;
        for (int e = 0; e < z->experts; e++) {
            int taken = 0;
            for (int b = 0; b < i; b++) taken |= best[b] == e;
            if (!taken && (best[i] < 0 || scores[e] > scores[best[i]])) best[i] = e;
        }
        chosen[i] = scores[best[i]];
    }
    if (s->router == LATE) plain_softmax(z->used, chosen);
    for (int i = 0; i < z->used; i++) feed(s, l, "_exps", best[i], chosen[i], z->width, x, out);
    if (!s->shared) return;
    const float *open = plain_data(plain_name(l, "ffn_gate_inp_shexp.weight"));
    double gate = 0;
    for (int i = 0; i < z->width; i++) gate += open[i] * x[i];
    feed(s, l, "_shexp", 0, plain_sigmoid(gate), z->width, x, out);
}

static void run_layer(const shape_row *s, const sizes *z, int l, int count, double x[][MOST_WIDTH]) {
    static double normal[MOST_TEXT][MOST_WIDTH], attended[MOST_TEXT][MOST_WIDTH];
    const size_t bytes = (size_t)z->width * sizeof(double);
    for (int t = 0; t < count; t++) {
        memcpy(normal[t], x[t], bytes);
        if (s->block != POST)
            plain_normalize(plain_name(l, "attn_norm"), 0, s->layer_norm, z->epsilon, z->width, normal[t]);
    }
    attend(s, z, l, count, normal, attended);
    for (int t = 0; t < count; t++) {
        double in[MOST_WIDTH], fed[MOST_WIDTH] = {0};
        const int behind = s->block == POST || s->block == SANDWICH;
        if (behind)
            plain_normalize(plain_name(l, "post_attention_norm"), 0, 0, z->epsilon, z->width, attended[t]);
        if (s->block != PARALLEL)
            for (int i = 0; i < z->width; i++) x[t][i] += attended[t][i];
        memcpy(in, s->block == PARALLEL && !s->hidden_norm ? normal[t] : x[t], bytes);
        if (s->block != POST && s->hidden_norm)
            plain_normalize(plain_name(l, s->hidden_norm), 0, s->layer_norm, z->epsilon, z->width, in);
        if (!s->router)
            feed(s, l, "", 0, 1, z->width, in, fed);
        else if (s->router != UNREAD)
            feed_experts(s, z, l, in, fed);
        for (int i = 0; i < z->width && s->router == UNREAD; i++) fed[i] = plain_bend(s->curve, in[i]);
        if (behind) plain_normalize(plain_name(l, "post_ffw_norm"), 0, 0, z->epsilon, z->width, fed);
        for (int i = 0; i < z->width; i++) x[t][i] += fed[i] + (s->block == PARALLEL ? attended[t][i] : 0);
    }
}

static void run(const shape_row *s, const sizes *z, const int32_t *ids, double *logits) {
    static double x[MOST_TEXT][MOST_WIDTH];
    const float *tokens = plain_data("token_embd.weight"), *positions = plain_data("position_embd.weight");
    for (int t = 0; t < z->text; t++) {
        const double scale = s->embedding < 0 ? sqrt(z->width) : s->embedding;
        for (int i = 0; i < z->width; i++)
            x[t][i] = tokens[ids[t] * z->width + i] * scale + (positions ? positions[t * z->width + i] : 0);
        if (s->embedding_norm) plain_normalize("token_embd_norm", 0, 1, z->epsilon, z->width, x[t]);
    }
    for (int l = 0; l < z->layers; l++) run_layer(s, z, l, z->text, x);
    for (int t = 0; t < z->text; t++) {
        double *row = logits + t * z->vocabulary;
        plain_normalize("output_norm", 0, s->layer_norm, z->epsilon, z->width, x[t]);
        plain_product("output", x[t], row);
        for (int i = 0; i < z->vocabulary; i++) {
            row[i] *= s->logits;
            if (s->logit_cap > 0) row[i] = s->logit_cap * tanh(row[i] / s->logit_cap);
        }
    }
}

/* ---- tests --------------------------------------------------------------------------------------------- */

/* batch 0: as a whole; below 0: token by token. */
static void compare(const shape_row *s, const sizes *z, ox_llm *model, int batch, const int32_t *ids,
                    const double *expected) {
    static float got[MOST_TEXT * MOST_VOCABULARY];
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = z->text;
    desc.batch = batch > 0 ? batch : 0;
    ox_llm_context *context = ox_llm_context_open(model, &desc);
    ox_status status = context ? OX_OK : ox_error();
    if (batch >= 0 && !status) status = ox_llm_decode_all(context, ids, z->text, got);
    for (int t = 0; batch < 0 && !status && t < z->text; t++)
        status = ox_llm_decode_one(context, ids[t], got + t * z->vocabulary);
    CHECK_MSG(status == OX_OK, "%s: %s", s->name, ox_error_text());
    const double apart = plain_apart(got, expected, z->text * z->vocabulary);
    CHECK_MSG(apart < 2e-5, "%s, %d heads of %d, batches of %d: %g apart", s->name, z->heads, z->size, batch,
              apart);
    int32_t more = 0;
    CHECK(ox_llm_decode(context, &more, 1, NULL) == OX_ERR_ARG); /* the context is full */
    ox_error_clear();
    ox_llm_context_close(context);
}

static void test_shape(const shape_row *s, const sizes *z, uint64_t seed, ox_device *device) {
    static double expected[MOST_TEXT * MOST_VOCABULARY];
    int32_t ids[MOST_TEXT];
    make_model(s, z, seed);
    for (int t = 0; t < z->text; t++)
        ids[t] = (int32_t)((seed + (uint64_t)(t * t * 5 + 3 * t)) % (uint64_t)z->vocabulary);
    run(s, z, ids, expected);
    ox_llm *model = plain_open_on(device);
    if (!model) return;
    compare(s, z, model, 0, ids, expected);
    compare(s, z, model, 4, ids, expected);
    compare(s, z, model, -1, ids, expected);
    ox_llm_close(model);
}

int main(void) {
    ox_set_exact(true);
    for (int i = 0; i < SHAPES; i++)
        for (int k = 0; k < (int)(sizeof all_sizes / sizeof *all_sizes); k++)
            test_shape(&shapes[i], &all_sizes[k], (uint64_t)(100 * i + k), ox_cpu());
    for (int at = PLAIN_STREAM; at < PLAIN_PLACES; at++) {
        ox_device *device = plain_device((plain_place)at);
        /* biases are made by the host, and go where the model is */
        for (int i = 0; device && i < SHAPES; i++)
            if (shapes[i].alibi > 0) test_shape(&shapes[i], all_sizes, (uint64_t)(100 * i), device);
        if (device) plain_leave((plain_place)at, device);
    }
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("llm_plain");
}
