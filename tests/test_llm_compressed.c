/* test_llm_compressed.c - attention to a window of keys and to rows that blocks of positions leave,
 * against plain loops in double: blocks that overlap and others, keys that are values and are turned back,
 * sinks, heads merged in groups, routers by the root of softplus; at once, in batches that cut blocks,
 * token by token; on the CPU, on a stream and on Vulkan. */
#include "llm_plain.h"

enum {
    WIDTH = 20,
    HIDDEN = 14,
    SIZE = 10,
    TURNED = 4,
    HEADS = 4,
    GROUPS = 2,
    RANK = 7,
    FEW = 9,
    VOCABULARY = 40
};
enum { TEXT = 43, LAYERS = 4, WINDOW = 6, EXPERTS = 4, USED = 2 };
static const double epsilon = 1e-5, near_base = 100, far_base = 1000, clamp = 0.8;
static const int ratios[LAYERS] = {0, 4, 5, 4};

typedef double row[WIDTH];

/* ---- the model ----------------------------------------------------------------------------------------- */

static int parts_of(int l) {
    return ratios[l] == 4 ? 2 * SIZE : SIZE;
}

static void put_layer(int l) {
    plain_norm(plain_name(l, "attn_norm"), WIDTH, 0);
    plain_norm(plain_name(l, "ffn_norm"), WIDTH, 0);
    plain_matrix(plain_name(l, "attn_q_a.weight"), FEW, WIDTH);
    plain_norm(plain_name(l, "attn_q_a_norm"), FEW, 0);
    plain_matrix(plain_name(l, "attn_q_b.weight"), HEADS * SIZE, FEW);
    plain_matrix(plain_name(l, "attn_kv.weight"), SIZE, WIDTH);
    plain_norm(plain_name(l, "attn_kv_a_norm"), SIZE, 0);
    plain_put(plain_name(l, "attn_sinks.weight"), 0, 0, HEADS, 0, 1);
    if (l % 2) /* as one matrix, or as many as there are groups */
        plain_put(plain_name(l, "attn_output_a.weight"), GROUPS, RANK, HEADS / GROUPS * SIZE, 0, -1.5);
    else
        plain_matrix(plain_name(l, "attn_output_a.weight"), GROUPS * RANK, HEADS / GROUPS * SIZE);
    plain_matrix(plain_name(l, "attn_output_b.weight"), WIDTH, GROUPS * RANK);
    if (ratios[l]) {
        plain_matrix(plain_name(l, "attn_compressor_kv.weight"), parts_of(l), WIDTH);
        plain_matrix(plain_name(l, "attn_compressor_gate.weight"), parts_of(l), WIDTH);
        plain_put(plain_name(l, "attn_compressor_ape.weight"), 0, ratios[l], parts_of(l), 0, 1);
        plain_norm(plain_name(l, "attn_compressor_norm"), SIZE, 0);
    }
    plain_put(plain_name(l, "ffn_gate_inp.weight"), 0, EXPERTS, WIDTH, 0, -2);
    plain_put(plain_name(l, "exp_probs_b.bias"), 0, 0, EXPERTS, 0, 0.3);
    plain_put(plain_name(l, "ffn_gate_exps.weight"), EXPERTS, HIDDEN, WIDTH, 0, -1.5);
    plain_put(plain_name(l, "ffn_up_exps.weight"), EXPERTS, HIDDEN, WIDTH, 0, -1.5);
    plain_put(plain_name(l, "ffn_down_exps.weight"), EXPERTS, WIDTH, HIDDEN, 0, -1.5);
    plain_matrix(plain_name(l, "ffn_gate_shexp.weight"), HIDDEN, WIDTH);
    plain_matrix(plain_name(l, "ffn_up_shexp.weight"), HIDDEN, WIDTH);
    plain_matrix(plain_name(l, "ffn_down_shexp.weight"), WIDTH, HIDDEN);
}

