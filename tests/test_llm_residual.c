/* test_llm_residual.c - models whose positions have more than one residual row, against plain loops in
 * double: hyper-connections by numbers (with and without Sinkhorn's rounds) and by gates, embeddings of
 * n-grams, rows of earlier layers that are attended to; gates capped by tanh, experts between narrow
 * products with a norm; on the CPU, on a stream and on Vulkan. */
#include "llm_plain.h"

enum { WIDTH = 20, HIDDEN = 26, SIZE = 6, HEADS = 3, VOCABULARY = 40, TEXT = 37, LAYERS = 5, MOST_ROWS = 4 };
enum {
    EXPERTS = 4,
    USED = 2,
    NARROW = 14,
    GRAM = 3,
    EACH = 2,
    GRAM_SIZE = 5,
    TAPS = 3,
    GRAM_ROWS = 60,
    END = 7
};
static const double epsilon = 1e-5, share = 1e-3, gate_cap = 1.5, up_cap = 2.5;

typedef struct shape_row {
    const char *family;
    int rows, rounds, rank; /* of hyper-connections */
    int headed;             /* the last rows are mixed by numbers, else their mean */
    int grams;              /* layer 1 adds embeddings of n-grams */
    int bank;               /* a row is kept every so many layers */
    double magnitude;
} shape_row;

static const shape_row shapes[] = {
    {"llama", 3, 4, 0, 1, 0, 0, 2},   {"llama", 2, 1, 0, 0, 0, 0, 0.75}, {"llama", 4, 0, 0, 1, 0, 0, 1.5},
    {"llama", 3, 0, 5, 0, 0, 0, 2},   {"llama", 2, 0, 3, 0, 1, 0, 2},    {"llama", 4, 2, 0, 1, 1, 0, 2},
    {"kimi-k3", 0, 0, 0, 0, 0, 2, 0}, {"kimi-k3", 0, 0, 0, 0, 0, 1, 0},  {"kimi-k3", 0, 0, 0, 0, 0, 0, 0}};
enum { SHAPES = (int)(sizeof shapes / sizeof *shapes) };

/* ---- the model ----------------------------------------------------------------------------------------- */

static const char *with_end(const char *stem, const char *end) {
    static char names[4][48];
    static int at;
    at = (at + 1) % 4;
    snprintf(names[at], sizeof names[at], "%s%s", stem, end);
    return names[at];
}

static int turns(const shape_row *s) {
    return s->family[0] == 'l';
}

static void put_mixture(const shape_row *s, int l, const char *stem) {
    const int all = s->rows * WIDTH, mixes = s->rows * (s->rounds ? s->rows + 2 : 2);
    if (s->bank)
        plain_put(plain_name(l, stem[3] == 'a' ? "attn_res_score.weight" : "ffn_res_score.weight"), 0, 0,
                  WIDTH, 0, 1);
    if (s->rows == 0) return;
    if (s->rank == 0) {
        plain_matrix(plain_name(l, with_end(stem, "_fn.weight")), mixes, all);
        plain_put(plain_name(l, with_end(stem, "_base.weight")), 0, 0, mixes, 0, 1);
        plain_put(plain_name(l, with_end(stem, "_scale.weight")), 0, 0, s->rounds ? 3 : 2, 1, 0.5);
        return;
    }
    plain_put(plain_name(l, with_end(stem, "_norm.weight")), 0, s->rows, WIDTH, 1, 0.25);
    plain_matrix(plain_name(l, with_end(stem, "_down.weight")), s->rank, all);
    plain_matrix(plain_name(l, with_end(stem, "_up.weight")), all, s->rank);
    plain_matrix(plain_name(l, with_end(stem, "_inject.weight")), s->rows, all);
}

