/* test_llm_rwkv.c - RWKV 6 and 7 against plain loops in double, position by position: shares of the position
 * before, decays and rates made of them, the memory with and without erasing, norms of heads, both
 * feed-forwards; on the CPU, on a stream and on Vulkan.
 */
#include "llm_plain.h"

enum { WIDTH = 24, HIDDEN = 30, SIZE = 6, HEADS = WIDTH / SIZE, VOCABULARY = 40, TEXT = 45, LAYERS = 3 };
static const double epsilon = 1e-5;

typedef struct shape_row {
    const char *family;
    int seventh, wide_feed; /* the feed-forward is a gated one, as a transformer's */
    int kv_heads, gated, normed, halved;
} shape_row;

static const shape_row shapes[] = {{"rwkv6", 0, 0, HEADS, 1, 1, 2},
                                   {"rwkv6qwen2", 0, 1, 2, 1, 0, 0},
                                   {"rwkv7", 1, 0, HEADS, 1, 1, 0},
                                   {"arwkv7", 1, 1, HEADS, 0, 0, 0}};

/* ---- the model ----------------------------------------------------------------------------------------- */

static void put_mixer(const shape_row *s, int l) {
    static const char *const lora[] = {"w", "a", "v"};
    const int keys = s->kv_heads * SIZE;
    char name[40];
    plain_put(plain_name(l, "time_mix_lerp_fused.weight"), 0, 5 + (s->seventh && s->gated), WIDTH, 0.5, 0.2);
    plain_matrix(plain_name(l, "time_mix_receptance.weight"), WIDTH, WIDTH);
    plain_matrix(plain_name(l, "time_mix_key.weight"), keys, WIDTH);
    plain_matrix(plain_name(l, "time_mix_value.weight"), keys, WIDTH);
    plain_matrix(plain_name(l, "time_mix_output.weight"), WIDTH, WIDTH);
    if (s->normed) plain_norm(plain_name(l, "time_mix_ln"), WIDTH, 1);
    if (!s->seventh) {
        plain_put(plain_name(l, "time_mix_lerp_x.weight"), 0, 0, WIDTH, 0.5, 0.2);
        plain_matrix(plain_name(l, "time_mix_w1.weight"), 5 * 3, WIDTH);
        plain_put(plain_name(l, "time_mix_w2.weight"), 5, WIDTH, 3, 0, -0.7);
        plain_put(plain_name(l, "time_mix_decay.weight"), 0, 0, WIDTH, -1, 1);
        plain_matrix(plain_name(l, "time_mix_decay_w1.weight"), 4, WIDTH);
        plain_matrix(plain_name(l, "time_mix_decay_w2.weight"), WIDTH, 4);
        plain_matrix(plain_name(l, "time_mix_gate.weight"), WIDTH, WIDTH);
        if (s->normed) plain_put(plain_name(l, "time_mix_first.weight"), 0, HEADS, SIZE, 0, 1);
        if (!s->normed) plain_put(plain_name(l, "time_mix_key.bias"), 0, 0, keys, 0, 0.3);
        return;
    }
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "time_mix_%s0.weight", lora[i]);
        plain_put(plain_name(l, name), 0, 0, WIDTH, 0, 1);
        snprintf(name, sizeof name, "time_mix_%s1.weight", lora[i]);
        plain_matrix(plain_name(l, name), 3 + i, WIDTH);
        snprintf(name, sizeof name, "time_mix_%s2.weight", lora[i]);
        plain_matrix(plain_name(l, name), WIDTH, 3 + i);
    }
    if (s->gated) plain_matrix(plain_name(l, "time_mix_g1.weight"), 5, WIDTH);
    if (s->gated) plain_matrix(plain_name(l, "time_mix_g2.weight"), WIDTH, 5);
    plain_put(plain_name(l, "time_mix_k_k.weight"), 0, 0, WIDTH, 1, 0.3);
    plain_put(plain_name(l, "time_mix_k_a.weight"), 0, 0, WIDTH, 1, 0.3);
    plain_put(plain_name(l, "time_mix_r_k.weight"), 0, 0, WIDTH, 0, 0.5);
}

