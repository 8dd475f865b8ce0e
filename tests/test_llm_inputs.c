/* test_llm_inputs.c - Gemma 3n, Gemma 4 and Apertus against plain loops in double: numbers that each layer
 * takes of a token beside, residual rows that are guessed, layers that see the keys of others, keys that are
 * values, heads of two sizes, experts beside a plain feed-forward, cut gates, an activation of each layer's
 * own. On the CPU, on a stream and on Vulkan.
 */
#include "llm_plain.h"

enum {
    WIDTH = 24,
    HEADS = 4,
    SMALL = 6,
    WIDE = 10,
    HIDDEN = 20,
    LAYERS = 6,
    WINDOW = 5,
    VOCABULARY = 37,
    TEXT = 17
};
enum { EXPERTS = 5, USED = 2, ROWS = 4, MOST = 64 };
enum { TYPE_U32 = 4, TYPE_F32 = 6 }; /* of metadata */

typedef struct kind {
    const char *name;
    int inputs, rows, shared, global, same, experts, scaled, bends, known;
} kind;

/* global: key-value heads of layers that see all, 0: as the others; same: their keys are values; known: rows
 * of the table of inputs */
static const kind kinds[] = {{"gemma4", 7, 0, 0, 0, 0, 0, 1, 0, VOCABULARY},
                             {"gemma4", 7, 0, 3, 0, 0, 0, 1, 0, 20},
                             {"gemma4", 0, 0, 0, 1, 1, 0, 0, 0, 0},
                             {"gemma4", 0, 0, 0, 1, 1, 1, 1, 0, 0},
                             {"gemma3n", 7, ROWS, 3, 0, 0, 0, 0, 0, VOCABULARY},
                             {"gemma3n", 7, ROWS, 0, 0, 0, 0, 0, 0, VOCABULARY},
                             {"apertus", 0, 0, 0, 0, 0, 0, 0, 1, 0}};

static const double cutoffs[LAYERS] = {0.5, 1.2, -INFINITY, -0.3, -INFINITY, 0};
static const double bends[4][LAYERS] = {{0.3, -0.5, 1, 0.2, 0, 2},
                                        {-0.4, 0.3, 0.1, 1, -1, 0},
                                        {0.5, 0.4, 0.6, 0.5, 0.5, 0.7},
                                        {-1e-6, -1e-6, -0.1, -1e-6, -1e-6, 0}};
static const char *const bend_keys[4] = {"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"};

/* ---- the model ----------------------------------------------------------------------------------------- */

static int is_gemma(const kind *k) {
    return !k->bends;
}
static int sees_all(const kind *k, int l) {
    return !is_gemma(k) || l % 3 == 2;
}
static int size_of(const kind *k, int l) {
    return k->rows || sees_all(k, l) == 0 || !is_gemma(k) ? SMALL : WIDE;
}
static int keys_of(const kind *k, int l) {
    return k->global && sees_all(k, l) ? k->global : 2;
}

/* The layer whose keys layer `l` sees. */
static int source_of(const kind *k, int l) {
    int from = l;
    if (l < LAYERS - k->shared) return l;
    for (from = LAYERS - k->shared - 1; sees_all(k, from) != sees_all(k, l);) from--;
    return from;
}

static void list_of(const char *key, const double *values) {
    gguf_array(&plain_file, key, TYPE_F32, LAYERS);
    for (int i = 0; i < LAYERS; i++) gguf_number(&plain_file.keys, gguf_float_bits((float)values[i]), 4);
}

