/* test_optimizers.c - optimizers against plain loops of their formulas over 20 steps, in f64 and f32:
 * options, groups, layouts, what is kept; clipping; that a steady step leaves nothing, and gives the same
 * bits for any number of threads.
 */
#include "oxtorch_nn.h"

#include "check.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { STEPS = 20, COUNT = 12, OPTIONS = 6 };

typedef struct setting {
    const char *name;
    double value;
} setting;

typedef struct optimizer_case {
    ox_optimizer_rule rule;
    setting settings[OPTIONS];
} optimizer_case;

static const optimizer_case cases[] = {
    {OX_OPTIMIZER_SGD, {{NULL, 0}}},
    {OX_OPTIMIZER_SGD, {{"lr", 0.05}, {"momentum", 0.9}}},
    {OX_OPTIMIZER_SGD, {{"lr", 0.05}, {"momentum", 0.9}, {"dampening", 0.3}, {"weight_decay", 0.1}}},
    {OX_OPTIMIZER_SGD, {{"lr", 0.05}, {"momentum", 0.8}, {"nesterov", 1}, {"weight_decay", 0.1}}},
    {OX_OPTIMIZER_SGD, {{"lr", 0.05}, {"momentum", 0.8}, {"maximize", 1}, {"weight_decay", 0.1}}},
    {OX_OPTIMIZER_ADAM, {{NULL, 0}}},
    {OX_OPTIMIZER_ADAM, {{"lr", 0.1}, {"beta1", 0.8}, {"beta2", 0.9}, {"eps", 1e-3}}},
    {OX_OPTIMIZER_ADAM, {{"lr", 0.1}, {"beta1", 0}, {"weight_decay", 0.2}, {"amsgrad", 1}, {"beta2", 0.7}}},
    {OX_OPTIMIZER_ADAM, {{"maximize", 1}, {"weight_decay", 0.2}, {"decoupled_weight_decay", 1}}},
    {OX_OPTIMIZER_ADAMW, {{NULL, 0}}},
    {OX_OPTIMIZER_ADAMW, {{"lr", 0.1}, {"weight_decay", 0.3}, {"amsgrad", 1}}},
    {OX_OPTIMIZER_ADAMW, {{"weight_decay", 0}, {"eps", 0}}},
    {OX_OPTIMIZER_ADAMW, {{"decoupled_weight_decay", 0}}},
};

/* ---- the formulas -------------------------------------------------------------------------------------- */

static double option_of(const optimizer_case *c, const char *name, double first) {
    for (int i = 0; i < OPTIONS && c->settings[i].name; i++)
        if (strcmp(c->settings[i].name, name) == 0) return c->settings[i].value;
    return first;
}

/* One number and what is kept of it. */
typedef struct plain_number {
    double p, state[3];
    bool begun;
} plain_number;

static void plain_sgd(plain_number *n, double g, const optimizer_case *c) {
    double lr = option_of(c, "lr", 1e-3), momentum = option_of(c, "momentum", 0);
    if (option_of(c, "maximize", 0) == 1) g = -g;
    g += option_of(c, "weight_decay", 0) * n->p;
    if (momentum != 0) {
        n->state[0] = n->begun ? momentum * n->state[0] + (1 - option_of(c, "dampening", 0)) * g : g;
        g = option_of(c, "nesterov", 0) == 1 ? g + momentum * n->state[0] : n->state[0];
    }
    n->p -= lr * g;
    n->begun = true;
}

static void plain_adam(plain_number *n, double g, const optimizer_case *c, int step) {
    bool w = c->rule == OX_OPTIMIZER_ADAMW, decoupled = option_of(c, "decoupled_weight_decay", w) == 1;
    double lr = option_of(c, "lr", 1e-3), b1 = option_of(c, "beta1", 0.9), b2 = option_of(c, "beta2", 0.999);
    double decay = option_of(c, "weight_decay", w ? 0.01 : 0);
    if (option_of(c, "maximize", 0) == 1) g = -g;
    if (decoupled)
        n->p -= lr * decay * n->p;
    else
        g += decay * n->p;
    n->state[0] = b1 * n->state[0] + (1 - b1) * g;
    n->state[1] = b2 * n->state[1] + (1 - b2) * g * g;
    n->state[2] = fmax(n->state[2], n->state[1]);
    double v = option_of(c, "amsgrad", 0) == 1 ? n->state[2] : n->state[1];
    double m = n->state[0] / (1 - pow(b1, step));
    n->p -= lr * m / (sqrt(v / (1 - pow(b2, step))) + option_of(c, "eps", 1e-8));
}

