/* test_distributions.c - distributions against integrals and sums: densities add up to 1, entropies, means,
 * variances and divergences are those integrals, samples have the moments; gradients; refusals. PyTorch's own
 * are compared by torch_nn.py. */
#include "oxtorch_nn.h"

#include "check.h"

#include <math.h>
#include <string.h>

typedef struct row {
    ox_distribution_kind kind;
    const char *name;
    double p[3], q[3]; /* parameters of two of them */
    int parameters, count;
    double low, high; /* where its outcomes are; whole numbers: all of them that matter */
    bool whole, entropy, kl;
} row;

static const row rows[] = {
    {OX_DISTRIBUTION_NORMAL, "normal", {0.5, 1.5}, {-0.2, 0.9}, 2, 0, -18, 18, false, true, true},
    {OX_DISTRIBUTION_LOG_NORMAL, "log_normal", {0.1, 0.4}, {0.3, 0.5}, 2, 0, 0, 30, false, true, true},
    {OX_DISTRIBUTION_UNIFORM, "uniform", {-1, 2}, {-2, 4}, 2, 0, -1, 2, false, true, true},
    {OX_DISTRIBUTION_EXPONENTIAL, "exponential", {1.7}, {0.8}, 1, 0, 0, 30, false, true, true},
    {OX_DISTRIBUTION_LAPLACE, "laplace", {0.5, 0.7}, {0.1, 1.2}, 2, 0, -30, 31, false, true, true},
    {OX_DISTRIBUTION_GUMBEL, "gumbel", {0.5, 0.7}, {0.1, 1.2}, 2, 0, -5, 40, false, true, true},
    {OX_DISTRIBUTION_GAMMA, "gamma", {2.5, 1.5}, {3.5, 1.1}, 2, 0, 0, 40, false, true, true},
    {OX_DISTRIBUTION_BETA, "beta", {2.5, 3.5}, {2.1, 2.8}, 2, 0, 0, 1, false, true, true},
    {OX_DISTRIBUTION_STUDENT_T, "student_t", {9, 0.5, 0.8}, {0}, 3, 0, -60, 61, false, true, false},
    {OX_DISTRIBUTION_BERNOULLI, "bernoulli", {0.3}, {0.6}, 1, 0, 0, 1, true, true, true},
    {OX_DISTRIBUTION_GEOMETRIC, "geometric", {0.4}, {0.25}, 1, 0, 0, 90, true, true, true},
    {OX_DISTRIBUTION_BINOMIAL, "binomial", {0.4}, {0.25}, 1, 6, 0, 6, true, false, true},
    {OX_DISTRIBUTION_POISSON, "poisson", {3.5}, {5}, 1, 0, 0, 60, true, false, true},
    {OX_DISTRIBUTION_POISSON, "poisson of many", {42}, {50}, 1, 0, 0, 150, true, false, true},
};
enum { ROWS = sizeof rows / sizeof *rows, PIECES = 20000 };

static ox_distribution made(const row *r, const double *p) {
    ox_distribution d;
    memset(&d, 0, sizeof d);
    d.kind = r->kind;
    d.count = r->count;
    for (int i = 0; i < r->parameters; i++) d.parameter[i] = ox_from_doubles(p + i, OX_SCALAR_SHAPE, OX_F64);
    return d;
}

/* Outcomes, and how much each counts: Gauss's two places of each piece, or all whole numbers. */
static ox_tensor *outcomes(const row *r, double *width) {
    if (r->whole) {
        *width = 1;
        return ox_arange(r->low, r->high + 1, 1, OX_F64);
    }
    double piece = (r->high - r->low) / PIECES, shift = piece / (2 * sqrt(3.0));
    ox_tensor *middle = ox_linspace(r->low + piece / 2, r->high - piece / 2, PIECES, OX_F64), *both[2];
    both[0] = ox_sub_number(middle, shift);
    both[1] = ox_add_number(middle, shift);
    *width = piece / 2;
    return ox_cat(both, 2, 0);
}

