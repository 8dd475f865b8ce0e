/* The transforms: a tensor as GGUF has it from what a folder stores, in public operations. What needs none
 * lies in the mapped file. Called through oxi_format.load when a tensor of the source is asked for. */

/* Rows [groups, size]: the halves of each group's rows [first, first + turned) become pairs. */
static ox_tensor *oxi_llm_pair_rows(ox_tensor *t, int64_t groups, int64_t first, int64_t turned) {
    const int64_t each = t->shape[0] / groups, columns = t->ndim == 2 ? t->shape[1] : 1;
    ox_tensor *all = ox_reshape(t, OX_SHAPE(groups, each, columns)), *parts[3];
    parts[0] = ox_narrow(all, 1, 0, first);
    parts[1] = ox_reshape(ox_narrow(all, 1, first, turned), OX_SHAPE(groups, 2, turned / 2, columns));
    parts[1] = ox_reshape(ox_transpose(parts[1], 1, 2), OX_SHAPE(groups, turned, columns));
    parts[2] = ox_narrow(all, 1, first + turned, each - first - turned);
    return ox_reshape(ox_cat(parts, 3, 1), ox_shape_of(t));
}

/* Those of a latent head's end. */
static ox_tensor *oxi_llm_pair_ends(ox_tensor *t, int64_t groups, int64_t turned) {
    return oxi_llm_pair_rows(t, groups, t->shape[0] / groups - turned, turned);
}

/* The halves of each head's rows change places. */
static ox_tensor *oxi_llm_swap_halves(ox_tensor *t, int64_t heads) {
    ox_tensor *halves = ox_reshape(t, OX_SHAPE(heads, 2, -1, t->ndim == 2 ? t->shape[1] : 1));
    return ox_reshape(ox_flip(halves, OX_DIMS(1)), ox_shape_of(t));
}

/* Rows of query or key, as the folder's rope has them, to GGUF's. */
static ox_tensor *oxi_llm_pair_heads(const oxi_llm_folder *folder, ox_tensor *t, int64_t heads) {
    const oxi_llm_trait trait = folder->model->trait;
    if (trait == OXI_LLM_TRAIT_BACKWARDS) return oxi_llm_swap_halves(t, heads);
    if (trait != OXI_LLM_TRAIT_PAIRS) return t;
    return oxi_llm_pair_rows(t, heads, 0, folder->turned ? folder->turned : t->shape[0] / heads);
}

/* What lies in a dim from `start` on is [keys, each, ..], the heads of a key side by side: a row of keys
 * apart, [each, keys, ..]. */
static ox_tensor *oxi_llm_part_heads(const oxi_llm_folder *folder, ox_tensor *t, int dim, int64_t start) {
    const int64_t size = t->shape[dim] - start, heads = folder->delta_keys * folder->delta_each;
    if (folder->delta_each == 1) return t;
    ox_tensor *parts[2];
    parts[0] = ox_narrow(t, dim, 0, start);
    parts[1] = ox_unflatten(ox_contiguous(ox_narrow(t, dim, start, size)), dim,
                            OX_SHAPE(folder->delta_keys, folder->delta_each, size / heads));
    parts[1] = ox_flatten(ox_contiguous(ox_transpose(parts[1], dim, dim + 1)), dim, dim + 2);
    return ox_cat(parts, 2, dim);
}

/* Rows [keys, q + k + values + gates]: all q, all k, all values; or all gates. */
static ox_tensor *oxi_llm_split_delta(const oxi_llm_folder *folder, ox_tensor *t, bool gates) {
    const int64_t keys = folder->delta_keys, size = folder->delta_key, columns = t->shape[1];
    const int64_t each = t->shape[0] / keys, values = (each - 2 * size) / 2;
    ox_tensor *all = ox_reshape(t, OX_SHAPE(keys, each, columns)), *parts[3];
    if (gates) return ox_reshape(ox_narrow(all, 1, each - values, values), OX_SHAPE(-1, columns));
    parts[0] = ox_reshape(ox_narrow(all, 1, 0, size), OX_SHAPE(-1, columns));
    parts[1] = ox_reshape(ox_narrow(all, 1, size, size), OX_SHAPE(-1, columns));
    parts[2] = ox_reshape(ox_narrow(all, 1, 2 * size, values), OX_SHAPE(-1, columns));
    return ox_cat(parts, 3, 0);
}

