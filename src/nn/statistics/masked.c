/* Reductions, softmax and sums along a dim over what a mask lets see (torch.masked), made of others. */

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
