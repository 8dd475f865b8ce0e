/* test_shunt_cut.c - calls that are larger than the planner's budget: elementwise, casts and copies, rows,
 * products, reductions, scans, sorts, indexing, gradient rows, optimizers, within a third of what the largest
 * of them takes, with the bits of eager runs; reads and writes of what lies in parts; files; what cannot be
 * cut is an error that harms nothing else. */
#define _GNU_SOURCE 1
#include "oxtorch_nn.h"
#include "shunt_check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300, COLUMNS = 512, BYTES = ROWS * COLUMNS * 4, BUDGET = BYTES }; /* of three such: a third */

static ox_shunt *open_small(uint64_t device_bytes, uint64_t host_bytes, bool eager) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = device_bytes;
    desc.host_bytes = host_bytes;
    desc.eager = eager;
    desc.spill = folder();
    ox_shunt *shunt = ox_shunt_open(&desc);
    CHECK_MSG(shunt != NULL, "%s", ox_error_text());
    return shunt;
}

static void check_close(ox_shunt *shunt, uint64_t budget) {
    const ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK_MSG(s.device_peak <= budget, "%llu bytes of %llu", (unsigned long long)s.device_peak,
              (unsigned long long)budget);
    CHECK_MSG(s.device_bytes == 0 && s.host_bytes == 0, "%llu and %llu bytes are left",
              (unsigned long long)s.device_bytes, (unsigned long long)s.host_bytes);
    CHECK(ox_shunt_close(shunt) == OX_OK);
}

/* ---- one call each ------------------------------------------------------------------------------------- */

typedef ox_tensor *(*call_fn)(ox_tensor *a, ox_tensor *b);