static void make_model(const shape_row *s, uint64_t seed) {
    plain_start(s->family, seed);
    plain_whole("block_count", LAYERS);
    plain_whole("context_length", 64);
    plain_whole("embedding_length", WIDTH);
    plain_whole("feed_forward_length", HIDDEN);
    plain_whole("wkv.head_size", SIZE);
    plain_whole("attention.head_count_kv", s->kv_heads == HEADS ? 0 : s->kv_heads);
    if (!s->seventh) plain_whole("time_mix_extra_dim", 3);
    if (s->halved) plain_whole("rescale_every_n_layers", s->halved);
    plain_fact(s->wide_feed ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", epsilon);
    plain_put("token_embd.weight", 0, VOCABULARY, WIDTH, 0, 1);
    if (!s->wide_feed) plain_norm("token_embd_norm", WIDTH, 1);
    plain_norm("output_norm", WIDTH, !s->wide_feed);
    plain_put("output.weight", 0, VOCABULARY, WIDTH, 0, -2);
    for (int l = 0; l < LAYERS; l++) {
        plain_norm(plain_name(l, "attn_norm"), WIDTH, !s->wide_feed);
        put_mixer(s, l);
        if (s->wide_feed) {
            plain_norm(plain_name(l, "ffn_norm"), WIDTH, 0);
            plain_matrix(plain_name(l, "ffn_gate.weight"), HIDDEN, WIDTH);
            plain_matrix(plain_name(l, "ffn_up.weight"), HIDDEN, WIDTH);
            plain_matrix(plain_name(l, "ffn_down.weight"), WIDTH, HIDDEN);
            continue;
        }
        plain_norm(plain_name(l, "attn_norm_2"), WIDTH, 1);
        plain_put(plain_name(l, "channel_mix_lerp_k.weight"), 0, 0, WIDTH, 0.5, 0.2);
        plain_matrix(plain_name(l, "channel_mix_key.weight"), HIDDEN, WIDTH);
        plain_matrix(plain_name(l, "channel_mix_value.weight"), WIDTH, HIDDEN);
        if (s->seventh) continue;
        plain_put(plain_name(l, "channel_mix_lerp_r.weight"), 0, 0, WIDTH, 0.5, 0.2);
        plain_matrix(plain_name(l, "channel_mix_receptance.weight"), WIDTH, WIDTH);
    }
}

/* ---- plain loops --------------------------------------------------------------------------------------- */

typedef struct memory {
    double mixed[WIDTH], fed[WIDTH], table[HEADS][SIZE][SIZE]; /* of each key, its values */
} memory;

static memory memories[LAYERS];
static double first_values[WIDTH];

static void shift(const float *share, const double *x, const double *before, double *out) {
    for (int i = 0; i < WIDTH; i++) out[i] = x[i] + share[i] * (before[i] - x[i]);
}

/* base + second(f(first x)) */
static void adapt(int l, const char *base, const char *first, const char *second, int curved, const double *x,
                  double *out) {
    char name[40];
    double few[8];
    snprintf(name, sizeof name, "%s.weight", base);
    const float *start = plain_data(plain_name(l, name));
    const int count = plain_product(plain_name(l, first), x, few);
    for (int i = 0; i < count && curved; i++) few[i] = tanh(few[i]);
    plain_product(plain_name(l, second), few, out);
    for (int i = 0; i < WIDTH; i++) out[i] += start[i];
}

/* Each head's norm of y, and what its own position adds: (q . weight k) v. */
static void finish(const shape_row *s, int l, double *y, const double *q, const double *k, const double *v,
                   int after) {
    const float *bonus =
        plain_data(plain_name(l, s->seventh ? "time_mix_r_k.weight" : "time_mix_first.weight"));
    for (int h = 0; h < HEADS; h++) {
        double own = 0;
        for (int i = h * SIZE; i < (h + 1) * SIZE && bonus; i++) own += q[i] * bonus[i] * k[i];
        for (int i = h * SIZE; i < (h + 1) * SIZE && !after; i++) y[i] += own * v[i];
        if (s->normed) plain_normalize(plain_name(l, "time_mix_ln"), h * SIZE, 1, 64e-5, SIZE, y + h * SIZE);
        for (int i = h * SIZE; i < (h + 1) * SIZE && after; i++) y[i] += own * v[i];
    }
}

static void mix_sixth(const shape_row *s, int l, const double *x, const double *before, double *out) {
    static const char *const names[] = {"time_mix_key", "time_mix_value", "time_mix_receptance",
                                        "time_mix_gate"};
    const float *shares = plain_data(plain_name(l, "time_mix_lerp_fused.weight")),
                *up = plain_data(plain_name(l, "time_mix_w2.weight"));
    const int each = HEADS / s->kv_heads, late = plain_data(plain_name(l, "time_mix_first.weight")) != NULL;
    double made[WIDTH], few[15], in[5][WIDTH], decay[WIDTH], all[4][WIDTH], y[WIDTH] = {0};
    shift(plain_data(plain_name(l, "time_mix_lerp_x.weight")), x, before, made);
    plain_product(plain_name(l, "time_mix_w1"), made, few);
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < WIDTH; i++) {
            double share = shares[k * WIDTH + i];
            for (int r = 0; r < 3; r++) share += up[(k * WIDTH + i) * 3 + r] * tanh(few[3 * k + r]);
            in[k][i] = x[i] + share * (before[i] - x[i]);
        }
    adapt(l, "time_mix_decay", "time_mix_decay_w1", "time_mix_decay_w2", 1, in[0], decay);
    for (int k = 0; k < 4; k++) plain_product(plain_name(l, names[k]), in[k + 1], all[k]);
    double *k = all[0], *v = all[1], *q = all[2];
    for (int h = HEADS - 1; h >= 0; h--) { /* keys and values that heads share */
        memmove(k + h * SIZE, k + h / each * SIZE, SIZE * sizeof *k);
        memmove(v + h * SIZE, v + h / each * SIZE, SIZE * sizeof *v);
    }
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < SIZE; i++) {
            const int at = h * SIZE + i;
            const double kept = exp(-exp(decay[at])), key = late ? k[at] : k[at] * (1 - kept);
            for (int j = 0; j < SIZE; j++) {
                double *cell = &memories[l].table[h][i][j];
                if (late) y[h * SIZE + j] += q[at] * *cell;
                *cell = kept * *cell + key * v[h * SIZE + j];
                if (!late) y[h * SIZE + j] += q[at] / sqrt(SIZE) * *cell;
            }
        }
    if (late) finish(s, l, y, q, k, v, 0);
    for (int i = 0; i < WIDTH; i++)
        y[i] *= late ? plain_bend(PLAIN_SILU, all[3][i]) : plain_sigmoid(all[3][i]);
    plain_product(plain_name(l, "time_mix_output"), y, out);
}