static double total(ox_tensor *density, ox_tensor *of, double width) {
    return width * ox_item(ox_sum(of ? ox_mul(density, of) : density, OX_ALL_DIMS, false));
}

static void near(const row *r, const char *what, double got, double want) {
    CHECK_MSG(fabs(got - want) <= 1e-6 * (1 + fabs(want)), "%s: %s is %.12g, not %.12g", r->name, what, got,
              want);
}

static void test_integrals(void) {
    for (int i = 0; i < ROWS; i++)
        OX_SCOPE {
            const row *r = &rows[i];
            double width;
            ox_distribution p = made(r, r->p), q = made(r, r->q);
            ox_tensor *x = outcomes(r, &width), *log_p = ox_distribution_log_prob(&p, x),
                      *density = ox_exp(log_p);
            CHECK_MSG(density != NULL, "%s: %s", r->name, ox_error_text());
            if (!density) continue;
            double mean = total(density, x, width);
            near(r, "the whole", total(density, NULL, width), 1);
            near(r, "mean", ox_item(ox_distribution_mean(&p)), mean);
            near(r, "variance", ox_item(ox_distribution_variance(&p)),
                 total(density, ox_square(ox_sub_number(x, mean)), width));
            if (r->entropy)
                near(r, "entropy", ox_item(ox_distribution_entropy(&p)), -total(density, log_p, width));
            if (!r->kl) continue;
            ox_tensor *apart = ox_sub(log_p, ox_distribution_log_prob(&q, x));
            near(r, "divergence", ox_item(ox_distribution_kl(&p, &q)), total(density, apart, width));
            CHECK_MSG(fabs(ox_item(ox_distribution_kl(&p, &p))) < 1e-12, "%s: divergence from itself",
                      r->name);
        }
}

/* Mean and variance within five standard errors, the same numbers from the same seed, other shapes. */
static void check_samples(const char *name, const ox_distribution *d, ox_tensor *mean, ox_tensor *variance) {
    const double n = 40000;
    ox_manual_seed(11);
    ox_tensor *drawn = ox_distribution_sample(d, OX_SHAPE((int64_t)n));
    CHECK_MSG(drawn != NULL, "%s: %s", name, ox_error_text());
    ox_error_clear();
    if (!drawn) return;
    ox_tensor *numbers = ox_cast(drawn, OX_F64);
    ox_tensor *off = ox_abs(ox_sub(ox_mean(numbers, OX_DIMS(0), false), mean));
    ox_tensor *bound = ox_mul_number(ox_sqrt(ox_div_number(variance, n)), 5);
    CHECK_MSG(ox_item_int(ox_all(ox_le(off, bound), OX_ALL_DIMS, false)), "%s: the mean of samples", name);
    ox_tensor *ratio = ox_div(ox_var(numbers, OX_DIMS(0), 1, false), variance);
    CHECK_MSG(ox_item_int(ox_all(ox_lt_number(ox_abs(ox_log(ratio)), 0.1), OX_ALL_DIMS, false)),
              "%s: the variance of samples", name);
    ox_manual_seed(11);
    CHECK_MSG(ox_equal(drawn, ox_distribution_sample(d, OX_SHAPE((int64_t)n))),
              "%s: other numbers from one seed", name);
    ox_tensor *block = ox_distribution_sample(d, OX_SHAPE(2, 0, 3));
    CHECK_MSG(block && ox_numel(block) == 0 && block->ndim == 2 + drawn->ndim, "%s: no samples", name);
}

