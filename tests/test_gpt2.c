/* test_gpt2.c - the check of llm.c: a small GPT-2's loss, the gradients of its 16 kinds of parameters and ten
 * losses of AdamW against PyTorch's, which tests/torch_gpt2.py wrote. Parameters and tokens are formulas.
 * OX_TIERS */
#include "check.h"
#include "gpt2_golden.h"

#include "oxtorch_nn.h"

#include <math.h>
#include <string.h>

enum {
    WTE,
    WPE,
    LN1W,
    LN1B,
    QKVW,
    QKVB,
    PROJW,
    PROJB,
    LN2W,
    LN2B,
    FCW,
    FCB,
    FCPROJW,
    FCPROJB,
    LNFW,
    LNFB,
    KINDS
};

typedef struct kind {
    int rows, columns; /* columns 0: of one dim */
    bool layers;       /* each layer has one */
    double size, center;
} kind;
static const kind kinds[KINDS] = {
    {V, C, false, 0.1, 0},    {T, C, false, 0.1, 0},    {C, 0, true, 0.1, 1},     {C, 0, true, 0.1, 0},
    {3 * C, C, true, 0.2, 0}, {3 * C, 0, true, 0.1, 0}, {C, C, true, 0.2, 0},     {C, 0, true, 0.1, 0},
    {C, 0, true, 0.1, 1},     {C, 0, true, 0.1, 0},     {4 * C, C, true, 0.2, 0}, {4 * C, 0, true, 0.1, 0},
    {C, 4 * C, true, 0.2, 0}, {C, 0, true, 0.1, 0},     {C, 0, false, 0.1, 1},    {C, 0, false, 0.1, 0}};

typedef struct gpt2 {
    ox_tensor *p[KINDS][L], *all[KINDS * L];
    int count;
} gpt2;

static ox_tensor *made(int k, int layer) {
    int64_t columns = kinds[k].columns ? kinds[k].columns : 1, count = kinds[k].rows * columns;
    const int64_t shape[2] = {kinds[k].rows, columns};
    ox_tensor *t = ox_empty(ox_shape_from(kinds[k].columns ? 2 : 1, shape), OX_F32);
    float *x = (float *)ox_data(t);
    for (int64_t i = 0; i < count; i++) {
        double n = (double)i, angle = n * n * 0.013 + n * (k + 1) * 0.71 + 1.3 * layer + k;
        x[i] = (float)(kinds[k].center + kinds[k].size * sin(angle));
    }
    return ox_requires_grad_(t, true);
}

static void gpt2_make(gpt2 *m) {
    m->count = 0;
    for (int k = 0; k < KINDS; k++)
        for (int l = 0; l < (kinds[k].layers ? L : 1); l++) m->all[m->count++] = m->p[k][l] = made(k, l);
}

static ox_tensor *attend(gpt2 *m, int l, ox_tensor *x) {
    ox_tensor *parts[3];
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.causal = true;
    ox_chunk(ox_linear(x, m->p[QKVW][l], m->p[QKVB][l]), 3, -1, parts, 3);
    for (int i = 0; i < 3; i++) parts[i] = ox_transpose(ox_view(parts[i], OX_SHAPE(B, T, H, C / H)), 1, 2);
    ox_tensor *y = ox_scaled_dot_product_attention(parts[0], parts[1], parts[2], &desc);
    y = ox_reshape(ox_transpose(y, 1, 2), OX_SHAPE(B, T, C));
    return ox_linear(y, m->p[PROJW][l], m->p[PROJB][l]);
}

