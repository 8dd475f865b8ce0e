/* Kullback-Leibler divergences of two distributions of one kind: torch's formulas. p and q are parameters. */

#define OXI_DIVERGENCE(name)                                                               \
    static ox_tensor *oxi_divergence_##name(const ox_distribution *d, ox_tensor *const *p, \
                                            ox_tensor *const *q)

OXI_DIVERGENCE(normal) {
    (void)d;
    ox_tensor *ratio = ox_square(ox_div(p[1], q[1])), *apart = ox_square(ox_div(ox_sub(p[0], q[0]), q[1]));
    return oxi_times(ox_sub(oxi_plus(ox_add(ratio, apart), -1), ox_log(ratio)), 0.5);
}
OXI_DIVERGENCE(log_normal) {
    return oxi_divergence_normal(d, p, q);
}
OXI_DIVERGENCE(uniform) {
    (void)d;
    ox_tensor *outside = ox_logical_or(ox_gt(q[0], p[0]), ox_lt(q[1], p[1]));
    ox_tensor *ratio = ox_div(ox_sub(q[1], q[0]), ox_sub(p[1], p[0]));
    return ox_where(outside, ox_number(INFINITY), ox_log(ratio));
}
OXI_DIVERGENCE(exponential) {
    (void)d;
    ox_tensor *ratio = ox_div(q[0], p[0]);
    return oxi_plus(ox_sub(ratio, ox_log(ratio)), -1);
}
OXI_DIVERGENCE(laplace) {
    (void)d;
    ox_tensor *ratio = ox_div(p[1], q[1]), *apart = ox_abs(ox_sub(p[0], q[0]));
    ox_tensor *bend = ox_mul(ratio, ox_exp(ox_neg(ox_div(apart, p[1]))));
    return oxi_plus(ox_add(ox_sub(ox_div(apart, q[1]), ox_log(ratio)), bend), -1);
}
OXI_DIVERGENCE(cauchy) {
    (void)d;
    ox_tensor *all = ox_add(ox_square(ox_add(p[1], q[1])), ox_square(ox_sub(p[0], q[0])));
    return ox_sub(ox_log(all), ox_log(oxi_times(ox_mul(p[1], q[1]), 4)));
}
OXI_DIVERGENCE(gumbel) {
    (void)d;
    ox_tensor *ratio = ox_div(p[1], q[1]), *apart = ox_div(ox_sub(p[0], q[0]), q[1]);
    ox_tensor *bend = ox_exp(ox_sub(ox_lgamma(oxi_plus(ratio, 1)), apart));
    ox_tensor *line = ox_add(ox_sub(apart, ox_log(ratio)), oxi_times(ratio, OXI_GUMBEL_MEAN));
    return oxi_plus(ox_add(line, bend), -1 - OXI_GUMBEL_MEAN);
}

/* a log(p / q) of one outcome: 0 where a is, infinite where only q is. */
static ox_tensor *oxi_outcome(ox_tensor *a, ox_tensor *other, ox_tensor *logs) {
    ox_tensor *never = ox_eq_number(a, 0);
    ox_tensor *made = ox_mul(a, ox_where(never, ox_number(0), logs));
    return ox_where(never, ox_number(0), ox_where(ox_eq_number(other, 0), ox_number(INFINITY), made));
}
OXI_DIVERGENCE(bernoulli) {
    (void)d;
    ox_tensor *lp = oxi_binary_logits(p), *lq = oxi_binary_logits(q);
    ox_tensor *pp = oxi_binary_probs(p), *pq = oxi_binary_probs(q);
    ox_tensor *yes = oxi_outcome(pp, pq, ox_sub(ox_logsigmoid(lp), ox_logsigmoid(lq)));
    ox_tensor *no = ox_sub(ox_logsigmoid(ox_neg(lp)), ox_logsigmoid(ox_neg(lq)));
    return ox_add(yes, oxi_outcome(ox_rsub_number(pp, 1), ox_rsub_number(pq, 1), no));
}
OXI_DIVERGENCE(geometric) {
    ox_tensor *pp = oxi_binary_probs(p), *pq = oxi_binary_probs(q);
    ox_tensor *rest = ox_div(ox_log1p(ox_neg(pq)), pp);
    return ox_neg(ox_add(ox_add(oxi_entropy_geometric(d, p), rest), oxi_binary_logits(q)));
}
OXI_DIVERGENCE(binomial) {
    return oxi_times(oxi_divergence_bernoulli(d, p, q), (double)d->count);
}
OXI_DIVERGENCE(categorical) {
    (void)d;
    ox_tensor *logs = ox_sub(oxi_categorical_logits(p), oxi_categorical_logits(q));
    return oxi_sum_last(oxi_outcome(oxi_class_probs(p), oxi_class_probs(q), logs));
}
OXI_DIVERGENCE(poisson) {
    (void)d;
    ox_tensor *ratio = ox_sub(ox_log(p[0]), ox_log(q[0]));
    return ox_sub(ox_mul(p[0], ratio), ox_sub(p[0], q[0]));
}
OXI_DIVERGENCE(gamma) {
    (void)d;
    ox_tensor *scale = ox_mul(q[0], ox_log(ox_div(p[1], q[1])));
    ox_tensor *size = ox_sub(ox_lgamma(q[0]), ox_lgamma(p[0]));
    ox_tensor *curve = ox_mul(ox_sub(p[0], q[0]), ox_digamma(p[0]));
    ox_tensor *mean = ox_mul(ox_sub(q[1], p[1]), ox_div(p[0], p[1]));
    return ox_add(ox_add(scale, size), ox_add(curve, mean));
}
OXI_DIVERGENCE(beta) {
    (void)d;
    ox_tensor *sum = ox_add(p[0], p[1]), *made = ox_sub(oxi_log_beta(q), oxi_log_beta(p));
    for (int i = 0; i < 2; i++) made = ox_add(made, ox_mul(ox_sub(p[i], q[i]), ox_digamma(p[i])));
    return ox_add(made, ox_mul(ox_sub(ox_add(q[0], q[1]), sum), ox_digamma(sum)));
}
OXI_DIVERGENCE(dirichlet) {
    (void)d;
    ox_tensor *sum = ox_sum(p[0], OX_DIMS(-1), true);
    ox_tensor *size = ox_sub(ox_lgamma(oxi_sum_last(p[0])), ox_lgamma(oxi_sum_last(q[0])));
    size = ox_sub(size, oxi_sum_last(ox_sub(ox_lgamma(p[0]), ox_lgamma(q[0]))));
    ox_tensor *curve = ox_sub(ox_digamma(p[0]), ox_digamma(sum));
    return ox_add(size, oxi_sum_last(ox_mul(ox_sub(p[0], q[0]), curve)));
}
OXI_DIVERGENCE(multivariate_normal) {
    (void)d;
    double k = (double)p[0]->shape[p[0]->ndim - 1];
    ox_tensor *size = ox_sub(oxi_half_log_det(q[1]), oxi_half_log_det(p[1]));
    ox_tensor *spread = ox_solve_triangular(q[1], p[1], false, true, false);
    spread = ox_sum(ox_square(spread), OX_DIMS(-2, -1), false);
    ox_tensor *apart = oxi_sum_last(ox_square(oxi_whitened(q[1], ox_sub(p[0], q[0]))));
    return ox_add(size, oxi_times(oxi_plus(ox_add(spread, apart), -k), 0.5));
}
#define oxi_divergence_student_t NULL
#define oxi_divergence_multinomial NULL
