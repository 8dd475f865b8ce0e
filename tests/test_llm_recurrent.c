/* test_llm_recurrent.c - models with recurrent layers, written here: prompts at once, in batches and token by
 * token agree; errors leave the state as it was; rewinding; files without a tensor, or with one of another
 * size; steps that a GPU records before the ones that they go on from are over.
 */
#include "oxtorch_llm.h"
#include "oxtorch_vulkan.h"
#include "check.h"
#include "gguf_make.h"
#include "hook_alloc.h"

#include <math.h>

/* ---- models -------------------------------------------------------------------------------------------- */

enum { WIDTH = 16, HIDDEN = 24, VOCABULARY = 32, TEXT = 150, LOGITS = TEXT * VOCABULARY };

typedef struct tensor_row {
    const char *name;  /* NULL = the last one */
    int rows, columns; /* rows 0: a vector */
    double size;       /* of its numbers; below 0: all are negative */
    int optional;      /* or FIVE */
} tensor_row;

enum { FIVE = 5 }; /* matrices behind each other */

typedef struct family_row {
    const char *name;
    int feeds;
    const char *output_norm;
    struct {
        const char *key;
        int value;
    } keys[8];
    tensor_row tensors[32];
} family_row;

static const family_row families[] = {
    {"mamba",
     0,
     "output_norm.weight",
     {{"ssm.inner_size", 32}, {"ssm.conv_kernel", 4}, {"ssm.state_size", 8}, {"ssm.time_step_rank", 2}},
     {{"ssm_in.weight", 64, WIDTH, 0.5, 0},
      {"ssm_conv1d.weight", 32, 4, 0.7, 0},
      {"ssm_conv1d.bias", 0, 32, 0.2, 1},
      {"ssm_x.weight", 18, 32, 0.5, 0},
      {"ssm_dt.weight", 32, 2, 0.5, 0},
      {"ssm_dt.bias", 0, 32, 0.5, 1},
      {"ssm_a", 32, 8, -1, 0},
      {"ssm_d", 0, 32, 1, 0},
      {"ssm_out.weight", WIDTH, 32, 0.5, 0}}},
    {"mamba2",
     0,
     "output_norm.weight",
     {{"ssm.inner_size", 32},
      {"ssm.conv_kernel", 4},
      {"ssm.state_size", 8},
      {"ssm.time_step_rank", 4},
      {"ssm.group_count", 2}},
     {{"ssm_in.weight", 100, WIDTH, 0.5, 0},
      {"ssm_conv1d.weight", 64, 4, 0.7, 0},
      {"ssm_conv1d.bias", 0, 64, 0.2, 1},
      {"ssm_dt.bias", 0, 4, 0.5, 1},
      {"ssm_a", 4, 1, -1, 0},
      {"ssm_d", 4, 1, 1, 0},
      {"ssm_norm.weight", 2, 16, 1, 1},
      {"ssm_out.weight", WIDTH, 32, 0.5, 0}}},
    {"lfm2",
     1,
     "token_embd_norm.weight",
     {{"shortconv.l_cache", 3}, {"attention.head_count", 2}, {"attention.head_count_kv", 0}},
     {{"shortconv.in_proj.weight", 48, WIDTH, 0.5, 0},
      {"shortconv.conv.weight", WIDTH, 3, 0.7, 0},
      {"shortconv.out_proj.weight", WIDTH, WIDTH, 0.5, 0}}},
    {"qwen35",
     1,
     "output_norm.weight",
     {{"ssm.inner_size", 32},
      {"ssm.conv_kernel", 4},
      {"ssm.state_size", 8},
      {"ssm.time_step_rank", 4},
      {"ssm.group_count", 2}},
     {{"attn_qkv.weight", 64, WIDTH, 0.5, 0},
      {"attn_gate.weight", 32, WIDTH, 0.5, 0},
      {"ssm_beta.weight", 4, WIDTH, 0.5, 0},
      {"ssm_alpha.weight", 4, WIDTH, 0.5, 0},
      {"ssm_dt.bias", 0, 4, 0.5, 1},
      {"ssm_a", 0, 4, -0.5, 0},
      {"ssm_conv1d.weight", 64, 4, 0.7, 0},
      {"ssm_norm.weight", 0, 8, 1, 0},
      {"ssm_out.weight", WIDTH, 32, 0.5, 0},
      {"post_attention_norm.weight", 0, WIDTH, 1, 0}}},
    {"olmo_hybrid",
     1,
     "output_norm.weight",
     {{"ssm.inner_size", 24},
      {"ssm.conv_kernel", 4},
      {"ssm.state_size", 8},
      {"ssm.time_step_rank", 4},
      {"ssm.group_count", 2},
      {"ssm.rate_scale", 2}},
     {{"attn_qkv.weight", 56, WIDTH, 0.5, 0},
      {"attn_gate.weight", 24, WIDTH, 0.5, 0},
      {"ssm_beta.weight", 4, WIDTH, 0.5, 0},
      {"ssm_alpha.weight", 4, WIDTH, 0.5, 0},
      {"ssm_dt.bias", 0, 4, 0.5, 1},
      {"ssm_a", 0, 4, -0.5, 0},
      {"ssm_conv1d.weight", 56, 4, 0.7, 0},
      {"ssm_norm.weight", 0, 6, 1, 0},
      {"ssm_out.weight", WIDTH, 24, 0.5, 0}}},
    {"recurrent-gemma",
     1,
     "output_norm.weight",
     {{"ssm.inner_size", 20},
      {"ssm.conv_kernel", 4},
      {"ssm.group_count", FIVE},
      {"attention.head_count", 2},
      {"attention.head_count_kv", 0}},
     {{"ssm_in.weight", 40, WIDTH, 0.5, 0},
      {"ssm_in.bias", 0, 40, 0.2, 1},
      {"ssm_conv1d.weight", 20, 4, 0.7, 0},
      {"ssm_conv1d.bias", 0, 20, 0.2, 1},
      {"ssm_gate_in.weight", 4, 4, 0.5, FIVE},
      {"ssm_gate_in.bias", FIVE, 4, 0.5, 1},
      {"ssm_gate_a.weight", 4, 4, 0.5, FIVE},
      {"ssm_gate_a.bias", FIVE, 4, 0.5, 1},
      {"ssm_a", 20, 1, -2, 0},
      {"ssm_out.weight", WIDTH, 20, 0.5, 0}}},
    {"kimi-linear",
     1,
     "output_norm.weight",
     {{"attention.head_count", 2},
      {"attention.head_count_kv", 0},
      {"kda.head_dim", 8},
      {"ssm.conv_kernel", 4}},
     {{"attn_q.weight", 16, WIDTH, 0.5, 0},
      {"attn_k.weight", 16, WIDTH, 0.5, 0},
      {"attn_v.weight", 16, WIDTH, 0.5, 0},
      {"ssm_conv1d_q.weight", 16, 4, 0.7, 0},
      {"ssm_conv1d_k.weight", 16, 4, 0.7, 0},
      {"ssm_conv1d_v.weight", 16, 4, 0.7, 0},
      {"ssm_a", 0, 2, -0.5, 0},
      {"ssm_dt.bias", 0, 16, 0.5, 1},
      {"ssm_f_a.weight", 8, WIDTH, 0.5, 0},
      {"ssm_f_b.weight", 16, 8, 0.5, 0},
      {"ssm_beta.weight", 2, WIDTH, 0.5, 0},
      {"ssm_g_a.weight", 8, WIDTH, 0.5, 0},
      {"ssm_g_b.weight", 16, 8, 0.5, 0},
      {"ssm_norm.weight", 0, 8, 1, 0},
      {"attn_output.weight", WIDTH, 16, 0.5, 0}}},
    {"minimax-01",
     1,
     "output_norm.weight",
     {{"attention.head_count", 2}, {"attention.key_length", 8}},
     {{"attn_qkv.weight", 48, WIDTH, 0.5, 0},
      {"attn_norm_2.weight", 0, 16, 1, 0},
      {"attn_gate.weight", 16, WIDTH, 0.5, 0},
      {"attn_output.weight", WIDTH, 16, 0.5, 0}}},
    {"rwkv6",
     0,
     "output_norm.weight",
     {{"feed_forward_length", HIDDEN},
      {"wkv.head_size", 8},
      {"time_mix_extra_dim", 3},
      {"rescale_every_n_layers", 2}},
     {{"attn_norm_2.weight", 0, WIDTH, 1, 0},
      {"time_mix_w1.weight", 15, WIDTH, 0.5, 0},
      {"time_mix_w2.weight", WIDTH, 3, 0.5, FIVE},
      {"time_mix_lerp_x.weight", 0, WIDTH, 0.5, 0},
      {"time_mix_lerp_fused.weight", 5, WIDTH, 0.5, 0},
      {"time_mix_first.weight", 2, 8, 1, 1},
      {"time_mix_decay.weight", 0, WIDTH, 1, 0},
      {"time_mix_decay_w1.weight", 5, WIDTH, 0.5, 0},
      {"time_mix_decay_w2.weight", WIDTH, 5, 0.5, 0},
      {"time_mix_key.weight", WIDTH, WIDTH, 0.5, 0},
      {"time_mix_value.weight", WIDTH, WIDTH, 0.5, 0},
      {"time_mix_receptance.weight", WIDTH, WIDTH, 0.5, 0},
      {"time_mix_gate.weight", WIDTH, WIDTH, 0.5, 0},
      {"time_mix_output.weight", WIDTH, WIDTH, 0.5, 0},
      {"time_mix_ln.weight", 0, WIDTH, 1, 1},
      {"time_mix_ln.bias", 0, WIDTH, 0.3, 1},
      {"channel_mix_lerp_k.weight", 0, WIDTH, 0.5, 1},
      {"channel_mix_lerp_r.weight", 0, WIDTH, 0.5, 1},
      {"channel_mix_receptance.weight", WIDTH, WIDTH, 0.5, 1},
      {"channel_mix_key.weight", HIDDEN, WIDTH, 0.5, 0},
      {"channel_mix_value.weight", WIDTH, HIDDEN, 0.5, 0}}},
    {"rwkv6qwen2",
     1,
     "output_norm.weight",
     {{"attention.head_count", 4},
      {"attention.head_count_kv", 2},
      {"wkv.head_size", 4},
      {"time_mix_extra_dim", 3}},
     {{"time_mix_w1.weight", 15, WIDTH, 0.5, 0},
      {"time_mix_w2.weight", WIDTH, 3, 0.5, FIVE},
      {"time_mix_lerp_x.weight", 0, WIDTH, 0.5, 0},
      {"time_mix_lerp_fused.weight", 5, WIDTH, 0.5, 0},
      {"time_mix_decay.weight", 0, WIDTH, 1, 0},
      {"time_mix_decay_w1.weight", 5, WIDTH, 0.5, 0},
      {"time_mix_decay_w2.weight", WIDTH, 5, 0.5, 0},
      {"time_mix_key.weight", 8, WIDTH, 0.5, 0},
      {"time_mix_key.bias", 0, 8, 0.5, 1},
      {"time_mix_value.weight", 8, WIDTH, 0.5, 0},
      {"time_mix_receptance.weight", WIDTH, WIDTH, 0.5, 0},
      {"time_mix_gate.weight", WIDTH, WIDTH, 0.5, 0},
      {"time_mix_output.weight", WIDTH, WIDTH, 0.5, 0}}},
    {"arwkv7",
     1,
     "output_norm.weight",
     {{"wkv.head_size", 8}},
     {{"time_mix_w0.weight", 0, WIDTH, 1, 0},           {"time_mix_w1.weight", 5, WIDTH, 0.5, 0},
      {"time_mix_w2.weight", WIDTH, 5, 0.5, 0},         {"time_mix_a0.weight", 0, WIDTH, 1, 0},
      {"time_mix_a1.weight", 3, WIDTH, 0.5, 0},         {"time_mix_a2.weight", WIDTH, 3, 0.5, 0},
      {"time_mix_v0.weight", 0, WIDTH, 1, 0},           {"time_mix_v1.weight", 2, WIDTH, 0.5, 0},
      {"time_mix_v2.weight", WIDTH, 2, 0.5, 0},         {"time_mix_g1.weight", 7, WIDTH, 0.5, 1},
      {"time_mix_g2.weight", WIDTH, 7, 0.5, 0},         {"time_mix_lerp_fused.weight", 6, WIDTH, 0.5, 0},
      {"time_mix_k_k.weight", 0, WIDTH, 1, 0},          {"time_mix_k_a.weight", 0, WIDTH, 1, 0},
      {"time_mix_r_k.weight", 0, WIDTH, 1, 0},          {"time_mix_key.weight", WIDTH, WIDTH, 0.5, 0},
      {"time_mix_value.weight", WIDTH, WIDTH, 0.5, 0},  {"time_mix_receptance.weight", WIDTH, WIDTH, 0.5, 0},
      {"time_mix_output.weight", WIDTH, WIDTH, 0.5, 0}, {"time_mix_ln.weight", 0, WIDTH, 1, 1}}}};

