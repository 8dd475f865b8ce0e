/* Resampling. Every mode is a sum over taps of one dim after the other: which elements a place reads, and how
 * much of each; both are worked out on the host, as torch does. A dim of n places costs n numbers a tap. */

typedef enum oxi_sampling {
    OXI_SAMPLE_NEAREST,
    OXI_SAMPLE_NEAREST_EXACT,
    OXI_SAMPLE_LINEAR,
    OXI_SAMPLE_CUBIC,
    OXI_SAMPLE_SMOOTH_LINEAR, /* with antialias */
    OXI_SAMPLE_SMOOTH_CUBIC,
    OXI_SAMPLE_AREA
} oxi_sampling;

typedef struct oxi_interpolation {
    const char *mode;
    oxi_sampling how;
    int dims; /* spatial ones; 0: any */
} oxi_interpolation;

/* One spatial dim: how many elements, how many places, and the distance of two places in elements. */
typedef struct oxi_resampling {
    int64_t in, out;
    double step;
    oxi_sampling how;
    bool align_corners, single; /* single: torch works in f32 */
} oxi_resampling;

enum { OXI_TAPS = 4 };

static double oxi_rounded_to(bool single, double v) {
    return single ? (double)(float)v : v;
}

/* Where place i is among the elements; of cubic taps also before the first. */
static double oxi_sampled_at(const oxi_resampling *r, int64_t i) {
    if (r->align_corners) return oxi_rounded_to(r->single, r->step * (double)i);
    if (r->how == OXI_SAMPLE_NEAREST) return oxi_rounded_to(r->single, r->step * (double)i);
    double at = oxi_rounded_to(r->single, r->step * ((double)i + 0.5));
    if (r->how == OXI_SAMPLE_NEAREST_EXACT) return at;
    at = oxi_rounded_to(r->single, at - 0.5);
    return at < 0 && r->how != OXI_SAMPLE_CUBIC ? 0 : at;
}

