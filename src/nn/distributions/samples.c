/* Numbers that are drawn without a distribution's struct: into a tensor, or by its logits. */

#define OXI_SQRT_2_F64 1.4142135623730951

/* The part of a standard normal distribution below x. */
static double oxi_normal_below(double x) {
    return 0.5 * erfc(-x / OXI_SQRT_2_F64);
}

OX_API ox_tensor *ox_trunc_normal_(ox_tensor *x, double mean, double deviation, double low, double high) {
    if (oxi_any_null("trunc_normal_", &x, 1)) return NULL;
    if (!(deviation > 0 && low < high) || !(mean - mean == 0))
        return OXI_FAIL_NULL(OX_ERR_ARG, "trunc_normal_: mean %g, deviation %g, from %g to %g", mean,
                             deviation, low, high);
    oxi_work work = oxi_work_begin("trunc_normal_");
    bool enabled = ox_set_grad_enabled(false);
    ox_dtype dtype = x->dtype == OX_F64 ? OX_F64 : OX_F32;
    double from = 2 * oxi_normal_below((low - mean) / deviation) - 1;
    double to = 2 * oxi_normal_below((high - mean) / deviation) - 1;
    ox_tensor *u = oxi_full("draw", ox_shape_of(x), 0, dtype, oxi_working_device(ox_device_of(x)));
    u = ox_add_number(ox_mul_number(ox_uniform_(u, 0, 1), to - from), from);
    u = ox_add_number(ox_mul_number(ox_erfinv(u), deviation * OXI_SQRT_2_F64), mean);
    bool done = u && ox_copy_(x, ox_clamp(u, low, high));
    (void)ox_set_grad_enabled(enabled);
    (void)oxi_work_end(&work, NULL);
    return done ? x : NULL;
}

OX_API ox_tensor *ox_gumbel_softmax(ox_tensor *logits, double tau, bool hard, int dim) {
    if (oxi_any_null("gumbel_softmax", &logits, 1)) return NULL;
    int at = oxi_wrap_dim("gumbel_softmax", dim, logits->ndim);
    if (at < 0) return NULL;
    if (!oxi_is_float(logits->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "gumbel_softmax: not defined for %s", oxi_tensor_text(logits));
    if (!(tau > 0)) return OXI_FAIL_NULL(OX_ERR_ARG, "gumbel_softmax: tau %g is not above 0", tau);
    oxi_work work = oxi_work_begin("gumbel_softmax");
    ox_tensor *p[2] = {logits, NULL}, *drawn = oxi_exponentials(p, ox_shape_of(logits));
    drawn = ox_neg(ox_log(ox_clamp(drawn, 1e-37, INFINITY))); /* 0 would be infinitely likely */
    ox_tensor *moved = ox_div_number(ox_add(oxi_wide(logits), drawn), tau);
    ox_tensor *soft = moved ? ox_cast(ox_softmax(moved, at), logits->dtype) : NULL;
    if (!hard || !soft || ox_numel(soft) == 0) return oxi_work_end(&work, soft);
    ox_tensor *fixed = ox_detach(soft), *most = ox_argmax(fixed, at, true);
    ox_tensor *one = ox_scatter(ox_zeros_like(fixed), at, most, ox_ones_like(fixed));
    return oxi_work_end(&work, ox_add(ox_sub(one, fixed), soft));
}

OX_API ox_tensor *ox_poisson(ox_tensor *x) {
    ox_distribution d;
    if (oxi_any_null("poisson", &x, 1)) return NULL;
    if (!oxi_is_float(x->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "poisson: not defined for %s", oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("poisson");
    memset(&d, 0, sizeof d);
    d.kind = OX_DISTRIBUTION_POISSON;
    d.parameter[0] = oxi_wide(x);
    ox_tensor *counts = d.parameter[0] ? ox_distribution_sample(&d, OX_SCALAR_SHAPE) : NULL;
    return oxi_work_end(&work, counts ? ox_cast(counts, x->dtype) : NULL);
}
