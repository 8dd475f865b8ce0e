/* Elementwise functions that programs which only infer rarely need: sums of logarithms, steps, shrinking
 * activations, parts of numbers. */

/* log(e^a + e^b), and the same of another base; infinite where both are that. The greater by `where`, which
 * has no kink: the second derivatives are there where a is b, too. */
static ox_tensor *oxi_log_of_sum(ox_tensor *a, ox_tensor *b, bool of_two) {
    ox_tensor *same = ox_logical_and(ox_eq(a, b), ox_isinf(a)), *first = ox_ge(a, b);
    ox_tensor *most = ox_where(first, a, b), *least = ox_where(first, b, a);
    ox_tensor *apart = ox_where(same, ox_number(0), ox_sub(least, most));
    ox_tensor *more =
        of_two ? ox_mul_number(ox_log1p(ox_exp2(apart)), 1.44269504088896340736) : ox_log1p(ox_exp(apart));
    return ox_where(same, a, ox_add(most, more));
}
OXI_MADE_2(logaddexp, oxi_log_of_sum(a, b, false))
OXI_MADE_2(logaddexp2, oxi_log_of_sum(a, b, true))

/* a f(b) where f is a logarithm that is -inf at `edge`: 0 for a 0, but for NaN. */
static ox_tensor *oxi_times_log(ox_tensor *a, ox_tensor *b, double edge) {
    a = oxi_as_float(a);
    b = oxi_as_float(b);
    ox_tensor *none =
        ox_logical_and(ox_eq_number(a, 0), ox_logical_or(ox_le_number(b, edge), ox_eq_number(b, INFINITY)));
    ox_tensor *safe = ox_where(none, ox_number(1), b);
    return ox_where(none, ox_number(0), ox_mul(a, edge < 0 ? ox_log1p(safe) : ox_log(safe)));
}
OXI_MADE_2(xlogy, oxi_times_log(a, b, 0))
OXI_MADE_2(xlog1py, oxi_times_log(a, b, -1))

OXI_MADE_2(heaviside, ox_where(ox_eq_number(a, 0), b, ox_cast(ox_gt_number(a, 0), a->dtype)))
/* Powers of whole numbers are of a's type, or wider. */
static ox_tensor *oxi_ldexp(ox_tensor *a, ox_tensor *b) {
    if (!oxi_is_float(a->dtype) || oxi_is_float(b->dtype)) return ox_mul(a, ox_rpow_number(b, 2));
    ox_tensor *wide = oxi_wide(a);
    return ox_cast(ox_mul(wide, ox_rpow_number(ox_cast(b, wide->dtype), 2)), a->dtype);
}
OXI_MADE_2(ldexp, oxi_ldexp(a, b))
OXI_MADE_2(float_power, ox_pow(ox_cast(a, OX_F64), ox_cast(b, OX_F64)))
OXI_MADE_1(deg2rad, ox_mul_number(x, OXI_PI_F64 / 180))
OXI_MADE_1(rad2deg, ox_mul_number(x, 180 / OXI_PI_F64))
OXI_MADE_1(isposinf, ox_eq_number(x, INFINITY))
OXI_MADE_1(isneginf, ox_eq_number(x, -INFINITY))
OXI_MADE_1(tanhshrink, ox_sub(x, ox_tanh(x)))

/* At 0 by its series, so that second derivatives are those of a function without a hole. */
static ox_tensor *oxi_sinc(ox_tensor *x) {
    ox_tensor *zero = ox_eq_number(x, 0), *wide = oxi_as_float(x);
    ox_tensor *angle = ox_mul_number(ox_where(zero, ox_number(1), wide), OXI_PI_F64);
    ox_tensor *square = ox_square(ox_where(zero, wide, ox_number(0)));
    ox_tensor *flat = ox_mul_number(square, OXI_PI_F64 * OXI_PI_F64 / 6);
    return ox_where(zero, ox_rsub_number(flat, 1), ox_div(ox_sin(angle), angle));
}
OXI_MADE_1(sinc, oxi_sinc(x))

