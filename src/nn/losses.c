/* Losses in terms of other operations, which bring the gradients. Where a plain formula has an infinite slope
 * that a branch leaves unused, the operand is replaced first: 0 times infinity would be a gradient of NaN. */

#define OXI_LOG_2_PI 1.8378770664093454

static ox_tensor *oxi_reduce_loss(ox_tensor *terms, ox_loss_reduction reduction) {
    if (!terms) return NULL;
    switch (reduction) {
    case OX_LOSS_MEAN: return ox_mean(terms, OX_ALL_DIMS, false);
    case OX_LOSS_SUM: return ox_sum(terms, OX_ALL_DIMS, false);
    case OX_LOSS_NONE: return terms;
    default: return OXI_FAIL_NULL(OX_ERR_ARG, "loss: no reduction %d", (int)reduction);
    }
}

static ox_tensor *oxi_loss_end(oxi_work *work, ox_tensor *terms, ox_loss_reduction reduction) {
    return oxi_work_end(work, oxi_reduce_loss(terms, reduction));
}

/* max(x, low); slope 1 at low, as torch's clamp_min. */
static ox_tensor *oxi_at_least(ox_tensor *x, double low) {
    return ox_clamp(x, low, INFINITY);
}

/* The same, with slope 1 everywhere: torch clamps such numbers unseen by the tape. */
static ox_tensor *oxi_raise(ox_tensor *x, double low) {
    ox_tensor *plain = x ? ox_detach(x) : NULL;
    return ox_add(x, ox_sub(oxi_at_least(plain, low), plain));
}

/* ---- of numbers ---------------------------------------------------------------------------------------- */

OX_API ox_tensor *ox_mse_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction) {
    oxi_work work = oxi_work_begin("mse_loss");
    return oxi_loss_end(&work, ox_square(ox_sub(input, target)), reduction);
}

OX_API ox_tensor *ox_l1_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction) {
    oxi_work work = oxi_work_begin("l1_loss");
    return oxi_loss_end(&work, ox_abs(ox_sub(input, target)), reduction);
}

/* q (|d| - q / 2) with q = min(|d|, delta): both branches in one, without a choice between them. */
static ox_tensor *oxi_huber_terms(ox_tensor *input, ox_tensor *target, double delta) {
    ox_tensor *size = ox_abs(ox_sub(input, target)), *most = ox_clamp(size, -INFINITY, delta);
    return ox_mul(most, ox_add_scaled(size, most, -0.5));
}

OX_API ox_tensor *ox_huber_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction,
                                double delta) {
    if (!(delta > 0)) return OXI_FAIL_NULL(OX_ERR_ARG, "huber_loss: delta %g is not above 0", delta);
    oxi_work work = oxi_work_begin("huber_loss");
    return oxi_loss_end(&work, oxi_huber_terms(input, target, delta), reduction);
}

OX_API ox_tensor *ox_smooth_l1_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction,
                                    double beta) {
    if (!(beta >= 0)) return OXI_FAIL_NULL(OX_ERR_ARG, "smooth_l1_loss: beta %g is below 0", beta);
    oxi_work work = oxi_work_begin("smooth_l1_loss");
    ox_tensor *terms =
        beta > 0 ? ox_div_number(oxi_huber_terms(input, target, beta), beta) : ox_abs(ox_sub(input, target));
    return oxi_loss_end(&work, terms, reduction);
}

/* ---- of classes ---------------------------------------------------------------------------------------- */

/* Losses of a class a position, before and after its class was looked up. */
typedef struct oxi_class_loss {
    ox_tensor *target; /* 0 where it is ignored */
    ox_tensor *counts; /* bool: whether a position does */
    ox_tensor *weight; /* of each position, 0 where it does not count; NULL: all 1 */
    int dim;           /* of the classes in the input */
} oxi_class_loss;

static bool oxi_class_weight_fits(const ox_tensor *weight, const ox_tensor *input, int dim) {
    if (!weight || (weight->ndim == 1 && weight->shape[0] == input->shape[dim])) return true;
    (void)oxi_fail(OX_ERR_SHAPE, "loss: the weight %s of the classes of %s", oxi_tensor_text(weight),
                   oxi_tensor_text(input));
    return false;
}

/* The dim of the classes, -1 and an error where target does not fit. */
static int oxi_class_dim(ox_tensor *input, ox_tensor *target, ox_tensor *weight) {
    ox_tensor *both[2] = {input, target};
    int dim = input && input->ndim > 1;
    if (oxi_any_null("loss", both, 2)) return -1;
    if (input->ndim == 0 || !oxi_same_sizes(target, input, dim)) {
        (void)oxi_fail(OX_ERR_SHAPE, "loss: classes %s of an input %s", oxi_tensor_text(target),
                       oxi_tensor_text(input));
        return -1;
    }
    return oxi_class_weight_fits(weight, input, dim) ? dim : -1;
}