static ox_tensor *call_add(ox_tensor *a, ox_tensor *b) {
    return ox_add(a, b);
}
static ox_tensor *call_where(ox_tensor *a, ox_tensor *b) {
    return ox_where(ox_lt(a, b), a, ox_number(0.5));
}
static ox_tensor *call_exp(ox_tensor *a, ox_tensor *b) {
    return ox_mul(ox_exp(a), ox_tanh(b));
}
static ox_tensor *call_row(ox_tensor *a, ox_tensor *b) {
    return ox_add(a, ox_select(b, 0, 3));
}
static ox_tensor *call_column(ox_tensor *a, ox_tensor *b) {
    return ox_mul(a, ox_narrow(b, 1, 7, 1));
}
static ox_tensor *call_flip(ox_tensor *a, ox_tensor *b) {
    return ox_sub(a, ox_flip(b, OX_DIMS(0)));
}
static ox_tensor *call_slice(ox_tensor *a, ox_tensor *b) {
    return ox_add(ox_slice(a, 0, 3, OX_END, 2), ox_slice(b, 0, 2, OX_END - 1, 2));
}
static ox_tensor *call_half(ox_tensor *a, ox_tensor *b) {
    return ox_cast(ox_add(ox_cast(a, OX_BF16), ox_cast(b, OX_F16)), OX_F64);
}
static ox_tensor *call_flat(ox_tensor *a, ox_tensor *b) {
    ox_tensor *x = ox_reshape(a, OX_SHAPE(2, ROWS * COLUMNS / 2)), *y = ox_reshape(b, ox_shape_of(x));
    return ox_mul(ox_add(x, y), x);
}
static ox_tensor *call_place(ox_tensor *a, ox_tensor *b) {
    ox_tensor *c = ox_clone(a);
    return ox_add_(ox_mul_(c, b), a);
}
static ox_tensor *call_softmax(ox_tensor *a, ox_tensor *b) {
    return ox_softmax(ox_sub(a, b), -1);
}
static ox_tensor *call_norm(ox_tensor *a, ox_tensor *b) {
    return ox_layer_norm(ox_add(a, b), 1, ox_select(b, 0, 1), ox_select(b, 0, 2), 1e-5);
}
static ox_tensor *call_product(ox_tensor *a, ox_tensor *b) {
    ox_tensor *small = ox_narrow(ox_contiguous(ox_narrow(b, 0, 0, 64)), 1, 0, COLUMNS);
    return ox_matmul(a, ox_t(small));
}
static ox_tensor *call_linear(ox_tensor *a, ox_tensor *b) {
    ox_tensor *weight = ox_contiguous(ox_narrow(b, 0, 0, 100));
    return ox_linear(a, weight, ox_contiguous(ox_narrow(ox_select(b, 0, 1), 0, 0, 100)));
}
static ox_tensor *call_transposed(ox_tensor *a, ox_tensor *b) { /* b whole, but a product reads it */
    return ox_add(ox_matmul(a, ox_t(ox_narrow(b, 0, 0, 30))), ox_number(1));
}
static ox_tensor *call_sum(ox_tensor *a, ox_tensor *b) { /* parts that a call wants whole */
    return ox_sum(ox_mul(a, b), OX_DIMS(0), false);
}
static ox_tensor *call_sum_rows(ox_tensor *a, ox_tensor *b) {
    return ox_add(ox_sum(a, OX_DIMS(-1), true), ox_amax(b, OX_DIMS(1), true));
}
static ox_tensor *call_sum_all(ox_tensor *a, ox_tensor *b) {
    return ox_add(ox_sum(a, OX_ALL_DIMS, false), ox_mean(ox_t(b), OX_DIMS(0, 1), false));
}
static ox_tensor *call_argmax(ox_tensor *a, ox_tensor *b) {
    return ox_add(ox_argmax(a, 0, false), ox_argmax(ox_flip(b, OX_DIMS(0)), 0, false));
}
static ox_tensor *call_variance(ox_tensor *a, ox_tensor *b) { /* of one in parts, and of every second row */
    return ox_add(ox_var(ox_add(a, b), OX_DIMS(0), 1, false),
                  ox_logsumexp(ox_slice(b, 0, 0, OX_END, 2), OX_DIMS(0), false));
}
static ox_tensor *call_cumsum(ox_tensor *a, ox_tensor *b) {
    return ox_add(ox_cumsum(a, 0), ox_cumsum(b, 1));
}
static ox_tensor *call_sort(ox_tensor *a, ox_tensor *b) {
    return ox_add(ox_sort(a, 1, false).values, ox_sort(b, 0, true).values);
}
static ox_tensor *call_expanded(ox_tensor *a, ox_tensor *b) {
    ox_tensor *wide = ox_expand(ox_unsqueeze(a, 0), OX_SHAPE(3, ROWS, COLUMNS));
    return ox_add(ox_sum(wide, OX_DIMS(0, 2), false), ox_sum(b, OX_DIMS(1), false));
}
static ox_tensor *call_select(ox_tensor *a, ox_tensor *b) {
    static int64_t rows[2 * ROWS];
    for (int i = 0; i < 2 * ROWS; i++) rows[i] = (i * 7) % ROWS;
    ox_tensor *index = ox_to(ox_from_data(rows, OX_SHAPE(2 * ROWS), OX_I64), ox_device_of(a));
    ox_tensor *list[2] = {ox_index_select(a, 0, index), b};
    return ox_cat(list, 2, 0);
}
static ox_tensor *call_gradient(ox_tensor *a, ox_tensor *b) {
    ox_tensor *x = ox_requires_grad_(ox_clone(a), true);
    ox_tensor *y = ox_softmax(ox_gelu(x), -1),
              *z = ox_rms_norm(ox_log_softmax(ox_silu(x), -1), 1, NULL, 1e-5);
    ox_tensor *loss = ox_sum(ox_mul(ox_add(y, z), b), OX_ALL_DIMS, false);
    return ox_backward(loss, NULL) == OX_OK ? ox_gradient(x) : NULL;
}
static ox_tensor *call_random(ox_tensor *a, ox_tensor *b) { /* one not of rows, in place, and a part of one */
    ox_manual_seed(5);
    ox_tensor *x = ox_add(ox_mul(ox_rand_like(a), b), ox_randn_like(a));
    ox_tensor *odd = ox_randn_like(ox_narrow(a, 1, 0, COLUMNS - 1)); /* of no whole words a row */
    ox_uniform_(ox_narrow(x, 1, 3, 6), -1, 2);
    x = ox_dropout(ox_add(x, ox_randint_like(a, -5, 9)), 0.3, true);
    return ox_add(x, ox_bernoulli(ox_sigmoid(ox_add(a, ox_narrow(odd, 1, 5, 1)))));
}
static ox_tensor *call_ramps(ox_tensor *a, ox_tensor *b) {
    ox_device *before = ox_set_default_device(ox_device_of(a));
    ox_tensor *x = ox_arange(0, ROWS * COLUMNS, 1, OX_F32), *y = ox_linspace(-3, 9, ROWS * COLUMNS, OX_F32);
    ox_set_default_device(before);
    return ox_add(ox_reshape(ox_mul(x, y), ox_shape_of(a)), b);
}
static ox_tensor *call_norm_weights(ox_tensor *a, ox_tensor *b) {
    ox_tensor *x = ox_requires_grad_(ox_clone(a), true), *w[3];
    for (int i = 0; i < 3; i++) w[i] = ox_requires_grad_(ox_clone(ox_select(b, 0, i)), true);
    ox_tensor *y = ox_rms_norm(ox_layer_norm(x, 1, w[0], w[1], 1e-5), 1, w[2], 1e-5);
    if (ox_backward(ox_sum(ox_mul(y, b), OX_ALL_DIMS, false), NULL) != OX_OK) return NULL;
    ox_tensor *grad = ox_gradient(x);
    for (int i = 0; i < 3; i++) grad = ox_add(ox_mul(grad, ox_number(0.5)), ox_gradient(w[i]));
    return grad;
}
static ox_tensor *index_of(ox_tensor *a, ox_shape shape, int64_t size) { /* some of them several times */
    static int64_t places[ROWS * COLUMNS];
    int64_t count = 1;
    for (int d = 0; d < shape.ndim; d++) count *= shape.dim[d];
    for (int64_t i = 0; i < count; i++) places[i] = (i * 7919 + i / 5) % size;
    return ox_to(ox_from_data(places, shape, OX_I64), ox_device_of(a));
}
static ox_tensor *call_gather(ox_tensor *a, ox_tensor *b) { /* of rows, of columns, of one line by slices */
    ox_tensor *x = ox_gather(a, 1, index_of(a, OX_SHAPE(ROWS, COLUMNS / 4), COLUMNS));
    ox_tensor *y = ox_gather(b, 0, index_of(b, OX_SHAPE(ROWS, COLUMNS / 4), ROWS));
    ox_tensor *line = ox_reshape(ox_add(a, b), OX_SHAPE(ROWS * COLUMNS));
    ox_tensor *z = ox_gather(line, 0, index_of(a, OX_SHAPE(ROWS), ROWS * COLUMNS));
    ox_tensor *u = ox_index_select(ox_reshape(b, OX_SHAPE(4, ROWS * COLUMNS / 4)), 1,
                                   index_of(a, OX_SHAPE(64), ROWS * COLUMNS / 4));
    return ox_add(ox_add(ox_add(x, y), ox_unsqueeze(z, 1)), ox_sum(u, OX_ALL_DIMS, false));
}
static ox_tensor *call_scatter(ox_tensor *a, ox_tensor *b) { /* of rows; of one line by slices; in place */
    ox_tensor *x = ox_scatter(a, 1, index_of(a, OX_SHAPE(ROWS, COLUMNS / 8), COLUMNS), b);
    ox_tensor *few = ox_narrow(a, 0, 5, ROWS / 8);
    ox_tensor *y = ox_scatter_add(b, 0, index_of(b, OX_SHAPE(ROWS / 8, COLUMNS), ROWS), few);
    ox_tensor *line = ox_clone(ox_reshape(b, OX_SHAPE(ROWS * COLUMNS)));
    ox_tensor *values = ox_contiguous(ox_narrow(ox_select(a, 0, 2), 0, 0, ROWS));
    ox_tensor *index = index_of(a, OX_SHAPE(ROWS), ROWS * COLUMNS);
    line = ox_scatter_add_(line, 0, index, values);
    line = ox_scatter_reduce(line, 0, index, values, OX_REDUCTION_AMAX, true);
    return ox_add(ox_add(x, y), ox_reshape(line, ox_shape_of(a)));
}
static ox_tensor *call_index_add(ox_tensor *a, ox_tensor *b) { /* rows of a slice; columns, of each row */
    ox_tensor *few = ox_contiguous(ox_narrow(b, 0, 9, 40));
    ox_tensor *x = ox_index_add(a, 0, index_of(a, OX_SHAPE(40), ROWS), few, 0.3);
    ox_tensor *h = ox_cast(b, OX_BF16);
    h = ox_index_add_(h, 0, index_of(a, OX_SHAPE(40), ROWS / 20), ox_cast(few, OX_BF16), 1);
    x = ox_index_add(x, 1, index_of(a, OX_SHAPE(50), COLUMNS), ox_narrow(b, 1, 3, 50), 0.7);
    return ox_add(x, h);
}
static ox_tensor *call_embedding(ox_tensor *a, ox_tensor *b) { /* and what comes back to the table */
    ox_tensor *table = ox_requires_grad_(ox_clone(a), true);
    ox_tensor *rows = ox_embedding(index_of(a, OX_SHAPE(4, 10), ROWS), table);
    rows = ox_mul(ox_reshape(rows, OX_SHAPE(40, COLUMNS)), ox_narrow(b, 0, 7, 40));
    ox_tensor *loss = ox_sum(rows, OX_ALL_DIMS, false);
    return ox_backward(loss, NULL) == OX_OK ? ox_gradient(table) : NULL;
}
/* One head, whose queries are pieces, with a window and with a mask. */
static ox_tensor *call_attention(ox_tensor *a, ox_tensor *b) {
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.causal = true;
    desc.window = 100;
    ox_tensor *q = ox_reshape(a, OX_SHAPE(1, 1, 8 * ROWS, COLUMNS / 8));
    ox_tensor *k = ox_neg(ox_reshape(ox_narrow(b, 0, 0, 20), OX_SHAPE(1, 1, 160, COLUMNS / 8)));
    ox_tensor *v = ox_neg(ox_reshape(ox_narrow(b, 0, 41, 20), OX_SHAPE(1, 1, 160, COLUMNS / 8)));
    ox_tensor *y = ox_scaled_dot_product_attention(q, k, v, &desc);
    memset(&desc, 0, sizeof desc);
    desc.mask = ox_narrow(b, 1, 0, 160);
    q = ox_narrow(q, 2, 100, ROWS);
    ox_tensor *z = ox_scaled_dot_product_attention(q, k, v, &desc);
    return ox_add(y, ox_sum(z, OX_ALL_DIMS, false));
}
static ox_tensor *call_heads(ox_tensor *a, ox_tensor *b) { /* back to queries, keys and values of heads */
    enum { HEADS = 20, LENGTH = ROWS / HEADS };
    ox_tensor *from[3] = {a, b, ox_sub(a, b)}, *t[3];
    for (int i = 0; i < 3; i++) {
        t[i] = ox_clone(ox_reshape(from[i], OX_SHAPE(HEADS, 8 * LENGTH, COLUMNS / 8)));
        t[i] = ox_requires_grad_(t[i], true);
    }
    ox_tensor *y = ox_scaled_dot_product_attention(t[0], t[1], t[2], NULL);
    if (ox_backward(ox_sum(ox_mul(y, y), OX_ALL_DIMS, false), NULL) != OX_OK) return NULL;
    return ox_add(ox_add(ox_gradient(t[0]), ox_gradient(t[1])), ox_gradient(t[2]));
}
static ox_tensor *matrices_of(ox_tensor *x) { /* [2, 75, 32, 32], far from singular */
    ox_device *before = ox_set_default_device(ox_device_of(x));
    ox_tensor *unit = ox_eye(32, 32, OX_F32);
    ox_set_default_device(before);
    return ox_add(ox_reshape(x, OX_SHAPE(2, ROWS * COLUMNS / 2048, 32, 32)), ox_mul(unit, ox_number(40)));
}
static ox_tensor *call_solve(ox_tensor *a, ox_tensor *b) {
    return ox_solve(matrices_of(a), ox_flip(matrices_of(b), OX_DIMS(1)), true);
}
static ox_tensor *call_factor(ox_tensor *a, ox_tensor *b) {
    ox_tuple q = ox_qr(matrices_of(a), NULL), lu = ox_lu_factor(matrices_of(b), true);
    return ox_add(ox_matmul(q.t[0], q.t[1]),
                  ox_mul(lu.t[0], ox_unsqueeze(ox_cast(lu.t[1], OX_F32), -1)));
}
static ox_tensor *call_fourier(ox_tensor *a, ox_tensor *b) { /* real lines go in pairs, long ones alone */
    ox_tensor *x = ox_irfft(ox_rfft(a, 0, -1, NULL), COLUMNS, -1, NULL);
    ox_tensor *y = ox_fft(ox_reshape(b, OX_SHAPE(ROWS / 10, 5 * COLUMNS, 2)), 0, 1, NULL);
    ox_tensor *z = ox_rfft(ox_reshape(b, OX_SHAPE(ROWS, 4, COLUMNS / 4)), 0, 1, NULL);
    ox_tensor *u = ox_rfft(ox_reshape(a, OX_SHAPE(ROWS / 10, 10 * COLUMNS)), 0, 1, NULL);
    ox_tensor *list[3] = {y, z, u};
    for (int i = 0; i < 3; i++) x = ox_add(x, ox_sum(ox_view_as_real(list[i]), OX_ALL_DIMS, false));
    return x;
}
static ox_tensor *call_empty(ox_tensor *a, ox_tensor *b) {
    return ox_add(ox_narrow(a, 0, 5, 0), ox_narrow(b, 0, 7, 0));
}
static ox_tensor *call_fill(ox_tensor *a, ox_tensor *b) {
    (void)b;
    return ox_add(ox_full_like(a, 3), a);
}

