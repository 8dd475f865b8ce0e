/* Products, norms and scales by a part of the model: what every piece of the forward pass is made of.
 * Called by the other parts of this folder. */

/* activation(x W^T + base), or, where there are experts, x by the matrices of each row's:
 * x [S, in] or [S, used, in] -> [S, used, out]. */
typedef struct oxi_llm_wanted {
    const oxi_llm_part *part;
    ox_tensor *x, *experts, *base; /* the last two: or NULL */
    ox_activation activation;
    ox_tensor *out; /* is made */
} oxi_llm_wanted;

static bool oxi_llm_is_plain_product(const oxi_llm_wanted *w) {
    return w->part->scale == 1 && !(w->experts && w->part->scales);
}

/* On the CPU a base and an activation come with their product; a GPU has an activation behind it. */
static bool oxi_llm_is_whole_product(const oxi_llm_wanted *w) {
    return ox_device_of(w->x) == ox_cpu() && w->part->scale == 1 && !w->part->bias && !w->experts;
}

static ox_tensor *oxi_llm_finish_product(const oxi_llm_wanted *w, ox_tensor *out) {
    const oxi_llm_part *part = w->part;
    if (!oxi_llm_is_plain_product(w)) {
        out = w->experts && part->scales ? ox_mul_(out, ox_embedding(w->experts, part->scales))
                                         : ox_mul_number_(out, part->scale);
        if (part->bias) out = ox_add_(out, w->experts ? ox_embedding(w->experts, part->bias) : part->bias);
    }
    if (oxi_llm_is_whole_product(w)) return out;
    if (w->base) out = ox_add_(out, w->base);
    return w->activation == OX_ACTIVATION_TANH ? ox_tanh_(out) : w->activation ? ox_sigmoid_(out) : out;
}

/* Calls that need nothing of each other; an error is that of the first that fails. */
static ox_status oxi_apply_together(oxi_call *calls, int count) {
    oxi_together t;
    memset(&t, 0, sizeof t);
    t.calls = calls;
    t.count = count;
    for (int i = 0; i < count && count > 1; i++) calls[i].together = &t;
    oxi_together_begin(&t);
    oxi_free(t.shared.memory, t.shared.bytes);
    return t.status;
}

/* Up to OXI_TOGETHER_MOST that need nothing of each other; false on error. */
static bool oxi_llm_products(oxi_llm_wanted *list, int count) {
    oxi_call calls[OXI_TOGETHER_MOST];
    ox_tensor *in[OXI_TOGETHER_MOST][4];
    for (int i = 0; i < count; i++) {
        const oxi_llm_wanted *w = &list[i];
        ox_tensor **to = in[i];
        *to++ = w->x;
        *to++ = w->part->weight;
        if (oxi_any_null("llm", in[i], 2)) return false;
        if (w->experts) *to++ = w->experts;
        const bool whole = oxi_llm_is_whole_product(w);
        *to++ = whole ? w->base : oxi_llm_is_plain_product(w) ? w->part->bias : NULL;
        calls[i] = oxi_call_of(w->experts ? OXI_OP_linear_experts : OXI_OP_linear, in[i], (int)(to - in[i]),
                               NULL);
        if (whole) calls[i].attr.activation.activation = w->activation;
    }
    const int each = count > 0 && ox_device_of(list->x) == ox_cpu() ? count : 1;
    for (int i = 0; i < count; i += each) {
        if (oxi_apply_together(calls + i, each) != OX_OK) return false;
        for (int j = i; j < i + each; j++)
            if (!(list[j].out = oxi_llm_finish_product(&list[j], calls[j].out[0]))) return false;
    }
    return true;
}

static oxi_llm_wanted oxi_llm_want(const oxi_llm_part *part, ox_tensor *x) {
    oxi_llm_wanted w;
    memset(&w, 0, sizeof w);
    w.part = part;
    w.x = x;
    return w;
}

static oxi_llm_wanted oxi_llm_want_act(const oxi_llm_part *part, ox_tensor *base, ox_activation activation,
                                       ox_tensor *x) {
    oxi_llm_wanted w = oxi_llm_want(part, x);
    w.base = base;
    w.activation = activation;
    return w;
}

static oxi_llm_wanted oxi_llm_want_experts(const oxi_llm_part *part, ox_tensor *x, ox_tensor *experts) {
    oxi_llm_wanted w = oxi_llm_want(part, x);
    w.experts = experts;
    return w;
}

static ox_tensor *oxi_llm_product_of(oxi_llm_wanted w) { return oxi_llm_products(&w, 1) ? w.out : NULL; }

