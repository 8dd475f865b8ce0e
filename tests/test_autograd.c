/* test_autograd.c - the tape and the engine: leaves, sums of gradients, views and changes in place as PyTorch
 * follows them, modes, what is saved, graphs that are gone, functions of one's own, checkpoints, gradients of
 * gradients, and that nothing is left. (Hooks: test_hooks.c; the gradients of each row: test_gradients.c)
 * OX_TSAN
 */
#include "oxtorch_nn.h"
#include "leaves.h"

#include <stdlib.h>

/* ---- leaves -------------------------------------------------------------------------------------------- */

static void test_leaves(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(3, 1, 1), *y = ox_mul(x, x);
        CHECK(ox_requires_grad(x) && ox_is_leaf(x) && ox_requires_grad(y) && !ox_is_leaf(y));
        CHECK(ox_backward(total(y), NULL) == OX_OK);
        ARE(ox_gradient(x), 2, 4, 6);
        CHECK(ox_gradient(y) == NULL);
        /* a second one is added */
        CHECK(ox_backward(total(ox_exp(ox_sub(x, x))), NULL) == OX_OK);
        ARE(ox_gradient(x), 2, 4, 6);
        CHECK(ox_backward(total(ox_square(x)), NULL) == OX_OK);
        ARE(ox_gradient(x), 4, 8, 12);
        CHECK(ox_set_gradient(x, NULL) == OX_OK && ox_gradient(x) == NULL);
        /* the leaf itself */
        ox_tensor *one = leaf(1, 5, 0);
        CHECK(ox_backward(one, NULL) == OX_OK);
        ARE(ox_gradient(one), 1);
    }
    OX_SCOPE {
        ox_tensor *x = leaf(2, 1, 1), *n = line(7, 1, 2);
        ox_tensor *y = ox_mul(x, n), *plain = ox_mul(n, n);
        CHECK(!ox_requires_grad(plain) && ox_is_leaf(plain));
        refused(ox_backward(total(plain), NULL), OX_ERR_ARG, "wants no gradient");
        refused(ox_backward(y, NULL), OX_ERR_ARG, "2 elements");
        CHECK(ox_requires_grad_(ox_ones(OX_SHAPE(2), OX_I32), true) == NULL);
        refused(ox_error(), OX_ERR_DTYPE, "only floats");
        CHECK(ox_requires_grad_(y, false) == NULL);
        refused(ox_error(), OX_ERR_ARG, "is a result");
        ox_backward_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.gradient = line(10, 90, 2);
        CHECK(ox_backward(y, &desc) == OX_OK);
        ARE(ox_gradient(x), 70, 800);
        desc.gradient = ox_ones(OX_SHAPE(3), OX_F64);
        refused(ox_backward(ox_mul(x, n), &desc), OX_ERR_SHAPE, "gradient");
        refused(ox_set_gradient(x, desc.gradient), OX_ERR_SHAPE, "gradient");
        refused(ox_set_gradient(x, ox_ones(OX_SHAPE(2), OX_F32)), OX_ERR_DTYPE, "gradient");
        refused(ox_backward(NULL, NULL), OX_ERR_ARG, "NULL");
    }
}

/* Broadcast operands get sums, other dtypes are converted back. */
static void test_shapes(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(3, 1, 1), *wide = ox_expand(ox_unsqueeze(x, 0), OX_SHAPE(4, 3));
        ox_tensor *column = ox_requires_grad_(ox_full(OX_SHAPE(4, 1), 2, OX_F64), true);
        ox_tensor *number = ox_requires_grad_(ox_full(OX_SCALAR_SHAPE, 3, OX_F64), true);
        CHECK(ox_backward(total(ox_mul(ox_mul(wide, column), number)), NULL) == OX_OK);
        ARE(ox_gradient(x), 24, 24, 24);
        ARE(ox_gradient(column), 18, 18, 18, 18);
        ARE(ox_gradient(number), 48);
        ox_tensor *narrow = ox_requires_grad_(ox_ones(OX_SHAPE(2), OX_F16), true);
        CHECK(ox_backward(total(ox_mul(ox_cast(narrow, OX_F32), ox_number(3))), NULL) == OX_OK);
        CHECK(ox_gradient(narrow) && ox_gradient(narrow)->dtype == OX_F16);
        ARE(ox_gradient(narrow), 3, 3);
        ox_tensor *mixed = ox_requires_grad_(ox_ones(OX_SHAPE(2), OX_F32), true);
        CHECK(ox_backward(total(ox_mul(mixed, leaf(2, 4, 1))), NULL) == OX_OK);
        CHECK(ox_gradient(mixed) && ox_gradient(mixed)->dtype == OX_F32);
        ARE(ox_gradient(mixed), 4, 5);
        ox_tensor *empty = ox_requires_grad_(ox_ones(OX_SHAPE(0, 3), OX_F64), true);
        CHECK(ox_backward(total(ox_mul(empty, leaf(3, 1, 1))), NULL) == OX_OK);
        CHECK(ox_gradient(empty) && ox_numel(ox_gradient(empty)) == 0);
    }
}