static void mix_seventh(const shape_row *s, int l, const double *x, const double *before, double *out) {
    const float *shares = plain_data(plain_name(l, "time_mix_lerp_fused.weight")),
                *erased = plain_data(plain_name(l, "time_mix_k_k.weight")),
                *rated = plain_data(plain_name(l, "time_mix_k_a.weight"));
    double in[6][WIDTH], decay[WIDTH], rate[WIDTH], share[WIDTH], q[WIDTH], k[WIDTH], v[WIDTH], kk[WIDTH];
    double y[WIDTH] = {0}, few[8], gate[WIDTH];
    for (int i = 0; i < 5 + s->gated; i++) shift(shares + i * WIDTH, x, before, in[i]);
    plain_product(plain_name(l, "time_mix_receptance"), in[0], q);
    adapt(l, "time_mix_w0", "time_mix_w1", "time_mix_w2", 1, in[1], decay);
    plain_product(plain_name(l, "time_mix_key"), in[2], k);
    plain_product(plain_name(l, "time_mix_value"), in[3], v);
    adapt(l, "time_mix_v0", "time_mix_v1", "time_mix_v2", 0, in[3], share);
    adapt(l, "time_mix_a0", "time_mix_a1", "time_mix_a2", 0, in[4], rate);
    for (int i = 0; i < WIDTH; i++) {
        if (l == 0) first_values[i] = v[i];
        v[i] += (first_values[i] - v[i]) * plain_sigmoid(share[i]);
        rate[i] = plain_sigmoid(rate[i]);
        kk[i] = k[i] * erased[i];
        k[i] *= 1 + (rate[i] - 1) * rated[i];
    }
    for (int h = 0; h < HEADS; h++) {
        double length = 0, seen[SIZE] = {0};
        for (int i = h * SIZE; i < (h + 1) * SIZE; i++) length += kk[i] * kk[i];
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++)
                seen[j] -= kk[h * SIZE + i] / sqrt(length) * memories[l].table[h][i][j];
        for (int i = 0; i < SIZE; i++)
            for (int j = 0; j < SIZE; j++) {
                const int at = h * SIZE + i;
                double *cell = &memories[l].table[h][i][j];
                *cell = *cell * exp(-exp(-0.5) * plain_sigmoid(decay[at])) + k[at] * v[h * SIZE + j] +
                        seen[j] * kk[at] / sqrt(length) * rate[at];
                y[h * SIZE + j] += q[at] * *cell;
            }
    }
    finish(s, l, y, q, k, v, 1);
    if (s->gated) {
        const int count = plain_product(plain_name(l, "time_mix_g1"), in[5], few);
        for (int i = 0; i < count; i++) few[i] = plain_sigmoid(few[i]);
        plain_product(plain_name(l, "time_mix_g2"), few, gate);
        for (int i = 0; i < WIDTH; i++) y[i] *= gate[i];
    }
    plain_product(plain_name(l, "time_mix_output"), y, out);
}

