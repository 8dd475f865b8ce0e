/* The mixers of RWKV 6 and 7, and their feed-forward: inputs take a share of the position before them, decays
 * and rates are made of them by matrices of few rows, linear attention keeps a memory. Called by forward.c,
 * through the table of mixers.c. source: Peng et al. 2024, "Eagle and Finch"; Peng et al. 2025, "RWKV-7" */

/* ---- shifts -------------------------------------------------------------------------------------------- */

/* Rows [S, width] of the positions before; the first one's is the state's, zeros at the start of a text. */
static ox_tensor *oxi_llm_rows_before(const oxi_llm_batch *batch, ox_tensor *kept, ox_tensor **written,
                                      ox_tensor *x) {
    if (!x) return NULL;
    const int64_t count = x->shape[0];
    const bool whole = count == 1 && ox_device_of(x) == ox_cpu(); /* a tensor of its own, which stays so */
    ox_tensor *list[2];
    list[0] = oxi_llm_state_or_zeros(batch->context->model, *written, kept, OX_SHAPE(1, x->shape[1]));
    list[1] = ox_narrow(x, 0, 0, count - 1);
    if (!list[0]) return NULL;
    ox_tensor *before = count > 1 ? ox_cat(list, 2, 0)
                        : whole   ? ox_view(list[0], ox_shape_of(x))
                                  : ox_clone(list[0]);
    ox_tensor *last = whole ? x : ox_clone(ox_narrow(x, 0, count - 1, 1));
    return oxi_llm_write_state(written, last) ? before : NULL;
}

/* x + share (before - x) */
static ox_tensor *oxi_llm_shifted(ox_tensor *x, ox_tensor *before, ox_tensor *share) {
    ox_tensor *in[3] = {x, before, share};
    return oxi_llm_chained("b a - c * a + ;", in, 3);
}

/* What a position takes of the one before it: number by number, or, of RWKV 6, made of both:
 * [shifts, S, width]. */
static ox_tensor *oxi_llm_shift_all(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *x,
                                    ox_tensor *before) {
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_part *p = l->part;
    ox_tensor *shares = ox_unsqueeze(p[OXI_LLM_SHIFT].weight, 1);
    if (p[OXI_LLM_SHIFT_DOWN].weight) {
        ox_tensor *made = oxi_llm_shifted(x, before, p[OXI_LLM_SHIFT_FIRST].weight);
        made = oxi_llm_product_act(&p[OXI_LLM_SHIFT_DOWN], NULL, OX_ACTIVATION_TANH, made);
        made = oxi_llm_by_head(made, m->shifts, m->rank); /* of [S, shifts * rank] */
        shares = ox_add(oxi_llm_product_by_head(made, p[OXI_LLM_SHIFT_UP].weight), shares);
    }
    return oxi_llm_shifted(x, before, shares);
}

/* g(base + second(f(first x))), of activations f and g */
static ox_tensor *oxi_llm_adapted(const oxi_llm_part *p, oxi_llm_layer_role base, oxi_llm_layer_role first,
                                  oxi_llm_layer_role second, ox_activation f, ox_activation g, ox_tensor *x) {
    x = oxi_llm_product_act(&p[first], NULL, f, x);
    return oxi_llm_product_act(&p[second], p[base].weight, g, x);
}

/* ---- what follows the memory --------------------------------------------------------------------------- */

/* y [heads, S, value] -> [S, inner], each head with its norm, where there is one. */
static ox_tensor *oxi_llm_head_norms(const oxi_llm_part *norm, ox_tensor *y) {
    if (norm->weight) y = ox_layer_norm(y, 1, NULL, NULL, 64e-5);
    y = oxi_llm_join_heads(y);
    ox_tensor *weight = norm->weight ? ox_flatten(norm->weight, 0, -1) : NULL;
    if (weight && norm->bias) return ox_addcmul(norm->bias, y, weight, 1);
    return weight ? ox_mul_(y, weight) : y;
}

/* q . (weight k) of each head's position: [heads, S, 1]. */
static ox_tensor *oxi_llm_bonus(const oxi_llm_mixing *m, const oxi_llm_part *part, ox_tensor *q,
                                ox_tensor *k) {
    ox_tensor *in[3] = {q, k, ox_reshape(part->weight, OX_SHAPE(m->heads, 1, m->key))};
    return ox_sum(oxi_llm_chained("a b * c * ;", in, 3), OX_DIMS(2), true);
}

/* A row of zeros in front of t [heads, S, size], or behind it. */
static ox_tensor *oxi_llm_with_zeros(ox_tensor *t, bool front) {
    if (!t) return NULL;
    const int64_t shape[3] = {t->shape[0], 1, t->shape[2]};
    ox_tensor *zeros = oxi_tensor_new(ox_device_of(t), OX_F32, 3, shape), *list[2];
    if (!zeros || !ox_zero_(zeros)) return NULL;
    list[0] = front ? zeros : t;
    list[1] = front ? t : zeros;
    return ox_cat(list, 2, 1);
}