static void put_experts(int l) {
    plain_put(plain_name(l, "ffn_gate_inp.weight"), 0, EXPERTS, WIDTH, 0, -2);
    plain_put(plain_name(l, "ffn_gate_exps.weight"), EXPERTS, HIDDEN, NARROW, 0, -1.5);
    plain_put(plain_name(l, "ffn_up_exps.weight"), EXPERTS, HIDDEN, NARROW, 0, -1.5);
    plain_put(plain_name(l, "ffn_down_exps.weight"), EXPERTS, NARROW, HIDDEN, 0, -1.5);
    plain_put(plain_name(l, "ffn_up_exps.scale"), 0, 0, EXPERTS, 1, 0.3); /* a factor for each expert */
    plain_matrix(plain_name(l, "ffn_routed_down.weight"), NARROW, WIDTH);
    plain_matrix(plain_name(l, "ffn_routed_up.weight"), WIDTH, NARROW);
    plain_norm(plain_name(l, "ffn_routed_norm"), NARROW, 0);
}

static void put_grams(const shape_row *s, int l) {
    const int all = s->rows * WIDTH, columns = (GRAM - 1) * EACH * GRAM_SIZE;
    plain_put("per_layer_token_embd.weight", 0, GRAM_ROWS, GRAM_SIZE, 0, 1);
    plain_matrix(plain_name(l, "ple_key.weight"), all, columns);
    plain_matrix(plain_name(l, "ple_value.weight"), WIDTH, columns);
    plain_put(plain_name(l, "ple_norm_key.weight"), 0, s->rows, WIDTH, 1, 0.25);
    plain_put(plain_name(l, "ple_norm_query.weight"), 0, s->rows, WIDTH, 1, 0.25);
    plain_put(plain_name(l, "ple_norm_conv.weight"), 0, s->rows, WIDTH, 1, 0.25);
    plain_put(plain_name(l, "ple_conv1d.weight"), 0, all, TAPS, 0, 0.7);
}

static void put_layer(const shape_row *s, int l) {
    put_mixture(s, l, "hc_attn");
    put_mixture(s, l, "hc_ffn");
    if (s->rank == 0) plain_norm(plain_name(l, "attn_norm"), WIDTH, 0);
    if (s->rank == 0) plain_norm(plain_name(l, "ffn_norm"), WIDTH, 0);
    plain_matrix(plain_name(l, "attn_q.weight"), HEADS * SIZE, WIDTH);
    plain_matrix(plain_name(l, "attn_k.weight"), SIZE, WIDTH);
    plain_matrix(plain_name(l, "attn_v.weight"), SIZE, WIDTH);
    plain_matrix(plain_name(l, "attn_output.weight"), WIDTH, HEADS * SIZE);
    if (s->grams && l == 1) put_grams(s, l);
    if (!turns(s) && l > 0) {
        put_experts(l);
        return;
    }
    plain_matrix(plain_name(l, "ffn_gate.weight"), HIDDEN, WIDTH);
    plain_matrix(plain_name(l, "ffn_up.weight"), HIDDEN, WIDTH);
    plain_matrix(plain_name(l, "ffn_down.weight"), WIDTH, HIDDEN);
}

static const uint64_t factors[GRAM] = {1, 0x9E3779B97F4A7C15u, 31};
static const uint64_t firsts[] = {0, 13, 30, 41}, counts[] = {13, 17, 11, 19};

/* What test_refused has in place of a fact. */
static const char *absurd_key = "";
static int absurd_value;

static void whole(const char *key, int value) {
    plain_whole(key, strcmp(key, absurd_key) == 0 ? absurd_value : value);
}

static void put_list(const char *key, int type, int bytes, int count, const uint64_t *values) {
    gguf_array(&plain_file, plain_key(key), type, (uint64_t)count);
    for (int i = 0; i < count; i++) gguf_number(&plain_file.keys, values[i], bytes);
}

