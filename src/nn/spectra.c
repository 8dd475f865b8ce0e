/* Fourier transforms of windows, and what goes with transforms: shifts, frequencies. */

/* ---- shifts and frequencies ---------------------------------------------------------------------------- */

static ox_tensor *oxi_fft_shifted(const char *name, ox_tensor *x, ox_shape dims, bool back) {
    if (oxi_any_null(name, &x, 1)) return NULL;
    if (dims.ndim == 0)
        for (; dims.ndim < x->ndim; dims.ndim++) dims.dim[dims.ndim] = dims.ndim;
    if (dims.ndim == 0) return oxi_same_again(x);
    ox_shape shifts = dims;
    for (int i = 0; i < dims.ndim; i++) {
        int at = oxi_own_dim(name, x, (int)dims.dim[i]);
        if (at < 0) return NULL;
        shifts.dim[i] = back ? (x->shape[at] + 1) / 2 : x->shape[at] / 2;
    }
    oxi_work work = oxi_work_begin(name);
    return oxi_work_end(&work, ox_roll(x, shifts, dims));
}
OX_API ox_tensor *ox_fftshift(ox_tensor *x, ox_shape dims) {
    return oxi_fft_shifted("fftshift", x, dims, false);
}
OX_API ox_tensor *ox_ifftshift(ox_tensor *x, ox_shape dims) {
    return oxi_fft_shifted("ifftshift", x, dims, true);
}

OX_API ox_tensor *ox_rfftfreq(int64_t n, double d, ox_dtype dtype) {
    if (n < 1) return OXI_FAIL_NULL(OX_ERR_ARG, "rfftfreq: %lld elements", (long long)n);
    oxi_work work = oxi_work_begin("rfftfreq");
    if (dtype == OX_DTYPE_NONE) dtype = ox_default_dtype();
    return oxi_work_end(&work,
                        ox_mul_number(ox_arange(0, (double)(n / 2 + 1), 1, dtype), 1 / ((double)n * d)));
}
OX_API ox_tensor *ox_fftfreq(int64_t n, double d, ox_dtype dtype) {
    if (n < 1) return OXI_FAIL_NULL(OX_ERR_ARG, "fftfreq: %lld elements", (long long)n);
    oxi_work work = oxi_work_begin("fftfreq");
    if (dtype == OX_DTYPE_NONE) dtype = ox_default_dtype();
    ox_tensor *ramp = ox_arange(-(double)(n / 2), (double)(n - n / 2), 1, dtype);
    return oxi_work_end(&work, ox_mul_number(ox_ifftshift(ramp, OX_ALL_DIMS), 1 / ((double)n * d)));
}

/* ---- short-time transforms ----------------------------------------------------------------------------- */

/* The window as [n_fft], its own elements in the middle; NULL for ones. */
static bool oxi_stft_told(const char *name, int64_t n_fft, const ox_stft_desc *desc, ox_stft_desc *told,
                          ox_tensor *x) {
    ox_tensor *parts[3];
    memset(told, 0, sizeof *told);
    told->center = told->onesided = true;
    if (desc) *told = *desc;
    if (told->hop == 0) told->hop = n_fft / 4;
    if (told->window_length == 0) told->window_length = told->window ? ox_numel(told->window) : n_fft;
    if (n_fft < 1 || told->hop < 1 || told->window_length < 1 || told->window_length > n_fft ||
        (told->window && (told->window->ndim != 1 || told->window->shape[0] != told->window_length))) {
        (void)oxi_fail(OX_ERR_ARG, "%s: %lld samples, %lld apart, a window of %lld", name, (long long)n_fft,
                       (long long)told->hop, (long long)told->window_length);
        return false;
    }
    ox_dtype dtype = x->dtype == OX_F64 ? OX_F64 : OX_F32;
    int64_t left = (n_fft - told->window_length) / 2, right = n_fft - told->window_length - left;
    ox_device *device = oxi_working_device(ox_device_of(x));
    parts[0] = oxi_full(name, OX_SHAPE(left), 0, dtype, device);
    parts[1] = told->window ? told->window : oxi_full(name, OX_SHAPE(told->window_length), 1, dtype, device);
    parts[2] = oxi_full(name, OX_SHAPE(right), 0, dtype, device);
    if (parts[0] && parts[1] && parts[2]) told->window = ox_cat(parts, 3, 0);
    return told->window != NULL;
}

