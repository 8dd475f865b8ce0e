/* The public functions that move numbers by index: gather, scatter, cat, repeat, roll ... */

/* Tensors of shape [0] join anything, as in torch: they are left out, but their dtypes count. */
static bool oxi_is_nothing(const ox_tensor *t) { return t->ndim == 1 && t->shape[0] == 0; }

static ox_tensor *oxi_cat_others(const oxi_attrs *attr, ox_tensor *const *list, int count) {
    size_t bytes = (size_t)count * sizeof *list;
    ox_tensor **others = (ox_tensor **)oxi_alloc(bytes);
    int kept = 0;
    ox_dtype dtype = list[0]->dtype;
    if (!others) return NULL;
    for (int i = 0; i < count; i++) {
        if (!oxi_is_nothing(list[i])) others[kept++] = list[i];
        if (list[i]->dtype != dtype) dtype = ox_promote_types(dtype, list[i]->dtype);
    }
    oxi_work work = oxi_work_begin("cat");
    ox_tensor *result = oxi_apply_list(OXI_OP_cat, attr, others, kept, NULL);
    if (result && dtype != OX_DTYPE_NONE) result = ox_cast(result, dtype);
    result = oxi_work_end(&work, result);
    oxi_free(others, bytes);
    return result;
}

OX_API ox_tensor *ox_cat(ox_tensor *const *list, int count, int dim) {
    oxi_attrs attr = oxi_attrs_along();
    if (count < 1 || !list)
        return OXI_FAIL_NULL(OX_ERR_ARG, "cat: %d tensors, at least one is needed", count);
    if (oxi_any_null("cat", list, count)) return NULL;
    const ox_tensor *first = list[0];
    bool empties = false;
    for (int i = 0; i < count; i++) {
        if (oxi_is_nothing(first)) first = list[i];
        empties = empties || oxi_is_nothing(list[i]);
    }
    attr.along.dim = oxi_wrap_dim("cat", dim, first->ndim);
    if (attr.along.dim < 0) return NULL;
    return empties && !oxi_is_nothing(first) ? oxi_cat_others(&attr, list, count)
                                             : oxi_apply_list(OXI_OP_cat, &attr, list, count, NULL);
}

OX_API ox_tensor *ox_stack(ox_tensor *const *list, int count, int dim) {
    if (count < 1 || !list)
        return OXI_FAIL_NULL(OX_ERR_ARG, "stack: %d tensors, at least one is needed", count);
    if (oxi_any_null("stack", list, count)) return NULL;
    int at = oxi_wrap_dim("stack", dim, list[0]->ndim + 1);
    if (at < 0) return NULL;
    for (int i = 1; i < count; i++) {
        bool same = list[i]->ndim == list[0]->ndim;
        for (int d = 0; same && d < list[0]->ndim; d++) same = list[i]->shape[d] == list[0]->shape[d];
        if (!same)
            return OXI_FAIL_NULL(OX_ERR_SHAPE, "stack: shapes differ: %s x %s", oxi_tensor_text(list[0]),
                                 oxi_tensor_text(list[i]));
    }
    size_t bytes = (size_t)count * sizeof *list;
    ox_tensor **parts = (ox_tensor **)oxi_alloc(bytes), *result = NULL;
    if (!parts) return NULL;
    oxi_work work = oxi_work_begin("stack");
    bool made = true;
    for (int i = 0; i < count && made; i++) made = (parts[i] = ox_unsqueeze(list[i], at)) != NULL;
    result = oxi_work_end(&work, made ? ox_cat(parts, count, at) : NULL);
    oxi_free(parts, bytes);
    return result;
}