static void put_facts(const shape_row *s) {
    whole("block_count", LAYERS);
    whole("context_length", 64);
    whole("embedding_length", WIDTH);
    whole("feed_forward_length", HIDDEN);
    whole("attention.head_count", HEADS);
    whole("attention.head_count_kv", 1);
    whole("attention.key_length", SIZE);
    whole("attention.value_length", SIZE);
    plain_fact("attention.layer_norm_rms_epsilon", epsilon);
    whole("hyper_connection.count", s->rows);
    whole("hyper_connection.sinkhorn_iterations", s->rounds);
    whole("hyper_connection.low_rank", s->rank);
    plain_fact("hyper_connection.epsilon", share);
    plain_fact("hyper_connection.magnitude", s->magnitude);
    whole("attn_res.block_size", s->bank);
    if (s->grams) {
        const uint64_t layer = 1;
        put_list("ple.layers", GGUF_U32, 4, 1, &layer);
        put_list("ple.layer_multipliers", GGUF_U64, 8, GRAM, factors);
        put_list("ple.head_offsets", GGUF_U64, 8, 4, firsts);
        put_list("ple.head_vocab_sizes", GGUF_U64, 8, 4, counts);
        whole("ple.ngram_size", GRAM);
        whole("ple.heads_per_ngram", EACH);
        whole("ple.conv_kernel", TAPS);
        whole("ple.eos_token_id", END);
    }
    if (turns(s)) return;
    whole("ssm.conv_kernel", 4); /* of the layers that it could have */
    whole("kda.head_dim", SIZE);
    plain_fact("activation.situ_beta", gate_cap);
    plain_fact("activation.situ_linear_beta", up_cap);
    whole("expert_count", EXPERTS);
    whole("expert_used_count", USED);
    whole("expert_feed_forward_length", HIDDEN);
    whole("expert_latent_length", NARROW);
    whole("leading_dense_block_count", 1);
}

static void make_model(const shape_row *s, uint64_t seed) {
    const int all = s->rows * WIDTH;
    plain_start(s->family, seed);
    put_facts(s);
    plain_put("token_embd.weight", 0, VOCABULARY, WIDTH, 0, 1);
    plain_put("output.weight", 0, VOCABULARY, WIDTH, 0, -2);
    if (s->rank == 0) plain_norm("output_norm", WIDTH, 0);
    if (s->bank) plain_put("output_res_score.weight", 0, 0, WIDTH, 0, 1);
    if (s->headed) {
        plain_matrix("output_hc_fn.weight", s->rows, all);
        plain_put("output_hc_base.weight", 0, 0, s->rows, 0, 1);
        plain_put("output_hc_scale.weight", 0, 0, 1, 1, 0.5);
    }
    if (s->rank) {
        plain_put("output_hc_norm.weight", 0, s->rows, WIDTH, 1, 0.25);
        plain_matrix("output_hc_down.weight", s->rank, all);
        plain_matrix("output_hc_up.weight", all, s->rank);
    }
    for (int l = 0; l < LAYERS; l++) put_layer(s, l);
}

/* ---- plain loops: residual rows ------------------------------------------------------------------------ */

typedef double row[WIDTH];

typedef struct position {
    row rows[MOST_ROWS]; /* the first one where there are no others */
    row kept[LAYERS];
    int kept_count;
    double taken[MOST_ROWS], mixed[MOST_ROWS][MOST_ROWS]; /* of the half that runs */
} position;

static position text[TEXT];

/* Numbers [count] that all rows make together. */
static void mix(const shape_row *s, const char *stem, int count, const row *rows, double *out) {
    const int all = s->rows * WIDTH;
    double flat[MOST_ROWS * WIDTH];
    const float *base = plain_data(with_end(stem, "_base.weight")),
                *scale = plain_data(with_end(stem, "_scale.weight"));
    for (int i = 0; i < all; i++) flat[i] = rows[i / WIDTH][i % WIDTH];
    plain_normalize("none", 0, 0, epsilon, all, flat);
    plain_product(with_end(stem, "_fn"), flat, out);
    for (int i = 0; i < count; i++) out[i] = out[i] * scale[i < 2 * s->rows ? i / s->rows : 2] + base[i];
}

static void balance(const shape_row *s, const double *numbers, double out[][MOST_ROWS]) {
    const int n = s->rows;
    for (int a = 0; a < n; a++) {
        memcpy(out[a], numbers + a * n, (size_t)n * sizeof(double));
        plain_softmax(n, out[a]);
        for (int b = 0; b < n; b++) out[a][b] += share;
    }
    for (int round = 0; round < 2 * s->rounds - 1; round++)
        for (int a = 0; a < n; a++) {
            double sum = share;
            for (int b = 0; b < n; b++) sum += round % 2 ? out[a][b] : out[b][a];
            for (int b = 0; b < n; b++) *(round % 2 ? &out[a][b] : &out[b][a]) /= sum;
        }
}

