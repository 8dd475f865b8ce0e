/* bench_training.c - steps of networks as PyTorch users write them: BERT, GPT-2 of 6 and of 12 layers,
 * ResNet-18. A training step is forward, backward and AdamW; `prefill` and `decode` are GPT-2's forward
 * alone, of a prompt and of one token behind a cache that grows; `forward` is that of images, whose rows and
 * columns are as many as length says. Prints the median time of a step, the most memory that
 * the process held and the last loss; bench/peers/training.py runs it beside PyTorch.
 *
 *     bench_training [bert|gpt2_6|gpt2_12|bytes_bert|bytes_12|resnet18] [step|prefill|decode|forward]
 *         [f32|bf16|f16] [batch] [length] [steps] [vulkan]
 *     bench_training MODEL shunt f32 4 128 5 [percent, 25] [vulkan]
 *                                     the planner: a step without a limit of memory and one within so much of
 *                                     what that took, in turn; vulkan: on a GPU, what waits in RAM
 *     bench_training gpt2_12 curve f8,i8,ulp 2 64 200 TEXT [percent, 25] [rate, 0.001] [warm-up steps, 0]
 *         [MB/s of a disk]
 *     bench_training mlp|mlp_64 curve f8 128 0 200 IMAGES-IDX3 [percent, 25] .. (as above)
 *                                     the planner's compression of activations (f16, f8, i8, q4): losses
 *                                     beside those of a run that moves all bits, on the bytes of a text
 *                                     (BERT: of which one in seven is hidden), or on images, whose classes
 *                                     lie in labels-idx1 of the same name; ulp: moves all bits, too, one
 *                                     layer's norm begins 2^-23 larger: what the training makes of that. What
 *                                     is moved waits in RAM, or, with a last number, on the disk, which may
 *                                     move so many MB a second and not more (0: as many as it can) */
#include "oxtorch_nn.h"
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"

#include "bench.h"

#include <math.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "resnet.h"

enum { HEAD = 64, LAYERS_MOST = 12, LAYER_PARAMETERS = 12, POSITIONS = 1024 };

static const struct model_row {
    const char *name;
    bool causal; /* GPT-2: norms before, tanh's gelu; BERT: norms behind, erf's gelu */
    int layers;
    int64_t width, vocabulary;
} models[] = {{"gpt2_6", true, 6, 768, 50257},
              {"gpt2_12", true, 12, 768, 50257},
              {"bert", false, 6, 768, 30522},
              {"bytes_12", true, 12, 384, 257}, /* GPT-2 of bytes, and BERT, narrow */
              {"bytes_bert", false, 6, 384, 257}};

/* Of a layer: two norms, and four products with what is added. */
enum { NORM1, NORM1_BIAS, QKV, QKV_BIAS, OUT, OUT_BIAS, NORM2, NORM2_BIAS, UP, UP_BIAS, DOWN, DOWN_BIAS };

typedef struct transformer {
    ox_device *device;
    bool causal;
    int layers;
    int64_t width, vocabulary;
    ox_tensor *tokens, *positions, *norm, *norm_bias, *layer[LAYERS_MOST][LAYER_PARAMETERS];
    ox_tensor *keys[LAYERS_MOST], *values[LAYERS_MOST]; /* [B,H,T,D], of decode */
    ox_tensor *all[4 + LAYERS_MOST * LAYER_PARAMETERS];
    int count;
} transformer;

static ox_tensor *parameter(transformer *m, ox_shape shape, double deviation, double center, ox_dtype dtype) {
    ox_tensor *t = NULL;
    OX_SCOPE {
        t = ox_add_number_(ox_mul_number_(ox_randn(shape, OX_F32), deviation), center);
        t = ox_keep(ox_to(ox_cast(t, dtype), m->device));
    }
    return m->all[m->count++] = ox_requires_grad_(t, true);
}