static bool oxi_class_targets(oxi_class_loss *c, ox_tensor *target, ox_tensor *weight, int64_t ignored) {
    bool whole = target && (target->dtype == OX_I64 || target->dtype == OX_I32);
    memset(c, 0, sizeof *c);
    if (target && !whole && !oxi_is_int(target->dtype) && target->dtype != OX_BOOL) {
        (void)oxi_fail(OX_ERR_DTYPE, "loss: classes %s are not integers", oxi_tensor_text(target));
        return false;
    }
    target = whole ? target : ox_cast(target, OX_I64);
    c->counts = ox_ne_number(target, (double)ignored);
    c->target = ox_masked_fill(target, ox_logical_not(c->counts), 0);
    if (weight && c->target) {
        ox_tensor *each = ox_index_select(weight, 0, ox_flatten(c->target, 0, -1));
        each = ox_reshape(each, ox_shape_of(c->target));
        c->weight = ox_masked_fill(each, ox_logical_not(c->counts), 0);
        if (!c->weight) return false;
    }
    return c->target != NULL;
}

static bool oxi_class_loss_of(oxi_class_loss *c, ox_tensor *input, ox_tensor *target, ox_tensor *weight,
                              int64_t ignored) {
    int dim = oxi_class_dim(input, target, weight);
    if (dim < 0 || !oxi_class_targets(c, target, weight, ignored)) return false;
    c->dim = dim;
    return true;
}

/* -weight[target] input[target], 0 where it is ignored, whatever input is there. */
static ox_tensor *oxi_nll_terms(const oxi_class_loss *c, ox_tensor *input) {
    ox_tensor *picked = ox_squeeze(ox_gather(input, c->dim, ox_unsqueeze(c->target, c->dim)), c->dim);
    return oxi_weighted(ox_neg(ox_masked_fill(picked, ox_logical_not(c->counts), 0)), c->weight);
}

/* Means divide by the weight of what counts. */
static ox_tensor *oxi_reduce_classes(const oxi_class_loss *c, ox_tensor *terms, ox_loss_reduction reduction) {
    if (reduction != OX_LOSS_MEAN) return oxi_reduce_loss(terms, reduction);
    ox_tensor *count = ox_sum(c->weight ? c->weight : c->counts, OX_ALL_DIMS, false);
    return ox_div(ox_sum(terms, OX_ALL_DIMS, false), count);
}

OX_API ox_tensor *ox_nll_loss(ox_tensor *input, ox_tensor *target, const ox_nll_loss_desc *desc) {
    ox_nll_loss_desc plain;
    oxi_class_loss c;
    memset(&plain, 0, sizeof plain);
    if (!desc) desc = &plain;
    oxi_work work = oxi_work_begin("nll_loss");
    ox_tensor *loss = NULL;
    if (oxi_class_loss_of(&c, input, target, desc->weight, desc->ignores ? desc->ignore_index : -100))
        loss = oxi_reduce_classes(&c, oxi_nll_terms(&c, input), desc->reduction);
    return oxi_work_end(&work, loss);
}

/* The weights of the classes along their dim of an input. */
static ox_tensor *oxi_weight_along(ox_tensor *weight, const ox_tensor *input, int dim) {
    ox_shape shape = ox_shape_of(input);
    for (int d = 0; d < shape.ndim; d++) shape.dim[d] = d == dim ? input->shape[dim] : 1;
    return weight ? ox_reshape(weight, shape) : NULL;
}

/* Terms in f32 as what they are made of: of the dtype that input and weight are promoted to. */
static ox_tensor *oxi_as_loss_of(ox_tensor *loss, const ox_tensor *input, const ox_tensor *weight) {
    if (!loss || (weight && weight->dtype != input->dtype)) return loss;
    return ox_cast(loss, input->dtype);
}

/* -weight[target] log(softmax(logits)[target]), logits being input, or what layer [C,D] makes of it. */
static ox_tensor *oxi_class_terms(const oxi_class_loss *c, ox_tensor *input, ox_tensor *layer,
                                  ox_tensor *bias) {
    bool one = input->ndim == 1; /* without a dim of rows */
    ox_tensor *x = one ? ox_unsqueeze(input, 0) : input;
    ox_tensor *target = one ? ox_unsqueeze(c->target, 0) : c->target;
    ox_tensor *logs = x && target ? oxi_class_logs(x, layer, bias, target) : NULL;
    if (one) logs = ox_squeeze(logs, 0);
    return oxi_weighted(ox_neg(ox_masked_fill(logs, ox_logical_not(c->counts), 0)), c->weight);
}