/* The mean of rows by gates; `normal`: all of them with their norms. */
static void read_gated(const shape_row *s, const char *stem, const row *rows, double *normal, double *out) {
    const int all = s->rows * WIDTH;
    double few[8], gate[MOST_ROWS * WIDTH];
    for (int r = 0; r < s->rows; r++) {
        memcpy(normal + r * WIDTH, rows[r], sizeof(row));
        plain_normalize(with_end(stem, "_norm"), r * WIDTH, 0, epsilon, WIDTH, normal + r * WIDTH);
    }
    plain_product(with_end(stem, "_down"), normal, few);
    for (int i = 0; i < s->rank; i++) few[i] = plain_bend(PLAIN_SILU, few[i] / s->rows);
    plain_product(with_end(stem, "_up"), few, gate);
    memset(out, 0, sizeof(row));
    for (int i = 0; i < all; i++) out[i % WIDTH] += plain_sigmoid(gate[i]) * normal[i] / s->rows;
}

static void read_kept(const char *score, const position *p, double *out) {
    const float *query = plain_data(score);
    double scores[LAYERS + 1];
    for (int k = 0; k <= p->kept_count; k++) {
        row normal;
        memcpy(normal, k < p->kept_count ? p->kept[k] : p->rows[0], sizeof normal);
        plain_normalize("none", 0, 0, epsilon, WIDTH, normal);
        scores[k] = 0;
        for (int i = 0; i < WIDTH; i++) scores[k] += normal[i] * query[i];
    }
    plain_softmax(p->kept_count + 1, scores);
    for (int i = 0; i < WIDTH; i++) {
        out[i] = scores[p->kept_count] * p->rows[0][i];
        for (int k = 0; k < p->kept_count; k++) out[i] += scores[k] * p->kept[k][i];
    }
}

/* What a half reads of a position's rows. */
static void read_rows(const shape_row *s, int l, int half, position *p, double *out) {
    const char *stem = plain_name(l, half ? "hc_ffn" : "hc_attn");
    double numbers[MOST_ROWS * (MOST_ROWS + 2)], normal[MOST_ROWS * WIDTH];
    const int n = s->rows;
    memcpy(out, p->rows[0], sizeof(row));
    if (s->bank) read_kept(plain_name(l, half ? "ffn_res_score.weight" : "attn_res_score.weight"), p, out);
    if (n == 0) return;
    memset(p->mixed, 0, sizeof p->mixed);
    for (int r = 0; r < n; r++) p->mixed[r][r] = 1;
    if (s->rank) {
        char inject[64];
        read_gated(s, stem, (const row *)p->rows, normal, out);
        snprintf(inject, sizeof inject, "%s_inject", plain_name(l, half ? "hc_ffn" : "hc_attn"));
        plain_product(inject, normal, p->taken);
        for (int r = 0; r < n; r++) p->taken[r] = 2 * plain_sigmoid(p->taken[r] / n);
        return;
    }
    mix(s, stem, n * (s->rounds ? n + 2 : 2), (const row *)p->rows, numbers);
    for (int r = 0; r < n; r++)
        p->taken[r] = s->magnitude * plain_sigmoid(numbers[n + r]) + (s->rounds ? 0 : share);
    memset(out, 0, sizeof(row));
    for (int r = 0; r < n; r++)
        for (int i = 0; i < WIDTH; i++) out[i] += (plain_sigmoid(numbers[r]) + share) * p->rows[r][i];
    if (s->rounds) balance(s, numbers + 2 * n, p->mixed);
}

