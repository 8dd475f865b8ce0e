/* The public functions of convolutions. */

/* The numbers of a desc; `name` is the function. */
static bool oxi_conv_told(const char *name, const ox_conv_desc *desc, int dims, oxi_attr_conv *told) {
    if (!desc) return true;
    if (desc->groups) told->groups = desc->groups;
    return oxi_span_of(name, "stride", desc->stride, dims, &told->stride) &&
           oxi_span_of(name, "padding", desc->padding, dims, &told->padding) &&
           oxi_span_of(name, "dilation", desc->dilation, dims, &told->dilation);
}

/* Zeros that keep the size: dilation (kernel - 1) of them, the odd one behind. */
static bool oxi_conv_keeps_size(const char *name, const ox_tensor *weight, int dims, oxi_attr_conv *told) {
    for (int d = 0; d < dims && d + 2 < weight->ndim; d++) {
        int64_t kernel = weight->shape[2 + d], dilation = told->dilation.n[d];
        bool fits = kernel >= 1 && kernel <= INT32_MAX && dilation >= 1 && dilation <= INT32_MAX;
        int64_t zeros = fits ? dilation * (kernel - 1) : INT64_MAX;
        if (told->stride.n[d] != 1 || zeros / 2 > INT32_MAX) {
            (void)oxi_fail(OX_ERR_ARG, "%s: padding \"same\" of stride %lld, dilation %lld", name,
                           (long long)told->stride.n[d], (long long)dilation);
            return false;
        }
        told->padding.n[d] = zeros / 2;
        told->size.n[d] = zeros % 2;
    }
    return true;
}

/* A call over x, or over one sample of it that has no dim for samples. */
static ox_tensor *oxi_conv_call(const char *name, oxi_op op, const oxi_attrs *attr, ox_tensor *const *in,
                                int dims) {
    if (in[0]->ndim != dims + 1 && in[0]->ndim != dims + 2)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "%s: x %s is not [N,C,..] or [C,..] of %d spatial dims", name,
                             oxi_tensor_text(in[0]), dims);
    if (in[1]->ndim != dims + 2)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "%s: weight %s has not %d spatial dims", name,
                             oxi_tensor_text(in[1]), dims);
    if (in[0]->ndim == dims + 2) return oxi_apply_as(name, op, attr, in, 3, NULL);
    oxi_work work = oxi_work_begin(name);
    ox_tensor *one[3] = {ox_unsqueeze(in[0], 0), in[1], in[2]};
    ox_tensor *y = one[0] ? oxi_apply_as(name, op, attr, one, 3, NULL) : NULL;
    return oxi_work_end(&work, ox_squeeze(y, 0));
}

static ox_tensor *oxi_convolve(const char *name, int dims, ox_tensor *x, ox_tensor *weight, ox_tensor *bias,
                               const ox_conv_desc *desc) {
    ox_tensor *in[3] = {x, weight, bias};
    oxi_attrs attr = oxi_attrs_conv();
    ox_conv_desc own;
    if (oxi_any_null(name, in, 2)) return NULL;
    bool same = desc && desc->padding.ndim == 1 && desc->padding.dim[0] == OX_PADDING_SAME;
    if (same) {
        own = *desc;
        own.padding = OX_SCALAR_SHAPE;
        desc = &own;
    }
    if (!oxi_conv_told(name, desc, dims, &attr.conv)) return NULL;
    if (same && !oxi_conv_keeps_size(name, weight, dims, &attr.conv)) return NULL;
    return oxi_conv_call(name, OXI_OP_conv, &attr, in, dims);
}