/* Rows [groups, share, size] with the keys and values of a group behind its queries: all queries, keys,
 * values. */
static ox_tensor *oxi_llm_split_fused(ox_tensor *t, int64_t groups, int64_t share) {
    const int64_t rows = t->shape[0], columns = t->ndim == 2 ? t->shape[1] : 1;
    ox_tensor *all = ox_reshape(t, OX_SHAPE(groups, share, rows / groups / share, columns));
    ox_tensor *parts[3];
    parts[0] = ox_reshape(ox_narrow(all, 1, 0, share - 2), OX_SHAPE(-1, columns));
    parts[1] = ox_reshape(ox_narrow(all, 1, share - 2, 1), OX_SHAPE(-1, columns));
    parts[2] = ox_reshape(ox_narrow(all, 1, share - 1, 1), OX_SHAPE(-1, columns));
    return ox_reshape(ox_cat(parts, 3, 0), ox_shape_of(t));
}

/* Rows [4, 3, n], of four parts with queries, values and keys each: all queries, keys, values. */
static ox_tensor *oxi_llm_split_fourths(ox_tensor *t) {
    ox_tensor *all = ox_reshape(t, OX_SHAPE(4, 3, t->shape[0] / 12, -1)), *parts[3];
    for (int i = 0; i < 3; i++) parts[i] = ox_select(all, 1, (3 - i) % 3);
    return ox_reshape(ox_stack(parts, 3, 0), ox_shape_of(t));
}

/* A half of a dim, or every second element of it. */
static ox_tensor *oxi_llm_half(ox_tensor *t, int dim, bool second) {
    const int64_t half = ox_size(t, dim) / 2;
    return ox_narrow(t, dim, second ? half : 0, half);
}
static ox_tensor *oxi_llm_every_second(ox_tensor *t, int dim, bool odd) {
    return ox_slice(t, dim, odd, OX_END, 2);
}

/* Weights of BitNet as it computes with them. source Ma et al. 2024 */
static ox_tensor *oxi_llm_ternary(ox_tensor *t) {
    const ox_dtype dtype = t->dtype;
    ox_tensor *wide = ox_cast(t, OX_F32);
    ox_tensor *scale = ox_clamp(ox_mean(ox_flatten(ox_abs(wide), 0, -1), OX_DIMS(0), true), 1e-5, INFINITY);
    return ox_cast(ox_mul(ox_clamp(ox_round(ox_div(wide, scale)), -1, 1), scale), dtype);
}

/* A block of 32: a scale, then 16 bytes. The folder has elements 2i and 2i + 1 in byte i; GGUF i and i + 16.
 * source ggml-common.h block_mxfp4; transformers integrations/mxfp4.py */
static void oxi_llm_mxfp4_block(const unsigned char *from, unsigned char scale, unsigned char *out) {
    out[0] = scale;
    for (int i = 0; i < 16; i++) {
        const int low = from[i / 2] >> (i % 2 * 4) & 15, high = from[8 + i / 2] >> (i % 2 * 4) & 15;
        out[1 + i] = (unsigned char)(low | high << 4);
    }
}

