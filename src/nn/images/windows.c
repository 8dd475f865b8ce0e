/* What goes with pooling: norms of windows and of channels, unpooling, windows at drawn places, and channels
 * that become pixels. */

/* ---- channels and pixels ------------------------------------------------------------------------------- */

static ox_tensor *oxi_shuffled(const char *name, ox_tensor *x, int64_t r, bool out) {
    if (oxi_any_null(name, &x, 1)) return NULL;
    int n = x->ndim - 3;
    bool fits = n >= 0 && n + 5 <= OX_MAX_DIMS && r > 0 && r < INT32_MAX;
    if (fits) fits = out ? x->shape[n] % (r * r) == 0 : x->shape[n + 1] % r == 0 && x->shape[n + 2] % r == 0;
    if (!fits)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "%s: by %lld of %s", name, (long long)r, oxi_tensor_text(x));
    oxi_work work = oxi_work_begin(name);
    static const int out_order[5] = {0, 3, 1, 4, 2}, in_order[5] = {0, 2, 4, 1, 3};
    ox_shape parts = ox_shape_of(x), order, made = parts;
    int64_t c = x->shape[n], h = x->shape[n + 1], w = x->shape[n + 2];
    const int64_t out_parts[5] = {c / (r * r), r, r, h, w}, in_parts[5] = {c, h / r, r, w / r, r};
    parts.ndim = order.ndim = n + 5;
    for (int d = 0; d < n; d++) order.dim[d] = d;
    for (int d = 0; d < 5; d++) {
        parts.dim[n + d] = out ? out_parts[d] : in_parts[d];
        order.dim[n + d] = n + (out ? out_order[d] : in_order[d]);
    }
    made.dim[n] = out ? c / (r * r) : c * r * r;
    made.dim[n + 1] = out ? h * r : h / r;
    made.dim[n + 2] = out ? w * r : w / r;
    ox_tensor *y = ox_reshape(ox_permute(ox_reshape(x, parts), order), made);
    return oxi_work_end(&work, y);
}
OX_API ox_tensor *ox_pixel_shuffle(ox_tensor *x, int64_t factor) {
    return oxi_shuffled("pixel_shuffle", x, factor, true);
}
OX_API ox_tensor *ox_pixel_unshuffle(ox_tensor *x, int64_t factor) {
    return oxi_shuffled("pixel_unshuffle", x, factor, false);
}

OX_API ox_tensor *ox_channel_shuffle(ox_tensor *x, int64_t groups) {
    if (oxi_any_null("channel_shuffle", &x, 1)) return NULL;
    if (x->ndim < 3 || x->ndim == OX_MAX_DIMS || groups < 1 || x->shape[1] % groups)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "channel_shuffle: %lld groups of %s", (long long)groups,
                             oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("channel_shuffle");
    ox_tensor *apart = ox_unflatten(x, 1, OX_SHAPE(groups, x->shape[1] / groups));
    return oxi_work_end(&work, ox_reshape(ox_transpose(apart, 1, 2), ox_shape_of(x)));
}

/* ---- norms of windows ---------------------------------------------------------------------------------- */

static ox_tensor *oxi_avg_pool_of(int dims, ox_tensor *x, ox_shape kernel, ox_shape stride, bool ceil) {
    if (dims == 1) return ox_avg_pool1d(x, kernel, stride, OX_SCALAR_SHAPE, ceil, true, 0);
    if (dims == 2) return ox_avg_pool2d(x, kernel, stride, OX_SCALAR_SHAPE, ceil, true, 0);
    return ox_avg_pool3d(x, kernel, stride, OX_SCALAR_SHAPE, ceil, true, 0);
}