static const struct {
    const char *name;
    call_fn call;
} calls[] = {{"add", call_add},
             {"where", call_where},
             {"exp", call_exp},
             {"row", call_row},
             {"column", call_column},
             {"flip", call_flip},
             {"slice", call_slice},
             {"half", call_half},
             {"flat", call_flat},
             {"in place", call_place},
             {"softmax", call_softmax},
             {"layer_norm", call_norm},
             {"product", call_product},
             {"linear", call_linear},
             {"transposed", call_transposed},
             {"sum", call_sum},
             {"empty", call_empty},
             {"fill", call_fill},
             {"sum of rows", call_sum_rows},
             {"sum of all", call_sum_all},
             {"argmax", call_argmax},
             {"variance", call_variance},
             {"cumsum", call_cumsum},
             {"sort", call_sort},
             {"expanded", call_expanded},
             {"select", call_select},
             {"gather", call_gather},
             {"scatter", call_scatter},
             {"index_add", call_index_add},
             {"embedding", call_embedding},
             {"attention", call_attention},
             {"heads", call_heads},
             {"gradient", call_gradient},
             {"random", call_random},
             {"ramps", call_ramps},
             {"weights of norms", call_norm_weights},
             {"solve", call_solve},
             {"factor", call_factor},
             {"fourier", call_fourier}};
