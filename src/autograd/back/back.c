/* The rows of ops.def that compute gradients in one pass, on the CPU (vulkan/ops/back/ has them too), and when
 * rules of gradients call them: where nobody records the gradient, and operands are what the executors take.
 * Else rules compose them. */

/* The executor of the family BACK (cpu/kernels.h). */
static ox_status oxi_run_back(const oxi_call *call) {
    return call->op == OXI_OP_attention_back ? oxi_attention_back_run(call) : oxi_rows_back_run(call);
}

/* Numbers of f32, f16 or bf16. */
static bool oxi_back_reads(const ox_tensor *t) { return oxi_is_float(t->dtype) && t->dtype != OX_F64; }

/* Whether a row for gradients may be called at all. */
static bool oxi_back_may(const oxi_backward *b) {
    return !ox_is_grad_enabled() && oxi_cpu_back && b->g[0] && oxi_back_reads(b->g[0]);
}

/* Whether the operands lie together, in this machine's memory or on a device that has the row. */
static bool oxi_back_runs_there(const oxi_call *call) {
    ox_device *device = ox_device_of(call->in[0]);
    bool host = true, together = true;
    for (int i = 0; i < call->in_count; i++) {
        if (!call->in[i]) continue;
        host = host && ox_device_of(call->in[i])->host;
        together = together && ox_device_of(call->in[i]) == device;
    }
    return host || (together && !device->partner && device->supports(device, call));
}

/* Results [count] of a row; *done: it ran. */
static ox_status oxi_back_call(oxi_op op, const oxi_backward *b, ox_tensor *const *in, int in_count,
                               int count, ox_tensor **out, bool *done) {
    oxi_call call = oxi_call_of(op, in, in_count, NULL);
    call.attr = b->call->attr;
    call.out_count = count;
    *done = false;
    if (!oxi_back_runs_there(&call)) return OX_OK;
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

/* Gradients of attention's q, k and v; *done: by the row. Operands have elements. */
static ox_status oxi_attention_back_by_row(oxi_backward *b, bool *done) {
    const oxi_call *call = b->call;
    ox_tensor *in[6], *out[3];
    *done = false;
    if (!oxi_back_may(b) || call->attr.attention.softcap > 0 || b->wants[3] || b->wants[4]) return OX_OK;
    in[0] = b->g[0];
    for (int i = 0; i < 5; i++) {
        ox_tensor *t = in[i + 1] = call->in[i];
        bool reads = t ? oxi_back_reads(t) || (i == 3 && t->dtype == OX_BOOL) : i > 2;
        if (!reads) return OX_OK;
    }
    ox_status status = oxi_back_call(OXI_OP_attention_back, b, in, 6, 3, out, done);
    if (status != OX_OK || !*done) return status;
    for (int i = 0; i < 3; i++) b->grad[i] = out[i];
    return OX_OK;
}