static void put_facts(const kind *k) {
    plain_whole("block_count", LAYERS);
    plain_whole("context_length", 64);
    plain_whole("embedding_length", WIDTH);
    plain_whole("feed_forward_length", HIDDEN);
    plain_whole("attention.head_count", HEADS);
    gguf_array(&plain_file, plain_key("attention.head_count_kv"), TYPE_U32, LAYERS);
    for (int l = 0; l < LAYERS; l++) gguf_number(&plain_file.keys, (uint64_t)keys_of(k, l), 4);
    plain_whole("attention.key_length", size_of(k, 2));
    plain_whole("attention.value_length", size_of(k, 2));
    plain_whole("attention.key_length_swa", SMALL);
    plain_whole("attention.value_length_swa", SMALL);
    plain_whole("rope.dimension_count", size_of(k, 2));
    plain_whole("rope.dimension_count_swa", SMALL);
    plain_fact("rope.freq_base", 5000);
    plain_fact("rope.freq_base_swa", 100);
    plain_fact("attention.layer_norm_rms_epsilon", 1e-5);
    if (is_gemma(k)) {
        plain_whole("attention.sliding_window", WINDOW);
        plain_whole("attention.sliding_window_pattern", 3);
        plain_fact("final_logit_softcapping", 3);
    }
    if (k->shared) plain_whole("attention.shared_kv_layers", k->shared);
    if (k->inputs) plain_whole("embedding_length_per_layer_input", k->inputs);
    if (k->rows) plain_whole("altup.num_inputs", k->rows);
    if (k->rows) list_of(plain_key("activation_sparsity_scale"), cutoffs);
    for (int i = 0; i < 4 && k->bends; i++) list_of(bend_keys[i], bends[i]);
    if (!k->experts) return;
    plain_whole("expert_count", EXPERTS);
    plain_whole("expert_used_count", USED);
    plain_whole("expert_feed_forward_length", HIDDEN - 3);
}

static void put_rows(const kind *k, int l) {
    plain_matrix(plain_name(l, "altup_router.weight"), k->rows, WIDTH);
    plain_put(plain_name(l, "altup_router_norm.weight"), 0, 0, WIDTH, 1, 5);
    plain_matrix(plain_name(l, "altup_predict_coef.weight"), k->rows * k->rows, k->rows);
    plain_matrix(plain_name(l, "altup_correct_coef.weight"), k->rows, k->rows);
    plain_put(plain_name(l, "altup_correct_scale.weight"), 0, 0, WIDTH, 1, 0.3);
    plain_matrix(plain_name(l, "laurel_l.weight"), 3, WIDTH);
    plain_matrix(plain_name(l, "laurel_r.weight"), WIDTH, 3);
    plain_norm(plain_name(l, "laurel_post_norm"), WIDTH, 0);
}

static void put_experts(int l) {
    plain_put(plain_name(l, "ffn_gate_inp.weight"), 0, EXPERTS, WIDTH, 0, 2);
    plain_put(plain_name(l, "ffn_gate_inp.scale"), 0, 0, WIDTH, 1, 0.3);
    plain_put(plain_name(l, "ffn_gate_up_exps.weight"), EXPERTS, 2 * (HIDDEN - 3), WIDTH, 0, -1.5);
    plain_put(plain_name(l, "ffn_down_exps.weight"), EXPERTS, WIDTH, HIDDEN - 3, 0, -1.5);
    plain_put(plain_name(l, "ffn_down_exps.scale"), 0, 0, EXPERTS, 1, 0.3);
    plain_norm(plain_name(l, "pre_ffw_norm_2"), WIDTH, 0);
    plain_norm(plain_name(l, "post_ffw_norm_1"), WIDTH, 0);
    plain_norm(plain_name(l, "post_ffw_norm_2"), WIDTH, 0);
}