/* x [a,b] repeated: a view [ta,a,tb,b] with stride 0 along the t dims, copied. */
static ox_tensor *oxi_repeated(ox_tensor *x, ox_shape times) {
    if (times.ndim < 0 || times.ndim > OX_MAX_DIMS)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "repeat: more than %d dims", OX_MAX_DIMS);
    if (times.ndim < x->ndim)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "repeat: %d counts for %s, a dim without one", times.ndim,
                             oxi_tensor_text(x));
    int64_t shape[OX_MAX_DIMS];
    int lead = times.ndim - x->ndim;
    for (int d = 0; d < times.ndim; d++) {
        if (times.dim[d] < 0 || !oxi_mul_i64(times.dim[d], d < lead ? 1 : x->shape[d - lead], &shape[d]))
            return OXI_FAIL_NULL(OX_ERR_SHAPE, "repeat: %s by %s: %s", oxi_tensor_text(x),
                                 oxi_shape_text(times.ndim, times.dim),
                                 times.dim[d] < 0 ? "a count is negative"
                                                  : "more elements than 64 bits count");
    }
    ox_tensor *out = oxi_tensor_new(ox_device_of(x), x->dtype, times.ndim, shape);
    if (!out || ox_numel(out) == 0) return out;
    /* Copies one tile, then doubles what is there along each dim: every copy is a plain strided one. */
    ox_scope scope = ox_scope_begin();
    ox_tensor *tile = out;
    for (int d = 0; d < times.ndim; d++) tile = ox_narrow(tile, d, 0, d < lead ? 1 : x->shape[d - lead]);
    bool done = ox_copy_(tile, x) != NULL;
    for (int d = 0; d < times.ndim && done; d++) {
        int64_t unit = d < lead ? 1 : x->shape[d - lead];
        ox_tensor *band = out; /* full in earlier dims, one tile in later ones */
        for (int e = d + 1; e < times.ndim; e++)
            band = ox_narrow(band, e, 0, e < lead ? 1 : x->shape[e - lead]);
        for (int64_t have = unit; have < shape[d] && done;) {
            int64_t more = have < shape[d] - have ? have : shape[d] - have;
            done = ox_copy_(ox_narrow(band, d, have, more), ox_narrow(band, d, 0, more)) != NULL;
            have += more;
        }
    }
    ox_scope_end(&scope);
    if (done) return out;
    ox_release(out);
    return NULL;
}

OX_API ox_tensor *ox_repeat(ox_tensor *x, ox_shape times) {
    if (oxi_any_null("repeat", &x, 1)) return NULL;
    bool speaks = oxi_speak("repeat");
    ox_tensor *result = oxi_repeated(x, times);
    oxi_speak_end(speaks);
    return result;
}

OX_API ox_tensor *ox_tile(ox_tensor *x, ox_shape times) {
    if (oxi_any_null("tile", &x, 1)) return NULL;
    ox_shape full = times;
    if (times.ndim >= 0 && times.ndim < x->ndim) {
        full.ndim = x->ndim;
        for (int d = 0; d < x->ndim; d++)
            full.dim[d] = d < x->ndim - times.ndim ? 1 : times.dim[d - (x->ndim - times.ndim)];
    }
    bool speaks = oxi_speak("tile");
    ox_tensor *result = oxi_repeated(x, full);
    oxi_speak_end(speaks);
    return result;
}

OX_API ox_tensor *ox_roll(ox_tensor *x, ox_shape shifts, ox_shape dims) {
    if (oxi_any_null("roll", &x, 1)) return NULL;
    oxi_attrs attr = oxi_attrs_roll();
    if (dims.ndim == 0 && shifts.ndim == 1 && x->ndim != 1) {
        oxi_work work = oxi_work_begin("roll");
        ox_tensor *flat = ox_reshape(x, OX_SHAPE(-1));
        return oxi_work_end(&work, ox_view(ox_roll(flat, shifts, OX_DIMS(0)), ox_shape_of(x)));
    }
    if (dims.ndim == 0 && shifts.ndim == 1) dims = OX_DIMS(0);
    if (dims.ndim < 0 || dims.ndim > OX_MAX_DIMS || shifts.ndim < 0 || shifts.ndim > OX_MAX_DIMS)
        return OXI_FAIL_NULL(OX_ERR_ARG, "roll: more than %d dims", OX_MAX_DIMS);
    if (shifts.ndim != dims.ndim)
        return OXI_FAIL_NULL(OX_ERR_ARG, "roll: %d shifts for %d dims", shifts.ndim, dims.ndim);
    attr.roll.shifts = shifts;
    attr.roll.dims.count = (int8_t)dims.ndim;
    for (int i = 0; i < dims.ndim; i++) {
        int64_t wanted = dims.dim[i];
        int dim =
            oxi_wrap_dim("roll", wanted < INT32_MIN || wanted > INT32_MAX ? INT32_MAX : (int)wanted, x->ndim);
        if (dim < 0) return NULL;
        attr.roll.dims.dim[i] = (int8_t)dim;
    }
    return oxi_apply_1(OXI_OP_roll, &attr, x);
}

/* ---- along one dim, by an index tensor ----------------------------------------------------------------- */

