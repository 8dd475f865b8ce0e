/* The public views: each works out sizes, then makes a VIEW call whose rule does the strides. */

/* x with its dims as given in order[]. */
static ox_tensor *oxi_permuted(const char *name, ox_tensor *x, const int *order) {
    oxi_attrs attr = oxi_attrs_order();
    attr.order.dims.count = (int8_t)x->ndim;
    for (int d = 0; d < x->ndim; d++) attr.order.dims.dim[d] = (int8_t)order[d];
    return oxi_apply_as(name, OXI_OP_permute, &attr, &x, 1, NULL);
}

static ox_tensor *oxi_transposed(const char *name, ox_tensor *x, int dim0, int dim1) {
    if (oxi_any_null(name, &x, 1)) return NULL;
    int a = oxi_wrap_dim(name, dim0, x->ndim), b = oxi_wrap_dim(name, dim1, x->ndim);
    int order[OX_MAX_DIMS];
    if (a < 0 || b < 0) return NULL;
    for (int d = 0; d < OX_MAX_DIMS; d++) order[d] = d;
    order[a] = b;
    order[b] = a;
    return oxi_permuted(name, x, order);
}
OX_API ox_tensor *ox_transpose(ox_tensor *x, int dim0, int dim1) {
    return oxi_transposed("transpose", x, dim0, dim1);
}

static ox_tensor *oxi_viewed(const char *name, ox_tensor *x, const ox_shape *shape) {
    oxi_attrs attr = oxi_attrs_sizes();
    attr.sizes.shape = *shape;
    return oxi_any_null(name, &x, 1) ? NULL : oxi_apply_as(name, OXI_OP_view, &attr, &x, 1, NULL);
}

OX_API ox_tensor *ox_t(ox_tensor *x) {
    if (oxi_any_null("t", &x, 1)) return NULL;
    if (x->ndim > 2)
        return OXI_FAIL_NULL(OX_ERR_DIM, "t: %s has more than 2 dims; use transpose", oxi_tensor_text(x));
    ox_shape same = ox_shape_of(x);
    return x->ndim == 2 ? oxi_transposed("t", x, 0, 1) : oxi_viewed("t", x, &same);
}

OX_API ox_tensor *ox_permute(ox_tensor *x, ox_shape dims) {
    if (oxi_any_null("permute", &x, 1)) return NULL;
    if (dims.ndim < 0 || dims.ndim > OX_MAX_DIMS)
        return OXI_FAIL_NULL(OX_ERR_DIM, "permute: more than %d dims", OX_MAX_DIMS);
    if (dims.ndim != x->ndim)
        return OXI_FAIL_NULL(OX_ERR_DIM, "permute: %d dims for %s", dims.ndim, oxi_tensor_text(x));
    int order[OX_MAX_DIMS];
    unsigned seen = 0;
    for (int i = 0; i < dims.ndim; i++) {
        int64_t wanted = dims.dim[i];
        order[i] = oxi_wrap_dim("permute", wanted < INT32_MIN || wanted > INT32_MAX ? INT32_MAX : (int)wanted,
                                x->ndim);
        if (order[i] < 0) return NULL;
        if (seen >> order[i] & 1) return OXI_FAIL_NULL(OX_ERR_DIM, "permute: dim %d twice", order[i]);
        seen |= 1u << order[i];
    }
    return oxi_permuted("permute", x, order);
}

OX_API ox_tensor *ox_movedim(ox_tensor *x, int source, int destination) {
    if (oxi_any_null("movedim", &x, 1)) return NULL;
    int from = oxi_wrap_dim("movedim", source, x->ndim), to = oxi_wrap_dim("movedim", destination, x->ndim);
    if (from < 0 || to < 0) return NULL;
    int order[OX_MAX_DIMS], next = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (next == from) next++;
        order[d] = d == to ? from : next++;
    }
    return oxi_permuted("movedim", x, order);
}

/* ---- other shapes over the same elements --------------------------------------------------------------- */

