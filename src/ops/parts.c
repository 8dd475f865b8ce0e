/* Parts: ops in terms of other ops. A row of ops.def names its parts in the last column; they are written
 * here, once, with public functions alone.
 * They serve where there is no kernel (a row of family PARTS has none anywhere, a device may lack one:
 * call.c), and tests hold kernels against them. So they are plain rather than fast, and no less exact than
 * kernels: what those add up in f32, parts compute in f32 (oxi_wide).
 * Operands have passed the row's rule; the result is of any float dtype, the caller converts it. NULL, with
 * an error recorded, where one of the functions gives that. */

#define oxi_parts_none NULL
#define OXI_PARTS(name) static ox_tensor *oxi_parts_##name(const oxi_call *call)

/* Narrow floats and blocks as f32, the others as they are; NULL stays NULL. */
static ox_tensor *oxi_wide(ox_tensor *t) {
    bool narrow = t && t->dtype != OX_F64 && (oxi_is_float(t->dtype) || oxi_is_block(t->dtype));
    return narrow ? ox_cast(t, OX_F32) : t;
}

/* The list of dims that a set holds. */
static ox_shape oxi_dims_of_set(uint32_t set) {
    ox_shape dims;
    memset(&dims, 0, sizeof dims);
    for (int d = 0; d < OX_MAX_DIMS; d++)
        if (set >> d & 1) dims.dim[dims.ndim++] = d;
    return dims;
}

/* 0, 1, 2 .. count - 1 as `dtype`, where t lies. */
static ox_tensor *oxi_ramp_beside(const ox_tensor *t, int64_t count, ox_dtype dtype) {
    return ox_to(oxi_arange(0, (double)count, 1, dtype, ox_cpu()), oxi_working_device(ox_device_of(t)));
}

static ox_tensor *oxi_filled_beside(const ox_tensor *t, ox_shape shape, double value) {
    ox_dtype dtype = t->dtype == OX_F64 ? OX_F64 : OX_F32;
    return ox_to(oxi_full("full", shape, value, dtype, ox_cpu()), oxi_working_device(ox_device_of(t)));
}

/* ---- elementwise --------------------------------------------------------------------------------------- */

OXI_PARTS(silu) {
    return ox_mul(call->in[0], ox_sigmoid(call->in[0]));
}
OXI_PARTS(silu_mul) {
    return ox_mul(ox_silu(oxi_wide(call->in[0])), oxi_wide(call->in[1]));
}
OXI_PARTS(gelu_mul) {
    return ox_mul(ox_gelu_tanh(oxi_wide(call->in[0])), oxi_wide(call->in[1]));
}

OXI_PARTS(lerp) {
    ox_tensor *a = oxi_wide(call->in[0]), *b = oxi_wide(call->in[1]), *weight = oxi_wide(call->in[2]);
    ox_tensor *whole = ox_sub(b, a), *rest = ox_mul(whole, ox_sub(ox_number(1), weight));
    return ox_where(ox_lt(ox_abs(weight), ox_number(0.5)), ox_add(a, ox_mul(whole, weight)), ox_sub(b, rest));
}

OXI_PARTS(addcdiv) { /* and addcmul */
    ox_tensor *a = ox_mul_number(oxi_wide(call->in[1]), call->attr.value.value), *b = oxi_wide(call->in[2]);
    return ox_add(oxi_wide(call->in[0]), call->op == OXI_OP_addcmul ? ox_mul(a, b) : ox_div(a, b));
}

/* An operand in the dtype that all promote to; a number stays one, which every device takes. */
static ox_tensor *oxi_promoted_operand(const oxi_call *call, int i) {
    ox_tensor *t = call->in[i];
    return !t || t->is_number ? t : ox_cast(t, oxi_compute_dtype(call));
}

OXI_PARTS(clamp_tensor) {
    ox_tensor *y = oxi_promoted_operand(call, 0);
    if (call->in[1]) y = ox_maximum(y, oxi_promoted_operand(call, 1));
    if (call->in[2]) y = ox_minimum(y, oxi_promoted_operand(call, 2));
    return y;
}

/* Every step of a flipped dim is one back. */
OXI_PARTS(flip) {
    ox_tensor *view = call->in[0];
    for (int d = 0; d < call->in[0]->ndim; d++)
        if (call->attr.dims.dims >> d & 1) view = ox_slice(view, d, OX_END, OX_END, -1);
    return ox_clone(view);
}

/* ---- reductions and rows ------------------------------------------------------------------------------- */

static ox_tensor *oxi_variance(const oxi_call *call) {
    const oxi_attr_moments *told = &call->attr.moments;
    ox_tensor *x = oxi_wide(call->in[0]);
    ox_shape dims = oxi_dims_of_set(told->dims);
    double count = 1;
    for (int i = 0; i < dims.ndim; i++) count *= (double)call->in[0]->shape[dims.dim[i]];
    ox_tensor *apart = ox_square(ox_sub(x, ox_mean(x, dims, true)));
    double freedom = count - told->correction;
    return ox_div_number(ox_sum(apart, dims, told->keepdim), freedom > 0 ? freedom : 0);
}
OXI_PARTS(var) {
    return oxi_variance(call);
}
OXI_PARTS(std) {
    return ox_sqrt(oxi_variance(call));
}