/* Whether a call adds several narrow floats to some element, which would be rounded after each of them. */
static bool oxi_adds_narrow(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in) {
    oxi_index_does does = oxi_index_form_of(op)->does;
    if (does != OXI_DOES_ADDS && does != OXI_DOES_MULTIPLIES) return false;
    if (!oxi_is_float(in[0]->dtype) || oxi_info(in[0]->dtype)->block_bytes >= 4) return false;
    oxi_call call = oxi_call_of(op, in, 3, NULL);
    ox_tensor meta;
    call.attr = *attr;
    if (oxi_op_row_of(op)->rule(&call, &meta) != OX_OK) return false; /* said */
    int64_t terms = op == OXI_OP_index_add ? ox_numel(in[1])
                    : in[1]->ndim          ? in[1]->shape[attr->along.dim]
                                           : 1;
    return terms > 1;
}

/* The same in f32, rounded once. */
static ox_tensor *oxi_added_in_f32(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in, bool in_place) {
    oxi_work work = oxi_work_begin(oxi_op_row_of(op)->name);
    ox_tensor *wide[3], *result = NULL;
    wide[0] = ox_cast(in[0], OX_F32);
    wide[1] = in[1];
    wide[2] = ox_cast(in[2], OX_F32);
    if (wide[0] && wide[2]) result = oxi_apply_list(op, attr, wide, 3, wide[0]);
    if (result) result = in_place ? ox_copy_(in[0], result) : ox_cast(result, in[0]->dtype);
    (void)oxi_work_end(&work, in_place ? NULL : result);
    return result;
}

/* An index of nothing, which torch takes in any shape, as one that goes with x; its source, too. */
static ox_tensor *oxi_nothing_beside(ox_tensor *x, int dim, ox_tensor *t) {
    ox_shape shape = x->ndim ? ox_shape_of(x) : OX_SHAPE(0);
    shape.dim[dim] = 0;
    return ox_reshape(ox_as_strided(t, OX_SHAPE(0), OX_SHAPE(1), t->offset), shape);
}

static ox_tensor *oxi_indexed_by_nothing(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in, int count,
                                         bool in_place) {
    ox_tensor *fit[3] = {in[0], NULL, NULL}, *result = NULL;
    oxi_work work = oxi_work_begin(oxi_op_row_of(op)->name);
    bool there = true;
    for (int i = 1; i < count && there; i++)
        there = (fit[i] = oxi_nothing_beside(in[0], attr->along.dim, in[i])) != NULL;
    if (there) result = oxi_apply_list(op, attr, fit, count, in_place ? in[0] : NULL);
    if (count == 2 && result) result = ox_reshape(result, ox_shape_of(in[1]));
    (void)oxi_work_end(&work, in_place ? NULL : result);
    return result;
}

static ox_tensor *oxi_indexed(oxi_op op, ox_tensor *const *in, int count, int dim, double alpha,
                              bool in_place) {
    const char *name = oxi_op_row_of(op)->name;
    oxi_attrs attr = oxi_attrs_index_add(); /* the others have its dim alone */
    bool speaks = oxi_speak_for(name, in_place);
    int at = attr.index_add.dim = oxi_any_null(name, in, count) ? -1 : oxi_wrap_dim(name, dim, in[0]->ndim);
    attr.index_add.alpha = alpha;
    ox_tensor *result = NULL;
    bool each = op != OXI_OP_index_select && op != OXI_OP_index_add;
    if (at >= 0 && each && ox_numel(in[1]) == 0 && !oxi_fits_beside(in[1], in[0], at))
        result = oxi_indexed_by_nothing(op, &attr, in, count, in_place);
    else if (at >= 0 && oxi_adds_narrow(op, &attr, in))
        result = oxi_added_in_f32(op, &attr, in, in_place);
    else if (at >= 0)
        result = oxi_apply_list(op, &attr, in, count, in_place ? in[0] : NULL);
    oxi_speak_end(speaks);
    return result;
}

