/* The public Fourier transforms. */

/* x along `at`, cut to n elements or filled with zeros. */
static ox_tensor *oxi_resized(ox_tensor *x, int at, int64_t n) {
    if (!x || x->shape[at] == n) return x;
    if (x->shape[at] > n) return ox_narrow(x, at, 0, n);
    ox_shape shape = ox_shape_of(x);
    shape.dim[at] = n - x->shape[at];
    ox_tensor *parts[2];
    parts[0] = x;
    parts[1] = oxi_full("fft", shape, 0, x->dtype, oxi_working_device(ox_device_of(x)));
    return ox_cat(parts, 2, at);
}

/* Which way: what is real, which direction. */
typedef struct oxi_fft_kind {
    const char *name;
    oxi_op op; /* of the last dim; the others are complex */
    bool inverse;
} oxi_fft_kind;

/* The factor of a transform of n elements by norm; false and an error. */
static bool oxi_fft_scale(const oxi_fft_kind *kind, const char *norm, double n, double *scale) {
    bool forward = norm && strcmp(norm, "forward") == 0, ortho = norm && strcmp(norm, "ortho") == 0;
    if (norm && !forward && !ortho && strcmp(norm, "backward") != 0) {
        (void)oxi_fail(OX_ERR_ARG, "%s: norm \"%s\"", kind->name, norm);
        return false;
    }
    *scale = ortho ? 1 / sqrt(n) : forward == kind->inverse ? 1 : 1 / n;
    return true;
}

static ox_tensor *oxi_fft_call(oxi_op op, ox_tensor *x, int dim, int64_t length, bool inverse, double scale) {
    oxi_attrs attr = oxi_attrs_fourier();
    attr.fourier.dim = dim;
    attr.fourier.length = length;
    attr.fourier.inverse = inverse;
    attr.fourier.scale = scale;
    return oxi_apply_1(op, &attr, x);
}

static ox_tensor *oxi_fft_as_complex(ox_tensor *x) {
    return x && x->dtype != OX_C64 ? ox_cast(ox_cast(x, OX_F32), OX_C64) : x;
}

/* One dim of a transform. n: of the longer side. */
static ox_tensor *oxi_fft_dim(const oxi_fft_kind *kind, oxi_op op, ox_tensor *x, int at, int64_t n,
                              double scale) {
    if (op == OXI_OP_fft_r2c) {
        if (x && x->dtype == OX_C64)
            return OXI_FAIL_NULL(OX_ERR_DTYPE, "%s: of real numbers, not %s", kind->name, oxi_tensor_text(x));
    } else
        x = oxi_fft_as_complex(x);
    x = oxi_resized(x, at, op == OXI_OP_fft_c2r ? n / 2 + 1 : n);
    return oxi_fft_call(op, x, at, n, kind->inverse, scale);
}

/* n of each dim: what was asked for, or its own. */
static bool oxi_fft_sizes(const oxi_fft_kind *kind, const ox_tensor *x, ox_shape sizes, int count,
                          const int *at, int64_t *n) {
    for (int i = 0; i < count; i++) {
        int64_t own = x->shape[at[i]];
        bool last = i == count - 1 && kind->op == OXI_OP_fft_c2r;
        n[i] = sizes.ndim && sizes.dim[i] > 0 ? sizes.dim[i] : last ? 2 * (own - 1) : own;
        bool fits = n[i] >= 1 && n[i] <= INT64_MAX / 64 && !(sizes.ndim && sizes.dim[i] < -1);
        for (int k = 0; k < i; k++) fits = fits && at[k] != at[i];
        if (fits) continue;
        (void)oxi_fail(OX_ERR_ARG, "%s: %lld elements along dim %d of %s", kind->name, (long long)n[i], at[i],
                       oxi_tensor_text(x));
        return false;
    }
    return true;
}

static ox_tensor *oxi_fft_dims(const oxi_fft_kind *kind, ox_tensor *x, ox_shape sizes, ox_shape dims,
                               const char *norm) {
    int at[OX_MAX_DIMS], count = dims.ndim ? dims.ndim : sizes.ndim ? sizes.ndim : x->ndim;
    int64_t n[OX_MAX_DIMS];
    double scale, total = 1;
    if (count < 1 || count > x->ndim || (sizes.ndim && sizes.ndim != count))
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: %d sizes for %d dims of %s", kind->name, sizes.ndim, count,
                             oxi_tensor_text(x));
    for (int i = 0; i < count; i++) {
        at[i] = oxi_own_dim(kind->name, x, dims.ndim ? (int)dims.dim[i] : x->ndim - count + i);
        if (at[i] < 0) return NULL;
    }
    if (!oxi_fft_sizes(kind, x, sizes, count, at, n)) return NULL;
    for (int i = 0; i < count; i++) total *= (double)n[i];
    if (!oxi_fft_scale(kind, norm, total, &scale)) return NULL;
    /* What is real goes first on the way there, and last on the way back. */
    if (kind->op == OXI_OP_fft_r2c) x = oxi_fft_dim(kind, kind->op, x, at[count - 1], n[count - 1], scale);
    for (int i = 0; i < count && x; i++) {
        if (i == count - 1 && kind->op != OXI_OP_fft_c2c) break;
        bool carries = kind->op == OXI_OP_fft_c2c && i == count - 1;
        x = oxi_fft_dim(kind, OXI_OP_fft_c2c, x, at[i], n[i], carries ? scale : 1);
    }
    if (kind->op == OXI_OP_fft_c2r) x = oxi_fft_dim(kind, kind->op, x, at[count - 1], n[count - 1], scale);
    return x;
}

static ox_tensor *oxi_fft_work(const oxi_fft_kind *kind, ox_tensor *x, ox_shape sizes, ox_shape dims,
                               const char *norm) {
    if (oxi_any_null(kind->name, &x, 1)) return NULL;
    oxi_work work = oxi_work_begin(kind->name);
    return oxi_work_end(&work, oxi_fft_dims(kind, x, sizes, dims, norm));
}

#define OXI_FFT(name, op, inverse)                                                                   \
    OX_API ox_tensor *ox_##name(ox_tensor *x, int64_t n, int dim, const char *norm) {                \
        static const oxi_fft_kind kind = {#name, OXI_OP_##op, inverse};                              \
        return oxi_fft_work(&kind, x, n ? OX_SHAPE(n) : OX_ALL_DIMS, OX_DIMS(dim), norm);            \
    }                                                                                                \
    OX_API ox_tensor *ox_##name##2(ox_tensor * x, ox_shape sizes, ox_shape dims, const char *norm) { \
        static const oxi_fft_kind kind = {#name "2", OXI_OP_##op, inverse};                          \
        return oxi_fft_work(&kind, x, sizes, dims.ndim ? dims : OX_DIMS(-2, -1), norm);              \
    }                                                                                                \
    OX_API ox_tensor *ox_##name##n(ox_tensor *x, ox_shape sizes, ox_shape dims, const char *norm) {  \
        static const oxi_fft_kind kind = {#name "n", OXI_OP_##op, inverse};                          \
        return oxi_fft_work(&kind, x, sizes, dims, norm);                                            \
    }
OXI_FFT(fft, fft_c2c, false)
OXI_FFT(ifft, fft_c2c, true)
OXI_FFT(rfft, fft_r2c, false)
OXI_FFT(irfft, fft_c2r, true)
OXI_FFT(hfft, fft_c2r, false)
OXI_FFT(ihfft, fft_r2c, true)

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