/* x less the largest (real part) of each line, where exp is safe; *most keeps the dims. Where a line's
 * largest is infinite, x stays as it is. */
static ox_tensor *oxi_below_most(ox_tensor *x, ox_shape dims, ox_tensor **most) {
    ox_tensor *largest = ox_amax(x && x->dtype == OX_C64 ? ox_real(x) : x, dims, true);
    *most = ox_where(ox_isinf(largest), ox_number(0), largest);
    return ox_sub(x, *most);
}

OXI_PARTS(logsumexp) {
    const oxi_attr_reduce *told = &call->attr.reduce;
    ox_tensor *x = call->in[0], *most;
    ox_shape dims = oxi_dims_of_set(told->dims);
    if (ox_numel(x) == 0) return oxi_filled_beside(x, ox_shape_of(call->out[0]), -INFINITY);
    x = oxi_is_float(x->dtype) || x->dtype == OX_C64 ? oxi_wide(x) : ox_cast(x, OX_F32);
    ox_tensor *powers = ox_exp(oxi_below_most(x, dims, &most));
    ox_tensor *sums = ox_log(ox_sum(powers, dims, told->keepdim));
    return ox_add(sums, told->keepdim ? most : ox_sum(most, dims, false)); /* sums of one number each */
}

static ox_shape oxi_line_of(const oxi_call *call) {
    return oxi_dims_of_set(call->in[0]->ndim ? 1u << call->attr.along.dim : 0);
}

OXI_PARTS(softmax) {
    ox_tensor *x = oxi_wide(call->in[0]);
    ox_shape dims = oxi_line_of(call);
    ox_tensor *powers = ox_exp(ox_sub(x, ox_amax(x, dims, true)));
    return ox_div(powers, ox_sum(powers, dims, true));
}

OXI_PARTS(log_softmax) {
    ox_tensor *x = oxi_wide(call->in[0]);
    ox_shape dims = oxi_line_of(call);
    ox_tensor *below = ox_sub(x, ox_amax(x, dims, true));
    return ox_sub(below, ox_log(ox_sum(ox_exp(below), dims, true)));
}

/* ---- norms --------------------------------------------------------------------------------------------- */

/* (x - mean) / sqrt(variance + eps) over `dims`; centered false: x / sqrt(mean square + eps). */
static ox_tensor *oxi_normalized(ox_tensor *x, ox_shape dims, double eps, bool centered) {
    ox_tensor *apart = centered ? ox_sub(x, ox_mean(x, dims, true)) : x;
    ox_tensor *variance = ox_mean(ox_square(apart), dims, true);
    return ox_mul(apart, ox_rsqrt(ox_add(variance, ox_number(eps))));
}

/* One number a channel of x [N, C, ..], as [C, 1 ..]. */
static ox_tensor *oxi_by_channel(ox_tensor *numbers, const ox_tensor *x) {
    ox_shape shape;
    memset(&shape, 0, sizeof shape);
    shape.ndim = x->ndim - 1;
    for (int d = 0; d < shape.ndim; d++) shape.dim[d] = d ? 1 : x->shape[1];
    return ox_reshape(numbers, shape);
}

/* y weight + bias, operands 1 and 2 if they are there. */
static ox_tensor *oxi_scaled_and_moved(const oxi_call *call, ox_tensor *y, bool by_channel) {
    for (int i = 1; i < call->in_count; i++) {
        if (!call->in[i]) continue;
        ox_tensor *numbers = oxi_wide(call->in[i]);
        if (by_channel) numbers = oxi_by_channel(numbers, call->in[0]);
        y = i == 1 ? ox_mul(y, numbers) : ox_add(y, numbers);
    }
    return y;
}

static ox_shape oxi_last_dims(const ox_tensor *x, int64_t count) {
    uint32_t set = 0;
    for (int d = x->ndim - (int)count; d < x->ndim; d++) set |= 1u << d;
    return oxi_dims_of_set(set);
}

OXI_PARTS(layer_norm) {
    ox_shape dims = oxi_last_dims(call->in[0], call->attr.norm.last_dims);
    ox_tensor *y = oxi_normalized(oxi_wide(call->in[0]), dims, call->attr.norm.eps, true);
    return oxi_scaled_and_moved(call, y, false);
}

OXI_PARTS(rms_norm) {
    ox_shape dims = oxi_last_dims(call->in[0], call->attr.norm.last_dims);
    ox_tensor *y = oxi_normalized(oxi_wide(call->in[0]), dims, call->attr.norm.eps, false);
    return oxi_scaled_and_moved(call, y, false);
}

OXI_PARTS(group_norm) {
    const ox_tensor *x = call->in[0];
    int64_t groups = call->attr.groups.groups, each = ox_numel(x) / (x->shape[0] * groups);
    ox_tensor *grouped = ox_reshape(oxi_wide(call->in[0]), OX_SHAPE(x->shape[0], groups, each));
    ox_tensor *y = oxi_normalized(grouped, OX_DIMS(2), call->attr.groups.eps, true);
    return oxi_scaled_and_moved(call, ox_view(y, ox_shape_of(x)), true);
}

/* Each channel is a group of its own. */
OXI_PARTS(instance_norm) {
    const oxi_attr_groups *told = &call->attr.groups;
    return ox_group_norm(call->in[0], told->groups, call->in[1], call->in[2], told->eps);
}

