/* Turns, triangles, grids, and copies of which a part is replaced. */

OX_API ox_tensor *ox_rot90(ox_tensor *x, int64_t times, int dim0, int dim1) {
    if (oxi_any_null("rot90", &x, 1)) return NULL;
    int a = oxi_own_dim("rot90", x, dim0), b = oxi_own_dim("rot90", x, dim1);
    if (a < 0 || b < 0) return NULL;
    if (a == b) return OXI_FAIL_NULL(OX_ERR_DIM, "rot90: dim %d twice", a);
    oxi_work work = oxi_work_begin("rot90");
    int64_t turns = ((times % 4) + 4) % 4;
    ox_tensor *made = turns == 0   ? ox_clone(x)
                      : turns == 2 ? ox_flip(x, OX_DIMS(a, b))
                      : turns == 1 ? ox_transpose(ox_flip(x, OX_DIMS(b)), a, b)
                                   : ox_transpose(ox_flip(x, OX_DIMS(a)), a, b);
    return oxi_work_end(&work, made);
}

OX_API ox_tensor *ox_diagflat(ox_tensor *x, int64_t offset) {
    if (oxi_any_null("diagflat", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("diagflat");
    return oxi_work_end(&work, ox_diag_embed(ox_reshape(x, OX_SHAPE(-1)), offset, 0, 1));
}

/* Places of a triangle of ones, i64 [2, count]. */
static ox_tensor *oxi_triangle_places(const char *name, int64_t rows, int64_t columns, int64_t offset,
                                      bool upper) {
    if (rows < 0 || columns < 0)
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: %lld x %lld", name, (long long)rows, (long long)columns);
    oxi_work work = oxi_work_begin(name);
    ox_tensor *ones = ox_ones(OX_SHAPE(rows, columns), OX_BOOL);
    ox_tensor *places = ox_nonzero(upper ? ox_triu(ones, offset) : ox_tril(ones, offset));
    return oxi_work_end(&work, ox_contiguous(ox_t(places)));
}
OX_API ox_tensor *ox_tril_indices(int64_t rows, int64_t columns, int64_t offset) {
    return oxi_triangle_places("tril_indices", rows, columns, offset, false);
}
OX_API ox_tensor *ox_triu_indices(int64_t rows, int64_t columns, int64_t offset) {
    return oxi_triangle_places("triu_indices", rows, columns, offset, true);
}
OX_API int64_t ox_meshgrid(ox_tensor *const *list, int count, const char *indexing, ox_tensor **out,
                           int64_t room) {
    ox_shape shape = oxi_no_shape();
    int64_t made = 0;
    bool swaps = indexing && strcmp(indexing, "xy") == 0 && count > 1;
    if (count < 1 || count > OX_MAX_DIMS ||
        (indexing && !swaps && strcmp(indexing, "ij") && strcmp(indexing, "xy"))) {
        (void)oxi_fail(OX_ERR_ARG, "meshgrid: %d tensors as \"%s\"", count, indexing ? indexing : "ij");
        return -1;
    }
    if (oxi_any_null("meshgrid", list, count)) return -1;
    shape.ndim = count;
    for (int i = 0; i < count; i++) shape.dim[swaps && i < 2 ? 1 - i : i] = ox_numel(list[i]);
    int64_t wanted = !out ? 0 : room < count ? room : count;
    for (; made < wanted; made++) {
        ox_shape own = oxi_no_shape();
        own.ndim = count;
        for (int d = 0; d < count; d++) own.dim[d] = 1;
        own.dim[swaps && made < 2 ? 1 - made : made] = ox_numel(list[made]);
        oxi_work work = oxi_work_begin("meshgrid");
        out[made] = oxi_work_end(&work, ox_expand(ox_reshape(list[made], own), shape));
        if (!out[made]) break;
    }
    return oxi_results_end(out, made, wanted) < 0 ? -1 : count;
}

static bool oxi_same_shape(const ox_tensor *a, const ox_tensor *b) {
    bool same = a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) same = a->shape[d] == b->shape[d];
    return same;
}

/* ---- a part of a copy replaced ------------------------------------------------------------------------- */

/* A copy of x, of which the view that `window` gives becomes source. */
typedef ox_tensor *(*oxi_window)(ox_tensor *copy, const int64_t *told);
static ox_tensor *oxi_with_part(const char *name, ox_tensor *x, ox_tensor *source, oxi_window window,
                                const int64_t *told) {
    ox_tensor *in[2] = {x, source};
    if (oxi_any_null(name, in, 2)) return NULL;
    oxi_work work = oxi_work_begin(name);
    ox_tensor *copy = ox_clone(x), *part = copy ? window(copy, told) : NULL;
    if (part && !oxi_same_shape(part, source)) {
        (void)oxi_fail(OX_ERR_SHAPE, "%s: %s in the place of %s", name, oxi_tensor_text(source),
                       oxi_tensor_text(part));
        part = NULL;
    }
    return oxi_work_end(&work, part && ox_copy_(part, source) ? copy : NULL);
}
static ox_tensor *oxi_window_select(ox_tensor *copy, const int64_t *told) {
    return ox_select(copy, (int)told[0], told[1]);
}
static ox_tensor *oxi_window_slice(ox_tensor *copy, const int64_t *told) {
    return ox_slice(copy, (int)told[0], told[1], told[2], told[3]);
}
static ox_tensor *oxi_window_diagonal(ox_tensor *copy, const int64_t *told) {
    return ox_diagonal(copy, told[0], (int)told[1], (int)told[2]);
}
OX_API ox_tensor *ox_select_scatter(ox_tensor *x, ox_tensor *source, int dim, int64_t index) {
    const int64_t told[2] = {dim, index};
    return oxi_with_part("select_scatter", x, source, oxi_window_select, told);
}
OX_API ox_tensor *ox_slice_scatter(ox_tensor *x, ox_tensor *source, int dim, int64_t start, int64_t end,
                                   int64_t step) {
    const int64_t told[4] = {dim, start, end, step};
    return oxi_with_part("slice_scatter", x, source, oxi_window_slice, told);
}
OX_API ox_tensor *ox_diagonal_scatter(ox_tensor *x, ox_tensor *source, int64_t offset, int dim1, int dim2) {
    const int64_t told[3] = {offset, dim1, dim2};
    return oxi_with_part("diagonal_scatter", x, source, oxi_window_diagonal, told);
}
OX_API ox_tensor *ox_as_strided_scatter(ox_tensor *x, ox_tensor *source, ox_shape shape, ox_shape strides,
                                        int64_t offset) {
    ox_tensor *in[2] = {x, source};
    if (oxi_any_null("as_strided_scatter", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("as_strided_scatter");
    ox_tensor *places = ox_as_strided(oxi_ramp_beside(x, ox_numel(x), OX_I64), shape, strides, offset);
    if (places && !oxi_same_shape(places, source)) {
        (void)oxi_fail(OX_ERR_SHAPE, "as_strided_scatter: %s in the place of %s", oxi_tensor_text(source),
                       oxi_tensor_text(places));
        places = NULL;
    }
    return oxi_work_end(&work, places ? ox_put(x, places, source, false) : NULL);
}

/* ---- places -------------------------------------------------------------------------------------------- */

/* How many places one step of each dim is; false and an error. The first size is in none of them: shapes may
 * have more places than memory has. */
static bool oxi_unravel_steps(const ox_tensor *indices, const ox_shape *shape, int64_t *steps) {
    int64_t below = 1;
    bool fits = shape->ndim >= 0 && shape->ndim <= OX_MAX_DIMS;
    for (int d = fits ? shape->ndim - 1 : -1; fits && d >= 0; d--) {
        steps[d] = below;
        fits = shape->dim[d] > 0 || (shape->dim[d] == 0 && ox_numel(indices) == 0);
        if (fits && d > 0) fits = oxi_mul_i64(below, shape->dim[d] ? shape->dim[d] : 1, &below);
    }
    if (!fits)
        (void)oxi_fail(OX_ERR_SHAPE, "unravel_index: no places of %s in the shape given",
                       oxi_tensor_text(indices));
    return fits;
}

OX_API int64_t ox_unravel_index(ox_tensor *indices, ox_shape shape, ox_tensor **out, int64_t room) {
    int64_t made = 0, steps[OX_MAX_DIMS];
    if (oxi_any_null("unravel_index", &indices, 1) || !oxi_unravel_steps(indices, &shape, steps)) return -1;
    int64_t wanted = !out ? 0 : room < shape.ndim ? room : shape.ndim;
    for (; made < wanted; made++) {
        oxi_work work = oxi_work_begin("unravel_index");
        ox_tensor *place = ox_floor_divide(ox_cast(indices, OX_I64), ox_integer(steps[made]));
        out[made] =
            oxi_work_end(&work, ox_remainder(place, ox_integer(shape.dim[made] ? shape.dim[made] : 1)));
        if (!out[made]) break;
    }
    return oxi_results_end(out, made, wanted) < 0 ? -1 : shape.ndim;
}

OX_API ox_tensor *ox_nonzero_static(ox_tensor *x, int64_t size, int64_t fill_value) {
    if (oxi_any_null("nonzero_static", &x, 1)) return NULL;
    if (size < 0) return OXI_FAIL_NULL(OX_ERR_ARG, "nonzero_static: size %lld", (long long)size);
    oxi_work work = oxi_work_begin("nonzero_static");
    ox_tensor *places = ox_nonzero(x);
    ox_tensor *out = oxi_full("full", OX_SHAPE(size, x->ndim), (double)fill_value, OX_I64, ox_device_of(x));
    int64_t count = !places || places->shape[0] < size ? (places ? places->shape[0] : 0) : size;
    bool done = places && out && ox_copy_(ox_narrow(out, 0, 0, count), ox_narrow(places, 0, 0, count));
    return oxi_work_end(&work, done ? out : NULL);
}
