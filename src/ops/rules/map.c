/* Rules of elementwise operations, and of copies: operands broadcast and are promoted; numbers that torch
 * refuses are refused. */

static ox_status oxi_broadcast(const oxi_call *call, ox_tensor *out, ox_dtype dtype) {
    int64_t shape[OX_MAX_DIMS];
    int ndim = 0;
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && call->in[i]->ndim > ndim) ndim = call->in[i]->ndim;
    for (int d = 0; d < ndim; d++) shape[d] = 1;
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        for (int d = 0; t && d < t->ndim; d++) {
            int64_t *size = &shape[ndim - t->ndim + d];
            if (t->shape[d] == *size || t->shape[d] == 1) continue;
            if (*size != 1)
                return oxi_fail(OX_ERR_SHAPE, "%s: shapes do not broadcast: %s x %s", oxi_op_name(call),
                                oxi_tensor_text(call->in[0]), oxi_tensor_text(t));
            *size = t->shape[d];
        }
    }
    oxi_meta(out, dtype, ndim, shape);
    return OX_OK;
}

/* Smallest and largest number of an integer type, as the doubles that no number of it lies beyond. */
static double oxi_integer_least(ox_dtype dtype) {
    return oxi_is_unsigned(dtype) ? 0 : -ldexp(1.0, 8 * oxi_info(dtype)->block_bytes - 1);
}
static double oxi_integer_end(ox_dtype dtype) { /* one more than the largest */
    return ldexp(1.0, 8 * oxi_info(dtype)->block_bytes - !oxi_is_unsigned(dtype));
}

/* Whether the whole part of a number is one of this integer type; unsigned types take negative ones too,
 * which wrap, as in torch.full. */
static bool oxi_fits_integer(ox_dtype dtype, double value) {
    double whole = trunc(value), end = oxi_integer_end(dtype);
    return whole < end && (oxi_is_unsigned(dtype) ? whole > -end : whole >= oxi_integer_least(dtype));
}

static ox_status oxi_fail_number(const oxi_call *call, ox_status status, double number, ox_dtype dtype) {
    return oxi_fail(status, "%s: %g does not fit %s", oxi_op_name(call), number, ox_dtype_name(dtype));
}

/* A factor of integers: whole where torch wants that, else truncated, as there. Products wrap. */
static ox_status oxi_check_factor(const oxi_call *call, double f, bool whole, ox_dtype dtype) {
    bool fits = oxi_fits_integer(OX_I64, f) && !(whole && f != trunc(f));
    return fits ? OX_OK : oxi_fail_number(call, whole ? OX_ERR_DTYPE : OX_ERR_ARG, f, dtype);
}

/* The factors among a call's numbers, where it computes integers or bool. */
static ox_status oxi_check_factors(const oxi_call *call, ox_dtype dtype) {
    if (dtype != OX_BOOL && !oxi_is_int(dtype)) return OX_OK;
    for (const oxi_attr_member *m = oxi_op_row_of(call->op)->attributes(); m->name; m++) {
        double f;
        if (m->kind != OXI_ATTR_SCALAR && m->kind != OXI_ATTR_FACTOR) continue;
        memcpy(&f, oxi_attr_at(&call->attr, m), sizeof f);
        ox_status status = oxi_check_factor(call, f, m->kind == OXI_ATTR_SCALAR, dtype);
        if (status != OX_OK) return status;
    }
    return OX_OK;
}

OXI_RULE(map) {
    ox_dtype dtype;
    ox_status status = oxi_promoted(call, &dtype);
    if (status == OX_OK && !(oxi_class_bit(dtype) & oxi_op_row_of(call->op)->accepts))
        status = oxi_fail(OX_ERR_DTYPE, "%s: not defined for %s", oxi_op_name(call), ox_dtype_name(dtype));
    if (status == OX_OK) status = oxi_check_factors(call, dtype);
    return status == OX_OK ? oxi_broadcast(call, out, oxi_given_dtype(call, dtype)) : status;
}

