/* test_vulkan_fuse.c - calls that become one dispatch on a GPU: that they do, counted, and that every result
 * is what the CPU gives, also of operands for which they must not. Tensors in buffers of their own
 * (OX_VULKAN_BLOCKS=apart) are never of one dispatch beyond what a shader binds. */
#include "oxtorch.h"
#include "oxtorch_vulkan.h"
#include "block_weights.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESULTS = 8, SIZE = 32 };

/* The same on the CPU and on the device. x, c [m, k]; w [n, k]; across [k, n]; heads [m, count, SIZE]. */
typedef struct operands {
    ox_tensor *x, *c, *w[3], *down, *across, *bias[3], *norm[3], *shift, *heads, *turn;
    ox_tensor *cache, *values, *positions, *old, *mask; /* old [3, k]: rows of earlier positions */
} operands;

typedef struct setting {
    ox_device *gpu;
    ox_dtype weights;
    int64_t m, k, n;
    bool strided; /* x and c are views that lie apart */
} setting;

typedef int (*pattern)(const operands *o, ox_tensor **results);

static ox_tensor *rows(const setting *s, double scale) {
    ox_tensor *t = ox_mul_number(ox_randn(OX_SHAPE(s->m, s->strided ? 2 * s->k : s->k), OX_F32), scale);
    return t;
}

static operands make(const setting *s) {
    operands o;
    memset(&o, 0, sizeof o);
    o.x = rows(s, 1);
    o.c = rows(s, 2);
    for (int i = 0; i < 3; i++) {
        const int64_t n = i == 0 ? 2 * s->n : s->n; /* queries, keys, values */
        o.w[i] = as_weights(ox_mul_number(ox_randn(OX_SHAPE(n, s->k), OX_F32), 0.1), s->weights);
        o.bias[i] = ox_randn(OX_SHAPE(n), OX_F32);
        o.norm[i] = ox_add_number(ox_mul_number(ox_randn(OX_SHAPE(s->k), OX_F32), 0.1), 1);
    }
    o.down = as_weights(ox_mul_number(ox_randn(OX_SHAPE(s->k, s->k), OX_F32), 0.1), s->weights);
    const bool whole = s->n % ox_dtype_get_info(s->weights)->block_elements == 0;
    o.across = as_weights(ox_mul_number(ox_randn(OX_SHAPE(s->k, s->n), OX_F32), 0.1),
                          whole ? s->weights : OX_F32);
    o.shift = ox_randn(OX_SHAPE(s->k), OX_F32);
    o.heads = ox_mul_number(ox_randn(OX_SHAPE(s->m, 6, SIZE), OX_F32), 3);
    o.turn = ox_randn(OX_SHAPE(SIZE), OX_F32);
    o.cache = ox_zeros(OX_SHAPE(6, 16, SIZE), OX_F16);
    o.values = ox_cast(ox_randn(OX_SHAPE(2, 16, SIZE), OX_F32), OX_F16);
    o.positions = ox_cast(ox_arange(3, 3 + (double)s->m, 1, OX_F32), OX_I32);
    o.old = ox_randn(OX_SHAPE(3, s->k), OX_F32);
    o.mask = ox_mul_number(ox_randn(OX_SHAPE(6, 1, 3 + s->m), OX_F32), 2);
    return o;
}

/* Rows as a pattern takes them: of its own, and apart where that is asked for. */
static ox_tensor *taken(const setting *s, ox_tensor *t) {
    t = ox_clone(t);
    return s->strided ? ox_narrow(t, 1, 0, s->k) : t;
}

static operands there(const setting *s, const operands *o, ox_device *device) {
    operands t = *o;
    ox_tensor **first = (ox_tensor **)&t;
    for (size_t i = 0; i < sizeof t / sizeof *first; i++) first[i] = ox_to(first[i], device);
    t.cache = ox_clone(t.cache);
    t.values = ox_clone(t.values);
    t.x = taken(s, t.x);
    t.c = taken(s, t.c);
    return t;
}

/* ---- patterns ------------------------------------------------------------------------------------------ */

static int bias_and_sum(const operands *o, ox_tensor **r) {
    r[0] = ox_linear(o->c, o->down, o->norm[2]);
    r[1] = ox_add_(o->x, r[0]);
    return 2;
}

static int bias_and_activation(const operands *o, ox_tensor **r) {
    r[0] = ox_gelu_tanh_(ox_linear(o->x, o->w[0], o->bias[0]));
    return 1;
}

static int exact_activation(const operands *o, ox_tensor **r) {
    r[0] = ox_gelu_(ox_linear(ox_rms_norm(o->x, 1, o->norm[0], 1e-5), o->w[0], NULL));
    return 1;
}

static int three_of_layer_norm(const operands *o, ox_tensor **r) {
    r[0] = ox_layer_norm(o->x, 1, o->norm[0], o->shift, 1e-5);
    for (int i = 0; i < 3; i++) r[1 + i] = ox_linear(r[0], o->w[i], o->bias[i]);
    return 4;
}

static int bare_layer_norm(const operands *o, ox_tensor **r) {
    r[0] = ox_layer_norm(o->x, 1, NULL, NULL, 1e-5);
    for (int i = 0; i < 2; i++) r[1 + i] = ox_linear(r[0], o->w[1 + i], NULL);
    return 3;
}

static int three_of_rms_norm(const operands *o, ox_tensor **r) {
    r[0] = ox_rms_norm(o->x, 1, o->norm[0], 1e-5);
    for (int i = 0; i < 3; i++) r[1 + i] = ox_linear(r[0], o->w[i], NULL);
    return 4;
}

static int gate_of_two(const operands *o, ox_tensor **r) {
    ox_tensor *z = ox_rms_norm(o->x, 1, o->norm[0], 1e-5);
    ox_tensor *gate = ox_linear(z, o->w[1], o->bias[1]), *up = ox_linear(z, o->w[2], o->bias[2]);
    r[0] = ox_silu_mul_(gate, up);
    r[1] = up;
    return 2;
}

static int gate_of_halves(const operands *o, ox_tensor **r) {
    ox_tensor *both = ox_linear(ox_rms_norm(o->x, 1, o->norm[0], 1e-5), o->w[0], o->bias[0]);
    const int64_t half = both ? both->shape[1] / 2 : 0;
    r[0] = ox_gelu_mul_(ox_narrow(both, 1, 0, half), ox_narrow(both, 1, half, half));
    r[1] = both;
    return 2;
}

static int square_of_relu(const operands *o, ox_tensor **r) {
    r[0] = ox_relu_(ox_linear(ox_rms_norm(o->x, 1, o->norm[0], 1e-5), o->w[0], o->bias[0]));
    r[0] = ox_mul_(r[0], r[0]);
    return 1;
}

/* gate and up of a norm, the first one's relu. */
static void begin_gate(const operands *o, ox_tensor **r) {
    r[0] = ox_rms_norm(o->x, 1, o->norm[0], 1e-5);
    for (int i = 0; i < 2; i++) r[1 + i] = ox_linear(r[0], o->w[1 + i], o->bias[1 + i]);
    r[1] = ox_relu_(r[1]);
}

