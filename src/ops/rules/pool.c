/* Rules of pooling: the last dims of x are an image, the others count images. */

/* What a window is along one dim of an image of `size` elements: places, or 0 where none fits. As torch, a
 * window may begin in what `ceil` adds, but not behind the padding at the end. */
static int64_t oxi_pool_places(const oxi_attr_pool *told, int i, int64_t size) {
    int64_t stride = told->stride.n[i], padding = told->padding.n[i];
    int64_t room = size + 2 * padding - told->dilation.n[i] * (told->kernel.n[i] - 1) - 1;
    if (told->kernel.n[i] == 0) return told->size.n[i];
    if (told->ceil) room += stride - 1;
    if (room < 0) return 0;
    int64_t places = room / stride + 1;
    return told->ceil && (places - 1) * stride >= size + padding ? places - 1 : places;
}

static ox_status oxi_check_pool_numbers(const oxi_call *call) {
    const oxi_attr_pool *told = &call->attr.pool;
    const int64_t most = INT32_MAX;
    for (int i = 0; i < told->dims; i++) {
        int64_t kernel = told->kernel.n[i], stride = told->stride.n[i], padding = told->padding.n[i];
        int64_t dilation = told->dilation.n[i];
        bool known = kernel >= 0 && kernel <= most && stride >= 1 && stride <= most && dilation >= 1 &&
                     dilation <= most && padding >= 0 && padding <= most && told->size.n[i] >= 0;
        if (known && kernel == 0 && (stride != 1 || padding != 0 || dilation != 1)) known = false;
        if (!known)
            return oxi_fail(OX_ERR_ARG, "%s: kernel %lld, stride %lld, padding %lld, dilation %lld",
                            oxi_op_name(call), (long long)kernel, (long long)stride, (long long)padding,
                            (long long)dilation);
        if (padding > (dilation * (kernel - 1) + 1) / 2)
            return oxi_fail(OX_ERR_ARG, "%s: padding %lld is more than half of a window of %lld",
                            oxi_op_name(call), (long long)padding, (long long)(dilation * (kernel - 1) + 1));
    }
    return OX_OK;
}

static ox_status oxi_pool_shape(const oxi_call *call, int64_t *shape) {
    const oxi_attr_pool *told = &call->attr.pool;
    const ox_tensor *x = call->in[0];
    int first = x->ndim - (int)told->dims;
    if (first != 1 && first != 2)
        return oxi_fail(OX_ERR_SHAPE, "%s: %s is not [N,C,..] or [C,..] of %d spatial dims",
                        oxi_op_name(call), oxi_tensor_text(x), (int)told->dims);
    ox_status status = oxi_check_pool_numbers(call);
    for (int d = 0; d < x->ndim && status == OX_OK; d++) {
        shape[d] = d < first ? x->shape[d] : oxi_pool_places(told, d - first, x->shape[d]);
        bool adaptive = d >= first && told->kernel.n[d - first] == 0;
        if (d > 0 && ((d >= first && !adaptive && shape[d] < 1) || x->shape[d] < 1))
            status = oxi_fail(OX_ERR_SHAPE, "%s: no window fits into %s", oxi_op_name(call),
                              oxi_tensor_text(x));
    }
    return status;
}

OXI_RULE(max_pool) {
    int64_t shape[OX_MAX_DIMS];
    ox_status status = oxi_pool_shape(call, shape);
    if (status != OX_OK) return status;
    oxi_meta(&out[0], call->in[0]->dtype, call->in[0]->ndim, shape);
    oxi_meta(&out[1], OX_I64, call->in[0]->ndim, shape);
    return OX_OK;
}

OXI_RULE(avg_pool) {
    int64_t shape[OX_MAX_DIMS];
    ox_status status = oxi_pool_shape(call, shape);
    if (status == OX_OK) oxi_meta(out, call->in[0]->dtype, call->in[0]->ndim, shape);
    return status;
}

/* g has the shape of avg_pool's result for an operand whose spatial dims are attr.pool.size. */
OXI_RULE(avg_pool_back) {
    const oxi_attr_pool *told = &call->attr.pool;
    const ox_tensor *g = call->in[0];
    int first = g->ndim - (int)told->dims;
    int64_t shape[OX_MAX_DIMS];
    if (first != 1 && first != 2)
        return oxi_fail(OX_ERR_SHAPE, "%s: %s is not [N,C,..] or [C,..] of %d spatial dims",
                        oxi_op_name(call), oxi_tensor_text(g), (int)told->dims);
    ox_status status = oxi_check_pool_numbers(call);
    for (int d = 0; d < g->ndim && status == OX_OK; d++) {
        shape[d] = d < first ? g->shape[d] : told->size.n[d - first];
        if (d < first || told->kernel.n[d - first] == 0) continue;
        oxi_attr_pool up = *told;
        up.ceil = true;
        if (oxi_pool_places(told, d - first, shape[d]) != g->shape[d] &&
            oxi_pool_places(&up, d - first, shape[d]) != g->shape[d])
            status = oxi_fail(OX_ERR_SHAPE, "%s: %s is not of windows over %lld elements", oxi_op_name(call),
                              oxi_tensor_text(g), (long long)shape[d]);
    }
    if (status == OX_OK) oxi_meta(out, g->dtype, g->ndim, shape);
    return status;
}