enum { CALLS = sizeof calls / sizeof *calls };

static void test_calls(uint64_t budget, uint64_t host_bytes, bool eager) {
    for (size_t k = 0; k < CALLS; k++) {
        ox_shunt *shunt = open_small(budget, host_bytes, eager);
        OX_SCOPE {
            ox_device *device = ox_shunt_device(shunt);
            ox_tensor *a = ox_randn(OX_SHAPE(ROWS, COLUMNS), OX_F32);
            ox_tensor *b = ox_randn(OX_SHAPE(ROWS, COLUMNS), OX_F32);
            ox_tensor *far_a = ox_to(a, device), *far_b = ox_to(b, device), *wanted = calls[k].call(a, b);
            for (int i = 0; i < 3; i++)
                OX_SCOPE {
                    ox_tensor *got = calls[k].call(far_a, far_b);
                    CHECK_MSG(same_bits(wanted, got), "%s: %s", calls[k].name, ox_error_text());
                    ox_error_clear();
                }
            CHECK_MSG(same_bits(a, far_a) && same_bits(b, far_b), "%s: operands", calls[k].name);
        }
        check_close(shunt, budget);
    }
}

/* ---- optimizers ---------------------------------------------------------------------------------------- */

static ox_tensor *trained(ox_device *device, ox_optimizer_rule rule, ox_tensor *start, int64_t *plans,
                          ox_shunt *shunt) {
    ox_tensor *p = ox_requires_grad_(ox_clone(ox_to(start, device)), true);
    ox_optimizer *o = ox_optimizer_open(rule, &p, 1);
    for (int i = 0; i < 6; i++)
        OX_SCOPE {
            ox_tensor *loss = ox_sum(ox_mul(p, p), OX_ALL_DIMS, false);
            CHECK_MSG(ox_backward(loss, NULL) == OX_OK && ox_optimizer_step(o) == OX_OK, "%s",
                      ox_error_text());
            ox_optimizer_zero_grad(o);
            (void)ox_item(loss);
            CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
            if (i == 3 && shunt) *plans = ox_shunt_get_stats(shunt).plans;
        }
    ox_optimizer_close(o);
    return p;
}