static void make(transformer *m, ox_device *device, const char *name, ox_dtype dtype) {
    /* rows and columns: of so many widths */
    static const struct { int rows, columns; double deviation, center; } shapes[LAYER_PARAMETERS] = {
        {1, 0, 0, 1}, {1, 0, 0, 0}, {3, 1, 0.02, 0}, {3, 0, 0, 0}, {1, 1, 0.02, 0}, {1, 0, 0, 0},
        {1, 0, 0, 1}, {1, 0, 0, 0}, {4, 1, 0.02, 0}, {4, 0, 0, 0}, {1, 4, 0.02, 0}, {1, 0, 0, 0}};
    size_t row = sizeof models / sizeof *models - 1;
    while (row > 0 && strcmp(models[row].name, name) != 0) row--;
    const int64_t width = models[row].width;
    memset(m, 0, sizeof *m);
    m->device = device;
    m->causal = models[row].causal;
    m->layers = models[row].layers;
    m->width = width;
    m->vocabulary = models[row].vocabulary;
    m->tokens = parameter(m, OX_SHAPE(m->vocabulary, width), 0.02, 0, dtype);
    m->positions = parameter(m, OX_SHAPE(POSITIONS, width), 0.01, 0, dtype);
    m->norm = parameter(m, OX_SHAPE(width), 0, 1, dtype);
    m->norm_bias = parameter(m, OX_SHAPE(width), 0, 0, dtype);
    for (int l = 0; l < m->layers; l++)
        for (int p = 0; p < LAYER_PARAMETERS; p++) {
            const int64_t sizes[2] = {shapes[p].rows * width, shapes[p].columns * width};
            ox_shape shape = ox_shape_from(shapes[p].columns ? 2 : 1, sizes);
            m->layer[l][p] = parameter(m, shape, shapes[p].deviation, shapes[p].center, dtype);
        }
}

/* x [B,S,W] -> [B,S,W]; past: keys and values of earlier tokens are kept, and read. */
static ox_tensor *attend(transformer *m, int l, ox_tensor *x, bool past) {
    int64_t batch = x->shape[0], length = x->shape[1];
    ox_tensor *parts[3], **p = m->layer[l];
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    ox_chunk(ox_linear(x, p[QKV], p[QKV_BIAS]), 3, -1, parts, 3);
    for (int i = 0; i < 3; i++)
        parts[i] = ox_transpose(ox_reshape(parts[i], OX_SHAPE(batch, length, m->width / HEAD, HEAD)), 1, 2);
    if (past) {
        ox_tensor *k[2] = {m->keys[l], parts[1]}, *v[2] = {m->values[l], parts[2]};
        m->keys[l] = parts[1] = m->keys[l] ? ox_cat(k, 2, 2) : ox_contiguous(parts[1]);
        m->values[l] = parts[2] = m->values[l] ? ox_cat(v, 2, 2) : ox_contiguous(parts[2]);
        ox_release(k[0]);
        ox_release(v[0]);
        ox_retain(m->keys[l]);
        ox_retain(m->values[l]);
    }
    desc.causal = m->causal && length > 1;
    ox_tensor *mixed = ox_scaled_dot_product_attention(parts[0], parts[1], parts[2], &desc);
    mixed = ox_reshape(ox_transpose(mixed, 1, 2), OX_SHAPE(batch, length, m->width));
    return ox_linear(mixed, p[OUT], p[OUT_BIAS]);
}

static ox_tensor *feed_forward(transformer *m, int l, ox_tensor *x) {
    ox_tensor **p = m->layer[l];
    ox_activation activation = m->causal ? OX_ACTIVATION_GELU_TANH : OX_ACTIVATION_GELU;
    x = ox_linear(x, p[UP], p[UP_BIAS]);
    x = activation == OX_ACTIVATION_GELU ? ox_gelu(x) : ox_gelu_tanh(x);
    return ox_linear(x, p[DOWN], p[DOWN_BIAS]);
}

