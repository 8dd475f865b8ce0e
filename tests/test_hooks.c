/* test_hooks.c - hooks of gradients, of leaves and of operations, kept gradients; which of them hear what
 * when bases and views are changed in place, as PyTorch has it (numbers from there; tests/torch_graphs.py
 * compares random programs).
 * OX_TSAN
 */
#include "oxtorch_nn.h"
#include "leaves.h"

static ox_tensor *doubled(ox_tensor *g, void *user) {
    (*(int *)user)++;
    return ox_mul(g, ox_number(2));
}
static ox_tensor *looked(ox_tensor *g, void *user) {
    *(double *)user = ox_item(total(g));
    return NULL;
}
static ox_tensor *misshapen(ox_tensor *g, void *user) {
    (void)user;
    return ox_sum(g, OX_ALL_DIMS, false);
}
static void stepped(ox_tensor *x, void *user) {
    (*(int *)user)++;
    CHECK(ox_is_leaf(x) && ox_gradient(x));
    OX_NO_GRAD CHECK(ox_add_scaled_(x, ox_gradient(x), -0.5) != NULL);
    CHECK(ox_set_gradient(x, NULL) == OX_OK);
}

static void test_hooks(void) {
    OX_SCOPE {
        int calls = 0, steps = 0;
        double seen = 0;
        ox_tensor *x = leaf(2, 1, 1), *y = ox_mul(x, x);
        int64_t first = ox_register_hook(x, doubled, &calls), other = ox_register_hook(y, looked, &seen);
        CHECK(first > 0 && other > first);
        CHECK(ox_retain_gradient(y) == OX_OK);
        CHECK(ox_backward(total(ox_add(ox_mul(y, ox_number(3)), x)), NULL) == OX_OK);
        CHECK(calls == 1 && seen == 6);
        ARE(ox_gradient(x), 14, 26); /* 2 (6 x + 1) */
        ARE(ox_gradient(y), 3, 3);
        ox_remove_hook(x, first);
        CHECK(ox_set_gradient(x, NULL) == OX_OK);
        int64_t step = ox_register_accumulated_hook(x, stepped, &steps);
        CHECK(step > 0 && ox_backward(total(x), NULL) == OX_OK && calls == 1 && steps == 1);
        CHECK(!ox_gradient(x));
        ARE(ox_detach(x), 0.5, 1.5);
        ox_remove_hook(x, step);
        CHECK(ox_register_accumulated_hook(y, stepped, &steps) == 0);
        refused(ox_error(), OX_ERR_ARG, "only leaves do");
        CHECK(ox_register_hook(ox_ones(OX_SHAPE(1), OX_F64), doubled, &calls) == 0);
        refused(ox_error(), OX_ERR_ARG, "wants no gradient");
        CHECK(ox_register_hook(x, misshapen, NULL) > 0);
        refused(ox_backward(total(x), NULL), OX_ERR_SHAPE, "a hook made");
    }
}

/* Second gradients of logsumexp go through its result: a hook there, which doubles, changes them. */
static void test_hook_of_logsumexp(void) {
    for (int wide = 0; wide < 2; wide++) OX_SCOPE {
            int calls = 0;
            ox_grad_desc desc;
            memset(&desc, 0, sizeof desc);
            desc.create_graph = true;
            ox_tensor *x = ox_requires_grad_(ox_arange(0, 3, 1, wide ? OX_F64 : OX_F32), true);
            ox_tensor *first, *second, *y = ox_logsumexp(x, OX_ALL_DIMS, false);
            CHECK(ox_register_hook(y, doubled, &calls) > 0);
            CHECK(ox_grad(&y, 1, &x, 1, &desc, &first) == OX_OK && calls == 1);
            ox_tensor *one = ox_select(first, 0, 0);
            CHECK(ox_grad(&one, 1, &x, 1, NULL, &second) == OX_OK && calls == 2);
            for (int i = 0; i < 3; i++) { /* 2 p_0 (1 - 2 p_0), then -4 p_0 p_i */
                double sum = 1 + exp(1) + exp(2), p = 1 / sum, want = -4 * p * exp(i) / sum + (i ? 0 : 2 * p);
                CHECK(fabs(ox_item(ox_select(second, 0, i)) - want) < 1e-7);
            }
        }
}