/* budget: what AdamW wants at once does not fit, or takes most of it, so that its state is in parts. */
static void test_optimizers(uint64_t budget) {
    static const ox_optimizer_rule rules[] = {OX_OPTIMIZER_SGD, OX_OPTIMIZER_ADAM, OX_OPTIMIZER_ADAMW};
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        ox_shunt *shunt = open_small(budget, 0, false);
        OX_SCOPE {
            int64_t plans = 0;
            ox_tensor *start = ox_randn(OX_SHAPE(ROWS, COLUMNS), OX_F32);
            ox_tensor *near = trained(ox_cpu(), rules[k], start, &plans, NULL);
            ox_tensor *far = trained(ox_shunt_device(shunt), rules[k], start, &plans, shunt);
            CHECK_MSG(same_bits(near, far), "rule %d: %s", (int)rules[k], ox_error_text());
            CHECK_MSG(ox_shunt_get_stats(shunt).plans == plans, "%lld plans, then %lld", (long long)plans,
                      (long long)ox_shunt_get_stats(shunt).plans);
        }
        check_close(shunt, budget);
    }
}

/* A layer's weights behind a few steps of AdamW. */
static ox_tensor *stepped(ox_device *device, ox_tensor *start, ox_tensor *input) {
    ox_tensor *w = NULL, *result = NULL;
    OX_SCOPE w = ox_requires_grad_(ox_keep(ox_clone(ox_to(start, device))), true);
    ox_optimizer *o = ox_optimizer_open(OX_OPTIMIZER_ADAMW, &w, 1);
    for (int i = 0; i < 4; i++)
        OX_SCOPE {
            ox_tensor *y = ox_tanh(ox_linear(ox_to(input, device), w, NULL));
            ox_optimizer_zero_grad(o);
            CHECK_MSG(ox_backward(ox_sum(y, OX_ALL_DIMS, false), NULL) == OX_OK &&
                          ox_optimizer_step(o) == OX_OK && ox_device_sync(device) == OX_OK,
                      "step %d: %s", i, ox_error_text());
        }
    ox_optimizer_close(o);
    OX_SCOPE result = ox_keep(ox_to(ox_detach(w), ox_cpu()));
    ox_release(w);
    return result;
}

