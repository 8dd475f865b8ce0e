/* test_checkpoint.c - checkpoints: what they run again, gradients of what they take and of what else they
 * use, by ox_backward and by ox_grad; checkpoints in checkpoints; the same programs with and without them.
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
        CHECK(out[0] == x && out[2] == w && out[3] == out[4]);
        for (int k = 0; k < 5; k++) CHECK(out[k] && ox_requires_grad(out[k]));
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

/* ---- the same with and without ------------------------------------------------------------------------- */

typedef struct program { ox_tensor *w; int runs, fails, mode; } program;
static bool with_checkpoints;
static double found[2][256];
static int found_count[2];

static ox_status through(ox_checkpoint_function f, program *p, ox_tensor *const *in, int in_count,
                         ox_tensor **out, int out_count) {
    ox_tensor *taken[2];
    if (with_checkpoints) return ox_checkpoint(f, p, in, in_count, out, out_count);
    for (int i = 0; i < in_count; i++) taken[i] = in[i];
    for (int k = 0; k < out_count; k++) out[k] = NULL;
    return f(taken, out, p);
}

/* Numbers of t, or that there is none. */
static void find(ox_tensor *t) {
    int *count = &found_count[with_checkpoints];
    double *at = found[with_checkpoints] + *count;
    at[0] = t ? (double)ox_numel(t) : -1;
    *count += 1 + (int)(t ? ox_numel(t) : 0);
    if (t) CHECK(ox_to_doubles(ox_contiguous(ox_detach(t)), at + 1, (int)ox_numel(t)) == OX_OK);
}

static void find_gradients(ox_tensor *x, ox_tensor *w) {
    find(ox_gradient(x));
    find(ox_gradient(w));
    CHECK(ox_set_gradient(x, NULL) == OX_OK && ox_set_gradient(w, NULL) == OX_OK);
}

static void compare(void (*run)(int kind), int kinds) {
    for (int kind = 0; kind < kinds; kind++) {
        for (int i = 0; i < 2; i++) {
            with_checkpoints = i == 1;
            found_count[i] = 0;
            OX_SCOPE {
                ox_manual_seed(7);
                run(kind);
            }
            CHECK_NO_TENSORS();
        }
        bool same = found_count[0] == found_count[1] && found_count[0] > 0;
        for (int i = 0; i < found_count[0] && same; i++)
            same = fabs(found[0][i] - found[1][i]) <= 1e-12 * (1 + fabs(found[0][i]));
        CHECK_MSG(same, "kind %d: %s", kind, ox_error_text());
    }
}

static ox_status square_times_w(ox_tensor *const *in, ox_tensor **out, void *user) {
    program *p = (program *)user;
    p->runs++;
    out[0] = ox_mul(ox_square(in[0]), p->w);
    return out[0] ? OX_OK : ox_error();
}
static ox_tensor *clamped(ox_tensor *g, void *user) {
    (*(int *)user)++;
    return ox_clamp(g, -20, 20);
}
static void stepped(ox_tensor *t, void *user) {
    (*(int *)user)++;
    OX_NO_GRAD CHECK(ox_add_scaled_(t, ox_gradient(t), -0.1) != NULL);
    CHECK(ox_set_gradient(t, NULL) == OX_OK);
}