/* An input that no output depends on, made of what they depend on: nothing waits for it, hooks run. */
static ox_tensor *twice_of(ox_tensor *g, void *user) {
    (void)user;
    return ox_mul_number(g, 2);
}
static void test_unused_result(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(3, 1, 1), *y = ox_square(x), *aside = ox_exp(y);
        ox_tensor *outputs[2], *inputs[2], *grads[2];
        CHECK(ox_register_hook(x, twice_of, NULL) > 0);
        outputs[0] = total(ox_mul_number(y, 3));
        outputs[1] = total(x);
        inputs[0] = aside;
        inputs[1] = x;
        ox_grad_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.allow_unused = desc.retain_graph = true;
        CHECK(ox_grad(outputs, 2, inputs, 2, &desc, grads) == OX_OK && !grads[0]);
        ARE(grads[1], 14, 26, 38);
        desc.allow_unused = false;
        refused(ox_grad(outputs, 2, inputs, 2, &desc, grads), OX_ERR_ARG, "");
    }
}

/* Leaves that share what comes to them do not share their gradients' memory. */
static void test_no_sharing(void) {
    OX_SCOPE {
        ox_tensor *a = leaf(2, 1, 1), *b = leaf(2, 1, 1), *y = ox_add(a, b);
        for (int i = 0; i < 3; i++) CHECK(ox_backward(total(ox_add(a, b)), NULL) == OX_OK);
        ARE(ox_gradient(a), 3, 3);
        ARE(ox_gradient(b), 3, 3);
        ox_backward_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.gradient = ox_ones(OX_SHAPE(2), OX_F64);
        desc.retain_graph = true;
        CHECK(ox_backward(y, &desc) == OX_OK && ox_backward(y, &desc) == OX_OK);
        ARE(desc.gradient, 1, 1);
        ARE(ox_gradient(a), 5, 5);
    }
}

/* ---- graphs -------------------------------------------------------------------------------------------- */

static void test_released(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(2, 1, 1), *y = total(ox_exp(x)), *sum = total(ox_add(x, x));
        ox_backward_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.retain_graph = true;
        CHECK(ox_backward(y, &desc) == OX_OK && ox_backward(y, NULL) == OX_OK);
        refused(ox_backward(y, NULL), OX_ERR_ARG, "retain_graph");
        ARE(ox_gradient(x), 2 * 2.718281828459045, 2 * 7.38905609893065);
        /* what saves nothing can go twice, as in PyTorch */
        CHECK(ox_backward(sum, NULL) == OX_OK && ox_backward(sum, NULL) == OX_OK);
    }
}

/* A chain longer than a stack is deep, and a node that many reach. */
static void test_long(void) {
    enum { LENGTH = 200000 };
    OX_SCOPE {
        ox_tensor *x = leaf(1, 2, 0), *y = ox_retain(x);
        for (int i = 0; i < LENGTH; i++) {
            ox_tensor *next = NULL;
            OX_SCOPE next = ox_retain(ox_add(y, x));
            ox_release(y);
            y = next;
        }
        CHECK(ox_backward(y, NULL) == OX_OK);
        ARE(ox_gradient(x), LENGTH + 1);
        ox_release(y);
    }
}

/* Sums of three gradients are added in one order: later users first. */
static void test_order(void) {
    OX_SCOPE {
        const double parts[3] = {1e16, 1, -1e16};
        ox_tensor *x = leaf(1, 1, 0), *y = ox_mul(x, ox_number(1)), *sum = NULL;
        for (int i = 0; i < 3; i++) {
            ox_tensor *term = ox_mul(y, ox_from_data(&parts[i], OX_SHAPE(1), OX_F64));
            sum = sum ? ox_add(sum, term) : term;
        }
        CHECK(ox_backward(sum, NULL) == OX_OK);
        CHECK(ox_item(ox_gradient(x)) == (-1e16 + 1) + 1e16);
    }
}

static void test_grad(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(2, 3, 1), *w = leaf(2, 10, 1), *unused = leaf(1, 0, 0);
        ox_tensor *middle = ox_mul(x, w), *y = total(ox_square(middle)), *in[4], *g[4];
        ox_grad_desc desc;
        memset(&desc, 0, sizeof desc);
        in[0] = middle;
        in[1] = w;
        in[2] = unused;
        in[3] = middle;
        desc.retain_graph = true;
        refused(ox_grad(&y, 1, in, 3, &desc, g), OX_ERR_ARG, "input 3");
        CHECK(!g[0] && !g[1] && !g[2]);
        desc.allow_unused = true;
        CHECK(ox_grad(&y, 1, in, 4, &desc, g) == OX_OK);
        ARE(g[0], 60, 88);
        ARE(g[1], 180, 352);
        CHECK(!g[2]);
        ARE(g[3], 60, 88);
        CHECK(!ox_gradient(x) && !ox_gradient(w));
        /* only some leaves */
        ox_backward_desc only;
        ox_tensor *two[2];
        memset(&only, 0, sizeof only);
        only.inputs = two;
        only.input_count = 2;
        two[0] = w;
        two[1] = middle; /* a result keeps its gradient, too */
        CHECK(ox_backward(y, &only) == OX_OK && !ox_gradient(x));
        ARE(ox_gradient(w), 180, 352);
        ARE(ox_gradient(middle), 60, 88);
        /* an input that is an output */
        ox_tensor *z = total(x);
        in[0] = z;
        CHECK(ox_grad(&z, 1, in, 1, NULL, g) == OX_OK);
        ARE(g[0], 1);
    }
}

/* ---- changes in place ---------------------------------------------------------------------------------- */