static void write_rows(const shape_row *s, int l, int half, position *p, const double *made) {
    row next[MOST_ROWS];
    const int n = s->rows;
    if (half == 0 && s->bank && l % s->bank == 0) {
        memcpy(p->kept[p->kept_count++], p->rows[0], sizeof(row));
        memset(p->rows[0], 0, sizeof(row));
    }
    if (n == 0)
        for (int i = 0; i < WIDTH; i++) p->rows[0][i] += made[i];
    for (int to = 0; to < n; to++)
        for (int i = 0; i < WIDTH; i++) {
            next[to][i] = p->taken[to] * made[i];
            for (int from = 0; from < n; from++) next[to][i] += p->mixed[from][to] * p->rows[from][i];
        }
    if (n) memcpy(p->rows, next, (size_t)n * sizeof(row));
}

/* ---- plain loops: n-grams ------------------------------------------------------------------------------ */

static void add_grams(const shape_row *s, int l, const int32_t *ids) {
    static double mixed[TEXT][MOST_ROWS * WIDTH], gated[TEXT][MOST_ROWS * WIDTH];
    const float *table = plain_data("per_layer_token_embd.weight"),
                *kernel = plain_data(plain_name(l, "ple_conv1d.weight"));
    const int all = s->rows * WIDTH;
    for (int t = 0; t < TEXT; t++) {
        double made[(GRAM - 1) * EACH * GRAM_SIZE], key[MOST_ROWS * WIDTH], value[WIDTH];
        uint64_t hash = (uint64_t)ids[t] * factors[0];
        int cut = 0;
        for (int back = 1; back < GRAM; back++) {
            cut |= t < back || ids[t - back] == END;
            hash ^= (uint64_t)(cut ? END : ids[t - back]) * factors[back];
            for (int k = (back - 1) * EACH; k < back * EACH; k++)
                for (int i = 0; i < GRAM_SIZE; i++)
                    made[k * GRAM_SIZE + i] = table[(hash % counts[k] + firsts[k]) * GRAM_SIZE + (uint64_t)i];
        }
        plain_product(plain_name(l, "ple_key"), made, key);
        plain_product(plain_name(l, "ple_value"), made, value);
        for (int r = 0; r < s->rows; r++) {
            row query;
            double score = 0, root;
            memcpy(query, text[t].rows[r], sizeof query);
            plain_normalize(plain_name(l, "ple_norm_query"), r * WIDTH, 0, epsilon, WIDTH, query);
            plain_normalize(plain_name(l, "ple_norm_key"), r * WIDTH, 0, epsilon, WIDTH, key + r * WIDTH);
            for (int i = 0; i < WIDTH; i++) score += query[i] * key[r * WIDTH + i] / sqrt(WIDTH);
            root = sqrt(fmax(fabs(score), 1e-6));
            for (int i = 0; i < WIDTH; i++)
                gated[t][r * WIDTH + i] = value[i] * plain_sigmoid(score < 0 ? -root : root);
            memcpy(mixed[t] + r * WIDTH, gated[t] + r * WIDTH, sizeof(row));
            plain_normalize(plain_name(l, "ple_norm_conv"), r * WIDTH, 0, epsilon, WIDTH,
                            mixed[t] + r * WIDTH);
        }
    }
    for (int t = 0; t < TEXT; t++)
        for (int i = 0; i < all; i++) {
            double sum = 0;
            for (int k = 0; k < TAPS; k++)
                if (t >= (TAPS - 1 - k) * GRAM)
                    sum += kernel[i * TAPS + k] * mixed[t - (TAPS - 1 - k) * GRAM][i];
            text[t].rows[i / WIDTH][i % WIDTH] += gated[t][i] + plain_bend(PLAIN_SILU, sum);
        }
}

/* ---- plain loops: the halves --------------------------------------------------------------------------- */

static void turn(int at, double *head) {
    for (int i = 0; i < SIZE; i += 2) {
        const double angle = at * pow(10000, -(double)i / SIZE), a = head[i], b = head[i + 1];
        head[i] = a * cos(angle) - b * sin(angle);
        head[i + 1] = a * sin(angle) + b * cos(angle);
    }
}