static void feed(const shape_row *s, int l, double *x) {
    double normal[WIDTH], in[WIDTH], gate[HIDDEN], up[HIDDEN], out[WIDTH], open[WIDTH];
    memcpy(normal, x, sizeof normal);
    plain_normalize(plain_name(l, s->wide_feed ? "ffn_norm" : "attn_norm_2"), 0, !s->wide_feed, epsilon,
                    WIDTH, normal);
    if (s->wide_feed) {
        plain_product(plain_name(l, "ffn_gate"), normal, gate);
        plain_product(plain_name(l, "ffn_up"), normal, up);
        for (int i = 0; i < HIDDEN; i++) up[i] *= plain_bend(PLAIN_SILU, gate[i]);
        plain_product(plain_name(l, "ffn_down"), up, out);
    } else {
        shift(plain_data(plain_name(l, "channel_mix_lerp_k.weight")), normal, memories[l].fed, in);
        plain_product(plain_name(l, "channel_mix_key"), in, up);
        for (int i = 0; i < HIDDEN; i++) up[i] = plain_bend(PLAIN_SQUARE, up[i]) * (up[i] > 0 ? 1 : 0);
        plain_product(plain_name(l, "channel_mix_value"), up, out);
    }
    if (!s->wide_feed && !s->seventh) {
        shift(plain_data(plain_name(l, "channel_mix_lerp_r.weight")), normal, memories[l].fed, in);
        plain_product(plain_name(l, "channel_mix_receptance"), in, open);
        for (int i = 0; i < WIDTH; i++) out[i] *= plain_sigmoid(open[i]);
    }
    memcpy(memories[l].fed, normal, sizeof normal);
    for (int i = 0; i < WIDTH; i++) x[i] += out[i];
}