static void test_in_place(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(3, 1, 1);
        CHECK(!ox_add_(x, ox_number(1)));
        refused(ox_error(), OX_ERR_ARG, "OX_NO_GRAD");
        CHECK(!ox_mul_(ox_narrow(x, 0, 0, 2), ox_number(2)));
        refused(ox_error(), OX_ERR_ARG, "by a view of it");
        ARE(ox_detach(x), 1, 2, 3);
        /* a result that is multiplied in place, before and behind others that use it */
        ox_tensor *y = ox_add(x, x), *before = ox_add(y, ox_number(0));
        CHECK(ox_mul_(y, ox_number(3)) == y);
        CHECK(ox_backward(total(ox_add(ox_mul(y, ox_number(5)), before)), NULL) == OX_OK);
        ARE(ox_gradient(x), 32, 32, 32);
    }
    OX_SCOPE { /* what was saved is found to be changed */
        ox_tensor *x = leaf(2, 1, 1), *y = ox_exp(x), *z = total(ox_mul(y, y));
        CHECK(ox_add_(y, ox_number(1)) == y);
        refused(ox_backward(z, NULL), OX_ERR_ARG, "changed in place");
        ox_tensor *w = leaf(2, 1, 1), *v = total(ox_mul(ox_exp(x), w));
        OX_NO_GRAD CHECK(ox_add_(w, ox_number(1)) == w);
        refused(ox_backward(v, NULL), OX_ERR_ARG, "changed in place by add_");
    }
    OX_SCOPE { /* what is written over is copied where its gradient needs it */
        ox_tensor *x = leaf(2, 1, 1), *y = ox_add(x, ox_number(0)), *w = leaf(2, 3, 1);
        CHECK(ox_square_(y) == y && ox_mul_(y, w) == y);
        CHECK(ox_backward(total(y), NULL) == OX_OK);
        ARE(ox_gradient(x), 6, 16);
        ARE(ox_gradient(w), 1, 4);
    }
    OX_SCOPE { /* a tensor without a gradient that gets one in place, and one that loses it */
        ox_tensor *x = leaf(2, 1, 1), *y = ox_zeros(OX_SHAPE(2), OX_F64), *again = ox_contiguous(y);
        CHECK(ox_add_(y, x) == y && ox_requires_grad(y) && !ox_is_leaf(y));
        CHECK(ox_requires_grad(again));
        CHECK(ox_backward(total(ox_square(again)), NULL) == OX_OK);
        ARE(ox_gradient(x), 2, 4);
        CHECK(ox_zero_(y) == y && ox_requires_grad(y)); /* and its gradient is zeros */
        CHECK(ox_set_gradient(x, NULL) == OX_OK && ox_backward(total(y), NULL) == OX_OK);
        ARE(ox_gradient(x), 0, 0);
    }
}

static void test_views(void) {
    OX_SCOPE { /* a view written to, seen by its base and by another view */
        ox_tensor *x = leaf(4, 1, 1), *base = ox_mul(x, ox_number(1));
        ox_tensor *first = ox_narrow(base, 0, 0, 2), *middle = ox_narrow(base, 0, 1, 2);
        CHECK(ox_mul_(first, ox_number(10)) == first);
        CHECK(ox_backward(total(ox_mul(base, line(1, 1, 4))), NULL) ==
              OX_OK);
        ARE(ox_gradient(x), 10, 20, 3, 4);
        CHECK(ox_set_gradient(x, NULL) == OX_OK);
        CHECK(ox_backward(total(ox_square(middle)), NULL) == OX_OK);
        ARE(ox_gradient(x), 0, 400, 6, 0); /* (10 x)^2 and x^2 */
    }
    OX_SCOPE { /* a view of a view, transposed; the base was made of nothing */
        ox_tensor *x = leaf(2, 3, 1), *base = ox_zeros(OX_SHAPE(2, 3), OX_F64);
        ox_tensor *row = ox_select(ox_transpose(base, 0, 1), 0, 1);
        CHECK(ox_copy_(row, x) == row);
        CHECK(ox_requires_grad(base));
        ox_tensor *y = total(ox_square(ox_add(base, ox_number(1))));
        CHECK(ox_backward(y, NULL) == OX_OK);
        ARE(ox_gradient(x), 8, 10);
    }
    OX_SCOPE { /* the base written to makes its views stale */
        ox_tensor *x = leaf(3, 1, 1), *base = ox_add(x, ox_number(0)), *view = ox_narrow(base, 0, 1, 2);
        CHECK(ox_mul_(base, ox_number(7)) == base);
        CHECK(ox_backward(total(view), NULL) == OX_OK);
        ARE(ox_gradient(x), 0, 7, 7);
    }
    OX_SCOPE { /* a column overwritten by what has no gradient */
        ox_tensor *x = leaf(4, 1, 1), *base = ox_add(ox_view(x, OX_SHAPE(2, 2)), ox_number(0));
        CHECK(ox_copy_(ox_select(base, 1, 0), ox_ones(OX_SHAPE(2), OX_F64)) != NULL);
        CHECK(ox_backward(total(ox_square(base)), NULL) == OX_OK);
        ARE(ox_gradient(x), 0, 4, 0, 8);
    }
    OX_SCOPE { /* views made under OX_NO_GRAD are not followed, and writing to them is refused */
        ox_tensor *x = leaf(3, 1, 1), *base = ox_add(x, ox_number(0)), *view = NULL;
        OX_NO_GRAD view = ox_narrow(base, 0, 1, 2);
        CHECK(!ox_requires_grad(view) && !ox_mul_(view, ox_number(2)));
        refused(ox_error(), OX_ERR_ARG, "nothing was recorded");
    }
    OX_SCOPE { /* detached: the same memory, no gradient */
        ox_tensor *x = leaf(3, 1, 1), *d = ox_detach(x);
        CHECK(!ox_requires_grad(d) && d->storage == x->storage && ox_is_leaf(d));
        CHECK(ox_requires_grad(ox_contiguous(x)) && ox_is_leaf(ox_contiguous(x)));
        CHECK(ox_backward(total(ox_square(ox_cast(x, OX_F64))), NULL) == OX_OK);
        ARE(ox_gradient(x), 2, 4, 6);
        ARE(ox_gradient(ox_contiguous(x)), 2, 4, 6);
    }
}

