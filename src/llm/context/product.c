/* Products, norms and scales by a part of the model: what every piece of the forward pass is made of.
 * Called by the other parts of this folder. */

static ox_tensor *oxi_llm_product(const oxi_llm_part *part, ox_tensor *x) {
    x = ox_linear(x, part->weight, part->scale == 1 ? part->bias : NULL);
    if (part->scale == 1) return x;
    x = ox_mul_number_(x, part->scale);
    return part->bias ? ox_add_(x, part->bias) : x;
}

/* activation(x W^T + base), base NULL: 0. One call on the CPU; a GPU has an activation behind its product. */
static ox_tensor *oxi_llm_product_act(const oxi_llm_part *part, ox_tensor *base, ox_activation activation,
                                      ox_tensor *x) {
    if (x && ox_device_of(x) == ox_cpu() && part->scale == 1 && !part->bias)
        return ox_linear_act(x, part->weight, base, activation);
    x = oxi_llm_product(part, x);
    if (base) x = ox_add_(x, base);
    return activation == OX_ACTIVATION_TANH ? ox_tanh_(x) : activation ? ox_sigmoid_(x) : x;
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
    if (groups < 2) return oxi_llm_normalize(model, part, x);
    x = oxi_llm_normalize(model, NULL, ox_unflatten(x, 1, OX_SHAPE(groups, width / groups)));
    x = ox_flatten(x, 1, 2);
    return part->weight ? ox_mul_(x, part->weight) : x;
}

/* The sum of rows x [S, rows, width] by a number each [S, rows] -> [S, width] */
static ox_tensor *oxi_llm_sum_rows(ox_tensor *numbers, ox_tensor *x) {
    return ox_squeeze(ox_matmul(ox_unsqueeze(numbers, 1), x), 1);
}

/* x [heads, S, n] by a matrix [m, n] a head -> [heads, S, m], into `out` unless it is NULL. Heads are experts
 * that all rows take, where their matrices are kept in fewer bits (oxi_llm_place_head_matrices). */
static ox_tensor *oxi_llm_product_by_head_to(ox_tensor *x, ox_tensor *weights, ox_tensor *out) {
    if (!x || !weights) return NULL;
    if (weights->dtype != OX_F32 && ox_device_of(weights) == ox_cpu()) {
        ox_tensor *heads = oxi_arange(0, (double)x->shape[0], 1, OX_I32, ox_cpu());
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

static ox_tensor *oxi_llm_product_by_head(ox_tensor *x, ox_tensor *weights) {
    return oxi_llm_product_by_head_to(x, weights, NULL);
}