/* The neighbor of a towards b: one more or less in its bits. Around 0 the smallest number there is. */
static ox_tensor *oxi_nextafter(ox_tensor *a, ox_tensor *b) {
    ox_dtype bits = oxi_bits_type(a->dtype);
    ox_tensor *both[2], *wide;
    wide = ox_maximum(a, b); /* NaN where one is */
    if (!wide || a->dtype != b->dtype || !oxi_is_float(a->dtype)) {
        if (wide)
            (void)oxi_fail(OX_ERR_DTYPE, "nextafter: %s x %s are not floats of one dtype", oxi_tensor_text(a),
                           oxi_tensor_text(b));
        return NULL;
    }
    both[0] = ox_contiguous(ox_expand(a, ox_shape_of(wide)));
    both[1] = ox_expand(b, ox_shape_of(wide));
    ox_tensor *grows = ox_eq(ox_lt(both[0], both[1]), ox_gt_number(both[0], 0));
    ox_tensor *step = ox_cast(ox_sub_number(ox_mul_number(ox_cast(grows, OX_F32), 2), 1), bits);
    ox_tensor *next = ox_view_dtype(ox_add(ox_view_dtype(both[0], bits), step), a->dtype);
    ox_tensor *least = ox_view_dtype(ox_ones_like(step), a->dtype);
    next = ox_where(ox_eq_number(both[0], 0), ox_copysign(least, both[1]), next);
    return ox_where(ox_eq(both[0], both[1]), both[1], ox_where(ox_isnan(wide), wide, next));
}
OXI_MADE_2(nextafter, oxi_nextafter(a, b))

/* Euclid's steps for all elements, until none has a remainder. */
static ox_tensor *oxi_gcd(ox_tensor *a, ox_tensor *b) {
    a = ox_abs(a);
    b = ox_abs(b);
    ox_tensor *sum = ox_add(a, b);
    if (!sum || !oxi_is_int(sum->dtype))
        return sum ? OXI_FAIL_NULL(OX_ERR_DTYPE, "gcd: of integers only") : NULL;
    a = ox_expand(ox_cast(a, sum->dtype), ox_shape_of(sum));
    b = ox_expand(ox_cast(b, sum->dtype), ox_shape_of(sum));
    while (b && ox_numel(b) && ox_item_int(ox_any(ox_ne_number(b, 0), OX_ALL_DIMS, false))) {
        ox_tensor *done = ox_eq_number(b, 0), *rest = ox_remainder(a, ox_where(done, ox_integer(1), b));
        a = ox_where(done, a, b);
        b = ox_where(done, b, rest);
    }
    return ox_error() ? NULL : a;
}
OXI_MADE_2(gcd, oxi_gcd(a, b))

static ox_tensor *oxi_lcm(ox_tensor *a, ox_tensor *b) {
    ox_tensor *common = oxi_gcd(a, b), *none = ox_eq_number(common, 0);
    return ox_mul(ox_trunc_divide(ox_abs(a), ox_where(none, ox_integer(1), common)), ox_abs(b));
}
OXI_MADE_2(lcm, oxi_lcm(a, b))