/* ---- the mixers ---------------------------------------------------------------------------------------- */

/* What the layer's products take: x beside the rows before it, which the state keeps, [shifts, S, width]. */
static ox_tensor *oxi_llm_rwkv_shifted(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    ox_tensor *before =
        oxi_llm_rows_before(batch, context->states[index].window, &context->written[index].window, x);
    if (!before) return NULL;
    return oxi_llm_shift_all(context->model, &context->model->layers[index], x, before);
}

/* Where there is a bonus, a query sees the memory before its own position, which counts by the bonus: all
 * that is written comes a row later then, or, of one position on the CPU, late (oxi_llm_linear_late). */
static ox_tensor *oxi_llm_rwkv6(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const ox_llm *model = context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *p = l->part;
    const bool late = p[OXI_LLM_MIXER_BONUS].weight != NULL;
    ox_tensor *all = oxi_llm_rwkv_shifted(batch, index, x);
    if (!all) return NULL;
    oxi_llm_linear in;
    memset(&in, 0, sizeof in);
    ox_tensor *decay = oxi_llm_adapted(p, OXI_LLM_MIXER_DECAY, OXI_LLM_DECAY_DOWN, OXI_LLM_DECAY_UP,
                                       OX_ACTIVATION_TANH, OX_ACTIVATION_NONE, ox_select(all, 0, 0));
    decay = oxi_llm_chained("a exp neg ;", &decay, 1);
    in.decay = oxi_llm_by_head(decay, m->heads, m->key);
    in.k = oxi_llm_by_head(oxi_llm_product(&p[OXI_LLM_KEY], ox_select(all, 0, 1)), m->groups, m->key);
    in.v = oxi_llm_by_head(oxi_llm_product(&p[OXI_LLM_VALUE], ox_select(all, 0, 2)), m->groups, m->value);
    in.q = oxi_llm_by_head(oxi_llm_product(&p[OXI_LLM_QUERY], ox_select(all, 0, 3)), m->heads, m->key);
    in.k = oxi_llm_share_groups(in.k, m->heads, true);
    in.v = oxi_llm_share_groups(in.v, m->heads, true);
    ox_tensor *gate = oxi_llm_product(&p[OXI_LLM_MIXER_GATE], ox_select(all, 0, 4)), *own = NULL;
    const bool one = late && batch->count == 1 && model->device == ox_cpu();
    if (late) own = ox_mul(in.v, oxi_llm_bonus(m, &p[OXI_LLM_MIXER_BONUS], in.q, in.k));
    if (one) {
        in.own = own;
    } else if (late) {
        in.q = oxi_llm_with_zeros(in.q, false);
        in.k = oxi_llm_with_zeros(in.k, true);
        in.v = oxi_llm_with_zeros(in.v, true);
        in.decay = oxi_llm_with_zeros(in.decay, true);
    } else { /* of what stands instead of the softmax of a transformer */
        in.k = ox_sub(in.k, ox_mul(in.k, ox_exp(in.decay)));
        in.q = ox_mul_number(in.q, 1 / sqrt((double)m->key));
    }
    ox_tensor *y = oxi_llm_run_linear(batch, index, &in);
    if (late && !one) y = ox_add(ox_narrow(y, 1, 0, batch->count), own);
    y = oxi_llm_head_norms(&p[OXI_LLM_MIXER_NORM], y);
    y = late ? ox_silu_mul(gate, y) : ox_mul_(y, ox_sigmoid_(gate));
    return oxi_llm_product(&p[OXI_LLM_MIXER_OUT], y);
}

/* Values [S, inner]: the first layer's come into those of the others, by shares. */
static ox_tensor *oxi_llm_share_values(const oxi_llm_batch *batch, int64_t index, ox_tensor *x,
                                       ox_tensor *v) {
    const oxi_llm_part *p = batch->context->model->layers[index].part;
    if (index == 0) return ox_copy_(batch->values, v) ? v : NULL;
    ox_tensor *shares =
        oxi_llm_adapted(p, OXI_LLM_VALUE_SHARE, OXI_LLM_VALUE_SHARE_DOWN, OXI_LLM_VALUE_SHARE_UP,
                        OX_ACTIVATION_NONE, OX_ACTIVATION_SIGMOID, x);
    return oxi_llm_shifted(v, batch->values, shares);
}

