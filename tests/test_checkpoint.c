/* test_checkpoint.c - checkpoints: what they run again, gradients of what they take and of what else they
 * use, by ox_backward and by ox_grad; checkpoints in checkpoints.
 */
#include "oxtorch_nn.h"
#include "leaves.h"

typedef struct block { ox_tensor *weight; int runs; double kept; } block;
static ox_status run_block(ox_tensor *const *in, ox_tensor **out, void *user) {
    block *b = (block *)user;
    ox_tensor *noise = ox_rand(OX_SHAPE(2), OX_F64);
    b->runs++;
    b->kept = ox_item(ox_select(noise, 0, 0));
    out[0] = ox_mul(ox_mul(ox_square(in[0]), b->weight), noise);
    return out[0] ? OX_OK : ox_error();
}

static void test_checkpoint(void) {
    OX_SCOPE {
        block b = {leaf(2, 5, 0), 0, 0};
        ox_tensor *x = leaf(2, 1, 1), *y = NULL, *fixed = ox_ones(OX_SHAPE(2), OX_F64);
        CHECK(ox_checkpoint(run_block, &b, &x, 1, &y, 1) == OX_OK && b.runs == 1);
        const double first = b.kept;
        double numbers[2];
        (void)ox_rand(OX_SHAPE(1), OX_F64); /* others draw meanwhile */
        CHECK(ox_backward(total(y), NULL) == OX_OK && b.runs == 2 && b.kept == first);
        CHECK(ox_to_doubles(ox_gradient(x), numbers, 2) == OX_OK && fabs(numbers[0] - 10 * first) < 1e-12);
        CHECK(ox_to_doubles(ox_gradient(b.weight), numbers, 2) == OX_OK && fabs(numbers[0] - first) < 1e-12);
        /* for leaves of its own alone */
        CHECK(ox_set_gradient(b.weight, NULL) == OX_OK);
        CHECK(ox_checkpoint(run_block, &b, &fixed, 1, &y, 1) == OX_OK && ox_requires_grad(y));
        CHECK(ox_backward(total(y), NULL) == OX_OK && ox_gradient(b.weight));
        /* of nothing that wants a gradient */
        b.weight = fixed;
        CHECK(ox_checkpoint(run_block, &b, &fixed, 1, &y, 1) == OX_OK && !ox_requires_grad(y));
    }
}

/* a e^(a w), and another checkpoint in it. */
static ox_status run_inner(ox_tensor *const *in, ox_tensor **out, void *user) {
    out[0] = ox_exp(ox_mul(in[0], (ox_tensor *)user));
    return out[0] ? OX_OK : ox_error();
}
static ox_status run_outer(ox_tensor *const *in, ox_tensor **out, void *user) {
    if (ox_checkpoint(run_inner, user, in, 1, out, 1) != OX_OK) return ox_error();
    out[0] = ox_mul(in[0], out[0]);
    return out[0] ? OX_OK : ox_error();
}

/* Gradients of gradients through checkpoints, by what they take and by a leaf that is in them. */
static void test_checkpoint_again(void) {
    OX_SCOPE {
        ox_tensor *w = leaf(2, 2, 0), *x = leaf(2, 0, 0.5), *double_x = ox_add(x, x), *y = NULL, *g = NULL;
        ox_tensor *gg[1];
        ox_grad_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.create_graph = true;
        CHECK(ox_checkpoint(run_outer, w, &double_x, 1, &y, 1) == OX_OK);
        y = total(y);
        CHECK(ox_grad(&y, 1, &x, 1, &desc, &g) == OX_OK && !ox_gradient(w));
        const double e = exp(2), first[2] = {2, 2 * e * 3}, by_x[2] = {16, 4 * e * (2 + 2 + 4)},
                     by_w[2] = {0, 2 * e * (1 + 1 + 2)};
        CHECK(are(ox_detach(g), 2, first)); /* 2 e^(aw) (1 + a w) of a = 2 x */
        g = total(g);
        CHECK(ox_grad(&g, 1, &x, 1, NULL, gg) == OX_OK && are(gg[0], 2, by_x));
        /* into leaves: dy/dw = a^2 e^(aw), once more by x */
        ox_backward_desc back;
        memset(&back, 0, sizeof back);
        back.create_graph = true;
        CHECK(ox_checkpoint(run_outer, w, &double_x, 1, &y, 1) == OX_OK);
        CHECK(ox_backward(total(y), &back) == OX_OK);
        const double for_w[2] = {0, e};
        CHECK(are(ox_detach(ox_gradient(w)), 2, for_w) && are(ox_detach(ox_gradient(x)), 2, first));
        g = total(ox_gradient(w));
        CHECK(ox_grad(&g, 1, &x, 1, NULL, gg) == OX_OK && are(gg[0], 2, by_w));
        CHECK(ox_set_gradient(w, NULL) == OX_OK && ox_set_gradient(x, NULL) == OX_OK);
    }
    CHECK_NO_TENSORS();
}

/* ---- what is used beside the inputs -------------------------------------------------------------------- */