static void test_samples(void) {
    for (int i = 0; i < ROWS; i++)
        OX_SCOPE {
            ox_distribution d = made(&rows[i], rows[i].p);
            check_samples(rows[i].name, &d, ox_distribution_mean(&d), ox_distribution_variance(&d));
        }
    OX_SCOPE {
        static const double rates[] = {0, 0.01, 1, 9.99, 10, 1000};
        static const double shares[] = {1, 2, 3, 2, 4, 2}, square[] = {1.2, 0, 0.5, 0.8};
        ox_distribution d = {
            OX_DISTRIBUTION_POISSON, {ox_from_doubles(rates, OX_SHAPE(6), OX_F64), NULL, NULL}, 0};
        ox_tensor *none = ox_distribution_sample(&d, OX_SHAPE(100));
        CHECK(ox_item(ox_amax(ox_select(none, 1, 0), OX_ALL_DIMS, false)) == 0);
        d.parameter[0] = ox_slice(d.parameter[0], 0, 1, OX_END, 1);
        check_samples("rates", &d, ox_distribution_mean(&d), ox_distribution_variance(&d));
        d.kind = OX_DISTRIBUTION_GAMMA;
        d.parameter[0] = ox_full(OX_SHAPE(2), 0.4, OX_F64);
        d.parameter[1] = ox_full(OX_SHAPE(1), 2, OX_F64);
        check_samples("gamma below 1", &d, ox_distribution_mean(&d), ox_distribution_variance(&d));
        d.kind = OX_DISTRIBUTION_DIRICHLET;
        d.parameter[0] = ox_t(ox_from_doubles(shares, OX_SHAPE(3, 2), OX_F64));
        d.parameter[1] = NULL;
        check_samples("dirichlet", &d, ox_distribution_mean(&d), ox_distribution_variance(&d));
        d.kind = OX_DISTRIBUTION_MULTINOMIAL;
        d.count = 7;
        check_samples("multinomial", &d, ox_distribution_mean(&d), ox_distribution_variance(&d));
        ox_tensor *share = ox_select(ox_div(d.parameter[0], ox_sum(d.parameter[0], OX_DIMS(1), true)), 1, 2);
        d.kind = OX_DISTRIBUTION_CATEGORICAL;
        ox_tensor *drawn = ox_distribution_sample(&d, OX_SHAPE(40000));
        ox_tensor *often = ox_mean(ox_cast(ox_eq_number(drawn, 2), OX_F64), OX_DIMS(0), false);
        CHECK(drawn->dtype == OX_I64 && ox_allclose(often, share, 0, 0.015, false));
        d.kind = OX_DISTRIBUTION_MULTIVARIATE_NORMAL;
        d.parameter[0] = ox_from_doubles(rates + 1, OX_SHAPE(2), OX_F64);
        d.parameter[1] = ox_from_doubles(square, OX_SHAPE(2, 2), OX_F64);
        check_samples("multivariate_normal", &d, ox_distribution_mean(&d), ox_distribution_variance(&d));
        drawn = ox_distribution_sample(&d, OX_SHAPE(40000));
        CHECK(ox_allclose(ox_cov(ox_t(drawn), 1, NULL, NULL), ox_matmul(d.parameter[1], ox_t(d.parameter[1])),
                          0, 0.05, false));
    }
}

/* Classes: by probabilities and by logits, values that broadcast; a density by hand. */
static void test_classes(void) {
    static const double weights[] = {1, 2, 5, 4, 1, 3};
    OX_SCOPE {
        ox_tensor *w = ox_from_doubles(weights, OX_SHAPE(2, 3), OX_F64);
        ox_distribution p = {OX_DISTRIBUTION_CATEGORICAL, {w, NULL, NULL}, 0}, l = p;
        l.parameter[0] = NULL;
        l.parameter[1] = ox_log(w);
        ox_tensor *value = ox_from_ints((const int64_t[]){0, 2, 1}, OX_SHAPE(3, 1), OX_I64);
        ox_tensor *one = ox_distribution_log_prob(&p, value), *other = ox_distribution_log_prob(&l, value);
        CHECK(one && one->shape[0] == 3 && one->shape[1] == 2 &&
              ox_allclose(one, other, 1e-12, 1e-12, false));
        CHECK(fabs(ox_item(ox_select(ox_select(one, 0, 1), 0, 0)) - log(5.0 / 8)) < 1e-12);
        CHECK(ox_item(ox_amax(ox_abs(ox_distribution_kl(&p, &l)), OX_ALL_DIMS, false)) < 1e-12);
    }
}

