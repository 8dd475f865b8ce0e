/* test_training.c - what training promises beyond its numbers: losses of large vocabularies in chunks, the
 * same bits for any number of threads, memory that stays flat over many steps, checkpoints that save it.
 * The implementation is in this file, so that chunks are small. OX_O0: the compiler takes longest here. */
#define OX_STATIC
#define OX_NO_AVX /* one vector tier is enough: compile less */
#define OX_IMPLEMENTATION
#define OXI_CLASS_LOGS_READ 24
#define OXI_CLASS_LOGS_MADE 40
#include "check.h"

#include "oxtorch_nn.h"

/* ---- cross_entropy and linear_cross_entropy ------------------------------------------------------------ */

enum { ROWS = 13, WIDTH = 5, CLASSES = 11 };

typedef struct head_case {
    bool chunked, biased, weighted, ignores, views;
    ox_loss_reduction reduction;
    ox_dtype dtype;
} head_case;

static ox_tensor *drawn(ox_shape shape, ox_dtype dtype) {
    return ox_requires_grad_(ox_cast(ox_randn(shape, OX_F64), dtype), true);
}

/* -weight[t] log_softmax(logits)[t] by the plain functions; recorded, as everything is. */
static ox_tensor *plain_loss(ox_tensor *logits, ox_tensor *target, const ox_cross_entropy_desc *desc) {
    ox_nll_loss_desc nll = {desc->weight, desc->reduction, desc->ignores, desc->ignore_index};
    return ox_nll_loss(ox_log_softmax(logits, 1), target, &nll);
}

static ox_tensor *seed_of(ox_tensor *loss) {
    return ox_cast(ox_add_number(ox_mul_number(ox_ones(ox_shape_of(loss), OX_F64), 0.5), 0.25), loss->dtype);
}

/* Gradients of the leaves of a loss; all cast to f64. */
static void gradients_of(ox_tensor *loss, ox_tensor *const *leaf, int count, ox_tensor **out) {
    ox_tensor *g = seed_of(loss), *const gradients[1] = {g};
    ox_grad_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.gradients = gradients;
    CHECK_MSG(ox_grad(&loss, 1, leaf, count, &desc, out) == OX_OK, "%s", ox_error_text());
    for (int i = 0; i < count; i++) out[i] = out[i] ? ox_cast(out[i], OX_F64) : NULL;
}

static void check_head(const head_case *h) {
    ox_tensor *x = drawn(OX_SHAPE(ROWS, WIDTH), h->dtype), *w = drawn(OX_SHAPE(CLASSES, WIDTH), h->dtype);
    ox_tensor *b = h->biased ? drawn(OX_SHAPE(CLASSES), h->dtype) : NULL, *leaf[3] = {x, w, b};
    ox_tensor *target = ox_randint(0, CLASSES, OX_SHAPE(ROWS), OX_I64), *ours[3], *theirs[3];
    ox_cross_entropy_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.reduction = h->reduction;
    desc.ignores = h->ignores;
    desc.ignore_index = 3;
    if (h->weighted) desc.weight = ox_cast(ox_rand(OX_SHAPE(CLASSES), OX_F64), h->dtype);
    ox_tensor *own = x, *layer = w, *both[2] = {w, w};
    if (h->views) {
        own = ox_flip(ox_t(ox_contiguous(ox_t(x))), OX_DIMS(0));
        layer = ox_slice(ox_cat(both, 2, 1), 1, 0, WIDTH, 1);
    }
    ox_tensor *loss = h->chunked ? ox_linear_cross_entropy(own, layer, target, b, &desc)
                                 : ox_cross_entropy(ox_linear(own, layer, b), target, &desc);
    ox_tensor *wide = ox_linear(ox_cast(own, OX_F64), ox_cast(layer, OX_F64), b ? ox_cast(b, OX_F64) : NULL);
    if (desc.weight) desc.weight = ox_cast(desc.weight, OX_F64);
    ox_tensor *expected = plain_loss(wide, target, &desc);
    double near_by = h->dtype == OX_F64 ? 1e-13 : h->dtype == OX_F32 ? 2e-5 : 6e-2;
    bool same = loss && ox_allclose(ox_cast(loss, OX_F64), expected, near_by, near_by, true);
    CHECK_MSG(same && loss->dtype == h->dtype, "loss of %s, %d%d%d%d%d %d: %s", ox_dtype_name(h->dtype),
              h->chunked, h->biased, h->weighted, h->ignores, h->views, (int)h->reduction, ox_error_text());
    if (!loss) return;
    gradients_of(loss, leaf, h->biased ? 3 : 2, ours);
    gradients_of(expected, leaf, h->biased ? 3 : 2, theirs);
    for (int i = 0; i < (h->biased ? 3 : 2); i++)
        CHECK_MSG(ours[i] && ox_allclose(ours[i], theirs[i], near_by, near_by, false),
                  "gradient %d of %s, %d%d%d%d%d %d", i, ox_dtype_name(h->dtype), h->chunked, h->biased,
                  h->weighted, h->ignores, h->views, (int)h->reduction);
}

