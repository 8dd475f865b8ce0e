/* The rows of ops.def that compute gradients in one pass, on the CPU (vulkan/ops/back/ has them too), and
 * when rules of gradients call them: where nobody records the gradient, and operands are what the executors
 * take. Else rules compose them. */

/* The executor of the family BACK (cpu/kernels.h). */
static ox_status oxi_run_back(const oxi_call *call, const oxi_part *part) {
    switch (call->op) {
    case OXI_OP_attention_back: return oxi_attention_back_run(call, part);
    case OXI_OP_gelu_back:
    case OXI_OP_gelu_tanh_back:
    case OXI_OP_silu_back: return oxi_function_back_run(call);
    case OXI_OP_group_norm_back: return oxi_channels_back_run(call);
    case OXI_OP_recurrent_step:
    case OXI_OP_recurrent_step_back: return oxi_steps_run(call);
    default: return oxi_rows_back_run(call, part);
    }
}

/* Numbers of f32, f16 or bf16. */
static bool oxi_back_reads(const ox_tensor *t) {
    return oxi_is_float(t->dtype) && t->dtype != OX_F64;
}

/* Whether a row for gradients may be called at all. */
static bool oxi_back_may(const oxi_backward *b) {
    return !ox_is_grad_enabled() && oxi_cpu_back && b->g[0] && oxi_back_reads(b->g[0]);
}

/* g f'(x) by the row of a function; *out NULL: its formula computes it. */
static ox_status oxi_function_back(oxi_op op, ox_tensor *x, ox_tensor *g, ox_tensor **out) {
    *out = NULL;
    if (op == OXI_OP_COUNT || ox_is_grad_enabled() || !oxi_cpu_back || !x || !g) return OX_OK;
    if (!oxi_back_reads(x) || !oxi_back_reads(g) || ox_numel(x) == 0) return OX_OK;
    bool alike = x->ndim == g->ndim && memcmp(x->shape, g->shape, (size_t)x->ndim * sizeof *x->shape) == 0;
    if (!alike || !ox_is_contiguous(x) || !ox_is_contiguous(g)) return OX_OK;
    ox_tensor *in[2];
    in[0] = g;
    in[1] = x;
    oxi_call call = oxi_call_of(op, in, 2, NULL);
    call.out_count = 1;
    if (!oxi_call_runs_there(&call)) return OX_OK;
    ox_status status = oxi_apply(&call);
    *out = call.out[0];
    return status;
}

/* Results [count] of a row; *done: it ran. */
static ox_status oxi_back_call(oxi_op op, const oxi_backward *b, ox_tensor *const *in, int in_count,
                               int count, ox_tensor **out, bool *done) {
    oxi_call call = oxi_call_of(op, in, in_count, NULL);
    call.attr = b->call->attr;
    call.out_count = count;
    *done = false;
    if (!oxi_call_runs_there(&call)) return OX_OK;
    ox_status status = oxi_apply(&call);
    for (int k = 0; k < count; k++) out[k] = call.out[k];
    *done = status == OX_OK;
    return status;
}

/* Whether x has rows, its last dims, that the executor takes. */
static bool oxi_back_rows_fit(const ox_tensor *x, int last) {
    int64_t n = 1;
    if (!x || !oxi_back_reads(x) || ox_numel(x) == 0 || last > x->ndim) return false;
    for (int d = x->ndim - last; d < x->ndim; d++) n *= x->shape[d];
    return n <= OXI_BACK_ROW_MOST;
}

/* The gradient of softmax or log_softmax, along the last dim; *done: by the row. */
static ox_status oxi_softmax_back(oxi_backward *b, oxi_op op, bool *done) {
    ox_tensor *y = b->out[0], *in[2];
    *done = false;
    if (!oxi_back_may(b) || !y || y->ndim == 0 || b->call->attr.along.dim != y->ndim - 1) return OX_OK;
    if (!oxi_back_rows_fit(y, 1)) return OX_OK;
    in[0] = ox_contiguous(b->g[0]);
    in[1] = ox_contiguous(y);
    return in[0] && in[1] ? oxi_back_call(op, b, in, 2, 1, b->grad, done) : ox_error();
}

/* Gradients of a norm; *done: by the row. */
static ox_status oxi_norm_back(oxi_backward *b, oxi_op op, bool *done) {
    const oxi_call *call = b->call;
    ox_tensor *x = call->in[0], *weight = call->in[1], *in[3], *out[3];
    int last = (int)call->attr.norm.last_dims, count = 1;
    *done = false;
    if (!oxi_back_may(b) || !b->wants[0] || !oxi_back_rows_fit(x, last)) return OX_OK;
    if (weight && !oxi_back_reads(weight)) return OX_OK;
    if (weight && b->wants[1]) count = 2;
    bool biased = call->in_count > 2 && b->wants[2];
    if (count == 2 && biased && b->operand[2].dtype == weight->dtype) count = 3;
    in[0] = ox_contiguous(b->g[0]);
    in[1] = ox_contiguous(x);
    in[2] = weight ? ox_contiguous(weight) : NULL;
    if (!in[0] || !in[1] || (weight && !in[2])) return ox_error();
    ox_status status = oxi_back_call(op, b, in, weight ? 3 : 2, count, out, done);
    if (status != OX_OK || !*done) return status;
    for (int k = 0; k < count; k++) b->grad[k] = out[k];
    if (biased && count < 3) b->grad[2] = b->g[0];
    return OX_OK;
}