static ox_status swapped(ox_tensor **in, int in_count, ox_tensor *const *out, int out_count, void *user) {
    ox_tensor *first = in[0];
    (*(int *)user)++;
    CHECK(in_count == 2 && out_count == 1 && out[0]);
    ARE(out[0], 1, 1);
    in[0] = in[1];
    in[1] = first;
    return OX_OK;
}
static ox_status shortened(ox_tensor **in, int in_count, ox_tensor *const *out, int out_count, void *user) {
    (void)in_count, (void)out, (void)out_count, (void)user;
    in[0] = ox_sum(in[0], OX_ALL_DIMS, false);
    return OX_OK;
}
static ox_status broken(ox_tensor **in, int in_count, ox_tensor *const *out, int out_count, void *user) {
    (void)in, (void)in_count, (void)out, (void)out_count, (void)user;
    return OX_ERR_IO;
}

/* The gradient of an operand is whole, also where it could be added to what came before. */
static ox_status sized(ox_tensor **in, int in_count, ox_tensor *const *out, int out_count, void *user) {
    (void)in_count, (void)out, (void)out_count;
    (*(int *)user)++;
    ARE(in[0], 0, 1, 1);
    return OX_OK;
}

static void test_operation_hooks(void) {
    OX_SCOPE {
        int calls = 0;
        ox_tensor *a = leaf(2, 1, 1), *b = leaf(2, 5, 1), *y = ox_mul(a, b);
        int64_t number = ox_register_operation_hook(y, swapped, &calls);
        ox_backward_desc again;
        memset(&again, 0, sizeof again);
        again.retain_graph = true;
        CHECK(number > 0 && ox_backward(total(y), &again) == OX_OK && calls == 1);
        ARE(ox_gradient(a), 1, 2); /* 5, 6 without */
        ARE(ox_gradient(b), 5, 6);
        ox_remove_hook(y, number);
        CHECK(ox_backward(total(y), &again) == OX_OK && calls == 1);
        ARE(ox_gradient(a), 6, 8);
        number = ox_register_operation_hook(y, shortened, NULL);
        refused(ox_backward(total(y), &again), OX_ERR_SHAPE, "a hook of mul made");
        ox_remove_hook(y, number);
        CHECK(ox_register_operation_hook(y, broken, NULL) > 0);
        refused(ox_backward(total(y), &again), OX_ERR_IO, "a hook of mul failed");
        ox_tensor *x = leaf(3, 1, 1), *part = ox_slice(x, 0, 1, 3, 1);
        calls = 0;
        CHECK(ox_register_operation_hook(part, sized, &calls) > 0);
        CHECK(ox_backward(ox_add(total(part), total(ox_mul(x, x))), NULL) == OX_OK && calls == 1);
        ARE(ox_gradient(x), 2, 5, 7);
        CHECK(ox_register_operation_hook(a, swapped, &calls) == 0);
        refused(ox_error(), OX_ERR_ARG, "no operation");
        CHECK(ox_register_operation_hook(y, NULL, NULL) == 0);
        refused(ox_error(), OX_ERR_ARG, "no function");
    }
}

/* ---- changes in place ---------------------------------------------------------------------------------- */

/* What a hook has heard: calls, and the last gradient. */
typedef struct hearing {
    int calls;
    double last[4];
} hearing;
static ox_tensor *heard(ox_tensor *g, void *user) {
    hearing *h = (hearing *)user;
    h->calls++;
    CHECK(ox_to_doubles(g, h->last, 4) == OX_OK);
    return NULL;
}
static bool hears(const hearing *h, double a, double b, double c, double d) {
    return h->calls == 1 && h->last[0] == a && h->last[1] == b && h->last[2] == c && h->last[3] == d;
}

