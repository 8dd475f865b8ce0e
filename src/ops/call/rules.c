/* Shape and type rules: what a call's results are, or why it is refused.
 * A rule fills one header (no storage) per result; a VIEW rule also fills strides and offset.
 * Named by the rows of ops.def, called by oxi_apply only. */

#define OXI_RULE(name) static ox_status oxi_rule_##name(const oxi_call *call, ox_tensor *out)
static const char *oxi_op_name(const oxi_call *call) {
    return oxi_op_row_of(call->op)->name;
}

/* The OXI_ACCEPT_ bit of a dtype's class. */
static unsigned oxi_class_bit(ox_dtype dtype) {
    static const unsigned bits[] = {0, OXI_ACCEPT_B, OXI_ACCEPT_I, OXI_ACCEPT_F, OXI_ACCEPT_C, OXI_ACCEPT_Q};
    return bits[ox_dtype_get_info(dtype)->cls];
}

/* ---- promotion: torch.result_type ---------------------------------------------------------------------- */

/* One dtype of the stronger group (more dims) with one of a weaker group, which counts by category only. */
static ox_dtype oxi_combine_groups(ox_dtype strong, ox_dtype weak) {
    if (strong == OX_DTYPE_NONE) return weak;
    if (weak == OX_DTYPE_NONE) return strong;
    ox_dtype_class cs = ox_dtype_get_info(strong)->cls, cw = ox_dtype_get_info(weak)->cls;
    if (cs >= cw) {
        if (cs == OX_CLASS_BOOL && cw == OX_CLASS_INT) return weak;
        return strong;
    }
    /* Complex takes the width of a float with dims, and there is only one width of complex here. */
    if (cw == OX_CLASS_COMPLEX && cs == OX_CLASS_FLOAT && strong != OX_F32) return OX_DTYPE_NONE;
    if (cw == OX_CLASS_COMPLEX && cs == OX_CLASS_INT) return weak;
    return cw == OX_CLASS_COMPLEX || cs == OX_CLASS_BOOL || cw == OX_CLASS_FLOAT
               ? ox_promote_types(strong, weak)
               : strong;
}

/* Promotes operands [first, in_count); *refused names a pair with no common dtype. */
static ox_dtype oxi_result_type(const oxi_call *call, int first, const ox_tensor **refused) {
    ox_dtype group[3] = {OX_DTYPE_NONE, OX_DTYPE_NONE, OX_DTYPE_NONE}; /* with dims, 0-dim, numbers */
    for (int i = first; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        if (!t) continue;
        int g = t->is_number ? 2 : t->ndim == 0 ? 1 : 0;
        ox_dtype dtype = t->is_number && t->dtype == OX_F64 ? OX_F32 : t->dtype;
        ox_dtype joined = group[g] ? ox_promote_types(group[g], dtype) : dtype;
        if (!joined) {
            *refused = t;
            return OX_DTYPE_NONE;
        }
        group[g] = joined;
    }
    return oxi_combine_groups(group[0], oxi_combine_groups(group[1], group[2]));
}

static int oxi_first_valued_operand(const oxi_call *call) {
    return oxi_op_row_of(call->op)->flag == OXI_FLAG_MASKED ? 1 : 0;
}

/* What a call whose operands promote to `dtype` computes in. */
static ox_dtype oxi_computed_in(const oxi_call *call, ox_dtype dtype) {
    bool wants_float = oxi_op_row_of(call->op)->gives == OXI_GIVES_FLOAT;
    return wants_float && ox_dtype_get_info(dtype)->cls < OX_CLASS_FLOAT && dtype ? OX_F32 : dtype;
}

/* What a call that computes in `dtype` gives. */
static ox_dtype oxi_given_dtype(const oxi_call *call, ox_dtype dtype) {
    switch (oxi_op_row_of(call->op)->gives) {
    case OXI_GIVES_REAL: return dtype == OX_C64 ? OX_F32 : dtype;
    case OXI_GIVES_BOOL: return OX_BOOL;
    case OXI_GIVES_TRUTH: return dtype == OX_U8 ? OX_U8 : OX_BOOL;
    case OXI_GIVES_INDEX: return OX_I64;
    case OXI_GIVES_TOTAL: return oxi_is_int(dtype) || dtype == OX_BOOL ? OX_I64 : dtype;
    default: return dtype;
    }
}