/* The mean times the size of a window, as torch: a window over the end counts what it has for the whole. */
static ox_tensor *oxi_lp_pool(const char *name, int dims, ox_tensor *x, double p, ox_shape kernel,
                              ox_shape stride, bool ceil) {
    oxi_span each;
    if (oxi_any_null(name, &x, 1) || !oxi_number_fits(name, p != 0, p) ||
        !oxi_span_of(name, "kernel", kernel, dims, &each))
        return NULL;
    double count = 1;
    for (int d = 0; d < dims; d++) count *= (double)each.n[d];
    oxi_work work = oxi_work_begin(name);
    ox_tensor *mean = oxi_avg_pool_of(dims, ox_pow_number(x, p), kernel, stride, ceil);
    ox_tensor *size = ox_mul(ox_sign(mean), ox_relu(ox_abs(mean)));
    return oxi_work_end(&work, ox_pow_number(ox_mul_number(size, count), 1 / p));
}

OX_API ox_tensor *ox_local_response_norm(ox_tensor *x, int64_t size, double alpha, double beta, double k) {
    if (oxi_any_null("local_response_norm", &x, 1)) return NULL;
    if (x->ndim < 3 || size < 1 || size > INT32_MAX)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "local_response_norm: %lld channels of %s", (long long)size,
                             oxi_tensor_text(x));
    if (ox_numel(x) == 0) return ox_clone(x);
    oxi_work work = oxi_work_begin("local_response_norm");
    const int64_t pad[2] = {size / 2, (size - 1) / 2};
    ox_tensor *lines = ox_movedim(ox_square(x), 1, -1); /* [N,..,C]: windows of the last dim */
    ox_shape shape = ox_shape_of(lines);
    lines = ox_pad(ox_reshape(lines, OX_SHAPE(-1, 1, x->shape[1])), pad, 2, NULL, 0);
    ox_tensor *mean = ox_avg_pool1d(lines, OX_DIMS(size), OX_DIMS(1), OX_SCALAR_SHAPE, false, true, 0);
    mean = ox_movedim(ox_reshape(mean, shape), -1, 1);
    ox_tensor *divisor = ox_pow_number(ox_add_number(ox_mul_number(mean, alpha), k), beta);
    return oxi_work_end(&work, ox_div(x, divisor));
}

/* ---- unpooling ----------------------------------------------------------------------------------------- */

/* The spatial sizes that were pooled: those told, or the smallest ones; false and an error. */
static bool oxi_unpooled_sizes(const char *name, const ox_tensor *x, const oxi_attr_pool *told,
                               ox_shape *size) {
    int dims = (int)told->dims, first = x->ndim - dims;
    bool fits = size->ndim == 0 || size->ndim == dims || size->ndim == x->ndim;
    int skip = size->ndim == x->ndim ? first : 0;
    bool given = size->ndim > 0;
    for (int d = 0; d < dims && fits; d++) {
        int64_t stride = told->stride.n[d], most;
        fits = oxi_mul_i64(x->shape[first + d], stride, &most);
        most = fits ? most - stride - 2 * told->padding.n[d] + told->kernel.n[d] : 0;
        int64_t asked = given && fits ? size->dim[skip + d] : most;
        fits = fits && (!given || (asked > most - stride && asked < most + stride));
        size->dim[d] = asked;
        fits = fits && asked > 0;
    }
    size->ndim = dims;
    if (!fits) (void)oxi_fail(OX_ERR_ARG, "%s: no such image pools to %s", name, oxi_tensor_text(x));
    return fits;
}

/* x at its indices, zeros elsewhere. Where windows overlap the same place is written twice: as torch, each of
 * the two gets its whole gradient, by a sum of zeros. */
static ox_tensor *oxi_unpooled(ox_tensor *x, ox_tensor *indices, ox_shape shape, int first) {
    ox_tensor *zeros = oxi_constant_beside(x, shape, 0), *at = ox_flatten(indices, first, -1);
    ox_tensor *fixed = ox_detach(x), *put = ox_scatter(zeros, first, at, ox_flatten(fixed, first, -1));
    ox_tensor *none = ox_where(ox_isfinite(fixed), ox_sub(x, fixed), ox_number(0));
    return ox_scatter_add(put, first, at, ox_flatten(none, first, -1));
}