static int gate_of_relu(const operands *o, ox_tensor **r) {
    begin_gate(o, r);
    r[1] = ox_mul_(r[1], r[2]);
    return 3;
}

static int gate_of_squares(const operands *o, ox_tensor **r) {
    begin_gate(o, r);
    r[1] = ox_mul_(ox_mul_(r[1], r[1]), r[2]);
    return 3;
}

/* An activation of one of two products that no gate of both follows, or not in its place. */
static int not_that_gate(const operands *o, ox_tensor **r) {
    begin_gate(o, r);
    r[3] = ox_mul(r[1], r[2]);
    begin_gate(o, r);
    r[2] = ox_mul_(r[2], r[1]);
    r[4] = r[1];
    r[5] = r[2];
    begin_gate(o, r);
    r[6] = ox_silu_mul_(r[1], r[2]);
    begin_gate(o, r);
    r[7] = ox_linear(r[0], o->w[1], NULL);
    return 8;
}

/* More products of a norm behind a gate that took it. */
static int norm_behind_gate(const operands *o, ox_tensor **r) {
    begin_gate(o, r);
    r[1] = ox_mul_(r[1], r[2]);
    r[3] = ox_linear(r[0], o->w[0], NULL);
    r[4] = ox_add_(o->x, o->c);
    r[5] = ox_linear(r[0], o->w[1], NULL);
    return 6;
}

static int norm_into_cache(const operands *o, ox_tensor **r) {
    r[0] = ox_rms_norm(o->x, 1, o->norm[0], 1e-5);
    r[1] = ox_to(ox_zeros(OX_SHAPE(r[0] ? r[0]->shape[0] : 0, r[0] ? 2 * r[0]->shape[1] : 0), OX_F16),
                 ox_device_of(o->x));
    (void)ox_copy_(ox_narrow(r[1], 1, 0, o->x->shape[1]), r[0]);
    return 2;
}

/* x += c behind another sum, which what is added does not wait for. */
static int sum_behind_sum(const operands *o, ox_tensor **r) {
    r[0] = ox_add_(o->x, ox_linear(ox_linear(o->c, o->down, NULL), o->down, NULL));
    r[1] = ox_linear(o->c, o->down, NULL);
    r[0] = ox_add_(o->x, r[1]);
    r[2] = ox_rms_norm(o->x, 1, o->norm[0], 1e-5);
    for (int i = 0; i < 3; i++) r[3 + i] = ox_linear(r[2], o->w[i], NULL);
    return 6;
}

static int layer_norm_of_sums(const operands *o, ox_tensor **r) {
    r[0] = ox_add_(o->x, ox_linear(ox_linear(o->c, o->down, NULL), o->down, NULL));
    r[0] = ox_add_(o->x, ox_linear(o->c, o->down, NULL));
    r[1] = ox_layer_norm(o->x, 1, o->norm[0], o->shift, 1e-5);
    r[2] = ox_linear(r[1], o->w[0], NULL);
    return 3;
}

/* Nothing, or a product, of such a sum without a norm; what was added is written anew. */
static int not_those_sums(const operands *o, ox_tensor **r) {
    r[0] = ox_add_(o->x, ox_linear(ox_linear(o->c, o->down, NULL), o->down, NULL));
    r[1] = ox_linear(o->c, o->down, NULL);
    r[0] = ox_add_(o->x, r[1]);
    r[1] = ox_mul_number_(r[1], 3);
    r[2] = ox_add_(o->x, ox_linear(ox_linear(o->c, o->down, NULL), o->down, NULL));
    r[2] = ox_add_(o->x, ox_linear(o->c, o->down, NULL));
    r[3] = ox_linear(o->x, o->w[0], NULL);
    return 4;
}

static int norm_then_sum(const operands *o, ox_tensor **r) {
    r[0] = ox_rms_norm(o->c, 1, o->norm[1], 1e-6);
    r[1] = ox_add_(o->x, r[0]);
    r[2] = ox_rms_norm(r[1], 1, o->norm[0], 1e-5);
    ox_tensor *gate = ox_linear(r[2], o->w[1], NULL);
    r[3] = ox_linear(r[2], o->w[2], NULL);
    r[4] = ox_silu_mul_(gate, r[3]);
    return 5;
}

/* The norm of c is gone before the products are asked for. */
static int norm_that_goes(const operands *o, ox_tensor **r) {
    ox_scope scope = ox_scope_begin();
    (void)ox_add_(o->x, ox_rms_norm(o->c, 1, o->norm[1], 1e-6));
    ox_scope_end(&scope);
    r[0] = ox_layer_norm(o->x, 1, o->norm[0], o->shift, 1e-5);
    r[1] = ox_linear(r[0], o->w[0], NULL);
    r[2] = o->x;
    return 3;
}

static int products_of_sum(const operands *o, ox_tensor **r) {
    r[0] = ox_rms_norm(o->c, 1, o->norm[1], 1e-6);
    r[1] = ox_add_(o->x, r[0]);
    for (int i = 0; i < 3; i++) r[2 + i] = ox_linear(r[1], o->w[i], NULL);
    return 5;
}

static int heads(const operands *o, ox_tensor **r) {
    ox_rope_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.base = 1000;
    desc.dims = SIZE - 8;
    r[0] = ox_rms_norm(o->heads, 1, o->turn, 1e-5);
    r[1] = ox_rope(ox_transpose(r[0], 0, 1), o->positions, &desc);
    (void)ox_copy_(ox_narrow(o->cache, 1, 2, r[1] ? r[1]->shape[1] : 0), r[1]);
    r[2] = o->cache;
    return 3;
}

/* Attention of the rows behind those that the caches hold, as a model writes them: `normed` with norms;
 * `before`: of so many rows before them, which do not see all of them; size: of queries and keys; factors: of
 * the rope, or NULL. */
