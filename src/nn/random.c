/* Functions that are made of others: numbers drawn from distributions, and what drops at random. */

/* Uniform in (0, 1], of x's shape; f32 where x's own type is narrower. */
static ox_tensor *oxi_drawn_above_0(ox_tensor *x) {
    ox_dtype dtype = x->dtype == OX_F64 ? OX_F64 : OX_F32;
    ox_tensor *u = oxi_full("draw", ox_shape_of(x), 0, dtype, oxi_working_device(ox_device_of(x)));
    return ox_rsub_number(ox_uniform_(u, 0, 1), 1);
}

/* x's numbers are drawn; `fits`: of the parameters. */
static ox_tensor *oxi_drawn_into(const char *name, ox_tensor *x, bool fits, double a, double b) {
    if (oxi_any_null(name, &x, 1)) return NULL;
    if (!fits) return OXI_FAIL_NULL(OX_ERR_ARG, "%s: of %g, %g", name, a, b);
    oxi_work work = oxi_work_begin(name);
    ox_tensor *u = oxi_drawn_above_0(x), *made = NULL;
    if (strcmp(name, "exponential_") == 0) made = ox_mul_number(ox_log(u), -1 / a);
    if (strcmp(name, "cauchy_") == 0)
        made = ox_add_number(ox_mul_number(ox_tan(ox_mul_number(ox_sub_number(u, 0.5), OXI_PI_F64)), b), a);
    if (strcmp(name, "log_normal_") == 0) made = ox_exp(ox_normal_(u, a, b));
    if (strcmp(name, "geometric_") == 0)
        made = ox_clamp(ox_ceil(ox_mul_number(ox_log(u), 1 / log1p(-a))), 1, INFINITY);
    bool done = made && ox_copy_(x, made);
    (void)oxi_work_end(&work, NULL);
    return done ? x : NULL;
}
OX_API ox_tensor *ox_exponential_(ox_tensor *x, double rate) {
    return oxi_drawn_into("exponential_", x, rate > 0, rate, 0);
}
OX_API ox_tensor *ox_cauchy_(ox_tensor *x, double median, double scale) {
    return oxi_drawn_into("cauchy_", x, scale > 0, median, scale);
}
OX_API ox_tensor *ox_log_normal_(ox_tensor *x, double mean, double deviation) {
    return oxi_drawn_into("log_normal_", x, deviation > 0, mean, deviation);
}
OX_API ox_tensor *ox_geometric_(ox_tensor *x, double p) {
    return oxi_drawn_into("geometric_", x, p > 0 && p < 1, p, 0);
}

/* ---- dropping ------------------------------------------------------------------------------------------ */

/* 1 with probability 1 - p, for each element or (whole) each channel [N, C, 1 ..]. */
static ox_tensor *oxi_keeps(ox_tensor *x, double p, bool whole) {
    ox_shape shape = ox_shape_of(x);
    for (int d = 2; whole && d < shape.ndim; d++) shape.dim[d] = 1;
    ox_dtype dtype = x->dtype == OX_F64 ? OX_F64 : OX_F32;
    return ox_bernoulli_(oxi_full("dropout", shape, 0, dtype, oxi_working_device(ox_device_of(x))), 1 - p);
}

/* selu: what is dropped becomes selu's lowest value, and mean and variance stay. */
static ox_tensor *oxi_dropped(const char *name, ox_tensor *x, double p, bool training, bool whole,
                              bool selu) {
    if (oxi_any_null(name, &x, 1)) return NULL;
    if (p >= 0 && p <= 1 && (!training || p == 0)) return ox_clone(x);
    if (!(p >= 0 && p <= 1) || (whole && x->ndim < 2))
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: p %g of %s", name, p, oxi_tensor_text(x));
    oxi_work work = oxi_work_begin(name);
    const double least = 1.7580993408473766, a = 1 / sqrt((least * least * p + 1) * (1 - p));
    if (p == 1) return oxi_work_end(&work, ox_mul_number(x, 0));
    ox_tensor *keeps = oxi_keeps(x, p, whole), *more;
    if (!selu) return oxi_work_end(&work, ox_mul(x, ox_cast(ox_mul_number(keeps, 1 / (1 - p)), x->dtype)));
    more = ox_add_number(ox_mul_number(ox_sub_number(keeps, 1), least * a), least * a * p);
    keeps = ox_cast(ox_mul_number(keeps, a), x->dtype);
    return oxi_work_end(&work, ox_add(ox_mul(x, keeps), ox_cast(more, x->dtype)));
}
OX_API ox_tensor *ox_feature_dropout(ox_tensor *x, double p, bool training) {
    return oxi_dropped("feature_dropout", x, p, training, true, false);
}
OX_API ox_tensor *ox_alpha_dropout(ox_tensor *x, double p, bool training) {
    return oxi_dropped("alpha_dropout", x, p, training, false, true);
}
OX_API ox_tensor *ox_feature_alpha_dropout(ox_tensor *x, double p, bool training) {
    return oxi_dropped("feature_alpha_dropout", x, p, training, true, true);
}