OX_API ox_tensor *ox_gather(ox_tensor *x, int dim, ox_tensor *index) {
    ox_tensor *in[2] = {x, index};
    return oxi_indexed(OXI_OP_gather, in, 2, dim, 0, false);
}
OX_API ox_tensor *ox_index_select(ox_tensor *x, int dim, ox_tensor *index) {
    ox_tensor *in[2] = {x, index};
    return oxi_indexed(OXI_OP_index_select, in, 2, dim, 0, false);
}
OX_API ox_tensor *ox_scatter(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source) {
    ox_tensor *in[3] = {x, index, source};
    return oxi_indexed(OXI_OP_scatter, in, 3, dim, 0, false);
}
OX_API ox_tensor *ox_scatter_(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source) {
    ox_tensor *in[3] = {x, index, source};
    return oxi_indexed(OXI_OP_scatter, in, 3, dim, 0, true);
}
OX_API ox_tensor *ox_scatter_add(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source) {
    ox_tensor *in[3] = {x, index, source};
    return oxi_indexed(OXI_OP_scatter_add, in, 3, dim, 0, false);
}
OX_API ox_tensor *ox_scatter_add_(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source) {
    ox_tensor *in[3] = {x, index, source};
    return oxi_indexed(OXI_OP_scatter_add, in, 3, dim, 0, true);
}
/* ---- scatter_reduce ------------------------------------------------------------------------------------ */

/* x with what index reaches replaced, so that the sources alone count: by numbers that change no result. Of
 * integers no such number is least or largest, but some of the sources are. */
static ox_tensor *oxi_left_out(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source,
                               ox_reduction reduce) {
    bool most = reduce == OX_REDUCTION_AMAX || reduce == OX_REDUCTION_AMIN;
    double far = reduce == OX_REDUCTION_AMAX ? -INFINITY : INFINITY;
    ox_tensor *neutral = most && !oxi_is_float(source->dtype)
                             ? source
                             : ox_full_like(source, most ? far : reduce == OX_REDUCTION_PROD);
    return ox_scatter(x, dim, index, neutral);
}

/* Sums divided by how many numbers they are of; integers are rounded down. */
static ox_tensor *oxi_scatter_mean(ox_tensor *sums, int dim, ox_tensor *index, ox_tensor *source,
                                   bool include_self) {
    if (!sums) return NULL;
    if (sums->dtype == OX_BOOL)
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "mean: not defined for %s", oxi_tensor_text(sums));
    ox_tensor *counts = ox_scatter_add(ox_full_like(sums, include_self), dim, index, ox_ones_like(source));
    counts = ox_masked_fill(counts, ox_eq(counts, ox_integer(0)), 1); /* not reached */
    return oxi_is_int(sums->dtype) ? ox_floor_divide(sums, counts) : ox_div(sums, counts);
}

static ox_tensor *oxi_scatter_reduced(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source,
                                      ox_reduction reduce, bool include_self) {
    ox_tensor *in[3];
    in[0] = include_self ? x : oxi_left_out(x, dim, index, source, reduce);
    in[1] = index;
    in[2] = source;
    switch (reduce) {
    case OX_REDUCTION_SUM: return ox_scatter_add(in[0], dim, index, source);
    case OX_REDUCTION_MEAN:
        return oxi_scatter_mean(ox_scatter_add(in[0], dim, index, source), dim, index, source, include_self);
    case OX_REDUCTION_PROD: return oxi_indexed(OXI_OP_scatter_prod, in, 3, dim, 0, false);
    case OX_REDUCTION_AMAX: return oxi_indexed(OXI_OP_scatter_amax, in, 3, dim, 0, false);
    case OX_REDUCTION_AMIN: return oxi_indexed(OXI_OP_scatter_amin, in, 3, dim, 0, false);
    default: return OXI_FAIL_NULL(OX_ERR_ARG, "reduction %d does not exist", (int)reduce);
    }
}

/* index [n] as one for each element of source, a view; NULL, and an error, where they do not fit x. */
static ox_tensor *oxi_index_for_each(const char *name, ox_tensor *x, int dim, ox_tensor *index,
                                     ox_tensor *source) {
    int at = oxi_wrap_dim(name, dim, x->ndim);
    if (at < 0) return NULL;
    int64_t count = ox_numel(index);
    bool fits = index->ndim <= 1 && source->ndim == x->ndim && (x->ndim > 0 || count == 1);
    for (int d = 0; fits && d < x->ndim; d++) fits = source->shape[d] == (d == at ? count : x->shape[d]);
    if (!fits)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "%s: index %s, source %s do not fit %s along dim %d", name,
                             oxi_tensor_text(index), oxi_tensor_text(source), oxi_tensor_text(x), at);
    ox_shape shape = ox_shape_of(source);
    for (int d = 0; d < shape.ndim; d++) shape.dim[d] = d == at ? count : 1;
    ox_tensor *view = ox_reshape(index, shape);
    return view ? ox_expand(view, ox_shape_of(source)) : NULL;
}