static int attends_by(const operands *o, ox_tensor **r, bool normed, int64_t before, double size,
                      ox_tensor *factors) {
    const int64_t rows = o->heads->shape[0], kept = 3;
    ox_rope_desc turn;
    ox_attention_desc desc;
    memset(&turn, 0, sizeof turn);
    memset(&desc, 0, sizeof desc);
    turn.dims = SIZE - 8;
    turn.factors = factors;
    desc.causal = true;
    desc.query_start = kept - before;
    ox_tensor *q = size == 1 ? o->heads : ox_mul_number(o->heads, size),
              *k = ox_contiguous(ox_narrow(q, 1, 0, 2)), *v = ox_narrow(o->heads, 1, 3, 2),
              *keys = ox_narrow(o->cache, 0, 1, 2);
    if (normed) q = ox_rms_norm(q, 1, o->turn, 1e-5);
    q = ox_rope(ox_transpose(q, 0, 1), o->positions, &turn);
    if (normed) k = ox_rms_norm(k, 1, o->turn, 1e-5);
    k = ox_rope(ox_transpose(k, 0, 1), o->positions, &turn);
    (void)ox_copy_(ox_narrow(keys, 1, kept, rows), k);
    (void)ox_copy_(ox_narrow(o->values, 1, kept, rows), ox_transpose(v, 0, 1));
    r[0] = ox_scaled_dot_product_attention(q, ox_narrow(keys, 1, 0, kept + rows),
                                           ox_narrow(o->values, 1, 0, kept + rows), &desc);
    r[1] = q;
    r[2] = k;
    r[3] = o->cache;
    r[4] = o->values;
    return 5;
}
static int attends(const operands *o, ox_tensor **r, bool normed, int64_t before, double size) {
    return attends_by(o, r, normed, before, size, NULL);
}
static int attention(const operands *o, ox_tensor **r) {
    return attends(o, r, false, 0, 1);
}
static int attention_of_norms(const operands *o, ox_tensor **r) {
    return attends(o, r, true, 0, 1);
}
static int attention_of_large(const operands *o, ox_tensor **r) {
    return attends(o, r, true, 0, 1e22);
}
/* A second layer turns by what the first one's rope has worked out, .. */
static int attention_twice(const operands *o, ox_tensor **r) {
    (void)attends(o, r, false, 0, 1);
    return attends(o, r, false, 0, 2);
}
/* .. also where layers between them turn by other factors, .. */
static int attention_in_turn(const operands *o, ox_tensor **r) {
    ox_tensor *factors[2];
    for (int i = 0; i < 2; i++) factors[i] = ox_narrow(o->norm[i], 0, 0, (SIZE - 8) / 2);
    for (int i = 0; i < 3; i++) (void)attends_by(o, r, false, 0, 1, factors[i % 2]);
    return attends_by(o, r, false, 0, 1, factors[1]);
}
/* .. unless the position has changed. */
static int attention_moved(const operands *o, ox_tensor **r) {
    (void)attends(o, r, false, 0, 1);
    (void)ox_copy_(o->positions, ox_add(o->positions, ox_ones_like(o->positions)));
    return attends(o, r, false, 0, 1);
}

/* Without rope: keys and values go into their caches as they are; by a mask for the last query, or NULL. */
static int attends_plain(const operands *o, ox_tensor **r, ox_tensor *mask) {
    const int64_t rows = o->heads->shape[0], kept = 3;
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.causal = true;
    desc.query_start = kept;
    if (mask) desc.mask = ox_narrow(mask, 2, mask->shape[2] - kept - rows, kept + rows);
    ox_tensor *all = ox_transpose(o->heads, 0, 1), *keys = ox_narrow(o->cache, 0, 1, 2);
    (void)ox_copy_(ox_narrow(keys, 1, kept, rows), ox_narrow(all, 0, 0, 2));
    (void)ox_copy_(ox_narrow(o->values, 1, kept, rows), ox_narrow(all, 0, 2, 2));
    r[0] = ox_scaled_dot_product_attention(all, ox_narrow(keys, 1, 0, kept + rows),
                                           ox_narrow(o->values, 1, 0, kept + rows), &desc);
    r[1] = o->cache;
    r[2] = o->values;
    return 3;
}

static int attention_plain(const operands *o, ox_tensor **r) {
    return attends_plain(o, r, NULL);
}

static int attention_masked(const operands *o, ox_tensor **r) {
    return attends_plain(o, r, o->mask);
}

/* Copies that only look like those: their attention never comes, or is to others. */
static int not_that_plain(const operands *o, ox_tensor **r) {
    const int64_t rows = o->heads->shape[0];
    ox_tensor *all = ox_transpose(o->heads, 0, 1), *keys = ox_narrow(o->cache, 0, 1, 2);
    (void)ox_copy_(ox_narrow(keys, 1, 2, rows), ox_narrow(all, 0, 0, 2));
    (void)ox_copy_(ox_narrow(o->values, 1, 1, rows), ox_narrow(all, 0, 2, 2));
    r[0] = ox_scaled_dot_product_attention(all, ox_narrow(keys, 1, 0, 2 + rows),
                                           ox_narrow(o->values, 1, 0, 2 + rows), NULL);
    (void)ox_copy_(ox_narrow(keys, 1, 0, rows), ox_narrow(all, 0, 1, 2));
    (void)ox_copy_(ox_narrow(keys, 1, 1, rows), ox_narrow(keys, 1, 0, rows));
    (void)ox_copy_(ox_narrow(o->values, 1, 0, rows), ox_narrow(all, 0, 0, 2));
    r[1] = o->cache;
    r[2] = o->values;
    return 3;
}

static int attention_before(const operands *o, ox_tensor **r) {
    return attends(o, r, false, 1, 1);
}

/* The values go elsewhere than what attention reads. */
static int not_that_attention(const operands *o, ox_tensor **r) {
    const int64_t rows = o->heads->shape[0];
    ox_tensor *q = ox_rope(ox_transpose(o->heads, 0, 1), o->positions, NULL);
    ox_tensor *k = ox_rope(ox_transpose(ox_narrow(o->heads, 1, 0, 2), 0, 1), o->positions, NULL);
    ox_tensor *keys = ox_narrow(o->cache, 0, 1, 2), *v = ox_transpose(ox_narrow(o->heads, 1, 3, 2), 0, 1);
    (void)ox_copy_(ox_narrow(keys, 1, 2, rows), k);
    (void)ox_copy_(ox_narrow(o->values, 1, 1, rows), v);
    r[0] = ox_scaled_dot_product_attention(q, ox_narrow(keys, 1, 0, 2 + rows),
                                           ox_narrow(o->values, 1, 0, 2 + rows), NULL);
    r[1] = q;
    r[2] = o->cache;
    r[3] = o->values;
    return 4;
}

static int norm_and_product(const operands *o, ox_tensor **r) {
    r[0] = ox_rms_norm(o->x, 1, o->norm[0], 1e-5);
    r[1] = ox_linear(r[0], o->w[0], NULL);
    return 2;
}

/* Sums that only look like the ones that are taken. */
static int not_that_sum(const operands *o, ox_tensor **r) {
    r[0] = ox_rms_norm(o->c, 1, o->norm[1], 1e-6);
    r[1] = ox_add_scaled_(o->x, r[0], 2);
    r[2] = ox_linear(r[1], o->w[0], NULL);
    r[3] = ox_add(ox_rms_norm(r[1], 1, o->norm[0], 1e-6), o->c);
    r[4] = ox_linear(r[3], o->w[1], o->bias[1]);
    r[5] = ox_add_(r[4], r[4]);
    return 6;
}

/* One row for all of x, one column for all of a gate. */
static int spread(const operands *o, ox_tensor **r) {
    ox_tensor *one = ox_narrow(o->c, 0, 0, o->c->shape[0] > 0);
    r[0] = ox_linear(one, o->down, NULL);
    r[1] = ox_add_(o->x, r[0]);
    r[2] = ox_rms_norm(one, 1, o->norm[0], 1e-5);
    r[3] = ox_add_(o->x, r[2]);
    r[4] = ox_linear(o->x, o->w[0], NULL);
    ox_tensor *gate = ox_linear(o->x, o->w[1], NULL);
    r[5] = ox_silu_mul(gate, ox_linear(o->x, ox_narrow(o->w[2], 0, 0, 1), NULL));
    return 6;
}

