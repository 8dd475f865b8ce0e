/* shunt_train.c - trains a network whose weights, gradients and optimizer state do not fit into memory.
 *
 * Shows   training on ox_shunt_device: autograd and AdamW as they are, a step planned once and replayed; the
 *         losses of the same steps in RAM; what was moved and computed a second time.
 * build   cc -O2 examples/shunt_train.c -I. -o shunt_train -lm -lpthread   (options.h beside it)
 * run     ./shunt_train [--layers N] [--width N] [--batch N] [--memory MIB] [--steps N] [--folder PATH]
 * refuses --steps 0 => shunt_train: --steps wants a whole number from 1 to 4096 (0)
 * prints
 *     8 layers of 256x256: 8.4 MB of weights, gradients and state, a budget of 3.1 MB
 *     step 1: loss 0.4849...
 *     step 2: loss 0.708...
 *     step 3: loss 0.453...
 *     step 4: loss 0.451...
 *     the losses are those of training in RAM: yes; within the budget: yes
 */
#define OX_IMPLEMENTATION
#include "oxtorch_nn.h"
#include "oxtorch_stream.h"

#include "options.h"

static const char help[] = "usage: shunt_train [options]\n"
                           "trains a network that does not fit into memory\n"
                           "\n"
                           "  --layers N      layers, 8\n"
                           "  --width N       numbers that each takes and gives, 256\n"
                           "  --batch N       rows of a step, 32\n"
                           "  --memory MIB    what tensors may take of memory, 3\n"
                           "  --steps N       how many, 4\n"
                           "  --folder PATH   where what waits goes, $TMPDIR or /tmp\n"
                           "  --plan PATH     write the plan there, as a drawing if it ends in .svg\n"
                           "  --alone         do not train in RAM first, to compare\n"
                           "  --help, -h      this text\n"
                           "\n"
                           "example: shunt_train --layers 24 --width 2048 --memory 400 --alone\n";

enum { MOST = 4096 };

typedef struct network {
    int64_t layers, width;
    ox_tensor *weight[MOST];
    ox_optimizer *adamw;
} network;

/* int64_t */
static bool read_size(const char *text, void *out) {
    return read_whole(text, out) && *(int64_t *)out >= 1 && *(int64_t *)out <= MOST;
}

/* The same numbers on every device. A layer at a time: all of them need not fit into RAM. */
static void make_network(network *n, ox_device *device) {
    ox_manual_seed(1);
    for (int64_t i = 0; i < n->layers; i++)
        OX_SCOPE {
            ox_tensor *w =
                ox_mul_number(ox_randn(OX_SHAPE(n->width, n->width), OX_F32), 0.3 / (double)n->width);
            n->weight[i] = ox_retain(ox_requires_grad_(ox_to(w, device), true));
        }
    n->adamw = ox_optimizer_open(OX_OPTIMIZER_ADAMW, n->weight, (int)n->layers);
}

static void drop_network(network *n) {
    ox_optimizer_close(n->adamw);
    for (int64_t i = 0; i < n->layers; i++) ox_release(n->weight[i]);
}

/* Residual layers that learn to give what they are given, turned around. */
static double step(network *n, ox_tensor *x, ox_tensor *target) {
    double loss = 0;
    OX_SCOPE {
        ox_tensor *h = x;
        for (int64_t i = 0; i < n->layers; i++) h = ox_add(h, ox_gelu(ox_linear(h, n->weight[i], NULL)));
        ox_tensor *error = ox_mse_loss(h, target, OX_LOSS_MEAN);
        ox_optimizer_zero_grad(n->adamw);
        if (ox_backward(error, NULL) == OX_OK && ox_optimizer_step(n->adamw) == OX_OK) loss = ox_item(error);
        ox_optimizer_zero_grad(n->adamw);
    }
    return loss;
}

static void train(network *n, ox_device *device, int64_t batch, int64_t steps, double *losses,
                  ox_shunt *shunt) {
    ox_manual_seed(2);
    ox_tensor *x = ox_mul_number(ox_rand(OX_SHAPE(batch, n->width), OX_F32), 1.7);
    ox_tensor *target = ox_to(ox_flip(x, OX_DIMS(1)), device);
    x = ox_to(x, device);
    make_network(n, device);
    for (int64_t i = 0; i < steps && !ox_error(); i++) {
        losses[i] = step(n, x, target);
        if (!shunt) continue;
        const ox_shunt_stats s = ox_shunt_get_stats(shunt);
        printf("step %lld: loss %.6f\n", (long long)i + 1, losses[i]);
        fprintf(stderr,
                "%.1f ms, %.1f simulated, %.1f of computing, %.1f at least (%.2f of the bound), %lld plans, "
                "%.1f MB read, %.1f written, %lld calls again so far\n",
                1e3 * s.wall_seconds, 1e3 * s.simulated_seconds, 1e3 * s.compute_seconds,
                1e3 * s.bound_seconds, s.eta, (long long)s.plans, (double)s.read_bytes / 1e6,
                (double)s.written_bytes / 1e6, (long long)s.recomputed);
    }
    drop_network(n);
}

int main(int count, char **words) {
    static network n;
    static double near[MOST], far[MOST];
    int64_t batch = 32, memory = 3, steps = 4;
    bool alone = false;
    const char *folder = getenv("TMPDIR"), *plan = NULL, *wants = "wants a whole number from 1 to 4096";
    n.layers = 8;
    n.width = 256;
    const option options[] = {
        {"--layers", read_size, &n.layers, wants}, {"--width", read_size, &n.width, wants},
        {"--batch", read_size, &batch, wants},     {"--memory", read_size, &memory, wants},
        {"--steps", read_size, &steps, wants},     {"--folder", read_text, &folder, ""},
        {"--plan", read_text, &plan, ""},          {"--alone", NULL, &alone, ""}};
    const command_line line = {"shunt_train", help, options, 8, NULL, 0};
    if (!options_read(&line, count, words)) return 2;
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = (uint64_t)memory << 20;
    desc.spill = folder;
    printf("%lld layers of %lldx%lld: %.1f MB of weights, gradients and state, a budget of %.1f MB\n",
           (long long)n.layers, (long long)n.width, (long long)n.width,
           (double)(n.layers * n.width * n.width) * 16e-6, (double)desc.device_bytes / 1e6);
    OX_SCOPE {
        if (!alone) train(&n, ox_cpu(), batch, steps, near, NULL);
    }
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        if (shunt) train(&n, ox_shunt_device(shunt), batch, steps, far, shunt);
    }
    bool same = memcmp(near, far, (size_t)steps * sizeof *near) == 0;
    printf("the losses are those of training in RAM: %s; within the budget: %s\n",
           alone  ? "not compared"
           : same ? "yes"
                  : "no",
           ox_shunt_get_stats(shunt).device_peak <= desc.device_bytes ? "yes" : "no");
    if (shunt && plan && !ox_error()) ox_shunt_dump(shunt, plan);
    ox_shunt_close(shunt);
    if (ox_error()) fprintf(stderr, "shunt_train: %s\n", ox_error_text());
    return ox_error() != OX_OK;
}