/* ---- modes --------------------------------------------------------------------------------------------- */

static void test_modes(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(2, 1, 1), *y = NULL, *z = NULL;
        CHECK(ox_is_grad_enabled());
        OX_NO_GRAD {
            CHECK(!ox_is_grad_enabled());
            y = ox_mul(x, x);
            OX_ENABLE_GRAD z = ox_mul(x, x);
            CHECK(!ox_is_grad_enabled());
        }
        CHECK(ox_is_grad_enabled() && !ox_requires_grad(y) && ox_requires_grad(z));
        for (int i = 0; i < 2; i++) OX_NO_GRAD {
                if (i == 0) continue; /* left like OX_SCOPE */
                break;
            }
        CHECK(ox_is_grad_enabled());
        OX_NO_GRAD CHECK(ox_add_(x, ox_number(1)) == x);
        ARE(ox_detach(x), 2, 3);
    }
}

static void test_inference(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(2, 1, 1), *made = NULL, *view = NULL, *y;
        OX_INFERENCE_MODE {
            CHECK(ox_is_inference_mode_enabled() && !ox_is_grad_enabled());
            OX_ENABLE_GRAD made = ox_mul(x, x);
            view = ox_slice(x, 0, 0, 1, 1);
            CHECK(ox_add_(made, ox_number(1)) == made);
            ox_inference_scope plain = ox_inference_scope_begin(false);
            y = ox_mul(x, x);
            CHECK(!ox_is_inference_mode_enabled() && ox_requires_grad(y) && !ox_is_inference(y));
            ox_inference_scope_end(&plain);
            CHECK(ox_is_inference_mode_enabled() && !ox_is_grad_enabled());
        }
        CHECK(!ox_is_inference_mode_enabled() && ox_is_grad_enabled());
        CHECK(ox_is_inference(made) && !ox_requires_grad(made) && !ox_is_inference(view));
        ARE(made, 2, 5);
        CHECK(!ox_mul(x, made)); /* its numbers would be needed */
        refused(ox_error(), OX_ERR_ARG, "an inference tensor");
        y = ox_add(x, made); /* and here they are not */
        CHECK(y && ox_requires_grad(y) && !ox_is_inference(y));
        CHECK(!ox_add_(made, ox_number(1)));
        refused(ox_error(), OX_ERR_ARG, "outside of inference mode");
        CHECK(!ox_requires_grad_(made, true));
        refused(ox_error(), OX_ERR_ARG, "an inference tensor");
        ox_tensor *plain = ox_clone(made);
        CHECK(!ox_is_inference(plain) && ox_backward(total(ox_mul(x, plain)), NULL) == OX_OK);
        ARE(ox_gradient(x), 2, 5);
        for (int i = 0; i < 2; i++) OX_INFERENCE_MODE {
                if (i == 0) continue;
                break;
            }
        CHECK(!ox_is_inference_mode_enabled() && ox_is_grad_enabled());
    }
}

/* y[i] = sum over j of (i + 1) x[j]^2 z[i]: [3] of x [2], z [3] */
static ox_tensor *of_two(ox_tensor *const *in, void *user) {
    (*(int *)user)++;
    ox_tensor *factors = ox_arange(1, 4, 1, OX_F64);
    return ox_mul(ox_mul(factors, total(ox_mul(in[0], in[0]))), in[1]);
}
static ox_tensor *sum_of_two(ox_tensor *const *in, void *user) {
    return total(of_two(in, user));
}
static ox_tensor *constant(ox_tensor *const *in, void *user) {
    (void)in, (void)user;
    return ox_ones(OX_SHAPE(2), OX_F64);
}
static ox_tensor *nothing(ox_tensor *const *in, void *user) {
    (void)in, (void)user;
    return NULL;
}