static ox_tensor *oxi_llm_mxfp4(const oxi_llm_folder *folder, const oxi_llm_plan *plan, ox_tensor *blocks) {
    const int64_t at = oxi_llm_scales_of(folder->weights, plan->from);
    ox_tensor *scales = at < 0 ? NULL : ox_file_tensor_at(folder->weights, at);
    if (plan->transform != OXI_LLM_TRANSFORM_MXFP4) {
        blocks = oxi_llm_every_second(blocks, 1, plan->transform == OXI_LLM_TRANSFORM_MXFP4_ODD);
        scales = oxi_llm_every_second(scales, 1, plan->transform == OXI_LLM_TRANSFORM_MXFP4_ODD);
    }
    blocks = ox_contiguous(ox_to(blocks, ox_cpu()));
    scales = ox_contiguous(ox_to(scales, ox_cpu()));
    if (!blocks || !scales) return NULL;
    ox_device_scope cpu = ox_device_scope_begin(ox_cpu());
    ox_tensor *out = ox_empty(OX_SHAPE(blocks->shape[0], blocks->shape[1], blocks->shape[2] * 32), OX_MXFP4);
    ox_device_scope_end(&cpu);
    const unsigned char *from = (const unsigned char *)ox_data(blocks),
                        *scale = (const unsigned char *)ox_data(scales);
    unsigned char *to = out ? (unsigned char *)ox_data(out) : NULL;
    const int64_t count = ox_numel(scales);
    for (int64_t i = 0; to && i < count; i++) oxi_llm_mxfp4_block(from + i * 16, scale[i], to + i * 17);
    return out;
}

/* A matrix of 8-bit floats times its scales, in `out`: [rows, columns], scales of oxi_llm_scales_fit. */
static bool oxi_llm_scale_f8(const oxi_llm_folder *folder, ox_tensor *t, ox_tensor *scales, ox_tensor *out) {
    const int64_t down = folder->scaled_rows, across = folder->scaled_columns;
    ox_scope scope = ox_scope_begin();
    scales = ox_cast(scales, OX_F32);
    if (scales && ox_numel(scales) > 1 && scales->ndim == 1) scales = ox_unsqueeze(scales, 1);
    if (scales && ox_numel(scales) == 1) scales = ox_reshape(scales, OX_SHAPE(1, 1));
    if (scales && (scales->shape[0] != t->shape[0] || scales->shape[1] != 1) && ox_numel(scales) > 1) {
        const int64_t rows = scales->shape[0], columns = scales->shape[1]; /* each a block's */
        scales = ox_expand(ox_unflatten(scales, 0, OX_SHAPE(rows, 1)), OX_SHAPE(rows, down, columns));
        scales = ox_expand(ox_unsqueeze(scales, 3), OX_SHAPE(rows, down, columns, across));
        scales = ox_reshape(scales, OX_SHAPE(rows * down, columns * across));
        scales = ox_narrow(ox_narrow(scales, 0, 0, t->shape[0]), 1, 0, t->shape[1]);
    }
    const bool done = ox_copy_(out, ox_mul(ox_cast(t, OX_F32), scales)) != NULL;
    ox_scope_end(&scope);
    return done;
}

/* A stored tensor: 8-bit floats with scales as bf16. */
static ox_tensor *oxi_llm_stored(const oxi_llm_folder *folder, ox_file *file, uint32_t at) {
    ox_tensor *t = ox_file_tensor_at(file, at);
    if (!t || folder->scaled_rows == 0 || !oxi_llm_is_f8(t->dtype)) return t;
    const int64_t beside = oxi_llm_f8_scales(file, at);
    ox_tensor *scales = beside < 0 ? NULL : ox_file_tensor_at(file, beside);
    ox_tensor *out = scales ? oxi_tensor_new(ox_device_of(t), OX_BF16, t->ndim, t->shape) : NULL;
    if (out && t->ndim == 2) return oxi_llm_scale_f8(folder, t, scales, out) ? out : NULL;
    for (int64_t i = 0; out && i < t->shape[0]; i++) { /* one expert at a time takes little memory */
        const bool each = scales->ndim > 1 && scales->shape[0] == t->shape[0];
        ox_tensor *part = each ? ox_select(scales, 0, i) : scales;
        if (!oxi_llm_scale_f8(folder, ox_select(t, 0, i), part, ox_select(out, 0, i))) out = NULL;
    }
    return out;
}

