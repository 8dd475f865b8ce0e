/* Rules of rope, attention and linear attention. */

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
    const ox_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2], *mask = call->in[3],
                    *sinks = call->in[4];
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
        if (mask->dtype != OX_BOOL && !oxi_is_float(mask->dtype))
            return oxi_fail(OX_ERR_DTYPE, "attention: the mask is %s, neither bool nor float",
                            oxi_tensor_text(mask));
        bool ok = mask->ndim <= n;
        for (int d = 0; ok && d < mask->ndim; d++) {
            int at = n - mask->ndim + d;
            int64_t size = at == n - 1 ? k->shape[n - 2] : q->shape[at];
            ok = mask->shape[d] == 1 || mask->shape[d] == size;
        }
        if (!ok)
            return oxi_fail(OX_ERR_SHAPE, "attention: mask %s does not broadcast to the scores of q %s, k %s",
                            oxi_tensor_text(mask), oxi_tensor_text(q), oxi_tensor_text(k));
    }
    if (sinks &&
        (sinks->dtype != OX_F32 || sinks->ndim != 1 || sinks->shape[0] != (n > 2 ? q->shape[n - 3] : 1)))
        return oxi_fail(OX_ERR_SHAPE, "attention: sinks %s are not f32, one for each head of q %s",
                        oxi_tensor_text(sinks), oxi_tensor_text(q));
    int64_t shape[OX_MAX_DIMS];
    memcpy(shape, q->shape, sizeof shape);
    shape[n - 1] = v->shape[n - 1];
    oxi_meta(out, q->dtype, n, shape);
    if (call->out_count > 1) oxi_meta(&out[1], OX_F32, n - 1, shape);
    return OX_OK;
}

/* What recurrences give: so many rows, and the memory; operands have their shapes. */
static ox_status oxi_recurrence_result(const oxi_call *call, int64_t rows, ox_tensor *out) {
    const ox_tensor *state = call->in[4];
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        if (t && (!oxi_is_float(t->dtype) || (t->dtype == OX_F64) != (state->dtype == OX_F64)))
            return oxi_fail(OX_ERR_DTYPE, "%s: operands of different dtypes: %s x %s", oxi_op_name(call),
                            oxi_tensor_text(state), oxi_tensor_text(t));
    }
    const int64_t shape[3] = {state->shape[0], rows + state->shape[1], state->shape[2]};
    oxi_meta(out, state->dtype, 3, shape);
    return OX_OK;
}

OXI_RULE(linear_attention) {
    const ox_tensor *q = call->in[0], *decay = call->in[3], *state = call->in[4];
    bool fits = q->ndim == 3 && call->in[2]->ndim == 3 && (!call->in[5] == !call->in[6]);
    const int64_t keys = fits ? q->shape[2] : 0, values = fits ? call->in[2]->shape[2] : 0;
    for (int i = 0; fits && i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        if (!t) continue;
        const int64_t rows = i == 4 ? keys : q->shape[1], last = i == 2 || i == 4 ? values : keys;
        fits = t->ndim == 3 && t->shape[0] == q->shape[0] && t->shape[1] == rows &&
               (t->shape[2] == last || (i == 3 && t->shape[2] == 1));
        if (i == 3 && t->ndim == 4)
            fits = t->shape[0] == q->shape[0] && t->shape[1] == rows && t->shape[2] == keys &&
                   t->shape[3] == values;
    }
    if (!fits)
        return oxi_fail(OX_ERR_SHAPE,
                        "linear_attention: q %s, k %s, v %s, decay %s, state %s do not fit [H,S,K], [H,S,K], "
                        "[H,S,V], [H,S,1], [H,S,K] or [H,S,K,V], [H,K,V], or erase and write, both or "
                        "neither, are not as k",
                        oxi_tensor_text(q), oxi_tensor_text(call->in[1]), oxi_tensor_text(call->in[2]),
                        oxi_tensor_text(decay), oxi_tensor_text(state));
    return oxi_recurrence_result(call, q->shape[1], out);
}

OXI_RULE(selective_scan) {
    const ox_tensor *c = call->in[0], *u = call->in[2];
    bool fits = c->ndim == 3 && u->ndim == 3;
    for (int i = 0; fits && i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        const bool row = i == 6 || i == 8; /* skip, bias */
        if (!t) continue;
        const int64_t rows = i == 4 || i == 5 ? c->shape[2]
                             : row            ? 1
                                              : c->shape[1],
                      columns = i < 2 ? c->shape[2] : u->shape[2];
        fits = t->ndim == 3 && t->shape[0] == c->shape[0] &&
               (t->shape[1] == rows || (i == 5 && t->shape[1] == 1)) &&
               (t->shape[2] == columns || ((i == 3 || i == 5 || row) && t->shape[2] == 1));
    }
    if (!fits)
        return oxi_fail(
            OX_ERR_SHAPE,
            "selective_scan: u %s, step %s, rate %s, b %s, c %s, state %s, or skip, gate and bias "
            "do not fit [H,S,V], [H,S,V], [H,K,V], [H,S,K], [H,S,K], [H,K,V]",
            oxi_tensor_text(u), oxi_tensor_text(call->in[3]), oxi_tensor_text(call->in[5]),
            oxi_tensor_text(call->in[1]), oxi_tensor_text(c), oxi_tensor_text(call->in[4]));
    const bool one = call->attr.scan.hold && c->shape[1] > 0;
    return oxi_recurrence_result(call, one ? 1 : c->shape[1], out);
}