/* A disk with no room for parts of the state beside the state: AdamW's call, of four such tensors, fits
 * whole, and runs so. */
static void test_short_disk(void) {
    for (uint64_t tenths = 47; tenths < 60; tenths += 4) {
        ox_shunt_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.device_bytes = tenths * BYTES / 10;
        desc.disk_bytes = 3 * (uint64_t)BYTES;
        desc.spill = folder();
        ox_shunt *shunt = ox_shunt_open(&desc);
        OX_SCOPE {
            ox_tensor *start = ox_randn(OX_SHAPE(ROWS, COLUMNS), OX_F32);
            ox_tensor *input = ox_randn(OX_SHAPE(4, COLUMNS), OX_F32);
            ox_tensor *near = stepped(ox_cpu(), start, input);
            ox_tensor *far = stepped(ox_shunt_device(shunt), start, input);
            CHECK_MSG(same_bits(near, far), "%llu tenths: %s", (unsigned long long)tenths, ox_error_text());
            ox_error_clear();
        }
        CHECK(ox_shunt_get_stats(shunt).disk_peak <= desc.disk_bytes);
        check_close(shunt, desc.device_bytes);
    }
}

/* ---- results in the memory of operands ----------------------------------------------------------------- */

/* Two calls whose operands fit only one at a time: each writes over what the one before made, so that nothing
 * of that size moves; where somebody holds that, or it lies otherwise, both are cut, with the same bits. */
static ox_tensor *overwritten(ox_device *device, ox_tensor *a, ox_tensor *b, int how, ox_tensor **held) {
    ox_tensor *x = ox_matmul(ox_to(a, device), ox_to(b, device)), *result = NULL;
    *held = how == 1 ? ox_retain(x) : NULL;
    if (how == 2) x = ox_flip(x, OX_DIMS(0));
    OX_SCOPE result = ox_keep(ox_add(ox_gelu(x), ox_number(0.25)));
    return result;
}

