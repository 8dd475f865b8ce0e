/* The sum of the logarithms of all probabilities that a softmax gives of a linear layer's results, each times
 * a number: what label smoothing and targets of probabilities need. A function of its own, as class_logs.c,
 * whose chunks it shares: neither the layer's results nor their logarithms are kept. Called by losses.c. */

/* sum_c weight[c] (scale target[c] + shift) log softmax(linear(x))[c], a number a row. */
typedef struct oxi_class_sum {
    double scale, shift; /* target NULL: shift alone */
    bool biased, weighted, targeted;
} oxi_class_sum;

static ox_tensor *oxi_weighted(ox_tensor *terms, ox_tensor *weight) {
    return weight ? ox_mul(terms, weight) : terms;
}

enum { OXI_SUM_X, OXI_SUM_LAYER, OXI_SUM_BIAS, OXI_SUM_TARGET, OXI_SUM_WEIGHT, OXI_SUM_OPERANDS };

/* What log softmax is multiplied by, for rows [first, first + count); of [C] where all rows have the same. */
static ox_tensor *oxi_class_shares(const oxi_class_sum *s, ox_tensor *const *in, const ox_tensor *beside,
                                   int64_t first, int64_t count) {
    ox_tensor *shares = oxi_constant_beside(beside, OX_SHAPE(beside->shape[1]), s->shift);
    if (in[OXI_SUM_TARGET]) {
        ox_tensor *part = ox_narrow(in[OXI_SUM_TARGET], 0, first, count);
        part = part ? ox_cast(part, beside->dtype) : NULL;
        shares = ox_add(ox_mul_number(part, s->scale), shares);
    }
    return oxi_weighted(shares, in[OXI_SUM_WEIGHT]);
}

static ox_status oxi_class_sums_forward(const oxi_class_sum *s, const oxi_class_head *h, ox_tensor *const *in,
                                        ox_tensor *out) {
    ox_status status = OX_OK;
    for (int64_t first = 0; first < h->rows && status == OX_OK; first += h->chunk) {
        ox_scope scope = ox_scope_begin();
        int64_t count = h->rows - first < h->chunk ? h->rows - first : h->chunk;
        ox_tensor *logits = oxi_class_logits(h, first, count);
        ox_tensor *logs = logits ? ox_log_softmax(oxi_wide(logits), 1) : NULL;
        ox_tensor *shares = logs ? oxi_class_shares(s, in, logs, first, count) : NULL;
        ox_tensor *sums = shares ? ox_sum(ox_mul(logs, shares), OX_DIMS(1), false) : NULL;
        if (!sums || !ox_copy_(ox_narrow(out, 0, first, count), sums)) status = ox_error();
        ox_scope_end(&scope);
    }
    return status;
}

/* The gradient of a chunk's targets: g weight scale log softmax. */
static ox_status oxi_class_sums_target(const oxi_class_sum *s, const ox_function_context *c,
                                       ox_tensor *weight, ox_tensor *logs, ox_tensor *g, int at,
                                       int64_t first, bool whole) {
    ox_tensor *target = c->saved[OXI_SUM_TARGET];
    ox_tensor *own = oxi_weighted(ox_mul_number(ox_mul(logs, g), s->scale), weight);
    if (!own) return ox_error();
    if (whole) {
        c->input_gradients[at] = ox_keep(ox_cast(own, target->dtype));
        return c->input_gradients[at] ? OX_OK : ox_error();
    }
    if (!c->input_gradients[at]) c->input_gradients[at] = ox_keep(ox_empty_like(target));
    return ox_copy_(ox_narrow(c->input_gradients[at], 0, first, own->shape[0]), own) ? OX_OK : ox_error();
}

static ox_status oxi_class_sums_chunk(const oxi_class_sum *s, const oxi_class_head *h,
                                      const ox_function_context *c, ox_tensor *const *in, int64_t first,
                                      int64_t count) {
    int target_at = s->biased ? 3 : 2;
    ox_tensor *g = oxi_class_rows(c->gradients[0], first, count);
    ox_tensor *logits = oxi_class_logits(h, first, count);
    ox_tensor *logs = logits && g ? ox_log_softmax(oxi_wide(logits), 1) : NULL;
    ox_tensor *shares = logs ? oxi_class_shares(s, in, logs, first, count) : NULL;
    if (!shares) return ox_error();
    int classes = shares->ndim - 1;
    ox_tensor *all = ox_mul(ox_exp(logs), ox_sum(shares, OX_DIMS(classes), true));
    ox_tensor *own = ox_mul(ox_sub(shares, all), g);
    ox_status status = oxi_class_layer_back(h, c, own ? oxi_as_dtype_of(own, logits) : NULL, first, count);
    if (status != OX_OK || !s->targeted || !c->wants[target_at]) return status;
    return oxi_class_sums_target(s, c, in[OXI_SUM_WEIGHT], logs, g, target_at, first, h->chunk == h->rows);
}

