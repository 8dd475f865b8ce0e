/* shunt_train.c - trains a GPT-2 whose weights, gradients and optimizer state do not fit into memory.
 *
 * Shows   training on ox_shunt_device: autograd and AdamW as they are, a step planned once and replayed;
 *         the losses of the same steps in RAM; what was moved and computed a second time. A weight changes as
 *         soon as its gradient is there, so gradients are never all in memory.
 * build   cc -O2 examples/shunt_train.c -I. -o shunt_train -lm -lpthread   (options.h and gpt2.h beside it)
 * run     ./shunt_train [--layers N] [--width N] [--memory MIB] [--steps N] [--folder PATH] ...
 * refuses --steps 0 => shunt_train: --steps wants a whole number from 1 to 1000000 (0)
 * refuses --width 100 => shunt_train: a width of 100 is no number of heads of 64
 * prints
 *     4 layers of width 128, 0.8 million parameters: 13.3 MB of weights, ...
 *     step 1: loss 5.5...
 *     step 2: loss ...
 *     step 3: loss ...
 *     step 4: loss ...
 *     the losses are those of training in RAM: yes; within the budget: yes
 */
#define OX_IMPLEMENTATION
#include "oxtorch_nn.h"
#include "oxtorch_stream.h"

#include "gpt2.h"
#include "options.h"

static const char help[] =
    "usage: shunt_train [options]\n"
    "trains a GPT-2 that does not fit into memory\n"
    "\n"
    "  --layers N      layers, 4\n"
    "  --width N       of a layer, heads of 64, 128\n"
    "  --vocabulary N  tokens that there are, 256\n"
    "  --length N      tokens of a sequence, 16\n"
    "  --batch N       sequences of a step, 4\n"
    "  --memory MIB    what tensors may take of memory, 3\n"
    "  --steps N       how many, 4\n"
    "  --folder PATH   where what waits goes, $TMPDIR or /tmp\n"
    "  --plan PATH     write the plan there, as a drawing if it ends in .svg\n"
    "  --alone         do not train in RAM first, to compare\n"
    "  --help, -h      this text\n"
    "\n"
    "example: shunt_train --layers 23 --width 2048 --vocabulary 50257 --length 512 --batch 1 --memory 3300 "
    "--alone\n"
    "         1.26 billion parameters, 20 GB of numbers in 4 GiB of RAM\n";

enum { MOST = 1000000, STEPS_MOST = 4096, HEAD = 64 };

/* int64_t */
static bool read_size(const char *text, void *out) {
    return read_whole(text, out) && *(int64_t *)out >= 1 && *(int64_t *)out <= MOST;
}

/* The same numbers on every device. A parameter at a time: all of them need not fit into RAM. */
static ox_tensor *make_parameter(const gpt2_config *config, int kind, ox_device *device) {
    bool one = kind == LN1W || kind == LN2W || kind == LNFW, matrix = gpt2_kinds[kind].columns > 0;
    ox_tensor *t = NULL;
    OX_SCOPE {
        ox_shape shape = gpt2_shape(config, kind);
        t = matrix ? ox_mul_number_(ox_randn(shape, OX_F32), 0.02) : ox_full(shape, one ? 1 : 0, OX_F32);
        t = ox_retain(ox_requires_grad_(ox_to(t, device), true));
    }
    return t;
}

static void make_network(gpt2 *m, ox_device *device) {
    ox_manual_seed(1);
    for (int kind = 0; kind < GPT2_KINDS; kind++)
        for (int64_t l = 0; l < gpt2_copies(&m->config, kind); l++)
            m->p[kind][l] = make_parameter(&m->config, kind, device);
}

static void drop_network(gpt2 *m) {
    for (int kind = 0; kind < GPT2_KINDS; kind++)
        for (int64_t l = 0; l < gpt2_copies(&m->config, kind); l++) ox_release(m->p[kind][l]);
}

/* Gradients go before numbers are asked for: nobody needs them after the step. */
static double step(const gpt2 *m, ox_optimizer *adamw, ox_tensor *ids, ox_tensor *targets) {
    double loss = 0;
    OX_SCOPE {
        ox_tensor *mean = gpt2_loss(m, ids, targets);
        if (ox_backward(mean, NULL) == OX_OK && ox_optimizer_step(adamw) == OX_OK) {
            ox_optimizer_zero_grad(adamw);
            loss = ox_item(mean);
        }
    }
    return loss;
}

