/* The public functions of neural networks: softmax, norms, rope, attentions (dropout: random.c).
 * Convolutions and what else is made of other ops are in ops/parts.c. */

/* ---- softmax ------------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_softmax(ox_tensor *x, int dim) {
    return oxi_along(OXI_OP_softmax, x, dim, false);
}
OX_API ox_tensor *ox_log_softmax(ox_tensor *x, int dim) {
    return oxi_along(OXI_OP_log_softmax, x, dim, false);
}
OX_API ox_tensor *ox_softmax_as(ox_tensor *x, int dim, ox_dtype dtype) {
    return oxi_along_as("softmax_as", OXI_OP_softmax, x, dim, dtype);
}
OX_API ox_tensor *ox_log_softmax_as(ox_tensor *x, int dim, ox_dtype dtype) {
    return oxi_along_as("log_softmax_as", OXI_OP_log_softmax, x, dim, dtype);
}

/* ---- norms --------------------------------------------------------------------------------------------- */

static ox_tensor *oxi_call_norm(oxi_op op, ox_tensor *x, int64_t last_dims, ox_tensor *weight,
                                ox_tensor *bias, int count, double eps) {
    ox_tensor *in[3] = {x, weight, bias};
    oxi_attrs attr = oxi_attrs_norm();
    attr.norm.last_dims = last_dims;
    attr.norm.eps = eps;
    return oxi_any_null(oxi_op_row_of(op)->name, in, 1) ? NULL : oxi_apply_list(op, &attr, in, count, NULL);
}
OX_API ox_tensor *ox_layer_norm(ox_tensor *x, int last_dims, ox_tensor *weight, ox_tensor *bias, double eps) {
    return oxi_call_norm(OXI_OP_layer_norm, x, last_dims, weight, bias, 3, eps);
}
OX_API ox_tensor *ox_rms_norm(ox_tensor *x, int last_dims, ox_tensor *weight, double eps) {
    return oxi_call_norm(OXI_OP_rms_norm, x, last_dims, weight, NULL, 2, eps);
}
OX_API ox_tensor *ox_group_norm(ox_tensor *x, int64_t groups, ox_tensor *weight, ox_tensor *bias,
                                double eps) {
    ox_tensor *in[3] = {x, weight, bias};
    oxi_attrs attr = oxi_attrs_groups();
    attr.groups.groups = groups;
    attr.groups.eps = eps;
    return oxi_any_null("group_norm", in, 1) ? NULL : oxi_apply_list(OXI_OP_group_norm, &attr, in, 3, NULL);
}

/* A reduction over all dims of x but the channels, in f32 of narrower numbers, unheard: no gradient flows
 * through what it gives. */
static ox_tensor *oxi_measure_channels(oxi_op op, ox_tensor *x) {
    ox_dtype dtype = x->dtype == OX_F64 ? OX_F64 : OX_F32;
    ox_tensor *out = oxi_tensor_new(ox_device_of(x), dtype, 1, &x->shape[1]);
    oxi_call call = oxi_call_of(op, &x, 1, out);
    call.attr = oxi_attrs_moments();
    call.attr.moments.dims = ((1u << x->ndim) - 1) & ~2u;
    call.attr.moments.correction = 0;
    return out && oxi_apply_quiet(&call) == OX_OK ? out : NULL;
}

/* running = (1 - momentum) running + momentum fresh, times `factor`; unheard. */
static bool oxi_run_statistics(ox_tensor *running, ox_tensor *fresh, double factor, double momentum) {
    if (!running) return true;
    ox_tensor *by[2] = {fresh, ox_number(factor)};
    oxi_call times = oxi_call_of(OXI_OP_mul, by, 2, NULL);
    if (oxi_apply_quiet(&times) != OX_OK) return false;
    ox_tensor *in[3] = {running, oxi_cast_quiet(times.out[0], running->dtype), ox_number(momentum)};
    oxi_call lerp = oxi_call_of(OXI_OP_lerp, in, 3, running);
    return in[1] && oxi_apply_quiet(&lerp) == OX_OK;
}

/* x [N,C,..] by its own mean and variance, which the running ones follow. */
static ox_tensor *oxi_batch_norm_training(ox_tensor *const *in, ox_tensor *const *running, double momentum,
                                          const oxi_attrs *attr) {
    const ox_tensor *x = in[0];
    int64_t count = x->shape[1] ? ox_numel(x) / x->shape[1] : 0;
    if (count <= 1)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "batch_norm: %s has less than two numbers a channel",
                             oxi_tensor_text(x));
    ox_tensor *mean = oxi_measure_channels(OXI_OP_mean, in[0]);
    ox_tensor *variance = mean ? oxi_measure_channels(OXI_OP_var, in[0]) : NULL;
    if (!variance || !oxi_run_statistics(running[0], mean, 1, momentum) ||
        !oxi_run_statistics(running[1], variance, (double)count / (double)(count - 1), momentum))
        return NULL;
    ox_tensor *all[5] = {in[0], mean, variance, in[1], in[2]};
    return oxi_apply_list(OXI_OP_batch_norm, attr, all, 5, NULL);
}