/* Times the number of each row, or the one of all. */
static ox_tensor *oxi_llm_scaled_rows(const oxi_llm_plan *plan, ox_tensor *t) {
    ox_device_scope cpu = ox_device_scope_begin(ox_cpu());
    ox_tensor *scales = ox_from_floats(plan->values, OX_SHAPE((int64_t)plan->count), OX_F32);
    ox_device_scope_end(&cpu);
    scales = ox_to(scales, ox_device_of(t));
    return ox_mul(ox_cast(t, OX_F32), t->ndim == 2 ? ox_unsqueeze(scales, 1) : scales);
}

/* And the other matrix, or ones on the diagonal. */
static ox_tensor *oxi_llm_added(const oxi_llm_folder *folder, const oxi_llm_plan *plan, ox_tensor *t) {
    ox_tensor *sum = ox_clone(ox_cast(t, OX_F32));
    if (plan->by == plan->from) return ox_add_(ox_diagonal(sum, 0, 0, 1), ox_number(1)) ? sum : NULL;
    return ox_add_(sum, ox_cast(ox_file_tensor_at(oxi_llm_plan_file(folder, plan), plan->by), OX_F32));
}

static ox_tensor *oxi_llm_stack(const oxi_llm_folder *folder, const oxi_llm_plan *plan) {
    const size_t bytes = plan->count * sizeof(ox_tensor *);
    ox_tensor **list = (ox_tensor **)oxi_calloc(1, bytes), *out = NULL;
    uint32_t count = 0;
    if (!list || plan->count > INT32_MAX) return oxi_free(list, bytes), (ox_tensor *)NULL;
    while (count < plan->count &&
           (list[count] = oxi_llm_stored(folder, folder->weights, folder->pieces[plan->first + count])))
        count++;
    if (count == plan->count && plan->transform == OXI_LLM_TRANSFORM_STACK) {
        out = ox_stack(list, (int)count, 0);
    } else if (count == plan->count) {
        out = ox_cat(list, (int)count, 0);
        if (out && out->ndim == 3) out = ox_squeeze(out, 1);
    }
    oxi_free(list, bytes);
    return out;
}

/* Rows [heads, nope + value]: those of keys [heads, columns, nope], or of values. */
static ox_tensor *oxi_llm_latent_rows(const oxi_llm_folder *folder, ox_tensor *t, bool keys) {
    ox_tensor *heads =
        ox_reshape(t, OX_SHAPE(folder->heads, folder->nope_size + folder->value_size, t->shape[1]));
    return keys ? ox_transpose(ox_narrow(heads, 1, 0, folder->nope_size), 1, 2)
                : ox_narrow(heads, 1, folder->nope_size, folder->value_size);
}

/* Parts of rows and columns, and these exchanged; what is none of it stays as it is. */
static ox_tensor *oxi_llm_cut_out(oxi_llm_transform how, ox_tensor *t) {
    switch (how) {
    case OXI_LLM_TRANSFORM_TURNED: return t->ndim == 1 ? t : ox_transpose(t, -2, -1);
    case OXI_LLM_TRANSFORM_TURNED_FIRST: return ox_transpose(oxi_llm_half(t, -1, false), -2, -1);
    case OXI_LLM_TRANSFORM_TURNED_SECOND: return ox_transpose(oxi_llm_half(t, -1, true), -2, -1);
    case OXI_LLM_TRANSFORM_TURNED_EVEN: return ox_transpose(oxi_llm_every_second(t, -1, false), -2, -1);
    case OXI_LLM_TRANSFORM_TURNED_ODD: return ox_transpose(oxi_llm_every_second(t, -1, true), -2, -1);
    case OXI_LLM_TRANSFORM_ROWS_FIRST: return oxi_llm_half(t, -2, false);
    case OXI_LLM_TRANSFORM_ROWS_SECOND: return oxi_llm_half(t, -2, true);
    case OXI_LLM_TRANSFORM_FIRST_FOURTH: return ox_narrow(t, 0, 0, t->shape[0] / 4);
    case OXI_LLM_TRANSFORM_OTHER_FOURTHS: return ox_narrow(t, 0, t->shape[0] / 4, t->shape[0] / 4 * 3);
    case OXI_LLM_TRANSFORM_EVEN: return oxi_llm_every_second(t, -1, false);
    case OXI_LLM_TRANSFORM_ODD: return oxi_llm_every_second(t, -1, true);
    default: return t;
    }
}