static void put_layer(const kind *k, int l) {
    const int size = size_of(k, l), queries = HEADS * size, keys = keys_of(k, l) * size;
    plain_norm(plain_name(l, "attn_norm"), WIDTH, 0);
    plain_norm(plain_name(l, "ffn_norm"), WIDTH, 0);
    if (is_gemma(k)) plain_norm(plain_name(l, "post_attention_norm"), WIDTH, 0);
    if (is_gemma(k)) plain_norm(plain_name(l, "post_ffw_norm"), WIDTH, 0);
    plain_matrix(plain_name(l, "attn_q.weight"), queries, WIDTH);
    plain_put(plain_name(l, "attn_q_norm.weight"), 0, 0, size, 0.5, 0.15); /* scores are not scaled */
    if (source_of(k, l) == l) {
        plain_matrix(plain_name(l, "attn_k.weight"), keys, WIDTH);
        plain_put(plain_name(l, "attn_k_norm.weight"), 0, 0, size, 0.5, 0.15);
        if (!(k->same && sees_all(k, l))) plain_matrix(plain_name(l, "attn_v.weight"), keys, WIDTH);
    }
    plain_matrix(plain_name(l, "attn_output.weight"), WIDTH, queries);
    if (is_gemma(k)) plain_matrix(plain_name(l, "ffn_gate.weight"), HIDDEN, WIDTH);
    plain_matrix(plain_name(l, "ffn_up.weight"), HIDDEN, WIDTH);
    plain_matrix(plain_name(l, "ffn_down.weight"), WIDTH, HIDDEN);
    if (k->inputs) {
        plain_matrix(plain_name(l, "inp_gate.weight"), k->inputs, WIDTH);
        plain_matrix(plain_name(l, "proj.weight"), WIDTH, k->inputs);
        plain_norm(plain_name(l, "post_norm"), WIDTH, 0);
    }
    if (k->scaled) plain_put(plain_name(l, "layer_output_scale.weight"), 0, 0, 1, 0.8, 0.2);
    if (k->rows) put_rows(k, l);
    if (k->experts) put_experts(l);
}

static void make_model(const kind *k, uint64_t seed) {
    plain_start(k->name, seed);
    put_facts(k);
    plain_put("token_embd.weight", 0, VOCABULARY, WIDTH, 0, -1);
    plain_norm("output_norm", WIDTH, 0);
    plain_put("output.weight", 0, VOCABULARY, WIDTH, 0, -2);
    if (k->inputs) {
        plain_put("per_layer_token_embd.weight", 0, k->known, k->inputs * LAYERS, 0, 0.4);
        plain_matrix("per_layer_model_proj.weight", k->inputs * LAYERS, WIDTH);
        plain_norm("per_layer_proj_norm", k->inputs, 0);
    }
    if (k->rows) plain_put("altup_proj.weight", k->rows - 1, WIDTH, WIDTH, 0, -1);
    if (k->rows) plain_put("altup_unembd_proj.weight", k->rows - 1, WIDTH, WIDTH, 0, -1);
    for (int l = 0; l < LAYERS; l++) put_layer(k, l);
}

/* ---- plain loops --------------------------------------------------------------------------------------- */

static void normalize(const char *stem, int size, double *x) {
    plain_normalize(stem, 0, 0, 1e-5, size, x);
}

static void turn(double base, int size, int position, double *head) {
    for (int i = 0; i < size / 2; i++) {
        const double angle = position * pow(base, -2.0 * i / size), a = head[i], b = head[i + size / 2];
        head[i] = a * cos(angle) - b * sin(angle);
        head[i + size / 2] = a * sin(angle) + b * cos(angle);
    }
}

static void place(const char *norm, double base, int heads, int size, int position, double *x) {
    for (int h = 0; h < heads; h++) {
        normalize(norm, size, x + h * size);
        turn(base, size, position, x + h * size);
    }
}

static double kept_keys[LAYERS][TEXT][MOST], kept_values[LAYERS][TEXT][MOST];