static void test_functional(void) {
    OX_SCOPE {
        int calls = 0;
        ox_tensor *in[2] = {leaf(2, 1, 1), leaf(3, 4, 1)}, *products[2], *value = NULL; /* 1 2, 4 5 6 */
        ox_tensor *tangents[2] = {leaf(2, 0, 1), leaf(3, 1, 0)}, *v = leaf(3, 0, 1), *made;
        CHECK(ox_vjp(of_two, &calls, in, 2, v, products, &value) == OX_OK && calls == 1);
        ARE(value, 20, 50, 90);
        ARE(products[0], 2 * 46, 4 * 46);
        ARE(products[1], 0, 10, 30);
        CHECK(!ox_gradient(in[0]) && !ox_requires_grad(value) && !ox_requires_grad(products[0]));
        made = ox_jvp(of_two, &calls, in, 2, tangents, &value); /* tangents 0 1, 1 1 1 */
        ARE(value, 20, 50, 90);
        ARE(made, 4 * 4 + 5, 2 * (4 * 5 + 5), 3 * (4 * 6 + 5));
        made = ox_jacobian(of_two, &calls, in, 2, 0);
        CHECK(made && made->ndim == 2 && made->shape[0] == 3 && made->shape[1] == 2);
        ARE(ox_flatten(made, 0, -1), 8, 16, 20, 40, 36, 72);
        made = ox_hessian(sum_of_two, &calls, in, 2, 0, 1);
        ARE(ox_flatten(made, 0, -1), 2, 4, 6, 4, 8, 12);
        made = ox_hessian(sum_of_two, &calls, in, 2, 0, 0);
        ARE(ox_flatten(made, 0, -1), 64, 0, 0, 64);
        ARE(ox_jvp(constant, NULL, in, 2, tangents, NULL), 0, 0);
        made = ox_jacobian(constant, NULL, in, 2, 1);
        ARE(ox_flatten(made, 0, -1), 0, 0, 0, 0, 0, 0);
        ox_tensor *cut = ox_flip(ox_slice(leaf(4, 0, 1), 0, 1, 4, 2), OX_DIMS(0)); /* 3 1 */
        ox_tensor *views[2] = {cut, in[1]};
        CHECK(ox_vjp(of_two, &calls, views, 2, v, products, NULL) == OX_OK);
        ARE(products[0], 6 * 46, 2 * 46);
        CHECK(ox_is_grad_enabled());
        CHECK(!ox_jacobian(nothing, NULL, in, 2, 0));
        refused(ox_error(), OX_ERR_ARG, "gave NULL");
        CHECK(!ox_jacobian(of_two, &calls, in, 2, 2));
        refused(ox_error(), OX_ERR_ARG, "input 2 of 2");
        tangents[0] = tangents[1];
        CHECK(!ox_jvp(of_two, &calls, in, 2, tangents, NULL) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_hessian(of_two, &calls, in, 2, 0, 0));
        refused(ox_error(), OX_ERR_ARG, "3 elements");
        OX_INFERENCE_MODE CHECK(!ox_jacobian(of_two, &calls, in, 2, 0));
        refused(ox_error(), OX_ERR_ARG, "inference mode");
        CHECK(!ox_jacobian(NULL, NULL, in, 2, 0) && ox_is_grad_enabled());
        ox_error_clear();
    }
}

/* What is saved, as f32 on its way. */
typedef struct packed { int packs, unpacks, drops; } packed;
static void *pack(ox_tensor *t, void *user) {
    ((packed *)user)->packs++;
    ox_tensor *narrow = NULL;
    OX_SCOPE narrow = ox_retain(ox_cast(t, OX_F32));
    return narrow;
}
static ox_tensor *unpack(void *t, void *user) {
    ((packed *)user)->unpacks++;
    return ox_cast((ox_tensor *)t, OX_F64);
}
static void drop(void *t, void *user) {
    ((packed *)user)->drops++;
    ox_release((ox_tensor *)t);
}

static void test_saved_hooks(void) {
    static packed count;
    ox_saved_hooks hooks;
    hooks.pack = pack;
    hooks.unpack = unpack;
    hooks.drop = drop;
    hooks.user = &count;
    OX_SCOPE {
        ox_tensor *x = leaf(2, 1, 1);
        CHECK(ox_set_saved_hooks(&hooks) == NULL);
        ox_tensor *y = ox_exp(ox_exp(x)), *z = ox_exp(x),
                  *whole = ox_mul(x, x); /* leaves are kept as they are */
        CHECK(ox_set_saved_hooks(NULL) == &hooks);
        CHECK(count.packs == 3 && count.unpacks == 0);
        CHECK(ox_backward(total(ox_add(y, whole)), NULL) == OX_OK);
        CHECK(count.unpacks == 2 && count.drops == 2);
        CHECK(z && fabs(ox_item(ox_select(ox_gradient(x), 0, 0)) / (exp(1) * exp(exp(1)) + 2) - 1) < 1e-6);
    }
    CHECK(count.drops == 3);
}

/* Hooks may give the variable that they were given, or what shares its numbers. */
static void *pack_same(ox_tensor *t, void *user) {
    (void)user;
    return ox_retain(t);
}
static ox_tensor *unpack_same(void *t, void *user) {
    (void)user;
    return ox_cast((ox_tensor *)t, OX_F64);
}
static void drop_same(void *t, void *user) {
    (void)user;
    ox_release((ox_tensor *)t);
}
static void test_saved_hooks_twice(void) {
    const ox_saved_hooks hooks = {pack_same, unpack_same, drop_same, NULL};
    OX_SCOPE {
        ox_tensor *x = leaf(1, 3, 0), *g = NULL, *gg = NULL;
        ox_grad_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.create_graph = true;
        ox_set_saved_hooks(&hooks);
        ox_tensor *a = ox_mul(x, ox_number(1)), *y = ox_mul(a, ox_mul(a, a));
        CHECK(ox_grad(&y, 1, &x, 1, &desc, &g) == OX_OK);
        ox_set_saved_hooks(NULL);
        CHECK_MSG(ox_grad(&g, 1, &x, 1, NULL, &gg) == OX_OK, "%s", ox_error_text());
        ARE(gg, 18);
    }
    CHECK_NO_TENSORS();
}