OX_API ox_tensor *ox_instance_norm(ox_tensor *x, ox_tensor *weight, ox_tensor *bias, double eps) {
    ox_tensor *in[3] = {x, weight, bias};
    oxi_attrs attr = oxi_attrs_groups();
    if (oxi_any_null("instance_norm", in, 1)) return NULL;
    if (x->ndim > 1 && x->shape[1] > 0) attr.groups.groups = x->shape[1];
    attr.groups.eps = eps;
    return oxi_apply_list(OXI_OP_instance_norm, &attr, in, 3, NULL);
}

/* x scale + shift, in one pass over x and rounded there: scale = weight / sqrt(variance + eps), shift =
 * bias - mean scale. */
OXI_PARTS(batch_norm) {
    bool eight_bits = oxi_info(call->in[0]->dtype)->block_bytes == 1; /* which promote to nothing */
    ox_tensor *x = eight_bits ? oxi_wide(call->in[0]) : call->in[0];
    ox_tensor *weight = call->in[3], *bias = call->in[4];
    ox_tensor *scale = ox_rsqrt(ox_add_number(oxi_wide(call->in[2]), call->attr.batch_norm.eps));
    if (weight) scale = ox_mul(scale, oxi_wide(weight));
    ox_tensor *shift = ox_neg(ox_mul(oxi_wide(call->in[1]), scale));
    if (bias) shift = ox_add(shift, oxi_wide(bias));
    if (!x || !scale || !shift) return NULL;
    oxi_attrs attr = oxi_attrs_value();
    ox_tensor *in[3] = {oxi_by_channel(shift, x), x, oxi_by_channel(scale, x)}, *out = NULL;
    if (x->dtype != scale->dtype) out = oxi_tensor_new(ox_device_of(x), x->dtype, x->ndim, x->shape);
    return oxi_any_null("batch_norm", in, 3) ? NULL : oxi_apply_list(OXI_OP_addcmul, &attr, in, 3, out);
}

/* ---- products ------------------------------------------------------------------------------------------ */

static ox_tensor *oxi_activated(ox_activation activation, ox_tensor *y) {
    switch (activation) {
    case OX_ACTIVATION_RELU: return ox_relu(y);
    case OX_ACTIVATION_GELU: return ox_gelu(y);
    case OX_ACTIVATION_GELU_TANH: return ox_gelu_tanh(y);
    case OX_ACTIVATION_SILU: return ox_silu(y);
    case OX_ACTIVATION_SIGMOID: return ox_sigmoid(y);
    case OX_ACTIVATION_TANH: return ox_tanh(y);
    default: return y;
    }
}

OXI_PARTS(linear) {
    ox_tensor *y = ox_matmul(oxi_wide(call->in[0]), ox_t(oxi_wide(call->in[1])));
    if (call->in[2]) y = ox_add(y, oxi_wide(call->in[2]));
    return oxi_activated(call->attr.activation.activation, y);
}

OXI_PARTS(addmm) {
    const oxi_attr_addmm *told = &call->attr.addmm;
    ox_tensor *product = ox_matmul(oxi_wide(call->in[1]), oxi_wide(call->in[2]));
    product = ox_mul_number(product, told->alpha);
    if (told->beta == 0) return product; /* whatever c is, NaN too */
    return ox_add(ox_mul_number(oxi_wide(call->in[0]), told->beta), product);
}

/* ---- transformers -------------------------------------------------------------------------------------- */

/* base^(-2 i / dims), beside x: worked out once, in double. */
static ox_tensor *oxi_rope_frequencies(const oxi_call *call) {
    const oxi_attr_rope *told = &call->attr.rope;
    const int64_t pairs = told->dims / 2;
    ox_tensor *made = oxi_tensor_new(ox_cpu(), OX_F64, 1, &pairs);
    double *numbers = made ? (double *)ox_data(made) : NULL;
    for (int64_t i = 0; numbers && i < pairs; i++)
        numbers[i] = pow(told->base, -2.0 * (double)i / (double)told->dims);
    return ox_to(made, oxi_working_device(ox_device_of(call->in[0])));
}

/* cos and sin of position * scale * frequency / factor, [S, dims / 2]. Angles are f64: positions go beyond
 * 10^5, whose angles in f32 would be off by a hundredth. */
static void oxi_rope_tables(const oxi_call *call, ox_tensor **cosine, ox_tensor **sine) {
    const oxi_attr_rope *told = &call->attr.rope;
    const ox_tensor *x = call->in[0];
    ox_dtype dtype = x->dtype == OX_F64 ? OX_F64 : OX_F32;
    int64_t rows = x->shape[x->ndim - 2];
    ox_tensor *place = call->in[1] ? ox_cast(call->in[1], OX_F64) : oxi_ramp_beside(x, rows, OX_F64);
    ox_tensor *frequency = oxi_rope_frequencies(call);
    if (call->in[2]) frequency = ox_div(frequency, ox_cast(call->in[2], OX_F64));
    ox_tensor *angle = ox_mul(ox_unsqueeze(ox_mul_number(place, told->scale), 1), frequency);
    *cosine = ox_cast(ox_mul_number(ox_cos(angle), told->magnitude), dtype);
    *sine = ox_cast(ox_mul_number(ox_sin(angle), told->magnitude), dtype);
}