/* Taps of a convolution over the last positions, as a step of a model takes them. */
static int taps(const operands *o, ox_tensor **r) {
    ox_tensor *sum = ox_mul(o->x, o->c);
    for (int i = 0; i < 3; i++) sum = ox_addcmul_(sum, o->c, i < 2 ? o->c : o->x, 1);
    r[0] = ox_silu_(ox_mul_(ox_add_(sum, o->x), o->c));
    return 1;
}

/* Calls that only look like those: numbers of the host, other shapes, what is read and written at once, and
 * one whose result others take before it is done. */
static int not_those_taps(const operands *o, ox_tensor **r) {
    r[0] = ox_addcmul_(ox_mul(o->x, o->c), o->x, o->c, 0.5);
    r[1] = ox_add_(ox_mul_(ox_mul(o->x, o->c), ox_number(3)), o->norm[0]);
    ox_tensor *sum = ox_mul(o->x, o->c);
    r[2] = ox_addcmul_(sum, sum, o->x, 1);
    ox_tensor *first = ox_mul(o->c, o->x);
    r[3] = ox_mul(first, o->c);
    r[4] = ox_add_(first, o->x);
    r[5] = ox_mul(ox_mul(o->x, o->norm[1]), o->c);
    ox_tensor *many = ox_mul(o->x, o->x);
    for (int i = 0; i < 10; i++) many = ox_addcmul_(many, o->c, o->x, 1);
    r[6] = many;
    return 7;
}

/* Rows first .. first + count - 1 of the old ones, and x, a row. */
static ox_tensor *window_of(const operands *o, int first, int count, ox_tensor *x) {
    ox_tensor *list[2] = {ox_narrow(o->old, 0, first, count), x};
    return ox_cat(list, 2, 0);
}

/* What taps make of the old rows and x. */
static ox_tensor *convolved(const operands *o, ox_tensor *x) {
    ox_tensor *kernel[4] = {o->shift, o->norm[1], o->norm[2], o->shift}, *sum = NULL;
    for (int i = 0; i < 4; i++) {
        ox_tensor *row = i < 3 ? ox_narrow(o->old, 0, i, 1) : x, *weights = ox_unsqueeze(kernel[i], 0);
        sum = i == 0 ? ox_mul(row, weights) : ox_addcmul_(sum, row, weights, 1);
    }
    return sum;
}

static int taps_and_window(const operands *o, ox_tensor **r) {
    ox_tensor *x = ox_unsqueeze(o->norm[0], 0), *row = ox_unsqueeze(o->norm[1], 0);
    r[0] = ox_silu_(ox_add_(convolved(o, x), row));
    r[1] = window_of(o, 1, 2, x);
    ox_tensor *sum = convolved(o, x);
    r[2] = window_of(o, 1, 2, x);
    r[3] = ox_mul_(sum, row);
    return 4;
}

/* Rows that are others, in another order, along another dim, made by the taps; and windows that are wanted
 * before they are written. */
static int not_that_window(const operands *o, ox_tensor **r) {
    ox_tensor *x = ox_unsqueeze(o->norm[0], 0), *row = ox_unsqueeze(o->norm[1], 0), *list[2] = {x, row}, *sum;
    (void)convolved(o, x);
    r[0] = window_of(o, 0, 2, x);
    (void)convolved(o, x);
    r[1] = window_of(o, 2, 1, x);
    (void)convolved(o, x);
    r[2] = ox_cat(list, 2, 1);
    sum = convolved(o, x);
    r[3] = window_of(o, 1, 2, sum);
    list[1] = ox_narrow(o->old, 0, 1, 2);
    (void)convolved(o, x);
    r[4] = ox_cat(list, 2, 0);
    sum = convolved(o, x);
    r[5] = window_of(o, 1, 2, x);
    r[6] = ox_mul_(sum, ox_narrow(r[5], 0, 2, 1));
    sum = ox_add_(convolved(o, x), row);
    r[7] = ox_add(window_of(o, 1, 2, x), window_of(o, 1, 2, row));
    return 8;
}

enum { HEADS = 2, KEYS = 8 };

/* What taps give, [1, u | keys | keys], and a scan of one position of it, whose gate is the same in all
 * heads; window: NULL, or for rows that the taps have read. */
static void scan_of_taps(const operands *o, bool turned, ox_tensor *gate, ox_tensor **made,
                         ox_tensor **window, ox_tensor **out) {
    ox_tensor *a[4] = {o->norm[0], o->norm[1], o->norm[2], o->shift}, *keys[2];
    for (int i = 0; i < 4; i++) a[i] = ox_unsqueeze(a[i], 0);
    const int64_t columns = a[0]->shape[1] - 2 * KEYS, values = columns / HEADS;
    ox_tensor *sum = ox_addcmul_(ox_mul(a[0], a[3]), a[1], a[2], 1);
    sum = *made = ox_silu_(ox_add_(ox_addcmul_(sum, a[3], a[3], 1), a[1]));
    ox_tensor *read[2] = {a[1], a[3]};
    if (window) *window = ox_cat(read, 2, 0);
    ox_tensor *u = ox_view(ox_narrow(sum, 1, 0, columns), OX_SHAPE(HEADS, 1, values));
    for (int i = 0; i < 2; i++)
        keys[i] =
            ox_expand(ox_unsqueeze(ox_narrow(sum, 1, columns + (turned == (i == 0) ? KEYS : 0), KEYS), 0),
                      OX_SHAPE(HEADS, 1, KEYS));
    ox_tensor *numbers = ox_view(ox_narrow(o->shift, 0, 0, 4 * HEADS), OX_SHAPE(4, HEADS, 1, 1));
    ox_tensor *one = ox_unsqueeze(ox_narrow(a[2], 1, 0, values), 0);
    if (!gate) gate = ox_narrow(one, 2, 0, values);
    *out =
        ox_selective_scan(u, ox_select(numbers, 0, 0), ox_select(numbers, 0, 1), keys[0], keys[1],
                          ox_expand(one, OX_SHAPE(HEADS, KEYS, values)), ox_select(numbers, 0, 2),
                          ox_expand(gate, OX_SHAPE(HEADS, 1, values)), ox_select(numbers, 0, 3), true, false);
}

static int taps_and_scan(const operands *o, ox_tensor **r) {
    scan_of_taps(o, false, NULL, &r[0], NULL, &r[1]);
    scan_of_taps(o, true, NULL, &r[2], &r[4], &r[3]);
    return 5;
}