static ox_tensor *oxi_max_unpool(const char *name, int dims, ox_tensor *x, ox_tensor *indices,
                                 ox_shape kernel, ox_shape stride, ox_shape padding, ox_shape size) {
    ox_tensor *in[2] = {x, indices};
    oxi_attrs attr = oxi_attrs_pool();
    if (oxi_any_null(name, in, 2)) return NULL;
    int first = x->ndim - dims;
    if ((first != 1 && first != 2) || !oxi_same_sizes(indices, x, -1))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "%s: %s at %s", name, oxi_tensor_text(x),
                             oxi_tensor_text(indices));
    if (indices->dtype != OX_I64)
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "%s: indices %s", name, oxi_tensor_text(indices));
    if (!oxi_pool_told(name, dims, kernel, stride, padding, OX_SCALAR_SHAPE, &attr.pool) ||
        !oxi_unpooled_sizes(name, x, &attr.pool, &size))
        return NULL;
    oxi_work work = oxi_work_begin(name);
    ox_shape shape = ox_shape_of(x), flat = shape;
    flat.ndim = first + 1;
    flat.dim[first] = 1;
    bool fits = true;
    for (int d = 0; d < dims; d++) {
        shape.dim[first + d] = size.dim[d];
        fits = fits && oxi_mul_i64(flat.dim[first], size.dim[d], &flat.dim[first]);
    }
    if (!fits) return oxi_work_end(&work, OXI_FAIL_NULL(OX_ERR_SHAPE, "%s: too large", name));
    return oxi_work_end(&work, ox_reshape(oxi_unpooled(x, indices, flat, first), shape));
}