static void test_heads(void) {
    static const ox_dtype dtypes[3] = {OX_F64, OX_F32, OX_BF16};
    for (int i = 0; i < 32 * 3 * 3; i++)
        OX_SCOPE {
            head_case h = {(i & 1) != 0,  (i & 2) != 0,  (i & 4) != 0,
                           (i & 8) != 0,  (i & 16) != 0, (ox_loss_reduction)(i / 32 % 3),
                           dtypes[i / 96]};
            check_head(&h);
        }
    CHECK(ox_error() == OX_OK);
}

static ox_tensor *checked_head(ox_tensor *const *in, void *user) {
    return ox_linear_cross_entropy(in[0], in[1], (ox_tensor *)user, in[2], NULL);
}

typedef struct sums_case {
    ox_tensor *target, *weight;
    double smoothing;
} sums_case;

/* Probabilities are the last input, classes are told. */
static ox_tensor *checked_sums(ox_tensor *const *in, void *user) {
    const sums_case *c = (const sums_case *)user;
    ox_cross_entropy_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.weight = c->weight;
    desc.label_smoothing = c->smoothing;
    return ox_linear_cross_entropy(in[0], in[1], c->target ? c->target : in[3], in[2], &desc);
}

/* Smoothed classes and probabilities, through layers of more dims: against cross_entropy of all logits. */
static void test_class_sums(void) {
    for (int i = 0; i < 16; i++)
        OX_SCOPE {
            bool more = i & 1, smooth = i & 2, weighted = i & 4, classes = i & 8;
            ox_tensor *x = drawn(OX_SHAPE(5, WIDTH), OX_F64);
            ox_tensor *w = drawn(more ? OX_SHAPE(CLASSES, 2, WIDTH) : OX_SHAPE(CLASSES, WIDTH), OX_F64);
            ox_tensor *b = drawn(more ? OX_SHAPE(CLASSES, 2) : OX_SHAPE(CLASSES), OX_F64);
            ox_tensor *all = ox_randn(more ? OX_SHAPE(5, CLASSES, 2) : OX_SHAPE(5, CLASSES), OX_F64);
            ox_tensor *hot = ox_requires_grad_(ox_softmax(all, 1), true), *in[4] = {x, w, b, hot};
            sums_case c = {NULL, weighted ? ox_rand(OX_SHAPE(CLASSES), OX_F64) : NULL, smooth ? 0.2 : 0};
            if (classes) c.target = ox_randint(0, CLASSES, more ? OX_SHAPE(5, 2) : OX_SHAPE(5), OX_I64);
            ox_cross_entropy_desc desc;
            memset(&desc, 0, sizeof desc);
            desc.weight = c.weight;
            desc.label_smoothing = c.smoothing;
            ox_tensor *logits = ox_reshape(ox_linear(x, ox_reshape(w, OX_SHAPE(-1, WIDTH)), NULL),
                                           more ? OX_SHAPE(5, CLASSES, 2) : OX_SHAPE(5, CLASSES));
            ox_tensor *want = ox_cross_entropy(ox_add(logits, b), classes ? c.target : hot, &desc);
            ox_tensor *loss = checked_sums(in, &c);
            CHECK_MSG(loss && ox_allclose(loss, want, 1e-12, 1e-12, false), "%d: %s", i, ox_error_text());
            CHECK_MSG(ox_gradcheck(checked_sums, &c, in, classes ? 3 : 4, NULL) == OX_OK, "%d: %s", i,
                      ox_error_text());
            if (i % 5 == 0)
                CHECK_MSG(ox_gradgradcheck(checked_sums, &c, in, classes ? 3 : 4, NULL) == OX_OK, "%d: %s", i,
                          ox_error_text());
            ox_error_clear();
        }
    OX_SCOPE {
        ox_tensor *w = drawn(OX_SHAPE(CLASSES, 2, WIDTH), OX_F64);
        CHECK(!ox_linear_cross_entropy(drawn(OX_SHAPE(WIDTH), OX_F64), w, ox_zeros(OX_SHAPE(2), OX_I64), NULL,
                                       NULL) &&
              ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
}

/* What needs logits as a whole, empty batches, more dims, refusals. */
static void test_head_edges(void) {
    OX_SCOPE {
        ox_tensor *x = drawn(OX_SHAPE(2, 3, WIDTH), OX_F64), *w = drawn(OX_SHAPE(CLASSES, WIDTH), OX_F64);
        ox_tensor *b = drawn(OX_SHAPE(CLASSES), OX_F64), *in[3] = {x, w, b};
        ox_tensor *target = ox_randint(0, CLASSES, OX_SHAPE(2, 3), OX_I64);
        CHECK_MSG(ox_gradcheck(checked_head, target, in, 3, NULL) == OX_OK, "%s", ox_error_text());
        CHECK_MSG(ox_gradgradcheck(checked_head, target, in, 3, NULL) == OX_OK, "%s", ox_error_text());
        ox_cross_entropy_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.reduction = OX_LOSS_NONE;
        ox_tensor *logits = ox_linear(x, w, b), *rows = ox_reshape(logits, OX_SHAPE(6, CLASSES));
        ox_tensor *loss = ox_linear_cross_entropy(x, w, target, b, &desc);
        CHECK(loss && loss->ndim == 2 && loss->shape[0] == 2 && loss->shape[1] == 3);
        ox_tensor *flat = ox_flatten(target, 0, 1);
        CHECK(ox_allclose(ox_reshape(loss, OX_SHAPE(6)), ox_cross_entropy(rows, flat, &desc), 1e-13, 1e-13,
                          false));
        ox_tensor *hot = ox_softmax(ox_randn(OX_SHAPE(2, 3, CLASSES), OX_F64), -1);
        desc.label_smoothing = 0.1;
        CHECK(ox_allclose(ox_reshape(ox_linear_cross_entropy(x, w, hot, b, &desc), OX_SHAPE(6)),
                          ox_cross_entropy(rows, ox_reshape(hot, OX_SHAPE(6, CLASSES)), &desc), 1e-13, 1e-13,
                          false));
        ox_tensor *none = ox_zeros(OX_SHAPE(0, WIDTH), OX_F64), *no = ox_zeros(OX_SHAPE(0), OX_I64);
        CHECK(isnan(ox_item(ox_linear_cross_entropy(none, w, no, b, NULL))) && ox_error() == OX_OK);
        CHECK(!ox_linear_cross_entropy(x, ox_t(w), target, NULL, NULL) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_linear_cross_entropy(x, w, ox_add(target, ox_integer(CLASSES)), NULL, NULL) &&
              ox_error() == OX_ERR_INDEX && strstr(ox_error_text(), "linear_cross_entropy"));
        ox_error_clear();
        CHECK(!ox_linear_cross_entropy(x, NULL, target, NULL, NULL) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

/* ---- a small transformer ------------------------------------------------------------------------------- */

enum { VOCABULARY = 31, LENGTH = 12, BATCH = 3, HEADS = 2, MODEL = 16, LAYERS = 4, WEIGHTS = 8 };

typedef struct model {
    ox_tensor *tokens, *layer[LAYERS][WEIGHTS], *all[1 + LAYERS * WEIGHTS];
    bool checkpoints;
} model;

static void model_make(model *m, ox_dtype dtype) {
    static const int rows[WEIGHTS] = {MODEL, MODEL, 3 * MODEL, MODEL, MODEL, MODEL, 4 * MODEL, MODEL};
    static const int columns[WEIGHTS] = {0, 0, MODEL, MODEL, 0, 0, MODEL, 4 * MODEL};
    int count = 0;
    memset(m, 0, sizeof *m);
    ox_manual_seed(11);
    m->tokens = m->all[count++] = drawn(OX_SHAPE(VOCABULARY, MODEL), dtype);
    for (int l = 0; l < LAYERS; l++)
        for (int w = 0; w < WEIGHTS; w++) {
            const int64_t shape[2] = {rows[w], columns[w]};
            ox_tensor *t = ox_mul_number(ox_randn(ox_shape_from(columns[w] ? 2 : 1, shape), OX_F64), 0.2);
            m->layer[l][w] = m->all[count++] = ox_requires_grad_(ox_cast(t, dtype), true);
        }
}

/* One block: norm, attention, norm, two products with gelu between. user: its weights. */
static ox_status block(ox_tensor *const *in, ox_tensor **out, void *user) {
    ox_tensor **w = (ox_tensor **)user, *x = in[0], *parts[3];
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.causal = true;
    int64_t batch = x->shape[0], length = x->shape[1];
    ox_tensor *qkv = ox_linear(ox_layer_norm(x, 1, w[0], w[1], 1e-5), w[2], NULL);
    ox_chunk(qkv, 3, -1, parts, 3);
    for (int i = 0; i < 3; i++)
        parts[i] = ox_transpose(ox_reshape(parts[i], OX_SHAPE(batch, length, HEADS, MODEL / HEADS)), 1, 2);
    ox_tensor *mixed = ox_scaled_dot_product_attention(parts[0], parts[1], parts[2], &desc);
    mixed = ox_reshape(ox_transpose(mixed, 1, 2), OX_SHAPE(batch, length, MODEL));
    x = ox_add(x, ox_linear(mixed, w[3], NULL));
    ox_tensor *up = ox_gelu(ox_linear(ox_layer_norm(x, 1, w[4], w[5], 1e-5), w[6], NULL));
    out[0] = ox_add(x, ox_linear(up, w[7], NULL));
    return out[0] ? OX_OK : ox_error();
}

/* The table of tokens is the last layer's weight too: two gradients meet in it. */
static ox_tensor *model_loss(model *m, ox_tensor *ids, ox_tensor *targets) {
    ox_tensor *x = ox_embedding(ids, m->tokens);
    for (int l = 0; l < LAYERS; l++) {
        ox_tensor *out = NULL;
        ox_status status =
            m->checkpoints ? ox_checkpoint(block, m->layer[l], &x, 1, &out, 1) : block(&x, &out, m->layer[l]);
        CHECK(status == OX_OK);
        x = out;
    }
    ox_tensor *logits = ox_linear(x, m->tokens, NULL);
    return ox_cross_entropy(ox_flatten(logits, 0, 1), ox_flatten(targets, 0, -1), NULL);
}

/* Steps of AdamW from the same numbers on; losses, and the gradients of the last one (with references). */
static void train(model *m, int steps, int64_t batch, int64_t length, double *losses) {
    ox_optimizer *optimizer = ox_optimizer_open(OX_OPTIMIZER_ADAMW, m->all, 1 + LAYERS * WEIGHTS);
    ox_tensor *ids = ox_randint(0, VOCABULARY, OX_SHAPE(batch, length), OX_I64);
    ox_tensor *targets = ox_randint(0, VOCABULARY, OX_SHAPE(batch, length), OX_I64);
    for (int i = 0; i < steps; i++)
        OX_SCOPE {
            ox_tensor *loss = model_loss(m, ids, targets);
            ox_optimizer_zero_grad(optimizer);
            CHECK_MSG(ox_backward(loss, NULL) == OX_OK, "%s", ox_error_text());
            CHECK(ox_optimizer_step(optimizer) == OX_OK);
            losses[i] = ox_item(loss);
        }
    ox_optimizer_close(optimizer);
}

/* ---- the same bits ------------------------------------------------------------------------------------- */

static void test_threads(ox_dtype dtype) {
    OX_SCOPE {
        model m[3];
        double losses[3][4];
        for (int t = 0; t < 3; t++) {
            ox_set_threads(1 << t);
            model_make(&m[t], dtype);
            train(&m[t], 4, 5, 40, losses[t]);
            CHECK_MSG(memcmp(losses[t], losses[0], sizeof losses[0]) == 0,
                      "losses of %s, %d threads: %.9g %.9g", ox_dtype_name(dtype), 1 << t, losses[0][3],
                      losses[t][3]);
            for (int i = 0; i < 1 + LAYERS * WEIGHTS; i++)
                CHECK_MSG(ox_equal(ox_gradient(m[t].all[i]), ox_gradient(m[0].all[i])) &&
                              ox_equal(m[t].all[i], m[0].all[i]),
                          "parameter %d of %s, %d threads", i, ox_dtype_name(dtype), 1 << t);
        }
        CHECK(losses[0][3] < losses[0][0]);
        ox_set_threads(0);
    }
}

/* Gradients of the engine, added up in place and by rows of one pass, against those that are recorded. */
static void test_recorded(void) {
    OX_SCOPE {
        model m;
        model_make(&m, OX_F32);
        enum { COUNT = 1 + LAYERS * WEIGHTS };
        ox_tensor *ids = ox_randint(0, VOCABULARY, OX_SHAPE(BATCH, LENGTH), OX_I64), *ours[COUNT],
                  *theirs[COUNT];
        ox_tensor *loss = model_loss(&m, ids, ids);
        ox_grad_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.create_graph = true;
        CHECK(ox_grad(&loss, 1, m.all, COUNT, &desc, theirs) == OX_OK);
        desc.create_graph = false;
        CHECK(ox_grad(&loss, 1, m.all, COUNT, &desc, ours) == OX_OK);
        for (int i = 0; i < COUNT; i++)
            CHECK_MSG(ours[i] && ox_allclose(ours[i], theirs[i], 1e-4, 1e-5, false), "parameter %d", i);
        m.checkpoints = true;
        ox_tensor *again = model_loss(&m, ids, ids);
        CHECK(ox_item(again) == ox_item(loss));
        CHECK(ox_backward(again, NULL) == OX_OK);
        for (int i = 0; i < COUNT; i++)
            CHECK_MSG(ox_equal(ox_gradient(m.all[i]), ours[i]), "parameter %d of checkpoints", i);
    }
}

/* Two parts of a tensor, the whole of it, and a part that is another's memory as well. */
static void test_sums(void) {
    OX_SCOPE {
        ox_tensor *x = ox_requires_grad_(ox_randn(OX_SHAPE(4, 6), OX_F32), true), *y = ox_mul_number(x, 1);
        ox_tensor *a = ox_narrow(y, 1, 0, 3), *b = ox_narrow(y, 1, 2, 4), *c = ox_select(y, 0, 1);
        ox_tensor *flipped = ox_slice(y, 1, OX_END, OX_END, -1), *w = ox_randn(OX_SHAPE(4, 6), OX_F32);
        ox_tensor *sum = ox_add(ox_sum(ox_mul_number(a, 2), OX_ALL_DIMS, false),
                                ox_sum(ox_mul_number(b, 3), OX_ALL_DIMS, false));
        sum = ox_add(sum, ox_add(ox_sum(ox_mul(flipped, w), OX_ALL_DIMS, false),
                                 ox_sum(ox_mul_number(c, 5), OX_ALL_DIMS, false)));
        CHECK(ox_backward(sum, NULL) == OX_OK);
        ox_tensor *expected = ox_slice(w, 1, OX_END, OX_END, -1), *two = ox_zeros(OX_SHAPE(4, 6), OX_F32);
        ox_add_number_(ox_narrow(two, 1, 0, 3), 2);
        ox_add_number_(ox_narrow(two, 1, 2, 4), 3);
        ox_add_number_(ox_select(two, 0, 1), 5);
        CHECK(ox_allclose(ox_gradient(x), ox_add(expected, two), 1e-6, 1e-6, false));
        /* a gradient that goes two ways is not changed by what is added to one of them */
        ox_tensor *p = ox_requires_grad_(ox_randn(OX_SHAPE(3), OX_F32), true);
        ox_tensor *q = ox_requires_grad_(ox_randn(OX_SHAPE(3), OX_F32), true),
                  *g = ox_ones(OX_SHAPE(3), OX_F32);
        ox_backward_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.gradient = g;
        CHECK(ox_backward(ox_add(ox_add(p, q), ox_mul_number(p, 4)), &desc) == OX_OK);
        CHECK(ox_equal(ox_gradient(q), ox_ones(OX_SHAPE(3), OX_F32)) && ox_equal(g, ox_gradient(q)));
        CHECK(ox_equal(ox_gradient(p), ox_mul_number(g, 5)));
    }
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* A thousand steps take what ten take. */
static void test_flat(void) {
    OX_SCOPE {
        model m;
        static double losses[1000];
        ox_memory_stats first, last;
        model_make(&m, OX_F32);
        train(&m, 10, 1, 4, losses);
        first = ox_memory_get_stats();
        train(&m, 1000, 1, 4, losses);
        last = ox_memory_get_stats();
        CHECK(losses[999] < losses[0]);
        CHECK_MSG(last.tensors - first.tensors == 2 && last.storages - first.storages == 2, /* ids, targets */
                  "%lld tensors, %lld storages more", (long long)(last.tensors - first.tensors),
                  (long long)(last.storages - first.storages));
        CHECK_MSG(last.system_allocs - first.system_allocs <= 4, "%lld blocks of the system",
                  (long long)(last.system_allocs - first.system_allocs));
    }
}

/* What a step takes beyond its parameters, their gradients and what the optimizer keeps. */
static size_t peak_of_step(bool checkpoints) {
    size_t peak = 0;
    OX_SCOPE {
        model m;
        model_make(&m, OX_F32);
        m.checkpoints = checkpoints;
        ox_tensor *ids = ox_randint(0, VOCABULARY, OX_SHAPE(8, 64), OX_I64);
        size_t before = ox_memory_get_stats().bytes_in_use;
        ox_memory_reset_peak();
        ox_tensor *loss = NULL;
        OX_SCOPE {
            loss = ox_keep(model_loss(&m, ids, ids));
        }
        CHECK(ox_backward(loss, NULL) == OX_OK);
        peak = ox_memory_get_stats().bytes_peak - before;
    }
    return peak;
}

static void test_checkpoints(void) {
    size_t all = peak_of_step(false), some = peak_of_step(true);
    CHECK_MSG(some * 2 <= all, "%llu bytes with checkpoints, %llu without", (unsigned long long)some,
              (unsigned long long)all);
}

/* Memory of the loss of a layer grows with rows and classes, and not with their product. */
static void test_head_memory(void) {
    OX_SCOPE {
        enum { N = 400, C = 500, D = 4 };
        ox_tensor *x = drawn(OX_SHAPE(N, D), OX_F32), *w = drawn(OX_SHAPE(C, D), OX_F32);
        ox_tensor *t = ox_randint(0, C, OX_SHAPE(N), OX_I64);
        size_t before = ox_memory_get_stats().bytes_in_use;
        ox_memory_reset_peak();
        CHECK(ox_backward(ox_linear_cross_entropy(x, w, t, NULL, NULL), NULL) == OX_OK);
        size_t peak = ox_memory_get_stats().bytes_peak - before;
        CHECK_MSG(peak < (size_t)N * C * sizeof(float) / 4, "%llu bytes", (unsigned long long)peak);
    }
}

/* Attention of many keys, there and back: scores are never in memory. */
static void test_long_attention(void) {
    OX_SCOPE {
        enum { S = 2048, D = 8 };
        ox_tensor *in[3], *loss;
        ox_attention_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.causal = true;
        for (int i = 0; i < 3; i++) in[i] = drawn(OX_SHAPE(1, 1, S, D), OX_F32);
        size_t before = ox_memory_get_stats().bytes_in_use;
        ox_memory_reset_peak();
        loss = ox_sum(ox_scaled_dot_product_attention(in[0], in[1], in[2], &desc), OX_ALL_DIMS, false);
        CHECK(ox_backward(loss, NULL) == OX_OK);
        size_t peak = ox_memory_get_stats().bytes_peak - before;
        CHECK_MSG(peak < (size_t)S * S * sizeof(float) / 4, "%llu bytes", (unsigned long long)peak);
    }
}

int main(void) {
    ox_manual_seed(3);
    test_heads();
    test_head_edges();
    test_class_sums();
    test_sums();
    test_threads(OX_F32);
    test_threads(OX_BF16);
    test_recorded();
    test_flat();
    test_checkpoints();
    test_head_memory();
    test_long_attention();
    CHECK(ox_error() == OX_OK);
    return check_done("training");
}