/* ids [B,S], the first at position `first` -> logits [B,S,V]. */
static ox_tensor *forward(transformer *m, ox_tensor *ids, int64_t first, bool past) {
    const double eps = m->causal ? 1e-5 : 1e-12;
    ox_tensor *x = ox_add(ox_embedding(ids, m->tokens), ox_narrow(m->positions, 0, first, ids->shape[1]));
    if (!m->causal) x = ox_layer_norm(x, 1, m->norm, m->norm_bias, eps);
    for (int l = 0; l < m->layers; l++) {
        ox_tensor **p = m->layer[l];
        if (m->causal) {
            x = ox_add(x, attend(m, l, ox_layer_norm(x, 1, p[NORM1], p[NORM1_BIAS], eps), past));
            x = ox_add(x, feed_forward(m, l, ox_layer_norm(x, 1, p[NORM2], p[NORM2_BIAS], eps)));
        } else {
            x = ox_layer_norm(ox_add(x, attend(m, l, x, past)), 1, p[NORM1], p[NORM1_BIAS], eps);
            x = ox_layer_norm(ox_add(x, feed_forward(m, l, x)), 1, p[NORM2], p[NORM2_BIAS], eps);
        }
    }
    if (m->causal) x = ox_layer_norm(x, 1, m->norm, m->norm_bias, eps);
    if (past && ids->shape[1] > 1) x = ox_narrow(x, 1, ids->shape[1] - 1, 1); /* of a prompt, the last */
    return ox_linear(x, m->tokens, NULL);
}

/* What is measured: m or images NULL. */
typedef struct work {
    transformer *m;
    resnet *images;
    ox_optimizer *optimizer;
    ox_tensor *in, *targets;
} work;

static double train_step(const work *w) {
    double loss = 0;
    OX_SCOPE {
        ox_tensor *mean = NULL;
        OX_SCOPE { /* of the way there, only what gradients need stays */
            ox_tensor *logits = w->m ? forward(w->m, w->in, 0, false) : resnet_forward(w->images, w->in);
            ox_tensor *flat = ox_reshape(logits, OX_SHAPE(-1, logits->shape[logits->ndim - 1]));
            mean = ox_keep(ox_cross_entropy(flat, ox_flatten(w->targets, 0, -1), NULL));
        }
        ox_backward(mean, NULL);
        ox_optimizer_step(w->optimizer);
        ox_optimizer_zero_grad(w->optimizer); /* nobody looks at them: a planner need not keep them */
        loss = ox_item(mean);
    }
    return loss;
}

static void forget(transformer *m) {
    for (int l = 0; l < m->layers; l++) {
        ox_release(m->keys[l]);
        ox_release(m->values[l]);
        m->keys[l] = m->values[l] = NULL;
    }
}

/* A prompt, or a token behind it; the sum of its logits. */
static double infer(transformer *m, ox_tensor *ids, int64_t first, bool begins) {
    double sum = 0;
    if (begins) forget(m);
    OX_NO_GRAD
        OX_SCOPE {
            sum = ox_item(ox_mean(ox_cast(forward(m, ids, first, true), OX_F32), OX_ALL_DIMS, false));
        }
    return sum;
}

/* Step i of the work that is called so; step -1 does not count. */
static double run(const work *w, const char *name, int64_t length, int i) {
    double sum = 0;
    if (strcmp(name, "step") == 0) return train_step(w);
    if (w->m && strcmp(name, "decode") == 0)
        return infer(w->m, ox_narrow(w->in, 1, 0, 1), length + i + 1, false);
    if (w->m) return infer(w->m, w->in, 0, true);
    OX_NO_GRAD
        OX_SCOPE {
            ox_tensor *logits = ox_cast(resnet_forward(w->images, w->in), OX_F32);
            sum = ox_item(ox_mean(logits, OX_ALL_DIMS, false));
        }
    return sum;
}