static void make_model(uint64_t seed, int best) {
    plain_start("deepseek4", seed);
    plain_whole("block_count", LAYERS);
    plain_whole("context_length", 64);
    plain_whole("embedding_length", WIDTH);
    plain_whole("attention.head_count", HEADS);
    plain_whole("attention.head_count_kv", 1);
    plain_whole("attention.key_length", SIZE);
    plain_whole("attention.value_length", SIZE);
    plain_whole("attention.q_lora_rank", FEW);
    plain_whole("attention.sliding_window", WINDOW);
    plain_whole("attention.output_group_count", GROUPS);
    plain_whole("attention.output_lora_rank", RANK);
    plain_whole("attention.indexer.top_k", best);
    plain_fact("attention.compress_rope_freq_base", far_base);
    gguf_array(&plain_file, plain_key("attention.compress_ratios"), GGUF_U32, LAYERS);
    for (int l = 0; l < LAYERS; l++) gguf_number(&plain_file.keys, (uint64_t)ratios[l], 4);
    plain_whole("rope.dimension_count", TURNED);
    plain_fact("rope.freq_base", near_base);
    plain_fact("attention.layer_norm_rms_epsilon", epsilon);
    plain_whole("expert_count", EXPERTS);
    plain_whole("expert_used_count", USED);
    plain_whole("expert_feed_forward_length", HIDDEN);
    plain_whole("expert_gating_func", 4);
    plain_whole("expert_weights_norm", 1);
    plain_fact("swiglu_clamp_exp", clamp);
    plain_put("token_embd.weight", 0, VOCABULARY, WIDTH, 0, 1);
    plain_norm("output_norm", WIDTH, 0);
    plain_put("output.weight", 0, VOCABULARY, WIDTH, 0, -2);
    for (int l = 0; l < LAYERS; l++) put_layer(l);
}

/* ---- plain loops --------------------------------------------------------------------------------------- */

static void turn_end(int l, int at, double *head) {
    for (int i = 0; i < TURNED; i += 2) {
        double *x = head + SIZE - TURNED + i;
        const double angle = at * pow(ratios[l] ? far_base : near_base, -(double)i / TURNED), a = x[0],
                     b = x[1];
        x[0] = a * cos(angle) - b * sin(angle);
        x[1] = a * sin(angle) + b * cos(angle);
    }
}

/* The row of block `index`. */
static void make_block(int l, int index, row *in, double *out) {
    const float *places = plain_data(plain_name(l, "attn_compressor_ape.weight"));
    const int ratio = ratios[l], parts = parts_of(l), two = parts > SIZE;
    double values[2 * 5][SIZE], scores[2 * 5][SIZE];
    for (int k = 0; k < (two ? 2 : 1) * ratio; k++) {
        double value[2 * SIZE], score[2 * SIZE];
        const int before = two && k < ratio, place = k % ratio, at = (index - before) * ratio + place,
                  from = two && !before ? SIZE : 0;
        for (int i = 0; i < SIZE; i++) values[k][i] = 0;
        for (int i = 0; i < SIZE; i++) scores[k][i] = -INFINITY;
        if (at < 0) continue;
        plain_product(plain_name(l, "attn_compressor_kv"), in[at], value);
        plain_product(plain_name(l, "attn_compressor_gate"), in[at], score);
        for (int i = 0; i < SIZE; i++) values[k][i] = value[from + i];
        for (int i = 0; i < SIZE; i++) scores[k][i] = score[from + i] + places[place * parts + from + i];
    }
    for (int i = 0; i < SIZE; i++) {
        double one[2 * 5];
        for (int k = 0; k < (two ? 2 : 1) * ratio; k++) one[k] = scores[k][i];
        plain_softmax((two ? 2 : 1) * ratio, one);
        out[i] = 0;
        for (int k = 0; k < (two ? 2 : 1) * ratio; k++) out[i] += one[k] * values[k][i];
    }
    plain_normalize(plain_name(l, "attn_compressor_norm"), 0, 0, epsilon, SIZE, out);
    turn_end(l, index * ratio, out);
}

