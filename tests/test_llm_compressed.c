/* test_llm_compressed.c - attention to a window of keys and to rows that blocks of positions leave,
 * against plain loops in double: blocks that overlap and others, keys that are values and are turned back,
 * sinks, heads merged in groups, routers by the root of softplus and by a table of tokens, indexers that
 * choose rows; at once, in batches that cut blocks, token by token; on the CPU, a stream and Vulkan. */
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
enum { TEXT = 43, LAYERS = 4, WINDOW = 6, EXPERTS = 4, USED = 2, BEST = 3, INDEX_HEADS = 9, INDEX_SIZE = 6 };
static const double epsilon = 1e-5, near_base = 100, far_base = 1000, clamp = 0.8;
static const int ratios[LAYERS] = {0, 4, 5, 4};

/* Which experts the tokens of the first layers have. */
static int32_t table[VOCABULARY * USED], worst_expert; /* the last one's, if that is not 0 */
static bool indexers = true;
enum { TABLES = 2 };

typedef double row[WIDTH];

/* ---- the model ----------------------------------------------------------------------------------------- */

static int parts_of(int l) {
    return ratios[l] == 4 ? 2 * SIZE : SIZE;
}

static void put_table(int l) {
    static const int64_t shape[2] = {VOCABULARY, USED};
    for (int i = 0; i < VOCABULARY * USED; i += USED) {
        table[i] = i / USED * 7 % EXPERTS;
        table[i + 1] = (table[i] + 1 + i / USED % (EXPERTS - 1)) % EXPERTS;
    }
    if (worst_expert) table[VOCABULARY * USED - 1] = worst_expert;
    gguf_tensor(&plain_file, plain_name(l, "ffn_gate_tid2eid.weight"), 26 /* i32 */, 2, shape, table,
                sizeof table);
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
    if (ratios[l] == 4 && indexers) {
        plain_matrix(plain_name(l, "indexer.attn_q_b.weight"), INDEX_HEADS * INDEX_SIZE, FEW);
        plain_matrix(plain_name(l, "indexer.proj.weight"), INDEX_HEADS, WIDTH);
        plain_matrix(plain_name(l, "indexer_compressor_kv.weight"), 2 * INDEX_SIZE, WIDTH);
        plain_matrix(plain_name(l, "indexer_compressor_gate.weight"), 2 * INDEX_SIZE, WIDTH);
        plain_put(plain_name(l, "indexer_compressor_ape.weight"), 0, ratios[l], 2 * INDEX_SIZE, 0, 1);
        plain_norm(plain_name(l, "indexer_compressor_norm"), INDEX_SIZE, 0);
    }
    plain_put(plain_name(l, "ffn_gate_inp.weight"), 0, EXPERTS, WIDTH, 0, -2);
    if (l < TABLES)
        put_table(l);
    else
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
    plain_whole("attention.indexer.head_count", INDEX_HEADS);
    plain_whole("attention.indexer.key_length", INDEX_SIZE);
    plain_whole("hash_layer_count", TABLES);
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

static void turn_end_of(int l, int size, int at, double *head) {
    for (int i = 0; i < TURNED; i += 2) {
        double *x = head + size - TURNED + i;
        const double angle = at * pow(ratios[l] ? far_base : near_base, -(double)i / TURNED), a = x[0],
                     b = x[1];
        x[0] = a * cos(angle) - b * sin(angle);
        x[1] = a * sin(angle) + b * cos(angle);
    }
}

static void turn_end(int l, int at, double *head) {
    turn_end_of(l, SIZE, at, head);
}

/* "blk.<l>.<stem>_compressor_<end>" */
static const char *name_of_block(int l, const char *stem, const char *end) {
    char name[48];
    snprintf(name, sizeof name, "%s_compressor_%s", stem, end);
    return plain_name(l, name);
}

/* The row of block `index`, of attention or of its indexer. */
static void make_block(int l, const char *stem, int size, int index, row *in, double *out) {
    const float *places = plain_data(name_of_block(l, stem, "ape.weight"));
    const int ratio = ratios[l], two = ratio == 4, parts = two ? 2 * size : size;
    double values[2 * 5][SIZE], scores[2 * 5][SIZE];
    for (int k = 0; k < (two ? 2 : 1) * ratio; k++) {
        double value[2 * SIZE], score[2 * SIZE];
        const int before = two && k < ratio, place = k % ratio, at = (index - before) * ratio + place,
                  from = two && !before ? size : 0;
        for (int i = 0; i < size; i++) values[k][i] = 0;
        for (int i = 0; i < size; i++) scores[k][i] = -INFINITY;
        if (at < 0) continue;
        plain_product(name_of_block(l, stem, "kv"), in[at], value);
        plain_product(name_of_block(l, stem, "gate"), in[at], score);
        for (int i = 0; i < size; i++) values[k][i] = value[from + i];
        for (int i = 0; i < size; i++) scores[k][i] = score[from + i] + places[place * parts + from + i];
    }
    for (int i = 0; i < size; i++) {
        double one[2 * 5];
        for (int k = 0; k < (two ? 2 : 1) * ratio; k++) one[k] = scores[k][i];
        plain_softmax((two ? 2 : 1) * ratio, one);
        out[i] = 0;
        for (int k = 0; k < (two ? 2 : 1) * ratio; k++) out[i] += one[k] * values[k][i];
    }
    plain_normalize(name_of_block(l, stem, "norm"), 0, 0, epsilon, size, out);
    turn_end_of(l, size, index * ratio, out);
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

/* Which of `count` rows position `t` sees: the best, of an indexer's rows, or all. */
static void choose(int l, int t, const double *few, const double *x, int count, double (*rows)[SIZE],
                   int best, bool *chosen) {
    double q[INDEX_HEADS * INDEX_SIZE], weights[INDEX_HEADS], scores[TEXT];
    for (int b = 0; b < count; b++) chosen[b] = true;
    if (ratios[l] != 4) return;
    plain_product(plain_name(l, "indexer.attn_q_b"), few, q);
    plain_product(plain_name(l, "indexer.proj"), x, weights);
    for (int h = 0; h < INDEX_HEADS; h++) turn_end_of(l, INDEX_SIZE, t, q + h * INDEX_SIZE);
    for (int b = 0; b < count; b++) {
        scores[b] = 0;
        for (int h = 0; h < INDEX_HEADS; h++) {
            double sum = 0;
            for (int i = 0; i < INDEX_SIZE; i++) sum += q[h * INDEX_SIZE + i] * rows[b][i];
            scores[b] += weights[h] * fmax(sum, 0);
        }
    }
    for (int b = 0; b < count; b++) {
        int better = 0;
        for (int other = 0; other < count; other++) better += scores[other] > scores[b];
        chosen[b] = better < best;
    }
}

static void attend(int l, int best, row *in, row *out) {
    static double keys[TEXT][SIZE], blocks[TEXT][SIZE], rows[TEXT][SIZE], seen[2 * TEXT][SIZE];
    bool chosen[TEXT];
    const float *sinks = plain_data(plain_name(l, "attn_sinks.weight"));
    for (int t = 0; t < TEXT; t++) {
        plain_product(plain_name(l, "attn_kv"), in[t], keys[t]);
        plain_normalize(plain_name(l, "attn_kv_a_norm"), 0, 0, epsilon, SIZE, keys[t]);
        turn_end(l, t, keys[t]);
    }
    for (int b = 0; ratios[l] && b < TEXT / ratios[l]; b++) {
        make_block(l, "attn", SIZE, b, in, blocks[b]);
        if (ratios[l] == 4) make_block(l, "indexer", INDEX_SIZE, b, in, rows[b]);
    }
    for (int t = 0; t < TEXT; t++) {
        double few[FEW], q[HEADS * SIZE], mixed[HEADS * SIZE], merged[GROUPS * RANK];
        int count = 0;
        for (int u = t < WINDOW ? 0 : t - WINDOW + 1; u <= t; u++)
            memcpy(seen[count++], keys[u], sizeof keys[u]);
        plain_product(plain_name(l, "attn_q_a"), in[t], few);
        plain_normalize(plain_name(l, "attn_q_a_norm"), 0, 0, epsilon, FEW, few);
        const int left = ratios[l] ? (t + 1) / ratios[l] : 0;
        choose(l, t, few, in[t], left, rows, best, chosen);
        for (int b = 0; b < left; b++)
            if (chosen[b]) memcpy(seen[count++], blocks[b], sizeof blocks[b]);
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

static void feed(int l, int32_t id, const double *x, double *out) {
    const float *bias = l < TABLES ? NULL : plain_data(plain_name(l, "exp_probs_b.bias"));
    double scores[EXPERTS], sum = 0;
    int used[EXPERTS];
    plain_product(plain_name(l, "ffn_gate_inp"), x, scores);
    for (int e = 0; e < EXPERTS; e++) scores[e] = sqrt(log1p(exp(scores[e])));
    for (int e = 0; e < EXPERTS; e++) {
        int better = 0;
        for (int other = 0; bias && other < EXPERTS; other++)
            better += scores[other] + bias[other] > scores[e] + bias[e];
        used[e] = bias ? better < USED : table[id * USED] == e || table[id * USED + 1] == e;
        if (used[e]) sum += scores[e];
    }
    for (int e = 0; e < EXPERTS; e++)
        if (used[e]) feed_one(l, "_exps", e, scores[e] / sum, x, out);
    feed_one(l, "_shexp", 0, 1, x, out);
}

static void run(const int32_t *ids, int best, double *logits) {
    static row x[TEXT], in[TEXT], out[TEXT];
    const float *tokens = plain_data("token_embd.weight");
    for (int t = 0; t < TEXT; t++)
        for (int i = 0; i < WIDTH; i++) x[t][i] = tokens[ids[t] * WIDTH + i];
    for (int l = 0; l < LAYERS; l++) {
        memcpy(in, x, sizeof in);
        for (int t = 0; t < TEXT; t++)
            plain_normalize(plain_name(l, "attn_norm"), 0, 0, epsilon, WIDTH, in[t]);
        attend(l, best, in, out);
        for (int t = 0; t < TEXT; t++) {
            for (int i = 0; i < WIDTH; i++) x[t][i] += out[t][i];
            memcpy(in[t], x[t], sizeof in[t]);
            plain_normalize(plain_name(l, "ffn_norm"), 0, 0, epsilon, WIDTH, in[t]);
            feed(l, ids[t], in[t], x[t]);
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

static void test_text(uint64_t seed, int best, ox_device *device, const char *where) {
    static double expected[TEXT * VOCABULARY];
    int32_t ids[TEXT];
    make_model(seed, best);
    for (int t = 0; t < TEXT; t++) ids[t] = (int32_t)((seed + (uint64_t)(t * t * 5 + 3 * t)) % VOCABULARY);
    run(ids, best, expected);
    ox_llm *model = plain_open_on(device);
    if (!model) return;
    static const int batches[] = {0, 1, 3, 4, 7, 20, -1};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        compare(model, batches[i], OX_F32, ids, expected, where);
    compare(model, 7, OX_F16, ids, expected, where);
    ox_llm_close(model);
}

/* Files that leave indexers out are read: a context is as long as all rows are seen. */
static void test_without(void) {
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    indexers = false;
    make_model(1, 8); /* 8 rows of 4 positions */
    indexers = true;
    ox_llm *model = plain_open();
    ox_llm_context *context = model ? ox_llm_context_open(model, NULL) : NULL;
    CHECK(context && ox_llm_capacity(context) == 32);
    ox_llm_context_close(context);
    desc.capacity = 33;
    CHECK(ox_llm_context_open(model, &desc) == NULL && ox_error() == OX_ERR_UNSUPPORTED);
    ox_error_clear();
    ox_llm_close(model);
}

/* What is no expert in a table is told when it is read. */
static void test_table(void) {
    static const int32_t wrong[] = {EXPERTS, -1, INT32_MAX};
    for (int i = 0; i < 3; i++) {
        worst_expert = wrong[i];
        make_model(1, 1000);
        const char *path = gguf_path("llm_table.gguf");
        CHECK(gguf_write(&plain_file, path) == 0);
        CHECK(!ox_llm_open(path, NULL) && ox_error() == OX_ERR_INDEX);
        CHECK_MSG(strstr(ox_error_text(), "blk.0.ffn_gate_tid2eid"), "%s", ox_error_text());
        ox_error_clear();
        remove(path);
    }
    worst_expert = 0;
}

int main(void) {
    ox_set_exact(true);
    for (int at = PLAIN_CPU; at < PLAIN_PLACES; at++) {
        ox_device *device = plain_device((plain_place)at);
        for (int i = 0; device && i < 3; i++) /* all rows of blocks, and the best of them */
            test_text((uint64_t)(20 + i), i ? BEST : 1000, device, plain_places[at]);
        if (device) plain_leave((plain_place)at, device);
    }
    test_without();
    test_table();
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("llm_compressed");
}