static ox_dtype oxi_compute_dtype(const oxi_call *call) {
    const ox_tensor *refused = NULL;
    return oxi_computed_in(call, oxi_result_type(call, oxi_first_valued_operand(call), &refused));
}

static ox_status oxi_promoted(const oxi_call *call, ox_dtype *out) {
    const ox_tensor *refused = NULL;
    int first = oxi_first_valued_operand(call);
    *out = oxi_result_type(call, first, &refused);
    if (!*out)
        return oxi_fail(OX_ERR_DTYPE, "%s: %s and %s have no common dtype", oxi_op_name(call),
                        oxi_tensor_text(call->in[first]),
                        oxi_tensor_text(refused ? refused : call->in[call->in_count - 1]));
    *out = oxi_computed_in(call, *out);
    return OX_OK;
}

/* ---- elementwise --------------------------------------------------------------------------------------- */

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
    return oxi_is_unsigned(dtype) ? 0 : -ldexp(1.0, 8 * ox_dtype_get_info(dtype)->block_bytes - 1);
}
static double oxi_integer_end(ox_dtype dtype) { /* one more than the largest */
    return ldexp(1.0, 8 * ox_dtype_get_info(dtype)->block_bytes - !oxi_is_unsigned(dtype));
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
OXI_RULE(made) {
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
    ox_status status = oxi_rule_made(call, out);
    double value = call->attr.fill.value;
    if (status == OX_OK && oxi_is_int(out->dtype) && !oxi_fits_integer(out->dtype, value))
        return oxi_fail_number(call, OX_ERR_ARG, value, out->dtype);
    return status;
}

OXI_RULE(linspace) {
    ox_status status = oxi_rule_made(call, out);
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

/* ---- reductions ---------------------------------------------------------------------------------------- */

static ox_status oxi_reduced(const oxi_call *call, ox_tensor *out, ox_dtype dtype) {
    const ox_tensor *x = call->in[0];
    int64_t shape[OX_MAX_DIMS];
    int ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        bool goes = call->attr.reduce.dims >> d & 1;
        if (!goes)
            shape[ndim++] = x->shape[d];
        else if (call->attr.reduce.keepdim)
            shape[ndim++] = 1;
    }
    oxi_meta(out, dtype, ndim, shape);
    return OX_OK;
}

/* Reductions that have no value for no elements. */
static ox_status oxi_check_not_empty(const oxi_call *call) {
    const ox_tensor *x = call->in[0];
    for (int d = 0; d < x->ndim; d++)
        if (call->attr.reduce.dims >> d & 1 && x->shape[d] == 0)
            return oxi_fail(OX_ERR_SHAPE, "%s: no elements along dim %d of %s", oxi_op_name(call), d,
                            oxi_tensor_text(x));
    return OX_OK;
}

/* Values; of ops with two results also their places. */
OXI_RULE(reduce) {
    const oxi_op_row *row = oxi_op_row_of(call->op);
    ox_status status = row->flag == OXI_FLAG_NONEMPTY ? oxi_check_not_empty(call) : OX_OK;
    if (status != OX_OK) return status;
    if (row->operands->out_count > 1) oxi_reduced(call, &out[1], OX_I64);
    return oxi_reduced(call, out, oxi_given_dtype(call, oxi_compute_dtype(call)));
}

OXI_RULE(reduce_norm) {
    double p = call->attr.power.p;
    bool has_identity = p >= 0 && !isinf(p);
    ox_status status = has_identity ? OX_OK : oxi_check_not_empty(call);
    return status == OX_OK ? oxi_rule_reduce(call, out) : status;
}

OXI_RULE(scan) {
    const ox_tensor *x = call->in[0];
    oxi_meta(out, call->out[0] ? x->dtype : oxi_given_dtype(call, x->dtype), x->ndim, x->shape);
    return OX_OK;
}

OXI_RULE(sort) {
    const ox_tensor *x = call->in[0];
    oxi_meta(&out[0], x->dtype, x->ndim, x->shape);
    oxi_meta(&out[1], OX_I64, x->ndim, x->shape);
    return OX_OK;
}

OXI_RULE(topk) {
    const ox_tensor *x = call->in[0];
    int dim = call->attr.topk.dim;
    int64_t k = call->attr.topk.k, size = x->ndim ? x->shape[dim] : 1;
    if (k < 0 || k > size)
        return oxi_fail(OX_ERR_ARG, "topk: k = %lld, there are %lld along dim %d of %s", (long long)k,
                        (long long)size, dim, oxi_tensor_text(x));
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    if (x->ndim) shape[dim] = k;
    oxi_meta(&out[0], x->dtype, x->ndim, shape);
    oxi_meta(&out[1], OX_I64, x->ndim, shape);
    return OX_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

OXI_RULE(row) {
    oxi_meta(out, call->in[0]->dtype, call->in[0]->ndim, call->in[0]->shape);
    return OX_OK;
}

/* f16, bf16 and f32 may meet in weights; f64 meets only its own. */
static ox_status oxi_check_weight_dtype(const oxi_call *call, const ox_tensor *x, const ox_tensor *w) {
    if (!w || (x->dtype == OX_F64) == (w->dtype == OX_F64)) return OX_OK;
    return oxi_fail(OX_ERR_DTYPE, "%s: operands of different dtypes: %s x %s", oxi_op_name(call),
                    oxi_tensor_text(x), oxi_tensor_text(w));
}

OXI_RULE(norm_rows) {
    const ox_tensor *x = call->in[0];
    int64_t last = call->attr.norm.last_dims;
    if (last < 1 || last > x->ndim)
        return oxi_fail(OX_ERR_DIM, "%s: %s has no last %lld dims", oxi_op_name(call), oxi_tensor_text(x),
                        (long long)last);
    for (int i = 1; i < call->in_count; i++) {
        const ox_tensor *w = call->in[i];
        bool fits = !w || (w->ndim == last && oxi_is_float(w->dtype));
        for (int d = 0; w && fits && d < (int)last; d++)
            fits = w->shape[d] == x->shape[x->ndim - (int)last + d];
        if (!fits)
            return oxi_fail(OX_ERR_SHAPE, "%s: %s %s does not fit the last %lld dims of %s",
                            oxi_op_name(call), i == 1 ? "weight" : "bias", oxi_tensor_text(w),
                            (long long)last, oxi_tensor_text(x));
        ox_status status = oxi_check_weight_dtype(call, x, w);
        if (status != OX_OK) return status;
    }
    return oxi_rule_row(call, out);
}

OXI_RULE(group_norm) {
    const ox_tensor *x = call->in[0];
    int64_t groups = call->attr.groups.groups;
    if (x->ndim < 2) return oxi_fail(OX_ERR_SHAPE, "%s: %s has no channel dim", oxi_op_name(call),
                                     oxi_tensor_text(x));
    if (groups < 1 || x->shape[1] % groups)
        return oxi_fail(OX_ERR_SHAPE, "%s: %lld channels do not fall into %lld groups",
                        oxi_op_name(call), (long long)x->shape[1], (long long)groups);
    for (int i = 1; i < call->in_count; i++) {
        const ox_tensor *w = call->in[i];
        if (w && (w->ndim != 1 || w->shape[0] != x->shape[1] || !oxi_is_float(w->dtype)))
            return oxi_fail(OX_ERR_SHAPE, "%s: %s does not fit the %lld channels of %s", oxi_op_name(call),
                            oxi_tensor_text(w), (long long)x->shape[1], oxi_tensor_text(x));
        ox_status status = oxi_check_weight_dtype(call, x, w);
        if (status != OX_OK) return status;
    }
    return oxi_rule_row(call, out);
}

/* ---- index --------------------------------------------------------------------------------------------- */

static ox_status oxi_check_index(const oxi_call *call, const ox_tensor *index) {
    if (index->dtype == OX_I64 || index->dtype == OX_I32) return OX_OK;
    return oxi_fail(OX_ERR_DTYPE, "%s: indices are %s, not i64 or i32", oxi_op_name(call),
                    oxi_tensor_text(index));
}

static ox_status oxi_fail_fit(const oxi_call *call, const ox_tensor *part) {
    return oxi_fail(OX_ERR_SHAPE, "%s: %s does not fit %s along dim %d", oxi_op_name(call),
                    oxi_tensor_text(part), oxi_tensor_text(call->in[0]), call->attr.along.dim);
}

/* part may not reach beyond whole in any dim but `dim`. */
static bool oxi_fits_beside(const ox_tensor *part, const ox_tensor *whole, int dim) {
    int np = part->ndim ? part->ndim : 1, nw = whole->ndim ? whole->ndim : 1;
    if (np != nw) return false;
    for (int d = 0; d < part->ndim; d++)
        if (d != dim && part->shape[d] > (whole->ndim ? whole->shape[d] : 1)) return false;
    return true;
}

OXI_RULE(gather) {
    const ox_tensor *x = call->in[0], *index = call->in[1];
    ox_status status = oxi_check_index(call, index);
    if (status != OX_OK) return status;
    if (!oxi_fits_beside(index, x, call->attr.along.dim)) return oxi_fail_fit(call, index);
    oxi_meta(out, x->dtype, index->ndim, index->shape);
    return OX_OK;
}

OXI_RULE(scatter) {
    const ox_tensor *x = call->in[0], *index = call->in[1], *source = call->in[2];
    ox_status status = oxi_check_index(call, index);
    if (status != OX_OK) return status;
    if (source->dtype != x->dtype)
        return oxi_fail(OX_ERR_DTYPE, "%s: dtypes differ: source %s, target %s", oxi_op_name(call),
                        oxi_tensor_text(source), oxi_tensor_text(x));
    if (!oxi_fits_beside(index, x, call->attr.along.dim)) return oxi_fail_fit(call, index);
    if (!oxi_fits_beside(index, source, -1)) return oxi_fail_fit(call, source);
    return oxi_rule_row(call, out);
}

static ox_status oxi_check_index_list(const oxi_call *call, const ox_tensor *index) {
    if (index->ndim > 1)
        return oxi_fail(OX_ERR_SHAPE, "%s: the index is %s, not 1-d", oxi_op_name(call),
                        oxi_tensor_text(index));
    return oxi_check_index(call, index);
}

OXI_RULE(index_select) {
    const ox_tensor *x = call->in[0];
    ox_status status = oxi_check_index_list(call, call->in[1]);
    if (status != OX_OK) return status;
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    if (x->ndim)
        shape[call->attr.along.dim] = ox_numel(call->in[1]);
    else if (ox_numel(call->in[1]) != 1)
        return oxi_fail_fit(call, call->in[1]);
    oxi_meta(out, x->dtype, x->ndim, shape);
    return OX_OK;
}

OXI_RULE(index_add) {
    const ox_tensor *x = call->in[0], *source = call->in[2];
    ox_status status = oxi_check_index_list(call, call->in[1]);
    if (status != OX_OK) return status;
    if (source->dtype != x->dtype)
        return oxi_fail(OX_ERR_DTYPE, "index_add: dtypes differ: source %s, target %s",
                        oxi_tensor_text(source), oxi_tensor_text(x));
    bool fits = source->ndim == x->ndim && (x->ndim > 0 || ox_numel(call->in[1]) == 1);
    for (int d = 0; fits && d < x->ndim; d++)
        fits = source->shape[d] == (d == call->attr.along.dim ? ox_numel(call->in[1]) : x->shape[d]);
    if (!fits) return oxi_fail_fit(call, source);
    status = oxi_check_factors(call, x->dtype);
    return status == OX_OK ? oxi_rule_row(call, out) : status;
}

OXI_RULE(masked_select) {
    if (call->in[1]->dtype != OX_BOOL)
        return oxi_fail(OX_ERR_DTYPE, "masked_select: the mask is %s, not bool",
                        oxi_tensor_text(call->in[1]));
    oxi_meta(out, call->in[0]->dtype, 1, &call->attr.counted.count);
    return OX_OK;
}

OXI_RULE(nonzero) {
    const int64_t shape[2] = {call->attr.counted.count, call->in[0]->ndim};
    oxi_meta(out, OX_I64, 2, shape);
    return OX_OK;
}

OXI_RULE(embedding) {
    const ox_tensor *table = call->in[0], *ids = call->in[1];
    ox_status status = oxi_check_index(call, ids);
    if (status != OX_OK) return status;
    if (table->ndim != 2)
        return oxi_fail(OX_ERR_SHAPE, "embedding: the table is %s, not 2-d", oxi_tensor_text(table));
    if (ids->ndim == OX_MAX_DIMS)
        return oxi_fail(OX_ERR_SHAPE, "embedding: ids have %d dims already", OX_MAX_DIMS);
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, ids->shape, sizeof shape);
    shape[ids->ndim] = table->shape[1];
    oxi_meta(out, oxi_is_block(table->dtype) ? OX_F32 : table->dtype, ids->ndim + 1, shape);
    return OX_OK;
}

OXI_RULE(one_hot) {
    const ox_tensor *ids = call->in[0];
    ox_status status = oxi_check_index(call, ids);
    if (status != OX_OK) return status;
    if (ids->ndim == OX_MAX_DIMS)
        return oxi_fail(OX_ERR_SHAPE, "one_hot: ids have %d dims already", OX_MAX_DIMS);
    int64_t classes = call->attr.classes.classes;
    if (classes < 1)
        return oxi_fail(OX_ERR_ARG, "one_hot: %lld classes, at least one is needed", (long long)classes);
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, ids->shape, sizeof shape);
    shape[ids->ndim] = classes;
    oxi_meta(out, OX_I64, ids->ndim + 1, shape);
    return OX_OK;
}

