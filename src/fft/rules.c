/* Rules of Fourier transforms: along one dim, of which real numbers need half. */

OXI_RULE(fourier) {
    const oxi_attr_fourier *told = &call->attr.fourier;
    const ox_tensor *x = call->in[0];
    int64_t shape[OX_MAX_DIMS], n = x->shape[told->dim], made = n;
    bool real = call->op == OXI_OP_fft_r2c, half = call->op == OXI_OP_fft_c2r;
    if (real) made = n / 2 + 1;
    if (half) made = told->length;
    if (n < 1 || made < 1 || (half && made / 2 + 1 != n))
        return oxi_fail(OX_ERR_SHAPE, "%s: %lld elements along dim %d of %s", oxi_op_name(call),
                        (long long)made, told->dim, oxi_tensor_text(x));
    memcpy(shape, x->shape, sizeof shape);
    shape[told->dim] = made;
    oxi_meta(out, half ? OX_F32 : OX_C64, x->ndim, shape);
    return OX_OK;
}