enum { FAMILIES = (int)(sizeof families / sizeof *families) };

static uint32_t random_state;

static double random_number(void) { /* in [-1, 1) */
    random_state = random_state * 1664525u + 1013904223u;
    return (double)(random_state >> 8) / 8388608.0 - 1;
}

/* What is changed in a file: the tensor that is left out, and the one with a column more. */
static const char *left_out = "", *widened = "";

static void add_tensor(gguf_make *g, const char *name, int matrices, int rows, int columns, double size) {
    static float numbers[4096];
    if (strcmp(name, left_out) == 0) return;
    if (strcmp(name, widened) == 0) columns++;
    const int count = (matrices ? matrices : 1) * (rows ? rows : 1) * columns;
    const int64_t shape[4] = {matrices, rows, columns, columns};
    for (int i = 0; i < count; i++) {
        const double number = random_number();
        numbers[i] = (float)(strstr(name, "norm") ? 1 + number / 4
                             : size < 0           ? size * fabs(number)
                                                  : size * number);
    }
    gguf_tensor(g, name, 0,
                matrices ? 3
                : rows   ? 2
                         : 1,
                shape + (matrices ? 0
                         : rows   ? 1
                                  : 2),
                numbers, (size_t)count * sizeof *numbers);
}

static void add_in_layer(gguf_make *g, int layer, const tensor_row *row) {
    char full[64];
    snprintf(full, sizeof full, "blk.%d.%s", layer, row->name);
    add_tensor(g, full, row->optional == FIVE ? FIVE : 0, row->rows, row->columns, row->size);
}