static void test_anomaly(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(2, 0, 1), *n = ox_full(OX_SHAPE(2), INFINITY, OX_F64);
        ox_set_detect_anomaly(true);
        refused(ox_backward(total(ox_mul(ox_mul(x, ox_number(0)), n)), NULL), OX_ERR_ARG, "NaN");
        ox_set_detect_anomaly(false);
        CHECK(ox_backward(total(ox_mul(ox_mul(x, ox_number(0)), n)), NULL) == OX_OK);
    }
}

/* ---- gradients of gradients ---------------------------------------------------------------------------- */

static void test_double(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(3, 1, 1), *w = leaf(3, 2, 0), *g = NULL, *gg[2], *in[2];
        ox_tensor *y = total(ox_mul(ox_mul(ox_square(x), x), w)); /* w x^3 */
        ox_grad_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.create_graph = true;
        CHECK(ox_grad(&y, 1, &x, 1, &desc, &g) == OX_OK && ox_requires_grad(g));
        ARE(ox_detach(g), 6, 24, 54);
        ox_tensor *sum = total(g);
        in[0] = x;
        in[1] = w;
        CHECK(ox_grad(&sum, 1, in, 2, NULL, gg) == OX_OK);
        ARE(gg[0], 12, 24, 36);
        ARE(gg[1], 3, 12, 27);
        /* into leaves, and again */
        ox_backward_desc back;
        memset(&back, 0, sizeof back);
        back.create_graph = true;
        ox_tensor *z = total(ox_mul(ox_square(x), x));
        CHECK(ox_backward(z, &back) == OX_OK && ox_requires_grad(ox_gradient(x)));
        ox_tensor *slope = ox_add(ox_gradient(x), ox_number(0));
        CHECK(ox_set_gradient(x, NULL) == OX_OK && ox_backward(total(slope), NULL) == OX_OK);
        ARE(ox_gradient(x), 6, 12, 18);
        CHECK(ox_set_gradient(x, NULL) == OX_OK);
    }
}

static ox_tensor *check_me(ox_tensor *const *in, void *user) {
    ox_tensor *y = ox_mul(ox_exp(ox_mul(in[0], ox_number(0.1))), ox_square(in[1]));
    ox_tensor *part = ox_mul(ox_narrow(y, 0, 1, 2), in[0]->ndim ? ox_narrow(in[0], 0, 0, 2) : in[0]);
    if (!*(int *)user) return part;
    return ox_exp(ox_mul(ox_detach(in[0]), in[0])); /* wrong on purpose: half of the derivative */
}

static void test_gradcheck(void) {
    OX_SCOPE {
        int wrong = 0;
        ox_tensor *in[2], *wide = ox_empty(OX_SHAPE(6), OX_F64);
        CHECK(ox_copy_(wide, ox_arange(1, 7, 1, OX_F64)) != NULL);
        in[0] = ox_requires_grad_(ox_slice(wide, 0, OX_END, OX_END, -2), true); /* strides of its own */
        in[1] = leaf(3, 1, 0.5);
        CHECK_MSG(ox_gradcheck(check_me, &wrong, in, 2, NULL) == OX_OK, "%s", ox_error_text());
        CHECK_MSG(ox_gradgradcheck(check_me, &wrong, in, 2, NULL) == OX_OK, "%s", ox_error_text());
        ARE(wide, 1, 2, 3, 4, 5, 6);
        wrong = 1;
        refused(ox_gradcheck(check_me, &wrong, in, 1, NULL), OX_ERR_ARG, "differences give");
        ox_tensor *half = ox_requires_grad_(ox_ones(OX_SHAPE(1), OX_F16), true);
        refused(ox_gradcheck(check_me, &wrong, &half, 1, NULL), OX_ERR_DTYPE, "f64");
    }
}

/* ---- functions of one's own ---------------------------------------------------------------------------- */

static int dropped;
static ox_status cube_backward(const ox_function_context *c) {
    CHECK(c->wants[0] && !c->wants[1] && c->user == &dropped);
    c->input_gradients[0] = ox_mul(c->gradients[0], ox_mul(ox_square(c->saved[0]), ox_number(3)));
    return c->input_gradients[0] ? OX_OK : ox_error();
}
static ox_status fails(const ox_function_context *c) {
    (void)c;
    return OX_ERR_UNSUPPORTED;
}
static void cube_drop(void *user) { (*(int *)user)++; }
static const ox_function cube = {"cube", cube_backward, cube_drop}, failing = {"failing", fails, NULL};

static void test_function(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(2, 1, 1), *in[2], *y = NULL;
        in[0] = x;
        in[1] = ox_ones(OX_SHAPE(2), OX_F64);
        OX_NO_GRAD y = ox_mul(ox_square(x), x);
        CHECK(ox_attach_function(&cube, &dropped, in, 2, &y, 1, in, 1) == OX_OK && ox_requires_grad(y));
        refused(ox_attach_function(&cube, &dropped, in, 2, &y, 1, in, 1), OX_ERR_ARG, "recorded already");
        CHECK(dropped == 1);
        ox_grad_desc desc;
        ox_tensor *sum = total(y), *g, *gg;
        memset(&desc, 0, sizeof desc);
        desc.create_graph = true;
        CHECK(ox_grad(&sum, 1, &x, 1, &desc, &g) == OX_OK);
        ARE(ox_detach(g), 3, 12);
        sum = total(g);
        CHECK(ox_grad(&sum, 1, &x, 1, NULL, &gg) == OX_OK);
        ARE(gg, 6, 12);
        ox_tensor *bad = NULL;
        OX_NO_GRAD bad = ox_square(x);
        CHECK(ox_attach_function(&failing, NULL, in, 1, &bad, 1, NULL, 0) == OX_OK);
        refused(ox_backward(total(bad), NULL), OX_ERR_UNSUPPORTED, "failing");
    }
    CHECK(dropped == 2);
}