/* The same with a stored tensor, which is not NULL. */
static ox_tensor *oxi_llm_transform_one(const oxi_llm_folder *folder, const oxi_llm_plan *plan,
                                        ox_tensor *t) {
    const oxi_llm_transform how = plan->transform;
    const oxi_llm_trait trait = folder->model->trait;
    switch (how) {
    case OXI_LLM_TRANSFORM_NORM:
        return oxi_llm_adds_one(folder, plan) ? ox_add(ox_cast(t, OX_F32), ox_number(1)) : t;
    case OXI_LLM_TRANSFORM_SCALED: return oxi_llm_scaled_rows(plan, t);
    case OXI_LLM_TRANSFORM_LATENT_TURNED: return folder->halves ? oxi_llm_pair_ends(t, 1, folder->halves) : t;
    case OXI_LLM_TRANSFORM_DELTA_FIRST: return oxi_llm_split_delta(folder, t, false);
    case OXI_LLM_TRANSFORM_DELTA_SECOND: return oxi_llm_split_delta(folder, t, true);
    case OXI_LLM_TRANSFORM_DELTA_MIXED:
        t = t->ndim == 3 ? ox_squeeze(t, 1) : t;
        return oxi_llm_part_heads(folder, t, 0, 2 * folder->delta_keys * folder->delta_key);
    case OXI_LLM_TRANSFORM_DELTA_HEADS: return oxi_llm_part_heads(folder, t, 0, 0);
    case OXI_LLM_TRANSFORM_DELTA_DECAYS:
        return oxi_llm_part_heads(folder, ox_neg(ox_exp(ox_cast(t, OX_F32))), 0, 0);
    case OXI_LLM_TRANSFORM_DELTA_COLUMNS: return oxi_llm_part_heads(folder, t, 1, 0);
    case OXI_LLM_TRANSFORM_PROJECTED:
    case OXI_LLM_TRANSFORM_PROJECTED_BACK: {
        ox_tensor *by = ox_cast(ox_file_tensor_at(folder->weights, plan->by), OX_F32);
        return ox_matmul(ox_cast(t, OX_F32), how == OXI_LLM_TRANSFORM_PROJECTED ? ox_t(by) : by);
    }
    case OXI_LLM_TRANSFORM_ADDED: return oxi_llm_added(folder, plan, t);
    case OXI_LLM_TRANSFORM_QUERY:
        if (folder->halves) return oxi_llm_pair_ends(t, folder->heads, folder->halves);
        return oxi_llm_pair_heads(folder, t, folder->heads);
    case OXI_LLM_TRANSFORM_KEY: return oxi_llm_pair_heads(folder, t, folder->kv_heads);
    case OXI_LLM_TRANSFORM_FUSED:
        return oxi_llm_split_fused(t, folder->kv_heads, folder->heads / folder->kv_heads + 2);
    case OXI_LLM_TRANSFORM_FOURTHS: return oxi_llm_split_fourths(t);
    case OXI_LLM_TRANSFORM_MXFP4:
    case OXI_LLM_TRANSFORM_MXFP4_EVEN:
    case OXI_LLM_TRANSFORM_MXFP4_ODD: return oxi_llm_mxfp4(folder, plan, t);
    case OXI_LLM_TRANSFORM_LATENT_KEYS: return oxi_llm_latent_rows(folder, t, true);
    case OXI_LLM_TRANSFORM_LATENT_VALUES: return oxi_llm_latent_rows(folder, t, false);
    case OXI_LLM_TRANSFORM_POSITIONS:
        return trait == OXI_LLM_TRAIT_OFFSET ? ox_slice(t, 0, folder->offset, OX_END, 1) : t;
    case OXI_LLM_TRANSFORM_WITHOUT_TWO: return ox_slice(t, 0, 2, OX_END, 1);
    case OXI_LLM_TRANSFORM_BY_EXPERT: return ox_unflatten(t, 0, OX_SHAPE(folder->experts, -1));
    case OXI_LLM_TRANSFORM_TURNED_BY_EXPERT:
        return ox_transpose(ox_unflatten(t, 0, OX_SHAPE(folder->experts, -1)), 1, 2);
    case OXI_LLM_TRANSFORM_EACH_EXPERT: return ox_expand(t, OX_SHAPE(folder->experts, t->shape[0]));
    case OXI_LLM_TRANSFORM_FLAT: return ox_flatten(t, 0, -1);
    case OXI_LLM_TRANSFORM_SQUEEZED: return ox_squeeze(t, 1);
    case OXI_LLM_TRANSFORM_DECAYS:
        t = ox_neg(ox_exp(ox_cast(t, OX_F32)));
        return t && t->ndim == 1 ? ox_unsqueeze(t, 1) : t;
    case OXI_LLM_TRANSFORM_GATED_DECAYS:
        t = ox_mul(ox_softplus(ox_cast(t, OX_F32), 1, 20), ox_number(-8));
        return t && t->ndim == 1 ? ox_unsqueeze(t, 1) : t;
    case OXI_LLM_TRANSFORM_MIXER_SKIPS: return folder->second && t->ndim == 1 ? ox_unsqueeze(t, 1) : t;
    case OXI_LLM_TRANSFORM_MIXER_NORM:
        return folder->mixer_groups > 1 ? ox_reshape(t, OX_SHAPE(folder->mixer_groups, -1)) : t;
    case OXI_LLM_TRANSFORM_INTEGERS: return ox_cast(t, OX_I32);
    case OXI_LLM_TRANSFORM_TERNARY: return folder->ternary ? oxi_llm_ternary(t) : t;
    default: return oxi_llm_cut_out(how, t);
    }
}

