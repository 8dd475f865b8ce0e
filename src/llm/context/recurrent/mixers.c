/* The mixers of recurrent layers, a function each: x [S, width], normalized -> [S, width].
 * What they share is in recurrence.c; their sizes and tensors are checked in llm/model/mixers.c.
 * Called by forward.c through the table at the end. */

/* Columns first .. first + count - 1. */
static ox_tensor *oxi_llm_columns(ox_tensor *x, int64_t first, int64_t count) {
    return ox_narrow(x, 1, first, count);
}

/* Columns [S, heads * size] -> [heads, S, size] */
static ox_tensor *oxi_llm_by_head(ox_tensor *x, int64_t heads, int64_t size) {
    return ox_transpose(ox_unflatten(x, 1, OX_SHAPE(heads, size)), 0, 1);
}

/* Heads of groups [groups, S, size] -> [heads, S, size]. `paired`: neighbours share one; else those that are
 * `groups` apart. */
static ox_tensor *oxi_llm_share_groups(ox_tensor *x, int64_t heads, bool paired) {
    if (!x || x->shape[0] == heads) return x;
    const int64_t groups = x->shape[0], rows = x->shape[1], size = x->shape[2], each = heads / groups;
    x = paired ? ox_expand(ox_unsqueeze(x, 1), OX_SHAPE(groups, each, rows, size))
               : ox_expand(ox_unsqueeze(x, 0), OX_SHAPE(each, groups, rows, size));
    return ox_reshape(x, OX_SHAPE(heads, rows, size));
}

/* The norm of a part that may be there, or one without weights where the model says so. */
static ox_tensor *oxi_llm_normalize_if(const ox_llm *model, const oxi_llm_part *part, ox_tensor *x) {
    if (!part->weight && !model->numbers.mixing.bare_norms) return x;
    const double own = model->numbers.mixing.epsilon;
    return oxi_llm_normalize_with(model, part->weight ? part : NULL, ox_contiguous(x),
                                  own > 0 ? own : model->numbers.epsilon);
}

/* ---- Mamba --------------------------------------------------------------------------------------------- */

/* h = exp(step A) h + step x B, y = (h C + skip x) silu(gate), channel by channel, of steps before softplus:
 * steps, x, gate [S, channels]; B, C [S, state]. The state's numbers decay each by their own, so that
 * products do not help; channels lie side by side.
 * source: Gu and Dao 2023, "Mamba" */
static ox_tensor *oxi_llm_scan_part(const oxi_llm_batch *batch, int64_t index, ox_tensor *steps, ox_tensor *x,
                                    ox_tensor *b, ox_tensor *c, ox_tensor *gate) {
    const oxi_llm_mixing *m = &batch->context->model->numbers.mixing;
    const oxi_llm_part *p = batch->context->model->layers[index].part;
    ox_tensor *h = ox_reshape(oxi_llm_memory(batch, index), OX_SHAPE(1, m->value, m->key));
    if (!x) return NULL;
    const int64_t count = x->shape[0];
    ox_tensor *both = ox_selective_scan(ox_unsqueeze(x, 0), ox_unsqueeze(steps, 0),
                                        ox_unsqueeze(p[OXI_LLM_MIXER_DECAY].weight, 0), ox_unsqueeze(b, 0),
                                        ox_unsqueeze(c, 0), h,
                                        ox_reshape(p[OXI_LLM_MIXER_SKIP].weight, OX_SHAPE(1, 1, m->inner)),
                                        ox_unsqueeze(gate, 0), NULL, true, false);
    h = ox_narrow(both, 1, count, m->value);
    if (count > 1) h = ox_clone(h); /* not all that it is the end of */
    return h && oxi_llm_write_memory(batch, index, h) ? ox_squeeze(ox_narrow(both, 1, 0, count), 0) : NULL;
}

/* The same of any number of positions; elsewhere than on the CPU in parts, since a device that has no kernel
 * for it lays out what decays leave. */