static void plain_step(plain_number *n, double g, const optimizer_case *c, int step) {
    if (c->rule == OX_OPTIMIZER_SGD)
        plain_sgd(n, g, c);
    else
        plain_adam(n, g, c, step);
}

/* The gradient of number i at p: not zero, and of both signs on the way. */
static double slope(double p, int i) {
    return (0.3 + 0.1 * i) * tanh(p - 0.2 * (i % 3)) + sin(3 * p) / 10;
}

/* ---- 20 steps ------------------------------------------------------------------------------------------ */

static ox_optimizer *opened(const optimizer_case *c, ox_tensor *const *parameters, int count) {
    ox_optimizer *o = ox_optimizer_open(c->rule, parameters, count);
    for (int i = 0; o && i < OPTIONS && c->settings[i].name; i++)
        CHECK(ox_optimizer_set(o, OX_ALL_GROUPS, c->settings[i].name, c->settings[i].value) == OX_OK);
    return o;
}

static double start(int i) {
    return 1.5 * sin(0.7 * i + 0.2);
}

/* [3, 4] numbers that lie in order, transposed or apart. */
static ox_tensor *parameter_in(ox_dtype dtype, int layout) {
    double numbers[COUNT];
    for (int i = 0; i < COUNT; i++) numbers[i] = start(i);
    ox_tensor *from = ox_from_doubles(numbers, OX_SHAPE(3, 4), dtype);
    ox_tensor *room = ox_zeros(layout == 1 ? OX_SHAPE(4, 3) : OX_SHAPE(3, 9), dtype);
    ox_tensor *p = layout == 0 ? from : layout == 1 ? ox_t(room) : ox_slice(room, 1, 1, OX_END, 2);
    return ox_requires_grad_(layout == 0 ? p : ox_copy_(p, from), true);
}

static void set_slopes(ox_tensor *p) {
    double at[COUNT];
    CHECK(ox_to_doubles(p, at, COUNT) == OX_OK);
    for (int i = 0; i < COUNT; i++) at[i] = slope(at[i], i);
    CHECK(ox_set_gradient(p, ox_from_doubles(at, OX_SHAPE(3, 4), p->dtype)) == OX_OK);
}

static void test_formulas(void) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (int how = 0; how < 6; how++)
            OX_SCOPE {
                const optimizer_case *c = &cases[k];
                bool narrow = how >= 3;
                plain_number plain[COUNT];
                double worst = 0, got[COUNT];
                memset(plain, 0, sizeof plain);
                ox_tensor *p = parameter_in(narrow ? OX_F32 : OX_F64, how % 3);
                ox_optimizer *o = opened(c, &p, 1);
                CHECK_MSG(o != NULL, "%s", ox_error_text());
                for (int i = 0; i < COUNT; i++) plain[i].p = narrow ? (float)start(i) : start(i);
                for (int step = 1; step <= STEPS; step++) {
                    set_slopes(p);
                    CHECK_MSG(ox_optimizer_step(o) == OX_OK, "%s", ox_error_text());
                    CHECK(ox_to_doubles(p, got, COUNT) == OX_OK);
                    for (int i = 0; i < COUNT; i++) {
                        plain_step(&plain[i], slope(plain[i].p, i), c, step);
                        worst = check_worst(worst, fabs(got[i] - plain[i].p) / (1 + fabs(plain[i].p)));
                    }
                }
                CHECK_MSG(worst < (narrow ? 3e-6 : 1e-12), "case %d: %g away", (int)k, worst);
                CHECK(fabs(got[0] - start(0)) > 1e-3); /* it moves */
                CHECK(ox_optimizer_steps(o, p) == STEPS && ox_requires_grad(p) && ox_is_leaf(p));
                ox_optimizer_close(o);
            }
    }
}