static const char *left_key = ""; /* is not written */

static void add_key(gguf_make *g, const family_row *f, const char *key, int value) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", f->name, key);
    if (strcmp(key, left_key) != 0) gguf_u32(g, full, (uint32_t)value);
}

/* Two layers; NULL with an error where the file is refused. */
static ox_llm *open_family_on(const family_row *f, ox_device *device) {
    char key[64];
    gguf_make g;
    memset(&g, 0, sizeof g);
    random_state = 7;
    gguf_text(&g, "general.architecture", f->name);
    add_key(&g, f, "block_count", 2);
    add_key(&g, f, "embedding_length", WIDTH);
    add_key(&g, f, "context_length", 256);
    if (f->feeds) add_key(&g, f, "feed_forward_length", HIDDEN);
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", f->name);
    gguf_f32(&g, key, 1e-5f);
    snprintf(key, sizeof key, "%s.attention.layer_norm_epsilon", f->name);
    gguf_f32(&g, key, 1e-5f);
    snprintf(key, sizeof key, "%s.residual_scale", f->name);
    if (strcmp(f->name, "minimax-01") == 0) gguf_f32(&g, key, 0.5f);
    for (int i = 0; i < 8 && f->keys[i].key; i++) add_key(&g, f, f->keys[i].key, f->keys[i].value);
    add_tensor(&g, "token_embd.weight", 0, VOCABULARY, WIDTH, 1);
    add_tensor(&g, f->output_norm, 0, 0, WIDTH, 1);
    static const tensor_row norm = {"attn_norm.weight", 0, WIDTH, 1, 0},
                            fed[] = {{"ffn_norm.weight", 0, WIDTH, 1, 0},
                                     {"ffn_gate.weight", HIDDEN, WIDTH, 0.5, 0},
                                     {"ffn_up.weight", HIDDEN, WIDTH, 0.5, 0},
                                     {"ffn_down.weight", WIDTH, HIDDEN, 0.5, 0}};
    for (int l = 0; l < 2; l++) {
        add_in_layer(&g, l, &norm);
        for (int i = 0; f->tensors[i].name; i++) add_in_layer(&g, l, &f->tensors[i]);
        for (int i = strcmp(f->name, "qwen35") == 0; f->feeds && i < 4; i++) add_in_layer(&g, l, &fed[i]);
    }
    const char *path = gguf_path("llm_recurrent.gguf");
    CHECK(gguf_write(&g, path) == 0);
    ox_llm *llm = ox_llm_open(path, device);
    remove(path);
    return llm;
}
static ox_llm *open_family(const family_row *f) {
    return open_family_on(f, NULL);
}

