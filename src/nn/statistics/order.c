/* Functions that are made of others: histograms, and one of a sorted line: medians, modes. */

/* ---- histograms ---------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_bincount(ox_tensor *x, ox_tensor *weights, int64_t least) {
    if (oxi_any_null("bincount", &x, 1)) return NULL;
    if (x->ndim != 1 || !oxi_is_int(x->dtype) || least < 0)
        return OXI_FAIL_NULL(OX_ERR_ARG, "bincount: %s, at least %lld", oxi_tensor_text(x), (long long)least);
    oxi_work work = oxi_work_begin("bincount");
    int64_t bins = ox_numel(x) ? ox_item_int(ox_amax(x, OX_ALL_DIMS, false)) + 1 : 0;
    if (bins < least) bins = least;
    ox_dtype dtype = !weights ? OX_I64 : weights->dtype == OX_F32 ? OX_F32 : OX_F64;
    ox_tensor *zeros = oxi_full("bincount", OX_SHAPE(bins), 0, dtype, ox_device_of(x));
    ox_tensor *each =
        weights ? ox_cast(weights, dtype) : oxi_full("bincount", ox_shape_of(x), 1, dtype, ox_device_of(x));
    return oxi_work_end(&work, ox_index_add(zeros, 0, ox_cast(x, OX_I64), each, 1));
}

/* Weights of each element of values among bins whose edges are given, the last one closed. */
static ox_tensor *oxi_binned(ox_tensor *values, ox_tensor *edges, ox_tensor *weights) {
    int64_t bins = edges->shape[0] - 1;
    ox_tensor *place = ox_sub(oxi_searched(edges, values, true), ox_integer(1));
    ox_tensor *at_end = ox_eq(values, ox_select(edges, 0, -1));
    place = ox_where(at_end, ox_integer(bins - 1), place);
    ox_tensor *inside = ox_logical_and(ox_ge_number(place, 0), ox_lt(place, ox_integer(bins)));
    ox_tensor *each = weights ? weights : ox_ones_like(values);
    each = ox_where(inside, each, ox_number(0));
    place = ox_clamp(place, 0, (double)(bins - 1));
    ox_tensor *zeros = oxi_full("histogram", OX_SHAPE(bins), 0, values->dtype, ox_device_of(values));
    return ox_index_add(zeros, 0, place, each, 1);
}

/* low and high of a histogram: those of x where both are 0, one apart where they are the same. */
static bool oxi_histogram_range(const char *name, ox_tensor *x, int64_t bins, double *low, double *high) {
    if (bins < 1 || *low > *high || !oxi_is_float(x->dtype)) {
        (void)oxi_fail(OX_ERR_ARG, "%s: %s in %lld bins from %g to %g", name, oxi_tensor_text(x),
                       (long long)bins, *low, *high);
        return false;
    }
    if (*low == *high && ox_numel(x) && *low == 0) {
        *low = ox_item(ox_amin(x, OX_ALL_DIMS, false));
        *high = ox_item(ox_amax(x, OX_ALL_DIMS, false));
    }
    if (*low == *high) {
        *low -= 1;
        *high += 1;
    }
    if (isfinite(*low) && isfinite(*high)) return ox_error() == OX_OK;
    (void)oxi_fail(OX_ERR_ARG, "%s: the range from %g to %g is not finite", name, *low, *high);
    return false;
}