static void make_work(work *w, const char *model, const char *name, ox_dtype dtype, int64_t batch,
                      int64_t length) {
    static transformer m;
    static resnet images;
    memset(w, 0, sizeof *w);
    ox_manual_seed(1);
    if (strcmp(model, "resnet18") == 0) {
        w->images = &images;
        resnet_make(&images, dtype);
        images.training = strcmp(name, "step") == 0;
        w->in = ox_cast(ox_randn(OX_SHAPE(batch, 3, length, length), OX_F32), dtype);
        w->targets = ox_randint(0, RESNET_CLASSES, OX_SHAPE(batch), OX_I64);
    } else {
        w->m = &m;
        make(&m, ox_default_device(), model, dtype);
        w->in = ox_randint(0, m.vocabulary, OX_SHAPE(batch, length), OX_I64);
        w->targets = ox_randint(0, m.vocabulary, OX_SHAPE(batch, length), OX_I64);
    }
    w->optimizer = ox_optimizer_open(OX_OPTIMIZER_ADAMW, w->m ? m.all : images.all,
                                     w->m ? m.count : images.count);
}

/* ---- the planner --------------------------------------------------------------------------------------- */

/* A model that trains on a shunt of its own. */
typedef struct planned {
    ox_shunt *shunt;
    transformer model;
    work w;
    double seconds[BENCH_MAX_RUNS];
} planned;

static bool planned_open(planned *run, const ox_shunt_desc *desc, const char *name, int64_t batch,
                         int64_t length, ox_dtype dtype) {
    run->shunt = ox_shunt_open(desc);
    if (!run->shunt) return false;
    ox_device *device = ox_shunt_device(run->shunt);
    ox_manual_seed(1);
    make(&run->model, device, name, dtype);
    const int64_t vocabulary = run->model.vocabulary;
    run->w.m = &run->model;
    run->w.optimizer = ox_optimizer_open(OX_OPTIMIZER_ADAMW, run->model.all, run->model.count);
    run->w.in = ox_to(ox_randint(0, vocabulary, OX_SHAPE(batch, length), OX_I64), device);
    run->w.targets = ox_to(ox_randint(0, vocabulary, OX_SHAPE(batch, length), OX_I64), device);
    return run->w.optimizer && run->w.targets;
}

static double planned_step(planned *run, int i) {
    double start = bench_now();
    double loss = train_step(&run->w);
    if (i >= 0 && i < BENCH_MAX_RUNS) run->seconds[i] = bench_now() - start;
    return loss;
}

/* What a step did, of differences of counts: to host and disk, and back, and what ran again. */
static void planned_tell(const ox_shunt_stats *a, const ox_shunt_stats *b, int steps) {
    printf("    computing %.1f ms, simulated %.1f, at least %.1f; a step: %.1f MB up, %.1f down, "
           "%.1f written, %.1f read, %lld of %lld calls again\n",
           1e3 * b->compute_seconds, 1e3 * b->simulated_seconds, 1e3 * b->bound_seconds,
           (double)(b->up_bytes - a->up_bytes) / steps / 1e6,
           (double)(b->down_bytes - a->down_bytes) / steps / 1e6,
           (double)(b->written_bytes - a->written_bytes) / steps / 1e6,
           (double)(b->read_bytes - a->read_bytes) / steps / 1e6,
           (long long)(b->recomputed - a->recomputed) / steps, (long long)(b->calls - a->calls) / steps);
}