/* Complex numbers are pairs of real ones. */
static void test_complex(void) {
    OX_SCOPE {
        ox_tensor *z = ox_zeros(OX_SHAPE(3), OX_C64), *p = ox_zeros(OX_SHAPE(3, 2), OX_F32), *g;
        ox_tensor *both[2] = {ox_requires_grad_(z, true), ox_requires_grad_(p, true)};
        ox_optimizer *o = ox_optimizer_open(OX_OPTIMIZER_ADAMW, both, 2);
        for (int step = 1; step <= 4; step++) {
            g = ox_add_number(
                ox_mul_number(ox_reshape(ox_arange(0, 6, 1, OX_F32), OX_SHAPE(3, 2)), 0.1 * step), -0.2);
            CHECK(ox_set_gradient(p, g) == OX_OK && ox_set_gradient(z, ox_view_as_complex(g)) == OX_OK);
            CHECK_MSG(ox_optimizer_step(o) == OX_OK, "%s", ox_error_text());
        }
        CHECK(ox_equal(ox_view_as_real(ox_detach(z)), p));
        ox_optimizer_close(o);
    }
}

/* ---- groups, options ----------------------------------------------------------------------------------- */

static void refused(ox_status status, const char *words) {
    CHECK_MSG(ox_error() == status && strstr(ox_error_text(), words), "%d %s", (int)ox_error(),
              ox_error_text());
    ox_error_clear();
}

static ox_tensor *one_of(double value) {
    return ox_requires_grad_(ox_full(OX_SHAPE(1), value, OX_F64), true);
}

static void test_groups(void) {
    OX_SCOPE {
        ox_tensor *a = one_of(1), *b = one_of(1), *c = one_of(1), *d = one_of(1),
                  *one = ox_ones(OX_SHAPE(1), OX_F64);
        ox_tensor *two[2] = {c, d};
        ox_optimizer *o = ox_optimizer_open(OX_OPTIMIZER_SGD, NULL, 0);
        CHECK(o && ox_optimizer_groups(o) == 1 && ox_optimizer_get(o, 0, "lr") == 1e-3);
        CHECK(ox_optimizer_set(o, 0, "lr", 0.5) == OX_OK);
        CHECK(ox_optimizer_add_group(o, &a, 1) == 1 && ox_optimizer_add_group(o, &b, 1) == 2);
        CHECK(ox_optimizer_add_group(o, two, 2) == 3 && ox_optimizer_groups(o) == 4);
        CHECK(ox_optimizer_get(o, 1, "lr") == 0.5); /* as group 0 */
        CHECK(ox_optimizer_set(o, 2, "lr", 0.25) == OX_OK && ox_optimizer_set(o, 3, "lr", 0) == OX_OK);
        for (int i = 0; i < 4; i++) {
            ox_tensor *each[4] = {a, b, c, d};
            if (each[i] != d) CHECK(ox_set_gradient(each[i], one) == OX_OK);
        }
        CHECK(ox_optimizer_step(o) == OX_OK);
        CHECK(ox_item(a) == 0.5 && ox_item(b) == 0.75 && ox_item(c) == 1 && ox_item(d) == 1);
        CHECK(ox_optimizer_steps(o, a) == 1 && ox_optimizer_steps(o, d) == 0);
        CHECK(ox_optimizer_set(o, OX_ALL_GROUPS, "lr", 1) == OX_OK && ox_optimizer_step(o) == OX_OK);
        CHECK(ox_item(a) == -0.5 && ox_item(b) == -0.25 && ox_item(c) == 0);
        ox_optimizer_zero_grad(o);
        CHECK(!ox_gradient(a) && !ox_gradient(c) && ox_optimizer_step(o) == OX_OK && ox_item(a) == -0.5);
        /* what is refused changes nothing */
        CHECK(ox_optimizer_add_group(o, &a, 1) == -1 && ox_optimizer_groups(o) == 4);
        refused(OX_ERR_ARG, "there twice");
        CHECK(ox_optimizer_set(o, 0, "lr", -1) == OX_ERR_ARG);
        refused(OX_ERR_ARG, "sgd: lr cannot be -1");
        CHECK(ox_optimizer_set(o, 0, "lr", NAN) == OX_ERR_ARG);
        refused(OX_ERR_ARG, "lr cannot be");
        CHECK(ox_optimizer_set(o, 0, "nesterov", 0.5) == OX_ERR_ARG);
        refused(OX_ERR_ARG, "nesterov cannot be");
        CHECK(ox_optimizer_set(o, 4, "lr", 1) == OX_ERR_ARG);
        refused(OX_ERR_ARG, "no group 4 of 4");
        CHECK(isnan(ox_optimizer_get(o, OX_ALL_GROUPS, "lr")));
        refused(OX_ERR_ARG, "no group -1");
        CHECK(ox_optimizer_set(o, 0, "beta1", 0.5) == OX_ERR_ARG);
        refused(OX_ERR_ARG, "no option \"beta1\"");
        CHECK(ox_optimizer_set(o, 0, "nesterov", 1) == OX_OK &&
              ox_optimizer_set(o, 1, "nesterov", 1) == OX_OK);
        CHECK(ox_set_gradient(a, one) == OX_OK && ox_optimizer_step(o) == OX_ERR_ARG);
        refused(OX_ERR_ARG, "nesterov wants a momentum");
        CHECK(ox_item(a) == -0.5 && ox_optimizer_steps(o, a) == 2);
        ox_optimizer_close(o);
    }
}