static void attend(const shape_row *s, int l, row *in, row *out) {
    static double q[TEXT][HEADS * SIZE], k[TEXT][SIZE], v[TEXT][SIZE];
    for (int t = 0; t < TEXT; t++) {
        plain_product(plain_name(l, "attn_q"), in[t], q[t]);
        plain_product(plain_name(l, "attn_k"), in[t], k[t]);
        plain_product(plain_name(l, "attn_v"), in[t], v[t]);
        for (int h = 0; h < HEADS && turns(s); h++) turn(t, q[t] + h * SIZE);
        if (turns(s)) turn(t, k[t]);
    }
    for (int t = 0; t < TEXT; t++) {
        double merged[HEADS * SIZE] = {0}, scores[TEXT];
        for (int h = 0; h < HEADS; h++) {
            for (int u = 0; u <= t; u++) {
                scores[u] = 0;
                for (int i = 0; i < SIZE; i++) scores[u] += q[t][h * SIZE + i] * k[u][i] / sqrt(SIZE);
            }
            plain_softmax(t + 1, scores);
            for (int u = 0; u <= t; u++)
                for (int i = 0; i < SIZE; i++) merged[h * SIZE + i] += scores[u] * v[u][i];
        }
        plain_product(plain_name(l, "attn_output"), merged, out[t]);
    }
}

/* One feed-forward; `end`: "" or that of experts, of which `which`; `factor` of what the gate opens. */
static void feed(const shape_row *s, int l, const char *end, int which, double factor, const double *x,
                 double *out) {
    double gate[HIDDEN], up[HIDDEN];
    plain_product_of(plain_name(l, with_end("ffn_gate", end)), which, x, gate);
    plain_product_of(plain_name(l, with_end("ffn_up", end)), which, x, up);
    for (int i = 0; i < HIDDEN; i++) {
        up[i] *= factor;
        up[i] = turns(s) ? up[i] * plain_bend(PLAIN_SILU, gate[i])
                         : gate_cap * tanh(gate[i] / gate_cap) * plain_sigmoid(gate[i]) * up_cap *
                               tanh(up[i] / up_cap);
    }
    plain_product_of(plain_name(l, with_end("ffn_down", end)), which, up, out);
}

static void feed_experts(const shape_row *s, int l, const double *x, double *out) {
    double scores[EXPERTS], narrow[NARROW], sum[NARROW] = {0}, made[NARROW];
    const float *own = plain_data(plain_name(l, "ffn_up_exps.scale"));
    plain_product(plain_name(l, "ffn_gate_inp"), x, scores);
    plain_product(plain_name(l, "ffn_routed_down"), x, narrow);
    for (int e = 0; e < EXPERTS; e++) {
        int better = 0;
        for (int other = 0; other < EXPERTS; other++) better += scores[other] > scores[e];
        if (better >= USED) continue;
        feed(s, l, "_exps", e, own[e], narrow, made);
        for (int i = 0; i < NARROW; i++) sum[i] += plain_sigmoid(scores[e]) * made[i];
    }
    plain_normalize(plain_name(l, "ffn_routed_norm"), 0, 0, epsilon, NARROW, sum);
    plain_product(plain_name(l, "ffn_routed_up"), sum, out);
}

static void run_layer(const shape_row *s, int l, const int32_t *ids) {
    static row in[TEXT], out[TEXT];
    if (s->grams && l == 1) add_grams(s, l, ids);
    for (int half = 0; half < 2; half++) {
        for (int t = 0; t < TEXT; t++) {
            read_rows(s, l, half, &text[t], in[t]);
            if (s->rank == 0)
                plain_normalize(plain_name(l, half ? "ffn_norm" : "attn_norm"), 0, 0, epsilon, WIDTH, in[t]);
        }
        if (half == 0) attend(s, l, in, out);
        for (int t = 0; t < TEXT; t++) {
            if (half == 1 && !turns(s) && l > 0) feed_experts(s, l, in[t], out[t]);
            if (half == 1 && (turns(s) || l == 0)) feed(s, l, "", 0, 1, in[t], out[t]);
            write_rows(s, l, half, &text[t], out[t]);
        }
    }
}