/* Works out a -1 in shape and checks that its elements are `total`. */
static bool oxi_fit_shape(int64_t total, ox_shape *shape) {
    int unknown = -1;
    int64_t known = 1;
    bool fits = shape->ndim >= 0 && shape->ndim <= OX_MAX_DIMS;
    for (int d = 0; fits && d < shape->ndim; d++) {
        if (shape->dim[d] == -1 && unknown < 0) {
            unknown = d;
            continue;
        }
        fits = shape->dim[d] >= 0 && oxi_mul_i64(known, shape->dim[d], &known);
    }
    if (fits && unknown >= 0) {
        fits = known > 0 && total % known == 0;
        if (fits) shape->dim[unknown] = total / known;
    } else {
        fits = fits && known == total;
    }
    return fits;
}

/* Why a shape of at most OX_MAX_DIMS dims does not hold `total` elements, for messages. */
static const char *oxi_unfit_reason(int64_t total, const ox_shape *shape) {
    int unknown = 0;
    int64_t known = 1;
    bool counted = true;
    char *out = oxi_text_buffer();
    for (int d = 0; d < shape->ndim; d++) {
        if (shape->dim[d] < -1) {
            snprintf(out, OXI_TEXT_ROOM, "dim %d has size %lld", d, (long long)shape->dim[d]);
            return out;
        }
        unknown += shape->dim[d] == -1;
        if (shape->dim[d] >= 0) counted = counted && oxi_mul_i64(known, shape->dim[d], &known);
    }
    if (unknown > 1) return "only one size may be -1";
    if (!counted) return "it has more elements than 64 bits count";
    if (unknown && known == 0) return "-1 could be any size beside a 0";
    if (unknown)
        snprintf(out, OXI_TEXT_ROOM, "%lld elements are no multiple of %lld", (long long)total,
                 (long long)known);
    else
        snprintf(out, OXI_TEXT_ROOM, "%lld elements are not %lld", (long long)total, (long long)known);
    return out;
}

static bool oxi_resolve_shape(const char *op, const ox_tensor *x, ox_shape *shape) {
    const ox_shape wanted = *shape;
    if (oxi_fit_shape(ox_numel(x), shape)) return true;
    if (wanted.ndim < 0 || wanted.ndim > OX_MAX_DIMS)
        (void)oxi_fail(OX_ERR_SHAPE, "%s: more than %d dims", op, OX_MAX_DIMS);
    else
        (void)oxi_fail(OX_ERR_SHAPE, "%s: %s to %s: %s", op, oxi_tensor_text(x),
                       oxi_shape_text(wanted.ndim, wanted.dim), oxi_unfit_reason(ox_numel(x), &wanted));
    return false;
}

OX_API ox_tensor *ox_view(ox_tensor *x, ox_shape shape) {
    if (oxi_any_null("view", &x, 1) || !oxi_resolve_shape("view", x, &shape)) return NULL;
    return oxi_viewed("view", x, &shape);
}

static ox_tensor *oxi_reshaped(const char *name, ox_tensor *x, ox_shape shape) {
    int64_t stride[OX_MAX_DIMS];
    if (oxi_any_null(name, &x, 1) || !oxi_resolve_shape(name, x, &shape)) return NULL;
    if (oxi_view_strides(x, shape.ndim, shape.dim, stride)) return oxi_viewed(name, x, &shape);
    oxi_work work = oxi_work_begin(name);
    return oxi_work_end(&work, oxi_viewed(name, ox_clone(x), &shape));
}
OX_API ox_tensor *ox_reshape(ox_tensor *x, ox_shape shape) {
    return oxi_reshaped("reshape", x, shape);
}

OX_API ox_tensor *ox_flatten(ox_tensor *x, int first_dim, int last_dim) {
    if (oxi_any_null("flatten", &x, 1)) return NULL;
    int first = oxi_wrap_dim("flatten", first_dim, x->ndim),
        last = oxi_wrap_dim("flatten", last_dim, x->ndim);
    if (first < 0 || last < 0) return NULL;
    if (first > last) return OXI_FAIL_NULL(OX_ERR_DIM, "flatten: dim %d lies behind dim %d", first, last);
    ox_shape shape = ox_shape_from(0, NULL);
    int64_t merged = 1;
    for (int d = 0; d < x->ndim; d++) {
        if (d < first || d > last) {
            shape.dim[shape.ndim++] = x->shape[d];
            continue;
        }
        merged *= x->shape[d];
        if (d == last) shape.dim[shape.ndim++] = merged;
    }
    if (x->ndim == 0) shape.dim[shape.ndim++] = 1;
    return oxi_reshaped("flatten", x, shape);
}