/* An infinite bound is none: what is there has a gradient. */
static void test_clamp_without_bound(void) {
    OX_SCOPE {
        const double numbers[4] = {INFINITY, -INFINITY, 0, 2};
        for (int below = 0; below < 2; below++) {
            ox_tensor *x = ox_requires_grad_(ox_from_doubles(numbers, OX_SHAPE(4), OX_F64), true);
            ox_tensor *y = ox_clamp(x, below ? 0 : -INFINITY, below ? INFINITY : 0);
            ox_backward_desc desc;
            memset(&desc, 0, sizeof desc);
            desc.gradient = ox_ones(OX_SHAPE(4), OX_F64);
            CHECK(ox_backward(y, &desc) == OX_OK);
            if (below)
                ARE(ox_gradient(x), 1, 0, 0, 1);
            else
                ARE(ox_gradient(x), 0, 1, 0, 0);
        }
    }
}

/* A function that gives a view of its input and, under another header, the input. */
static ox_status both_backward(const ox_function_context *c) {
    ox_tensor *turned = ox_flip(c->gradients[0], OX_DIMS(0));
    c->input_gradients[0] = ox_add(ox_mul(turned, ox_number(10)), c->gradients[1]);
    return c->input_gradients[0] ? OX_OK : ox_error();
}
static const ox_function both_views = {"both", both_backward, NULL};

static void test_function_of_views(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(2, 1, 1), *out[2];
        OX_NO_GRAD {
            out[0] = ox_narrow(x, 0, 0, 2);
            out[1] = x; /* which is a leaf, and would become a result */
        }
        refused(ox_attach_function(&both_views, NULL, &x, 1, out, 2, NULL, 0), OX_ERR_ARG, "ox_detach");
        OX_NO_GRAD {
            out[0] = ox_slice(x, 0, 0, 2, 1);
            out[1] = ox_detach(x);
        }
        CHECK(ox_attach_function(&both_views, NULL, &x, 1, out, 2, NULL, 0) == OX_OK);
        CHECK(ox_backward(total(ox_add(ox_mul(out[0], line(1, 1, 2)), out[1])), NULL) == OX_OK);
        ARE(ox_gradient(x), 21, 11);
        CHECK(ox_is_leaf(x) && !ox_is_leaf(out[0]));
        out[1] = out[0];
        refused(ox_attach_function(&both_views, NULL, &x, 1, out, 2, NULL, 0), OX_ERR_ARG, "recorded");
    }
}

/* A function of more results than operations have, and a hook of it. */
static ox_status six_backward(const ox_function_context *c) {
    c->input_gradients[0] = ox_add(c->gradients[0], c->gradients[5]);
    return c->input_gradients[0] ? OX_OK : ox_error();
}
static const ox_function six = {"six", six_backward, NULL};
static ox_status six_heard(ox_tensor **operands, int operand_count, ox_tensor *const *results, int count,
                           void *user) {
    *(bool *)user = operand_count == 1 && operands[0] && count == 6 && results[0] && results[5];
    for (int k = 1; k < 5; k++) CHECK(!results[k]);
    return OX_OK;
}
static void test_function_of_six(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(2, 1, 1), *out[6];
        bool heard = false;
        OX_NO_GRAD for (int k = 0; k < 6; k++) out[k] = ox_mul(x, ox_number(1));
        CHECK(ox_attach_function(&six, NULL, &x, 1, out, 6, NULL, 0) == OX_OK);
        CHECK(ox_register_operation_hook(out[5], six_heard, &heard) > 0);
        CHECK(ox_backward(total(ox_add(out[0], ox_mul(out[5], ox_number(3)))), NULL) == OX_OK && heard);
        ARE(ox_gradient(x), 4, 4);
    }
}

/* A step keeps nothing behind. */
static void test_flat(void) {
    ox_memory_stats first, last;
    memset(&first, 0, sizeof first);
    OX_SCOPE {
        ox_tensor *w = ox_requires_grad_(ox_ones(OX_SHAPE(4, 3), OX_F32), true),
                  *x = ox_ones(OX_SHAPE(5, 4), OX_F32);
        for (int i = 0; i < 40; i++) {
            OX_SCOPE {
                ox_tensor *y = ox_matmul(x, w);
                CHECK(ox_mul_(ox_narrow(y, 1, 0, 2), ox_number(2)) != NULL);
                CHECK(ox_backward(ox_sum(ox_square(y), OX_ALL_DIMS, false), NULL) == OX_OK);
                OX_NO_GRAD CHECK(ox_add_scaled_(w, ox_gradient(w), -1e-4) != NULL);
                CHECK(ox_set_gradient(w, NULL) == OX_OK);
            }
            if (i == 2) first = ox_memory_get_stats();
        }
        last = ox_memory_get_stats();
        CHECK(last.tensors == first.tensors && last.storages == first.storages);
        CHECK(last.bytes_in_use == first.bytes_in_use);
    }
}

