/* The logarithm of the probability that a softmax gives a class, of logits or of a linear layer's: a function
 * of its own (ox_attach_function), which keeps two numbers a row, and neither those of the other classes nor
 * the layer's result. Called by losses.c. */

/* Elements of logits that are looked at together; and that a linear layer makes at once: products of more
 * rows take the weight apart less often. On another device they are looked at as they are made. */
#ifndef OXI_CLASS_LOGS_READ
#define OXI_CLASS_LOGS_READ ((int64_t)1 << 18)
#define OXI_CLASS_LOGS_MADE ((int64_t)1 << 24)
#endif
#ifndef OXI_CLASS_LOGS_FAR
#define OXI_CLASS_LOGS_FAR ((int64_t)1 << 26)
#endif

/* Logits [N,C,..]: x itself, or those of x [N,D] by weight [C,D] and bias [C]. */
typedef struct oxi_class_head {
    ox_tensor *x, *weight, *bias; /* weight, bias: NULL */
    int64_t rows, chunk;          /* of dim 0 */
} oxi_class_head;

enum { OXI_CLASS_X, OXI_CLASS_TARGET, OXI_CLASS_MOST, OXI_CLASS_LOG, OXI_CLASS_WEIGHT, OXI_CLASS_BIAS };

static oxi_class_head oxi_class_head_of(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, int64_t most) {
    oxi_class_head h = {x, weight, bias, x->shape[0], x->shape[0]};
    int64_t each = weight ? weight->shape[0] : h.rows ? ox_numel(x) / h.rows : 1;
    bool host = ox_device_of(x)->like_cpu;
    if (each > 0 && (host || weight)) h.chunk = (host ? most : OXI_CLASS_LOGS_FAR) / each + 1;
    if (h.chunk > h.rows || h.chunk == 0) h.chunk = h.rows ? h.rows : 1;
    return h;
}

static ox_tensor *oxi_class_logits(const oxi_class_head *h, int64_t first, int64_t count) {
    ox_tensor *x = ox_narrow(h->x, 0, first, count);
    return h->weight ? ox_linear(x, h->weight, h->bias) : x;
}

/* Rows [first, first + count) of a number a row, as [count,1,..]. */
static ox_tensor *oxi_class_rows(ox_tensor *t, int64_t first, int64_t count) {
    return ox_unsqueeze(ox_narrow(t, 0, first, count), 1);
}

/* The largest logit, the logarithm of the sum of e^(logit - it), and what is left of the target's: the first
 * is taken off before the second, which is small. */
static ox_status oxi_class_logs_chunk(const oxi_class_head *h, ox_tensor *logits, ox_tensor *target,
                                      ox_tensor *const *out, int64_t first, int64_t from, int64_t count) {
    ox_scope scope = ox_scope_begin();
    ox_tensor *z = oxi_wide(ox_narrow(logits, 0, from, count)), *values[3];
    values[0] = ox_amax(z, OX_DIMS(1), true);
    values[1] = ox_logsumexp(ox_sub(z, values[0]), OX_DIMS(1), true);
    values[2] = ox_sub(ox_gather(z, 1, oxi_class_rows(target, first, count)), values[0]);
    values[2] = ox_sub(values[2], values[1]);
    ox_status status = OX_OK;
    for (int k = 0; k < 3 && status == OX_OK; k++) {
        bool whole = count == h->rows;
        ox_tensor *to = whole ? out[k] : ox_narrow(out[k], 0, first, count);
        if (!ox_copy_(to, ox_squeeze(values[k], 1))) status = ox_error();
    }
    ox_scope_end(&scope);
    return status;
}

static ox_status oxi_class_logs_forward(const oxi_class_head *h, ox_tensor *target, ox_tensor *const *out) {
    ox_status status = OX_OK;
    for (int64_t first = 0; first < h->rows && status == OX_OK; first += h->chunk) {
        ox_scope scope = ox_scope_begin();
        int64_t count = h->rows - first < h->chunk ? h->rows - first : h->chunk;
        ox_tensor *logits = oxi_class_logits(h, first, count);
        if (!logits)
            status = ox_error();
        else {
            oxi_class_head part = oxi_class_head_of(logits, NULL, NULL, OXI_CLASS_LOGS_READ);
            for (int64_t at = 0; at < count && status == OX_OK; at += part.chunk) {
                int64_t some = count - at < part.chunk ? count - at : part.chunk;
                status = oxi_class_logs_chunk(h, logits, target, out, first + at, at, some);
            }
        }
        ox_scope_end(&scope);
    }
    return status;
}

/* What comes back to logits: g (one_hot - softmax), in one pass where nobody records it. */
static ox_tensor *oxi_class_logits_back(ox_tensor *const *saved, ox_tensor *logits, ox_tensor *g,
                                        int64_t first, int64_t count) {
    ox_tensor *target = oxi_class_rows(saved[OXI_CLASS_TARGET], first, count);
    g = oxi_class_rows(g, first, count);
    ox_tensor *in[4] = {logits, oxi_class_rows(saved[OXI_CLASS_MOST], first, count),
                        oxi_class_rows(saved[OXI_CLASS_LOG], first, count), g};
    if (!logits || !g || !target || !in[1] || !in[2]) return NULL;
    const char *text = "a b - c - exp d * neg ;";
    oxi_call call = oxi_call_of(OXI_OP_chain, in, 4, NULL);
    call.attr.chain.program = oxi_chain_of(text);
    if (ox_is_grad_enabled() || !call.attr.chain.program || !oxi_call_runs_there(&call)) {
        ox_tensor *z = oxi_wide(logits), *hot = z ? oxi_constant_beside(z, ox_shape_of(z), 0) : NULL;
        return ox_sub(ox_scatter_add(hot, 1, target, oxi_as_dtype_of(g, z)), ox_mul(ox_softmax(z, 1), g));
    }
    const double none = 0;
    ox_tensor *own = ox_empty_like(logits);
    if (!own || oxi_chain_run(text, in, 4, &none, 0, &own) != OX_OK) return NULL;
    return ox_scatter_add_(own, 1, target, oxi_as_dtype_of(g, own));
}