static int measure_planned(const char *name, int64_t batch, int64_t length, int steps, ox_dtype dtype,
                           double percent, bool vulkan) {
    enum { FIRST = 5 }; /* plans are made, measured and made again */
    static planned all, some;
    ox_shunt_desc desc;
    bool same = true;
    memset(&desc, 0, sizeof desc);
    if (vulkan) desc.compute = ox_vulkan(0);
    ox_scope scope = ox_scope_begin();
    bool open = planned_open(&all, &desc, name, batch, length, dtype);
    double wanted[BENCH_MAX_RUNS + FIRST];
    for (int i = 0; open && i < 2; i++) wanted[i] = planned_step(&all, -1);
    uint64_t peak = ox_shunt_get_stats(all.shunt).device_peak;
    desc.device_bytes = (uint64_t)((double)peak * percent / 100);
    open = open && planned_open(&some, &desc, name, batch, length, dtype);
    for (int i = 0; open && i < 2; i++) same = planned_step(&some, -1) == wanted[i] && same;
    ox_shunt_stats before = ox_shunt_get_stats(some.shunt);
    for (int i = 2 - FIRST; open && i < steps && !ox_error(); i++) {
        double loss = planned_step(&all, i);
        if (i == 0) before = ox_shunt_get_stats(some.shunt);
        same = planned_step(&some, i) == loss && same;
    }
    ox_shunt_stats after = ox_shunt_get_stats(some.shunt);
    if (open && !ox_error()) {
        double near = bench_median(all.seconds, steps), far = bench_median(some.seconds, steps);
        printf("%s, %lld x %lld: %.1f ms with %.1f MB; %.1f ms within %.1f MB (%.1f at most): %.3f of it; "
               "same losses %s\n",
               name, (long long)batch, (long long)length, 1e3 * near, (double)peak / 1e6, 1e3 * far,
               (double)desc.device_bytes / 1e6, (double)after.device_peak / 1e6, far / near,
               same ? "yes" : "NO");
        planned_tell(&before, &after, steps);
    } else {
        printf("%s\n", ox_error_text());
    }
    ox_optimizer_close(all.w.optimizer);
    ox_optimizer_close(some.w.optimizer);
    ox_scope_end(&scope);
    ox_shunt_close(all.shunt);
    ox_shunt_close(some.shunt);
    return ox_error() || !same ? 1 : 0;
}

/* ---- the planner's compression ------------------------------------------------------------------------- */

enum { HIDDEN = 7, MASK = 256 }; /* BERT: one byte in so many, by that id */
enum { CURVE_MOST = 1000, MLP_LAYERS = 4, MLP_WIDTH = 1024, MLP_THIN = 64, PIXELS = 784, CLASSES = 10 };

/* What a curve is of: a text for GPT-2 and BERT, or images for a perceptron. */
typedef struct curve {
    const char *model;
    int64_t batch, length;
    int steps, warm_up;
    double rate;
    unsigned char *bytes, *labels; /* of the text; of images, and their classes */
    long count, label_count;
    double took[CURVE_MOST], seconds; /* of steps; the median */
} curve;

static unsigned char *read_all(const char *path, long *bytes) {
    FILE *file = fopen(path, "rb");
    unsigned char *all = NULL;
    *bytes = 0;
    if (file && fseek(file, 0, SEEK_END) == 0 && (*bytes = ftell(file)) > 0) {
        all = malloc((size_t)*bytes);
        rewind(file);
        if (all && fread(all, 1, (size_t)*bytes, file) != (size_t)*bytes) *bytes = 0;
    }
    if (file) fclose(file);
    return all;
}

static bool curve_open(curve *c, const char *path) {
    char other[1024], *at;
    c->bytes = read_all(path, &c->count);
    if (strncmp(c->model, "mlp", 3) != 0) return c->count > c->batch * (c->length + 1);
    snprintf(other, sizeof other, "%s", path);
    at = strstr(other, "images-idx3");
    if (at) memcpy(at, "labels-idx1", 11);
    if (at) c->labels = read_all(other, &c->label_count);
    return c->labels && (c->count - 16) / PIXELS > c->batch && c->label_count - 8 >= (c->count - 16) / PIXELS;
}