/* An index for each element of source, or (along) for each position of it along dim. */
static ox_tensor *oxi_scatter_reduce(const char *name, ox_tensor *x, int dim, ox_tensor *index,
                                     ox_tensor *source, ox_reduction reduce, bool include_self, bool along,
                                     bool in_place) {
    ox_tensor *in[3] = {x, index, source};
    if (oxi_any_null(name, in, 3)) return NULL;
    oxi_work work = oxi_work_begin(name);
    ox_tensor *each = along ? oxi_index_for_each(name, x, dim, index, source) : index;
    ox_tensor *result = each ? oxi_scatter_reduced(x, dim, each, source, reduce, include_self) : NULL;
    if (result && in_place) result = ox_copy_(x, result);
    (void)oxi_work_end(&work, in_place ? NULL : result);
    return result;
}
OX_API ox_tensor *ox_scatter_reduce(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source,
                                    ox_reduction reduce, bool include_self) {
    return oxi_scatter_reduce("scatter_reduce", x, dim, index, source, reduce, include_self, false, false);
}
OX_API ox_tensor *ox_scatter_reduce_(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source,
                                     ox_reduction reduce, bool include_self) {
    return oxi_scatter_reduce("scatter_reduce_", x, dim, index, source, reduce, include_self, false, true);
}
OX_API ox_tensor *ox_index_reduce(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source,
                                  ox_reduction reduce, bool include_self) {
    return oxi_scatter_reduce("index_reduce", x, dim, index, source, reduce, include_self, true, false);
}
OX_API ox_tensor *ox_index_reduce_(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source,
                                   ox_reduction reduce, bool include_self) {
    return oxi_scatter_reduce("index_reduce_", x, dim, index, source, reduce, include_self, true, true);
}

/* A sum of bool is "or", and an alpha of it true or false. */
static double oxi_index_alpha(const ox_tensor *x, double alpha) {
    return x && x->dtype == OX_BOOL ? alpha != 0 : alpha;
}
OX_API ox_tensor *ox_index_add(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source, double alpha) {
    ox_tensor *in[3] = {x, index, source};
    return oxi_indexed(OXI_OP_index_add, in, 3, dim, oxi_index_alpha(x, alpha), false);
}
OX_API ox_tensor *ox_index_add_(ox_tensor *x, int dim, ox_tensor *index, ox_tensor *source, double alpha) {
    ox_tensor *in[3] = {x, index, source};
    return oxi_indexed(OXI_OP_index_add, in, 3, dim, oxi_index_alpha(x, alpha), true);
}

/* a with dims of size 1 grown to like's, all but `dim`. */
static ox_tensor *oxi_expand_beside(ox_tensor *a, const ox_tensor *like, int dim) {
    ox_shape shape = ox_shape_of(a);
    for (int d = 0; d < a->ndim; d++)
        if (d != dim && shape.dim[d] == 1) shape.dim[d] = like->shape[d];
    return ox_expand(a, shape);
}

/* Indices into `size` elements with those from the end counted from the start; others stay as they are, for
 * gather to refuse what is out of range. */
static ox_tensor *oxi_from_start(ox_tensor *index, int64_t size) {
    if (!oxi_is_int(index->dtype)) return index;
    if (size > INT32_MAX) index = ox_cast(index, OX_I64);
    ox_tensor *ends = ox_lt(index, ox_integer(0));
    ends = ends ? ox_logical_and_(ends, ox_ge(index, ox_integer(-size))) : NULL;
    return ends ? ox_add_scaled(index, ends, (double)size) : NULL;
}

OX_API ox_tensor *ox_take_along_dim(ox_tensor *x, ox_tensor *index, int dim) {
    ox_tensor *in[2] = {x, index};
    if (oxi_any_null("take_along_dim", in, 2)) return NULL;
    if (dim == OX_FLATTENED) {
        oxi_work flat = oxi_work_begin("take_along_dim");
        ox_tensor *places = oxi_from_start(ox_flatten(index, 0, -1), ox_numel(x));
        return oxi_work_end(&flat, ox_gather(ox_flatten(x, 0, -1), 0, places));
    }
    int at = oxi_wrap_dim("take_along_dim", dim, x->ndim);
    if (at < 0) return NULL;
    if (x->ndim != index->ndim)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "take_along_dim: %s by %s: not as many dims", oxi_tensor_text(x),
                             oxi_tensor_text(index));
    oxi_work work = oxi_work_begin("take_along_dim");
    ox_tensor *wide = oxi_expand_beside(x, index, at);
    ox_tensor *places = oxi_from_start(index, x->ndim ? x->shape[at] : 1);
    if (places) places = oxi_expand_beside(places, x, at);
    bool fits = wide && places;
    for (int d = 0; fits && d < x->ndim; d++) fits = d == at || wide->shape[d] == places->shape[d];
    if (wide && places && !fits)
        (void)oxi_fail(OX_ERR_SHAPE, "take_along_dim: shapes do not broadcast: %s by %s", oxi_tensor_text(x),
                       oxi_tensor_text(index));
    return oxi_work_end(&work, fits ? ox_gather(wide, at, places) : NULL);
}