OXI_PARTS(rope) {
    const oxi_attr_rope *told = &call->attr.rope;
    const bool pairs = told->interleaved;
    const int64_t half = told->dims / 2, row = call->in[0]->shape[call->in[0]->ndim - 1];
    ox_tensor *x = oxi_wide(call->in[0]), *turns = ox_narrow(x, -1, 0, told->dims), *cosine, *sine;
    ox_tensor *a = pairs ? ox_slice(turns, -1, 0, OX_END, 2) : ox_narrow(turns, -1, 0, half);
    ox_tensor *b = pairs ? ox_slice(turns, -1, 1, OX_END, 2) : ox_narrow(turns, -1, half, half);
    oxi_rope_tables(call, &cosine, &sine);
    ox_tensor *turned[2], *whole[2];
    turned[0] = ox_sub(ox_mul(a, cosine), ox_mul(b, sine));
    turned[1] = ox_add(ox_mul(b, cosine), ox_mul(a, sine));
    if (!turned[0] || !turned[1]) return NULL;
    whole[0] = pairs ? ox_flatten(ox_stack(turned, 2, -1), -2, -1) : ox_cat(turned, 2, -1);
    whole[1] = ox_narrow(x, -1, told->dims, row - told->dims);
    return whole[0] && whole[1] ? ox_cat(whole, 2, -1) : NULL;
}

/* t [.., heads, rows, columns] with its heads as [heads / group, group]; q's in groups of those that share a
 * key, which stands alone. */
static ox_tensor *oxi_grouped_heads(ox_tensor *t, int64_t group) {
    if (!t || t->ndim < 3) return t;
    return ox_unflatten(t, -3, OX_SHAPE(t->shape[t->ndim - 3] / group, group));
}

/* bool [S,T]: what a query's position lets it see, of causal attention and of a window; NULL: everything. */
static ox_tensor *oxi_seen_by_place(const oxi_call *call, const ox_tensor *scores) {
    const oxi_attr_attention *told = &call->attr.attention;
    int64_t queries = scores->shape[scores->ndim - 2], keys = scores->shape[scores->ndim - 1];
    ox_tensor *key = oxi_ramp_beside(scores, keys, OX_I64);
    ox_tensor *query = ox_unsqueeze(oxi_ramp_beside(scores, queries, OX_I64), 1);
    ox_tensor *behind = ox_add(ox_sub(query, key), ox_integer(told->query_start));
    ox_tensor *seen = told->causal ? ox_ge(behind, ox_integer(0)) : NULL;
    if (told->window == 0) return seen;
    ox_tensor *near = ox_lt(behind, ox_integer(told->window));
    return seen ? ox_logical_and(seen, near) : near;
}

/* scale q k^T, capped; heads as [.., Hkv, H / Hkv, S, T]. */
static ox_tensor *oxi_attention_scores(const oxi_call *call, int64_t group) {
    const oxi_attr_attention *told = &call->attr.attention;
    ox_tensor *q = oxi_grouped_heads(oxi_wide(call->in[0]), group),
              *k = oxi_grouped_heads(oxi_wide(call->in[1]), 1);
    ox_tensor *scores = ox_mul_number(ox_matmul(q, ox_transpose(k, -2, -1)), told->scale);
    if (told->softcap > 0)
        scores = ox_mul_number(ox_tanh(ox_div_number(scores, told->softcap)), told->softcap);
    return scores;
}

static ox_tensor *oxi_masked_scores(const oxi_call *call, ox_tensor *scores, int64_t group) {
    const oxi_attr_attention *told = &call->attr.attention;
    const ox_tensor *mask = call->in[3];
    if (mask) {
        bool own = mask->ndim > 2 && mask->shape[mask->ndim - 3] != 1; /* one a head of q */
        ox_tensor *beside = oxi_grouped_heads(call->in[3], own ? group : 1);
        scores = mask->dtype == OX_BOOL ? ox_where(beside, scores, ox_number(-INFINITY))
                                        : ox_add(scores, oxi_wide(beside));
    }
    if (scores && (told->causal || told->window > 0))
        scores = ox_where(oxi_seen_by_place(call, scores), scores, ox_number(-INFINITY));
    return scores;
}

/* Rows that see nothing give 0; sinks are one more column of the softmax, which has no value. */
OXI_PARTS(attention) {
    const ox_tensor *q = call->in[0], *k = call->in[1];
    int64_t own = q->ndim > 2 ? k->shape[q->ndim - 3] : 1;
    ox_shape shape = ox_shape_of(call->out[0]);
    if (k->shape[k->ndim - 2] == 0) return oxi_filled_beside(q, shape, 0);
    int64_t group = q->ndim > 2 ? q->shape[q->ndim - 3] / own : 1;
    ox_tensor *scores = oxi_masked_scores(call, oxi_attention_scores(call, group), group);
    ox_tensor *most = ox_amax(scores, OX_DIMS(-1), true), *sinks = call->in[4];
    if (most && sinks) {
        if (q->ndim > 2) sinks = ox_view(sinks, OX_SHAPE(own, -1, 1, 1));
        ox_tensor *both[2] = {scores, ox_expand(sinks, ox_shape_of(most))};
        scores = ox_cat(both, 2, -1);
    }
    ox_tensor *weights = ox_where(ox_eq(most, ox_number(-INFINITY)), ox_number(0), ox_softmax(scores, -1));
    if (sinks) weights = ox_narrow(weights, -1, 0, k->shape[k->ndim - 2]);
    ox_tensor *v = oxi_grouped_heads(oxi_wide(call->in[2]), 1);
    return v ? ox_reshape(ox_matmul(ox_cast(weights, v->dtype), v), shape) : NULL; /* a mask may be f64 */
}

