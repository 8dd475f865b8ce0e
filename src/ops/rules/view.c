/* Rules of views: shape, strides and offset over the operand's storage.
 *
 * What is worked out here fits 64 bits: the elements of a shape, dims of size 0 left out, are checked where
 * it comes up, and what strides times sizes reach lies in memory. In a dim of one element, or where there are
 * none, a stride could be any number: the caller's are settled (oxi_settle_strides), steps that are never
 * taken are left out, and what is empty keeps its offset. */

static void oxi_view_of(const ox_tensor *x, ox_tensor *out) {
    *out = oxi_borrowed(x);
}

/* The packed dim of a block type, the one with stride 1, may be cut between blocks only. */
static ox_status oxi_check_block_view(const oxi_call *call, bool keeps_blocks) {
    if (keeps_blocks || !oxi_is_block(call->in[0]->dtype)) return OX_OK;
    return oxi_fail(OX_ERR_DTYPE, "%s: %s can be viewed by whole blocks only", oxi_op_name(call),
                    oxi_tensor_text(call->in[0]));
}

OXI_RULE(alias) {
    oxi_view_of(call->in[0], out);
    return OX_OK;
}

OXI_RULE(permute) {
    const ox_tensor *x = call->in[0];
    oxi_view_of(x, out);
    for (int d = 0; d < x->ndim; d++) {
        out->shape[d] = x->shape[call->attr.order.dims.dim[d]];
        out->stride[d] = x->stride[call->attr.order.dims.dim[d]];
    }
    return OX_OK;
}

/* Strides for `shape` over the same elements as x, dim group by dim group; false if that needs a copy.
 * source: at::detail::computeStride */
static bool oxi_view_strides(const ox_tensor *x, int ndim, const int64_t *shape, int64_t *stride) {
    if (ox_numel(x) == 0) {
        int64_t step = 1;
        for (int d = ndim - 1; d >= 0; d--) {
            stride[d] = step;
            if (!oxi_mul_i64(step, shape[d] > 0 ? shape[d] : 1, &step)) return false;
        }
        return true;
    }
    int to = ndim - 1;
    int64_t base = x->ndim ? x->stride[x->ndim - 1] : 1, old_count = 1, new_count = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
        old_count *= x->shape[d];
        bool chunk_ends = d == 0 || (x->shape[d - 1] != 1 && x->stride[d - 1] != old_count * base);
        if (!chunk_ends) continue;
        while (to >= 0 && (new_count < old_count || shape[to] == 1)) {
            if (!oxi_mul_i64(new_count, base, &stride[to])) stride[to] = 0; /* of a dim of one element */
            new_count *= shape[to--];
        }
        if (new_count != old_count) return false;
        if (d > 0) {
            base = x->stride[d - 1];
            old_count = new_count = 1;
        }
    }
    while (to >= 0 && shape[to] == 1) stride[to--] = 1;
    return to < 0;
}

OXI_RULE(view) {
    const ox_tensor *x = call->in[0];
    const ox_shape *shape = &call->attr.sizes.shape;
    oxi_view_of(x, out);
    out->ndim = shape->ndim;
    memcpy(out->shape, shape->dim, sizeof out->shape);
    int64_t block = oxi_info(x->dtype)->block_elements;
    bool whole = shape->ndim > 0 && x->ndim > 0 && shape->dim[shape->ndim - 1] % block == 0;
    ox_status status = oxi_check_block_view(call, whole);
    if (status == OX_OK && ox_numel(x) == 0)
        status = oxi_check_shape("view", x->dtype, shape->ndim, shape->dim, NULL);
    if (status == OX_OK && !oxi_view_strides(x, shape->ndim, shape->dim, out->stride))
        status = oxi_fail(OX_ERR_SHAPE, "view: the strides of %s do not allow %s; use reshape",
                          oxi_tensor_text(x), oxi_shape_text(shape->ndim, shape->dim));
    for (int d = 0; d < shape->ndim && whole; d++)
        whole = (out->stride[d] == 1 ? out->shape[d] : out->stride[d]) % block == 0;
    return status == OX_OK ? oxi_check_block_view(call, whole || ox_numel(x) == 0) : status;
}

OXI_RULE(slice) {
    const ox_tensor *x = call->in[0];
    int dim = call->attr.slice.dim;
    int64_t start = call->attr.slice.start, length = call->attr.slice.length, step = call->attr.slice.step;
    int64_t block = oxi_info(x->dtype)->block_elements;
    oxi_view_of(x, out);
    out->shape[dim] = length;
    if (ox_numel(out) > 0) out->offset += start * x->stride[dim];
    if (length > 1) out->stride[dim] = x->stride[dim] * step;
    bool whole_blocks = start % block == 0 && length % block == 0 && step == 1;
    return oxi_check_block_view(call, x->stride[dim] != 1 || whole_blocks);
}