static void tell(const ox_shunt_stats *before, const ox_shunt_stats *s) {
    fprintf(stderr,
            "%.1f ms, %.1f simulated, %.1f of computing, %.1f at least (%.2f of the bound), %lld plans, "
            "%.1f MB read, %.1f written, %lld calls again, %.1f MB in memory at most\n",
            1e3 * s->wall_seconds, 1e3 * s->simulated_seconds, 1e3 * s->compute_seconds,
            1e3 * s->bound_seconds, s->eta, (long long)s->plans,
            (double)(s->read_bytes - before->read_bytes) / 1e6,
            (double)(s->written_bytes - before->written_bytes) / 1e6,
            (long long)(s->recomputed - before->recomputed), (double)s->device_peak / 1e6);
}

static void train(gpt2 *m, ox_device *device, ox_shape batch, int64_t steps, double *losses,
                  ox_shunt *shunt) {
    static ox_tensor *all[GPT2_KINDS * GPT2_MOST_LAYERS];
    ox_manual_seed(2);
    ox_tensor *ids = ox_randint(0, m->config.vocabulary, batch, OX_I64);
    ox_tensor *targets = ox_to(ox_flip(ids, OX_DIMS(1)), device); /* to give them turned around */
    ids = ox_to(ids, device);
    make_network(m, device);
    int count = gpt2_parameters(m, all);
    ox_optimizer *adamw = ox_optimizer_open(OX_OPTIMIZER_ADAMW, all, count);
    for (int64_t i = 0; i < steps && !ox_error(); i++) {
        ox_shunt_stats before = ox_shunt_get_stats(shunt);
        losses[i] = step(m, adamw, ids, targets);
        if (!shunt || ox_error()) continue;
        ox_shunt_stats after = ox_shunt_get_stats(shunt);
        printf("step %lld: loss %.6f\n", (long long)i + 1, losses[i]);
        tell(&before, &after);
    }
    ox_optimizer_close(adamw);
    drop_network(m);
}

static double count_parameters(const gpt2_config *config) {
    double count = 0;
    for (int kind = 0; kind < GPT2_KINDS; kind++) {
        ox_shape shape = gpt2_shape(config, kind);
        double one = 1;
        for (int d = 0; d < shape.ndim; d++) one *= (double)shape.dim[d];
        count += one * (double)gpt2_copies(config, kind);
    }
    return count;
}

int main(int count, char **words) {
    static gpt2 m;
    static double near[STEPS_MOST], far[STEPS_MOST];
    gpt2_config *c = &m.config;
    int64_t batch = 4, memory = 3, steps = 4;
    bool alone = false;
    const char *folder = getenv("TMPDIR"), *plan = NULL, *wants = "wants a whole number from 1 to 1000000";
    const gpt2_config usual = {16, 256, 4, 2, 128};
    *c = usual;
    const option options[] = {
        {"--layers", read_size, &c->layers, wants},    {"--width", read_size, &c->width, wants},
        {"--vocabulary", read_size, &c->vocabulary, wants}, {"--length", read_size, &c->positions, wants},
        {"--batch", read_size, &batch, wants},         {"--memory", read_size, &memory, wants},
        {"--steps", read_size, &steps, wants},         {"--folder", read_text, &folder, ""},
        {"--plan", read_text, &plan, ""},              {"--alone", NULL, &alone, ""}};
    const command_line line = {"shunt_train", help, options, 10, NULL, 0};
    if (!options_read(&line, count, words)) return 2;
    if (c->width % HEAD != 0 || c->layers > GPT2_MOST_LAYERS || steps > STEPS_MOST) {
        fprintf(stderr,
                c->width % HEAD ? "shunt_train: a width of %lld is no number of heads of 64\n"
                                : "shunt_train: more layers or steps than there may be (width %lld)\n",
                (long long)c->width);
        return 2;
    }
    c->heads = c->width / HEAD;
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = (uint64_t)memory << 20;
    desc.spill = folder;
    printf("%lld layers of width %lld, %.1f million parameters: %.1f MB of weights, gradients and state, a "
           "budget of %.1f MB\n",
           (long long)c->layers, (long long)c->width, count_parameters(c) / 1e6, count_parameters(c) * 16e-6,
           (double)desc.device_bytes / 1e6);
    OX_SCOPE {
        if (!alone) train(&m, ox_cpu(), OX_SHAPE(batch, c->positions), steps, near, NULL);
    }
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        if (shunt)
            train(&m, ox_shunt_device(shunt), OX_SHAPE(batch, c->positions), steps, far, shunt);
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
