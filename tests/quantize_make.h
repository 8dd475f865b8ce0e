/* quantize_make.h - weights, importance and small files for the tests of quantized models. */
#ifndef QUANTIZE_MAKE_H
#define QUANTIZE_MAKE_H

#include "check.h"
#include "gguf_make.h"
#include "oxtorch_llm.h"

#include <math.h>

static uint32_t draw_state;

static inline uint32_t draw_bits(void) {
    draw_state = draw_state * 1664525u + 1013904223u;
    return draw_state >> 8;
}

static inline float normal(void) {
    float sum = 0;
    for (int i = 0; i < 12; i++) sum += (float)(draw_bits() % 4096) / 4096;
    return sum - 6;
}

/* A few large numbers in every row. */
static inline ox_tensor *make_weights(int64_t rows, int64_t columns) {
    ox_tensor *x = ox_empty(OX_SHAPE(rows, columns), OX_F32);
    for (int64_t i = 0; i < rows * columns; i++)
        ((float *)ox_data(x))[i] = normal() * (i % 61 == 7 ? 0.1f : 0.02f);
    return x;
}

static inline void make_importance(float *out, int64_t count) {
    for (int64_t i = 0; i < count; i++) out[i] = expf(1.5f * normal());
}

static inline double weighted_error(ox_tensor *x, ox_tensor *q, const float *importance) {
    ox_tensor *y = ox_cast(q, OX_F32);
    const float *a = (const float *)ox_data(x), *b = y ? (const float *)ox_data(y) : NULL;
    const int64_t columns = x->shape[x->ndim - 1];
    double sum = 0;
    for (int64_t i = 0; b && i < ox_numel(x); i++) {
        const double off = (double)a[i] - (double)b[i];
        sum += off * off * (importance ? (double)importance[i % columns] : 1);
    }
    return b ? sum : 1e30;
}

static inline void check_refused(bool done, ox_status status, const char *words) {
    CHECK_MSG(!done && ox_error() == status && strstr(ox_error_text(), words), "%s: %d %s", words,
              (int)ox_error(), ox_error_text());
    ox_error_clear();
}

/* ---- files --------------------------------------------------------------------------------------------- */

static inline bool exists(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file) fclose(file);
    return file != NULL;
}

static inline void put_tensor(gguf_make *g, const char *name, int64_t experts, int64_t rows,
                              int64_t columns) {
    const int64_t shape[3] = {experts, rows, columns},
                  count = (experts ? experts : 1) * (rows ? rows : 1) * columns;
    unsigned char *data = (unsigned char *)malloc((size_t)count * 4);
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = gguf_float_bits(normal() * 0.02f);
        for (int b = 0; b < 4; b++) data[4 * i + b] = (unsigned char)(bits >> 8 * b);
    }
    gguf_tensor(g, name, GGUF_F32 == 6 ? 0 : 0,
                experts ? 3
                : rows  ? 2
                        : 1,
                shape + (experts ? 0
                         : rows  ? 1
                                 : 2),
                data, (size_t)count * 4);
    free(data);
}

/* `layers` layers of a few matrices; kinds of model differ in their keys. */
static inline void make_file(const char *path, int layers, const char *architecture, int experts, int heads,
                             int keys, bool tied, int64_t width) {
    static const char *const names[] = {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_up"};
    gguf_make g;
    char name[64], key[64];
    memset(&g, 0, sizeof g);
    draw_state = 11;
    gguf_text(&g, "general.architecture", architecture);
    gguf_u32(&g, "general.file_type", 0);
    gguf_text(&g, "some.key", "kept");
    snprintf(key, sizeof key, "%s.block_count", architecture);
    gguf_u32(&g, key, (uint32_t)layers);
    snprintf(key, sizeof key, "%s.expert_count", architecture);
    if (experts) gguf_u32(&g, key, (uint32_t)experts);
    snprintf(key, sizeof key, "%s.attention.head_count", architecture);
    gguf_u32(&g, key, (uint32_t)heads);
    snprintf(key, sizeof key, "%s.attention.head_count_kv", architecture);
    gguf_u32(&g, key, (uint32_t)keys);
    if (!tied) put_tensor(&g, "output.weight", 0, 2, width);
    put_tensor(&g, "output_norm.weight", 0, 0, width);
    put_tensor(&g, "token_embd.weight", 0, 2, width);
    for (int i = layers - 1; i >= 0; i--) {
        for (int k = 0; k < 5; k++) {
            snprintf(name, sizeof name, "blk.%d.%s.weight", i, names[k]);
            put_tensor(&g, name, 0, 2, width);
        }
        snprintf(name, sizeof name, "blk.%d.attn_norm.weight", i);
        put_tensor(&g, name, 0, 0, width);
        snprintf(name, sizeof name, "blk.%d.%s", i, experts ? "ffn_down_exps.weight" : "ffn_down.weight");
        put_tensor(&g, name, experts, 2, width);
        if (experts) {
            snprintf(name, sizeof name, "blk.%d.ffn_gate_inp.weight", i);
            put_tensor(&g, name, 0, 2, width);
        }
    }
    CHECK(gguf_write(&g, path) == 0);
}

static inline ox_llm_quantize_desc desc_of(const char *mix) {
    ox_llm_quantize_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mix = mix;
    return desc;
}

#endif