OXI_RULE(select) {
    const ox_tensor *x = call->in[0];
    int dim = call->attr.select.dim;
    oxi_view_of(x, out);
    if (ox_numel(x) > 0) out->offset += call->attr.select.index * x->stride[dim];
    out->ndim--;
    for (int d = dim; d < out->ndim; d++) {
        out->shape[d] = x->shape[d + 1];
        out->stride[d] = x->stride[d + 1];
    }
    return oxi_check_block_view(call, x->stride[dim] != 1 && x->ndim > 1);
}

OXI_RULE(expand) {
    const ox_tensor *x = call->in[0];
    const ox_shape *shape = &call->attr.sizes.shape;
    oxi_view_of(x, out);
    if (shape->ndim < 0 || shape->ndim > OX_MAX_DIMS)
        return oxi_fail(OX_ERR_SHAPE, "expand: more than %d dims", OX_MAX_DIMS);
    if (shape->ndim < x->ndim)
        return oxi_fail(OX_ERR_SHAPE, "expand: %s to %s: fewer dims", oxi_tensor_text(x),
                        oxi_shape_text(shape->ndim, shape->dim));
    out->ndim = shape->ndim;
    for (int d = 0; d < shape->ndim; d++) {
        int from = d - (shape->ndim - x->ndim);
        int64_t old = from >= 0 ? x->shape[from] : 1;
        out->shape[d] = shape->dim[d] == -1 && from >= 0 ? old : shape->dim[d];
        out->stride[d] = from >= 0 && old == out->shape[d] ? x->stride[from] : 0;
        if (out->shape[d] < 0)
            return oxi_fail(OX_ERR_SHAPE, "expand: %s to %s: dim %d has size %lld", oxi_tensor_text(x),
                            oxi_shape_text(shape->ndim, shape->dim), d, (long long)out->shape[d]);
        if (old != out->shape[d] && old != 1)
            return oxi_fail(OX_ERR_SHAPE, "expand: %s to %s: only dims of size 1 grow, not dim %d",
                            oxi_tensor_text(x), oxi_shape_text(shape->ndim, shape->dim), from);
    }
    return oxi_check_shape("expand", out->dtype, out->ndim, out->shape, NULL);
}

/* A copy; the elements of a block stay together. */
OXI_RULE(flip) {
    const ox_tensor *x = call->in[0];
    bool whole = true;
    for (int d = 0; d < x->ndim; d++) whole = whole && !(call->attr.dims.dims >> d & 1 && x->stride[d] == 1);
    oxi_meta(out, x->dtype, x->ndim, x->shape);
    return oxi_check_block_view(call, whole);
}

OXI_RULE(diagonal) {
    const ox_tensor *x = call->in[0];
    int dim1 = call->attr.between.first, dim2 = call->attr.between.second;
    int64_t offset = call->attr.between.offset, length;
    if (dim1 == dim2) return oxi_fail(OX_ERR_DIM, "diagonal: dim %d twice", dim1);
    oxi_view_of(x, out);
    length = offset >= 0
                 ? (x->shape[dim2] - offset < x->shape[dim1] ? x->shape[dim2] - offset : x->shape[dim1])
                 : (x->shape[dim1] + offset < x->shape[dim2] ? x->shape[dim1] + offset : x->shape[dim2]);
    if (length < 0) length = 0;
    if (length > 0 && ox_numel(x) > 0)
        out->offset += offset >= 0 ? offset * x->stride[dim2] : -offset * x->stride[dim1];
    int n = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (d == dim1 || d == dim2) continue;
        out->shape[n] = x->shape[d];
        out->stride[n++] = x->stride[d];
    }
    out->shape[n] = length;
    if (!oxi_add_i64(x->stride[dim1], x->stride[dim2], &out->stride[n])) out->stride[n] = 0; /* none moves */
    out->ndim = n + 1;
    return OX_OK;
}