/* A scan that takes what taps give as something else as well, one of fewer columns, one of two positions. */
static int not_that_scan(const operands *o, ox_tensor **r) {
    const int64_t values = (o->shift->shape[0] - 2 * KEYS) / HEADS;
    ox_tensor *sum = ox_add_(ox_mul(o->norm[0], o->norm[1]), o->shift);
    scan_of_taps(o, false, ox_view(ox_narrow(sum, 0, 0, values), OX_SHAPE(1, 1, values)), &r[0], NULL,
                 &r[1]);
    ox_tensor *made = ox_add_(ox_mul(o->norm[0], o->norm[1]), o->shift);
    ox_tensor *u = ox_view(ox_narrow(made, 0, 0, 12), OX_SHAPE(1, 1, 12));
    ox_tensor *key = ox_view(ox_narrow(made, 0, 12, KEYS), OX_SHAPE(1, 1, KEYS));
    ox_tensor *query = ox_view(ox_narrow(made, 0, 12 + KEYS, KEYS), OX_SHAPE(1, 1, KEYS));
    ox_tensor *state =
        ox_expand(ox_view(ox_narrow(o->shift, 0, 0, 12), OX_SHAPE(1, 1, 12)), OX_SHAPE(1, KEYS, 12));
    ox_tensor *step = ox_narrow(ox_narrow(state, 1, 0, 1), 2, 0, 1);
    r[2] = ox_selective_scan(u, step, step, key, query, state, NULL, NULL, NULL, true, false);
    made = ox_add_(ox_mul(o->norm[0], o->norm[1]), o->shift);
    u = ox_view(ox_narrow(made, 0, 0, 24), OX_SHAPE(1, 2, 12));
    key = ox_view(ox_narrow(made, 0, 8, 2 * KEYS), OX_SHAPE(1, 2, KEYS));
    r[3] = ox_selective_scan(u, ox_expand(step, OX_SHAPE(1, 2, 1)), step, key, key, state, NULL, NULL, NULL,
                             true, true);
    r[4] = made;
    return 5;
}

/* Taps over columns first .. of a product of normalized x, their window, and the product. */
static void taps_of_product(const operands *o, int64_t first, ox_tensor **r) {
    ox_tensor *z = ox_rms_norm(o->x, 1, o->norm[0], 1e-5);
    const int64_t n = o->w[1]->shape[0], one = o->x->shape[0] > 0;
    ox_tensor *kernel[3] = {o->bias[1], o->bias[2], o->bias[1]}, *sum = NULL, *list[2];
    ox_tensor *old = ox_view(o->bias[0], OX_SHAPE(2, n));
    r[0] = ox_linear(z, o->w[0], o->bias[0]);
    ox_tensor *newest = ox_narrow(ox_narrow(r[0], 0, 0, one), 1, first, n);
    for (int i = 0; i < 3; i++) {
        ox_tensor *row = i < 2 ? ox_narrow(old, 0, i, one) : newest, *weights = ox_unsqueeze(kernel[i], 0);
        sum = i == 0 ? ox_mul(row, weights) : ox_addcmul_(sum, row, weights, 1);
    }
    r[1] = ox_silu_(ox_add_(sum, ox_unsqueeze(o->bias[2], 0)));
    list[0] = ox_narrow(old, 0, 1, 1);
    list[1] = newest;
    r[2] = ox_cat(list, 2, 0);
}

static int taps_behind_product(const operands *o, ox_tensor **r) {
    taps_of_product(o, 0, r);
    taps_of_product(o, 7, r + 3);
    return 6;
}

/* Steps that only look like those behind a product: of two parts of it, of what its norm gives, of another
 * product, of more than it has; a product whose result is taken before they are through. */
static int not_behind_product(const operands *o, ox_tensor **r) {
    const int64_t n = o->w[1]->shape[0], k = o->x->shape[1];
    ox_tensor *a = ox_narrow(ox_linear(o->x, o->w[0], NULL), 0, 0, o->x->shape[0] > 0), *b, *z;
    r[0] = ox_add_(ox_mul(ox_narrow(a, 1, 0, n), ox_narrow(a, 1, n, n)), ox_narrow(a, 1, 3, n));
    z = ox_rms_norm(o->x, 1, o->norm[0], 1e-5);
    b = ox_linear(z, o->down, NULL);
    r[1] = ox_add_(ox_mul(b, z), b);
    z = ox_rms_norm(o->x, 1, o->norm[0], 1e-5);
    b = ox_linear(z, o->down, NULL);
    r[2] = ox_silu_(ox_add_(ox_mul(ox_ones_like(b), b), b));
    a = ox_linear(o->x, o->w[1], NULL);
    (void)ox_linear(o->x, o->w[2], NULL);
    r[3] = ox_add_(ox_mul(a, a), a);
    a = ox_linear(o->x, o->down, NULL);
    r[4] = ox_mul(a, ox_expand(ox_unsqueeze(o->shift, 0), ox_shape_of(a)));
    r[5] = ox_add(r[4], a);
    b = ox_linear(o->c, o->down, NULL);
    r[6] = ox_add_(ox_mul(o->c, b), b);
    b = ox_view(ox_linear(o->c, o->down, NULL), OX_SHAPE(o->x->shape[0] * k));
    r[7] = ox_add_(ox_mul(b, b), ox_view(ox_contiguous(o->c), OX_SHAPE(o->x->shape[0] * k)));
    return 8;
}

/* A scan of a position whose step, [1, n], is what `made` is; keys lie in `keyed`. */
static ox_tensor *scan_of_step(const operands *o, ox_tensor *rate, ox_tensor *made, ox_tensor *keyed,
                               bool biased) {
    const int64_t n = o->w[1]->shape[0];
    ox_tensor *u = ox_view(o->bias[1], OX_SHAPE(1, 1, n)), *gate = ox_view(o->bias[2], OX_SHAPE(1, 1, n));
    ox_tensor *state = ox_view(o->bias[0], OX_SHAPE(1, 2, n)), *keys[2];
    for (int i = 0; i < 2; i++) keys[i] = ox_view(ox_narrow(keyed, 0, 2 * i, 2), OX_SHAPE(1, 1, 2));
    made = ox_unsqueeze(ox_narrow(made, 0, 0, 1), 0);
    return ox_selective_scan(u, made, rate, keys[0], keys[1], state, u, gate, biased ? gate : NULL, true,
                             false);
}
static ox_tensor *rates(const operands *o) {
    return ox_neg(ox_abs(ox_view(o->bias[0], OX_SHAPE(1, 2, o->w[1]->shape[0]))));
}

/* And a product of what the scan gives. */
static int product_and_scan(const operands *o, ox_tensor **r) {
    ox_tensor *rate = rates(o);
    const int64_t n = o->w[1]->shape[0];
    if (o->x->shape[0] == 0) return 0;
    for (int i = 0; i < 2; i++) {
        r[2 * i] = ox_linear(o->c, o->w[1], i == 1 ? o->bias[1] : NULL);
        r[2 * i + 1] = scan_of_step(o, rate, r[2 * i], o->shift, i == 1);
        ox_tensor *row = ox_view(ox_narrow(r[2 * i + 1], 1, 0, 1), OX_SHAPE(1, n));
        r[4 + i] = ox_linear(row, o->across, NULL);
    }
    return 6;
}

/* Keys that the product makes, a norm before it, an activation behind it, a part of its columns. */
static int not_that_product(const operands *o, ox_tensor **r) {
    ox_tensor *rate = rates(o);
    if (o->x->shape[0] == 0) return 0;
    const int64_t n = o->w[1]->shape[0];
    r[0] = ox_linear(o->c, o->w[1], NULL);
    r[1] = scan_of_step(o, rate, r[0], ox_view(ox_narrow(r[0], 0, 0, 1), OX_SHAPE(n)), false);
    r[2] = ox_linear(ox_rms_norm(o->x, 1, o->norm[0], 1e-5), o->w[1], NULL);
    r[3] = scan_of_step(o, rate, r[2], o->shift, false);
    r[4] = ox_silu_(ox_linear(o->x, o->w[2], NULL));
    r[5] = scan_of_step(o, rate, r[4], o->shift, true);
    r[6] = ox_linear(o->x, o->w[0], NULL);
    r[7] = scan_of_step(o, rate, ox_narrow(r[6], 1, 1, n), o->shift, true);
    return 8;
}