static void attend(const kind *k, int l, double in[][WIDTH], double out[][WIDTH]) {
    static double q[TEXT][MOST];
    const int size = size_of(k, l), heads = keys_of(k, l), from = source_of(k, l), all = sees_all(k, l);
    const double base = all ? 5000 : 100, scale = is_gemma(k) ? 1 : 1 / sqrt(size);
    for (int t = 0; t < TEXT; t++) {
        double *key = kept_keys[l][t], *value = kept_values[l][t];
        plain_product(plain_name(l, "attn_q"), in[t], q[t]);
        place(plain_name(l, "attn_q_norm"), base, HEADS, size, t, q[t]);
        if (from != l) continue;
        plain_product(plain_name(l, "attn_k"), in[t], key);
        if (plain_find(plain_name(l, "attn_v.weight")))
            plain_product(plain_name(l, "attn_v"), in[t], value);
        else
            memcpy(value, key, sizeof kept_keys[l][t]);
        place(plain_name(l, "attn_k_norm"), base, heads, size, t, key);
        for (int h = 0; h < heads && is_gemma(k); h++) normalize("none", size, value + h * size);
    }
    for (int t = 0; t < TEXT; t++) {
        double mixed[MOST] = {0};
        for (int h = 0; h < HEADS; h++) {
            const int head = h / (HEADS / heads) * size;
            double scores[TEXT];
            for (int u = 0; u <= t; u++) {
                scores[u] = 0;
                for (int i = 0; i < size; i++)
                    scores[u] += q[t][h * size + i] * kept_keys[from][u][head + i] * scale;
                if (!all && t - u >= WINDOW) scores[u] = -INFINITY;
            }
            plain_softmax(t + 1, scores);
            for (int u = 0; u <= t; u++)
                for (int i = 0; i < size; i++)
                    mixed[h * size + i] += scores[u] * kept_values[from][u][head + i];
        }
        plain_product(plain_name(l, "attn_output"), mixed, out[t]);
    }
}

static double softplus(double x) {
    return log1p(exp(x));
}

static double bent(int l, double x) {
    const double beta = bends[2][l], below = fmin(x, (float)bends[3][l]);
    if (x > 0) return softplus(bends[0][l]) * x * x + beta * x;
    return (expm1(below) - x) * (beta + softplus(bends[1][l])) + beta * x;
}

static void feed(const kind *k, int l, const double *x, double *out) {
    double gate[MOST], up[MOST], mean = 0, squares = 0;
    plain_product(plain_name(l, "ffn_up"), x, up);
    if (is_gemma(k)) plain_product(plain_name(l, "ffn_gate"), x, gate);
    for (int i = 0; i < HIDDEN; i++) mean += gate[i] / HIDDEN;
    for (int i = 0; i < HIDDEN; i++) squares += (gate[i] - mean) * (gate[i] - mean) / HIDDEN;
    const double least = mean + cutoffs[l] * sqrt(squares);
    for (int i = 0; i < HIDDEN; i++) {
        if (k->rows && isfinite(cutoffs[l])) gate[i] = fmax(gate[i] - least, 0);
        up[i] = is_gemma(k) ? plain_bend(PLAIN_GELU_TANH, gate[i]) * up[i] : bent(l, up[i]);
    }
    plain_product(plain_name(l, "ffn_down"), up, out);
}

/* out += the experts' part, of the residual row x. */
static void feed_experts(int l, const double *x, double *out) {
    const float *scale = plain_data(plain_name(l, "ffn_gate_inp.scale")),
                *own = plain_data(plain_name(l, "ffn_down_exps.scale"));
    double seen[WIDTH], in[WIDTH], scores[EXPERTS], sum[WIDTH] = {0}, total = 0;
    int best[USED];
    memcpy(seen, x, sizeof seen);
    memcpy(in, x, sizeof in);
    normalize("none", WIDTH, seen);
    for (int i = 0; i < WIDTH; i++) seen[i] *= scale[i] / sqrt(WIDTH);
    normalize(plain_name(l, "pre_ffw_norm_2"), WIDTH, in);
    plain_product(plain_name(l, "ffn_gate_inp"), seen, scores);
    plain_softmax(EXPERTS, scores);
    for (int i = 0; i < USED; i++) {
        best[i] = -1;
        for (int e = 0; e < EXPERTS; e++)
            if (!(i == 1 && best[0] == e) && (best[i] < 0 || scores[e] > scores[best[i]])) best[i] = e;
        total += scores[best[i]];
    }
    for (int i = 0; i < USED; i++) {
        double both[MOST], down[WIDTH];
        plain_product_of(plain_name(l, "ffn_gate_up_exps"), best[i], in, both);
        for (int j = 0; j < HIDDEN - 3; j++)
            both[j] = plain_bend(PLAIN_GELU_TANH, both[j]) * both[j + HIDDEN - 3];
        plain_product_of(plain_name(l, "ffn_down_exps"), best[i], both, down);
        for (int j = 0; j < WIDTH; j++) sum[j] += down[j] * own[best[i]] * scores[best[i]] / total;
    }
    normalize(plain_name(l, "post_ffw_norm_2"), WIDTH, sum);
    for (int i = 0; i < WIDTH; i++) out[i] += sum[i];
}