static ox_tensor *oxi_llm_scan(const oxi_llm_batch *batch, int64_t index, ox_tensor *steps, ox_tensor *x,
                               ox_tensor *b, ox_tensor *c, ox_tensor *gate) {
    const oxi_llm_mixing *m = &batch->context->model->numbers.mixing;
    const int64_t fits = ((int64_t)1 << 26) / (m->key * m->value), most = fits < 1 ? 1 : fits;
    if (batch->context->model->device == ox_cpu() || batch->count <= most)
        return oxi_llm_scan_part(batch, index, steps, x, b, c, gate);
    ox_tensor *out = ox_empty_like(x);
    for (int64_t start = 0; out && start < batch->count; start += most) {
        const int64_t count = batch->count - start < most ? batch->count - start : most;
        ox_scope scope = ox_scope_begin();
        ox_tensor *y = oxi_llm_scan_part(batch, index, ox_narrow(steps, 0, start, count),
                                         ox_narrow(x, 0, start, count), ox_narrow(b, 0, start, count),
                                         ox_narrow(c, 0, start, count), ox_narrow(gate, 0, start, count));
        const bool done = y && ox_copy_(ox_narrow(out, 0, start, count), y);
        ox_scope_end(&scope);
        if (!done) return NULL;
    }
    return out;
}

static ox_tensor *oxi_llm_mamba(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_part *p = model->layers[index].part;
    const int64_t inner = m->inner, state = m->value;
    ox_tensor *both = oxi_llm_product(&p[OXI_LLM_MIXER_IN], x); /* [S, x | gate] */
    ox_tensor *u = oxi_llm_convolve(batch, index, true, oxi_llm_columns(both, 0, inner));
    ox_tensor *made = oxi_llm_product(&p[OXI_LLM_MIXER_X], u); /* [S, step | B | C] */
    ox_tensor *steps =
        oxi_llm_normalize_if(model, &p[OXI_LLM_MIXER_STEP_NORM], oxi_llm_columns(made, 0, m->rank));
    ox_tensor *b =
        oxi_llm_normalize_if(model, &p[OXI_LLM_MIXER_KEY_NORM], oxi_llm_columns(made, m->rank, state));
    ox_tensor *c = oxi_llm_normalize_if(model, &p[OXI_LLM_MIXER_QUERY_NORM],
                                        oxi_llm_columns(made, m->rank + state, state));
    steps = oxi_llm_product(&p[OXI_LLM_MIXER_STEP], ox_contiguous(steps));
    ox_tensor *gate = oxi_llm_columns(both, inner, inner);
    if (!steps || !gate) return NULL;
    return oxi_llm_product(&p[OXI_LLM_MIXER_OUT], oxi_llm_scan(batch, index, steps, u, b, c, gate));
}

/* The state space of Mamba 2: x [S, inner], keys B and queries C [S, groups * state], steps [S, heads],
 * positive -> [S, inner], with what skips the state. */
static ox_tensor *oxi_llm_state_space(const oxi_llm_batch *batch, int64_t index, ox_tensor *x, ox_tensor *b,
                                      ox_tensor *c, ox_tensor *steps) {
    const oxi_llm_mixing *m = &batch->context->model->numbers.mixing;
    const oxi_llm_part *p = batch->context->model->layers[index].part;
    ox_tensor *rates = ox_reshape(p[OXI_LLM_MIXER_DECAY].weight, OX_SHAPE(m->heads));
    ox_tensor *skips = ox_reshape(p[OXI_LLM_MIXER_SKIP].weight, OX_SHAPE(m->heads, 1, 1));
    ox_tensor *heads = oxi_llm_by_head(x, m->heads, m->value);
    oxi_llm_linear in;
    memset(&in, 0, sizeof in);
    in.q = oxi_llm_share_groups(oxi_llm_by_head(c, m->groups, m->key), m->heads, true);
    in.k = oxi_llm_share_groups(oxi_llm_by_head(b, m->groups, m->key), m->heads, true);
    in.v = ox_mul(heads, oxi_llm_by_head(steps, m->heads, 1));
    in.decay = oxi_llm_by_head(ox_mul(steps, rates), m->heads, 1);
    ox_tensor *y = oxi_llm_run_linear(batch, index, &in);
    return oxi_llm_join_heads(ox_addcmul_(y, heads, skips, 1));
}