/* w, or e^w, in two checkpoints and outside of them, with hooks. */
static void run_captured(int kind) {
    int calls = 0;
    ox_tensor *x = leaf(4, 1, 1), *w = leaf(4, 0.5, 0.1), *y = NULL, *z = NULL;
    program p = {kind & 1 ? ox_exp(w) : w, 0, 0, 0};
    if (kind / 2 == 1) CHECK(ox_register_hook(w, clamped, &calls) > 0);
    if (kind / 2 == 2) CHECK(ox_register_accumulated_hook(w, stepped, &calls) > 0);
    if (kind / 2 == 3) CHECK(ox_retain_gradient(p.w) == OX_OK || kind == 6);
    CHECK(through(square_times_w, &p, &x, 1, &y, 1) == OX_OK);
    CHECK(through(square_times_w, &p, &y, 1, &z, 1) == OX_OK);
    z = total(ox_mul(z, p.w));
    ox_backward_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.retain_graph = kind / 2 != 2;
    CHECK(ox_backward(z, &desc) == OX_OK);
    if (desc.retain_graph) CHECK(ox_backward(z, NULL) == OX_OK);
    if (kind / 2 == 3) find(ox_gradient(p.w));
    find_gradients(x, w);
    find(w);
    CHECK(calls == (kind / 2 == 1 ? 2 : kind / 2 == 2));
    if (kind / 2 != 2) CHECK(p.runs == (with_checkpoints ? 6 : 2)); /* twice more for each backward */
}

/* Of what is asked for: x, taken and used besides; w, inside and outside; what the checkpoint does not lead
 * to, for which it does not run again. */
static void run_asked(int kind) {
    ox_tensor *x = leaf(4, 1, 1), *w = leaf(4, 2, 1), *v = leaf(4, 3, 1), *y = NULL, *g = NULL, *gg = NULL;
    program p = {kind < 2 ? x : w, 0, 0, 0};
    ox_tensor *in = kind == 1 ? ox_exp(x) : x, *asked = kind < 2 ? x : kind == 2 ? w : v;
    if (kind == 1) p.w = in;
    CHECK(through(square_times_w, &p, &in, 1, &y, 1) == OX_OK);
    y = total(ox_mul(y, kind == 2 ? w : v));
    ox_grad_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.create_graph = desc.allow_unused = true;
    CHECK(ox_grad(&y, 1, &asked, 1, &desc, &g) == OX_OK);
    find(g);
    CHECK(!ox_gradient(x) && !ox_gradient(w) && (kind < 3 || p.runs == 1));
    ox_tensor *sum = total(ox_square(g));
    CHECK(ox_grad(&sum, 1, &x, 1, &desc, &gg) == OX_OK);
    find(gg);
    ox_backward_desc back;
    memset(&back, 0, sizeof back);
    back.inputs = &x;
    back.input_count = 1;
    CHECK(ox_backward(y, &back) == OX_OK);
    find_gradients(x, w);
}

static ox_status two_outputs(ox_tensor *const *in, ox_tensor **out, void *user) {
    program *p = (program *)user;
    out[0] = ox_square(in[0]);
    switch (p->mode) {
    case 0: return OX_OK; /* the other one stays NULL */
    case 1: out[1] = ox_narrow(out[0], 0, 1, 2); break;
    case 2: out[1] = out[0]; break;
    case 3: out[1] = in[0]; break;
    case 4: out[1] = ox_detach(out[0]); break;
    case 5: out[1] = ox_dropout(ox_mul(out[0], p->w), 0.5, true); break;
    default: out[1] = ox_exp_(ox_mul(out[0], p->w));
    }
    return out[1] ? OX_OK : ox_error();
}
static void run_outputs(int kind) {
    ox_tensor *x = leaf(4, 0.1, 0.2), *w = leaf(4, 2, 1), *in = ox_mul(x, ox_number(2)), *out[2];
    program p = {w, 0, 0, kind};
    CHECK(through(two_outputs, &p, &in, 1, out, 2) == OX_OK && (out[1] || !kind));
    if (kind == 1) CHECK(ox_mul_(out[1], ox_number(3)) != NULL);
    if (kind == 4) CHECK(!ox_requires_grad(out[1]));
    ox_tensor *sum = total(out[0]);
    if (kind > 1) sum = ox_add(sum, total(ox_square(out[1])));
    find(sum);
    CHECK(ox_backward(sum, NULL) == OX_OK);
    find_gradients(x, w);
}