typedef struct row {
    const char *name;
    pattern run;
    int dispatches; /* of few rows that lie together; 0: any number */
    int rows;       /* at most, for that */
    bool halves;    /* numbers go through f16, where they may be rounded the other way */
} row;

static const row table[] = {
    {"bias and sum", bias_and_sum, 1, 3, false},
    {"bias and activation", bias_and_activation, 1, 3, false},
    {"norm and exact activation", exact_activation, 1, 3, false},
    {"three products of a layer_norm", three_of_layer_norm, 1, 3, false},
    {"two products of a bare layer_norm", bare_layer_norm, 1, 3, false},
    {"three products of an rms_norm", three_of_rms_norm, 1, 3, false},
    {"gate of two products", gate_of_two, 1, 3, false},
    {"gate of two halves", gate_of_halves, 1, 1, false},
    {"square of relu", square_of_relu, 1, 3, false},
    {"gate of relu", gate_of_relu, 1, 3, false},
    {"gate of squares", gate_of_squares, 1, 3, false},
    {"not that gate", not_that_gate, 0, 3, false},
    {"norm behind a gate", norm_behind_gate, 0, 3, false},
    {"norm into a cache", norm_into_cache, 2, 3, true},
    {"sum behind a sum", sum_behind_sum, 5, 1, false},
    {"layer_norm of sums", layer_norm_of_sums, 5, 1, false},
    {"not those sums", not_those_sums, 0, 3, false},
    {"norm, sum, norm, gate", norm_then_sum, 2, 3, false},
    {"norm that goes, sum, norm", norm_that_goes, 2, 3, false},
    {"norm, sum, products", products_of_sum, 2, 3, false},
    {"heads", heads, 1, 3, true},
    {"attention", attention, 2, 1, true}, /* what rope turns by is a dispatch of its own, of all layers */
    {"attention of norms", attention_of_norms, 2, 1, true},
    {"attention twice", attention_twice, 4, 1, true}, /* and what is attended to is made twice as large */
    {"attention by factors in turn", attention_in_turn, 6, 1, true},
    {"attention at two positions", attention_moved, 0, 3, true},
    {"attention without rope", attention_plain, 1, 1, true},
    {"attention by a mask", attention_masked, 1, 1, true},
    {"not that attention without rope", not_that_plain, 0, 3, true},
    {"attention of norms of large numbers", attention_of_large, 0, 3, true}, /* their squares are infinite */
    {"attention before the newest", attention_before, 0, 3, true},
    {"not that attention", not_that_attention, 0, 3, true},
    {"norm and product", norm_and_product, 1, 3, false},
    {"not that sum", not_that_sum, 0, 3, false},
    {"spread", spread, 0, 3, false},
    {"taps", taps, 1, 3, false},
    {"not those taps", not_those_taps, 0, 3, false},
    {"taps and their window", taps_and_window, 2, 12, false},
    {"not that window", not_that_window, 0, 3, false},
    {"taps behind a product", taps_behind_product, 2, 1, false},
    {"not behind a product", not_behind_product, 0, 3, true},
    {"product and a scan", product_and_scan, 6, 1, true},
    {"not that product", not_that_product, 0, 3, true},
    {"taps and a scan", taps_and_scan, 2, 12, false},
    {"not that scan", not_that_scan, 0, 3, false},
};

/* ---- both sides ---------------------------------------------------------------------------------------- */

static void compare(const setting *s, const row *t, int i, ox_tensor *got, ox_tensor *want) {
    const char *name = t->name;
    const int64_t n = want ? ox_numel(want) : 0;
    CHECK_MSG(got && want && ox_numel(got) == n, "%s, result %d: %s", name, i, ox_error_text());
    if (!got || !want || n == 0) return;
    float *a = (float *)malloc((size_t)n * sizeof *a), *b = (float *)malloc((size_t)n * sizeof *b);
    double off = 0, most = 0;
    CHECK(ox_to_floats(ox_contiguous(got), a, n) == OX_OK &&
          ox_to_floats(ox_contiguous(want), b, n) == OX_OK);
    for (int64_t k = 0; k < n; k++) {
        most = fmax(most, fabs(b[k]));
        off = check_worst(off, fabs(a[k] - b[k]));
    }
    const bool exact = s->weights == OX_F32;
    const double coarse = exact && !t->halves ? 2e-5 : exact || s->weights == OX_F16 ? 2e-3 : 0.03;
    CHECK_MSG(off <= coarse * most, "%s, %s, m %lld, k %lld, result %d: off by %g of %g", name,
              ox_dtype_name(s->weights), (long long)s->m, (long long)s->k, i, off, most);
    free(a);
    free(b);
}

static void check(const setting *s, const row *t) {
    OX_SCOPE {
        ox_tensor *got[RESULTS] = {NULL}, *want[RESULTS] = {NULL};
        ox_manual_seed(11);
        const operands here = make(s), on_host = there(s, &here, ox_cpu()), on_gpu = there(s, &here, s->gpu);
        const int count = t->run(&on_host, want);
        CHECK(ox_device_sync(s->gpu) == OX_OK);
        const int64_t before = ox_vulkan_get_stats(s->gpu).dispatches;
        (void)t->run(&on_gpu, got);
        CHECK_MSG(ox_device_sync(s->gpu) == OX_OK, "%s", ox_error_text());
        const int64_t made = ox_vulkan_get_stats(s->gpu).dispatches - before;
        const bool together = !getenv("OX_VULKAN_BLOCKS"), few = s->m > 0 && s->m <= t->rows;
        const bool counted = t->dispatches > 0 && together && few && !s->strided && s->k % 32 == 0;
        if (counted)
            CHECK_MSG(made == t->dispatches, "%s, %s: %lld dispatches", t->name, ox_dtype_name(s->weights),
                      (long long)made);
        for (int i = 0; i < count; i++) compare(s, t, i, got[i], want[i]);
    }
}

/* ---- rows that the product before has rounded ---------------------------------------------------------- */

/* A row of `hidden` numbers by columns of a type, of which the first `apart` come again and again. */
typedef struct rounding {
    ox_dtype dtype;
    int64_t hidden, width, apart;
} rounding;

static const rounding three_steps = {OX_Q4_K, 4352, 256, 2 * 4352}; /* of a workgroup */

/* Columns for a row and the gate's other row, [2 hidden, width], and those that are apart. */
static ox_tensor *columns_of(const rounding *r, ox_tensor **apart) {
    ox_tensor *all = ox_empty(OX_SHAPE(2 * r->hidden, r->width), r->dtype);
    *apart = ox_cast(ox_mul_number(ox_randn(OX_SHAPE(r->apart, r->width), OX_F32), 0.1), r->dtype);
    for (int64_t i = 0; i < 2 * r->hidden; i += r->apart)
        (void)ox_copy_(ox_narrow(all, 0, i, r->apart), *apart);
    return all;
}

