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
        CHECK(!ox_linear_cross_entropy(x, w, ox_add_number(target, CLASSES), NULL, NULL) &&
              ox_error() == OX_ERR_INDEX && strstr(ox_error_text(), "linear_cross_entropy"));
        ox_error_clear();
        CHECK(!ox_linear_cross_entropy(x, NULL, target, NULL, NULL) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

int main(void) {
    ox_manual_seed(3);
    test_heads();
    test_head_edges();
    return check_done("training");
}