OXI_RULE(triangle) {
    if (call->in[0]->ndim < 2)
        return oxi_fail(OX_ERR_SHAPE, "%s: %s has fewer than 2 dims", oxi_op_name(call),
                        oxi_tensor_text(call->in[0]));
    return oxi_rule_row(call, out);
}

OXI_RULE(cat) {
    const ox_tensor *first = call->in[0];
    const ox_tensor *refused = NULL;
    ox_dtype dtype = oxi_result_type(call, 0, &refused);
    int dim = call->attr.along.dim;
    if (!dtype)
        return oxi_fail(OX_ERR_DTYPE, "cat: %s and %s have no common dtype", oxi_tensor_text(first),
                        oxi_tensor_text(refused));
    if (first->ndim == 0) return oxi_fail(OX_ERR_SHAPE, "cat: 0-dim tensors cannot be joined; use stack");
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, first->shape, sizeof shape);
    for (int i = 1; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        bool fits = t->ndim == first->ndim;
        for (int d = 0; fits && d < t->ndim; d++)
            fits = d == dim || t->shape[d] == first->shape[d];
        if (!fits || !oxi_add_i64(shape[dim], t->shape[dim], &shape[dim]))
            return oxi_fail_fit(call, t);
    }
    oxi_meta(out, dtype, first->ndim, shape);
    return OX_OK;
}