OX_API ox_tensor *ox_unflatten(ox_tensor *x, int dim, ox_shape sizes) {
    if (oxi_any_null("unflatten", &x, 1)) return NULL;
    int at = oxi_wrap_dim("unflatten", dim, x->ndim);
    if (at < 0) return NULL;
    if (x->ndim == 0)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "unflatten: %s has no dim to split", oxi_tensor_text(x));
    if (sizes.ndim == 0) return OXI_FAIL_NULL(OX_ERR_SHAPE, "unflatten: no sizes for dim %d", dim);
    if (sizes.ndim < 0 || sizes.ndim > OX_MAX_DIMS - (x->ndim - 1))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "unflatten: dim %d of %s into that many dims makes more than %d",
                             dim, oxi_tensor_text(x), OX_MAX_DIMS);
    ox_shape shape = ox_shape_from(0, NULL);
    const ox_shape wanted = sizes;
    if (!oxi_fit_shape(x->shape[at], &sizes)) /* the dim alone, so that its -1 is worked out on its own */
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "unflatten: dim %d of %s into %s: %s", dim, oxi_tensor_text(x),
                             oxi_shape_text(wanted.ndim, wanted.dim),
                             oxi_unfit_reason(x->shape[at], &wanted));
    for (int d = 0; d < x->ndim; d++) {
        if (d != at) {
            shape.dim[shape.ndim++] = x->shape[d];
            continue;
        }
        for (int s = 0; s < sizes.ndim; s++) shape.dim[shape.ndim++] = sizes.dim[s];
    }
    return oxi_viewed("unflatten", x, &shape);
}

OX_API ox_tensor *ox_squeeze(ox_tensor *x, int dim) {
    if (oxi_any_null("squeeze", &x, 1)) return NULL;
    int at = oxi_wrap_dim("squeeze", dim, x->ndim);
    if (at < 0) return NULL;
    ox_shape shape = ox_shape_from(0, NULL);
    for (int d = 0; d < x->ndim; d++)
        if (d != at || x->shape[d] != 1) shape.dim[shape.ndim++] = x->shape[d];
    return oxi_viewed("squeeze", x, &shape);
}

OX_API ox_tensor *ox_squeeze_all(ox_tensor *x) {
    if (oxi_any_null("squeeze_all", &x, 1)) return NULL;
    ox_shape shape = ox_shape_from(0, NULL);
    for (int d = 0; d < x->ndim; d++)
        if (x->shape[d] != 1) shape.dim[shape.ndim++] = x->shape[d];
    return oxi_viewed("squeeze_all", x, &shape);
}

OX_API ox_tensor *ox_unsqueeze(ox_tensor *x, int dim) {
    if (oxi_any_null("unsqueeze", &x, 1)) return NULL;
    if (dim < -x->ndim - 1 || dim > x->ndim)
        return OXI_FAIL_NULL(OX_ERR_DIM, "unsqueeze: dim %d is out of range for a new dim of %s", dim,
                             oxi_tensor_text(x));
    int at = dim < 0 ? dim + x->ndim + 1 : dim;
    if (x->ndim == OX_MAX_DIMS) return OXI_FAIL_NULL(OX_ERR_SHAPE, "unsqueeze: %d dims already", OX_MAX_DIMS);
    ox_shape shape = ox_shape_from(0, NULL);
    for (int d = 0; d <= x->ndim; d++) shape.dim[shape.ndim++] = d == at ? 1 : x->shape[d < at ? d : d - 1];
    return oxi_viewed("unsqueeze", x, &shape);
}

/* ---- parts --------------------------------------------------------------------------------------------- */

