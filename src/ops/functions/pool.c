/* The public functions of pooling. */

/* What a function is told, as the attributes of a row; ceil and the rest are the caller's. An empty stride is
 * the kernel. */
static bool oxi_pool_told(const char *name, int dims, ox_shape kernel, ox_shape stride, ox_shape padding,
                          ox_shape dilation, oxi_attr_pool *told) {
    told->dims = dims;
    if (kernel.ndim == 0) {
        (void)oxi_fail(OX_ERR_ARG, "%s: no size of a kernel", name);
        return false;
    }
    if (!oxi_span_of(name, "kernel", kernel, dims, &told->kernel)) return false;
    told->stride = told->kernel;
    for (int d = 0; d < dims; d++) {
        if (told->kernel.n[d] >= 1) continue;
        (void)oxi_fail(OX_ERR_ARG, "%s: a kernel of %lld elements", name, (long long)told->kernel.n[d]);
        return false;
    }
    return oxi_span_of(name, "stride", stride, dims, &told->stride) &&
           oxi_span_of(name, "padding", padding, dims, &told->padding) &&
           oxi_span_of(name, "dilation", dilation, dims, &told->dilation);
}

/* Windows that cover the image evenly. */
static bool oxi_pool_adaptive(const char *name, int dims, ox_shape size, oxi_attr_pool *told) {
    told->dims = dims;
    if (size.ndim == 0) {
        (void)oxi_fail(OX_ERR_ARG, "%s: no size of a result", name);
        return false;
    }
    return oxi_span_of(name, "size", size, dims, &told->size);
}

static ox_pair oxi_max_pool(const char *name, oxi_attrs *attr, ox_tensor *x) {
    ox_pair pair = {NULL, NULL};
    oxi_call call = oxi_call_of(OXI_OP_max_pool, &x, 1, NULL);
    call.out_count = 2;
    call.attr = *attr;
    call.name = name;
    if (oxi_apply(&call) != OX_OK) return pair;
    pair.values = call.out[0];
    pair.indices = call.out[1];
    return pair;
}

static ox_pair oxi_max_pool_windows(const char *name, int dims, ox_tensor *x, ox_shape kernel,
                                    ox_shape stride, ox_shape padding, ox_shape dilation, bool ceil) {
    ox_pair none = {NULL, NULL};
    oxi_attrs attr = oxi_attrs_pool();
    if (oxi_any_null(name, &x, 1)) return none;
    attr.pool.ceil = ceil;
    bool told = oxi_pool_told(name, dims, kernel, stride, padding, dilation, &attr.pool);
    return told ? oxi_max_pool(name, &attr, x) : none;
}

static ox_tensor *oxi_avg_pool(const char *name, int dims, ox_tensor *x, ox_shape kernel, ox_shape stride,
                               ox_shape padding, bool ceil, bool include_pad, int64_t divisor) {
    oxi_attrs attr = oxi_attrs_pool();
    if (oxi_any_null(name, &x, 1)) return NULL;
    attr.pool.ceil = ceil;
    attr.pool.include_pad = include_pad;
    attr.pool.divisor = divisor;
    bool told = oxi_pool_told(name, dims, kernel, stride, padding, OX_SCALAR_SHAPE, &attr.pool);
    return told ? oxi_apply_as(name, OXI_OP_avg_pool, &attr, &x, 1, NULL) : NULL;
}

#define OXI_X(dims)                                                                                      \
    OX_API ox_pair ox_max_pool##dims##d_with_indices(ox_tensor *x, ox_shape kernel, ox_shape stride,     \
                                                  ox_shape padding, ox_shape dilation, bool ceil) {      \
        return oxi_max_pool_windows("max_pool" #dims "d_with_indices", dims, x, kernel, stride, padding, \
                                    dilation, ceil);                                                     \
    }                                                                                                    \
    OX_API ox_tensor *ox_max_pool##dims##d(ox_tensor *x, ox_shape kernel, ox_shape stride,               \
                                           ox_shape padding, ox_shape dilation, bool ceil) {             \
        ox_pair pair = oxi_max_pool_windows("max_pool" #dims "d", dims, x, kernel, stride, padding,      \
                                            dilation, ceil);                                             \
        ox_release(pair.indices);                                                                        \
        return pair.values;                                                                              \
    }                                                                                                    \
    OX_API ox_tensor *ox_avg_pool##dims##d(ox_tensor *x, ox_shape kernel, ox_shape stride,               \
                                           ox_shape padding, bool ceil, bool include_pad,                \
                                           int64_t divisor) {                                            \
        return oxi_avg_pool("avg_pool" #dims "d", dims, x, kernel, stride, padding, ceil, include_pad,   \
                            divisor);                                                                    \
    }                                                                                                    \
    OX_API ox_pair ox_adaptive_max_pool##dims##d(ox_tensor *x, ox_shape size) {                          \
        ox_pair none = {NULL, NULL};                                                                     \
        oxi_attrs attr = oxi_attrs_pool();                                                               \
        if (oxi_any_null("adaptive_max_pool" #dims "d", &x, 1) ||                                        \
            !oxi_pool_adaptive("adaptive_max_pool" #dims "d", dims, size, &attr.pool))                   \
            return none;                                                                                 \
        return oxi_max_pool("adaptive_max_pool" #dims "d", &attr, x);                                    \
    }                                                                                                    \
    OX_API ox_tensor *ox_adaptive_avg_pool##dims##d(ox_tensor *x, ox_shape size) {                       \
        oxi_attrs attr = oxi_attrs_pool();                                                               \
        if (oxi_any_null("adaptive_avg_pool" #dims "d", &x, 1) ||                                        \
            !oxi_pool_adaptive("adaptive_avg_pool" #dims "d", dims, size, &attr.pool))                   \
            return NULL;                                                                                 \
        return oxi_apply_as("adaptive_avg_pool" #dims "d", OXI_OP_avg_pool, &attr, &x, 1, NULL);         \
    }
OXI_X(1) OXI_X(2) OXI_X(3)
#undef OXI_X

OX_API ox_tensor *ox_avg_pool_back(ox_tensor *g, ox_shape size, ox_shape kernel, ox_shape stride,
                                   ox_shape padding, bool ceil, bool include_pad, int64_t divisor) {
    const char *name = "avg_pool_back";
    oxi_attrs attr = oxi_attrs_pool();
    if (oxi_any_null(name, &g, 1)) return NULL;
    if (size.ndim < 1 || size.ndim > 3)
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: %d sizes of an operand", name, size.ndim);
    attr.pool.ceil = ceil;
    attr.pool.include_pad = include_pad;
    attr.pool.divisor = divisor;
    if (!oxi_pool_adaptive(name, size.ndim, size, &attr.pool)) return NULL;
    if (kernel.ndim > 0 &&
        !oxi_pool_told(name, size.ndim, kernel, stride, padding, OX_SCALAR_SHAPE, &attr.pool))
        return NULL;
    return oxi_apply_list(OXI_OP_avg_pool_back, &attr, &g, 1, NULL);
}