/* The batch of step i: places of the text, or images, that a generator draws. */
static void curve_batch(const curve *c, int i, ox_device *device, ox_tensor **in, ox_tensor **targets) {
    uint64_t state = (uint64_t)i * 0x9e3779b97f4a7c15u + 1;
    bool mlp = c->labels != NULL;
    int64_t each = mlp ? PIXELS : c->length, rows = mlp ? 1 : c->length;
    float *numbers = malloc((size_t)(c->batch * each) * sizeof *numbers);
    int64_t *ids = malloc((size_t)(c->batch * each) * sizeof *ids);
    int64_t *next = malloc((size_t)(c->batch * each) * sizeof *next);
    bool hides = strstr(c->model, "bert") != NULL;
    for (int64_t b = 0; b < c->batch; b++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int64_t from = (int64_t)(state >> 33) % (mlp ? (c->count - 16) / PIXELS : c->count - c->length - 1);
        for (int64_t k = 0; k < each; k++) {
            if (mlp)
                numbers[b * each + k] = (float)c->bytes[16 + from * PIXELS + k] / 255;
            else
                ids[b * each + k] = c->bytes[from + k];
            if (!mlp) next[b * each + k] = c->bytes[from + k + (hides ? 0 : 1)];
            if (hides && (k + b) % HIDDEN == i % HIDDEN)
                ids[b * each + k] = MASK;
            else if (hides)
                next[b * each + k] = -100; /* cross_entropy's ignore_index */
        }
        if (mlp) next[b] = c->labels[8 + from];
    }
    ox_tensor *of = mlp ? ox_from_floats(numbers, OX_SHAPE(c->batch, PIXELS), OX_F32)
                        : ox_from_data(ids, OX_SHAPE(c->batch, c->length), OX_I64);
    *in = ox_to(of, device);
    *targets = ox_to(ox_from_data(next, OX_SHAPE(c->batch * rows), OX_I64), device);
    free(numbers);
    free(ids);
    free(next);
}

static ox_tensor *perceive(transformer *m, ox_tensor *x) {
    for (int l = 0; l < m->layers; l++) {
        ox_tensor *const *w = m->layer[l], *y = ox_linear(l > 0 ? ox_gelu(x) : x, w[0], w[1]);
        bool adds = m->layers > MLP_LAYERS && l > 0 && l + 1 < m->layers;
        x = adds ? ox_add(x, y) : y;
    }
    return x;
}

/* Four layers of 1,024; thin: twelve of 64, each added to what is before it, which compute little for what
 * they move. */
static void make_perceptron(transformer *m, ox_device *device, bool thin) {
    memset(m, 0, sizeof *m);
    m->device = device;
    m->layers = thin ? LAYERS_MOST : MLP_LAYERS;
    m->width = thin ? MLP_THIN : MLP_WIDTH;
    for (int l = 0; l < m->layers; l++) {
        int64_t in = l > 0 ? m->width : PIXELS, out = l + 1 < m->layers ? m->width : CLASSES;
        m->layer[l][0] = parameter(m, OX_SHAPE(out, in), thin ? 0.06 : 0.03, 0, OX_F32);
        m->layer[l][1] = parameter(m, OX_SHAPE(out), 0, 0, OX_F32);
    }
}

static void curve_model(const curve *c, transformer *m, ox_device *device) {
    ox_manual_seed(1);
    if (c->labels)
        make_perceptron(m, device, strcmp(c->model, "mlp") != 0);
    else
        make(m, device, c->model, OX_F32);
}

static double curve_step(const curve *c, transformer *m, ox_optimizer *adamw, ox_device *device, int i) {
    double loss = 0, warm = i < c->warm_up ? (double)(i + 1) / c->warm_up : 1;
    ox_optimizer_set(adamw, OX_ALL_GROUPS, "lr", c->rate * warm);
    OX_SCOPE {
        ox_tensor *in, *targets, *mean = NULL;
        curve_batch(c, i, device, &in, &targets);
        OX_SCOPE {
            ox_tensor *logits = c->labels ? perceive(m, in) : forward(m, in, 0, false);
            logits = ox_reshape(logits, OX_SHAPE(-1, logits->shape[logits->ndim - 1]));
            mean = ox_keep(ox_cross_entropy(logits, targets, NULL));
        }
        ox_backward(mean, NULL);
        ox_optimizer_step(adamw);
        ox_optimizer_zero_grad(adamw);
        loss = ox_item(mean);
    }
    return loss;
}