static ox_tensor *oxi_sliced(const char *name, ox_tensor *x, int dim, int64_t start, int64_t length,
                             int64_t step) {
    oxi_attrs attr = oxi_attrs_slice();
    attr.slice.dim = dim;
    attr.slice.start = start;
    attr.slice.length = length;
    attr.slice.step = step;
    return oxi_apply_as(name, OXI_OP_slice, &attr, &x, 1, NULL);
}

/* A dim that really exists, for views that have no meaning on 0-dim tensors. */
static int oxi_own_dim(const char *op, const ox_tensor *x, int dim) {
    if (x->ndim > 0) return oxi_wrap_dim(op, dim, x->ndim);
    (void)oxi_fail(OX_ERR_DIM, "%s: a 0-dim tensor has no dim %d", op, dim);
    return -1;
}

OX_API ox_tensor *ox_narrow(ox_tensor *x, int dim, int64_t start, int64_t length) {
    if (oxi_any_null("narrow", &x, 1)) return NULL;
    int at = oxi_own_dim("narrow", x, dim);
    if (at < 0) return NULL;
    int64_t size = x->shape[at], from = start < 0 ? start + size : start;
    if (from < 0 || from > size || length < 0 || length > size - from)
        return OXI_FAIL_NULL(OX_ERR_INDEX,
                             "narrow: %lld elements from %lld on are not all within dim %d of %s",
                             (long long)length, (long long)start, at, oxi_tensor_text(x));
    return oxi_sliced("narrow", x, at, from, length, 1);
}

OX_API ox_tensor *ox_slice(ox_tensor *x, int dim, int64_t start, int64_t end, int64_t step) {
    if (oxi_any_null("slice", &x, 1)) return NULL;
    int at = oxi_own_dim("slice", x, dim);
    if (at < 0) return NULL;
    if (step == 0) return OXI_FAIL_NULL(OX_ERR_ARG, "slice: a step of 0 leads nowhere");
    if (step == INT64_MIN)
        return OXI_FAIL_NULL(OX_ERR_ARG, "slice: the step %lld is out of range", (long long)step);
    int64_t size = x->shape[at], low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    int64_t from = start == OX_END ? high : start < 0 ? start + size : start;
    int64_t to = end == OX_END ? (step > 0 ? size : -1) : end < 0 ? end + size : end;
    from = from < low ? low : from > high ? high : from;
    to = to < low ? low : to > high ? high : to;
    int64_t span = step > 0 ? to - from : from - to, stride = step > 0 ? step : -step;
    return oxi_sliced("slice", x, at, from, span > 0 ? (span - 1) / stride + 1 : 0, step);
}

static ox_tensor *oxi_selected(const char *name, ox_tensor *x, int dim, int64_t index) {
    if (oxi_any_null(name, &x, 1)) return NULL;
    oxi_attrs attr = oxi_attrs_select();
    int at = attr.select.dim = oxi_own_dim(name, x, dim);
    if (at < 0) return NULL;
    int64_t size = x->shape[at], from = index < 0 ? index + size : index;
    if (from < 0 || from >= size)
        return OXI_FAIL_NULL(OX_ERR_INDEX, "select: index %lld is out of range for dim %d of %s",
                             (long long)index, at, oxi_tensor_text(x));
    attr.select.index = from;
    return oxi_apply_as(name, OXI_OP_select, &attr, &x, 1, NULL);
}
OX_API ox_tensor *ox_select(ox_tensor *x, int dim, int64_t index) {
    return oxi_selected("select", x, dim, index);
}

static ox_tensor *oxi_expanded(const char *name, ox_tensor *x, ox_shape shape) {
    if (oxi_any_null(name, &x, 1)) return NULL;
    oxi_attrs attr = oxi_attrs_sizes();
    attr.sizes.shape = shape;
    return oxi_apply_as(name, OXI_OP_expand, &attr, &x, 1, NULL);
}
OX_API ox_tensor *ox_expand(ox_tensor *x, ox_shape shape) {
    return oxi_expanded("expand", x, shape);
}
/* The tensor that a result is to be like: true (and an error recorded, if none was) when it is NULL. */
static bool oxi_null_model(const char *op, const ox_tensor *t) {
    if (!t && ox_error() == OX_OK) (void)oxi_fail(OX_ERR_ARG, "%s: the tensor is NULL", op);
    return !t;
}