static void test_base_of_changed_view(void) {
    OX_SCOPE { /* a base hears of its views, of one that was changed too */
        hearing before = {0, {0}}, after = {0, {0}};
        ox_tensor *x = leaf(4, 1, 1), *base = ox_mul(x, ox_number(1)), *view = ox_narrow(base, 0, 0, 2);
        CHECK(ox_register_hook(base, heard, &before) > 0);
        CHECK(ox_mul_(view, ox_number(10)) == view);
        CHECK(ox_register_hook(base, heard, &after) > 0 && ox_retain_gradient(base) == OX_OK);
        CHECK(ox_backward(total(ox_mul(view, ox_number(3))), NULL) == OX_OK);
        CHECK(hears(&after, 3, 3, 0, 0) && hears(&before, 30, 30, 0, 0));
        ARE(ox_gradient(base), 3, 3, 0, 0);
        ARE(ox_gradient(x), 30, 30, 0, 0);
    }
    OX_SCOPE { /* overwritten: what the base was has no part there; what is kept is of the base now */
        ox_tensor *x = leaf(4, 1, 1), *w = leaf(2, 5, 1), *base = ox_mul(x, ox_number(2));
        ox_tensor *view = ox_narrow(base, 0, 1, 2);
        CHECK(ox_retain_gradient(base) == OX_OK && ox_copy_(view, w) == view);
        CHECK(ox_backward(total(ox_add(total(ox_square(base)), view)), NULL) == OX_OK);
        ARE(ox_gradient(base), 8, 21, 25, 32);
        ARE(ox_gradient(x), 16, 0, 0, 64);
        ARE(ox_gradient(w), 21, 25);
    }
}

static void test_changed_view(void) {
    OX_SCOPE { /* a view's hook from before hears of earlier uses alone; what is kept is of the view now */
        hearing view_before = {0, {0}}, view_after = {0, {0}};
        ox_tensor *x = leaf(4, 1, 1), *base = ox_mul(x, ox_number(1));
        ox_tensor *view = ox_view(base, OX_SHAPE(2, 2)), *early = ox_mul(view, ox_number(5));
        CHECK(ox_register_hook(view, heard, &view_before) > 0 && ox_retain_gradient(view) == OX_OK);
        CHECK(ox_mul_(view, ox_number(10)) == view);
        CHECK(ox_register_hook(view, heard, &view_after) > 0);
        ox_tensor *late = ox_mul(view, ox_number(3));
        CHECK(ox_backward(ox_add(total(early), ox_add(total(late), total(base))), NULL) == OX_OK);
        CHECK(hears(&view_before, 5, 5, 5, 5) && hears(&view_after, 3, 3, 3, 3));
        ARE(ox_gradient(view), 3, 3, 3, 3);
        ARE(ox_gradient(x), 45, 45, 45, 45);
    }
    OX_SCOPE { /* added to itself: as what is added it is an earlier use */
        int calls = 0;
        ox_tensor *x = leaf(2, 1, 1), *view = ox_narrow(ox_mul(x, ox_number(1)), 0, 0, 2);
        CHECK(ox_register_hook(view, doubled, &calls) > 0 && ox_add_(view, view) == view);
        CHECK(ox_backward(total(view), NULL) == OX_OK && calls == 1);
        ARE(ox_gradient(x), 3, 3);
    }
    OX_SCOPE { /* views of views, one number of an expanded one */
        ox_tensor *x = leaf(1, 2, 0), *base = ox_mul(x, ox_number(1)), *wide = ox_expand(base, OX_SHAPE(3));
        ox_tensor *one = ox_narrow(ox_narrow(wide, 0, 1, 2), 0, 0, 1);
        CHECK(ox_square_(one) == one);
        CHECK(ox_backward(ox_add(total(wide), total(base)), NULL) == OX_OK);
        ARE(base, 4);
        ARE(ox_gradient(x), 16);
    }
    OX_SCOPE { /* expanded ones may be filled (PyTorch refuses the backward of this) */
        ox_tensor *x = leaf(2, 1, 1), *base = ox_mul(x, ox_number(1));
        ox_tensor *wide = ox_expand(ox_view(base, OX_SHAPE(2, 1)), OX_SHAPE(2, 3));
        CHECK(ox_fill_(ox_select(wide, 0, 1), 7) && !ox_mul_(wide, ox_number(2)));
        refused(ox_error(), OX_ERR_ARG, "share memory");
        CHECK(ox_backward(total(ox_mul(wide, ox_number(3))), NULL) == OX_OK);
        ARE(base, 1, 7);
        ARE(ox_gradient(x), 9, 0);
    }
    OX_SCOPE { /* a matrix that became its transpose is no view: its hooks hear of the change */
        int calls = 0;
        ox_tensor *x = leaf(4, 1, 1), *m = ox_mul(ox_view(x, OX_SHAPE(2, 2)), ox_number(1));
        CHECK(ox_t_(m) == m && ox_register_hook(m, doubled, &calls) > 0);
        CHECK(ox_mul_(m, ox_number(2)) == m);
        CHECK(ox_backward(total(m), NULL) == OX_OK && calls == 1);
        ARE(ox_gradient(x), 4, 4, 4, 4);
    }
}

