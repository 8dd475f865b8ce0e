/* gpt2.h - GPT-2 for training: its parameters under llm.c's names and in the order of its files, and the
 * forward. */
#ifndef GPT2_H
#define GPT2_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct gpt2_config {
    int64_t positions, vocabulary, layers, heads, width; /* vocabulary: without what pads it in files */
} gpt2_config;

enum { GPT2_MOST_LAYERS = 96, GPT2_KINDS = 16 };
/* clang-format off */
enum { WTE, WPE, LN1W, LN1B, QKVW, QKVB, ATTPROJW, ATTPROJB, LN2W, LN2B, FCW, FCB, FCPROJW, FCPROJB, LNFW,
       LNFB };
/* clang-format on */

/* A kind of parameter: one a layer, or one of the model. Sizes count widths; 0: there is no such dim. */
typedef struct gpt2_kind {
    const char *name;
    bool layered;
    int rows, columns;
} gpt2_kind;
static const gpt2_kind gpt2_kinds[GPT2_KINDS] = {
    {"wte", false, 0, 1},    {"wpe", false, 0, 1},    {"ln1w", true, 1, 0},     {"ln1b", true, 1, 0},
    {"qkvw", true, 3, 1},    {"qkvb", true, 3, 0},    {"attprojw", true, 1, 1}, {"attprojb", true, 1, 0},
    {"ln2w", true, 1, 0},    {"ln2b", true, 1, 0},    {"fcw", true, 4, 1},      {"fcb", true, 4, 0},
    {"fcprojw", true, 1, 4}, {"fcprojb", true, 1, 0}, {"lnfw", false, 1, 0},    {"lnfb", false, 1, 0}};

typedef struct gpt2 {
    gpt2_config config;
    ox_tensor *p[GPT2_KINDS][GPT2_MOST_LAYERS]; /* [kind][layer]; those of the model at layer 0 */
} gpt2;

static inline int64_t gpt2_copies(const gpt2_config *config, int kind) {
    return gpt2_kinds[kind].layered ? config->layers : 1;
}

/* Of one parameter of a kind. */
static inline ox_shape gpt2_shape(const gpt2_config *config, int kind) {
    const gpt2_kind *k = &gpt2_kinds[kind];
    int64_t rows = kind == WTE   ? config->vocabulary
                   : kind == WPE ? config->positions
                                 : k->rows * config->width;
    return k->columns ? OX_SHAPE(rows, k->columns * config->width) : OX_SHAPE(rows);
}

/* All parameters in `all`, for an optimizer; how many. all NULL: counts only. */
static inline int gpt2_parameters(const gpt2 *m, ox_tensor **all) {
    int count = 0;
    for (int kind = 0; kind < GPT2_KINDS; kind++)
        for (int64_t l = 0; l < gpt2_copies(&m->config, kind); l++, count++)
            if (all) all[count] = m->p[kind][l];
    return count;
}

static inline ox_tensor *gpt2_attend(const gpt2 *m, int l, ox_tensor *x) {
    int64_t batch = x->shape[0], length = x->shape[1], width = x->shape[2];
    ox_tensor *parts[3];
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.causal = true;
    ox_chunk(ox_linear(x, m->p[QKVW][l], m->p[QKVB][l]), 3, -1, parts, 3);
    for (int i = 0; i < 3; i++)
        parts[i] = ox_transpose(
            ox_reshape(parts[i], OX_SHAPE(batch, length, m->config.heads, width / m->config.heads)), 1, 2);
    x = ox_scaled_dot_product_attention(parts[0], parts[1], parts[2], &desc);
    return ox_linear(ox_reshape(ox_transpose(x, 1, 2), OX_SHAPE(batch, length, width)), m->p[ATTPROJW][l],
                     m->p[ATTPROJB][l]);
}

/* ids [B,T] -> [B,T,C], of which the table makes logits. */
static inline ox_tensor *gpt2_hidden(const gpt2 *m, ox_tensor *ids) {
    ox_tensor *x = ox_add(ox_embedding(ids, m->p[WTE][0]), ox_narrow(m->p[WPE][0], 0, 0, ids->shape[1]));
    for (int l = 0; l < m->config.layers; l++) {
        x = ox_add(x, gpt2_attend(m, l, ox_layer_norm(x, 1, m->p[LN1W][l], m->p[LN1B][l], 1e-5)));
        ox_tensor *h = ox_layer_norm(x, 1, m->p[LN2W][l], m->p[LN2B][l], 1e-5);
        h = ox_gelu_tanh(ox_linear(h, m->p[FCW][l], m->p[FCB][l]));
        x = ox_add(x, ox_linear(h, m->p[FCPROJW][l], m->p[FCPROJB][l]));
    }
    return ox_layer_norm(x, 1, m->p[LNFW][0], m->p[LNFB][0], 1e-5);
}

/* ids [B,T] -> logits [B,T,V] */
static inline ox_tensor *gpt2_forward(const gpt2 *m, ox_tensor *ids) {
    return ox_linear(gpt2_hidden(m, ids), m->p[WTE][0], NULL); /* the table is the last layer, too */
}

/* Mean cross-entropy of what follows ids [B,T], targets [B,T]; logits are never all there. */
static inline ox_tensor *gpt2_loss(const gpt2 *m, ox_tensor *ids, ox_tensor *targets) {
    return ox_linear_cross_entropy(gpt2_hidden(m, ids), m->p[WTE][0], targets, NULL, NULL);
}

/* The same, of logits [B,T,V]. */
static inline ox_tensor *gpt2_loss_of(ox_tensor *logits, ox_tensor *targets) {
    return ox_cross_entropy(ox_reshape(logits, OX_SHAPE(-1, logits->shape[2])), ox_flatten(targets, 0, -1),
                            NULL);
}

#endif