/* Position t of what each position has, [H,1,n]. */
static ox_tensor *oxi_at_position(ox_tensor *x, int64_t t) {
    return x ? ox_narrow(oxi_wide(x), 1, t, 1) : NULL;
}

/* The memory [H,K,V] after position t of the call, of that before it. */
static ox_tensor *oxi_memory_after(const oxi_call *call, int64_t t, ox_tensor *memory) {
    ox_tensor *left = ox_exp(oxi_at_position(call->in[3], t)), *erase = oxi_at_position(call->in[5], t);
    if (!left) return NULL;
    left = left->ndim == 4 ? ox_squeeze(left, 1) : ox_transpose(left, 1, 2);
    ox_tensor *after = ox_mul(memory, left), *written = ox_transpose(oxi_at_position(call->in[1], t), 1, 2);
    after = ox_add(after, ox_matmul(written, oxi_at_position(call->in[2], t)));
    if (!erase) return after;
    written = ox_transpose(oxi_at_position(call->in[6], t), 1, 2);
    return ox_add(after, ox_matmul(written, ox_matmul(erase, memory)));
}

OXI_PARTS(linear_attention) {
    const int64_t count = call->in[0]->shape[1];
    const size_t bytes = (size_t)(count + 1) * sizeof(ox_tensor *);
    ox_tensor **list = (ox_tensor **)oxi_alloc(bytes), *memory = oxi_wide(call->in[4]), *out = NULL;
    if (!list) return NULL;
    for (int64_t t = 0; memory && t < count; t++) {
        memory = oxi_memory_after(call, t, memory);
        list[t] = ox_matmul(oxi_at_position(call->in[0], t), memory);
        if (!list[t]) memory = NULL;
    }
    list[count] = memory;
    if (memory) out = ox_cat(list, (int)(count + 1), 1);
    oxi_free(list, bytes);
    return out;
}

OXI_PARTS(selective_scan) {
    ox_tensor *in[9], *step, *decay;
    for (int i = 0; i < 9; i++) in[i] = oxi_wide(call->in[i]);
    const int64_t count = in[2]->shape[1], keys = in[4]->shape[1];
    step = in[8] ? ox_add(in[3], in[8]) : in[3];
    if (call->attr.scan.softplus) step = ox_softplus(step, 1, 20);
    if (!step || !in[5]) return NULL;
    if (step->shape[2] == 1 && in[5]->shape[1] == 1 && in[5]->shape[2] == 1)
        decay = ox_mul(step, in[5]);
    else
        decay = ox_expand(ox_mul(ox_unsqueeze(step, 2), ox_unsqueeze(in[5], 1)),
                          OX_SHAPE(step->shape[0], count, keys, in[2]->shape[2]));
    ox_tensor *v = ox_mul(in[2], step),
              *both = ox_linear_attention(in[0], in[1], v, decay, in[4], NULL, NULL);
    ox_tensor *list[2] = {ox_narrow(both, 1, 0, count), ox_narrow(both, 1, count, keys)};
    if (in[6]) list[0] = ox_addcmul(list[0], in[2], in[6], 1);
    if (in[7]) list[0] = ox_silu_mul(in[7], list[0]);
    if (call->attr.scan.hold && count > 0 && list[1]) {
        for (int i = 0; i < 2; i++) in[i] = ox_narrow(in[i], 1, 0, count - 1);
        both = ox_linear_attention(in[0], in[1], ox_narrow(v, 1, 0, count - 1),
                                   ox_narrow(decay, 1, 0, count - 1), in[4], NULL, NULL);
        list[0] = ox_narrow(list[0], 1, count - 1, 1);
        list[1] = ox_narrow(both, 1, count - 1, keys);
    }
    return list[0] && list[1] ? ox_cat(list, 2, 1) : NULL;
}

/* ---- convolution --------------------------------------------------------------------------------------- */

/* x [N,C,..] with zeros around: so many before and behind each spatial dim. */
static ox_tensor *oxi_padded(ox_tensor *x, const oxi_span *before, const oxi_span *behind) {
    if (!x) return NULL;
    ox_shape shape = ox_shape_of(x);
    bool any = false;
    for (int d = 2; d < shape.ndim; d++) {
        shape.dim[d] += before->n[d - 2] + behind->n[d - 2];
        any = any || shape.dim[d] != x->shape[d];
    }
    if (!any) return x;
    ox_tensor *zeros = oxi_full("zeros", shape, 0, x->dtype, ox_cpu());
    ox_tensor *wide = ox_to(zeros, oxi_working_device(ox_device_of(x))), *middle = wide;
    for (int d = 2; d < shape.ndim; d++) middle = ox_narrow(middle, d, before->n[d - 2], x->shape[d]);
    return ox_copy_(middle, x) ? wide : NULL;
}