/* Hooks go although what they hear of is another node by now. */
static void test_removed(void) {
    OX_SCOPE {
        int calls = 0;
        ox_tensor *x = leaf(2, 1, 1), *y = ox_mul(x, ox_number(1)), *view = ox_narrow(y, 0, 0, 1);
        int64_t of_y = ox_register_hook(y, doubled, &calls), again = ox_register_hook(y, doubled, &calls);
        int64_t of_view = ox_register_hook(view, doubled, &calls);
        ox_tensor *early = total(view);
        CHECK(ox_mul_(y, ox_number(3)) == y);
        ox_remove_hook(y, of_y);
        ox_remove_hook(view, of_view);
        ox_remove_hook(view, again); /* it is y's */
        CHECK(ox_backward(ox_add(total(y), early), NULL) == OX_OK && calls == 1);
        ARE(ox_gradient(x), 8, 6);
        CHECK(ox_t_(ox_set_gradient(x, NULL) == OX_OK ? y : NULL) == y);
        ox_remove_hook(y, again);
    }
    OX_SCOPE { /* a tape that goes before its hooks, and hooks before their tape */
        int calls = 0;
        ox_tensor *x = leaf(2, 1, 1), *y = ox_mul(x, ox_number(1)), *z = ox_square(y);
        CHECK(ox_register_hook(y, doubled, &calls) > 0);
        ox_tensor *kept = ox_retain(z);
        ox_detach_(y);
        CHECK(ox_backward(total(kept), NULL) == OX_OK && calls == 1);
        ox_release(kept);
        ARE(ox_gradient(x), 4, 8);
    }
}

/* ox_grad leaves leaves alone, but results that keep their gradient keep it. */
static void test_kept_by_grad(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(2, 1, 1), *y = ox_mul(x, ox_number(3)), *z = total(ox_square(y)), *g;
        CHECK(ox_retain_gradient(y) == OX_OK && ox_grad(&z, 1, &x, 1, NULL, &g) == OX_OK);
        ARE(ox_gradient(y), 6, 12);
        ARE(g, 18, 36);
        CHECK(!ox_gradient(x));
    }
}

int main(void) {
    test_hooks();
    test_hook_of_logsumexp();
    test_operation_hooks();
    test_base_of_changed_view();
    test_changed_view();
    test_removed();
    test_kept_by_grad();
    CHECK_NO_TENSORS();
    CHECK(ox_memory_get_stats().bad_releases == 0);
    return check_done("hooks");
}