/* ---- gradients ----------------------------------------------------------------------------------------- */

typedef struct asked {
    const row *of;
    int what;
} asked;

static ox_tensor *checked(ox_tensor *const *in, void *user) {
    const asked *a = (const asked *)user;
    ox_distribution d = made(a->of, a->of->p), q = made(a->of, a->of->q);
    for (int i = 0; i < a->of->parameters; i++) d.parameter[i] = in[i];
    switch (a->what) {
    case 0: return ox_distribution_log_prob(&d, ox_full(OX_SHAPE(2), a->of->whole ? 1 : 0.6, OX_F64));
    case 1: return ox_distribution_entropy(&d);
    case 2: return ox_distribution_kl(&d, &q);
    default: ox_manual_seed(3); return ox_distribution_rsample(&d, OX_SHAPE(3));
    }
}

static void test_gradients(void) {
    for (int i = 0; i < ROWS; i++)
        for (int what = 0; what < 4; what++)
            OX_SCOPE {
                const row *r = &rows[i];
                asked a;
                a.of = r;
                a.what = what;
                if ((what == 1 && !r->entropy) || (what == 2 && !r->kl) || (what == 3 && i > 5)) continue;
                ox_distribution d = made(r, r->p);
                for (int k = 0; k < r->parameters; k++) ox_requires_grad_(d.parameter[k], true);
                CHECK_MSG(ox_gradcheck(checked, &a, d.parameter, r->parameters, NULL) == OX_OK, "%s %d: %s",
                          r->name, what, ox_error_text());
                ox_error_clear();
            }
}

static void refused(ox_tensor *t, ox_status status) {
    CHECK_MSG(!t && ox_error() == status, "%d %s", (int)ox_error(), ox_error_text());
    ox_error_clear();
}

static void test_refused(void) {
    OX_SCOPE {
        ox_tensor *one = ox_ones(OX_SHAPE(2), OX_F32);
        ox_distribution d = {OX_DISTRIBUTION_NONE, {one, one, NULL}, 0}, normal = d;
        refused(ox_distribution_mean(&d), OX_ERR_ARG);
        refused(ox_distribution_mean(NULL), OX_ERR_ARG);
        d.kind = OX_DISTRIBUTION_KINDS;
        refused(ox_distribution_sample(&d, OX_SHAPE(1)), OX_ERR_ARG);
        d.kind = OX_DISTRIBUTION_BERNOULLI;
        refused(ox_distribution_entropy(&d), OX_ERR_ARG); /* probabilities and logits */
        d.kind = OX_DISTRIBUTION_STUDENT_T;
        refused(ox_distribution_log_prob(&d, one), OX_ERR_ARG);
        d.kind = OX_DISTRIBUTION_GAMMA;
        refused(ox_distribution_rsample(&d, OX_SHAPE(1)), OX_ERR_UNSUPPORTED);
        normal.kind = OX_DISTRIBUTION_NORMAL;
        refused(ox_distribution_kl(&d, &normal), OX_ERR_UNSUPPORTED);
        normal.parameter[1] = ox_ones(OX_SHAPE(3), OX_F32);
        refused(ox_distribution_sample(&normal, OX_SHAPE(1)), OX_ERR_SHAPE);
        normal.parameter[1] = ox_ones(OX_SHAPE(2), OX_I64);
        refused(ox_distribution_sample(&normal, OX_SHAPE(1)), OX_ERR_ARG);
        d.kind = OX_DISTRIBUTION_POISSON;
        d.parameter[1] = NULL;
        refused(ox_distribution_entropy(&d), OX_ERR_UNSUPPORTED);
        CHECK(!ox_distribution_log_prob(&d, NULL));
        ox_error_clear();
    }
}

int main(void) {
    test_integrals();
    test_samples();
    test_classes();
    test_gradients();
    test_refused();
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("distributions");
}
