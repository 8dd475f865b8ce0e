/* Functions that are made of others: reductions over what a mask lets see (torch.masked), and windows of
 * signals. */

/* x where the mask lets it be seen, else value; mask NULL: x. */
static ox_tensor *oxi_seen(ox_tensor *x, ox_tensor *mask, double value) {
    return mask ? ox_where(mask, x, ox_number(value)) : x;
}

/* How many are seen. */
static ox_tensor *oxi_seen_count(ox_tensor *x, ox_tensor *mask, ox_shape dims, bool keepdim) {
    ox_tensor *ones = mask ? ox_expand(mask, ox_shape_of(x))
                           : oxi_full("count", ox_shape_of(x), 1, OX_BOOL, ox_device_of(x));
    return ox_sum(ones, dims, keepdim);
}

#define OXI_MASKED(name, ...)                                                                        \
    OX_API ox_tensor *ox_masked_##name(ox_tensor *x, ox_tensor *mask, ox_shape dims, bool keepdim) { \
        if (oxi_any_null("masked_" #name, &x, 1)) return NULL;                                       \
        oxi_work work = oxi_work_begin("masked_" #name);                                             \
        return oxi_work_end(&work, (__VA_ARGS__));                                                   \
    }
/* Where nothing is seen: 0, 1, the largest or smallest number of the dtype, NaN. */
static ox_tensor *oxi_seen_extreme(ox_tensor *x, ox_tensor *mask, ox_shape dims, bool keepdim, bool largest) {
    if (x->dtype == OX_BOOL || oxi_is_int(x->dtype)) {
        double least = x->dtype == OX_BOOL ? 0 : oxi_integer_least(x->dtype);
        int64_t most = x->dtype == OX_BOOL                        ? 1
                       : x->dtype == OX_I64 || x->dtype == OX_U64 ? INT64_MAX
                                                                  : (int64_t)(oxi_integer_end(x->dtype) - 1);
        ox_tensor *edge = ox_integer(largest ? (int64_t)least : most);
        x = mask ? ox_where(mask, x, edge) : x;
    } else
        x = oxi_seen(x, mask, largest ? -INFINITY : INFINITY);
    return largest ? ox_amax(x, dims, keepdim) : ox_amin(x, dims, keepdim);
}
/* What zeros are where sums of x are taken: of its own type. */
static ox_tensor *oxi_seen_or(ox_tensor *x, ox_tensor *mask, int64_t value) {
    return mask ? ox_where(mask, x, ox_integer(value)) : x;
}
OXI_MASKED(sum, ox_sum(oxi_seen_or(x, mask, 0), dims, keepdim))
OXI_MASKED(prod, ox_prod(oxi_seen_or(x, mask, 1), dims, keepdim))
OXI_MASKED(amax, oxi_seen_extreme(x, mask, dims, keepdim, true))
OXI_MASKED(amin, oxi_seen_extreme(x, mask, dims, keepdim, false))
OXI_MASKED(mean,
           ox_div(ox_sum(oxi_seen_or(x, mask, 0), dims, keepdim), oxi_seen_count(x, mask, dims, keepdim)))
OXI_MASKED(logsumexp, ox_logsumexp(oxi_seen(oxi_as_float(x), mask, -INFINITY), dims, keepdim))

static ox_tensor *oxi_seen_variance(ox_tensor *x, ox_tensor *mask, ox_shape dims, double correction,
                                    bool keepdim) {
    x = oxi_as_float(x);
    ox_tensor *count = oxi_seen_count(x, mask, dims, true);
    ox_tensor *mean = ox_div(ox_sum(oxi_seen_or(x, mask, 0), dims, true), count);
    ox_tensor *apart = ox_sub(x, mean);
    apart = oxi_is_complex(x) ? ox_square(ox_abs(apart)) : ox_square(apart);
    ox_tensor *freedom = ox_cast(oxi_seen_count(x, mask, dims, keepdim), apart ? apart->dtype : OX_F32);
    freedom = ox_sub_number(freedom, correction);
    return ox_div(ox_sum(oxi_seen(apart, mask, 0), dims, keepdim), ox_clamp(freedom, 0, INFINITY));
}
OX_API ox_tensor *ox_masked_var(ox_tensor *x, ox_tensor *mask, ox_shape dims, double correction,
                                bool keepdim) {
    if (oxi_any_null("masked_var", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("masked_var");
    return oxi_work_end(&work, oxi_seen_variance(x, mask, dims, correction, keepdim));
}
OX_API ox_tensor *ox_masked_std(ox_tensor *x, ox_tensor *mask, ox_shape dims, double correction,
                                bool keepdim) {
    if (oxi_any_null("masked_std", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("masked_std");
    return oxi_work_end(&work, ox_sqrt(oxi_seen_variance(x, mask, dims, correction, keepdim)));
}
OX_API ox_tensor *ox_masked_norm(ox_tensor *x, ox_tensor *mask, double p, ox_shape dims, bool keepdim) {
    if (oxi_any_null("masked_norm", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("masked_norm");
    return oxi_work_end(&work, ox_norm(oxi_seen(x, mask, p < 0 ? INFINITY : 0), p, dims, keepdim));
}

#define OXI_MASKED_ALONG(name, ...)                                              \
    OX_API ox_tensor *ox_masked_##name(ox_tensor *x, ox_tensor *mask, int dim) { \
        if (oxi_any_null("masked_" #name, &x, 1)) return NULL;                   \
        oxi_work work = oxi_work_begin("masked_" #name);                         \
        return oxi_work_end(&work, (__VA_ARGS__));                               \
    }
OXI_MASKED_ALONG(softmax, ox_softmax(oxi_seen(x, mask, -INFINITY), dim))
OXI_MASKED_ALONG(log_softmax, ox_log_softmax(oxi_seen(x, mask, -INFINITY), dim))
OXI_MASKED_ALONG(softmin, ox_softmin(oxi_seen(x, mask, INFINITY), dim))
OXI_MASKED_ALONG(cumsum, ox_cumsum_as(oxi_seen_or(x, mask, 0), dim, x->dtype))
OXI_MASKED_ALONG(cumprod, ox_cumprod_as(oxi_seen_or(x, mask, 1), dim, x->dtype))

OX_API ox_pair ox_masked_median(ox_tensor *x, ox_tensor *mask, int dim, bool keepdim) {
    if (oxi_any_null("masked_median", &x, 1)) return oxi_no_pair();
    oxi_work work = oxi_work_begin("masked_median");
    ox_pair pair = ox_nanmedian(oxi_seen(x, mask, NAN), dim, keepdim);
    return oxi_pair_end(&work, pair.values, pair.indices);
}

/* ---- windows ------------------------------------------------------------------------------------------- */

/* 0, 1, .. count - 1; *last: what the end of the window is on that scale. */
static ox_tensor *oxi_window_ramp(const char *name, int64_t length, bool symmetric, ox_dtype dtype,
                                  double *last) {
    if (dtype == OX_DTYPE_NONE) dtype = ox_default_dtype();
    if (length < 0 || !oxi_is_float(dtype))
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: %lld elements of %s", name, (long long)length,
                             ox_dtype_name(dtype));
    *last = (double)(symmetric ? length - 1 : length);
    if (length < 2) *last = 1; /* one element is the middle */
    return ox_arange(0, (double)length, 1, dtype);
}

OX_API ox_tensor *ox_window_general_cosine(int64_t length, const double *a, int count, bool symmetric,
                                           ox_dtype dtype) {
    double last;
    if (!oxi_number_fits("window_general_cosine", a && count > 0, count)) return NULL;
    oxi_work work = oxi_work_begin("window_general_cosine");
    ox_tensor *ramp = oxi_window_ramp("window_general_cosine", length, symmetric, dtype, &last), *sum = NULL;
    if (length == 1) return oxi_work_end(&work, ramp ? ox_ones_like(ramp) : NULL);
    for (int i = 0; i < count && ramp; i++) {
        double size = i % 2 ? -a[i] : a[i];
        ox_tensor *term = ox_mul_number(ox_cos(ox_mul_number(ramp, 2 * OXI_PI_F64 * i / last)), size);
        sum = i ? ox_add(sum, term) : term;
    }
    return oxi_work_end(&work, sum);
}

#define OXI_WINDOW(name, ...)                                                                          \
    OX_API ox_tensor *ox_window_##name(int64_t length, bool symmetric, ox_dtype dtype) {               \
        static const double terms[] = {__VA_ARGS__};                                                   \
        return ox_window_general_cosine(length, terms, (int)(sizeof terms / sizeof *terms), symmetric, \
                                        dtype);                                                        \
    }
OXI_WINDOW(hann, 0.5, 0.5)
OXI_WINDOW(hamming, 0.54, 0.46)
OXI_WINDOW(blackman, 0.42, 0.5, 0.08)
OXI_WINDOW(nuttall, 0.3635819, 0.4891775, 0.1365995, 0.0106411)

/* f of a ramp around the middle, from -1 to 1 or from -last/2 to last/2. */
#define OXI_WINDOW_OF(name, fits, number, parameters, ...)                                   \
    OX_API ox_tensor *ox_window_##name parameters {                                          \
        double last;                                                                         \
        if (!oxi_number_fits("window_" #name, fits, number)) return NULL;                    \
        oxi_work work = oxi_work_begin("window_" #name);                                     \
        ox_tensor *ramp = oxi_window_ramp("window_" #name, length, symmetric, dtype, &last); \
        if (ramp && length == 1) return oxi_work_end(&work, ox_ones_like(ramp));             \
        return oxi_work_end(&work, ramp ? (__VA_ARGS__) : NULL);                             \
    }
#define OXI_FROM_MIDDLE ox_sub_number(ramp, last / 2)
OXI_WINDOW_OF(bartlett, true, 0, (int64_t length, bool symmetric, ox_dtype dtype),
              ox_rsub_number(ox_abs(ox_sub_number(ox_mul_number(ramp, 2 / last), 1)), 1))
OXI_WINDOW_OF(cosine, true, 0, (int64_t length, bool symmetric, ox_dtype dtype),
              ox_sin(ox_mul_number(ox_add_number(ramp, 0.5), OXI_PI_F64 / (last + 1))))
OXI_WINDOW_OF(gaussian, deviation > 0, deviation,
              (int64_t length, double deviation, bool symmetric, ox_dtype dtype),
              ox_exp(ox_neg(ox_square(ox_mul_number(OXI_FROM_MIDDLE, 1 / (deviation * sqrt(2.0)))))))
OXI_WINDOW_OF(exponential, tau > 0 && (isnan(center) || !symmetric), tau,
              (int64_t length, double center, double tau, bool symmetric, ox_dtype dtype),
              ox_exp(ox_mul_number(ox_abs(isnan(center) ? OXI_FROM_MIDDLE : ox_sub_number(ramp, center)),
                                   -1 / tau)))
/* i0(b) / i0(beta), b = beta sqrt(1 - x^2), without the powers of e that overflow. */
static ox_tensor *oxi_kaiser(ox_tensor *ramp, double last, double beta) {
    ox_tensor *x = ox_sub_number(ox_mul_number(ox_cast(ramp, OX_F64), 2 / last), 1);
    ox_tensor *b = ox_mul_number(ox_sqrt(ox_clamp(ox_rsub_number(ox_square(x), 1), 0, 1)), beta);
    ox_tensor *y = ox_div(ox_mul(ox_i0e(b), ox_exp(ox_sub_number(b, beta))), ox_i0e(ox_number(beta)));
    return y ? ox_cast(y, ramp->dtype) : NULL;
}
OXI_WINDOW_OF(
    kaiser, beta >= 0, beta, (int64_t length, double beta, bool symmetric, ox_dtype dtype),
    oxi_kaiser(ramp, last, beta))