#define OXI_X(dims)                                                                                     \
    OX_API ox_tensor *ox_lp_pool##dims##d(ox_tensor *x, double p, ox_shape kernel, ox_shape stride,     \
                                          bool ceil) {                                                  \
        return oxi_lp_pool("lp_pool" #dims "d", dims, x, p, kernel, stride, ceil);                      \
    }                                                                                                   \
    OX_API ox_tensor *ox_max_unpool##dims##d(ox_tensor *x, ox_tensor *indices, ox_shape kernel,         \
                                             ox_shape stride, ox_shape padding, ox_shape size) {        \
        return oxi_max_unpool("max_unpool" #dims "d", dims, x, indices, kernel, stride, padding, size); \
    }
OXI_X(1) OXI_X(2) OXI_X(3)
#undef OXI_X

/* ---- windows at drawn places --------------------------------------------------------------------------- */

/* Where the windows of one dim begin: [N,C,out] from samples [N,C] (Graham 2015, as torch: the last one ends
 * with the image). */
static ox_tensor *oxi_fractional_starts(ox_tensor *samples, int64_t in, int64_t out, int64_t kernel) {
    ox_tensor *last = ox_expand(ox_integer(in - kernel), OX_SHAPE(samples->shape[0], samples->shape[1], 1));
    if (out == 1) return last;
    double alpha = (double)(in - kernel) / (double)(out - 1);
    if (samples->dtype != OX_F64) alpha = (double)(float)alpha;
    ox_tensor *ramp = oxi_ramp_beside(samples, out - 1, samples->dtype), *parts[2];
    ox_tensor *each = ox_unsqueeze(samples, 2);
    ox_tensor *from = ox_trunc(ox_mul_number(each, alpha));
    ox_tensor *places = ox_sub(ox_trunc(ox_mul_number(ox_add(ramp, each), alpha)), from);
    parts[0] = ox_cast(places, OX_I64);
    parts[1] = ox_to(ox_cast(last, OX_I64), oxi_working_device(ox_device_of(samples)));
    return parts[0] && parts[1] ? ox_cat(parts, 2, 2) : NULL;
}

/* Elements of the windows along one dim, [N,C,out,kernel], as [N,C, 1.., out, 1.., kernel, 1..]. */
static ox_tensor *oxi_fractional_places(ox_tensor *starts, int dims, int d, int64_t kernel) {
    ox_tensor *at = ox_add(ox_unsqueeze(starts, 3), oxi_ramp_beside(starts, kernel, OX_I64));
    ox_shape shape = ox_make_shape(2 + 2 * dims, 1, 1, 1, 1, 1, 1, 1, 1);
    if (!at) return NULL;
    shape.dim[0] = at->shape[0];
    shape.dim[1] = at->shape[1];
    shape.dim[2 + d] = at->shape[2];
    shape.dim[2 + dims + d] = kernel;
    return ox_reshape(at, shape);
}

static ox_pair oxi_fractional_pool(const char *name, int dims, ox_tensor *x, ox_shape kernel, ox_shape size,
                                   ox_tensor *samples) {
    ox_pair none = {NULL, NULL};
    ox_tensor *in[2] = {x, samples}, *index = NULL;
    oxi_span each, places;
    if (oxi_any_null(name, in, 2) || !oxi_span_of(name, "kernel", kernel, dims, &each) ||
        !oxi_span_of(name, "size", size, dims, &places))
        return none;
    int first = x->ndim - dims;
    bool fits = (first == 1 || first == 2) && kernel.ndim && size.ndim && samples->ndim == 3 &&
                samples->shape[2] == dims && oxi_is_float(samples->dtype);
    for (int d = 0; d < dims && fits; d++)
        fits = each.n[d] > 0 && places.n[d] > 0 && each.n[d] <= x->shape[first + d] &&
               places.n[d] <= x->shape[first + d] - each.n[d] + 1;
    fits = fits && samples->shape[1] == x->shape[first - 1] &&
           (first == 1 ? samples->shape[0] > 0 : samples->shape[0] == x->shape[0] && x->shape[1] > 0);
    if (!fits) {
        (void)oxi_fail(OX_ERR_SHAPE, "%s: windows over %s by %s", name, oxi_tensor_text(x),
                       oxi_tensor_text(samples));
        return none;
    }
    oxi_work work = oxi_work_begin(name);
    if (first == 1) samples = ox_narrow(samples, 0, 0, 1);
    ox_tensor *image = ox_flatten(first == 1 ? ox_unsqueeze(x, 0) : x, 2, -1);
    for (int d = 0; d < dims; d++) {
        int64_t n =
            x->shape[first + d]; /* torch's last sample is that of the first dim of three, but of two not */
        ox_tensor *starts =
            oxi_fractional_starts(ox_select(samples, 2, dims == 2 ? 1 - d : d), n, places.n[d], each.n[d]);
        ox_tensor *at = starts ? oxi_fractional_places(starts, dims, d, each.n[d]) : NULL;
        index = index ? ox_add(ox_mul(index, ox_integer(n)), at) : at;
    }
    index = ox_flatten(index, 2 + dims, -1);
    ox_tensor *all = index ? ox_gather(image, 2, ox_flatten(index, 2, -1)) : NULL;
    ox_pair most = all ? ox_max(ox_reshape(all, ox_shape_of(index)), -1, true) : none;
    ox_tensor *where = ox_squeeze(ox_gather(index, -1, most.indices), -1), *y = ox_squeeze(most.values, -1);
    return oxi_pair_end(&work, first == 1 ? ox_squeeze(y, 0) : y, first == 1 ? ox_squeeze(where, 0) : where);
}
OX_API ox_pair ox_fractional_max_pool2d(ox_tensor *x, ox_shape kernel, ox_shape size, ox_tensor *samples) {
    return oxi_fractional_pool("fractional_max_pool2d", 2, x, kernel, size, samples);
}
OX_API ox_pair ox_fractional_max_pool3d(ox_tensor *x, ox_shape kernel, ox_shape size, ox_tensor *samples) {
    return oxi_fractional_pool("fractional_max_pool3d", 3, x, kernel, size, samples);
}