OX_API ox_tensor *ox_histc(ox_tensor *x, int64_t bins, double low, double high) {
    if (oxi_any_null("histc", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("histc");
    if (!oxi_histogram_range("histc", x, bins, &low, &high)) return oxi_work_end(&work, NULL);
    ox_tensor *flat = ox_reshape(x, OX_SHAPE(-1));
    /* torch's place of an element: (x - low) bins / (high - low), truncated */
    ox_tensor *span = ox_mul_number(ox_sub_number(flat, low), (double)bins);
    ox_tensor *place = ox_floor(ox_div_number(span, high - low));
    ox_tensor *inside = ox_logical_and(ox_ge_number(flat, low), ox_le_number(flat, high));
    place = ox_clamp(ox_cast(ox_where(inside, place, ox_number(0)), OX_I64), 0, (double)(bins - 1));
    ox_tensor *zeros = oxi_full("histc", OX_SHAPE(bins), 0, x->dtype, ox_device_of(x));
    return oxi_work_end(&work, ox_index_add(zeros, 0, place, ox_cast(inside, x->dtype), 1));
}

OX_API ox_tuple ox_histogram(ox_tensor *x, ox_tensor *edges, ox_tensor *weights, bool density) {
    ox_tensor *in[2] = {x, edges};
    if (oxi_any_null("histogram", in, 2)) return oxi_no_tuple();
    if (edges->ndim != 1 || edges->shape[0] < 2) {
        (void)oxi_fail(OX_ERR_SHAPE, "histogram: edges %s", oxi_tensor_text(edges));
        return oxi_no_tuple();
    }
    oxi_work work = oxi_work_begin("histogram");
    ox_tensor *flat = ox_reshape(x, OX_SHAPE(-1));
    ox_tensor *counts =
        flat ? oxi_binned(flat, edges, weights ? ox_reshape(weights, OX_SHAPE(-1)) : NULL) : NULL;
    int64_t bins = edges->shape[0] - 1;
    if (counts && density) {
        ox_tensor *widths = ox_sub(ox_narrow(edges, 0, 1, bins), ox_narrow(edges, 0, 0, bins));
        counts = ox_div(counts, ox_mul(ox_sum(counts, OX_ALL_DIMS, false), widths));
    }
    return oxi_tuple_end(&work, counts, ox_clone(edges), NULL);
}

/* ---- one of a sorted line ------------------------------------------------------------------------------ */

/* Element `place` (i64, one a line, dims kept) of each line of a sort, with where it was. */
static ox_pair oxi_sorted_element(oxi_work *work, ox_tensor *x, ox_tensor *order, ox_tensor *place, int at,
                                  bool keepdim) {
    ox_tensor *index = ox_gather(order, at, place), *value = ox_gather(x, at, index);
    if (!keepdim) {
        index = ox_squeeze(index, at);
        value = ox_squeeze(value, at);
    }
    return oxi_pair_end(work, value, index);
}

static ox_shape oxi_line_shape(const ox_tensor *x, int at) {
    ox_shape shape = ox_shape_of(x);
    shape.dim[at] = 1;
    return shape;
}

OX_API ox_pair ox_kthvalue(ox_tensor *x, int64_t k, int dim, bool keepdim) {
    int at;
    bool number = x && x->ndim == 0;
    if (oxi_any_null("kthvalue", &x, 1)) return oxi_no_pair();
    oxi_work work = oxi_work_begin("kthvalue");
    if (!oxi_lines("kthvalue", &x, dim, &at)) return oxi_pair_end(&work, NULL, NULL);
    if (k < 1 || k > x->shape[at]) {
        (void)oxi_fail(OX_ERR_ARG, "kthvalue: the %lldth of lines of %s", (long long)k, oxi_tensor_text(x));
        return oxi_pair_end(&work, NULL, NULL);
    }
    ox_tensor *place = oxi_full("kthvalue", oxi_line_shape(x, at), (double)(k - 1), OX_I64, ox_device_of(x));
    ox_tensor *order = ox_argsort(x, at, false);
    return oxi_pair_of_number(oxi_sorted_element(&work, x, order, place, at, keepdim || number), number);
}

/* The lower of the two middle ones. NaN counts as the largest: where a line has one, it is the median, but
 * not for nanmedian, which leaves them out. */
static ox_pair oxi_median(const char *name, ox_tensor *x, int dim, bool keepdim, bool skips) {
    int at;
    bool number = x && (x->ndim == 0 || dim == OX_FLATTENED);
    if (oxi_any_null(name, &x, 1)) return oxi_no_pair();
    oxi_work work = oxi_work_begin(name);
    if (!oxi_lines(name, &x, dim, &at)) return oxi_pair_end(&work, NULL, NULL);
    int64_t size = x->shape[at];
    if (size == 0) {
        (void)oxi_fail(OX_ERR_SHAPE, "%s: of lines without elements: %s", name, oxi_tensor_text(x));
        return oxi_pair_end(&work, NULL, NULL);
    }
    ox_pair sorted = ox_sort(x, at, false);
    ox_tensor *place, *order = sorted.indices;
    if (!oxi_is_float(x->dtype))
        place = oxi_full(name, oxi_line_shape(x, at), (double)((size - 1) / 2), OX_I64, ox_device_of(x));
    else {
        ox_tensor *known = ox_sum(ox_logical_not(ox_isnan(x)), OX_DIMS(at), true);
        ox_tensor *middle = ox_floor_divide(ox_sub(known, ox_integer(1)), ox_integer(2));
        middle = ox_maximum(middle, ox_integer(0));
        place = skips ? middle : ox_where(ox_lt(known, ox_integer(size)), known, middle);
        place = ox_minimum(place, ox_integer(size - 1));
    }
    return oxi_pair_of_number(oxi_sorted_element(&work, x, order, place, at, keepdim || number), number);
}
OX_API ox_pair ox_median(ox_tensor *x, int dim, bool keepdim) {
    return oxi_median("median", x, dim, keepdim, false);
}
OX_API ox_pair ox_nanmedian(ox_tensor *x, int dim, bool keepdim) {
    return oxi_median("nanmedian", x, dim, keepdim, true);
}

/* The length of the run up to each element of a sorted line; the first longest is the mode. */
OX_API ox_pair ox_mode(ox_tensor *x, int dim, bool keepdim) {
    int at;
    bool number = x && x->ndim == 0;
    if (oxi_any_null("mode", &x, 1)) return oxi_no_pair();
    oxi_work work = oxi_work_begin("mode");
    if (!oxi_lines("mode", &x, dim, &at)) return oxi_pair_end(&work, NULL, NULL);
    int64_t size = x->shape[at];
    if (size == 0) {
        (void)oxi_fail(OX_ERR_SHAPE, "mode: of lines without elements: %s", oxi_tensor_text(x));
        return oxi_pair_end(&work, NULL, NULL);
    }
    ox_pair sorted = ox_sort(x, at, false);
    ox_shape ramp_shape = oxi_no_shape();
    ramp_shape.ndim = x->ndim;
    for (int d = 0; d < x->ndim; d++) ramp_shape.dim[d] = d == at ? size : 1;
    ox_tensor *ramp = ox_reshape(oxi_ramp_beside(x, size, OX_I64), ramp_shape), *parts[2];
    parts[0] = ox_ones_like(ox_narrow(sorted.indices, at, 0, 1));
    parts[1] = ox_cast(
        ox_ne(ox_narrow(sorted.values, at, 1, size - 1), ox_narrow(sorted.values, at, 0, size - 1)), OX_I64);
    ox_tensor *starts = ox_mul(ox_cat(parts, 2, at), ramp);
    ox_tensor *length = ox_sub(ramp, ox_cummax(starts, at).values);
    ox_tensor *place = ox_max(length, at, true).indices;
    return oxi_pair_of_number(oxi_sorted_element(&work, x, sorted.indices, place, at, keepdim || number),
                              number);
}