/* The losses of all steps within a budget; what it took at most comes back in it. ulp: a norm begins with
 * the next number above 1. */
static bool curve_run(curve *c, ox_shunt_desc *desc, int steps, bool ulp, double *losses,
                      ox_shunt_stats *stats) {
    static transformer m;
    ox_shunt *shunt = ox_shunt_open(desc);
    if (!shunt) return false;
    OX_SCOPE {
        ox_device *device = ox_shunt_device(shunt);
        curve_model(c, &m, device);
        if (ulp) OX_NO_GRAD ox_mul_number_(c->labels ? m.layer[0][0] : m.layer[0][NORM1], 1 + ldexp(1, -23));
        ox_optimizer *adamw = ox_optimizer_open(OX_OPTIMIZER_ADAMW, m.all, m.count);
        for (int i = 0; i < steps && !ox_error(); i++) {
            double start = bench_now();
            losses[i] = curve_step(c, &m, adamw, device, i);
            c->took[i] = bench_now() - start;
        }
        c->seconds = steps > 2 ? bench_median(c->took, steps) : 0;
        ox_optimizer_close(adamw);
        *stats = ox_shunt_get_stats(shunt);
    }
    ox_shunt_close(shunt);
    return !ox_error();
}

static double apart(double a, double b) {
    return fabs(a / b - 1);
}

/* The most that means of so many losses are apart; first: from that step on. */
static double curve_apart(const double *a, const double *b, int first, int steps, int window) {
    double most = 0;
    for (int i = first; i + window <= steps; i += window) {
        double x = 0, y = 0;
        for (int k = i; k < i + window; k++) {
            x += a[k];
            y += b[k];
        }
        if (apart(x, y) > most) most = apart(x, y);
    }
    return most;
}

static void curve_tell(const curve *c, const char *name, const double *losses, const double *plain,
                       const ox_shunt_stats *stats) {
    double sum = 0;
    for (int i = 0; i < c->steps; i++) sum += losses[i] / plain[i] - 1;
    printf("  %s: off by %.4f %% at most, means of 10 by %.4f %%, of 50 by %.4f %%, by %+.4f %% in the mean; "
           "%.0f MB up, %.0f written, %.3f s a step\n",
           name, 100 * curve_apart(losses, plain, 0, c->steps, 1),
           100 * curve_apart(losses, plain, 0, c->steps, 10),
           100 * curve_apart(losses, plain, 0, c->steps, 50), 100 * sum / c->steps,
           (double)stats->up_bytes / 1e6, (double)stats->written_bytes / 1e6, c->seconds);
    fflush(stdout);
}

/* A disk that is slower than this one: a transfer is due when those before it would have ended. */
static int64_t slow_disk(void *user, int64_t number, int64_t bytes) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static double free_at;
    const double *rate = user;
    (void)number;
    pthread_mutex_lock(&lock);
    double now = bench_now();
    if (free_at < now) free_at = now;
    free_at += (double)bytes / *rate;
    double wait = free_at - now;
    pthread_mutex_unlock(&lock);
    const struct timespec time = {(time_t)wait, (long)(1e9 * (wait - (double)(time_t)wait))};
    nanosleep(&time, NULL);
    return bytes;
}

