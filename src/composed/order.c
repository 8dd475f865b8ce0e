/* Functions that are made of others: searches in sorted order. */

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