/* Adds a chunk's part to *sum, which is of f32 where there are several chunks of narrow numbers. */
static ox_status oxi_class_logs_add(ox_tensor **sum, ox_tensor *part, bool more) {
    if (*sum)
        part = ox_add_(*sum, part);
    else if (more)
        part = oxi_wide(part);
    if (!part) return ox_error();
    *sum = ox_keep(part);
    return OX_OK;
}

/* Through the linear layer. own: of its result, rows [first, first + count). */
static ox_status oxi_class_layer_back(const oxi_class_head *h, const ox_function_context *c, ox_tensor *own,
                                      int64_t first, int64_t count) {
    ox_tensor **grad = c->input_gradients, *w = h->weight;
    bool more = h->chunk < h->rows;
    if (!own) return ox_error();
    if (c->wants[0]) {
        ox_tensor *x =
            oxi_is_block(w->dtype) ? oxi_times_blocks(own, w) : ox_matmul(oxi_as_dtype_of(own, w), w);
        if (more && !grad[0]) grad[0] = ox_keep(ox_empty_like(h->x));
        if (more)
            x = ox_copy_(ox_narrow(grad[0], 0, first, count), x);
        else
            grad[0] = ox_keep(x);
        if (!x) return ox_error();
    }
    if (c->wants[1]) {
        ox_tensor *x = oxi_as_dtype_of(ox_narrow(h->x, 0, first, count), own), *t = ox_t(own);
        bool adds = grad[1] && own->dtype == grad[1]->dtype;
        if (adds && !ox_addmm_(grad[1], t, x, 1, 1)) return ox_error();
        if (!adds && oxi_class_logs_add(&grad[1], ox_matmul(t, x), more) != OX_OK) return ox_error();
    }
    if (!h->bias || !c->wants[2]) return OX_OK;
    return oxi_class_logs_add(&grad[2], ox_sum(own, OX_DIMS(0), false), more);
}

static ox_status oxi_class_logs_backward(const ox_function_context *c) {
    bool layer = c->user != NULL, biased = c->user == (void *)(uintptr_t)2;
    ox_tensor *const *saved = c->saved;
    oxi_class_head h = oxi_class_head_of(saved[OXI_CLASS_X], layer ? saved[OXI_CLASS_WEIGHT] : NULL,
                                         biased ? saved[OXI_CLASS_BIAS] : NULL, OXI_CLASS_LOGS_MADE);
    ox_status status = OX_OK;
    if (!layer || ox_is_grad_enabled()) h.chunk = h.rows; /* what is recorded is kept anyway */
    for (int64_t first = 0; first < h.rows && status == OX_OK; first += h.chunk) {
        ox_scope scope = ox_scope_begin();
        int64_t count = h.rows - first < h.chunk ? h.rows - first : h.chunk;
        ox_tensor *logits = oxi_class_logits(&h, first, count);
        ox_tensor *own = oxi_class_logits_back(saved, logits, c->gradients[0], first, count);
        if (layer)
            status = oxi_class_layer_back(&h, c, own, first, count);
        else if (!(c->input_gradients[0] = ox_keep(own)))
            status = ox_error();
        ox_scope_end(&scope);
    }
    return status;
}

/* Of rows x [N,C,..], or those that a layer makes of x [N,D]; target [N,..]: classes, i64 or i32. In f32, or
 * f64. The tape sees one function. */
static ox_tensor *oxi_class_logs(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, ox_tensor *target) {
    static const ox_function function = {"cross_entropy", oxi_class_logs_backward, NULL};
    ox_tensor *out[3], *inputs[3] = {x, weight, bias};
    oxi_class_head h = oxi_class_head_of(x, weight, bias, OXI_CLASS_LOGS_MADE);
    ox_dtype dtype = x->dtype == OX_F64 ? OX_F64 : OX_F32;
    int layer = weight ? bias ? 2 : 1 : 0;
    if (!weight) h.chunk = h.rows ? h.rows : 1;
    bool enabled = ox_set_grad_enabled(false);
    ox_status status = OX_OK;
    ox_device *device = oxi_working_device(ox_device_of(x));
    for (int k = 0; k < 3; k++) {
        out[k] = oxi_full("cross_entropy", ox_shape_of(target), 0, dtype, device);
        if (!out[k]) status = ox_error();
    }
    if (status == OX_OK) status = oxi_class_logs_forward(&h, target, out);
    (void)ox_set_grad_enabled(enabled);
    if (status != OX_OK) return NULL;
    ox_tensor *saved[6] = {x, target, out[0], out[1], weight, bias};
    status = ox_attach_function(&function, (void *)(uintptr_t)layer, inputs, 1 + layer, &out[2], 1, saved,
                                4 + layer);
    return status == OX_OK ? out[2] : NULL;
}