/* Keys 1981 with a = -0.75, of a place t in [0, 1] behind the second of four elements. */
static void oxi_cubic_weights(double t, double *weight) {
    const double a = -0.75;
    for (int k = 0; k < OXI_TAPS; k++) {
        double d = fabs(t + 1 - k);
        weight[k] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
}

/* How many elements place i reads, which, and how much of each. */
static int oxi_taps_of(const oxi_resampling *r, int64_t i, int64_t *index, double *weight) {
    double at = oxi_sampled_at(r, i);
    int64_t last = r->in - 1, first = at >= (double)last ? last : (int64_t)floor(at);
    double t = at - (double)first;
    if (t > 1) t = 1;
    weight[0] = 1;
    index[0] = first;
    if (r->how == OXI_SAMPLE_NEAREST || r->how == OXI_SAMPLE_NEAREST_EXACT) return 1;
    if (r->how == OXI_SAMPLE_LINEAR) {
        if (r->in == r->out) {
            index[0] = i;
            t = 0;
        }
        index[1] = index[0] + (index[0] < last);
        weight[0] = oxi_rounded_to(r->single, 1 - t);
        weight[1] = t;
        return 2;
    }
    oxi_cubic_weights(t, weight);
    for (int k = 0; k < OXI_TAPS; k++) {
        int64_t at_k = first - 1 + k;
        index[k] = at_k < 0 ? 0 : at_k > last ? last : at_k;
    }
    return OXI_TAPS;
}

static bool oxi_is_smooth(oxi_sampling how) {
    return how == OXI_SAMPLE_SMOOTH_LINEAR || how == OXI_SAMPLE_SMOOTH_CUBIC;
}

/* How far the filter of antialias reaches to each side of a place, in elements. */
static double oxi_smooth_reach(const oxi_resampling *r) {
    return (r->how == OXI_SAMPLE_SMOOTH_LINEAR ? 1 : 2) * (r->step > 1 ? r->step : 1);
}

/* The filter at t elements of the lesser size: a triangle, or Keys' with a = -0.5, as Pillow has them. */
static double oxi_smooth_filter(oxi_sampling how, double t) {
    t = fabs(t);
    if (how == OXI_SAMPLE_SMOOTH_LINEAR) return t < 1 ? 1 - t : 0;
    return t < 1 ? (1.5 * t - 2.5) * t * t + 1 : t < 2 ? -0.5 * (((t - 5) * t + 8) * t - 4) : 0;
}

/* The taps of place i, `most` of them, each r->out numbers behind the one before; behind the last: 0. */
static void oxi_smooth_taps(const oxi_resampling *r, int64_t i, int64_t most, int64_t *index,
                            double *weight) {
    double reach = oxi_smooth_reach(r), center = r->step * ((double)i + 0.5), sum = 0;
    double inverse = r->step > 1 ? 1 / r->step : 1, low = center - reach + 0.5;
    int64_t first = low > 0 ? (int64_t)low : 0, end = (int64_t)(center + reach + 0.5);
    if (end > r->in) end = r->in;
    for (int64_t k = 0; k < most; k++) {
        bool there = first + k < end;
        double t = ((double)(first + k) - center + 0.5) * inverse;
        index[k * r->out] = there ? first + k : 0;
        weight[k * r->out] = there ? oxi_smooth_filter(r->how, t) : 0;
        sum += weight[k * r->out];
    }
    for (int64_t k = 0; k < most && sum != 0; k++) weight[k * r->out] /= sum;
}

/* Numbers of the host as a tensor of `count` where x is computed. */
static ox_tensor *oxi_list_beside(const ox_tensor *x, const void *numbers, int64_t count, ox_dtype dtype) {
    return ox_to(oxi_copied(numbers, OX_SHAPE(count), dtype), oxi_working_device(ox_device_of(x)));
}

/* The sum over taps along `dim`; index and weight hold r->out numbers a tap. */
static ox_tensor *oxi_tap_sum(ox_tensor *x, int dim, int64_t places, int taps, const int64_t *index,
                              const double *weight) {
    ox_tensor *sum = NULL;
    ox_shape shape = ox_shape_of(x);
    for (int d = 0; d < shape.ndim; d++) shape.dim[d] = d == dim ? places : 1;
    for (int k = 0; k < taps; k++) {
        ox_tensor *term = ox_index_select(x, dim, oxi_list_beside(x, index + k * places, places, OX_I64));
        if (taps > 1) {
            ox_tensor *each = oxi_list_beside(x, weight + k * places, places, OX_F64);
            term = ox_mul(term, ox_reshape(ox_cast(each, x->dtype), shape));
        }
        sum = k ? ox_add(sum, term) : term;
    }
    return sum;
}

static ox_tensor *oxi_resampled(ox_tensor *x, int dim, const oxi_resampling *r) {
    size_t bytes, each;
    bool smooth = oxi_is_smooth(r->how);
    int64_t most = smooth ? 2 * (int64_t)ceil(oxi_smooth_reach(r)) + 1 : (int64_t)OXI_TAPS;
    if (!x || most > INT32_MAX || !oxi_mul_size((size_t)most, sizeof(int64_t) + sizeof(double), &each) ||
        !oxi_mul_size((size_t)r->out, each, &bytes))
        return x ? OXI_FAIL_NULL(OX_ERR_SHAPE, "interpolate: %lld places", (long long)r->out) : NULL;
    int64_t *index = (int64_t *)oxi_alloc(bytes ? bytes : 1);
    if (!index) return NULL;
    double *weight = (double *)(index + most * r->out);
    int taps = smooth ? (int)most : 1;
    for (int64_t i = 0; i < r->out && smooth; i++) oxi_smooth_taps(r, i, most, index + i, weight + i);
    for (int64_t i = 0; i < r->out && !smooth; i++) {
        int64_t at[OXI_TAPS];
        double much[OXI_TAPS];
        taps = oxi_taps_of(r, i, at, much);
        for (int k = 0; k < taps; k++) {
            index[k * r->out + i] = at[k];
            weight[k * r->out + i] = much[k];
        }
    }
    ox_tensor *y = oxi_tap_sum(x, dim, r->out, taps, index, weight);
    oxi_free(index, bytes ? bytes : 1);
    return y;
}

static const oxi_interpolation *oxi_interpolation_of(const ox_tensor *x, const char *mode,
                                                     bool align_corners) {
    static const oxi_interpolation rows[] = {
        {"nearest", OXI_SAMPLE_NEAREST, 0},  {"nearest-exact", OXI_SAMPLE_NEAREST_EXACT, 0},
        {"linear", OXI_SAMPLE_LINEAR, 1},    {"bilinear", OXI_SAMPLE_LINEAR, 2},
        {"trilinear", OXI_SAMPLE_LINEAR, 3}, {"bicubic", OXI_SAMPLE_CUBIC, 2},
        {"area", OXI_SAMPLE_AREA, 0},        {"bilinear-antialias", OXI_SAMPLE_SMOOTH_LINEAR, 2},
        {"bicubic-antialias", OXI_SAMPLE_SMOOTH_CUBIC, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (mode && strcmp(mode, rows[i].mode) != 0) continue;
        bool corners = rows[i].how > OXI_SAMPLE_NEAREST_EXACT && rows[i].how != OXI_SAMPLE_AREA;
        bool floats = oxi_is_float(x->dtype) || rows[i].how <= OXI_SAMPLE_NEAREST_EXACT;
        if (x->ndim >= 3 && x->ndim <= 5 && (rows[i].dims == 0 || rows[i].dims == x->ndim - 2) && floats &&
            (corners || !align_corners))
            return &rows[i];
        (void)oxi_fail(floats ? OX_ERR_SHAPE : OX_ERR_DTYPE, "interpolate: \"%s\"%s of %s", rows[i].mode,
                       align_corners ? " with align_corners" : "", oxi_tensor_text(x));
        return NULL;
    }
    (void)oxi_fail(OX_ERR_ARG, "interpolate: no mode \"%s\"", mode);
    return NULL;
}

/* The spatial sizes of the result into size, and each dim's scale, 0 for none; false and an error. */
static bool oxi_interpolate_sizes(const ox_tensor *x, ox_shape *size, const double *given, int count,
                                  double *scale) {
    int dims = x->ndim - 2;
    bool fits = (size->ndim == 0) == (count > 0) && (!count || given) &&
                (size->ndim ? size->ndim == 1 || size->ndim == dims : count == 1 || count == dims);
    bool one = size->ndim == 1;
    for (int d = 0; d < dims && fits; d++) {
        int64_t in = x->shape[d + 2];
        scale[d] = count ? given[count == 1 ? 0 : d] : 0;
        if (count && !(scale[d] > 0 && scale[d] * (double)in < (double)OXI_PAD_MOST)) fits = false;
        if (fits) size->dim[d] = count ? (int64_t)floor((double)in * scale[d]) : size->dim[one ? 0 : d];
        fits = fits && size->dim[d] > 0 && in > 0;
    }
    size->ndim = dims;
    if (!fits) (void)oxi_fail(OX_ERR_ARG, "interpolate: sizes or scales of %s", oxi_tensor_text(x));
    return fits;
}

static ox_tensor *oxi_area_of(ox_tensor *x, ox_shape size) {
    if (size.ndim == 1) return ox_adaptive_avg_pool1d(x, size);
    return size.ndim == 2 ? ox_adaptive_avg_pool2d(x, size) : ox_adaptive_avg_pool3d(x, size);
}

OX_API ox_tensor *ox_interpolate(ox_tensor *x, ox_shape size, const double *scale, int scale_count,
                                 const char *mode, bool align_corners, bool recompute) {
    double scales[3];
    if (oxi_any_null("interpolate", &x, 1)) return NULL;
    const oxi_interpolation *row = oxi_interpolation_of(x, mode, align_corners);
    if (!row || !oxi_interpolate_sizes(x, &size, scale, scale_count, scales)) return NULL;
    oxi_work work = oxi_work_begin("interpolate");
    if (row->how == OXI_SAMPLE_AREA) return oxi_work_end(&work, oxi_area_of(x, size));
    bool weighted = row->how > OXI_SAMPLE_NEAREST_EXACT;
    ox_tensor *y = weighted ? oxi_wide(x) : x;
    for (int d = 0; d < size.ndim; d++) {
        oxi_resampling r;
        r.in = x->shape[d + 2];
        r.out = size.dim[d];
        r.how = row->how;
        r.align_corners = align_corners;
        r.single = x->dtype != OX_F64;
        r.step = scales[d] > 0 && !recompute ? 1 / scales[d] : (double)r.in / (double)r.out;
        if (align_corners) r.step = r.out > 1 ? (double)(r.in - 1) / (double)(r.out - 1) : 0;
        r.step = oxi_rounded_to(r.single, r.step);
        y = oxi_resampled(y, d + 2, &r);
    }
    return oxi_work_end(&work, y && weighted ? ox_cast(y, x->dtype) : y);
}