/* Positions of it in one call: u [S, x | B | C], steps [S, heads] before their bias and softplus, gate
 * [1, inner] or NULL -> [heads, S + key, value], or, with `hold`, [heads, 1 + key, value] of the last one,
 * which the memory lacks; out: NULL or where that goes. */
static ox_tensor *oxi_llm_scan_heads(const oxi_llm_batch *batch, int64_t index, ox_tensor *u,
                                     ox_tensor *steps, ox_tensor *gate, ox_tensor *memory, bool hold,
                                     ox_tensor *out) {
    const oxi_llm_mixing *m = &batch->context->model->numbers.mixing;
    const oxi_llm_part *p = batch->context->model->layers[index].part;
    const int64_t keys = m->groups * m->key;
    ox_tensor *in[9], *bias = p[OXI_LLM_MIXER_STEP].bias;
    in[0] = oxi_llm_by_head(oxi_llm_columns(u, m->inner + keys, keys), m->groups, m->key);
    in[1] = oxi_llm_by_head(oxi_llm_columns(u, m->inner, keys), m->groups, m->key);
    for (int i = 0; i < 2; i++) in[i] = oxi_llm_share_groups(in[i], m->heads, true);
    in[2] = oxi_llm_by_head(oxi_llm_columns(u, 0, m->inner), m->heads, m->value);
    in[3] = oxi_llm_by_head(steps, m->heads, 1);
    in[4] = memory;
    in[5] = ox_reshape(p[OXI_LLM_MIXER_DECAY].weight, OX_SHAPE(m->heads, 1, 1));
    in[6] = gate ? ox_reshape(p[OXI_LLM_MIXER_SKIP].weight, OX_SHAPE(m->heads, 1, 1)) : NULL;
    in[7] = gate ? ox_expand(oxi_llm_by_head(gate, m->heads, m->value), ox_shape_of(in[2])) : NULL;
    in[8] = bias ? ox_reshape(bias, OX_SHAPE(m->heads, 1, 1)) : NULL;
    oxi_attrs attr = oxi_attrs_scan();
    attr.scan.softplus = true;
    attr.scan.hold = hold;
    if (oxi_any_null("llm", in, 6) || (gate && (!in[6] || !in[7])) || (bias && !in[8])) return NULL;
    return oxi_apply_list(OXI_OP_selective_scan, &attr, in, 9, out);
}

/* A position of it, which comes into the memory with the next one, as in oxi_llm_linear_late: [1, inner]. */
static ox_tensor *oxi_llm_scan_late(const oxi_llm_batch *batch, int64_t index, ox_tensor *u, ox_tensor *steps,
                                    ox_tensor *gate) {
    oxi_llm_state *of, *written = &batch->context->written[index];
    ox_tensor *memory = oxi_llm_early_memory(batch, index, &of), *own[3] = {u, steps, NULL};
    ox_tensor *const *late = oxi_llm_late_of(batch, index, of);
    const bool alone = of == written || !written->late[0];
    ox_tensor *rows[2] = {u, steps}, *pair[2];
    for (int i = 0; i < 2 && late; i++) {
        pair[0] = late[i];
        pair[1] = rows[i];
        if (pair[1]) rows[i] = ox_cat(pair, 2, 0);
    }
    if (!memory || !rows[0] || !rows[1] || !gate) return NULL;
    ox_tensor *both = oxi_llm_scan_heads(batch, index, rows[0], rows[1], gate, memory, true,
                                         late && alone ? oxi_llm_home(batch, index, of) : NULL);
    if (!both || !oxi_llm_keep_late(written, alone ? of : written, late ? both : NULL, memory, own))
        return NULL;
    return oxi_llm_join_heads(ox_narrow(both, 1, 0, 1));
}

