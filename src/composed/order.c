/* Functions that are made of others: sorted order, what repeats, what accumulates along a dim. */

static ox_pair oxi_pair_end(oxi_work *work, ox_tensor *values, ox_tensor *indices) {
    ox_pair pair = {NULL, NULL};
    bool made = values && indices;
    if (made) {
        pair.values = values;
        pair.indices = indices;
        ox_keep(values);
    }
    (void)oxi_work_end(work, made ? indices : NULL);
    return pair;
}

static ox_tuple oxi_tuple_end(oxi_work *work, ox_tensor *a, ox_tensor *b, ox_tensor *c) {
    ox_tuple tuple;
    memset(&tuple, 0, sizeof tuple);
    if (a && b) {
        tuple.t[0] = ox_keep(a);
        tuple.t[1] = ox_keep(b);
        tuple.t[2] = c ? ox_keep(c) : NULL;
    }
    (void)oxi_work_end(work, NULL);
    return tuple;
}

static ox_tuple oxi_no_tuple(void) {
    ox_tuple tuple;
    memset(&tuple, 0, sizeof tuple);
    return tuple;
}

/* ---- searches ------------------------------------------------------------------------------------------ */

/* How many of each sorted line are below a value, right: not above it. Halves of all lines at once. */
static ox_tensor *oxi_searched(ox_tensor *sorted, ox_tensor *values, bool right) {
    int64_t size = sorted->ndim ? sorted->shape[sorted->ndim - 1] : 1;
    ox_tensor *low = ox_zeros_like(ox_cast(values, OX_I64));
    ox_tensor *high =
        oxi_full("searchsorted", ox_shape_of(values), (double)size, OX_I64, ox_device_of(values));
    if (size == 0) return low;
    for (int64_t left = size; left > 0 && low && high; left /= 2) {
        ox_tensor *middle = ox_floor_divide(ox_add(low, high), ox_integer(2));
        ox_tensor *place = ox_minimum(middle, ox_integer(size - 1)), *there;
        if (sorted->ndim == 1)
            there =
                ox_reshape(ox_index_select(sorted, 0, ox_reshape(place, OX_SHAPE(-1))), ox_shape_of(values));
        else
            there = ox_gather(sorted, -1, place);
        ox_tensor *below = right ? ox_le(there, values) : ox_lt(there, values);
        /* NaN stands behind all numbers */
        if (oxi_is_float(there ? there->dtype : OX_BOOL)) {
            ox_tensor *nan = ox_isnan(values);
            below = ox_where(nan, right ? ox_logical_or(below, nan) : ox_logical_not(ox_isnan(there)), below);
        }
        below = ox_logical_and(below, ox_lt(low, high));
        ox_tensor *moved = ox_where(below, ox_add(middle, ox_integer(1)), low);
        high = ox_where(ox_logical_or(below, ox_ge(low, high)), high, middle);
        low = moved;
    }
    return low;
}

OX_API ox_tensor *ox_searchsorted(ox_tensor *sorted, ox_tensor *values, bool right) {
    ox_tensor *in[2] = {sorted, values};
    if (oxi_any_null("searchsorted", in, 2)) return NULL;
    bool fits = sorted->ndim == 1 || sorted->ndim == values->ndim;
    for (int d = 0; fits && sorted->ndim > 1 && d + 1 < sorted->ndim; d++)
        fits = sorted->shape[d] == values->shape[d];
    if (!fits || sorted->ndim == 0)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "searchsorted: values %s for lines of %s", oxi_tensor_text(values),
                             oxi_tensor_text(sorted));
    oxi_work work = oxi_work_begin("searchsorted");
    return oxi_work_end(&work, oxi_searched(sorted, values, right));
}
OX_API ox_tensor *ox_bucketize(ox_tensor *values, ox_tensor *boundaries, bool right) {
    ox_tensor *in[2] = {values, boundaries};
    if (oxi_any_null("bucketize", in, 2)) return NULL;
    if (boundaries->ndim != 1)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "bucketize: boundaries %s", oxi_tensor_text(boundaries));
    oxi_work work = oxi_work_begin("bucketize");
    return oxi_work_end(&work, oxi_searched(boundaries, values, right));
}

