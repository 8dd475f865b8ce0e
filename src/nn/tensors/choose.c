/* Elements that are taken, put and replaced by index, in a copy; rare joins and splits; searches. */

/* ---- along one dim ------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_index_fill(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *value) {
    ox_tensor *in[3] = {x, index, value};
    if (oxi_any_null("index_fill", in, 3)) return NULL;
    oxi_work work = oxi_work_begin("index_fill");
    if (x->ndim == 0) {
        ox_tensor *made = ox_numel(index) ? ox_reshape(ox_cast(value, x->dtype), ox_shape_of(x)) : x;
        return oxi_work_end(&work, ox_clone(made));
    }
    int at = oxi_own_dim("index_fill", x, dim);
    if (at < 0) return oxi_work_end(&work, NULL);
    ox_tensor *line = oxi_full("index_fill", OX_SHAPE(x->shape[at]), 0, OX_F32, ox_device_of(x));
    ox_tensor *places = oxi_wrapped_index(ox_reshape(index, OX_SHAPE(-1)), x->shape[at]);
    ox_tensor *ones = oxi_full("index_fill", OX_SHAPE(ox_numel(index)), 1, OX_F32, ox_device_of(x));
    ox_tensor *mask = ox_cast(ox_scatter(line, 0, places, ones), OX_BOOL);
    ox_shape shape = ox_shape_of(x);
    for (int d = 0; d < shape.ndim; d++) shape.dim[d] = d == at ? x->shape[at] : 1;
    return oxi_work_end(&work, ox_where(ox_reshape(mask, shape), ox_cast(value, x->dtype), x));
}

/* ---- by places of the flattened tensor ----------------------------------------------------------------- */

OX_API ox_tensor *ox_take(ox_tensor *x, ox_tensor *index) {
    ox_tensor *in[2] = {x, index};
    if (oxi_any_null("take", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("take");
    ox_tensor *places = oxi_wrapped_index(ox_reshape(index, OX_SHAPE(-1)), ox_numel(x));
    ox_tensor *taken = ox_index_select(ox_reshape(x, OX_SHAPE(-1)), 0, places);
    return oxi_work_end(&work, ox_reshape(taken, ox_shape_of(index)));
}

OX_API ox_tensor *ox_put(ox_tensor *x, ox_tensor *index, ox_tensor *source, bool accumulate) {
    ox_tensor *in[3] = {x, index, source};
    if (oxi_any_null("put", in, 3)) return NULL;
    oxi_work work = oxi_work_begin("put");
    ox_tensor *flat = ox_reshape(x, OX_SHAPE(-1)), *values = ox_reshape(source, OX_SHAPE(-1));
    ox_tensor *places = oxi_wrapped_index(ox_reshape(index, OX_SHAPE(-1)), ox_numel(x));
    flat = accumulate ? ox_scatter_add(flat, 0, places, values) : ox_scatter(flat, 0, places, values);
    return oxi_work_end(&work, ox_reshape(flat, ox_shape_of(x)));
}

OX_API ox_tensor *ox_masked_scatter(ox_tensor *x, ox_tensor *mask, ox_tensor *source) {
    ox_tensor *in[3] = {x, mask, source};
    ox_shape shape;
    if (oxi_any_null("masked_scatter", in, 3)) return NULL;
    if (!oxi_common_shape("masked_scatter", in, 2, &shape)) return NULL;
    oxi_work work = oxi_work_begin("masked_scatter");
    ox_tensor *flat = ox_reshape(ox_expand(mask, shape), OX_SHAPE(-1));
    ox_tensor *values = ox_reshape(source, OX_SHAPE(-1));
    ox_tensor *order = ox_sub(ox_cumsum(ox_cast(flat, OX_I64), 0), ox_integer(1));
    if (!order || !values || ox_numel(order) == 0) return oxi_work_end(&work, ox_clone(ox_expand(x, shape)));
    order = ox_where(flat, order, ox_integer(0));
    if (ox_numel(values) == 0 && ox_item_int(ox_any(flat, OX_ALL_DIMS, false))) {
        (void)oxi_fail(OX_ERR_SHAPE, "masked_scatter: the source has no elements");
        return oxi_work_end(&work, NULL);
    }
    if (ox_numel(values) == 0) return oxi_work_end(&work, ox_clone(ox_expand(x, shape)));
    ox_tensor *taken = ox_reshape(ox_index_select(values, 0, order), shape);
    return oxi_work_end(&work, ox_where(ox_expand(mask, shape), taken, x));
}

OX_API ox_tensor *ox_dstack(ox_tensor *const *list, int count) {
    return oxi_joined("dstack", list, count, 3, 2, false);
}
OX_API ox_tensor *ox_column_stack(ox_tensor *const *list, int count) {
    return oxi_joined("column_stack", list, count, 1, 1, true);
}


/* Gives back what a function with a list of results has made when one of them failed. */
static int64_t oxi_results_end(ox_tensor **out, int64_t made, int64_t count) {
    if (made == count) return count;
    while (made-- > 0) {
        ox_release(out[made]);
        out[made] = NULL;
    }
    return -1;
}

OX_API int64_t ox_broadcast_tensors(ox_tensor *const *list, int count, ox_tensor **out, int64_t room) {
    ox_shape shape;
    int64_t made = 0;
    if (count < 0 || oxi_any_null("broadcast_tensors", list, count)) return -1;
    if (!oxi_common_shape("broadcast_tensors", list, count, &shape)) return -1;
    int64_t wanted = !out ? 0 : room < count ? room : count;
    for (; made < wanted; made++)
        if (!(out[made] = ox_expand(list[made], shape))) break;
    return oxi_results_end(out, made, wanted) < 0 ? -1 : count;
}

/* ---- splits -------------------------------------------------------------------------------------------- */

OX_API int64_t ox_tensor_split_at(ox_tensor *x, const int64_t *indices, int64_t count, int dim,
                                  ox_tensor **out, int64_t room) {
    int64_t made = 0, start = 0;
    if (oxi_any_null("tensor_split", &x, 1)) return -1;
    int at = oxi_own_dim("tensor_split", x, dim);
    if (at < 0 || count < 0) return -1;
    int64_t wanted = !out ? 0 : room < count + 1 ? room : count + 1;
    for (; made < wanted; made++) {
        int64_t end = made < count ? indices[made] : OX_END;
        out[made] = ox_slice(x, at, start, end, 1);
        if (!out[made]) break;
        start = end;
    }
    return oxi_results_end(out, made, wanted) < 0 ? -1 : count + 1;
}

OX_API int64_t ox_tensor_split(ox_tensor *x, int64_t sections, int dim, ox_tensor **out, int64_t room) {
    int64_t made = 0, start = 0;
    if (oxi_any_null("tensor_split", &x, 1)) return -1;
    int at = oxi_own_dim("tensor_split", x, dim);
    if (at < 0) return -1;
    if (sections < 1) {
        (void)oxi_fail(OX_ERR_ARG, "tensor_split: %lld sections", (long long)sections);
        return -1;
    }
    int64_t each = x->shape[at] / sections, longer = x->shape[at] % sections;
    int64_t wanted = !out ? 0 : room < sections ? room : sections;
    for (; made < wanted; made++) {
        int64_t length = each + (made < longer);
        out[made] = ox_narrow(x, at, start, length);
        if (!out[made]) break;
        start += length;
    }
    return oxi_results_end(out, made, wanted) < 0 ? -1 : sections;
}

/* ---- searches, among others ---------------------------------------------------------------------------- */

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
