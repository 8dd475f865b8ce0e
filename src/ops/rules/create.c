/* Rules of tensors that come from shapes and numbers: fill, ranges, random numbers. */

/* The largest finite number of a float dtype. */
static double oxi_dtype_max(ox_dtype dtype) {
    switch (dtype) {
    case OX_F16: return 65504.0;
    case OX_BF16: return 3.3895313892515355e38;
    case OX_F64: return DBL_MAX;
    case OX_F8_E4M3: return 448.0;
    case OX_F8_E5M2: return 57344.0;
    default: return FLT_MAX;
    }
}

/* Whether an end of linspace is a number of this dtype: -0.5 is none of an unsigned one, as in torch. */
static bool oxi_fits_linspace(ox_dtype dtype, double value) {
    if (!oxi_is_int(dtype)) return !isfinite(value) || fabs(value) <= oxi_dtype_max(dtype);
    return value < oxi_integer_end(dtype) && value >= oxi_integer_least(dtype);
}

/* All sets of FILL begin with shape and dtype. */
OXI_RULE(generated) {
    const ox_shape *shape = &call->attr.shape.shape;
    ox_dtype dtype = call->attr.shape.dtype;
    if (shape->ndim < 0)
        return oxi_fail(OX_ERR_SHAPE, "%s: a shape of more than %d dims", oxi_op_name(call), OX_MAX_DIMS);
    ox_status status = oxi_check_shape(oxi_op_name(call), dtype, shape->ndim, shape->dim, NULL);
    if (status != OX_OK) return status;
    if (!(oxi_class_bit(dtype) & oxi_op_row_of(call->op)->accepts))
        return oxi_fail(OX_ERR_DTYPE, "%s: not defined for %s", oxi_op_name(call), ox_dtype_name(dtype));
    oxi_meta(out, dtype, shape->ndim, shape->dim);
    return OX_OK;
}

OXI_RULE(fill) {
    ox_status status = oxi_rule_generated(call, out);
    double value = call->attr.fill.value;
    if (status == OX_OK && oxi_is_int(out->dtype) && !oxi_fits_integer(out->dtype, value))
        return oxi_fail_number(call, OX_ERR_ARG, value, out->dtype);
    return status;
}

OXI_RULE(linspace) {
    ox_status status = oxi_rule_generated(call, out);
    const double ends[2] = {call->attr.ends.start, call->attr.ends.end};
    for (int i = 0; i < 2 && status == OX_OK; i++)
        if (!oxi_fits_linspace(out->dtype, ends[i]))
            return oxi_fail_number(call, OX_ERR_ARG, ends[i], out->dtype);
    return status;
}

OXI_RULE(multinomial) {
    const ox_tensor *x = call->in[0];
    int64_t samples = call->attr.multinomial.samples;
    if (x->ndim < 1) return oxi_fail(OX_ERR_SHAPE, "multinomial: weights need at least one dim");
    if (samples < 1)
        return oxi_fail(OX_ERR_ARG, "multinomial: %lld samples, at least one is needed", (long long)samples);
    if (!call->attr.multinomial.replacement && samples > x->shape[x->ndim - 1])
        return oxi_fail(OX_ERR_ARG, "multinomial: %lld samples without replacement from %s",
                        (long long)samples, oxi_tensor_text(x));
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->ndim - 1] = samples;
    oxi_meta(out, OX_I64, x->ndim, shape);
    return OX_OK;
}
