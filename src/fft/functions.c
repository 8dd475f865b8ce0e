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