/* ---- products ------------------------------------------------------------------------------------------ */

/* Blocks are read as they are; mixes: so are floats that differ in dtype. */
static ox_status oxi_product_dtype(const oxi_call *call, const ox_tensor *x, const ox_tensor *w, bool mixes,
                                   ox_dtype *dtype) {
    if (oxi_is_block(x->dtype) && oxi_is_block(w->dtype))
        return oxi_fail(OX_ERR_DTYPE, "%s: both operands are block types: %s x %s", oxi_op_name(call),
                        oxi_tensor_text(x), oxi_tensor_text(w));
    const ox_tensor *plain = oxi_is_block(x->dtype) ? w : x;
    bool block = oxi_is_block(x->dtype) || oxi_is_block(w->dtype);
    if (block || (oxi_is_float(x->dtype) && oxi_is_float(w->dtype) && mixes)) {
        if (block && !oxi_is_float(plain->dtype))
            return oxi_fail(OX_ERR_DTYPE, "%s: block types meet floats only: %s x %s", oxi_op_name(call),
                            oxi_tensor_text(x), oxi_tensor_text(w));
        *dtype = plain->dtype;
    } else if (x->dtype != w->dtype) {
        return oxi_fail(OX_ERR_DTYPE, "%s: operands of different dtypes: %s x %s", oxi_op_name(call),
                        oxi_tensor_text(x), oxi_tensor_text(w));
    } else {
        *dtype = x->dtype == OX_I8 ? OX_I32 : x->dtype;
    }
    return OX_OK;
}