#define OXI_X(dims)                                                                      \
    OX_API ox_tensor *ox_conv##dims##d(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, \
                                       const ox_conv_desc *desc) {                       \
        return oxi_convolve("conv" #dims "d", dims, x, weight, bias, desc);              \
    }
OXI_X(1) OXI_X(2) OXI_X(3)
#undef OXI_X

/* ---- transposed ---------------------------------------------------------------------------------------- */

/* (in - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1 of each spatial dim. */
static bool oxi_conv_transposed_size(const char *name, const ox_tensor *x, const ox_tensor *weight, int dims,
                                     const oxi_span *more, oxi_attr_conv *told) {
    for (int d = 0; d < dims && weight->ndim == dims + 2; d++) {
        const int64_t most = INT32_MAX, in = x->shape[x->ndim - dims + d], kernel = weight->shape[2 + d],
                      stride = told->stride.n[d], dilation = told->dilation.n[d],
                      padding = told->padding.n[d];
        bool known = stride >= 1 && stride <= most && dilation >= 1 && dilation <= most && padding >= 0 &&
                     padding <= most && kernel <= most && in <= INT64_MAX / 8 / stride;
        if (known && (more->n[d] < 0 || (more->n[d] >= stride && more->n[d] >= dilation))) {
            (void)oxi_fail(OX_ERR_ARG, "%s: output padding %lld is not below stride %lld or dilation %lld",
                           name, (long long)more->n[d], (long long)stride, (long long)dilation);
            return false;
        }
        int64_t size = known ? (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + more->n[d] + 1 : 1;
        if (!known || size >= 1) { /* the rule has words for the others */
            told->size.n[d] = size;
            continue;
        }
        (void)oxi_fail(OX_ERR_SHAPE, "%s: %s and weight %s leave %lld elements of a result", name,
                       oxi_tensor_text(x), oxi_tensor_text(weight), (long long)size);
        return false;
    }
    return true;
}

static ox_tensor *oxi_convolve_transposed(const char *name, int dims, ox_tensor *x, ox_tensor *weight,
                                          ox_tensor *bias, const ox_conv_transpose_desc *desc) {
    ox_tensor *in[3] = {x, weight, bias};
    oxi_attrs attr = oxi_attrs_conv();
    oxi_span more = attr.conv.padding;
    ox_conv_desc plain;
    if (oxi_any_null(name, in, 2)) return NULL;
    if (desc) {
        plain.stride = desc->stride;
        plain.padding = desc->padding;
        plain.dilation = desc->dilation;
        plain.groups = desc->groups;
        if (!oxi_span_of(name, "output padding", desc->output_padding, dims, &more) ||
            !oxi_conv_told(name, &plain, dims, &attr.conv))
            return NULL;
    }
    if (x->ndim >= dims && !oxi_conv_transposed_size(name, x, weight, dims, &more, &attr.conv)) return NULL;
    return oxi_conv_call(name, OXI_OP_conv_back_input, &attr, in, dims);
}

#define OXI_X(dims)                                                                                \
    OX_API ox_tensor *ox_conv_transpose##dims##d(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, \
                                                 const ox_conv_transpose_desc *desc) {             \
        return oxi_convolve_transposed("conv_transpose" #dims "d", dims, x, weight, bias, desc);   \
    }
OXI_X(1) OXI_X(2) OXI_X(3)
#undef OXI_X

/* ---- back ---------------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_conv_back_weight(ox_tensor *g, ox_tensor *x, ox_shape size, const ox_conv_desc *desc) {
    const char *name = "conv_back_weight";
    ox_tensor *in[2] = {g, x};
    oxi_attrs attr = oxi_attrs_conv();
    if (oxi_any_null(name, in, 2)) return NULL;
    if (size.ndim < 1 || size.ndim > 3 || size.ndim != g->ndim - 2)
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: %d sizes of a kernel for %s", name, size.ndim,
                             oxi_tensor_text(g));
    for (int d = 0; d < size.ndim; d++) attr.conv.size.n[d] = size.dim[d];
    if (!oxi_conv_told(name, desc, size.ndim, &attr.conv)) return NULL;
    return oxi_apply_list(OXI_OP_conv_back_weight, &attr, in, 2, NULL);
}