/* One head: q, and every key that is seen, with the sink's share. */
static void attend_head(const double *q, double sink, int count, double (*keys)[SIZE], double *out) {
    double scores[2 * TEXT];
    for (int k = 0; k < count; k++) {
        scores[k] = 0;
        for (int i = 0; i < SIZE; i++) scores[k] += q[i] * keys[k][i] / sqrt(SIZE);
    }
    scores[count] = sink;
    plain_softmax(count + 1, scores);
    for (int i = 0; i < SIZE; i++) {
        out[i] = 0;
        for (int k = 0; k < count; k++) out[i] += scores[k] * keys[k][i];
    }
}

static void attend(int l, row *in, row *out) {
    static double keys[TEXT][SIZE], blocks[TEXT][SIZE], seen[2 * TEXT][SIZE];
    const float *sinks = plain_data(plain_name(l, "attn_sinks.weight"));
    for (int t = 0; t < TEXT; t++) {
        plain_product(plain_name(l, "attn_kv"), in[t], keys[t]);
        plain_normalize(plain_name(l, "attn_kv_a_norm"), 0, 0, epsilon, SIZE, keys[t]);
        turn_end(l, t, keys[t]);
    }
    for (int b = 0; ratios[l] && b < TEXT / ratios[l]; b++) make_block(l, b, in, blocks[b]);
    for (int t = 0; t < TEXT; t++) {
        double few[FEW], q[HEADS * SIZE], mixed[HEADS * SIZE], merged[GROUPS * RANK];
        int count = 0;
        for (int u = t < WINDOW ? 0 : t - WINDOW + 1; u <= t; u++)
            memcpy(seen[count++], keys[u], sizeof keys[u]);
        for (int b = 0; ratios[l] && b < (t + 1) / ratios[l]; b++)
            memcpy(seen[count++], blocks[b], sizeof blocks[b]);
        plain_product(plain_name(l, "attn_q_a"), in[t], few);
        plain_normalize(plain_name(l, "attn_q_a_norm"), 0, 0, epsilon, FEW, few);
        plain_product(plain_name(l, "attn_q_b"), few, q);
        for (int h = 0; h < HEADS; h++) {
            plain_normalize("none", 0, 0, epsilon, SIZE, q + h * SIZE);
            turn_end(l, t, q + h * SIZE);
            attend_head(q + h * SIZE, sinks[h], count, seen, mixed + h * SIZE);
            turn_end(l, -t, mixed + h * SIZE);
        }
        for (int g = 0; g < GROUPS; g++) {
            double all[GROUPS * RANK];
            const double *part = mixed + g * HEADS / GROUPS * SIZE;
            plain_product_of(plain_name(l, "attn_output_a"), l % 2 ? g : 0, part, all);
            memcpy(merged + g * RANK, all + (l % 2 ? 0 : g * RANK), RANK * sizeof(double));
        }
        plain_product(plain_name(l, "attn_output_b"), merged, out[t]);
    }
}

static void feed_one(int l, const char *end, int which, double weight, const double *x, double *out) {
    char name[32];
    double gate[HIDDEN], up[HIDDEN], down[WIDTH];
    snprintf(name, sizeof name, "ffn_gate%s", end);
    plain_product_of(plain_name(l, name), which, x, gate);
    snprintf(name, sizeof name, "ffn_up%s", end);
    plain_product_of(plain_name(l, name), which, x, up);
    for (int i = 0; i < HIDDEN; i++)
        up[i] = fmax(-clamp, fmin(up[i], clamp)) * plain_bend(PLAIN_SILU, fmin(gate[i], clamp));
    snprintf(name, sizeof name, "ffn_down%s", end);
    plain_product_of(plain_name(l, name), which, up, down);
    for (int i = 0; i < WIDTH; i++) out[i] += weight * down[i];
}

static void feed(int l, const double *x, double *out) {
    const float *bias = plain_data(plain_name(l, "exp_probs_b.bias"));
    double scores[EXPERTS], sum = 0;
    int used[EXPERTS];
    plain_product(plain_name(l, "ffn_gate_inp"), x, scores);
    for (int e = 0; e < EXPERTS; e++) scores[e] = sqrt(log1p(exp(scores[e])));
    for (int e = 0; e < EXPERTS; e++) {
        int better = 0;
        for (int other = 0; other < EXPERTS; other++)
            better += scores[other] + bias[other] > scores[e] + bias[e];
        used[e] = better < USED;
        if (used[e]) sum += scores[e];
    }
    for (int e = 0; e < EXPERTS; e++)
        if (used[e]) feed_one(l, "_exps", e, scores[e] / sum, x, out);
    feed_one(l, "_shexp", 0, 1, x, out);
}