/* Blocks must run along the dim that is read row by row, in whole rows. */
static ox_status oxi_check_block_rows(const oxi_call *call, const ox_tensor *t, int dim) {
    if (!oxi_is_block(t->dtype) || t->ndim == 0) return OX_OK;
    if (t->stride[dim] == 1 && t->shape[dim] % ox_dtype_get_info(t->dtype)->block_elements == 0) return OX_OK;
    return oxi_fail(OX_ERR_DTYPE, "%s: the blocks of %s do not run along dim %d", oxi_op_name(call),
                    oxi_tensor_text(t), dim);
}

OXI_RULE(matmul) {
    const ox_tensor *a = call->in[0], *b = call->in[1];
    ox_dtype dtype;
    ox_status status = oxi_product_dtype(call, a, b, false, &dtype);
    if (status != OX_OK) return status;
    if (a->ndim == 0 || b->ndim == 0)
        return oxi_fail(OX_ERR_SHAPE, "matmul: 0-dim operand: %s x %s", oxi_tensor_text(a),
                        oxi_tensor_text(b));
    int b_summed = b->ndim == 1 ? 0 : b->ndim - 2;
    if (a->shape[a->ndim - 1] != b->shape[b_summed])
        return oxi_fail(OX_ERR_SHAPE, "matmul: inner sizes differ: %s x %s",
                        oxi_shape_text(a->ndim, a->shape), oxi_shape_text(b->ndim, b->shape));
    status = oxi_check_block_rows(call, a, a->ndim - 1);
    if (status == OX_OK) status = oxi_check_block_rows(call, b, b_summed);
    if (status != OX_OK) return status;
    int a_batch = a->ndim > 2 ? a->ndim - 2 : 0, b_batch = b->ndim > 2 ? b->ndim - 2 : 0;
    int ndim = a_batch > b_batch ? a_batch : b_batch, batch = ndim;
    int64_t shape[OX_MAX_DIMS + 2];
    for (int d = 0; d < batch; d++) {
        int da = d - (batch - a_batch), db = d - (batch - b_batch);
        int64_t sa = da >= 0 ? a->shape[da] : 1, sb = db >= 0 ? b->shape[db] : 1;
        if (sa != sb && sa != 1 && sb != 1)
            return oxi_fail(OX_ERR_SHAPE, "matmul: leading dims do not broadcast: %s x %s",
                            oxi_shape_text(a->ndim, a->shape), oxi_shape_text(b->ndim, b->shape));
        shape[d] = sa == 1 ? sb : sa;
    }
    if (a->ndim > 1) shape[ndim++] = a->shape[a->ndim - 2];
    if (b->ndim > 1) shape[ndim++] = b->shape[b->ndim - 1];
    status = oxi_check_shape("matmul", dtype, ndim, shape, NULL);
    if (status == OX_OK) oxi_meta(out, dtype, ndim, shape);
    return status;
}

