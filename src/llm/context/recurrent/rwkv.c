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
        made = oxi_llm_product_of(
            oxi_llm_want_act(&p[OXI_LLM_SHIFT_DOWN], NULL, OX_ACTIVATION_TANH, made));
        made = oxi_llm_by_head(made, m->shifts, m->rank); /* of [S, shifts * rank] */
        shares = ox_add(oxi_llm_product_by_head(model, made, p[OXI_LLM_SHIFT_UP].weight), shares);
    }
    return oxi_llm_shifted(x, before, shares);
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
    oxi_llm_wanted list[5];
    list[0] = oxi_llm_want_act(&p[OXI_LLM_DECAY_DOWN], NULL, OX_ACTIVATION_TANH, ox_select(all, 0, 0));
    list[1] = oxi_llm_want(&p[OXI_LLM_KEY], ox_select(all, 0, 1));
    list[2] = oxi_llm_want(&p[OXI_LLM_VALUE], ox_select(all, 0, 2));
    list[3] = oxi_llm_want(&p[OXI_LLM_QUERY], ox_select(all, 0, 3));
    list[4] = oxi_llm_want(&p[OXI_LLM_MIXER_GATE], ox_select(all, 0, 4));
    if (!oxi_llm_products(list, 5)) return NULL;
    ox_tensor *decay = oxi_llm_product_of(oxi_llm_want_act(
                  &p[OXI_LLM_DECAY_UP], p[OXI_LLM_MIXER_DECAY].weight, OX_ACTIVATION_NONE, list[0].out)),
              *gate = list[4].out, *own = NULL;
    decay = oxi_llm_chained("a exp neg ;", &decay, 1);
    in.decay = oxi_llm_by_head(decay, m->heads, m->key);
    in.k = oxi_llm_share_groups(oxi_llm_by_head(list[1].out, m->groups, m->key), m->heads, true);
    in.v = oxi_llm_share_groups(oxi_llm_by_head(list[2].out, m->groups, m->value), m->heads, true);
    in.q = oxi_llm_by_head(list[3].out, m->heads, m->key);
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

/* What RWKV 7's products make of a layer's inputs. */
typedef struct oxi_llm_rwkv7_made {
    ox_tensor *q, *k, *v, *decay, *rate, *gate; /* gate: or NULL */
} oxi_llm_rwkv7_made;

/* all [shifts, S, width]. Decays, rates, gates and values' shares are g(base + second(f(first x))). */
static bool oxi_llm_rwkv7_products(const oxi_llm_batch *batch, int64_t index, ox_tensor *all,
                                   oxi_llm_rwkv7_made *made) {
    const oxi_llm_part *p = batch->context->model->layers[index].part;
    const bool gated = p[OXI_LLM_MIXER_GATE].weight != NULL, shares = index > 0;
    const ox_activation sigmoid = OX_ACTIVATION_SIGMOID, none = OX_ACTIVATION_NONE;
    oxi_llm_wanted first[7], second[4];
    int n = 0, count = 5;
    first[0] = oxi_llm_want(&p[OXI_LLM_QUERY], ox_select(all, 0, 0));
    first[1] = oxi_llm_want(&p[OXI_LLM_KEY], ox_select(all, 0, 2));
    first[2] = oxi_llm_want(&p[OXI_LLM_VALUE], ox_select(all, 0, 3));
    first[3] = oxi_llm_want_act(&p[OXI_LLM_DECAY_DOWN], NULL, OX_ACTIVATION_TANH, ox_select(all, 0, 1));
    first[4] = oxi_llm_want(&p[OXI_LLM_RATE_DOWN], ox_select(all, 0, 4));
    if (gated) first[count++] = oxi_llm_want_act(&p[OXI_LLM_MIXER_GATE], NULL, sigmoid, ox_select(all, 0, 5));
    if (shares) first[count++] = oxi_llm_want(&p[OXI_LLM_VALUE_SHARE_DOWN], first[2].x);
    if (!oxi_llm_products(first, count)) return false;
    second[n++] =
        oxi_llm_want_act(&p[OXI_LLM_DECAY_UP], p[OXI_LLM_MIXER_DECAY].weight, sigmoid, first[3].out);
    second[n++] = oxi_llm_want_act(&p[OXI_LLM_RATE_UP], p[OXI_LLM_RATE].weight, sigmoid, first[4].out);
    if (gated) second[n++] = oxi_llm_want_act(&p[OXI_LLM_MIXER_GATE_UP], NULL, none, first[5].out);
    if (shares) /* the first layer's values come into those of the others */
        second[n++] = oxi_llm_want_act(&p[OXI_LLM_VALUE_SHARE_UP], p[OXI_LLM_VALUE_SHARE].weight, sigmoid,
                                       first[count - 1].out);
    if (!oxi_llm_products(second, n)) return false;
    made->q = first[0].out;
    made->k = first[1].out;
    made->v = shares ? oxi_llm_shifted(first[2].out, batch->values, second[n - 1].out) : first[2].out;
    made->decay = second[0].out;
    made->rate = second[1].out;
    made->gate = gated ? second[2].out : NULL;
    return made->v && (shares || ox_copy_(batch->values, made->v));
}