/* Every window along `dim`, its elements in a new last dim; kernel elements `dilation` apart. */
static ox_tensor *oxi_windows_of(ox_tensor *x, int dim, int64_t kernel, int64_t dilation, int64_t stride) {
    return ox_slice(ox_unfold(x, dim, dilation * (kernel - 1) + 1, stride), -1, 0, OX_END, dilation);
}

/* The windows of x that a result of `places` positions has: [N,C,places..,kernel..]. Zeros stand around x as
 * far as they reach; what no window reaches is cut off. */
static ox_tensor *oxi_conv_windows_of(ox_tensor *x, const oxi_attr_conv *told, const int64_t *places,
                                      const int64_t *kernel) {
    oxi_span behind = told->padding;
    if (!x) return NULL;
    int dims = x->ndim - 2;
    for (int d = 0; d < dims; d++) {
        int64_t end = (places[d] - 1) * told->stride.n[d] + told->dilation.n[d] * (kernel[d] - 1) + 1;
        behind.n[d] = end - told->padding.n[d] - x->shape[2 + d];
        if (behind.n[d] < 0) behind.n[d] = 0;
    }
    x = oxi_padded(x, &told->padding, &behind);
    for (int d = 0; d < dims; d++) {
        int64_t end = (places[d] - 1) * told->stride.n[d] + told->dilation.n[d] * (kernel[d] - 1) + 1;
        x = ox_narrow(x, 2 + d, 0, end);
        x = oxi_windows_of(x, 2 + d, kernel[d], told->dilation.n[d], told->stride.n[d]);
    }
    return x;
}

static int64_t oxi_spatial_count(const ox_tensor *t) {
    int64_t count = 1;
    for (int d = 2; d < t->ndim; d++) count *= t->shape[d];
    return count;
}

/* Both operands as f32 where they are of different dtypes: f16 by bf16, say. */
static void oxi_conv_operands(const oxi_call *call, ox_tensor **a, ox_tensor **b) {
    bool mixed = call->in[0]->dtype != call->in[1]->dtype;
    *a = mixed ? oxi_wide(call->in[0]) : call->in[0];
    *b = mixed ? oxi_wide(call->in[1]) : call->in[1];
}

static ox_tensor *oxi_conv_biased(const oxi_call *call, ox_tensor *y) {
    return call->in[2] ? ox_add(y, oxi_by_channel(call->in[2], call->out[0])) : y;
}

/* A product for each group: its weights [O/g, K] by the windows of its channels [N, g, K, places]. */
OXI_PARTS(conv) {
    const ox_tensor *x = call->in[0], *weight = call->in[1], *out = call->out[0];
    int64_t groups = call->attr.conv.groups, outputs = weight->shape[0];
    int64_t terms = weight->shape[1] * oxi_spatial_count(weight);
    ox_tensor *images, *weights;
    ox_shape order;
    oxi_conv_operands(call, &images, &weights);
    ox_tensor *windows = oxi_conv_windows_of(images, &call->attr.conv, out->shape + 2, weight->shape + 2);
    int dims = x->ndim - 2;
    memset(&order, 0, sizeof order);
    order.ndim = 2 + 2 * dims;
    for (int d = 0; d < order.ndim; d++) order.dim[d] = d < 2 ? d : d < 2 + dims ? d + dims : d - dims;
    windows = ox_reshape(ox_permute(windows, order), /* of [N,C,kernel..,places..] */
                         OX_SHAPE(x->shape[0], groups, terms, oxi_spatial_count(out)));
    ox_tensor *y = ox_matmul(ox_reshape(weights, OX_SHAPE(groups, outputs / groups, terms)), windows);
    return oxi_conv_biased(call, ox_reshape(y, ox_shape_of(out)));
}

/* Each group's weights [K, O/g] by g [N, g, O/g, places] are windows' elements, which are added up where they
 * overlap: [N, C, .., kernel.., places..], a kernel's element at a time. */
OXI_PARTS(conv_back_input) {
    const oxi_attr_conv *told = &call->attr.conv;
    const ox_tensor *g = call->in[0], *weight = call->in[1], *out = call->out[0];
    int64_t groups = told->groups, places = oxi_spatial_count(g), each = oxi_spatial_count(weight);
    int64_t terms = weight->shape[1] * each;
    ox_shape grouped = OX_SHAPE(g->shape[0], groups, weight->shape[0] / groups, places), apart, wide;
    ox_tensor *gradients, *weights;
    oxi_conv_operands(call, &gradients, &weights);
    weights = ox_transpose(ox_reshape(weights, OX_SHAPE(groups, weight->shape[0] / groups, terms)), 1, 2);
    ox_tensor *columns = oxi_wide(ox_matmul(weights, ox_reshape(gradients, grouped)));
    apart = wide = ox_shape_of(g);
    apart.dim[1] = wide.dim[1] = out->shape[1];
    for (int d = 2; d < g->ndim; d++) {
        int64_t end =
            (g->shape[d] - 1) * told->stride.n[d - 2] + told->dilation.n[d - 2] * (weight->shape[d] - 1) + 1;
        wide.dim[d] = told->padding.n[d - 2] + out->shape[d];
        if (wide.dim[d] < end) wide.dim[d] = end;
    }
    if (!columns) return NULL;
    columns = ox_reshape(columns, OX_SHAPE(g->shape[0], out->shape[1], each, places));
    ox_tensor *image = ox_to(oxi_full("zeros", wide, 0, columns->dtype, ox_cpu()),
                             oxi_working_device(ox_device_of(columns)));
    for (int64_t k = 0; k < each && image; k++) {
        ox_scope scope = ox_scope_begin();
        ox_tensor *to = image;
        for (int64_t d = g->ndim - 1, rest = k; d >= 2; d--) {
            int64_t from = rest % weight->shape[d] * told->dilation.n[d - 2], stride = told->stride.n[d - 2];
            to = ox_slice(to, (int)d, from, from + (g->shape[d] - 1) * stride + 1, stride);
            rest /= weight->shape[d];
        }
        bool added = ox_add_(to, ox_reshape(ox_select(columns, 2, k), apart)) != NULL;
        ox_scope_end(&scope);
        if (!added) return NULL;
    }
    for (int d = 2; d < g->ndim; d++) image = ox_narrow(image, d, told->padding.n[d - 2], out->shape[d]);
    return oxi_conv_biased(call, image);
}