/* Positions of it, which are in the memory behind that: [S, inner]. */
static ox_tensor *oxi_llm_scan_rows(const oxi_llm_batch *batch, int64_t index, ox_tensor *u, ox_tensor *steps,
                                    ox_tensor *gate) {
    const oxi_llm_mixing *m = &batch->context->model->numbers.mixing;
    const int64_t count = u ? u->shape[0] : 0;
    const int64_t shape[3] = {count + m->key, m->heads, m->value}; /* what heads give lies side by side */
    ox_tensor *memory = oxi_llm_memory(batch, index);
    ox_tensor *both = oxi_tensor_new(batch->context->model->device, OX_F32, 3, shape);
    if (!memory || !u || !steps || !gate || !(both = ox_transpose(both, 0, 1))) return NULL;
    both = oxi_llm_scan_heads(batch, index, u, steps, gate, memory, false, both);
    memory = ox_narrow(both, 1, count, m->key);
    if (count > 1) memory = ox_clone(memory); /* not all that it is the end of */
    if (!memory || !oxi_llm_write_memory(batch, index, memory)) return NULL;
    return oxi_llm_join_heads(ox_narrow(both, 1, 0, count));
}

static ox_tensor *oxi_llm_mamba2(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_part *p = model->layers[index].part;
    const int64_t inner = m->inner, keys = m->groups * m->key, channels = inner + 2 * keys;
    ox_tensor *all = oxi_llm_product(&p[OXI_LLM_MIXER_IN], x); /* [S, gate | x | B | C | step] */
    ox_tensor *u = oxi_llm_convolve(batch, index, true, oxi_llm_columns(all, inner, channels));
    ox_tensor *steps = oxi_llm_columns(all, inner + channels, m->heads), *bias = p[OXI_LLM_MIXER_STEP].bias;
    ox_tensor *gate = oxi_llm_columns(all, 0, inner), *values = oxi_llm_columns(u, 0, inner), *y;
    ox_tensor *b = oxi_llm_columns(u, inner, keys), *c = oxi_llm_columns(u, inner + keys, keys);
    if (m->gated_late) {
        steps = ox_softplus(bias ? ox_add(steps, bias) : steps, 1, 20);
        y = oxi_llm_state_space(batch, index, values, b, c, steps);
    } else if (model->device != ox_cpu()) {
        y = oxi_llm_scan_rows(batch, index, u, steps, gate);
    } else if (batch->count == 1) {
        y = oxi_llm_scan_late(batch, index, u, steps, gate);
    } else {
        steps = ox_softplus(bias ? ox_add(steps, bias) : steps, 1, 20);
        y = ox_silu_mul(gate, oxi_llm_state_space(batch, index, values, b, c, steps));
    }
    if (p[OXI_LLM_MIXER_NORM].weight && m->norm_groups == 1 && model->numbers.norm == OXI_LLM_NORM_RMS) {
        y = ox_rms_norm(y, 1, ox_reshape(p[OXI_LLM_MIXER_NORM].weight, OX_SHAPE(inner)),
                        model->numbers.epsilon);
    } else if (p[OXI_LLM_MIXER_NORM].weight) { /* of each group */
        y = oxi_llm_normalize(model, NULL,
                              ox_unflatten(y, 1, OX_SHAPE(m->norm_groups, inner / m->norm_groups)));
        y = ox_mul_(ox_flatten(y, 1, 2), ox_reshape(p[OXI_LLM_MIXER_NORM].weight, OX_SHAPE(inner)));
    }
    return oxi_llm_product(&p[OXI_LLM_MIXER_OUT], m->gated_late ? ox_silu_mul(gate, y) : y);
}