/* Gradients of what normalizes channels of x [N,C,..]: of x, and of weight and bias if `count` says so;
 * *done: by the row. told: with no groups it is a batch, of mean and variance. */
static ox_status oxi_channels_back_apply(oxi_backward *b, const oxi_attr_group_norm_back *told,
                                         ox_tensor *weight, ox_tensor *mean, ox_tensor *variance, int count,
                                         ox_tensor **out, bool *done) {
    ox_tensor *x = b->call->in[0], *own[3] = {weight, mean, variance}, *in[5];
    int64_t row = 1;
    *done = false;
    if (!oxi_back_may(b) || !x || !oxi_back_reads(x) || ox_numel(x) == 0) return OX_OK;
    for (int d = 1; d < x->ndim; d++) row *= x->shape[d];
    if (told->groups > 0 && x->dtype != OX_F32 && row / told->groups > OXI_BACK_ROW_MOST) return OX_OK;
    for (int i = 0; i < 3; i++)
        if (own[i] && !oxi_back_reads(own[i])) return OX_OK;
    in[0] = ox_contiguous(b->g[0]);
    in[1] = ox_contiguous(x);
    for (int i = 0; i < 3; i++) in[2 + i] = own[i] ? ox_contiguous(own[i]) : NULL;
    if (!in[0] || !in[1]) return ox_error();
    oxi_backward with = *b;
    oxi_call call = *b->call;
    call.attr = oxi_attrs_group_norm_back();
    call.attr.group_norm_back = *told;
    with.call = &call;
    return oxi_back_call(OXI_OP_group_norm_back, &with, in, 5, count, out, done);
}

/* The same for a rule: weight and bias are its operands `at` and the next one. */
static ox_status oxi_channels_back_by_row(oxi_backward *b, const oxi_attr_group_norm_back *told, int at,
                                          ox_tensor *mean, ox_tensor *variance, bool *done) {
    ox_tensor *weight = b->call->in[at], *out[3];
    int count = weight && b->wants[at] ? 2 : 1;
    *done = false;
    if (!b->wants[0]) return OX_OK;
    if (count == 2 && b->wants[at + 1] && b->operand[at + 1].dtype == weight->dtype) count = 3;
    ox_status status = oxi_channels_back_apply(b, told, weight, mean, variance, count, out, done);
    if (status != OX_OK || !*done) return status;
    b->grad[0] = out[0];
    for (int k = 1; k < count; k++) b->grad[at + k - 1] = out[k];
    if (b->wants[at + 1] && count < 3)
        status = oxi_gives(b, at + 1, oxi_summed_by_channel(oxi_wide(b->g[0])));
    return status;
}

/* Sinks [H] take their weight, e^(sink - logsumexp), off each row: what comes back to them is -weight times
 * the sum of g and the result. */
static ox_tensor *oxi_sinks_back(const oxi_backward *b) {
    ox_tensor *along = ox_sum(ox_mul(oxi_wide(b->g[0]), oxi_wide(b->out[0])), OX_DIMS(-1), false);
    ox_tensor *weight = ox_exp(ox_sub(ox_unsqueeze(b->call->in[4], 1), b->out[1]));
    return ox_neg(ox_sum(ox_mul(weight, along), OX_DIMS(-1), false));
}

/* Gradients of attention's q, k, v and sinks; *done: by the row. Operands have elements. */
static ox_status oxi_attention_back_by_row(oxi_backward *b, bool *done) {
    const oxi_call *call = b->call;
    ox_tensor *in[7], *out[3];
    bool known = b->out[0] && b->out[1];
    *done = false;
    if (!oxi_back_may(b) || b->wants[3] || (b->wants[4] && !known)) return OX_OK;
    in[0] = b->g[0];
    for (int i = 0; i < 5; i++) {
        ox_tensor *t = in[i + 1] = call->in[i];
        bool reads = t ? oxi_back_reads(t) || (i == 3 && t->dtype == OX_BOOL) : i > 2;
        if (!reads) return OX_OK;
    }
    if (known) {
        in[5] = b->out[1];
        in[6] = b->out[0];
    }
    ox_status status = oxi_back_call(OXI_OP_attention_back, b, in, known ? 7 : 6, 3, out, done);
    if (status != OX_OK || !*done) return status;
    for (int i = 0; i < 3; i++) b->grad[i] = out[i];
    return b->wants[4] ? oxi_gives(b, 4, oxi_sinks_back(b)) : OX_OK;
}