OXI_RULE(linear) {
    const ox_tensor *x = call->in[0], *w = call->in[1], *bias = call->in[2];
    ox_dtype dtype;
    ox_status status = oxi_product_dtype(call, x, w, true, &dtype);
    if (status != OX_OK) return status;
    if (x->ndim == 0 || w->ndim != 2)
        return oxi_fail(OX_ERR_SHAPE, "linear: x %s, weight %s: the weight is 2-d", oxi_tensor_text(x),
                        oxi_tensor_text(w));
    if (x->shape[x->ndim - 1] != w->shape[1])
        return oxi_fail(OX_ERR_SHAPE, "linear: inner sizes differ: %s x %s",
                        oxi_shape_text(x->ndim, x->shape), oxi_shape_text(2, w->shape));
    if (bias && (bias->ndim != 1 || bias->shape[0] != w->shape[0] ||
                 ox_dtype_get_info(bias->dtype)->cls != ox_dtype_get_info(dtype)->cls))
        return oxi_fail(OX_ERR_SHAPE, "linear: bias %s does not fit weight %s", oxi_tensor_text(bias),
                        oxi_tensor_text(w));
    if (call->attr.activation.activation != OXI_ACT_NONE && !oxi_is_float(dtype))
        return oxi_fail(OX_ERR_DTYPE, "linear: no activation of %s", ox_dtype_name(dtype));
    status = oxi_check_block_rows(call, w, 1);
    if (status == OX_OK && !oxi_is_block(w->dtype)) status = oxi_check_weight_dtype(call, x, w);
    if (status == OX_OK) status = oxi_check_weight_dtype(call, x, bias);
    if (status == OX_OK && oxi_is_block(x->dtype))
        status = oxi_fail(OX_ERR_DTYPE, "linear: x is %s; only the weight may be of a block type",
                          oxi_tensor_text(x));
    if (status != OX_OK) return status;
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    shape[x->ndim - 1] = w->shape[0];
    status = oxi_check_shape("linear", dtype, x->ndim, shape, NULL);
    if (status == OX_OK) oxi_meta(out, dtype, x->ndim, shape);
    return status;
}