static ox_tensor *oxi_llm_plamo2(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_part *p = model->layers[index].part;
    const int64_t state = m->key;
    ox_tensor *both = oxi_llm_product(&p[OXI_LLM_MIXER_IN], x); /* [S, heads, gate | x] */
    both = ox_unflatten(both, 1, OX_SHAPE(m->heads, 2 * m->value));
    ox_tensor *gate = ox_flatten(ox_narrow(both, 2, 0, m->value), 1, 2);
    ox_tensor *u = ox_flatten(ox_narrow(both, 2, m->value, m->value), 1, 2);
    u = oxi_llm_convolve(batch, index, true, u);
    ox_tensor *made = oxi_llm_product(&p[OXI_LLM_MIXER_X], u); /* [S, B | C | step] */
    ox_tensor *b = oxi_llm_normalize_if(model, &p[OXI_LLM_MIXER_KEY_NORM], oxi_llm_columns(made, 0, state));
    ox_tensor *c =
        oxi_llm_normalize_if(model, &p[OXI_LLM_MIXER_QUERY_NORM], oxi_llm_columns(made, state, state));
    ox_tensor *steps =
        oxi_llm_normalize_if(model, &p[OXI_LLM_MIXER_STEP_NORM], oxi_llm_columns(made, 2 * state, m->rank));
    steps = ox_softplus(oxi_llm_product(&p[OXI_LLM_MIXER_STEP], steps), 1, 20);
    ox_tensor *y = oxi_llm_state_space(batch, index, u, b, c, steps);
    return oxi_llm_product(&p[OXI_LLM_MIXER_OUT], ox_silu_mul(gate, y));
}

/* ---- short convolution --------------------------------------------------------------------------------- */

/* source    Liquid AI 2025, LFM2 */
static ox_tensor *oxi_llm_short_conv(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const oxi_llm_part *p = batch->context->model->layers[index].part;
    const int64_t width = batch->context->model->numbers.mixing.inner;
    ox_tensor *all = oxi_llm_product(&p[OXI_LLM_MIXER_IN], x); /* [S, gate in | gate out | x] */
    ox_tensor *in = ox_mul(oxi_llm_columns(all, 0, width), oxi_llm_columns(all, 2 * width, width));
    ox_tensor *out = ox_mul_(oxi_llm_convolve(batch, index, false, in), oxi_llm_columns(all, width, width));
    return oxi_llm_product(&p[OXI_LLM_MIXER_OUT], out);
}

/* ---- delta nets ---------------------------------------------------------------------------------------- */

/* The same for queries and, behind them, keys: [2 groups, S, size] -> [2 heads, S, size] */
static ox_tensor *oxi_llm_share_both(ox_tensor *x, int64_t heads, bool paired) {
    if (!x || x->shape[0] == 2 * heads) return x;
    const int64_t groups = x->shape[0] / 2, rows = x->shape[1], size = x->shape[2], each = heads / groups;
    x = ox_unsqueeze(ox_unflatten(x, 0, OX_SHAPE(2, groups)), paired ? 2 : 1);
    x = paired ? ox_expand(x, OX_SHAPE(2, groups, each, rows, size))
               : ox_expand(x, OX_SHAPE(2, each, groups, rows, size));
    return ox_reshape(x, OX_SHAPE(2 * heads, rows, size));
}

/* q, k and v behind the convolution, [S, q | k | v], as linear attention takes them, q and k up to factors:
 * keys have length 1, queries one of size^-0.5. */
static bool oxi_llm_place_delta(const ox_llm *model, ox_tensor *x, oxi_llm_linear *in) {
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const bool paired = oxi_llm_has_trait(model, OXI_LLM_TRAIT(PAIRED_HEADS));
    const double epsilon = m->length_epsilon > 0 ? m->length_epsilon : model->numbers.epsilon;
    const int64_t keys = m->groups * m->key;
    const double size = (double)m->key;
    in->v = oxi_llm_by_head(oxi_llm_columns(x, 2 * keys, m->inner), m->heads, m->value);
    x = ox_contiguous(oxi_llm_by_head(oxi_llm_columns(x, 0, 2 * keys), 2 * m->groups, m->key));
    x = oxi_llm_share_both(ox_rms_norm(x, 1, NULL, epsilon / size), m->heads, paired);
    in->q = ox_narrow(x, 0, 0, m->heads);
    in->k = ox_narrow(x, 0, m->heads, m->heads);
    in->scale[0] = 1 / size;
    in->scale[1] = 1 / sqrt(size);
    return in->q && in->k && in->v;
}