static void read_last(const shape_row *s, const position *p, double *out) {
    double numbers[MOST_ROWS], normal[MOST_ROWS * WIDTH];
    memcpy(out, p->rows[0], sizeof(row));
    if (s->bank) read_kept("output_res_score.weight", p, out);
    if (s->rows == 0) return;
    if (s->rank) {
        read_gated(s, "output_hc", (const row *)p->rows, normal, out);
        return;
    }
    for (int r = 0; r < s->rows; r++) numbers[r] = 1.0 / s->rows;
    if (s->headed) {
        const float *base = plain_data("output_hc_base.weight"),
                    *scale = plain_data("output_hc_scale.weight");
        double flat[MOST_ROWS * WIDTH];
        memcpy(flat, p->rows, sizeof flat);
        plain_normalize("none", 0, 0, epsilon, s->rows * WIDTH, flat);
        plain_product("output_hc_fn", flat, numbers);
        for (int r = 0; r < s->rows; r++) numbers[r] = plain_sigmoid(numbers[r] * *scale + base[r]) + share;
    }
    memset(out, 0, sizeof(row));
    for (int r = 0; r < s->rows; r++)
        for (int i = 0; i < WIDTH; i++) out[i] += numbers[r] * p->rows[r][i];
}

static void run(const shape_row *s, const int32_t *ids, double *logits) {
    const float *tokens = plain_data("token_embd.weight");
    memset(text, 0, sizeof text);
    for (int t = 0; t < TEXT; t++)
        for (int r = 0; r < (s->rows ? s->rows : 1); r++)
            for (int i = 0; i < WIDTH; i++) text[t].rows[r][i] = tokens[ids[t] * WIDTH + i];
    for (int l = 0; l < LAYERS; l++) run_layer(s, l, ids);
    for (int t = 0; t < TEXT; t++) {
        row last;
        read_last(s, &text[t], last);
        if (s->rank == 0) plain_normalize("output_norm", 0, 0, epsilon, WIDTH, last);
        plain_product("output", last, logits + t * VOCABULARY);
    }
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static void compare(const shape_row *s, ox_llm *model, int batch, const int32_t *ids, const double *expected,
                    const char *where) {
    static float got[TEXT * VOCABULARY];
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.batch = batch > 0 ? batch : 0;
    ox_llm_context *context = ox_llm_context_open(model, &desc);
    ox_status status = context ? OX_OK : ox_error();
    for (int turns_of = 0; turns_of < 2 && !status; turns_of++) { /* a context that was emptied is like new */
        status = ox_llm_rewind(context, 0);
        if (batch >= 0 && !status) status = ox_llm_decode_all(context, ids, TEXT, got);
        for (int t = 0; batch < 0 && !status && t < TEXT; t++)
            status = ox_llm_decode_one(context, ids[t], got + t * VOCABULARY);
    }
    CHECK_MSG(status == OX_OK, "%s on %s: %s", s->family, where, ox_error_text());
    const double apart = plain_apart(got, expected, TEXT * VOCABULARY);
    CHECK_MSG(apart < 5e-5, "%s on %s, %d rows, %d rounds, rank %d, bank %d, batches of %d: %g apart",
              s->family, where, s->rows, s->rounds, s->rank, s->bank, batch, apart);
    ox_llm_context_close(context);
}

static void test_shape(const shape_row *s, uint64_t seed, ox_device *device, const char *where) {
    static double expected[TEXT * VOCABULARY];
    int32_t ids[TEXT];
    make_model(s, seed);
    for (int t = 0; t < TEXT; t++)
        ids[t] = t % 11 == 9 ? END : (int32_t)((seed + (uint64_t)(t * t * 5 + 3 * t)) % VOCABULARY);
    run(s, ids, expected);
    ox_llm *model = plain_open_on(device);
    if (!model) return;
    compare(s, model, 0, ids, expected, where);
    compare(s, model, 5, ids, expected, where);
    compare(s, model, -1, ids, expected, where);
    ox_llm_close(model);
}

/* A model that lacks a part says which; one whose numbers are absurd says so. */
static void test_refused(void) {
    static const char *const missing[] = {"blk.2.hc_ffn_base.weight", "blk.0.hc_attn_scale.weight",
                                          "output_hc_base.weight", "blk.1.ple_value.weight",
                                          "per_layer_token_embd.weight"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        make_model(&shapes[5], 3);
        unsigned char *at = plain_file.tensors.data, *end = at + plain_file.tensors.count;
        const size_t length = strlen(missing[i]);
        while (at + length < end && memcmp(at, missing[i], length) != 0) at++;
        *at = '?';
        const char *path = gguf_path("llm_residual.gguf");
        CHECK(gguf_write(&plain_file, path) == 0);
        CHECK_MSG(ox_llm_open(path, NULL) == NULL && ox_error() == OX_ERR_NOT_FOUND, "%s: %s", missing[i],
                  ox_error_text());
        ox_error_clear();
        remove(path);
    }
    static const struct {
        const char *key;
        int value;
    } absurd[] = {{"hyper_connection.count", 65}, {"hyper_connection.sinkhorn_iterations", 100000},
                  {"attn_res.block_size", 3},     {"ple.ngram_size", 90},
                  {"ple.conv_kernel", 1000000},   {"hyper_connection.low_rank", 1 << 30}};
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        absurd_key = absurd[i].key;
        absurd_value = absurd[i].value;
        make_model(&shapes[5], 1);
        const char *path = gguf_path("llm_residual.gguf");
        CHECK(gguf_write(&plain_file, path) == 0);
        CHECK_MSG(ox_llm_open(path, NULL) == NULL, "%s", absurd[i].key);
        ox_error_clear();
        remove(path);
    }
    absurd_key = "";
}