static ox_tensor *oxi_cross_entropy_of_classes(ox_tensor *input, ox_tensor *target,
                                               const ox_cross_entropy_desc *desc) {
    oxi_class_loss c;
    double smoothing = desc->label_smoothing;
    int64_t ignored = desc->ignores ? desc->ignore_index : -100;
    if (!oxi_class_loss_of(&c, input, target, desc->weight, ignored)) return NULL;
    if (!(smoothing > 0)) {
        ox_tensor *loss = oxi_reduce_classes(&c, oxi_class_terms(&c, input, NULL, NULL), desc->reduction);
        return oxi_as_loss_of(loss, input, desc->weight);
    }
    ox_tensor *logs = ox_log_softmax(input, c.dim), *terms = oxi_nll_terms(&c, logs);
    ox_tensor *all = oxi_weighted(logs, oxi_weight_along(desc->weight, input, c.dim));
    all = ox_sum(all, OX_DIMS(c.dim), false);
    all = ox_masked_fill(all, ox_logical_not(c.counts), 0);
    double share = smoothing / (double)input->shape[c.dim];
    terms = ox_add_scaled(ox_mul_number(terms, 1 - smoothing), all, -share);
    return oxi_reduce_classes(&c, terms, desc->reduction);
}

static ox_tensor *oxi_cross_entropy_of_probabilities(ox_tensor *input, ox_tensor *target,
                                                     const ox_cross_entropy_desc *desc) {
    int dim = input->ndim > 1;
    double smoothing = desc->label_smoothing, classes = (double)input->shape[dim];
    if (desc->ignores) return OXI_FAIL_NULL(OX_ERR_ARG, "loss: classes can be ignored, probabilities cannot");
    if (!oxi_is_float(target->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "loss: probabilities %s are not floats", oxi_tensor_text(target));
    if (!oxi_class_weight_fits(desc->weight, input, dim)) return NULL;
    if (smoothing > 0) target = ox_add_number(ox_mul_number(target, 1 - smoothing), smoothing / classes);
    ox_tensor *products = ox_mul(ox_log_softmax(input, dim), target);
    products = oxi_weighted(products, oxi_weight_along(desc->weight, input, dim));
    ox_tensor *terms = ox_neg(ox_sum(products, OX_DIMS(dim), false));
    return oxi_reduce_loss(terms, desc->reduction);
}

OX_API ox_tensor *ox_cross_entropy(ox_tensor *input, ox_tensor *target, const ox_cross_entropy_desc *desc) {
    ox_cross_entropy_desc plain;
    ox_tensor *both[2] = {input, target}, *loss;
    memset(&plain, 0, sizeof plain);
    if (!desc) desc = &plain;
    if (oxi_any_null("cross_entropy", both, 2)) return NULL;
    if (!(desc->label_smoothing >= 0 && desc->label_smoothing <= 1))
        return OXI_FAIL_NULL(OX_ERR_ARG, "cross_entropy: label_smoothing %g is not in [0, 1]",
                             desc->label_smoothing);
    oxi_work work = oxi_work_begin("cross_entropy");
    if (input->ndim > 0 && oxi_same_sizes(target, input, -1))
        loss = oxi_cross_entropy_of_probabilities(input, target, desc);
    else
        loss = oxi_cross_entropy_of_classes(input, target, desc);
    return oxi_work_end(&work, loss);
}

/* The product of all sizes but the last ones. */
static int64_t oxi_outer_count(const ox_tensor *t, int last) {
    int64_t count = 1;
    for (int d = 0; d < t->ndim - last; d++) count *= t->shape[d];
    return count;
}

/* Whether the operands of linear_cross_entropy go together; *of_classes: as targets of classes. The dims of a
 * layer [C,d1..,D] between its first and last one stand behind those of x in targets of classes, and behind
 * the classes in those of probabilities. */
static bool oxi_layer_fits(ox_tensor *x, ox_tensor *layer, ox_tensor *target, ox_tensor *bias,
                           ox_tensor *weight, bool *of_classes) {
    bool fits = x->ndim > 0 && layer->ndim >= 2 && layer->shape[layer->ndim - 1] == x->shape[x->ndim - 1] &&
                x->ndim + layer->ndim - 2 <= OX_MAX_DIMS && (layer->ndim == 2 || x->ndim > 1);
    ox_tensor like = oxi_borrowed(x);
    like.ndim--;
    for (int d = 1; d < layer->ndim - 1 && fits; d++) like.shape[like.ndim++] = layer->shape[d];
    *of_classes = fits && oxi_same_sizes(target, &like, -1);
    if (fits && !*of_classes)
        fits = target->ndim >= x->ndim && target->shape[x->ndim - 1] == layer->shape[0] &&
               oxi_same_sizes(&like, target, x->ndim - 1);
    if (fits && bias) fits = oxi_same_sizes(bias, layer, layer->ndim - 1);
    if (fits) return oxi_class_weight_fits(weight, layer, 0);
    (void)oxi_fail(OX_ERR_SHAPE, "loss: targets %s of %s through a layer %s", oxi_tensor_text(target),
                   oxi_tensor_text(x), oxi_tensor_text(layer));
    return false;
}

/* Rows x [N,D] through a layer [C,D]; c: of their classes, NULL: target [N,C] are probabilities. Terms [N].
 * */
static ox_tensor *oxi_linear_terms(const oxi_class_loss *c, ox_tensor *x, ox_tensor *layer, ox_tensor *bias,
                                   ox_tensor *target, const ox_cross_entropy_desc *desc) {
    double smoothing = desc->label_smoothing, share = smoothing / (double)layer->shape[0];
    if (!c) return ox_neg(oxi_class_sums(x, layer, bias, target, desc->weight, 1 - smoothing, share));
    ox_tensor *terms = oxi_class_terms(c, x, layer, bias);
    if (!terms || smoothing == 0) return terms;
    ox_tensor *all = oxi_class_sums(x, layer, bias, NULL, desc->weight, 0, share);
    all = all ? ox_masked_fill(all, ox_logical_not(c->counts), 0) : NULL;
    return ox_sub(ox_mul_number(terms, 1 - smoothing), all);
}

/* Column j of what has one a row, or NULL. */
static ox_tensor *oxi_column(ox_tensor *t, int64_t j) {
    return t ? ox_select(t, 1, j) : NULL;
}

/* The same through J layers [C,J,D]; targets of classes [N,J], of probabilities [N,C,J]. Terms [N,J]. */
static ox_tensor *oxi_layered_terms(const oxi_class_loss *c, ox_tensor *x, ox_tensor *layer, ox_tensor *bias,
                                    ox_tensor *target, const ox_cross_entropy_desc *desc) {
    int64_t layers = layer->shape[1];
    size_t bytes;
    ox_tensor **list = layers <= INT32_MAX ? oxi_list_new(layers, &bytes) : NULL, *made = NULL;
    bool done = list && layers > 0;
    for (int64_t j = 0; j < layers && done; j++) {
        oxi_class_loss own;
        if (c) {
            own = *c;
            own.target = oxi_column(c->target, j);
            own.counts = oxi_column(c->counts, j);
            own.weight = oxi_column(c->weight, j);
        }
        ox_tensor *probabilities = c ? NULL : ox_select(target, 2, j);
        list[j] = oxi_linear_terms(c ? &own : NULL, x, ox_select(layer, 1, j), oxi_column(bias, j),
                                   probabilities, desc);
        done = list[j] != NULL;
    }
    if (done) made = ox_stack(list, (int)layers, 1);
    if (list && layers == 0) made = oxi_constant_beside(x, OX_SHAPE(x->shape[0], 0), 0);
    if (list) oxi_free(list, bytes ? bytes : sizeof *list);
    return made;
}

/* Rows x [N,D] and a layer [C,J,D], in chunks. */
static ox_tensor *oxi_linear_cross_entropy(ox_tensor *x, ox_tensor *layer, ox_tensor *target, ox_tensor *bias,
                                           bool of_classes, const ox_cross_entropy_desc *desc) {
    oxi_class_loss c;
    ox_tensor *loss;
    if (!of_classes && desc->ignores)
        return OXI_FAIL_NULL(OX_ERR_ARG, "loss: classes can be ignored, probabilities cannot");
    if (of_classes && !oxi_class_targets(&c, target, desc->weight, desc->ignores ? desc->ignore_index : -100))
        return NULL;
    loss = oxi_layered_terms(of_classes ? &c : NULL, x, layer, bias, target, desc);
    if (!loss) return NULL;
    loss =
        of_classes ? oxi_reduce_classes(&c, loss, desc->reduction) : oxi_reduce_loss(loss, desc->reduction);
    return oxi_as_loss_of(loss, x, desc->weight);
}

OX_API ox_tensor *ox_linear_cross_entropy(ox_tensor *x, ox_tensor *layer, ox_tensor *target, ox_tensor *bias,
                                          const ox_cross_entropy_desc *desc) {
    ox_cross_entropy_desc plain;
    ox_tensor *all[3] = {x, layer, target}, *loss = NULL;
    bool of_classes;
    memset(&plain, 0, sizeof plain);
    if (!desc) desc = &plain;
    if (oxi_any_null("linear_cross_entropy", all, 3)) return NULL;
    if (!(desc->label_smoothing >= 0 && desc->label_smoothing <= 1))
        return OXI_FAIL_NULL(OX_ERR_ARG, "linear_cross_entropy: label_smoothing %g is not in [0, 1]",
                             desc->label_smoothing);
    oxi_work work = oxi_work_begin("linear_cross_entropy");
    if (oxi_layer_fits(x, layer, target, bias, desc->weight, &of_classes)) {
        int64_t rows = oxi_outer_count(x, 1), classes = layer->shape[0], layers = 1;
        for (int d = 1; d < layer->ndim - 1; d++) layers *= layer->shape[d];
        ox_shape shape = ox_shape_of(target);
        for (int d = x->ndim - 1; !of_classes && d + 1 < shape.ndim; d++) shape.dim[d] = shape.dim[d + 1];
        if (!of_classes) shape.ndim--;
        ox_tensor *flat = ox_reshape(x, OX_SHAPE(rows, x->shape[x->ndim - 1]));
        layer = ox_reshape(layer, OX_SHAPE(classes, layers, layer->shape[layer->ndim - 1]));
        if (bias) bias = ox_reshape(bias, OX_SHAPE(classes, layers));
        target = ox_reshape(target, of_classes ? OX_SHAPE(rows, layers) : OX_SHAPE(rows, classes, layers));
        if (flat && layer && target)
            loss = oxi_linear_cross_entropy(flat, layer, target, bias, of_classes, desc);
        if (loss && desc->reduction == OX_LOSS_NONE) loss = ox_reshape(loss, shape);
    }
    return oxi_work_end(&work, loss);
}

/* ---- of probabilities ---------------------------------------------------------------------------------- */

/* max(log(x), -100), or of 1 - x, that has a slope where x is 0 (1): 0. */
static ox_tensor *oxi_cut_log(ox_tensor *x, bool of_the_rest) {
    ox_tensor *end = ox_eq_number(x, of_the_rest ? 1 : 0);
    ox_tensor *inside = ox_masked_fill(x, end, of_the_rest ? 0 : 1);
    ox_tensor *log = of_the_rest ? ox_log1p(ox_neg(inside)) : ox_log(inside);
    return oxi_at_least(ox_masked_fill(log, end, -100), -100);
}

OX_API ox_tensor *ox_binary_cross_entropy(ox_tensor *input, ox_tensor *target, ox_tensor *weight,
                                          ox_loss_reduction reduction) {
    ox_tensor *both[2] = {input, target};
    if (oxi_any_null("binary_cross_entropy", both, 2)) return NULL;
    if (!oxi_same_sizes(target, input, -1))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "binary_cross_entropy: a target %s of an input %s",
                             oxi_tensor_text(target), oxi_tensor_text(input));
    oxi_work work = oxi_work_begin("binary_cross_entropy");
    ox_tensor *rest = ox_rsub_number(target, 1), *at_1 = oxi_cut_log(input, true);
    ox_tensor *terms = ox_add(ox_mul(target, oxi_cut_log(input, false)), ox_mul(rest, at_1));
    return oxi_loss_end(&work, oxi_weighted(ox_neg(terms), weight), reduction);
}