/* out = what the layer makes of its input, beside */
static void take_input(int l, int inputs, const double *own, const double *x, double *out) {
    double gate[MOST];
    plain_product(plain_name(l, "inp_gate"), x, gate);
    for (int i = 0; i < inputs; i++) gate[i] = plain_bend(PLAIN_GELU_TANH, gate[i]) * own[i];
    plain_product(plain_name(l, "proj"), gate, out);
    normalize(plain_name(l, "post_norm"), WIDTH, out);
}

static double inputs[TEXT][LAYERS][MOST];

/* x: one residual row a position */
static void run_layer(const kind *k, int l, double x[][WIDTH]) {
    static double normal[TEXT][WIDTH], attended[TEXT][WIDTH];
    const float *scale = plain_data(plain_name(l, "layer_output_scale.weight"));
    for (int t = 0; t < TEXT; t++) {
        memcpy(normal[t], x[t], sizeof normal[t]);
        normalize(plain_name(l, "attn_norm"), WIDTH, normal[t]);
    }
    attend(k, l, normal, attended);
    for (int t = 0; t < TEXT; t++) {
        double in[WIDTH], fed[WIDTH], few[MOST];
        if (is_gemma(k)) normalize(plain_name(l, "post_attention_norm"), WIDTH, attended[t]);
        for (int i = 0; i < WIDTH; i++) x[t][i] += attended[t][i];
        if (k->rows) {
            plain_product(plain_name(l, "laurel_l"), normal[t], few);
            plain_product(plain_name(l, "laurel_r"), few, in);
            normalize(plain_name(l, "laurel_post_norm"), WIDTH, in);
            for (int i = 0; i < WIDTH; i++) x[t][i] = (x[t][i] + in[i] + normal[t][i]) * sqrt(0.5);
        }
        memcpy(in, x[t], sizeof in);
        normalize(plain_name(l, "ffn_norm"), WIDTH, in);
        feed(k, l, in, fed);
        if (k->experts) normalize(plain_name(l, "post_ffw_norm_1"), WIDTH, fed);
        if (k->experts) feed_experts(l, x[t], fed);
        if (is_gemma(k)) normalize(plain_name(l, "post_ffw_norm"), WIDTH, fed);
        for (int i = 0; i < WIDTH; i++) x[t][i] += fed[i];
        if (k->inputs && !k->rows) {
            take_input(l, k->inputs, inputs[t][l], x[t], in);
            for (int i = 0; i < WIDTH; i++) x[t][i] += in[i];
        }
        for (int i = 0; i < WIDTH && scale; i++) x[t][i] *= scale[0];
    }
}

static void route_rows(int l, const double *x, double *out) {
    double in[WIDTH];
    memcpy(in, x, sizeof in);
    normalize(plain_name(l, "altup_router_norm"), WIDTH, in);
    for (int i = 0; i < WIDTH; i++) in[i] /= WIDTH;
    plain_product(plain_name(l, "altup_router"), in, out);
    for (int r = 0; r < ROWS; r++) out[r] = tanh(out[r]);
}