static void test_overwritten(void) {
    const uint64_t budget = (uint64_t)BYTES + BYTES / 2;
    for (int how = 0; how < 3; how++) {
        ox_shunt *shunt = open_small(budget, 0, false);
        int64_t first = 0;
        OX_SCOPE {
            ox_tensor *a = ox_randn(OX_SHAPE(ROWS, 8), OX_F32), *b = ox_randn(OX_SHAPE(8, COLUMNS), OX_F32);
            for (int step = 0; step < 3; step++) {
                ox_tensor *near = NULL, *far = NULL, *near_held, *far_held;
                OX_SCOPE near = ox_keep(overwritten(ox_cpu(), a, b, how, &near_held));
                OX_SCOPE far = ox_keep(overwritten(ox_shunt_device(shunt), a, b, how, &far_held));
                CHECK_MSG(same_bits(near, far), "way %d: %s", how, ox_error_text());
                CHECK(!near_held || same_bits(near_held, far_held));
                ox_release(near_held);
                ox_release(far_held);
                ox_release(far);
                if (step == 0) first = ox_shunt_get_stats(shunt).written_bytes;
            }
            int64_t moved = ox_shunt_get_stats(shunt).written_bytes - first;
            CHECK_MSG((moved >= BYTES) == (how > 0), "way %d: %lld bytes written", how, (long long)moved);
        }
        check_close(shunt, budget);
    }
}

/* ---- what lies in parts -------------------------------------------------------------------------------- */

static void test_parts(uint64_t host_bytes) {
    ox_shunt *shunt = open_small(BUDGET, host_bytes, false);
    float *numbers = (float *)malloc(2 * BYTES);
    OX_SCOPE {
        ox_device *device = ox_shunt_device(shunt);
        ox_tensor *a = ox_randn(OX_SHAPE(2 * ROWS, COLUMNS), OX_F32), *far = ox_to(a, device);
        for (int i = 0; i < 3; i++) { /* twice the budget; as rows, as one line, as a column of blocks */
            ox_shape shape = i == 0   ? OX_SHAPE(2 * ROWS, COLUMNS)
                             : i == 1 ? OX_SHAPE(2 * ROWS * COLUMNS)
                                      : OX_SHAPE(ROWS / 4, 8 * COLUMNS, 1);
            ox_add_(ox_view(a, shape), ox_number(1));
            ox_add_(ox_view(far, shape), ox_number(1));
            CHECK_MSG(same_bits(a, far), "%s", ox_error_text());
        }
        CHECK(ox_to_data(far, numbers, 2 * BYTES) == OX_OK);
        numbers[ROWS * COLUMNS + 3] = 77;
        ox_tensor *given = ox_from_data(numbers, ox_shape_of(a), OX_F32);
        CHECK(ox_copy_(far, given) && ox_copy_(a, given) && same_bits(a, far));
        ox_tensor *good = ox_add_number(ox_narrow(a, 0, 0, 3), 1), *far_good;
        far_good = ox_add_number(ox_to(ox_narrow(a, 0, 0, 3), device), 1);
        ox_tensor *line = ox_view(far, OX_SHAPE(2 * ROWS * COLUMNS)); /* that is not cut */
        ox_tensor *sorted = ox_sort(line, 0, false).values;
        CHECK(sorted && ox_device_sync(device) == OX_ERR_NOMEM);
        CHECK_MSG(strstr(ox_error_text(), "at once"), "%s", ox_error_text());
        ox_error_clear();
        CHECK(same_bits(good, far_good) && same_bits(a, far));
    }
    check_close(shunt, BUDGET);
    free(numbers);
}

static ox_tensor *by_index(int way, ox_tensor *x, ox_tensor *index) {
    return way == 0   ? ox_gather(x, 1, index)
           : way == 1 ? ox_gather(x, 0, index)
           : way == 2 ? ox_scatter_add(x, 0, index, ox_slice(x, 0, 0, OX_END, 1))
                      : ox_index_select(x, 0, ox_reshape(index, OX_SHAPE(ROWS * COLUMNS)));
}

/* The last of all indices is a bad one: pieces say its place among all of them. */
static void test_bad_index(void) {
    for (int way = 0; way < 4; way++) {
        ox_shunt *shunt = open_small(BUDGET, 0, false);
        char wanted[256] = "none";
        OX_SCOPE {
            ox_tensor *x = ox_rand(OX_SHAPE(ROWS, way < 3 ? COLUMNS : 2), OX_F32);
            ox_tensor *index = ox_zeros(OX_SHAPE(ROWS, COLUMNS), OX_I32);
            ox_fill_(ox_narrow(ox_narrow(index, 0, ROWS - 1, 1), 1, COLUMNS - 1, 1), 1000);
            CHECK(!by_index(way, x, index) && ox_error() == OX_ERR_INDEX);
            const char *said = strstr(ox_error_text(), "index 1000");
            if (said) snprintf(wanted, sizeof wanted, "%s", said);
            ox_error_clear();
            ox_tensor *far = ox_to(x, ox_shunt_device(shunt));
            CHECK(by_index(way, far, ox_to(index, ox_shunt_device(shunt))));
            CHECK(ox_device_sync(ox_shunt_device(shunt)) == OX_ERR_INDEX);
            CHECK_MSG(strstr(ox_error_text(), wanted), "%s, not %s", ox_error_text(), wanted);
            ox_error_clear();
        }
        check_close(shunt, BUDGET);
    }
}