/* (1 - target) x - (1 + (pos_weight - 1) target) logsigmoid(x) */
static ox_tensor *oxi_logit_terms(ox_tensor *input, ox_tensor *target, ox_tensor *pos_weight) {
    ox_tensor *log = ox_logsigmoid(input), *rest = ox_mul(ox_rsub_number(target, 1), input);
    if (pos_weight) log = ox_mul(log, ox_add_number(ox_mul(ox_sub_number(pos_weight, 1), target), 1));
    return ox_sub(rest, log);
}

OX_API ox_tensor *ox_binary_cross_entropy_with_logits(ox_tensor *input, ox_tensor *target, ox_tensor *weight,
                                                      ox_tensor *pos_weight, ox_loss_reduction reduction) {
    ox_tensor *both[2] = {input, target};
    if (oxi_any_null("binary_cross_entropy_with_logits", both, 2)) return NULL;
    if (!oxi_same_sizes(target, input, -1))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "binary_cross_entropy_with_logits: a target %s of an input %s",
                             oxi_tensor_text(target), oxi_tensor_text(input));
    oxi_work work = oxi_work_begin("binary_cross_entropy_with_logits");
    return oxi_loss_end(&work, oxi_weighted(oxi_logit_terms(input, target, pos_weight), weight), reduction);
}

