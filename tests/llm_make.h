/* llm_make.h - small language models for tests: random weights of a type, written into a GGUF file and kept
 * as floats for a reference. The same numbers every time. */
#ifndef LLM_MAKE_H
#define LLM_MAKE_H

#include "gguf_make.h"

#include <math.h>

/* ---- a model, in the file and as floats ---------------------------------------------------------------- */

enum {
    TYPE_F32 = 0,
    TYPE_F16 = 1,
    TYPE_Q4_0 = 2,
    TYPE_Q8_0 = 8,
    TYPE_Q4_K = 12,
    TYPE_Q6_K = 14,
    TYPE_I32 = 26,
    TYPE_BF16 = 30
};
enum { MAX_LAYERS = 3, WEIGHTS = 13 };
enum { NORM, Q, K, V, MERGE, Q_BIAS, K_BIAS, V_BIAS, MERGE_BIAS, HIDDEN_NORM, GATE, UP, DOWN };

typedef struct sizes {
    int layers, width, hidden, heads, kv_heads, key, value, rope, vocabulary;
    int type;
    int tied, biases, factors, tokenizer;
    double scaling; /* positions are divided by this */
} sizes;

typedef struct model {
    sizes s;
    float *embedding, *output_norm, *output, *factors;
    float *layer[MAX_LAYERS][WEIGHTS];
} model;

static const sizes small = {2, 256, 256, 4, 2, 64, 64, 64, 60, TYPE_F32, 0, 0, 0, 0, 1};
static const sizes odd = {3, 48, 40, 6, 3, 10, 6, 8, 37, TYPE_F32, 1, 1, 1, 0, 2};
static const sizes tiny = {1, 32, 32, 2, 1, 16, 16, 16, 32, TYPE_F32, 0, 0, 0, 1, 1};

static uint32_t random_state;