/* What is lost stays so where a large call was to write over its operand: `before`, that was lost by an earlier
 * step; otherwise the step fails when the operand is made and the call has not run. */
static void test_lost_operand(int64_t count, bool before) {
    const int64_t bad[4] = {0, 0, 0, 99};
    ox_shunt *shunt = open_small(BUDGET, 0, false);
    ox_device *device = ox_shunt_device(shunt);
    OX_SCOPE {
        ox_tensor *rows = ox_to(ox_ones(OX_SHAPE(1, before ? count / 4 : 4), OX_F32), device);
        ox_tensor *y = NULL;
        ox_tensor *index = ox_to(ox_from_ints(bad, OX_SHAPE(4), OX_I64), device);
        CHECK(ox_device_sync(device) == OX_OK);
        OX_SCOPE {
            ox_device *usual = ox_set_default_device(device);
            ox_tensor *x = before ? NULL : ox_full(OX_SHAPE(4, count / 4), 3, OX_F32);
            ox_set_default_device(usual);
            ox_tensor *no = ox_index_select(rows, 0, index);
            if (before) x = no;
            if (before) CHECK(ox_device_sync(device) == OX_ERR_INDEX);
            ox_error_clear();
            y = ox_keep(ox_exp(x));
            CHECK(no != NULL);
        }
        CHECK(ox_device_sync(device) != OX_OK);
        ox_error_clear();
        float number = 0;
        ox_tensor *one = ox_narrow(ox_narrow(y, 0, 0, 1), 1, 0, 1);
        CHECK_MSG(ox_to_floats(one, &number, 1) != OX_OK, "%g of what is lost", (double)number);
        ox_error_clear();
    }
    check_close(shunt, BUDGET);
}

/* ---- products ------------------------------------------------------------------------------------------ */

static int64_t count_transfer(void *user, int64_t number, int64_t bytes) {
    *(int64_t *)user = number;
    return bytes;
}

/* Neither operand fits beside the other: tiles are so large that rows of the second one are not read a few
 * numbers at a time. */
static void test_products(void) {
    enum { SIDE = 384, MOST = 600000 };
    int64_t transfers = 0;
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = SIDE * SIDE * 4;
    desc.spill = folder();
    desc.fault = count_transfer;
    desc.fault_user = &transfers;
    ox_shunt *shunt = ox_shunt_open(&desc);
    OX_SCOPE {
        ox_tensor *a = ox_randn(OX_SHAPE(SIDE, SIDE), OX_F32), *b = ox_randn(OX_SHAPE(SIDE, SIDE), OX_F32);
        ox_tensor *far_a = ox_to(a, ox_shunt_device(shunt)), *far_b = ox_to(b, ox_shunt_device(shunt));
        CHECK_MSG(same_bits(ox_matmul(a, b), ox_matmul(far_a, far_b)), "%s", ox_error_text());
        CHECK_MSG(same_bits(ox_matmul(ox_t(a), b), ox_matmul(ox_t(far_a), far_b)), "%s", ox_error_text());
        CHECK_MSG(transfers < MOST, "%lld transfers", (long long)transfers);
    }
    check_close(shunt, desc.device_bytes);
}

int main(void) {
    test_products();
    test_calls(BUDGET, 0, false);
    test_calls(BUDGET, (uint64_t)64 << 20, false);
    test_calls(BUDGET / 2, 0, false);
    test_calls(2 * BUDGET, 0, false);
    test_calls(BUDGET, 0, true);
    test_bad_index();
    for (int way = 0; way < 4; way++)
        test_lost_operand(way < 2 ? BYTES / 16 : BYTES / 4 * 2 / 3, way % 2 == 1); /* both fit; not both */
    test_optimizers(3 * BYTES);
    test_optimizers(5 * BYTES);
    test_short_disk();
    test_overwritten();
    test_parts(0);
    test_parts((uint64_t)64 << 20);
    CHECK_MSG(ox_memory_get_stats().tensors == 0, "%lld tensors left",
              (long long)ox_memory_get_stats().tensors);
    return check_done("shunt_cut");
}