/* Guesses all rows, runs the layer on the first, corrects. */
static void run_rows(const kind *k, int l, double x[][ROWS][WIDTH]) {
    static double guessed[TEXT][ROWS][WIDTH], made[TEXT][WIDTH];
    const float *scale = plain_data(plain_name(l, "altup_correct_scale.weight"));
    double few[ROWS], shares[ROWS * ROWS], first[WIDTH], more[WIDTH];
    for (int t = 0; t < TEXT; t++) {
        route_rows(l, x[t][0], few);
        plain_product(plain_name(l, "altup_predict_coef"), few, shares);
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < WIDTH; i++) {
                guessed[t][r][i] = x[t][r][i];
                for (int q = 0; q < ROWS; q++) guessed[t][r][i] += shares[r * ROWS + q] * x[t][q][i];
            }
        memcpy(made[t], guessed[t][0], sizeof made[t]);
    }
    run_layer(k, l, made);
    for (int t = 0; t < TEXT; t++) {
        route_rows(l, made[t], few);
        plain_product(plain_name(l, "altup_correct_coef"), few, shares);
        for (int r = 0; r < ROWS; r++)
            for (int i = 0; i < WIDTH; i++)
                x[t][r][i] = guessed[t][r][i] + (shares[r] + 1) * (made[t][i] - guessed[t][0][i]);
        for (int i = 0; i < WIDTH; i++) first[i] = x[t][0][i] * scale[i];
        take_input(l, k->inputs, inputs[t][l], first, more);
        for (int r = 1; r < ROWS; r++)
            for (int i = 0; i < WIDTH; i++) x[t][r][i] += more[i];
    }
}

static double size_of_row(const double *x) {
    double squares = 0;
    for (int i = 0; i < WIDTH; i++) squares += x[i] * x[i] / WIDTH;
    return sqrt(squares);
}

static void make_inputs(const kind *k, int t, int id, const double *x) {
    double made[LAYERS * MOST];
    const float *table = plain_data("per_layer_token_embd.weight");
    const int row = id < k->known ? id : 0;
    plain_product("per_layer_model_proj", x, made);
    for (int l = 0; l < LAYERS; l++) {
        for (int i = 0; i < k->inputs; i++) inputs[t][l][i] = made[l * k->inputs + i] / sqrt(WIDTH);
        normalize("per_layer_proj_norm", k->inputs, inputs[t][l]);
        for (int i = 0; i < k->inputs; i++)
            inputs[t][l][i] =
                (inputs[t][l][i] + table[(row * LAYERS + l) * k->inputs + i] * sqrt(k->inputs)) * sqrt(0.5);
    }
}

/* x [rows] of a text's position, from its embedding; or the mean of them, in row 0. */
static void spread(int t, double x[][ROWS][WIDTH], int back) {
    const double size = size_of_row(x[t][0]);
    for (int r = 1; r < ROWS; r++) {
        double out[WIDTH];
        plain_product_of(back ? "altup_unembd_proj" : "altup_proj", r - 1, x[t][back ? r : 0], out);
        const double own = fmax(size_of_row(out), sqrt(1e-5));
        for (int i = 0; i < WIDTH; i++) x[t][r][i] = out[i] * size / own;
    }
    for (int i = 0; i < WIDTH && back; i++)
        x[t][0][i] = (x[t][0][i] + x[t][1][i] + x[t][2][i] + x[t][3][i]) / ROWS;
}

static void run(const kind *k, const int32_t *ids, double *logits) {
    static double x[TEXT][WIDTH], rows[TEXT][ROWS][WIDTH];
    const float *tokens = plain_data("token_embd.weight");
    for (int t = 0; t < TEXT; t++) {
        for (int i = 0; i < WIDTH; i++)
            x[t][i] = tokens[ids[t] * WIDTH + i] * (is_gemma(k) ? sqrt(WIDTH) : 1);
        if (k->inputs) make_inputs(k, t, ids[t], x[t]);
        memcpy(rows[t][0], x[t], sizeof x[t]);
        if (k->rows) spread(t, rows, 0);
    }
    for (int l = 0; l < LAYERS; l++) {
        if (k->rows)
            run_rows(k, l, rows);
        else
            run_layer(k, l, x);
    }
    for (int t = 0; t < TEXT; t++) {
        if (k->rows) spread(t, rows, 1);
        double *row = k->rows ? rows[t][0] : x[t];
        normalize("output_norm", WIDTH, row);
        plain_product("output", row, logits + t * VOCABULARY);
        for (int i = 0; i < VOCABULARY && is_gemma(k); i++)
            logits[t * VOCABULARY + i] = 3 * tanh(logits[t * VOCABULARY + i] / 3);
    }
}