/* The norm of each head of y [heads, S, value], with the heads joined. */
static ox_tensor *oxi_llm_normalize_values(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *y) {
    const double own = model->numbers.mixing.epsilon;
    return oxi_llm_join_heads(oxi_llm_normalize_with(model, &l->part[OXI_LLM_MIXER_NORM], y,
                                                     own > 0 ? own : model->numbers.epsilon));
}

/* Rates and decays of each head, [S, heads] each: by products of their own, or by one, where they lie in
 * turns of a group. */
static bool oxi_llm_delta_numbers(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *x,
                                  ox_tensor **rates, ox_tensor **decays) {
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_part *p = l->part;
    const int64_t each = m->heads / m->groups;
    if (!p[OXI_LLM_MIXER_BETA_ALPHA].weight) {
        *rates = oxi_llm_product(&p[OXI_LLM_MIXER_BETA], x);
        *decays = oxi_llm_product(&p[OXI_LLM_MIXER_ALPHA], x);
    } else {
        ox_tensor *both = oxi_llm_product(&p[OXI_LLM_MIXER_BETA_ALPHA], x);
        both = ox_unflatten(both, 1, OX_SHAPE(m->groups, 2 * each));
        *rates = ox_flatten(ox_narrow(both, 2, 0, each), 1, 2);
        *decays = ox_flatten(ox_narrow(both, 2, each, each), 1, 2);
    }
    return *rates && *decays;
}

static ox_tensor *oxi_llm_delta_net(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *p = l->part;
    ox_tensor *rates, *decays, *bias = p[OXI_LLM_MIXER_STEP].bias;
    oxi_llm_linear in;
    memset(&in, 0, sizeof in);
    ox_tensor *gate = oxi_llm_product(&p[OXI_LLM_ATTENTION_GATE], x);
    if (!oxi_llm_delta_numbers(model, l, x, &rates, &decays)) return NULL;
    decays = ox_softplus(bias ? ox_add(decays, bias) : decays, 1, 20);
    decays = ox_mul_(decays, ox_reshape(p[OXI_LLM_MIXER_DECAY].weight, OX_SHAPE(m->heads)));
    x = oxi_llm_convolve(batch, index, true, oxi_llm_product(&p[OXI_LLM_QUERY_KEY_VALUE], x));
    if (!oxi_llm_place_delta(model, x, &in)) return NULL;
    in.decay = oxi_llm_by_head(decays, m->heads, 1);
    in.rate = oxi_llm_by_head(oxi_llm_scaled(ox_sigmoid(rates), m->rate_scale), m->heads, 1);
    ox_tensor *y = oxi_llm_normalize_values(model, l, oxi_llm_run_linear(batch, index, &in));
    y = oxi_llm_has_trait(model, OXI_LLM_TRAIT(MIXED_SIGMOID)) ? ox_mul_(y, ox_sigmoid_(gate))
                                                               : ox_silu_mul(gate, y);
    return oxi_llm_product(&p[OXI_LLM_MIXER_OUT], y);
}

/* x by one matrix, or by two with few numbers between them. */
static ox_tensor *oxi_llm_product_by_two(const oxi_llm_part *first, const oxi_llm_part *second,
                                         ox_tensor *x) {
    x = oxi_llm_product(first, x);
    return second->weight ? oxi_llm_product(second, x) : x;
}