static ox_tensor *oxi_llm_transform_plan(const oxi_llm_folder *folder, const oxi_llm_plan *plan) {
    if (oxi_llm_is_of_pieces(plan)) return oxi_llm_stack(folder, plan);
    if (plan->transform == OXI_LLM_TRANSFORM_VALUES) {
        ox_device_scope cpu = ox_device_scope_begin(ox_cpu());
        ox_tensor *t = ox_from_floats(plan->values, OX_SHAPE((int64_t)plan->count), OX_F32);
        ox_device_scope_end(&cpu);
        return plan->columns ? ox_reshape(t, OX_SHAPE(-1, (int64_t)plan->columns)) : t;
    }
    ox_tensor *t = oxi_llm_stored(folder, oxi_llm_plan_file(folder, plan), plan->from);
    return t ? oxi_llm_transform_one(folder, plan, t) : NULL;
}

static ox_tensor *oxi_llm_load_item(ox_file *file, const oxi_file_item *item) {
    const oxi_llm_folder *folder = (const oxi_llm_folder *)file->state;
    ox_scope scope = ox_scope_begin();
    ox_tensor *t = ox_contiguous(oxi_llm_transform_plan(folder, &folder->plans[item->extra]));
    if (t && !file->device->region && ox_device_of(t) != file->device) t = ox_to(t, file->device);
    bool same = t && t->dtype == (ox_dtype)item->dtype && t->ndim == item->ndim;
    for (int d = 0; same && d < t->ndim; d++) same = t->shape[d] == item->shape[d];
    if (t && !same)
        t = OXI_FAIL_NULL(OX_ERR_SHAPE, "llm: tensor %s became %s", item->name, oxi_tensor_text(t));
    if (t) t = ox_keep(t);
    ox_scope_end(&scope);
    return t;
}