static void run(const int32_t *ids, double *logits) {
    static row x[TEXT], in[TEXT], out[TEXT];
    const float *tokens = plain_data("token_embd.weight");
    for (int t = 0; t < TEXT; t++)
        for (int i = 0; i < WIDTH; i++) x[t][i] = tokens[ids[t] * WIDTH + i];
    for (int l = 0; l < LAYERS; l++) {
        memcpy(in, x, sizeof in);
        for (int t = 0; t < TEXT; t++)
            plain_normalize(plain_name(l, "attn_norm"), 0, 0, epsilon, WIDTH, in[t]);
        attend(l, in, out);
        for (int t = 0; t < TEXT; t++) {
            for (int i = 0; i < WIDTH; i++) x[t][i] += out[t][i];
            memcpy(in[t], x[t], sizeof in[t]);
            plain_normalize(plain_name(l, "ffn_norm"), 0, 0, epsilon, WIDTH, in[t]);
            feed(l, in[t], x[t]);
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
    for (int times = 0; times < 2 && !status; times++) { /* a context that was emptied is like a new one */
        status = ox_llm_rewind(context, 0);
        if (batch >= 0 && !status) status = ox_llm_decode_all(context, ids, TEXT, got);
        for (int t = 0; batch < 0 && !status && t < TEXT; t++)
            status = ox_llm_decode_one(context, ids[t], got + t * VOCABULARY);
    }
    CHECK_MSG(status == OX_OK, "on %s: %s", where, ox_error_text());
    CHECK(!context || ox_llm_rewind(context, TEXT - 1) == OX_ERR_UNSUPPORTED); /* blocks were summed */
    ox_error_clear();
    const double apart = plain_apart(got, expected, TEXT * VOCABULARY);
    CHECK_MSG(apart < (cache == OX_F16 ? 1e-2 : 5e-5), "on %s, batches of %d: %g apart", where, batch, apart);
    ox_llm_context_close(context);
}

static void test_text(uint64_t seed, ox_device *device, const char *where) {
    static double expected[TEXT * VOCABULARY];
    int32_t ids[TEXT];
    make_model(seed, 1000);
    for (int t = 0; t < TEXT; t++) ids[t] = (int32_t)((seed + (uint64_t)(t * t * 5 + 3 * t)) % VOCABULARY);
    run(ids, expected);
    ox_llm *model = plain_open_on(device);
    if (!model) return;
    static const int batches[] = {0, 1, 3, 4, 7, 20, -1};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        compare(model, batches[i], OX_F32, ids, expected, where);
    compare(model, 7, OX_F16, ids, expected, where);
    ox_llm_close(model);
}

/* The best rows of blocks alone are seen in long texts: those are refused, not computed otherwise. */
static void test_sparse(void) {
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    make_model(1, 8); /* 8 rows of 4 positions */
    ox_llm *model = plain_open();
    ox_llm_context *context = model ? ox_llm_context_open(model, NULL) : NULL;
    CHECK(context && ox_llm_capacity(context) == 32);
    ox_llm_context_close(context);
    desc.capacity = 33;
    CHECK(ox_llm_context_open(model, &desc) == NULL && ox_error() == OX_ERR_UNSUPPORTED);
    ox_error_clear();
    ox_llm_close(model);
}

int main(void) {
    ox_set_exact(true);
    for (int at = PLAIN_CPU; at < PLAIN_PLACES; at++) {
        ox_device *device = plain_device((plain_place)at);
        for (int i = 0; device && i < 2; i++) test_text((uint64_t)(20 + i), device, plain_places[at]);
        if (device) plain_leave((plain_place)at, device);
    }
    test_sparse();
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("llm_compressed");
}