/* Results of one shape. */
OXI_RULE(chain) {
    const oxi_attr_chain *told = &call->attr.chain;
    const oxi_chain *program = told->program;
    const ox_dtype given[OXI_MAX_OUT] = {told->dtype, told->dtype_2, told->dtype_3, told->dtype_4};
    ox_dtype dtype;
    if (!program || call->in_count != program->operand_count || call->out_count != program->result_count)
        return oxi_fail(OX_ERR_ARG, "chain: %d operands, %d results are not what its program has",
                        call->in_count, call->out_count);
    for (int i = 0; i < call->in_count; i++)
        if (!call->in[i] || ((program->conditions >> i & 1) && call->in[i]->dtype != OX_BOOL))
            return oxi_fail(OX_ERR_DTYPE, "chain: operand %d is not a condition", i + 1);
    ox_status status = oxi_promoted(call, &dtype);
    if (status == OX_OK && oxi_info(dtype)->cls != OX_CLASS_FLOAT)
        status = oxi_fail(OX_ERR_DTYPE, "chain: not defined for %s", ox_dtype_name(dtype));
    for (int i = 0; i < call->out_count && status == OX_OK; i++) {
        ox_dtype result = given[i] ? given[i] : dtype;
        if (oxi_info(result)->cls != OX_CLASS_FLOAT)
            return oxi_fail(OX_ERR_DTYPE, "chain: results are no %s", ox_dtype_name(result));
        status = oxi_broadcast(call, &out[i], result);
    }
    return status;
}

/* ---- elementwise ops that torch refuses some numbers ---- */

OXI_RULE(map_celu) {
    if (call->attr.alpha.alpha == 0) return oxi_fail(OX_ERR_ARG, "celu: alpha is 0");
    return oxi_rule_map(call, out);
}
/* Bounds of integers: whole ones for clamp, truncated for hardtanh, as in torch. One that lies beyond the
 * type's other end bounds nothing; one that leaves no number of the type is refused, as there. */
static ox_status oxi_check_bounds(const oxi_call *call, ox_dtype dtype, bool whole) {
    const double bounds[2] = {call->attr.range.low, call->attr.range.high};
    for (int i = 0; i < 2 && oxi_is_int(dtype); i++) {
        double f = bounds[i];
        if (isnan(f) || (whole && !isinf(f) && f != trunc(f)))
            return oxi_fail_number(call, OX_ERR_DTYPE, f, dtype);
        if (i == 0 ? trunc(f) >= oxi_integer_end(dtype) : trunc(f) < oxi_integer_least(dtype))
            return oxi_fail_number(call, OX_ERR_ARG, f, dtype);
    }
    return OX_OK;
}

