/* Densities, entropies, means and variances: torch's formulas. `p` are the parameters. */

#define OXI_GUMBEL_MEAN 0.57721566490153286
#define OXI_LOG_PI 1.1447298858494002
#define OXI_DENSITY(name) \
    static ox_tensor *oxi_density_##name(const ox_distribution *d, ox_tensor *const *p, ox_tensor *x)
#define OXI_MOMENT(what, name) \
    static ox_tensor *oxi_##what##_##name(const ox_distribution *d, ox_tensor *const *p)
#define OXI_MOMENT_OF(what, name, ...) \
    OXI_MOMENT(what, name) {           \
        (void)d;                       \
        return (__VA_ARGS__);          \
    }

static ox_tensor *oxi_plus(ox_tensor *x, double number) {
    return ox_add_number(x, number);
}
static ox_tensor *oxi_times(ox_tensor *x, double number) {
    return ox_mul_number(x, number);
}
static ox_tensor *oxi_sum_last(ox_tensor *x) {
    return ox_sum(x, OX_DIMS(-1), false);
}

/* What is NaN of a shape and dtype; and a kind without such a thing. */
static ox_tensor *oxi_nan_like(ox_tensor *x) {
    return x ? ox_full_like(x, NAN) : NULL;
}
static ox_tensor *oxi_not_there(const char *what) {
    return OXI_FAIL_NULL(OX_ERR_UNSUPPORTED, "distribution: %s of this kind is not there", what);
}

/* ---- probabilities and logits -------------------------------------------------------------------------- */

/* Kept off 0 and 1 by eps of the dtype, as torch does. */
static ox_tensor *oxi_inside_0_1(ox_tensor *p) {
    double eps = !p ? 0 : p->dtype == OX_F64 ? DBL_EPSILON : p->dtype == OX_F32 ? FLT_EPSILON : 0.0009765625;
    if (p && p->dtype == OX_BF16) eps = 0.0078125;
    return ox_clamp(p, eps, 1 - eps);
}
static ox_tensor *oxi_binary_logits(ox_tensor *const *p) {
    if (!p[0]) return p[1];
    ox_tensor *inside = oxi_inside_0_1(p[0]);
    return ox_sub(ox_log(inside), ox_log1p(ox_neg(inside)));
}
static ox_tensor *oxi_binary_probs(ox_tensor *const *p) {
    return p[0] ? p[0] : ox_sigmoid(p[1]);
}
static ox_tensor *oxi_class_probs(ox_tensor *const *p) {
    return p[0] ? ox_div(p[0], ox_sum(p[0], OX_DIMS(-1), true)) : ox_softmax(p[1], -1);
}
static ox_tensor *oxi_categorical_logits(ox_tensor *const *p) {
    return p[0] ? ox_log(oxi_inside_0_1(oxi_class_probs(p))) : ox_log_softmax(p[1], -1);
}
static ox_tensor *oxi_softplus_of(ox_tensor *x) {
    return ox_neg(ox_logsigmoid(ox_neg(x)));
}

/* ---- location and scale -------------------------------------------------------------------------------- */

static ox_tensor *oxi_standard(ox_tensor *const *p, ox_tensor *x) {
    return ox_div(ox_sub(x, p[0]), p[1]);
}

OXI_DENSITY(normal) {
    (void)d;
    ox_tensor *terms = ox_add(oxi_times(ox_square(oxi_standard(p, x)), 0.5), ox_log(p[1]));
    return ox_neg(oxi_plus(terms, 0.5 * OXI_LOG_2_PI));
}
OXI_MOMENT_OF(entropy, normal, ox_add(oxi_plus(ox_log(p[1]), 0.5 + 0.5 * OXI_LOG_2_PI), ox_zeros_like(p[0])))
OXI_MOMENT_OF(mean, normal, ox_add(p[0], ox_zeros_like(p[1])))
OXI_MOMENT_OF(variance, normal, ox_add(ox_square(p[1]), ox_zeros_like(p[0])))

