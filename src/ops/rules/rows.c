/* Rules of softmax and the norms: the result has the shape and dtype of x. */

OXI_RULE(row) {
    oxi_meta(out, call->in[0]->dtype, call->in[0]->ndim, call->in[0]->shape);
    return OX_OK;
}

OXI_RULE(back) {
    for (int i = 0; i < call->out_count; i++) {
        const ox_tensor *like = call->in[i + 1 < call->in_count ? i + 1 : call->in_count - 1];
        if (!like) return oxi_fail(OX_ERR_ARG, "%s: no operand for result %d", oxi_op_name(call), i + 1);
        oxi_meta(&out[i], like->dtype, like->ndim, like->shape);
    }
    return OX_OK;
}

OXI_RULE(group_norm_back) {
    const ox_tensor *x = call->in[1], *weight = call->in[2];
    oxi_meta(out, x->dtype, x->ndim, x->shape);
    for (int i = 1; i < call->out_count; i++)
        oxi_meta(&out[i], weight ? weight->dtype : x->dtype, 1, &x->shape[1]);
    return OX_OK;
}

/* How many times a state's width results have, by kind. */
OXI_RULE(recurrent_step) {
    static const int8_t times[2][OXI_RECURRENT_KINDS][3] = {
        {{4, 1, 1}, {4, 1, 0}, {1, 0, 0}, {1, 0, 0}}, {{4, 1, 0}, {3, 3, 1}, {1, 0, 0}, {1, 0, 0}}};
    bool back = call->op == OXI_OP_recurrent_step_back;
    const ox_tensor *x = call->in[0], *state = !back && call->in_count > 2 ? call->in[2] : x;
    for (int i = 0; i < call->out_count; i++) {
        int64_t shape[2] = {x->shape[0], state->shape[1] * times[back][call->attr.recurrent.kind][i]};
        oxi_meta(&out[i], x->dtype, 2, shape);
    }
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

/* What follows x [N,C,..] has a number a channel each. */
static ox_status oxi_check_channels(const oxi_call *call) {
    const ox_tensor *x = call->in[0];
    for (int i = 1; i < call->in_count; i++) {
        const ox_tensor *w = call->in[i];
        if (w && (w->ndim != 1 || w->shape[0] != x->shape[1] || !oxi_is_float(w->dtype)))
            return oxi_fail(OX_ERR_SHAPE, "%s: %s does not fit the %lld channels of %s", oxi_op_name(call),
                            oxi_tensor_text(w), (long long)x->shape[1], oxi_tensor_text(x));
        ox_status status = oxi_check_weight_dtype(call, x, w);
        if (status != OX_OK) return status;
    }
    return OX_OK;
}

OXI_RULE(group_norm) {
    const ox_tensor *x = call->in[0];
    int64_t groups = call->attr.groups.groups;
    if (x->ndim < 2) return oxi_fail(OX_ERR_SHAPE, "%s: %s has no channel dim", oxi_op_name(call),
                                     oxi_tensor_text(x));
    if (groups < 1 || x->shape[1] % groups)
        return oxi_fail(OX_ERR_SHAPE, "%s: %lld channels do not fall into %lld groups",
                        oxi_op_name(call), (long long)x->shape[1], (long long)groups);
    ox_status status = oxi_check_channels(call);
    return status == OX_OK ? oxi_rule_row(call, out) : status;
}

/* Four tensors with a number a channel of x [N,C,..]. */
OXI_RULE(batch_norm) {
    const ox_tensor *x = call->in[0];
    if (x->ndim < 2)
        return oxi_fail(OX_ERR_SHAPE, "%s: %s has no channel dim", oxi_op_name(call), oxi_tensor_text(x));
    ox_status status = oxi_check_channels(call);
    return status == OX_OK ? oxi_rule_row(call, out) : status;
}
