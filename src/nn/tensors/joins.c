/* More dims, joins, diagonals, elements that are repeated. */

/* ---- more dims ----------------------------------------------------------------------------------------- */

static ox_tensor *oxi_atleast(ox_tensor *x, int ndim) {
    ox_shape shape = ox_shape_of(x);
    if (x->ndim >= ndim) return oxi_same_again(x);
    if (ndim == 3 && x->ndim == 2) return ox_unsqueeze(x, 2);
    if (ndim == 3 && x->ndim == 1) return ox_view(x, OX_SHAPE(1, shape.dim[0], 1));
    return ox_unsqueeze(ndim == 1 ? x : oxi_atleast(x, ndim - 1), 0);
}
OXI_MADE_1(atleast_1d, oxi_atleast(x, 1))
OXI_MADE_1(atleast_2d, oxi_atleast(x, 2))
OXI_MADE_1(atleast_3d, oxi_atleast(x, 3))

/* ---- joins --------------------------------------------------------------------------------------------- */

/* The shape that all of a list broadcast to; false and an error. */
static bool oxi_common_shape(const char *name, ox_tensor *const *list, int count, ox_shape *out) {
    *out = oxi_no_shape();
    for (int i = 0; i < count; i++)
        if (list[i]->ndim > out->ndim) out->ndim = list[i]->ndim;
    for (int d = 0; d < out->ndim; d++) out->dim[d] = 1;
    for (int i = 0; i < count; i++)
        for (int d = 0; d < list[i]->ndim; d++) {
            int64_t *size = &out->dim[out->ndim - list[i]->ndim + d], own = list[i]->shape[d];
            if (*size == 1) *size = own;
            if (own == 1 || own == *size) continue;
            (void)oxi_fail(OX_ERR_SHAPE, "%s: shapes do not broadcast: %s", name, oxi_tensor_text(list[i]));
            return false;
        }
    return true;
}

/* A list of pointers that ends with its function. */
static ox_tensor **oxi_list_new(int64_t count, size_t *bytes) {
    if (count < 0 || !oxi_mul_size((size_t)count, sizeof(ox_tensor *), bytes)) return NULL;
    return (ox_tensor **)oxi_alloc(*bytes ? *bytes : sizeof(ox_tensor *));
}

/* Each of a list with at least ndim dims, columns: of one dim as a column; joined along dim. */
static ox_tensor *oxi_joined(const char *name, ox_tensor *const *list, int count, int ndim, int dim,
                             bool columns) {
    size_t bytes;
    if (count < 1) return OXI_FAIL_NULL(OX_ERR_ARG, "%s: no tensors", name);
    if (oxi_any_null(name, list, count)) return NULL;
    ox_tensor **parts = oxi_list_new(count, &bytes);
    if (!parts) return NULL;
    oxi_work work = oxi_work_begin(name);
    bool made = true;
    for (int i = 0; i < count; i++) {
        parts[i] =
            columns && list[i]->ndim <= 1 ? ox_reshape(list[i], OX_SHAPE(-1, 1)) : oxi_atleast(list[i], ndim);
        made = made && parts[i];
    }
    int along = made && dim == OX_FLATTENED ? (parts[0]->ndim > 1) : dim;
    ox_tensor *result = oxi_work_end(&work, made ? ox_cat(parts, count, along) : NULL);
    oxi_free(parts, bytes ? bytes : sizeof *parts);
    return result;
}
OX_API ox_tensor *ox_hstack(ox_tensor *const *list, int count) {
    return oxi_joined("hstack", list, count, 1, OX_FLATTENED, false);
}
OX_API ox_tensor *ox_vstack(ox_tensor *const *list, int count) {
    return oxi_joined("vstack", list, count, 2, 0, false);
}

/* ---- diagonals ----------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_diag_embed(ox_tensor *x, int64_t offset, int dim1, int dim2) {
    if (oxi_any_null("diag_embed", &x, 1)) return NULL;
    if (x->ndim < 1 || x->ndim >= OX_MAX_DIMS)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "diag_embed: %s", oxi_tensor_text(x));
    int ndim = x->ndim + 1, a = oxi_wrap_dim("diag_embed", dim1, ndim),
        b = oxi_wrap_dim("diag_embed", dim2, ndim);
    if (a < 0 || b < 0) return NULL;
    if (a == b) return OXI_FAIL_NULL(OX_ERR_DIM, "diag_embed: dim %d twice", a);
    if (offset > INT32_MAX || offset < -INT32_MAX)
        return OXI_FAIL_NULL(OX_ERR_ARG, "diag_embed: the offset %lld", (long long)offset);
    int64_t size = x->shape[x->ndim - 1] + (offset < 0 ? -offset : offset);
    ox_shape shape = oxi_no_shape();
    shape.ndim = ndim;
    for (int d = 0, from = 0; d < ndim; d++) shape.dim[d] = d == a || d == b ? size : x->shape[from++];
    oxi_work work = oxi_work_begin("diag_embed");
    ox_tensor *out = oxi_full("diag_embed", shape, 0, x->dtype, ox_device_of(x));
    bool done = out && ox_copy_(ox_diagonal(out, offset, a, b), x);
    return oxi_work_end(&work, done ? out : NULL);
}

OX_API ox_tensor *ox_diag(ox_tensor *x, int64_t diagonal) {
    if (oxi_any_null("diag", &x, 1)) return NULL;
    if (x->ndim != 1 && x->ndim != 2)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "diag: %s has not 1 or 2 dims", oxi_tensor_text(x));
    if (x->ndim == 1) return ox_diag_embed(x, diagonal, 0, 1);
    oxi_work work = oxi_work_begin("diag");
    return oxi_work_end(&work, ox_clone(ox_diagonal(x, diagonal, 0, 1)));
}

OXI_MADE_1(trace, x->ndim == 2 ? ox_sum(ox_diagonal(x, 0, 0, 1), OX_ALL_DIMS, false)
                               : OXI_FAIL_NULL(OX_ERR_SHAPE, "trace: of %s", oxi_tensor_text(x)))

/* ---- repeats ------------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_repeat_interleave(ox_tensor *x, ox_tensor *repeats, int dim) {
    ox_tensor *in[2] = {x, repeats};
    if (oxi_any_null("repeat_interleave", in, 2)) return NULL;
    oxi_work work = oxi_work_begin("repeat_interleave");
    if (dim == OX_FLATTENED) {
        x = ox_reshape(x, OX_SHAPE(-1));
        dim = 0;
    }
    int at = x ? oxi_own_dim("repeat_interleave", x, dim) : -1;
    if (at < 0) return oxi_work_end(&work, NULL);
    if (repeats->ndim > 1 || (ox_numel(repeats) != 1 && ox_numel(repeats) != x->shape[at])) {
        (void)oxi_fail(OX_ERR_SHAPE, "repeat_interleave: repeats %s for dim %d of %s",
                       oxi_tensor_text(repeats), at, oxi_tensor_text(x));
        return oxi_work_end(&work, NULL);
    }
    ox_tensor *each = ox_expand(ox_reshape(ox_cast(repeats, OX_I64), OX_SHAPE(-1)), OX_SHAPE(x->shape[at]));
    ox_tensor *ends = ox_cumsum(each, 0);
    int64_t total = ends && x->shape[at] ? ox_item_int(ox_select(ends, 0, -1)) : 0;
    if (ox_error() || total < 0) return oxi_work_end(&work, NULL);
    ox_tensor *places = ox_searchsorted(ends, oxi_ramp_beside(x, total, OX_I64), true);
    return oxi_work_end(&work, ox_index_select(x, at, places));
}