/* g by the windows of all samples, one product a group: [g, O/g, N places] by [g, N places, K]. */
OXI_PARTS(conv_back_weight) {
    const ox_tensor *g = call->in[0], *x = call->in[1], *out = call->out[0];
    int64_t groups = call->attr.conv.groups, places = oxi_spatial_count(g), rows = x->shape[0] * places;
    int64_t terms = out->shape[1] * oxi_spatial_count(out);
    int dims = x->ndim - 2;
    ox_tensor *gradients, *images;
    ox_shape order;
    oxi_conv_operands(call, &gradients, &images);
    if (x->shape[0] == 0) return oxi_filled_beside(g, ox_shape_of(out), 0);
    ox_tensor *windows = oxi_conv_windows_of(images, &call->attr.conv, g->shape + 2, out->shape + 2);
    memset(&order, 0, sizeof order);
    order.ndim = 2 + 2 * dims;
    order.dim[0] = 1; /* [C,kernel..,N,places..] */
    for (int d = 0; d < dims; d++) order.dim[1 + d] = 2 + dims + d;
    for (int d = 0; d < dims; d++) order.dim[2 + dims + d] = 2 + d;
    windows = ox_reshape(ox_permute(windows, order), OX_SHAPE(groups, terms, rows));
    ox_tensor *left =
        ox_permute(ox_reshape(gradients, OX_SHAPE(x->shape[0], g->shape[1], places)), OX_DIMS(1, 0, 2));
    left = ox_reshape(left, OX_SHAPE(groups, g->shape[1] / groups, rows));
    return ox_reshape(ox_matmul(left, ox_transpose(windows, 1, 2)), ox_shape_of(out));
}

/* ---- windows as columns -------------------------------------------------------------------------------- */

/* One number for all spatial dims, or one for each; none leaves the default. */
static bool oxi_span_of(const char *function, const char *what, ox_shape numbers, int dims, oxi_span *out) {
    if (numbers.ndim != 0 && numbers.ndim != 1 && numbers.ndim != dims) {
        (void)oxi_fail(OX_ERR_ARG, "%s: %d numbers for the %s, not 1 or %d", function, numbers.ndim, what,
                       dims);
        return false;
    }
    for (int i = 0; numbers.ndim && i < dims; i++) out->n[i] = numbers.dim[numbers.ndim == 1 ? 0 : i];
    return true;
}

/* What im2col and col2im are told, of the two dims of an image. */
typedef struct oxi_columns {
    oxi_span kernel, dilation, padding, stride;
    int64_t places[2]; /* of windows, along each dim */
} oxi_columns;

static bool oxi_columns_of(const char *name, ox_shape kernel, ox_shape dilation, ox_shape padding,
                           ox_shape stride, const int64_t *image, oxi_columns *c) {
    oxi_attrs attr = oxi_attrs_conv();
    c->kernel = c->dilation = c->stride = attr.conv.stride;
    c->padding = attr.conv.padding;
    if (kernel.ndim == 0) {
        (void)oxi_fail(OX_ERR_ARG, "%s: no size of a kernel", name);
        return false;
    }
    if (!oxi_span_of(name, "kernel", kernel, 2, &c->kernel) ||
        !oxi_span_of(name, "dilation", dilation, 2, &c->dilation) ||
        !oxi_span_of(name, "padding", padding, 2, &c->padding) ||
        !oxi_span_of(name, "stride", stride, 2, &c->stride))
        return false;
    for (int i = 0; i < 2; i++) {
        const int64_t most = INT32_MAX, kernel_size = c->kernel.n[i], step = c->dilation.n[i];
        bool known = kernel_size >= 1 && kernel_size <= most && step >= 1 && step <= most &&
                     c->padding.n[i] >= 0 && c->padding.n[i] <= most && c->stride.n[i] >= 1 &&
                     c->stride.n[i] <= most && image[i] >= 0 && image[i] <= INT64_MAX / 4;
        int64_t room = known ? image[i] + 2 * c->padding.n[i] - step * (kernel_size - 1) - 1 : -1;
        c->places[i] = room < 0 ? 0 : room / c->stride.n[i] + 1;
        if (known && room >= 0) continue;
        (void)oxi_fail(known ? OX_ERR_SHAPE : OX_ERR_ARG,
                       "%s: windows of %lld, dilation %lld, padding %lld, stride %lld over %lld elements",
                       name, (long long)kernel_size, (long long)step, (long long)c->padding.n[i],
                       (long long)c->stride.n[i], (long long)image[i]);
        return false;
    }
    return true;
}