OXI_DENSITY(log_normal) {
    ox_tensor *log = ox_log(x);
    return ox_sub(oxi_density_normal(d, p, log), log);
}
OXI_MOMENT_OF(entropy, log_normal, ox_add(oxi_entropy_normal(d, p), p[0]))
OXI_MOMENT_OF(mean, log_normal, ox_exp(ox_add(p[0], oxi_times(ox_square(p[1]), 0.5))))
OXI_MOMENT(variance, log_normal) {
    (void)d;
    ox_tensor *square = ox_square(p[1]);
    return ox_mul(ox_expm1(square), ox_exp(ox_add(oxi_times(p[0], 2), square)));
}

OXI_DENSITY(laplace) {
    (void)d;
    return ox_neg(ox_add(ox_log(oxi_times(p[1], 2)), ox_div(ox_abs(ox_sub(x, p[0])), p[1])));
}
OXI_MOMENT_OF(entropy, laplace, ox_add(oxi_plus(ox_log(oxi_times(p[1], 2)), 1), ox_zeros_like(p[0])))
OXI_MOMENT_OF(mean, laplace, oxi_mean_normal(d, p))
OXI_MOMENT_OF(variance, laplace, oxi_times(oxi_variance_normal(d, p), 2))

OXI_DENSITY(cauchy) {
    (void)d;
    ox_tensor *tail = ox_log1p(ox_square(oxi_standard(p, x)));
    return ox_neg(oxi_plus(ox_add(ox_log(p[1]), tail), OXI_LOG_PI));
}
OXI_MOMENT_OF(entropy, cauchy,
              ox_add(oxi_plus(ox_log(p[1]), OXI_LOG_PI + 2 * 0.69314718055994531), ox_zeros_like(p[0])))
OXI_MOMENT_OF(mean, cauchy, oxi_nan_like(oxi_mean_normal(d, p)))
OXI_MOMENT_OF(variance, cauchy, ox_full_like(oxi_mean_normal(d, p), INFINITY))

OXI_DENSITY(gumbel) {
    (void)d;
    ox_tensor *y = ox_neg(oxi_standard(p, x));
    return ox_sub(ox_sub(y, ox_exp(y)), ox_log(p[1]));
}
OXI_MOMENT_OF(entropy, gumbel, ox_add(oxi_plus(ox_log(p[1]), 1 + OXI_GUMBEL_MEAN), ox_zeros_like(p[0])))
OXI_MOMENT_OF(mean, gumbel, ox_add(p[0], oxi_times(p[1], OXI_GUMBEL_MEAN)))
OXI_MOMENT_OF(variance, gumbel, oxi_times(oxi_variance_normal(d, p), OXI_PI_F64 *OXI_PI_F64 / 6))

OXI_DENSITY(student_t) {
    (void)d;
    ox_tensor *y = oxi_standard(p + 1, x), *half = oxi_times(p[0], 0.5), *more = oxi_plus(half, 0.5);
    ox_tensor *size = ox_add(ox_log(p[2]), oxi_times(oxi_plus(ox_log(p[0]), OXI_LOG_PI), 0.5));
    size = ox_sub(ox_add(size, ox_lgamma(half)), ox_lgamma(more));
    return ox_neg(ox_add(ox_mul(more, ox_log1p(ox_div(ox_square(y), p[0]))), size));
}
OXI_MOMENT(entropy, student_t) {
    (void)d;
    ox_tensor *half = oxi_times(p[0], 0.5), *more = oxi_plus(half, 0.5);
    ox_tensor *beta = ox_sub(ox_lgamma(half), ox_lgamma(more));
    beta = oxi_plus(ox_add(beta, oxi_times(ox_log(p[0]), 0.5)), 0.5 * OXI_LOG_PI);
    ox_tensor *curve = ox_mul(more, ox_sub(ox_digamma(more), ox_digamma(half)));
    return ox_add(ox_add(ox_log(p[2]), ox_add(curve, beta)), ox_zeros_like(p[1]));
}
OXI_MOMENT_OF(mean, student_t,
              ox_where(ox_le_number(p[0], 1), ox_number(NAN), ox_add(p[1], ox_zeros_like(p[2]))))
