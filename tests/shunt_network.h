/* shunt_network.h - a small residual network with AdamW, for tests that train on a shunt. LAYERS and WIDTH
 * come before it. */
#ifndef OX_TESTS_SHUNT_NETWORK_H
#define OX_TESTS_SHUNT_NETWORK_H

#include "oxtorch_nn.h"

typedef struct network {
    ox_tensor *weight[LAYERS];
    ox_optimizer *adamw;
} network;

static network make_network(ox_device *device) {
    network n;
    ox_manual_seed(4);
    for (int i = 0; i < LAYERS; i++)
        OX_SCOPE {
            ox_tensor *w = ox_mul_number(ox_randn(OX_SHAPE(WIDTH, WIDTH), OX_F32), 0.1);
            n.weight[i] = ox_retain(ox_requires_grad_(ox_to(w, device), true));
        }
    n.adamw = ox_optimizer_open(OX_OPTIMIZER_ADAMW, n.weight, LAYERS);
    return n;
}

static void drop_network(network *n) {
    ox_optimizer_close(n->adamw);
    for (int i = 0; i < LAYERS; i++) ox_release(n->weight[i]);
}

#endif