OXI_RULE(map_clamp) {
    ox_status status = oxi_rule_map(call, out);
    return status == OX_OK ? oxi_check_bounds(call, out->dtype, true) : status;
}
OXI_RULE(map_hardtanh) {
    const oxi_attr_range *range = &call->attr.range;
    ox_status status = oxi_rule_map(call, out);
    if (status == OX_OK) status = oxi_check_bounds(call, out->dtype, false);
    if (status == OX_OK && range->low > range->high)
        return oxi_fail(OX_ERR_ARG, "hardtanh: low %g is above high %g", range->low, range->high);
    return status;
}
OXI_RULE(map_threshold) {
    const oxi_attr_threshold *told = &call->attr.threshold;
    ox_status status = oxi_rule_map(call, out);
    if (status != OX_OK || !oxi_is_int(out->dtype)) return status;
    if (isnan(told->threshold)) return oxi_fail_number(call, OX_ERR_ARG, told->threshold, out->dtype);
    bool fits = oxi_fits_integer(out->dtype, told->value);
    return fits ? OX_OK : oxi_fail_number(call, OX_ERR_ARG, told->value, out->dtype);
}
/* Integers to a power that is a negative number; a tensor of such exponents gives 0, 1 and -1. */
OXI_RULE(map_pow) {
    const ox_tensor *power = call->in[1];
    ox_status status = oxi_rule_map(call, out);
    bool known = power->is_number && power->dtype == OX_I64 && ox_device_of(power)->host;
    if (status != OX_OK || !known || !oxi_is_int(out->dtype)) return status;
    int64_t number = oxi_element_to_i64(OX_I64, oxi_ptr(power));
    return number >= 0 ? OX_OK
                       : oxi_fail(OX_ERR_ARG, "pow: integers to a negative power, %lld", (long long)number);
}
/* The size of a complex number is no complex number, and cannot take its place. */
OXI_RULE(map_abs) {
    if (call->out[0] && call->in[0]->dtype == OX_C64)
        return oxi_fail(OX_ERR_DTYPE, "abs_: the result of %s is f32", oxi_tensor_text(call->in[0]));
    return oxi_rule_map(call, out);
}
/* torch refuses tensors of different dtypes here, unlike elsewhere; a weight without dims is a number. */
OXI_RULE(map_lerp) {
    for (int i = 1; i < call->in_count; i++)
        if (call->in[i]->dtype != call->in[0]->dtype && (i == 1 || call->in[i]->ndim > 0))
            return oxi_fail(OX_ERR_DTYPE, "lerp: operands of different dtypes: %s x %s",
                            oxi_tensor_text(call->in[0]), oxi_tensor_text(call->in[i]));
    return oxi_rule_map(call, out);
}
/* torch: "subtraction with a bool tensor is not supported", whatever the other operand is. */
OXI_RULE(map_sub) {
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i]->dtype == OX_BOOL)
            return oxi_fail(OX_ERR_DTYPE, "sub: not defined for %s", oxi_tensor_text(call->in[i]));
    return oxi_rule_map(call, out);
}

OXI_RULE(map_bounded) {
    if (!call->in[1] && !call->in[2]) return oxi_fail(OX_ERR_ARG, "clamp_tensor: no bound is given");
    for (int i = 1; i < call->in_count; i++)
        if (call->in[i] && !(oxi_class_bit(call->in[i]->dtype) & oxi_op_row_of(call->op)->accepts))
            return oxi_fail(OX_ERR_DTYPE, "clamp_tensor: not defined for %s", oxi_tensor_text(call->in[i]));
    return oxi_rule_map(call, out);
}

OXI_RULE(map_where) {
    if (call->in[0]->dtype != OX_BOOL)
        return oxi_fail(OX_ERR_DTYPE, "where: the condition is %s, not bool", oxi_tensor_text(call->in[0]));
    return oxi_rule_map(call, out);
}

OXI_RULE(copy) {
    const ox_tensor *x = call->in[0];
    ox_dtype dtype = call->attr.dtype.dtype ? call->attr.dtype.dtype : x->dtype;
    if (call->out[0]) { /* copy_: the source broadcasts to the destination */
        const ox_tensor *to = call->out[0];
        bool fits = x->ndim <= to->ndim;
        for (int d = 0; fits && d < x->ndim; d++)
            fits = x->shape[d] == 1 || x->shape[d] == to->shape[to->ndim - x->ndim + d];
        if (!fits)
            return oxi_fail(OX_ERR_SHAPE, "copy_: %s does not broadcast to %s", oxi_tensor_text(x),
                            oxi_tensor_text(to));
        dtype = to->dtype;
        oxi_meta(out, dtype, to->ndim, to->shape);
    } else {
        oxi_meta(out, dtype, x->ndim, x->shape);
    }
    if (oxi_is_block(dtype) && !oxi_is_float(x->dtype) && !oxi_is_block(x->dtype))
        return oxi_fail(OX_ERR_DTYPE, "copy: floats are quantized to %s, not %s", ox_dtype_name(dtype),
                        oxi_tensor_text(x));
    if (oxi_is_block(x->dtype) && !oxi_is_float(dtype) && !oxi_is_block(dtype))
        return oxi_fail(OX_ERR_DTYPE, "copy: %s expands to floats only, not to %s", oxi_tensor_text(x),
                        ox_dtype_name(dtype));
    return oxi_check_shape("copy", dtype, out->ndim, out->shape, NULL);
}