/* Logarithmic decays [S, heads, key] of KDA: -softplus, or a sigmoid that stays above the model's bound. */
static ox_tensor *oxi_llm_kda_decays(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *x) {
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_part *p = l->part;
    ox_tensor *rates = ox_reshape(p[OXI_LLM_MIXER_DECAY].weight, OX_SHAPE(m->heads, 1));
    ox_tensor *bias = p[OXI_LLM_MIXER_STEP].bias;
    x = oxi_llm_product_by_two(&p[OXI_LLM_DECAY_DOWN], &p[OXI_LLM_DECAY_UP], x);
    if (bias) x = ox_add_(x, bias);
    x = ox_unflatten(x, 1, OX_SHAPE(m->heads, m->key));
    if (m->bound == 0) return ox_mul_(ox_softplus(x, 1, 20), rates);
    x = ox_mul(x, rates);
    if (oxi_llm_has_trait(model, OXI_LLM_TRAIT(DECAY_NEGATIVE))) x = ox_neg_(x);
    return ox_mul_number_(ox_sigmoid_(x), m->bound);
}

/* source    Kimi Team 2025, "Kimi Linear" */
static ox_tensor *oxi_llm_kda(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_layer *l = &model->layers[index];
    const oxi_llm_part *p = l->part;
    oxi_llm_linear in;
    memset(&in, 0, sizeof in);
    ox_tensor *list[3];
    for (int i = 0; i < 3; i++) /* biases of these are not added */
        if (!(list[i] = ox_linear(x, p[OXI_LLM_QUERY + i].weight, NULL))) return NULL;
    ox_tensor *mixed = oxi_llm_convolve(batch, index, true, ox_cat(list, 3, 1));
    if (!oxi_llm_place_delta(model, mixed, &in)) return NULL;
    in.decay = ox_transpose(oxi_llm_kda_decays(model, l, x), 0, 1);
    in.rate = oxi_llm_by_head(ox_sigmoid_(oxi_llm_product(&p[OXI_LLM_MIXER_BETA], x)), m->heads, 1);
    ox_tensor *gate = oxi_llm_product_by_two(&p[OXI_LLM_MIXER_GATE], &p[OXI_LLM_MIXER_GATE_UP], x);
    ox_tensor *y = oxi_llm_normalize_values(model, l, oxi_llm_run_linear(batch, index, &in));
    return oxi_llm_product(&p[OXI_LLM_MERGE], ox_mul_(y, ox_sigmoid_(gate)));
}

/* ---- lightning attention ------------------------------------------------------------------------------- */

/* Logarithms of the decays of a layer's heads, [heads, S, 1]: slower from head to head and from layer to
 * layer. source: MiniMax 2025, "MiniMax-01" */
static ox_tensor *oxi_llm_lightning_decays(const ox_llm *model, int64_t index, int64_t count) {
    const int64_t heads = model->numbers.mixing.heads, layers = model->config.layers;
    const double base = exp2(-exp2(-(log2((double)heads) - 3)));
    const double depth = layers > 1 ? (double)index / (double)(layers - 1) : 0;
    float *decays = (float *)oxi_alloc((size_t)heads * sizeof *decays);
    if (!decays) return NULL;
    for (int64_t h = 0; h < heads; h++) decays[h] = (float)-(pow(base, (double)(h + 1)) * (1 - depth + 1e-5));
    ox_tensor *t = ox_to(oxi_copied(decays, OX_SHAPE(heads, 1, 1), OX_F32), model->device);
    oxi_free(decays, (size_t)heads * sizeof *decays);
    return ox_expand(t, OX_SHAPE(heads, count, 1));
}