static void run(const shape_row *s, const int32_t *ids, double *logits) {
    const float *tokens = plain_data("token_embd.weight");
    memset(memories, 0, sizeof memories);
    for (int t = 0; t < TEXT; t++) {
        double x[WIDTH], normal[WIDTH], out[WIDTH];
        for (int i = 0; i < WIDTH; i++) x[i] = tokens[ids[t] * WIDTH + i];
        if (!s->wide_feed) plain_normalize("token_embd_norm", 0, 1, epsilon, WIDTH, x);
        for (int l = 0; l < LAYERS; l++) {
            memcpy(normal, x, sizeof normal);
            plain_normalize(plain_name(l, "attn_norm"), 0, !s->wide_feed, epsilon, WIDTH, normal);
            (s->seventh ? mix_seventh : mix_sixth)(s, l, normal, memories[l].mixed, out);
            memcpy(memories[l].mixed, normal, sizeof normal);
            for (int i = 0; i < WIDTH; i++) x[i] += out[i];
            feed(s, l, x);
            for (int i = 0; i < WIDTH && s->halved && (l + 1) % s->halved == 0; i++) x[i] /= 2;
        }
        plain_normalize("output_norm", 0, !s->wide_feed, epsilon, WIDTH, x);
        plain_product("output", x, logits + t * VOCABULARY);
    }
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static int32_t ids[TEXT];
static float got[TEXT * VOCABULARY];
static double expected[TEXT * VOCABULARY];

static void compare(const shape_row *s, plain_place place, const char *how) {
    const double apart = plain_apart(got, expected, TEXT * VOCABULARY);
    CHECK_MSG(ox_error() == OX_OK && apart < 5e-5, "%s on %s, %s: %g apart, %s", s->family,
              plain_places[place], how, apart, ox_error_text());
    ox_error_clear();
}

static void test_texts(const shape_row *s, ox_llm *model, plain_place place) {
    static const int batches[] = {0, 1, 2, 16, 17};
    for (int b = 0; b < 5; b++) {
        char how[32];
        ox_llm_context_desc desc;
        memset(&desc, 0, sizeof desc);
        if (place != PLAIN_CPU && b % 2) continue; /* the same parts, and a device takes long for each */
        desc.batch = batches[b];
        desc.capacity = TEXT; /* and not a position more */
        ox_llm_context *context = ox_llm_context_open(model, &desc);
        CHECK(ox_llm_decode_all(context, ids, TEXT, got) == OX_OK);
        snprintf(how, sizeof how, "batches of %d", batches[b]);
        compare(s, place, how);
        CHECK(ox_llm_decode_one(context, ids[0], got) == OX_ERR_ARG); /* it is full */
        ox_error_clear();
        ox_llm_context_close(context);
    }
}

/* Steps after a batch; rewound, other batches and steps: no number is left of what was forgotten. */
static void test_steps(const shape_row *s, ox_llm *model, plain_place place) {
    static const int batches[] = {0, 19};
    ox_llm_context *context = ox_llm_context_open(model, NULL);
    for (int b = 0; b < 2; b++) {
        const int count = batches[b];
        memset(got, 0, sizeof got);
        CHECK(ox_llm_rewind(context, 0) == OX_OK);
        if (count) CHECK(ox_llm_decode_all(context, ids, count, got) == OX_OK);
        for (int t = count; t < TEXT; t++)
            CHECK(ox_llm_decode_one(context, ids[t], got + t * VOCABULARY) == OX_OK);
        compare(s, place, count ? "steps after a batch" : "steps");
    }
    ox_llm_context_close(context);
}

int main(void) {
    ox_set_exact(true);
    for (int t = 0; t < TEXT; t++) ids[t] = (t * t * 3 + 11 * t + 5) % VOCABULARY;
    for (int at = 0; at < PLAIN_PLACES; at++) {
        const plain_place place = (plain_place)at;
        ox_device *device = plain_device(place);
        for (int i = 0; device && i < (int)(sizeof shapes / sizeof *shapes); i++) {
            make_model(&shapes[i], (uint64_t)i + 40);
            run(&shapes[i], ids, expected);
            ox_llm *model = plain_open_on(device);
            if (model) test_texts(&shapes[i], model, place);
            if (model) test_steps(&shapes[i], model, place);
            ox_llm_close(model);
        }
        if (device) plain_leave(place, device);
    }
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("llm_rwkv");
}