static ox_tensor *oxi_llm_rwkv7(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const ox_llm *model = context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *p = l->part;
    const bool gated = p[OXI_LLM_MIXER_GATE].weight != NULL;
    ox_tensor *all = oxi_llm_rwkv_shifted(batch, index, x);
    if (!all) return NULL;
    oxi_llm_linear in;
    memset(&in, 0, sizeof in);
    const double lengths[2] = {1 / sqrt((double)m->key), -1 / sqrt((double)m->key)}, one = 1;
    ox_tensor *decay = oxi_llm_adapted(p, OXI_LLM_MIXER_DECAY, OXI_LLM_DECAY_DOWN, OXI_LLM_DECAY_UP,
                                       OX_ACTIVATION_TANH, OX_ACTIVATION_SIGMOID, ox_select(all, 0, 1));
    decay = ox_mul_number_(decay, -exp(-0.5));
    ox_tensor *rate = oxi_llm_adapted(p, OXI_LLM_RATE, OXI_LLM_RATE_DOWN, OXI_LLM_RATE_UP, OX_ACTIVATION_NONE,
                                      OX_ACTIVATION_SIGMOID, ox_select(all, 0, 4));
    ox_tensor *q = oxi_llm_product(&p[OXI_LLM_QUERY], ox_select(all, 0, 0));
    ox_tensor *k = oxi_llm_product(&p[OXI_LLM_KEY], ox_select(all, 0, 2));
    ox_tensor *v = oxi_llm_product(&p[OXI_LLM_VALUE], ox_select(all, 0, 3));
    v = oxi_llm_share_values(batch, index, ox_select(all, 0, 3), v);
    /* what is erased, of length 1 a head, and k (1 + (rate - 1) rated) */
    ox_tensor *of_key[4] = {k, p[OXI_LLM_KEY_ERASED].weight, p[OXI_LLM_KEY_RATED].weight, rate};
    ox_tensor *keys[2] = {NULL, NULL}, *erasing[2] = {NULL, NULL}, *of_erased[2];
    if (!oxi_llm_chain("a b * ; d n0 - c * n0 + a * ;", of_key, 4, &one, 1, keys)) return NULL;
    of_erased[0] = ox_rms_norm(oxi_llm_by_head(keys[0], m->heads, m->key), 1, NULL, 1e-24 / (double)m->key);
    of_erased[1] = oxi_llm_by_head(rate, m->heads, m->key);
    if (!oxi_llm_chain("a n1 * ; a n0 * b * ;", of_erased, 2, lengths, 2, erasing)) return NULL;
    in.q = oxi_llm_by_head(q, m->heads, m->key);
    in.k = oxi_llm_by_head(keys[1], m->heads, m->key);
    in.v = oxi_llm_by_head(v, m->heads, m->value);
    in.decay = oxi_llm_by_head(decay, m->heads, m->key);
    in.erase = erasing[0];
    in.write = erasing[1];
    ox_tensor *y = oxi_llm_head_norms(&p[OXI_LLM_MIXER_NORM], oxi_llm_run_linear(batch, index, &in));
    ox_tensor *bonus = oxi_llm_bonus(m, &p[OXI_LLM_MIXER_BONUS], in.q, in.k);
    if (!ox_addcmul_(oxi_llm_by_head(y, m->heads, m->value), in.v, bonus, 1)) return NULL;
    if (gated) {
        ox_tensor *gate = oxi_llm_product_act(&p[OXI_LLM_MIXER_GATE], NULL, OX_ACTIVATION_SIGMOID,
                                              ox_select(all, 0, 5));
        y = ox_mul_(y, oxi_llm_product(&p[OXI_LLM_MIXER_GATE_UP], gate));
    }
    return oxi_llm_product(&p[OXI_LLM_MIXER_OUT], y);
}

/* ---- the feed-forward ---------------------------------------------------------------------------------- */

/* x [S, width], normalized -> [S, width] */
static ox_tensor *oxi_llm_shifted_feed_forward(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const oxi_llm_layer *l = &context->model->layers[index];
    const oxi_llm_part *p = l->part;
    ox_tensor *before =
        oxi_llm_rows_before(batch, context->states[index].fed, &context->written[index].fed, x);
    ox_tensor *in = oxi_llm_shifted(x, before, p[OXI_LLM_FEED_SHIFT].weight);
    ox_tensor *out = in ? oxi_llm_feed_forward(context->model, l, in) : NULL;
    if (!p[OXI_LLM_FEED_GATE].weight || !p[OXI_LLM_FEED_SHIFT_GATE].weight) return out;
    in = oxi_llm_shifted(x, before, p[OXI_LLM_FEED_SHIFT_GATE].weight);
    return ox_mul_(out, oxi_llm_product_act(&p[OXI_LLM_FEED_GATE], NULL, OX_ACTIVATION_SIGMOID, in));
}

/* ---- the table ----------------------------------------------------------------------------------------- */

/* All mixers, by oxi_llm_mixer. */
static ox_tensor *(*const oxi_llm_mixers[OXI_LLM_MIXES_COUNT])(const oxi_llm_batch *batch, int64_t index,
                                                               ox_tensor *x) = {
    NULL,          oxi_llm_mamba, oxi_llm_mamba2,    oxi_llm_plamo2, oxi_llm_short_conv,
    oxi_llm_rwkv6, oxi_llm_rwkv7, oxi_llm_delta_net, oxi_llm_kda,    oxi_llm_lightning,
    oxi_llm_gated_unit};