static ox_tensor *oxi_llm_rwkv7(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const ox_llm *model = context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *p = l->part;
    ox_tensor *all = oxi_llm_rwkv_shifted(batch, index, x);
    oxi_llm_rwkv7_made made;
    if (!all || !oxi_llm_rwkv7_products(batch, index, all, &made)) return NULL;
    oxi_llm_linear in;
    memset(&in, 0, sizeof in);
    const double lengths[2] = {1 / sqrt((double)m->key), -1 / sqrt((double)m->key)}, one = 1;
    ox_tensor *decay = ox_mul_number_(made.decay, -exp(-0.5));
    /* what is erased, of length 1 a head, and k (1 + (rate - 1) rated) */
    ox_tensor *of_key[4] = {made.k, p[OXI_LLM_KEY_ERASED].weight, p[OXI_LLM_KEY_RATED].weight, made.rate};
    ox_tensor *keys[2] = {NULL, NULL}, *erasing[2] = {NULL, NULL}, *of_erased[2];
    if (!oxi_llm_chain("a b * ; d n0 - c * n0 + a * ;", of_key, 4, &one, 1, keys)) return NULL;
    of_erased[0] = ox_rms_norm(oxi_llm_by_head(keys[0], m->heads, m->key), 1, NULL, 1e-24 / (double)m->key);
    of_erased[1] = oxi_llm_by_head(made.rate, m->heads, m->key);
    if (!oxi_llm_chain("a n1 * ; a n0 * b * ;", of_erased, 2, lengths, 2, erasing)) return NULL;
    in.q = oxi_llm_by_head(made.q, m->heads, m->key);
    in.k = oxi_llm_by_head(keys[1], m->heads, m->key);
    in.v = oxi_llm_by_head(made.v, m->heads, m->value);
    in.decay = oxi_llm_by_head(decay, m->heads, m->key);
    in.erase = erasing[0];
    in.write = erasing[1];
    ox_tensor *y = oxi_llm_head_norms(&p[OXI_LLM_MIXER_NORM], oxi_llm_run_linear(batch, index, &in));
    ox_tensor *bonus = oxi_llm_bonus(m, &p[OXI_LLM_MIXER_BONUS], in.q, in.k);
    if (!ox_addcmul_(oxi_llm_by_head(y, m->heads, m->value), in.v, bonus, 1)) return NULL;
    if (made.gate) y = ox_mul_(y, made.gate);
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
    const bool gated = p[OXI_LLM_FEED_GATE].weight && p[OXI_LLM_FEED_SHIFT_GATE].weight;
    ox_tensor *in = oxi_llm_shifted(x, before, p[OXI_LLM_FEED_SHIFT].weight);
    if (!gated) return oxi_llm_feed_forward(context->model, l, in, NULL);
    x = oxi_llm_shifted(x, before, p[OXI_LLM_FEED_SHIFT_GATE].weight);
    oxi_llm_wanted gate = oxi_llm_want_act(&p[OXI_LLM_FEED_GATE], NULL, OX_ACTIVATION_SIGMOID, x);
    ox_tensor *out = oxi_llm_feed_forward(context->model, l, in, &gate);
    return out ? ox_mul_(out, gate.out) : NULL;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

/* All mixers, by oxi_llm_mixer. */
static ox_tensor *(*const oxi_llm_mixers[OXI_LLM_MIXES_COUNT])(const oxi_llm_batch *batch, int64_t index,
                                                               ox_tensor *x) = {
    NULL,          oxi_llm_mamba, oxi_llm_mamba2,    oxi_llm_plamo2, oxi_llm_short_conv,
    oxi_llm_rwkv6, oxi_llm_rwkv7, oxi_llm_delta_net, oxi_llm_kda,    oxi_llm_lightning,
    oxi_llm_gated_unit};