OXI_RULE(addmm) {
    const ox_tensor *c = call->in[0], *a = call->in[1], *b = call->in[2];
    ox_dtype dtype;
    if (a->ndim != 2 || b->ndim != 2)
        return oxi_fail(OX_ERR_SHAPE, "addmm: operands must be 2-d: %s x %s", oxi_tensor_text(a),
                        oxi_tensor_text(b));
    ox_status status = oxi_product_dtype(call, a, b, false, &dtype);
    if (status != OX_OK) return status;
    if (a->shape[1] != b->shape[0])
        return oxi_fail(OX_ERR_SHAPE, "addmm: inner sizes differ: %s x %s", oxi_shape_text(2, a->shape),
                        oxi_shape_text(2, b->shape));
    status = oxi_check_block_rows(call, b, 0);
    if (status == OX_OK) status = oxi_check_block_rows(call, a, 1);
    if (status != OX_OK) return status;
    const int64_t shape[2] = {a->shape[0], b->shape[1]};
    bool fits = c->ndim <= 2;
    for (int d = 0; fits && d < c->ndim; d++)
        fits = c->shape[d] == 1 || c->shape[d] == shape[2 - c->ndim + d];
    if (!fits || c->dtype != dtype)
        return oxi_fail(OX_ERR_SHAPE, "addmm: %s does not fit the product %s%s", oxi_tensor_text(c),
                        ox_dtype_name(dtype), oxi_shape_text(2, shape));
    oxi_meta(out, dtype, 2, shape);
    return oxi_check_factors(call, dtype);
}

/* ---- transformers -------------------------------------------------------------------------------------- */

OXI_RULE(rope) {
    const ox_tensor *x = call->in[0], *positions = call->in[1], *factors = call->in[2];
    int64_t dims = call->attr.rope.dims;
    if (!oxi_is_float(x->dtype) || x->ndim < 2)
        return oxi_fail(OX_ERR_SHAPE, "rope: x is %s, not floats [..,S,D]", oxi_tensor_text(x));
    if (dims < 0 || dims % 2 || dims > x->shape[x->ndim - 1])
        return oxi_fail(OX_ERR_ARG, "rope: %lld elements to turn, not an even number of a row of %s",
                        (long long)dims, oxi_tensor_text(x));
    if (positions) {
        ox_status status = oxi_check_index(call, positions);
        if (status != OX_OK) return status;
        if (positions->ndim != 1 || positions->shape[0] != x->shape[x->ndim - 2])
            return oxi_fail(OX_ERR_SHAPE, "rope: positions %s are not one for each row of x %s",
                            oxi_tensor_text(positions), oxi_tensor_text(x));
    }
    if (factors && (factors->dtype != OX_F32 || factors->ndim != 1 || factors->shape[0] != dims / 2))
        return oxi_fail(OX_ERR_SHAPE, "rope: factors %s are not f32, one for each pair of %lld elements",
                        oxi_tensor_text(factors), (long long)dims);
    return oxi_rule_row(call, out);
}