/* A row of blocks in one array, with a checkpoint in each and a gradient inside. */
static ox_status block_of_blocks(ox_tensor *const *in, ox_tensor **out, void *user) {
    program *p = (program *)user;
    ox_tensor *t = ox_tanh(in[0]), *d = ox_requires_grad_(ox_detach(t), true), *g = NULL, *y = NULL;
    if (through(square_times_w, p, &t, 1, &t, 1) != OX_OK) return ox_error();
    y = total(ox_exp(d));
    if (ox_grad(&y, 1, &d, 1, NULL, &g) != OX_OK) return ox_error();
    out[0] = ox_mul(ox_dropout(ox_add(t, in[0]), 0.25, true), g);
    return out[0] ? OX_OK : ox_error();
}
static void run_blocks(int kind) {
    ox_tensor *x = leaf(4, 0.1, 0.2), *w = leaf(4, 0.5, 0.25), *t = ox_mul(x, ox_number(1)), *g[2];
    ox_tensor *of[2] = {x, w};
    program p = {w, 0, 0, 0};
    for (int i = 0; i < 3; i++) CHECK(through(block_of_blocks, &p, &t, 1, &t, 1) == OX_OK);
    (void)ox_rand(OX_SHAPE(3), OX_F64);
    ox_tensor *sum = total(t);
    ox_grad_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.create_graph = true;
    if (kind == 0) {
        CHECK(ox_backward(sum, NULL) == OX_OK);
    } else {
        CHECK(ox_grad(&sum, 1, of, 2, &desc, g) == OX_OK);
        find(g[0]);
        find(g[1]);
        sum = ox_add(total(ox_square(g[0])), total(ox_square(g[1])));
        CHECK(ox_backward(sum, NULL) == OX_OK);
    }
    find_gradients(x, w);
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static ox_status other_again(ox_tensor *const *in, ox_tensor **out, void *user) {
    program *p = (program *)user;
    ox_tensor *t = in[0];
    bool again = p->runs++ > 0;
    if (p->mode == 5) t = ox_mul_(t, ox_number(2));
    if (p->mode == 6) OX_NO_GRAD t = ox_mul_(t, ox_number(2));
    out[0] = ox_square(again && p->mode == 0 ? ox_narrow(t, 0, 0, 2) : t);
    if (again && p->mode == 1) out[0] = ox_exp(out[0]);
    if (again && p->mode == 2) out[0] = NULL;
    if (again && p->mode == 2) return OX_OK;
    if (p->mode == 3 ? again : p->mode == 4) return OX_ERR_UNSUPPORTED;
    return out[0] ? OX_OK : ox_error();
}

static void test_refused(void) {
    static const char *words[] = {"saves f64[2] as number 1, not f64[4]", "saves 2 tensors, not 1", "",
                                  "again, a"};
    for (int mode = 0; mode < 9; mode++) OX_SCOPE {
            ox_tensor *x = leaf(4, 1, 1), *in = mode == 8 ? x : ox_mul(x, ox_number(2)), *y = NULL;
            program p = {NULL, 0, 0, mode == 8 ? 5 : mode};
            ox_status status = ox_checkpoint(other_again, &p, &in, 1, &y, 1);
            if (mode == 4) CHECK(status == OX_ERR_UNSUPPORTED && !y);
            if (mode == 5) refused(status, OX_ERR_ARG, "from outside");
            if (mode == 6) refused(status, OX_ERR_ARG, "which runs twice");
            if (mode == 8) refused(status, OX_ERR_ARG, "a leaf");
            if (mode == 8) CHECK(ox_is_leaf(x));
            ox_error_clear();
            if (mode == 4 || mode == 5 || mode == 6 || mode == 8) continue;
            CHECK(status == OX_OK);
            if (mode == 7) OX_NO_GRAD CHECK(ox_mul_(in, ox_number(2)) != NULL);
            status = ox_backward(total(y), NULL);
            if (mode == 7) refused(status, OX_ERR_ARG, "changed in place");
            if (mode == 2) CHECK(status == OX_OK);
            if (mode == 3) refused(status, OX_ERR_UNSUPPORTED, words[mode]);
            if (mode < 2) refused(status, OX_ERR_ARG, words[mode]);
            CHECK(ox_is_grad_enabled());
        }
    CHECK_NO_TENSORS();
}

/* What is used besides, a mask or a result, and is changed in place before the function runs again. */
static void test_changed(void) {
    for (int kind = 0; kind < 4; kind++) OX_SCOPE {
            ox_tensor *x = leaf(4, 1, 1), *w = leaf(4, 2, 1), *y = NULL;
            program p = {kind & 1 ? ox_exp(w) : ox_detach(w), 0, 0, 0};
            OX_NO_GRAD CHECK(ox_mul_(p.w, ox_number(2)) != NULL);
            CHECK(ox_checkpoint(square_times_w, &p, &x, 1, &y, 1) == OX_OK);
            if (kind > 1) OX_NO_GRAD CHECK(ox_mul_(p.w, ox_number(2)) != NULL);
            ox_status status = ox_backward(total(y), NULL);
            if (kind > 1) refused(status, OX_ERR_ARG, "changed in place");
            if (kind < 2) CHECK(status == (kind ? OX_ERR_ARG : OX_OK)); /* exp saved what was changed */
            ox_error_clear();
        }
    CHECK_NO_TENSORS();
}

/* Saved hooks outside get the inputs, which have other versions then. */
static void *packed_copy(ox_tensor *t, void *user) {
    (*(int *)user)++;
    return ox_retain(ox_clone(t));
}
static ox_tensor *unpacked_copy(void *packed, void *user) {
    (void)user;
    return ox_clone((ox_tensor *)packed);
}
static void drop_copy(void *packed, void *user) {
    (void)user;
    ox_release((ox_tensor *)packed);
}
static void run_hooked(int kind) {
    int packed = 0;
    ox_saved_hooks hooks = {packed_copy, unpacked_copy, drop_copy, &packed};
    const ox_saved_hooks *before = ox_set_saved_hooks(&hooks);
    ox_tensor *x = leaf(4, 0.1, 0.2), *w = leaf(4, 2, 1), *in = ox_mul(x, ox_number(2)), *t;
    program p = {w, 0, 0, 0};
    for (int i = 0; i < 3; i++) CHECK(ox_mul_(in, ox_number(1.5)) != NULL);
    t = in;
    for (int i = 0; i < 2; i++)
        CHECK(through(kind ? block_of_blocks : square_times_w, &p, &t, 1, &t, 1) == OX_OK);
    if (with_checkpoints) CHECK(packed == 2);
    CHECK(ox_backward(total(t), NULL) == OX_OK);
    find_gradients(x, w);
    CHECK(ox_set_saved_hooks(before) == &hooks);
}

/* A pass that needs a part of what was computed again does not keep the rest. */
static ox_status many_saved(ox_tensor *const *in, ox_tensor **out, void *user) {
    out[0] = ox_exp(ox_sin(ox_exp(ox_sin(in[0]))));
    out[1] = ox_square(ox_mul(out[0], (ox_tensor *)user));
    return out[1] ? OX_OK : ox_error();
}
static void test_partial(void) {
    OX_SCOPE {
        ox_tensor *x = ox_requires_grad_(ox_ones(OX_SHAPE(1000), OX_F64), true), *out[2], *g = NULL;
        ox_tensor *w = ox_requires_grad_(ox_ones(OX_SHAPE(1), OX_F64), true), *sum;
        CHECK(ox_checkpoint(many_saved, w, &x, 1, out, 2) == OX_OK);
        sum = total(out[1]);
        ox_grad_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.retain_graph = true;
        size_t before = ox_memory_get_stats().bytes_in_use;
        for (int i = 0; i < 2; i++) {
            OX_SCOPE CHECK(ox_grad(&sum, 1, &w, 1, &desc, &g) == OX_OK);
            CHECK(ox_memory_get_stats().bytes_in_use < before + 4000);
        }
    }
    CHECK_NO_TENSORS();
}

/* The second run has the default dtype of the first. */
static ox_status default_ones(ox_tensor *const *in, ox_tensor **out, void *user) {
    (void)user;
    out[0] = ox_mul(ox_exp(in[0]), ox_ones(OX_SHAPE(4), OX_DTYPE_NONE));
    return out[0] ? OX_OK : ox_error();
}
static void test_modes(void) {
    OX_SCOPE {
        ox_tensor *x = leaf(4, 1, 1), *y = NULL;
        CHECK(ox_set_default_dtype(OX_F64) == OX_OK);
        CHECK(ox_checkpoint(default_ones, NULL, &x, 1, &y, 1) == OX_OK);
        CHECK(ox_set_default_dtype(OX_DTYPE_NONE) == OX_OK);
        y = total(y);
        OX_INFERENCE_MODE CHECK(ox_backward(y, NULL) == OX_OK);
        CHECK(ox_default_dtype() == OX_F32 && ox_is_grad_enabled() && ox_gradient(x));
    }
    CHECK_NO_TENSORS();
}

/* Random numbers are those of the first run, wherever it had them from; generators stay as they are. */
static ox_status drops(ox_tensor *const *in, ox_tensor **out, void *user) {
    const int how = *(const int *)user;
    ox_tensor *once, *again;
    if (how == 0) ox_manual_seed(42);
    if (how == 1) OX_GENERATOR_SCOPE(NULL) out[0] = ox_dropout(in[0], 0.5, true);
    if (how == 1) return out[0] ? OX_OK : ox_error();
    ox_generator_state state = ox_generator_get_state(NULL);
    once = ox_dropout(in[0], 0.5, true);
    if (how == 2) ox_generator_set_state(NULL, state);
    again = ox_dropout(once, 0.5, true);
    out[0] = ox_dropout(again, 0.5, true);
    return out[0] ? OX_OK : ox_error();
}
static ox_status drops_within(ox_tensor *const *in, ox_tensor **out, void *user) {
    ox_tensor *once = ox_dropout(in[0], 0.5, true), *inner = NULL;
    if (ox_checkpoint(drops, user, &once, 1, &inner, 1) != OX_OK) return ox_error();
    out[0] = ox_dropout(inner, 0.5, true);
    return out[0] ? OX_OK : ox_error();
}
static void test_random(void) {
    for (int i = 0; i < 16; i++) OX_SCOPE {
        int how = i % 4;
        bool own = i / 4 % 2 == 1;
        ox_generator *generator = ox_generator_open(5);
        ox_generator *before = own ? ox_generator_use(generator) : NULL;
        ox_tensor *x = leaf(256, 1, 0), *y = NULL;
        ox_manual_seed(7);
        CHECK(ox_checkpoint(i < 8 ? drops : drops_within, &how, &x, 1, &y, 1) == OX_OK);
        ox_manual_seed(9);
        (void)ox_rand(OX_SHAPE(1), OX_F64);
        ox_generator_state state = ox_generator_get_state(NULL), mine = ox_generator_get_state(generator);
        CHECK_MSG(ox_backward(total(y), NULL) == OX_OK, "%d: %s", i, ox_error_text());
        ox_generator_state now = ox_generator_get_state(NULL), my_now = ox_generator_get_state(generator);
        CHECK(now.seed == state.seed && now.counter == state.counter && my_now.counter == mine.counter);
        CHECK_MSG(ox_equal(ox_gradient(x), ox_detach(y)), "%d", i); /* x is 1: both are the mask */
        if (own) (void)ox_generator_use(before);
        ox_generator_close(generator);
    }
    CHECK_NO_TENSORS();
}

/* Other calls draw in the second run. */
static ox_status draws(ox_tensor *const *in, ox_tensor **out, void *user) {
    int *calls = (int *)user;
    out[0] = ox_exp(in[0]);
    for (int i = 0; i < *calls; i++) out[0] = ox_mul(out[0], ox_rand(OX_SHAPE(2), OX_F64));
    return out[0] ? OX_OK : ox_error();
}
static ox_status draws_alone(ox_tensor *const *in, ox_tensor **out, void *user) {
    int *calls = (int *)user;
    out[0] = ox_exp(in[0]);
    for (int i = 0; i < *calls; i++) (void)ox_rand(OX_SHAPE(2), OX_F64);
    return out[0] ? OX_OK : ox_error();
}
static void test_random_refused(void) {
    for (int more = -1; more <= 1; more += 2) OX_SCOPE {
        int calls = 3;
        ox_tensor *x = leaf(2, 1, 0), *y = NULL;
        CHECK(ox_checkpoint(draws_alone, &calls, &x, 1, &y, 1) == OX_OK);
        calls += more;
        refused(ox_backward(total(y), NULL), OX_ERR_ARG, "random calls, not 3");
        calls = 3;
        CHECK(ox_checkpoint(draws, &calls, &x, 1, &y, 1) == OX_OK);
        calls += more;
        refused(ox_backward(total(y), NULL), OX_ERR_ARG, "run again");
    }
    CHECK_NO_TENSORS();
}

/* A variable that begins or ceases to want a gradient in between: as many tensors are saved, but others. */
static ox_status scaled(ox_tensor *const *in, ox_tensor **out, void *user) {
    out[0] = ox_mul(ox_exp(in[0]), (ox_tensor *)user);
    return out[0] ? OX_OK : ox_error();
}
static void test_frozen(void) {
    for (int first = 0; first < 2; first++) OX_SCOPE {
        ox_tensor *x = leaf(3, 0.5, 0), *w = line(2, 0, 3), *y = NULL;
        CHECK(ox_requires_grad_(w, first == 1) != NULL);
        CHECK(ox_checkpoint(scaled, w, &x, 1, &y, 1) == OX_OK);
        CHECK(ox_requires_grad_(w, first == 0) != NULL);
        refused(ox_backward(total(y), NULL), OX_ERR_ARG, "another call, or operand");
        CHECK(ox_requires_grad_(w, first == 1) != NULL && ox_backward(total(y), NULL) == OX_OK);
        const double e = exp(0.5), by_x[3] = {2 * e, 2 * e, 2 * e}, by_w[3] = {e, e, e};
        CHECK(are(ox_gradient(x), 3, by_x) && (first == 0 || are(ox_gradient(w), 3, by_w)));
    }
    CHECK_NO_TENSORS();
}

/* A second run that asks for gradients of what it is of. */
typedef struct circle { ox_tensor *sum; int runs; } circle;
static ox_status goes_round(ox_tensor *const *in, ox_tensor **out, void *user) {
    circle *c = (circle *)user;
    ox_tensor *once = ox_exp(in[0]);
    if (++c->runs == 2)
        refused(ox_backward(c->sum, NULL), OX_ERR_ARG, "needs gradients of itself");
    out[0] = ox_exp(once);
    return out[0] ? OX_OK : ox_error();
}
static void test_circle(void) {
    OX_SCOPE {
        circle c = {NULL, 0};
        ox_tensor *x = leaf(2, 0, 0), *y = NULL;
        CHECK(ox_checkpoint(goes_round, &c, &x, 1, &y, 1) == OX_OK);
        c.sum = total(y);
        CHECK_MSG(ox_backward(c.sum, NULL) == OX_OK && c.runs == 2, "%s", ox_error_text());
        const double e = exp(1), by_x[2] = {e, e};
        CHECK(are(ox_gradient(x), 2, by_x));
    }
    CHECK_NO_TENSORS();
}

int main(void) {
    test_checkpoint();
    test_checkpoint_again();
    test_checkpoint_uses();
    test_checkpoint_same();
    test_many_checkpoints();
    compare(run_captured, 8);
    compare(run_asked, 4);
    compare(run_outputs, 7);
    compare(run_blocks, 2);
    compare(run_hooked, 2);
    test_refused();
    test_changed();
    test_partial();
    test_modes();
    test_random();
    test_random_refused();
    test_frozen();
    test_circle();
    CHECK(ox_memory_get_stats().bad_releases == 0);
    return check_done("checkpoint");
}