static void test_refusals(void) {
    OX_SCOPE {
        ox_tensor *a = one_of(1), *result = ox_mul(a, a), *whole = ox_ones(OX_SHAPE(2), OX_I32),
                  *pair[2] = {a, a};
        CHECK(!ox_optimizer_open((ox_optimizer_rule)0, &a, 1));
        refused(OX_ERR_ARG, "no rule 0");
        CHECK(!ox_optimizer_open((ox_optimizer_rule)99, &a, 1));
        refused(OX_ERR_ARG, "no rule 99");
        CHECK(!ox_optimizer_open(OX_OPTIMIZER_ADAM, &result, 1));
        refused(OX_ERR_ARG, "adam: ");
        CHECK(!ox_optimizer_open(OX_OPTIMIZER_ADAM, &whole, 1));
        refused(OX_ERR_DTYPE, "adam: the parameter");
        CHECK(!ox_optimizer_open(OX_OPTIMIZER_ADAMW, pair, 2));
        refused(OX_ERR_ARG, "there twice");
        pair[1] = NULL;
        CHECK(!ox_optimizer_open(OX_OPTIMIZER_ADAMW, pair, 2));
        refused(OX_ERR_ARG, "NULL");
        CHECK(!ox_optimizer_open(OX_OPTIMIZER_ADAMW, NULL, 2));
        refused(OX_ERR_ARG, "2 parameters");
        CHECK(ox_optimizer_step(NULL) == OX_ERR_ARG);
        refused(OX_ERR_ARG, "NULL");
        ox_optimizer *o = ox_optimizer_open(OX_OPTIMIZER_ADAM, &a, 1);
        CHECK(ox_optimizer_set(o, 0, "beta2", 1) == OX_ERR_ARG);
        refused(OX_ERR_ARG, "adam: beta2 cannot be 1");
        CHECK(!ox_optimizer_state(o, result, "exp_avg"));
        refused(OX_ERR_ARG, "none of its parameters");
        CHECK(!ox_optimizer_state(o, a, "momentum_buffer"));
        refused(OX_ERR_ARG, "nothing is kept as \"momentum_buffer\"");
        ox_optimizer_close(o);
        ox_optimizer_close(NULL);
    }
}