/* linear: the loss is that of the layer, which makes no logits. */
static ox_tensor *loss_of(gpt2 *m, ox_tensor *ids, ox_tensor *targets, bool linear) {
    ox_tensor *x = ox_add(ox_embedding(ids, m->p[WTE][0]), m->p[WPE][0]), *n;
    for (int l = 0; l < L; l++) {
        x = ox_add(x, attend(m, l, ox_layer_norm(x, 1, m->p[LN1W][l], m->p[LN1B][l], 1e-5)));
        n = ox_layer_norm(x, 1, m->p[LN2W][l], m->p[LN2B][l], 1e-5);
        n = ox_gelu_tanh(ox_linear(n, m->p[FCW][l], m->p[FCB][l]));
        x = ox_add(x, ox_linear(n, m->p[FCPROJW][l], m->p[FCPROJB][l]));
    }
    x = ox_layer_norm(x, 1, m->p[LNFW][0], m->p[LNFB][0], 1e-5);
    if (linear) return ox_linear_cross_entropy(x, m->p[WTE][0], targets, NULL, NULL);
    x = ox_linear(x, m->p[WTE][0], NULL);
    return ox_cross_entropy(ox_reshape(x, OX_SHAPE(B * T, V)), ox_reshape(targets, OX_SHAPE(B * T)), NULL);
}

/* Element i of the layers' gradients, one behind the other. */
static double gradient_at(const gpt2 *m, int k, int64_t i) {
    int64_t each = ox_numel(m->p[k][0]);
    ox_tensor *g = ox_gradient(m->p[k][i / each]);
    return (double)((const float *)ox_data(g))[i % each];
}

static void check_gradients(const gpt2 *m, bool linear) {
    for (int k = 0; k < KINDS; k++) {
        const double *expected = golden_gradients[k].numbers;
        int64_t count = ox_numel(m->p[k][0]) * (kinds[k].layers ? L : 1);
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < count; i++) {
            double g = gradient_at(m, k, i);
            sum += g;
            squares += g * g;
        }
        double size = sqrt(squares), least = 1e-4 * size;
        CHECK_MSG(fabs(squares - expected[1]) <= 1e-4 * expected[1] && fabs(sum - expected[0]) <= 1e-3 * size,
                  "%s%s: %g %g, PyTorch %g %g", golden_gradients[k].name, linear ? ", linear" : "", sum,
                  squares, expected[0], expected[1]);
        for (int i = 0; i < SAMPLES; i++) {
            double g = gradient_at(m, k, i * (count - 1) / (SAMPLES - 1));
            CHECK_MSG(fabs(g - expected[2 + i]) <= least, "%s, sample %d: %g, PyTorch %g",
                      golden_gradients[k].name, i, g, expected[2 + i]);
        }
    }
}

static void check_training(bool linear) {
    gpt2 m;
    int64_t numbers[B][T + 1];
    for (int b = 0; b < B; b++)
        for (int t = 0; t <= T; t++) numbers[b][t] = (b * 7 + t * t * 3 + t * b + 5) % V;
    ox_tensor *tokens = ox_from_ints(numbers[0], OX_SHAPE(B, T + 1), OX_I64);
    ox_tensor *ids = ox_narrow(tokens, 1, 0, T), *targets = ox_narrow(tokens, 1, 1, T);
    gpt2_make(&m);
    ox_optimizer *optimizer = ox_optimizer_open(OX_OPTIMIZER_ADAMW, m.all, m.count);
    CHECK(ox_optimizer_set(optimizer, OX_ALL_GROUPS, "lr", 1e-3) == OX_OK);
    for (int step = 0; step < STEPS; step++)
        OX_SCOPE {
            ox_tensor *loss = loss_of(&m, ids, targets, linear);
            double value = ox_item(loss);
            CHECK_MSG(fabs(value - golden_losses[step]) <= 1e-5 * golden_losses[step],
                      "step %d: loss %.9g, PyTorch %.9g", step, value, golden_losses[step]);
            ox_optimizer_zero_grad(optimizer);
            CHECK_MSG(ox_backward(loss, NULL) == OX_OK, "%s", ox_error_text());
            if (step == 0) check_gradients(&m, linear);
            CHECK(ox_optimizer_step(optimizer) == OX_OK);
        }
    ox_optimizer_close(optimizer);
}

int main(void) {
    OX_SCOPE {
        check_training(false);
    }
    OX_SCOPE {
        check_training(true);
    }
    return check_done("gpt2");
}