OXI_MOMENT(variance, student_t) {
    (void)d;
    ox_tensor *some = ox_gt_number(p[0], 2), *safe = ox_where(some, p[0], ox_number(3));
    ox_tensor *made = ox_div(ox_mul(ox_square(p[2]), safe), oxi_plus(safe, -2));
    made = ox_where(some, made, ox_where(ox_gt_number(p[0], 1), ox_number(INFINITY), ox_number(NAN)));
    return ox_add(made, ox_zeros_like(p[1]));
}

/* x from the location, in units of the covariance's factor, [..,K]. */
static ox_tensor *oxi_whitened(ox_tensor *factor, ox_tensor *x) {
    return ox_squeeze(ox_solve_triangular(factor, ox_unsqueeze(x, -1), false, true, false), -1);
}
static ox_tensor *oxi_half_log_det(ox_tensor *factor) {
    return oxi_sum_last(ox_log(ox_diagonal(factor, 0, -2, -1)));
}
OXI_DENSITY(multivariate_normal) {
    (void)d;
    ox_tensor *y = oxi_sum_last(ox_square(oxi_whitened(p[1], ox_sub(x, p[0]))));
    y = oxi_times(oxi_plus(y, (double)p[0]->shape[p[0]->ndim - 1] * OXI_LOG_2_PI), 0.5);
    return ox_neg(ox_add(y, oxi_half_log_det(p[1])));
}
OXI_MOMENT(entropy, multivariate_normal) {
    (void)d;
    double k = (double)p[0]->shape[p[0]->ndim - 1];
    ox_tensor *made = oxi_plus(oxi_half_log_det(p[1]), 0.5 * k * (1 + OXI_LOG_2_PI));
    return ox_add(made, oxi_times(oxi_sum_last(ox_zeros_like(p[0])), 0));
}
OXI_MOMENT_OF(mean, multivariate_normal, ox_add(p[0], oxi_sum_last(ox_zeros_like(p[1]))))
OXI_MOMENT_OF(variance, multivariate_normal, ox_add(oxi_sum_last(ox_square(p[1])), ox_zeros_like(p[0])))

/* ---- on an interval, or above 0 ------------------------------------------------------------------------ */

OXI_DENSITY(uniform) {
    (void)d;
    ox_tensor *inside = ox_logical_and(ox_le(p[0], x), ox_lt(x, p[1]));
    return ox_where(inside, ox_neg(ox_log(ox_sub(p[1], p[0]))), ox_number(-INFINITY));
}
OXI_MOMENT_OF(entropy, uniform, ox_log(ox_sub(p[1], p[0])))
OXI_MOMENT_OF(mean, uniform, oxi_times(ox_add(p[0], p[1]), 0.5))
OXI_MOMENT_OF(variance, uniform, oxi_times(ox_square(ox_sub(p[1], p[0])), 1.0 / 12))

OXI_DENSITY(exponential) {
    (void)d;
    return ox_sub(ox_log(p[0]), ox_mul(p[0], x));
}
OXI_MOMENT_OF(entropy, exponential, ox_rsub_number(ox_log(p[0]), 1))
OXI_MOMENT_OF(mean, exponential, ox_reciprocal(p[0]))
OXI_MOMENT_OF(variance, exponential, ox_square(ox_reciprocal(p[0])))

OXI_DENSITY(gamma) {
    (void)d;
    ox_tensor *made = ox_add(ox_xlogy(p[0], p[1]), ox_xlogy(oxi_plus(p[0], -1), x));
    return ox_sub(ox_sub(made, ox_mul(p[1], x)), ox_lgamma(p[0]));
}
OXI_MOMENT(entropy, gamma) {
    (void)d;
    ox_tensor *curve = ox_mul(ox_rsub_number(p[0], 1), ox_digamma(p[0]));
    return ox_add(ox_add(ox_sub(p[0], ox_log(p[1])), ox_lgamma(p[0])), curve);
}
OXI_MOMENT_OF(mean, gamma, ox_div(p[0], p[1]))
OXI_MOMENT_OF(variance, gamma, ox_div(p[0], ox_square(p[1])))