/* What is kept, put into another optimizer: both go on alike. */
static void test_state(void) {
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        OX_SCOPE {
            static const char *const names[] = {"momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
            ox_tensor *p = parameter_in(OX_F64, 0), *q;
            ox_optimizer *first = opened(&cases[k], &p, 1), *second;
            bool sgd = cases[k].rule == OX_OPTIMIZER_SGD;
            CHECK(!ox_optimizer_state(first, p, names[!sgd]) && ox_error() == OX_OK);
            for (int step = 0; step < 5; step++) {
                set_slopes(p);
                CHECK(ox_optimizer_step(first) == OX_OK);
            }
            q = ox_requires_grad_(ox_clone(ox_detach(p)), true);
            second = opened(&cases[k], &q, 1);
            for (int i = sgd ? 0 : 1; i < (sgd ? 1 : 4); i++) {
                ox_tensor *kept = ox_optimizer_state(first, p, names[i]);
                CHECK(!kept || (!ox_requires_grad(kept) && kept->dtype == OX_F64));
                CHECK(ox_optimizer_set_state(second, q, names[i], kept) == OX_OK);
            }
            CHECK(ox_optimizer_set_steps(second, q, ox_optimizer_steps(first, p)) == OX_OK);
            for (int step = 0; step < 3; step++) {
                set_slopes(p);
                set_slopes(q);
                CHECK(ox_optimizer_step(first) == OX_OK && ox_optimizer_step(second) == OX_OK);
            }
            CHECK(ox_equal(p, q));
            CHECK(ox_optimizer_set_state(second, q, names[!sgd], ox_ones(OX_SHAPE(2), OX_F64)) ==
                  OX_ERR_SHAPE);
            ox_error_clear();
            CHECK(ox_optimizer_set_steps(second, q, -1) == OX_ERR_ARG);
            ox_error_clear();
            ox_optimizer_close(first);
            ox_optimizer_close(second);
        }
}

/* ---- with gradients that backward makes ---------------------------------------------------------------- */

typedef struct network {
    ox_tensor *p[4];
} network;

static network network_make(int64_t inputs, int64_t hidden) {
    network n;
    ox_manual_seed(3);
    n.p[0] = ox_mul_number(ox_randn(OX_SHAPE(hidden, inputs), OX_F32), 0.1);
    n.p[1] = ox_zeros(OX_SHAPE(hidden), OX_F32);
    n.p[2] = ox_mul_number(ox_randn(OX_SHAPE(3, hidden), OX_F32), 0.1);
    n.p[3] = ox_zeros(OX_SHAPE(3), OX_F32);
    for (int i = 0; i < 4; i++) CHECK(ox_requires_grad_(n.p[i], true) != NULL);
    return n;
}

static double network_step(network *n, ox_optimizer *o, ox_tensor *x, ox_tensor *labels) {
    double value = 0;
    OX_SCOPE {
        ox_tensor *hidden = ox_relu(ox_linear(x, n->p[0], n->p[1]));
        ox_tensor *loss = ox_cross_entropy(ox_linear(hidden, n->p[2], n->p[3]), labels, NULL);
        ox_optimizer_zero_grad(o);
        CHECK_MSG(ox_backward(loss, NULL) == OX_OK, "%s", ox_error_text());
        ox_tensor *norm = ox_clip_grad_norm_(n->p, 4, 1, 2);
        CHECK_MSG(norm && ox_optimizer_step(o) == OX_OK, "%s", ox_error_text());
        value = ox_item(loss);
    }
    return value;
}

/* Learns, leaves nothing, and gives the same bits for each number of threads. */
static void test_training(void) {
    ox_tensor *expected[4] = {NULL, NULL, NULL, NULL};
    for (int threads = 1; threads <= 4; threads++)
        OX_SCOPE {
            ox_set_threads(threads);
            network n = network_make(70, 300);
            ox_tensor *x = ox_randn(OX_SHAPE(50, 70), OX_F32),
                      *labels = ox_randint(0, 3, OX_SHAPE(50), OX_I64);
            ox_optimizer *o = ox_optimizer_open(OX_OPTIMIZER_ADAMW, n.p, 4);
            CHECK(ox_optimizer_set(o, OX_ALL_GROUPS, "lr", 0.01) == OX_OK);
            double first = network_step(&n, o, x, labels), last = first;
            (void)network_step(&n, o, x, labels);
            ox_memory_stats before = ox_memory_get_stats();
            for (int step = 0; step < 40; step++) last = network_step(&n, o, x, labels);
            ox_memory_stats after = ox_memory_get_stats();
            CHECK_MSG(first > 0.9 && last < 0.05, "%g to %g", first, last);
            CHECK(after.tensors == before.tensors && after.storages == before.storages);
            CHECK(after.system_allocs == before.system_allocs && after.bytes_in_use == before.bytes_in_use);
            for (int i = 0; i < 4; i++) {
                if (threads == 1) expected[i] = ox_retain(n.p[i]);
                CHECK(ox_equal(n.p[i], expected[i]));
            }
            ox_optimizer_close(o);
        }
    ox_set_threads(0);
    for (int i = 0; i < 4; i++) ox_release(expected[i]);
}

/* A gradient that is added to later, or clipped, does not change what was made of it. */
static void test_no_sharing(void) {
    OX_SCOPE {
        ox_tensor *p = one_of(2), *g = ox_ones(OX_SHAPE(1), OX_F64);
        ox_optimizer *o = ox_optimizer_open(OX_OPTIMIZER_SGD, &p, 1);
        CHECK(ox_optimizer_set(o, 0, "momentum", 0.5) == OX_OK && ox_set_gradient(p, g) == OX_OK);
        CHECK(ox_optimizer_step(o) == OX_OK && ox_fill_(g, 100) != NULL);
        CHECK(ox_item(ox_optimizer_state(o, p, "momentum_buffer")) == 1);
        CHECK(ox_optimizer_step(o) == OX_OK && ox_item(g) == 100);
        CHECK(ox_item(ox_optimizer_state(o, p, "momentum_buffer")) == 100.5);
        ox_optimizer_close(o);
    }
}

/* An optimizer keeps its parameters, and everything goes with it. */
static void test_lifetime(void) {
    int64_t before = ox_memory_get_stats().tensors;
    ox_tensor *p = one_of(2), *g = ox_ones(OX_SHAPE(1), OX_F64);
    ox_optimizer *o = ox_optimizer_open(OX_OPTIMIZER_ADAM, &p, 1);
    CHECK(ox_set_gradient(p, g) == OX_OK && ox_optimizer_step(o) == OX_OK);
    CHECK(ox_memory_get_stats().tensors == before + 4); /* p, g, two that are kept */
    ox_release(g);
    ox_release(p);
    CHECK(ox_optimizer_step(o) == OX_OK);
    ox_optimizer_close(o);
    CHECK(ox_memory_get_stats().tensors == before);
}

/* ---- clipping ------------------------------------------------------------------------------------------ */

static void test_clipping(void) {
    static const double powers[] = {2, 1, 3, INFINITY};
    for (int i = 0; i < 8; i++)
        OX_SCOPE {
            double p = powers[i % 4], most = i < 4 ? 0.5 : 1e6, sum = 0, got[12], g[12];
            ox_tensor *all[3] = {one_of(1), parameter_in(OX_F64, 1), one_of(1)};
            CHECK(ox_set_gradient(all[0], ox_full(OX_SHAPE(1), -3, OX_F64)) == OX_OK);
            set_slopes(all[1]);
            CHECK(ox_to_doubles(ox_gradient(all[1]), g, 12) == OX_OK);
            sum = isinf(p) ? 3 : pow(3, p);
            for (int k = 0; k < 12; k++) sum = isinf(p) ? fmax(sum, fabs(g[k])) : sum + pow(fabs(g[k]), p);
            double norm = isinf(p) ? sum : pow(sum, 1 / p), factor = fmin(1, most / (norm + 1e-6));
            ox_tensor *told = ox_clip_grad_norm_(all, 3, most, p);
            CHECK_MSG(told && told->ndim == 0 && fabs(ox_item(told) - norm) < 1e-12 * norm, "%s",
                      ox_error_text());
            CHECK(ox_to_doubles(ox_gradient(all[1]), got, 12) == OX_OK && !ox_gradient(all[2]));
            for (int k = 0; k < 12; k++) CHECK(fabs(got[k] - factor * g[k]) < 1e-14);
            CHECK(fabs(ox_item(ox_gradient(all[0])) + 3 * factor) < 1e-14);
            CHECK(ox_clip_grad_value_(all, 3, 0.01) == OX_OK);
            CHECK(ox_to_doubles(ox_gradient(all[1]), got, 12) == OX_OK);
            for (int k = 0; k < 12; k++) CHECK(fabs(got[k] - fmax(-0.01, fmin(0.01, factor * g[k]))) < 1e-14);
        }
    OX_SCOPE {
        ox_tensor *mixed[2] = {ox_ones(OX_SHAPE(4), OX_F16), one_of(2)}, *norm;
        CHECK(ox_item(ox_clip_grad_norm_(mixed, 2, 1, 2)) == 0);
        for (int i = 0; i < 2; i++) CHECK(ox_set_gradient(mixed[i], ox_ones_like(mixed[i])) == OX_OK);
        norm = ox_clip_grad_norm_(mixed, 2, 10, 2);
        CHECK(norm && fabs(ox_item(norm) - sqrt(5)) < 1e-6 && ox_gradient(mixed[0])->dtype == OX_F16);
        CHECK(ox_clip_grad_value_(mixed, 2, -1) == OX_ERR_ARG);
        refused(OX_ERR_ARG, "-1 is below 0");
    }
}

int main(void) {
    test_formulas();
    test_complex();
    test_groups();
    test_refusals();
    test_state();
    test_training();
    test_no_sharing();
    test_lifetime();
    test_clipping();
    CHECK(ox_error() == OX_OK);
    return check_done("optimizers");
}