static ox_tensor *oxi_llm_lightning(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_part *p = model->layers[index].part;
    oxi_llm_linear in;
    memset(&in, 0, sizeof in);
    ox_tensor *all = model->numbers.activation->plain(oxi_llm_product(&p[OXI_LLM_QUERY_KEY_VALUE], x));
    all = oxi_llm_by_head(all, m->heads, 3 * m->key); /* [heads, S, q | k | v] */
    in.q = ox_narrow(all, 2, 0, m->key);
    in.k = ox_narrow(all, 2, m->key, m->key);
    in.v = ox_narrow(all, 2, 2 * m->key, m->key);
    in.decay = oxi_llm_lightning_decays(model, index, batch->count);
    ox_tensor *y = oxi_llm_join_heads(oxi_llm_run_linear(batch, index, &in));
    y = ox_rms_norm(y, 1, p[OXI_LLM_MERGE_NORM].weight, m->epsilon > 0 ? m->epsilon : model->numbers.epsilon);
    y = ox_mul_(y, ox_sigmoid_(oxi_llm_product(&p[OXI_LLM_ATTENTION_GATE], x)));
    return oxi_llm_product(&p[OXI_LLM_MERGE], y);
}

/* ---- gated linear units -------------------------------------------------------------------------------- */

/* A gate of each number by a matrix a group: x [S, inner] -> [S, inner] */
static ox_tensor *oxi_llm_group_gate(const ox_llm *model, const oxi_llm_part *part, ox_tensor *x) {
    const oxi_llm_mixing *m = &model->numbers.mixing;
    x = oxi_llm_product_by_head(model, oxi_llm_by_head(x, m->groups, m->inner / m->groups), part->weight);
    if (part->bias) x = ox_add_(x, ox_reshape(part->bias, OX_SHAPE(m->groups, 1, m->inner / m->groups)));
    return ox_sigmoid_(oxi_llm_join_heads(x));
}

/* h = a h + sqrt(1 - a^2) (gate x), a = exp(rate r), r a gate too: a scan whose steps are r. Nothing is taken
 * off what the first position brings. source: De et al. 2024, "Griffin" */
static ox_tensor *oxi_llm_gated_unit(const oxi_llm_batch *batch, int64_t index, ox_tensor *x) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_part *p = model->layers[index].part;
    ox_tensor *both = oxi_llm_product(&p[OXI_LLM_MIXER_IN], x); /* [S, x | gate of the result] */
    ox_tensor *u = oxi_llm_convolve(batch, index, false, oxi_llm_columns(both, 0, m->inner));
    ox_tensor *in = oxi_llm_group_gate(model, &p[OXI_LLM_MIXER_INPUT_GATE], u);
    ox_tensor *steps = oxi_llm_group_gate(model, &p[OXI_LLM_MIXER_DECAY_GATE], u);
    steps = ox_clamp_(steps, 1e-30, 1); /* a step divides what it multiplies again */
    ox_tensor *rates = p[OXI_LLM_MIXER_DECAY].weight;
    ox_tensor *share = ox_sqrt_(ox_neg_(ox_expm1_(ox_mul_number_(ox_mul(steps, rates), 2))));
    ox_tensor *first = ox_unsqueeze(ox_eq(batch->positions, ox_integer(0)), 1);
    in = ox_mul_(ox_mul_(in, u), ox_where(first, ox_number(1), share));
    ox_tensor *h = ox_reshape(oxi_llm_memory(batch, index), OX_SHAPE(1, 1, m->inner));
    ox_tensor *one = in ? ox_ones_like(ox_narrow(in, 1, 0, 1)) : NULL;
    if (!one || !h) return NULL;
    one = ox_unsqueeze(one, 0);
    ox_tensor *out = ox_selective_scan(ox_unsqueeze(ox_div_(in, steps), 0), ox_unsqueeze(steps, 0),
                                       ox_unsqueeze(rates, 0), one, one, h, NULL, NULL, NULL, false, false);
    h = ox_narrow(out, 1, batch->count, 1);
    if (batch->count > 1) h = ox_clone(h); /* not all that it is the end of */
    if (!h || !oxi_llm_write_memory(batch, index, h)) return NULL;
    ox_tensor *gate = ox_contiguous(oxi_llm_columns(both, m->inner, m->inner));
    out = oxi_llm_gated(model->numbers.activation, gate, ox_squeeze(ox_narrow(out, 1, 0, batch->count), 0));
    return oxi_llm_product(&p[OXI_LLM_MIXER_OUT], out);
}