OX_API ox_tensor *ox_expand_as(ox_tensor *x, const ox_tensor *like) {
    return oxi_null_model("expand_as", like) ? NULL : oxi_expanded("expand_as", x, ox_shape_of(like));
}

/* A list of dims as a bit set; false and an error if one is out of range or there twice. */
static bool oxi_dim_set(const char *op, const ox_tensor *x, const ox_shape *dims, uint32_t *set) {
    *set = 0;
    if (dims->ndim < 0 || dims->ndim > OX_MAX_DIMS) {
        (void)oxi_fail(OX_ERR_DIM, "%s: more than %d dims", op, OX_MAX_DIMS);
        return false;
    }
    for (int i = 0; i < dims->ndim; i++) {
        int64_t wanted = dims->dim[i];
        int dim =
            oxi_wrap_dim(op, wanted < INT32_MIN || wanted > INT32_MAX ? INT32_MAX : (int)wanted, x->ndim);
        if (dim < 0) return false;
        if (*set >> dim & 1) {
            (void)oxi_fail(OX_ERR_DIM, "%s: dim %d twice", op, dim);
            return false;
        }
        *set |= 1u << dim;
    }
    return true;
}

OX_API ox_tensor *ox_flip(ox_tensor *x, ox_shape dims) {
    if (oxi_any_null("flip", &x, 1)) return NULL;
    oxi_attrs attr = oxi_attrs_dims();
    return oxi_dim_set("flip", x, &dims, &attr.dims.dims) ? oxi_apply_1(OXI_OP_flip, &attr, x) : NULL;
}

OX_API ox_tensor *ox_diagonal(ox_tensor *x, int64_t offset, int dim1, int dim2) {
    if (oxi_any_null("diagonal", &x, 1)) return NULL;
    oxi_attrs attr = oxi_attrs_between();
    attr.between.offset = offset;
    attr.between.first = oxi_own_dim("diagonal", x, dim1);
    attr.between.second = oxi_own_dim("diagonal", x, dim2);
    if (offset == INT64_MIN)
        return OXI_FAIL_NULL(OX_ERR_ARG, "diagonal: the offset %lld is out of range", (long long)offset);
    if (attr.between.first < 0 || attr.between.second < 0) return NULL;
    return oxi_apply_1(OXI_OP_diagonal, &attr, x);
}

OX_API ox_tensor *ox_as_strided(ox_tensor *x, ox_shape shape, ox_shape strides, int64_t offset) {
    oxi_attrs attr = oxi_attrs_strided();
    attr.strided.shape = shape;
    attr.strided.strides = strides;
    attr.strided.offset = offset;
    return oxi_apply_1(OXI_OP_as_strided, &attr, x);
}

OX_API ox_tensor *ox_unfold(ox_tensor *x, int dim, int64_t size, int64_t step) {
    if (oxi_any_null("unfold", &x, 1)) return NULL;
    oxi_attrs attr = oxi_attrs_windows();
    attr.windows.dim = oxi_wrap_dim("unfold", dim, x->ndim);
    attr.windows.size = size;
    attr.windows.step = step;
    return attr.windows.dim < 0 ? NULL : oxi_apply_1(OXI_OP_unfold, &attr, x);
}

OX_API ox_tensor *ox_view_as_real(ox_tensor *x) {
    return oxi_apply_1(OXI_OP_view_as_real, NULL, x);
}
OX_API ox_tensor *ox_view_as_complex(ox_tensor *x) {
    return oxi_apply_1(OXI_OP_view_as_complex, NULL, x);
}
static ox_tensor *oxi_part_view(const char *name, ox_tensor *x, int part) {
    oxi_attrs attr = oxi_attrs_part();
    attr.part.part = part;
    return oxi_any_null(name, &x, 1) ? NULL : oxi_apply_as(name, OXI_OP_view_as_real, &attr, &x, 1, NULL);
}
OX_API ox_tensor *ox_real(ox_tensor *x) {
    return oxi_part_view("real", x, 1);
}
OX_API ox_tensor *ox_imag(ox_tensor *x) {
    return oxi_part_view("imag", x, 2);
}

