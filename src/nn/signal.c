/* Functions that are made of others: windows of signals (torch.signal.windows). */

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