/* x [S, in] by a matrix whose last rows lie apart. */
static ox_tensor *oxi_llm_product_parted(const oxi_llm_part *part, ox_tensor *x) {
    if (!x) return NULL;
    const int64_t rows = part->weight->shape[0], more = part->rest->shape[0],
                  shape[2] = {x->shape[0], rows + more};
    ox_tensor *bias = part->bias, *out = oxi_tensor_new(ox_cpu(), OX_F32, 2, shape), *in[2][3];
    oxi_call calls[2];
    for (int i = 0; i < 2 && out; i++) {
        const int64_t first = i ? rows : 0, count = i ? more : rows;
        ox_tensor *to = ox_narrow(out, 1, first, count);
        in[i][0] = x;
        in[i][1] = i ? part->rest : part->weight;
        in[i][2] = bias ? ox_narrow(bias, 0, first, count) : NULL;
        if (!to || (bias && !in[i][2])) return NULL;
        calls[i] = oxi_call_of(OXI_OP_linear, in[i], 3, to);
    }
    return out && oxi_apply_together(calls, 2) == OX_OK ? out : NULL;
}

static ox_tensor *oxi_llm_product(const oxi_llm_part *part, ox_tensor *x) {
    if (part->rest) return oxi_llm_product_parted(part, x);
    return oxi_llm_product_of(oxi_llm_want(part, x));
}

/* Over the last dim; a weight of more dims has one row for each of x's last dims but one (heads). */
static ox_tensor *oxi_llm_normalize_with(const ox_llm *model, const oxi_llm_part *part, ox_tensor *x,
                                         double epsilon) {
    ox_tensor *weight = part ? part->weight : NULL, *bias = part ? part->bias : NULL;
    const bool rows = weight && weight->ndim > 1, rms = model->numbers.norm == OXI_LLM_NORM_RMS;
    ox_tensor *w = rows ? NULL : weight, *b = rows ? NULL : bias;
    x = rms ? ox_rms_norm(x, 1, w, epsilon) : ox_layer_norm(x, 1, w, b, epsilon);
    if (rows) x = ox_mul_(x, weight);
    return bias && (rows || rms) ? ox_add_(x, bias) : x;
}

static ox_tensor *oxi_llm_normalize(const ox_llm *model, const oxi_llm_part *part, ox_tensor *x) {
    return oxi_llm_normalize_with(model, part, x, model->numbers.epsilon);
}

static ox_tensor *oxi_llm_scaled(ox_tensor *x, double scale) {
    return scale > 0 && scale != 1 ? ox_mul_number_(x, scale) : x;
}

/* cap tanh(x / cap), or x without a cap. */
static ox_tensor *oxi_llm_capped(double cap, ox_tensor *x) {
    return cap > 0 ? ox_mul_number_(ox_tanh_(ox_mul_number(x, 1 / cap)), cap) : x;
}

/* The norm of rows [S, width], in groups where the family has them. */
static ox_tensor *oxi_llm_normalize_row(const ox_llm *model, const oxi_llm_part *part, ox_tensor *x) {
    const int64_t groups = model->numbers.norm_groups, width = model->config.width;
    if (groups < 2) return oxi_llm_normalize_with(model, part, x, model->numbers.row_epsilon);
    x = oxi_llm_normalize(model, NULL, ox_unflatten(x, 1, OX_SHAPE(groups, width / groups)));
    x = ox_flatten(x, 1, 2);
    return part->weight ? ox_mul_(x, part->weight) : x;
}

/* The sum of rows x [S, rows, width] by a number each [S, rows] -> [S, width] */
static ox_tensor *oxi_llm_sum_rows(ox_tensor *numbers, ox_tensor *x) {
    return ox_squeeze(ox_matmul(ox_unsqueeze(numbers, 1), x), 1);
}

enum { OXI_LLM_HEAD_ROWS = 4 }; /* most rows of which each reads the matrices of heads by itself on a GPU */

/* x [heads, S, n] by a matrix [m, n] a head -> [heads, S, m], into `out` unless it is NULL. Heads are experts
 * that all rows take, where their matrices are kept in fewer bits (oxi_llm_place_head_matrices). */
static ox_tensor *oxi_llm_product_by_head_to(const ox_llm *model, ox_tensor *x, ox_tensor *weights,
                                             ox_tensor *out) {
    if (!x || !weights) return NULL;
    if (weights->dtype != OX_F32 && ox_device_of(weights) == model->device &&
        (model->device == ox_cpu() || x->shape[1] <= OXI_LLM_HEAD_ROWS)) {
        ox_tensor *heads = ox_narrow(model->head_numbers, 1, 0, x->shape[0]);
        heads = ox_expand(heads, OX_SHAPE(x->shape[1], x->shape[0]));
        ox_tensor *in[4] = {ox_transpose(x, 0, 1), weights, heads, NULL};
        if (out && !(out = ox_transpose(out, 0, 1))) return NULL;
        if (oxi_any_null("llm", in, 3)) return NULL;
        return ox_transpose(oxi_apply_list(OXI_OP_linear_experts, NULL, in, 4, out), 0, 1);
    }
    if (weights->dtype != OX_F32) weights = ox_cast(weights, OX_F32);
    ox_tensor *in[2] = {x, ox_transpose(weights, 1, 2)};
    return oxi_any_null("llm", in, 2) ? NULL : oxi_apply_list(OXI_OP_matmul, NULL, in, 2, out);
}

static ox_tensor *oxi_llm_product_by_head(const ox_llm *model, ox_tensor *x, ox_tensor *weights) {
    return oxi_llm_product_by_head_to(model, x, weights, NULL);
}