/* log B(a, b) */
static ox_tensor *oxi_log_beta(ox_tensor *const *p) {
    return ox_sub(ox_add(ox_lgamma(p[0]), ox_lgamma(p[1])), ox_lgamma(ox_add(p[0], p[1])));
}
OXI_DENSITY(beta) {
    (void)d;
    ox_tensor *made = ox_add(ox_xlogy(oxi_plus(p[0], -1), x), ox_xlog1py(oxi_plus(p[1], -1), ox_neg(x)));
    return ox_sub(made, oxi_log_beta(p));
}
OXI_MOMENT(entropy, beta) {
    (void)d;
    ox_tensor *sum = ox_add(p[0], p[1]), *made = ox_mul(oxi_plus(sum, -2), ox_digamma(sum));
    for (int i = 0; i < 2; i++) made = ox_sub(made, ox_mul(oxi_plus(p[i], -1), ox_digamma(p[i])));
    return ox_add(made, oxi_log_beta(p));
}
OXI_MOMENT_OF(mean, beta, ox_div(p[0], ox_add(p[0], p[1])))
OXI_MOMENT(variance, beta) {
    (void)d;
    ox_tensor *sum = ox_add(p[0], p[1]);
    return ox_div(ox_mul(p[0], p[1]), ox_mul(ox_square(sum), oxi_plus(sum, 1)));
}

OXI_DENSITY(dirichlet) {
    (void)d;
    ox_tensor *made = oxi_sum_last(ox_xlogy(oxi_plus(p[0], -1), x));
    return ox_sub(ox_add(made, ox_lgamma(oxi_sum_last(p[0]))), oxi_sum_last(ox_lgamma(p[0])));
}
OXI_MOMENT(entropy, dirichlet) {
    (void)d;
    ox_tensor *sum = oxi_sum_last(p[0]);
    ox_tensor *made = ox_sub(oxi_sum_last(ox_lgamma(p[0])), ox_lgamma(sum));
    made = ox_sub(made, ox_mul(ox_rsub_number(sum, (double)p[0]->shape[p[0]->ndim - 1]), ox_digamma(sum)));
    return ox_sub(made, oxi_sum_last(ox_mul(oxi_plus(p[0], -1), ox_digamma(p[0]))));
}
OXI_MOMENT_OF(mean, dirichlet, ox_div(p[0], ox_sum(p[0], OX_DIMS(-1), true)))
OXI_MOMENT(variance, dirichlet) {
    (void)d;
    ox_tensor *sum = ox_sum(p[0], OX_DIMS(-1), true);
    return ox_div(ox_mul(p[0], ox_sub(sum, p[0])), ox_mul(ox_square(sum), oxi_plus(sum, 1)));
}

/* ---- of whole numbers ---------------------------------------------------------------------------------- */

OXI_DENSITY(bernoulli) {
    (void)d;
    return ox_neg(oxi_logit_terms(oxi_binary_logits(p), x, NULL));
}
OXI_MOMENT_OF(entropy, bernoulli, oxi_logit_terms(oxi_binary_logits(p), oxi_binary_probs(p), NULL))
OXI_MOMENT_OF(mean, bernoulli, oxi_times(oxi_binary_probs(p), 1))
OXI_MOMENT(variance, bernoulli) {
    (void)d;
    ox_tensor *probs = oxi_binary_probs(p);
    return ox_mul(probs, ox_rsub_number(probs, 1));
}