OX_API ox_tensor *ox_embedding(ox_tensor *ids, ox_tensor *table) {
    ox_tensor *in[2] = {ids, table}, *row[2] = {table, ids}; /* told of in the order of the function */
    if (oxi_any_null("embedding", in, 2)) return NULL;
    oxi_call call = oxi_call_of(OXI_OP_embedding, row, 2, NULL);
    if (oxi_check_index(&call, ids) != OX_OK) return NULL;
    return oxi_apply(&call) == OX_OK ? call.out[0] : NULL;
}

/* ---- results whose size depends on the numbers: counted first ------------------------------------------ */

OX_API ox_tensor *ox_masked_select(ox_tensor *x, ox_tensor *mask) {
    ox_tensor *in[2] = {x, mask};
    oxi_attrs attr = oxi_attrs_counted();
    if (oxi_any_null("masked_select", in, 2)) return NULL;
    if (mask->dtype != OX_BOOL)
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "masked_select: the mask is %s, not bool", oxi_tensor_text(mask));
    oxi_call pair = oxi_call_of(OXI_OP_masked_select, in, 2, NULL);
    ox_tensor common;
    if (oxi_broadcast(&pair, &common, x->dtype) != OX_OK) return NULL;
    oxi_work work = oxi_work_begin("masked_select");
    ox_tensor *wide[2] = {ox_expand(x, ox_shape_of(&common)), ox_expand(mask, ox_shape_of(&common))};
    bool ready = wide[0] && wide[1] &&
                 oxi_read_numbers("masked_select", OXI_OP_masked_select, wide, 2, &attr);
    return oxi_work_end(&work, ready ? oxi_apply_2(OXI_OP_masked_select, &attr, wide[0], wide[1]) : NULL);
}

OX_API ox_tensor *ox_nonzero(ox_tensor *x) {
    oxi_attrs attr = oxi_attrs_counted();
    if (oxi_any_null("nonzero", &x, 1)) return NULL;
    if (!oxi_read_numbers("nonzero", OXI_OP_nonzero, &x, 1, &attr)) return NULL;
    return oxi_apply_1(OXI_OP_nonzero, &attr, x);
}

OX_API ox_tensor *ox_one_hot(ox_tensor *ids, int64_t classes) {
    if (oxi_any_null("one_hot", &ids, 1)) return NULL;
    oxi_attrs attr = oxi_attrs_classes();
    attr.classes.classes = classes;
    if (!oxi_read_numbers("one_hot", OXI_OP_one_hot, &ids, 1, &attr)) return NULL;
    return oxi_apply_1(OXI_OP_one_hot, &attr, ids);
}

/* ---- triangles ----------------------------------------------------------------------------------------- */

static ox_tensor *oxi_call_triangle(oxi_op op, ox_tensor *x, int64_t diagonal, bool in_place) {
    oxi_attrs attr = oxi_attrs_diagonal();
    attr.diagonal.diagonal = diagonal;
    return in_place ? oxi_apply_in_place(op, &attr, &x, 1) : oxi_apply_1(op, &attr, x);
}
OX_API ox_tensor *ox_triu(ox_tensor *x, int64_t diagonal) {
    return oxi_call_triangle(OXI_OP_triu, x, diagonal, false);
}
OX_API ox_tensor *ox_tril(ox_tensor *x, int64_t diagonal) {
    return oxi_call_triangle(OXI_OP_tril, x, diagonal, false);
}
OX_API ox_tensor *ox_triu_(ox_tensor *x, int64_t diagonal) {
    return oxi_call_triangle(OXI_OP_triu, x, diagonal, true);
}
OX_API ox_tensor *ox_tril_(ox_tensor *x, int64_t diagonal) {
    return oxi_call_triangle(OXI_OP_tril, x, diagonal, true);
}