/* Operands as they were given: what was not there is saved as x. */
static void oxi_class_sums_operands(const oxi_class_sum *s, ox_tensor *const *saved, ox_tensor **in) {
    in[OXI_SUM_X] = saved[OXI_SUM_X];
    in[OXI_SUM_LAYER] = saved[OXI_SUM_LAYER];
    in[OXI_SUM_BIAS] = s->biased ? saved[OXI_SUM_BIAS] : NULL;
    in[OXI_SUM_TARGET] = s->targeted ? saved[OXI_SUM_TARGET] : NULL;
    in[OXI_SUM_WEIGHT] = s->weighted ? saved[OXI_SUM_WEIGHT] : NULL;
}

static ox_status oxi_class_sums_backward(const ox_function_context *c) {
    const oxi_class_sum *s = (const oxi_class_sum *)c->user;
    ox_tensor *in[OXI_SUM_OPERANDS];
    oxi_class_sums_operands(s, c->saved, in);
    oxi_class_head h =
        oxi_class_head_of(in[OXI_SUM_X], in[OXI_SUM_LAYER], in[OXI_SUM_BIAS], OXI_CLASS_LOGS_MADE);
    ox_function_context own = *c;
    bool wants[4] = {c->wants[0], c->wants[1], s->biased && c->wants[2], false};
    ox_status status = OX_OK;
    if (s->targeted) wants[s->biased ? 3 : 2] = c->wants[s->biased ? 3 : 2];
    own.wants = wants;
    if (ox_is_grad_enabled()) h.chunk = h.rows ? h.rows : 1; /* what is recorded is kept anyway */
    for (int64_t first = 0; first < h.rows && status == OX_OK; first += h.chunk) {
        ox_scope scope = ox_scope_begin();
        int64_t count = h.rows - first < h.chunk ? h.rows - first : h.chunk;
        status = oxi_class_sums_chunk(s, &h, &own, in, first, count);
        ox_scope_end(&scope);
    }
    return status;
}

static void oxi_class_sums_drop(void *user) {
    oxi_free(user, sizeof(oxi_class_sum));
}

/* Rows x [N,D], layer [C,D], bias [C] or NULL, target [N,C] or NULL, weight [C] or NULL -> [N], in f32 or
 * f64. */
static ox_tensor *oxi_class_sums(ox_tensor *x, ox_tensor *layer, ox_tensor *bias, ox_tensor *target,
                                 ox_tensor *weight, double scale, double shift) {
    static const ox_function function = {"cross_entropy", oxi_class_sums_backward, oxi_class_sums_drop};
    ox_tensor *in[OXI_SUM_OPERANDS] = {x, layer, bias, target, weight}, *saved[OXI_SUM_OPERANDS], *inputs[4];
    oxi_class_sum *s = (oxi_class_sum *)oxi_calloc(1, sizeof *s);
    int count = 0;
    if (!s) return NULL;
    s->scale = scale;
    s->shift = shift;
    s->biased = bias != NULL;
    s->targeted = target != NULL;
    s->weighted = weight != NULL;
    for (int i = 0; i < OXI_SUM_OPERANDS; i++) saved[i] = in[i] ? in[i] : x;
    for (int i = 0; i < OXI_SUM_WEIGHT; i++)
        if (in[i]) inputs[count++] = in[i];
    oxi_class_head h = oxi_class_head_of(x, layer, bias, OXI_CLASS_LOGS_MADE);
    bool enabled = ox_set_grad_enabled(false);
    ox_tensor *out = oxi_full("cross_entropy", OX_SHAPE(h.rows), 0, x->dtype == OX_F64 ? OX_F64 : OX_F32,
                              oxi_working_device(ox_device_of(x)));
    ox_status status = out ? oxi_class_sums_forward(s, &h, in, out) : ox_error();
    (void)ox_set_grad_enabled(enabled);
    if (status != OX_OK) {
        oxi_class_sums_drop(s);
        return NULL;
    }
    status = ox_attach_function(&function, s, inputs, count, &out, 1, saved, OXI_SUM_OPERANDS);
    return status == OX_OK ? out : NULL;
}