OX_API ox_tensor *ox_isin(ox_tensor *x, ox_tensor *among, bool invert) {
    ox_tensor *in[2] = {x, among};
    if (oxi_any_null("isin", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("isin");
    ox_tensor *has, *sorted = ox_sort(ox_reshape(among, OX_SHAPE(-1)), 0, false).values;
    if (ox_numel(among) == 0)
        has = oxi_full("isin", ox_shape_of(x), 0, OX_BOOL, ox_device_of(x));
    else
        has = ox_ne(oxi_searched(sorted, x, false), oxi_searched(sorted, x, true));
    return oxi_work_end(&work, invert ? ox_logical_not(has) : has);
}

/* ---- what repeats -------------------------------------------------------------------------------------- */

/* Of lines along dim 0: whether each differs from the one before it, bool [n]; the first does. */
static ox_tensor *oxi_starts_of_runs(ox_tensor *lines) {
    int64_t count = lines->shape[0];
    ox_tensor *parts[2];
    parts[0] = oxi_full("unique", OX_SHAPE(count > 0 ? 1 : 0), 1, OX_BOOL, ox_device_of(lines));
    if (count < 2) return parts[0];
    ox_tensor *flat = ox_reshape(lines, OX_SHAPE(count, -1));
    parts[1] =
        ox_any(ox_ne(ox_narrow(flat, 0, 1, count - 1), ox_narrow(flat, 0, 0, count - 1)), OX_DIMS(1), false);
    return ox_cat(parts, 2, 0);
}

/* Lines without their repetitions, the run of each element, the length of each run. */
static ox_tuple oxi_unique_runs(oxi_work *work, ox_tensor *lines, ox_tensor *sources) {
    ox_tensor *starts = oxi_starts_of_runs(lines);
    ox_tensor *places = starts ? ox_reshape(ox_nonzero(starts), OX_SHAPE(-1)) : NULL;
    ox_tensor *run = places ? ox_sub(ox_cumsum(ox_cast(starts, OX_I64), 0), ox_integer(1)) : NULL;
    if (!run) return oxi_tuple_end(work, NULL, NULL, NULL);
    ox_tensor *parts[2], *values = ox_index_select(lines, 0, places);
    parts[0] = places;
    parts[1] = oxi_full("unique", OX_SHAPE(ox_numel(places) ? 1 : 0), (double)lines->shape[0], OX_I64,
                        ox_device_of(lines));
    ox_tensor *ends = ox_cat(parts, 2, 0);
    ox_tensor *lengths = ox_numel(places) ? ox_sub(ox_narrow(ends, 0, 1, ox_numel(places)), places) : places;
    if (sources) run = ox_scatter(run, 0, sources, run);
    return oxi_tuple_end(work, values, run, lengths);
}

/* Lines along dim 0 in order of their elements from left to right: sorted by the last column first, stably.
 * *order gets where each was. */
static ox_tensor *oxi_sorted_lines(ox_tensor *lines, ox_tensor **order) {
    ox_tensor *flat = ox_reshape(lines, OX_SHAPE(lines->shape[0], -1));
    *order = oxi_ramp_beside(lines, lines->shape[0], OX_I64);
    for (int64_t c = flat ? flat->shape[1] - 1 : -1; c >= 0 && *order; c--) {
        ox_tensor *column = ox_index_select(ox_select(flat, 1, c), 0, *order);
        *order = ox_index_select(*order, 0, ox_argsort(column, 0, false));
    }
    return ox_index_select(lines, 0, *order);
}

static ox_tuple oxi_unique(const char *name, ox_tensor *x, int dim, bool sorts) {
    if (oxi_any_null(name, &x, 1)) return oxi_no_tuple();
    oxi_work work = oxi_work_begin(name);
    int at = dim == OX_FLATTENED ? 0 : oxi_own_dim(name, x, dim);
    if (at < 0) return oxi_tuple_end(&work, NULL, NULL, NULL);
    ox_tensor *lines = dim == OX_FLATTENED ? ox_reshape(x, OX_SHAPE(-1)) : ox_movedim(x, at, 0),
              *order = NULL;
    if (lines && sorts && ox_numel(lines)) lines = oxi_sorted_lines(lines, &order);
    if (!lines) return oxi_tuple_end(&work, NULL, NULL, NULL);
    ox_tuple made = oxi_unique_runs(&work, lines, order);
    if (dim != OX_FLATTENED && at > 0 && made.t[0]) {
        ox_tensor *turned = ox_contiguous(ox_movedim(made.t[0], 0, at));
        ox_release(made.t[0]);
        made.t[0] = turned;
    }
    if (dim == OX_FLATTENED && made.t[1]) {
        ox_tensor *shaped = ox_reshape(made.t[1], ox_shape_of(x));
        ox_release(made.t[1]);
        made.t[1] = shaped;
    }
    return made;
}
OX_API ox_tuple ox_unique(ox_tensor *x, int dim) {
    return oxi_unique("unique", x, dim, true);
}
OX_API ox_tuple ox_unique_consecutive(ox_tensor *x, int dim) {
    return oxi_unique("unique_consecutive", x, dim, false);
}

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

/* x as lines along *at: a number as a line of one, flattened for OX_FLATTENED. False and an error. */
static bool oxi_lines(const char *name, ox_tensor **x, int dim, int *at) {
    *at = 0;
    if (dim == OX_FLATTENED || (*x)->ndim == 0) {
        if (dim != OX_FLATTENED && oxi_wrap_dim(name, dim, (*x)->ndim) < 0) return false;
        *x = ox_reshape(*x, OX_SHAPE(-1));
        return *x != NULL;
    }
    *at = oxi_own_dim(name, *x, dim);
    return *at >= 0;
}

/* What of x is no line any more, when x had no dims or is flattened. */
static ox_pair oxi_pair_of_number(ox_pair pair, bool number) {
    if (!number || !pair.values) return pair;
    ox_tensor *value = ox_reshape(pair.values, OX_ALL_DIMS), *index = ox_reshape(pair.indices, OX_ALL_DIMS);
    ox_release(pair.values);
    ox_release(pair.indices);
    pair.values = value;
    pair.indices = index;
    return pair;
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

/* ---- what accumulates ---------------------------------------------------------------------------------- */

/* Along dim, the largest so far and where it was, the last of equal ones: spans double each step. */
static ox_pair oxi_running_extreme(const char *name, ox_tensor *x, int dim, bool largest) {
    int at;
    bool number = x && x->ndim == 0;
    if (oxi_any_null(name, &x, 1)) return oxi_no_pair();
    oxi_work work = oxi_work_begin(name);
    if (!oxi_lines(name, &x, dim, &at)) return oxi_pair_end(&work, NULL, NULL);
    int64_t size = x->shape[at];
    ox_tensor *index = oxi_index_along(oxi_ramp_beside(x, size, OX_I64), ox_shape_of(x), at), *values = x;
    for (int64_t span = 1; span < size && values && index; span *= 2) {
        ox_tensor *late = ox_narrow(values, at, span, size - span), *v[2], *i[2];
        ox_tensor *early = ox_narrow(values, at, 0, size - span);
        ox_tensor *stays = largest ? ox_ge(late, early) : ox_le(late, early);
        if (oxi_is_float(x->dtype)) stays = ox_logical_or(stays, ox_isnan(late));
        v[0] = ox_narrow(values, at, 0, span);
        i[0] = ox_narrow(index, at, 0, span);
        v[1] = ox_where(stays, late, early);
        i[1] = ox_where(stays, ox_narrow(index, at, span, size - span), ox_narrow(index, at, 0, size - span));
        values = ox_cat(v, 2, at);
        index = ox_cat(i, 2, at);
    }
    ox_tensor *place = ox_contiguous(index);
    return oxi_pair_of_number(oxi_pair_end(&work, ox_gather(x, at, place), place), number);
}
OX_API ox_pair ox_cummax(ox_tensor *x, int dim) {
    return oxi_running_extreme("cummax", x, dim, true);
}
OX_API ox_pair ox_cummin(ox_tensor *x, int dim) {
    return oxi_running_extreme("cummin", x, dim, false);
}

OX_API ox_tensor *ox_logcumsumexp(ox_tensor *x, int dim) {
    if (oxi_any_null("logcumsumexp", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("logcumsumexp");
    if (x->ndim == 0) return oxi_work_end(&work, ox_clone(x));
    int at = oxi_own_dim("logcumsumexp", x, dim);
    if (at < 0) return oxi_work_end(&work, NULL);
    int64_t size = x->shape[at];
    ox_tensor *sums = ox_clone(oxi_wide(x));
    for (int64_t span = 1; span < size && sums; span *= 2) {
        ox_tensor *parts[2];
        parts[0] = ox_narrow(sums, at, 0, span);
        parts[1] = ox_logaddexp(ox_narrow(sums, at, span, size - span), ox_narrow(sums, at, 0, size - span));
        sums = ox_cat(parts, 2, at);
    }
    return oxi_work_end(&work, sums ? ox_cast(sums, x->dtype) : NULL);
}