OXI_DENSITY(geometric) {
    (void)d;
    ox_tensor *probs = oxi_binary_probs(p);
    return ox_add(ox_xlog1py(x, ox_neg(probs)), ox_log(probs));
}
OXI_MOMENT_OF(entropy, geometric, ox_div(oxi_entropy_bernoulli(d, p), oxi_binary_probs(p)))
OXI_MOMENT_OF(mean, geometric, oxi_plus(ox_reciprocal(oxi_binary_probs(p)), -1))
OXI_MOMENT(variance, geometric) {
    (void)d;
    ox_tensor *probs = oxi_binary_probs(p);
    return ox_div(oxi_plus(ox_reciprocal(probs), -1), probs);
}

OXI_DENSITY(binomial) {
    double n = (double)d->count;
    ox_tensor *logits = oxi_binary_logits(p), *ways = ox_lgamma(ox_rsub_number(x, n + 1));
    ways = ox_rsub_number(ox_add(ox_lgamma(oxi_plus(x, 1)), ways), lgamma(n + 1));
    return ox_sub(ox_add(ways, ox_mul(x, logits)), oxi_times(oxi_softplus_of(logits), n));
}
OXI_MOMENT_OF(entropy, binomial, (void)p, oxi_not_there("entropy"))
OXI_MOMENT_OF(mean, binomial, oxi_times(oxi_binary_probs(p), (double)d->count))
OXI_MOMENT_OF(variance, binomial, oxi_times(oxi_variance_bernoulli(d, p), (double)d->count))

OXI_DENSITY(categorical) {
    (void)d;
    ox_tensor *logits = oxi_categorical_logits(p), *at = ox_unsqueeze(ox_cast(x, OX_I64), -1);
    if (!logits || !at) return NULL;
    ox_tensor *one = ox_narrow(logits, -1, 0, 1), *both[2] = {one, at};
    ox_shape shape;
    if (!one || !oxi_common_shape("log_prob", both, 2, &shape)) return NULL;
    at = ox_contiguous(ox_expand(at, shape));
    shape.dim[shape.ndim - 1] = logits->shape[logits->ndim - 1];
    return ox_squeeze(ox_gather(ox_expand(logits, shape), -1, at), -1);
}
/* p log p, 0 where p is. */
OXI_MOMENT(entropy, categorical) {
    (void)d;
    ox_tensor *probs = oxi_class_probs(p), *logits = oxi_categorical_logits(p);
    return ox_neg(oxi_sum_last(ox_where(ox_eq_number(probs, 0), ox_number(0), ox_mul(probs, logits))));
}
OXI_MOMENT_OF(mean, categorical, (void)p, oxi_not_there("mean"))
OXI_MOMENT_OF(variance, categorical, (void)p, oxi_not_there("variance"))

OXI_DENSITY(multinomial) {
    (void)d;
    ox_tensor *logits = oxi_categorical_logits(p);
    ox_tensor *terms = ox_where(ox_eq_number(x, 0), ox_number(0), ox_mul(x, logits));
    ox_tensor *ways =
        ox_sub(ox_lgamma(oxi_plus(oxi_sum_last(x), 1)), oxi_sum_last(ox_lgamma(oxi_plus(x, 1))));
    return ox_add(ways, oxi_sum_last(terms));
}
OXI_MOMENT_OF(entropy, multinomial, (void)p, oxi_not_there("entropy"))
OXI_MOMENT_OF(mean, multinomial, oxi_times(oxi_class_probs(p), (double)d->count))
OXI_MOMENT(variance, multinomial) {
    ox_tensor *probs = oxi_class_probs(p);
    return oxi_times(ox_mul(probs, ox_rsub_number(probs, 1)), (double)d->count);
}

OXI_DENSITY(poisson) {
    (void)d;
    return ox_sub(ox_sub(ox_xlogy(x, p[0]), p[0]), ox_lgamma(oxi_plus(x, 1)));
}
OXI_MOMENT_OF(entropy, poisson, (void)p, oxi_not_there("entropy"))
OXI_MOMENT_OF(mean, poisson, oxi_times(p[0], 1))
OXI_MOMENT_OF(variance, poisson, oxi_times(p[0], 1))