/* fmax and fmin: equal operands get half each, what is beside NaN all of it. */
static void test_ties(void) {
    static const double half[3] = {0.5, 1, 0}, other[3] = {0.5, 0, 1};
    OX_SCOPE {
        for (int least = 0; least < 2; least++) {
            ox_tensor *a = leaf(3, 1, least ? -1 : 1), *b = leaf(3, 1, 0), *beside = ox_detach(b);
            ((double *)ox_data(beside))[2] = least ? -9 : 9;
            CHECK(ox_backward(total(least ? ox_fmin(a, b) : ox_fmax(a, b)), NULL) == OX_OK);
            CHECK(are(ox_gradient(a), 3, half) && are(ox_gradient(b), 3, other));
        }
        ox_tensor *a = leaf(2, 1, 1), *b = ox_full_like(a, NAN);
        static const double all[2] = {1, 1};
        CHECK(ox_backward(total(ox_fmax(a, b)), NULL) == OX_OK && are(ox_gradient(a), 2, all));
    }
}

/* Slopes where a function has an edge: those that PyTorch gives. */
static void test_edges(void) {
    OX_SCOPE {
        const double places[] = {NAN, -2, 3, 0};
        ox_tensor *x = ox_requires_grad_(ox_from_doubles(places, OX_SHAPE(4), OX_F64), true);
        CHECK(ox_backward(ox_sum(ox_angle(x), OX_ALL_DIMS, false), NULL) == OX_OK);
        for (int i = 0; i < 4; i++) CHECK(ox_item(ox_select(ox_gradient(x), 0, i)) == 0);
        ox_tensor *zero = ox_requires_grad_(ox_zeros(OX_SHAPE(1), OX_F64), true);
        CHECK(ox_backward(ox_sum(ox_entr(zero), OX_ALL_DIMS, false), NULL) == OX_OK);
        CHECK(ox_item(ox_gradient(zero)) == INFINITY);
        ox_tensor *far = ox_requires_grad_(ox_full(OX_SHAPE(1), INFINITY, OX_F64), true);
        CHECK(ox_backward(ox_sum(ox_digamma(far), OX_ALL_DIMS, false), NULL) == OX_OK);
        CHECK(ox_item(ox_gradient(far)) == 0);
    }
}

/* Gradients of gradients where a function has an edge: 1/4, and none that is NaN. */
static void test_second_edges(void) {
    for (int i = 0; i < 4; i++) OX_SCOPE {
            ox_tensor *a = leaf(2, 0, 0), *b = leaf(2, 0, 0), *y, *g = NULL, *gg = NULL;
            ox_grad_desc desc;
            memset(&desc, 0, sizeof desc);
            desc.create_graph = true;
            y = i < 1 ? ox_logaddexp(a, b) : i < 2 ? ox_atan2(a, b) : ox_norm(a, i, OX_DIMS(0), false);
            y = total(y);
            CHECK(ox_grad(&y, 1, &a, 1, &desc, &g) == OX_OK);
            ox_tensor *sum = total(g);
            CHECK(ox_grad(&sum, 1, &a, 1, NULL, &gg) == OX_OK);
            CHECK(ox_item(ox_select(gg, 0, 0)) == (i < 1 ? 0.25 : 0));
        }
    OX_SCOPE { /* -pi^2 / 3 */
        ox_tensor *x = leaf(1, 0, 0), *y = ox_sinc(x), *g = NULL, *gg = NULL;
        ox_grad_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.create_graph = true;
        CHECK(ox_item(y) == 1 && ox_grad(&y, 1, &x, 1, &desc, &g) == OX_OK && ox_item(g) == 0);
        CHECK(ox_grad(&g, 1, &x, 1, NULL, &gg) == OX_OK);
        ARE(gg, -3.28986813369645287295);
    }
}

/* Results that are changed in place where PyTorch's gradients do not need them. */
static void test_changed_results(void) {
    OX_SCOPE {
        ox_tensor *a = leaf(2, 1, 1), *b = leaf(2, 2, 2), *y = ox_div(a, b);
        CHECK(ox_mul_number_(y, 8) && ox_backward(total(y), NULL) == OX_OK);
        ARE(ox_gradient(a), 4, 2);
        ARE(ox_gradient(b), -2, -1);
        ox_tensor *x = leaf(2, 3, 0), *psi = ox_digamma(x);
        CHECK(ox_mul_number_(psi, 2) && ox_backward(total(psi), NULL) == OX_OK);
        ARE(ox_gradient(x), 0.78986813369645287295, 0.78986813369645287295); /* pi^2 / 3 - 5 / 2 */
    }
}

int main(void) {
    test_edges();
    test_second_edges();
    test_changed_results();
    test_leaves();
    test_ties();
    test_shapes();
    test_no_sharing();
    test_unused_result();
    test_released();
    test_long();
    test_order();
    test_grad();
    test_in_place();
    test_views();
    test_modes();
    test_inference();
    test_functional();
    test_saved_hooks();
    test_saved_hooks_twice();
    test_anomaly();
    test_double();
    test_gradcheck();
    test_function();
    test_function_of_views();
    test_clamp_without_bound();
    test_function_of_six();
    test_flat();
    CHECK_NO_TENSORS();
    CHECK(ox_memory_get_stats().bad_releases == 0);
    return check_done("autograd");
}