/* t log(t), 0 at 0. */
static ox_tensor *oxi_t_log_t(ox_tensor *t) {
    ox_tensor *none = ox_eq_number(t, 0), *inside = ox_masked_fill(t, none, 1);
    return ox_mul(t, ox_log(inside));
}

OX_API ox_tensor *ox_kl_div(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction,
                            bool log_target) {
    ox_tensor *both[2] = {input, target};
    if (oxi_any_null("kl_div", both, 2)) return NULL;
    oxi_work work = oxi_work_begin("kl_div");
    ox_tensor *terms = log_target ? ox_mul(ox_exp(target), ox_sub(target, input))
                                  : ox_sub(oxi_t_log_t(target), ox_mul(target, input));
    if (reduction != OX_LOSS_BATCHMEAN) return oxi_loss_end(&work, terms, reduction);
    ox_tensor *sum = oxi_reduce_loss(terms, OX_LOSS_SUM);
    return oxi_work_end(&work, input->ndim ? ox_div_number(sum, (double)input->shape[0]) : sum);
}

/* The variance as it broadcasts to the input: with a last dim of 1 where that is missing. */
static ox_tensor *oxi_variance_beside(ox_tensor *variance, const ox_tensor *input) {
    int ndim = input->ndim;
    bool fits = variance->ndim == ndim || variance->ndim == 0;
    for (int d = 0; d < ndim && fits && variance->ndim; d++)
        fits = variance->shape[d] == input->shape[d] || variance->shape[d] == 1;
    if (fits)
        return variance->is_number ? ox_mul(variance, ox_ones_like(input)) : variance; /* f32, f64 as input */
    if (ndim > 0 && oxi_same_sizes(variance, input, ndim - 1)) return ox_unsqueeze(variance, -1);
    return OXI_FAIL_NULL(OX_ERR_SHAPE, "gaussian_nll_loss: variances %s of an input %s",
                         oxi_tensor_text(variance), oxi_tensor_text(input));
}