/* ---- tests --------------------------------------------------------------------------------------------- */

/* batch 0: as a whole; below 0: token by token. */
static void compare(const kind *k, int number, plain_place at, ox_llm *model, int batch, const int32_t *ids,
                    const double *expected) {
    static float got[TEXT * VOCABULARY];
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = TEXT;
    desc.batch = batch > 0 ? batch : 0;
    ox_llm_context *context = ox_llm_context_open(model, &desc);
    ox_status status = context ? OX_OK : ox_error();
    if (batch >= 0 && !status) status = ox_llm_decode_all(context, ids, TEXT, got);
    for (int t = 0; batch < 0 && !status && t < TEXT; t++)
        status = ox_llm_decode_one(context, ids[t], got + t * VOCABULARY);
    CHECK_MSG(status == OX_OK, "%s %d on %s: %s", k->name, number, plain_places[at], ox_error_text());
    const double apart = plain_apart(got, expected, TEXT * VOCABULARY);
    CHECK_MSG(apart < (k->rows ? 1e-4 : 2e-5), "%s %d on %s, batches of %d: %g apart", k->name, number,
              plain_places[at], batch, apart);
    ox_llm_context_close(context);
}

static void test_kind(const kind *k, int number, plain_place at, ox_device *device) {
    static double expected[TEXT * VOCABULARY];
    int32_t ids[TEXT];
    make_model(k, (uint64_t)(70 + number));
    for (int t = 0; t < TEXT; t++) ids[t] = (int32_t)((number + t * t * 5 + 3 * t) % VOCABULARY);
    run(k, ids, expected);
    ox_llm *model = plain_open_on(device);
    if (!model) return;
    compare(k, number, at, model, 0, ids, expected);
    compare(k, number, at, model, 4, ids, expected);
    compare(k, number, at, model, -1, ids, expected);
    ox_llm_close(model);
}

/* A file that lacks a part, or says what cannot be. */
static void refuse(const kind *k, const char *key, int value, const char *words) {
    make_model(k, 5);
    if (key) plain_whole(key, value);
    const char *path = gguf_path("llm_inputs.gguf");
    CHECK(gguf_write(&plain_file, path) == 0);
    ox_llm *model = ox_llm_open(path, NULL);
    CHECK_MSG(!model && strstr(ox_error_text(), words), "%s: %s", words, ox_error_text());
    ox_llm_close(model);
    ox_error_clear();
    remove(path);
}

int main(void) {
    const int count = (int)(sizeof kinds / sizeof *kinds);
    ox_set_exact(true);
    for (int at = PLAIN_CPU; at < PLAIN_PLACES; at++) {
        ox_device *device = plain_device((plain_place)at);
        for (int i = 0; device && i < count; i++) test_kind(&kinds[i], i, (plain_place)at, device);
        if (device) plain_leave((plain_place)at, device);
    }
    kind lost = kinds[0];
    lost.inputs = 0; /* and the file says that there are some */
    refuse(&lost, "embedding_length_per_layer_input", 7, "per_layer_");
    refuse(&kinds[2], "attention.shared_kv_layers", LAYERS, "whose keys it could see");
    refuse(&kinds[2], "attention.shared_kv_layers", LAYERS - 1, "whose keys it could see");
    refuse(&kinds[2], "altup.num_inputs", 4, "altup_proj");
    refuse(&kinds[4], "altup.active_idx", 1, "compute row 1");
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("llm_inputs");
}