static ox_llm_context *open_context(ox_llm *llm, int64_t batch) {
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = TEXT + 8;
    desc.batch = batch;
    ox_llm_context *context = ox_llm_context_open(llm, &desc);
    CHECK_MSG(context != NULL, "%s", ox_error_text());
    return context;
}

static int32_t text[TEXT];

/* The largest difference, as a part of the largest logit. */
static double worst(const float *got, const float *expected, int count) {
    double difference = 0, size = 0;
    for (int i = 0; i < count; i++) {
        difference = fmax(difference, isnan(got[i]) ? INFINITY : fabs((double)got[i] - expected[i]));
        size = fmax(size, fabs((double)expected[i]));
    }
    return size > 0 ? difference / size : INFINITY;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static float whole[LOGITS], other[LOGITS];

static void expect_error(ox_status got, ox_status expected, const char *what) {
    CHECK_MSG(got == expected && ox_error() == expected, "%s: %d, expected %d: %s", what, (int)got,
              (int)expected, ox_error_text());
    ox_error_clear();
}

/* Chunks of many positions, batches that end anywhere, and the formula position by position. */
static void test_batches(const family_row *f, ox_llm *llm) {
    for (int batch = 5; batch <= 81; batch += 19) {
        ox_llm_context *context = open_context(llm, batch);
        CHECK(ox_llm_decode_all(context, text, TEXT, other) == OX_OK);
        CHECK_MSG(worst(other, whole, LOGITS) < 2e-5, "%s in batches of %d: %g", f->name, batch,
                  worst(other, whole, LOGITS));
        ox_llm_context_close(context);
    }
    ox_llm_context *context = open_context(llm, 0);
    for (int i = 0; i < TEXT; i++)
        CHECK(ox_llm_decode_one(context, text[i], other + i * VOCABULARY) == OX_OK);
    CHECK_MSG(worst(other, whole, LOGITS) < 2e-5, "%s by tokens: %g", f->name, worst(other, whole, LOGITS));
    ox_llm_context_close(context);
}

static void test_rewind(const family_row *f, ox_llm *llm) {
    ox_llm_context *context = open_context(llm, 0);
    CHECK(ox_llm_decode_all(context, text, TEXT - 9, other) == OX_OK);
    expect_error(ox_llm_rewind(context, 5), OX_ERR_UNSUPPORTED, f->name);
    CHECK(ox_llm_length(context) == TEXT - 9 && ox_llm_rewind(context, TEXT - 9) == OX_OK);
    CHECK(ox_llm_decode_all(context, text + TEXT - 9, 9, other) == OX_OK);
    CHECK_MSG(worst(other, whole + (TEXT - 9) * VOCABULARY, 9 * VOCABULARY) < 1e-4, "%s goes on", f->name);
    CHECK(ox_llm_rewind(context, 0) == OX_OK && ox_llm_length(context) == 0);
    CHECK(ox_llm_decode_all(context, text, TEXT, other) == OX_OK);
    CHECK_MSG(memcmp(other, whole, sizeof whole) == 0, "%s is not as at first after it was rewound", f->name);
    ox_llm_context_close(context);
}

/* Token by token on a GPU: what is recorded ahead goes on from states that are not there yet, and is void when
 * something else comes between. Counted: a token is one submission (RWKV 7 records nothing ahead). */
static void test_ahead(const family_row *f) {
    enum { STEPS = 20 };
    float aside[VOCABULARY];
    ox_device *gpu = ox_vulkan(0);
    if (!gpu) {
        check_skip("steps recorded ahead", ox_error_text());
        ox_error_clear();
        return;
    }
    ox_llm *llm = open_family_on(f, gpu);
    CHECK_MSG(llm != NULL, "%s: %s", f->name, ox_error_text());
    if (!llm) return;
    ox_llm_context *context = open_context(llm, 0), *beside = open_context(llm, 0);
    for (int round = 0; round < 3; round++) {
        int64_t before = 0;
        CHECK(ox_llm_rewind(context, 0) == OX_OK && ox_llm_rewind(beside, 0) == OX_OK);
        for (int i = 0; i < STEPS; i++) {
            if (i == 4) before = ox_vulkan_get_stats(gpu).submits;
            if (round == 1 && i == 7) CHECK(ox_llm_decode(beside, text, 5, aside) == OX_OK);
            if (round == 1 && i % 5 == 2) CHECK(ox_llm_rewind(context, i) == OX_OK); /* forgets nothing */
            if (round == 1 && i > 12) CHECK(ox_llm_decode_one(beside, text[i - 8], aside) == OX_OK);
            CHECK(ox_llm_decode_one(context, text[i], other + i * VOCABULARY) == OX_OK);
        }
        const int64_t submits = ox_vulkan_get_stats(gpu).submits - before;
        const double off = worst(other, whole, STEPS * VOCABULARY);
        CHECK_MSG(off < 1e-4, "%s on a GPU, round %d: off by %g", f->name, round, off);
        if (round != 1 && !strstr(f->name, "rwkv7"))
            CHECK_MSG(submits == STEPS - 4, "%s: %lld submissions", f->name, (long long)submits);
    }
    ox_llm_context_close(context);
    ox_llm_context_close(beside);
    ox_llm_close(llm);
    CHECK_MSG(ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
}

/* Batches that ran before the one without memory are forgotten too. */
static void test_scarce(const family_row *f) {
    hook h = {0, INT64_MAX, 0, 0, 0, 0};
    const ox_allocator scarce = {hook_alloc, hook_free, &h};
    ox_trim();
    CHECK_MSG(ox_set_allocator(&scarce) == OX_OK, "%s", ox_error_text());
    ox_llm *llm = open_family(f);
    ox_llm_context *context = open_context(llm, 4);
    CHECK(ox_llm_decode_all(context, text, 30, other) == OX_OK);
    int failed = 0;
    for (int64_t n = 0; n < 400; n += n < 10 ? 1 : 37) {
        ox_trim();
        hook_allow(&h, n);
        const ox_status status = ox_llm_decode_all(context, text + 30, 40, other);
        hook_allow(&h, INT64_MAX);
        CHECK_MSG(status == OX_OK || status == OX_ERR_NOMEM, "%s: %s", f->name, ox_error_text());
        ox_error_clear();
        if (status == OX_OK) break;
        failed++;
        CHECK(ox_llm_length(context) == 30);
    }
    CHECK_MSG(failed > 0, "%s: no allocation failed", f->name);
    if (ox_llm_length(context) == 30) CHECK(ox_llm_decode_all(context, text + 30, 40, other) == OX_OK);
    CHECK_MSG(worst(other, whole + 30 * VOCABULARY, 40 * VOCABULARY) < 1e-4, "%s after errors: %g", f->name,
              worst(other, whole + 30 * VOCABULARY, 40 * VOCABULARY));
    ox_llm_context_close(context);
    ox_llm_close(llm);
    ox_trim();
    CHECK_MSG(ox_set_allocator(NULL) == OX_OK, "%s", ox_error_text());
}

static void test_files(const family_row *f) {
    for (int i = 0; f->tensors[i].name; i++) {
        char name[64];
        snprintf(name, sizeof name, "blk.1.%s", f->tensors[i].name);
        left_out = name;
        ox_llm *llm = open_family(f);
        ox_llm_context *context = llm ? ox_llm_context_open(llm, NULL) : NULL;
        CHECK_MSG(!llm == (f->tensors[i].optional != 1) || strstr(name, "_b.weight"), "%s without %s is %s",
                  f->name, name, llm ? "opened" : "refused");
        const ox_status status = context ? ox_llm_decode(context, text, 20, NULL) : ox_error();
        if (f->tensors[i].optional == 1)
            CHECK_MSG(status == OX_OK, "%s without %s: %s", f->name, name, ox_error_text());
        else
            CHECK_MSG(status != OX_OK, "%s runs without %s", f->name, name);
        ox_error_clear();
        ox_llm_context_close(context);
        ox_llm_close(llm);
        left_out = "";
        widened = name;
        llm = open_family(f);
        CHECK_MSG(!llm && (ox_error() == OX_ERR_SHAPE || ox_error() == OX_ERR_FORMAT),
                  "%s with a wider %s opens: %s", f->name, name, ox_error_text());
        ox_error_clear();
        ox_llm_close(llm);
        widened = "";
    }
}

/* A fact that is missing has a number in its place, or ends in an error that says which. */
static void test_facts(const family_row *f) {
    for (int i = 0; i < 8 && f->keys[i].key; i++) {
        left_key = f->keys[i].key;
        ox_llm *llm = open_family(f);
        CHECK_MSG(llm || (ox_error() == OX_ERR_NOT_FOUND && strstr(ox_error_text(), left_key)) ||
                      ox_error() == OX_ERR_SHAPE || ox_error() == OX_ERR_FORMAT,
                  "%s without %s: %s", f->name, left_key, ox_error_text());
        ox_error_clear();
        ox_llm_close(llm);
    }
    left_key = "";
}

static void expect_logits(const family_row *f, const float *logits, int at, int count, const char *how) {
    const double off = worst(logits, whole + at * VOCABULARY, count * VOCABULARY);
    CHECK_MSG(off < 1e-4, "%s %s, position %d: %g", f->name, how, at, off);
}

/* Single tokens between batches: what a state holds of the last position comes into the others. */
static void test_mixed(const family_row *f, ox_llm *llm) {
    static const int counts[] = {1, 1, 7, 1, 1, 1, 9, 4, 1};
    ox_llm_context *context = open_context(llm, 0);
    int at = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; at += counts[i++]) {
        CHECK(ox_llm_decode_all(context, text + at, counts[i], other) == OX_OK);
        expect_logits(f, other, at, counts[i], "in turn");
    }
    CHECK(ox_llm_rewind(context, 0) == OX_OK);
    CHECK(ox_llm_decode_one(context, text[0], other) == OX_OK);
    expect_logits(f, other, 0, 1, "rewound");
    ox_llm_context_close(context);
}

/* Memory is short somewhere in a token, and in some tokens that run one by one: each state stays that of the
 * tokens before. */
static void test_scarce_tokens(const family_row *f) {
    hook h = {0, INT64_MAX, 0, 0, 0, 0};
    const ox_allocator scarce = {hook_alloc, hook_free, &h};
    ox_trim();
    CHECK_MSG(ox_set_allocator(&scarce) == OX_OK, "%s", ox_error_text());
    ox_llm *llm = open_family(f);
    ox_llm_context *context = open_context(llm, 1);
    int failed = 0, count = 1;
    for (int i = 0; i + count <= TEXT; i += count) {
        count = i % 3 == 2 ? 3 : 1;
        for (int64_t n = i % 5; i + count <= TEXT && n < 4000; n += 7 + n / 4) {
            ox_trim();
            hook_allow(&h, n);
            const ox_status status = ox_llm_decode_all(context, text + i, count, other);
            hook_allow(&h, INT64_MAX);
            if (status == OX_OK) break;
            CHECK(status == OX_ERR_NOMEM && ox_llm_length(context) == i);
            ox_error_clear();
            failed++;
        }
        if (ox_llm_length(context) == i) break;
        expect_logits(f, other, i, count, "after errors");
    }
    CHECK_MSG(failed > TEXT && ox_llm_length(context) > TEXT - 4, "%s: %d failed, %d tokens", f->name, failed,
              (int)ox_llm_length(context));
    ox_llm_context_close(context);
    ox_llm_close(llm);
    ox_trim();
    CHECK_MSG(ox_set_allocator(NULL) == OX_OK, "%s", ox_error_text());
}

int main(void) {
    for (int i = 0; i < TEXT; i++) text[i] = (i * 7 + i * i) % VOCABULARY;
    for (int i = 0; i < FAMILIES; i++) {
        const family_row *f = &families[i];
        ox_llm *llm = open_family(f);
        CHECK_MSG(llm != NULL, "%s: %s", f->name, ox_error_text());
        if (!llm) continue;
        ox_llm_context *context = open_context(llm, 0);
        CHECK_MSG(ox_llm_decode_all(context, text, TEXT, whole) == OX_OK, "%s: %s", f->name, ox_error_text());
        ox_llm_context_close(context);
        test_batches(f, llm);
        test_rewind(f, llm);
        test_mixed(f, llm);
        ox_llm_close(llm);
        test_ahead(f);
        test_files(f);
        test_facts(f);
        test_scarce(f);
        test_scarce_tokens(f);
    }
    return check_done("llm_recurrent");
}