OX_API ox_tensor *ox_gaussian_nll_loss(ox_tensor *input, ox_tensor *target, ox_tensor *variance, bool full,
                                       double eps, ox_loss_reduction reduction) {
    ox_tensor *all[3] = {input, target, variance};
    if (oxi_any_null("gaussian_nll_loss", all, 3)) return NULL;
    oxi_work work = oxi_work_begin("gaussian_nll_loss");
    ox_tensor *raised = oxi_raise(oxi_variance_beside(variance, input), eps);
    ox_tensor *ratio = ox_div(ox_square(ox_sub(input, target)), raised);
    ox_tensor *terms = ox_mul_number(ox_add(ox_log(raised), ratio), 0.5);
    if (full) terms = ox_add_number(terms, 0.5 * OXI_LOG_2_PI);
    return oxi_loss_end(&work, terms, reduction);
}

/* log(t!) for t above 1, 0 below: t log t - t + log(2 pi t) / 2. */
static ox_tensor *oxi_stirling(ox_tensor *target) {
    ox_tensor *small = ox_le_number(target, 1), *t = ox_masked_fill(target, small, 1);
    ox_tensor *log = ox_log(t), *sum = ox_add_scaled(ox_sub(ox_mul(t, log), t), log, 0.5);
    return ox_masked_fill(ox_add_number(sum, 0.5 * OXI_LOG_2_PI), small, 0);
}

OX_API ox_tensor *ox_poisson_nll_loss(ox_tensor *input, ox_tensor *target, bool log_input, bool full,
                                      double eps, ox_loss_reduction reduction) {
    oxi_work work = oxi_work_begin("poisson_nll_loss");
    ox_tensor *rate = log_input ? ox_exp(input) : input;
    ox_tensor *log = log_input ? input : ox_log(ox_add_number(input, eps));
    ox_tensor *terms = ox_sub(rate, ox_mul(target, log));
    if (full) terms = ox_add(terms, oxi_stirling(target));
    return oxi_loss_end(&work, terms, reduction);
}

/* ---- of margins ---------------------------------------------------------------------------------------- */

/* x where the target is not `unless`, 0 where it is. */
static ox_tensor *oxi_unless(ox_tensor *x, ox_tensor *target, double unless) {
    return ox_where(ox_eq_number(target, unless), ox_number(0), x);
}

OX_API ox_tensor *ox_hinge_embedding_loss(ox_tensor *input, ox_tensor *target, double margin,
                                          ox_loss_reduction reduction) {
    oxi_work work = oxi_work_begin("hinge_embedding_loss");
    ox_tensor *apart = oxi_at_least(ox_rsub_number(input, margin), 0);
    ox_tensor *terms = ox_add(oxi_unless(apart, target, 1), oxi_unless(input, target, -1));
    return oxi_loss_end(&work, terms, reduction);
}

