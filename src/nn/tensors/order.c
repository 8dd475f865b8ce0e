/* What repeats, what accumulates along a dim. */

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
    int at = oxi_wrap_dim("logcumsumexp", dim, x->ndim ? x->ndim : 1);
    if (at < 0) return oxi_work_end(&work, NULL);
    int64_t size = x->ndim ? x->shape[at] : 1;
    ox_tensor *sums = ox_clone(oxi_wide(oxi_as_float(x)));
    for (int64_t span = 1; span < size && sums; span *= 2) {
        ox_tensor *parts[2];
        parts[0] = ox_narrow(sums, at, 0, span);
        parts[1] = ox_logaddexp(ox_narrow(sums, at, span, size - span), ox_narrow(sums, at, 0, size - span));
        sums = ox_cat(parts, 2, at);
    }
    return oxi_work_end(&work, sums && oxi_is_float(x->dtype) ? ox_cast(sums, x->dtype) : sums);
}