/* What comes between a row and the product of it. */
typedef enum between { NOTHING, WRITTEN, WRITTEN_THERE, ANOTHER, TWO_OTHERS, ASIDE, BETWEENS } between;

static void do_between(between what, ox_tensor *row, ox_tensor *other, ox_tensor *w) {
    if (what == WRITTEN) (void)ox_copy_(row, ox_ones(OX_SHAPE(1, row->shape[1]), OX_F32));
    if (what == WRITTEN_THERE) (void)ox_mul_number_(row, 3);
    for (int i = 0; i < (what == ANOTHER ? 1 : what == TWO_OTHERS ? 2 : 0); i++)
        (void)ox_gelu_(ox_linear(other, w, NULL));
    if (what == ASIDE) { /* others compute */
        OX_SCOPE {
            (void)ox_add(ox_silu_mul(ox_linear(other, w, NULL), ox_linear(other, w, NULL)), ox_number(1));
        }
    }
}

/* A product of a row that a gate or an activation made: the bits of a product of a copy of the row. Whether
 * it was taken as the product before had rounded it, counted. */
static void check_rounded(ox_device *gpu, const rounding *r, ox_dtype dtype, bool gated, between what,
                          bool taken) {
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_randn(OX_SHAPE(1, r->width), OX_F32), gpu), *w[3], *some;
        ox_tensor *both = ox_to(columns_of(r, &some), gpu); /* both lie in the same block of memory */
        for (int i = 0; i < 2; i++) w[i] = ox_narrow(both, 0, i * r->hidden, r->hidden);
        w[2] = ox_to(as_weights(ox_randn(OX_SHAPE(64, r->hidden), OX_F32), dtype), gpu);
        ox_tensor *row = ox_linear(x, w[0], NULL);
        row = gated ? ox_silu_mul_(row, ox_linear(x, w[1], NULL)) : ox_gelu_tanh_(row);
        do_between(what, row, x, w[1]);
        const int64_t before = ox_vulkan_get_stats(gpu).rounded;
        ox_tensor *got = ox_linear(row, w[2], NULL);
        (void)ox_device_sync(gpu);
        const int64_t count = ox_vulkan_get_stats(gpu).rounded - before;
        ox_tensor *want = ox_linear(ox_clone(row), w[2], NULL);
        ox_tensor *host = ox_linear(ox_to(row, ox_cpu()), ox_to(w[2], ox_cpu()), NULL);
        CHECK(ox_equal(ox_to(got, ox_cpu()), ox_to(want, ox_cpu())));
        const double near = 1e-3 * (double)r->width * sqrt((double)r->hidden); /* rows grow with terms */
        CHECK(ox_allclose(ox_to(got, ox_cpu()), host, 0, near, false));
        const bool apart = getenv("OX_VULKAN_BLOCKS") != NULL; /* validate.sh: a gate's rows may not join */
        CHECK_MSG(count == (taken ? 1 : 0) || (apart && !count), "%s, %s, between %d: %d rounded",
                  ox_dtype_name(dtype), gated ? "gated" : "activated", (int)what, (int)count);
    }
}

/* A product that takes a row and leaves one, behind so many others that left theirs: the bits of a product of
 * a copy of the row, for it reads that until its last workgroup is done. */
static void check_taken_and_left(ox_device *gpu, int others) {
    enum { N = 1024, K = 256 };
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_randn(OX_SHAPE(1, K), OX_F32), gpu), *w[2];
        for (int i = 0; i < 2; i++) {
            w[i] = ox_mul_number(ox_randn(OX_SHAPE(N, i == 0 ? K : N), OX_F32), 0.05);
            w[i] = ox_to(ox_cast(w[i], OX_Q8_0), gpu);
        }
        ox_tensor *row = ox_gelu_tanh_(ox_linear(x, w[0], NULL));
        for (int i = 0; i < others; i++) (void)ox_gelu_tanh_(ox_linear(x, w[0], NULL));
        const int64_t before = ox_vulkan_get_stats(gpu).rounded;
        ox_tensor *got = ox_gelu_tanh_(ox_linear(row, w[1], NULL));
        (void)ox_device_sync(gpu);
        const int64_t count = ox_vulkan_get_stats(gpu).rounded - before;
        ox_tensor *want = ox_gelu_tanh_(ox_linear(ox_clone(row), w[1], NULL));
        CHECK_MSG(ox_equal(ox_to(got, ox_cpu()), ox_to(want, ox_cpu())), "behind %d others", others);
        CHECK_MSG(count == (others < 2) || getenv("OX_VULKAN_BLOCKS"), "behind %d others: %d rounded", others,
                  (int)count);
    }
}

static void check_all_rounded(ox_device *gpu) {
    static const ox_dtype types[] = {OX_Q8_0, OX_Q4_0, OX_Q5_1, OX_MXFP4, OX_Q4_K, OX_Q5_K, OX_Q6_K, OX_F16};
    ox_vulkan_info facts;
    if (ox_vulkan_get_info(gpu, &facts) != OX_OK || !(facts.caps & OX_VULKAN_CAP_DOT)) return;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (int gated = 0; gated < 2; gated++)
            for (int what = 0; what < BETWEENS; what++)
                check_rounded(gpu, &three_steps, types[k], gated, (between)what,
                              types[k] != OX_F16 && (what == NOTHING || what == ANOTHER || what == ASIDE));
    for (int others = 0; others < 3; others++) check_taken_and_left(gpu, others);
}

/* So many weights that workgroups are larger, or more; the last workgroup's share is half of the others'. */
static void check_many_weights(ox_device *gpu) {
    static const rounding many[] = {{OX_Q4_0, 8224, 3072, 514}, {OX_Q8_0, 8224, 3072, 514}};
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        const rounding *r = &many[i];
        check_rounded(gpu, r, OX_Q8_0, true, NOTHING, true);
        OX_SCOPE {
            ox_tensor *apart, *w = ox_to(columns_of(r, &apart), gpu);
            ox_tensor *x = ox_randn(OX_SHAPE(1, r->width), OX_F32);
            ox_tensor *want = ox_linear(x, apart, NULL), *got = ox_linear(ox_to(x, gpu), w, NULL);
            got = ox_view(ox_to(got, ox_cpu()), OX_SHAPE(-1, r->apart));
            CHECK(ox_allclose(got, ox_expand_as(want, got), 0, 0.04 * 0.1 * sqrt((double)r->width), false));
        }
    }
}