OX_API ox_tensor *ox_margin_ranking_loss(ox_tensor *input1, ox_tensor *input2, ox_tensor *target,
                                         double margin, ox_loss_reduction reduction) {
    oxi_work work = oxi_work_begin("margin_ranking_loss");
    ox_tensor *order = ox_mul(ox_neg(target), ox_sub(input1, input2));
    return oxi_loss_end(&work, oxi_at_least(ox_add_number(order, margin), 0), reduction);
}

/* torch's own cosine in this loss: 1e-12 is added to the squares of both norms. */
static ox_tensor *oxi_cosine(ox_tensor *a, ox_tensor *b) {
    ox_tensor *sizes[2] = {ox_square(a), ox_square(b)};
    for (int i = 0; i < 2; i++) sizes[i] = ox_add_number(ox_sum(sizes[i], OX_DIMS(-1), false), 1e-12);
    return ox_div(ox_sum(ox_mul(a, b), OX_DIMS(-1), false), ox_sqrt(ox_mul(sizes[0], sizes[1])));
}

OX_API ox_tensor *ox_cosine_embedding_loss(ox_tensor *input1, ox_tensor *input2, ox_tensor *target,
                                           double margin, ox_loss_reduction reduction) {
    ox_tensor *all[3] = {input1, input2, target};
    if (oxi_any_null("cosine_embedding_loss", all, 3)) return NULL;
    if (target->ndim > 1 || input1->ndim != target->ndim + 1 || input2->ndim != input1->ndim)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "cosine_embedding_loss: targets %s of %s and %s",
                             oxi_tensor_text(target), oxi_tensor_text(input1), oxi_tensor_text(input2));
    oxi_work work = oxi_work_begin("cosine_embedding_loss");
    ox_tensor *cosine = oxi_cosine(input1, input2), *pull = ox_rsub_number(cosine, 1);
    ox_tensor *push = oxi_at_least(ox_sub_number(cosine, margin), 0);
    ox_tensor *none = ox_number(0), *terms = ox_where(ox_eq_number(target, 1), pull, none);
    return oxi_loss_end(&work, ox_add(terms, ox_where(ox_eq_number(target, -1), push, none)), reduction);
}

OX_API ox_tensor *ox_soft_margin_loss(ox_tensor *input, ox_tensor *target, ox_loss_reduction reduction) {
    oxi_work work = oxi_work_begin("soft_margin_loss");
    return oxi_loss_end(&work, ox_neg(ox_logsigmoid(ox_mul(input, target))), reduction);
}

OX_API ox_tensor *ox_pairwise_distance(ox_tensor *x1, ox_tensor *x2, double p, double eps, bool keepdim) {
    oxi_work work = oxi_work_begin("pairwise_distance");
    ox_tensor *apart = ox_add_number(ox_sub(x1, x2), eps);
    return oxi_work_end(&work, ox_norm(apart, p, OX_DIMS(-1), keepdim));
}

OX_API ox_tensor *ox_triplet_margin_loss(ox_tensor *anchor, ox_tensor *positive, ox_tensor *negative,
                                         const ox_triplet_margin_desc *desc) {
    ox_triplet_margin_desc d;
    memset(&d, 0, sizeof d);
    if (desc) d = *desc;
    if (d.margin == 0) d.margin = 1;
    if (d.p == 0) d.p = 2;
    if (d.eps == 0) d.eps = 1e-6;
    if (!(d.margin > 0))
        return OXI_FAIL_NULL(OX_ERR_ARG, "triplet_margin_loss: margin %g is not above 0", d.margin);
    oxi_work work = oxi_work_begin("triplet_margin_loss");
    ox_tensor *near = ox_pairwise_distance(anchor, positive, d.p, d.eps, false);
    ox_tensor *far = ox_pairwise_distance(anchor, negative, d.p, d.eps, false);
    if (d.swap) far = ox_minimum(far, ox_pairwise_distance(positive, negative, d.p, d.eps, false));
    ox_tensor *terms = oxi_at_least(ox_add_number(ox_sub(near, far), d.margin), 0);
    return oxi_loss_end(&work, terms, d.reduction);
}