/* packings: names, with commas between. disk: bytes a second; 0: what it can; less: what moves is in RAM. */
static int measure_curve(curve *c, const char *packings, const char *path, double percent, double disk) {
    static const char *const names[] = {"ulp", "f16", "f8", "i8", "q4"};
    static double plain[CURVE_MOST], packed[CURVE_MOST];
    ox_shunt_desc desc;
    ox_shunt_stats all, some;
    memset(&desc, 0, sizeof desc);
    if (c->steps > CURVE_MOST || !curve_open(c, path)) return 2;
    bool good = curve_run(c, &desc, 2, false, plain, &all);
    desc.device_bytes = (uint64_t)((double)all.device_peak * percent / 100);
    desc.host_bytes = disk < 0 ? 8 * all.device_peak : 0;
    if (disk > 0) desc.fault = slow_disk;
    desc.fault_user = &disk;
    desc.recompute = OX_RECOMPUTE_OFF;
    good = good && curve_run(c, &desc, c->steps, false, plain, &some);
    if (good)
        printf("%s, %lld x %lld within %.1f of %.1f MB: losses %.4f .. %.4f; %.0f MB up, %.0f written, "
               "%.3f s a step\n",
               c->model, (long long)c->batch, (long long)c->length, (double)desc.device_bytes / 1e6,
               (double)all.device_peak / 1e6, plain[0], plain[c->steps - 1], (double)some.up_bytes / 1e6,
               (double)some.written_bytes / 1e6, c->seconds);
    fflush(stdout);
    desc.compress = OX_COMPRESS_ACTIVATIONS;
    for (int k = 0; k < 5 && good; k++) {
        if (!strstr(packings, names[k])) continue;
        desc.compression = (ox_compression)k;
        good = curve_run(c, &desc, c->steps, k == 0, packed, &some);
        if (good) curve_tell(c, names[k], packed, plain, &some);
    }
    if (!good) printf("%s\n", ox_error_text());
    free(c->bytes);
    free(c->labels);
    return good ? 0 : 1;
}

int main(int argc, char **argv) {
    const char *model = argc > 1 ? argv[1] : "gpt2_6", *name = argc > 2 ? argv[2] : "step";
    const char *type = argc > 3 ? argv[3] : "f32";
    ox_dtype dtype = strcmp(type, "bf16") == 0 ? OX_BF16 : strcmp(type, "f16") == 0 ? OX_F16 : OX_F32;
    int64_t batch = argc > 4 ? atoi(argv[4]) : 4, length = argc > 5 ? atoi(argv[5]) : 128;
    int steps = argc > 6 ? atoi(argv[6]) : 5;
    double seconds[BENCH_MAX_RUNS], last = 0;
    struct rusage usage;
    work w;
    if (strcmp(name, "curve") == 0) {
        curve c = {model, batch, length, steps, argc > 10 ? atoi(argv[10]) : 0,
                   argc > 9 ? atof(argv[9]) : 0.001, NULL, NULL, 0, 0, {0}, 0};
        return argc < 8 ? 2 : measure_curve(&c, type, argv[7], argc > 8 ? atof(argv[8]) : 25,
                                             argc > 11 ? 1e6 * atof(argv[11]) : -1);
    }
    bool counts = batch > 0 && length > 0 && steps > 0 && steps <= BENCH_MAX_RUNS;
    if (!counts || length + steps + 1 > POSITIONS) return 2;
    if (strcmp(name, "shunt") == 0)
        return measure_planned(model, batch, length, steps, dtype, argc > 7 ? atof(argv[7]) : 25, argc > 8);
    if (argc > 7 && strcmp(argv[7], "vulkan") == 0 && ox_vulkan(0)) ox_set_default_device(ox_vulkan(0));
    ox_scope scope = ox_scope_begin();
    make_work(&w, model, name, dtype, batch, length);
    if (w.m && !ox_error() && strcmp(name, "decode") == 0) last = infer(w.m, w.in, 0, true);
    for (int i = -1; i < steps && !ox_error(); i++) {
        double start = bench_now();
        last = run(&w, name, length, i);
        if (i >= 0) seconds[i] = bench_now() - start;
    }
    getrusage(RUSAGE_SELF, &usage);
    if (!ox_error())
        printf("%s %s %s: %.2f ms, %.1f MB, %.4f\n", model, name, ox_dtype_name(dtype),
               bench_median(seconds, steps) * 1e3, (double)usage.ru_maxrss / 1024, last);
    else
        printf("%s\n", ox_error_text());
    if (w.m) forget(w.m);
    ox_optimizer_close(w.optimizer);
    ox_scope_end(&scope);
    return ox_error() ? 1 : 0;
}