/* What a GPU gives of two products of x, one of its norm behind another, their gate, and a sum with one. */
static void check_columns(ox_device *gpu, const rounding *r, ox_tensor *all, ox_tensor *exact) {
    const double size = 1 / sqrt((double)r->width), rough = 0.04; /* results are of about 1 */
    const int64_t n = r->hidden;
    const char *name = ox_dtype_name(r->dtype);
    ox_tensor *x = ox_mul_number(ox_randn(OX_SHAPE(1, r->width), OX_F32), size), *xg = ox_to(x, gpu);
    ox_tensor *bias = ox_randn(OX_SHAPE(n), OX_F32), *old = ox_randn(OX_SHAPE(1, n), OX_F32);
    ox_tensor *w[2], *v[2], *got[2], *want[2], *sum = ox_to(old, gpu), *both;
    for (int i = 0; i < 2; i++) w[i] = ox_narrow(all, 0, i * n, n);
    for (int i = 0; i < 2; i++) v[i] = ox_narrow(exact, 0, i * n, n);
    sum = ox_to(ox_add_(sum, ox_linear(xg, w[0], ox_to(bias, gpu))), ox_cpu());
    CHECK_MSG(ox_allclose(sum, ox_add(old, ox_linear(x, v[0], bias)), 0, rough, false), "%s: a sum", name);
    for (int i = 0; i < 2; i++) got[i] = ox_linear(xg, w[i], NULL);
    for (int i = 0; i < 2; i++) want[i] = ox_linear(x, v[i], NULL);
    both = ox_to(ox_silu_mul_(got[0], got[1]), ox_cpu());
    CHECK_MSG(ox_allclose(both, ox_silu_mul(want[0], want[1]), 0, 5 * rough, false), "%s: a gate", name);
    ox_tensor *norm = ox_full(OX_SHAPE(r->width), size, OX_F32);
    xg = ox_rms_norm(xg, 1, ox_to(norm, gpu), 1e-6);
    x = ox_rms_norm(x, 1, norm, 1e-6);
    for (int i = 0; i < 2; i++) got[i] = ox_linear(xg, w[i], NULL);
    for (int i = 0; i < 2; i++) want[i] = ox_linear(x, v[i], NULL);
    for (int i = 0; i < 2; i++)
        CHECK_MSG(ox_allclose(ox_to(got[i], ox_cpu()), want[i], 0, rough, false), "%s: product %d", name, i);
}

/* Rows whose units fill no line of invocations, so that columns are taken one behind the other: two, four,
 * both of a gate. The last workgroup has fewer than the others. */
static void check_chained(ox_device *gpu) {
    static const rounding chained[] = {
        {OX_Q8_0, 2203, 1536, 0}, {OX_Q6_K, 4301, 512, 0}, {OX_Q4_0, 1101, 1536, 0}};
    for (size_t i = 0; i < sizeof chained / sizeof *chained; i++) {
        const rounding *r = &chained[i];
        OX_SCOPE {
            ox_tensor *all = ox_randn(OX_SHAPE(2 * r->hidden, r->width), OX_F32);
            all = ox_cast(all, r->dtype);
            check_columns(gpu, r, ox_to(all, gpu), ox_cast(all, OX_F32));
        }
    }
}

/* ---- rows whose numbers hardly differ ------------------------------------------------------------------ */

/* A layer_norm of numbers about `mean`, with deviation 1, that products take along, or that is alone: by a
 * reference in doubles, exact numbers of f32 going in. */
static void check_about(ox_device *gpu, ox_dtype weights, int products, int64_t rows, int64_t k,
                        double mean) {
    OX_SCOPE {
        ox_manual_seed(5);
        ox_tensor *x = ox_add_number(ox_randn(OX_SHAPE(rows, k), OX_F32), mean), *on_gpu = ox_to(x, gpu);
        ox_tensor *w = ox_to(ox_cast(ox_randn(OX_SHAPE(32, k), OX_F32), weights), gpu);
        ox_tensor *normal = ox_layer_norm(on_gpu, 1, NULL, NULL, 1e-5);
        for (int i = 0; i < products; i++) (void)ox_linear(normal, w, NULL);
        const float *got = ox_data(ox_to(normal, ox_cpu())), *from = ox_data(x);
        double worst = 0;
        for (int64_t row = 0; got && row < rows; row++) {
            double sum = 0, squares = 0;
            for (int64_t i = 0; i < k; i++) sum += from[row * k + i];
            sum /= (double)k;
            for (int64_t i = 0; i < k; i++)
                squares += (from[row * k + i] - sum) * (from[row * k + i] - sum) / (double)k;
            for (int64_t i = 0; i < k; i++)
                worst = check_worst(worst, fabs(got[row * k + i] -
                                                (from[row * k + i] - sum) / sqrt(squares + 1e-5)));
        }
        CHECK_MSG(got && worst < 1e-5, "%s, %lld rows of %lld about %g: %g", ox_dtype_name(weights),
                  (long long)rows, (long long)k, mean, worst);
    }
}

static void check_all_about(ox_device *gpu) {
    static const ox_dtype types[] = {OX_F32, OX_F16, OX_Q4_K};
    static const int64_t lengths[] = {256, 2304, 8448};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            for (int64_t rows = 1; rows < 4; rows++) {
                check_about(gpu, types[t], 2, rows, lengths[k], 1e4);
                check_about(gpu, types[t], 2, rows, lengths[k], -3e5);
            }
    for (int64_t k = 64; k < 70000; k = 4 * k + 4) check_about(gpu, OX_F32, 0, 5, k, -3e5);
}

int main(void) {
    static const ox_dtype types[] = {OX_F32, OX_F16, OX_Q8_0, OX_Q4_0, OX_MXFP4, OX_Q4_K, OX_Q5_K, OX_Q6_K};
    ox_device *gpu = ox_vulkan(0);
    if (!gpu) return check_skipped("vulkan_fuse", ox_error_text());
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        setting s = {gpu, OX_F32, 1, 512, 160, false};
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
            s.weights = types[k];
            check(&s, &table[i]);
        }
        const setting others[] = {
            {gpu, OX_F32, 3, 256, 96, false},
            {gpu, OX_Q4_K, 2, 512, 160, false},
            {gpu, OX_Q4_K, 4, 512, 160, false},
            {gpu, OX_F16, 7, 256, 96, false}, /* too many rows for norms */
            {gpu, OX_F32, 1, 256, 96, true},
            {gpu, OX_F32, 2, 256, 96, true},
            {gpu, OX_F32, 2, 40, 24, false},  /* rows that are no multiple of 32 */
            {gpu, OX_F32, 12, 64, 40, false}, /* products of many rows */
            {gpu, OX_F32, 0, 256, 96, false},
        };
        const setting long_rows = {gpu, OX_Q4_K, 1, 256, 4224, false}; /* apart from what they are made of */
        const setting longer = {gpu, OX_Q4_0, 1, 64, 8224, false}; /* the same of each product */
        const setting wide = {gpu, OX_F16, 1, 2304, 64, true}; /* held in three rounds */
        const pattern run = table[i].run;
        if (run == norm_and_product) check(&long_rows, &table[i]);
        if (run == three_of_layer_norm || run == gate_of_two) check(&longer, &table[i]);
        if (run == three_of_layer_norm || run == norm_then_sum) check(&wide, &table[i]);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) check(&others[k], &table[i]);
    }
    check_all_rounded(gpu);
    check_all_about(gpu);
    check_chained(gpu);
    check_many_weights(gpu);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK_MSG(ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
    return check_done("vulkan_fuse");
}