/* x [N,C,H,W] or [C,H,W] as the first: a view. */
static ox_tensor *oxi_with_batch(const char *name, ox_tensor *x, int ndim) {
    if (x->ndim == ndim) return ox_unsqueeze(x, 0);
    if (x->ndim == ndim + 1) return ox_slice(x, 0, 0, OX_END, 1);
    return OXI_FAIL_NULL(OX_ERR_SHAPE, "%s: %s has not %d or %d dims", name, oxi_tensor_text(x), ndim,
                         ndim + 1);
}

OX_API ox_tensor *ox_im2col(ox_tensor *x, ox_shape kernel, ox_shape dilation, ox_shape padding,
                            ox_shape stride) {
    oxi_columns c;
    if (oxi_any_null("im2col", &x, 1)) return NULL;
    oxi_work work = oxi_work_begin("im2col");
    ox_tensor *all = oxi_with_batch("im2col", x, 3), *y = NULL;
    if (all && oxi_columns_of("im2col", kernel, dilation, padding, stride, all->shape + 2, &c)) {
        int64_t terms = all->shape[1] * c.kernel.n[0] * c.kernel.n[1], places = c.places[0] * c.places[1];
        y = oxi_padded(all, &c.padding, &c.padding);
        y = oxi_windows_of(y, 2, c.kernel.n[0], c.dilation.n[0], c.stride.n[0]);
        y = oxi_windows_of(y, 3, c.kernel.n[1], c.dilation.n[1], c.stride.n[1]);
        y = ox_clone(ox_permute(y, OX_DIMS(0, 1, 4, 5, 2, 3))); /* of [N,C,rows,columns,h,w] */
        y = ox_view(y, OX_SHAPE(all->shape[0], terms, places));
        if (x->ndim == 3) y = ox_squeeze(y, 0);
    }
    return oxi_work_end(&work, y);
}

/* Element [i,j] of all windows is added to where the windows have it. */
static ox_tensor *oxi_put_columns(ox_tensor *columns, ox_tensor *image, const oxi_columns *c) {
    for (int64_t i = 0; i < c->kernel.n[0]; i++)
        for (int64_t j = 0; j < c->kernel.n[1]; j++) {
            ox_scope scope = ox_scope_begin();
            int64_t row = i * c->dilation.n[0], column = j * c->dilation.n[1];
            int64_t last_row = row + (c->places[0] - 1) * c->stride.n[0],
                    last_column = column + (c->places[1] - 1) * c->stride.n[1];
            ox_tensor *to = ox_slice(image, 2, row, last_row + 1, c->stride.n[0]);
            to = ox_slice(to, 3, column, last_column + 1, c->stride.n[1]);
            bool added = ox_add_(to, ox_select(ox_select(columns, 2, i), 2, j)) != NULL;
            ox_scope_end(&scope);
            if (!added) return NULL;
        }
    return image;
}

OX_API ox_tensor *ox_col2im(ox_tensor *x, ox_shape size, ox_shape kernel, ox_shape dilation, ox_shape padding,
                            ox_shape stride) {
    oxi_columns c;
    if (oxi_any_null("col2im", &x, 1)) return NULL;
    if (size.ndim != 2) return OXI_FAIL_NULL(OX_ERR_ARG, "col2im: the size of an image is two numbers");
    oxi_work work = oxi_work_begin("col2im");
    ox_tensor *all = oxi_with_batch("col2im", x, 2), *y = NULL;
    if (all && oxi_columns_of("col2im", kernel, dilation, padding, stride, size.dim, &c)) {
        int64_t each = c.kernel.n[0] * c.kernel.n[1], channels = all->shape[1] / each;
        const int64_t wide[4] = {all->shape[0], channels, size.dim[0] + 2 * c.padding.n[0],
                                 size.dim[1] + 2 * c.padding.n[1]},
                      apart[6] = {all->shape[0], channels,    c.kernel.n[0],
                                  c.kernel.n[1], c.places[0], c.places[1]};
        ox_device *device = oxi_working_device(ox_device_of(x));
        if (all->shape[1] % each || all->shape[2] != c.places[0] * c.places[1])
            (void)oxi_fail(OX_ERR_SHAPE, "col2im: %s is not windows of %lld x %lld at %lld x %lld places",
                           oxi_tensor_text(x), (long long)c.kernel.n[0], (long long)c.kernel.n[1],
                           (long long)c.places[0], (long long)c.places[1]);
        else
            y = oxi_full("col2im", ox_shape_from(4, wide), 0, x->dtype, device);
        ox_tensor *columns = y ? ox_reshape(all, ox_shape_from(6, apart)) : NULL;
        y = columns ? oxi_put_columns(columns, y, &c) : NULL;
        y = y ? ox_narrow(y, 2, c.padding.n[0], size.dim[0]) : NULL;
        y = y ? ox_narrow(y, 3, c.padding.n[1], size.dim[1]) : NULL;
        y = y ? ox_contiguous(x->ndim == 2 ? ox_squeeze(y, 0) : y) : NULL;
    }
    return oxi_work_end(&work, y);
}