OX_API ox_tensor *ox_logit(ox_tensor *x, double eps) {
    if (oxi_any_null("logit", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("logit");
    ox_tensor *p = oxi_as_float(x);
    if (eps >= 0) { /* the lower bound first: eps may be above 1/2 */
        ox_tensor *below = ox_where(ox_gt_number(p, 1 - eps), ox_number(1 - eps), p);
        p = ox_where(ox_lt_number(p, eps), ox_number(eps), below);
    }
    return oxi_work_end(&work, ox_log(ox_div(p, ox_rsub_number(p, 1))));
}

OX_API ox_tensor *ox_hardshrink(ox_tensor *x, double lambda) {
    if (oxi_any_null("hardshrink", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("hardshrink");
    return oxi_work_end(&work, ox_where(ox_le_number(ox_abs(x), lambda), ox_number(0), x));
}

OX_API ox_tensor *ox_softshrink(ox_tensor *x, double lambda) {
    if (oxi_any_null("softshrink", &x, 1) || !oxi_number_fits("softshrink", lambda >= 0, lambda)) return NULL;
    oxi_work work = oxi_work_begin("softshrink");
    ox_tensor *inside = ox_where(ox_isnan(x), x, ox_number(0));
    ox_tensor *below = ox_where(ox_lt_number(x, -lambda), ox_add_number(x, lambda), inside);
    return oxi_work_end(&work, ox_where(ox_gt_number(x, lambda), ox_sub_number(x, lambda), below));
}

OX_API ox_tensor *ox_softmin(ox_tensor *x, int dim) {
    if (oxi_any_null("softmin", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("softmin");
    return oxi_work_end(&work, ox_softmax(ox_neg(x), dim));
}

OX_API ox_tensor *ox_prelu(ox_tensor *x, ox_tensor *weight) {
    ox_tensor *in[2] = {x, weight};
    if (oxi_any_null("prelu", in, 2)) return NULL;
    if (weight->ndim > 1)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "prelu: %s is not a weight a channel", oxi_tensor_text(weight));
    oxi_work work = oxi_work_begin("prelu");
    if (ox_numel(weight) > 1 && x->ndim > 1) weight = oxi_by_channel(weight, x);
    if (x->ndim == 0) weight = ox_reshape(weight, OX_ALL_DIMS);
    ox_tensor *y = ox_where(ox_gt_number(x, 0), x, ox_mul(x, weight));
    return oxi_work_end(&work, y);
}

OX_API ox_tensor *ox_rrelu(ox_tensor *x, double lower, double upper, bool training) {
    if (oxi_any_null("rrelu", &x, 1) || !oxi_number_fits("rrelu", lower <= upper, lower)) return NULL;
    oxi_work work = oxi_work_begin("rrelu");
    ox_tensor *slope =
        training ? ox_uniform_(ox_empty_like(x), lower, upper) : ox_number((lower + upper) / 2);
    return oxi_work_end(&work, ox_where(ox_gt_number(x, 0), x, ox_mul(x, slope)));
}

/* x = m 2^e with 0.5 <= |m| < 1; 0, NaN and infinities as they are. */
OX_API ox_tuple ox_frexp(ox_tensor *x) {
    ox_tuple made;
    memset(&made, 0, sizeof made);
    if (oxi_any_null("frexp", &x, 1)) return made;
    oxi_work work = oxi_work_begin("frexp");
    ox_tensor *plain = ox_logical_and(ox_isfinite(x), ox_ne_number(x, 0));
    ox_tensor *size = ox_where(plain, ox_abs(ox_cast(x, OX_F64)), ox_number(0.5));
    ox_tensor *power = ox_add_number(ox_floor(ox_log2(size)), 1);
    ox_tensor *half = ox_floor(ox_mul_number(power, -0.5)); /* 2^-power in two: as one it may be infinite */
    ox_tensor *part = ox_mul(ox_mul(size, ox_exp2(half)), ox_exp2(ox_sub(ox_neg(power), half)));
    power = ox_add(power,
                   ox_sub(ox_cast(ox_ge_number(part, 1), OX_F64), ox_cast(ox_lt_number(part, 0.5), OX_F64)));
    half = ox_floor(ox_mul_number(power, -0.5));
    ox_tensor *rest = ox_sub(ox_neg(power), half);
    made.t[0] = ox_mul(ox_mul(x, ox_cast(ox_exp2(half), x->dtype)), ox_cast(ox_exp2(rest), x->dtype));
    made.t[1] = ox_cast(ox_where(plain, power, ox_number(0)), OX_I32);
    if (!made.t[0] || !made.t[1]) made.t[0] = made.t[1] = NULL;
    ox_keep(made.t[0]);
    (void)oxi_work_end(&work, made.t[1]);
    return made;
}