/* x with `more` elements mirrored at either end of the last dim, the ends themselves once. */
static ox_tensor *oxi_mirrored(ox_tensor *x, int64_t more) {
    int64_t n = x->shape[x->ndim - 1];
    if (more >= n)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "stft: %lld samples are fewer than are mirrored", (long long)n);
    ox_tensor *parts[3];
    parts[0] = ox_flip(ox_narrow(x, -1, 1, more), OX_DIMS(-1));
    parts[1] = x;
    parts[2] = ox_flip(ox_narrow(x, -1, n - 1 - more, more), OX_DIMS(-1));
    return ox_cat(parts, 3, -1);
}

OX_API ox_tensor *ox_stft(ox_tensor *x, int64_t n_fft, const ox_stft_desc *desc) {
    ox_stft_desc told;
    if (oxi_any_null("stft", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("stft");
    if (!oxi_stft_told("stft", n_fft, desc, &told, x)) return oxi_work_end(&work, NULL);
    ox_tensor *wide = told.center ? oxi_mirrored(x, n_fft / 2) : x;
    ox_tensor *frames = ox_mul(ox_unfold(wide, -1, n_fft, told.hop), told.window);
    const char *norm = told.normalized ? "ortho" : NULL;
    ox_tensor *made = told.onesided ? ox_rfft(frames, 0, -1, norm) : ox_fft(frames, 0, -1, norm);
    return oxi_work_end(&work, ox_transpose(made, -1, -2));
}

/* Frames [.., frames, n_fft] added up where they were, [.., samples]. */
static ox_tensor *oxi_overlapped(ox_tensor *frames, int64_t hop) {
    int64_t count = frames->shape[frames->ndim - 2], n = frames->shape[frames->ndim - 1],
            total = n + hop * (count - 1);
    ox_tensor *places = ox_unfold(oxi_ramp_beside(frames, total, OX_I64), 0, n, hop);
    ox_shape shape = ox_shape_of(frames);
    shape.ndim--;
    shape.dim[shape.ndim - 1] = -1;
    ox_tensor *flat = ox_reshape(frames, shape);
    shape.dim[shape.ndim - 1] = total;
    ox_tensor *zeros = oxi_full("istft", shape, 0, frames->dtype, oxi_working_device(ox_device_of(frames)));
    return ox_index_add(zeros, -1, ox_reshape(places, OX_SHAPE(-1)), flat, 1);
}

OX_API ox_tensor *ox_istft(ox_tensor *x, int64_t n_fft, int64_t length, const ox_stft_desc *desc) {
    ox_stft_desc told;
    if (oxi_any_null("istft", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("istft");
    if (x->ndim < 2 || x->dtype != OX_C64 || !oxi_stft_told("istft", n_fft, desc, &told, x)) {
        if (ox_error() == OX_OK) (void)oxi_fail(OX_ERR_SHAPE, "istft: of %s", oxi_tensor_text(x));
        return oxi_work_end(&work, NULL);
    }
    const char *norm = told.normalized ? "ortho" : NULL;
    ox_tensor *turned = ox_transpose(x, -1, -2);
    ox_tensor *frames = told.onesided ? ox_irfft(turned, n_fft, -1, norm) : ox_ifft(turned, 0, -1, norm);
    frames = ox_mul(frames, told.window);
    if (!frames) return oxi_work_end(&work, NULL);
    ox_tensor *weight = ox_expand(ox_square(told.window), OX_SHAPE(frames->shape[frames->ndim - 2], n_fft));
    ox_tensor *sum = oxi_overlapped(frames, told.hop),
              *whole = weight ? oxi_overlapped(weight, told.hop) : NULL;
    int64_t start = told.center ? n_fft / 2 : 0,
            total = n_fft + told.hop * (frames->shape[frames->ndim - 2] - 1);
    int64_t end = length > 0    ? start + length
                  : told.center ? total - n_fft / 2
                                : total,
            known = end < total ? end : total;
    sum = ox_narrow(sum, -1, start, known - start);
    whole = ox_narrow(whole, -1, start, known - start);
    if (whole && ox_numel(whole) && ox_item(ox_amin(ox_abs(whole), OX_ALL_DIMS, false)) < 1e-11) {
        (void)oxi_fail(OX_ERR_ARG, "istft: windows leave samples out");
        return oxi_work_end(&work, NULL);
    }
    sum = ox_div(sum, whole);
    return oxi_work_end(&work, sum ? oxi_resized(sum, sum->ndim - 1, end - start) : NULL);
}