OX_API ox_tensor *ox_view_dtype(ox_tensor *x, ox_dtype dtype) {
    oxi_attrs attr = oxi_attrs_dtype();
    attr.dtype.dtype = dtype;
    return oxi_apply_1(OXI_OP_view_dtype, &attr, x);
}

/* ---- lists of views ------------------------------------------------------------------------------------ */

/* `count` parts along dim `at` of x: of sizes[i], or without sizes of `size`, the last one maybe smaller. */
static int64_t oxi_split(const char *name, ox_tensor *x, const int64_t *sizes, int64_t size, int64_t count,
                         int at, ox_tensor **out, int64_t room) {
    int64_t start = 0;
    if (!out) room = 0; /* only counts */
    for (int64_t i = 0; i < count && i < room; i++) {
        int64_t length = sizes ? sizes[i] : size < x->shape[at] - start ? size : x->shape[at] - start;
        out[i] = oxi_sliced(name, x, at, start, length, 1);
        start += length;
        if (!out[i]) {
            while (i-- > 0) {
                ox_release(out[i]);
                out[i] = NULL;
            }
            return -1;
        }
    }
    return count;
}

OX_API int64_t ox_split(ox_tensor *x, int64_t size, int dim, ox_tensor **out, int64_t room) {
    if (oxi_any_null("split", &x, 1)) return -1;
    int at = oxi_own_dim("split", x, dim);
    if (at < 0) return -1;
    if (size < 0 || (size == 0 && x->shape[at] > 0)) {
        (void)oxi_fail(OX_ERR_ARG, "split: parts of %lld elements cannot make up dim %d of %s",
                       (long long)size, at, oxi_tensor_text(x));
        return -1;
    }
    return oxi_split("split", x, NULL, size, x->shape[at] == 0 ? 1 : (x->shape[at] - 1) / size + 1, at, out,
                     room);
}

OX_API int64_t ox_split_with_sizes(ox_tensor *x, const int64_t *sizes, int64_t count, int dim,
                                   ox_tensor **out, int64_t room) {
    if (oxi_any_null("split_with_sizes", &x, 1)) return -1;
    int at = oxi_own_dim("split_with_sizes", x, dim);
    if (at < 0) return -1;
    int64_t sum = 0;
    bool fits = count >= 0 && (sizes || count == 0);
    for (int64_t i = 0; fits && i < count; i++) fits = sizes[i] >= 0 && oxi_add_i64(sum, sizes[i], &sum);
    if (!fits || sum != x->shape[at]) {
        (void)oxi_fail(OX_ERR_ARG, "split_with_sizes: %lld sizes do not make up dim %d of %s",
                       (long long)count, at, oxi_tensor_text(x));
        return -1;
    }
    return oxi_split("split_with_sizes", x, sizes, 0, count, at, out, room);
}

OX_API int64_t ox_chunk(ox_tensor *x, int64_t chunks, int dim, ox_tensor **out, int64_t room) {
    if (oxi_any_null("chunk", &x, 1)) return -1;
    int at = oxi_own_dim("chunk", x, dim);
    if (at < 0) return -1;
    if (chunks < 1) {
        (void)oxi_fail(OX_ERR_ARG, "chunk: %lld chunks, at least one is needed", (long long)chunks);
        return -1;
    }
    int64_t length = x->shape[at];
    int64_t size = length == 0 ? 0 : (length - 1) / chunks + 1;
    return oxi_split("chunk", x, NULL, size, length == 0 ? chunks : (length - 1) / size + 1, at, out, room);
}

OX_API int64_t ox_unbind(ox_tensor *x, int dim, ox_tensor **out, int64_t room) {
    if (oxi_any_null("unbind", &x, 1)) return -1;
    int at = oxi_own_dim("unbind", x, dim);
    if (at < 0) return -1;
    if (!out) room = 0;
    for (int64_t i = 0; i < x->shape[at] && i < room; i++) {
        out[i] = oxi_selected("unbind", x, at, i);
        if (!out[i]) {
            while (i-- > 0) {
                ox_release(out[i]);
                out[i] = NULL;
            }
            return -1;
        }
    }
    return x->shape[at];
}