OX_API ox_tensor *ox_batch_norm(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, ox_tensor *running_mean,
                                ox_tensor *running_variance, bool training, double momentum, double eps) {
    ox_tensor *in[3] = {x, weight, bias}, *running[2] = {running_mean, running_variance};
    ox_tensor *all[5] = {x, running_mean, running_variance, weight, bias};
    oxi_attrs attr = oxi_attrs_batch_norm();
    if (oxi_any_null("batch_norm", in, 1)) return NULL;
    attr.batch_norm.eps = eps;
    attr.batch_norm.training = training;
    if (!training && oxi_any_null("batch_norm", running, 2)) return NULL;
    if (!training) return oxi_apply_list(OXI_OP_batch_norm, &attr, all, 5, NULL);
    if (x->ndim < 2 || !oxi_is_float(x->dtype))
        return OXI_FAIL_NULL(x->ndim < 2 ? OX_ERR_SHAPE : OX_ERR_DTYPE,
                             "batch_norm: %s is not floats [N,C,..]", oxi_tensor_text(x));
    for (int i = 0; i < 2; i++)
        if (running[i] && (running[i]->ndim != 1 || running[i]->shape[0] != x->shape[1]))
            return OXI_FAIL_NULL(OX_ERR_SHAPE, "batch_norm: %s does not fit the %lld channels of %s",
                                 oxi_tensor_text(running[i]), (long long)x->shape[1], oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("batch_norm");
    return oxi_work_end(&work, oxi_batch_norm_training(in, running, momentum, &attr));
}

OX_API ox_tensor *ox_rope(ox_tensor *x, ox_tensor *positions, const ox_rope_desc *desc) {
    ox_rope_desc plain;
    memset(&plain, 0, sizeof plain);
    const ox_rope_desc *d = desc ? desc : &plain;
    if (oxi_any_null("rope", &x, 1)) return NULL;
    ox_tensor *in[3] = {x, positions, d->factors};
    oxi_attrs attr = oxi_attrs_rope();
    if (d->base > 0) attr.rope.base = d->base;
    if (d->scale > 0) attr.rope.scale = d->scale;
    if (d->magnitude > 0) attr.rope.magnitude = d->magnitude;
    attr.rope.dims = d->dims ? d->dims : x->ndim ? x->shape[x->ndim - 1] : 0;
    attr.rope.interleaved = d->interleaved;
    return oxi_apply_list(OXI_OP_rope, &attr, in, 3, NULL);
}

/* Whether there may be a way back, which reads the logsumexp of each query's scores. */
static bool oxi_attention_is_recorded(ox_tensor *const *in) {
    bool taped = in[0]->tape || in[1]->tape || in[2]->tape || (in[4] && in[4]->tape);
    return taped && !oxi_grad_off && in[0]->dtype != OX_F64 && oxi_is_float(in[1]->dtype);
}

OX_API ox_tensor *ox_scaled_dot_product_attention(ox_tensor *q, ox_tensor *k, ox_tensor *v,
                                                  const ox_attention_desc *desc) {
    ox_attention_desc plain;
    memset(&plain, 0, sizeof plain);
    const ox_attention_desc *d = desc ? desc : &plain;
    ox_tensor *in[5] = {q, k, v, d->mask, d->sinks};
    if (oxi_any_null("scaled_dot_product_attention", in, 3)) return NULL;
    if (d->query_start < 0 || d->window < 0 || !(d->softcap >= 0))
        return OXI_FAIL_NULL(OX_ERR_ARG,
                             "scaled_dot_product_attention: query_start %lld, window %lld, softcap %g",
                             (long long)d->query_start, (long long)d->window, d->softcap);
    int64_t head = q->ndim ? q->shape[q->ndim - 1] : 1;
    oxi_attrs attr = oxi_attrs_attention();
    if (head > 0) attr.attention.scale = 1 / sqrt((double)head);
    if (d->scale != 0) attr.attention.scale = d->scale;
    attr.attention.softcap = d->softcap;
    attr.attention.query_start = d->query_start;
    attr.attention.window = d->window;
    attr.attention.causal = d->causal;
    oxi_call call = oxi_call_of(OXI_OP_attention, in, 5, NULL);
    call.attr = attr;
    call.name = "scaled_dot_product_attention";
    if (oxi_attention_is_recorded(in)) {
        call.out_count = 2;
        if (!oxi_call_runs_there(&call)) call.out_count = 1;
    }
    if (oxi_apply(&call) != OX_OK) return NULL;
    if (call.out_count > 1) ox_release(call.out[1]);
    return call.out[0];
}

OX_API ox_tensor *ox_linear_attention(ox_tensor *q, ox_tensor *k, ox_tensor *v, ox_tensor *decay,
                                      ox_tensor *state, ox_tensor *erase, ox_tensor *write) {
    ox_tensor *in[7] = {q, k, v, decay, state, erase, write};
    if (oxi_any_null("linear_attention", in, 5)) return NULL;
    return oxi_apply_list(OXI_OP_linear_attention, NULL, in, 7, NULL);
}

OX_API ox_tensor *ox_selective_scan(ox_tensor *u, ox_tensor *step, ox_tensor *rate, ox_tensor *b,
                                    ox_tensor *c, ox_tensor *state, ox_tensor *skip, ox_tensor *gate,
                                    ox_tensor *step_bias, bool softplus, bool hold_last) {
    ox_tensor *in[9] = {c, b, u, step, state, rate, skip, gate, step_bias};
    oxi_attrs attr = oxi_attrs_scan();
    if (oxi_any_null("selective_scan", in, 6)) return NULL;
    attr.scan.softplus = softplus;
    attr.scan.hold = hold_last;
    return oxi_apply_list(OXI_OP_selective_scan, &attr, in, 9, NULL);
}