OXI_RULE(as_strided) {
    const ox_tensor *x = call->in[0];
    const ox_shape *shape = &call->attr.strided.shape, *stride = &call->attr.strided.strides;
    if (shape->ndim < 0 || stride->ndim != shape->ndim)
        return oxi_fail(OX_ERR_SHAPE, "as_strided: %d sizes, but %d strides", shape->ndim, stride->ndim);
    ox_status status = oxi_check_shape("as_strided", x->dtype, shape->ndim, shape->dim, NULL);
    if (status != OX_OK) return status;
    oxi_view_of(x, out);
    out->ndim = shape->ndim;
    out->offset = call->attr.strided.offset;
    int64_t first = out->offset, last = out->offset;
    bool fits = true, empty = false;
    for (int d = 0; d < shape->ndim; d++) {
        int64_t far = 0;
        out->shape[d] = shape->dim[d];
        out->stride[d] = stride->dim[d];
        empty = empty || shape->dim[d] == 0;
        fits = fits &&
               (shape->dim[d] == 0 || (oxi_mul_i64(shape->dim[d] - 1, stride->dim[d], &far) &&
                                       oxi_add_i64(far < 0 ? first : last, far, far < 0 ? &first : &last)));
    }
    int64_t count = (int64_t)(x->storage->bytes / (size_t)oxi_info(x->dtype)->block_bytes);
    if (out->offset < 0 || (!empty && (!fits || first < 0 || last >= count)))
        return oxi_fail(OX_ERR_SHAPE,
                        "as_strided: %s by %s from %lld reaches beyond a storage of %lld elements",
                        oxi_shape_text(shape->ndim, shape->dim), oxi_shape_text(stride->ndim, stride->dim),
                        (long long)out->offset, (long long)count);
    if (empty && out->offset > count) out->offset = count;
    oxi_settle_strides(out);
    return OX_OK;
}

OXI_RULE(unfold) {
    const ox_tensor *x = call->in[0];
    int dim = call->attr.windows.dim;
    int64_t size = call->attr.windows.size, step = call->attr.windows.step;
    int64_t length = x->ndim ? x->shape[dim] : 1;
    if (x->ndim == OX_MAX_DIMS) return oxi_fail(OX_ERR_SHAPE, "unfold: %d dims already", x->ndim);
    if (step < 1 || size < 0 || size > length)
        return oxi_fail(OX_ERR_ARG, "unfold: windows of %lld by steps of %lld along dim %d of %s: %s",
                        (long long)size, (long long)step, dim, oxi_tensor_text(x),
                        step < 1   ? "steps are at least 1"
                        : size < 0 ? "a negative size"
                                   : "the dim is shorter");
    oxi_view_of(x, out);
    int64_t old_stride = x->ndim ? x->stride[dim] : 1;
    if (x->ndim) {
        out->shape[dim] = (length - size) / step + 1;
        if (out->shape[dim] > 1) out->stride[dim] = old_stride * step;
    }
    out->shape[x->ndim] = size;
    out->stride[x->ndim] = old_stride;
    out->ndim = x->ndim + 1;
    return oxi_check_shape("unfold", x->dtype, out->ndim, out->shape, NULL);
}

OXI_RULE(view_as_real) {
    const ox_tensor *x = call->in[0];
    int64_t part = call->attr.part.part;
    if (x->ndim == OX_MAX_DIMS && !part)
        return oxi_fail(OX_ERR_SHAPE, "view_as_real: %d dims already", OX_MAX_DIMS);
    oxi_view_of(x, out);
    out->dtype = OX_F32;
    out->offset = 2 * x->offset + (part == 2);
    for (int d = 0; d < x->ndim; d++) out->stride[d] *= 2;
    if (part) return OX_OK;
    out->shape[x->ndim] = 2;
    out->stride[x->ndim] = 1;
    out->ndim++;
    return OX_OK;
}

OXI_RULE(view_as_complex) {
    const ox_tensor *x = call->in[0];
    int last = x->ndim - 1;
    bool fits =
        x->dtype == OX_F32 && last >= 0 && x->shape[last] == 2 && x->stride[last] == 1 && x->offset % 2 == 0;
    for (int d = 0; fits && d < last; d++) fits = x->stride[d] % 2 == 0;
    if (!fits)
        return oxi_fail(OX_ERR_SHAPE, "view_as_complex: %s is not f32 pairs side by side",
                        oxi_tensor_text(x));
    oxi_view_of(x, out);
    out->dtype = OX_C64;
    out->offset /= 2;
    out->ndim--;
    for (int d = 0; d < last; d++) out->stride[d] /= 2;
    return OX_OK;
}

OXI_RULE(view_dtype) {
    const ox_tensor *x = call->in[0];
    ox_dtype dtype = call->attr.dtype.dtype;
    const ox_dtype_info *from = oxi_info(x->dtype), *to = oxi_info(dtype);
    if (to->cls == OX_CLASS_NONE || to->cls == OX_CLASS_BLOCK || to->block_bytes != from->block_bytes)
        return oxi_fail(OX_ERR_DTYPE, "view_dtype: %s as %s: the widths differ", oxi_tensor_text(x),
                        to->name);
    oxi_view_of(x, out);
    out->dtype = dtype;
    return OX_OK;
}