OX_API ox_tensor *ox_multi_margin_loss(ox_tensor *input, ox_tensor *target, double p, double margin,
                                       ox_tensor *weight, ox_loss_reduction reduction) {
    oxi_class_loss c;
    if (p != 1 && p != 2) return OXI_FAIL_NULL(OX_ERR_ARG, "multi_margin_loss: p %g is not 1 or 2", p);
    if (input && input->ndim > 2)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "multi_margin_loss: an input %s", oxi_tensor_text(input));
    oxi_work work = oxi_work_begin("multi_margin_loss");
    if (input && input->ndim == 0) input = ox_unsqueeze(input, 0);
    if (input && target && input->ndim == 1 && target->ndim == 1) target = ox_squeeze(target, 0);
    if (!oxi_class_loss_of(&c, input, target, weight, INT64_MIN)) return oxi_work_end(&work, NULL);
    ox_tensor *own = ox_unsqueeze(c.target, c.dim), *right = ox_gather(input, c.dim, own);
    ox_tensor *over = oxi_at_least(ox_add_number(ox_sub(input, right), margin), 0);
    if (p == 2) over = ox_square(over);
    over = ox_scatter(over, c.dim, own, right ? ox_zeros_like(right) : NULL);
    ox_tensor *terms = ox_mean(over, OX_DIMS(c.dim), false);
    return oxi_loss_end(&work, oxi_weighted(terms, c.weight), reduction);
}

OX_API ox_tensor *ox_multilabel_margin_loss(ox_tensor *input, ox_tensor *target,
                                            ox_loss_reduction reduction) {
    ox_tensor *both[2] = {input, target};
    if (oxi_any_null("multilabel_margin_loss", both, 2)) return NULL;
    if (input->ndim > 2 || !oxi_same_sizes(target, input, -1))
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "multilabel_margin_loss: a target %s of an input %s",
                             oxi_tensor_text(target), oxi_tensor_text(input));
    oxi_work work = oxi_work_begin("multilabel_margin_loss");
    if (input->ndim == 0) {
        input = ox_unsqueeze(input, 0);
        target = ox_reshape(target, OX_SHAPE(1));
    }
    ox_tensor *labels = ox_cast(target, OX_I64), *listed, *is_label, *over;
    listed = ox_cast(ox_cumprod(ox_cast(ox_ge_number(labels, 0), OX_I64), -1), OX_BOOL);
    labels = ox_masked_fill(labels, ox_logical_not(listed), 0);
    is_label = labels ? ox_scatter_add(ox_zeros_like(labels), -1, labels, ox_cast(listed, OX_I64)) : NULL;
    over =
        ox_sub(ox_unsqueeze(input, -2), ox_unsqueeze(ox_gather(input, -1, labels), -1)); /* [..,labels,C] */
    over = oxi_at_least(ox_add_number(over, 1), 0);
    ox_tensor *counts = ox_logical_and(ox_unsqueeze(listed, -1), ox_eq_number(ox_unsqueeze(is_label, -2), 0));
    over = ox_sum(ox_where(counts, over, ox_number(0)), OX_DIMS(-2, -1), false);
    ox_tensor *terms = ox_div_number(over, (double)input->shape[input->ndim - 1]);
    return oxi_loss_end(&work, terms, reduction);
}

OX_API ox_tensor *ox_multilabel_soft_margin_loss(ox_tensor *input, ox_tensor *target, ox_tensor *weight,
                                                 ox_loss_reduction reduction) {
    oxi_work work = oxi_work_begin("multilabel_soft_margin_loss");
    ox_tensor *terms = oxi_weighted(oxi_logit_terms(input, target, NULL), weight);
    return oxi_loss_end(&work, ox_mean(terms, OX_DIMS(-1), false), reduction);
}

/* t in the shape that both broadcast to: norms are of that. */
static ox_tensor *oxi_expand_with(ox_tensor *t, const ox_tensor *other) {
    if (!t || !other) return t;
    ox_shape shape = ox_shape_of(t->ndim < other->ndim ? other : t);
    for (int d = 1; d <= shape.ndim; d++) {
        int64_t own = d <= t->ndim ? t->shape[t->ndim - d] : 1;
        shape.dim[shape.ndim - d] = own == 1 && d <= other->ndim ? other->shape[other->ndim - d] : own;
    }
    return ox_expand(t, shape);
}

OX_API ox_tensor *ox_cosine_similarity(ox_tensor *x1, ox_tensor *x2, int dim, double eps) {
    oxi_work work = oxi_work_begin("cosine_similarity");
    ox_tensor *first = x1;
    x1 = oxi_expand_with(x1, x2);
    x2 = oxi_expand_with(x2, first);
    ox_tensor *size_1 = oxi_raise(ox_norm(x1, 2, OX_DIMS(dim), true), eps);
    ox_tensor *size_2 = oxi_raise(ox_norm(x2, 2, OX_DIMS(dim), true), eps);
    ox_tensor *products = ox_mul(ox_div(x1, size_1), ox_div(x2, size_2));
    return oxi_work_end(&work, ox_sum(products, OX_DIMS(dim), false));
}