/* A norm of a block type, as quantizers leave those of several rows, is what its numbers are. */
static void test_block_norm(void) {
    enum { WIDE = 32 };
    unsigned char block[2 + WIDE] = {0, 0x24}; /* 2^-6 in half precision, and 64 of it: ones */
    float ones[WIDE], logits[2][8];
    const int64_t shape = WIDE;
    const int32_t ids[3] = {1, 5, 2};
    static const char *const matrices[] = {"attn_q.weight",      "attn_k.weight",   "attn_v.weight",
                                           "attn_output.weight", "ffn_gate.weight", "ffn_up.weight",
                                           "ffn_down.weight"};
    for (int i = 0; i < WIDE; i++) ones[i] = 1;
    memset(block + 2, 64, WIDE);
    for (int blocks = 0; blocks < 2; blocks++) {
        plain_start("llama", 9);
        plain_whole("block_count", 1);
        plain_whole("context_length", 64);
        plain_whole("embedding_length", WIDE);
        plain_whole("feed_forward_length", WIDE);
        plain_whole("attention.head_count", 1);
        plain_fact("attention.layer_norm_rms_epsilon", epsilon);
        plain_put(plain_name(0, "attn_norm.weight"), 0, 0, WIDE, 1, 0.25);
        plain_put(plain_name(0, "ffn_norm.weight"), 0, 0, WIDE, 1, 0.25);
        for (int i = 0; i < 7; i++) plain_matrix(plain_name(0, matrices[i]), WIDE, WIDE);
        plain_put("token_embd.weight", 0, 8, WIDE, 0, 1);
        plain_put("output.weight", 0, 8, WIDE, 0, -2);
        gguf_tensor(&plain_file, "output_norm.weight", blocks ? 8 : 0, 1, &shape,
                    blocks ? (void *)block : ones, blocks ? sizeof block : sizeof ones);
        ox_llm *model = plain_open();
        ox_llm_context *context = model ? ox_llm_context_open(model, NULL) : NULL;
        CHECK(context && ox_llm_decode(context, ids, 3, logits[blocks]) == OX_OK);
        ox_llm_context_close(context);
        ox_llm_close(model);
    }
    CHECK(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
}

int main(void) {
    ox_set_exact(true);
    for (int at = PLAIN_CPU; at < PLAIN_PLACES; at++) {
        ox_device *device = plain_device((plain_place)at);
        for (int i = 0; device && i < SHAPES; i++)
            test_shape(&shapes[i], (uint64_t)(50 + i), device, plain_places[at]);
        if (device) plain_leave((plain_place)at, device);
    }
    test_refused();
    test_block_norm();
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("llm_residual");
}
