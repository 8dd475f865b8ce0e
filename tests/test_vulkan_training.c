/* test_vulkan_training.c - a step of a GPT-2 of 24 layers on a GPU: forward, backward, AdamW, and the loss
 * read at its end. The host waits for the device once a step, however many dispatches there are, no call takes
 * the detour by the CPU, and losses are those of the CPU. Skipped with the reason where there is no device. */
#include "check.h"
#include "oxtorch_nn.h"
#include "oxtorch_vulkan.h"

#include <math.h>
#include <string.h>

enum { LAYERS = 24, WIDTH = 32, HEADS = 2, LENGTH = 16, BATCH = 2, CLASSES = 61, STEPS = 4 };
enum { QKV, OUT, UP, DOWN, NORM1, NORM2, OF_LAYER };
enum { PARAMETERS = 1 + LAYERS * OF_LAYER };

static ox_tensor *parameter(ox_device *device, int64_t rows, int64_t columns) {
    ox_tensor *t = NULL;
    OX_SCOPE {
        ox_shape shape = rows ? OX_SHAPE(rows, columns) : OX_SHAPE(columns);
        t = rows ? ox_mul_number(ox_randn(shape, OX_F32), 0.2) : ox_ones(shape, OX_F32);
        t = ox_keep(ox_to(t, device));
    }
    return ox_requires_grad_(t, true);
}

static void make(ox_device *device, ox_tensor **p) {
    static const int sizes[OF_LAYER][2] = {{3 * WIDTH, WIDTH}, {WIDTH, WIDTH}, {4 * WIDTH, WIDTH},
                                           {WIDTH, 4 * WIDTH}, {0, WIDTH},     {0, WIDTH}};
    *p++ = parameter(device, CLASSES, WIDTH);
    for (int i = 0; i < LAYERS * OF_LAYER; i++)
        *p++ = parameter(device, sizes[i % OF_LAYER][0], sizes[i % OF_LAYER][1]);
}

/* x [B,S,W] -> [B,S,W]. */
static ox_tensor *layer(ox_tensor *x, ox_tensor *const *p) {
    ox_tensor *parts[3], *y = ox_layer_norm(x, 1, p[NORM1], NULL, 1e-5);
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.causal = true;
    ox_chunk(ox_linear(y, p[QKV], NULL), 3, -1, parts, 3);
    for (int i = 0; i < 3; i++)
        parts[i] = ox_transpose(ox_reshape(parts[i], OX_SHAPE(BATCH, LENGTH, HEADS, WIDTH / HEADS)), 1, 2);
    y = ox_scaled_dot_product_attention(parts[0], parts[1], parts[2], &desc);
    y = ox_reshape(ox_transpose(y, 1, 2), OX_SHAPE(BATCH, LENGTH, WIDTH));
    x = ox_add(x, ox_linear(y, p[OUT], NULL));
    y = ox_gelu_tanh(ox_linear(ox_layer_norm(x, 1, p[NORM2], NULL, 1e-5), p[UP], NULL));
    return ox_add(x, ox_linear(y, p[DOWN], NULL));
}

static double step(ox_tensor *const *p, ox_optimizer *optimizer, ox_tensor *ids, ox_tensor *targets) {
    double loss = 0;
    OX_SCOPE {
        ox_tensor *x = ox_embedding(ids, p[0]);
        for (int l = 0; l < LAYERS; l++) x = layer(x, p + 1 + l * OF_LAYER);
        ox_tensor *logits = ox_reshape(ox_linear(x, p[0], NULL), OX_SHAPE(BATCH * LENGTH, CLASSES));
        ox_tensor *mean = ox_cross_entropy(logits, targets, NULL);
        CHECK_MSG(ox_backward(mean, NULL) == OX_OK, "%s", ox_error_text());
        CHECK(ox_optimizer_step(optimizer) == OX_OK);
        ox_optimizer_zero_grad(optimizer);
        loss = ox_item(mean);
    }
    return loss;
}

/* The losses of a few steps; waits: of the last one. */
static void train(ox_device *device, double *losses, int64_t *waits) {
    OX_SCOPE {
        ox_tensor *p[PARAMETERS];
        ox_manual_seed(3);
        make(device, p);
        ox_tensor *ids = ox_to(ox_randint(0, CLASSES, OX_SHAPE(BATCH, LENGTH), OX_I64), device);
        ox_tensor *targets = ox_to(ox_randint(0, CLASSES, OX_SHAPE(BATCH * LENGTH), OX_I64), device);
        ox_optimizer *optimizer = ox_optimizer_open(OX_OPTIMIZER_ADAMW, p, PARAMETERS);
        for (int i = 0; i < STEPS; i++) {
            ox_vulkan_stats before = ox_vulkan_get_stats(ox_vulkan(0));
            losses[i] = step(p, optimizer, ids, targets);
            *waits = ox_vulkan_get_stats(ox_vulkan(0)).waits - before.waits;
        }
        ox_optimizer_close(optimizer);
    }
}

int main(void) {
    ox_device *gpu = ox_vulkan(0);
    double here[STEPS], there[STEPS];
    int64_t waits = 0, detours;
    if (!gpu) return check_skipped("vulkan_training", ox_error_text());
    train(ox_cpu(), here, &waits);
    detours = ox_memory_get_stats().detours;
    train(gpu, there, &waits);
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
              (long long)(ox_memory_get_stats().detours - detours));
    CHECK_MSG(waits == 1, "%lld waits a step", (long long)waits);
    for (int i = 0; i < STEPS; i++)
        CHECK_MSG(fabs(here[i] - there[i]) < 1e-3 * here[i], "step %d: %g, on the CPU %g", i, there[i],
                  here[i]);
    CHECK(here[STEPS - 1] < here[0]);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    return check_done("vulkan_training");
}