OXI_RULE(attention) {
    const ox_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2], *mask = call->in[3];
    int n = q->ndim;
    bool fits = n >= 2 && k->ndim == n && v->ndim == n && oxi_is_float(q->dtype) &&
                (oxi_is_float(k->dtype) || oxi_is_block(k->dtype)) && k->dtype == v->dtype;
    fits = fits && (q->dtype == OX_F64) == (k->dtype == OX_F64);
    fits = fits && q->shape[n - 1] == k->shape[n - 1] && k->shape[n - 2] == v->shape[n - 2];
    for (int d = 0; fits && d < n - 2; d++) {
        fits = k->shape[d] == v->shape[d];
        if (fits && d == n - 3)
            fits = k->shape[d] > 0 ? q->shape[d] % k->shape[d] == 0 : q->shape[d] == 0;
        else if (fits)
            fits = q->shape[d] == k->shape[d];
    }
    if (!fits)
        return oxi_fail(
            OX_ERR_SHAPE,
            "attention: q %s, k %s, v %s do not fit [..,H,S,D], [..,Hkv,T,D], [..,Hkv,T,Dv] of floats "
            "(k and v of one dtype, which may be a block type; f64 with f64 only)",
            oxi_tensor_text(q), oxi_tensor_text(k), oxi_tensor_text(v));
    ox_status status = oxi_check_block_rows(call, k, n - 1);
    if (status == OX_OK) status = oxi_check_block_rows(call, v, n - 1);
    if (status != OX_OK) return status;
    if (mask) {
        bool ok = (mask->dtype == OX_BOOL || oxi_is_float(mask->dtype)) && mask->ndim <= n;
        for (int d = 0; ok && d < mask->ndim; d++) {
            int at = n - mask->ndim + d;
            int64_t size = at == n - 1 ? k->shape[n - 2] : q->shape[at];
            ok = mask->shape[d] == 1 || mask->shape[d] == size;
        }
        if (!ok)
            return oxi_fail(OX_ERR_SHAPE, "attention: mask %s does not broadcast to the scores of q %s, k %s",
                            oxi_tensor_text(mask), oxi_tensor_text(q), oxi_tensor_text(k));
    }
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, q->shape, sizeof shape);
    shape[n - 1] = v->shape[n - 1];
    oxi_meta(out, q->dtype, n, shape);
    return OX_OK;
}

/* ---- views --------------------------------------------------------------------------------------------- */

/* What is worked out here fits 64 bits: the elements of a shape, dims of size 0 left out, are checked where
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
    int64_t block = ox_dtype_get_info(x->dtype)->block_elements;
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
    int64_t block = ox_dtype_get_info(x->dtype)->block_elements;
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

OXI_RULE(flip) {
    const ox_tensor *x = call->in[0];
    oxi_view_of(x, out);
    bool whole = true;
    for (int d = 0; d < x->ndim; d++) {
        if (!(call->attr.dims.dims >> d & 1)) continue;
        if (ox_numel(x) > 0) out->offset += (x->shape[d] - 1) * x->stride[d];
        out->stride[d] = -x->stride[d];
        whole = whole && x->stride[d] != 1;
    }
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
    int64_t count = (int64_t)(x->storage->bytes / (size_t)ox_dtype_get_info(x->dtype)->block_bytes);
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
    const ox_dtype_info *from = ox_dtype_get_info(x->dtype), *to = ox_dtype_get_info(dtype);
    if (to->cls == OX_CLASS_NONE || to->cls == OX_CLASS_BLOCK || to->block_bytes != from->block_bytes)
        return oxi_fail(OX_ERR_DTYPE, "view_dtype: %s as %s: the widths differ", oxi_tensor_text(x),
                        to->name);
    oxi_view_of(x, out);
    out->dtype = dtype;
    return OX_OK;
}