/* in[0] w e^(in[0] v), of which the exponential is a checkpoint in it; v may be a result. */
typedef struct used { ox_tensor *w, *v; } used;
static ox_status run_used(ox_tensor *const *in, ox_tensor **out, void *user) {
    used *u = (used *)user;
    if (ox_checkpoint(run_inner, u->v, in, 1, out, 1) != OX_OK) return ox_error();
    out[0] = ox_mul(ox_mul(in[0], u->w), out[0]);
    return out[0] ? OX_OK : ox_error();
}
static ox_tensor *counted(ox_tensor *g, void *user) {
    (*(int *)user)++;
    return ox_mul(g, ox_number(2));
}

/* Of y = x w e^(x v) + 3 w with v = w u, whose gradient by w is x e^(x v) (1 + x w u) + 3. */
static void test_checkpoint_uses(void) {
    OX_SCOPE {
        int calls = 0;
        used u = {leaf(2, 1, 1), NULL};
        ox_tensor *x = leaf(2, 0.5, 0.5), *factor = leaf(2, 0.25, 0.25), *y = NULL, *again = NULL;
        ox_tensor *g[2], *sum;
        ox_grad_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.retain_graph = true;
        u.v = ox_mul(u.w, factor);
        CHECK(ox_checkpoint(run_used, &u, &x, 1, &y, 1) == OX_OK);
        sum = total(ox_add(y, ox_mul(u.w, ox_number(3))));
        const double e = exp(0.125), ee = exp(1), by_w[2] = {0.5 * e * 1.125 + 3, ee * 2 + 3},
                     by_v[2] = {0.25 * e, 2 * ee};
        /* by one of them, given or not, and by a result */
        CHECK(ox_grad(&sum, 1, &u.w, 1, &desc, g) == OX_OK && are(g[0], 2, by_w));
        CHECK(ox_grad(&sum, 1, &factor, 1, &desc, g) == OX_OK);
        const double by_factor[2] = {0.25 * e, 4 * ee};
        CHECK(are(g[0], 2, by_factor));
        ox_tensor *both[2] = {u.v, x};
        CHECK(ox_grad(&sum, 1, both, 2, &desc, g) == OX_OK && are(g[0], 2, by_v));
        CHECK(!ox_gradient(u.w) && !ox_gradient(x) && !ox_gradient(factor));
        /* hooks of a result hear of its gradient once */
        CHECK(ox_register_hook(u.v, counted, &calls) > 0);
        CHECK(ox_checkpoint(run_used, &u, &x, 1, &again, 1) == OX_OK);
        CHECK(ox_backward(total(again), NULL) == OX_OK && calls == 1);
        const double doubled[2] = {0.5 * e, 8 * ee};
        CHECK(are(ox_gradient(factor), 2, doubled) && ox_gradient(u.w) && ox_gradient(x));
    }
    CHECK_NO_TENSORS();
}

/* What they give may be what they took, a view of it, or what was there; twice the same. */
static ox_status run_same(ox_tensor *const *in, ox_tensor **out, void *user) {
    out[0] = in[0];
    out[1] = ox_flip(in[0], OX_DIMS(0));
    out[2] = (ox_tensor *)user;
    out[3] = ox_square(in[0]);
    out[4] = out[3];
    return out[1] && out[3] ? OX_OK : ox_error();
}

static void test_checkpoint_same(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(2, 1, 1), *w = leaf(2, 3, 2), *out[5];
        CHECK(ox_checkpoint(run_same, w, &x, 1, out, 5) == OX_OK);
        for (int k = 0; k < 5; k++) CHECK(out[k] && ox_requires_grad(out[k]) && !ox_is_leaf(out[k]));
        ox_tensor *sum = ox_add(out[0], ox_mul(out[1], ox_number(10)));
        sum = ox_add(sum, ox_add(ox_mul(out[2], x), ox_add(out[3], out[4])));
        CHECK(ox_backward(ox_sum(ox_mul(sum, line(1, 1, 2)), OX_ALL_DIMS, false), NULL) == OX_OK);
        ARE(ox_gradient(x), 1 + 20 + 3 + 4, 2 + 10 + 10 + 16);
        ARE(ox_gradient(w), 1, 4);
        CHECK(ox_is_leaf(x) && ox_is_leaf(w));
    }
    CHECK_NO_TENSORS();
}

static ox_status run_same_product(ox_tensor *const *in, ox_tensor **out, void *user) {
    out[0] = ox_mul(in[0], (ox_tensor *)user);
    return out[0] ? OX_OK : ox_error();
}

/* Thousands, each of the one before, are released without recursion. */
static void test_many_checkpoints(void) {
    ox_tensor *x = leaf(2, 1, 0), *y = ox_retain(x), *w = leaf(2, 1, 0);
    for (int i = 0; i < 20000 && y; i++) {
        ox_tensor *next = NULL;
        CHECK(ox_checkpoint(run_same_product, w, &y, 1, &next, 1) == OX_OK);
        ox_release(y);
        y = next;
    }
    ox_tensor *sum = total(y);
    CHECK(ox_backward(sum, NULL) == OX_OK);
    ARE(ox_gradient(w), 20000, 20000);
    ox_release(sum);
    ox_release(y);
    ox_release(x);
    ox_release(w);
    CHECK_NO_TENSORS();
}

int main(void) {
    test_checkpoint();
    test_checkpoint_again();
    test_checkpoint_uses();
    test_checkpoint_same();
    test_many_checkpoints();
    CHECK(ox_memory_get_stats().bad_releases == 0);
    return check_done("checkpoint");
}
