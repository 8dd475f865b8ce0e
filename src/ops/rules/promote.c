/* Shape and type rules: what a call's results are, or why it is refused. A rule fills one header (no
 * storage) per result; a VIEW rule also fills strides and offset. Named by the rows of ops.def, called by
 * oxi_apply only. Here: what all of them use, and promotion of dtypes. The files beside have the rules of
 * one kind of ops each. */

#define OXI_RULE(name) static ox_status oxi_rule_##name(const oxi_call *call, ox_tensor *out)

static const char *oxi_op_name(const oxi_call *call) {
    return oxi_op_row_of(call->op)->name;
}

/* The OXI_ACCEPT_ bit of a dtype's class. */
static unsigned oxi_class_bit(ox_dtype dtype) {
    static const unsigned bits[] = {0, OXI_ACCEPT_B, OXI_ACCEPT_I, OXI_ACCEPT_F, OXI_ACCEPT_C, OXI_ACCEPT_Q};
    return bits[oxi_info(dtype)->cls];
}

/* ---- promotion: torch.result_type ---------------------------------------------------------------------- */

/* One dtype of the stronger group (more dims) with one of a weaker group, which counts by category only. */
static ox_dtype oxi_combine_groups(ox_dtype strong, ox_dtype weak) {
    if (strong == OX_DTYPE_NONE) return weak;
    if (weak == OX_DTYPE_NONE) return strong;
    ox_dtype_class cs = oxi_info(strong)->cls, cw = oxi_info(weak)->cls;
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

/* Whether operands [first, in_count) have a dtype in common that promotes to itself, as nearly always. */
static bool oxi_of_one_dtype(const oxi_call *call, int first) {
    const ox_tensor *one = first < call->in_count ? call->in[first] : NULL;
    if (!one || one->is_number || oxi_is_block(one->dtype)) return false;
    for (int i = first + 1; i < call->in_count; i++)
        if (!call->in[i] || call->in[i]->dtype != one->dtype) return false;
    return true;
}

/* Promotes operands [first, in_count); *refused names a pair with no common dtype. */
static ox_dtype oxi_result_type(const oxi_call *call, int first, const ox_tensor **refused) {
    ox_dtype group[3] = {OX_DTYPE_NONE, OX_DTYPE_NONE, OX_DTYPE_NONE}; /* with dims, 0-dim, numbers */
    if (oxi_of_one_dtype(call, first)) return call->in[first]->dtype;
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
    return wants_float && oxi_info(dtype)->cls < OX_CLASS_FLOAT && dtype ? OX_F32 : dtype;
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