static uint32_t random_bits(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static int random_between(int low, int high) {
    return low + (int)(random_bits() % (uint32_t)(high - low + 1));
}

/* What a hostile file lacks: a key or a tensor. */
static const char *left_out = "";

/* ---- weights of each type: random blocks, and what they mean ------------------------------------------- */

/* For numbers that a half holds exactly. */
static uint16_t half_bits(double x) {
    int exponent;
    const double fraction = frexp(fabs(x), &exponent); /* [0.5, 1) */
    const uint16_t sign = x < 0 ? 0x8000 : 0;
    if (x == 0) return sign;
    if (exponent < -13) return (uint16_t)(sign | (uint16_t)(fabs(x) * 16777216.0));
    return (uint16_t)(sign | (exponent + 14) << 10 | (uint16_t)((fraction * 2 - 1) * 1024));
}

static void put_half(unsigned char *out, double x) {
    const uint16_t bits = half_bits(x);
    out[0] = (unsigned char)bits;
    out[1] = (unsigned char)(bits >> 8);
}

static void random_bytes(unsigned char *out, int count) {
    for (int i = 0; i < count; i++) out[i] = (unsigned char)random_bits();
}

static double random_scale(double about) {
    return about * (double)random_between(8, 15) / 8;
}

static void make_q8_0(unsigned char *block, float *out) {
    const double d = random_scale(1.0 / 1024);
    put_half(block, d);
    random_bytes(block + 2, 32);
    for (int i = 0; i < 32; i++) out[i] = (float)(d * (int8_t)block[2 + i]);
}

static void make_q4_0(unsigned char *block, float *out) {
    const double d = random_scale(1.0 / 128);
    put_half(block, d);
    random_bytes(block + 2, 16);
    for (int i = 0; i < 16; i++) {
        out[i] = (float)(d * ((block[2 + i] & 15) - 8));
        out[i + 16] = (float)(d * ((block[2 + i] >> 4) - 8));
    }
}

static void make_q4_k(unsigned char *block, float *out) {
    const double d = random_scale(1.0 / 8192), d_min = random_scale(1.0 / 1024);
    const unsigned char *s = block + 4, *q = block + 16;
    put_half(block, d);
    put_half(block + 2, d_min);
    random_bytes(block + 4, 140);
    for (int i = 0; i < 8; i++) {
        const int scale = i < 4 ? s[i] & 63 : (s[i + 4] & 15) | (s[i - 4] >> 6) << 4;
        const int low = i < 4 ? s[i + 4] & 63 : s[i + 4] >> 4 | (s[i] >> 6) << 4;
        for (int j = 0; j < 32; j++) {
            const int nibble = i % 2 ? q[i / 2 * 32 + j] >> 4 : q[i / 2 * 32 + j] & 15;
            out[i * 32 + j] = (float)(d * scale * nibble - d_min * low);
        }
    }
}

static void make_q6_k(unsigned char *block, float *out) {
    const double d = random_scale(1.0 / 8192);
    random_bytes(block, 192);
    for (int i = 0; i < 16; i++) block[192 + i] = (unsigned char)random_between(-24, 24);
    put_half(block + 208, d);
    for (int i = 0; i < 256; i++) {
        const int half = i / 128, quarter = i % 128 / 32, j = i % 32;
        const int low = block[half * 64 + quarter % 2 * 32 + j] >> (quarter / 2 * 4) & 15;
        const int high = block[128 + half * 32 + j] >> (quarter * 2) & 3;
        out[i] = (float)(d * (int8_t)block[192 + i / 16] * ((low | high << 4) - 32));
    }
}

static const struct weight_type {
    int type, elements, bytes;
    void (*make)(unsigned char *block, float *out);
    double coarse; /* how far int8 activations may lead, of the largest logit */
} weight_types[] = {{TYPE_F32, 1, 4, NULL, 0},
                    {TYPE_F16, 1, 2, NULL, 0},
                    {TYPE_BF16, 1, 2, NULL, 0},
                    {TYPE_Q8_0, 32, 34, make_q8_0, 0.05},
                    {TYPE_Q4_0, 32, 18, make_q4_0, 0.05},
                    {TYPE_Q4_K, 256, 144, make_q4_k, 0.05},
                    {TYPE_Q6_K, 256, 210, make_q6_k, 0.05}};

static const struct weight_type *type_row(int type) {
    const struct weight_type *row = weight_types;
    while (row->type != type) row++;
    return row;
}

/* Plain types: multiples of 2^-11, which even bf16 holds exactly. */
static void make_plain(int type, unsigned char *bytes, float *out) {
    *out = (float)random_between(-127, 127) / 1024;
    const uint32_t bits = gguf_float_bits(*out), half = type == TYPE_F16 ? half_bits(*out) : bits >> 16;
    const uint32_t word = type == TYPE_F32 ? bits : half;
    for (int i = 0; i < (type == TYPE_F32 ? 4 : 2); i++) bytes[i] = (unsigned char)(word >> 8 * i);
}

/* Adds [rows, columns] to the file, a vector where rows is 0; returns the numbers. */
static float *add_weight(gguf_make *g, const char *name, int type, int rows, int columns) {
    const struct weight_type *row = type_row(type);
    const int count = (rows ? rows : 1) * columns;
    const size_t bytes = (size_t)(count / row->elements * row->bytes);
    float *numbers = (float *)malloc((size_t)count * sizeof *numbers);
    unsigned char *data = (unsigned char *)malloc(bytes);
    for (int i = 0; i < count / row->elements; i++) {
        if (row->make)
            row->make(data + i * row->bytes, numbers + i * row->elements);
        else
            make_plain(type, data + i * row->bytes, numbers + i);
    }
    for (int i = 0; strstr(name, "norm") && i < count; i++) numbers[i] += 1;
    if (strcmp(name, "rope_freqs.weight") == 0) {
        for (int i = 0; i < count; i++) numbers[i] = 1 + (float)i;
    }
    if (!rows) {
        for (int i = 0; i < count; i++) {
            for (int b = 0; b < 4; b++)
                data[i * 4 + b] = (unsigned char)(gguf_float_bits(numbers[i]) >> 8 * b);
        }
    }
    const int64_t shape[2] = {rows ? rows : columns, columns};
    if (strcmp(name, left_out) != 0) gguf_tensor(g, name, type, rows ? 2 : 1, shape, data, bytes);
    free(data);
    return numbers;
}

static float *add_layer_weight(gguf_make *g, int layer, const char *name, int type, int rows, int columns) {
    char full[64];
    snprintf(full, sizeof full, "blk.%d.%s", layer, name);
    return add_weight(g, full, type, rows, columns);
}

static void add_layer(gguf_make *g, model *m, int i) {
    const sizes *s = &m->s;
    const int queries = s->heads * s->key, keys = s->kv_heads * s->key, values = s->kv_heads * s->value;
    float **w = m->layer[i];
    w[NORM] = add_layer_weight(g, i, "attn_norm.weight", TYPE_F32, 0, s->width);
    w[Q] = add_layer_weight(g, i, "attn_q.weight", s->type, queries, s->width);
    w[K] = add_layer_weight(g, i, "attn_k.weight", s->type, keys, s->width);
    w[V] = add_layer_weight(g, i, "attn_v.weight", s->type, values, s->width);
    w[MERGE] = add_layer_weight(g, i, "attn_output.weight", s->type, s->width, s->heads * s->value);
    if (s->biases) {
        w[Q_BIAS] = add_layer_weight(g, i, "attn_q.bias", TYPE_F32, 0, queries);
        w[K_BIAS] = add_layer_weight(g, i, "attn_k.bias", TYPE_F32, 0, keys);
        w[V_BIAS] = add_layer_weight(g, i, "attn_v.bias", TYPE_F32, 0, values);
        w[MERGE_BIAS] = add_layer_weight(g, i, "attn_output.bias", TYPE_F32, 0, s->width);
    }
    w[HIDDEN_NORM] = add_layer_weight(g, i, "ffn_norm.weight", TYPE_F32, 0, s->width);
    w[GATE] = add_layer_weight(g, i, "ffn_gate.weight", s->type, s->hidden, s->width);
    w[UP] = add_layer_weight(g, i, "ffn_up.weight", s->type, s->hidden, s->width);
    w[DOWN] = add_layer_weight(g, i, "ffn_down.weight", s->type, s->width, s->hidden);
}

static void key_u32(gguf_make *g, const char *key, int value) {
    if (strcmp(key, left_out) != 0) gguf_u32(g, key, (uint32_t)value);
}

static void key_f32(gguf_make *g, const char *key, double value) {
    if (strcmp(key, left_out) != 0) gguf_f32(g, key, (float)value);
}

/* Letters, so that a prompt is a list of ids. */
static void add_tokenizer(gguf_make *g, int count) {
    gguf_text(g, "tokenizer.ggml.model", "llama");
    gguf_array(g, "tokenizer.ggml.tokens", GGUF_TEXT, (uint64_t)count);
    for (int i = 0; i < count; i++) {
        static const char *const first[3] = {"<unk>", "<s>", "</s>"};
        const char letter[2] = {(char)('A' + i - 3), 0};
        gguf_string(&g->keys, i < 3 ? first[i] : letter, i < 3 ? strlen(first[i]) : 1);
    }
    gguf_array(g, "tokenizer.ggml.scores", GGUF_F32, (uint64_t)count);
    for (int i = 0; i < count; i++) gguf_number(&g->keys, 0, 4);
    gguf_array(g, "tokenizer.ggml.token_type", GGUF_I32, (uint64_t)count);
    for (int i = 0; i < count; i++) gguf_number(&g->keys, i == 0 ? 2 : i < 3 ? 3 : 1, 4);
    gguf_bool(g, "tokenizer.ggml.add_space_prefix", 0);
}

static void add_keys(gguf_make *g, const sizes *s) {
    if (strcmp(left_out, "general.architecture") != 0) gguf_text(g, "general.architecture", "llama");
    gguf_text(g, "general.name", "made\nup");
    key_u32(g, "llama.block_count", s->layers);
    key_u32(g, "llama.context_length", 64);
    key_u32(g, "llama.embedding_length", s->width);
    key_u32(g, "llama.feed_forward_length", s->hidden);
    key_u32(g, "llama.attention.head_count", s->heads);
    key_u32(g, "llama.attention.head_count_kv", s->kv_heads);
    if (s->key * s->heads != s->width) {
        key_u32(g, "llama.attention.key_length", s->key);
        key_u32(g, "llama.attention.value_length", s->value);
    }
    key_u32(g, "llama.rope.dimension_count", s->rope);
    key_f32(g, "llama.attention.layer_norm_rms_epsilon", 1e-5);
    key_f32(g, "llama.rope.freq_base", 5000);
    if (s->scaling != 1) {
        gguf_text(g, "llama.rope.scaling.type", "linear");
        key_f32(g, "llama.rope.scaling.factor", s->scaling);
    }
    if (s->tokenizer) add_tokenizer(g, s->vocabulary);
}

static void add_model(gguf_make *g, model *m, sizes s) {
    memset(m, 0, sizeof *m);
    m->s = s;
    random_state = 7;
    add_keys(g, &s);
    m->embedding = add_weight(g, "token_embd.weight", s.type, s.vocabulary, s.width);
    m->output_norm = add_weight(g, "output_norm.weight", TYPE_F32, 0, s.width);
    if (!s.tied) m->output = add_weight(g, "output.weight", s.type, s.vocabulary, s.width);
    if (s.factors) m->factors = add_weight(g, "rope_freqs.weight", TYPE_F32, 0, s.rope / 2);
    for (int i = 0; i < s.layers; i++) add_layer(g, m, i);
}

static void free_model(model *m) {
    free(m->embedding);
    free(m->output_norm);
    free(m->output);
    free(m->factors);
    for (int i = 0; i < MAX_LAYERS; i++) {
        for (int w = 0; w < WEIGHTS; w++) free(m->layer[i][w]);
    }
}

#endif
